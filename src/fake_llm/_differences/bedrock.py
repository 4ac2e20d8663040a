"""Amazon Bedrock's `invoke`: a model family's own vocabulary, with AWS's errors, headers and counts around it.

The forms are those of recordings of 2024-12 to 2026-04.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._dialects import bedrock_converse
from fake_llm._differences import Difference
from fake_llm._model import HeaderItems

__all__ = ["BEDROCK_ANTHROPIC", "invoke", "metrics"]

_LATENCY: Final = 1024
_FIRST_BYTE: Final = 512


def metrics(exchange: Exchange) -> dict[str, int]:
    """What the last event of a stream has as `amazon-bedrock-invocationMetrics`."""
    usage = exchange.usage
    counted = {
        "inputTokenCount": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "outputTokenCount": usage.output_tokens,
        "invocationLatency": _LATENCY,
        "firstByteLatency": _FIRST_BYTE,
    }
    if usage.cached_tokens or usage.cache_write_tokens:
        counted |= {
            "cacheReadInputTokenCount": usage.cached_tokens,
            "cacheWriteInputTokenCount": usage.cache_write_tokens,
        }
    return counted


def _headers(exchange: Exchange) -> HeaderItems:
    own = bedrock_converse.headers(exchange)
    if exchange.stream:
        return (*own, ("x-amzn-bedrock-content-type", "application/json"))
    usage = exchange.usage
    counted = {
        "input": max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens),
        "output": usage.output_tokens,
    }
    headers = [*own, ("x-amzn-bedrock-invocation-latency", str(_LATENCY))]
    headers += [(f"x-amzn-bedrock-{kind}-token-count", str(count)) for kind, count in counted.items()]
    if usage.cached_tokens or usage.cache_write_tokens:
        for kind, count in (("read", usage.cached_tokens), ("write", usage.cache_write_tokens)):
            headers.append((f"x-amzn-bedrock-cache-{kind}-input-token-count", str(count)))
    return tuple(headers)


def invoke(
    *,
    document: Callable[[Exchange, dict[str, Any]], dict[str, Any]] | None = None,
    events: Callable[[Exchange, list[Any], list[Any]], tuple[list[Any], list[Any]]] | None = None,
    tool_id: Callable[[Ids, int], str | None] | None = None,
) -> Difference:
    """What `invoke` does around a vocabulary; its last event gets the metrics.

    Args:
        document: Alters a whole answer of the family.
        events: Alters its events, before the metrics are in the last one.
        tool_id: A new id for a tool call.
    """

    def measured(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
        if events is not None:
            content, closing = events(exchange, content, closing)
        if closing and isinstance(closing[-1], dict):
            closing = [*closing[:-1], {**closing[-1], "amazon-bedrock-invocationMetrics": metrics(exchange)}]
        return content, closing

    return Difference(
        document=document,
        events=measured,
        headers=_headers,
        failure=bedrock_converse.failure,
        failure_events=bedrock_converse.failure_events,
        tool_id=tool_id,
    )


# --- Anthropic's models ----------------------------------------------------------------------------


def _named(exchange: Exchange, message: dict[str, Any]) -> dict[str, Any]:
    """`us.anthropic.claude-sonnet-4-5-20250929-v1:0` calls itself `claude-sonnet-4-5-20250929`."""
    if message.get("model") == exchange.asked.dialect.model(exchange.request, exchange.body):
        message["model"] = _own_name(message["model"])
    return message


def _own_name(model: str) -> str:
    name = model.rpartition("anthropic.")[2].partition(":")[0]
    stem, dash, version = name.rpartition("-v")
    return stem if dash and version.isdecimal() and stem.rpartition("-")[2].isdecimal() else name


def _started(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    first = content[0]
    return [{**first, "message": _named(exchange, first["message"])}, *content[1:]], closing


def _tool_id(ids: Ids, index: int) -> str:
    return "toolu_bdrk_01" + ids.alnum(22)


BEDROCK_ANTHROPIC: Final = invoke(document=_named, events=_started, tool_id=_tool_id)
"""Claude by `invoke`: its own name for the model, ids of its own."""
