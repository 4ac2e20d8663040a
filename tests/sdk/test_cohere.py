"""What the list of cases doesn't ask of Cohere: plans, citations, probabilities, generate, embeddings, reranking, errands."""

from __future__ import annotations

import asyncio
import base64
import struct
from typing import Any

import pytest

import fake_llm
from _capability import needs
from fake_llm import (
    Citation,
    Embedding,
    Error,
    FakeLLM,
    Json,
    Raw,
    Reply,
    ScriptMismatchError,
    Thinking,
    ToolCall,
    Usage,
)
from fake_llm._vectors import vector

pytestmark = [
    needs("cohere>=7"),
    # by the SDK, where it merges answers
    pytest.mark.filterwarnings("ignore:Accessing the 'model_fields' attribute", "ignore:The `parse_obj` method"),
]
COMMAND, REASONING = "command-a-03-2025", "command-a-reasoning-08-2025"
HI: Any = [{"role": "user", "content": "Hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
TOOLS_V1: Any = [{"name": "get_weather", "description": "d", "parameter_definitions": {"city": {"type": "str"}}}]
PARIS = ToolCall("get_weather", {"city": "Paris"})
TEXTS = ["How do I get a refund?", "The weather in Paris"]
KINDS = ["float", "int8", "uint8", "binary", "ubinary", "base64"]


def client(**options: Any) -> Any:
    import cohere

    return cohere.ClientV2(max_retries=0, **options)


def first(**options: Any) -> Any:
    import cohere

    return cohere.Client(max_retries=0, **options)


def streamed(events: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for event in events:
        found.setdefault(event.type if hasattr(event, "type") else event.event_type, []).append(event)
    return found


# --- chat of v2 ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "turn", "plan", "thoughts"),
    [
        ({"model": COMMAND}, ["Let me look.", PARIS], "Let me look.", []),
        ({"model": COMMAND}, [Thinking("I need it."), PARIS], "I need it.", []),
        ({"model": COMMAND}, [Thinking("Hm."), "Let me look.", PARIS], "Let me look.", ["Hm."]),
        ({"model": COMMAND, "thinking": {"type": "enabled"}}, [Thinking("Hm."), PARIS], None, ["Hm."]),
        ({"model": REASONING}, [Thinking("Hm."), PARIS], None, ["Hm."]),
        ({"model": REASONING, "thinking": {"type": "disabled"}}, [Thinking("Hm."), PARIS], "Hm.", []),
    ],
)
def test_what_is_said_beside_a_call_is_its_plan(asked: Any, turn: Any, plan: str | None, thoughts: list[str]) -> None:
    with fake_llm.intercept([turn, turn]):
        message = client().chat(messages=HI, tools=TOOLS, **asked).message
        events = streamed(client().chat_stream(messages=HI, tools=TOOLS, **asked))
    assert message.tool_plan == plan
    assert [part.thinking for part in message.content or ()] == thoughts
    pieces = [event.delta.message.tool_plan for event in events.get("tool-plan-delta", ())]
    assert "".join(pieces) == (plan or "")
    said = [event.delta.message.content.thinking for event in events.get("content-delta", ())]
    assert "".join(said) == "".join(thoughts)
    assert message.tool_calls[0].id.startswith("get_weather_")


def test_citations_name_what_the_request_brought() -> None:
    documents: Any = [{"id": "sky", "data": {"title": "Sky", "text": "The sky is blue."}}, "Grass is green."]
    turn = [Thinking("Hm."), "It is ", Citation("blue", "sky"), ", not ", Citation("green", "doc:1"), "."]
    with fake_llm.intercept([turn, turn]) as fake:
        message = client().chat(model=COMMAND, messages=HI, documents=documents).message
        events = streamed(client().chat_stream(model=COMMAND, messages=HI, documents=documents))
    assert [part.type for part in message.content] == ["thinking", "text"]
    text = message.content[1].text
    assert text == "It is blue, not green."
    for citation in message.citations:
        assert text[citation.start : citation.end] == citation.text
        assert (citation.type, citation.content_index) == ("TEXT_CONTENT", 1)
    sources = [citation.sources[0] for citation in message.citations]
    assert [(source.type, source.id) for source in sources] == [("document", "sky"), ("document", "doc:1")]
    assert [source.document["text"] for source in sources] == ["The sky is blue.", "Grass is green."]
    assert [event.delta.message.citations for event in events["citation-start"]] == message.citations
    assert [event.index for event in events["citation-end"]] == [0, 1]
    assert fake.calls[0].params["documents"] == documents


@pytest.mark.parametrize("source", ["sky", "0", "Sky"], ids=["id", "place", "title"])
def test_a_source_is_said_by_its_id_its_place_or_its_title(source: str) -> None:
    documents: Any = [{"id": "sky", "data": {"title": "Sky", "text": "The sky is blue."}}]
    old: Any = [{"id": "sky", "title": "Sky", "text": "The sky is blue."}]
    turn = ["It is ", Citation("blue", source), "."]
    with fake_llm.intercept([turn, turn]):
        [citation] = client().chat(model=COMMAND, messages=HI, documents=documents).message.citations
        before = first().chat(message="Hi", documents=old)
    assert (citation.sources[0].id, citation.sources[0].document["text"]) == ("sky", "The sky is blue.")
    assert before.citations[0].document_ids == ["sky"]
    assert [document["text"] for document in before.documents] == ["The sky is blue."]


@pytest.mark.parametrize("version", [1, 2])
def test_a_source_that_the_request_does_not_bring_is_a_mismatch(version: int) -> None:
    documents: Any = [{"id": "sky", "data": {"text": "The sky is blue."}}]
    with pytest.raises(ScriptMismatchError) as caught, fake_llm.intercept([Citation("blue", "sea")]):
        if version == 1:
            first().chat(message="Hi", documents=[{"id": "sky", "text": "The sky is blue."}])
        else:
            client().chat(model=COMMAND, messages=HI, documents=documents)
    assert str(caught.value) == (
        "The turn cites 'sea'.\nThe request brings 'sky'.\nWrite the id, the title or the place of one of these, or a URL."
    )


def test_a_citation_of_no_text_is_one_more_source() -> None:
    documents: Any = [{"id": "a", "data": {"text": "Blue."}}, {"id": "b", "data": {"text": "Blue!"}}]
    old: Any = [{"id": "a", "text": "Blue."}, {"id": "b", "text": "Blue!"}]
    turn = ["It is ", Citation("blue", "a"), Citation("", "b"), "."]
    with fake_llm.intercept([turn] * 4):
        [citation] = client().chat(model=COMMAND, messages=HI, documents=documents).message.citations
        events = streamed(client().chat_stream(model=COMMAND, messages=HI, documents=documents))
        before = first().chat(message="Hi", documents=old)
        *_, last = first().chat_stream(message="Hi", documents=old)
    assert (citation.text, [source.id for source in citation.sources]) == ("blue", ["a", "b"])
    assert [event.delta.message.citations for event in events["citation-start"]] == [citation]
    assert [(each.text, each.document_ids) for each in before.citations] == [("blue", ["a", "b"])]
    assert last.response.citations == before.citations
    assert [document["id"] for document in before.documents] == ["a", "b"]


@pytest.mark.parametrize("source", ["c1", "c1:0", "0"])
def test_a_result_that_is_a_text_can_be_cited(source: str) -> None:
    call: Any = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    history: Any = [
        *HI,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "18 degrees"},
    ]
    with fake_llm.intercept([Citation("18", source)]):
        [citation] = client().chat(model=COMMAND, messages=history).message.citations
    [found] = citation.sources
    assert (found.type, found.id, found.tool_output) == ("tool", "c1:0", {"content": "18 degrees"})


def test_citations_of_a_tool_and_of_a_page() -> None:
    call: Any = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    document = {"type": "document", "document": {"id": "w1", "data": {"sky": "blue"}}}
    history = [
        *HI,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": [document]},
    ]
    page = Citation("Paris", "https://paris.example", title="Paris")
    with fake_llm.intercept([[Citation("Blue", "w1"), " in ", page]]) as fake:
        citations = client().chat(model=COMMAND, messages=history).message.citations
    assert citations[0].sources[0].type == "tool"
    assert citations[0].sources[0].tool_output == {"sky": "blue"}
    assert citations[1].sources[0].document == {"id": "https://paris.example", "title": "Paris"}
    assert fake.calls[0].tool_results[0].text == "blue"


def test_an_answer_with_citations_is_read_back() -> None:
    """A whole answer as a turn, streamed: its citations stay where they are."""
    turn = [Thinking("Hm."), "It is ", Citation("blue", "sky", title="Sky"), "."]
    with fake_llm.intercept([turn]):
        answer = client().chat(model=COMMAND, messages=HI)
    with fake_llm.intercept([answer]):
        events = streamed(client().chat_stream(model=COMMAND, messages=HI))
    assert [event.delta.message.citations for event in events["citation-start"]] == answer.message.citations


def test_probabilities_are_given_when_they_are_asked_for() -> None:
    with fake_llm.intercept(["It rains.", "It rains.", Reply("Hi.", logprobs=[("Hi", -0.5), (".", -0.1)])]):
        made_up = client().chat(model=COMMAND, messages=HI, logprobs=True)
        events = streamed(client().chat_stream(model=COMMAND, messages=HI, logprobs=True))
        scripted = client().chat(model=COMMAND, messages=HI, logprobs=True)
    assert [entry.text for entry in made_up.logprobs] == ["It", " rains."]
    assert [event.logprobs.text for event in events["content-delta"]] == ["It", " rains."]
    assert [(entry.text, entry.logprobs) for entry in scripted.logprobs] == [("Hi", [-0.5]), (".", [-0.1])]


def test_usage_with_what_is_billed_otherwise() -> None:
    usage = Usage(120, 30, cached_tokens=40, reasoning_tokens=9, details={"billed_units": {"input_tokens": 5}})
    with fake_llm.intercept([Reply("x", usage=usage)]) as fake:
        counted = client().chat(model=COMMAND, messages=HI).usage
    assert (counted.tokens.input_tokens, counted.tokens.output_tokens, counted.cached_tokens) == (120, 30, 40)
    assert counted.tokens.reasoning_tokens == 9
    assert (counted.billed_units.input_tokens, counted.billed_units.output_tokens) == (5, 30)
    assert fake.usage.total == 150


def test_an_error_inside_a_stream_is_its_end() -> None:
    with fake_llm.intercept([Reply("It", then=Error("overloaded", "too busy"))]):
        [end] = streamed(client().chat_stream(model=COMMAND, messages=HI))["message-end"]
    assert (end.delta.finish_reason, end.delta.error) == ("ERROR", "too busy")


@pytest.mark.parametrize(
    ("error", "name", "status"),
    [
        (Error("bad_request"), "BadRequestError", 400),
        (Error("context_length"), "BadRequestError", 400),
        (Error("authentication"), "UnauthorizedError", 401),
        (Error("permission"), "ForbiddenError", 403),
        (Error("not_found"), "NotFoundError", 404),
        (Error("content_filter"), "InvalidTokenError", 498),  # what the SDK calls this status
        (Error("rate_limit"), "TooManyRequestsError", 429),
        (Error("server_error"), "InternalServerError", 500),
        (Error("unavailable"), "ServiceUnavailableError", 503),
        (Error("overloaded"), "ServiceUnavailableError", 503),
        (Error("timeout"), "GatewayTimeoutError", 504),
        (Error(422), "UnprocessableEntityError", 422),
    ],
    ids=repr,
)
@pytest.mark.parametrize("make", [client, first])
def test_errors_are_the_sdk_s_own(error: Error, name: str, status: int, make: Any) -> None:
    import cohere

    asked = {"messages": HI} if make is client else {"message": "Hi"}
    for ask in ("chat", "chat_stream"):
        with fake_llm.intercept([error]), pytest.raises(getattr(cohere.errors, name)) as caught:
            list(getattr(make(), ask)(model=COMMAND, **asked))
        assert type(caught.value).__name__ == name
        assert caught.value.status_code == status
        assert caught.value.body["message"]


def test_an_error_says_what_the_vendor_says() -> None:
    import cohere

    with fake_llm.intercept([Error("not_found"), Error("quota")]):
        with pytest.raises(cohere.NotFoundError) as caught:
            client().chat(model="command-x", messages=HI)
        assert caught.value.body["message"].startswith("model 'command-x' not found, make sure")
        with pytest.raises(cohere.core.ApiError) as unpaid:
            client().chat(model=COMMAND, messages=HI)
    assert unpaid.value.status_code == 402


def test_a_refused_request_takes_no_turn() -> None:
    import cohere

    history: Any = [*HI, {"role": "tool", "tool_call_id": "nobody's", "content": "sunny"}]
    with fake_llm.intercept(["Hi."]) as fake:
        with pytest.raises(cohere.BadRequestError) as caught:
            client().chat(model=COMMAND, messages=history)
        assert caught.value.body["message"] == "tool call id not found in previous tool calls"
        assert client().chat(model=COMMAND, messages=HI).message.content[0].text == "Hi."
    assert [call.response.status for call in fake.calls] == [400, 200]


# --- v1 ------------------------------------------------------------------------------------------


def test_citations_of_v1() -> None:
    documents = [{"id": "sky", "title": "Sky", "text": "The sky is blue."}]
    turn = ["It is ", Citation("blue", "sky"), "."]
    with fake_llm.intercept([turn, turn]):
        answer = first().chat(message="Hi", documents=documents)
        events = streamed(first().chat_stream(message="Hi", documents=documents))
    assert [(one.start, one.end, one.text, one.document_ids) for one in answer.citations] == [(6, 10, "blue", ["sky"])]
    assert answer.documents == documents
    assert events["citation-generation"][0].citations == answer.citations
    assert events["search-results"][0].documents == documents
    assert events["stream-end"][0].response.citations == answer.citations


def test_a_call_of_v1_has_the_id_that_a_script_gives() -> None:
    with fake_llm.intercept([PARIS, ToolCall("get_weather", {"city": "Rome"}, id="g1")]):
        [without] = first().chat(message="Hi", tools=TOOLS_V1).tool_calls
        [having] = first().chat(message="Hi", tools=TOOLS_V1).tool_calls
    assert (without.name, without.parameters) == ("get_weather", {"city": "Paris"})
    assert not hasattr(without, "generation_id")
    assert having.generation_id == "g1"


def test_the_history_of_v1_is_read_and_given_back() -> None:
    history: Any = [
        {"role": "SYSTEM", "message": "In French."},
        {"role": "USER", "message": "Hi"},
        {"role": "CHATBOT", "message": "Salut"},
    ]
    with fake_llm.intercept(["Bien."]) as fake:
        answer = first().chat(message="And now?", chat_history=history, preamble="Be brief.", k=3, p=0.5)
    assert [(turn.role, turn.message) for turn in answer.chat_history][-2:] == [
        ("USER", "And now?"),
        ("CHATBOT", "Bien."),
    ]
    call = fake.calls[0]
    assert call.system == "Be brief.\nIn French."
    assert [message.role for message in call.messages] == ["system", "user", "assistant", "user"]
    assert (call.params["top_k"], call.params["top_p"]) == (3, 0.5)


def test_a_part_that_v1_has_no_place_for_is_told() -> None:
    with (
        pytest.raises(ScriptMismatchError, match=r"Cohere chat v1 can't carry Thinking"),
        fake_llm.intercept([[Thinking("Hm."), "x"]]),
    ):
        first().chat(message="Hi")


def test_generate() -> None:
    with fake_llm.intercept(["Once upon", Reply("A", choices=["B"]), "It rains.", Reply("C", choices=["D"])]) as fake:
        one = first().generate(prompt="Tell me", max_tokens=9)
        two = first().generate(prompt="Tell me", num_generations=2)
        events = streamed(first().generate_stream(prompt="Tell me"))
        several = streamed(first().generate_stream(prompt="Tell me", num_generations=2))
    assert (one.prompt, one.generations[0].text, one.generations[0].finish_reason) == (
        "Tell me",
        "Once upon",
        "COMPLETE",
    )
    assert [item.text for item in two.generations] == ["A", "B"]
    assert [event.text for event in events["text-generation"]] == ["It", " rains."]
    assert events["stream-end"][0].response.generations[0].text == "It rains."
    assert [(event.index, event.text) for event in several["text-generation"]] == [(0, "C"), (1, "D")]
    assert {call.dialect for call in fake.calls} == {"cohere_generate_v1"}
    assert fake.calls[0].last_user_text == "Tell me"


# --- embeddings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [client, first])
def test_every_type_of_embedding_is_of_the_same_vector(make: Any) -> None:
    with fake_llm.intercept() as fake:
        found = (
            make().embed(model="embed-v4.0", texts=TEXTS, input_type="search_query", embedding_types=KINDS).embeddings
        )
    for index, text in enumerate(TEXTS):
        expected = vector(text, 1536)
        assert found.float_[index] == expected
        assert list(struct.unpack("<1536f", base64.b64decode(found.base64[index]))) == expected
        most = max(map(abs, expected))
        assert all(
            abs(small / 127 * most - exact) <= most / 254
            for small, exact in zip(found.int8[index], expected, strict=True)
        )
        assert found.uint8[index] == [number + 128 for number in found.int8[index]]
        bits = "".join(f"{byte:08b}" for byte in found.ubinary[index])
        assert bits == "".join("1" if number > 0 else "0" for number in expected)
        assert found.binary[index] == [byte - 128 for byte in found.ubinary[index]]
    assert fake.calls[0].operation == "embeddings"
    assert fake.calls[0].user_texts == tuple(TEXTS)


def test_the_versions_differ_in_what_they_give_unasked() -> None:
    asked: Any = {"model": "embed-english-light-v3.0", "texts": TEXTS, "input_type": "search_document"}
    with fake_llm.intercept() as fake:
        of_v1, of_v2 = first().embed(**asked), client().embed(**asked)
    assert of_v1.response_type == "embeddings_floats"
    assert of_v1.embeddings == of_v2.embeddings.float_ == [vector(text, 384) for text in TEXTS]
    assert of_v1.meta.billed_units.input_tokens == fake.calls[0].usage.input_tokens


def test_an_embedding_of_another_size_of_mixed_input_and_of_a_picture() -> None:
    pixel = "data:image/png;base64,iVBORw0KGgo="
    mixed: Any = [
        {"content": [{"type": "text", "text": "refunds"}, {"type": "image_url", "image_url": {"url": pixel}}]}
    ]
    asked: Any = {"model": "embed-v4.0", "input_type": "search_document", "output_dimension": 256}
    with fake_llm.intercept() as fake:
        [one] = client().embed(inputs=mixed, **asked).embeddings.float_
        [two] = client().embed(images=[pixel], **asked | {"input_type": "image"}).embeddings.float_
    assert one == vector("refunds", 256)
    assert len(two) == 256
    assert one != two
    assert [call.last_user_text for call in fake.calls] == ["refunds", "[image]"]
    assert fake.calls[0].params["dimensions"] == 256


def test_pinned_embeddings_and_errors(fake_llm: FakeLLM) -> None:
    import cohere

    asked: Any = {"model": "embed-v4.0", "texts": TEXTS, "input_type": "search_query"}
    fake_llm.when(operation="embeddings", times=1).reply(Error(429))
    fake_llm.when(operation="embeddings").reply([Embedding([1, 0, 0.5]), Embedding([0, 1, -1])])
    with pytest.raises(cohere.TooManyRequestsError):
        client().embed(**asked | {"texts": ["another"]})
    assert client().embed(**asked, embedding_types=["float", "int8"]).embeddings.int8 == [[127, 0, 64], [0, 127, -127]]
    answer = client().embed(**asked)
    fake_llm.reset()
    fake_llm.when(operation="embeddings").reply(lambda call: answer)
    assert client().embed(**asked).embeddings == answer.embeddings


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"texts": ["x"] * 97, "model": "embed-v4.0", "input_type": "search_query"},
            "must be at most 96 - received 97",
        ),
        ({"texts": ["x"], "model": "embed-english-v3.0"}, "valid input_type must be provided"),
        ({"texts": ["x"], "model": "embed-v4.0", "input_type": "image", "output_dimension": 3}, "output_dimension"),
        (
            {"texts": ["x"], "model": "embed-v4.0", "input_type": "image", "embedding_types": ["int4"]},
            "embedding_types",
        ),
        ({"texts": [], "model": "embed-v4.0", "input_type": "search_query"}, "must not be empty"),
    ],
)
def test_a_refused_embedding(asked: Any, said: str) -> None:
    import cohere

    with fake_llm.intercept(), pytest.raises(cohere.BadRequestError) as caught:
        client().embed(**{"input_type": None} | asked)
    assert said in caught.value.body["message"]


