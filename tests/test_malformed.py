"""Requests that no vendor accepts: the vendor's own refusal, never an exception of another kind, and no turn is taken."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fake_llm
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, WAYS, Vendor, failure, said
from fake_llm import FakeLLM, FakeLLMFailure, ToolCall

ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
JSON = {"content-type": "application/json"}


def deep(levels: int, inner: bytes = b"1") -> bytes:
    return b"[" * levels + inner + b"]" * levels


def with_deep(vendor: Vendor, stream: bool, levels: int) -> bytes:
    """A request that would be right, but for one field that is nested deeply."""
    body = json.dumps(vendor.body(stream=stream, metadata="@"))
    return body.replace('"@"', deep(levels).decode()).encode()


NOT_JSON: dict[str, bytes] = {
    "empty": b"",
    "blank": b"  \n",
    "text": b"hello",
    "half": b'{"model": "gpt-5", "messages": [',
    "form": b"model=gpt-5&messages=x",
    "bytes": bytes(range(256)),
    "invalid UTF-8": b'{"model": "\xff\xfe", "messages": []}',
    "UTF-16": '{"model": "x"}'.encode("utf-16"),
    "NaN": b'{"model": NaN, "messages": Infinity}',
    "two values": b"{}{}",
    "comment": b"{} // comment",
    "single quotes": b"{'model': 'x'}",
    "deep": deep(2_000),
    "very deep": deep(200_000),
    "deep objects": b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
    "never closed": b"[" * 2_000,
}
NO_OBJECT: dict[str, bytes] = {
    "array": b"[]",
    "array of objects": b'[{"model": "gpt-5"}]',
    "string": b'"text"',
    "number": b"5",
    "big number": b"9" * 400,
    "float": b"1.5",
    "true": b"true",
    "null": b"null",
    "empty object": b"{}",
}


def refused(vendor: Vendor, stream: bool, content: bytes) -> None:
    with fake_llm.intercept(["kept"]) as fake:
        response = httpx.post(vendor.place(stream), content=content, headers=JSON)
        assert 400 <= response.status_code < 500
        assert failure(vendor, response)
        assert fake.remaining == 1
        call = fake.calls[0]
        assert call.raw == content
        assert call.response is not None
        assert call.response.status == response.status_code
        assert call.response.body == response.content
        assert call.usage is None
        assert repr(call)
        assert fake.transcript()
        assert (call.messages, call.tools, call.system, call.schema, call.tool_results) == ((), {}, "", None, ())
        assert (call.user_texts, call.last_user_text, dict(call.params)) == ((), "", {})
        assert said(vendor, vendor.post(stream=stream)).text == "kept"
        assert fake.failures == []


@ways
@pytest.mark.parametrize("content", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_no_json(vendor: Vendor, stream: bool, content: bytes) -> None:
    refused(vendor, stream, content)
    with fake_llm.intercept() as fake:
        httpx.post(vendor.place(stream), content=content, headers=JSON)
        assert fake.calls[0].body is None


@ways
@pytest.mark.parametrize("content", NO_OBJECT.values(), ids=NO_OBJECT)
def test_what_is_no_object(vendor: Vendor, stream: bool, content: bytes) -> None:
    refused(vendor, stream, content)
    with fake_llm.intercept() as fake:
        httpx.post(vendor.place(stream), content=content, headers=JSON)
        assert fake.calls[0].body == json.loads(content)


def _bodies(vendor: Vendor) -> dict[str, dict[str, Any]]:
    """Fields of a wrong type, by the vendor's names."""
    messages = {"chat": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}[vendor.name]
    wrong: dict[str, dict[str, Any]] = {
        "messages null": {messages: None},
        "messages number": {messages: 5},
        "message number": {messages: [5]},
        "message array": {messages: [[]]},
        "tools number": {"tools": 5},
        "tools text": {"tools": "x"},
        "tool null": {"tools": [None]},
        "tool number": {"tools": [5]},
    }
    if vendor is not GEMINI:
        wrong |= {
            "model number": {"model": 5},
            "model null": {"model": None},
            "model array": {"model": ["gpt-5"]},
            "role number": {messages: [{"role": 5, "content": "x"}]},
            "role odd": {messages: [{"role": "odd", "content": "x"}]},
            "content number": {messages: [{"role": "user", "content": 5}]},
            "content of numbers": {messages: [{"role": "user", "content": [5]}]},
            "temperature text": {"temperature": "hot"},
            "stream text": {"stream": "yes"},
            "messages object": {messages: {}},
            "message null": {messages: [None]},
        }
    else:
        wrong |= {
            "parts number": {messages: [{"role": "user", "parts": 5}]},
            "part number": {messages: [{"role": "user", "parts": [5]}]},
            "text number": {messages: [{"role": "user", "parts": [{"text": 5}]}]},
            "config text": {"generationConfig": "x"},
            "temperature text": {"generationConfig": {"temperature": "hot"}},
        }
    if vendor is ANTHROPIC:
        wrong |= {"no max_tokens": {"max_tokens": None}, "max_tokens text": {"max_tokens": "many"}}
    return wrong


