"""Embeddings: a vector for each input, made up from its text unless a rule pins one.

Each vocabulary is a dialect of its own, since its turns have parts (`Embedding`) and its requests have texts to look at:
the inputs of a call are its `user_texts`. What they share with chat, errors and headers, is chat's.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from fake_llm import _json
from fake_llm._dialect import Exchange, media, message
from fake_llm._dialects import bedrock_converse, cohere, gemini, ollama, openai_chat, watsonx
from fake_llm._dialects.openai_chat import refused, wrong_type
from fake_llm._differences import jina, mistral, voyage
from fake_llm._differences.dashscope_native import GENERATION
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._model import Request, Usage, View
from fake_llm._tokens import tokens
from fake_llm._turns import Embedding, Error, Reply
from fake_llm._vectors import LARGEST, size_of, vector

__all__ = [
    "COHERE",
    "DASHSCOPE",
    "GEMINI",
    "JINA",
    "MISTRAL",
    "NOVA",
    "OLLAMA",
    "OPENAI",
    "TITAN",
    "VERTEX",
    "VOYAGE",
    "WATSONX",
]

Input: TypeAlias = "str | Sequence[int]"
"""A text, or the ids of its tokens."""


def _vectors(exchange: Exchange, inputs: Sequence[Input], sizes: Sequence[int | None]) -> list[Sequence[float]]:
    """A vector for each input: those of the turn, else made up in the size that is asked for, or the model's."""
    pinned: tuple[Embedding, ...] = exchange.choice.of(Embedding)
    if not pinned:
        usual = size_of(exchange.asked.dialect.model(exchange.request, exchange.body))
        return [vector(item, size or usual) for item, size in zip(inputs, sizes, strict=True)]
    if len(pinned) == 1:
        return [pinned[0].vector] * len(inputs)
    if len(pinned) != len(inputs):
        raise ScriptMismatchError(
            sentence(
                f"The turn has {len(pinned)} embeddings.",
                f"The request has {len(inputs)} input{'' if len(inputs) == 1 else 's'}.",
                f"Write {len(inputs)} of them, or one Embedding([…]) for every input.",
            )
        )
    return [one.vector for one in pinned]


def _count(inputs: Sequence[Input]) -> Usage:
    return Usage(sum(tokens(item) if isinstance(item, str) else len(item) for item in inputs), 0)


def _view(inputs: Sequence[Input], params: Mapping[str, Any]) -> View:
    """Each input as a user message; one of token ids has no text."""
    said = ([item] if isinstance(item, str) else [media("[tokens]")] for item in inputs)
    return View(tuple(message("user", texts) for texts in said), params=params)


# --- OpenAI ------------------------------------------------------------------------------------------------------------

_NAMES: Final = {"text-embedding-ada-002": "text-embedding-ada-002-v2"}
"""Models that OpenAI answers for under another name (recorded 2024 to 2026)."""
_FIXED: Final = "text-embedding-ada-002"
_SHORTENED: Final = ("text-embedding-3-small", "text-embedding-3-large")
_MOST: Final = 2048
_BAD_INPUT: Final = (
    "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
)


def _openai_inputs(value: Any) -> list[Input]:
    """One text, one list of token ids, or a list of either."""
    if isinstance(value, list) and not _is_tokens(value):
        return [_openai_input(item) for item in value]
    return [_openai_input(value)]


def _openai_input(item: Any) -> Input:
    if isinstance(item, str) or _is_tokens(item):
        found: Input = item
        return found
    # Hosts that embed more than text take objects with a text, or a list of these, in their place.
    return "\n".join(_texts(item)) or _json.text(item)


def _texts(item: Any) -> Iterator[str]:
    if isinstance(item, list):
        for part in item:
            yield from _texts(part)
    elif isinstance(item, dict):
        text = item.get("text")
        yield from [text] if isinstance(text, str) else _texts(item.get("content"))


def _is_tokens(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int for item in value)


def _openai_read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("model", "input") and value is not None}
    return _view(_openai_inputs(body["input"]), params)


def _openai_check(request: Request, body: Any) -> Error | None:
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
    if strict and isinstance(given, list) and len(given) > _MOST and not _is_tokens(given):
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
    items = [value] if isinstance(value, str) or _is_tokens(value) else value
    texts = all(isinstance(item, str) and item for item in items)
    return texts or all(_is_tokens(item) for item in items)


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


