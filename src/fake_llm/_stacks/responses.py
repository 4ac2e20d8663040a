"""responses: answers where none of the mock's own responses does.

What looks for a response is replaced on one mock, so that its responses, their order and `assert_all_requests_are_fired` stay the
user's own; `calls` has our calls among the others. A stream goes through the parser of requests, chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fake_llm._stacks import Patch

__all__ = ["mounted", "sees"]


def mounted(mock: Any, adapter: Any, claims: Callable[[str, str], bool]) -> list[Patch]:
    """The function of a mock that looks for a response.

    Args:
        mock: A `RequestsMock`.
        adapter: What answers, an adapter of requests.
        claims: Whether a method and URL are answered here.
    """
    ours = _Ours(adapter)

    def find(original: Any) -> Any:
        def _find_match(request: Any) -> Any:
            if claims(request.method, request.url) and not own(request):
                return ours, []  # without a look into the registry: an ordered one would count it as the next
            return original(request)

        return _find_match

    def own(request: Any) -> bool:
        """Whether a response of the user's fits; one that passes it on to the network is none for a claimed host."""
        return any(not response.passthrough and response.matches(request)[0] for response in list(mock.registered()))

    return [(mock, "_find_match", find)]


def sees(mock: Any) -> bool:
    """Whether calls come to this mock at the moment."""
    return getattr(mock, "_patcher", None) is not None


class _Ours:
    """What responses needs of a response."""

    passthrough = False

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter
        self.calls = self

    def get_response(self, request: Any) -> Any:
        return self._adapter.send(request, stream=True, timeout=request.req_kwargs.get("timeout")).raw

    def add_call(self, call: Any) -> None:
        """The mock itself keeps it."""