WRONG = [
    pytest.param(vendor, stream, fields, id=f"{vendor}-{'stream' if stream else 'whole'}-{name}")
    for vendor, stream in WAYS
    for name, fields in _bodies(vendor).items()
]


@pytest.mark.parametrize(("vendor", "stream", "fields"), WRONG)
def test_fields_of_a_wrong_type(vendor: Vendor, stream: bool, fields: dict[str, Any]) -> None:
    with fake_llm.intercept(["kept"]) as fake:
        response = httpx.post(vendor.place(stream), json={**vendor.body(stream=stream), **fields})
        assert 400 <= response.status_code < 500, response.text
        assert failure(vendor, response)
        assert fake.remaining == 1
        assert repr(fake.calls[0])
        assert fake.transcript()
        assert said(vendor, vendor.post(stream=stream)).text == "kept"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("vendor", [CHAT, RESPONSES, ANTHROPIC], ids=str)
def test_a_missing_model(vendor: Vendor, stream: bool) -> None:
    body = vendor.body(stream=stream)
    del body["model"]
    with fake_llm.intercept(["kept"]) as fake:
        response = httpx.post(vendor.place(stream), json=body)
        assert response.status_code == 400
        assert "model" in failure(vendor, response)
        assert fake.calls[0].model == ""
        vendor.post()


@ways
def test_numbers_beyond_64_bits_are_no_fault(vendor: Vendor, stream: bool) -> None:
    big = 2**70
    with fake_llm.intercept(["fine"]) as fake:
        if vendor is GEMINI:
            response = vendor.post(
                stream=stream, generationConfig={"stopSequences": ["x"]}, labels={"a": str(big)}, cachedContent=None
            )
        else:
            response = vendor.post(
                stream=stream,
                metadata={"user_id": "x"},
                tools={"f": {"type": "object", "properties": {"a": {"type": "integer", "maximum": big}}}},
            )
    assert said(vendor, response).text == "fine"
    if vendor is not GEMINI:
        assert json.dumps(fake.calls[0].tools["f"]).count(str(big)) == 1


@ways
def test_ten_megabytes(vendor: Vendor, stream: bool) -> None:
    text = "word " * 2_000_000
    with fake_llm.intercept(["fine"]) as fake:
        response = vendor.post(text, stream=stream)
        assert fake.calls[0].raw == response.request.content
        assert len(fake.calls[0].raw) > 10_000_000
    assert response.status_code in (200, 400)


@ways
@pytest.mark.parametrize("levels", [100, 300, 900, 1_010, 2_000, 50_000])
def test_a_field_that_is_nested_deeply(vendor: Vendor, stream: bool, levels: int) -> None:
    content = with_deep(vendor, stream, levels)
    with fake_llm.intercept(default="fine") as fake:
        response = httpx.post(vendor.place(stream), content=content, headers=JSON)
        assert response.status_code in (200, 400)
        call = fake.calls[0]
        assert call.raw == content
        assert call.body is None or call.body["metadata"]
        assert repr(call)
        assert fake.transcript()


@ways
@pytest.mark.parametrize("levels", [100, 300, 900])
def test_a_schema_that_is_nested_deeply(vendor: Vendor, stream: bool, levels: int) -> None:
    schema = '{"type":"object","properties":{"a":' * levels + '{"type":"string"}' + "}}" * levels
    content = json.dumps(vendor.body(stream=stream, tools={"f": "@"})).replace('"@"', schema).encode()
    with fake_llm.intercept([ToolCall("f", {"a": {}})], strict=False) as fake:
        response = httpx.post(vendor.place(stream), content=content, headers=JSON)
        assert response.status_code in (200, 400)
        assert fake.failures == []


@vendors
def test_lone_surrogates_in_a_request(vendor: Vendor) -> None:
    content = json.dumps(vendor.body("bad \ud800 half")).encode()
    with fake_llm.intercept(default="fine") as fake:
        response = httpx.post(vendor.place(), content=content, headers=JSON)
        assert response.status_code in (200, 400)
        assert repr(fake.calls[0])
        assert fake.transcript()


