"""One module per HTTP library: turns its requests into `Request` and plays `Response` and `Fault` back in its own terms.

A stack imports `fake_llm._model`, this contract and its own library, nothing else, and offers

- `patches(module, find)`: what has to be replaced in the imported library, as `Patch` tuples; `_install`
  sets and restores them. A replacement asks `find` with the method and the URL before it reads a body, and
  calls the original where no handler claims them. It must do the same after it was taken out, as others may hold on to it.
- `mounted(module, client, handler)`: the same for one client, whose every request goes to the handler: `Patch` tuples
  whose owner is that client, set and restored by `_mount`. They leave the transports or adapters that it has alone.

`respx` and `responses` are libraries of mocks: their `mounted` is given what answers for the library that they see, and
`sees(mock)` says whether the mock is started.

A new library is one file here and one name in `STACKS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from fake_llm._model import Handler

__all__ = ["STACKS", "Find", "Patch", "leads_to"]

Find: TypeAlias = Callable[[str, str], Handler | None]
"""The innermost active handler that claims this method and URL."""

Patch: TypeAlias = tuple[Any, str, Callable[[Any], Any]]
"""An owner, the name of its attribute, and the function that makes the replacement of the original."""

STACKS: Mapping[str, str] = {
    "aiohttp": "aiohttp",
    "botocore.httpsession": "botocore",
    "dspy._vendor.lm15.transports": "lm15",
    "httpx": "httpx",
    "httpx2": "httpx",
    "lm15.transports": "lm15",
    "requests": "requests",
}
"""The module here that serves each library, by the library's import name."""


def leads_to(function: Any, ours: Collection[Any]) -> bool:
    """Whether a function is one of these, or one that somebody has wrapped around it since; a mock's own isn't."""
    while function is not None:
        if function in ours:
            return True
        function = getattr(function, "__wrapped__", None) if not _is_mock(function) else None
    return False


def _is_mock(function: Any) -> bool:
    return hasattr(function, "mock") or hasattr(function, "return_value")
