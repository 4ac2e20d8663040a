"""Moonshot: the usage of a stream stands in the choice of its finish chunk.

By the vendor's documentation (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual

__all__ = ["MOONSHOT"]


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.hex(24)


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    counted: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }
    if usage.cached_tokens:
        counted |= {
            "cached_tokens": usage.cached_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        }
    if usage.reasoning_tokens:
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counted


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in choice.items() if name != "logprobs" or value is not None}
    if exchange.stream and choice["finish_reason"] is not None:
        kept["usage"] = _usage(exchange)
    return kept


def _body(said: Said) -> dict[str, Any]:
    return {"error": {"message": said.message, "type": said.type}}


_ERRORS: Final = Errors(
    body=_body,
    usual={
        "bad_request": Usual(400, "invalid_request_error", "Invalid request"),
        "authentication": Usual(401, "invalid_authentication_error", "Invalid Authentication"),
        "permission": Usual(403, "permission_denied_error", "The API you are accessing is not open"),
        "not_found": Usual(404, "resource_not_found_error", "Not found the model {model} or Permission denied"),
        "context_length": Usual(
            400, "invalid_request_error", "Invalid request: Your request exceeded model token limit: 262144"
        ),
        "content_filter": Usual(400, "content_filter", "The request was rejected because it was considered high risk"),
        "rate_limit": Usual(
            429,
            "rate_limit_reached_error",
            "Your account request reached organization max RPM: 3, please try again after 1 seconds",
        ),
        "quota": Usual(
            429,
            "exceeded_current_quota_error",
            "You exceeded your current token quota, please check your account balance",
        ),
        "server_error": Usual(500, "server_error", "Internal server error"),
        "overloaded": Usual(
            429, "engine_overloaded_error", "The engine is currently overloaded, please try again later"
        ),
    },
)

MOONSHOT: Final[Difference] = chat(
    keys="id object created model choices usage",
    message_keys="role content reasoning_content tool_calls function_call",
    choice=_choice,
    id=_id,
    usage=_usage,
    blank="empty",
    errors=_ERRORS,
)
