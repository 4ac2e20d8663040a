"""The difference of a host that speaks OpenAI responses with an accent, made out of flags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from fake_llm._dialect import Delta, Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._failures import Errors
from fake_llm._model import HeaderItems

__all__ = ["responses"]

Json: TypeAlias = "dict[str, Any]"


def _same(exchange: Exchange, response: Json) -> Json:
    return response


def _same_item(exchange: Exchange, item: Json, started: bool) -> Json:
    return item


def responses(
    *,
    id: Callable[[Ids], str] | None = None,
    item_id: Callable[[str, Ids, str], str] | None = None,
    tool_id: Callable[[Ids, int], str | None] | None = None,
    response: Callable[[Exchange, Json], Json] = _same,
    item: Callable[[Exchange, Json, bool], Json] = _same_item,
    thoughts: Literal["summary", "content"] = "summary",
    whole_calls: bool = False,
    number_first: bool = False,
    headers: Callable[[Exchange], HeaderItems] | None = None,
    errors: Errors | None = None,
) -> Difference:
    """A `Difference` from OpenAI responses.

    Args:
        id: A new id for an answer.
        item_id: A new id for an item, from its kind (`msg`, `rs`, `fc`), the ids and the answer's id.
        tool_id: A new `call_id` for a tool call, from the number of the call in its answer.
        response: Alters the response, whole or inside an event.
        item: Alters an item of the output, wherever it stands; gets whether it has only been started.
        thoughts: Whether thoughts are the summary of a reasoning item or its content.
        whole_calls: Whether the arguments of a call come in one delta.
        number_first: Whether an event begins with its number.
        headers: Headers of a successful answer.
        errors: The host's errors.
    """
    accent = _Accent(
        item_id=item_id,
        response=response,
        item=item,
        in_content=thoughts == "content",
        whole_calls=whole_calls,
        number_first=number_first,
    )
    return Difference(
        document=accent.document,
        events=accent.events,
        headers=headers or _no_headers,
        failure=None if errors is None else errors.failure,
        id=id,
        tool_id=tool_id,
    )


def _no_headers(exchange: Exchange) -> HeaderItems:
    return ()


_PREFIXES: Final = frozenset({"msg", "rs", "fc"})
_IN_CONTENT: Final[Mapping[str, str]] = {
    "response.reasoning_summary_part.added": "response.content_part.added",
    "response.reasoning_summary_text.delta": "response.reasoning_text.delta",
    "response.reasoning_summary_text.done": "response.reasoning_text.done",
    "response.reasoning_summary_part.done": "response.content_part.done",
}
_ARGUMENTS: Final = "response.function_call_arguments.delta"


@dataclass(slots=True)
class _Writing:
    """One answer on its way, with the ids of its items."""

    accent: _Accent
    exchange: Exchange
    ids: dict[str, str] = field(default_factory=dict[str, str])

    def id(self, old: str) -> str:
        """The id of an item in the host's form; of one that isn't ours, itself."""
        make, kind = self.accent.item_id, old.partition("_")[0]
        if make is None or kind not in _PREFIXES:
            return old
        if old not in self.ids:
            self.ids[old] = make(kind, self.exchange.ids, self.exchange.id or "")
        return self.ids[old]

    def response(self, response: Json) -> Json:
        output = response.get("output")
        written = {**response, "output": [self.item(item) for item in output]} if isinstance(output, list) else response
        return self.accent.response(self.exchange, written)

    def item(self, item: Any, *, started: bool = False) -> Any:
        if not isinstance(item, dict):
            return item
        written = dict(item)
        if isinstance(item.get("id"), str):
            written["id"] = self.id(item["id"])
        if self.accent.in_content and item.get("type") == "reasoning":
            texts = [part["text"] for part in item["summary"]]
            written |= {"content": [{"type": "reasoning_text", "text": text} for text in texts], "summary": []}
        return self.accent.item(self.exchange, written, started)

    def event(self, event: Json) -> Json:
        written: Json = Delta(event) if isinstance(event, Delta) else dict(event)
        if "response" in written:
            written["response"] = self.response(written["response"])
        if "item" in written:
            written["item"] = self.item(written["item"], started=written["type"] == "response.output_item.added")
        if isinstance(written.get("item_id"), str):
            written["item_id"] = self.id(written["item_id"])
        if self.accent.in_content and written["type"] in _IN_CONTENT:
            written["type"] = _IN_CONTENT[written["type"]]
            written["content_index"] = written.pop("summary_index")
            if "part" in written:
                written["part"] = {"type": "reasoning_text", "text": written["part"]["text"]}
        return written


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accent:
    """The flags of `responses`, and what they do."""

    item_id: Callable[[str, Ids, str], str] | None
    response: Callable[[Exchange, Json], Json]
    item: Callable[[Exchange, Json, bool], Json]
    in_content: bool
    whole_calls: bool
    number_first: bool

    def document(self, exchange: Exchange, document: Json) -> Json:
        """OpenAI's whole answer in the host's form."""
        return _Writing(self, exchange).response(document)

    def events(self, exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
        """OpenAI's events in the host's form, numbered anew."""
        writing = _Writing(self, exchange)
        told = [writing.event(event) for event in (_gathered(content) if self.whole_calls else content)]
        ends = [writing.event(event) for event in closing]
        for number, event in enumerate((*told, *ends)):
            event["sequence_number"] = number
        if self.number_first:
            told, ends = [_numbered(event) for event in told], [_numbered(event) for event in ends]
        return told, ends


def _numbered(event: Json) -> Json:
    ordered = {"sequence_number": event["sequence_number"], **event}
    return Delta(ordered) if isinstance(event, Delta) else ordered


def _gathered(events: Iterable[Json]) -> Iterator[Json]:
    """The events with the arguments of each call in one delta."""
    waiting: Json | None = None
    for event in events:
        if event["type"] != _ARGUMENTS:
            if waiting is not None:
                yield waiting
            waiting = None
            yield event
        elif waiting is None:
            waiting = Delta(event)
        else:
            waiting["delta"] += event["delta"]
    if waiting is not None:
        yield waiting
