"""Telemetry that SDKs send to a provider's own host: taken and forgotten."""

from __future__ import annotations

from fake_llm._dialect import Exchange
from fake_llm._model import Response
from fake_llm._services._base import Store

__all__ = ["taken"]


def taken(store: Store, exchange: Exchange) -> Response:
    """204 without a body."""
    return Response(204)
