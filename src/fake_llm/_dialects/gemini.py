"""Gemini: `models/{model}:generateContent` and `:streamGenerateContent`, on the Gemini API and on Vertex AI.

The request's fields are read in camelCase and in snake_case: the API takes both, and clients send
both. What is written has the key order of the Gemini API, or that of Vertex for the provider
`vertex`, as recorded up to 2026-08.

A thought's signature stands beside the part that follows the thought, not on the thought.

Sources are metadata of a candidate: `groundingMetadata` with the offsets of what they support, in bytes, and
`urlContextMetadata`. Where nothing in the request or the turn grounds, `citationMetadata` says the same: what the
model recites. A blocked answer is a candidate without content; a blocked prompt has no candidate, but `promptFeedback`.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Final, TypeAlias
from urllib.parse import quote_plus, unquote, urlsplit

from fake_llm import _gemini_signatures, _json
from fake_llm._dialect import (
    Choice,
    Delta,
    Dialect,
    Exchange,
    Ids,
    WireEvent,
    media,
    merge,
    message,
    parsed_arguments,
    text_of,
)
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import (
    AUTO,
    HeaderItems,
    Message,
    Request,
    Response,
    SentToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._turns import (
    Audio,
    Citation,
    Error,
    Image,
    Refusal,
    Reply,
    ServerTool,
    Thinking,
    ToolCall,
)

__all__ = ["DIALECT"]

# --- the URL ---------------------------------------------------------------------------------------------------------


def stream(request: Request, body: Any) -> bool:
    """Whether the method in the URL is the one that streams."""
    return _last(request.path)[1] == "streamGenerateContent"


def model(request: Request, body: Any) -> str:
    """The model in the URL: its last part, without the method."""
    return _last(request.path)[0]


@lru_cache(maxsize=256)
def _last(path: str) -> tuple[str, str]:
    """The model and the method in the last part of a path."""
    name, colon, verb = unquote(path.rsplit("/", maxsplit=1)[-1]).rpartition(":")
    return (name if colon else verb).rpartition("/")[2], verb


# --- reading a request -----------------------------------------------------------------------------------------------

_NEUTRAL: Final = {
    "maxOutputTokens": "max_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "stopSequences": "stop",
    "seed": "seed",
    "candidateCount": "n",
}
_SCHEMAS: Final = frozenset({"responseSchema", "responseJsonSchema", "_responseJsonSchema", "responseFormat"})
_NO_PARAMS: Final = frozenset({"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "model"})
_ROLES: Final = {"model": "assistant", "assistant": "assistant"}
_MODES: Final = {"ANY": "any", 2: "any", "NONE": "none", 3: "none"}


def read(request: Request, body: Any) -> View:
    """The view of a request, in camelCase or in snake_case."""
    fields = _camel_keys(body)
    config = _camel_keys(fields.get("generationConfig") or {})
    tools = _tools(fields.get("tools"))
    return View(
        messages=tuple(_messages(fields.get("contents"))),
        system=_system(fields.get("systemInstruction")),
        tools=tools,
        tool_choice=_tool_choice(fields.get("toolConfig")),
        schema=_output_schema(config),
        params=_params(fields, config),
        whole=not fields.get("cachedContent"),
        server_tools=_server_tools(fields),
    )


def _either(holder: Mapping[str, Any], camel: str, snake: str) -> Any:
    value = holder.get(camel)
    return holder.get(snake) if value is None else value


_UNDERSCORE: Final = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def _camel(name: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name) if "_" in name else name


def _camel_keys(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {_camel(name): value for name, value in holder.items() if value is not None}


def _many(value: Any) -> list[Any]:
    """A repeated field: the API takes one message in place of a list of one."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _system(content: Any) -> str:
    if isinstance(content, str):
        return content
    found: list[str] = []
    for item in _many(content):
        parts = _many(item.get("parts")) if isinstance(item, dict) else [item]
        found += [text for text in map(_text_of, parts) if text is not None]
    return "\n".join(found)


def _text_of(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else None


def _messages(contents: Any) -> Iterator[Message]:
    for content in _many(contents):
        if isinstance(content, str):
            yield message("user", [content])
        elif isinstance(content, dict):
            yield from _messages_of(content)


def _messages_of(content: dict[str, Any]) -> Iterator[Message]:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[SentToolCall] = []
    results = 0
    for part in _many(content.get("parts")):
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, dict):
            continue
        text = part.get("text")
        if isinstance(text, str):
            (thoughts if part.get("thought") else texts).append(text)
            continue
        call = _either(part, "functionCall", "function_call")
        if isinstance(call, dict):
            arguments = call.get("args")
            calls.append(SentToolCall(_name(call), {} if arguments is None else arguments, _id(call)))
            continue
        result = _either(part, "functionResponse", "function_response")
        if isinstance(result, dict):
            results += 1
            yield message("tool", (), tool_results=[_result(result)])
            continue
        placeholder = _media_of(part)
        if placeholder is not None:
            texts.append(placeholder)
    if texts or thoughts or calls or not results:
        role = _ROLES.get(str(content.get("role")), "user")
        yield message("assistant" if role == "assistant" else "user", texts, calls, (), "\n".join(thoughts))


def _name(holder: Mapping[str, Any]) -> str:
    name = holder.get("name")
    return name if isinstance(name, str) else ""


def _id(holder: Mapping[str, Any]) -> str | None:
    given = holder.get("id")
    return given if isinstance(given, str) and given else None


_KINDS: Final = {"image": media("[image]"), "video": media("[video]"), "audio": media("[audio]")}
_FILE: Final = media("[file]")


def _media_of(part: Mapping[str, Any]) -> media | None:
    data = _either(part, "inlineData", "inline_data")
    if data is None:
        data = _either(part, "fileData", "file_data")
    if not isinstance(data, dict):
        return None
    return _KINDS.get(str(_either(data, "mimeType", "mime_type")).partition("/")[0], _FILE)


_WRAPPERS: Final = frozenset({"result", "output", "content", "response", "return_value", "text", "error"})
"""The keys under which clients wrap a result that is no JSON object, as the field demands one."""


def _result(result: Mapping[str, Any]) -> ToolResult:
    response = result.get("response")
    text, failed = _result_text(response)
    media_texts = [
        found for found in (_media_of(part) for part in _many(result.get("parts")) if isinstance(part, dict)) if found
    ]
    return ToolResult(
        _id(result), _name(result), "\n".join([text, *media_texts] if text or not media_texts else media_texts), failed
    )


def _result_text(response: Any) -> tuple[str, bool]:
    if not isinstance(response, dict):
        return _written(response), False
    failed = response.get("isError") is True or response.keys() == {"error"}
    keys = response.keys() - {"name", "isError"} if "content" in response else response.keys()
    if len(keys) == 1:
        (key,) = keys
        if key in _WRAPPERS:
            return _written(response[key]), failed
    return _written(response), failed


def _written(value: Any) -> str:
    """A result as text: its text where it is text, or a list of text parts; JSON else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        texts = [_text_of(item) if isinstance(item, dict) else None for item in value]
        if all(text is not None for text in texts):
            return "\n".join(text for text in texts if text is not None)
    return _json.text(value)


def _tools(tools: Any) -> dict[str, ToolSpec]:
    found: dict[str, ToolSpec] = {}
    for tool in _many(tools):
        declarations = (
            _either(tool, "functionDeclarations", "function_declarations") if isinstance(tool, dict) else None
        )
        for declaration in _many(declarations):
            name = declaration.get("name") if isinstance(declaration, dict) else None
            if isinstance(name, str):
                found[name] = ToolSpec(name, _parameters(declaration), declaration.get("description") or "")
    return found


def _retry(seconds: float) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": _seconds(seconds)}


def _parameters(declaration: Mapping[str, Any]) -> dict[str, Any]:
    schema = declaration.get("parameters")
    if schema is None:
        schema = _either(declaration, "parametersJsonSchema", "parameters_json_schema")
    return _json_schema(schema) if isinstance(schema, dict) else {}


def _tool_choice(config: Any) -> ToolChoice:
    calling = _either(config, "functionCallingConfig", "function_calling_config") if isinstance(config, dict) else None
    if not isinstance(calling, dict):
        return AUTO
    mode = calling.get("mode")
    mode = _MODES.get(mode.upper() if isinstance(mode, str) else mode, "auto")
    names = _either(calling, "allowedFunctionNames", "allowed_function_names")
    allowed = frozenset(name for name in _many(names) if isinstance(name, str)) or None
    if mode == "any":
        if allowed is not None and len(allowed) == 1:
            return ToolChoice("tool", next(iter(allowed)), allowed)
        return ToolChoice("any", None, allowed)
    return ToolChoice("none") if mode == "none" else ToolChoice("auto", None, allowed) if allowed else AUTO


def _output_schema(config: Mapping[str, Any]) -> dict[str, Any] | None:
    mime = config.get("responseMimeType")
    if mime == "text/x.enum":  # the answer is the bare word, not JSON
        return None
    for key in ("responseSchema", "responseJsonSchema", "_responseJsonSchema"):
        schema = config.get(key)
        if isinstance(schema, dict):
            return _json_schema(schema)
    for item in _many(config.get("responseFormat")):
        text = item.get("text") if isinstance(item, dict) else None
        if isinstance(text, dict):
            schema = text.get("schema")
            return _json_schema(schema) if isinstance(schema, dict) else {}
    return {} if mime == "application/json" else None


def _params(fields: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    params = {_NEUTRAL.get(name, name): value for name, value in config.items() if name not in _SCHEMAS}
    if "stop" in params:
        params["stop"] = _many(params["stop"])
    params.update({name: value for name, value in fields.items() if name not in _NO_PARAMS})
    return params


_TYPES: Final = {1: "string", 2: "number", 3: "integer", 4: "boolean", 5: "array", 6: "object", 7: "null"}
_COUNTS: Final = frozenset({"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"})
_INNER: Final = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})
_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAPS: Final = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_SCHEMA_KEYS: Final = {"defs": "$defs", "ref": "$ref", "$defs": "$defs", "$ref": "$ref"}
_NOT_IN_JSON_SCHEMA: Final = frozenset({"nullable", "propertyOrdering", "example"})


def _schema(value: Any) -> Any:
    return _json_schema(value) if isinstance(value, dict) else value


def _json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The API's own dialect of OpenAPI as JSON schema; what is JSON schema already stays as it is."""
    found: dict[str, Any] = {}
    for name, value in schema.items():
        key = _SCHEMA_KEYS.get(name) or _camel(name)
        if value is None and key not in ("const", "default"):
            continue
        if key == "type":
            kind = _type(value)
            if kind is not None:
                found["type"] = kind
        elif key in _INNER:
            found[key] = _schema(value)
        elif key in _LISTS and isinstance(value, list):
            found[key] = [_schema(item) for item in value]
        elif key in _MAPS and isinstance(value, dict):
            found[key] = {inner: _schema(item) for inner, item in value.items()}
        elif key in _COUNTS and isinstance(value, str) and value.isdecimal():  # 64-bit integers travel as text
            found[key] = int(value)
        elif key not in _NOT_IN_JSON_SCHEMA:
            found[key] = value
    if found.get("type") in ("integer", "number") and isinstance(found.get("enum"), list):
        found["enum"] = [_number(item) for item in found["enum"]]
    return _nullable(found) if schema.get("nullable") is True else found


