"""The Anthropic messages dialect, judged by the unmodified SDK of whichever generation is installed."""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _shared import needs_shared, shared_dir
from fake_llm._dialect import Asked, Choice, Delta, Exchange, Ids
from fake_llm._dialects.anthropic_messages import DIALECT, dumps, pad
from fake_llm._framing import Sse, Whole
from fake_llm._model import Headers, Message, Request, SentToolCall, ToolChoice, ToolResult, Usage, View
from fake_llm._turns import (
    ERROR_NAMES,
    Citation,
    Error,
    Framing,
    Image,
    Refusal,
    Reply,
    ServerTool,
    Thinking,
    ToolCall,
)

anthropic = pytest.importorskip("anthropic", reason="the anthropic SDK isn't installed")
CURRENT = int(anthropic.__version__.split(".")[0]) >= 1
httpx = importlib.import_module("httpx2" if CURRENT else "httpx")

WIRE = Sse(named=True, done=None, dumps=dumps, pad=pad)
URL = "https://api.anthropic.com/v1/messages"
HELLO: dict[str, Any] = {
    "model": "claude-haiku-4-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hello"}],
}
TOOLS = [{"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}]


def request_of(body: Any = HELLO, url: str = URL) -> Request:
    return Request("POST", url, Headers((("content-type", "application/json"),)), json.dumps(body).encode(), "httpx")


def exchange_of(
    *parts: Any, reason: str = "stop", body: Any = HELLO, request: Request | None = None, **options: Any
) -> Exchange:
    choice_options = {key: options.pop(key) for key in ("chunk_size", "chunks") if key in options}
    options = {"provider": "anthropic", "usage": Usage(10, 5), "model": body.get("model") or "claude", **options}
    asked = Asked(request or request_of(body), DIALECT, body)
    return Exchange(asked=asked, ids=Ids(b"seed"), choices=(Choice(parts, reason, **choice_options),), **options)


def whole_bytes(exchange: Exchange) -> bytes:
    return Whole().encode(DIALECT.document(exchange))


def stream_events(exchange: Exchange) -> list[Any]:
    content, closing = DIALECT.events(exchange)
    return [*content, *closing]


class Player:
    """An SDK client whose transport answers with what an exchange of this dialect gives."""

    def __init__(
        self, make: Callable[[Any], Exchange], error: Error | None = None, framing: Framing | None = None
    ) -> None:
        self.make, self.error, self.framing = make, error, framing
        self.seen: list[Request] = []
        self.client = anthropic.Anthropic(
            api_key="test",
            max_retries=0,
            http_client=httpx.Client(transport=httpx.MockTransport(self.answer)),
            _strict_response_validation=True,
        )

    def answer(self, asked: Any) -> Any:
        request = Request(asked.method, str(asked.url), Headers(tuple(asked.headers.items())), asked.content, "httpx")
        self.seen.append(request)
        body = json.loads(request.body)
        assert DIALECT.check(request, body) is None
        exchange = dataclasses.replace(self.make(body), stream=DIALECT.stream(request, body))
        if self.error is not None:
            failed = DIALECT.failure(exchange, self.error)
            return httpx.Response(failed.status, headers=list(failed.headers), content=failed.body)
        headers = [*DIALECT.headers(exchange)]
        if not exchange.stream:
            return httpx.Response(
                200, headers=[*headers, ("content-type", "application/json")], content=whole_bytes(exchange)
            )
        pieces = WIRE.encode(stream_events(exchange), self.framing or Framing())
        return httpx.Response(200, headers=[*headers, ("content-type", WIRE.content_type)], stream=Pieces(pieces))


class Pieces(httpx.SyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.pieces)


def play(
    *parts: Any,
    streamed: bool = False,
    ask: Mapping[str, Any] | None = None,
    framing: Framing | None = None,
    **options: Any,
) -> Any:
    player = Player(lambda body: exchange_of(*parts, body=body, **options), framing=framing)
    asked = {**HELLO, **(ask or {})}
    if not streamed:
        return player.client.messages.create(**asked)
    with player.client.messages.stream(**asked) as stream:
        return stream.get_final_message()


def raw_events(*parts: Any, **options: Any) -> list[Any]:
    player = Player(lambda body: exchange_of(*parts, body=body, **options))
    return list(player.client.messages.create(**HELLO, stream=True))


BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@BOTH
def test_text(streamed: bool) -> None:
    answer = play("Hello there.", streamed=streamed)
    assert [block.text for block in answer.content] == ["Hello there."]
    assert (answer.stop_reason, answer.stop_sequence, answer.role, answer.model) == (
        "end_turn",
        None,
        "assistant",
        "claude-haiku-4-5",
    )
    assert answer.id.startswith("msg_01")
    assert len(answer.id) == len("msg_") + 24
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)


@BOTH
def test_parts_keep_their_order(streamed: bool) -> None:
    call = ToolCall("get_weather", {"city": "Zürich", "days": [1, 2]}, "toolu_1")
    answer = play("Let me look.", call, ToolCall("now", {}, "toolu_2"), "Done.", reason="tool_calls", streamed=streamed)
    assert [block.type for block in answer.content] == ["text", "tool_use", "tool_use", "text"]
    assert answer.content[1].input == {"city": "Zürich", "days": [1, 2]}
    assert (answer.content[2].id, answer.content[2].name, answer.content[2].input) == ("toolu_2", "now", {})
    assert answer.stop_reason == "tool_use"


@BOTH
def test_thinking(streamed: bool) -> None:
    answer = play(
        Thinking("Let me think."), Thinking("b", "c2ln"), Thinking("hidden", redacted=True), "4", streamed=streamed
    )
    first, second, third, _ = answer.content
    assert first.thinking == "Let me think."
    assert len(first.signature) > 200
    assert (second.thinking, second.signature) == ("b", "c2ln")
    assert third.type == "redacted_thinking"
    assert len(third.data) > 200
    assert "hidden" not in third.data


@BOTH
def test_refusal_is_in_the_stop_details(streamed: bool) -> None:
    answer = play("Well,", Refusal("I can't help with that."), reason="refusal", streamed=streamed)
    assert [block.text for block in answer.content] == ["Well,"]
    assert (answer.stop_reason, answer.stop_details.explanation) == ("refusal", "I can't help with that.")


@BOTH
def test_a_blocked_answer_has_no_content(streamed: bool) -> None:
    answer = play(reason="content_filter", streamed=streamed)
    assert (answer.content, answer.stop_reason, answer.stop_details.explanation) == ([], "refusal", None)


@BOTH
def test_no_parts_and_empty_text(streamed: bool) -> None:
    assert play(streamed=streamed).content == []
    assert [block.text for block in play("", streamed=streamed).content] == [""]


@BOTH
@pytest.mark.parametrize(
    ("neutral", "vendor"),
    [
        ("stop", "end_turn"),
        ("tool_calls", "tool_use"),
        ("length", "max_tokens"),
        ("pause", "pause_turn"),
        ("malformed_tool_call", "tool_use"),
        ("model_context_window_exceeded", "model_context_window_exceeded"),
    ],
)
def test_finish_reasons(neutral: str, vendor: str, streamed: bool) -> None:
    answer = play("x", reason=neutral, streamed=streamed)
    assert (answer.stop_reason, answer.stop_details) == (vendor, None)


@BOTH
@pytest.mark.parametrize(
    ("text", "stops", "named"),
    [("a b END", ["STOP", "END"], "END"), ("a END b", ["STOP", "END"], "END"), ("a", ["STOP", "END"], "STOP")],
)
def test_stop_sequence_names_one_of_the_request(text: str, stops: list[str], named: str, streamed: bool) -> None:
    assert play(text, reason="stop_sequence", ask={"stop_sequences": stops}, streamed=streamed).stop_sequence == named


@BOTH
def test_usage_counts_the_caches_apart(streamed: bool) -> None:
    usage = Usage(
        100,
        40,
        cached_tokens=60,
        cache_write_tokens=30,
        reasoning_tokens=12,
        details={"service_tier": "priority", "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 0}},
    )
    told = play("x", usage=usage, streamed=streamed).usage
    assert (told.input_tokens, told.cache_read_input_tokens, told.cache_creation_input_tokens, told.output_tokens) == (
        10,
        60,
        30,
        40,
    )
    assert told.cache_creation.ephemeral_5m_input_tokens == 30
    assert told.output_tokens_details.thinking_tokens == 12
    assert (told.service_tier, told.server_tool_use.web_search_requests) == ("priority", 2)


@BOTH
def test_extra_is_merged(streamed: bool) -> None:
    extra = {
        "container": {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"},
        "usage": {"output_tokens": 77, "speed": "fast"},
        "novel": 1,
    }
    answer = play(ToolCall("t", {}, "toolu_1", extra={"toolset_name": "browser"}), extra=extra, streamed=streamed)
    assert (answer.container.id, answer.usage.output_tokens, answer.novel) == ("container_1", 77, 1)
    assert answer.content[0].toolset_name == "browser"


@BOTH
def test_broken_arguments_travel_as_they_are(streamed: bool) -> None:
    call = ToolCall("t", '{"city": "Par', "toolu_1")
    if streamed:
        joined = "".join(
            event.delta.partial_json
            for event in raw_events(call, reason="length")
            if event.type == "content_block_delta"
        )
        assert joined == '{"city": "Par'
    else:
        assert DIALECT.document(exchange_of(call))["content"][0]["input"] == '{"city": "Par'


def test_order_of_the_events() -> None:
    events = stream_events(
        exchange_of(Thinking("Hm."), "One two", ToolCall("now", {}, "a"), ToolCall("t", {"a": 1}, "b"))
    )
    order = " ".join(event["type"].removeprefix("content_block_") for event in events)
    thinking, text = "start ping delta delta stop", "start delta delta stop"
    no_arguments, arguments = "start delta stop", "start delta delta delta stop"
    assert order == f"message_start {thinking} {text} {no_arguments} {arguments} message_delta message_stop"
    fragments = [
        event["delta"]["partial_json"] for event in events if event.get("delta", {}).get("type") == "input_json_delta"
    ]
    assert fragments[:2] == ["", ""]
    assert "".join(fragments) == '{"a":1}'
    assert [event["index"] for event in events if event["type"] == "content_block_start"] == [0, 1, 2, 3]
    content = {"Hm.", "One", " two", *fragments} - {""}
    waited_for = [event for event in events if content & set(event.get("delta", {}).values())]
    assert waited_for == [event for event in events if isinstance(event, Delta)]
    assert events[0]["message"]["usage"]["output_tokens"] == 1
    assert events[-2]["usage"] == {
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 5,
    }


def test_content_and_closing_events_are_apart() -> None:
    content, closing = DIALECT.events(exchange_of("Hi"))
    assert [event["type"] for event in closing if isinstance(event, dict)] == ["message_delta", "message_stop"]
    assert content[-1] == {"type": "content_block_stop", "index": 0}


def test_key_order_of_the_whole_answer() -> None:
    document = DIALECT.document(exchange_of("Hi", ToolCall("t", {}, "a")))
    assert list(document) == [
        "model",
        "id",
        "type",
        "role",
        "content",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "usage",
    ]
    assert list(document["content"][1]) == ["type", "id", "name", "input", "caller"]
    assert list(document["usage"]) == [
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cache_creation",
        "output_tokens",
        "service_tier",
        "inference_geo",
    ]


def test_bytes_of_a_stream() -> None:
    body = b"".join(WIRE.encode(stream_events(exchange_of("Hi"))))
    assert (
        b'\n\nevent: ping\ndata: {"type": "ping"}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta",'
        in body
    )
    assert body.endswith(b'event: message_stop\ndata: {"type":"message_stop"}\n\n')


def test_padding_goes_before_the_last_brace_but_never_into_a_ping() -> None:
    framing = Framing(padding=True)
    pieces = WIRE.encode(stream_events(exchange_of(" ".join(f"word{number}" for number in range(40)))), framing)
    lengths = {len(piece.rpartition(b"}")[0]) - len(piece.rpartition(b"}")[0].rstrip(b" ")) for piece in pieces}
    assert max(lengths) <= 15
    assert len(lengths) > 8
    assert b'event: ping\ndata: {"type": "ping"}\n\n' in pieces
    assert play("One two", streamed=True, framing=framing).content[0].text == "One two"


def test_other_clouds() -> None:
    assert DIALECT.document(exchange_of("x", provider="bedrock"))["id"].startswith("msg_bdrk_01")
    assert DIALECT.document(exchange_of("x", provider="vertex"))["id"].startswith("msg_vrtx_01")
    assert all(event != {"type": "ping"} for event in stream_events(exchange_of("x", provider="bedrock")))
    assert DIALECT.headers(exchange_of("x", provider="vertex")) == ()


def test_headers() -> None:
    whole, streamed = (dict(DIALECT.headers(exchange_of("x", stream=stream))) for stream in (False, True))
    assert whole["request-id"].startswith("req_01")
    assert len(whole["request-id"]) == 28
    assert whole["anthropic-ratelimit-input-tokens-reset"] == "2026-01-01T00:00:00Z"
    assert sum(name.startswith("anthropic-ratelimit-") for name in whole) == 12
    assert streamed.keys() - whole.keys() == {"cache-control"}
    later = dict(DIALECT.headers(exchange_of("x", stream=True, created=1_798_761_600)))
    assert later["anthropic-ratelimit-tokens-reset"] == "2027-01-01T00:00:00Z"
    assert later.keys() == streamed.keys()


# --- errors ---------------------------------------------------------------------------------------

STATUSES = {**ERROR_NAMES, "quota": 400}  # an empty account is a bad request here


@pytest.mark.parametrize("name", ERROR_NAMES)
def test_errors_by_name(name: str) -> None:
    player = Player(lambda body: exchange_of(body=body), Error(name))
    with pytest.raises(anthropic.APIStatusError) as caught:
        player.client.messages.create(**HELLO)
    assert caught.value.status_code == STATUSES[name]
    body: Any = caught.value.body
    assert list(body) == ["type", "error", "request_id"]
    assert body["type"] == "error"
    assert body["request_id"] == caught.value.request_id
    assert "{" not in body["error"]["message"]
    assert body["error"]["message"]


@pytest.mark.parametrize("status", [400, 402, 408, 409, 418, 422, 429, 500, 502, 503, 504, 529])
def test_errors_by_status(status: int) -> None:
    failed = DIALECT.failure(exchange_of(), Error(status, "Nope", retry_after=2))
    headers = dict(failed.headers)
    assert failed.status == status
    assert json.loads(failed.body)["error"]["message"] == "Nope"
    assert headers["retry-after"] == "2"
    assert headers.get("x-should-retry") == {
        400: "false",
        402: "false",
        418: "false",
        422: "false",
        429: "true",
        529: "true",
    }.get(status)


def test_error_types_and_messages() -> None:
    def told(error: Error, **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(DIALECT.failure(exchange_of(**options), error).body)["error"]
        return found

    assert told(Error(529)) == {"type": "overloaded_error", "message": "Overloaded"}
    assert told(Error(404)) == {"type": "not_found_error", "message": "model: claude-haiku-4-5"}
    assert (
        told(Error("context_length"), usage=Usage(333_333, 0))["message"]
        == "prompt is too long: 333333 tokens > 200000 maximum"
    )
    assert told(Error(402))["type"] == "billing_error"
    assert dict(DIALECT.failure(exchange_of(), Error(429)).headers)["anthropic-ratelimit-input-tokens-remaining"] == "0"


def test_an_error_in_the_middle_of_a_stream() -> None:
    exchange = exchange_of("One two")
    content, _ = DIALECT.events(exchange)
    pieces = WIRE.encode([*content, *DIALECT.failure_events(exchange, Error("overloaded"))])
    answer = httpx.Response(200, headers=[("content-type", WIRE.content_type)], stream=Pieces(pieces))
    client = anthropic.Anthropic(
        api_key="test", max_retries=0, http_client=httpx.Client(transport=httpx.MockTransport(lambda _: answer))
    )
    got: list[str] = []
    with pytest.raises(anthropic.APIStatusError) as caught:
        got += [
            event.delta.text
            for event in client.messages.create(**HELLO, stream=True)
            if event.type == "content_block_delta"
        ]
    assert caught.value.body["error"] == {"details": None, "type": "overloaded_error", "message": "Overloaded"}


# --- reading --------------------------------------------------------------------------------------


def view_of(**changes: Any) -> View:
    return Asked(request_of(), DIALECT, {**HELLO, **changes}).view


def test_reads_every_form_of_content() -> None:
    view = view_of(
        system=[{"type": "text", "text": "Be kind."}, {"type": "text", "text": "Be brief."}],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "image", "source": {}},
                    {"type": "document", "source": {}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
                    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                    {"type": "novel"},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Here."},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [{"type": "text", "text": "sunny"}, {"type": "image", "source": {}}],
                    },
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": "boom", "is_error": True},
                    {"type": "tool_result", "tool_use_id": "toolu_3"},
                ],
            },
            {"role": "system", "content": "Now in French."},
            {"role": "assistant", "content": "Soleil"},
        ],
    )
    assert view.system == "Be kind.\nBe brief.\nNow in French."
    assert view.messages == (
        Message("user", "Look:\n[image]\n[file]"),
        Message("assistant", "I look.", (SentToolCall("get_weather", {"city": "Paris"}, "toolu_1"),), thinking="Hm."),
        Message("tool", "sunny\n[image]", tool_results=(ToolResult("toolu_1", "get_weather", "sunny\n[image]"),)),
        Message("tool", "boom", tool_results=(ToolResult("toolu_2", "", "boom", True),)),
        Message("tool", "", tool_results=(ToolResult("toolu_3", "", ""),)),
        Message("user", "Here."),
        Message("system", "Now in French."),
        Message("assistant", "Soleil"),
    )
    assert view.messages[0].plain == "Look:"