# --- reranking -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [client, first])
def test_reranking_is_by_likeness_or_by_script(make: Any) -> None:
    with fake_llm.intercept() as fake:
        made_up = make().rerank(
            model="rerank-v3.5", query="a refund", documents=["The weather in Paris", "How to get refunds", "tea"]
        )
        fake.when(operation="rerank").reply(Json([0.1, 0.9, 0.5]))
        scripted = make().rerank(model="rerank-v3.5", query="a refund", documents=["a", "b", "c"], top_n=2)
    assert made_up.results[0].index == 1
    scores = [item.relevance_score for item in made_up.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [(item.index, item.relevance_score) for item in scripted.results] == [(1, 0.9), (2, 0.5)]
    assert made_up.meta.billed_units.search_units == 1
    call = fake.calls[1]
    assert (call.operation, call.last_user_text, call.params["documents"]) == ("rerank", "a refund", ["a", "b", "c"])


def test_reranking_of_v1_gives_documents_back() -> None:
    documents: Any = [{"text": "tea", "lang": "en"}, "refunds"]
    with fake_llm.intercept():
        answer = first().rerank(query="a refund", documents=documents, return_documents=True)
    assert [item.document.text for item in answer.results] == ["refunds", "tea"]


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (Json([0.9]), "1 scores"),
        (Json({"a": 1}), "no list of scores"),
        ("words", "no list of scores"),
        (Embedding([1]), "can't carry"),
    ],
    ids=repr,
)
def test_scores_that_do_not_fit_are_told(turn: Any, said: str) -> None:
    with pytest.raises(ScriptMismatchError, match=said), fake_llm.intercept() as fake:
        fake.when(operation="rerank").reply(turn)
        client().rerank(model="rerank-v3.5", query="q", documents=["a", "b"])


