"""LangChain: `with_structured_output` of three integrations, agents, and what a failing script looks like there."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from _one_turn import (
    FORECAST,
    LOOK_UP,
    LOOP,
    SCRIPT,
    SUNNY,
    UNSCRIPTED,
    Forecast,
    Weather,
    check,
    fails,
    fails_async,
    mine,
)

import fake_llm
from _capability import load, needs
from fake_llm import UnscriptedCallError

agents = load("langchain>=1", "langchain.agents")
structured = load("langchain>=1", "langchain.agents.structured_output")
tools = load("langchain-core>=1", "langchain_core.tools")

pytestmark = pytest.mark.filterwarnings(
    # langchain-openai dumps the SDK's parsed stream chunks as if they weren't parsed (1.7)
    "ignore:Pydantic serializer warnings:UserWarning:pydantic",
)


def _openai(**options: Any) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-5", **options)


def _anthropic() -> Any:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model="claude-sonnet-5")


def _google() -> Any:
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model="gemini-3-pro")


def _mistral() -> Any:
    from langchain_mistralai import ChatMistralAI

    return ChatMistralAI(model_name="mistral-small-latest")


_responses = functools.partial(_openai, use_responses_api=True)

SCHEMA, CALLING, MODE = "json_schema", "function_calling", "json_mode"
VENDORS: dict[str, tuple[str, Callable[[], Any], str, tuple[str, ...]]] = {
    "openai": ("langchain-openai", _openai, "openai_chat", (SCHEMA, CALLING, MODE)),
    "openai-responses": ("langchain-openai", _responses, "openai_responses", (SCHEMA, CALLING, MODE)),
    "anthropic": ("langchain-anthropic", _anthropic, "anthropic_messages", (SCHEMA, CALLING)),
    "google": ("langchain-google-genai", _google, "gemini", (SCHEMA, CALLING, MODE)),
    "mistral": ("langchain-mistralai", _mistral, "openai_chat", (SCHEMA, CALLING, MODE)),
}

each_model = pytest.mark.parametrize(
    ("model", "dialect"),
    [
        pytest.param(make, dialect, id=name, marks=needs(package))
        for name, (package, make, dialect, _) in VENDORS.items()
    ],
)
each_method = pytest.mark.parametrize(
    ("model", "dialect", "options"),
    [
        pytest.param(
            make,
            dialect,
            {"method": method} if method else {},
            id=f"{name}-{method or 'default'}",
            marks=needs(package),
        )
        for name, (package, make, dialect, methods) in VENDORS.items()
        for method in ("", *methods)
    ],
)
each_strategy = pytest.mark.parametrize(
    "strategy",
    [Weather, structured.ToolStrategy(Weather), structured.ProviderStrategy(Weather)],
    ids=["default", "ToolStrategy", "ProviderStrategy"],
)

ASKED = "What is the weather in Paris? Answer in JSON."  # OpenAI's JSON mode demands the word
QUESTION: Any = {"messages": [{"role": "user", "content": ASKED}]}


@tools.tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


# --- with_structured_output -------------------------------------------------------------------


@each_method
def test_structured_output(model: Any, dialect: str, options: dict[str, Any]):
    with fake_llm.intercept(SCRIPT) as fake:
        answer = model().with_structured_output(Weather, **options).invoke(ASKED)
    check(answer, fake, dialect)


@each_method
def test_structured_output_streamed(model: Any, dialect: str, options: dict[str, Any]):
    with fake_llm.intercept(SCRIPT) as fake:
        *_, answer = model().with_structured_output(Weather, **options).stream(ASKED)
    check(answer, fake, dialect, stream=True)


@each_method
@pytest.mark.asyncio
async def test_structured_output_async(model: Any, dialect: str, options: dict[str, Any]):
    async with fake_llm.intercept(SCRIPT) as fake:
        answer = await model().with_structured_output(Weather, **options).ainvoke(ASKED)
    check(answer, fake, dialect)


@each_method
@pytest.mark.asyncio
async def test_structured_output_async_streamed(model: Any, dialect: str, options: dict[str, Any]):
    async with fake_llm.intercept(SCRIPT) as fake:
        answers = [answer async for answer in model().with_structured_output(Weather, **options).astream(ASKED)]
    check(answers[-1], fake, dialect, stream=True)


@each_method
def test_a_nested_model(model: Any, dialect: str, options: dict[str, Any]):
    with fake_llm.intercept([FORECAST]):
        assert model().with_structured_output(Forecast, **options).invoke(ASKED) == FORECAST


@each_model
def test_a_tool_of_several_that_must_be_called(model: Any, dialect: str):
    with fake_llm.intercept(SCRIPT) as fake:
        answer = model().bind_tools([get_weather, Weather], tool_choice="any").invoke(ASKED)
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("Weather", SUNNY.model_dump())]
    assert set(fake.calls[0].tools) == {"get_weather", "Weather"}


# --- agents ------------------------------------------------------------------------------------


@each_model
def test_agent(model: Any, dialect: str):
    with fake_llm.intercept([LOOK_UP, "It is sunny."]) as fake:
        messages = agents.create_agent(model(), tools=[get_weather]).invoke(QUESTION)["messages"]
    assert [message.text for message in messages[2:]] == ["sunny in Paris", "It is sunny."]
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris"]


@each_model
@pytest.mark.asyncio
async def test_agent_async(model: Any, dialect: str):
    async with fake_llm.intercept([LOOK_UP, "It is sunny."]) as fake:
        messages = (await agents.create_agent(model(), tools=[get_weather]).ainvoke(QUESTION))["messages"]
    assert [message.text for message in messages[2:]] == ["sunny in Paris", "It is sunny."]
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris"]


@each_model
def test_agent_streamed(model: Any, dialect: str):
    with fake_llm.intercept([["Let me look. ", LOOK_UP], "It is sunny."]) as fake:
        chunks = [
            chunk.text
            for chunk, _ in agents.create_agent(model(), tools=[get_weather]).stream(QUESTION, stream_mode="messages")
            if chunk.type == "AIMessageChunk"
        ]
    assert "".join(chunks) == "Let me look. It is sunny."
    assert len(list(filter(None, chunks))) > 2
    assert [(call.dialect, call.stream) for call in fake.calls] == [(dialect, True)] * 2


@each_model
@pytest.mark.asyncio
async def test_agent_async_streamed(model: Any, dialect: str):
    async with fake_llm.intercept([LOOK_UP, "It is sunny."]) as fake:
        agent = agents.create_agent(model(), tools=[get_weather])
        chunks = [
            chunk.text
            async for chunk, _ in agent.astream(QUESTION, stream_mode="messages")
            if chunk.type == "AIMessageChunk"
        ]
    assert "".join(chunks) == "It is sunny."
    assert [(call.dialect, call.stream) for call in fake.calls] == [(dialect, True)] * 2


@each_strategy
@each_model
def test_agent_with_structured_output(model: Any, dialect: str, strategy: Any):
    with fake_llm.intercept(LOOP) as fake:
        state = agents.create_agent(model(), tools=[get_weather], response_format=strategy).invoke(QUESTION)
    check(state["structured_response"], fake, dialect, rounds=2)


@each_strategy
@each_model
@pytest.mark.asyncio
async def test_agent_with_structured_output_async(model: Any, dialect: str, strategy: Any):
    async with fake_llm.intercept(LOOP) as fake:
        state = await agents.create_agent(model(), tools=[get_weather], response_format=strategy).ainvoke(QUESTION)
    check(state["structured_response"], fake, dialect, rounds=2)


@pytest.mark.parametrize("answer", [SUNNY, FORECAST], ids=["Weather", "Forecast"])
@each_model
def test_agent_with_several_structured_outputs(model: Any, dialect: str, answer: Any):
    with fake_llm.intercept([answer]) as fake:
        strategy = structured.ToolStrategy(Weather | Forecast)
        state = agents.create_agent(model(), response_format=strategy).invoke(QUESTION)
    assert state["structured_response"] == answer
    assert set(fake.calls[0].tools) == {"Weather", "Forecast"}


@each_model
def test_agent_that_never_ends(model: Any, dialect: str):
    with fake_llm.intercept([LOOK_UP] * 3, on_exhausted="stop") as fake:
        messages = agents.create_agent(model(), tools=[get_weather]).invoke(QUESTION)["messages"]
    assert "fake_llm" in messages[-1].text
    assert len(fake.calls) == 4


@each_model
def test_agent_without_tools(model: Any, dialect: str):
    with fake_llm.intercept(SCRIPT) as fake:
        state = agents.create_agent(model(), response_format=structured.ToolStrategy(Weather)).invoke(QUESTION)
    check(state["structured_response"], fake, dialect)


# --- a script that fails -------------------------------------------------------------------------


WAYS = [
    pytest.param(lambda model: model.invoke(ASKED), id="invoke"),
    pytest.param(lambda model: list(model.stream(ASKED)), id="stream"),
    pytest.param(lambda model: model.with_structured_output(Weather).invoke(ASKED), id="structured"),
    pytest.param(lambda model: agents.create_agent(model, tools=[get_weather]).invoke(QUESTION), id="agent"),
    pytest.param(lambda model: model.with_retry(stop_after_attempt=3).invoke(ASKED), id="with_retry"),
]
ASYNC_WAYS = [
    pytest.param(lambda model: model.ainvoke(ASKED), id="ainvoke"),
    pytest.param(lambda model: model.with_structured_output(Weather).ainvoke(ASKED), id="structured"),
    pytest.param(lambda model: agents.create_agent(model, tools=[get_weather]).ainvoke(QUESTION), id="agent"),
]


@pytest.mark.parametrize("ask", WAYS)
@each_model
def test_an_unscripted_call_ends_at_once(model: Any, dialect: str, ask: Any):
    assert isinstance(fails(lambda: ask(model()), []), UnscriptedCallError)


@pytest.mark.parametrize("ask", ASYNC_WAYS)
@each_model
@pytest.mark.asyncio
async def test_an_unscripted_call_ends_at_once_async(model: Any, dialect: str, ask: Any):
    assert isinstance(await fails_async(lambda: ask(model()), []), UnscriptedCallError)


@pytest.mark.parametrize("ask", WAYS)
@each_model
def test_an_assertion_in_a_turn_reaches_the_test(model: Any, dialect: str, ask: Any):
    assert isinstance(fails(lambda: ask(model()), [mine]), AssertionError)


@pytest.mark.parametrize("ask", ASYNC_WAYS)
@each_model
@pytest.mark.asyncio
async def test_an_assertion_in_a_turn_reaches_the_test_async(model: Any, dialect: str, ask: Any):
    assert isinstance(await fails_async(lambda: ask(model()), [mine]), AssertionError)


@each_model
def test_unscripted_calls_in_threads(model: Any, dialect: str):
    with pytest.raises(UnscriptedCallError), fake_llm.intercept([]) as fake:
        outcomes = model().batch([ASKED, ASKED], return_exceptions=True)
        assert all(UNSCRIPTED in str(outcome) for outcome in outcomes)
    assert [call.attempt for call in fake.calls] == [1, 1]
