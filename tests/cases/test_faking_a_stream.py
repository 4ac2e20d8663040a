"""Faking a stream at all: in its own form, for every library and for both kinds of client, in pieces, with pauses, turn by turn."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import respx

import fake_llm
from _capability import has, needs
from fake_llm import Embedding, EndOfStream, Framing, Raw, Reply, ToolCall, UnusedReplyError, quirks

CHAT = "https://api.openai.com/v1/chat/completions"
HI: Any = [{"role": "user", "content": "Hi"}]
BODY: dict[str, Any] = {"model": "m", "messages": HI}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]


def payloads(call: Any) -> list[Any]:
    """The events of a stream as they were sent, the terminator as the text that it is."""
    events = call.response.body.decode().split("\n\n")
    assert events.pop() == ""
    lines = [event.removeprefix("data: ") for event in events]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def streamed(**options: Any) -> list[Any]:
    """The chunks that the SDK gives."""
    with importlib.import_module("openai").OpenAI() as client:
        return list(client.chat.completions.create(model="m", messages=HI, stream=True, **options))


def content(chunks: Any) -> list[str | None]:
    return [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]


# --- A20: the form of an answer follows what is asked -------------------------------------------------


@needs("openai")
def test_A20_one_script_whole_and_streamed() -> None:
    import openai

    with fake_llm.intercept(default="Hi") as fake:
        with openai.OpenAI() as client:
            assert client.chat.completions.create(model="m", messages=HI).choices[0].message.content == "Hi"
        assert content(streamed()) == ["", "Hi", None]
        assert [chunk.usage is None for chunk in streamed(stream_options={"include_usage": True})] == [True] * 3 + [
            False
        ]

    whole, plain, counted = fake.calls
    assert json.loads(whole.response.body)["object"] == "chat.completion"
    *chunks, done = payloads(plain)
    assert [(chunk["choices"][0]["delta"], chunk["choices"][0]["finish_reason"]) for chunk in chunks] == [
        ({"role": "assistant", "content": "", "refusal": None}, None),
        ({"content": "Hi"}, None),
        ({}, "stop"),
    ]
    assert (done, ["usage" in chunk for chunk in chunks]) == ("[DONE]", [False] * 3)
    *_, last, done = payloads(counted)
    assert (last["choices"], last["usage"]["completion_tokens"], done) == ([], 1, "[DONE]")


# --- A21: aiohttp in pieces ---------------------------------------------------------------------------

PAUSED = Reply(chunks=["Hel", "lo"], interval=3600)
"""Nobody waits that long: what comes first has come before the rest was there."""


@needs("aiohttp")
@pytest.mark.asyncio
async def test_A21_aiohttp_has_a_line_before_the_next_one_is_there() -> None:
    import aiohttp

    async with (
        fake_llm.intercept([PAUSED]) as fake,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session,
        session.post(CHAT, json={**BODY, "stream": True}) as response,
    ):
        got = b""
        async for line in response.content:
            got += line
            if b'"Hel"' in line:
                break
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                while True:
                    got += await response.content.readany()
    assert b'"lo"' in fake.calls[0].response.body.removeprefix(got)


@needs("aiohttp")
@pytest.mark.parametrize("way", ["iter_any", "iter_chunks"])
@pytest.mark.asyncio
async def test_A21_each_event_is_a_read_of_its_own(way: str) -> None:
    import aiohttp

    async with (
        fake_llm.intercept([Reply(chunks=["Hel", "lo"], interval=0.001)]) as fake,
        aiohttp.ClientSession() as session,
        session.post(CHAT, json={**BODY, "stream": True}) as response,
    ):
        reads = [read if way == "iter_any" else read[0] async for read in getattr(response.content, way)()]
    filled = [read for read in reads if read]
    assert b"".join(filled) == fake.calls[0].response.body
    [first] = [place for place, read in enumerate(filled) if b'"Hel"' in read]
    [second] = [place for place, read in enumerate(filled) if b'"lo"' in read]
    assert first < second


# --- A22: sync and async ------------------------------------------------------------------------------

SCRIPT = [Reply(chunks=["Hel", "lo"])]
"""One object for all of them."""


def by_httpx(library: str) -> bytes:
    with importlib.import_module(library).stream("POST", CHAT, json={**BODY, "stream": True}) as response:
        return b"".join(response.iter_bytes())


def by_async_httpx(library: str) -> bytes:
    async def ask() -> bytes:
        client = importlib.import_module(library).AsyncClient()
        async with client, client.stream("POST", CHAT, json={**BODY, "stream": True}) as response:
            return b"".join([part async for part in response.aiter_bytes()])

    return asyncio.run(ask())


def by_requests(library: str) -> bytes:
    with importlib.import_module(library).post(CHAT, json={**BODY, "stream": True}, stream=True) as response:
        return b"".join(response.iter_content(None))


def by_aiohttp(library: str) -> bytes:
    async def ask() -> bytes:
        session = importlib.import_module(library).ClientSession()
        async with session, session.post(CHAT, json={**BODY, "stream": True}) as response:
            return await response.read()

    return asyncio.run(ask())


LIBRARIES = [
    (by_httpx, "httpx"),
    (by_async_httpx, "httpx"),
    (by_httpx, "httpx2"),
    (by_async_httpx, "httpx2"),
    (by_requests, "requests"),
    (by_aiohttp, "aiohttp"),
]


@pytest.mark.parametrize(
    ("ask", "library"), [pytest.param(ask, library, marks=needs(library)) for ask, library in LIBRARIES]
)
def test_A22_the_same_script_for_every_library(ask: Callable[[str], bytes], library: str) -> None:
    with fake_llm.intercept(SCRIPT) as fake:
        got = ask(library)
    assert got == fake.calls[0].response.body
    assert [
        event if event == "[DONE]" else event["choices"][0]["delta"].get("content") for event in payloads(fake.calls[0])
    ] == [
        "",
        "Hel",
        "lo",
        None,
        "[DONE]",
    ]


@needs("openai")
@pytest.mark.asyncio
async def test_A22_the_same_script_for_both_clients_of_an_sdk() -> None:
    import openai

    block = fake_llm.intercept(SCRIPT)
    with block:
        blocking = content(streamed())
    async with block, openai.AsyncOpenAI() as client:
        stream = await client.chat.completions.create(model="m", messages=HI, stream=True)
        assert content([chunk async for chunk in stream]) == blocking == ["", "Hel", "lo", None]


@needs("respx<0.24")
@pytest.mark.asyncio
async def test_A22_a_generator_serves_respx_for_one_of_them_only() -> None:
    with respx.mock(assert_all_called=False) as router:
        router.post(CHAT).mock(return_value=httpx.Response(200, stream=httpx.ByteStream(b"data: x\n\n")))
        assert by_httpx("httpx") == b"data: x\n\n"
        router.post(CHAT).mock(return_value=httpx.Response(200, content=(part for part in [b"data: x\n\n"])))
        async with httpx.AsyncClient() as client:
            with pytest.raises(AssertionError):
                await client.post(CHAT)


# --- A24: pauses ----------------------------------------------------------------------------------------


@needs("openai")
@pytest.mark.asyncio
async def test_A24_a_pause_lets_others_go_on() -> None:
    import openai

    seen: list[str] = []

    async def other() -> None:
        while "Hel" not in seen:
            await asyncio.sleep(0)
        seen.append("another task")

    async with fake_llm.intercept([Reply(chunks=["Hel", "lo"], interval=0.05)]), openai.AsyncOpenAI() as client:
        running = asyncio.create_task(other())
        async for chunk in await client.chat.completions.create(model="m", messages=HI, stream=True):
            seen.extend(filter(None, content([chunk])))
        await running
    assert seen == ["Hel", "another task", "lo"]


@needs("openai")
@pytest.mark.asyncio
async def test_A24_who_is_cancelled_in_a_pause_closes_the_stream() -> None:
    import openai

    seen: list[str] = []

    async def read(client: Any) -> None:
        async for chunk in await client.chat.completions.create(model="m", messages=HI, stream=True):
            seen.extend(filter(None, content([chunk])))

    async with fake_llm.intercept([PAUSED]), openai.AsyncOpenAI(timeout=None) as client:
        reading = asyncio.create_task(read(client))
        while not seen:
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert seen == ["Hel"]


@needs("openai")
def test_A24_with_a_clock_of_its_own_pauses_take_no_time() -> None:
    """Nobody would wait for the hours that these pauses are long."""
    pauses = Reply(chunks=["Hel", *"x" * 400, "lo"], delay=60, interval=60)
    with fake_llm.intercept([pauses], virtual_time=True):
        assert content(streamed())[1] == "Hel"


# --- A25: one line, and a way out for what the SDK's types forbid ---------------------------------------


@needs("openai")
def test_A25_one_line_is_a_whole_stream() -> None:
    with fake_llm.intercept(["Hel lo"]) as fake:
        assert content(streamed()) == ["", "Hel", " lo", None]
    answer = fake.calls[0].response
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert payloads(fake.calls[0])[-1] == "[DONE]"


FORBIDDEN = [{"choices": [{"delta": None}]}, {"choices": [{"delta": {"content": "x"}}], "id": 7}, {"choices": []}]
"""No index, no delta, a number for an id, no choice: what the SDK's own types refuse to hold."""


