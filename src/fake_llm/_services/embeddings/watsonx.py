"""Embeddings of watsonx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._dialects import watsonx
from fake_llm._model import Request, Usage, View
from fake_llm._services.embeddings._shared import counted, vectors_of, viewed
from fake_llm._turns import Embedding, Error, Reply

__all__ = ["WATSONX"]


def _inputs(body: Any) -> list[str]:
    given = body.get("inputs") if isinstance(body, dict) else None
    return [item for item in given if isinstance(item, str)] if isinstance(given, list) else []


def _read(request: Request, body: Any) -> View:
    return viewed(_inputs(body), {**(body.get("parameters") or {})})


def _check(request: Request, body: Any) -> Error | None:
    given = body.get("inputs") if isinstance(body, dict) else None
    if isinstance(given, list) and given and all(isinstance(item, str) for item in given) and body.get("model_id"):
        return None
    return Error("bad_request", "Json document validation error: model_id and inputs, a list of strings, are required")


def _document(exchange: Exchange) -> dict[str, Any]:
    inputs = _inputs(exchange.body)
    found = vectors_of(exchange, inputs, [None] * len(inputs))
    asked = (exchange.body.get("parameters") or {}).get("return_options") or {}
    results: list[dict[str, Any]] = [{"embedding": list(item)} for item in found]
    if asked.get("input_text"):
        results = [{"input": {"text": text}, **item} for text, item in zip(inputs, results, strict=True)]
    return exchange.extend(
        {
            "model_id": exchange.model,
            "created_at": watsonx.created_at(exchange),
            "results": results,
            "input_token_count": exchange.usage.input_tokens,
        }
    )


def _parts(document: Mapping[str, Any]) -> Reply:
    return Reply(
        *(Embedding(item["embedding"]) for item in document["results"]),
        model=document.get("model_id"),
        usage=Usage(document.get("input_token_count") or 0, 0),
    )


WATSONX: Final = replace(
    watsonx.GENERATE,
    name="watsonx_embeddings",
    label="watsonx embeddings",
    read=_read,
    check=_check,
    stream=lambda request, body: False,
    document=_document,
    parts=_parts,
    carries=frozenset({Embedding}),
    shaping=None,
    counted=lambda exchange: counted(_inputs(exchange.body)),
    sdk_types=(),
)
"""`POST /ml/v1/text/embeddings` (ibm-watsonx-ai 1.8, 2026-11)."""
