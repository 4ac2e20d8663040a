"""What was asked: `fake.calls` and every field of a call, the same on four vocabularies; and secrets that never show."""

from __future__ import annotations

import copy
import json
import pickle
import re
import time
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, WAYS, Vendor
from fake_llm import Call, Error, FakeLLM, Message, Raw, Reply, ToolCall, ToolResult, Usage
from fake_llm._model import Headers, masked_url

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
PROVIDER = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "gemini"}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
PIXEL = "iVBORw0KGgo="


def full(vendor: Vendor) -> dict[str, Any]:
    """A second round: system, media, two tool calls at once with thinking, their results, a question, a schema."""
    if vendor is CHAT:
        return {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is this?"},
                        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": "Let me look.",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"Paris"}'},
                        },
                        {
                            "id": "c2",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
                        },
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
                {"role": "tool", "tool_call_id": "c2", "content": "no such city"},
                {"role": "user", "content": "And now?"},
            ],
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": WEATHER}}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "p", "schema": PERSON}},
            "temperature": 0.5,
            "max_completion_tokens": 99,
            "stop": ["END"],
            "seed": 7,
        }
    if vendor is RESPONSES:
        return {
            "model": "gpt-5",
            "instructions": "Be brief.",
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "What is this?"},
                        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
                    ],
                },
                {"role": "assistant", "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}]},
                {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Paris"}'},
                {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city":"Oslo"}'},
                {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
                {"type": "function_call_output", "call_id": "c2", "output": "no such city"},
                {"role": "user", "content": "And now?"},
            ],
            "tools": [{"type": "function", "name": "weather", "parameters": WEATHER}],
            "text": {"format": {"type": "json_schema", "name": "p", "schema": PERSON}},
            "temperature": 0.5,
            "max_output_tokens": 99,
        }
    if vendor is ANTHROPIC:
        return {
            "model": "claude-sonnet-5",
            "max_tokens": 99,
            "system": "Be brief.",
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is this?"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "A pixel?", "signature": "c2ln"},
                        {"type": "text", "text": "Let me look."},
                        {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}},
                        {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Oslo"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "sunny"},
                        {
                            "type": "tool_result",
                            "tool_use_id": "c2",
                            "is_error": True,
                            "content": [{"type": "text", "text": "no such city"}],
                        },
                        {"type": "text", "text": "And now?"},
                    ],
                },
            ],
            "tools": [{"name": "weather", "input_schema": WEATHER}],
            "output_config": {"format": {"type": "json_schema", "schema": PERSON}},
            "temperature": 0.5,
            "stop_sequences": ["END"],
        }
    return {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {
                "role": "user",
                "parts": [{"text": "What is this?"}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}],
            },
            {
                "role": "model",
                "parts": [
                    {"text": "A pixel?", "thought": True},
                    {"text": "Let me look."},
                    {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}},
                    {"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Oslo"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "weather", "response": {"result": "sunny"}}},
                    {"functionResponse": {"id": "c2", "name": "weather", "response": {"error": "no such city"}}},
                    {"text": "And now?"},
                ],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "weather", "parametersJsonSchema": WEATHER}]}],
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": PERSON,
            "temperature": 0.5,
            "maxOutputTokens": 99,
            "stopSequences": ["END"],
        },
    }


def asked(vendor: Vendor, body: Any = None, turn: Any = "x", **options: Any) -> Call:
    """The call of one request."""
    with fake_llm.intercept([turn], strict=False, **options) as fake:
        httpx.post(vendor.place(), json=full(vendor) if body is None else body)
    return fake.calls[0]


# --- the plain fields ---------------------------------------------------------------------------


