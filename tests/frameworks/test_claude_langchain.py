"""Claude by LangChain, on Anthropic itself and on Bedrock: whole, streamed, tools, sources, errors."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from _one_turn import LOOP, SCRIPT, SUNNY, Weather, check

import fake_llm
from _capability import load, needs
from fake_llm import Citation, ServerTool, ToolCall

tools = load("langchain-core>=1", "langchain_core.tools")
messages = load("langchain-core>=1", "langchain_core.messages")

INVOKED = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def _anthropic(**options: Any) -> Any:
    return importlib.import_module("langchain_anthropic").ChatAnthropic(model="claude-sonnet-5", **options)


def _bedrock(**options: Any) -> Any:
    return importlib.import_module("langchain_aws").ChatBedrock(model=INVOKED, region="us-east-1", **options)


def _anthropic_bedrock(**options: Any) -> Any:
    made = importlib.import_module("langchain_aws").ChatAnthropicBedrock
    return made(model=INVOKED, region_name="us-east-1", **options)


each_model = pytest.mark.parametrize(
    ("make", "provider"),
    [
        pytest.param(_anthropic, "anthropic", id="ChatAnthropic", marks=needs("langchain-anthropic")),
        pytest.param(_bedrock, "bedrock", id="ChatBedrock", marks=needs("langchain-aws")),
        pytest.param(
            _anthropic_bedrock,
            "bedrock",
            id="ChatAnthropicBedrock",
            marks=needs("langchain-aws", "langchain-anthropic"),
        ),
    ],
)


@tools.tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


@each_model
def test_whole_and_streamed(make: Callable[..., Any], provider: str) -> None:
    with fake_llm.intercept(["It is sunny.", "It is grey."]) as fake:
        model = make()
        whole = model.invoke("Weather?")
        pieces = list(model.stream("Weather?"))

    assert whole.text == "It is sunny."
    assert "".join(piece.text for piece in pieces) == "It is grey."
    assert len(pieces) > 2
    assert [(call.provider, call.dialect, call.stream) for call in fake.calls] == [
        (provider, "anthropic_messages", False),
        (provider, "anthropic_messages", True),
    ]


@each_model
def test_structured_output(make: Callable[..., Any], provider: str) -> None:
    with fake_llm.intercept(SCRIPT) as fake:
        answer = make().with_structured_output(Weather).invoke("Weather in Paris?")

    check(answer, fake, "anthropic_messages")


@each_model
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_tool_and_its_result(make: Callable[..., Any], provider: str, stream: bool) -> None:
    said: list[Any] = [messages.HumanMessage("Weather in Paris?")]
    with fake_llm.intercept([LOOP[0], "Sunny."]) as fake:
        model = make().bind_tools([get_weather])
        for _ in range(2):
            if stream:
                answer, *rest = model.stream(said)
                for piece in rest:
                    answer += piece
            else:
                answer = model.invoke(said)
            said.append(answer)
            said += [get_weather.invoke(call) for call in answer.tool_calls]

    assert said[-1].text == "Sunny."
    assert fake.calls[1].tool_results[0].text == "sunny in Paris"
    assert fake.calls[1].tool_results[0].id == fake.calls[1].messages[1].tool_calls[0].id


@needs("langchain-anthropic")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_search_and_its_source(stream: bool) -> None:
    turn = [
        ServerTool("web_search", {"query": "sky"}, [{"url": "https://sky.example", "title": "Sky"}]),
        Citation("It is blue.", "https://sky.example"),
    ]
    with fake_llm.intercept([turn]):
        model = _anthropic().bind_tools([WEB_SEARCH])
        if stream:
            answer, *rest = model.stream("Sky?")
            for piece in rest:
                answer += piece
        else:
            answer = model.invoke("Sky?")

    call, result, text = answer.content_blocks
    assert (call["type"], call["name"], call["args"]) == ("server_tool_call", "web_search", {"query": "sky"})
    assert result["type"] == "server_tool_result"
    assert text["text"] == "It is blue."
    assert [(source["url"], source["title"]) for source in text["annotations"]] == [("https://sky.example", "Sky")]


@each_model
def test_an_agent(make: Callable[..., Any], provider: str) -> None:
    agents = pytest.importorskip("langchain.agents", reason="needs langchain")
    with fake_llm.intercept(LOOP) as fake:
        agent = agents.create_agent(make(), tools=[get_weather], response_format=Weather)
        answer = agent.invoke({"messages": [{"role": "user", "content": "Weather in Paris?"}]})["structured_response"]

    assert answer == SUNNY
    assert fake.calls[1].tool_results[0].text == "sunny in Paris"


@needs("langchain-anthropic")
def test_what_is_called_is_checked() -> None:
    with pytest.raises(fake_llm.ScriptMismatchError, match="get_weather"), fake_llm.intercept([ToolCall("get_time")]):
        _anthropic().bind_tools([get_weather]).invoke("Time?")
