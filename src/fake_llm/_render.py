"""A turn to an answer: what is the same for every vendor, done once.

Structured output is placed, parts are checked, usage is estimated, chunks are paced, faults and
time-outs are laid into the plan. Dialects and framings are asked for the rest.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from operator import attrgetter
from typing import Any, Final

from fake_llm import _json
from fake_llm._auto import automatic
from fake_llm._dialect import Choice, Delta, Exchange, Plain, ReadyPart, WireEvent
from fake_llm._endpoints import Endpoint
from fake_llm._errors import FakeLLMFailure, FunctionTurnError, ScriptError, ScriptMismatchError, clipped, sentence
from fake_llm._framing import PLAIN, AwsEventStream, JsonArray, Wire, bent, coding, cut, pack
from fake_llm._model import (
    Event,
    Fault,
    FaultKind,
    HeaderItems,
    Pause,
    Response,
    Step,
    Timeouts,
    ToolChoice,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._options import Options, Pace
from fake_llm._schema import misfit
from fake_llm._script import Broken, Verbatim, is_unreached
from fake_llm._services._base import Store
from fake_llm._spots import Spot
from fake_llm._tokens import estimate
from fake_llm._turns import (
    Auto,
    Disconnect,
    Edit,
    Embedding,
    EndOfStream,
    Error,
    Framing,
    Garbage,
    Json,
    Raw,
    Refusal,
    Reply,
    ServerTool,
    Stall,
    Structured,
    Then,
    ToolCall,
    check_json,
    check_stalls,
    check_unicode,
)

__all__ = ["Rendered", "events_of", "render", "render_error", "render_service"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer, the tokens it says it cost, and the seconds it takes."""

    answer: Response | Fault
    usage: Usage | None = None
    waited: float = 0.0


def render(
    turn: Reply | Error | Raw | Verbatim | Broken, exchange: Exchange, endpoint: Endpoint, rule: Pace, options: Options
) -> Rendered:
    """The answer that a turn gives to a request.

    Raises:
        ScriptMismatchError: The turn doesn't fit the request.
        FunctionTurnError: An `edit=` function failed.
    """
    if isinstance(turn, Broken):
        return _broken(turn, exchange.request.timeouts)
    pace = _merged(_block(endpoint, options), rule)
    if isinstance(turn, Reply):
        return _reply(turn, exchange, endpoint, _merged(pace, turn), options)
    if isinstance(turn, Verbatim):
        return _verbatim(turn, exchange, endpoint, pace, options)
    response = (
        _bent(render_error(turn, exchange, endpoint), pace, exchange)
        if isinstance(turn, Error)
        else _raw(turn, exchange, endpoint, pace)
    )
    return _timed(response, pace.delay or 0.0, exchange.request.timeouts, virtual=options.virtual_time)


def _block(endpoint: Endpoint, options: Options) -> Pace:
    """What a block says about the answers of a row."""
    if endpoint.side:
        return Pace()
    return options.pace if endpoint.operation == "chat" else replace(options.pace, model=None, usage=None)


def _merged(outer: Pace, inner: Any) -> Pace:
    if _said(inner) == _NOTHING:
        return outer
    return Pace(
        model=outer.model if inner.model is None else inner.model,
        usage=outer.usage if inner.usage is None else inner.usage,
        delay=outer.delay if inner.delay is None else inner.delay,
        interval=outer.interval if inner.interval is None else inner.interval,
        chunk_size=outer.chunk_size if inner.chunk_size is None else inner.chunk_size,
        framing=outer.framing if inner.framing is None else inner.framing,
    )


_said: Final = attrgetter(*(item.name for item in fields(Pace)))
_NOTHING: Final = _said(Pace())


def _answered(answer: Response | Fault) -> bool:
    """Whether it is an answer, even one that breaks off: not an error, not a fault in its place."""
    if isinstance(answer, Fault) or answer.status >= _FIRST_ERROR:
        return False
    return answer.steps is None or any(isinstance(step, bytes) for step in answer.steps)


_FIRST_ERROR: Final = 400


# --- the parts of a turn ------------------------------------------------------------------------


def _reply(reply: Reply, exchange: Exchange, endpoint: Endpoint, pace: Pace, options: Options) -> Rendered:
    _fill(exchange, reply, endpoint, pace, options)
    framing = _fitting(pace.framing, exchange)
    if exchange.stream:
        response = _streamed(reply, exchange, endpoint, pace, framing)
    else:
        response = _whole(reply, exchange, endpoint, framing)
    rendered = _timed(response, pace.delay or 0.0, exchange.request.timeouts, virtual=options.virtual_time)
    return Rendered(rendered.answer, exchange.usage, rendered.waited) if _answered(rendered.answer) else rendered


def _fill(exchange: Exchange, reply: Reply, endpoint: Endpoint, pace: Pace, options: Options) -> None:
    """Put into the exchange what the dialect writes from."""
    if _is_plain(reply, exchange):
        exchange.choices = (_ready(reply, reply.parts, pace),)
    else:
        view = exchange.view
        strict = options.strict and view.whole
        exchange.choices = tuple(
            _choice(one, exchange, endpoint, view, pace, strict=strict and reply.check and one.check)
            for one in _answers(reply, exchange, view)
        )
    exchange.model = pace.model or exchange.model
    counted = exchange.asked.dialect.counted
    exchange.usage = pace.usage or _with_cached(
        exchange, counted(exchange) if counted else estimate(exchange.body, exchange.choices)
    )
    exchange.id = reply.id
    if reply.id is None and endpoint.difference.id is not None:
        exchange.id = endpoint.difference.id(exchange.ids)
    exchange.extra = reply.extra
    exchange.cut = reply.then is not None and not _placed_at(reply.then)


def _with_cached(exchange: Exchange, usage: Usage) -> Usage:
    """The usage with what is kept on the vendor's side and belongs to the prompt."""
    if not exchange.cached:
        return usage
    return replace(usage, input_tokens=usage.input_tokens + exchange.cached, cached_tokens=exchange.cached)


def _is_plain(reply: Reply, exchange: Exchange) -> bool:
    """Whether the reply is text and the request has nothing to say about it, so that the view needn't be read."""
    shaping = exchange.asked.dialect.shaping
    return (
        shaping is not None
        and not reply.choices
        and shaping.isdisjoint(exchange.body)
        and all(isinstance(part, str) for part in reply.parts)
    )


