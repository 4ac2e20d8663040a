"""What is particular to httpx: every case runs on httpx and httpx2, on a client that blocks, on asyncio and on trio.

The rest is in the contract of all stacks.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import json
import logging
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from _ids import shown
from fake_llm._model import Fault, Pause, Response, Timeouts
from fake_llm._stacks.httpx import transport
from stacks._support import HOST, URL, Scripted, block

MODULES = [name for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
OK = Response(200, (("content-type", "application/json"), ("x-one", "1")), b'{"ok":true}')


class Api:
    """One library in one mode, with the two halves of its interface behind one."""

    def __init__(self, library: str, mode: str) -> None:
        self.library, self.mode = library, mode
        self.is_async = mode != "sync"

    def __repr__(self) -> str:
        return f"{self.library}-{self.mode}"

    @property
    def module(self) -> Any:
        return importlib.import_module(self.library)

    def client(self, **options: Any) -> Any:
        return (self.module.AsyncClient if self.is_async else self.module.Client)(**options)

    @property
    def http_transport(self) -> Any:
        return self.module.AsyncHTTPTransport if self.is_async else self.module.HTTPTransport

    @property
    def base_transport(self) -> Any:
        return self.module.AsyncBaseTransport if self.is_async else self.module.BaseTransport

    @property
    def handle(self) -> str:
        return "handle_async_request" if self.is_async else "handle_request"

    def method(self, body: Callable[..., Any]) -> Any:
        """A method of a transport, `async` where it has to be, from a generator that yields what is awaited."""
        if not self.is_async:

            def plain(*args: Any) -> Any:
                steps, sent = body(*args), None
                try:
                    while True:
                        sent = steps.send(sent)
                except StopIteration as end:
                    return end.value

            return plain

        async def awaiting(*args: Any) -> Any:
            steps, sent = body(*args), None
            try:
                while True:
                    sent = await steps.send(sent)
            except StopIteration as end:
                return end.value

        return awaiting

    async def call(self, method: Any, *args: Any, **options: Any) -> Any:
        got = method(*args, **options)
        return await got if self.is_async else got

    async def post(self, client: Any, url: str = URL, **options: Any) -> Any:
        return await self.call(client.post, url, **options)

    async def open(self, client: Any, url: str = URL) -> Any:
        return await self.call(client.send, client.build_request("POST", url), stream=True)

    async def close(self, response: Any) -> None:
        await self.call(response.aclose if self.is_async else response.close)

    async def pieces(self, response: Any, kind: str = "raw") -> Any:
        """Yields what the response gives, with the time it came."""
        if self.is_async:
            async for piece in getattr(response, f"aiter_{kind}")():
                yield piece
        else:
            for piece in getattr(response, f"iter_{kind}")():
                yield piece


def run(api: Api, case: Callable[..., Any], **fixtures: Any) -> None:
    async def main() -> None:
        await case(api, **fixtures)

    if api.mode == "sync":
        with pytest.raises(StopIteration):
            main().send(None)
    elif api.mode == "trio":
        trio.run(main)
    else:
        asyncio.run(main())


def every(case: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a coroutine in each mode; on a client that blocks it never waits."""
    apis = [Api(library, mode) for library in MODULES for mode in ("sync", "asyncio", "trio")]

    @pytest.mark.parametrize("api", apis, ids=shown)
    def test(api: Api, request: pytest.FixtureRequest) -> None:
        names = case.__code__.co_varnames[1 : case.__code__.co_argcount]
        run(api, case, **{name: request.getfixturevalue(name) for name in names})

    test.__name__ = case.__name__
    return test


# What is asked and what is answered


