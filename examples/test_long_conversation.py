"""A conversation of many rounds: rules answer by what is asked, so that the test needn't count turns."""

import groq
import pytest

from fake_llm import FakeLLM

# --- the app -------------------------------------------------------------------------------------


class Chat:
    """Remembers the last rounds, and always who it is."""

    def __init__(self, system, rounds=3):
        self.client = groq.Groq()
        self.system = {"role": "system", "content": system}
        self.rounds = rounds
        self.history = []

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        self.history = self.history[1 - 2 * self.rounds :]
        completion = self.client.chat.completions.create(
            model="llama-3.3-70b-versatile", messages=[self.system, *self.history]
        )
        answer = completion.choices[0].message.content
        self.history.append({"role": "assistant", "content": answer})
        return answer


# --- its tests -----------------------------------------------------------------------------------


pytestmark = pytest.mark.fake_llm(default="Tell me more.")


@pytest.fixture
def llm(fake_llm: FakeLLM):
    """The model: what it says to what, in the order in which rules are asked."""
    fake_llm.when(last="my name", turn=0).reply("Hello!")
    fake_llm.when(last="refund", times=1).reply("Which order?")
    fake_llm.when(last="refund").reply("As I asked: which order?")
    return fake_llm


def test_the_same_question_again_gets_another_answer(llm):
    chat = Chat("You are polite.")

    assert chat.say("I am Ann, that's my name.") == "Hello!"
    assert chat.say("I want a refund.") == "Which order?"
    assert chat.say("It came late.") == "Tell me more."
    assert chat.say("A refund!") == "As I asked: which order?"


def test_old_rounds_are_forgotten_and_the_instructions_never(llm):
    chat = Chat("You are polite.", rounds=3)
    chat.say("I am Ann, that's my name.")
    chat.say("I want a refund.")

    for number in range(10):
        chat.say(f"remark {number}")

    assert all(call.system == "You are polite." for call in llm.calls)
    assert llm.calls[-1].user_texts == ("remark 7", "remark 8", "remark 9")
    assert [message.role for message in llm.calls[-1].messages[1:]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]


def test_a_conversation_doesnt_grow_without_end(fake_llm: FakeLLM):
    chat = Chat("You are polite.", rounds=3)
    for number in range(10):
        chat.say(f"remark {number}")

    assert [len(call.messages) for call in fake_llm.calls] == [2, 4, 6, 6, 6, 6, 6, 6, 6, 6]
