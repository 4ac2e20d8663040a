"""The socket guard: refuses a known LLM host that is reached by a way that no stack sees, before DNS.

Calls that a stack answered never come here. Only host names are judged: an address that a refused name
would have had is never learnt. Local names, `AF_UNIX` and all other hosts are left alone. A proxy, a subprocess and
libraries with a resolver of their own (gRPC, aiodns) hide the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fake_llm._stacks import Patch

__all__ = ["Known", "Refuse", "guards"]

Known: TypeAlias = Callable[[str, "int | None"], bool]
"""Whether a host, lower case and without a final dot, must not be reached on a port."""

Refuse: TypeAlias = Callable[[str, "int | None", str], BaseException]
"""The exception for a host, a port and a way of reaching it, made in the thread and task that reaches for it."""

LOCAL = frozenset({"", "localhost", "ip6-localhost", "0.0.0.0", "::", "::1"})  # noqa: S104  # nothing is bound


def guards(known: Known, refuse: Refuse) -> Mapping[str, Callable[[Any], list[Patch]]]:
    """What has to be replaced, by the name of the module that must be there: asyncio resolves in a worker thread, so it is stopped before."""

    def judge(host: Any, port: Any, way: str) -> None:
        name = _name(host)
        number = port if isinstance(port, int) else _number(port)
        if name is not None and known(name, number):
            raise refuse(name, number, way)

    def resolving(way: str) -> Callable[[Any], Any]:
        def replace(original: Any) -> Any:
            def resolve(host: Any, *args: Any, **kwargs: Any) -> Any:
                judge(host, args[0] if args else kwargs.get("port"), way)
                return original(host, *args, **kwargs)

            return resolve

        return replace

    def connecting(way: str) -> Callable[[Any], Any]:
        def replace(original: Any) -> Any:
            def connect(sock: Any, address: Any, /) -> Any:
                if isinstance(address, tuple) and len(address) > 1:
                    judge(address[0], address[1], way)
                return original(sock, address)

            return connect

        return replace

    def on_loop(way: str) -> Callable[[Any], Any]:
        def replace(original: Any) -> Any:
            async def resolve(loop: Any, host: Any, port: Any, **kwargs: Any) -> Any:
                judge(host, port, way)
                return await original(loop, host, port, **kwargs)

            return resolve

        return replace

    def connecting_loop(way: str) -> Callable[[Any], Any]:
        def replace(original: Any) -> Any:
            async def create_connection(
                loop: Any, factory: Any, host: Any = None, port: Any = None, **kwargs: Any
            ) -> Any:
                judge(host, port, way)
                return await original(loop, factory, host, port, **kwargs)

            return create_connection

        return replace

    def sockets(module: Any) -> list[Patch]:
        names = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")
        return [
            *((module, name, resolving(f"a raw socket (socket.{name})")) for name in names),
            *((module.socket, name, connecting(f"a raw socket (socket.{name})")) for name in ("connect", "connect_ex")),
        ]

    def loops(module: Any) -> list[Patch]:
        way = "an asyncio connection (loop.getaddrinfo)"
        return [(module.BaseEventLoop, "getaddrinfo", on_loop(way))]

    def uvloops(module: Any) -> list[Patch]:
        ways = "a uvloop connection (loop.getaddrinfo)", "a uvloop connection (loop.create_connection)"
        return [
            (module.Loop, "getaddrinfo", on_loop(ways[0])),
            (module.Loop, "create_connection", connecting_loop(ways[1])),
        ]

    return {"socket": sockets, "asyncio.base_events": loops, "uvloop": uvloops}


def _name(host: Any) -> str | None:
    """The host as `Known` wants it, `None` for a local one."""
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str):
        return None
    name = host.lower().removesuffix(".")
    return None if name in LOCAL or name.startswith("127.") or name.endswith(".localhost") else name


def _number(port: Any) -> int | None:
    """A port that was given as text; `None` for a service name."""
    if isinstance(port, bytes):
        port = port.decode("ascii", "replace")
    return int(port) if isinstance(port, str) and port.isascii() and port.isdigit() else None
