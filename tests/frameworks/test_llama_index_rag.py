"""LlamaIndex: an index that is filled and searched, and engines that answer from what they find."""

from __future__ import annotations

from typing import Any

import pytest
from _one_turn import fails, fails_async, mine

import fake_llm
from _capability import load
from fake_llm import Embedding, Error, ToolCall, UnscriptedCallError, UnusedReplyError
from fake_llm._vectors import vector

core = load("llama-index-core>=0.14", "llama_index.core")
embeddings = load("llama-index-embeddings-openai", "llama_index.embeddings.openai")
llms = load("llama-index-llms-openai", "llama_index.llms.openai")
openai = load("openai")

DOCUMENTS = [
    "Refunds are paid back to your card within five working days.",
    "We ship to Canada and the USA; shipping takes three to seven days.",
    "To cancel a subscription, open Settings and choose Billing.",
]
QUESTION = "Do you ship to Canada?"
ANSWER = "Yes, in three to seven days."

MODELS = {"openai_chat": llms.OpenAI, "openai_responses": llms.OpenAIResponses}
each_model = pytest.mark.parametrize("dialect", MODELS)


def _embed(**options: Any) -> Any:
    return embeddings.OpenAIEmbedding(model="text-embedding-3-small", max_retries=0, **options)


def _model(dialect: str = "openai_chat", **options: Any) -> Any:
    return MODELS[dialect](model="gpt-4.1", max_retries=0, **options)


def _memory() -> Any:
    """A list of messages: the default is a database that is left open."""
    from llama_index.core.memory import ChatMemoryBuffer

    return ChatMemoryBuffer.from_defaults(token_limit=4000)


def _index(**options: Any) -> Any:
    documents = [core.Document(text=text, id_=str(place)) for place, text in enumerate(DOCUMENTS)]
    return core.VectorStoreIndex.from_documents(documents, embed_model=_embed(**options))


async def _index_async() -> Any:
    index = core.VectorStoreIndex([], embed_model=_embed())
    for place, text in enumerate(DOCUMENTS):
        await index.ainsert(core.Document(text=text, id_=str(place)))
    return index


def _check(fake: fake_llm.FakeLLM, answer: Any, dialect: str, *, stream: bool = False) -> None:
    """The model was shown the document that answers, and nothing else."""
    assert [node.text for node in answer.source_nodes] == DOCUMENTS[1:2]
    (asked,) = fake.calls.chat
    assert (asked.dialect, asked.stream, asked.model) == (dialect, stream, "gpt-4.1")
    assert DOCUMENTS[1] in asked.last_user_text
    assert QUESTION in asked.last_user_text
    assert not any(text in asked.last_user_text for text in (DOCUMENTS[0], DOCUMENTS[2]))
    assert {call.dialect for call in fake.calls.filter(operation="embeddings")} == {"openai_embeddings"}
    assert len(fake.side_calls) == 0


# --- what is found ------------------------------------------------------------------------------


@pytest.mark.usefixtures("loop")
def test_the_document_that_answers_is_found() -> None:
    with fake_llm.intercept() as fake:
        found = _index().as_retriever(similarity_top_k=3).retrieve(QUESTION)
    assert found[0].text == DOCUMENTS[1]
    assert found[0].score > found[1].score + 0.1
    assert [text for call in fake.calls for text in call.user_texts] == [*DOCUMENTS, QUESTION]


@pytest.mark.asyncio
async def test_the_document_that_answers_is_found_async() -> None:
    async with fake_llm.intercept() as fake:
        found = await (await _index_async()).as_retriever(similarity_top_k=1).aretrieve(QUESTION)
    assert [node.text for node in found] == DOCUMENTS[1:2]
    assert [call.user_texts for call in fake.calls] == [(text,) for text in (*DOCUMENTS, QUESTION)]


@pytest.mark.usefixtures("loop")
def test_an_index_that_was_written_to_a_folder(tmp_path: Any) -> None:
    with fake_llm.intercept():
        _index().storage_context.persist(str(tmp_path))
    with fake_llm.intercept() as fake:
        storage = core.StorageContext.from_defaults(persist_dir=str(tmp_path))
        index = core.load_index_from_storage(storage, embed_model=_embed())
        found = index.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    assert [node.text for node in found] == DOCUMENTS[1:2]
    assert [call.user_texts for call in fake.calls] == [(QUESTION,)]


@pytest.mark.usefixtures("loop")
def test_a_document_that_is_taken_out_is_not_found() -> None:
    with fake_llm.intercept():
        index = _index()
        index.delete_ref_doc("1", delete_from_docstore=True)
        found = index.as_retriever(similarity_top_k=3).retrieve(QUESTION)
    assert {node.text for node in found} == {DOCUMENTS[0], DOCUMENTS[2]}


@pytest.mark.usefixtures("loop")
def test_vectors() -> None:
    with fake_llm.intercept():
        assert len(_embed().get_text_embedding("Hello")) == 1536
        assert _embed(dimensions=64).get_text_embedding("Hello") == pytest.approx(vector("Hello", 64), abs=1e-6)
        one, two = _embed(dimensions=64).get_text_embedding_batch(["Hello", "Bye"])
    assert one != two


