"""httpx and httpx2: the library is passed in, so that one file serves both.

Two layers are replaced. The client's choice of a transport answers above whatever else patches transports;
the stock transports answer beneath transports that wrap or extend them (retries live there). Transports
that a test made itself (`MockTransport`, `ASGITransport`, `WSGITransport` and their kind) are left alone.
A wrapper that keeps its inner transport in a slot, a list or a closure isn't recognised and is answered above, as is
every one while a mock stands in place of the stock transports that came after us.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import itemgetter
from time import sleep
from types import FunctionType
from typing import Any, Final
from weakref import WeakSet

from fake_llm._model import (
    NO_TIMEOUTS,
    USUAL,
    Fault,
    Handler,
    HeaderItems,
    Headers,
    Pause,
    Request,
    Response,
    Step,
    Timeouts,
)
from fake_llm._stacks import Find, Patch, leads_to

__all__ = ["mounted", "patches", "transport"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


def _mid_body(steps: Sequence[Step], length: int | None) -> str:
    """What is said of a peer that closes before the body is whole."""
    how = "incomplete chunked read"
    if length is not None:
        how = f"received {sum(len(step) for step in steps if isinstance(step, bytes))} bytes, expected {length}"
    return f"peer closed connection without sending complete message body ({how})"


def patches(module: Any, find: Find) -> list[Patch]:
    """The two layers, sync and async."""
    library = _library(module)
    ours: set[Any] = set()  # a stock transport that sends by one of these asks us itself

    def choose(original: Any) -> Any:
        def _transport_for_url(client: Any, url: Any) -> Any:
            transport = original(client, url)
            beneath = module.HTTPTransport.handle_request
            if type(transport) is module.HTTPTransport and _function(transport.handle_request) in ours:
                return transport
            return transport if library.left_alone(transport, beneath) else library.above(transport, library, find)

        return _transport_for_url

    def choose_async(original: Any) -> Any:
        def _transport_for_url(client: Any, url: Any) -> Any:
            transport = original(client, url)
            beneath = module.AsyncHTTPTransport.handle_async_request
            if type(transport) is module.AsyncHTTPTransport and _function(transport.handle_async_request) in ours:
                return transport
            return (
                transport if library.left_alone(transport, beneath) else library.above_async(transport, library, find)
            )

        return _transport_for_url

    def handle(original: Any) -> Any:
        instrument = _instrument(original)

        def handle_request(transport: Any, request: Any) -> Any:
            url = str(request.url)
            handler = find(request.method, url)
            if handler is None:
                return original(transport, request)
            if instrument is None:
                return library.answer(request, handler, url)
            return instrument(lambda request: library.answer(request, handler, url), transport, (request,), {})

        _beneath.add(handle_request)
        ours.add(handle_request)
        if instrument is not None:
            _instrumented.add(handle_request)
        return handle_request

    def handle_async(original: Any) -> Any:
        instrument = _instrument(original)

        async def handle_async_request(transport: Any, request: Any) -> Any:
            url = str(request.url)
            handler = find(request.method, url)
            if handler is None:
                return await original(transport, request)
            if instrument is None:
                return await library.answer_async(request, handler, url)
            return await instrument(
                lambda request: library.answer_async(request, handler, url), transport, (request,), {}
            )

        _beneath.add(handle_async_request)
        ours.add(handle_async_request)
        if instrument is not None:
            _instrumented.add(handle_async_request)
        return handle_async_request

    return [
        (module.Client, "_transport_for_url", choose),
        (module.AsyncClient, "_transport_for_url", choose_async),
        (module.HTTPTransport, "handle_request", handle),
        (module.AsyncHTTPTransport, "handle_async_request", handle_async),
    ]


_beneath: Final[WeakSet[Any]] = WeakSet()
"""What stands in place of how the stock transports send."""


def _function(method: Any) -> Any:
    """What a method calls; `None` for what was put on one transport alone, or is another thing."""
    return getattr(method, "__func__", None)


_instrumented: Final[WeakSet[Any]] = WeakSet()
"""Those of them that somebody measures."""


def _instrument(original: Any) -> Any:
    """What measures calls of the stock transports, of a wrapper of wrapt's (2.5) such as OpenTelemetry's; `None` without one."""
    return getattr(original, "_self_wrapper", None)


def transport(module: Any, handler: Handler) -> Any:
    """A `MockTransport`, sync and async, whose every request goes to this handler."""
    return _library(module).mounted(handler)


def mounted(module: Any, client: Any, handler: Handler) -> list[Patch]:
    """The client's choice of a transport; its own transports are kept, opened and closed as ever."""
    answering = transport(module, handler)
    return [(client, "_transport_for_url", lambda original: lambda url: answering)]


