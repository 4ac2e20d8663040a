"""requests: answers at the session's choice of an adapter, so that custom adapters are covered and `responses` composes.

A whole answer is handed over ready. A streamed one goes through the library's real parser: the steps become
HTTP/1.1 chunks of a connection in memory, one read each, so that `iter_content`, `iter_lines` and
`raw` cut them as they cut a server's, and a broken body fails as a server's does.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator, Sequence
from functools import lru_cache
from time import sleep
from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter
from requests.cookies import extract_cookies_to_jar
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from fake_llm._model import NO_TIMEOUTS, Fault, Handler, Headers, Pause, Request, Response, Step, Timeouts
from fake_llm._stacks import Find, Patch

__all__ = ["adapter", "mounted", "patches"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


def patches(module: Any, find: Find) -> list[Patch]:
    """The session's choice of an adapter."""

    def choose(original: Any) -> Any:
        def get_adapter(session: Any, url: str) -> Any:
            chosen = original(session, url)
            return chosen if isinstance(chosen, _Mounted) else _Above(chosen, find)

        return get_adapter

    return [(module.Session, "get_adapter", choose)]


def adapter(handler: Handler) -> BaseAdapter:
    """An adapter whose every request goes to this handler."""
    return _Mounted(handler)


def mounted(module: Any, session: Any, handler: Handler) -> list[Patch]:
    """The session's choice of an adapter; its own adapters are kept, and closed as ever."""
    answering = adapter(handler)
    return [(session, "get_adapter", lambda original: lambda url: answering)]


