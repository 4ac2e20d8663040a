"""Events to bytes: how a vendor lays out what its dialect says.

A `Whole` writes one JSON body, a `Wire` a stream of events. Both are data about a vendor; the
options of `Framing` bend them for one turn.
"""

from __future__ import annotations

import base64
import itertools
import json
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fake_llm import _json
from fake_llm._model import Event
from fake_llm._spots import placed
from fake_llm._turns import Framing

__all__ = ["PLAIN", "AwsEventStream", "JsonArray", "Ndjson", "Sse", "Whole", "Wire", "bent", "coding", "cut", "pack"]

PLAIN: Final = Framing()
BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Whole:
    """How a vendor lays out one JSON body.

    Attributes:
        dumps: The style: compact, pretty, …
        end: What follows the last brace.
        content_type: The header.
        lead: White space before the first brace, sent while the client waits.
    """

    dumps: Callable[[Any], bytes] = _json.compact
    end: bytes = b""
    content_type: str = "application/json"
    lead: bytes = b""

    def encode(self, document: Any, framing: Framing = PLAIN) -> bytes:
        """The body."""
        body = b"%b%b%b" % (
            self.lead,
            self.dumps(document),
            self.end,
        )  # a copy: orjson 3.13 keeps ten times the room it needs
        return body if framing is PLAIN else bent(body, framing)


class Wire(Protocol):
    """How a vendor lays out a stream."""

    @property
    def content_type(self) -> str:
        """The header."""
        ...

    def encode(self, events: Iterable[Any], framing: Framing = PLAIN) -> list[bytes]:
        """One piece of bytes for each event; `bytes` and `str` among them go as they are."""
        ...

    def end(self, framing: Framing = PLAIN) -> bytes:
        """The terminator, `b""` for none."""
        ...


@dataclass(frozen=True, slots=True)
class Sse:
    """Server-sent events.

    Attributes:
        named: Whether each event has an `event:` line: `Event.name`, else the payload's `type`.
        done: The data of the terminator, `None` for none.
        newline: The line end.
        dumps: The style of the JSON.
        content_type: The header.
        pad: Payload and its bytes to padded bytes, as the vendor hides the length of its tokens.
        comment: A comment before the first event, sent while the client waits.
        numbered: Whether each event has an `id:` line, counted from one.
        usual: The name of an event that has none of its own.
        spaced: Whether a blank follows each colon.
        notes: A comment inside each event, by the event's name.
    """

    named: bool = False
    done: bytes | None = b"[DONE]"
    newline: str = "\n"
    dumps: Callable[[Any], bytes] = _json.compact
    content_type: str = "text/event-stream; charset=utf-8"
    pad: Callable[[Any, bytes], bytes] | None = None
    comment: str | None = None
    numbered: bool = False
    usual: str | None = None
    spaced: bool = True
    notes: tuple[tuple[str, str], ...] = ()

    def encode(self, events: Iterable[Any], framing: Framing = PLAIN) -> list[bytes]:
        pieces = self._pieces(events, framing)
        if self.comment is not None and pieces:
            pieces[0] = f": {self.comment}{(framing.newline or self.newline) * 2}".encode() + pieces[0]
        if framing.bom and pieces:
            pieces[0] = BOM + pieces[0]
        return pieces

    def _pieces(self, events: Iterable[Any], framing: Framing) -> list[bytes]:
        if framing is PLAIN and self.newline == "\n" and not self.numbered and self.usual is None:
            return self._fast(events)
        pieces: list[bytes] = []
        newline = (framing.newline or self.newline).encode()
        for index, event in enumerate(events):
            if isinstance(event, (bytes, str)):
                pieces.append(event if isinstance(event, bytes) else event.encode())
                continue
            name, payload = self._named(event)
            data = self.dumps(payload)
            if framing.padding and self.pad is not None:
                data = self.pad(payload, data)
            pieces.append(self._frame(name, data, index, newline, framing))
        return pieces

    def _fast(self, events: Iterable[Any]) -> list[bytes]:
        pieces: list[bytes] = []
        dumps, named = self.dumps, self.named
        for event in events:
            if isinstance(event, dict):
                data = dumps(event)
                name = event.get("type") if named else None
                pieces.append(
                    b"event: %b\ndata: %b\n\n" % (str(name).encode(), data) if name else b"data: %b\n\n" % data
                )
            elif isinstance(event, Event):
                pieces.append(
                    b"event: %b\ndata: %b\n\n" % (event.name.encode(), dumps(event.payload))
                    if event.name
                    else b"data: %b\n\n" % dumps(event.payload)
                )
            else:
                pieces.append(event if isinstance(event, bytes) else event.encode())
        return pieces

    def _named(self, event: Any) -> tuple[str | None, Any]:
        if isinstance(event, Event):
            return event.name or self.usual, event.payload
        name = event.get("type") if self.named and isinstance(event, dict) else None
        return (name if isinstance(name, str) else self.usual), event

    def _frame(self, name: str | None, data: bytes, index: int, newline: bytes, framing: Framing) -> bytes:
        blank = b" " if (self.spaced if framing.space is None else framing.space) else b""
        lines: list[bytes] = []
        if framing.comment is not None and index:
            lines += [b":%b%b" % (blank, framing.comment.encode()), b""]
        if framing.between is not None and index:
            lines += [*framing.between.encode().splitlines(), b""]
        if framing.ids or (self.numbered and framing.ids is None):
            lines.append(b"id:%b%d" % (blank, index + self.numbered))
        if name:
            lines.append(b"event:%b%b" % (blank, name.encode()))
        lines += [b":%b" % note.encode() for kind, note in self.notes if kind == name]
        if framing.ascii:
            data = _escaped(data)
        if framing.multiline:
            data = _MARK.sub(lambda found: found[1] or found[0] + b"\n", data)
        lines += [b"data:%b%b" % (blank, line) for line in data.split(b"\n")]
        lines += [b""] * (framing.blank_lines or 1)
        return newline.join(lines) + newline

    def end(self, framing: Framing = PLAIN) -> bytes:
        if self.done is None:
            return b""
        if framing is PLAIN and self.newline == "\n":
            return b"data: %b\n\n" % self.done
        newline = (framing.newline or self.newline).encode()
        plain = Framing(space=framing.space, blank_lines=framing.blank_lines)
        return self._frame(None, self.done, 0, newline, plain)


