"""Mistral: whole tool calls, the usage in the last chunk, thoughts as content, refusals of its own.

Answers, streams, the 401 and the errors of the model as recorded (2025-09 to 2026-08). That the calls of one turn share a
chunk was said of the live API in 2026-07; the 422 and the refusals of an order of messages are as users reported them
(2025-09 to 2026-06); other errors have Mistral's form, and what they say is made up.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import CREATED, Delta, Exchange, Ids, Spelling
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat, thinks
from fake_llm._errors import ScriptError
from fake_llm._failures import Errors, Said, Usual, spent
from fake_llm._model import HeaderItems, Request
from fake_llm._turns import Error, Refusal, Thinking

__all__ = [
    "MISTRAL",
    "MISTRAL_AGENTS",
    "MISTRAL_EMBEDDINGS",
    "MISTRAL_FIM",
    "MISTRAL_KEPT",
    "MISTRAL_MODERATION",
    "check_embeddings",
    "check_moderation",
    "mistral_pad",
    "new_id",
]


def new_id(ids: Ids) -> str:
    """32 hexadecimal digits."""
    return ids.hex(32)


def _tool_id(ids: Ids, number: int) -> str:
    return ids.alnum(9)


# --- answers ------------------------------------------------------------------------------------


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "total_tokens": usage.total,
        "completion_tokens": usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "service_tier": "standard",  # since 2026-08
    }


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    content = _blocks(exchange, index) if thinks(exchange, index) else message.get("content") or ""
    said = {**message, "tool_calls": _spaced(exchange, index, calls) if calls else None, "content": content}
    said.pop("reasoning_content", None)
    return said


def _blocks(exchange: Exchange, index: int) -> list[dict[str, Any]]:
    """Thoughts and text in their order."""
    blocks: list[dict[str, Any]] = []
    for part in exchange.choices[index].parts:
        if isinstance(part, Thinking) and not part.redacted:
            signature = {} if part.signature is None else {"signature": part.signature}
            blocks.append({"type": "thinking", "thinking": [_text(part.text)], "closed": True, **signature})
        elif isinstance(part, (str, Refusal)):
            text = part if isinstance(part, str) else part.text
            if blocks and blocks[-1]["type"] == "text":
                blocks[-1]["text"] += text
            else:
                blocks.append(_text(text))
    return blocks


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _spaced(exchange: Exchange, index: int, calls: Iterable[Any]) -> list[dict[str, Any]]:
    """The calls with arguments as Python writes JSON: `{"city": "Paris"}`; a text stays as it was scripted."""
    scripted = exchange.choices[index].tool_calls
    written: list[dict[str, Any]] = []
    for number, call in enumerate(calls):
        given = scripted[call.get("index", number)].arguments
        if isinstance(given, Mapping) and "function" in call:
            text = json.dumps(given, ensure_ascii=False)
            call = {**call, "function": {**call["function"], "arguments": text}}
        written.append(call)
    return written


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    said = dict(delta)
    thought = said.pop("reasoning_content", None)
    if "role" in said:
        said["content"] = said.get("content") or ""
    elif thought is not None:
        said["content"] = [{"type": "thinking", "thinking": [_text(thought)], "closed": True}]
    elif said.get("tool_calls"):
        said["tool_calls"] = _spaced(exchange, index, said["tool_calls"])
    return said


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    """Log probabilities by the types of the SDK (3.7): of text only, each with the number of its token."""
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, Mapping):
        return choice
    return {**choice, "logprobs": {"content": [_entry(item) for item in logprobs.get("content") or ()]}}


def _entry(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    entry = {"token_id": zlib.crc32(str(item.get("token")).encode("utf-8", "surrogatepass")) % 2**17, **item}
    if isinstance(item.get("top_logprobs"), (list, tuple)):
        entry["top_logprobs"] = [_entry(other) for other in item["top_logprobs"]]
    return entry


def _chunks(exchange: Exchange, content: list[dict[str, Any]], closing: list[dict[str, Any]]) -> None:
    content[:] = _shared(content)
    begun: set[int] = set()
    for chunk in content:
        (choice,) = chunk["choices"]
        said = choice["delta"].get("content")
        if isinstance(said, list) and choice["index"] not in begun:
            begun.add(choice["index"])
            del said[0]["closed"]  # only the first piece is without it (recorded 2026-08)
    _sign(exchange, content)
    ends = [choice for chunk in closing for choice in chunk["choices"] if choice.get("delta") == {}]
    if len(ends) == 1 and not exchange.cut and content and isinstance(content[-1], Delta):
        (last,) = content.pop()["choices"]
        ends[0] |= {**last, "finish_reason": ends[0]["finish_reason"]}
        closing[0] = Delta(closing[0])
    else:
        for end in ends:
            end["delta"] = {"content": ""}


def _sign(exchange: Exchange, content: Iterable[dict[str, Any]]) -> None:
    """The signature of a thought on its last piece, as a whole answer has it (mistralai 3.7; none was recorded)."""
    signatures = [
        signature
        for choice in exchange.choices
        for number, part in enumerate(choice.parts)
        if isinstance(part, Thinking) and not part.redacted and (pieces := choice.pieces(number))
        for signature in [None] * (len(pieces) - 1) + [part.signature]
    ]
    if any(signatures):
        said = [choice for chunk in content for choice in chunk["choices"]]
        said.sort(key=lambda choice: choice["index"])
        thoughts = (choice["delta"]["content"] for choice in said if isinstance(choice["delta"].get("content"), list))
        for (thought,), signature in zip(thoughts, signatures, strict=True):
            thought |= {} if signature is None else {"signature": signature}


def _shared(chunks: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The chunks with calls that follow each other in one of them."""
    waiting: dict[str, Any] | None = None
    for chunk in chunks:
        (choice,) = chunk["choices"]
        calls = choice["delta"].get("tool_calls")
        if waiting is not None:
            first = waiting["choices"][0]
            if calls and first["index"] == choice["index"]:
                first["delta"]["tool_calls"] += calls
                continue
            yield waiting
            waiting = None
        if calls:
            waiting = chunk
        else:
            yield chunk
    if waiting is not None:
        yield waiting


