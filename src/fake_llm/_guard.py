"""The guard: refuses a known LLM host that is reached by a way that no stack sees, before DNS.

Calls that a stack answered never come here. Sockets are judged by the host's name: an address that a refused name
would have had is never learnt. Local names, `AF_UNIX` and all other hosts are left alone. What resolves names itself
is stopped higher up: gRPC where a channel is made or used, WebSockets where they are dialled, behind a proxy too. A subprocess,
aiodns, and what `urllib` or `urllib3` sends through a proxy go past it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from fake_llm._stacks import Patch

__all__ = ["GRPC", "WEBSOCKET", "Known", "Refuse", "guards"]

GRPC: Final = "gRPC"
WEBSOCKET: Final = "a WebSocket"
"""How ways begin that have a way out of their own."""

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

    def sending(original: Any) -> Any:
        def sendto(sock: Any, data: Any, *args: Any) -> Any:
            if args and isinstance(args[-1], tuple) and len(args[-1]) > 1:
                judge(args[-1][0], args[-1][1], "a raw socket (socket.sendto)")
            return original(sock, data, *args)

        return sendto

    resolvers = {
        name: resolving(f"a raw socket (socket.{name})")
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")
    }
    senders = {
        **{name: connecting(f"a raw socket (socket.{name})") for name in ("connect", "connect_ex")},
        "sendto": sending,
    }

    def sockets(module: Any) -> list[Patch]:
        return [
            *[(module, name, make) for name, make in resolvers.items()],
            *[(module.socket, name, make) for name, make in senders.items()],
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

    def channels(way: str) -> Callable[[Any], list[Patch]]:
        def replace(original: Any) -> Any:
            def make(target: Any, *args: Any, **kwargs: Any) -> Any:
                judge(*_place(_target(target)), way)
                return original(target, *args, **kwargs)

            return make

        return lambda module: [(module, name, replace) for name in ("secure_channel", "insecure_channel")]

    def calls(module: Any) -> list[Patch]:
        """What calls on a channel that was there before the block (grpcio 1.85, 2026-11); channels of `grpc.aio` don't tell their target."""

        def replace(original: Any) -> Any:
            def call(method: Any, *args: Any, **kwargs: Any) -> Any:
                judge(*_place(_target(getattr(method, "_target", ""))), f"{GRPC} (a channel made before the block)")
                return original(method, *args, **kwargs)

            return call

        kinds = (
            kind for name, kind in vars(module).items() if name.endswith("MultiCallable") and hasattr(kind, "_target")
        )
        return [
            (kind, name, replace)
            for kind in kinds
            for name in ("__call__", "with_call", "future")
            if name in vars(kind)
        ]

    def dialling(way: str) -> Callable[[Any], Any]:
        def replace(original: Any) -> Any:
            def connect(*args: Any, **kwargs: Any) -> Any:
                judge(*_dialled(args, kwargs), way)
                return original(*args, **kwargs)

            return connect

        return replace

    def websockets(module: Any) -> list[Patch]:
        return [(module.connect, "__init__", dialling(f"{WEBSOCKET} (websockets.connect)"))]

    def websockets_sync(module: Any) -> list[Patch]:
        return [(module, "connect", dialling(f"{WEBSOCKET} (websockets.sync.client.connect)"))]

    def websocket_client(module: Any) -> list[Patch]:
        return [(module.WebSocket, "connect", dialling(f"{WEBSOCKET} (websocket.WebSocket.connect)"))]

    return {
        "socket": sockets,
        "asyncio.base_events": loops,
        "uvloop": uvloops,
        "grpc": channels(f"{GRPC} (grpc.secure_channel)"),
        "grpc.aio": channels(f"{GRPC} (grpc.aio.secure_channel)"),
        "grpc._channel": calls,
        "websockets.asyncio.client": websockets,
        "websockets.sync.client": websockets_sync,
        "websocket._core": websocket_client,
    }


def _target(target: Any) -> str:
    """The address in a target of gRPC: `dns:///api.x.ai:443` is `api.x.ai:443`; another scheme than `dns` names no host."""
    text = target.decode("ascii", "replace") if isinstance(target, bytes) else str(target)
    scheme, colon, rest = text.partition(":")
    if scheme == "dns":
        return rest.rpartition("/")[2]
    return "" if colon and (rest.startswith("//") or scheme in _SCHEMES) else text


_SCHEMES: Final = frozenset({"ipv4", "ipv6", "unix", "unix-abstract", "vsock"})


def _place(address: str) -> tuple[str, int | None]:
    """Host and port of an address; gRPC's own port is that of https."""
    if address.startswith("[") or address.count(":") > 1:
        return "", None
    host, _, port = address.partition(":")
    return host, _number(port or "443")


def _dialled(args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """Host and port that a WebSocket is dialled at: those of its URL, the first text given, unless others are."""
    if options.get("sock") is not None or options.get("socket") is not None:
        return None, None
    uri = next((arg for arg in (*args, options.get("uri"), options.get("url")) if isinstance(arg, str)), "")
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:  # the library's to refuse
        return None, None
    usual = 443 if parts.scheme == "wss" else 80
    return options.get("host") or host, options.get("port") or port or usual


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
