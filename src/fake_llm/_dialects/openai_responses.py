"""OpenAI Responses: `POST /v1/responses`, whole and streamed.

The layout is the one recorded in 2026: settings are echoed with their defaults filled in, and the
keys of an event come in alphabetical order after `type`.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fake_llm import _json, _response_tools
from fake_llm._dialect import (
    Choice,
    Delta,
    Dialect,
    Exchange,
    Ids,
    WireEvent,
    as_written,
    free_text,
    json_kind,
    media,
    merge,
    message,
    parsed_arguments,
    text_of,
)
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._failures import Errors, Said, Usual, duration, precise_waits, spent, wait_of
from fake_llm._model import (
    AUTO,
    HeaderItems,
    Message,
    Request,
    SentToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._turns import Citation, Error, Image, Part, Refusal, Reply, ServerTool, Thinking, ToolCall

__all__ = ["DIALECT", "check_kept", "document", "events", "in_background", "messages", "pad", "pending"]

_Json = dict[str, Any]

# --- reading a request ------------------------------------------------------------------------------


def read(request: Request, body: Any) -> View:
    """The view of a request body."""
    if not isinstance(body, dict):
        return View()
    history = _History()
    instructions = body.get("instructions")
    if isinstance(instructions, str) and instructions:
        history.system.append(instructions)
    history.read(body.get("input"))
    tools: dict[str, ToolSpec] = {}
    _add_tools(tools, body.get("tools"))
    for later in history.tools:
        _add_tools(tools, later)
    return View(
        tuple(history.messages),
        "\n".join(history.system),
        tools,
        _tool_choice(body.get("tool_choice")),
        _schema(body.get("text")),
        _params(body),
        history.whole and not any(body.get(name) for name in ("previous_response_id", "conversation", "prompt")),
        _response_tools.server_tools(body, history.tools),
    )


class _History:
    """Input items as messages.

    The items of one response (reasoning, text, calls) are one assistant message, as they are for the
    vendors that have only messages.
    """

    __slots__ = ("_calls", "_open", "_texts", "_thinking", "messages", "system", "tools", "whole")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.system: list[str] = []
        self.tools: list[Any] = []
        self.whole = True
        self._texts: list[str] = []
        self._calls: list[SentToolCall] = []
        self._thinking: list[str] = []
        self._open = False

    def read(self, items: Any) -> None:
        if isinstance(items, str):
            self.messages.append(message("user", [items]))
        elif isinstance(items, list):
            for item in items:
                if isinstance(item, dict):
                    self._read_item(item)
            self._close()

    def _read_item(self, item: _Json) -> None:
        kind = item.get("type")
        if kind is None or kind == "message":
            self._read_message(item)
        elif kind in _OUTPUTS:
            self._close()
            text = _output_text(item)
            call_id = item.get("call_id") or item.get("id")
            name = item.get("name")
            result = ToolResult(
                call_id if isinstance(call_id, str) else None,
                name if isinstance(name, str) else "",
                text,
                item.get("status") == "failed",
            )
            self.messages.append(message("tool", [text], (), (result,)))
        elif kind == "reasoning":
            self._open = True
            self._thinking += _texts_of(item.get("summary")) + _texts_of(item.get("content"))
        elif kind in _CALLS:
            self._open = True
            self._calls.append(_sent_call(kind, item))
        elif kind == "image_generation_call":
            self._open = True
            self._texts.append(media("[image]"))
        elif kind in ("item_reference", "compaction"):
            self.whole = False
        elif kind in ("additional_tools", "tool_search_output"):
            self.tools.append(item.get("tools"))

    def _read_message(self, item: _Json) -> None:
        role = item.get("role")
        if role is None:
            self.whole = self.whole and not isinstance(item.get("id"), str)
            return
        texts = _texts_of(item.get("content"))
        if role == "assistant":
            self._open = True
            self._texts += texts
            return
        self._close()
        if role in ("system", "developer"):
            self.system += texts
            self.messages.append(message("system", texts))
        else:
            self.messages.append(message("user", texts))

    def _close(self) -> None:
        if self._open:
            self.messages.append(message("assistant", self._texts, self._calls, (), "\n".join(self._thinking)))
            self._texts, self._calls, self._thinking, self._open = [], [], [], False


_OUTPUTS: Final = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "computer_call_output",
        "local_shell_call_output",
        "shell_call_output",
        "apply_patch_call_output",
    }
)
_CALLS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
"""The items by which the model asks its client for something, and where each says what."""
_MEDIA: Final = {
    "input_image": "[image]",
    "computer_screenshot": "[image]",
    "input_audio": "[audio]",
    "input_file": "[file]",
    "input_video": "[video]",
}


def _sent_call(kind: str, item: _Json) -> SentToolCall:
    name, call_id, arguments = item.get("name"), item.get("call_id") or item.get("id"), item.get(_CALLS[kind])
    return SentToolCall(
        name if isinstance(name, str) else kind.removesuffix("_call"),
        parsed_arguments(arguments) if kind == "function_call" else arguments,
        call_id if isinstance(call_id, str) else None,
    )


def _texts_of(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    texts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            kind = part.get("type")
            text = part.get("refusal" if kind == "refusal" else "text")
            if isinstance(kind, str) and kind in _MEDIA:
                texts.append(media(_MEDIA[kind]))
            elif isinstance(text, str):
                texts.append(text)
    return texts


def _output_text(item: _Json) -> str:
    output = item.get("output")
    if item.get("type") == "computer_call_output":
        return "[image]"
    if item.get("type") == "shell_call_output" and isinstance(output, list):
        streams = [chunk.get(name) for chunk in output if isinstance(chunk, dict) for name in ("stdout", "stderr")]
        return "\n".join(text for text in streams if isinstance(text, str) and text)
    if isinstance(output, dict):
        return _json.text(output)
    return "\n".join(_texts_of(output))


def _add_tools(tools: dict[str, ToolSpec], sent: Any) -> None:
    for tool in sent if isinstance(sent, list) else ():
        if not isinstance(tool, dict):
            continue
        kind, name = tool.get("type"), tool.get("name")
        if kind == "namespace":
            _add_tools(tools, tool.get("tools"))
        elif kind in ("function", "custom") and isinstance(name, str):
            schema, description = tool.get("parameters"), tool.get("description")
            tools[name] = ToolSpec(
                name,
                schema if isinstance(schema, dict) else {},
                description if isinstance(description, str) else "",
                tool.get("strict") is True,
            )
        else:
            tools.update((own, ToolSpec(own, {}, "", strict=False)) for own in _response_tools.client_tools(tool))


_MODES: Final[Mapping[str, ToolChoice]] = {"auto": AUTO, "none": ToolChoice("none"), "required": ToolChoice("any")}


def _tool_choice(choice: Any) -> ToolChoice:
    if isinstance(choice, str):
        return _MODES.get(choice, AUTO)
    if not isinstance(choice, dict):
        return AUTO
    kind, name = choice.get("type"), choice.get("name")
    if kind in ("function", "custom") and isinstance(name, str):
        return ToolChoice("tool", name)
    for own in _response_tools.client_tools(choice):
        return ToolChoice("tool", own)
    if kind == "allowed_tools":
        tools = choice.get("tools")
        names = [tool.get("name") for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
        return ToolChoice(
            "any" if choice.get("mode") == "required" else "auto",
            None,
            frozenset(name for name in names if isinstance(name, str)),
        )
    return AUTO


def _schema(text: Any) -> Mapping[str, Any] | None:
    form = text.get("format") if isinstance(text, dict) else None
    if not isinstance(form, dict):
        return None
    if form.get("type") == "json_schema":
        schema = form.get("schema")
        return schema if isinstance(schema, dict) else {}
    return {} if form.get("type") == "json_object" else None


_NOT_PARAMS: Final = frozenset({"model", "input", "instructions", "tools", "tool_choice", "stream", "text"})


def _params(body: _Json) -> _Json:
    params = {
        "max_tokens" if name == "max_output_tokens" else name: value
        for name, value in body.items()
        if name not in _NOT_PARAMS and value is not None
    }
    text = body.get("text")
    if isinstance(text, dict):
        rest = {name: value for name, value in text.items() if name != "format"}
        if rest:
            params["text"] = rest
    return params


# --- refusing a malformed request -------------------------------------------------------------------


def check(request: Request, body: Any) -> Error | None:
    """The vendor's own 400 for a malformed request."""
    if not isinstance(body, dict):
        return _no_object(body)
    return (
        _check_moved(body)
        or _check_required(body)
        or _check_types(body)
        or _check_input(body.get("input"))
        or _check_tools(body)
        or _check_format(body.get("text"))
    )


