"""OpenRouter: the provider behind it, its reasoning twice, what it cost, an error inside a chunk (recorded 2025-07 to 2026-08)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import CREATED, Exchange, Ids, WireEvent
from fake_llm._differences.chat import answer_id, chat
from fake_llm._differences.responses import responses
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems
from fake_llm._turns import Thinking

__all__ = ["ERRORS", "OPENROUTER", "OPENROUTER_RESPONSES", "new_rerank_id"]

_PROVIDERS: Final = {
    "openai": "OpenAI",
    "anthropic": "Anthropic",
    "google": "Google",
    "x-ai": "xAI",
    "deepseek": "DeepSeek",
    "mistralai": "Mistral",
    "perplexity": "Perplexity",
    "cohere": "Cohere",
}
_NATIVE: Final = {
    "openai": {},
    "anthropic": {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"},
    "google": {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"},
}


def _maker(exchange: Exchange) -> str:
    return exchange.model.partition("/")[0]


def _id(ids: Ids) -> str:
    return f"gen-{CREATED}-{ids.alnum(20)}"


def new_rerank_id(ids: Ids) -> str:
    """The form of an id of a reranking."""
    return f"gen-rerank-{CREATED}-{ids.alnum(20)}"


def _more(exchange: Exchange) -> dict[str, Any]:
    more: dict[str, Any] = {"provider": _PROVIDERS.get(_maker(exchange), "Together")}
    if not exchange.stream:
        more["system_fingerprint"] = None
        more["service_tier"] = None if _own_format(exchange) is None else "default"
    return more


_BY_RESPONSES: Final = (("x-ai/", "xai-responses-v1"), ("openai/gpt-5", "openai-responses-v1"))


def _own_format(exchange: Exchange) -> str | None:
    """The form of the thoughts of models that are asked by their makers' Responses (recorded 2026-01 and 2026-08)."""
    return next((form for start, form in _BY_RESPONSES if exchange.model.startswith(start)), None)


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "cost": 0,
        "is_byok": False,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "audio_tokens": 0,
            "video_tokens": 0,
        },
        "cost_details": {
            "upstream_inference_cost": 0,
            "upstream_inference_prompt_cost": 0,
            "upstream_inference_completions_cost": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "image_tokens": 0,
            "audio_tokens": 0,
        },
    }


def _details(exchange: Exchange, text: str, signature: str | None = None) -> list[dict[str, Any]]:
    """A text with its signature; of models that have their own form a summary, and something encrypted where it is whole."""
    form = _own_format(exchange)
    if form is None:
        signed = {} if signature is None else {"signature": signature}
        return [{"type": "reasoning.text", "text": text, "format": "unknown", "index": 0, **signed}]
    details: list[dict[str, Any]] = [{"type": "reasoning.summary", "summary": text, "format": form, "index": 0}]
    if not exchange.stream or signature is not None:
        sealed = signature or exchange.ids.alnum(64)
        key = f"rs_{exchange.ids.uuid()}"
        details.append({"type": "reasoning.encrypted", "data": sealed, "format": form, "id": key, "index": 1})
    return details


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    written = {**message, "refusal": None, "reasoning": message.get("reasoning")}
    if not written["annotations"]:
        del written["annotations"]  # there only where the web was searched (recorded 2026-08)
    thoughts = [part for part in exchange.choices[index].of(Thinking) if not part.redacted]
    if thoughts:
        written["reasoning_details"] = _details(exchange, message["reasoning"], thoughts[-1].signature)
    return written


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    """Each delta has a role and a content; thoughts come twice."""
    content = None if "tool_calls" in delta or "function_call" in delta else ""
    written = {"content": content, "role": "assistant", **delta}
    if written.get("reasoning"):
        written["reasoning_details"] = _details(exchange, written["reasoning"])
    elif "reasoning" in written:
        del written["reasoning"]
    return written


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    """A chunk has no log probabilities where there are none."""
    reason = choice["finish_reason"]
    if "delta" in choice and choice["logprobs"] is None:
        choice = {name: value for name, value in choice.items() if name != "logprobs"}
    native = _NATIVE.get(_maker(exchange), {})
    if _own_format(exchange) is not None:
        native = {"stop": "completed"}
    return {**choice, "native_finish_reason": native.get(reason, reason)}


def _chunks(exchange: Exchange, content: list[dict[str, Any]], closing: list[dict[str, Any]]) -> None:
    """The chunk that repeats the last one says the tier too."""
    closing[-1].setdefault("service_tier", None if _own_format(exchange) is None else "default")


def _headers(exchange: Exchange) -> HeaderItems:
    return (
        ("x-generation-id", answer_id(exchange, _id)),
        ("access-control-expose-headers", "X-Generation-Id,X-Provider-Name,cf-ray"),
        *_COMMON,
    )


_COMMON: Final = (
    ("referrer-policy", "no-referrer, strict-origin-when-cross-origin"),
    ("x-content-type-options", "nosniff"),
)


def _body(said: Said) -> dict[str, Any]:
    error: dict[str, Any] = {"message": said.message, "code": said.status}
    if said.name == "rate_limit":
        error["metadata"] = {
            "headers": dict(_limits(said)),
            "provider_name": None,
        }
    elif said.name in ("overloaded", "unavailable", "server_error", "content_filter"):
        error["metadata"] = {"raw": said.message, "provider_name": _more(said.exchange)["provider"]}
    elif said.name == "context_length":
        refused = {"code": said.status, "message": said.message}
        error["metadata"] = {"provider_name": None, "previous_errors": [refused]}
    return {"error": error, **({"user_id": _USER} if said.name in _OF_A_USER else {})}


