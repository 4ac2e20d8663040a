"""Time: real unless virtual; the client's own time-outs fire where they would; what was waited is summed.

No test measures how long something took, but for a lower bound where time is real.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _wire import CHAT, VENDORS, WAYS, Vendor, said
from fake_llm import Error, Raw, Reply, Stall

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
libraries = pytest.mark.parametrize("name", ["httpx", pytest.param("httpx2", marks=needs("httpx2"))])


def library(name: str) -> Any:
    import importlib

    return importlib.import_module(name)


# --- real ---------------------------------------------------------------------------------------


@ways
def test_time_is_real_by_default(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply("one two", delay=0.03, interval=0.02)]) as fake:
        before = time.monotonic()
        vendor.post(stream=stream)
        took = time.monotonic() - before
    wanted = 0.05 if stream else 0.03
    assert took >= wanted
    assert fake.calls[0].waited == pytest.approx(wanted)


@pytest.mark.asyncio
@needs("pytest-asyncio")
@libraries
async def test_a_delay_does_not_block_the_loop(name: str) -> None:
    order: list[str] = []

    async def ask(client: Any, question: str) -> None:
        await client.post(CHAT.place(), json=CHAT.body(question))
        order.append(question)

    async def tick() -> None:
        while len(order) < 2:
            order.append("tick") if "tick" not in order[-1:] else None
            await asyncio.sleep(0)

    def paced(call: fake_llm.Call) -> Reply:
        return Reply("x", delay=0.6 if call.last_user_text == "slow" else 0.05)

    async with fake_llm.intercept(default=paced), library(name).AsyncClient() as client:
        await asyncio.gather(ask(client, "slow"), ask(client, "fast"), tick())
    assert order.index("fast") < order.index("slow")
    assert "tick" in order[: order.index("fast")]


@pytest.mark.asyncio
@needs("pytest-asyncio")
async def test_an_interval_does_not_block_the_loop() -> None:
    order: list[str] = []

    async def read(client: httpx.AsyncClient) -> None:
        async with client.stream("POST", CHAT.place(), json=CHAT.body(stream=True)) as response:
            async for piece in response.aiter_raw():
                if b'"content":" ' in piece:
                    order.append("chunk")
        order.append("end")

    async def tick() -> None:
        while "end" not in order:
            order.append("tick")
            await asyncio.sleep(0)

    async with fake_llm.intercept([Reply("one two three", interval=0.02)]), httpx.AsyncClient() as client:
        await asyncio.gather(read(client), tick())
    first, second = (index for index, word in enumerate(order) if word == "chunk")
    assert "tick" in order[first:second]


@needs("trio")
def test_time_on_trio() -> None:
    import trio

    order: list[str] = []

    async def ask(client: httpx.AsyncClient, question: str, seconds: float) -> None:
        response = await client.post(CHAT.place(), json=CHAT.body(question, user=str(seconds)))
        assert said(CHAT, response).text == "x"
        order.append(question)

    async def main() -> None:
        async with httpx.AsyncClient() as client, trio.open_nursery() as nursery:
            nursery.start_soon(ask, client, "slow", 0.6)
            nursery.start_soon(ask, client, "fast", 0.01)

    with fake_llm.intercept(default=lambda call: Reply("x", delay=float(call.body["user"]))):
        trio.run(main)
    assert order == ["fast", "slow"]


def test_the_clients_time_out_fires_in_real_time() -> None:
    with fake_llm.intercept([Reply("x", delay=60)]) as fake:
        before = time.monotonic()
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(CHAT.place(), json=CHAT.body(), timeout=0.02)
        assert time.monotonic() - before >= 0.02
        assert fake.calls[0].waited == 0.02


# --- virtual ------------------------------------------------------------------------------------

LONG = 1e6
"""Seconds that no test could wait for."""


@ways
def test_virtual_time_takes_none(vendor: Vendor, stream: bool) -> None:
    turns = [
        Reply("one two three", delay=LONG, interval=LONG, then=Stall(LONG)),
        Raw(b"x", then=Stall(LONG)),
        Error(429),
    ]
    with fake_llm.intercept(turns, virtual_time=True) as fake, httpx.Client(timeout=None) as client:
        responses = [client.post(vendor.place(stream), json=vendor.body(str(n), stream=stream)) for n in range(3)]
    assert said(vendor, responses[0]).text == "one two three"
    assert [call.waited for call in fake.calls] == [(4 if stream else 2) * LONG, LONG, 0]


@libraries
@ways
def test_a_time_out_fires_where_it_would(name: str, vendor: Vendor, stream: bool) -> None:
    module = library(name)

    def ask(client: Any) -> Any:
        return client.post(vendor.place(stream), json=vendor.body(stream=stream))

    turns = [
        Reply("x", delay=9),
        Reply("x", delay=11),
        Reply("one two", interval=11),
        Reply("one two three four", interval=9, delay=9, then=Stall(9)),
        Reply("one two", then=Stall(11)),
    ]
    with fake_llm.intercept(turns, virtual_time=True) as fake, module.Client(timeout=10) as client:
        assert ask(client).status_code == 200
        with pytest.raises(module.ReadTimeout):
            ask(client)
        if stream:
            with pytest.raises(module.ReadTimeout):
                ask(client)
        else:
            assert ask(client).status_code == 200
        assert ask(client).status_code == 200  # many pauses, none of them longer than the time-out
        with pytest.raises(module.ReadTimeout):
            ask(client)
    assert [call.waited for call in fake.calls] == [9, 10, 10 if stream else 0, 45 if stream else 18, 10]


@pytest.mark.asyncio
@needs("pytest-asyncio")
@libraries
@ways
async def test_a_time_out_fires_where_it_would_on_a_loop(name: str, vendor: Vendor, stream: bool) -> None:
    module = library(name)
    turns = [Reply("x", delay=9), Reply("x", delay=11), Reply("one two", then=Stall(11))]
    async with fake_llm.intercept(turns, virtual_time=True) as fake, module.AsyncClient(timeout=10) as client:
        response = await client.post(vendor.place(stream), json=vendor.body(stream=stream))
        assert response.status_code == 200
        for _ in range(2):
            with pytest.raises(module.ReadTimeout):
                await client.post(vendor.place(stream), json=vendor.body(stream=stream))
    assert [call.waited for call in fake.calls] == [9, 10, 10]


@needs("requests")
@pytest.mark.parametrize("timeout", [10, (3, 10), (None, 10)], ids=shown)
def test_a_time_out_fires_where_it_would_on_requests(timeout: Any) -> None:
    import requests

    turns = [Reply("x", delay=9), Reply("x", delay=11), Reply("one two", then=Stall(11))]
    with fake_llm.intercept(turns, virtual_time=True) as fake:
        assert requests.post(CHAT.place(), json=CHAT.body(), timeout=timeout).status_code == 200
        for _ in range(2):
            with pytest.raises((requests.exceptions.ReadTimeout, requests.exceptions.ConnectionError)):
                requests.post(CHAT.place(), json=CHAT.body(), timeout=timeout)
    assert [call.waited for call in fake.calls] == [9, 10, 10]


# --- the same on clients that have time-outs of other names ---------------------------------------


async def by_aiohttp(stream: bool, **limits: Any) -> None:
    import aiohttp

    timeout = aiohttp.ClientTimeout(**{"total": None} | limits)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(CHAT.place(), json=CHAT.body(stream=stream)) as response,
    ):
        await response.read()


async def by_boto3(stream: bool, **limits: Any) -> None:
    import boto3
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}, **limits)
    client = boto3.session.Session().client("bedrock-runtime", config=config)
    asked: Any = {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    if stream:
        list(client.converse_stream(**asked)["stream"])
    else:
        client.converse(**asked)


async def by_requests(stream: bool, **limits: Any) -> None:
    import requests

    requests.post(CHAT.place(), json=CHAT.body(stream=stream), **limits)


@dataclass(frozen=True)
class Limited:
    """A client, the names of its time-outs, and what it raises for them before and in the middle of an answer."""

    name: str
    ask: Any
    read: dict[str, Any]
    read_errors: tuple[str, str]
    total: dict[str, Any] | None = None
    default: float | None = None

    @property
    def marked(self) -> Any:
        return pytest.param(self, id=self.name, marks=needs(self.name))


LIMITED = (
    Limited("aiohttp", by_aiohttp, {"sock_read": 10}, ("SocketTimeoutError",) * 2, {"total": 25}),
    Limited("boto3", by_boto3, {"read_timeout": 10}, ("ReadTimeoutError",) * 2, default=60),
    Limited("requests", by_requests, {"timeout": 10}, ("ReadTimeout", "ConnectionError")),
)


def fails_with(client: Limited, error: str, stream: bool, limits: dict[str, Any]) -> None:
    with pytest.raises(Exception) as caught:
        asyncio.run(client.ask(stream, **limits))
    assert caught.type.__name__ == error


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("client", [client.marked for client in LIMITED])
def test_virtual_time_takes_none_on_any_client(client: Limited, stream: bool) -> None:
    turns = [Reply("one two three", delay=9, interval=9), Reply("x", delay=9)]
    with fake_llm.intercept(turns, virtual_time=True) as fake:
        before = time.monotonic()
        for _ in turns:
            asyncio.run(client.ask(stream, **client.read))
        assert time.monotonic() - before < 9
    assert [call.waited for call in fake.calls] == [27 if stream else 9, 9]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("client", [client.marked for client in LIMITED])
def test_a_read_time_out_fires_where_it_would_on_any_client(client: Limited, stream: bool) -> None:
    turns = [
        Reply("x", delay=11),
        Reply("one two", interval=11) if stream else TimeoutError(),
        Reply("x", then=Stall()),
    ]
    with fake_llm.intercept(turns, virtual_time=True) as fake:
        fails_with(client, client.read_errors[0], stream, client.read)
        fails_with(client, client.read_errors[stream], stream, client.read)
        fails_with(client, client.read_errors[1], stream, client.read)
    assert [call.waited for call in fake.calls] == [10, 10, 10]


@pytest.mark.parametrize("client", [client.marked for client in LIMITED if client.total is not None])
def test_a_time_out_of_all_fires_where_it_would(client: Limited) -> None:
    """After many pauses, none of them longer than a read may take."""
    assert client.total is not None
    turns = [Reply("one two three four", interval=10), Reply("x", delay=26), TimeoutError()]
    with fake_llm.intercept(turns, virtual_time=True) as fake:
        fails_with(client, "TimeoutError", True, client.total)
        fails_with(client, "TimeoutError", True, client.total)
        fails_with(client, "TimeoutError", False, client.total)
    assert [call.waited for call in fake.calls] == [25, 25, 25]


@pytest.mark.parametrize("client", [client.marked for client in LIMITED if client.default is not None])
def test_a_client_has_its_own_default(client: Limited) -> None:
    assert client.default is not None
    with fake_llm.intercept([Reply("x", delay=client.default + 1)], virtual_time=True) as fake:
        fails_with(client, client.read_errors[0], False, {})
    assert fake.calls[0].waited == client.default


@needs("boto3")
def test_a_time_out_of_a_connection_is_scripted_by_its_class() -> None:
    from botocore.exceptions import ConnectTimeoutError

    late = ConnectTimeoutError(endpoint_url="https://bedrock-runtime.us-east-1.amazonaws.com")
    with fake_llm.intercept([late]) as fake, pytest.raises(ConnectTimeoutError):
        asyncio.run(by_boto3(False, connect_timeout=3))
    assert fake.calls[0].waited == 3


@needs("aiohttp")
def test_a_time_out_of_a_connection_is_scripted_by_its_class_on_aiohttp() -> None:
    import aiohttp

    with fake_llm.intercept([aiohttp.ConnectionTimeoutError]) as fake, pytest.raises(aiohttp.ConnectionTimeoutError):
        asyncio.run(by_aiohttp(False, sock_connect=3))
    assert fake.calls[0].waited == 3


@vendors
def test_what_came_before_a_time_out_was_received(vendor: Vendor) -> None:
    got: list[bytes] = []
    with (
        fake_llm.intercept([Reply("one two", interval=11)], virtual_time=True),
        pytest.raises(httpx.ReadTimeout),
        httpx.stream("POST", vendor.place(True), json=vendor.body(stream=True), timeout=10) as response,
    ):
        for read in response.iter_raw():
            got.append(read)
    body = b"".join(got)
    assert b"one" in body
    assert b" two" not in body


@needs("openai")
@pytest.mark.parametrize("stream", [False, True])
def test_a_time_out_through_openai(stream: bool) -> None:
    import openai

    with (
        fake_llm.intercept([Reply("x", delay=601)], virtual_time=True) as fake,
        openai.OpenAI(max_retries=0) as client,
    ):
        with pytest.raises(openai.APITimeoutError):
            client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}], stream=stream)
        assert fake.calls[0].waited == 600  # openai's default


@needs("anthropic")
def test_a_time_out_through_anthropic() -> None:
    import anthropic

    asked: Any = {"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    with (
        fake_llm.intercept([Reply("x", delay=21), "x"], virtual_time=True) as fake,
        anthropic.Anthropic(timeout=20, max_retries=1) as client,
    ):
        assert client.messages.create(**asked).content[0].text == "x"
    assert 20 < fake.calls[0].waited < 22  # the time-out, and what the SDK would have slept after it
    assert fake.calls[1].waited == 0


# --- the other phases ---------------------------------------------------------------------------


@libraries
@pytest.mark.parametrize(
    ("error", "waited"), [("ConnectTimeout", 1), ("PoolTimeout", 4), ("WriteTimeout", 3), ("ReadTimeout", 2)]
)
def test_a_time_out_of_another_phase_is_scripted_by_its_class(name: str, error: str, waited: float) -> None:
    module = library(name)
    kind = getattr(module, error)
    timeout = module.Timeout(connect=1, read=2, write=3, pool=4)
    with fake_llm.intercept([kind, kind("mine")]) as fake, module.Client(timeout=timeout) as client:
        for n in range(2):
            with pytest.raises(kind):
                client.post(CHAT.place(), json=CHAT.body(str(n)))
    assert [call.waited for call in fake.calls] == [waited, waited]


@needs("openai")
@pytest.mark.parametrize("error", [httpx.ConnectTimeout, httpx.PoolTimeout, TimeoutError], ids=shown)
def test_it_is_the_sdks_own_time_out(error: Any) -> None:
    import openai

    with (
        fake_llm.intercept([error]),
        openai.OpenAI(max_retries=0) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        client.responses.create(model="gpt-5", input="Hi")


def test_a_built_in_time_out_waited_for_the_clients() -> None:
    with fake_llm.intercept([TimeoutError, TimeoutError("slow"), ConnectionError]) as fake:
        for n in range(3):
            with pytest.raises(httpx.TransportError):
                httpx.post(CHAT.place(), json=CHAT.body(str(n)), timeout=7)
    assert [call.waited for call in fake.calls] == [7, 7, 0]


def test_what_was_waited_stands_in_the_transcript() -> None:
    with fake_llm.intercept([Reply("one two three", delay=1.5, interval=2)], virtual_time=True) as fake:
        CHAT.post(stream=True)
    assert fake.calls[0].waited == 5.5
    assert "waited 5.5 s" in fake.transcript()


@vendors
def test_nothing_on_the_wire_tells_the_time(vendor: Vendor) -> None:
    bodies = []
    for _ in range(2):
        with fake_llm.intercept(["x"]) as fake:
            response = vendor.post()
            bodies.append((response.content, list(response.headers.items())))
        assert abs(fake.calls[0].timestamp - time.time()) < 600
        time.sleep(0.01)
    assert bodies[0] == bodies[1]


@ways
def test_silences_among_the_events_of_a_vendor(vendor: Vendor, stream: bool) -> None:
    def silent(items: list[Any]) -> list[Any]:
        return [Stall(6), items[0], Stall(2), Stall(3), *items[1:], Stall(1)]

    turns = [Reply("one two three", interval=2, edit=silent), Reply("one", edit=silent)]
    with fake_llm.intercept(turns, virtual_time=True) as fake, httpx.Client(timeout=10) as client:
        response = client.post(vendor.place(stream), json=vendor.body(stream=stream))
        assert said(vendor, response).text == "one two three"
        with pytest.raises(httpx.ReadTimeout):
            client.post(vendor.place(stream), json=vendor.body(stream=stream), timeout=5.5)
    assert [call.waited for call in fake.calls] == [12 + (4 if stream else 0), 5.5]


@vendors
def test_silences_among_raw_events(vendor: Vendor) -> None:
    turn = Raw([{"type": "a"}, Stall(2), {"type": "b"}, Stall(1)], then=Stall(3))
    with fake_llm.intercept([turn, turn], virtual_time=True) as fake, httpx.Client(timeout=10) as client:
        body = client.post(vendor.place(True), json=vendor.body(stream=True)).content
        with pytest.raises(httpx.ReadTimeout):
            client.post(vendor.place(True), json=vendor.body(stream=True), timeout=1.5)
    assert body.index(b'"a"') < body.index(b'"b"')
    assert [call.waited for call in fake.calls] == [6, 1.5]