def _no_object(body: Any) -> Error:
    return _refusal(f"Invalid body: expected an object, but got {json_kind(body)} instead.", None, "invalid_type")


def _refusal(text: str, param: str | None, code: str) -> Error:
    return Error(
        400, text, body={"error": {"message": text, "type": "invalid_request_error", "param": param, "code": code}}
    )


def _wrong_type(param: str, expected: str, value: Any) -> Error:
    return _refusal(
        f"Invalid type for '{param}': expected {expected}, but got {json_kind(value)} instead.", param, "invalid_type"
    )


def _missing(param: str) -> Error:
    return _refusal(f"Missing required parameter: '{param}'.", param, "missing_required_parameter")


def _wrong_value(param: str, value: str, supported: str) -> Error:
    return _refusal(f"Invalid value: '{value}'. Supported values are: {supported}.", param, "invalid_value")


_MOVED: Final = {
    "messages": "input",
    "response_format": "text.format",
    "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
}
_REFERENCE: Final = "https://platform.openai.com/docs/api-reference/responses/create"


def _check_moved(body: _Json) -> Error | None:
    for name, new in _MOVED.items():
        if name in body:
            return _refusal(
                f"Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{new}'. "
                f"Try again with the new parameter. See the API documentation for more information: {_REFERENCE}.",
                name,
                "unsupported_parameter",
            )
    return None


def _check_required(body: _Json) -> Error | None:
    model = body.get("model")
    if model is None:
        if not body.get("prompt"):
            return _missing("model")
    elif not isinstance(model, str):
        return _wrong_type("model", "a string", model)
    elif not model:
        return _refusal("The requested model '' does not exist.", "model", "model_not_found")
    if body.get("input") is None and not any(
        body.get(name) for name in ("previous_response_id", "prompt", "conversation")
    ):
        return _refusal(
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.",
            "input",
            "missing_required_parameter",
        )
    return None


_TYPES: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {
    **dict.fromkeys(("background", "parallel_tool_calls", "store", "stream"), ("a boolean", bool)),
    **dict.fromkeys(("temperature", "top_p"), ("a decimal", (int, float))),
    **dict.fromkeys(("max_output_tokens", "max_tool_calls", "top_logprobs"), ("an integer", (int, float))),
    **dict.fromkeys(
        ("previous_response_id", "prompt_cache_key", "safety_identifier", "service_tier", "truncation", "user"),
        ("a string", str),
    ),
    **dict.fromkeys(("metadata", "prompt", "reasoning", "stream_options", "text"), ("an object", dict)),
    **dict.fromkeys(("include", "tools"), ("an array", list)),
    "instructions": ("a string", str),
    "input": ("one of a string or array of input items", (str, list)),
    "tool_choice": ("one of a string or object", (str, dict)),
    "conversation": ("one of a string or object", (str, dict)),
}
_LONGEST: Final = 10_485_760
_LARGEST: Final = 2**63 - 1
_HIGHEST: Final = {"temperature": 2, "top_p": 1}


def _check_types(body: _Json) -> Error | None:
    for name, value in body.items():
        wanted = _TYPES.get(name)
        if wanted is None or value is None:
            continue
        expected, types = wanted
        if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
            return _wrong_type(name, expected, value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            error = _check_number(name, value, expected)
            if error is not None:
                return error
        elif isinstance(value, str) and len(value) > _LONGEST:
            return _too_long(name, value)
    return _check_metadata(body.get("metadata"))


def _check_metadata(metadata: Any) -> Error | None:
    for name, value in metadata.items() if metadata else ():
        if not isinstance(value, str):
            return _wrong_type(f"metadata.{name}", "a string", value)
    return None


def _check_number(name: str, value: float, expected: str) -> Error | None:
    if expected == "an integer":
        if isinstance(value, float) and not value.is_integer():
            return _wrong_type(name, expected, value)
        if value > _LARGEST:
            return _bound(name, "integer above maximum value", f"<= {_LARGEST}", value, "integer_above_max_value")
        if value < -_LARGEST - 1:
            return _bound(name, "integer below minimum value", ">= 0", value, "integer_below_min_value")
        return None
    if value > _HIGHEST[name]:
        return _bound(name, "decimal above maximum value", f"<= {_HIGHEST[name]}", value, "decimal_above_max_value")
    if value < 0:
        return _bound(name, "decimal below minimum value", ">= 0", value, "decimal_below_min_value")
    return None


def _bound(name: str, what: str, limit: str, value: float, code: str) -> Error:
    return _refusal(f"Invalid '{name}': {what}. Expected a value {limit}, but got {value} instead.", name, code)


def _too_long(param: str, value: str) -> Error:
    return _refusal(
        f"Invalid '{param}': string too long. Expected a string with maximum length {_LONGEST}, but got a string with length {len(value)} instead.",
        param,
        "string_above_max_length",
    )


_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})
_CONTENT: Final = "one of an array of objects or string"
_PARTS: Final = (
    "'input_text', 'input_image', 'output_text', 'refusal', 'input_file', 'computer_screenshot', and 'summary_text'"
)


def _check_input(items: Any, param: str = "input") -> Error | None:
    for index, item in enumerate(items) if isinstance(items, list) else ():
        error = _check_item(f"{param}[{index}]", item)
        if error is not None:
            return error
    return None


def check_kept(body: Any, *required: str) -> Error | None:
    """The same for the items and the metadata of what is kept by the vendor."""
    if body is not None and not isinstance(body, dict):
        return _no_object(body)
    given: _Json = body or {}
    for name in required:
        if name not in given:
            return _missing(name)
    for name, expected, kind in (("items", "an array of objects", list), ("metadata", "an object", dict)):
        value = given.get(name)
        if not isinstance(value, kind) and (value is not None or (name == "items" and name in required)):
            return _wrong_type(name, expected, value)
    return _check_input(given.get("items"), "items") or _check_metadata(given.get("metadata"))


