"""Anthropic `POST /v1/messages`: the same bodies and events on Anthropic itself, Vertex and Bedrock invoke.

The forms are those of 2026: `stop_details` and `caller` always there, all four counts in the last
usage, `output_tokens_details` only where there was reasoning.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote

from fake_llm import _claude_blocks, _json
from fake_llm._dialect import (
    CREATED,
    Choice,
    Delta,
    Dialect,
    Exchange,
    Ids,
    ReadyPart,
    WireEvent,
    dicts,
    media,
    merge,
    message,
    parsed_arguments,
    string,
)
from fake_llm._failures import Errors, Said, Usual
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
from fake_llm._turns import Citation, Error, Refusal, Reply, ServerTool, Thinking, ToolCall

__all__ = ["DIALECT", "dumps", "pad"]

# --- bytes ---------------------------------------------------------------------------------------

_PING: Final = {"type": "ping"}


def dumps(payload: Any) -> bytes:
    """Compact JSON, but for `ping`, which alone has a blank after its colon (recorded 2024-2026)."""
    return b'{"type": "ping"}' if payload == _PING else _json.compact(payload)


def pad(payload: Any, data: bytes) -> bytes:
    """The event with 0 to 15 blanks before its last brace, as the vendor hides lengths; never in a `ping`."""
    if payload == _PING or not data.endswith(b"}"):
        return data
    return b"%b%b}" % (data[:-1], b" " * (zlib.crc32(data) & 15))


# --- request to view -----------------------------------------------------------------------------

_PARAMS: Final = {"stop_sequences": "stop"}
_NOT_PARAMS: Final = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "stream", "output_config", "output_format"}
)
_CHOICE_MODES: Final = frozenset({"auto", "any", "tool", "none"})
# Run by the vendor itself: the model answers with `server_tool_use` or `mcp_tool_use`, never `tool_use`.
_SERVER_TOOLS: Final = ("web_search_", "web_fetch_", "code_execution_", "tool_search_tool_", "advisor_", "mcp_toolset")


def read(request: Request, body: Any) -> View:
    """The view of a request; see `Dialect.read`."""
    if not isinstance(body, dict):
        return View()
    messages: list[Message] = []
    system = [text for text in (_joined(body.get("system")),) if text]
    tools: dict[str, ToolSpec] = {}
    whole = _read_tools(body.get("tools"), tools) and not _continues(body)
    later: list[Any] = []
    for item in dicts(body.get("messages")):
        role = item.get("role")
        if role == "assistant":
            messages.append(_assistant(item.get("content")))
        elif role == "system":
            said = message("system", _texts(_parts(item.get("content"))))
            messages.append(said)
            system += [said.text] if said.text else []
            added = _added_tools(item.get("content"))
            whole &= _read_tools(added, tools)
            later += added
        else:
            messages += _user(item.get("content"))
    return View(
        tuple(messages),
        "\n".join(system),
        tools,
        _tool_choice(body.get("tool_choice")),
        _schema(body),
        _params(body),
        whole,
        _claude_blocks.offered(body, later),
    )


def _continues(body: Mapping[str, Any]) -> bool:
    """Whether the vendor holds what came before, tools included (message threads, anthropic 2.14, read 2026-11)."""
    thread = body.get("thread")
    return isinstance(thread, dict) and thread.get("type") == "continue"


def _previous(body: Any) -> str | None:
    found = body["thread"].get("previous_message_id") if _continues(body) else None
    return found if isinstance(found, str) else None


def _parts(content: Any) -> Iterable[Mapping[str, Any]]:
    return ({"type": "text", "text": content},) if isinstance(content, str) else dicts(content)


def _joined(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(_texts(dicts(content)))


def _texts(parts: Iterable[Mapping[str, Any]]) -> list[str]:
    return [text for part in parts if (text := _text(part)) is not None]


def _text(part: Mapping[str, Any]) -> str | None:
    kind = part.get("type")
    if kind == "text":
        text = part.get("text")
        return text if isinstance(text, str) else None
    if kind == "image":
        return media("[image]")
    if kind in ("document", "container_upload"):
        return media("[file]")
    if kind == "search_result":
        return _joined(part.get("content"))
    return None


def _assistant(content: Any) -> Message:
    if isinstance(content, str):
        return Message("assistant", content)
    texts: list[str] = []
    calls: list[SentToolCall] = []
    thoughts: list[str] = []
    for part in dicts(content):
        kind = part.get("type")
        if kind == "tool_use":
            calls.append(SentToolCall(string(part.get("name")), part.get("input"), _id_of(part.get("id"))))
        elif kind == "thinking":
            thoughts.append(string(part.get("thinking")))
        elif (text := _text(part)) is not None:
            texts.append(text)
    return message("assistant", texts, calls, thinking="\n".join(thoughts))


def _user(content: Any) -> list[Message]:
    """One `tool` message for each result, then the rest, if there is any."""
    if isinstance(content, str):
        return [Message("user", content)]
    results: list[Message] = []
    rest: list[Mapping[str, Any]] = []
    for part in dicts(content):
        if part.get("type") == "tool_result":
            texts = _result_texts(part.get("content"))
            result = ToolResult(_id_of(part.get("tool_use_id")), "", "\n".join(texts), part.get("is_error") is True)
            results.append(message("tool", texts, tool_results=(result,)))
        else:
            rest.append(part)
    return [*results, message("user", _texts(rest))] if rest or not results else results


def _result_texts(content: Any) -> list[str]:
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    texts: list[str] = []
    for part in dicts(content):
        name = part.get("tool_name") if part.get("type") == "tool_reference" else None
        text = name if isinstance(name, str) else _text(part)
        texts.append(_json.text(part) if text is None else text)
    return texts


def _id_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read_tools(tools: Any, into: dict[str, ToolSpec]) -> bool:
    """Put the tools that the client runs into `into`; false where a toolset stands for tools it doesn't name."""
    whole = True
    for tool in dicts(tools):
        name, kind, schema = tool.get("name"), tool.get("type"), tool.get("input_schema")
        if not isinstance(name, str):
            whole &= not (isinstance(kind, str) and "_toolset_" in kind)
        elif not (isinstance(kind, str) and kind.startswith(_SERVER_TOOLS)):
            into[name] = ToolSpec(
                name,
                schema if isinstance(schema, dict) else {},
                string(tool.get("description")),
                tool.get("strict") is True,
            )
    return whole


