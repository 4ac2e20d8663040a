"""A screen that fills while the model speaks: what is shown when, and when the line breaks."""

import openai
import pytest

import fake_llm
from fake_llm import Disconnect, Error, Reply

# --- the app -------------------------------------------------------------------------------------


class Screen:
    """Shows an answer as it arrives."""

    def __init__(self):
        self.frames = []
        self.status = "idle"

    def show(self, prompt):
        text, self.status = "", "waiting"
        try:
            stream = openai.OpenAI(max_retries=0).chat.completions.create(
                model="gpt-5", messages=[{"role": "user", "content": prompt}], stream=True
            )
            for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    text += chunk.choices[0].delta.content
                    self.frames.append(text)
                    self.status = "typing"
        except openai.APIStatusError:
            self.status = "unavailable"
        except Exception:  # a broken stream is another class in each generation of the SDK
            self.status = "interrupted"
        else:
            self.status = "done"


@pytest.fixture
def screen():
    return Screen()


# --- its tests -----------------------------------------------------------------------------------


def test_the_screen_grows_with_each_piece(screen):
    with fake_llm.intercept([Reply("Hello, world", chunks=["Hel", "lo, ", "world"])]) as fake:
        screen.show("Greet me")

    assert screen.frames == ["Hel", "Hello, ", "Hello, world"]
    assert screen.status == "done"
    assert fake.calls[0].stream


def test_what_was_said_before_the_line_broke_stays(screen):
    with fake_llm.intercept([Reply("Once upon", chunks=["Once ", "upon"], then=Disconnect())]):
        screen.show("Tell me a story")

    assert screen.frames[-1] == "Once upon"
    assert screen.status == "interrupted"


def test_nothing_is_shown_of_an_answer_that_never_begins(screen):
    with fake_llm.intercept([Error("overloaded")]):
        screen.show("Anyone there?")

    assert screen.frames == []
    assert screen.status == "unavailable"
