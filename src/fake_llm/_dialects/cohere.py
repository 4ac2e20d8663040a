"""Cohere: chat of `POST /v2/chat` and of `/v1/chat`, and `/v1/generate`, with the errors that all of its endpoints share.

Shapes of v2 and the texts of v1 as recorded from 2025-01 to 2026-08. Tool calls and citations of v1 and the streams of
`generate` are those of the types of cohere 7.3 (2026-11), refusals those of the vendor's page of errors (2026-11).

Text beside tool calls is the model's `tool_plan`, which is what Cohere's models and LangChain make of it. A thought
without text beside tool calls is the plan, too, unless the request has thinking enabled: a model that doesn't think
has no other place for it. Every other thought is content of the type `thinking`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from fake_llm import _json
from fake_llm._dialect import (
    Choice,
    Delta,
    Dialect,
    Exchange,
    Ids,
    WireEvent,
    as_written,
    dicts,
    media,
    merge,
    message,
    parsed_arguments,
    reach,
    string,
    text_of,
)
from fake_llm._errors import ScriptMismatchError, clipped, sentence
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import (
    AUTO,
    HeaderItems,
    Message,
    Request,
    Role,
    SentToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._turns import Citation, Error, Reply, Thinking, ToolCall

__all__ = ["BAD_JSON", "CHAT_V1", "CHAT_V2", "GENERATE_V1", "refused", "wrong_type"]

# --- what all of them share ----------------------------------------------------------------------


def _model(request: Request, body: Any) -> str:
    return string(body.get("model"))


def _stream(request: Request, body: Any) -> bool:
    return body.get("stream") is True


_SETTINGS: Final = {"p": "top_p", "k": "top_k", "stop_sequences": "stop", "num_generations": "n"}


def _params(body: Mapping[str, Any], taken: frozenset[str]) -> dict[str, Any]:
    return {_SETTINGS.get(key, key): value for key, value in body.items() if key not in taken}


def _said_by(data: Any) -> str:
    """The text of a document or of a tool's output: the only text in it, or its JSON."""
    if isinstance(data, dict) and len(data) == 1:
        (data,) = data.values()
    return data if isinstance(data, str) else _json.text(data)


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of structured output; v1 and LangChain call it `schema`, v2 `json_schema`."""
    asked = body.get("response_format")
    if not isinstance(asked, dict) or asked.get("type") != "json_object":
        return None
    for key in ("json_schema", "schema"):
        if isinstance(given := asked.get(key), dict):
            return given
    return {}


def _counts(usage: Usage) -> dict[str, Any]:
    """The tokens that are billed, those that the model saw, and those out of a cache."""
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    thought = {"reasoning_tokens": usage.reasoning_tokens} if usage.reasoning_tokens else {}
    counted = {"billed_units": tokens, "tokens": tokens | thought, "cached_tokens": usage.cached_tokens}
    return merge(counted, usage.details) if usage.details else counted


def _counted(found: Any) -> Usage | None:
    """The same read back, what is billed otherwise among the details."""
    tokens = reach(found, "tokens") or reach(found, "billed_units")
    if not isinstance(tokens, Mapping):
        return None
    billed = reach(found, "billed_units")
    other = billed if isinstance(billed, Mapping) and billed != tokens else None
    return Usage(
        _whole(tokens.get("input_tokens")),
        _whole(tokens.get("output_tokens")),
        _whole(reach(found, "cached_tokens")),
        reasoning_tokens=_whole(tokens.get("reasoning_tokens")),
        details={} if other is None else {"billed_units": {key: other[key] for key in other}},
    )


def _whole(number: Any) -> int:
    """A count; the SDK's types have floats."""
    return int(number) if isinstance(number, (int, float)) else 0


# --- errors --------------------------------------------------------------------------------------


def _error_id(exchange: Exchange) -> str:
    return exchange.ids.uuid()


def _error_body(said: Said) -> dict[str, Any]:
    kind = {"error_type": said.type} if said.type else {}
    return {**kind, "id": said.id, "message": said.message}


def _error_headers(said: Said) -> HeaderItems:
    return headers(said.exchange)


ERRORS: Final = Errors(
    body=_error_body,
    id=_error_id,
    headers=_error_headers,
    usual={
        "bad_request": Usual(400, "", "invalid request: the request is not valid."),
        "authentication": Usual(
            401,
            "",
            "Incorrect API key provided: ***********. You can find your API key at https://dashboard.cohere.com/api-keys.",
        ),
        "permission": Usual(403, "", "your API key does not have access to this resource."),
        "not_found": Usual(
            404,
            "",
            "model '{model}' not found, make sure the correct model ID was used and that you have access to the model.",
        ),
        "request_too_large": Usual(413, "", "request body too large."),
        "context_length": Usual(
            400,
            "TOO_MANY_TOKENS",
            (
                "too many tokens: size limit exceeded by 1 tokens. Try using shorter or fewer inputs. "
                "The limit for this model is 288000 tokens."
            ),
        ),
        "content_filter": Usual(498, "", "request blocked: it violates the usage guidelines."),
        "rate_limit": Usual(429, "", "You are past the per minute request limit, please wait and try again later."),
        "quota": Usual(
            402,
            "",
            "Please add or update your payment method at https://dashboard.cohere.com/billing?tab=payment to continue",
        ),
        "server_error": Usual(500, "", "internal server error, please try again later."),
        "unavailable": Usual(503, "", "service unavailable, please try again later."),
        "overloaded": Usual(503, "", "the service is overloaded, please try again later."),
        "timeout": Usual(504, "", "request timed out."),
    },
)
"""Of the vendor's page of errors, 403 and those from 413 on but 429 and 402 by its statuses only: their texts are ours."""
BAD_JSON: Final = "invalid json syntax: the body is not valid JSON."


