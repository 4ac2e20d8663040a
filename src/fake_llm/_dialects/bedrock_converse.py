"""Amazon Bedrock `POST /model/{id}/converse` and `converse-stream`: one vocabulary for the models of every maker.

The forms are those of recordings of 2024-2026 and of botocore's service model (1.44, 2026-11): keys sorted by the
framing, no start of a block of text, the error's type in a header. What no recording shows is written as botocore's
model and AWS's user guides have it (2026-11): images, tools that Bedrock runs itself, citations in a stream.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from fake_llm import _json
from fake_llm._dialect import (
    Delta,
    Dialect,
    Exchange,
    Ids,
    ReadyPart,
    WireEvent,
    dicts,
    json_kind,
    media,
    merge,
    message,
    parsed_arguments,
    reach,
    string,
)
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._failures import Errors, Said, Usual, waits
from fake_llm._model import (
    AUTO,
    Event,
    HeaderItems,
    Message,
    Request,
    Role,
    SentToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    View,
)
from fake_llm._turns import Citation, Error, Image, Reply, ServerTool, Thinking, ToolCall

__all__ = ["DIALECT", "SERVER_TOOL", "pad"]

# --- bytes ---------------------------------------------------------------------------------------

_PADDING: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def pad(payload: Any, data: bytes) -> bytes:
    """The event with a key `p` of 1 to 62 characters, as the vendor hides lengths."""
    if not isinstance(payload, dict):
        return data
    return _json.sorted_keys({**payload, "p": _PADDING[: binascii.crc32(data) % len(_PADDING) + 1]})


# --- request to view -----------------------------------------------------------------------------

_MEDIA: Final = {"image": "[image]", "video": "[video]", "audio": "[audio]", "document": "[file]"}
_SETTINGS: Final = {
    "maxTokens": "max_tokens",
    "max_new_tokens": "max_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "stopSequences": "stop",
}
SERVER_TOOL: Final = "server_tool_use"
_NOT_PARAMS: Final = frozenset({"messages", "system", "toolConfig", "inferenceConfig", "outputConfig"})


def read(request: Request, body: Any) -> View:
    """The view of a request; see `Dialect.read`."""
    if not isinstance(body, dict):
        return View()
    messages: list[Message] = []
    for item in dicts(body.get("messages")):
        messages += [_assistant(item)] if item.get("role") == "assistant" else _user(item)
    return View(
        tuple(messages),
        "\n".join(_texts(dicts(body.get("system")))),
        _tools(body.get("toolConfig")),
        _tool_choice(body.get("toolConfig")),
        _schema(body.get("outputConfig")),
        _params(body),
        server_tools=_server_tools(body.get("toolConfig")),
    )


def _texts(blocks: Iterable[Mapping[str, Any]]) -> list[str]:
    return [text for block in blocks if (text := _text(block)) is not None]


def _text(block: Mapping[str, Any]) -> str | None:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    guarded = reach(block, "guardContent", "text", "text")
    if isinstance(guarded, str):
        return guarded
    if "json" in block:
        return _json.text(block["json"])
    for kind in ("citationsContent", "searchResult"):
        if kind in block:
            return "\n".join(_texts(dicts(reach(block, kind, "content"))))
    return next((media(shown) for kind, shown in _MEDIA.items() if kind in block), None)


def _assistant(item: Mapping[str, Any]) -> Message:
    texts: list[str] = []
    calls: list[SentToolCall] = []
    thoughts: list[str] = []
    for block in dicts(item.get("content")):
        if "toolUse" in block:
            call = block["toolUse"] if isinstance(block["toolUse"], dict) else {}
            if call.get("type") == SERVER_TOOL:
                continue  # Bedrock ran it: nobody has to answer it
            calls.append(SentToolCall(string(call.get("name")), call.get("input"), call.get("toolUseId")))
        elif "reasoningContent" in block:
            thoughts += [text for text in (reach(block, "reasoningContent", "reasoningText", "text"),) if text]
        elif (text := _text(block)) is not None:
            texts.append(text)
    return message("assistant", texts, calls, thinking="\n".join(thoughts))


def _user(item: Mapping[str, Any]) -> list[Message]:
    """One `tool` message for each result, then the rest, if there is any."""
    results: list[Message] = []
    rest: list[Mapping[str, Any]] = []
    for block in dicts(item.get("content")):
        given = block.get("toolResult")
        if not isinstance(given, dict):
            rest.append(block)
            continue
        texts = _texts(dicts(given.get("content")))
        result = ToolResult(given.get("toolUseId"), "", "\n".join(texts), given.get("status") == "error")
        results.append(message("tool", texts, tool_results=(result,)))
    role: Role = "system" if item.get("role") == "system" else "user"
    return [*results, message(role, _texts(rest))] if rest or not results else results


def _tools(config: Any) -> dict[str, ToolSpec]:
    tools: dict[str, ToolSpec] = {}
    for tool in dicts(reach(config, "tools")):
        spec = tool.get("toolSpec")
        name = reach(spec, "name")
        if isinstance(spec, dict) and isinstance(name, str):
            schema = reach(spec, "inputSchema", "json")
            tools[name] = ToolSpec(
                name,
                schema if isinstance(schema, dict) else {},
                string(spec.get("description")),
                spec.get("strict") is True,
            )
    return tools


def _server_tools(config: Any) -> frozenset[str]:
    """The tools of Bedrock's own, by their names there and by those of a `ServerTool`."""
    found = {string(reach(tool, "systemTool", "name")) for tool in dicts(reach(config, "tools"))} - {""}
    return frozenset(found | {_NEUTRAL_TOOLS.get(name, name) for name in found})


