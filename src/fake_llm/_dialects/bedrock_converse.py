"""Amazon Bedrock `POST /model/{id}/converse` and `converse-stream`: one vocabulary for the models of every maker.

The forms are those of WIRE recordings of 2024-2026 and of botocore's service model (1.44, 2026-11): keys sorted by the
framing, no start of a block of text, the error's type in a header.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import (
    Delta,
    Dialect,
    Exchange,
    Ids,
    ReadyPart,
    WireEvent,
    json_kind,
    media,
    merge,
    message,
    parsed_arguments,
)
from fake_llm._model import (
    AUTO,
    Event,
    HeaderItems,
    Message,
    Request,
    Response,
    Role,
    SentToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._turns import Error, Reply, Thinking, ToolCall

__all__ = ["DIALECT", "pad"]

# --- bytes ---------------------------------------------------------------------------------------

_PADDING: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def pad(payload: Any, data: bytes) -> bytes:
    """The event with a key `p` of 1 to 62 characters, as the vendor hides lengths."""
    if not isinstance(payload, dict):
        return data
    return _json.sorted_keys({**payload, "p": _PADDING[: binascii.crc32(data) % len(_PADDING) + 1]})


# --- request to view -----------------------------------------------------------------------------

_MEDIA: Final = {"image": "[image]", "video": "[video]", "audio": "[audio]", "document": "[file]"}
_SETTINGS: Final = {"maxTokens": "max_tokens", "temperature": "temperature", "topP": "top_p", "stopSequences": "stop"}
_NOT_PARAMS: Final = frozenset({"messages", "system", "toolConfig", "inferenceConfig", "outputConfig"})


def read(request: Request, body: Any) -> View:
    """The view of a request; see `Dialect.read`."""
    if not isinstance(body, dict):
        return View()
    messages: list[Message] = []
    for item in _dicts(body.get("messages")):
        messages += [_assistant(item)] if item.get("role") == "assistant" else _user(item)
    return View(
        tuple(messages),
        "\n".join(_texts(_dicts(body.get("system")))),
        _tools(body.get("toolConfig")),
        _tool_choice(body.get("toolConfig")),
        _schema(body.get("outputConfig")),
        _params(body),
    )


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(value: Any, *path: str) -> Any:
    """What stands at a path of nested objects; `None` where one of them is missing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _texts(blocks: Iterable[Mapping[str, Any]]) -> list[str]:
    return [text for block in blocks if (text := _text(block)) is not None]


def _text(block: Mapping[str, Any]) -> str | None:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    guarded = _object(block, "guardContent", "text", "text")
    if isinstance(guarded, str):
        return guarded
    if "json" in block:
        return _json.text(block["json"])
    for kind in ("citationsContent", "searchResult"):
        if kind in block:
            return "\n".join(_texts(_dicts(_object(block, kind, "content"))))
    return next((media(shown) for kind, shown in _MEDIA.items() if kind in block), None)


def _assistant(item: Mapping[str, Any]) -> Message:
    texts: list[str] = []
    calls: list[SentToolCall] = []
    thoughts: list[str] = []
    for block in _dicts(item.get("content")):
        if "toolUse" in block:
            call = block["toolUse"] if isinstance(block["toolUse"], dict) else {}
            calls.append(SentToolCall(_string(call.get("name")), call.get("input"), call.get("toolUseId")))
        elif "reasoningContent" in block:
            thoughts += [text for text in (_object(block, "reasoningContent", "reasoningText", "text"),) if text]
        elif (text := _text(block)) is not None:
            texts.append(text)
    return message("assistant", texts, calls, thinking="\n".join(thoughts))


def _user(item: Mapping[str, Any]) -> list[Message]:
    """One `tool` message for each result, then the rest, if there is any."""
    results: list[Message] = []
    rest: list[Mapping[str, Any]] = []
    for block in _dicts(item.get("content")):
        given = block.get("toolResult")
        if not isinstance(given, dict):
            rest.append(block)
            continue
        texts = _texts(_dicts(given.get("content")))
        result = ToolResult(given.get("toolUseId"), "", "\n".join(texts), given.get("status") == "error")
        results.append(message("tool", texts, tool_results=(result,)))
    role: Role = "system" if item.get("role") == "system" else "user"
    return [*results, message(role, _texts(rest))] if rest or not results else results


