"""Names of parametrised cases that are the same in every process."""

from __future__ import annotations

import re

__all__ = ["shown"]


def shown(value: object) -> str:
    """The repr without addresses, which pytest-xdist would take for different tests."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