@every
async def test_a_request_arrives_whole_and_a_whole_answer_is_one(api: Api) -> None:
    with block(Scripted(OK)) as fake:
        client = api.client(timeout=api.module.Timeout(1, read=2, write=3, pool=4))
        response = await api.post(client, URL + "?a=b#stream", json={"q": "é"}, headers={"X-Key": "k"})

    assert response.json() == {"ok": True}
    assert (response.status_code, response.headers["x-one"], response.headers["content-length"]) == (200, "1", "11")
    assert response.is_closed
    assert response.elapsed.total_seconds() < 1
    [request] = fake.asked
    assert (request.method, request.url, request.library) == ("POST", URL + "?a=b#stream", api.library)
    assert json.loads(request.body) == {"q": "é"}
    assert request.headers["x-key"] == "k"
    assert request.timeouts == Timeouts(1, 2, 3, 4)


@every
async def test_no_timeout_is_no_timeout(api: Api) -> None:
    with block(Scripted(OK)) as fake:
        await api.post(api.client(timeout=None))
        direct = api.http_transport()
        await api.call(getattr(direct, api.handle), api.module.Request("POST", URL))

    assert [request.timeouts for request in fake.asked] == [Timeouts(), Timeouts()]


@every
async def test_upload_bodies_are_read(api: Api) -> None:
    async def parts() -> Any:
        for part in (b"one", b"two"):
            yield part

    content = parts() if api.is_async else iter([b"one", b"two"])
    with block(Scripted(OK)) as fake:
        client = api.client()
        await api.post(client, content=content)
        await api.post(client, files={"file": ("a.txt", b"inside")}, data={"k": "v"})

    assert fake.asked[0].body == b"onetwo"
    assert b"inside" in fake.asked[1].body


@every
async def test_a_body_of_the_other_colour_is_the_librarys_own_error(api: Api) -> None:
    async def parts() -> Any:
        yield b""  # pragma: no cover

    with block(Scripted(OK)) as fake, pytest.raises(RuntimeError, match="Attempted to send a"):
        await api.post(api.client(), content=iter([b"x"]) if api.is_async else parts())

    assert fake.asked == []


@every
async def test_header_bytes_that_are_no_utf8_arrive(api: Api) -> None:
    with block(Scripted(OK)) as fake:
        await api.post(api.client(), headers=[(b"x-name", "é".encode("latin-1"))])

    assert fake.asked[0].headers["x-name"] == "é"


@every
async def test_a_whole_answer_can_be_streamed(api: Api) -> None:
    with block(Scripted(OK)):
        response = await api.open(api.client())
        with pytest.raises(api.module.ResponseNotRead):
            _ = response.content
        assert [piece async for piece in api.pieces(response)] == [OK.body]


@every
async def test_header_values_of_one_name_stay_apart(api: Api) -> None:
    answer = Response(200, (("set-cookie", "a=1"), ("set-cookie", "b=2")))
    with block(Scripted(answer)):
        client = api.client()
        response = await api.post(client)

    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]
    assert dict(client.cookies) == {"a": "1", "b": "2"}
    assert response.content == b""


@every
async def test_compressed_bodies_are_the_librarys_to_decode(api: Api) -> None:
    headers = (("content-encoding", "gzip"),)
    packed = gzip.compress(b"unpacked")
    with block(Scripted(Response(200, headers, packed), Response(200, headers, steps=(packed[:9], packed[9:])))):
        client = api.client()
        whole, streamed = await api.post(client), await api.post(client)

    assert (whole.content, streamed.content) == (b"unpacked", b"unpacked")


# Streams


@every
async def test_each_bytes_step_is_one_read(api: Api) -> None:
    with block(Scripted(Response(200, steps=(b"a", b"bc", b"d\n\n")))):
        response = await api.open(api.client())
        got = [piece async for piece in api.pieces(response)]

    assert got == [b"a", b"bc", b"d\n\n"]
    assert response.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in response.headers


