"""The public API as type checkers see it; checked, never run."""

from __future__ import annotations

import dataclasses
import re
import unittest
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, assert_type

import httpx
import requests

import fake_llm
from fake_llm import (
    Call,
    Disconnect,
    Embedding,
    EndOfStream,
    Error,
    FakeLLM,
    FakeLLMFailure,
    Framing,
    Garbage,
    Image,
    Json,
    Message,
    Raw,
    Refusal,
    Reply,
    ScriptError,
    ScriptMismatchError,
    Stall,
    Thinking,
    ToolCall,
    ToolResult,
    UninterceptedCallError,
    UnknownEndpointError,
    UnscriptedCallError,
    UnusedReplyError,
    Usage,
    intercept,
    quirks,
    sweep,
)


@dataclasses.dataclass
class Weather:
    city: str


# A script is a list of turns, whatever mix of kinds it holds.
def decide(call: Call) -> str | None:
    return call.last_user_text if call.attempt == 1 else None


async def decide_later(call: Call) -> Reply:
    return Reply(call.model)


intercept()
intercept("text")
intercept(Reply("text"))
intercept({"city": "Paris"})
intercept(["text", ToolCall("get_weather", {"city": "Paris"})])
intercept(
    [
        "text",
        ["Let me look.", ToolCall("a", {}), ToolCall("b", '{"broken', "call_1")],
        {"city": "Paris"},
        Weather("Paris"),
        Json([1, 2, None]),
        Thinking("Hm.", signature="sig"),
        Thinking("", redacted=True),
        Refusal("No."),
        Image(b"\x89PNG"),
        Image("https://example.com/a.png", media_type="image/png"),
        Error(429),
        Error("overloaded", "Busy.", retry_after=2, headers={"x": "y"}, body={"error": {}}),
        TimeoutError(),
        ConnectionError,
        Raw({"id": "x"}, status=200, headers={"x": "y"}),
        Raw(b"data: 1\n\n", then=Disconnect(), framing=Framing(gzip=True)),
        decide,
        decide_later,
    ]
)
intercept(turn for turn in ("a", "b"))


# The options are the same for `intercept` and `FakeLLM`.
def price(usage: Usage) -> float:
    return usage.input_tokens * 1e-6 + usage.total * 1e-6


for make in (intercept, FakeLLM):
    make(
        ["a"],
        default="more",
        on_exhausted="stop",
        strict=False,
        model="gpt-5",
        usage=Usage(10, 5),
        delay=0.5,
        interval=0.1,
        chunk_size=4,
        framing=Framing(newline="\r\n", split=7),
        context_window=8192,
        reserve_completion=1024,
        cost=price,
        virtual_time=True,
        hosts={"llm.corp.example:8080/base": "openai"},
        env=False,
    )


# A turn with options.
Reply()
Reply("a", ToolCall("b"), {"city": "Paris"}, Json(1))
reply = Reply(
    "Hello",
    usage=Usage(1, 2, cached_tokens=1, cache_write_tokens=0, reasoning_tokens=1, total_tokens=3, details={"x": 1}),
    model="gpt-5",
    id="resp_1",
    finish_reason="length",
    delay=1,
    interval=0.1,
    chunks=["Hel", "lo"],
    logprobs=[("Hello", -0.1)],
    then=Stall(seconds=1),
    framing=Framing(ids=True, comment="keep-alive"),
    edit=[lambda events: events[:-1], quirks.no_tool_index(), quirks.tool_ids(None)],
    extra={"service_tier": "flex"},
    headers={"x-request-id": "req_1"},
    choices=["Hi", Reply("Hey"), ["a", ToolCall("b")]],
    check=False,
)
for then in (
    Disconnect(),
    Disconnect(after_bytes=3, reset=True),
    Stall(2, after_events=3),
    Stall(),
    EndOfStream(),
    Error("overloaded"),
    Garbage(b"\xff"),
):
    Reply("a", then=then)
assert_type(reply.usage, Usage | None)
Reply(edit=quirks.shifted_tool_index(by=2))
Reply(edit=lambda events: events)


# A block, sync and async, gives a `FakeLLM`.
def block() -> None:
    with intercept(["a"]) as fake:
        assert_type(fake, FakeLLM)
    with fake_llm.intercept(["a"]) as again:
        again.check()


async def block_async() -> None:
    async with intercept(["a"]) as fake:
        assert_type(fake, FakeLLM)


# A decorated function keeps its kind and what it returns; the argument that is filled in may be left out.
@intercept(["a"])
def function() -> int:
    return 1


@intercept(["a"])
async def coroutine() -> int:
    return 1


@intercept(["a"])
def generator() -> Iterator[int]:
    yield 1


@intercept(["a"])
async def async_generator() -> AsyncIterator[int]:
    yield 1


@intercept(["a"])
def test_with_the_fake(fake_llm: FakeLLM) -> None:
    assert fake_llm.calls


@intercept(["a"])
class TestClass:
    def test_it(self) -> None: ...


@intercept(["a"])
class TestCase(unittest.TestCase):
    def test_it(self) -> None: ...