def _openai_document(exchange: Exchange) -> dict[str, Any]:
    body, usage = exchange.body, exchange.usage
    inputs = _openai_inputs(body["input"])
    found = _vectors(exchange, inputs, [body.get("dimensions")] * len(inputs))
    encoding = body.get("encoding_format") or _ENCODINGS.get(exchange.provider)
    model = _NAMES.get(exchange.model, exchange.model) if exchange.provider == "openai" else exchange.model
    document: dict[str, Any] = {
        "object": "list",
        "data": [
            {"object": "embedding", "embedding": _written(one, encoding), "index": index}
            for index, one in enumerate(found)
        ],
        "model": model,
        "usage": {"prompt_tokens": usage.input_tokens, "total_tokens": usage.total, **usage.details},
    }
    return exchange.extend(document)


_ENCODINGS: Final = {"perplexity": "base64_int8"}
"""What a host writes that isn't told otherwise, where it isn't numbers (recorded 2026-08)."""


def _written(numbers: Sequence[float], encoding: Any) -> Any:
    """The numbers themselves, or base64 of them: in 32 bits each, the least byte first, in 8 bits, or of their signs."""
    if encoding == "base64":
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
    elif encoding == "base64_int8":
        most = max(map(abs, numbers)) or 1.0
        packed = struct.pack(f"{len(numbers)}b", *(round(number / most * 127) for number in numbers))
    elif encoding == "base64_binary":
        bits = "".join("1" if number > 0 else "0" for number in numbers)
        packed = bytes(int(bits[start : start + 8].ljust(8, "0"), 2) for start in range(0, len(bits), 8))
    else:
        return numbers
    return base64.b64encode(packed).decode()


