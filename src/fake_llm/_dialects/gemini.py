"""Gemini: `models/{model}:generateContent` and `:streamGenerateContent`, on the Gemini API and on Vertex AI.

The request's fields are read in camelCase and in snake_case: the API takes both, and clients send
both. What is written has the key order of the Gemini API, or that of Vertex for the provider
`vertex`, as recorded up to 2026-08.

A thought's signature stands beside the part that follows the thought, not on the thought.
"""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Choice, Delta, Dialect, Exchange, Ids, WireEvent, media, merge, message, parsed_arguments
from fake_llm._errors import ScriptMismatchError, sentence
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
from fake_llm._turns import ERROR_NAMES, Error, Image, Reply, Thinking, ToolCall

__all__ = ["DIALECT"]

# --- the URL ---------------------------------------------------------------------------------------------------------


def stream(request: Request, body: Any) -> bool:
    """Whether the method in the URL is the one that streams."""
    return request.path_part(-1).rpartition(":")[2] == "streamGenerateContent"


def model(request: Request, body: Any) -> str:
    """The model in the URL: its last part, without the method."""
    name, colon, verb = request.path_part(-1).rpartition(":")
    return (name if colon else verb).rpartition("/")[2]


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
_CALLED: Final = "Model generated function call(s)."
_RATINGS: Final = (
    {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "NEGLIGIBLE"},
    {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True},
    {"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"},
    {"category": "HARM_CATEGORY_SEXUALLY_EXPLICIT", "probability": "NEGLIGIBLE"},
)
_PART_KEYS: Final = frozenset({"thoughtSignature", "thought", "partMetadata", "videoMetadata", "mediaResolution"})
_NEW: Final = re.compile(r"gemini-(?:[3-9]|(?:flash|flash-lite|pro)-latest)")
"""Models whose function calls have ids and are always signed (recorded 2026-08; the `-latest` names meant Gemini 3.6)."""

_OWN: Final = base64.b64encode(b"fake_llm signature").decode()
_OWN_HIDDEN: Final = base64.b64encode(b"fake_llm redaction").decode()
"""How the signatures begin that we make up, so that they aren't taken for scripted ones when they are read back."""


_NUMBERS: Final[Mapping[str, Mapping[str, int]]] = {
    "finishReason": {
        "STOP": 1,
        "MAX_TOKENS": 2,
        "SAFETY": 3,
        "RECITATION": 4,
        "OTHER": 5,
        "LANGUAGE": 6,
        "BLOCKLIST": 7,
        "PROHIBITED_CONTENT": 8,
        "SPII": 9,
        "MALFORMED_FUNCTION_CALL": 10,
    },
    "modality": {"TEXT": 1, "IMAGE": 2, "VIDEO": 3, "AUDIO": 4, "DOCUMENT": 5},
    "category": {
        "HARM_CATEGORY_HARASSMENT": 7,
        "HARM_CATEGORY_HATE_SPEECH": 8,
        "HARM_CATEGORY_SEXUALLY_EXPLICIT": 9,
        "HARM_CATEGORY_DANGEROUS_CONTENT": 10,
    },
    "probability": {"NEGLIGIBLE": 1, "LOW": 2, "MEDIUM": 3, "HIGH": 4},
}
"""What stands for words where the client asks for it: `$alt=json;enum-encoding=int`, as Google's own REST clients do."""


