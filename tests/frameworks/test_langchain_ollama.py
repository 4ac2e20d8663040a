"""LangChain on Ollama's own API: chats, prompts, agents, structured output, embeddings."""

from __future__ import annotations

from typing import Any

import pytest
from _one_turn import FORECAST, LOOK_UP, SCRIPT, SUNNY, Forecast, Weather, check, fails, fails_async, mine

import fake_llm
from _capability import load
from fake_llm import Error, Reply, Thinking, ToolCall, UnscriptedCallError, Usage

langchain_ollama = load("langchain-ollama>=1", "langchain_ollama")
agents = load("langchain>=1", "langchain.agents")
structured = load("langchain>=1", "langchain.agents.structured_output")
tools = load("langchain-core>=1", "langchain_core.tools")

ASKED = "What is the weather in Paris? Answer in JSON."
QUESTION: Any = {"messages": [{"role": "user", "content": ASKED}]}
each_method = pytest.mark.parametrize(
    "options", [{}, {"method": "json_schema"}, {"method": "json_mode"}], ids=["default", "json_schema", "json_mode"]
)


def model(**options: Any) -> Any:
    return langchain_ollama.ChatOllama(model="qwen3:8b", **options)


@tools.tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


@each_method
def test_structured_output(options: dict[str, Any]) -> None:
    with fake_llm.intercept(SCRIPT) as fake:
        answer = model().with_structured_output(Weather, **options).invoke(ASKED)
    check(answer, fake, "ollama_chat", stream=True)  # it streams whatever is asked of it (1.1)


@each_method
@pytest.mark.asyncio
async def test_structured_output_async(options: dict[str, Any]) -> None:
    async with fake_llm.intercept(SCRIPT) as fake:
        answers = [answer async for answer in model().with_structured_output(Weather, **options).astream(ASKED)]
    check(answers[-1], fake, "ollama_chat", stream=True)


def test_structured_output_by_a_call() -> None:
    """It can't demand a call on this API, so a script says outright that there is one."""
    with fake_llm.intercept([ToolCall("Weather", SUNNY.model_dump())]) as fake:
        answer = model().with_structured_output(Weather, method="function_calling").invoke(ASKED)
    check(answer, fake, "ollama_chat", stream=True)


def test_a_nested_model() -> None:
    with fake_llm.intercept([FORECAST]):
        assert model().with_structured_output(Forecast).invoke(ASKED) == FORECAST


def test_agent() -> None:
    script = [[Thinking("Hm."), "Let me look.", LOOK_UP, ToolCall("get_weather", {"city": "Rome"})], "It is sunny."]
    with fake_llm.intercept(script) as fake:
        messages = agents.create_agent(model(reasoning=True), tools=[get_weather]).invoke(QUESTION)["messages"]
    assert [message.text for message in messages[1:]] == [
        "Let me look.",
        "sunny in Paris",
        "sunny in Rome",
        "It is sunny.",
    ]
    assert messages[1].additional_kwargs["reasoning_content"] == "Hm."
    assert [(result.name, result.text) for result in fake.calls[1].tool_results] == [
        ("get_weather", "sunny in Paris"),
        ("get_weather", "sunny in Rome"),
    ]
    assert fake.calls[0].params["think"] is True


@pytest.mark.asyncio
async def test_agent_async_streamed() -> None:
    async with fake_llm.intercept([LOOK_UP, "It is sunny."]) as fake:
        chunks = [
            chunk.text
            async for chunk, _ in agents.create_agent(model(), tools=[get_weather]).astream(
                QUESTION, stream_mode="messages"
            )
            if chunk.type == "AIMessageChunk"
        ]
    assert "".join(chunks) == "It is sunny."
    assert len(fake.calls) == 2


def test_agent_with_structured_output() -> None:
    with fake_llm.intercept([LOOK_UP, SUNNY]) as fake:
        strategy = structured.ProviderStrategy(Weather)
        state = agents.create_agent(model(), tools=[get_weather], response_format=strategy).invoke(QUESTION)
    check(state["structured_response"], fake, "ollama_chat", stream=True, rounds=2)


def test_usage_and_why_it_ended() -> None:
    with fake_llm.intercept([Reply("Once upon", usage=Usage(12, 5), finish_reason="length")]):
        answer = model().invoke("Tell me.")
    assert answer.usage_metadata == {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}
    assert answer.response_metadata["done_reason"] == "length"
    assert answer.response_metadata["model_name"] == "qwen3:8b"


@pytest.mark.asyncio
async def test_a_prompt() -> None:
    llm = langchain_ollama.OllamaLLM(model="qwen3:8b")
    with fake_llm.intercept(["one", "two", "three"]) as fake:
        assert llm.invoke("Why?") == "one"
        assert "".join(llm.stream("Why?")) == "two"
        assert await llm.ainvoke("Why?") == "three"
    assert {call.dialect for call in fake.calls} == {"ollama_generate"}
    assert fake.calls[0].user_texts == ("Why?",)


@pytest.mark.asyncio
async def test_embeddings() -> None:
    embeddings = langchain_ollama.OllamaEmbeddings(model="nomic-embed-text")
    with fake_llm.intercept() as fake:
        refund, other = embeddings.embed_documents(["How to get a refund", "The weather in Paris"])
        question = embeddings.embed_query("a refund")
        assert await embeddings.aembed_query("a refund") == question
    near, far = (sum(a * b for a, b in zip(question, one, strict=True)) for one in (refund, other))
    assert near > 0.3 > far
    assert len(question) == 768
    assert [call.operation for call in fake.calls] == ["embeddings"] * 3


def test_a_model_that_is_looked_for_first() -> None:
    with fake_llm.intercept(["Hello!"]) as fake:
        assert model(validate_model_on_init=True).invoke("Hi").text == "Hello!"
        with pytest.raises(ValueError, match="not found"):
            langchain_ollama.ChatOllama(model="my-own", validate_model_on_init=True)
    assert [call.operation for call in fake.side_calls] == ["models"] * 2


def test_an_error_is_the_sdk_s() -> None:
    import ollama

    with fake_llm.intercept([Error("not_found")]), pytest.raises(ollama.ResponseError, match="'qwen3:8b' not found"):
        model().invoke("Hi")


@pytest.mark.parametrize("script", [[], [mine]], ids=["unscripted", "an assertion"])
def test_a_script_that_fails(script: list[Any]) -> None:
    error = fails(lambda: model().invoke(ASKED), script)
    assert isinstance(error, AssertionError if script else UnscriptedCallError)


@pytest.mark.asyncio
async def test_a_script_that_fails_async() -> None:
    assert isinstance(await fails_async(lambda: model().ainvoke(ASKED), []), UnscriptedCallError)
