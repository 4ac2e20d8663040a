"""What requests and botocore share: what they send, and answers as urllib3 gives them.

A streamed body goes through the real parser: its steps become HTTP/1.1 chunks of a connection in memory, one
read each, and a broken one fails as a server's does.
"""

from __future__ import annotations

import errno
import http.client
import io
import socket
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from time import sleep
from typing import Any

import urllib3

from fake_llm._model import USUAL, Fault, Headers, Pause, Response, Step, Timeouts

__all__ = ["body", "headers", "joined", "streamed", "timeouts", "unreached", "whole"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


def headers(given: Any) -> Headers:
    """The headers of a request."""
    return Headers([_USUAL.get(pair) or _usual(pair) for pair in _pairs(given)])


def _pairs(given: Any) -> Iterable[tuple[Any, Any]]:
    """Names and values as they are sent: what the libraries keep them in is looked into, as asking for each one takes ten times as long."""
    kept = getattr(given, "_store", None)  # requests 2.34 (2026-11): what was written, by the lower case of its name
    if isinstance(kept, dict):
        return kept.values()
    kept = getattr(given, "_dict", None)  # botocore 1.44 (2026-11): values by objects that compare without case
    if isinstance(kept, dict):
        return [(str(key), value) for key, value in kept.items()]
    items: Iterable[tuple[Any, Any]] = given.items()
    return items


_USUAL: dict[tuple[Any, Any], tuple[str, str]] = {}
_SAME = frozenset({"accept", "accept-encoding", "connection", "content-type", "user-agent"})
"""Headers that a client sends with every request: the journal keeps each of them once."""


def _usual(given: tuple[Any, Any]) -> tuple[str, str]:
    name, value = given
    pair = given if isinstance(name, str) and isinstance(value, str) else (_text(name), _text(value))
    if len(_USUAL) < _MANY and pair[0].lower() in _SAME:
        _USUAL[given] = pair
    return pair


_MANY = 256


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def body(given: Any) -> bytes:
    """A body in each form that requests sends: bytes, text, a file, an iterable of pieces."""
    if given is None:
        return b""
    if isinstance(given, bytes):
        return given
    if isinstance(given, str):
        return given.encode()
    if hasattr(given, "read"):
        return body(given.read())
    if isinstance(given, bytearray | memoryview):
        return bytes(given)
    return b"".join(body(piece) for piece in given)


def timeouts(connect: Any, read: Any) -> Timeouts:
    """The time-outs of a client; urllib3 has a sentinel for its default, which is none."""
    return _timeouts(
        connect if isinstance(connect, (int, float)) else None, read if isinstance(read, (int, float)) else None
    )


@lru_cache(maxsize=64)
def _timeouts(connect: float | None, read: float | None) -> Timeouts:
    return Timeouts(connect=connect, read=read)


def joined(answer: Response) -> dict[str, str]:
    """The headers of an answer that is there already, several values of one name as one, and its length."""
    found = dict(answer.headers)
    if len(found) < len(answer.headers) or len({name.lower() for name in found}) < len(found):
        found = dict(urllib3.HTTPHeaderDict(answer.headers))
    return {**found, "content-length": str(len(answer.body))}


def whole(answer: Response, method: str) -> urllib3.HTTPResponse:
    """An answer that is there already."""
    names = {name.lower() for name, _ in answer.headers}
    if "content-encoding" in names or "set-cookie" in names:
        return urllib3.HTTPResponse(**_ready(answer, method))
    return _Ready(answer, method)


def _ready(answer: Response, method: str) -> dict[str, Any]:
    """What urllib3 makes a response of."""
    headers = urllib3.HTTPHeaderDict(answer.headers)
    headers["content-length"] = str(len(answer.body))
    return {
        "body": _Whole(b"" if answer.bodiless(method) else answer.body),
        "headers": headers,
        "status": answer.status,
        "version": 11,
        "reason": http.client.responses.get(answer.status),
        "preload_content": False,
        "original_response": _Original(headers) if "set-cookie" in headers else None,
        "request_method": method,
    }


class _Ready(urllib3.HTTPResponse):
    """An answer that gives its content at once, and is made urllib3's own when anything else is asked of it.

    Most of its cost is attributes that nobody reads.
    """

    _original_response: Any = None  # requests looks for cookies there

    def __init__(self, answer: Response, method: str) -> None:
        self._pending: tuple[Response, str] | None = (answer, method)
        self._over = False  # whether its content has been read, or it was closed

    def __getattr__(self, name: str) -> Any:
        """Of an attribute that isn't there yet."""
        pending = vars(self).get("_pending")
        if pending is None:
            raise AttributeError(name)
        self._pending = None
        super().__init__(**_ready(*pending))
        if self._over:
            super().read()
        return getattr(self, name)

    def stream(self, amt: int | None = 1 << 16, decode_content: bool | None = None) -> Any:
        if self._pending is None or self._over:
            return super().stream(amt, decode_content)
        answer, method = self._pending
        if amt is not None and len(answer.body) > amt:
            return super().stream(amt, decode_content)
        self._over = True
        return iter(()) if not answer.body or answer.bodiless(method) else iter((answer.body,))

    def close(self) -> None:
        if self._pending is None:
            super().close()
        self._over = True

    @property
    def closed(self) -> bool:
        return super().closed if self._pending is None else self._over


class _Whole(io.BytesIO):
    """Closes itself once it is read, as the body of a connection does: urllib3 streams until then."""

    def read(self, size: int | None = -1, /) -> bytes:
        return self._last(super().read(size))

    def read1(self, size: int | None = -1, /) -> bytes:
        return self._last(super().read1(size))

    def _last(self, data: bytes) -> bytes:
        if self.tell() == len(self.getbuffer()):
            self.close()
        return data


class _Original:
    """What requests reads cookies from."""

    def __init__(self, headers: urllib3.HTTPHeaderDict) -> None:
        self.msg = self
        self.get_all = headers.getlist

    def isclosed(self) -> bool:
        return True

    def close(self) -> None:
        pass


def unreached(fault: Fault, pool: Any) -> Exception | None:
    """What urllib3 has of a fault on the way to the peer, in place of an answer; `None` for one of another kind."""
    exceptions, said = urllib3.exceptions, fault.message or USUAL.get(fault.kind, "")
    match fault.kind:
        case "connect":
            return exceptions.NewConnectionError(pool, said)
        case "dns" if hasattr(exceptions, "NameResolutionError"):
            return exceptions.NameResolutionError(pool.host, pool, socket.gaierror(said))
        case "dns":
            return exceptions.NewConnectionError(pool, said)
        case "certificate":
            return exceptions.SSLError(fault.cause or ssl.SSLCertVerificationError(1, said))
        case "tls":
            return exceptions.SSLError(fault.cause or ssl.SSLError(1, said))
        case "reset":
            gone = ConnectionResetError(errno.ECONNRESET, fault.message or "Connection reset by peer")
            return exceptions.ProtocolError("Connection aborted.", gone)
        case _:
            return None


def streamed(answer: Response, steps: Sequence[Step], method: str, *, measured: bool = True) -> urllib3.HTTPResponse:
    """An answer that arrives step by step; `measured` is whether a body shorter than its length is an error."""
    wire = _Wire(_head(answer), steps, chunked=answer.length is None)
    original = http.client.HTTPResponse(wire, method=method)  # type: ignore[arg-type]  # a socket is only asked for its file
    original.begin()
    return _Raw(
        wire,
        body=original,
        headers=urllib3.HTTPHeaderDict(original.msg.items()),
        status=original.status,
        version=original.version,
        reason=original.reason,
        preload_content=False,
        original_response=original,
        request_method=method,
        enforce_content_length=measured,
    )


def _head(answer: Response) -> bytes:
    reason = http.client.responses.get(answer.status, "")
    lines = [f"HTTP/1.1 {answer.status} {reason}", *(f"{name}: {value}" for name, value in answer.headers)]
    return "\r\n".join([*lines, ": ".join(answer.framed()), "", ""]).encode("latin-1", "replace")


class _Wire(io.RawIOBase):
    """A connection that gives the head and then one step at a time, each in a chunk of its own where the length isn't said."""

    def __init__(self, head: bytes, steps: Sequence[Step], *, chunked: bool) -> None:
        self._chunked = chunked
        self._parts = self._play(head, steps)
        self._rest = memoryview(b"")
        self.raised: BaseException | None = None

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self, 1 << 16)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._rest or memoryview(next(self._parts, b""))
        size = min(len(part), len(buffer))
        buffer[:size] = part[:size]
        self._rest = part[size:]
        return size

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Let the scripted exception out, whatever became of it on the way."""
        try:
            yield
        except Exception:
            if self.raised is None:
                raise
            raise self.raised from None

    def _play(self, head: bytes, steps: Sequence[Step]) -> Iterator[bytes]:
        yield head
        for step in steps:
            if isinstance(step, bytes):
                if step:  # an empty chunk would end the body
                    yield b"%x\r\n%b\r\n" % (len(step), step) if self._chunked else step
            elif isinstance(step, Pause):
                sleep(step.seconds)
            else:
                sleep(step.delay)
                self._fail(step)
                return
        if self._chunked:
            yield b"0\r\n\r\n"

    def _fail(self, fault: Fault) -> None:
        """Raise what a socket would, or just end: then the library finds the body incomplete."""
        if fault.error is not None:
            self.raised = fault.error.with_traceback(None)
            raise self.raised
        if fault.kind == "reset":
            raise ConnectionResetError(errno.ECONNRESET, fault.message or "Connection reset by peer")
        if fault.kind != "disconnect":
            raise TimeoutError(fault.message or "The read operation timed out")


class _Raw(urllib3.HTTPResponse):
    """A streamed body whose scripted exception comes out as it is; urllib3 wraps those that are an `OSError`."""

    def __init__(self, wire: _Wire, **options: Any) -> None:
        self._wire = wire
        super().__init__(**options)

    def stream(self, amt: int | None = 1 << 16, decode_content: bool | None = None) -> Any:
        with self._wire.raising():
            yield from super().stream(amt, decode_content)

    def read_chunked(self, amt: int | None = None, decode_content: bool | None = None) -> Any:
        with self._wire.raising():
            yield from super().read_chunked(amt, decode_content)

    def read(self, *args: Any, **kwargs: Any) -> bytes:
        with self._wire.raising():
            return super().read(*args, **kwargs)

    def read1(self, *args: Any, **kwargs: Any) -> bytes:
        with self._wire.raising():
            return super().read1(*args, **kwargs)