def _tool_choice(config: Any) -> ToolChoice:
    choice = reach(config, "toolChoice")
    if not isinstance(choice, dict):
        return AUTO
    if "any" in choice:
        return ToolChoice("any", None)
    named = reach(choice, "tool", "name")
    return ToolChoice("tool", named) if isinstance(named, str) else AUTO


def _schema(config: Any) -> Mapping[str, Any] | None:
    """The schema of structured output, which travels as a text (2026)."""
    given = reach(config, "textFormat", "structure", "jsonSchema", "schema")
    if given is None:
        return None
    schema = parsed_arguments(given)
    return schema if isinstance(schema, dict) else {}


def _params(body: Mapping[str, Any]) -> dict[str, Any]:
    params = {key: value for key, value in body.items() if key not in _NOT_PARAMS}
    settings = body.get("inferenceConfig")
    if isinstance(settings, dict):
        params |= {_SETTINGS.get(str(key), str(key)): value for key, value in settings.items()}
    return params


def stream(request: Request, body: Any) -> bool:
    """Whether the path asks for a stream."""
    return request.path.endswith("-stream")


def model(request: Request, body: Any) -> str:
    """The model that the path names: the last part of an ARN, or the id."""
    return _named(request).rpartition("/")[2]


def _named(request: Request) -> str:
    """What stands in the path for the model: an id, or a whole ARN, whose slashes some clients leave as they are."""
    return _named_in(request.path)


@lru_cache(maxsize=256)
def _named_in(path: str) -> str:
    after = path.partition("/model/")[2]
    return unquote(after.rpartition("/")[0]) if after else ""


# --- refusals of malformed requests --------------------------------------------------------------

_MALFORMED: Final = "1 validation error detected: Value at '{where}' failed to satisfy constraint: {what}"
_ROLES: Final = frozenset({"user", "assistant", "system"})


def _split(*rows: tuple[str, Any, str]) -> tuple[tuple[tuple[str, ...], str, Any, str], ...]:
    """Rows of a dotted place, a type and its name, with the place in its parts too."""
    return tuple((tuple(where.split(".")), where, kind, what) for where, kind, what in rows)


def check(request: Request, body: Any) -> Error | None:
    """What the vendor says to a body of the wrong types, or to a conversation that can't be.

    The words on types are known from AWS's documentation only, those on conversations from reports of its users.
    """
    if not isinstance(body, dict):
        return Error(400, f"The format of your request is invalid: expected an object, found {json_kind(body)}")
    for path, where, kind, what in _TYPES:
        if path[0] not in body:
            continue
        value = reach(body, *path)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            return Error(400, _MALFORMED.format(where=where, what=f"Member must be {what}"))
    wrong = _wrong_lists(body)
    for index, item in enumerate(body.get("messages") or ()):
        wrong = wrong or _wrong_message(f"messages.{index + 1}.member", item)
    wrong = wrong or _wrong_tools(reach(body, "toolConfig", "tools") or ())
    return None if wrong is None else Error(400, wrong)


_TYPES: Final = _split(
    ("messages", list, "a list"),
    ("system", list, "a list"),
    ("inferenceConfig", dict, "an object"),
    ("inferenceConfig.maxTokens", int, "an integer"),
    ("inferenceConfig.temperature", (int, float), "a number"),
    ("inferenceConfig.topP", (int, float), "a number"),
    ("inferenceConfig.stopSequences", list, "a list"),
    ("toolConfig", dict, "an object"),
    ("toolConfig.tools", list, "a list"),
    ("toolConfig.toolChoice", dict, "an object"),
    ("guardrailConfig", dict, "an object"),
    ("performanceConfig", dict, "an object"),
    ("serviceTier", dict, "an object"),
    ("additionalModelResponseFieldPaths", list, "a list"),
    ("outputConfig", dict, "an object"),
)
_LISTS: Final = _split(
    ("system", dict, "objects"),
    ("inferenceConfig.stopSequences", str, "strings"),
    ("toolConfig.tools", dict, "objects"),
    ("additionalModelResponseFieldPaths", str, "strings"),
)


