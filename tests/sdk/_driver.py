"""One client, sync or async, asked by the path of its method."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

__all__ = ["Driver"]


class Driver:
    """One client; what it gives is awaited, and read to its end where it is a list or a stream."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._runner = asyncio.Runner() if "Async" in type(client).__name__ else None

    @property
    def azure(self) -> bool:
        return "azure" in str(self._client.base_url)

    def __call__(self, path: str, *args: Any, **options: Any) -> Any:
        target = self._client
        for name in path.split("."):
            target = getattr(target, name)
        if self._runner is None:
            return self._read(target(*args, **options))
        return self._runner.run(self._awaited(target(*args, **options)))

    @staticmethod
    def _read(given: Any) -> Any:
        return list(given) if hasattr(given, "__next__") or hasattr(given, "iter_pages") else given

    @staticmethod
    async def _awaited(given: Any) -> Any:
        if hasattr(given, "iter_pages") or hasattr(given, "__aiter__"):
            return [each async for each in given]
        given = await given if inspect.isawaitable(given) else given
        return [each async for each in given] if hasattr(given, "__aiter__") and not hasattr(given, "data") else given

    def close(self) -> None:
        closed = self._client.close()
        if self._runner is not None:
            self._runner.run(closed)
            self._runner.close()
