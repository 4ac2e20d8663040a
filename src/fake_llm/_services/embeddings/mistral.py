"""Embeddings of Mistral: OpenAI's vocabulary with other kinds of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._differences import mistral
from fake_llm._model import Request, View
from fake_llm._services.embeddings._shared import inputs_of, quantised, vectors_of
from fake_llm._services.embeddings.openai import OPENAI

__all__ = ["MISTRAL"]


def _read(request: Request, body: Any) -> View:
    view = OPENAI.read(request, body)
    size = body.get("output_dimension")
    return view if size is None else replace(view, params={**view.params, "dimensions": size})


def _document(exchange: Exchange) -> dict[str, Any]:
    """As recorded (2026-08); other kinds of numbers by the types of its SDK (3.7)."""
    body, usage = exchange.body, exchange.usage
    inputs = inputs_of(body["input"])
    found = vectors_of(exchange, inputs, [body.get("output_dimension")] * len(inputs))
    document: dict[str, Any] = {
        "id": exchange.id or mistral.new_id(exchange.ids),
        "object": "list",
        "data": [
            {"object": "embedding", "embedding": quantised(one, body), "index": index}
            for index, one in enumerate(found)
        ],
        "model": exchange.model,
        "usage": {
            "prompt_audio_seconds": None,
            "prompt_tokens": usage.input_tokens,
            "total_tokens": usage.total,
            "completion_tokens": usage.output_tokens,
            "request_count": None,
            "prompt_tokens_details": None,
            "completion_tokens_details": None,
            "service_tier": None,
            "prompt_token_details": None,
            **usage.details,
        },
    }
    return exchange.extend(document)


MISTRAL: Final = replace(
    OPENAI,
    name="mistral_embeddings",
    label="Mistral embeddings",
    read=_read,
    check=mistral.check_embeddings,
    document=_document,
    sdk_types=(
        "mistralai.client.models.embeddingresponse.EmbeddingResponse",
        "mistralai.models.embeddingresponse.EmbeddingResponse",
    ),
)
"""`POST /v1/embeddings` of Mistral."""
