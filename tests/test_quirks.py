"""What hosts do to an answer: each edit of `fake_llm.quirks`, in the bytes and as the SDKs read them."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _wire import events
from fake_llm import (
    Disconnect,
    Event,
    FakeLLM,
    Reply,
    ScriptError,
    ScriptMismatchError,
    Thinking,
    ToolCall,
    Usage,
    quirks,
)

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # SDKs that dump what they don't know

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}
FUNCTIONS = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in "fg"]
HI = [{"role": "user", "content": "Hi"}]
TWO = (ToolCall("f", {"x": 1}, id="id_f"), ToolCall("g", {"x": 2}, id="id_g"))
PARTS = (Thinking("Hm so."), "Let me.", *TWO)

# --- where they bend ----------------------------------------------------------------------------

CHAT = {"model": "m", "messages": HI, "tools": FUNCTIONS}
VERTEX = {
    "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    "tools": [{"functionDeclarations": [{"name": name, "parameters": SCHEMA} for name in "fg"]}],
}
CONVERSE = {
    "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    "toolConfig": {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": SCHEMA}}} for name in "fg"]},
}
MESSAGES = {
    "model": "claude-sonnet-5",
    "max_tokens": 9,
    "messages": HI,
    "tools": [{"name": name, "input_schema": SCHEMA} for name in "fg"],
}
RESPONSES = {
    "model": "gpt-5",
    "input": "Hi",
    "tools": [{"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in "fg"],
}
VENDORS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("https://api.openai.com/v1/chat/completions", {**CHAT, "stream_options": {"include_usage": True}}),
    "azure": ("https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", {**CHAT, "stream_options": {"include_usage": True}}),
    "deepseek": ("https://api.deepseek.com/chat/completions", CHAT),
    "mistral": ("https://api.mistral.ai/v1/chat/completions", CHAT),
    "openrouter": ("https://openrouter.ai/api/v1/chat/completions", CHAT),
    "perplexity": ("https://api.perplexity.ai/chat/completions", CHAT),
    "responses": ("https://api.openai.com/v1/responses", RESPONSES),
    "anthropic": ("https://api.anthropic.com/v1/messages", MESSAGES),
    "gemini": ("https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent", VERTEX),
    "ollama": ("http://localhost:11434/api/chat", CHAT),
    "cohere": ("https://api.cohere.com/v2/chat", CHAT),
    "bedrock": ("https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse", CONVERSE),
}  # fmt: skip
ALL = "chat azure deepseek mistral openrouter perplexity responses anthropic gemini ollama cohere bedrock"
IN_STREAMS = {"gemini": (":generateContent", ":streamGenerateContent?alt=sse"), "bedrock": ("/converse", "/converse-stream")}  # fmt: skip
CLIENT = httpx.Client(verify=False)  # one for all: to make one takes longer than most tests
KEYS = {"authorization": "Bearer k", "api-key": "k", "x-api-key": "k", "anthropic-version": "2023-06-01"}

PLACES: tuple[tuple[Any, str, str], ...] = (
    (quirks.no_tool_index(), "deepseek mistral openrouter perplexity ollama", ALL.replace(" gemini", "")),
    (quirks.shifted_tool_index(), "deepseek mistral openrouter perplexity ollama", ALL.replace(" gemini", "")),
    (quirks.shared_tool_index(), "deepseek mistral openrouter perplexity ollama", ALL.replace(" gemini", "")),
    (quirks.no_tool_ids(), ALL, ALL),
    (quirks.tool_ids(""), ALL, ALL),
    (quirks.tool_arguments(None), ALL, ALL),
    (quirks.object_arguments(), "chat azure deepseek mistral openrouter perplexity responses cohere", "chat azure deepseek mistral openrouter perplexity responses anthropic cohere bedrock"),
    (quirks.whole_tool_calls(), "", "chat azure deepseek openrouter perplexity responses anthropic cohere bedrock"),
    (quirks.interleaved_tool_calls(), "", "chat azure deepseek openrouter perplexity responses anthropic cohere bedrock"),
    (quirks.empty_choices_first(), "", "chat deepseek mistral openrouter perplexity"),
    (quirks.empty_deltas(), "", ALL),
    (quirks.null_deltas(), "", "chat azure deepseek openrouter perplexity"),
    (quirks.null_fields(), "chat azure deepseek mistral openrouter perplexity ollama cohere", "chat azure deepseek mistral openrouter perplexity ollama"),
    (quirks.mixed_chunks(), "", "chat azure deepseek mistral openrouter perplexity gemini ollama"),
    (quirks.no_usage(), ALL, ALL),
    (quirks.null_usage(), ALL, ALL),
    (quirks.null_usage_fields("input_tokens"), "responses anthropic", "responses anthropic"),
    (quirks.null_usage_fields("prompt_tokens"), "chat azure deepseek mistral openrouter perplexity", "chat azure deepseek mistral openrouter perplexity"),
    (quirks.null_usage_fields("eval_count", "prompt_eval_count"), "ollama", "ollama"),
    (quirks.usage_with_finish(), "", "chat azure deepseek mistral openrouter perplexity"),
    (quirks.cumulative_usage(), "", "chat azure deepseek mistral openrouter perplexity ollama"),
    (quirks.unknown_event(), "", ALL.replace(" gemini ollama", "")),
    (quirks.unknown_block(), ALL.replace(" ollama", ""), ALL.replace(" ollama", "")),
    (quirks.extra_fields(x_new="?"), ALL, ALL),
    (quirks.reasoning_as("thoughts"), "chat azure deepseek openrouter ollama", "chat azure deepseek openrouter ollama"),
)  # fmt: skip


def post(vendor: str, *, stream: bool) -> bytes:
    url, body = VENDORS[vendor]
    if vendor in IN_STREAMS:
        url = url.replace(*IN_STREAMS[vendor]) if stream else url
    else:
        body = {**body, "stream": stream}
    return CLIENT.post(url, json=body, headers=KEYS).content


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("quirk", "whole", "streamed"), PLACES, ids=[repr(row[0]) for row in PLACES])
def test_a_quirk_bends_where_it_can_and_fails_elsewhere(quirk: Any, whole: str, streamed: str, stream: bool) -> None:
    bent = []
    for vendor in VENDORS:
        with fake_llm.intercept([Reply(*PARTS), Reply(*PARTS, edit=quirk)], strict=False) as fake:
            plain = post(vendor, stream=stream)
            try:
                bytes_of_it = post(vendor, stream=stream)
            except ScriptMismatchError as failure:
                failed = failure
            else:
                assert bytes_of_it != plain
                bent.append(vendor)
                continue
        assert str(failed).startswith(f"The turn has edit={quirk!r}, and this answer has nothing for it.\nIt bends ")
        assert fake.failures == [failed]
    assert bent == [vendor for vendor in VENDORS if vendor in (streamed if stream else whole).split()]


@pytest.mark.parametrize("quirk", [row[0] for row in PLACES if not row[1]], ids=repr)
def test_what_is_of_streams_leaves_no_whole_answer_changed(quirk: Any) -> None:
    for vendor in VENDORS:
        with fake_llm.intercept([Reply("Hi", edit=quirk)], strict=False), pytest.raises(ScriptMismatchError):
            post(vendor, stream=False)


def test_every_quirk_has_its_row() -> None:
    assert sorted({repr(quirk).partition("(")[0] for quirk, _, _ in PLACES}) == [
        f"quirks.{name}" for name in quirks.__all__
    ]


# --- how they are written -----------------------------------------------------------------------


def test_quirks_are_shown_as_they_are_written() -> None:
    for quirk, _, _ in PLACES:
        again = eval(repr(quirk), {"quirks": quirks})
        assert repr(again) == repr(quirk)
    edits = [quirks.no_tool_index(), quirks.tool_ids("")]
    assert repr(Reply("Hi", edit=edits)) == "Reply('Hi', edit=[quirks.no_tool_index(), quirks.tool_ids('')])"
    assert Reply("Hi", edit=edits).replace(id="1").edit == Reply("Hi", edit=tuple(edits)).edit


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Reply(edit=quirks.no_usage), "Reply got edit=quirks.no_usage.\nIt is a function that gives an edit, and isn't one.\nWrite edit=quirks.no_usage(…), with parentheses."),
        (lambda: Reply(edit=[]), "Reply got edit=().\nedit is a function over the list of wire events that returns the list to send, or a list of such.\nWrite edit=lambda events: events."),
        (lambda: Reply(edit=[quirks.no_usage(), 3]), "Reply got edit=3.\n"),
        (lambda: quirks.shifted_tool_index(0), "quirks.shifted_tool_index got by=0.\nIt is a whole number, and not zero.\nWrite quirks.shifted_tool_index(1)."),
        (lambda: quirks.tool_ids(3), "quirks.tool_ids got 3.\n"),  # type: ignore[arg-type]
        (lambda: quirks.tool_arguments(object), "quirks.tool_arguments got <class 'object'>.\n"),
        (lambda: quirks.null_usage_fields(), "quirks.null_usage_fields got ().\n"),
        (lambda: quirks.extra_fields(), "quirks.extra_fields got nothing.\n"),
        (lambda: quirks.reasoning_as(""), "quirks.reasoning_as got ''.\n"),
    ],
)  # fmt: skip
def test_what_can_be_no_quirk_is_refused_where_it_is_written(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_several_edits_are_made_one_after_the_other() -> None:
    seen: list[Any] = []

    def look(sent: list[Any]) -> list[Any]:
        seen.append(len(sent))
        return sent[1:]

    with fake_llm.intercept(
        [Reply("Hello there", edit=[look, quirks.no_usage(), look, lambda sent: [*sent, b": end\n\n"]])]
    ):
        body = post("chat", stream=True)
    assert seen[1] == seen[0] - 2
    assert body.count(b"data: {") == seen[1] - 1
    assert body.endswith(b": end\n\ndata: [DONE]\n\n")


def test_an_edit_alters_nothing_but_its_own_answer() -> None:
    """Parts of events may be constants, or the same in several events."""

    def spoil(sent: list[Any]) -> list[Any]:
        def below(value: Any) -> None:
            for item in [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ():
                below(item)
            if isinstance(value, dict):
                value["spoilt"] = True

        for event in sent:
            below(getattr(event, "payload", event))
        return sent

    for vendor in VENDORS:
        for stream in (False, True):
            with fake_llm.intercept([Reply(*PARTS)]):
                before = post(vendor, stream=stream)
            with fake_llm.intercept([Reply(*PARTS, edit=spoil)]):
                assert b"spoilt" in post(vendor, stream=stream)
            with fake_llm.intercept([Reply(*PARTS)]):
                assert post(vendor, stream=stream) == before


def test_a_stream_that_breaks_off_is_bent_too() -> None:
    with (
        fake_llm.intercept([Reply(*TWO, edit=quirks.no_tool_index(), then=Disconnect())]) as fake,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        post("chat", stream=True)
    assert b'"tool_calls":[{"id"' in (fake.calls[0].response.body or b"")


def test_a_mismatch_shows_what_there_was() -> None:
    with (
        fake_llm.intercept([Reply("Hi", edit=quirks.no_tool_index())], strict=False),
        pytest.raises(ScriptMismatchError) as caught,
    ):
        post("chat", stream=True)
    came, there, write = str(caught.value).split("\n")
    assert came == "The turn has edit=quirks.no_tool_index(), and this answer has nothing for it."
    assert there.startswith(
        "It bends tool calls that have an index, as most vendors stream them. The answer is {'id': 'chatcmpl-"
    )
    assert there.endswith(", …")
    assert write == "Write a turn that has this, let the code ask another way, or leave the edit out."


@pytest.mark.parametrize("stream", [False, True])
def test_broken_arguments_are_no_object(stream: bool) -> None:
    with (
        fake_llm.intercept([Reply(ToolCall("f", '{"x'), edit=quirks.object_arguments())], strict=False),
        pytest.raises(ScriptMismatchError),
    ):
        post("chat", stream=stream)


# --- as the SDKs read them ----------------------------------------------------------------------


def sent(fake: FakeLLM) -> list[Any]:
    """The payloads of the one answer, its terminator left out."""
    body = fake.calls[0].response.body or b""
    if not fake.calls[0].stream:
        return [json.loads(body)]
    return [json.loads(data) for _, data in events(body) if data != "[DONE]"] or [
        json.loads(line) for line in body.splitlines()
    ]


def deltas(fake: FakeLLM) -> list[Any]:
    return [choice["delta"] for chunk in sent(fake) for choice in chunk["choices"]]


def pieces(fake: FakeLLM) -> list[Any]:
    """The pieces of tool calls in the deltas of OpenAI chat."""
    return [call for delta in deltas(fake) for call in (delta or {}).get("tool_calls", ())]


def answer(edit: Any, *parts: Any, **options: Any) -> fake_llm.intercept:
    return fake_llm.intercept([Reply(*(parts or TWO), edit=edit, **options)])


def openai_client(**options: Any) -> Any:
    import openai

    return openai.OpenAI(max_retries=0, **options)


def chunks() -> list[Any]:
    return [*openai_client().chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True})]


def completed() -> Any:
    """The answer as openai's own helper puts it together from a stream."""
    with openai_client().chat.completions.stream(**CHAT, stream_options={"include_usage": True}) as stream:
        return stream.get_final_completion()


