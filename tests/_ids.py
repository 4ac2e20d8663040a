"""Names of parametrised cases that are the same in every process."""

from __future__ import annotations

import re

__all__ = ["shown"]


def shown(value: object) -> str:
    """The repr without addresses and with sets in order, else pytest-xdist would take the same test for another one."""
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(shown, value)))}}}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
