"""`python -m benchmarks [--quick] [words …]`: measures the cases whose titles have all of the words."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator, Sequence

import fake_llm
from benchmarks import _blocks, _sdks
from benchmarks._rounds import Case, Result, measure

LIBRARIES = (
    *("openai", "anthropic", "google-genai", "groq", "mistralai", "boto3"),
    *("aiohttp", "httpx", "httpx2", "requests", "aioresponses-ng", "respx", "responses"),
)
MAKERS = (
    _sdks.cases,
    _sdks.groq_cases,
    _sdks.genai_cases,
    _sdks.mistral_cases,
    _sdks.boto3_cases,
    _blocks.raw_cases,
    _blocks.aiohttp_cases,
    _blocks.unclaimed_cases,
    _blocks.cases,
)


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
        if isinstance(case, str):
            print(f"| {case} | | not measured | | | |", flush=True)
        elif all(word in case.title for word in options.words):
            rounds = 2 if options.quick else options.rounds or case.rounds
            print(line(case, measure(case, rounds)), flush=True)


def cases() -> Iterator[Case | str]:
    """The cases, and a word about those that can't be made: a library that isn't here, a host that isn't answered."""
    for make in MAKERS:
        try:
            yield from make()
        except (ImportError, fake_llm.UnknownEndpointError) as missing:
            yield f"{make.__name__}: {str(missing).splitlines()[0]}"


def line(case: Case, result: Result) -> str:
    spread = f"{result.ratio:.3f} [{min(result.ratios):.2f}-{max(result.ratios):.2f}]"
    target = "" if case.target is None else f"{'missed' if result.ratio > case.target else 'met'}, {case.target:.2f}"
    return f"| {case.title} | {case.base_name} | {spread} | {target} | {shown(result.ours, case.unit)} | {shown(result.base, case.unit)} |"


def shown(cost: float, unit: str) -> str:
    if unit == "B":
        return f"{cost / 1024:.2f} KB"
    return f"{cost * 1e3:.2f} ms" if cost >= 1e-3 else f"{cost * 1e6:.0f} µs"


def machine() -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES if installed(name))
    return (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n{versions}"
    )


def installed(name: str) -> bool:
    return bool(list(importlib.metadata.distributions(name=name)))


main(sys.argv[1:])
