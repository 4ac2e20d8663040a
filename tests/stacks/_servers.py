"""Real servers on this machine that answer, or break in one way: what a scripted fault is compared with."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import socket
import ssl
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from unittest import mock

__all__ = ["BROKEN", "full", "gone", "reset", "served", "unknown", "untrusted", "whole_request"]

REAL = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nreal"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n"

Play = Callable[[socket.socket, threading.Event], None]


def whole_request(connection: socket.socket) -> bytes:
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
    while whole_request(connection):
        connection.sendall(REAL)


def _silent(connection: socket.socket, over: threading.Event) -> None:
    whole_request(connection)
    over.wait(5)


def _closing(connection: socket.socket, over: threading.Event) -> None:
    whole_request(connection)


def _stalling(connection: socket.socket, over: threading.Event) -> None:
    whole_request(connection)
    connection.sendall(CHUNKED)
    over.wait(5)


def _breaking_off(connection: socket.socket, over: threading.Event) -> None:
    whole_request(connection)
    connection.sendall(CHUNKED)


def _deaf(connection: socket.socket, over: threading.Event) -> None:
    over.wait(5)


def reset(connection: socket.socket) -> None:
    """Let the connection break off without a word when it is closed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _resetting(connection: socket.socket, over: threading.Event) -> None:
    whole_request(connection)
    reset(connection)


def _resetting_later(connection: socket.socket, over: threading.Event) -> None:
    """Once the client has begun to read: what it hasn't read is lost with the connection."""
    whole_request(connection)
    connection.sendall(CHUNKED)
    over.wait(0.5)
    reset(connection)


def _short(connection: socket.socket, over: threading.Event) -> None:
    whole_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\na")


def _plain(connection: socket.socket, over: threading.Event) -> None:
    """Not what a client of TLS expects."""
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def _untrusted(connection: socket.socket, over: threading.Event) -> None:
    with contextlib.suppress(OSError):
        _tls().wrap_socket(connection, server_side=True)


@cache
def _tls() -> ssl.SSLContext:
    """TLS with a certificate that only this server trusts, made now."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    day, now = dt.timedelta(days=1), dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(secret + certificate.public_bytes(pem))
        file.flush()
        context.load_cert_chain(file.name)
    return context


@contextmanager
def unknown() -> Iterator[str]:
    """A name that nobody knows, without asking anybody."""
    real = socket.getaddrinfo

    def look_up(host: str | bytes, *args: object, **options: object) -> object:
        if host in ("llm.invalid", b"llm.invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *args, **options)  # type: ignore[arg-type]  # as it was called

    with mock.patch.object(socket, "getaddrinfo", look_up):
        yield "http://llm.invalid/v1/chat"


@contextmanager
def untrusted(play: Play = _untrusted) -> Iterator[str]:
    """A server whose certificate nobody trusts."""
    with served(play) as url:
        yield url.replace("http:", "https:")


BROKEN: dict[str, Play] = {
    "resetting": _resetting,
    "resetting later": _resetting_later,
    "short": _short,
    "plain": _plain,
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
