"""Ollama's `/v1`: one fingerprint for all, `content` in every delta, errors without a code (recorded 2026-08)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids, Spelling
from fake_llm._differences import Difference
from fake_llm._differences.absent import absent
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Usual

__all__ = ["OLLAMA"]


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.spelt(_NUMBER, 3)


_NUMBER: Final = Spelling(lambda taken: str(int.from_bytes(taken, "big") % 999 + 1), lambda count: 2)


def _tool_id(ids: Ids, number: int) -> str:
    return "call_" + ids.lower(8)


def _fingerprint(exchange: Exchange) -> str:
    return "fp_ollama"


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"content": "", **delta} if delta else delta


_ERRORS: Final = Errors(
    usual={
        "bad_request": Usual(400, "invalid_request_error", "invalid request"),
        "authentication": Usual(401, "authentication_error", "unauthorized"),
        "not_found": Usual(404, "not_found_error", "model '{model}' not found"),
        "rate_limit": Usual(429, "rate_limit_error", "you have reached your hourly usage limit"),
        "quota": Usual(429, "rate_limit_error", "you have reached your weekly usage limit"),
        "context_length": Usual(
            400,
            "invalid_request_error",
            "the input length exceeds the context length",
        ),
        "server_error": Usual(500, "api_error", "model runner has unexpectedly stopped"),
        "unavailable": Usual(503, "api_error", "service unavailable"),
        "overloaded": Usual(503, "api_error", "server busy, please try again.  maximum pending requests exceeded"),
    },
)

OLLAMA: Final[Difference] = chat(
    keys="id object created model system_fingerprint choices usage",
    message_keys="role content reasoning tool_calls function_call",
    choice=absent("logprobs"),
    call_keys="id index type function",
    id=_id,
    tool_id=_tool_id,
    fingerprint=_fingerprint,
    reasoning="reasoning",
    blank="empty",
    opening="joined",
    whole_calls=True,
    usage=_usage,
    delta=_delta,
    errors=_ERRORS,
)
