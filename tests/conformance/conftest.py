"""The recordings as parameters, and one line of counts at the end."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was read, compared, validated and left out, by dialect.

    The counts travel as properties of the reports, so that they arrive from workers too.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "conformance" and getattr(report, "when", None) == "call":
                    dialect, what, kind = value
                    counts[dialect, what, kind] += 1
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


_SAID = (("read", "requests read"), ("compared", "answers compared"), ("validated", "turns validated by schema"))
