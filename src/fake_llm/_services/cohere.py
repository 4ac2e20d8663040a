"""What Cohere's clients ask beside a model: its models, a key, the tokens of a text (cohere 7.3, 2026-11)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange
from fake_llm._dialects import cohere
from fake_llm._model import Response
from fake_llm._services._base import Store
from fake_llm._turns import Error

__all__ = ["detokenize", "key", "model", "models", "tokenize"]

_MODELS: Final = {
    "command-a-03-2025": ("chat", "generate"),
    "command-r7b-12-2024": ("chat", "generate"),
    "embed-v4.0": ("embed",),
    "rerank-v3.5": ("rerank",),
}
_WINDOWS: Final = {"chat": 288_000, "embed": 128_000, "rerank": 4_096}
_META: Final = {"api_version": {"version": "1"}}


def models(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models` in one page, of one endpoint where that is asked for."""
    asked = exchange.request.query.get("endpoint")
    return {"models": [_shown(name, store) for name, can in _MODELS.items() if asked is None or asked in can]}


def model(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models/{name}`."""
    return _shown(exchange.request.path_part(-1), store)


def _shown(name: str, store: Store) -> dict[str, Any]:
    """A model; without a tokenizer to download, its client asks for tokens here."""
    kind = next((kind for kind in ("embed", "rerank") if name.startswith(kind)), "chat")
    can = list(_MODELS.get(name) or (kind,))
    return {
        "name": name,
        "is_deprecated": False,
        "endpoints": can,
        "finetuned": False,
        "context_length": store.context_window or _WINDOWS[kind],
        "tokenizer_url": None,
        "default_endpoints": can[:1],
        "features": ["json_mode", "json_schema", "strict_tools", "tool_choice", "tools"] if kind == "chat" else None,
    }


def key(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST /v1/check-api-key`: every key is good."""
    return {"valid": True, "organization_id": exchange.ids.uuid(), "owner_id": exchange.ids.uuid()}


_BYTES_A_TOKEN: Final = 4


def tokenize(store: Store, exchange: Exchange) -> dict[str, Any] | Response:
    """`POST /v1/tokenize`: four bytes are a token, whose number holds them."""
    text = exchange.body.get("text") if isinstance(exchange.body, dict) else None
    if not isinstance(text, str) or not text:
        return cohere.CHAT_V1.failure(
            exchange, Error(400, "invalid request: required 'text' param is missing or empty.")
        )
    raw = text.encode("utf-8", "surrogatepass")
    pieces = [raw[start : start + _BYTES_A_TOKEN] for start in range(0, len(raw), _BYTES_A_TOKEN)]
    return {
        "tokens": [int.from_bytes(b"\x01" + piece) for piece in pieces],
        "token_strings": [piece.decode(errors="replace") for piece in pieces],
        "meta": _META,
    }


def detokenize(store: Store, exchange: Exchange) -> dict[str, Any] | Response:
    """`POST /v1/detokenize`: the text of such tokens, and of others what their numbers are."""
    given = exchange.body.get("tokens") if isinstance(exchange.body, dict) else None
    if not isinstance(given, list) or not all(type(token) is int and token >= 0 for token in given):
        return cohere.CHAT_V1.failure(exchange, Error(400, "invalid request: tokens must be a list of token ids."))
    raw = b"".join(token.to_bytes((token.bit_length() + 7) // 8)[1:] or _json.compact(token) for token in given)
    return {"text": raw.decode(errors="replace"), "meta": _META}