@dataclass(frozen=True, slots=True)
class JsonArray:
    """One JSON array whose items arrive one by one, as Gemini streams without `alt=sse`."""

    dumps: Callable[[Any], bytes] = _json.pretty
    content_type: str = "application/json; charset=UTF-8"
    separator: bytes = b"\n,\r\n"

    def encode(self, events: Iterable[Any], framing: Framing = PLAIN) -> list[bytes]:
        pieces: list[bytes] = []
        for event in events:
            if isinstance(event, (bytes, str)):
                pieces.append(event if isinstance(event, bytes) else event.encode())
                continue
            data = self.dumps(event.payload if isinstance(event, Event) else event)
            lead = self._lined(self.separator + b"\n" * (framing.blank_lines or 0), framing) if pieces else b"["
            pieces.append(lead + self._lined(_escaped(data) if framing.ascii else data, framing))
        if framing.bom and pieces:
            pieces[0] = BOM + pieces[0]
        return pieces or [b"["]

    def end(self, framing: Framing = PLAIN) -> bytes:
        return self._lined(b"\n]", framing)

    def _lined(self, data: bytes, framing: Framing) -> bytes:
        """With the line ends that were asked for: JSON has none inside its texts."""
        return data if framing.newline is None else _LINE_END.sub(framing.newline.encode(), data)


@dataclass(frozen=True, slots=True)
class Ndjson:
    """A JSON object on each line, the last one included; there is nothing like a comment, a name or an id.

    Attributes:
        dumps: The style of the JSON.
        content_type: The header.
        newline: The line end.
    """

    dumps: Callable[[Any], bytes] = _json.compact
    content_type: str = "application/x-ndjson"
    newline: str = "\n"

    def encode(self, events: Iterable[Any], framing: Framing = PLAIN) -> list[bytes]:
        end = (framing.newline or self.newline).encode() * (1 + (framing.blank_lines or 0))
        pieces: list[bytes] = []
        for event in events:
            if isinstance(event, (bytes, str)):
                pieces.append(event if isinstance(event, bytes) else event.encode())
                continue
            data = self.dumps(event.payload if isinstance(event, Event) else event)
            pieces.append((_escaped(data) if framing.ascii else data) + end)
        if framing.bom and pieces:
            pieces[0] = BOM + pieces[0]
        return pieces

    def end(self, framing: Framing = PLAIN) -> bytes:
        return b""


