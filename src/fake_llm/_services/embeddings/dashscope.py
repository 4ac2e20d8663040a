"""Embeddings of native DashScope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._differences.dashscope_native import GENERATION
from fake_llm._model import Request, Usage, View
from fake_llm._services.embeddings._shared import counted, vectors_of, viewed
from fake_llm._turns import Embedding, Error, Reply

__all__ = ["DASHSCOPE"]


def _inputs(body: Any) -> list[str]:
    given = body.get("input") if isinstance(body, dict) else None
    texts = given.get("texts") if isinstance(given, dict) else None
    return [item for item in texts if isinstance(item, str)] if isinstance(texts, list) else []


def _read(request: Request, body: Any) -> View:
    return viewed(_inputs(body), {**(body.get("parameters") or {})})


def _check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict) or not isinstance(body.get("model"), str) or not body["model"]:
        return Error(
            "bad_request", "Required parameter(model) missing or invalid, please check the request parameters."
        )
    given = body.get("input")
    texts = given.get("texts") if isinstance(given, dict) else None
    if isinstance(texts, list) and texts and all(isinstance(item, str) for item in texts):
        return None
    return Error("bad_request", "Input should be a valid list of strings: input.texts")


def _document(exchange: Exchange) -> dict[str, Any]:
    inputs = _inputs(exchange.body)
    asked = exchange.body.get("parameters") or {}
    found = vectors_of(exchange, inputs, [asked.get("dimension")] * len(inputs))
    listed = [{"embedding": list(item), "text_index": index} for index, item in enumerate(found)]
    usage = {"total_tokens": exchange.usage.input_tokens}
    return exchange.extend({"output": {"embeddings": listed}, "usage": usage, "request_id": exchange.ids.uuid()})


def _parts(document: Mapping[str, Any]) -> Reply:
    return Reply(
        *(Embedding(item["embedding"]) for item in document["output"]["embeddings"]),
        usage=Usage((document.get("usage") or {}).get("total_tokens") or 0, 0),
    )


DASHSCOPE: Final = replace(
    GENERATION,
    name="dashscope_embeddings",
    label="DashScope embeddings",
    read=_read,
    check=_check,
    stream=lambda request, body: False,
    document=_document,
    parts=_parts,
    headers=lambda exchange: (),
    carries=frozenset({Embedding}),
    counted=lambda exchange: counted(_inputs(exchange.body)),
)
"""`POST /api/v1/services/embeddings/text-embedding/text-embedding` (dashscope 2.0, 2026-11)."""
