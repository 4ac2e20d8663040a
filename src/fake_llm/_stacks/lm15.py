"""lm15, which DSPy carries a copy of: a client of HTTP on plain sockets, answered where its transport would open one.

An answer goes through lm15's own parser of heads and bodies, so that what it decodes, and refuses, is what it would of a server
(lm15 1.5, the copy in dspy 3.4, 2026-11).
"""

from __future__ import annotations

import asyncio
import http.client
import sys
from collections.abc import AsyncIterator, Iterator
from functools import lru_cache
from time import sleep
from typing import Any

from fake_llm._model import USUAL, Fault, Handler, Headers, Pause, Request, Response, Step, Timeouts
from fake_llm._stacks import Find, Patch

__all__ = ["mounted", "patches"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


def patches(module: Any, find: Find) -> list[Patch]:
    """The transports' way to an answer, sync and async; that of a page in a browser isn't one of Python."""
    parser(module)

    def choose(original: Any) -> Any:
        def stream(transport: Any, request: Any) -> Any:
            handler = find(request.method, request.url)
            return original(transport, request) if handler is None else _answer(module, transport, request, handler)

        return stream

    def choose_async(original: Any) -> Any:
        async def _do_stream(transport: Any, request: Any) -> Any:
            handler = find(request.method, request.url)
            if handler is None:
                return await original(transport, request)
            return await _answer_async(module, transport, request, handler)

        return _do_stream

    return [(module.StdlibTransport, "stream", choose), (module.StdlibAsyncTransport, "_do_stream", choose_async)]


def mounted(module: Any, transport: Any, handler: Handler) -> list[Patch]:
    """One transport, which every provider's client that shares it sends through."""
    if isinstance(transport, module.StdlibTransport):
        return [(transport, "stream", lambda original: lambda request: _answer(module, transport, request, handler))]

    def choose_async(original: Any) -> Any:
        async def _do_stream(request: Any) -> Any:
            return await _answer_async(module, transport, request, handler)

        return _do_stream

    return [(transport, "_do_stream", choose_async)]


def parser(module: Any) -> Any:
    """The library's own parser of the head of an answer.

    Raises:
        AttributeError: It has moved.
    """
    return sys.modules[f"{module.__name__}._http11"].ResponseHeadParser


def _answer(module: Any, transport: Any, request: Any, handler: Handler) -> Any:
    _check_open(module, transport)
    answer = handler.answer(_read(transport, request))
    if answer.delay:
        sleep(answer.delay)
    if isinstance(answer, Fault):
        raise _error(module, answer)
    head = _parsed(module, answer)
    return module.TransportResponse(
        status=head.status,
        reason=head.reason,
        headers=head.headers,
        http_version=head.http_version,
        chunks=_played(module, answer, head.body_decoder(request.method)),
        release=lambda body_consumed: None,
    )


async def _answer_async(module: Any, transport: Any, request: Any, handler: Handler) -> Any:
    _check_open(module, transport)
    answer = await handler.answer_async(_read(transport, request))
    if answer.delay:
        await asyncio.sleep(answer.delay)
    if isinstance(answer, Fault):
        raise _error(module, answer)
    head = _parsed(module, answer)

    async def release(body_consumed: bool) -> None:
        pass

    return module.AsyncTransportResponse(
        status=head.status,
        reason=head.reason,
        headers=head.headers,
        http_version=head.http_version,
        chunks=_played_async(module, answer, head.body_decoder(request.method)),
        release=release,
    )


def _check_open(module: Any, transport: Any) -> None:
    if transport._closed:
        raise module.TransportError("transport is closed")


def _read(transport: Any, request: Any) -> Request:
    connect, read, write = (
        getattr(request, f"{name}_timeout") or getattr(transport, f"_{name}_timeout", None)
        for name in ("connect", "read", "write")
    )
    return Request(
        request.method,
        request.url,
        Headers(list(request.headers)),
        request.body or b"",
        "lm15",
        _timeouts(connect, read, write, getattr(transport, "_pool_timeout", None)),
    )


@lru_cache(maxsize=64)
def _timeouts(connect: float | None, read: float | None, write: float | None, pool: float | None) -> Timeouts:
    return Timeouts(connect, read, write, pool)


def _parsed(module: Any, answer: Response) -> Any:
    """The head of an answer as the library reads it."""
    reason = http.client.responses.get(answer.status, "")
    lines = [
        f"HTTP/1.1 {answer.status} {reason}",
        *(f"{name}: {value}" for name, value in (*answer.headers, answer.framed())),
    ]
    head = parser(module)()
    head.feed("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))
    return head


def _wire(answer: Response) -> Iterator[Step]:
    """A body as it travels: in one piece, or step by step, each in a chunk of its own where the length isn't said."""
    if answer.steps is None:
        yield answer.body
        return
    for step in answer.steps:
        if not isinstance(step, bytes):
            yield step
        elif step:  # an empty chunk would end the body
            yield b"%x\r\n%b\r\n" % (len(step), step) if answer.length is None else step
    if answer.length is None:
        yield b"0\r\n\r\n"


def _played(module: Any, answer: Response, decoder: Any) -> Iterator[bytes]:
    for step in _wire(answer):
        if decoder.complete:
            return
        if isinstance(step, Pause):
            sleep(step.seconds)
        elif isinstance(step, Fault):
            sleep(step.delay)
            _break(module, step, decoder)
            return
        else:
            yield from decoder.feed(step)


async def _played_async(module: Any, answer: Response, decoder: Any) -> AsyncIterator[bytes]:
    for step in _wire(answer):
        if decoder.complete:
            return
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Fault):
            await asyncio.sleep(step.delay)
            _break(module, step, decoder)
            return
        else:
            for piece in decoder.feed(step):
                yield piece


def _break(module: Any, fault: Fault, decoder: Any) -> None:
    """Fail in the middle of a body; of one that just ends it is the parser that says so."""
    if fault.kind == "disconnect":
        decoder.eof()
        return
    raise _error(module, fault)


def _error(module: Any, fault: Fault) -> BaseException:
    """The library's own exception for a fault."""
    if fault.error is not None:
        return fault.error.with_traceback(None)
    kind, usual = {
        "read_timeout": (module.ReadTimeout, "read timed out waiting for headers"),
        "total_timeout": (module.ReadTimeout, "read timed out waiting for headers"),
        "connect_timeout": (module.ConnectTimeout, "timed out connecting"),
        "write_timeout": (module.WriteTimeout, "write timed out"),
        "pool_timeout": (module.TransportError, "all connections were busy"),
        "connect": (module.ConnectError, f"failed to connect: {USUAL['connect']}"),
        "dns": (module.ConnectError, f"failed to connect: {USUAL['dns']}"),
        "certificate": (module.ConnectError, f"TLS handshake failed: {USUAL['certificate']}"),
        "tls": (module.ConnectError, f"TLS handshake failed: {USUAL['tls']}"),
        "reset": (module.ReadError, f"read failed: {USUAL['reset']}"),
        "disconnect": (module.ReadError, "server closed connection before sending response"),
        "raise": (module.TransportError, "the request failed"),
    }[fault.kind]
    error: BaseException = kind(fault.message or usual)
    return error