_PAD: Final = b"abcdefghijklmnopqrstuvwxyz0123456789"


def mistral_pad(payload: Any, data: bytes) -> bytes:
    """A last key `p` in every chunk but the first: so much of the alphabet and the digits (recorded since 2026-06)."""
    if not isinstance(payload, dict) or "choices" not in payload:
        return data
    if any("role" in choice.get("delta", ()) for choice in payload["choices"]):
        return data
    count = hashlib.blake2b(data, digest_size=1).digest()[0] % len(_PAD) + 1
    return b'%b,"p":"%b"}' % (data[:-1], _PAD[:count])


# --- headers and errors -------------------------------------------------------------------------


def _uuid7(taken: bytes) -> str:
    text, time = taken.hex(), f"{CREATED * 1000:012x}"
    return f"{time[:8]}-{time[8:]}-7{text[:3]}-a{text[3:6]}-{text[6:]}"


_UUID7: Final = Spelling(_uuid7, lambda count: 9)


def _correlation(ids: Ids) -> str:
    """A UUID of version 7: the time in front."""
    return ids.spelt(_UUID7, 36)


_COMMON: Final = (
    ("access-control-allow-origin", "*"),
    ("x-kong-upstream-latency", "350"),
    ("x-kong-proxy-latency", "14"),
    ("cf-cache-status", "DYNAMIC"),
    ("x-content-type-options", "nosniff"),
    ("strict-transport-security", "max-age=15552000; includeSubDomains; preload"),
    ("server", "cloudflare"),
    ("alt-svc", 'h3=":443"; ma=86400'),
)
_LIMITS: Final = (
    ("x-ratelimit-limit-tokens-minute", "250000"),
    ("x-ratelimit-remaining-tokens-minute", "249900"),
    ("x-ratelimit-tokens-query-cost", "100"),
    ("x-ratelimit-limit-req-minute", "100"),
    ("x-ratelimit-remaining-req-minute", "99"),
)


