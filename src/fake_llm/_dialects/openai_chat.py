"""OpenAI chat completions: `POST /v1/chat/completions`, which a dozen other hosts speak too.

Shapes as recorded from 2025-08 to 2026-08. What another host does differently stands in its row of
the endpoint table; `read` and `parts` take what all of them send.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from fake_llm import _json
from fake_llm._dialect import (
    CREATED,
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
    Response,
    SentToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._turns import Audio, Citation, Error, Refusal, Reply, Thinking, ToolCall

__all__ = ["BAD_JSON", "DIALECT", "document", "pad", "refused", "wrong_type"]

Chunk: TypeAlias = "tuple[bool, dict[str, Any], dict[str, Any] | None]"
"""Whether it carries content, its delta, its logprobs."""

# --------------------------------------------------------------------------------------------- reading

_ROLES: Final = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_MEDIA: Final = {
    "image_url": media("[image]"),
    "image": media("[image]"),
    "input_image": media("[image]"),
    "input_audio": media("[audio]"),
    "audio_url": media("[audio]"),
    "audio": media("[audio]"),
    "video_url": media("[video]"),
    "video": media("[video]"),
    "file": media("[file]"),
    "input_file": media("[file]"),
    "document_url": media("[file]"),
}
_NOT_PARAMS: Final = frozenset(
    {
        "model",
        "messages",
        "stream",
        "tools",
        "functions",
        "tool_choice",
        "function_call",
        "response_format",
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "prompt",
        "agent_id",
    }
)
_CHOICES: Final = {"none": ToolChoice("none"), "required": ToolChoice("any"), "any": ToolChoice("any")}


def read(request: Request, body: Any) -> View:
    """The view of a request."""
    messages = tuple(_message(item) for item in body.get("messages") or () if isinstance(item, dict))
    if "messages" not in body and isinstance(body.get("prompt"), str):  # what is to be filled in, as Mistral calls it
        messages = (message("user", [body["prompt"]]),)
    return View(
        messages=messages,
        system="\n".join(item.text for item in messages if item.role == "system"),
        tools=_tools(body),
        tool_choice=_tool_choice(body),
        schema=_schema(body),
        params=_params(body),
    )


def _message(item: Mapping[str, Any]) -> Message:
    role = _ROLES.get(item.get("role", ""), "user")
    thinking: list[str] = []
    content = item.get("content")
    texts = [content] if isinstance(content, str) else _texts(content, thinking)
    if role == "tool":
        name, id_ = item.get("name"), item.get("tool_call_id")
        result = ToolResult(
            id_ if isinstance(id_, str) else None, name if isinstance(name, str) else "", "\n".join(texts)
        )
        return message("tool", texts, tool_results=(result,))
    if role != "assistant":
        return message("system" if role == "system" else "user", texts)
    if isinstance(item.get("refusal"), str):
        texts.append(item["refusal"])
    if isinstance(item.get("audio"), dict):
        texts.append(_MEDIA["audio"])
    return message("assistant", texts, _sent_calls(item), thinking="\n".join([*_reasoning(item), *thinking]))


def _texts(content: Any, thinking: list[str]) -> list[str]:
    """The texts of content parts; thoughts among them go to `thinking`."""
    texts: list[str] = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            kind = part.get("type")
            text = part.get("text")
            if isinstance(kind, str) and kind in _MEDIA:
                texts.append(_MEDIA[kind])
            elif kind == "thinking":  # Mistral's form, which its clients send to other hosts too
                thinking += (
                    _texts(part["thinking"], [])
                    if isinstance(part.get("thinking"), list)
                    else [str(part.get("thinking") or "")]
                )
            elif isinstance(text, str):
                texts.append(text)
            elif isinstance(part.get("refusal"), str):
                texts.append(part["refusal"])
            elif isinstance(kind, str):
                texts.append(media(f"[{kind}]"))
    return texts


def _reasoning(item: Mapping[str, Any]) -> list[str]:
    """Reasoning in the words of DeepSeek, xAI, vLLM (`reasoning_content`), of Groq and OpenRouter (`reasoning`)."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(item.get(key), str):
            return [item[key]]
    return []


def _sent_calls(item: Mapping[str, Any]) -> list[SentToolCall]:
    calls: list[SentToolCall] = []
    for call in item.get("tool_calls") or ():
        if not isinstance(call, dict):
            continue
        function, custom = call.get("function"), call.get("custom")
        if isinstance(function, dict):
            calls.append(
                SentToolCall(
                    str(function.get("name") or ""), parsed_arguments(function.get("arguments")), call.get("id")
                )
            )
        elif isinstance(custom, dict):
            calls.append(SentToolCall(str(custom.get("name") or ""), custom.get("input"), call.get("id")))
    legacy = item.get("function_call")
    if isinstance(legacy, dict):
        calls.append(SentToolCall(str(legacy.get("name") or ""), parsed_arguments(legacy.get("arguments"))))
    return calls


def _tools(body: Mapping[str, Any]) -> dict[str, ToolSpec]:
    tools: dict[str, ToolSpec] = {}
    for tool in body.get("tools") or ():
        if isinstance(tool, dict):
            _add_tool(tools, tool.get("function") or tool.get("custom"))
    for function in body.get("functions") or ():
        _add_tool(tools, function)
    return tools


def _add_tool(tools: dict[str, ToolSpec], function: Any) -> None:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return
    name, schema = function["name"], function.get("parameters")
    tools[name] = ToolSpec(
        name,
        schema if isinstance(schema, dict) else {},
        function.get("description") or "",
        function.get("strict") is True,
    )


