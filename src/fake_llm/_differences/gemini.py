"""Gemini's `/openai` path: keys in alphabetical order, the role in every delta, Google's errors.

Recorded 2025-05 (a whole answer); streams and errors by the vendor's documentation and by what users report (2026-11).
So are the signatures of Gemini 3: in the `extra_content` of a tool call, or, for a thought before text, in that of the
message, which a stream says with the finish reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fake_llm import _gemini_signatures, _json
from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.absent import absent
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual
from fake_llm._turns import Thinking, ToolCall

__all__ = ["GEMINI", "VERTEX_CHAT"]


def _id(ids: Ids) -> str:
    return ids.alnum(22)


def _tool_id(ids: Ids, number: int) -> str:
    return f"function-call-{int.from_bytes(ids.take(8), 'big') % 10**19:019}"


def _usage(exchange: Exchange) -> dict[str, Any]:
    """Thoughts count in the total only."""
    usage = exchange.usage
    counted: dict[str, Any] = {
        "completion_tokens": usage.output_tokens,
        "prompt_tokens": usage.input_tokens,
        "total_tokens": usage.total,
    }
    if usage.reasoning_tokens:
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    if usage.cached_tokens:
        counted["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return counted


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    if calls:
        message["tool_calls"] = [_signed_call(exchange, index, number, call) for number, call in enumerate(calls)]
    return _signed(message, _signature_of_text(exchange, index))


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    said = {"role": "assistant", **delta}
    if not delta:
        return _signed(said, _signature_of_text(exchange, index))
    calls = delta.get("tool_calls")
    if calls:
        said["tool_calls"] = [_signed_call(exchange, index, call["index"], call) for call in calls]
    return said


def _signed_call(exchange: Exchange, index: int, number: int, call: dict[str, Any]) -> dict[str, Any]:
    return call if "extra_content" in call else _signed(call, _signature_of_call(exchange, index, number))


def _signed(said: dict[str, Any], signature: str | None) -> dict[str, Any]:
    return said if signature is None else {"extra_content": {"google": {"thought_signature": signature}}, **said}


def _signature_of_call(exchange: Exchange, index: int, number: int) -> str | None:
    """That of the thought right before the call; of several calls in one answer the first has one anyway."""
    parts = exchange.choices[index].parts
    place = [at for at, part in enumerate(parts) if isinstance(part, ToolCall)][number]
    thought = parts[place - 1] if place else None
    if isinstance(thought, Thinking):
        return _signature(exchange, thought)
    return _signature(exchange, None) if number == 0 else None


def _signature_of_text(exchange: Exchange, index: int) -> str | None:
    """That of the last thought that no call follows."""
    parts = exchange.choices[index].parts
    for part, follower in zip(reversed(parts), (None, *reversed(parts)), strict=False):
        if isinstance(part, Thinking) and not isinstance(follower, ToolCall):
            return _signature(exchange, part)
    return None


def _signature(exchange: Exchange, thought: Thinking | None) -> str | None:
    given = None if thought is None else _gemini_signatures.in_base64(thought.signature)
    if given is None and _gemini_signatures.signs(exchange.asked.dialect.model(exchange.request, exchange.body)):
        return _gemini_signatures.made(exchange.ids, thought is not None and thought.redacted)
    return given


def _body(said: Said) -> dict[str, Any]:
    return {"error": {"code": said.status, "message": said.message, "status": said.type}}


def _in_a_list(body: Any) -> bytes:
    return b"[" + _json.pretty(body) + b"\n]"


_ERRORS: Final = Errors(
    body=_body,
    encode=_in_a_list,
    content_type="application/json; charset=UTF-8",
    usual={
        "bad_request": Usual(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
        "authentication": Usual(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        "permission": Usual(403, "PERMISSION_DENIED", "The caller does not have permission"),
        "not_found": Usual(
            404,
            "NOT_FOUND",
            "models/{model} is not found for API version v1main, or is not supported for generateContent.",
        ),
        "request_too_large": Usual(413, "INVALID_ARGUMENT", "Request payload size exceeds the limit."),
        "context_length": Usual(
            400,
            "INVALID_ARGUMENT",
            "The input token count exceeds the maximum number of tokens allowed 1048576.",
        ),
        "content_filter": Usual(400, "INVALID_ARGUMENT", "The request was blocked."),
        "rate_limit": Usual(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        "quota": Usual(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        "server_error": Usual(500, "INTERNAL", "An internal error has occurred."),
        "unavailable": Usual(503, "UNAVAILABLE", "The service is currently unavailable."),
        "overloaded": Usual(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "timeout": Usual(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    },
)

_ON_VERTEX: Final = replace(
    _ERRORS,
    usual={
        **_ERRORS.usual,
        "authentication": Usual(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
    },
)

GEMINI: Final[Difference] = chat(
    keys="choices created id model object usage",
    chunk_keys="choices created id model object usage",
    choice_keys="delta finish_reason index logprobs message",
    message_keys="content extra_content reasoning_content role tool_calls function_call",
    call_keys="extra_content function id type",
    choice=absent("logprobs", "finish_reason"),
    id=_id,
    tool_id=_tool_id,
    blank="absent",
    opening="joined",
    whole_calls=True,
    usage=_usage,
    usage_in="finish",
    message=_message,
    delta=_delta,
    errors=_ERRORS,
)
VERTEX_CHAT: Final = replace(GEMINI, failure=_ON_VERTEX.failure, failure_events=_ON_VERTEX.failure_events)
"""The same on Vertex AI, where a key is a token."""
