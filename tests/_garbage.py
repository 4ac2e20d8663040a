"""Keeps the garbage collector off what lives as long as the run: the SDKs, and tens of thousands of tests.

Every collection would walk all of it, while it is imported and again with each `gc.collect()` of a test.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect the tests without collecting garbage; what is there by then counts as none from there on."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