@needs("openai")
@pytest.mark.parametrize("form", [str, bytes, list])
@pytest.mark.parametrize("done", [True, False], ids=["terminated", "not terminated"])
def test_A25_what_the_types_forbid_is_sent_as_it_is(form: type, done: bool) -> None:
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in FORBIDDEN)
    if form is list:
        turn = Raw(FORBIDDEN) if done else Raw(FORBIDDEN, then=EndOfStream())
    else:
        text += "data: [DONE]\n\n" if done else ""
        turn = Raw(text if form is str else text.encode())
    with fake_llm.intercept([turn]) as fake:
        chunks = streamed()
    assert [chunk.choices[0].delta and chunk.choices[0].delta.content for chunk in chunks[:2]] == [None, "x"]
    assert payloads(fake.calls[0]) == [*FORBIDDEN, *(["[DONE]"] if done else [])]
    assert fake.calls[0].response.status == 200
    assert fake.calls[0].response.headers["content-type"].startswith("text/event-stream")


# --- A26: doubles of the client itself --------------------------------------------------------------------

ROUNDS = [ToolCall("get_weather", {"city": "Paris"}), "It is sunny."]


@needs("pydantic-ai-slim", "openai>=2")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.asyncio
async def test_A26_rounds_of_an_agent_go_through_the_sdk(stream: bool) -> None:
    models = pytest.importorskip("pydantic_ai.models.openai")
    providers = importlib.import_module("pydantic_ai.providers.openai")
    openai = importlib.import_module("openai")
    async with fake_llm.intercept(ROUNDS) as fake, openai.AsyncOpenAI() as client:
        model = models.OpenAIChatModel("gpt-5", provider=providers.OpenAIProvider(openai_client=client))
        agent = importlib.import_module("pydantic_ai").Agent(model)

        @agent.tool_plain
        def get_weather(city: str) -> str:
            return f"sunny in {city}"

        if stream:
            async with agent.run_stream("Weather in Paris?") as run:
                answer = await run.get_output()
        else:
            answer = (await agent.run("Weather in Paris?")).output
    assert answer == "It is sunny."
    assert [call.stream for call in fake.calls] == [stream] * 2
    assert fake.calls[1].body["messages"][-1] == {
        "role": "tool",
        "tool_call_id": fake.calls[1].body["messages"][-2]["tool_calls"][0]["id"],
        "content": "sunny in Paris",
    }


