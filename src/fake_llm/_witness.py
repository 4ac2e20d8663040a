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
    """Follows one test; `entered` are its last few blocks and mounts, of `count` in all, `mounted` the fakes of all its mounts.

    Args:
        around: The fakes of the blocks that are open when the test begins, and of the mounts in place.
    """

    def __init__(self, around: Iterable[Any]) -> None:
        self.around = [(fake, len(fake.calls), len(fake.side_calls)) for fake in around]
        self.entered: deque[Any] = deque(maxlen=_LAST)
        self.count = 0
        self.mounted: list[Any] = []
        self.late: list[BaseException] | None = None
        """Where failures are put that can't be raised, as nothing would be torn down after them; `None` where they can."""

    def enter(self, fake: Any) -> None:
        """A block was entered, or a fake mounted."""
        if fake not in self.entered:
            self.entered.append(fake)
            self.count += 1

    def mount(self, fake: Any) -> None:
        """A fake was mounted: no block's end judges it."""
        self.enter(fake)
        if fake not in self.mounted:
            self.mounted.append(fake)


_current: Witness | None = None


def current() -> Witness | None:
    """Who follows the test that runs; `None` outside of tests."""
    return _current


def call(witness: Witness | None) -> Witness | None:
    """Let this one follow from now on; gives the one before."""
    global _current
    before, _current = _current, witness
    return before