def calls(completion: Any) -> list[Any]:
    return [(call.id, call.function.name, call.function.arguments) for call in completion.choices[0].message.tool_calls]


def responded() -> Any:
    with openai_client().responses.stream(**RESPONSES) as stream:
        return stream.get_final_response()


def message() -> Any:
    """The answer as anthropic's own helper puts it together from a stream."""
    import anthropic

    with anthropic.Anthropic(max_retries=0).messages.stream(**MESSAGES) as stream:
        return stream.get_final_message()


def used(message: Any) -> list[Any]:
    return [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]


def gemini(*, stream: bool) -> list[Any]:
    """The parts of Gemini's answer, as google-genai reads them."""
    from google import genai

    config: Any = {"tools": [{"function_declarations": [{"name": name, "parameters": SCHEMA} for name in "fg"]}]}
    client = genai.Client(api_key="k")
    asked: Any = {"model": "gemini-3-pro", "contents": "Hi", "config": config}
    models = client.models
    answers = models.generate_content_stream(**asked) if stream else [models.generate_content(**asked)]
    return [part for one in answers for part in one.candidates[0].content.parts]


def local(*, stream: bool) -> list[Any]:
    """The messages of Ollama's answer."""
    import ollama

    answers = ollama.Client().chat(**CHAT, stream=stream)
    return [*answers] if stream else [answers]