@pytest.mark.usefixtures("loop")
def test_a_pinned_vector_decides() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings", input="Settings").reply(
            [Embedding([0, 1]), Embedding([0, 1]), Embedding([1, 0])]
        )
        fake.when(operation="embeddings").reply(Embedding([1, 0]))
        found = _index().as_retriever(similarity_top_k=1).retrieve(QUESTION)
    assert [node.text for node in found] == DOCUMENTS[2:]


@pytest.mark.usefixtures("loop")
def test_an_error_of_the_vendor() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Error(401))
        with pytest.raises(openai.AuthenticationError):
            _index()


# --- what is answered ---------------------------------------------------------------------------


@pytest.mark.usefixtures("loop")
@each_model
def test_an_engine_answers_from_what_it_finds(dialect: str) -> None:
    with fake_llm.intercept([ANSWER]) as fake:
        answer = _index().as_query_engine(llm=_model(dialect), similarity_top_k=1).query(QUESTION)
    assert str(answer) == ANSWER
    _check(fake, answer, dialect)


@pytest.mark.usefixtures("loop")
@each_model
def test_an_engine_that_streams(dialect: str) -> None:
    with fake_llm.intercept([ANSWER]) as fake:
        engine = _index().as_query_engine(llm=_model(dialect), similarity_top_k=1, streaming=True)
        answer = engine.query(QUESTION)
        said = [text for text in answer.response_gen if text]
    assert said == ["Yes,", " in", " three", " to", " seven", " days."]
    _check(fake, answer, dialect, stream=True)


@each_model
@pytest.mark.asyncio
async def test_an_engine_async(dialect: str) -> None:
    async with fake_llm.intercept([ANSWER]) as fake:
        engine = (await _index_async()).as_query_engine(llm=_model(dialect), similarity_top_k=1)
        answer = await engine.aquery(QUESTION)
    assert str(answer) == ANSWER
    _check(fake, answer, dialect)


@each_model
@pytest.mark.asyncio
async def test_an_engine_that_streams_async(dialect: str) -> None:
    async with fake_llm.intercept([ANSWER]) as fake:
        engine = (await _index_async()).as_query_engine(llm=_model(dialect), similarity_top_k=1, streaming=True)
        answer = await engine.aquery(QUESTION)
        said = [text async for text in answer.async_response_gen() if text]
    assert said == ["Yes,", " in", " three", " to", " seven", " days."]
    _check(fake, answer, dialect, stream=True)


@pytest.mark.usefixtures("loop")
def test_a_chat_that_puts_the_question_anew() -> None:
    with fake_llm.intercept(["Yes.", QUESTION, ANSWER]) as fake:
        engine = _index().as_chat_engine(
            chat_mode="condense_plus_context", llm=_model(), memory=_memory(), similarity_top_k=1
        )
        assert str(engine.chat("Do you ship?")) == "Yes."
        answer = engine.chat("To Canada?")
    assert str(answer) == ANSWER
    assert [node.text for node in answer.source_nodes] == DOCUMENTS[1:2]
    assert [call.user_texts[0] for call in fake.calls.filter(operation="embeddings")[1:]] == ["Do you ship?", QUESTION]
    assert "To Canada?" in fake.calls.chat[1].last_user_text
    assert [said.text for said in fake.calls.chat[2].messages if said.role == "assistant"] == ["Yes."]


@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20")  # its workflows (2.26)
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211")
@each_model
@pytest.mark.asyncio
async def test_an_agent_that_looks_it_up(dialect: str) -> None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import QueryEngineTool

    async with fake_llm.intercept([ToolCall("look_up", {"input": QUESTION}), ANSWER, "They do."]) as fake:
        engine = (await _index_async()).as_query_engine(llm=_model(dialect), similarity_top_k=1)
        tool = QueryEngineTool.from_defaults(engine, name="look_up", description="The rules of the shop.")
        agent = FunctionAgent(tools=[tool], llm=_model(dialect), system_prompt="Be brief.")
        answer = await agent.run("Can they send it to Toronto?", memory=_memory())
    assert str(answer) == "They do."
    assert [call.last_user_text == "Can they send it to Toronto?" for call in fake.calls.chat] == [True, False, True]
    assert DOCUMENTS[1] in fake.calls.chat[1].last_user_text
    assert [(one.name, one.text) for one in fake.calls[-1].tool_results] == [("look_up", ANSWER)]


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.usefixtures("loop")
def test_an_engine_that_never_asks_leaves_its_turn() -> None:
    with pytest.raises(UnusedReplyError), fake_llm.intercept([ANSWER]):
        _index().as_retriever().retrieve(QUESTION)


@pytest.mark.usefixtures("loop")
@each_model
def test_a_script_that_ends_too_early(dialect: str) -> None:
    assert isinstance(fails(lambda: _model(dialect).complete(QUESTION), []), UnscriptedCallError)
    assert isinstance(fails(lambda: _model(dialect).complete(QUESTION), [mine]), AssertionError)


@each_model
@pytest.mark.asyncio
async def test_a_script_that_ends_too_early_async(dialect: str) -> None:
    assert isinstance(await fails_async(lambda: _model(dialect).acomplete(QUESTION), []), UnscriptedCallError)
    assert isinstance(await fails_async(lambda: _model(dialect).acomplete(QUESTION), [mine]), AssertionError)
