"""Tool calls as servers stream them: indexes that lack, are shifted or shared, arguments that are null or cut."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # its import asks for prices else

import fake_llm
from _capability import load, needs
from _wire import events
from fake_llm import FakeLLM, Reply, ToolCall, quirks

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # litellm's clients
]

HELLO: Any = [{"role": "user", "content": "Hello"}]
FUNCTIONS: Any = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in "fg"]
CHAT: Any = {"model": "gpt-5", "messages": HELLO, "tools": FUNCTIONS}
F, G = ToolCall("f", {"x": 1}, id="c1"), ToolCall("g", {"x": 2}, id="c2")
pydantic_ai = needs("pydantic-ai-slim>=2.62", "tiktoken")  # with what its models of OpenAI need


def pieces(fake: FakeLLM) -> list[Any]:
    """The pieces of tool calls that were sent as a stream of OpenAI chat."""
    payloads = [json.loads(data) for _, data in events(fake.calls[0].response.body or b"") if data != "[DONE]"]
    deltas = [choice["delta"] for payload in payloads for choice in payload["choices"]]
    return [call for delta in deltas for call in delta.get("tool_calls", ())]


def openai_client() -> Any:
    return load("openai").OpenAI(api_key="k")


def accumulated() -> Any:
    """The message as openai's own helper puts it together."""
    with openai_client().chat.completions.stream(**CHAT) as stream:
        return stream.get_final_completion().choices[0].message


def by_langchain() -> Any:
    """The message as LangChain puts it together."""
    model = load("langchain-openai", "langchain_openai").ChatOpenAI(model="gpt-5", api_key="k").bind_tools(FUNCTIONS)
    first, *rest = model.stream("Hello")
    for chunk in rest:
        first += chunk
    return first


def agent(*, chat: bool = True) -> Any:
    """An agent of Pydantic AI with a tool `f`, and what that was called with."""
    module = load("pydantic-ai-slim", "pydantic_ai")
    model = load("pydantic-ai-slim", "pydantic_ai.models.openai").OpenAIChatModel
    provider = load("pydantic-ai-slim", "pydantic_ai.providers.openai").OpenAIProvider(api_key="k")
    made, called = module.Agent(model("gpt-5", provider=provider), retries=0), list[Any]()

    @made.tool_plain
    def f(x: int = 0) -> str:
        called.append(x)
        return "done"

    return made, called


async def streamed(made: Any) -> str:
    async with made.run_stream("Hello") as run:
        output: str = await run.get_output()
        return output


# --- B22: no index ------------------------------------------------------------------------------

NO_INDEX = Reply(F, edit=quirks.no_tool_index())


@needs("openai")
def test_B22_without_an_index_raw_iteration_works_and_the_helper_fails() -> None:
    with fake_llm.intercept([NO_INDEX]) as fake:
        found = [
            call
            for chunk in openai_client().chat.completions.create(**CHAT, stream=True)
            for choice in chunk.choices
            for call in choice.delta.tool_calls or ()
        ]
    assert {call.index for call in found} == {None}
    assert "".join(call.function.arguments for call in found) == '{"x":1}'
    assert not any("index" in call for call in pieces(fake))
    with (
        fake_llm.intercept([NO_INDEX]),
        pytest.raises(TypeError, match="list indices must be integers or slices, not NoneType"),
    ):
        accumulated()


@needs("langchain-openai>=1.7")
def test_B22_langchain_copes() -> None:
    with fake_llm.intercept([Reply(F, edit=[quirks.whole_tool_calls(), quirks.no_tool_index()])]) as fake:
        assert [(call["name"], call["args"]) for call in by_langchain().tool_calls] == [("f", {"x": 1})]
    assert pieces(fake) == [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}]
    with fake_llm.intercept([NO_INDEX]):  # in pieces, it makes two of them (1.7.4)
        assert [(call["name"], call["args"]) for call in by_langchain().tool_calls] == [("f", {}), ("", {})]


