"""What the Gemini dialect writes and reads, judged by google-genai itself (both generations) and by recordings."""

import dataclasses
import importlib
import json

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from _shared import needs_shared, shared_dir
from fake_llm import _json
from fake_llm._dialect import Asked, Choice, Delta, Exchange, Ids
from fake_llm._dialects.gemini import DIALECT, check
from fake_llm._errors import ScriptMismatchError
from fake_llm._framing import JsonArray, Sse, Whole
from fake_llm._model import Headers, Request, Usage
from fake_llm._turns import ERROR_NAMES, Audio, Citation, Error, Image, Reply, ServerTool, Thinking, ToolCall

genai = pytest.importorskip("google.genai")
types = genai.types
httpx = None
for _name in ("httpx2", "httpx"):  # whichever this generation of the SDK is built on
    try:
        httpx = importlib.import_module(_name)
        break
    except ImportError:
        continue
if httpx is None:
    pytest.skip("google-genai has no HTTP library here", allow_module_level=True)

SSE = Sse(done=None, newline="\r\n", dumps=_json.spaced, content_type="text/event-stream")
WHOLE = Whole(_json.pretty, b"\n", "application/json; charset=UTF-8")
ARRAY = JsonArray()
USAGE = Usage(12, 9, cached_tokens=3, reasoning_tokens=4)
URL = "https://generativelanguage.googleapis.com/v1beta/models/{model}:{verb}"


def request_of(model="gemini-2.5-flash", verb="generateContent", body=None, query="", url=URL):
    raw = _json.compact(body if body is not None else {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]})
    return Request("POST", url.format(model=model, verb=verb) + query, Headers(), raw, "httpx")


def exchange_of(*parts, request=None, reason=None, provider="gemini", choices=None, **options):
    request = request or request_of()
    body = _json.loads(request.body)
    ids = Ids(b"seed")
    ready = tuple(
        dataclasses.replace(part, id=ids.alnum(8)) if isinstance(part, ToolCall) and part.id is None else part
        for part in parts
    )
    calls = any(isinstance(part, ToolCall) for part in parts)
    inner = {name: options.pop(name) for name in ("chunk_size", "chunks", "logprobs") if name in options}
    choice = Choice(ready, reason or ("tool_calls" if calls else "stop"), **inner)
    return Exchange(
        provider=provider,
        asked=Asked(request, DIALECT, body),
        ids=ids,
        model=options.pop("model", DIALECT.model(request, body)),
        stream=DIALECT.stream(request, body),
        choices=choices or (choice,),
        usage=options.pop("usage", USAGE),
        **options,
    )


class Played:
    """An unmodified SDK client whose transport answers with one turn."""

    def __init__(self, *parts, error=None, mid=None, provider="gemini", **options):
        self.requests = []
        self.parts, self.error, self.mid, self.provider, self.options = parts, error, mid, provider, options

    @property
    def client(self):
        NOW["answer"] = self.answer
        return CLIENT

    def answer(self, sent):
        request = Request(sent.method, str(sent.url), Headers(list(sent.headers.items())), sent.content, "httpx")
        self.requests.append(request)
        assert check(request, _json.loads(request.body)) is None
        exchange = exchange_of(*self.parts, request=request, provider=self.provider, **self.options)
        if self.error is not None:
            failed = DIALECT.failure(exchange, self.error)
            return httpx.Response(failed.status, headers=list(failed.headers), content=failed.body)
        if not exchange.stream:
            headers = [*DIALECT.headers(exchange), ("content-type", WHOLE.content_type)]
            return httpx.Response(200, headers=headers, content=WHOLE.encode(DIALECT.document(exchange)))
        content, closing = DIALECT.events(exchange)
        if self.mid is not None:
            closing = DIALECT.failure_events(exchange, self.mid)
        body = b"".join([*SSE.encode(content), *SSE.encode(closing), SSE.end()])
        headers = [*DIALECT.headers(exchange), ("content-type", SSE.content_type)]
        return httpx.Response(200, headers=headers, content=body)

    def whole(self, contents="Hi", model="gemini-2.5-flash", **config):
        return self.client.models.generate_content(model=model, contents=contents, config=config or None)

    def stream(self, contents="Hi", model="gemini-2.5-flash", **config):
        return list(self.client.models.generate_content_stream(model=model, contents=contents, config=config or None))

    @property
    def view(self):
        request = self.requests[-1]
        return DIALECT.read(request, _json.loads(request.body))


NOW = {}
CLIENT = genai.Client(  # one for all: making it is slow
    api_key="k",
    http_options=types.HttpOptions(
        httpx_client=httpx.Client(transport=httpx.MockTransport(lambda sent: NOW["answer"](sent)))
    ),
)


def parts_of(response):
    candidate = response.candidates[0]
    return (candidate.content.parts if candidate.content else None) or []


def turn_of(responses):
    """What the SDK gave, as parts of a turn: adjacent pieces of one kind joined, signatures left out."""
    turn = []
    for part in (part for response in responses for part in parts_of(response)):
        if part.function_call is not None:
            turn.append(("call", part.function_call.name, part.function_call.args))
        elif part.inline_data is not None:
            turn.append(("image", part.inline_data.mime_type, part.inline_data.data))
        elif part.text:
            kind = "thought" if part.thought else "text"
            if turn and turn[-1][0] == kind:
                turn[-1] = (kind, turn[-1][1] + part.text)
            else:
                turn.append((kind, part.text))
    return turn