def _tools(config: Any) -> dict[str, ToolSpec]:
    tools: dict[str, ToolSpec] = {}
    for tool in _dicts(_object(config, "tools")):
        spec = tool.get("toolSpec")
        name = _object(spec, "name")
        if isinstance(spec, dict) and isinstance(name, str):
            schema = _object(spec, "inputSchema", "json")
            tools[name] = ToolSpec(
                name,
                schema if isinstance(schema, dict) else {},
                _string(spec.get("description")),
                spec.get("strict") is True,
            )
    return tools


def _tool_choice(config: Any) -> ToolChoice:
    choice = _object(config, "toolChoice")
    if not isinstance(choice, dict):
        return AUTO
    if "any" in choice:
        return ToolChoice("any", None)
    named = _object(choice, "tool", "name")
    return ToolChoice("tool", named) if isinstance(named, str) else AUTO


def _schema(config: Any) -> Mapping[str, Any] | None:
    """The schema of structured output, which travels as a text (2026)."""
    given = _object(config, "textFormat", "structure", "jsonSchema", "schema")
    if given is None:
        return None
    schema = parsed_arguments(given)
    return schema if isinstance(schema, dict) else {}


def _params(body: Mapping[str, Any]) -> dict[str, Any]:
    params = {key: value for key, value in body.items() if key not in _NOT_PARAMS}
    settings = body.get("inferenceConfig")
    if isinstance(settings, dict):
        params |= {_SETTINGS.get(str(key), str(key)): value for key, value in settings.items()}
    return params


def stream(request: Request, body: Any) -> bool:
    """Whether the path asks for a stream."""
    return request.path.endswith("-stream")


def model(request: Request, body: Any) -> str:
    """The model that the path names: the last part of an ARN, or the id."""
    parts = request.path.split("/")
    return request.path_part(parts.index("model") + 1).rpartition("/")[2] if "model" in parts[:-1] else ""


# --- refusals of malformed requests --------------------------------------------------------------

_MALFORMED: Final = "1 validation error detected: Value at '{where}' failed to satisfy constraint: {what}"
_ROLES: Final = frozenset({"user", "assistant", "system"})


def check(request: Request, body: Any) -> Error | None:
    """What the vendor says to a body of the wrong types. Its words are known from AWS documentation only."""
    if not isinstance(body, dict):
        return Error(400, f"The format of your request is invalid: expected an object, found {json_kind(body)}")
    for where, kind, what in _TYPES:
        value = _object(body, *where.split("."))
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            return Error(400, _MALFORMED.format(where=where, what=f"Member must be {what}"))
    for index, item in enumerate(body.get("messages") or ()):
        if (wrong := _wrong_message(f"messages.{index + 1}.member", item)) is not None:
            return Error(400, wrong)
    return None


_TYPES: Final = (
    ("messages", list, "a list"),
    ("system", list, "a list"),
    ("inferenceConfig", dict, "an object"),
    ("inferenceConfig.maxTokens", int, "an integer"),
    ("inferenceConfig.temperature", (int, float), "a number"),
    ("inferenceConfig.topP", (int, float), "a number"),
    ("inferenceConfig.stopSequences", list, "a list"),
    ("toolConfig", dict, "an object"),
    ("toolConfig.tools", list, "a list"),
    ("toolConfig.toolChoice", dict, "an object"),
    ("outputConfig", dict, "an object"),
)


def _wrong_message(where: str, item: Any) -> str | None:
    if not isinstance(item, dict):
        return _MALFORMED.format(where=where, what="Member must be an object")
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return _MALFORMED.format(
            where=f"{where}.role", what="Member must satisfy enum value set: [user, assistant, system]"
        )
    content = item.get("content")
    if not isinstance(content, list):
        what = "Member must not be null" if content is None else "Member must be a list"
        return _MALFORMED.format(where=f"{where}.content", what=what)
    if any(not isinstance(block, dict) for block in content):
        return _MALFORMED.format(where=f"{where}.content", what="Member must be a list of objects")
    return None


# --- turn to body and events ---------------------------------------------------------------------

_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filtered",
    "refusal": "content_filtered",
    "stop_sequence": "stop_sequence",
    "pause": "end_turn",
    "malformed_tool_call": "malformed_tool_use",
}
_LATENCY: Final = {"latencyMs": 500}


