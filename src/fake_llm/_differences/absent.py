"""Keys that some hosts leave out where others say `null`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fake_llm._dialect import Exchange

__all__ = ["absent"]


def absent(*names: str) -> Callable[[Exchange, dict[str, Any]], dict[str, Any]]:
    """Leaves these keys out of a choice while they are `null`."""

    def kept(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in choice.items() if value is not None or name not in names}

    return kept
