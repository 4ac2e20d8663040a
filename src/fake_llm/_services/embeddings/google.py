"""Embeddings of Gemini, and of Vertex AI's own models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange
from fake_llm._dialects import gemini
from fake_llm._model import Request, View
from fake_llm._services.embeddings._shared import counted, texts_in, vectors_of, viewed
from fake_llm._tokens import tokens
from fake_llm._turns import Embedding, Error, Reply
from fake_llm._vectors import LARGEST, size_of

__all__ = ["GEMINI", "VERTEX"]

_BATCH: Final = 100
_PACKAGE: Final = "type.googleapis.com/google.ai.generativelanguage.v1beta."


def _is_batch(request: Request) -> bool:
    return request.path_part(-1).endswith(":batchEmbedContents")


def _requests(request: Request, body: Mapping[str, Any]) -> list[Any]:
    """What is asked for each content, alone or in a batch; one message may stand for a list of one."""
    found = body.get("requests") if _is_batch(request) else body
    return found if isinstance(found, list) else [] if found is None else [found]


def _field(asked: Mapping[str, Any], camel: str, snake: str) -> Any:
    """A setting of one request, in either spelling, on it or in its `embedContentConfig`."""
    config = asked.get("embedContentConfig") or asked.get("embed_content_config")
    for holder in (asked, config if isinstance(config, dict) else {}):
        for name in (camel, snake):
            if holder.get(name) is not None:
                return holder[name]
    return None


def _size(asked: Mapping[str, Any]) -> int | None:
    return _whole(_field(asked, "outputDimensionality", "output_dimensionality"))


def _whole(number: Any) -> int | None:
    """A whole number as the API reads it, a text of digits too; `None` for anything else."""
    if isinstance(number, bool):
        return None
    if isinstance(number, str):
        return int(number) if _DIGITS.fullmatch(number) else None
    return int(number) if isinstance(number, int) or (isinstance(number, float) and number.is_integer()) else None


_DIGITS: Final = re.compile("-?[0-9]{1,10}")


def _gemini_inputs(request: Request, body: Mapping[str, Any]) -> list[str]:
    return [_content_text(asked["content"]) for asked in _requests(request, body)]


def _content_text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    texts = "\n".join(texts_in(parts if isinstance(parts, list) else [parts]))
    return texts or _json.text(parts)


def _gemini_read(request: Request, body: Any) -> View:
    asked = _requests(request, body)
    contents = [{**item["content"], "role": "user"} for item in asked]
    params: dict[str, Any] = {}
    if asked:
        sizes = set(map(_size, asked))
        found = {
            "dimensions": sizes.pop() if len(sizes) == 1 else None,
            "taskType": _field(asked[0], "taskType", "task_type"),
            "title": _field(asked[0], "title", "title"),
        }
        params = {name: value for name, value in found.items() if value is not None}
    return replace(gemini.DIALECT.read(request, {"contents": contents}), params=params)


def _gemini_check(request: Request, body: Any) -> Error | None:
    """The API's own refusal of what isn't an `EmbedContentRequest`, or a batch of these."""
    if not isinstance(body, dict):
        return gemini.DIALECT.check(request, body)
    if not _is_batch(request):
        return _check_one(request, body, "", "EmbedContentRequest")
    asked = _requests(request, body)
    if not asked:
        return Error(400, "* BatchEmbedContentsRequest.requests: requests is not specified\n")
    if len(asked) > _BATCH:
        return Error(400, f"* BatchEmbedContentsRequest.requests: at most {_BATCH} requests can be in one batch\n")
    for index, item in enumerate(asked):
        if not isinstance(item, dict):
            kind = f"{_PACKAGE}EmbedContentRequest"
            return Error(400, f"Invalid value at 'requests[{index}]' ({kind}), {_json.text(item)}")
        error = _check_one(request, item, f"requests[{index}].", f"BatchEmbedContentsRequest.requests[{index}]")
        if error is not None:
            return error
    return None


def _check_one(request: Request, asked: Mapping[str, Any], path: str, name: str) -> Error | None:
    content = asked.get("content")
    if content is None:
        return Error(400, f"* {name}.content: content is not specified\n")
    error = gemini.DIALECT.check(request, {"contents": [content]})
    if error is not None and error.message is not None:
        return replace(error, message=error.message.replace("contents[0]", f"{path}content"))
    parts = content.get("parts")
    parts = parts if isinstance(parts, list) else [parts]
    if not parts or any(not part or part.get("text") == "" for part in parts):
        return Error(400, f"* {name}.content: content contains an empty Part.\n")
    return _check_size(asked, path, name, gemini.DIALECT.model(request, asked))


def _check_size(asked: Mapping[str, Any], path: str, name: str, model: str) -> Error | None:
    size = _field(asked, "outputDimensionality", "output_dimensionality")
    if size is None:
        return None
    whole, most = _whole(size), size_of(model) or LARGEST
    if whole is None:
        return Error(400, f"Invalid value at '{path}output_dimensionality' (TYPE_INT32), {_json.text(size)}")
    if not 1 <= whole <= most:
        return Error(400, f"* {name}.output_dimensionality: output_dimensionality must be between 1 and {most}\n")
    return None


def _gemini_document(exchange: Exchange) -> dict[str, Any]:
    request, body = exchange.request, exchange.body
    found = vectors_of(exchange, _gemini_inputs(request, body), [_size(asked) for asked in _requests(request, body)])
    values = [{"values": one} for one in found]
    document: dict[str, Any] = {"embeddings": values} if _is_batch(request) else {"embedding": values[0]}
    if exchange.provider == "vertex":  # the Gemini API says nothing of tokens
        count = exchange.usage.input_tokens
        details = [{"modality": "TEXT", "tokenCount": count}]
        document["usageMetadata"] = {
            "promptTokenCount": count,
            "totalTokenCount": count,
            "promptTokensDetails": details,
        }
    return exchange.extend(document)


def _gemini_parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these embeddings again."""
    found = document["embeddings"] if "embeddings" in document else [document["embedding"]]
    return Reply(*(Embedding(item["values"]) for item in found))


