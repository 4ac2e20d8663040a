"""Where SDKs sleep before they try again, so that a block can let these sleeps take no time.

Never a global patch: of the modules `time`, `anyio` and `asyncio` only the name inside the SDK's own module is replaced, and a
sleep is left out only where the caller says so. What was left out has passed for the clocks of that name, so that a loop
which gives up after some time does. A place that has moved means a real sleep and a warning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from types import FrameType
from typing import Any, Final, TypeAlias
from weakref import WeakSet

from fake_llm._stacks import Patch

__all__ = ["Skip", "places"]

Skip: TypeAlias = Callable[[float], bool]
"""Whether a sleep of so many seconds, in this thread and task, is left out."""

SLEEPS: Final[Mapping[str, tuple[str, ...]]] = {
    # The module that sleeps: the names in it by which it does (2026-11).
    "aiobotocore.endpoint": ("asyncio",),
    "anthropic._base_client": ("time", "anyio"),
    "azure.core.pipeline.transport._base": ("time",),
    "azure.core.pipeline.transport._requests_asyncio": ("asyncio",),
    "botocore.endpoint": ("time",),
    "cerebras.cloud.sdk._base_client": ("time", "anyio"),
    "cohere.core.http_client": ("time", "asyncio"),
    "cohere.core.http_sse._api": ("time", "anyio"),
    "dspy.clients.execution": ("time", "asyncio"),
    "fireworks._base_client": ("time", "anyio"),
    "google.genai._api_client": ("time", "asyncio"),
    "google.genai._gaos.utils.retries": ("time", "asyncio"),
    "groq._base_client": ("time", "anyio"),
    "huggingface_hub.utils._http": ("time",),
    "ibm_watsonx_ai._wrappers.httpx.rate_limited_retry.rate_limited_retry_decorator": ("time", "asyncio"),
    "ibm_watsonx_ai._wrappers.httpx.retry_transport.async_retry_transport": ("asyncio",),
    "ibm_watsonx_ai._wrappers.httpx.retry_transport.retry_transport": ("time",),
    "litellm.router_python_host": ("time", "asyncio"),
    "mistralai.azure.client.utils.retries": ("time", "asyncio"),
    "mistralai.client.utils.retries": ("time", "asyncio"),
    "mistralai.gcp.client.utils.retries": ("time", "asyncio"),
    "mistralai.utils.retries": ("time", "asyncio"),  # before 2
    "openai._base_client": ("time", "anyio"),
    "openrouter.utils.retries": ("time", "asyncio"),  # for up to an hour
    "replicate.client": ("time", "asyncio"),
    "together._base_client": ("time", "anyio"),
    "urllib3.util.retry": ("time",),  # of the adapters of requests
    "writerai._base_client": ("time", "anyio"),
    "zai.core._http_client": ("time",),
}

SINCE: Final[Mapping[str, str]] = {"cohere.core.http_sse._api": "DEFAULT_MAX_RECONNECTION_ATTEMPTS"}
"""What a module has had since it sleeps: one of a generation before, without it, doesn't (cohere 5, which LangChain pins)."""

TENACIOUS: Final = ("ai21.", "google.genai.", "litellm.", "voyageai.")
"""The packages that retry with tenacity (2026-11); what others do with it is their own."""


def places(skip: Skip) -> Mapping[str, Callable[[Any], list[Patch]]]:
    """What has to be replaced, by the name of the module that must be there."""
    return {
        **{module: partial(_sleeps, module, _makers(names, skip)) for module, names in SLEEPS.items()},
        "azure.core.pipeline.transport._base_async": partial(_transport, skip),
        "botocore.retries.bucket": partial(_bucket, skip),
        "tenacity": partial(_tenacity, skip),
        "tenacity.asyncio": partial(_tenacity_async, skip),
    }


def _makers(names: tuple[str, ...], skip: Skip) -> dict[str, Callable[[Any], Any]]:
    return {name: partial(_Sleeping if name == "time" else _AsyncSleeping, skip) for name in names}


def _sleeps(name: str, makers: Mapping[str, Callable[[Any], Any]], module: Any) -> list[Patch]:
    if name in SINCE and not hasattr(module, SINCE[name]):
        return []
    found = []
    for each, make in makers.items():
        if callable(getattr(getattr(module, each, None), "sleep", None)):
            found.append((module, each, make))
        else:
            _warn(f"{name} has no {each}.sleep")
    return found