def test_reads_tools_and_their_choice() -> None:
    typed = [{"type": "bash_20250124", "name": "bash"}, {"type": "web_search_20250305", "name": "web_search"}]
    view = view_of(
        tools=[{**TOOLS[0], "description": "Weather", "strict": True}, *typed],
        tool_choice={"type": "tool", "name": "bash", "disable_parallel_tool_use": True},
    )
    assert list(view.tools) == ["get_weather", "bash"]
    assert view.whole
    assert (
        view.tools["get_weather"].schema,
        view.tools["get_weather"].description,
        view.tools["get_weather"].strict,
    ) == (TOOLS[0]["input_schema"], "Weather", True)
    assert view.tool_choice == ToolChoice("tool", "bash")
    assert view.params["disable_parallel_tool_use"] is True
    assert [view_of(tool_choice={"type": mode}).tool_choice.mode for mode in ("auto", "any", "none")] == [
        "auto",
        "any",
        "none",
    ]
    assert not view_of(tools=[{"type": "browser_toolset_20260801"}]).whole
    added = [{"type": "tool_addition", "tool": {"type": "tool_definition", "definition": TOOLS[0]}}]
    assert list(view_of(messages=[{"role": "system", "content": added}]).tools) == ["get_weather"]


def test_reads_settings_and_schema() -> None:
    schema = {"type": "object", "properties": {}}
    form = {"type": "json_schema", "schema": schema}
    view = view_of(
        temperature=0.5,
        top_k=3,
        stop_sequences=["END"],
        thinking={"type": "adaptive"},
        output_config={"format": form, "effort": "low"},
        stream=True,
    )
    assert view.params == {
        "max_tokens": 100,
        "temperature": 0.5,
        "top_k": 3,
        "stop": ["END"],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
    }
    assert (view.schema, view_of(output_format=form).schema, view_of().schema) == (schema, schema, None)


