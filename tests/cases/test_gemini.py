"""Gemini: calls it couldn't form, blocked prompts, empty answers, braces in a text, signatures that must come back."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import fake_llm
from _capability import load, needs
from fake_llm import Call, FakeLLM, Framing, Raw, Reply, Thinking, ToolCall, Usage

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # where litellm's messages are sent back
]

MODEL = "gemini-3-pro-preview"
SCHEMA: Any = {"type": "object", "properties": {}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}

on_genai = needs("google-genai")
on_pydantic_ai = needs("pydantic-ai-slim>=2.62", "google-genai>=3")
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@functools.cache  # it closes itself once nobody holds it
def client() -> Any:
    return load("google-genai", "google.genai").Client(api_key="k")


def answers(stream: bool) -> list[Any]:
    """What the SDK gives: one answer, or each piece of it."""
    models = client().models
    if stream:
        return list(models.generate_content_stream(model=MODEL, contents="Hello"))
    return [models.generate_content(model=MODEL, contents="Hello")]


async def run(stream: bool) -> Any:
    """What an agent of Pydantic AI says in the end."""
    agent = load("pydantic-ai-slim", "pydantic_ai").Agent(f"google:{MODEL}")

    @agent.tool_plain
    def f() -> str:
        return "x"

    if not stream:
        return (await agent.run("Hello")).output
    async with agent.run_stream("Hello") as answer:
        return await answer.get_output()


def sent(fake: FakeLLM, index: int = 0) -> bytes:
    """The body of an answer, without white space."""
    answer = fake.calls[index].response
    assert answer is not None
    return b"".join(answer.body.split())


# --- B52: a call that the model couldn't form -------------------------------------------------------

MALFORMED = Reply(finish_reason="malformed_tool_call")
EMPTY = b'"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"'


@on_genai
@each_way
def test_B52_a_malformed_call_has_no_content(stream: bool) -> None:
    with fake_llm.intercept([MALFORMED]) as fake:
        (answer,) = answers(stream)

    assert (answer.text, answer.function_calls) == (None, None)
    (candidate,) = answer.candidates
    assert (candidate.finish_reason, candidate.content.model_dump(exclude_none=True)) == ("MALFORMED_FUNCTION_CALL", {})
    assert EMPTY in sent(fake)


@on_pydantic_ai
@each_way
@pytest.mark.asyncio
async def test_B52_pydantic_ai_asks_again(stream: bool) -> None:
    async with fake_llm.intercept([MALFORMED, "recovered"]) as fake:
        assert await run(stream) == "recovered"

    assert len(fake.calls) == 2
    assert EMPTY in sent(fake)


@needs("litellm>=1.110")
def test_B52_litellm_loses_the_reason_in_a_stream() -> None:
    litellm, messages = load("litellm"), [{"role": "user", "content": "Hello"}]
    with fake_llm.intercept([MALFORMED]) as fake:
        chunks = list(litellm.completion(model=f"gemini/{MODEL}", messages=messages, stream=True, api_key="k"))

    reasons = [chunk.choices[0].finish_reason for chunk in chunks]
    assert reasons[-1] in ("stop", "malformed_function_call")  # the first with 1.110
    assert EMPTY in sent(fake)


# --- B54: a blocked prompt --------------------------------------------------------------------------

BLOCKED = Reply(extra={"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})


@on_genai
@each_way
def test_B54_a_blocked_prompt_has_no_candidates(stream: bool) -> None:
    with fake_llm.intercept([BLOCKED]) as fake:
        (answer,) = answers(stream)

    assert (answer.text, answer.candidates) == (None, None)
    assert answer.prompt_feedback.block_reason == "PROHIBITED_CONTENT"
    assert b'{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata"' in sent(fake)
    assert b"candidates" not in sent(fake)


@on_pydantic_ai
@each_way
@pytest.mark.asyncio
async def test_B54_pydantic_ai_says_that_it_was_filtered(stream: bool) -> None:
    exceptions = load("pydantic-ai-slim", "pydantic_ai.exceptions")
    async with fake_llm.intercept([BLOCKED]) as fake:
        with pytest.raises(exceptions.ContentFilterError, match="PROHIBITED_CONTENT"):
            await run(stream)

    assert len(fake.calls) == 1


# --- B55: nothing at all ----------------------------------------------------------------------------

NOTHINGS = {
    "no candidates": (
        Reply(edit=lambda events: [{"usageMetadata": {"promptTokenCount": 3}}]),
        b'{"usageMetadata":{"promptTokenCount":3}}',
    ),
    "no parts": (
        Reply(usage=Usage(3, 0)),
        b'"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}]',
    ),
}
each_nothing = pytest.mark.parametrize(("turn", "body"), NOTHINGS.values(), ids=NOTHINGS)


@on_genai
@each_nothing
@each_way
def test_B55_nothing_is_no_text(turn: Reply, body: bytes, stream: bool) -> None:
    with fake_llm.intercept([turn]) as fake:
        (answer,) = answers(stream)

    assert answer.text is None
    assert answer.usage_metadata.prompt_token_count == 3
    assert body in sent(fake)


@on_pydantic_ai
@each_nothing
@each_way
@pytest.mark.asyncio
async def test_B55_pydantic_ai_asks_again_after_nothing(turn: Reply, body: bytes, stream: bool) -> None:
    async with fake_llm.intercept([ToolCall("f"), turn, "recovered"]) as fake:
        assert await run(stream) == "recovered"

    assert len(fake.calls) == 3
    assert body in sent(fake, 1)


# --- B57: braces, and how objects lie in the reads --------------------------------------------------

BRACES = '{ a }} { "b": [ } and "{{" \\ {'
FRAMINGS = {"one read each": None, "all in one read": Framing(split=100_000), "one byte": Framing(split=1)}


@on_genai
@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
def test_B57_braces_in_a_text(framing: Framing | None) -> None:
    with fake_llm.intercept([Reply(BRACES, chunk_size=3, framing=framing)]):
        assert "".join(answer.text for answer in answers(stream=True)) == BRACES


ITEMS = [b'{"candidates":[{"content":{"parts":[{"text":"%b"}],"role":"model"}}]}' % text for text in (b"{ a", b" }} {")]
BODIES = {
    "an array": (b"[" + b",\r\n".join(ITEMS) + b"]", ("UnknownApiResponseError", "{ a }} {")),  # the first with 3.6
    "lines": (b"".join(item + b"\n" for item in ITEMS), ("{ a }} {",)),
}


@needs("google-genai>=3")
@pytest.mark.parametrize(("body", "outcomes"), BODIES.values(), ids=BODIES)
def test_B57_bodies_that_are_no_events(body: bytes, outcomes: tuple[str, ...]) -> None:
    errors = load("google-genai", "google.genai.errors")
    with fake_llm.intercept([Raw(body)]) as fake:
        try:
            got = "".join(answer.text for answer in answers(stream=True))
        except errors.UnknownApiResponseError:
            got = "UnknownApiResponseError"

    assert got in outcomes
    assert fake.calls[0].response is not None
    assert fake.calls[0].response.body == body


# --- B59: signatures of thoughts come back ----------------------------------------------------------

SIGNED = [Thinking("", signature="QUJD"), ToolCall("f", extra={"thoughtSignature": "REVG"})]


def echoed(call: Call) -> Iterator[tuple[str, str]]:
    """The signatures that a request brings back, and on what: names in both of the API's styles are read."""
    for content in call.body["contents"]:
        for part in content["parts"]:
            signature = part.get("thoughtSignature") or part.get("thought_signature")
            called = "functionCall" in part or "function_call" in part
            if signature is not None:
                yield "thought" if part.get("thought") else "call" if called else "other", signature


