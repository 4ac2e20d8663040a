"""What `huggingface_hub` looks up on huggingface.co around a call of a model (2.4, 2026-11)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._model import Response
from fake_llm._services._base import Store

__all__ = ["harnesses", "model"]

_PROVIDERS: Final = (
    *("baseten", "cerebras", "cohere", "deepinfra", "featherless-ai", "fireworks-ai", "groq", "hyperbolic", "nebius"),
    *("novita", "nscale", "nvidia", "openai", "ovhcloud", "publicai", "sambanova", "scaleway", "together", "zai-org"),
)


def model(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /api/models/{id}?expand=inferenceProviderMapping`: every provider serves every model."""
    name = exchange.request.path.removeprefix("/api/models/")
    live = {"status": "live", "providerId": name, "task": "conversational"}
    return {"_id": exchange.ids.hex(24), "id": name, "inferenceProviderMapping": dict.fromkeys(_PROVIDERS, live)}


def harnesses(store: Store, exchange: Exchange) -> Response:
    """`GET /api/agent-harnesses`: not found, since a list would be kept in a file of the user for a day."""
    return Response(404, (("content-type", "application/json"),), b'{"error":"Not Found"}')
