"""OpenAI's Agents SDK sends what it traced from a thread of its own, seconds later or when the process ends.

What was traced inside a block is sent before it closes: so it is answered there, and nothing of a test leaves the machine
afterwards. The names are those of openai-agents 0.24 (2026-11).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["flush", "forget"]


def flush(claims: Callable[[str, str], bool]) -> None:
    """Send what waits to be sent to a host that is answered."""
    for processor, exporter in _senders():
        if not processor._queue.empty() and claims("POST", exporter.endpoint):
            processor.force_flush()


def forget(dummies: set[str]) -> None:
    """Take out of what sends traces a key that was none: without one it sends nothing."""
    for _, exporter in _senders():
        if vars(exporter).get("api_key") in dummies:
            del vars(exporter)["api_key"]


def _senders() -> Iterator[tuple[Any, Any]]:
    """What gathers traces for OpenAI, each with what sends them; of others the ways are their own."""
    provider = getattr(sys.modules.get("agents.tracing.setup"), "GLOBAL_TRACE_PROVIDER", None)
    kind = getattr(sys.modules.get("agents.tracing.processors"), "BackendSpanExporter", None)
    if provider is None or kind is None:
        return
    for processor in getattr(getattr(provider, "_multi_processor", None), "_processors", ()):
        exporter = getattr(processor, "_exporter", None)
        if isinstance(exporter, kind) and hasattr(processor, "_queue"):
            yield processor, exporter
