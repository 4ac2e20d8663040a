"""The recordings as parameters, and one line of counts at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was read, compared, validated and left out, by dialect.

    The counts travel as properties of the reports, so that they arrive from workers too.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    keys: Counter[tuple[str, str, int]] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "conformance" and getattr(report, "when", None) == "call":
                    dialect, what, kind = value
                    counts[dialect, what, kind] += 1
                elif name == "conformance keys" and getattr(report, "when", None) == "call":
                    dialect, vendor, *numbers = value
                    for place, number in enumerate(numbers):
                        keys[dialect, vendor, place] += number
    for dialect in sorted({key[0] for key in counts}):
        said = [
            f"{sum(number for key, number in counts.items() if key[:2] == (dialect, what))} {text}"
            for what, text in _SAID
            if any(key[:2] == (dialect, what) for key in counts)
        ]
        left = {key[2]: number for key, number in counts.items() if key[:2] == (dialect, "excluded")}
        if left:
            kinds = ", ".join(
                f"{kind} {number}" for kind, number in sorted(left.items(), key=lambda pair: (-pair[1], pair[0]))
            )
            said.append(f"{sum(left.values())} excluded ({kinds})")
        terminalreporter.write_line(f"conformance {dialect}: {', '.join(said)}")
    for dialect, vendor in sorted({key[:2] for key in keys}):
        _say_keys(terminalreporter, f"{dialect} of {vendor}", [keys[dialect, vendor, place] for place in range(3)])
    if keys:
        sums = [sum(number for key, number in keys.items() if key[2] == place) for place in range(3)]
        _say_keys(terminalreporter, "of all", sums)


def _say_keys(terminalreporter: pytest.TerminalReporter, whose: str, numbers: Sequence[int]) -> None:
    """How many keys were compared, how many of these are excepted, and how many are newer than the recording."""
    compared, excepted, later = numbers
    share = f"{100 * excepted / compared:.1f} %" if compared else "0 %"
    more = f", {later} came later" if later else ""
    terminalreporter.write_line(f"conformance keys, {whose}: {compared} compared, {excepted} excepted ({share}){more}")


_SAID = (("read", "requests read"), ("compared", "answers compared"), ("validated", "turns validated by schema"))
