"""For any turn: what the SDK reads is what was said, and a stream says the same as a whole answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fake_llm
from _ids import shown
from _sdk_clients import HERE, Called, Client, skip_unless_able
from fake_llm import Reply, Thinking, ToolCall, Usage

ANY = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}  # so that it may be strict, as helpers want it
NAMES = ("first_tool", "second-tool", "t")
TOOLS = dict.fromkeys(NAMES, ANY)
SEPARATORS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
CHARACTERS = st.characters(codec="utf-8", exclude_characters=SEPARATORS)
TEXTS = st.text(CHARACTERS | st.sampled_from('\n\r"\\ {}<>:'), min_size=1, max_size=60)
KEYS = st.text(CHARACTERS, min_size=1, max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.sampled_from([0.5, -1.25, 1e20]) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
CALLS = st.builds(ToolCall, st.sampled_from(NAMES), st.dictionaries(KEYS, VALUES, max_size=3))
TURNS = st.one_of(
    st.lists(TEXTS, min_size=1, max_size=1),
    st.lists(CALLS, min_size=1, max_size=3),
    st.tuples(TEXTS, st.lists(CALLS, min_size=1, max_size=3)).map(lambda turn: [turn[0], *turn[1]]),
)
CHUNKS = st.none() | st.integers(1, 20)
COUNTS = st.integers(1, 10_000)
PACE = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
FEW = settings(PACE, max_examples=4)
"""For clients that aren't thorough: their vocabulary has one that is."""


async def heard(client: Client, reply: Reply, mode: str) -> Any:
    with fake_llm.intercept([reply.replace(check=False)]):
        return await client.ask("Say it.", tools=TOOLS, mode=mode)


def text_of(turn: list[Any]) -> str:
    return "".join(part for part in turn if isinstance(part, str))


def calls_of(turn: list[Any]) -> tuple[Called, ...]:
    return tuple(Called(part.name, part.arguments) for part in turn if isinstance(part, ToolCall))


@pytest.mark.parametrize("mode", ["whole", "stream", "helper"])
@pytest.mark.parametrize("client", HERE, ids=shown)
def test_what_is_read_is_what_was_said(client: Client, mode: str) -> None:
    skip_unless_able(client, mode)

    @(PACE if client.thorough else FEW)
    @given(turn=TURNS, chunk_size=CHUNKS, spent=st.tuples(COUNTS, COUNTS))
    def check(turn: list[Any], chunk_size: int | None, spent: tuple[int, int]) -> None:
        answer = client.run(heard(client, Reply(*turn, chunk_size=chunk_size, usage=Usage(*spent)), mode))
        assert answer.text == text_of(turn)
        assert answer.tool_calls == calls_of(turn)
        assert answer.finish == client.finish("tool_calls" if calls_of(turn) else "stop")
        assert (answer.usage.input, answer.usage.output) == spent
        if mode == "stream" and chunk_size is not None and answer.text:
            assert all(len(delta) <= chunk_size for delta in answer.deltas)

    check()


@pytest.mark.parametrize("client", HERE, ids=shown)
def test_a_stream_says_the_same_as_a_whole_answer(client: Client) -> None:
    skip_unless_able(client, "whole", ("thinking",))
    names = ["text", "tool_calls", "thinking", "refusal", "finish", "usage", "choices"]
    if "names its model" in client.can:
        names.append("model")

    @(PACE if client.thorough else FEW)
    @given(thinking=st.none() | TEXTS.map(Thinking), turn=TURNS, chunk_size=CHUNKS)
    def check(thinking: Thinking | None, turn: list[Any], chunk_size: int | None) -> None:
        reply = Reply(*([thinking] if thinking else []), *turn, chunk_size=chunk_size)
        answers = {
            mode: client.run(heard(client, reply, mode))
            for mode in ("whole", "stream", "helper")
            if mode in client.modes
        }
        whole = answers["whole"]
        for answer in answers.values():
            assert answer.thinking == (thinking.text if thinking else "")
            for name in names:
                assert getattr(answer, name) == getattr(whole, name), name

    check()