def signatures_of(responses):
    return [part.thought_signature for response in responses for part in parts_of(response) if part.thought_signature]


TURN = (
    Thinking("Let me see."),
    "The weather, then.",
    ToolCall("get_weather", {"city": "Zürich", "days": [1, 2]}),
    ToolCall("add", {}),
)


def test_whole_text():
    played = Played("It is sunny.")
    response = played.whole()
    assert response.text == "It is sunny."
    assert response.candidates[0].finish_reason == "STOP"
    assert response.candidates[0].index == 0
    assert response.model_version == "gemini-2.5-flash"
    assert len(response.response_id) == 23
    usage = response.usage_metadata
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count) == (12, 5, 4)
    assert (usage.total_token_count, usage.cached_content_token_count) == (21, 3)


def test_streamed_text_comes_in_the_pieces_of_the_choice():
    chunks = Played("It is sunny.").stream()
    assert [chunk.text for chunk in chunks] == ["It", " is", " sunny."]
    assert [chunk.candidates[0].finish_reason for chunk in chunks] == [None, None, "STOP"]
    assert len({chunk.response_id for chunk in chunks}) == 1
    assert [chunk.usage_metadata.candidates_token_count for chunk in chunks] == [1, 3, 5]
    assert [chunk.usage_metadata.prompt_token_count for chunk in chunks] == [12, 12, 12]
    assert chunks[-1].usage_metadata.total_token_count == 21


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3.5-flash"])
def test_streamed_equals_whole(model):
    whole, chunks = Played(*TURN).whole(model=model), Played(*TURN).stream(model=model)
    assert turn_of([whole]) == turn_of(chunks)
    assert turn_of([whole]) == [
        ("thought", "Let me see."),
        ("text", "The weather, then."),
        ("call", "get_weather", {"city": "Zürich", "days": [1, 2]}),
        ("call", "add", {}),
    ]


def test_function_calls_have_a_finish_message():  # which google-genai drops, so on the document itself
    document = DIALECT.document(exchange_of(ToolCall("f", {})))
    assert document["candidates"][0]["finishReason"] == "STOP"
    assert document["candidates"][0]["finishMessage"] == "Model generated function call(s)."
    content, _ = DIALECT.events(exchange_of(ToolCall("f", {}), ToolCall("g", {})))
    assert [event["candidates"][0].get("finishMessage") for event in content] == [
        None,
        "Model generated function call(s).",
    ]


def test_function_call_ids_are_on_the_wire_of_gemini_3_only():
    old = Played(ToolCall("f", {"a": 1})).whole(model="gemini-2.5-pro")
    new = Played(ToolCall("f", {"a": 1})).whole(model="gemini-3-pro-preview")
    assert old.function_calls[0].id is None
    assert len(new.function_calls[0].id) == 8
    assert not signatures_of([old])
    assert len(signatures_of([new])) == 1


def test_only_the_first_function_call_is_signed():
    response = Played(ToolCall("f", {}), ToolCall("g", {})).whole(model="gemini-3.5-flash")
    assert [part.thought_signature is not None for part in parts_of(response)] == [True, False]


def test_a_signature_stands_beside_what_follows_the_thought():
    whole = Played(Thinking("Hm.", "QUJD"), "Yes.").whole()
    assert [(part.text, part.thought, part.thought_signature) for part in parts_of(whole)] == [
        ("Hm.", True, None),
        ("Yes.", None, b"ABC"),
    ]
    chunks = Played(Thinking("Hm.", "QUJD"), "Yes.").stream()
    assert parts_of(chunks[-1])[0].text == ""
    assert parts_of(chunks[-1])[0].thought_signature == b"ABC"
    assert chunks[-1].candidates[0].finish_reason == "STOP"


def test_a_signature_that_is_no_base64_reaches_the_sdk_as_its_bytes():
    assert signatures_of([Played(Thinking("Hm.", "sig_1"), "Yes.").whole()]) == [b"sig_1"]


def test_a_hidden_thought_is_only_a_signature():
    response = Played(Thinking("secret", "QUJD", redacted=True), ToolCall("f", {})).whole()
    assert len(parts_of(response)) == 1
    assert signatures_of([response]) == [b"ABC"]


def test_images():
    picture = Image(b"\x89PNG\xff\xfe", "image/jpeg")
    for responses in ([Played("Here:", picture).whole()], Played("Here:", picture).stream()):
        assert turn_of(responses) == [("text", "Here:"), ("image", "image/jpeg", b"\x89PNG\xff\xfe")]


def test_an_image_by_url_does_not_travel():
    with pytest.raises(ScriptMismatchError, match="Gemini sends images as bytes"):
        DIALECT.document(exchange_of(Image("https://example.com/a.png")))