def _wrong_lists(body: Mapping[str, Any]) -> str | None:
    for path, where, listed, what in _LISTS:
        if path[0] in body and any(not isinstance(item, listed) for item in reach(body, *path) or ()):
            return _MALFORMED.format(where=where, what=f"Member must be a list of {what}")
    for pointer in body.get("additionalModelResponseFieldPaths") or ():
        if not pointer.startswith("/"):
            return f"The provided JSON pointer {pointer!r} in additionalModelResponseFieldPaths is not valid."
    return None


def _wrong_tools(tools: Iterable[Mapping[str, Any]]) -> str | None:
    for index, tool in enumerate(tools):
        if "toolSpec" not in tool:
            continue
        where = f"toolConfig.tools.{index + 1}.member.toolSpec"
        if not isinstance(reach(tool, "toolSpec", "name"), str):
            return _MALFORMED.format(where=f"{where}.name", what="Member must not be null")
        if not isinstance(reach(tool, "toolSpec", "inputSchema", "json"), dict):
            return f"The value at {where.replace(f'.{index + 1}.member', f'.{index}')}.inputSchema.json.type must be one of the following: object."
    return None


def _wrong_message(where: str, item: Any) -> str | None:
    if not isinstance(item, dict):
        return _MALFORMED.format(where=where, what="Member must be an object")
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return _MALFORMED.format(
            where=f"{where}.role", what="Member must satisfy enum value set: [user, assistant, system]"
        )
    content = item.get("content")
    if not isinstance(content, list):
        what = "Member must not be null" if content is None else "Member must be a list"
        return _MALFORMED.format(where=f"{where}.content", what=what)
    for index, block in enumerate(content):
        if not isinstance(block, dict):
            return _MALFORMED.format(where=f"{where}.content", what="Member must be a list of objects")
        for path, name, wanted, what in _BLOCKS:
            if path[0] not in block:
                continue
            value = reach(block, *path)
            parent = reach(block, *path[:-1]) if len(path) > 1 else None
            if (value is None and parent is not None) or (value is not None and not isinstance(value, wanted)):
                wrong = "Member must not be null" if value is None else f"Member must be {what}"
                return _MALFORMED.format(where=f"{where}.content.{index + 1}.member.{name}", what=wrong)
    return None


_BLOCKS: Final = _split(
    ("text", str, "a string"),
    ("toolUse", dict, "an object"),
    ("toolUse.toolUseId", str, "a string"),
    ("toolUse.name", str, "a string"),
    ("toolResult", dict, "an object"),
    ("toolResult.toolUseId", str, "a string"),
    ("toolResult.content", list, "a list"),
    *(
        (f"{kind}{more}", dict, "an object")
        for kind in ("image", "video", "audio", "document")
        for more in ("", ".source")
    ),
    ("document.name", str, "a string"),
    *((f"{kind}.format", str, "a string") for kind in ("image", "video", "audio")),
)
"""What a block must have, and of which type, where it is there at all (botocore 1.44)."""


# --- turn to body and events ---------------------------------------------------------------------

_REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filtered",
    "refusal": "content_filtered",
    "stop_sequence": "stop_sequence",
    "pause": "end_turn",
    "malformed_tool_call": "malformed_tool_use",
}
_INTERVENED: Final = "guardrail_intervened"
_BLOCKED: Final = "Sorry, the model cannot answer this question."
"""What the console of guardrails puts in place of an answer, unless somebody writes another text (2026-11)."""
_LATENCY: Final = {"latencyMs": 500}


def document(exchange: Exchange) -> dict[str, Any]:
    """The whole answer."""
    blocks = [block for _, _, block in _blocks(exchange)]
    return exchange.extend(
        {
            "metrics": dict(_LATENCY),
            "output": {"message": {"content": blocks, "role": "assistant"}},
            "stopReason": _reason(exchange),
            "usage": _usage(exchange),
            **_fields(exchange),
            **_aside(exchange),
        }
    )


def _reason(exchange: Exchange) -> str:
    """The vendor's word; a filter is the guardrail that the request names."""
    reason = exchange.choice.finish_reason
    if reason == "content_filter" and reach(exchange.body, "guardrailConfig", "guardrailIdentifier"):
        return _INTERVENED
    return _REASONS.get(reason, reason)


