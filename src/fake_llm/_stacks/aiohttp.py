"""aiohttp: a connection in memory, given where a connector would open or reuse one.

What the client writes is read as the HTTP/1.1 that it is, and the answer is written as such, so that
aiohttp's own parser, streams, time-outs and errors are at work. The handler is asked in the client's own task, when it
waits for the head of the answer.
"""

from __future__ import annotations

import asyncio
import errno
import http.client
import socket
import ssl
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from fake_llm._model import USUAL, Fault, Handler, Headers, Pause, Request, Response, Step, Timeouts
from fake_llm._stacks import Find, Patch

__all__ = ["mounted", "patches"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

READ_TIMED_OUT: Final = "Timeout on reading data from socket"


def patches(module: Any, find: Find) -> list[Patch]:
    """The way to a connection: above the pool, which may hold one to the real host."""

    def choose(original: Any) -> Any:
        async def connect(connector: Any, req: Any, traces: Any, timeout: Any) -> Any:
            handler = find(req.method, str(req.url))
            if handler is None:
                return await original(connector, req, traces, timeout)
            return await _connect(connector, req, traces, timeout, handler)

        return connect

    return [(module.TCPConnector, "connect", choose)]


def mounted(module: Any, session: Any, handler: Handler) -> list[Patch]:
    """The session's connector; it is closed with the session as ever."""
    return [(session, "_connector", lambda original: _Mounted(original, handler))]


class _Mounted:
    """Answers everything, and is the session's own connector for all else."""

    def __init__(self, inner: Any, handler: Handler) -> None:
        self._inner = inner
        self._handler = handler

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:
        return await _connect(self._inner, req, traces, timeout, self._handler)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def _connect(connector: Any, req: Any, traces: Any, timeout: Any, handler: Handler) -> Any:
    """A connection that counts as one of the connector's: its limits are kept, and it is closed with it."""
    key, loop = req.connection_key, asyncio.get_running_loop()
    async with asyncio.timeout(timeout.connect or None):
        await _wait_for_a_place(connector, key, traces)
    if connector.closed:
        raise aiohttp.ClientConnectionError("Connector is closed.")
    peer = _Peer(loop, req, timeout, handler, connector)
    peer.connection_made(_Transport(peer))
    connection = Connection(connector, key, peer, loop)
    connector._acquired.add(peer)
    if connector._limit_per_host:
        connector._acquired_per_host[key].add(peer)
    try:
        for trace in traces:
            await trace.send_connection_create_start()
            await trace.send_connection_create_end()
    except BaseException:
        connection.close()
        raise
    return connection


async def _wait_for_a_place(connector: Any, key: Any, traces: Any) -> None:
    """Wait as aiohttp does where the limits of the connector are reached.

    A handler that asks by the same connector plays the server then, and a server takes none of a client's connections.
    """
    while not connector.closed and connector._available_connections(key) <= 0 and not _answering.get():
        for peer in connector._acquired:
            if isinstance(peer, _Peer):
                peer.hurry()
        if hasattr(connector, "_wait_for_available_connection"):
            await connector._wait_for_available_connection(key, traces)
        else:  # aiohttp 3.10.0 to 3.10.5
            await _wait_in_line(connector, key)


async def _wait_in_line(connector: Any, key: Any) -> None:
    place = asyncio.get_running_loop().create_future()
    connector._waiters[key].append(place)
    try:
        await place
    finally:
        waiters = connector._waiters.get(key, ())
        if place in waiters:
            waiters.remove(place)
        if not waiters:
            connector._waiters.pop(key, None)


_answering: Final = ContextVar("_answering", default=False)
"""Whether a handler is being asked, in this task or what it has started."""


class _Peer(ResponseHandler):
    """The client's end of a connection, which plays the other end too."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, req: Any, timeout: Any, handler: Handler, connector: Any
    ) -> None:
        super().__init__(loop)
        self._connector = connector
        self._req = req
        self._timeouts = _timeouts(
            timeout.sock_connect or timeout.connect or None, timeout.sock_read or None, timeout.total or None
        )
        self._handler: Handler | None = handler
        self._asking: asyncio.Timeout | None = None
        self._sent = _Sent()
        self._news = asyncio.Event()
        self._steps: Iterator[Step] = iter(())
        self._streamed = False
        self._next: asyncio.Handle | None = None
        self._held = False
        self._gone = False
        self._should_close = True  # never into the pool, where somebody else would find it

    # --- what the client does ---

    def written(self, data: Any) -> None:
        """Bytes of the request."""
        if self._sent.feed(data):
            self.data_received(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._sent.complete or self._buffer:
            self._news.set()

    async def read(self) -> Any:
        """The head of the answer, and of a provisional one before it."""
        if self._sent.complete:
            await asyncio.sleep(
                0
            )  # aiohttp 3.10 has a task that writes, even nothing, and is to run before the answer is there
        while self._handler is not None and not self._buffer and self._exception is None and not self._gone:
            if not self._sent.complete:
                self._news.clear()
                await self._news.wait()
                continue
            handler, self._handler = self._handler, None
            await self._answered(await self._ask(handler))
        return await super().read()

    async def _ask(self, handler: Handler) -> Response | Fault:
        """The handler's answer; a turn that takes its time is cut short by the client's own time-out."""
        token = _answering.set(True)
        try:
            async with asyncio.timeout(None) as self._asking:
                return await handler.answer_async(self._request())
        except TimeoutError:
            if self._exception is None:
                raise
            raise self._exception from None
        finally:
            self._asking = None
            _answering.reset(token)

    def set_exception(self, exc: Any, *cause: Any, **options: Any) -> None:
        super().set_exception(exc, *cause, **options)
        self._news.set()
        if self._asking is not None:
            self._asking.reschedule(self._loop.time())

    def resume_reading(self, *args: Any, **options: Any) -> None:
        """Go on once the client has read all that it got: so it sees each step of a body before what comes next."""
        if not self._ahead():
            super().resume_reading(*args, **options)

    def hurry(self) -> None:
        """Somebody waits for a connection: send on without waiting for the reader, as any server does."""
        if self._streamed and self._reading_paused:
            self._streamed = False
            super().resume_reading()
        self._streamed = False

    def held(self, held: bool) -> None:
        """Whether the client has yet to read what it got."""
        self._held = held
        if not held:
            self._soon()

    def close_peer(self) -> None:
        """The client has gone: let go of what is left."""
        self._steps = iter(())
        self._news.set()
        self._cancel()
        if not self._gone and not self._loop.is_closed():
            self._loop.call_soon(self._lost)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._gone = True
        super().connection_lost(exc)

    def _lost(self, error: BaseException | None = None) -> None:
        if not self._gone:
            self.connection_lost(error)

    # --- what the peer does ---

    def _request(self) -> Request:
        return Request(
            self._req.method,
            str(self._req.url),
            Headers(self._sent.headers),
            bytes(self._sent.body),
            "aiohttp",
            self._timeouts,
        )

    async def _answered(self, answer: Response | Fault) -> None:
        if isinstance(answer, Fault):
            if answer.delay:
                await asyncio.sleep(answer.delay)
            raise _error(answer, self._req, "Server disconnected")
        self._streamed = answer.steps is not None
        self._steps = _wire(answer, self._req.method)
        if answer.delay:
            self._later(answer.delay, self._play)
        else:
            self._play()

    def _play(self) -> None:
        """One step, and the next one when the client has read it."""
        self._cancel()
        if self._held:
            return
        step = next(self._steps, None)
        if isinstance(step, bytes):
            if step:
                self.data_received(step)
            if self._ahead():
                self.pause_reading()
            self._soon()
        elif isinstance(step, Pause):
            self._later(step.seconds, self._play)
        elif step is not None:
            self._later(step.delay, self._break, step)

    def _soon(self) -> None:
        if self._next is None and not self._held and not self._gone:
            self._next = self._loop.call_soon(self._play)

    def _later(self, seconds: float, then: Any, *args: Any) -> None:
        self._next = self._loop.call_later(seconds, then, *args) if seconds else self._loop.call_soon(then, *args)

    def _cancel(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _ahead(self) -> bool:
        """Whether the next step waits for the client, which has bytes of the body that it hasn't read; not while others wait."""
        unread = self._streamed and bool(getattr(self._payload, "_buffer", None))
        return unread and not any(self._connector._waiters.values())

    def _break(self, fault: Fault) -> None:
        """Fail in the middle of a body."""
        self._steps = iter(())
        payload = self._payload
        if fault.kind in ("disconnect", "reset") or payload is None:
            self._lost(_error(fault, self._req) if fault.kind == "reset" else None)
            return
        error = _error(fault, self._req)
        self.set_exception(error)
        payload.set_exception(error)


class _Transport(asyncio.Transport):
    """Carries what the client writes to the peer."""

    def __init__(self, peer: _Peer) -> None:
        super().__init__()
        self._peer = peer
        self._closing = False

    def write(self, data: Any) -> None:
        self._peer.written(data)

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            self._peer.close_peer()

    def abort(self) -> None:
        self.close()

    def pause_reading(self) -> None:
        self._peer.held(True)

    def resume_reading(self) -> None:
        self._peer.held(False)

    def is_reading(self) -> bool:
        return True


class _Sent:
    """A request as it is written: its headers, and its body by length or in chunks."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.complete = False
        self._data = bytearray()
        self._head = False
        self._length = 0
        self._chunked = False

    def feed(self, data: bytes) -> bool:
        """Take bytes in; whether the client now waits to be told to go on."""
        self._data += data
        waits = not self._head and self._read_head()
        if self._head and not self.complete:
            self._read_body()
        return waits

    def _read_head(self) -> bool:
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return False
        lines = bytes(self._data[:end]).split(b"\r\n")[1:]
        del self._data[: end + 4]
        self.headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        known = {name.lower(): value.lower() for name, value in self.headers}
        self._length = int(known.get(b"content-length", b"0"))
        self._chunked = known.get(b"transfer-encoding") == b"chunked"
        self._head = True
        return known.get(b"expect") == b"100-continue"

    def _read_body(self) -> None:
        if not self._chunked:
            self.body += self._data
            self._data.clear()
            self.complete = len(self.body) >= self._length
            return
        while (end := self._data.find(b"\r\n")) >= 0:
            size = int(self._data[:end].partition(b";")[0], 16)
            start = end + 2
            if len(self._data) < start + size + 2:
                return
            self.body += self._data[start : start + size]
            del self._data[: start + size + 2]
            if not size:
                self.complete = True
                return


def _wire(answer: Response, method: str) -> Iterator[Step]:
    """An answer as it travels, step by step: the head, then each step of the body, in a chunk of its own where the length isn't said."""
    head = _head(answer)
    if answer.steps is None or answer.bodiless(method):
        yield head if answer.bodiless(method) else head + answer.body
        return
    yield head
    for step in answer.steps:
        if not isinstance(step, bytes):
            yield step
        elif step:  # an empty chunk would end the body
            yield b"%x\r\n%b\r\n" % (len(step), step) if answer.length is None else step
    if answer.length is None:
        yield b"0\r\n\r\n"


def _head(answer: Response) -> bytes:
    reason = http.client.responses.get(answer.status, "")
    lines = [
        f"HTTP/1.1 {answer.status} {reason}",
        *(f"{name}: {value}" for name, value in (*answer.headers, answer.framed())),
    ]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


@lru_cache(maxsize=64)
def _timeouts(connect: float | None, read: float | None, total: float | None) -> Timeouts:
    return Timeouts(connect=connect, read=read, total=total)


def _error(fault: Fault, req: Any, disconnected: str = "") -> BaseException:
    """The library's own exception for a fault."""
    if fault.error is not None:
        return fault.error.with_traceback(None)
    match fault.kind:
        case "total_timeout":
            return TimeoutError(fault.message) if fault.message else TimeoutError()
        case "connect_timeout" | "pool_timeout":
            return aiohttp.ConnectionTimeoutError(fault.message or f"Connection timeout to host {req.url}")
        case "connect":
            refused = ConnectionRefusedError(errno.ECONNREFUSED, fault.message or "Connect call failed")
            return aiohttp.ClientConnectorError(req.connection_key, fault.cause or refused)
        case "dns":
            unknown = socket.gaierror(socket.EAI_NONAME, fault.message or "Name or service not known")
            kind = getattr(aiohttp, "ClientConnectorDNSError", aiohttp.ClientConnectorError)  # new in 3.11
            return kind(req.connection_key, fault.cause or unknown)
        case "certificate":
            untrusted = ssl.SSLCertVerificationError(1, fault.message or USUAL["certificate"])
            return aiohttp.ClientConnectorCertificateError(req.connection_key, fault.cause or untrusted)
        case "tls":
            failed = ssl.SSLError(1, fault.message or USUAL["tls"])
            return aiohttp.ClientConnectorSSLError(req.connection_key, fault.cause or failed)
        case "reset":
            return aiohttp.ClientOSError(errno.ECONNRESET, fault.message or "Connection reset by peer")
        case "disconnect":
            return aiohttp.ServerDisconnectedError(fault.message or disconnected)
        case _:
            return aiohttp.SocketTimeoutError(fault.message or READ_TIMED_OUT)