async def decorated() -> None:
    assert_type(function(), int)
    assert_type(await coroutine(), int)
    assert_type(list(generator()), list[int])
    assert_type([item async for item in async_generator()], list[int])
    assert_type(TestClass(), TestClass)
    TestCase("test_it").run()


# What a block is told, and what it tells.
def use(fake: FakeLLM) -> None:
    fake.push("a", ["b", ToolCall("c")], Error(500))
    fake.default("a")
    fake.when(system="planner").reply("a", ToolCall("b"))
    fake.when(operation="embeddings").reply(Embedding([0.1, 1]))
    fake.when(operation="embeddings", input="a").reply([Embedding((1.0,)), Embedding([0.5])], Error(429))
    fake.when(
        lambda call: call.attempt > 1,
        input=re.compile("weather"),
        last="weather",
        system="planner",
        tool="get_weather",
        tool_result="sunny",
        model=re.compile("gpt"),
        provider="openai",
        operation="chat",
        stream=True,
        turn=0,
        times=2,
    ).reply("a")
    assert_type(fake.remaining, int)
    assert_type(fake.usage, Usage)
    assert_type(fake.transcript(), str)
    assert_type(fake.copy(strict=False), FakeLLM)
    failures: Sequence[BaseException] = fake.failures
    for failure in failures:
        if isinstance(failure, FakeLLMFailure):
            print(failure)
    print(fake.cost)
    fake.reset()


# A mount gives the fake; a transport and an adapter fit their libraries.
def mount(fake: FakeLLM, session: requests.Session) -> None:
    mounted = fake.mount(session)
    with mounted as same:
        assert_type(same, FakeLLM)
    mounted.unmount()
    fake.mount(httpx.Client(), provider="openai")
    httpx.Client(transport=fake.httpx_transport(), mounts={"all://": fake.httpx_transport(provider="anthropic")})
    httpx.AsyncClient(transport=fake.httpx_transport())
    session.mount("https://", fake.requests_adapter(provider="openai"))


async def mount_async(fake: FakeLLM, client: httpx.AsyncClient) -> None:
    async with fake.mount(client) as same:
        assert_type(same, FakeLLM)


def look(fake: FakeLLM) -> None:
    assert_type(len(fake.calls), int)
    assert_type(fake.calls[0], Call)
    assert_type(fake.calls[0:2][0], Call)
    assert_type(fake.calls.first, Call | None)
    assert_type(fake.calls.last, Call | None)
    assert_type(fake.calls.chat[0], Call)
    assert_type(fake.calls.filter(provider="openai", operation="chat", model=re.compile("gpt"))[0], Call)
    assert_type(fake.side_calls[0], Call)
    for call in fake.calls:
        see(call)
    fake.calls.clear()


def see(call: Call) -> None:
    assert_type(call.index, int)
    assert_type(call.timestamp, float)
    assert_type(call.attempt, int)
    assert_type(call.provider, str)
    assert_type(call.operation, str)
    assert_type(call.dialect, str)
    assert_type(call.model, str)
    assert_type(call.stream, bool)
    assert_type(call.method, str)
    assert_type(call.url, str)
    assert_type(call.headers["Content-Type"], str)
    assert_type(call.raw, bytes)
    assert_type(call.body["model"], Any)
    assert_type(call.system, str)
    messages: Sequence[Message] = call.messages
    conversation: Sequence[Message] = call.conversation
    texts: Sequence[str] = call.user_texts
    assert_type(call.last_user_text, str)
    tools: Mapping[str, Mapping[str, Any]] = call.tools
    results: Sequence[ToolResult] = call.tool_results
    schema: Mapping[str, Any] | None = call.schema
    params: Mapping[str, Any] = call.params
    assert_type(call.usage, Usage | None)
    if call.response is not None:
        assert_type(call.response.status, int)
        assert_type(call.response.body, bytes)
    print(messages, conversation, texts, tools, results, schema, params, call.reply, call.cost)


def parts(message: Message, result: ToolResult) -> None:
    assert_type(message.text, str)
    assert_type(message.thinking, str)
    print(message.role, message.tool_calls[0].name, message.tool_calls[0].arguments, message.tool_results[0].text)
    assert_type(result.id, str | None)
    assert_type(result.name, str)
    assert_type(result.text, str)
    assert_type(result.is_error, bool)


# Each error has the base that its moment asks for.
script_error: type[ValueError] = ScriptError
unused: type[AssertionError] = UnusedReplyError
on_the_way: tuple[type[FakeLLMFailure], ...] = (
    ScriptMismatchError,
    UninterceptedCallError,
    UnknownEndpointError,
    UnscriptedCallError,
)

swept: list[sweep.Swept] = sweep.cuts("Hi", then=[Disconnect(), EndOfStream()], every="byte", provider="anthropic")
swept += sweep.splits(Reply("Hi", framing=Framing(split="characters")), every="event")
Framing(split=[3, 4], deflate=True, between="event: ping", multiline=True)
with sweep.as_assertions(), intercept(swept[0]):
    pass
