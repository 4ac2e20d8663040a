"""Claude by LiteLLM: each prefix by which it reaches Anthropic's models, sync and async, whole and streamed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Citation, ServerTool

litellm = load("litellm>=1.110")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # its own, while it loads parts of itself
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]

ANTHROPIC = {"api_key": "none"}  # without Anthropic's SDK there is no dummy
BEDROCK = {"aws_region_name": "us-east-1"}
VERTEX = {"vertex_project": "my-project", "vertex_location": "us-east5"}
FOUNDRY = {"api_base": "https://my-resource.services.ai.azure.com/anthropic", "api_key": "none"}

PREFIXES = [
    pytest.param("anthropic/claude-sonnet-4-5", ANTHROPIC, "anthropic", id="anthropic"),
    pytest.param("vertex_ai/claude-sonnet-4-5@20250929", VERTEX, "vertex", id="vertex_ai", marks=needs("google-auth")),
    pytest.param(
        "bedrock/invoke/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        BEDROCK,
        "bedrock",
        id="bedrock-invoke",
        marks=needs("boto3"),
    ),
    pytest.param("azure_ai/claude-sonnet-4-5", FOUNDRY, "azure", id="azure_ai"),
]
each_prefix = pytest.mark.parametrize(("model", "where", "provider"), PREFIXES)
each_way = pytest.mark.parametrize("way", ["sync", "async"])
each_mode = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def ask(way: str, model: str, where: dict[str, Any], *, stream: bool = False, **more: Any) -> Any:
    """The answer, that of a stream put together by LiteLLM."""
    said = [{"role": "user", "content": "Weather in Paris?"}]
    options: dict[str, Any] = {"model": model, "messages": said, "num_retries": 0, "max_retries": 0, **where, **more}
    if way == "sync":
        answer = litellm.completion(**options, stream=stream)
        return litellm.stream_chunk_builder(list(answer), messages=said) if stream else answer

    async def later() -> Any:
        answer = await litellm.acompletion(**options, stream=stream)
        if not stream:
            return answer
        return litellm.stream_chunk_builder([chunk async for chunk in answer], messages=said)

    return asyncio.run(later())


def test_a_search_and_its_source() -> None:
    turn = [
        ServerTool("web_search", {"query": "sky"}, [{"url": "https://sky.example", "title": "Sky"}]),
        Citation("It is blue.", "https://sky.example"),
    ]
    with fake_llm.intercept([turn]):
        answer = ask(
            "sync",
            "anthropic/claude-sonnet-4-5",
            ANTHROPIC,
            tools=[{"type": "web_search_20250305", "name": "web_search"}],
        )

    message = answer.choices[0].message
    assert message.content == "It is blue."
    (cited,) = message.provider_specific_fields["citations"]
    assert cited[0]["url"] == "https://sky.example"
    assert answer.usage.server_tool_use.web_search_requests == 1
