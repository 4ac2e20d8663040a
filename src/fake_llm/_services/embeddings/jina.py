"""Embeddings of Jina AI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, media, message
from fake_llm._differences import jina
from fake_llm._model import Request, View
from fake_llm._services.embeddings._shared import inputs_of, packed_bits, texts_in, vectors_of, written_as
from fake_llm._services.embeddings.openai import OPENAI
from fake_llm._turns import Error
from fake_llm._vectors import LARGEST

__all__ = ["JINA"]

_PACKED: Final[Mapping[str, Any]] = {
    "float": list,
    "base64": lambda numbers: written_as(numbers, "base64"),
    "binary": lambda numbers: [byte - 128 for byte in packed_bits(numbers)],
    "ubinary": lambda numbers: list(packed_bits(numbers)),
}


def _type(body: Mapping[str, Any]) -> str:
    """The kind of numbers; of several kinds the first."""
    kind = body.get("embedding_type") or body.get("encoding_format") or "float"
    return str(kind[0] if isinstance(kind, list) and kind else kind)


def _read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("model", "input") and value is not None}
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    said = ([media("[image]")] if _is_picture(item) else _texts(item) for item in given)
    return View(tuple(message("user", texts) for texts in said), params=params)


def _is_picture(item: Any) -> bool:
    return isinstance(item, dict) and "image" in item and "text" not in item


def _texts(item: Any) -> list[str]:
    return [item] if isinstance(item, str) else list(texts_in(item)) or [_json.text(item)]


def _check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return jina.refused(jina.BAD_JSON)
    for name in ("model", "input"):
        if body.get(name) is None:
            return jina.refused(f"body.{name}: Field required")
    if not isinstance(body["model"], str):
        return jina.refused("body.model: Input should be a valid string")
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    if not given or not all(isinstance(item, (str, dict)) for item in given):
        return jina.refused("body.input: Input should be a valid string, document or list of these")
    size = body.get("dimensions")
    if size is not None and (type(size) is not int or not 0 < size <= LARGEST):
        return jina.refused("body.dimensions: Input should be a valid integer")
    if _type(body) not in _PACKED:
        return jina.refused(f"body.embedding_type: Input should be one of {', '.join(_PACKED)}")
    return None


def _document(exchange: Exchange) -> dict[str, Any]:
    body, usage = exchange.body, exchange.usage
    inputs = inputs_of(body["input"])
    packed = _PACKED[_type(body)]
    found = vectors_of(exchange, inputs, [body.get("dimensions")] * len(inputs))
    return exchange.extend(
        {
            "model": exchange.model,
            "object": "list",
            "usage": {"total_tokens": usage.total, "prompt_tokens": usage.input_tokens, **usage.details},
            "data": [
                {"object": "embedding", "index": index, "embedding": packed(one)} for index, one in enumerate(found)
            ],
        }
    )


JINA: Final = replace(
    OPENAI,
    name="jina_embeddings",
    label="Jina embeddings",
    read=_read,
    check=_check,
    bad_json=jina.BAD_JSON,
    document=_document,
    failure=jina.ERRORS.failure,
    failure_events=jina.ERRORS.failure_events,
    headers=jina.headers,
    sdk_types=(),
)
"""`POST /v1/embeddings` of Jina AI, as its API is documented (2026-11)."""
