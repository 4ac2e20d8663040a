"""Bedrock: frames of exceptions and errors in a stream, an empty thought between a thought and its signature."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import fake_llm
from _capability import load, needs
from fake_llm import Error, Event, FakeLLM, Reply, Thinking, ToolCall

pytestmark = [
    needs("boto3>=1.44"),
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated"),
]

NOVA = "us.amazon.nova-2-lite-v1:0"
CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
MESSAGES: Any = [{"role": "user", "content": "Hello"}]
HELLO: Any = [{"role": "user", "content": [{"text": "Hello"}]}]
SCHEMA: Any = {"type": "object", "properties": {"a": {"type": "integer"}}}


@functools.cache
def client() -> Any:
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    return load("boto3", "boto3.session").Session(**keys).client("bedrock-runtime")


def read(said: list[Any], **asked: Any) -> None:
    """Keep what comes of a stream, even of one that fails."""
    for event in client().converse_stream(**{"modelId": NOVA, "messages": HELLO, **asked})["stream"]:
        said.append(event)


def sent(fake: FakeLLM) -> bytes:
    """The body of the one answer."""
    (call,) = fake.calls
    assert call.response is not None
    return call.response.body


# --- B65: an exception in a stream that began well --------------------------------------------------

MANY = {"message": "Too many tokens"}
BROKE = {"message": "Broke", "originalStatusCode": 500, "originalMessage": "internal"}


def fails(event: Event) -> Reply:
    """A text, then this in place of all else."""
    return Reply("Hi", edit=lambda events: [*events[:2], event])


FAILURES: dict[str, tuple[Reply, dict[str, str], bytes]] = {
    "by name": (
        Reply("Hi", then=Error("rate_limit", "Too many tokens")),
        {"Code": "throttlingException", "Message": "Too many tokens"},
        b"\x0f:exception-type\x07\x00\x13throttlingException",
    ),
    "throttled": (
        fails(Event("throttlingException", MANY)),
        {"Code": "throttlingException", "Message": "Too many tokens"},
        b"\x0f:exception-type\x07\x00\x13throttlingException",
    ),
    "of the model": (
        fails(Event("modelStreamErrorException", BROKE)),
        {"Code": "modelStreamErrorException", "Message": "Broke"},
        b'{"message":"Broke","originalMessage":"internal","originalStatusCode":500}',
    ),
    "an error": (
        fails(Event("InternalError", MANY)),
        {"Code": "InternalError", "Message": "Too many tokens"},
        b"\x0b:error-code\x07\x00\x0dInternalError\x0e:error-message\x07\x00\x0fToo many tokens\x0d:message-type\x07\x00\x05error",
    ),
}


@pytest.mark.parametrize(("turn", "error", "frame"), FAILURES.values(), ids=FAILURES)
def test_B65_a_failure_in_a_stream_is_one_class_and_not_tried_again(
    turn: Reply, error: dict[str, str], frame: bytes
) -> None:
    exceptions, said = load("boto3", "botocore.exceptions"), list[Any]()
    with fake_llm.intercept([turn]) as fake, pytest.raises(exceptions.EventStreamError) as caught:
        read(said)

    assert isinstance(caught.value, exceptions.ClientError)
    assert caught.value.response == {"Error": error}
    assert [event["contentBlockDelta"]["delta"] for event in said if "contentBlockDelta" in event] == [{"text": "Hi"}]
    assert frame in sent(fake)


@needs("litellm>=1.110")
def test_B65_litellm_says_that_it_is_a_rate_limit() -> None:
    litellm, said = load("litellm"), list[str]()
    asked: Any = {"model": f"bedrock/converse/{NOVA}", "messages": MESSAGES, "stream": True}
    turn = Reply("Hi", then=Error("rate_limit", "Too many tokens"))
    with fake_llm.intercept([turn]) as fake, pytest.raises(litellm.exceptions.MidStreamFallbackError) as caught:
        for chunk in litellm.completion(**asked):
            said.append(chunk.choices[0].delta.content or "")

    assert "".join(said) == "Hi"
    assert (type(caught.value.original_exception), caught.value.status_code) == (litellm.RateLimitError, 429)
    assert b"throttlingException" in sent(fake)


# --- B67: an empty delta between a thought and its signature ----------------------------------------

EMPTY = Event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": ""}}})
FRAME = b'{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":""}}}'


def with_empty(events: list[Any]) -> list[Any]:
    """The empty delta stands before that of the signature."""
    at = next(index for index, event in enumerate(events) if "signature" in str(event.payload))
    return [*events[:at], EMPTY, *events[at:]]


THOUGHT = Reply(Thinking("Hm", signature="SIG"), ToolCall("f", {"a": 1}), edit=with_empty)


def test_B67_boto3_passes_it_on() -> None:
    said: list[Any] = []
    tool = {"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}
    with fake_llm.intercept([THOUGHT]) as fake:
        read(said, modelId=CLAUDE, toolConfig={"tools": [tool]})

    deltas = [event["contentBlockDelta"]["delta"] for event in said if "contentBlockDelta" in event]
    thoughts = [delta["reasoningContent"] for delta in deltas if "reasoningContent" in delta]
    assert thoughts == [{"text": "Hm"}, {"text": ""}, {"signature": "SIG"}]
    assert FRAME in sent(fake)


@needs("litellm>=1.110")
@pytest.mark.asyncio
async def test_B67_litellms_bridge_to_messages_leaves_it_out() -> None:
    asked: Any = {"model": f"bedrock/converse/{CLAUDE}", "max_tokens": 2000, "messages": MESSAGES}
    tools = [{"name": "f", "input_schema": SCHEMA}]
    async with fake_llm.intercept([THOUGHT]) as fake:
        stream = await load("litellm").anthropic_messages(**asked, tools=tools, stream=True)
        events = [json.loads(event.partition(b"data: ")[2]) async for event in stream]

    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert deltas[:2] == [
        {"type": "thinking_delta", "thinking": "Hm"},
        {"type": "signature_delta", "signature": "SIG"},
    ]
    assert "".join(delta["partial_json"] for delta in deltas[2:]) == '{"a":1}'
    assert all(value != "" for delta in deltas for value in delta.values())
    assert FRAME in sent(fake)


@needs("langchain-aws>=1.9")
def test_B67_langchain_keeps_text_and_signature() -> None:
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    with fake_llm.intercept([THOUGHT]) as fake:
        model = load("langchain-aws").ChatBedrockConverse(model=CLAUDE, **keys)
        tool = {"name": "f", "description": "f", "input_schema": SCHEMA}
        chunks = list(model.bind_tools([tool]).stream("Hello"))

    answer = sum(chunks[1:], start=chunks[0])
    (thought,) = [block["reasoning_content"] for block in answer.content if block["type"] == "reasoning_content"]
    assert (thought["text"], thought["signature"]) == ("Hm", "SIG")
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("f", {"a": 1})]
    assert FRAME in sent(fake)
