"""Agents that work at the same time: rules give each of them its own answers, in whatever order they ask."""

import asyncio

import openai

import fake_llm
from fake_llm import Error

# --- the app -------------------------------------------------------------------------------------

REVIEWERS = {"security": "You look for security holes.", "style": "You look for unclear names."}


async def ask(client, system, text):
    completion = await client.chat.completions.create(
        model="gpt-5", messages=[{"role": "system", "content": system}, {"role": "user", "content": text}]
    )
    return completion.choices[0].message.content


async def review(diff):
    """Ask all reviewers at once, then let an editor sum up what they found."""
    async with openai.AsyncOpenAI(max_retries=0) as client:
        asked = [ask(client, system, diff) for system in REVIEWERS.values()]
        found = await asyncio.gather(*asked, return_exceptions=True)
        notes = "\n".join(
            f"{name}: {'(no answer)' if isinstance(note, Exception) else note}"
            for name, note in zip(REVIEWERS, found, strict=True)
        )
        return await ask(client, "You are the editor.", notes)


# --- its tests -----------------------------------------------------------------------------------

DIFF = "+ eval(request.args['x'])"


def test_the_editor_reads_what_every_reviewer_found():
    with fake_llm.intercept() as fake:
        fake.when(system="security").reply("eval is dangerous")
        fake.when(system="unclear names").reply("x says nothing")
        fake.when(system="editor").reply("Reject.")

        assert asyncio.run(review(DIFF)) == "Reject."

    *reviews, summary = fake.calls
    assert {call.system for call in reviews} == set(REVIEWERS.values())
    assert all(call.last_user_text == DIFF for call in reviews)
    assert summary.last_user_text == "security: eval is dangerous\nstyle: x says nothing"


def test_a_reviewer_who_fails_holds_nobody_up():
    with fake_llm.intercept() as fake:
        fake.when(system="security").reply(Error("overloaded"))
        fake.when(system="unclear names").reply("x says nothing")
        fake.when(system="editor").reply("Ask again.")

        assert asyncio.run(review(DIFF)) == "Ask again."

    assert fake.calls[-1].last_user_text == "security: (no answer)\nstyle: x says nothing"


def test_reviewers_work_at_the_same_time():
    waiting, together = set(), asyncio.Event()

    async def wait_for_the_others(call):
        waiting.add(call.system)
        if len(waiting) == len(REVIEWERS):
            together.set()
        await asyncio.wait_for(together.wait(), timeout=2)
        return "nothing"

    with fake_llm.intercept() as fake:
        fake.when(system="editor").reply("Accept.")
        fake.default(wait_for_the_others)

        assert asyncio.run(review(DIFF)) == "Accept."

    assert fake.calls[-1].last_user_text == "security: nothing\nstyle: nothing"
