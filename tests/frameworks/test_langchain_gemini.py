"""LangChain on Gemini: what only it says, by the Gemini API, by Vertex AI with a project and by Vertex AI with a key."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import fake_llm
from _capability import load
from fake_llm import Audio, Citation, Reply, ServerTool, Thinking, ToolCall, Usage

google = load("langchain-google-genai>=4", "langchain_google_genai")
messages = load("langchain-core>=1", "langchain_core.messages")
tools = load("langchain-core>=1", "langchain_core.tools")

PLACES: Mapping[str, dict[str, Any]] = {
    "gemini": {"model": "gemini-2.5-flash"},
    "gemini 3": {"model": "gemini-3-pro-preview"},
    "vertex": {"model": "gemini-2.5-flash", "vertexai": True, "project": "p", "location": "us-central1"},
    "vertex by key": {"model": "gemini-3-pro-preview", "vertexai": True, "api_key": "k"},
}
each = pytest.mark.parametrize("place", PLACES)
flavours = pytest.mark.parametrize("on_loop", [False, True], ids=["sync", "async"])


@tools.tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def model(place: str, **options: Any) -> Any:
    return google.ChatGoogleGenerativeAI(max_retries=1, **PLACES[place], **options)


def ask(chat: Any, on_loop: bool, asked: Any = "Hi", **options: Any) -> Any:
    return asyncio.run(chat.ainvoke(asked, **options)) if on_loop else chat.invoke(asked, **options)


@each
@flavours
def test_text(place: str, on_loop: bool) -> None:
    with fake_llm.intercept(["It is sunny."]) as fake:
        answer = ask(model(place), on_loop)
    assert answer.text == "It is sunny."
    assert answer.response_metadata["finish_reason"] == "STOP"
    assert answer.usage_metadata["total_tokens"] == fake.usage.total
    assert (fake.calls[0].provider, fake.calls[0].dialect) == (place.split(maxsplit=1)[0], "gemini")


@each
@flavours
def test_tools_and_their_results(place: str, on_loop: bool) -> None:
    calls = [ToolCall("get_weather", {"city": city}) for city in ("Paris", "Rome")]
    with fake_llm.intercept([[Thinking("Two."), *calls], "Sunny in both."]) as fake:
        chat = model(place).bind_tools([get_weather])
        asked: list[Any] = [messages.HumanMessage("Weather?")]
        first = ask(chat, on_loop, asked)
        results = [get_weather.invoke(call) for call in first.tool_calls]
        second = ask(chat, on_loop, [*asked, first, *results])
    assert [call["args"] for call in first.tool_calls] == [{"city": "Paris"}, {"city": "Rome"}]
    assert second.text == "Sunny in both."
    assert [result.text for result in fake.calls[1].tool_results] == ["sunny in Paris", "sunny in Rome"]
    assert b"thoughtSignature" in fake.calls[1].raw


@each
@flavours
def test_a_search_and_its_sources(place: str, on_loop: bool) -> None:
    search = ServerTool("web_search", {"query": "sky"}, [{"url": "https://a.example/x", "title": "A"}])
    with fake_llm.intercept([[search, "The sky is ", Citation("blue", "https://sky.example", title="Sky"), "."]]):
        answer = ask(model(place).bind_tools([{"google_search": {}}]), on_loop)
    assert answer.text == "The sky is blue."
    grounding = answer.response_metadata["grounding_metadata"]
    assert grounding["web_search_queries"] == ["sky"]
    (cited,) = [note for block in answer.content_blocks for note in block.get("annotations", ()) if note.get("url")]
    assert (cited["url"], cited["title"], cited["start_index"], cited["end_index"]) == (
        "https://sky.example",
        "Sky",
        11,
        15,
    )


@each
@pytest.mark.filterwarnings("ignore:[\\s\\S]*Output may vary each run:UserWarning")
def test_code_is_run(place: str) -> None:
    with fake_llm.intercept([[ServerTool("code_execution", {"code": "print(1)"}, "1\n"), "One."]]):
        answer = ask(model(place).bind_tools([{"code_execution": {}}]), False)
    kinds = [block["type"] for block in answer.content if isinstance(block, dict)]
    assert kinds[:2] == ["executable_code", "code_execution_result"]
    assert answer.text == "One."


@each
def test_a_blocked_answer(place: str) -> None:
    with fake_llm.intercept([Reply(finish_reason="content_filter")]):
        answer = ask(model(place), False)
    assert answer.text == ""
    assert answer.response_metadata["finish_reason"] == "SAFETY"
    assert any(rating["blocked"] for rating in answer.response_metadata["safety_ratings"])


@each
def test_a_blocked_prompt(place: str) -> None:
    with fake_llm.intercept([Reply(extra={"promptFeedback": {"blockReason": "SAFETY"}})]):
        answer = ask(model(place), False)
    assert answer.text == ""
    assert "SAFETY" in str(answer.response_metadata["prompt_feedback"])


@each
def test_thinking_and_usage(place: str) -> None:
    usage = Usage(100, 30, cached_tokens=40, reasoning_tokens=20)
    with fake_llm.intercept([Reply(Thinking("Hm."), "Sunny.", usage=usage)]):
        answer = ask(model(place, include_thoughts=True), False)
    assert [block["type"] for block in answer.content_blocks] == ["reasoning", "text"]
    assert answer.usage_metadata["input_token_details"]["cache_read"] == 40
    assert answer.usage_metadata["output_token_details"]["reasoning"] == 20


@each
def test_sound(place: str) -> None:
    with fake_llm.intercept([Audio(b"abc", "audio/L16")]):
        answer = ask(model(place), False, response_modalities=[google.Modality.AUDIO])
    assert answer.additional_kwargs["audio"].startswith(b"RIFF")  # it writes a WAV of the samples
    assert answer.additional_kwargs["audio"].endswith(b"data\x03\x00\x00\x00abc")


@pytest.mark.parametrize(
    "options", [{}, {"vertexai": True, "project": "p", "location": "us-central1"}], ids=["gemini", "vertex"]
)
def test_embeddings(options: dict[str, Any]) -> None:
    with fake_llm.intercept() as fake:
        embedder = google.GoogleGenerativeAIEmbeddings(model="gemini-embedding-001", **options)
        near, far = embedder.embed_query("sky color"), embedder.embed_documents(["the color of the sky"])[0]
    assert len(near) == len(far)
    assert {call.operation for call in fake.calls} == {"embeddings"}
