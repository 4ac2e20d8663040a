"""Voyage AI's embeddings and reranking as its SDK reads them, Together's reranking, and Jina's and OpenRouter's on the wire."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import has, needs
from _driver import Driver
from fake_llm import Embedding, Error, FakeLLM, Json, Reply, ScriptMismatchError, Usage
from fake_llm._vectors import vector

TEXTS = ["The weather in Paris", "How do I get a refund?"]
DOCUMENTS = ["Refunds are paid within a week.", "The weather in Paris is mild.", "Cats sleep."]
QUERY = "weather in Paris"


class Voyage(Driver):
    """voyageai has nothing to close."""

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()


@pytest.fixture(params=["Client", "AsyncClient"])
def voyage(request: pytest.FixtureRequest) -> Any:
    if not has("voyageai>=0.5"):
        pytest.skip("needs voyageai>=0.5")
    import voyageai

    with fake_llm.intercept():
        made = Voyage(getattr(voyageai, request.param)())
    yield made
    made.close()


# --- Voyage AI ----------------------------------------------------------------------------------


@fake_llm.intercept()
def test_voyage_vectors(voyage: Voyage, fake_llm: FakeLLM) -> None:
    found = voyage("embed", TEXTS, model="voyage-3.5", input_type="query", output_dimension=256)

    assert found.embeddings == [vector(text, 256) for text in TEXTS]
    call = fake_llm.calls[0]
    assert (call.provider, call.operation, call.model, call.user_texts) == (
        "voyageai",
        "embeddings",
        "voyage-3.5",
        tuple(TEXTS),
    )
    assert (call.params["dimensions"], call.params["input_type"]) == (256, "query")
    assert found.total_tokens == call.usage.input_tokens > 0


@fake_llm.intercept()
def test_voyage_vectors_in_the_size_of_the_model(voyage: Voyage) -> None:
    found = voyage("embed", TEXTS, model="voyage-3-lite")
    assert [len(one) for one in found.embeddings] == [512, 512]


@pytest.mark.parametrize(
    ("kind", "size", "low", "high"),
    [("int8", 256, -128, 127), ("uint8", 256, 0, 255), ("binary", 32, -128, 127), ("ubinary", 32, 0, 255)],
)
@fake_llm.intercept()
def test_voyage_vectors_of_other_numbers(voyage: Voyage, kind: str, size: int, low: int, high: int) -> None:
    plain = voyage("embed", TEXTS[:1], model="voyage-3.5", output_dimension=256).embeddings[0]
    [found] = voyage("embed", TEXTS[:1], model="voyage-3.5", output_dtype=kind, output_dimension=256).embeddings

    assert (len(found), {type(number) for number in found}) == (size, {int})
    assert all(low <= number <= high for number in found)
    if size == 256:
        middle = 128 if kind == "uint8" else 0
        assert max(range(256), key=lambda place: abs(plain[place])) in (
            max(range(256), key=lambda place: abs(found[place] - middle)),
            *(place for place in range(256) if abs(found[place] - middle) == 127),
        )
    else:
        signs = [number > 0 for number in plain]
        bytes_ = [number + (128 if kind == "binary" else 0) for number in found]
        assert [bool(byte >> (7 - bit) & 1) for byte in bytes_ for bit in range(8)] == signs


@fake_llm.intercept()
def test_voyage_vectors_of_chunks(voyage: Voyage, fake_llm: FakeLLM) -> None:
    found = voyage("contextualized_embed", [["a", "b"], ["c"]], model="voyage-context-3", input_type="document")

    assert [len(one.embeddings) for one in found.results] == [2, 1]
    assert found.results[1].embeddings == [vector("c", 1024)]
    assert fake_llm.calls[0].user_texts == ("a", "b", "c")


@fake_llm.intercept()
def test_voyage_divides_a_document(voyage: Voyage) -> None:
    text = "".join(f"Sentence {number}. " for number in range(40))
    found = voyage(
        "contextualized_embed",
        [text],
        model="voyage-context-3",
        input_type="document",
        enable_auto_chunking=True,
        chunk_size=50,
    )
    [document] = found.results
    assert document.chunk_texts is not None
    assert ("".join(document.chunk_texts), len(document.embeddings)) == (text, len(document.chunk_texts))
    assert len(document.embeddings) > 1
    assert found.chunker_version


@fake_llm.intercept()
def test_voyage_vectors_of_pictures(voyage: Voyage, fake_llm: FakeLLM) -> None:
    inputs = [
        {"content": [{"type": "text", "text": "A banana."}]},
        {"content": [{"type": "image_url", "image_url": "https://example.com/banana.jpg"}]},
    ]
    found = voyage("multimodal_embed", inputs, model="voyage-multimodal-3.5", input_type="document")

    assert found.embeddings[0] == vector("A banana.", 1024)
    assert (found.text_tokens, found.image_pixels, found.video_pixels) == (found.total_tokens, 0, 0)
    assert [message.text for message in fake_llm.calls[0].messages] == ["A banana.", "[image]"]


@fake_llm.intercept()
def test_voyage_vectors_that_are_pinned(voyage: Voyage, fake_llm: FakeLLM) -> None:
    fake_llm.when(input="refund", operation="embeddings").reply(
        Reply(Embedding([1.0, 0.0]), Embedding([0.0, 1.0]), usage=Usage(7, 0))
    )
    found = voyage("embed", TEXTS, model="voyage-3.5")
    assert (found.embeddings, found.total_tokens) == ([[1.0, 0.0], [0.0, 1.0]], 7)


@fake_llm.intercept()
def test_voyage_reranks(voyage: Voyage, fake_llm: FakeLLM) -> None:
    found = voyage("rerank", QUERY, DOCUMENTS, model="rerank-2.5", top_k=2)

    assert [one.document for one in found.results] == [DOCUMENTS[1], found.results[1].document]
    scores = [one.relevance_score for one in found.results]
    assert scores == sorted(scores, reverse=True)
    call = fake_llm.calls[0]
    assert (call.operation, call.last_user_text, call.params["documents"]) == ("rerank", QUERY, DOCUMENTS)
    assert found.total_tokens == call.usage.input_tokens > 0


@fake_llm.intercept()
def test_voyage_reranks_by_scripted_scores(voyage: Voyage, fake_llm: FakeLLM) -> None:
    fake_llm.when(operation="rerank").reply(Json([0.1, 0.2, 0.9]), Json([0.5]))
    found = voyage("rerank", QUERY, DOCUMENTS, model="rerank-2.5")
    assert [(one.index, one.relevance_score) for one in found.results] == [(2, 0.9), (1, 0.2), (0, 0.1)]
    voyage("rerank", QUERY, DOCUMENTS[:1], model="rerank-2.5")


VOYAGE_ERRORS = {
    "bad_request": "InvalidRequestError",
    "authentication": "AuthenticationError",
    "permission": "APIError",
    "not_found": "InvalidRequestError",
    "request_too_large": "InvalidRequestError",
    "context_length": "InvalidRequestError",
    "content_filter": "InvalidRequestError",
    "rate_limit": "RateLimitError",
    "quota": "RateLimitError",
    "server_error": "ServerError",
    "unavailable": "ServiceUnavailableError",
    "overloaded": "ServiceUnavailableError",
    "timeout": "ServiceUnavailableError",
}


@needs("voyageai>=0.5")
@pytest.mark.parametrize("name", VOYAGE_ERRORS)
@pytest.mark.parametrize("operation", ["embeddings", "rerank"])
@fake_llm.intercept()
def test_voyage_errors(voyage: Voyage, fake_llm: FakeLLM, name: Any, operation: str) -> None:
    import voyageai

    fake_llm.when(operation=operation).reply(Error(name))
    with pytest.raises(getattr(voyageai.error, VOYAGE_ERRORS[name])) as caught:
        if operation == "embeddings":
            voyage("embed", TEXTS, model="voyage-3.5")
        else:
            voyage("rerank", QUERY, DOCUMENTS, model="rerank-2.5")
    assert type(caught.value).__name__ == VOYAGE_ERRORS[name]


@needs("voyageai>=0.5")
@fake_llm.intercept()
def test_voyage_tries_again(fake_llm: FakeLLM) -> None:
    import voyageai

    fake_llm.when(operation="embeddings", times=2).reply(Error("rate_limit"), Embedding([1.0]))
    assert voyageai.Client(max_retries=3).embed(["a"], model="voyage-3.5").embeddings == [[1.0]]
    assert len(fake_llm.calls) == 2


@needs("voyageai>=0.5")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"texts": [""]}, "cannot contain empty strings"),
        ({"texts": []}, "cannot contain empty strings"),
        ({"output_dimension": 100}, "Value '100' supplied for output_dimension is not allowed"),
        ({"input_type": "classification"}, "Value 'classification' supplied for input_type is not allowed"),
        ({"output_dtype": "int4"}, "Value 'int4' supplied for output_dtype"),
    ],
)
@fake_llm.intercept()
def test_voyage_refuses(voyage: Voyage, wrong: dict[str, Any], words: str) -> None:
    import voyageai

    with pytest.raises(voyageai.error.InvalidRequestError, match=words):
        voyage("embed", **{"texts": TEXTS, "model": "voyage-3.5", **wrong})


# --- Together -----------------------------------------------------------------------------------


@needs("together>=3")
@pytest.mark.parametrize("name", ["Together", "AsyncTogether"])
@fake_llm.intercept()
def test_together_reranks(fake_llm: FakeLLM, name: str) -> None:
    import together

    fake_llm.when(operation="rerank").reply(Json([0.25, 0.75]), Reply(Json([0.5, 0.1]), id="a", usage=Usage(9, 0)))
    ask = Driver(getattr(together, name)(max_retries=0))
    first = ask("rerank.create", model="Salesforce/Llama-Rank-v1", query=QUERY, documents=DOCUMENTS[:2], top_n=1)
    second = ask(
        "rerank.create",
        model="m",
        query=QUERY,
        documents=[{"title": "x", "text": "y"}, {"text": "z"}],
        rank_fields=["title"],
        return_documents=True,
    )
    ask.close()

    assert [(one.index, one.relevance_score, one.document.text) for one in first.results] == [(1, 0.75, None)]
    assert (first.model, first.usage.total_tokens) == ("Salesforce/Llama-Rank-v1", fake_llm.calls[0].usage.total)
    assert [(one.index, one.document.text) for one in second.results] == [(0, "y"), (1, "z")]
    assert (second.id, second.usage.prompt_tokens) == ("a", 9)
    assert fake_llm.calls[0].provider == "together"


@needs("together>=3")
@fake_llm.intercept()
def test_together_errors(fake_llm: FakeLLM) -> None:
    import together

    fake_llm.when(operation="rerank").reply(Error("rate_limit"), Error("authentication"))
    client = together.Together(max_retries=0)
    asked: dict[str, Any] = {"model": "m", "query": QUERY, "documents": DOCUMENTS}
    with pytest.raises(together.RateLimitError, match="rate limit specific to this model m"):
        client.rerank.create(**asked)
    with pytest.raises(together.AuthenticationError):
        client.rerank.create(**asked)
    with pytest.raises(together.BadRequestError, match="documents"):
        client.rerank.create(**{**asked, "documents": []})


# --- Jina and OpenRouter, which have no SDK for it ----------------------------------------------

EMBED, RERANK = "https://api.jina.ai/v1/embeddings", "https://api.jina.ai/v1/rerank"
Post = Callable[[str, Any], Any]


def _requests(url: str, body: Any) -> Any:
    import requests

    return requests.post(url, json=body, timeout=5)


def _httpx(url: str, body: Any) -> Any:
    return httpx.post(url, json=body, verify=False)


@pytest.fixture(params=[_httpx, pytest.param(_requests, marks=needs("requests"))])
def post(request: pytest.FixtureRequest) -> Any:
    return request.param


@fake_llm.intercept()
def test_jina_vectors(post: Post, fake_llm: FakeLLM) -> None:
    body = {"model": "jina-embeddings-v3", "input": TEXTS, "task": "text-matching", "dimensions": 64}
    answer = post(EMBED, body).json()

    assert list(answer) == ["model", "object", "usage", "data"]
    assert [item["embedding"] for item in answer["data"]] == [vector(text, 64) for text in TEXTS]
    call = fake_llm.calls[0]
    assert (call.provider, call.operation, call.model) == ("jina", "embeddings", "jina-embeddings-v3")
    assert answer["usage"] == {"total_tokens": call.usage.total, "prompt_tokens": call.usage.input_tokens}
    assert (call.user_texts, call.params["task"]) == (tuple(TEXTS), "text-matching")


@fake_llm.intercept()
def test_jina_vectors_of_other_numbers_and_pictures(post: Post, fake_llm: FakeLLM) -> None:
    body = {"model": "jina-clip-v2", "input": [{"text": "a"}, {"image": "https://example.com/a.png"}], "dimensions": 64}
    plain = [item["embedding"] for item in post(EMBED, body).json()["data"]]
    packed = post(EMBED, {**body, "embedding_type": "base64"}).json()["data"]
    bits = post(EMBED, {**body, "embedding_type": ["ubinary"]}).json()["data"]
    signed = post(EMBED, {**body, "embedding_type": "binary"}).json()["data"]

    assert [list(struct.unpack("<64f", base64.b64decode(item["embedding"]))) for item in packed] == plain
    for item, one in zip(bits, plain, strict=True):
        assert [bool(byte >> (7 - bit) & 1) for byte in item["embedding"] for bit in range(8)] == [
            number > 0 for number in one
        ]
    assert [[byte - 128 for byte in item["embedding"]] for item in bits] == [item["embedding"] for item in signed]
    assert [message.text for message in fake_llm.calls[0].messages] == ["a", "[image]"]


@fake_llm.intercept()
def test_jina_reranks(post: Post, fake_llm: FakeLLM) -> None:
    body = {"model": "jina-reranker-v2-base-multilingual", "query": QUERY, "documents": DOCUMENTS, "top_n": "2"}
    answer = post(RERANK, body).json()
    bare = post(RERANK, {**body, "return_documents": False}).json()

    assert list(answer) == ["model", "object", "usage", "results"]
    assert [list(item) for item in answer["results"]] == [["index", "relevance_score", "document"]] * 2
    assert answer["results"][0]["document"] == {"text": DOCUMENTS[1]}
    assert [list(item) for item in bare["results"]] == [["index", "relevance_score"]] * 2
    assert answer["usage"] == {"total_tokens": fake_llm.calls[0].usage.total}


@fake_llm.intercept()
def test_jina_refuses(post: Post, fake_llm: FakeLLM) -> None:
    for url, body, words in (
        (EMBED, {"input": "a"}, "body.model: Field required"),
        (EMBED, {"model": "m", "input": [1]}, "body.input: Input should be"),
        (EMBED, {"model": "m", "input": "a", "embedding_type": "int4"}, "body.embedding_type"),
        (RERANK, {"model": "m", "query": "a"}, "body.documents: Field required"),
        (RERANK, {"model": "m", "query": "a", "documents": ["a"], "top_n": 0}, "body.top_n"),
    ):
        answer = post(url, body)
        assert (answer.status_code, answer.json()["detail"][: len(words)]) == (422, words)
    fake_llm.when(operation="rerank").reply(Error("quota"))
    answer = post(RERANK, {"model": "m", "query": "a", "documents": ["a"]})
    assert (answer.status_code, answer.json()["code"]) == (403, "AUTHZ_INSUFFICIENT_BALANCE")


@fake_llm.intercept()
def test_openrouter_reranks_by_scripted_scores(post: Post, fake_llm: FakeLLM) -> None:
    fake_llm.when(operation="rerank").reply(Json([0.25, 0.75, 0.5]))
    body = {"model": "cohere/rerank-v3.5", "query": QUERY, "documents": DOCUMENTS}
    answer = post("https://openrouter.ai/api/v1/rerank", body).json()

    assert [(item["index"], item["relevance_score"]) for item in answer["results"]] == [(1, 0.75), (2, 0.5), (0, 0.25)]
    assert (answer["model"], answer["provider"], answer["id"][:11]) == ("rerank-v3.5", "Cohere", "gen-rerank-")


def test_scores_that_do_not_fit_the_documents() -> None:
    with pytest.raises(ScriptMismatchError, match="2 scores"), fake_llm.intercept() as fake:
        fake.when(operation="rerank").reply(Json([0.1, 0.2]))
        _httpx(RERANK, {"model": "m", "query": "a", "documents": DOCUMENTS})
