"""`python -m benchmarks [--quick] [words …]`: measures the cases whose titles have all of the words."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator, Sequence

from benchmarks import _blocks, _sdks
from benchmarks._rounds import Case, Result, measure

LIBRARIES = ("openai", "anthropic", "groq", "httpx", "httpx2", "requests", "respx", "responses")


def main(arguments: Sequence[str]) -> None:
    """Print a table, one line as soon as it is known."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What a faked call costs.")
    parser.add_argument("words", nargs="*", help="measure only the cases whose title has these words")
    parser.add_argument("--quick", action="store_true", help="two small rounds each: whether it runs, not how fast")
    parser.add_argument("--rounds", type=int, help="rounds of each case")
    options = parser.parse_args(arguments)
    print(machine())
    print()
    print("| what | beside | ratio, median [min-max] | target | ours | beside it |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in cases():
        if all(word in case.title for word in options.words):
            rounds = 2 if options.quick else options.rounds or case.rounds
            print(line(case, measure(case, rounds)), flush=True)


def cases() -> Iterator[Case]:
    yield from _sdks.cases()
    yield from _blocks.cases()


def line(case: Case, result: Result) -> str:
    spread = f"{result.ratio:.3f} [{min(result.ratios):.2f}-{max(result.ratios):.2f}]"
    target = "" if case.target is None else f"{'missed' if result.ratio > case.target else 'met'}, {case.target:.2f}"
    return f"| {case.title} | {case.base_name} | {spread} | {target} | {shown(result.ours)} | {shown(result.base)} |"


def shown(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def machine() -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    return (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n{versions}"
    )


main(sys.argv[1:])
