"""LiteLLM's own client of Bedrock, blocking and on an event loop: Converse, each family by `invoke`, vectors, ranks, errors."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import fake_llm
from _capability import load, needs
from fake_llm import Disconnect, Embedding, Error, Reply, Thinking, ToolCall, Usage

pytestmark = [
    needs("boto3>=1.44"),
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated"),
]
litellm = load("litellm>=1.110")

IMPORTED = "arn:aws:bedrock:us-east-1:123456789012:imported-model/abc"
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Weather in Paris?"}], "max_tokens": 50}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
CONVERSE = ("bedrock/converse/us.amazon.nova-lite-v1:0", "bedrock/converse/us.anthropic.claude-haiku-4-5-20251001-v1:0")
CALLING = (
    *CONVERSE,
    "bedrock/invoke/us.amazon.nova-lite-v1:0",
    "bedrock/invoke/us.anthropic.claude-haiku-4-5-20251001-v1:0",
)
MODELS: dict[str, str] = {
    **dict.fromkeys(CONVERSE, "bedrock_converse"),
    "bedrock/invoke/us.amazon.nova-lite-v1:0": "bedrock_converse",
    "bedrock/invoke/us.anthropic.claude-haiku-4-5-20251001-v1:0": "anthropic_messages",
    "bedrock/invoke/amazon.titan-text-express-v1": "bedrock_titan",
    "bedrock/invoke/meta.llama3-1-70b-instruct-v1:0": "bedrock_llama",
    "bedrock/invoke/mistral.mistral-7b-instruct-v0:2": "bedrock_mistral",
    "bedrock/invoke/cohere.command-text-v14": "cohere_generate_v1",
    "bedrock/invoke/moonshot.kimi-k2-thinking": "openai_chat",
    f"bedrock/deepseek_r1/{IMPORTED}": "bedrock_llama",
    f"bedrock/openai/{IMPORTED}": "openai_chat",
    f"bedrock/qwen3/{IMPORTED}": "bedrock_llama",
}
NO_STREAM = frozenset({f"bedrock/openai/{IMPORTED}", f"bedrock/qwen3/{IMPORTED}"})
"""Whose streams LiteLLM reads in another form than its whole answers (1.110)."""

ways = pytest.mark.parametrize("way", ["blocking", "async"])


def asked(way: str, what: str = "completion", **options: Any) -> Any:
    """What a call gives, a stream as the list of its chunks."""
    if way == "blocking":
        answer = getattr(litellm, what)(**options)
        return list(answer) if options.get("stream") else answer

    async def ask() -> Any:
        answer = await getattr(litellm, f"a{what}")(**options)
        return [chunk async for chunk in answer] if options.get("stream") else answer

    return asyncio.run(ask())


def text(chunks: list[Any]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


@ways
@pytest.mark.parametrize("model", MODELS)
def test_a_text(model: str, way: str) -> None:
    with fake_llm.intercept(["It is sunny."] * 2, usage=Usage(12, 5)) as fake:
        answer = asked(way, model=model, **ASKED)
        assert answer.choices[0].message.content == "It is sunny."
        assert answer.choices[0].finish_reason == "stop"
        if f"bedrock/qwen3/{IMPORTED}" != model:  # it looks for counts where imported models have none
            assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (12, 5)
        if model in NO_STREAM:
            asked(way, model=model, **ASKED)
        else:
            assert text(asked(way, model=model, stream=True, **ASKED)) == "It is sunny."
    assert [(call.provider, call.dialect) for call in fake.calls] == [("bedrock", MODELS[model])] * 2
    assert "Weather in Paris?" in (fake.calls[0].last_user_text or "")


@ways
@pytest.mark.parametrize("model", CALLING)
def test_a_call_of_a_tool(model: str, way: str) -> None:
    turn = [Thinking("Hm."), ToolCall("get_weather", {"city": "Paris"}, "call_1")]
    with fake_llm.intercept([turn, turn, "Sunny."]) as fake:
        answer = asked(way, model=model, tools=TOOLS, **ASKED).choices[0]
        (call,) = answer.message.tool_calls
        assert (call.function.name, call.function.arguments) == ("get_weather", '{"city": "Paris"}')
        assert answer.finish_reason == "tool_calls"
        assert answer.message.reasoning_content == "Hm."

        chunks = asked(way, model=model, tools=TOOLS, stream=True, **ASKED)
        built = litellm.stream_chunk_builder(chunks).choices[0]
        assert built.message.tool_calls[0].function.arguments.replace(" ", "") == '{"city":"Paris"}'
        assert built.finish_reason == "tool_calls"

        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        history = [*ASKED["messages"], answer.message, result]
        assert asked(way, model=model, tools=TOOLS, messages=history).choices[0].message.content == "Sunny."
    assert [(item.name, item.text) for item in fake.calls[2].tool_results] == [("get_weather", "sunny")]


@ways
def test_reasoning_of_an_imported_deepseek(way: str) -> None:
    model = f"bedrock/deepseek_r1/{IMPORTED}"
    with fake_llm.intercept([[Thinking("Hm."), "Sunny."]] * 2):
        message = asked(way, model=model, **ASKED).choices[0].message
        assert message.content == "Sunny."
        chunks = asked(way, model=model, stream=True, **ASKED)
    thought = "".join(
        getattr(choice.delta, "reasoning_content", None) or "" for chunk in chunks for choice in chunk.choices
    )
    assert (thought, text(chunks)) == ("Hm.", "Sunny.")


@ways
@pytest.mark.parametrize("model", list(MODELS)[:6])
def test_errors(model: str, way: str) -> None:
    options = {"model": model, "num_retries": 0, **ASKED}
    with fake_llm.intercept([Error("rate_limit"), Error("permission"), Error("bad_request")]):
        with pytest.raises(litellm.RateLimitError):
            asked(way, **options)
        with pytest.raises((litellm.AuthenticationError, litellm.PermissionDeniedError)):
            asked(way, **options)
        with pytest.raises(litellm.BadRequestError):
            asked(way, **options)


@ways
@pytest.mark.parametrize("model", [CONVERSE[0], "bedrock/invoke/meta.llama3-1-70b-instruct-v1:0"])
def test_errors_inside_a_stream(model: str, way: str) -> None:
    turns = [Reply("Once", then=Error("rate_limit")), Reply("Once", then=Disconnect())]
    with fake_llm.intercept(turns):
        for expected in (litellm.RateLimitError, litellm.APIConnectionError):
            with pytest.raises(litellm.exceptions.MidStreamFallbackError) as caught:
                asked(way, model=model, stream=True, num_retries=0, **ASKED)
            assert isinstance(caught.value.original_exception, expected)
            assert caught.value.generated_content == "Once"


@ways
@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("bedrock/amazon.titan-embed-text-v1", 1536),
        ("bedrock/amazon.titan-embed-text-v2:0", 1024),
        ("bedrock/amazon.titan-embed-image-v1", 1024),
        ("bedrock/amazon.nova-2-multimodal-embeddings-v1:0", 3072),
        ("bedrock/cohere.embed-english-v3", 1024),
        ("bedrock/cohere.embed-v4:0", 1536),
    ],
)
def test_vectors(model: str, size: int, way: str) -> None:
    with fake_llm.intercept() as fake:
        answer = asked(way, "embedding", model=model, input=["refund", "weather"])
        assert [len(one["embedding"]) for one in answer.data] == [size, size]
        fake.when(operation="embeddings").reply(Embedding([0.5] * size))
        answer = asked(way, "embedding", model=model, input=["refund"])
        assert answer.data[0]["embedding"] == [0.5] * size
    assert {call.operation for call in fake.calls} == {"embeddings"}


@ways
def test_ranks(way: str) -> None:
    model = "bedrock/arn:aws:bedrock:us-west-2::foundation-model/cohere.rerank-v3-5:0"
    with fake_llm.intercept() as fake:
        answer = asked(way, "rerank", model=model, query="refund", documents=["weather", "a refund"], top_n=1)
    assert [item["index"] for item in answer.results] == [1]
    assert fake.calls[0].operation == "rerank"
