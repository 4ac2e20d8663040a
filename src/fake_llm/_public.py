"""Public names show where people import them from."""

from __future__ import annotations

from typing import Any

__all__ = ["public"]


def public(*things: Any) -> None:
    """Let reprs and tracebacks of these classes and functions begin with `fake_llm.`."""
    for thing in things:
        thing.__module__ = "fake_llm"
