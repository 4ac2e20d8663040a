"""Keeps the garbage collector off what lives as long as the run: the SDKs, and tens of thousands of tests.

Every collection would walk all of it, while it is imported and again with each `gc.collect()` of a test.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

MORE = 100
"""So many modules are worth a walk."""

_seen = {"modules": 0}
"""What was there when it was last taken for lasting."""


def _lasts() -> None:
    """What is there now counts as none from there on."""
    gc.collect()
    gc.freeze()
    _seen["modules"] = len(sys.modules)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests without collecting garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        _lasts()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """A test that is the first to ask an SDK has imported it."""
    if len(sys.modules) >= _seen["modules"] + MORE:
        _lasts()