def _tool_choice(body: Mapping[str, Any]) -> ToolChoice:
    choice = body.get("tool_choice", body.get("function_call"))
    if isinstance(choice, dict) and "value" in choice:  # Writer's envelope
        choice = choice["value"]
    if isinstance(choice, str):
        return _CHOICES.get(choice, AUTO)
    if not isinstance(choice, dict):
        return AUTO
    allowed = choice.get("allowed_tools")
    if isinstance(allowed, dict):
        names = frozenset(name for name in map(_named, allowed.get("tools") or ()) if name is not None)
        return ToolChoice("any" if allowed.get("mode") == "required" else "auto", None, names)
    name = _named(choice)
    return AUTO if name is None else ToolChoice("tool", name)


def _named(choice: Any) -> str | None:
    """The name in `{"function": {"name"}}`, `{"custom": {"name"}}` or the legacy `{"name"}`."""
    if not isinstance(choice, dict):
        return None
    inner = choice.get("function") or choice.get("custom")
    name = inner.get("name") if isinstance(inner, dict) else choice.get("name")
    return name if isinstance(name, str) else None


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    wanted = body.get("response_format")
    if not isinstance(wanted, dict) or wanted.get("type") not in ("json_schema", "json_object"):
        return None
    inner = wanted.get("json_schema")
    if not isinstance(inner, dict):
        inner = {"schema": wanted.get("value"), **wanted}  # `schema`: Together, Fireworks; `value`: Hugging Face
    schema = inner.get("schema")
    return schema if isinstance(schema, dict) else {}


def _params(body: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: value for name, value in body.items() if value is not None and name not in _NOT_PARAMS}
    limit = body.get("max_completion_tokens")
    limit = body.get("max_tokens") if limit is None else limit
    if limit is not None:
        params["max_tokens"] = limit
    stop = body.get("stop")
    if stop is not None:
        params["stop"] = [stop] if isinstance(stop, str) else stop
    return params


def stream(request: Request, body: Any) -> bool:
    """Whether a stream is asked for."""
    return isinstance(body, dict) and body.get("stream") is True


def model(request: Request, body: Any) -> str:
    """The model's name, out of the URL for deployments that have it only there."""
    name = body.get("model") if isinstance(body, dict) else None
    if isinstance(name, str) and name:
        return name
    agent = body.get("agent_id") if isinstance(body, dict) else None  # Mistral's agents
    if isinstance(agent, str) and agent:
        return agent
    _, found, rest = request.path.partition("/deployments/")
    return unquote(rest.partition("/")[0]) if found else ""


# -------------------------------------------------------------------------------------------- checking

BAD_JSON: Final = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. "
    "The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, "
    "please contact us through our help center at help.openai.com.)"
)
_FIELDS: Final[Mapping[str, str]] = {
    "model": "a string",
    "max_tokens": "an integer",
    "max_completion_tokens": "an integer",
    "n": "an integer",
    "seed": "an integer",
    "top_logprobs": "an integer",
    "temperature": "a decimal",
    "top_p": "a decimal",
    "frequency_penalty": "a decimal",
    "presence_penalty": "a decimal",
    "stream": "a boolean",
    "parallel_tool_calls": "a boolean",
    "store": "a boolean",
    "user": "a string",
    "service_tier": "a string",
    "reasoning_effort": "a string",
    "verbosity": "a string",
    "prompt_cache_key": "a string",
    "safety_identifier": "a string",
    "stream_options": "an object",
    "response_format": "an object",
    "metadata": "an object",
    "logit_bias": "an object",
    "audio": "an object",
    "tools": "an array of objects",
    "functions": "an array of objects",
    "messages": "an array of objects",
    "modalities": "an array of strings",
}
_LARGEST: Final = 2**63 - 1
_LONGEST: Final = 10_485_760
_OPENAI_ROLES: Final = frozenset({"system", "assistant", "user", "function", "tool", "developer"})


def check(request: Request, body: Any) -> Error | None:
    """OpenAI's refusal of what isn't well-formed; what only OpenAI is strict about is asked only of OpenAI's hosts."""
    if not isinstance(body, dict):
        return refused(BAD_JSON)
    if body.get("model") in (None, "") and "/deployments/" not in request.path:
        return refused("you must provide a model parameter")
    for name, value in body.items():
        wanted = _FIELDS.get(name)
        if wanted is not None and value is not None:
            error = _field(name, value, wanted)
            if error is not None:
                return error
    stop = body.get("stop")
    if (
        stop is not None
        and not isinstance(stop, str)
        and not (isinstance(stop, list) and all(isinstance(item, str) for item in stop))
    ):
        return wrong_type("stop", "one of a string or array of strings", stop)
    strict = "openai.com" in request.host
    count = body.get("n")
    if isinstance(count, int) and count > _MOST_CHOICES:
        return refused(
            f"Invalid 'n': integer above maximum value. Expected a value <= {_MOST_CHOICES}, but got {count} instead.",
            "n",
            "integer_above_max_value",
        )
    if isinstance(count, int) and count < 1:
        return refused(
            f"Invalid 'n': integer below minimum value. Expected a value >= 1, but got {count} instead.",
            "n",
            "integer_below_min_value",
        )
    return _check_messages(body.get("messages"), strict)


_MOST_CHOICES: Final = 128


def _field(name: str, value: Any, wanted: str) -> Error | None:
    if not _fits(value, wanted):
        return wrong_type(name, wanted, value)
    if wanted == "an integer" and value > _LARGEST:
        return refused(
            f"Invalid '{name}': integer above maximum value. Expected a value <= {_LARGEST}, but got {value} instead.",
            name,
            "integer_above_max_value",
        )
    if wanted == "an integer" and value < -_LARGEST - 1:
        return refused(
            f"Invalid '{name}': integer below minimum value. Expected a value >= {-_LARGEST - 1}, but got {value} instead.",
            name,
            "integer_below_min_value",
        )
    if wanted == "an array of objects":
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                return wrong_type(f"{name}[{index}]", "an object", item)
    return None


