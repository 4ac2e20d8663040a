"""Embeddings of OpenAI, Azure and the hosts that speak alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._dialects import openai_chat
from fake_llm._dialects.openai_chat import refused, wrong_type
from fake_llm._model import Request, Usage, View
from fake_llm._services.embeddings._shared import (
    counted,
    inputs_of,
    is_tokens,
    unpacked,
    vectors_of,
    viewed,
    written_as,
)
from fake_llm._turns import Embedding, Error, Reply
from fake_llm._vectors import LARGEST, size_of

__all__ = ["OPENAI"]

_NAMES: Final = {"text-embedding-ada-002": "text-embedding-ada-002-v2"}
"""Models that OpenAI answers for under another name (recorded 2024 to 2026)."""
_FIXED: Final = "text-embedding-ada-002"
_SHORTENED: Final = ("text-embedding-3-small", "text-embedding-3-large")
_MOST: Final = 2048
_BAD_INPUT: Final = (
    "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
)


def _read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("model", "input") and value is not None}
    return viewed(inputs_of(body["input"]), params)


def _check(request: Request, body: Any) -> Error | None:
    """OpenAI's refusal; the kinds of inputs that only OpenAI refuses are taken elsewhere."""
    if not isinstance(body, dict):
        return refused(openai_chat.BAD_JSON)
    model = body.get("model")
    if model in (None, "") and "/deployments/" not in request.path:
        return refused("you must provide a model parameter")
    for name in ("model", "user", "encoding_format"):
        if body.get(name) is not None and not isinstance(body[name], str):
            return wrong_type(name, "a string", body[name])
    given = body.get("input")
    if given is None:
        return refused("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    strict = "openai." in request.host
    if not isinstance(given, (str, list)) or given == [] or (strict and not _is_input(given)):
        return refused(_BAD_INPUT)
    if strict and isinstance(given, list) and len(given) > _MOST and not is_tokens(given):
        return refused(
            f"Invalid 'input': array too long. Expected an array with maximum length {_MOST}, "
            f"but got an array with length {len(given)} instead.",
            "input",
            "array_above_max_length",
        )
    if strict and body.get("encoding_format") not in (None, "float", "base64"):
        return refused(
            f"Invalid value: '{body['encoding_format']}'. Supported values are: 'float' and 'base64'.",
            "encoding_format",
            "invalid_value",
        )
    return _check_dimensions(body.get("dimensions"), model)


def _is_input(value: Any) -> bool:
    """Whether it is what OpenAI takes: texts that aren't empty, or token ids."""
    items = [value] if isinstance(value, str) or is_tokens(value) else value
    texts = all(isinstance(item, str) and item for item in items)
    return texts or all(is_tokens(item) for item in items)


def _check_dimensions(size: Any, model: Any) -> Error | None:
    if size is None:
        return None
    if not isinstance(size, int) or isinstance(size, bool):
        return wrong_type("dimensions", "an integer", size)
    if model == _FIXED:
        return refused("This model does not support specifying dimensions.")
    if size < 1:
        return refused(
            f"Invalid 'dimensions': integer below minimum value. Expected a value >= 1, but got {size} instead.",
            "dimensions",
            "integer_below_min_value",
        )
    most = (size_of(model) if model in _SHORTENED else None) or LARGEST
    if size > most:
        return refused(f"Invalid value for 'dimensions' = {size}. Must be less than or equal to {most}.")
    return None


def _document(exchange: Exchange) -> dict[str, Any]:
    body, usage = exchange.body, exchange.usage
    inputs = inputs_of(body["input"])
    found = vectors_of(exchange, inputs, [body.get("dimensions")] * len(inputs))
    encoding = body.get("encoding_format") or _ENCODINGS.get(exchange.provider)
    model = _NAMES.get(exchange.model, exchange.model) if exchange.provider == "openai" else exchange.model
    document: dict[str, Any] = {
        "object": "list",
        "data": [
            {"object": "embedding", "embedding": written_as(one, encoding), "index": index}
            for index, one in enumerate(found)
        ],
        "model": model,
        "usage": {"prompt_tokens": usage.input_tokens, "total_tokens": usage.total, **usage.details},
    }
    return exchange.extend(document)


_ENCODINGS: Final = {"perplexity": "base64_int8"}
"""What a host writes that isn't told otherwise, where it isn't numbers (recorded 2026-08)."""


def _parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these embeddings again."""
    usage = document.get("usage") or {}
    count = usage.get("prompt_tokens")
    return Reply(
        *(Embedding(unpacked(item["embedding"])) for item in document["data"]),
        model=document.get("model"),
        usage=Usage(count, 0, total_tokens=usage.get("total_tokens")) if isinstance(count, int) else None,
    )


OPENAI: Final = replace(
    openai_chat.DIALECT,
    name="openai_embeddings",
    label="OpenAI embeddings",
    read=_read,
    check=_check,
    stream=lambda request, body: False,
    document=_document,
    parts=_parts,
    carries=frozenset({Embedding}),
    choices=False,
    shaping=None,
    counted=lambda exchange: counted(inputs_of(exchange.body["input"])),
    sdk_types=(
        "openai.types.create_embedding_response.CreateEmbeddingResponse",
        "groq.types.create_embedding_response.CreateEmbeddingResponse",
    ),
)
"""`POST /v1/embeddings`, and the same on a deployment."""
