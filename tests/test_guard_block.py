"""Inside a block a known host that is reached by a way nobody intercepts is refused, before DNS."""

from __future__ import annotations

import asyncio
import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

import fake_llm
from _asking import ask
from _capability import has, needs
from fake_llm import UninterceptedCallError

HOST = "api.openai.com"


def by_http_client() -> None:
    http.client.HTTPSConnection(HOST, timeout=1).request("GET", "/v1/models")


def by_urllib() -> None:
    urllib.request.urlopen(f"https://{HOST}/v1/models", timeout=1)


def by_connect() -> None:
    with socket.socket() as plain:
        plain.connect((HOST, 443))


def by_connect_ex() -> None:
    with socket.socket() as plain:
        plain.connect_ex((HOST, 443))


WAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "getaddrinfo": (lambda: socket.getaddrinfo(HOST, 443), "socket.getaddrinfo"),
    "getaddrinfo by name": (lambda: socket.getaddrinfo(host=HOST, port="443"), "socket.getaddrinfo"),
    "getaddrinfo of bytes": (lambda: socket.getaddrinfo(HOST.encode(), 443), "socket.getaddrinfo"),
    "getaddrinfo of capitals": (lambda: socket.getaddrinfo("API.OpenAI.com.", 443), "socket.getaddrinfo"),
    "gethostbyname": (lambda: socket.gethostbyname(HOST), "socket.gethostbyname"),
    "gethostbyname_ex": (lambda: socket.gethostbyname_ex(HOST), "socket.gethostbyname_ex"),
    "create_connection": (lambda: socket.create_connection((HOST, 443), 1), "socket.getaddrinfo"),
    "connect": (by_connect, "socket.connect"),
    "connect_ex": (by_connect_ex, "socket.connect_ex"),
    "http.client": (by_http_client, "socket.getaddrinfo"),
    "urllib": (by_urllib, "socket.getaddrinfo"),
}


def by_httpcore() -> None:
    import httpcore

    httpcore.request("GET", f"https://{HOST}/v1/models")


def by_urllib3() -> None:
    import urllib3

    with urllib3.PoolManager() as pool:
        pool.request("GET", f"https://{HOST}/v1/models", retries=False)


@pytest.mark.parametrize(
    "reach", [pytest.param(by_httpcore, marks=needs("httpcore")), pytest.param(by_urllib3, marks=needs("urllib3"))]
)
def test_libraries_below_the_intercepted_ones_are_guarded(reach: Callable[[], None]) -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(UninterceptedCallError):
            reach()
        fake.failures.clear()
        with ThreadPoolExecutor(1) as pool, pytest.raises(Exception, match="this way isn't intercepted"):
            pool.submit(reach).result()
        assert len(fake.failures) == 1
        fake.failures.clear()


async def by_open_connection() -> None:
    await asyncio.open_connection(HOST, 443)


async def by_loop_getaddrinfo() -> None:
    await asyncio.get_running_loop().getaddrinfo(HOST, 443)


async def by_loop_create_connection() -> None:
    await asyncio.get_running_loop().create_connection(asyncio.Protocol, HOST, 443)


async def by_anyio() -> None:
    await anyio.connect_tcp(HOST, 443)


ASYNC_WAYS = [by_open_connection, by_loop_getaddrinfo, by_loop_create_connection, by_anyio]


@pytest.mark.parametrize(("reach", "way"), WAYS.values(), ids=WAYS)
def test_at_home_it_is_raised_in_place(reach: Callable[[], Any], way: str) -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(UninterceptedCallError) as caught:
            reach()
        assert fake.failures[0] is caught.value
        assert way in str(caught.value)
        assert HOST in str(caught.value)
        fake.failures.clear()


@pytest.mark.parametrize(("reach", "way"), WAYS.values(), ids=WAYS)
def test_elsewhere_it_is_an_error_of_the_system(reach: Callable[[], Any], way: str) -> None:
    with fake_llm.intercept() as fake:
        with ThreadPoolExecutor(1, "worker") as pool, pytest.raises(OSError) as caught:
            pool.submit(reach).result()
        failure = fake.failures[0]
        assert type(failure) is UninterceptedCallError
        said = caught.value.reason if isinstance(caught.value, urllib.error.URLError) else caught.value
        assert str(said) == str(failure)
        assert "in thread worker_0." in str(failure)
        fake.failures.clear()