def _fits(value: Any, wanted: str) -> bool:
    if wanted == "a string":
        return isinstance(value, str)
    if wanted == "a boolean":
        return isinstance(value, bool)
    if wanted == "an object":
        return isinstance(value, dict)
    if wanted == "a decimal":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if wanted == "an integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    return isinstance(value, list)


def _check_messages(messages: Any, strict: bool) -> Error | None:
    if messages is None:
        return refused("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    if not messages:
        return refused(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
            "messages",
            "empty_array",
        )
    for index, item in enumerate(messages):
        error = _check_message(f"messages[{index}]", item, strict)
        if error is not None:
            return error
    return None


def _check_message(where: str, item: Mapping[str, Any], strict: bool) -> Error | None:
    role, content = item.get("role"), item.get("content")
    if role is None:
        return refused(f"Missing required parameter: '{where}.role'.", f"{where}.role", "missing_required_parameter")
    if not isinstance(role, str):
        return wrong_type(f"{where}.role", "a string", role)
    if content is not None and not isinstance(content, (str, list)):
        return wrong_type(f"{where}.content", "one of a string or array of objects", content)
    calls = item.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        return wrong_type(f"{where}.tool_calls", "an array of objects", calls)
    for index, call in enumerate(calls or ()):
        key = call.get("id") if isinstance(call, dict) else None
        if isinstance(key, (dict, list)):
            return wrong_type(f"{where}.tool_calls[{index}].id", "a string", key)
    if not strict:
        return None
    if role not in _OPENAI_ROLES:
        return refused(
            f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
            f"{where}.role",
            "invalid_value",
        )
    if isinstance(content, list):
        for index, part in enumerate(content):
            if not isinstance(part, dict):
                return wrong_type(f"{where}.content[{index}]", "an object", part)
    if isinstance(content, str) and len(content) > _LONGEST:
        return refused(
            f"Invalid '{where}.content': string too long. Expected a string with maximum length {_LONGEST}, but got a string with length {len(content)} instead.",
            f"{where}.content",
            "string_above_max_length",
        )
    if content is None and role in ("user", "system", "developer"):
        return refused("Invalid value for 'content': expected a string, got null.", f"{where}.content")
    return None


def wrong_type(where: str, wanted: str, value: Any) -> Error:
    """The refusal of a field that holds another kind of value."""
    return refused(
        f"Invalid type for '{where}': expected {wanted}, but got {json_kind(value)} instead.", where, "invalid_type"
    )


def refused(text: str, param: str | None = None, code: str | None = None) -> Error:
    """A refusal in OpenAI's words; with a field or a code, these are in its body too."""
    if param is None and code is None:
        return Error("bad_request", text)
    return Error(
        "bad_request",
        text,
        body={"error": {"message": text, "type": "invalid_request_error", "param": param, "code": code}},
    )


# --------------------------------------------------------------------------------------------- answers

_FINISH: Final = {"refusal": "stop", "stop_sequence": "stop", "pause": "stop", "malformed_tool_call": "stop"}
_WITHOUT_LOGPROBS: Final = ("gpt-5", "o1", "o3", "o4")  # no such key in their choices since 2025
_SEARCHES: Final = (
    "-search-"  # in the names of models that search: no logprobs, no tier, no fingerprint (recorded 2026-08)
)
_WITHOUT_FINGERPRINT: Final = (*_WITHOUT_LOGPROBS, "gpt-3.5")
_FINGERPRINT: Final = "fp_5f1d9c03ae"
_TIERS: Final = frozenset({"default", "flex", "priority", "scale"})


class _Style:
    """What the request decides about the form of each choice."""

    __slots__ = ("created", "custom", "forced", "ids", "legacy", "logprobs", "nullable", "top")

    def __init__(self, exchange: Exchange) -> None:
        body = exchange.body if isinstance(exchange.body, dict) else {}
        tools = body.get("tools")
        self.legacy = bool(body.get("functions")) and not tools
        self.custom = _custom_names(tools) if tools else frozenset[str]()
        choice = body.get("tool_choice")
        self.forced = isinstance(choice, dict) and "allowed_tools" not in choice
        self.logprobs = body.get("logprobs") is True
        top = body.get("top_logprobs")
        self.top = top if isinstance(top, int) else 0
        self.nullable = not exchange.model.startswith(_WITHOUT_LOGPROBS) and _SEARCHES not in exchange.model
        self.created, self.ids = exchange.created, exchange.ids

    def finish(self, choice: Choice) -> str:
        """The vendor's word; a forced call ends with `stop`, a legacy one with `function_call`."""
        reason = choice.finish_reason
        if reason == "tool_calls":
            if self.legacy:
                return "function_call"
            return "stop" if self.forced else reason
        return _FINISH.get(reason, reason)


def _custom_names(tools: Any) -> frozenset[str]:
    if not isinstance(tools, list):
        return frozenset()
    names = [_named(tool) for tool in tools if isinstance(tool, dict) and tool.get("type") == "custom"]
    return frozenset(name for name in names if name is not None)


def document(exchange: Exchange) -> dict[str, Any]:
    """The whole answer."""
    style = _Style(exchange)
    return exchange.extend(
        {
            "id": _id(exchange),
            "object": "chat.completion",
            "created": exchange.created,
            "model": exchange.model,
            "choices": [_choice(index, choice, style) for index, choice in enumerate(exchange.choices)],
            "usage": _usage(exchange.usage),
            **_ending(exchange),
        }
    )


def _ending(exchange: Exchange) -> dict[str, Any]:
    if _SEARCHES in exchange.model:
        return {"system_fingerprint": ""}
    return {"service_tier": _tier(exchange.body), "system_fingerprint": _fingerprint(exchange.model)}


def _id(exchange: Exchange) -> str:
    return exchange.id or "chatcmpl-" + exchange.ids.alnum(29)


def _tier(body: Any) -> str:
    tier = body.get("service_tier") if isinstance(body, dict) else None
    return tier if isinstance(tier, str) and tier in _TIERS else "default"


def _fingerprint(name: str) -> str | None:
    return None if name.startswith(_WITHOUT_FINGERPRINT) else _FINGERPRINT


def _choice(index: int, choice: Choice, style: _Style) -> dict[str, Any]:
    written: dict[str, Any] = {"index": index, "message": _answer(choice, style)}
    logprobs = _logprobs(choice, style)
    if logprobs is not None or style.nullable or style.logprobs:
        written["logprobs"] = logprobs
    written["finish_reason"] = style.finish(choice)
    return written


def _answer(choice: Choice, style: _Style) -> dict[str, Any]:
    texts: list[str] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    calls: list[ToolCall] = []
    for part in choice.parts:
        if isinstance(part, (str, Citation)):
            texts.append(text_of(part))
        elif isinstance(part, ToolCall):
            calls.append(part)
        elif isinstance(part, Refusal):
            refusals.append(part.text)
        elif isinstance(part, Thinking) and not part.redacted:
            thoughts.append(part.text)
    answer: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts or _is_empty(choice) else None}
    if thoughts:
        answer["reasoning_content"] = "".join(thoughts)
    if calls and style.legacy:
        answer["function_call"] = _only(calls, {"name": calls[0].name, "arguments": calls[0].json})
    elif calls:
        answer["tool_calls"] = [_call(call, call.json, style) for call in calls]
    answer["refusal"] = "".join(refusals) if refusals else None
    answer["annotations"] = _annotations(choice)
    sound = choice.of(Audio)
    if sound:
        answer["audio"] = _audio(sound, style)
    return answer


