"""Jina AI: an error is a text under `detail` with a code of its table.

Codes, statuses and texts are those of its API's own description (api.jina.ai/openapi.json, 2026-11); where the table has
none, they are made up.
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems
from fake_llm._turns import Error

__all__ = ["BAD_JSON", "ERRORS", "headers", "refused"]

BAD_JSON: Final = "Invalid JSON in the body of the request"


def refused(what: str) -> Error:
    """The refusal of a request that doesn't fit its schema."""
    return Error(422, what)


def headers(exchange: Exchange) -> HeaderItems:
    """What is left of the limits."""
    return (("x-ratelimit-remaining-requests", "499"), ("x-ratelimit-remaining-tokens", "1000000"))


def _body(said: Said) -> dict[str, Any]:
    return {"detail": said.message, "code": said.code or "INTERNAL_ERROR"}


ERRORS: Final = Errors(
    body=_body,
    usual={
        "bad_request": Usual(400, "", "Validation failed", "INPUT_VALIDATION_ERROR"),
        "authentication": Usual(401, "", "Invalid API key", "AUTH_INVALID_API_KEY"),
        "permission": Usual(403, "", "Resource limit exceeded for your plan", "AUTHZ_RESOURCE_LIMIT_EXCEEDED"),
        "not_found": Usual(400, "", "Model '{model}' not found", "INPUT_MODEL_NOT_FOUND"),
        "request_too_large": Usual(413, "", "Request entity too large", "INPUT_TOO_LARGE"),
        "context_length": Usual(400, "", "Input text exceeds maximum length of 8192 tokens", "INPUT_TOO_LONG"),
        "content_filter": Usual(400, "", "The input was refused", "INPUT_VALIDATION_ERROR"),
        "rate_limit": Usual(429, "", "Rate limit exceeded", "RATE_LIMIT_EXCEEDED"),
        "quota": Usual(403, "", "Insufficient account balance", "AUTHZ_INSUFFICIENT_BALANCE"),
        "server_error": Usual(500, "", "Internal server error", "INTERNAL_ERROR"),
        "unavailable": Usual(503, "", "Service temporarily unavailable", "SERVICE_UNAVAILABLE"),
        "overloaded": Usual(503, "", "Service temporarily unavailable", "SERVICE_UNAVAILABLE"),
        "timeout": Usual(504, "", "Request timed out", "SERVICE_TIMEOUT"),
    },
)
