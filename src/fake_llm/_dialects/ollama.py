"""Ollama's own API, `POST /api/chat` and `POST /api/generate`: two vocabularies that share nearly everything.

The forms are those of WIRE recordings of 2024-2026, of the vendor's schema and of its server's sources (2026-08), errors
and refusals included; both stream unless they are told not to. What came with later SDKs is from their types (ollama 0.6, 2026-11).
"""

from __future__ import annotations

import base64
import datetime as dt
import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fake_llm import _json
from fake_llm._dialect import (
    Choice,
    Delta,
    Dialect,
    Exchange,
    Ids,
    WireEvent,
    dicts,
    media,
    merge,
    message,
    parsed_arguments,
    string,
)
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import (
    AUTO,
    HeaderItems,
    Message,
    Request,
    SentToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._turns import Error, Image, Reply, Thinking, ToolCall

__all__ = ["CHAT", "GENERATE", "JSON", "Field", "created_at", "dumps", "idle", "name_of", "refused", "unfit"]

# --- bytes ---------------------------------------------------------------------------------------

JSON: Final = "application/json; charset=utf-8"
_ESCAPED: Final = re.compile(b"[<>&]|\xe2\x80[\xa8\xa9]")


def dumps(value: Any) -> bytes:
    r"""Compact JSON as Go writes it: `<`, `>`, `&` and the two separators of lines escaped, as in `\u003c`."""
    return _ESCAPED.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), _json.compact(value))


def created_at(exchange: Exchange) -> str:
    """When an answer was made, as Go prints it."""
    return dt.datetime.fromtimestamp(exchange.created, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- request to view -----------------------------------------------------------------------------

_SETTINGS: Final = {"num_predict": "max_tokens"}
_NOT_PARAMS: Final = frozenset(
    {"model", "messages", "prompt", "system", "images", "tools", "format", "options", "stream"}
)


def read_chat(request: Request, body: Any) -> View:
    """The view of a chat; see `Dialect.read`."""
    if not isinstance(body, dict):
        return View()
    messages: list[Message] = []
    waiting: list[str] = []
    for item in dicts(body.get("messages")):
        role = string(item.get("role")).lower()
        if role == "tool":
            messages.append(_result(item, waiting.pop(0) if waiting else ""))
        elif role == "assistant":
            said = message("assistant", _texts(item), _calls(item), thinking=string(item.get("thinking")))
            waiting = [call.name for call in said.tool_calls]
            messages.append(said)
        else:
            messages.append(message("system" if role == "system" else "user", _texts(item)))
    system = "\n".join(item.text for item in messages if item.role == "system")
    return View(tuple(messages), system, _tools(body), AUTO, _schema(body), _params(body))


def read_generate(request: Request, body: Any) -> View:
    """The view of a prompt; see `Dialect.read`."""
    if not isinstance(body, dict):
        return View()
    texts = _texts({"content": body.get("prompt"), "images": body.get("images")})
    return View((message("user", texts),), string(body.get("system")), {}, AUTO, _schema(body), _params(body))


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(item: Mapping[str, Any]) -> list[str]:
    images = item.get("images")
    shown: list[str] = [media("[image]") for _ in images] if isinstance(images, list) else []
    content = string(item.get("content"))
    return [content, *shown] if content or not shown else shown


def _calls(item: Mapping[str, Any]) -> list[SentToolCall]:
    called = ((call, _object(call.get("function"))) for call in dicts(item.get("tool_calls")))
    return [
        SentToolCall(string(function.get("name")), function.get("arguments", {}), call.get("id") or None)
        for call, function in called
    ]


def _result(item: Mapping[str, Any], waiting: str) -> Message:
    """A tool's result; one that says neither a name nor an id answers the next call that hasn't been answered."""
    id_, name = item.get("tool_call_id") or None, string(item.get("tool_name")) or string(item.get("name"))
    texts = _texts(item)
    result = ToolResult(id_, name or ("" if id_ else waiting), "\n".join(texts), is_error=False)
    return message("tool", texts, tool_results=(result,))


def _tools(body: Mapping[str, Any]) -> dict[str, ToolSpec]:
    tools: dict[str, ToolSpec] = {}
    for tool in dicts(body.get("tools")):
        function = _object(tool.get("function"))
        name = function.get("name")
        if isinstance(name, str):
            parameters = function.get("parameters")
            schema = parameters if isinstance(parameters, dict) else {}
            tools[name] = ToolSpec(name, schema, string(function.get("description")), strict=False)
    return tools


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    asked = body.get("format")
    return asked if isinstance(asked, dict) else {} if asked == "json" else None


def _params(body: Mapping[str, Any]) -> dict[str, Any]:
    params = {key: value for key, value in body.items() if key not in _NOT_PARAMS and value is not None}
    options = _object(body.get("options"))
    return params | {_SETTINGS.get(key, key): value for key, value in options.items() if value is not None}


def stream(request: Request, body: Any) -> bool:
    """Whether the request asks for a stream, which it does by saying nothing."""
    return isinstance(body, dict) and body.get("stream") is not False


def name_of(request: Request, body: Any) -> str:
    """The model that the body names; older clients call it a name."""
    return string(body.get("model")) or string(body.get("name")) if isinstance(body, dict) else ""


def model(request: Request, body: Any) -> str:
    """The model that the body names."""
    return string(body.get("model")) if isinstance(body, dict) else ""


def idle(body: Any) -> str | None:
    """What a request does that asks the model nothing: `load` or `unload` it; `None` for one that does ask."""
    if not isinstance(body, dict) or body.get("messages") or body.get("prompt"):
        return None
    return "unload" if _seconds(body.get("keep_alive")) == 0 else "load"


def _seconds(value: Any) -> float | None:
    """A time to keep a model, as far as it matters whether it is none at all."""
    if isinstance(value, str):
        return 0.0 if _NO_TIME.fullmatch(value) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# --- refusals of malformed requests --------------------------------------------------------------

_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)")
_NO_TIME: Final = re.compile(r"[-+]?(?:0|(?:(?:0+\.?0*|\.0+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)")
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9+/\r\n]")
_NAME: Final = re.compile(r"(?:\w+://)?(?:[\w.-]+(?::\d+)?/)?(?:[\w.-]+/)?[\w.-]+(?::[\w.-]+){0,2}(?:@.*)?")
_THINKS: Final = ("high", "medium", "low", "max")
_MOST_LOGPROBS: Final = 20


