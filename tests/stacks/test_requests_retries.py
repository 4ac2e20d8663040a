"""Retries of requests' adapters come to what they come to with a real server: urllib3's `Retry`, and adapters that send in their own way."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from _capability import load
from fake_llm._model import Fault, Pause, Response
from stacks._support import URL, Scripted, block

requests = load("requests")
urllib3 = load("urllib3")
HTTPAdapter: Any = requests.adapters.HTTPAdapter

Status = tuple[int, tuple[tuple[str, str], ...]]
BUSY: Status = (503, ())
BUSY_TOLD: Status = (429, (("retry-after", "0"),))
OK: Status = (200, ())
LOST: Status = (0, ())
"""The peer hangs up."""


@contextmanager
def served(script: list[Status]) -> Iterator[tuple[str, list[bytes]]]:
    """A server on this machine; gives its URL, and the bodies that came."""
    came: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append(self.rfile.read(int(self.headers.get("content-length", 0))))
            status, headers = script[min(len(came), len(script)) - 1]
            self.close_connection = True
            if not status:
                return
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        do_PUT = do_POST  # noqa: N815  # the name is the method

        def log_message(self, *_: Any) -> None:
            pass

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1/chat", came
        finally:
            server.shutdown()
            thread.join()


def outcome(url: str, adapter: Any, method: str) -> tuple[Any, ...]:
    """What comes of a call: its status, or the chain of its errors."""
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        try:
            response = session.request(method, url, data=b"body", timeout=5)
        except requests.RequestException as error:
            return type(error), *(type(getattr(arg, "reason", arg)) for arg in error.args)
        return response.status_code, response.request.method


RETRIES = {
    "none": {"total": 0},
    "of statuses": {"total": 3, "status_forcelist": [503], "allowed_methods": None},
    "of too few": {"total": 1, "status_forcelist": [503], "allowed_methods": None},
    "not of POST": {"total": 3, "status_forcelist": [503]},
    "not raising": {"total": 1, "status_forcelist": [503], "allowed_methods": None, "raise_on_status": False},
    "by status": {"total": None, "status": 2, "read": 1, "status_forcelist": [503], "allowed_methods": None},
    "by header": {"total": 3, "allowed_methods": None},
    "not by header": {"total": 3, "allowed_methods": None, "respect_retry_after_header": False},
    "of reads": {"total": None, "read": 1, "allowed_methods": None},
    "of no reads": {"total": 3, "read": False, "allowed_methods": None},
}
SCRIPTS = {
    "busy twice": [BUSY, BUSY, OK],
    "busy for ever": [BUSY],
    "told when": [BUSY_TOLD, OK],
    "lost once": [LOST, OK],
    "lost for ever": [LOST],
    "fine": [OK],
}


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
@pytest.mark.parametrize("options", RETRIES.values(), ids=RETRIES)
def test_it_comes_to_the_same_as_with_a_server(options: dict[str, Any], script: list[Status], method: str) -> None:
    def adapter() -> Any:
        return HTTPAdapter(max_retries=urllib3.Retry(**options))

    with served(script) as (url, came):
        expected = outcome(url, adapter(), method)
    answers = [Response(status, headers) if status else Fault("disconnect") for status, headers in script]
    with block(Scripted(*answers)) as fake:
        got = outcome(URL, adapter(), method)

    assert got == expected
    assert [request.body for request in fake.asked] == came


@pytest.mark.parametrize(
    ("kind", "error", "reason"),
    [
        ("connect", "ConnectionError", "NewConnectionError"),
        ("connect_timeout", "ConnectTimeout", "ConnectTimeoutError"),
        ("read_timeout", "ConnectionError", "ReadTimeoutError"),
        ("disconnect", "ConnectionError", "ProtocolError"),
    ],
)
def test_what_is_raised_when_the_retries_are_spent_says_why(kind: Any, error: str, reason: str) -> None:
    adapter = HTTPAdapter(max_retries=urllib3.Retry(total=2, allowed_methods=None))
    with block(Scripted(Fault(kind))) as fake, requests.Session() as session:
        session.mount("https://", adapter)
        with pytest.raises(requests.RequestException) as caught:
            session.post(URL)

    assert type(caught.value) is getattr(requests.exceptions, error)
    assert type(caught.value.args[0].reason) is getattr(urllib3.exceptions, reason)
    assert "Max retries exceeded with url: /v1/chat" in str(caught.value)
    assert "host='llm.test', port=443" in str(caught.value)
    assert len(fake.asked) == 3


def test_a_scripted_exception_isnt_retried() -> None:
    adapter = HTTPAdapter(max_retries=urllib3.Retry(total=2, allowed_methods=None))
    with block(Scripted(Fault("raise", error=LookupError("mine")))) as fake, requests.Session() as session:
        session.mount("https://", adapter)
        with pytest.raises(LookupError, match="mine"):
            session.post(URL)

    assert len(fake.asked) == 1


def test_a_streamed_answer_after_a_retry() -> None:
    steps = (b"data: 1\n\n", Pause(0), b"data: 2\n\n")
    adapter = HTTPAdapter(max_retries=urllib3.Retry(total=1, status_forcelist=[503], allowed_methods=None))
    with block(Scripted(Response(503, steps=(b"busy",)), Response(200, steps=steps))), requests.Session() as session:
        session.mount("https://", adapter)
        with session.post(URL, data=iter([b"a", b"b"]), stream=True) as response:
            assert b"".join(response.iter_content(None)) == b"data: 1\n\ndata: 2\n\n"


def test_the_session_of_a_mounted_adapter_doesnt_retry() -> None:
    from fake_llm._stacks.requests import adapter

    fake = Scripted(Response(503))
    with requests.Session() as session:
        session.mount("https://", adapter(fake))
        assert session.post(URL).status_code == 503
    assert len(fake.asked) == 1


# --- adapters that send in their own way --------------------------------------------------------


class Extending(HTTPAdapter):
    """Tries again itself, on the stock adapter."""

    def send(self, *args: Any, **kwargs: Any) -> Any:
        for _ in range(3):
            response = super().send(*args, **kwargs)
            if response.status_code < 500:
                break
        return response


class Holding(requests.adapters.BaseAdapter):
    """Tries again itself, on an adapter that it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = HTTPAdapter()

    def send(self, *args: Any, **kwargs: Any) -> Any:
        for _ in range(3):
            response = self.inner.send(*args, **kwargs)
            if response.status_code < 500:
                break
        return response

    def close(self) -> None:
        self.inner.close()


