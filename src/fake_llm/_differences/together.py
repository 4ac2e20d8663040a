"""Together: text twice in a chunk, a seed, the usage in the finish chunk (recorded 2025-12 to 2026-08)."""

from __future__ import annotations

import math
import zlib
from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences.chat import answer_id, chat
from fake_llm._failures import Errors, Said, Usual, spent, wait_of
from fake_llm._model import HeaderItems

__all__ = ["ERRORS", "TOGETHER", "new_id"]

_SEED: Final = 1_395_002_666_759_424_000


def new_id(ids: Ids) -> str:
    """Three pieces of letters, digits and hexadecimal digits."""
    return f"{ids.alnum(7)}-{ids.alnum(6)}-{ids.hex(16)}"


def _tool_id(ids: Ids, number: int) -> str:
    return "call_" + ids.lower(24)


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    thought = {"completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "cached_tokens": usage.cached_tokens,
        **(thought if usage.reasoning_tokens else {}),
    }


def _prompt(exchange: Exchange) -> dict[str, Any]:
    return {} if exchange.stream else {"prompt": []}


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [], **message}


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    text = delta.get("content") or ""
    return {
        "token_id": zlib.crc32(text.encode("utf-8", "surrogatepass")) % 128_000,
        "role": "assistant",
        "content": text,
        **delta,
    }


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    if "delta" not in choice:
        return {**choice, "seed": _SEED}
    seed = None if choice["finish_reason"] is None else _SEED
    return {**choice, "text": choice["delta"].get("content") or "", "seed": seed}


def _headers(exchange: Exchange) -> HeaderItems:
    return (
        ("x-request-id", answer_id(exchange, new_id)),
        ("x-inference-version", "v2"),
        *_LIMITS,
    )


_LIMITS: Final = (
    ("x-ratelimit", "false"),
    ("x-ratelimit-limit", "10"),
    ("x-ratelimit-limit-tokens", "3000"),
    ("x-ratelimit-remaining", "9"),
    ("x-ratelimit-remaining-tokens", "3000"),
    ("x-ratelimit-reset", "2"),
)


def _failed(said: Said) -> HeaderItems:
    """The limits where one is reached, as the vendor's page of rate limits has them (2026-11)."""
    if said.name != "rate_limit":
        return ()
    return spent(_LIMITS, ratelimit="true", remaining="0", reset=str(math.ceil(wait_of(said, 2))))


def _body(said: Said) -> dict[str, Any]:
    """With an id of its own."""
    error = {"message": said.message, "type": said.type, "param": said.param, "code": said.code}
    return {"id": answer_id(said.exchange, new_id), "error": error}


ERRORS: Final = Errors(
    body=_body,
    headers=_failed,
    usual={
        "authentication": Usual(
            401,
            "invalid_request_error",
            "Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.",
            "invalid_api_key",
        ),
        "not_found": Usual(
            404,
            "invalid_request_error",
            "Unable to access model {model}. Please visit https://api.together.ai/models to view the list of supported models.",
            "model_not_available",
        ),
        "quota": Usual(
            402,
            "credit_limit",
            "Credit limit exceeded, please add credits at https://api.together.ai/settings/billing.",
        ),
        "rate_limit": Usual(
            429,
            "model_rate_limit",
            "You have reached the rate limit specific to this model {model}. Please try again later.",
        ),
        "overloaded": Usual(503, "overloaded", "The model is currently overloaded. Please try again later."),
    },
)

TOGETHER: Final = chat(
    keys="id object created model prompt choices usage",
    chunk_keys="id object created choices model usage",
    choice_keys="index text logprobs finish_reason seed delta message",
    message_keys="role content reasoning tool_calls function_call",
    delta_keys="token_id role content reasoning tool_calls function_call",
    id=new_id,
    tool_id=_tool_id,
    more=_prompt,
    reasoning="reasoning",
    opening="joined",
    usage=_usage,
    usage_in="finish",
    uncounted=True,
    null_usage="always",
    message=_message,
    delta=_delta,
    choice=_choice,
    headers=_headers,
    errors=ERRORS,
)
