"""The dialect of OpenAI chat completions, judged by the unmodified SDKs of OpenAI and Groq."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _capability import load
from fake_llm import _json
from fake_llm._dialect import Asked, Choice, Delta, Exchange, Ids
from fake_llm._dialects.openai_chat import DIALECT, pad
from fake_llm._errors import ScriptMismatchError
from fake_llm._framing import Framing, Sse, Whole
from fake_llm._model import Headers, Request, SentToolCall, ToolChoice, Usage, View
from fake_llm._turns import ERROR_NAMES, Error, Refusal, Reply, Thinking, ToolCall

openai = load("openai")
groq = load("groq")
openai_types = load("openai", "openai.types.chat")
groq_types = load("groq", "groq.types.chat")

URL = "https://api.openai.com/v1/chat/completions"
USER = [{"role": "user", "content": "Hi"}]
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather", "parameters": {"type": "object"}, "strict": True},
}
USAGE = Usage(10, 5, cached_tokens=4, reasoning_tokens=2)


def http_of(client_class: type) -> Any:
    """The HTTP library under an SDK: httpx2 or httpx."""
    names = (kind.__module__.partition(".")[0] for kind in client_class.__mro__)
    return importlib.import_module(next(name for name in names if name.startswith("httpx")))


HTTP = http_of(openai.DefaultHttpxClient)


def choice(*parts: Any, finish: str | None = None, **options: Any) -> Choice:
    """A choice as the core makes it ready: every tool call with an id."""
    ready = [
        ToolCall(part.name, part.arguments, part.id or f"call_{index:024}", extra=part.extra)
        if isinstance(part, ToolCall)
        else part
        for index, part in enumerate(parts)
    ]
    usual = "tool_calls" if any(isinstance(part, ToolCall) for part in parts) else "stop"
    return Choice(tuple(ready), finish or usual, **options)


def request_of(body: Any, url: str = URL, key: str = "Bearer test-key") -> Request:
    return Request("POST", url, Headers([("Authorization", key)]), _json.compact(body), "httpx")


def exchange(body: Any, *choices: Choice, **options: Any) -> Exchange:
    settings = {"model": DIALECT.model(request_of(body), body), "usage": USAGE, **options}
    return Exchange("openai", Asked(request_of(body), DIALECT, body), Ids(b"seed"), choices=choices, **settings)


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": USER, **fields}


def view(**fields: Any) -> View:
    return DIALECT.read(request_of({}), body(**fields))


class Server:
    """Answers whatever comes with the same choices or error; keeps what came."""

    def __init__(self, *choices: Choice, error: Error | None = None, then: Error | None = None, **options: Any) -> None:
        self.choices, self.error, self.then, self.options = choices, error, then, options
        self.bodies: list[Any] = []

    def __call__(self, http: Any) -> Any:
        def answer(request: Any) -> Any:
            sent = json.loads(request.content)
            self.bodies.append(sent)
            assert DIALECT.check(request_of(sent), sent) is None
            made = exchange(sent, *self.choices, **self.options)
            if self.error is not None:
                failed = DIALECT.failure(made, self.error)
                return http.Response(failed.status, headers=list(failed.headers), content=failed.body)
            headers = list(DIALECT.headers(made))
            if not DIALECT.stream(request_of(sent), sent):
                content = Whole(_json.pretty, b"\n").encode(DIALECT.document(made))
                return http.Response(200, headers=[*headers, ("content-type", "application/json")], content=content)
            wire = Sse(pad=pad)
            events, closing = DIALECT.events(made)
            if self.then is not None:
                closing = DIALECT.failure_events(made, self.then)
            content = b"".join(wire.encode([*events, *closing], Framing(padding=True))) + wire.end()
            return http.Response(200, headers=[*headers, ("content-type", wire.content_type)], content=content)

        return answer

    def openai(self, strict: bool = True) -> openai.OpenAI:
        transport = HTTP.MockTransport(self(HTTP))
        return openai.OpenAI(
            api_key="test-key",
            max_retries=0,
            http_client=HTTP.Client(transport=transport),
            _strict_response_validation=strict,
        )

    def groq(self) -> groq.Groq:
        http = http_of(groq.DefaultHttpxClient)
        transport = http.MockTransport(self(http))
        return groq.Groq(
            api_key="test-key",
            max_retries=0,
            http_client=http.Client(transport=transport),
            _strict_response_validation=True,
        )


def whole(server: Server, **fields: Any) -> Any:
    return server.openai().chat.completions.create(**body(**fields))


def streamed(server: Server, **fields: Any) -> list[Any]:
    return list(server.openai().chat.completions.create(**body(**fields), stream=True))


def accumulated(server: Server, **fields: Any) -> Any:
    """What the SDK's own helper makes of the stream."""
    with server.openai().chat.completions.stream(**body(**fields)) as stream:
        return stream.get_final_completion()


# ---------------------------------------------------------------------------------------------- whole


def test_text_whole() -> None:
    answer = whole(Server(choice("Hello there.")))
    assert answer.choices[0].message.content == "Hello there."
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.model, answer.object, answer.service_tier) == ("gpt-4o", "chat.completion", "default")
    assert answer.id.startswith("chatcmpl-")
    assert len(answer.id) == len("chatcmpl-") + 29
    assert answer._request_id.startswith("req_")
    assert answer.usage.prompt_tokens == 10
    assert answer.usage.total_tokens == 15
    assert answer.usage.prompt_tokens_details.cached_tokens == 4
    assert answer.usage.completion_tokens_details.reasoning_tokens == 2


