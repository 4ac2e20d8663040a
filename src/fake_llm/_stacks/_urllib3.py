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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from time import sleep
from typing import Any

import urllib3

from fake_llm._model import USUAL, Fault, Headers, Pause, Response, Step, Timeouts

__all__ = ["body", "headers", "streamed", "timeouts", "unreached", "whole"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


def headers(given: Any) -> Headers:
    """The headers of a request."""
    return Headers([_usual(_text(name), _text(value)) for name, value in given.items()])


_USUAL: dict[tuple[str, str], tuple[str, str]] = {}
_SAME = frozenset({"accept", "accept-encoding", "connection", "content-type", "user-agent"})
"""Headers that a client sends with every request: the journal keeps each of them once."""


def _usual(name: str, value: str) -> tuple[str, str]:
    pair = name, value
    if name.lower() not in _SAME or len(_USUAL) > _MANY:
        return _USUAL.get(pair, pair)
    return _USUAL.setdefault(pair, pair)


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
    return _timeouts(*(value if isinstance(value, int | float) else None for value in (connect, read)))


@lru_cache(maxsize=64)
def _timeouts(connect: float | None, read: float | None) -> Timeouts:
    return Timeouts(connect=connect, read=read)


def whole(answer: Response, method: str) -> urllib3.HTTPResponse:
    """An answer that is there already."""
    headers = urllib3.HTTPHeaderDict(answer.headers)
    headers["content-length"] = str(len(answer.body))
    return urllib3.HTTPResponse(
        body=_Whole(b"" if answer.bodiless(method) else answer.body),
        headers=headers,
        status=answer.status,
        version=11,
        reason=http.client.responses.get(answer.status),
        preload_content=False,
        original_response=_Original(headers) if "set-cookie" in headers else None,  # type: ignore[arg-type]  # only its headers are read
        request_method=method,
    )


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
            return exceptions.SSLError(ssl.SSLCertVerificationError(1, said))
        case "tls":
            return exceptions.SSLError(ssl.SSLError(1, said))
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
