"""What hosts and gateways do to an answer, for `edit=` of a `Reply`: each function here gives one edit.

>>> from fake_llm import Reply, ToolCall, quirks
>>> Reply(ToolCall("get_weather", {"city": "Paris"}), edit=quirks.no_tool_index())
Reply(ToolCall('get_weather', {'city': 'Paris'}), edit=quirks.no_tool_index())

An edit finds what it bends by its place in the vendor's own format, whole and streamed. Where an answer has no such
thing, the call fails with `ScriptMismatchError`: a test never passes because nothing was bent. A list is several, one
after the other: `edit=[quirks.no_tool_index(), quirks.tool_ids("")]`. Each was seen in public reports of 2023 to 2026.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from fake_llm._dialect import Delta
from fake_llm._errors import ScriptError, ScriptMismatchError, clipped, sentence
from fake_llm._model import Event

__all__ = [
    "cumulative_usage",
    "empty_choices_first",
    "empty_deltas",
    "extra_fields",
    "interleaved_tool_calls",
    "mixed_chunks",
    "no_tool_ids",
    "no_tool_index",
    "no_usage",
    "null_deltas",
    "null_fields",
    "null_usage",
    "null_usage_fields",
    "object_arguments",
    "reasoning_as",
    "shared_tool_index",
    "shifted_tool_index",
    "tool_arguments",
    "tool_ids",
    "unknown_block",
    "unknown_event",
    "usage_with_finish",
    "whole_tool_calls",
]

Edit: TypeAlias = Callable[[list[Any]], list[Any]]
"""A function over the list of wire events that returns the list to send."""


@dataclass(frozen=True, slots=True, repr=False)
class _Quirk:
    """An edit with a name, which refuses an answer that has nothing for it: `bend` gives `None` then, or says more."""

    shown: str
    bend: Callable[[list[Any]], list[Any] | str | None] = field(compare=False)
    needs: str

    def __call__(self, events: list[Any]) -> list[Any]:
        bent = self.bend(events)
        if bent is None or isinstance(bent, str):
            there = ", ".join(_shown(event) for event in events[:3])
            raise ScriptMismatchError(
                sentence(
                    f"The turn has edit={self.shown}, and this answer has nothing for it.",
                    f"It bends {bent or self.needs}. "
                    f"The answer is {clipped(there, 300)}{', …' if len(events) > 3 else ''}",
                    "Write a turn that has this, let the code ask another way, or leave the edit out.",
                )
            )
        return bent

    def __repr__(self) -> str:
        return self.shown


def _shown(event: Any) -> str:
    return repr(event.payload if isinstance(event, Event) and event.name is None else event)


# --- tool calls ---------------------------------------------------------------------------------


def no_tool_index() -> Edit:
    """Tool calls have no `index` (Gemini's OpenAI path, early Ollama, proxies)."""

    def bend(events: list[Any]) -> list[Any] | None:
        found = _indexes(events)
        for holder, key in found:
            del holder[key]
        return events if found else None

    return _Quirk("quirks.no_tool_index()", bend, _INDEX)


def shifted_tool_index(by: int = 1) -> Edit:
    """Tool calls are counted from another number (proxies that copy the index of Anthropic's block); there, a gap."""
    if not isinstance(by, int) or isinstance(by, bool) or not by:
        raise _wrong(
            f"shifted_tool_index got by={by!r}.", "It is a whole number, and not zero.", "shifted_tool_index(1)"
        )

    def bend(events: list[Any]) -> list[Any] | None:
        found = _indexes(events)
        for holder, key in found:
            holder[key] += by
        return events if found else None

    return _Quirk(f"quirks.shifted_tool_index({by})", bend, _INDEX)


def shared_tool_index() -> Edit:
    """All tool calls have the index of the first (Ollama's OpenAI path, Gemini's by way of LiteLLM)."""

    def bend(events: list[Any]) -> list[Any] | None:
        found = _indexes(events)
        if len({holder[key] for holder, key in found}) < 2:
            return None
        first = found[0][0][found[0][1]]
        for holder, key in found:
            holder[key] = first
        return events

    return _Quirk("quirks.shared_tool_index()", bend, f"{_INDEX}, of two calls or more")


def tool_ids(value: str | None) -> Edit:
    """Every tool call has this id: `None` is null, `""` is empty, another one is shared by all."""
    if value is not None and not isinstance(value, str):
        raise _wrong(f"tool_ids got {value!r}.", "An id is a str, or None for null.", 'tool_ids("")')

    def bend(events: list[Any]) -> list[Any] | None:
        found = [call for call in _all_calls(events) if call.id in call.where]
        for call in found:
            call.where[call.id] = value
        return events if found else None

    return _Quirk(f"quirks.tool_ids({value!r})", bend, "the ids of tool calls")


def no_tool_ids() -> Edit:
    """Tool calls have no id (older Ollama, routers); on the Gemini API, where ids are optional, no call has one."""

    def bend(events: list[Any]) -> list[Any] | None:
        found = [call for call in _all_calls(events) if call.id in call.where]
        for call in found:
            del call.where[call.id]
        return events if found else None

    return _Quirk("quirks.no_tool_ids()", bend, "the ids of tool calls")


def tool_arguments(value: Any) -> Edit:
    """Every tool call has this for its arguments, in one piece: `None` is null, `""` is empty, a dict is an object."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise _wrong(f"tool_arguments got {value!r}.", "It is a JSON value.", "tool_arguments(None)") from None

    def bend(events: list[Any]) -> list[Any] | None:
        return _with_arguments(events, lambda _: copy.deepcopy(value))

    return _Quirk(f"quirks.tool_arguments({value!r})", bend, "the arguments of tool calls")


def whole_tool_calls() -> Edit:
    """Each tool call comes in one piece, its arguments with its name (Gemini's and Ollama's OpenAI paths)."""

    def bend(events: list[Any]) -> list[Any] | None:
        pieces = len([*_pieces(events)])
        bent = _with_arguments(events, lambda arguments: arguments)
        return bent if bent is not None and len([*_pieces(bent)]) < pieces else None

    return _Quirk("quirks.whole_tool_calls()", bend, "a stream of tool calls in pieces")


def object_arguments() -> Edit:
    """Arguments are a JSON object where they should be a string of JSON (Ollama's form on an OpenAI path)."""

    def bend(events: list[Any]) -> list[Any] | None:
        if not any(isinstance(piece.holder[piece.key], str) for piece in _pieces(events)):
            return None
        try:
            return _with_arguments(events, lambda said: json.loads(said or "{}") if isinstance(said, str) else said)
        except ValueError:
            return None  # cut, or broken on purpose

    return _Quirk("quirks.object_arguments()", bend, "arguments that are a string of JSON")


def interleaved_tool_calls() -> Edit:
    """The pieces of parallel tool calls come in turns: one of the first, one of the second, and so on."""

    def bend(events: list[Any]) -> list[Any] | None:
        runs: dict[Any, list[int]] = {}
        for position, owner in _owners(events):
            runs.setdefault(owner, []).append(position)
        if sum(len(run) > 1 for run in runs.values()) < 2:
            return None
        turns = [
            [run[turn] for run in runs.values() if turn < len(run)] for turn in range(max(map(len, runs.values())))
        ]
        order = [position for turn in turns for position in turn]
        if order == sorted(order):
            return None
        moved = dict(zip(sorted(order), order, strict=True))
        return _numbered([events[moved.get(position, position)] for position in range(len(events))])

    return _Quirk(
        "quirks.interleaved_tool_calls()", bend, "a stream of two tool calls or more, each in chunks of its own"
    )


# --- chunks -------------------------------------------------------------------------------------


def empty_choices_first() -> Edit:
    """The first chunk has no choices, no id and the prompt's filters (Azure, and who passes its answers on)."""

    def bend(events: list[Any]) -> list[Any] | None:
        first = next((payload for payload in _payloads(events) if "choices" in payload), {})
        if not _streams(first):
            return None
        filters = [{"prompt_index": 0, "content_filter_results": {}}]
        said = {"id": "", "object": "", "created": 0, "model": "", "prompt_filter_results": filters, "choices": []}
        return [said, *events]

    return _Quirk("quirks.empty_choices_first()", bend, "a stream of OpenAI chat whose first chunk has choices")


def empty_deltas() -> Edit:
    """Each run of text, thoughts or arguments begins and ends with an empty piece (Bedrock, local servers)."""

    def bend(events: list[Any]) -> list[Any] | None:
        pieces = [_piece(event) for event in events]
        bent: list[Any] = []
        for position, (event, piece) in enumerate(zip(events, pieces, strict=True)):
            if piece is not None and (not position or pieces[position - 1] != piece):
                bent.append(_emptied(event))
            bent.append(event)
            last = position + 1 == len(events)
            if piece is not None and not _finished(event) and (last or pieces[position + 1] != piece):
                bent.append(_emptied(event))
        return _numbered(bent) if any(pieces) else None

    return _Quirk("quirks.empty_deltas()", bend, "a stream of text, thoughts or arguments in pieces")


def null_deltas() -> Edit:
    """A delta that says nothing is null, as beside the finish reason (gateways that fill in a model)."""

    def bend(events: list[Any]) -> list[Any] | None:
        silent = [
            choice
            for payload in _payloads(events)
            if _streams(payload)
            for choice in _choices(payload)
            if isinstance(choice.get("delta"), dict) and _silent(choice)
        ]
        for choice in silent:
            choice["delta"] = None
        return events if silent else None

    return _Quirk("quirks.null_deltas()", bend, "deltas of OpenAI chat that say nothing")


def null_fields() -> Edit:
    """Fields that a message or a delta hasn't are there as null (gateways that write out every field of a model)."""

    def bend(events: list[Any]) -> list[Any] | None:
        bent = False
        for payload in _payloads(events):
            for said in _messages(payload):
                absent = [name for name in _FIELDS if name not in said]
                said |= dict.fromkeys(absent)
                bent = bent or bool(absent)
        return events if bent else None

    return _Quirk("quirks.null_fields()", bend, "messages and deltas of OpenAI chat, Ollama and Cohere's whole answers")


def mixed_chunks() -> Edit:
    """Where one kind of piece follows another, the end of one and the start of the next share a chunk.

    So the end of the thoughts comes with the start of the answer, and the last piece with the finish reason and the usage.
    """

    def bend(events: list[Any]) -> list[Any] | None:
        bent: list[Any] = []
        before: Any = None
        for event in events:
            payload = _payload(event)
            kind = _kind(payload)
            if before is not None and kind is not None and kind != before:
                _merge(_payload(bent[-1]), payload)
            else:
                bent.append(event)
            before = kind
        return bent if len(bent) < len(events) else None

    return _Quirk(
        "quirks.mixed_chunks()", bend, "a stream of OpenAI chat, Gemini or Ollama with pieces of several kinds"
    )


# --- usage --------------------------------------------------------------------------------------


def no_usage() -> Edit:
    """The answer says nothing of the tokens it cost (compatible servers); a chunk that only has them isn't sent."""

    def bend(events: list[Any]) -> list[Any] | None:
        if not any(_usages(events)):
            return None
        kept = []
        for event in events:
            payload = _payload(event)
            counted = isinstance(payload.get("usage"), dict)
            for thing in _objects(payload):
                for key in (*_USAGE, *_COUNTS):
                    thing.pop(key, None)
            if not (counted and payload.get("choices") == []):
                kept.append(event)
        return kept

    return _Quirk("quirks.no_usage()", bend, _TOKENS)


def null_usage() -> Edit:
    """The usage is there as null (hosts that count only where they are asked to, and gateways)."""

    def bend(events: list[Any]) -> list[Any] | None:
        found = [*_usages(events)]
        for holder, key in found:
            for name in _COUNTS if key is None else (key,):
                holder[name] = None
        return events if found else None

    return _Quirk("quirks.null_usage()", bend, _TOKENS)


def null_usage_fields(*names: str) -> Edit:
    """These fields of the last usage are null, as proxies send Anthropic's `message_delta`.

    They are the vendor's own: `input_tokens` of Anthropic is `prompt_tokens` on OpenAI chat.
    """
    if not names or not all(isinstance(name, str) for name in names):
        raise _wrong(
            f"null_usage_fields got {names!r}.",
            "It takes the names of the vendor's own fields.",
            'null_usage_fields("input_tokens", "cache_read_input_tokens")',
        )

    def bend(events: list[Any]) -> list[Any] | str | None:
        found = [*_usages(events)]
        if not found:
            return None
        holder, key = found[-1]
        usage = holder if key is None else holder[key]
        there = [name for name in usage if key is not None or name.endswith(_NUMBERS)]
        absent = [name for name in names if name not in there]
        if absent:
            return f"fields that the last usage has: {', '.join(there)}. It has no {' and no '.join(absent)}"
        usage.update(dict.fromkeys(names))
        return events

    return _Quirk(f"quirks.null_usage_fields({', '.join(map(repr, names))})", bend, _TOKENS)


def usage_with_finish() -> Edit:
    """The usage comes with the finish reason, and a chunk that says nothing follows (xAI, 2025)."""

    def bend(events: list[Any]) -> list[Any] | None:
        usages = [(holder, key) for holder, key in _usages(events) if key == "usage"]
        finished = [payload for payload in _payloads(events) if _finished(payload) and "choices" in payload]
        if not usages or not finished or not _streams(finished[-1]):
            return None
        holder, _ = usages[-1]
        last = {name: value for name, value in finished[-1].items() if name != "usage"} | {"choices": []}
        finished[-1]["usage"] = holder["usage"]
        kept = [event for event in events if _payload(event).get("choices") != [] or not _payload(event).get("usage")]
        return [*kept, last]

    return _Quirk("quirks.usage_with_finish()", bend, "a stream of OpenAI chat with usage (let the code ask for it)")


def cumulative_usage() -> Edit:
    """Each chunk has the usage so far, and the last one the whole (Perplexity, vLLM where it is asked to)."""

    def bend(events: list[Any]) -> list[Any] | None:
        usages = [(holder, key) for holder, key in _usages(events) if key in {"usage", None}]
        chunks = [payload for payload in _payloads(events) if "done" in payload or _streams(payload)]
        if not usages or len(chunks) < 2:
            return None
        holder, key = usages[-1]
        whole = holder if key is None else holder[key]
        output = "eval_count" if key is None else "completion_tokens"
        if not isinstance(whole.get(output), int):
            return None
        for position, chunk in enumerate(chunks, 1):
            so_far = whole[output] * position // len(chunks)
            if chunk is holder:
                continue
            if key is None:
                chunk |= {"prompt_eval_count": whole.get("prompt_eval_count"), "eval_count": so_far}
            else:
                asked = whole.get("prompt_tokens", 0)
                chunk["usage"] = {
                    "prompt_tokens": asked,
                    "completion_tokens": so_far,
                    "total_tokens": asked + so_far if isinstance(asked, int) else None,
                }
        return events

    return _Quirk("quirks.cumulative_usage()", bend, "a stream of OpenAI chat or Ollama with usage at its end")


# --- what isn't known yet -----------------------------------------------------------------------


def unknown_event(name: str = "new_event", **fields: Any) -> Edit:
    """An event that no client knows, after the first; on OpenAI chat its name is in the `event:` line."""

    def bend(events: list[Any]) -> list[Any] | None:
        if not events:
            return None
        first = _payload(events[0])
        if isinstance(events[0], Event) and events[0].name is not None:
            new: Any = Event(name, copy.deepcopy(fields))
        elif isinstance(first.get("type"), str) and len(events) > 1:
            new = {"type": name, **copy.deepcopy(fields)} | (
                {"sequence_number": 0} if "sequence_number" in first else {}
            )
        elif _streams(first) or first.get("choices") == []:
            new = Event(name, {"type": name, **copy.deepcopy(fields)})
        else:
            return None
        return _numbered([events[0], new, *events[1:]])

    return _Quirk(_call("unknown_event", name, fields), bend, "a stream whose events have types or names")


def unknown_block(type: str = "new_block", **fields: Any) -> Edit:
    """A block of content that no client knows, after the others; on OpenAI chat the content is a list of blocks."""

    def bend(events: list[Any]) -> list[Any] | None:
        for add in (_block_in_whole, _block_in_stream):
            bent = add(events, type, copy.deepcopy(fields))
            if bent is not None:
                return _numbered(bent)
        return None

    return _Quirk(_call("unknown_block", type, fields), bend, "an answer that has blocks of content, or a text")


def extra_fields(**fields: Any) -> Edit:
    """Every object of the answer has these fields more; arguments of tools are left alone."""
    if not fields:
        raise _wrong("extra_fields got nothing.", "It takes the fields by name.", 'extra_fields(x_new="?")')

    def bend(events: list[Any]) -> list[Any] | None:
        for event in events:
            payload = _payload(event)
            unions = isinstance(event, Event) or "stopReason" in payload  # botocore counts the members of Bedrock's
            for thing in [thing for thing in _objects(payload) if not (unions and len(thing) == 1) or thing is payload]:
                thing |= copy.deepcopy(fields)
        return events if any(map(_payload, events)) else None

    shown = ", ".join(f"{name}={value!r}" for name, value in fields.items())
    return _Quirk(f"quirks.extra_fields({shown})", bend, "answers in JSON")


def reasoning_as(name: str) -> Edit:
    """Thoughts have this key: `reasoning`, `reasoning_content`, `thinking`, or `reasoning_details` for a list."""
    if not isinstance(name, str) or not name:
        raise _wrong(f"reasoning_as got {name!r}.", "It is the key of the thoughts.", 'reasoning_as("reasoning")')

    def bend(events: list[Any]) -> list[Any] | None:
        bent = False
        for payload in _payloads(events):
            for said in _messages(payload):
                key = next((key for key in _THOUGHTS if isinstance(said.get(key, 0), str | None)), None)
                if key is None or key == name:
                    continue
                listed = name == "reasoning_details" and isinstance(said[key], str)
                items = [
                    (name, [{"type": "reasoning.text", "text": value}] if listed else value)
                    if found == key
                    else (found, value)
                    for found, value in said.items()
                    if found != name
                ]
                said.clear()
                said |= dict(items)
                bent = bent or isinstance(said[name], str | list)
        return events if bent else None

    return _Quirk(f"quirks.reasoning_as({name!r})", bend, "thoughts of OpenAI chat or Ollama under another key")


# --- where things are ---------------------------------------------------------------------------

_INDEX: Final = "tool calls that have an index, as most vendors stream them"
_TOKENS: Final = "the usage of an answer (many streams of OpenAI chat have it where the code asks for it)"
_OPAQUE: Final = frozenset({"args", "arguments", "input", "parameters", "schema", "tools"})
"""What a tool is called with or looks like: none of the vendor's own words are in it."""

_USAGE: Final = ("usage", "usageMetadata")
_COUNTS: Final = ("prompt_eval_count", "eval_count")
"""Ollama's, which stand by themselves."""
_NUMBERS: Final = ("_count", "_duration")
"""How all of Ollama's end."""

_THOUGHTS: Final = ("reasoning_content", "reasoning", "thinking", "thought")
_FIELDS: Final = ("content", "refusal", "tool_calls", "function_call", "audio", "reasoning_content")
_PIECES: Final = ("content", *_THOUGHTS, "text", "partial_json", "tool_plan", "arguments", "input")


def _wrong(came: str, there: str, write: str) -> ScriptError:
    return ScriptError(sentence(f"quirks.{came}", there, f"Write quirks.{write}."))


def _call(name: str, first: str, fields: dict[str, Any]) -> str:
    shown = [repr(first), *(f"{key}={value!r}" for key, value in fields.items())]
    return f"quirks.{name}({', '.join(shown)})"


def _payload(event: Any) -> dict[str, Any]:
    """The JSON object of an event; an empty one for what is sent as it is."""
    payload = event.payload if isinstance(event, Event) else event
    return payload if isinstance(payload, dict) else {}


def _payloads(events: list[Any]) -> Iterator[dict[str, Any]]:
    return (payload for event in events if (payload := _payload(event)))


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of the vendor's own in it, from the outside in."""
    if isinstance(value, dict):
        yield value
        for key, item in [*value.items()]:
            if key not in _OPAQUE:
                yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _choices(payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    choices = payload.get("choices")
    return (choice for choice in choices if isinstance(choice, dict)) if isinstance(choices, list) else iter(())


def _silent(choice: dict[str, Any]) -> bool:
    """Whether a delta says nothing; some hosts name the role beside the finish reason."""
    unsaid = {"role"} if choice.get("finish_reason") else set()
    return not any(value for key, value in choice["delta"].items() if key not in unsaid)


def _streams(payload: dict[str, Any]) -> bool:
    """Whether it is a chunk of OpenAI chat that has a delta."""
    return payload.get("object") != "chat.completion" and any("delta" in choice for choice in _choices(payload))


def _messages(payload: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message or the delta of each choice; Ollama's and Cohere's one message."""
    for choice in _choices(payload):
        for key in ("message", "delta"):
            if isinstance(choice.get(key), dict):
                yield choice[key]
    if isinstance(payload.get("message"), dict) and ("done" in payload or "finish_reason" in payload):
        yield payload["message"]


@dataclass(frozen=True, slots=True)
class _ToolCall:
    """A tool call, or a piece of one, where it stands in an event."""

    where: dict[str, Any]
    id: str
    holder: dict[str, Any]
    arguments: str

    @property
    def index(self) -> dict[str, Any] | None:
        """What has its index: the call, or in Ollama's form its function."""
        return next((thing for thing in (self.where, self.holder) if "index" in thing), None)


def _calls(payload: dict[str, Any]) -> Iterator[_ToolCall]:
    for thing in _objects(payload):
        listed = thing.get("tool_calls")
        for call in listed if isinstance(listed, list) else [listed]:
            if isinstance(call, dict):
                function = call.get("function")
                yield (
                    _ToolCall(call, "id", function, "arguments")
                    if isinstance(function, dict)
                    else _ToolCall(call, "id", call, "parameters")
                )
        if thing.get("type") == "tool_use":
            yield _ToolCall(thing, "id", thing, "input")
        elif thing.get("type") == "function_call":
            yield _ToolCall(thing, "call_id", thing, "arguments")
        for key, id_, arguments in (("functionCall", "id", "args"), ("toolUse", "toolUseId", "input")):
            if isinstance(thing.get(key), dict):
                yield _ToolCall(thing[key], id_, thing[key], arguments)


def _all_calls(events: list[Any]) -> Iterator[_ToolCall]:
    return (call for payload in _payloads(events) for call in _calls(payload))


_BLOCKS: Final = ("contentBlockIndex", "output_index", "index")
"""How the events of a block of content are counted."""


def _block(payload: dict[str, Any]) -> str | None:
    return next((key for key in _BLOCKS if isinstance(payload.get(key), int)), None)


def _of_tools(payload: dict[str, Any]) -> bool | None:
    """Whether Cohere's event is of tool calls, which it counts apart from content; `None` for other vendors'."""
    kind = payload.get("type")
    return kind.startswith("tool-call") if isinstance(kind, str) and "-" in kind else None


_STARTS: Final = ("content_block_start", "contentBlockStart", "response.output_item.added", "tool-call-start")
_STOPS: Final = ("content_block_stop", "contentBlockStop", "response.output_item.done", "tool-call-end")
_BLOCK_EVENTS: Final = (
    *_STARTS,
    *_STOPS,
    *("content_block_delta", "contentBlockDelta", "tool-call-delta"),
    *("response.function_call_arguments.delta", "response.function_call_arguments.done"),
)


def _in_tool_blocks(events: list[Any]) -> dict[int, int]:
    """The position of each event of a tool call's block, and where that block starts.

    A start parts two calls, whatever their index. What has no index is of the call that started last.
    """
    started: dict[Any, int | None] = {}
    last: int | None = None
    found: dict[int, int] = {}
    for position, event in enumerate(events):
        payload = _payload(event)
        kind = payload.get("type")
        if isinstance(event, Event) and not isinstance(kind, str):
            kind = event.name
        if kind not in _BLOCK_EVENTS:
            continue
        key, item = _block(payload), payload.get("item")
        index = None if key is None else payload[key]
        place = payload.get("item_id") or (item.get("id") if isinstance(item, dict) else None) or index
        if kind in _STARTS:
            started[place] = position if any(_calls(payload)) else None
            last = position if started[place] is not None else last
        start = last if place is None else started.get(place)
        if start is not None:
            found[position] = start
        if kind in _STOPS:
            started.pop(place, None)
    return found


def _owned_calls(events: list[Any]) -> Iterator[tuple[int, dict[str, Any], _ToolCall, Any]]:
    """Each tool call or piece of one: its event's position, its choice, and which call it is of.

    The id and the name of a new call part two calls, whatever their index; some hosts say both again in each piece.
    """
    begun: dict[Any, tuple[Any, Any, int]] = {}
    count = 0
    for position, event in enumerate(events):
        payload = _payload(event)
        for choice in [*_choices(payload)] or [payload]:
            for call in _calls(choice):
                place = choice.get("index"), call.index["index"] if call.index else None
                said = call.where.get(call.id), call.holder.get("name") or call.where.get("name")
                before = begun.get(place, (None, None, 0))
                again = bool(said[0]) and said[0] == before[0] and (not said[1] or said[1] == before[1])
                if place not in begun or (any(said) and not again):
                    count += 1
                    begun[place] = (*said, count)
                yield position, choice, call, (choice.get("index"), begun[place][2])


def _indexes(events: list[Any]) -> list[tuple[dict[str, Any], str]]:
    """Each index of a tool call: the object that holds it, and the key."""
    blocks = _in_tool_blocks(events)
    found: list[tuple[dict[str, Any], str]] = []
    for position, event in enumerate(events):
        payload = _payload(event)
        if position in blocks:
            key = _block(payload)
            found += [] if key is None else [(payload, key)]
            continue
        found += [(call.index, "index") for call in _calls(payload) if call.index is not None]
    return [(holder, key) for holder, key in found if isinstance(holder[key], int)]


def _owners(events: list[Any]) -> Iterator[tuple[int, Any]]:
    """The position of each event that is of one tool call, and which; calls that share an event have none."""
    blocks = _in_tool_blocks(events)
    owners: dict[int, list[Any]] = {}
    for position, _, _, owner in _owned_calls(events):
        owners.setdefault(position, []).append(owner)
    shared = {owner for those in owners.values() if len(those) > 1 for owner in those}
    for position, event in enumerate(events):
        if position in blocks:
            yield position, blocks[position]
        elif _streams(_payload(event)) and not _finished(event):
            yield from ((position, owner) for owner in owners.get(position, ()) if owner not in shared)


@dataclass(frozen=True, slots=True)
class _Arguments:
    """A place of arguments: a piece of a stream, or the whole of them."""

    event: int
    owner: Any
    holder: dict[str, Any]
    key: str
    whole: bool


def _pieces(events: list[Any]) -> Iterator[_Arguments]:
    """Arguments, by the tool call that they are of; those in the start of Anthropic's blocks only stand for none."""
    blocks = _in_tool_blocks(events)
    for position, event in enumerate(events):
        payload, owner = _payload(event), blocks.get(position)
        kind, delta = payload.get("type"), payload.get("delta")
        if kind == "response.function_call_arguments.delta":
            yield _Arguments(position, owner, payload, "delta", whole=False)
        elif kind == "response.function_call_arguments.done":
            yield _Arguments(position, owner, payload, "arguments", whole=True)
        elif kind == "content_block_delta" and isinstance(delta, dict) and "partial_json" in delta:
            yield _Arguments(position, owner, delta, "partial_json", whole=False)
    for position, choice, call, owner in _owned_calls(events):
        if call.arguments not in call.holder or "content_block" in choice:
            continue
        streamed = "delta" in choice and call.where.get("type") != "function_call"
        yield _Arguments(position, blocks.get(position, owner), call.holder, call.arguments, whole=not streamed)


def _joined(said: list[Any]) -> Any:
    """The arguments that pieces make: their text, or what else one of them has."""
    others = [one for one in said if not isinstance(one, str)]
    return others[-1] if others else "".join(said)


def _with_arguments(events: list[Any], value: Callable[[Any], Any]) -> list[Any] | None:
    """Every tool call with other arguments, made of the old ones, in one piece."""
    pieces = [*_pieces(events)]
    starts = {
        position: event
        for position, event in enumerate(events)
        if any(call.arguments in call.holder for call in _calls({"content": _payload(event).get("content_block")}))
    }
    said: dict[Any, list[Any]] = {}
    for piece in pieces:
        if not piece.whole:
            said.setdefault(piece.owner, []).append(piece.holder.get(piece.key))
    gone: list[_Arguments] = []
    after: dict[int, Any] = {}
    made: set[Any] = set()
    for piece in pieces:
        if piece.whole:
            piece.holder[piece.key] = value(piece.holder.get(piece.key))
        elif piece.owner in made or piece.key == "delta":
            gone.append(piece)
        else:
            made.add(piece.owner)
            arguments = value(_joined(said[piece.owner]))
            if piece.key == "partial_json" and piece.owner in starts and not isinstance(arguments, str | None):
                _payload(events[piece.owner])["content_block"]["input"] = arguments  # it has no pieces then
                gone.append(piece)
            else:
                piece.holder[piece.key] = arguments
    for position, event in starts.items():
        if position in said:
            continue
        payload = _payload(event)
        block = payload["content_block"]
        arguments = value(block["input"])
        block["input"] = {} if isinstance(arguments, str | None) else arguments
        if isinstance(arguments, str | None):
            delta = {"type": "input_json_delta", "partial_json": arguments}
            after[position] = Delta({key: value for key, value in payload.items() if key in _BLOCKS})
            after[position] |= {"type": "content_block_delta", "delta": delta}
    return _numbered(_without(events, gone, after)) if pieces or starts else None


def _without(events: list[Any], gone: list[_Arguments], after: dict[int, Any]) -> list[Any]:
    """The events without some pieces of arguments, without what says nothing then, and with one more after some."""
    dropped: set[int] = set()
    holders = {id(piece.holder) for piece in gone}
    for position in dict.fromkeys(piece.event for piece in gone):
        payload = _payload(events[position])
        choices = [*_choices(payload)]
        for choice in choices:
            delta = choice.get("delta") or {}
            if not delta.get("tool_calls"):
                continue
            delta["tool_calls"] = [call for call in delta["tool_calls"] if id(call.get("function")) not in holders]
            if not delta["tool_calls"]:
                del delta["tool_calls"]
        said = any(value for choice in choices for key, value in (choice.get("delta") or {}).items() if key != "role")
        if not said and not _finished(payload):
            dropped.add(position)
    kept = [[event] if position not in dropped else [] for position, event in enumerate(events)]
    for position, event in after.items():
        kept[position].append(event)
    return [event for run in kept for event in run]


def _usages(events: list[Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Each usage: the object that holds it and its key, `None` for Ollama's numbers that stand by themselves."""
    for payload in _payloads(events):
        for thing in _objects(payload):
            yield from ((thing, key) for key in _USAGE if isinstance(thing.get(key), dict))
            if any(name in thing for name in _COUNTS):
                yield thing, None


def _finished(event: Any) -> bool:
    """Whether it says why the answer ended."""
    payload = _payload(event)
    ended = any(choice.get("finish_reason") for choice in _choices(payload))
    return ended or bool(payload.get("done")) or any("finishReason" in thing for thing in _candidates(payload))


def _candidates(payload: dict[str, Any]) -> list[dict[str, Any]]:
    candidates = payload.get("candidates")
    return [one for one in candidates if isinstance(one, dict)] if isinstance(candidates, list) else []


def _numbered(events: list[Any]) -> list[Any]:
    """The events of the Responses API in the order of their numbers."""
    numbers = iter(range(len(events)))
    for payload in _payloads(events):
        if "sequence_number" in payload:
            payload["sequence_number"] = next(numbers)
    return events


# --- pieces and chunks --------------------------------------------------------------------------


def _piece(event: Any) -> tuple[Any, ...] | None:
    """What kind of piece of a stream this is, the same for all of a run; `None` for what isn't one."""
    found = _texts(event)
    if len({holder[key] for holder, key in found}) != 1:
        return None
    payload = _payload(event)
    holder, key = found[0]
    if any(call.id in call.where or call.holder.get("name") for call in _calls(payload)):
        return None  # it begins a call
    calls = [call.index["index"] for call in _calls(payload) if call.index]
    block = _block(payload)
    return (key, holder.get("thought"), None if block is None else payload[block], *calls)


def _texts(event: Any) -> list[tuple[dict[str, Any], str]]:
    """The texts of a piece of a stream, each with its key; hosts say one twice."""
    payload = _payload(event)
    if not isinstance(payload, Delta):
        return []
    if str(payload.get("type")).startswith("response."):
        return [(payload, "delta")] if isinstance(payload.get("delta"), str) else []
    return [
        (thing, key) for thing in _objects(payload) for key in _PIECES if isinstance(thing.get(key), str) and thing[key]
    ]


def _emptied(event: Any) -> Any:
    """A piece like this one that says nothing, and doesn't end the answer."""
    empty = copy.deepcopy(event)
    for holder, key in _texts(empty):
        holder[key] = ""
        holder.pop("thoughtSignature", None)
    payload = _payload(empty)
    for choice in _choices(payload):
        choice |= {key: None for key in ("finish_reason", "logprobs") if key in choice}
    for candidate in _candidates(payload):
        candidate.pop("finishReason", None)
        candidate.pop("finishMessage", None)
    return empty


def _kind(payload: dict[str, Any]) -> Any:
    """What a chunk says, where chunks can say several things: what differs from the kind before may join it."""
    kinds: set[Any] = set()
    for choice in _choices(payload):
        delta = choice.get("delta")
        if isinstance(delta, dict):
            kinds |= {name for name, value in delta.items() if value and name != "tool_calls"}
            kinds |= {("call", call.index["index"] if call.index else None) for call in _calls(delta)}
        if choice.get("finish_reason"):
            kinds.add("finish")
    for candidate in _candidates(payload):
        parts = (candidate.get("content") or {}).get("parts") or []
        kinds |= {(*sorted({"text", "functionCall", "thought", "inlineData"} & part.keys()),) for part in parts}
    if "done" in payload and isinstance(payload.get("message"), dict):
        kinds |= {name for name, value in payload["message"].items() if value and name != "role"}
        kinds |= {"done"} if payload["done"] else set()
    if payload.get("object") == "chat.completion.chunk" and payload.get("choices") == [] and payload.get("usage"):
        kinds.add("usage")
    return frozenset(kinds) or None


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    """Put what a chunk says into the one before it."""
    for key, value in more.items():
        there: Any = into.get(key)
        if key in {"choices", "candidates"} and isinstance(there, list):
            for one in value:
                same = next((other for other in there if other.get("index") == one.get("index")), None)
                if same is None:
                    there.append(one)
                else:
                    _merge(same, one)
        elif key in {"delta", "message", "content"} and isinstance(there, dict) and isinstance(value, dict):
            _merge(there, value)
        elif key in {"parts", "tool_calls", "reasoning_details"} and isinstance(there, list):
            there += value or []
        elif key == "logprobs" and isinstance(there, dict) and isinstance(value, dict):
            there["content"] = [*(there.get("content") or []), *(value.get("content") or [])]
        elif key in {"content", *_THOUGHTS} and isinstance(there, str) and isinstance(value, str):
            into[key] = there + value
        elif value is not None or key not in into:
            into[key] = value


# --- blocks that nobody knows -------------------------------------------------------------------


def _block_in_whole(events: list[Any], type: str, fields: dict[str, Any]) -> list[Any] | None:
    if len(events) != 1:
        return None
    payload, block = _payload(events[0]), {"type": type, **fields}
    candidates = _candidates(payload)
    if candidates:
        return _in_gemini(events, type, fields)
    if payload.get("object") == "response":
        payload["output"].append({"id": f"{type}_1", **block})
    elif payload.get("type") == "message":
        payload["content"].append(block)
    elif isinstance(payload.get("output"), dict) and "message" in payload["output"]:
        payload["output"]["message"]["content"].append({type: fields})
    else:
        said = next((said for said in _messages(payload) if _listed(said)), None)
        if said is None or "done" in payload:
            return None
        said["content"].append(block)
    return events


def _listed(said: dict[str, Any]) -> bool:
    """Whether the content is a list of blocks; a text is made one."""
    if isinstance(said.get("content"), str) and said["content"]:
        said["content"] = [{"type": "text", "text": said["content"]}]
    return isinstance(said.get("content"), list)


def _in_gemini(events: list[Any], type: str, fields: dict[str, Any]) -> list[Any] | None:
    for payload in reversed([*_payloads(events)]):
        for candidate in _candidates(payload):
            parts = (candidate.get("content") or {}).get("parts")
            if isinstance(parts, list):
                parts.append({type: fields})
                return events
    return None


def _block_in_stream(events: list[Any], type: str, fields: dict[str, Any]) -> list[Any] | None:
    payloads = [_payload(event) for event in events]
    if any(map(_candidates, payloads)):
        return _in_gemini(events, type, fields)
    counted = [payload[key] for payload in payloads if (key := _block(payload)) is not None and not _of_tools(payload)]
    index, block = max(counted, default=-1) + 1, {"type": type, **fields}
    for position, (event, payload) in enumerate(zip(events, payloads, strict=True)):
        kind = event.name if isinstance(event, Event) and event.name else payload.get("type")
        new: list[Any] = []
        if kind == "message_delta":
            new = [
                {"type": "content_block_start", "index": index, "content_block": block},
                {"type": "content_block_stop", "index": index},
            ]
        elif kind == "messageStop":
            new = [
                Event("contentBlockStart", {"contentBlockIndex": index, "start": {type: fields}}),
                Event("contentBlockStop", {"contentBlockIndex": index}),
            ]
        elif kind in {"response.completed", "response.incomplete"}:
            item = {"id": f"{type}_1", **block}
            place = {"output_index": index, "sequence_number": 0}
            new = [{"type": f"response.output_item.{word}", "item": item, **place} for word in ("added", "done")]
            payload["response"]["output"].append(item)
        elif kind == "message-end":
            new = [
                {"type": "content-start", "index": index, "delta": {"message": {"content": block}}},
                {"type": "content-end", "index": index},
            ]
        elif _finished(payload) and _streams(payload):
            chunk = copy.deepcopy(payload)
            chunk["choices"] = [
                {**choice, "delta": {"content": [block]}, "finish_reason": None} for choice in chunk["choices"]
            ]
            if chunk.get("usage"):
                chunk["usage"] = None
            new = [chunk]
        if new:
            return [*events[:position], *new, *events[position:]]
    return None
