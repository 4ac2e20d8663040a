"""DashScope's compatible mode: `choices` first, `usage: null` in every chunk, the id of a request in its errors.

By the vendor's documentation (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual

__all__ = ["DASHSCOPE"]

_INVALID: Final = "invalid_request_error"


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.uuid()


def _tool_id(ids: Ids, number: int) -> str:
    return "call_" + ids.hex(22)


def _fingerprint(exchange: Exchange) -> None:
    return None


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    counted: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    if usage.reasoning_tokens:
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counted


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return delta or {"content": ""}


def _body(said: Said) -> dict[str, Any]:
    error = {"message": said.message, "type": said.type, "param": None, "code": said.code}
    return {"error": error, "request_id": said.exchange.ids.uuid()}


_ERRORS: Final = Errors(
    body=_body,
    usual={
        "bad_request": Usual(400, _INVALID, "<400> InternalError.Algo.InvalidParameter", "invalid_parameter_error"),
        "authentication": Usual(401, _INVALID, "Incorrect API key provided. ", "invalid_api_key"),
        "permission": Usual(403, _INVALID, "Model access denied.", "access_denied"),
        "not_found": Usual(
            404,
            _INVALID,
            "The model `{model}` does not exist or you do not have access to it.",
            "model_not_found",
        ),
        "context_length": Usual(
            400,
            _INVALID,
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
            "invalid_parameter_error",
        ),
        "content_filter": Usual(
            400,
            "data_inspection_failed",
            "Input data may contain inappropriate content.",
            "data_inspection_failed",
        ),
        "rate_limit": Usual(
            429,
            "limit_requests",
            "You exceeded your current requests list.",
            "limit_requests",
        ),
        "quota": Usual(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
        ),
        "server_error": Usual(
            500, "internal_error", "An internal error has occured, please try again later", "internal_error"
        ),
        "overloaded": Usual(
            503,
            "ModelServingError",
            "Too many requests. Your requests are being throttled due to system capacity limits.",
            "ModelServingError",
        ),
    },
)

DASHSCOPE: Final[Difference] = chat(
    keys="choices object usage created system_fingerprint model id",
    chunk_keys="choices object usage created system_fingerprint model id",
    choice_keys="message delta finish_reason index logprobs",
    message_keys="content reasoning_content role tool_calls function_call",
    call_keys="function index id type",
    id=_id,
    tool_id=_tool_id,
    fingerprint=_fingerprint,
    blank="empty",
    usage=_usage,
    null_usage="always",
    delta=_delta,
    errors=_ERRORS,
)
