"""The conversation as people read it: what is new in each call, what was answered, what it cost."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import fake_llm
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, VENDORS, Vendor
from fake_llm import (
    Disconnect,
    Error,
    FakeLLM,
    Image,
    Json,
    Raw,
    Refusal,
    Reply,
    Thinking,
    ToolCall,
    Usage,
)

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
TOOLS = {"f": {"type": "object"}, "g": {"type": "object"}}


def transcript(turn: Any, vendor: Vendor = CHAT, question: str = "Hi", **asked: Any) -> str:
    with fake_llm.intercept([turn], strict=False) as fake:
        try:
            vendor.post(question, **asked)
        except httpx.TransportError:
            assert not isinstance(turn, (str, list))
    return fake.transcript()


def test_nothing() -> None:
    assert FakeLLM().transcript() == "No calls."


def test_a_conversation() -> None:
    turns = [
        Reply(
            "Let me look.", ToolCall("f", {"city": "Paris"}), usage=Usage(20, 5, cached_tokens=8, reasoning_tokens=2)
        ),
        Reply("Sunny.", usage=Usage(30, 2), delay=1.5),
    ]
    with fake_llm.intercept(turns, cost=lambda usage: usage.input_tokens / 10, virtual_time=True) as fake:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
        ]
        message = CHAT.post(messages=messages, tools=TOOLS).json()["choices"][0]["message"]
        messages += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sunny"}]
        CHAT.post(messages=messages, tools=TOOLS, stream=True)
        httpx.get("https://api.openai.com/v1/models")
    assert (
        fake.transcript()
        == """\
call 0 · openai chat · gpt-5 · whole · 200
  system     Be brief.
  user       Weather?
  tools      f, g
  assistant  Let me look.
  assistant  f({"city":"Paris"})
             (20 tokens in, 5 out, 8 cached, 2 reasoning, cost 2.0)

call 1 · openai chat · gpt-5 · streamed · 200
             … 3 earlier messages
  tool       f → sunny
  assistant  Sunny.
             (30 tokens in, 2 out, cost 3.0, waited 1.5 s)

1 side call: GET https://api.openai.com/v1/models"""
    )


@vendors
def test_every_vocabulary(vendor: Vendor) -> None:
    text = transcript("Hello there", vendor, "What is it?")
    name = {
        "chat": "openai chat",
        "responses": "openai responses",
        "anthropic": "anthropic messages",
        "gemini": "gemini",
    }
    assert text.startswith(f"call 0 · {name[vendor.name]} · {vendor.model} · whole · 200\n")
    assert "  user       What is it?\n  assistant  Hello there\n" in text


@pytest.mark.parametrize(
    ("turn", "line"),
    [
        ("", "  assistant"),
        (Reply(), "  assistant  (nothing)"),
        (Reply(finish_reason="content_filter"), "  assistant  (nothing, content_filter)"),
        ([Thinking("hm"), "x"], "  assistant  (thinking) hm"),
        ([Thinking("hm", redacted=True), "x"], "  assistant  (thinking, redacted)"),
        (Refusal("no"), "  assistant  (refusal) no"),
        (Json([1]), "  assistant  [1]"),
        ({"a": "é"}, '  assistant  {"a":"é"}'),
        (ToolCall("f", "{broken"), "  assistant  f({broken)"),
        (Reply("x", choices=["y", "z"]), "  assistant  z"),
        (Reply("x", then=Disconnect()), "  then       Disconnect()"),
        (Error(429, "slow"), "  error      429: slow"),
        (Error("overloaded"), "  error      overloaded"),
        (ConnectionError("gone"), "  fault      ConnectionError('gone')"),
        (TimeoutError, "  fault      <class 'TimeoutError'>"),
        (Raw({"a": 1}, 201), "  raw        201 {'a': 1}"),
    ],
    ids=shown,
)
def test_every_turn(turn: Any, line: str) -> None:
    fields = {"n": 3} if isinstance(turn, Reply) and turn.choices else {}
    assert line in transcript(turn, tools=TOOLS, **fields).splitlines()


def test_an_image() -> None:
    assert "  assistant  [image]" in transcript(Image(b"x"), GEMINI)


def test_an_attempt_and_an_answer_that_never_came() -> None:
    with fake_llm.intercept([Error(500), ConnectionError]) as fake:
        CHAT.post("same")
        with pytest.raises(httpx.ConnectError):
            CHAT.post("same")
    text = fake.transcript()
    assert "call 1 · openai chat · gpt-5 · whole · attempt 2 · no answer" in text


def test_a_call_that_failed_a_test() -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(fake_llm.UnscriptedCallError):
            CHAT.post()
        fake.failures.clear()
    assert "call 0 · openai chat · gpt-5 · whole · no answer" in fake.transcript()


def test_lines_are_short_and_long_texts_are_cut_in_the_middle() -> None:
    question = "\n".join(f"line {n} " + "word " * 40 for n in range(100))
    text = transcript("answer " * 1000, question=question + "x" * 500, tools={"t" * 200: {"type": "object"}})
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 60
    assert "more lines …" in text
    assert "line 0" in text


def test_errors_among_tool_results() -> None:
    body = ANTHROPIC.body(
        messages=[
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": "bad"}],
            },
        ]
    )
    with fake_llm.intercept(["x"]) as fake:
        httpx.post(ANTHROPIC.place(), json=body)
    assert "  tool       f → error: bad" in fake.transcript().splitlines()


def test_control_characters_and_surrogates_do_not_break_it() -> None:
    text = transcript("a\x00b\ud800c\u2028d\te", question="\x1b[31mred\x07")
    assert "\x1b" not in text
    assert "\x00" not in text
    text.encode()


def test_unknown_endpoints_stand_in_it() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="unknown").reply(Raw({"a": 1}))
        httpx.post("https://api.openai.com/v1/odd", json={})
    assert "200" in fake.transcript()
