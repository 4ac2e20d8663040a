"""Structured output goes the way that a request asks for it: JSON text, or a call of the tool that must be called."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fake_llm
from _asking import post
from fake_llm import Json, ScriptMismatchError

SUNNY = {"city": "Paris", "sky": "sunny"}
TEXT = "text"


def tool(name: str, *keys: str, closed: bool = True) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {key: {"type": "string"} for key in keys}}
    schema |= {"required": list(keys)} if closed else {}
    schema |= {"additionalProperties": False} if closed else {}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


WEATHER = tool("Weather", "city", "sky")
LOOK_UP = tool("get_weather", "city")
ANYTHING = tool("anything", closed=False)
SCHEMA = {
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "Weather", "schema": WEATHER["function"]["parameters"], "strict": True},
    }
}
JSON_MODE = {"response_format": {"type": "json_object"}}
ALLOWED = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named("Weather")]}}


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        pytest.param({}, TEXT, id="nothing asked for"),
        pytest.param(SCHEMA, TEXT, id="schema"),
        pytest.param(JSON_MODE, TEXT, id="JSON mode"),
        pytest.param({"tools": [WEATHER]}, TEXT, id="a tool it may call"),
        pytest.param({"tools": [WEATHER], "tool_choice": "none"}, TEXT, id="a tool it must not call"),
        pytest.param({**SCHEMA, "tools": [LOOK_UP]}, TEXT, id="schema and a tool it may call"),
        pytest.param({**SCHEMA, "tools": [LOOK_UP], "tool_choice": "required"}, TEXT, id="schema and any call"),
        pytest.param({"tools": [WEATHER], "tool_choice": named("Weather")}, "Weather", id="a tool by name"),
        # instructor's mode of the responses endpoint asks for both (1.17); a model that must call a tool calls it.
        pytest.param(
            {**SCHEMA, "tools": [WEATHER], "tool_choice": named("Weather")}, "Weather", id="schema and a tool by name"
        ),
        pytest.param(
            {**JSON_MODE, "tools": [WEATHER], "tool_choice": named("Weather")},
            "Weather",
            id="JSON mode and a tool by name",
        ),
        pytest.param({"tools": [WEATHER], "tool_choice": "required"}, "Weather", id="any call, one tool"),
        pytest.param(
            {"tools": [LOOK_UP, WEATHER], "tool_choice": "required"}, "Weather", id="any call, one tool accepts it"
        ),
        pytest.param(
            {"tools": [ANYTHING, WEATHER], "tool_choice": "required"}, "Weather", id="any call, one tool declares it"
        ),
        pytest.param(
            {"tools": [ANYTHING, LOOK_UP], "tool_choice": "required"}, "anything", id="any call, one tool takes all"
        ),
        pytest.param({"tools": [ANYTHING, WEATHER], "tool_choice": ALLOWED}, "Weather", id="any call of those allowed"),
    ],
)
def test_goes_where_the_request_asks(fields: dict[str, Any], where: str):
    with fake_llm.intercept([SUNNY]):
        message = post("Write JSON.", **fields).json()["choices"][0]["message"]
    if where == TEXT:
        assert json.loads(message["content"]) == SUNNY
        assert not message.get("tool_calls")
    else:
        (call,) = message["tool_calls"]
        assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (where, SUNNY)
        assert message["content"] is None


def test_json_is_text_whatever_is_asked():
    with fake_llm.intercept([Json(SUNNY)]):
        message = post(tools=[WEATHER], tool_choice=named("Weather")).json()["choices"][0]["message"]
    assert json.loads(message["content"]) == SUNNY


def test_refuses_a_value_that_no_tool_accepts():
    clock = tool("get_time", "zone")
    with (
        pytest.raises(ScriptMismatchError, match=r"(?s)No offered tool accepts it: get_weather: .*; get_time: "),
        fake_llm.intercept([SUNNY]),
    ):
        post(tools=[LOOK_UP, clock], tool_choice="required")
