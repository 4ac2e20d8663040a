"""AI21: the usage in the finish chunk, errors with nothing but a `detail`.

By the types of its SDK (4.3) and the vendor's documentation (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids, WireEvent
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual, like_openai

__all__ = ["AI21"]


def _id(ids: Ids) -> str:
    return "chat-" + ids.uuid()


def _tool_id(ids: Ids, number: int) -> str:
    return "chatcmpl-tool-" + ids.hex(32)


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": None, **message}


def _body(said: Said) -> dict[str, Any]:
    return {"detail": said.message}


def _event(said: Said) -> list[WireEvent]:
    return [like_openai(said)]


_ERRORS: Final = Errors(
    body=_body,
    event=_event,
    usual={
        "authentication": Usual(401, "", "Forbidden: Bad or missing Apikey/JWT."),
        "not_found": Usual(404, "", "Model {model} not found"),
        "rate_limit": Usual(429, "", "Too Many Requests"),
        "server_error": Usual(500, "", "Internal Server Error"),
        "unavailable": Usual(503, "", "Service Unavailable"),
        "overloaded": Usual(503, "", "Service Unavailable"),
    },
)

AI21: Final[Difference] = chat(
    keys="id created model choices usage",
    chunk_keys="id choices usage",
    message_keys="role content reasoning_content tool_calls function_call",
    id=_id,
    tool_id=_tool_id,
    call_keys="id function type",
    blank="null",
    whole_calls=True,
    usage=_usage,
    usage_in="finish",
    uncounted=True,
    message=_message,
    errors=_ERRORS,
)
