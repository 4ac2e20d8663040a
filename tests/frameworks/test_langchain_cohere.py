"""LangChain on Cohere, whose package pins an SDK of the generation before: answers, tools, structured output, embeddings, reranking."""

from __future__ import annotations

from typing import Any

import pytest
from _one_turn import FORECAST, LOOK_UP, SCRIPT, SUNNY, Forecast, Weather, check, fails, fails_async, mine

import fake_llm
from _capability import load, needs
from fake_llm import Citation, Embedding, Json, Thinking, ToolCall, UnscriptedCallError, Usage

pytestmark = [
    needs("langchain-cohere"),
    # langchain-cohere declares its models in the form of Pydantic 1 and of LangChain 0.3 (0.6)
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
]
agents = load("langchain>=1", "langchain.agents")
tools = load("langchain-core>=1", "langchain_core.tools")
ASKED = "What is the weather in Paris?"
QUESTION: Any = {"messages": [{"role": "user", "content": ASKED}]}
DIALECT = "cohere_chat_v2"


def model(**options: Any) -> Any:
    from langchain_cohere import ChatCohere

    return ChatCohere(model="command-a-03-2025", **options)


@tools.tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def test_an_answer_with_its_usage():
    with fake_llm.intercept([fake_llm.Reply("It is sunny.", usage=Usage(12, 5))]) as fake:
        answer = model(temperature=0.2).invoke([("system", "Be brief."), ("human", ASKED)], stop=["END"])
    assert answer.content == "It is sunny."
    assert answer.usage_metadata == {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}
    assert answer.additional_kwargs["finish_reason"] == "COMPLETE"
    assert (fake.calls[0].system, fake.calls[0].user_texts) == ("Be brief.", (ASKED,))
    assert (fake.calls[0].params["temperature"], fake.calls[0].params["stop"]) == (0.2, ["END"])


def test_an_answer_streamed():
    with fake_llm.intercept(["It is sunny."]) as fake:
        chunks = list(model().stream(ASKED))
    assert [chunk.content for chunk in chunks if chunk.content] == ["It", " is", " sunny."]
    assert fake.calls[0].stream


@pytest.mark.asyncio
async def test_an_answer_async_whole_and_streamed():
    async with fake_llm.intercept(["It is sunny.", "It rains."]):
        assert (await model().ainvoke(ASKED)).content == "It is sunny."
        assert "".join([chunk.content async for chunk in model().astream(ASKED)]) == "It rains."


@pytest.mark.parametrize("options", [{}, {"method": "json_schema"}, {"method": "json_mode"}], ids=str)
def test_structured_output(options: Any):
    with fake_llm.intercept(SCRIPT) as fake:
        check(model().with_structured_output(Weather, **options).invoke(ASKED), fake, DIALECT)


@pytest.mark.asyncio
async def test_structured_output_async_and_nested():
    async with fake_llm.intercept([FORECAST]) as fake:
        assert await model().with_structured_output(Forecast).ainvoke(ASKED) == FORECAST
    assert set(fake.calls[0].schema["properties"]) == {"city", "days", "best", "from"}


def test_structured_output_by_a_tool_is_a_call():
    """It demands none of the model, so a dict would be text."""
    with fake_llm.intercept([ToolCall("Weather", SUNNY.model_dump())]) as fake:
        answer = model().with_structured_output(Weather, method="function_calling").invoke(ASKED)
    check(answer, fake, DIALECT)
    assert list(fake.calls[0].tools) == ["Weather"]


def test_an_agent_sees_the_plan():
    with fake_llm.intercept([["Let me look.", LOOK_UP], "It is sunny."]) as fake:
        messages = agents.create_agent(model(), tools=[get_weather]).invoke(QUESTION)["messages"]
    assert [message.text for message in messages[1:]] == ["Let me look.", "sunny in Paris", "It is sunny."]
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris"]
    assert fake.calls[1].tool_results[0].name == "get_weather"
    assert [item.text for item in fake.calls[1].messages if item.role == "assistant"] == ["Let me look."]