@vendors
@pytest.mark.parametrize("stream", [False, True])
def test_lone_surrogates_in_an_answer(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(["bad \ud800 half"]):
        response = vendor.post(stream=stream)
    assert r"\ud800" in response.text
    assert said(vendor, response).text == "bad \ud800 half"


@vendors
def test_duplicate_keys_and_odd_headers(vendor: Vendor) -> None:
    content = b'{"model": 1, ' + json.dumps(vendor.body()).encode()[1:]
    headers = {"content-type": "text/plain", "x-stainless-retry-count": b"\xb2", "x-odd": b"\xff\xfe"}
    with fake_llm.intercept(default="fine") as fake:
        response = httpx.post(vendor.place(), content=content, headers=headers)  # type: ignore[arg-type]
        assert response.status_code in (200, 400)
        assert repr(fake.calls[0].headers)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/responses/input_tokens",
        "https://api.anthropic.com/v1/messages/count_tokens",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens",
    ],
)
@pytest.mark.parametrize("content", [*NOT_JSON.values(), *NO_OBJECT.values()], ids=[*NOT_JSON, *NO_OBJECT])
def test_services_get_no_further_than_a_refusal(url: str, content: bytes) -> None:
    with fake_llm.intercept() as fake:
        response = httpx.post(url, content=content, headers=JSON)
        assert response.status_code == 200 or 400 <= response.status_code < 500
        assert response.json()
        if content in NOT_JSON.values():
            assert response.status_code == 400
    assert fake.failures == []


# --- random -------------------------------------------------------------------------------------


def _endpoints() -> list[tuple[str, str]]:
    """A method and a URL for every row of the table."""
    from fake_llm._endpoints import PROVIDERS

    return [
        (row.method, f"https://{provider.hosts[0].replace('*', 'x')}{path}")
        for provider in PROVIDERS
        for row in provider.endpoints
        for path in _paths(provider.prefix_of(row) + row.path)
    ]


def _paths(template: str) -> list[str]:
    """Every path that a template says, `m` in each of its places."""
    template = re.sub(r"\{[^}]*\}", "m", template)
    inner = re.search(r"([\[(])([^\[\]()]*)[\])]", template)
    if inner is None:
        return [template]
    words = inner[2].split("|") + ([""] if inner[1] == "[" else [])
    return [path for word in words for path in _paths(template[: inner.start()] + word + template[inner.end() :])]


ENDPOINTS = _endpoints()


def test_the_table_is_asked_whole() -> None:
    from fake_llm._endpoints import PROVIDERS
    from fake_llm._routes import Routes

    routes = [Routes().find(method, url) for method, url in ENDPOINTS]
    assert all(route is not None and route.endpoint is not None for route in routes), ENDPOINTS
    rows = {id(row) for provider in PROVIDERS for row in provider.endpoints}
    assert {id(route.endpoint) for route in routes if route is not None} == rows


def _ask(fake: FakeLLM, method: str, url: str, content: bytes) -> None:
    with httpx.Client(transport=_Transport(fake)) as client:
        response: httpx.Response | None
        try:
            response = client.request(method, url, content=content, headers=JSON)
        except FakeLLMFailure:
            response = None
        assert FakeLLMFailure not in map(type, fake.failures), fake.failures  # that is a fault of this library
        if response is None:
            fake.failures.clear()
            return
        assert response.status_code in (200, 201, 204) or 400 <= response.status_code < 500, (
            url,
            content,
            response.text,
        )
        if response.content.endswith(b"</Error>"):  # a storage of images
            assert response.status_code == 404
        elif response.status_code >= 400:
            document = response.json()
            said = document[0] if isinstance(document, list) else document  # Gemini's streams are arrays
            assert not said.keys().isdisjoint({"error", "errors", "detail", "message"}), said
    for call in (*fake.calls, *fake.side_calls):
        assert repr(call)
        assert call.raw == content
        _ = (call.messages, call.system, call.user_texts, call.last_user_text, call.tools, call.tool_results)
        _ = (call.schema, call.params, call.body, call.conversation)
    assert fake.transcript()


