"""Dummy credentials while blocks are open, so that SDKs can be constructed without a key.

Only for SDKs that are imported, or when they are. What the environment had is left alone, and what was
added is taken away again by the last block.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from fake_llm._endpoints import PROVIDERS

__all__ = ["declared_hosts", "enter", "imported", "leave", "watches"]

_ROWS: Final = [row for provider in PROVIDERS for row in provider.credentials]
_WANTED: Final[Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]]] = {
    module: tuple(row[1:] for row in _ROWS if row[0] == module) for module, *_ in _ROWS
}
"""By the name of an SDK's module: a variable that it wants, a dummy for it, and other variables that do as well."""

_lock: Final = threading.RLock()
_added: Final[dict[str, tuple[str, str | None]]] = {}
"""The dummies by variable, each with what stood there before: nothing, or an empty text."""
_blocks = 0


def enter(*, every: bool = False) -> None:
    """Open a block: dummies for each SDK that is imported, or for every one."""
    global _blocks  # noqa: PLW0603 - one process has one environment
    with _lock:
        _blocks += 1
        for module in _WANTED:
            if every or module in sys.modules:
                _add(module)


def leave() -> None:
    """Close a block; the last one takes the dummies away."""
    global _blocks  # noqa: PLW0603
    with _lock:
        _blocks -= 1
        if _blocks:
            return
        for name, (dummy, before) in _added.items():
            if os.environ.get(name) != dummy:
                continue
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
        _forget({dummy for dummy, _ in _added.values()})
        _added.clear()


def _forget(dummies: set[str]) -> None:
    """Take the dummies out of what SDKs cached: the client behind `openai.chat` and the like (openai 3.57, 2026-11)."""
    openai = sys.modules.get("openai")
    if openai is not None and getattr(openai, "api_key", None) in dummies:
        vars(openai)["api_key"] = None
        getattr(openai, "_reset_client", lambda: None)()


def watches() -> Iterator[str]:
    """The SDKs whose import is of interest."""
    return iter(_WANTED)


def imported(module: str) -> None:
    """An SDK has just been imported."""
    with _lock:
        if _blocks:
            _add(module)


def _add(module: str) -> None:
    for name, dummy, others in _WANTED[module]:
        if not any(os.environ.get(other) for other in (name, *others)):
            _added[name] = (dummy, os.environ.get(name))
            os.environ[name] = dummy


def declared_hosts() -> dict[str, str]:
    """Hosts that the SDKs' own variables name (`OPENAI_BASE_URL` and the like), each with its provider."""
    return {
        url: provider.name for provider in PROVIDERS for name in provider.base_urls if (url := os.environ.get(name))
    }