def test_key_order_and_nulls_of_a_text() -> None:
    written = DIALECT.document(exchange(body(), choice("Hi")))
    assert list(written) == [
        "id",
        "object",
        "created",
        "model",
        "choices",
        "usage",
        "service_tier",
        "system_fingerprint",
    ]
    assert written["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert list(written["choices"][0]["message"]) == ["role", "content", "refusal", "annotations"]


@pytest.mark.parametrize("name", ["gpt-5", "gpt-5.4-mini", "o1", "o3-mini", "o4-mini"])
def test_newer_models_have_no_logprobs_key_and_no_fingerprint(name: str) -> None:
    made = exchange(body(model=name), choice("Hi"))
    assert list(DIALECT.document(made)["choices"][0]) == ["index", "message", "finish_reason"]
    assert DIALECT.document(made)["system_fingerprint"] is None
    events, closing = DIALECT.events(made)
    assert all("logprobs" not in event["choices"][0] for event in [*events, *closing])


def test_tool_calls_whole() -> None:
    server = Server(choice(ToolCall("get_weather", {"city": "Zürich"}), ToolCall("get_weather", '{"city": ')))
    message = whole(server, tools=[WEATHER]).choices[0].message
    assert message.content is None
    assert [call.function.name for call in message.tool_calls] == ["get_weather", "get_weather"]
    assert [call.function.arguments for call in message.tool_calls] == ['{"city":"Zürich"}', '{"city": ']
    assert [call.type for call in message.tool_calls] == ["function", "function"]
    written = DIALECT.document(exchange(body(), *server.choices))["choices"][0]["message"]
    assert list(written) == ["role", "content", "tool_calls", "refusal", "annotations"]
    assert list(written["tool_calls"][0]) == ["id", "type", "function"]


def test_refusal_whole_and_streamed() -> None:
    server = Server(choice(Refusal("I can't help."), finish="refusal"))
    for answer in (whole(server), accumulated(server)):
        assert answer.choices[0].message.refusal == "I can't help."
        assert answer.choices[0].message.content is None
        assert answer.choices[0].finish_reason == "stop"


def test_thinking_comes_before_the_text() -> None:
    server = Server(choice(Thinking("Let me see."), "It is 4."))
    assert whole(server).choices[0].message.reasoning_content == "Let me see."
    deltas = [chunk.choices[0].delta for chunk in streamed(server)]
    thought = "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas)
    said = "".join(delta.content or "" for delta in deltas)
    assert (thought, said) == ("Let me see.", "It is 4.")


def test_redacted_thinking_is_not_shown() -> None:
    server = Server(choice(Thinking("secret", redacted=True), "4"))
    assert not hasattr(whole(server).choices[0].message, "reasoning_content")
    assert "secret" not in str(streamed(server))


def test_nothing_said_is_an_empty_text_and_blocked_is_null() -> None:
    for parts in ((), ("",)):
        empty = Server(choice(*parts, finish="length"))
        assert whole(empty).choices[0].message.content == ""
        assert "".join(chunk.choices[0].delta.content or "" for chunk in streamed(empty)) == ""
    blocked = Server(choice(finish="content_filter"))
    assert whole(blocked).choices[0].message.content is None
    assert whole(blocked).choices[0].finish_reason == "content_filter"
    chunks = streamed(blocked)
    assert [chunk.choices[0].delta.content for chunk in chunks] == [None, None]
    assert chunks[-1].choices[0].finish_reason == "content_filter"


@pytest.mark.parametrize(
    ("neutral", "vendor"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("refusal", "stop"),
        ("stop_sequence", "stop"),
        ("pause", "stop"),
        ("malformed_tool_call", "stop"),
        ("tool_calls", "tool_calls"),
        ("brand_new", "brand_new"),
    ],
)
def test_finish_reasons(neutral: str, vendor: str) -> None:
    made = exchange(body(), choice("x", finish=neutral))
    assert DIALECT.document(made)["choices"][0]["finish_reason"] == vendor
    assert DIALECT.events(made)[1][-1]["choices"][0]["finish_reason"] == vendor


@pytest.mark.parametrize(
    ("tool_choice", "reason"),
    [
        ({"type": "function", "function": {"name": "get_weather"}}, "stop"),
        ("required", "tool_calls"),
        ("auto", "tool_calls"),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "get_weather"}}],
                },
            },
            "tool_calls",
        ),
    ],
)
def test_a_forced_tool_ends_with_stop(tool_choice: Any, reason: str) -> None:
    server = Server(choice(ToolCall("get_weather")))
    assert whole(server, tools=[WEATHER], tool_choice=tool_choice).choices[0].finish_reason == reason
    assert streamed(server, tools=[WEATHER], tool_choice=tool_choice)[-1].choices[0].finish_reason == reason


def test_legacy_functions_are_answered_with_a_function_call() -> None:
    server = Server(choice(ToolCall("get_weather", {"city": "Paris"})))
    functions = [{"name": "get_weather", "parameters": {"type": "object"}}]
    answer = whole(server, functions=functions)
    assert answer.choices[0].finish_reason == "function_call"
    assert answer.choices[0].message.function_call.name == "get_weather"
    assert answer.choices[0].message.tool_calls is None
    chunks = streamed(server, functions=functions)
    assert chunks[0].choices[0].delta.function_call.name == "get_weather"
    arguments = "".join(chunk.choices[0].delta.function_call.arguments for chunk in chunks[:-1])
    assert arguments == answer.choices[0].message.function_call.arguments == '{"city":"Paris"}'
    assert chunks[-1].choices[0].finish_reason == "function_call"