def _is_claude(exchange: Exchange) -> bool:
    """Whether a model of Anthropic answers, as far as its name says: a profile of one's own tells nothing."""
    name = _named(exchange.request)
    return any(sign in name for sign in ("anthropic", "claude", "application-inference-profile"))


def _blocks(exchange: Exchange) -> Iterator[tuple[int, ReadyPart | None, dict[str, Any]]]:
    """The blocks of the answer, each with the part that it is of and that part's place; a result has none."""
    parts_ = exchange.choice.parts
    if not parts_ and _reason(exchange) == _INTERVENED:
        yield 0, None, {"text": _BLOCKED}
    further: set[int] = set()
    for index, part in enumerate(parts_):
        if index in further:
            continue
        if isinstance(part, ServerTool):
            yield from ((index, None, block) for block in _run(exchange, part))
        elif isinstance(part, Citation):
            block = _block(exchange, part)
            for place, more in enumerate(parts_[index + 1 :], index + 1):  # those without a text are of the text before
                if not isinstance(more, Citation) or more.text:
                    break
                further.add(place)
                block["citationsContent"]["citations"].append(
                    _citation(exchange, Citation(part.text, more.source, more.title))
                )
            yield index, part, block
        else:
            yield index, part, _block(exchange, part)


def _block(exchange: Exchange, part: ReadyPart) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        block: dict[str, Any] = {"input": _input(part), "name": part.name, "toolUseId": part.id}
        return {"toolUse": merge(block, part.extra) if part.extra else block}
    if isinstance(part, Thinking):
        return {"reasoningContent": _thought(exchange, part)}
    if isinstance(part, Image):
        return {"image": _image(part)}
    if isinstance(part, Citation):
        return {"citationsContent": {"citations": [_citation(exchange, part)], "content": [{"text": part.text}]}}
    return {"text": part}


def _thought(exchange: Exchange, part: Thinking) -> dict[str, Any]:
    """Reasoning; models of other makers than Anthropic don't sign it (recorded 2026)."""
    signature = part.signature
    if signature is None and (part.redacted or _is_claude(exchange)):
        signature = _signature(exchange.ids)
    if part.redacted:
        return {"redactedContent": _blob(signature or "")}
    signed = {} if signature is None else {"signature": signature}
    return {"reasoningText": {**signed, "text": part.text}}


def _input(call: ToolCall) -> Any:
    """The arguments parsed; those that aren't JSON as the text that they are."""
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    return parsed_arguments(call.arguments) if call.arguments else {}


def _signature(ids: Ids) -> str:
    return base64.b64encode(ids.take(300)).decode()


def _blob(signature: str) -> str:
    """Bytes travel as base64: a signature that is none is encoded."""
    try:
        base64.b64decode(signature, validate=True)
    except ValueError:
        return base64.b64encode(signature.encode()).decode()
    return signature


_FORMATS: Final = {"png": "png", "jpeg": "jpeg", "jpg": "jpeg", "gif": "gif", "webp": "webp"}


def _image(image: Image) -> dict[str, Any]:
    form = _FORMATS.get(image.media_type.rpartition("/")[2].lower())
    if form is None:
        raise ScriptMismatchError(
            sentence(
                f"The turn has an image of the type {image.media_type!r}.",
                "Bedrock Converse carries PNG, JPEG, GIF and WebP.",
                'Write Image(png_bytes, media_type="image/png").',
            )
        )
    if isinstance(image.data, bytes):
        return {"format": form, "source": {"bytes": image.base64}}
    if image.data.startswith("s3://"):
        return {"format": form, "source": {"s3Location": {"uri": image.data}}}
    raise ScriptMismatchError(
        sentence(
            f"The turn has an image by its URL: {image.data!r}.",
            "Bedrock Converse sends images as bytes, or names a place in S3.",
            'Write Image(png_bytes), or Image("s3://bucket/key.png").',
        )
    )


# --- citations -----------------------------------------------------------------------------------


def _citation(exchange: Exchange, part: Citation) -> dict[str, Any]:
    """Where a text comes from: a document or a search result that the request brought, else the web, else a bare name."""
    documents = [block["document"] for block in _sent(exchange.body, "document")]
    for index, given in enumerate(documents):
        if given.get("name") == part.source:
            location, quoted = _in_document(index, given, part.text)
            return {"location": location, "sourceContent": [{"text": quoted}], "title": part.title or part.source}
    title = {} if part.title is None else {"title": part.title}
    for index, given in enumerate(block["searchResult"] for block in _sent(exchange.body, "searchResult")):
        if given.get("source") == part.source:
            texts = _texts(dicts(given.get("content")))
            at = next((place for place, text in enumerate(texts) if part.text in text), 0)
            where = {"end": at + 1, "searchResultIndex": index, "start": at}
            return {
                "location": {"searchResultLocation": where},
                "source": part.source,
                "sourceContent": [{"text": texts[at] if texts else part.text}],
                "title": part.title or string(given.get("title")),
            }
    address = urlsplit(part.source)
    if address.scheme in ("http", "https"):
        web = {"domain": address.hostname or "", "url": part.source}
        return {"location": {"web": web}, "sourceContent": [{"text": part.text}], **title}
    return {"source": part.source, "sourceContent": [{"text": part.text}], **title}


