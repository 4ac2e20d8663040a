"""The dialect of OpenAI Responses, judged by the unmodified SDK over a mock transport."""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _capability import load
from _shared import needs_shared, shared_dir
from fake_llm._dialect import Asked, Choice, Delta, Exchange, Ids
from fake_llm._dialects.openai_responses import DIALECT, pad
from fake_llm._errors import ScriptMismatchError
from fake_llm._framing import Sse, Whole
from fake_llm._json import pretty
from fake_llm._model import Headers, Request, ToolChoice, Usage
from fake_llm._turns import ERROR_NAMES, Error, Framing, Image, Refusal, Thinking, ToolCall

openai = load("openai")
pydantic = load("pydantic")
httpx = importlib.import_module("httpx" if openai.__version__.startswith("2.") else "httpx2")
WHOLE = Whole(pretty)
WIRE = Sse(named=True, done=None, pad=pad)
REQUEST = Request("POST", "https://api.openai.com/v1/responses", Headers(), b"", "httpx")
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def exchange(*parts: Any, body: dict[str, Any] | None = None, finish: str = "stop", **options: Any) -> Exchange:
    body = {"model": "gpt-4.1", "input": "hi"} if body is None else body
    keys = ("logprobs", "chunk_size", "chunks")
    choice = Choice(parts, finish, **{key: options.pop(key) for key in keys if key in options})
    options.setdefault("usage", Usage(10, 5, 3, 2, 1))
    return Exchange(
        "openai",
        Asked(REQUEST, DIALECT, body),
        Ids(b"seed"),
        options.pop("model", "gpt-4.1"),
        choices=(choice,),
        stream=body.get("stream") is True,
        **options,
    )


def reply(make: Any) -> Any:
    """A handler for a mock transport: `make` gets an exchange's arguments by the request that came."""

    def answer(request: Any) -> Any:
        body = json.loads(request.content)
        it = make(body)
        headers = dict(DIALECT.headers(it))
        if not DIALECT.stream(REQUEST, body):
            return httpx.Response(200, headers=headers, content=WHOLE.encode(DIALECT.document(it)))
        content, ending = DIALECT.events(it)
        sent = b"".join(WIRE.encode([*content, *ending])) + WIRE.end()
        return httpx.Response(200, headers={**headers, "content-type": WIRE.content_type}, content=sent)

    return answer


def client(make: Any, *, raw: bool = False) -> openai.OpenAI:
    transport = httpx.MockTransport(make if raw else reply(make))
    return openai.OpenAI(
        api_key="k", http_client=httpx.Client(transport=transport), max_retries=0, _strict_response_validation=True
    )


def saying(*parts: Any, **options: Any) -> openai.OpenAI:
    return client(lambda body: exchange(*parts, body=body, **options))


def streamed(*parts: Any, **options: Any) -> list[dict[str, Any]]:
    content, ending = DIALECT.events(exchange(*parts, **options))
    return json.loads(json.dumps([*content, *ending]))


# --- whole and streamed -----------------------------------------------------------------------------


def test_text_whole() -> None:
    response = saying("It is ", "sunny.").responses.create(model="gpt-4.1", input="hi")
    assert response.output_text == "It is sunny."
    assert [item.type for item in response.output] == ["message"]
    assert len(response.output[0].content) == 2
    assert response.status == "completed"
    assert response.completed_at == response.created_at
    assert response.id.startswith("resp_")
    assert len(response.id) == len("resp_") + 50
    assert response.output[0].id[4:30] == response.id[5:31]
    assert response.usage.input_tokens_details.cached_tokens == 3
    assert response.usage.input_tokens_details.cache_write_tokens == 2
    assert response.usage.output_tokens_details.reasoning_tokens == 1
    assert response.usage.total_tokens == 15
    assert response.model_dump()["billing"] == {"payer": "developer"}
    assert response._request_id.startswith("req_")


def test_text_streamed() -> None:
    events = list(saying("It is sunny.").responses.create(model="gpt-4.1", input="hi", stream=True))
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.delta for event in events if event.type == "response.output_text.delta"] == ["It", " is", " sunny."]
    assert events[0].response.usage is None
    assert events[0].response.completed_at is None
    assert events[0].response.service_tier == "auto"
    assert events[-1].response.service_tier == "default"
    assert events[-1].response.output_text == "It is sunny."
    assert "billing" not in events[-1].response.model_dump()


def test_async_stream() -> None:
    async def main() -> str:
        transport = httpx.MockTransport(reply(lambda body: exchange("a b", body=body)))
        async with openai.AsyncOpenAI(api_key="k", http_client=httpx.AsyncClient(transport=transport)) as it:
            stream = await it.responses.create(model="gpt-4.1", input="hi", stream=True)
            return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])

    assert asyncio.run(main()) == "a b"


def test_deltas_are_marked_for_pacing_and_only_they() -> None:
    content, ending = DIALECT.events(exchange(Thinking("a b"), "c d", ToolCall("t", {"x": 1}, "call_1"), Refusal("no")))
    assert {event["type"].endswith(".delta") for event in content if isinstance(event, Delta)} == {True}
    assert not any(event["type"].endswith(".delta") for event in content if not isinstance(event, Delta))
    assert [event["type"] for event in ending] == ["response.completed"]