def test_legacy_functions_cannot_carry_two_calls() -> None:
    made = exchange(body(functions=[{"name": "a"}, {"name": "b"}]), choice(ToolCall("a"), ToolCall("b")))
    with pytest.raises(ScriptMismatchError, match="2 tool calls: a, b") as caught:
        DIALECT.document(made)
    with pytest.raises(ScriptMismatchError, match="2 tool calls: a, b"):
        DIALECT.events(made)
    assert "Write one ToolCall a turn" in str(caught.value)


def test_custom_tools_are_called_with_their_input() -> None:
    tools = [{"type": "custom", "custom": {"name": "run"}}]
    server = Server(choice(ToolCall("run", "print(1)")))
    call = whole(server, tools=tools).choices[0].message.tool_calls[0]
    assert (call.type, call.custom.name, call.custom.input) == ("custom", "run", "print(1)")
    events, _ = DIALECT.events(exchange(body(tools=tools), *server.choices))
    deltas = [event["choices"][0]["delta"]["tool_calls"][0]["custom"] for event in events]
    assert "".join(delta["input"] for delta in deltas) == "print(1)"
    assert deltas[0]["name"] == "run"


def test_extra_is_merged() -> None:
    call = ToolCall("get_weather", {}, extra={"extra_content": {"google": {"thought_signature": "s"}}})
    server = Server(choice(call), extra={"service_tier": "flex", "citations": ["u"], "usage": {"cost": 0.5}})
    answer = whole(server)
    assert (answer.service_tier, answer.citations, answer.usage.cost) == ("flex", ["u"], 0.5)
    assert answer.choices[0].message.tool_calls[0].extra_content == {"google": {"thought_signature": "s"}}
    chunks = streamed(server, stream_options={"include_usage": True})
    assert {chunk.service_tier for chunk in chunks} == {"flex"}
    assert chunks[0].citations == ["u"]
    assert chunks[0].choices[0].delta.tool_calls[0].extra_content == {"google": {"thought_signature": "s"}}
    assert (chunks[-1].usage.cost, chunks[-2].usage) == (0.5, None)


def test_extra_choices_take_the_place_of_the_last_finish_chunk() -> None:
    chosen = [{"index": 0, "delta": {"annotations": []}, "logprobs": None, "finish_reason": "stop"}]
    _, closing = DIALECT.events(exchange(body(), choice("Hi"), extra={"choices": chosen}))
    assert [event["choices"] for event in closing] == [chosen]


@pytest.mark.parametrize(("asked", "given_back"), [("flex", "flex"), ("auto", "default"), (None, "default")])
def test_the_service_tier_is_the_one_asked_for(asked: str | None, given_back: str) -> None:
    assert whole(Server(choice("x")), service_tier=asked).service_tier == given_back


def test_several_choices() -> None:
    server = Server(choice("a b"), choice("c d e"))
    assert [item.message.content for item in whole(server, n=2).choices] == ["a b", "c d e"]
    chunks = streamed(server, n=2, stream_options={"include_usage": True})
    order = [(chunk.choices[0].index, chunk.choices[0].delta.content) for chunk in chunks[:-1]]
    assert order == [(0, ""), (1, ""), (0, "a"), (1, "c"), (0, " b"), (1, " d"), (1, " e"), (0, None), (1, None)]
    assert all(len(chunk.choices) == 1 for chunk in chunks[:-1])
    assert chunks[-1].usage.total_tokens == 15


def test_usage_details_and_cache_writes() -> None:
    usage = Usage(10, 5, cache_write_tokens=3, total_tokens=99, details={"prompt_tokens_details": {"audio_tokens": 7}})
    answer = whole(Server(choice("x"), usage=usage))
    assert answer.usage.total_tokens == 99
    assert answer.usage.prompt_tokens_details.audio_tokens == 7
    assert answer.usage.prompt_tokens_details.cache_write_tokens == 3


# --------------------------------------------------------------------------------------------- streams


def test_events_of_a_text() -> None:
    events, closing = DIALECT.events(exchange(body(), choice("Hello there."), id="chatcmpl-1"))
    head = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "gpt-4o",
        "service_tier": "default",
        "system_fingerprint": "fp_5f1d9c03ae",
    }

    def one(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}

    opening = one({"role": "assistant", "content": "", "refusal": None})
    assert events == [opening, one({"content": "Hello"}), one({"content": " there."})]
    assert closing == [one({}, "stop")]
    assert [isinstance(event, Delta) for event in events] == [False, True, True]
    assert json.dumps(events[1]) == json.dumps(one({"content": "Hello"}))


def test_usage_is_streamed_only_when_asked_for() -> None:
    server = Server(choice("Hi"))
    assert all("usage" not in chunk.model_fields_set for chunk in streamed(server))
    chunks = streamed(server, stream_options={"include_usage": True})
    assert all("usage" in chunk.model_fields_set and chunk.usage is None for chunk in chunks[:-1])
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens == 10


def test_one_tool_call_opens_the_stream_and_several_follow_it() -> None:
    single, _ = DIALECT.events(exchange(body(), choice(ToolCall("f", {"a": 1}))))
    delta = single[0]["choices"][0]["delta"]
    assert list(delta) == ["role", "content", "tool_calls", "refusal"]
    assert delta["tool_calls"][0]["function"] == {"name": "f", "arguments": ""}
    several, _ = DIALECT.events(exchange(body(), choice(ToolCall("f", {"a": 1}), ToolCall("g"))))
    deltas = [event["choices"][0]["delta"] for event in several]
    assert deltas[0] == {"role": "assistant", "content": None}
    assert [delta["tool_calls"][0]["index"] for delta in deltas[1:]] == sorted(
        delta["tool_calls"][0]["index"] for delta in deltas[1:]
    )
    assert deltas[-1] == {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}


