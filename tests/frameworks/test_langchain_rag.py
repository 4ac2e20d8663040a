"""LangChain: a vector store that is filled and searched, and a chain that answers from what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Embedding, Error, UnusedReplyError
from fake_llm._vectors import vector

stores = load("langchain-core>=1", "langchain_core.vectorstores")

DOCUMENTS = [
    "Refunds are paid back to your card within five working days.",
    "We ship to Canada and the USA; shipping takes three to seven days.",
    "To cancel a subscription, open Settings and choose Billing.",
]
QUESTION = "Do you ship to Canada?"


def _openai(**options: Any) -> Any:
    from langchain_openai import OpenAIEmbeddings

    # else it asks a tokenizer, which is downloaded
    return OpenAIEmbeddings(model="text-embedding-3-small", check_embedding_ctx_length=False, max_retries=0, **options)


def _google(**options: Any) -> Any:
    from langchain_google_genai import GoogleGenerativeAIEmbeddings

    return GoogleGenerativeAIEmbeddings(model="models/gemini-embedding-001", **options)


each = pytest.mark.parametrize(
    ("make", "dialect", "size"),
    [
        pytest.param(_openai, "openai_embeddings", 1536, id="openai", marks=needs("langchain-openai")),
        pytest.param(_google, "gemini_embeddings", 3072, id="google", marks=needs("langchain-google-genai")),
    ],
)
Make = Callable[..., Any]


@each
def test_the_document_that_answers_is_found(make: Make, dialect: str, size: int) -> None:
    with fake_llm.intercept() as fake:
        store = stores.InMemoryVectorStore.from_texts(DOCUMENTS, embedding=make())
        found = store.similarity_search_with_score(QUESTION, k=3)
    assert found[0][0].page_content == DOCUMENTS[1]
    assert found[0][1] > found[1][1] + 0.1
    assert [text for call in fake.calls for text in call.user_texts] == [*DOCUMENTS, QUESTION]
    assert {(call.operation, call.dialect) for call in fake.calls} == {("embeddings", dialect)}
    assert [len(item["vector"]) for item in store.store.values()] == [size] * 3


@each
@pytest.mark.asyncio
async def test_the_document_that_answers_is_found_async(make: Make, dialect: str, size: int) -> None:
    async with fake_llm.intercept():
        store = stores.InMemoryVectorStore(make())
        await store.aadd_texts(DOCUMENTS)
        found = await store.asimilarity_search(QUESTION, k=1)
    assert [document.page_content for document in found] == DOCUMENTS[1:2]


@each
def test_a_pinned_vector(make: Make, dialect: str, size: int) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings", input="ship").reply(Embedding([1, 0]))
        fake.when(operation="embeddings").reply(Embedding([0, 1]))
        assert make().embed_query(QUESTION) == [1, 0]
        assert make().embed_documents(["Hello"]) == [[0, 1]]


@needs("langchain-openai")
def test_a_smaller_size() -> None:
    with fake_llm.intercept():
        assert _openai(dimensions=64).embed_query("Hello") == vector("Hello", 64)


@needs("langchain-openai")
def test_an_error_of_the_vendor() -> None:
    import openai

    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Error(429))
        with pytest.raises(openai.RateLimitError):
            _openai().embed_query("Hello")


@needs("langchain-openai")
def test_a_chain_that_answers_from_what_it_finds() -> None:
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnablePassthrough
    from langchain_openai import ChatOpenAI

    with fake_llm.intercept(["Yes, in three to seven days."]) as fake:
        store = stores.InMemoryVectorStore.from_texts(DOCUMENTS, embedding=_openai())
        prompt = ChatPromptTemplate.from_messages([("system", "Answer from: {context}"), ("user", "{question}")])
        sources = {"context": store.as_retriever(search_kwargs={"k": 1}), "question": RunnablePassthrough()}
        chain = sources | prompt | ChatOpenAI(model="gpt-5") | StrOutputParser()
        assert chain.invoke(QUESTION) == "Yes, in three to seven days."
    (asked,) = fake.calls.chat
    assert DOCUMENTS[1] in asked.system
    assert DOCUMENTS[0] not in asked.system
    assert asked.last_user_text == QUESTION


@needs("langchain-openai")
def test_a_chain_that_never_asks_leaves_its_turn() -> None:
    with pytest.raises(UnusedReplyError), fake_llm.intercept(["An answer."]):
        _openai().embed_query(QUESTION)
