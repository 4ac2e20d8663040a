"""LiteLLM's `mistral/`: sync and async, whole and streamed, by its own client of Mistral."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fake_llm
from _capability import needs
from fake_llm import Error, ToolCall

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
