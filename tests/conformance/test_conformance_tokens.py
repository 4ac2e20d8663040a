"""How near the estimate of tokens comes to what vendors counted, as the page about tokens says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles

from _recorded import DIALECTS, load, recordings
from _shared import needs_shared
from fake_llm._options import Pace
from fake_llm._render import _ready
from fake_llm._tokens import estimate

pytestmark = needs_shared
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "usage.md"


def ratios() -> Iterator[tuple[float, float]]:
    """Of each whole answer with its request: the estimate beside the count, of what went in and of what came out."""
    for name in DIALECTS:
        dialect = load(name)
        for recording in recordings(name):
            if recording.document is None or not recording.asked:
                continue
            reply = dialect.parts(recording.document)
            if reply.usage is not None and reply.usage.input_tokens and reply.usage.output_tokens:
                estimated = estimate(recording.body, (_ready(reply, reply.parts, Pace()),))
                yield (
                    estimated.input_tokens / reply.usage.input_tokens,
                    estimated.output_tokens / reply.usage.output_tokens,
                )


def test_the_page_says_how_near_the_estimate_comes() -> None:
    found = list(ratios())
    assert len(found) > 100
    said = re.search(
        r"of half of them between ([\d.]+) and ([\d.]+) times .*?between ([\d.]+) and ([\d.]+) times",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert said is not None
    quarters = [quantiles(each, n=4) for each in zip(*found, strict=True)]
    assert [float(number) for number in said.groups()] == [
        round(quarter, 1) for first, _, last in quarters for quarter in (first, last)
    ]