def test_a_text_before_a_tool_call() -> None:
    server = Server(choice("Let me look.", ToolCall("get_weather", {"city": "Paris"})))
    message = accumulated(server, tools=[WEATHER]).choices[0].message
    assert message.content == "Let me look."
    assert message.tool_calls[0].function.arguments == '{"city":"Paris"}'
    assert message.to_dict()["content"] == whole(server, tools=[WEATHER]).choices[0].message.content


def test_chunks_are_the_script_s() -> None:
    events, _ = DIALECT.events(exchange(body(), choice("Hello", chunks=("Hel", "lo"))))
    assert [event["choices"][0]["delta"].get("content") for event in events] == ["", "Hel", "lo"]


def test_padding_makes_every_chunk_one_modulo_sixteen() -> None:
    made = exchange(body(stream_options={"include_usage": True}), choice("one two three four five é"))
    for event in [part for half in DIALECT.events(made) for part in half]:
        padded = pad(event, _json.compact(event))
        assert len(padded) % 16 == 1
        assert list(json.loads(padded))[-1] == "obfuscation"
        assert {**json.loads(padded), "obfuscation": 0} == {**event, "obfuscation": 0}
    assert pad({"error": {}}, b'{"error":{}}') == b'{"error":{}}'


# -------------------------------------------------------------------------------------------- logprobs


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-5.4"])
def test_logprobs_are_made_up_when_asked_for(name: str) -> None:
    server = Server(choice("Hello there, you."))
    entries = whole(server, model=name, logprobs=True, top_logprobs=3).choices[0].logprobs.content
    assert [entry.token for entry in entries] == ["Hello", " there,", " you."]
    assert all(entry.logprob < 0 and bytes(entry.bytes).decode() == entry.token for entry in entries)
    assert all(len(entry.top_logprobs) == 3 and entry.top_logprobs[0].token == entry.token for entry in entries)
    assert whole(server, model=name, logprobs=True).choices[0].logprobs.content[0].top_logprobs == []
    chunks = streamed(server, model=name, logprobs=True, top_logprobs=3)
    assert chunks[0].choices[0].logprobs.content == []
    assert chunks[-1].choices[0].logprobs is None
    assert [entry for chunk in chunks[:-1] for entry in chunk.choices[0].logprobs.content] == entries


def test_logprobs_of_the_script() -> None:
    pairs = (("Hel", -0.5), ("lo", -0.25), (" you", -1.0))
    server = Server(choice("Hello you", logprobs=pairs))
    entries = whole(server).choices[0].logprobs.content
    assert [(entry.token, entry.logprob) for entry in entries] == list(pairs)
    streams = [[entry.token for entry in chunk.choices[0].logprobs.content] for chunk in streamed(server)[:-1]]
    assert streams == [[], ["Hel", "lo"], [" you"]]
    own = ({"token": "x", "logprob": -1.0, "bytes": None, "top_logprobs": []},)
    assert DIALECT.document(exchange(body(), choice("Hello you", logprobs=own)))["choices"][0]["logprobs"] == {
        "content": list(own),
        "refusal": None,
    }
    assert (
        len(
            [
                entry
                for chunk in streamed(Server(choice("", logprobs=own)))[:-1]
                for entry in chunk.choices[0].logprobs.content
            ]
        )
        == 1
    )


def test_logprobs_of_a_refusal_and_of_a_tool_call() -> None:
    refused = Server(choice(Refusal("I can't.")))
    logprobs = whole(refused, logprobs=True).choices[0].logprobs
    assert logprobs.content is None
    assert [entry.token for entry in logprobs.refusal] == ["I", " can't."]
    tokens = [
        entry.token for chunk in streamed(refused, logprobs=True)[:-1] for entry in chunk.choices[0].logprobs.refusal
    ]
    assert tokens == ["I", " can't."]
    called = Server(choice(ToolCall("f")))
    assert whole(called, logprobs=True).choices[0].logprobs is None
    assert all(chunk.choices[0].logprobs is None for chunk in streamed(called, logprobs=True))


# ---------------------------------------------------------------------------------------------- errors

CLASSES = {
    "bad_request": openai.BadRequestError,
    "authentication": openai.AuthenticationError,
    "permission": openai.PermissionDeniedError,
    "not_found": openai.NotFoundError,
    "request_too_large": openai.APIStatusError,
    "context_length": openai.BadRequestError,
    "content_filter": openai.BadRequestError,
    "rate_limit": openai.RateLimitError,
    "quota": openai.RateLimitError,
    "server_error": openai.InternalServerError,
    "unavailable": openai.InternalServerError,
    "overloaded": openai.InternalServerError,
    "timeout": openai.InternalServerError,
}


@pytest.mark.parametrize("name", sorted(ERROR_NAMES))
@pytest.mark.parametrize("stream", [False, True])
def test_every_error_name(name: str, stream: bool) -> None:
    with pytest.raises(CLASSES[name]) as caught:
        Server(error=Error(name)).openai().chat.completions.create(**body(), stream=stream)
    error: Any = caught.value
    assert list(error.body) == ["message", "type", "param", "code"]
    assert error.body["message"]
    assert "{" not in error.body["message"]
    assert error.request_id.startswith("req_")


