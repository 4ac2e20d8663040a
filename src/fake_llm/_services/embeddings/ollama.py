"""Embeddings of Ollama, on both of its paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._dialects import ollama
from fake_llm._model import Request, Usage, View
from fake_llm._services.embeddings._shared import counted, vectors_of, viewed
from fake_llm._turns import Embedding, Error, Reply
from fake_llm._vectors import LARGEST, size_of

__all__ = ["OLLAMA"]

_LOADED: Final = 50_000_000
_READ: Final = 1_000_000
"""Nanoseconds: a model is loaded, a token is read."""
_EMBED_FIELDS: Final = (
    ollama.Field("model", (str,), "string"),
    ollama.Field("truncate", (bool,), "bool"),
    ollama.Field("dimensions", (int,), "int"),
    ollama.Field("options", (dict,), "map[string]interface {}"),
)
_EMBEDDING_FIELDS: Final = (
    ollama.Field("model", (str,), "string"),
    ollama.Field("prompt", (str,), "string"),
    ollama.Field("options", (dict,), "map[string]interface {}"),
)


def _is_former(request: Request) -> bool:
    """Whether it is the former path, which takes one text and gives one vector."""
    return request.path.endswith("/embeddings")


def _inputs(request: Request, body: Mapping[str, Any]) -> list[str]:
    """The texts; an empty one alone is none, and only loads the model."""
    given = body.get("prompt" if _is_former(request) else "input")
    return list(given) if isinstance(given, list) else [given] if given else []


def _read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("model", "input", "prompt", "options")}
    options = body.get("options") or {}
    return viewed(
        _inputs(request, body),
        {name: value for name, value in {**options, **params}.items() if value is not None},
    )


def _check(request: Request, body: Any) -> Error | None:
    former = _is_former(request)
    kind, fields = ("EmbeddingRequest", _EMBEDDING_FIELDS) if former else ("EmbedRequest", _EMBED_FIELDS)
    if (error := ollama.refused(body, kind, fields)) is not None:
        return error
    if not body.get("model"):
        return Error(400, "model is required") if former else Error("not_found", "model '' not found")
    given = None if former else body.get("input")
    texts = given if isinstance(given, list) else [given]
    if given is not None and not all(isinstance(item, str) for item in texts):
        return Error(400, "invalid input type")
    return None


def _document(exchange: Exchange) -> dict[str, Any]:
    request, body = exchange.request, exchange.body
    inputs = _inputs(request, body)
    found = vectors_of(exchange, inputs, [_asked_size(body)] * len(inputs)) if inputs else []
    if _is_former(request):
        return exchange.extend({"embedding": found[0] if found else []})
    count = exchange.usage.input_tokens
    spent = {"total_duration": _LOADED + count * _READ, "load_duration": _LOADED, "prompt_eval_count": count}
    metrics = {name: value for name, value in spent.items() if value} if inputs else {}
    return exchange.extend({"model": exchange.model, "embeddings": found, **metrics})


def _asked_size(body: Mapping[str, Any]) -> int | None:
    """The size that is asked for: one that is larger than the model's is as good as none."""
    size, usual = body.get("dimensions") or 0, size_of(str(body.get("model")))
    return size if 0 < size <= (usual or LARGEST) else None


def _parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these embeddings again."""
    found = document["embeddings"] if "embeddings" in document else [document["embedding"]]
    count = document.get("prompt_eval_count")
    return Reply(
        *(Embedding(item) for item in found),
        model=document.get("model"),
        usage=Usage(count, 0) if isinstance(count, int) else None,
    )


OLLAMA: Final = replace(
    ollama.CHAT,
    name="ollama_embeddings",
    label="Ollama embeddings",
    read=_read,
    check=_check,
    stream=lambda request, body: False,
    document=_document,
    parts=_parts,
    carries=frozenset({Embedding}),
    shaping=None,
    counted=lambda exchange: counted(_inputs(exchange.request, exchange.body)),
    sdk_types=("ollama._types.EmbedResponse", "ollama._types.EmbeddingsResponse"),
)
"""`POST /api/embed`, and `/api/embeddings` as it was before."""