def _check_item(where: str, item: Any) -> Error | None:
    if not isinstance(item, dict):
        return _wrong_type(where, "an input item", item)
    kind, role = item.get("type"), item.get("role")
    if kind is not None and not isinstance(kind, str):
        return _wrong_type(f"{where}.type", "a string", kind)
    if kind is None or kind == "message":
        if role is None:
            return None
        if not isinstance(role, str):
            return _wrong_type(f"{where}.role", "a string", role)
        if role not in _ROLES:
            return _wrong_value(where, role, "'assistant', 'system', 'developer', and 'user'")
        return _check_content(f"{where}.content", item.get("content"), role)
    if kind == "function_call":
        return _check_strings(where, item, ("name", "arguments"))
    if kind == "custom_tool_call":
        return _check_strings(where, item, ("name", "input"))
    if kind in ("function_call_output", "custom_tool_call_output"):
        if "output" not in item:
            return _missing(f"{where}.output")
        if not isinstance(item["output"], (str, list)):
            return _wrong_type(f"{where}.output", _CONTENT, item["output"])
    return None


def _check_strings(where: str, item: _Json, names: tuple[str, ...]) -> Error | None:
    for name in names:
        if name not in item:
            return _missing(f"{where}.{name}")
        if not isinstance(item[name], str):
            return _wrong_type(f"{where}.{name}", "a string", item[name])
    return None


def _check_content(where: str, content: Any, role: str) -> Error | None:
    if isinstance(content, str):
        return _too_long(where, content) if len(content) > _LONGEST else None
    if not isinstance(content, list):
        return _wrong_type(where, _CONTENT, content)
    for index, part in enumerate(content):
        at = f"{where}[{index}]"
        if not isinstance(part, dict):
            return _wrong_type(at, "an object", part)
        kind, text = part.get("type"), part.get("text")
        if kind == "input_text" and role == "assistant":
            return _wrong_value(at, kind, "'output_text' and 'refusal'")
        if kind in ("text", "image_url"):  # Chat's names for them
            return _wrong_value(at, kind, _PARTS)
        if kind in ("input_text", "output_text"):
            if "text" not in part:
                return _missing(f"{at}.text")
            if not isinstance(text, str):
                return _wrong_type(f"{at}.text", "a string", text)
            if len(text) > _LONGEST:
                return _too_long(f"{at}.text", text)
    return None


def _check_tools(body: _Json) -> Error | None:
    for index, tool in enumerate(body.get("tools") or ()):
        where = f"tools[{index}]"
        if not isinstance(tool, dict):
            return _wrong_type(where, "an object", tool)
        kind = tool.get("type")
        if kind is None:
            return _missing(f"{where}.type")
        if not isinstance(kind, str):
            return _wrong_type(f"{where}.type", "a string", kind)
        if kind in ("function", "custom"):
            error = _check_strings(where, tool, ("name",))
            if error is not None:
                return error
            parameters = tool.get("parameters")
            if parameters is not None and not isinstance(parameters, dict):
                return _wrong_type(f"{where}.parameters", "an object", parameters)
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in _MODES:
        return _wrong_value("tool_choice", choice, "'none', 'auto', and 'required'")
    if isinstance(choice, dict) and "type" not in choice:
        return _missing("tool_choice.type")
    if isinstance(choice, dict) and choice["type"] in ("function", "custom"):
        return _check_strings("tool_choice", choice, ("name",))
    return None


def _check_format(text: Any) -> Error | None:
    form = text.get("format") if isinstance(text, dict) else None
    if form is None:
        return None
    if not isinstance(form, dict):
        return _wrong_type("text.format", "an object", form)
    if "type" not in form:
        return _missing("text.format.type")
    if form["type"] != "json_schema":
        return None
    for name in ("name", "schema"):
        if form.get(name) is None:
            return _missing(f"text.format.{name}")
    if not isinstance(form["name"], str):
        return _wrong_type("text.format.name", "a string", form["name"])
    if not isinstance(form["schema"], dict):
        return _wrong_type("text.format.schema", "an object", form["schema"])
    return None


# --- the answer -------------------------------------------------------------------------------------


def document(exchange: Exchange) -> dict[str, Any]:
    """The whole answer; of what runs in the background at first only that it does."""
    if in_background(exchange) and not exchange.later:
        return pending(exchange, "queued")
    response_id = _response_id(exchange)
    status, reason = _status(exchange.choice)
    output = [item.body for item in _items(exchange, response_id, status)]
    return exchange.extend(_finished(exchange, _started(exchange, response_id, billed=True), status, reason, output))


def in_background(exchange: Exchange) -> bool:
    """Whether the answer is given later."""
    return isinstance(exchange.body, dict) and exchange.body.get("background") is True and not exchange.stream


def pending(exchange: Exchange, status: str) -> dict[str, Any]:
    """The response before it is done."""
    return exchange.extend({**_started(exchange, _response_id(exchange), billed=True), "status": status})


def messages(items: Sequence[_Json]) -> tuple[Message, ...]:
    """Items of a conversation as messages."""
    history = _History()
    history.read(list(items))
    return tuple(history.messages)


def _previous(body: Any) -> str | None:
    found = body.get("previous_response_id")
    return found if isinstance(found, str) else None


def _response_id(exchange: Exchange) -> str:
    """The id; kept on the exchange, so that a failure in the middle of a stream bears the same one."""
    if exchange.id is None:
        exchange.id = "resp_" + exchange.ids.hex(50)
    return exchange.id


_STATUSES: Final = frozenset({"completed", "incomplete", "failed", "cancelled", "queued", "in_progress"})
_FINISHED: Final = {
    **dict.fromkeys(
        ("stop", "tool_calls", "refusal", "stop_sequence", "pause", "malformed_tool_call"), ("completed", None)
    ),
    "length": ("incomplete", "max_output_tokens"),
}


def _status(choice: Choice) -> tuple[str, str | None]:
    """The status, and why it is incomplete. A word of the vendor's own is one of either."""
    word = choice.finish_reason
    known = _FINISHED.get(word)
    if known is not None:
        return known
    return (word, None) if word in _STATUSES else ("incomplete", word)


def _started(exchange: Exchange, response_id: str, *, billed: bool = False) -> _Json:
    """The response before anything is said, with the request's settings in it."""
    body = exchange.body if isinstance(exchange.body, dict) else {}
    get = body.get
    conversation, prompt = get("conversation"), get("prompt")
    return {
        "id": response_id,
        "object": "response",
        "created_at": exchange.created,
        "status": "in_progress",
        "background": get("background") is True,
        **({"billing": {"payer": "developer"}} if billed else {}),
        "completed_at": None,
        **(
            {"conversation": {"id": conversation} if isinstance(conversation, str) else conversation}
            if conversation
            else {}
        ),
        "error": None,
        "frequency_penalty": _decimal(get("frequency_penalty"), 0.0),
        "incomplete_details": None,
        "instructions": get("instructions"),
        "max_output_tokens": get("max_output_tokens"),
        "max_tool_calls": get("max_tool_calls"),
        "model": exchange.model,
        "moderation": None,
        "output": [],
        "parallel_tool_calls": _or(get("parallel_tool_calls"), True),
        "presence_penalty": _decimal(get("presence_penalty"), 0.0),
        "previous_response_id": get("previous_response_id"),
        **({"prompt": prompt} if prompt else {}),
        "prompt_cache_key": get("prompt_cache_key"),
        "prompt_cache_retention": _or(get("prompt_cache_retention"), "24h"),
        "reasoning": _reasoning(get("reasoning"), exchange.model),
        "safety_identifier": get("safety_identifier"),
        "service_tier": _or(get("service_tier"), "auto"),
        "store": _or(get("store"), True),
        "temperature": _decimal(get("temperature"), 1.0),
        "text": _text(get("text")),
        "tool_choice": _typed(_or(get("tool_choice"), "auto")),
        "tool_usage": _TOOL_USAGE,
        "tools": _tools(get("tools")),
        "top_logprobs": _or(get("top_logprobs"), 0),
        "top_p": _decimal(get("top_p"), 1.0),
        "truncation": _or(get("truncation"), "disabled"),
        "usage": None,
        "user": get("user"),
        "metadata": _or(get("metadata"), {}),
    }