@pytest.mark.parametrize(
    ("error", "status", "kind", "code"),
    [
        (Error("authentication"), 401, "invalid_request_error", "invalid_api_key"),
        (Error("not_found"), 404, "invalid_request_error", "model_not_found"),
        (Error("context_length"), 400, "invalid_request_error", "context_length_exceeded"),
        (Error("rate_limit"), 429, "tokens", "rate_limit_exceeded"),
        (Error(429), 429, "tokens", "rate_limit_exceeded"),
        (Error("quota"), 429, "insufficient_quota", "insufficient_quota"),
        (Error("overloaded"), 503, "server_error", None),
        (Error(529), 529, "server_error", None),
        (Error(500), 500, "server_error", None),
    ],
)
def test_type_and_code_of_errors(error: Error, status: int, kind: str, code: str | None) -> None:
    answer = DIALECT.failure(exchange(body()), error)
    said = json.loads(answer.body)["error"]
    assert (answer.status, said["type"], said["code"]) == (status, kind, code)


@pytest.mark.parametrize(("status", "phrase"), [(409, "Conflict"), (422, "Unprocessable"), (502, "Bad Gateway")])
def test_any_status(status: int, phrase: str) -> None:
    answer = DIALECT.failure(exchange(body()), Error(status))
    assert answer.status == status
    assert phrase in json.loads(answer.body)["error"]["message"]
    assert json.loads(DIALECT.failure(exchange(body()), Error(499)).body)["error"]["message"]


def test_messages_name_the_model_and_mask_long_keys() -> None:
    made = exchange(body(model="gpt-nope"))
    assert "`gpt-nope`" in json.loads(DIALECT.failure(made, Error(404)).body)["error"]["message"]
    assert "provided: test-key." in json.loads(DIALECT.failure(made, Error(401)).body)["error"]["message"]
    for key, shown in (("Bearer sk-1234567890", "sk-1*****7890"), ("", "You didn't provide an API key.")):
        asked = Asked(request_of(body(), key=key), DIALECT, body())
        answer = DIALECT.failure(Exchange("openai", asked, Ids(b""), "gpt-4o"), Error(401))
        assert shown in json.loads(answer.body)["error"]["message"]


def test_own_message_and_style_of_errors() -> None:
    model_error = DIALECT.failure(exchange(body()), Error(400, "No {braces}."))
    assert json.loads(model_error.body)["error"]["message"] == "No {braces}."
    assert model_error.body.startswith(b'{\n  "error": {\n    "message"')
    assert not model_error.body.endswith(b"\n")
    assert dict(model_error.headers)["content-type"] == "application/json"
    assert "openai-processing-ms" in dict(model_error.headers)
    gateway_error = DIALECT.failure(exchange(body()), Error(401))
    assert gateway_error.body.startswith(b'{\n    "error": {\n        "message"')
    assert gateway_error.body.endswith(b"}\n}\n")
    assert dict(gateway_error.headers)["content-type"] == "application/json; charset=utf-8"
    assert "openai-processing-ms" not in dict(gateway_error.headers)


@pytest.mark.parametrize(
    ("seconds", "whole_seconds", "milliseconds", "said"),
    [
        (2, "2", "2000", "2s"),
        (0.25, "1", "250", "250ms"),
        (62.5, "63", "62500", "1m2.5s"),
        (3600, "3600", "3600000", "1h0m0s"),
        (0, "0", "0", "0s"),
    ],
)
def test_retry_after(seconds: float, whole_seconds: str, milliseconds: str, said: str) -> None:
    answer = DIALECT.failure(exchange(body()), Error(429, retry_after=seconds))
    headers = dict(answer.headers)
    assert (headers["retry-after"], headers["retry-after-ms"]) == (whole_seconds, milliseconds)
    assert headers["x-ratelimit-reset-tokens"] == said
    assert f"try again in {said}." in json.loads(answer.body)["error"]["message"]


def test_an_error_in_the_middle_of_a_stream() -> None:
    client = Server(choice("Hello there."), then=Error("server_error", "It broke.")).openai()
    seen: list[Any] = []
    with pytest.raises(openai.APIError) as caught:
        seen.extend(chunk for chunk in _each(client.chat.completions.create(**body(), stream=True), seen))
    assert caught.value.message == "It broke."
    assert "".join(chunk.choices[0].delta.content for chunk in seen) == "Hello there."


def _each(stream: Any, seen: list[Any]) -> Any:
    for chunk in stream:
        seen.append(chunk)
        yield from ()


# --------------------------------------------------------------------------------------------- reading


