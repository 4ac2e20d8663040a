"""Pydantic AI: `output_type` in each of its modes on four models, tool loops, and what a failing script looks like there."""

from __future__ import annotations

from typing import Any

import pytest
from _one_turn import FORECAST, LOOK_UP, LOOP, SCRIPT, SUNNY, Forecast, Weather, check, fails, fails_async, mine

import fake_llm
from _capability import load
from fake_llm import ToolCall, UnscriptedCallError

ai = load("pydantic-ai-slim>=2", "pydantic_ai")

MODELS = {
    "openai-responses:gpt-5": "openai_responses",
    "openai-chat:gpt-5": "openai_chat",
    "anthropic:claude-sonnet-4-6": "anthropic_messages",
    "google:gemini-3-pro": "gemini",
}
CAREFREE = "anthropic:claude-sonnet-5"
"""Pydantic AI never makes this model call a tool, as it thinks unless told otherwise (2.62)."""
OUTPUTS = {
    "default": Weather,
    "tool": ai.ToolOutput(Weather),
    "native": ai.NativeOutput(Weather),
    "prompted": ai.PromptedOutput(Weather),
}

each_model = pytest.mark.parametrize(("model", "dialect"), MODELS.items(), ids=MODELS)
each_output = pytest.mark.parametrize(
    ("model", "dialect", "output"),
    [
        pytest.param(model, dialect, output, id=f"{model}-{name}")
        for model, dialect in {**MODELS, CAREFREE: "anthropic_messages"}.items()
        for name, output in OUTPUTS.items()
        if (model, name) != (CAREFREE, "tool")
    ],
)
with_and_without_tool = pytest.mark.parametrize("tools", [False, True], ids=["no tool", "a tool"])


# Pydantic AI streams from Anthropic whatever it is asked for (2.62).
def _streams(model: str) -> bool:
    return model.startswith("anthropic")


def _agent(model: str, output: Any = str, *, tools: bool = False) -> Any:
    agent = ai.Agent(model, output_type=output)
    if tools:

        @agent.tool_plain
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return f"sunny in {city}"

    return agent


async def _streamed(agent: Any) -> list[Any]:
    async with agent.run_stream("Weather in Paris?") as run:
        return [output async for output in run.stream_output(debounce_by=None)]


@with_and_without_tool
@each_output
@pytest.mark.usefixtures("loop")
def test_output(model: str, dialect: str, output: Any, tools: bool):
    with fake_llm.intercept(SCRIPT) as fake:
        answer = _agent(model, output, tools=tools).run_sync("Weather in Paris?").output
    check(answer, fake, dialect, stream=_streams(model))


@with_and_without_tool
@each_output
@pytest.mark.asyncio
async def test_output_async(model: str, dialect: str, output: Any, tools: bool):
    async with fake_llm.intercept(SCRIPT) as fake:
        answer = (await _agent(model, output, tools=tools).run("Weather in Paris?")).output
    check(answer, fake, dialect, stream=_streams(model))


@with_and_without_tool
@each_output
@pytest.mark.asyncio
async def test_output_streamed(model: str, dialect: str, output: Any, tools: bool):
    async with fake_llm.intercept(SCRIPT) as fake:
        answers = await _streamed(_agent(model, output, tools=tools))
    check(answers[-1], fake, dialect, stream=True)


@each_output
@pytest.mark.usefixtures("loop")
def test_output_streamed_sync(model: str, dialect: str, output: Any):
    with fake_llm.intercept(SCRIPT) as fake:
        answers = list(_agent(model, output).run_stream_sync("Weather in Paris?").stream_output(debounce_by=None))
    check(answers[-1], fake, dialect, stream=True)


@pytest.mark.parametrize("how", [lambda one: one, ai.ToolOutput, ai.NativeOutput, ai.PromptedOutput])
@each_model
@pytest.mark.asyncio
async def test_a_nested_model(model: str, dialect: str, how: Any):
    async with fake_llm.intercept([FORECAST]):
        assert (await _agent(model, how(Forecast)).run("Weather in Zürich?")).output == FORECAST


