"""gRPC and WebSockets to a known host are refused while a block is open, with the way out named."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fake_llm
from _capability import needs
from fake_llm import UninterceptedCallError

XAI = "api.x.ai:443"
REALTIME = "wss://api.openai.com/v1/realtime?model=gpt-realtime"


def refused(reach: Callable[[], Any]) -> str:
    """What is said of a call in the block's own thread; kept as its one failure."""
    with fake_llm.intercept() as fake:
        with pytest.raises(UninterceptedCallError) as caught:
            reach()
        assert fake.failures == [caught.value]
        fake.failures.clear()
    return str(caught.value)


def refused_async(reach: Callable[[], Awaitable[Any]]) -> str:
    async def main() -> str:
        async with fake_llm.intercept() as fake:
            with pytest.raises(UninterceptedCallError) as caught:
                await reach()
            assert fake.failures == [caught.value]
            fake.failures.clear()
        return str(caught.value)

    return asyncio.run(main())


# --- gRPC ---------------------------------------------------------------------------------------


@needs("grpcio")
@pytest.mark.parametrize("kind", ["secure", "insecure"])
@pytest.mark.parametrize("module", ["grpc", "grpc.aio"])
@pytest.mark.parametrize("target", [XAI, f"dns:///{XAI}", f"dns://8.8.8.8/{XAI}", "api.x.ai", "API.X.AI:443"])
def test_a_channel_to_a_known_host(module: str, kind: str, target: str) -> None:
    grpc = pytest.importorskip(module)
    more = [grpc.ssl_channel_credentials()] if kind == "secure" and module == "grpc" else []
    if kind == "secure" and module == "grpc.aio":
        more = [pytest.importorskip("grpc").ssl_channel_credentials()]

    said = refused(lambda: getattr(grpc, f"{kind}_channel")(target, *more))

    assert said.lower().startswith(f"api.x.ai:443 was reached by grpc ({module}.secure_channel)")
    assert 'openai.OpenAI(base_url="https://api.x.ai/v1")' in said


@needs("grpcio")
def test_elsewhere_it_is_an_error_of_the_system() -> None:
    grpc = pytest.importorskip("grpc")
    with fake_llm.intercept() as fake, ThreadPoolExecutor(1) as pool:
        with pytest.raises(OSError, match=r"api\.x\.ai:443 was reached by gRPC"):
            pool.submit(grpc.insecure_channel, XAI).result()
        assert [type(failure) for failure in fake.failures] == [UninterceptedCallError]
        fake.failures.clear()


@needs("grpcio")
@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream", "stream_unary", "stream_stream"])
def test_a_channel_that_was_made_before(kind: str) -> None:
    grpc = pytest.importorskip("grpc")
    with grpc.insecure_channel(XAI) as channel:
        call = getattr(channel, kind)("/xai_api.Chat/GetCompletion")
        sent = iter([b""]) if kind.startswith("stream") else b""
        said = refused(lambda: call(sent, timeout=1))
        assert "a channel made before the block" in said
        if kind.endswith("unary"):
            for name in ("with_call", "future"):
                assert refused(lambda name=name: getattr(call, name)(sent, timeout=1)) == said


@needs("grpcio")
@pytest.mark.parametrize(
    "target", ["localhost:50051", "127.0.0.1:50051", "unix:/tmp/s", "ipv4:10.0.0.1:1", "example.com:443"]
)
def test_other_channels_are_left_alone(target: str) -> None:
    grpc = pytest.importorskip("grpc")
    with fake_llm.intercept():
        grpc.insecure_channel(target).close()


@needs("grpcio")
def test_a_server_on_this_machine_answers() -> None:
    grpc = pytest.importorskip("grpc")
    reply = grpc.unary_unary_rpc_method_handler(lambda request, context: request + b"!")
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", {"Say": reply}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with fake_llm.intercept(), grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            assert channel.unary_unary("/test.Echo/Say")(b"hello", timeout=5) == b"hello!"
    finally:
        server.stop(None).wait()


@needs("grpcio")
def test_outside_of_blocks_channels_are_grpcs_own() -> None:
    grpc = pytest.importorskip("grpc")
    originals = grpc.secure_channel, grpc.aio.secure_channel, grpc._channel._UnaryUnaryMultiCallable.__call__
    with fake_llm.intercept():
        assert grpc.secure_channel is not originals[0]
    assert (grpc.secure_channel, grpc.aio.secure_channel, grpc._channel._UnaryUnaryMultiCallable.__call__) == originals
    grpc.insecure_channel(XAI).close()


@needs("grpcio")
def test_every_other_host_is_refused_where_the_network_is_blocked() -> None:
    grpc = pytest.importorskip("grpc")
    with fake_llm.intercept(block_network=True) as fake:
        with pytest.raises(UninterceptedCallError, match="block_network=True"):
            grpc.insecure_channel("db.corp.example:443")
        fake.failures.clear()


@needs("xai-sdk")
@pytest.mark.parametrize("name", ["Client", "AsyncClient"])
def test_xais_sdk(name: str) -> None:
    xai = pytest.importorskip("xai_sdk")

    assert "in place of xai_sdk" in refused(lambda: getattr(xai, name)(api_key="test"))