def _finished(exchange: Exchange, started: _Json, status: str, reason: str | None, output: list[_Json]) -> _Json:
    """The same response at its end: a key that is replaced keeps its place."""
    tier = started["service_tier"]
    return {
        **started,
        "status": status,
        "completed_at": exchange.created if status == "completed" else None,
        "error": {"code": "server_error", "message": _FAILED.format(id="req_" + exchange.ids.hex(32))}
        if status == "failed"
        else None,
        "incomplete_details": {"reason": reason} if status == "incomplete" and reason is not None else None,
        "output": output,
        "service_tier": _TIERS.get(tier, tier) if isinstance(tier, str) else tier,
        "tool_usage": _tool_usage(output),
        "usage": _usage(exchange.usage),
    }


_TIERS: Final = {"auto": "default", "fast": "priority"}
_TOOL_USAGE: Final = {  # recorded 2026-08
    "image_gen": {
        "input_tokens": 0,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "total_tokens": 0,
    },
    "web_search": {"num_requests": 0},
}


def _tool_usage(output: list[_Json]) -> _Json:
    searches = sum(1 for item in output if item["type"] == "web_search_call" and item["action"].get("type") == "search")
    return {**_TOOL_USAGE, "web_search": {"num_requests": searches}}


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _decimal(value: Any, default: float) -> Any:
    if type(value) is int:
        return float(value)
    return default if value is None else value


def _typed(value: Any) -> Any:
    """An object as it is echoed: `type` first, then the rest in alphabetical order."""
    return _sorted(value) if isinstance(value, dict) and "type" in value else value


def _sorted(value: _Json) -> _Json:
    return {"type": value["type"], **{name: value[name] for name in sorted(value) if name != "type"}}


_THINKS: Final = re.compile(r"gpt-5(?!-chat)|gpt-[6-9]|o[1-9]")
_THINKS_WHEN_TOLD: Final = re.compile(r"gpt-5\.[1-4]")
_RECALLS_ALL: Final = re.compile(r"gpt-5\.(?:[6-9]|\d\d)|gpt-[6-9]")
"""Models that reason, that don't unless they are told to, that see the reasoning of all turns (recorded 2026-08)."""


def _reasoning(sent: Any, model: str) -> _Json:
    sent = sent if isinstance(sent, dict) else {}
    context, effort, mode = sent.get("context"), sent.get("effort"), sent.get("mode")
    if _THINKS.match(model):
        context = (
            ("all_turns" if _RECALLS_ALL.match(model) else "current_turn") if context in (None, "auto") else context
        )
        effort = ("none" if _THINKS_WHEN_TOLD.match(model) else "medium") if effort is None else effort
        mode = mode or "standard"
    summary = _or(sent.get("summary"), sent.get("generate_summary"))
    return {
        "context": context,
        "effort": effort,
        **({"mode": mode} if mode else {}),
        "summary": "detailed" if summary == "auto" else summary,  # recorded for every model that was asked for "auto"
    }


def _text(sent: Any) -> _Json:
    form = sent.get("format") if isinstance(sent, dict) else None
    if not isinstance(form, dict):
        form = {"type": "text"}
    elif form.get("type") == "json_schema":
        form = {
            "type": "json_schema",
            "description": form.get("description"),
            "name": form.get("name"),
            "schema": form.get("schema"),
            "strict": _or(form.get("strict"), False),
        }
    return {"format": form, "verbosity": _or(sent.get("verbosity") if isinstance(sent, dict) else None, "medium")}


def _tools(sent: Any) -> list[Any]:
    """The tools as they are echoed; a search among them comes last (recorded 2026-05 and 2026-07)."""
    echoed = [_tool(tool) for tool in sent or ()]
    return sorted(echoed, key=lambda tool: isinstance(tool, dict) and tool.get("type") == "tool_search")


def _tool(tool: Any) -> Any:
    """A tool as it is echoed, with its defaults and without its secrets."""
    kind = tool.get("type") if isinstance(tool, dict) else None
    if not isinstance(kind, str):
        return tool
    if kind == "function":
        return _function(tool)
    filled = _sorted({**_DEFAULTS.get(kind, {}), **tool})
    if "authorization" in filled:
        filled["authorization"] = "<redacted>"
    filled.pop("external_web_access", None)  # not echoed: recorded 2026-08
    return {name: _typed(value) for name, value in filled.items()}


def _function(tool: _Json) -> _Json:
    """A function tool; one that doesn't say whether it is strict is made so where it can be (recorded 2026-05)."""
    parameters, strict = tool.get("parameters"), tool.get("strict")
    if strict is None:
        closed = _closed(parameters) if isinstance(parameters, dict) else None
        parameters, strict = (parameters, False) if closed is None else (closed, True)
    return _sorted(
        {
            **tool,
            "description": tool.get("description"),
            "output_schema": tool.get("output_schema"),
            "parameters": parameters,
            "strict": strict,
        }
    )


def _closed(schema: _Json) -> _Json | None:
    """The schema with no further properties and all of its own required; `None` for one that is open on purpose."""
    closed = dict(schema)
    properties = schema.get("properties")
    if schema.get("type") == "object" or isinstance(properties, dict):
        if schema.get("additionalProperties", False) is not False:
            return None
        properties = properties if isinstance(properties, dict) else {}
        inner = {name: _closed(item) if isinstance(item, dict) else item for name, item in properties.items()}
        if any(item is None for item in inner.values()):
            return None
        closed.update(
            properties=inner,
            required=[
                *_names(schema.get("required")),
                *(name for name in inner if name not in _names(schema.get("required"))),
            ],
        )
        closed["additionalProperties"] = False
    items = schema.get("items")
    if isinstance(items, dict):
        closed["items"] = _closed(items)
        if closed["items"] is None:
            return None
    return closed


def _names(required: Any) -> list[Any]:
    return required if isinstance(required, list) else []


_DEFAULTS: Final[Mapping[str, _Json]] = {
    "custom": {"description": None, "format": {"type": "text"}},
    "file_search": {
        "filters": None,
        "max_num_results": 20,
        "ranking_options": {"ranker": "auto", "score_threshold": 0.0},
    },
    "mcp": {
        "allowed_tools": None,
        "headers": None,
        "require_approval": "always",
        "server_description": None,
        "server_url": None,
    },
    "tool_search": {"description": None, "parameters": None},
    "web_search": {  # recorded 2026-08
        "return_token_budget": "default",
        "search_content_types": ["text"],
        "search_context_size": "medium",
        "user_location": {"type": "approximate", "city": None, "country": "US", "region": None, "timezone": None},
    },
}


