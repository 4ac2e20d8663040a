"""Every HTTP library in every mode that it has, behind one interface, so that one list of cases judges all of the stacks.

A case is a coroutine; on a client that blocks it never waits. `LIBRARIES` holds what is installed; what a library
hasn't (redirects, hooks) isn't in its `can`.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import io
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from _capability import has
from _ids import shown
from fake_llm._model import Headers
from stacks._support import URL

__all__ = ["LIBRARIES", "Got", "Library", "each", "run"]


@dataclass
class Got:
    """An answer: its head, its body where it was read, and the library's own object."""

    status: int
    headers: Mapping[str, str]
    response: Any
    body: bytes = b""


class Library:
    """One library in one mode.

    Attributes:
        can: `redirects`, `hooks`, `multipart`, `no timeouts`, `total` (it has a time-out of the whole exchange).
        before: The class of a fault before the answer, by its kind.
        middle: The class in the middle of a body that is streamed, `whole` in one that is read at once, if that is another.
        keeps: The scripted exceptions that come out as they are.
    """

    name: str
    can: frozenset[str] = frozenset({"redirects", "hooks", "multipart", "no timeouts"})
    before: Mapping[str, str]
    middle: Mapping[str, str]
    whole: Mapping[str, str] = {}
    keeps: frozenset[str] = frozenset({"LookupError", "OSError", "own"})

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def __repr__(self) -> str:
        return f"{self.name}-{self.mode}"

    @property
    def is_async(self) -> bool:
        return self.mode != "sync"

    @property
    def module(self) -> Any:
        return importlib.import_module(self.name)

    def error(self, name: str) -> type[BaseException]:
        """A class by its path, in the library unless it has a module."""
        module, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(module) if module else self.module, attribute)

    def said(self, error: BaseException) -> str:
        """What an exception says, with that of which it was made."""
        return str(error)

    async def made(
        self,
        *,
        connect: float | None = None,
        read: float | None = None,
        total: float | None = None,
        follow: bool = False,
        seen: list[str] | None = None,
        trust: bool = False,
    ) -> Any:
        """A client, with what it shall see of each exchange in `seen`, and whether it takes proxies from the environment."""
        raise NotImplementedError

    async def close(self, client: Any) -> None:
        client.close()

    async def send(
        self, client: Any, url: str = URL, body: Any = b"{}", *, method: str = "POST", upload: Any = None
    ) -> Got:
        """An exchange whose body is read at once."""
        raise NotImplementedError

    async def open(self, client: Any, url: str = URL, body: Any = b"{}", *, method: str = "POST") -> Got:
        """An exchange whose body is to be read in pieces."""
        raise NotImplementedError

    def pieces(self, got: Got) -> AsyncIterator[bytes]:
        """The body as it comes."""
        raise NotImplementedError

    async def again(self, got: Got) -> bytes:
        """The body of a whole read, once more."""
        raise NotImplementedError

    async def leave(self, got: Got) -> None:
        """Close a stream."""
        got.response.close()


@functools.cache
def trusting() -> ssl.SSLContext:
    """TLS as a client has it who trusts what the environment says."""
    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE"))


