"""Azure OpenAI: content filters beside everything, a first chunk about the prompt alone (recorded 2024-04 to 2026-08)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from fake_llm._dialect import Delta, Exchange
from fake_llm._dialects import openai_chat
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat, uuid
from fake_llm._failures import Errors, Said, Usual, precise_waits
from fake_llm._model import HeaderItems, Request
from fake_llm._turns import Error

__all__ = ["AZURE_CHAT", "AZURE_MODELS", "AZURE_RESPONSES"]

_SAFE: Final = {"filtered": False, "severity": "safe"}
_UNSEEN: Final = {"detected": False, "filtered": False}
_ANSWER: Final = {
    "hate": _SAFE,
    "protected_material_code": _UNSEEN,
    "protected_material_text": _UNSEEN,
    "self_harm": _SAFE,
    "sexual": _SAFE,
    "violence": _SAFE,
}
_FILTERED: Final = {**_ANSWER, "hate": {"filtered": True, "severity": "high"}}
_PROMPT: Final = [
    {
        "prompt_index": 0,
        "content_filter_results": {
            "hate": _SAFE,
            "jailbreak": _UNSEEN,
            "self_harm": _SAFE,
            "sexual": _SAFE,
            "violence": _SAFE,
        },
    }
]


def _document(exchange: Exchange, document: dict[str, Any]) -> dict[str, Any]:
    if _is_grok(exchange):
        assert _GROK.document is not None
        return _GROK.document(exchange, document)
    choices = [
        {
            "logprobs": None,
            **choice,
            "content_filter_results": _FILTERED if choice.get("finish_reason") == "content_filter" else _ANSWER,
        }
        for choice in document["choices"]
    ]
    return {"prompt_filter_results": _PROMPT, **document, "choices": choices}


def _events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    """The prompt's filter results come first, in a chunk of blanks."""
    if _is_grok(exchange):
        assert _GROK.events is not None
        return _GROK.events(exchange, content, closing)
    first = {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": _PROMPT}
    for chunk in (*content, *closing):
        if "service_tier" not in (exchange.extra or {}):
            chunk.pop("service_tier", None)
    for chunk in content:
        for choice in chunk["choices"]:
            choice.setdefault("logprobs", None)
            choice["content_filter_results"] = _ANSWER if isinstance(chunk, Delta) else {}
    for chunk in closing:
        for choice in chunk["choices"]:
            if isinstance(choice, dict):
                choice.setdefault("logprobs", None)
                blocked = choice.get("finish_reason") == "content_filter"
                choice["content_filter_results"] = _FILTERED if blocked else {}
    return [first, *content], closing


def _is_grok(exchange: Exchange) -> bool:
    """Whether the deployment is named like a model of xAI, which Azure passes through with fewer changes."""
    return exchange.model.lower().startswith("grok")


def _grok_usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    beside = {"cost_in_usd_ticks": 0} if exchange.stream else {"audio_prompt_tokens": 0}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
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
        **beside,
    }


def _grok_more(exchange: Exchange) -> dict[str, Any]:
    return {"service_tier": "default"} if exchange.stream else {"prompt_filter_results": None}


def _grok_choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    """No `finish_reason` in a chunk but the last."""
    if choice["finish_reason"] is None and "delta" in choice:
        return {name: value for name, value in choice.items() if name != "finish_reason"}
    return choice


_GROK: Final = chat(
    keys="id model choices usage created object prompt_filter_results",
    chunk_keys="id object created model choices usage system_fingerprint service_tier",
    choice_keys="index message delta finish_reason",
    message_keys="role content reasoning_content tool_calls function_call",
    call_keys="id index type function custom",
    id=uuid,
    more=_grok_more,
    blank="empty",
    opening="joined",
    whole_calls=True,
    usage=_grok_usage,
    choice=_grok_choice,
)


def _filter(source: str, results: Any) -> dict[str, Any]:
    return {
        "blocked": False,
        "source_type": source,
        "content_filter_raw": [],
        "content_filter_results": results,
        "content_filter_offsets": {"start_offset": 0, "end_offset": 0, "check_offset": 0},
    }


_OF_PROMPT: Final = _filter("prompt", _PROMPT[0]["content_filter_results"])
_OF_ANSWER: Final = _filter("completion", _ANSWER)
_OF_NEWER: Final = _filter("prompt", {})
_NEWER: Final = re.compile(r"gpt-(5\.[6-9]|[6-9])")


def _filters(exchange: Exchange) -> list[dict[str, Any]]:
    """What was looked at: of newer models the prompt alone, after a tool's result the answer alone (recorded 2026-06 and 2026-08)."""
    if _NEWER.match(exchange.model):
        return [_OF_NEWER]
    asked = exchange.body.get("input") if isinstance(exchange.body, dict) else None
    last = asked[-1] if isinstance(asked, list) and asked else None
    if isinstance(last, dict) and str(last.get("type")).endswith("_output"):
        return [_OF_ANSWER]
    return [_OF_PROMPT, _OF_ANSWER]


def _response(exchange: Exchange, document: dict[str, Any]) -> dict[str, Any]:
    """`content_filters` before `error`, and nothing of who pays (recorded 2026-08)."""
    written: dict[str, Any] = {}
    for name, value in document.items():
        if name == "billing":
            continue
        if name == "error" and "content_filters" not in document:
            written["content_filters"] = _filters(exchange)
        written[name] = value
    return written


