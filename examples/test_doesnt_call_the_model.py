"""Paths that must not cost anything: a call in them fails the test, even where the code swallows exceptions."""

import functools

import openai
import pytest

import fake_llm
from fake_llm import UnscriptedCallError

# --- the app -------------------------------------------------------------------------------------


@functools.cache
def define(word):
    """A definition; by the model where the glossary has none, and asked once only."""
    word = word.strip().lower()
    if not word.isalpha():
        raise ValueError(f"{word!r} is no word")
    try:
        return GLOSSARY[word]
    except KeyError:
        return ask(word)


def ask(word):
    completion = openai.OpenAI().chat.completions.create(
        model="gpt-5", messages=[{"role": "user", "content": f"Define {word} in a sentence."}]
    )
    return completion.choices[0].message.content


GLOSSARY = {"turn": "What the model says in one round trip."}


# --- its tests -----------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def nothing_cached():
    define.cache_clear()


@fake_llm.forbid()
def test_the_glossary_comes_first():
    assert define(" Turn ") == "What the model says in one round trip."


@fake_llm.forbid()
def test_what_is_no_word_is_refused():
    with pytest.raises(ValueError, match="is no word"):
        define("DROP TABLE words;")


def test_a_definition_is_asked_for_once():
    with fake_llm.intercept(["Steam that has cooled."]) as fake:
        assert define("dew") == define("dew") == "Steam that has cooled."

    assert len(fake.calls) == 1


def test_a_call_that_must_not_be_stops_the_test():
    with pytest.raises(UnscriptedCallError), fake_llm.forbid():
        define("dew")
