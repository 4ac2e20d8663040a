"""LiteLLM on Gemini, by the Gemini API and by Vertex AI, sync and async; it builds the requests itself, and needs no SDK of Google."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Citation, Image, Reply, ServerTool, ToolCall

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # its import asks for prices else
litellm = load("litellm>=1.110")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),  # its logging worker
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

ASKED = [{"role": "user", "content": "Weather in Paris?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "It.", "parameters": SCHEMA}}]
PARIS, ROME = ToolCall("get_weather", {"city": "Paris"}), ToolCall("get_weather", {"city": "Rome"})
OPENAI_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}

PLACES: Mapping[str, dict[str, Any]] = {
    "gemini/gemini-2.5-flash": {},
    "gemini/gemini-3-pro-preview": {},
    "vertex_ai/gemini-2.5-flash": {"vertex_project": "p", "vertex_location": "us-central1"},
    "vertex_ai/gemini-3-pro-preview": {"vertex_project": "p", "vertex_location": "global"},
}
each = pytest.mark.parametrize("model", PLACES)
flavours = pytest.mark.parametrize("on_loop", [False, True], ids=["sync", "async"])


def ask(model: str, on_loop: bool, messages: Any = ASKED, **options: Any) -> Any:
    asked = {"model": model, "messages": messages, **PLACES[model], **options}
    return asyncio.run(litellm.acompletion(**asked)) if on_loop else litellm.completion(**asked)


def provider(model: str) -> str:
    return "vertex" if model.startswith("vertex_ai/") else "gemini"


@each
@flavours
def test_text(model: str, on_loop: bool) -> None:
    with fake_llm.intercept(["It is sunny."]) as fake:
        answer = ask(model, on_loop)
    assert answer.choices[0].message.content == "It is sunny."
    assert answer.choices[0].finish_reason == "stop"
    assert (fake.calls[0].provider, fake.calls[0].dialect) == (provider(model), "gemini")
    assert answer.usage.total_tokens == fake.usage.total


@each
def test_a_search_and_its_sources(model: str) -> None:
    search = ServerTool("web_search", {"query": "sky"}, [{"url": "https://a.example/x", "title": "A"}])
    with fake_llm.intercept([[search, "The sky is ", Citation("blue", "https://sky.example", title="Sky"), "."]]):
        answer = ask(model, False, tools=[{"googleSearch": {}}])
    assert answer.choices[0].message.content == "The sky is blue."
    (cited,) = answer.choices[0].message.annotations
    assert cited["url_citation"] == {
        "url": "https://sky.example",
        "title": "Sky",
        "start_index": 11,
        "end_index": 15,
    }
    assert answer.vertex_ai_grounding_metadata[0]["webSearchQueries"] == ["sky"]


@each
@pytest.mark.parametrize(
    ("turn", "finish"),
    [
        (Reply(finish_reason="content_filter"), "content_filter"),
        (Reply(extra={"promptFeedback": {"blockReason": "SAFETY"}}), "content_filter"),
        (Reply("It", finish_reason="length"), "length"),
    ],
    ids=["blocked answer", "blocked prompt", "length"],
)
def test_what_ends_early(model: str, turn: Reply, finish: str) -> None:
    with fake_llm.intercept([turn]):
        assert ask(model, False).choices[0].finish_reason == finish


@each
def test_images_both_ways(model: str) -> None:
    asked = [{"role": "user", "content": [{"type": "text", "text": "Like this?"}, OPENAI_IMAGE]}]
    with fake_llm.intercept([Image(b"\x89PNG")]) as fake:
        message = ask(model, False, asked).choices[0].message
    assert fake.calls[0].messages[0].text == "Like this?\n[image]"
    assert message.images[0]["image_url"]["url"] == "data:image/png;base64,iVBORw=="


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("vertex_ai/text-embedding-004", {"vertex_project": "p", "vertex_location": "us-central1"}),
        ("vertex_ai/gemini-embedding-2", {"vertex_project": "p", "vertex_location": "us-central1"}),
        ("gemini/gemini-embedding-001", {}),
    ],
)
def test_embeddings(model: str, options: dict[str, Any]) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(fake_llm.Embedding([1.0, 0.0]))
        answer = litellm.embedding(model=model, input=["Hello"], **options)
    assert answer.data[0]["embedding"] == [1.0, 0.0]
    assert fake.calls[0].user_texts == ("Hello",)


@needs("google-genai")  # LiteLLM counts by its types, else by itself
def test_tokens_are_counted() -> None:
    with fake_llm.intercept() as fake:
        counted = asyncio.run(litellm.acount_tokens(model="gemini/gemini-2.5-flash", messages=ASKED))
    assert counted.total_tokens > 0
    assert not counted.error
    assert fake.calls[0].operation == "count_tokens"