@pytest.mark.parametrize("answer", [SUNNY, FORECAST], ids=["Weather", "Forecast"])
@each_model
@pytest.mark.asyncio
async def test_one_of_several_outputs(model: str, dialect: str, answer: Any):
    async with fake_llm.intercept([answer]) as fake:
        assert (await _agent(model, [Weather, Forecast], tools=True).run("Weather?")).output == answer
    assert len(fake.calls[0].tools) == 3


@each_output
@pytest.mark.usefixtures("loop")
def test_output_after_a_tool(model: str, dialect: str, output: Any):
    with fake_llm.intercept(LOOP) as fake:
        answer = _agent(model, output, tools=True).run_sync("Weather in Paris?").output
    check(answer, fake, dialect, stream=_streams(model), rounds=2)


@each_output
@pytest.mark.asyncio
async def test_output_after_a_tool_async(model: str, dialect: str, output: Any):
    async with fake_llm.intercept(LOOP) as fake:
        answer = (await _agent(model, output, tools=True).run("Weather in Paris?")).output
    check(answer, fake, dialect, stream=_streams(model), rounds=2)


@each_output
@pytest.mark.asyncio
async def test_output_after_a_tool_streamed(model: str, dialect: str, output: Any):
    async with fake_llm.intercept(LOOP) as fake:
        answers = await _streamed(_agent(model, output, tools=True))
    check(answers[-1], fake, dialect, stream=True, rounds=2)


@each_model
@pytest.mark.asyncio
async def test_text_after_a_tool_streamed(model: str, dialect: str):
    async with (
        fake_llm.intercept([LOOK_UP, "It is sunny."]) as fake,
        _agent(model, tools=True).run_stream("Weather in Paris?") as run,
    ):
        pieces = [piece async for piece in run.stream_text(delta=True, debounce_by=None)]
    assert "".join(pieces) == "It is sunny."
    assert len(pieces) > 1
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris"]


@pytest.mark.parametrize(
    ("model", "output"),
    [*((model, [ai.ToolOutput(Weather), str]) for model in MODELS), (CAREFREE, ai.ToolOutput(Weather))],
)
@pytest.mark.asyncio
async def test_an_output_tool_that_may_be_called_is_written_as_a_call(model: str, output: Any):
    """Nothing in the request demands a call, so the turn says that it is one."""
    async with fake_llm.intercept([ToolCall("final_result", SUNNY.model_dump())]) as fake:
        assert (await _agent(model, output).run("Weather in Paris?")).output == SUNNY
    assert len(fake.calls) == 1


# --- a script that fails -------------------------------------------------------------------------


@each_model
@pytest.mark.usefixtures("loop")
def test_an_unscripted_call_ends_at_once(model: str, dialect: str):
    error = fails(lambda: _agent(model, Weather, tools=True).run_sync("Weather in Paris?"), [])
    assert isinstance(error, UnscriptedCallError)


@each_model
@pytest.mark.asyncio
async def test_an_unscripted_call_ends_at_once_async(model: str, dialect: str):
    error = await fails_async(lambda: _agent(model, Weather, tools=True).run("Weather in Paris?"), [])
    assert isinstance(error, UnscriptedCallError)


@each_model
@pytest.mark.asyncio
async def test_an_unscripted_call_ends_at_once_streamed(model: str, dialect: str):
    error = await fails_async(lambda: _streamed(_agent(model, Weather)), [])
    assert isinstance(error, UnscriptedCallError)


@each_model
@pytest.mark.usefixtures("loop")
def test_an_assertion_in_a_turn_reaches_the_test(model: str, dialect: str):
    error = fails(lambda: _agent(model, Weather).run_sync("Weather in Paris?"), [mine])
    assert isinstance(error, AssertionError)


@each_model
@pytest.mark.asyncio
async def test_an_assertion_in_a_turn_reaches_the_test_async(model: str, dialect: str):
    error = await fails_async(lambda: _agent(model, Weather).run("Weather in Paris?"), [mine])
    assert isinstance(error, AssertionError)
