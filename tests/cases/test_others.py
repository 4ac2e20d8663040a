"""Mistral and Cohere: a finish reason of its own, an error object in a stream, the terminator, unknown events."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import fake_llm
from _capability import has, load, needs
from fake_llm import Error, FakeLLM, Reply, quirks

MESSAGES: Any = [{"role": "user", "content": "Hello"}]


def sent(fake: FakeLLM) -> bytes:
    """The body of the one answer."""
    (call,) = fake.calls
    assert call.response is not None
    return call.response.body


# --- B68: a stream that ends in an error ------------------------------------------------------------

ERROR = {"object": "error", "message": "Capacity exceeded", "type": "rate_limited", "param": None, "code": "3505"}


def mistral(said: list[Any]) -> None:
    """Keep what a stream of Mistral's SDK says, even of one that fails."""
    module = load("mistralai", "mistralai.client" if has("mistralai>=2") else "mistralai")
    for event in module.Mistral(api_key="k").chat.stream(model="mistral-small-latest", messages=MESSAGES):
        said.append(event.data.choices[0])


@needs("mistralai")
@pytest.mark.parametrize("reason", ["error", "new_reason"])
def test_B68_a_finish_reason_of_its_own_passes(reason: str) -> None:
    said: list[Any] = []
    with fake_llm.intercept([Reply("", finish_reason=reason)]) as fake:
        mistral(said)

    assert [choice.delta.content for choice in said] == ["", ""]
    assert said[-1].finish_reason == reason
    assert f'"delta":{{"content":""}},"finish_reason":"{reason}"}}'.encode() in sent(fake)


@needs("mistralai>=2")
@pytest.mark.parametrize(
    "turn",
    [
        Reply("Hi", edit=lambda events: [*events[:-1], ERROR]),
        Reply("Hi", then=Error(429, "Capacity exceeded")),
    ],
    ids=["as it was sent", "by name"],
)
def test_B68_an_error_object_is_no_chunk_to_the_SDK(turn: Reply) -> None:
    errors, said = load("mistralai", "mistralai.client.errors"), list[Any]()
    with fake_llm.intercept([turn]) as fake, pytest.raises(errors.ResponseValidationError) as caught:
        mistral(said)

    assert caught.value.status_code == 200
    assert len(said) == (1 if turn.edit else 2)
    assert b'data: {"object":"error","message":"Capacity exceeded","type":"rate_limited","param":null,"code":"' in sent(
        fake
    )


# --- B70: the terminator ----------------------------------------------------------------------------

EVENTS = ["message-start", "content-start", "content-delta", "content-end", "message-end"]


def cohere() -> list[str]:
    """The types of the events that Cohere's SDK gives."""
    stream = load("cohere").ClientV2("k").chat_stream(model="command-a-03-2025", messages=MESSAGES)
    return [event.type for event in stream]


@needs("cohere>=5.20")
def test_B70_the_terminator_is_no_event(caplog: pytest.LogCaptureFixture) -> None:
    with fake_llm.intercept(["Hi"]) as fake:
        assert cohere() == EVENTS

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert sent(fake).endswith(b"}\n\ndata: [DONE]\n\n")


@needs("cohere>=5.20")
def test_B70_an_unknown_event_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with fake_llm.intercept([Reply("Hi", edit=quirks.unknown_event("new-event"))]) as fake:
        assert cohere() == EVENTS

    assert {(record.name, record.levelname) for record in caplog.records} == {("root", "WARNING")}
    assert b'event: new-event\ndata: {"type":"new-event"' in sent(fake)
