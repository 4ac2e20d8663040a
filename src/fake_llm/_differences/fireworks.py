"""Fireworks: OpenAI's form but for the usage in the finish chunk and the errors (documented, 2026-08)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual, spent
from fake_llm._model import HeaderItems

__all__ = ["FIREWORKS"]


def _tool_id(ids: Ids, number: int) -> str:
    return "call_" + ids.alnum(24)


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    thought = {"completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}
    return {
        "prompt_tokens": usage.input_tokens,
        "total_tokens": usage.total,
        "completion_tokens": usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        **(thought if usage.reasoning_tokens else {}),
    }


def _headers(exchange: Exchange) -> HeaderItems:
    usage = exchange.usage
    return (
        ("fireworks-prompt-tokens", str(usage.input_tokens)),
        ("fireworks-cached-prompt-tokens", str(usage.cached_tokens)),
        *_LIMITS,
        ("x-request-id", exchange.ids.uuid()),
    )


_LIMITS: Final = (
    ("x-ratelimit-limit-requests", "600"),
    ("x-ratelimit-remaining-requests", "599"),
    ("x-ratelimit-over-limit", "no"),
)


def _failed(said: Said) -> HeaderItems:
    """The limits where one is reached, as the vendor's page of rate limits has them (2026-11)."""
    return spent(_LIMITS, remaining_requests="0", over_limit="yes") if said.name == "rate_limit" else ()


def _body(said: Said) -> dict[str, Any]:
    return {"error": {"object": "error", "type": said.type, "code": said.code, "message": said.message}}


ERRORS: Final = Errors(
    body=_body,
    headers=_failed,
    usual={
        "bad_request": Usual(400, "invalid_request_error", "Bad Request", "invalid_request_error"),
        "authentication": Usual(
            401, "invalid_request_error", "The API key you provided is invalid.", "invalid_request_error"
        ),
        "permission": Usual(403, "invalid_request_error", "Unauthorized", "invalid_request_error"),
        "not_found": Usual(
            404,
            "invalid_request_error",
            "Model not found, inaccessible, and/or not deployed",
            "NOT_FOUND",
        ),
        "quota": Usual(
            412,
            "invalid_request_error",
            "Account is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.",
            "PRECONDITION_FAILED",
        ),
        "rate_limit": Usual(
            429, "invalid_request_error", "rate limit exceeded, please try again later", "RATE_LIMIT_EXCEEDED"
        ),
        "server_error": Usual(500, "internal_server_error", "Internal server error", "internal_server_error"),
        "overloaded": Usual(503, "internal_server_error", "Service overloaded, please try again later", "overloaded"),
        "unavailable": Usual(503, "internal_server_error", "Service unavailable", "unavailable"),
    },
)

FIREWORKS: Final = chat(
    keys="id object created model choices usage",
    chunk_keys="id object created model choices usage",
    choice_keys="index message delta finish_reason",
    tool_id=_tool_id,
    usage=_usage,
    usage_in="finish",
    uncounted=True,
    null_usage="always",
    headers=_headers,
    errors=ERRORS,
)