def document(exchange: Exchange) -> dict[str, Any]:
    """The whole answer."""
    blocks = [_block(exchange, part) for part in exchange.choice.parts]
    return exchange.extend(
        {
            "metrics": dict(_LATENCY),
            "output": {"message": {"content": blocks, "role": "assistant"}},
            "stopReason": _reason(exchange),
            "usage": _usage(exchange.usage),
        }
    )


def _reason(exchange: Exchange) -> str:
    return _REASONS.get(exchange.choice.finish_reason, exchange.choice.finish_reason)


def _block(exchange: Exchange, part: ReadyPart) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        block: dict[str, Any] = {"input": _input(part), "name": part.name, "toolUseId": part.id}
        return {"toolUse": merge(block, part.extra) if part.extra else block}
    if isinstance(part, Thinking):
        signature = _signature(exchange.ids) if part.signature is None else part.signature
        if part.redacted:
            return {"reasoningContent": {"redactedContent": _blob(signature)}}
        return {"reasoningContent": {"reasoningText": {"signature": signature, "text": part.text}}}
    return {"text": part}


def _input(call: ToolCall) -> Any:
    """The arguments parsed; those that aren't JSON as the text that they are."""
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    return parsed_arguments(call.arguments) if call.arguments else {}


def _signature(ids: Ids) -> str:
    return base64.b64encode(ids.take(300)).decode()


def _blob(signature: str) -> str:
    """Bytes travel as base64: a signature that is none is encoded."""
    try:
        base64.b64decode(signature, validate=True)
    except ValueError:
        return base64.b64encode(signature.encode()).decode()
    return signature


def _usage(usage: Usage) -> dict[str, Any]:
    """The counts; those of a cache come twice under two names, and aren't part of the input."""
    fresh = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    counted: dict[str, Any] = {
        "inputTokens": fresh,
        "outputTokens": usage.output_tokens,
        "serverToolUsage": {},
        "totalTokens": usage.total,
    }
    if usage.cached_tokens or usage.cache_write_tokens:
        for kind, count in (("Read", usage.cached_tokens), ("Write", usage.cache_write_tokens)):
            counted[f"cache{kind}InputTokenCount"] = counted[f"cache{kind}InputTokens"] = count
    return merge(counted, usage.details) if usage.details else counted


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The answer as events; only a block of a tool has a start."""
    extra = dict(exchange.extra or {})
    content: list[WireEvent] = [Event("messageStart", {"role": "assistant"})]
    for index, part in enumerate(exchange.choice.parts):
        block = _block(exchange, part)
        if "toolUse" in block:
            start = {key: value for key, value in block["toolUse"].items() if key != "input"}
            content.append(Event("contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": start}}))
        content += [
            Event("contentBlockDelta", Delta({"contentBlockIndex": index, "delta": delta}))
            for delta in _deltas(exchange, index, part, block)
        ]
        content.append(Event("contentBlockStop", {"contentBlockIndex": index}))
    stop: dict[str, Any] = {"stopReason": _reason(exchange)}
    if "additionalModelResponseFields" in extra:
        stop["additionalModelResponseFields"] = extra.pop("additionalModelResponseFields")
    stop["stopReason"] = extra.pop("stopReason", stop["stopReason"])
    extra.pop("output", None)  # whole answers only
    metadata = merge({"metrics": dict(_LATENCY), "usage": _usage(exchange.usage)}, extra)
    return content, [Event("messageStop", stop), Event("metadata", metadata)]


def _deltas(exchange: Exchange, index: int, part: ReadyPart, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pieces = exchange.choice.pieces(index)
    if isinstance(part, ToolCall):
        yield from ({"toolUse": {"input": piece}} for piece in pieces or [""])
    elif isinstance(part, Thinking):
        thought = block["reasoningContent"]
        if "redactedContent" in thought:
            yield {"reasoningContent": thought}
            return
        yield from ({"reasoningContent": {"text": piece}} for piece in pieces)
        yield {"reasoningContent": {"signature": thought["reasoningText"]["signature"]}}
    else:
        yield from ({"text": piece} for piece in pieces)


# --- errors --------------------------------------------------------------------------------------

_ERRORS: Final[Mapping[str, tuple[int, str, str]]] = {
    "bad_request": (400, "ValidationException", "The provided request is not valid"),
    "authentication": (
        403,
        "UnrecognizedClientException",
        "The security token included in the request is invalid.",
    ),
    "permission": (403, "AccessDeniedException", "You don't have access to the model with the specified model ID."),
    "not_found": (
        404,
        "ResourceNotFoundException",
        "Could not resolve the foundation model from the model identifier.",
    ),
    "request_too_large": (400, "ValidationException", "Input is too long for requested model."),
    "context_length": (400, "ValidationException", "Input is too long for requested model."),
    "content_filter": (400, "ValidationException", "The content was blocked by the content filter."),
    "rate_limit": (429, "ThrottlingException", "Too many requests, please wait before trying again."),
    "quota": (400, "ServiceQuotaExceededException", "Your request exceeds the service quota for your account."),
    "server_error": (500, "InternalServerException", "The server encountered an internal error."),
    "unavailable": (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
    "overloaded": (503, "ServiceUnavailableException", "Too many connections, please wait before trying again."),
    "timeout": (408, "ModelTimeoutException", "Model has timed out in processing the request. Try your request again."),
}
_BY_STATUS: Final = {424: "ModelErrorException"}
_IN_STREAMS: Final = {
    "ValidationException": "validationException",
    "ThrottlingException": "throttlingException",
    "InternalServerException": "internalServerException",
    "ServiceUnavailableException": "serviceUnavailableException",
}


def failure(exchange: Exchange, error: Error) -> Response:
    """A vendor's error as a whole answer: its type is in a header, its text alone in the body."""
    status, kind, text = _said(error)
    named = ("x-amzn-ErrorType", f"{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/")
    more = () if error.retry_after is None else (("retry-after", f"{error.retry_after:g}"),)
    headers_ = (("content-type", "application/json"), *headers(exchange), named, *more)
    return Response(status, headers_, _json.compact({"message": text}))