def _ready(reply: Reply, parts: Sequence[Any], pace: Pace) -> Choice:
    return Choice(
        tuple(parts),
        reply.finish_reason or _finish(parts),
        reply.logprobs,
        reply.chunk_size or pace.chunk_size,
        reply.chunks,
    )


_MOST_ANSWERS: Final = 1024
"""More no vendor gives."""


def _answers(reply: Reply, exchange: Exchange, view: View) -> tuple[Reply, ...]:
    """One reply for each answer that was asked for: a single one is given `n` times."""
    given = ((reply,) if reply.parts or not reply.choices else ()) + reply.choices
    asked = view.params.get("n")
    count = asked if isinstance(asked, int) and not isinstance(asked, bool) and 0 < asked <= _MOST_ANSWERS else 1
    if len(given) > 1 and not exchange.asked.dialect.choices:
        raise ScriptMismatchError(
            sentence(
                f"The turn has {len(given)} choices.",
                f"{exchange.asked.dialect.label} gives one answer to a request.",
                "Leave choices= out.",
            )
        )
    if len(given) > 1 and len(given) != count:
        raise ScriptMismatchError(
            sentence(
                f"The turn has {len(given)} choices.",
                f"The request asks for {count} (n={count}).",
                f"Write {count} of them, or let the code ask for n={len(given)}.",
            )
        )
    return given if len(given) == count or not exchange.asked.dialect.choices else given * count


def _choice(reply: Reply, exchange: Exchange, endpoint: Endpoint, view: View, pace: Pace, *, strict: bool) -> Choice:
    dialect, own_id = exchange.asked.dialect, endpoint.difference.tool_id
    parts: list[ReadyPart] = []
    calls = 0
    for part in reply.parts:
        if isinstance(part, Auto) and str not in dialect.carries:
            continue  # what isn't chat is made up by itself
        if isinstance(part, Auto):
            ready: Any = automatic(view)
        elif isinstance(part, Json):
            ready = _json.text(part.value)
        elif isinstance(part, Structured):
            ready = _placed(part.value, view, strict=strict)
        else:
            ready = part
        kind = str if isinstance(ready, str) else type(ready)
        if kind not in dialect.carries:
            raise ScriptMismatchError(
                sentence(
                    f"The turn has a part {ready!r}.",
                    f"{dialect.label} can't carry {kind.__name__}; it carries {', '.join(sorted(each.__name__ for each in dialect.carries))}.",
                    'Write fake.when(operation="embeddings").reply(Embedding([…])).'
                    if Embedding in (kind, *dialect.carries)
                    else _instead(kind, endpoint),
                )
            )
        if isinstance(ready, ToolCall):
            if ready.id is None:
                ready = ready.with_id(own_id(exchange.ids, calls) if own_id else dialect.tool_id(exchange.ids))
            calls += 1
        parts.append(ready)
    choice = _ready(reply, parts, pace)
    if strict:
        _check(choice, view)
    return choice


def _instead(kind: type, endpoint: Endpoint) -> str:
    """What to write in place of a part that a vendor has no way to say."""
    if endpoint.operation in ("images", "speech", "transcription"):
        return 'Write fake.when(operation="images").reply(Image(png)), "speech" and Audio(mp3), or "transcription" and "text".'
    if endpoint.operation == "moderation":
        return 'Write {"violence": 0.9}, or Reply(finish_reason="content_filter").'
    if endpoint.operation == "rerank":
        return "Write Json([0.9, 0.1]): a number for each document, in the order of the documents."
    if kind is Refusal and endpoint.operation == "chat":
        return (
            'Write the refusal as a text, or Reply("…", finish_reason="content_filter") for an answer that was stopped.'
        )
    return "Write the turn without it for this vendor."


def _finish(parts: Iterable[ReadyPart]) -> str:
    kinds = {type(part) for part in parts}
    return "refusal" if Refusal in kinds else "tool_calls" if ToolCall in kinds else "stop"


def _placed(value: Mapping[str, Any], view: View, *, strict: bool) -> str | ToolCall:
    """Structured output in the way the request asks for it: JSON text, or a call of the tool it is made to call."""
    choice = view.tool_choice
    if choice.mode == "tool" and choice.name is not None:
        return ToolCall(choice.name, value)
    if view.schema is not None or choice.mode in ("auto", "none"):
        return _json.text(value)
    offered = [tool for tool in view.tools.values() if choice.allowed is None or tool.name in choice.allowed]
    plain = _json.loads(_json.compact(value))
    reasons = {tool.name: misfit(plain, tool.schema) for tool in offered}
    accepting = [tool for tool in offered if reasons[tool.name] is None]
    declaring = [tool for tool in accepting if set(value) <= set(_properties(tool))]
    best = declaring or accepting
    if best:
        return ToolCall(best[0].name, value)
    if offered and (len(offered) == 1 or not strict):
        return ToolCall(offered[0].name, value)
    if not offered:
        return _json.text(value)
    raise ScriptMismatchError(
        sentence(
            f"The turn is the structured output {dict(value)!r}, and the request demands a tool call.",
            "No offered tool accepts it: " + "; ".join(f"{name}: {reason}" for name, reason in reasons.items()) + ".",
            "Write a value that fits one of them, or ToolCall(name, arguments) outright.",
        )
    )


def _properties(tool: ToolSpec) -> Mapping[str, Any]:
    properties = tool.schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _check(choice: Choice, view: View) -> None:
    """Refuse what no real model could answer to this request."""
    calls = choice.tool_calls
    for call in calls:
        if call.check:
            _check_call(call, view)
    for tool in choice.of(ServerTool):
        _check_server_tool(tool, view)
    if view.schema is not None and not calls and choice.finish_reason in ("stop", "stop_sequence") and choice.parts:
        _check_text(choice.text, view.schema)
    size = view.params.get("dimensions")
    for pinned in choice.of(Embedding):
        if isinstance(size, int) and len(pinned.vector) != size:
            raise ScriptMismatchError(
                sentence(
                    f"The turn has an Embedding of length {len(pinned.vector)}.",
                    f"The request asks for vectors of length {size} (dimensions).",
                    f"Write an Embedding of length {size}, or Reply(Embedding([…]), check=False) for a model that misbehaves.",
                )
            )


