"""What only Gemini says, as google-genai reads it: sources, code, sound, blocked prompts, tiers; on the Gemini API and on Vertex AI."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import (
    Audio,
    Citation,
    FakeLLM,
    Image,
    Raw,
    Reply,
    ScriptMismatchError,
    ServerTool,
    Thinking,
    ToolCall,
    Usage,
)

genai = load("google-genai>=1.50", "google.genai")
types = genai.types

PNG = b"\x89PNG\xff\xfe"
SEARCH = ServerTool("web_search", {"query": "sky color"}, [{"url": "https://a.example/x", "title": "A"}])
SKY = Citation("blue", "https://sky.example/why", title="Sky")
SEARCHED = {"tools": [{"google_search": {}}]}
RUNS = {"tools": [{"google_search": {}, "url_context": {}, "code_execution": {}}]}
NEW, OLD = "gemini-3-flash-preview", "gemini-2.5-flash"


@functools.cache
def client(where: str) -> Any:
    """One for all, as it is slow to make."""
    if where == "gemini":
        return genai.Client()
    return genai.Client(vertexai=True, project="p", location="europe-west4")


def generate(contents: Any = "Hi", model: str = OLD, **config: Any) -> Any:
    return client("gemini").models.generate_content(model=model, contents=contents, config=config or None)


def body_of(call: Any) -> Any:
    return json.loads(call.response.body)


@dataclasses.dataclass(frozen=True)
class Asker:
    """One client, whole or streamed, sync or async."""

    where: str
    stream: bool
    on_loop: bool

    def ask(self, contents: Any = "Hi", model: str = OLD, **config: Any) -> list[Any]:
        """The responses: one, or those of the stream."""
        asked = {"model": model, "contents": contents, "config": config or None}
        if self.on_loop:
            return asyncio.run(self._later(asked))
        models = client(self.where).models
        return list(models.generate_content_stream(**asked)) if self.stream else [models.generate_content(**asked)]

    async def _later(self, asked: Any) -> list[Any]:
        models = client(self.where).aio.models
        if not self.stream:
            return [await models.generate_content(**asked)]
        return [response async for response in await models.generate_content_stream(**asked)]


@pytest.fixture(
    params=[
        pytest.param(Asker("gemini", False, False), id="gemini-whole-sync"),
        pytest.param(Asker("gemini", True, True), id="gemini-stream-async"),
        pytest.param(Asker("vertex", True, False), id="vertex-stream-sync"),
        pytest.param(Asker("vertex", False, True), id="vertex-whole-async"),
    ]
)
def asker(request: pytest.FixtureRequest) -> Asker:
    asked: Asker = request.param
    return asked


def last(responses: list[Any]) -> Any:
    return responses[-1].candidates[0]


def parts_of(responses: list[Any]) -> list[Any]:
    return [
        part
        for response in responses
        for candidate in response.candidates or ()
        for part in (candidate.content.parts if candidate.content else None) or ()
    ]


def text_of(responses: list[Any]) -> str:
    return "".join(part.text or "" for part in parts_of(responses) if not part.thought)


def supported(responses: list[Any]) -> Iterator[tuple[str, list[str]]]:
    """Each supported piece as its offsets cut it out of the text, with where it is from."""
    grounding = last(responses).grounding_metadata
    raw = text_of(responses).encode()
    for support in grounding.grounding_supports:
        segment = support.segment
        assert segment.text == raw[segment.start_index or 0 : segment.end_index].decode()
        yield segment.text, [grounding.grounding_chunks[place].web.uri for place in support.grounding_chunk_indices]


# --- sources ----------------------------------------------------------------------------------------------------------


def test_a_search_and_what_it_supports(asker: Asker) -> None:
    with fake_llm.intercept([[SEARCH, "Über uns: the sky is ", SKY, "."]]) as fake:
        responses = asker.ask("Why?", **SEARCHED)
    assert text_of(responses) == "Über uns: the sky is blue."
    assert list(supported(responses)) == [("blue", ["https://sky.example/why"])]
    grounding = last(responses).grounding_metadata
    assert grounding.web_search_queries == ["sky color"]
    assert [(chunk.web.uri, chunk.web.title) for chunk in grounding.grounding_chunks] == [
        ("https://a.example/x", "A"),
        ("https://sky.example/why", "Sky"),
    ]
    assert "sky+color" in grounding.search_entry_point.rendered_content
    assert last(responses).citation_metadata is None
    assert all(response.candidates[0].grounding_metadata is None for response in responses[:-1])
    assert "web_search" in str(fake.transcript())
    if asker.where == "vertex":
        assert [chunk.web.domain for chunk in grounding.grounding_chunks] == ["a.example", "sky.example"]


def test_one_text_with_two_sources(asker: Asker) -> None:
    with fake_llm.intercept(
        [["Sky: ", SKY, Citation("", "https://a.example/x"), " and ", Citation("wide", SKY.source)]]
    ):
        responses = asker.ask(**SEARCHED)
    assert list(supported(responses)) == [
        ("blue", ["https://sky.example/why", "https://a.example/x"]),
        ("wide", ["https://sky.example/why"]),
    ]
    assert last(responses).grounding_metadata.grounding_chunks[1].web.title == "a.example"


def test_a_source_after_a_thought(asker: Asker) -> None:
    with fake_llm.intercept([[Thinking("Hm."), "It is ", SKY]]):
        responses = asker.ask(**SEARCHED)
    (support,) = last(responses).grounding_metadata.grounding_supports
    assert support.segment.part_index == (None if asker.stream else 1)
    assert list(supported(responses)) == [("blue", [SKY.source])]


def test_a_document_that_the_request_brought() -> None:
    with fake_llm.intercept([["It is ", Citation("blue", "fileSearchStores/a/documents/b", title="b.pdf")]]):
        response = generate()
    (chunk,) = response.candidates[0].grounding_metadata.grounding_chunks
    assert chunk.retrieved_context.title == "b.pdf"
    assert chunk.retrieved_context.uri == "fileSearchStores/a/documents/b"


def test_where_nothing_grounds_the_model_recites() -> None:
    with fake_llm.intercept([["Once ", SKY], Reply("Once ", SKY, finish_reason="RECITATION")]) as fake:
        (response,) = Asker("vertex", False, False).ask()
        generate()
    (citation,) = response.candidates[0].citation_metadata.citations
    assert (citation.uri, citation.title, citation.start_index, citation.end_index) == (SKY.source, "Sky", 5, 9)
    recited = body_of(fake.calls[1])["candidates"][0]
    assert recited["citationMetadata"] == {"citationSources": [{"startIndex": 5, "endIndex": 9, "uri": SKY.source}]}
    assert "groundingMetadata" not in recited


def test_pages_that_were_read(asker: Asker) -> None:
    read = ServerTool("url_context", {"url": "https://a.example/x"}, [{"url": "https://a.example/x", "title": "A"}])
    lost = ServerTool(
        "web_fetch", {"urls": ["https://b.example", "https://c.example"]}, error="URL_RETRIEVAL_STATUS_ERROR"
    )
    with fake_llm.intercept([[read, lost, "It says: ", Citation("A", "https://a.example/x")]]):
        responses = asker.ask(tools=[{"url_context": {}}])
    assert [
        (item.retrieved_url, item.url_retrieval_status.name)
        for item in last(responses).url_context_metadata.url_metadata
    ] == [
        ("https://a.example/x", "URL_RETRIEVAL_STATUS_SUCCESS"),
        ("https://b.example", "URL_RETRIEVAL_STATUS_ERROR"),
        ("https://c.example", "URL_RETRIEVAL_STATUS_ERROR"),
    ]
    assert list(supported(responses)) == [("A", ["https://a.example/x"])]


def test_maps_and_files() -> None:
    place = {"url": "https://maps.example/1", "title": "Bakery", "text": "Bread", "place_id": "places/1"}
    found = {"url": "https://store.example/1", "title": "a.pdf", "text": "page one"}
    maps, files = ServerTool("google_maps", {}, [place]), ServerTool("file_search", {"query": "bread"}, [found])
    with fake_llm.intercept([[maps, files, "Bread."]]):
        response = generate(tools=[{"google_maps": {}}, {"file_search": {"file_search_store_names": ["s"]}}])
    one, two = response.candidates[0].grounding_metadata.grounding_chunks
    assert (one.maps.uri, one.maps.title, one.maps.text, one.maps.place_id) == tuple(place.values())
    assert (two.retrieved_context.uri, two.retrieved_context.title, two.retrieved_context.text) == tuple(found.values())
    assert response.candidates[0].grounding_metadata.retrieval_queries == ["bread"]


@needs("google-genai>=3")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_calls_of_google_s_tools_are_shown_when_they_are_asked_for(stream: bool) -> None:
    with fake_llm.intercept([[SEARCH, "Blue."]]) as fake:
        responses = Asker("gemini", stream, False).ask(
            model=NEW, **SEARCHED, tool_config={"include_server_side_tool_invocations": True}
        )
    called, answered, said = parts_of(responses)
    assert called.tool_call.tool_type == "GOOGLE_SEARCH_WEB"
    assert called.tool_call.args == {"queries": ["sky color"]}
    assert called.thought_signature
    assert answered.tool_response.id == called.tool_call.id
    assert said.text == "Blue."
    assert fake.calls[0].reply is not None


def test_the_api_s_own_document_goes_as_it_is(asker: Asker) -> None:
    own = {"imageSearchQueries": ["sky"], "groundingChunks": [{"image": {"imageUri": "https://i.example/1.png"}}]}
    with fake_llm.intercept([[ServerTool("google_search", {}, own), "Here."]]):
        responses = asker.ask(**SEARCHED)
    assert last(responses).grounding_metadata.model_dump(by_alias=True, exclude_none=True)["groundingChunks"]


def test_a_tool_that_google_doesn_t_run_is_refused() -> None:
    with (
        pytest.raises(ScriptMismatchError, match="the server tool 'bash'") as caught,
        fake_llm.intercept([Reply(ServerTool("bash", {}), "x", check=False)]),
    ):
        generate()
    assert "code_execution" in str(caught.value)


def test_a_tool_that_the_request_does_not_offer_is_a_mismatch(asker: Asker) -> None:
    ran = ServerTool("code_execution", {"code": "6 * 7"}, "42")
    offers = "The turn has the provider's tool 'code_execution'.\nThe request offers 'enterprise_web_search'"
    with pytest.raises(ScriptMismatchError) as caught, fake_llm.intercept([[ran, "42"]]):
        asker.ask(**SEARCHED)
    assert str(caught.value).startswith(offers)
    with fake_llm.intercept([Reply(ran, "42", check=False)]):
        assert text_of(asker.ask(**SEARCHED)) == "42"


def test_what_a_cache_or_a_choice_may_hide_is_not_checked() -> None:
    none = {"function_calling_config": {"mode": "NONE"}}
    with fake_llm.intercept([[SEARCH, "a"], [SEARCH, "b"]]):
        cached = client("gemini").caches.create(model=OLD, config={"contents": "x"})
        assert generate(cached_content=cached.name).text == "a"
        assert generate(**SEARCHED, tool_config=none).text == "b"


# --- code, sound, pictures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [OLD, NEW])
def test_code_is_run(asker: Asker, model: str) -> None:
    ran = ServerTool("code_execution", {"code": "print(1)"}, "1\n")
    failed = ServerTool(
        "code_execution", {"code": "1/0"}, {"stdout": "", "stderr": "ZeroDivisionError", "return_code": 1}
    )
    late = ServerTool("code_execution", {"code": "while 1: 0"}, error="OUTCOME_DEADLINE_EXCEEDED")
    with fake_llm.intercept([["Let me see.", ran, failed, late, "Done."]]):
        responses = asker.ask(model=model, tools=[{"code_execution": {}}])
    parts = parts_of(responses)
    code = [part.executable_code for part in parts if part.executable_code]
    results = [part.code_execution_result for part in parts if part.code_execution_result]
    assert [item.code for item in code] == ["print(1)", "1/0", "while 1: 0"]
    assert {item.language.name for item in code} == {"PYTHON"}
    assert [(item.outcome.name, item.output) for item in results] == [
        ("OUTCOME_OK", "1\n"),
        ("OUTCOME_FAILED", "ZeroDivisionError"),
        ("OUTCOME_DEADLINE_EXCEEDED", "OUTCOME_DEADLINE_EXCEEDED"),
    ]
    if hasattr(code[0], "id"):
        assert [item.id for item in code] == [item.id for item in results]
        assert (code[0].id is not None) is (model == NEW)
    assert any(part.thought_signature for part in parts if part.executable_code) is (model == NEW)
    assert text_of(responses) == "Let me see.Done."


def test_sound(asker: Asker) -> None:
    with fake_llm.intercept([Reply(Audio(b"\x00\x01", "audio/L16;codec=pcm;rate=24000"), usage=Usage(5, 40))]) as fake:
        responses = asker.ask(response_modalities=["AUDIO"])
    (part,) = parts_of(responses)
    assert (part.inline_data.data, part.inline_data.mime_type) == (b"\x00\x01", "audio/L16;codec=pcm;rate=24000")
    (counted,) = responses[-1].usage_metadata.candidates_tokens_details
    assert (counted.modality.name, counted.token_count) == ("AUDIO", 40)
    assert fake.calls[0].params["responseModalities"] == ["AUDIO"]


def test_a_picture_is_counted_as_one(asker: Asker) -> None:
    with fake_llm.intercept([Reply("Here: ", Image(PNG), usage=Usage(5, 300))]):
        responses = asker.ask(response_modalities=["TEXT", "IMAGE"])
    counted = responses[-1].usage_metadata.candidates_tokens_details
    assert {item.modality.name: item.token_count for item in counted} == {"IMAGE": 258, "TEXT": 42}


def test_an_image_in_the_request(asker: Asker) -> None:
    picture = types.Part.from_bytes(data=PNG, mime_type="image/png")
    with fake_llm.intercept([Reply("A dot.", usage=Usage(270, 3))]) as fake:
        responses = asker.ask(["What is this?", picture])
    assert text_of(responses) == "A dot."
    assert fake.calls[0].messages[0].text == "What is this?\n[image]"
    assert fake.calls[0].user_texts == ("What is this?",)
    counted = responses[-1].usage_metadata.prompt_tokens_details
    assert [(item.modality.name, item.token_count) for item in counted] == [("IMAGE", 258), ("TEXT", 12)]


# --- what is blocked, cut, malformed ----------------------------------------------------------------------------------


def test_a_blocked_answer_is_a_candidate_without_content(asker: Asker) -> None:
    with fake_llm.intercept([Reply(finish_reason="content_filter")]):
        (response,) = asker.ask()
    assert response.prompt_feedback is None
    assert response.candidates[0].content is None
    assert response.candidates[0].finish_reason.name == "SAFETY"
    assert [rating.blocked for rating in response.candidates[0].safety_ratings] == [None, True, None, None]


def test_a_blocked_prompt_has_no_candidate(asker: Asker) -> None:
    blocked = Reply(finish_reason="content_filter", extra={"promptFeedback": {"blockReason": "SAFETY"}})
    with fake_llm.intercept([blocked]):
        (response,) = asker.ask()
    assert not response.candidates
    assert response.text is None
    assert response.prompt_feedback.block_reason.name == "SAFETY"
    assert response.prompt_feedback.safety_ratings
    assert response.usage_metadata.prompt_token_count > 0
    assert response.usage_metadata.candidates_token_count is None


def test_a_blocked_prompt_says_why() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "No."}
    with fake_llm.intercept([Reply(extra={"promptFeedback": feedback})]) as fake:
        response = generate()
    assert response.prompt_feedback.block_reason.name == "PROHIBITED_CONTENT"
    assert list(body_of(fake.calls[0])) == ["promptFeedback", "usageMetadata", "modelVersion", "responseId"]
    assert body_of(fake.calls[0])["promptFeedback"] == feedback


@pytest.mark.parametrize("word", ["RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "OTHER"])
def test_the_api_s_own_words_come_without_content(word: str) -> None:
    with fake_llm.intercept([Reply(finish_reason=word)]):
        response = generate()
    assert response.candidates[0].content is None
    assert response.candidates[0].finish_reason.name == word


def test_thinking_may_eat_all_tokens(asker: Asker) -> None:
    with fake_llm.intercept([Reply(finish_reason="length", usage=Usage(5, 100, reasoning_tokens=100))]):
        (response,) = asker.ask()
    assert response.candidates[0].finish_reason.name == "MAX_TOKENS"
    assert response.candidates[0].content.parts is None
    assert response.usage_metadata.thoughts_token_count == 100
    assert response.usage_metadata.candidates_token_count is None


def test_a_call_that_the_model_got_wrong(asker: Asker) -> None:
    call = ToolCall("get_weather", '{"city": ')
    with fake_llm.intercept([Reply(call, finish_reason="malformed_tool_call", check=False)]) as fake:
        (response,) = asker.ask()
    assert response.candidates[0].finish_reason.name == "MALFORMED_FUNCTION_CALL"
    assert not response.function_calls
    assert b'"Malformed function call: get_weather({\\"city\\": )"' in fake.calls[0].response.body


# --- vertex, tiers, numbers -------------------------------------------------------------------------------------------


def test_vertex_says_when_and_how_it_was_served() -> None:
    with fake_llm.intercept(["Hello there.", "Hello there."]) as fake:
        fresh = genai.Client(vertexai=True, project="p", location="europe-west4")
        whole = fresh.models.generate_content(model=OLD, contents="Hi")
        *chunks, end = Asker("vertex", True, False).ask()
    assert whole.create_time.year == 2026
    assert whole.response_id
    assert whole.usage_metadata.traffic_type.name == "ON_DEMAND"
    assert whole.candidates[0].avg_logprobs < 0
    assert whole.candidates[0].index is None
    assert [chunk.usage_metadata.prompt_token_count for chunk in chunks] == [None] * len(chunks)
    assert end.usage_metadata.prompt_token_count == fake.calls[1].usage.input_tokens
    assert {call.provider for call in fake.calls} == {"vertex"}
    assert fake.calls[0].url.startswith("https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p/locations/")
    assert {call.provider for call in fake.side_calls} == {"google"}


@pytest.mark.parametrize(
    ("where", "url"),
    [
        ({"project": "p", "location": "global"}, "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global"),
        ({"project": "a.example:p", "location": "us-central1"}, "https://us-central1-aiplatform.googleapis.com/"),
        ({"api_key": "k"}, "https://aiplatform.googleapis.com/v1beta1/publishers/google/models/"),
        ({"project": "p", "location": "us-east5", "http_options": {"api_version": "v1"}}, "https://us-east5-aiplatform.googleapis.com/v1/"),
        (
            {"project": "p", "location": "eu", "http_options": {"base_url": "https://aiplatform.eu.rep.googleapis.com"}},
            "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/",
        ),
    ],
)  # fmt: skip
def test_every_way_to_vertex(where: dict[str, Any], url: str) -> None:
    with fake_llm.intercept(["Hello."]) as fake:
        one = genai.Client(vertexai=True, **where)
        assert one.models.generate_content(model=OLD, contents="Hi").text == "Hello."
    assert fake.calls[0].url.startswith(url)
    assert (fake.calls[0].provider, fake.calls[0].model) == ("vertex", OLD)


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha", "v1beta1", "v2"])
def test_any_version_of_the_api(version: str) -> None:
    with fake_llm.intercept(["Hello."]) as fake:
        one = genai.Client(http_options={"api_version": version})
        assert one.models.generate_content(model=OLD, contents="Hi").text == "Hello."
    assert f"/{version}/models/" in fake.calls[0].url


def test_a_tuned_model_on_an_endpoint_of_vertex() -> None:
    with fake_llm.intercept(["Hello."]) as fake:
        model = "projects/p/locations/us-central1/endpoints/123"
        assert client("vertex").models.generate_content(model=model, contents="Hi").text == "Hello."
    assert fake.calls[0].model == "123"


def test_tokens_are_counted_on_vertex() -> None:
    with fake_llm.intercept() as fake:
        counted = client("vertex").models.count_tokens(model=OLD, contents="What is the capital of France?")
    assert counted.total_tokens > 0
    assert fake.calls[0].operation == "count_tokens"
    assert body_of(fake.calls[0])["totalBillableCharacters"] == 25  # as recorded


@pytest.mark.parametrize("model", ["text-embedding-004", "gemini-embedding-2", "text-multilingual-embedding-002"])
@pytest.mark.parametrize("on_loop", [False, True], ids=["sync", "async"])
def test_vertex_embeds(model: str, on_loop: bool) -> None:
    asked: dict[str, Any] = {"model": model, "contents": "Hello", "config": {"output_dimensionality": 8}}
    with fake_llm.intercept() as fake:
        models = client("vertex").models
        found = asyncio.run(_embedded(asked)) if on_loop else models.embed_content(**asked)
    (one,) = found.embeddings
    assert len(one.values) == 8
    assert fake.calls[0].operation == "embeddings"
    assert fake.calls[0].user_texts == ("Hello",)
    assert fake.calls[0].params["dimensions"] == 8


async def _embedded(asked: dict[str, Any]) -> Any:
    return await client("vertex").aio.models.embed_content(**asked)


def test_vertex_embeds_several_texts_with_pinned_vectors() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply([fake_llm.Embedding([1, 0]), fake_llm.Embedding([0, 1])])
        found = client("vertex").models.embed_content(model="text-embedding-004", contents=["a", "b"])
    assert [one.values for one in found.embeddings] == [[1, 0], [0, 1]]
    assert found.metadata.billable_character_count == 2


@pytest.mark.filterwarnings("ignore:The `copy` method is deprecated")  # google-genai 1.75 uses it
def test_the_models_of_vertex() -> None:
    with fake_llm.intercept() as fake:
        models = client("vertex").models
        assert OLD in {model.name.rpartition("/")[2] for model in models.list()}
        assert models.get(model=OLD).name.endswith(OLD)
    assert not fake.calls


@needs("google-genai>=3")
def test_the_tier_that_was_asked_for() -> None:
    with fake_llm.intercept(["a", "b"]) as fake:
        Asker("gemini", False, False).ask(service_tier="flex")
        header = {"X-Vertex-AI-LLM-Shared-Request-Type": "priority"}
        vertex = Asker("vertex", False, False).ask(http_options={"headers": header})[0]
    assert body_of(fake.calls[0])["usageMetadata"]["serviceTier"] == "flex"
    assert fake.calls[0].response.headers["x-gemini-service-tier"] == "flex"
    assert vertex.usage_metadata.traffic_type.name == "ON_DEMAND_PRIORITY"


@pytest.mark.parametrize("header", [False, True])
def test_numbers_for_words_where_they_are_asked_for(header: bool) -> None:
    import httpx

    url = f"https://generativelanguage.googleapis.com/v1beta/models/{OLD}:generateContent"
    ask: Any = {"headers": {"accept": "application/json; enum-encoding=int"}}
    if not header:
        ask = {"params": {"$alt": "json;enum-encoding=int"}}
    blocked = Reply(extra={"promptFeedback": {"blockReason": "SAFETY"}})
    ran = [
        ServerTool("code_execution", {"code": "1"}, "1"),
        ServerTool("url_context", {"url": "https://a.example"}),
        "x",
    ]
    with fake_llm.intercept([ran, blocked]):
        body = {"contents": [{"parts": [{"text": "Hi"}]}], "tools": [{"codeExecution": {}}, {"url_context": {}}]}
        one, two = (httpx.post(url, json=body, **ask).json() for _ in range(2))
    candidate = one["candidates"][0]
    code, result, _ = candidate["content"]["parts"]
    assert (code["executableCode"]["language"], result["codeExecutionResult"]["outcome"]) == (1, 1)
    assert (candidate["finishReason"], one["usageMetadata"]["promptTokensDetails"][0]["modality"]) == (1, 1)
    assert candidate["urlContextMetadata"]["urlMetadata"][0]["urlRetrievalStatus"] == 1
    assert two["promptFeedback"]["blockReason"] == 1
    assert two["promptFeedback"]["safetyRatings"][0] == {"category": 8, "probability": 1}


# --- who asks Vertex --------------------------------------------------------------------------------------------------

SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def service_account() -> Any:
    rsa = load("cryptography", "cryptography.hazmat.primitives.asymmetric.rsa")
    forms = load("cryptography", "cryptography.hazmat.primitives.serialization")
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
    )
    info = {
        "client_email": "a@p.iam.gserviceaccount.com",
        "private_key": key.decode(),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    accounts = load("google-auth", "google.oauth2.service_account")
    return accounts.Credentials.from_service_account_info(info, scopes=SCOPES)


def refresh_token() -> Any:
    users = load("google-auth", "google.oauth2.credentials")
    return users.Credentials(
        None, refresh_token="r", client_id="i", client_secret="s", token_uri="https://oauth2.googleapis.com/token"
    )


def impersonated() -> Any:
    others = load("google-auth", "google.auth.impersonated_credentials")
    return others.Credentials(refresh_token(), "b@p.iam.gserviceaccount.com", SCOPES)


@needs("requests")
@pytest.mark.parametrize("on_loop", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("made", [service_account, refresh_token, impersonated])
def test_credentials_of_one_s_own_get_a_token(made: Any, on_loop: bool) -> None:
    credentials = made()
    with fake_llm.intercept(["Hello."]) as fake:
        one = genai.Client(vertexai=True, project="p", location="us-central1", credentials=credentials)
        asked: Any = {"model": OLD, "contents": "Hi"}

        async def later() -> Any:
            return await one.aio.models.generate_content(**asked)

        answer = asyncio.run(later()) if on_loop else one.models.generate_content(**asked)
    assert answer.text == "Hello."
    assert fake.calls[0].headers["authorization"] == "Bearer fake-llm"
    assert {call.provider for call in fake.side_calls} == {"google"}


# --- what was said is heard again -------------------------------------------------------------------------------------

SAID: dict[str, list[Any]] = {
    "searched": [SEARCH.__class__("google_search", SEARCH.arguments, SEARCH.result), "Über: ", SKY, "."],
    "two sources": ["Sky: ", SKY, Citation("", "https://a.example/x"), " and ", Citation("wide", "https://b.example")],
    "read": [
        ServerTool("url_context", {"url": "https://a.example/x"}),
        "It says ",
        Citation("A", "https://a.example/x"),
    ],
    "ran": [ServerTool("code_execution", {"code": "print(1)"}, "1\n"), "Done."],
    "failed": [ServerTool("code_execution", {"code": "1/0"}, {"stdout": "ZeroDivisionError", "return_code": 1}), "Oh."],
    "sound": [Audio(b"abc", "audio/L16")],
    "document": ["It is ", Citation("blue", "files/1", title="b.pdf")],
}


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("where", ["gemini", "vertex"])
def test_the_sdk_s_own_object_says_it_again(where: str, name: str) -> None:
    """A response of the SDK as a turn of a second script, streamed: the same parts are heard."""
    with fake_llm.intercept([SAID[name]]):
        (response,) = Asker(where, False, False).ask(**RUNS)
    with fake_llm.intercept([response, response]) as fake:
        (again,) = Asker(where, False, False).ask(**RUNS)
        chunks = Asker(where, True, False).ask(**RUNS)
    assert again.candidates == response.candidates
    assert text_of(chunks) == text_of([response])
    assert last(chunks).grounding_metadata == last([response]).grounding_metadata
    assert last(chunks).url_context_metadata == last([response]).url_context_metadata
    heard = fake.calls[1].reply
    assert heard is not None


def test_a_body_of_one_s_own() -> None:
    body = {"candidates": [{"content": {"parts": [{"text": "Raw."}], "role": "model"}, "finishReason": "STOP"}]}
    with fake_llm.intercept([Raw(body)]) as fake:
        assert isinstance(fake, FakeLLM)
        assert Asker("vertex", False, False).ask()[0].text == "Raw."
