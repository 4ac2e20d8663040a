"""A tool call, its result, the answer: the loop that every agent is, through every client as a user makes it."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _ids import shown
from _sdk_clients import HERE, TOOLS, Client, skip_unless_able
from fake_llm import Thinking, ToolCall

PROMPT = "Weather in Paris?"
LOOPS = [
    pytest.param(client, mode, id=f"{client!r}-{mode}") for client in HERE for mode in ("whole", "stream", "helper")
]


def look(city: str) -> str:
    return f"sunny in {city}"


async def agent(client: Client, mode: str, *, tool: Callable[[str], str] = look, limit: int = 5) -> str:
    history: list[tuple[Any, ...]] = [("user", PROMPT)]
    for _ in range(limit):
        answer = await client.ask(history, tools=TOOLS, mode=mode)
        history.append(("assistant", answer))
        if not answer.tool_calls:
            return answer.text
        history.extend(("tool", call, tool(call.arguments["city"])) for call in answer.tool_calls)
    raise AssertionError("the agent doesn't come to an end")


@pytest.mark.parametrize(("client", "mode"), LOOPS)
def test_a_tool_call_its_result_and_the_answer(client: Client, mode: str) -> None:
    skip_unless_able(client, mode)

    async def loop() -> None:
        with fake_llm.intercept(
            [
                ToolCall("get_weather", {"city": "Paris"}),
                "It is sunny in Paris.",
            ]
        ) as fake:
            answer = await agent(client.fresh(), mode, tool=lambda city: "sunny")

        assert answer == "It is sunny in Paris."
        assert fake.calls[1].tool_results[0].text == "sunny"
        assert fake.calls[1].tool_results[0].name == "get_weather"
        assert fake.calls[0].tool_results == ()
        if "model" in fake.calls[0].body:  # else the URL names it
            assert fake.calls[0].body["model"] == client.model
        assert fake.calls[0].model == client.model
        assert b'"get_weather"' in fake.calls[0].raw
        assert [message.role for message in fake.calls[1].messages] == ["user", "assistant", "tool"]
        sent = fake.calls[1].messages[1].tool_calls[0]
        assert (sent.name, sent.arguments) == ("get_weather", {"city": "Paris"})
        assert fake.calls[1].tool_results[0].id == sent.id
        assert len(fake.calls) == 2
        assert {call.operation for call in fake.side_calls} <= {
            "warm_up",
            "harnesses",
            "models",
            "projects",
            "token",
        }  # by the SDK
        assert fake.remaining == 0

    client.run(loop())


@pytest.mark.parametrize(("client", "mode"), LOOPS)
def test_parallel_calls_with_thinking_are_fed_back(client: Client, mode: str) -> None:
    skip_unless_able(client, mode, ("thinking",))

    async def loop() -> None:
        cities = ("Paris", "Rome", "Paris")
        with fake_llm.intercept(
            [
                [
                    Thinking("Three of them."),
                    "Let me look.",
                    *(ToolCall("get_weather", {"city": city}) for city in cities),
                ],
                "Sunny everywhere.",
            ]
        ) as fake:
            assert await agent(client, mode) == "Sunny everywhere."
        results = fake.calls[1].tool_results
        assert len(results) == 3
        for result, city in zip(results, cities, strict=True):
            assert f"sunny in {city}" in result.text
            assert result.name == "get_weather"
        calls = [call for message in fake.calls[1].messages for call in message.tool_calls]
        assert [call.arguments for call in calls] == [{"city": city} for city in cities]
        assert [call.id for call in calls] == [result.id for result in results]
        assert "Let me look." in [message.text for message in fake.calls[1].messages if message.role == "assistant"]

    client.run(loop())


@pytest.mark.parametrize("mode", ["whole", "stream"])
def test_the_same_run_sends_and_gives_the_same_bytes(mode: str) -> None:
    """Ids and times are made from the request alone."""
    for client in (client for client in HERE if client.unable is None):

        async def loop(client: Client = client) -> list[Any]:
            with fake_llm.intercept([ToolCall("get_weather", {"city": "Paris"}), "Sunny."]) as fake:
                await agent(client, mode)
            return [(call.raw, call.response.body, call.response.status) for call in fake.calls]

        assert client.run(loop()) == client.run(loop())


@pytest.mark.parametrize("client", HERE, ids=shown)
def test_what_is_left_of_a_script_is_told(client: Client) -> None:
    skip_unless_able(client, "whole")

    async def loop() -> None:
        with (
            pytest.raises(fake_llm.UnusedReplyError, match=r"turn 2  unused  'More\.'"),
            fake_llm.intercept(["Sunny.", "More."]),
        ):
            assert await agent(client, "whole") == "Sunny."

    client.run(loop())


@pytest.mark.parametrize(("client", "mode"), LOOPS)
def test_a_call_too_many_is_told_in_place(client: Client, mode: str) -> None:
    skip_unless_able(client, mode)

    async def loop() -> None:
        with (
            pytest.raises(fake_llm.UnscriptedCallError, match="Weather in Paris"),
            fake_llm.intercept([ToolCall("get_weather", {"city": "Paris"})]) as fake,
        ):
            await agent(client, mode)
            pytest.fail("came past it")
        assert len(fake.calls) == 2
        assert len(fake.failures) == 1

    client.run(loop())


@pytest.mark.parametrize("client", HERE, ids=shown)
def test_a_tool_that_is_not_offered_is_told_in_place(client: Client) -> None:
    skip_unless_able(client, "whole")

    async def loop() -> None:
        with (
            pytest.raises(fake_llm.ScriptMismatchError, match="get_wether"),
            fake_llm.intercept([ToolCall("get_wether", {"city": "Paris"})]),
        ):
            await agent(client, "whole")
            pytest.fail("came past it")

    client.run(loop())


@pytest.mark.parametrize("client", [client for client in HERE if client.is_async], ids=shown)
def test_agents_at_once_answer_to_rules_of_their_own(client: Client) -> None:
    skip_unless_able(client, "whole")

    async def one(number: int) -> str:
        return (await client.ask(f"agent {number}")).text

    async def loop() -> None:
        with fake_llm.intercept() as fake:
            for number in range(5):
                fake.when(input=f"agent {number}").reply(f"answer {number}")
            answers = await asyncio.gather(*(one(number) for number in range(5)))
        assert answers == [f"answer {number}" for number in range(5)]
        assert sorted(call.last_user_text for call in fake.calls) == [f"agent {number}" for number in range(5)]

    client.run(loop())


@pytest.mark.filterwarnings("ignore:Async generator:ResourceWarning")  # openai leaves its own at [DONE]
@pytest.mark.parametrize("mode", ["whole", "stream", "helper"])
@pytest.mark.parametrize("client", [client for client in HERE if client.is_async], ids=shown)
def test_async_clients_on_trio(client: Client, mode: str) -> None:
    skip_unless_able(client, mode, ("trio",))

    async def answer_later(call: Any) -> Any:
        await importlib.import_module("trio").sleep(0)
        return ToolCall("get_weather", {"city": "Paris"})

    async def loop() -> None:
        async with fake_llm.intercept([answer_later, "Sunny.", TimeoutError()]) as fake:
            assert await agent(client, mode) == "Sunny."
            expected, _ = client.error("timeout", mode)
            with pytest.raises(expected):
                await client.ask(PROMPT, mode=mode)
        assert len(fake.calls) == 3

    client.run_on_trio(loop())


def test_one_script_serves_every_client() -> None:
    script = fake_llm.intercept([ToolCall("get_weather", {"city": "Paris"}), "It is sunny in Paris."])
    able = [client for client in HERE if client.unable is None]
    for client in able:

        async def loop(client: Client = client) -> None:
            with script as fake:
                assert await agent(client, "whole") == "It is sunny in Paris."
            assert len(fake.calls) == 2

        client.run(loop())
    assert able
