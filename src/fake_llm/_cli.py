"""The command `fake-llm`."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import importlib
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["main", "show"]

_DOCTOR: Final = """\
Makes one call through each HTTP library and SDK that is installed here, sync and async, whole and streamed, answered
from a script of one turn. No call leaves the machine, and no key is needed. Exits with 1 if one fails."""

_PROVIDERS: Final = """\
Lists what is answered: the hosts of each provider and its endpoints. In a path, {model} is one segment, {model...} all
that is left, (a|b) one of these, [a] may be there. Hosts that are known and not answered are refused, so that no call
leaves the machine; hosts= says that another host speaks one of these languages."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the status to exit with.

    Args:
        arguments: The words after the program's name; without them, those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="fake-llm",
        description="Script what an LLM answers in tests, on the real SDKs.",
        epilog="fake-llm COMMAND --help says more.",
    )
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="one weather agent, answered by one script through the openai and anthropic SDKs"
    )
    demo.set_defaults(run=_demo)
    doctor = commands.add_parser(
        "doctor", help="try every HTTP library and SDK that is installed here", description=_DOCTOR
    )
    doctor.add_argument("--json", action="store_true", help="the findings as JSON")
    doctor.set_defaults(run=_doctor)
    providers = commands.add_parser(
        "providers", help="the hosts and endpoints that are answered", description=_PROVIDERS
    )
    providers.add_argument("name", nargs="*", help="only these providers")
    providers.add_argument("--operation", help="only this operation, such as chat")
    providers.add_argument("--json", action="store_true", help="the rows as JSON")
    providers.set_defaults(run=_providers)
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except BrokenPipeError:  # whoever read it has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"fake-llm {version('fake-llm')}"
    except PackageNotFoundError:  # run from a clone that isn't installed
        return "fake-llm, not installed"


def _demo(options: argparse.Namespace) -> int:
    try:
        demo = importlib.import_module("fake_llm._demo")
    except ModuleNotFoundError as error:
        print(
            f'The demo runs on real SDKs, and {error.name} isn\'t installed here. Write pip install "fake-llm[demo]".',
            file=sys.stderr,
        )
        return 1
    demo.run(show)
    return 0


# --- providers ----------------------------------------------------------------------------------


def _providers(options: argparse.Namespace) -> int:
    from fake_llm._tables import answered, refused, rows

    known = [provider.name for provider in (*answered(), *refused())]
    for name in options.name:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3) or known
            print(f"There is no provider {name!r}. Write {', '.join(near)}.", file=sys.stderr)
            return 2
    operations = sorted({row.operation for row in rows()})
    if options.operation is not None and options.operation not in operations:
        near = difflib.get_close_matches(options.operation, operations, 3) or operations
        print(f"There is no operation {options.operation!r}. Write {', '.join(near)}.", file=sys.stderr)
        return 2
    found = [row for row in rows(*options.name) if options.operation in (None, row.operation)]
    left = refused(*options.name) if options.operation is None else []
    if options.json:
        document = {
            "endpoints": [dataclasses.asdict(row) for row in found],
            "refused": [{"provider": provider.name, "hosts": provider.hosts} for provider in left],
        }
        print(json.dumps(document, indent=2))
        return 0
    for provider in answered(*options.name):
        lines = [
            (row.operation, f"{row.method} {row.path}", row.dialect, row.streams_as.replace("`", ""))
            for row in found
            if row.provider == provider.name
        ]
        if lines:
            print(f"{provider.name}: {', '.join(provider.hosts)}")
            wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
            for line in lines:
                print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip())
            print()
    if left:
        print("Known and refused:")
        for provider in left:
            print(f"  {provider.name}: {', '.join(provider.hosts)}")
    return 0


# --- doctor -------------------------------------------------------------------------------------


def _doctor(options: argparse.Namespace) -> int:
    from fake_llm import _doctor as doctor

    if options.json:
        report = doctor.examine()
        print(json.dumps(report.document(), indent=2))
        return 1 if report.failed else 0

    def line(*cells: str) -> None:
        shown = (_coloured(cell.ljust(width), cell) for cell, width in zip(cells, wide, strict=True))
        print("  ".join(shown).rstrip(), flush=True)

    def tell(finding: doctor.Finding) -> None:
        outcome = {call.name: "FAILED" if call.reason else "ok" for call in finding.calls}
        line(*words(finding.library, finding.version), *(outcome.get(way, "-") for way in ways))

    def words(library: doctor.Library, installed: str) -> tuple[str, str, str]:
        newer = " (this is newer)" if library.newer(installed) else ""
        return library.name, installed, ", ".join(library.tested) + newer

    print(f"{_version()}, Python {platform.python_version()} on {platform.system()}\n")
    ways = ("sync", "sync streamed", "async", "async streamed")
    head = ("", "installed", "tested with")
    rows = [head, *(words(*candidate) for candidate in doctor.candidates())]
    wide = [
        *(max(map(len, column)) for column in zip(*rows, strict=True)),
        *(max(len(way), len("FAILED")) for way in ways),
    ]
    line(*head, *ways)
    report = doctor.examine(tell)
    print()
    failed: dict[str, list[str]] = {}
    for finding, call in report.failed:
        failed.setdefault(str(call.reason), []).append(f"{finding.library.name} {call.name}")
    for reason, names in failed.items():
        print(_coloured(f"FAILED {', '.join(names)}:\n{reason}\n", "FAILED"))
    for title, found in (
        ("Installed, not intercepted: a call to a known host is refused", report.not_intercepted),
        ("Installed, not covered here", report.not_covered),
    ):
        if found:
            print(f"{title}: {', '.join(f'{name} {release}' for name, release in found.items())}.")
    for name, (url, provider) in report.base_urls.items():
        print(f"{name} is {url}: " + (f"answered as {provider} in a block." if provider else "no URL, and left out."))
    calls = sum(len(finding.calls) for finding in report.findings)
    if report.failed:
        print(_coloured(f"{len(report.failed)} of {calls} calls failed; none left the machine.", "FAILED"))
        return 1
    print(_coloured(f"All {calls} calls were answered from a script; none left the machine.", "ok"))
    return 0


def show(transcript: str) -> None:
    """Print a transcript, in colours where a terminal shows them and `rich` is there."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        try:
            from rich import print as rich_print
        except ImportError:
            pass
        else:
            rich_print(transcript)
            return
    print(transcript)


_CODES: Final = {"ok": "32", "FAILED": "31"}


def _coloured(text: str, outcome: str) -> str:
    """The text in the colour of an outcome, where a terminal shows it."""
    code = _CODES.get(outcome)
    if code is None or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return f"\x1b[{code}m{text}\x1b[0m"
