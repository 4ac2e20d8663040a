"""Which turn answers: the queue, rules in order, the default; retries, and the answer that a retry gets again."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, Vendor, failure, said
from fake_llm import Error, FakeLLM, Raw, Reply, ScriptError, ToolCall, UnscriptedCallError, UnusedReplyError, Usage

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
TOOLS = {"get_weather": {"type": "object"}, "now": {"type": "object"}}


def text(vendor: Vendor = CHAT, question: str = "Hi", **asked: Any) -> str:
    return str(said(vendor, vendor.post(question, **asked)).text)


def conversation(vendor: Vendor) -> dict[str, Any]:
    """A request in its second round: system, a question, a tool call, its result, and one more question."""
    if vendor is CHAT:
        return vendor.body(
            messages=[
                {"role": "system", "content": "You are a planner."},
                {"role": "user", "content": "What about Paris?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "sunny, 21 degrees"},
                {"role": "user", "content": "And tomorrow?"},
            ]
        )
    if vendor is RESPONSES:
        return vendor.body(
            instructions="You are a planner.",
            input=[
                {"role": "user", "content": "What about Paris?"},
                {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "sunny, 21 degrees"},
                {"role": "user", "content": "And tomorrow?"},
            ],
        )
    if vendor is ANTHROPIC:
        return vendor.body(
            system="You are a planner.",
            messages=[
                {"role": "user", "content": "What about Paris?"},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "sunny, 21 degrees"},
                        {"type": "text", "text": "And tomorrow?"},
                    ],
                },
            ],
        )
    return vendor.body(
        systemInstruction={"parts": [{"text": "You are a planner."}]},
        contents=[
            {"role": "user", "parts": [{"text": "What about Paris?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {}}}]},
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "get_weather", "response": {"result": "sunny, 21 degrees"}}},
                    {"text": "And tomorrow?"},
                ],
            },
        ],
    )


# --- parameters ---------------------------------------------------------------------------------


@vendors
@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({}, True),
        ({"input": "Paris"}, True),
        ({"input": "Paris? And"}, True),  # all user texts joined by a blank
        ({"input": "paris"}, False),
        ({"input": re.compile("paris", re.IGNORECASE)}, True),
        ({"input": re.compile("^And")}, False),
        ({"input": "sunny"}, False),
        ({"last": "tomorrow"}, True),
        ({"last": "Paris"}, False),
        ({"last": re.compile(r"^And tomorrow\?$")}, True),
        ({"system": "planner"}, True),
        ({"system": "poet"}, False),
        ({"system": re.compile("^You are")}, True),
        ({"tool": "get_weather"}, True),
        ({"tool": "now"}, False),
        ({"tool_result": "21 degrees"}, True),
        ({"tool_result": "rainy"}, False),
        ({"tool_result": re.compile(r"\d+ degrees")}, True),
        ({"turn": 1}, True),
        ({"turn": 0}, False),
        ({"stream": False}, True),
        ({"stream": True}, False),
        ({"operation": "chat"}, True),
        ({"operation": "count_tokens"}, False),
        ({"operation": re.compile("chat|embeddings")}, True),
        ({"input": "Paris", "last": "tomorrow", "system": "planner", "turn": 1}, True),
        ({"input": "Paris", "last": "Rome"}, False),
    ],
    ids=shown,
)
def test_a_rule_fits(vendor: Vendor, wanted: dict[str, Any], fits: bool) -> None:
    with fake_llm.intercept(default="default") as fake:
        fake.when(**wanted).reply("rule")
        response = httpx.post(vendor.place(), json=conversation(vendor))
    assert said(vendor, response).text == ("rule" if fits else "default")


@vendors
def test_a_rule_for_a_model_and_a_provider(vendor: Vendor) -> None:
    provider = {"chat": "openai", "responses": "openai"}.get(vendor.name, vendor.name)
    with fake_llm.intercept(default="default") as fake:
        fake.when(model=vendor.model[:-1]).reply("never: a str is equal")
        fake.when(provider="open").reply("never: a str is equal")
        fake.when(model=vendor.model, provider=provider).reply("first", "second")
        fake.when(model=re.compile(vendor.model[:3]), times=1).reply("pattern")
        fake.when(provider=re.compile("^" + provider[:3]), times=1).reply("provider pattern")
        found = [text(vendor, str(n)) for n in range(5)]
    assert found == ["first", "second", "pattern", "provider pattern", "default"]


@vendors
def test_a_rule_for_streams(vendor: Vendor) -> None:
    with fake_llm.intercept() as fake:
        fake.when(stream=True).reply("streamed")
        fake.when(stream=False).reply("whole")
        assert text(vendor, stream=True) == "streamed"
        assert text(vendor) == "whole"


@vendors
def test_turn_zero_is_the_first_round(vendor: Vendor) -> None:
    with fake_llm.intercept() as fake:
        fake.when(turn=0).reply("first")
        fake.when(turn=1).reply("second")
        assert text(vendor) == "first"
        assert said(vendor, httpx.post(vendor.place(), json=conversation(vendor))).text == "second"


def test_a_tool_may_be_named_by_the_user() -> None:
    with fake_llm.intercept(default="default") as fake:
        fake.when(tool="now").reply("rule")
        assert text(question="call now, please") == "rule"
        assert text(question="anything else", tools=TOOLS) == "default"


def test_a_predicate_is_a_function_of_the_call() -> None:
    with fake_llm.intercept(default="default") as fake:
        fake.when(lambda call: "a" in call.last_user_text, lambda call: call.body["top_p"] == 0).reply("rule")
        assert text(question="a", top_p=0) == "rule"
        assert text(question="a", top_p=1) == "default"
        assert text(question="b", top_p=0) == "default"


@vendors
@pytest.mark.parametrize("stream", [False, True])
def test_a_predicate_is_called_once_for_each_request(vendor: Vendor, stream: bool) -> None:
    seen: Counter[str] = Counter()

    def watch(name: str, answer: bool) -> Any:
        def predicate(call: fake_llm.Call) -> bool:
            seen[f"{name} {call.last_user_text}"] += 1
            return answer

        return predicate

    with fake_llm.intercept(["queue"]) as fake:
        fake.when(watch("no", False)).reply("never")
        fake.when(watch("passes", True)).reply(lambda call: None)
        fake.when(watch("yes", True)).reply("rule")
        fake.when(watch("later", True)).reply("never")
        assert text(vendor, "0", stream=stream) == "queue"
        assert seen == {}  # while the queue has turns no rule is asked
        assert text(vendor, "1", stream=stream) == "rule"
        assert text(vendor, "2", stream=stream) == "rule"
    assert seen == {f"{name} {n}": 1 for name in ("no", "passes", "yes") for n in (1, 2)}


def test_a_predicate_is_called_once_even_where_nothing_fits() -> None:
    seen = []
    with fake_llm.intercept() as fake:
        fake.when(lambda call: seen.append(call)).reply("never")
        with pytest.raises(UnscriptedCallError, match=r"(?s)What didn't answer it.*lambda"):
            CHAT.post()
        fake.failures.clear()
    assert len(seen) == 1


def test_a_predicate_that_fails_is_the_tests_own_error() -> None:
    with pytest.raises(KeyError, match="nope"), fake_llm.intercept() as fake:
        fake.when(lambda call: call.body["nope"]).reply("x")
        CHAT.post()


@pytest.mark.parametrize(
    "wanted",
    [
        {"input": 5},
        {"input": re.compile(b"x")},
        {"last": b"x"},
        {"system": ["x"]},
        {"tool_result": object()},
        {"model": 5},
        {"provider": 5},
        {"operation": 5},
        {"operation": None},
        {"tool": 5},
        {"stream": "yes"},
        {"turn": "1"},
        {"turn": -1},
        {"turn": True},
        {"times": 0},
        {"times": -1},
        {"times": 1.5},
        {"times": True},
    ],
    ids=shown,
)
def test_parameters_that_cannot_be(wanted: dict[str, Any]) -> None:
    with pytest.raises(ScriptError) as raised:
        FakeLLM().when(**wanted)
    assert next(iter(wanted)) in str(raised.value)


def test_a_predicate_that_is_no_function() -> None:
    with pytest.raises(ScriptError, match="'planner'"):
        FakeLLM().when("planner")


def test_a_rule_needs_a_turn() -> None:
    with pytest.raises(ScriptError, match="no turn"):
        FakeLLM().when().reply()


# --- order --------------------------------------------------------------------------------------


@vendors
def test_the_first_rule_that_fits_wins(vendor: Vendor) -> None:
    with fake_llm.intercept() as fake:
        fake.when(input="special").reply("special")
        fake.when().reply("any")
        fake.when(input="special").reply("never")
        assert [text(vendor, question) for question in ("x", "special", "y")] == ["any", "special", "any"]


def test_one_turn_repeats_for_ever_and_need_not_be_used() -> None:
    with fake_llm.intercept() as fake:
        fake.when().reply("again")
        fake.when(input="never").reply("endless")
        assert [text(question=str(n)) for n in range(5)] == ["again"] * 5
        assert fake.remaining == 0


def test_several_turns_are_a_queue_of_the_rules_own() -> None:
    with fake_llm.intercept() as fake:
        fake.when(system="planner").reply("p1", "p2")
        fake.when(system="writer").reply("w1", "w2")
        found = [
            text(messages=[{"role": "system", "content": role}, {"role": "user", "content": f"{n}"}])
            for n, role in enumerate(["planner", "writer", "writer", "planner"])
        ]
        assert found == ["p1", "w1", "w2", "p2"]


def test_a_spent_rule_matches_no_more() -> None:
    with fake_llm.intercept() as fake:
        fake.when().reply("one", "two")
        fake.when(times=2).reply("three")
        fake.when().reply("rest")
        assert [text(question=str(n)) for n in range(6)] == ["one", "two", "three", "three", "rest", "rest"]


def test_times_of_a_queue() -> None:
    with fake_llm.intercept(default="default") as fake:
        fake.when(times=2).reply("one", "two", "three")
        assert fake.remaining == 2
        assert [text(question=str(n)) for n in range(3)] == ["one", "two", "default"]


@pytest.mark.parametrize(
    ("turns", "times", "left"), [(["a", "b"], None, 2), (["a"], 3, 3), (["a", "b", "c"], 2, 2), (["a"], 1, 1)]
)
def test_unspent_finite_turns_are_unused(turns: list[str], times: int | None, left: int) -> None:
    with pytest.raises(UnusedReplyError, match=rf"(?s){left} turn.*when\(input='x'"), fake_llm.intercept() as fake:
        fake.when(input="x", times=times).reply(*turns)
        assert fake.remaining == left


def test_the_queue_goes_first() -> None:
    with fake_llm.intercept(["queue 1", "queue 2"], default="default") as fake:
        fake.when(input="x").reply("rule")
        found = [text(question=question) for question in ("x", "x", "x", "y")]
        fake.push("queue 3")
        found.append(text(question="x"))
    assert found == ["queue 1", "queue 2", "rule", "default", "queue 3"]


def test_rules_hold_options_of_a_reply() -> None:
    with fake_llm.intercept(virtual_time=True) as fake:
        fake.when().reply("x", model="m", usage=Usage(1, 2), delay=3, interval=1, chunk_size=1)
        found = said(CHAT, CHAT.post(stream=True))
    assert found.model == "m"
    assert fake.calls[0].usage == Usage(1, 2)
    assert fake.calls[0].waited == 3


def test_reply_gives_the_fake_back_for_more() -> None:
    fake = FakeLLM()
    assert fake.when().reply("x") is fake


def test_a_rule_of_a_function_that_passes_on() -> None:
    with fake_llm.intercept(default="default") as fake:
        fake.when().reply(lambda call: "seen" if call.last_user_text == "a" else None)
        fake.when(input="b").reply("second rule")
        assert [text(question=question) for question in "abc"] == ["seen", "second rule", "default"]


def test_rules_may_be_added_while_the_block_is_open() -> None:
    with fake_llm.intercept() as fake:
        fake.when(input="1").reply("one")
        assert text(question="1") == "one"
        fake.when(input="2").reply("two")
        assert text(question="2") == "two"


def test_a_message_says_why_each_rule_did_not_fit() -> None:
    with fake_llm.intercept() as fake:
        fake.when(input="Paris").reply("x")
        fake.when(model=re.compile("claude")).reply("x")
        fake.when(turn=3).reply("x")
        with pytest.raises(UnscriptedCallError) as raised:
            CHAT.post()
        fake.failures.clear()
    message = str(raised.value)
    assert "when(input='Paris'): input='Paris' isn't in 'Hi'" in message
    assert "when(model=re.compile('claude')): model=re.compile('claude'), but 'gpt-5' came" in message
    assert "turn=3, but 0 came" in message


# --- other operations ---------------------------------------------------------------------------


COUNTERS = [
    ("https://api.openai.com/v1/responses/input_tokens", RESPONSES, "input_tokens"),
    ("https://api.anthropic.com/v1/messages/count_tokens", ANTHROPIC, "input_tokens"),
    ("https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens", GEMINI, "totalTokens"),
]


@pytest.mark.parametrize(("url", "vendor", "key"), COUNTERS, ids=[str(vendor) for _, vendor, _ in COUNTERS])
class TestCountTokens:
    def test_it_never_takes_from_the_queue(self, url: str, vendor: Vendor, key: str) -> None:
        with fake_llm.intercept(["answer"], default="default") as fake:
            fake.when().reply("rule")
            counted = httpx.post(url, json=vendor.body("word " * 100)).json()[key]
            assert text(vendor) == "answer"
        assert counted > 50
        assert [call.operation for call in fake.calls] == ["count_tokens", "chat"]
        assert fake.calls.chat[0] is fake.calls[1]

    def test_it_may_have_a_rule(self, url: str, vendor: Vendor, key: str) -> None:
        with fake_llm.intercept() as fake:
            fake.when(operation="count_tokens").reply(
                Reply(usage=Usage(1234, 0)),
                Error(429, "slow"),
                Raw({"odd": 1}),
                lambda call: Reply(usage=Usage(5, 0)),
                ConnectionError(),
            )
            assert httpx.post(url, json=vendor.body("1")).json()[key] == 1234
            assert failure(vendor, httpx.post(url, json=vendor.body("2"))) == "slow"
            assert httpx.post(url, json=vendor.body("3")).json() == {"odd": 1}
            assert httpx.post(url, json=vendor.body("4")).json()[key] == 5
            with pytest.raises(httpx.ConnectError):
                httpx.post(url, json=vendor.body("5"))
        assert len(fake.calls) == 5

    def test_the_count_is_the_input_of_the_estimate(self, url: str, vendor: Vendor, key: str) -> None:
        with fake_llm.intercept(["x"]) as fake:
            counted = httpx.post(url, json=vendor.body("Hello there")).json()[key]
            vendor.post("Hello there")
        assert fake.calls[1].usage is not None
        assert counted == fake.calls[1].usage.input_tokens


def test_an_unknown_path_may_have_a_rule() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="unknown").reply(Raw({"ok": True}), Error(418), ConnectionError())
        assert httpx.post("https://api.openai.com/v1/odd", json={}).json() == {"ok": True}
        assert httpx.get("https://api.openai.com/v1/odder").status_code == 418
        with pytest.raises(httpx.ConnectError):
            httpx.delete("https://api.openai.com/v1/oddest")
    assert [call.operation for call in fake.calls] == ["unknown"] * 3


def test_a_rule_for_chat_does_not_answer_an_unknown_path() -> None:
    with fake_llm.intercept(default="x") as fake:
        fake.when().reply("y")
        with pytest.raises(fake_llm.UnknownEndpointError, match="/v1/chat/completions"):
            httpx.post("https://api.openai.com/v1/odd", json={})
        fake.failures.clear()


# --- attempts -----------------------------------------------------------------------------------


def openai_client(**options: Any) -> Any:
    import openai

    return openai.OpenAI(**{"max_retries": 2, **options})


def ask_openai(client: Any, question: str = "Hi", **asked: Any) -> Any:
    return (
        client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": question}], **asked)
        .choices[0]
        .message.content
    )


def ask_anthropic(client: Any, question: str = "Hi", **asked: Any) -> Any:
    return (
        client.messages.create(
            model="claude-sonnet-5", max_tokens=64, messages=[{"role": "user", "content": question}], **asked
        )
        .content[0]
        .text
    )


def anthropic_client(**options: Any) -> Any:
    import anthropic

    return anthropic.Anthropic(**{"max_retries": 2, **options})


SDKS = [
    pytest.param(openai_client, ask_openai, "openai", id="openai", marks=needs("openai")),
    pytest.param(anthropic_client, ask_anthropic, "anthropic", id="anthropic", marks=needs("anthropic")),
]
AT_ONCE = {"retry-after-ms": "1"}


@pytest.mark.parametrize(("make", "ask", "module"), SDKS)
class TestRetries:
    def test_every_attempt_takes_a_turn(self, make: Any, ask: Any, module: str) -> None:
        turns = [Error(429, headers=AT_ONCE), Error(500, headers=AT_ONCE), "recovered"]
        with fake_llm.intercept(turns) as fake, make() as client:
            assert ask(client) == "recovered"
        assert [call.attempt for call in fake.calls] == [1, 2, 3]
        assert [call.index for call in fake.calls] == [0, 1, 2]

    @pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
    def test_a_spent_queue_gives_a_retry_the_same_answer(self, make: Any, ask: Any, module: str, status: int) -> None:
        import importlib

        with (
            fake_llm.intercept([Error(status, headers=AT_ONCE)]) as fake,
            make() as client,
            pytest.raises(importlib.import_module(module).APIStatusError) as raised,
        ):
            ask(client)
        assert raised.value.status_code == status
        assert [call.attempt for call in fake.calls] == [1, 2, 3]
        assert fake.failures == []

    def test_a_new_call_never_gets_it_again(self, make: Any, ask: Any, module: str) -> None:
        import importlib

        with fake_llm.intercept([Error(500, headers=AT_ONCE)]) as fake, make() as client:
            with pytest.raises(importlib.import_module(module).APIStatusError):
                ask(client)
            with pytest.raises(UnscriptedCallError):
                ask(client)
            fake.failures.clear()
        assert [call.attempt for call in fake.calls] == [1, 2, 3, 1]

    def test_a_client_that_does_not_retry_sees_the_same(self, make: Any, ask: Any, module: str) -> None:
        import importlib

        with (
            fake_llm.intercept([Error(500)]) as fake,
            make(max_retries=0) as client,
            pytest.raises(importlib.import_module(module).APIStatusError),
        ):
            ask(client)
        assert len(fake.calls) == 1

    def test_an_error_in_the_middle_of_the_queue_is_not_repeated(self, make: Any, ask: Any, module: str) -> None:
        with fake_llm.intercept([Error(500, headers=AT_ONCE), "a", "b"]) as fake, make() as client:
            assert [ask(client, "1"), ask(client, "2")] == ["a", "b"]
        assert [call.attempt for call in fake.calls] == [1, 2, 1]

    def test_the_default_does_not_swallow_an_error(self, make: Any, ask: Any, module: str) -> None:
        import importlib

        with fake_llm.intercept([Error(500, headers=AT_ONCE)], default="default") as fake, make() as client:
            with pytest.raises(importlib.import_module(module).APIStatusError):
                ask(client)
            assert ask(client) == "default"
        assert [call.attempt for call in fake.calls] == [1, 2, 3, 1]

    def test_a_rule_of_one_error(self, make: Any, ask: Any, module: str) -> None:
        import importlib

        with fake_llm.intercept(default="default") as fake, make() as client:
            fake.when(times=1).reply(Error(500, headers=AT_ONCE))
            with pytest.raises(importlib.import_module(module).APIStatusError):
                ask(client)
            assert ask(client) == "default"

    def test_a_rule_that_recovers(self, make: Any, ask: Any, module: str) -> None:
        with fake_llm.intercept() as fake, make() as client:
            fake.when().reply(Error(500, headers=AT_ONCE), "recovered")
            assert ask(client) == "recovered"

    def test_a_function_turn_is_asked_once_for_each_attempt(self, make: Any, ask: Any, module: str) -> None:
        seen = []

        def decide(call: fake_llm.Call) -> Any:
            seen.append(call.attempt)
            return Error(500, headers=AT_ONCE) if call.attempt < 3 else "third time lucky"

        with fake_llm.intercept(default=decide), make() as client:
            assert ask(client) == "third time lucky"
        assert seen == [1, 2, 3]

    def test_what_the_sdk_does_not_retry(self, make: Any, ask: Any, module: str) -> None:
        import importlib

        with (
            fake_llm.intercept([Error(400), Error(401), Error(429, headers={"x-should-retry": "false"})]) as fake,
            make() as client,
        ):
            for _ in range(3):
                with pytest.raises(importlib.import_module(module).APIStatusError):
                    ask(client)
        assert [call.attempt for call in fake.calls] == [1, 1, 1]

    def test_two_clients_with_the_same_question(self, make: Any, ask: Any, module: str) -> None:
        with fake_llm.intercept([Error(500, headers=AT_ONCE), "a", "b"]) as fake, make() as one, make() as two:
            assert ask(one) == "a"
            assert ask(two) == "b"
        assert [call.attempt for call in fake.calls] == [1, 2, 1]


def test_without_a_retry_header_the_same_body_in_the_same_task_is_a_retry() -> None:
    with fake_llm.intercept([Error(500)]) as fake:
        assert [CHAT.post("same").status_code for _ in range(3)] == [500, 500, 500]
        with pytest.raises(UnscriptedCallError):
            CHAT.post("another")
        fake.failures.clear()
    assert [call.attempt for call in fake.calls] == [1, 2, 3, 1]


def test_without_a_retry_header_a_fault_is_repeated_too() -> None:
    with fake_llm.intercept([ConnectionError]) as fake:
        for _ in range(3):
            with pytest.raises(httpx.ConnectError):
                CHAT.post("same")
    assert [call.attempt for call in fake.calls] == [1, 2, 3]


def test_the_same_body_to_another_url_is_no_retry() -> None:
    with fake_llm.intercept([Error(500)], hosts={"h.example": "openai"}) as fake:
        CHAT.post("same")
        with pytest.raises(UnscriptedCallError):
            httpx.post("https://h.example/v1/chat/completions", json=CHAT.body("same"))
        fake.failures.clear()


def test_an_answer_ends_the_chain_of_attempts() -> None:
    with fake_llm.intercept([Error(500), "ok", "new"]) as fake:
        for _ in range(3):
            CHAT.post("same")
    assert [call.attempt for call in fake.calls] == [1, 2, 1]


def test_an_answer_is_never_repeated() -> None:
    with fake_llm.intercept(["once"]) as fake:
        CHAT.post("same")
        with pytest.raises(UnscriptedCallError):
            CHAT.post("same")
        fake.failures.clear()


def test_without_a_retry_header_another_thread_is_another_call() -> None:
    with fake_llm.intercept([Error(500)], default="default") as fake:
        CHAT.post("same")
        found: list[str] = []
        thread = threading.Thread(target=lambda: found.append(text(question="same")))
        thread.start()
        thread.join()
    assert found == ["default"]
    assert [call.attempt for call in fake.calls] == [1, 1]


@pytest.mark.asyncio
@needs("pytest-asyncio")
async def test_without_a_retry_header_another_task_is_another_call() -> None:
    async def ask(client: httpx.AsyncClient) -> int:
        response = await client.post(CHAT.place(), json=CHAT.body("same"))
        return response.status_code

    async with fake_llm.intercept([Error(500)], default="default") as fake, httpx.AsyncClient() as client:
        assert await ask(client) == 500
        assert await asyncio.create_task(ask(client)) == 200
        assert await ask(client) == 500
    assert [call.attempt for call in fake.calls] == [1, 1, 2]


@needs("groq")
def test_groq_retries_by_the_same_header() -> None:
    import groq

    with (
        fake_llm.intercept([Error(500, headers=AT_ONCE)]) as fake,
        groq.Groq(max_retries=1) as client,
        pytest.raises(groq.InternalServerError),
    ):
        ask_openai(client)
    assert [call.attempt for call in fake.calls] == [1, 2]


@needs("google-genai")
def test_an_sdk_that_does_not_retry_sees_an_error_once() -> None:
    from google import genai
    from google.genai import errors

    with fake_llm.intercept([Error(503)]) as fake:
        client = genai.Client()
        with pytest.raises(errors.ServerError):
            client.models.generate_content(model="gemini-2.5-flash", contents="Hi")
    assert len(fake.calls) == 1


@needs("openai")
@pytest.mark.parametrize("turn", [TimeoutError(), ConnectionError(), TimeoutError])
def test_faults_are_repeated_for_an_sdk_that_retries(turn: Any) -> None:
    import openai

    with (
        fake_llm.intercept([turn]) as fake,
        openai_client(max_retries=1) as client,
        pytest.raises(openai.APIConnectionError),
    ):
        ask_openai(client)
    assert [call.attempt for call in fake.calls] == [1, 2]


@pytest.mark.asyncio
@needs("openai", "pytest-asyncio")
async def test_concurrent_calls_of_the_same_question_keep_their_attempts() -> None:
    import openai

    turns = [Error(500, headers=AT_ONCE)] * 3 + ["ok"] * 3
    async with fake_llm.intercept(turns) as fake, openai.AsyncOpenAI(max_retries=3) as client:
        answers = await asyncio.gather(
            *(
                client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "same"}])
                for _ in range(3)
            )
        )
    assert [answer.choices[0].message.content for answer in answers] == ["ok"] * 3
    attempts = [[call.attempt for call in calls] for calls in fake.calls.grouped()]
    assert attempts == [list(range(1, len(each) + 1)) for each in attempts], "who comes back first takes the next turn"
    assert (len(attempts), len(fake.calls)) == (3, 6)


@needs("anthropic")
def test_a_service_counts_its_attempts_too() -> None:
    with fake_llm.intercept() as fake, anthropic_client() as client:
        fake.when(operation="count_tokens").reply(Error(500, headers=AT_ONCE), Reply(usage=Usage(7, 0)))
        counted = client.messages.count_tokens(model="c", messages=[{"role": "user", "content": "Hi"}])
    assert counted.input_tokens == 7
    assert [call.attempt for call in fake.calls] == [1, 2]


@needs("anthropic")
def test_a_service_gives_a_retry_the_same_answer_when_its_rule_is_spent() -> None:
    import anthropic

    with fake_llm.intercept() as fake, anthropic_client() as client:
        fake.when(operation="count_tokens", times=1).reply(Error(500, headers=AT_ONCE))
        with pytest.raises(anthropic.InternalServerError):
            client.messages.count_tokens(model="c", messages=[{"role": "user", "content": "Hi"}])
        counted = client.messages.count_tokens(model="c", messages=[{"role": "user", "content": "Hi"}])
    assert counted.input_tokens > 0
    assert [call.attempt for call in fake.calls] == [1, 2, 3, 1]


def test_a_request_that_is_refused_takes_no_turn() -> None:
    with fake_llm.intercept(["kept"]) as fake:
        assert CHAT.post(model=5).status_code == 400
        assert fake.remaining == 1
        assert text() == "kept"
    assert json.loads(fake.calls[0].raw)["model"] == 5


def test_tools_called_two_rounds_in_a_row() -> None:
    with (
        pytest.raises(UnusedReplyError, match=r"Two tool calls in a row are two rounds.*\[ToolCall"),
        fake_llm.intercept([ToolCall("now"), ToolCall("now")]),
    ):
        CHAT.post(tools=TOOLS)


def test_a_rule_without_an_answer_fails_the_block() -> None:
    with pytest.raises(ScriptError) as caught, fake_llm.intercept(default="d") as fake:
        fake.when(input="x")
        assert text(question="x") == "d"
    assert str(caught.value).splitlines() == [
        "The rule fake.when(input='x') says no answer.",
        "A rule answers only with what its .reply() is given.",
        "Write fake.when(input='x').reply(\"text\").",
    ]
    with fake_llm.intercept(default="d", strict=False) as fake:
        fake.when(input="x")
