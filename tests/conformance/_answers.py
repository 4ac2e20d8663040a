"""Our answer to a recorded request, laid beside the recorded one."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any

from _recorded import Recording, load, recordings
from _shape import Difference, Shape, plain, scalars, shape, sized, values, words
from fake_llm import _json
from fake_llm._dialect import Asked, Choice, Dialect, Exchange, Ids
from fake_llm._differences import SAME
from fake_llm._differences import Difference as HostDifference
from fake_llm._model import Event, Usage
from fake_llm._turns import Reply, ToolCall

__all__ = ["compare", "compared_keys", "exchange_of", "excluded", "payloads", "whole"]

FREE = frozenset(
    [
        "id",
        "created",
        "created_at",
        "completed_at",
        "expires_at",
        "createTime",
        "system_fingerprint",
        "obfuscation",
        "item_id",
        "responseId",
        "encrypted_content",
        "encrypted_index",
        "thoughtSignature",
        "sequence_number",
        "inference_geo",
        "seed",
        "token_id",
        *("response_id", "generation_id"),
        "end_offset",
        "total_duration",
        "load_duration",
        "prompt_eval_duration",
        "eval_duration",
        "context[]",
    ]
)
"""Keys whose values may differ: ids, times, durations, fingerprints and what is opaque to everybody but the vendor."""


@cache
def compare(recording: Recording) -> tuple[Difference, ...]:
    """Every difference between our answer and the recorded one, exceptions not applied."""
    return _compared(recording)[0]


def compared_keys(recording: Recording) -> int:
    """How many keys of an answer are compared: those of the document, or of each kind of event, the order of these, and what they add up to."""
    return _compared(recording)[1]


@cache
def _compared(recording: Recording) -> tuple[tuple[Difference, ...], int]:
    dialect = load(recording.dialect)
    comparing = _compare_streams if recording.document is None else _compare_documents
    found: dict[Difference, int] = {}
    total = 0
    for item in comparing(dialect, recording):
        if isinstance(item, int):
            total += item
        else:
            item = replace(item, cut=not recording.asked, since=_since(recording, item))
            found[item] = found.get(item, 0) + item.keys
    return tuple(replace(difference, keys=keys) for difference, keys in found.items()), total


def _since(recording: Recording, difference: Difference) -> str | None:
    """The first recording of this vendor that has this key as ours, if this one is older, or was cut down by hand."""
    seen = _seen(recording.dialect, recording.provider)
    places = [(difference.where, difference.path)]
    if difference.path.startswith("response."):  # an event that has the whole answer in it
        places.append(("document", difference.path.removeprefix("response.")))
    found = (entry for place in places for entry in seen.get(place, ()))
    first = min(((when, id_) for when, types, id_ in found if types == difference.ours), default=None)
    if first is None or difference.path.endswith("]"):  # how many items there are is a matter of what is said
        return None
    older = recording.when < first[0] if recording.asked and recording.when is not None else not recording.asked
    return first[1] if older else None


@cache
def _seen(dialect: str, provider: str) -> dict[tuple[str, str], list[tuple[float, str, str]]]:
    """What stood at each place in recordings whose age is known: when, the types, the recording."""
    found: dict[tuple[str, str], list[tuple[float, str, str]]] = {}
    for recording in recordings(dialect):
        if recording.provider != provider or not recording.asked or recording.when is None or excluded(recording):
            continue
        for where, recorded in _shapes(recording).items():
            for path, types in recorded.items():
                found.setdefault((where, plain(path)), []).append((recording.when, words(types), recording.id))
    return found


def _shapes(recording: Recording) -> dict[str, Shape]:
    if recording.document is not None:
        return {"document": shape([recording.document], indexed=True)}
    groups = _groups(recording.dialect, [event for event in recording.events if event.get("type") not in _PASSING])
    return {kind: shape(events, indexed=False) for kind, events in groups.items()}


def _compare_documents(dialect: Dialect, recording: Recording) -> Iterator[Difference | int]:
    """Differences, and now and then how many keys were compared."""
    document = recording.document
    assert document is not None
    exchange = exchange_of(dialect, recording, document)
    ours = dialect.document(exchange)
    if recording.difference.document is not None:
        ours = recording.difference.document(exchange, ours)
    ours = json.loads(json.dumps(ours))
    if isinstance(ours.get("context"), list):  # the ids of all tokens, of which Ollama's recordings kept a few
        ours["context"] = ours["context"][: len(document["context"])]
    yield from _compare_shapes(recording, "document", shape([document], indexed=True), shape([ours], indexed=True))
    yield from _compare_values(recording, document, ours)


def _compare_shapes(recording: Recording, where: str, recorded: Shape, ours: Shape) -> Iterator[Difference | int]:
    yield len(recorded.keys() | ours.keys())
    for path, theirs, mine, keys in sized(recorded, ours):
        yield Difference(recording.id, where, path, theirs, mine, keys=keys)


def _compare_streams(dialect: Dialect, recording: Recording) -> Iterator[Difference | int]:
    document = whole(recording.dialect, recording.events)
    exchange = exchange_of(dialect, recording, document)
    recorded = [event for event in recording.events if event.get("type") not in _PASSING]
    ours = [event for event in payloads(dialect, exchange, recording.difference) if event.get("type") not in _PASSING]
    if recording.pad is not None:
        ours = [json.loads(recording.pad(event, _json.compact(event))) for event in ours]
    order, our_order = _order(recording.dialect, recorded), _order(recording.dialect, ours)
    groups, our_groups = (
        {kind: shape(events, indexed=False) for kind, events in _groups(recording.dialect, sent).items()}
        for sent in (recorded, ours)
    )
    alone = sum(
        len(shapes) for kind, shapes in (groups | our_groups).items() if (kind in groups) != (kind in our_groups)
    )
    yield max(len(order), len(our_order)) + alone
    if order != our_order:
        first = next(
            (index for index, pair in enumerate(zip(order, our_order, strict=False)) if pair[0] != pair[1]),
            min(len(order), len(our_order)),
        )
        yield Difference(
            recording.id,
            "order",
            f"at {first}",
            " / ".join(order[first : first + 3]) or "end",
            " / ".join(our_order[first : first + 3]) or "end",
            keys=max(len(order), len(our_order)) - first + alone,
        )
    for kind, shapes in groups.items():
        if kind in our_groups:
            yield from _compare_shapes(recording, kind, shapes, our_groups[kind])
    yield scalars(document)
    yield from _compare_values(recording, document, whole(recording.dialect, ours))


_PASSING = frozenset({"ping", "keepalive"})
"""Events that depend on how long the model took; where they stand is tested with the dialect."""


def _compare_values(recording: Recording, document: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    for path, theirs, mine in values(document, ours):
        if path.rpartition(".")[2] not in FREE:
            yield Difference(recording.id, "value", path, theirs, mine)


def payloads(dialect: Dialect, exchange: Exchange, difference: HostDifference = SAME) -> list[dict[str, Any]]:
    """The payloads of all our events, as a client would parse them."""
    content, closing = dialect.events(exchange)
    if difference.events is not None:
        content, closing = difference.events(exchange, content, closing)
    found = [event.payload if isinstance(event, Event) else event for event in (*content, *closing)]
    assert all(isinstance(payload, dict) for payload in found), found
    return [json.loads(json.dumps(payload)) for payload in found]


def exchange_of(dialect: Dialect, recording: Recording, document: dict[str, Any]) -> Exchange:
    """The exchange in which our answer says the same as the recorded `document`."""
    reply = dialect.parts(copy.deepcopy(document))
    ids = Ids(recording.id[-64:].encode())
    logprobs = _LOGPROBS[recording.dialect](document)
    replies = (reply, *reply.choices)
    return Exchange(
        provider=recording.provider,
        asked=Asked(recording.request, dialect, recording.body),
        ids=ids,
        model=reply.model or "",
        stream=recording.document is None,
        choices=tuple(
            _choice(dialect, ids, item, logprobs[index] if index < len(logprobs) else None)
            for index, item in enumerate(replies)
        ),
        usage=reply.usage or Usage(0, 0),
        id=reply.id,
        extra=reply.extra,
    )


def _choice(dialect: Dialect, ids: Ids, reply: Reply, logprobs: Sequence[Any] | None) -> Choice:
    parts = tuple(
        ToolCall(part.name, part.arguments, part.id or dialect.tool_id(ids), extra=part.extra)
        if isinstance(part, ToolCall)
        else part
        for part in reply.parts
    )
    default = "tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "stop"
    found = reply.logprobs if reply.logprobs is not None else logprobs
    return Choice(parts, reply.finish_reason or default, None if found is None else tuple(found))


def _chat_logprobs(document: Mapping[str, Any]) -> list[Sequence[Any] | None]:
    return [(choice.get("logprobs") or {}).get("content") for choice in document["choices"]]


def _responses_logprobs(document: Mapping[str, Any]) -> list[Sequence[Any] | None]:
    messages = [item for item in document["output"] if item["type"] == "message"]
    entries = [entry for item in messages for part in item["content"] for entry in part.get("logprobs") or ()]
    return [entries or None]


def _gemini_logprobs(document: Mapping[str, Any]) -> list[Sequence[Any] | None]:
    return [
        (candidate.get("logprobsResult") or {}).get("chosenCandidates")
        for candidate in document.get("candidates") or ()
    ]


_LOGPROBS: Mapping[str, Callable[[Mapping[str, Any]], list[Sequence[Any] | None]]] = {
    "openai_chat": _chat_logprobs,
    "openai_responses": _responses_logprobs,
    "openai_completions": lambda document: [],
    "anthropic_messages": lambda document: [],
    "gemini": _gemini_logprobs,
    **dict.fromkeys(("cohere_chat_v2", "cohere_chat_v1", "cohere_generate_v1"), lambda document: []),
    "ollama_chat": lambda document: [document.get("logprobs")],
    "ollama_generate": lambda document: [document.get("logprobs")],
}


def whole(dialect: str, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole answer that a stream adds up to."""
    return _ACCUMULATORS[dialect](copy.deepcopy(list(events)))


