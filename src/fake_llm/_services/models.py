"""Lists of models and single ones: every name exists, since a script answers for any."""

from __future__ import annotations

from typing import Any

from fake_llm._dialect import CREATED, Exchange
from fake_llm._services._base import Store

__all__ = [
    "anthropic_list",
    "anthropic_one",
    "gemini_list",
    "gemini_one",
    "openai_list",
    "openai_one",
    "writer_list",
]

_CREATED_AT = "2026-01-01T00:00:00Z"
_OPENAI = ("gpt-5", "gpt-5-mini", "gpt-4o", "gpt-4o-mini")
_WRITER = ("palmyra-x5", "palmyra-x4")
_ANTHROPIC = ("claude-opus-5", "claude-sonnet-5", "claude-haiku-5-5")
_GEMINI = ("gemini-3-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash")
_GEMINI_WINDOW = 1_048_576


def _name(exchange: Exchange) -> str:
    return exchange.request.path_part(-1)


def _openai(name: str, store: Store) -> dict[str, Any]:
    model: dict[str, Any] = {"id": name, "object": "model", "created": CREATED, "owned_by": "system"}
    if store.context_window is not None:
        model["context_window"] = store.context_window
    return model


def openai_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models`."""
    return {"object": "list", "data": [_openai(name, store) for name in _OPENAI]}


def openai_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models/{id}`."""
    return _openai(_name(exchange), store)


def writer_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models` of Writer (writer-sdk 3.0, 2026-11)."""
    return {"models": [{"id": name, "name": name} for name in _WRITER]}


def _anthropic(name: str, store: Store) -> dict[str, Any]:
    model: dict[str, Any] = {"type": "model", "id": name, "display_name": name, "created_at": _CREATED_AT}
    if store.context_window is not None:
        model["max_input_tokens"] = store.context_window
    return model


def anthropic_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models` in one page."""
    return {
        "data": [_anthropic(name, store) for name in _ANTHROPIC],
        "has_more": False,
        "first_id": _ANTHROPIC[0],
        "last_id": _ANTHROPIC[-1],
    }


def anthropic_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models/{id}`."""
    return _anthropic(_name(exchange), store)


def _gemini(name: str, store: Store) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": name,
        "inputTokenLimit": store.context_window or _GEMINI_WINDOW,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


def gemini_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET models` in one page."""
    return {"models": [_gemini(name, store) for name in _GEMINI]}


def gemini_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET models/{m}`."""
    return _gemini(_name(exchange), store)
