"""xAI: whole tool calls, reasoning tokens beside the completion's, errors that are a text (recorded 2026-03 to 2026-08)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences.chat import chat, cited, uuid
from fake_llm._differences.responses import responses
from fake_llm._failures import Errors, Said, Usual, spent
from fake_llm._model import HeaderItems

__all__ = ["XAI", "XAI_RESPONSES"]


def _usage(exchange: Exchange) -> dict[str, Any]:
    """`completion_tokens` is without the reasoning, the total with it."""
    usage = exchange.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": max(0, usage.output_tokens - usage.reasoning_tokens),
        "total_tokens": usage.total,
        "prompt_tokens_details": {
            "text_tokens": usage.input_tokens,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": usage.cached_tokens,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
        "num_sources_used": 0,
        "cost_in_usd_ticks": 0,
    }


def _sources(exchange: Exchange) -> dict[str, Any]:
    """The URLs that the text rests on (documented)."""
    found = [one.source for one in cited(exchange)]
    return {"citations": found} if found else {}


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "refusal": None}


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    """No `finish_reason` in a chunk but the last."""
    if choice["finish_reason"] is None and "delta" in choice:
        return {name: value for name, value in choice.items() if name != "finish_reason"}
    return choice


def _tool_id(ids: Ids, number: int) -> str:
    return f"call_{int(ids.hex(10), 16) % 10**8:08d}"


_LIMITS: Final = (
    ("x-ratelimit-limit-requests", "1800"),
    ("x-ratelimit-limit-tokens", "10000000"),
    ("x-ratelimit-remaining-requests", "1799"),
    ("x-ratelimit-remaining-tokens", "9999990"),
)


def _headers(exchange: Exchange) -> HeaderItems:
    return (
        *_LIMITS,
        ("x-request-id", exchange.ids.uuid()),
        ("x-zero-data-retention", "false"),
        ("x-data-retention", "general"),
        ("x-metrics-ttft-ms", "300.0"),
        ("x-metrics-e2e-ms", "350.0"),
    )


def _body(said: Said) -> dict[str, Any]:
    return {"code": said.code, "error": said.message}


def _failed(said: Said) -> HeaderItems:
    """The limits where one is reached; nobody has recorded it (2026-11)."""
    return spent(_LIMITS, remaining_requests="0") if said.name == "rate_limit" else ()


ERRORS: Final = Errors(
    body=_body,
    headers=_failed,
    usual={
        "bad_request": Usual(400, "", "Bad Request", "invalid-argument"),
        "authentication": Usual(
            400,
            "",
            "Incorrect API key provided. You can obtain an API key from https://console.x.ai.",
            "invalid-argument",
        ),
        "permission": Usual(
            403, "", "The caller does not have permission to execute the specified operation", "permission-denied"
        ),
        "not_found": Usual(
            404, "", "The model {model} does not exist or your team does not have access to it.", "not-found"
        ),
        "request_too_large": Usual(413, "", "Request body is too large.", "invalid-argument"),
        "context_length": Usual(
            400,
            "",
            "This model's maximum prompt length is 131072 but the request contains 131073 tokens.",
            "invalid-argument",
        ),
        "content_filter": Usual(403, "", "Content violates usage guidelines.", "permission-denied"),
        "rate_limit": Usual(429, "", "Too many requests. Please try again later.", "resource-exhausted"),
        "quota": Usual(
            429,
            "",
            "Your team has used all available credits or reached its monthly spending limit.",
            "resource-exhausted",
        ),
        "server_error": Usual(500, "", "Internal server error.", "internal"),
        "unavailable": Usual(503, "", "The service is currently unavailable.", "unavailable"),
        "overloaded": Usual(503, "", "The model is at capacity. Please try again later.", "unavailable"),
        "timeout": Usual(504, "", "Deadline exceeded.", "deadline-exceeded"),
    },
)

XAI: Final = chat(
    keys="id object created model choices usage system_fingerprint",
    chunk_keys="id object created model choices usage system_fingerprint",
    choice_keys="index message delta finish_reason",
    message_keys="role content reasoning_content tool_calls function_call refusal",
    delta_keys="reasoning_content role content tool_calls function_call",
    call_keys="id function custom type",
    tool_id=_tool_id,
    more=_sources,
    cites=True,
    blank="empty",
    opening="joined",
    whole_calls=True,
    usage=_usage,
    message=_message,
    choice=_choice,
    headers=_headers,
    errors=ERRORS,
)


def _call_id(ids: Ids, number: int) -> str:
    return f"call-{ids.uuid()}-{number}"


def _item_id(kind: str, ids: Ids, answer: str) -> str:
    """Reasoning and message bear the id of the answer (recorded 2026-08); we number calls by random digits."""
    return f"{kind}_{answer}_{ids.hex(4)}" if kind == "fc" else f"{kind}_{answer}"


_USUAL: Final = {"temperature": 0.7, "top_p": 0.95}


def _response(exchange: Exchange, response: dict[str, Any]) -> dict[str, Any]:
    written = {name: value for name, value in response.items() if name not in _NOT_XAI}
    written["metadata"] = {**(written.get("metadata") or {}), "system_fingerprint": "fp_eb3c003fc66c14ed"}
    reasoning = written.get("reasoning")
    if isinstance(reasoning, dict) and not exchange.stream:
        said = {"effort": reasoning.get("effort") or "low", "summary": reasoning.get("summary") or "detailed"}
        written["reasoning"] = said
    elif isinstance(reasoning, dict):
        written["reasoning"] = {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")}
    asked = exchange.body if isinstance(exchange.body, dict) else {}
    written |= {name: usual for name, usual in _USUAL.items() if asked.get(name) is None}
    text = written.get("text")
    if isinstance(text, dict) and isinstance(text.get("format"), dict):
        named = ("name", "description", "strict")
        written["text"] = {"format": {key: value for key, value in text["format"].items() if key not in named}}
    usage = written.get("usage")
    if isinstance(usage, dict):
        counted = {
            "input_tokens": usage["input_tokens"],
            "input_tokens_details": {"cached_tokens": usage["input_tokens_details"]["cached_tokens"]},
            "output_tokens": usage["output_tokens"],
            "output_tokens_details": usage["output_tokens_details"],
            "total_tokens": usage["total_tokens"],
        }
        context = {"input_tokens": usage["input_tokens"], "output_tokens": usage["output_tokens"]}
        beside = {"num_sources_used": 0, "num_server_side_tools_used": 0, "cost_in_usd_ticks": 0}
        written["usage"] = (
            counted
            | beside
            | {"context_details": context}
            | usage
            | {"input_tokens_details": counted["input_tokens_details"]}
        )
    return written


_NOT_XAI: Final = frozenset({"billing", "moderation", "prompt_cache_retention", "tool_usage"})


def _item(exchange: Exchange, item: dict[str, Any], started: bool) -> dict[str, Any]:
    """Reasoning has a status and no content, and nothing encrypted before it is done."""
    if item.get("type") != "reasoning":
        return item
    dropped = {"content", "encrypted_content"} if started else {"content"}
    written = {name: value for name, value in item.items() if name not in dropped}
    return {**written, "status": "in_progress" if started else "completed"}


XAI_RESPONSES: Final = responses(
    id=uuid,
    item_id=_item_id,
    tool_id=_call_id,
    response=_response,
    item=_item,
    whole_calls=True,
    number_first=True,
    headers=_headers,
    errors=ERRORS,
)
