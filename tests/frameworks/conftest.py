"""Lets the tests of this folder import its helpers, and keeps what frameworks do on the side on this machine."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

os.environ |= {
    "LANGSMITH_TRACING": "false",  # off unless asked for (langsmith 0.15), but a developer may have asked
    "LANGCHAIN_TRACING_V2": "false",
}


@pytest.fixture
def loop() -> Iterator[None]:
    """An event loop that is closed: frameworks that run their own async code make one and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    asyncio.set_event_loop(None)