def test_view_of_a_conversation() -> None:
    read = view(
        messages=[
            {"role": "system", "content": "Be kind."},
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image_url", "image_url": {"url": "data:"}},
                    {"type": "input_audio", "input_audio": {}},
                    {"type": "file", "file": {"file_id": "f"}},
                    {"type": "video_url", "video_url": {}},
                    {"type": "novel", "novel": 1},
                    "bare",
                    7,
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "Hm.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                    {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "{broken"}},
                    {"id": "c3", "type": "custom", "custom": {"name": "run", "input": "print(1)"}},
                    "noise",
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            {
                "role": "tool",
                "tool_call_id": "c2",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
            {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
            {"role": "function", "name": "old", "content": "gold"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "audio": {"id": "a1"}},
            {"role": "assistant", "content": "x", "refusal": "Never."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "mm"}]},
                    {"type": "text", "text": "y"},
                ],
            },
        ]
    )
    assert read.system == "Be kind.\nBe brief."
    messages = read.messages
    assert [item.role for item in messages] == [
        "system",
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "assistant",
        "assistant",
    ]
    assert messages[2].text == "Look\n[image]\n[audio]\n[file]\n[video]\n[novel]\nbare"
    assert messages[2].plain == "Look\nbare"
    assert messages[3].thinking == "Hm."
    assert messages[3].tool_calls == (
        SentToolCall("f", {"a": 1}, "c1"),
        SentToolCall("g", "{broken", "c2"),
        SentToolCall("run", "print(1)", "c3"),
    )
    results = [result for item in messages for result in item.tool_results]
    assert [(result.id, result.name, result.text) for result in results] == [
        ("c1", "", "sunny"),
        ("c2", "", "a\nb"),
        (None, "old", "gold"),
    ]
    assert messages[6].tool_calls == (SentToolCall("old", {}),)
    assert messages[8].text == "No.\n[audio]"
    assert messages[9].text == "x\nNever."
    assert (messages[10].thinking, messages[10].text) == ("mm", "y")
    asked = Asked(
        request_of({}),
        DIALECT,
        {
            "messages": [
                {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "r"},
            ]
        },
    )
    assert asked.view.messages[1].tool_results[0].name == "f"


def test_view_of_tools() -> None:
    custom = {"type": "custom", "custom": {"name": "run", "description": "Runs"}}
    read = view(tools=[WEATHER, custom, {"type": "web_search"}], functions=[{"name": "old"}, 3])
    assert list(read.tools) == ["get_weather", "run", "old"]
    weather = read.tools["get_weather"]
    assert (weather.schema, weather.description, weather.strict) == ({"type": "object"}, "Weather", True)
    assert read.tools["old"].schema == {}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, ToolChoice()),
        ({"tool_choice": "auto"}, ToolChoice()),
        ({"tool_choice": "none"}, ToolChoice("none")),
        ({"tool_choice": "required"}, ToolChoice("any")),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, ToolChoice("tool", "f")),
        ({"tool_choice": {"type": "custom", "custom": {"name": "f"}}}, ToolChoice("tool", "f")),
        ({"tool_choice": {"type": "web_search"}}, ToolChoice()),
        ({"tool_choice": None}, ToolChoice()),
        ({"function_call": {"name": "f"}}, ToolChoice("tool", "f")),
        ({"function_call": "none"}, ToolChoice("none")),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {
                        "mode": "required",
                        "tools": [{"type": "function", "function": {"name": "f"}}, 1],
                    },
                }
            },
            ToolChoice("any", allowed=frozenset({"f"})),
        ),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}},
            ToolChoice("auto", allowed=frozenset()),
        ),
    ],
)
def test_view_of_the_tool_choice(fields: Any, wanted: ToolChoice) -> None:
    assert view(**fields).tool_choice == wanted


@pytest.mark.parametrize(
    ("response_format", "schema"),
    [
        (None, None),
        ({"type": "text"}, None),
        ({"type": "json_object"}, {}),
        ({"type": "json_object", "schema": {"type": "object"}}, {"type": "object"}),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}, {"type": "object"}),
        ({"type": "json_schema", "json_schema": {"name": "x"}}, {}),
    ],
)
def test_view_of_the_schema(response_format: Any, schema: Any) -> None:
    assert view(response_format=response_format).schema == schema


def test_view_of_the_params() -> None:
    read = view(
        temperature=0, max_tokens=5, max_completion_tokens=7, stop="END", n=2, seed=None, top_k=4, user="u", stream=True
    )
    assert read.params == {"temperature": 0, "max_tokens": 7, "stop": ["END"], "n": 2, "top_k": 4, "user": "u"}
    assert view(max_tokens=5, stop=["a"]).params == {"max_tokens": 5, "stop": ["a"]}
    assert read.whole


def test_stream_and_model() -> None:
    request = request_of({})
    assert [DIALECT.stream(request, item) for item in ({"stream": True}, {"stream": 1}, {}, [], None)] == [
        True,
        False,
        False,
        False,
        False,
    ]
    assert [DIALECT.model(request, item) for item in ({"model": "m"}, {"model": 3}, {}, None)] == ["m", "", "", ""]
    azure = request_of({}, url="https://x.openai.azure.com/openai/deployments/dep/chat/completions?api-version=1")
    assert DIALECT.model(azure, {}) == "dep"


# -------------------------------------------------------------------------------------------- checking