@pytest.mark.asyncio
async def test_an_agent_async_and_streamed():
    async with fake_llm.intercept([["Let me look. ", LOOK_UP], "It is sunny."]) as fake:
        agent = agents.create_agent(model(), tools=[get_weather])
        stream = agent.astream(QUESTION, stream_mode="messages")
        chunks = [chunk.text async for chunk, _ in stream if chunk.type == "AIMessageChunk"]
    assert "".join(chunks) == "Let me look. It is sunny."
    assert [(call.dialect, call.stream) for call in fake.calls] == [(DIALECT, True)] * 2


def test_thoughts():
    with fake_llm.intercept([[Thinking("Paris, hmm."), "Sunny."]]):
        answer = model().invoke(ASKED)
    assert [part["type"] for part in answer.content] == ["reasoning", "text"]
    assert answer.content[0]["summary"] == [{"text": "Paris, hmm."}]


def test_citations_of_documents():
    documents = [{"id": "d1", "data": {"text": "The sky of Paris is blue."}}]
    with fake_llm.intercept([["It is ", Citation("blue", "d1"), "."]]) as fake:
        answer = model().invoke(ASKED, documents=documents)
    [citation] = answer.additional_kwargs["citations"]
    assert (answer.content, citation.text, citation.start, citation.end) == ("It is blue.", "blue", 6, 10)
    assert citation.sources[0].document["text"] == "The sky of Paris is blue."
    assert fake.calls[0].params["documents"] == documents


def test_embeddings():
    from langchain_cohere import CohereEmbeddings

    with fake_llm.intercept() as fake:
        embeddings = CohereEmbeddings(model="embed-english-v3.0")
        documents = embeddings.embed_documents(["How do I get a refund?", "The weather in Paris"])
        query = embeddings.embed_query("refunds")
    near, far = (sum(a * b for a, b in zip(query, other, strict=True)) for other in documents)
    assert near > far
    assert [call.operation for call in fake.calls] == ["embeddings", "embeddings"]
    assert [call.params["input_type"] for call in fake.calls] == ["search_document", "search_query"]
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Embedding([0.5] * 4))
        assert embeddings.embed_query("refunds") == [0.5] * 4


def test_reranking():
    from langchain_cohere import CohereRerank

    with fake_llm.intercept() as fake:
        reranker = CohereRerank(model="rerank-v3.5", top_n=1)
        found = reranker.rerank(["The weather in Paris", "How to get refunds"], "a refund")
        assert [one["index"] for one in found] == [1]
        fake.when(operation="rerank").reply(Json([0.9, 0.1]))
        assert reranker.rerank(["a", "b"], "c") == [{"index": 0, "relevance_score": 0.9}]
    assert [call.operation for call in fake.calls] == ["rerank", "rerank"]


def test_tokens_are_counted_without_a_download():
    with fake_llm.intercept() as fake:
        assert model().get_num_tokens("How many tokens?") == 4
    assert [call.operation for call in fake.side_calls] == ["models", "tokenize"]


def test_the_default_model_is_looked_up():
    from langchain_cohere import ChatCohere

    with fake_llm.intercept(["Hi."]) as fake:
        assert ChatCohere().invoke("Hello").content == "Hi."
    assert fake.calls[0].model == "command-a-03-2025"
    assert {call.operation for call in fake.side_calls} == {"models"}


def test_what_fails_is_told():
    assert isinstance(fails(lambda: model().invoke(ASKED), []), UnscriptedCallError)
    assert isinstance(fails(lambda: list(model().stream(ASKED)), [mine]), AssertionError)


@pytest.mark.asyncio
async def test_what_fails_is_told_async():
    assert isinstance(await fails_async(lambda: model().ainvoke(ASKED), []), UnscriptedCallError)
