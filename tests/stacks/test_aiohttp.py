"""What is particular to aiohttp; the rest is in the contract of all stacks."""

from __future__ import annotations

import asyncio
import gc
import gzip
import io
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fake_llm
from _capability import has, load, needs
from fake_llm import Reply, Stall, UninterceptedCallError
from fake_llm._model import Fault, Pause, Request, Response, Timeouts
from stacks._servers import served
from stacks._support import HOST, URL, Refused, Scripted, block

aiohttp = load("aiohttp>=3.10")

OK = Response(200, (("content-type", "application/json"),), b'{"ok":true}')
OPENAI = "https://api.openai.com/v1/chat/completions"
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def on_loop(case: Callable[..., Any]) -> Callable[..., Any]:
    """Run a coroutine, which gets a session, on a loop of asyncio and on one of uvloop."""

    @pytest.mark.parametrize("loop", ["asyncio", *(["uvloop"] if has("uvloop") else [])])
    def test(loop: str) -> None:
        async def main() -> None:
            async with aiohttp.ClientSession() as session:
                await case(session)
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}

        if loop == "uvloop":
            import uvloop

            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(main())
        else:
            asyncio.run(main())

    test.__name__ = case.__name__
    return test


@pytest.fixture
def server() -> Iterator[str]:
    with served() as url:
        yield url


# --- what is sent ----------------------------------------------------------------------------------


async def _letters(*parts: bytes) -> Any:
    for part in parts:
        await asyncio.sleep(0)
        yield part


@on_loop
async def test_each_form_of_a_body(session: Any) -> None:
    form = aiohttp.FormData({"k": "v"})
    form.add_field("file", io.BytesIO(b"inside"), filename="a.txt")
    writer = aiohttp.MultipartWriter("mixed")
    writer.append("one")
    writer.append_json({"two": 2})
    bodies: list[tuple[Any, bytes]] = [
        (None, b""),
        (b"", b""),
        (b"bytes", b"bytes"),
        ("é", "é".encode()),
        ({"a": "b c"}, b"a=b+c"),
        (io.BytesIO(b"file"), b"file"),
        (io.StringIO("text"), b"text"),
        (_letters(b"one", b"", b"two" * 50_000), b"one" + b"two" * 50_000),
        (_letters(), b""),
        (form, b"inside"),
        (writer, b'{"two": 2}'),
    ]
    with block(Scripted(OK)) as fake:
        for data, _ in bodies:
            async with session.post(URL, data=data) as response:
                assert await response.json() == {"ok": True}

    for request, (data, expected) in zip(fake.asked, bodies, strict=True):
        if data in (form, writer):
            assert expected in request.body
        else:
            assert request.body == expected


@on_loop
async def test_a_compressed_body_stays_what_was_sent(session: Any) -> None:
    sent = b"again and again " * 1000
    with block(Scripted(OK)) as fake:
        for data in (sent, _letters(sent)):
            async with session.post(URL, data=data, compress=True) as response:
                assert response.status == 200

    for request in fake.asked:
        assert request.headers["content-encoding"] == "deflate"
        assert len(request.body) < 1000
        assert zlib.decompress(request.body) == sent


@on_loop
async def test_a_client_that_waits_to_be_told_to_go_on(session: Any) -> None:
    with block(Scripted(OK)) as fake:
        for data in (b"body", _letters(b"bo", b"dy"), b"", None, io.BytesIO(b"body")):
            async with asyncio.timeout(5), session.post(URL, data=data, expect100=True) as response:
                assert await response.json() == {"ok": True}

    assert [request.body for request in fake.asked] == [b"body", b"body", b"", b"", b"body"]


@on_loop
async def test_an_upload_that_fails_is_the_librarys_own_error(session: Any) -> None:
    async def broken() -> Any:
        yield b"one"
        raise LookupError("mine")

    with block(Scripted(OK)) as fake:
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.post(URL, data=broken())
        async with session.post(URL, data=b"next") as response:
            assert response.status == 200

    assert [request.body for request in fake.asked] == [b"next"]


@on_loop
async def test_what_a_proxied_request_sends_is_read_as_well(session: Any) -> None:
    with block(Scripted(OK)) as fake:
        for url in (URL, f"http://{HOST}/v1/chat"):
            async with session.post(url, data=b"x", proxy="http://127.0.0.1:9", headers={"x-one": "1"}) as response:
                assert response.status == 200

    assert [(request.url, request.body) for request in fake.asked] == [(URL, b"x"), (f"http://{HOST}/v1/chat", b"x")]


