"""Sound, citations, custom tools, legacy functions and predictions in OpenAI chat, as the openai SDK reads them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import fake_llm
from _capability import needs
from fake_llm import Audio, Citation, FakeLLM, Refusal, ScriptMismatchError, ToolCall, Usage

pytestmark = needs("openai>=2")
HI = [{"role": "user", "content": "Say hello."}]
WAVE = bytes(range(256)) * 40
SPEAK: dict[str, Any] = {
    "model": "gpt-4o-audio-preview",
    "messages": HI,
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "wav"},
}
SEARCH: dict[str, Any] = {"model": "gpt-4o-mini-search-preview", "messages": HI, "web_search_options": {}}
CITED = ["The sky is ", Citation("blue", "https://sky.example", title="Sky"), "."]


def client(base_url: str | None = None, *, strict: bool = True) -> Any:
    import openai

    return openai.OpenAI(base_url=base_url, max_retries=0, _strict_response_validation=strict)


def deltas(*, strict: bool = True, **asked: Any) -> list[Any]:
    return [chunk.choices[0].delta for chunk in client(strict=strict).chat.completions.create(**asked, stream=True)]


@fake_llm.intercept([Audio(WAVE, transcript="Hello there!")])
def test_sound(fake: FakeLLM) -> None:
    answer = client().chat.completions.create(**SPEAK)

    message = answer.choices[0].message
    assert (message.content, message.audio.transcript) == (None, "Hello there!")
    assert base64.b64decode(message.audio.data) == WAVE
    assert message.audio.expires_at > answer.created
    assert message.audio.id.startswith("audio_")
    assert fake.usage.output_tokens > 0


@fake_llm.intercept([Audio(WAVE, transcript="Hello there!")])
def test_streamed_sound() -> None:
    heard = [delta.to_dict().get("audio") for delta in deltas(**SPEAK)]

    said = [audio for audio in heard if audio]
    assert said[0].keys() == {"id"}
    assert "".join(audio.get("transcript", "") for audio in said) == "Hello there!"
    assert base64.b64decode("".join(audio.get("data", "") for audio in said)) == WAVE
    assert sum("data" in audio for audio in said) > 1
    assert said[-1].keys() == {"expires_at"}


@fake_llm.intercept(["Hello.", "Fine."])
def test_sound_is_sent_back_by_its_id(fake: FakeLLM) -> None:
    client().chat.completions.create(**SPEAK)
    earlier = {"role": "assistant", "audio": {"id": "audio_1"}}
    client().chat.completions.create(**{**SPEAK, "messages": [*HI, earlier, *HI]})

    assert [message.text for message in fake.calls[1].messages] == ["Say hello.", "[audio]", "Say hello."]


@fake_llm.intercept([[Audio(b"a"), Audio(b"b")]], strict=False)
def test_two_sounds(fake: FakeLLM) -> None:
    with pytest.raises(ScriptMismatchError, match="holds one"):
        client().chat.completions.create(**SPEAK)
    fake.failures.clear()


@fake_llm.intercept([CITED])
def test_citations() -> None:
    answer = client().chat.completions.create(**SEARCH)

    message = answer.choices[0].message
    (note,) = message.annotations
    assert (note.type, note.url_citation.url, note.url_citation.title) == ("url_citation", "https://sky.example", "Sky")
    assert message.content[note.url_citation.start_index : note.url_citation.end_index] == "blue"
    assert "service_tier" not in answer.to_dict()


@fake_llm.intercept([CITED])
def test_streamed_citations() -> None:
    said = deltas(**SEARCH)

    assert "".join(delta.content or "" for delta in said) == "The sky is blue."
    (noted,) = [delta.to_dict()["annotations"] for delta in said if "annotations" in delta.to_dict()]
    assert noted[0]["url_citation"]["url"] == "https://sky.example"


HOSTS = {
    "openrouter": (
        "https://openrouter.ai/api/v1",
        lambda answer: answer["choices"][0]["message"]["annotations"][0]["url_citation"]["url"],
    ),
    "perplexity": ("https://api.perplexity.ai", lambda answer: answer["citations"][0]),
    "perplexity results": ("https://api.perplexity.ai", lambda answer: answer["search_results"][0]["url"]),
    "xai": ("https://api.x.ai/v1", lambda answer: answer["citations"][0]),
}


@pytest.mark.parametrize("host", HOSTS)
def test_citations_of_other_hosts(host: str) -> None:
    base_url, found = HOSTS[host]
    with fake_llm.intercept([CITED, CITED]):
        answer = client(base_url).chat.completions.create(model="a", messages=HI)
        chunks = list(client(base_url, strict=False).chat.completions.create(model="a", messages=HI, stream=True))

    assert found(answer.to_dict()) == "https://sky.example"
    assert answer.choices[0].message.content == "The sky is blue."
    assert "https://sky.example" in str([chunk.to_dict() for chunk in chunks])


@pytest.mark.parametrize("part", [CITED[1], Audio(b"a")])
@pytest.mark.parametrize("stream", [False, True])
def test_a_host_without_a_place_for_it(part: Any, stream: bool) -> None:
    with (
        pytest.raises(ScriptMismatchError, match=f"chat of groq has no place for {type(part).__name__}"),
        fake_llm.intercept([part]),
    ):
        client("https://api.groq.com/openai/v1").chat.completions.create(model="a", messages=HI, stream=stream)


CUSTOM: dict[str, Any] = {
    "model": "gpt-5",
    "messages": HI,
    "tools": [{"type": "custom", "custom": {"name": "code", "description": "Runs it."}}],
}


@pytest.mark.parametrize("arguments", ["print(1 + 1)", {"input": "print(1 + 1)"}])
def test_a_custom_tool_takes_text(arguments: Any) -> None:
    with fake_llm.intercept([ToolCall("code", arguments)] * 2):
        (call,) = client().chat.completions.create(**CUSTOM).choices[0].message.tool_calls
        said = deltas(**CUSTOM, strict=False)  # its types of chunks know functions only (3.57)

    assert (call.type, call.custom.name, call.custom.input) == ("custom", "code", "print(1 + 1)")
    pieces = [call for delta in said for call in delta.to_dict().get("tool_calls", ())]
    assert "".join(piece["custom"].get("input", "") for piece in pieces) == "print(1 + 1)"


LEGACY: dict[str, Any] = {
    "model": "gpt-3.5-turbo",
    "messages": HI,
    "functions": [{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}],
}


@fake_llm.intercept([ToolCall("add", {"a": 1}), ToolCall("add", {"a": 1}), ToolCall("add", {"a": "x"})], strict=False)
def test_legacy_functions(fake: FakeLLM) -> None:
    (choice,) = client().chat.completions.create(**LEGACY, function_call={"name": "add"}).choices
    said = deltas(**LEGACY)

    assert (choice.message.function_call.name, choice.message.function_call.arguments) == ("add", '{"a":1}')
    assert choice.finish_reason == "function_call"
    calls = [delta.function_call for delta in said if delta.function_call is not None]
    assert ("".join(call.name or "" for call in calls), "".join(call.arguments or "" for call in calls)) == (
        "add",
        '{"a":1}',
    )
    assert fake.calls[0].tools.keys() == {"add"}


@fake_llm.intercept([Refusal("No."), Refusal("No.")])
def test_refusal() -> None:
    answer = client().chat.completions.create(model="gpt-4o", messages=HI)
    said = deltas(model="gpt-4o", messages=HI)

    assert (answer.choices[0].message.refusal, answer.choices[0].message.content) == ("No.", None)
    assert "".join(delta.refusal or "" for delta in said) == "No."


def test_predicted_outputs() -> None:
    details = {"completion_tokens_details": {"accepted_prediction_tokens": 18, "rejected_prediction_tokens": 10}}
    prediction = {"type": "content", "content": "def f(): pass"}
    with fake_llm.intercept([fake_llm.Reply("def g(): pass", usage=Usage(10, 40, details=details))]):
        answer = client().chat.completions.create(model="gpt-4o", messages=HI, prediction=prediction)

    spent = answer.usage.completion_tokens_details
    assert (spent.accepted_prediction_tokens, spent.rejected_prediction_tokens, spent.reasoning_tokens) == (18, 10, 0)


@pytest.mark.parametrize("part", [CITED, [Audio(WAVE, transcript="Hi.")]])
def test_an_object_of_the_sdk_is_streamed_again(part: Any) -> None:
    with fake_llm.intercept([part]):
        whole = client().chat.completions.create(**SPEAK)
    with fake_llm.intercept([whole]):
        said = [delta.to_dict() for delta in deltas(**SPEAK)]

    message = whole.choices[0].message
    assert "".join(delta.get("content") or "" for delta in said) == (message.content or "")
    if message.annotations:
        assert [note.to_dict() for note in message.annotations] in [delta.get("annotations") for delta in said]
    if message.audio:
        assert "".join((delta.get("audio") or {}).get("data", "") for delta in said) == message.audio.data


@fake_llm.intercept(
    [["The sky is ", Citation("blue", "https://a.example"), Citation("", "https://b.example"), "."]] * 2
)
def test_one_more_source_is_of_the_same_text() -> None:
    (choice,) = client().chat.completions.create(**SEARCH).choices
    asked: dict[str, Any] = {"model": "gpt-5", "input": "Hi", "tools": [{"type": "web_search"}]}
    (message,) = client().responses.create(**asked).output

    noted = [note.url_citation for note in choice.message.annotations]
    assert choice.message.content == "The sky is blue."
    for notes in (noted, message.content[0].annotations):
        assert [(note.url, note.start_index, note.end_index) for note in notes] == [
            ("https://a.example", 11, 15),
            ("https://b.example", 11, 15),
        ]


@pytest.mark.parametrize(
    "url", ["https://api.mistral.ai/v1", "http://localhost:11434/v1", "https://api.together.xyz/v1"]
)
@fake_llm.intercept([[Refusal("No. "), "But this: ", Refusal("no.")]] * 2)
def test_a_refusal_among_texts_is_where_it_was_said_on_a_host_without_refusals(url: str) -> None:
    asked: dict[str, Any] = {"model": "m", "messages": HI}
    whole = client(url, strict=False).chat.completions.create(**asked).choices[0].message.content
    chunks = client(url, strict=False).chat.completions.create(**asked, stream=True)
    streamed = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert (whole, streamed) == ("No. But this: no.",) * 2