@every
async def test_pauses_are_waited_out_where_they_stand(api: Api) -> None:
    with block(Scripted(Response(200, steps=(b"a", Pause(0.05), b"b", b"c"), delay=0.05))):
        started = time.perf_counter()
        response = await api.open(api.client())
        times = [time.perf_counter() - started]
        async for _ in api.pieces(response):
            times.append(time.perf_counter() - started)

    opened, first, second, third = times
    assert opened >= 0.05
    assert first - opened < 0.03
    assert second - first >= 0.045
    assert third - second < 0.03


@pytest.mark.parametrize("library", MODULES)
def test_pauses_on_asyncio_let_others_run(library: str) -> None:
    api, ticks = Api(library, "asyncio"), []

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.005)
            ticks.append(1)

    async def main() -> None:
        ticking = asyncio.create_task(tick())
        await api.post(api.client())
        ticking.cancel()

    with block(Scripted(Response(200, steps=(Pause(0.03), b"a", Pause(0.03)), delay=0.03))):
        asyncio.run(main())

    assert len(ticks) > 4


# Faults

BEFORE = [
    ("read_timeout", "ReadTimeout", "The read operation timed out"),
    ("connect_timeout", "ConnectTimeout", "timed out"),
    ("write_timeout", "WriteTimeout", "The write operation timed out"),
    ("pool_timeout", "PoolTimeout", "timed out"),
    ("connect", "ConnectError", "[Errno 111] Connection refused"),
    ("disconnect", "RemoteProtocolError", "Server disconnected without sending a response."),
]


@every
async def test_a_fault_is_the_librarys_own_exception(api: Api) -> None:
    for kind, name, text in BEFORE:
        with block(Scripted(Fault(kind), Fault(kind, "said"))):
            client = api.client()
            for expected in (text, "said"):
                with pytest.raises(getattr(api.module, name)) as caught:
                    await api.post(client)
                assert type(caught.value).__name__ == name
                assert str(caught.value) == expected
                assert str(caught.value.request.url) == URL


@every
async def test_a_fault_in_the_middle_of_a_body(api: Api) -> None:
    broken = "peer closed connection without sending complete message body (incomplete chunked read)"
    for kind, name, text in (
        ("disconnect", "RemoteProtocolError", broken),
        ("read_timeout", "ReadTimeout", "The read operation timed out"),
    ):
        with block(Scripted(Response(200, steps=(b"a", Fault(kind))))):
            response = await api.open(api.client())
            got = []
            with pytest.raises(getattr(api.module, name)) as caught:
                async for piece in api.pieces(response):
                    got.append(piece)
            assert got == [b"a"]
            assert str(caught.value) == text
            assert str(caught.value.request.url) == URL
            await api.close(response)


@every
async def test_a_fault_waits_its_delay(api: Api) -> None:
    with block(Scripted(Fault("connect", delay=0.03), Response(200, steps=(Fault("disconnect", delay=0.03),)))):
        client = api.client()
        for error in (api.module.ConnectError, api.module.RemoteProtocolError):
            started = time.perf_counter()
            with pytest.raises(error):
                await api.post(client)
            assert time.perf_counter() - started >= 0.03


# Which calls are seen


@every
async def test_a_proxy_in_the_environment_and_mounts_change_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with block(Scripted(OK)) as fake:
        await api.post(api.client())
        await api.post(api.client(mounts={"https://": api.http_transport(proxy="http://127.0.0.1:9")}))

    assert len(fake.asked) == 2


@every
async def test_event_hooks_redirects_and_auth_are_the_clients(api: Api) -> None:
    seen = []

    def note(message: Any) -> None:
        seen.append(type(message).__name__)

    async def note_async(message: Any) -> None:
        note(message)

    hook = note_async if api.is_async else note
    moved = Response(307, (("location", f"https://{HOST}/moved"),))
    with block(Scripted(moved, OK)) as fake:
        client = api.client(event_hooks={"request": [hook], "response": [hook]}, auth=("u", "p"), follow_redirects=True)
        response = await api.post(client, content=b"again")

    assert response.status_code == 200
    assert [request.path for request in fake.asked] == ["/v1/chat", "/moved"]
    assert [request.body for request in fake.asked] == [b"again", b"again"]
    assert fake.asked[0].headers["authorization"].startswith("Basic ")
    assert seen == ["Request", "Response", "Request", "Response"]