def converse() -> list[Any]:
    import boto3

    client = boto3.session.Session().client("bedrock-runtime", "us-east-1")
    return [*client.converse_stream(modelId="m", **CONVERSE)["stream"]]


openai_3 = needs("openai>=3")
"""The outcome is that of openai's current helpers."""


@needs("openai")
def test_no_tool_index() -> None:
    with answer(quirks.no_tool_index()) as fake:
        found = [call for chunk in chunks() for choice in chunk.choices for call in choice.delta.tool_calls or ()]
    assert [call.index for call in found] == [None] * 6
    assert "".join(call.function.arguments for call in found) == '{"x":1}{"x":2}'
    assert not any("index" in call for call in pieces(fake))


@openai_3
def test_no_tool_index_in_helpers() -> None:
    with answer(quirks.no_tool_index()), pytest.raises(TypeError, match="list indices must be integers"):
        completed()
    with answer(quirks.no_tool_index()), pytest.raises(RuntimeError, match="Duplicate response output index None"):
        responded()


@needs("anthropic>=2")
def test_no_block_index() -> None:
    with answer(quirks.no_tool_index()) as fake, pytest.raises(TypeError, match="list indices must be integers"):
        message()
    starts = [event for event in sent(fake) if event["type"] == "content_block_start"]
    assert [sorted(event) for event in starts] == [["content_block", "type"]] * 2


@needs("openai")
def test_shifted_tool_index() -> None:
    with answer(quirks.shifted_tool_index()) as fake, pytest.raises(IndexError):
        completed()
    assert [call["index"] for call in pieces(fake)] == [1, 1, 1, 2, 2, 2]


@needs("anthropic")
def test_a_gap_between_blocks() -> None:
    with answer(quirks.shifted_tool_index(), "Let me.", *TWO) as fake, pytest.raises(IndexError):
        message()
    starts = [event for event in sent(fake) if event["type"] == "content_block_start"]
    assert [event["index"] for event in starts] == [0, 2, 3]


@needs("openai")
def test_shared_tool_index() -> None:
    with answer(quirks.shared_tool_index()) as fake:
        assert calls(completed()) == [("id_fid_g", "fg", '{"x":1}{"x":2}')]
    assert {call["index"] for call in pieces(fake)} == {0}


@needs("anthropic")
def test_shared_block_index() -> None:
    with answer(quirks.shared_tool_index()) as fake:
        assert used(message()) == [("id_f", "f", {"x": 1}), ("id_g", "g", {})]
    assert {event["index"] for event in sent(fake) if "index" in event} == {0}


@needs("openai")
@pytest.mark.parametrize("value", [None, "", "same"])
def test_tool_ids(value: str | None) -> None:
    with answer(quirks.tool_ids(value)) as fake:
        assert [call[0] for call in calls(openai_client().chat.completions.create(**CHAT))] == [value] * 2
    assert [call["id"] for call in sent(fake)[0]["choices"][0]["message"]["tool_calls"]] == [value] * 2
    with answer(quirks.tool_ids(value)) as fake:
        assert [call[1] for call in calls(completed())] == ["f", "g"]
    assert [call["id"] for call in pieces(fake) if "id" in call] == [value] * 2