def _usage(usage: Usage) -> _Json:
    written = {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cache_write_tokens": usage.cache_write_tokens, "cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total,
    }
    return merge(written, usage.details) if usage.details else written


# --- output items -----------------------------------------------------------------------------------


@dataclasses.dataclass(slots=True)
class _Item:
    """One output item as it is in the end, and the indices of the parts that each piece of its content holds."""

    body: _Json
    parts: list[list[int]]


def _items(exchange: Exchange, response_id: str, status: str) -> list[_Item]:
    """The output items: neighbouring texts and refusals are one message, anything else is its own."""
    choice = exchange.choice
    build = _Builder(exchange, response_id)
    items: list[_Item] = []
    for index, part in enumerate(choice.parts):
        last = items[-1] if items else None
        if isinstance(part, (str, Citation, Refusal)):
            if last is None or last.body["type"] != "message":
                items.append(last := _Item(build.message(), []))
            contents = last.body["content"]
            if contents and _goes_on(choice.parts[index - 1], part):
                build.add(contents[-1], part, index)
                last.parts[-1].append(index)
                continue
            contents.append(build.content(part, index))
        elif isinstance(part, ToolCall):
            items.append(last := _Item(build.call(part), []))
        elif isinstance(part, Image):
            items.append(last := _Item(build.image(part), []))
        elif isinstance(part, ServerTool):
            items += [_Item(body, [[index]]) for body in build.tools.of_server(part)]
            continue
        elif isinstance(part, Thinking):
            if last is not None and last.body["type"] == "reasoning" and _joins(choice.parts[index - 1], part):
                last.body["summary"].append({"type": "summary_text", "text": part.text})
            else:
                items.append(last := _Item(build.reasoning(part), []))
        else:
            continue
        last.parts.append([index])
    if build.phased:
        _set_phases(items)
    if status == "incomplete" and items and items[-1].body["type"] in _CAN_BE_INCOMPLETE:
        items[-1].body["status"] = "incomplete"
    return items


_CAN_BE_INCOMPLETE: Final = frozenset({"message", "function_call", "custom_tool_call"})


def _goes_on(before: Any, part: Any) -> bool:
    """Whether a part is of the same text as the one before: a citation goes with what is around it."""
    cited = isinstance(part, Citation) or (isinstance(before, Citation) and isinstance(part, str))
    return cited and isinstance(before, (str, Citation))


def _joins(before: Any, part: Thinking) -> bool:
    """Whether this thinking is one more summary of the item before: only the first of an item can have a signature."""
    return (
        bool(part.text)
        and part.signature is None
        and not part.redacted
        and isinstance(before, Thinking)
        and bool(before.text)
        and not before.redacted
    )


def _set_phases(items: list[_Item]) -> None:
    last = items[-1].body if items else None
    for item in items:
        if item.body["type"] == "message":
            role = item.body.pop("role")
            item.body.update(phase="final_answer" if item.body is last else "commentary", role=role)


_PHASED: Final = re.compile(r"gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)|deepseek-")
"""The models whose messages have a `phase`: gpt-5.4 and later, recorded 2026-04 on; DeepSeek's, recorded 2026-08."""


class _Builder:
    """Makes the items of one answer; their ids share their first digits with the response's."""

    __slots__ = ("_custom", "_encrypted", "_ids", "_logprobs", "_started", "_stem", "phased", "tools")

    def __init__(self, exchange: Exchange, response_id: str) -> None:
        body = exchange.body if isinstance(exchange.body, dict) else {}
        stem = response_id.removeprefix("resp_")[:26]
        self._ids = exchange.ids
        self._started = 0
        self._stem = stem if len(stem) == 26 else exchange.ids.hex(26)
        self._encrypted = "reasoning.encrypted_content" in (body.get("include") or ())
        self._custom = frozenset(
            tool.get("name")
            for tool in body.get("tools") or ()
            if isinstance(tool, dict) and tool.get("type") == "custom"
        )
        self._logprobs = _logprobs(exchange.choice, body.get("top_logprobs"))
        self.phased = _PHASED.match(exchange.model) is not None
        self.tools = _response_tools.Items(body, self._id)

    def _id(self, prefix: str) -> str:
        return prefix + self._stem + self._ids.hex(24)

    def message(self) -> _Json:
        return {"id": self._id("msg_"), "type": "message", "status": "completed", "content": [], "role": "assistant"}

    def content(self, part: str | Citation | Refusal, index: int) -> _Json:
        if isinstance(part, Refusal):
            return {"type": "refusal", "refusal": part.text}
        content: _Json = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        self._started = 0
        self.add(content, part, index)
        return content

    def add(self, content: _Json, part: Any, index: int) -> None:
        """Put one more part at the end of a text; a source without a text is one more of the text before."""
        start = len(content["text"]) if text_of(part) else self._started
        self._started = start
        content["text"] += text_of(part)
        content["logprobs"] += [entry for _, entry in self._logprobs.get(index) or ()]
        if isinstance(part, Citation):
            content["annotations"].append(self._annotation(part, start, len(content["text"])))

    def _annotation(self, part: Citation, start: int, end: int) -> _Json:
        """A web page by its URL, a file of a container by `cntr_…/cfile_…`, else a file by its id."""
        container, _, file_id = part.source.rpartition("/")
        if "://" in part.source:
            span = {"end_index": end, "start_index": start}
            return {"type": "url_citation", **span, "title": part.title or "", "url": part.source}
        if file_id.startswith("cfile_"):
            return {
                "type": "container_file_citation",
                "container_id": container or self.tools.container,
                "end_index": end,
                "file_id": file_id,
                "filename": part.title or file_id,
                "start_index": start,
            }
        named = {"file_id": part.source, "filename": part.title or part.source}
        return {"type": "file_citation", **named, "index": end}

    def call(self, part: ToolCall) -> _Json:
        own = self.tools.of_client(part)
        if own is not None:
            return own
        if part.name in self._custom:
            item = {
                "id": self._id("ctc_"),
                "type": "custom_tool_call",
                "status": "completed",
                "call_id": part.id,
                "input": free_text(part),
                "name": part.name,
            }
        else:
            item = {
                "id": self._id("fc_"),
                "type": "function_call",
                "status": "completed",
                "arguments": part.json,
                "call_id": part.id,
                "name": part.name,
            }
        return merge(item, part.extra) if part.extra else item

    def image(self, part: Image) -> _Json:
        if not isinstance(part.data, bytes):
            raise ScriptMismatchError(
                sentence(
                    f"{part!r} came for OpenAI Responses.",
                    "It carries generated images as bytes, never as a URL.",
                    "Write Image(png_bytes).",
                )
            )
        form = _FORMATS.get(part.media_type)
        shown = {} if form is None else {"output_format": form}
        return {
            "id": self._id("ig_"),
            "type": "image_generation_call",
            "status": "completed",
            **shown,
            "result": part.base64,
        }

    def reasoning(self, part: Thinking) -> _Json:
        item: _Json = {"id": self._id("rs_"), "type": "reasoning"}
        if self._encrypted or part.redacted or part.signature is not None:
            item["content"] = []
            item["encrypted_content"] = "gAAAAA" + self._ids.alnum(114) if part.signature is None else part.signature
        item["summary"] = [{"type": "summary_text", "text": part.text}] if part.text and not part.redacted else []
        return item


