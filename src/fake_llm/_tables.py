"""The endpoint table as rows of words: for `fake-llm providers` and for the pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fake_llm._endpoints import PROVIDERS, Endpoint, Provider
from fake_llm._framing import AwsEventStream, JsonArray, Ndjson, Sse

__all__ = ["Row", "answered", "refused", "rows"]

_STREAMS: Final = {
    Sse: "server-sent events",
    JsonArray: "a JSON array",
    Ndjson: "JSON lines",
    AwsEventStream: "AWS's event stream",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One endpoint.

    Attributes:
        provider: What `call.provider` says.
        hosts: Where it is; `*` stands for one or more characters.
        operation: What `call.operation` says.
        method: The HTTP method.
        path: A template of the path.
        dialect: The vocabulary for people.
        streams_as: The layout of a stream; `""` where nothing is streamed.
        kept_in: `calls`, or `side_calls` for housekeeping.
    """

    provider: str
    hosts: tuple[str, ...]
    operation: str
    method: str
    path: str
    dialect: str
    streams_as: str
    kept_in: str


def rows(*names: str) -> Iterator[Row]:
    """A row for each endpoint, in the table's order.

    Args:
        names: Of providers; without any, all.

    >>> [row.path for row in rows("anthropic") if row.operation == "chat"]
    ['/v1/messages']
    """
    for provider in answered(*names):
        for endpoint in provider.endpoints:
            yield Row(
                provider.name,
                provider.hosts,
                endpoint.operation,
                endpoint.method,
                provider.prefix_of(endpoint) + endpoint.path,
                endpoint.dialect.label,
                _streams_as(endpoint),
                "side_calls" if endpoint.side else "calls",
            )


def answered(*names: str) -> list[Provider]:
    """The providers that are answered, all or those named."""
    return [provider for provider in PROVIDERS if provider.endpoints and (not names or provider.name in names)]


def refused(*names: str) -> list[Provider]:
    """The providers that are known and refused: a call to one of them never leaves the machine."""
    return [provider for provider in PROVIDERS if not provider.endpoints and (not names or provider.name in names)]


def _streams_as(endpoint: Endpoint) -> str:
    wire = endpoint.wire
    if wire is None:
        return ""
    named = _STREAMS.get(type(wire))
    if named is not None:
        return named
    told = (wire.__doc__ or "").partition("\n")[0].strip(" .")  # what a function of the request chooses by
    return told[:1].lower() + told[1:]
