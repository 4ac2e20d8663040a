"""Which client is really intercepted: of both generations of SDKs, made before or inside, with transports and hooks of its own."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import threading
import urllib.request
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import respx

import fake_llm
from _asking import post
from _capability import has, needs
from fake_llm import (
    Disconnect,
    Error,
    FakeLLM,
    Raw,
    Reply,
    ScriptError,
    ToolCall,
    UninterceptedCallError,
    UnknownEndpointError,
    Usage,
)
from stacks._servers import gone, served

HI: Any = [{"role": "user", "content": "Hi"}]
MOCKED = Raw(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "mocked"}, "finish_reason": "stop"}],
    }
)
CHAT = "https://api.openai.com/v1/chat/completions"
THREAD = threading.current_thread().name
"""That of the tests, which messages name."""


def said(client: Any, **options: Any) -> str:
    """What a client of OpenAI gets, whatever it sends by."""
    return client.chat.completions.create(model="m", messages=HI, **options).choices[0].message.content


def closing(module: str, kind: str, **options: Any) -> Any:
    return contextlib.closing(getattr(importlib.import_module(module), kind)(**options))


# --- A01: a mock that stops seeing the SDK --------------------------------------------------------


@needs("anthropic")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_A01_both_generations_are_answered(stream: bool) -> None:
    """On httpx2 since anthropic 1, on httpx before: this runs with both."""
    import anthropic

    with fake_llm.intercept(["Hello."]) as fake, anthropic.Anthropic() as client:
        asked: Any = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": HI}
        if stream:
            with client.messages.stream(**asked) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**asked)
    assert answer.content[0].text == "Hello."
    assert [call.url.partition("?")[0] for call in fake.calls] == ["https://api.anthropic.com/v1/messages"]


@needs("openai>=3")
def test_A01_respx_doesnt_see_httpx2() -> None:
    import httpx2
    import openai

    url = gone()
    with respx.mock(assert_all_called=False) as router, openai.OpenAI(base_url=url, api_key="k", max_retries=0) as own:
        route = router.post(f"{url}/chat/completions").respond(json={})
        with pytest.raises(openai.APIConnectionError) as caught:
            said(own)
        assert (route.called, type(caught.value.__cause__)) == (False, httpx2.ConnectError)  # respx 0.23

        with fake_llm.intercept([MOCKED], hosts={url.split("/")[2]: "openai"}):  # ours does, also beside respx
            own.base_url = url.replace("/v1/chat", "/v1")
            assert said(own) == "mocked"


@needs("openai>=3")
def test_A01_a_fake_that_is_mounted_on_respx_says_what_it_cant_see() -> None:
    import openai

    with (
        pytest.raises(UninterceptedCallError) as caught,
        respx.mock as router,
        FakeLLM(["Hello."]).mount(router),
        openai.OpenAI(api_key="k") as client,
    ):
        said(client)
    assert str(caught.value) == (
        f"POST {CHAT} came by httpx2 in thread {THREAD}.\n"
        "The fake is mounted on respx, which sees httpx only, and only while it is started: the call would have left the machine.\n"
        "Write fake_llm.intercept([…]), which sees every library, or mount the client itself: fake.mount(client)."
    )


def test_A01_what_no_stack_saw_is_an_error() -> None:
    with pytest.raises(UninterceptedCallError) as caught, fake_llm.intercept():
        urllib.request.urlopen("https://api.anthropic.com/v1/messages", b"{}")
    assert str(caught.value) == (
        f"api.anthropic.com:443 was reached by a raw socket (socket.getaddrinfo) in thread {THREAD}.\n"
        "It is a known LLM host, and this way isn't intercepted: the call would have left the machine. Intercepted are aiohttp, "
        "botocore.httpsession, dspy._vendor.lm15.transports, httpx, httpx2, lm15.transports, requests.\n"
        "Let the code use one of them, or call it outside of the block."
    )


# --- A02: aliases of modules, and clients of the generation before --------------------------------


@needs("openai")
@pytest.mark.parametrize("library", [None, "httpx", pytest.param("httpx2", marks=needs("httpx2"))])
def test_A02_the_sdk_with_its_own_client_and_with_one_of_either_library(library: str | None) -> None:
    import openai

    if library == "httpx2" and not has("openai>=3"):
        pytest.skip("takes clients of httpx only")
    with contextlib.ExitStack() as stack:
        given = {} if library is None else {"http_client": stack.enter_context(closing(library, "Client"))}
        stack.enter_context(fake_llm.intercept([MOCKED]))
        client = stack.enter_context(openai.OpenAI(**given))
        assert said(client) == "mocked"


@needs("langchain-openai")
@pytest.mark.parametrize("library", [None, "httpx", "httpx2"])
def test_A02_langchain(library: str | None) -> None:
    chat = importlib.import_module("langchain_openai").ChatOpenAI
    with contextlib.ExitStack() as stack:
        given = {} if library is None else {"http_client": stack.enter_context(closing(library, "Client"))}
        stack.enter_context(fake_llm.intercept([MOCKED]))
        assert chat(model="m", **given).invoke("Hi").content == "mocked"


# --- A03: exceptions and responses of the wrong library -------------------------------------------


def by_httpx() -> None:
    httpx.post(CHAT, json={"model": "m", "messages": HI})


def by_httpx2() -> None:
    importlib.import_module("httpx2").post(CHAT, json={"model": "m", "messages": HI})


def by_requests() -> None:
    importlib.import_module("requests").post(CHAT, json={"model": "m", "messages": HI}, timeout=5)


def by_aiohttp() -> None:
    async def ask() -> None:
        aiohttp = importlib.import_module("aiohttp")
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(sock_read=5)) as session:
            await session.post(CHAT, json={"model": "m", "messages": HI})

    asyncio.run(ask())


def by_boto3() -> None:
    config = importlib.import_module("botocore.config").Config(retries={"total_max_attempts": 1})
    client = importlib.import_module("boto3").session.Session().client("bedrock-runtime", "us-east-1", config=config)
    client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "Hi"}]}])


@pytest.mark.parametrize(
    ("ask", "module", "name"),
    [
        pytest.param(by_httpx, "httpx", "ReadTimeout"),
        pytest.param(by_httpx2, "httpx2", "ReadTimeout", marks=needs("httpx2")),
        pytest.param(by_requests, "requests", "ReadTimeout", marks=needs("requests")),
        pytest.param(by_aiohttp, "aiohttp", "ServerTimeoutError", marks=needs("aiohttp")),
        pytest.param(by_boto3, "botocore.exceptions", "ReadTimeoutError", marks=needs("boto3")),
    ],
)
def test_A03_a_timeout_is_that_of_the_clients_own_library(ask: Callable[[], None], module: str, name: str) -> None:
    with fake_llm.intercept([TimeoutError()]), pytest.raises(getattr(importlib.import_module(module), name)):
        ask()


@needs("openai")
@pytest.mark.parametrize("library", ["httpx", pytest.param("httpx2", marks=needs("openai>=3"))])
@pytest.mark.parametrize("fault", [TimeoutError(), "httpx", pytest.param("httpx2", marks=needs("httpx2"))], ids=str)
def test_A03_the_sdk_tries_again(library: str, fault: Any) -> None:
    """Also after an exception of the other library, which is raised as it is."""
    import openai

    if isinstance(fault, str):
        fault = importlib.import_module(fault).ReadTimeout("too slow")
        if not has("openai>=3") and not isinstance(fault, httpx.ReadTimeout):
            pytest.skip("takes exceptions of httpx only")
    with closing(library, "Client") as http, fake_llm.intercept([fault, MOCKED]) as fake:
        client = openai.OpenAI(http_client=http)
        assert said(client) == "mocked"
        assert [call.attempt for call in fake.calls] == [1, 2]
        fake.push(fault)
        with pytest.raises(openai.APITimeoutError):
            said(client.with_options(max_retries=0))


@needs("anthropic>=1", "httpx2")
def test_A03_in_the_middle_of_a_stream_anthropics_sdk_shows_the_librarys_own_class() -> None:
    import anthropic
    import httpx2

    with (
        fake_llm.intercept([Reply("one two", then=Disconnect())]) as fake,
        anthropic.Anthropic() as client,
        pytest.raises((httpx2.RemoteProtocolError, anthropic.APIConnectionError)),  # 2.14 doesn't wrap it
        client.messages.stream(model="claude-sonnet-4-6", max_tokens=9, messages=HI) as events,
    ):
        for _ in events:
            pass
    assert b"one" in fake.calls[0].response.body
    assert b"message_stop" not in fake.calls[0].response.body


@needs("httpx2", "respx<0.24")
def test_A03_respx_takes_objects_of_httpx_only() -> None:
    import httpx2

    with respx.mock(assert_all_called=False) as router:
        router.post("https://x.example/").mock(side_effect=[httpx2.Response(200)])
        with pytest.raises(AssertionError):
            httpx.post("https://x.example/")


# --- A04: an async client on a transport of another library ---------------------------------------


@needs("litellm")
@pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class", "ignore::DeprecationWarning")  # of litellm's types
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.asyncio
async def test_A04_litellm_by_aiohttp_is_answered_and_captured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = importlib.import_module("litellm")
    url = "https://api.anthropic.com/v1/messages"
    with respx.mock(assert_all_called=False) as router, fake_llm.intercept(["Hello.", "Again."]) as fake:
        route = router.post(url).respond(json={})
        answer = await litellm.acompletion(model="anthropic/claude-sonnet-4-6", messages=HI)
        streamed = await litellm.acompletion(model="anthropic/claude-sonnet-4-6", messages=HI, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in streamed])
    assert (answer.choices[0].message.content, text) == ("Hello.", "Again.")
    assert [(call.url, call.attempt) for call in fake.calls] == [(url, 1)] * 2
    assert not route.called


# --- A06: a mock that builds the library's own responses ------------------------------------------


@needs("aiohttp")
@pytest.mark.asyncio
async def test_A06_aiohttp_reads_the_answer_with_its_own_parser() -> None:
    import aiohttp

    with fake_llm.intercept([MOCKED]):
        async with (
            aiohttp.ClientSession() as session,
            session.post(CHAT, json={"model": "m", "messages": HI}) as response,
        ):
            assert type(response) is aiohttp.ClientResponse
            assert (await response.json())["choices"][0]["message"]["content"] == "mocked"


@needs("aiohttp>=3.14", "aioresponses")
@pytest.mark.asyncio
async def test_A06_aioresponses_builds_it_by_hand() -> None:
    import aiohttp

    mock = importlib.import_module("aioresponses").aioresponses()
    async with aiohttp.ClientSession() as session:
        with mock:
            mock.post("https://x.example/", body="theirs")
            if has("aioresponses<0.7.10"):
                with pytest.raises(TypeError, match="stream_writer"):
                    await session.post("https://x.example/")
        with mock, fake_llm.intercept([MOCKED]):  # a call to a model goes past it
            async with session.post(CHAT, json={"model": "m", "messages": HI}) as response:
                assert (await response.json())["choices"][0]["message"]["content"] == "mocked"


# --- A07: a client made at import ----------------------------------------------------------------


@needs("openai")
def test_A07_a_client_made_before_is_answered_inside_and_goes_back_to_the_real_host() -> None:
    import openai

    with served() as url, openai.OpenAI(base_url=url.removesuffix("/chat"), api_key="k") as client:
        raw = client.chat.completions.with_raw_response
        for _ in range(2):
            assert raw.create(model="m", messages=HI).http_response.text == "real"  # leaves its connection in the pool
            with fake_llm.intercept([MOCKED], hosts={url.split("/")[2]: "openai"}) as fake:
                assert said(client) == "mocked"
            assert len(fake.calls) == 1
        assert raw.create(model="m", messages=HI).http_response.text == "real"


@needs("openai")
@pytest.mark.asyncio
async def test_A07_an_async_client() -> None:
    import openai

    with served() as url:
        async with openai.AsyncOpenAI(base_url=url.removesuffix("/chat"), api_key="k") as client:
            create = client.chat.completions.create
            raw = client.chat.completions.with_raw_response.create
            assert (await raw(model="m", messages=HI)).http_response.text == "real"
            async with fake_llm.intercept([MOCKED], hosts={url.split("/")[2]: "openai"}):
                assert (await create(model="m", messages=HI)).choices[0].message.content == "mocked"
            assert (await raw(model="m", messages=HI)).http_response.text == "real"


# --- A08: a new client for each call, and a path that isn't scripted --------------------------------

CONTAINER = "https://api.openai.com/v1/containers/c1"


def test_A08_every_client_is_covered_and_any_path_can_be_scripted() -> None:
    async def delete() -> Any:
        async with httpx.AsyncClient() as client:  # one per call
            return await client.delete(CONTAINER)

    with fake_llm.intercept() as fake:
        fake.when(operation="unknown").reply(Raw({"id": "c1", "deleted": True}), Raw({"error": "gone"}, status=410))
        assert asyncio.run(delete()).json() == {"id": "c1", "deleted": True}
        assert asyncio.run(delete()).status_code == 410
    assert [(call.method, call.url) for call in fake.calls] == [("DELETE", CONTAINER)] * 2


@needs("openai>=2")
def test_A08_the_sdk_reads_it() -> None:
    import openai

    with fake_llm.intercept() as fake, openai.OpenAI() as client:
        fake.when(operation="unknown").reply(Raw({"id": "c1", "deleted": True}))
        client.containers.delete("c1")  # whose type is None
    assert fake.calls[0].url == CONTAINER


def test_A08_a_path_that_nobody_scripted_fails_loudly() -> None:
    with pytest.raises(UnknownEndpointError) as caught, fake_llm.intercept():
        httpx.delete(CONTAINER)
    assert str(caught.value) == (
        f"DELETE {CONTAINER} came in thread {THREAD}: a known LLM host (openai), an unknown path.\n"
        "The paths that are answered there: POST /v1/chat/completions, POST /v1/responses, DELETE /v1/responses/{response}, "
        "DELETE /v1/conversations/{conversation}, DELETE /v1/files/{file}, POST /v1/completions, and 33 more "
        "(fake-llm providers openai).\n"
        'Write fake.when(operation="unknown").reply(Raw({…})) to answer it.'
    )


# --- A10: transports, caches and hooks of the user's own ------------------------------------------

LIBRARIES = ["httpx", pytest.param("httpx2", marks=needs("httpx2"))]


def retrying(module: Any) -> Any:
    """A transport that tries again once, as people write it."""

    class Retrying(module.BaseTransport):
        def __init__(self) -> None:
            self.inner = module.HTTPTransport()

        def handle_request(self, request: Any) -> Any:
            response = self.inner.handle_request(request)
            if response.status_code != 429:
                return response
            response.close()
            return self.inner.handle_request(request)

    return Retrying()


@pytest.mark.parametrize("library", LIBRARIES)
def test_A10_a_transport_of_the_users_own_still_runs(library: str) -> None:
    module = importlib.import_module(library)
    seen: list[int] = []
    hooks = {"response": [lambda response: seen.append(response.status_code)]}
    slow = Raw({"error": {"message": "slow"}}, status=429)
    client = module.Client(transport=retrying(module), event_hooks=hooks)
    with client, fake_llm.intercept([slow, MOCKED]) as fake:
        answer = client.post(CHAT, json={"model": "m", "messages": HI})
    assert (answer.status_code, answer.json()["choices"][0]["message"]["content"]) == (200, "mocked")
    assert [call.response.status for call in fake.calls] == [429, 200]
    assert seen == [200]


@needs("openai>=3")
def test_A10_beneath_an_sdk_it_runs_before_the_sdks_own_retries() -> None:
    import httpx2
    import openai

    with httpx2.Client(transport=retrying(httpx2)) as http, fake_llm.intercept([Error(429), MOCKED]) as fake:
        assert said(openai.OpenAI(http_client=http, max_retries=0)) == "mocked"
    assert len(fake.calls) == 2


@needs("hishel>=2")
def test_A10_a_cache_still_runs(tmp_path: Any) -> None:
    import hishel
    import hishel.httpx

    storage = hishel.SqliteStorage(database_path=tmp_path / "cache.db")
    transport = hishel.httpx.CacheTransport(next_transport=httpx.HTTPTransport(), storage=storage)
    with contextlib.closing(storage), httpx.Client(transport=transport) as client, fake_llm.intercept() as fake:
        fake.when(operation="unknown").reply(Raw({"id": "c1"}, headers={"cache-control": "max-age=60"}))
        got = [client.get(CONTAINER) for _ in range(2)]
    assert [answer.json() for answer in got] == [{"id": "c1"}] * 2
    assert len(fake.calls) == 1  # the second answer is the cache's


# --- A11: threads and tasks ----------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_A11_what_is_mounted_on_one_client_is_seen_by_no_other(library: str) -> None:
    module = importlib.import_module(library)
    before = vars(module.HTTPTransport)["handle_request"]
    with served() as url, module.Client() as ours, module.Client() as other, ThreadPoolExecutor(1) as thread:
        asked = {"model": "m", "messages": HI}
        with FakeLLM(["Hello."]).mount(ours, provider="openai") as fake:
            assert vars(module.HTTPTransport)["handle_request"] is before
            real = thread.submit(other.post, f"{url}/completions", json=asked).result()
            answered = ours.post(f"{url}/completions", json=asked)
        assert (real.text, answered.json()["choices"][0]["message"]["content"]) == ("real", "Hello.")
        assert ours.post(f"{url}/completions", json=asked).text == "real"
    assert len(fake.calls) == 1


def test_A11_a_block_is_there_for_all_threads_and_leaves_other_hosts_alone() -> None:
    with served() as url, fake_llm.intercept(["Hello."]) as fake, ThreadPoolExecutor(2) as threads:
        answered, real = threads.submit(post), threads.submit(httpx.post, url, json={"messages": HI})
        assert answered.result().json()["choices"][0]["message"]["content"] == "Hello."
        assert real.result().text == "real"
    assert len(fake.calls) == 1


def test_A11_blocks_that_overlap_end_in_any_order() -> None:
    before = vars(httpx.HTTPTransport)["handle_request"]
    opened, closed = threading.Event(), threading.Event()

    def first() -> None:
        with fake_llm.intercept(default="first"):
            opened.set()
            closed.wait(5)

    with served() as url, ThreadPoolExecutor(1) as threads:
        running = threads.submit(first)
        assert opened.wait(5)
        with fake_llm.intercept(["second"]):
            assert post().json()["choices"][0]["message"]["content"] == "second"
            closed.set()  # the outer block ends before the inner one
            running.result()
            assert vars(httpx.HTTPTransport)["handle_request"] is not before
            assert httpx.post(url).text == "real"
    assert vars(httpx.HTTPTransport)["handle_request"] is before


def test_A11_each_turn_is_taken_once() -> None:
    turns = [f"turn {number}" for number in range(64)]
    with fake_llm.intercept(turns) as fake, ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda _: post().json()["choices"][0]["message"]["content"], turns))
    assert sorted(got) == sorted(turns)
    assert sorted(call.index for call in fake.calls) == list(range(64))


# --- A13: WebSockets -----------------------------------------------------------------------------

LIVE = (
    "It is a known LLM host, and this way isn't intercepted: the call would have left the machine.\n"
    "Let the code ask by HTTP, streamed if it must be, in place of a realtime or live session; or put a double of the session "
    "itself where the code takes one."
)


def realtime() -> None:
    openai = importlib.import_module("openai")
    with openai.OpenAI() as client, client.realtime.connect(model="gpt-realtime"):
        pass


def responses_by_websocket() -> None:
    openai = importlib.import_module("openai")
    with openai.OpenAI() as client, client.responses.connect():
        pass


async def live() -> None:
    genai = importlib.import_module("google.genai")
    async with genai.Client().aio.live.connect(model="gemini-live"):
        pass


@pytest.mark.parametrize(
    ("dial", "came"),
    [
        pytest.param(
            realtime,
            "api.openai.com:443 was reached by a WebSocket (websockets.sync.client.connect)",
            marks=needs("openai>=2", "websockets>=13"),
        ),
        pytest.param(
            responses_by_websocket,
            "api.openai.com:443 was reached by a WebSocket (websockets.sync.client.connect)",
            marks=needs("openai>=3", "websockets>=13"),
        ),
        pytest.param(
            live,
            "generativelanguage.googleapis.com:443 was reached by a WebSocket (websockets.connect)",
            marks=needs("google-genai>=2", "websockets>=13"),
        ),
    ],
)
def test_A13_a_websocket_to_a_provider_fails_at_once(dial: Callable[[], Any], came: str) -> None:
    async def main() -> None:
        async with fake_llm.intercept():
            await dial()

    with pytest.raises(UninterceptedCallError) as caught:
        if asyncio.iscoroutinefunction(dial):
            asyncio.run(main())
        else:
            with fake_llm.intercept():
                dial()
    assert str(caught.value) == f"{came} in thread {THREAD}.\n{LIVE}"


# --- A14: the async client of AWS ------------------------------------------------------------------

CONVERSED: Any = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}


async def with_bedrock(then: Callable[[Any], Awaitable[Any]], library: str = "aiohttp") -> Any:
    """What a client of aiobotocore does, by one of the libraries that it can send by."""
    config = None
    if library == "httpx":
        sessions = importlib.import_module("aiobotocore.httpxsession")
        config = importlib.import_module("aiobotocore.config").AioConfig(http_session_cls=sessions.HttpxSession)
    session = importlib.import_module("aiobotocore.session").get_session()
    async with session.create_client("bedrock-runtime", region_name="us-east-1", config=config) as client:
        return await then(client)


@needs("aiobotocore")
@pytest.mark.asyncio
async def test_A14_aiobotocore_is_answered() -> None:
    async def ask(client: Any) -> None:
        whole = await client.converse(**CONVERSED)
        assert whole["output"]["message"] == {"role": "assistant", "content": [{"text": "ok"}]}
        assert (whole["stopReason"], whole["usage"]["totalTokens"]) == ("end_turn", 2)
        stream = (await client.converse_stream(**CONVERSED))["stream"]
        deltas = [event["contentBlockDelta"]["delta"] async for event in stream if "contentBlockDelta" in event]
        assert [delta["text"] for delta in deltas] == ["one", " two"]
        body = '{"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}'
        invoked = await client.invoke_model(modelId="anthropic.claude", body=body)
        assert b'"text":"invoked"' in await invoked["body"].read()
        streamed = await client.invoke_model_with_response_stream(modelId="anthropic.claude", body=body)
        assert b"streamed" in b"".join([event["chunk"]["bytes"] async for event in streamed["body"]])

    async with fake_llm.intercept([Reply("ok", usage=Usage(1, 1)), "one two", "invoked", "streamed"]) as fake:
        await with_bedrock(ask)
    assert [(call.provider, call.operation, call.model, call.stream) for call in fake.calls] == [
        ("bedrock", "chat", "m", False),
        ("bedrock", "chat", "m", True),
        ("bedrock", "chat", "anthropic.claude", False),
        ("bedrock", "chat", "anthropic.claude", True),
    ]


@needs("aiobotocore>=3.10", "httpx2")
@pytest.mark.asyncio
async def test_A14_by_httpx_too() -> None:
    """Of streams of events it reads those of aiohttp only (3.10), so there are none here."""

    async def ask(client: Any) -> Any:
        return (await client.converse(**CONVERSED))["output"]["message"]["content"]

    async with fake_llm.intercept(["ok"]) as fake:
        assert await with_bedrock(ask, "httpx") == [{"text": "ok"}]
    assert len(fake.calls) == 1


@needs("aiobotocore")
@pytest.mark.asyncio
async def test_A14_a_tool_and_an_error_that_is_tried_again() -> None:
    async def ask(client: Any) -> Any:
        tool = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
        answer = await client.converse(**CONVERSED, toolConfig={"tools": [tool]})
        with pytest.raises(client.exceptions.AccessDeniedException):
            await client.converse(**CONVERSED)
        return answer["output"]["message"]["content"][0]["toolUse"]["input"]

    async with fake_llm.intercept([Error(429), Error(503), ToolCall("f", {"x": 1}), Error("permission")]) as fake:
        assert await with_bedrock(ask) == {"x": 1}
    assert [call.attempt for call in fake.calls] == [1, 2, 3, 1]
    assert all(call.waited > 0 for call in fake.calls[:2])  # its waits take no time


@needs("aiobotocore")
@pytest.mark.asyncio
async def test_A14_a_mount_on_its_client_is_refused() -> None:
    async def mount(client: Any) -> None:
        FakeLLM(["Hello."]).mount(client)

    with fake_llm.intercept(), pytest.raises(ScriptError) as caught:
        await with_bedrock(mount)
    assert str(caught.value) == (
        "mount() got a client of aiobotocore.\n"
        "It makes its sessions of aiohttp or httpx when it calls, so there is none yet that a fake could be mounted on.\n"
        "Write fake_llm.intercept([…]), which sees its calls by either."
    )