class _Above:
    """Answers what is claimed, and hands the rest to the transport that the client chose."""

    def __init__(self, inner: Any, library: _Library, find: Find) -> None:
        self._inner = inner
        self._library = library
        self._find = find

    def handle_request(self, request: Any) -> Any:
        url = str(request.url)
        handler = self._find(request.method, url)
        return self._inner.handle_request(request) if handler is None else self._library.answer(request, handler, url)


class _AsyncAbove:
    """`_Above` for an `AsyncClient`."""

    def __init__(self, inner: Any, library: _Library, find: Find) -> None:
        self._inner = inner
        self._library = library
        self._find = find

    async def handle_async_request(self, request: Any) -> Any:
        url = str(request.url)
        handler = self._find(request.method, url)
        if handler is None:
            return await self._inner.handle_async_request(request)
        return await self._library.answer_async(request, handler, url)


class _Mounted:
    """The two halves of a `MockTransport` without a function behind them.

    It answers in terms of the library that asks: a client of the other one may hold it too.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def handle_request(self, request: Any) -> Any:
        return _library_of(request).answer(request, self._handler, str(request.url))

    async def handle_async_request(self, request: Any) -> Any:
        return await _library_of(request).answer_async(request, self._handler, str(request.url))

    def handler(self, request: Any) -> Any:
        """The function of a `MockTransport`; its answer is for clients of both kinds, so it blocks."""
        library = _library_of(request)
        return library.answer(request, self._handler, str(request.url), library.played_either)


def _library_of(request: Any) -> _Library:
    return _library(sys.modules[type(request).__module__.partition(".")[0]])


class _Played:
    """A body played step by step to a client that blocks; closing it lets go of what is left."""

    def __init__(self, steps: Sequence[Step], library: _Library, request: Any, closed: str) -> None:
        self._steps = iter(steps)
        self._ready = set(map(type, steps)) == {bytes}
        self._library = library
        self._request = request
        self._closed = closed

    def __iter__(self) -> Iterator[bytes]:
        return self._steps if self._ready else self  # type: ignore[return-value]  # all of them are bytes

    def __next__(self) -> bytes:
        for step in self._steps:
            if isinstance(step, bytes):
                return step
            if isinstance(step, Pause):
                sleep(step.seconds)
            else:
                self.close()
                sleep(step.delay)
                raise self._library.error(step, self._request, self._closed)
        raise StopIteration

    def close(self) -> None:
        deque(self._steps, maxlen=0)


class _AsyncPlayed:
    """`_Played` on an event loop. Not a generator, so that an abandoned one needs no finalizer of the loop."""

    def __init__(self, steps: Sequence[Step], library: _Library, request: Any, closed: str) -> None:
        self._steps = iter(steps)
        self._library = library
        self._request = request
        self._closed = closed

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for step in self._steps:
            if isinstance(step, bytes):
                return step
            if isinstance(step, Pause):
                await _sleep_async(step.seconds)
            else:
                await self.aclose()
                await _sleep_async(step.delay)
                raise self._library.error(step, self._request, self._closed)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._steps = iter(())


class _EitherPlayed(_Played):
    """`_Played` for a client that may be of either kind."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _AsyncPlayed(tuple(self._steps), self._library, self._request, self._closed)

    async def aclose(self) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Library:
    """httpx or httpx2, with the classes that are made once for it.

    Attributes:
        faults: The exception and its usual message, by the kind of a fault.
        own: The transports a test makes for itself.
        stock: The library's own transports for the network.
        any_transport: The base classes of all transports.
        headers: By their names, headers that were made before, of what, and the names that occur once.
    """

    module: Any
    above: Any
    above_async: Any
    mounted: Any
    played: Any
    played_async: Any
    played_either: Any
    faults: Mapping[str, tuple[Any, str]]
    own: tuple[Any, ...]
    stock: tuple[Any, ...]
    any_transport: tuple[Any, ...]
    headers: dict[tuple[str, ...], tuple[HeaderItems, Any, frozenset[str]]]

    def left_alone(self, transport: Any, beneath: Any) -> bool:
        """Whether this transport runs: it is a test's own, or one that has the stock one beneath it, which sends by `beneath`."""
        if type(transport) in self.stock:  # where it is measured, it runs
            measured = type(beneath) is not FunctionType or beneath in _instrumented
            return measured and leads_to(beneath, _beneath)
        if isinstance(transport, self.own):
            return True
        kept: Mapping[str, Any] = getattr(transport, "__dict__", {})
        wraps = isinstance(transport, self.stock) or any(isinstance(one, self.any_transport) for one in kept.values())
        return wraps and leads_to(beneath, _beneath)

    def answer(self, request: Any, handler: Handler, url: str, played: Any = None) -> Any:
        """The handler's answer for a client that blocks."""
        answer = handler.answer(self._read(request, url, request.read()))
        if answer.delay:
            sleep(answer.delay)
        return self._respond(answer, request, played or self.played)

    async def answer_async(self, request: Any, handler: Handler, url: str) -> Any:
        """The handler's answer for a client on an event loop."""
        answer = await handler.answer_async(self._read(request, url, await request.aread()))
        if answer.delay:
            await _sleep_async(answer.delay)
        return self._respond(answer, request, self.played_async)

    def _read(self, request: Any, url: str, body: bytes) -> Request:
        timeout = request.extensions.get("timeout")
        return Request(
            request.method,
            url,
            Headers(request.headers.raw),
            body,
            self.module.__name__,
            NO_TIMEOUTS if timeout is None else _timeouts(*map(timeout.get, ("connect", "read", "write", "pool"))),
        )

    def _respond(self, answer: Response | Fault, request: Any, played: Any) -> Any:
        if isinstance(answer, Fault):
            raise self.error(answer, request)
        headers = self._headers((*answer.headers, answer.framed()))
        if answer.bodiless(request.method):
            stream = self.module.ByteStream(b"")
        elif answer.steps is None:
            stream = self.module.ByteStream(answer.body)
        else:
            stream = played(answer.steps, self, request, _mid_body(answer.steps, answer.length))
        return self.module.Response(answer.status, headers=headers, stream=stream, request=request)

    def _headers(self, items: HeaderItems) -> Any:
        """The library's headers: of those with the same names a copy in which some values are altered, which takes a third of the time."""
        names = tuple(map(_NAME, items))
        known = self.headers.get(names)
        if known is None:
            lower = [name.lower() for name in names]
            made = self.module.Headers(items)
            if len(self.headers) >= _MOST_HEADERS:
                self.headers.clear()
            self.headers[names] = items, made, frozenset(name for name in names if lower.count(name.lower()) == 1)
            return made
        before, made, single = known
        headers = self.module.Headers(made)
        for pair, old in zip(items, before, strict=True):
            if pair is not old and pair != old:
                name, value = pair
                if name not in single or not value.isascii():
                    return items
                headers[name] = value
        return headers

    def error(self, fault: Fault, request: Any, disconnected: str = "") -> BaseException:
        """The library's own exception for a fault."""
        if fault.error is not None:
            return fault.error.with_traceback(None)
        kind, usual = self.faults[fault.kind]
        if fault.kind == "disconnect" and disconnected:
            usual = disconnected
        error: BaseException = kind(fault.message or usual, request=request)
        return error