def _check_call(call: ToolCall, view: View) -> None:
    tool = view.tools.get(call.name)
    if tool is None:
        near = difflib.get_close_matches(call.name, view.tools, 1)
        raise ScriptMismatchError(
            sentence(
                f"The turn calls the tool {call.name!r}.",
                f"The request offers {', '.join(map(repr, view.tools))}."
                if view.tools
                else "The request offers no tools.",
                f"Write ToolCall({(near or list(view.tools) or [call.name])[0]!r}, …), or ToolCall({call.name!r}, …, check=False) for a model that misbehaves."
                if view.tools
                else f"Let the code offer it, or write ToolCall({call.name!r}, …, check=False) for a model that misbehaves.",
            )
        )
    _check_choice(call, view.tool_choice)
    if isinstance(call.arguments, str):
        return
    reason = misfit(_json.loads(call.json.encode("utf-8", "surrogatepass")), tool.schema)
    if reason is not None:
        raise ScriptMismatchError(
            sentence(
                f"The turn calls {call.name!r} with {dict(call.arguments)!r}.",
                f"That doesn't fit the schema in the request: {reason}.",
                "Write arguments that fit, or check=False for a model that misbehaves.",
            )
        )


def _check_server_tool(tool: ServerTool, view: View) -> None:
    """Refuse a tool of the provider that the request doesn't offer, or that its tool choice rules out."""
    offered = view.server_tools
    if offered is None or (tool.name in offered and view.tool_choice.mode != "none"):
        return
    raise ScriptMismatchError(
        sentence(
            f"The turn has the provider's tool {tool.name!r}.",
            "The tool choice of the request allows no tool."
            if tool.name in offered
            else f"The request offers {', '.join(map(repr, sorted(offered)))} of those that the provider runs."
            if offered
            else "The request offers no tools that the provider runs.",
            f"Let the code offer it, or write Reply(ServerTool({tool.name!r}, …), check=False) for a model that misbehaves.",
        )
    )


def _check_choice(call: ToolCall, choice: ToolChoice) -> None:
    """Refuse a call that the request's own tool choice rules out."""
    if choice.mode == "none":
        asked = "no tool"
    elif choice.mode == "tool" and choice.name is not None and choice.name != call.name:
        asked = repr(choice.name)
    elif choice.allowed is not None and call.name not in choice.allowed:
        asked = "one of " + ", ".join(map(repr, sorted(choice.allowed)))
    else:
        return
    raise ScriptMismatchError(
        sentence(
            f"The turn calls the tool {call.name!r}.",
            f"The tool choice of the request allows {asked}.",
            "Write a turn that fits, or check=False for a model that misbehaves.",
        )
    )


def _check_text(text: str, schema: Mapping[str, Any]) -> None:
    try:
        value = _json.loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        raise ScriptMismatchError(
            sentence(
                f"The turn answers with the text {clipped(text, 200)!r}.",
                "The request asks for structured output, and that is no JSON.",
                "Write a dict or Json(…), or Reply(text, check=False) for a model that misbehaves.",
            )
        ) from None
    reason = misfit(value, schema)
    if reason is not None:
        raise ScriptMismatchError(
            sentence(
                f"The turn answers with {clipped(text, 200)}.",
                f"That doesn't fit the schema in the request: {reason}.",
                "Write a value that fits, or Reply(…, check=False) for a model that misbehaves.",
            )
        )


# --- bodies -------------------------------------------------------------------------------------


def _whole(reply: Reply, exchange: Exchange, endpoint: Endpoint, framing: Framing) -> Response:
    then = reply.then
    if isinstance(then, Error):
        return _with_headers(
            _bent(render_error(then, exchange, endpoint), Pace(framing=framing), exchange), reply.headers
        )
    headers = _headers(exchange, endpoint, endpoint.whole.content_type, reply.headers, framing)
    if _in_place(then):
        return _unsaid(then, headers, framing, exchange)
    _begin(exchange, endpoint)
    document: Any = endpoint.dialect.document(exchange)
    if endpoint.difference.document is not None:
        document = endpoint.difference.document(exchange, document)
    if isinstance(document, Plain):
        headers = _over(headers, {"content-type": document.content_type, **(reply.headers or {})})
        document = document.data
    if reply.edit is not None:
        pieces, pauses = _edited_whole(reply.edit, document, endpoint, framing)
    else:
        pieces, pauses = [document if isinstance(document, bytes) else endpoint.whole.encode(document, framing)], {}
    return _said_whole(200, headers, pieces, pauses, then, framing, exchange)


def _in_place(then: Then | None) -> bool:
    """Whether it comes in place of a body that isn't streamed."""
    if isinstance(then, Error):
        return True
    return then is not None and then.after_bytes is None and not _goes_on(then)


def _unsaid(then: Then | None, headers: HeaderItems, framing: Framing, exchange: Exchange) -> Response:
    """What comes in place of a body."""
    if isinstance(then, Garbage):
        return Response(200, headers, steps=tuple(cut(pack([then.data], framing), framing)))
    return Response(200, headers, steps=tuple(_after(then, exchange)))


def _said_whole(
    status: int,
    headers: HeaderItems,
    pieces: list[bytes],
    pauses: Mapping[int, float],
    then: Then | None,
    framing: Framing,
    exchange: Exchange,
) -> Response:
    """A body that isn't streamed; where it breaks off at a place of it, its length is that of the whole one."""
    if then is None and framing.split is None and coding(framing) is None and not pauses:
        return Response(status, headers, b"".join(pieces))
    said: list[Step] = _paced(pieces, pauses, framing) if pauses else [*cut(pack([b"".join(pieces)], framing), framing)]
    if isinstance(then, Stall) and then.seconds is not None and then.after_bytes is None:
        return Response(status, headers, steps=(Pause(then.seconds), *said))
    if then is None or not _placed_at(then):
        return Response(status, headers, steps=tuple(said))
    size = sum(len(piece) for piece in said if isinstance(piece, bytes))
    breaks = isinstance(then, (Disconnect, Stall))
    then = _counted(then, [b"".join(pieces)], 1, framing)
    steps = _broken_off(said, then, exchange, at_the_end=not breaks)  # by its length a client knows that it has all
    return Response(status, headers, steps=tuple(steps), length=size if breaks else None)


def _edited_whole(
    edit: Edit | tuple[Edit, ...], document: Any, endpoint: Endpoint, framing: Framing
) -> tuple[list[bytes], dict[int, float]]:
    items, pauses = _silences(_edit(edit, [copy.deepcopy(document)]))
    pieces = [
        item
        if isinstance(item, bytes)
        else item.encode()
        if isinstance(item, str)
        else endpoint.whole.encode(item, framing)
        for item in items
    ]
    return pieces, pauses


