"""LiteLLM on Cohere, by both of its prefixes: answers, tools, errors, embeddings, reranking, sync and async."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Json, ToolCall, UnscriptedCallError, Usage

litellm = load("litellm>=1.110")
pytestmark = [
    needs("litellm>=1.110"),
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class", "ignore::DeprecationWarning"),
]
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Paris?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "The weather of a city.", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
PARIS = ToolCall("get_weather", {"city": "Paris"})

each_model = pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("cohere/command-a-03-2025", "cohere_chat_v2"),
        ("cohere_chat/command-a-03-2025", "cohere_chat_v2"),
        ("cohere_chat/v1/command-r", "cohere_chat_v1"),
    ],
)
each_of_v2 = pytest.mark.parametrize("model", ["cohere/command-a-03-2025", "cohere_chat/command-a-03-2025"])


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "suppress_debug_info", True)


@each_model
def test_an_answer(model: str, dialect: str):
    with fake_llm.intercept([fake_llm.Reply("It is sunny.", usage=Usage(12, 5))]) as fake:
        answer = litellm.completion(model=model, messages=ASKED, max_tokens=9, top_p=0.5, stop="END")
    assert answer.choices[0].message.content == "It is sunny."
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (12, 5)
    call = fake.calls[0]
    sent = "" if dialect == "cohere_chat_v1" else model.rpartition("/")[2]  # it names no model there
    assert (call.provider, call.dialect, call.model) == ("cohere", dialect, sent)
    assert (call.params["max_tokens"], call.params["top_p"], call.params["stop"]) == (9, 0.5, ["END"])
    assert "Weather in Paris?" in call.last_user_text


@each_model
def test_a_tool_call(model: str, dialect: str):
    with fake_llm.intercept([["Let me look.", PARIS]]) as fake:
        [call] = litellm.completion(model=model, messages=ASKED, tools=TOOLS).choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Paris"})
    assert fake.calls[0].tools["get_weather"]["required"] == ["city"]


@each_of_v2
def test_a_tool_loop_streamed(model: str):
    history: list[Any] = list(ASKED)
    with fake_llm.intercept([PARIS, "Sunny."]) as fake:
        chunks = list(litellm.completion(model=model, messages=history, tools=TOOLS, stream=True))
        message = litellm.stream_chunk_builder(chunks).choices[0].message
        history += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"}]
        assert litellm.completion(model=model, messages=history, tools=TOOLS).choices[0].message.content == "Sunny."
    [result] = fake.calls[1].tool_results
    assert (result.name, result.text, result.id) == ("get_weather", "sunny", message.tool_calls[0].id)


@each_model
def test_a_call_too_many_is_told(model: str, dialect: str):
    with pytest.raises(UnscriptedCallError, match="Weather in Paris"), fake_llm.intercept([]) as fake:
        litellm.completion(model=model, messages=ASKED)
    assert len(fake.calls) == 1


def test_embeddings():
    with fake_llm.intercept() as fake:
        answer = litellm.embedding(model="cohere/embed-v4.0", input=["refunds", "weather"], dimensions=256)
    assert [len(item["embedding"]) for item in answer.data] == [256, 256]
    assert fake.calls[0].user_texts == ("refunds", "weather")
    assert answer.usage.prompt_tokens == fake.usage.input_tokens


@pytest.mark.asyncio
async def test_reranking():
    texts = ["The weather in Paris", "How to get refunds"]
    async with fake_llm.intercept() as fake:
        made_up = await litellm.arerank(model="cohere/rerank-v3.5", query="a refund", documents=texts)
        fake.when(operation="rerank").reply(Json([0.9, 0.1]))
        scripted = litellm.rerank(model="cohere/rerank-v3.5", query="a refund", documents=texts, top_n=1)
    assert [item["index"] for item in made_up.results] == [1, 0]
    assert [(item["index"], item["relevance_score"]) for item in scripted.results] == [(0, 0.9)]