def headers(exchange: Exchange) -> HeaderItems:
    """Headers of every answer."""
    return (
        ("access-control-expose-headers", "X-Debug-Trace-ID"),
        ("cache-control", "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"),
        ("expires", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("pragma", "no-cache"),
        ("vary", "Origin"),
        ("x-accel-expires", "0"),
        ("x-debug-trace-id", exchange.ids.hex(32)),
        ("x-envoy-upstream-service-time", "350"),
        ("server", "envoy"),
        ("via", "1.1 google"),
    )


def refused(text: str) -> Error:
    """A refusal in the vendor's words."""
    return Error(400, text)


_GO: Final = {
    type(None): "null",
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "bool": (bool,),
    "int32": (int,),
    "float": (int, float),
    "array": (list,),
    "object": (dict,),
}


def wrong_type(body: Mapping[str, Any], wanted: Mapping[str, str], page: str) -> Error | None:
    """The refusal of the first parameter of another type than `wanted` says; `null` is none given."""
    for name, kind in wanted.items():
        value = body.get(name)
        if value is None or (isinstance(value, _KINDS[kind]) and (kind == "bool" or not isinstance(value, bool))):
            continue
        return refused(
            f"invalid type: parameter '{name}' is of type {_GO[type(value)]} but should be of type {kind}. "
            f"For proper usage, please refer to https://docs.cohere.com/{page}"
        )
    return None


_SAMPLING: Final = {
    **dict.fromkeys(("max_tokens", "k", "seed"), "int32"),
    **dict.fromkeys(("temperature", "p", "frequency_penalty", "presence_penalty"), "float"),
    "stop_sequences": "array",
    "stream": "bool",
}
_NO_MESSAGE: Final = "invalid request: message must be at least 1 token long or tool results must be specified."
_NO_OBJECT: Final = "invalid request: the body must be a JSON object."


# --- v2: request to view -------------------------------------------------------------------------

_V2_TAKEN: Final = frozenset({"model", "messages", "stream", "tools", "tool_choice", "response_format"})
_ROLES: Final[Mapping[str, Role]] = {"system": "system", "assistant": "assistant", "tool": "tool"}
_MEDIA: Final = {"image_url": "[image]", "image": "[image]"}
_CHOICES: Final = {"REQUIRED": ToolChoice("any"), "NONE": ToolChoice("none")}


def _read_v2(request: Request, body: Any) -> View:
    messages = tuple(map(_message, dicts(body.get("messages"))))
    return View(
        messages,
        "\n".join(item.text for item in messages if item.role == "system"),
        _tools_v2(body),
        _CHOICES.get(string(body.get("tool_choice")), AUTO),
        _schema(body),
        _params(body, _V2_TAKEN),
    )


def _message(item: Mapping[str, Any]) -> Message:
    role: Role = _ROLES.get(string(item.get("role")).lower(), "user")
    texts = _texts(item.get("content"))
    if role == "tool":
        result = ToolResult(item.get("tool_call_id"), "", "\n".join(texts))
        return message("tool", texts, tool_results=(result,))
    if role != "assistant":
        return message(role, texts)
    thoughts = (string(part.get("thinking")) for part in dicts(item.get("content")))
    return message(
        "assistant",
        [text for text in (string(item.get("tool_plan")), *texts) if text],
        [_sent_call(call) for call in dicts(item.get("tool_calls"))],
        thinking="\n".join(filter(None, thoughts)),
    )


def _sent_call(call: Mapping[str, Any]) -> SentToolCall:
    called = call.get("function")
    return SentToolCall(string(reach(called, "name")), parsed_arguments(reach(called, "arguments")), call.get("id"))


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    found = (part if isinstance(part, str) else _text(part) for part in (content if isinstance(content, list) else ()))
    return [text for text in found if text is not None]


def _text(part: Any) -> str | None:
    if not isinstance(part, dict):
        return None
    if part.get("type") == "document":
        return _said_by(reach(part, "document", "data"))
    shown = _MEDIA.get(string(part.get("type")))
    return media(shown) if shown is not None else part["text"] if isinstance(part.get("text"), str) else None


def _tools_v2(body: Mapping[str, Any]) -> dict[str, ToolSpec]:
    tools: dict[str, ToolSpec] = {}
    for tool in dicts(body.get("tools")):
        name, schema = reach(tool, "function", "name"), reach(tool, "function", "parameters")
        if isinstance(name, str):
            tools[name] = ToolSpec(
                name,
                schema if isinstance(schema, dict) else {},
                string(reach(tool, "function", "description")),
                body.get("strict_tools") is True,
            )
    return tools


_V2_TYPES: Final = {
    "model": "string",
    "messages": "array",
    "tools": "array",
    "documents": "array",
    "tool_choice": "string",
    **dict.fromkeys(("response_format", "citation_options", "thinking"), "object"),
    **dict.fromkeys(("logprobs", "strict_tools"), "bool"),
    **_SAMPLING,
}


def _check_v2(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return refused(_NO_OBJECT)
    wrong = wrong_type(body, _V2_TYPES, "v2/reference/chat")
    if wrong is not None:
        return wrong
    if not body.get("model"):
        return refused("a model parameter is required for this endpoint.")
    if not body.get("messages"):
        return refused(_NO_MESSAGE)
    called: set[Any] = set()
    for index, item in enumerate(body["messages"]):
        words = _wrong_message(index, item, called)
        if words is not None:
            return refused(words)
    return None


def _wrong_message(index: int, item: Any, called: set[Any]) -> str | None:
    """What is wrong with one message; `called` are the ids of the calls before it, to which it adds its own."""
    role = item.get("role") if isinstance(item, dict) else None
    if not isinstance(role, str) or role.lower() not in {"user", *_ROLES}:
        return (
            f"invalid request: Invalid role in messages at index {index}. "
            "Role must be one of the following: user, assistant, system, tool"
        )
    content = item.get("content")
    if content is not None and not isinstance(content, (str, list)):
        return (
            f"invalid type: parameter 'messages[{index}].content' is of type {_GO[type(content)]} "
            "but should be of type string or array. For proper usage, please refer to https://docs.cohere.com/v2/reference/chat"
        )
    if role.lower() == "tool":
        if not isinstance(item.get("tool_call_id"), str):
            return "tool call id must be provided with tool message"
        return None if item["tool_call_id"] in called else "tool call id not found in previous tool calls"
    calls = item.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, dict) or call.get("type", "function") != "function":
            return "tool call must be of type function"
        if (id_ := call.get("id")) is None:
            continue
        if not isinstance(id_, str) or id_ in called:
            return "cannot have duplicate tool ids"
        called.add(id_)
    return (
        "message must not be empty in a turn" if content is None and not calls and not item.get("tool_plan") else None
    )


# --- v2: turn to body and events -----------------------------------------------------------------

_REASONS: Final = {
    "stop": "COMPLETE",
    "tool_calls": "TOOL_CALL",
    "length": "MAX_TOKENS",
    "content_filter": "ERROR",
    "refusal": "COMPLETE",
    "stop_sequence": "STOP_SEQUENCE",
    "pause": "COMPLETE",
    "malformed_tool_call": "ERROR",
}
_Kind: TypeAlias = "Literal['text', 'thinking', 'plan']"


@dataclass(slots=True)
class _Block:
    """Parts of one turn that are one text on the wire, each with its place in the turn."""

    kind: _Kind
    parts: list[tuple[int, str | Citation | Thinking]] = field(
        default_factory=list[tuple[int, str | Citation | Thinking]]
    )

    @property
    def text(self) -> str:
        return "".join(part.text if isinstance(part, Thinking) else text_of(part) for _, part in self.parts)


def _thinks(body: Mapping[str, Any]) -> bool:
    """Whether the model thinks: it was told to, or does unless it is told not to."""
    asked = reach(body, "thinking", "type")
    if asked is not None:
        return bool(asked == "enabled")
    name = string(body.get("model"))
    return "reasoning" in name or "command-a-plus" in name


def _blocks(exchange: Exchange) -> list[_Block]:
    """The texts of the answer in their order; without any and without tool calls an empty one."""
    choice = exchange.choice
    texts = any(isinstance(part, (str, Citation)) for part in choice.parts)
    calls = bool(choice.tool_calls)
    found: list[_Block] = []
    for index, part in enumerate(choice.parts):
        if not isinstance(part, (str, Citation, Thinking)):
            continue
        if isinstance(part, Thinking):
            kind: _Kind = "plan" if calls and not texts and not _thinks(exchange.body) else "thinking"
        else:
            kind = "plan" if calls else "text"
        block = (
            next((one for one in found if one.kind == "plan"), None) if kind == "plan" else found[-1] if found else None
        )
        if block is None or block.kind != kind:
            block = _Block(kind)
            found.append(block)
        block.parts.append((index, part))
    return found or ([] if calls else [_Block("text")])


def _document_v2(exchange: Exchange) -> dict[str, Any]:
    blocks = _blocks(exchange)
    content = [{"type": block.kind, block.kind: block.text} for block in blocks if block.kind != "plan"]
    plan = next((block.text for block in blocks if block.kind == "plan"), "")
    calls = [_call(exchange, call) for call in exchange.choice.tool_calls]
    said = {
        "content": content,
        "tool_plan": plan,
        "tool_calls": calls,
        "citations": [entry for _, entry in _citations(exchange, blocks)],
    }
    document: dict[str, Any] = {
        "id": exchange.ids.uuid() if exchange.id is None else exchange.id,
        "message": {"role": "assistant", **{name: value for name, value in said.items() if value}},
        "finish_reason": _reason(exchange.choice),
        "usage": _counts(exchange.usage),
    }
    probabilities = [
        entry for block in blocks if block.kind == "text" for _, entry in _pieces(exchange, block) if entry
    ]
    if probabilities:
        document["logprobs"] = probabilities
    return exchange.extend(document)


def _reason(choice: Choice) -> str:
    return _REASONS.get(choice.finish_reason, choice.finish_reason)


def _call(exchange: Exchange, call: ToolCall) -> dict[str, Any]:
    """A tool call; its id begins with the tool's name."""
    id_ = f"{call.name}_{exchange.ids.lower(12)}" if call.id is None else call.id
    written = {"id": id_, "type": "function", "function": {"name": call.name, "arguments": call.json}}
    return merge(written, call.extra) if call.extra else written


def _citations(exchange: Exchange, blocks: Sequence[_Block]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The citations, each with the place of its part in the turn; one of an empty text is a further source of the one before."""
    content = [block for block in blocks if block.kind != "plan"]
    known = _sources(exchange.body)
    for block in blocks:
        start = 0
        entry: dict[str, Any] | None = None
        for index, part in block.parts:
            text = part.text if isinstance(part, Thinking) else text_of(part)
            if isinstance(part, Citation):
                source = known.get(part.source) or _source(part, known)
                if entry is not None and not text:
                    entry["sources"].append(source)
                    continue
                entry = {"start": start, "end": start + len(text), "text": text, "sources": [source]}
                entry["type"] = "PLAN" if block.kind == "plan" else "TEXT_CONTENT"
                if block.kind != "plan":
                    entry["content_index"] = content.index(block)
                yield index, entry
            start += len(text)


def _source(part: Citation, known: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """A source that isn't said by its id: by its place or its title among those that the request brought, else a page."""
    for number, (id_, source) in enumerate(known.items()):
        if part.source in (str(number), _title(source)) or id_ == f"{part.source}:0":
            return source
    _refuse_unknown(part, [*known])
    title = {} if part.title is None else {"title": part.title}
    return {"type": "document", "id": part.source, "document": {"id": part.source, **title}}


def _title(source: Mapping[str, Any]) -> Any:
    return reach(source, "document", "title") or reach(source, "tool_output", "title")


def _refuse_unknown(part: Citation, ids: Sequence[str]) -> None:
    """Refuse a source that a request with sources of its own doesn't bring, unless it is a page."""
    if ids and "://" not in part.source:
        raise ScriptMismatchError(
            sentence(
                f"The turn cites {part.source!r}.",
                f"The request brings {', '.join(repr(clipped(id_, 80)) for id_ in ids)}.",
                "Write the id, the title or the place of one of these, or a URL.",
            )
        )


def _sources(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the request brought to be cited, by id: its documents, and those among the results of its tools."""
    found: dict[str, dict[str, Any]] = {}
    given = body.get("documents")
    for number, item in enumerate(given if isinstance(given, list) else ()):
        id_ = item.get("id") if isinstance(item, dict) else None
        id_ = id_ if isinstance(id_, str) else f"doc:{number}"
        data = item.get("data", item) if isinstance(item, dict) else item
        document = data if isinstance(data, dict) else {"text": data}
        found[id_] = {"type": "document", "id": id_, "document": {"id": id_, **document}}
    for sent in dicts(body.get("messages")):
        if sent.get("role") == "tool":
            content = sent.get("content")
            for number, part in enumerate([{"text": content}] if isinstance(content, str) else dicts(content)):
                id_ = reach(part, "document", "id")
                id_ = id_ if isinstance(id_, str) else f"{sent.get('tool_call_id')}:{number}"
                data = reach(part, "document", "data")
                output = data if isinstance(data, dict) else {"content": part.get("text", data)}
                found[id_] = {"type": "tool", "id": id_, "tool_output": output}
    return found


_PROBABLY: Final = -0.25


def _pieces(exchange: Exchange, block: _Block) -> Iterator[tuple[tuple[int, str], dict[str, Any] | None]]:
    """The deltas of a block, each with the place of its part, and with its entry of probabilities where there are some."""
    choice = exchange.choice
    cut = [(index, piece) for index, _ in block.parts for piece in choice.pieces(index)]
    if block.kind == "text" and (choice.logprobs is not None or exchange.body.get("logprobs") is True):
        given = [_entry(item) for item in choice.logprobs or ()]
        if given and len(block.parts) == 1 and "".join(string(item.get("text")) for item in given) == block.text:
            cut = [(block.parts[0][0], item["text"]) for item in given]
        for place, pair in enumerate(cut):
            made = {"text": pair[1], "token_ids": [place + 1], "logprobs": [_PROBABLY]}
            yield pair, (given[place] if place < len(given) else None) if given else made
    else:
        yield from ((pair, None) for pair in cut)


def _entry(item: Any) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return dict(item)
    return {"text": item[0], "token_ids": [len(item[0])], "logprobs": [item[1]]}


def _events_v2(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    blocks = _blocks(exchange)
    nothing = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    id_ = exchange.ids.uuid() if exchange.id is None else exchange.id
    content: list[WireEvent] = [{"id": id_, "type": "message-start", "delta": {"message": nothing}}]
    cited = {index: (number, entry) for number, (index, entry) in enumerate(_citations(exchange, blocks))}
    number = 0
    for block in blocks:
        if block.kind != "plan":
            opened = {"type": block.kind, block.kind: ""}
            content.append({"type": "content-start", "index": number, "delta": {"message": {"content": opened}}})
        content += _block_events(exchange, block, number, cited)
        if block.kind != "plan":
            content.append({"type": "content-end", "index": number})
            number += 1
    for index, call in enumerate(exchange.choice.tool_calls):
        content += _call_events(exchange, index, call)
    delta = {"finish_reason": _reason(exchange.choice), "usage": _counts(exchange.usage)}
    extra = {key: value for key, value in (exchange.extra or {}).items() if key not in ("id", "message")}
    return content, [{"type": "message-end", "delta": merge(delta, extra)}]


def _block_events(
    exchange: Exchange, block: _Block, number: int, cited: Mapping[int, tuple[int, dict[str, Any]]]
) -> Iterator[WireEvent]:
    """The deltas of one text; each citation follows what it cites."""
    pieces = list(_pieces(exchange, block))
    for index, _ in block.parts:
        for (place, piece), entry in pieces:
            if place != index:
                continue
            if block.kind == "plan":
                yield Delta({"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}})
                continue
            said = {"message": {"content": {block.kind: piece}}}
            more = {} if entry is None else {"logprobs": entry}
            yield Delta({"type": "content-delta", "index": number, "delta": said, **more})
        if index in cited:
            citation, found = cited[index]
            yield {"type": "citation-start", "index": citation, "delta": {"message": {"citations": found}}}
            yield {"type": "citation-end", "index": citation}


def _call_events(exchange: Exchange, index: int, call: ToolCall) -> Iterator[WireEvent]:
    """A call without arguments has no delta."""
    head = _call(exchange, call)
    text = head["function"]["arguments"]
    head["function"] = {**head["function"], "arguments": ""}
    yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": head}}}
    place = next(place for place, part in enumerate(exchange.choice.parts) if part is call)
    for piece in exchange.choice.pieces(place) if text not in ("", "{}") else ():
        said = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
        yield Delta({"type": "tool-call-delta", "index": index, "delta": said})
    yield {"type": "tool-call-end", "index": index}


def _failure_events_v2(exchange: Exchange, error: Error) -> list[WireEvent]:
    text = ERRORS.said(exchange, error).message
    return [{"type": "message-end", "delta": {"finish_reason": "ERROR", "usage": {}, "error": text}}]


# --- v2: body to turn ----------------------------------------------------------------------------

_NEUTRAL: Final = {
    "COMPLETE": "stop",
    "TOOL_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "STOP_SEQUENCE": "stop_sequence",
}


def _parts_v2(body: Mapping[str, Any]) -> Reply:
    said = body["message"]
    citations = list(dicts(said.get("citations")))
    found: list[Any] = []
    for index, part in enumerate(dicts(said.get("content"))):
        if isinstance(part.get("thinking"), str):
            found.append(Thinking(part["thinking"]))
        else:
            mine = [one for one in citations if one.get("type") != "PLAN" and one.get("content_index", index) == index]
            found += _cited(string(part.get("text")), mine)
    found += _cited(string(said.get("tool_plan")), [one for one in citations if one.get("type") == "PLAN"])
    for call in dicts(said.get("tool_calls")):
        name, text = reach(call, "function", "name"), string(reach(call, "function", "arguments"))
        found.append(ToolCall(name or "unnamed", as_written(text), call.get("id")))
    reason = body.get("finish_reason")
    probabilities = body.get("logprobs")
    return Reply(
        *found,
        id=body.get("id"),
        usage=_counted(body.get("usage")),
        finish_reason=_NEUTRAL.get(reason, reason) if isinstance(reason, str) else None,
        logprobs=probabilities if isinstance(probabilities, list) else None,
    )


def _cited(text: str, citations: Sequence[Mapping[str, Any]]) -> Iterator[str | Citation]:
    """A text cut where its citations are; those that overlap with one before are left out."""
    at = 0
    for entry in sorted(citations, key=lambda one: _whole(one.get("start"))):
        start, end = _whole(entry.get("start")), _whole(entry.get("end"))
        source = next(dicts(entry.get("sources")), {})
        id_ = string(source.get("id")) or next(iter(entry.get("document_ids") or ()), "")
        if not id_ or start < at or end > len(text):
            continue
        if start > at:
            yield text[at:start]
        title = _title(source)
        yield Citation(text[start:end], id_, title if isinstance(title, str) else None)
        at = end
    if at < len(text):
        yield text[at:]


def _no_id(ids: Ids) -> None:
    """None: it is made when the tool's name is there."""


CHAT_V2: Final = Dialect(
    name="cohere_chat_v2",
    label="Cohere chat v2",
    read=_read_v2,
    check=_check_v2,
    bad_json=BAD_JSON,
    stream=_stream,
    model=_model,
    document=_document_v2,
    events=_events_v2,
    failure=ERRORS.failure,
    failure_events=_failure_events_v2,
    parts=_parts_v2,
    headers=headers,
    tool_id=_no_id,
    carries=frozenset({str, ToolCall, Thinking, Citation}),
    shaping=frozenset({"response_format"}),
    sdk_types=("cohere.v2.types.v2chat_response.V2ChatResponse", "cohere.types.chat_response.ChatResponse"),
    too_long="too many tokens: total number of tokens in the prompt cannot exceed {window} - received {tokens}. "
    "Try using a shorter prompt, or enabling prompt truncating.",
)
"""`POST /v2/chat`."""


# --- v1: request to view -------------------------------------------------------------------------

_V1_TAKEN: Final = frozenset(
    {"model", "message", "chat_history", "preamble", "stream", "tools", "tool_results", "response_format"}
)
_V1_ROLES: Final[Mapping[str, Role]] = {"user": "user", "chatbot": "assistant", "system": "system", "tool": "tool"}
_PYTHON: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}


def _read_v1(request: Request, body: Any) -> View:
    messages = [one for item in dicts(body.get("chat_history")) for one in _turn(item)]
    if string(body.get("message")):
        messages.append(message("user", [body["message"]]))
    messages += _results(body.get("tool_results"))
    system = [string(body.get("preamble")), *(item.text for item in messages if item.role == "system")]
    return View(
        tuple(messages),
        "\n".join(filter(None, system)),
        {tool["name"]: _tool_v1(tool) for tool in dicts(body.get("tools")) if isinstance(tool.get("name"), str)},
        AUTO,
        _schema(body),
        _params(body, _V1_TAKEN),
        whole=body.get("conversation_id") is None,
    )


def _turn(item: Mapping[str, Any]) -> list[Message]:
    role = _V1_ROLES.get(string(item.get("role")).lower(), "user")
    if role == "tool":
        return _results(item.get("tool_results"))
    calls = (
        SentToolCall(string(call.get("name")), call.get("parameters"), call.get("generation_id"))
        for call in dicts(item.get("tool_calls"))
    )
    return [message(role, [string(item.get("message"))], tuple(calls))]


def _results(given: Any) -> list[Message]:
    """One `tool` message for each result."""
    found: list[Message] = []
    for item in dicts(given):
        text = "\n".join(map(_said_by, dicts(item.get("outputs"))))
        name, id_ = string(reach(item, "call", "name")), reach(item, "call", "generation_id")
        found.append(message("tool", [text], tool_results=(ToolResult(id_, name, text),)))
    return found


def _tool_v1(tool: Mapping[str, Any]) -> ToolSpec:
    """A tool whose parameters are given one by one, with the names of Python's types."""
    given = tool.get("parameter_definitions")
    defined = {name: one for name, one in given.items() if isinstance(one, dict)} if isinstance(given, dict) else {}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _property(one) for name, one in defined.items()},
        "required": [name for name, one in defined.items() if one.get("required") is True],
    }
    return ToolSpec(tool["name"], schema if defined else {}, string(tool.get("description")))