def _annotations(choice: Choice) -> list[dict[str, Any]]:
    """The sources, each with where its text stands in the whole (recorded 2026-08); one without a text is of the text before."""
    found: list[dict[str, Any]] = []
    at = start = 0
    for part in choice.parts:
        end = at + len(text_of(part))
        start = at if end > at else start
        if isinstance(part, Citation):
            where = {"end_index": end, "start_index": start, "title": part.title or "", "url": part.source}
            found.append({"type": "url_citation", "url_citation": where})
        at = end
    return found


_AUDIO_LIFE: Final = 3600


def _audio(sound: Sequence[Audio], style: _Style) -> dict[str, Any]:
    """What is heard, of which a message holds one."""
    if len(sound) > 1:
        raise ScriptMismatchError(
            sentence(
                f"The turn has {len(sound)} sounds.", "A message of OpenAI chat holds one.", "Write one Audio a turn."
            )
        )
    return {
        "id": "audio_" + style.ids.hex(32),
        "data": sound[0].base64,
        "expires_at": style.created + _AUDIO_LIFE,
        "transcript": sound[0].transcript or "",
    }


def _is_empty(choice: Choice) -> bool:
    """Whether nothing was said, which is `""`; a blocked answer is `null`."""
    return not choice.parts and choice.finish_reason != "content_filter"


def _call(call: ToolCall, arguments: str, style: _Style) -> dict[str, Any]:
    if call.name in style.custom:
        said = free_text(call) if arguments else ""
        written: dict[str, Any] = {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": said}}
    else:
        written = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}
    return merge(written, call.extra) if call.extra else written


def _only(calls: Sequence[ToolCall], written: dict[str, Any]) -> dict[str, Any]:
    """A legacy `function_call`, of which a message holds one."""
    if len(calls) > 1:
        raise ScriptMismatchError(
            sentence(
                f"The turn has {len(calls)} tool calls: {', '.join(call.name for call in calls)}.",
                "The request offers `functions`, and an answer to these holds one function_call.",
                "Write one ToolCall a turn, or offer `tools` in the request.",
            )
        )
    return merge(written, calls[0].extra) if calls[0].extra else written


def _usage(usage: Usage) -> dict[str, Any]:
    cache = {"cache_write_tokens": usage.cache_write_tokens} if usage.cache_write_tokens else {}
    written = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, **cache, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    return merge(written, usage.details) if usage.details else written


# -------------------------------------------------------------------------------------------- logprobs

_OTHERS: Final = (
    " the",
    ",",
    " a",
    ".",
    " and",
    " to",
    " of",
    "\n",
    " in",
    " is",
    "!",
    " it",
    " I",
    " you",
    " that",
    " for",
    " on",
    "?",
    " with",
    " this",
    "The",
)


def _logprobs(choice: Choice, style: _Style) -> dict[str, Any] | None:
    if choice.logprobs is not None:
        return _kept([_entry(item, style.top) for item in choice.logprobs], _only_refuses(choice))
    if not style.logprobs:
        return None
    pieces = [
        piece
        for index, part in enumerate(choice.parts)
        if isinstance(part, (str, Citation, Refusal))
        for piece in choice.pieces(index)
    ]
    if not any(isinstance(part, (str, Citation, Refusal)) for part in choice.parts):
        return None
    return _kept([_made(piece, style.top) for piece in pieces], _only_refuses(choice))


def _only_refuses(choice: Choice) -> bool:
    return bool(choice.of(Refusal)) and not choice.of(str) and not choice.of(Citation)


