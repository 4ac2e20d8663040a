"""Where code is running: the thread and the task, by which a failure finds its way to the test."""

from __future__ import annotations

import sys
import threading
from typing import Any, TypeAlias

__all__ = ["Place", "here", "task"]

Place: TypeAlias = tuple[int, Any]
"""A thread's number and a task, `None` for no task."""


def here() -> Place:
    """The running thread and task."""
    return threading.get_ident(), task()


def task() -> Any:
    """The running task of asyncio or trio, `None` for no task."""
    if (asyncio := sys.modules.get("asyncio")) is not None:
        try:
            return asyncio.current_task() or asyncio.get_running_loop()  # the loop: a callback of it
        except RuntimeError:
            pass
    if (trio := sys.modules.get("trio")) is not None:
        try:
            return trio.lowlevel.current_task()
        except RuntimeError:
            return None
    return None