def _openai_parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these embeddings again."""
    usage = document.get("usage") or {}
    count = usage.get("prompt_tokens")
    return Reply(
        *(Embedding(_unpacked(item["embedding"])) for item in document["data"]),
        model=document.get("model"),
        usage=Usage(count, 0, total_tokens=usage.get("total_tokens")) if isinstance(count, int) else None,
    )


def _unpacked(found: Any) -> Any:
    if not isinstance(found, str):
        return found
    raw = base64.b64decode(found)
    return struct.unpack(f"<{len(raw) // 4}f", raw)


OPENAI: Final = replace(
    openai_chat.DIALECT,
    name="openai_embeddings",
    label="OpenAI embeddings",
    read=_openai_read,
    check=_openai_check,
    stream=lambda request, body: False,
    document=_openai_document,
    parts=_openai_parts,
    carries=frozenset({Embedding}),
    choices=False,
    shaping=None,
    counted=lambda exchange: _count(_openai_inputs(exchange.body["input"])),
    sdk_types=(
        "openai.types.create_embedding_response.CreateEmbeddingResponse",
        "groq.types.create_embedding_response.CreateEmbeddingResponse",
    ),
)
"""`POST /v1/embeddings`, and the same on a deployment."""


# --- Mistral -----------------------------------------------------------------------------------------------------------

_INTEGERS: Final = {"int8": ("b", 127, 0), "uint8": ("B", 127, 128)}
_BITS: Final = ("binary", "ubinary")


def _mistral_read(request: Request, body: Any) -> View:
    view = _openai_read(request, body)
    size = body.get("output_dimension")
    return view if size is None else replace(view, params={**view.params, "dimensions": size})


def _mistral_document(exchange: Exchange) -> dict[str, Any]:
    """As recorded (2026-08); other kinds of numbers by the types of its SDK (3.7)."""
    body, usage = exchange.body, exchange.usage
    inputs = _openai_inputs(body["input"])
    found = _vectors(exchange, inputs, [body.get("output_dimension")] * len(inputs))
    document: dict[str, Any] = {
        "id": exchange.id or mistral.new_id(exchange.ids),
        "object": "list",
        "data": [
            {"object": "embedding", "embedding": _quantised(one, body), "index": index}
            for index, one in enumerate(found)
        ],
        "model": exchange.model,
        "usage": {
            "prompt_audio_seconds": None,
            "prompt_tokens": usage.input_tokens,
            "total_tokens": usage.total,
            "completion_tokens": usage.output_tokens,
            "request_count": None,
            "prompt_tokens_details": None,
            "completion_tokens_details": None,
            "service_tier": None,
            "prompt_token_details": None,
            **usage.details,
        },
    }
    return exchange.extend(document)


def _quantised(numbers: Sequence[float], body: Mapping[str, Any]) -> Any:
    """The numbers in the kind that is asked for, or base64 of them."""
    kind = body.get("output_dtype")
    if kind in _INTEGERS:
        code, scale, shift = _INTEGERS[kind]
        most = max(map(abs, numbers)) or 1.0
        values: Sequence[float] = [round(number / most * scale) + shift for number in numbers]
    elif kind in _BITS:
        bits = "".join("1" if number > 0 else "0" for number in numbers)
        code, shift = ("b", 128) if kind == "binary" else ("B", 0)
        values = [int(bits[start : start + 8].ljust(8, "0"), 2) - shift for start in range(0, len(bits), 8)]
    else:
        code, values = "f", numbers
    if body.get("encoding_format") != "base64":
        return values
    return base64.b64encode(struct.pack(f"<{len(values)}{code}", *values)).decode()


MISTRAL: Final = replace(
    OPENAI,
    name="mistral_embeddings",
    label="Mistral embeddings",
    read=_mistral_read,
    check=mistral.check_embeddings,
    document=_mistral_document,
    sdk_types=(
        "mistralai.client.models.embeddingresponse.EmbeddingResponse",
        "mistralai.models.embeddingresponse.EmbeddingResponse",
    ),
)
"""`POST /v1/embeddings` of Mistral."""


# --- Gemini ------------------------------------------------------------------------------------------------------------

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
    texts = "\n".join(_texts(parts if isinstance(parts, list) else [parts]))
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
    found = _vectors(exchange, _gemini_inputs(request, body), [_size(asked) for asked in _requests(request, body)])
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
    counted=lambda exchange: _count(_gemini_inputs(exchange.request, exchange.body)),
    sdk_types=("google.genai.types.EmbedContentResponse",),
)
"""`:embedContent` and `:batchEmbedContents`."""


# --- Ollama ------------------------------------------------------------------------------------------------------------

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


def _ollama_inputs(request: Request, body: Mapping[str, Any]) -> list[str]:
    """The texts; an empty one alone is none, and only loads the model."""
    given = body.get("prompt" if _is_former(request) else "input")
    return list(given) if isinstance(given, list) else [given] if given else []


def _ollama_read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("model", "input", "prompt", "options")}
    options = body.get("options") or {}
    return _view(
        _ollama_inputs(request, body),
        {name: value for name, value in {**options, **params}.items() if value is not None},
    )


def _ollama_check(request: Request, body: Any) -> Error | None:
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


def _ollama_document(exchange: Exchange) -> dict[str, Any]:
    request, body = exchange.request, exchange.body
    inputs = _ollama_inputs(request, body)
    found = _vectors(exchange, inputs, [_asked_size(body)] * len(inputs)) if inputs else []
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


def _ollama_parts(document: Mapping[str, Any]) -> Reply:
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
    read=_ollama_read,
    check=_ollama_check,
    stream=lambda request, body: False,
    document=_ollama_document,
    parts=_ollama_parts,
    carries=frozenset({Embedding}),
    shaping=None,
    counted=lambda exchange: _count(_ollama_inputs(exchange.request, exchange.body)),
    sdk_types=("ollama._types.EmbedResponse", "ollama._types.EmbeddingsResponse"),
)
"""`POST /api/embed`, and `/api/embeddings` as it was before."""


# --- DashScope ----------------------------------------------------------------------------------


def _dashscope_inputs(body: Any) -> list[str]:
    given = body.get("input") if isinstance(body, dict) else None
    texts = given.get("texts") if isinstance(given, dict) else None
    return [item for item in texts if isinstance(item, str)] if isinstance(texts, list) else []


def _dashscope_read(request: Request, body: Any) -> View:
    return _view(_dashscope_inputs(body), {**(body.get("parameters") or {})})


def _dashscope_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict) or not isinstance(body.get("model"), str) or not body["model"]:
        return Error(
            "bad_request", "Required parameter(model) missing or invalid, please check the request parameters."
        )
    given = body.get("input")
    texts = given.get("texts") if isinstance(given, dict) else None
    if isinstance(texts, list) and texts and all(isinstance(item, str) for item in texts):
        return None
    return Error("bad_request", "Input should be a valid list of strings: input.texts")


def _dashscope_document(exchange: Exchange) -> dict[str, Any]:
    inputs = _dashscope_inputs(exchange.body)
    asked = exchange.body.get("parameters") or {}
    found = _vectors(exchange, inputs, [asked.get("dimension")] * len(inputs))
    listed = [{"embedding": list(item), "text_index": index} for index, item in enumerate(found)]
    usage = {"total_tokens": exchange.usage.input_tokens}
    return exchange.extend({"output": {"embeddings": listed}, "usage": usage, "request_id": exchange.ids.uuid()})


def _dashscope_parts(document: Mapping[str, Any]) -> Reply:
    return Reply(
        *(Embedding(item["embedding"]) for item in document["output"]["embeddings"]),
        usage=Usage((document.get("usage") or {}).get("total_tokens") or 0, 0),
    )


DASHSCOPE: Final = replace(
    GENERATION,
    name="dashscope_embeddings",
    label="DashScope embeddings",
    read=_dashscope_read,
    check=_dashscope_check,
    stream=lambda request, body: False,
    document=_dashscope_document,
    parts=_dashscope_parts,
    headers=lambda exchange: (),
    carries=frozenset({Embedding}),
    counted=lambda exchange: _count(_dashscope_inputs(exchange.body)),
)
"""`POST /api/v1/services/embeddings/text-embedding/text-embedding` (dashscope 2.0, 2026-11)."""


# --- watsonx ------------------------------------------------------------------------------------


def _watsonx_inputs(body: Any) -> list[str]:
    given = body.get("inputs") if isinstance(body, dict) else None
    return [item for item in given if isinstance(item, str)] if isinstance(given, list) else []


def _watsonx_read(request: Request, body: Any) -> View:
    return _view(_watsonx_inputs(body), {**(body.get("parameters") or {})})


def _watsonx_check(request: Request, body: Any) -> Error | None:
    given = body.get("inputs") if isinstance(body, dict) else None
    if isinstance(given, list) and given and all(isinstance(item, str) for item in given) and body.get("model_id"):
        return None
    return Error("bad_request", "Json document validation error: model_id and inputs, a list of strings, are required")


def _watsonx_document(exchange: Exchange) -> dict[str, Any]:
    inputs = _watsonx_inputs(exchange.body)
    found = _vectors(exchange, inputs, [None] * len(inputs))
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


def _watsonx_parts(document: Mapping[str, Any]) -> Reply:
    return Reply(
        *(Embedding(item["embedding"]) for item in document["results"]),
        model=document.get("model_id"),
        usage=Usage(document.get("input_token_count") or 0, 0),
    )


WATSONX: Final = replace(
    watsonx.GENERATE,
    name="watsonx_embeddings",
    label="watsonx embeddings",
    read=_watsonx_read,
    check=_watsonx_check,
    stream=lambda request, body: False,
    document=_watsonx_document,
    parts=_watsonx_parts,
    carries=frozenset({Embedding}),
    shaping=None,
    counted=lambda exchange: _count(_watsonx_inputs(exchange.body)),
    sdk_types=(),
)
"""`POST /ml/v1/text/embeddings` (ibm-watsonx-ai 1.8, 2026-11)."""


# --- Cohere ------------------------------------------------------------------------------------------------------------

_EMBED_TYPES: Final = {
    "model": "string",
    "input_type": "string",
    "truncate": "string",
    **dict.fromkeys(("texts", "images", "inputs", "embedding_types"), "array"),
    **dict.fromkeys(("output_dimension", "max_tokens"), "int32"),
}
_COHERE_BATCH: Final = 96
_COHERE_SIZES: Final = (256, 512, 1024, 1536)
_COHERE_TAKEN: Final = ("model", "texts", "images", "inputs")
_NAMED: Final = ("v3", "v4")
"""Models of these generations have to be told what their input is."""


def _cohere_inputs(body: Mapping[str, Any]) -> list[str]:
    """Each text, each picture's URL, or the texts of what is made of both."""
    given = body.get("texts") or body.get("images")
    if given:
        return [item if isinstance(item, str) else _json.text(item) for item in given]
    return ["\n".join(_texts(item)) or _json.text(item) for item in body.get("inputs") or ()]


