"""What a service is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from fake_llm._dialect import Exchange
from fake_llm._model import Response

if TYPE_CHECKING:
    from fake_llm._call import Call

__all__ = ["Service", "Store"]


@dataclass(slots=True)
class Store:
    """What one fake remembers between calls.

    Attributes:
        context_window: The window of every model in tokens, `None` when nobody said.
        answered: The calls whose answers a later request can build on, by the id of the answer.
        models: The models that were fetched or made (`True`), or deleted (`False`), by their name.
    """

    context_window: int | None = None
    answered: dict[str, Call] = field(default_factory=dict[str, "Call"])
    models: dict[str, bool] = field(default_factory=dict[str, bool])


Service: TypeAlias = "Callable[[Store, Exchange], dict[str, Any] | Response]"