GEMINI: Final = replace(
    gemini.DIALECT,
    name="gemini_embeddings",
    label="Gemini embeddings",
    read=_gemini_read,
    check=_gemini_check,
    stream=lambda request, body: False,
    document=_gemini_document,
    parts=_gemini_parts,
    carries=frozenset({Embedding}),
    choices=False,
    shaping=None,
    counted=lambda exchange: counted(_gemini_inputs(exchange.request, exchange.body)),
    sdk_types=("google.genai.types.EmbedContentResponse",),
)
"""`:embedContent` and `:batchEmbedContents`."""


_MULTIMODAL: Final = "multimodalembedding"


def _instances(body: Mapping[str, Any]) -> list[Any]:
    found = body.get("instances")
    return found if isinstance(found, list) else []


def _instance_text(instance: Mapping[str, Any]) -> str:
    text = instance.get("content", instance.get("text"))
    return text if isinstance(text, str) else _json.text(dict(instance))


def _vertex_read(request: Request, body: Any) -> View:
    instances = _instances(body)
    parameters = body.get("parameters") or {}
    first = instances[0] if instances else {}
    found = {
        "dimensions": _size(parameters) or _whole(parameters.get("dimension")),
        "taskType": _field(first, "taskType", "task_type"),
        "title": first.get("title"),
        "autoTruncate": _field(parameters, "autoTruncate", "auto_truncate"),
    }
    params = {name: value for name, value in found.items() if value is not None}
    return viewed([_instance_text(instance) for instance in instances], params)


def _vertex_check(request: Request, body: Any) -> Error | None:
    """The API's own refusal of what are no instances of texts; the words of it aren't recorded."""
    if not isinstance(body, dict):
        return gemini.DIALECT.check(request, body)
    if not _instances(body):
        return Error(400, "Invalid Argument: empty instances.")
    multimodal = gemini.DIALECT.model(request, body).startswith(_MULTIMODAL)
    names = ("text", "image", "video") if multimodal else ("content",)
    for index, instance in enumerate(_instances(body)):
        if not isinstance(instance, dict) or not any(instance.get(name) for name in names):
            return Error(400, f"The {names[0]} of instances[{index}] is empty.")
        if not isinstance(instance.get(names[0], ""), str):
            kind = _json.text(instance[names[0]])
            return Error(400, f"Invalid value at 'instances[{index}].{names[0]}' (TYPE_STRING), {kind}")
    parameters = body.get("parameters")
    if parameters is not None and not isinstance(parameters, dict):
        return Error(
            400, f"Invalid value at 'parameters' (type.googleapis.com/google.protobuf.Struct), {_json.text(parameters)}"
        )
    return _check_size(parameters or {}, "parameters.", "PredictRequest", gemini.DIALECT.model(request, body))


def _vertex_document(exchange: Exchange) -> dict[str, Any]:
    """`predictions`, as recorded of text-embedding-004 in 2026-08; those of a multimodal model as it is documented."""
    body = exchange.body
    texts = [_instance_text(instance) for instance in _instances(body)]
    parameters = body.get("parameters") or {}
    size = _size(parameters) or _whole(parameters.get("dimension"))
    found = vectors_of(exchange, texts, [size] * len(texts))
    if gemini.DIALECT.model(exchange.request, body).startswith(_MULTIMODAL):
        predictions: list[dict[str, Any]] = [
            {f"{name}Embedding": one for name in ("text", "image") if name in instance}
            for one, instance in zip(found, _instances(body), strict=True)
        ]
        return exchange.extend({"predictions": predictions})
    predictions = [
        {"embeddings": {"statistics": {"truncated": False, "token_count": tokens(text)}, "values": one}}
        for one, text in zip(found, texts, strict=True)
    ]
    billable = sum(len("".join(text.split())) for text in texts)
    return exchange.extend({"predictions": predictions, "metadata": {"billableCharacterCount": billable}})


def _vertex_parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these embeddings again."""
    return Reply(*(Embedding(item["embeddings"]["values"]) for item in document["predictions"]))


VERTEX: Final = replace(
    GEMINI,
    name="vertex_embeddings",
    label="Vertex AI embeddings",
    read=_vertex_read,
    check=_vertex_check,
    document=_vertex_document,
    parts=_vertex_parts,
    counted=lambda exchange: counted([_instance_text(instance) for instance in _instances(exchange.body)]),
    sdk_types=(),
)
"""`:predict` of the models for texts and of the multimodal ones."""
