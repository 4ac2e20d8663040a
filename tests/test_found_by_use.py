"""What people who used and attacked the library found: each stays mended."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import os
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from fake_llm import (
    Disconnect,
    Error,
    FakeLLM,
    Framing,
    Raw,
    Reply,
    ScriptError,
    ScriptMismatchError,
    ToolCall,
    UnknownEndpointError,
    UnscriptedCallError,
    Usage,
)
from fake_llm._endpoints import PROVIDERS

CHAT = "https://api.openai.com/v1/chat/completions"
HI = [{"role": "user", "content": "Hi"}]


def tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def ask(url: str = CHAT, **body: Any) -> httpx.Response:
    return httpx.post(url, json={"model": "gpt-5", "messages": HI, **body})


def text(response: httpx.Response) -> Any:
    return response.json()["choices"][0]["message"]["content"]


# --- retries ---


@needs("openai")
@pytest.mark.parametrize(
    "turn", [Error(500), Raw({}, status=503), Reply("a", then=Disconnect()), Reply("a", then=Error(503))], ids=repr
)
def test_a_retry_gets_what_failed_again(turn: Any) -> None:
    import openai

    with fake_llm.intercept([turn]) as fake, pytest.raises(openai.APIError):
        openai.OpenAI(max_retries=1).chat.completions.create(model="gpt-5", messages=HI)  # type: ignore[arg-type]
    assert [call.attempt for call in fake.calls] == [1, 2]
    assert [call.usage for call in fake.calls] == [None, None]


def test_what_no_sdk_retries_is_not_repeated() -> None:
    with pytest.raises(UnscriptedCallError), fake_llm.intercept([Error(400)]):
        assert ask().status_code == 400
        ask()


# --- environment ---


def test_an_empty_variable_is_restored_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with fake_llm.intercept():
        assert os.environ["OPENAI_API_KEY"]
    assert os.environ["OPENAI_API_KEY"] == ""


@needs("openai")
def test_the_module_client_forgets_the_dummy() -> None:
    import openai

    with fake_llm.intercept(["a"]):
        openai.chat.completions.create(model="gpt-5", messages=HI)  # type: ignore[arg-type]
    assert openai.api_key is None


# --- hosts ---


@pytest.mark.parametrize(
    "place", ["llm.corp:443", " llm.corp ", "llm.corp.", "LLM.corp", "https://llm.corp/", "llm.corp:443/v1"]
)
@pytest.mark.parametrize("url", ["https://llm.corp/v1/chat/completions", "https://llm.corp:443/v1/chat/completions"])
def test_a_declared_host_is_claimed_however_it_is_written(place: str, url: str) -> None:
    with fake_llm.intercept(["ok"], hosts={place: "openai"}):
        assert text(ask(url)) == "ok"


def test_names_beyond_ascii_and_addresses_are_claimed() -> None:
    hosts = {"müller.example": "openai", "[fd00::1]:8080": "openai"}
    with fake_llm.intercept(["a", "b"], hosts=hosts):
        assert text(ask("https://müller.example/v1/chat/completions")) == "a"
        assert text(ask("http://[fd00::1]:8080/chat/completions")) == "b"


@pytest.mark.parametrize("place", ["*.corp", "two words", "http://[::1", "host:port", ""])
def test_what_is_no_host_is_refused(place: str) -> None:
    with pytest.raises(ScriptError, match="hosts= got"):
        fake_llm.intercept(hosts={place: "openai"})


def test_a_host_that_is_known_but_not_answered_says_what_to_write() -> None:
    with pytest.raises(UnknownEndpointError) as caught, fake_llm.intercept():
        ask("https://api.aleph-alpha.com/v1/chat/completions")
    answered = ", ".join(provider.name for provider in PROVIDERS if provider.endpoints)
    assert str(caught.value) == (
        "POST https://api.aleph-alpha.com/v1/chat/completions came in thread MainThread: a known LLM host (aleph_alpha) that isn't answered yet.\n"
        f"Answered are {answered}.\n"
        'Write hosts={"api.aleph-alpha.com": "openai"} if it speaks OpenAI\'s language there, or '
        'fake.when(operation="unknown").reply(Raw({…})) to answer it verbatim.'
    )


@pytest.mark.parametrize("error", [ConnectionError("nobody there"), RuntimeError("Connection error.")])
def test_an_error_of_the_network_in_a_block_without_calls_has_the_likely_reason_with_it(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, fake_llm.intercept(["a"]):
        raise error from ConnectionError()
    assert [note[:26] for note in caught.value.__notes__] == ["fake_llm: No call came: do"]


def test_a_call_that_looks_like_a_models_is_named_in_it() -> None:
    url = "http://127.0.0.1:9/openai/deployments/mine/chat/completions?api-key=secret"
    with pytest.raises(httpx.ConnectError) as caught, fake_llm.intercept(["a"]):
        httpx.post(url, json={})
    (note,) = caught.value.__notes__
    assert note == (
        "fake_llm: No call came to a host that is known, but httpx sent POST "
        "http://127.0.0.1:9/openai/deployments/mine/chat/completions?api-key=***: "
        'write hosts={"127.0.0.1:9": "azure"} to have it answered.'
    )


def test_an_error_of_the_tests_own_has_no_reason_of_ours_with_it() -> None:
    with pytest.raises(KeyError) as caught, fake_llm.intercept(["a"]):
        os.environ["NO_SUCH_VARIABLE"]
    assert not hasattr(caught.value, "__notes__")


def test_turns_of_an_outer_block_are_named_where_the_inner_one_has_none() -> None:
    refused = pytest.raises(
        UnscriptedCallError, match="Another open block has 1 turn left: the innermost block answers"
    )
    with refused, fake_llm.intercept(["a"], strict=False), fake_llm.intercept():
        ask()


def test_a_retry_of_the_codes_own_is_named() -> None:
    with pytest.raises(UnscriptedCallError) as caught, fake_llm.intercept([Error(429)]):
        ask()
        ask(model="another")
    assert "tries again" not in str(caught.value)
    with pytest.raises(UnscriptedCallError) as caught, fake_llm.intercept([Error(429), Error("overloaded")]):
        ask(model="a")
        ask(model="b")
        call = {"headers": {"x-stainless-retry-count": "0"}}
        httpx.post(CHAT, json={"model": "b", "messages": HI}, **call)
    assert "Call 1 was answered with" in str(caught.value)


# --- values ---


def test_tuples_are_arrays() -> None:
    tools = [tool("f", xs={"type": "array"})]
    with fake_llm.intercept([ToolCall("f", {"xs": (1, 2)})]):
        call = ask(tools=tools).json()["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["arguments"] == '{"xs":[1,2]}'


def test_a_dataclass_may_hold_dates() -> None:
    @dataclasses.dataclass
    class Day:
        on: dt.date
        tags: tuple[str, ...]

    with fake_llm.intercept([Day(dt.date(2026, 1, 2), ("a",))]):
        assert text(ask()) == '{"on":"2026-01-02","tags":["a"]}'


@needs("pydantic")
def test_a_model_is_written_as_it_accepts_itself() -> None:
    import pydantic

    class Inner(pydantic.BaseModel):
        value: int = pydantic.Field(validation_alias="inValue", serialization_alias="outValue")

    class Model(pydantic.BaseModel):
        x: int = pydantic.Field(serialization_alias="outX")
        y: int = pydantic.Field(alias="why")
        inner: list[Inner]

        @pydantic.computed_field  # type: ignore[prop-decorator]
        @property
        def double(self) -> int:
            return self.x * 2

    model = Model(x=1, why=2, inner=[Inner(inValue=3)])
    schema = {"type": "json_schema", "json_schema": {"name": "m", "schema": Model.model_json_schema()}}
    with fake_llm.intercept([model]):
        said = text(ask(response_format=schema))
    assert Model.model_validate_json(said) == model


@needs("pydantic")
def test_models_of_every_kind_keep_their_values() -> None:
    import pydantic

    class Root(pydantic.RootModel[dict[str, int]]):
        pass

    class Own(pydantic.BaseModel):
        x: int

        @pydantic.model_serializer
        def written(self) -> dict[str, int]:
            return {"written": self.x}

    class Open(pydantic.BaseModel, extra="allow"):
        inner: Root
        maybe: int | None = None

    models = [Root({"a": 1}), Own(x=2), Open(inner=Root({"b": 3}), more="m")]
    with fake_llm.intercept(models):
        said = [text(ask()) for _ in models]
    assert said == ['{"a":1}', '{"written":2}', '{"inner":{"b":3},"maybe":null,"more":"m"}']


@needs("openai")
def test_a_part_of_an_sdk_object_is_no_turn() -> None:
    from openai.types.chat import ChatCompletionMessage

    with pytest.raises(ScriptError, match="this is a part of one"):
        fake_llm.intercept([ChatCompletionMessage(role="assistant", content="hello")])


def test_usage_can_be_a_key() -> None:
    assert len({Usage(1, 2), Usage(1, 2), Usage(1, 3)}) == 2


def test_a_journal_of_tool_calls_compares_with_what_was_scripted() -> None:
    tools = [tool("f", a={"type": "integer"})]
    with fake_llm.intercept([ToolCall("f", {"a": 1}), "done"]) as fake:
        message = ask(tools=tools).json()["choices"][0]["message"]
        answer = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "1"}
        ask(tools=tools, messages=[*HI, message, answer])
    called = fake.calls[1].messages[1].tool_calls
    assert called == (ToolCall("f", {"a": 1}),)
    assert called != (ToolCall("f", {"a": 2}),)
    assert called != (ToolCall("f", {"a": 1}, id="call_other"),)


# --- strictness ---


@pytest.mark.parametrize(
    ("choice", "allowed"),
    [("none", "no tool"), ({"type": "function", "function": {"name": "g"}}, "'g'")],
)
def test_a_call_that_the_tool_choice_rules_out_is_refused(choice: Any, allowed: str) -> None:
    refused = pytest.raises(ScriptMismatchError, match=f"The tool choice of the request allows {allowed}")
    with refused, fake_llm.intercept([ToolCall("f", {})]):
        ask(tools=[tool("f"), tool("g")], tool_choice=choice)


def test_a_predicate_that_would_never_be_awaited_is_refused() -> None:
    async def predicate(call: Any) -> bool:
        return False

    with pytest.raises(ScriptError, match="A predicate is called, not awaited"):
        FakeLLM().when(predicate)


def test_a_rule_without_turns_is_named() -> None:
    refused = pytest.raises(UnscriptedCallError, match=r"when\(system='planner'\): it has no turns: write \.reply")
    with refused, fake_llm.intercept() as fake:
        fake.when(system="planner")
        ask()


def test_a_function_turn_that_returns_none_is_named() -> None:
    def forgets(call: Any) -> None:
        """Returns nothing."""

    with (
        pytest.raises(
            UnscriptedCallError, match=r"the turn .*forgets: its function returned None, which passes the call on"
        ),
        fake_llm.intercept([forgets]),
    ):
        ask()


# --- decorator ---


def test_the_fake_stands_where_its_parameter_does() -> None:
    @fake_llm.intercept(["a"])
    def one(fake_llm: Any, x: int) -> Any:
        return type(fake_llm), x, text(ask())

    @fake_llm.intercept(["a"])
    def two(x: int, fake: FakeLLM | None = None) -> Any:
        return type(fake), x, text(ask())

    assert one(5) == one(x=5) == two(5) == (FakeLLM, 5, "a")


# --- loops ---


def test_an_async_function_turn_leaves_the_loop_of_the_thread_alone() -> None:
    async def answer(call: Any) -> str:
        await asyncio.sleep(0)
        return "a"

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        with fake_llm.intercept([answer]):
            assert text(ask()) == "a"
        assert asyncio.get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


# --- framing ---


def test_garbage_in_a_compressed_stream_reaches_the_client() -> None:
    turn = Reply("a b", then=fake_llm.Garbage(b"<html>"), framing=Framing(gzip=True))
    with fake_llm.intercept([turn]):
        assert ask(stream=True).content.endswith(b"<html>")


# --- faults of the library itself ---


def test_a_fault_of_the_library_is_no_exception_that_an_sdk_swallows(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise KeyError("gone")

    monkeypatch.setattr("fake_llm._fake.render", broken)
    with pytest.raises(fake_llm.FakeLLMFailure) as caught, fake_llm.intercept([Reply("a", finish_reason="length")]):
        ask()
    assert str(caught.value) == (
        "Call 0 (openai chat gpt-5) couldn't be answered: KeyError: 'gone'.\n"
        "This is a fault of fake_llm, not of the test.\n"
        "Report it with the turn and the request; until it is mended, Raw({…}) answers verbatim."
    )
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("value", [1e308, 10**400], ids=["float", "int"])
def test_a_time_that_nobody_waits(value: float) -> None:
    with pytest.raises(ScriptError) as caught:
        Error(429, retry_after=value)
    assert str(caught.value).splitlines() == [
        "Error got retry_after= of more than 1000000000 seconds.",
        "No client waits so long.",
        "Write retry_after=0.5.",
    ]


def test_an_answer_of_several_has_few_options_of_its_own() -> None:
    with pytest.raises(ScriptError) as caught:
        Reply("a", choices=[Reply("b", then=Disconnect(), delay=1)])
    assert str(caught.value).splitlines() == [
        "A choice of Reply has delay= and then=.",
        "An answer of several has check, chunk_size, chunks, finish_reason, logprobs of its own; the rest is for all of them.",
        "Write delay= on the outer Reply.",
    ]
    assert Reply("a", choices=[Reply("b", finish_reason="length", chunk_size=1)]).choices[0].finish_reason == "length"


@pytest.mark.parametrize(
    "raw", [b'{"model": "m", "messages": "x", "max_tokens": 1e999}', b'{"messages": ' + b"[" * 900 + b"]" * 900 + b"}"]
)
def test_mistral_refuses_what_it_cannot_say_again(raw: bytes) -> None:
    with fake_llm.intercept(default="a"):
        found = httpx.post(
            "https://api.mistral.ai/v1/chat/completions", content=raw, headers={"content-type": "application/json"}
        )
    assert found.status_code in (400, 422)


def test_a_number_of_answers_that_no_vendor_gives() -> None:
    body = {"contents": [{"parts": [{"text": "a"}]}], "n": 10**30}
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
    with fake_llm.intercept(default="a"):
        assert httpx.post(url, json=body).status_code == 200