def _numbered(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbered(item) for item in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, item in value.items():
        if name == "functionCall":  # its arguments are the model's, whatever their keys
            found[name] = item
        elif isinstance(item, str):
            found[name] = _NUMBERS[name].get(item, item) if name in _NUMBERS else item
        else:
            found[name] = _numbered(item)
    return found


class _Writer:
    """What the answers of one exchange have in common."""

    __slots__ = ("_id", "exchange", "new", "numbers", "vertex")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.vertex = exchange.provider == "vertex"
        self.numbers = "enum-encoding" in exchange.request.url
        self.new = _NEW.search(model(exchange.request, None)) is not None
        self._id = exchange.id or base64.urlsafe_b64encode(exchange.ids.take(17)).decode()[:23]

    def body(self, candidates: list[dict[str, Any]], usage: dict[str, Any]) -> dict[str, Any]:
        if self.numbers:
            candidates, usage = _numbered(candidates), _numbered(usage)
        body = {"candidates": candidates, "usageMetadata": usage, "modelVersion": self.exchange.model}
        if self.vertex:
            body["createTime"] = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(self.exchange.created))
        body["responseId"] = self._id
        return body

    def content(self, parts: list[dict[str, Any]] | None) -> dict[str, Any]:
        if parts is None:
            return {"role": "model"}
        return {"role": "model", "parts": parts} if self.vertex else {"parts": parts, "role": "model"}

    def candidate(self, content: dict[str, Any] | None, index: int, choice: Choice | None) -> dict[str, Any]:
        """One candidate; with a `choice` when it is that one's last, with its finish reason."""
        found: dict[str, Any] = {}
        if content is not None:
            found["content"] = content
        reason = None if choice is None else _FINISH.get(choice.finish_reason, choice.finish_reason)
        if reason is not None:
            found["finishReason"] = reason
        if not self.vertex:
            found["index"] = index
        if choice is None:
            return found
        if reason == "STOP" and not self.vertex and choice.tool_calls:
            found["finishMessage"] = _CALLED
        if reason == "SAFETY":
            found["safetyRatings"] = [dict(rating) for rating in _RATINGS]
        if choice.logprobs is not None:
            found |= _logprobs(choice.logprobs, self.exchange.body)
        elif self.vertex and not self.new and not self.exchange.stream and choice.parts:
            found["avgLogprobs"] = _AVERAGE_LOGPROB  # whole answers of 2.x models only (recorded to 2026-08)
        return found

    def signature(self, hidden: bool = False) -> str:
        return (_OWN_HIDDEN if hidden else _OWN) + base64.b64encode(self.exchange.ids.take(60)).decode()

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
    candidates = [
        writer.candidate(_whole_content(writer, choice), index, choice) for index, choice in enumerate(exchange.choices)
    ]
    return exchange.extend(writer.body(candidates, _usage(exchange.usage, writer.vertex)))


def _whole_content(writer: _Writer, choice: Choice) -> dict[str, Any] | None:
    if not choice.parts:
        return _no_content(writer, choice)
    return writer.content([part for pieces in _parts_of(writer, choice, whole=True) for part in pieces])


def _no_content(writer: _Writer, choice: Choice) -> dict[str, Any] | None:
    reason = _FINISH.get(choice.finish_reason, choice.finish_reason)
    if reason == "SAFETY":
        return None
    return {} if reason == "MALFORMED_FUNCTION_CALL" else writer.content(None)


def _parts_of(writer: _Writer, choice: Choice, whole: bool) -> Iterator[list[dict[str, Any]]]:
    """For each part of a turn what is written of it: one part, or when it is streamed one for each piece."""
    pending: str | None = None
    signed = not writer.new
    last = len(choice.parts) - 1
    for index, part in enumerate(choice.parts):
        if isinstance(part, Thinking):
            follower = choice.parts[index + 1] if index < last else None
            signature = _base64(part.signature)
            if signature is None and (writer.new or part.redacted or isinstance(follower, ToolCall)):
                signature = writer.signature(part.redacted)
            alone = follower is None or isinstance(follower, Thinking)
            written = (
                []
                if part.redacted
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
        elif isinstance(part, Image):
            written, pending = [_sign(_inline(part), pending)], None
        else:
            text = part if isinstance(part, str) else part.text
            written = [{"text": piece} for piece in _pieces(choice, index, text, whole)]
            if pending is not None:
                if not whole and text:
                    written.append({"text": ""})
                _sign(written[-1], pending)
                pending = None
        yield written


_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}==|[A-Za-z0-9+/_-]{3}=)?")


def _base64(signature: str | None) -> str | None:
    """A scripted signature as the field's type demands: SDKs refuse what isn't base64."""
    if signature is None or _BASE64.fullmatch(signature):
        return signature
    return base64.b64encode(signature.encode("utf-8", "surrogatepass")).decode()


def _pieces(choice: Choice, index: int, text: str, whole: bool) -> list[str]:
    return [text] if whole else choice.pieces(index) or [text]


def _sign(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    if signature is not None:
        part["thoughtSignature"] = signature
    return part


def _inline(image: Image) -> dict[str, Any]:
    if isinstance(image.data, bytes):
        return {"inlineData": {"mimeType": image.media_type, "data": image.base64}}
    raise ScriptMismatchError(
        sentence(
            f"The turn has an image by its URL: {image.data!r}.",
            "Gemini sends images as bytes.",
            "Write Image(png_bytes).",
        )
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


def _usage(usage: Usage, vertex: bool, written: int | None = None) -> dict[str, Any]:
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
        found["trafficType"] = "ON_DEMAND"
    if prompt:
        found["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": prompt}]
    if cached:
        found["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": cached}]
    if vertex and candidates:
        found["candidatesTokensDetails"] = [{"modality": "TEXT", "tokenCount": candidates}]
    if thoughts:
        found["thoughtsTokenCount"] = thoughts
    if not vertex:
        found["serviceTier"] = "standard"
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
    parts = [part for pieces in _parts_of(writer, choice, whole=False) for part in pieces]
    if not cut:
        for part in parts[:-1]:
            yield writer.candidate(writer.content([part]), index, None), False
        ending = writer.content(parts[-1:]) if parts else _no_content(writer, choice)
        yield writer.candidate(ending, index, choice), False
        return
    last: dict[str, Any] = (
        parts.pop() if parts and parts[-1].get("text") == "" and "thoughtSignature" in parts[-1] else {"text": ""}
    )
    for part in parts:
        yield writer.candidate(writer.content([part]), index, None), False
    ending = writer.content([last]) if choice.parts else _no_content(writer, choice)
    yield writer.candidate(ending, index, choice), True