@needs("openai")
def test_no_tool_ids() -> None:
    with answer(quirks.no_tool_ids()) as fake:
        assert [call[0] for call in calls(completed())] == [None, None]
    assert not any("id" in call for call in pieces(fake))


@openai_3
def test_no_call_ids_in_responses() -> None:
    with answer(quirks.no_tool_ids()) as fake:
        output = openai_client().responses.create(**RESPONSES).output
    assert [(item.type, item.call_id, item.name) for item in output] == [
        ("function_call", None, "f"),
        ("function_call", None, "g"),
    ]
    assert not any("call_id" in item for item in sent(fake)[0]["output"])


@needs("google-genai>=2")
@pytest.mark.parametrize("stream", [False, True])
def test_no_tool_ids_in_gemini(stream: bool) -> None:
    with answer(quirks.no_tool_ids()) as fake:
        assert [(part.function_call.name, part.function_call.id) for part in gemini(stream=stream)] == [
            ("f", None),
            ("g", None),
        ]
    assert b'"id"' not in (fake.calls[0].response.body or b"")


@needs("openai")
@pytest.mark.parametrize("value", [None, "", {}])
def test_tool_arguments(value: Any) -> None:
    with answer(quirks.tool_arguments(value)) as fake:
        assert [call[2] for call in calls(openai_client().chat.completions.create(**CHAT))] == [value] * 2
    assert [call["function"]["arguments"] for call in sent(fake)[0]["choices"][0]["message"]["tool_calls"]] == [
        value
    ] * 2
    with answer(quirks.tool_arguments(value)) as fake:
        assert [call[2] for call in calls(completed())] == [value] * 2
    assert [call["function"] for call in pieces(fake)] == [{"name": name, "arguments": value} for name in "fg"]


@openai_3
def test_tool_arguments_in_responses() -> None:
    with answer(quirks.tool_arguments("")) as fake:
        assert [item.arguments for item in responded().output] == ["", ""]
    assert "response.function_call_arguments.delta" not in {event["type"] for event in sent(fake)}
    assert [event["sequence_number"] for event in sent(fake)] == [*range(len(sent(fake)))]


@needs("anthropic")
def test_tool_arguments_of_anthropic() -> None:
    with answer(quirks.tool_arguments("")) as fake:
        assert used(message()) == [("id_f", "f", {}), ("id_g", "g", {})]
    assert [event["delta"]["partial_json"] for event in sent(fake) if event["type"] == "content_block_delta"] == [
        "",
        "",
    ]


@needs("ollama>=0.6")
@pytest.mark.parametrize("stream", [False, True])
def test_tool_arguments_of_ollama(stream: bool) -> None:
    with answer(quirks.tool_arguments('{"x":1}')) as fake, pytest.raises(ValueError, match="valid dictionary"):
        local(stream=stream)
    assert b'"arguments":"{\\"x\\":1}"' in (fake.calls[0].response.body or b"")


@needs("openai")
def test_whole_tool_calls() -> None:
    with answer(quirks.whole_tool_calls(), *TWO, ToolCall("f", "", id="id_3")) as fake:
        found = [call for chunk in chunks() for choice in chunk.choices for call in choice.delta.tool_calls or ()]
    assert [(call.function.name, call.function.arguments) for call in found] == [
        ("f", '{"x":1}'),
        ("g", '{"x":2}'),
        ("f", ""),
    ]
    assert len(pieces(fake)) == 3


@needs("anthropic")
def test_blocks_of_one_piece() -> None:
    with answer(quirks.whole_tool_calls()) as fake:
        assert used(message()) == [("id_f", "f", {"x": 1}), ("id_g", "g", {"x": 2})]
    assert [event["delta"]["partial_json"] for event in sent(fake) if event["type"] == "content_block_delta"] == [
        '{"x":1}',
        '{"x":2}',
    ]


@needs("openai")
def test_object_arguments() -> None:
    with answer(quirks.object_arguments()) as fake:
        assert [call[2] for call in calls(completed())] == [{"x": 1}, {"x": 2}]
    assert [call["function"]["arguments"] for call in pieces(fake)] == [{"x": 1}, {"x": 2}]


@needs("anthropic")
def test_arguments_in_the_start_of_a_block() -> None:
    with answer(quirks.object_arguments()) as fake:
        assert used(message()) == [("id_f", "f", {"x": 1}), ("id_g", "g", {"x": 2})]
    assert "content_block_delta" not in {event["type"] for event in sent(fake)}


@needs("openai")
def test_interleaved_tool_calls() -> None:
    with answer(quirks.interleaved_tool_calls()) as fake:
        assert calls(completed()) == [("id_f", "f", '{"x":1}'), ("id_g", "g", '{"x":2}')]
    assert [call["index"] for call in pieces(fake)] == [0, 1] * 3


@openai_3
def test_interleaved_tool_calls_of_responses() -> None:
    with answer(quirks.interleaved_tool_calls()) as fake:
        assert [(item.name, item.arguments) for item in responded().output] == [("f", '{"x":1}'), ("g", '{"x":2}')]
    assert [event["output_index"] for event in sent(fake) if "output_index" in event] == [0, 1] * 5
    assert [event["sequence_number"] for event in sent(fake)] == [*range(len(sent(fake)))]


@needs("anthropic")
def test_interleaved_blocks() -> None:
    with answer(quirks.interleaved_tool_calls()) as fake:
        assert used(message()) == [("id_f", "f", {"x": 1}), ("id_g", "g", {"x": 2})]
    assert [event["index"] for event in sent(fake) if "index" in event] == [0, 1] * 5


@needs("openai")
def test_empty_choices_first() -> None:
    with answer(quirks.empty_choices_first(), "Hi") as fake:
        first, *rest = chunks()
    assert (first.choices, first.id, first.created) == ([], "", 0)
    assert "".join(choice.delta.content or "" for chunk in rest for choice in chunk.choices) == "Hi"
    assert sent(fake)[0]["prompt_filter_results"] == [{"prompt_index": 0, "content_filter_results": {}}]