def _sent(body: Any, kind: str) -> Iterator[Mapping[str, Any]]:
    """The blocks of one kind that the request brought, those in results of tools too, in order."""
    for item in dicts(reach(body, "messages")):
        for block in dicts(item.get("content")):
            for inner in (block, *dicts(reach(block, "toolResult", "content"))):
                if isinstance(inner.get(kind), dict):
                    yield inner


def _in_document(index: int, given: Mapping[str, Any], text: str) -> tuple[dict[str, Any], str]:
    """The place of a text in a document, and what is quoted: letters of a text, chunks, else pages."""
    whole = reach(given, "source", "text")
    if isinstance(whole, str):
        start = max(0, whole.find(text))
        end = start + len(text) if text in whole else len(whole)
        return {"documentChar": {"documentIndex": index, "end": end, "start": start}}, whole[start:end]
    if reach(given, "source", "content") is not None:
        chunks = _texts(dicts(reach(given, "source", "content")))
        at = next((place for place, chunk in enumerate(chunks) if text in chunk), 0)
        return {"documentChunk": {"documentIndex": index, "end": at + 1, "start": at}}, chunks[at] if chunks else text
    return {"documentPage": {"documentIndex": index, "end": 2, "start": 1}}, text


# --- tools that Bedrock runs ---------------------------------------------------------------------

_OWN_TOOLS: Final = {"web_search": "nova_grounding", "code_execution": "nova_code_interpreter"}
"""What Amazon calls them (its user guide of Nova 2, 2026-11); any other name is sent as it is."""
_NEUTRAL_TOOLS: Final = {own: neutral for neutral, own in _OWN_TOOLS.items()}


def _run(exchange: Exchange, part: ServerTool) -> Iterator[dict[str, Any]]:
    """The use of a tool and, if there is one, its result."""
    used = tool_id(exchange.ids) if part.id is None else part.id
    name = _OWN_TOOLS.get(part.name, part.name)
    yield {"toolUse": {"input": dict(part.arguments), "name": name, "toolUseId": used, "type": SERVER_TOOL}}
    if part.result is None and part.error is None:
        return
    content = [{"text": part.error}] if part.error is not None else [_result(part.result)]
    status = "success" if part.error is None else "error"
    yield {"toolResult": {"content": content, "status": status, "toolUseId": used, "type": f"{name}_result"}}


def _result(result: Any) -> dict[str, Any]:
    """What a tool gave: the output of code as Amazon's interpreter has it, a list of things found as an object."""
    if isinstance(result, str):
        return {"json": {"exitCode": 0, "isError": False, "stdErr": "", "stdOut": result}}
    if isinstance(result, Mapping) and result.keys() <= {"stdout", "stderr", "return_code"}:
        code = result.get("return_code", 0)
        out, wrong = result.get("stdout", ""), result.get("stderr", "")
        return {"json": {"exitCode": code, "isError": bool(code), "stdErr": wrong, "stdOut": out}}
    return {"json": dict(result) if isinstance(result, Mapping) else {"results": result}}


# --- beside the message --------------------------------------------------------------------------


def _usage(exchange: Exchange) -> dict[str, Any]:
    """The counts; those of a cache come twice under two names, and aren't part of the input.

    Models of Anthropic have them always (recorded 2025-2026).
    """
    usage = exchange.usage
    written = usage.cache_write_tokens
    counted: dict[str, Any] = {
        "inputTokens": max(0, usage.input_tokens - usage.cached_tokens - written),
        "outputTokens": usage.output_tokens,
        "serverToolUsage": {},
        "totalTokens": usage.total,
    }
    if usage.cached_tokens or written or _is_claude(exchange):
        for kind, count in (("Read", usage.cached_tokens), ("Write", written)):
            counted[f"cache{kind}InputTokenCount"] = counted[f"cache{kind}InputTokens"] = count
    if written and (lasting := _lasting(exchange.body)) is not None:
        counted["cacheDetails"] = [{"inputTokens": written, "ttl": lasting}]
    return merge(counted, usage.details) if usage.details else counted