class Field(NamedTuple):
    """A field of a request: its name, the JSON types that go into it, and what Go calls its type."""

    name: str
    kinds: tuple[type, ...]
    type: str


_BOOL: Final = (bool,)
_COMMON: Final = (
    Field("model", (str,), "string"),
    Field("stream", _BOOL, "bool"),
    Field("options", (dict,), "map[string]interface {}"),
    Field("truncate", _BOOL, "bool"),
    Field("shift", _BOOL, "bool"),
    Field("logprobs", _BOOL, "bool"),
    Field("top_logprobs", (int,), "int"),
)
_CHAT_FIELDS: Final = (Field("messages", (list,), "[]api.Message"), Field("tools", (list,), "api.Tools"), *_COMMON)
_GENERATE_FIELDS: Final = (
    *(Field(name, (str,), "string") for name in ("prompt", "suffix", "system", "template")),
    Field("context", (list,), "[]int"),
    Field("images", (list,), "[]api.ImageData"),
    Field("raw", _BOOL, "bool"),
    *_COMMON,
)
_MESSAGE_FIELDS: Final = (
    *(Field(name, (str,), "string") for name in ("role", "content", "thinking", "tool_name", "tool_call_id")),
    Field("images", (list,), "[]api.ImageData"),
    Field("tool_calls", (list,), "[]api.ToolCall"),
)
_OPTIONS: Final = {
    **dict.fromkeys(("num_keep", "seed", "num_predict", "top_k", "repeat_last_n", "num_ctx", "num_batch"), "integer"),
    **dict.fromkeys(("num_gpu", "main_gpu", "num_thread", "draft_num_predict"), "integer"),
    **dict.fromkeys(("top_p", "min_p", "typical_p", "temperature", "repeat_penalty"), "float32"),
    **dict.fromkeys(("presence_penalty", "frequency_penalty"), "float32"),
    "use_mmap": "boolean",
}