def _headers(exchange: Exchange) -> HeaderItems:
    limits = () if exchange.stream else _LIMITS
    return (*_correlated(exchange), ("x-envoy-upstream-service-time", "349"), *limits, *_COMMON)


def _correlated(exchange: Exchange) -> HeaderItems:
    id_ = _correlation(exchange.ids)
    return ("mistral-correlation-id", id_), ("x-kong-request-id", id_)


def _error_headers(said: Said) -> HeaderItems:
    limits = spent(_LIMITS, remaining_req_minute="0") if said.name == "rate_limit" else ()
    return (*_correlated(said.exchange), *limits, *_COMMON)


_GATEWAY: Final = "gateway"
"""The type of errors that the gateway in front says, in a form of its own."""


def _body(said: Said) -> dict[str, Any]:
    if said.status == 401:
        return {"detail": said.message}
    if said.status == 422:
        return {"detail": [{"type": "value_error", "loc": ["body"], "msg": said.message, "input": None}]}
    if said.type == _GATEWAY:
        return {"message": said.message}
    return _said(said.status, said.message, said.type, said.code)


def _said(status: int, message: str, kind: str, code: str | None) -> dict[str, Any]:
    said = {"object": "error", "message": message, "type": kind, "param": None, "code": code}
    return {**said, "raw_status_code": status}


_INVALID: Final = "invalid_request_error"
_ERRORS: Final = Errors(
    body=_body,
    headers=_error_headers,
    usual={
        "bad_request": Usual(400, _INVALID, "Bad Request"),
        "authentication": Usual(401, "", "Invalid API Key"),
        "permission": Usual(403, "forbidden", "This key has no access to the requested resource."),
        "not_found": Usual(400, "invalid_model", "Invalid model: {model}", "1500"),
        "request_too_large": Usual(413, _GATEWAY, "Request size limit exceeded"),
        "context_length": Usual(
            400,
            _INVALID,
            "Prompt contains 131073 tokens, too large for model with 131072 maximum context length",
            "3051",
        ),
        "content_filter": Usual(403, _INVALID, "The request was refused by a guardrail."),
        "rate_limit": Usual(429, "rate_limited", "Rate limit exceeded", "1300"),
        "quota": Usual(429, "rate_limited", "You have reached the limit of your plan."),
        "server_error": Usual(500, "internal_server_error", "Internal server error"),
        "unavailable": Usual(503, "internal_server_error", "Service unavailable."),
        "overloaded": Usual(
            503, "service_tier_capacity_exceeded", "Service tier capacity exceeded for this model.", "3505"
        ),
        "timeout": Usual(504, _GATEWAY, "The upstream server is timing out"),
    },
)


# --- refusals -----------------------------------------------------------------------------------


def _refused(*details: dict[str, Any]) -> Error | None:
    """The 422 with all that is wrong; `None` for nothing."""
    if not details:
        return None
    text = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in details)
    try:
        return Error(422, text, body={"detail": list(details)})
    except ScriptError:  # what was sent can't be sent back
        return Error(422, text, body={"detail": [{**item, "input": None} for item in details]})


def _wrong(kind: str, where: tuple[Any, ...], message: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "loc": ["body", *where], "msg": message, "input": value}


def _missing(where: tuple[Any, ...], inside: Any) -> dict[str, Any]:
    return _wrong("missing", where, "Field required", inside)


def _forbidden(where: tuple[Any, ...], value: Any) -> dict[str, Any]:
    return _wrong("extra_forbidden", where, "Extra inputs are not permitted", value)