@dataclass(frozen=True, slots=True)
class AwsEventStream:
    """Frames of `application/vnd.amazon.eventstream`: lengths, headers, payload, and a checksum of each half.

    The name of an event is in a header; one that ends in `Exception` is an exception's frame, whose type that is; one
    that ends in `Error` is the frame of an error that no model of the service knows, its code and message headers.
    A dict of one object has the event's name for its key, as botocore gives it.
    (The layout is that of AWS's documentation and of recordings of 2024-2026.)

    Attributes:
        dumps: The style of the JSON.
        pad: Payload and its bytes to padded bytes, as the vendor hides the length of its tokens.
        envelope: Whether each event is the JSON of another vocabulary, which travels as base64 in a `chunk`: an
            `Event` with a name is written as a dict with that name for its key. Exceptions have frames of their own.
    """

    dumps: Callable[[Any], bytes] = _json.sorted_keys
    content_type: str = "application/vnd.amazon.eventstream"
    pad: Callable[[Any, bytes], bytes] | None = None
    envelope: bool = False

    def encode(self, events: Iterable[Any], framing: Framing = PLAIN) -> list[bytes]:
        pieces: list[bytes] = []
        for event in events:
            if isinstance(event, (bytes, str)):
                pieces.append(event if isinstance(event, bytes) else event.encode())
                continue
            if self.envelope and not _is_failure(event):
                event = Event("chunk", self._enveloped(event, framing))
            name, payload = (event.name, event.payload) if isinstance(event, Event) else _unwrapped(event)
            data = self.dumps(payload)
            if framing.padding and self.pad is not None:
                data = self.pad(payload, data)
            pieces.append(_aws_frame(name or "chunk", payload, _escaped(data) if framing.ascii else data))
        return pieces

    def _enveloped(self, event: Any, framing: Framing) -> dict[str, str]:
        """One event of another vocabulary as the payload of a `chunk`."""
        if isinstance(event, Event):
            event = event.payload if event.name is None else {event.name: event.payload}
        data = self.dumps(event)
        return {"bytes": base64.b64encode(_escaped(data) if framing.ascii else data).decode()}

    def end(self, framing: Framing = PLAIN) -> bytes:
        return b""


def _is_failure(event: Any) -> bool:
    name = event.name if isinstance(event, Event) else _unwrapped(event)[0]
    return name is not None and name.endswith(("Exception", "Error"))


def _unwrapped(event: Any) -> tuple[str | None, Any]:
    """Name and payload of `{"messageStop": {…}}`; all else has no name."""
    if isinstance(event, dict) and len(event) == 1:
        ((name, payload),) = event.items()
        if isinstance(name, str) and isinstance(payload, dict):
            return name, payload
    return None, event


def _aws_frame(name: str, payload: Any, data: bytes) -> bytes:
    """One frame: an error has its code and its message in headers, and no payload."""
    kind = b"exception" if name.endswith("Exception") else b"error" if name.endswith("Error") else b"event"
    said = [(b":%b-type" % kind, name.encode()), (b":content-type", b"application/json"), (b":message-type", kind)]
    if kind == b"error":
        message = payload.get("message") if isinstance(payload, dict) else payload
        said = [(b":error-code", name.encode()), (b":error-message", str(message or "").encode()), said[2]]
        data = b""
    headers = b"".join(b"%c%b\x07%b%b" % (len(key), key, len(value).to_bytes(2, "big"), value) for key, value in said)
    prelude = (len(headers) + len(data) + 16).to_bytes(4, "big") + len(headers).to_bytes(4, "big")
    frame = b"%b%b%b%b" % (prelude, zlib.crc32(prelude).to_bytes(4, "big"), headers, data)
    return frame + zlib.crc32(frame).to_bytes(4, "big")


def coding(framing: Framing) -> str | None:
    """The content coding that the framing asks for."""
    return "gzip" if framing.gzip else "deflate" if framing.deflate else None


def pack(pieces: list[bytes], framing: Framing) -> list[bytes]:
    """The pieces compressed, each so that a client can read it when it has come."""
    kind = coding(framing)
    if kind is None:
        return pieces
    packer = zlib.compressobj(wbits=31 if kind == "gzip" else 15)
    packed = [packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces]
    return [*packed, packer.flush()]


def cut(pieces: list[bytes], framing: Framing, before: int = 0) -> list[bytes]:
    """The pieces cut anew as the framing says, after `before` bytes of the same body."""
    how = framing.split
    if how is None:
        return pieces
    body = b"".join(pieces)
    if how == "characters":
        return _CHARACTER.findall(body)
    if how == "lines":
        return body.splitlines(keepends=True)
    if isinstance(how, int):
        return [body[start : start + how] for start in range(0, len(body), how)]
    found = {(placed(place, pieces, len(pieces)) if not before else int(place)) - before for place in how}
    places = sorted(place for place in found if 0 < place < len(body))
    return [body[start:end] for start, end in itertools.pairwise([0, *places, len(body)])] if body else []


def bent(body: bytes, framing: Framing) -> bytes:
    """A ready body of JSON as the framing says."""
    if framing.ascii:
        body = _escaped(body)
    return BOM + body if framing.bom else body


_CHARACTER: Final = re.compile(rb"[^\x80-\xbf][\x80-\xbf]*|[\x80-\xbf]+", re.DOTALL)
"""A byte of UTF-8 with those that continue it."""

_MARK: Final = re.compile(rb'("(?:[^"\\]|\\.)*")|[{,]')
"""A text of JSON, or a mark outside of texts after which a line may end."""

_LINE_END: Final = re.compile(rb"\r?\n")

_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")


def _escaped(data: bytes) -> bytes:
    return _BEYOND_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], data.decode()).encode()