@ways
def test_plain_fields(vendor: Vendor, stream: bool) -> None:
    before = time.time()
    with fake_llm.intercept(["first", "second"]) as fake:
        vendor.post("1", stream=stream)
        response = vendor.post("2", stream=stream, headers={"X-Mine": "Yes"})
    call = fake.calls[1]
    assert call.index == 1
    assert before <= call.timestamp <= time.time()
    assert call.attempt == 1
    assert call.provider == PROVIDER[vendor.name]
    assert call.operation == "chat"
    assert call.dialect == vendor.dialect
    assert call.model == vendor.model
    assert call.stream is stream
    assert call.method == "POST"
    assert call.url == vendor.place(stream)
    assert call.headers["x-mine"] == call.headers["X-MINE"] == "Yes"
    assert "x-MiNe" in call.headers
    assert call.headers.get("x-other") is None
    assert call.raw == response.request.content
    assert call.body == json.loads(response.request.content)
    assert call.reply == Reply("second")
    assert call.usage is not None
    assert call.cost is None
    assert call.waited == 0
    assert call.response is not None
    assert call.response.status == 200
    assert call.response.body == response.content
    assert call.response.headers["content-type"] == response.headers["content-type"]
    with pytest.raises(KeyError):
        call.headers["x-other"]


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro"),
        ("https://generativelanguage.googleapis.com/v1/models/a%20b:generateContent", "a b"),
        ("https://generativelanguage.googleapis.com/v1beta/tunedModels/mine-1:generateContent", "mine-1"),
    ],
)
def test_a_model_in_the_url_is_its_last_part_unquoted(url: str, model: str) -> None:
    with fake_llm.intercept(["x"]) as fake:
        httpx.post(url, json=GEMINI.body())
    assert fake.calls[0].model == model


@vendors
def test_what_was_answered(vendor: Vendor) -> None:
    raw, error, fault = Raw({"a": 1}, 201), Error(429), ConnectionError("gone")
    with fake_llm.intercept([raw, error, fault], cost=lambda usage: 1) as fake:
        vendor.post("1")
        vendor.post("2")
        with pytest.raises(httpx.ConnectError):
            vendor.post("3")
    first, second, third = fake.calls
    assert first.reply is raw
    assert first.response is not None
    assert first.response.status == 201
    assert first.response.body == httpx.Response(201, content=first.response.body).content
    assert (first.usage, first.cost) == (None, None)
    assert second.reply is error
    assert second.response is not None
    assert second.response.status == 429
    assert third.reply is fault
    assert third.response is None


def test_what_a_service_answered() -> None:
    with fake_llm.intercept() as fake:
        response = httpx.post("https://api.anthropic.com/v1/messages/count_tokens", json=ANTHROPIC.body())
    call = fake.calls[0]
    assert (call.operation, call.provider, call.stream, call.model) == (
        "count_tokens",
        "anthropic",
        False,
        "claude-sonnet-5",
    )
    assert call.response is not None
    assert call.response.body == response.content
    assert call.last_user_text == "Hi"


# --- the view -----------------------------------------------------------------------------------


@vendors
def test_messages(vendor: Vendor) -> None:
    call = asked(vendor)
    found = [message for message in call.messages if message.role != "system"]
    assert [message.role for message in found] == ["user", "assistant", "tool", "tool", "user"]
    assert [message.text for message in found if message.role != "tool"] == [
        "What is this?\n[image]",
        "Let me look.",
        "And now?",
    ]
    assert [(item.name, item.arguments) for item in found[1].tool_calls] == [
        ("weather", {"city": "Paris"}),
        ("weather", {"city": "Oslo"}),
    ]
    assert [item.id for item in found[1].tool_calls] == ["c1", "c2"]
    assert [[(result.id, result.name) for result in message.tool_results] for message in found[2:4]] == [
        [("c1", "weather")],
        [("c2", "weather")],
    ]
    assert "sunny" in found[2].tool_results[0].text
    assert found[3].tool_results[0].is_error is (vendor in (ANTHROPIC, GEMINI))
    assert found[1].thinking == ("A pixel?" if vendor in (ANTHROPIC, GEMINI) else "")
    assert call.conversation == call.messages
    assert all(isinstance(message, Message) for message in call.messages)


@vendors
def test_system(vendor: Vendor) -> None:
    call = asked(vendor)
    assert call.system == "Be brief."
    assert [message.text for message in call.messages if message.role == "system"] == (
        ["Be brief."] if vendor is CHAT else []
    )
    assert asked(vendor, vendor.body()).system == ""


@vendors
def test_user_texts(vendor: Vendor) -> None:
    call = asked(vendor)
    assert call.user_texts == ("What is this?", "And now?")
    assert call.last_user_text == "And now?"
    first = full(vendor)
    key = {"chat": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}[vendor.name]
    first[key] = first[key][: 2 if vendor is CHAT else 1]
    only = asked(vendor, first)
    assert only.user_texts == ("What is this?",)
    assert only.last_user_text == "What is this?\n[image]"