def _silences(items: list[Any]) -> tuple[list[Any], dict[int, float]]:
    """The wire events without the silences among them, and the seconds before each."""
    events: list[Any] = []
    pauses: dict[int, float] = {}
    for item in items:
        if isinstance(item, Stall):
            pauses[len(events)] = pauses.get(len(events), 0.0) + (item.seconds or 0.0)
        else:
            events.append(item)
    return events, pauses


def _edit(edit: Edit | tuple[Edit, ...], events: list[Any]) -> list[Any]:
    for one in edit if isinstance(edit, tuple) else (edit,):
        events = _edited(one, events)
    return events


def _edited(edit: Edit, events: list[Any]) -> list[Any]:
    try:
        edited = edit(events)
    except (FakeLLMFailure, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise FunctionTurnError(error) from error
    if not isinstance(edited, list):
        wrong = ScriptError(
            sentence(
                f"edit= returned {edited!r}.",
                "It is given the list of wire events and returns the list to send.",
                "Write return events.",
            )
        )
        raise FunctionTurnError(wrong)
    for item in edited:
        _check_event(item)
    return edited


def _check_event(item: Any) -> None:
    try:
        if isinstance(item, Stall):
            check_stalls([item], "What edit= returned")
            return
        if not isinstance(item, (dict, Event, str, bytes)):
            raise ScriptError(
                sentence(
                    f"edit= returned a list that holds {item!r}.",
                    "The list holds wire events: dicts, or Event(name, payload); str and bytes are sent as they are.",
                    "Write return events.",
                )
            )
        if isinstance(item, str):
            check_unicode(item, "what edit= returned")
        elif isinstance(item, Event) and item.name is not None and not isinstance(item.name, str):
            raise ScriptError(
                sentence(
                    f"edit= returned {item!r}.", "An event's name is a str or None.", "Write Event(name, payload)."
                )
            )
        elif not isinstance(item, bytes):
            check_json(item.payload if isinstance(item, Event) else item, "what edit= returned")
    except ScriptError as wrong:
        raise FunctionTurnError(wrong) from None


def _streamed(reply: Reply, exchange: Exchange, endpoint: Endpoint, pace: Pace, framing: Framing) -> Response:
    wire = endpoint.wire_of(exchange.request)
    assert wire is not None, "a dialect that streams has a wire in its row"
    framing = _textual(framing, wire)
    _begin(exchange, endpoint)
    content, closing = _events(exchange, endpoint)
    headers = _headers(exchange, endpoint, wire.content_type, reply.headers, framing)
    steps = _said_in_events(content, closing, reply, wire, pace.interval or 0.0, framing, exchange, endpoint)
    return Response(200, headers, steps=tuple(steps))


def _events(exchange: Exchange, endpoint: Endpoint) -> tuple[list[WireEvent], list[WireEvent]]:
    """The events of the content, and the closing ones."""
    content, closing = endpoint.dialect.events(exchange)
    own = endpoint.difference.events
    return (content, closing) if own is None else own(exchange, content, closing)


def events_of(reply: Reply, exchange: Exchange, endpoint: Endpoint, options: Options) -> tuple[list[bytes], int]:
    """The bytes of each event that a turn is streamed in, and up to how many of them it isn't complete.

    Raises:
        ScriptMismatchError: The vendor can't carry it.
        FunctionTurnError: Its `edit=` function failed.
    """
    pace = _merged(options.pace, reply)
    _fill(exchange, reply, endpoint, pace, options)
    wire = endpoint.wire_of(exchange.request)
    assert wire is not None, "a dialect that streams has a wire in its row"
    content, closing = map(_copies, _events(exchange, endpoint))
    events: list[Any] = [*content, *closing]
    ending = _Ending.of(content, closing)
    if reply.edit is not None:
        events, _ = _silences(_edit(reply.edit, events))
    framing = pace.framing or PLAIN
    end = wire.end(framing)
    return [*wire.encode(events, framing), *([end] if end else [])], ending.found(events)


def _said_in_events(
    content: list[Any],
    closing: list[Any],
    reply: Reply,
    wire: Wire,
    interval: float,
    framing: Framing,
    exchange: Exchange,
    endpoint: Endpoint,
) -> list[Step]:
    """A stream, with what happens after its content or at a place of it."""
    then = reply.then
    placed = then is not None and _placed_at(then)
    goes_on = _goes_on(then)
    failed = _failure_events(then, exchange, endpoint) if isinstance(then, Error) else []
    if not placed and not goes_on:
        closing = failed
    silences: dict[int, float] = {}
    if reply.edit is not None:
        content, closing = _copies(content), _copies(closing)
    ending = _Ending.of(content, closing) if _at_a_spot(then) else None
    events = [*content, *closing]
    if reply.edit is not None:
        events, silences = _silences(_edit(reply.edit, events))
    pauses = _added_up(silences, _pauses(events, interval) if interval else {})
    if then is not None and placed:
        settled = ending.found(events) if ending else len(events)
        return _in_events(events, then, failed, wire, pauses, framing, exchange, settled)
    pieces = wire.encode(events, framing)
    end = then.data if isinstance(then, Garbage) else wire.end(framing) if goes_on else b""
    steps = _steps(events, pieces, end, pauses, then, closing, framing)
    if not goes_on and not isinstance(then, Error):
        steps.extend(_after(then, exchange))
    return steps


def _copies(events: list[Any]) -> list[Any]:
    """The events for an edit to alter: they share parts, some of which are constants."""
    return [copy.deepcopy(event) for event in events]


@dataclass(frozen=True, slots=True)
class _Ending:
    """The event that says why the model ended, and how to know it again after an edit has had all of them.

    Attributes:
        before: The events before it.
        last: The event.
        after: How many come after it.
        said: The strings that it alone has, each with its key; taken down before an edit alters them.
    """

    before: list[Any]
    last: Any
    after: int
    said: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, content: list[Any], closing: list[Any]) -> _Ending:
        before, last = (content, closing[0]) if closing else (content[:-1], content[-1] if content else None)
        said = frozenset(_strings(last)).difference(*map(_strings, before))
        return cls(before, last, max(0, len(closing) - 1), said)

    def found(self, events: list[Any]) -> int:
        """Up to how many events an answer isn't complete; where that can't be known, rather too few than too many."""
        for count, event in enumerate(events, 1):
            if _same(event, self.last) or self._is_said_in(event):
                return count
        foreign = (
            count for count, event in enumerate(events, 1) if not any(_same(event, known) for known in self.before)
        )
        least = next(foreign, len(events))  # what is left as it was doesn't complete an answer
        return max(least, min(len(self.before) + 1, len(events) - self.after))

    def _is_said_in(self, event: Any) -> bool:
        if isinstance(event, (str, bytes)):
            text = event if isinstance(event, str) else event.decode("utf-8", "replace")
            return any(
                re.search(rf"{re.escape(_json.text(key))}\s*:\s*{re.escape(_json.text(value))}", text)
                for key, value in self.said
            )
        return not self.said.isdisjoint(_strings(event))


