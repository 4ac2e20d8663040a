"""The plugin for pytest: a failure of fake_llm reaches pytest past the runners of event loops.

A `FakeLLMFailure` is a `BaseException`, and one that leaves a coroutine test kills a runner that outlives the
test, as anyio's does with fixtures of a module or session (anyio 4.16, 2026-11). So it is carried out of the coroutine as a
value and raised again outside of the loop.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Generator
from typing import Any

import pytest

__all__ = ["pytest_pyfunc_call"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Run a coroutine test so that no failure of fake_llm passes through its loop."""
    original = pyfuncitem.obj
    errors = sys.modules.get("fake_llm._errors")
    if errors is None or not inspect.iscoroutinefunction(original):
        return (yield)
    kept: list[BaseException] = []

    @functools.wraps(original)
    async def carried(*args: Any, **kwargs: Any) -> Any:
        try:
            return await original(*args, **kwargs)
        except errors.FakeLLMFailure as failure:
            kept.append(failure)

    pyfuncitem.obj = carried
    try:
        result = yield
    finally:
        pyfuncitem.obj = original
    if kept:
        raise kept[0]
    return result
