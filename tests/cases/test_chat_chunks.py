"""Chunks and bodies of OpenAI's form as its hosts send them: empty choices, usage in odd places, thoughts, unknown words."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # its import asks for prices else

import fake_llm
from _capability import load, needs
from _wire import events
from fake_llm import FakeLLM, Reply, Thinking, Usage, quirks

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # litellm's clients
]

HELLO: Any = [{"role": "user", "content": "Hello"}]
AZURE = {"azure_endpoint": "https://r.openai.azure.com", "api_version": "2024-10-21", "api_key": "k"}
COUNTED: Any = {"stream": True, "stream_options": {"include_usage": True}}
pydantic_ai = needs("pydantic-ai-slim>=2.62", "tiktoken")  # with what its models of OpenAI need


def chunks(fake: FakeLLM) -> list[Any]:
    """What was sent as a stream, its terminator left out."""
    (call,) = fake.calls
    return [json.loads(data) for _, data in events(call.response.body or b"") if data != "[DONE]"]


def openai_client(**options: Any) -> Any:
    return load("openai").OpenAI(api_key="k", **options)


def asked_of_pydantic_ai(model: Any, *, stream: bool = False) -> Any:
    """What an agent answers; of a stream, its last usage as well."""
    agent = load("pydantic-ai-slim", "pydantic_ai").Agent(model)
    if not stream:
        return asyncio.run(agent.run("Hello")).output

    async def run() -> Any:
        async with agent.run_stream("Hello") as result:
            return await result.get_output()

    return asyncio.run(run())


def chat_model(**options: Any) -> Any:
    """Pydantic AI's model of OpenAI chat."""
    models = load("pydantic-ai-slim", "pydantic_ai.models.openai")
    provider = load("pydantic-ai-slim", "pydantic_ai.providers.openai").OpenAIProvider(api_key="k", **options)
    return models.OpenAIChatModel("gpt-5", provider=provider)


# --- B10: a first chunk without choices ---------------------------------------------------------


@needs("openai")
def test_B10_azure_begins_with_a_chunk_that_has_no_choices() -> None:
    client = load("openai").AzureOpenAI(**AZURE)
    with fake_llm.intercept(["Hi"]) as fake:
        first, *rest = client.chat.completions.create(model="gpt-4.1", messages=HELLO, stream=True)
    assert (first.choices, first.id, first.created) == ([], "", 0)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in rest if chunk.choices) == "Hi"
    assert chunks(fake)[0]["prompt_filter_results"][0]["prompt_index"] == 0
    assert "/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21" in fake.calls[0].url


@needs("openai")
def test_B10_so_does_who_passes_its_answers_on() -> None:
    client = openai_client(base_url="https://llm.corp.example/v1")
    with fake_llm.intercept([Reply("Hi", edit=quirks.empty_choices_first())], hosts={"llm.corp.example/v1": "openai"}):
        first, *rest = client.chat.completions.create(model="gpt-5", messages=HELLO, stream=True)
    assert (first.choices, first.id) == ([], "")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in rest) == "Hi"


@needs("langchain-openai>=1.7")
def test_B10_langchain_survives_it() -> None:
    model = load("langchain-openai", "langchain_openai").AzureChatOpenAI(azure_deployment="d", **AZURE)
    with fake_llm.intercept(["Hi"]):
        assert "".join(chunk.text for chunk in model.stream("Hello")) == "Hi"


@pydantic_ai
def test_B10_pydantic_ai_survives_it() -> None:
    with fake_llm.intercept([Reply("Hi", edit=quirks.empty_choices_first())]):
        assert asked_of_pydantic_ai(chat_model(), stream=True) == "Hi"


@needs("litellm>=1.110")
def test_B10_litellm_survives_it() -> None:
    asked = {"api_base": AZURE["azure_endpoint"], "api_version": AZURE["api_version"], "api_key": "k"}
    with fake_llm.intercept(["Hi"]):
        stream = load("litellm").completion(model="azure/gpt-4.1", messages=HELLO, stream=True, **asked)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == "Hi"


