"""LangChain's `ChatBedrockConverse`, `ChatBedrock` and `BedrockEmbeddings`: agents' calls, structured output, citations, guardrails, caches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from _one_turn import LOOK_UP, SCRIPT, SUNNY, Weather, check

import fake_llm
from _capability import load
from fake_llm import Citation, Error, Reply, ServerTool, Thinking, Usage

aws = load("langchain-aws>=1.9")
messages = load("langchain-core>=1", "langchain_core.messages")
tools = load("langchain-core>=1", "langchain_core.tools")

CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
NOVA = "us.amazon.nova-2-lite-v1:0"
ways = pytest.mark.parametrize("way", ["whole", "stream", "async whole", "async stream"])


def chat(model: str = CLAUDE, **options: Any) -> Any:
    return aws.ChatBedrockConverse(model=model, region_name="us-east-1", **options)


def asked(model: Any, given: Any, way: str) -> Any:
    """One message, whole or added up."""

    async def ask() -> Any:
        if "stream" not in way:
            return await model.ainvoke(given)
        return added([chunk async for chunk in model.astream(given)])

    if way.startswith("async"):
        return asyncio.run(ask())
    return added(list(model.stream(given))) if way == "stream" else model.invoke(given)


def added(chunks: list[Any]) -> Any:
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


def get_weather(city: str) -> str:
    """The weather."""
    return f"sunny in {city}"


@ways
def test_a_text_with_its_cost(way: str) -> None:
    usage = Usage(120, 30, cached_tokens=40, cache_write_tokens=10)
    with fake_llm.intercept(["It is sunny."], usage=usage) as fake:
        answer = asked(chat(), "Weather?", way)
    assert answer.text == "It is sunny."
    counted = answer.usage_metadata
    assert (counted["input_tokens"], counted["output_tokens"], counted["total_tokens"]) == (120, 30, 150)
    assert counted["input_token_details"]["cache_read"] == 40
    assert answer.response_metadata["stopReason"] == "end_turn"
    assert fake.calls[0].stream is ("stream" in way)


@ways
def test_a_loop_of_a_tool(way: str) -> None:
    with fake_llm.intercept([[Thinking("Hm."), "Let me look.", LOOK_UP], "Sunny."]) as fake:
        model = chat().bind_tools([tools.tool(get_weather)])
        given = [messages.HumanMessage("Weather in Paris?")]
        answer = asked(model, given, way)
        (call,) = answer.tool_calls
        assert (call["name"], call["args"]) == ("get_weather", {"city": "Paris"})
        result = messages.ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"])
        assert asked(model, [*given, answer, result], way).text == "Sunny."
    assert [found.text for found in fake.calls[1].tool_results] == ["sunny in Paris"]
    assert fake.calls[1].messages[1].thinking == "Hm."


@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
def test_structured_output(method: str) -> None:
    with fake_llm.intercept(SCRIPT) as fake:
        answer = chat().with_structured_output(Weather, method=method).invoke("Weather in Paris?")
    check(answer, fake, "bedrock_converse")
    assert answer == SUNNY


@ways
def test_citations(way: str) -> None:
    document = {
        "type": "document",
        "document": {
            "name": "facts",
            "format": "txt",
            "source": {"text": "Ruby is red."},
            "citations": {"enabled": True},
        },
    }
    asking = messages.HumanMessage([{"type": "text", "text": "Colour?"}, document])
    with fake_llm.intercept([["It is ", Citation("red", "facts"), "."]]):
        answer = asked(chat(), [asking], way)
    assert answer.text == "It is red."
    cited = [block["citations"] for block in answer.content if block.get("citations")]
    assert cited[0][0]["title"] == "facts"
    assert cited[0][0]["source_content" if "source_content" in cited[0][0] else "sourceContent"] == [{"text": "red"}]


@ways
def test_tools_of_nova(way: str) -> None:
    turn = [ServerTool("code_execution", {"code": "1+1"}, "2"), "It is 2."]
    with fake_llm.intercept([turn]):
        answer = asked(chat(NOVA).bind_tools([aws.tools.NovaCodeInterpreterTool()]), "1+1?", way)
    assert answer.text == "It is 2."
    assert [call for call in answer.tool_calls if call["name"]] == []  # of a stream it keeps the arguments (1.9)
    used, result, *_ = answer.content
    assert (used["type"], used["name"]) == ("server_tool_use", "nova_code_interpreter")
    assert result["type"].endswith("tool_result")


@ways
def test_a_guardrail(way: str) -> None:
    guard = {"guardrailIdentifier": "gr1", "guardrailVersion": "1", "trace": "enabled"}
    with fake_llm.intercept([Reply(finish_reason="content_filter")]):
        answer = asked(chat(guardrails=guard), "Bad?", way)
    assert answer.text == "Sorry, the model cannot answer this question."
    assert answer.response_metadata["stopReason"] == "guardrail_intervened"
    assert "gr1" in answer.response_metadata["trace"]["guardrail"]["inputAssessment"]


def test_errors() -> None:
    exceptions = load("boto3>=1.44", "botocore.exceptions")
    with fake_llm.intercept([Error("rate_limit")] * 9, strict=False), pytest.raises(exceptions.ClientError) as caught:
        chat().invoke("Hi")
    assert caught.value.response["Error"]["Code"] == "ThrottlingException"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("model", "dialect"), [(CLAUDE, "anthropic_messages"), ("us.meta.llama3-1-70b-instruct-v1:0", "bedrock_llama")]
)
def test_by_invoke(model: str, dialect: str, stream: bool) -> None:
    with fake_llm.intercept(["It is sunny."]) as fake:
        bedrock = aws.ChatBedrock(model=model, region_name="us-east-1", beta_use_converse_api=False)
        assert asked(bedrock, "Weather?", "stream" if stream else "whole").text == "It is sunny."
    assert (fake.calls[0].dialect, fake.calls[0].stream) == (dialect, stream)


@pytest.mark.parametrize(
    ("model", "size"),
    [("amazon.titan-embed-text-v1", 1536), ("amazon.titan-embed-text-v2:0", 1024), ("cohere.embed-english-v3", 1024)],
)
def test_vectors(model: str, size: int) -> None:
    with fake_llm.intercept() as fake:
        embeddings = aws.BedrockEmbeddings(model_id=model, region_name="us-east-1")
        assert [len(one) for one in embeddings.embed_documents(["refund", "weather"])] == [size, size]
        assert len(embeddings.embed_query("refund")) == size
    assert {call.operation for call in fake.calls} == {"embeddings"}