def check_round(fake: FakeLLM, *signatures: tuple[str, str]) -> None:
    """Both requests came, the second with the call, its result and the signatures."""
    first, second = fake.calls
    user, *answer, tool = second.messages  # the SDK's chat keeps each chunk of a stream as a message
    assert (user.role, {message.role for message in answer}, tool.role) == ("user", {"assistant"}, "tool")
    assert [call for message in answer for call in message.tool_calls] == [ToolCall("f")]
    assert [result.name for result in second.tool_results] == ["f"]
    assert list(echoed(second)) == [*signatures]
    assert first.response is not None
    body = b"".join(first.response.body.split())
    assert b'{"text":"","thought":true,"thoughtSignature":"QUJD"}' in body
    assert b'"thoughtSignature":"REVG"' in body


@on_genai
@each_way
def test_B59_the_chat_of_the_SDK_sends_them_back(stream: bool) -> None:
    declared = {"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}
    types = load("google-genai", "google.genai.types")
    with fake_llm.intercept([SIGNED, "done"], validate=True) as fake:
        chat = client().chats.create(model=MODEL, config={"tools": [declared]})
        pieces = list(chat.send_message_stream("Hello")) if stream else [chat.send_message("Hello")]
        chat.send_message(types.Part.from_function_response(name="f", response={"result": "x"}))

    parts = [part for piece in pieces for part in piece.candidates[0].content.parts or ()]
    assert [part.thought_signature for part in parts] == [b"ABC", b"DEF"]
    check_round(fake, ("thought", "QUJD"), ("call", "REVG"))


@on_pydantic_ai
@each_way
@pytest.mark.asyncio
async def test_B59_pydantic_ai_sends_that_of_the_call(stream: bool) -> None:
    async with fake_llm.intercept([SIGNED, "done"], validate=True) as fake:
        assert await run(stream) == "done"

    check_round(fake, ("call", "REVG"))


@needs("langchain-google-genai>=4")
@each_way
def test_B59_langchain_sends_both(stream: bool) -> None:
    messages = load("langchain-core", "langchain_core.messages")
    with fake_llm.intercept([SIGNED, "done"], validate=True) as fake:
        model = load("langchain-google-genai").ChatGoogleGenerativeAI(model=MODEL, api_key="k").bind_tools([TOOL])
        chunks = list(model.stream("Hello")) if stream else [model.invoke("Hello")]
        answer = sum(chunks[1:], start=chunks[0])
        result = messages.ToolMessage("x", tool_call_id=answer.tool_calls[0]["id"])
        model.invoke([messages.HumanMessage("Hello"), answer, result])

    check_round(fake, ("thought", "QUJD"), ("call", "REVG"))


@needs("litellm>=1.110")
@each_way
def test_B59_litellm_sends_that_of_the_call(stream: bool) -> None:
    litellm, history = load("litellm"), list[Any]([{"role": "user", "content": "Hello"}])
    asked: Any = {"model": f"gemini/{MODEL}", "messages": history, "tools": [TOOL], "api_key": "k"}
    with fake_llm.intercept([SIGNED, "done"], validate=True) as fake:
        answer = litellm.completion(**asked, stream=stream)
        message = (litellm.stream_chunk_builder(list(answer)) if stream else answer).choices[0].message
        history += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "x"}]
        litellm.completion(**asked)

    check_round(fake, ("call", "REVG"))


