"""All that we emit is what the vendors' schemas say: bodies, events and errors, for a table of turns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from _answers import payloads
from _recorded import DIALECTS, errors, load, recordings
from _schemas import complaints, untrue
from _shape import shape
from _shared import needs_shared
from _turns_table import TURNS, exchange
from fake_llm._model import Event
from fake_llm._turns import ERROR_NAMES, Error

pytestmark = needs_shared

STATUSES = (400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 529)
_MAY_BE_NULL = {
    (dialect, f"error.{key}"): frozenset({"null"})
    for dialect in ("openai_chat", "openai_responses", "openai_completions")
    for key in ("code", "param")
}
"""OpenAI's own schema of errors says so (2025)."""


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_turn_is_what_the_schema_says(name: str, stream: bool, turn: str, record_property: Any) -> None:
    dialect = load(name)
    if not TURNS[turn].carried(dialect):
        pytest.skip(f"{dialect.label} can't say this")
    asked = exchange(dialect, turn, stream=stream)
    found = payloads(dialect, asked) if stream else [json.loads(json.dumps(dialect.document(asked)))]
    said = [
        f"{complaint} in {json.dumps(payload)[:300]}"
        for payload in found
        for complaint in complaints(name, payload, event=stream)
    ]
    record_property("conformance", (name, "validated", ""))
    assert not said, "\n" + "\n".join(dict.fromkeys(said))


@pytest.mark.parametrize("error", [*ERROR_NAMES, *STATUSES])
@pytest.mark.parametrize("name", DIALECTS)
def test_an_error_has_the_recorded_shape(name: str, error: str | int) -> None:
    dialect = load(name)
    if not errors(name):
        pytest.skip(f"no error of {dialect.label} was recorded")
    response = dialect.failure(exchange(dialect, "text", stream=False), Error(error))
    body = json.loads(response.body)
    recorded, ours = shape(errors(name), indexed=False), shape([body], indexed=False)
    always = {
        path for path, types in recorded.items() if "absent" not in types and "[" not in path and _sure(recorded, path)
    }
    assert response.status >= 400
    assert isinstance(error, str) or response.status == error
    assert sorted(always - ours.keys()) == [], f"missing in {body}"
    new = [
        path
        for path, types in ours.items()
        if "[" not in path
        and not types <= recorded.get(path, frozenset()) | _MAY_BE_NULL.get((name, path), frozenset())
    ]
    assert new == [], f"never seen in real errors: {body}"


def _sure(recorded: Any, path: str) -> bool:
    """Whether everything above a path is always there."""
    parts = path.split(".")
    return all("absent" not in recorded.get(".".join(parts[:end]), ()) for end in range(1, len(parts)))


def test_an_error_in_a_responses_stream_is_as_recorded() -> None:
    dialect = load("openai_responses")
    recording = next(
        item
        for item in recordings("openai_responses")
        if item.id == "openai-responses-streamed-error-midstream-rate-limit-01"
    )
    tail = [event for event in recording.events if event["type"] in ("error", "response.failed")]
    found = dialect.failure_events(exchange(dialect, "text", stream=True), Error("rate_limit"))
    ours = [event.payload if isinstance(event, Event) else event for event in found]
    assert [event["type"] for event in ours] == [event["type"] for event in tail]
    assert sorted(shape([ours[0]], indexed=False).items()) == sorted(shape([tail[0]], indexed=False).items())
    assert ours[1]["response"]["status"] == "failed"
    assert sorted(ours[1]["response"]["error"]) == sorted(tail[1]["response"]["error"])


@pytest.mark.parametrize("name", ["openai_chat", "openai_responses", "gemini"])
def test_the_schemas_judge(name: str) -> None:
    assert complaints(name, {"id": 1, "candidates": 1, "type": "response.created"}, event=False)
    assert len(untrue(name)) < 60, "the schema disagrees with the recordings so often that it judges nothing"
