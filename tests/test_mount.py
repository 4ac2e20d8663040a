"""Mounting: every target, sync and async, whole and streamed, and as it was afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
import importlib
import inspect
import json
import pickle
import re
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import httpx
import pytest
import requests
import responses
import respx
import trio
from responses.registries import OrderedRegistry

from _asking import ANTHROPIC, OPENAI, body_of
from _capability import has, needs
from fake_llm import (
    Disconnect,
    Error,
    FakeLLM,
    Raw,
    Reply,
    ScriptError,
    UninterceptedCallError,
    UnknownEndpointError,
    UnscriptedCallError,
    UnusedReplyError,
    _blocks,
    _install,
    intercept,
)
from fake_llm._stacks.requests import patches as requests_patches

OTHER = "https://other.example/thing"
WORDS = "one two three four"


PATCHED = [
    (httpx.Client, "_transport_for_url"),
    (httpx.AsyncClient, "_transport_for_url"),
    (httpx.HTTPTransport, "handle_request"),
    (requests.Session, "get_adapter"),
    (requests.adapters.HTTPAdapter, "send"),
    (socket, "getaddrinfo"),
]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = [vars(owner)[name] for owner, name in PATCHED]
    yield
    assert _blocks._open == ()
    assert _install._installed._blocks == 0
    assert all(vars(owner)[name] is value for (owner, name), value in zip(PATCHED, before, strict=True))


# --- the targets --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Target:
    """What can be mounted on.

    Attributes:
        name: How the case is called.
        open: Gives what is passed to `mount`, the objects that it touches, and a client.
        is_async: Whether the client is.
        covers: The HTTP library.
    """

    name: str
    open: Callable[[ExitStack], tuple[Any, list[Any], Any]]
    is_async: bool = False
    covers: str = "httpx"
    mocks: bool = False

    def __repr__(self) -> str:
        return self.name

    def run(self, case: Callable[..., Any]) -> Any:
        """Run a coroutine with the target; on a client that blocks there is no event loop."""

        async def main() -> Any:
            with ExitStack() as stack:
                return await case(self, *self.open(stack))

        if self.is_async:
            return asyncio.run(main())
        with pytest.raises(StopIteration) as stopped:
            main().send(None)
        return stopped.value.value

    async def post(self, client: Any, url: str = OPENAI, **fields: Any) -> Any:
        return await done(client.post(url, json=body_of(**fields)))

    async def pieces(self, client: Any, url: str = OPENAI) -> AsyncIterator[bytes]:
        body = body_of(stream=True)
        if self.covers == "requests":
            for piece in client.post(url, json=body, stream=True, timeout=5).iter_content(None):
                yield piece
        elif self.is_async:
            async with client.stream("POST", url, json=body) as response:
                async for piece in response.aiter_raw():
                    yield piece
        else:
            with client.stream("POST", url, json=body) as response:
                for piece in response.iter_raw():
                    yield piece


async def done(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def said(response: Any) -> str:
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


def of_client(library: str, kind: str) -> Target:
    def opened(stack: ExitStack) -> tuple[Any, list[Any], Any]:
        options = {} if library == "requests" else {"verify": False}  # spares the loading of certificates
        client = getattr(importlib.import_module(library), kind)(**options)
        return client, [client], client

    return Target(f"{library}.{kind}", opened, kind.startswith("Async"), library)


def of_respx(using: str, kind: str, *, module: bool = False) -> Target:
    def opened(stack: ExitStack) -> tuple[Any, list[Any], Any]:
        router = respx.mock if module else respx.MockRouter(using=using, assert_all_called=False)
        stack.enter_context(router)
        return respx if module else router, [router], getattr(httpx, kind)(verify=False)

    name = "respx" if module else f"respx({using})"
    return Target(f"{name}-{kind}", opened, kind.startswith("Async"), mocks=True)


def of_router(kind: str) -> Target:
    def opened(stack: ExitStack) -> tuple[Any, list[Any], Any]:
        router = respx.Router(assert_all_called=False)
        handler = router.async_handler if kind.startswith("Async") else router.handler
        return router, [router], getattr(httpx, kind)(transport=httpx.MockTransport(handler))  # it was taken before

    return Target(f"respx.Router-{kind}", opened, kind.startswith("Async"), mocks=True)


def of_responses(*, module: bool = False) -> Target:
    def opened(stack: ExitStack) -> tuple[Any, list[Any], Any]:
        mock = responses.mock if module else responses.RequestsMock()
        stack.enter_context(mock)
        return responses if module else mock, [mock], requests.Session()

    return Target("responses" if module else "responses.RequestsMock", opened, covers="requests", mocks=True)


CLIENTS = [
    of_client("httpx", "Client"),
    of_client("httpx", "AsyncClient"),
    *([of_client("httpx2", "Client"), of_client("httpx2", "AsyncClient")] if has("httpx2") else []),
    of_client("requests", "Session"),
]
MOCKS = [
    of_respx("httpx", "Client"),
    of_respx("httpx", "AsyncClient"),
    of_respx("httpcore", "Client"),
    of_respx("httpcore", "AsyncClient"),
    of_respx("httpcore", "Client", module=True),
    of_router("Client"),
    of_router("AsyncClient"),
    of_responses(),
    of_responses(module=True),
]
every = pytest.mark.parametrize("target", CLIENTS + MOCKS, ids=repr)
each_client = pytest.mark.parametrize("target", CLIENTS, ids=repr)
each_mock = pytest.mark.parametrize("target", MOCKS, ids=repr)


class state:
    """All that these objects hold, equal where each value is the very same; whether a client was used is its own affair."""

    def __init__(self, owners: list[Any]) -> None:
        self.held = [{name: value for name, value in vars(owner).items() if name != "_state"} for owner in owners]

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, state)
        return [{name: id(value) for name, value in held.items()} for held in self.held] == [
            {name: id(value) for name, value in held.items()} for held in other.held
        ]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.held)


# --- answering ----------------------------------------------------------------------------------


@every
def test_a_whole_answer(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        before = state(owners)
        with FakeLLM(["Hello!"]).mount(on) as fake:
            assert said(await target.post(client)) == "Hello!"
        assert state(owners) == before
        assert json.loads(fake.calls[0].raw) == body_of()

    target.run(case)


@every
def test_a_stream_arrives_chunk_by_chunk(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        times: list[float] = []
        got = b""
        with FakeLLM([Reply(WORDS, interval=0.05)]).mount(on):
            async for piece in target.pieces(client):
                times.append(time.perf_counter())
                got += piece
        assert b"".join(re.findall(rb'"content":"([^"]*)"', got)).decode() == WORDS
        assert len(times) > 4
        assert times[-1] - times[0] >= 0.1

    target.run(case)


@every
def test_an_error_and_a_fault(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        module = importlib.import_module(target.covers)
        failed = module.exceptions.ConnectionError if target.covers == "requests" else module.ConnectError
        broken = module.exceptions.ChunkedEncodingError if target.covers == "requests" else module.RemoteProtocolError
        with FakeLLM([Error(429), ConnectionError(), Reply(WORDS, then=Disconnect())]).mount(on):
            assert (await target.post(client)).status_code == 429
            with pytest.raises(failed):
                await target.post(client)
            with pytest.raises(broken):
                async for _ in target.pieces(client):
                    pass

    target.run(case)


@every
def test_an_async_function_turn(target: Target) -> None:
    async def later(call: Any) -> str:
        await asyncio.sleep(0)
        return call.last_user_text.upper()

    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with FakeLLM([later]).mount(on):
            assert said(await target.post(client, text="hi")) == "HI"

    target.run(case)


@every
def test_it_is_in_place_without_with_and_taken_out_once(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        before = state(owners)
        fake = FakeLLM(["a", "b"])
        mounted = fake.mount(on)
        assert said(await target.post(client)) == "a"
        assert "in place" in repr(mounted)
        mounted.unmount()
        mounted.unmount()
        assert "taken out" in repr(mounted)
        assert state(owners) == before
        with pytest.raises(UnusedReplyError, match=r"turn 2"):
            fake.check()
        with pytest.raises(RuntimeError, match="taken out already"):
            mounted.__enter__()

    target.run(case)


@every
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)], ids=str)
def test_the_last_one_mounted_answers_in_whatever_order_they_leave(target: Target, order: tuple[int, ...]) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        before = state(owners)
        mounts = {name: FakeLLM(default=str(name)).mount(on) for name in range(3)}
        for leaving in order:
            assert said(await target.post(client)) == str(max(mounts))
            mounts.pop(leaving).unmount()
        assert state(owners) == before

    target.run(case)


@every
def test_a_call_without_a_turn_is_raised_in_place(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        before = state(owners)
        with pytest.raises(UnscriptedCallError), FakeLLM().mount(on) as fake:
            await target.post(client)
        assert [type(failure) for failure in fake.failures] == [UnscriptedCallError]
        assert state(owners) == before

    target.run(case)


@every
def test_a_failure_in_another_thread_is_the_vendors_400_and_raised_at_the_end(target: Target) -> None:
    got: list[Any] = []

    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        async def there() -> None:
            got.append(await target.post(client))

        def thread() -> None:
            if target.is_async:
                asyncio.run(there())
            else:
                with contextlib.suppress(StopIteration):
                    there().send(None)

        with pytest.raises(UnscriptedCallError, match="in thread elsewhere"), FakeLLM().mount(on):
            worker = threading.Thread(target=thread, name="elsewhere")
            worker.start()
            worker.join()
        [response] = got
        assert (response.status_code, response.headers["x-should-retry"]) == (400, "false")
        assert "no turn was left" in response.json()["error"]["message"]

    target.run(case)


@every
def test_hosts_that_are_declared_or_named_by_the_environment(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://llm.test:8080/base")

    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with FakeLLM(["a", "b"], hosts={"other.test": "openai"}).mount(on):
            assert said(await target.post(client, "http://llm.test:8080/base/chat/completions")) == "a"
            assert said(await target.post(client, "http://other.test/v1/chat/completions")) == "b"

    target.run(case)


@every
def test_hosts_of_the_environment_are_claimed_as_long_as_the_mount_or_the_block(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = "https://first.test/v1/chat/completions", "https://second.test/v1/chat/completions"

    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        fake = FakeLLM(default="a", hosts={"second.test/v1": "openai"})
        claimed = [fake.claims("POST", url) for url in (first, second)]
        monkeypatch.setenv("OPENAI_BASE_URL", "https://first.test/v1")
        with fake.mount(on):
            other = fake.mount(httpx.Client())
            monkeypatch.setenv("OPENAI_BASE_URL", "https://second.test/v1")
            with fake.mount(requests.Session()):
                assert said(await target.post(client, first)) == "a"
                assert said(await target.post(client, second)) == "a"
            assert fake.claims("POST", second)  # of the fake's own
        assert fake.claims("POST", first)
        other.unmount()
        assert [fake.claims("POST", url) for url in (first, second)] == claimed == [False, True]
        monkeypatch.setenv("OPENAI_BASE_URL", "https://first.test/v1")
        with intercept(strict=False) as block:
            assert block.claims("POST", first)
        assert not block.claims("POST", first)

    target.run(case)


# --- who has the check --------------------------------------------------------------------------


def test_turns_that_are_left_fail_the_end() -> None:
    with pytest.raises(UnusedReplyError), FakeLLM(["a"]).mount(httpx.Client()):
        pass


def test_without_strict_they_do_not() -> None:
    with FakeLLM(["a"], strict=False).mount(httpx.Client()):
        pass


def test_an_exception_that_leaves_is_not_replaced() -> None:
    with pytest.raises(ZeroDivisionError), FakeLLM(["a"]).mount(httpx.Client()):
        raise ZeroDivisionError


def test_what_a_function_turn_raises_leaves_as_itself() -> None:
    def fails(call: Any) -> str:
        raise LookupError("mine")

    client = httpx.Client()
    with pytest.raises(LookupError, match="mine"), FakeLLM([fails]).mount(client):
        client.post(OPENAI, json=body_of())


def test_of_several_mounts_of_one_fake_the_last_to_leave_has_the_check() -> None:
    fake = FakeLLM(["a"])
    first, second = fake.mount(httpx.Client()), fake.mount(requests.Session())
    with second:
        pass
    with pytest.raises(UnusedReplyError), first:
        pass


def test_failures_are_raised_while_another_mount_is_left_and_once() -> None:
    fake = FakeLLM()
    fake.mount(requests.Session())
    for _ in range(2):
        client = httpx.Client()
        with pytest.raises(UnscriptedCallError), fake.mount(client), contextlib.suppress(UnscriptedCallError):
            client.post(OPENAI, json=body_of())
        with fake.mount(client):
            pass


def test_a_mount_in_a_block_of_the_same_fake_leaves_the_check_to_the_block() -> None:
    client = httpx.Client()
    with intercept(["a", "b"]) as fake:
        with fake.mount(client):
            assert said(client.post(OPENAI, json=body_of())) == "a"
        assert said(httpx.post(OPENAI, json=body_of())) == "b"


def test_async_with() -> None:
    async def main() -> None:
        client = httpx.AsyncClient()
        async with FakeLLM(["a"]).mount(client) as fake:
            assert said(await client.post(OPENAI, json=body_of())) == "a"
        assert "_transport_for_url" not in vars(client)
        assert len(fake.calls) == 1
        with pytest.raises(UnusedReplyError):
            async with FakeLLM(["a"]).mount(client):
                pass

    asyncio.run(main())


@pytest.mark.parametrize("target", [target for target in CLIENTS + MOCKS if target.is_async], ids=repr)
def test_on_trio(target: Target) -> None:
    async def main() -> None:
        with ExitStack() as stack:
            on, _, client = target.open(stack)
            with FakeLLM([Reply(WORDS, interval=0.01)]).mount(on):
                got = b"".join([piece async for piece in target.pieces(client)])
            assert got.count(b"data: ") > 4
            with pytest.raises(UnscriptedCallError):
                async with FakeLLM().mount(on):
                    await target.post(client)

    trio.run(main)


def test_where_it_is_entered_is_its_home() -> None:
    client = httpx.AsyncClient()
    mounted = FakeLLM().mount(client)  # outside of the loop

    async def main() -> None:
        async with mounted:
            await client.post(OPENAI, json=body_of())

    with pytest.raises(UnscriptedCallError):
        asyncio.run(main())


def test_a_task_that_did_not_mount_gets_the_vendors_400() -> None:
    async def main() -> None:
        client = httpx.AsyncClient()
        async with FakeLLM().mount(client):
            response = await asyncio.create_task(client.post(OPENAI, json=body_of()))
            assert response.status_code == 400

    with pytest.raises(UnscriptedCallError):
        asyncio.run(main())


# --- clients ------------------------------------------------------------------------------------


@each_client
@pytest.mark.parametrize(
    ("url", "speaks"),
    [
        ("https://llm.corp.example/v1/chat/completions", "openai"),
        ("https://llm.corp.example/proxy/v1/messages", "anthropic"),
        ("https://llm.corp.example/v1beta/models/gemini-3-pro:generateContent", "gemini"),
        (OTHER, "openai"),
    ],
)
def test_a_host_that_is_not_known_is_refused(target: Target, url: str, speaks: str) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with pytest.raises(UnknownEndpointError) as raised, FakeLLM().mount(on) as fake:
            await target.post(client, url)
        assert f'provider="{speaks}"' in str(raised.value)
        assert [call.operation for call in fake.calls] == ["unknown"]

    target.run(case)


@each_client
def test_a_rule_answers_a_host_that_is_not_known_verbatim(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        fake = FakeLLM()
        fake.when(operation="unknown").reply(Raw({"a": 1}))
        with fake.mount(on):
            assert (await target.post(client, OTHER)).json() == {"a": 1}

    target.run(case)


@each_client
@pytest.mark.parametrize("path", ["/v1/messages", "/messages", "/any/base/v1/messages", "//v1/messages"])
def test_a_provider_speaks_on_any_host_that_is_not_known(target: Target, path: str) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with FakeLLM(["a", "b"]).mount(on, provider="anthropic") as fake:
            response = await target.post(client, f"http://localhost:4000{path}", max_tokens=9)
            assert response.json()["content"][0]["text"] == "a"
            assert said(await target.post(client)) == "b"  # a host that is known keeps its language
        assert [call.provider for call in fake.calls] == ["anthropic", "openai"]

    target.run(case)


def test_a_path_that_the_provider_has_not_is_refused() -> None:
    client = httpx.Client()
    with pytest.raises(UnknownEndpointError, match="an unknown path"), FakeLLM().mount(client, provider="anthropic"):
        client.get("http://localhost:4000/v1/wonders")


@each_client
def test_what_is_mounted_comes_before_a_block_around_it_and_inside_it(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with intercept(["around"]):
            with FakeLLM(["mounted"]).mount(on):
                assert said(await target.post(client)) == "mounted"
            assert said(await target.post(client)) == "around"
        with FakeLLM(["mounted"]).mount(on), intercept(strict=False):
            assert said(await target.post(client)) == "mounted"

    target.run(case)


@each_client
def test_what_is_mounted_comes_before_a_library_of_mocks(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with respx.mock(using="httpx"), responses.RequestsMock(), FakeLLM(["mounted"]).mount(on):
            assert said(await target.post(client)) == "mounted"

    target.run(case)


def test_a_client_is_closed_with_its_own_transports() -> None:
    class Counting(httpx.MockTransport):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    base, other = Counting(lambda request: httpx.Response(200)), Counting(lambda request: httpx.Response(200))
    client = httpx.Client(transport=base, mounts={"all://other.test": other})
    with client, FakeLLM(["a"]).mount(client):
        assert said(client.post(OPENAI, json=body_of())) == "a"
    assert (base.closed, other.closed) == (1, 1)


def test_mounts_and_adapters_of_the_client_are_kept() -> None:
    base, other = (httpx.MockTransport(lambda request: httpx.Response(204)) for _ in range(2))
    client = httpx.Client(transport=base, mounts={"all://other.test": other})
    with FakeLLM(["a"], hosts={"other.test": "openai"}).mount(client):
        assert said(client.post("https://other.test/v1/chat/completions", json=body_of())) == "a"
    assert client._transport is base
    assert list(client._mounts.values()) == [other]
    assert client.get("https://other.test").status_code == 204

    session = requests.Session()
    adapters = dict(session.adapters)
    with FakeLLM(["a"]).mount(session):
        assert said(session.post(OPENAI, json=body_of())) == "a"
    assert all(session.adapters[key] is adapter for key, adapter in adapters.items())


def test_what_somebody_else_put_above_stays() -> None:
    client = httpx.Client()
    mounted = FakeLLM(default="a").mount(client)
    client._transport_for_url = theirs = lambda url: client._transport  # type: ignore[method-assign]
    mounted.unmount()
    assert vars(client)["_transport_for_url"] is theirs


def test_what_the_object_had_of_its_own_is_there_again() -> None:
    client = httpx.Client()
    client._transport_for_url = own = lambda url: client._transport  # type: ignore[method-assign]
    with FakeLLM(["a"]).mount(client):
        assert said(client.post(OPENAI, json=body_of())) == "a"
    assert vars(client)["_transport_for_url"] is own


@pytest.mark.parametrize("first", ["the client", "the copy"])
def test_a_copy_of_a_mounted_client_answers_as_long_as_that_and_has_mounts_of_its_own(first: str) -> None:
    client = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(204)))
    mounted = FakeLLM(default="of the client").mount(client)
    copied = copy.copy(client)
    assert said(copied.post(OPENAI, json=body_of())) == "of the client"
    of_copy = FakeLLM(default="of the copy").mount(copied)
    assert said(copied.post(OPENAI, json=body_of())) == "of the copy"
    assert said(client.post(OPENAI, json=body_of())) == "of the client"

    for leaving in [mounted, of_copy] if first == "the client" else [of_copy, mounted]:
        leaving.unmount()

    assert [each.post(OPENAI, json=body_of()).status_code for each in (client, copied)] == [204, 204]
    assert not {"_transport_for_url", "_fake_llm_layers"} & vars(client).keys()
    with FakeLLM(["again"]).mount(copied):
        assert said(copied.post(OPENAI, json=body_of())) == "again"
    assert copied.post(OPENAI, json=body_of()).status_code == 204


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda session: pickle.loads(pickle.dumps(session))],  # our own
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_of_a_mounted_session_is_a_plain_one(duplicate: Callable[[Any], Any]) -> None:
    session = requests.Session()
    plain = vars(duplicate(session)).keys()
    with FakeLLM().mount(session):
        copied = duplicate(session)
    for each in (copied, duplicate(copied), duplicate(session)):
        assert vars(each).keys() == plain
        with FakeLLM(["a"]).mount(each):
            assert said(each.post(OPENAI, json=body_of())) == "a"


# --- libraries of mocks -------------------------------------------------------------------------


def router_of(on: Any) -> Any:
    return on.mock if isinstance(on, ModuleType) else on


def add(target: Target, on: Any, url: str, method: str = "GET", **answer: Any) -> Any:
    """A route of the user's own."""
    if target.covers == "requests":
        return router_of(on).add(method, url, json=answer)
    return router_of(on).request(method, url).respond(json=answer)


