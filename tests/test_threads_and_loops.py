"""Blocks are process-wide: many threads, many tasks, many loops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import httpx
import pytest

import fake_llm
from _asking import ASYNC, OPENAI, SYNC, ask, ask_async, body_of
from _capability import has
from fake_llm import Error, FakeLLM, Reply, UnscriptedCallError, UnusedReplyError, _blocks, _environment, _install

LOOPS = ["asyncio", *(["trio"] if has("trio") else [])]
TURNS = [str(number) for number in range(200)]


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Any:
    yield
    assert _blocks.opened() == ()
    assert (_install._installed._blocks, _environment._blocks) == (0, 0)


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of so many threads that begin at the same time."""
    barrier = threading.Barrier(count, timeout=30)

    def begin(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


# --- one block, many threads and tasks ----------------------------------------------------------


def test_200_turns_over_8_threads_are_taken_once_each() -> None:
    with fake_llm.intercept(TURNS) as fake:
        found = together(8, lambda number: [ask(f"{number}.{index}") for index in range(25)])
        assert fake.remaining == 0

    assert Counter(text for texts in found for text in texts) == Counter(TURNS)
    assert [call.index for call in fake.calls] == list(range(200))
    assert Counter(call.last_user_text for call in fake.calls) == Counter(
        f"{number}.{index}" for number in range(8) for index in range(25)
    )
    for call in fake.calls:
        (text,) = (
            texts[int(call.last_user_text.partition(".")[2])]
            for n, texts in enumerate(found)
            if call.last_user_text.startswith(f"{n}.")
        )
        assert call.reply == Reply(text)


def test_turns_of_a_rule_over_threads_are_taken_once_each() -> None:
    with fake_llm.intercept() as fake:
        fake.when(input="x").reply(*TURNS)
        found = together(8, lambda number: [ask("x") for _ in range(25)])

    assert Counter(text for texts in found for text in texts) == Counter(TURNS)


def test_a_rule_with_times_answers_so_often_over_threads() -> None:
    with fake_llm.intercept(default="default") as fake:
        fake.when(times=50).reply("rule")
        found = together(8, lambda number: [ask() for _ in range(25)])

    assert Counter(text for texts in found for text in texts) == {"rule": 50, "default": 150}


def test_functions_in_several_threads_are_called_once_for_each_call() -> None:
    seen: list[int] = []

    def turn(call: Any) -> str:
        seen.append(call.index)
        return str(call.index)

    with fake_llm.intercept(default=turn):
        found = together(8, lambda number: [ask() for _ in range(25)])

    assert sorted(seen) == list(range(200))
    assert sorted(int(text) for texts in found for text in texts) == list(range(200))


@pytest.mark.parametrize("way", SYNC)
def test_every_sdk_in_threads(way: Callable[[str], str]) -> None:
    with fake_llm.intercept(TURNS[:16]):
        found = together(4, lambda number: [way("Hi") for _ in range(4)])

    assert Counter(text for texts in found for text in texts) == Counter(TURNS[:16])


@pytest.mark.parametrize("loop", LOOPS)
def test_200_turns_over_tasks_are_taken_once_each(loop: str) -> None:
    found: list[str] = []

    async def work() -> None:
        found.append(await ask_async())

    async def main() -> None:
        async with fake_llm.intercept(TURNS), anyio.create_task_group() as group:
            for _ in TURNS:
                group.start_soon(work)

    anyio.run(main, backend=loop)
    assert Counter(found) == Counter(TURNS)


@pytest.mark.parametrize("way", ASYNC)
def test_several_loops_one_after_the_other_and_in_threads(way: Callable[[str], Awaitable[str]]) -> None:
    async def one() -> str:
        return await way("Hi")

    with fake_llm.intercept(TURNS[:6]):
        found = [asyncio.run(one()) for _ in range(3)]
        found += together(3, lambda number: asyncio.run(one()))

    assert found[:3] == ["0", "1", "2"]
    assert Counter(found) == Counter(TURNS[:6])


@pytest.mark.parametrize("way", ASYNC)
def test_gather_and_task_groups_take_each_turn_once(way: Callable[[str], Awaitable[str]]) -> None:
    async def main() -> list[str]:
        found = await asyncio.gather(*(way("Hi") for _ in range(8)))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_awaited(way, "Hi")) for _ in range(8)]
        return [*found, *(task.result() for task in tasks)]

    with fake_llm.intercept(TURNS[:16]) as fake:
        found = asyncio.run(main())
        assert fake.remaining == 0

    assert Counter(found) == Counter(TURNS[:16])
    assert [call.index for call in fake.calls] == list(range(16))


