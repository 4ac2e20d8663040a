"""Rows of the table of endpoints as cases, each with a URL."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fake_llm._endpoints import PROVIDERS, Endpoint, Provider

__all__ = ["rows", "url_of"]


def url_of(provider: Provider, endpoint: Endpoint) -> str:
    """A URL of this row: without what may be left out, the first of what may be chosen."""
    path = provider.prefix_of(endpoint) + endpoint.path
    path = re.sub(r"\{\w+(\.\.\.)?\}", "some-name", path)
    while (inner := re.search(r"\[[^\[\]]*\]", path)) is not None:
        path = path[: inner.start()] + path[inner.end() :]
    path = re.sub(r"\(([^()|]*)\|[^()]*\)", r"\1", path)
    host = provider.hosts[0] if provider.hosts else provider.shared[0][0]
    return f"https://{host.replace('*', 'some')}{path}"


def rows(operation: str, method: str) -> list[Any]:
    return [
        pytest.param(provider, endpoint, id=f"{provider.name} {provider.prefix_of(endpoint)}{endpoint.path}")
        for provider in PROVIDERS
        for endpoint in provider.endpoints
        if endpoint.operation == operation and endpoint.method == method
    ]