class Httpx(Library):
    name = "httpx"
    before: Mapping[str, str] = {
        "read_timeout": "ReadTimeout",
        "total_timeout": "ReadTimeout",
        "connect_timeout": "ConnectTimeout",
        "write_timeout": "WriteTimeout",
        "pool_timeout": "PoolTimeout",
        "connect": "ConnectError",
        "dns": "ConnectError",
        "certificate": "ConnectError",
        "tls": "ConnectError",
        "reset": "ReadError",
        "disconnect": "RemoteProtocolError",
    }
    middle: Mapping[str, str] = {
        "read_timeout": "ReadTimeout",
        "total_timeout": "ReadTimeout",
        "reset": "ReadError",
        "disconnect": "RemoteProtocolError",
    }

    async def _do(self, called: Any) -> Any:
        return await called if self.is_async else called

    async def made(
        self, *, connect=None, read=None, total=None, follow=False, seen=None, trust=False, **options: Any
    ) -> Any:
        def note(message: Any) -> None:
            seen.append("request" if hasattr(message, "method") else "response")

        async def note_async(message: Any) -> None:
            note(message)

        if seen is not None:
            hook = note_async if self.is_async else note
            options["event_hooks"] = {"request": [hook], "response": [hook]}
        if not trust:  # of the environment it would have one certificate to trust, else it parses a whole bundle
            options.setdefault("verify", trusting())
        timeout = self.module.Timeout(None, connect=connect, read=read, write=read)
        kind = self.module.AsyncClient if self.is_async else self.module.Client
        return kind(timeout=timeout, follow_redirects=follow, trust_env=trust, **options)

    async def close(self, client: Any) -> None:
        await self._do(client.aclose() if self.is_async else client.close())

    async def send(self, client, url=URL, body: Any = b"{}", *, method="POST", upload=None) -> Got:
        options = {"content": body} if upload is None else {"files": {"file": ("a.bin", upload)}, "data": {"k": "v"}}
        response = await self._do(client.request(method, url, **options))
        return Got(response.status_code, response.headers, response, response.content)

    async def open(self, client, url=URL, body: Any = b"{}", *, method="POST") -> Got:
        response = await self._do(client.send(client.build_request(method, url, content=body), stream=True))
        return Got(response.status_code, response.headers, response)

    async def pieces(self, got: Got) -> AsyncIterator[bytes]:
        if self.is_async:
            pieces = got.response.aiter_raw()
            try:
                async for piece in pieces:
                    yield piece
            finally:
                await pieces.aclose()
        else:
            for piece in got.response.iter_raw():
                yield piece

    async def again(self, got: Got) -> bytes:
        return await got.response.aread() if self.is_async else got.response.read()

    async def leave(self, got: Got) -> None:
        await self._do(got.response.aclose() if self.is_async else got.response.close())


class Httpx2(Httpx):
    name = "httpx2"


class Requests(Library):
    name = "requests"
    before: Mapping[str, str] = {
        "read_timeout": "ReadTimeout",
        "total_timeout": "ReadTimeout",
        "connect_timeout": "ConnectTimeout",
        "write_timeout": "ConnectionError",
        "pool_timeout": "ConnectionError",
        "connect": "ConnectionError",
        "dns": "ConnectionError",
        "certificate": "requests.exceptions.SSLError",
        "tls": "requests.exceptions.SSLError",
        "reset": "ConnectionError",
        "disconnect": "ConnectionError",
    }
    middle: Mapping[str, str] = {
        "read_timeout": "ConnectionError",
        "total_timeout": "ConnectionError",
        "reset": "requests.exceptions.ChunkedEncodingError",
        "disconnect": "requests.exceptions.ChunkedEncodingError",
    }

    async def made(
        self, *, connect=None, read=None, total=None, follow=False, seen=None, trust=False, **options: Any
    ) -> Any:
        session = self.module.Session()
        session.trust_env = trust
        if seen is not None:
            session.hooks["response"].append(lambda response, **_: seen.append("response"))
        session.asked = {"timeout": (connect, read), "allow_redirects": follow}
        return session

    async def send(self, client, url=URL, body: Any = b"{}", *, method="POST", upload=None) -> Got:
        options = {"data": body} if upload is None else {"files": {"file": ("a.bin", upload)}, "data": {"k": "v"}}
        response = client.request(method, url, **options, **client.asked)
        return Got(response.status_code, response.headers, response, response.content)

    async def open(self, client, url=URL, body: Any = b"{}", *, method="POST") -> Got:
        response = client.request(method, url, data=body, stream=True, **client.asked)
        return Got(response.status_code, response.headers, response)

    async def pieces(self, got: Got) -> AsyncIterator[bytes]:
        for piece in got.response.iter_content(None):
            yield piece

    async def again(self, got: Got) -> bytes:
        return got.response.content