def _cohere_read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in _COHERE_TAKEN and value is not None}
    if "output_dimension" in params:
        params["dimensions"] = params.pop("output_dimension")
    if body.get("images") and not body.get("texts"):
        return View(tuple(message("user", [media("[image]")]) for _ in body["images"]), params=params)
    return _view(_cohere_inputs(body), params)


def _is_v2(request: Request) -> bool:
    return "/v2/" in request.path


def _cohere_check(request: Request, body: Any) -> Error | None:
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
    if len(given) > _COHERE_BATCH:
        return cohere.refused(
            f"invalid request: total number of texts must be at most {_COHERE_BATCH} - received {len(given)}"
        )
    wrong = _check_cohere_items(body)
    if wrong is None and not body.get("input_type") and any(name in str(body.get("model")) for name in _NAMED):
        return cohere.refused("invalid request: valid input_type must be provided with the provided model")
    return wrong


def _check_cohere_items(body: Mapping[str, Any]) -> Error | None:
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
    if size is not None and size not in _COHERE_SIZES:
        sizes = ", ".join(map(str, _COHERE_SIZES))
        return cohere.refused(f"invalid request: output_dimension must be one of {sizes}")
    return None


def _cohere_document(exchange: Exchange) -> dict[str, Any]:
    body, v2 = exchange.body, _is_v2(exchange.request)
    inputs = _cohere_inputs(body)
    found = _vectors(exchange, inputs, [body.get("output_dimension")] * len(inputs))
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


