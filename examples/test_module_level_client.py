"""A client that is made when its module is imported: `fake_llm_env` in `pytest.ini` gives it a dummy key by then."""

import pytest
import support_bot

from fake_llm import FakeLLM


@pytest.mark.fake_llm(["Dear Ann, we are sorry."])
def test_a_mail_is_answered(fake_llm: FakeLLM):
    assert support_bot.reply_to("My lamp is broken. Ann") == "Dear Ann, we are sorry."
    assert fake_llm.calls[0].last_user_text == "My lamp is broken. Ann"


@pytest.mark.parametrize("said", ["We are sorry.", "It is on its way."])
def test_the_same_client_serves_every_test(said, fake_llm: FakeLLM):
    fake_llm.push(said)

    assert support_bot.reply_to("Hello?") == said