@needs("llama-index-llms-openai>=0.8")
def test_B10_llama_index_survives_it() -> None:
    model = load("llama-index-llms-openai", "llama_index.llms.openai").OpenAI(model="gpt-4.1", api_key="k")
    with fake_llm.intercept([Reply("Hi", edit=quirks.empty_choices_first())]):
        assert [piece.text for piece in model.stream_complete("Hello")][-1] == "Hi"


# --- B12: usage beside the finish reason, then a chunk with nothing -----------------------------

LATE = Reply("Hi", usage=Usage(1, 2), edit=quirks.usage_with_finish())


@needs("openai")
def test_B12_usage_in_the_last_chunk_but_one() -> None:
    client = openai_client(base_url="https://api.x.ai/v1")
    with fake_llm.intercept([LATE]) as fake:
        *_, finish, last = client.chat.completions.create(model="grok-4", messages=HELLO, **COUNTED)
    assert (finish.choices[0].finish_reason, finish.usage.total_tokens) == ("stop", 3)
    assert (last.choices, last.usage) == ([], None)
    assert [chunk.get("usage", {}).get("total_tokens") for chunk in chunks(fake)[-2:]] == [3, None]


@needs("openai-agents>=0.20")
def test_B12_openai_agents_counts_it() -> None:
    agents = load("openai-agents", "agents")
    client = load("openai").AsyncOpenAI(api_key="k", base_url="https://api.x.ai/v1")
    agent = agents.Agent(name="A", model=agents.OpenAIChatCompletionsModel("grok-4", client))
    agent.model_settings.include_usage = True

    async def run() -> Any:
        result = agents.Runner.run_streamed(agent, "Hello", run_config=agents.RunConfig(tracing_disabled=True))
        async for _ in result.stream_events():
            pass
        return result

    with fake_llm.intercept([LATE]):
        result = asyncio.run(run())
    assert (result.final_output, result.context_wrapper.usage.total_tokens) == ("Hi", 3)


@needs("litellm>=1.110")
def test_B12_litellm_counts_it() -> None:
    litellm = load("litellm")
    with fake_llm.intercept([LATE]):
        stream = litellm.completion(model="xai/grok-4", messages=HELLO, api_key="k", **COUNTED)
        whole = litellm.stream_chunk_builder([*stream])
    assert (whole.choices[0].message.content, whole.usage.total_tokens) == ("Hi", 3)


# --- B13: a chunk of usage alone, if it is asked for --------------------------------------------


@needs("openai")
@pytest.mark.parametrize("asked", [{}, {"stream_options": {"include_usage": True}}], ids=["not asked", "asked"])
def test_B13_a_chunk_of_usage_comes_if_it_is_asked_for(asked: Any) -> None:
    with fake_llm.intercept(["Hi"]) as fake:
        found = [*openai_client().chat.completions.create(model="gpt-5", messages=HELLO, stream=True, **asked)]
    assert (found[-1].choices == [] and found[-1].usage.total_tokens == fake.usage.total) is bool(asked)
    *others, last = chunks(fake)
    if asked:
        assert (last["choices"], others[-1]["choices"][0]["finish_reason"]) == ([], "stop")
        assert [chunk["usage"] for chunk in others] == [None] * len(others)
    else:
        assert last["choices"][0]["finish_reason"] == "stop"
        assert not any("usage" in chunk for chunk in chunks(fake))


@needs("langchain-openai>=1.7")
@pytest.mark.parametrize("counted", [False, True])
def test_B13_langchain_has_both_the_usage_and_the_finish_reason(counted: bool) -> None:
    model = load("langchain-openai", "langchain_openai").ChatOpenAI(model="gpt-5", api_key="k", stream_usage=counted)
    with fake_llm.intercept(["Hi"]) as fake:
        found = [*model.stream("Hello")]
    whole = found[0]
    for chunk in found[1:]:
        whole += chunk
    assert whole.response_metadata["finish_reason"] == "stop"
    assert (whole.usage_metadata or {}).get("total_tokens") == (fake.usage.total if counted else None)
    assert fake.calls[0].body.get("stream_options") == ({"include_usage": True} if counted else None)


# --- B15: a blocked answer ----------------------------------------------------------------------

