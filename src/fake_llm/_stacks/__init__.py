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

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fake_llm._model import Handler

__all__ = ["STACKS", "Find", "Patch"]

Find: TypeAlias = Callable[[str, str], Handler | None]
"""The innermost active handler that claims this method and URL."""

Patch: TypeAlias = tuple[Any, str, Callable[[Any], Any]]
"""An owner, the name of its attribute, and the function that makes the replacement of the original."""

STACKS: Mapping[str, str] = {"httpx": "httpx", "httpx2": "httpx", "requests": "requests"}
"""The module here that serves each library, by the library's import name."""