def _kept(entries: list[Any], refused: bool) -> dict[str, Any]:
    return {"content": None, "refusal": entries} if refused else {"content": entries, "refusal": None}


def _entry(item: Any, top: int) -> Any:
    """An entry out of a `(token, logprob)` pair; the vendor's own as it is."""
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):
        return _token(item[0], item[1], top)
    return item


def _made(piece: str, top: int) -> dict[str, Any]:
    """An entry out of thin air: always the same for the same piece, and exact in binary."""
    return _token(piece, -(zlib.crc32(piece.encode("utf-8", "surrogatepass")) % 1000 + 1) / 8192, top)


def _token(token: str, logprob: float, top: int) -> dict[str, Any]:
    entry = {"token": token, "logprob": logprob, "bytes": _bytes(token)}
    if top <= 0:
        return {**entry, "top_logprobs": []}
    others = [other for other in _OTHERS if other != token][: top - 1]
    ranked = [
        {"token": other, "logprob": logprob - 2.5 - rank / 2, "bytes": _bytes(other)}
        for rank, other in enumerate(others)
    ]
    return {**entry, "top_logprobs": [entry, *ranked]}


def _bytes(token: str) -> list[int]:
    return list(token.encode("utf-8", "surrogatepass"))


def _shared_out(choice: Choice, style: _Style) -> Iterator[list[Any]]:
    """The entries of each streamed piece in turn: those whose token begins in it; the last piece takes the rest.

    The first list is for the chunk before all pieces: it holds what no piece can take.
    """
    whole = _logprobs(choice, style)
    entries = list((whole or {}).get("refusal" if _only_refuses(choice) else "content") or ())
    pieces = [
        piece
        for index, part in enumerate(choice.parts)
        if isinstance(part, (str, Citation, Refusal))
        for piece in choice.pieces(index)
    ]
    yield [] if pieces else entries
    at, end = 0, 0
    for index, piece in enumerate(pieces):
        end += len(piece)
        taken: list[Any] = []
        while entries and (at < end or index == len(pieces) - 1):
            entry = entries.pop(0)
            at += (
                len(entry["token"])
                if isinstance(entry, Mapping) and isinstance(entry.get("token"), str)
                else len(piece)
            )
            taken.append(entry)
        yield taken