_USER: Final = "user_000000000000000000000000000"
_OF_A_USER: Final = frozenset({"rate_limit", "context_length"})
"""Errors that name the account (recorded 2025-08 and 2026-08)."""


def _limits(said: Said) -> HeaderItems:
    return (
        ("X-RateLimit-Limit", "1"),
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Reset", str(int((CREATED + (said.error.retry_after or 0)) * 1000))),
    )


def _failed(said: Said) -> HeaderItems:
    limits = _limits(said) if said.name == "rate_limit" else ()
    return (*_COMMON, *((name.lower(), value) for name, value in limits))


def _event(said: Said) -> list[WireEvent]:
    """A chunk like any other with the error in it, and the terminator after it."""
    exchange = said.exchange
    chunk = {
        "id": answer_id(exchange, _id),
        "object": "chat.completion.chunk",
        "created": exchange.created,
        "model": exchange.model,
        "provider": _more(exchange)["provider"],
        "error": {"code": said.status, "message": said.message},
        "choices": [
            {
                "index": 0,
                "delta": {"content": "", "role": "assistant"},
                "finish_reason": "error",
                "native_finish_reason": None,
            }
        ],
    }
    return [chunk, b"data: [DONE]\n\n"]


ERRORS: Final = Errors(
    body=_body,
    headers=_failed,
    event=_event,
    usual={
        "authentication": Usual(401, "", "Missing Authentication header"),
        "permission": Usual(403, "", "This model requires moderation, and your input was flagged."),
        "not_found": Usual(404, "", "No endpoints found for {model}."),
        "context_length": Usual(
            400,
            "",
            "This endpoint's maximum context length is 200000 tokens. However, you requested about 200001 tokens (200001 of text input). "
            'Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
        ),
        "content_filter": Usual(403, "", "Provider returned error"),
        "rate_limit": Usual(429, "", "Rate limit exceeded: free-models-per-min. "),
        "quota": Usual(402, "", "Insufficient credits. Add more using https://openrouter.ai/settings/credits"),
        "timeout": Usual(408, "", "Request timed out"),
        "server_error": Usual(500, "", "Internal Server Error"),
        "overloaded": Usual(502, "", "Provider returned error"),
        "unavailable": Usual(503, "", "There is no available model provider that meets your routing requirements"),
    },
)

OPENROUTER: Final = chat(
    keys="id object created model provider system_fingerprint service_tier choices usage",
    chunk_keys="id object created model provider choices usage",
    choice_keys="index logprobs delta finish_reason native_finish_reason message",
    message_keys="role content refusal reasoning reasoning_details tool_calls function_call annotations",
    delta_keys="content role reasoning reasoning_details tool_calls function_call annotations",
    call_keys="type index id function custom",
    id=_id,
    more=_more,
    reasoning="reasoning",
    cites=True,
    opening="joined",
    usage=_usage,
    usage_in="again",
    uncounted=True,
    message=_message,
    delta=_delta,
    choice=_choice,
    chunks=_chunks,
    headers=_headers,
    errors=ERRORS,
)


_UNSAID: Final = frozenset({"billing", "user", "tool_usage", "moderation", "prompt_cache_retention"})


def _response(exchange: Exchange, response: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers where they are whole, no `user` and no words of this year, what it cost in the usage (recorded 2026-08)."""
    written = {name: _integer(value) for name, value in response.items() if name not in _UNSAID}
    if isinstance(written.get("text"), dict):
        written["text"] = {name: value for name, value in written["text"].items() if name != "verbosity"}
    asked = exchange.body if isinstance(exchange.body, dict) else {}
    if asked.get("reasoning") is None:
        written["reasoning"] = None
    written.setdefault("prompt_cache_options", None)
    usage = written.get("usage")
    if isinstance(usage, dict):
        details = usage["input_tokens_details"]
        counted = {name: value for name, value in details.items() if name != "cache_write_tokens"}
        usage = {**usage, "input_tokens_details": counted}
        costs = {
            "upstream_inference_cost": 0,
            "upstream_inference_input_cost": 0,
            "upstream_inference_output_cost": 0,
        }
        written["usage"] = {
            **usage,
            **{
                name: value
                for name, value in (("cost", 0), ("is_byok", False), ("cost_details", costs))
                if name not in usage
            },
        }
    return written


def _integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _item(exchange: Exchange, item: dict[str, Any], started: bool) -> dict[str, Any]:
    """Reasoning has a status and no content, and something encrypted and its format once it is done."""
    if item.get("type") != "reasoning":
        return item
    dropped = {"content", "encrypted_content"} if started else {"content"}
    written = {name: value for name, value in item.items() if name not in dropped}
    if started:
        return {**written, "status": "in_progress"}
    return {**written, "status": "completed", "format": "openai-responses-v1"}


def _item_id(kind: str, ids: Ids, answer: str) -> str:
    return f"msg_tmp_{ids.lower(11)}" if kind == "msg" else f"{kind}_{ids.hex(50)}"


OPENROUTER_RESPONSES: Final = responses(
    id=_id, item_id=_item_id, response=_response, item=_item, headers=_headers, errors=ERRORS
)