def _bits(numbers: Sequence[float]) -> bytes:
    """The signs, eight of them a byte, the first one in its highest bit."""
    bits = "".join("1" if number > 0 else "0" for number in numbers)
    return bytes(int(bits[start : start + 8].ljust(8, "0"), 2) for start in range(0, len(bits), 8))


def _bytes(numbers: Sequence[float]) -> list[int]:
    """The numbers in 8 bits with a sign, the largest of them as far from nothing as can be."""
    most = max(map(abs, numbers)) or 1.0
    return [round(number / most * 127) for number in numbers]


_PACKED: Final[Mapping[str, Any]] = {
    "float": list,
    "int8": _bytes,
    "uint8": lambda numbers: [number + 128 for number in _bytes(numbers)],
    "binary": lambda numbers: [byte - 128 for byte in _bits(numbers)],
    "ubinary": lambda numbers: list(_bits(numbers)),
    "base64": lambda numbers: _written(numbers, "base64"),
}
"""What each of Cohere's types of embeddings makes of a vector: numbers are never fewer than asked for but for bits."""


def _cohere_parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these embeddings again, as exactly as the types that are there say them."""
    found = document["embeddings"]
    if isinstance(found, Mapping):
        listed = (found[kind] for kind in ("float", "base64", "int8", "uint8", "binary", "ubinary") if found.get(kind))
        found = list(map(_unpacked, next(listed, [])))
    billed = ((document.get("meta") or {}).get("billed_units") or {}).get("input_tokens")
    usage = Usage(int(billed), 0) if isinstance(billed, (int, float)) else None
    return Reply(*map(Embedding, found), id=document.get("id"), usage=usage)


COHERE: Final = replace(
    cohere.CHAT_V2,
    name="cohere_embed",
    label="Cohere embed",
    read=_cohere_read,
    check=_cohere_check,
    stream=lambda request, body: False,
    document=_cohere_document,
    parts=_cohere_parts,
    carries=frozenset({Embedding}),
    choices=False,
    shaping=None,
    counted=lambda exchange: _count(_cohere_inputs(exchange.body)),
    sdk_types=(
        "cohere.types.embed_response.EmbeddingsFloatsEmbedResponse",
        "cohere.types.embed_response.EmbeddingsByTypeEmbedResponse",
        "cohere.types.embed_by_type_response.EmbedByTypeResponse",
    ),
)
"""`POST /v1/embed` and `/v2/embed`."""


# --- Voyage AI ---------------------------------------------------------------------------------------------------------

_VOYAGE_SIZES: Final = (256, 512, 1024, 2048)
_VOYAGE_KINDS: Final[Mapping[str, tuple[Any, ...]]] = {
    "input_type": (None, "query", "document"),
    "output_dtype": (None, "float", "int8", "uint8", "binary", "ubinary"),
    "encoding_format": (None, "base64"),
    "output_dimension": (None, *_VOYAGE_SIZES),
}
_CHUNK: Final = 512
"""Tokens in a chunk where the request doesn't say it; how the API really divides isn't known."""
_CHARACTERS: Final = 4


def _voyage_kind(request: Request) -> str:
    return request.path_part(-1)


def _voyage_groups(request: Request, body: Mapping[str, Any]) -> list[list[str]]:
    """The texts of each document; outside of contextualized embeddings one each."""
    kind = _voyage_kind(request)
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


def _voyage_inputs(request: Request, body: Mapping[str, Any]) -> list[str]:
    return [text for texts in _voyage_groups(request, body) for text in texts]


def _voyage_read(request: Request, body: Any) -> View:
    left_out = ("model", "input", "inputs")
    params = {name: value for name, value in body.items() if name not in left_out and value is not None}
    if "output_dimension" in params:
        params["dimensions"] = params.pop("output_dimension")
    if _voyage_kind(request) == "multimodalembeddings":
        return View(tuple(message("user", list(_shown(item))) for item in body["inputs"]), params=params)
    return _view(_voyage_inputs(request, body), params)


def _voyage_check(request: Request, body: Any) -> Error | None:
    """The API's own refusal; an SDK that sends `encoding_format="float"`, as others do, is refused too."""
    if not isinstance(body, dict):
        return Error("bad_request", voyage.BAD_JSON)
    kind = _voyage_kind(request)
    name = "input" if kind == "embeddings" else "inputs"
    if body.get("model") is None or body.get(name) is None:
        return voyage.refused("Your request body was missing one or more required arguments.")
    if not isinstance(body["model"], str):
        return voyage.refused("Error for argument 'model': Input should be a valid string")
    for argument, allowed in _VOYAGE_KINDS.items():
        value = body.get(argument)
        if isinstance(value, (list, dict, bool)) or value not in allowed:
            said = value if isinstance(value, str) else _json.text(value)
            return voyage.refused(f"Value '{said}' supplied for {argument} is not allowed")
    for argument in ("chunk_size", "chunk_overlap"):
        if body.get(argument) is not None and (type(body[argument]) is not int or body[argument] < 0):
            return voyage.refused(f"Error for argument '{argument}': Input should be a valid integer")
    if (body.get("chunk_overlap") or 0) >= (body.get("chunk_size") or _CHUNK):
        return voyage.refused("Error for argument 'chunk_overlap': Value error, it must be less than chunk_size")
    return None if _voyage_fits(kind, body[name]) else voyage.refused(_voyage_wrong(kind, name, body[name]))


