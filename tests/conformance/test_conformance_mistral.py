"""Mistral: what it was asked is taken, and what we say for it is what its own schema says."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import httpx
import pytest

import fake_llm
from _answers import payloads, whole_or_nothing
from _recorded import Recording, load, load_spec, recordings
from _schemas import schema_complaints
from _shared import needs_shared
from _turns_table import TURNS, exchange
from fake_llm import Reply
from fake_llm._differences.mistral import MISTRAL
from fake_llm._turns import Audio, Citation

pytestmark = needs_shared

WHOLE, CHUNK = "ChatCompletionResponse", "CompletionChunk"


def of_mistral() -> list[Recording]:
    return [recording for recording in recordings("openai_chat") if recording.provider == "mistral"]


@cache
def untrue() -> frozenset[str]:
    """What the schema says against recorded answers (it lacks keys of 2026)."""
    return frozenset(
        complaint
        for recording in of_mistral()
        for name, payload in [(WHOLE, recording.document), *((CHUNK, event) for event in recording.events)]
        if payload is not None
        for complaint in schema_complaints("mistral", name, payload)
    )


def complaints(name: str, payload: Any) -> list[str]:
    return [complaint for complaint in schema_complaints("mistral", name, payload) if complaint not in untrue()]


@pytest.mark.parametrize("recording", [pytest.param(item, id=item.id) for item in of_mistral() if item.asked])
def test_a_real_request_is_not_refused(recording: Recording) -> None:
    assert MISTRAL.check is not None
    assert MISTRAL.check(recording.request, recording.body) is None


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("turn", TURNS)
def test_a_turn_is_what_the_schema_says(turn: str, stream: bool) -> None:
    dialect = load("openai_chat")
    spoken = {type(part) for parts, _ in TURNS[turn].choices for part in parts}
    if not TURNS[turn].carried(dialect) or spoken & {Audio, Citation}:  # this host has no place for these
        pytest.skip("needs a turn that is carried")
    asked = exchange(dialect, turn, stream=stream)
    if stream:
        found = payloads(dialect, asked, MISTRAL)
    else:
        assert MISTRAL.document is not None
        found = [json.loads(json.dumps(MISTRAL.document(asked, dialect.document(asked))))]
    said = [
        complaint
        for payload in found
        for complaint in complaints(CHUNK if stream else WHOLE, payload)
        if "'content_filter' is not one of" not in complaint  # the neutral word, where the vendor has none
        if "'signature'" not in complaint  # newer than the schema: mistralai 3.7 has it
    ]
    assert not said, f"{said} in {found}"


def test_the_schema_judges() -> None:
    assert len(untrue()) < 8, untrue()
    assert complaints(WHOLE, {"id": 1, "choices": [{"index": "0"}]})


@pytest.mark.parametrize(
    "recording",
    [pytest.param(item, id=item.id) for item in of_mistral() if item.document is not None and item.asked],
)
def test_the_bytes_of_a_whole_answer_have_the_recorded_order(recording: Recording) -> None:
    turn = Reply("x", check=False)
    with fake_llm.intercept([turn]) as fake:
        httpx.post("https://api.mistral.ai/v1/chat/completions", json=recording.body, verify=False)
    ours = json.loads(fake.calls[0].response.body)
    if "-n-1-" not in recording.id:  # sorted by what recorded it
        assert [*ours] == [*recording.document]
        assert [*ours["choices"][0]] == [*recording.document["choices"][0]]
        assert [*ours["choices"][0]["message"]] == [*recording.document["choices"][0]["message"]]


def test_the_padding_is_the_recorded_one() -> None:
    """A prefix of the alphabet and the digits, in every chunk but the first."""
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    recorded = [event for item in of_mistral() for event in item.events if "p" in event]
    with fake_llm.intercept([Reply("one two three", framing=fake_llm.Framing(padding=True))]) as fake:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        httpx.post("https://api.mistral.ai/v1/chat/completions", json=body, verify=False)
    lines = fake.calls[0].response.body.decode().split("\n\n")
    ours = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    assert "p" not in ours[0]
    for event in (*recorded, *ours[1:]):
        assert [*event][-1] == "p" or event in recorded
        assert alphabet.startswith(event["p"])
        assert event["p"]


def test_what_was_recorded_is_read_back_through_a_verbatim_body() -> None:
    """Whole recorded answers, streams added up, are turns with the same text and thoughts."""
    parts = load("openai_chat").parts
    for recording in of_mistral():
        document = recording.document or whole_or_nothing(recording)
        turn = parts(document)
        content = document["choices"][0]["message"].get("content") or ""
        texts = [content] if isinstance(content, str) else [block["text"] for block in content if "text" in block]
        assert "".join(part for part in turn.parts if isinstance(part, str)) == "".join(texts)
        assert turn.usage is not None
        assert turn.usage.total == document["usage"]["total_tokens"]


def test_an_answer_of_embeddings_is_what_the_schema_says() -> None:
    with fake_llm.intercept() as fake:
        body = {"model": "mistral-embed", "input": ["a", "b"]}
        httpx.post("https://api.mistral.ai/v1/embeddings", json=body, verify=False)
    said = schema_complaints("mistral", "EmbeddingResponse", json.loads(fake.calls[0].response.body))
    recorded = {"EmbeddingResponse $.usage: has request_count", "EmbeddingResponse $.usage: has service_tier"}
    assert set(said) <= recorded | {"EmbeddingResponse $.usage: has completion_tokens_details"}


def test_the_list_of_models_is_what_the_schema_says() -> None:
    with fake_llm.intercept():
        answer = httpx.get("https://api.mistral.ai/v1/models", verify=False).json()
    unknown = set(answer["data"][0]["capabilities"]) - set(
        load_spec("mistral")["$defs"]["ModelCapabilities"]["properties"]
    )
    assert schema_complaints("mistral", "ModelList", answer) == [] or unknown
    for model in answer["data"]:
        assert set(model) <= set(load_spec("mistral")["$defs"]["BaseModelCard"]["properties"])


def test_an_error_is_the_recorded_one() -> None:
    with fake_llm.intercept([fake_llm.Error("authentication"), fake_llm.Error("not_found")], strict=False):
        body = {"model": "no-such-model", "messages": [{"role": "user", "content": "Hi"}]}
        denied, unknown = (
            httpx.post("https://api.mistral.ai/v1/chat/completions", json=body, verify=False) for _ in range(2)
        )
    assert (denied.status_code, denied.json()) == (401, {"detail": "Invalid API Key"})
    assert unknown.status_code == 400
    assert unknown.json() == {
        "object": "error",
        "message": "Invalid model: no-such-model",
        "type": "invalid_model",
        "param": None,
        "code": "1500",
        "raw_status_code": 400,
    }