async def _awaited(way: Callable[[str], Awaitable[str]], text: str) -> str:
    return await way(text)


CONVERSATIONS = [f"conversation {letter}" for letter in "abcdef"]


def _scripted(fake: FakeLLM) -> None:
    for name in CONVERSATIONS:
        fake.when(input=name).reply(*(f"{name}: {turn}" for turn in range(3)))


def _held(found: list[list[str]]) -> bool:
    return found == [[f"{name}: {turn}" for turn in range(3)] for name in CONVERSATIONS]


@pytest.mark.parametrize("way", SYNC)
def test_rules_keep_conversations_in_threads_apart_and_in_order(way: Callable[[str], str]) -> None:
    with fake_llm.intercept() as fake:
        _scripted(fake)
        found = together(6, lambda number: [way(CONVERSATIONS[number]) for _ in range(3)])

    assert _held(found)


@pytest.mark.parametrize("way", ASYNC)
def test_rules_keep_conversations_in_tasks_apart_and_in_order(way: Callable[[str], Awaitable[str]]) -> None:
    async def one(name: str) -> list[str]:
        return [await way(name) for _ in range(3)]

    async def main() -> list[list[str]]:
        return await asyncio.gather(*map(one, CONVERSATIONS))

    with fake_llm.intercept() as fake:
        _scripted(fake)
        found = asyncio.run(main())

    assert _held(found)


def test_a_client_that_serves_several_loops() -> None:
    client = httpx.AsyncClient()

    async def one() -> str:
        answer: str = (await client.post(OPENAI, json=body_of())).json()["choices"][0]["message"]["content"]
        return answer

    with fake_llm.intercept(["1", "2", "3"]):
        assert [asyncio.run(one()) for _ in range(3)] == ["1", "2", "3"]


def test_a_slow_turn_holds_nobody_up() -> None:
    with fake_llm.intercept(default=Reply("slow", delay=0.2)):
        begun = time.perf_counter()
        together(8, lambda number: ask())
        taken = time.perf_counter() - begun

        async def main() -> None:
            await asyncio.gather(*(ask_async() for _ in range(8)))

        begun = time.perf_counter()
        asyncio.run(main())
        taken_async = time.perf_counter() - begun

    assert taken < 8 * 0.2
    assert taken_async < 8 * 0.2


def test_an_async_function_turn_on_a_sync_client_in_a_task() -> None:
    async def turn(call: Any) -> str:
        await asyncio.sleep(0)
        return "late"

    async def main() -> str:
        return ask()

    with fake_llm.intercept([turn, turn, turn]):
        assert ask() == "late"
        assert asyncio.run(main()) == "late"
        assert together(1, lambda number: ask()) == ["late"]


def test_a_retry_in_one_thread_is_none_of_anothers() -> None:
    """The answer that a retry gets again belongs to its thread: the same body from another one is a new call."""
    with fake_llm.intercept([Error(500)]) as fake:
        assert httpx.post(OPENAI, json=body_of()).status_code == 500
        (status,) = together(1, lambda number: httpx.post(OPENAI, json=body_of()).status_code)
        assert status == 400
        assert len(fake.failures) == 1
        fake.failures.clear()


