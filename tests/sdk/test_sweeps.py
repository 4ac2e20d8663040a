"""Sweeps, as SDKs hear them: nobody takes a cut stream for a complete one, and a split one says the same."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _sdk_clients import HERE, TOOLS, Called, Client, skip_unless_able
from fake_llm import Disconnect, EndOfStream, Error, Event, Reply, Thinking, ToolCall, quirks, sweep

TEXT = "Zürich 🌞"
CALLED = Called("get_weather", {"city": "Zürich"})
TURN = Reply(TEXT, ToolCall(CALLED.name, CALLED.arguments))

PROVIDERS = {
    "openai.OpenAI/openai_chat": "openai",
    "openai.OpenAI/openai_responses": "openai_responses",
    "anthropic.Anthropic/anthropic_messages": "anthropic",
    "genai-sync/gemini": "gemini",
    "boto3/bedrock_converse": "bedrock",
    "mistralai-sync": "mistral",
    "ollama.Client/ollama_chat": "ollama",
    "cohere.ClientV2": "cohere",
    "openai.AsyncOpenAI/openai_chat": "anthropic",
    "anthropic.AsyncAnthropic/anthropic_messages": "openai",
    "genai-async/gemini": "openai",
    "ollama.AsyncClient/ollama_chat": "openai",
}
clients = pytest.mark.parametrize("client", [client for client in HERE if client.name in PROVIDERS], ids=shown)


def asked(client: Client, turn: Any, mode: str) -> Any:
    async def heard() -> Any:
        with fake_llm.intercept(default=turn, skip_backoff=True):
            return await client.ask("Weather?", tools=TOOLS, mode=mode)

    return client.run(heard())


def ended(client: Client, turn: Any, mode: str) -> str | None:
    """Why the model ended, for what a client has heard; `None` where it hasn't heard that, or an error."""
    try:
        finish: str | None = asked(client, turn, mode).finish
    except Exception:
        return None
    return finish


@clients
def test_no_cut_is_complete(client: Client) -> None:
    skip_unless_able(client, "stream")
    turns = sweep.cuts(TURN, provider=PROVIDERS[client.name])
    if client.is_async:  # by the count of another vendor's stream
        turns = turns[::2]

    assert {turn.__name__: finish for turn in turns if (finish := ended(client, turn, "stream"))} == {}


@pytest.mark.parametrize("client", [client for client in HERE if client.name in list(PROVIDERS)[:8]], ids=shown)
def test_an_error_between_any_two_events_ends_the_answer(client: Client) -> None:
    skip_unless_able(client, "stream")
    turns = sweep.cuts(TURN, then=Error("overloaded"), provider=PROVIDERS[client.name])

    assert len(turns) == sweep._stream(TURN, PROVIDERS[client.name]).settled
    heard = {turn.__name__: ended(client, turn, "stream") for turn in turns}
    assert set(heard.values()) <= {None, "ERROR"}, "the word of Cohere, which says it in the event that ends a stream"


@clients
def test_no_cut_of_a_whole_answer_is_complete(client: Client) -> None:
    skip_unless_able(client, "whole")
    turns = sweep.cuts(TURN, then=EndOfStream(), provider=PROVIDERS[client.name])[::4]

    assert {turn.__name__: finish for turn in turns if (finish := ended(client, turn, "whole"))} == {}


@pytest.mark.parametrize("client", [client for client in HERE if client.name in list(PROVIDERS)[:8]], ids=shown)
def test_one_event_later_it_is(client: Client) -> None:
    skip_unless_able(client, "stream")
    stream = sweep._stream(TURN, PROVIDERS[client.name])

    later = EndOfStream(after_events=stream.settled) if stream.settled < len(stream.pieces) else None
    assert ended(client, TURN.replace(then=later), "stream")
    assert not ended(client, TURN.replace(then=EndOfStream(after_events=stream.settled - 1)), "stream")


@clients
def test_every_split_says_the_same(client: Client) -> None:
    skip_unless_able(client, "stream", ("characters split between reads",))
    turns = sweep.splits(TURN, provider=PROVIDERS[client.name])
    for turn in [*turns[:8], *turns[8::4]]:
        answer = asked(client, turn, "stream")
        assert (answer.text, answer.tool_calls) == (TEXT, (CALLED,)), turn.__name__
        assert answer.finish == client.finish("tool_calls")