def _added_tools(content: Any) -> list[Any]:
    """Tools defined in the middle of a conversation (beta `inline-tools`, 2026-09)."""
    added = (part.get("tool") for part in dicts(content) if part.get("type") == "tool_addition")
    return [tool.get("definition") for tool in added if isinstance(tool, dict)]


def _tool_choice(choice: Any) -> ToolChoice:
    mode = choice.get("type") if isinstance(choice, dict) else None
    if isinstance(mode, (dict, list)) or mode not in _CHOICE_MODES or mode == "auto":
        return AUTO
    return ToolChoice(mode, _id_of(choice.get("name")) if mode == "tool" else None)


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    if form is None:
        form = body.get("output_format")  # the beta's place for it, until 2025-12
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        return None
    schema = form.get("schema")
    return schema if isinstance(schema, dict) else {}


def _params(body: Mapping[str, Any]) -> dict[str, Any]:
    params = {_PARAMS.get(key, key): value for key, value in body.items() if key not in _NOT_PARAMS}
    config, choice = body.get("output_config"), body.get("tool_choice")
    if isinstance(config, dict) and (rest := {key: value for key, value in config.items() if key != "format"}):
        params["output_config"] = rest
    if isinstance(choice, dict) and "disable_parallel_tool_use" in choice:
        params["disable_parallel_tool_use"] = choice["disable_parallel_tool_use"]
    return params


def stream(request: Request, body: Any) -> bool:
    """Whether the body or the path of Bedrock and Vertex asks for a stream."""
    if isinstance(body, dict) and body.get("stream") is True:
        return True
    return request.path.endswith(("/invoke-with-response-stream", ":streamRawPredict"))


def model(request: Request, body: Any) -> str:
    """The model in the body, or in the path of Bedrock and Vertex."""
    named = body.get("model") if isinstance(body, dict) else None
    if isinstance(named, str):
        return named
    parts = request.path.split("/")
    if "models" in parts[:-1]:
        return unquote(parts[parts.index("models") + 1]).partition(":")[0]
    if "model" in parts[:-1]:  # an ARN may have a slash of its own
        return unquote("/".join(parts[parts.index("model") + 1 : -1])).rpartition("/")[2]
    return ""


# --- refusals of malformed requests --------------------------------------------------------------

_LARGEST_BODY: Final = 32 * 1024 * 1024
_LARGEST_INT: Final = 2**63 - 1
_OBJECT: Final = "Input should be a valid dictionary or object to extract fields from"
_DICT: Final = "Input should be a valid dictionary"
_LIST: Final = "Input should be a valid list"
_STRING: Final = "Input should be a valid string"
_REQUIRED: Final = "Field required"
_ROLES: Final = frozenset({"user", "assistant", "system"})
_VERSIONED: Final = ("/invoke", "/invoke-with-response-stream", ":rawPredict", ":streamRawPredict")
"""Where the version is in the body: on Anthropic's own host it is a header."""


