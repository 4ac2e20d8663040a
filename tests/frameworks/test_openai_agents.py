"""OpenAI Agents SDK: tool loops, output types, what is remembered here and at OpenAI, and where its traces go."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _one_turn import FORECAST, LOOP, SCRIPT, Forecast, Weather, check, fails_async, mine

import fake_llm
from _capability import load
from fake_llm import Error, FakeLLM, ToolCall, UnscriptedCallError

agents = load("openai-agents>=0.20", "agents")
processors = load("openai-agents>=0.20", "agents.tracing.processors")
openai = load("openai")

QUESTION = "Weather in Paris?"
ROUNDS = [ToolCall("get_weather", {"city": "Paris"}), "It is sunny.", "You asked about Paris."]
"""A round with a tool, its answer, and the answer to a further question."""

MODELS = {"openai_responses": agents.OpenAIResponsesModel, "openai_chat": agents.OpenAIChatCompletionsModel}

each_model = pytest.mark.parametrize("dialect", MODELS)
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture(autouse=True)
def _no_traces() -> Iterator[None]:
    """Its thread sends traces at times of its own."""
    agents.set_tracing_disabled(True)
    yield
    agents.set_tracing_disabled(False)


@agents.function_tool  # type: ignore[untyped-decorator]  # the package is loaded by name, so its types aren't seen
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def _agent(dialect: str = "openai_responses", **options: Any) -> Any:
    model = MODELS[dialect]("gpt-5", openai.AsyncOpenAI())
    return agents.Agent(name="Forecaster", instructions="Be brief.", model=model, tools=[get_weather], **options)


async def _run(stream: bool, agent: Any, text: str = QUESTION, **options: Any) -> Any:
    if not stream:
        return await agents.Runner.run(agent, text, **options)
    run = agents.Runner.run_streamed(agent, text, **options)
    async for _ in run.stream_events():
        pass
    return run


def _said(call: Any) -> list[tuple[str, str]]:
    return [(said.role, said.text) for said in call.conversation if said.role != "system"]


TALK = [
    ("user", QUESTION),
    ("assistant", ""),
    ("tool", "sunny in Paris"),
    ("assistant", "It is sunny."),
    ("user", "What did I ask?"),
]


def _check_rounds(fake: FakeLLM, *, stream: bool) -> None:
    """The model was told all that was said so far, whoever remembered it."""
    assert [_said(call) for call in fake.calls] == [TALK[:1], TALK[:3], TALK]
    for call in fake.calls[1:]:
        assert call.conversation[1].tool_calls == (ROUNDS[0],)
        assert call.conversation[2].tool_results[0].name == "get_weather"
    assert [[(one.name, one.text) for one in call.tool_results] for call in fake.calls] == [
        [],
        [("get_weather", "sunny in Paris")],
        [],
    ]
    assert {(call.stream, call.attempt, call.dialect) for call in fake.calls} == {(stream, 1, "openai_responses")}


# --- a run --------------------------------------------------------------------------------------


@each_way
@each_model
@pytest.mark.asyncio
async def test_a_run_with_a_tool(dialect: str, stream: bool) -> None:
    async with fake_llm.intercept(ROUNDS[:2]) as fake:
        run = await _run(stream, _agent(dialect))
    assert run.final_output == "It is sunny."
    assert [item.type for item in run.new_items] == ["tool_call_item", "tool_call_output_item", "message_output_item"]
    assert [_said(call) for call in fake.calls] == [TALK[:1], TALK[:3]]
    assert {(call.dialect, call.stream, call.system) for call in fake.calls} == {(dialect, stream, "Be brief.")}
    used = run.context_wrapper.usage
    assert (used.requests, used.input_tokens, used.output_tokens) == (
        2,
        fake.usage.input_tokens,
        fake.usage.output_tokens,
    )


@pytest.mark.usefixtures("loop")
def test_a_run_without_a_loop_of_its_own() -> None:
    with fake_llm.intercept(ROUNDS[:2]) as fake:
        assert agents.Runner.run_sync(_agent(), QUESTION).final_output == "It is sunny."
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris"]


@each_model
@pytest.mark.asyncio
async def test_what_is_streamed(dialect: str) -> None:
    async with fake_llm.intercept(["It is sunny."]):
        run = agents.Runner.run_streamed(_agent(dialect), QUESTION)
        events = [event async for event in run.stream_events()]
    raw = [event.data for event in events if event.type == "raw_response_event"]
    assert [event.delta for event in raw if event.type == "response.output_text.delta"] == ["It", " is", " sunny."]
    assert raw[-1].type == "response.completed"
    assert [event.name for event in events if event.type == "run_item_stream_event"] == ["message_output_created"]


@each_way
@each_model
@pytest.mark.asyncio
async def test_output(dialect: str, stream: bool) -> None:
    async with fake_llm.intercept(SCRIPT) as fake:
        run = await _run(stream, _agent(dialect, output_type=Weather))
    check(run.final_output, fake, dialect, stream=stream)


@each_way
@each_model
@pytest.mark.asyncio
async def test_output_after_a_tool(dialect: str, stream: bool) -> None:
    async with fake_llm.intercept(LOOP) as fake:
        run = await _run(stream, _agent(dialect, output_type=Weather))
    check(run.final_output, fake, dialect, stream=stream, rounds=2)


@each_model
@pytest.mark.asyncio
async def test_a_nested_model(dialect: str) -> None:
    async with fake_llm.intercept([FORECAST]):
        lenient = agents.AgentOutputSchema(Forecast, strict_json_schema=False)  # it has a default
        assert (await _run(False, _agent(dialect, output_type=lenient))).final_output == FORECAST


@each_way
@pytest.mark.asyncio
async def test_a_handoff(stream: bool) -> None:
    french = agents.Agent(name="French", instructions="Answer in French.", model="gpt-5")
    first = agents.Agent(name="Desk", instructions="Hand over.", model="gpt-5", handoffs=[french])
    async with fake_llm.intercept([ToolCall("transfer_to_french", {}), "Il fait beau."]) as fake:
        run = await _run(stream, first)
    assert (run.final_output, run.last_agent.name) == ("Il fait beau.", "French")
    assert [call.system for call in fake.calls] == ["Hand over.", "Answer in French."]
    assert [list(call.tools) for call in fake.calls] == [["transfer_to_french"], []]


# --- what goes wrong ----------------------------------------------------------------------------


@each_way
@each_model
@pytest.mark.asyncio
async def test_a_retry_that_recovers(dialect: str, stream: bool) -> None:
    async with fake_llm.intercept([Error(429), "It is sunny."]) as fake:
        assert (await _run(stream, _agent(dialect))).final_output == "It is sunny."
    assert [call.attempt for call in fake.calls] == [1, 2]


@each_way
@each_model
@pytest.mark.asyncio
async def test_an_error_of_the_vendor(dialect: str, stream: bool) -> None:
    async with fake_llm.intercept([Error(400, "Not now")]):
        with pytest.raises(openai.BadRequestError, match="Not now"):
            await _run(stream, _agent(dialect))


@each_way
@each_model
@pytest.mark.asyncio
async def test_a_script_that_ends_too_early(dialect: str, stream: bool) -> None:
    failure = await fails_async(lambda: _run(stream, _agent(dialect)), [])
    assert isinstance(failure, UnscriptedCallError)


@each_way
@pytest.mark.asyncio
async def test_a_turn_that_fails(stream: bool) -> None:
    assert isinstance(await fails_async(lambda: _run(stream, _agent()), [mine]), AssertionError)


# --- what is remembered -------------------------------------------------------------------------


async def _again(stream: bool, **options: Any) -> None:
    """Ask, and ask further, with the same state."""
    run = await _run(stream, _agent(), **options)
    assert run.final_output == "It is sunny."
    run = await _run(stream, _agent(), TALK[-1][1], **options)
    assert run.final_output == "You asked about Paris."


async def _items(session: Any) -> list[tuple[str, str | None]]:
    return [(item.get("type", "message"), item.get("role")) for item in await session.get_items()]


KEPT = [
    ("message", "user"),
    ("function_call", None),
    ("function_call_output", None),
    ("message", "assistant"),
    ("message", "user"),
    ("message", "assistant"),
]


def _sqlite() -> Any:
    return agents.SQLiteSession("ann")  # in memory


def _at_openai() -> Any:
    return agents.OpenAIConversationsSession()


@pytest.mark.parametrize("make", [_sqlite, _at_openai], ids=["SQLite", "OpenAI"])
@each_way
@pytest.mark.asyncio
async def test_a_session(make: Callable[[], Any], stream: bool) -> None:
    async with fake_llm.intercept(ROUNDS) as fake:
        session = make()
        await _again(stream, session=session)
        assert await _items(session) == KEPT
        last = await session.get_items(limit=2)
        assert [item["role"] for item in last] == ["user", "assistant"]
        popped = await session.pop_item()
        assert popped["content"][0]["text"] == "You asked about Paris."
        assert await _items(session) == KEPT[:-1]
        await session.clear_session()
        assert await _items(session) == []
        if make is _sqlite:
            session.close()
    _check_rounds(fake, stream=stream)
    assert fake.calls[-1].conversation == fake.calls[-1].messages  # all of it is sent
    assert {call.operation for call in fake.side_calls} == (set() if make is _sqlite else {"conversations"})


@pytest.mark.asyncio
async def test_a_session_in_a_file(tmp_path: Any) -> None:
    path = tmp_path / "talks.db"
    async with fake_llm.intercept(ROUNDS):
        for text in (QUESTION, TALK[-1][1]):
            session = agents.SQLiteSession("ann", path)
            await _run(False, _agent(), text, session=session)
            session.close()
    with sqlite3.connect(path) as base:
        assert base.execute("select count(*) from agent_messages").fetchone() == (6,)
    base.close()


@each_way
@pytest.mark.asyncio
async def test_a_conversation_at_openai(stream: bool) -> None:
    async with fake_llm.intercept(ROUNDS) as fake:
        client = openai.AsyncOpenAI()
        talk = await client.conversations.create()
        await _again(stream, conversation_id=talk.id)
        kept = [(item.type, getattr(item, "role", None)) async for item in client.conversations.items.list(talk.id)]
    assert kept == KEPT[::-1]
    _check_rounds(fake, stream=stream)
    assert [call.body["conversation"] for call in fake.calls] == [talk.id] * 3
    assert [[said.role for said in call.messages] for call in fake.calls] == [["user"], ["tool"], ["user"]]  # the new


@each_way
@pytest.mark.asyncio
async def test_answers_that_build_on_the_one_before(stream: bool) -> None:
    async with fake_llm.intercept(ROUNDS) as fake:
        first = await _run(stream, _agent(), auto_previous_response_id=True)
        last = await _run(stream, _agent(), TALK[-1][1], previous_response_id=first.last_response_id)
    assert last.final_output == "You asked about Paris."
    _check_rounds(fake, stream=stream)
    before = [answer.response_id for answer in first.raw_responses]
    assert [call.body.get("previous_response_id") for call in fake.calls] == [None, *before]
    assert [[said.role for said in call.messages] for call in fake.calls] == [["user"], ["tool"], ["user"]]


@each_way
@pytest.mark.asyncio
async def test_rules_instead_of_a_queue(stream: bool) -> None:
    async with fake_llm.intercept() as fake:
        fake.when(last=QUESTION).reply(ROUNDS[0])
        fake.when(tool_result="sunny").reply(ROUNDS[1])
        fake.when(tool="get_weather").reply(ROUNDS[2])
        talk = await openai.AsyncOpenAI().conversations.create()
        await _again(stream, conversation_id=talk.id)
    _check_rounds(fake, stream=stream)


@pytest.mark.asyncio
async def test_a_conversation_that_is_not_there() -> None:
    async with fake_llm.intercept():
        with pytest.raises(openai.NotFoundError, match="conv_of_yesterday"):
            await _run(False, _agent(), conversation_id="conv_of_yesterday")


# --- traces -------------------------------------------------------------------------------------


@pytest.fixture
def traces() -> Iterator[Any]:
    """What sends traces, when it is told to and never by the clock."""
    agents.set_tracing_disabled(False)
    sender = processors.BatchTraceProcessor(processors.BackendSpanExporter(), schedule_delay=3600)
    agents.set_trace_processors([sender])
    yield sender
    sender.shutdown()
    agents.set_trace_processors([processors.default_processor()])


@each_way
@pytest.mark.asyncio
async def test_traces_are_side_calls(traces: Any, stream: bool) -> None:
    async with fake_llm.intercept(ROUNDS[:2]) as fake:
        with agents.trace("A day out"):
            run = await _run(stream, _agent())
        traces.force_flush()
    assert run.final_output == "It is sunny."
    assert [call.operation for call in fake.calls] == ["chat", "chat"]
    assert {(call.operation, call.url) for call in fake.side_calls} == {
        ("traces", "https://api.openai.com/v1/traces/ingest")
    }
    assert [call.attempt for call in fake.side_calls] == [1]
    sent = [item for call in fake.side_calls for item in call.body["data"]]
    assert [item["workflow_name"] for item in sent if item["object"] == "trace"] == ["A day out"]
    spans = [item["span_data"] for item in sent if item["object"] == "trace.span"]
    assert [span["name"] for span in spans if span["type"] in {"agent", "function"}] == ["get_weather", "Forecaster"]
    answers = [span["response_id"] for span in spans if span["type"] == "response"]
    assert answers == [answer.response_id for answer in run.raw_responses]