class Aiohttp(Library):
    name = "aiohttp"
    can = Library.can | {"total"}
    before: Mapping[str, str] = {
        "read_timeout": "SocketTimeoutError",
        "total_timeout": "builtins.TimeoutError",
        "connect_timeout": "ConnectionTimeoutError",
        "write_timeout": "SocketTimeoutError",
        "pool_timeout": "ConnectionTimeoutError",
        "connect": "ClientConnectorError",
        "dns": "ClientConnectorDNSError",
        "certificate": "ClientConnectorCertificateError",
        "tls": "ClientConnectorSSLError",
        "reset": "ClientOSError",
        "disconnect": "ServerDisconnectedError",
    }
    middle: Mapping[str, str] = {
        "read_timeout": "SocketTimeoutError",
        "total_timeout": "builtins.TimeoutError",
        "reset": "ClientPayloadError",
        "disconnect": "ClientPayloadError",
    }
    keeps = Library.keeps - {"OSError"}  # it makes each one its own, as it does with those of a socket

    async def made(
        self, *, connect=None, read=None, total=None, follow=False, seen=None, trust=False, **options: Any
    ) -> Any:
        module = self.module
        traces = []
        if seen is not None:
            trace = module.TraceConfig()

            async def begun(*_: Any) -> None:
                seen.append("request")

            async def ended(*_: Any) -> None:
                seen.append("response")

            trace.on_request_start.append(begun)
            trace.on_request_end.append(ended)
            trace.on_request_redirect.append(ended)
            traces = [trace]
        timeout = module.ClientTimeout(total=total, sock_connect=connect, sock_read=read)
        session = module.ClientSession(timeout=timeout, trust_env=trust, trace_configs=traces, **options)
        session._asked = {"allow_redirects": follow}
        return session

    async def close(self, client: Any) -> None:
        await client.close()

    async def send(self, client, url=URL, body: Any = b"{}", *, method="POST", upload=None) -> Got:
        if upload is not None:
            body = self.module.FormData({"k": "v"})
            body.add_field("file", upload, filename="a.bin")
        if isinstance(body, bytes) and len(body) > 1 << 20:
            body = io.BytesIO(body)  # as it advises
        response = await client.request(method, url, data=body, **client._asked)
        return Got(response.status, response.headers, response, await response.read())

    async def open(self, client, url=URL, body: Any = b"{}", *, method="POST") -> Got:
        response = await client.request(method, url, data=body, **client._asked)
        return Got(response.status, response.headers, response)

    async def pieces(self, got: Got) -> AsyncIterator[bytes]:
        async for piece in got.response.content.iter_any():
            yield piece

    async def again(self, got: Got) -> bytes:
        return await got.response.read()


class Botocore(Library):
    name = "botocore"
    can = frozenset({"no timeouts"})
    before: Mapping[str, str] = {
        "read_timeout": "botocore.exceptions.ReadTimeoutError",
        "total_timeout": "botocore.exceptions.ReadTimeoutError",
        "connect_timeout": "botocore.exceptions.ConnectTimeoutError",
        "write_timeout": "botocore.exceptions.ConnectionClosedError",
        "pool_timeout": "botocore.exceptions.ConnectTimeoutError",
        "connect": "botocore.exceptions.EndpointConnectionError",
        "dns": "botocore.exceptions.EndpointConnectionError",
        "certificate": "botocore.exceptions.SSLError",
        "tls": "botocore.exceptions.SSLError",
        "reset": "botocore.exceptions.ConnectionClosedError",
        "disconnect": "botocore.exceptions.ConnectionClosedError",
    }
    middle: Mapping[str, str] = {
        "read_timeout": "urllib3.exceptions.ReadTimeoutError",
        "total_timeout": "urllib3.exceptions.ReadTimeoutError",
        "reset": "urllib3.exceptions.ProtocolError",
        "disconnect": "urllib3.exceptions.ProtocolError",
    }
    whole: Mapping[str, str] = {
        "read_timeout": "botocore.exceptions.ReadTimeoutError",
        "total_timeout": "botocore.exceptions.ReadTimeoutError",
        "reset": "botocore.exceptions.ConnectionClosedError",
        "disconnect": "botocore.exceptions.ConnectionClosedError",
    }

    def said(self, error: BaseException) -> str:
        return f"{error} {getattr(error, 'kwargs', {}).get('error')}"

    async def made(
        self, *, connect=None, read=None, total=None, follow=False, seen=None, trust=False, **options: Any
    ) -> Any:
        session = importlib.import_module("botocore.httpsession").URLLib3Session
        utils = importlib.import_module("botocore.utils")
        proxies = utils.get_environ_proxies(URL) if trust else None
        return session(timeout=(connect, read), proxies=proxies)

    def _request(self, method: str, url: str, body: Any, *, stream: bool) -> Any:
        request = importlib.import_module("botocore.awsrequest").AWSRequest(method, url, data=body).prepare()
        request.stream_output = stream
        return request

    async def send(self, client, url=URL, body: Any = b"{}", *, method="POST", upload=None) -> Got:
        response = client.send(self._request(method, url, body, stream=False))
        return Got(response.status_code, response.headers, response, response.content)

    async def open(self, client, url=URL, body: Any = b"{}", *, method="POST") -> Got:
        response = client.send(self._request(method, url, body, stream=True))
        return Got(response.status_code, response.headers, response)

    async def pieces(self, got: Got) -> AsyncIterator[bytes]:
        for piece in got.response.raw.stream():
            yield piece

    async def again(self, got: Got) -> bytes:
        return got.response.content

    async def leave(self, got: Got) -> None:
        got.response.raw.close()


