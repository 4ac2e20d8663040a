"""instructor: each of its modes on three vendors, asking again, and what a failing script looks like there."""

from __future__ import annotations

from typing import Any

import pytest
from _one_turn import FORECAST, SCRIPT, SUNNY, Forecast, Weather, check, fails, fails_async, mine

import fake_llm
from _capability import has, load
from fake_llm import UnscriptedCallError
from fake_llm._stacks import STACKS

instructor = load("instructor>=1.17")
Mode = instructor.Mode

pytestmark = [
    pytest.mark.filterwarnings("ignore:Mode.TOOLS_STRICT is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Anthropic client does not support `output_format`:UserWarning"),
    # google-genai's subclass of aiohttp's session (3.6)
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]

AIOHTTP = pytest.mark.skipif(
    has("aiohttp") and "aiohttp" not in STACKS,
    reason="needs google-genai's async client on httpx (aiohttp is installed)",
)
OPENAI, ANTHROPIC, GOOGLE = "openai/gpt-5", "anthropic/claude-sonnet-5", "google/gemini-3-pro"
ROWS = [
    (OPENAI, Mode.TOOLS, "openai_chat"),
    (OPENAI, Mode.TOOLS_STRICT, "openai_chat"),
    (OPENAI, Mode.JSON, "openai_chat"),
    (OPENAI, Mode.JSON_SCHEMA, "openai_chat"),
    (OPENAI, Mode.MD_JSON, "openai_chat"),
    (OPENAI, Mode.RESPONSES_TOOLS, "openai_responses"),
    (ANTHROPIC, Mode.TOOLS, "anthropic_messages"),
    (ANTHROPIC, Mode.JSON, "anthropic_messages"),
    (ANTHROPIC, Mode.JSON_SCHEMA, "anthropic_messages"),
    (GOOGLE, Mode.TOOLS, "gemini"),
    (GOOGLE, Mode.JSON, "gemini"),
]


def _rows(*, on_loop: bool) -> Any:
    return pytest.mark.parametrize(
        ("model", "mode", "dialect"),
        [
            pytest.param(
                model,
                mode,
                dialect,
                id=f"{dialect}-{mode.name}",
                marks=[AIOHTTP] if on_loop and model == GOOGLE else [],
            )
            for model, mode, dialect in ROWS
        ],
    )


each_mode, each_mode_async = _rows(on_loop=False), _rows(on_loop=True)
each_model = pytest.mark.parametrize("model", [OPENAI, ANTHROPIC, GOOGLE])
each_model_async = pytest.mark.parametrize("model", [OPENAI, ANTHROPIC, pytest.param(GOOGLE, marks=AIOHTTP)])


def _asked(model: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": "Weather in Paris?"}], "response_model": Weather}
    return asked | ({"max_tokens": 256} if model == ANTHROPIC else {})


def _client(model: str, mode: Any = Mode.TOOLS, *, on_loop: bool = False) -> Any:
    return instructor.from_provider(model, mode=mode, async_client=on_loop)


@each_mode
def test_create(model: str, mode: Any, dialect: str):
    with fake_llm.intercept(SCRIPT) as fake:
        answer = _client(model, mode).create(**_asked(model))
    check(answer, fake, dialect)


@each_mode_async
@pytest.mark.asyncio
async def test_create_async(model: str, mode: Any, dialect: str):
    async with fake_llm.intercept(SCRIPT) as fake:
        answer = await _client(model, mode, on_loop=True).create(**_asked(model))
    check(answer, fake, dialect)


@each_mode
def test_partial(model: str, mode: Any, dialect: str):
    with fake_llm.intercept(SCRIPT, chunk_size=4) as fake:
        answers = list(_client(model, mode).create_partial(**_asked(model)))
    check(answers[-1], fake, dialect, stream=True)
    assert len(answers) > 1 or dialect == "gemini"  # Gemini sends a call in one piece


@each_mode_async
@pytest.mark.asyncio
async def test_partial_async(model: str, mode: Any, dialect: str):
    async with fake_llm.intercept(SCRIPT, chunk_size=4) as fake:
        client = _client(model, mode, on_loop=True)
        answers = [answer async for answer in client.create_partial(**_asked(model))]
    check(answers[-1], fake, dialect, stream=True)


@each_mode
def test_a_nested_model(model: str, mode: Any, dialect: str):
    asked = _asked(model) | {"response_model": Forecast}
    if (model, mode) == (GOOGLE, Mode.TOOLS):
        asked["strict"] = False  # instructor hands Gemini's arguments to Pydantic as Python values (1.17)
    with fake_llm.intercept([FORECAST]):
        answer = _client(model, mode).create(**asked)
    assert answer.model_dump() == FORECAST.model_dump()


@each_model
def test_asks_again_with_what_was_wrong(model: str):
    with fake_llm.intercept([{"city": "Paris"}, SUNNY], strict=False) as fake:
        answer = _client(model).create(**_asked(model))
    assert answer.model_dump() == SUNNY.model_dump()
    assert len(fake.calls) == 2
    assert "Field required" in fake.calls[1].raw.decode()


# --- a script that fails -------------------------------------------------------------------------


@each_model
def test_an_unscripted_call_ends_at_once(model: str):
    error = fails(lambda: _client(model).create(max_retries=3, **_asked(model)), [])
    assert isinstance(error, UnscriptedCallError)


@each_model_async
@pytest.mark.asyncio
async def test_an_unscripted_call_ends_at_once_async(model: str):
    error = await fails_async(lambda: _client(model, on_loop=True).create(max_retries=3, **_asked(model)), [])
    assert isinstance(error, UnscriptedCallError)


@each_model
def test_an_assertion_in_a_turn_reaches_the_test(model: str):
    error = fails(lambda: _client(model).create(max_retries=3, **_asked(model)), [mine])
    assert isinstance(error, AssertionError)


@each_model_async
@pytest.mark.asyncio
async def test_an_assertion_in_a_turn_reaches_the_test_async(model: str):
    error = await fails_async(lambda: _client(model, on_loop=True).create(max_retries=3, **_asked(model)), [mine])
    assert isinstance(error, AssertionError)