def _number(item: Any) -> Any:
    """An item of an `enum`: the API has only text in these, for numbers too."""
    if not isinstance(item, str) or not _is_number_text(item):
        return item
    number = float(item)
    return int(number) if number.is_integer() else number


def _type(value: Any) -> Any:
    if isinstance(value, str):
        lower = value.lower()
        return None if lower == "type_unspecified" else lower
    if isinstance(value, list):
        return [_type(item) for item in value]
    return None if isinstance(value, bool) or not isinstance(value, int) else _TYPES.get(value)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if isinstance(kind, str) and kind != "null":
        schema["type"] = [kind, "null"]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("anyOf"), list) and {"type": "null"} not in schema["anyOf"]:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return schema


# --- refusing a malformed request ------------------------------------------------------------------------------------

_PACKAGE: Final = "type.googleapis.com/google.ai.generativelanguage.v1beta."
_FLOATS: Final = ("temperature", "topP", "presencePenalty", "frequencyPenalty")
_INTEGERS: Final = ("maxOutputTokens", "candidateCount", "seed", "logprobs")
_BOOLEANS: Final = ("responseLogprobs",)
_MOST_CANDIDATES: Final = 8  # the API's reference (2026-11); the words of the refusal aren't recorded
_FLOAT_WORDS: Final = frozenset({"NaN", "Infinity", "-Infinity"})


class _InvalidError(Exception):
    """A value that its field can't hold."""


def check(request: Request, body: Any) -> Error | None:
    """The API's own refusal of a body that isn't a `GenerateContentRequest`.

    Protocol buffers read JSON kindly: `null` is absent, one message may stand for a list of one,
    numbers may be text. None of that is refused, and neither is an unknown name.
    """
    if not isinstance(body, dict):
        return Error(400, 'Invalid JSON payload received. Unknown name "": Root element must be a message.')
    try:
        _check_contents(body.get("contents"))
        _check_content(_either(body, "systemInstruction", "system_instruction"), "system_instruction")
        _check_tools(body.get("tools"))
        _check_config(_either(body, "generationConfig", "generation_config"))
    except _InvalidError as invalid:
        return Error(400, str(invalid))
    return None


def _invalid(path: str, kind: str, value: Any) -> _InvalidError:
    return _InvalidError(f"Invalid value at '{path}' ({kind}), {_json.text(value)}")


def _check_contents(contents: Any) -> None:
    items = _many(contents)
    if not items:
        raise _InvalidError("* GenerateContentRequest.contents: contents is not specified\n")
    for index, item in enumerate(items):
        path = f"contents[{index}]" if isinstance(contents, list) else "contents"
        _check_content(item, path)
        if isinstance(item, dict) and item.get("role") in ("system", "assistant"):
            raise _InvalidError("Please use a valid role: user, model.")


def _check_content(content: Any, path: str) -> None:
    if content is None:
        return
    if not isinstance(content, dict):
        raise _invalid(path, _PACKAGE + "Content", content)
    _check_text(content.get("role"), f"{path}.role")
    parts = content.get("parts")
    for index, part in enumerate(_many(parts)):
        inner = f"{path}.parts[{index}]" if isinstance(parts, list) else f"{path}.parts"
        if not isinstance(part, dict):
            raise _invalid(inner, _PACKAGE + "Part", part)
        _check_text(part.get("text"), f"{inner}.text")


def _check_text(value: Any, path: str) -> None:
    if value is not None and not isinstance(value, str):
        raise _invalid(path, "TYPE_STRING", value)


def _check_tools(tools: Any) -> None:
    for index, tool in enumerate(_many(tools)):
        path = f"tools[{index}]" if isinstance(tools, list) else "tools"
        if not isinstance(tool, dict):
            raise _invalid(path, _PACKAGE + "Tool", tool)
        declarations = _either(tool, "functionDeclarations", "function_declarations")
        for number, declaration in enumerate(_many(declarations)):
            inner = f"{path}.function_declarations[{number}]"
            if not isinstance(declaration, dict):
                raise _invalid(inner, _PACKAGE + "FunctionDeclaration", declaration)
            _check_text(declaration.get("name"), f"{inner}.name")
            _check_text(declaration.get("description"), f"{inner}.description")


def _check_config(config: Any) -> None:
    if config is None:
        return
    if not isinstance(config, dict):
        raise _invalid("generation_config", _PACKAGE + "GenerationConfig", config)
    fields = _camel_keys(config)
    for names, kind, fits in _CONFIG_CHECKS:
        for name in names:
            if name in fields and not fits(fields[name]):
                raise _invalid(f"generation_config.{_snake(name)}", kind, fields[name])
    candidates = fields.get("candidateCount")
    if candidates is not None and not 0 <= float(candidates) <= _MOST_CANDIDATES:
        raise _InvalidError(f"candidateCount must be in the range [1, {_MOST_CANDIDATES}].")
    for index, value in enumerate(_many(fields.get("stopSequences"))):
        _check_text(value, f"generation_config.stop_sequences[{index}]")
    _check_text(fields.get("responseMimeType"), "generation_config.response_mime_type")


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: "_" + found[0].lower(), name)