@pydantic_ai
@pytest.mark.asyncio
async def test_B22_pydantic_ai_copes() -> None:
    made, called = agent()
    async with fake_llm.intercept([NO_INDEX, "Done."]):
        assert await streamed(made) == "Done."
    assert called == [1]


@needs("llama-index-llms-openai>=0.8")
def test_B22_llama_index_passes_it_on() -> None:
    types = load("llama-index-core", "llama_index.core.llms")
    model = load("llama-index-llms-openai", "llama_index.llms.openai").OpenAI(model="gpt-4.1", api_key="k")
    with fake_llm.intercept([NO_INDEX]):
        last = [*model.stream_chat([types.ChatMessage("Hello")], tools=FUNCTIONS)][-1]
    assert {call.index for call in last.message.additional_kwargs["tool_calls"]} == {None}


# --- B23: the index of Anthropic's block --------------------------------------------------------

SHIFTED = Reply("Let me look.", F, edit=quirks.shifted_tool_index())


@needs("openai")
def test_B23_the_first_call_has_index_1() -> None:
    with fake_llm.intercept([SHIFTED]) as fake, pytest.raises(IndexError, match="list index out of range"):
        accumulated()
    assert {call["index"] for call in pieces(fake)} == {1}


@needs("langchain-openai>=1.7")
def test_B23_langchain_copes() -> None:
    with fake_llm.intercept([SHIFTED]):
        said = by_langchain()
    assert (said.text, [(call["name"], call["args"]) for call in said.tool_calls]) == (
        "Let me look.",
        [("f", {"x": 1})],
    )


@needs("litellm>=1.110")
def test_B23_litellm_itself_counts_calls_from_0() -> None:
    asked = {
        "model": "anthropic/claude-sonnet-5",
        "messages": HELLO,
        "tools": FUNCTIONS,
        "api_key": "k",
        "stream": True,
    }
    with fake_llm.intercept([["Let me look.", F]]):
        found = [chunk.choices[0].delta for chunk in load("litellm").completion(**asked)]
    assert {call.index for delta in found for call in delta.tool_calls or ()} == {0}


# --- B25: two calls with one index --------------------------------------------------------------


@needs("smolagents>=1.26")
def test_B25_smolagents_merges_parallel_calls() -> None:
    smolagents = load("smolagents")
    models = load("smolagents", "smolagents.models")
    model = smolagents.OpenAIModel("gpt-5", api_key="k", tools=FUNCTIONS)
    with fake_llm.intercept([Reply(F, G, edit=quirks.shared_tool_index())]) as fake:
        deltas = [*model.generate_stream([models.ChatMessage("user", "Hello")])]
    said = models.agglomerate_stream_deltas(deltas)
    assert [(call.id, call.function.name, call.function.arguments) for call in said.tool_calls] == [
        ("c2", "g", '{"x":1}{"x":2}')
    ]
    assert [(call["index"], call.get("id")) for call in pieces(fake) if "id" in call] == [(0, "c1"), (0, "c2")]


# --- B27: Gemini's parallel calls in chunks of their own ----------------------------------------


@needs("litellm>=1.110")
def test_B27_litellm_counts_geminis_calls() -> None:
    asked = {"model": "gemini/gemini-2.5-flash", "messages": HELLO, "tools": FUNCTIONS, "api_key": "k", "stream": True}
    with fake_llm.intercept([[ToolCall("f", {"x": 1}), ToolCall("f", {"x": 2})]]) as fake:
        found = [
            call for chunk in load("litellm").completion(**asked) for call in chunk.choices[0].delta.tool_calls or ()
        ]
    assert [(call.index, json.loads(call.function.arguments)) for call in found] == [(0, {"x": 1}), (1, {"x": 2})]
    payloads = [json.loads(data) for _, data in events(fake.calls[0].response.body or b"")]
    parts = [payload["candidates"][0]["content"]["parts"] for payload in payloads]
    assert [[part["functionCall"]["args"] for part in one] for one in parts] == [[{"x": 1}], [{"x": 2}]]
    assert ["finishReason" in payload["candidates"][0] for payload in payloads] == [False, True]