class _Transport(httpx.BaseTransport):
    """The fake asked directly: no patch, no client's own checks in between."""

    def __init__(self, fake: FakeLLM) -> None:
        self._fake = fake

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        from fake_llm._model import Fault, Headers, Request

        answer = self._fake.answer(
            Request(request.method, str(request.url), Headers(list(request.headers.items())), request.read(), "httpx")
        )
        assert not isinstance(answer, Fault)
        body = (
            answer.body if answer.steps is None else b"".join(step for step in answer.steps if isinstance(step, bytes))
        )
        return httpx.Response(answer.status, content=body)


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(
        [
            "user",
            "assistant",
            "system",
            "tool",
            "model",
            "text",
            "function",
            "any",
            "required",
            "json_schema",
            "auto",
            "{}",
        ]
    )
)
words = st.sampled_from(
    [
        "model",
        "messages",
        "input",
        "contents",
        "stream",
        "tools",
        "tool_choice",
        "toolConfig",
        "tool_config",
        "response_format",
        "text",
        "format",
        "schema",
        "json_schema",
        "type",
        "name",
        "role",
        "content",
        "parts",
        "function",
        "parameters",
        "functionDeclarations",
        "function_declarations",
        "generationConfig",
        "generation_config",
        "systemInstruction",
        "system",
        "instructions",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "stop",
        "n",
        "top_p",
        "logprobs",
        "top_logprobs",
        "stream_options",
        "include_usage",
        "functions",
        "function_call",
        "tool_calls",
        "tool_call_id",
        "id",
        "arguments",
        "call_id",
        "output",
        "input_schema",
        "thinking",
        "budget_tokens",
        "reasoning",
        "previous_response_id",
        "functionResponse",
        "functionCall",
        "response",
        "args",
        "inlineData",
        "mimeType",
        "data",
        "source",
        "url",
        "image_url",
        "allowed_tools",
        "mode",
        "functionCallingConfig",
        "allowedFunctionNames",
        "responseSchema",
        "responseMimeType",
        "responseJsonSchema",
        "candidateCount",
        "maxOutputTokens",
        "stopSequences",
        "output_config",
        "cache_control",
        "metadata",
        "properties",
        "required",
        "items",
        "enum",
        "anyOf",
        "$ref",
        "summary",
        "is_error",
        "tool_use_id",
        "thought",
        "thoughtSignature",
        "signature",
        "output_text",
        "refusal",
        "audio",
        "file",
    ]
)
values: Any = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.text(max_size=4), inner, max_size=6),
    max_leaves=25,
)
endpoints = st.sampled_from(ENDPOINTS)
more = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def likely(vendor: Vendor) -> Any:
    """A right request with some of its fields replaced."""
    whole = vendor.body(tools={"f": {"type": "object"}})
    return st.dictionaries(words, values, max_size=5).map(lambda fields: {**whole, **fields})


@more
@given(endpoints, st.binary(max_size=64))
def test_random_bytes(endpoint: tuple[str, str], content: bytes) -> None:
    _ask(FakeLLM(default="fine"), *endpoint, content)


@more
@given(endpoints, values)
def test_random_json(endpoint: tuple[str, str], value: Any) -> None:
    _ask(FakeLLM(default="fine"), *endpoint, json.dumps(value).encode())


@more
@given(st.sampled_from(VENDORS).flatmap(lambda vendor: st.tuples(st.just(vendor), likely(vendor))), st.booleans())
def test_requests_that_are_nearly_right(asked: tuple[Vendor, dict[str, Any]], stream: bool) -> None:
    vendor, body = asked
    _ask(FakeLLM(default="fine"), "POST", vendor.place(stream), json.dumps(body).encode())


@more
@given(
    st.sampled_from(VENDORS).flatmap(lambda vendor: st.tuples(st.just(vendor), likely(vendor))),
    st.sampled_from(
        [{"a": 1}, fake_llm.ToolCall("f", {"a": 1}), ["x", fake_llm.Thinking("y"), {"b": 2}], fake_llm.Error(429)]
    ),
    st.booleans(),
)
def test_answers_to_requests_that_are_nearly_right(
    asked: tuple[Vendor, dict[str, Any]], turn: Any, stream: bool
) -> None:
    vendor, body = asked
    _ask(FakeLLM(default=turn, context_window=4_000), "POST", vendor.place(stream), json.dumps(body).encode())


@pytest.mark.parametrize(
    ("url", "body"),
    [
        (
            "https://api.openai.com/v1/chat/completions",
            {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}], "n": 2**40},
        ),
        (
            "https://api.deepseek.com/chat/completions",
            {"model": "deepseek-chat", "messages": [{"role": "user", "content": "Hi"}], "n": 2**40},
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
            {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"candidateCount": 2**30}},
        ),
    ],
)
def test_more_answers_than_anybody_gives_are_refused(url: str, body: dict[str, Any]) -> None:
    with fake_llm.intercept(default="Hi"):
        assert httpx.post(url, json=body).status_code == 400