def unfit(where: str, value: Mapping[str, Any], fields: Iterable[Field]) -> str | None:
    """What Go says to an object with a field of the wrong type; `where` is its own name, with a path if it lies deeper."""
    for field in fields:
        given = value.get(field.name)
        if given is None or (isinstance(given, field.kinds) and (bool in field.kinds or not isinstance(given, bool))):
            continue
        return _unmarshal(given, f"{where}.{field.name}", field.type)
    return None


def _unmarshal(value: Any, where: str, kind: str) -> str:
    return f"json: cannot unmarshal {_go_kind(value, kind)} into Go struct field {where} of type {kind}"


def _go_kind(value: Any, into: str = "") -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float) and into == "int":
        return f"number {value!r}"
    names = ((str, "string"), ((int, float), "number"), (list, "array"))
    return next((name for kind, name in names if isinstance(value, kind)), "object")


def refused(body: Any, kind: str, fields: Iterable[Field]) -> Error | None:
    """What the server says to a body that isn't the request that it should be."""
    if not isinstance(body, dict):
        return Error(400, f"json: cannot unmarshal {_go_kind(body)} into Go value of type api.{kind}")
    wrong = unfit(kind, body, fields) or _wrong_time(body.get("keep_alive"))
    return None if wrong is None else Error(400, wrong)


def _wrong_time(value: Any) -> str | None:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return None
    if isinstance(value, str):
        if _DURATION.fullmatch(value):
            return None
        number = re.fullmatch(r"[-+]?[\d.]+", value)
        said = "missing unit in duration" if number else "invalid duration"
        return f'time: {said} "{value}"'
    kind = {bool: "bool", list: "[]interface {}"}.get(type(value), "map[string]interface {}")
    return f"Unsupported type: '{kind}'"


def check_chat(request: Request, body: Any) -> Error | None:
    """The server's refusal of a malformed chat."""
    if (error := refused(body, "ChatRequest", _CHAT_FIELDS)) is not None:
        return error
    for item in body.get("messages") or ():
        if (wrong := _wrong_message(item)) is not None:
            return Error(400, wrong)
    for item in body.get("tools") or ():
        if (wrong := _wrong_tool(item)) is not None:
            return Error(400, wrong)
    return _check_rest(body) or _check_name(body, Error(400, "model is required")) or _check_late(body)


def check_generate(request: Request, body: Any) -> Error | None:
    """The server's refusal of a malformed prompt."""
    if (error := refused(body, "GenerateRequest", _GENERATE_FIELDS)) is not None:
        return error
    for number in body.get("context") or ():
        if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
            return Error(400, _unmarshal(number, "GenerateRequest.context", "int"))
    if (wrong := _wrong_images(body, "GenerateRequest")) is not None:
        return Error(400, wrong)
    error = _check_rest(body) or _check_name(body, Error("not_found", "model '' not found"))
    if error is not None:
        return error
    if body.get("raw") and (body.get("template") or body.get("system") or body.get("context")):
        return Error(400, "raw mode does not support template, system, or context")
    return _check_late(body)


def _wrong_message(item: Any) -> str | None:
    """A message reads itself, so Go names the request and the whole path (1.24 and later)."""
    if item is None:
        return None
    if not isinstance(item, dict):
        return _unmarshal(item, "ChatRequest.messages", "api.Alias")
    where = "ChatRequest.messages"
    wrong = unfit(where, item, _MESSAGE_FIELDS) or _wrong_images(item, where)
    if wrong is not None:
        return wrong
    for call in item.get("tool_calls") or ():
        if (wrong := _wrong_call(call, f"{where}.tool_calls")) is not None:
            return wrong
    return None


def _wrong_call(call: Any, where: str) -> str | None:
    if call is None:
        return None
    if not isinstance(call, dict):
        return _unmarshal(call, where, "api.ToolCall")
    function = call.get("function")
    wrong = unfit(
        where, call, (Field("id", (str,), "string"), Field("function", (dict,), "api.ToolCallFunction"))
    ) or unfit(f"{where}.function", _object(function), (Field("index", (int,), "int"), Field("name", (str,), "string")))
    if wrong is not None:
        return wrong
    arguments = _object(function).get("arguments")
    if arguments is not None and not isinstance(arguments, dict):
        return "Value looks like object, but can't find closing '}' symbol"  # what a text there gives (2026)
    return None