def _response_events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    for event in (*content, *closing):
        response = event.get("response") if isinstance(event, dict) else None
        if isinstance(response, dict):
            event["response"] = _response(exchange, response)
            if event["type"] in ("response.created", "response.in_progress"):
                event["response"]["content_filters"] = None
    return content, closing


def _common(exchange: Exchange) -> HeaderItems:
    return (
        ("apim-request-id", exchange.ids.uuid()),
        ("strict-transport-security", "max-age=31536000; includeSubDomains; preload"),
        ("x-content-type-options", "nosniff"),
        ("x-ms-region", "East US 2"),
    )


_PLAIN: Final = "!#$&'()*+,/:;=?@[] "
"""What a header may hold as it is, besides letters and digits."""


def _headers(exchange: Exchange) -> HeaderItems:
    return (
        *_common(exchange),
        ("x-request-id", exchange.ids.uuid()),
        ("x-ms-rai-invoked", "true"),
        ("x-ms-deployment-name", quote(exchange.model, safe=_PLAIN, errors="replace")),
        ("x-ratelimit-limit-requests", "50"),
        ("x-ratelimit-limit-tokens", "50000"),
        ("x-ratelimit-remaining-requests", "49"),
        ("x-ratelimit-remaining-tokens", "49994"),
        ("x-ratelimit-reset-requests", "1"),
        ("x-ratelimit-reset-tokens", "0"),
        ("x-ratelimit-renewalperiod-requests", "60"),
        ("x-ratelimit-renewalperiod-tokens", "60"),
    )


def _failed(said: Said) -> HeaderItems:
    """Where a limit is reached, a second to wait, that is none in milliseconds (recorded 2026-08)."""
    wait = (("retry-after", "1"), ("retry-after-ms", "0")) if said.name == "rate_limit" else ()
    return (*_common(said.exchange), *wait)


_GATEWAY: Final = frozenset({"authentication", "permission", "quota", "unavailable", "overloaded", "timeout"})
"""Errors of the gateway, which have a code and a message only."""


def _body(said: Said) -> dict[str, Any]:
    name, code, text = said.name, said.code, said.message
    if name in _GATEWAY:
        return {"error": {"code": code, "message": text}}
    if name == "rate_limit":
        return {"error": {"code": code, "message": text, "details": text}}
    if name == "not_found":
        return {"error": {"type": said.type, "code": code, "message": text}}
    error = {"message": text, "type": said.type, "param": said.param, "code": code}
    if name != "content_filter":
        return {"error": error}
    inner = {
        "hate": {"filtered": True, "severity": "high"},
        "jailbreak": _UNSEEN,
        "self_harm": _SAFE,
        "sexual": _SAFE,
        "violence": _SAFE,
    }
    innererror = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": inner}
    return {"error": {**error, "type": None, "status": said.status, "innererror": innererror}}


ERRORS: Final = Errors(
    body=_body,
    headers=_failed,
    waits=precise_waits,
    usual={
        "authentication": Usual(
            401,
            "",
            "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription "
            "and use a correct regional API endpoint for your resource.",
            "401",
        ),
        "permission": Usual(403, "", "Access denied due to Virtual Network/Firewall rules.", "403"),
        "not_found": Usual(
            404,
            "invalid_request_error",
            "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
            "DeploymentNotFound",
        ),
        "context_length": Usual(
            400,
            "invalid_request_error",
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 128001 tokens. Please reduce the length of the messages.",
            "context_length_exceeded",
            "messages",
        ),
        "content_filter": Usual(
            400,
            "",
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. "
            "To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
            "content_filter",
            "prompt",
        ),
        "rate_limit": Usual(
            429, "", "Your requests to {model} for {model} in eastus2 have exceeded rate limit.", "RateLimitReached"
        ),
        "quota": Usual(403, "", "Out of call volume quota. Quota will be replenished later.", "403"),
        "unavailable": Usual(
            503,
            "",
            "The service is temporarily unable to process your request. Please try again later.",
            "ServiceUnavailable",
        ),
        "overloaded": Usual(
            503,
            "",
            "The service is temporarily unable to process your request. Please try again later.",
            "ServiceUnavailable",
        ),
        "timeout": Usual(408, "", "The operation was timeout.", "Timeout"),
    },
)

AZURE_CHAT: Final = Difference(
    document=_document,
    events=_events,
    headers=_headers,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
)
AZURE_RESPONSES: Final = Difference(
    document=_response, events=_response_events, headers=_headers, failure=ERRORS.failure
)


_ALONE: Final = (".models.ai.azure.com", ".inference.ai.azure.com")


def _check(request: Request, body: Any) -> Error | None:
    """OpenAI's refusals, but that a model which is deployed by itself need not be named (azure-ai-inference 1.0, 2026-11)."""
    if isinstance(body, dict) and not body.get("model") and request.host.endswith(_ALONE):
        body = {**body, "model": _deployed(request)}
    error = openai_chat.check(request, body)
    return None if error is None else replace(error, body=None)


def _deployed(request: Request) -> str:
    return request.host.partition(".")[0]


def _model_document(exchange: Exchange, document: dict[str, Any]) -> dict[str, Any]:
    if not document["model"]:
        document["model"] = _deployed(exchange.request)
    return _document(exchange, document)


def _model_events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    for chunk in (*content, *closing):
        chunk["model"] = chunk["model"] or _deployed(exchange.request)
    return _events(exchange, content, closing)


AZURE_MODELS: Final = replace(AZURE_CHAT, document=_model_document, events=_model_events, check=_check)
"""Models of the catalogue, by `/models` or at a host of their own."""
