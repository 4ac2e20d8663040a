"""Our answers have the shape of the recorded ones: the same keys, types, nulls and order of events."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

import _answers
from _answers import compare, excluded
from _exceptions import EXCEPTIONS, Excepted, excepting
from _recorded import DIALECTS, Recording, load, recordings
from _shape import differences, shape
from _shared import needs_shared

pytestmark = needs_shared

ANSWERED = [
    pytest.param(recording, id=recording.id)
    for dialect in DIALECTS
    for recording in recordings(dialect)
    if recording.answered
]


@pytest.mark.parametrize("recording", ANSWERED)
def test_our_answer_has_the_recorded_shape(recording: Recording, record_property: Any) -> None:
    load(recording.dialect)
    kind = excluded(recording)
    if kind is not None:
        record_property("conformance", (recording.dialect, "excluded", kind))
        pytest.skip(f"not written yet: {kind}")
    found = [difference for difference in compare(recording) if excepting(recording.dialect, difference) is None]
    record_property("conformance", (recording.dialect, "compared", ""))
    assert not found, "\n" + "\n".join(str(difference) for difference in found)


@pytest.mark.parametrize("entry", EXCEPTIONS, ids=lambda entry: f"{entry.dialect}: {entry.path} in {entry.where}")
def test_each_exception_is_still_needed(entry: Excepted) -> None:
    for dialect in (name for name in DIALECTS if re.fullmatch(entry.dialect, name)):
        load(dialect)
        compared = [
            recording for recording in recordings(dialect) if recording.answered and excluded(recording) is None
        ]
        if any(excepting(dialect, difference) is entry for recording in compared for difference in compare(recording)):
            return
    pytest.fail(f"nothing differs there any more: {entry.why}")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_most_answers_are_compared(dialect: str) -> None:
    answered = [recording for recording in recordings(dialect) if recording.answered]
    assert sum(excluded(recording) is None for recording in answered) >= 0.5 * len(answered)


@pytest.mark.parametrize(
    ("recorded", "ours", "told"),
    [
        ({"a": None}, {}, [("a", "null", "absent")]),
        ({}, {"a": None}, [("a", "absent", "null")]),
        ({"a": {"b": 1, "c": "x"}}, {"a": {"b": "1", "c": "x"}}, [("a.b", "integer", "string")]),
        ({"a": {"b": 1}}, {"a": []}, [("a", "object", "array")]),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}]}, [("a[]", "object", "absent")]),
        ({"a": 1}, {"a": 1.5}, [("a", "integer", "number")]),
        ({"a": 1.5}, {"a": 1}, []),
        ({"a": True}, {"a": 1}, [("a", "boolean", "integer")]),
    ],
)
def test_shapes_differ(recorded: Any, ours: Any, told: list[tuple[str, str, str]]) -> None:
    assert list(differences(shape([recorded], indexed=True), shape([ours], indexed=True))) == told


def test_shapes_of_several_tell_what_only_some_have() -> None:
    assert shape([{"a": [{"type": "x", "b": 1}]}, {"a": [{"type": "x"}]}, {"c": None}], indexed=False) == {
        "": {"object"},
        "a": {"array", "absent"},
        "a[x]": {"object"},
        "a[x].type": {"string"},
        "a[x].b": {"integer", "absent"},
        "c": {"null", "absent"},
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_lost_key_is_told(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = next(
        item
        for item in recordings(dialect)
        if item.answered and item.asked and item.document is not None and excluded(item) is None
    )
    real = load(dialect)
    lossy = dataclasses.replace(
        real,
        document=lambda exchange: {
            key: value for key, value in real.document(exchange).items() if key != _KEPT_BY_ALL[dialect]
        },
    )
    monkeypatch.setattr(_answers, "load", lambda name: lossy)
    found = [item.path for item in compare.__wrapped__(recording)]
    assert _KEPT_BY_ALL[dialect] in found


_KEPT_BY_ALL = {
    "openai_chat": "choices",
    "openai_responses": "output",
    "openai_completions": "usage",
    "anthropic_messages": "stop_reason",
    "gemini": "candidates",
    "cohere_chat_v2": "message",
    "cohere_chat_v1": "chat_history",
    "cohere_generate_v1": "generations",
    "ollama_chat": "message",
    "ollama_generate": "response",
}
