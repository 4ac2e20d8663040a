"""How an answer of the Responses API ends when it doesn't end well: an `error` event, `incomplete`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import FakeLLM, Reply

ASKED: Any = {"model": "gpt-5", "input": "Hello"}
BOOM = {"type": "error", "code": "server_error", "message": "boom", "param": None, "sequence_number": 1}
CUT = Reply("Hi", finish_reason="length")

each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def client() -> Any:
    return load("openai").OpenAI(api_key="k")


def boom(events: list[Any]) -> list[Any]:
    """An error at top level follows `response.created`, and nothing after it."""
    return [events[0], BOOM]


def sent(fake: FakeLLM) -> bytes:
    """The body of the one answer."""
    (call,) = fake.calls
    assert call.response is not None
    return call.response.body


REASON = re.compile(rb'"incomplete_details": ?\{\s*"reason": ?"max_output_tokens"')
"""As it is sent, whole answers with white space."""


def outcome(ask: Callable[[], Any]) -> Any:
    """What a call gives, or what it raises."""
    try:
        return ask()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# --- B40: an error at top level --------------------------------------------------------------------

FLAT = (
    b'event: error\ndata: {"type":"error","code":"server_error","message":"boom","param":null,"sequence_number":1}\n\n'
)


@needs("openai")
def test_B40_a_flat_error_event_is_an_event_like_others() -> None:
    with fake_llm.intercept([Reply("Hi", edit=boom)]) as fake:
        got = outcome(lambda: [event.type for event in client().responses.create(**ASKED, stream=True)])

    assert got in (["response.created", "error"], "APIError: boom")  # 3.57 doesn't raise it
    assert sent(fake).endswith(FLAT)


@needs("langchain-openai>=1.7")
def test_B40_langchain_raises_it() -> None:
    model = load("langchain-openai").ChatOpenAI(model="gpt-5", use_responses_api=True, api_key="k")
    with fake_llm.intercept([Reply("Hi", edit=boom)]) as fake, pytest.raises(ValueError, match="server_error: boom"):
        list(model.stream("Hello"))

    assert sent(fake).endswith(FLAT)


# --- B41: a stream that is cut short ----------------------------------------------------------------


@needs("openai")
def test_B41_the_helper_misses_the_end_of_an_answer_that_was_cut() -> None:
    def status() -> Any:
        with client().responses.stream(**ASKED) as stream:
            return stream.get_final_response().status

    with fake_llm.intercept([CUT]) as fake:
        got = outcome(status)

    assert got in (
        "RuntimeError: Didn't receive a `response.completed` event.",
        "incomplete",
    )  # 3.57 looks for it alone
    *_, last = sent(fake).split(b"event: ")
    assert last.startswith(b'response.incomplete\ndata: {"type":"response.incomplete","response":{"id":"resp_')
    assert b'"status":"incomplete"' in last
    assert b'"incomplete_details":{"reason":"max_output_tokens"}' in last


# --- B43: the same end, whole and streamed ----------------------------------------------------------


@needs("openai")
@each_way
@pytest.mark.parametrize("text", ["Hi", ""], ids=["a text", "nothing"])
def test_B43_the_SDK_has_the_reason(stream: bool, text: str) -> None:
    turn = Reply(*filter(None, [text]), finish_reason="length")
    with fake_llm.intercept([turn]):
        answer = client().responses.create(**ASKED, stream=stream)
        if stream:
            *_, last = answer
            answer = last.response

    assert (answer.status, answer.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert answer.output_text == text
    assert bool(answer.output) is bool(text)


@needs("pydantic-ai-slim>=2.62", "openai>=3")
@each_way
@pytest.mark.asyncio
async def test_B43_pydantic_ai_has_it_both_ways(stream: bool) -> None:
    ai = load("pydantic-ai-slim", "pydantic_ai")
    async with fake_llm.intercept([CUT]) as fake:
        agent = ai.Agent("openai-responses:gpt-5")
        if stream:
            async with agent.run_stream("Hello") as run:
                text = await run.get_output()
        else:
            run = await agent.run("Hello")
            text = run.output

    assert (text, run.all_messages()[-1].finish_reason) == ("Hi", "length")
    assert REASON.search(sent(fake))


@needs("openai-agents>=0.20")
@each_way
def test_B43_the_agents_SDK_raises_it_in_a_stream_only(stream: bool) -> None:
    agents, openai = load("openai-agents", "agents"), load("openai")

    async def run() -> Any:
        model = agents.OpenAIResponsesModel("gpt-5", openai.AsyncOpenAI(api_key="k"))
        agent, config = agents.Agent(name="A", model=model), agents.RunConfig(tracing_disabled=True)
        if not stream:
            done = await agents.Runner.run(agent, "Hello", run_config=config)
            return [(done.final_output, item.status) for item in done.raw_responses[0].output]
        done = agents.Runner.run_streamed(agent, "Hello", run_config=config)
        return [event async for event in done.stream_events()] and done.final_output

    with fake_llm.intercept([CUT]) as fake:
        got = outcome(lambda: asyncio.run(run()))

    if stream:
        assert got.startswith("ModelBehaviorError: Responses stream ended with terminal event `response.incomplete`.")
    else:
        assert got == [("Hi", "incomplete")]
    assert REASON.search(sent(fake))
