"""What real clients sent is read: every message, tool, schema, model and stream flag is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from _independent import Facts, Said, extract, merged
from _recorded import DIALECTS, Recording, load, recordings
from _shared import needs_shared
from fake_llm._dialect import Asked
from fake_llm._model import Message, View

pytestmark = needs_shared

ASKED = [
    pytest.param(recording, id=recording.id)
    for dialect in DIALECTS
    for recording in recordings(dialect)
    if recording.asked
]


@pytest.fixture
def facts(recording: Recording) -> Facts:
    return extract(recording.dialect, recording.url, recording.body)


@pytest.fixture
def view(recording: Recording) -> View:
    return Asked(recording.request, load(recording.dialect), recording.body).view


@pytest.mark.parametrize("recording", ASKED)
def test_a_real_request_is_read(recording: Recording, facts: Facts, view: View, record_property: Any) -> None:
    dialect = load(recording.dialect)
    dialect.read(recording.request, recording.body)  # `Asked.view` would swallow what this raises
    assert _said(recording, view.messages) == _comparable(facts.messages)
    found = [result.text for item in view.messages for result in item.tool_results]
    sent = [said.result[1] for said in facts.messages if said.result is not None]
    assert [pair for pair in zip(found, sent, strict=True) if not _is_result(*pair)] == []
    assert view.system == "\n".join(facts.system)
    assert {name: _schema(tool.schema) for name, tool in view.tools.items()} == {
        name: _schema(schema) for name, schema in facts.tools.items()
    }
    assert list(view.tools) == list(facts.tools)
    assert _schema(view.schema) == _schema(facts.schema)
    assert view.params.get("max_tokens") == facts.max_tokens
    assert view.params.get("temperature") == facts.temperature
    if facts.model is not None:
        assert dialect.model(recording.request, recording.body) == facts.model
    assert dialect.stream(recording.request, recording.body) is facts.stream
    record_property("conformance", (recording.dialect, "read", ""))


@pytest.mark.parametrize("recording", ASKED)
def test_a_real_request_is_not_refused(recording: Recording) -> None:
    assert load(recording.dialect).check(recording.request, recording.body) is None


def test_the_judge_reads_something() -> None:
    said = [
        extract(dialect, recording.url, recording.body)
        for dialect in DIALECTS
        for recording in recordings(dialect)
        if recording.asked
    ]
    assert sum(len(facts.messages) for facts in said) > 200
    assert sum(len(facts.tools) for facts in said) > 60
    assert sum(facts.schema is not None for facts in said) > 20
    assert sum(item.result is not None for facts in said for item in facts.messages) > 20


def _said(recording: Recording, messages: tuple[Message, ...]) -> list[Any]:
    said = [
        Said(
            item.role,
            [item.text] if item.role != "tool" else [],
            [(call.name, call.arguments) for call in item.tool_calls],
            (item.tool_results[0].id, item.tool_results[0].text) if item.tool_results else None,
        )
        for item in messages
    ]
    return _comparable(merged(said) if recording.dialect == "openai_responses" else said)


def _comparable(messages: list[Said]) -> list[Any]:
    """Role, text, calls and the id of the result; the result's text is compared by itself."""
    return [
        (
            said.role,
            "" if said.role == "tool" else "\n".join(text for text in said.texts if text),
            said.calls,
            said.result is not None and said.result[0],
        )
        for said in messages
    ]


def _is_result(text: str, sent: str) -> bool:
    """Whether a tool's result is said by `text`: as it was sent, or the one text in the object that was sent."""
    if text == sent:
        return True
    try:
        value = json.loads(sent)
    except ValueError:
        return False
    return text in _leaves(value) or (text.startswith(("{", "[")) and json.loads(text) == value)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, (dict, list)):
        return [leaf for item in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(item)]
    return [value if isinstance(value, str) else json.dumps(value)]


_NO_JSON_SCHEMA = frozenset({"property_ordering", "propertyOrdering"})
"""What Gemini's schemas have beside JSON Schema."""

_TYPES: Mapping[str | int, str] = {
    key: name
    for number, name in enumerate(("string", "number", "integer", "boolean", "array", "object"), start=1)
    for key in (number, name.upper())
}


def _schema(value: Any) -> Any:
    """A schema with Gemini's types, in capitals or as numbers of the enum, as JSON Schema has them."""
    if isinstance(value, dict):
        return {
            key: _TYPES.get(item, item) if key == "type" and isinstance(item, (str, int)) else _schema(item)
            for key, item in value.items()
            if key not in _NO_JSON_SCHEMA
        }
    return [_schema(item) for item in value] if isinstance(value, list) else value