NUMBERS = ["\u00b2", "\u0663", "-1", "0", "9" * 5_000, "x", ""]
LISTS = [
    "https://api.openai.com/v1/files?limit=",
    "https://api.openai.com/v1/batches?limit=",
    "https://api.openai.com/v1/chat/completions?limit=",
    "https://api.anthropic.com/v1/messages/batches?limit=",
    "https://api.anthropic.com/v1/models?limit=",
    "https://generativelanguage.googleapis.com/v1beta/models?pageSize=",
]


@pytest.mark.parametrize("number", NUMBERS, ids=ascii)
@pytest.mark.parametrize("url", LISTS)
def test_what_is_no_number_in_a_query(url: str, number: str) -> None:
    _ask(FakeLLM(), "GET", url + quote(number), b"")


@pytest.mark.parametrize("number", NUMBERS, ids=ascii)
def test_what_is_no_place_in_a_stream_that_is_asked_for_again(number: str) -> None:
    fake = FakeLLM(["kept"])
    with httpx.Client(transport=_Transport(fake)) as client:
        made = client.post("https://api.openai.com/v1/responses", json={"model": "gpt-5", "input": "Hi"}).json()
        again = client.get(
            f"https://api.openai.com/v1/responses/{made['id']}", params={"stream": "true", "starting_after": number}
        )
    assert b"kept" in again.content or number == "9" * 5_000
    assert fake.failures == []


WRONG_INPUTS = [
    [{"type": {}}],
    [{"type": "text", "text": {}}],
    [{"type": "text"}],
    [5],
    [None, "x"],
    [[{"type": []}]],
]


@pytest.mark.parametrize("given", WRONG_INPUTS, ids=str)
def test_a_moderation_of_what_is_no_input(given: Any) -> None:
    with fake_llm.intercept() as fake:
        response = httpx.post(
            "https://api.openai.com/v1/moderations", json={"model": "omni-moderation-latest", "input": given}
        )
    assert response.status_code == 400
    assert "'$.input' is invalid" in response.json()["error"]["message"]
    assert fake.failures == []


COUNTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "openai": ("https://api.openai.com/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, "n"),
    "completions": ("https://api.openai.com/v1/completions", {"prompt": "x"}, "n"),
    "mistral": ("https://api.mistral.ai/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, "n"),
    "mistral embeddings": ("https://api.mistral.ai/v1/embeddings", {"input": "x"}, "output_dimension"),
    "cohere": ("https://api.cohere.com/v1/generate", {"prompt": "x"}, "num_generations"),
    "command": (
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/cohere.command-text-v14/invoke",
        {"prompt": "x"},
        "num_generations",
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_more_answers_or_numbers_than_a_vendor_gives(name: str) -> None:
    url, body, field = COUNTS[name]
    with fake_llm.intercept(default="fine") as fake:
        fake.when(operation="embeddings").reply(fake_llm.Auto())
        answers = [
            httpx.post(url, json={"model": "m", **body, field: count}).status_code for count in (-1, 0, 2**40, 2**70)
        ]
        assert all(400 <= status < 500 for status in answers), answers
        assert httpx.post(url, json={"model": "m", **body, field: 2}).status_code == 200
    assert fake.failures == []


@pytest.mark.parametrize("model", ["m\u00fcnchen/\U0001f31e", "a\nb", "\x7f", " x "])
def test_a_deployment_of_any_name_is_answered(model: str) -> None:
    with fake_llm.intercept(default=fake_llm.Reply("fine", model=model)) as fake:
        response = httpx.post(
            "https://here.openai.azure.com/openai/v1/chat/completions",
            json={"model": model, "messages": [{"role": "user", "content": "x"}]},
        )
    assert response.json()["choices"][0]["message"]["content"] == "fine"
    assert response.headers["x-ms-deployment-name"].isascii()
    assert fake.failures == []


ODD_SCHEMAS: dict[str, Any] = {
    "deep pattern": {"type": "string", "pattern": "(" * 2_000 + ")" * 2_000},
    "odd $schema": {"$schema": [], "properties": {"a": {"minimum": 0}}},
    "numbered $schema": {"$schema": 5, "properties": {"a": {"minimum": 0}}},
    "unknown $schema": {"$schema": "https://schema.example", "properties": {"a": {"minimum": 0}}},
}


@ways
@pytest.mark.parametrize("schema", ODD_SCHEMAS.values(), ids=ODD_SCHEMAS)
def test_a_schema_that_is_none_is_no_fault_of_the_script(vendor: Vendor, stream: bool, schema: Any) -> None:
    with fake_llm.intercept([ToolCall("f", {"a": 1})]) as fake:
        assert said(vendor, vendor.post(stream=stream, tools={"f": schema})).calls == [("f", {"a": 1})]
    assert fake.failures == []