def _chat_whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    events = [event for event in events if event["id"]]  # Azure's first is about the prompt alone
    document = {key: value for key, value in events[0].items() if key not in ("choices", "usage", "obfuscation")} | {
        "object": "chat.completion"
    }
    choices: dict[int, dict[str, Any]] = {}
    for event in events:
        if event.get("usage"):
            document["usage"] = event["usage"]
        for sent in event["choices"]:
            choice = choices.setdefault(
                sent["index"],
                {
                    "index": sent["index"],
                    "message": {},
                    **({"logprobs": None} if "logprobs" in sent else {}),
                    "finish_reason": None,
                },
            )
            _add_delta(choice["message"], sent["delta"])
            choice["finish_reason"] = sent.get("finish_reason") or choice["finish_reason"]
            if sent.get("logprobs"):
                old = choice["logprobs"] or {}
                choice["logprobs"] = {
                    key: None if value is None and old.get(key) is None else (old.get(key) or []) + (value or [])
                    for key, value in sent["logprobs"].items()
                }
    document["choices"] = [choices[index] for index in sorted(choices)]
    return document


def _add_blocks(message: dict[str, Any], content: Any) -> None:
    """Mistral's content, of which a part is a list."""
    old = message.get("content") or []
    blocks = [{"type": "text", "text": old}] if isinstance(old, str) else old
    message["content"] = blocks
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        last = blocks[-1] if blocks else {}
        if last.get("type") != block["type"]:
            blocks.append(block)
        elif block["type"] == "text":
            last["text"] += block["text"]
        else:
            last["thinking"][0]["text"] += block["thinking"][0]["text"]
            last["closed"] = True


