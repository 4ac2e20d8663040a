"""Z.ai and Zhipu: keys in alphabetical order, role and content in every delta, numbers for errors.

By the types of zai-sdk (0.2) and the vendor's documentation (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.absent import absent
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual

__all__ = ["ZAI"]


def _id(ids: Ids) -> str:
    return "20260101080000" + ids.hex(18)


def _tool_id(ids: Ids, number: int) -> str:
    return "call_" + ids.hex(20)


def _request_id(exchange: Exchange) -> dict[str, Any]:
    return {} if exchange.stream else {"request_id": "20260101080000" + exchange.ids.hex(18)}


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    counted: dict[str, Any] = {"completion_tokens": usage.output_tokens}
    if usage.reasoning_tokens:
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return {
        **counted,
        "prompt_tokens": usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "total_tokens": usage.total,
    }


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    said = {"role": "assistant", **delta}
    return said if "reasoning_content" in said else {"content": "", **said}


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    finish = choice.get("finish_reason")
    return _without(exchange, {**choice, "finish_reason": "sensitive" if finish == "content_filter" else finish})


_without: Final = absent("logprobs", "finish_reason")


def _body(said: Said) -> dict[str, Any]:
    return {"error": {"code": said.code, "message": said.message}}


_ERRORS: Final = Errors(
    body=_body,
    usual={
        "bad_request": Usual(400, "", "Invalid API parameter, please check the documentation.", "1210"),
        "authentication": Usual(401, "", "Authentication Failed", "1000"),
        "permission": Usual(403, "", "You do not have permission to access {model}", "1220"),
        "not_found": Usual(400, "", "Unknown Model, please check the model code.", "1211"),
        "request_too_large": Usual(413, "", "Request entity too large.", "1210"),
        "context_length": Usual(400, "", "Prompt exceeds max length", "1261"),
        "content_filter": Usual(
            400, "", "System detected potentially unsafe or sensitive content in input or generation.", "1301"
        ),
        "rate_limit": Usual(429, "", "Rate limit reached for requests", "1302"),
        "quota": Usual(429, "", "Insufficient balance or no resource package. Please recharge.", "1113"),
        "server_error": Usual(500, "", "Internal Error", "500"),
        "unavailable": Usual(503, "", "API call failed due to network error, please try again later", "1120"),
        "overloaded": Usual(429, "", "The service may be temporarily overloaded, please try again later", "1305"),
        "timeout": Usual(504, "", "Network error, please contact customer service", "1234"),
    },
)

ZAI: Final[Difference] = chat(
    keys="choices created id model object request_id usage",
    chunk_keys="id created object model choices usage",
    choice_keys="finish_reason index message delta",
    message_keys="content reasoning_content role tool_calls function_call",
    delta_keys="role reasoning_content content tool_calls function_call",
    call_keys="function id index type",
    choice=_choice,
    id=_id,
    tool_id=_tool_id,
    more=_request_id,
    blank="empty",
    opening="joined",
    whole_calls=True,
    usage=_usage,
    usage_in="finish",
    uncounted=True,
    delta=_delta,
    errors=_ERRORS,
)
