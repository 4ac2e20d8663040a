"""Ollama: tool calls without ids, a model that is only loaded, lines cut by the network."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import fake_llm
from _capability import load, needs
from fake_llm import FakeLLM, Framing, Reply, ToolCall, quirks

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated"),
]

MESSAGES: Any = [{"role": "user", "content": "Hello"}]
TOOLS: Any = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]

each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def answers(stream: bool, **asked: Any) -> list[Any]:
    """What the SDK gives: one answer, or each piece of it."""
    answer = load("ollama").Client().chat(model="q", messages=MESSAGES, stream=stream, **asked)
    return list(answer) if stream else [answer]


def by_litellm(stream: bool, model: str = "ollama_chat/q", **asked: Any) -> Any:
    """What LiteLLM's answer says, a stream put together by LiteLLM."""
    litellm = load("litellm")
    answer = litellm.completion(model=model, messages=MESSAGES, stream=stream, **asked)
    return (litellm.stream_chunk_builder(list(answer)) if stream else answer).choices[0]


def sent(fake: FakeLLM) -> bytes:
    """The body of the one answer."""
    (call,) = fake.calls
    assert call.response is not None
    return call.response.body


def lines(fake: FakeLLM) -> list[Any]:
    """The documents of the one answer."""
    return [json.loads(line) for line in sent(fake).splitlines()]


# --- B60: calls without ids -------------------------------------------------------------------------

NO_ID = Reply(ToolCall("f"), edit=quirks.no_tool_ids())  # as servers sent them before October 2025


def check_no_ids(fake: FakeLLM) -> None:
    (call,) = [call for line in lines(fake) for call in line["message"].get("tool_calls", ())]
    assert "id" not in call
    assert (call["function"]["name"], call["function"]["arguments"]) == ("f", {})
    assert lines(fake)[-1]["done_reason"] == "stop"


@needs("ollama")
@each_way
def test_B60_the_SDK_has_no_place_for_an_id(stream: bool) -> None:
    with fake_llm.intercept([NO_ID]) as fake:
        calls = [call for answer in answers(stream, tools=TOOLS) for call in answer.message.tool_calls or ()]

    assert [(call.function.name, call.function.arguments) for call in calls] == [("f", {})]
    check_no_ids(fake)


@needs("langchain-ollama>=1.1")
@each_way
def test_B60_langchain_makes_one_up(stream: bool) -> None:
    with fake_llm.intercept([NO_ID]) as fake:
        model = load("langchain-ollama").ChatOllama(model="q").bind_tools(TOOLS)
        chunks = list(model.stream("Hello")) if stream else [model.invoke("Hello")]

    (call,) = sum(chunks[1:], start=chunks[0]).tool_calls
    assert (call["name"], call["args"]) == ("f", {})
    assert call["id"]
    check_no_ids(fake)


@needs("litellm>=1.110")
@each_way
def test_B60_litellm_drops_a_call_when_it_puts_a_stream_together(stream: bool) -> None:
    with fake_llm.intercept([NO_ID]) as fake:
        choice = by_litellm(stream, tools=TOOLS)

    names = [call.function.name for call in choice.message.tool_calls]
    assert names in ([[], ["f"]] if stream else [["f"]])  # the first with 1.110
    assert choice.finish_reason == "tool_calls"
    check_no_ids(fake)


# --- B62: a model that is only loaded ---------------------------------------------------------------

LOADED = Reply("", finish_reason="load")
ONLY_LOADED = {
    "model": "q",
    "created_at": "2026-01-01T00:00:00Z",
    "message": {"role": "assistant", "content": ""},
    "done": True,
    "done_reason": "load",
}


@needs("ollama")
@each_way
def test_B62_the_SDK_passes_on_that_it_was_loaded(stream: bool) -> None:
    with fake_llm.intercept([LOADED]) as fake:
        (answer,) = answers(stream)

    assert (answer.message.content, answer.done_reason) == ("", "load")
    assert lines(fake) == [ONLY_LOADED]


@needs("langchain-ollama>=1.1")
@each_way
def test_B62_langchain_warns_and_has_nothing(stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    error = "No generation chunks were returned" if stream else "No data received from Ollama stream"
    with fake_llm.intercept([LOADED]) as fake:
        model = load("langchain-ollama").ChatOllama(model="q")
        with pytest.raises(ValueError, match=error):
            list(model.stream("Hello")) if stream else model.invoke("Hello")

    assert [record.levelname for record in caplog.records if "done_reason='load'" in record.message] == ["WARNING"]
    assert lines(fake) == [ONLY_LOADED]


# --- B64: lines cut by the network ------------------------------------------------------------------

SAID = "Hello, this is one line of two."
FRAMINGS = {"one byte": Framing(split=1), "seven bytes": Framing(split=7), "one read": Framing(split=100_000)}
each_framing = pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)


@needs("ollama")
@each_framing
def test_B64_the_SDK_joins_cut_lines(framing: Framing) -> None:
    with fake_llm.intercept([Reply(SAID, framing=framing)]) as fake:
        assert "".join(answer.message.content for answer in answers(stream=True)) == SAID

    assert len(lines(fake)) > 3


@needs("llama-index-llms-ollama>=0.10")
@each_framing
def test_B64_llama_index_joins_them(framing: Framing) -> None:
    llms = load("llama-index-core>=0.14", "llama_index.core.llms")
    model = load("llama-index-llms-ollama", "llama_index.llms.ollama").Ollama(model="q", request_timeout=5)
    with fake_llm.intercept([Reply(SAID, framing=framing)]) as fake:
        chunks = list(model.stream_chat([llms.ChatMessage(content="Hello")]))

    assert "".join(chunk.delta for chunk in chunks) == chunks[-1].message.content == SAID
    assert len(lines(fake)) > 3


@needs("litellm>=1.110")
@each_framing
@pytest.mark.parametrize("model", ["ollama_chat/q", "gemini/gemini-2.5-flash"])
def test_B64_litellm_joins_them(framing: Framing, model: str) -> None:
    with fake_llm.intercept([Reply(SAID, framing=framing)]):
        assert by_litellm(stream=True, model=model).message.content == SAID