def _voyage_fits(kind: str, given: Any) -> bool:
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


def _voyage_wrong(kind: str, name: str, given: Any) -> str:
    empty = given in ("", []) or (isinstance(given, list) and any(item in ("", []) for item in given))
    what = "Value error, Input cannot contain empty strings or empty lists" if empty else "Input should be a valid list"
    return f"Error for argument '{name}': {what}"


def _voyage_document(exchange: Exchange) -> dict[str, Any]:
    """As its API reference shows it and its SDK reads it (2026-11)."""
    request, body, usage = exchange.request, exchange.body, exchange.usage
    kind, groups = _voyage_kind(request), _voyage_groups(request, body)
    inputs = [text for texts in groups for text in texts]
    found = [_quantised(one, body) for one in _vectors(exchange, inputs, [body.get("output_dimension")] * len(inputs))]
    spent: dict[str, Any] = {"total_tokens": usage.total, **usage.details}
    more: dict[str, Any] = {}
    if kind == "contextualizedembeddings":
        chunked = bool(body.get("enable_auto_chunking"))
        vectors = iter(found)
        data = [
            {
                "object": "list",
                "data": [
                    {**_voyage_vector(next(vectors), place), **({"text": text} if chunked else {})}
                    for place, text in enumerate(texts)
                ],
                "index": index,
            }
            for index, texts in enumerate(groups)
        ]
        more = {"chunker_version": "1"} if chunked else {}
    else:
        data = [_voyage_vector(one, index) for index, one in enumerate(found)]
    if kind == "multimodalembeddings":
        spent = {"text_tokens": usage.total, "image_pixels": 0, "video_pixels": 0, **spent}
    return exchange.extend({"object": "list", "data": data, "model": exchange.model, "usage": spent, **more})


