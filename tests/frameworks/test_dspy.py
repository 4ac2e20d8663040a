"""DSPy, whose own transport is on plain sockets: three vendors, whole and streamed, tools, retries, and a script that fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fake_llm
from _capability import load
from fake_llm import Error, ToolCall, UnscriptedCallError

dspy = load("dspy>=3.4")

MODELS = {
    "openai/gpt-5": "openai_chat",
    "anthropic/claude-sonnet-5": "anthropic_messages",
    "gemini/gemini-2.5-flash": "gemini",
    "groq/llama-3.3-70b-versatile": "openai_chat",
}
SAID = "[[ ## answer ## ]]\nIt is sunny in Paris today.\n\n[[ ## completed ## ]]"
TOOL: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}

every = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(autouse=True)
def _no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "true")  # else it fetches the prices of models


def lm(model: str, **options: Any) -> Any:
    return dspy.LM(model, cache=False, max_tokens=20_000, temperature=1.0, **options)


@every
def test_whole(model: str) -> None:
    with fake_llm.intercept(["Hello!"]) as fake:
        assert lm(model)("Hi") == ["Hello!"]

    assert (fake.calls[0].dialect, fake.calls[0].last_user_text) == (MODELS[model], "Hi")
    assert fake.calls[0].stream is False


@every
def test_whole_on_a_loop(model: str) -> None:
    with fake_llm.intercept(["Hello!"]) as fake:
        assert asyncio.run(lm(model).acall("Hi")) == ["Hello!"]

    assert len(fake.calls) == 1


@every
def test_streamed(model: str) -> None:
    async def main() -> list[Any]:
        listener = dspy.streaming.StreamListener("answer")
        with dspy.context(lm=lm(model)):
            program = dspy.streamify(dspy.Predict("question -> answer"), stream_listeners=[listener])
            return [piece async for piece in program(question="Weather?")]

    with fake_llm.intercept([SAID]) as fake:
        *pieces, last = asyncio.run(main())

    assert fake.calls[0].stream
    assert last.answer == "It is sunny in Paris today."
    assert "".join(piece.chunk for piece in pieces) == last.answer
    assert len([piece for piece in pieces if piece.chunk]) > 3


@every
def test_a_tool_call(model: str) -> None:
    with fake_llm.intercept([["Let me look.", ToolCall("get_weather", {"city": "Paris"})]]) as fake:
        [answer] = lm(model)("Weather in Paris?", tools=[{"type": "function", "function": TOOL}])

    assert answer["text"] == "Let me look."
    assert [call["function"]["name"] for call in answer["tool_calls"]] == ["get_weather"]
    assert answer["tool_calls"][0]["function"]["arguments"] == '{"city": "Paris"}'
    assert list(fake.calls[0].tools) == ["get_weather"]


def test_an_agent() -> None:
    def get_weather(city: str) -> str:
        """The weather."""
        return f"sunny in {city}"

    step = "[[ ## next_thought ## ]]\nLook.\n\n[[ ## next_tool_name ## ]]\n{}\n\n[[ ## next_tool_args ## ]]\n{}\n\n[[ ## completed ## ]]"
    script = [
        step.format("get_weather", '{"city": "Paris"}'),
        step.format("finish", "{}"),
        "[[ ## reasoning ## ]]\nSeen.\n\n" + SAID,
    ]
    with fake_llm.intercept(script) as fake, dspy.context(lm=lm("openai/gpt-5")):
        assert dspy.ReAct("question -> answer", tools=[get_weather])(question="Weather in Paris?").answer == (
            "It is sunny in Paris today."
        )

    assert "sunny in Paris" in fake.calls[1].last_user_text


@every
@pytest.mark.parametrize("on_loop", [False, True])
def test_its_own_retries_take_no_time(model: str, on_loop: bool) -> None:
    with fake_llm.intercept([Error(429), "Hello!"]) as fake:
        asking = lm(model, num_retries=2)
        assert (asyncio.run(asking.acall("Hi")) if on_loop else asking("Hi")) == ["Hello!"]

    assert len(fake.calls) == 2
    assert fake.calls[0].waited > 0


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (TimeoutError(), "LMTransportError"),
        (ConnectionError(), "LMTransportError"),
        (Error(401), "LMAuthError"),
        (Error(500), "LMServerError"),
    ],
)
def test_errors_are_its_own(turn: Any, kind: str) -> None:
    with fake_llm.intercept([turn]), pytest.raises(dspy.utils.exceptions.LMError) as caught:
        lm("openai/gpt-5", num_retries=0)("Hi")

    assert type(caught.value).__name__ == kind


@every
def test_a_call_without_a_turn_comes_out_at_once(model: str) -> None:
    with pytest.raises(UnscriptedCallError, match="no turn was left"), fake_llm.intercept([]) as fake:
        lm(model)("Hi")

    assert len(fake.calls) == 1


@every
def test_a_program_in_threads(model: str) -> None:
    with fake_llm.intercept(default=SAID) as fake, dspy.context(lm=lm(model)):
        program = dspy.Predict("question -> answer")
        examples = [dspy.Example(question=str(number)).with_inputs("question") for number in range(4)]
        answers = dspy.Parallel(num_threads=2, disable_progress_bar=True)([(program, one) for one in examples])

    assert {answer.answer for answer in answers} == {"It is sunny in Paris today."}
    assert len(fake.calls) == 4
