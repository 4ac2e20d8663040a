"""LangChain's own client of Mistral, on plain httpx: thoughts, usage, errors, embeddings.

Structured output and agents are in test_langchain.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Error, FakeLLM
from fake_llm._vectors import vector

mistral = load("langchain-mistralai", "langchain_mistralai")
messages = load("langchain-core>=1", "langchain_core.messages")

pytestmark = needs("langchain-mistralai")


def model(**options: Any) -> Any:
    return mistral.ChatMistralAI(**{"model_name": "magistral-medium-latest", "max_retries": 1, **options})


@pytest.mark.parametrize("status", [400, 401, 422, 429, 500])
def test_errors(status: int) -> None:
    with (
        fake_llm.intercept(default=Error(status, "No.")),
        pytest.raises(httpx.HTTPStatusError, match=r"No\.") as caught,
    ):
        model().invoke("Hi")
    assert caught.value.response.status_code == status


def test_a_request_out_of_order() -> None:
    with fake_llm.intercept(["no"], strict=False), pytest.raises(httpx.HTTPStatusError, match="Expected last role"):
        model().invoke([messages.HumanMessage("Hi"), messages.AIMessage("Hello")])


@fake_llm.intercept()
def test_embeddings(fake: FakeLLM) -> None:
    tokenizers = load("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))  # else it would fetch one
    embeddings = mistral.MistralAIEmbeddings(tokenizer=words)

    assert embeddings.embed_documents(["a", "b"]) == [vector("a", 1024), vector("b", 1024)]
    assert asyncio.run(embeddings.aembed_query("a")) == vector("a", 1024)
    assert [(call.provider, call.operation) for call in fake.calls] == [("mistral", "embeddings")] * 2