def test_parsed_by_the_helpers_of_the_sdk() -> None:
    class Answer(pydantic.BaseModel):
        n: int

    fake = saying('{"n":3}')
    assert fake.responses.parse(model="gpt-4.1", input="hi", text_format=Answer).output_parsed == Answer(n=3)
    with fake.responses.stream(model="gpt-4.1", input="hi", text_format=Answer) as stream:
        assert stream.get_final_response().output_parsed == Answer(n=3)


def test_phases_of_newer_models() -> None:
    parts = ("Let me look.", ToolCall("t", {}, "call_1"), "Done.")
    newer = saying(*parts, model="gpt-5.4-2026-03-05").responses.create(model="gpt-5.4", input="hi")
    older = saying(*parts, model="gpt-5.2").responses.create(model="gpt-5.2", input="hi")
    assert [item.phase for item in newer.output if item.type == "message"] == ["commentary", "final_answer"]
    (whole,) = DIALECT.document(exchange("x", model="gpt-6"))["output"]
    assert list(whole) == ["id", "type", "status", "content", "phase", "role"]
    assert "phase" not in older.output[0].to_dict()


texts = st.text(st.characters(codec="utf-8"), max_size=20)
names = st.from_regex(r"[a-zA-Z_]{1,12}", fullmatch=True)
values = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | texts, lambda inner: st.lists(inner, max_size=2))
said = st.one_of(
    texts,
    st.builds(Refusal, texts),
    st.builds(
        ToolCall, names, st.dictionaries(texts, values, max_size=3), st.from_regex(r"call_[a-z]{6}", fullmatch=True)
    ),
    st.builds(Thinking, texts, st.none() | st.just("sig")),
    st.just(Thinking("", "opaque", redacted=True)),
    st.builds(Image, st.binary(min_size=1, max_size=9), st.sampled_from(["image/png", "image/jpeg", "image/webp"])),
)
turns = st.lists(said, max_size=5, unique_by=lambda part: part.id if isinstance(part, ToolCall) else object()).map(
    tuple
)
sizes = st.none() | st.integers(1, 9)