def test_reranking_fails_as_it_is_told_to() -> None:
    import cohere

    with fake_llm.intercept() as fake:
        fake.when(operation="rerank", times=1).reply(Error(429))
        fake.when(operation="rerank").reply(Raw({"id": "x", "results": [], "meta": {}}))
        with pytest.raises(cohere.TooManyRequestsError):
            client().rerank(model="rerank-v3.5", query="another", documents=["a"])
        assert client().rerank(model="rerank-v3.5", query="q", documents=["a"]).results == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"query": " ", "documents": ["a"]}, "query must not be empty"),
        ({"query": "q", "documents": []}, "list of documents must not be empty"),
        ({"query": "q", "documents": ["a", ""]}, "document at index 1 cannot be empty"),
        ({"query": "q", "documents": ["a"], "top_n": 0}, "between 1 and 1"),
    ],
)
def test_a_refused_reranking(asked: Any, said: str) -> None:
    import cohere

    with fake_llm.intercept(), pytest.raises(cohere.BadRequestError) as caught:
        client().rerank(model="rerank-v3.5", **asked)
    assert said in caught.value.body["message"]


# --- errands -------------------------------------------------------------------------------------


def test_models_tokens_and_keys_take_no_turn() -> None:
    from cohere.base_client import BaseCohere

    with fake_llm.intercept(["Hi."], context_window=1000) as fake:
        made = first()
        assert made.models.get("command-r").context_length == 1000
        assert [model.name for model in made.models.list(endpoint="embed").models] == ["embed-v4.0"]
        tokens = made.tokenize(text="Zürich 🌞", model=COMMAND).tokens
        assert made.detokenize(tokens=tokens, model=COMMAND).text == "Zürich 🌞"
        assert BaseCohere.check_api_key(made).valid
        assert made.chat(message="Hi").text == "Hi."
    assert {call.operation for call in fake.side_calls} == {"models", "tokenize", "detokenize", "keys"}
    assert len(fake.calls) == 1


def test_async_clients_embed_and_rerank() -> None:
    import cohere

    async def ask() -> Any:
        async with cohere.AsyncClientV2() as made:
            found = await made.embed(
                model="embed-v4.0", texts=TEXTS, input_type="search_query", embedding_types=["float"]
            )
            ranked = await made.rerank(model="rerank-v3.5", query="a refund", documents=TEXTS)
            return found.embeddings.float_, [item.index for item in ranked.results]

    with fake_llm.intercept():
        assert asyncio.run(ask()) == ([vector(text, 1536) for text in TEXTS], [0, 1])


def test_another_base_url_is_cohere_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_API_URL", "https://llm.corp.example/cohere")
    with fake_llm.intercept(["Hi."]) as fake:
        answer = client(base_url="https://llm.corp.example/cohere").chat(model=COMMAND, messages=HI)
    assert answer.message.content[0].text == "Hi."
    assert (fake.calls[0].provider, fake.calls[0].url) == ("cohere", "https://llm.corp.example/cohere/v2/chat")
