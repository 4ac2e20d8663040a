"""respx: answers where none of the router's own routes does.

What resolves a request is replaced on one router, so that its routes, their order, its snapshots and `assert_all_called` stay
the user's own; `router.calls` has our calls among the others. A stream is handed on as it is, chunk by chunk, whether
respx patches httpx or httpcore.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from respx.models import SideEffectError
from respx.router import Router

from fake_llm._stacks import Patch

__all__ = ["mounted", "sees"]


def mounted(router: Any, transport: Any, claims: Callable[[str, str], bool]) -> list[Patch]:
    """The two functions of a router that look for a route.

    Args:
        router: The router.
        transport: What answers, sync and async, a transport of the httpx that respx has.
        claims: Whether a method and URL are answered here.
    """

    def resolve(original: Any) -> Any:
        def resolve(request: Any) -> Any:
            if not claims(request.method, str(request.url)):
                return original(request)
            beside: Any = _Beside(router, _Last(router, transport.handle_request))
            return Router.resolve(beside, request)

        return resolve

    def aresolve(original: Any) -> Any:
        async def aresolve(request: Any) -> Any:
            if not claims(request.method, str(request.url)):
                return await original(request)
            beside: Any = _Beside(router, _LastAsync(router, transport.handle_async_request))
            return await Router.aresolve(beside, request)

        return aresolve

    return [(router, "resolve", resolve), (router, "aresolve", aresolve)]


def sees(router: Any) -> bool:
    """Whether calls come to this router at the moment; to one that is no mock they come by a transport of the test's own only."""
    return router in getattr(getattr(router, "Mocker", None), "routers", ())


class _Beside:
    """A router with one more route behind its own; a route that passes a request on to the network is none for a claimed host."""

    def __init__(self, router: Any, last: Any) -> None:
        self._router = router
        self._last = last

    @property
    def routes(self) -> Iterator[Any]:
        yield from (route for route in self._router.routes if not route.is_pass_through)
        yield self._last

    def __getattr__(self, name: str) -> Any:
        return getattr(self._router, name)


class _Last:
    """What respx needs of a route."""

    def __init__(self, router: Any, handle: Callable[[Any], Any]) -> None:
        self._router = router
        self._handle = handle
        self.calls: list[Any] = []

    def match(self, request: Any) -> Any:
        try:
            return self._handle(request)
        except Exception as error:
            ours: Any = self  # all that is read of a route
            raise SideEffectError(ours, origin=error) from error
        except BaseException:
            self._router.record(request)
            raise


class _LastAsync(_Last):
    async def match(self, request: Any) -> Any:
        try:
            return await self._handle(request)
        except Exception:
            raise  # respx makes its own of it
        except BaseException:
            self._router.record(request)
            raise