@vendors
def test_tool_results_are_those_after_the_last_message_of_the_assistant(vendor: Vendor) -> None:
    call = asked(vendor)
    assert [(result.id, result.name) for result in call.tool_results] == [("c1", "weather"), ("c2", "weather")]
    assert all(isinstance(result, ToolResult) for result in call.tool_results)
    assert asked(vendor, vendor.body()).tool_results == ()


def test_tool_results_of_earlier_rounds_are_not_among_them() -> None:
    body = full(CHAT)
    body["messages"] += [{"role": "assistant", "content": "So."}, {"role": "user", "content": "Thanks"}]
    assert asked(CHAT, body).tool_results == ()


@vendors
def test_tools_schema_and_params(vendor: Vendor) -> None:
    call = asked(vendor)
    assert dict(call.tools) == {"weather": WEATHER}
    assert call.schema == PERSON
    assert call.params["temperature"] == 0.5
    assert call.params["max_tokens"] == 99
    if vendor is not RESPONSES:
        assert call.params["stop"] == ["END"]
    plain = asked(vendor, vendor.body())
    assert (plain.tools, plain.schema) == ({}, None)
    assert "temperature" not in plain.params


@pytest.mark.parametrize("vendor", [CHAT, RESPONSES, GEMINI], ids=str)
def test_a_bare_json_mode_is_an_empty_schema(vendor: Vendor) -> None:
    assert asked(vendor, vendor.body("in JSON", schema={})).schema == {}