# --- WebSockets ---------------------------------------------------------------------------------


def by_websockets_sync() -> None:
    import websockets.sync.client

    websockets.sync.client.connect(REALTIME)


async def by_websockets() -> None:
    import websockets.asyncio.client

    async with websockets.asyncio.client.connect(REALTIME):
        pass


async def by_websockets_by_name() -> None:
    import websockets.asyncio.client

    await websockets.asyncio.client.connect(uri=REALTIME)


def by_websocket_client() -> None:
    import websocket

    websocket.create_connection(REALTIME)


async def by_aiohttp() -> None:
    import aiohttp

    async with aiohttp.ClientSession() as session, session.ws_connect(REALTIME):
        pass


def by_httpx_ws() -> None:
    import httpx_ws

    with httpx_ws.connect_ws(REALTIME):
        pass


async def by_httpx_ws_async() -> None:
    import httpx_ws

    async with httpx_ws.aconnect_ws(REALTIME):
        pass


def by_openai() -> None:
    import openai

    with openai.OpenAI().realtime.connect(model="gpt-realtime"):
        pass


async def by_openai_async() -> None:
    import openai

    async with openai.AsyncOpenAI().realtime.connect(model="gpt-realtime"):
        pass


async def by_genai_live() -> None:
    from google import genai

    async with genai.Client().aio.live.connect(model="gemini-live"):
        pass


WEBSOCKETS = needs("websockets>=13")
DIALLED = [
    pytest.param(by_websockets_sync, marks=WEBSOCKETS),
    pytest.param(by_websockets, marks=WEBSOCKETS),
    pytest.param(by_websockets_by_name, marks=WEBSOCKETS),
    pytest.param(by_websocket_client, marks=needs("websocket-client")),
    pytest.param(by_aiohttp, marks=needs("aiohttp")),
    pytest.param(by_httpx_ws, marks=needs("httpx-ws")),
    pytest.param(by_httpx_ws_async, marks=needs("httpx-ws")),
    pytest.param(by_openai, marks=needs("openai>=2", "websockets>=13")),
    pytest.param(by_openai_async, marks=needs("openai>=2", "websockets>=13")),
    pytest.param(by_genai_live, marks=needs("google-genai", "websockets>=13")),
]


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
@pytest.mark.parametrize("dial", DIALLED)
def test_a_websocket_to_a_known_host(dial: Callable[[], Any], proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "WSS_PROXY", "wss_proxy"):
        monkeypatch.setenv(name, proxy)

    said = refused_async(dial) if asyncio.iscoroutinefunction(dial) else refused(dial)

    assert " was reached by a WebSocket (" in said
    assert "Let the code ask by HTTP" in said


@WEBSOCKETS
def test_a_name_that_was_taken_before_is_stopped_at_the_socket() -> None:
    from websockets.sync.client import connect

    assert "socket.getaddrinfo" in refused(lambda: connect(REALTIME))


@WEBSOCKETS
def test_a_websocket_on_this_machine_is_dialled() -> None:
    import websockets.asyncio.client
    import websockets.asyncio.server

    async def echo(websocket: Any) -> None:
        async for message in websocket:
            await websocket.send(message)

    async def main() -> None:
        async with websockets.asyncio.server.serve(echo, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            with fake_llm.intercept():
                async with websockets.asyncio.client.connect(f"ws://127.0.0.1:{port}") as dialled:
                    await dialled.send("hello")
                    assert await dialled.recv() == "hello"
                # a known name at an address of one's own is a double of the test's
                async with websockets.asyncio.client.connect(
                    f"ws://api.openai.com:{port}", host="127.0.0.1", port=port
                ) as dialled:
                    await dialled.send("hello")
                    assert await dialled.recv() == "hello"

    asyncio.run(main())


@needs("aiohttp")
def test_a_rule_may_still_answer_it() -> None:
    async def main() -> None:
        with fake_llm.intercept() as fake:
            fake.when(operation="unknown").reply(fake_llm.Error(401))
            import aiohttp

            with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
                await by_aiohttp()

    asyncio.run(main())


# --- uvloop -------------------------------------------------------------------------------------


@needs("uvloop")
def test_uvloops_own_resolver_is_never_asked() -> None:
    import uvloop

    async def main() -> None:
        running = asyncio.get_running_loop()
        with fake_llm.intercept() as fake:
            for reach in (
                lambda: running.create_connection(asyncio.Protocol, "api.x.ai", 443),
                lambda: running.getaddrinfo("api.x.ai", 443),
                lambda: running.create_connection(asyncio.Protocol, host="api.x.ai", port=443, ssl=True),
            ):
                with pytest.raises(UninterceptedCallError, match="uvloop"):
                    await reach()
            with contextlib.closing(socket.socket()) as plain:
                plain.setblocking(False)
                with pytest.raises((UninterceptedCallError, ValueError)):  # uvloop resolves nothing there
                    await running.sock_connect(plain, ("api.x.ai", 443))
            fake.failures.clear()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