_KINDS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "string_type": (lambda value: isinstance(value, str), "Input should be a valid string"),
    "bool_type": (lambda value: isinstance(value, bool), "Input should be a valid boolean"),
    "list_type": (lambda value: isinstance(value, list), "Input should be a valid list"),
    "dict_type": (lambda value: isinstance(value, dict), "Input should be a valid dictionary"),
    "int_type": (
        lambda value: (
            (isinstance(value, int) and not isinstance(value, bool))
            or (isinstance(value, float) and value.is_integer())
        ),
        "Input should be a valid integer",
    ),
    "float_type": (
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
        "Input should be a valid number",
    ),
}
_FIELDS: Final[Mapping[str, str]] = {
    "model": "string_type",
    "agent_id": "string_type",
    "prompt": "string_type",
    "suffix": "string_type",
    "temperature": "float_type",
    "top_p": "float_type",
    "presence_penalty": "float_type",
    "frequency_penalty": "float_type",
    "max_tokens": "int_type",
    "min_tokens": "int_type",
    "random_seed": "int_type",
    "n": "int_type",
    "output_dimension": "int_type",
    "stream": "bool_type",
    "safe_prompt": "bool_type",
    "parallel_tool_calls": "bool_type",
    "messages": "list_type",
    "tools": "list_type",
    "metadata": "dict_type",
    "response_format": "dict_type",
    "prediction": "dict_type",
}
_FORBIDDEN: Final = ("max_completion_tokens", "store")
"""What clients of OpenAI send and Mistral was seen to refuse (2025-12 to 2026-04); of other unknown keys nobody told."""


def _fields(request: Request, body: Any, *required: str) -> list[dict[str, Any]]:
    """What is wrong with the fields of a body by themselves."""
    if body is None:
        return [_no_json(request.body)]
    if not isinstance(body, dict):
        return [_wrong("model_attributes_type", (), "Input should be a valid dictionary or object", body)]
    wrong = [_missing((name,), body) for name in required if name not in body]
    for name, value in body.items():
        kind = _FIELDS.get(name)
        if kind is not None and (value is not None or name in required):
            fits, message = _KINDS[kind]
            if not fits(value):
                wrong.append(_wrong(kind, (name,), message, value))
            elif name in _BOUNDS and value is not None:
                wrong += _out_of_bounds(name, value)
        elif name in _FORBIDDEN:
            wrong.append(_forbidden((name,), value))
    stop = body.get("stop")
    if stop is not None and not isinstance(stop, (str, list)):
        wrong.append(_wrong("string_type", ("stop",), "Input should be a valid string", stop))
    return wrong


_BOUNDS: Final = {"n": 128, "output_dimension": 3072}
"""From 1 to these: the sizes of codestral-embed as its documentation says them, and OpenAI's number of answers (2026-11)."""


def _out_of_bounds(name: str, value: int) -> Iterator[dict[str, Any]]:
    most = _BOUNDS[name]
    if value < 1:
        yield _wrong("greater_than_equal", (name,), "Input should be greater than or equal to 1", value)
    elif value > most:
        yield _wrong("less_than_equal", (name,), f"Input should be less than or equal to {most}", value)


def _no_json(raw: bytes) -> dict[str, Any]:
    at, why = 0, "Expecting value"
    try:
        json.loads(raw.decode())
    except json.JSONDecodeError as error:
        at, why = error.pos, error.msg
    except ValueError:
        pass
    return {"type": "json_invalid", "loc": ["body", at], "msg": "JSON decode error", "input": {}, "ctx": {"error": why}}


_ROLES: Final = ("system", "user", "assistant", "tool")


