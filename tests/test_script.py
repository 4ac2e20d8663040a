"""Every row of the table of turns, on every vocabulary, whole and streamed; how what people write becomes a turn."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, WAYS, Vendor, failure, said
from fake_llm import (
    Error,
    FakeLLM,
    Image,
    Json,
    Raw,
    Refusal,
    Reply,
    ScriptError,
    ScriptMismatchError,
    Thinking,
    ToolCall,
    Usage,
)

ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Mapping[str, Any] = {"get_weather": WEATHER, "now": {"type": "object", "properties": {}}}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
STOP = {"chat": "stop", "responses": "completed", "anthropic": "end_turn", "gemini": "STOP"}
CALLED = {"chat": "tool_calls", "responses": "completed", "anthropic": "tool_use", "gemini": "STOP"}


def answer(vendor: Vendor, stream: bool, turn: Any, **asked: Any) -> Any:
    with fake_llm.intercept([turn]):
        return said(vendor, vendor.post(stream=stream, **asked))


# --- the rows -----------------------------------------------------------------------------------


@ways
@pytest.mark.parametrize(
    "text", ["Hello there, friend.", " leading and trailing ", "two\n\nparagraphs", "Žluťoučký 🐎 第二", "x"]
)
def test_text(vendor: Vendor, stream: bool, text: str) -> None:
    found = answer(vendor, stream, text)
    assert found.parts == [("text", text)]
    assert found.finish == STOP[vendor.name]


@ways
def test_an_empty_text_is_a_success_without_text(vendor: Vendor, stream: bool) -> None:
    found = answer(vendor, stream, "")
    assert found.text == ""
    assert found.finish == STOP[vendor.name]


@ways
@pytest.mark.parametrize(
    "text", ["\x00\x01\x7f", "\u2028\u2029\x85", "data: x\n\nevent: y\n\ndata: [DONE]\n\n", "\r\n\r", "\ufeff"]
)
def test_text_that_looks_like_framing_travels_unharmed(vendor: Vendor, stream: bool, text: str) -> None:
    assert answer(vendor, stream, text).text == text


@ways
def test_a_tool_call(vendor: Vendor, stream: bool) -> None:
    found = answer(vendor, stream, ToolCall("get_weather", {"city": "Paris"}), tools=TOOLS)
    assert found.parts == [("call", "get_weather", {"city": "Paris"})]
    assert found.finish == CALLED[vendor.name]


@ways
@pytest.mark.parametrize(
    "arguments", [{}, {"city": ""}, {"city": 'é\n"', "deep": [{"a": [1, 2.5, None, True]}]}, {"big": 2**70}]
)
def test_arguments_travel_exactly(vendor: Vendor, stream: bool, arguments: dict[str, Any]) -> None:
    found = answer(vendor, stream, ToolCall("f", arguments), tools={"f": {"type": "object"}})
    assert found.calls == [("f", arguments)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("vendor", [CHAT, RESPONSES], ids=str)
@pytest.mark.parametrize("arguments", ['{"city": "Pa', "", "not json", '{"city":  "Paris"}'])
def test_arguments_as_text_are_sent_as_they_are(vendor: Vendor, stream: bool, arguments: str) -> None:
    with fake_llm.intercept([ToolCall("get_weather", arguments)]):
        response = vendor.post(stream=stream, tools=TOOLS)
    if not stream:
        text = response.text
        assert json.dumps(arguments) in text
    expected: Any = arguments
    if arguments.endswith("}"):
        expected = json.loads(arguments)
    assert said(vendor, response).calls == [("get_weather", expected)]


def test_arguments_as_text_are_streamed_as_they_are_by_anthropic() -> None:
    with fake_llm.intercept([ToolCall("get_weather", '{"city": "Pa')]):
        assert said(ANTHROPIC, ANTHROPIC.post(stream=True, tools=TOOLS)).calls == [("get_weather", '{"city": "Pa')]


@ways
def test_the_id_of_a_tool_call(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([ToolCall("get_weather", {"city": "Oslo"}, "call_mine_42")]):
        response = vendor.post(stream=stream, tools=TOOLS)
    assert (b"call_mine_42" in response.content) is (vendor is not GEMINI)  # models before Gemini 3 send none


@ways
def test_several_parts_keep_their_order(vendor: Vendor, stream: bool) -> None:
    turn = [
        "Let me look.",
        ToolCall("get_weather", {"city": "Paris"}),
        ToolCall("now"),
        ToolCall("get_weather", {"city": "Oslo"}),
    ]
    found = answer(vendor, stream, turn, tools=TOOLS)
    assert found.parts == [
        ("text", "Let me look."),
        ("call", "get_weather", {"city": "Paris"}),
        ("call", "now", {}),
        ("call", "get_weather", {"city": "Oslo"}),
    ]
    assert found.finish == CALLED[vendor.name]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("vendor", [RESPONSES, ANTHROPIC, GEMINI], ids=str)
def test_text_after_a_tool_call_stays_after_it(vendor: Vendor, stream: bool) -> None:
    found = answer(vendor, stream, ("One.", ToolCall("now"), "Two."), tools=TOOLS)
    assert found.parts == [("text", "One."), ("call", "now", {}), ("text", "Two.")]


@ways
def test_thinking(vendor: Vendor, stream: bool) -> None:
    found = answer(vendor, stream, [Thinking("Paris is in France, I think."), "Sunny."])
    assert found.thinking == "Paris is in France, I think."
    assert found.text == "Sunny."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("vendor", [ANTHROPIC, GEMINI], ids=str)
def test_the_signature_of_thinking(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([[Thinking("hm", "c2lnbmVk"), ToolCall("now")]]):
        assert b"c2lnbmVk" in vendor.post(stream=stream, tools=TOOLS).content


@pytest.mark.parametrize("vendor", [RESPONSES, ANTHROPIC], ids=str)
@pytest.mark.parametrize("stream", [False, True])
def test_redacted_thinking_shows_no_text(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([[Thinking("classified", redacted=True), "Sunny."]]):
        response = vendor.post(stream=stream)
    assert b"classified" not in response.content
    assert said(vendor, response).text == "Sunny."


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("vendor", [CHAT, RESPONSES], ids=str)
def test_refusal_by_openai(vendor: Vendor, stream: bool) -> None:
    found = answer(vendor, stream, Refusal("I can't help with that."))
    assert found.parts == [("refusal", "I can't help with that.")]
    assert found.finish == STOP[vendor.name]


@pytest.mark.parametrize("stream", [False, True])
def test_refusal_by_anthropic(stream: bool) -> None:
    with fake_llm.intercept([Refusal("I can't help with that.")]):
        response = ANTHROPIC.post(stream=stream)
    assert said(ANTHROPIC, response).finish == "refusal"
    assert b'"explanation":"I can\'t help with that."' in response.content


@pytest.mark.parametrize("stream", [False, True])
def test_an_image_by_gemini(stream: bool) -> None:
    found = answer(GEMINI, stream, ["Here:", Image(b"\x89PNG")])
    assert found.parts == [("text", "Here:"), ("image", base64.b64encode(b"\x89PNG").decode())]


@pytest.mark.parametrize("stream", [False, True])
def test_an_image_by_responses(stream: bool) -> None:
    found = answer(RESPONSES, stream, Image(b"\x89PNG"), **{"tools": {}} | {"text": "draw"})
    assert found.parts == [("image", base64.b64encode(b"\x89PNG").decode())]


@pytest.mark.parametrize("stream", [False, True])
def test_a_part_that_a_vendor_cannot_carry_is_refused(stream: bool) -> None:
    with fake_llm.intercept([Image(b"x")]) as fake:
        with pytest.raises(ScriptMismatchError, match=r"Image.*\n.*Anthropic.* can't carry Image"):
            ANTHROPIC.post(stream=stream)
        fake.failures.clear()


@ways
@pytest.mark.parametrize("value", [{"a": [1, None]}, [1, "two"], "text", 5, True, None, 2**70, 0.1])
def test_json_is_text_of_any_value(vendor: Vendor, stream: bool, value: Any) -> None:
    assert json.loads(answer(vendor, stream, Json(value)).text) == value


@ways
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 418, 422, 429, 500, 502, 503, 504, 529, 599])
def test_an_error_by_status(vendor: Vendor, stream: bool, status: int) -> None:
    with fake_llm.intercept([Error(status)]) as fake:
        response = vendor.post(stream=stream)
    assert response.status_code == status
    assert failure(vendor, response)
    assert fake.calls[0].reply == Error(status)
    assert fake.calls[0].usage is None


NAMES = {
    "bad_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "request_too_large": 413,
    "context_length": 400,
    "content_filter": 400,
    "rate_limit": 429,
    "quota": 429,
    "server_error": 500,
    "unavailable": 503,
    "overloaded": 529,
    "timeout": 504,
}


@ways
@pytest.mark.parametrize("name", NAMES)
def test_an_error_by_name(vendor: Vendor, stream: bool, name: str) -> None:
    with fake_llm.intercept([Error(name)]):
        response = vendor.post(stream=stream)
    assert failure(vendor, response)
    assert 400 <= response.status_code <= 599
    if name in ("bad_request", "permission", "rate_limit", "server_error"):
        assert response.status_code == NAMES[name]


@ways
def test_what_an_error_says(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(
        [Error(429, "slower, please", retry_after=7, headers={"x-mine": "1", "Content-Type": "text/odd"})]
    ):
        response = vendor.post(stream=stream)
    assert failure(vendor, response) == "slower, please"
    assert response.headers["x-mine"] == "1"
    assert response.headers.get_list("content-type") == ["text/odd"]
    if vendor is not GEMINI:
        assert response.headers["retry-after"] == "7"
    else:
        assert "7s" in response.text


@ways
@pytest.mark.parametrize(
    ("body", "sent"), [({"oops": 1}, None), ("<html>", b"<html>"), (b"\xff\x00", b"\xff\x00"), ("", b"")]
)
def test_the_body_of_an_error(vendor: Vendor, stream: bool, body: Any, sent: bytes | None) -> None:
    with fake_llm.intercept([Error(502, body=body)]):
        response = vendor.post(stream=stream)
    assert response.status_code == 502
    assert response.content == sent if sent is not None else response.json() == body


@ways
def test_a_timeout_and_a_lost_connection_are_the_clients_own(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(
        [
            TimeoutError(),
            ConnectionError(),
            TimeoutError,
            ConnectionError,
            ConnectionResetError("gone"),
            BrokenPipeError(),
        ]
    ):
        with pytest.raises(httpx.ReadTimeout):
            vendor.post("a", stream=stream)
        with pytest.raises(httpx.ConnectError):
            vendor.post("b", stream=stream)
        with pytest.raises(httpx.ReadTimeout):
            vendor.post("c", stream=stream)
        with pytest.raises(httpx.ConnectError):
            vendor.post("d", stream=stream)
        with pytest.raises(httpx.ReadError, match="gone"):
            vendor.post("e", stream=stream)
        with pytest.raises(httpx.RemoteProtocolError):
            vendor.post("f", stream=stream)


class OddError(Exception):
    def __init__(self, text: str = "odd") -> None:
        super().__init__(text)


class OddestError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(one, two)


@ways
def test_other_exceptions_are_raised_as_they_are(vendor: Vendor, stream: bool) -> None:
    instance = OddError("mine")
    with fake_llm.intercept([instance, OddError, OSError("disk"), httpx.ConnectTimeout, KeyError("k")]):
        with pytest.raises(OddError) as raised:
            vendor.post("a", stream=stream)
        assert raised.value is instance
        for text, kind in (("b", OddError), ("c", OSError), ("d", httpx.ConnectTimeout), ("e", KeyError)):
            with pytest.raises(kind):
                vendor.post(text, stream=stream)


def test_an_exception_class_that_cannot_be_made_is_refused_when_written() -> None:
    with pytest.raises(ScriptError, match=r"OddestError.*\n.*instance"):
        FakeLLM([OddestError])


@needs("openai")
def test_an_sdk_exception_class_that_cannot_be_made_is_refused_when_written() -> None:
    import openai

    with pytest.raises(ScriptError, match="RateLimitError"):
        FakeLLM([openai.RateLimitError])


@ways
def test_raw_as_it_is(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(
        [Raw(b"\xff\x00raw", 207, {"X-Odd": "yes"}), Raw("täxt"), Raw({"a": 1}), Raw("", 204), Raw("<p>", 503)]
    ):
        first = vendor.post("1", stream=stream)
        assert (first.status_code, first.content, first.headers["x-odd"]) == (207, b"\xff\x00raw", "yes")
        assert vendor.post("2", stream=stream).content == "täxt".encode()
        third = vendor.post("3", stream=stream)
        assert third.json() == {"a": 1}
        assert third.headers["content-type"].startswith("application/json")
        assert vendor.post("4", stream=stream).status_code == 204
        fifth = vendor.post("5", stream=stream)
        assert fifth.status_code == 503
        assert fifth.headers["content-type"].startswith("text/html")


@vendors
def test_raw_events_travel_in_the_endpoints_own_framing(vendor: Vendor) -> None:
    events = [{"type": "ping", "n": 1}, {"type": "odd", "n": 2}]
    with fake_llm.intercept([Raw(events)]):
        response = vendor.post(stream=True)
    found = [
        json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:") and "[DONE]" not in line
    ]
    assert found == events
    assert ("[DONE]" in response.text) is (vendor is CHAT)
    assert ("event: ping" in response.text) is (vendor in (RESPONSES, ANTHROPIC))
    assert "event-stream" in response.headers["content-type"]


@ways
def test_a_function_decides(vendor: Vendor, stream: bool) -> None:
    seen: list[Any] = []

    def decide(call: fake_llm.Call) -> Any:
        seen.append((call.last_user_text, call.stream, call.attempt))
        return f"You said {call.last_user_text}"

    with fake_llm.intercept([decide]) as fake:
        assert said(vendor, vendor.post("boo", stream=stream)).text == "You said boo"
    assert seen == [("boo", stream, 1)]
    assert fake.calls[0].reply == Reply("You said boo")


@vendors
@pytest.mark.parametrize(
    ("turn", "check"),
    [
        ("text", lambda found: found.text == "text"),
        (ToolCall("now"), lambda found: found.calls == [("now", {})]),
        (["a", ToolCall("now")], lambda found: (found.text, found.calls) == ("a", [("now", {})])),
        ({"a": 1}, lambda found: json.loads(found.text) == {"a": 1}),
        (Json([1]), lambda found: found.text == "[1]"),
        (Reply("r", model="odd"), lambda found: (found.text, found.model) == ("r", "odd")),
        (lambda call: "inner", lambda found: found.text == "inner"),
    ],
    ids=["text", "call", "parts", "dict", "json", "reply", "function"],
)
def test_what_a_function_returns_is_read_by_the_same_table(
    vendor: Vendor, turn: Any, check: Callable[[Any], bool]
) -> None:
    assert check(answer(vendor, False, lambda call: turn, tools=TOOLS))


@vendors
def test_a_function_may_return_an_error_an_exception_or_raw(vendor: Vendor) -> None:
    with fake_llm.intercept(
        [lambda call: Error(418), lambda call: OddError("o"), lambda call: OddError, lambda call: Raw("raw")]
    ):
        assert vendor.post("1").status_code == 418
        for text in "23":
            with pytest.raises(OddError):
                vendor.post(text)
        assert vendor.post("4").text == "raw"


async def _async_turn(call: fake_llm.Call) -> str:
    return f"async {call.last_user_text}"


@vendors
def test_an_async_function_on_a_client_that_blocks(vendor: Vendor) -> None:
    assert answer(vendor, False, _async_turn).text == "async Hi"


@pytest.mark.asyncio
@needs("pytest-asyncio")
@vendors
async def test_functions_on_an_event_loop(vendor: Vendor) -> None:
    async with fake_llm.intercept([_async_turn, lambda call: "plain"]), httpx.AsyncClient() as client:
        one = await client.post(vendor.place(), json=vendor.body("x"))
        two = await client.post(vendor.place(), json=vendor.body("y"))
    assert (said(vendor, one).text, said(vendor, two).text) == ("async x", "plain")


@pytest.mark.asyncio
@needs("pytest-asyncio")
async def test_an_async_function_on_a_client_that_blocks_inside_a_loop() -> None:
    async with fake_llm.intercept([_async_turn]):
        assert said(CHAT, CHAT.post("x")).text == "async x"


def test_callables_of_every_kind() -> None:
    class Callable_:
        def __call__(self, call: Any) -> str:
            return "object"

        def method(self, call: Any, more: int = 1) -> str:
            return "method"

    import functools

    def two(prefix: str, call: Any) -> str:
        return prefix

    magic = mock.Mock(return_value="mock")
    turns = [
        Callable_(),
        Callable_().method,
        functools.partial(two, "partial"),
        magic,
        mock.AsyncMock(return_value="async mock"),
    ]
    with fake_llm.intercept(turns) as fake:
        assert [said(CHAT, CHAT.post(str(n))).text for n in range(5)] == [
            "object",
            "method",
            "partial",
            "mock",
            "async mock",
        ]
    magic.assert_called_once_with(fake.calls[3])


def test_a_fault_that_a_function_raises_is_scripted() -> None:
    def fault(call: Any) -> Any:
        raise TimeoutError

    def lost(call: Any) -> Any:
        raise ConnectionError("lost")

    with fake_llm.intercept([fault, lost]):
        with pytest.raises(httpx.ReadTimeout):
            CHAT.post("1")
        with pytest.raises(httpx.ConnectError, match="lost"):
            CHAT.post("2")


def test_an_assert_in_a_function_leaves_the_block_as_itself() -> None:
    def check(call: fake_llm.Call) -> Any:
        assert call.model == "gpt-4", call.model

    with pytest.raises(AssertionError, match="gpt-5"), fake_llm.intercept([check]):
        CHAT.post()


@needs("openai")
@pytest.mark.parametrize("stream", [False, True])
def test_an_assert_in_a_function_gets_past_the_retries_of_an_sdk(stream: bool) -> None:
    import openai

    calls = []

    def check(call: fake_llm.Call) -> Any:
        calls.append(call)
        raise AssertionError("not what I wanted")

    with (
        pytest.raises(AssertionError, match="not what I wanted"),
        fake_llm.intercept([check]),
        openai.OpenAI(max_retries=5) as client,
    ):
        client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}], stream=stream)
    assert len(calls) == 1


def test_what_a_function_returns_wrongly_is_a_script_error() -> None:
    with pytest.raises(ScriptError, match=r"A function turn got 5"), fake_llm.intercept([lambda call: 5]):
        CHAT.post()


def test_a_function_of_the_queue_that_returns_none_passes_on() -> None:
    with fake_llm.intercept([lambda call: None], default="default") as fake:
        fake.when(input="rule").reply("from the rule")
        assert said(CHAT, CHAT.post("rule")).text == "from the rule"
        fake.push(lambda call: None)
        assert said(CHAT, CHAT.post("else")).text == "default"


# --- SDK objects --------------------------------------------------------------------------------


def _sdk_objects() -> list[tuple[Vendor, Any]]:
    found: list[tuple[Vendor, Any]] = []
    for vendor, module, path, requirement in (
        (CHAT, "openai.types.chat", "ChatCompletion", "openai"),
        (RESPONSES, "openai.types.responses", "Response", "openai"),
        (ANTHROPIC, "anthropic.types", "Message", "anthropic"),
        (GEMINI, "google.genai.types", "GenerateContentResponse", "google-genai"),
    ):
        found.append(pytest.param(vendor, (module, path), id=str(vendor), marks=needs(requirement)))
    return found


def _made(vendor: Vendor, kind: tuple[str, str], *parts: Any) -> Any:
    import importlib

    with fake_llm.intercept([Reply(*parts, id="id_of_mine", usage=Usage(12, 5))]):
        document = vendor.post(tools=TOOLS).json()
    document.get("usageMetadata", {}).pop("serviceTier", None)  # unknown to the class of google-genai 3
    return getattr(importlib.import_module(kind[0]), kind[1]).model_validate(document)


@pytest.mark.parametrize(("vendor", "kind"), _sdk_objects())
@pytest.mark.parametrize("stream", [False, True])
def test_an_sdk_object_is_used_verbatim(vendor: Vendor, kind: tuple[str, str], stream: bool) -> None:
    value = _made(vendor, kind, "Let me look.", ToolCall("get_weather", {"city": "Paris"}))
    with fake_llm.intercept([value]) as fake:
        found = said(vendor, vendor.post(stream=stream))
    assert found.parts == [("text", "Let me look."), ("call", "get_weather", {"city": "Paris"})]
    assert found.id == "id_of_mine"
    assert fake.calls[0].reply is value
    assert fake.calls[0].usage is not None
    assert (fake.calls[0].usage.input_tokens, fake.calls[0].usage.output_tokens) == (12, 5)


@pytest.mark.parametrize(("vendor", "kind"), _sdk_objects())
def test_an_sdk_object_of_another_vendor_is_refused(vendor: Vendor, kind: tuple[str, str]) -> None:
    value = _made(vendor, kind, "Hello")
    for other in VENDORS:
        if other is vendor:
            continue
        with fake_llm.intercept([value]) as fake:
            with pytest.raises(ScriptMismatchError, match=f"{kind[1]}.*\n.*another class"):
                other.post()
            fake.failures.clear()


# --- structured output --------------------------------------------------------------------------


class Size(enum.Enum):
    SMALL = "small"


@dataclasses.dataclass
class Person:
    name: str
    age: int


def _people() -> list[Any]:
    people: list[Any] = [
        pytest.param({"name": "Ada", "age": 36}, id="dict"),
        pytest.param(Person("Ada", 36), id="dataclass"),
    ]
    return people


@ways
@pytest.mark.parametrize("value", _people())
class TestStructured:
    def test_a_schema_gets_json_text(self, vendor: Vendor, stream: bool, value: Any) -> None:
        found = answer(vendor, stream, value, schema=PERSON)
        assert json.loads(found.text) == {"name": "Ada", "age": 36}
        assert not found.calls
        assert found.finish == STOP[vendor.name]

    def test_a_schema_wins_over_offered_tools(self, vendor: Vendor, stream: bool, value: Any) -> None:
        found = answer(vendor, stream, value, schema=PERSON, tools={"person": PERSON})
        assert json.loads(found.text) == {"name": "Ada", "age": 36}
        assert not found.calls

    def test_a_named_tool_is_called(self, vendor: Vendor, stream: bool, value: Any) -> None:
        found = answer(vendor, stream, value, tools={"other": PERSON, "person": PERSON}, choice="person")
        assert found.calls == [("person", {"name": "Ada", "age": 36})]
        assert not found.text

    def test_the_one_demanded_tool_is_called(self, vendor: Vendor, stream: bool, value: Any) -> None:
        found = answer(vendor, stream, value, tools={"person": PERSON}, choice="any")
        assert found.calls == [("person", {"name": "Ada", "age": 36})]

    def test_of_several_demanded_tools_the_one_that_accepts_it(self, vendor: Vendor, stream: bool, value: Any) -> None:
        found = answer(vendor, stream, value, tools={"get_weather": WEATHER, "person": PERSON}, choice="any")
        assert found.calls == [("person", {"name": "Ada", "age": 36})]

    def test_of_several_that_accept_it_the_one_that_declares_its_keys(
        self, vendor: Vendor, stream: bool, value: Any
    ) -> None:
        loose = {"type": "object", "properties": {"name": {"type": "string"}}}
        found = answer(
            vendor, stream, value, tools={"now": TOOLS["now"], "loose": loose, "person": PERSON}, choice="any"
        )
        assert found.calls == [("person", {"name": "Ada", "age": 36})]

    def test_where_no_tool_is_demanded_it_is_text(self, vendor: Vendor, stream: bool, value: Any) -> None:
        found = answer(vendor, stream, value, tools={"person": PERSON})
        assert json.loads(found.text) == {"name": "Ada", "age": 36}
        assert not found.calls

    def test_where_nothing_is_asked_it_is_text(self, vendor: Vendor, stream: bool, value: Any) -> None:
        assert json.loads(answer(vendor, stream, value).text) == {"name": "Ada", "age": 36}

    def test_json_is_text_even_where_a_tool_is_demanded(self, vendor: Vendor, stream: bool, value: Any) -> None:
        found = answer(vendor, stream, Json({"name": "Ada", "age": 36}), tools={"person": PERSON}, choice="any")
        assert json.loads(found.text) == {"name": "Ada", "age": 36}
        assert not found.calls


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("vendor", [CHAT, RESPONSES, GEMINI], ids=str)
def test_json_mode_gets_json_text(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([{"any": ["thing"]}]) as fake:
        found = said(vendor, vendor.post("Answer in JSON", stream=stream, schema={}, tools={"f": {"type": "object"}}))
    assert json.loads(found.text) == {"any": ["thing"]}
    assert fake.calls[0].schema == {}


@vendors
def test_where_no_demanded_tool_accepts_it_the_message_says_why(vendor: Vendor) -> None:
    with fake_llm.intercept([{"nope": 1}]) as fake:
        with pytest.raises(ScriptMismatchError, match=r"(?s)nope.*get_weather.*person.*Write"):
            vendor.post(tools={"get_weather": WEATHER, "person": PERSON}, choice="any")
        fake.failures.clear()


@vendors
def test_structured_output_beside_text(vendor: Vendor) -> None:
    found = answer(vendor, False, ["Sure: ", {"a": 1}])
    assert found.text == 'Sure: {"a":1}'


@needs("pydantic")
@vendors
@pytest.mark.parametrize("stream", [False, True])
def test_a_pydantic_model_is_structured_output(vendor: Vendor, stream: bool) -> None:
    import pydantic

    class Answer(pydantic.BaseModel):
        name: str = pydantic.Field(alias="fullName")
        size: Size
        when: dt.date

    value = Answer(fullName="Ada", size=Size.SMALL, when=dt.date(2026, 1, 2))
    wanted = {"fullName": "Ada", "size": "small", "when": "2026-01-02"}
    assert json.loads(answer(vendor, stream, value).text) == wanted
    schema = Answer.model_json_schema()
    assert answer(vendor, stream, value, tools={"Answer": schema}, choice="Answer").calls == [("Answer", wanted)]


def test_nested_dataclasses_are_written_out() -> None:
    @dataclasses.dataclass
    class Team:
        lead: Person
        rest: list[Person]

    found = answer(CHAT, False, Team(Person("Ada", 36), [Person("Bo", 1)]))
    assert json.loads(found.text) == {"lead": {"name": "Ada", "age": 36}, "rest": [{"name": "Bo", "age": 1}]}


# --- coercion -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (None, "None.*\n.*\n.*Json"),
        (5, r"5 \(int\).*\n.*\n.*Json\(5\)"),
        (0.5, "Json"),
        (True, "Json"),
        (b"bytes", "Raw"),
        (object(), "object"),
        ({1, 2}, "set"),
        ([], "empty list"),
        ((), "empty list"),
        (str, "class builtins.str"),
        (Person, "Write an instance: Person"),
        (lambda: None, "one argument"),
        (lambda one, two: None, "one argument"),
        ([1, 2], "Json"),
        ([None], "Json"),
        ([["a"]], r"Only the script is a list of turns"),
        (["a", Reply("b")], r"Only the script is a list of turns"),
        (["a", Error(429)], r"said by then="),
        (["a", TimeoutError()], "TimeoutError"),
        (["a", lambda call: "b"], "function"),
        ({"choices": [{"message": {"content": "x"}}]}, r"choices\[0\].message.*\n.*\n.*Raw"),
        ({"candidates": [{"content": {}}]}, r"candidates\[0\].content"),
        ({"content": [], "stop_reason": "end_turn"}, "content and stop_reason"),
        ({1: "x"}, "str"),
        ({"x": {1: 2}}, "str"),
        ({"x": object()}, "JSON"),
        ({"x": float("nan")}, "JSON"),
        ({"x": {1, 2}}, "JSON"),
    ],
    ids=shown,
)
def test_what_cannot_be_a_turn_is_refused_when_it_is_written(value: Any, match: str) -> None:
    with pytest.raises(ScriptError, match=match):
        FakeLLM([value])
    with pytest.raises(ScriptError):
        FakeLLM().push(value)
    with pytest.raises(ScriptError):
        FakeLLM().when().reply(value)
    if value is not None:
        with pytest.raises(ScriptError):
            FakeLLM(default=value)
        with pytest.raises(ScriptError):
            FakeLLM().default(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Reply(delay=-1),
        lambda: Reply(delay="1"),
        lambda: Reply(delay=float("inf")),
        lambda: Reply(delay=True),
        lambda: Reply(interval=-1),
        lambda: Reply(chunk_size=0),
        lambda: Reply(chunk_size=1.5),
        lambda: Reply(chunk_size=2, chunks=["a"]),
        lambda: Reply("abc", chunks=["a", "b"]),
        lambda: Reply(chunks="abc"),
        lambda: Reply(chunks=5),
        lambda: Reply(chunks=[1]),
        lambda: Reply(logprobs=5),
        lambda: Reply(choices=5),
        lambda: Reply(choices="ab"),
        lambda: Reply(choices=[None]),
        lambda: Reply(usage=5),
        lambda: Reply(usage={"input_tokens": 1}),
        lambda: Reply(model=5),
        lambda: Reply(id=5),
        lambda: Reply(finish_reason=5),
        lambda: Reply(then="Disconnect"),
        lambda: Reply(then=fake_llm.Disconnect),
        lambda: Reply(framing={}),
        lambda: Reply(edit=5),
        lambda: Reply(extra=5),
        lambda: Reply(extra={"a": object()}),
        lambda: Reply(headers=5),
        lambda: Reply(headers={"a": 5}),
        lambda: Reply(headers={"a b": "x"}),
        lambda: Reply(headers={"a": "é"}),
        lambda: Reply(usage=Usage("1", 1)),  # type: ignore[arg-type]
        lambda: Reply(usage=Usage(-1, 1)),
        lambda: Reply(usage=Usage(1, 1, details={"a": object()})),
        lambda: Reply(usage=Usage(1, 1, details=5)),  # type: ignore[arg-type]
        lambda: Reply(logprobs=[{"a": object()}]),
        lambda: Reply(headers={"a": "x\r\ny: z"}),
        lambda: Reply(check="no"),
        lambda: Reply(None),
        lambda: Reply(5),
        lambda: Reply([1]),
        lambda: Reply(Reply("x")),
        lambda: ToolCall(""),
        lambda: ToolCall(5),
        lambda: ToolCall("f", 5),
        lambda: ToolCall("f", None),
        lambda: ToolCall("f", ["a"]),
        lambda: ToolCall("f", {"a": object()}),
        lambda: ToolCall("f", {1: 2}),
        lambda: ToolCall("f", {"a": float("inf")}),
        lambda: ToolCall("f", {}, 5),
        lambda: ToolCall("f", extra=5),
        lambda: ToolCall("f", extra={"a": object()}),
        lambda: Thinking(5),
        lambda: Thinking("x", 5),
        lambda: Refusal(None),
        lambda: Image(5),
        lambda: Image(b""),
        lambda: Image(b"x", 5),
        lambda: Json(object()),
        lambda: Json(float("nan")),
        lambda: Error("nope"),
        lambda: Error(200),
        lambda: Error(600),
        lambda: Error(True),
        lambda: Error(429.0),
        lambda: Error(429, 5),
        lambda: Error(429, retry_after="1"),
        lambda: Error(429, headers=[("a", "b")]),
        lambda: Error(429, body=object()),
        lambda: Raw(5),
        lambda: Raw(None),
        lambda: Raw({"a": object()}),
        lambda: Raw("", 99),
        lambda: Raw("", "200"),
        lambda: Raw("", then=5),
        lambda: Raw("", framing=5),
        lambda: fake_llm.Stall(-1),
        lambda: fake_llm.Stall("1"),
        lambda: fake_llm.Garbage("text"),
        lambda: fake_llm.Framing(newline="\n\n"),
        lambda: fake_llm.Framing(newline=5),
        lambda: fake_llm.Framing(comment="a\nb"),
        lambda: fake_llm.Framing(comment=5),
        lambda: fake_llm.Framing(split=0),
        lambda: fake_llm.Framing(blank_lines=0),
    ],
)
def test_what_cannot_be_written_is_a_script_error(make: Callable[[], Any]) -> None:
    with pytest.raises(ScriptError) as raised:
        make()
    assert "\n" in str(raised.value)


def test_a_dict_that_only_looks_like_a_vendors_body_is_structured_output() -> None:
    for value in (
        {"choices": ["a", "b"]},
        {"candidates": ["x"]},
        {"content": "x"},
        {"choices": []},
        {"stop_reason": "x"},
    ):
        assert json.loads(answer(CHAT, False, value).text) == value


@pytest.mark.parametrize(
    "script",
    [
        "one",
        ToolCall("now"),
        Reply("one"),
        Error(429),
        TimeoutError(),
        TimeoutError,
        {"a": 1},
        Person("Ada", 1),
        Json([1]),
        Raw("x"),
        Thinking("x"),
    ],
    ids=shown,
)
def test_a_single_turn_stands_for_a_script_of_one(script: Any) -> None:
    assert FakeLLM(script).remaining == 1


def test_a_script_may_be_any_iterable_of_turns() -> None:
    assert FakeLLM(()).remaining == 0
    assert FakeLLM(("a", "b")).remaining == 2
    assert FakeLLM(text for text in "abc").remaining == 3
    assert FakeLLM(["a", ["b", "c"]]).remaining == 2


def test_a_function_is_no_script() -> None:
    with pytest.raises(ScriptError, match=r"(?s)intercept\(\).*default=function"):
        fake_llm.intercept(lambda call: "x")


@pytest.mark.parametrize("script", [None, 5, object(), str, b"x"], ids=shown)
def test_what_cannot_be_a_script(script: Any) -> None:
    with pytest.raises(ScriptError):
        fake_llm.intercept(script)


def test_a_list_given_to_push_reply_and_default_is_one_turn() -> None:
    fake = FakeLLM()
    fake.push(["a", ToolCall("now")], "b")
    assert fake.remaining == 2
    fake.when().reply(["a", "b"], "c")
    assert fake.remaining == 4
    with fake_llm.intercept(default=["Hello ", "there"]):
        assert said(CHAT, CHAT.post()).text == "Hello there"
    with pytest.raises(ScriptError):
        fake.push([["a"]])


def test_str_subclasses_are_text() -> None:
    class Text(str):
        __slots__ = ()

    class Word(enum.StrEnum):
        YES = "yes"

    assert answer(CHAT, False, Text("sub")).text == "sub"
    assert answer(CHAT, True, Word.YES).text == "yes"


def test_reprs_can_be_read_back() -> None:
    for text in (
        "ToolCall('f', {'a': 1}, id='x')",
        "Reply('Hi', delay=0.5, choices=[Reply('b')])",
        "Error(429, retry_after=2)",
        "Thinking('x', redacted=True)",
        "Raw({'a': 1}, status=201)",
        "Image(b'x')",
        "Json([1])",
        "Refusal('no')",
    ):
        assert repr(eval(text, vars(fake_llm))) == text


def test_turns_cannot_be_altered() -> None:
    for value in (Reply("x"), ToolCall("f"), Error(429), Raw(""), Usage(1, 2)):
        with pytest.raises((AttributeError, TypeError)):
            value.delay = 5  # type: ignore[union-attr]


def test_a_pattern_in_a_message_is_a_class_name_not_an_address() -> None:
    with pytest.raises(ScriptError) as raised:
        FakeLLM([Person])
    assert not re.search("0x[0-9a-f]{6}", str(raised.value))