@every
async def test_the_librarys_log_line_is_there(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    # LiteLLM turns the library's own logger down for the whole process
    with block(Scripted(OK)), caplog.at_level(logging.INFO, logger=api.module.__name__):
        await api.post(api.client())

    assert f'HTTP Request: POST {URL} "HTTP/1.1 200 OK"' in caplog.messages


# Transports that aren't the stock ones


def retrying(api: Api, base: Any, inner: str | None) -> Any:
    """A transport that tries again while it gets a 503: on top of its base, or around the transport it keeps as `inner`."""

    def handle(self: Any, request: Any) -> Any:
        handle_inner = getattr(vars(self)[inner], api.handle) if inner else getattr(base, api.handle).__get__(self)
        for _ in range(3):
            response = yield api.call(handle_inner, request) if api.is_async else handle_inner(request)
            if response.status_code != 503:
                break
        return response

    return type("Retrying", (base,), {api.handle: api.method(handle)})


@every
async def test_a_subclass_of_the_stock_transport_keeps_its_retries(api: Api) -> None:
    with block(Scripted(Response(503), OK)) as fake:
        client = api.client(transport=retrying(api, api.http_transport, None)())
        assert (await api.post(client)).status_code == 200

    assert len(fake.asked) == 2


@every
async def test_a_wrapper_keeps_its_retries(api: Api) -> None:
    outer = retrying(api, api.base_transport, "_wrapped")()
    outer._wrapped = api.http_transport()
    with block(Scripted(Response(503), OK)) as fake:
        assert (await api.post(api.client(transport=outer))).status_code == 200

    assert len(fake.asked) == 2


@every
async def test_a_transport_of_another_kind_is_answered_above(api: Api) -> None:
    def handle(self: Any, request: Any) -> Any:
        raise AssertionError("reached the network")
        yield

    other = type("Other", (api.base_transport,), {api.handle: api.method(handle)})()
    with block(Scripted(OK)) as fake:
        assert (await api.post(api.client(transport=other))).status_code == 200

    assert len(fake.asked) == 1


@every
async def test_a_function_that_was_put_on_a_transport_before_us_is_answered_above(api: Api) -> None:
    stock = api.http_transport()
    setattr(stock, api.handle, getattr(stock, api.handle))  # holds the original: beneath it nothing is seen
    with block(Scripted(OK)) as fake:
        assert (await api.post(api.client(transport=stock))).status_code == 200

    assert len(fake.asked) == 1


@every
async def test_a_tests_own_transports_are_left_alone(api: Api) -> None:
    async def asgi(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 209, "headers": []})
        await send({"type": "http.response.body", "body": b"own"})

    def wsgi(environ: Any, start: Any) -> Any:
        start("209 OK", [])
        return [b"own"]

    module = api.module
    apps = module.ASGITransport(app=asgi) if api.is_async else module.WSGITransport(app=wsgi)
    mock = module.MockTransport(lambda _: module.Response(209, content=b"own"))
    with block(Scripted(OK)) as fake:
        for own in (apps, mock):
            assert (await api.post(api.client(transport=own))).content == b"own"
        assert (await api.post(api.client(mounts={"https://": mock}))).content == b"own"

    assert fake.asked == []


@every
async def test_a_mounted_transport_answers_everything_and_wins_over_a_block(api: Api) -> None:
    mounted = Scripted(Response(200, steps=(b"a", b"b")))
    with block(Scripted(OK)) as fake:
        client = api.client(transport=transport(api.module, mounted))
        assert (await api.post(client, "https://anything.test/")).content == b"ab"

    assert isinstance(transport(api.module, mounted), api.module.MockTransport)
    assert (len(mounted.asked), fake.asked) == (1, [])
    assert mounted.asked[0].library == api.library


