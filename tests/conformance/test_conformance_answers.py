"""Our answers have the shape of the recorded ones: the same keys, types, nulls and order of events."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from typing import Any

import pytest

import _answers
from _answers import compare, compared_keys, excluded
from _exceptions import EXCEPTIONS, Excepted, excepting
from _recorded import DIALECTS, Recording, load, recordings
from _shape import Difference, differences, shape, sized
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
    *_, found = sorted_out(recording)
    record_property("conformance", (recording.dialect, "compared", ""))
    record_property("conformance keys", (recording.dialect, recording.provider, *counted(recording)))
    assert not found, "\n" + "\n".join(str(difference) for difference in found)


def sorted_out(recording: Recording) -> tuple[list[Difference], list[Difference], list[Difference]]:
    """The differences that a newer recording explains, those that are meant, and those that are neither."""
    later: list[Difference] = []
    hidden: list[Difference] = []
    found: list[Difference] = []
    for difference in compare(recording):
        meant = difference.since is None and excepting(recording.dialect, difference) is not None
        (later if difference.since is not None else hidden if meant else found).append(difference)
    return later, hidden, found


def counted(recording: Recording) -> tuple[int, int, int]:
    """How many keys are compared, how many of these are excepted, and how many came after the recording."""
    later, hidden, _ = sorted_out(recording)
    since = sum(difference.keys for difference in later)
    return compared_keys(recording) - since, sum(difference.keys for difference in hidden), since


@pytest.mark.parametrize("entry", EXCEPTIONS, ids=lambda entry: f"{entry.dialect}: {entry.path} in {entry.where}")
def test_each_exception_is_still_needed(entry: Excepted) -> None:
    for dialect in (name for name in DIALECTS if re.fullmatch(entry.dialect, name)):
        load(dialect)
        compared = [
            recording for recording in recordings(dialect) if recording.answered and excluded(recording) is None
        ]
        if any(
            excepting(dialect, difference) is entry for recording in compared for difference in sorted_out(recording)[1]
        ):
            return
    pytest.fail(f"nothing differs there any more: {entry.why}")


ABOVE = {
    "bedrock": "three recordings of 2025 without the counts of what is written to a cache",
    "gemini": "three of gemini-2.0, which rated unasked, and pieces that share a chunk as time would have it",
    "openrouter": "one answer with three encrypted thoughts and two summaries, which no turn says",
    "vertex": "ratings and averages of test data of gemini-1.5, and two answers of an old Claude",
}
"""Vendors of whose keys more than two of a hundred are excepted, and why."""


def test_exceptions_are_few() -> None:
    """At most two of a hundred keys, over all and for each vendor that isn't named."""
    keys: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    for recording in (item for dialect in DIALECTS for item in recordings(dialect)):
        if recording.answered and excluded(recording) is None:
            compared, excepted, _ = counted(recording)
            keys[recording.provider] += compared
            hidden[recording.provider] += excepted
    assert hidden.total() <= 0.02 * keys.total()
    assert {name for name in keys if hidden[name] > 0.02 * keys[name]} == ABOVE.keys()


def test_a_key_that_came_later_is_in_a_newer_recording() -> None:
    by_id = {recording.id: recording for dialect in DIALECTS for recording in recordings(dialect)}
    for recording in by_id.values():
        if recording.answered and excluded(recording) is None:
            for difference in sorted_out(recording)[0]:
                newer = by_id[difference.since or ""]
                assert newer.provider == recording.provider
                assert newer.asked
                assert not recording.asked or newer.when > recording.when


@pytest.mark.parametrize("dialect", DIALECTS)
def test_most_answers_are_compared(dialect: str) -> None:
    answered = [recording for recording in recordings(dialect) if recording.answered]
    assert sum(excluded(recording) is None for recording in answered) >= 0.5 * len(answered)


@pytest.mark.parametrize(
    ("recorded", "ours", "told"),
    [
        ({"a": {"b": 1, "c": [{"d": 2}]}}, {"b": 1}, [("a", "object", "absent"), ("b", "absent", "integer")]),
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


def test_what_a_difference_hides_is_counted() -> None:
    recorded, ours = (shape([value], indexed=True) for value in ({"a": {"b": 1, "c": [{"d": 2}]}, "e": 1}, {"e": "x"}))
    assert [(path, keys) for path, _, _, keys in sized(recorded, ours)] == [("a", 5), ("e", 1)]


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
    _answers._compared.cache_clear()
    compare.cache_clear()
    found = [item.path for item in compare(recording)]
    _answers._compared.cache_clear()
    compare.cache_clear()
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