def test_reads_what_the_sdk_sends_for_a_parsed_answer() -> None:
    pydantic = pytest.importorskip("pydantic")
    city = pydantic.create_model("City", name=(str, ...))
    player = Player(lambda body: exchange_of('{"name":"Paris"}', body=body))
    answer = player.client.messages.parse(**HELLO, output_format=city)
    assert answer.parsed_output.name == "Paris"
    schema = DIALECT.read(player.seen[0], json.loads(player.seen[0].body)).schema
    assert schema is not None
    assert schema["required"] == ["name"]


def test_beta_calls() -> None:
    player = Player(lambda body: exchange_of("Hi", ToolCall("t", {"a": 1}, "toolu_1"), body=body))
    assert player.client.beta.messages.create(**HELLO, betas=["files-api-2025-04-14"]).content[0].text == "Hi"
    with player.client.beta.messages.stream(**HELLO) as stream:
        assert stream.get_final_message().content[1].input == {"a": 1}
    assert player.seen[0].url == URL + ("" if CURRENT else "?beta=true")


@pytest.mark.parametrize(
    ("url", "body", "model", "stream"),
    [
        (URL, {"model": "claude-x"}, "claude-x", False),
        (URL, {"model": "claude-x", "stream": True}, "claude-x", True),
        (
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3%3A0/invoke",
            {},
            "anthropic.claude-3:0",
            False,
        ),
        (
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/arn%3Aaws%3Abedrock%2Fmine/invoke-with-response-stream",
            {},
            "mine",
            True,
        ),
        (
            "https://x/v1/projects/p/locations/l/publishers/anthropic/models/claude-4%40latest:streamRawPredict",
            {},
            "claude-4@latest",
            True,
        ),
        (URL, [], "", False),
    ],
)
def test_model_and_stream(url: str, body: Any, model: str, stream: bool) -> None:
    request = request_of(body, url)
    assert (DIALECT.model(request, body), DIALECT.stream(request, body)) == (model, stream)


