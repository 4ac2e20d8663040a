"""What a test runner learns of blocks: which ones a test enters, and what their end would raise.

Loads nothing, so that a plugin can be there from the start while the rest of fake_llm isn't loaded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

__all__ = ["Witness", "call", "current"]

_LAST: Final = 5


class Witness:
    """Follows one test; `entered` are its last few blocks, of `count` in all.

    Args:
        around: The blocks that are open when the test begins.
    """

    def __init__(self, around: Iterable[Any]) -> None:
        self.around = [(fake, len(fake.calls), len(fake.side_calls)) for fake in around]
        self.entered: deque[Any] = deque(maxlen=_LAST)
        self.count = 0
        self.late: list[BaseException] | None = None
        """Where failures are put that can't be raised, as nothing would be torn down after them; `None` where they can."""

    def enter(self, fake: Any) -> None:
        """A block was entered."""
        self.entered.append(fake)
        self.count += 1


_current: Witness | None = None


def current() -> Witness | None:
    """Who follows the test that runs; `None` outside of tests."""
    return _current


def call(witness: Witness | None) -> Witness | None:
    """Let this one follow from now on; gives the one before."""
    global _current
    before, _current = _current, witness
    return before