@pytest.mark.parametrize("arguments", ['{"city": ', "[1]", "plain", "\ud800"])
def test_arguments_that_are_no_object_do_not_travel(arguments):
    with pytest.raises(ScriptMismatchError, match="arguments") as caught:
        DIALECT.document(exchange_of(ToolCall("f", arguments)))
    assert len(str(caught.value).splitlines()) == 3


def test_arguments_written_as_text_travel_when_they_are_an_object():
    assert Played(ToolCall("f", '{"a": 1}')).whole().function_calls[0].args == {"a": 1}


def test_empty_text_and_no_parts():
    assert Played("").whole().text == ""
    assert Played("").stream()[-1].text == ""
    assert Played().whole().text is None
    document = DIALECT.document(exchange_of())
    assert document["candidates"][0]["content"] == {"role": "model"}


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("stop", "STOP"),
        ("length", "MAX_TOKENS"),
        ("stop_sequence", "STOP"),
        ("content_filter", "SAFETY"),
        ("refusal", "SAFETY"),
        ("malformed_tool_call", "MALFORMED_FUNCTION_CALL"),
        ("RECITATION", "RECITATION"),
    ],
)
def test_finish_reasons(reason, word):
    assert Played("a b", reason=reason).whole().candidates[0].finish_reason == word
    assert Played("a b", reason=reason).stream()[-1].candidates[0].finish_reason == word


def test_a_blocked_answer():
    for responses in ([Played(reason="content_filter").whole()], Played(reason="content_filter").stream()):
        (response,) = responses
        candidate = response.candidates[0]
        assert candidate.content is None
        assert candidate.finish_reason == "SAFETY"
        assert [rating.blocked for rating in candidate.safety_ratings] == [None, True, None, None]
        assert response.text is None


def test_a_malformed_call_has_an_empty_content():
    document = DIALECT.document(exchange_of(reason="malformed_tool_call"))
    assert document["candidates"][0] == {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}
    assert Played(reason="malformed_tool_call").stream()[0].candidates[0].finish_reason == "MALFORMED_FUNCTION_CALL"


def test_several_candidates():
    choices = (Choice(("one",), "stop"), Choice(("two words",), "length"))
    response = Played(choices=choices).whole(candidate_count=2)
    assert [(item.index, item.content.parts[0].text, item.finish_reason) for item in response.candidates] == [
        (0, "one", "STOP"),
        (1, "two words", "MAX_TOKENS"),
    ]
    chunks = Played(choices=choices).stream(candidate_count=2)
    texts = {0: "", 1: ""}
    for chunk in chunks:
        texts[chunk.candidates[0].index] += chunk.text
    assert texts == {0: "one", 1: "two words"}


def test_logprobs():
    pairs = (("Hel", -0.5), ("lo", -1.5))
    candidate = Played("Hello", logprobs=pairs).whole(response_logprobs=True, logprobs=1).candidates[0]
    assert candidate.avg_logprobs == -1.0
    assert [(item.token, item.log_probability) for item in candidate.logprobs_result.chosen_candidates] == list(pairs)
    assert len(candidate.logprobs_result.top_candidates) == 2


def test_a_stream_that_is_cut_closes_apart_from_its_content():
    request = request_of(verb="streamGenerateContent", query="?alt=sse")
    content, closing = DIALECT.events(exchange_of("a b", request=request, cut=True))
    assert all(isinstance(event, Delta) and "finishReason" not in event["candidates"][0] for event in content)
    assert [event["candidates"][0] for event in closing] == [
        {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": "STOP", "index": 0}
    ]
    uncut, nothing = DIALECT.events(exchange_of("a b", request=request))
    assert nothing == []
    assert uncut[-1]["candidates"][0]["finishReason"] == "STOP"
    for responses in (Played("a b", cut=True).stream(), Played("a b").stream()):
        assert turn_of(responses) == [("text", "a b")]


def test_the_key_order_is_that_of_each_provider():
    document = DIALECT.document(exchange_of("Hi"))
    assert list(document) == ["candidates", "usageMetadata", "modelVersion", "responseId"]
    assert list(document["candidates"][0]) == ["content", "finishReason", "index"]
    assert list(document["candidates"][0]["content"]) == ["parts", "role"]
    vertex = DIALECT.document(exchange_of("Hi", provider="vertex"))
    assert list(vertex) == ["candidates", "usageMetadata", "modelVersion", "createTime", "responseId"]
    assert vertex["createTime"] == "2026-01-01T00:00:00.000000Z"
    assert list(vertex["candidates"][0]) == ["content", "finishReason", "avgLogprobs"]
    assert list(vertex["candidates"][0]["content"]) == ["role", "parts"]
    assert vertex["usageMetadata"]["trafficType"] == "ON_DEMAND"


def test_vertex_counts_tokens_in_the_last_chunk_only():
    content, _ = DIALECT.events(exchange_of("a b", provider="vertex"))
    assert [event["usageMetadata"] for event in content[:-1]] == [{"trafficType": "ON_DEMAND"}]
    assert content[-1]["usageMetadata"]["promptTokenCount"] == 12


def test_extra_is_merged():
    extra = {"promptFeedback": {"safetyRatings": []}, "usageMetadata": {"toolUsePromptTokenCount": 7}}
    assert Played("Hi", extra=extra).whole().usage_metadata.tool_use_prompt_token_count == 7
    assert Played("Hi", extra=extra).stream()[0].usage_metadata.tool_use_prompt_token_count == 7
    call = ToolCall("f", {}, extra={"thoughtSignature": "QUJD", "willContinue": True})
    part = DIALECT.document(exchange_of(call))["candidates"][0]["content"]["parts"][0]
    assert part == {"functionCall": {"name": "f", "args": {}, "willContinue": True}, "thoughtSignature": "QUJD"}


def test_enums_are_numbers_for_clients_that_ask_for_them():
    request = request_of(query="?%24alt=json%3Benum-encoding%3Dint")
    document = DIALECT.document(exchange_of("No", request=request, reason="content_filter"))
    assert document["candidates"][0]["finishReason"] == 3
    assert document["candidates"][0]["safetyRatings"][0] == {"category": 8, "probability": 1}
    assert document["usageMetadata"]["promptTokensDetails"] == [{"modality": 1, "tokenCount": 12}]
    assert DIALECT.parts(document).finish_reason == "content_filter"


# --- errors ---


@pytest.mark.parametrize("name", sorted(ERROR_NAMES))
@pytest.mark.parametrize("streamed", [False, True])
def test_every_error(name, streamed):
    played = Played(error=Error(name))
    with pytest.raises(genai.errors.APIError) as caught:
        played.stream() if streamed else played.whole()
    error = caught.value
    assert error.code == error.details["error"]["code"] >= 400
    assert error.status
    assert error.message


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 418, 429, 499, 500, 502, 503, 504, 529])
def test_a_status_stays_as_it_is(status):
    with pytest.raises(genai.errors.APIError) as caught:
        Played(error=Error(status, "No.")).whole()
    assert (caught.value.code, caught.value.message) == (status, "No.")


