"""SDKs that run the tools themselves: a script of the whole conversation, one call of the SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _capability import needs
from _sdk_clients import CLIENTS
from fake_llm import Reply, ToolCall

SCRIPT = (
    ["Let me look.", ToolCall("get_weather", {"city": "Paris"}), ToolCall("get_weather", {"city": "Rome"})],
    "It is sunny in both.",
)


def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: The name of the city.
    """
    return f"sunny in {city}"


async def get_weather_later(city: str) -> str:
    """Look up the weather.

    Args:
        city: The name of the city.
    """
    await asyncio.sleep(0)
    return f"sunny in {city}"


get_weather_later.__name__ = "get_weather"
for _tool in (get_weather, get_weather_later):  # google-genai 1 reads no annotations that are strings
    _tool.__annotations__ = {"city": str, "return": str}


def assert_fed_back(fake: Any) -> None:
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris", "sunny in Rome"]
    assert fake.calls[0].tools["get_weather"]["properties"].keys() == {"city"}
    assert len(fake.calls) == 2


@needs("google-genai")
class TestGenAI:
    """Automatic function calling."""

    asked: dict[str, Any] = {"model": "gemini-2.5-flash", "contents": "Weather in Paris and Rome?"}  # noqa: RUF012

    def test_whole(self) -> None:
        from google import genai

        with fake_llm.intercept(SCRIPT) as fake:
            client = genai.Client()
            answer = client.models.generate_content(**self.asked, config={"tools": [get_weather]})
        assert answer.text == "It is sunny in both."
        assert_fed_back(fake)

    @needs("google-genai>=2")  # before, it called only the tools of a stream's last chunk; the API sends a call a chunk
    def test_stream(self) -> None:
        from google import genai

        with fake_llm.intercept(SCRIPT) as fake:
            client = genai.Client()
            chunks = list(client.models.generate_content_stream(**self.asked, config={"tools": [get_weather]}))
        assert "".join(chunk.text or "" for chunk in chunks if not chunk.function_calls).endswith(
            "It is sunny in both."
        )
        assert_fed_back(fake)

    def test_chat_session(self) -> None:
        from google import genai

        with fake_llm.intercept([*SCRIPT, "And in Oslo."]) as fake:
            client = genai.Client()
            chat = client.chats.create(model="gemini-2.5-flash", config={"tools": [get_weather]})
            assert chat.send_message("Weather in Paris and Rome?").text == "It is sunny in both."
            chunks = list(chat.send_message_stream("And in Oslo?"))
        assert "".join(chunk.text for chunk in chunks) == "And in Oslo."
        assert fake.calls[2].user_texts == ("Weather in Paris and Rome?", "And in Oslo?")
        assert [message.role for message in fake.calls[2].messages] == [
            *("user", "assistant", "tool", "tool", "assistant"),
            "user",
        ]

    def test_async(self) -> None:
        client = next(client for client in CLIENTS if client.provider == "gemini" and client.is_async)
        if client.unable is not None:
            pytest.skip(client.unable)
        from google import genai

        async def main() -> Any:
            with fake_llm.intercept(SCRIPT) as fake:
                aio = genai.Client().aio
                answer = await aio.models.generate_content(**self.asked, config={"tools": [get_weather_later]})
            assert answer.text == "It is sunny in both."
            return fake

        assert_fed_back(asyncio.run(main()))