def _chunk(writer: _Writer, candidate: dict[str, Any], final: bool, tokens: int) -> Delta:
    exchange = writer.exchange
    if final:
        usage = _usage(exchange.usage, writer.vertex)
    elif writer.vertex:
        usage = {"trafficType": "ON_DEMAND"}
    else:
        usage = _usage(exchange.usage, False, tokens)
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
_CODES: Final = {**ERROR_NAMES, "authentication": 400, "request_too_large": 400, "overloaded": 503}
_BAD_KEY: Final = "API key not valid. Please pass a valid API key."
_BAD_CREDENTIALS: Final = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
    "authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project."
)
_MESSAGES: Final = {
    "bad_request": "Request contains an invalid argument.",
    "authentication": _BAD_KEY,
    "permission": "The caller does not have permission",
    "request_too_large": "Request payload size exceeds the limit: 20971520 bytes.",
    "context_length": "The input token count exceeds the maximum number of tokens allowed 1048576.",
    "content_filter": (
        "The prompt could not be submitted. This prompt contains sensitive words that violate Google's Responsible AI "
        "practices. Try rephrasing the prompt."
    ),
    "rate_limit": (
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
        "head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: "
        "https://ai.dev/rate-limit. "
    ),
    "server_error": (
        "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
    ),
    "unavailable": "The model is overloaded. Please try again later.",
    "overloaded": "The model is overloaded. Please try again later.",
    "timeout": "Deadline expired before operation could complete.",
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


def failure(exchange: Exchange, error: Error) -> Response:
    """Google's error, as a list of one where a stream in a JSON array was asked for."""
    status, body = _error_body(exchange, error)
    sse = _is_sse(exchange)
    if exchange.stream and not sse:
        return Response(status, _headers_of(exchange, "application/json; charset=UTF-8"), _json.pretty([body]) + b"\n")
    # An error before the first chunk has the content type of the stream it replaces (recorded 2026).
    kind = "text/event-stream" if sse and exchange.stream else "application/json; charset=UTF-8"
    return Response(status, _headers_of(exchange, kind), _json.pretty(body) + b"\n")


def failure_events(exchange: Exchange, error: Error) -> list[WireEvent]:
    """The same error in the middle of a stream: a chunk of a JSON array, but bare JSON among server-sent events."""
    body = _error_body(exchange, error)[1]
    return [_json.pretty(body) + b"\n"] if _is_sse(exchange) else [body]


def _is_sse(exchange: Exchange) -> bool:
    return exchange.request.query.get("alt", "") == "sse"


def _error_body(exchange: Exchange, error: Error) -> tuple[int, dict[str, Any]]:
    vertex = exchange.provider == "vertex"
    name = error.name
    status = _CODES[name] if isinstance(error.kind, str) else error.kind
    if vertex and error.kind == "authentication":
        status = 401
    text = _default_message(exchange, error, status, vertex) if error.message is None else error.message
    details = _details(exchange, error, status, text, vertex)
    code = _STATUS.get(status) or ("INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    body: dict[str, Any] = {"code": status, "message": text, "status": code}
    if details:
        body["details"] = details
    return status, {"error": body}


def _default_message(exchange: Exchange, error: Error, status: int, vertex: bool) -> str:
    name = error.name
    if status == 401:
        return _BAD_CREDENTIALS
    if name == "not_found":
        return _not_found(exchange, vertex)
    if name in _QUOTAS:
        if vertex:
            return "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details."
        metric, _, value = _QUOTAS[name]
        text = f"{_MESSAGES['rate_limit']}\n* Quota exceeded for metric: generativelanguage.googleapis.com/{metric}, limit: {value}, model: {exchange.model}"
        return text if error.retry_after is None else f"{text}\nPlease retry in {_seconds(error.retry_after)}."
    return _MESSAGES[name]


def _seconds(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".") + "s"


def _not_found(exchange: Exchange, vertex: bool) -> str:
    parts = exchange.request.path.strip("/").split("/")
    if vertex:
        resource = "/".join(parts[1:]).partition(":")[0]
        return f"Publisher Model `{resource}` not found."
    name = model(exchange.request, None)
    version = parts[0] if len(parts) > 1 else "v1beta"
    return (
        f"models/{name} is not found for API version {version}, or is not supported for generateContent. "
        "Call ListModels to see the list of available models and their supported methods."
    )


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
        found = [_HELP, {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}]
    elif status == 400:
        field = _FIELD.match(text)
        if field is not None:
            violations = [{"field": field[1], "description": text}]
            found = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
        elif text.startswith("Invalid JSON payload received. Unknown name"):
            found = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"description": text}]}]
    if error.retry_after is not None:
        found = [
            *found,
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{_seconds(error.retry_after)}"},
        ]
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
_TIER: Final = (("x-gemini-service-tier", "standard"),)
_ATTACHMENT: Final = (("content-disposition", "attachment"),)
_WHOLE_HEADERS: Final = _TIER + _VARY + _GUARDS + _API_ONLY
_STREAM_HEADERS: Final = _ATTACHMENT + _VARY + _GUARDS + _API_ONLY
_VERTEX_HEADERS: Final = _VARY + _GUARDS
_VERTEX_STREAM_HEADERS: Final = _ATTACHMENT + _VARY + _GUARDS
_FAILURE_HEADERS: Final = _VARY + _GUARDS + _API_ONLY