_NAME: Final = itemgetter(0)
_MOST_HEADERS: Final = 128


@cache
def _library(module: Any) -> _Library:
    sync, asynchronous, mock = module.BaseTransport, module.AsyncBaseTransport, module.MockTransport
    return _Library(
        module=module,
        above=type("Intercepted", (_Above, sync), {}),
        above_async=type("AsyncIntercepted", (_AsyncAbove, asynchronous), {}),
        mounted=type("FakeLLMTransport", (_Mounted, mock), {}),
        played=type("Played", (_Played, module.SyncByteStream), {}),
        played_async=type("AsyncPlayed", (_AsyncPlayed, module.AsyncByteStream), {}),
        played_either=type("EitherPlayed", (_EitherPlayed, module.SyncByteStream, module.AsyncByteStream), {}),
        faults={
            "read_timeout": (module.ReadTimeout, "The read operation timed out"),
            "total_timeout": (module.ReadTimeout, "The read operation timed out"),  # it has none
            "connect_timeout": (module.ConnectTimeout, "timed out"),
            "write_timeout": (module.WriteTimeout, "The write operation timed out"),
            "pool_timeout": (module.PoolTimeout, "timed out"),
            **{kind: (module.ConnectError, USUAL[kind]) for kind in ("connect", "dns", "certificate", "tls")},
            "reset": (module.ReadError, USUAL["reset"]),
            "disconnect": (module.RemoteProtocolError, "Server disconnected without sending a response."),
            "raise": (module.RequestError, "the request failed"),
        },
        own=(mock, _Mounted, module.ASGITransport, module.WSGITransport),
        stock=(module.HTTPTransport, module.AsyncHTTPTransport),
        any_transport=(sync, asynchronous),
        headers={},
    )


@lru_cache(maxsize=64)
def _timeouts(connect: float | None, read: float | None, write: float | None, pool: float | None) -> Timeouts:
    return Timeouts(connect, read, write, pool)


async def _sleep_async(seconds: float) -> None:
    """Sleep on whatever loop is running."""
    trio = sys.modules.get("trio")
    if trio is not None and _in_trio(trio):
        await trio.sleep(seconds)
    else:
        import asyncio  # slow to load, and loaded here in any case: it runs

        await asyncio.sleep(seconds)


def _in_trio(trio: Any) -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True