# --- what is heard ---------------------------------------------------------------------------------


@on_loop
async def test_each_way_to_read_a_stream(session: Any) -> None:
    steps = (b"one\nt", b"wo\n", b"three" * 20_000, b"\nend")
    body = b"".join(steps)
    with block(Scripted(Response(200, steps=steps))):

        async def got(way: Callable[[Any], Any]) -> list[bytes]:
            async with session.post(URL) as response:
                return [piece async for piece in way(response.content)]

        assert await got(lambda content: content.iter_any()) == list(steps)
        assert [piece async for piece, _ in (await session.post(URL)).content.iter_chunks() if piece] == list(steps)
        assert b"".join(await got(lambda content: content.iter_chunked(3))) == body
        async with session.post(URL) as response:
            assert await response.content.readline() == b"one\n"
            assert await response.content.readexactly(3) == b"two"
            assert await response.content.readany() == b"\n"
            assert await response.content.read(4) == b"thre"
            assert await response.content.read() == body[12:]
        async with session.post(URL) as response:
            assert await response.text() == body.decode()


@on_loop
async def test_what_was_sent_before_a_break_can_be_read_bit_by_bit(session: Any) -> None:
    with block(Scripted(Response(200, steps=(b"abc", Fault("read_timeout"))))):
        async with session.post(URL) as response:
            for letter in (b"a", b"b", b"c"):
                assert await response.content.read(1) == letter
                await asyncio.sleep(0.01)
            with pytest.raises(aiohttp.SocketTimeoutError):
                await response.content.read(1)


@on_loop
async def test_compressed_answers_are_the_librarys_to_decode(session: Any) -> None:
    headers = (("content-encoding", "gzip"),)
    packed = gzip.compress(b"unpacked" * 10_000)
    pieces = tuple(packed[at : at + 7] for at in range(0, len(packed), 7))
    with block(Scripted(Response(200, headers, packed), Response(200, headers, steps=pieces))):
        for _ in range(2):
            async with session.post(URL) as response:
                assert await response.read() == b"unpacked" * 10_000


@on_loop
async def test_cookies_and_headers_of_one_name(session: Any) -> None:
    headers = (("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-two", "1"), ("x-two", "é"))
    with block(Scripted(Response(529, headers))) as fake:
        async with session.post(URL) as response:
            assert (response.status, response.headers.getall("x-two")) == (529, ["1", "é"])
        async with session.post(URL):
            pass

    assert fake.asked[1].headers["cookie"] == "a=1; b=2"


@on_loop
async def test_raise_for_status(session: Any) -> None:
    with block(Scripted(Response(429))), pytest.raises(aiohttp.ClientResponseError) as caught:
        await session.post(URL, raise_for_status=True)

    assert caught.value.status == 429


@on_loop
async def test_traces_see_a_connection_that_is_made(session: Any) -> None:
    seen: list[str] = []
    trace = aiohttp.TraceConfig()

    def note(name: str) -> Any:
        async def noting(*_: Any) -> None:
            seen.append(name)

        return noting

    for name in ("connection_create_start", "connection_create_end", "connection_reuseconn", "request_chunk_sent"):
        getattr(trace, f"on_{name}").append(note(name))
    async with aiohttp.ClientSession(trace_configs=[trace]) as traced:
        with block(Scripted(OK)):
            for _ in range(2):
                async with traced.post(URL, data=b"x"):
                    pass

    assert seen == ["connection_create_start", "connection_create_end", "request_chunk_sent"] * 2


# --- time-outs -------------------------------------------------------------------------------------


@on_loop
async def test_each_form_of_a_timeout(session: Any) -> None:
    timeout = aiohttp.ClientTimeout
    forms = [
        (timeout(total=None), Timeouts()),
        (timeout(total=0, sock_read=0, sock_connect=0, connect=0), Timeouts()),
        (timeout(total=7, connect=1), Timeouts(connect=1, total=7)),
        (timeout(total=None, connect=1, sock_connect=2, sock_read=3), Timeouts(connect=2, read=3)),
    ]
    with block(Scripted(OK)) as fake:
        for form, _ in forms:
            async with session.post(URL, timeout=form):
                pass

    assert [request.timeouts for request in fake.asked] == [expected for _, expected in forms]