def _messages(messages: Any) -> Iterator[dict[str, Any]]:
    for index, item in enumerate(messages if isinstance(messages, list) else ()):
        where = ("messages", index)
        if not isinstance(item, dict):
            yield _wrong("model_attributes_type", where, "Input should be a valid dictionary or object", item)
            continue
        role = item.get("role")
        if role is None:
            yield _wrong("union_tag_not_found", where, "Unable to extract tag using discriminator 'role'", item)
        elif role not in _ROLES:
            tags = ", ".join(f"'{tag}'" for tag in _ROLES)
            said = f"Input tag '{role}' found using 'role' does not match any of the expected tags: {tags}"
            yield _wrong("union_tag_invalid", where, said, item)
        else:
            yield from _message_fields((*where, role), item)


def _message_fields(where: tuple[Any, ...], item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    content, calls = item.get("content"), item.get("tool_calls")
    if content is not None and not isinstance(content, (str, list)):
        yield _wrong("string_type", (*where, "content"), "Input should be a valid string", content)
    if calls is not None and not isinstance(calls, list):
        yield _wrong("list_type", (*where, "tool_calls"), "Input should be a valid list", calls)
    if "reasoning_content" in item:
        yield _forbidden((*where, "reasoning_content"), item["reasoning_content"])


def _check_conversation(request: Request, body: Any, named: str) -> Error | None:
    wrong = _fields(request, body, named, "messages")
    if not wrong:
        wrong = list(_messages(body["messages"]))
    if not wrong and not body["messages"]:
        return Error(400, "Conversation must have at least one message")
    return _refused(*wrong)


def _check(request: Request, body: Any) -> Error | None:
    return _check_conversation(request, body, "model")


def _check_agents(request: Request, body: Any) -> Error | None:
    return _check_conversation(request, body, "agent_id")


def _check_fim(request: Request, body: Any) -> Error | None:
    return _refused(*_fields(request, body, "model", "prompt"))


def check_embeddings(request: Request, body: Any) -> Error | None:
    """The refusal of a request for embeddings."""
    wrong = _fields(request, body, "model", "input")
    given = body.get("input") if isinstance(body, dict) else None
    if not wrong and not isinstance(given, str) and not _is_texts(given):
        wrong = [_wrong("string_type", ("input", "str"), "Input should be a valid string", given)]
    return _refused(*wrong)


def check_moderation(request: Request, body: Any) -> Error | None:
    """The refusal of a request for moderation: of texts, or of a conversation or several."""
    if not request.path.endswith("/chat/moderations"):
        return check_embeddings(request, body)
    wrong = _fields(request, body, "model", "input")
    if wrong:
        return _refused(*wrong)
    given = body["input"]
    if not isinstance(given, list) or not given:
        return _refused(_wrong("list_type", ("input",), "Input should be a valid list", given))
    conversations = given if isinstance(given[0], list) else [given]
    return _refused(*(detail for messages in conversations for detail in _messages(messages)))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


MISTRAL: Final[Difference] = replace(
    chat(
        keys="id created model usage object choices",
        chunk_keys="id object created model choices usage",
        choice_keys="index delta finish_reason message",
        message_keys="role tool_calls content function_call",
        delta_keys="role content tool_calls function_call",
        call_keys="id type function custom index",
        id=new_id,
        tool_id=_tool_id,
        blank="empty",
        whole_calls=True,
        usage=_usage,
        usage_in="finish",
        uncounted=True,
        message=_message,
        delta=_delta,
        choice=_choice,
        chunks=_chunks,
        headers=_headers,
        errors=_ERRORS,
    ),
    check=_check,
    too_long="Prompt contains {tokens} tokens, too large for model with {window} maximum context length",
)
MISTRAL_FIM: Final = replace(MISTRAL, check=_check_fim)
MISTRAL_AGENTS: Final = replace(MISTRAL, check=_check_agents)
MISTRAL_EMBEDDINGS: Final = Difference(headers=MISTRAL.headers, failure=MISTRAL.failure, check=check_embeddings)
MISTRAL_KEPT: Final = Difference(headers=MISTRAL.headers, failure=MISTRAL.failure)
"""Of what is kept: errors and headers alone."""
MISTRAL_MODERATION: Final = replace(MISTRAL_KEPT, check=check_moderation)
