"""The same question asked through every SDK and library that is there: whole and streamed, sync and async."""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from _capability import needs

__all__ = ["ANTHROPIC", "ASYNC", "OPENAI", "SYNC", "ask", "ask_async", "body_of", "post"]

OPENAI = "https://api.openai.com/v1/chat/completions"
ANTHROPIC = "https://api.anthropic.com/v1/messages"


def body_of(text: str = "Hi", **fields: Any) -> dict[str, Any]:
    """The body of a chat request to OpenAI."""
    return {"model": "gpt-5", "messages": [{"role": "user", "content": text}], **fields}


def post(text: str = "Hi", url: str = OPENAI, **fields: Any) -> httpx.Response:
    """The answer as a client without an SDK sees it."""
    return httpx.post(url, json=body_of(text, **fields), verify=False)  # spares the loading of certificates


def ask(text: str = "Hi", url: str = OPENAI, **fields: Any) -> str:
    """What the model answers; an error of the provider's is raised, its body in the text."""
    return _text(post(text, url, **fields))


async def ask_async(text: str = "Hi", url: str = OPENAI, **fields: Any) -> str:
    """`ask` on an event loop."""
    async with httpx.AsyncClient(verify=False) as client:
        return _text(await client.post(url, json=body_of(text, **fields)))


def _text(response: Any) -> str:
    if response.status_code >= 400:
        raise RuntimeError(f"{response.status_code}: {response.json()['error']['message']}")
    content: str = response.json()["choices"][0]["message"]["content"]
    return content


def _openai(text: str) -> str:
    import openai

    with openai.OpenAI() as client:
        answer = client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


def _openai_stream(text: str) -> str:
    import openai

    with openai.OpenAI() as client:
        chunks = client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": text}], stream=True
        )
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def _openai_responses(text: str) -> str:
    import openai

    with openai.OpenAI() as client:
        return client.responses.create(model="gpt-5", input=text).output_text


def _anthropic(text: str) -> str:
    import anthropic

    with anthropic.Anthropic() as client:
        answer = client.messages.create(
            model="claude-sonnet-5", max_tokens=64, messages=[{"role": "user", "content": text}]
        )
    return "".join(block.text for block in answer.content if block.type == "text")


def _anthropic_stream(text: str) -> str:
    import anthropic

    with (
        anthropic.Anthropic() as client,
        client.messages.stream(
            model="claude-sonnet-5", max_tokens=64, messages=[{"role": "user", "content": text}]
        ) as stream,
    ):
        return "".join(stream.text_stream)


def _groq(text: str) -> str:
    import groq

    with groq.Groq() as client:
        answer = client.chat.completions.create(
            model="llama-3.3-70b-versatile", messages=[{"role": "user", "content": text}]
        )
    return answer.choices[0].message.content or ""


def _gemini(text: str) -> str:
    from google import genai

    client = genai.Client()
    return client.models.generate_content(model="gemini-3-pro", contents=text).text or ""


def _bedrock(text: str) -> str:
    answer = _asked_of_bedrock("converse", text)
    return "".join(part.get("text", "") for part in answer["output"]["message"]["content"])


def _bedrock_stream(text: str) -> str:
    events = _asked_of_bedrock("converse_stream", text)["stream"]
    return "".join(event.get("contentBlockDelta", {}).get("delta", {}).get("text", "") for event in events)


@functools.cache
def _botocore_data() -> Any:
    """The descriptions of services, read once."""
    return importlib.import_module("botocore.loaders").create_loader()


def _asked_of_bedrock(method: str, text: str) -> Any:
    core = importlib.import_module("botocore.session").get_session()
    core.register_component("data_loader", _botocore_data())  # each session would read all of it again
    client = importlib.import_module("boto3.session").Session(botocore_session=core).client("bedrock-runtime")
    messages = [{"role": "user", "content": [{"text": text}]}]
    return getattr(client, method)(modelId="amazon.nova-lite-v1:0", messages=messages)


def _library(name: str) -> Callable[[str], str]:
    def through(text: str) -> str:
        return _text(importlib.import_module(name).post(OPENAI, json=body_of(text)))

    return through


async def _openai_async(text: str) -> str:
    import openai

    async with openai.AsyncOpenAI() as client:
        answer = await client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