BLOCKED = Reply(finish_reason="content_filter")
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@needs("openai")
@each_way
def test_B15_a_blocked_answer_is_empty_and_says_so_by_its_finish_reason_alone(stream: bool) -> None:
    with fake_llm.intercept([BLOCKED]) as fake:
        found = openai_client().chat.completions.create(model="gpt-5", messages=HELLO, stream=stream)
        choices = [choice for chunk in (found if stream else [found]) for choice in chunk.choices]
    said = [choice.delta if stream else choice.message for choice in choices]
    assert [choice.finish_reason for choice in choices][-1] == "content_filter"
    assert not any(one.content or one.refusal or one.tool_calls for one in said)
    assert b'"finish_reason":"content_filter"' in fake.calls[0].response.body.replace(b": ", b":")


@needs("openai-agents>=0.20")
@each_way
def test_B15_openai_agents_asks_once(stream: bool) -> None:
    agents = load("openai-agents", "agents")
    client = load("openai").AsyncOpenAI(api_key="k")
    agent = agents.Agent(name="A", model=agents.OpenAIChatCompletionsModel("gpt-5", client))

    async def run() -> None:
        options = {"run_config": agents.RunConfig(tracing_disabled=True), "max_turns": 3}
        if not stream:
            await agents.Runner.run(agent, "Hello", **options)
            return
        async for _ in agents.Runner.run_streamed(agent, "Hello", **options).stream_events():
            pass

    refused = agents.exceptions.ModelRefusalError
    with fake_llm.intercept([BLOCKED]) as fake, pytest.raises(refused, match="content filter"):
        asyncio.run(run())
    assert len(fake.calls) == 1


# --- B17: thoughts in fields that the SDK doesn't know ------------------------------------------

NAMES = pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])


def thinking(name: str) -> Reply:
    edit = None if name == "reasoning_content" else quirks.reasoning_as(name)
    return Reply(Thinking("think"), "a", edit=edit)


@needs("openai")
@NAMES
def test_B17_thoughts_are_an_extra_field_and_no_content(name: str) -> None:
    client = openai_client(base_url="https://api.deepseek.com")
    with fake_llm.intercept([thinking(name)]) as fake:
        found = [*client.chat.completions.create(model="deepseek-reasoner", messages=HELLO, stream=True)]
    said = [chunk.choices[0].delta for chunk in found if chunk.choices]
    assert "".join(delta.content or "" for delta in said) == "a"
    assert "".join((delta.model_extra or {}).get(name) or "" for delta in said) == "think"
    other = {"reasoning_content", "reasoning"} - {name}
    assert not any(other & chunk["choices"][0]["delta"].keys() for chunk in chunks(fake))


@needs("langchain-openai>=1.7")
@NAMES
def test_B17_langchain_drops_them(name: str) -> None:
    langchain = load("langchain-openai", "langchain_openai")
    model = langchain.ChatOpenAI(model="deepseek-reasoner", api_key="k", base_url="https://api.deepseek.com")
    with fake_llm.intercept([thinking(name)]) as fake:
        said = model.invoke("Hello")
    assert (said.content, name in said.additional_kwargs) == ("a", False)
    assert json.loads(fake.calls[0].response.body)["choices"][0]["message"][name] == "think"


@needs("openai-agents>=0.20")
@NAMES
def test_B17_openai_agents_knows_one_of_the_names(name: str) -> None:
    agents = load("openai-agents", "agents")
    client = load("openai").AsyncOpenAI(api_key="k", base_url="https://api.deepseek.com")
    agent = agents.Agent(name="A", model=agents.OpenAIChatCompletionsModel("deepseek-reasoner", client))

    async def run() -> Any:
        return await agents.Runner.run(agent, "Hello", run_config=agents.RunConfig(tracing_disabled=True))

    with fake_llm.intercept([thinking(name)]):
        result = asyncio.run(run())
    thoughts = [item.raw_item.summary[0].text for item in result.new_items if item.type == "reasoning_item"]
    assert (result.final_output, thoughts) == ("a", ["think"] if name == "reasoning_content" else [])


