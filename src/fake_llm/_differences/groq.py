"""Groq: timings in the usage, `x_groq`, whole tool calls, the usage in the finish chunk (recorded 2025-03 to 2026-06)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids, WireEvent
from fake_llm._differences.chat import chat, fingerprint_of
from fake_llm._failures import Errors, Said, Usual, duration, spent, wait_of
from fake_llm._json import compact
from fake_llm._model import Event, HeaderItems

__all__ = ["GROQ"]

_SEED: Final = 581_043_163


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.uuid()


def _tool_id(ids: Ids, number: int) -> str:
    return ids.lower(9)


def _fingerprint(exchange: Exchange) -> str:
    return "fp_" + fingerprint_of(exchange, 10)


def _request_id(exchange: Exchange) -> str:
    return "req_" + exchange.ids.lower(26)


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    timed: dict[str, Any] = {
        "queue_time": 0.01,
        "prompt_tokens": usage.input_tokens,
        "prompt_time": 0.001,
        "completion_tokens": usage.output_tokens,
        "completion_time": 0.1,
        "total_tokens": usage.total,
        "total_time": 0.101,
    }
    if usage.cached_tokens:
        timed["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens:
        timed["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return timed


def _more(exchange: Exchange) -> dict[str, Any]:
    if exchange.stream:
        return {}
    return {
        "usage_breakdown": None,
        "x_groq": {"id": _request_id(exchange), "seed": _SEED},
        "service_tier": "on_demand",
    }


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    """Thoughts of gpt-oss name their channel; the role never stands alone."""
    if "role" in delta:
        delta = {"role": delta["role"], "content": None, **delta}
    if not delta.get("reasoning"):
        return {name: value for name, value in delta.items() if name != "reasoning"}
    return {**delta, "channel": "analysis"} if "gpt-oss" in exchange.model else delta


def _chunks(exchange: Exchange, content: list[dict[str, Any]], closing: list[dict[str, Any]]) -> None:
    """The request's id in the first chunk, the usage in the finish chunk even when nobody asked for it."""
    request = _request_id(exchange)
    for chunk in (*content, *closing):
        chunk.pop("x_groq", None)  # of a whole answer that is streamed again
    if content:
        content[0]["x_groq"] = {"id": request, "seed": _SEED}
    *ends, last = closing
    counted = last.get("usage")
    if counted is None:
        ends = closing
    else:
        last["service_tier"] = "on_demand"
    for chunk in ends:
        chunk["x_groq"] = {"id": request, "usage": counted or _usage(exchange) | dict(exchange.usage.details)}
        if counted is not None:
            chunk["usage"] = counted


_REGION: Final = ("x-groq-region", "us-west-1")
_LIMITS: Final = (
    ("x-ratelimit-limit-requests", "14400"),
    ("x-ratelimit-limit-tokens", "18000"),
    ("x-ratelimit-remaining-requests", "14399"),
    ("x-ratelimit-remaining-tokens", "17968"),
    ("x-ratelimit-reset-requests", "6s"),
    ("x-ratelimit-reset-tokens", "90ms"),
)


def _headers(exchange: Exchange) -> HeaderItems:
    return (_REGION, *_LIMITS, ("x-request-id", _request_id(exchange)))


def _body(said: Said) -> dict[str, Any]:
    """With a code only where there is one."""
    code = {} if said.code is None else {"code": said.code}
    return {"error": {"message": said.message, "type": said.type, **code}}


def _failed(said: Said) -> HeaderItems:
    """Where a limit is reached, the limits and how long to wait, as the vendor's page of rate limits has them (2026-11)."""
    reached: HeaderItems = ()
    if said.name == "rate_limit":
        wait = duration(wait_of(said, 1.0))
        reached = (("retry-after", "1"), *spent(_LIMITS, remaining_tokens="0", reset_tokens=wait))
    return (_REGION, *reached, ("x-request-id", _request_id(said.exchange)))


def _event(said: Said) -> list[WireEvent]:
    """The only event of Groq that has a name."""
    return [Event("error", {"error": {**_body(said)["error"], "status_code": said.status}})]


def _line(body: Any) -> bytes:
    return compact(body) + b"\n"


ERRORS: Final = Errors(
    body=_body,
    headers=_failed,
    event=_event,
    encode=_line,
    usual={
        "authentication": Usual(401, "invalid_request_error", "Invalid API Key", "invalid_api_key"),
        "not_found": Usual(
            404,
            "invalid_request_error",
            "The model `{model}` does not exist or you do not have access to it.",
            "model_not_found",
        ),
        "context_length": Usual(
            400,
            "invalid_request_error",
            "Please reduce the length of the messages or completion.",
            "context_length_exceeded",
        ),
        "rate_limit": Usual(
            429,
            "tokens",
            "Rate limit reached for model `{model}` in organization `org_fake` service tier `on_demand` on tokens per minute (TPM): "
            "Limit 18000, Used 18000, Requested 100. Please try again later. Visit https://console.groq.com/docs/rate-limits for more information.",
            "rate_limit_exceeded",
        ),
        "server_error": Usual(500, "internal_server_error", "Internal Server Error", "internal_server_error"),
        "overloaded": Usual(
            503,
            "internal_server_error",
            "{model} is currently over capacity. Please try again and back off exponentially.",
            "over_capacity",
        ),
        "unavailable": Usual(503, "internal_server_error", "Service Unavailable", "service_unavailable"),
    },
)

GROQ: Final = chat(
    keys="id object created model choices usage usage_breakdown system_fingerprint x_groq service_tier",
    chunk_keys="id object created model system_fingerprint choices usage",
    message_keys="role content reasoning tool_calls function_call",
    call_keys="id type function custom",
    id=_id,
    tool_id=_tool_id,
    fingerprint=_fingerprint,
    more=_more,
    reasoning="reasoning",
    blank="absent",
    whole_calls=True,
    usage=_usage,
    delta=_delta,
    chunks=_chunks,
    headers=_headers,
    errors=ERRORS,
)
