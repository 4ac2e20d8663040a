"""Amazon Bedrock's `invoke`: a model family's own vocabulary, with AWS's errors, headers and counts around it.

The forms are those of recordings of 2024-01 to 2026-04.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from fake_llm._dialect import Delta, Dialect, Exchange, Ids, WireEvent
from fake_llm._dialects import bedrock_converse, bedrock_invoke, cohere, openai_chat
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._failures import Said
from fake_llm._model import Event, HeaderItems, Request
from fake_llm._turns import Error

__all__ = [
    "BEDROCK_ANTHROPIC",
    "BEDROCK_CHAT",
    "BEDROCK_COMMAND",
    "BEDROCK_COMMAND_R",
    "BEDROCK_NOVA",
    "BEDROCK_RANKED",
    "BEDROCK_TEXT",
    "BEDROCK_VECTORS",
    "CHAT",
    "COMMAND",
    "COMMAND_R",
    "TEXTS",
    "invoke",
    "metrics",
    "on_bedrock",
]

_LATENCY: Final = 1024
_FIRST_BYTE: Final = 512


def metrics(exchange: Exchange, *, caches: bool = False) -> dict[str, int]:
    """What the last event of a stream has as `amazon-bedrock-invocationMetrics`.

    Args:
        exchange: What it is an answer to.
        caches: Whether the counts of a cache are there when they are none.
    """
    usage = exchange.usage
    counted = {
        "inputTokenCount": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "outputTokenCount": usage.output_tokens,
        "invocationLatency": _LATENCY,
        "firstByteLatency": _FIRST_BYTE,
    }
    if caches or usage.cached_tokens or usage.cache_write_tokens:
        counted |= {
            "cacheReadInputTokenCount": usage.cached_tokens,
            "cacheWriteInputTokenCount": usage.cache_write_tokens,
        }
    return counted


_ECHOED: Final = ("x-amzn-bedrock-performanceconfig-latency", "x-amzn-bedrock-service-tier")


def _headers(exchange: Exchange, *, caches: bool = False) -> HeaderItems:
    sent = exchange.request.headers
    own = (
        *bedrock_converse.headers(exchange),
        *((name, sent[name]) for name in _ECHOED if name in sent),
    )
    if exchange.stream:
        return (*own, ("x-amzn-bedrock-content-type", "application/json"))
    usage = exchange.usage
    counted = {
        "input": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "output": usage.output_tokens,
    }
    headers = [*own, ("x-amzn-bedrock-invocation-latency", str(_LATENCY))]
    headers += [(f"x-amzn-bedrock-{kind}-token-count", str(count)) for kind, count in counted.items()]
    if caches or usage.cached_tokens or usage.cache_write_tokens:
        for kind, count in (("read", usage.cached_tokens), ("write", usage.cache_write_tokens)):
            headers.append((f"x-amzn-bedrock-cache-{kind}-input-token-count", str(count)))
    return tuple(headers)


def invoke(
    *,
    document: Callable[[Exchange, dict[str, Any]], dict[str, Any]] | None = None,
    events: Callable[[Exchange, list[Any], list[Any]], tuple[list[Any], list[Any]]] | None = None,
    tool_id: Callable[[Ids, int], str | None] | None = None,
    caches: bool = False,
) -> Difference:
    """What `invoke` does around a vocabulary; its last event gets the metrics.

    Args:
        document: Alters a whole answer of the family.
        events: Alters its events, before the metrics are in the last one.
        tool_id: A new id for a tool call.
        caches: Whether the counts of a cache are there when they are none.
    """

    def guarded(exchange: Exchange, body: dict[str, Any]) -> dict[str, Any]:
        return (body if document is None else document(exchange, body)) | _guarded(exchange)

    def measured(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
        if events is not None:
            content, closing = events(exchange, content, closing)
        measure = {"amazon-bedrock-invocationMetrics": metrics(exchange, caches=caches)}
        guard = _guarded(exchange)
        if guard:
            content = [_with(event, guard) for event in content]
            closing = [_with(event, guard) for event in closing]
        return content, [*closing[:-1], *(_with(event, measure) for event in closing[-1:])]

    return Difference(
        document=guarded,
        events=measured,
        headers=partial(_headers, caches=caches),
        failure=bedrock_converse.ERRORS.failure,
        failure_events=_ERRORS.failure_events,
        tool_id=tool_id,
    )


def _with(event: Any, more: Mapping[str, Any]) -> Any:
    """An event with more in it; what isn't the family's own stays as it is."""
    if not isinstance(event, dict):
        return event
    return Delta({**event, **more}) if isinstance(event, Delta) else {**event, **more}


def _guarded(exchange: Exchange) -> dict[str, Any]:
    """What a guardrail did, which a header of the request names."""
    if "x-amzn-bedrock-guardrailidentifier" not in exchange.request.headers:
        return {}
    intervened = bool(exchange.choices) and exchange.choice.finish_reason == "content_filter"
    return {"amazon-bedrock-guardrailAction": "INTERVENED" if intervened else "NONE"}


def _error_event(said: Said) -> list[WireEvent]:
    """As in Converse, with an exception of its own for time-outs (botocore 1.44)."""
    if said.type == "ModelTimeoutException":
        return [Event("modelTimeoutException", {"message": said.message})]
    assert bedrock_converse.ERRORS.event is not None
    return bedrock_converse.ERRORS.event(said)


_ERRORS: Final = replace(bedrock_converse.ERRORS, event=_error_event)


def on_bedrock(dialect: Dialect, *, streams: bool = True) -> Dialect:
    """A vocabulary whose model and stream are named by the path, as `invoke` does.

    Args:
        dialect: The vocabulary.
        streams: Whether it is ever streamed.
    """

    def check(request: Request, body: Any) -> Error | None:
        named = {"model": bedrock_converse.model(request, body), **body} if isinstance(body, dict) else body
        return dialect.check(request, named)

    return replace(
        dialect,
        check=check,
        bad_json=bedrock_converse.DIALECT.bad_json,
        model=bedrock_converse.model,
        stream=bedrock_converse.stream if streams else dialect.stream,
    )


# --- Anthropic's models ----------------------------------------------------------------------------


def _named(exchange: Exchange, message: dict[str, Any]) -> dict[str, Any]:
    """`us.anthropic.claude-sonnet-4-5-20250929-v1:0` calls itself `claude-sonnet-4-5-20250929`.

    It has `stop_details` where they say something (none in recordings of 2025-01 to 2026-04).
    """
    _said(message)
    if message.get("model") == exchange.asked.dialect.model(exchange.request, exchange.body):
        message["model"] = _own_name(message["model"])
    return message


def _own_name(model: str) -> str:
    name = model.rpartition("anthropic.")[2].partition(":")[0]
    stem, dash, version = name.rpartition("-v")
    return stem if dash and version.isdecimal() and stem.rpartition("-")[2].isdecimal() else name


def _started(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    first = content[0]
    for event in closing:
        if isinstance(event, dict) and isinstance(event.get("delta"), dict):
            _said(event["delta"])
    return [{**first, "message": _named(exchange, first["message"])}, *content[1:]], closing


def _said(end: dict[str, Any]) -> None:
    if end.get("stop_details", 0) is None:
        del end["stop_details"]


def _tool_id(ids: Ids, index: int) -> str:
    return "toolu_bdrk_01" + ids.alnum(22)


BEDROCK_ANTHROPIC: Final = invoke(document=_named, events=_started, tool_id=_tool_id)
"""Claude by `invoke`: its own name for the model, ids of its own."""


# --- Amazon's Nova ---------------------------------------------------------------------------------


def _nova(exchange: Exchange, body: dict[str, Any]) -> dict[str, Any]:
    """Converse's answer without what Converse adds."""
    plain = {name: value for name, value in body.items() if name != "metrics"}
    return {**plain, "usage": _nova_usage(exchange, body["usage"], total=True)}