def test_an_error_says_how_long_to_wait_in_its_details():
    response = DIALECT.failure(exchange_of(), Error(429, retry_after=2.5))
    error = json.loads(response.body)["error"]
    assert error["status"] == "RESOURCE_EXHAUSTED"
    assert error["message"].endswith("Please retry in 2.5s.")
    assert error["details"][-1] == {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}
    assert not any(name == "retry-after" for name, _ in response.headers)


def test_an_unknown_model_is_named():
    body = json.loads(DIALECT.failure(exchange_of(request=request_of("gemini-9")), Error(404)).body)
    assert body["error"]["message"].startswith("models/gemini-9 is not found for API version v1beta")


def test_errors_have_the_content_type_of_the_stream_they_replace():
    kinds = {}
    for query, verb in (("", "generateContent"), ("?alt=sse", "streamGenerateContent"), ("", "streamGenerateContent")):
        failed = DIALECT.failure(exchange_of(request=request_of(verb=verb, query=query)), Error(500))
        kinds[verb + query] = (dict(failed.headers)["content-type"], type(json.loads(failed.body)))
    assert kinds == {
        "generateContent": ("application/json; charset=UTF-8", dict),
        "streamGenerateContent?alt=sse": ("text/event-stream", dict),
        "streamGenerateContent": ("application/json; charset=UTF-8", list),
    }


def test_an_error_in_the_middle_of_a_stream():
    got = []
    played = Played("a b", cut=True, mid=Error("unavailable"))
    with pytest.raises(genai.errors.APIError) as caught:
        got.extend(played.client.models.generate_content_stream(model="gemini-2.5-flash", contents="Hi"))
    assert caught.value.status == "UNAVAILABLE"


def test_an_error_in_a_json_array_keeps_it_an_array():
    request = request_of(verb="streamGenerateContent")
    exchange = exchange_of("a b", request=request, cut=True)
    events = DIALECT.events(exchange)[0] + DIALECT.failure_events(exchange, Error(500))
    items = json.loads(b"".join(ARRAY.encode(events)) + ARRAY.end())
    assert items[-1]["error"]["status"] == "INTERNAL"
    assert len(items) == 3


# --- reading ---