def _wrong_tool(tool: Any) -> str | None:
    if tool is None:
        return None
    if not isinstance(tool, dict):
        return _unmarshal(tool, "ChatRequest.tools", "api.Tool")
    text = (str,)
    function = _object(tool.get("function"))
    return (
        unfit("Tool.tools", tool, (Field("type", text, "string"), Field("function", (dict,), "api.ToolFunction")))
        or unfit(
            "ToolFunction.tools.function",
            function,
            (
                Field("name", text, "string"),
                Field("description", text, "string"),
                Field("parameters", (dict,), "api.ToolFunctionParameters"),
            ),
        )
        or unfit(
            "ToolFunctionParameters.tools.function.parameters",
            _object(function.get("parameters")),
            (Field("type", text, "string"), Field("required", (list,), "[]string")),
        )
    )


def _wrong_images(holder: Mapping[str, Any], where: str) -> str | None:
    for image in holder.get("images") or ():
        if image is None:
            continue
        if not isinstance(image, str):
            return _unmarshal(image, f"{where}.images", "api.ImageData")
        place = _not_base64(image)
        if place is not None:
            return f"illegal base64 data at input byte {place}"
    return None


def _not_base64(text: str) -> int | None:
    """Where a text stops being base64, `None` for one that is."""
    bare = text.rstrip("=\r\n")
    odd = _NOT_BASE64.search(bare)
    if odd is not None:
        return odd.start()
    signs = len(bare) - bare.count("\r") - bare.count("\n")
    return None if (signs + text.count("=")) % 4 == 0 and text.count("=") <= 2 else len(text)


def _check_rest(body: Mapping[str, Any]) -> Error | None:
    think = body.get("think")
    said = f'"{think}"' if isinstance(think, str) else ""
    if isinstance(think, str) and think not in _THINKS:
        return Error(400, f'invalid think value: {said} (must be "high", "medium", "low", "max", true, or false)')
    if think is not None and not isinstance(think, (bool, str)):
        return Error(400, 'think must be a boolean or string ("high", "medium", "low", "max", true, or false)')
    if not 0 <= (body.get("top_logprobs") or 0) <= _MOST_LOGPROBS:
        return Error(400, f"top_logprobs must be between 0 and {_MOST_LOGPROBS}")
    return None


def _check_name(body: Mapping[str, Any], missing: Error) -> Error | None:
    name = body.get("model")
    if not name or not name.strip():
        return missing
    return None if _NAME.fullmatch(name) else Error(400, "invalid model name")


def _check_late(body: Mapping[str, Any]) -> Error | None:
    """What the server sees once it has the model: its status is that of an error of its own."""
    for name, value in (body.get("options") or {}).items():
        wanted = _OPTIONS.get(name)
        fits = wanted is None or value is None
        if wanted == "boolean":
            fits = fits or isinstance(value, bool)
        else:
            fits = fits or (isinstance(value, (int, float)) and not isinstance(value, bool))
        if not fits:
            return Error(500, f'option "{name}" must be of type {wanted}')
    asked = body.get("format")
    if asked is None or asked in ("", "json") or isinstance(asked, dict):
        return None
    shown = _json.text(_json.text(asked))
    return Error(500, f'invalid format: {shown}; expected "json" or a valid JSON Schema object')


# --- turn to body and events ---------------------------------------------------------------------

_REASONS: Final[Mapping[str, str]] = dict.fromkeys(
    ("tool_calls", "content_filter", "refusal", "stop_sequence", "pause", "malformed_tool_call"), "stop"
)
"""The server knows `stop` and `length` only, and says `stop` of a tool call too."""
_LOADING: Final = 50_000_000
_READING: Final = 1_000_000
_WRITING: Final = 10_000_000
"""Nanoseconds: a model is loaded, a token of the prompt is read, one of the answer is written."""


def _head(exchange: Exchange) -> dict[str, Any]:
    return {"model": exchange.model, "created_at": created_at(exchange)}