def headers(exchange: Exchange) -> HeaderItems:
    """Headers of a successful answer, whole or streamed."""
    if exchange.provider == "vertex":
        return _VERTEX_STREAM_HEADERS if exchange.stream else _VERTEX_HEADERS
    return _STREAM_HEADERS if exchange.stream else _WHOLE_HEADERS


def _headers_of(exchange: Exchange, content_type: str) -> HeaderItems:
    return (("content-type", content_type), *(_VERTEX_HEADERS if exchange.provider == "vertex" else _FAILURE_HEADERS))


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
        "usage": _usage_of(_either(document, "usageMetadata", "usage_metadata"), "createTime" in document),
    }
    choices = [_choice_of(candidate) for candidate in _many(document.get("candidates")) if isinstance(candidate, dict)]
    if not choices:
        blocked = _either(document, "promptFeedback", "prompt_feedback")
        return Reply(finish_reason="content_filter" if blocked else None, **common)
    return choices[0].replace(choices=choices[1:], **common)


def _choice_of(candidate: Mapping[str, Any]) -> Reply:
    content = candidate.get("content")
    found: list[Any] = []
    for part in _many(content.get("parts")) if isinstance(content, dict) else []:
        if isinstance(part, dict):
            _add_part(found, part)
    reason = _either(candidate, "finishReason", "finish_reason")
    reason = _REASON_WORDS.get(reason, str(reason)) if isinstance(reason, int) else reason
    if reason == "STOP":
        reason = "tool_calls" if any(isinstance(part, ToolCall) for part in found) else "stop"
    elif isinstance(reason, str):
        reason = _REASONS.get(reason, reason)
    return Reply(*found, finish_reason=reason if isinstance(reason, str) else None, logprobs=_logprobs_of(candidate))


def _add_part(found: list[Any], part: Mapping[str, Any]) -> None:
    signature = _either(part, "thoughtSignature", "thought_signature")
    signature = signature if isinstance(signature, str) and signature else None
    text = part.get("text")
    if part.get("thought") and isinstance(text, str):
        found.append(Thinking(text, _foreign(signature), redacted=not text and signature is not None))
        return
    read = _part_of(part, text)
    if signature is not None:
        before = found[-1] if found else None
        if isinstance(before, Thinking) and before.signature is None and not before.redacted:
            found[-1] = Thinking(before.text, _foreign(signature))
        elif not signature.startswith(_OWN):
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
    data = _either(part, "inlineData", "inline_data")
    if isinstance(data, dict):
        raw = _bytes_of(data.get("data"))
        kind = _either(data, "mimeType", "mime_type")
        return Image(raw, kind if isinstance(kind, str) else "image/png") if raw else None
    return None


def _foreign(signature: str | None) -> str | None:
    """A signature unless it is one that we made up."""
    return None if signature is None or signature.startswith((_OWN, _OWN_HIDDEN)) else signature


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


def _usage_of(given: Any, vertex: bool) -> Usage | None:
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
    own = _usage(usage, vertex)
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
    failure_events=failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Thinking, Image}),
    choices=True,
    shaping=frozenset({"generationConfig", "generation_config", "n"}),
    too_long="The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window}).",
    sdk_types=("google.genai.types.GenerateContentResponse",),
)
