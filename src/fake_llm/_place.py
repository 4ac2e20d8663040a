"""Where code is running: the thread and the task, by which a failure finds its way to the test."""

from __future__ import annotations

import sys
from threading import get_ident
from typing import Any, TypeAlias

__all__ = ["Place", "here", "task"]

Place: TypeAlias = tuple[int, Any]
"""A thread's number and a task, `None` for no task."""


def here() -> Place:
    """The running thread and task."""
    return get_ident(), task()


def task() -> Any:
    """The running task of asyncio or trio, `None` for no task."""
    asyncio = sys.modules.get("asyncio")
    # unlike `get_running_loop` it raises nothing; a module in the middle of its import has neither
    if asyncio is not None and (loop := getattr(asyncio, "_get_running_loop", _nowhere)()) is not None:
        return asyncio.current_task(loop) or loop  # the loop: a callback of it
    trio = getattr(sys.modules.get("trio"), "lowlevel", None)
    if trio is None or not getattr(trio, "in_trio_run", _perhaps)():
        return None
    try:
        return trio.current_task()
    except RuntimeError:
        return None


def _nowhere() -> None:
    """No loop is running."""


def _perhaps() -> bool:
    """Trio before 0.23 can't say whether it is running."""
    return True
