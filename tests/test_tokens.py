"""The estimate of tokens: one for usage, counting and the context window; offline, deterministic, monotone."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_llm
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, WAYS, Vendor
from fake_llm import Image, Json, Refusal, Reply, Thinking, ToolCall, Usage
from fake_llm._tokens import input_tokens, tokens

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)


def usage(vendor: Vendor, turn: Any, question: str = "Hi", **asked: Any) -> Usage:
    with fake_llm.intercept([turn], strict=False) as fake:
        response = vendor.post(question, **asked)
    assert response.status_code == 200, response.text
    found = fake.calls[0].usage
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("é", 1), ("第二行", 2), ("abcd第二行", 3)]
)
def test_tokens_of_a_text(text: str, count: int) -> None:
    assert tokens(text) == count


@pytest.mark.parametrize(
    "body", [None, 5, "x", [], {}, {"messages": None}, {"messages": 5}, {"tools": 5}, {"odd": "x" * 100}], ids=shown
)
def test_a_body_that_says_nothing_costs_next_to_nothing(body: Any) -> None:
    assert 0 <= input_tokens(body) < 10


@vendors
def test_more_text_costs_more(vendor: Vendor) -> None:
    counts = [usage(vendor, "x", "word " * count).input_tokens for count in (1, 10, 100)]
    assert counts == sorted(set(counts))
    outputs = [usage(vendor, "word " * count).output_tokens for count in (1, 10, 100)]
    assert outputs == sorted(set(outputs))


@vendors
def test_tools_and_schemas_cost_something(vendor: Vendor) -> None:
    plain = usage(vendor, "x").input_tokens
    schema = {
        "type": "object",
        "properties": {"a_long_name_of_a_property": {"type": "string", "description": "d" * 200}},
    }
    assert usage(vendor, "x", tools={"f": schema}).input_tokens > plain + 40
    if vendor is CHAT:
        assert usage(vendor, Json({}), schema=schema).input_tokens > plain + 40


@vendors
def test_system_text_costs_something(vendor: Vendor) -> None:
    text = "word " * 100
    fields: dict[str, Any] = {
        "chat": {"messages": [{"role": "system", "content": text}, {"role": "user", "content": "Hi"}]},
        "responses": {"instructions": text},
        "anthropic": {"system": text},
        "gemini": {"systemInstruction": {"parts": [{"text": text}]}},
    }[vendor.name]
    assert usage(vendor, "x", **fields).input_tokens > usage(vendor, "x").input_tokens + 100


@vendors
def test_media_cost_a_flat_number(vendor: Vendor) -> None:
    def body(data: str) -> dict[str, Any]:
        part: Any = {
            "chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
            "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
            "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
            "gemini": {"inlineData": {"mimeType": "image/png", "data": data}},
        }[vendor.name]
        if vendor is GEMINI:
            return {"contents": [{"role": "user", "parts": [part]}]}
        return {"input" if vendor is RESPONSES else "messages": [{"role": "user", "content": [part]}]}

    small, big = (usage(vendor, "x", **body("AAAA" * count)).input_tokens for count in (1, 10_000))
    assert small == big
    assert small > usage(vendor, "x").input_tokens + 100


@ways
@pytest.mark.parametrize(
    ("turn", "least"),
    [("", 1), ("word " * 40, 50), (ToolCall("f", {"a": "word " * 40}), 50), (Reply(), 1)],
    ids=["empty", "text", "call", "nothing"],
)
def test_output(vendor: Vendor, stream: bool, turn: Any, least: int) -> None:
    assert usage(vendor, turn, stream=stream, tools={"f": {"type": "object"}}).output_tokens >= least


@vendors
def test_thinking_is_reasoning_and_part_of_the_output(vendor: Vendor) -> None:
    found = usage(vendor, [Thinking("word " * 40), "short"])
    assert found.reasoning_tokens == 50
    assert found.output_tokens == 52
    assert usage(vendor, "short").reasoning_tokens == 0


def test_refusals_and_images_count() -> None:
    assert usage(CHAT, Refusal("word " * 40)).output_tokens >= 50
    assert usage(GEMINI, Image(b"x")).output_tokens == usage(GEMINI, Image(b"x" * 10_000)).output_tokens > 100


def test_every_choice_counts() -> None:
    one = usage(CHAT, "word " * 40).output_tokens
    assert usage(CHAT, "word " * 40, n=3).output_tokens == 3 * one


@pytest.mark.parametrize(
    ("url", "vendor", "key"),
    [
        ("https://api.openai.com/v1/responses/input_tokens", RESPONSES, "input_tokens"),
        ("https://api.anthropic.com/v1/messages/count_tokens", ANTHROPIC, "input_tokens"),
        ("https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens", GEMINI, "totalTokens"),
    ],
)
def test_counting_says_the_same_as_usage(url: str, vendor: Vendor, key: str) -> None:
    with fake_llm.intercept(["x"]) as fake:
        body = vendor.body("word " * 33, tools={"f": {"type": "object"}})
        counted = httpx.post(url, json=body).json()[key]
        httpx.post(vendor.place(), json=body)
    assert fake.calls[1].usage is not None
    assert fake.calls[1].usage.input_tokens == counted


def test_counting_of_a_wrapped_gemini_request() -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens"
    with fake_llm.intercept():
        plain = httpx.post(url, json=GEMINI.body("word " * 33)).json()
        wrapped = httpx.post(
            url, json={"generateContentRequest": {"model": "models/gemini-2.5-flash", **GEMINI.body("word " * 33)}}
        ).json()
    assert plain["totalTokens"] == wrapped["totalTokens"]


@given(st.text(), st.text())
def test_tokens_never_shrink(one: str, two: str) -> None:
    assert max(tokens(one), tokens(two)) <= tokens(one + two) <= tokens(one) + tokens(two)
