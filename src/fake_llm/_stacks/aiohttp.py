"""aiohttp: a connection in memory, given where a connector would open or reuse one.

What the client writes is read as the HTTP/1.1 that it is, and the answer is written as such, so that
aiohttp's own parser, streams, time-outs and errors are at work. The handler is asked in the client's own task, when it
waits for the head of the answer.
"""

from __future__ import annotations

import asyncio
import errno
import http.client
from collections import deque
from functools import lru_cache
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from fake_llm._model import Fault, Handler, Headers, Pause, Request, Response, Step, Timeouts
from fake_llm._stacks import Find, Patch

__all__ = ["mounted", "patches"]

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
    if connector.closed:
        raise aiohttp.ClientConnectionError("Connector is closed.")
    for trace in traces:
        await trace.send_connection_create_start()
    loop = asyncio.get_running_loop()
    peer = _Peer(loop, req, timeout, handler)
    peer.connection_made(_Transport(peer))
    for trace in traces:
        await trace.send_connection_create_end()
    return Connection(connector, req.connection_key, peer, loop)


class _Peer(ResponseHandler):
    """The client's end of a connection, which plays the other end too."""

    def __init__(self, loop: asyncio.AbstractEventLoop, req: Any, timeout: Any, handler: Handler) -> None:
        super().__init__(loop)
        self._req = req
        self._timeouts = _timeouts(timeout.sock_connect or timeout.connect, timeout.sock_read, timeout.total)
        self._handler: Handler | None = handler
        self._sent = _Sent()
        self._news = asyncio.Event()
        self._steps: deque[Step] = deque()
        self._held = False
        self._withheld = False
        self._gone = False
        self.force_close()  # never into the pool, where somebody else would find it

    # --- what the client does ---

    def written(self, data: bytes) -> None:
        """Bytes of the request."""
        if self._sent.feed(data):
            self.data_received(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._sent.complete or self._buffer:
            self._news.set()

    async def read(self) -> Any:
        """The head of the answer, and of a provisional one before it."""
        if self._handler is not None and not self._buffer:
            await self._news.wait()
            if self._sent.complete and self._exception is None:
                handler, self._handler = self._handler, None
                await self._answered(await handler.answer_async(self._request()))
            else:
                self._news.clear()
        return await super().read()

    def set_exception(self, exc: Any, *cause: Any) -> None:
        super().set_exception(exc, *cause)
        self._news.set()

    def held(self, held: bool) -> None:
        """Whether the client's buffers are full."""
        self._held = held
        if self._withheld and not held:
            self._withheld = False
            self._loop.call_soon(self._play)

    def close_peer(self) -> None:
        """The client has gone: let go of what is left."""
        self._steps.clear()
        self._news.set()
        if not self._gone:
            self._loop.call_soon(self._lost)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._gone = True
        super().connection_lost(exc)

    def _lost(self) -> None:
        if not self._gone:
            self.connection_lost(None)

    # --- what the peer does ---

    def _request(self) -> Request:
        return Request(
            self._req.method,
            str(self._req.url),
            Headers(self._sent.headers),
            self._sent.body,
            "aiohttp",
            self._timeouts,
        )

    async def _answered(self, answer: Response | Fault) -> None:
        if isinstance(answer, Fault):
            if answer.delay:
                await asyncio.sleep(answer.delay)
            self._refuse(answer)
            return
        head = _head(answer)
        self._steps.extend(
            [head + answer.body] if answer.steps is None else [head, *map(_chunk, answer.steps), b"0\r\n\r\n"]
        )
        if answer.delay:
            self._loop.call_later(answer.delay, self._play)
        else:
            self._play()

    def _refuse(self, fault: Fault) -> None:
        """Fail in place of an answer."""
        if fault.kind == "disconnect":
            self._lost()
            return
        raise _error(fault, self._req)

    def _play(self) -> None:
        """One step, and the next one when the client has had its turn."""
        if self._held:
            self._withheld = True
        if self._held or not self._steps:
            return
        step = self._steps.popleft()
        if isinstance(step, bytes):
            if step:
                self.data_received(step)
            if self._steps:
                self._loop.call_soon(self._play)
        elif isinstance(step, Pause):
            self._loop.call_later(step.seconds, self._play)
        elif step.delay:
            self._loop.call_later(step.delay, self._break, step)
        else:
            self._break(step)

    def _break(self, fault: Fault) -> None:
        """Fail in the middle of a body."""
        self._steps.clear()
        payload = self._payload
        if fault.kind == "disconnect" or payload is None:
            self._lost()
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
        self._peer.written(bytes(data))

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
        self.body = b""
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
        return waits and not self.complete

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
            if len(self._data) >= self._length:
                self.body, self.complete = bytes(self._data[: self._length]), True
            return
        while (end := self._data.find(b"\r\n")) >= 0:
            size = int(self._data[:end].partition(b";")[0], 16)
            start = end + 2
            if len(self._data) < start + size + 2:
                return
            self.body += bytes(self._data[start : start + size])
            del self._data[: start + size + 2]
            if not size:
                self.complete = True
                return


def _chunk(step: Step) -> Step:
    """A step as it travels: one chunk, as an empty one would end the body."""
    return b"%x\r\n%b\r\n" % (len(step), step) if isinstance(step, bytes) and step else step


def _head(answer: Response) -> bytes:
    reason = http.client.responses.get(answer.status, "")
    length = f"content-length: {len(answer.body)}" if answer.steps is None else "transfer-encoding: chunked"
    lines = [f"HTTP/1.1 {answer.status} {reason}", *(f"{name}: {value}" for name, value in answer.headers), length]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


@lru_cache(maxsize=64)
def _timeouts(connect: float | None, read: float | None, total: float | None) -> Timeouts:
    return Timeouts(connect=connect, read=read, total=total)


def _error(fault: Fault, req: Any) -> BaseException:
    """The library's own exception for a fault."""
    if fault.error is not None:
        return fault.error.with_traceback(None)
    match fault.kind:
        case "total_timeout":
            return TimeoutError()
        case "connect_timeout" | "pool_timeout":
            return aiohttp.ConnectionTimeoutError(fault.message or f"Connection timeout to host {req.url}")
        case "connect":
            refused = ConnectionRefusedError(errno.ECONNREFUSED, fault.message or "Connect call failed")
            return aiohttp.ClientConnectorError(req.connection_key, refused)
        case _:
            return aiohttp.SocketTimeoutError(fault.message or READ_TIMED_OUT)