def test_the_sdk_s_request_is_read():
    def get_weather(city: str, days: int = 1) -> str:
        """Tells the weather."""
        return city + str(days)

    played = Played("ok")
    played.whole(
        contents=[
            types.Content(
                role="user", parts=[types.Part(text="Hi"), types.Part.from_bytes(data=b"x", mime_type="image/png")]
            ),
            types.Content(
                role="model",
                parts=[
                    types.Part(text="Hm.", thought=True),
                    types.Part(text="Wait."),
                    types.Part(function_call=types.FunctionCall(name="get_weather", args={"city": "Paris"})),
                ],
            ),
            types.Content(
                role="user",
                parts=[
                    types.Part.from_function_response(name="get_weather", response={"result": "sunny"}),
                    types.Part.from_function_response(name="other", response={"a": 1, "b": None}),
                    types.Part.from_function_response(name="bad", response={"error": "no"}),
                    types.Part(text="Go on."),
                ],
            ),
        ],
        system_instruction="Be brief.",
        tools=[get_weather],
        tool_config={"function_calling_config": {"mode": "ANY", "allowed_function_names": ["get_weather"]}},
        automatic_function_calling={"disable": True},
        max_output_tokens=5,
        temperature=0.5,
        top_p=0.9,
        top_k=3,
        stop_sequences=["x"],
        seed=1,
        candidate_count=1,
        presence_penalty=0.1,
        thinking_config={"include_thoughts": True},
    )
    view = played.view
    assert view.system == "Be brief."
    assert [(item.role, item.text, item.thinking) for item in view.messages] == [
        ("user", "Hi\n[image]", ""),
        ("assistant", "Wait.", "Hm."),
        ("tool", "", ""),
        ("tool", "", ""),
        ("tool", "", ""),
        ("user", "Go on.", ""),
    ]
    assert view.messages[0].plain == "Hi"
    assert view.messages[1].tool_calls[0].arguments == {"city": "Paris"}
    results = [item.tool_results[0] for item in view.messages if item.role == "tool"]
    assert [(item.name, item.is_error) for item in results] == [("get_weather", False), ("other", False), ("bad", True)]
    assert [item.text for item in results][0::2] == ["sunny", "no"]
    assert json.loads(results[1].text)["a"] == 1
    schema = view.tools["get_weather"].schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["properties"]["city"]["type"] == "string"
    assert schema["properties"]["days"]["type"] == "integer"
    assert view.tools["get_weather"].description == "Tells the weather."
    assert (view.tool_choice.mode, view.tool_choice.name) == ("tool", "get_weather")
    wanted = {"max_tokens": 5, "temperature": 0.5, "top_p": 0.9, "top_k": 3, "stop": ["x"], "seed": 1, "n": 1}
    assert wanted.items() <= view.params.items()
    assert view.params["presencePenalty"] == 0.1
    assert list(view.params["thinkingConfig"].values()) == [True]
    assert view.whole
    assert view.schema is None


def test_a_pydantic_schema_is_read_as_json_schema():
    pydantic = pytest.importorskip("pydantic")
    answer = pydantic.create_model("Answer", name=(str, ...), age=(int | None, None), tags=(list[str], ...))
    played = Played('{"name": "Bob", "age": null, "tags": []}')
    response = played.whole(response_mime_type="application/json", response_schema=answer)
    assert response.parsed.name == "Bob"
    schema = played.view.schema
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate({"name": "Bob", "age": None, "tags": ["a"]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "Bob", "age": "x", "tags": []}, schema)


def view_of(**body):
    request = request_of(body={"contents": [], **body})
    return DIALECT.read(request, _json.loads(request.body))


def test_snake_case_is_read_as_camel_case():
    view = view_of(
        contents=[
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"x": 1}, "id": "abcd1234"}}]},
            {"parts": [{"function_response": {"name": "f", "response": {"content": "1"}, "id": "abcd1234"}}]},
            {"role": "user", "parts": [{"inline_data": {"mime_type": "audio/wav", "data": "AA=="}}]},
            {"role": "user", "parts": [{"file_data": {"mime_type": "application/pdf", "file_uri": "u"}}]},
        ],
        system_instruction={"parts": [{"text": "S"}, {"text": "T"}]},
        tools=[{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}],
        tool_config={"function_calling_config": {"mode": "ANY", "allowed_function_names": ["f", "g"]}},
        generation_config={"max_output_tokens": 7, "response_mime_type": "application/json"},
        cached_content="cachedContents/x",
    )
    assert [item.role for item in view.messages] == ["assistant", "tool", "user", "user"]
    assert [item.text for item in view.messages][2:] == ["[audio]", "[file]"]
    assert view.messages[0].tool_calls[0].id == "abcd1234"
    assert view.messages[1].tool_results[0].text == "1"
    assert view.system == "S\nT"
    assert view.tools["f"].schema == {"type": "object"}
    assert (view.tool_choice.mode, view.tool_choice.allowed) == ("any", frozenset({"f", "g"}))
    assert view.params["max_tokens"] == 7
    assert view.schema == {}
    assert not view.whole


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"result": "sunny"}, "sunny"),
        ({"output": 5}, "5"),
        ({"return_value": {"a": 1}}, '{"a":1}'),
        ({"name": "f", "content": [{"text": "a"}, {"text": "b"}]}, "a\nb"),
        ({"temperature": 5}, '{"temperature":5}'),
        ({"result": 1, "unit": "C"}, '{"result":1,"unit":"C"}'),
        ({}, "{}"),
        (None, ""),
    ],
)
def test_the_text_of_a_tool_result(response, text):
    result = {"functionResponse": {"name": "f", "response": response}}
    view = view_of(contents=[{"role": "user", "parts": [result]}])
    assert view.messages[0].tool_results[0].text == text


@pytest.mark.parametrize(
    ("mode", "read"),
    [("AUTO", "auto"), ("ANY", "any"), ("NONE", "none"), ("VALIDATED", "auto"), (2, "any"), (None, "auto")],
)
def test_tool_choice(mode, read):
    assert view_of(toolConfig={"functionCallingConfig": {"mode": mode}}).tool_choice.mode == read


def schema_of(schema):
    return view_of(generationConfig={"responseMimeType": "application/json", "responseSchema": schema}).schema