CUT = [
    # what the client allows, what the model takes, and the exception; `None` where it is in time
    ({"sock_read": 1.0}, {"delay": 2.0}, "SocketTimeoutError"),
    ({"total": 1.0}, {"delay": 2.0}, "TimeoutError"),
    ({"sock_read": 1.0}, {"interval": 2.0}, "SocketTimeoutError"),
    ({"sock_read": 1.0}, {"delay": 0.9, "interval": 0.9}, None),
    ({"total": 1.0}, {"interval": 0.3}, "TimeoutError"),
    ({"total": 1.0, "sock_read": 0.5}, {"delay": 0.6}, "SocketTimeoutError"),
    ({"total": 0.5, "sock_read": 1.0}, {"delay": 0.6}, "TimeoutError"),
    ({"total": 2.0}, {"delay": 0.3, "interval": 0.3}, None),
    ({"connect": 0.1, "sock_connect": 0.1}, {"delay": 0.5}, None),
]


SAID = {"SocketTimeoutError": "Timeout on reading data from socket", "TimeoutError": ""}
"""aiohttp's own words (3.14, 2026-11)."""


@pytest.mark.parametrize("real", [False, True], ids=["virtual time", "real time"])
@pytest.mark.parametrize(("allowed", "taken", "expected"), CUT)
def test_a_model_that_is_too_slow(allowed: Any, taken: Any, expected: str | None, real: bool) -> None:
    scale = 0.1 if real else 1.0
    limits = {"total": None} | {name: value * scale for name, value in allowed.items()}
    reply = Reply("a b c d e", **{name: value * scale for name, value in taken.items()})

    async def main() -> bytes:
        timeout = aiohttp.ClientTimeout(**limits)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(OPENAI, json=ASKED | {"stream": True}) as response,
        ):
            return await response.read()

    with fake_llm.intercept([reply], virtual_time=not real) as fake:
        if expected is None:
            assert asyncio.run(main()).endswith(b"[DONE]\n\n")
        else:
            with pytest.raises(TimeoutError) as caught:
                asyncio.run(main())
            assert type(caught.value).__name__ == expected
            assert str(caught.value) == SAID[expected]

    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"sock_read": 60}, "SocketTimeoutError"),
        ({"sock_read": 60, "total": 300}, "SocketTimeoutError"),
        ({}, "TimeoutError"),
    ],
)
def test_a_stall_is_the_clients_own_timeout_at_once(limits: Any, expected: str) -> None:
    seen: list[bytes] = []

    async def main() -> None:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(**{"total": 300} | limits)) as session,
            session.post(OPENAI, json=ASKED | {"stream": True}) as response,
        ):
            async for piece in response.content.iter_any():
                await asyncio.sleep(0)
                seen.append(piece)

    with fake_llm.intercept([Reply("Hello there", then=Stall())]), pytest.raises(TimeoutError) as caught:
        asyncio.run(main())

    assert type(caught.value).__name__ == expected
    assert str(caught.value) == SAID[expected]
    assert b"there" in b"".join(seen)


@on_loop
async def test_a_handler_that_takes_its_time_is_cut_short_by_the_clients_timeout(session: Any) -> None:
    begun: list[str] = []

    class Slow(Scripted):
        async def answer_async(self, request: Request) -> Response | Fault:
            begun.append("begun")
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                begun.append("cut")
                raise
            raise AssertionError("waited")

    with block(Slow(OK)):
        for limits, expected in (
            ({"sock_read": 0.02}, aiohttp.SocketTimeoutError),
            ({"total": 0.02}, TimeoutError),
        ):
            with pytest.raises(expected):
                await session.post(URL, timeout=aiohttp.ClientTimeout(**{"total": None} | limits))

    assert begun == ["begun", "cut"] * 2


@on_loop
async def test_a_slow_reader_is_no_slow_server(session: Any) -> None:
    seen: list[bytes] = []
    with block(Scripted(Response(200, steps=(b"a", b"b", b"c")))):
        async with session.post(URL, timeout=aiohttp.ClientTimeout(sock_read=0.05)) as response:
            async for piece in response.content.iter_any():
                await asyncio.sleep(0.1)
                seen.append(piece)

    assert seen == [b"a", b"b", b"c"]


# --- connections -----------------------------------------------------------------------------------