MEDIA: list[Any] = [
    (CHAT, {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "[audio]"),
    (CHAT, {"type": "file", "file": {"file_id": "f"}}, "[file]"),
    (RESPONSES, {"type": "input_file", "file_id": "f"}, "[file]"),
    (ANTHROPIC, {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}, "[file]"),
    (GEMINI, {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}, "[video]"),
    (GEMINI, {"fileData": {"mimeType": "audio/mp3", "fileUri": "gs://x"}}, "[audio]"),
    (GEMINI, {"fileData": {"mimeType": "application/pdf", "fileUri": "gs://x"}}, "[file]"),
]


@pytest.mark.parametrize(("vendor", "part", "shown"), MEDIA, ids=[f"{vendor}-{shown}" for vendor, _, shown in MEDIA])
def test_placeholders_of_media(vendor: Vendor, part: Any, shown: str) -> None:
    text = {
        "chat": {"type": "text", "text": "see"},
        "responses": {"type": "input_text", "text": "see"},
        "anthropic": {"type": "text", "text": "see"},
        "gemini": {"text": "see"},
    }[vendor.name]
    parts = [part, text]
    body = vendor.body()
    if vendor is GEMINI:
        body["contents"] = [{"role": "user", "parts": parts}]
    else:
        body["input" if vendor is RESPONSES else "messages"] = [{"role": "user", "content": parts}]
    call = asked(vendor, body)
    assert call.messages[0].text == f"{shown}\nsee"
    assert call.last_user_text == f"{shown}\nsee"
    assert call.user_texts == ("see",)


@ways
def test_a_plain_answer_asks_nobody_to_read_the_request(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(["x"]) as fake:
        vendor.post(stream=stream)
        assert fake.calls[0]._asked._view is None
        assert fake.calls[0].last_user_text == "Hi"
        assert fake.calls[0]._asked._view is not None


# --- the body -----------------------------------------------------------------------------------


def exact() -> Call:
    body = CHAT.body(metadata={"big": 2**70, "float": 0.1, "nested": [{"a": [1, None, True]}]})
    return asked(CHAT, body)


def test_the_body_is_exact() -> None:
    call = exact()
    assert call.body["metadata"]["big"] == 2**70
    assert call.body["metadata"]["float"] == 0.1
    assert call.body == json.loads(call.raw)
    assert json.loads(json.dumps(call.body)) == json.loads(call.raw)
    assert list(call.body) == list(json.loads(call.raw))
    assert call.body is call.body


@pytest.mark.parametrize(
    "alter",
    [
        lambda body: body.__setitem__("model", "x"),
        lambda body: body.__delitem__("model"),
        lambda body: body.update(model="x"),
        lambda body: body.pop("model"),
        lambda body: body.popitem(),
        lambda body: body.clear(),
        lambda body: body.setdefault("x", 1),
        lambda body: body.__ior__({"x": 1}),
        lambda body: body["messages"].append({}),
        lambda body: body["messages"].__setitem__(0, {}),
        lambda body: body["messages"].__delitem__(0),
        lambda body: body["messages"].__iadd__([1]),
        lambda body: body["messages"].extend([1]),
        lambda body: body["messages"].insert(0, 1),
        lambda body: body["messages"].pop(),
        lambda body: body["messages"].remove(1),
        lambda body: body["messages"].reverse(),
        lambda body: body["messages"].sort(),
        lambda body: body["messages"].clear(),
        lambda body: body["messages"][0].__setitem__("role", "x"),
        lambda body: body["metadata"]["nested"][0]["a"].append(1),
    ],
)
def test_the_body_cannot_be_altered(alter: Any) -> None:
    call = exact()
    with pytest.raises(TypeError, match="can't be altered"):
        alter(call.body)
    assert call.body == json.loads(call.raw)


def test_a_copy_of_the_body_can_be_altered() -> None:
    call = exact()
    for copied in (copy.deepcopy(call.body), pickle.loads(pickle.dumps(call.body)), copy.copy(call.body)):
        assert copied == call.body
    copied = copy.deepcopy(call.body)
    copied["messages"][0]["role"] = "x"
    copied["messages"].append(1)
    copied["metadata"]["nested"][0]["a"].append(2)
    assert type(copied) is dict
    assert type(copied["messages"]) is list
    assert call.body == json.loads(call.raw)
    plain = {**call.body, "x": 1}
    assert plain["x"] == 1
    assert isinstance(call.body, dict)
    assert isinstance(call.body["messages"], list)
    match call.body:
        case {"messages": [{"role": role}, *_]}:
            assert role == "user"
        case _:
            raise AssertionError("a body is matched as a dict")


@needs("pydantic")
def test_the_body_may_be_validated() -> None:
    import pydantic

    assert pydantic.TypeAdapter(dict[str, Any]).validate_python(exact().body) == exact().body


@vendors
def test_what_the_view_gives_is_not_the_way_to_alter_a_body(vendor: Vendor) -> None:
    call = asked(vendor)
    call.tools["other"] = {}
    assert "other" not in call.tools
    assert call.body == json.loads(call.raw)


def test_a_function_turn_cannot_alter_what_was_sent() -> None:
    def decide(call: Call) -> str:
        with pytest.raises(TypeError):
            call.body["model"] = "other"
        return "x"

    assert asked(CHAT, turn=decide).body["model"] == "gpt-5"


@pytest.mark.parametrize("body", [b"", b"not json", b"\xff"])
def test_a_body_that_is_no_json_is_none(body: bytes) -> None:
    with fake_llm.intercept() as fake:
        httpx.post(CHAT.place(), content=body)
    assert fake.calls[0].body is None
    assert fake.calls[0].raw == body


# --- the sequence -------------------------------------------------------------------------------


def several() -> FakeLLM:
    with fake_llm.intercept(default="x") as fake:
        for vendor, stream in WAYS:
            vendor.post(f"{vendor}", stream=stream)
        httpx.post("https://api.anthropic.com/v1/messages/count_tokens", json=ANTHROPIC.body())
    return fake


def test_calls_are_a_sequence() -> None:
    calls = several().calls
    assert len(calls) == 9
    assert [call.index for call in calls] == list(range(9))
    assert calls[0] is calls.first
    assert calls[-1] is calls.last
    assert [call.index for call in calls[1:3]] == [1, 2]
    assert [call.index for call in calls[::-4]] == [8, 4, 0]
    assert next(reversed(calls)) is calls.last
    assert calls[0] in calls
    assert calls.index(calls[2]) == 2
    assert calls.count(calls[2]) == 1
    assert bool(calls)
    assert type(calls[1:3]) is type(calls)
    assert [call.index for call in calls.chat] == list(range(8))
    with pytest.raises(IndexError, match="there is no call 9: 9 calls came"):
        calls[9]


def test_no_calls() -> None:
    calls = FakeLLM().calls
    assert (len(calls), calls.first, calls.last, list(calls), list(calls.chat), list(calls[0:5])) == (
        0,
        None,
        None,
        [],
        [],
        [],
    )
    assert not calls
    assert repr(calls) == "<fake_llm.Calls: no calls>"
    with pytest.raises(IndexError, match="no calls came"):
        calls[0]


@pytest.mark.parametrize(
    ("wanted", "indices"),
    [
        ({}, list(range(9))),
        ({"provider": "openai"}, [0, 1, 2, 3]),
        ({"provider": re.compile("^(open|gem)")}, [0, 1, 2, 3, 6, 7]),
        ({"provider": "open"}, []),
        ({"operation": "chat"}, list(range(8))),
        ({"operation": "count_tokens"}, [8]),
        ({"model": "gpt-5"}, [0, 1, 2, 3]),
        ({"model": re.compile("claude|gemini"), "operation": "chat"}, [4, 5, 6, 7]),
        ({"dialect": "openai_responses"}, [2, 3]),
        ({"stream": True}, [1, 3, 5, 7]),
        ({"stream": False, "provider": "gemini"}, [6]),
    ],
    ids=shown,
)
def test_filter(wanted: dict[str, Any], indices: list[int]) -> None:
    assert [call.index for call in several().calls.filter(**wanted)] == indices


def test_filter_by_a_function() -> None:
    calls = several().calls
    found = calls.filter(lambda call: call.last_user_text == "gemini", stream=True)
    assert [call.index for call in found] == [7]
    assert [call.index for call in found.filter(provider="openai")] == []


def test_clear_forgets_calls_and_keeps_the_script() -> None:
    with fake_llm.intercept(["a", "b"]) as fake:
        CHAT.post()
        fake.calls.clear()
        assert len(fake.calls) == 0
        assert fake.remaining == 1
        CHAT.post()
        assert fake.calls[0].index == 0


def test_a_slice_does_not_grow() -> None:
    with fake_llm.intercept(default="x") as fake:
        CHAT.post()
        early = fake.calls[:]
        for call in fake.calls:
            CHAT.post(str(call.index))
            if len(fake.calls) > 3:
                break
        assert len(early) == 1
        assert early == fake.calls[:1]
        assert fake.calls[:1] == [fake.calls[0]]


# --- side calls ---------------------------------------------------------------------------------


SIDE = [
    ("GET", "https://api.openai.com/v1/models"),
    ("GET", "https://api.openai.com/v1/models/gpt-5"),
    ("GET", "https://api.anthropic.com/v1/models"),
    ("GET", "https://api.anthropic.com/v1/models/claude"),
    ("GET", "https://generativelanguage.googleapis.com/v1beta/models"),
    ("GET", "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro"),
    ("POST", "https://api.openai.com/v1/traces/ingest"),
]


@pytest.mark.parametrize(("method", "url"), SIDE)
def test_housekeeping_never_touches_the_script(method: str, url: str) -> None:
    seen = []
    with fake_llm.intercept(["kept"], default="default") as fake:
        fake.when(lambda call: seen.append(call), operation=re.compile(".")).reply("never")
        response = httpx.request(method, url, json={"data": []} if method == "POST" else None)
        assert response.status_code < 300
        assert len(fake.calls) == 0
        assert [call.operation for call in fake.side_calls] == ["traces" if "traces" in url else "models"]
        assert fake.remaining == 1
        CHAT.post()
        assert fake.calls[0].index == 0
        assert fake.calls[0].reply == Reply("kept")
    assert seen == []
    assert fake.side_calls[0].response is not None
    assert fake.side_calls[0].url == url


# --- secrets ------------------------------------------------------------------------------------


SECRET = "sk-very-secret-0123456789"
KEYS: list[Any] = [
    ({"Authorization": f"Bearer {SECRET}"}, ""),
    ({"authorization": SECRET}, ""),
    ({"X-Api-Key": SECRET}, ""),
    ({"x-goog-api-key": SECRET}, ""),
    ({"api-key": SECRET}, ""),
    ({"cookie": f"a={SECRET}"}, ""),
    ({"Proxy-Authorization": SECRET}, ""),
    ({}, f"key={SECRET}"),
    ({}, f"x=1&KEY={SECRET}&y=2"),
    ({}, f"api_key={SECRET}"),
    ({}, f"access_token={SECRET}"),
]
NAMES = [
    *("ocp-apim-subscription-key", "helicone-auth", "x-functions-key", "anthropic-admin-key", "x-signature", "x-auth"),
    *("x-session", "x-session-id", "x-amz-security-token", "x-goog-iam-authorization-token", "x-jwt-assertion"),
]
PARAMETERS = [
    *("subscription-key", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "client_secret", "password"),
    *("code", "sig", "subscriptionKey", "X%2DAmz%2DSignature"),
]
HARMLESS = [
    *(
        "access-control-allow-credentials",
        "access-control-allow-headers",
        "idempotency-key",
        "x-ratelimit-limit-tokens",
    ),
    *("www-authenticate", "openai-organization", "x-request-id", "content-encoding", "x-stainless-retry-count"),
]
TOKEN = "sk-proj-abcdefghijklmnop1234"  # a key by its looks


@pytest.mark.parametrize("name", NAMES)
def test_headers_that_hold_secrets_are_masked(name: str) -> None:
    assert repr(Headers([(name, SECRET)])) == f"Headers({{{name!r}: '***'}})"


@pytest.mark.parametrize("name", HARMLESS)
def test_headers_that_hold_none_are_shown(name: str) -> None:
    assert repr(Headers([(name, "true")])) == f"Headers({{{name!r}: 'true'}})"


def test_a_key_in_any_header_is_masked_by_its_looks() -> None:
    assert repr(Headers([("x-note", f"by {TOKEN}")])) == "Headers({'x-note': 'by sk-proj-***'})"


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_hold_secrets_are_masked(name: str) -> None:
    assert masked_url(f"https://h.example/a?x=1&{name}={SECRET}&y=2#z") == f"https://h.example/a?x=1&{name}=***&y=2#z"


@pytest.mark.parametrize(
    ("url", "shown_as"),
    [
        ("https://h.example/a?pageToken=t&api-version=1&max_tokens=2", None),
        ("https://h.example/publishers/anthropic/models/claude@20250514:rawPredict", None),
        ("http://[::1]:80/a@b", None),
        ("http://[::1/a?b=c", None),
        ("not a url", None),
        ("https://user:supersecretpw@h:badport/v1", "https://***@h:badport/v1"),
        ("user:supersecretpw@h.example:8080/v1", "***@h.example:8080/v1"),
        ("https://user:super/secret?pw@h.example/v1", "https://***@h.example/v1"),
        ("https://user@h.example", "https://***@h.example"),
        (f"https://h.example/{TOKEN}/v1", "https://h.example/sk-proj-***/v1"),
    ],
)
def test_urls_of_any_kind_can_be_masked(url: str, shown_as: str | None) -> None:
    assert masked_url(url) == (url if shown_as is None else shown_as)


@vendors
def test_a_key_that_somebody_wrote_never_shows(vendor: Vendor) -> None:
    text = f"My key:\n{TOKEN}"
    with fake_llm.intercept([ToolCall("f", {"a": text}), text], strict=False) as fake:
        for _ in range(2):
            vendor.post(text, tools={"f": {"type": "object"}})
        with pytest.raises(fake_llm.UnscriptedCallError) as raised:
            vendor.post(text * 2)
    assert TOKEN not in shown(fake) + str(raised.value) + repr(raised.value)
    assert TOKEN[:12] not in f"{shown(fake)} {raised.value!r} {fake.calls[0].messages!r}", "nor its beginning"
    assert fake.calls[0].last_user_text == text  # the test itself may look


def shown(fake: FakeLLM) -> str:
    """All that people or failing tests may see of a fake."""
    calls = [*fake.calls, *fake.side_calls]
    parts = [repr(fake), str(fake), fake.transcript(), repr(fake.calls), repr(fake.side_calls), repr(fake.failures)]
    for call in calls:
        parts += [repr(call), str(call), repr(call.headers), str(call.headers), f"{call.headers}", call.url]
        parts += [repr(call.response), repr(call._asked.request), repr(call._asked)]
        parts += [repr(SimpleNamespace(call=call))]
    parts += [str(failure) for failure in fake.failures]
    return "\n".join(parts)


@vendors
@pytest.mark.parametrize(
    ("headers", "query"), KEYS, ids=[query.replace(SECRET, "…") or next(iter(headers)) for headers, query in KEYS]
)
def test_secrets_never_show(vendor: Vendor, headers: dict[str, str], query: str) -> None:
    def url(place: str) -> str:
        return place + ("&" if "?" in place else "?") + query if query else place

    host = re.match(r"https://[^/]+/", vendor.place())
    assert host is not None
    with fake_llm.intercept(["x", Error(429)]) as fake:
        for stream in (False, True):
            httpx.post(url(vendor.place(stream)), json=vendor.body(stream=stream), headers=headers)
        httpx.post(url(vendor.place()), content=b"not json", headers=headers)
        httpx.get(url(vendor.place().partition("/v1")[0] + "/v1/models"), headers=headers)
        for place in (vendor.place(), host[0] + "odd"):
            with pytest.raises(fake_llm.FakeLLMFailure) as raised:
                httpx.post(url(place), json=vendor.body("another"), headers=headers)
            assert SECRET not in f"{raised.value!r} {raised.value}"
        text = shown(fake)
        assert SECRET not in text
        assert len(fake.failures) == 2
        call = fake.calls[0]
        if headers:
            name, value = next(iter(headers.items()))
            assert call.headers[name] == value  # the test itself may look
        else:
            assert "***" in call.url
        fake.failures.clear()


def test_user_info_in_a_url_never_shows() -> None:
    with fake_llm.intercept(["x"], hosts={"h.example": "openai"}) as fake:
        httpx.post(f"https://user:{SECRET}@h.example/v1/chat/completions", json=CHAT.body())
    assert SECRET not in shown(fake)


def test_secrets_of_answers_never_show() -> None:
    with fake_llm.intercept([Reply("x", headers={"Set-Cookie": f"a={SECRET}"})]) as fake:
        CHAT.post()
    assert fake.calls[0].response is not None
    assert SECRET not in repr(fake.calls[0].response.headers)


@needs("openai", "anthropic", "google-genai")
def test_the_keys_of_sdks_never_show() -> None:
    import anthropic
    import openai
    from google import genai

    with fake_llm.intercept(["a", "b", "c"]) as fake:
        with openai.OpenAI(api_key=SECRET) as client:
            client.responses.create(model="gpt-5", input="Hi")
        with anthropic.Anthropic(api_key=SECRET) as other:
            other.messages.create(model="c", max_tokens=9, messages=[{"role": "user", "content": "Hi"}])
        google = genai.Client(api_key=SECRET)
        google.models.generate_content(model="gemini-2.5-flash", contents="Hi")
        assert SECRET not in shown(fake)
    assert [SECRET in str(dict(call.headers)) for call in fake.calls] == [True] * 3


def test_a_repr_says_what_it_is() -> None:
    with fake_llm.intercept(["a", Error(429)]) as fake:
        CHAT.post("What is\nthe weather " + "x" * 100)
        ANTHROPIC.post(stream=True)
    assert repr(fake.calls[0]) == f"<fake_llm.Call 0: openai chat gpt-5 'What is the weather {'x' * 39}…', 200>"
    assert repr(fake.calls[1]) == "<fake_llm.Call 1: anthropic chat claude-sonnet-5 stream 'Hi', 429>"
    assert repr(fake.calls).startswith("<fake_llm.Calls\n  <fake_llm.Call 0")


# --- many at once -------------------------------------------------------------------------------


def test_threads_share_a_journal() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with (
        fake_llm.intercept([Reply(str(n), usage=Usage(1, 1)) for n in range(200)]) as fake,
        ThreadPoolExecutor(8) as pool,
    ):
        answers = list(
            pool.map(lambda n: CHAT.post(f"question {n}").json()["choices"][0]["message"]["content"], range(200))
        )
    assert sorted(map(int, answers)) == list(range(200))
    assert [call.index for call in fake.calls] == list(range(200))
    assert len({call.last_user_text for call in fake.calls}) == 200
    assert fake.usage == Usage(200, 200)


def test_a_tool_loop_of_several_rounds_is_read_back() -> None:
    turns = [ToolCall("weather", {"city": "Paris"}), "Sunny."]
    with fake_llm.intercept(turns) as fake:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Weather in Paris?"}]
        tools = {"weather": WEATHER}
        message = CHAT.post(messages=messages, tools=tools).json()["choices"][0]["message"]
        messages += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sunny"}]
        CHAT.post(messages=messages, tools=tools)
    assert fake.calls[1].tool_results == (ToolResult(message["tool_calls"][0]["id"], "weather", "sunny"),)
    assert fake.calls[1].messages[1].tool_calls[0].arguments == {"city": "Paris"}


def test_an_upload_shows_neither_its_name_nor_its_bytes() -> None:
    with fake_llm.intercept() as fake:
        form = {"file": ("my-salary.pdf", b"%PDF-1.7 much"), "purpose": (None, "user_data")}
        httpx.post("https://api.openai.com/v1/files", files=form, verify=False)
    body = fake.side_calls[0].body
    assert body["file"].filename == "my-salary.pdf"
    assert "salary" not in repr(body)
    assert "much" not in repr(body)