@each_mock
def test_other_routes_keep_working_and_calls_have_all(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        route = add(target, on, OTHER, a=1)
        with FakeLLM(["Hello!"]).mount(on):
            assert (await done(client.get(OTHER))).json() == {"a": 1}
            assert said(await target.post(client)) == "Hello!"
        calls = router_of(on).calls
        assert [str(call.request.url) for call in calls] == [OTHER, OPENAI]
        assert calls[1].response.status_code == 200
        assert len(route.calls) == 1

    target.run(case)


@each_mock
@pytest.mark.parametrize("declared", ["before", "after"])
def test_a_route_of_the_users_own_for_a_known_host_comes_first(target: Target, declared: str) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        if declared == "before":
            add(target, on, OPENAI, "POST", own=True)
        with FakeLLM(["Hello!"]).mount(on):
            if declared == "after":
                add(target, on, OPENAI, "POST", own=True)
            assert (await target.post(client)).json() == {"own": True}
            response = await target.post(client, ANTHROPIC, max_tokens=9)
            assert response.json()["content"][0]["text"] == "Hello!"

    target.run(case)


@each_mock
def test_other_hosts_are_the_mocks_to_refuse(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        refused = requests.ConnectionError if target.covers == "requests" else respx.models.AllMockedAssertionError
        with FakeLLM().mount(on) as fake, pytest.raises(refused):
            await done(client.get(OTHER))
        assert not fake.calls

    target.run(case)


@each_mock
def test_a_failure_is_among_the_calls_of_the_mock(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with pytest.raises(UnscriptedCallError), FakeLLM().mount(on):
            await target.post(client)
        fault = pytest.raises(requests.ConnectionError if target.covers == "requests" else httpx.ConnectError)
        with FakeLLM([ConnectionError()]).mount(on), fault:
            await target.post(client)
        assert len(router_of(on).calls) == 2

    target.run(case)


@each_mock
def test_what_passes_on_to_the_network_is_no_route_of_a_known_host(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        if target.covers == "requests":
            router_of(on).add_passthru("https://")
            router_of(on).add(responses.PassthroughResponse("POST", re.compile(".*")))
        else:
            router_of(on).route().pass_through()
        with FakeLLM(["Hello!"]).mount(on):
            assert said(await target.post(client)) == "Hello!"
        router_of(on).reset()

    target.run(case)


@pytest.mark.parametrize("using", ["httpx", "httpcore"])
def test_respx_asserts_that_its_own_routes_were_called_and_no_other(using: str) -> None:
    with respx.mock(using=using, assert_all_called=True) as router, FakeLLM(default="a").mount(router):
        router.get(OTHER)
        httpx.get(OTHER)
    with (
        pytest.raises(AssertionError, match="some routes were not called"),
        respx.mock(using=using) as router,
        FakeLLM(default="a").mount(router),
    ):
        router.get(OTHER)
        httpx.post(OPENAI, json=body_of())


def test_respx_that_mocks_all_answers_what_is_not_known() -> None:
    with respx.mock(assert_all_mocked=False) as router, FakeLLM(["a"]).mount(router):
        assert httpx.get(OTHER).status_code == 200
        assert said(httpx.post(OPENAI, json=body_of())) == "a"


def test_a_router_that_is_started_again_and_reset_stays_mounted() -> None:
    with FakeLLM(["a", "b"]).mount(respx.mock):
        for expected in "ab":
            with respx.mock:
                assert said(httpx.post(OPENAI, json=body_of())) == expected
                assert respx.calls.call_count == 1
    assert not respx.routes


def test_responses_asserts_that_its_own_were_fired_and_no_other() -> None:
    with responses.RequestsMock(assert_all_requests_are_fired=True) as mock, FakeLLM(default="a").mount(mock):
        mock.get(OTHER)
        requests.get(OTHER)
    with (
        pytest.raises(AssertionError, match="Not all requests have been executed"),
        responses.RequestsMock(assert_all_requests_are_fired=True) as mock,
        FakeLLM(default="a").mount(mock),
    ):
        mock.get(OTHER)
        requests.post(OPENAI, json=body_of())


def test_an_order_of_responses_goes_on_around_our_calls() -> None:
    with responses.RequestsMock(registry=OrderedRegistry) as mock, FakeLLM(["a", "b"]).mount(mock):
        mock.get(OTHER, body="1")
        mock.get(OTHER, body="2")
        assert said(requests.post(OPENAI, json=body_of())) == "a"
        assert requests.get(OTHER).text == "1"
        assert said(requests.post(OPENAI, json=body_of())) == "b"
        assert requests.get(OTHER).text == "2"


def test_responses_activated_by_its_decorator() -> None:
    @responses.activate
    def case() -> str:
        return said(requests.post(OPENAI, json=body_of()))

    with FakeLLM(["a"]).mount(responses):
        assert case() == "a"


# --- what a library of mocks can't see ----------------------------------------------------------


def others(target: Target) -> list[str]:
    return [name for name in ("httpx", "httpx2", "requests") if name != target.covers and has(name)]


@each_mock
def test_a_call_by_another_library_is_refused(target: Target) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        name = "respx" if target.covers == "httpx" else "responses"
        for other in others(target):
            with pytest.raises(UninterceptedCallError) as raised, FakeLLM(default="a").mount(on) as fake:
                importlib.import_module(other).post(OPENAI, json=body_of())
            assert str(raised.value) == (
                f"POST {OPENAI} came by {other} in thread MainThread.\n"
                f"The fake is mounted on {name}, which sees {target.covers} only, and only while it is started: the call would have left the machine.\n"
                "Write fake_llm.intercept([…]), which sees every library, or mount the client itself: fake.mount(client)."
            )
            assert fake.failures == [raised.value]

    target.run(case)


def test_elsewhere_it_is_the_vendors_400_and_raised_at_the_end() -> None:
    got: list[Any] = []

    def call() -> None:
        got.append(requests.post(ANTHROPIC, json=body_of(max_tokens=9)))

    with pytest.raises(UninterceptedCallError), FakeLLM().mount(respx.mock):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert got[0].status_code == 400
    assert got[0].json()["type"] == "error"


def test_a_call_while_respx_is_not_started_is_refused_before_dns() -> None:
    with pytest.raises(UninterceptedCallError, match="only while it is started"), FakeLLM().mount(respx.mock):
        httpx.post(OPENAI, json=body_of())


UNGUARDED = [
    "https://ollama.com/v1/chat/completions",  # a host that others share
    "http://localhost:11434/v1/chat/completions",
    "https://llm.test/base/chat/completions",  # only this base path of it is declared
]
"""What the socket guard lets through, as it sees hosts only."""


@each_mock
@pytest.mark.parametrize("url", [OPENAI, *UNGUARDED])
def test_a_call_while_a_mock_is_not_started_is_refused_wherever_it_goes(target: Target, url: str) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        module = importlib.import_module(target.covers)
        fake = FakeLLM(["a"], hosts={"llm.test/base": "openai"})
        if hasattr(router_of(on), "stop"):  # else a router that is no mock
            router_of(on).stop()
        told = pytest.raises(UninterceptedCallError, match=rf"^POST {re.escape(url)} came by {target.covers}")
        with told, fake.mount(on):
            module.post(url, json=body_of())

    target.run(case)


@each_mock
@pytest.mark.parametrize("url", UNGUARDED)
def test_a_call_while_a_mock_is_started_is_answered_wherever_it_goes(target: Target, url: str) -> None:
    async def case(target: Target, on: Any, owners: list[Any], client: Any) -> None:
        with FakeLLM(["a"], hosts={"llm.test/base": "openai"}).mount(on):
            assert said(await target.post(client, url)) == "a"

    target.run(case)


@pytest.mark.skipif(not has("openai>=3"), reason="needs openai>=3, which is built on httpx2")
def test_openai_on_httpx2_is_told_what_to_write() -> None:
    import openai

    client = openai.OpenAI(api_key="x")
    told = pytest.raises(UninterceptedCallError, match=r"came by httpx2.*\n.*respx, which sees httpx only")
    with told, respx.mock, FakeLLM(["a"]).mount(respx.mock):
        client.responses.create(model="gpt-5", input="Hi")


def test_other_hosts_go_their_way() -> None:
    with respx.mock, responses.RequestsMock() as mock, FakeLLM(["a"]).mount(respx.mock):
        mock.get(OTHER, body="theirs")
        assert requests.get(OTHER).text == "theirs"
        assert said(httpx.post(OPENAI, json=body_of())) == "a"


def test_a_block_inside_answers_every_library() -> None:
    with respx.mock(using="httpx"), FakeLLM().mount(respx.mock), intercept(["a", "b"]):
        assert said(requests.post(OPENAI, json=body_of())) == "a"
        assert said(httpx.post(OPENAI, json=body_of())) == "b"


@pytest.mark.parametrize("using", ["httpx", "httpcore"])
def test_a_mount_inside_a_block_comes_first_for_what_it_sees(using: str) -> None:
    with intercept(["around"]), respx.mock(using=using) as router:
        with FakeLLM(["mounted"]).mount(router):
            assert said(httpx.post(OPENAI, json=body_of())) == "mounted"
        assert said(requests.post(OPENAI, json=body_of())) == "around"


def test_the_block_of_the_same_fake_answers_what_its_mount_does_not_see() -> None:
    with intercept(["a", "b"]) as fake, respx.mock, fake.mount(respx.mock):
        assert said(requests.post(OPENAI, json=body_of())) == "a"
        assert said(httpx.post(OPENAI, json=body_of())) == "b"


# --- transports and the adapter -----------------------------------------------------------------


@pytest.mark.parametrize("library", ["httpx", pytest.param("httpx2", marks=needs("httpx2"))])
def test_a_transport_is_one_of_its_library_sync_and_async(library: str) -> None:
    module = importlib.import_module(library)
    fake = FakeLLM(["a", "b", "c"])
    transport = getattr(fake, f"{library}_transport")()
    assert isinstance(transport, module.MockTransport)
    assert said(module.Client(transport=transport).post(OPENAI, json=body_of())) == "a"
    assert said(module.Client(mounts={"all://": transport}).post(OPENAI, json=body_of())) == "b"

    async def main() -> str:
        async with module.AsyncClient(transport=transport) as client:
            return said(await client.post(OPENAI, json=body_of()))

    assert asyncio.run(main()) == "c"
    fake.check()


@pytest.mark.parametrize("library", ["httpx", pytest.param("httpx2", marks=needs("httpx2"))])
def test_the_handler_of_a_transport_answers_clients_of_both_kinds(library: str) -> None:
    module = importlib.import_module(library)
    fake = FakeLLM(["a", WORDS, "b", WORDS])
    transport = module.MockTransport(getattr(fake, f"{library}_transport")().handler)
    with module.Client(transport=transport) as client:
        assert said(client.post(OPENAI, json=body_of())) == "a"
        with client.stream("POST", OPENAI, json=body_of(stream=True)) as response:
            assert len(list(response.iter_raw())) > 4

    async def main() -> None:
        async with module.AsyncClient(transport=transport) as client:
            assert said(await client.post(OPENAI, json=body_of())) == "b"
            async with client.stream("POST", OPENAI, json=body_of(stream=True)) as response:
                assert len([piece async for piece in response.aiter_raw()]) > 4

    asyncio.run(main())
    fake.check()


def test_an_adapter_answers_where_it_is_mounted() -> None:
    fake = FakeLLM(["a"])
    session = requests.Session()
    session.mount("https://api.openai.com/", fake.requests_adapter())
    with responses.RequestsMock() as mock:
        mock.get(OTHER, body="theirs")
        assert session.get(OTHER).text == "theirs"
    assert said(session.post(OPENAI, json=body_of())) == "a"
    assert requests_patches(requests, lambda method, url: None)  # the stack knows the adapter as one of its own
    with intercept(strict=False), pytest.raises(UnscriptedCallError):
        session.post(OPENAI, json=body_of())
    assert len(fake.calls) == 2
    with pytest.raises(UnscriptedCallError):
        fake.check()


def bare(provider: str | None = None) -> list[tuple[str, FakeLLM, Any]]:
    found = []
    for library in ("httpx", "httpx2", "requests"):
        if not has(library):
            continue
        fake = FakeLLM()
        if library == "requests":
            client: Any = requests.Session()
            for prefix in ("http://", "https://"):
                client.mount(prefix, fake.requests_adapter(provider=provider))
        else:
            transport = getattr(fake, f"{library}_transport")(provider=provider)
            client = importlib.import_module(library).Client(transport=transport)
        found.append((library, fake, client))
    return found


def test_a_bare_one_raises_where_it_was_made_and_check_tells() -> None:
    for _, fake, client in bare():
        with pytest.raises(UnscriptedCallError):
            client.post(OPENAI, json=body_of())
        with pytest.raises(UnknownEndpointError):
            client.get(OTHER)
        with pytest.raises(UnscriptedCallError):
            fake.check()
        assert len(fake.failures) == 2


def test_elsewhere_a_bare_one_gives_the_vendors_400_and_check_tells() -> None:
    for _, fake, client in bare():
        got: list[Any] = []

        def call(client: Any = client, got: list[Any] = got) -> None:
            got.append(client.post(ANTHROPIC, json=body_of(max_tokens=9)))

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert (got[0].status_code, got[0].json()["type"]) == (400, "error")
        with pytest.raises(UnscriptedCallError):
            fake.check()


def test_a_bare_one_speaks_for_a_provider() -> None:
    for _, fake, client in bare("anthropic"):
        fake.push("a")
        response = client.post("http://localhost:4000/v1/messages", json=body_of(max_tokens=9))
        assert response.json()["content"][0]["text"] == "a"
        fake.check()


@needs("httpx2")
def test_a_transport_of_the_other_httpx_answers_all_the_same() -> None:
    import httpx2

    fake = FakeLLM([WORDS, "b"])
    crossed: Any = fake.httpx_transport()
    with httpx2.Client(transport=crossed) as client:
        with client.stream("POST", OPENAI, json=body_of(stream=True)) as response:
            assert len(list(response.iter_raw())) > 4
        with intercept(strict=False):
            assert said(client.post(OPENAI, json=body_of())) == "b"


# --- SDK clients --------------------------------------------------------------------------------


MESSAGES = [{"role": "user", "content": "Hi"}]


@dataclasses.dataclass(frozen=True)
class Sdk:
    """An SDK's client: how it is made, asked whole and streamed, and where it keeps its HTTP client."""

    name: str
    needs: str
    make: Callable[[], Any]
    whole: Callable[[Any], Any]
    stream: Callable[[Any], Any]
    text: Callable[[Any], str]
    piece: Callable[[Any], str]
    holds: Callable[[Any], list[Any]]
    provider: str | None = None

    def __repr__(self) -> str:
        return self.name


def module(name: str) -> Any:
    return importlib.import_module(name)


def mistral() -> Any:
    home = "mistralai.client" if has("mistralai>=2") else "mistralai"
    return module(home).Mistral(api_key="x", server_url="http://mistral.test")


def stainless(package: str, maker: str) -> Sdk:
    kwargs = {"model": "m", "messages": MESSAGES}
    return Sdk(
        f"{package}.{maker}",
        package,
        lambda: getattr(module(package), maker)(api_key="x"),
        lambda client: client.chat.completions.create(**kwargs),
        lambda client: client.chat.completions.create(**kwargs, stream=True),
        lambda answer: answer.choices[0].message.content,
        lambda chunk: (chunk.choices[0].delta.content or "") if chunk.choices else "",
        lambda client: [client._client],
    )


def vendor(package: str, maker: str, needs: str, **options: Any) -> Sdk:
    """A vendor's own SDK by the generator of openai's."""

    def make() -> Any:
        return getattr(module(package), maker)(api_key="x", **options)

    return dataclasses.replace(stainless(package, maker), needs=needs, make=make)


def writer(maker: str) -> Sdk:
    kwargs = {"model": "m", "messages": MESSAGES}
    return dataclasses.replace(
        vendor("writerai", maker, "writer-sdk"),
        whole=lambda client: client.chat.chat(**kwargs),
        stream=lambda client: client.chat.chat(**kwargs, stream=True),
    )


def claude(maker: str) -> Sdk:
    kwargs = {"model": "m", "messages": MESSAGES, "max_tokens": 9}
    return Sdk(
        f"anthropic.{maker}",
        "anthropic",
        lambda: getattr(module("anthropic"), maker)(api_key="x"),
        lambda client: client.messages.create(**kwargs),
        lambda client: client.messages.create(**kwargs, stream=True),
        lambda answer: answer.content[0].text,
        lambda event: event.delta.text if event.type == "content_block_delta" else "",
        lambda client: [client._client],
    )


def gemini(flavour: str) -> Sdk:
    kwargs = {"model": "m", "contents": "Hi"}

    def make() -> Any:
        client = module("google.genai").Client(api_key="x")
        if flavour == "async":
            client.aio.keeps = client  # it closes what it holds when it goes
            return client.aio
        return client

    return Sdk(
        f"google.genai-{flavour}",
        "google-genai",
        make,
        lambda client: client.models.generate_content(**kwargs),
        lambda client: client.models.generate_content_stream(**kwargs),
        lambda answer: answer.text,
        lambda chunk: chunk.text or "",
        lambda client: [client._api_client, client._api_client._httpx_client, client._api_client._async_httpx_client],
    )


def local(maker: str) -> Sdk:
    kwargs = {"model": "m", "messages": MESSAGES}
    return Sdk(
        f"ollama.{maker}",
        "ollama",
        lambda: getattr(module("ollama"), maker)(),
        lambda client: client.chat(**kwargs),
        lambda client: client.chat(**kwargs, stream=True),
        lambda answer: answer.message.content,
        lambda part: part.message.content,
        lambda client: [client._client],
    )


def mistral_sdk(suffix: str) -> Sdk:
    kwargs = {"model": "m", "messages": MESSAGES}
    return Sdk(
        f"mistralai{suffix}",
        "mistralai",
        mistral,
        lambda client: getattr(client.chat, f"complete{suffix}")(**kwargs),
        lambda client: getattr(client.chat, f"stream{suffix}")(**kwargs),
        lambda answer: answer.choices[0].message.content,
        lambda event: event.data.choices[0].delta.content or "",
        lambda client: [client.sdk_configuration.client, client.sdk_configuration.async_client],
        "mistral",
    )


SDKS = [
    stainless("openai", "OpenAI"),
    stainless("openai", "AsyncOpenAI"),
    claude("Anthropic"),
    claude("AsyncAnthropic"),
    stainless("groq", "Groq"),
    stainless("groq", "AsyncGroq"),
    vendor("cerebras.cloud.sdk", "Cerebras", "cerebras-cloud-sdk", warm_tcp_connection=False),
    vendor("cerebras.cloud.sdk", "AsyncCerebras", "cerebras-cloud-sdk", warm_tcp_connection=False),
    vendor("together", "Together", "together>=2"),
    vendor("fireworks", "Fireworks", "fireworks-ai>=1"),
    vendor("fireworks", "AsyncFireworks", "fireworks-ai>=1"),
    writer("Writer"),
    writer("AsyncWriter"),
    vendor("zai", "ZaiClient", "zai-sdk"),
    local("Client"),
    local("AsyncClient"),
    gemini("sync"),
    gemini("async"),
    mistral_sdk(""),
    mistral_sdk("_async"),
]
each_sdk = pytest.mark.parametrize("sdk", [pytest.param(sdk, marks=needs(sdk.needs), id=sdk.name) for sdk in SDKS])


async def each(stream: Any) -> AsyncIterator[Any]:
    stream = await done(stream)
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
    else:
        for item in stream:
            yield item


@each_sdk
def test_an_sdks_client(sdk: Sdk) -> None:
    client = sdk.make()
    before = state(sdk.holds(client))

    async def main() -> None:
        whole = await done(sdk.whole(client))
        assert sdk.text(whole) == "Hello!"
        pieces = [sdk.piece(item) async for item in each(sdk.stream(client))]
        assert "".join(pieces) == WORDS

    for _ in range(2):  # a second event loop
        with FakeLLM(["Hello!", WORDS]).mount(client, provider=sdk.provider) as fake:
            asyncio.run(main())
        assert len(fake.calls) == 2
        assert state(sdk.holds(client)) == before


@each_sdk
def test_an_sdks_failure_is_raised_in_place(sdk: Sdk) -> None:
    client = sdk.make()

    async def main() -> None:
        with FakeLLM().mount(client, provider=sdk.provider):
            await done(sdk.whole(client))

    with pytest.raises(UnscriptedCallError):
        asyncio.run(main())


@pytest.mark.parametrize("package", [pytest.param(name, marks=needs(name)) for name in ("openai", "anthropic")])
@pytest.mark.parametrize("how", ["with_options", "copy"])
def test_a_copy_shares_the_http_client(package: str, how: str) -> None:
    sdk = stainless("openai", "OpenAI") if package == "openai" else claude("Anthropic")
    client = sdk.make()
    copied = getattr(client, how)(timeout=3)
    with FakeLLM(["a", "b"]).mount(client):
        assert sdk.text(sdk.whole(copied)) == "a"
        assert sdk.text(sdk.whole(getattr(client, how)(max_retries=0))) == "b"


@needs("openai")
def test_a_class_of_the_users_that_extends_a_client() -> None:
    import openai

    class Mine(openai.OpenAI):
        pass

    client = Mine(api_key="x")
    with FakeLLM(["a"]).mount(client):
        assert client.responses.create(model="m", input="Hi").output_text == "a"


@needs("openai", "httpx2")
def test_a_client_that_was_given_the_other_httpx() -> None:
    import openai

    client = openai.OpenAI(api_key="x", http_client=httpx.Client())  # type: ignore[arg-type,unused-ignore]
    with FakeLLM(["a"]).mount(client):
        assert client.responses.create(model="m", input="Hi").output_text == "a"


@needs("google-genai")
def test_genai_keeps_off_aiohttp_while_it_is_mounted() -> None:
    client = module("google.genai").Client(api_key="x")
    api = client._api_client
    used = api._use_aiohttp()
    with FakeLLM(default="a").mount(client):
        assert api._use_aiohttp() is False
    assert api._use_aiohttp() is used
    assert "_use_aiohttp" not in vars(api)


def test_no_credentials_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if has("openai"):
        module("openai")
    for on in (httpx.Client(), respx.mock):
        before = dict(os.environ)
        with FakeLLM().mount(on):
            assert dict(os.environ) == before


# --- what can't be mounted on -------------------------------------------------------------------

THERE = (
    "A fake can be mounted on aiohttp.ClientSession, a client of boto3, httpx.Client, httpx.AsyncClient, httpx2.Client, httpx2.AsyncClient, requests.Session, "
    "a respx.Router, a responses.RequestsMock, and the clients of "
    "openai, anthropic, groq, cerebras.cloud.sdk, together, fireworks, writerai, zai, ollama, mistralai, google.genai."
)
ONE = "Write one of these, or fake_llm.intercept([…]), which needs no client."


class Agent:
    """Something else."""


@pytest.mark.parametrize(
    ("make", "came", "write"),
    [
        (lambda: None, "an object of type NoneType", ONE),
        (lambda: "https://api.openai.com", "an object of type str", ONE),
        (Agent, f"an object of type {__name__}.Agent", ONE),
        (lambda: json, "the module json", ONE),
        (lambda: httpx, "the module httpx", ONE),
        (lambda: httpx.Client, "the class httpx.Client", "Write an instance: mount(Client(…))."),
        (lambda: respx.MockRouter, "the class respx.router.MockRouter", "Write an instance: mount(MockRouter(…))."),
    ],
    ids=["None", "str", "object", "module", "httpx", "class", "class of mocks"],
)
def test_something_else_is_refused(make: Callable[[], Any], came: str, write: str) -> None:
    with pytest.raises(ScriptError) as raised:
        FakeLLM().mount(make())
    assert str(raised.value) == f"mount() got {came}.\n{THERE}\n{write}"


@pytest.mark.parametrize("where", ["mount", "httpx_transport", "requests_adapter"])
def test_a_provider_that_is_none_is_refused(where: str) -> None:
    with pytest.raises(ScriptError) as raised:
        if where == "mount":
            FakeLLM().mount(httpx.Client(), provider="opena1")
        else:
            getattr(FakeLLM(), where)(provider="opena1")
    came, there, write = str(raised.value).split("\n")
    assert came == f"{where}() got provider='opena1', which is no provider that can be answered."
    assert there.startswith("The providers are ")
    assert write == 'Write provider="openai".'


def test_a_provider_that_is_no_name_is_refused() -> None:
    came = r"^mount\(\) got provider=\['openai'\], which is no provider that can be answered\.\n"
    with pytest.raises(ScriptError, match=came):
        FakeLLM().mount(httpx.Client(), provider=["openai"])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [httpx.Client, requests.Session, respx.MockRouter, responses.RequestsMock])
def test_a_mock_of_a_client_is_refused(kind: type) -> None:
    with pytest.raises(ScriptError, match=r"^mount\(\) got an object of type unittest\.mock\.MagicMock\."):
        FakeLLM().mount(MagicMock(spec=kind))


@pytest.mark.parametrize("name", ["responses", "respx", "requests"])
def test_a_module_of_the_users_own_with_the_name_of_a_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, own)
    client = httpx.Client()
    with FakeLLM(["a"]).mount(client):
        assert said(client.post(OPENAI, json=body_of())) == "a"
    with pytest.raises(ScriptError, match=rf"^mount\(\) got the module {name}\."):
        FakeLLM().mount(own)


@pytest.mark.parametrize("on", [respx, responses], ids=["respx", "responses"])
def test_a_provider_on_a_library_of_mocks_is_refused(on: Any) -> None:
    name = on.__name__
    with pytest.raises(ScriptError) as raised:
        FakeLLM().mount(on, provider="openai")
    assert str(raised.value) == (
        f"mount({name}, provider='openai') would answer every request that {name} has no answer for.\n"
        "A library of mocks serves other hosts as well, so its fake answers known hosts only.\n"
        'Write hosts={"llm.corp.example": "openai"} where the fake is made.'
    )


def test_an_unknown_host_is_told_as_a_whole() -> None:
    client = httpx.Client()
    fake = FakeLLM(hosts={"mine.test": "openai"})
    with pytest.raises(UnknownEndpointError) as raised, fake.mount(client):
        client.post("https://llm.corp.example/v1/messages?key=secret")
    came, there, write = str(raised.value).split("\n")
    assert came == (
        "POST https://llm.corp.example/v1/messages?key=*** came in thread MainThread, where the fake is mounted: "
        "a host that isn't known."
    )
    assert re.fullmatch(r"Known are mine\.test, .* and \d+ more\. What is mounted never lets a call out\.", there)
    assert write == (
        'Write hosts={"llm.corp.example": "anthropic"} or mount(…, provider="anthropic") if it speaks that language, or '
        'fake.when(operation="unknown").reply(Raw({…})) to answer it verbatim.'
    )


def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ScriptError) as raised:
        FakeLLM().httpx2_transport()
    assert str(raised.value) == (
        "httpx2_transport() needs httpx2, which isn't installed.\n"
        "It is made of what that library has.\n"
        "Install httpx2, or write fake_llm.intercept([…]), which needs none."
    )
