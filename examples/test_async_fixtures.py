"""Async tests: the client is a fixture that is closed in the end, and the plugin's `fake_llm` is open around it."""

import asyncio

import anthropic
import pytest
import pytest_asyncio

from fake_llm import FakeLLM, Reply, Usage

# --- the app -------------------------------------------------------------------------------------


async def tell(client, prompt, shown, patience=10.0):
    """Show an answer as it arrives; say so when it takes too long."""
    try:
        async with asyncio.timeout(patience):
            async with client.messages.stream(
                model="claude-sonnet-5", max_tokens=300, messages=[{"role": "user", "content": prompt}]
            ) as stream:
                async for text in stream.text_stream:
                    shown.append(text)
                return (await stream.get_final_message()).usage.output_tokens
    except TimeoutError:
        shown.append(" … (too slow)")
        return 0


# --- its tests -----------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def client(fake_llm):
    async with anthropic.AsyncAnthropic() as client:
        yield client


@pytest.mark.asyncio
async def test_words_are_shown_as_they_come(client, fake_llm: FakeLLM):
    fake_llm.push(Reply("Once upon a time", usage=Usage(12, 4)))
    shown = []

    assert await tell(client, "A story", shown) == 4

    assert shown == ["Once", " upon", " a", " time"]


@pytest.mark.asyncio
async def test_a_model_that_is_too_slow_is_cut_short(client, fake_llm: FakeLLM):
    fake_llm.push(Reply("Once upon a time", interval=60))
    shown = []

    assert await tell(client, "A story", shown, patience=0.05) == 0

    assert shown[-1] == " … (too slow)"


@pytest.mark.asyncio
async def test_stories_are_told_side_by_side(client, fake_llm: FakeLLM):
    fake_llm.when(input="cats").reply("Meow.")
    fake_llm.when(input="dogs").reply("Woof.")
    cats, dogs = [], []

    await asyncio.gather(tell(client, "About cats", cats), tell(client, "About dogs", dogs))

    assert ("".join(cats), "".join(dogs)) == ("Meow.", "Woof.")
