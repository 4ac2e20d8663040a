"""LiteLLM on Ollama's own API by both of its names, `ollama_chat/` and `ollama/`: what it asks beside a call disturbs nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fake_llm
from _capability import load
from fake_llm import Error, FakeLLM, Thinking

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? '.*' on TypedDict class:UserWarning",  # pydantic's word on its types (1.110)
)
HI = [{"role": "user", "content": "Hi"}]
NAMES = {"ollama_chat/qwen3:8b": "ollama_chat", "ollama/qwen3:8b": "ollama_generate"}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "It.", "parameters": WEATHER}}]
names = pytest.mark.parametrize(("name", "dialect"), NAMES.items(), ids=NAMES.values())
flavours = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture(autouse=True)
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return load("litellm>=1.110")


def asked(is_async: bool, **options: Any) -> Any:
    """The answer, or the chunks of one."""
    import litellm

    options = {"messages": HI, "num_retries": 0, **options}
    stream = options.get("stream", False)

    async def ask() -> Any:
        answer = await litellm.acompletion(**options)
        return [chunk async for chunk in answer] if stream else answer

    if is_async:
        return asyncio.run(ask())
    answer = litellm.completion(**options)
    return list(answer) if stream else answer


@flavours
def test_thinking(is_async: bool) -> None:
    script = [[Thinking("Hm."), "Yes."]] * 2
    with fake_llm.intercept(script) as fake:
        answer = asked(is_async, model="ollama_chat/qwen3:8b", reasoning_effort="low")
        chunks = asked(is_async, model="ollama_chat/qwen3:8b", reasoning_effort="low", stream=True)
    assert (answer.choices[0].message.reasoning_content, answer.choices[0].message.content) == ("Hm.", "Yes.")
    thoughts = [getattr(chunk.choices[0].delta, "reasoning_content", None) or "" for chunk in chunks]
    assert "".join(thoughts) == "Hm."
    assert fake.calls[0].params["think"] in (True, "low")


@names
@flavours
def test_an_error(name: str, dialect: str, is_async: bool) -> None:
    with fake_llm.intercept([Error("not_found")]), pytest.raises(Exception, match="'qwen3:8b' not found"):
        asked(is_async, model=name)


@flavours
def test_embeddings(litellm: Any, is_async: bool) -> None:
    def embed() -> Any:
        options = {"model": "ollama/nomic-embed-text", "input": ["a", "b"]}
        return asyncio.run(litellm.aembedding(**options)) if is_async else litellm.embedding(**options)

    with fake_llm.intercept() as fake:
        answer = embed()
    assert [len(item["embedding"]) for item in answer.data] == [768, 768]
    assert fake.calls[0].user_texts == ("a", "b")


def test_what_it_looks_up_afterwards_takes_no_turn() -> None:
    """It asks for the model on a thread of its own, which may be late."""
    fakes: list[FakeLLM] = []
    for _ in range(3):
        with fake_llm.intercept(["Hello!"]) as fake:
            assert asked(False, model="ollama_chat/qwen3:8b").choices[0].message.content == "Hello!"
        fakes.append(fake)
    assert all(len(fake.calls) == 1 and not fake.failures for fake in fakes)
    assert {call.operation for fake in fakes for call in fake.side_calls} <= {"models"}