def _same(event: Any, other: Any) -> bool:
    if event is other:
        return True
    return isinstance(event, (str, bytes)) is isinstance(other, (str, bytes)) and bool(event == other)


def _strings(event: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All strings of an event, each with its key."""
    if isinstance(event, Event):
        yield from _strings(event.payload)
    elif isinstance(event, Mapping):
        for name, value in event.items():
            yield from _strings(value, str(name))
    elif isinstance(event, (list, tuple)):
        for item in event:
            yield from _strings(item, key)
    elif isinstance(event, str) and key:
        yield key, event


def _at_a_spot(then: Then | None) -> bool:
    """Whether its place is one that a sweep counted."""
    places = (getattr(then, name, None) for name in ("after_bytes", "after_events"))
    return any(isinstance(place, Spot) for place in places)


def _begin(exchange: Exchange, endpoint: Endpoint) -> None:
    """Remember what an answer that can be asked for again is written from."""
    if endpoint.memory is not None:
        exchange.begun = exchange.ids.copy(), exchange.id


def _steps(
    events: list[Any],
    pieces: list[bytes],
    end: bytes,
    pauses: dict[int, float],
    then: Then | None,
    closing: list[Any],
    framing: Framing,
) -> list[Step]:
    if end:
        pieces.append(end)
    stall = then.seconds if isinstance(then, Stall) else None
    if stall is None and not pauses:
        return [*(pieces if framing is PLAIN else cut(pack(pieces, framing), framing))]
    if stall is not None:
        first = next(
            (index for index, event in enumerate(events) if any(event is late for late in closing)), len(events)
        )
        pauses[first] = pauses.get(first, 0.0) + stall
    return _paced(pieces, pauses, framing)


def _added_up(one: dict[int, float], two: dict[int, float]) -> dict[int, float]:
    """Both pauses where two fall on one place."""
    return {index: one.get(index, 0.0) + two.get(index, 0.0) for index in {**one, **two}} if one and two else one or two


def _pauses(events: list[Any], interval: float) -> dict[int, float]:
    """The seconds between pieces of content, by the index of the event before which they pass."""
    content = [
        index
        for index, event in enumerate(events)
        if isinstance(event.payload if isinstance(event, Event) else event, Delta)
    ]
    return dict.fromkeys(content[1:], interval)


def _paced(pieces: list[bytes], pauses: Mapping[int, float], framing: Framing) -> list[Step]:
    pieces = pack(pieces, framing)
    steps: list[Step] = []
    run: list[bytes] = []
    before = 0
    for index, piece in enumerate(pieces):
        if index in pauses:
            steps += [*cut(run, framing, before), Pause(pauses[index])]
            before += sum(map(len, run))
            run = []
        run.append(piece)
    return [
        *steps,
        *cut(run, framing, before),
        *(Pause(seconds) for index, seconds in pauses.items() if index >= len(pieces)),
    ]


def _fitting(framing: Framing | None, exchange: Exchange) -> Framing:
    """The framing as this client can take it: compressed only if it offers that, cut as text only if it is text."""
    if framing is None or framing is PLAIN:
        return PLAIN
    kind = coding(framing)
    if kind is not None and not _offers(exchange.request.headers.get("accept-encoding", ""), kind):
        return replace(framing, gzip=None, deflate=None)
    return replace(framing, split=None) if kind is not None and isinstance(framing.split, str) else framing


def _textual(framing: Framing, wire: Wire | None) -> Framing:
    """The framing without cuts that only a text has, for frames that are none."""
    binary = isinstance(wire, AwsEventStream) and isinstance(framing.split, str)
    return replace(framing, split=None) if binary else framing


def _offers(accepted: str, kind: str) -> bool:
    """Whether an `Accept-Encoding` names this coding, or any, and doesn't rule it out."""
    said: dict[str, bool] = {}
    for item in accepted.lower().split(","):
        name, _, weight = item.partition(";")
        said[name.strip()] = weight.replace(" ", "").removeprefix("q=").strip("0.") != "" or not weight
    return said.get(kind, said.get("*", False))


def _bent(response: Response, pace: Pace, exchange: Exchange) -> Response:
    """A ready answer as the framing says."""
    framing = _fitting(pace.framing, exchange)
    if framing is PLAIN or response.steps is not None or not response.body:
        return response
    headers, body = _bent_body(response.headers, response.body, framing)
    if coding(framing) is None and framing.split is None:
        return replace(response, body=body)
    return replace(response, headers=headers, body=b"", steps=tuple(cut(pack([body], framing), framing)))


def _bent_body(headers: HeaderItems, body: bytes, framing: Framing) -> tuple[HeaderItems, bytes]:
    """Its headers as they are when it is compressed, and the body before that."""
    if any(name.lower() == "content-type" and "json" in value for name, value in headers):
        body = bent(body, framing)
    kind = coding(framing)
    return (headers if kind is None else (*headers, ("content-encoding", kind))), body


def _goes_on(then: Then | None) -> bool:
    """Whether the answer comes to its own end."""
    return then is None or (isinstance(then, Stall) and then.seconds is not None)


# --- a place in an answer -----------------------------------------------------------------------


def _placed_at(then: Then) -> bool:
    """Whether it says itself where in the answer it happens."""
    return then.after_events is not None or (not isinstance(then, Error) and then.after_bytes is not None)


def _in_events(
    events: list[Any],
    then: Then,
    failed: list[WireEvent],
    wire: Wire,
    pauses: Mapping[int, float],
    framing: Framing,
    exchange: Exchange,
    settled: int,
) -> list[Step]:
    """A stream with what happens at a place of it."""
    pieces = wire.encode(events, framing)
    end = wire.end(framing)
    whole = [*pieces, end] if end else pieces
    most = len(events) + (bool(end) and not isinstance(wire, JsonArray))  # an array's end is no item of it
    count = then.after_events
    if count is None:
        then = _counted(then, whole, settled, framing)
        return _broken_off(_paced(whole, pauses, framing), then, exchange, events=most)
    if isinstance(count, Spot):
        count = count.passed(settled)
    sent = pack(whole, framing)
    if count > most:
        raise _beyond(then, most, sum(map(len, sent)), most)
    if isinstance(then, (Error, Garbage)):
        sooner = events[:count]
        more = [then.data] if isinstance(then, Garbage) else wire.encode([*sooner, *failed], framing)[len(sooner) :]
        before = {index: seconds for index, seconds in pauses.items() if index < count}
        return _paced([*whole[:count], *more], before, framing)
    place = sum(map(len, sent[:count]))
    return _broken_off(_paced(whole, pauses, framing), then, exchange, events=most, place=place)


def _counted(then: Then, pieces: list[bytes], count: int, framing: Framing) -> Then:
    """The same with a number of bytes where it names a place in the first `count` events."""
    if isinstance(then, Error) or not isinstance(then.after_bytes, Spot):
        return then
    packed = coding(framing) is not None
    return replace(then, after_bytes=then.after_bytes.found(pack(pieces, framing), count, packed=packed))


def _broken_off(
    steps: Sequence[Step],
    then: Then,
    exchange: Exchange,
    *,
    events: int | None = None,
    place: int | None = None,
    at_the_end: bool = True,
) -> list[Step]:
    """The steps up to a place, and what happens there: after `place` bytes, or after as many as it counts itself.

    Raises:
        ScriptMismatchError: The place is behind the end, or at an end where nothing would be missing then.
    """
    size = sum(len(step) for step in steps if isinstance(step, bytes))
    last = size - (not at_the_end or isinstance(then, EndOfStream))
    if place is None:
        assert not isinstance(then, Error), "an error is placed by events"
        place = then.after_bytes or 0
        if place > last:
            raise _beyond(then, last, size, events)
    elif place > last:
        raise _beyond(then, (events or 1) - 1, size, events)
    before, after = _parted(steps, place)
    if isinstance(then, Garbage):
        return [*before, then.data]
    if isinstance(then, Stall) and then.seconds is not None:
        return [*before, Pause(then.seconds), *after]
    return [*before, *_after(then, exchange)]


def _parted(steps: Sequence[Step], place: int) -> tuple[list[Step], list[Step]]:
    """The steps up to a byte, and those from there on."""
    before: list[Step] = []
    left = place
    for index, step in enumerate(steps):
        if not left:
            return before, [*steps[index:]]
        if isinstance(step, bytes):
            if len(step) > left:
                return [*before, step[:left]], [step[left:], *steps[index + 1 :]]
            left -= len(step)
        before.append(step)
    return before, []


def _beyond(then: Then, most: int, size: int, events: int | None) -> ScriptMismatchError:
    """The refusal of a place at which nothing would be missing; `most` is the last one."""
    return ScriptMismatchError(
        sentence(
            f"The turn ends in {then!r}.",
            f"The whole answer has {size} bytes" + (f" in {events} events." if events is not None else "."),
            f"Write a count of {max(most, 0)} or less, or no count for what happens after its parts.",
        )
    )


def _after(then: Then | None, exchange: Exchange) -> Iterable[Step]:
    """What happens in place of the closing events, or of a whole body."""
    if isinstance(then, Disconnect):
        yield Fault("reset" if then.reset else "disconnect")
    elif isinstance(then, Stall):
        kind, seconds = _patience(exchange.request.timeouts)
        if seconds is None:
            raise ScriptMismatchError(
                sentence(
                    "The turn ends in Stall(), which lasts until the client's own read time-out.",
                    f"This {exchange.request.library} client has none: it would wait for ever.",
                    "Write Stall(seconds), or give the client a time-out.",
                )
            )
        yield Fault(kind)


def _headers(
    exchange: Exchange, endpoint: Endpoint, content_type: str, more: Mapping[str, str] | None, framing: Framing
) -> HeaderItems:
    own = endpoint.difference.headers or endpoint.dialect.headers
    headers: HeaderItems = (_typed(content_type), *own(exchange))
    kind = coding(framing)
    if kind is not None:
        headers = (*headers, ("content-encoding", kind))
    return _over(headers, more) if more else headers


@cache
def _typed(content_type: str) -> tuple[str, str]:
    """One header for all answers of a kind: the journal keeps them."""
    return "content-type", content_type


def _over(headers: HeaderItems, more: Mapping[str, str]) -> HeaderItems:
    names = {name.lower() for name in more}
    kept = (pair for pair in more.items() if pair[0].lower() not in _LENGTHS)
    return (*(pair for pair in headers if pair[0].lower() not in names), *kept)


_LENGTHS: Final = frozenset({"content-length", "transfer-encoding"})
"""Headers that follow from the body: each stack says them itself."""


def _with_headers(response: Response, more: Mapping[str, str] | None) -> Response:
    return replace(response, headers=_over(response.headers, more)) if more else response


def render_service(
    store: Store, exchange: Exchange, endpoint: Endpoint, reply: Reply | None, rule: Pace, options: Options
) -> Rendered | Error:
    """What a service answers, of what a rule's turn says where there is one; the vendor's own refusal.

    Raises:
        ScriptMismatchError: The turn doesn't fit the request.
    """
    pace = _merged(_block(endpoint, options), rule)
    if reply is not None:
        if endpoint.operation == "count_tokens":
            _check_count(reply)
        pace = _merged(pace, reply)
        _fill(exchange, reply, endpoint, pace, options)
    assert endpoint.service is not None
    made = endpoint.service(store, exchange)
    if isinstance(made, Error):
        return made
    then = None if reply is None else reply.then
    framing = _fitting(pace.framing, exchange)
    if isinstance(made, list):
        wire = endpoint.wire_of(exchange.request)
        assert wire is not None, "a service that streams has a wire in its row"
        framing = _textual(framing, wire)
        steps = _said_in_events(made[:-1], made[-1:], Reply(then=then), wire, 0.0, framing, exchange, endpoint)
        made = Response(200, _headers(exchange, endpoint, wire.content_type, None, framing), steps=tuple(steps))
    elif isinstance(then, Error):
        made = _bent(render_error(then, exchange, endpoint), Pace(framing=framing), exchange)
    else:
        if not isinstance(made, Response):
            headers = _headers(exchange, endpoint, endpoint.whole.content_type, None, PLAIN)
            made = Response(200, headers, endpoint.whole.encode(made))
        if then is None or made.steps is not None:
            made = _bent(made, Pace(framing=framing), exchange)
        elif _in_place(then):
            made = _unsaid(then, made.headers, PLAIN, exchange)
        else:
            headers, body = _bent_body(made.headers, made.body, framing)
            made = _said_whole(made.status, headers, [body], {}, then, framing, exchange)
    return _timed(
        _with_headers(made, None if reply is None else reply.headers),
        pace.delay or 0.0,
        exchange.request.timeouts,
        virtual=options.virtual_time,
    )


def _check_count(reply: Reply) -> None:
    """Refuse what a count has no place for: it says a number alone."""
    said = [part for one in (reply, *reply.choices) for part in one.parts if not isinstance(part, Auto)]
    if said or reply.choices:
        value = said[0].value if said and isinstance(said[0], (Json, Structured)) else said[0] if said else None
        number = int(value) if isinstance(value, (str, int)) and str(value).isdecimal() else 777
        raise _no_count(clipped(repr(said[0]), 80) if said else "choices=", number)


def _no_count(came: str, number: int = 777) -> ScriptMismatchError:
    return ScriptMismatchError(
        sentence(
            f"A rule answers a count of tokens with {came}.",
            "A count has no parts: it is the input tokens of the usage.",
            f"Write Reply(usage=Usage({number}, 0)).",
        )
    )


# --- what isn't a reply -------------------------------------------------------------------------


def render_error(error: Error, exchange: Exchange, endpoint: Endpoint) -> Response:
    """The vendor's own error, with the script's body and headers over it."""
    response = (endpoint.difference.failure or endpoint.dialect.failure)(exchange, error)
    if error.body is not None:
        body = error.body
        response = replace(
            response,
            body=body
            if isinstance(body, bytes)
            else body.encode()
            if isinstance(body, str)
            else endpoint.whole.encode(body),
        )
    return _with_headers(response, error.headers)


def _failure_events(error: Error, exchange: Exchange, endpoint: Endpoint) -> list[WireEvent]:
    """The vendor's own error inside a stream, with the script's body in place of what it says."""
    events = (endpoint.difference.failure_events or endpoint.dialect.failure_events)(exchange, error)
    body = error.body
    if body is None:
        return events
    if isinstance(body, (bytes, str)):
        return [body]
    first = events[0] if events else None
    if isinstance(first, Event):
        said: WireEvent = Event(first.name, body)
    elif isinstance(body, dict) and not isinstance(first, (bytes, str)):
        said = body
    else:
        said = endpoint.whole.encode(body)
    return [said, *(event for event in events[1:] if isinstance(event, bytes))]


def _verbatim(turn: Verbatim, exchange: Exchange, endpoint: Endpoint, pace: Pace, options: Options) -> Rendered:
    dialect = endpoint.dialect
    if endpoint.operation == "count_tokens":
        raise _no_count(turn.path)
    if turn.dialect != dialect.name:
        raise ScriptMismatchError(
            sentence(
                f"The turn is the object of an SDK, {turn.path}.",
                f"The call is {dialect.label}, whose answers are another class.",
                'Write a turn that fits every vendor, such as "text", or this vendor\'s own object.',
            )
        )
    try:
        reply = dialect.parts(turn.document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ScriptError) as error:
        raise ScriptMismatchError(
            sentence(
                f"The turn is the object of an SDK, {turn.path}.",
                f"It can't be read back as an answer: {error}.",
                "Write Raw({…}) to send it as it is.",
            )
        ) from None
    if exchange.stream:
        return _reply(reply.replace(check=False), exchange, endpoint, _merged(pace, reply), options)
    headers = _headers(exchange, endpoint, endpoint.whole.content_type, None, PLAIN)
    response = _bent(Response(200, headers, endpoint.whole.encode(turn.document)), pace, exchange)
    rendered = _timed(response, pace.delay or 0.0, exchange.request.timeouts, virtual=options.virtual_time)
    return replace(rendered, usage=reply.usage)


def _raw(turn: Raw, exchange: Exchange, endpoint: Endpoint, pace: Pace) -> Response:
    then = turn.then
    goes_on = _goes_on(then)
    wire = endpoint.wire_of(exchange.request)
    framing = _textual(_fitting(turn.framing or pace.framing, exchange), wire)
    failed: list[Any] = []
    if isinstance(then, Error):
        if not exchange.stream or wire is None:
            failure = _bent(render_error(then, exchange, endpoint), Pace(framing=framing), exchange)
            return _with_headers(failure, turn.headers)
        failed = _failure_events(then, exchange, endpoint)
    placed = then is not None and _placed_at(then)
    end = then.data if isinstance(then, Garbage) and not placed else b""
    silences: dict[int, float] = {}
    said = turn.body
    if isinstance(said, list):
        said, silences = _silences(said)
        if wire is None:
            raise _no_streams(endpoint)
        pieces = wire.encode(said if placed else [*said, *failed], framing)
        content_type = wire.content_type
        end = wire.end(framing) if goes_on else end
    elif isinstance(turn.body, dict):
        pieces, content_type = [endpoint.whole.encode(turn.body, framing)], endpoint.whole.content_type
    else:
        pieces = [turn.body if isinstance(turn.body, bytes) else turn.body.encode()]
        content_type = _content_type(pieces[0])
    if failed and wire is not None and not isinstance(turn.body, list):
        pieces += wire.encode(failed, framing)
    headers: HeaderItems = (("content-type", content_type),)
    kind = coding(framing)
    if kind is not None:
        headers = (*headers, ("content-encoding", kind))
    if turn.headers:
        headers = _over(headers, turn.headers)
    if then is not None and placed:
        if isinstance(said, list) and wire is not None:
            steps = _in_events(said, then, failed, wire, silences, framing, exchange, len(said))
            return Response(turn.status, headers, steps=tuple(steps))
        if exchange.stream:
            steps = _broken_off(cut(pack(pieces, framing), framing), then, exchange)
            return Response(turn.status, headers, steps=tuple(steps))
        return _said_whole(turn.status, headers, pieces, {}, then, framing, exchange)
    if isinstance(then, Stall) and then.seconds is not None:
        silences[len(pieces)] = silences.get(len(pieces), 0.0) + then.seconds
    if end:
        pieces.append(end)
    if then is None and len(pieces) == 1 and framing.split is None and kind is None and not silences:
        return Response(turn.status, headers, pieces[0])
    last: list[Step] = _paced(pieces, silences, framing) if silences else [*cut(pack(pieces, framing), framing)]
    if not goes_on and not failed:
        last.extend(_after(then, exchange))
    return Response(turn.status, headers, steps=tuple(last))


def _no_streams(endpoint: Endpoint) -> ScriptMismatchError:
    return ScriptMismatchError(
        sentence(
            "The turn is a Raw with a list of stream events.",
            f"{endpoint.dialect.label} {endpoint.operation} has no streams.",
            'Write Raw({…}) or Raw(b"…").',
        )
    )


def _content_type(body: bytes) -> str:
    start = body.lstrip()[:6]
    if start[:1] in (b"{", b"["):
        return "application/json"
    if start[:1] == b"<":
        return "text/html; charset=utf-8"
    return (
        "text/event-stream; charset=utf-8"
        if start.startswith((b"data:", b"event:", b":"))
        else "text/plain; charset=utf-8"
    )


_TIMEOUT_KINDS: Final = (("Connect", "connect"), ("Pool", "pool"), ("Write", "write"))
_PHASES: Final[Mapping[str, FaultKind]] = {
    "connect": "connect_timeout",
    "read": "read_timeout",
    "write": "write_timeout",
    "pool": "pool_timeout",
    "total": "total_timeout",
}
"""The time-outs that a `TimeoutError` can name."""
_BENEATH: Final[Mapping[str, FaultKind]] = {
    "builtins.ConnectionError": "connect",
    "builtins.ConnectionRefusedError": "connect",
    "builtins.ConnectionResetError": "reset",
    "builtins.ConnectionAbortedError": "disconnect",
    "builtins.BrokenPipeError": "disconnect",  # clients go on to read when they can't write, and find it closed
    "http.client.RemoteDisconnected": "disconnect",
    "socket.gaierror": "dns",
    "ssl.SSLCertVerificationError": "certificate",
    "ssl.SSLError": "tls",
    "ssl.SSLEOFError": "tls",
    "ssl.SSLSyscallError": "tls",
    "ssl.SSLWantReadError": "tls",
    "ssl.SSLWantWriteError": "tls",
    "ssl.SSLZeroReturnError": "tls",
}
"""The exceptions of the standard library that become the client's own; a class of yours that extends one is raised as it is."""
_USUAL: Final[Mapping[str, str]] = {
    "ssl.SSLEOFError": "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol (_ssl.c:1006)",
    "ssl.SSLZeroReturnError": "TLS/SSL connection has been closed (EOF) (_ssl.c:1006)",
}
"""What the system says of those that were written without a text, where it isn't what it says of all of their kind."""


def _broken(turn: Broken, timeouts: Timeouts) -> Rendered:
    error = turn.instance()
    text = str(error) if error.args else ""  # without any, those of TLS say "()"
    kind = type(error)
    if kind is TimeoutError:
        phase = text.lower()
        if phase in _PHASES:
            return Rendered(Fault(_PHASES[phase]), waited=getattr(timeouts, phase) or 0.0)
        patience, seconds = _patience(timeouts)
        return Rendered(Fault(patience, text), waited=seconds or 0.0)
    if is_unreached(error):
        return Rendered(Fault("connect", text, cause=error))
    name = f"{kind.__module__}.{kind.__qualname__}"
    beneath = _BENEATH.get(name)
    if beneath is not None:
        cause = error if isinstance(error, OSError) and error.errno is not None else None
        return Rendered(Fault(beneath, text or _USUAL.get(name, ""), cause=cause))
    waited = 0.0
    name = kind.__name__
    if "Timeout" in name:
        phase = next((attribute for word, attribute in _TIMEOUT_KINDS if word in name), "read")
        waited = getattr(timeouts, phase) or 0.0
    return Rendered(Fault("raise", text, error), waited=waited)


# --- time ---------------------------------------------------------------------------------------


def _patience(timeouts: Timeouts) -> tuple[FaultKind, float | None]:
    """The time-out that ends a silence, and its seconds; `None` for a client that waits for ever."""
    if timeouts.read is None and timeouts.total is not None:
        return "total_timeout", timeouts.total
    return "read_timeout", timeouts.read


def _waited(seconds: float, before: float, timeouts: Timeouts) -> tuple[float, FaultKind | None]:
    """How long a client waits of `seconds`, after what it has waited `before`, and the time-out that fires then."""
    left = None if timeouts.total is None else max(0.0, timeouts.total - before)
    if timeouts.read is not None and seconds > timeouts.read and (left is None or timeouts.read <= left):
        return timeouts.read, "read_timeout"
    if left is not None and seconds > left:
        return left, "total_timeout"
    return seconds, None


def _timed(response: Response, delay: float, timeouts: Timeouts, *, virtual: bool) -> Rendered:
    """The plan with the client's own time-outs laid in; without pauses when time is virtual."""
    waited, fires = _waited(delay, 0.0, timeouts)
    if fires is not None:
        return Rendered(Fault(fires, delay=0.0 if virtual else waited), waited=waited)
    if response.steps is None:
        return Rendered(response if virtual or not delay else replace(response, delay=delay), waited=delay)
    if not delay and set(map(type, response.steps)) == {bytes}:
        return Rendered(response)
    steps: list[Step] = []
    paused = False
    for step in response.steps:
        if isinstance(step, Pause):
            paused = True
            seconds, fires = _waited(step.seconds, waited, timeouts)
            waited += seconds
            if not virtual:
                steps.append(Pause(seconds))
            if fires is not None:
                steps.append(Fault(fires))
                break
        else:
            if isinstance(step, Fault) and step.kind in ("read_timeout", "total_timeout"):
                waited += _patience(timeouts)[1] or 0.0
            steps.append(step)
    if paused:
        response = replace(response, steps=tuple(steps))
    return Rendered(response if virtual or not delay else replace(response, delay=delay), waited=waited)
