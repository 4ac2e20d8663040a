"""Rounds: the variants take turns in shuffled order, and only figures of one round are compared.

A round holds some small batches of each variant; its figure is the fastest of them, as a machine that does
other work too only ever adds. The clock is the CPU time of this process: nothing measured here waits, and what other processes take away
isn't counted. The garbage collector is on, as in a test run, but what was there before a batch is
frozen: it finds only what the batch itself made.
"""

from __future__ import annotations

import asyncio
import gc
import math
import random
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias

Variant: TypeAlias = Callable[[int], float]
"""Does its thing so many times and returns the seconds that took, or the bytes that it keeps."""

Prepared: TypeAlias = Callable[[int], AbstractContextManager[Callable[[], object]]]
"""Makes ready for so many operations, and gives the operation."""

PreparedOnLoop: TypeAlias = Callable[[int], AbstractAsyncContextManager[Callable[[], Awaitable[object]]]]
"""The same on an event loop."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured beside what.

    Attributes:
        title: What is done.
        ours: The variant with fake_llm in it.
        base: The one beside it.
        base_name: What that is.
        target: The ratio not to be exceeded, `None` for a case that only informs.
        count: Operations in a batch.
        rounds: Rounds.
        batches: Batches of each variant in a round.
        unit: What the variants return: seconds (`s`) or bytes (`B`).
    """

    title: str
    ours: Variant
    base: Variant
    base_name: str = "floor"
    target: float | None = None
    count: int = 20
    rounds: int = 60
    batches: int = 6
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class Result:
    """The ratios of all rounds, and the typical cost of one operation."""

    ratios: list[float]
    ours: float
    base: float

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)


WARM_UP = 6
"""Operations before those that count: making a client, and a full collection, empty the caches of the processor."""


def batch(prepare: Prepared) -> Variant:
    """A variant that times nothing but the operations themselves."""

    def run(count: int) -> float:
        with prepare(count + WARM_UP) as operation:
            gc.collect()
            gc.freeze()
            for _ in range(WARM_UP):
                operation()
            start = time.process_time()
            for _ in range(count):
                operation()
            taken = time.process_time() - start
        gc.unfreeze()
        return taken

    return run


def batch_on_loop(prepare: PreparedOnLoop) -> Variant:
    """The same on one event loop, whose start and end aren't timed."""

    async def timed(count: int) -> float:
        async with prepare(count + WARM_UP) as operation:
            gc.collect()
            gc.freeze()
            for _ in range(WARM_UP):
                await operation()
            start = time.process_time()
            for _ in range(count):
                await operation()
            taken = time.process_time() - start
        gc.unfreeze()
        return taken

    return lambda count: asyncio.run(timed(count))


def measure(case: Case, rounds: int, seed: int = 1) -> Result:
    """The case in so many rounds, after one that isn't counted."""
    order = random.Random(seed)
    figures = [_round(case, order) for _ in range(rounds + 1)][1:]
    ours, base = ([figure[place] for figure in figures] for place in (0, 1))
    return Result([ours / base for ours, base in figures], statistics.median(ours), statistics.median(base))


def _round(case: Case, order: random.Random) -> tuple[float, float]:
    """What one operation costs, ours and beside it."""
    fastest = {"ours": math.inf, "base": math.inf}
    turns = [("ours", case.ours), ("base", case.base)] * case.batches
    order.shuffle(turns)
    for name, variant in turns:
        fastest[name] = min(fastest[name], variant(case.count) / case.count)
    return fastest["ours"], fastest["base"]