@pytest.mark.parametrize("kind", [Extending, Holding])
@pytest.mark.parametrize("when", ["before", "inside"])
def test_an_adapter_with_a_loop_of_its_own_runs(kind: Callable[[], Any], when: str) -> None:
    session = requests.Session()
    if when == "before":
        session.mount("https://", kind())
    with block(Scripted(Response(503), Response(503), Response(200))) as fake, session:
        if when == "inside":
            session.mount("https://", kind())
        assert session.post(URL, data=b"body").status_code == 200

    assert [request.body for request in fake.asked] == [b"body"] * 3


@pytest.mark.parametrize("kind", [Extending, Holding])
def test_a_mock_beneath_it_that_came_after_us_doesnt_swallow(kind: Callable[[], Any]) -> None:
    responses = load("responses")
    with block(Scripted(Response(200))) as fake, requests.Session() as session:
        session.mount("https://", kind())
        with responses.RequestsMock():
            assert session.post(URL).status_code == 200

    assert len(fake.asked) == 1


def test_a_stock_adapter_that_is_called_by_itself_is_answered() -> None:
    prepared = requests.Request("POST", URL).prepare()
    with block(Scripted(Response(200))) as fake:
        assert HTTPAdapter().send(prepared).status_code == 200
    assert len(fake.asked) == 1


def test_waits_are_real_here() -> None:
    """What an intercept block leaves out, this layer doesn't."""
    adapter = HTTPAdapter(
        max_retries=urllib3.Retry(2, status_forcelist=[503], allowed_methods=None, backoff_factor=0.05)
    )
    with block(Scripted(Response(503), Response(503), Response(200))), requests.Session() as session:
        session.mount("https://", adapter)
        start = time.perf_counter()
        assert session.post(URL).status_code == 200
    assert time.perf_counter() - start >= 0.1