def check(request: Request, body: Any) -> Error | None:
    """What the vendor says to a body of the wrong types, in the words of its validation library."""
    direct = request.path.endswith("/v1/messages")
    if direct and len(request.body) > _LARGEST_BODY:
        return Error("request_too_large")
    if not isinstance(body, dict):
        return Error(400, _OBJECT)
    counts = request.path.endswith(("/count_tokens", "/count-tokens:rawPredict"))
    if not counts and request.path.endswith(_VERSIONED) and not isinstance(body.get("anthropic_version"), str):
        return Error(400, f"anthropic_version: {_STRING if 'anthropic_version' in body else _REQUIRED}")
    wrong = _wrong(body, direct, counts)
    return None if wrong is None else Error(400, wrong)


def _wrong(body: dict[str, Any], direct: bool, counts: bool) -> str | None:
    if direct and (wrong := _wrong_model(body)) is not None:
        return wrong
    if "messages" not in body:
        return f"messages: {_REQUIRED}"
    messages = body["messages"]
    if not isinstance(messages, list):
        return f"messages: {_LIST}"
    if not messages and not _continues(body):
        return "messages: at least one message is required"
    if not counts and (wrong := _wrong_max_tokens(body)) is not None:
        return wrong
    for index, item in enumerate(messages):
        if (wrong := _wrong_message(index, item)) is not None:
            return wrong
    return _wrong_setting(body)


def _wrong_model(body: dict[str, Any]) -> str | None:
    if "model" not in body:
        return f"model: {_REQUIRED}"
    if not isinstance(body["model"], str):
        return f"model: {_STRING}"
    return None if body["model"] else "model: String should have at least 1 character"


def _wrong_max_tokens(body: dict[str, Any]) -> str | None:
    if "max_tokens" not in body:
        return f"max_tokens: {_REQUIRED}"
    value = body["max_tokens"]
    if (wrong := _wrong_int("max_tokens", value)) is not None:
        return wrong
    if value < 0:  # 0 only fills the prompt cache (2026)
        return "max_tokens: must be greater than or equal to 1"
    return (
        f"max_tokens: {value} > 64000, which is the maximum allowed number of output tokens for {body.get('model')}"
        if value > _LARGEST_INT
        else None
    )


def _wrong_message(index: int, item: Any) -> str | None:
    where = f"messages.{index}"
    if not isinstance(item, dict):
        return f"{where}: {_OBJECT}"
    role = item.get("role")
    if not isinstance(role, str):
        return f"{where}.role: {_STRING if 'role' in item else _REQUIRED}"
    if role not in _ROLES:
        return f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".'
    if "content" not in item:
        return f"{where}.content: {_REQUIRED}"
    content = item["content"]
    if isinstance(content, str):
        return None
    if not isinstance(content, list):
        return f"{where}.content: {_LIST}"
    for number, part in enumerate(content):
        if (wrong := _wrong_part(f"{where}.content.{number}", part)) is not None:
            return wrong
    return None


def _wrong_part(where: str, part: Any) -> str | None:
    if not isinstance(part, dict):
        return f"{where}: {_OBJECT}"
    kind = part.get("type")
    if not isinstance(kind, str):
        return f"{where}.type: {_STRING if 'type' in part else _REQUIRED}"
    if kind == "text":
        return _wrong_field(f"{where}.text", part, "text", str, _STRING)
    if kind == "tool_use":
        return (
            _wrong_field(f"{where}.tool_use", part, "id", str, _STRING)
            or _wrong_field(f"{where}.tool_use", part, "input", dict, _DICT)
            or _wrong_field(f"{where}.tool_use", part, "name", str, _STRING)
        )
    if kind == "tool_result":
        content = part.get("content")
        if content is not None and not isinstance(content, (str, list)):
            return f"{where}.tool_result.content: {_LIST}"
        return _wrong_field(f"{where}.tool_result", part, "tool_use_id", str, _STRING)
    return None


def _wrong_field(where: str, part: dict[str, Any], name: str, kind: type, wrong: str) -> str | None:
    if name not in part:
        return f"{where}.{name}: {_REQUIRED}"
    return None if isinstance(part[name], kind) else f"{where}.{name}: {wrong}"