@every
async def test_pydantic_ais_retrying_transport(api: Api) -> None:
    tenacity = pytest.importorskip("tenacity")
    retries = pytest.importorskip("pydantic_ai.retries")
    name = ("Async" if api.is_async else "") + ("HTTPX2" if api.library == "httpx2" else "") + "TenacityTransport"
    if not hasattr(retries, name):
        pytest.skip(f"this pydantic_ai has no transport for {api.library}")
    config = {"stop": tenacity.stop_after_attempt(3), "reraise": True}

    def check(response: Any) -> None:
        if response.status_code == 429:
            raise api.module.HTTPStatusError("429", request=response.request, response=response)

    with block(Scripted(Response(429), OK)) as fake:
        with warnings.catch_warnings(action="ignore"):  # the one for httpx is deprecated
            outer = getattr(retries, name)(config, wrapped=api.http_transport(), validate_response=check)
        assert (await api.post(api.client(transport=outer))).status_code == 200

    assert len(fake.asked) == 2


# Other tools that patch httpx


@every
async def test_a_mock_patched_in_after_us_beneath_doesnt_swallow(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(self: Any, request: Any) -> Any:
        return api.module.Response(299)
        yield

    with block(Scripted(OK)) as fake:
        monkeypatch.setattr(api.http_transport, api.handle, api.method(handle))
        client = api.client()
        assert (await api.post(client)).status_code == 200
        assert (await api.post(client, "https://other.test/")).status_code == 299

    assert len(fake.asked) == 1
    assert (await api.post(client, "https://other.test/")).status_code == 299


@pytest.mark.parametrize("first", ["pytest_httpx", "ours"])
def test_pytest_httpx(first: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("pytest_httpx")
    import httpx

    if first == "pytest_httpx":
        request.getfixturevalue("httpx_mock")
    with block(Scripted(OK)) as fake:
        mock = request.getfixturevalue("httpx_mock")
        mock.add_response(url="https://other.test/", text="theirs")
        client = httpx.Client()
        assert client.get("https://other.test/").text == "theirs"
        assert client.post(URL).json() == {"ok": True}

    assert len(fake.asked) == 1


@pytest.mark.parametrize("mocker", ["httpcore", "httpx"])
@pytest.mark.parametrize("order", ["before", "inside", "stopped before our exit"])
def test_respx(mocker: str, order: str) -> None:
    respx = pytest.importorskip("respx")
    import httpx

    chosen = httpx.Client._transport_for_url
    router = respx.mock(assert_all_called=False, using=mocker)
    router.get("https://other.test/").respond(text="theirs")
    client = httpx.Client()
    if order != "inside":
        router.start()
    with block(Scripted(OK)) as fake:
        if order == "inside":
            router.post(url__startswith=URL).pass_through()
            router.start()
        assert client.get("https://other.test/").text == "theirs"
        assert client.post(URL).json() == {"ok": True}
        if order != "before":
            router.stop()
            assert client.post(URL).json() == {"ok": True}
            assert len(fake.asked) == 2
    if order == "before":
        router.stop()

    assert httpx.Client._transport_for_url is chosen


@every
async def test_vcr_cassette_inside(api: Api, tmp_path: Path) -> None:
    vcr = pytest.importorskip("vcr")
    with block(Scripted(OK)) as fake, vcr.use_cassette(str(tmp_path / "c.yaml")):
        assert (await api.post(api.client())).json() == {"ok": True}

    assert len(fake.asked) == 1


# Threads and loops


@pytest.mark.parametrize("library", MODULES)
def test_one_async_client_on_several_loops(library: str) -> None:
    client = Api(library, "asyncio").client()
    with block(Scripted(Response(200, steps=(b"a", Pause(0.001), b"b")))):
        for _ in range(3):
            assert asyncio.run(client.post(URL)).content == b"ab"
