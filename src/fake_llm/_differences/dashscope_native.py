"""DashScope's own generation: OpenAI's messages inside `input`, all else inside `parameters`, and answers inside `output`.

By the vendor's documentation and what its SDK sends and reads (dashscope 2.0, 2026-11). A stream repeats what was said in each event
unless it is asked for increments. The multimodal path says its text in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Delta, Dialect, Exchange, Ids, WireEvent, as_written
from fake_llm._dialects import openai_chat
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import Event, HeaderItems, Request, Usage, View
from fake_llm._turns import Error, Reply, Thinking, ToolCall

__all__ = ["GENERATION"]

Json = dict[str, Any]

# --- requests ------------------------------------------------------------------------------------


def _parameters(body: Any) -> Json:
    given = body.get("parameters") if isinstance(body, dict) else None
    return given if isinstance(given, dict) else {}


def _messages(given: Mapping[str, Any]) -> list[Any]:
    """The messages; a prompt is one, and what stands in a history are two each."""
    messages = given.get("messages")
    if isinstance(messages, list):
        return [_content(item) for item in messages]
    history = given.get("history")
    found: list[Any] = []
    for item in history if isinstance(history, list) else ():
        if isinstance(item, dict):
            found += [{"role": "user", "content": item.get("user")}, {"role": "assistant", "content": item.get("bot")}]
    return [*found, {"role": "user", "content": given.get("prompt")}]


def _content(item: Any) -> Any:
    """A message with parts as OpenAI has them: these are `{"text": …}`, `{"image": …}`."""
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(content, list):
        return item
    parts = [
        {"type": next(iter(part), "text"), **part} if isinstance(part, dict) and "type" not in part else part
        for part in content
    ]
    return {**item, "content": parts}


def _like_openai(body: Json) -> Json:
    given = body.get("input")
    asked = {name: value for name, value in _parameters(body).items() if name != "stream"}
    return {**asked, "model": body.get("model"), "messages": _messages(given if isinstance(given, dict) else {})}


def _read(request: Request, body: Any) -> View:
    return openai_chat.DIALECT.read(request, _like_openai(body))


def _check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return Error("bad_request", "Request body is not a valid object.")
    if not isinstance(body.get("model"), str) or not body["model"]:
        return Error(
            "bad_request", "Required parameter(model) missing or invalid, please check the request parameters."
        )
    given = body.get("input")
    if not isinstance(given, dict) or (given.get("messages") is None and given.get("prompt") is None):
        return Error("bad_request", "Either 'prompt' or 'messages' must exist and cannot both be none")
    for name, kind in (("prompt", str), ("messages", list)):
        if given.get(name) is not None and not isinstance(given[name], kind):
            return Error("bad_request", f"Input should be a valid {kind.__name__}: input.{name}")
    if body.get("parameters") is not None and not isinstance(body["parameters"], dict):
        return Error("bad_request", "Input should be a valid dictionary: parameters")
    error = openai_chat.DIALECT.check(request, _like_openai(body))
    return None if error is None else replace(error, body=None)


def _stream(request: Request, body: Any) -> bool:
    return request.headers.get("x-dashscope-sse") == "enable"


# --- answers -------------------------------------------------------------------------------------

_GOES_ON: Final = "null"  # a text, in every event but the last


def _says_messages(exchange: Exchange) -> bool:
    """Whether the answer is a message; a bare text is what one gets without asking for it."""
    asked = _parameters(exchange.body)
    if asked.get("result_format") == "message" or asked.get("tools") or _is_multimodal(exchange):
        return True
    return any(not isinstance(part, str) for part in exchange.choice.parts)  # which a bare text can't say


def _is_multimodal(exchange: Exchange) -> bool:
    return "/multimodal-generation/" in exchange.request.path


def _finish(exchange: Exchange) -> str:
    reason = exchange.choice.finish_reason
    return "stop" if reason in ("refusal", "stop_sequence", "pause", "malformed_tool_call") else reason


def _said(exchange: Exchange, text: str, thoughts: str, calls: list[Json], finish: str) -> Json:
    if not _says_messages(exchange):
        return {"finish_reason": finish, "text": text}
    content: Any = text
    if _is_multimodal(exchange):
        content = [{"text": text}] if text else []
    message: Json = {"role": "assistant", "content": content}
    if thoughts:
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = calls
    return {"choices": [{"finish_reason": finish, "message": message}]}


def _call(call: ToolCall, number: int, arguments: str, *, opens: bool = True) -> Json:
    name = {"name": call.name} if opens else {}
    return {
        "index": number,
        "id": call.id if opens else "",
        "type": "function",
        "function": {**name, "arguments": arguments},
    }


def _usage(usage: Usage, written: int | None = None) -> Json:
    output = usage.output_tokens if written is None else min(written, usage.output_tokens)
    counted: Json = {
        "input_tokens": usage.input_tokens,
        "output_tokens": output,
        "total_tokens": usage.total if written is None else usage.input_tokens + output,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    if usage.reasoning_tokens:
        counted["output_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counted | dict(usage.details)


def _id(exchange: Exchange) -> str:
    if exchange.id is None:
        exchange.id = exchange.ids.uuid()
    return exchange.id


def _thoughts(exchange: Exchange) -> str:
    return "".join(part.text for part in exchange.choice.of(Thinking) if not part.redacted)


def _document(exchange: Exchange) -> Json:
    calls = [_call(call, number, call.json) for number, call in enumerate(exchange.choice.tool_calls)]
    said = _said(exchange, exchange.choice.text, _thoughts(exchange), calls, _finish(exchange))
    return exchange.extend({"output": said, "usage": _usage(exchange.usage), "request_id": _id(exchange)})


def _increments(exchange: Exchange) -> Iterator[tuple[str, str, Json | None]]:
    """Text, thoughts and part of a call that each event adds."""
    number = 0
    for index, part in enumerate(exchange.choice.parts):
        pieces = exchange.choice.pieces(index)
        if isinstance(part, ToolCall):
            for place, piece in enumerate(pieces or [""]):
                yield "", "", _call(part, number, piece, opens=place == 0)
            number += 1
        elif isinstance(part, Thinking):
            yield from (("", piece, None) for piece in pieces if not part.redacted)
        else:
            yield from ((piece, "", None) for piece in pieces)


def _events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    added = _parameters(exchange.body).get("incremental_output") is True
    text, thoughts, calls = "", "", dict[int, Json]()
    said: list[WireEvent] = []
    key = _id(exchange)
    for number, (more, thought, call) in enumerate(_increments(exchange), 1):
        text, thoughts = text + more, thoughts + thought
        if call is not None:
            calls[call["index"]] = _joined(calls.get(call["index"]), call)
        shown = (more, thought, [call] if call else []) if added else (text, thoughts, list(calls.values()))
        output = _said(exchange, *shown, _GOES_ON)
        said.append(Delta({"output": output, "usage": _usage(exchange.usage, number), "request_id": key}))
    last: tuple[str, str, list[Json]] = ("", "", []) if added else (text, thoughts, list(calls.values()))
    closing = {
        "output": _said(exchange, *last, _finish(exchange)),
        "usage": _usage(exchange.usage),
        "request_id": key,
    }
    return said, [exchange.extend(closing)]


def _joined(call: Json | None, more: Json) -> Json:
    if call is None:
        return more
    function = call["function"]
    return {**call, "function": {**function, "arguments": function["arguments"] + more["function"]["arguments"]}}


# --- errors --------------------------------------------------------------------------------------


def _body(said: Said) -> Json:
    return {"code": said.type, "message": said.message, "request_id": said.id}


def _asked_by(said: Said) -> HeaderItems:
    return (("x-request-id", said.id),)


def _event(said: Said) -> list[WireEvent]:
    return [Event("error", _body(said))]


ERRORS: Final = Errors(
    body=_body,
    id=_id,
    headers=_asked_by,
    event=_event,
    usual={
        "bad_request": Usual(400, "InvalidParameter", "Required parameter(s) missing or invalid."),
        "authentication": Usual(401, "InvalidApiKey", "Invalid API-key provided."),
        "permission": Usual(403, "AccessDenied", "Access denied."),
        "not_found": Usual(404, "ModelNotFound", "Model can not be found."),
        "request_too_large": Usual(413, "BadRequest.TooLarge", "Payload Too Large"),
        "context_length": Usual(400, "InvalidParameter", "Range of input length should be [1, 129024]"),
        "content_filter": Usual(400, "DataInspectionFailed", "Input data may contain inappropriate content."),
        "rate_limit": Usual(429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later."),
        "quota": Usual(
            429, "Throttling.AllocationQuota", "Allocated quota exceeded, please increase your quota limit."
        ),
        "server_error": Usual(500, "InternalError", "An internal error has occured, please try again later."),
        "unavailable": Usual(503, "ModelUnavailable", "Model is unavailable, please try again later."),
        "overloaded": Usual(
            503,
            "ModelServingError",
            "Too many requests. Your requests are being throttled due to system capacity limits. Please try again later.",
        ),
        "timeout": Usual(504, "RequestTimeOut", "Request timed out, please try again later."),
    },
)


def _headers(exchange: Exchange) -> HeaderItems:
    return (("x-request-id", _id(exchange)), ("x-dashscope-call-gateway", "true"))


def _tool_id(ids: Ids) -> str:
    return "call_" + ids.hex(22)


# --- body to turn --------------------------------------------------------------------------------


def _parts(body: Mapping[str, Any]) -> Reply:
    output = body["output"]
    choices = output.get("choices")
    choice = choices[0] if choices else {"message": {"content": output.get("text")}, **output}
    message = choice["message"]
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [part["text"] for part in content or () if "text" in part]
    calls = [
        ToolCall(call["function"]["name"], as_written(call["function"]["arguments"]), call.get("id") or None)
        for call in message.get("tool_calls") or ()
    ]
    usage = body.get("usage") or {}
    thoughts = message.get("reasoning_content")
    return Reply(
        *([Thinking(thoughts)] if thoughts else ()),
        *(text for text in texts if text),
        *calls,
        id=body.get("request_id"),
        usage=Usage(usage.get("input_tokens") or 0, usage.get("output_tokens") or 0) if usage else None,
        finish_reason=choice.get("finish_reason"),
    )


GENERATION: Final[Dialect] = replace(
    openai_chat.DIALECT,
    name="dashscope_generation",
    label="DashScope generation",
    read=_read,
    check=_check,
    bad_json="Request body format invalid",
    stream=_stream,
    document=_document,
    events=_events,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=_parts,
    headers=_headers,
    tool_id=_tool_id,
    carries=frozenset({str, ToolCall, Thinking}),
    choices=False,
    shaping=None,
    sdk_types=(),
    too_long="Range of input length should be [1, {window}], and the input has {tokens}",
)
"""`POST /api/v1/services/aigc/text-generation/generation`, and the same of `multimodal-generation`."""
