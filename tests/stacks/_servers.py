"""Real servers on this machine that answer, or break in one way: what a scripted fault is compared with."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["BROKEN", "full", "gone", "served"]

REAL = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nreal"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n"

Play = Callable[[socket.socket, threading.Event], None]


def _whole(connection: socket.socket) -> bytes:
    """A request, its body included."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(65536)
        if not more:
            return b""
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    lines = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in head.split(b"\r\n"))}
    if lines.get(b"transfer-encoding") == b"chunked":
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
    while len(body) < int(lines.get(b"content-length", b"0")):
        body += connection.recv(65536)
    return head


def _answering(connection: socket.socket, over: threading.Event) -> None:
    while _whole(connection):
        connection.sendall(REAL)


def _silent(connection: socket.socket, over: threading.Event) -> None:
    _whole(connection)
    over.wait(5)


def _closing(connection: socket.socket, over: threading.Event) -> None:
    _whole(connection)


def _stalling(connection: socket.socket, over: threading.Event) -> None:
    _whole(connection)
    connection.sendall(CHUNKED)
    over.wait(5)


def _breaking_off(connection: socket.socket, over: threading.Event) -> None:
    _whole(connection)
    connection.sendall(CHUNKED)


def _deaf(connection: socket.socket, over: threading.Event) -> None:
    over.wait(5)


BROKEN: dict[str, Play] = {
    "silent": _silent,
    "closing": _closing,
    "stalling": _stalling,
    "breaking off": _breaking_off,
    "deaf": _deaf,
}


@contextmanager
def served(play: Play = _answering) -> Iterator[str]:
    """A server whose every connection is played so."""
    over, threads = threading.Event(), []
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            play(connection, over)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threads.append(threading.Thread(target=one, args=(connection,)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat"
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


@contextmanager
def full() -> Iterator[str]:
    """A place that takes no connection, and doesn't say so."""
    with socket.socket() as listener, contextlib.ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                client.connect(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat"


def gone() -> str:
    """A place where nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat"
