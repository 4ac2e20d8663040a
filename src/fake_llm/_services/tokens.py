"""Token counting, by the estimate that usage and the context window use too."""

from __future__ import annotations

from typing import Any

from fake_llm._dialect import Exchange
from fake_llm._services._base import Store
from fake_llm._tokens import input_tokens

__all__ = ["anthropic", "gemini", "openai", "vertex"]


def openai(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST /v1/responses/input_tokens`."""
    return {"object": "response.input_tokens", "input_tokens": _count(exchange)}


def anthropic(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST /v1/messages/count_tokens`."""
    return {"input_tokens": _count(exchange)}


def gemini(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST models/{m}:countTokens`; the request may be wrapped in `generateContentRequest`."""
    count = _count(exchange)
    return {"totalTokens": count, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count}]}


def vertex(store: Store, exchange: Exchange) -> dict[str, Any]:
    """The same on Vertex AI, which counts the characters that aren't blank too (recorded 2026-08)."""
    counted = gemini(store, exchange)
    texts = [message.text for message in exchange.view.messages]
    billable = sum(len("".join(text.split())) for text in (exchange.view.system, *texts))
    return {"totalTokens": counted["totalTokens"], "totalBillableCharacters": billable, **counted}


def _count(exchange: Exchange) -> int:
    if exchange.usage.input_tokens:
        return exchange.usage.input_tokens
    body = exchange.body
    wrapped = body.get("generateContentRequest") if isinstance(body, dict) else None
    return input_tokens(wrapped if isinstance(wrapped, dict) else body)