def _metrics(exchange: Exchange) -> dict[str, Any]:
    """How long it took, and the tokens; what is zero isn't said, and nothing of a model that was only (un)loaded."""
    usage = exchange.usage
    if exchange.choice.finish_reason in ("load", "unload"):
        return dict(usage.details)
    reading, writing = usage.input_tokens * _READING, usage.output_tokens * _WRITING
    said = {
        "total_duration": _LOADING + reading + writing,
        "load_duration": _LOADING,
        "prompt_eval_count": usage.input_tokens,
        "prompt_eval_duration": reading,
        "eval_count": usage.output_tokens,
        "eval_duration": writing,
    }
    return {key: value for key, value in said.items() if value} | dict(usage.details)


def _end(exchange: Exchange) -> dict[str, Any]:
    reason = exchange.choice.finish_reason
    return {"done": True, "done_reason": _REASONS.get(reason, reason)}


def document_chat(exchange: Exchange) -> dict[str, Any]:
    """The whole answer of a chat."""
    choice = exchange.choice
    said: dict[str, Any] = {"role": "assistant", "content": choice.text}
    if thoughts := _thoughts(choice):
        said["thinking"] = thoughts
    if images := [_base64(image) for image in choice.of(Image)]:
        said["images"] = images
    if calls := [_call(call, index) for index, call in enumerate(choice.tool_calls)]:
        said["tool_calls"] = calls
    entries = _logprobs(exchange, choice)
    logprobs = {"logprobs": entries} if entries else {}
    return exchange.extend({**_head(exchange), "message": said, **_end(exchange), **logprobs, **_metrics(exchange)})


def document_generate(exchange: Exchange) -> dict[str, Any]:
    """The whole answer to a prompt."""
    choice = exchange.choice
    thoughts = _thoughts(choice)
    entries = _logprobs(exchange, choice)
    return exchange.extend(
        {
            **_head(exchange),
            "response": choice.text,
            **({"thinking": thoughts} if thoughts else {}),
            **_closing_generate(exchange),
            **({"logprobs": entries} if entries else {}),
        }
    )


def _closing_generate(exchange: Exchange) -> dict[str, Any]:
    """What closes an answer to a prompt; an image is there, since one model of images made one at a time (ollama 0.6)."""
    images = exchange.choice.of(Image)
    raw = isinstance(exchange.body, dict) and exchange.body.get("raw") is True
    return {
        **_end(exchange),
        **({} if raw else {"context": _context(exchange)}),
        **_metrics(exchange),
        **({"image": _base64(images[-1])} if images else {}),
    }


_LONGEST: Final = 256


def _context(exchange: Exchange) -> list[int]:
    """The conversation as ids of tokens: what was sent of it, then some for this prompt and its answer."""
    before = exchange.body.get("context") if isinstance(exchange.body, dict) else None
    count = max(1, min(exchange.usage.total, _LONGEST))
    return [*(before or ()), *struct.unpack(f">{count}H", exchange.ids.take(2 * count))]


def _thoughts(choice: Choice) -> str:
    return "".join(part.text for part in choice.of(Thinking))


def _base64(image: Image) -> str:
    if isinstance(image.data, bytes):
        return image.base64
    raise ScriptMismatchError(
        sentence(
            f"The turn has an image by its URL: {image.data!r}.",
            "Ollama sends images as bytes.",
            "Write Image(png_bytes).",
        )
    )


def _call(call: ToolCall, index: int) -> dict[str, Any]:
    """A tool call; an id that is empty isn't sent, as none was before 2025-10."""
    function = {"index": index, "name": call.name, "arguments": _arguments(call)}
    written: dict[str, Any] = {**({"id": call.id} if call.id else {}), "function": function}
    return merge(written, call.extra) if call.extra else written


def _arguments(call: ToolCall) -> Any:
    """The arguments parsed; those that aren't JSON as the text that they are."""
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    return parsed_arguments(call.arguments) if call.arguments else {}