# --- many blocks --------------------------------------------------------------------------------


def test_one_object_in_several_threads_at_once() -> None:
    block = fake_llm.intercept(["Hello"], default="more")
    barrier = threading.Barrier(8, timeout=30)
    fakes: list[FakeLLM] = []

    def work(number: int) -> None:
        for _ in range(5):
            with block as fake:
                fakes.append(fake)
                barrier.wait()
                ask()
                barrier.wait()
                fake.push()
                # whoever entered last has answered all eight
                if fake is not _blocks.opened()[-1]:
                    assert len(fake.calls) == 0
                    fake.reset()
                barrier.wait()

    together(8, work)
    assert len({id(fake) for fake in fakes}) == 40
    assert sorted(len(fake.calls) for fake in fakes) == [0] * 35 + [8] * 5


def test_each_thread_leaves_the_block_that_it_entered() -> None:
    block = fake_llm.intercept([])
    entered, left = threading.Barrier(4, timeout=30), threading.Barrier(4, timeout=30)

    def work(number: int) -> bool:
        with block as fake:
            entered.wait()
            mine = fake in _blocks.opened()
            time.sleep(0.01 * number)  # they leave one after the other
        gone = fake not in _blocks.opened()
        left.wait()
        return mine and gone

    assert together(4, work) == [True] * 4


def test_each_task_leaves_the_block_that_it_entered() -> None:
    block = fake_llm.intercept([])

    async def work(number: int) -> None:
        async with block as fake:
            await asyncio.sleep(0.01 * (4 - number))
            assert fake in _blocks.opened()
        assert fake not in _blocks.opened()

    async def main() -> None:
        await asyncio.gather(*(work(number) for number in range(4)))

    asyncio.run(main())


def test_decorated_functions_run_in_threads_at_once() -> None:
    @fake_llm.intercept(default="Hello")
    def answer(number: int) -> list[str]:
        return [ask(), ask()]

    assert together(8, answer) == [["Hello", "Hello"]] * 8


def test_entering_and_leaving_in_many_threads_restores_everything() -> None:
    before = httpx.Client._transport_for_url

    def work(number: int) -> None:
        for _ in range(50):
            with fake_llm.intercept():
                assert httpx.Client._transport_for_url is not before

    together(8, work)
    assert httpx.Client._transport_for_url is before


def test_a_block_that_is_left_in_another_thread() -> None:
    block = fake_llm.intercept(["unused"])
    block.__enter__()

    def work(number: int) -> BaseException | None:
        try:
            block.__exit__(None, None, None)
        except BaseException as error:
            return error
        return None

    (error,) = together(1, work)
    assert type(error) is UnusedReplyError


# --- where a block is at home -------------------------------------------------------------------


def test_the_thread_that_entered_is_at_home_and_no_other() -> None:
    def work(number: int) -> type[BaseException] | None:
        try:
            ask()
        except BaseException as error:
            return type(error)
        return None

    with fake_llm.intercept() as fake:
        assert work(0) is UnscriptedCallError
        assert together(2, work) == [RuntimeError] * 2
        fake.failures.clear()


def test_a_block_of_another_thread_is_judged_there() -> None:
    def work(number: int) -> type[BaseException] | None:
        try:
            with fake_llm.intercept():
                ask()
        except BaseException as error:
            return type(error)
        return None

    with fake_llm.intercept() as outer:
        assert together(1, work) == [UnscriptedCallError]
        assert outer.failures == []


def test_a_task_in_a_task_with_a_block_of_its_own_is_at_home_in_it() -> None:
    async def inner() -> None:
        with pytest.raises(UnscriptedCallError):
            async with fake_llm.intercept():
                await ask_async()

    async def main() -> None:
        async with fake_llm.intercept() as outer:
            await asyncio.gather(inner(), inner())
            assert outer.failures == []

    asyncio.run(main())
