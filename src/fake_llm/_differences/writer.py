"""Writer: content is never null, its own names in the usage, errors as a list.

By the types of writer-sdk (3.0, 2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, WireEvent
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import Event

__all__ = ["WRITER"]


def _more(exchange: Exchange) -> dict[str, Any]:
    return {"service_tier": None}


def _fingerprint(exchange: Exchange) -> str:
    return "v1"


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "total_tokens": usage.total,
        "completion_tokens": usage.output_tokens,
        "prompt_token_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": message.get("content") or "", "refusal": None}


def _body(said: Said) -> dict[str, Any]:
    error = {"description": said.message, "key": said.code, "extras": {}}
    return {"tpe": said.type, "errors": [error], "extras": {}}


def _event(said: Said) -> list[WireEvent]:
    return [Event("error", _body(said))]


_ERRORS: Final = Errors(
    body=_body,
    event=_event,
    usual={
        "bad_request": Usual(400, "BadRequest", "Bad request", "fail.badRequest"),
        "authentication": Usual(401, "Unauthorized", "Invalid API key", "fail.unauthorized"),
        "permission": Usual(403, "Forbidden", "Access denied", "fail.forbidden"),
        "not_found": Usual(404, "NotFound", "Model {model} not found", "fail.notFound"),
        "request_too_large": Usual(413, "PayloadTooLarge", "Request entity too large", "fail.payloadTooLarge"),
        "context_length": Usual(400, "BadRequest", "Input exceeds the context of the model", "fail.contextLength"),
        "content_filter": Usual(400, "BadRequest", "The content was filtered", "fail.contentFilter"),
        "rate_limit": Usual(429, "TooManyRequests", "Rate limit exceeded", "fail.tooManyRequests"),
        "quota": Usual(429, "TooManyRequests", "Quota exceeded", "fail.quotaExceeded"),
        "server_error": Usual(500, "InternalServerError", "Internal server error", "fail.internal"),
        "unavailable": Usual(503, "ServiceUnavailable", "Service unavailable", "fail.unavailable"),
        "overloaded": Usual(503, "ServiceUnavailable", "Service overloaded", "fail.unavailable"),
        "timeout": Usual(504, "GatewayTimeout", "The request timed out", "fail.timeout"),
    },
)

WRITER: Final[Difference] = chat(
    keys="id object choices created model usage system_fingerprint service_tier",
    chunk_keys="id object choices created model usage system_fingerprint service_tier",
    choice_keys="index finish_reason message delta logprobs",
    message_keys="content reasoning_content role tool_calls refusal function_call",
    call_keys="index id type function",
    more=_more,
    fingerprint=_fingerprint,
    blank="empty",
    usage=_usage,
    null_usage="always",
    message=_message,
    errors=_ERRORS,
)