def _warn(what: str) -> None:
    warnings.warn(
        f"fake_llm: {what} any more, so the waits between its retries are real. "
        "A version of fake_llm that knows this version leaves them out.",
        RuntimeWarning,
        stacklevel=2,
    )


_PASSED: Final[ContextVar[float]] = ContextVar("fake_llm_passed", default=0.0)
"""Seconds that were left out in this thread or task."""
_CLOCKS: Final = frozenset({"time", "monotonic", "perf_counter"})


class _Sleeping:
    """A module of which `sleep` is another, and what its clocks say after it."""

    def __init__(self, skip: Skip, module: Any) -> None:
        self._module = module
        self._skip = skip

    def sleep(self, seconds: float) -> Any:
        if not self._left_out(seconds):
            self._module.sleep(seconds)

    def _left_out(self, seconds: float) -> bool:
        skipped = self._skip(seconds)
        if skipped:
            _PASSED.set(_PASSED.get() + seconds)
        return skipped

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name in _CLOCKS and _PASSED.get():
            return lambda: found() + _PASSED.get()
        return found


class _AsyncSleeping(_Sleeping):
    """`_Sleeping` for `asyncio` and `anyio`; others still get their turn."""

    async def sleep(self, seconds: float) -> None:
        await self._module.sleep(0 if self._left_out(seconds) else seconds)


def _transport(skip: Skip, module: Any) -> list[Patch]:
    """The transports of azure-core, which import `asyncio` where they sleep (azure-core 1.41, 2026-11)."""

    def replace(original: Any) -> Any:
        async def sleep(transport: Any, duration: float) -> None:
            await original(transport, 0 if skip(duration) else duration)

        return sleep

    return [(module.AsyncHttpTransport, "sleep", replace)]


def _bucket(skip: Skip, module: Any) -> list[Patch]:
    """The rate limiter of botocore's mode `adaptive`, which waits on a condition (botocore 1.44, 2026-11).

    A client that was throttled by an answer of ours is slow from then on: its next calls don't wait either.
    """
    slowed: WeakSet[Any] = WeakSet()

    def replace(original: Any) -> Any:
        def sleep_amount(bucket: Any, amount: Any) -> Any:
            seconds = original(bucket, amount)
            if seconds > 0 and (skip(seconds) or bucket in slowed):
                slowed.add(bucket)
                bucket._current_capacity = amount  # as if it had filled meanwhile
                return 0
            return seconds

        return sleep_amount

    if not hasattr(getattr(module, "TokenBucket", None), "_sleep_amount"):
        _warn("botocore.retries.bucket has no TokenBucket._sleep_amount")
        return []
    return [(module.TokenBucket, "_sleep_amount", replace)]


def _tenacity(skip: Skip, module: Any) -> list[Patch]:
    sleeps = module.DoSleep

    def replace(original: Any) -> Any:
        def iterate(retrying: Any, retry_state: Any) -> Any:
            step = original(retrying, retry_state)
            return _shortened(step, retry_state, skip, sleeps) if isinstance(step, sleeps) else step

        return iterate

    return [(module.BaseRetrying, "iter", replace)]


def _tenacity_async(skip: Skip, module: Any) -> list[Patch]:
    def replace(original: Any) -> Any:
        async def iterate(retrying: Any, retry_state: Any) -> Any:
            step, sleeps = await original(retrying, retry_state), sys.modules["tenacity"].DoSleep
            return _shortened(step, retry_state, skip, sleeps) if isinstance(step, sleeps) else step

        return iterate

    return [(module.AsyncRetrying, "iter", replace)]


def _shortened(step: Any, retry_state: Any, skip: Skip, sleeps: Any) -> Any:
    """A sleep of tenacity's: one of an SDK's own loop takes no time."""
    return sleeps(0) if _owner(retry_state).startswith(TENACIOUS) and skip(float(step)) else step


def _owner(retry_state: Any) -> str:
    """The module of the function that is retried; where a loop is written out (`for attempt in Retrying(…)`), the loop's."""
    if retry_state.fn is not None:
        return str(getattr(retry_state.fn, "__module__", ""))
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in {"tenacity", "fake_llm"}:
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__"))
