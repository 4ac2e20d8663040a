"""GitHub Models: Azure's answers, with errors of its own.

By the vendor's documentation and by what users report (2026-11).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fake_llm._differences import Difference
from fake_llm._differences.azure import AZURE_CHAT
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems

__all__ = ["GITHUB"]


def _body(said: Said) -> dict[str, Any]:
    return {"error": {"code": said.code, "message": said.message, "details": said.message}}


def _headers(said: Said) -> HeaderItems:
    return (("x-ms-error-code", said.code),) if isinstance(said.code, str) else ()


_ERRORS: Final = Errors(
    body=_body,
    headers=_headers,
    usual={
        "bad_request": Usual(400, "", "Bad request", "BadRequest"),
        "authentication": Usual(401, "", "Bad credentials", "unauthorized"),
        "permission": Usual(403, "", "No access to model: {model}", "no_access"),
        "not_found": Usual(404, "", "Unknown model: {model}", "unknown_model"),
        "request_too_large": Usual(413, "", "Request body too large for {model} model.", "tokens_limit_reached"),
        "context_length": Usual(
            413, "", "Request body too large for {model} model. Max size: 8000 tokens.", "tokens_limit_reached"
        ),
        "content_filter": Usual(
            400,
            "",
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            "content_filter",
        ),
        "rate_limit": Usual(
            429,
            "",
            "Rate limit of 10 per 60s exceeded for UserByModelByMinute. Please wait 60 seconds before retrying.",
            "RateLimitReached",
        ),
        "quota": Usual(
            429,
            "",
            "Rate limit of 50 per 86400s exceeded for UserByModelByDay. Please wait 86400 seconds before retrying.",
            "RateLimitReached",
        ),
        "server_error": Usual(500, "", "Internal server error", "InternalServerError"),
        "unavailable": Usual(503, "", "Service unavailable", "ServiceUnavailable"),
        "overloaded": Usual(503, "", "The service is overloaded", "ServiceUnavailable"),
        "timeout": Usual(504, "", "The operation was timeout.", "Timeout"),
    },
)

GITHUB: Final[Difference] = replace(AZURE_CHAT, failure=_ERRORS.failure, failure_events=_ERRORS.failure_events)
