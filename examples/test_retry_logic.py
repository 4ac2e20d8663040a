"""Errors that pass, errors that stay: what is tried again, what falls back to another model, and what is given up."""

import openai
import pytest

import fake_llm
from fake_llm import Error

# --- the app -------------------------------------------------------------------------------------


class Unavailable(Exception):
    """No model could be reached."""


def summarise(text):
    """A summary by the best model that answers; the SDK tries each of them twice."""
    client = openai.OpenAI(max_retries=1)
    for model in ("gpt-5", "gpt-5-mini"):
        try:
            completion = client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": f"Summarise: {text}"}]
            )
            return completion.choices[0].message.content
        except (openai.RateLimitError, openai.InternalServerError, openai.APIConnectionError):
            continue
    raise Unavailable


# --- its tests -----------------------------------------------------------------------------------

BUSY = Error(429, headers={"retry-after-ms": "1"})  # the SDK waits as long as it is told


def test_a_busy_moment_is_waited_out():
    with fake_llm.intercept([BUSY, "Short."]) as fake:
        assert summarise("A long text.") == "Short."

    assert [(call.model, call.attempt) for call in fake.calls] == [("gpt-5", 1), ("gpt-5", 2)]
    assert fake.calls[0].raw == fake.calls[1].raw


def test_a_model_that_stays_busy_is_replaced():
    with fake_llm.intercept() as fake:
        fake.when(model="gpt-5").reply(BUSY)
        fake.when(model="gpt-5-mini").reply("Short.")

        assert summarise("A long text.") == "Short."

    assert [call.model for call in fake.calls] == ["gpt-5", "gpt-5", "gpt-5-mini"]


@pytest.mark.parametrize("trouble", [BUSY, Error(500, headers={"retry-after-ms": "1"})], ids=["busy", "broken"])
def test_no_model_at_all(trouble):
    with fake_llm.intercept(default=trouble) as fake, pytest.raises(Unavailable):
        summarise("A long text.")

    assert len(fake.calls) == 4


def test_a_mistake_of_ours_is_not_tried_again():
    with fake_llm.intercept([Error("context_length")]) as fake, pytest.raises(openai.BadRequestError):
        summarise("A text that is too long.")

    assert len(fake.calls) == 1