# --------------------------------------------------------------------------------------------- streams


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The chunks of the content, then the finish chunks and the usage."""
    style = _Style(exchange)
    body = exchange.body if isinstance(exchange.body, dict) else {}
    options = body.get("stream_options")
    counted = isinstance(options, dict) and options.get("include_usage") is True
    head = {
        "id": _id(exchange),
        "object": "chat.completion.chunk",
        "created": exchange.created,
        "model": exchange.model,
        **_ending(exchange),
    }
    extra = dict(exchange.extra or {})
    extra_choices, extra_usage = extra.pop("choices", None), extra.pop("usage", None)
    tail: dict[str, Any] = {"usage": None} if counted else {}
    if extra:
        head = merge(head, {name: value for name, value in extra.items() if name in head})
        tail |= {name: value for name, value in extra.items() if name not in head}

    content: list[WireEvent] = []
    streams = [_chunks(choice, style) for choice in exchange.choices]
    for row in zip_longest(*streams) if len(streams) > 1 else zip(*streams, strict=True):
        for index, chunk in enumerate(row):
            if chunk is not None:
                carries, delta, logprobs = chunk
                payload = Delta(head) if carries else head.copy()
                payload["choices"] = [_streamed(index, delta, logprobs, None, style)]
                payload.update(tail)
                content.append(payload)

    closing: list[WireEvent] = [
        {**head, "choices": [_streamed(index, {}, None, style.finish(choice), style)], **tail}
        for index, choice in enumerate(exchange.choices)
    ]
    if extra_choices is not None:
        closing[-1:] = [{**head, "choices": extra_choices, **tail}]
    if counted:
        usage = _usage(exchange.usage)
        closing.append(
            {
                **head,
                "choices": [],
                **tail,
                "usage": merge(usage, extra_usage) if isinstance(extra_usage, Mapping) else usage,
            }
        )
    return content, closing


def _streamed(index: int, delta: dict[str, Any], logprobs: Any, finish: str | None, style: _Style) -> dict[str, Any]:
    if style.nullable or style.logprobs or logprobs is not None:
        return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
    return {"index": index, "delta": delta, "finish_reason": finish}


def _chunks(choice: Choice, style: _Style) -> Iterator[Chunk]:
    """The chunks of one choice, its finish chunk excepted."""
    entries = _shared_out(choice, style) if choice.logprobs is not None or style.logprobs else None
    refused = _only_refuses(choice) if entries is not None else False
    known = entries is not None and (
        choice.logprobs is not None or any(isinstance(part, (str, Citation, Refusal)) for part in choice.parts)
    )

    def next_logprobs() -> dict[str, Any] | None:
        return _kept(next(entries, []), refused) if entries is not None and known else None

    calls = choice.tool_calls
    delta = _opening(choice, calls, style)
    yield False, delta, next_logprobs()
    opened = "tool_calls" in delta or "function_call" in delta
    number = 0
    for index, part in enumerate(choice.parts):
        if isinstance(part, ToolCall):
            pieces = choice.pieces(index) if part.name not in style.custom else choice.cut(free_text(part))
            yield from _call_chunks(number, part, pieces, opened, style)
            number += 1
        elif isinstance(part, Audio):
            yield from _audio_chunks(part, _audio((part,), style), choice)
        elif isinstance(part, Thinking):
            for piece in () if part.redacted else choice.pieces(index):
                yield True, {"reasoning_content": piece}, None
        elif isinstance(part, (str, Citation, Refusal)):
            key = "refusal" if isinstance(part, Refusal) else "content"
            for piece in choice.pieces(index):
                yield True, {key: piece}, next_logprobs()
    cited = _annotations(choice)
    if cited:
        yield False, {"annotations": cited}, None


def _audio_chunks(part: Audio, audio: Mapping[str, Any], choice: Choice) -> Iterator[Chunk]:
    """The id, what is heard, the sound, and last how long it is kept: so the types of openai 3.57 say (2026-11)."""
    yield False, {"audio": {"id": audio["id"]}}, None
    for piece in choice.cut(audio["transcript"]):
        yield True, {"audio": {"transcript": piece}}, None
    data = audio["data"]
    for start in range(0, len(data), _AUDIO_PIECE):
        yield True, {"audio": {"data": data[start : start + _AUDIO_PIECE]}}, None
    yield False, {"audio": {"expires_at": audio["expires_at"]}}, None


_AUDIO_PIECE: Final = 4096  # of base64: a multiple of 4, so that each piece can be decoded by itself


def _opening(choice: Choice, calls: Sequence[ToolCall], style: _Style) -> dict[str, Any]:
    """The first delta: the role, and the head of a call that is all there is (recorded 2025-08 to 2026-08)."""
    refuses = any(isinstance(part, Refusal) for part in choice.parts)
    speaks = any(isinstance(part, (str, Citation)) for part in choice.parts)
    delta: dict[str, Any] = {"role": "assistant", "content": "" if speaks or _is_empty(choice) else None}
    if any(isinstance(part, Thinking) and not part.redacted for part in choice.parts):
        delta["reasoning_content"] = ""  # as DeepSeek does (recorded 2026-05)
    if calls and style.legacy:
        _only(calls, {})
    if len(choice.parts) == 1 and calls:
        delta |= _call_head(0, calls[0], style)
    elif calls and len(calls) == len(choice.parts):
        return delta
    delta["refusal"] = "" if refuses else None
    return delta


def _call_head(number: int, call: ToolCall, style: _Style) -> dict[str, Any]:
    if style.legacy:
        return {"function_call": _only((call,), {"name": call.name, "arguments": ""})}
    return {"tool_calls": [{"index": number, **_call(call, "", style)}]}


def _call_chunks(number: int, call: ToolCall, pieces: Sequence[str], opened: bool, style: _Style) -> Iterator[Chunk]:
    if not opened:
        yield False, _call_head(number, call, style), None
    for piece in pieces:
        if style.legacy:
            yield True, {"function_call": {"arguments": piece}}, None
        elif call.name in style.custom:
            yield True, {"tool_calls": [{"index": number, "custom": {"input": piece}}]}, None
        else:
            yield True, {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}, None


_ALNUM: Final = bytes(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[byte % 62] for byte in range(256)
)
_PAD_KEY: Final = b',"obfuscation":"'


def pad(payload: Any, data: bytes) -> bytes:
    """A last key `obfuscation` that makes the length of a chunk 1 modulo 16, as recorded since 2025-08."""
    if not isinstance(payload, dict) or "choices" not in payload:
        return data
    count = (1 - len(data) - len(_PAD_KEY) - 1) % 16
    noise = hashlib.blake2b(data, digest_size=16).digest().translate(_ALNUM)[:count]
    return b'%b%b%b"}' % (data[:-1], _PAD_KEY, noise)


# --------------------------------------------------------------------------------------------- headers

_COMMON: Final = (
    ("x-openai-proxy-wasm", "v0.1"),
    ("x-content-type-options", "nosniff"),
    ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
    ("cf-cache-status", "DYNAMIC"),
    ("server", "cloudflare"),
    ("alt-svc", 'h3=":443"; ma=86400'),
)
_LIMITS: Final = (
    ("x-ratelimit-limit-requests", "10000"),
    ("x-ratelimit-limit-tokens", "30000000"),
    ("x-ratelimit-remaining-requests", "9999"),
    ("x-ratelimit-remaining-tokens", "29999990"),
    ("x-ratelimit-reset-requests", "6ms"),
    ("x-ratelimit-reset-tokens", "0s"),
)
_VERSION: Final = (
    ("access-control-expose-headers", "X-Request-ID"),
    ("openai-version", "2020-10-01"),
    ("openai-processing-ms", "350"),
)
_SUCCESS: Final = (*_VERSION, ("x-envoy-upstream-service-time", "360"), *_LIMITS, *_COMMON)


def headers(exchange: Exchange) -> HeaderItems:
    """Headers of a successful answer, whole or streamed."""
    return (
        *_SUCCESS,
        ("x-request-id", "req_" + exchange.ids.hex(32)),
        ("cf-ray", exchange.ids.hex(16) + "-IAD"),
    )


# ---------------------------------------------------------------------------------------------- errors


_INVALID: Final = "invalid_request_error"
_JSON: Final = "application/json"
_USUAL: Final[Mapping[str, Usual]] = {
    "bad_request": Usual(400, _INVALID, "Bad Request", None, None, _JSON),
    "authentication": Usual(
        401,
        _INVALID,
        "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys.",
        "invalid_api_key",
    ),
    "permission": Usual(
        403,
        _INVALID,
        "You have insufficient permissions for this operation. Missing scopes: model.request. Check that you have the correct role in your organization (Reader, Writer, Owner) and project (Member, Owner), and if you're using a restricted API key, that it has the necessary scopes.",
        "missing_scope",
    ),
    "not_found": Usual(
        404, _INVALID, "The model `{model}` does not exist or you do not have access to it.", "model_not_found"
    ),
    "request_too_large": Usual(
        413, "server_error", "Maximum content size limit (26214400) exceeded (26214401 bytes read)"
    ),
    "context_length": Usual(
        400,
        _INVALID,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 128001 tokens. Please reduce the length of the messages.",
        "context_length_exceeded",
        "messages",
        _JSON,
    ),
    "content_filter": Usual(
        400,
        _INVALID,
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
        "invalid_prompt",
        None,
        _JSON,
    ),
    "rate_limit": Usual(
        429,
        "tokens",
        "Rate limit reached for {model} in organization org-fake on tokens per min (TPM): Limit 30000000, Used 30000000, Requested 100. Please try again in {wait}. Visit https://platform.openai.com/account/rate-limits to learn more.",
        "rate_limit_exceeded",
    ),
    "quota": Usual(
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        "insufficient_quota",
    ),
    "server_error": Usual(
        500,
        "server_error",
        "The server had an error while processing your request. Sorry about that! You can retry your request, or contact us through our help center at help.openai.com if the error persists. (Please include the request ID {id} in your message.)",
    ),
    "unavailable": Usual(503, "server_error", "The server is overloaded or not ready yet."),
    "overloaded": Usual(503, "server_error", "The engine is currently overloaded, please try again later"),
    "timeout": Usual(504, "server_error", "The server took too long to process your request. Please try again later."),
}
_NO_KEY: Final = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), "
    "or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. "
    "You can obtain an API key from https://platform.openai.com/account/api-keys."
)
_OF_THE_MODEL: Final = frozenset({"bad_request", "context_length", "content_filter"})
_USUAL_WAIT: Final = 0.174


def _request_id(exchange: Exchange) -> str:
    return "req_" + exchange.ids.hex(32)


def _without_a_key(exchange: Exchange, error: Error, usual: Usual) -> Usual:
    """Where there is none, another text and no code."""
    if usual.code != "invalid_api_key" or error.message is not None or _key(exchange):
        return usual
    return usual._replace(message=_NO_KEY, code=None)


def _places(exchange: Exchange, error: Error) -> Mapping[str, str]:
    wait = _USUAL_WAIT if error.retry_after is None else error.retry_after
    return {"key": _masked(_key(exchange)), "wait": duration(wait)}


def _error_headers(said: Said) -> HeaderItems:
    common = (*_COMMON, ("x-request-id", said.id), ("cf-ray", said.exchange.ids.hex(16) + "-IAD"))
    if said.name in _OF_THE_MODEL:
        return (*_VERSION, *_LIMITS, *common)
    wait = duration(wait_of(said, _USUAL_WAIT))
    limits = spent(_LIMITS, remaining_tokens="0", reset_tokens=wait) if said.name == "rate_limit" else ()
    return (("vary", "Origin"), *limits, *common)


def _indented(body: Any) -> bytes:
    return json.dumps(body, indent=4, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


ERRORS: Final = Errors(
    id=_request_id,
    row=_without_a_key,
    fills=_places,
    headers=_error_headers,
    waits=precise_waits,
    encode=_indented,
    content_type="application/json; charset=utf-8",
    usual=_USUAL,
)
"""Those of the gateway; in the middle of a stream it is an event without choices, by which SDKs know it."""
_BY_MODEL: Final = replace(ERRORS, encode=_json.pretty)


def failure(exchange: Exchange, error: Error) -> Response:
    """An error as a whole answer; those of the gateway and those of the model differ in style (recorded 2025-05 to 2026-04)."""
    return (_BY_MODEL if error.name in _OF_THE_MODEL else ERRORS).failure(exchange, error)


def _key(exchange: Exchange) -> str:
    sent = exchange.request.headers.get("authorization") or exchange.request.headers.get("api-key") or ""
    return sent.removeprefix("Bearer ").strip()


def _masked(key: str) -> str:
    """Short keys are echoed, long ones starred in the middle."""
    return key if len(key) <= 8 else key[:4] + "*" * (len(key) - 8) + key[-4:]


# ------------------------------------------------------------------------------------------- reading back

_NEUTRAL: Final = {"function_call": "tool_calls"}
_DOCUMENT_KEYS: Final = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint"}
)
_CALL_KEYS: Final = frozenset({"id", "type", "index", "function", "custom"})


def parts(document: Mapping[str, Any]) -> Reply:
    """A whole answer read back into a turn."""
    first, *others = [_turn(choice) for choice in _mappings(document.get("choices"))] or [Reply()]
    usage, name, id_ = document.get("usage"), document.get("model"), document.get("id")
    return first.replace(
        usage=_usage_back(usage) if isinstance(usage, Mapping) else None,
        model=name if isinstance(name, str) and name else None,
        id=id_ if isinstance(id_, str) and id_ else None,
        extra=_extra_back(document) or None,
        choices=tuple(others),
    )


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, (list, tuple)) else []


def _turn(choice: Mapping[str, Any]) -> Reply:
    answer = choice.get("message")
    answer = answer if isinstance(answer, Mapping) else {}
    said: list[Any] = [Thinking(text) for text in _reasoning(answer)]
    if isinstance(answer.get("content"), str):
        said += _cited(answer["content"], answer.get("annotations"))
    said += _blocks(answer.get("content"))
    if isinstance(answer.get("refusal"), str):
        said.append(Refusal(answer["refusal"]))
    said += [_call_back(call) for call in _mappings(answer.get("tool_calls"))]
    if isinstance(answer.get("function_call"), Mapping):
        said.append(_call_back({"function": answer["function_call"]}))
    said += _heard(answer.get("audio"))
    reason, logprobs = choice.get("finish_reason"), choice.get("logprobs")
    entries = (logprobs.get("content") or logprobs.get("refusal") or []) if isinstance(logprobs, Mapping) else None
    return Reply(
        *said,
        finish_reason=_NEUTRAL.get(reason, reason) if isinstance(reason, str) else None,
        logprobs=entries if isinstance(entries, list) else None,
    )


def _cited(text: str, annotations: Any) -> list[Any]:
    """A text with its citations in their places; of two that overlap, the later one has what is left."""
    found = [one["url_citation"] for one in _mappings(annotations) if isinstance(one.get("url_citation"), Mapping)]
    said: list[Any] = []
    at = 0
    for one in sorted(found, key=lambda one: _count(one, "end_index")):
        source, title = one.get("url"), one.get("title")
        if not isinstance(source, str) or not source:
            continue
        end = max(at, min(_count(one, "end_index"), len(text)))
        start = min(max(at, _count(one, "start_index")), end)
        said += [text[at:start]] if start > at else []
        said.append(Citation(text[start:end], source, title if isinstance(title, str) and title else None))
        at = end
    return [*said, text[at:]] if text[at:] or not said else said


def _heard(audio: Any) -> list[Audio]:
    if not isinstance(audio, Mapping) or not isinstance(audio.get("data"), str):
        return []
    try:
        data = base64.b64decode(audio["data"], validate=True)
    except ValueError:
        return []
    transcript = audio.get("transcript")
    return [Audio(data, transcript=transcript if isinstance(transcript, str) and transcript else None)] if data else []


def _blocks(content: Any) -> list[Any]:
    """Thoughts and text of a content that is a list, as Mistral sends it."""
    said: list[Any] = []
    for block in _mappings(content):
        if block.get("type") == "thinking":
            signature = block.get("signature")
            text = "".join(_texts(block.get("thinking"), []))
            said.append(Thinking(text, signature=signature if isinstance(signature, str) else None))
        elif isinstance(block.get("text"), str):
            said.append(block["text"])
    return said


def _call_back(call: Mapping[str, Any]) -> ToolCall:
    custom = call.get("custom")
    inner = custom if isinstance(custom, Mapping) else call.get("function")
    inner = inner if isinstance(inner, Mapping) else {}
    text = inner.get("input" if inner is custom else "arguments")
    extra = {name: value for name, value in call.items() if name not in _CALL_KEYS}
    id_ = call.get("id")
    return ToolCall(
        str(inner.get("name") or "unknown"),
        text if isinstance(text, Mapping) else as_written(text if isinstance(text, str) else ""),
        id_ if isinstance(id_, str) else None,
        extra=extra or None,
    )


def _usage_back(usage: Mapping[str, Any]) -> Usage:
    sent, answered = _details(usage, "prompt_tokens_details"), _details(usage, "completion_tokens_details")
    reasoned = _count(answered, "reasoning_tokens")
    asked, said = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if reasoned and usage.get("total_tokens") == asked + said + reasoned:  # xAI counts it beside (recorded 2026-03)
        usage = {**usage, "completion_tokens": said + reasoned}
    counted = Usage(
        asked,
        _count(usage, "completion_tokens"),
        _count(sent, "cached_tokens"),
        _count(sent, "cache_write_tokens"),
        reasoned,
    )
    total = _count(usage, "total_tokens") if "total_tokens" in usage else counted.total
    return Usage(
        counted.input_tokens,
        counted.output_tokens,
        counted.cached_tokens,
        counted.cache_write_tokens,
        counted.reasoning_tokens,
        None if total == counted.total else total,
        _difference(usage, {**_usage(counted), "total_tokens": total}),
    )


def _details(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = usage.get(name)
    return value if isinstance(value, Mapping) else {}


def _count(values: Mapping[str, Any], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _difference(values: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """What `values` says beyond `usual`."""
    beyond: dict[str, Any] = {}
    for name, value in values.items():
        known = usual.get(name)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            inner = _difference(value, known)
            if inner:
                beyond[name] = inner
        elif value is not None and (name not in usual or value != known):
            beyond[name] = value
    return beyond


def _extra_back(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer says beyond what we would write."""
    name = document.get("model")
    name = name if isinstance(name, str) else ""
    usual = {
        "created": CREATED,
        "service_tier": "default",
        "system_fingerprint": "" if _SEARCHES in name else _fingerprint(name),
    }
    known = {key: document[key] for key, value in usual.items() if key in document and document[key] != value}
    return known | {key: value for key, value in document.items() if key not in _DOCUMENT_KEYS}


