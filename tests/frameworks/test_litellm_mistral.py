"""LiteLLM's `mistral/`: sync and async, whole and streamed, by its own client of Mistral."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import fake_llm
from _capability import needs
from fake_llm import Error, Thinking, ToolCall

pytestmark = [needs("litellm"), pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")]
ASKED: dict[str, Any] = {"model": "mistral/mistral-small-latest", "messages": [{"role": "user", "content": "Hi"}]}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
PARIS = ToolCall("get_weather", {"city": "Paris"})
ROME = ToolCall("get_weather", {"city": "Rome"})
WAYS = ["sync", "async"]


def ask(way: str, **fields: Any) -> Any:
    import litellm

    asked = {"api_key": "test", **ASKED, **fields}
    return litellm.completion(**asked) if way == "sync" else asyncio.run(litellm.acompletion(**asked))


def chunks(way: str, **fields: Any) -> list[Any]:
    import litellm

    asked = {"api_key": "test", **ASKED, **fields, "stream": True}
    if way == "sync":
        return list(litellm.completion(**asked))

    async def later() -> list[Any]:
        return [chunk async for chunk in await litellm.acompletion(**asked)]

    return asyncio.run(later())


@pytest.mark.parametrize("way", WAYS)
def test_whole(way: str) -> None:
    with fake_llm.intercept(["It is sunny."]) as fake:
        answer = ask(way)
    assert answer.choices[0].message.content == "It is sunny."
    assert answer.usage.total_tokens == fake.usage.total
    assert [(call.provider, call.dialect, call.model) for call in fake.calls] == [
        ("mistral", "openai_chat", "mistral-small-latest")
    ]


@pytest.mark.parametrize("way", WAYS)
def test_streamed(way: str) -> None:
    with fake_llm.intercept(["It is sunny."]) as fake:
        found = chunks(way, stream_options={"include_usage": True})
    assert "".join(chunk.choices[0].delta.content or "" for chunk in found if chunk.choices) == "It is sunny."
    assert found[-1].usage.total_tokens == fake.usage.total
    assert fake.calls[0].stream


@pytest.mark.parametrize("way", WAYS)
def test_tool_calls(way: str) -> None:
    with fake_llm.intercept([[PARIS, ROME], [PARIS, ROME], "Sunny."]) as fake:
        calls = ask(way, tools=TOOLS).choices[0].message.tool_calls
        deltas = [chunk.choices[0].delta for chunk in chunks(way, tools=TOOLS) if chunk.choices]
        history = [
            *ASKED["messages"],
            {"role": "assistant", "content": "", "tool_calls": [call.model_dump() for call in calls]},
            *({"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in calls),
        ]
        assert ask(way, messages=history, tools=TOOLS).choices[0].message.content == "Sunny."
    streamed = [call for delta in deltas for call in delta.tool_calls or ()]
    for said in (calls, streamed):
        assert [json.loads(call.function.arguments) for call in said] == [{"city": "Paris"}, {"city": "Rome"}]
    assert [result.text for result in fake.calls[2].tool_results] == ["sunny", "sunny"]


@pytest.mark.parametrize("way", WAYS)
def test_thoughts(way: str) -> None:
    with fake_llm.intercept([[Thinking("Hm."), "Sunny."]]):
        message = ask(way, model="mistral/magistral-medium-latest").choices[0].message
    assert (message.reasoning_content, message.content) == ("Hm.", "Sunny.")


@pytest.mark.parametrize("way", WAYS)
def test_structured_output(way: str) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "Place", "schema": PARAMETERS, "strict": True}}
    with fake_llm.intercept([{"city": "Paris"}]) as fake:
        answer = ask(way, response_format=wanted)
    assert json.loads(answer.choices[0].message.content) == {"city": "Paris"}
    assert fake.calls[0].schema is not None


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (Error("authentication"), "AuthenticationError"),
        (Error("rate_limit"), "RateLimitError"),
        (Error("bad_request"), "BadRequestError"),
        (Error("not_found"), "BadRequestError"),
        (Error("server_error"), "InternalServerError"),
    ],
    ids=str,
)
@pytest.mark.parametrize("way", WAYS)
def test_errors(way: str, error: Error, name: str) -> None:
    import litellm

    with fake_llm.intercept([error]), pytest.raises(getattr(litellm, name)) as caught:
        ask(way, num_retries=0, max_retries=0)
    assert "Mistral" in str(caught.value)


@pytest.mark.parametrize("way", WAYS)
def test_embeddings(way: str) -> None:
    import litellm

    asked = {"model": "mistral/mistral-embed", "input": ["a", "b"], "api_key": "test"}
    with fake_llm.intercept() as fake:
        answer = litellm.embedding(**asked) if way == "sync" else asyncio.run(litellm.aembedding(**asked))
    assert [len(item["embedding"]) for item in answer.data] == [1024, 1024]
    assert answer.usage.total_tokens == fake.calls[0].usage.total
    assert (fake.calls[0].provider, fake.calls[0].user_texts) == ("mistral", ("a", "b"))
