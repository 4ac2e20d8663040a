"""SambaNova: speeds in the usage, one fingerprint for all.

By the vendor's documentation (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Usual

__all__ = ["SAMBANOVA"]


def _tool_id(ids: Ids, number: int) -> str:
    return "call_" + ids.hex(18)


def _fingerprint(exchange: Exchange) -> str:
    return "fastcoe"


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    counted: dict[str, Any] = {
        "acceptance_rate": 4,
        "completion_tokens": usage.output_tokens,
        "completion_tokens_after_first_per_sec": 250.0,
        "completion_tokens_per_sec": 200.0,
        "end_time": exchange.created + 0.5,
        "is_last_response": True,
        "prompt_tokens": usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "start_time": float(exchange.created),
        "time_to_first_token": 0.1,
        "total_latency": 0.5,
        "total_tokens": usage.total,
        "total_tokens_per_sec": 240.0,
    }
    if usage.reasoning_tokens:
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counted


_ERRORS: Final = Errors(
    usual={
        "authentication": Usual(401, "invalid_request_error", "Invalid API key", "invalid_api_key"),
        "not_found": Usual(404, "invalid_request_error", "Model not found: {model}", "model_not_found"),
        "rate_limit": Usual(429, "rate_limit_exceeded", "Rate limit exceeded", "rate_limit_exceeded"),
    },
)

SAMBANOVA: Final[Difference] = chat(
    keys="choices created id model object system_fingerprint usage",
    chunk_keys="choices created id model object system_fingerprint usage",
    choice_keys="delta finish_reason index logprobs message",
    message_keys="content reasoning role tool_calls function_call",
    tool_id=_tool_id,
    fingerprint=_fingerprint,
    reasoning="reasoning",
    whole_calls=True,
    usage=_usage,
    errors=_ERRORS,
)