@pytest.mark.slow
@clients
def test_no_place_in_all_bytes_is_complete(client: Client) -> None:
    skip_unless_able(client, "stream")
    turn = Reply("Zü 🌞", ToolCall(CALLED.name, CALLED.arguments))
    turns = sweep.cuts(turn, provider=PROVIDERS[client.name], every="byte")[::11]  # over both kinds, and no common step

    assert {turn.__name__: finish for turn in turns if (finish := ended(client, turn, "stream"))} == {}


# --- apps as people write them: one that looks whether the answer is complete, and one that doesn't -----------------


@functools.cache
def chat() -> Any:
    import openai

    return openai.OpenAI()


@functools.cache
def messages() -> Any:
    import anthropic

    return anthropic.Anthropic()


@functools.cache
def local() -> Any:
    import ollama

    return ollama.Client()


@functools.cache
def gemini() -> Any:
    from google import genai

    return genai.Client()


@functools.cache
def bedrock() -> Any:
    import boto3

    return boto3.client("bedrock-runtime", region_name="us-east-1")


App = Callable[[bool], str | None]
"""The text of an answer that it takes for complete; the argument says whether it looks."""


def on_openai(careful: bool) -> str | None:
    text, finish = "", None
    try:
        stream = chat().chat.completions.create(
            model="gpt-5-of-a-much-longer-name", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        for chunk in stream:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
    except Exception:  # of an older one those of httpx
        return None
    return text if finish or not careful else None


def on_anthropic(careful: bool) -> str | None:
    text, finish = "", None
    try:
        with messages().messages.create(
            model="claude", max_tokens=9, messages=[{"role": "user", "content": "Hi"}], stream=True
        ) as stream:
            for event in stream:
                if event.type == "content_block_delta" and event.delta.type == "text_delta":
                    text += event.delta.text
                elif event.type == "message_delta":
                    finish = event.delta.stop_reason
    except Exception:  # among them those of httpx, or httpx2
        return None
    return text if finish or not careful else None


def on_gemini(careful: bool) -> str | None:
    text, finish = "", None
    try:
        for chunk in gemini().models.generate_content_stream(model="gemini-2.5-flash", contents="Hi"):
            text += chunk.text or ""
            finish = chunk.candidates[0].finish_reason if chunk.candidates else finish
    except Exception:
        return None
    return text if finish or not careful else None


def on_ollama(careful: bool) -> str | None:
    text, done = "", False
    try:
        for part in local().chat(model="llama", messages=[{"role": "user", "content": "Hi"}], stream=True):
            text += part.message.content or ""
            done = done or bool(part.done)
    except Exception:
        return None
    return text if done or not careful else None


def on_boto3(careful: bool) -> str | None:
    text, stop = "", None
    try:
        answer = bedrock().converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "Hi"}]}])
        for event in answer["stream"]:
            text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
            stop = event.get("messageStop", {}).get("stopReason", stop)
    except Exception:  # among them ProtocolError of urllib3
        return None
    return text if stop or not careful else None


APPS = {
    "openai": (on_openai, "openai"),
    "anthropic": (on_anthropic, "anthropic"),
    "gemini": (on_gemini, "google-genai"),
    "ollama": (on_ollama, "ollama"),
    "bedrock": (on_boto3, "boto3"),
}
apps = pytest.mark.parametrize(
    ("provider", "app"),
    [pytest.param(name, app, marks=needs(sdk), id=name) for name, (app, sdk) in APPS.items()],
)
ANSWER = Reply("Grüße", chunk_size=3)


def taken_for_complete(app: App, careful: bool, turns: list[Any]) -> Iterator[str]:
    for turn in turns:
        with fake_llm.intercept(default=turn):
            if app(careful) is not None:
                yield turn.__name__


@apps
def test_an_app_that_looks_survives_every_cut(provider: str, app: App) -> None:
    assert list(taken_for_complete(app, True, sweep.cuts(ANSWER, provider=provider))) == []
    with fake_llm.intercept([ANSWER]):
        assert app(True) == "Grüße"


@apps
def test_an_app_that_does_not_look_is_caught(provider: str, app: App) -> None:
    caught = list(taken_for_complete(app, False, sweep.cuts(ANSWER, then=EndOfStream(), provider=provider)))

    assert "end-of-stream-before-the-first-byte" in caught
    assert len(caught) >= 3


@apps
def test_every_split_is_heard_as_it_was_said(provider: str, app: App) -> None:
    for turn in sweep.splits(ANSWER, provider=provider)[::2]:
        with fake_llm.intercept([turn]):
            assert app(True) == "Grüße", turn.__name__


