"""Embeddings of Amazon's own models on Bedrock: Titan and Nova."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, media, message
from fake_llm._dialects import bedrock_converse
from fake_llm._model import Request, Usage, View
from fake_llm._services.embeddings._shared import counted, vectors_of
from fake_llm._turns import Embedding, Error, Reply

__all__ = ["NOVA", "TITAN"]


def _malformed(what: str) -> Error:
    return Error(400, f"Malformed input request: {what}, please reformat your input and try again.")


def _titan_read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("inputText", "inputImage")}
    size = _titan_size(body)
    if size is not None:
        params["dimensions"] = size
    return View((message("user", _titan_said(body)),), params=params)


def _titan_said(body: Mapping[str, Any]) -> list[str]:
    texts = [body["inputText"]] if isinstance(body.get("inputText"), str) else []
    return [*texts, media("[image]")] if body.get("inputImage") else texts


def _titan_size(body: Mapping[str, Any]) -> int | None:
    config = body.get("embeddingConfig")
    found = body.get("dimensions", config.get("outputEmbeddingLength") if isinstance(config, dict) else None)
    return found if isinstance(found, int) else None


_TITAN_SIZES: Final = (256, 384, 512, 1024)


def _titan_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return _malformed("#: expected type: JSONObject")
    if not isinstance(body.get("inputText", ""), str):
        return _malformed("#/inputText: expected type: String")
    if not body.get("inputText") and not body.get("inputImage"):
        return _malformed(
            "#/inputText: expected minLength: 1, actual: 0"
            if "inputText" in body
            else "#: required key [inputText] not found"
        )
    asked = body.get("dimensions")
    if asked is not None and (type(asked) is not int or asked not in _TITAN_SIZES):
        return _malformed(f"#/dimensions: {_json.text(asked)} is not a valid enum value")
    kinds = body.get("embeddingTypes")
    if kinds is not None and (not isinstance(kinds, list) or not {"float", "binary"}.issuperset(map(str, kinds))):
        return _malformed("#/embeddingTypes: expected float or binary")
    return None


def _titan_inputs(body: Mapping[str, Any]) -> list[str]:
    return ["\n".join(text for text in (body.get("inputText"), body.get("inputImage")) if text)]


def _titan_document(exchange: Exchange) -> dict[str, Any]:
    body = exchange.body
    (found,) = vectors_of(exchange, _titan_inputs(body), [_titan_size(body)])
    document: dict[str, Any] = {"inputTextTokenCount": exchange.usage.input_tokens}
    if "embed-text-v2" in exchange.model:
        kinds = body.get("embeddingTypes") or ["float"]
        made = {"float": found, "binary": [int(number > 0) for number in found]}
        document |= {"embeddingsByType": {kind: made[kind] for kind in kinds}}
        if "float" not in kinds:
            return exchange.extend(document)
    return exchange.extend({"embedding": found, **document})


def _titan_parts(document: Mapping[str, Any]) -> Reply:
    count = document.get("inputTextTokenCount")
    return Reply(Embedding(document["embedding"]), usage=Usage(count, 0) if isinstance(count, int) else None)


TITAN: Final = replace(
    bedrock_converse.DIALECT,
    name="bedrock_titan_embed",
    label="Amazon Titan embeddings",
    read=_titan_read,
    check=_titan_check,
    stream=lambda request, body: False,
    document=_titan_document,
    parts=_titan_parts,
    carries=frozenset({Embedding}),
    shaping=None,
    counted=lambda exchange: counted([exchange.body.get("inputText") or ""]),
)
"""Titan's embeddings by `invoke`: both versions for texts, and the one for pictures (AWS's pages, 2026-11)."""


def _nova_params(body: Mapping[str, Any]) -> Mapping[str, Any]:
    found = body.get("singleEmbeddingParams")
    return found if isinstance(found, dict) else {}


def _nova_kind(body: Mapping[str, Any]) -> str:
    return next((kind for kind in ("text", "image", "video", "audio") if kind in _nova_params(body)), "text")


def _nova_input(body: Mapping[str, Any]) -> str:
    given = _nova_params(body)[_nova_kind(body)]
    text = given.get("value")
    return text if isinstance(text, str) else _json.text(given)


def _nova_read(request: Request, body: Any) -> View:
    given = _nova_params(body)
    kind = _nova_kind(body)
    params = {name: value for name, value in given.items() if name != kind}
    if "embeddingDimension" in params:
        params["dimensions"] = params.pop("embeddingDimension")
    said: str = _nova_input(body) if kind == "text" else media(f"[{kind}]")
    return View((message("user", [said]),), params=params)


_NOVA_SIZES: Final = (256, 384, 1024, 3072)


def _nova_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return _malformed("#: expected type: JSONObject")
    for name in ("taskType", "singleEmbeddingParams"):
        if name not in body:
            return _malformed(f"#: required key [{name}] not found")
    given = _nova_params(body)
    if not isinstance(given.get(_nova_kind(body)), dict):
        return _malformed("#/singleEmbeddingParams: required key [text] not found")
    size = given.get("embeddingDimension")
    if size is not None and (type(size) is not int or size not in _NOVA_SIZES):
        return _malformed(f"#/singleEmbeddingParams/embeddingDimension: {_json.text(size)} is not a valid enum value")
    return None


def _nova_document(exchange: Exchange) -> dict[str, Any]:
    body = exchange.body
    (found,) = vectors_of(exchange, [_nova_input(body)], [_nova_params(body).get("embeddingDimension")])
    return exchange.extend({"embeddings": [{"embeddingType": _nova_kind(body).upper(), "embedding": found}]})


def _nova_parts(document: Mapping[str, Any]) -> Reply:
    return Reply(*(Embedding(item["embedding"]) for item in document["embeddings"]))


NOVA: Final = replace(
    TITAN,
    name="bedrock_nova_embed",
    label="Amazon Nova embeddings",
    read=_nova_read,
    check=_nova_check,
    document=_nova_document,
    parts=_nova_parts,
    counted=lambda exchange: counted([_nova_input(exchange.body)]),
)
"""Nova's multimodal embeddings of one thing (AWS's pages, 2026-11)."""