@needs("openai")
def test_A26_a_turn_that_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(UnusedReplyError) as caught, fake_llm.intercept(["One.", "Two."]):
        streamed()
    assert str(caught.value) == (
        "The block ended and 1 turn was not asked for:\n"
        "  turn 1  call 0  'One.'\n"
        "  turn 2  unused  'Two.'\n"
        "1 call came.\n"
        "Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end."
    )


# --- A28: deltas of a tool call ---------------------------------------------------------------------------

CALLED = Reply(ToolCall("f", {"x": 1}, id="c1"), chunk_size=100)


@needs("openai")
def test_A28_the_deltas_of_a_tool_call_are_the_real_ones() -> None:
    with fake_llm.intercept([CALLED, [ToolCall("f", {"x": 1}), ToolCall("f", {"x": 2})]]) as fake:
        chunks = streamed(tools=TOOLS)
        both = streamed(tools=TOOLS)
    deltas = [event["choices"][0]["delta"].get("tool_calls") for event in payloads(fake.calls[0])[:-1]]
    assert deltas == [
        [{"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"x":1}'}}],
        None,
    ]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    joined = {0: "", 1: ""}
    for fragment in (part for chunk in both for part in chunk.choices[0].delta.tool_calls or ()):
        joined[fragment.index] += fragment.function.arguments
    assert joined == {0: '{"x":1}', 1: '{"x":2}'}


@needs("openai")
def test_A28_whole_its_arguments_are_text() -> None:
    import openai

    wrong = Reply(*CALLED.parts, edit=quirks.object_arguments())
    with fake_llm.intercept([CALLED, wrong]) as fake, openai.OpenAI() as client:
        right, other = (client.chat.completions.create(model="m", messages=HI, tools=TOOLS) for _ in range(2))
    [sent] = json.loads(fake.calls[0].response.body)["choices"][0]["message"]["tool_calls"]
    assert sent == {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
    assert right.choices[0].message.tool_calls[0].function.arguments == '{"x":1}'
    if has("openai<4"):  # 3.57 validates nothing: what a wrong fake sends reaches the user
        assert other.choices[0].message.tool_calls[0].function.arguments == {"x": 1}


@needs("langchain-openai")
def test_A28_langchain_calls_the_tool_with_them() -> None:
    with fake_llm.intercept([ToolCall("f", {"x": 1})]):
        model = importlib.import_module("langchain_openai").ChatOpenAI(model="m").bind_tools(TOOLS)
        first, *rest = model.stream("Hi")
        for chunk in rest:
            first += chunk
    assert [(call["name"], call["args"]) for call in first.tool_calls] == [("f", {"x": 1})]


# --- A29: the same in both modes --------------------------------------------------------------------------


@needs("openai")
@pytest.mark.asyncio
async def test_A29_the_chunks_are_the_same_ones_again_and_again() -> None:
    import openai

    got = []
    for _ in range(2):
        with fake_llm.intercept(["One two three."]):
            got.append(streamed())
        async with fake_llm.intercept(["One two three."]), openai.AsyncOpenAI() as client:
            stream = await client.chat.completions.create(model="m", messages=HI, stream=True)
            got.append([chunk async for chunk in stream])
    assert got[0] == got[1] == got[2] == got[3]  # ids and times of creation included
    assert content(got[0]) == ["", "One", " two", " three.", None]


@needs("litellm")
@pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class", "ignore::DeprecationWarning")  # of litellm's types
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.asyncio
async def test_A29_through_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = importlib.import_module("litellm")
    asked: dict[str, Any] = {"model": "openai/gpt-5", "messages": HI, "stream": True}
    with fake_llm.intercept(["One two three."]):
        blocking = [chunk.choices[0].delta.content for chunk in litellm.completion(**asked)]
    async with fake_llm.intercept(["One two three."]):
        on_loop = [chunk.choices[0].delta.content async for chunk in await litellm.acompletion(**asked)]
    assert [text for text in on_loop if text] == [text for text in blocking if text] == ["One", " two", " three."]


# --- A31: quirks are options of a reply -------------------------------------------------------------------


def named_again(events: list[Any]) -> list[Any]:
    """What some servers do: each fragment carries the name."""
    for event in events:
        for fragment in event["choices"][0]["delta"].get("tool_calls", ()):
            fragment["function"]["name"] = "f"
    return events


@needs("openai")
def test_A31_quirks_of_a_provider_are_options_of_an_ordinary_reply() -> None:
    call = ToolCall("f", {"x": 1}, id="c1")
    plain = Reply(call, chunk_size=4, model="another-name", framing=Framing(space=False), extra={"provider": "quirky"})
    unindexed = Reply(call, edit=[quirks.no_tool_index(), quirks.tool_ids(None)])
    with fake_llm.intercept([plain, Reply(call, chunk_size=4, edit=named_again), unindexed]) as fake:
        unnamed, named, _ = (streamed(tools=TOOLS) for _ in range(3))

    def fragments(chunks: Any) -> list[tuple[str | None, str]]:
        parts = [part for chunk in chunks for part in chunk.choices[0].delta.tool_calls or ()]
        return [(part.function.name, part.function.arguments) for part in parts]

    assert fragments(unnamed) == [("f", ""), (None, '{"x"'), (None, ":1}")]
    assert fragments(named) == [("f", ""), ("f", '{"x"'), ("f", ":1}")]
    assert {(chunk.model, chunk.provider) for chunk in unnamed} == {("another-name", "quirky")}
    assert fake.calls[0].response.body.startswith(b'data:{"')
    sent = [event["choices"][0]["delta"].get("tool_calls", [{}]) for event in payloads(fake.calls[2])[:-1]]
    assert sent[0] == [{"id": None, "type": "function", "function": {"name": "f", "arguments": ""}}]
    assert all("index" not in fragment for [fragment] in sent)


# --- A32: embeddings --------------------------------------------------------------------------------------


@needs("openai")
@pytest.mark.parametrize("asked", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}], ids=str)
def test_A32_a_vector_whatever_encoding_is_asked(asked: dict[str, Any]) -> None:
    import openai

    with fake_llm.intercept() as fake, openai.OpenAI() as client:
        fake.when(operation="embeddings").reply(Embedding([0.5, 1.0]))
        answers = [client.embeddings.create(model="e", input=texts, **asked) for texts in ("x", ["x", "y", "z"])]
    sent = [json.loads(call.response.body)["data"][0]["embedding"] for call in fake.calls]
    base64 = fake.calls[0].body.get("encoding_format") == "base64"
    assert base64 is (asked != {"encoding_format": "float"})  # 3.57 asks for it where the user gives none
    assert sent == ["AAAAPwAAgD8=" if base64 else [0.5, 1.0]] * 2
    assert [len(answer.data) for answer in answers] == [1, 3]
    assert [item.index for item in answers[1].data] == [0, 1, 2]
    if asked != {"encoding_format": "base64"}:  # where the user asks, the SDK leaves it to them
        assert [item.embedding for answer in answers for item in answer.data] == [[0.5, 1.0]] * 4


@needs("openai")
def test_A32_what_gateways_answer_instead() -> None:
    """Floats though base64 was asked, and no data at all: 3.57 takes the one and refuses the other."""
    import openai

    floats = [{"object": "embedding", "index": 0, "embedding": [0.5, 1.0]}]
    bodies = [{"object": "list", "model": "e", "data": data} for data in (floats, [])]
    with fake_llm.intercept() as fake, openai.OpenAI() as client:
        fake.when(operation="embeddings").reply(*(Raw(body) for body in bodies))
        assert client.embeddings.create(model="e", input="x").data[0].embedding == [0.5, 1.0]
        with pytest.raises(ValueError, match="No embedding data"):
            client.embeddings.create(model="e", input="x")
    assert [json.loads(call.response.body) for call in fake.calls] == bodies
