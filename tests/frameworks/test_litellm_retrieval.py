"""LiteLLM on Voyage AI, Jina and Together: embeddings and reranking, sync and async."""

from __future__ import annotations

from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Error, FakeLLM, Json
from fake_llm._vectors import vector

litellm = load("litellm>=1.110")
pytestmark = [
    needs("litellm>=1.110"),
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class", "ignore::DeprecationWarning"),
]
TEXTS = ["The weather in Paris", "How do I get a refund?"]
DOCUMENTS = ["Refunds are paid within a week.", "The weather in Paris is mild.", "Cats sleep."]
EMBEDDERS = pytest.mark.parametrize(
    ("model", "provider"), [("voyage/voyage-3.5", "voyageai"), ("jina_ai/jina-embeddings-v3", "jina")]
)
RERANKERS = pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("voyage/rerank-2.5", "voyageai"),
        ("jina_ai/jina-reranker-v2-base-multilingual", "jina"),
        ("together_ai/Salesforce/Llama-Rank-v1", "together"),
    ],
)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm, "suppress_debug_info", True)


def vectors(answer: Any) -> list[list[float]]:
    return [item["embedding"] for item in answer.data]


@EMBEDDERS
@fake_llm.intercept()
def test_vectors(fake_llm: FakeLLM, model: str, provider: str) -> None:
    answer = litellm.embedding(model=model, input=TEXTS)
    assert vectors(answer) == [vector(text, 1024) for text in TEXTS]
    assert (fake_llm.calls[0].provider, answer.usage.total_tokens) == (provider, fake_llm.calls[0].usage.total)


@EMBEDDERS
@pytest.mark.asyncio
async def test_vectors_async(model: str, provider: str) -> None:
    async with fake_llm.intercept() as fake:
        answer = await litellm.aembedding(model=model, input=TEXTS)
    assert vectors(answer) == [vector(text, 1024) for text in TEXTS]
    assert fake.calls[0].provider == provider


@RERANKERS
@fake_llm.intercept()
def test_reranking(fake_llm: FakeLLM, model: str, provider: str) -> None:
    fake_llm.when(operation="rerank").reply(Json([0.25, 0.75, 0.5]))
    answer = litellm.rerank(model=model, query="weather", documents=DOCUMENTS, top_n=2)
    assert [(item["index"], item["relevance_score"]) for item in answer.results] == [(1, 0.75), (2, 0.5)]
    call = fake_llm.calls[0]
    assert (call.provider, call.last_user_text, call.params["documents"]) == (provider, "weather", DOCUMENTS)


@RERANKERS
@pytest.mark.asyncio
async def test_reranking_async(model: str, provider: str) -> None:
    async with fake_llm.intercept() as fake:
        answer = await litellm.arerank(model=model, query="weather in Paris", documents=DOCUMENTS)
    assert answer.results[0]["index"] == 1
    assert fake.calls[0].provider == provider


@EMBEDDERS
@fake_llm.intercept()
def test_an_error(fake_llm: FakeLLM, model: str, provider: str) -> None:
    fake_llm.when(operation="embeddings").reply(Error("rate_limit"))
    with pytest.raises(litellm.RateLimitError):
        litellm.embedding(model=model, input=TEXTS, num_retries=0)