@needs("anthropic>=0.100")
class TestAnthropic:
    """The beta tool runner."""

    asked: dict[str, Any] = {  # noqa: RUF012
        "model": "claude-sonnet-4-6",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": "Weather in Paris and Rome?"}],
    }

    @staticmethod
    def tool(function: Callable[..., Any]) -> Any:
        import anthropic

        return (anthropic.beta_async_tool if asyncio.iscoroutinefunction(function) else anthropic.beta_tool)(function)

    def test_whole(self) -> None:
        import anthropic

        with fake_llm.intercept(SCRIPT) as fake:
            runner = anthropic.Anthropic().beta.messages.tool_runner(**self.asked, tools=[self.tool(get_weather)])
            last = runner.until_done()
        assert last.content[0].text == "It is sunny in both."
        assert_fed_back(fake)

    def test_stream(self) -> None:
        import anthropic

        texts = []
        with fake_llm.intercept(SCRIPT) as fake:
            runner = anthropic.Anthropic().beta.messages.tool_runner(
                **self.asked, tools=[self.tool(get_weather)], stream=True
            )
            texts = ["".join(stream.text_stream) for stream in runner]
        assert texts == ["Let me look.", "It is sunny in both."]
        assert_fed_back(fake)

    def test_several_rounds(self) -> None:
        import anthropic

        script = [ToolCall("get_weather", {"city": city}) for city in ("Paris", "Rome", "Oslo")]
        with fake_llm.intercept([*script, "Sunny."]) as fake:
            runner = anthropic.Anthropic().beta.messages.tool_runner(**self.asked, tools=[self.tool(get_weather)])
            last = runner.until_done()
        assert last.content[0].text == "Sunny."
        assert [call.tool_results[0].text for call in fake.calls[1:]] == [
            f"sunny in {city}" for city in ("Paris", "Rome", "Oslo")
        ]

    @needs("anthropic>=2.14")
    def test_a_thread_sends_only_what_is_new(self) -> None:
        import anthropic

        script = [
            Reply("Let me", finish_reason="pause"),
            "look.",
            Reply(ToolCall("get_weather", {"city": "Paris"}), id="msg_1"),
            "Sunny.",
        ]
        with fake_llm.intercept(script) as fake:
            thread = anthropic.Anthropic().beta.messages.thread(**self.asked, tools=[self.tool(get_weather)])
            assert thread.send().stop_reason == "pause_turn"
            assert thread.send().content[0].text == "look."
            call = thread.send({"role": "user", "content": "And now?"}).content[0]
            result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
            assert thread.send({"role": "user", "content": [result]}).content[0].text == "Sunny."
        assert [len(call.messages) for call in fake.calls] == [1, 0, 1, 1]
        assert fake.calls[2].last_user_text == "And now?"
        assert fake.calls[3].body["thread"] == {"type": "continue", "previous_message_id": "msg_1"}
        assert fake.calls[3].tool_results[0].text == "sunny"

    def test_async(self) -> None:
        import anthropic

        async def main() -> Any:
            with fake_llm.intercept(SCRIPT) as fake:
                runner = anthropic.AsyncAnthropic().beta.messages.tool_runner(
                    **self.asked, tools=[self.tool(get_weather_later)]
                )
                last = await runner.until_done()
            assert last.content[0].text == "It is sunny in both."
            return fake

        assert_fed_back(asyncio.run(main()))


@needs("openai>=2")
class TestOpenAI:
    """Parsed tool calls, and the raw and streaming responses of the SDK."""

    asked: dict[str, Any] = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}]}  # noqa: RUF012

    def test_tool_calls_parsed_into_models(self) -> None:
        import openai
        import pydantic

        model = pydantic.create_model("get_weather", city=(str, ...))
        with fake_llm.intercept([ToolCall("get_weather", {"city": "Paris"})] * 2):
            client = openai.OpenAI()
            whole = client.chat.completions.parse(**self.asked, tools=[openai.pydantic_function_tool(model)])
            with client.chat.completions.stream(**self.asked, tools=[openai.pydantic_function_tool(model)]) as stream:
                events = {event.type: event for event in stream}
        assert whole.choices[0].message.tool_calls[0].function.parsed_arguments == model(city="Paris")
        assert events["tool_calls.function.arguments.done"].parsed_arguments == model(city="Paris")

    def test_raw_response(self) -> None:
        import openai

        with fake_llm.intercept(["Hello."]) as fake:
            raw = openai.OpenAI().chat.completions.with_raw_response.create(**self.asked)
        assert raw.parse().choices[0].message.content == "Hello."
        assert raw.headers["x-request-id"] == raw.request_id
        assert raw.http_response.content == fake.calls[0].response.body
        assert json.loads(raw.http_response.text)["choices"][0]["message"]["content"] == "Hello."

    def test_streaming_response(self) -> None:
        import openai

        with (
            fake_llm.intercept(["Hello."]) as fake,
            openai.OpenAI().chat.completions.with_streaming_response.create(**self.asked, stream=True) as raw,
        ):
            lines = list(raw.iter_lines())
        assert lines[-2:] == ["data: [DONE]", ""]
        assert "\n".join(lines).encode() + b"\n" == fake.calls[0].response.body
