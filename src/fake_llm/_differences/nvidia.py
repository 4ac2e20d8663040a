"""NVIDIA's hosted NIMs: vLLM's answers, and errors of the gateway as problem details.

By the vendor's documentation and by vLLM's source, on which the NIMs are built (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Ids, WireEvent
from fake_llm._differences import Difference
from fake_llm._differences.absent import absent
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors, Said, Usual

__all__ = ["NVIDIA"]

_PROBLEM: Final = "application/problem+json"


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.hex(32)


def _tool_id(ids: Ids, number: int) -> str:
    return "chatcmpl-tool-" + ids.hex(32)


def _body(said: Said) -> dict[str, Any]:
    if said.name in _OF_THE_GATEWAY:
        return {"status": said.status, "title": said.type, "detail": said.message}
    return _of_the_model(said)


def _of_the_model(said: Said) -> dict[str, Any]:
    return {"error": {"message": said.message, "type": said.type, "param": None, "code": said.status}}


def _event(said: Said) -> list[WireEvent]:
    """Once the model has begun, it is the model that fails."""
    return [_of_the_model(said)]


_OF_THE_GATEWAY: Final[dict[str, Usual]] = {
    "authentication": Usual(401, "Unauthorized", "Authentication failed", content_type=_PROBLEM),
    "permission": Usual(403, "Forbidden", "Authorization failed", content_type=_PROBLEM),
    "not_found": Usual(404, "Not Found", "Function for model '{model}' not found", content_type=_PROBLEM),
    "rate_limit": Usual(429, "Too Many Requests", "Too Many Requests", content_type=_PROBLEM),
    "quota": Usual(402, "Payment Required", "Account has no credits left", content_type=_PROBLEM),
}

_ERRORS: Final = Errors(
    body=_body,
    event=_event,
    usual=_OF_THE_GATEWAY
    | {
        "bad_request": Usual(400, "BadRequestError", "Bad Request"),
        "context_length": Usual(
            400,
            "BadRequestError",
            "This model's maximum context length is 131072 tokens. However, you requested 131073 tokens. Please reduce the length of the input messages.",
        ),
        "server_error": Usual(500, "InternalServerError", "Internal server error"),
    },
)

NVIDIA: Final[Difference] = chat(
    keys="id object created model choices usage",
    chunk_keys="id object created model choices usage",
    choice=absent("logprobs"),
    call_keys="id type function",
    id=_id,
    tool_id=_tool_id,
    errors=_ERRORS,
)
