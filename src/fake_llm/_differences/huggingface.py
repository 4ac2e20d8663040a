"""Hugging Face's router: the answer of the host that it goes to (recorded 2025-12 to 2026-08).

Its own errors by the vendor's documentation and by what users report (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._differences import Difference
from fake_llm._differences.routed import asked_model, routed
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems

__all__ = ["HUGGINGFACE"]


def _name(exchange: Exchange) -> str:
    """The host that the path names, else the one after the colon of the model."""
    first = exchange.request.path.split("/")[1]
    return asked_model(exchange).rpartition(":")[2] if first == "v1" else first


def _headers(exchange: Exchange) -> HeaderItems:
    return (
        ("inference-id", exchange.ids.uuid()),
        ("x-powered-by", "huggingface-moon"),
        ("x-robots-tag", "none"),
    )


def _body(said: Said) -> dict[str, Any]:
    if said.name in ("authentication", "permission", "quota", "rate_limit"):
        return {"error": said.message}
    return {"error": {"message": said.message, "type": said.type, "param": said.param, "code": said.code}}


_ERRORS: Final = Errors(
    body=_body,
    usual={
        "authentication": Usual(401, "", "Invalid username or password."),
        "permission": Usual(
            403, "", "This authentication method does not have sufficient permissions to call Inference Providers"
        ),
        "not_found": Usual(
            400,
            "invalid_request_error",
            "The requested model '{model}' does not exist",
            "model_not_found",
            "model",
        ),
        "rate_limit": Usual(429, "", "Too Many Requests"),
        "quota": Usual(402, "", "You have exceeded your monthly included credits for Inference Providers."),
    },
)

HUGGINGFACE: Final[Difference] = routed(_name, headers=_headers, errors=_ERRORS)