def events_chat(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """A chat as lines: pieces of thoughts and text, each tool call whole, then a line that closes it."""
    content: list[WireEvent] = []
    calls = 0
    for index, part in enumerate(exchange.choice.parts):
        if isinstance(part, ToolCall):
            content.append(_line(exchange, "message", {"content": "", "tool_calls": [_call(part, calls)]}))
            calls += 1
        elif isinstance(part, Image):
            content.append(_line(exchange, "message", {"content": "", "images": [_base64(part)]}))
        elif isinstance(part, Thinking):
            pieces = exchange.choice.pieces(index)
            content += [_line(exchange, "message", {"content": "", "thinking": piece}) for piece in pieces]
        else:
            content += [_line(exchange, "message", {"content": piece}) for piece in exchange.choice.pieces(index)]
    closing = {
        **_head(exchange),
        "message": {"role": "assistant", "content": ""},
        **_end(exchange),
        **_metrics(exchange),
    }
    _give_logprobs(exchange, content, closing, lambda line: line["message"]["content"])
    return content, [exchange.extend(closing)]


def events_generate(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The answer to a prompt as lines."""
    content: list[WireEvent] = []
    for index, part in enumerate(exchange.choice.parts):
        pieces = exchange.choice.pieces(index)
        if isinstance(part, Thinking):
            content += [_line(exchange, "thinking", piece) for piece in pieces]
        else:
            content += [_line(exchange, "response", piece) for piece in pieces]
    closing = {**_head(exchange), "response": "", **_closing_generate(exchange)}
    _give_logprobs(exchange, content, closing, lambda line: line["response"])
    return content, [exchange.extend(closing)]


def _line(exchange: Exchange, key: str, value: Any) -> Delta:
    if key == "message":
        said: dict[str, Any] = {"message": {"role": "assistant", **value}}
    else:
        said = {"response": "", key: value}
    return Delta({**_head(exchange), **said, "done": False})


# --- logprobs ------------------------------------------------------------------------------------

_OTHERS: Final = (
    *(" the", ",", " a", ".", " and", " to", " of", "\n", " in", " is", "!"),
    *(" it", " I", " you", " that", " for", " on", "?", " with", " this"),
)


def _logprobs(exchange: Exchange, choice: Choice) -> list[Any]:
    """The tokens of the text with their logarithms: those of the script, else made up where they are asked for."""
    body = _object(exchange.body)
    top = body.get("top_logprobs")
    top = top if isinstance(top, int) else 0
    if choice.logprobs is not None:
        return [_entry(item, top) for item in choice.logprobs]
    if body.get("logprobs") is not True:
        return []
    pieces = (
        piece for index, part in enumerate(choice.parts) if isinstance(part, str) for piece in choice.pieces(index)
    )
    made = ((piece, zlib.crc32(piece.encode("utf-8", "surrogatepass")) % 1000 + 1) for piece in pieces)
    return [_token(piece, -number / 8192, top) for piece, number in made]  # exact in binary


def _entry(item: Any, top: int) -> Any:
    """An entry out of a `(token, logprob)` pair; the vendor's own as it is."""
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):
        return _token(item[0], item[1], top)
    return item


def _token(token: str, logprob: float, top: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "surrogatepass"))}
    if top <= 0:
        return entry
    others = [other for other in _OTHERS if other != token][: top - 1]
    ranked = [
        {"token": other, "logprob": logprob - 2.5 - rank / 2, "bytes": list(other.encode())}
        for rank, other in enumerate(others)
    ]
    return {**entry, "top_logprobs": [entry, *ranked]}


def _give_logprobs(exchange: Exchange, lines: Sequence[Any], closing: dict[str, Any], text_of: Any) -> None:
    """Put each entry on the line in which its token begins; what is left goes with the last of them."""
    entries = _logprobs(exchange, exchange.choice)
    if not entries:
        return
    said = [(line, text_of(line)) for line in lines if text_of(line)]
    at, end = 0, 0
    for number, (line, text) in enumerate(said):
        end += len(text)
        taken: list[Any] = []
        while entries and (at < end or number == len(said) - 1):
            entry = entries.pop(0)
            token = entry.get("token") if isinstance(entry, Mapping) else None
            at += len(token) if isinstance(token, str) else len(text)
            taken.append(entry)
        if taken:
            line["logprobs"] = taken
    if entries:
        closing["logprobs"] = entries


# --- errors --------------------------------------------------------------------------------------


def _body(said: Said) -> dict[str, Any]:
    """A text under one key: a whole answer, or a line of a stream, which it ends."""
    return {"error": said.message}