def _nova_usage(exchange: Exchange, counted: Mapping[str, Any], *, total: bool = False) -> dict[str, Any]:
    names = ("inputTokens", "outputTokens", *(("totalTokens",) if total else ()))
    usage = exchange.usage
    cached = {"cacheReadInputTokenCount": usage.cached_tokens, "cacheWriteInputTokenCount": usage.cache_write_tokens}
    return {**{name: counted[name] for name in names}, **cached, **usage.details}


def _nova_events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    """Converse's events by name; each piece of a text is a block of its own (recorded 2026-04)."""
    found: list[Any] = []
    closed: set[int] = set()
    number, current = -1, -1
    for event in content:
        payload = {name: value for name, value in event.payload.items() if name != "contentBlockIndex"}
        block = event.payload.get("contentBlockIndex")
        if block is None:
            found.append({event.name: payload})
            continue
        is_text = "text" in payload.get("delta", ())
        if event.name == "contentBlockStop" and block in closed:
            continue
        if is_text or block != current:
            number, current = number + 1, block
        written = {event.name: {**payload, "contentBlockIndex": number}}
        found.append(Delta(written) if isinstance(event.payload, Delta) else written)
        if is_text:
            closed.add(block)
            found.append({"contentBlockStop": {"contentBlockIndex": number}})
    *stop, last = closing
    counted = _nova_usage(exchange, last.payload["usage"])
    metadata = {"metadata": {**_unmeasured(last.payload), "usage": counted, "metrics": {}, "trace": {}}}
    return found, [*({event.name: event.payload} for event in stop), metadata]