def _add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        if key == "content" and (isinstance(value, list) or (value and isinstance(message.get(key), list))):
            _add_blocks(message, value)
        elif key == "tool_calls":
            calls = message.setdefault("tool_calls", [])
            for call in value:
                if call["index"] == len(calls):
                    calls.append({name: item for name, item in call.items() if name != "index"})
                else:
                    calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]
        elif isinstance(value, str) and isinstance(message.get(key), str) and key != "role":
            message[key] += value
        elif value is not None or key not in message:
            message[key] = value


def _responses_whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = events[-1]["response"]
    return document


def _anthropic_whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for event in events:
        kind = event["type"]
        if kind == "message_start":
            document = event["message"]
        elif kind == "content_block_start":
            document["content"].append(event["content_block"])
        elif kind == "content_block_delta":
            _add_block_delta(document["content"][event["index"]], event["delta"])
        elif kind == "message_delta":
            document |= event["delta"] | {key: event[key] for key in ("context_management",) if key in event}
            document["usage"] |= event["usage"]
    for block in document["content"]:
        if "_json" in block:
            block["input"] = _partial(block.pop("_json"))
    return document


def _add_block_delta(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if delta["type"] == "input_json_delta":
        block["_json"] = block.get("_json", "") + delta["partial_json"]
        return
    if delta["type"] == "citations_delta":
        block["citations"].append(delta["citation"])
        return
    key = "content" if delta["type"] == "compaction_delta" else delta["type"].removesuffix("_delta")
    block[key] = (block.get(key) or "") + delta[key]


def _partial(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:  # cut off by max_tokens: it stays as it is
        return text


def _gemini_whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for event in events:
        candidates, old = event.pop("candidates", None), document.get("candidates")
        document |= event
        for candidate in candidates or ():
            if old is None:
                old = document["candidates"] = [candidate]
                continue
            parts = (candidate.pop("content", None) or {}).get("parts") or []
            for part in parts:
                _add_part(old[0].setdefault("content", {"role": "model"}).setdefault("parts", []), part)
            old[0] |= candidate
    return document


def _add_part(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    if parts and "text" in part and "text" in parts[-1] and part.get("thought") == parts[-1].get("thought"):
        parts[-1]["text"] += part.pop("text")
        parts[-1] |= part
    else:
        parts.append(part)


def _cohere_whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for event in events:
        kind, said = event["type"], event.get("delta", {}).get("message") or {}
        if kind == "message-start":
            document = {"id": event["id"], "message": {"role": said["role"]}}
        message = document["message"]
        if kind == "content-start":
            message.setdefault("content", []).append(said["content"])
        elif kind == "content-delta":
            ((key, piece),) = said["content"].items()
            message["content"][event["index"]][key] += piece
        elif kind == "tool-plan-delta":
            message["tool_plan"] = message.get("tool_plan", "") + said["tool_plan"]
        elif kind == "tool-call-start":
            message.setdefault("tool_calls", []).append(said["tool_calls"])
        elif kind == "tool-call-delta":
            function = message["tool_calls"][event["index"]]["function"]
            function["arguments"] += said["tool_calls"]["function"]["arguments"]
        elif kind == "tool-call-end":
            function = message["tool_calls"][event["index"]]["function"]
            function["arguments"] = function["arguments"] or "{}"
        elif kind == "citation-start":
            message.setdefault("citations", []).append(said["citations"])
        elif kind == "message-end":
            document |= event["delta"]
    return document


def _cohere_v1_whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    document: dict[str, Any] = events[-1]["response"]
    return document


def _ollama_whole(events: list[dict[str, Any]]) -> dict[str, Any]:
    document = copy.deepcopy(events[-1])
    holder = document.get("message", document)
    for event in reversed(events[:-1]):
        said = event.get("message", event)
        for key in ("content", "response", "thinking"):
            if key in said:
                holder[key] = said[key] + holder.get(key, "")
        if "tool_calls" in said:
            holder["tool_calls"] = said["tool_calls"] + holder.get("tool_calls", [])
    return document


_ACCUMULATORS: Mapping[str, Callable[[list[dict[str, Any]]], dict[str, Any]]] = {
    "openai_chat": _chat_whole,
    "openai_responses": _responses_whole,
    "openai_completions": lambda events: events[-1],
    "anthropic_messages": _anthropic_whole,
    "gemini": _gemini_whole,
    "cohere_chat_v2": _cohere_whole,
    **dict.fromkeys(("cohere_chat_v1", "cohere_generate_v1"), _cohere_v1_whole),
    "ollama_chat": _ollama_whole,
    "ollama_generate": _ollama_whole,
}


def _order(dialect: str, events: Sequence[Mapping[str, Any]]) -> list[str]:
    """What comes after what, repeated deltas once; the choices of one answer one after the other."""
    marks = [mark for event in events for mark in _marks(dialect, event)]
    if dialect == "openai_chat":
        marks.sort(key=lambda mark: mark[0])
    return [mark for mark, _ in groupby(text for _, text in marks)]


def _groups(dialect: str, events: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        groups.setdefault(_kind(dialect, event), []).append(event)
    return groups


def _kind(dialect: str, event: Mapping[str, Any]) -> str:
    """The kind of an event: events of one kind have one shape."""
    if dialect == "gemini":
        return (
            "last chunk" if any("finishReason" in candidate for candidate in event.get("candidates") or ()) else "chunk"
        )
    if dialect.startswith("ollama"):
        said = event.get("message", event)
        if event["done"]:
            return "last line"
        return next((f"line of {key}" for key in ("tool_calls", "thinking", "images") if key in said), "line of text")
    if dialect == "openai_chat":
        choices = event["choices"]
        if not choices:
            return "prompt chunk" if "prompt_filter_results" in event else "usage chunk"
        return f"{_chat_delta(choices[0])} chunk"
    if dialect.startswith("cohere"):
        content = (event.get("delta", {}).get("message") or {}).get("content") or {}
        named = " ".join(key for key in ("text", "thinking") if key in content)
        return f"{event.get('type') or event['event_type']} {named}".strip()
    inner = event.get("item") or event.get("part") or event.get("content_block") or event.get("delta")
    named = inner.get("type") if isinstance(inner, dict) else None
    return f"{event['type']} {named}" if named else str(event["type"])


def _chat_delta(choice: Mapping[str, Any]) -> str:
    words = [
        key if key != "tool_calls" else "head" if "id" in value[0] else "arguments"
        for key, value in choice["delta"].items()
    ]
    return "+".join(sorted(words)) + ("finish" if choice.get("finish_reason") is not None else "")


def _marks(dialect: str, event: Mapping[str, Any]) -> list[tuple[int, str]]:
    if dialect == "gemini":
        return [(0, mark) for mark in _chunk_marks(event)]
    kind = _kind(dialect, event)
    if dialect == "openai_chat":
        choices = event["choices"]
        calls = choices[0]["delta"].get("tool_calls") if choices else None
        where = f" {choices[0]['index']}" + (f" call {calls[0]['index']}" if calls else "") if choices else ""
        return [(choices[0]["index"] if choices else 1_000, kind + where)]
    index = event.get("output_index", event.get("index"))
    return [(0, kind if index is None else f"{kind} {index}")]


def _chunk_marks(event: Mapping[str, Any]) -> list[str]:
    """The kinds of parts in a chunk: which of them share one is a matter of time."""
    if "candidates" not in event:
        return ["prompt feedback" if "promptFeedback" in event else "no candidates"]
    candidate = event["candidates"][0]
    parts = (candidate.get("content") or {}).get("parts") or ()
    marks = [
        "thought" if part.get("thought") else next(key for key in part if key != "thoughtSignature")
        for part in parts
        if part.get("text") != ""
    ]
    return marks + (["finish"] if "finishReason" in candidate else [])


def excluded(recording: Recording) -> str | None:
    """The kind of thing in this answer that isn't written yet, `None` when all of it is."""
    return _EXCLUDERS[recording.dialect](recording, recording.document or whole_or_nothing(recording))


def whole_or_nothing(recording: Recording) -> dict[str, Any]:
    """The whole answer of a stream; for one with events of an unknown kind, what can be said without it."""
    try:
        return whole(recording.dialect, recording.events)
    except (KeyError, TypeError):
        return {}


_SINCE: Mapping[str, int] = {
    **dict.fromkeys(("azure", "deepseek", "groq"), 1_738_368_000),  # 2025-02
    "openrouter": 1_769_904_000,  # 2026-02
}
"""When a host's answers took the form that they have today, in Unix seconds."""


def _chat_excluded(recording: Recording, document: Mapping[str, Any]) -> str | None:
    if "choices" not in document:
        return "error in a stream" if recording.document is None else "error with a status of 200"
    since = _SINCE.get(recording.provider)
    if since is not None and 0 < document["created"] < since:
        return "a host's older wire"
    if recording.provider == "mistral" and document["model"].startswith("zai-"):
        return "a model of another vendor"
    return None


def _responses_excluded(recording: Recording, document: Mapping[str, Any]) -> str | None:
    if not document or document.get("status") not in ("completed", "incomplete", "queued"):
        return "error in a stream" if recording.document is None else "error with a status of 200"
    return None


def _gemini_excluded(recording: Recording, document: Mapping[str, Any]) -> str | None:
    if recording.broken:
        return "error in a stream"
    if not recording.asked and recording.provider == "vertex" and _is_old_vertex(recording, document):
        return "a host's older wire"
    return None


def _is_old_vertex(recording: Recording, document: Mapping[str, Any]) -> bool:
    """Test data of gemini-1.0 and 1.5: ratings in each answer, an index, and no version of the model, which all have since 2024-10."""
    candidate = next(iter(document.get("candidates") or ()), {})
    return "modelVersion" not in document and "safetyRatings" in candidate and "index" in candidate


def _ollama_excluded(recording: Recording, document: Mapping[str, Any]) -> str | None:
    return None if document["done"] else "a recording that ends in the middle of its stream"


_EXCLUDERS: Mapping[str, Callable[[Recording, Mapping[str, Any]], str | None]] = {
    "openai_chat": _chat_excluded,
    "openai_responses": _responses_excluded,
    "openai_completions": lambda recording, document: None,
    "anthropic_messages": lambda recording, document: None,
    "gemini": _gemini_excluded,
    **dict.fromkeys(("cohere_chat_v2", "cohere_chat_v1", "cohere_generate_v1"), lambda recording, document: None),
    "ollama_chat": _ollama_excluded,
    "ollama_generate": _ollama_excluded,
}