def test_connections_that_are_kept_from_before_arent_used(server: str) -> None:
    async def main() -> None:
        async with aiohttp.ClientSession() as session:

            async def ask() -> bytes:
                async with session.post(server) as response:
                    return await response.read()

            assert await ask() == b"real"
            assert sum(map(len, session.connector._conns.values())) == 1
            with block(Scripted(OK, host="127.0.0.1")):
                assert await ask() == OK.body
                assert sum(map(len, session.connector._conns.values())) == 1
            assert await ask() == b"real"

    asyncio.run(main())


LIMITS: list[dict[str, Any]] = [
    {"limit": 1},
    {"limit": 0, "limit_per_host": 1},
    {"limit": 1, "force_close": True},
]


@on_loop
async def test_a_limit_of_connections_never_locks(session: Any) -> None:
    """Bodies that nobody has read yet arrive all the same, and a handler that asks by the same session is served."""
    for limits in LIMITS:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(**limits)) as limited:

            class Nested(Scripted):
                async def answer_async(self, request: Request, session: Any = limited) -> Response | Fault:
                    if request.body == b"outer":
                        async with session.post(URL, data=b"inner") as response:
                            return Response(200, body=await response.read())
                    return Response(200, steps=(request.body, b"!"))

            with block(Nested(OK)):
                async with asyncio.timeout(5):
                    held = [await limited.post(URL, data=b"%d" % number) for number in range(5)]
                    async with limited.post(URL, data=b"outer") as response:
                        assert await response.read() == b"inner!"
                    assert [await response.read() for response in held] == [b"%d!" % number for number in range(5)]
                    found = await asyncio.gather(*(_posted(limited, b"%d" % number) for number in range(20)))
            assert found == [b"%d!" % number for number in range(20)]
            assert limited.connector._acquired == set()
            assert limited.connector._acquired_per_host == {}
            assert not any(limited.connector._waiters.values())


async def _posted(session: Any, data: bytes) -> bytes:
    async with session.post(URL, data=data) as response:
        body: bytes = await response.read()
        return body


@on_loop
async def test_a_limit_of_connections_is_kept(session: Any) -> None:
    """As long as a stream goes on, nothing else goes by its connection."""
    for limits in LIMITS:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(**limits)) as limited:
            with block(Scripted(Response(200, steps=(b"a", Pause(30), b"b")), OK)) as fake:
                async with limited.post(URL) as held:
                    assert await held.content.readany() == b"a"
                    with pytest.raises(aiohttp.ServerTimeoutError):
                        await limited.post(URL, timeout=aiohttp.ClientTimeout(connect=0.02))
                    waiting = asyncio.create_task(_posted(limited, b"x"))
                    await asyncio.sleep(0.02)
                    assert not waiting.done()
                    assert len(fake.asked) == 1
                assert await waiting == OK.body
            assert limited.connector._acquired == set()


CLOSED = (aiohttp.ClientError, RuntimeError)
"""What a body is whose connection was closed: `RuntimeError("Connection closed.")`, as from a real server (aiohttp 3.14, 2026-11)."""


closing = needs("aiohttp>=3.10.6")  # a body of 3.10.0 waits for ever, as that of a real server does


@closing
@on_loop
async def test_a_session_that_is_closed_closes_its_connections(session: Any) -> None:
    for steps in ((b"a", b"b", b"c"), (b"a", Pause(30), b"b")):
        with block(Scripted(Response(200, steps=steps))):
            async with aiohttp.ClientSession() as closed:
                response = await closed.post(URL)
            with pytest.raises(CLOSED):
                await response.read()
            response.close()
            async with aiohttp.ClientSession() as closed:
                response = await closed.post(URL)
                with pytest.raises(CLOSED):
                    async for _ in response.content.iter_any():
                        await closed.close()
                response.close()


@pytest.mark.parametrize("method", ["connect", "_create_connection"])
def test_a_connector_of_ones_own(method: str, server: str) -> None:
    seen: list[str] = []

    async def over(self: Any, req: Any, *args: Any, **options: Any) -> Any:
        seen.append(str(req.url))
        return await getattr(super(type(self), self), method)(req, *args, **options)

    connector = type("Own", (aiohttp.TCPConnector,), {method: over})

    async def main() -> None:
        async with aiohttp.ClientSession(connector=connector()) as session:
            with block(Scripted(OK)):
                for url, expected in ((URL, OK.body), (server, b"real")):
                    async with session.post(url) as response:
                        assert await response.read() == expected

    asyncio.run(main())
    assert seen == ([URL, server] if method == "connect" else [server])