@pytest.mark.parametrize(
    ("sent", "message", "param", "code"),
    [
        ([], "We could not parse the JSON body", None, None),
        ({"messages": USER}, "you must provide a model parameter", None, None),
        ({"model": "", "messages": USER}, "you must provide a model parameter", None, None),
        (
            {"model": 3, "messages": USER},
            "Invalid type for 'model': expected a string, but got an integer instead.",
            "model",
            "invalid_type",
        ),
        ({"model": "m"}, "Missing required parameter: 'messages'.", "messages", "missing_required_parameter"),
        (body(messages=[]), "Invalid 'messages': empty array.", "messages", "empty_array"),
        (
            body(messages="Hi"),
            "Invalid type for 'messages': expected an array of objects, but got a string instead.",
            "messages",
            "invalid_type",
        ),
        (body(messages=["Hi"]), "Invalid type for 'messages[0]': expected an object", "messages[0]", "invalid_type"),
        (
            body(messages=[{"content": "x"}]),
            "Missing required parameter: 'messages[0].role'.",
            "messages[0].role",
            "missing_required_parameter",
        ),
        (
            body(messages=[{"role": 1, "content": "x"}]),
            "Invalid type for 'messages[0].role'",
            "messages[0].role",
            "invalid_type",
        ),
        (
            body(messages=[{"role": "boss", "content": "x"}]),
            "Invalid value: 'boss'.",
            "messages[0].role",
            "invalid_value",
        ),
        (
            body(messages=[*USER, {"role": "user", "content": 5}]),
            "Invalid type for 'messages[1].content': expected one of",
            "messages[1].content",
            "invalid_type",
        ),
        (
            body(messages=[{"role": "user", "content": None}]),
            "Invalid value for 'content': expected a string, got null.",
            "messages[0].content",
            None,
        ),
        (
            body(messages=[{"role": "user", "content": "x" * 10_485_761}]),
            "string too long",
            "messages[0].content",
            "string_above_max_length",
        ),
        (
            body(messages=[{"role": "assistant", "tool_calls": {}}]),
            "Invalid type for 'messages[0].tool_calls'",
            "messages[0].tool_calls",
            "invalid_type",
        ),
        (
            body(temperature="1"),
            "Invalid type for 'temperature': expected a decimal, but got a string instead.",
            "temperature",
            "invalid_type",
        ),
        (body(temperature=True), "expected a decimal, but got a boolean instead.", "temperature", "invalid_type"),
        (body(max_tokens=1.5), "expected an integer, but got a decimal instead.", "max_tokens", "invalid_type"),
        (
            body(seed=2**63),
            "integer above maximum value. Expected a value <= 9223372036854775807",
            "seed",
            "integer_above_max_value",
        ),
        (body(seed=-(2**63) - 1), "integer below minimum value", "seed", "integer_below_min_value"),
        (body(stream="yes"), "expected a boolean, but got a string instead.", "stream", "invalid_type"),
        (body(tools={}), "expected an array of objects, but got an object instead.", "tools", "invalid_type"),
        (body(tools=["f"]), "Invalid type for 'tools[0]': expected an object", "tools[0]", "invalid_type"),
        (
            body(response_format="json"),
            "expected an object, but got a string instead.",
            "response_format",
            "invalid_type",
        ),
        (
            body(stop=[1]),
            "Invalid type for 'stop': expected one of a string or array of strings, but got an array",
            "stop",
            "invalid_type",
        ),
    ],
)
def test_malformed_requests_are_refused(sent: Any, message: str, param: str | None, code: str | None) -> None:
    error = DIALECT.check(request_of({}), sent)
    assert error is not None
    said = error.body["error"] if error.body else json.loads(DIALECT.failure(exchange(sent), error).body)["error"]
    assert message in said["message"] == error.message
    assert (said["type"], said["param"], said["code"]) == ("invalid_request_error", param, code)
    assert DIALECT.failure(exchange({}), error).status == 400


def test_well_formed_requests_are_not_refused() -> None:
    plain = request_of({})
    assert (
        DIALECT.check(
            plain, body(temperature=1, max_tokens=5.0, stop=None, tools=None, seed=2**63 - 1, logprobs=True, unknown={})
        )
        is None
    )
    assert (
        DIALECT.check(plain, body(messages=[{"role": "assistant", "content": None}, {"role": "tool", "content": []}]))
        is None
    )
    other = request_of({}, url="https://api.example.com/v1/chat/completions")
    assert DIALECT.check(other, body(messages=[{"role": "ipython", "content": None}])) is None
    azure = request_of({}, url="https://x.openai.azure.com/openai/deployments/dep/chat/completions")
    assert DIALECT.check(azure, {"messages": USER}) is None


# ---------------------------------------------------------------------------------------- reading back


def test_a_turn_read_back() -> None:
    made = exchange(
        body(),
        choice(Thinking("Hm."), "Hi", ToolCall("f", {"é": [1, None]}), ToolCall("g", "{ }", extra={"x": 1})),
        choice(Refusal("No.")),
        usage=Usage(10, 5, 4, 3, 2, 99, {"cost": 0.5, "prompt_tokens_details": {"image_tokens": 1}}),
        id="chatcmpl-9",
        extra={"service_tier": "flex", "citations": ["u"], "created": 3},
    )
    written = DIALECT.document(made)
    turn = DIALECT.parts(written)
    assert turn.parts == made.choices[0].parts
    assert (turn.id, turn.model, turn.finish_reason, turn.usage) == ("chatcmpl-9", "gpt-4o", "tool_calls", made.usage)
    assert turn.extra == {"service_tier": "flex", "citations": ["u"], "created": 3}
    assert turn.choices[0].parts == (Refusal("No."),)


def test_a_legacy_and_a_custom_call_read_back() -> None:
    for sent in ({"functions": [{"name": "f"}]}, {"tools": [{"type": "custom", "custom": {"name": "f"}}]}):
        turn = DIALECT.parts(DIALECT.document(exchange(body(**sent), choice(ToolCall("f", "a b")))))
        assert turn.finish_reason == "tool_calls"
        assert [(part.name, part.arguments) for part in turn.parts if isinstance(part, ToolCall)] == [("f", "a b")]


@pytest.mark.parametrize(
    "document",
    [{}, {"choices": None}, {"choices": [{}]}, {"choices": [{"message": {"tool_calls": [{}, 3]}}], "usage": {}}],
)
def test_odd_documents_are_read_back_too(document: Any) -> None:
    assert isinstance(DIALECT.parts(document), Reply)