def test_schemas_become_json_schema():
    assert schema_of(
        {
            "type": "OBJECT",
            "properties": {
                "type": {"type": "STRING", "nullable": True},
                "any_of": {"any_of": [{"type": "INTEGER"}, {"type": 1}], "nullable": True},
                "list": {"type": "ARRAY", "items": {"type": "NUMBER"}, "minItems": "1"},
                "level": {"type": "INTEGER", "enum": ["1", "2"]},
                "word": {"type": "STRING", "enum": ["a"], "nullable": True},
            },
            "propertyOrdering": ["type"],
            "required": ["type"],
        }
    ) == {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"]},
            "any_of": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            "list": {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "level": {"type": "integer", "enum": [1, 2]},
            "word": {"type": ["string", "null"], "enum": ["a", None]},
        },
        "required": ["type"],
    }


def test_a_json_schema_stays_as_it_is():
    schema = {
        "$defs": {"A": {"type": "string", "const": None}},
        "type": ["object", "null"],
        "properties": {"a": {"$ref": "#/$defs/A"}, "max_tokens": {"default": None}},
        "additionalProperties": False,
    }
    for key in ("responseJsonSchema", "response_json_schema"):
        assert view_of(generationConfig={key: schema}).schema == schema


def test_an_enum_answer_is_no_json():
    config = {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING", "enum": ["a"]}}
    assert view_of(generationConfig=config).schema is None


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1/models/gemini-2.5-flash:generateContent", "gemini-2.5-flash"),
        ("/v1beta/models/gemini%2Dpro:streamGenerateContent", "gemini-pro"),
        ("/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro"),
        ("/v1beta/tunedModels/mine:generateContent", "mine"),
    ],
)
def test_model_and_verb_are_in_the_path(path, model):
    request = Request("POST", "https://generativelanguage.googleapis.com" + path, Headers(), b"{}", "httpx")
    assert DIALECT.model(request, {}) == model
    assert DIALECT.stream(request, {}) is ("stream" in path)


# --- refusals ---

HELLO = [{"role": "user", "parts": [{"text": "Hi"}]}]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], 'Invalid JSON payload received. Unknown name "": Root element must be a message.'),
        (None, 'Invalid JSON payload received. Unknown name "": Root element must be a message.'),
        ({}, "* GenerateContentRequest.contents: contents is not specified\n"),
        ({"contents": []}, "* GenerateContentRequest.contents: contents is not specified\n"),
        ({"contents": "Hi"}, "Invalid value at 'contents' (type.googleapis.com/google.ai.generativelanguage.v1beta.Content), \"Hi\""),
        ({"contents": [{"parts": [{"text": 5}]}]}, "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5"),
        ({"contents": [{"role": "assistant", "parts": [{"text": "x"}]}]}, "Please use a valid role: user, model."),
        ({"contents": HELLO, "generationConfig": {"temperature": "hot"}}, "Invalid value at 'generation_config.temperature' (TYPE_FLOAT), \"hot\""),
        ({"contents": HELLO, "generation_config": {"max_output_tokens": 1.5}}, "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), 1.5"),
        ({"contents": HELLO, "generationConfig": {"seed": 2**40}}, "Invalid value at 'generation_config.seed' (TYPE_INT32), 1099511627776"),
        ({"contents": HELLO, "generationConfig": {"responseLogprobs": 1}}, "Invalid value at 'generation_config.response_logprobs' (TYPE_BOOL), 1"),
        ({"contents": HELLO, "generationConfig": {"stopSequences": [1]}}, "Invalid value at 'generation_config.stop_sequences[0]' (TYPE_STRING), 1"),
    ],
)  # fmt: skip
def test_malformed_requests_are_refused(body, said):
    error = check(request_of(), body)
    assert error is not None
    assert error.message == said
    answer = json.loads(DIALECT.failure(exchange_of(), error).body)["error"]
    assert (answer["code"], answer["status"], answer["message"]) == (400, "INVALID_ARGUMENT", said)
    if said.startswith("Invalid value at"):
        assert answer["details"][0]["fieldViolations"] == [{"field": said.split("'")[1], "description": said}]


@pytest.mark.parametrize(
    "body",
    [
        {"contents": {"parts": {"text": "Hi"}}},
        {"contents": HELLO, "systemInstruction": {"parts": {"text": ""}}, "tools": {"googleSearch": {}}},
        {
            "contents": HELLO,
            "generationConfig": {"temperature": "0.5", "maxOutputTokens": "12", "topK": 3.0, "seed": -1},
        },
        {"contents": HELLO, "generationConfig": None, "tools": None, "somethingNew": {"a": 1}},
        {"contents": [{"parts": [{"text": None, "inlineData": {}}], "role": None}]},
    ],
)
def test_what_the_api_takes_is_not_refused(body):
    assert check(request_of(), body) is None


# --- round trips ---

# Without the line ends of Unicode: google-genai 1.x cuts lines there too (httpx's `iter_lines`) and finds broken JSON.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029"), min_size=1, max_size=20)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
PARTS = st.one_of(
    TEXT,
    st.builds(ToolCall, st.sampled_from(["f", "get_weather"]), st.dictionaries(TEXT, JSONS, max_size=3)),
    st.builds(Thinking, TEXT, st.none() | st.binary(min_size=1, max_size=9).map(lambda raw: Image(raw).base64)),
    st.builds(Image, st.binary(min_size=1, max_size=9), st.sampled_from(["image/png", "image/webp"])),
)
MODELS = st.sampled_from(["gemini-2.5-flash", "gemini-3.5-flash"])
QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def without_ids(parts):
    return tuple(dataclasses.replace(part, id=None) if isinstance(part, ToolCall) else part for part in parts)


