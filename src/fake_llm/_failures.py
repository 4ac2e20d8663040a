"""The errors of a vendor as one table: what each says, and one form of the body for all of them.

A row by a neutral name is what the vendor usually says for it, a row by a status what it says for that status alone. The
script's own status, text, seconds and headers win over a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, NamedTuple, TypeAlias

from fake_llm import _json
from fake_llm._dialect import Exchange, WireEvent
from fake_llm._model import HeaderItems, Response
from fake_llm._turns import ERROR_NAMES, NAME_OF_STATUS, Error

__all__ = [
    "Errors",
    "Said",
    "Usual",
    "duration",
    "like_openai",
    "no_headers",
    "precise_waits",
    "spent",
    "wait_of",
    "waits",
]


class Usual(NamedTuple):
    """What a vendor says where the script doesn't.

    `{model}` in the message stands for the model asked for, `{key}` for the key, starred out but for its end, `{id}` for the
    id of the request, `{wait}` for the seconds to wait.
    """

    status: int
    type: str
    message: str
    code: Any = None
    param: str | None = None
    content_type: str | None = None
    headers: HeaderItems = ()


_INVALID: Final = "invalid_request_error"
_COMMON: Final[Mapping[str, Usual]] = {
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
"""What a host says whose own words nobody has seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one error says, before the vendor puts it into its own form.

    Attributes:
        name: The neutral name of the row that it is said by.
        id: The id of the request, where the vendor's errors have one.
    """

    exchange: Exchange
    error: Error
    name: str
    status: int
    type: str
    code: Any
    message: str
    param: str | None
    id: str
    usual: Usual


Headers: TypeAlias = Callable[[Said], HeaderItems]


def waits(seconds: float) -> HeaderItems:
    """`retry-after` in whole seconds, and a fraction by the header in milliseconds that most SDKs ask for first (2026-11)."""
    whole = math.ceil(seconds)
    more = () if whole == seconds else (("retry-after-ms", str(math.ceil(seconds * 1000))),)
    return (("retry-after", str(whole)), *more)


def precise_waits(seconds: float) -> HeaderItems:
    """Both headers, whatever the seconds."""
    return (("retry-after", str(math.ceil(seconds))), ("retry-after-ms", str(math.ceil(seconds * 1000))))


def no_headers(said: Said) -> HeaderItems:
    """None of the vendor's own."""
    return ()


def wait_of(said: Said, usual: float) -> float:
    """The seconds that an error says to wait, in its words or its headers."""
    return usual if said.error.retry_after is None else said.error.retry_after


def duration(seconds: float) -> str:
    """Seconds as Go prints them: `174ms`, `8.64s`, `1m2.5s`."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms" if seconds else "0s"
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{f'{hours}h' if hours else ''}{f'{minutes}m' if hours or minutes else ''}{round(rest, 3):g}s"


def spent(limits: HeaderItems, **changed: str) -> HeaderItems:
    """The rate limits of a success as they are once they are used up.

    Args:
        limits: Headers such as `x-ratelimit-remaining-tokens`.
        changed: What some of them say then, by the ends of their names: `remaining_tokens="0"`.
    """
    ends = {name.replace("_", "-"): value for name, value in changed.items()}
    return tuple(
        (name, next((value for end, value in ends.items() if name.endswith(end)), was)) for name, was in limits
    )


def like_openai(said: Said) -> dict[str, Any]:
    """The four keys that OpenAI has."""
    return {"error": {"message": said.message, "type": said.type, "param": said.param, "code": said.code}}


def _no_id(exchange: Exchange) -> str:
    return ""


def _as_it_is(exchange: Exchange, error: Error, usual: Usual) -> Usual:
    return usual


def _seconds(exchange: Exchange, error: Error) -> Mapping[str, str]:
    return {"wait": f"{1.0 if error.retry_after is None else error.retry_after:g}s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The errors of one vendor.

    Attributes:
        body: The vendor's form of the body.
        usual: What this vendor says, by the neutral name; for one that is left out, what is common.
        statuses: What it says for a status that no name means, or that it says something else for.
        row: Alters a row for one exchange.
        id: The id of the request, made once for an error: for the message, the body and the headers.
        fills: What stands in a message for placeholders of the vendor's own.
        headers: Headers beside the content type and those of the wait.
        waits: The headers of so many seconds to wait, where the script says them.
        encode: The layout of the body.
        content_type: Its header.
        event: The events of an error after a stream has begun; without it, one event with the same body.
    """

    body: Callable[[Said], dict[str, Any]] = like_openai
    usual: Mapping[str, Usual] = field(default_factory=dict)
    statuses: Mapping[int, Usual] = field(default_factory=dict)
    row: Callable[[Exchange, Error, Usual], Usual] = _as_it_is
    id: Callable[[Exchange], str] = _no_id
    fills: Callable[[Exchange, Error], Mapping[str, str]] = _seconds
    headers: Headers = no_headers
    waits: Callable[[float], HeaderItems] = waits
    encode: Callable[[Any], bytes] = _json.compact
    content_type: str = "application/json"
    event: Callable[[Said], list[WireEvent]] | None = None

    def failure(self, exchange: Exchange, error: Error) -> Response:
        """The whole answer."""
        said = self.said(exchange, error)
        wait = () if error.retry_after is None else self.waits(error.retry_after)
        own = (*self.headers(said), *said.usual.headers)
        if wait:
            named = {name for name, _ in wait}
            own = tuple(pair for pair in own if pair[0] not in named)
        content_type = said.usual.content_type or self.content_type
        return Response(said.status, (("content-type", content_type), *own, *wait), self.encode(self.body(said)))

    def failure_events(self, exchange: Exchange, error: Error) -> list[WireEvent]:
        """The same after the stream has begun."""
        said = self.said(exchange, error)
        return [self.body(said)] if self.event is None else self.event(said)

    def said(self, exchange: Exchange, error: Error) -> Said:
        """What an error says: the row that it means, and over it what the script says."""
        name, usual = self._row(error)
        scripted = error.kind if isinstance(error.kind, int) else usual.status
        strange = scripted != usual.status
        usual = self.row(exchange, error, usual)
        status = error.kind if isinstance(error.kind, int) else usual.status
        key = self.id(exchange)
        text = error.message
        if text is None and strange and name in ("bad_request", "server_error"):
            text = next((item.phrase for item in HTTPStatus if item == status), None)
        if text is None:
            text = usual.message
            if "{" in text:
                places = {"model": exchange.model, "key": _masked(exchange), "id": key, **self.fills(exchange, error)}
                for place, value in places.items():
                    text = text.replace(f"{{{place}}}", value)
        return Said(
            exchange=exchange,
            error=error,
            name=name,
            status=status,
            type=usual.type,
            code=usual.code,
            message=text,
            param=usual.param,
            id=key,
            usual=usual,
        )

    def _row(self, error: Error) -> tuple[str, Usual]:
        kind, name = error.kind, error.name
        if isinstance(kind, int):
            if kind in self.statuses:
                return name, self.statuses[kind]
            if kind not in NAME_OF_STATUS:
                # a status that this vendor has for one thing only: 402, 408, 498
                meant = [each for each in ERROR_NAMES if self._named(each).status == kind]
                name = meant[0] if len(meant) == 1 else name
        return name, self._named(name)

    def _named(self, name: str) -> Usual:
        return self.usual.get(name) or _COMMON[name]


def _masked(exchange: Exchange) -> str:
    headers = exchange.request.headers
    key = (headers.get("authorization") or headers.get("api-key") or "").removeprefix("Bearer ").strip()
    return "****" + key[-4:] if len(key) > len("****") else "****"
