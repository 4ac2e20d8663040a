"""Embeddings of Cohere v1 and v2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, media, message
from fake_llm._dialects import cohere
from fake_llm._model import Request, Usage, View
from fake_llm._services.embeddings._shared import (
    counted,
    packed_bits,
    texts_in,
    unpacked,
    vectors_of,
    viewed,
    written_as,
)
from fake_llm._turns import Embedding, Error, Reply

__all__ = ["COHERE"]

_EMBED_TYPES: Final = {
    "model": "string",
    "input_type": "string",
    "truncate": "string",
    **dict.fromkeys(("texts", "images", "inputs", "embedding_types"), "array"),
    **dict.fromkeys(("output_dimension", "max_tokens"), "int32"),
}
_BATCH: Final = 96
_SIZES: Final = (256, 512, 1024, 1536)
_TAKEN: Final = ("model", "texts", "images", "inputs")
_NAMED: Final = ("v3", "v4")
"""Models of these generations have to be told what their input is."""


def _inputs(body: Mapping[str, Any]) -> list[str]:
    """Each text, each picture's URL, or the texts of what is made of both."""
    given = body.get("texts") or body.get("images")
    if given:
        return [item if isinstance(item, str) else _json.text(item) for item in given]
    return ["\n".join(texts_in(item)) or _json.text(item) for item in body.get("inputs") or ()]


def _read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in _TAKEN and value is not None}
    if "output_dimension" in params:
        params["dimensions"] = params.pop("output_dimension")
    if body.get("images") and not body.get("texts"):
        return View(tuple(message("user", [media("[image]")]) for _ in body["images"]), params=params)
    return viewed(_inputs(body), params)


def _is_v2(request: Request) -> bool:
    return "/v2/" in request.path


def _check(request: Request, body: Any) -> Error | None:
    """The API's own refusal, in the words of its page of errors (2026-11)."""
    if not isinstance(body, dict):
        return cohere.CHAT_V2.check(request, body)
    wrong = cohere.wrong_type(body, _EMBED_TYPES, f"v{1 + _is_v2(request)}/reference/embed")
    if wrong is not None:
        return wrong
    if not body.get("model") and _is_v2(request):
        return cohere.refused("a model parameter is required for this endpoint.")
    given = body.get("texts") or body.get("images") or body.get("inputs")
    if not given:
        return cohere.refused("invalid request: list of texts must not be empty")
    if len(given) > _BATCH:
        return cohere.refused(
            f"invalid request: total number of texts must be at most {_BATCH} - received {len(given)}"
        )
    wrong = _check_items(body)
    if wrong is None and not body.get("input_type") and any(name in str(body.get("model")) for name in _NAMED):
        return cohere.refused("invalid request: valid input_type must be provided with the provided model")
    return wrong


def _check_items(body: Mapping[str, Any]) -> Error | None:
    for index, item in enumerate(body.get("texts") or ()):
        if not isinstance(item, str):
            name = f"texts[{index}]"
            return cohere.wrong_type({name: {} if item is None else item}, {name: "string"}, "reference/embed")
    if any(not isinstance(item, dict) for item in body.get("inputs") or ()):
        return cohere.refused("invalid request: each of the inputs must be an object with content")
    for kind in body.get("embedding_types") or ():
        if not isinstance(kind, str) or kind not in _PACKED:
            return cohere.refused(f"invalid request: embedding_types must be one of {', '.join(_PACKED)}")
    size = body.get("output_dimension")
    if size is not None and size not in _SIZES:
        sizes = ", ".join(map(str, _SIZES))
        return cohere.refused(f"invalid request: output_dimension must be one of {sizes}")
    return None


def _document(exchange: Exchange) -> dict[str, Any]:
    body, v2 = exchange.body, _is_v2(exchange.request)
    inputs = _inputs(body)
    found = vectors_of(exchange, inputs, [body.get("output_dimension")] * len(inputs))
    kinds = body.get("embedding_types") or (["float"] if v2 else [])
    embeddings: Any = {kind: [_PACKED[kind](one) for one in found] for kind in kinds} if kinds else found
    billed: dict[str, Any] = {"input_tokens": exchange.usage.input_tokens}
    if "v4" in exchange.model:
        billed["image_tokens"] = 0
    document: dict[str, Any] = {
        "id": exchange.ids.uuid() if exchange.id is None else exchange.id,
        "texts": list(body.get("texts") or ()),
        "embeddings": embeddings,
        "meta": {"api_version": {"version": "2" if v2 else "1"}, "billed_units": {**billed, **exchange.usage.details}},
        "response_type": "embeddings_by_type" if kinds else "embeddings_floats",
    }
    return exchange.extend(document)


def _bytes(numbers: Sequence[float]) -> list[int]:
    """The numbers in 8 bits with a sign, the largest of them as far from nothing as can be."""
    most = max(map(abs, numbers)) or 1.0
    return [round(number / most * 127) for number in numbers]


_PACKED: Final[Mapping[str, Any]] = {
    "float": list,
    "int8": _bytes,
    "uint8": lambda numbers: [number + 128 for number in _bytes(numbers)],
    "binary": lambda numbers: [byte - 128 for byte in packed_bits(numbers)],
    "ubinary": lambda numbers: list(packed_bits(numbers)),
    "base64": lambda numbers: written_as(numbers, "base64"),
}
"""What each of Cohere's types of embeddings makes of a vector: numbers are never fewer than asked for but for bits."""


def _parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these embeddings again, as exactly as the types that are there say them."""
    found = document["embeddings"]
    if isinstance(found, Mapping):
        listed = (found[kind] for kind in ("float", "base64", "int8", "uint8", "binary", "ubinary") if found.get(kind))
        found = list(map(unpacked, next(listed, [])))
    billed = ((document.get("meta") or {}).get("billed_units") or {}).get("input_tokens")
    usage = Usage(int(billed), 0) if isinstance(billed, (int, float)) else None
    return Reply(*map(Embedding, found), id=document.get("id"), usage=usage)


COHERE: Final = replace(
    cohere.CHAT_V2,
    name="cohere_embed",
    label="Cohere embed",
    read=_read,
    check=_check,
    stream=lambda request, body: False,
    document=_document,
    parts=_parts,
    carries=frozenset({Embedding}),
    choices=False,
    shaping=None,
    counted=lambda exchange: counted(_inputs(exchange.body)),
    sdk_types=(
        "cohere.types.embed_response.EmbeddingsFloatsEmbedResponse",
        "cohere.types.embed_response.EmbeddingsByTypeEmbedResponse",
        "cohere.types.embed_by_type_response.EmbedByTypeResponse",
    ),
)
"""`POST /v1/embed` and `/v2/embed`."""