@QUIET
@given(st.lists(PARTS, max_size=5), MODELS, st.sampled_from(["gemini", "vertex"]))
def test_what_was_written_is_read_back(parts, model, provider):
    exchange = exchange_of(*parts, request=request_of(model), provider=provider)
    document = DIALECT.document(exchange)
    reply = DIALECT.parts(document)
    assert without_ids(reply.parts) == tuple(parts)
    assert reply.usage == USAGE
    assert reply.model == model
    assert reply.finish_reason == ("tool_calls" if exchange.choice.tool_calls else "stop")
    again = exchange_of(
        *reply.parts,
        request=request_of(model),
        provider=provider,
        usage=reply.usage,
        id=reply.id,
        reason=reply.finish_reason,
    )
    assert DIALECT.parts(DIALECT.document(again)) == reply


@QUIET
@given(st.lists(PARTS, max_size=4), MODELS, st.booleans(), st.none() | st.integers(1, 5))
def test_the_sdk_gets_the_turn_whole_and_streamed(parts, model, cut, size):
    whole = [Played(*parts).whole(model=model)]
    chunks = Played(*parts, cut=cut, chunk_size=size).stream(model=model)
    wanted = []
    for part in parts:
        if isinstance(part, ToolCall):
            wanted.append(("call", part.name, dict(part.arguments)))
        elif isinstance(part, Image):
            wanted.append(("image", part.media_type, part.data))
        else:
            kind = "thought" if isinstance(part, Thinking) else "text"
            text = part.text if isinstance(part, Thinking) else part
            if wanted and wanted[-1][0] == kind:
                wanted[-1] = (kind, wanted[-1][1] + text)
            else:
                wanted.append((kind, text))
    assert turn_of(whole) == wanted
    assert turn_of(chunks) == wanted
    assert len(signatures_of(whole)) == len(signatures_of(chunks))
    assert chunks[-1].usage_metadata == whole[-1].usage_metadata


def test_an_sdk_object_is_read_back():
    response = Played(Thinking("Hm.", "QUJD"), "Yes.", ToolCall("f", {"a": 1}, id="abcd1234")).whole(
        model="gemini-3-pro"
    )
    name = f"{type(response).__module__}.{type(response).__name__}"
    assert name in DIALECT.sdk_types
    for by_alias in (True, False):
        reply = DIALECT.parts(response.model_dump(mode="json", by_alias=by_alias))
        assert reply.parts == (Thinking("Hm.", "QUJD"), "Yes.", ToolCall("f", {"a": 1}, id="abcd1234"))
        assert (reply.model, reply.finish_reason) == ("gemini-3-pro", "tool_calls")
        assert reply.usage.total == USAGE.total


def test_several_candidates_and_hidden_thoughts_are_read_back():
    choices = (Choice((Thinking("", "QUJD", redacted=True), "a"), "stop"), Choice(("b",), "length"))
    reply = DIALECT.parts(DIALECT.document(exchange_of(choices=choices)))
    assert reply.parts == choices[0].parts
    assert reply.choices == (Reply("b", finish_reason="length"),)
    assert DIALECT.parts({"promptFeedback": {"blockReason": "SAFETY"}}).finish_reason == "content_filter"


def test_ids_are_in_the_form_of_the_vendor_and_deterministic():
    assert len(DIALECT.tool_id(Ids(b"x"))) == 8
    assert DIALECT.document(exchange_of(*TURN)) == DIALECT.document(exchange_of(*TURN))


# --- recordings ---


def recorded(*folders):
    folder = shared_dir()
    names = (
        [path for name in folders for path in sorted((folder / "recordings" / name).glob("*.json"))] if folder else []
    )
    return [pytest.param(json.loads(path.read_text()), id=path.stem) for path in names]


ENDPOINTS = (
    "gemini/generateContent",
    "gemini/streamGenerateContent",
    "vertex/generateContent",
    "vertex/streamGenerateContent",
)


@needs_shared
@pytest.mark.parametrize("recording", recorded(*ENDPOINTS))
def test_recordings_are_read(recording):
    sent, got = recording["request"], recording["response"]
    if isinstance(sent.get("body"), dict) and got["status"] == 200:
        request = Request("POST", sent["url"], Headers(), b"", "httpx")
        assert check(request, sent["body"]) is None
        view = DIALECT.read(request, sent["body"])
        assert view.messages
        assert all(item.text or item.tool_calls or item.tool_results for item in view.messages)
        for tool in view.tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.schema)
        if view.schema is not None:
            jsonschema.Draft202012Validator.check_schema(view.schema)
    if got["status"] == 200 and isinstance(got.get("body"), dict):
        reply = DIALECT.parts(got["body"])
        usage = got["body"].get("usageMetadata", {})
        if usage:
            assert reply.usage.input_tokens == usage.get("promptTokenCount", 0)
            assert reply.usage.total == usage.get("totalTokenCount", 0)