def test_sdk_types_are_the_sdks_classes() -> None:
    kinds = (openai_types.ChatCompletion, groq_types.ChatCompletion)
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds]
    assert names == [name for name in DIALECT.sdk_types if name.startswith(("openai.", "groq."))]


def test_an_sdk_object_survives() -> None:
    answer = whole(Server(choice("Hi", ToolCall("f", {"a": 1}))))
    turn = DIALECT.parts(answer.model_dump(exclude_unset=True))
    assert turn.parts == ("Hi", ToolCall("f", {"a": 1}, f"call_{1:024}"))
    assert turn.usage == USAGE


# ------------------------------------------------------------------------------------------ properties

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
JSON = st.dictionaries(
    TEXT, st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT | st.lists(TEXT, max_size=2), max_size=3
)
CALLS = st.builds(ToolCall, st.from_regex(r"[a-z_]{1,9}", fullmatch=True), JSON | TEXT)


@st.composite
def turns(draw: Any) -> Choice:
    """Turns in the one order in which a message can hold them."""
    parts: list[Any] = []
    if draw(st.booleans()):
        parts.append(Thinking(draw(TEXT)))
    if draw(st.booleans()):
        parts.append(draw(TEXT))
    if draw(st.booleans()):
        parts.append(Refusal(draw(TEXT)))
    parts += draw(st.lists(CALLS, max_size=3))
    return choice(*parts or [draw(TEXT)], chunk_size=draw(st.none() | st.integers(1, 5)))


@given(turns())
def test_what_is_written_is_read_back(turn: Choice) -> None:
    made = exchange(body(), turn, id="chatcmpl-1")
    written = DIALECT.document(made)
    back = DIALECT.parts(_json.loads(_json.compact(written)))
    assert [_plain(part) for part in back.parts] == [_plain(part) for part in turn.parts]
    assert back.finish_reason == turn.finish_reason
    assert back.usage == USAGE
    assert back.extra is None
    assert DIALECT.document(exchange(body(), Choice(back.parts, back.finish_reason), id=back.id)) == written


def _plain(part: Any) -> Any:
    return (part.name, part.json, part.id) if isinstance(part, ToolCall) else part


@given(turns(), st.booleans())
def test_streamed_is_the_whole(turn: Choice, logprobs: bool) -> None:
    server = Server(turn, id="chatcmpl-1")
    once = whole(server, logprobs=logprobs).choices[0]
    chunks = streamed(server, logprobs=logprobs)
    joined = _joined(chunks)
    message = once.message.to_dict()
    message.pop("annotations")
    assert joined.pop("finish_reason") == once.finish_reason
    assert joined.pop("logprobs") == (once.logprobs.to_dict() if once.logprobs else None)
    assert joined == message


def _joined(chunks: list[Any]) -> dict[str, Any]:
    """All deltas put together, strings appended, as every client does."""
    joined: dict[str, Any] = {"finish_reason": None, "logprobs": None}
    calls: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        item = chunk.choices[0].to_dict(exclude_unset=True)
        joined["finish_reason"] = item.get("finish_reason") or joined["finish_reason"]
        _append(joined, {"logprobs": item.get("logprobs")})
        delta = item["delta"]
        for call in delta.pop("tool_calls", ()):
            _append(calls.setdefault(call.pop("index"), {}), call)
        _append(joined, {"refusal": None, **delta} if "role" in delta else delta)
    return {**joined, "tool_calls": [calls[index] for index in sorted(calls)]} if calls else joined


def _append(target: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        if isinstance(value, dict):
            target[key] = target.get(key) or {}
            _append(target[key], value)
        elif isinstance(value, (str, list)):
            target[key] = (target.get(key) or type(value)()) + value
        else:
            target.setdefault(key, value)


@given(turns())
def test_the_sdk_s_own_accumulator_agrees(turn: Choice) -> None:
    server = Server(turn)
    final = accumulated(server).choices[0]
    once = whole(server).choices[0]
    assert final.finish_reason == once.finish_reason
    assert final.message.content == once.message.content
    assert final.message.refusal == once.message.refusal
    names = [
        [(call.id, call.function.name, call.function.arguments) for call in item.message.tool_calls or ()]
        for item in (final, once)
    ]
    assert names[0] == names[1]


# ------------------------------------------------------------------------------------------------ groq


def test_the_sdk_of_groq_reads_it_too() -> None:
    tier = {"service_tier": "on_demand"}  # its own word: a difference of its row
    server = Server(choice("Let me look.", ToolCall("get_weather", {"city": "Paris"})), extra=tier)
    client = server.groq()
    message = client.chat.completions.create(**body(tools=[WEATHER])).choices[0].message
    assert message.content == "Let me look."
    assert message.tool_calls is not None
    assert message.tool_calls[0].function.arguments == '{"city":"Paris"}'
    deltas = [chunk.choices[0].delta for chunk in client.chat.completions.create(**body(tools=[WEATHER]), stream=True)]
    assert "".join(delta.content or "" for delta in deltas) == "Let me look."
    with pytest.raises(groq.RateLimitError):
        Server(error=Error(429)).groq().chat.completions.create(**body())


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_ids() -> None:
    first, again = (_json.compact(DIALECT.document(exchange(body(), choice("Hi")))) for _ in range(2))
    assert first == again
    assert DIALECT.headers(exchange(body())) == DIALECT.headers(exchange(body()))
    made = DIALECT.tool_id(Ids(b"a"))
    assert made is not None
    assert made.startswith("call_")
    assert len(made) == 29
    assert made != DIALECT.tool_id(Ids(b"b"))
