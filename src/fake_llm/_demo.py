"""What `fake-llm demo` shows: one script, two SDKs, whole and streamed, and what they sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import anthropic
import openai

import fake_llm
from fake_llm import ToolCall

__all__ = ["run"]

QUESTION: Final = "What is the weather in Paris?"
SYSTEM: Final = "You are a weather assistant. Look things up before you answer."
SCHEMA: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

SCRIPT: Final = [
    ["Let me look.", ToolCall("get_weather", {"city": "Paris"})],
    "It is sunny in Paris, 21 degrees.",
]


def get_weather(city: str) -> str:
    """The tool of the agents."""
    return f"{city}: sunny, 21 degrees"


def openai_agent(question: str) -> str:
    """An agent as people write it, on the openai SDK."""
    client = openai.OpenAI()
    tools: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
    messages: Any = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        answer = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools).choices[0].message
        if not answer.tool_calls:
            return answer.content or ""
        messages.append(answer)
        for call in answer.tool_calls:
            if call.type == "function":
                result = get_weather(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def anthropic_agent(question: str) -> str:
    """The same agent, streamed, on the anthropic SDK."""
    client = anthropic.Anthropic()
    messages: Any = [{"role": "user", "content": question}]
    tools: Any = [{"name": "get_weather", "input_schema": SCHEMA}]
    while True:
        with client.messages.stream(
            model="claude-sonnet-5", max_tokens=500, system=SYSTEM, messages=messages, tools=tools
        ) as stream:
            for text in stream.text_stream:
                print(text, end="·", flush=True)
            print()
            answer = stream.get_final_message()
        if answer.stop_reason != "tool_use":
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "assistant", "content": answer.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": get_weather(str(block.input["city"]))}
            for block in answer.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})


def run(show: Callable[[str], None] = print) -> None:
    """Answer both agents from one script and show the transcripts."""
    print("The script, the same for both:\n")
    for turn in SCRIPT:
        print(f"    {turn!r}")
    agents: list[tuple[str, Callable[[str], str]]] = [
        (f"openai {openai.__version__}, whole", openai_agent),
        (f"anthropic {anthropic.__version__}, streamed", anthropic_agent),
    ]
    for title, agent in agents:
        print(f"\n── {title} " + "─" * (78 - len(title)) + "\n")
        with fake_llm.intercept(SCRIPT) as fake:
            answer = agent(QUESTION)
        assert fake.calls[1].tool_results[0].text == "Paris: sunny, 21 degrees"
        print()
        show(fake.transcript())
        print(f"\nThe agent's answer: {answer}")
    print("\nNo network, no key, no server: the requests above are what the SDKs really sent.")