@needs("openai")
def test_empty_deltas() -> None:
    with answer(quirks.empty_deltas(), "Let me.", *TWO) as fake:
        assert calls(completed()) == [("id_f", "f", '{"x":1}'), ("id_g", "g", '{"x":2}')]
    assert [delta["content"] for delta in deltas(fake) if "content" in delta] == ["", "", "Let", " me.", ""]
    empty, start = ({"index": index, "function": {"arguments": ""}} for index in range(2))
    assert [call for call in pieces(fake) if call in (empty, start)] == [empty, empty, start, start]


@needs("anthropic")
def test_empty_deltas_of_anthropic() -> None:
    with answer(quirks.empty_deltas(), Thinking("Hm so.", signature="c2ln"), "Hi") as fake:
        assert [getattr(block, block.type) for block in message().content] == ["Hm so.", "Hi"]
    found = [event["delta"] for event in sent(fake) if event["type"] == "content_block_delta"]
    assert [delta.get("thinking", delta.get("text", "signature")) for delta in found] == [
        "",
        "Hm",
        " so.",
        "",
        "signature",
        "",
        "Hi",
        "",
    ]


@needs("boto3")
def test_empty_deltas_of_bedrock() -> None:
    with answer(quirks.empty_deltas(), Thinking("Hm", signature="c2ln"), "Hi"):
        found = [event["contentBlockDelta"]["delta"] for event in converse() if "contentBlockDelta" in event]
    thoughts = [{"reasoningContent": {"text": text}} for text in ("", "Hm", "")]
    assert found == [*thoughts, {"reasoningContent": {"signature": "c2ln"}}, {"text": ""}, {"text": "Hi"}, {"text": ""}]


@needs("google-genai>=2")
def test_empty_deltas_of_gemini() -> None:
    with answer(quirks.empty_deltas(), "Hi you."):
        assert [part.text for part in gemini(stream=True)] == ["", "Hi", " you."]  # the last one ends the answer


@needs("openai>=2")
def test_null_deltas() -> None:
    with answer(quirks.null_deltas(), "Hi") as fake:
        assert [choice.delta for chunk in chunks() for choice in chunk.choices][-1] is None
    assert [delta is None for delta in deltas(fake)] == [False, False, True]
    with (
        answer(quirks.null_deltas(), "Hi"),
        pytest.raises(AttributeError, match="'NoneType' object has no attribute 'to_dict'"),
    ):
        completed()


@needs("openai")
def test_null_fields() -> None:
    with answer(quirks.null_fields()) as fake:
        assert calls(completed()) == [("id_f", "f", '{"x":1}'), ("id_g", "g", '{"x":2}')]
    assert all({"content", "refusal", "tool_calls", "function_call"} <= delta.keys() for delta in deltas(fake))
    assert deltas(fake)[-1]["content"] is None


@needs("ollama>=0.6")
def test_null_fields_of_ollama() -> None:
    with answer(quirks.null_fields(), "Hi") as fake:
        assert [one.message.tool_calls for one in local(stream=True)] == [None, None]
    assert sent(fake)[0]["message"]["tool_calls"] is None


@needs("openai")
def test_mixed_chunks() -> None:
    with answer(quirks.mixed_chunks(), *PARTS) as fake:
        found = completed()
    assert (found.choices[0].message.content, found.usage.total_tokens) == ("Let me.", fake.usage.total)
    assert calls(found) == [("id_f", "f", '{"x":1}'), ("id_g", "g", '{"x":2}')]
    first, second, third, *_, last = sent(fake)
    assert first["choices"][0]["delta"]["role"] == "assistant"
    assert first["choices"][0]["delta"]["reasoning_content"] == "Hm"
    assert second["choices"][0]["delta"] == {"reasoning_content": " so.", "content": "Let"}
    assert third["choices"][0]["delta"].keys() == {"content", "tool_calls"}
    assert (last["choices"][0]["finish_reason"], last["usage"]["total_tokens"]) == ("tool_calls", fake.usage.total)


@needs("openai")
def test_a_whole_answer_in_one_chunk() -> None:
    with answer(quirks.mixed_chunks(), "Hello there", chunk_size=100) as fake:
        [chunk] = chunks()
    assert (chunk.choices[0].delta.content, chunk.choices[0].finish_reason) == ("Hello there", "stop")
    assert chunk.usage.total_tokens == fake.usage.total


@needs("google-genai>=2")
def test_mixed_chunks_of_gemini() -> None:
    with answer(quirks.mixed_chunks(), *PARTS) as fake:
        parts = gemini(stream=True)
    assert "".join(part.text or "" for part in parts if part.thought) == "Hm so."
    assert "".join(part.text or "" for part in parts if not part.thought) == "Let me."
    assert [len(chunk["candidates"][0]["content"]["parts"]) for chunk in sent(fake)] == [1, 2, 1, 2, 1]


@needs("ollama>=0.6")
def test_mixed_chunks_of_ollama() -> None:
    with answer(quirks.mixed_chunks(), *PARTS):
        found = local(stream=True)
    assert [(one.message.thinking, one.message.content) for one in found] == [
        ("Hm", ""),
        (" so.", "Let"),
        (None, " me."),
        (None, ""),
    ]
    assert (found[-1].done_reason, len(found[-1].message.tool_calls)) == ("stop", 1)


@needs("openai")
@pytest.mark.parametrize("edit", [quirks.no_usage(), quirks.null_usage()], ids=repr)
def test_without_usage(edit: Any) -> None:
    with answer(edit, "Hi") as fake:
        assert openai_client().chat.completions.create(**CHAT).usage is None
    assert ("usage" in sent(fake)[0]) is (edit == quirks.null_usage())
    with answer(edit, "Hi"):
        assert {chunk.usage for chunk in chunks()} == {None}
    with answer(edit, "Hi"):
        assert completed().usage is None


