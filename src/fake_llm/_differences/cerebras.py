"""Cerebras: timings beside the usage, both in the finish chunk; flat errors.

Answers as recorded 2025-08 and, behind Hugging Face's router, 2025-12; streams and errors by the types of its SDK
(1.91) and by what users report (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids, WireEvent
from fake_llm._differences import Difference
from fake_llm._differences.absent import absent
from fake_llm._differences.chat import chat, fingerprint_of
from fake_llm._failures import Errors, Said, Usual

__all__ = ["CEREBRAS"]

_INVALID: Final = "invalid_request_error"


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.uuid()


def _tool_id(ids: Ids, number: int) -> str:
    return ids.hex(9)


def _fingerprint(exchange: Exchange) -> str:
    return "fp_" + fingerprint_of(exchange, 20)


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    counted: dict[str, Any] = {
        "total_tokens": usage.total,
        "completion_tokens": usage.output_tokens,
        "prompt_tokens": usage.input_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
    if usage.reasoning_tokens:
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counted


def _times(exchange: Exchange) -> dict[str, Any]:
    """The seconds that it took."""
    times = {"queue_time": 0.0002, "prompt_time": 0.0023, "completion_time": 0.0036, "total_time": 0.0073}
    return {"time_info": {**times, "created": float(exchange.created)}}


def _more(exchange: Exchange) -> dict[str, Any]:
    return {} if exchange.stream else _times(exchange)


def _chunks(exchange: Exchange, content: list[dict[str, Any]], closing: list[dict[str, Any]]) -> None:
    for name, value in _times(exchange).items():
        closing[-1].setdefault(name, value)


def _body(said: Said) -> dict[str, Any]:
    return {"message": said.message, "type": said.type, "param": said.param or "", "code": said.code or ""}


def _event(said: Said) -> list[WireEvent]:
    return [{"error": _body(said), "status_code": said.status}]


_ERRORS: Final = Errors(
    body=_body,
    event=_event,
    usual={
        "authentication": Usual(401, _INVALID, "Wrong API Key", "wrong_api_key", "api_key"),
        "not_found": Usual(
            404,
            "not_found_error",
            "Model {model} does not exist or you do not have access to it.",
            "model_not_found",
            "model",
        ),
        "context_length": Usual(
            400,
            _INVALID,
            "Please reduce the length of the messages or completion. Current length is 131073 while limit is 131072",
            "context_length_exceeded",
            "messages",
        ),
        "rate_limit": Usual(
            429,
            "too_many_requests_error",
            "Requests per minute limit exceeded - too many requests sent.",
            "request_quota_exceeded",
            "quota",
        ),
        "quota": Usual(
            429,
            "too_many_tokens_error",
            "Tokens per day limit exceeded - too many tokens processed.",
            "token_quota_exceeded",
            "quota",
        ),
        "server_error": Usual(500, "server_error", "Encountered a server error, please try again."),
        "overloaded": Usual(
            503,
            "too_many_requests_error",
            "We're experiencing high traffic right now! Please try again soon.",
            "queue_exceeded",
            "queue",
        ),
    },
)

CEREBRAS: Final[Difference] = chat(
    keys="id choices created model system_fingerprint object usage time_info",
    chunk_keys="id choices created model system_fingerprint object usage time_info",
    choice_keys="finish_reason delta index message logprobs",
    message_keys="content reasoning role tool_calls function_call",
    choice=absent("logprobs", "finish_reason"),
    id=_id,
    tool_id=_tool_id,
    call_keys="function id type",
    fingerprint=_fingerprint,
    more=_more,
    chunks=_chunks,
    reasoning="reasoning",
    blank="absent",
    whole_calls=True,
    usage=_usage,
    usage_in="finish",
    uncounted=True,
    errors=_ERRORS,
)