SAID = {
    "search": (
        ServerTool(
            "google_search",
            {"query": "sky"},
            [{"url": "https://a.example", "title": "A"}, {"url": "https://sky.example/x", "title": "Sky"}],
        ),
        "Über: ",
        Citation("blue", "https://sky.example/x", "Sky"),
        Citation("", "https://a.example", "A"),
        ".",
    ),
    "queries alone": (ServerTool("google_search", {"queries": ["a", "b"]}), "x"),
    "recited": ("Once ", Citation("upon", "https://book.example"), " a time"),
    "thought first": (Thinking("Hm."), "It is ", Citation("blue", "https://sky.example"), "."),
    "read": (
        ServerTool("url_context", {"url": "https://a.example"}),
        ServerTool("url_context", {"url": "https://b.example"}, error="URL_RETRIEVAL_STATUS_PAYWALL"),
        "x",
    ),
    "places": (
        ServerTool("google_maps", {}, [{"url": "https://m.example", "title": "Bakery", "place_id": "p/1"}]),
        "x",
    ),
    "files": (ServerTool("file_search", {"query": "q"}, [{"url": "files/1", "title": "a.pdf", "text": "one"}]), "x"),
    "code": ("Let me.", ServerTool("code_execution", {"code": "print(1)"}, "1\n"), "One."),
    "code that fails": (ServerTool("code_execution", {"code": "1/0"}, {"stdout": "Zero", "return_code": 1}), "No."),
    "code without an end": (
        ServerTool("code_execution", {"code": "x"}, {"outcome": "OUTCOME_DEADLINE_EXCEEDED", "output": ""}),
        "No.",
    ),
    "code that isn't run": (ServerTool("code_execution", {"code": "x"}),),
    "sound": ("Here: ", Audio(b"abc", "audio/L16;rate=24000")),
}


@pytest.mark.parametrize("provider", ["gemini", "vertex"])
@pytest.mark.parametrize("name", SAID)
def test_sources_code_and_sound_are_read_back(name, provider):
    reply = DIALECT.parts(DIALECT.document(exchange_of(*SAID[name], provider=provider)))
    assert without_ids(reply.parts) == SAID[name]
    assert reply.usage == USAGE


@pytest.mark.parametrize("name", SAID)
def test_sources_are_the_same_whole_and_streamed(name):
    request = request_of(verb="streamGenerateContent", query="?alt=sse")
    whole = DIALECT.document(exchange_of(*SAID[name]))["candidates"][0]
    *_, last = DIALECT.events(exchange_of(*SAID[name], request=request))[0]
    for key in ("groundingMetadata", "urlContextMetadata", "citationMetadata"):
        found = json.loads(json.dumps(whole.get(key)))
        for support in (found or {}).get("groundingSupports", ()):
            support["segment"].pop("partIndex", None)  # in a stream every chunk is a part
        assert last["candidates"][0].get(key) == found


@needs_shared
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", SAID)
def test_sources_code_and_sound_are_what_the_schema_says(name, stream):
    defs = json.loads((shared_dir() / "specs" / "vertex-gemini.json").read_bytes())["$defs"]
    schema = {"$ref": "#/$defs/GoogleCloudAiplatformV1beta1GenerateContentResponse", "$defs": defs}
    request = request_of(verb="streamGenerateContent" if stream else "generateContent")
    asked = exchange_of(*SAID[name], provider="vertex", request=request)
    for payload in DIALECT.events(asked)[0] if stream else [DIALECT.document(asked)]:
        try:
            jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(payload)))
        except jsonschema.ValidationError as error:
            # the status is in google-genai (3.6, 2026-11), not yet in this schema
            assert error.instance == "URL_RETRIEVAL_STATUS_PAYWALL"  # noqa: PT017


@pytest.mark.parametrize("place", [{}, {"groundingChunkIndices": [9]}, {"segment": {"startIndex": 90, "endIndex": 99}}])
def test_what_lies_outside_of_the_text_is_left_out(place):
    support = {"segment": {"endIndex": 2, "text": "no"}, "groundingChunkIndices": [0], **place}
    grounding = {"groundingChunks": [{"web": {"uri": "https://a.example"}}], "groundingSupports": [support]}
    body = {"candidates": [{"content": {"parts": [{"text": "Hello."}]}, "groundingMetadata": grounding}]}
    assert DIALECT.parts(body).parts[-1] == "Hello."


def test_tokens_of_a_request_are_told_by_what_they_are():
    parts = [
        {"text": "What?"},
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
        {"file_data": {"mime_type": "video/mp4", "file_uri": "u"}},
    ]
    request = request_of(body={"contents": [{"role": "user", "parts": parts}]})
    usage = DIALECT.document(exchange_of("x", request=request, usage=Usage(600, 1)))["usageMetadata"]
    assert usage["promptTokensDetails"] == [
        {"modality": "IMAGE", "tokenCount": 258},
        {"modality": "VIDEO", "tokenCount": 258},
        {"modality": "TEXT", "tokenCount": 84},
    ]
