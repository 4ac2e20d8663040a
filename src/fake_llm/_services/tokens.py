"""Token counting, by the estimate that usage and the context window use too."""

from __future__ import annotations

import base64
from typing import Any

from fake_llm import _json
from fake_llm._dialect import Exchange, json_kind
from fake_llm._dialects import bedrock_converse
from fake_llm._dialects import gemini as gemini_dialect
from fake_llm._model import Response
from fake_llm._services._base import Store
from fake_llm._tokens import input_tokens
from fake_llm._turns import Error

__all__ = ["anthropic", "bedrock", "gemini", "openai", "vertex"]


def openai(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST /v1/responses/input_tokens`."""
    return {"object": "response.input_tokens", "input_tokens": _count(exchange)}


def anthropic(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST /v1/messages/count_tokens`."""
    return {"input_tokens": _count(exchange)}


def gemini(store: Store, exchange: Exchange) -> dict[str, Any] | Error:
    """`POST models/{m}:countTokens`; the request may be wrapped in `generateContentRequest`."""
    body = exchange.body if isinstance(exchange.body, dict) else {}
    wrapped = body.get("generateContentRequest")
    given = wrapped if isinstance(wrapped, dict) else body
    wrong = gemini_dialect.DIALECT.check(exchange.request, given) if given.get("contents") else None
    if wrong is not None:
        return wrong
    count = _count(exchange)
    return {"totalTokens": count, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": count}]}


def vertex(store: Store, exchange: Exchange) -> dict[str, Any] | Error:
    """The same on Vertex AI, which counts the characters that aren't blank too (recorded 2026-08)."""
    counted = gemini(store, exchange)
    if isinstance(counted, Error):
        return counted
    texts = [message.text for message in exchange.view.messages]
    billable = sum(len("".join(text.split())) for text in (exchange.view.system, *texts))
    return {"totalTokens": counted["totalTokens"], "totalBillableCharacters": billable, **counted}


def bedrock(store: Store, exchange: Exchange) -> dict[str, Any] | Response:
    """`POST /model/{id}/count-tokens`: of a request of Converse, or of the body of an invocation."""
    given = exchange.body.get("input") if isinstance(exchange.body, dict) else exchange.body
    if not isinstance(given, dict) or given.keys() not in ({"converse"}, {"invokeModel"}):
        return _refused(
            exchange, "Value at 'input' failed to satisfy constraint: Member must be one of: converse, invokeModel"
        )
    if "converse" in given:
        wrong = bedrock_converse.DIALECT.check(exchange.request, given["converse"])
        if wrong is not None:
            return bedrock_converse.DIALECT.failure(exchange, wrong)
        return {"inputTokens": exchange.usage.input_tokens or input_tokens(given["converse"])}
    try:
        body = _json.loads(base64.b64decode(given["invokeModel"]["body"], validate=True))
    except (KeyError, TypeError, ValueError):
        return _refused(
            exchange,
            "Value at 'input.invokeModel.body' failed to satisfy constraint: Member must be a JSON object in base64",
        )
    if not isinstance(body, dict):
        return _refused(exchange, f"The format of your request is invalid: expected an object, found {json_kind(body)}")
    return {"inputTokens": exchange.usage.input_tokens or input_tokens(body)}


def _refused(exchange: Exchange, text: str) -> Response:
    return bedrock_converse.DIALECT.failure(exchange, Error(400, f"1 validation error detected: {text}"))


def _count(exchange: Exchange) -> int:
    if exchange.usage.input_tokens:
        return exchange.usage.input_tokens
    body = exchange.body
    wrapped = body.get("generateContentRequest") if isinstance(body, dict) else None
    return input_tokens(wrapped if isinstance(wrapped, dict) else body)