_FORMATS: Final = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/webp": "webp",
    "image/gif": "gif",
    "image/svg+xml": "svg",
}
_MEDIA_TYPES: Final = {form: media_type for media_type, form in _FORMATS.items()}


def _logprobs(choice: Choice, top: Any) -> dict[int, list[tuple[int, Any]]]:
    """For each text part its entries, each with the place in that part where its token begins."""
    if not choice.logprobs:
        return {}
    spans: list[tuple[int, int, int]] = []
    at = 0
    for index, part in enumerate(choice.parts):
        if isinstance(part, (str, Citation)):
            spans.append((index, at, at + len(text_of(part))))
            at += len(text_of(part))
    given: dict[int, list[tuple[int, Any]]] = {index: [] for index, _, _ in spans}
    at = 0
    for entry in choice.logprobs:
        token, written = _entry(entry, top)
        for index, start, end in spans:
            if at < end or index == spans[-1][0]:
                given[index].append((at - start, written))
                break
        at += len(token)
    return given


def _entry(entry: Any, top: Any) -> tuple[str, Any]:
    if isinstance(entry, Mapping):
        return str(entry.get("token", "")), entry
    token, logprob = entry
    written: _Json = {
        "bytes": list(token.encode("utf-8", "replace")),
        "logprob": logprob,
        "token": token,
        "top_logprobs": [],
    }
    if isinstance(top, int) and top > 0:
        written["top_logprobs"] = [{"bytes": written["bytes"], "logprob": logprob, "token": token}]
    return token, written


# --- events -----------------------------------------------------------------------------------------


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The answer as events; only the last one closes the stream."""
    response_id = _response_id(exchange)
    status, reason = _status(exchange.choice)
    started = _started(exchange, response_id)
    items = _items(exchange, response_id, status)
    finished = _finished(exchange, started, status, reason, [item.body for item in items])
    shown = (
        merge(started, {name: value for name, value in exchange.extra.items() if name not in _ONLY_AT_THE_END})
        if exchange.extra
        else started
    )
    told: list[_Json] = [{"type": "response.created", "response": shown, "sequence_number": 0}]
    if started["background"]:  # recorded in 2026
        told[0]["response"] = queued = {**shown, "status": "queued"}
        told.append({"type": "response.queued", "response": dict(queued), "sequence_number": 0})
    told.append({"type": "response.in_progress", "response": dict(shown), "sequence_number": 0})
    logprobs = _logprobs(
        exchange.choice, exchange.body.get("top_logprobs") if isinstance(exchange.body, dict) else None
    )
    for place, item in enumerate(items):
        tell = _TELL.get(item.body["type"])
        told += (
            tell(exchange.choice, item, place, logprobs)
            if tell is not None
            else _response_tools.told(item.body, place, _cutter(exchange.choice))
        )
    for number, event in enumerate(told):
        event["sequence_number"] = number
    ending = {
        "type": _ENDINGS.get(status, "response.completed"),
        "response": exchange.extend(finished),
        "sequence_number": len(told),
    }
    return [*told], [ending]


def _cutter(choice: Choice) -> Callable[[str], list[str]]:
    """How arguments are cut, for other texts that are streamed the same way."""
    return lambda text: dataclasses.replace(choice, parts=(ToolCall("text", text),)).pieces(0)


_ONLY_AT_THE_END: Final = frozenset(
    {"status", "completed_at", "error", "incomplete_details", "output", "usage", "tool_usage", "billing"}
)
_ENDINGS: Final = {"incomplete": "response.incomplete", "failed": "response.failed"}


def _added(item: _Json, place: int) -> _Json:
    return {"type": "response.output_item.added", "item": item, "output_index": place, "sequence_number": 0}


def _done(item: _Json, place: int) -> _Json:
    return {"type": "response.output_item.done", "item": item, "output_index": place, "sequence_number": 0}


def _tell_message(choice: Choice, item: _Item, place: int, logprobs: dict[int, list[tuple[int, Any]]]) -> list[_Json]:
    body = item.body
    item_id = body["id"]
    told = [_added({**body, "status": "in_progress", "content": []}, place)]
    for number, group in enumerate(item.parts):
        content = body["content"][number]
        if content["type"] == "refusal":
            told += _tell_refusal(choice.pieces(group[0]), content, number, item_id, place)
            continue
        empty = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        told.append(_part("response.content_part.added", number, item_id, place, empty))
        cited = 0
        for index in group:
            pieces = choice.pieces(index)
            for piece, entries in zip(pieces, _spread(logprobs.get(index), pieces), strict=True):
                told.append(
                    Delta(
                        type="response.output_text.delta",
                        content_index=number,
                        delta=piece,
                        item_id=item_id,
                        logprobs=entries,
                        output_index=place,
                        sequence_number=0,
                    )
                )
            if isinstance(choice.parts[index], Citation):
                told.append(
                    {
                        "type": "response.output_text.annotation.added",
                        "annotation": content["annotations"][cited],
                        "annotation_index": cited,
                        "content_index": number,
                        "item_id": item_id,
                        "output_index": place,
                        "sequence_number": 0,
                    }
                )
                cited += 1
        told.append(
            {
                "type": "response.output_text.done",
                "content_index": number,
                "item_id": item_id,
                "logprobs": content["logprobs"],
                "output_index": place,
                "sequence_number": 0,
                "text": content["text"],
            }
        )
        told.append(
            _part("response.content_part.done", number, item_id, place, {**content, "logprobs": []})
        )  # empty even when asked for: recorded 2026-05
    told.append(_done(body, place))
    return told


def _tell_refusal(pieces: list[str], content: _Json, number: int, item_id: str, place: int) -> list[_Json]:
    return [
        _part("response.content_part.added", number, item_id, place, {"type": "refusal", "refusal": ""}),
        *(
            Delta(
                type="response.refusal.delta",
                content_index=number,
                delta=piece,
                item_id=item_id,
                output_index=place,
                sequence_number=0,
            )
            for piece in pieces
        ),
        {
            "type": "response.refusal.done",
            "content_index": number,
            "item_id": item_id,
            "output_index": place,
            "refusal": content["refusal"],
            "sequence_number": 0,
        },
        _part("response.content_part.done", number, item_id, place, dict(content)),
    ]


def _part(kind: str, number: int, item_id: str, place: int, part: _Json) -> _Json:
    return {
        "type": kind,
        "content_index": number,
        "item_id": item_id,
        "output_index": place,
        "part": part,
        "sequence_number": 0,
    }


def _spread(entries: list[tuple[int, Any]] | None, pieces: list[str]) -> list[list[Any]]:
    """For each piece the entries whose tokens begin in it; what is left over goes to the last."""
    spread: list[list[Any]] = [[] for _ in pieces]
    if not entries or not pieces:
        return spread
    ends: list[int] = []
    at = 0
    for piece in pieces:
        at += len(piece)
        ends.append(at)
    place = 0
    for start, entry in entries:
        while place < len(pieces) - 1 and start >= ends[place]:
            place += 1
        spread[place].append(entry)
    return spread


def _tell_function(choice: Choice, item: _Item, place: int, logprobs: dict[int, list[tuple[int, Any]]]) -> list[_Json]:
    body = item.body
    item_id = body["id"]
    told = [_added({**body, "status": "in_progress", "arguments": ""}, place)]
    told += [
        Delta(
            type="response.function_call_arguments.delta",
            delta=piece,
            item_id=item_id,
            output_index=place,
            sequence_number=0,
        )
        for piece in choice.pieces(item.parts[0][0])
    ]
    told.append(
        {
            "type": "response.function_call_arguments.done",
            "arguments": body["arguments"],
            "item_id": item_id,
            "name": body["name"],  # never recorded, but openai 2 and the published schema demand it
            "output_index": place,
            "sequence_number": 0,
        }
    )
    told.append(_done(body, place))
    return told


def _tell_custom(choice: Choice, item: _Item, place: int, logprobs: dict[int, list[tuple[int, Any]]]) -> list[_Json]:
    body = item.body
    item_id = body["id"]
    part = choice.parts[item.parts[0][0]]
    assert isinstance(part, ToolCall)
    cut = dataclasses.replace(choice, parts=(ToolCall(part.name, free_text(part)),))
    told = [_added({**body, "status": "in_progress", "input": ""}, place)]
    told += [
        Delta(
            type="response.custom_tool_call_input.delta",
            delta=piece,
            item_id=item_id,
            output_index=place,
            sequence_number=0,
        )
        for piece in cut.pieces(0)
    ]
    told.append(
        {
            "type": "response.custom_tool_call_input.done",
            "input": body["input"],
            "item_id": item_id,
            "output_index": place,
            "sequence_number": 0,
        }
    )
    told.append(_done(body, place))
    return told


def _tell_reasoning(choice: Choice, item: _Item, place: int, logprobs: dict[int, list[tuple[int, Any]]]) -> list[_Json]:
    body = item.body
    item_id = body["id"]
    told = [_added({**body, "summary": []}, place)]
    for number, summary in enumerate(body["summary"]):
        text = summary["text"]
        told.append(
            _summary(
                "response.reasoning_summary_part.added", item_id, place, number, {"type": "summary_text", "text": ""}
            )
        )
        told += [
            Delta(
                type="response.reasoning_summary_text.delta",
                delta=piece,
                item_id=item_id,
                output_index=place,
                sequence_number=0,
                summary_index=number,
            )
            for piece in choice.pieces(item.parts[number][0])
        ]
        told.append(
            {
                "type": "response.reasoning_summary_text.done",
                "item_id": item_id,
                "output_index": place,
                "sequence_number": 0,
                "summary_index": number,
                "text": text,
            }
        )
        told.append(
            _summary(
                "response.reasoning_summary_part.done", item_id, place, number, {"type": "summary_text", "text": text}
            )
        )
    told.append(_done(body, place))
    return told


def _summary(kind: str, item_id: str, place: int, number: int, part: _Json) -> _Json:
    return {
        "type": kind,
        "item_id": item_id,
        "output_index": place,
        "part": part,
        "sequence_number": 0,
        "summary_index": number,
    }


_Tell = Callable[[Choice, _Item, int, dict[int, list[tuple[int, Any]]]], list[_Json]]
_TELL: Final[Mapping[str, _Tell]] = {
    "message": _tell_message,
    "function_call": _tell_function,
    "custom_tool_call": _tell_custom,
    "reasoning": _tell_reasoning,
}

_PADDING: Final = "kX3vQm9ZtL0bRw7Y"


def pad(payload: Any, data: bytes) -> bytes:
    """Fill a delta to a multiple of 16 characters by a key `obfuscation`; a refusal's is left as it is."""
    kind = payload.get("type") if isinstance(payload, dict) else None
    delta = payload.get("delta") if isinstance(payload, dict) else None
    if (
        not isinstance(kind, str)
        or not isinstance(delta, str)
        or not kind.endswith(".delta")
        or kind == "response.refusal.delta"
    ):
        return data
    padded = {**payload, "obfuscation": _PADDING[: -len(delta) % 16]}
    return _json.compact(_sorted(padded))


