"""No request that a vendor has answered is refused for its sense."""

from __future__ import annotations

import pytest

from _recorded import DIALECTS, Recording, recordings
from _shared import needs_shared
from fake_llm._dialect import Asked, Exchange, Ids
from fake_llm._endpoints import DIALECTS as WRITTEN
from fake_llm._validate import refusal

SAID = [
    pytest.param(one, id=one.id)
    for name in DIALECTS
    for one in recordings(name)
    if one.asked and "count-tokens" not in one.id
]


@needs_shared
@pytest.mark.parametrize("recording", SAID)
def test_what_was_answered_is_not_refused(recording: Recording) -> None:
    dialect = WRITTEN[recording.dialect]
    asked = Asked(recording.request, dialect, recording.body)
    exchange = Exchange(recording.provider, asked, Ids(b"seed"), dialect.model(recording.request, recording.body))
    assert refusal(exchange) is None


@needs_shared
def test_there_are_recordings_of_every_vendor_with_rules() -> None:
    read = {recording.values[0].provider for recording in SAID}
    assert {"openai", "azure", "deepseek", "anthropic", "gemini", "vertex", "mistral"} <= read
