"""A host's own errors: one table of what an error usually says, and a body of the host's own form."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TypeAlias

from fake_llm._dialect import Exchange, WireEvent
from fake_llm._framing import Whole
from fake_llm._model import HeaderItems, Response
from fake_llm._turns import Error

__all__ = ["Errors", "Said", "Usual", "like_openai", "no_headers", "waits"]


class Usual(NamedTuple):
    """What a host says where the script doesn't.

    `{model}` and `{key}` in the message stand for the model asked for and for the key, starred out but for its end.
    """

    status: int
    type: str
    message: str
    code: Any = None
    param: str | None = None
    content_type: str | None = None


_INVALID: Final = "invalid_request_error"
_USUAL: Final[Mapping[str, Usual]] = {
    "bad_request": Usual(400, _INVALID, "Bad Request"),
    "authentication": Usual(401, "authentication_error", "Invalid API key provided.", "invalid_api_key"),
    "permission": Usual(403, "permission_error", "This key has no access to the requested resource."),
    "not_found": Usual(404, _INVALID, "The model `{model}` does not exist.", "model_not_found"),
    "request_too_large": Usual(413, _INVALID, "Request entity too large."),
    "context_length": Usual(
        400,
        _INVALID,
        "This model's maximum context length is 131072 tokens. However, you requested 131073 tokens. Please reduce the length of the messages.",
        "context_length_exceeded",
    ),
    "content_filter": Usual(400, _INVALID, "The request was refused by the content filter.", "content_filter"),
    "rate_limit": Usual(429, "rate_limit_error", "Rate limit exceeded. Please try again later.", "rate_limit_exceeded"),
    "quota": Usual(
        429, "insufficient_quota", "You have no credit left. Please check your billing.", "insufficient_quota"
    ),
    "server_error": Usual(500, "server_error", "Internal server error."),
    "unavailable": Usual(503, "server_error", "The service is temporarily unavailable."),
    "overloaded": Usual(503, "server_error", "The server is overloaded, please try again later."),
    "timeout": Usual(504, "server_error", "The request timed out."),
}


@dataclass(frozen=True, slots=True)
class Said:
    """What one error says, before the host puts it into its own form."""

    exchange: Exchange
    error: Error
    status: int
    type: str
    code: Any
    message: str
    param: str | None


Headers: TypeAlias = Callable[[Said], HeaderItems]


def waits(said: Said) -> HeaderItems:
    """`retry-after` where the script says how long to wait, in whole seconds."""
    wait = said.error.retry_after
    return () if wait is None else (("retry-after", str(math.ceil(wait))),)


def no_headers(said: Said) -> HeaderItems:
    """None of the host's own."""
    return ()


def like_openai(said: Said) -> dict[str, Any]:
    """The four keys that OpenAI has."""
    return {"error": {"message": said.message, "type": said.type, "param": said.param, "code": said.code}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The errors of one host.

    Attributes:
        body: The host's form of the body.
        usual: What this host says in place of the common table, by the neutral name.
        headers: Headers beside the content type and `retry-after`.
        layout: The layout of the body and its content type.
        event: The events of an error after a stream has begun; without it, one event with the same body.
    """

    body: Callable[[Said], dict[str, Any]] = like_openai
    usual: Mapping[str, Usual]
    headers: Headers = no_headers
    layout: Whole = Whole()  # noqa: RUF009 - frozen
    event: Callable[[Said], list[WireEvent]] | None = None

    def failure(self, exchange: Exchange, error: Error) -> Response:
        """The whole answer."""
        said = self._said(exchange, error)
        content_type = self._usual(error).content_type or self.layout.content_type
        return Response(
            said.status,
            (("content-type", content_type), *self.headers(said), *waits(said)),
            self.layout.encode(self.body(said)),
        )

    def failure_events(self, exchange: Exchange, error: Error) -> list[WireEvent]:
        """The same after the stream has begun."""
        said = self._said(exchange, error)
        return [self.body(said)] if self.event is None else self.event(said)

    def _usual(self, error: Error) -> Usual:
        return self.usual.get(error.name) or _USUAL[error.name]

    def _said(self, exchange: Exchange, error: Error) -> Said:
        usual, name, kind = self._usual(error), error.name, error.kind
        status = kind if isinstance(kind, int) else usual.status
        text = error.message
        if text is None and status != usual.status and name in ("bad_request", "server_error"):
            text = next((item.phrase for item in HTTPStatus if item == status), None)
        if text is None:
            text = usual.message.replace("{model}", exchange.model).replace("{key}", _masked(exchange))
        return Said(exchange, error, status, usual.type, usual.code, text, usual.param)


def _masked(exchange: Exchange) -> str:
    headers = exchange.request.headers
    key = (headers.get("authorization") or headers.get("api-key") or "").removeprefix("Bearer ").strip()
    return "****" + key[-4:] if len(key) > len("****") else "****"