def _voyage_vector(vector: Any, index: int) -> dict[str, Any]:
    return {"object": "embedding", "embedding": vector, "index": index}


VOYAGE: Final = replace(
    OPENAI,
    name="voyage_embeddings",
    label="Voyage AI embeddings",
    read=_voyage_read,
    check=_voyage_check,
    bad_json=voyage.BAD_JSON,
    document=_voyage_document,
    failure=voyage.ERRORS.failure,
    failure_events=voyage.ERRORS.failure_events,
    headers=voyage.headers,
    counted=lambda exchange: _count(_voyage_inputs(exchange.request, exchange.body)),
    sdk_types=(),
)
"""`POST /v1/embeddings`, `/v1/contextualizedembeddings` and `/v1/multimodalembeddings`."""


# --- Jina AI -----------------------------------------------------------------------------------------------------------


_JINA_PACKED: Final[Mapping[str, Any]] = {
    "float": list,
    "base64": lambda numbers: _written(numbers, "base64"),
    "binary": lambda numbers: [byte - 128 for byte in _bits(numbers)],
    "ubinary": lambda numbers: list(_bits(numbers)),
}


def _jina_type(body: Mapping[str, Any]) -> str:
    """The kind of numbers; of several kinds the first."""
    kind = body.get("embedding_type") or body.get("encoding_format") or "float"
    return str(kind[0] if isinstance(kind, list) and kind else kind)


def _jina_read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("model", "input") and value is not None}
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    said = ([media("[image]")] if _is_picture(item) else _jina_texts(item) for item in given)
    return View(tuple(message("user", texts) for texts in said), params=params)


def _is_picture(item: Any) -> bool:
    return isinstance(item, dict) and "image" in item and "text" not in item


def _jina_texts(item: Any) -> list[str]:
    return [item] if isinstance(item, str) else list(_texts(item)) or [_json.text(item)]


def _jina_check(request: Request, body: Any) -> Error | None:
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
    if _jina_type(body) not in _JINA_PACKED:
        return jina.refused(f"body.embedding_type: Input should be one of {', '.join(_JINA_PACKED)}")
    return None


def _jina_document(exchange: Exchange) -> dict[str, Any]:
    body, usage = exchange.body, exchange.usage
    inputs = _openai_inputs(body["input"])
    packed = _JINA_PACKED[_jina_type(body)]
    found = _vectors(exchange, inputs, [body.get("dimensions")] * len(inputs))
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
    read=_jina_read,
    check=_jina_check,
    bad_json=jina.BAD_JSON,
    document=_jina_document,
    failure=jina.ERRORS.failure,
    failure_events=jina.ERRORS.failure_events,
    headers=jina.headers,
    sdk_types=(),
)
"""`POST /v1/embeddings` of Jina AI, as its API is documented (2026-11)."""


# --- Vertex AI's own models --------------------------------------------------------------------------------------------

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
    return _view([_instance_text(instance) for instance in instances], params)


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
    found = _vectors(exchange, texts, [size] * len(texts))
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
    counted=lambda exchange: _count([_instance_text(instance) for instance in _instances(exchange.body)]),
    sdk_types=(),
)
"""`:predict` of the models for texts and of the multimodal ones."""


# --- Amazon ------------------------------------------------------------------------------------------------------------


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
    (found,) = _vectors(exchange, _titan_inputs(body), [_titan_size(body)])
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
    counted=lambda exchange: _count([exchange.body.get("inputText") or ""]),
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
    (found,) = _vectors(exchange, [_nova_input(body)], [_nova_params(body).get("embeddingDimension")])
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
    counted=lambda exchange: _count([_nova_input(exchange.body)]),
)
"""Nova's multimodal embeddings of one thing (AWS's pages, 2026-11)."""