@needs("anthropic>=2")
@pytest.mark.parametrize("edit", [quirks.no_usage(), quirks.null_usage()], ids=repr)
def test_without_usage_of_anthropic(edit: Any) -> None:
    with (
        answer(edit, "Hi") as fake,
        pytest.raises(AttributeError, match="'NoneType' object has no attribute 'output_tokens'"),
    ):
        message()
    [start] = [event for event in sent(fake) if event["type"] == "message_start"]
    assert ("usage" in start["message"]) is (edit == quirks.null_usage())


@needs("google-genai>=2", "ollama>=0.6")
def test_without_usage_elsewhere() -> None:
    with answer(quirks.no_usage(), "Hi") as fake:
        gemini(stream=True)
    assert not any("usageMetadata" in chunk for chunk in sent(fake))
    with answer(quirks.no_usage(), "Hi") as fake:
        assert (local(stream=True)[-1].eval_count, "eval_count" in sent(fake)[-1]) == (None, False)


@needs("anthropic")
def test_null_usage_fields() -> None:
    edit = quirks.null_usage_fields("input_tokens", "cache_read_input_tokens")
    with answer(edit, "Hi", usage=Usage(10, 7)) as fake:
        spent = message().usage
    assert (spent.input_tokens, spent.output_tokens) == (10, 7)
    assert sent(fake)[-2]["usage"]["input_tokens"] is None
    assert sent(fake)[0]["message"]["usage"]["input_tokens"] == 10


@pytest.mark.parametrize("vendor", VENDORS)
def test_fields_that_the_usage_has_not(vendor: str) -> None:
    with (
        fake_llm.intercept([Reply("Hi", edit=quirks.null_usage_fields("zzz", "zz"))], strict=False),
        pytest.raises(ScriptMismatchError) as failed,
    ):
        post(vendor, stream=False)
    there = str(failed.value).splitlines()[1]
    assert there.startswith("It bends fields that the last usage has: ")
    assert ". It has no zzz and no zz. " in there
    assert {"chat": "prompt_tokens, ", "ollama": "total_duration, ", "gemini": "promptTokenCount, "}.get(
        vendor, ""
    ) in there


@needs("openai")
def test_usage_with_finish() -> None:
    with answer(quirks.usage_with_finish(), "Hi", usage=Usage(1, 2)) as fake:
        *_, finish, last = chunks()
    assert (finish.choices[0].finish_reason, finish.usage.total_tokens) == ("stop", 3)
    assert (last.choices, last.usage) == ([], None)
    assert "usage" not in sent(fake)[-1]


@openai_3
def test_usage_with_finish_in_the_helper() -> None:
    with answer(quirks.usage_with_finish(), "Hi", usage=Usage(1, 2)):
        assert completed().usage is None  # 3.57 keeps the last chunk's


@needs("openai")
def test_cumulative_usage() -> None:
    with answer(quirks.cumulative_usage(), "One two three", usage=Usage(4, 10)) as fake:
        assert completed().usage.completion_tokens == 10
    assert [chunk["usage"]["completion_tokens"] for chunk in sent(fake)] == [2, 4, 6, 8, 10, 10]
    assert [chunk["usage"]["total_tokens"] for chunk in sent(fake)] == [6, 8, 10, 12, 14, 14]


@needs("ollama>=0.6")
def test_cumulative_usage_of_ollama() -> None:
    with answer(quirks.cumulative_usage(), "One two", usage=Usage(4, 9)):
        assert [(one.prompt_eval_count, one.eval_count) for one in local(stream=True)] == [(4, 3), (4, 6), (4, 9)]


@needs("openai")
def test_unknown_event() -> None:
    with answer(quirks.unknown_event("ping"), "Hi") as fake:
        assert [chunk.choices is None for chunk in chunks()] == [False, True, False, False, False]
    assert b'event: ping\ndata: {"type":"ping"}\n\n' in (fake.calls[0].response.body or b"")
    with answer(quirks.unknown_event("response.new", detail=1), "Hi") as fake:
        stream = openai_client().responses.create(**RESPONSES, stream=True)
        assert [event.type for event in stream][:3] == ["response.created", "response.new", "response.in_progress"]
    assert sent(fake)[1] == {"type": "response.new", "detail": 1, "sequence_number": 1}


@needs("anthropic", "boto3")
def test_unknown_event_elsewhere() -> None:
    with answer(quirks.unknown_event("new_event"), "Hi") as fake:
        assert message().content[0].text == "Hi"
    assert sent(fake)[1] == {"type": "new_event"}
    with answer(quirks.unknown_event("newEvent"), "Hi") as fake:
        assert (
            "".join(event["contentBlockDelta"]["delta"]["text"] for event in converse() if "contentBlockDelta" in event)
            == "Hi"
        )
    assert b"newEvent" in (fake.calls[0].response.body or b"")


@needs("anthropic")
def test_unknown_block() -> None:
    with answer(quirks.unknown_block("new_block", data=1), "Hi") as fake:
        assert [block.type for block in message().content] == ["text", "new_block"]
    start, stop = [event for event in sent(fake) if event.get("index") == 1]
    assert start == {"type": "content_block_start", "index": 1, "content_block": {"type": "new_block", "data": 1}}
    assert stop == {"type": "content_block_stop", "index": 1}


@openai_3
def test_unknown_item() -> None:
    with answer(quirks.unknown_block("new_item"), "Hi") as fake:
        assert [item.type for item in responded().output] == ["message", "new_item"]
    assert [event["type"] for event in sent(fake)][-3:] == [
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
    ]
    with answer(quirks.unknown_block("new_item"), "Hi"):
        assert [item.type for item in openai_client().responses.create(**RESPONSES).output] == ["message", "new_item"]


@needs("openai")
def test_content_as_a_list() -> None:
    with answer(quirks.unknown_block(), "Hi"):
        found = openai_client().chat.completions.create(**CHAT).choices[0].message.content
    assert found == [{"type": "text", "text": "Hi"}, {"type": "new_block"}]


