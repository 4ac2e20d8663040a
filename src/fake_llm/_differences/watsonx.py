"""watsonx's chat: OpenAI's vocabulary with `model_id`, `tool_choice_option`, numbered events and errors in a list.

By the vendor's documentation and what its SDK sends and reads (ibm-watsonx-ai 1.8, 2026-11).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Dialect, Exchange, Ids
from fake_llm._dialects import openai_chat, watsonx
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._model import Request, View
from fake_llm._turns import Error

__all__ = ["WATSONX", "WATSONX_CHAT"]

_OWN: Final = frozenset({"model_id", "project_id", "space_id", "tool_choice_option", "time_limit"})


def _like_openai(request: Request, body: dict[str, Any]) -> dict[str, Any]:
    """The body as OpenAI's dialect reads it."""
    same = {name: value for name, value in body.items() if name not in _OWN}
    if same.get("tool_choice") is None and body.get("tool_choice_option") is not None:
        same["tool_choice"] = body["tool_choice_option"]
    return {**same, "model": watsonx.model(request, body)}


def _read(request: Request, body: Any) -> View:
    return openai_chat.DIALECT.read(request, _like_openai(request, body))


def _check(request: Request, body: Any) -> Error | None:
    """What OpenAI refuses too, in the words that it has for it."""
    if not isinstance(body, dict):
        return Error("bad_request", watsonx.GENERATE.bad_json)
    if body.get("model_id") is not None and not isinstance(body["model_id"], str):
        return Error("bad_request", "Json document validation error: model_id should be a string")
    if not watsonx.model(request, body):
        return Error("bad_request", "Json document validation error: model_id is required")
    error = openai_chat.DIALECT.check(request, _like_openai(request, body))
    return None if error is None else replace(error, body=None)


WATSONX_CHAT: Final[Dialect] = replace(
    openai_chat.DIALECT,
    name="watsonx_chat",
    label="watsonx chat",
    read=_read,
    check=_check,
    bad_json=watsonx.GENERATE.bad_json,
    stream=watsonx.stream,
    model=watsonx.model,
    failure=watsonx.ERRORS.failure,
    failure_events=watsonx.ERRORS.failure_events,
    headers=watsonx.headers,
    sdk_types=(),
    too_long=watsonx.GENERATE.too_long,
)
"""`POST /ml/v1/text/chat` and `/ml/v1/text/chat_stream`."""


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.hex(32)


def _tool_id(ids: Ids, number: int) -> str:
    return "chatcmpl-tool-" + ids.hex(32)


def _more(exchange: Exchange) -> dict[str, Any]:
    return {"model_id": exchange.model, "model_version": "1.0.0", "created_at": watsonx.created_at(exchange)}


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    counted: dict[str, Any] = {
        "completion_tokens": usage.output_tokens,
        "prompt_tokens": usage.input_tokens,
        "total_tokens": usage.total,
    }
    if usage.cached_tokens:
        counted["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return counted


_KEYS: Final = "id object model_id model choices created model_version created_at usage"

WATSONX: Final[Difference] = chat(
    keys=_KEYS,
    chunk_keys=_KEYS,
    choice_keys="index message delta finish_reason",
    id=_id,
    tool_id=_tool_id,
    more=_more,
    blank="absent",
    usage=_usage,
    uncounted=True,
    headers=watsonx.headers,
)
