"""Gemini's `/openai` path: keys in alphabetical order, the role in every delta, Google's errors.

Recorded 2025-05 (a whole answer); streams and errors by the vendor's documentation and by what users report (2026-11).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.absent import absent
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual

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


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", **delta}


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
    call_keys="function id type",
    choice=absent("logprobs", "finish_reason"),
    id=_id,
    tool_id=_tool_id,
    blank="absent",
    opening="joined",
    whole_calls=True,
    usage=_usage,
    usage_in="finish",
    delta=_delta,
    errors=_ERRORS,
)
VERTEX_CHAT: Final = replace(GEMINI, failure=_ON_VERTEX.failure, failure_events=_ON_VERTEX.failure_events)
"""The same on Vertex AI, where a key is a token."""