def _property(one: Mapping[str, Any]) -> dict[str, Any]:
    kind = string(one.get("type")).partition("[")[0].lower()
    kind = _PYTHON.get(kind, kind)
    typed = {"type": kind} if kind in _PYTHON.values() else {}
    told = {"description": one["description"]} if isinstance(one.get("description"), str) else {}
    return {**typed, **told}


_V1_TYPES: Final = {
    **dict.fromkeys(("model", "message", "preamble", "conversation_id", "prompt_truncation"), "string"),
    **dict.fromkeys(("chat_history", "documents", "connectors", "tools", "tool_results"), "array"),
    "response_format": "object",
    **_SAMPLING,
}


def _check_v1(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return refused(_NO_OBJECT)
    wrong = wrong_type(body, _V1_TYPES, "v1/reference/chat")
    if wrong is not None:
        return wrong
    for index, item in enumerate(body.get("chat_history") or ()):
        role = item.get("role") if isinstance(item, dict) else None
        if not isinstance(role, str) or role.lower() not in _V1_ROLES:
            return refused(
                f"invalid request: Invalid role in chat_history at index {index}. "
                "Role must be one of the following: User, Chatbot, System, Tool"
            )
        if not isinstance(item.get("message"), str) and not item.get("tool_calls") and role.lower() != "tool":
            return refused("invalid request: all elements in history must have a message.")
    if not body.get("message") and not body.get("tool_results"):
        return refused(_NO_MESSAGE)
    both = body.get("message") and body.get("tool_results") and body.get("tools")
    if both and body.get("force_single_step") is not True:
        return refused("invalid request: cannot specify both message and tool_results in multistep mode")
    return None


# --- v1: turn to body and events -----------------------------------------------------------------

_V1_REASONS: Final = _REASONS | {"tool_calls": "COMPLETE", "content_filter": "ERROR_TOXIC"}


def _reason_v1(choice: Choice) -> str:
    return _V1_REASONS.get(choice.finish_reason, choice.finish_reason)


def _meta(usage: Usage) -> dict[str, Any]:
    return {"api_version": {"version": "1"}, **_counts(usage)}


def _document_v1(exchange: Exchange) -> dict[str, Any]:
    return exchange.extend(_answer_v1(exchange, _generation(exchange)))


def _generation(exchange: Exchange) -> str:
    """The id; kept on the exchange, so that a failure in the middle of a stream bears the same one."""
    if exchange.id is None:
        exchange.id = exchange.ids.uuid()
    return exchange.id


def _answer_v1(exchange: Exchange, generation: str) -> dict[str, Any]:
    body, choice = exchange.body, exchange.choice
    calls = [_call_v1(call) for call in choice.tool_calls]
    called = {"tool_calls": calls} if calls else {}
    history: list[Any] = list(body.get("chat_history") or ())
    if body.get("message"):
        history.append({"role": "USER", "message": body["message"]})
    if body.get("tool_results"):
        history.append({"role": "TOOL", "tool_results": body["tool_results"]})
    citations = [entry for _, entry in _citations_v1(exchange)]
    return {
        "response_id": exchange.ids.uuid(),
        "text": choice.text,
        "generation_id": generation,
        "chat_history": [*history, {"role": "CHATBOT", "message": choice.text, **called}],
        "finish_reason": _reason_v1(choice),
        "meta": _meta(exchange.usage),
        **({"citations": citations, "documents": _cited_documents(exchange)} if citations else {}),
        **called,
    }


def _call_v1(call: ToolCall) -> dict[str, Any]:
    """A tool call: without an id, unless the script has one, which stands where the API's `generation_id` stood."""
    given = parsed_arguments(call.arguments) if isinstance(call.arguments, str) else dict(call.arguments)
    written = {"name": call.name, "parameters": given or {}}
    if call.id is not None:
        written["generation_id"] = call.id
    return merge(written, call.extra) if call.extra else written


def _citations_v1(exchange: Exchange) -> Iterator[tuple[int, dict[str, Any]]]:
    known = _documents_v1(exchange.body)
    start = 0
    entry: dict[str, Any] | None = None
    for index, part in enumerate(exchange.choice.parts):
        text = text_of(part)
        if isinstance(part, Citation):
            id_ = _id_v1(part, exchange.body, known)
            if entry is not None and not text:
                entry["document_ids"].append(id_)
            else:
                entry = {"start": start, "end": start + len(text), "text": text, "document_ids": [id_]}
                yield index, entry
        start += len(text)


def _documents_v1(body: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The documents of the request, by id."""
    given = body.get("documents")
    return {
        string(item.get("id")) or f"doc_{number}": item
        for number, item in enumerate(given if isinstance(given, list) else ())
        if isinstance(item, dict)
    }


def _id_v1(part: Citation, body: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]]) -> str:
    """The id of a source that is said by its id, its place or its title; connectors and tools have ids of their own."""
    if part.source in known:
        return part.source
    for number, (id_, document) in enumerate(known.items()):
        if part.source in (str(number), document.get("title")):
            return id_
    if not body.get("connectors") and not body.get("tool_results"):
        _refuse_unknown(part, [*known])
    return part.source


def _cited_documents(exchange: Exchange) -> list[dict[str, Any]]:
    """What is cited, as the request brought it."""
    known = _documents_v1(exchange.body)
    cited = {_id_v1(part, exchange.body, known): part for part in exchange.choice.of(Citation)}
    titled = {source: {} if part.title is None else {"title": part.title} for source, part in cited.items()}
    return [{**known.get(source, titled[source]), "id": source} for source in cited]


def _event(kind: str, *, last: bool = False, **said: Any) -> dict[str, Any]:
    return {"is_finished": last, "event_type": kind, **said}


def _events_v1(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    choice = exchange.choice
    generation = _generation(exchange)
    answer = exchange.extend(_answer_v1(exchange, generation))
    content: list[WireEvent] = [_event("stream-start", generation_id=answer["generation_id"])]
    if "documents" in answer:
        content.append(_event("search-results", documents=answer["documents"]))
    cited = dict(_citations_v1(exchange))
    calls = answer.get("tool_calls") or []
    for index, part in enumerate(choice.parts):
        if isinstance(part, ToolCall):
            continue
        kind = "tool-calls-chunk" if calls else "text-generation"
        content += [Delta(_event(kind, text=piece)) for piece in choice.pieces(index)]
        if index in cited:
            content.append(_event("citation-generation", citations=[cited[index]]))
    places = [place for place, part in enumerate(choice.parts) if isinstance(part, ToolCall)]
    for number, (place, call) in enumerate(zip(places, choice.tool_calls, strict=True)):
        content.append(_event("tool-calls-chunk", tool_call_delta={"index": number, "name": call.name}))
        content += [
            Delta(_event("tool-calls-chunk", tool_call_delta={"index": number, "parameters": piece}))
            for piece in choice.pieces(place)
        ]
    if calls:
        said: dict[str, Any] = {"text": choice.text} if choice.text else {}
        content.append(_event("tool-calls-generation", **said, tool_calls=calls))
    return content, [_event("stream-end", last=True, response=answer, finish_reason=answer["finish_reason"])]


def _failure_events_v1(exchange: Exchange, error: Error) -> list[WireEvent]:
    text = ERRORS.said(exchange, error).message
    answer = _answer_v1(exchange, _generation(exchange)) | {"finish_reason": "ERROR"}
    return [_event("stream-end", last=True, response=answer, finish_reason="ERROR", error=text)]


def _parts_v1(body: Mapping[str, Any]) -> Reply:
    found: list[Any] = list(_cited(string(body["text"]), list(dicts(body.get("citations")))))
    found += [
        ToolCall(call.get("name") or "unnamed", call.get("parameters") or {}, call.get("generation_id"))
        for call in dicts(body.get("tool_calls"))
    ]
    reason = body.get("finish_reason")
    neutral = _NEUTRAL | {"COMPLETE": None, "ERROR_TOXIC": "content_filter"}
    return Reply(
        *found,
        id=body.get("generation_id"),
        usage=_counted(body.get("meta")),
        finish_reason=neutral.get(reason, reason) if isinstance(reason, str) else None,
    )


CHAT_V1: Final = Dialect(
    name="cohere_chat_v1",
    label="Cohere chat v1",
    read=_read_v1,
    check=_check_v1,
    bad_json=BAD_JSON,
    stream=_stream,
    model=_model,
    document=_document_v1,
    events=_events_v1,
    failure=ERRORS.failure,
    failure_events=_failure_events_v1,
    parts=_parts_v1,
    headers=headers,
    tool_id=_no_id,
    carries=frozenset({str, ToolCall, Citation}),
    shaping=frozenset({"response_format"}),
    sdk_types=("cohere.types.non_streamed_chat_response.NonStreamedChatResponse",),
    too_long=CHAT_V2.too_long,
)
"""`POST /v1/chat`."""


# --- generate ------------------------------------------------------------------------------------

_GENERATE_TAKEN: Final = frozenset({"model", "prompt", "stream"})
_GENERATE_TYPES: Final = {"model": "string", "prompt": "string", "num_generations": "int32", **_SAMPLING}
_WARNING: Final = (
    "Generate API is deprecated and will be removed September 15 2025. Please migrate to Chat API before then to prevent any interruptions of service. "
    "See https://docs.cohere.com/docs/migrating-from-cogenerate-to-cochat for details."
)


def _read_generate(request: Request, body: Any) -> View:
    return View((message("user", [body["prompt"]]),), params=_params(body, _GENERATE_TAKEN))


def _check_generate(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return refused(_NO_OBJECT)
    wrong = wrong_type(body, _GENERATE_TYPES, "v1/reference/generate")
    if wrong is None and not body.get("prompt"):
        return refused("invalid request: prompt must be at least 1 token long.")
    count = body.get("num_generations")
    if wrong is None and count is not None and not 1 <= count <= _MOST_GENERATIONS:
        return refused(f"invalid request: num_generations must be between 1 and {_MOST_GENERATIONS}.")
    return wrong


_MOST_GENERATIONS: Final = 5
"""As the reference says (2026-11)."""


def _generated(exchange: Exchange) -> dict[str, Any]:
    id_ = _generation(exchange)
    return {
        "id": id_,
        "generations": [
            {"id": exchange.ids.uuid(), "text": choice.text, "finish_reason": _reason_v1(choice)}
            for choice in exchange.choices
        ],
        "prompt": exchange.body["prompt"],
    }


def _document_generate(exchange: Exchange) -> dict[str, Any]:
    tokens = {"input_tokens": exchange.usage.input_tokens, "output_tokens": exchange.usage.output_tokens}
    meta = {"api_version": {"version": "1"}, "warnings": [_WARNING], "billed_units": tokens}
    return exchange.extend({**_generated(exchange), "meta": merge(meta, exchange.usage.details)})


def _events_generate(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    several = len(exchange.choices) > 1
    content: list[WireEvent] = [
        Delta({"text": piece, **({"index": number} if several else {}), **_event("text-generation")})
        for number, choice in enumerate(exchange.choices)
        for index in range(len(choice.parts))
        for piece in choice.pieces(index)
    ]
    answer = _generated(exchange) | {"meta": _document_generate(exchange)["meta"]}
    if exchange.extra:
        answer = merge(answer, exchange.extra)
    reason = _reason_v1(exchange.choices[0])
    return content, [_event("stream-end", last=True, finish_reason=reason, response=answer)]


def _failure_events_generate(exchange: Exchange, error: Error) -> list[WireEvent]:
    text = ERRORS.said(exchange, error).message
    return [_event("stream-error", last=True, finish_reason="ERROR", err=text)]


def _parts_generate(body: Mapping[str, Any]) -> Reply:
    first, *others = (_one_generated(item) for item in dicts(body["generations"]))
    usage = _counted(body.get("meta"))
    return first.replace(id=body.get("id"), usage=usage, choices=tuple(others))


def _one_generated(item: Mapping[str, Any]) -> Reply:
    reason = item.get("finish_reason")
    return Reply(item["text"], finish_reason=_NEUTRAL.get(reason, reason) if isinstance(reason, str) else None)


GENERATE_V1: Final = Dialect(
    name="cohere_generate_v1",
    label="Cohere generate",
    read=_read_generate,
    check=_check_generate,
    bad_json=BAD_JSON,
    stream=_stream,
    model=_model,
    document=_document_generate,
    events=_events_generate,
    failure=ERRORS.failure,
    failure_events=_failure_events_generate,
    parts=_parts_generate,
    headers=headers,
    tool_id=_no_id,
    carries=frozenset({str}),
    choices=True,
    shaping=frozenset({"num_generations"}),
    sdk_types=("cohere.types.generation.Generation",),
    too_long=CHAT_V2.too_long,
)
"""`POST /v1/generate`, which the vendor calls deprecated."""
