"""Embeddings of Voyage AI: texts, chunks in context, and several media."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, media, message
from fake_llm._differences import voyage
from fake_llm._model import Request, View
from fake_llm._services.embeddings._shared import counted, quantised, vectors_of, viewed
from fake_llm._services.embeddings.openai import OPENAI
from fake_llm._turns import Error

__all__ = ["VOYAGE"]

_SIZES: Final = (256, 512, 1024, 2048)
_KINDS: Final[Mapping[str, tuple[Any, ...]]] = {
    "input_type": (None, "query", "document"),
    "output_dtype": (None, "float", "int8", "uint8", "binary", "ubinary"),
    "encoding_format": (None, "base64"),
    "output_dimension": (None, *_SIZES),
}
_CHUNK: Final = 512
"""Tokens in a chunk where the request doesn't say it; how the API really divides isn't known."""
_CHARACTERS: Final = 4


def _kind(request: Request) -> str:
    return request.path_part(-1)


def _groups(request: Request, body: Mapping[str, Any]) -> list[list[str]]:
    """The texts of each document; outside of contextualized embeddings one each."""
    kind = _kind(request)
    if kind == "embeddings":
        given = body["input"]
        return [[text] for text in ([given] if isinstance(given, str) else given)]
    if kind == "multimodalembeddings":
        return [["\n".join(_seen(item))] for item in body["inputs"]]
    groups = [[item] if isinstance(item, str) else list(item) for item in body["inputs"]]
    return [list(_chunks(body, "".join(texts))) for texts in groups] if body.get("enable_auto_chunking") else groups


def _seen(item: Mapping[str, Any]) -> Iterator[str]:
    """What a vector is made of: texts, and the addresses or bytes of pictures as they came."""
    for part in item["content"]:
        yield str(part.get(str(part.get("type"))) or "")


def _shown(item: Mapping[str, Any]) -> Iterator[str]:
    for part in item["content"]:
        kind = str(part.get("type"))
        yield str(part.get("text")) if kind == "text" else media(f"[{kind.partition('_')[0]}]")


def _chunks(body: Mapping[str, Any], text: str) -> Iterator[str]:
    """Pieces of a document, each with the end of the one before it where an overlap is asked for."""
    size = (body.get("chunk_size") or _CHUNK) * _CHARACTERS
    step = size - (body.get("chunk_overlap") or 0) * _CHARACTERS
    for start in range(0, max(1, len(text) - size + step), step):
        yield text[start : start + size]


def _inputs(request: Request, body: Mapping[str, Any]) -> list[str]:
    return [text for texts in _groups(request, body) for text in texts]


def _read(request: Request, body: Any) -> View:
    left_out = ("model", "input", "inputs")
    params = {name: value for name, value in body.items() if name not in left_out and value is not None}
    if "output_dimension" in params:
        params["dimensions"] = params.pop("output_dimension")
    if _kind(request) == "multimodalembeddings":
        return View(tuple(message("user", list(_shown(item))) for item in body["inputs"]), params=params)
    return viewed(_inputs(request, body), params)


def _check(request: Request, body: Any) -> Error | None:
    """The API's own refusal; an SDK that sends `encoding_format="float"`, as others do, is refused too."""
    if not isinstance(body, dict):
        return Error("bad_request", voyage.BAD_JSON)
    kind = _kind(request)
    name = "input" if kind == "embeddings" else "inputs"
    if body.get("model") is None or body.get(name) is None:
        return voyage.refused("Your request body was missing one or more required arguments.")
    if not isinstance(body["model"], str):
        return voyage.refused("Error for argument 'model': Input should be a valid string")
    for argument, allowed in _KINDS.items():
        value = body.get(argument)
        if isinstance(value, (list, dict, bool)) or value not in allowed:
            said = value if isinstance(value, str) else _json.text(value)
            return voyage.refused(f"Value '{said}' supplied for {argument} is not allowed")
    for argument in ("chunk_size", "chunk_overlap"):
        if body.get(argument) is not None and (type(body[argument]) is not int or body[argument] < 0):
            return voyage.refused(f"Error for argument '{argument}': Input should be a valid integer")
    if (body.get("chunk_overlap") or 0) >= (body.get("chunk_size") or _CHUNK):
        return voyage.refused("Error for argument 'chunk_overlap': Value error, it must be less than chunk_size")
    return None if _fits(kind, body[name]) else voyage.refused(_wrong(kind, name, body[name]))


def _fits(kind: str, given: Any) -> bool:
    if kind == "embeddings" and isinstance(given, str):
        return bool(given)
    if not isinstance(given, list) or not given:
        return False
    if kind == "embeddings":
        return all(isinstance(item, str) and item for item in given)
    if kind == "multimodalembeddings":
        return all(isinstance(item, dict) and _is_content(item.get("content")) for item in given)
    return all(_is_texts(item) or (isinstance(item, str) and item) for item in given)


def _is_content(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and all(isinstance(part, dict) for part in content)


def _is_texts(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and all(isinstance(text, str) and text for text in item)


def _wrong(kind: str, name: str, given: Any) -> str:
    empty = given in ("", []) or (isinstance(given, list) and any(item in ("", []) for item in given))
    what = "Value error, Input cannot contain empty strings or empty lists" if empty else "Input should be a valid list"
    return f"Error for argument '{name}': {what}"


def _document(exchange: Exchange) -> dict[str, Any]:
    """As its API reference shows it and its SDK reads it (2026-11)."""
    request, body, usage = exchange.request, exchange.body, exchange.usage
    kind, groups = _kind(request), _groups(request, body)
    inputs = [text for texts in groups for text in texts]
    found = [quantised(one, body) for one in vectors_of(exchange, inputs, [body.get("output_dimension")] * len(inputs))]
    spent: dict[str, Any] = {"total_tokens": usage.total, **usage.details}
    more: dict[str, Any] = {}
    if kind == "contextualizedembeddings":
        chunked = bool(body.get("enable_auto_chunking"))
        vectors = iter(found)
        data = [
            {
                "object": "list",
                "data": [
                    {**_vector(next(vectors), place), **({"text": text} if chunked else {})}
                    for place, text in enumerate(texts)
                ],
                "index": index,
            }
            for index, texts in enumerate(groups)
        ]
        more = {"chunker_version": "1"} if chunked else {}
    else:
        data = [_vector(one, index) for index, one in enumerate(found)]
    if kind == "multimodalembeddings":
        spent = {"text_tokens": usage.total, "image_pixels": 0, "video_pixels": 0, **spent}
    return exchange.extend({"object": "list", "data": data, "model": exchange.model, "usage": spent, **more})


def _vector(vector: Any, index: int) -> dict[str, Any]:
    return {"object": "embedding", "embedding": vector, "index": index}


VOYAGE: Final = replace(
    OPENAI,
    name="voyage_embeddings",
    label="Voyage AI embeddings",
    read=_read,
    check=_check,
    bad_json=voyage.BAD_JSON,
    document=_document,
    failure=voyage.ERRORS.failure,
    failure_events=voyage.ERRORS.failure_events,
    headers=voyage.headers,
    counted=lambda exchange: counted(_inputs(exchange.request, exchange.body)),
    sdk_types=(),
)
"""`POST /v1/embeddings`, `/v1/contextualizedembeddings` and `/v1/multimodalembeddings`."""