def _is_float(value: Any) -> bool:
    if isinstance(value, str):
        return value in _FLOAT_WORDS or _is_number_text(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_number_text(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_integer(value: Any) -> bool:
    if isinstance(value, str) and _is_number_text(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return -(2**31) <= value < 2**31 and value == int(value)


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool) or value in ("true", "false")


_CONFIG_CHECKS: Final[tuple[tuple[tuple[str, ...], str, Callable[[Any], bool]], ...]] = (
    (_FLOATS, "TYPE_FLOAT", _is_float),
    (("topK",), "TYPE_INT32", _is_float),
    (_INTEGERS, "TYPE_INT32", _is_integer),
    (_BOOLEANS, "TYPE_BOOL", _is_boolean),
)

# --- writing an answer -----------------------------------------------------------------------------------------------

_FINISH: Final = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "stop_sequence": "STOP",
    "pause": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "refusal": "SAFETY",
    "malformed_tool_call": "MALFORMED_FUNCTION_CALL",
}
_MALFORMED: Final = "MALFORMED_FUNCTION_CALL"
_CALLED: Final = "Model generated function call(s)."
_RATINGS: Final = (
    {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "NEGLIGIBLE"},
    {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True},
    {"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"},
    {"category": "HARM_CATEGORY_SEXUALLY_EXPLICIT", "probability": "NEGLIGIBLE"},
)
_PART_KEYS: Final = frozenset({"thoughtSignature", "thought", "partMetadata", "videoMetadata", "mediaResolution"})


def _numbers(words: str, first: int = 1) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


_NUMBERS: Final[Mapping[str, Mapping[str, int]]] = {
    "finishReason": _numbers(
        "STOP MAX_TOKENS SAFETY RECITATION OTHER LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MALFORMED_FUNCTION_CALL"
    ),
    "blockReason": _numbers("SAFETY OTHER BLOCKLIST PROHIBITED_CONTENT IMAGE_SAFETY"),
    "modality": _numbers("TEXT IMAGE VIDEO AUDIO DOCUMENT"),
    "category": _numbers(
        "HARM_CATEGORY_HARASSMENT HARM_CATEGORY_HATE_SPEECH HARM_CATEGORY_SEXUALLY_EXPLICIT HARM_CATEGORY_DANGEROUS_CONTENT",
        7,
    ),
    "probability": _numbers("NEGLIGIBLE LOW MEDIUM HIGH"),
    "language": _numbers("PYTHON"),
    "outcome": _numbers("OUTCOME_OK OUTCOME_FAILED OUTCOME_DEADLINE_EXCEEDED"),
    "urlRetrievalStatus": _numbers(
        "URL_RETRIEVAL_STATUS_SUCCESS URL_RETRIEVAL_STATUS_ERROR URL_RETRIEVAL_STATUS_PAYWALL URL_RETRIEVAL_STATUS_UNSAFE"
    ),
}
"""What stands for words where the client asks for it: `$alt=json;enum-encoding=int`, as Google's own REST clients do."""


def _numbered(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbered(item) for item in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, item in value.items():
        if name in ("functionCall", "toolCall", "toolResponse"):  # their arguments are the model's, whatever their keys
            found[name] = item
        elif isinstance(item, str):
            found[name] = _NUMBERS[name].get(item, item) if name in _NUMBERS else item
        else:
            found[name] = _numbered(item)
    return found


class _Writer:
    """What the answers of one exchange have in common."""

    __slots__ = ("_asked", "_id", "exchange", "invocations", "new", "numbers", "tier", "vertex")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.vertex = exchange.provider == "vertex"
        self.numbers = "enum-encoding=int" in exchange.request.headers.get("accept", "").replace(" ", "") or (
            "enum-encoding" in exchange.request.url
        )
        self.new = _gemini_signatures.signs(model(exchange.request, None))
        self.invocations = _wants_invocations(exchange.body)
        self.tier = _tier(exchange)
        self._asked = _modalities_asked(exchange.body)
        self._id = exchange.id or exchange.ids.base64(23)

    def body(self, candidates: list[dict[str, Any]], usage: dict[str, Any]) -> dict[str, Any]:
        return self._with_model({"candidates": candidates, "usageMetadata": usage})

    def blocked(self, feedback: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a prompt that was blocked."""
        said: dict[str, Any] = {name: value for name, value in feedback.items() if name != "safetyRatings"}
        ratings = feedback.get("safetyRatings")
        if ratings is None and feedback.get("blockReason") == "SAFETY":
            ratings = [{name: value for name, value in rating.items() if name != "blocked"} for rating in _RATINGS]
        if ratings is not None:
            said["safetyRatings"] = ratings
        body = self._with_model({"promptFeedback": said, "usageMetadata": self.usage(0)})
        return merge(
            body, {name: value for name, value in (self.exchange.extra or {}).items() if name != "promptFeedback"}
        )

    def _with_model(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.numbers:
            body = _numbered(body)
        body["modelVersion"] = self.exchange.model
        if self.vertex:
            body["createTime"] = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(self.exchange.created))
        body["responseId"] = self._id
        return body

    def usage(self, written: int | None = None) -> dict[str, Any]:
        """`usageMetadata` of the exchange, or that of a chunk after which `written` tokens of the answer have been sent."""
        said = _modalities_said(self.exchange.choices) if written is None else _NOTHING
        return _usage(self.exchange.usage, self.vertex, written, self._asked, said, self.tier)

    def traffic(self) -> str:
        """Vertex's word for how the request is served."""
        return _traffic(self.tier)

    def content(self, parts: list[dict[str, Any]] | None) -> dict[str, Any]:
        if parts is None:
            return {"role": "model"}
        return {"role": "model", "parts": parts} if self.vertex else {"parts": parts, "role": "model"}

    def candidate(
        self, content: dict[str, Any] | None, index: int, choice: Choice | None, sources: _Sources | None = None
    ) -> dict[str, Any]:
        """One candidate; with a `choice` when it is that one's last, with its finish reason and its sources."""
        found: dict[str, Any] = {}
        if content is not None:
            found["content"] = content
        reason = None if choice is None else _FINISH.get(choice.finish_reason, choice.finish_reason)
        if reason is not None:
            found["finishReason"] = reason
        if index or not self.vertex:  # Vertex leaves away what is zero
            found["index"] = index
        if choice is None:
            return found
        if reason == "STOP" and not self.vertex and choice.tool_calls:
            found["finishMessage"] = _CALLED
        if reason == _MALFORMED and choice.tool_calls:
            calls = ", ".join(f"{call.name}({call.json})" for call in choice.tool_calls)
            found["finishMessage"] = f"Malformed function call: {calls}"
        if reason == "SAFETY":
            found["safetyRatings"] = [dict(rating) for rating in _RATINGS]
        grounded = sources.metadata(reason) if sources is not None else {}
        found |= grounded
        if choice.logprobs is not None:
            found |= _logprobs(choice.logprobs, self.exchange.body)
        elif self.vertex and not self.new and not self.exchange.stream and choice.parts and not grounded:
            found["avgLogprobs"] = _AVERAGE_LOGPROB  # whole answers of 2.x models only (recorded to 2026-08)
        return found

    def signature(self, hidden: bool = False) -> str:
        return _gemini_signatures.made(self.exchange.ids, hidden)

    def call(self, part: ToolCall) -> dict[str, Any]:
        call: dict[str, Any] = {"name": part.name, "args": _arguments(part)}
        if self.new and part.id is not None:
            call["id"] = part.id
        written: dict[str, Any] = {"functionCall": call}
        if part.extra:
            beside = {name: value for name, value in part.extra.items() if name in _PART_KEYS}
            written["functionCall"] = merge(
                call, {name: value for name, value in part.extra.items() if name not in beside}
            )
            written |= beside
        return written

    def run(self, part: ServerTool) -> list[dict[str, Any]]:
        """A tool that Google runs, in parts: code and what it printed, or the call of another tool and its response."""
        kind = _tool_kind(part)
        if kind == "code":
            return self._code(part)
        named = {"toolType": _TOOL_TYPES[kind], "id": part.id or self.exchange.ids.lower(8)}
        arguments = dict(part.arguments)
        if kind == "search" and "query" in arguments:
            arguments = {"queries": _queries(part)} | {
                name: value for name, value in arguments.items() if name not in ("query", "queries")
            }
        written: list[dict[str, Any]] = [{"toolCall": {**named, "args": arguments}}]
        if part.error is not None:
            written.append({"toolResponse": {**named, "response": {"error": part.error}}})
        elif part.result is not None:
            result = part.result if isinstance(part.result, Mapping) else {"result": part.result}
            written.append({"toolResponse": {**named, "response": dict(result)}})
        return written

    def _code(self, part: ServerTool) -> list[dict[str, Any]]:
        code, language = part.arguments.get("code", ""), part.arguments.get("language", "PYTHON")
        number = part.id or (f"call_{int(self.exchange.ids.hex(4), 16):05d}" if self.new else None)
        named = {} if number is None else {"id": number}
        written: list[dict[str, Any]] = [{"executableCode": {"language": str(language).upper(), "code": code, **named}}]
        result = part.result
        if part.error is not None:
            deadline = "DEADLINE" in part.error.upper() or "timeout" in part.error.lower()
            outcome, output = "OUTCOME_DEADLINE_EXCEEDED" if deadline else "OUTCOME_FAILED", part.error
        elif isinstance(result, Mapping) and not result.keys() <= {"stdout", "stderr", "return_code"}:
            written.append({"codeExecutionResult": {**result, **named}})
            return written
        elif isinstance(result, Mapping):
            outcome = "OUTCOME_FAILED" if result.get("return_code") else "OUTCOME_OK"
            output = f"{result.get('stdout') or ''}{result.get('stderr') or ''}"
        elif result is not None:
            outcome, output = "OUTCOME_OK", result if isinstance(result, str) else _json.text(result)
        else:
            return written
        said = {"output": output} if output else {}  # nothing printed is absent, as every empty text of the API
        written.append({"codeExecutionResult": {"outcome": outcome, **said, **named}})
        return written


_AVERAGE_LOGPROB = -0.25


def _arguments(call: ToolCall) -> dict[str, Any]:
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    arguments = parsed_arguments(call.arguments)
    if isinstance(arguments, dict):
        return arguments
    raise ScriptMismatchError(
        sentence(
            f"The turn calls the tool {call.name!r} with the arguments {call.arguments!r}.",
            "Gemini sends arguments as a JSON object, so text that is none can't travel.",
            'Write arguments as a dict, or Reply(finish_reason="malformed_tool_call") for a call that the model got wrong.',
        )
    )


def document(exchange: Exchange) -> dict[str, Any]:
    """The answer in one body."""
    writer = _Writer(exchange)
    feedback = _feedback(exchange)
    if feedback is not None:
        return writer.blocked(feedback)
    candidates: list[dict[str, Any]] = []
    for index, choice in enumerate(exchange.choices):
        text = choice.parts[0] if len(choice.parts) == 1 else None
        if isinstance(text, str):  # which has no sources
            candidates.append(writer.candidate(writer.content([{"text": text}]), index, choice))
            continue
        sources = _Sources(writer)
        content = _whole_content(writer, choice, sources)
        candidates.append(writer.candidate(content, index, choice, sources))
    return exchange.extend(writer.body(candidates, writer.usage()))


def _feedback(exchange: Exchange) -> Mapping[str, Any] | None:
    """The `promptFeedback` of a blocked prompt: what the script says in `extra` of an answer that says nothing else."""
    found = (exchange.extra or {}).get("promptFeedback")
    return found if isinstance(found, Mapping) and not any(choice.parts for choice in exchange.choices) else None


def _whole_content(writer: _Writer, choice: Choice, sources: _Sources) -> dict[str, Any] | None:
    parts = [part for pieces in _parts_of(writer, choice, True, sources) for part in pieces]
    return writer.content(parts) if parts else _no_content(writer, choice)


def _no_content(writer: _Writer, choice: Choice) -> dict[str, Any] | None:
    reason = _FINISH.get(choice.finish_reason, choice.finish_reason)
    if reason == _MALFORMED:
        return {}
    return writer.content(None) if reason in ("STOP", "MAX_TOKENS") else None


def _parts_of(writer: _Writer, choice: Choice, whole: bool, sources: _Sources) -> Iterator[list[dict[str, Any]]]:
    """For each part of a turn what is written of it: one part, or when it is streamed one for each piece.

    A text with citations in it is one text, however many parts of a turn it is made of.
    """
    pending: str | None = None
    signed = not writer.new
    number = 0
    places = _spoken(writer, choice, sources)
    while places:
        index = places.pop(0)
        part = choice.parts[index]
        if isinstance(part, Thinking):
            follower = choice.parts[places[0]] if places else None
            own = isinstance(follower, ToolCall) and "thoughtSignature" in (follower.extra or {})
            signature = _gemini_signatures.in_base64(part.signature)
            if signature is None and not own and (writer.new or part.redacted or isinstance(follower, ToolCall)):
                signature = writer.signature(part.redacted)
            alone = follower is None or own or isinstance(follower, Thinking)
            written = (
                []
                if part.redacted or (alone and signature is not None and not part.text)
                else [{"text": piece, "thought": True} for piece in _pieces(choice, index, part.text, whole)]
            )
            if signature is not None and alone:
                if not written or not whole:
                    written.append({"text": "", "thought": True})
                written[-1]["thoughtSignature"] = signature
            pending = None if alone else signature
        elif isinstance(part, ToolCall):
            call = writer.call(part)
            if not signed and pending is None and "thoughtSignature" not in call:
                pending = writer.signature()
            signed = True
            if pending is not None:
                call.setdefault("thoughtSignature", pending)
            written, pending = [call], None
        elif isinstance(part, ServerTool):
            written = writer.run(part)
            if pending is None and writer.new:
                pending = writer.signature()
            _sign(written[0], pending)
            pending = None
        elif isinstance(part, (Image, Audio)):
            written, pending = [_sign(_inline(part), pending)], None
        else:
            run = [index, *_rest_of_run(choice, places)]
            del places[: len(run) - 1]
            if whole:
                sources.begin(number)
            pieces = [piece for place in run for piece in _text_pieces(choice, place, whole, sources)]
            written = [{"text": "".join(pieces)}] if whole and len(run) > 1 else [{"text": piece} for piece in pieces]
            if pending is not None and written:
                if not whole and written[-1]["text"]:
                    written.append({"text": ""})
                _sign(written[-1], pending)
                pending = None
        number += len(written)
        yield written


def _spoken(writer: _Writer, choice: Choice, sources: _Sources) -> list[int]:
    """The places of the parts that are written as parts; what is said beside the content goes to the sources."""
    found: list[int] = []
    malformed = _FINISH.get(choice.finish_reason, choice.finish_reason) == _MALFORMED
    for index, part in enumerate(choice.parts):
        if isinstance(part, ServerTool):
            if _tool_kind(part) != "code":
                sources.run(part)
                if not writer.invocations:
                    continue
        elif isinstance(part, ToolCall) and malformed:
            continue
        found.append(index)
    return found


def _rest_of_run(choice: Choice, places: list[int]) -> list[int]:
    """The texts that follow and are one with what came before, as there are citations among them."""
    run: list[int] = []
    for place in places:
        if not isinstance(choice.parts[place], (str, Citation)):
            break
        run.append(place)
    return run if any(isinstance(part, Citation) for part in choice.parts) else []


def _text_pieces(choice: Choice, index: int, whole: bool, sources: _Sources) -> list[str]:
    part = choice.parts[index]
    if isinstance(part, Citation):
        sources.cite(part)
        if not part.text:
            return []
    text = part.text if isinstance(part, Refusal) else text_of(part)
    if not isinstance(part, Citation):
        sources.say(text)
    return _pieces(choice, index, text, whole)


def _pieces(choice: Choice, index: int, text: str, whole: bool) -> list[str]:
    return [text] if whole else choice.pieces(index) or [text]


def _sign(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    if signature is not None:
        part["thoughtSignature"] = signature
    return part


def _inline(part: Image | Audio) -> dict[str, Any]:
    if isinstance(part.data, bytes):
        return {"inlineData": {"mimeType": part.media_type, "data": part.base64}}
    raise ScriptMismatchError(
        sentence(
            f"The turn has an image by its URL: {part.data!r}.",
            "Gemini sends images as bytes.",
            "Write Image(png_bytes).",
        )
    )


# --- tools that Google runs, and sources ------------------------------------------------------------------------------

_TOOL_KINDS: Final = {
    **dict.fromkeys(("web_search", "google_search", "google_search_retrieval", "enterprise_web_search"), "search"),
    **dict.fromkeys(("web_fetch", "url_context"), "url"),
    "code_execution": "code",
    "google_maps": "maps",
    **dict.fromkeys(("file_search", "retrieval"), "retrieval"),
}
_TOOL_TYPES: Final = {
    "search": "GOOGLE_SEARCH_WEB",
    "url": "URL_CONTEXT",
    "maps": "GOOGLE_MAPS",
    "retrieval": "FILE_SEARCH",
}
_GROUNDS: Final = frozenset(
    {
        *("googleSearch", "googleSearchRetrieval", "enterpriseWebSearch", "urlContext", "googleMaps"),
        *("fileSearch", "retrieval", "parallelAiSearch", "exaAiSearch"),
    }
)
"""The tools of a request that give an answer its sources (google-genai 3.6, 2026-11)."""
_OFFERED_KINDS: Final = {
    **dict.fromkeys(("googleSearch", "googleSearchRetrieval", "enterpriseWebSearch"), "search"),
    **dict.fromkeys(("parallelAiSearch", "exaAiSearch"), "search"),
    "urlContext": "url",
    "googleMaps": "maps",
    "fileSearch": "retrieval",
    "retrieval": "retrieval",
    "codeExecution": "code",
}
"""The kind of what Google runs, by the field of a request's tool that offers it (google-genai 3.6, 2026-11)."""
_CHUNKS: Final = {"search": "web", "url": "web", "maps": "maps", "retrieval": "retrievedContext"}
_STATUS_OF_URL: Final = "URL_RETRIEVAL_STATUS_"


def _tool_kind(part: ServerTool) -> str:
    kind = _TOOL_KINDS.get(part.name)
    if kind is None:
        raise ScriptMismatchError(
            sentence(
                f"The turn has the server tool {part.name!r}.",
                "Google runs " + ", ".join(sorted(_TOOL_KINDS)) + ".",
                'Write one of these, such as ServerTool("web_search", {"query": "weather"}).',
            )
        )
    return kind


def _server_tools(body: Mapping[str, Any]) -> frozenset[str] | None:
    """What Google may run, by each name of a `ServerTool`; unknown where the cached content may offer more.

    The tool choice is about functions alone, so with `NONE` nothing is checked either.
    """
    if body.get("cachedContent") or _tool_choice(body.get("toolConfig")).mode == "none":
        return None
    kinds = {
        _OFFERED_KINDS.get(_camel(name))
        for tool in _many(body.get("tools"))
        if isinstance(tool, dict)
        for name, value in tool.items()
        if value is not None
    }
    return frozenset(name for name, kind in _TOOL_KINDS.items() if kind in kinds)


def _wants_invocations(body: Any) -> bool:
    """Whether the request asks to see what Google's tools were given and gave (Gemini API, google-genai 3.6, 2026-11)."""
    config = _either(body, "toolConfig", "tool_config") if isinstance(body, dict) else None
    return isinstance(config, dict) and bool(
        _either(config, "includeServerSideToolInvocations", "include_server_side_tool_invocations")
    )


def _grounds(body: Any) -> bool:
    """Whether the request offers a tool that grounds, or may do so in what it has cached."""
    if not isinstance(body, dict) or _either(body, "cachedContent", "cached_content"):
        return True
    return any(
        _camel(name) in _GROUNDS and value is not None
        for tool in _many(body.get("tools"))
        if isinstance(tool, dict)
        for name, value in tool.items()
    )


def _queries(part: ServerTool) -> list[str]:
    found = part.arguments.get("queries", part.arguments.get("query"))
    return [query for query in _many(found) if isinstance(query, str)]


def _host(source: str) -> str:
    return urlsplit(source).hostname or source


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


class _Sources:
    """What is said beside the content of one candidate: where the answer comes from."""

    __slots__ = ("_at", "_documents", "_part", "_ran", "chunks", "places", "queries", "supports", "urls", "writer")

    def __init__(self, writer: _Writer) -> None:
        self.writer = writer
        self.chunks: list[dict[str, Any]] = []
        self.places: dict[str, int] = {}
        self.supports: list[dict[str, Any]] = []
        self.queries: dict[str, list[str]] = {"search": [], "retrieval": []}
        self.urls: list[dict[str, Any]] = []
        self._documents: dict[str, dict[str, Any]] = {}
        self._ran = False
        self._at = 0
        self._part = 0

    def begin(self, part: int) -> None:
        """A text part begins: offsets count from here."""
        self._at, self._part = 0, part

    def say(self, text: str) -> None:
        """A text without a source."""
        self._at += _bytes_in(text)

    def cite(self, part: Citation) -> None:
        """A text with its source; an empty one is another source of what was cited before."""
        source = part.source
        fields = {"url": source} if part.title is None else {"url": source, "title": part.title}
        place = self._chunk(fields, "web" if _is_url(source) else "retrievedContext")
        end = self._at + _bytes_in(part.text)
        if part.text:
            segment: dict[str, Any] = {"partIndex": self._part} if self._part else {}
            if self._at:
                segment["startIndex"] = self._at
            self.supports.append(
                {"segment": segment | {"endIndex": end, "text": part.text}, "groundingChunkIndices": [place]}
            )
        elif self.supports and place not in self.supports[-1]["groundingChunkIndices"]:
            self.supports[-1]["groundingChunkIndices"].append(place)
        self._at = end

    def run(self, part: ServerTool) -> None:
        """A tool that leaves its results beside the content."""
        kind = _tool_kind(part)
        self._ran = True
        if isinstance(part.result, Mapping):
            name = "urlContextMetadata" if kind == "url" else "groundingMetadata"
            self._documents[name] = merge(self._documents.get(name, {}), part.result)
            if kind != "search":
                return
        items = [item for item in _many(part.result) if isinstance(item, (str, dict))] if part.error is None else []
        results = [{"url": item} if isinstance(item, str) else item for item in items if item != part.result]
        for item in results:
            self._chunk(item, _CHUNKS[kind])
        if kind == "url":
            self._fetched(part, results)
        else:
            self.queries.setdefault(kind, []).extend(_queries(part))

    def _fetched(self, part: ServerTool, results: list[dict[str, Any]]) -> None:
        asked = _many(part.arguments.get("urls", part.arguments.get("url"))) or [item.get("url") for item in results]
        error = part.error
        status = "SUCCESS" if error is None else "ERROR"
        if error is not None and error.upper().removeprefix(_STATUS_OF_URL) in ("PAYWALL", "UNSAFE"):
            status = error.upper().removeprefix(_STATUS_OF_URL)
        self.urls += [
            {"retrievedUrl": url, "urlRetrievalStatus": _STATUS_OF_URL + status}
            for url in asked
            if isinstance(url, str)
        ]

    def _chunk(self, item: Mapping[str, Any], kind: str) -> int:
        """The place of a source among the chunks; the same one is there once."""
        if any(name in item for name in ("web", "retrievedContext", "maps", "image")):
            self.chunks.append(dict(item))  # the API's own
            return len(self.chunks) - 1
        source, title = item.get("url", item.get("uri")), item.get("title")
        key = str(source or title)
        if key in self.places:
            return self.places[key]
        chunk: dict[str, Any] = {} if source is None else {"uri": source}
        chunk["title"] = title if title is not None else _host(key) if kind == "web" else key
        if kind == "web" and self.writer.vertex:
            named = re.fullmatch(r"[\w-]+(\.[\w-]+)+", chunk["title"])
            chunk["domain"] = chunk["title"] if named else _host(key)
        if kind != "web" and isinstance(item.get("text"), str):
            chunk["text"] = item["text"]
        if kind == "maps" and isinstance(item.get("place_id"), str):
            chunk["placeId"] = item["place_id"]
        self.chunks.append({kind: chunk})
        self.places[key] = len(self.chunks) - 1
        return self.places[key]

    def metadata(self, reason: str | None) -> dict[str, Any]:
        """The keys of the candidate."""
        found: dict[str, Any] = {}
        recited = self.supports and not self._ran and not _grounds(self.writer.exchange.body)
        if self.supports and (recited or reason == "RECITATION"):
            citations = [citation for support in self.supports for citation in self._citations(support)]
            found["citationMetadata"] = {"citations" if self.writer.vertex else "citationSources": citations}
        grounding = {} if reason == "RECITATION" else self._grounding()
        if grounding:
            found["groundingMetadata"] = grounding
        urls = merge({"urlMetadata": self.urls} if self.urls else {}, self._documents.get("urlContextMetadata", {}))
        if urls:
            found["urlContextMetadata"] = urls
        return found

    def _citations(self, support: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        segment = support["segment"]
        span = {name: segment[name] for name in ("startIndex", "endIndex") if name in segment}
        for place in support["groundingChunkIndices"]:
            (chunk,) = self.chunks[place].values()
            yield (
                span
                | {name: chunk[name] for name in ("uri",) if name in chunk}
                | ({"title": chunk["title"]} if self.writer.vertex else {})
            )

    def _grounding(self) -> dict[str, Any]:
        queries = self.queries["search"]
        found: dict[str, Any] = {}
        if queries:
            found["searchEntryPoint"] = {"renderedContent": "".join(map(_suggestion, queries))}
        if self.chunks:
            found["groundingChunks"] = self.chunks
        if self.supports:
            found["groundingSupports"] = self.supports
        if queries:
            found["webSearchQueries"] = queries
        if self.queries["retrieval"]:
            found["retrievalQueries"] = self.queries["retrieval"]
        if self.writer.vertex and found:
            found["retrievalMetadata"] = {}
            found = {name: found[name] for name in sorted(found, key=lambda name: name != "webSearchQueries")}
        return merge(found, self._documents.get("groundingMetadata", {}))


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _suggestion(query: str) -> str:
    """The chip for a query, which is to be shown beside the answer."""
    return (
        '<div class="container"><a class="chip" href="https://www.google.com/search?q='
        f'{quote_plus(query, errors="replace")}">{html.escape(query)}</a></div>\n'
    )


_USAGE_ORDER: Final = (
    "promptTokenCount",
    "candidatesTokenCount",
    "totalTokenCount",
    "cachedContentTokenCount",
    "trafficType",
    "promptTokensDetails",
    "cacheTokensDetails",
    "candidatesTokensDetails",
    "toolUsePromptTokenCount",
    "toolUsePromptTokensDetails",
    "thoughtsTokenCount",
    "serviceTier",
)


_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
_MEDIA_TOKENS: Final = 258
"""What an image costs (the API's documentation, 2026-11), and what the estimate takes for any medium."""
_MODALITIES: Final = {"image": "IMAGE", "video": "VIDEO", "audio": "AUDIO", "application": "DOCUMENT"}


def _modalities_asked(body: Any) -> dict[str, int]:
    """The tokens of a request by what they are: media first, as recorded (2026-08), text is what is left."""
    found: dict[str, int] = {}
    for content in _many(body.get("contents")) if isinstance(body, dict) else []:
        for part in _many(content.get("parts")) if isinstance(content, dict) else []:
            if not isinstance(part, dict) or "text" in part:
                continue
            data = _either(part, "inlineData", "inline_data") or _either(part, "fileData", "file_data")
            if isinstance(data, dict):
                kind = _MODALITIES.get(str(_either(data, "mimeType", "mime_type")).partition("/")[0])
                if kind is not None:
                    found[kind] = found.get(kind, 0) + _MEDIA_TOKENS
    return {**found, "TEXT": 0} if found else found


def _modalities_said(choices: Iterable[Choice | Reply]) -> Mapping[str, int]:
    """The tokens of an answer by what they are; text is what is left, where there is text beside the media."""
    found: dict[str, int] = {}
    text = False
    for choice in choices:
        for part in choice.parts:
            if isinstance(part, (Image, Audio)):
                kind = "IMAGE" if isinstance(part, Image) else "AUDIO"
                found[kind] = found.get(kind, 0) + _MEDIA_TOKENS
            else:
                text = True
    return {**found, "TEXT": 0} if found and text else found


def _by_modality(count: int, others: Mapping[str, int]) -> list[dict[str, Any]]:
    """A count by its modalities: the last one of them has what is left."""
    found: list[dict[str, Any]] = []
    left = count
    for place, (kind, tokens) in enumerate((others or {"TEXT": 0}).items(), 1):
        part = left if place == max(1, len(others)) else min(tokens, left)
        if part:
            found.append({"modality": kind, "tokenCount": part})
        left -= part
    return found


_TIERS: Final = frozenset({"standard", "flex", "priority"})


def _tier(exchange: Exchange) -> str:
    """How the request is served: what its body asks for, or on Vertex its header (google-genai 3.6, 2026-11)."""
    body = exchange.body
    asked = _either(body, "serviceTier", "service_tier") if isinstance(body, dict) else None
    if asked is None and exchange.provider == "vertex":
        asked = exchange.request.headers.get("x-vertex-ai-llm-shared-request-type")
    word = str(asked).lower().removeprefix("service_tier_")
    return word if word in _TIERS else "standard"


def _traffic(tier: str) -> str:
    return "ON_DEMAND" if tier == "standard" else f"ON_DEMAND_{tier.upper()}"


def _usage(
    usage: Usage,
    vertex: bool,
    written: int | None = None,
    asked: Mapping[str, int] = _NOTHING,
    said: Mapping[str, int] = _NOTHING,
    tier: str = "standard",
) -> dict[str, Any]:
    """`usageMetadata`, or that of a chunk after which `written` tokens of the answer have been sent. Zeros are absent."""
    whole = max(0, usage.output_tokens - usage.reasoning_tokens)
    candidates = whole if written is None else written
    prompt, cached, thoughts = usage.input_tokens, usage.cached_tokens, usage.reasoning_tokens
    found: dict[str, Any] = {}
    if prompt:
        found["promptTokenCount"] = prompt
    if candidates:
        found["candidatesTokenCount"] = candidates
    total = usage.total - whole + candidates
    if total:
        found["totalTokenCount"] = total
    if cached:
        found["cachedContentTokenCount"] = cached
    if vertex:
        found["trafficType"] = _traffic(tier)
    if prompt:
        found["promptTokensDetails"] = _by_modality(prompt, asked)
    if cached:
        found["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": cached}]
    if candidates and (vertex or said):
        found["candidatesTokensDetails"] = _by_modality(candidates, said)
    if thoughts:
        found["thoughtsTokenCount"] = thoughts
    if not vertex:
        found["serviceTier"] = tier
    if not usage.details or written is not None:
        return found
    merged = merge(found, usage.details)
    return {name: merged.pop(name) for name in _USAGE_ORDER if name in merged} | merged


def _logprobs(entries: tuple[Any, ...], body: Any) -> dict[str, Any]:
    chosen = [
        {"token": str(entry[0]), "logProbability": entry[1]}
        if isinstance(entry, (tuple, list)) and len(entry) == 2
        else entry
        for entry in entries
    ]
    values = [
        entry["logProbability"]
        for entry in chosen
        if isinstance(entry, Mapping) and isinstance(entry.get("logProbability"), (int, float))
    ]
    found: dict[str, Any] = {"avgLogprobs": sum(values) / len(values)} if values else {}
    result: dict[str, Any] = {"chosenCandidates": chosen}
    config = _either(body, "generationConfig", "generation_config") if isinstance(body, dict) else None
    if isinstance(config, dict) and config.get("logprobs"):
        result["topCandidates"] = [{"candidates": [entry]} for entry in chosen]
    found["logprobsResult"] = result
    return found


# --- streaming an answer ---------------------------------------------------------------------------------------------


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The answer as chunks; only where `then=` cuts it does each candidate end in a closing chunk of its own."""
    writer = _Writer(exchange)
    feedback = _feedback(exchange)
    if feedback is not None:
        return [writer.blocked(feedback)], []
    steps = [
        step for index, choice in enumerate(exchange.choices) for step in _steps(writer, choice, index, exchange.cut)
    ]
    open_steps = [step for step in steps if not step[1]]
    closing_steps = [step for step in steps if step[1]]
    count = len(open_steps)
    tokens = max(0, exchange.usage.output_tokens - exchange.usage.reasoning_tokens)
    content: list[WireEvent] = []
    for number, (candidate, _) in enumerate(open_steps, 1):
        final = number == count and not closing_steps
        chunk = _chunk(writer, candidate, final, tokens * number // count)
        content.append(chunk if _says_something(candidate) else dict(chunk))
    closing: list[WireEvent] = [
        dict(_chunk(writer, candidate, number == len(closing_steps), tokens))
        for number, (candidate, _) in enumerate(closing_steps, 1)
    ]
    return content, closing


def _says_something(candidate: Mapping[str, Any]) -> bool:
    parts = candidate.get("content", {}).get("parts")
    return bool(parts) and parts[0].get("text") != ""


def _steps(writer: _Writer, choice: Choice, index: int, cut: bool) -> Iterator[tuple[dict[str, Any], bool]]:
    """The candidates of one choice in order, and whether each comes after `then=`."""
    sources = _Sources(writer)
    parts = [part for pieces in _parts_of(writer, choice, False, sources) for part in pieces]
    if not cut:
        for part in parts[:-1]:
            yield writer.candidate(writer.content([part]), index, None), False
        ending = writer.content(parts[-1:]) if parts else _no_content(writer, choice)
        yield writer.candidate(ending, index, choice, sources), False
        return
    last: dict[str, Any] = (
        parts.pop() if parts and parts[-1].get("text") == "" and "thoughtSignature" in parts[-1] else {"text": ""}
    )
    for part in parts:
        yield writer.candidate(writer.content([part]), index, None), False
    ending = writer.content([last]) if choice.parts else _no_content(writer, choice)
    yield writer.candidate(ending, index, choice, sources), True


def _chunk(writer: _Writer, candidate: dict[str, Any], final: bool, tokens: int) -> Delta:
    exchange = writer.exchange
    if final:
        usage = writer.usage()
    elif writer.vertex:
        usage = {"trafficType": writer.traffic()}
    else:
        usage = writer.usage(tokens)
    body = writer.body([candidate], usage)
    extra = exchange.extra
    if not extra:
        return Delta(body)
    return Delta(
        merge(body, extra if final else {name: value for name, value in extra.items() if name != "candidates"})
    )


# --- errors ----------------------------------------------------------------------------------------------------------

_STATUS: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    412: "FAILED_PRECONDITION",
    416: "OUT_OF_RANGE",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
    529: "UNAVAILABLE",
}
_BAD_KEY: Final = "API key not valid. Please pass a valid API key."
_BAD_CREDENTIALS: Final = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
_LIMITED: Final = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: "
    "https://ai.dev/rate-limit. "
)
_USUAL: Final[Mapping[str, Usual]] = {
    "bad_request": Usual(400, "", "Request contains an invalid argument."),
    "authentication": Usual(400, "", _BAD_KEY),
    "permission": Usual(403, "", "The caller does not have permission"),
    "not_found": Usual(404, "", "{missing}"),
    "request_too_large": Usual(400, "", "Request payload size exceeds the limit: 20971520 bytes."),
    "context_length": Usual(400, "", "The input token count exceeds the maximum number of tokens allowed 1048576."),
    "content_filter": Usual(
        400,
        "",
        "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI "
        "practices. Try rephrasing the prompt.",
    ),
    "rate_limit": Usual(429, "", _LIMITED),
    "quota": Usual(429, "", _LIMITED),
    "server_error": Usual(
        500,
        "",
        "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    ),
    "unavailable": Usual(503, "", "The model is overloaded. Please try again later."),
    "overloaded": Usual(503, "", "The model is overloaded. Please try again later."),
    "timeout": Usual(504, "", "Deadline expired before operation could complete."),
}
_HELP: Final = {
    "@type": "type.googleapis.com/google.rpc.Help",
    "links": [
        {
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        }
    ],
}
_QUOTAS: Final = {
    "rate_limit": ("generate_content_paid_tier_requests", "GenerateRequestsPerMinutePerProjectPerModel", "1000"),
    "quota": ("generate_content_paid_tier_requests_per_day", "GenerateRequestsPerDayPerProjectPerModel", "10000"),
}


_USUAL_WAIT: Final = 30.0


def _is_vertex(exchange: Exchange) -> bool:
    return exchange.provider == "vertex"


def _row(exchange: Exchange, error: Error, usual: Usual) -> Usual:
    """On Vertex a key is a token; what is limited says by how much on the other."""
    vertex, name = _is_vertex(exchange), error.name
    if error.kind == 401 or (vertex and name == "authentication"):
        return usual._replace(status=401, message=_BAD_CREDENTIALS)
    if name not in _QUOTAS:
        return usual
    if vertex:
        return usual._replace(
            message="Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details."
        )
    metric, _, value = _QUOTAS[name]
    text = f"{_LIMITED}\n* Quota exceeded for metric: generativelanguage.googleapis.com/{metric}, limit: {value}, model: {{model}}"
    return usual._replace(message=f"{text}\nPlease retry in {_seconds(_wait(error))}.")


def _wait(error: Error) -> float:
    return _USUAL_WAIT if error.retry_after is None else error.retry_after


def _places(exchange: Exchange, error: Error) -> Mapping[str, str]:
    return {"missing": _not_found(exchange, _is_vertex(exchange))} if error.name == "not_found" else {}


def _error_body(said: Said) -> dict[str, Any]:
    status = said.status
    word = _STATUS.get(status) or ("INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    body: dict[str, Any] = {"code": status, "message": said.message, "status": word}
    details = _details(said.exchange, said.error, status, said.message, _is_vertex(said.exchange))
    if details or (said.name == "not_found" and _is_vertex(said.exchange)):  # recorded so, 2026
        body["details"] = details
    return {"error": body}


def _error_headers(said: Said) -> HeaderItems:
    if _is_vertex(said.exchange):
        return _VERTEX_HEADERS
    tier = (("x-gemini-service-tier", _tier(said.exchange)),) if said.status == 429 else ()  # recorded 2026
    return (*tier, *_FAILURE_HEADERS)


def _no_wait(seconds: float) -> HeaderItems:
    """None: it is among the details."""
    return ()


def _error_event(said: Said) -> list[WireEvent]:
    """A chunk of a JSON array, but bare JSON among server-sent events."""
    return [_in_lines(_error_body(said))] if _is_sse(said.exchange) else [_error_body(said)]


def _in_lines(body: Any) -> bytes:
    return _json.pretty(body) + b"\n"


def _in_a_list(body: Any) -> bytes:
    return _in_lines([body])


ERRORS: Final = Errors(
    body=_error_body,
    row=_row,
    fills=_places,
    headers=_error_headers,
    waits=_no_wait,
    encode=_in_lines,
    content_type="application/json; charset=UTF-8",
    event=_error_event,
    usual=_USUAL,
)
_LISTED: Final = replace(ERRORS, encode=_in_a_list)
_AS_EVENTS: Final = replace(ERRORS, content_type="text/event-stream")


def failure(exchange: Exchange, error: Error) -> Response:
    """Google's error, as a list of one where a stream in a JSON array was asked for.

    Before the first of the server-sent events it has the content type of the stream that it replaces (recorded 2026).
    """
    errors = ERRORS if not exchange.stream else _AS_EVENTS if _is_sse(exchange) else _LISTED
    return errors.failure(exchange, error)


def _is_sse(exchange: Exchange) -> bool:
    return exchange.request.query.get("alt", "") == "sse"


def _seconds(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".") + "s"


def _not_found(exchange: Exchange, vertex: bool) -> str:
    parts = exchange.request.path.strip("/").split("/")
    if vertex:
        resource = "/".join(parts[1:]).partition(":")[0]
        return f"Publisher Model `{resource}` not found."
    name = model(exchange.request, None)
    version = parts[0] if len(parts) > 1 else "v1beta"
    verb = exchange.request.path.rpartition(":")[2]
    lister = "ModelService.ListModels" if "mbed" in verb else "ListModels"  # recorded 2025
    return (
        f"models/{name} is not found for API version {version}, or is not supported for {_VERBS.get(verb, verb)}. "
        f"Call {lister} to see the list of available models and their supported methods."
    )


_VERBS: Final = {"streamGenerateContent": "generateContent", "batchEmbedContents": "embedContent"}


_FIELD: Final = re.compile(r"Invalid value at '([^']*)'")


def _details(exchange: Exchange, error: Error, status: int, text: str, vertex: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    name = error.name
    if error.kind == "authentication" and not vertex:
        found = [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "API_KEY_INVALID",
                "domain": "googleapis.com",
                "metadata": {"service": "generativelanguage.googleapis.com"},
            },
            {"@type": "type.googleapis.com/google.rpc.LocalizedMessage", "locale": "en-US", "message": text},
        ]
    elif status == 429 and not vertex:
        metric, quota, value = _QUOTAS.get(name, _QUOTAS["rate_limit"])
        violation = {
            "quotaMetric": f"generativelanguage.googleapis.com/{metric}",
            "quotaId": quota,
            "quotaDimensions": {"model": exchange.model, "location": "global"},
            "quotaValue": value,
        }
        failed = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
        return [_HELP, failed, _retry(_wait(error))]
    elif status == 400:
        field = _FIELD.match(text)
        if field is not None:
            violations = [{"field": field[1], "description": text}]
            found = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
        elif text.startswith("Invalid JSON payload received. Unknown name"):
            found = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"description": text}]}]
    if error.retry_after is not None:
        found = [*found, _retry(error.retry_after)]
    return found


# --- headers ---------------------------------------------------------------------------------------------------------

_VARY: Final = (("vary", "Origin"), ("vary", "X-Origin"), ("vary", "Referer"))
_GUARDS: Final = (
    ("server", "scaffolding on HTTPServer2"),
    ("x-xss-protection", "0"),
    ("x-frame-options", "SAMEORIGIN"),
    ("x-content-type-options", "nosniff"),
)
_API_ONLY: Final = (
    ("server-timing", "gfet4t7; dur=449"),
    ("alt-svc", 'h3=":443"; ma=2592000,h3-29=":443"; ma=2592000'),
)
_ATTACHMENT: Final = (("content-disposition", "attachment"),)
_WHOLE_HEADERS: Final = _VARY + _GUARDS + _API_ONLY
_STREAM_HEADERS: Final = _ATTACHMENT + _VARY + _GUARDS + _API_ONLY
_VERTEX_HEADERS: Final = _VARY + _GUARDS
_VERTEX_STREAM_HEADERS: Final = _ATTACHMENT + _VARY + _GUARDS
_FAILURE_HEADERS: Final = _VARY + _GUARDS + _API_ONLY


def headers(exchange: Exchange) -> HeaderItems:
    """Headers of a successful answer, whole or streamed."""
    if exchange.provider == "vertex":
        return _VERTEX_STREAM_HEADERS if exchange.stream else _VERTEX_HEADERS
    return _STREAM_HEADERS if exchange.stream else _whole_headers(_tier(exchange))


@cache
def _whole_headers(tier: str) -> HeaderItems:
    """One tuple for all answers of a tier: the journal keeps them."""
    return (("x-gemini-service-tier", tier), *_WHOLE_HEADERS)


# --- reading an answer back ------------------------------------------------------------------------------------------

_REASONS: Final = {"MAX_TOKENS": "length", "SAFETY": "content_filter", "MALFORMED_FUNCTION_CALL": "malformed_tool_call"}
_REASON_WORDS: Final = {number: word for word, number in _NUMBERS["finishReason"].items()}


def parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives this body again; of an SDK's object too, whose keys are in snake_case."""
    model, answer_id = (
        _either(document, "modelVersion", "model_version"),
        _either(document, "responseId", "response_id"),
    )
    common: dict[str, Any] = {
        "model": model if isinstance(model, str) else None,
        "id": answer_id if isinstance(answer_id, str) else None,
    }
    choices = [_choice_of(candidate) for candidate in _many(document.get("candidates")) if isinstance(candidate, dict)]
    usage = _either(document, "usageMetadata", "usage_metadata")
    common["usage"] = _usage_of(usage, "createTime" in document, _modalities_said(choices))
    if not choices:
        blocked = _either(document, "promptFeedback", "prompt_feedback")
        if isinstance(blocked, dict) and blocked:
            common["extra"] = {"promptFeedback": _camel_deep(blocked)}
        return Reply(finish_reason="content_filter" if blocked else None, **common)
    return choices[0].replace(choices=choices[1:], **common)


def _camel_deep(value: Any) -> Any:
    """The same in camelCase, without what is null."""
    if isinstance(value, list):
        return [_camel_deep(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _camel_deep(item) for name, item in _camel_keys(value).items()}


def _choice_of(candidate: Mapping[str, Any]) -> Reply:
    content = candidate.get("content")
    found: list[Any] = []
    starts: list[int] = []
    for part in _many(content.get("parts")) if isinstance(content, dict) else []:
        starts.append(len(found))
        if isinstance(part, dict):
            _add_part(found, part)
    found = _with_sources(found, starts, candidate)
    reason = _either(candidate, "finishReason", "finish_reason")
    reason = _REASON_WORDS.get(reason, str(reason)) if isinstance(reason, int) else reason
    if reason == "STOP":
        reason = "tool_calls" if any(isinstance(part, ToolCall) for part in found) else "stop"
    elif isinstance(reason, str):
        reason = _REASONS.get(reason, reason)
    return Reply(*found, finish_reason=reason if isinstance(reason, str) else None, logprobs=_logprobs_of(candidate))


def _with_sources(found: list[Any], starts: list[int], candidate: Mapping[str, Any]) -> list[Any]:
    """The parts with the candidate's sources: a `Citation` where one supports a text, else the tool that found it."""
    grounding = _camel_deep(_either(candidate, "groundingMetadata", "grounding_metadata") or {})
    chunks = [chunk for chunk in _many(grounding.get("groundingChunks")) if isinstance(chunk, dict)]
    spans: list[_Span] = []
    for support in _many(grounding.get("groundingSupports")):
        sources = [
            _source_of(chunks[at]) for at in _many(support.get("groundingChunkIndices")) if 0 <= at < len(chunks)
        ]
        _add_span(spans, found, starts, support.get("segment") or {}, [source for source in sources if source])
    recited = _camel_deep(_either(candidate, "citationMetadata", "citation_metadata") or {})
    for citation in _many(recited.get("citationSources", recited.get("citations"))):
        if citation.get("uri"):
            title = citation.get("title")
            source = (citation["uri"], title if title and title != _host(citation["uri"]) else None)
            _add_span(spans, found, starts, citation, [source])
    fetched = _camel_deep(_either(candidate, "urlContextMetadata", "url_context_metadata") or {})
    tools = [*_tools_of(grounding, chunks), *_fetches_of(fetched)]
    first = next((place for place, part in enumerate(found) if isinstance(part, str)), len(found))
    cut = [
        piece
        for place, part in enumerate(found)
        for piece in (_cut(part, [span for span in spans if span[0] == place]) if isinstance(part, str) else [part])
    ]
    return [*cut[:first], *tools, *cut[first:]]


_Span: TypeAlias = "tuple[int, int, int, list[tuple[str, str | None]]]"
"""The place of a text, two offsets in it in bytes, and the sources for what is between them."""


def _add_span(
    spans: list[_Span],
    found: list[Any],
    starts: list[int],
    segment: Mapping[str, Any],
    sources: list[tuple[str, str | None]],
) -> None:
    """Find a segment: in its own part, or, as in a stream, in all of the text; one that lies in neither is left out."""
    start, end, said = segment.get("startIndex") or 0, segment.get("endIndex") or 0, segment.get("text")
    if not sources or not 0 <= start < end:
        return
    texts = [place for place, part in enumerate(found) if isinstance(part, str)]
    number = segment.get("partIndex") or 0
    own = starts[number] if number < len(starts) else None
    at = 0
    tried = [(place, 0) for place in texts if own is not None and place >= own][:1]
    for place in texts:
        tried.append((place, at))
        at += _bytes_in(found[place])
    for place, before in tried:
        raw = found[place].encode("utf-8", "surrogatepass")
        first, last = start - before, end - before
        if not 0 <= first < last <= len(raw):
            continue
        try:
            piece = raw[first:last].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            continue
        taken = any(span[0] == place and first < span[2] and span[1] < last for span in spans)
        if not taken and said in (None, piece):
            spans.append((place, first, last, sources))
            return


def _cut(text: str, spans: list[_Span]) -> list[Any]:
    if not spans:
        return [text]
    raw = text.encode("utf-8", "surrogatepass")
    pieces: list[Any] = []
    at = 0
    for _, start, end, sources in sorted(spans, key=lambda span: span[1]):
        pieces.append(raw[at:start].decode("utf-8", "surrogatepass"))
        cited = raw[start:end].decode("utf-8", "surrogatepass")
        pieces += [Citation("" if place else cited, *source) for place, source in enumerate(sources)]
        at = end
    pieces.append(raw[at:].decode("utf-8", "surrogatepass"))
    return [piece for piece in pieces if piece != ""]


def _source_of(chunk: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Where a chunk is from and what that is called, without a title that is only its address."""
    inner = next((value for value in chunk.values() if isinstance(value, dict)), {})
    source, title = inner.get("uri") or inner.get("title"), inner.get("title")
    if not isinstance(source, str) or not source:
        return None
    return source, title if title and title not in (source, _host(source)) else None


def _tools_of(grounding: Mapping[str, Any], chunks: list[dict[str, Any]]) -> list[ServerTool]:
    cited = {at for support in _many(grounding.get("groundingSupports")) for at in support["groundingChunkIndices"]}
    queries = [query for query in _many(grounding.get("webSearchQueries")) if isinstance(query, str)]
    retrieved = [query for query in _many(grounding.get("retrievalQueries")) if isinstance(query, str)]
    found: list[ServerTool] = []
    for name, key, asked in (
        ("google_search", "web", queries),
        ("file_search", "retrievedContext", retrieved),
        ("google_maps", "maps", []),
    ):
        own = [place for place, chunk in enumerate(chunks) if key in chunk]
        if asked or not cited.issuperset(own):
            arguments = {"query": asked[0]} if len(asked) == 1 else {"queries": asked} if asked else {}
            found.append(ServerTool(name, arguments, [_result_item(chunks[place][key]) for place in own] or None))
    return found


def _result_item(chunk: Mapping[str, Any]) -> dict[str, Any]:
    names = {"uri": "url", "title": "title", "text": "text", "placeId": "place_id"}
    return {names[name]: value for name, value in chunk.items() if name in names}


def _fetches_of(fetched: Mapping[str, Any]) -> Iterator[ServerTool]:
    for item in _many(fetched.get("urlMetadata")):
        status = str(item.get("urlRetrievalStatus") or _STATUS_OF_URL + "SUCCESS")
        error = None if status.endswith("_SUCCESS") else status
        yield ServerTool("url_context", {"url": item.get("retrievedUrl", "")}, error=error)


def _add_part(found: list[Any], part: Mapping[str, Any]) -> None:
    signature = _either(part, "thoughtSignature", "thought_signature")
    signature = signature if isinstance(signature, str) and signature else None
    text = part.get("text")
    if part.get("thought") and isinstance(text, str):
        found.append(Thinking(text, _foreign(signature), redacted=not text and signature is not None))
        return
    result = _either(part, "codeExecutionResult", "code_execution_result")
    if isinstance(result, dict):
        before = found[-1] if found else None
        ran = isinstance(before, ServerTool) and before.name == "code_execution" and before.result is None
        found[-1 if ran else len(found) :] = [_ran(before if ran else None, result)]
        return
    read = _part_of(part, text)
    if signature is not None:
        before = found[-1] if found else None
        if isinstance(before, Thinking) and before.signature is None and not before.redacted:
            found[-1] = Thinking(before.text, _foreign(signature))
        elif not signature.startswith(_gemini_signatures.OWN):
            found.append(Thinking("", _foreign(signature), redacted=True))
    if read is not None:
        found.append(read)


def _part_of(part: Mapping[str, Any], text: Any) -> Any:
    if isinstance(text, str):
        return text
    call = _either(part, "functionCall", "function_call")
    if isinstance(call, dict) and _name(call):
        arguments = call.get("args")
        return ToolCall(_name(call), arguments if isinstance(arguments, dict) else {}, _id(call))
    code = _either(part, "executableCode", "executable_code")
    if isinstance(code, dict):
        language = code.get("language")
        other = {} if language in (None, "PYTHON", 1) else {"language": language}
        return ServerTool("code_execution", {"code": code.get("code") or "", **other}, id=_id(code))
    data = _either(part, "inlineData", "inline_data")
    if isinstance(data, dict):
        raw = _bytes_of(data.get("data"))
        kind = _either(data, "mimeType", "mime_type")
        if raw and isinstance(kind, str) and kind.startswith("audio/"):
            return Audio(raw, kind)
        return Image(raw, kind if isinstance(kind, str) else "image/png") if raw else None
    return None


def _ran(before: Any, result: Mapping[str, Any]) -> ServerTool:
    """The code of before with what came of it."""
    code = before if isinstance(before, ServerTool) else ServerTool("code_execution", {"code": ""}, id=_id(result))
    outcome, output = result.get("outcome"), result.get("output") or ""
    if outcome in (None, "OUTCOME_OK", 1):
        return ServerTool(code.name, code.arguments, output, code.id)
    if outcome in ("OUTCOME_FAILED", 2):
        return ServerTool(code.name, code.arguments, {"stdout": output, "return_code": 1}, code.id)
    return ServerTool(code.name, code.arguments, {"outcome": outcome, "output": output}, code.id)


def _foreign(signature: str | None) -> str | None:
    """A signature unless it is one that we made up."""
    return None if signature is None or _gemini_signatures.made_here(signature) else signature


def _bytes_of(data: Any) -> bytes | None:
    if isinstance(data, bytes):
        return data
    if not isinstance(data, str):
        return None
    try:
        return base64.urlsafe_b64decode(data.replace("+", "-").replace("/", "_"))
    except (binascii.Error, ValueError):
        return None


_COUNTED: Final = {
    "promptTokenCount": "prompt_token_count",
    "candidatesTokenCount": "candidates_token_count",
    "totalTokenCount": "total_token_count",
    "cachedContentTokenCount": "cached_content_token_count",
    "thoughtsTokenCount": "thoughts_token_count",
}


def _usage_of(given: Any, vertex: bool, said: Mapping[str, int]) -> Usage | None:
    if not isinstance(given, dict):
        return None
    counts = [_count(_either(given, camel, snake)) for camel, snake in _COUNTED.items()]
    prompt, candidates, total, cached, thoughts = counts
    output = candidates + thoughts
    usage = Usage(
        prompt,
        output,
        cached_tokens=cached,
        reasoning_tokens=thoughts,
        total_tokens=None if total in (0, prompt + output) else total,
    )
    own = _usage(usage, vertex, said=said)
    details = {
        name: value for name, value in _camel_keys(given).items() if own.get(name) != value and name not in _COUNTED
    }
    if not details:
        return usage
    return Usage(
        prompt,
        output,
        cached_tokens=cached,
        reasoning_tokens=thoughts,
        total_tokens=usage.total_tokens,
        details=details,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _logprobs_of(candidate: Mapping[str, Any]) -> list[Any] | None:
    result = _either(candidate, "logprobsResult", "logprobs_result")
    chosen = _either(result, "chosenCandidates", "chosen_candidates") if isinstance(result, dict) else None
    if not isinstance(chosen, list):
        return None
    found: list[Any] = []
    for entry in chosen:
        if not isinstance(entry, dict):
            continue
        pair = (entry.get("token"), _either(entry, "logProbability", "log_probability"))
        plain = entry.keys() <= {"token", "logProbability"} and None not in pair
        found.append(pair if plain else {_camel(name): value for name, value in entry.items()})
    return found


def tool_id(ids: Ids) -> str:
    """Eight letters and digits."""
    return ids.alnum(8)


DIALECT: Final = Dialect(
    name="gemini",
    label="Gemini",
    read=read,
    check=check,
    bad_json="Invalid JSON payload received. Unexpected token.",
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=failure,
    failure_events=ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Thinking, Image, Audio, Citation, ServerTool}),
    choices=True,
    shaping=frozenset({"generationConfig", "generation_config", "n"}),
    too_long="The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window}).",
    sdk_types=("google.genai.types.GenerateContentResponse",),
)
