"""The exceptions of fake_llm.

::

    ValueError
    └── ScriptError                  the script is wrong; raised where it is written
    AssertionError
    └── UnusedReplyError             the block ended and turns were left
    BaseException
    └── FakeLLMFailure               raised while a call is on its way
        ├── UnscriptedCallError      no turn was left for it
        ├── ScriptMismatchError      its turn doesn't fit what the request offers
        ├── UnknownEndpointError     a known host, a path nobody answers
        └── UninterceptedCallError   a known host, reached by a way that isn't seen

`FakeLLMFailure` is a `BaseException` because SDKs retry and swallow any `Exception`
that a transport raises; a `BaseException` comes out of all of them unchanged.
"""

from __future__ import annotations

import re
from typing import Final

from fake_llm._public import public

__all__ = [
    "FakeLLMFailure",
    "FunctionTurnError",
    "ScriptError",
    "ScriptMismatchError",
    "UninterceptedCallError",
    "UnknownEndpointError",
    "UnscriptedCallError",
    "UnusedReplyError",
    "clipped",
    "masked",
    "sentence",
]


class ScriptError(ValueError):
    """A script, a turn or an option can't mean anything; raised where it is written."""


class UnusedReplyError(AssertionError):
    """The block ended with turns that nobody asked for."""


class FakeLLMFailure(BaseException):
    """The base of what is raised while a call is on its way."""


class UnscriptedCallError(FakeLLMFailure):
    """A call came and no turn was left for it."""


class ScriptMismatchError(FakeLLMFailure):
    """The turn doesn't fit the request: an unknown tool, wrong arguments, a part the vendor can't carry."""


class UnknownEndpointError(FakeLLMFailure):
    """A known LLM host was called on a path that nothing answers."""


class UninterceptedCallError(FakeLLMFailure):
    """A known LLM host was reached by a way that isn't intercepted."""


class FunctionTurnError(FakeLLMFailure):
    """Carries what a test's own function raised past the retries of an SDK; the block raises the original.

    Attributes:
        original: What a function turn, a predicate, `edit=` or `cost=` raised.
    """

    def __init__(self, original: BaseException) -> None:
        super().__init__(masked(f"A function of the test raised {type(original).__name__}: {original}"))
        self.original = original


def sentence(came: str, there: str = "", write: str = "") -> str:
    """One message in the three parts that all of ours have: what came, what there was, what to write. Keys are masked."""
    return masked("\n".join(part for part in (came, there, write) if part))


def clipped(text: str, limit: int) -> str:
    """A text that a message quotes, at most `limit` characters of it; keys are masked before it is cut."""
    text = masked(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


_KEYS: Final = re.compile(
    r"(?:\b|(?<=\\[nrt]))"  # also after a line end as a repr shows it
    r"(?:(sk-(?:ant-|proj-|or-|svcacct-)?|[gc]sk[_-]|xai-|hf_|pplx-|r8_|nvapi-|tgp_v1_|fw_|AIza|ya29\.|ghp_|github_pat_|A[KS]IA)"
    r"[A-Za-z0-9_-]{16,}|((?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{16,})"
)
"""How the keys of vendors begin (2026-11): long enough to be no word."""


def masked(text: str) -> str:
    """A text without the keys in it: of each only how it begins; for everything that shows what somebody else wrote."""
    return _KEYS.sub(lambda found: f"{found[1] or found[2]}***", text)


public(
    FakeLLMFailure,
    ScriptError,
    ScriptMismatchError,
    UninterceptedCallError,
    UnknownEndpointError,
    UnscriptedCallError,
    UnusedReplyError,
)