def _lasting(body: Any) -> str | None:
    """How long what is written to the cache stays: the longest that the request asks for, `None` without a cache point."""
    found: list[Any] = []
    pending = [body.get(key) for key in ("messages", "system", "toolConfig")] if isinstance(body, dict) else []
    for value in pending:  # which grows meanwhile
        if isinstance(value, dict):
            if isinstance(value.get("cachePoint"), dict):
                found.append(value["cachePoint"].get("ttl"))
            pending += [value.get("content"), value.get("tools")]
        elif isinstance(value, list):
            pending += value
    return None if not found else "1h" if "1h" in found else "5m"


def _fields(exchange: Exchange) -> dict[str, Any]:
    """The fields of the model's own answer that the request asks for; one that isn't there is left out."""
    paths = reach(exchange.body, "additionalModelResponseFieldPaths")
    if not isinstance(paths, list):
        return {}
    own = _own_answer(exchange)
    found: dict[str, Any] = {}
    for path in paths:
        name = path.removeprefix("/") if isinstance(path, str) else ""
        if name in own:
            found[name] = own[name]
    return {"additionalModelResponseFields": found} if found else {}


def _own_answer(exchange: Exchange) -> dict[str, Any]:
    """What the model itself says beside the content."""
    reason = _reason(exchange)
    if not _is_claude(exchange):
        return {"stopReason": reason}
    stops = reach(exchange.body, "inferenceConfig", "stopSequences")
    met = stops[0] if reason == "stop_sequence" and isinstance(stops, list) and stops else None
    return {"role": "assistant", "stop_reason": reason, "stop_sequence": met, "type": "message"}


def _aside(exchange: Exchange) -> dict[str, Any]:
    """What repeats the request: its latency and tier, and the trace of its guardrail."""
    found: dict[str, Any] = {}
    body = exchange.body
    for name in ("performanceConfig", "serviceTier"):
        if isinstance(reach(body, name), dict):
            found[name] = body[name]
    trace = reach(body, "guardrailConfig", "trace")
    if isinstance(trace, str) and trace.startswith("enabled"):
        found["trace"] = {"guardrail": _guarded(exchange)}
    return found


def _guarded(exchange: Exchange) -> dict[str, Any]:
    """What the guardrail found: one filter of content, in the answer if there is one, else in the request."""
    name = string(reach(exchange.body, "guardrailConfig", "guardrailIdentifier")).rpartition("/")[2]
    intervened = _reason(exchange) == _INTERVENED
    asked = sum(len(item.text) for item in exchange.view.messages)
    answer = exchange.choice.text
    given = _assessed(asked, blocked=intervened and not answer)
    trace: dict[str, Any] = {
        "actionReason": "Guardrail blocked." if intervened else "No action.",
        "inputAssessment": {name: given},
    }
    if answer:
        trace["modelOutput"] = [answer]
        trace["outputAssessments"] = {name: [_assessed(len(answer), blocked=intervened)]}
    return trace


_UNITS: Final = (
    *("contentPolicyUnits", "contextualGroundingPolicyUnits", "sensitiveInformationPolicyFreeUnits"),
    *("sensitiveInformationPolicyUnits", "topicPolicyUnits", "wordPolicyUnits"),
)
_FILTER: Final = {
    "action": "BLOCKED",
    "confidence": "HIGH",
    "detected": True,
    "filterStrength": "HIGH",
    "type": "MISCONDUCT",
}


def _assessed(characters: int, *, blocked: bool) -> dict[str, Any]:
    metrics = {
        "guardrailCoverage": {"textCharacters": {"guarded": characters, "total": characters}},
        "guardrailProcessingLatency": 250,
        "usage": {unit: int(unit == "contentPolicyUnits") for unit in _UNITS},
    }
    found = {"contentPolicy": {"filters": [dict(_FILTER)]}} if blocked else {}
    return {**found, "invocationMetrics": metrics}


# --- events --------------------------------------------------------------------------------------


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The answer as events; only blocks of tools and of images have a start."""
    extra = dict(exchange.extra or {})
    content: list[WireEvent] = [Event("messageStart", {"role": "assistant"})]
    for number, (index, part, block) in enumerate(_blocks(exchange)):
        if (start := _start(block)) is not None:
            content.append(Event("contentBlockStart", {"contentBlockIndex": number, "start": start}))
        content += [
            Event("contentBlockDelta", Delta({"contentBlockIndex": number, "delta": delta}))
            for delta in _deltas(exchange, index, part, block)
        ]
        content.append(Event("contentBlockStop", {"contentBlockIndex": number}))
    stop = {"stopReason": _reason(exchange), **_fields(exchange)}
    for name in ("additionalModelResponseFields", "stopReason"):
        if name in extra:
            stop[name] = extra.pop(name)
    extra.pop("output", None)  # whole answers only
    metadata = merge({"metrics": dict(_LATENCY), "usage": _usage(exchange), **_aside(exchange)}, extra)
    return content, [Event("messageStop", stop), Event("metadata", metadata)]


_OF_STARTS: Final = {"toolUse": "input", "toolResult": "content", "image": "source"}


def _start(block: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is known of a block before its content."""
    for kind, later in _OF_STARTS.items():
        if kind in block:
            return {kind: {key: value for key, value in block[kind].items() if key != later}}
    return None


