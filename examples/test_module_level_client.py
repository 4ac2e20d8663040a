"""A client that is made when its module is imported: `fake_llm_env` in `pytest.ini` gives it a dummy key by then."""

import support_bot

import fake_llm


def test_a_mail_is_answered():
    with fake_llm.intercept(["Dear Ann, we are sorry."]) as fake:
        assert support_bot.reply_to("My lamp is broken. Ann") == "Dear Ann, we are sorry."

    assert fake.calls[0].last_user_text == "My lamp is broken. Ann"


def test_the_same_client_answers_in_every_block():
    for said in ("first", "second"):
        with fake_llm.intercept([said]):
            assert support_bot.reply_to("Hello?") == said
