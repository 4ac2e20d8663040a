"""Groq: timings in the usage, `x_groq`, the usage in the finish chunk (recorded 2025-03 to 2026-06)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Delta, Exchange
from fake_llm._differences import Difference
from fake_llm._model import HeaderItems

__all__ = ["GROQ"]

_GROQ_HEADERS: Final = (
    ("x-groq-region", "us-west-1"),
    ("x-ratelimit-limit-requests", "14400"),
    ("x-ratelimit-limit-tokens", "18000"),
    ("x-ratelimit-remaining-requests", "14399"),
    ("x-ratelimit-remaining-tokens", "17968"),
    ("x-ratelimit-reset-requests", "6s"),
    ("x-ratelimit-reset-tokens", "90ms"),
)


def _groq_headers(exchange: Exchange) -> HeaderItems:
    return (*_GROQ_HEADERS, ("x-request-id", "req_" + exchange.ids.lower(26)))


def _groq_id(exchange: Exchange) -> str:
    return exchange.id or "chatcmpl-" + exchange.ids.uuid()


def _groq_usage(exchange: Exchange) -> dict[str, Any]:
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
    return timed | dict(usage.details)


def _groq_message(message: dict[str, Any]) -> dict[str, Any]:
    """`reasoning` for the thoughts; no `content` beside tool calls (43 of 43), no `refusal`, no `annotations`."""
    kept = {key: value for key, value in message.items() if key not in ("refusal", "annotations", "reasoning_content")}
    if "reasoning_content" in message:
        kept["reasoning"] = message["reasoning_content"]
    if kept.get("content") is None and message.get("refusal"):
        kept["content"] = message["refusal"]
    if kept.get("content") is None and "tool_calls" in kept:
        kept.pop("content", None)
    return kept


def _groq_document(exchange: Exchange, document: dict[str, Any]) -> dict[str, Any]:
    return {
        **document,
        "id": _groq_id(exchange),
        "choices": [{**choice, "message": _groq_message(choice["message"])} for choice in document["choices"]],
        "usage": _groq_usage(exchange),
        "usage_breakdown": None,
        "system_fingerprint": "fp_" + exchange.ids.hex(10),
        "x_groq": {"id": "req_" + exchange.ids.lower(26)},
        "service_tier": "on_demand",
    }


_GROQ_CHUNK_KEYS: Final = ("id", "object", "created", "model", "system_fingerprint", "choices", "usage")


def _groq_chunk(chunk: dict[str, Any], answer: str, fingerprint: str) -> dict[str, Any]:
    kept: dict[str, Any] = {
        key: chunk[key] for key in _GROQ_CHUNK_KEYS if key in chunk and (key != "usage" or chunk[key] is not None)
    }
    kept |= {"id": answer, "system_fingerprint": fingerprint}
    kept["choices"] = [
        {"logprobs": None, **choice, "delta": _groq_delta(choice["delta"])} for choice in chunk["choices"]
    ]
    return Delta(kept) if isinstance(chunk, Delta) else kept


def _groq_delta(delta: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in delta.items() if key not in ("refusal", "reasoning_content")}
    if delta.get("refusal"):
        kept["content"] = delta["refusal"]
    if "reasoning_content" in delta:
        kept["reasoning"] = delta["reasoning_content"]
        kept["channel"] = "analysis"
    return kept


def _groq_events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    """The request's id in the first chunk, the usage in the finish chunk even when nobody asked for it."""
    fingerprint, answer = "fp_" + exchange.ids.hex(10), _groq_id(exchange)
    request = "req_" + exchange.ids.lower(26)
    content = [_groq_chunk(chunk, answer, fingerprint) for chunk in content]
    closing = [_groq_chunk(chunk, answer, fingerprint) for chunk in closing]
    first = next(iter(content), None)
    if first is not None:
        first["x_groq"] = {"id": request}
    for chunk in closing:
        if chunk["choices"]:
            chunk["x_groq"] = {"id": request, "usage": _groq_usage(exchange)}
        else:
            chunk["usage"] = _groq_usage(exchange)
            chunk["service_tier"] = "on_demand"
    return content, closing


GROQ: Final = Difference(document=_groq_document, events=_groq_events, headers=_groq_headers)