ERRORS: Final = Errors(
    body=_body,
    encode=dumps,
    content_type=JSON,
    usual={
        "bad_request": Usual(400, "", "invalid request"),
        "authentication": Usual(401, "", "unauthorized"),
        "permission": Usual(
            403, "", "this model requires a subscription, upgrade for access: https://ollama.com/upgrade"
        ),
        "not_found": Usual(404, "", "model '{model}' not found"),
        "request_too_large": Usual(413, "", "http: request body too large"),
        "context_length": Usual(400, "", "the input length exceeds the context length"),
        "content_filter": Usual(400, "", "the request was refused by a content filter"),
        "rate_limit": Usual(
            429,
            "",
            "you have reached your hourly usage limit, upgrade for higher limits: https://ollama.com/upgrade",
        ),
        "quota": Usual(
            429, "", "you have reached your weekly usage limit, upgrade for higher limits: https://ollama.com/upgrade"
        ),
        "server_error": Usual(500, "", "model runner has unexpectedly stopped"),
        "unavailable": Usual(503, "", "service unavailable"),
        "overloaded": Usual(503, "", "server busy, please try again.  maximum pending requests exceeded"),
        "timeout": Usual(504, "", "timed out waiting for llama runner to start"),
    },
)


def headers(exchange: Exchange) -> HeaderItems:
    """None of the vendor's own."""
    return ()


def tool_id(ids: Ids) -> str:
    """A new id for a tool call."""
    return "call_" + ids.lower(8)


# --- body to turn --------------------------------------------------------------------------------


def parts_chat(body: Mapping[str, Any]) -> Reply:
    """A whole answer of a chat read back into a turn."""
    said = _object(body["message"])
    calls = [
        ToolCall(string(function.get("name")) or "unnamed", _given(function.get("arguments")), call.get("id"))
        for call in said.get("tool_calls") or ()
        for function in (_object(call.get("function")),)
    ]
    images = [Image(base64.b64decode(image)) for image in said.get("images") or ()]
    return _read_back(body, said.get("thinking"), said.get("content"), *images, *calls)


def parts_generate(body: Mapping[str, Any]) -> Reply:
    """A whole answer to a prompt read back into a turn."""
    image = body.get("image")
    return _read_back(
        body, body.get("thinking"), body.get("response"), *([Image(base64.b64decode(image))] if image else ())
    )


def _given(arguments: Any) -> Mapping[str, Any] | str:
    return arguments if isinstance(arguments, (Mapping, str)) else _json.text(arguments)


def _read_back(body: Mapping[str, Any], thinking: Any, text: Any, *more: Image | ToolCall) -> Reply:
    reason = body.get("done_reason")
    if reason == "stop" and any(isinstance(part, ToolCall) for part in more):
        reason = "tool_calls"
    logprobs = body.get("logprobs")
    return Reply(
        *([Thinking(thinking)] if thinking else ()),
        *([text] if text else ()),
        *more,
        model=body.get("model"),
        usage=_counted(body),
        finish_reason=reason if isinstance(reason, str) and reason else None,
        logprobs=logprobs if isinstance(logprobs, list) and logprobs else None,
    )


def _counted(body: Mapping[str, Any]) -> Usage | None:
    read, written = body.get("prompt_eval_count"), body.get("eval_count")
    return None if read is None and written is None else Usage(read or 0, written or 0)


CHAT: Final = Dialect(
    name="ollama_chat",
    label="Ollama chat",
    read=read_chat,
    check=check_chat,
    bad_json="unexpected EOF",
    stream=stream,
    model=model,
    document=document_chat,
    events=events_chat,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=parts_chat,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Thinking, Image}),
    shaping=frozenset({"format"}),
    sdk_types=("ollama._types.ChatResponse",),
    too_long="the input length exceeds the context length: {tokens} tokens, at most {window}",
)
"""`POST /api/chat`."""

GENERATE: Final = Dialect(
    name="ollama_generate",
    label="Ollama generate",
    read=read_generate,
    check=check_generate,
    bad_json="unexpected EOF",
    stream=stream,
    model=model,
    document=document_generate,
    events=events_generate,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=parts_generate,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, Thinking, Image}),
    shaping=frozenset({"format"}),
    sdk_types=("ollama._types.GenerateResponse",),
    too_long=CHAT.too_long,
)
"""`POST /api/generate`."""
