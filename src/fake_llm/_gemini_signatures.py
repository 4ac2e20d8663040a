"""The signatures of Gemini's thoughts: which models sign, what we make up, what a script says.

On the native path they stand beside parts, on the OpenAI path in `extra_content`.
"""

from __future__ import annotations

import base64
import re
from typing import Final

from fake_llm._dialect import Ids

__all__ = ["OWN", "in_base64", "made", "made_here", "signs"]

_NEW: Final = re.compile(r"gemini-(?:[3-9]|(?:flash|flash-lite|pro)-latest)")
"""Models whose function calls have ids and are always signed (recorded 2026-08; the `-latest` names meant Gemini 3.6)."""

OWN: Final = base64.b64encode(b"fake_llm signature").decode()
_OWN_HIDDEN: Final = base64.b64encode(b"fake_llm redaction").decode()
"""How the signatures begin that we make up, so that they aren't taken for scripted ones when they are read back."""

_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?")


def signs(model: str) -> bool:
    """Whether a model signs its function calls."""
    return _NEW.search(model) is not None


def made(ids: Ids, hidden: bool = False) -> str:
    """A signature for a thought without one."""
    return (_OWN_HIDDEN if hidden else OWN) + base64.b64encode(ids.take(60)).decode()


def made_here(signature: str) -> bool:
    """Whether it is one that we made up."""
    return signature.startswith((OWN, _OWN_HIDDEN))


def in_base64(signature: str | None) -> str | None:
    """A scripted signature as the field's type demands: SDKs refuse what isn't base64."""
    if signature is None or _BASE64.fullmatch(signature):
        return signature
    return base64.b64encode(signature.encode("utf-8", "surrogatepass")).decode()