@needs("anthropic")
def test_thoughts_are_cut_as_well() -> None:
    turns = sweep.cuts(Reply(Thinking("Hmm"), "Grüße"), then=Disconnect(), provider="anthropic")

    assert list(taken_for_complete(on_anthropic, True, turns)) == []


def rebuilt(events: list[Any]) -> list[Any]:
    """The same events as other objects, as code that goes through JSON makes them."""
    return [
        Event(event.name, rebuilt([event.payload])[0])
        if isinstance(event, Event)
        else json.loads(json.dumps(event))
        if isinstance(event, dict)
        else event
        for event in events
    ]


def marked(events: list[Any]) -> list[Any]:
    """None of them as it was."""
    return [
        Event(event.name, event.payload | {"x_mark": 1})
        if isinstance(event, Event)
        else event | {"x_mark": 1}
        if isinstance(event, dict)
        else event
        for event in rebuilt(events)
    ]


@apps
@pytest.mark.parametrize("edit", [rebuilt, marked])
def test_no_cut_of_an_edited_answer_is_complete(provider: str, app: App, edit: Any) -> None:
    turn = ANSWER.replace(edit=edit)

    late = sweep.cuts(turn, then=EndOfStream(), provider=provider)[-6:]
    assert list(taken_for_complete(app, True, late)) == []
    assert list(taken_for_complete(app, False, late)), "who doesn't look takes what was said until then"
    with fake_llm.intercept([turn]):
        assert app(True) == "Grüße"


def reworded(events: list[Any]) -> list[Any]:
    """All are others, there are more of them, and the reason is one that nobody knows."""
    text = json.dumps(marked(events)).replace('"end_turn"', '"sated"')
    return [": hello\n\n", *json.loads(text), {"type": "ping"}]


def written(events: list[Any]) -> list[Any]:
    """As text, with more behind it."""
    return [*(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events), ": over\n\n"]


@needs("anthropic")
@pytest.mark.parametrize("edit", [reworded, written])
def test_no_cut_of_an_answer_that_has_become_another_is_complete(edit: Any) -> None:
    turns = sweep.cuts(ANSWER.replace(edit=edit), then=EndOfStream(), provider="anthropic")

    assert list(taken_for_complete(on_anthropic, True, turns[-9:])) == []
    with fake_llm.intercept([ANSWER.replace(edit=edit)]):
        assert on_anthropic(True) == "Grüße"


@needs("anthropic")
def test_an_answer_without_its_end_is_cut_in_all_its_events() -> None:
    turns = sweep.cuts(ANSWER.replace(edit=lambda events: events[:-2]), then=EndOfStream(), provider="anthropic")

    assert turns[-1].__name__.startswith("end-of-stream-in-event-6-of-6")
    assert list(taken_for_complete(on_anthropic, True, turns)) == []


@needs("openai")
def test_several_answers_are_cut_before_the_first_is_complete() -> None:
    def finished(turn: Any) -> set[int]:
        with fake_llm.intercept([turn]):
            stream = chat().chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "Hi"}], stream=True, n=3
            )
            return {choice.index for chunk in stream for choice in chunk.choices if choice.finish_reason}

    answers = Reply("one two", choices=["three", Reply("four five", finish_reason="length")])
    assert [finished(turn) for turn in sweep.cuts(answers, then=EndOfStream())[::2] if finished(turn)] == []
    assert finished(sweep.splits(answers)[0]) == {0, 1, 2}


@needs("openai")
@pytest.mark.parametrize("quirk", [quirks.usage_with_finish(), quirks.cumulative_usage()], ids=shown)
def test_quirks_of_usage_are_cut_for_code_that_asks_for_it(quirk: Any) -> None:
    def finish(turn: Any) -> str | None:
        with fake_llm.intercept([turn]):
            stream = chat().chat.completions.create(
                model="gpt-5",
                messages=[{"role": "user", "content": "Hi"}],
                stream=True,
                stream_options={"include_usage": True},
            )
            found = [choice.finish_reason for chunk in stream for choice in chunk.choices if choice.finish_reason]
            return found[0] if found else None

    turns = sweep.cuts(Reply("one two", edit=quirk), then=EndOfStream())
    assert [turn.__name__ for turn in turns if finish(turn)] == []
    assert finish(Reply("one two", edit=quirk)) == "stop"