# --- errors -----------------------------------------------------------------------------------------

_FAILED: Final = (
    "An error occurred while processing your request. You can retry your request, or contact us through our help center at help.openai.com "
    "if the error persists. Please include the request ID {id} in your message."
)
_INVALID: Final = "invalid_request_error"
_USUAL_WAIT: Final = 1.0


def _request_id(exchange: Exchange) -> str:
    return "req_" + exchange.ids.hex(32)


def _error_headers(said: Said) -> HeaderItems:
    realm = (("www-authenticate", 'Bearer realm="OpenAI API"'),) if said.status == 401 else ()
    wait = duration(wait_of(said, _USUAL_WAIT))
    limits = spent(_LIMITS, remaining_tokens="0", reset_tokens=wait) if said.name == "rate_limit" else ()
    return (*_COMMON, *limits, ("x-request-id", said.id), ("cf-ray", said.exchange.ids.hex(16) + "-IAD"), *realm)


def _error_events(said: Said) -> list[WireEvent]:
    """An `error` event, then the response as it failed, recorded 2025-11."""
    exchange = said.exchange
    number = _count_of_events(exchange)
    failed = {
        **_started(exchange, _response_id(exchange)),
        "status": "failed",
        "error": {"code": said.code or "server_error", "message": said.message},
    }
    error = {"type": said.type, "code": said.code, "message": said.message, "param": said.param}
    return [
        {"type": "error", "error": error, "sequence_number": number},
        {"type": "response.failed", "response": failed, "sequence_number": number + 1},
    ]


def _count_of_events(exchange: Exchange) -> int:
    """How many events the content took: they are numbered, and the error goes on from there."""
    if not exchange.choices:
        return 0
    content, _ = events(dataclasses.replace(exchange, ids=Ids(b"")))
    return len(content)


ERRORS: Final = Errors(
    id=_request_id,
    headers=_error_headers,
    waits=precise_waits,
    encode=_json.pretty,
    event=_error_events,
    usual={
        "bad_request": Usual(400, _INVALID, "Invalid request."),
        "authentication": Usual(
            401,
            _INVALID,
            "Incorrect API key provided: test-key. You can find your API key at https://platform.openai.com/account/api-keys.",
            "invalid_api_key",
        ),
        "permission": Usual(
            403,
            _INVALID,
            "Project `proj_000000000000000000000000` does not have access to model `{model}`.",
            "model_not_found",
        ),
        "not_found": Usual(
            400, _INVALID, "The requested model '{model}' does not exist.", "model_not_found", "model"
        ),  # no 404: recorded 2026-04
        "request_too_large": Usual(413, _INVALID, "Request body too large.", "request_too_large"),
        "context_length": Usual(
            400,
            _INVALID,
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "context_length_exceeded",
            "input",
        ),
        "content_filter": Usual(
            400,
            _INVALID,
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
            "invalid_prompt",
        ),
        "rate_limit": Usual(
            429,
            "tokens",
            "Rate limit reached for {model} in organization org-000000000000000000000000 on tokens per min (TPM): Limit 30000, Used 30000, Requested 30. Please try again in {wait}. Visit https://platform.openai.com/account/rate-limits to learn more.",
            "rate_limit_exceeded",
        ),
        "quota": Usual(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
            "insufficient_quota",
        ),
        "server_error": Usual(500, "server_error", _FAILED, "server_error"),
        "unavailable": Usual(
            503, "service_unavailable_error", "The server is temporarily unavailable. Please try again later."
        ),
        "overloaded": Usual(
            503,
            "service_unavailable_error",
            "Our servers are currently overloaded. Please try again later.",
            "server_is_overloaded",
        ),
        "timeout": Usual(504, "server_error", "Request timed out."),
    },
)
"""Two blanks, no last newline, for a bad key too."""