@on_genai
@each_way
def test_B59_a_call_without_its_signature_is_refused(stream: bool) -> None:
    genai, errors = load("google-genai", "google.genai"), load("google-genai", "google.genai.errors")
    call = genai.types.Part.from_function_call(name="f", args={})
    result = genai.types.Part.from_function_response(name="f", response={"result": "x"})
    contents = [
        genai.types.UserContent("Hello"),
        genai.types.ModelContent([call]),
        genai.types.UserContent([result]),
    ]
    config = {"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": SCHEMA}]}]}
    with fake_llm.intercept(["never said"], validate=True, strict=False) as fake:
        models = client().models
        with pytest.raises(errors.ClientError, match="thought_signature") as caught:
            if stream:
                list(models.generate_content_stream(model=MODEL, contents=contents, config=config))
            else:
                models.generate_content(model=MODEL, contents=contents, config=config)

    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")
    assert len(fake.calls) == 1
    assert fake.remaining == 1


@needs("openai")
@each_way
def test_B59_the_shape_of_openai_has_a_place_for_it_beside(stream: bool) -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/openai/"
    signed = {"extra_content": {"google": {"thought_signature": "REVG"}}}
    history: list[Any] = [{"role": "user", "content": "Hello"}]
    with fake_llm.intercept([ToolCall("f", extra=signed), "done"]) as fake:
        completions = load("openai").OpenAI(api_key="k", base_url=url).chat.completions
        answer = completions.create(model=MODEL, messages=history, tools=[TOOL], stream=stream)
        if stream:
            (call,) = [call for chunk in answer for call in chunk.choices[0].delta.tool_calls or ()]
        else:
            (call,) = answer.choices[0].message.tool_calls
        calls = [call.model_dump(exclude_none=True)]
        history += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": call.id, "content": "x"},
        ]
        completions.create(model=MODEL, messages=history, tools=[TOOL])

    second = fake.calls[1]
    assert second.messages[1].tool_calls == (ToolCall("f"),)
    assert second.body["messages"][1]["tool_calls"][0]["extra_content"] == signed["extra_content"]
    assert b'"thought_signature":"REVG"' in sent(fake)