def test_a_connector_that_shares_nothing_with_ours_is_left_alone_and_guarded() -> None:
    """A connector that opens connections all by itself isn't seen: its call is refused before a name is looked up."""

    class Alone(aiohttp.BaseConnector):
        allowed_protocol_schema_set = frozenset({"https", "http", ""})

        async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:
            await asyncio.get_running_loop().getaddrinfo(req.url.host, 443)

    async def main() -> None:
        async with aiohttp.ClientSession(connector=Alone()) as session:
            await session.post(URL)

    with block(Scripted(OK)), pytest.raises(Refused):
        asyncio.run(main())


@on_loop
async def test_a_get_that_is_cut_off_is_tried_once_more(session: Any) -> None:
    with block(Scripted(Fault("disconnect"), OK)) as fake:
        async with session.get(URL) as response:
            assert await response.read() == OK.body
        assert len(fake.asked) == 2
    with block(Scripted(Fault("disconnect"), OK)) as fake:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post(URL)
        assert len(fake.asked) == 1


@on_loop
async def test_a_closed_session_stays_closed(session: Any) -> None:
    connector = aiohttp.TCPConnector()
    closed = aiohttp.ClientSession(connector=connector)
    await connector.close()
    with block(Scripted(OK)) as fake:
        with pytest.raises((aiohttp.ClientConnectionError, RuntimeError), match="closed"):
            await closed.post(URL)
        await closed.close()
        with pytest.raises(RuntimeError, match="Session is closed"):
            await closed.post(URL)

    assert fake.asked == []


def test_a_response_that_outlives_its_loop_is_let_go() -> None:
    async def main() -> list[Any]:
        session = aiohttp.ClientSession()
        response = await session.post(URL)
        await response.content.readany()
        return [response, session]

    with block(Scripted(Response(200, steps=(b"a", Pause(30), b"b")))):
        left = asyncio.run(main())
        with warnings.catch_warnings(
            action="ignore", category=ResourceWarning
        ):  # aiohttp warns of it, as of a real one
            left[0].release()
            left.clear()
            gc.collect()


@closing
@on_loop
async def test_a_session_that_is_closed_ends_what_is_waited_for(session: Any) -> None:
    other = aiohttp.ClientSession()
    with block(Scripted(Response(200, steps=(b"a", b"b")))):
        response = await other.post(URL)
        await other.close()
        with pytest.raises(CLOSED):
            await response.read()
        response.close()


def test_sessions_on_several_loops_and_in_threads() -> None:
    async def one(number: int) -> bytes:
        async with aiohttp.ClientSession() as session, session.post(URL, data=b"%d" % number) as response:
            return await response.read()

    with block(Scripted(lambda request: Response(200, steps=(request.body, b"!")))):
        assert [asyncio.run(one(number)) for number in range(3)] == [b"0!", b"1!", b"2!"]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda number: asyncio.run(one(number)), range(20)))

    assert found == [b"%d!" % number for number in range(20)]


@pytest.mark.skipif(not hasattr(aiohttp, "ClientHandlerType"), reason="needs client middlewares (aiohttp>=3.12)")
@on_loop
async def test_client_middlewares_are_above_us(session: Any) -> None:
    async def again(request: Any, handler: Any) -> Any:
        for _ in range(3):
            response = await handler(request)
            if response.status != 503:
                break
            response.release()
        return response

    with block(Scripted(Response(503), Response(503), OK)) as fake:
        async with session.post(URL, data=b"x", middlewares=(again,)) as response:
            assert response.status == 200

    assert [request.body for request in fake.asked] == [b"x"] * 3


# --- websockets ------------------------------------------------------------------------------------


async def _converse() -> None:
    async with asyncio.timeout(5), aiohttp.ClientSession() as session:
        await session.ws_connect("wss://api.openai.com/v1/realtime?model=gpt-realtime")


def test_a_websocket_to_a_known_host_is_refused_in_place() -> None:
    async def main() -> None:
        async with fake_llm.intercept() as fake:
            with pytest.raises(UninterceptedCallError, match=r"reached by a WebSocket \(aiohttp\)"):
                await _converse()
            fake.failures.clear()

    asyncio.run(main())


def test_a_websocket_elsewhere_gets_no_connection_and_the_block_says_why() -> None:
    async def main() -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await _converse()
        assert caught.value.status == 400

    with pytest.raises(UninterceptedCallError, match=r"reached by a WebSocket \(aiohttp\)"), fake_llm.intercept():
        asyncio.run(main())