def _wrong_setting(body: dict[str, Any]) -> str | None:
    system = body.get("system")
    if system is not None and not isinstance(system, (str, list)):
        return f"system: {_LIST}"
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            return f"{name}: Input should be a valid number"
    if body.get("top_k") is not None and (wrong := _wrong_int("top_k", body["top_k"])) is not None:
        return wrong
    if not isinstance(body.get("stream"), (bool, type(None))):
        return "stream: Input should be a valid boolean"
    for name in ("tool_choice", "metadata", "thinking", "output_config"):
        if not isinstance(body.get(name), (dict, type(None))):
            return f"{name}: {_OBJECT}"
    return _wrong_list(body, "stop_sequences", str, _STRING) or _wrong_list(body, "tools", dict, _OBJECT)


def _wrong_list(body: dict[str, Any], name: str, kind: type, wrong: str) -> str | None:
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, list):
        return f"{name}: {_LIST}"
    return next((f"{name}.{index}: {wrong}" for index, item in enumerate(value) if not isinstance(item, kind)), None)


def _wrong_int(name: str, value: Any) -> str | None:
    if isinstance(value, float):
        return (
            None
            if value.is_integer()
            else f"{name}: Input should be a valid integer, got a number with a fractional part"
        )
    return (
        None if isinstance(value, int) and not isinstance(value, bool) else f"{name}: Input should be a valid integer"
    )


# --- turn to body and events ---------------------------------------------------------------------

_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "stop_sequence": "stop_sequence",
    "pause": "pause_turn",
    "malformed_tool_call": "tool_use",
}
_HEAD_ONLY: Final = frozenset({"cache_creation", "service_tier", "inference_geo", "speed"})
_TAIL_ONLY: Final = frozenset({"output_tokens", "output_tokens_details", "server_tool_use", "iterations"})
_DELTA_KEYS: Final = frozenset({"stop_reason", "stop_sequence", "stop_details", "container"})


def document(exchange: Exchange) -> dict[str, Any]:
    """The whole answer."""
    whole: dict[str, Any] = _head(exchange)
    whole["content"] = blocks = [block for _, block in _content(exchange)]
    whole.update(_ending(exchange, blocks))
    whole["usage"] = _usage_of(exchange, blocks)
    if _is_managed(exchange):
        whole["context_management"] = {"applied_edits": []}
    return exchange.extend(whole)


def _content(exchange: Exchange) -> list[tuple[int, dict[str, Any]]]:
    """The content blocks, each with the place of its part; a citation of no text is one more source of what stands before it."""
    content: list[tuple[int, dict[str, Any]]] = []
    body = exchange.body if isinstance(exchange.body, dict) else {}
    for at, part in enumerate(exchange.choice.parts):
        if isinstance(part, ServerTool):
            content += [(at, block) for block in _claude_blocks.of_server(part, body, exchange.ids, exchange.provider)]
        elif isinstance(part, Citation):
            earlier = [block for _, block in content]
            place = _claude_blocks.cited(part, body, earlier)
            if not part.text and earlier and "citations" in earlier[-1]:
                earlier[-1]["citations"].append(place)
            else:
                content.append((at, {"citations": [place], "type": "text", "text": part.text}))
        elif (block := _block(exchange, part)) is not None:
            content.append((at, block))
    return content


def _is_managed(exchange: Exchange) -> bool:
    """Whether the context is managed, of which the answer then tells: by the request, or by its beta alone (recorded 2025-11)."""
    managed = exchange.body.get("context_management") if isinstance(exchange.body, dict) else None
    beta = exchange.request.headers.get("anthropic-beta") or ""
    return managed is not None or "context-management-" in beta


def _head(exchange: Exchange) -> dict[str, Any]:
    if exchange.id is None:
        exchange.id = _claude_blocks.prefix("msg", exchange.provider) + exchange.ids.alnum(22)
    return {"model": exchange.model, "id": exchange.id, "type": "message", "role": "assistant"}


def _block(exchange: Exchange, part: ReadyPart) -> dict[str, Any] | None:
    """The content block of a part; none for a refusal, which is in `stop_details`."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, ToolCall):
        block = {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)}
        if exchange.provider != "bedrock":  # where nothing but the model calls (recorded 2024-12 to 2025-12)
            block["caller"] = dict(_DIRECT)
        return merge(block, part.extra) if part.extra else block
    if isinstance(part, Thinking):
        signature = _signature(exchange.ids) if part.signature is None else part.signature
        return (
            {"type": "redacted_thinking", "data": signature}
            if part.redacted
            else {"type": "thinking", "thinking": part.text, "signature": signature}
        )
    return None


def _input(call: ToolCall) -> Any:
    """The arguments parsed; those that aren't JSON as the text that they are."""
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    return parsed_arguments(call.arguments) if call.arguments else {}


def _signature(ids: Ids) -> str:
    return base64.b64encode(b"\x12\xa9\x02\x0a" + ids.take(296)).decode()