class Lm15(Library):
    name = "lm15"
    can: frozenset[str] = frozenset()
    before: Mapping[str, str] = {
        "read_timeout": "ReadTimeout",
        "total_timeout": "ReadTimeout",
        "connect_timeout": "ConnectTimeout",
        "write_timeout": "WriteTimeout",
        "pool_timeout": "TransportError",
        "connect": "ConnectError",
        "dns": "ConnectError",
        "certificate": "ConnectError",
        "tls": "ConnectError",
        "reset": "ReadError",
        "disconnect": "ReadError",
    }
    middle: Mapping[str, str] = {
        "read_timeout": "ReadTimeout",
        "total_timeout": "ReadTimeout",
        "reset": "ReadError",
        "disconnect": "ProtocolError",
    }

    @property
    def module(self) -> Any:
        return importlib.import_module("lm15.transports")

    async def made(
        self, *, connect=None, read=None, total=None, follow=False, seen=None, trust=False, **options: Any
    ) -> Any:
        kind = self.module.StdlibAsyncTransport if self.is_async else self.module.StdlibTransport
        given = {"connect_timeout": connect, "read_timeout": read, "write_timeout": read}
        return kind(trust_env=trust, **{name: value for name, value in given.items() if value}, **options)

    async def close(self, client: Any) -> None:
        if self.is_async:
            await client.aclose()
            await asyncio.sleep(0)  # it doesn't wait until its sockets are closed
        else:
            client.close()

    async def send(self, client, url=URL, body: Any = b"{}", *, method="POST", upload=None) -> Got:
        got = await self.open(client, url, body, method=method)
        got.body = b"".join([piece async for piece in self.pieces(got)])
        await self.leave(got)
        return got

    async def open(self, client, url=URL, body: Any = b"{}", *, method="POST") -> Got:
        request = self.module.TransportRequest(method, url, [], body or b"")
        response = await client.stream(request) if self.is_async else client.stream(request)
        return Got(response.status, Headers(response.headers), response)

    async def pieces(self, got: Got) -> AsyncIterator[bytes]:
        if self.is_async:
            async for piece in got.response:
                yield piece
        else:
            for piece in got.response:
                yield piece

    async def again(self, got: Got) -> bytes:
        return got.body

    async def leave(self, got: Got) -> None:
        if self.is_async:
            await got.response.aclose()
        else:
            got.response.close()


_MODES: Mapping[type[Library], tuple[str, ...]] = {
    Httpx: ("sync", "asyncio", "trio"),
    Httpx2: ("sync", "asyncio", "trio"),
    Requests: ("sync",),
    Aiohttp: ("asyncio", *(["uvloop"] if has("uvloop") else [])),
    Botocore: ("sync",),
    Lm15: ("sync", "asyncio"),
}

LIBRARIES = [kind(mode) for kind, modes in _MODES.items() if has(kind.name) for mode in modes]


def run(library: Library, case: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run a case in the library's mode; on a loop, no task may be left."""

    async def main() -> Any:
        result = await case(library, *args, **options)
        if library.mode in ("asyncio", "uvloop"):
            await asyncio.get_running_loop().shutdown_asyncgens()
            for _ in range(3):  # what is on its way out
                await asyncio.sleep(0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"left tasks: {left}"
        return result

    if library.mode == "sync":
        coroutine = main()
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value
        coroutine.close()
        raise AssertionError("a client that blocks has waited for a loop")
    if library.mode == "trio":
        return importlib.import_module("trio").run(main)
    if library.mode == "uvloop":
        with asyncio.Runner(loop_factory=importlib.import_module("uvloop").new_event_loop) as runner:
            return runner.run(main())
    return asyncio.run(main())


def each(*can: str, modes: str = "sync asyncio uvloop trio") -> Callable[..., Any]:
    """Make of a coroutine a test of every library that can do this; its other arguments are those of the test."""

    def decorate(case: Callable[..., Any]) -> Callable[..., Any]:
        def test(library: Library, **arguments: Any) -> None:
            run(library, case, **arguments)

        functools.update_wrapper(test, case)
        del test.__wrapped__
        test.__signature__ = inspect.signature(case)
        fitting = [each for each in LIBRARIES if each.can >= set(can) and each.mode in modes.split()]
        without = pytest.param(None, marks=pytest.mark.skip(f"needs a library that can {' and '.join(can)}"))
        return pytest.mark.parametrize("library", fitting or [without], ids=shown)(test)

    return decorate
