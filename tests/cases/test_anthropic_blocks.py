"""Anthropic's streams as proxies and local servers send them: usage that is null or missing, gaps, citations."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import fake_llm
from _capability import load, needs
from fake_llm import Citation, FakeLLM, Reply, Thinking, ToolCall, Usage, quirks

MESSAGES: Any = [{"role": "user", "content": "Hello"}]
CLAUDE: Any = {"model": "claude-sonnet-5", "max_tokens": 50, "messages": MESSAGES}

on_anthropic = needs("anthropic")


def client() -> Any:
    return load("anthropic").Anthropic(api_key="k")


def message(**asked: Any) -> Any:
    """The message that the SDK puts together."""
    with client().messages.stream(**{**CLAUDE, **asked}) as stream:
        return stream.get_final_message()


def outcome(ask: Callable[[], Any]) -> Any:
    """What a call gives, or the name of what it raises."""
    try:
        return ask()
    except Exception as error:
        return type(error).__name__


def sent(fake: FakeLLM) -> bytes:
    """The body of the one answer."""
    (call,) = fake.calls
    assert call.response is not None
    return call.response.body


def of_type(events: list[Any], kind: str) -> Any:
    """The first event of this type."""
    return next(event for event in events if event["type"] == kind)


# --- B45: null in the last usage --------------------------------------------------------------------

NULLS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def no_tools(events: list[Any]) -> list[Any]:
    """The field is null too that Anthropic sends only where a tool ran on its side."""
    of_type(events, "message_delta")["usage"]["server_tool_use"] = None
    return events


def absent(events: list[Any]) -> list[Any]:
    of_type(events, "message_delta")["usage"] = {"output_tokens": 7}
    return events


USAGES: dict[str, tuple[Any, bytes]] = {
    "null": (
        [quirks.null_usage_fields(*NULLS), no_tools],
        (
            b'"usage":{"input_tokens":null,"cache_creation_input_tokens":null,"cache_read_input_tokens":null,'
            b'"output_tokens":7,"server_tool_use":null}}\n'
        ),
    ),
    "absent": (absent, b'"usage":{"output_tokens":7}}\n'),
    "repeated": (
        None,
        b'"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}}\n',
    ),
}
each_usage = pytest.mark.parametrize(("edit", "last"), USAGES.values(), ids=USAGES)


@on_anthropic
@each_usage
def test_B45_the_SDK_keeps_the_first_count(edit: Any, last: bytes) -> None:
    with fake_llm.intercept([Reply("Hi", usage=Usage(10, 7), edit=edit)]) as fake:
        usage = message().usage

    assert (usage.input_tokens, usage.output_tokens) == (10, 7)
    assert last in sent(fake)


@needs("litellm>=1.110")
@pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class")  # of litellm's types, by pydantic
@pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated")
@each_usage
def test_B45_litellm_adds_them(edit: Any, last: bytes) -> None:
    litellm = load("litellm")
    options = {"stream": True, "stream_options": {"include_usage": True}}
    with fake_llm.intercept([Reply("Hi", usage=Usage(10, 7), edit=edit)]) as fake:
        chunks = list(litellm.completion(model="anthropic/claude-sonnet-5", messages=MESSAGES, **options))

    usage = litellm.stream_chunk_builder(chunks).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (10, 7, 17)
    assert last in sent(fake)


@needs("langchain-anthropic>=1.7")
@each_usage
def test_B45_langchain_loses_the_first_count_in_silence(edit: Any, last: bytes) -> None:
    model = load("langchain-anthropic").ChatAnthropic(model="claude-sonnet-5", api_key="k")
    with fake_llm.intercept([Reply("Hi", usage=Usage(10, 7), edit=edit)]) as fake:
        chunks = list(model.stream("Hello"))

    usage = sum(chunks[1:], start=chunks[0]).usage_metadata
    counts = [usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]]
    assert counts in ([[10, 7, 17]] if edit is None else [[0, 7, 7], [10, 7, 17]])  # 1.7.10 reads the delta alone
    assert last in sent(fake)
    assert b'"usage":{"input_tokens":10,' in sent(fake)


# --- B47: no usage at all ---------------------------------------------------------------------------


@on_anthropic
@pytest.mark.parametrize("where", ["message_start", "message_delta"])
def test_B47_the_SDK_stumbles_where_a_server_leaves_usage_out(where: str) -> None:
    def without(events: list[Any]) -> list[Any]:
        event = of_type(events, where)
        event.get("message", event).pop("usage")
        return events

    with fake_llm.intercept([Reply("Hi", usage=Usage(10, 7), edit=without)]) as fake:
        got = outcome(lambda: message().content[0].text)

    assert got in ("AttributeError", "Hi")  # 2.14 raises it
    (body,) = (event for event in sent(fake).split(b"\n\n") if f"event: {where}\n".encode() in event)
    assert b"usage" not in body
    assert sent(fake).count(b'"usage"') == 1


# --- B48: indices with a gap, events that are missing -----------------------------------------------

TOOLS = [{"name": "f", "input_schema": {"type": "object"}}]
TURN = (Thinking("hm"), ToolCall("f", {"a": 1}))


def gap(events: list[Any]) -> list[Any]:
    """The second block has the index 2."""
    return [event | {"index": 2} if event.get("index") == 1 else event for event in events]


def no_block_start(events: list[Any]) -> list[Any]:
    return [event for event in events if (event["type"], event.get("index")) != ("content_block_start", 1)]


def no_message_start(events: list[Any]) -> list[Any]:
    return events[1:]


@on_anthropic
@pytest.mark.parametrize(
    ("edit", "kinds"),
    [
        (gap, ("IndexError",)),
        (no_block_start, ("IndexError",)),
        (no_message_start, ("AssertionError", "RuntimeError")),  # the second up to 1.x
    ],
)
def test_B48_the_SDK_stumbles_over_a_gap(edit: Any, kinds: tuple[str, ...]) -> None:
    with fake_llm.intercept([Reply(*TURN, edit=edit)]) as fake:
        got = outcome(lambda: [block.type for block in message(tools=TOOLS).content])

    assert got in (*kinds, ["thinking", "tool_use"])
    if edit is gap:
        assert b'"index":1' not in sent(fake)
        assert b'event: content_block_start\ndata: {"type":"content_block_start","index":2' in sent(fake)
    else:
        name, count = ("content_block_start", 1) if edit is no_block_start else ("message_start", 0)
        assert sent(fake).count(f"event: {name}\n".encode()) == count


@on_anthropic
def test_B48_there_is_no_gap_unless_it_is_asked_for() -> None:
    parts = ["", Thinking("hm"), "", Thinking("", redacted=True), "Hi", "", "there", ToolCall("f"), ToolCall("f"), "."]
    with fake_llm.intercept([parts]):
        events = list(client().messages.create(**CLAUDE, tools=TOOLS, stream=True))

    starts = [event.index for event in events if event.type == "content_block_start"]
    assert starts == [*range(len(starts))]
    assert len(starts) >= 6
    opened = -1
    for event in events:
        opened += event.type == "content_block_start"
        assert getattr(event, "index", opened) == opened


# --- B50: citations in a stream ---------------------------------------------------------------------

DOCUMENT = {
    "type": "document",
    "title": "d",
    "source": {"type": "text", "media_type": "text/plain", "data": "grass"},
    "citations": {"enabled": True},
}
ASKED: Any = [{"role": "user", "content": [DOCUMENT, {"type": "text", "text": "What is green?"}]}]
CITED = (
    b'"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"grass","document_index":0,'
    b'"document_title":"d","start_char_index":0,"end_char_index":5}}}\n'
)


def behind(events: list[Any]) -> list[Any]:
    """The citation follows its text; Anthropic itself sends it before."""
    cited = next(event for event in events if event.get("delta", {}).get("type") == "citations_delta")
    rest = [event for event in events if event is not cited]
    end = rest.index({"type": "content_block_stop", "index": cited["index"]})
    return [*rest[:end], cited, *rest[end:]]


each_order = pytest.mark.parametrize("edit", [None, behind], ids=["before", "behind"])


@on_anthropic
@each_order
def test_B50_the_SDK_puts_citations_beside_their_text(edit: Any) -> None:
    with fake_llm.intercept([Reply(Citation("Grass", "d"), edit=edit)]) as fake:
        (block,) = message(messages=ASKED).content

    assert block.text == "Grass"
    assert [(one.type, one.cited_text, one.document_title) for one in block.citations] == [
        ("char_location", "grass", "d")
    ]
    body = sent(fake)
    assert (body.index(CITED) > body.index(b'"text":"Grass"')) is (edit is behind)


@needs("langchain-anthropic>=1.7")
@each_order
def test_B50_langchain_gives_them_one_by_one(edit: Any) -> None:
    model = load("langchain-anthropic").ChatAnthropic(model="claude-sonnet-5", api_key="k")
    with fake_llm.intercept([Reply(Citation("Grass", "d"), edit=edit)]) as fake:
        chunks = list(model.stream(ASKED))

    items = [item for chunk in chunks for item in chunk.content]
    assert [item["text"] for item in items if item.get("text")] == ["Grass"]
    assert [cited["cited_text"] for item in items for cited in item.get("citations", ())] == ["grass"]
    (block,) = sum(chunks[1:], start=chunks[0]).content
    assert (block["text"], len(block["citations"])) == ("Grass", 1)
    assert CITED in sent(fake)


@needs("dspy>=3.4")
@each_order
def test_B50_dspy_listens_to_both(edit: Any) -> None:
    dspy, experimental = load("dspy"), load("dspy", "dspy.experimental")
    fields = {
        "documents": (list[experimental.Document], dspy.InputField()),
        "answer": (str, dspy.OutputField()),
        "citations": (experimental.Citations, dspy.OutputField()),
    }
    said = ["[[ ## answer ## ]]\n", Citation("Grass", "d"), " it is.\n\n[[ ## completed ## ]]"]

    async def listen() -> list[Any]:
        lm = dspy.LM("anthropic/claude-sonnet-5", cache=False, max_tokens=20_000, temperature=1.0)
        with dspy.context(lm=lm):
            listeners = [dspy.streaming.StreamListener(name) for name in ("answer", "citations")]
            predict = dspy.streamify(dspy.Predict(dspy.Signature(fields)), stream_listeners=listeners)
            return [item async for item in predict(documents=[experimental.Document(data="grass", title="d")])]

    with fake_llm.intercept([Reply(*said, edit=edit)]) as fake:
        *chunks, prediction = asyncio.run(listen())

    assert "".join(each.chunk for each in chunks if each.signature_field_name == "answer") == "Grass it is."
    assert prediction.answer == "Grass it is."
    assert [cited.cited_text for cited in prediction.citations] == ["grass"]
    assert CITED in sent(fake)