def _ending(exchange: Exchange, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    choice = exchange.choice
    reason = _REASONS.get(choice.finish_reason, choice.finish_reason)
    if reason == "end_turn" and blocks and _asks_to_compact(exchange.body):
        reason = "compaction"
    refusals = [part.text for part in choice.parts if isinstance(part, Refusal)]
    if refusals and reason == "end_turn":
        reason = "refusal"
    details = (
        {"type": "refusal", "category": None, "explanation": "".join(refusals) if refusals else None}
        if reason == "refusal"
        else None
    )
    return {
        **_container(exchange, blocks),
        "stop_reason": reason,
        "stop_sequence": _stop_sequence(exchange) if reason == "stop_sequence" else None,
        "stop_details": details,
    }


def _asks_to_compact(body: Any) -> bool:
    return isinstance(body, dict) and isinstance(body.get("compaction"), dict)


def _container(exchange: Exchange, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Where code ran: the container of the request, or a new one."""
    if not any(block.get("name") in _claude_blocks.CODE and block["type"] == "server_tool_use" for block in blocks):
        return {}
    given = exchange.body.get("container") if isinstance(exchange.body, dict) else None
    named = given.get("id") if isinstance(given, dict) else given
    skills = given.get("skills") if isinstance(given, dict) else None
    until = datetime.fromtimestamp(exchange.created + _HOUR, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    container = {
        "id": named if isinstance(named, str) else "container_01" + exchange.ids.alnum(22),
        "expires_at": until,
    }
    return {"container": {**container, "skills": skills} if skills else container}


_HOUR: Final = 3600


def _stop_sequence(exchange: Exchange) -> str | None:
    """The request's stop sequence that the text ends with, or has, or else the first."""
    body = exchange.body
    given = body.get("stop_sequences") if isinstance(body, dict) else None
    stops = [stop for stop in given if isinstance(stop, str) and stop] if isinstance(given, list) else []
    text = exchange.choice.text
    for stop in stops:
        if text.endswith(stop):
            return stop
    return next((stop for stop in stops if stop in text), stops[0] if stops else None)


def _usage_of(exchange: Exchange, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counts, with what else this request and this answer make of them."""
    plain = exchange.usage
    counted = _usage(plain)
    if plain.cache_write_tokens and _ttls(exchange.body) == {"1h"}:
        counted["cache_creation"] = _written(0, plain.cache_write_tokens)
    if exchange.provider in _OTHER_CLOUDS:  # which don't say these (recorded 2025-02 to 2026-04)
        del counted["service_tier"], counted["inference_geo"]
    kinds = [block["type"] for block in blocks]
    if not {"mcp_tool_use", "server_tool_use"}.isdisjoint(kinds):
        names = [block.get("name") for block in blocks if block["type"] == "server_tool_use"]
        counted["server_tool_use"] = {f"{name}_requests": names.count(name) for name in ("web_search", "web_fetch")}
    if "compaction" in kinds:
        counted["iterations"] = _iterations(plain, blocks)
    return merge(counted, plain.details) if plain.details else counted


def _iterations(usage: Usage, blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The compaction, whose tokens count for themselves, and the message after it."""
    summary = next(len(str(block.get("content") or "")) for block in blocks if block["type"] == "compaction")
    fresh = _fresh_tokens(usage)
    none = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "cache_creation": _written(0, 0)}
    shares = {
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_creation": _written(usage.cache_write_tokens, 0),
    }
    first = {"input_tokens": fresh, "output_tokens": summary // 4 + 1, **none, "type": "compaction"}
    alone = len(blocks) == 1
    then = {"input_tokens": fresh, "output_tokens": usage.output_tokens, **shares, "type": "message"}
    return [first] if alone else [first, then]


def _ttls(body: Any) -> set[str]:
    """The lifetimes of the caches that a request asks for."""
    found: set[str] = set()
    pending = [body]
    for value in pending:  # which grows meanwhile
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            control = value.get("cache_control")
            if isinstance(control, dict):
                ttl = control.get("ttl")
                found.add(ttl if isinstance(ttl, str) else "5m")
            pending += value.values()
    return found


def _written(short: int, long: int) -> dict[str, int]:
    return {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long}


def _usage(usage: Usage) -> dict[str, Any]:
    counted: dict[str, Any] = {
        "input_tokens": _fresh_tokens(usage),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation": _written(usage.cache_write_tokens, 0),
        "output_tokens": usage.output_tokens,
    }
    if usage.reasoning_tokens:
        counted["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    counted["service_tier"] = "standard"
    counted["inference_geo"] = "not_available"
    return counted


def _fresh_tokens(usage: Usage) -> int:
    """The vendor counts neither those read from nor those written to a cache as input."""
    return max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The answer as events; a `ping` follows the first block's start."""
    blocks = _content(exchange)
    start, delta = _frame(exchange, [block for _, block in blocks])
    content: list[WireEvent] = [start]
    pings = exchange.provider != "bedrock"  # Bedrock sends none (recorded 2025-2026)
    for index, (at, block) in enumerate(blocks):
        content.append({"type": "content_block_start", "index": index, "content_block": _opening(block)})
        if pings and not index:
            content.append(dict(_PING))
        content += _deltas(exchange, at, index, block)
        content.append({"type": "content_block_stop", "index": index})
    if pings and not blocks:
        content.append(dict(_PING))
    return content, [delta, {"type": "message_stop"}]


def _frame(exchange: Exchange, blocks: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """`message_start` and `message_delta`, the script's `extra` in the one of them where the vendor has it."""
    usage = _usage_of(exchange, blocks)
    head = _head(exchange)
    head.update(content=[], stop_reason=None, stop_sequence=None, stop_details=None)
    head["usage"] = {key: value for key, value in usage.items() if key not in _TAIL_ONLY or key == "output_tokens"}
    head["usage"]["output_tokens"] = min(1, exchange.usage.output_tokens)  # a guess: the true number comes last
    delta: dict[str, Any] = {
        "type": "message_delta",
        "delta": _ending(exchange, blocks),
        "usage": {key: value for key, value in usage.items() if key not in _HEAD_ONLY},
    }
    if _is_managed(exchange):
        delta["context_management"] = {"applied_edits": []}
    if exchange.extra:
        head, delta = _extended(exchange.extra, head, delta)
    return {"type": "message_start", "message": head}, delta


def _extended(
    extra: Mapping[str, Any], head: dict[str, Any], delta: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    early: dict[str, Any] = {}
    late: dict[str, Any] = {}
    for key, value in extra.items():
        if key in _DELTA_KEYS:
            late.setdefault("delta", {})[key] = value
        elif key == "context_management":
            late[key] = value
        elif key == "usage" and isinstance(value, Mapping):
            early[key] = {name: count for name, count in value.items() if name not in _TAIL_ONLY}
            late[key] = {name: count for name, count in value.items() if name not in _HEAD_ONLY}
        else:
            early[key] = value
    return merge(head, early), merge(delta, late)


_FILLED: Final[Mapping[str, Mapping[str, Any]]] = {
    "text": {"text": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
    "mcp_tool_use": {"input": {}},
    "thinking": {"thinking": "", "signature": ""},
    "compaction": {"content": None},
}
"""What deltas fill; of other blocks all is there at once."""


def _opening(block: Mapping[str, Any]) -> dict[str, Any]:
    """The block as it is before its first delta."""
    opening = {**block, **_FILLED.get(block["type"], {})}
    return {**opening, "citations": []} if "citations" in block and block["type"] == "text" else opening


def _deltas(exchange: Exchange, at: int, index: int, block: Mapping[str, Any]) -> Iterator[WireEvent]:
    part, kind = exchange.choice.parts[at], block["type"]
    if kind == "text" and isinstance(part, (str, Citation)):
        for citation in block.get("citations", ()):
            yield _delta(index, "citations_delta", "citation", citation)
        for piece in exchange.choice.pieces(at):
            yield Delta(_delta(index, "text_delta", "text", piece))
    elif "input" in _FILLED.get(kind, ()):
        yield _delta(index, "input_json_delta", "partial_json", "")
        for piece in _input_pieces(exchange.choice, at, block):
            yield Delta(_delta(index, "input_json_delta", "partial_json", piece))
    elif kind == "thinking" and isinstance(part, Thinking):
        for piece in exchange.choice.pieces(at):
            yield Delta(_delta(index, "thinking_delta", "thinking", piece))
        yield _delta(index, "signature_delta", "signature", block["signature"])
    elif kind == "compaction":
        yield Delta(_delta(index, "compaction_delta", "content", block.get("content")))


def _input_pieces(choice: Choice, at: int, block: Mapping[str, Any]) -> list[str]:
    """What the input is streamed in; for none the empty delta is the only one."""
    part = choice.parts[at]
    if not isinstance(part, ToolCall):
        part = ToolCall("input", block["input"])
        choice, at = Choice((part,), "stop", chunk_size=choice.chunk_size), 0
    pieces = choice.pieces(at)
    return [] if pieces == ["{}"] else pieces


def _delta(index: int, kind: str, key: str, piece: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}


# --- errors --------------------------------------------------------------------------------------

_BAD_REQUEST: Final = "There was an issue with the format or content of your request."
_NO_CREDIT: Final = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
_WINDOW: Final = 200_000

_RETRIED: Final = frozenset({429, 529})
_UNDECIDED: Final = frozenset({408, 409})


def _request_of(exchange: Exchange) -> str:
    return _request_id(exchange.ids)


def _error_body(said: Said) -> dict[str, Any]:
    return {"type": "error", "error": {"type": said.type, "message": said.message}, "request_id": said.id}


def _error_event(said: Said) -> list[WireEvent]:
    """In the middle of a stream it has `details` and no `request_id`."""
    return [{"type": "error", "error": {"details": None, "type": said.type, "message": said.message}}]


def _places(exchange: Exchange, error: Error) -> Mapping[str, str]:
    return {"tokens": str(max(exchange.usage.input_tokens, _WINDOW + 1))}


def _error_headers(said: Said) -> HeaderItems:
    retried: HeaderItems = ()
    if said.status in _RETRIED:
        retried = (("x-should-retry", "true"),)
    elif said.status < 500 and said.status not in _UNDECIDED:
        retried = (("x-should-retry", "false"),)
    limited = said.status == 429
    limits = (("retry-after", "1"), *_limits(said.exchange.created, spent=True)) if limited else ()
    return (*retried, *limits, ("request-id", said.id), *_FIXED_HEADERS)


ERRORS: Final = Errors(
    body=_error_body,
    id=_request_of,
    fills=_places,
    headers=_error_headers,
    event=_error_event,
    usual={
        "bad_request": Usual(400, "invalid_request_error", _BAD_REQUEST),
        "authentication": Usual(401, "authentication_error", "invalid x-api-key"),
        "permission": Usual(
            403, "permission_error", "Your API key does not have permission to use the specified resource."
        ),
        "not_found": Usual(404, "not_found_error", "model: {model}"),
        "request_too_large": Usual(413, "request_too_large", "Request exceeds the maximum size"),
        "context_length": Usual(400, "invalid_request_error", "prompt is too long: {tokens} tokens > 200000 maximum"),
        "content_filter": Usual(400, "invalid_request_error", "Output blocked by content filtering policy"),
        "rate_limit": Usual(
            429,
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        "quota": Usual(400, "invalid_request_error", _NO_CREDIT),
        "server_error": Usual(500, "api_error", "Internal server error"),
        "unavailable": Usual(503, "api_error", "Service unavailable"),
        "overloaded": Usual(529, "overloaded_error", "Overloaded"),
        "timeout": Usual(504, "timeout_error", "Request timed out"),
    },
    statuses={402: Usual(402, "billing_error", _NO_CREDIT)},
)


# --- headers -------------------------------------------------------------------------------------

_FIXED_HEADERS: Final = (
    ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
    ("server", "cloudflare"),
    ("vary", "Accept-Encoding"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cf-cache-status", "DYNAMIC"),
    ("x-robots-tag", "none"),
)
_LIMITS: Final = (
    ("requests", 20_000, 1),
    ("tokens", 4_800_000, 0),
    ("input-tokens", 4_000_000, 0),
    ("output-tokens", 800_000, 0),
)


def _limits(created: int, spent: bool = False) -> HeaderItems:
    """The rate limits; `spent` are the input tokens on a 429."""
    reset = datetime.fromtimestamp(created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers: list[tuple[str, str]] = []
    for name, limit, used in _LIMITS:
        left = 0 if spent and name == "input-tokens" else limit - used
        prefix = f"anthropic-ratelimit-{name}"
        headers += [(f"{prefix}-limit", str(limit)), (f"{prefix}-remaining", str(left)), (f"{prefix}-reset", reset)]
    return tuple(headers)


_WHOLE_HEADERS: Final = (*_limits(CREATED), *_FIXED_HEADERS)
_STREAM_HEADERS: Final = (("cache-control", "no-cache"), *_WHOLE_HEADERS)
_OTHER_CLOUDS: Final = frozenset({"bedrock", "vertex"})


def headers(exchange: Exchange) -> HeaderItems:
    """Those of Anthropic itself; Bedrock and Vertex answer with their own."""
    if exchange.provider in _OTHER_CLOUDS:
        return ()
    ids = exchange.ids
    fixed = _STREAM_HEADERS if exchange.stream else _WHOLE_HEADERS
    if exchange.created != CREATED:
        fixed = (
            (*fixed[:1], *_limits(exchange.created), *_FIXED_HEADERS)
            if exchange.stream
            else (*_limits(exchange.created), *_FIXED_HEADERS)
        )
    trace, span, ray = ids.hex(32), ids.hex(16), ids.hex(16)
    return (
        *fixed,
        ("request-id", _request_id(ids)),
        ("traceresponse", f"00-{trace}-{span}-01"),
        ("cf-ray", f"{ray}-SJC"),
    )


def _request_id(ids: Ids) -> str:
    return "req_01" + ids.alnum(22)


def tool_id(ids: Ids) -> str:
    """A new id for a tool call."""
    return "toolu_01" + ids.alnum(22)


# --- body to turn --------------------------------------------------------------------------------

_NEUTRAL: Final = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "refusal",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause",
}
_KNOWN_KEYS: Final = frozenset(
    {"model", "id", "type", "role", "content", "stop_reason", "stop_sequence", "stop_details", "usage"}
)
_DIRECT: Final = {"type": "direct"}


def parts(body: Mapping[str, Any]) -> Reply:
    """A whole answer read back into a turn."""
    said = _parts_of(list(dicts(list(body.get("content") or ()))))
    details = body.get("stop_details")
    explanation = details.get("explanation") if isinstance(details, Mapping) else None
    if isinstance(explanation, str):
        said.append(Refusal(explanation))
    reason = body.get("stop_reason")
    return Reply(
        *said,
        id=_id_of(body.get("id")),
        model=_id_of(body.get("model")),
        usage=_counted(body.get("usage")),
        finish_reason=_NEUTRAL.get(reason, reason) if isinstance(reason, str) else None,
        extra=_remainder(body) or None,
    )


def _parts_of(blocks: Sequence[Mapping[str, Any]]) -> list[Any]:
    said: list[Any] = []
    at = 0
    while at < len(blocks):
        block, taken = blocks[at], 1
        if block.get("type") == "text" and block.get("citations"):
            text = string(block.get("text"))
            for location in dicts(list(block["citations"])):
                source, title = _claude_blocks.source_of(location)
                said.append(Citation(text, source, title))
                text = ""
        elif (part := _part(block)) is not None:
            said.append(part)
        elif (tool := _claude_blocks.read(blocks, at)) is not None:
            said.append(tool[0])
            taken = tool[1]
        at += taken
    return said


def _part(block: Mapping[str, Any]) -> str | ToolCall | Thinking | None:
    kind = block.get("type")
    if kind == "text":
        return string(block.get("text"))
    if kind == "tool_use":
        given = block.get("input")
        arguments = given if isinstance(given, (Mapping, str)) else {} if given is None else _json.text(given)
        extra = {
            key: value
            for key, value in block.items()
            if key not in ("type", "id", "name", "input") and value is not None and value != _DIRECT
        }
        return ToolCall(string(block.get("name")) or "unnamed", arguments, _id_of(block.get("id")), extra=extra or None)
    if kind == "thinking":
        return Thinking(string(block.get("thinking")), _id_of(block.get("signature")))
    if kind == "redacted_thinking":
        return Thinking("", string(block.get("data")), redacted=True)
    return None


def _counted(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    fresh, written, cached = (
        _count(usage.get(key)) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    thought = usage.get("output_tokens_details")
    reasoning = _count(thought.get("thinking_tokens")) if isinstance(thought, Mapping) else 0
    plain = Usage(fresh + written + cached, _count(usage.get("output_tokens")), cached, written, reasoning)
    usual = _usage(plain)
    details = {key: value for key, value in usage.items() if value is not None and usual.get(key) != value}
    return (
        Usage(plain.input_tokens, plain.output_tokens, cached, written, reasoning, details=details)
        if details
        else plain
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _remainder(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a turn has no word for: the stop sequence, the kind of refusal, keys of newer features."""
    extra = {key: value for key, value in body.items() if key not in _KNOWN_KEYS and value is not None}
    if body.get("stop_sequence") is not None:
        extra["stop_sequence"] = body["stop_sequence"]
    details = body.get("stop_details")
    if isinstance(details, Mapping):
        more = {
            key: value for key, value in details.items() if key not in ("type", "explanation") and value is not None
        }
        extra |= {"stop_details": more} if more else {}
    return extra


DIALECT: Final = Dialect(
    name="anthropic_messages",
    label="Anthropic messages",
    read=read,
    check=check,
    bad_json="The request body is not valid JSON: unexpected character: line 1 column 1 (char 0)",
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Thinking, Refusal, Citation, ServerTool}),
    shaping=frozenset({"output_config", "output_format"}),
    continues=_previous,
    too_long="prompt is too long: {tokens} tokens > {window} maximum",
    sdk_types=("anthropic.types.message.Message", "anthropic.types.beta.beta_message.BetaMessage"),
)
