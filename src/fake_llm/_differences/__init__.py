"""What single hosts do differently from the dialect that they speak: data on a row of the endpoint table.

A module here per host, or per family of hosts that differ in the same way. `chat` makes the difference of a
host that speaks OpenAI chat out of flags, `responses` that of one that speaks OpenAI responses. A host's own errors are a table of `fake_llm._failures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from fake_llm._dialect import Exchange, Ids, WireEvent
from fake_llm._model import HeaderItems, Request, Response
from fake_llm._turns import Error

__all__ = ["SAME", "Difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What one host does differently; `None` for what it doesn't.

    Attributes:
        document: Alters a whole answer.
        events: Alters the content events and the closing events.
        headers: Headers of a successful answer in place of the dialect's.
        failure: An error as a whole answer, in place of the dialect's.
        failure_events: An error after a stream has begun, in place of the dialect's.
        id: A new id for an answer in this host's form.
        tool_id: A new id for a tool call in this host's form; gets the number of the call in its answer.
        check: The host's own refusal of a malformed request in place of the dialect's, its body as it is to be sent. A body
            that isn't JSON comes as `None`.
        too_long: The host's message for a prompt over the context window, as in the dialect.
    """

    document: Callable[[Exchange, dict[str, Any]], dict[str, Any]] | None = None
    events: Callable[[Exchange, list[Any], list[Any]], tuple[list[Any], list[Any]]] | None = None
    headers: Callable[[Exchange], HeaderItems] | None = None
    failure: Callable[[Exchange, Error], Response] | None = None
    failure_events: Callable[[Exchange, Error], list[WireEvent]] | None = None
    id: Callable[[Ids], str] | None = None
    tool_id: Callable[[Ids, int], str | None] | None = None
    check: Callable[[Request, Any], Error | None] | None = None
    too_long: str | None = None


SAME: Final = Difference()