def _unmeasured(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name not in ("metrics", "usage", "trace")}


BEDROCK_NOVA: Final = invoke(document=_nova, events=_nova_events, caches=True)
"""Nova by `invoke`: Converse's vocabulary without Converse's own fields."""


# --- models that go on with a text -----------------------------------------------------------------

BEDROCK_TEXT: Final = invoke()
TEXTS: Final[Mapping[str, Dialect]] = {
    "amazon.titan-t": bedrock_invoke.TITAN,
    "meta.llama": bedrock_invoke.LLAMA,
    "mistral.": bedrock_invoke.MISTRAL,
    "deepseek.": bedrock_invoke.DEEPSEEK,
    "ai21.j2": bedrock_invoke.JURASSIC,
}
"""Whose ids begin how."""


# --- models that speak OpenAI's vocabulary ---------------------------------------------------------

CHAT: Final = on_bedrock(openai_chat.DIALECT)
_PLAIN: Final = chat(id=lambda ids: f"chatcmpl-{ids.uuid()}")
BEDROCK_CHAT: Final = invoke(document=_PLAIN.document, events=_PLAIN.events)
"""Open models: gpt-oss, Qwen, Jamba, the larger ones of Mistral, and imported ones that are asked so."""


# --- Cohere's models -------------------------------------------------------------------------------

COMMAND_R: Final = on_bedrock(cohere.CHAT_V1)
COMMAND: Final = on_bedrock(cohere.GENERATE_V1)


def _without(*names: str) -> Callable[[Exchange, dict[str, Any]], dict[str, Any]]:
    def left(exchange: Exchange, body: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in body.items() if name not in names}

    return left


_unbilled: Final = _without("meta")


def _command_r_events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    *others, last = closing
    return content, [*others, {**last, "response": _unbilled(exchange, last["response"])}]


def _command(exchange: Exchange, body: dict[str, Any]) -> dict[str, Any]:
    listed = [
        {"finish_reason": item["finish_reason"], "id": item["id"], "text": item["text"]} for item in body["generations"]
    ]
    return {"generations": listed, **_without("generations", "meta")(exchange, body)}


def _command_events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    """The pieces of several generations have a number, which comes first (recorded 2024-01)."""
    pieces = [
        Delta(
            {**{name: piece[name] for name in ("index",) if name in piece}, "is_finished": False, "text": piece["text"]}
        )
        for piece in content
    ]
    return pieces, [{"finish_reason": closing[-1]["finish_reason"], "is_finished": True}]


BEDROCK_COMMAND_R: Final = invoke(document=_unbilled, events=_command_r_events)
BEDROCK_COMMAND: Final = invoke(document=_command, events=_command_events)
BEDROCK_VECTORS: Final = invoke(document=_unbilled)
BEDROCK_RANKED: Final = invoke(document=_without("id", "meta"))