# --- refusals -------------------------------------------------------------------------------------

BLOCK = "messages.0.content.0"


def with_part(part: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [part]}]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_tokens": ...}, "max_tokens: Field required"),
        ({"model": ...}, "model: Field required"),
        ({"model": ""}, "model: String should have at least 1 character"),
        ({"model": 5}, "model: Input should be a valid string"),
        ({"messages": ...}, "messages: Field required"),
        ({"messages": "hi"}, "messages: Input should be a valid list"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": ["hi"]}, "messages.0: Input should be a valid dictionary or object to extract fields from"),
        ({"messages": [{"content": "x"}]}, "messages.0.role: Field required"),
        (
            {"messages": [{"role": "tool", "content": "x"}]},
            'messages: Unexpected role "tool". Allowed roles are "user" or "assistant".',
        ),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        ({"messages": [{"role": "user", "content": None}]}, "messages.0.content: Input should be a valid list"),
        (with_part({"text": "x"}), f"{BLOCK}.type: Field required"),
        (with_part({"type": "text"}), f"{BLOCK}.text.text: Field required"),
        (with_part({"type": "text", "text": 1}), f"{BLOCK}.text.text: Input should be a valid string"),
        (
            with_part({"type": "tool_use", "id": "a", "name": "b", "input": "{}"}),
            f"{BLOCK}.tool_use.input: Input should be a valid dictionary",
        ),
        (with_part({"type": "tool_result", "content": "x"}), f"{BLOCK}.tool_result.tool_use_id: Field required"),
        (
            with_part({"type": "tool_result", "tool_use_id": "a", "content": {}}),
            f"{BLOCK}.tool_result.content: Input should be a valid list",
        ),
        ({"max_tokens": "100"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": -1}, "max_tokens: must be greater than or equal to 1"),
        (
            {"max_tokens": 2**63},
            f"max_tokens: {2**63} > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5",
        ),
        ({"temperature": "hot"}, "temperature: Input should be a valid number"),
        ({"top_k": 1.5}, "top_k: Input should be a valid integer, got a number with a fractional part"),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"system": 5}, "system: Input should be a valid list"),
        ({"stop_sequences": "END"}, "stop_sequences: Input should be a valid list"),
        ({"stop_sequences": [1]}, "stop_sequences.0: Input should be a valid string"),
        ({"tools": {}}, "tools: Input should be a valid list"),
        ({"tool_choice": "auto"}, "tool_choice: Input should be a valid dictionary or object to extract fields from"),
    ],
)
def test_refuses_malformed_requests(changes: dict[str, Any], message: str) -> None:
    body = {key: value for key, value in {**HELLO, **changes}.items() if value is not ...}
    error = DIALECT.check(request_of(body), body)
    assert error is not None
    assert (error.kind, error.message) == (400, message)


