"""What the fake remembers: a request that builds on an answer has the conversation before it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import fake_llm
from fake_llm import Message, Reply, ToolCall

RESPONSES = "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


def ask(input: Any, **body: Any) -> Any:
    return httpx.post(RESPONSES, json={"model": "gpt-5", "input": input, **body}).json()


def test_a_response_builds_on_the_one_before():
    with fake_llm.intercept([["Let me look.", ToolCall("get_weather", {"city": "Paris"})], "Sunny.", "Bye."]) as fake:
        first = ask("Weather?", tools=[TOOL])
        call_id = next(item["call_id"] for item in first["output"] if item["type"] == "function_call")
        second = ask(
            [{"type": "function_call_output", "call_id": call_id, "output": "sunny"}], previous_response_id=first["id"]
        )
        ask("Thanks", previous_response_id=second["id"])
    said = [(message.role, message.text) for message in fake.calls[2].conversation]
    assert said == [
        ("user", "Weather?"),
        ("assistant", "Let me look."),
        ("tool", "sunny"),
        ("assistant", "Sunny."),
        ("user", "Thanks"),
    ]
    assert fake.calls[2].conversation[1].tool_calls == (ToolCall("get_weather", {"city": "Paris"}),)
    assert fake.calls[1].tool_results[0].name == "get_weather"
    assert fake.calls[2].messages == (Message("user", "Thanks"),)  # what was sent


def test_a_streamed_response_is_remembered_too():
    with fake_llm.intercept(["One.", "Two."]) as fake:
        with httpx.stream("POST", RESPONSES, json={"model": "gpt-5", "input": "1", "stream": True}) as response:
            text = response.read().decode()
        found = text.split('"id":"resp_')[1].split('"')[0]
        ask("2", previous_response_id=f"resp_{found}")
    assert [message.text for message in fake.calls[1].conversation] == ["1", "One.", "2"]


def test_an_unknown_answer_can_not_be_built_on():
    with fake_llm.intercept() as fake:
        error = ask("hi", previous_response_id="resp_of_yesterday")["error"]
    assert error["code"] == "previous_response_not_found"
    assert error["message"] == "Previous response with id 'resp_of_yesterday' not found."
    assert [message.text for message in fake.calls[0].conversation] == ["hi"]


def test_a_thread_of_anthropic_is_remembered():
    body: dict[str, Any] = {"model": "claude-sonnet-5", "max_tokens": 9}
    with fake_llm.intercept(["One.", "Two."]) as fake:
        first = httpx.post(MESSAGES, json={**body, "messages": [{"role": "user", "content": "1"}]}).json()
        thread = {"type": "continue", "previous_message_id": first["id"]}
        httpx.post(MESSAGES, json={**body, "messages": [{"role": "user", "content": "2"}], "thread": thread})
    assert [message.text for message in fake.calls[1].conversation] == ["1", "One.", "2"]


def _follow(state: str) -> None:
    """A round with a tool, its result and a further question, all but the first text remembered by the provider."""
    talk = httpx.post(RESPONSES.replace("responses", "conversations"), json={}).json()["id"]
    body: dict[str, Any] = {"conversation": talk} if state == "conversation" else {}
    answer = ask("Weather?", tools=[TOOL], **body)
    call_id = answer["output"][0]["call_id"]
    for said in ([{"type": "function_call_output", "call_id": call_id, "output": "sunny"}], "Thanks"):
        if state == "previous_response_id":
            body = {"previous_response_id": answer["id"]}
        answer = ask(said, **body)


STATES = pytest.mark.parametrize("state", ["previous_response_id", "conversation"])


@STATES
def test_a_result_has_the_name_of_the_remembered_call(state: str):
    with fake_llm.intercept([ToolCall("get_weather", {}), "Sunny.", "Bye."]) as fake:
        _follow(state)
    assert [[(one.name, one.text) for one in call.tool_results] for call in fake.calls] == [
        [],
        [("get_weather", "sunny")],
        [],
    ]
    for call in fake.calls[1:]:
        assert call.conversation[2].tool_results[0].name == "get_weather"
        assert [said.role for said in call.conversation[:3]] == ["user", "assistant", "tool"]
    assert fake.calls[1].messages[0].tool_results[0].name == ""  # what was sent


@STATES
def test_a_rule_for_a_tool_sees_the_remembered_call(state: str):
    with fake_llm.intercept() as fake:
        fake.when(last="Weather?").reply(ToolCall("get_weather", {}))
        fake.when(tool="another").reply("Wrong.")
        fake.when(tool="get_weather").reply("Sunny.")
        _follow(state)
    assert [call.reply for call in fake.calls][1:] == [Reply("Sunny.")] * 2


def test_results_that_come_one_by_one_are_all_seen():
    talk_url = RESPONSES.replace("responses", "conversations")
    cities = ("Paris", "Rome")
    look = [ToolCall("get_weather", {"city": city}, id=f"call_{city}") for city in cities]
    fed = [{"type": "function_call_output", "call_id": f"call_{city}", "output": f"sunny in {city}"} for city in cities]
    with fake_llm.intercept([look, "Sunny."]) as fake:
        talk = httpx.post(talk_url, json={}).json()["id"]
        ask("Weather?", tools=[TOOL], conversation=talk)
        httpx.post(f"{talk_url}/{talk}/items", json={"items": fed[:1]})
        ask(fed[1:], conversation=talk)
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris", "sunny in Rome"]


def test_nothing_is_remembered_over_blocks():
    with fake_llm.intercept(["One."]):
        first = ask("1")
    with fake_llm.intercept() as fake:
        assert "error" in ask("2", previous_response_id=first["id"])
    assert len(fake.calls[0].conversation) == 1
