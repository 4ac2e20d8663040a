"""What a service is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from fake_llm._dialect import Exchange, WireEvent
from fake_llm._model import Fault, Message, Request, Response
from fake_llm._turns import Error

if TYPE_CHECKING:
    from fake_llm._call import Call

__all__ = ["POLLS", "Kept", "Memory", "Service", "Store", "page", "whole_number"]

POLLS = 2
"""How often what runs in the background is asked for until it is done: the first time it is still in progress."""


@dataclass(slots=True)
class Kept:
    """An answer that can be asked for again.

    Attributes:
        exchange: What it is written from.
        polls: How often it was asked for.
        cancelled: Whether it was before it was done.
        metadata: What it was given later.
    """

    exchange: Exchange
    polls: int = 0
    cancelled: bool = False
    metadata: Any = None


@dataclass(slots=True)
class Store:
    """What one fake remembers between calls.

    Attributes:
        context_window: The window of every model in tokens, `None` when nobody said.
        answered: The calls whose answers a later request can build on, by the id of the answer.
        kept: The answers that can be asked for again, by their ids.
        shelves: The documents of everything else, by kind and by id, in the order in which they came.
        ask: Answers a request as if it had come by itself: a line of a batch.
    """

    context_window: int | None = None
    answered: dict[str, Call] = field(default_factory=dict[str, "Call"])
    kept: dict[str, Kept] = field(default_factory=dict[str, Kept])
    shelves: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    ask: Callable[[Request], Response | Fault] | None = None

    def shelf(self, kind: str) -> dict[str, Any]:
        """The documents of one kind."""
        return self.shelves.setdefault(kind, {})

    def clear(self) -> None:
        """Forget all of it."""
        for each in (self.answered, self.kept, self.shelves):
            each.clear()


Service: TypeAlias = "Callable[[Store, Exchange], dict[str, Any] | Response | Error | list[WireEvent]]"
"""A document, a whole response, the vendor's error, or the events of a stream."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What generation has to do with the store.

    Attributes:
        recall: What the request builds on: the messages before it, or the vendor's refusal of an id that nobody knows.
        keep: Puts an answer into the store.
        concerns: Whether a request with this body has anything to do with it.
    """

    recall: Callable[[Store, Exchange], tuple[Message, ...] | Error]
    keep: Callable[[Store, Exchange, Response | Fault], None]
    concerns: Callable[[Any], bool] = lambda body: True


_DIGITS = 18


def whole_number(text: str) -> int | None:
    """The number in a query, `None` where there is none, or one that no vendor counts to."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def page(
    exchange: Exchange, documents: Iterable[dict[str, Any]], *, newest_first: bool = True, usual: int = 20
) -> dict[str, Any]:
    """A page of a list as OpenAI gives it, by the `after`, `limit` and `order` of the query.

    Args:
        exchange: The request.
        documents: All of them, the oldest first.
        newest_first: The order where the query has none.
        usual: How many where the query has no limit.
    """
    query = exchange.request.query
    listed = list(documents)
    if query.get("order", "desc" if newest_first else "asc") == "desc":
        listed.reverse()
    after = query.get("after")
    if after is not None:
        places = [place for place, document in enumerate(listed) if document["id"] == after]
        listed = listed[places[0] + 1 :] if places else []
    shown = listed[: whole_number(query.get("limit", "")) or usual]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(listed) > len(shown),
    }