# --- B18: the end of the thoughts and the start of the answer in one chunk ----------------------

MIXED = Reply(Thinking("That is 81."), "81 it is", edit=quirks.mixed_chunks())


@needs("openai")
def test_B18_one_chunk_has_both() -> None:
    client = openai_client(base_url="https://api.deepseek.com")
    with fake_llm.intercept([MIXED]) as fake:
        found = [*client.chat.completions.create(model="deepseek-reasoner", messages=HELLO, stream=True)]
    said = [chunk.choices[0].delta for chunk in found]
    assert [
        (delta.reasoning_content, delta.content) for delta in said if delta.reasoning_content and delta.content
    ] == [(" 81.", "81")]
    assert "".join(delta.reasoning_content or "" for delta in said) == "That is 81."
    assert "".join(delta.content or "" for delta in said) == "81 it is"
    assert {"reasoning_content": " 81.", "content": "81"}.items() <= chunks(fake)[2]["choices"][0]["delta"].items()


@needs("litellm>=1.110")
def test_B18_the_bridge_to_anthropics_form_keeps_them_apart() -> None:
    litellm = load("litellm")
    asked = {
        "model": "hosted_vllm/m",
        "api_base": "http://vllm.example/v1",
        "messages": HELLO,
        "max_tokens": 99,
        "stream": True,
    }

    async def run() -> list[Any]:
        stream = await litellm.anthropic.messages.acreate(**asked)
        data = b"".join([chunk if isinstance(chunk, bytes) else str(chunk).encode() async for chunk in stream])
        return [json.loads(text) for _, text in events(data)]

    with fake_llm.intercept([MIXED], hosts={"vllm.example/v1": "openai"}):
        found = asyncio.run(run())
    blocks = {
        event["index"]: event["content_block"]["type"] for event in found if event["type"] == "content_block_start"
    }
    deltas = [(blocks[event["index"]], event["delta"]) for event in found if event["type"] == "content_block_delta"]
    assert "".join(delta.get("thinking", "") for _, delta in deltas) == "That is 81."
    assert "".join(delta.get("text", "") for _, delta in deltas) == "81 it is"
    assert {(block, delta["type"]) for block, delta in deltas} == {
        ("thinking", "thinking_delta"),
        ("text", "text_delta"),
    }


# --- B20: words that nobody knows ---------------------------------------------------------------

NEW = Reply("hi", finish_reason="brand_new", extra={"service_tier": "standard"})


@needs("openai")
def test_B20_openai_keeps_unknown_values() -> None:
    with fake_llm.intercept([NEW]) as fake:
        found = openai_client().chat.completions.create(model="gpt-5", messages=HELLO)
    assert (found.service_tier, found.choices[0].finish_reason) == ("standard", "brand_new")
    assert found.choices[0].message.content == "hi"
    assert json.loads(fake.calls[0].response.body)["service_tier"] == "standard"


@pydantic_ai
@each_way
def test_B20_pydantic_ai_takes_a_new_tier(stream: bool) -> None:
    with fake_llm.intercept([NEW]):
        assert asked_of_pydantic_ai(chat_model(), stream=stream) == "hi"


@pydantic_ai
def test_B20_pydantic_ai_takes_no_answer_without_an_id() -> None:
    pydantic = load("pydantic-ai-slim", "pydantic_ai")
    with (
        fake_llm.intercept([Reply("hi", extra={"id": None})]) as fake,
        pytest.raises(pydantic.UnexpectedModelBehavior, match="id"),
    ):
        asked_of_pydantic_ai(chat_model())
    assert json.loads(fake.calls[0].response.body)["id"] is None


@pydantic_ai
def test_B20_openrouter_by_pydantic_ai() -> None:
    models = load("pydantic-ai-slim", "pydantic_ai.models.openrouter")
    provider = load("pydantic-ai-slim", "pydantic_ai.providers.openrouter").OpenRouterProvider(api_key="k")
    with fake_llm.intercept([Reply("hi", extra={"service_tier": "standard"})]):
        assert asked_of_pydantic_ai(models.OpenRouterModel("openai/gpt-5", provider=provider)) == "hi"