@needs("mistralai>=2")
def test_unknown_block_of_mistral() -> None:
    from mistralai.client import Mistral

    asked: Any = {key: value for key, value in CHAT.items() if key != "tools"}
    with answer(quirks.unknown_block(), "Hi"), Mistral(api_key="k") as client:
        found = client.chat.complete(**asked).choices[0].message.content
    assert [block.type for block in found] == ["text", "UNKNOWN"]


@needs("google-genai>=2")
@pytest.mark.parametrize("stream", [False, True])
def test_unknown_part(stream: bool) -> None:
    with answer(quirks.unknown_block("newPart", x=1), "Hi") as fake:
        assert [part.text for part in gemini(stream=stream)] == ["Hi", None]
    assert sent(fake)[-1]["candidates"][0]["content"]["parts"][-1] == {"newPart": {"x": 1}}


@needs("openai", "anthropic", "boto3")
def test_extra_fields() -> None:
    edit = quirks.extra_fields(x_new="?")
    with answer(edit) as fake:
        found = openai_client().chat.completions.create(**CHAT)
    choice = found.choices[0]
    assert [thing.x_new for thing in (found, choice, choice.message, choice.message.tool_calls[0], found.usage)] == [
        "?"
    ] * 5
    assert json.loads(sent(fake)[0]["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == {"x": 1}
    with answer(edit):
        assert used(message()) == [("id_f", "f", {"x": 1}), ("id_g", "g", {"x": 2})]
    with answer(edit, "Hi") as fake:
        assert [event["contentBlockDelta"]["delta"] for event in converse() if "contentBlockDelta" in event] == [
            {"text": "Hi"}
        ]
    assert b"x_new" in (fake.calls[0].response.body or b"")


@needs("openai")
def test_reasoning_as() -> None:
    with answer(quirks.reasoning_as("reasoning"), Thinking("Hm so."), "Hi"):
        said = openai_client().chat.completions.create(**CHAT).choices[0].message
    assert (said.content, said.reasoning, getattr(said, "reasoning_content", None)) == ("Hi", "Hm so.", None)
    with answer(quirks.reasoning_as("reasoning_details"), Thinking("Hm so."), "Hi") as fake:
        chunks()
    thoughts = [delta["reasoning_details"] for delta in deltas(fake) if "reasoning_details" in delta]
    assert "".join(thought[0]["text"] for thought in thoughts) == "Hm so."


@needs("openai")
def test_a_host_that_has_that_name_already() -> None:
    with (
        fake_llm.intercept([Reply(Thinking("Hm"), "Hi", edit=quirks.reasoning_as("reasoning"))], strict=False),
        pytest.raises(ScriptMismatchError, match="thoughts of OpenAI chat or Ollama under another key"),
    ):
        openai_client(base_url="https://openrouter.ai/api/v1", api_key="k").chat.completions.create(**CHAT)


# --- two together -------------------------------------------------------------------------------

WORDS = ({"a": "hello world foo"}, {"b": "hello world foo"})
CALLS = tuple(ToolCall(name, words, id=f"id_{name}") for name, words in zip("fg", WORDS, strict=True))
TOGETHER: tuple[Any, ...] = (
    *(quirk for quirk, _, _ in PLACES),
    *(quirks.shifted_tool_index(-1), quirks.tool_ids(None), quirks.tool_ids("same")),
    *(quirks.tool_arguments(""), quirks.tool_arguments({"z": 1}), quirks.reasoning_as("reasoning_details")),
)
PAIRS = [*itertools.product(TOGETHER, TOGETHER)]
WAYS = [
    *itertools.product(
        ["chat", "mistral", "responses", "anthropic", "gemini", "ollama", "cohere", "bedrock"], (True, False)
    )
]
AGAIN = ("response.created", "response.in_progress", "response.completed", "response.output_item.added")
INDEXES = ("index", "contentBlockIndex", "output_index")


def wire(vendor: str, stream: bool, *parts: Any) -> list[Any]:
    """The events of an answer, as an edit gets them."""
    seen: list[Any] = []

    def keep(events: list[Any]) -> list[Any]:
        seen.extend(copy.deepcopy(events))
        return events

    with fake_llm.intercept([Reply(*parts, edit=keep)], strict=False):
        post(vendor, stream=stream)
    return seen


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(item)


def part_of_a_call(thing: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """The name, the id and the arguments in it; `...` for those that it hasn't."""
    if isinstance(function := thing.get("function"), dict):
        return function.get("name"), thing.get("id"), function.get("arguments", ...)
    for key, id_, arguments in (("functionCall", "id", "args"), ("toolUse", "toolUseId", "input")):
        if isinstance(call := thing.get(key), dict):
            return call.get("name"), call.get(id_), call.get(arguments, ...)
    kinds = {
        "tool_use": ("id", "input"),
        "function_call": ("call_id", "arguments"),
        "input_json_delta": ("", "partial_json"),
    }
    if thing.get("type") not in kinds:
        return None
    id_, arguments = kinds[thing["type"]]
    return thing.get("name"), thing.get(id_), thing.get(arguments, ...)


def read(wired: list[Any]) -> list[list[Any]]:
    """The calls, as one reads them for whom a name begins a call, and what has no index is of the last one."""
    calls: list[list[Any]] = []
    at: dict[Any, list[Any]] = {}
    for event in wired:
        payload = event.payload if isinstance(event, Event) else event
        if payload.get("type") in AGAIN:
            continue
        block = next((payload[key] for key in INDEXES if isinstance(payload.get(key), int)), None)
        for thing in objects(payload):
            part = part_of_a_call(thing)
            if part is None:
                continue
            name, id_, arguments = part
            place = thing.get("index", thing.get("function", {}).get("index", block))
            if name:
                at[place] = [name, id_, []]
                calls.append(at[place])
            call = calls[-1] if place is None else at[place]
            if isinstance(arguments, str) and call[2] == [{}]:
                call[2].clear()  # what stands in the start of Anthropic's blocks
            call[2] += [] if arguments is ... else [arguments]
    return calls


def whole(pieces: list[Any]) -> Any:
    others = [piece for piece in pieces if not isinstance(piece, str)]
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    return others[-1] if others else json.loads(text) if text else text


def expected(pair: tuple[Any, ...]) -> list[list[Any]]:
    """The calls that go in, with what a pair says of their ids and arguments."""
    calls: list[list[Any]] = [[call.name, call.id, words] for call, words in zip(CALLS, WORDS, strict=True)]
    values = {"None": None, "''": "", "'same'": "same", "{'z': 1}": {"z": 1}, "": None}
    for quirk in pair:
        name, _, value = repr(quirk).removesuffix(")").removeprefix("quirks.").partition("(")
        for call in calls:
            if name in {"tool_ids", "no_tool_ids"}:
                call[1] = values[value]
            elif name == "tool_arguments":
                call[2] = values[value]
            elif name == "object_arguments":
                call[2] = call[2] or {}
    return calls


def bend_together(vendor: str, stream: bool, pairs: Iterable[tuple[Any, ...]], *parts: Any) -> int:
    """Bend an answer by each pair, and read the calls out of it again; how many it could be bent by."""
    refused: list[tuple[str, str]] = []
    bent, plain = 0, pickle.dumps(wire(vendor, stream, *parts))
    for pair in pairs:
        events, bending = pickle.loads(plain), pair[0]
        try:
            for bending in pair:
                events = bending(events)
        except ScriptMismatchError as failed:
            refused.append((repr(bending), str(failed)))
            continue
        bent += 1
        json.dumps([event.payload if isinstance(event, Event) else event for event in events], allow_nan=False)
        lost = {"quirks.no_tool_index()", "quirks.shared_tool_index()"} & {*map(repr, pair)}
        mixed = lost and "quirks.interleaved_tool_calls()" in map(repr, pair)
        known = 2 if mixed else 3  # then nothing says whose the arguments are
        found = [[name, id_, whole(said) if known == 3 else said] for name, id_, said in read(events)]
        assert [call[:known] for call in found] == [call[:known] for call in expected(pair)], (vendor, stream, pair)
    for name, message in refused:
        assert message.startswith(f"The turn has edit={name}, and this answer has nothing for it.\nIt bends ")
    return bent


def test_two_quirks_lose_no_call() -> None:
    bent = 0
    for number, (vendor, stream) in enumerate(WAYS):
        pairs = [
            pair for position, pair in enumerate(PAIRS) if (position + position // len(TOGETHER)) % 8 == number // 2
        ]
        bent += bend_together(vendor, stream, pairs, Thinking("Hm so."), "Let me.", *CALLS)
    assert bent > len(PAIRS) / 2


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_no_two_quirks_lose_a_call(vendor: str, stream: bool) -> None:
    for parts in (CALLS, (Thinking("Hm so."), "Let me.", *CALLS)):
        assert bend_together(vendor, stream, PAIRS, *parts)


INDEX_EDITS = [quirks.no_tool_index(), quirks.shared_tool_index()]


@needs("openai")
@pytest.mark.parametrize("index", INDEX_EDITS, ids=repr)
def test_calls_are_whole_whatever_their_index(index: Any) -> None:
    for edit in ([index, quirks.whole_tool_calls()], [quirks.whole_tool_calls(), index]):
        with answer(edit, *CALLS):
            found = [call for chunk in chunks() for choice in chunk.choices for call in choice.delta.tool_calls or ()]
        assert [(call.id, call.function.name, json.loads(call.function.arguments)) for call in found] == [
            ("id_f", "f", WORDS[0]),
            ("id_g", "g", WORDS[1]),
        ]
        assert [call.index for call in found] == ([None, None] if index is INDEX_EDITS[0] else [0, 0])
    for edit, arguments in ((quirks.object_arguments(), WORDS), (quirks.tool_arguments({"z": 1}), [{"z": 1}] * 2)):
        with answer([index, edit], *CALLS):
            found = [call for chunk in chunks() for choice in chunk.choices for call in choice.delta.tool_calls or ()]
        assert [call.function.arguments for call in found] == [*arguments]


@needs("anthropic")
@pytest.mark.parametrize("index", INDEX_EDITS, ids=repr)
def test_blocks_are_whole_whatever_their_index(index: Any) -> None:
    import anthropic

    for edit in ([index, quirks.whole_tool_calls()], [quirks.whole_tool_calls(), index]):
        with answer(edit, *CALLS):
            stream = anthropic.Anthropic(max_retries=0).messages.create(**MESSAGES, stream=True)
            found = [event for event in stream if event.type in {"content_block_start", "content_block_delta"}]
        assert [
            event.content_block.input if event.type == "content_block_start" else json.loads(event.delta.partial_json)
            for event in found
        ] == [{}, WORDS[0], {}, WORDS[1]]


@needs("anthropic")
def test_arguments_of_blocks_are_altered_again() -> None:
    for value in ("", None):
        with answer([quirks.tool_arguments({"z": 1}), quirks.tool_arguments(value)], *CALLS) as fake:
            post("anthropic", stream=True)
        pieces = [event["delta"]["partial_json"] for event in sent(fake) if event["type"] == "content_block_delta"]
        starts = [event["content_block"]["input"] for event in sent(fake) if event["type"] == "content_block_start"]
        assert (starts, pieces) == ([{}, {}], [value, value])


@needs("openai")
def test_thoughts_and_calls_share_chunks_with_fields_that_are_null() -> None:
    with answer([quirks.null_fields(), quirks.mixed_chunks()], "Let me.", *CALLS):
        said = [choice.delta for chunk in chunks() for choice in chunk.choices]
    assert any(delta.content and delta.tool_calls for delta in said)
    assert "".join(delta.content or "" for delta in said) == "Let me."
