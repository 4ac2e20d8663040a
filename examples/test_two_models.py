"""Two vendors in one program: one drafts, the other reviews, and one script serves both."""

import anthropic
import openai

import fake_llm

# --- the app -------------------------------------------------------------------------------------


def draft(task, remark=""):
    completion = openai.OpenAI().chat.completions.create(
        model="gpt-5", messages=[{"role": "user", "content": f"{task}\n{remark}".strip()}]
    )
    return completion.choices[0].message.content


def verdict(text):
    message = anthropic.Anthropic().messages.create(
        model="claude-sonnet-5",
        max_tokens=200,
        system="Say OK, or what is wrong.",
        messages=[{"role": "user", "content": text}],
    )
    return message.content[0].text


def write(task, max_drafts=3):
    """The first draft that the reviewer accepts, else the last one."""
    text = draft(task)
    for _ in range(max_drafts - 1):
        remark = verdict(text)
        if remark == "OK":
            break
        text = draft(task, remark)
    return text


# --- its tests -----------------------------------------------------------------------------------


def test_a_remark_leads_to_a_second_draft():
    with fake_llm.intercept(["Hello!", "Too short.", "Hello, dear reader!", "OK"]) as fake:
        assert write("Greet the reader.") == "Hello, dear reader!"

    assert [call.provider for call in fake.calls] == ["openai", "anthropic", "openai", "anthropic"]
    assert fake.calls[1].last_user_text == "Hello!"
    assert fake.calls[2].last_user_text == "Greet the reader.\nToo short."


def test_a_reviewer_who_is_never_content_ends_with_the_last_draft():
    with fake_llm.intercept() as fake:
        fake.when(provider="openai").reply("one", "two", "three")
        fake.when(provider="anthropic").reply("No.")

        assert write("Greet the reader.") == "three"

    assert len(fake.calls.filter(provider="anthropic")) == 2


def test_each_request_is_in_its_vendors_language():
    with fake_llm.intercept(["Hello!", "OK"]) as fake:
        write("Greet the reader.")

    drafted, reviewed = fake.calls
    assert "max_tokens" not in drafted.body
    assert reviewed.body["system"] == reviewed.system == "Say OK, or what is wrong."
