"""What a service is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from fake_llm._dialect import Exchange
from fake_llm._model import Response

__all__ = ["Service", "Store"]


@dataclass(slots=True)
class Store:
    """What one fake remembers between calls.

    Attributes:
        context_window: The window of every model in tokens, `None` when nobody said.
    """

    context_window: int | None = None


Service: TypeAlias = "Callable[[Store, Exchange], dict[str, Any] | Response]"