class _Above(BaseAdapter):
    """Answers what is claimed, and is the chosen adapter for all else."""

    def __init__(self, inner: Any, find: Find) -> None:
        self._inner = inner
        self._find = find

    def send(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        handler = self._find(request.method, request.url)
        if handler is None:
            return self._inner.send(request, *args, **kwargs)
        return _answer(self, request, handler, *args, **kwargs)

    def close(self) -> None:
        self._inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Mounted(BaseAdapter):
    """Answers everything."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler

    def send(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return _answer(self, request, self._handler, *args, **kwargs)

    def close(self) -> None:
        pass


def _answer(
    connection: BaseAdapter,
    prepared: Any,
    handler: Handler,
    stream: bool = False,
    timeout: Any = None,
    *_: Any,
    **__: Any,
) -> Any:
    answer = handler.answer(_read(prepared, timeout))
    if answer.delay:
        sleep(answer.delay)
    if isinstance(answer, Fault):
        raise _error(answer, prepared)
    response: Any = requests.Response()
    response.status_code = answer.status
    response.url = prepared.url
    response.request = prepared
    response.connection = connection
    raw = _whole(answer, prepared) if answer.steps is None else _streamed(answer, answer.steps, prepared)
    response.raw = raw
    response.reason = raw.reason or ""
    response.headers = CaseInsensitiveDict(raw.headers)
    response.encoding = get_encoding_from_headers(response.headers)
    if "set-cookie" in response.headers:
        extract_cookies_to_jar(response.cookies, prepared, raw)  # type: ignore[no-untyped-call]  # of the library
    if answer.steps is None and not stream and "content-encoding" not in response.headers:
        response._content = answer.body
    return response


def _read(prepared: Any, timeout: Any) -> Request:
    return Request(
        prepared.method,
        prepared.url,
        Headers([(_text(name), _text(value)) for name, value in prepared.headers.items()]),
        _body(prepared.body),
        "requests",
        _read_timeouts(timeout),
    )


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _body(body: Any) -> bytes:
    """A body in each form that requests sends: bytes, text, a file, an iterable of pieces."""
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "read"):
        return _body(body.read())
    if isinstance(body, bytearray | memoryview):
        return bytes(body)
    return b"".join(_body(piece) for piece in body)


def _read_timeouts(timeout: Any) -> Timeouts:
    if timeout is None:
        return NO_TIMEOUTS
    if isinstance(timeout, urllib3.Timeout):
        return _timeouts(_seconds(timeout.connect_timeout), _seconds(timeout.read_timeout))
    if not isinstance(timeout, tuple):
        return _timeouts(timeout, timeout)
    if len(timeout) != 2:
        raise ValueError(f"Invalid timeout {timeout}. Pass a (connect, read) timeout tuple, or a single float.")
    return _timeouts(*timeout)


def _seconds(value: Any) -> float | None:
    """A time-out of urllib3, which has a sentinel for its default."""
    return value if isinstance(value, int | float) else None


@lru_cache(maxsize=64)
def _timeouts(connect: float | None, read: float | None) -> Timeouts:
    return Timeouts(connect=connect, read=read)


def _error(fault: Fault, prepared: Any) -> BaseException:
    """The exception that requests raises for a fault before the answer, with what urllib3 would put into it."""
    if fault.error is not None:
        return fault.error.with_traceback(None)
    exceptions = requests.exceptions
    said = fault.message
    match fault.kind:
        case "read_timeout":
            return exceptions.ReadTimeout(said or "Read timed out.", request=prepared)
        case "connect_timeout":
            return exceptions.ConnectTimeout(said or "Connection timed out.", request=prepared)
        case "write_timeout":
            broken = urllib3.exceptions.ProtocolError(
                "Connection aborted.", TimeoutError(said or "The write operation timed out")
            )
            return exceptions.ConnectionError(broken, request=prepared)
        case "disconnect":
            closed = http.client.RemoteDisconnected(said or "Remote end closed connection without response")
            return exceptions.ConnectionError(
                urllib3.exceptions.ProtocolError("Connection aborted.", closed), request=prepared
            )
        case "pool_timeout":
            return exceptions.ConnectionError(
                said or "Pool is empty and no new connections are allowed.", request=prepared
            )
        case _:
            return exceptions.ConnectionError(said or "[Errno 111] Connection refused", request=prepared)


def _whole(answer: Response, prepared: Any) -> urllib3.HTTPResponse:
    headers = urllib3.HTTPHeaderDict(answer.headers)
    headers["content-length"] = str(len(answer.body))
    return urllib3.HTTPResponse(
        body=io.BytesIO(answer.body),
        headers=headers,
        status=answer.status,
        version=11,
        reason=http.client.responses.get(answer.status),
        preload_content=False,
        original_response=_Original(headers) if "set-cookie" in headers else None,  # type: ignore[arg-type]  # only its headers are read
        request_method=prepared.method,
    )


class _Original:
    """What requests reads cookies from."""

    def __init__(self, headers: urllib3.HTTPHeaderDict) -> None:
        self.msg = self
        self.get_all = headers.getlist

    def isclosed(self) -> bool:
        return True

    def close(self) -> None:
        pass


def _streamed(answer: Response, steps: Sequence[Step], prepared: Any) -> urllib3.HTTPResponse:
    wire = _Wire(_head(answer), steps)
    original = http.client.HTTPResponse(wire, method=prepared.method)  # type: ignore[arg-type]  # a socket is only asked for its file
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
        request_method=prepared.method,
    )


def _head(answer: Response) -> bytes:
    reason = http.client.responses.get(answer.status, "")
    lines = [f"HTTP/1.1 {answer.status} {reason}", *(f"{name}: {value}" for name, value in answer.headers)]
    return "\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode("latin-1", "replace")


class _Wire(io.RawIOBase):
    """A connection that gives the head and then one step at a time, each in a chunk of its own."""

    def __init__(self, head: bytes, steps: Sequence[Step]) -> None:
        self._parts = self._play(head, steps)
        self._rest = b""
        self.raised: BaseException | None = None

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(self, 1 << 16)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._rest or next(self._parts, b"")
        size = min(len(part), len(buffer))
        buffer[:size] = part[:size]
        self._rest = part[size:]
        return size

    def _play(self, head: bytes, steps: Sequence[Step]) -> Iterator[bytes]:
        yield head
        for step in steps:
            if isinstance(step, bytes):
                if step:  # an empty chunk would end the body
                    yield b"%x\r\n%b\r\n" % (len(step), step)
            elif isinstance(step, Pause):
                sleep(step.seconds)
            else:
                sleep(step.delay)
                self._fail(step)
                return
        yield b"0\r\n\r\n"

    def _fail(self, fault: Fault) -> None:
        """Raise what a socket would, or just end: then the library finds the body incomplete."""
        if fault.error is not None:
            self.raised = fault.error.with_traceback(None)
            raise self.raised
        if fault.kind != "disconnect":
            raise TimeoutError(fault.message or "The read operation timed out")


class _Raw(urllib3.HTTPResponse):
    """A streamed body whose scripted exception comes out as it is; urllib3 wraps those that are an `OSError`."""

    def __init__(self, wire: _Wire, **options: Any) -> None:
        self._wire = wire
        super().__init__(**options)

    def stream(self, amt: int | None = 1 << 16, decode_content: bool | None = None) -> Any:
        try:
            yield from super().stream(amt, decode_content)
        except Exception:
            if self._wire.raised is None:
                raise
            raise self._wire.raised from None

    def read(self, *args: Any, **kwargs: Any) -> bytes:
        try:
            return super().read(*args, **kwargs)
        except Exception:
            if self._wire.raised is None:
                raise
            raise self._wire.raised from None