async def _openai_async_stream(text: str) -> str:
    import openai

    async with openai.AsyncOpenAI() as client:
        chunks = await client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": text}], stream=True
        )
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])


async def _anthropic_async(text: str) -> str:
    import anthropic

    async with anthropic.AsyncAnthropic() as client:
        answer = await client.messages.create(
            model="claude-sonnet-5", max_tokens=64, messages=[{"role": "user", "content": text}]
        )
    return "".join(block.text for block in answer.content if block.type == "text")


async def _anthropic_async_stream(text: str) -> str:
    import anthropic

    async with (
        anthropic.AsyncAnthropic() as client,
        client.messages.stream(
            model="claude-sonnet-5", max_tokens=64, messages=[{"role": "user", "content": text}]
        ) as stream,
    ):
        return "".join([piece async for piece in stream.text_stream])


async def _groq_async(text: str) -> str:
    import groq

    async with groq.AsyncGroq() as client:
        answer = await client.chat.completions.create(
            model="llama-3.3-70b-versatile", messages=[{"role": "user", "content": text}]
        )
    return answer.choices[0].message.content or ""


def _on_asyncio() -> None:
    """Skip a test that runs on trio, which aiohttp doesn't know."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pytest.skip("needs a library that runs on trio")


async def _openai_aiohttp(text: str) -> str:
    _on_asyncio()
    import openai

    async with openai.AsyncOpenAI(http_client=openai.DefaultAioHttpClient()) as client:
        answer = await client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


async def _gemini_async(text: str) -> str:
    _on_asyncio()  # it prefers aiohttp
    from google import genai

    async with genai.Client().aio as client:
        return (await client.models.generate_content(model="gemini-3-pro", contents=text)).text or ""


async def _gemini_async_stream(text: str) -> str:
    _on_asyncio()  # it prefers aiohttp
    from google import genai

    async with genai.Client().aio as client:
        chunks = await client.models.generate_content_stream(model="gemini-3-pro", contents=text)
        return "".join([chunk.text or "" async for chunk in chunks])


async def _aiohttp(text: str) -> str:
    _on_asyncio()
    import aiohttp

    async with aiohttp.ClientSession() as session, session.post(OPENAI, json=body_of(text)) as response:
        document = await response.json()
    if response.status >= 400:
        raise RuntimeError(f"{response.status}: {document['error']['message']}")
    content: str = document["choices"][0]["message"]["content"]
    return content


def _library_async(name: str) -> Callable[[str], Awaitable[str]]:
    async def through(text: str) -> str:
        async with importlib.import_module(name).AsyncClient() as client:
            return _text(await client.post(OPENAI, json=body_of(text)))

    return through


def _way(name: str, function: Callable[[str], Any], *requirements: str) -> Any:
    return pytest.param(function, id=name, marks=needs(*requirements))


SYNC = [
    _way("openai", _openai, "openai"),
    _way("openai-stream", _openai_stream, "openai"),
    _way("openai-responses", _openai_responses, "openai"),
    _way("anthropic", _anthropic, "anthropic"),
    _way("anthropic-stream", _anthropic_stream, "anthropic"),
    _way("groq", _groq, "groq"),
    _way("gemini", _gemini, "google-genai"),
    _way("bedrock", _bedrock, "boto3"),
    _way("bedrock-stream", _bedrock_stream, "boto3"),
    _way("httpx", _library("httpx"), "httpx"),
    _way("httpx2", _library("httpx2"), "httpx2"),
    _way("requests", _library("requests"), "requests"),
]
"""Functions of a text that give the model's answer, each with the SDKs that it needs."""

ASYNC = [
    _way("openai", _openai_async, "openai"),
    _way("openai-stream", _openai_async_stream, "openai"),
    _way("anthropic", _anthropic_async, "anthropic"),
    _way("anthropic-stream", _anthropic_async_stream, "anthropic"),
    _way("groq", _groq_async, "groq"),
    _way("openai-aiohttp", _openai_aiohttp, "openai", "aiohttp"),
    _way("gemini", _gemini_async, "google-genai"),
    _way("gemini-stream", _gemini_async_stream, "google-genai"),
    _way("aiohttp", _aiohttp, "aiohttp"),
    _way("httpx", _library_async("httpx"), "httpx"),
    _way("httpx2", _library_async("httpx2"), "httpx2"),
]
"""The same as coroutine functions."""