def failure_events(exchange: Exchange, error: Error) -> list[WireEvent]:
    """The same in the middle of a stream: a frame that is an exception."""
    _, kind, text = _said(error)
    return [Event(_IN_STREAMS.get(kind, "modelStreamErrorException"), {"message": text})]


def _said(error: Error) -> tuple[int, str, str]:
    status, kind, text = _ERRORS[error.name]
    if isinstance(error.kind, int):
        status, kind = error.kind, _BY_STATUS.get(error.kind, kind)
    return status, kind, text if error.message is None else error.message


def headers(exchange: Exchange) -> HeaderItems:
    """The id of the request, which is all that the vendor adds."""
    return (("x-amzn-RequestId", exchange.ids.uuid()),)


def tool_id(ids: Ids) -> str:
    """A new id for a tool call."""
    return "tooluse_" + ids.alnum(22)


# --- body to turn --------------------------------------------------------------------------------

_NEUTRAL: Final = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "content_filtered": "content_filter",
    "malformed_tool_use": "malformed_tool_call",
}


def parts(body: Mapping[str, Any]) -> Reply:
    """A whole answer read back into a turn."""
    blocks = _dicts(_object(body, "output", "message", "content"))
    reason = body.get("stopReason")
    return Reply(
        *(part for block in blocks if (part := _part(block)) is not None),
        usage=_counted(body.get("usage")),
        finish_reason=_NEUTRAL.get(reason, reason) if isinstance(reason, str) else None,
    )


def _part(block: Mapping[str, Any]) -> str | ToolCall | Thinking | None:
    if "toolUse" in block:
        call = block["toolUse"]
        given = call.get("input")
        arguments = given if isinstance(given, (Mapping, str)) else _json.text(given)
        return ToolCall(_string(call.get("name")) or "unnamed", arguments, call.get("toolUseId"))
    if "reasoningContent" in block:
        redacted = _object(block, "reasoningContent", "redactedContent")
        if redacted is not None:
            return Thinking("", redacted, redacted=True)
        thought = _object(block, "reasoningContent", "reasoningText")
        return Thinking(_string(_object(thought, "text")), _object(thought, "signature"))
    return _text(block)


def _counted(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    fresh, out, cached, written = (
        value if isinstance(value := usage.get(key), int) else 0
        for key in ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    )
    return Usage(fresh + cached + written, out, cached, written)


DIALECT: Final = Dialect(
    name="bedrock_converse",
    label="Bedrock Converse",
    read=read,
    check=check,
    bad_json="The format of your request is invalid: the body is not valid JSON.",
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=failure,
    failure_events=failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Thinking}),
    shaping=frozenset({"outputConfig"}),
    too_long="Input is too long for requested model: {tokens} tokens, at most {window}.",
)