def _deltas(exchange: Exchange, index: int, part: ReadyPart | None, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pieces = [] if part is None else exchange.choice.pieces(index)
    if isinstance(part, ToolCall):
        yield from ({"toolUse": {"input": piece}} for piece in pieces or [""])
    elif "toolUse" in block:
        yield {"toolUse": {"input": _json.text(block["toolUse"]["input"])}}
    elif "toolResult" in block:
        yield {"toolResult": block["toolResult"]["content"]}
    elif "image" in block:
        yield {"image": {"source": block["image"]["source"]}}
    elif "reasoningContent" in block:
        thought = block["reasoningContent"]
        if "redactedContent" in thought:
            yield {"reasoningContent": thought}
            return
        yield from ({"reasoningContent": {"text": piece}} for piece in pieces)
        if "signature" in thought["reasoningText"]:
            yield {"reasoningContent": {"signature": thought["reasoningText"]["signature"]}}
    elif "citationsContent" in block:
        cited = [{"citation": citation} for citation in block["citationsContent"]["citations"]]
        first = _is_claude(exchange)  # whose own events have them before the text they are of
        yield from cited if first else ()
        yield from ({"text": piece} for piece in pieces)
        yield from () if first else cited
    else:
        yield from ({"text": piece} for piece in (pieces or [block["text"]]))


# --- errors --------------------------------------------------------------------------------------

_AT_THE_GATE: Final = frozenset({"UnrecognizedClientException"})
"""What is refused before the service is asked; another part of it says so (recorded 2026-08)."""
_IN_STREAMS: Final = {
    "ValidationException": "validationException",
    "ThrottlingException": "throttlingException",
    "InternalServerException": "internalServerException",
    "ServiceUnavailableException": "serviceUnavailableException",
}


def _request_id(exchange: Exchange) -> str:
    return exchange.ids.uuid()


def _error_body(said: Said) -> dict[str, Any]:
    """Its text alone: its type is in a header."""
    return {"message": said.message}


def _error_headers(said: Said) -> HeaderItems:
    place = "coral.service" if said.type in _AT_THE_GATE else "bedrock"
    named = f"{said.type}:http://internal.amazon.com/coral/com.amazon.{place}/"
    return (("x-amzn-RequestId", said.id), ("x-amzn-ErrorType", named))


def _error_event(said: Said) -> list[WireEvent]:
    """A frame that is an exception. What has none of its own is the model's."""
    if said.type in _IN_STREAMS:
        return [Event(_IN_STREAMS[said.type], {"message": said.message})]
    more = {"originalMessage": said.message, "originalStatusCode": said.status}
    return [Event("modelStreamErrorException", {"message": said.message, **more})]


def _wait_headers(seconds: float) -> HeaderItems:
    """What botocore reads too, in milliseconds (1.44)."""
    return (*waits(seconds), ("x-amz-retry-after", str(math.ceil(seconds * 1000))))


ERRORS: Final = Errors(
    body=_error_body,
    id=_request_id,
    headers=_error_headers,
    waits=_wait_headers,
    event=_error_event,
    usual={
        "bad_request": Usual(400, "ValidationException", "The provided request is not valid"),
        "authentication": Usual(
            403,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        "permission": Usual(
            403, "AccessDeniedException", "You don't have access to the model with the specified model ID."
        ),
        "not_found": Usual(
            404,
            "ResourceNotFoundException",
            "Could not resolve the foundation model from the model identifier.",
        ),
        "request_too_large": Usual(400, "ValidationException", "Input is too long for requested model."),
        "context_length": Usual(400, "ValidationException", "Input is too long for requested model."),
        "content_filter": Usual(400, "ValidationException", "The content was blocked by the content filter."),
        "rate_limit": Usual(429, "ThrottlingException", "Too many requests, please wait before trying again."),
        "quota": Usual(429, "ThrottlingException", "Too many tokens per day, please wait before trying again."),
        "server_error": Usual(500, "InternalServerException", "The server encountered an internal error."),
        "unavailable": Usual(503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
        "overloaded": Usual(
            503, "ServiceUnavailableException", "Too many connections, please wait before trying again."
        ),
        "timeout": Usual(
            408, "ModelTimeoutException", "Model has timed out in processing the request. Try your request again."
        ),
    },
    statuses={
        408: Usual(
            408, "ModelTimeoutException", "Model has timed out in processing the request. Try your request again."
        ),
        424: Usual(
            424, "ModelErrorException", "The model encountered an unexpected error while processing the request."
        ),
    },
)


def headers(exchange: Exchange) -> HeaderItems:
    """The id of the request, which is all that the vendor adds."""
    return (("x-amzn-RequestId", exchange.ids.uuid()),)


def tool_id(ids: Ids) -> str:
    """A new id for a tool call."""
    return "tooluse_" + ids.alnum(22)


# --- body to turn --------------------------------------------------------------------------------

_NEUTRAL: Final = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "content_filtered": "content_filter",
    "malformed_tool_use": "malformed_tool_call",
}
_KEPT: Final = ("additionalModelResponseFields", "trace", "performanceConfig", "serviceTier")


def parts(body: Mapping[str, Any]) -> Reply:
    """A whole answer read back into a turn."""
    blocks = list(dicts(reach(body, "output", "message", "content")))
    results = {block["toolResult"].get("toolUseId"): block["toolResult"] for block in blocks if "toolResult" in block}
    reason = body.get("stopReason")
    kept = {name: body[name] for name in _KEPT if name in body}
    return Reply(
        *(part for block in blocks if (part := _part(block, results)) is not None),
        usage=_counted(body.get("usage")),
        finish_reason=_NEUTRAL.get(reason, reason) if isinstance(reason, str) else None,
        extra=kept or None,
    )


def _part(block: Mapping[str, Any], results: Mapping[Any, Any]) -> ReadyPart | None:
    if "toolUse" in block:
        call = block["toolUse"]
        if call.get("type") == SERVER_TOOL:
            return _ran(call, results.get(call.get("toolUseId")))
        given = call.get("input")
        arguments = given if isinstance(given, (Mapping, str)) else _json.text(given)
        return ToolCall(string(call.get("name")) or "unnamed", arguments, call.get("toolUseId"))
    if "toolResult" in block:
        return None
    if "reasoningContent" in block:
        redacted = reach(block, "reasoningContent", "redactedContent")
        if redacted is not None:
            return Thinking("", redacted, redacted=True)
        thought = reach(block, "reasoningContent", "reasoningText")
        return Thinking(string(reach(thought, "text")), reach(thought, "signature"))
    if "image" in block:
        return _shown(block["image"])
    if "citationsContent" in block:
        return _cited(block["citationsContent"])
    return _text(block)


def _ran(call: Mapping[str, Any], given: Any) -> ServerTool:
    """A tool that Bedrock ran, with its result as it was sent."""
    name = string(call.get("name")) or "unnamed"
    name, input_ = _NEUTRAL_TOOLS.get(name, name), call.get("input")
    arguments = input_ if isinstance(input_, Mapping) else {}
    if not isinstance(given, Mapping):
        return ServerTool(name, arguments, None, call.get("toolUseId"))
    content = list(dicts(given.get("content")))
    if given.get("status") == "error":
        return ServerTool(name, arguments, None, call.get("toolUseId"), error="\n".join(_texts(content)))
    return ServerTool(name, arguments, content[0].get("json", {}) if content else {}, call.get("toolUseId"))


def _shown(image: Mapping[str, Any]) -> Image:
    source, kind = image.get("source"), f"image/{image.get('format') or 'png'}"
    data = reach(source, "bytes")
    if isinstance(data, str):
        data = base64.b64decode(data)
    return Image(data or string(reach(source, "s3Location", "uri")), kind)


def _cited(block: Mapping[str, Any]) -> Citation | str:
    """A text with the first of its sources; one without any is text."""
    text = "\n".join(_texts(dicts(block.get("content"))))
    for citation in dicts(block.get("citations")):
        title = citation.get("title")
        source = reach(citation, "location", "web", "url") or citation.get("source") or title
        if isinstance(source, str) and source:
            return Citation(text, source, title if isinstance(title, str) else None)
    return text


def _counted(usage: Any) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    fresh, out, cached, written = (
        value if isinstance(value := usage.get(key), int) else 0
        for key in ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    )
    return Usage(fresh + cached + written, out, cached, written)


DIALECT: Final = Dialect(
    name="bedrock_converse",
    label="Bedrock Converse",
    read=read,
    check=check,
    bad_json="The format of your request is invalid: the body is not valid JSON.",
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, ToolCall, Thinking, Image, Citation, ServerTool}),
    shaping=frozenset({"outputConfig"}),
    too_long="Input is too long for requested model: {tokens} tokens, at most {window}.",
)
