"""Rows that hold every pair of values of every two factors; deterministic, and few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

__all__ = ["pairwise"]


def pairwise(factors: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Greedily: each row is the one of all that holds most of the pairs that are left; of equals, the first."""
    names = list(factors)
    every = [tuple(zip(names, row, strict=True)) for row in product(*factors.values())]
    left = {pair for row in every for pair in combinations(row, 2)}
    rows: list[Any] = []
    while left:
        best = max(every, key=lambda row: len(left.intersection(combinations(row, 2))))
        left.difference_update(combinations(best, 2))
        rows.append(dict(best))
    return rows
