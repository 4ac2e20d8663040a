"""The transport of lm15, in DSPy's copy and by itself, sync and async: answers, faults, its own parser, and whether it has moved."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import importlib
import importlib.util
import inspect
import time
from collections.abc import Iterator
from typing import Any

import pytest

from fake_llm._model import Fault, Pause, Response, Timeouts
from fake_llm._stacks import lm15
from stacks._support import HOST, URL, Refused, Scripted, block

NAMES = {"dspy": "dspy._vendor.lm15.transports", "lm15": "lm15.transports"}
HERE = [name for package, name in NAMES.items() if importlib.util.find_spec(package)]
if not HERE:
    pytest.skip("needs lm15, or dspy", allow_module_level=True)

OK = Response(200, (("content-type", "application/json"), ("x-one", "1")), b'{"ok":true}')
EVENTS = (b"data: 1\n\n", b"data: 2\n\n")


@dataclasses.dataclass
class Got:
    status: int
    headers: list[tuple[str, str]]
    pieces: list[bytes]
    times: list[float]


class Api:
    """One copy in one mode."""

    def __init__(self, name: str, mode: str) -> None:
        self.name, self.mode = name, mode

    def __repr__(self) -> str:
        return f"{self.name}-{self.mode}"

    @property
    def module(self) -> Any:
        return importlib.import_module(self.name)

    def transport(self, **options: Any) -> Any:
        return (self.module.StdlibTransport if self.mode == "sync" else self.module.StdlibAsyncTransport)(**options)

    def post(self, transport: Any = None, url: str = URL, **options: Any) -> Got:
        """One exchange, read in pieces; what was read before it breaks is in the error's `pieces`."""
        transport = transport or self.transport()
        request = self.module.TransportRequest("POST", url, [("x-asked", "yes")], b'{"q":1}', **options)
        pieces: list[bytes] = []
        times: list[float] = []

        def keep(piece: bytes) -> None:
            pieces.append(piece)
            times.append(time.perf_counter())

        async def main() -> Got:
            async with transport.stream(request) as response:
                async for piece in response:
                    keep(piece)
                return Got(response.status, response.headers, pieces, times)

        try:
            if self.mode == "asyncio":
                return asyncio.run(main())
            with transport.stream(request) as response:
                for piece in response:
                    keep(piece)
                return Got(response.status, response.headers, pieces, times)
        except Exception as error:
            error.pieces = pieces  # type: ignore[attr-defined]
            raise


APIS = [Api(name, mode) for name in HERE for mode in ("sync", "asyncio")]
every = pytest.mark.parametrize("api", APIS, ids=repr)


@pytest.fixture(autouse=True)
def _puts_everything_back() -> Iterator[None]:
    def there() -> list[Any]:
        modules = [importlib.import_module(name) for name in HERE]
        return [(module.StdlibTransport.stream, module.StdlibAsyncTransport._do_stream) for module in modules]

    before = there()
    yield
    assert there() == before


@pytest.mark.parametrize("name", HERE)
def test_what_is_replaced_is_where_it_was(name: str) -> None:
    """Says first when lm15 has moved."""
    module = importlib.import_module(name)

    assert [*inspect.signature(module.StdlibTransport.stream).parameters] == ["self", "request"]
    assert [*inspect.signature(module.StdlibAsyncTransport._do_stream).parameters] == ["self", "request"]
    assert inspect.iscoroutinefunction(module.StdlibAsyncTransport._do_stream)
    for kind in (module.TransportResponse, module.AsyncTransportResponse):
        taken = [*inspect.signature(kind.__init__).parameters][1:]
        assert taken == ["status", "reason", "headers", "http_version", "chunks", "release"]
    fields = {field.name for field in dataclasses.fields(module.TransportRequest)}
    assert {"method", "url", "headers", "body", "connect_timeout", "read_timeout", "write_timeout"} <= fields
    head = lm15.parser(module)()
    head.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")
    assert (head.status, head.reason, head.http_version, head.complete) == (200, "OK", "HTTP/1.1", True)
    decoder = head.body_decoder("POST")
    assert (list(decoder.feed(b"ok")), decoder.complete) == ([b"ok"], True)


@every
def test_a_request_arrives_and_a_whole_answer_is_read(api: Api) -> None:
    with block(Scripted(OK)) as fake:
        got = api.post()

    assert (got.status, b"".join(got.pieces)) == (200, b'{"ok":true}')
    assert ("x-one", "1") in [(name.lower(), value) for name, value in got.headers]
    [request] = fake.asked
    assert (request.method, request.url, request.body, request.library) == ("POST", URL, b'{"q":1}', "lm15")
    assert request.headers["x-asked"] == "yes"
    assert request.timeouts == Timeouts(connect=10, read=600, write=600, pool=600)


@every
def test_its_own_timeouts_arrive(api: Api) -> None:
    with block(Scripted(OK)) as fake:
        api.post(api.transport(connect_timeout=1, read_timeout=2, write_timeout=3, pool_timeout=None), read_timeout=4)

    assert fake.asked[0].timeouts == Timeouts(connect=1, read=4, write=3, pool=None)


@every
def test_each_step_is_a_piece_that_comes_when_it_is_made(api: Api) -> None:
    with block(Scripted(Response(200, steps=(EVENTS[0], b"", Pause(0.05), EVENTS[1])))):
        got = api.post()

    assert got.pieces == list(EVENTS)
    assert got.times[1] - got.times[0] >= 0.04


