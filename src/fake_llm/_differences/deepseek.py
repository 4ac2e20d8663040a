"""DeepSeek: the usage in the finish chunk, cache hits and misses, errors as a stream of octets (recorded 2025-03 to 2026-08)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences.chat import chat, fingerprint_of, thinks, uuid
from fake_llm._differences.responses import responses
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems

__all__ = ["DEEPSEEK", "DEEPSEEK_RESPONSES"]

_CODE: Final = "invalid_request_error"
_OCTETS: Final = "application/octet-stream"


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    thought = {"completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens}}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        **(thought if usage.reasoning_tokens or thinks(exchange, 0) else {}),
        "prompt_cache_hit_tokens": usage.cached_tokens,
        "prompt_cache_miss_tokens": usage.input_tokens - usage.cached_tokens,
    }


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    """In an answer with thoughts each delta names both, the other one as null; the last delta is empty text."""
    if "tool_calls" in delta or "function_call" in delta:
        return delta
    if not thinks(exchange, index):
        return delta or {"content": ""}
    if "role" in delta:
        return {**delta, "content": None, "reasoning_content": ""}
    return {"content": None if delta else "", "reasoning_content": None, **delta}


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    """Log probabilities are of the content alone."""
    if choice["logprobs"] is None:
        return choice
    return {**choice, "logprobs": {"content": choice["logprobs"]["content"]}}


def _tool_id(ids: Ids, number: int) -> str:
    return f"call_{number:02d}_{ids.alnum(24)}"


def _fingerprint(exchange: Exchange) -> str:
    return f"fp_{fingerprint_of(exchange, 10)}_prod0820_fp8_kvcache_20260402"


def _trace(exchange: Exchange) -> HeaderItems:
    return (
        ("access-control-allow-credentials", "true"),
        ("x-ds-trace-id", exchange.ids.hex(32)),
        ("x-content-type-options", "nosniff"),
    )


def _headers(exchange: Exchange) -> HeaderItems:
    return (*_trace(exchange), ("x-cache", "Miss from cloudfront"))


def _failed(said: Said) -> HeaderItems:
    return (*_trace(said.exchange), ("x-cache", "Error from cloudfront"))


ERRORS: Final = Errors(
    headers=_failed,
    usual={
        "bad_request": Usual(400, _CODE, "Bad Request", _CODE, None, _OCTETS),
        "authentication": Usual(
            401, "authentication_error", "Authentication Fails, Your api key: {key} is invalid", _CODE
        ),
        "not_found": Usual(400, _CODE, "Model Not Exist", _CODE, None, _OCTETS),
        "context_length": Usual(
            400,
            _CODE,
            "This model's maximum context length is 1048565 tokens. However, you requested 1048566 tokens (1048566 in the messages, 0 in the completion). "
            "Please reduce the length of the messages or completion.",
            _CODE,
            None,
            _OCTETS,
        ),
        "content_filter": Usual(400, _CODE, "Content Exists Risk", _CODE, None, _OCTETS),
        "quota": Usual(402, "unknown_error", "Insufficient Balance", _CODE),
    },
)

DEEPSEEK: Final = chat(
    tool_id=_tool_id,
    fingerprint=_fingerprint,
    blank="empty",
    usage=_usage,
    usage_in="finish",
    uncounted=True,
    null_usage="asked",
    delta=_delta,
    choice=_choice,
    headers=_headers,
    errors=ERRORS,
)


def _item_id(kind: str, ids: Ids, answer: str) -> str:
    return ids.uuid()


def _offered(body: Any, tool: Any) -> Any:
    """A web search has two settings, null where nobody said them (recorded 2026-08)."""
    if not isinstance(tool, dict) or tool.get("type") != "web_search":
        return tool
    sent = next(one for one in body["tools"] if isinstance(one, dict) and one.get("type") == "web_search")
    return {"type": "web_search", **{name: sent.get(name) for name in ("search_context_size", "user_location")}}


def _response(exchange: Exchange, response: dict[str, Any]) -> dict[str, Any]:
    """Azure's filters without any, no verbosity, no retention and nothing that is written to a cache (recorded 2026-08)."""
    written: dict[str, Any] = {}
    for name, value in response.items():
        if name == "error":
            written["content_filters"] = None
        if name not in ("billing", "tool_usage"):
            written[name] = value
    if isinstance(written.get("text"), dict):
        written["text"] = {**written["text"], "verbosity": None}
    written["prompt_cache_retention"] = None
    if isinstance(written.get("reasoning"), dict):
        written["reasoning"] = {name: value for name, value in written["reasoning"].items() if name != "context"}
    if isinstance(written.get("usage"), dict):
        usage = written["usage"]
        details = usage["input_tokens_details"]
        counted = {name: value for name, value in details.items() if name != "cache_write_tokens"}
        written["usage"] = {**usage, "input_tokens_details": counted}
    written["tools"] = [_offered(exchange.body, tool) for tool in written["tools"]]
    return written


def _item(exchange: Exchange, item: dict[str, Any], started: bool) -> dict[str, Any]:
    """Reasoning has a status, a message its phase."""
    if item.get("type") == "reasoning":
        written = {name: value for name, value in item.items() if name != "encrypted_content"}
        return {**written, "status": "in_progress" if started else "completed"}
    return {"phase": "final_answer", **item} if item.get("type") == "message" else item


DEEPSEEK_RESPONSES: Final = responses(
    id=uuid,
    item_id=_item_id,
    tool_id=_tool_id,
    response=_response,
    item=_item,
    thoughts="content",
    headers=_headers,
    errors=ERRORS,
)