@pytest.mark.parametrize("reach", ASYNC_WAYS)
def test_in_the_task_of_the_block_it_is_raised_in_place(reach: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with fake_llm.intercept() as fake:
            with pytest.raises(UninterceptedCallError, match=HOST):
                await reach()
            fake.failures.clear()

    asyncio.run(main())


@pytest.mark.parametrize("reach", ASYNC_WAYS)
def test_in_another_task_it_is_an_error_of_the_system(reach: Callable[[], Awaitable[None]]) -> None:
    async def main() -> BaseException:
        (error,) = await asyncio.gather(reach(), return_exceptions=True)
        assert isinstance(error, BaseException)
        return error

    with fake_llm.intercept() as fake:
        error = asyncio.run(main())
        assert isinstance(error, OSError)
        assert str(error) == str(fake.failures[0])
        fake.failures.clear()


@pytest.mark.skipif(not has("trio"), reason="needs trio")
def test_on_trio() -> None:
    async def main() -> None:
        with fake_llm.intercept() as fake:
            with pytest.raises(UninterceptedCallError, match=HOST):
                await anyio.connect_tcp(HOST, 443)
            fake.failures.clear()

    anyio.run(main, backend="trio")


@needs("uvloop")
@pytest.mark.parametrize("reach", [by_open_connection, by_loop_getaddrinfo, by_loop_create_connection])
def test_on_uvloop(reach: Callable[[], Awaitable[None]]) -> None:
    import uvloop

    async def main() -> None:
        async with fake_llm.intercept() as fake:
            with pytest.raises(UninterceptedCallError, match=HOST):
                await reach()
            fake.failures.clear()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


@pytest.mark.parametrize(
    "host",
    [
        "api.anthropic.com",
        "generativelanguage.googleapis.com",
        "api.groq.com",
        "api.mistral.ai",
        "my-resource.openai.azure.com",
        "us-east1-aiplatform.googleapis.com",
        "bedrock-runtime.eu-central-1.amazonaws.com",
    ],
)
def test_all_known_hosts_are_refused(host: str) -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(UninterceptedCallError, match=f"^{host}:443 was reached by"):
            socket.getaddrinfo(host, 443)
        fake.failures.clear()


def test_of_a_declared_host_what_is_declared_is_refused() -> None:
    with fake_llm.intercept(hosts={"llm.corp.example:8080": "openai", "gateway.example/llm": "openai"}) as fake:
        with pytest.raises(UninterceptedCallError):
            socket.getaddrinfo("llm.corp.example", 8080)
        fake.failures.clear()
        assert not fake._routes.known("llm.corp.example", 5432)  # a database on the same machine
        assert not fake._routes.known("gateway.example", 443)  # another path of the gateway


def test_a_guarded_call_that_is_swallowed_is_raised_at_the_end() -> None:
    with pytest.raises(UninterceptedCallError), fake_llm.intercept(["Hello"]):
        assert ask() == "Hello"
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(by_urllib).exception()


def test_not_strict_the_guard_stays() -> None:
    with fake_llm.intercept(strict=False) as fake, pytest.raises(UninterceptedCallError):
        by_urllib()
    assert len(fake.failures) == 1


def test_the_failure_is_the_innermost_blocks() -> None:
    with fake_llm.intercept() as outer, fake_llm.intercept() as inner:
        with pytest.raises(UninterceptedCallError):
            socket.getaddrinfo(HOST, 443)
        assert (len(outer.failures), len(inner.failures)) == (0, 1)
        inner.failures.clear()


def test_the_failure_is_that_of_the_block_that_knows_the_host() -> None:
    with fake_llm.intercept(hosts={"llm.corp.example": "openai"}) as outer:
        with fake_llm.intercept() as inner:
            with pytest.raises(UninterceptedCallError):
                socket.getaddrinfo("llm.corp.example", 443)
            assert (len(outer.failures), len(inner.failures)) == (1, 0)
        outer.failures.clear()


def test_outside_of_blocks_nothing_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: ["answered"])
    with fake_llm.intercept() as fake:
        with pytest.raises(UninterceptedCallError):
            socket.getaddrinfo(HOST, 443)
        fake.failures.clear()
    assert socket.getaddrinfo(HOST, 443) == ["answered"]


def test_a_patch_of_a_test_inside_the_block_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_llm.intercept(), monkeypatch.context() as patching:
        patching.setattr(socket, "getaddrinfo", lambda *args, **kwargs: ["answered"])
        assert socket.getaddrinfo(HOST, 443) == ["answered"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", None])
def test_local_names_are_resolved(host: str | None) -> None:
    with fake_llm.intercept(hosts={"localhost:8000": "openai"}):
        assert socket.getaddrinfo(host, 80)


def test_local_sockets_work() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(5))
        writer.close()
        await writer.wait_closed()

    async def main() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, fake_llm.intercept():
            for host in ("127.0.0.1", "localhost"):
                reader, writer = await asyncio.open_connection(host, port, family=socket.AF_INET)
                writer.write(b"hello")
                assert await reader.read() == b"hello"
                writer.close()
                await writer.wait_closed()

    asyncio.run(main())
    with fake_llm.intercept():
        left, right = socket.socketpair()
        with left, right:
            left.sendall(b"hello")
            assert right.recv(5) == b"hello"
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
            assert client.connect_ex(server.getsockname()) == 0


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")
def test_unix_sockets_work(tmp_path: Any) -> None:
    path = str(tmp_path / "s")
    with fake_llm.intercept(), socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)


def test_another_host_is_left_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [args])
    with fake_llm.intercept() as fake:
        assert socket.getaddrinfo("example.com", 443) == [("example.com", 443)]
        assert socket.getaddrinfo("openai.com", 443) == [("openai.com", 443)]
        assert fake.failures == []
