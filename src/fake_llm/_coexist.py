"""Libraries of mocks that stand where a stack stands, or above it: a call to a model goes past them.

Most of them stand beneath a stack, and need nothing here. These stand above, in whatever order they and a block are entered, so
that each is taught to let a call through that the block answers. What isn't the block's stays theirs. The names are those of
requests-mock 1.12, aioresponses 0.7 and aioresponses-ng 0.8, vcrpy 9.4 and moto 5.2 (2026-11).
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from fake_llm._model import Handler
from fake_llm._stacks import Patch

__all__ = ["places"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

FindBy: TypeAlias = "Callable[[str, str, str], Handler | None]"


def places(find: FindBy) -> Mapping[str, Callable[[Any], list[Patch]]]:
    """What has to be replaced, by the name of the module that must be there.

    Args:
        find: Gives the handler of a library, method and URL, if any.
    """
    return {
        "requests_mock.adapter": partial(_requests_mock, find),
        "aioresponses.core": partial(_aioresponses, find),
        "moto.core.botocore_stubber": partial(_moto, find),
        "vcr.cassette": partial(_vcr, find),
    }


def _requests_mock(find: FindBy, module: Any) -> list[Patch]:
    """Its adapter, which it puts in front of the session's choice of one for each call."""

    def replace(original: Any) -> Any:
        def send(adapter: Any, request: Any, **options: Any) -> Any:
            handler = find("requests", request.method, request.url)
            if handler is None:
                return original(adapter, request, **options)
            stack = importlib.import_module("fake_llm._stacks.requests")
            return stack.adapter(handler).send(request, **options)

        return send

    return _there("requests-mock", module, ("Adapter", "send", replace))


def _aioresponses(find: FindBy, module: Any) -> list[Patch]:
    """Its look for a response: without one, it asks the real session where it is told to, and for this call it is."""

    def replace(original: Any) -> Any:
        async def match(mock: Any, method: str, url: Any, *args: Any, **options: Any) -> Any:
            if find("aiohttp", method.upper(), str(url)) is None:
                return await original(mock, method, url, *args, **options)
            if not isinstance(mock.passthrough_unmatched, _Once):
                mock.passthrough_unmatched = _Once(mock)
            return None  # and then it looks there, before any other task runs

        return match

    return _there("aioresponses", module, ("aioresponses", "match", replace))


class _Once:
    """True when it is looked at, and then again what was there before."""

    def __init__(self, mock: Any) -> None:
        self._mock = mock
        self._before = mock.passthrough_unmatched

    def __bool__(self) -> bool:
        self._mock.passthrough_unmatched = self._before
        return True


def _moto(find: FindBy, module: Any) -> list[Patch]:
    """Its handler of what botocore is about to send; it has a Bedrock of its own, which knows no conversation."""

    def replace(original: Any) -> Any:
        def process_request(stubber: Any, request: Any) -> Any:
            claimed = find("botocore.httpsession", request.method, request.url) is not None
            return None if claimed else original(stubber, request)

        return process_request

    return _there("moto", module, ("BotocoreStubber", "process_request", replace))


def _vcr(find: FindBy, module: Any) -> list[Patch]:
    """What a cassette is asked: it neither has nor records this call. Only its stand-in for aiohttp comes before a stack."""

    def claimed(request: Any) -> bool:
        return find("aiohttp", request.method, request.uri) is not None

    def without(original: Any) -> Any:
        def can_play_response_for(cassette: Any, request: Any) -> Any:
            return not claimed(request) and original(cassette, request)

        return can_play_response_for

    def unrecorded(original: Any) -> Any:
        def filter_request(cassette: Any, request: Any) -> Any:
            return None if claimed(request) else original(cassette, request)

        return filter_request

    return _there(
        "vcrpy", module, ("Cassette", "can_play_response_for", without), ("Cassette", "filter_request", unrecorded)
    )


def _there(what: str, module: Any, *places: tuple[str, str, Callable[[Any], Any]]) -> list[Patch]:
    """The places in a module that are where they were; what has moved is said, since its library then answers or refuses by itself."""
    found = []
    for kind, name, replace in places:
        owner = getattr(module, kind, None)
        if hasattr(owner, name):
            found.append((owner, name, replace))
            continue
        warnings.warn(
            f"fake_llm: {what} has no {kind}.{name} any more, so while both are active {what} may keep a call to a model to itself. "
            f"Leave {what} out of that test, or use a version of fake_llm that knows this version of it.",
            RuntimeWarning,
            stacklevel=2,
        )
    return found
