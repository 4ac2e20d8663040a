"""The socket guard: a known host is refused before DNS in the caller's own thread; nothing else is touched."""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from _ids import shown
from fake_llm._guard import guards
from fake_llm._model import Response
from stacks._support import HOST, Refused, Scripted, block

OK = Response(200)
NAME = "a raw socket (socket.getaddrinfo)"


@pytest.fixture(autouse=True)
def guarded() -> Iterator[None]:
    with block(Scripted(OK)):
        yield


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def connect(method: str, address: tuple[Any, ...]) -> Any:
    with socket.socket() as sock:
        return getattr(sock, method)(address)


def datagram(*sent: Any) -> int:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        return sock.sendto(*sent)


def test_datagrams_to_others_are_left_alone():
    with socket.socket(type=socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        assert datagram(b"ping", receiver.getsockname()) == 4
        assert receiver.recv(10) == b"ping"


@pytest.mark.parametrize(
    ("reach", "port", "way"),
    [
        (lambda: socket.getaddrinfo(HOST, 443), 443, NAME),
        (lambda: socket.getaddrinfo(host=HOST, port="443"), 443, NAME),
        (lambda: socket.getaddrinfo(HOST, b"443", socket.AF_INET), 443, NAME),
        (lambda: socket.getaddrinfo(HOST, "https"), None, NAME),
        (lambda: socket.getaddrinfo(HOST.upper() + ".", 443), 443, NAME),
        (lambda: socket.getaddrinfo(HOST.encode(), 443), 443, NAME),
        (lambda: socket.gethostbyname(HOST), None, "a raw socket (socket.gethostbyname)"),
        (lambda: socket.gethostbyname_ex(HOST), None, "a raw socket (socket.gethostbyname_ex)"),
        (lambda: socket.create_connection((HOST, 443)), 443, NAME),
        (lambda: connect("connect", (HOST, 443)), 443, "a raw socket (socket.connect)"),
        (lambda: connect("connect_ex", (HOST, 443)), 443, "a raw socket (socket.connect_ex)"),
        (lambda: socket.gethostbyaddr(HOST), None, "a raw socket (socket.gethostbyaddr)"),
        (lambda: datagram(b"x", (HOST, 53)), 53, "a raw socket (socket.sendto)"),
        (lambda: datagram(b"x", 0, (HOST, 53)), 53, "a raw socket (socket.sendto)"),
        (lambda: http.client.HTTPSConnection(HOST).request("GET", "/"), 443, NAME),
        (lambda: urllib.request.urlopen(f"http://{HOST}:81/"), 81, NAME),
    ],
)
def test_a_known_host_is_refused(reach: Any, port: int | None, way: str):
    with pytest.raises(Refused) as caught:
        reach()

    assert caught.value.args == (HOST, port, way)


def test_pools_of_urllib3_are_refused():
    urllib3 = pytest.importorskip("urllib3")
    with urllib3.PoolManager() as pool, pytest.raises(Refused) as caught:
        pool.request("GET", f"https://{HOST}/")

    assert caught.value.args == (HOST, 443, NAME)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("way", ["getaddrinfo", "create_connection", "open_connection"])
def test_on_a_loop_it_is_refused_in_the_tasks_own_thread(loop: str, way: str, monkeypatch: pytest.MonkeyPatch):
    if importlib.util.find_spec(loop) is None:
        pytest.skip(f"{loop} isn't here")
    threads: list[threading.Thread] = []
    monkeypatch.setattr(
        Refused, "__init__", lambda self, *args: threads.append(threading.current_thread()), raising=False
    )
    module = importlib.import_module(loop)

    async def main() -> None:
        running = asyncio.get_running_loop()
        with pytest.raises(Refused) as caught:
            if way == "getaddrinfo":
                await running.getaddrinfo(HOST, 443)
            elif way == "create_connection":
                await running.create_connection(asyncio.Protocol, HOST, 443)
            else:
                await asyncio.open_connection(HOST, 443, ssl=True)
        assert caught.value.args[:2] == (HOST, 443)
        assert loop in caught.value.args[2]

    with asyncio.Runner(loop_factory=module.new_event_loop) as runner:
        runner.run(main())

    assert threads == [threading.main_thread()]


def test_other_hosts_are_reached_on_uvloop(listening: int):
    uvloop = pytest.importorskip("uvloop")

    async def main() -> None:
        transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", listening)
        transport.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_trio_is_refused():
    trio = pytest.importorskip("trio")
    with pytest.raises(Refused) as caught:
        trio.run(trio.open_tcp_stream, HOST, 443)

    assert caught.value.args == (HOST, 443, NAME)


LOCAL = ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST.", "a.localhost", "::1", "0.0.0.0", "", None, b"localhost"]


@pytest.mark.parametrize("host", LOCAL, ids=shown)
def test_local_names_are_never_asked_about(host: Any):
    [(_, _, make), *_] = guards(lambda _host, _port: True, Refused)["socket"](socket)
    resolve = make(lambda *args: args)

    assert resolve(host, 80) == (host, 80)
    with pytest.raises(Refused):
        resolve("93.184.215.14", 80)


def test_local_sockets_work(listening: int, tmp_path: Path):
    async def main() -> None:
        _, writer = await asyncio.open_connection("localhost", listening)
        writer.close()
        await writer.wait_closed()

    connect("connect", ("127.0.0.1", listening))
    assert connect("connect_ex", ("127.0.0.1", listening)) == 0
    socket.create_connection(("localhost", listening)).close()
    asyncio.run(main())
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)


def test_other_hosts_reach_the_resolver(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    original = socket.getaddrinfo.__wrapped__
    monkeypatch.setattr("_socket.getaddrinfo", lambda host, *_: asked.append(host) or [])

    assert socket.getaddrinfo("other.test", 80) == []
    assert asyncio.run(resolved("other.test")) == []
    assert asked == ["other.test", "other.test"]
    assert original.__module__ == "socket"


async def resolved(host: str) -> Any:
    return await asyncio.get_running_loop().getaddrinfo(host, 80)


def test_arguments_of_the_wrong_kind_fail_as_ever():
    with socket.socket() as sock, pytest.raises(TypeError):
        sock.connect("no tuple")
    with pytest.raises(TypeError):
        socket.getaddrinfo()
