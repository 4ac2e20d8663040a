"""What single hosts do differently from the dialect that they speak: data on a row of the endpoint table.

A module here per host, or per family of hosts that differ in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._model import HeaderItems

__all__ = ["SAME", "Difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one host does differently; `None` for what it doesn't.

    Attributes:
        document: Alters a whole answer.
        events: Alters the content events and the closing events.
        headers: Headers of a successful answer in place of the dialect's.
    """

    document: Callable[[Exchange, dict[str, Any]], dict[str, Any]] | None = None
    events: Callable[[Exchange, list[Any], list[Any]], tuple[list[Any], list[Any]]] | None = None
    headers: Callable[[Exchange], HeaderItems] | None = None


SAME: Final = Difference()