def unsigned_and_empty(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An item without a summary that is encrypted is redacted thinking: the wire knows no difference."""
    return tuple(
        Thinking("", part.signature, redacted=True)
        if isinstance(part, Thinking) and not part.text and part.signature
        else part
        for part in parts
    )


@settings(max_examples=60, deadline=None)
@given(turns)
def test_what_the_sdk_sees_is_what_was_said(parts: tuple[Any, ...]) -> None:
    response = saying(*parts).responses.create(model="gpt-4.1", input="hi")
    back = DIALECT.parts(response.to_dict())
    assert back.parts == unsigned_and_empty(parts)
    assert back.usage == Usage(10, 5, 3, 2, 1)
    assert back.id == response.id
    assert back.model == "gpt-4.1"


@settings(max_examples=60, deadline=None)
@given(turns, sizes)
def test_streamed_is_the_same_as_whole(parts: tuple[Any, ...], size: int | None) -> None:
    with saying(*parts, chunk_size=size).responses.stream(model="gpt-4.1", input="hi") as stream:
        final = stream.get_final_response()
    whole = saying(*parts).responses.create(model="gpt-4.1", input="hi").to_dict()
    del whole["billing"]
    ended = final.to_dict()
    for item in ended["output"]:
        item.pop("parsed_arguments", None)
        for content in item.get("content") or ():
            content.pop("parsed", None)
    assert ended == whole


@settings(max_examples=60, deadline=None)
@given(turns, sizes)
def test_events_add_up_and_are_numbered(parts: tuple[Any, ...], size: int | None) -> None:
    events = streamed(*parts, chunk_size=size)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert all(list(event) == ["type", *sorted(set(event) - {"type"})] for event in events)
    for item in events[-1]["response"]["output"]:
        mine = [event for event in events if event.get("item_id") == item["id"] and event["type"].endswith(".delta")]
        joined = "".join(event["delta"] for event in mine)
        if item["type"] == "message":
            assert joined == "".join(part.get("text", part.get("refusal")) for part in item["content"])
        elif item["type"] == "function_call":
            assert joined == item["arguments"]
        elif item["type"] == "reasoning":
            assert joined == "".join(part["text"] for part in item["summary"])


@settings(max_examples=40, deadline=None)
@given(turns, st.sampled_from(["stop", "tool_calls", "length", "content_filter", "refusal"]))
def test_an_answer_read_back_gives_the_same_answer(parts: tuple[Any, ...], finish: str) -> None:
    first = DIALECT.document(exchange(*parts, finish=finish))
    turn = DIALECT.parts(first)
    again = DIALECT.document(
        exchange(*turn.parts, finish=turn.finish_reason, usage=turn.usage, model=turn.model, id=turn.id)
    )
    second = DIALECT.parts(again)
    assert second == turn or (second.parts, second.finish_reason) == (turn.parts, turn.finish_reason)
    without_ids = [[{**item, "id": ""} for item in body["output"]] for body in (first, again)]
    assert without_ids[0] == without_ids[1]
    assert {**first, "output": []} == {**again, "output": []}


# --- single parts -----------------------------------------------------------------------------------


def test_order_is_kept_and_each_call_is_an_item() -> None:
    parts = (
        Thinking("hm"),
        "Let me look.",
        ToolCall("get_weather", {"city": "Paris"}, "call_a"),
        ToolCall("t", {}, "call_b"),
    )
    response = saying(*parts, finish="tool_calls").responses.create(model="gpt-4.1", input="hi", tools=[WEATHER])
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call", "function_call"]
    call = response.output[2]
    assert call.id.startswith("fc_")
    assert call.call_id == "call_a"
    assert call.arguments == '{"city":"Paris"}'
    assert response.status == "completed"
    assert list(DIALECT.document(exchange(parts[2]))["output"][0]) == [
        "id",
        "type",
        "status",
        "arguments",
        "call_id",
        "name",
    ]


def test_broken_arguments_travel_as_they_are_and_extra_is_merged() -> None:
    call = ToolCall("t", '{"a": ', "call_a", extra={"namespace": "crm"})
    response = saying(call).responses.create(model="gpt-4.1", input="hi")
    assert response.output[0].arguments == '{"a": '
    assert response.output[0].namespace == "crm"
    assert DIALECT.parts(response.to_dict()).parts == (call,)


@pytest.mark.parametrize("arguments", ["4 + 4", {"input": "4 + 4"}])
def test_a_custom_tool_gets_text(arguments: Any) -> None:
    tool = {"type": "custom", "name": "calc"}
    fake = saying(ToolCall("calc", arguments, "call_a"), ToolCall("calc", {"a": 1}, "call_b"), chunk_size=2)
    response = fake.responses.create(model="gpt-4.1", input="hi", tools=[tool])
    assert [(item.type, item.input) for item in response.output] == [
        ("custom_tool_call", "4 + 4"),
        ("custom_tool_call", '{"a":1}'),
    ]
    assert response.output[0].id.startswith("ctc_")
    events = list(fake.responses.create(model="gpt-4.1", input="hi", tools=[tool], stream=True))
    deltas = [
        event.delta
        for event in events
        if event.type == "response.custom_tool_call_input.delta" and event.output_index == 0
    ]
    assert deltas == ["4 ", "+ ", "4"]


def test_reasoning_is_encrypted_when_it_is_asked_for() -> None:
    plain = saying(Thinking("why"), "x").responses.create(model="gpt-5", input="hi").output[0]
    assert plain.to_dict().keys() == {"id", "type", "summary"}
    assert plain.summary[0].text == "why"
    asked = (
        saying(Thinking("why"), "x")
        .responses.create(model="gpt-5", input="hi", include=["reasoning.encrypted_content"])
        .output[0]
    )
    assert asked.encrypted_content.startswith("gAAAAA")
    signed = saying(Thinking("why", "mine"), "x").responses.create(model="gpt-5", input="hi").output[0]
    assert signed.encrypted_content == "mine"
    redacted = saying(Thinking("secret", redacted=True), "x").responses.create(model="gpt-5", input="hi").output[0]
    assert redacted.summary == []
    assert redacted.encrypted_content


def test_neighbouring_thoughts_are_the_summaries_of_one_item() -> None:
    response = saying(Thinking("a", "s"), Thinking("b"), Thinking("c", "t")).responses.create(model="gpt-5", input="hi")
    assert [[part.text for part in item.summary] for item in response.output] == [["a", "b"], ["c"]]


def test_refusal_streamed() -> None:
    events = list(saying(Refusal("I can't.")).responses.create(model="gpt-4.1", input="hi", stream=True))
    assert [event.delta for event in events if event.type == "response.refusal.delta"] == ["I", " can't."]
    assert events[-1].response.output[0].content[0].refusal == "I can't."


def test_an_image_is_base64_and_never_a_url() -> None:
    events = list(saying(Image(b"\x89PNG")).responses.create(model="gpt-4.1", input="hi", stream=True))
    assert events[-1].response.output[0].result == "iVBORw=="
    assert events[-1].response.output[0].id.startswith("ig_")
    with pytest.raises(ScriptMismatchError, match="bytes"):
        DIALECT.document(exchange(Image("https://x.example/a.png")))


def test_logprobs_are_where_their_tokens_are() -> None:
    body = {"model": "gpt-4.1", "input": "hi", "include": ["message.output_text.logprobs"], "top_logprobs": 1}
    pairs = (("It", -0.1), (" is", -0.2), (" sun", -0.3), ("ny", -0.4))
    fake = saying("It is", " sunny", logprobs=pairs)
    contents = fake.responses.create(**body).output[0].content
    assert [[entry.token for entry in content.logprobs] for content in contents] == [["It", " is"], [" sun", "ny"]]
    assert contents[0].logprobs[0].bytes == [73, 116]
    assert contents[0].logprobs[0].top_logprobs[0].token == "It"
    events = list(fake.responses.create(**body, stream=True))
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    assert [(event.delta, [entry.token for entry in event.logprobs]) for event in deltas] == [
        ("It", ["It"]),
        (" is", [" is"]),
        (" sunny", [" sun", "ny"]),
    ]
    back = DIALECT.parts(events[-1].response.to_dict())
    assert [entry["logprob"] for entry in back.logprobs] == [-0.1, -0.2, -0.3, -0.4]


def test_logprobs_of_the_vendors_own_kind_and_of_other_lengths_are_all_sent() -> None:
    own = ({"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": []},) * 3
    events = streamed("a", logprobs=own)
    assert [len(event["logprobs"]) for event in events if event["type"].startswith("response.output_text.")] == [3, 3]


# --- endings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finish", "status", "reason"),
    [
        ("stop", "completed", None),
        ("stop_sequence", "completed", None),
        ("length", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"),
        ("max_output_tokens", "incomplete", "max_output_tokens"),
        ("steered", "incomplete", "steered"),
        ("failed", "failed", None),
        ("cancelled", "cancelled", None),
    ],
)
def test_endings(finish: str, status: str, reason: str | None) -> None:
    body = DIALECT.document(exchange("Hi", finish=finish))
    assert body["status"] == status
    assert body["incomplete_details"] == (None if reason is None else {"reason": reason})
    assert (body["error"] is not None) == (status == "failed")
    assert body["output"][-1]["status"] == ("incomplete" if status == "incomplete" else "completed")
    ending = streamed("Hi", finish=finish)[-1]["type"]
    assert ending == "response." + (status if status != "cancelled" else "completed")


def test_a_blocked_answer_is_incomplete_and_empty() -> None:
    response = saying(finish="content_filter").responses.create(model="gpt-4.1", input="hi")
    assert response.output == []
    assert response.incomplete_details.reason == "content_filter"
    assert DIALECT.parts(response.to_dict()).finish_reason == "content_filter"


def test_extra_is_merged_and_what_is_known_at_the_end_stays_there() -> None:
    extra = {"service_tier": "flex", "usage": {"cost": 1}}
    events = streamed("Hi", extra=extra)
    assert events[0]["response"]["service_tier"] == "flex"
    assert events[0]["response"]["usage"] is None
    assert events[-1]["response"]["usage"]["cost"] == 1
    assert DIALECT.document(exchange("Hi", extra=extra))["usage"]["input_tokens"] == 10


def test_an_id_of_the_script_and_details_of_usage() -> None:
    body = DIALECT.document(exchange("Hi", id="resp_mine", usage=Usage(1, 2, total_tokens=9, details={"x": 1})))
    assert body["id"] == "resp_mine"
    assert body["usage"]["total_tokens"] == 9
    assert DIALECT.parts(body).usage == Usage(1, 2, total_tokens=9, details={"x": 1})


# --- the echo of settings ---------------------------------------------------------------------------


def test_settings_are_echoed_with_their_defaults() -> None:
    sent = {
        "model": "gpt-4.1",
        "input": "hi",
        "instructions": "Be brief.",
        "temperature": 0,
        "max_output_tokens": 50,
        "metadata": {"a": "b"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "tool_choice": {"name": "get_weather", "type": "function"},
        "tools": [WEATHER, {"name": "calc", "type": "custom"}, {"type": "web_search"}],
        "text": {"format": {"type": "json_schema", "schema": {"type": "object"}, "name": "n"}},
        "conversation": "conv_1",
    }
    response = saying("{}").responses.create(**sent)
    echo = json.loads(response.to_json(exclude_unset=True))
    assert echo["instructions"] == "Be brief."
    assert echo["temperature"] == 0.0
    assert echo["max_output_tokens"] == 50
    assert echo["metadata"] == {"a": "b"}
    assert echo["reasoning"] == {"context": None, "effort": "low", "summary": "detailed"}
    assert list(DIALECT.document(exchange("x", body=sent))["tool_choice"]) == ["type", "name"]
    assert echo["conversation"] == {"id": "conv_1"}
    assert echo["text"]["format"] == {
        "type": "json_schema",
        "description": None,
        "name": "n",
        "schema": {"type": "object"},
        "strict": False,
    }
    weather, calc, search = echo["tools"]
    assert weather["strict"] is True
    assert weather["parameters"]["additionalProperties"] is False
    assert calc["format"] == {"type": "text"}
    assert search["search_context_size"] == "medium"


@pytest.mark.parametrize(
    ("model", "sent", "echo"),
    [
        ("gpt-4.1", None, {"context": None, "effort": None, "summary": None}),
        ("gpt-5-nano", None, {"context": "current_turn", "effort": "medium", "mode": "standard", "summary": None}),
        ("gpt-5.2", {}, {"context": "current_turn", "effort": "none", "mode": "standard", "summary": None}),
        (
            "o4-mini",
            {"effort": "low"},
            {"context": "current_turn", "effort": "low", "mode": "standard", "summary": None},
        ),
        (
            "gpt-5.6-terra",
            {"summary": "concise", "mode": "pro"},
            {"context": "all_turns", "effort": "medium", "mode": "pro", "summary": "concise"},
        ),
    ],
)
def test_a_model_that_reasons_says_how(model: str, sent: Any, echo: dict[str, Any]) -> None:
    body = {"model": model, "input": "hi", "reasoning": sent}
    reasoning = DIALECT.document(exchange("x", body=body, model=model))["reasoning"]
    assert list(reasoning.items()) == list(echo.items())


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, True),
        ({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": True}}}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        ({"type": "object", "properties": {"a": {"items": {"additionalProperties": True, "type": "object"}}}}, False),
    ],
)
def test_a_function_is_strict_where_its_schema_can_be(schema: dict[str, Any], strict: bool) -> None:
    body = {"model": "m", "input": "hi", "tools": [{"type": "function", "name": "t", "parameters": schema}]}
    (tool,) = DIALECT.document(exchange("x", body=body))["tools"]
    assert tool["strict"] is strict
    assert tool["parameters"] == ({**schema, "required": ["a"], "additionalProperties": False} if strict else schema)
    (kept,) = DIALECT.document(exchange("x", body={**body, "tools": [{**body["tools"][0], "strict": False}]}))["tools"]
    assert kept["parameters"] == schema


# --- errors -----------------------------------------------------------------------------------------


def failing(error: Error) -> openai.OpenAI:
    def answer(request: Any) -> Any:
        response = DIALECT.failure(exchange(body=json.loads(request.content), model="gpt-4.1"), error)
        return httpx.Response(response.status, headers=list(response.headers), content=response.body)

    return client(answer, raw=True)


@pytest.mark.parametrize(
    ("kind", "cls", "status", "code"),
    [
        ("bad_request", openai.BadRequestError, 400, None),
        ("authentication", openai.AuthenticationError, 401, "invalid_api_key"),
        ("permission", openai.PermissionDeniedError, 403, "model_not_found"),
        ("not_found", openai.BadRequestError, 400, "model_not_found"),
        (404, openai.NotFoundError, 404, "model_not_found"),
        ("request_too_large", openai.APIStatusError, 413, "request_too_large"),
        ("context_length", openai.BadRequestError, 400, "context_length_exceeded"),
        ("content_filter", openai.BadRequestError, 400, "invalid_prompt"),
        ("rate_limit", openai.RateLimitError, 429, "rate_limit_exceeded"),
        ("quota", openai.RateLimitError, 429, "insufficient_quota"),
        ("server_error", openai.InternalServerError, 500, "server_error"),
        ("unavailable", openai.InternalServerError, 503, None),
        ("overloaded", openai.InternalServerError, 503, "server_is_overloaded"),
        ("timeout", openai.InternalServerError, 504, None),
        (502, openai.InternalServerError, 502, "server_error"),
        (409, openai.ConflictError, 409, None),
    ],
)
def test_errors_are_the_sdks_own(kind: Any, cls: type[openai.APIStatusError], status: int, code: str | None) -> None:
    with pytest.raises(cls) as caught:
        failing(Error(kind)).responses.create(model="gpt-4.1", input="hi")
    assert caught.value.status_code == status
    assert caught.value.code == code
    assert list(caught.value.body) == ["message", "type", "param", "code"]
    assert "{" not in caught.value.body["message"]
    assert caught.value.request_id.startswith("req_")


def test_every_name_has_a_failure() -> None:
    for name in ERROR_NAMES:
        assert 400 <= DIALECT.failure(exchange(), Error(name, "mine")).status < 600


def test_a_message_and_a_wait_of_the_script() -> None:
    with pytest.raises(openai.RateLimitError, match="slow down") as caught:
        failing(Error(429, "slow down", retry_after=0.5)).responses.create(model="gpt-4.1", input="hi")
    assert caught.value.response.headers["retry-after"] == "1"
    assert caught.value.response.headers["retry-after-ms"] == "500"
    response = DIALECT.failure(exchange(), Error(401))
    assert ("www-authenticate", 'Bearer realm="OpenAI API"') in response.headers
    assert response.body.startswith(b'{\n  "error": {\n    "message"')
    assert response.body.endswith(b"}")


def test_a_failure_in_the_middle_of_a_stream() -> None:
    def answer(request: Any) -> Any:
        it = exchange("It is sunny.", body=json.loads(request.content))
        content, _ = DIALECT.events(it)
        return httpx.Response(
            200,
            headers={"content-type": WIRE.content_type},
            content=b"".join(WIRE.encode([*content, *DIALECT.failure_events(it, Error("rate_limit", "slow"))])),
        )

    seen = []
    with pytest.raises(openai.APIError, match="slow") as caught:
        for event in client(answer, raw=True).responses.create(model="gpt-4.1", input="hi", stream=True):
            seen.append(event)
    assert caught.value.code == "rate_limit_exceeded"
    assert seen[-1].type == "response.output_item.done"

    it = exchange("It is sunny.")
    content, _ = DIALECT.events(it)
    error, failed = DIALECT.failure_events(it, Error("unavailable"))
    assert list(error["error"]) == ["type", "code", "message", "param"]
    assert [error["sequence_number"], failed["sequence_number"]] == [len(content), len(content) + 1]
    assert failed["type"] == "response.failed"
    assert failed["response"]["id"] == content[0]["response"]["id"]
    assert failed["response"]["status"] == "failed"
    assert failed["response"]["error"]["code"] == "server_error"


# --- refusing malformed requests --------------------------------------------------------------------

GOOD = {"model": "m", "input": "hi"}


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ([], None, "invalid_type"),
        ({"input": "hi"}, "model", "missing_required_parameter"),
        ({"model": 3, "input": "hi"}, "model", "invalid_type"),
        ({"model": "", "input": "hi"}, "model", "model_not_found"),
        ({"model": "m"}, "input", "missing_required_parameter"),
        ({"model": "m", "input": 3}, "input", "invalid_type"),
        ({"model": "m", "messages": []}, "messages", "unsupported_parameter"),
        ({**GOOD, "response_format": {}}, "response_format", "unsupported_parameter"),
        ({**GOOD, "temperature": "hot"}, "temperature", "invalid_type"),
        ({**GOOD, "temperature": True}, "temperature", "invalid_type"),
        ({**GOOD, "temperature": 2.5}, "temperature", "decimal_above_max_value"),
        ({**GOOD, "top_p": -1}, "top_p", "decimal_below_min_value"),
        ({**GOOD, "max_output_tokens": 10.5}, "max_output_tokens", "invalid_type"),
        ({**GOOD, "max_output_tokens": 2**64}, "max_output_tokens", "integer_above_max_value"),
        ({**GOOD, "max_output_tokens": -(2**64)}, "max_output_tokens", "integer_below_min_value"),
        ({**GOOD, "stream": "yes"}, "stream", "invalid_type"),
        ({**GOOD, "store": 1}, "store", "invalid_type"),
        ({**GOOD, "metadata": {"a": 1}}, "metadata.a", "invalid_type"),
        ({**GOOD, "instructions": 3}, "instructions", "invalid_type"),
        ({**GOOD, "tools": {}}, "tools", "invalid_type"),
        ({**GOOD, "tools": ["x"]}, "tools[0]", "invalid_type"),
        ({**GOOD, "tools": [{"name": "x"}]}, "tools[0].type", "missing_required_parameter"),
        ({**GOOD, "tools": [{"type": []}]}, "tools[0].type", "invalid_type"),
        (
            {**GOOD, "tools": [{"type": "function", "function": {"name": "x"}}]},
            "tools[0].name",
            "missing_required_parameter",
        ),
        (
            {**GOOD, "tools": [{"type": "function", "name": "x", "parameters": 1}]},
            "tools[0].parameters",
            "invalid_type",
        ),
        ({**GOOD, "tool_choice": "any"}, "tool_choice", "invalid_value"),
        (
            {**GOOD, "tool_choice": {"type": "function", "function": {"name": "x"}}},
            "tool_choice.name",
            "missing_required_parameter",
        ),
        ({**GOOD, "tool_choice": {"name": "x"}}, "tool_choice.type", "missing_required_parameter"),
        (
            {**GOOD, "text": {"format": {"type": "json_schema", "schema": {}}}},
            "text.format.name",
            "missing_required_parameter",
        ),
        (
            {**GOOD, "text": {"format": {"type": "json_schema", "name": "n"}}},
            "text.format.schema",
            "missing_required_parameter",
        ),
        ({**GOOD, "text": {"format": "json"}}, "text.format", "invalid_type"),
        ({"model": "m", "input": ["hi"]}, "input[0]", "invalid_type"),
        ({"model": "m", "input": [{"role": "tool", "content": "x"}]}, "input[0]", "invalid_value"),
        ({"model": "m", "input": [{"role": "user", "content": None}]}, "input[0].content", "invalid_type"),
        ({"model": "m", "input": [{"role": "user", "content": ["x"]}]}, "input[0].content[0]", "invalid_type"),
        (
            {"model": "m", "input": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
            "input[0].content[0]",
            "invalid_value",
        ),
        (
            {"model": "m", "input": [{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]},
            "input[0].content[0]",
            "invalid_value",
        ),
        (
            {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text"}]}]},
            "input[0].content[0].text",
            "missing_required_parameter",
        ),
        (
            {"model": "m", "input": [{"type": "function_call", "call_id": "c", "name": "n", "arguments": {}}]},
            "input[0].arguments",
            "invalid_type",
        ),
        (
            {"model": "m", "input": [{"type": "function_call", "arguments": "{}"}]},
            "input[0].name",
            "missing_required_parameter",
        ),
        (
            {"model": "m", "input": [{"type": "function_call_output", "call_id": "c"}]},
            "input[0].output",
            "missing_required_parameter",
        ),
        (
            {"model": "m", "input": [{"type": "function_call_output", "call_id": "c", "output": {}}]},
            "input[0].output",
            "invalid_type",
        ),
        ({"model": "m", "input": "x" * 10_485_761}, "input", "string_above_max_length"),
        (
            {"model": "m", "input": [{"role": "user", "content": "x" * 10_485_761}]},
            "input[0].content",
            "string_above_max_length",
        ),
    ],
)
def test_malformed_requests_are_refused(body: Any, param: str | None, code: str) -> None:
    error = DIALECT.check(REQUEST, body)
    assert error is not None
    assert error.kind == 400
    assert (error.body["error"]["param"], error.body["error"]["code"]) == (param, code)
    assert error.body["error"]["message"] == error.message


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        {"model": "m", "input": ""},
        {"model": "m", "input": [], "instructions": "x"},
        {"model": "m", "previous_response_id": "resp_1"},
        {"prompt": {"id": "pmpt_1"}},
        {
            **GOOD,
            "temperature": None,
            "tools": None,
            "text": None,
            "metadata": None,
            "stream": None,
            "tool_choice": None,
        },
        {**GOOD, "temperature": 1, "max_output_tokens": 16.0, "unheard_of": [1]},
        {**GOOD, "tools": [{"type": "mcp", "server_label": "x"}], "tool_choice": {"type": "mcp", "server_label": "x"}},
        {
            "model": "m",
            "input": [{"type": "item_reference", "id": "msg_1"}, {"id": "msg_2"}, {"type": "program", "id": "p"}],
        },
        {"model": "m", "input": [{"role": "developer", "content": [{"type": "input_file", "file_id": "f"}]}]},
    ],
)
def test_what_the_api_accepts_is_not_refused(body: Any) -> None:
    assert DIALECT.check(REQUEST, body) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "role", "content", "text", "name", "tools", "id", "output", "format", "schema", "summary", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
settings_of = st.sampled_from(
    [
        "model",
        "input",
        "instructions",
        "tools",
        "tool_choice",
        "text",
        "reasoning",
        "metadata",
        "include",
        "prompt",
        "conversation",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(settings_of, json_values, max_size=5) | json_values)
def test_no_body_surprises_us(body: Any) -> None:
    asked = Asked(REQUEST, DIALECT, body)
    assert asked.view is not None
    if DIALECT.check(REQUEST, body) is None:
        DIALECT.read(REQUEST, body)
        DIALECT.document(exchange("x", body=body))


# --- reading ----------------------------------------------------------------------------------------


def test_a_conversation_is_read() -> None:
    body = {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "developer", "content": "Be kind."},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "data:"}],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_1",
                "content": [{"type": "output_text", "text": "Let me look."}],
            },
            {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city":"Paris"}'},
            {"type": "custom_tool_call", "call_id": "call_2", "name": "calc", "input": "1+1"},
            {
                "type": "function_call_output",
                "call_id": "call_1",
                "output": [{"type": "input_text", "text": "sunny"}, {"type": "input_file"}],
            },
            {"type": "custom_tool_call_output", "call_id": "call_2", "output": "2"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            {"type": "message", "role": "user", "content": "bye"},
        ],
        "tools": [
            {**WEATHER, "strict": True, "description": "d"},
            {"type": "custom", "name": "calc"},
            {"type": "web_search"},
        ],
        "max_output_tokens": 5,
        "temperature": 0.5,
        "top_p": None,
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}, "verbosity": "low"},
    }
    view = Asked(REQUEST, DIALECT, body).view
    assert view.system == "Be brief.\nBe kind."
    assert [(message.role, message.text) for message in view.messages] == [
        ("system", "Be kind."),
        ("user", "See\n[image]"),
        ("assistant", "Let me look."),
        ("tool", "sunny\n[file]"),
        ("tool", "2"),
        ("assistant", "No."),
        ("user", "bye"),
    ]
    assert view.messages[1].plain == "See"
    assert view.messages[2].thinking == "hm"
    assert [(call.name, call.arguments, call.id) for call in view.messages[2].tool_calls] == [
        ("get_weather", {"city": "Paris"}, "call_1"),
        ("calc", "1+1", "call_2"),
    ]
    assert [message.tool_results[0].name for message in view.messages if message.tool_results] == [
        "get_weather",
        "calc",
    ]
    assert list(view.tools) == ["get_weather", "calc"]
    assert view.tools["get_weather"].strict
    assert view.tools["get_weather"].schema == WEATHER["parameters"]
    assert view.schema == {"type": "object"}
    assert view.params == {"max_tokens": 5, "temperature": 0.5, "text": {"verbosity": "low"}}
    assert view.whole


@pytest.mark.parametrize(
    "more",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1"}},
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        {"input": [{"id": "msg_1"}]},
    ],
)
def test_a_request_that_leans_on_what_is_stored_is_not_whole(more: dict[str, Any]) -> None:
    assert not DIALECT.read(REQUEST, {**GOOD, **more}).whole


@pytest.mark.parametrize(
    ("choice", "read"),
    [
        (None, ToolChoice()),
        ("none", ToolChoice("none")),
        ("required", ToolChoice("any")),
        ({"type": "function", "name": "a"}, ToolChoice("tool", "a")),
        ({"type": "custom", "name": "a"}, ToolChoice("tool", "a")),
        ({"type": "web_search"}, ToolChoice()),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "a"}]},
            ToolChoice("any", None, frozenset("a")),
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]},
            ToolChoice("auto", None, frozenset("a")),
        ),
    ],
)
def test_tool_choices(choice: Any, read: ToolChoice) -> None:
    assert DIALECT.read(REQUEST, {**GOOD, "tool_choice": choice}).tool_choice == read


def test_tools_that_were_loaded_later_and_calls_of_other_kinds() -> None:
    body = {
        "model": "m",
        "tools": [{"type": "namespace", "name": "crm", "tools": [{"type": "function", "name": "a"}]}],
        "input": [
            {"type": "tool_search_output", "tools": [{"type": "function", "name": "b"}]},
            {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}},
            {"type": "shell_call", "call_id": "c2", "action": {"commands": ["ls"]}},
            {"type": "image_generation_call", "id": "ig_1", "result": "x"},
            {"type": "local_shell_call_output", "id": "c1", "output": "a.py"},
            {"type": "shell_call_output", "call_id": "c2", "output": [{"stdout": "out", "stderr": "err"}]},
            {"type": "computer_call_output", "call_id": "c3", "output": {"type": "computer_screenshot"}},
            {"type": "apply_patch_call_output", "call_id": "c4", "status": "failed", "output": "no"},
        ],
    }
    view = Asked(REQUEST, DIALECT, body).view
    assert list(view.tools) == ["a", "b"]
    assert [call.name for call in view.messages[0].tool_calls] == ["local_shell", "shell"]
    assert view.messages[0].text == "[image]"
    results = [message.tool_results[0] for message in view.messages[1:]]
    assert [(result.id, result.name, result.text, result.is_error) for result in results] == [
        ("c1", "local_shell", "a.py", False),
        ("c2", "shell", "out\nerr", False),
        ("c3", "", "[image]", False),
        ("c4", "", "no", True),
    ]


@needs_shared
def test_recorded_requests_are_read_and_never_refused() -> None:
    folder = shared_dir()
    assert folder is not None
    count = 0
    for path in sorted(folder.glob("recordings/*/responses/*.json")):
        recording = json.loads(path.read_text())
        body = recording["request"]["body"]
        if not isinstance(body, dict) or recording["response"]["status"] != 200:
            continue
        assert DIALECT.check(REQUEST, body) is None, path.name
        view = DIALECT.read(REQUEST, body)
        assert any(message.role == "user" for message in view.messages), path.name
        assert (view.schema is not None) == ("format" in (body.get("text") or {})), path.name
        count += 1
    assert count > 40


# --- bytes ------------------------------------------------------------------------------------------


def test_padding_fills_deltas_to_sixteen_and_keeps_the_order_of_keys() -> None:
    content, ending = DIALECT.events(exchange("Hello, you", Refusal("no"), ToolCall("t", {}, "call_1")))
    padded = b"".join(WIRE.encode([*content, *ending], Framing(padding=True))).decode()
    payloads = [json.loads(line[6:]) for line in padded.splitlines() if line.startswith("data: ")]
    for payload in payloads:
        if payload["type"].endswith(".delta") and payload["type"] != "response.refusal.delta":
            assert (len(payload["delta"]) + len(payload["obfuscation"])) % 16 == 0
            assert list(payload) == ["type", *sorted(set(payload) - {"type"})]
        else:
            assert "obfuscation" not in payload
    assert {payload["type"] for payload in payloads if "obfuscation" in payload} == {
        "response.output_text.delta",
        "response.function_call_arguments.delta",
    }


def test_each_event_is_named_by_its_type_and_nothing_terminates() -> None:
    content, ending = DIALECT.events(exchange("Hi"))
    pieces = WIRE.encode([*content, *ending])
    assert all(
        piece.startswith(f"event: {event['type']}\n".encode())
        for piece, event in zip(pieces, [*content, *ending], strict=True)
    )
    assert WIRE.end() == b""


def test_headers_of_streams_lack_the_limits() -> None:
    whole = dict(DIALECT.headers(exchange("Hi")))
    stream = dict(DIALECT.headers(exchange("Hi", body={**GOOD, "stream": True})))
    assert "x-ratelimit-limit-requests" in whole
    assert "x-ratelimit-limit-requests" not in stream
    assert not {"content-type", "content-length"} & (whole.keys() | stream.keys())


def test_the_sdks_classes_are_known() -> None:
    response = saying("x").responses.parse(model="gpt-4.1", input="hi")
    names = {f"{cls.__module__}.{cls.__name__.partition('[')[0]}" for cls in type(response).__mro__}
    assert set(DIALECT.sdk_types) <= names
    assert DIALECT.tool_id(Ids(b"x")).startswith("call_")