# --- B29: null arguments ------------------------------------------------------------------------

NULL = Reply(ToolCall("f", {}), edit=quirks.tool_arguments(None))


@needs("openai")
def test_B29_openai_passes_null_on() -> None:
    with fake_llm.intercept([NULL]) as fake:
        [call] = openai_client().chat.completions.create(**CHAT).choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("f", None)
    [sent] = json.loads(fake.calls[0].response.body)["choices"][0]["message"]["tool_calls"]
    assert sent["function"] == {"name": "f", "arguments": None}


@pydantic_ai
@pytest.mark.asyncio
async def test_B29_pydantic_ai_refuses_the_answer() -> None:
    made, called = agent()
    refused = load("pydantic-ai-slim", "pydantic_ai").UnexpectedModelBehavior
    async with fake_llm.intercept([NULL]):
        with pytest.raises(refused, match="arguments"):
            await made.run("Hello")
    assert called == []


# --- B30: arguments cut by the token limit ------------------------------------------------------

CUT = Reply(ToolCall("f", '{"target":"x","conf'), finish_reason="length")


@needs("openai")
def test_B30_the_fragment_comes_with_the_finish_reason() -> None:
    with fake_llm.intercept([CUT]):
        [choice] = openai_client().chat.completions.create(**CHAT).choices
    assert (choice.message.tool_calls[0].function.arguments, choice.finish_reason) == ('{"target":"x","conf', "length")
    with fake_llm.intercept([CUT]) as fake, pytest.raises(load("openai").LengthFinishReasonError):
        accumulated()
    assert "".join(call["function"]["arguments"] for call in pieces(fake)) == '{"target":"x","conf'


@needs("langchain-openai>=1.7")
def test_B30_langchain_makes_a_call_of_it() -> None:
    with fake_llm.intercept([CUT]):
        said = by_langchain()
    assert ([call["args"] for call in said.tool_calls], said.invalid_tool_calls) == ([{"target": "x"}], [])
    assert said.response_metadata["finish_reason"] == "length"


@needs("anthropic")
def test_B30_anthropic_makes_an_input_of_it() -> None:
    tools: Any = [{"name": "f", "input_schema": {"type": "object"}}]
    client = load("anthropic").Anthropic(api_key="k")
    asked: Any = {"model": "claude-sonnet-5", "max_tokens": 9, "messages": HELLO, "tools": tools}
    with fake_llm.intercept([CUT]) as fake, client.messages.stream(**asked) as stream:
        said = stream.get_final_message()
    assert (said.content[0].input, said.stop_reason) == ({"target": "x"}, "max_tokens")
    found = [json.loads(data) for _, data in events(fake.calls[0].response.body or b"")]
    assert (
        "".join(event["delta"].get("partial_json", "") for event in found if event["type"] == "content_block_delta")
        == '{"target":"x","conf'
    )


@pydantic_ai
@pytest.mark.asyncio
async def test_B30_pydantic_ai_says_so() -> None:
    made, called = agent()
    async with fake_llm.intercept([CUT]):
        with pytest.raises(load("pydantic-ai-slim", "pydantic_ai.exceptions").IncompleteToolCall):
            await made.run("Hello")
    assert called == []


@needs("instructor>=1.17")
def test_B30_instructor_says_so() -> None:
    instructor = load("instructor")
    pydantic = load("pydantic")
    answer = pydantic.create_model("f", target=(str, ...), conf=(bool, False))
    client = instructor.from_openai(openai_client())
    incomplete = load("instructor", "instructor.core.exceptions").IncompleteOutputException
    with fake_llm.intercept([CUT]) as fake, pytest.raises(incomplete):
        client.chat.completions.create(model="gpt-5", messages=HELLO, response_model=answer, max_retries=0)
    assert len(fake.calls) == 1