@pytest.mark.parametrize("body", [None, [], "x", 5])
def test_refuses_what_is_no_object(body: Any) -> None:
    assert DIALECT.check(request_of(body), body) is not None
    assert Asked(request_of(body), DIALECT, body).view == View()


def test_accepts_what_other_endpoints_leave_out() -> None:
    bedrock = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 5, "messages": HELLO["messages"]}
    assert (
        DIALECT.check(request_of(bedrock, "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke"), bedrock)
        is None
    )
    counted = {"model": "m", "messages": HELLO["messages"]}
    assert DIALECT.check(request_of(counted, URL + "/count_tokens"), counted) is None
    assert (
        DIALECT.check(
            request_of(HELLO, URL + "?beta=true"), {**HELLO, "max_tokens": 0, "system": None, "temperature": None}
        )
        is None
    )


def test_refuses_bodies_that_are_too_large() -> None:
    body = {**HELLO, "system": "x" * (32 * 1024 * 1024)}
    assert DIALECT.check(request_of(body), body) == Error("request_too_large")


# --- properties -----------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), max_size=40)
ids = st.from_regex(r"toolu_[A-Za-z0-9]{4}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
calls = st.builds(
    ToolCall, st.from_regex(r"[a-z_]{1,12}", fullmatch=True), st.dictionaries(texts, values, max_size=3), ids
)
thoughts = st.builds(Thinking, texts, texts) | st.builds(lambda data: Thinking("", data, True), texts)
turns = st.lists(texts | calls | thoughts, max_size=5)
usages = st.builds(
    lambda fresh, out, read, written, reasoned: Usage(fresh + read + written, out, read, written, reasoned),
    *(st.integers(0, 10**6) for _ in range(5)),
)
reasons = st.sampled_from(["stop", "tool_calls", "length", "pause", "refusal", "model_context_window_exceeded"])


def refusals(reason: str) -> list[Refusal]:
    return [Refusal("No.")] if reason == "refusal" else []


@settings(deadline=None, max_examples=60)
@given(turns, usages, reasons)
def test_decode_of_encode_is_the_turn(parts: list[Any], usage: Usage, reason: str) -> None:
    turn = [*parts, *refusals(reason)]
    document = DIALECT.document(exchange_of(*turn, reason=reason, usage=usage))
    reply = DIALECT.parts(document)
    assert (list(reply.parts), reply.usage, reply.finish_reason, reply.id, reply.model) == (
        turn,
        usage,
        reason,
        document["id"],
        document["model"],
    )


@settings(deadline=None, max_examples=60)
@given(turns, usages, reasons, st.none() | st.integers(1, 5))
def test_streamed_is_whole(parts: list[Any], usage: Usage, reason: str, size: int | None) -> None:
    turn = [*parts, *refusals(reason)]
    whole = play(*turn, reason=reason, usage=usage)
    streamed = play(*turn, reason=reason, usage=usage, chunk_size=size, streamed=True)
    assert streamed.to_dict() | {"parsed_output": None} == whole.to_dict() | {"parsed_output": None}


# --- what was recorded ----------------------------------------------------------------------------


def recordings() -> list[dict[str, Any]]:
    folder = shared_dir()
    paths = [] if folder is None else sorted((folder / "recordings").glob("*/*/*anthropic*.json"))
    loaded = [json.loads(path.read_bytes()) for path in paths]
    return [
        one
        for one in loaded
        if one["endpoint"]
        in ("messages", "publisher-anthropic-rawPredict", "publisher-anthropic-streamRawPredict", "invoke-model")
    ]


@needs_shared
def test_reads_and_accepts_every_recorded_request() -> None:
    read = 0
    for one in recordings():
        asked, status = one["request"], one["response"]["status"]
        if not isinstance(asked["body"], dict) or status != 200:
            continue
        request = request_of(asked["body"], asked["url"])
        assert DIALECT.check(request, asked["body"]) is None, one["id"]
        view = Asked(request, DIALECT, asked["body"]).view
        assert [item.role for item in view.messages if item.role == "assistant"] == [
            "assistant" for item in asked["body"]["messages"] if item["role"] == "assistant"
        ], one["id"]
        assert all(result.name for item in view.messages for result in item.tool_results), one["id"]
        offered = [tool["name"] for tool in asked["body"].get("tools") or () if "input_schema" in tool]
        assert set(offered) <= set(view.tools), one["id"]
        read += 1
    assert read > 20


@needs_shared
def test_answers_recorded_with_plain_blocks_come_back() -> None:
    seen = 0
    for one in recordings():
        body = one["response"]["body"]
        if not isinstance(body, dict) or "usage" not in body:
            continue
        reply = DIALECT.parts(body)
        assert isinstance(reply, Reply)
        if {block["type"] for block in body["content"]} <= {
            "text",
            "tool_use",
            "thinking",
            "redacted_thinking",
        } and not any("citations" in block for block in body["content"]):
            again = DIALECT.document(rebuilt(reply))
            assert contains(again, body), one["id"]
            assert contains(DIALECT.document(rebuilt(DIALECT.parts(again))), again), one["id"]
            seen += 1
    assert seen >= 8


def rebuilt(reply: Reply) -> Exchange:
    return exchange_of(
        *reply.parts,
        reason=reply.finish_reason or "stop",
        model=reply.model,
        id=reply.id,
        usage=reply.usage,
        extra=reply.extra,
    )


def contains(whole: Any, part: Any) -> bool:
    """Whether everything in `part` is in `whole`, which may have the keys of newer answers too."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, list):
        return (
            isinstance(whole, list)
            and len(whole) == len(part)
            and all(contains(*pair) for pair in zip(whole, part, strict=True))
        )
    return bool(whole == part)


def test_sdk_types_are_those_of_this_sdk() -> None:
    for path in DIALECT.sdk_types:
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name)


def test_carries_what_it_can_write() -> None:
    assert Image not in DIALECT.carries
    assert {str, ToolCall, Thinking, Refusal, Citation, ServerTool} == DIALECT.carries
    drawn = DIALECT.tool_id(Ids(b"x"))
    assert drawn is not None
    assert drawn.startswith("toolu_01")
    assert len(drawn) == len("toolu_") + 24
