"""The one turn that every framework is given, and what must be true of each way of asking for it."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import fake_llm
from _capability import load
from fake_llm import FakeLLM, ToolCall, UnscriptedCallError

__all__ = [
    "FORECAST",
    "LOOK_UP",
    "LOOP",
    "SCRIPT",
    "SUNNY",
    "UNSCRIPTED",
    "Forecast",
    "Sky",
    "Weather",
    "check",
    "fails",
    "fails_async",
    "mine",
]

pydantic = load("pydantic>=2")


class Weather(pydantic.BaseModel):
    """The weather in a city."""

    city: str
    sky: str


class Sky(enum.Enum):
    """What one sees when one looks up."""

    CLEAR = "clear"
    GREY = "grey"


class Day(pydantic.BaseModel):
    """The weather of one day."""

    date: dt.date
    sky: Sky


class Forecast(pydantic.BaseModel):
    """The weather of the days to come: what else a schema may hold."""

    city: str = pydantic.Field(description="Its name", min_length=1)
    days: list[Day]
    best: Day | None = None
    source: str = pydantic.Field("station", alias="from")


SUNNY = Weather(city="Paris", sky="sunny")
SCRIPT = [SUNNY]
"""The script of all tests of structured output, unchanged."""

FORECAST = Forecast(city="Zürich", days=[Day(date="2026-01-02", sky="clear"), Day(date="2026-01-03", sky="grey")])

LOOK_UP = ToolCall("get_weather", {"city": "Paris"})
LOOP = [LOOK_UP, SUNNY]
"""The model calls a tool, sees what it returned, and gives its answer."""

UNSCRIPTED = "no turn was left for it"


def check(answer: Any, fake: FakeLLM, dialect: str, *, stream: bool = False, rounds: int = 1) -> None:
    """The framework gave the scripted answer, and asked as often and in the way that was expected."""
    assert isinstance(answer, Weather)
    assert answer.model_dump() == SUNNY.model_dump()  # instructor gives a subclass
    assert [(call.dialect, call.stream, call.attempt) for call in fake.calls] == [(dialect, stream, 1)] * rounds
    if rounds > 1:
        assert [result.text for result in fake.calls[-1].tool_results] == ["sunny in Paris"]


def mine(call: Any) -> Any:
    """A function turn whose assertion fails."""
    assert call.model == "another model", "the test's own"


def fails(ask: Callable[[], object], script: list[Any]) -> BaseException:
    """What a block around `ask` raises in the end, after one attempt; the framework shows why, too."""
    shown = ""
    with pytest.raises((UnscriptedCallError, AssertionError)) as caught, fake_llm.intercept(script) as fake:
        try:
            ask()
        except BaseException as error:
            shown = str(error)
            raise
    _check_failed(caught.value, shown, fake)
    return caught.value


async def fails_async(ask: Callable[[], Awaitable[object]], script: list[Any]) -> BaseException:
    """`fails` on an event loop."""
    shown = ""
    with pytest.raises((UnscriptedCallError, AssertionError)) as caught:
        async with fake_llm.intercept(script) as fake:
            try:
                await ask()
            except BaseException as error:
                shown = str(error)
                raise
    _check_failed(caught.value, shown, fake)
    return caught.value


def _check_failed(error: BaseException, shown: str, fake: FakeLLM) -> None:
    assert [call.attempt for call in fake.calls] == [1]
    if isinstance(error, UnscriptedCallError):
        assert UNSCRIPTED in str(error)
        assert UNSCRIPTED in shown
    else:
        assert "the test's own" in str(error)
        assert "the test's own" in shown