# --- an answer read back ----------------------------------------------------------------------------


def parts(document: Mapping[str, Any]) -> Reply:
    """A whole answer as the turn that gives it."""
    said: list[Part] = []
    logprobs: list[Any] = []
    for item in document.get("output") or ():
        if isinstance(item, Mapping):
            both = _response_tools.joined(item, said[-1] if said else None)
            if both is not None:
                said[-1] = both
            else:
                _read_output(item, said, logprobs)
    identity, model = document.get("id"), document.get("model")
    return Reply(
        *said,
        id=identity if isinstance(identity, str) else None,
        model=model if isinstance(model, str) else None,
        usage=_read_usage(document.get("usage")),
        finish_reason=_finish_reason(document, said),
        logprobs=logprobs or None,
    )


def _read_output(item: Mapping[str, Any], said: list[Part], logprobs: list[Any]) -> None:
    kind = item.get("type")
    if kind == "message":
        for content in item.get("content") or ():
            if content.get("type") == "refusal":
                said.append(Refusal(content.get("refusal") or ""))
            elif content.get("type") == "output_text":
                said += _cited(content.get("text") or "", content.get("annotations") or ())
                logprobs += content.get("logprobs") or ()
    elif kind == "function_call":
        said.append(
            ToolCall(
                item["name"],
                as_written(item.get("arguments") or ""),
                item.get("call_id"),
                extra=_namespace(item),
            )
        )
    elif kind == "custom_tool_call":
        said.append(ToolCall(item["name"], item.get("input") or "", item.get("call_id"), extra=_namespace(item)))
    elif kind == "reasoning":
        said += _read_reasoning(item)
    elif kind == "image_generation_call" and item.get("result"):
        try:
            data = base64.b64decode(item["result"], validate=True)
        except (binascii.Error, ValueError):
            return
        said.append(Image(data, _MEDIA_TYPES.get(item.get("output_format") or "png", "image/png")))
    else:
        own = _response_tools.read(item)
        if own is not None:
            said.append(own)


def _cited(text: str, annotations: Sequence[Any]) -> list[Part]:
    """A text with its citations in their places; of two that overlap, the later one has what is left."""
    said: list[Part] = []
    at = 0
    for one in sorted((one for one in annotations if isinstance(one, Mapping)), key=_cited_end):
        source = one.get("url") or one.get("file_id")
        if not isinstance(source, str) or one.get("type") == "file_path":
            continue
        start, end = one.get("start_index", at), max(at, min(_cited_end(one), len(text)))
        start = min(max(at, start if isinstance(start, int) else at), end)
        if start > at:
            said.append(text[at:start])
        if one.get("container_id"):
            source = f"{one['container_id']}/{source}"
        title = one.get("title") or one.get("filename")
        said.append(Citation(text[start:end], source, None if title == one.get("file_id") else title))
        at = end
    return [*said, text[at:]] if text[at:] or not said else said


def _cited_end(annotation: Mapping[str, Any]) -> int:
    end = annotation.get("end_index", annotation.get("index"))
    return end if isinstance(end, int) else 0


def _namespace(item: Mapping[str, Any]) -> dict[str, Any] | None:
    return {"namespace": item["namespace"]} if item.get("namespace") else None


def _read_reasoning(item: Mapping[str, Any]) -> list[Part]:
    texts = _texts_of(item.get("summary")) or _texts_of(item.get("content"))
    signature = item.get("encrypted_content")
    if not texts:
        return [Thinking("", signature, redacted=signature is not None)]
    return [Thinking(text, None if number else signature) for number, text in enumerate(texts)]


def _read_usage(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    given, taken = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    before, after = usage.get("input_tokens_details") or {}, usage.get("output_tokens_details") or {}
    total = usage.get("total_tokens")
    return Usage(
        given,
        taken,
        before.get("cached_tokens") or 0,
        before.get("cache_write_tokens") or 0,
        after.get("reasoning_tokens") or 0,
        None if total == given + taken else total,
        {name: value for name, value in usage.items() if name not in _USAGE_KEYS and value is not None},
    )


_USAGE_KEYS: Final = frozenset(
    {"input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details", "total_tokens"}
)


def _finish_reason(document: Mapping[str, Any], said: Sequence[Part]) -> str:
    status = document.get("status")
    if status == "incomplete":
        reason = (document.get("incomplete_details") or {}).get("reason")
        return "length" if reason == "max_output_tokens" else reason or "incomplete"
    if status not in (None, "completed"):
        return str(status)
    if any(isinstance(part, ToolCall) for part in said):
        return "tool_calls"
    return (
        "refusal"
        if said
        and all(isinstance(part, (Refusal, Thinking)) for part in said)
        and any(isinstance(part, Refusal) for part in said)
        else "stop"
    )


# --- headers ----------------------------------------------------------------------------------------

_COMMON: Final = (
    ("access-control-expose-headers", "X-Request-ID, CF-Ray, CF-Ray"),
    ("alt-svc", 'h3=":443"; ma=86400'),
    ("cf-cache-status", "DYNAMIC"),
    ("openai-processing-ms", "100"),
    ("openai-version", "2020-10-01"),
    ("server", "cloudflare"),
    ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
    ("x-content-type-options", "nosniff"),
)
_LIMITS: Final = (
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "30000000"),
    ("x-ratelimit-remaining-requests", "9999"),
    ("x-ratelimit-remaining-tokens", "29999950"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "0s"),
)
_WHOLE: Final = _COMMON + _LIMITS


def headers(exchange: Exchange) -> HeaderItems:
    """The headers of a success; those of rate limits are missing on most streams."""
    own = (("x-request-id", "req_" + exchange.ids.hex(32)), ("cf-ray", exchange.ids.hex(16) + "-IAD"))
    return (_COMMON if exchange.stream else _WHOLE) + own


def stream(request: Request, body: Any) -> bool:
    """Whether a stream is asked for."""
    return isinstance(body, dict) and body.get("stream") is True


def model(request: Request, body: Any) -> str:
    """The model in the body; `""` for none."""
    name = body.get("model") if isinstance(body, dict) else None
    return name if isinstance(name, str) else ""


def tool_id(ids: Ids) -> str:
    """`call_` and 24 letters and digits."""
    return "call_" + ids.alnum(24)


DIALECT: Final = Dialect(
    name="openai_responses",
    label="OpenAI Responses",
    read=read,
    check=check,
    bad_json=(
        "Invalid body: failed to parse JSON value. Please check the value to ensure it is valid JSON. "
        "(Common errors include trailing commas, missing closing brackets, missing quotation marks, etc.)"
    ),
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Thinking, Refusal, Image, Citation, ServerTool}),
    choices=False,
    shaping=frozenset({"text"}),
    continues=_previous,
    too_long="Your input exceeds the context window of this model. Please adjust your input and try again.",
    sdk_types=("openai.types.responses.response.Response", "openai.types.responses.parsed_response.ParsedResponse"),
)