@every
def test_compressed_bodies_are_the_librarys_to_decode(api: Api) -> None:
    encoded = (("content-encoding", "gzip"),)
    packed = gzip.compress(b"".join(EVENTS))
    with block(Scripted(Response(200, encoded, packed), Response(200, encoded, steps=(packed[:9], packed[9:])))):
        for _ in range(2):
            assert b"".join(api.post().pieces) == b"".join(EVENTS)


@every
@pytest.mark.parametrize("status", [200, 204, 304, 404, 429, 500, 529])
def test_every_kind_of_status(api: Api, status: int) -> None:
    body = b"" if status in (204, 304) else b"{}"
    with block(Scripted(Response(status, body=body))):
        got = api.post()

    assert (got.status, b"".join(got.pieces)) == (status, body)


@every
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("read_timeout", "ReadTimeout"),
        ("total_timeout", "ReadTimeout"),
        ("connect_timeout", "ConnectTimeout"),
        ("write_timeout", "WriteTimeout"),
        ("pool_timeout", "TransportError"),
        ("connect", "ConnectError"),
        ("disconnect", "ReadError"),
        ("raise", "TransportError"),
    ],
)
def test_a_fault_is_the_librarys_own_exception(api: Api, kind: Any, name: str) -> None:
    with block(Scripted(Fault(kind))), pytest.raises(Exception) as caught:
        api.post()

    assert type(caught.value) is getattr(api.module, name)


@every
@pytest.mark.parametrize(("kind", "name"), [("read_timeout", "ReadTimeout"), ("disconnect", "ProtocolError")])
def test_a_fault_in_the_middle_of_a_body(api: Api, kind: Any, name: str) -> None:
    with block(Scripted(Response(200, steps=(*EVENTS, Fault(kind))))), pytest.raises(Exception) as caught:
        api.post()

    assert type(caught.value) is getattr(api.module, name)
    assert caught.value.pieces == list(EVENTS)


@every
@pytest.mark.parametrize("where", ["before", "middle"])
def test_a_scripted_exception_is_raised_as_it_is(api: Api, where: str) -> None:
    fault = Fault("raise", error=LookupError("mine"))
    answer = fault if where == "before" else Response(200, steps=(EVENTS[0], fault))

    with block(Scripted(answer)), pytest.raises(LookupError, match="mine") as caught:
        api.post()

    assert caught.value is fault.error


@every
def test_what_the_handler_raises_comes_out_unchanged(api: Api) -> None:
    with block(Scripted(Refused("no"))), pytest.raises(Refused, match="no"):
        api.post()


@every
def test_other_hosts_go_to_the_network(api: Api) -> None:
    with block(Scripted(OK)) as fake, pytest.raises(api.module.ConnectError):
        api.post(url="http://127.0.0.1:9/")

    assert not fake.asked


@every
def test_a_transport_made_before_the_block_and_used_after_it(api: Api) -> None:
    transport = api.transport()
    with block(Scripted(OK)):
        assert api.post(transport).status == 200
    if api.mode == "sync":
        transport.close()
    else:
        asyncio.run(transport.aclose())
    with block(Scripted(OK)), pytest.raises(api.module.TransportError, match="transport is closed"):
        api.post(transport)


@every
def test_a_proxy_in_the_environment_is_never_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with block(Scripted(OK)):
        assert api.post().status == 200


@every
def test_a_stream_that_is_left_early_is_let_go(api: Api) -> None:
    played: list[bytes] = []

    class Watched(Pause):
        @property
        def seconds(self) -> float:  # type: ignore[override]
            played.append(b"")
            return 0

        def __init__(self) -> None:
            pass

    request = api.module.TransportRequest("POST", URL)

    async def main() -> None:
        async with api.transport().stream(request) as response:
            async for _ in response:
                break

    with block(Scripted(Response(200, steps=(EVENTS[0], Watched(), EVENTS[1])))):
        if api.mode == "asyncio":
            asyncio.run(main())
        else:
            with api.transport().stream(request) as response:
                next(iter(response))

    assert not played


@every
def test_mounted_on_one_transport_it_answers_there_only(api: Api) -> None:
    fake, transport, other = Scripted(OK), api.transport(), api.transport()
    [(owner, attribute, make)] = lm15.mounted(api.module, transport, fake)
    setattr(owner, attribute, make(getattr(owner, attribute)))

    assert api.post(transport, url="http://127.0.0.1:9/").status == 200
    with pytest.raises(api.module.ConnectError):
        api.post(other, url="http://127.0.0.1:9/")


@pytest.mark.parametrize("name", HERE)
def test_a_wait_can_be_cancelled(name: str) -> None:
    module = importlib.import_module(name)

    async def main() -> None:
        async with module.StdlibAsyncTransport().stream(module.TransportRequest("POST", URL)) as response:
            async for _ in response:
                pass

    with block(Scripted(Response(200, steps=(EVENTS[0], Pause(60))))), pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(main(), 0.1))


@pytest.mark.parametrize("api", [api for api in APIS if api.mode == "sync"], ids=repr)
def test_the_guard_behind_it_is_never_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    reached: list[Any] = []
    monkeypatch.setattr(socket, "create_connection", lambda *args, **options: reached.append(args))
    with block(Scripted(OK)):
        assert api.post(url=f"https://{HOST}:8443/").status == 200

    assert not reached