def tool_id(ids: Ids) -> str | None:
    """`call_` and 24 letters and digits."""
    return "call_" + ids.alnum(24)


DIALECT: Final = Dialect(
    name="openai_chat",
    label="OpenAI chat",
    read=read,
    check=check,
    bad_json=BAD_JSON,
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=failure,
    failure_events=ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Refusal, Thinking, Citation, Audio}),
    choices=True,
    shaping=frozenset({"n", "response_format"}),
    too_long="This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. Please reduce the length of the messages.",
    sdk_types=(
        "openai.types.chat.chat_completion.ChatCompletion",
        "groq.types.chat.chat_completion.ChatCompletion",
        "mistralai.client.models.chatcompletionresponse.ChatCompletionResponse",
        "mistralai.client.models.fimcompletionresponse.FIMCompletionResponse",
        "mistralai.models.chatcompletionresponse.ChatCompletionResponse",
        "mistralai.models.fimcompletionresponse.FIMCompletionResponse",
        "ai21.models.chat.chat_completion_response.ChatCompletionResponse",
        "cerebras.cloud.sdk.types.chat.chat_completion.ChatCompletionResponse",
        "fireworks.types.chat.completion_create_response.CompletionCreateResponse",
        "together.types.chat.chat_completion.ChatCompletion",
        "writerai.types.chat_completion.ChatCompletion",
        "zai.types.chat.chat_completion.Completion",
    ),
)
