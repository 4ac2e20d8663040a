"""Voyage AI: an error is one text under `detail`, and a request is checked before its key.

The words of a refusal are those that the live API was seen to send (2026-07 to 2026-09); statuses are those of its
documentation and of its SDK (voyageai 0.5, 2026-11), other texts are made up.
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems
from fake_llm._turns import Error

__all__ = ["BAD_JSON", "ERRORS", "headers", "refused"]

_IMPROPER: Final = "The request body is not valid JSON, or some arguments were not specified properly. In particular, "
BAD_JSON: Final = _IMPROPER + "Error for argument '0': JSON decode error"


def refused(what: str) -> Error:
    """The refusal of a request, of what is wrong with it."""
    return Error("bad_request", _IMPROPER + what)


def headers(exchange: Exchange) -> HeaderItems:
    """An id of the request."""
    return (("x-request-id", exchange.ids.copy().hex(32)), ("server", "uvicorn"))


def _body(said: Said) -> dict[str, Any]:
    return {"detail": said.message}


_INVALID: Final = "invalid_request_error"
ERRORS: Final = Errors(
    body=_body,
    headers=lambda said: headers(said.exchange),
    usual={
        "authentication": Usual(401, _INVALID, "Provided API key is invalid."),
        "permission": Usual(403, _INVALID, "You don't have access to this resource."),
        "not_found": Usual(400, _INVALID, "Model {model} is not supported."),
        "request_too_large": Usual(
            400,
            _INVALID,
            "Request to model '{model}' failed. The max allowed tokens per submitted batch is 120000. Your batch has "
            "more tokens after truncation. Please lower the number of tokens in the batch.",
        ),
        "context_length": Usual(
            400,
            _INVALID,
            "Request to model '{model}' failed. The example at index 0 in your batch has too many tokens and does not "
            "fit into the model's context window of 32000 tokens.",
        ),
        "rate_limit": Usual(429, _INVALID, "You have reached the rate limit of your account. Please try again later."),
        "quota": Usual(
            429,
            _INVALID,
            "You have not yet added your payment method in the billing page and will have reduced rate limits of "
            "3 RPM and 10K TPM.",
        ),
        "server_error": Usual(500, _INVALID, "Internal Server Error"),
        "unavailable": Usual(503, _INVALID, "Service Unavailable"),
        "overloaded": Usual(503, _INVALID, "Service Unavailable"),
        "timeout": Usual(504, _INVALID, "Gateway Timeout"),
    },
)
