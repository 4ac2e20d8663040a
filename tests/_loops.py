"""An event loop for code that looks for one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

__all__ = ["loop"]


@pytest.fixture
def loop() -> Iterator[None]:
    """An event loop that is closed: frameworks that run their own async code make one and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    asyncio.set_event_loop(None)
