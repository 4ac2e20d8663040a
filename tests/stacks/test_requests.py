"""What is particular to requests; the rest is in the contract of all stacks."""

from __future__ import annotations

import gzip
import io
import time
from typing import Any

import pytest
import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter

from _ids import shown
from fake_llm._model import Fault, Pause, Response, Timeouts
from fake_llm._stacks.requests import adapter
from stacks._support import HOST, URL, Scripted, block

OK = Response(200, (("content-type", "application/json"), ("x-one", "1")), b'{"ok":true}')


# What is asked and what is answered


def test_a_request_arrives_whole_and_a_whole_answer_is_one():
    with block(Scripted(OK)) as fake:
        response = requests.post(URL, params={"a": "b"}, json={"q": "é"}, headers={"X-Key": "k"}, timeout=5)

    assert response.json() == {"ok": True}
    assert (response.status_code, response.reason, response.headers["X-One"]) == (200, "OK", "1")
    assert response.headers["content-length"] == "11"
    assert (response.url, response.request.method) == (URL + "?a=b", "POST")
    [request] = fake.asked
    assert (request.method, request.url, request.library) == ("POST", URL + "?a=b", "requests")
    assert request.body == b'{"q": "\\u00e9"}'
    assert request.headers["x-key"] == "k"
    assert request.timeouts == Timeouts(5, 5)


@pytest.mark.parametrize(
    ("timeout", "expected"),
    [
        (None, Timeouts()),
        (1.5, Timeouts(1.5, 1.5)),
        ((1, None), Timeouts(1, None)),
        (urllib3.Timeout(connect=1, read=2), Timeouts(1, 2)),
        (urllib3.Timeout(connect=3), Timeouts(3, None)),
    ],
    ids=shown,
)
def test_each_form_of_a_timeout(timeout: Any, expected: Timeouts):
    with block(Scripted(OK)) as fake:
        requests.post(URL, timeout=timeout)

    assert fake.asked[0].timeouts == expected


def test_a_timeout_of_three_is_refused_as_by_requests():
    with block(Scripted(OK)), pytest.raises(ValueError, match="Invalid timeout"):
        requests.post(URL, timeout=(1, 2, 3))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (None, b""),
        (b"bytes", b"bytes"),
        ("é", "é".encode()),
        ({"a": "b"}, b"a=b"),
        (io.BytesIO(b"file"), b"file"),
        (io.StringIO("text"), b"text"),
        ((part for part in (b"one", b"two")), b"onetwo"),
        ((part for part in (bytearray(b"one"), memoryview(b"two"))), b"onetwo"),
    ],
    ids=["none", "bytes", "text", "form", "file", "text file", "generator", "buffers"],
)
def test_each_form_of_a_body(data: Any, expected: bytes):
    with block(Scripted(OK)) as fake:
        requests.post(URL, data=data)

    assert fake.asked[0].body == expected


def test_header_bytes_arrive():
    with block(Scripted(OK)) as fake:
        requests.post(URL, headers={"x-name": "é".encode("latin-1")})

    assert fake.asked[0].headers["x-name"] == "é"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("steps", [None, (b"a", b"b")])
def test_cookies_and_headers_of_one_name(steps: Any, stream: bool):
    headers = (("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-two", "1"), ("x-two", "2"))
    session = requests.Session()
    with block(Scripted(Response(200, headers, steps=steps))):
        response = session.post(URL, stream=stream)
        assert response.content == b"".join(steps or ())

    assert dict(response.cookies) == dict(session.cookies) == {"a": "1", "b": "2"}
    assert response.headers["x-two"] == "1, 2"
    assert response.raw.headers.getlist("x-two") == ["1", "2"]


@pytest.mark.parametrize("stream", [False, True])
def test_compressed_bodies_are_the_librarys_to_decode(stream: bool):
    headers = (("content-encoding", "gzip"),)
    packed = gzip.compress(b"unpacked")
    with block(Scripted(Response(200, headers, packed), Response(200, headers, steps=(packed[:9], packed[9:])))):
        whole, streamed = (requests.post(URL, stream=stream).content for _ in range(2))

    assert (whole, streamed) == (b"unpacked", b"unpacked")


@pytest.mark.parametrize(
    "read",
    ["content", "iter_content", "all of iter_content", "iter_lines", "raw.read", "raw.stream", "all of raw.stream"],
)
def test_a_whole_answer_can_be_streamed(read: str):
    with block(Scripted(Response(200, body=b"one\ntwo\n"))):
        response = requests.post(URL, stream=True)
        got = {
            "content": lambda: response.content,
            "iter_content": lambda: b"".join(response.iter_content(3)),
            "all of iter_content": lambda: b"".join(response.iter_content(None)),
            "iter_lines": lambda: b"".join(line + b"\n" for line in response.iter_lines()),
            "all of raw.stream": lambda: b"".join(response.raw.stream(None)),
            "raw.read": lambda: response.raw.read(),
            "raw.stream": lambda: b"".join(response.raw.stream(2)),
        }[read]()

    assert got == b"one\ntwo\n"


def test_an_unknown_status_has_no_reason():
    with block(Scripted(Response(529), Response(529, steps=()))):
        for response in (requests.post(URL), requests.post(URL)):
            assert (response.status_code, response.reason, response.content) == (529, "", b"")


def test_redirects_sessions_hooks_and_auth_are_the_librarys():
    seen: list[int] = []
    session = requests.Session()
    session.auth = ("u", "p")
    session.hooks["response"].append(lambda response, **_: seen.append(response.status_code))
    moved = Response(307, (("location", f"https://{HOST}/moved"),))
    with block(Scripted(moved, OK)) as fake:
        response = session.post(URL, data=b"again")

    assert [request.path for request in fake.asked] == ["/v1/chat", "/moved"]
    assert [request.body for request in fake.asked] == [b"again", b"again"]
    assert fake.asked[0].headers["authorization"].startswith("Basic ")
    assert (seen, [old.status_code for old in response.history]) == ([307, 200], [307])


def test_digest_auth_sends_again_over_the_same_adapter():
    ask = Response(401, (("www-authenticate", 'Digest realm="r", nonce="n", qop="auth", algorithm=MD5'),))
    with block(Scripted(ask, OK)) as fake:
        response = requests.post(URL, auth=requests.auth.HTTPDigestAuth("u", "p"))

    assert response.status_code == 200
    assert fake.asked[1].headers["authorization"].startswith("Digest ")


# Streams


@pytest.mark.parametrize("size", [None, 512, 1 << 20])
def test_each_bytes_step_is_one_read(size: int | None):
    with block(Scripted(Response(200, steps=(b"a", b"bc", b"", b"d\n\n")))):
        response = requests.post(URL, stream=True)
        got = list(response.iter_content(size))

    assert got == [b"a", b"bc", b"d\n\n"]
    assert response.headers["transfer-encoding"] == "chunked"
    assert "content-length" not in response.headers


def test_a_large_step_is_cut_where_the_reader_wants_it():
    with block(Scripted(Response(200, steps=(b"x" * 200_000, b"y")))):
        got = list(requests.post(URL, stream=True).iter_content(65536))

    assert [len(piece) for piece in got] == [65536, 65536, 65536, 3392, 1]


def test_a_stream_is_whole_without_stream():
    with block(Scripted(Response(200, steps=(b"a", b"b" * 100_000)))):
        assert requests.post(URL).content == b"a" + b"b" * 100_000


@pytest.mark.parametrize("read", ["iter_lines", "iter_content", "raw.stream"])
def test_pauses_are_waited_out_where_they_stand(read: str):
    with block(Scripted(Response(200, steps=(b"a\n", Pause(0.05), b"b\n", b"c\n"), delay=0.05))):
        started = time.perf_counter()
        response = requests.post(URL, stream=True)
        pieces = {
            "iter_lines": lambda: response.iter_lines(),
            "iter_content": lambda: response.iter_content(None),
            "raw.stream": lambda: response.raw.stream(4096),
        }[read]()
        opened, first, second, third = (
            time.perf_counter() - started,
            *(time.perf_counter() - started for _ in pieces),
        )

    assert opened >= 0.05
    assert first - opened < 0.03
    assert second - first >= 0.045
    assert third - second < 0.03


# Faults


@pytest.mark.parametrize(
    ("kind", "expected", "text"),
    [
        ("read_timeout", requests.ReadTimeout, "Read timed out."),
        ("connect_timeout", requests.ConnectTimeout, "Connection timed out."),
        ("write_timeout", requests.ConnectionError, "The write operation timed out"),
        ("pool_timeout", requests.ConnectionError, "Pool is empty and no new connections are allowed."),
        ("connect", requests.ConnectionError, "Connection refused"),
        ("disconnect", requests.ConnectionError, "Remote end closed connection without response"),
    ],
)
def test_a_fault_is_the_librarys_own_exception(kind: Any, expected: type[Exception], text: str):
    with block(Scripted(Fault(kind), Fault(kind, "said"))):
        for said in (text, "said"):
            with pytest.raises(expected) as caught:
                requests.post(URL)
            assert type(caught.value) is expected
            assert said in str(caught.value)
            assert caught.value.request.url == URL


def test_a_disconnect_holds_what_urllib3_would_put_into_it():
    with block(Scripted(Fault("disconnect"))), pytest.raises(requests.ConnectionError) as caught:
        requests.post(URL)

    assert isinstance(caught.value.args[0], urllib3.exceptions.ProtocolError)
    assert isinstance(caught.value.args[0].args[1], ConnectionResetError)


@pytest.mark.parametrize(
    ("kind", "expected", "text"),
    [
        ("disconnect", requests.exceptions.ChunkedEncodingError, "Response ended prematurely"),
        ("read_timeout", requests.ConnectionError, "Read timed out."),
    ],
)
def test_a_fault_in_the_middle_of_a_body(kind: Any, expected: type[Exception], text: str):
    got: list[bytes] = []
    with block(Scripted(Response(200, steps=(b"a", Fault(kind, delay=0.01))))):
        response = requests.post(URL, stream=True)
        with pytest.raises(expected) as caught:
            got.extend(response.iter_content(None))
        with pytest.raises(expected):
            requests.post(URL)
        with pytest.raises(urllib3.exceptions.HTTPError):
            requests.post(URL, stream=True).raw.read()

    assert got == [b"a"]
    assert text in str(caught.value)


@pytest.mark.parametrize("error", [ConnectionAbortedError("mine"), LookupError("mine"), requests.Timeout("mine")])
@pytest.mark.parametrize("read", ["read", "read1", "stream", "read_chunked", "iter_lines"])
def test_an_exception_is_raised_as_it_is_in_each_way_to_read(error: Exception, read: str):
    with block(Scripted(Response(200, steps=(b"a", Fault("raise", error=error))))):
        response = requests.post(URL, stream=True)
        ways: dict[str, Any] = {
            "read": response.raw.read,
            "read1": lambda: [response.raw.read1(10), response.raw.read1(10)],
            "stream": lambda: list(response.raw.stream()),
            "read_chunked": lambda: list(response.raw.read_chunked()),
            "iter_lines": lambda: list(response.iter_lines()),
        }
        with pytest.raises(type(error)) as caught:
            ways[read]()

    assert caught.value is error


def test_a_fault_waits_its_delay():
    with block(Scripted(Fault("connect", delay=0.03))):
        started = time.perf_counter()
        with pytest.raises(requests.ConnectionError):
            requests.post(URL)

    assert time.perf_counter() - started >= 0.03


# Which calls are seen


class Local(BaseAdapter):
    """A user's own adapter, with something of its own on it."""

    mine = "kept"

    def __init__(self):
        super().__init__()
        self.sent: list[tuple[Any, ...]] = []
        self.closed = False

    def send(self, request: Any, *args: Any, **options: Any) -> requests.Response:
        self.sent.append((request.url, options["timeout"]))
        response = requests.Response()
        response.status_code, response.raw, response.url = 299, io.BytesIO(b"local"), request.url
        return response

    def close(self) -> None:
        self.closed = True


def test_other_hosts_go_to_their_adapter_as_they_are():
    session, local = requests.Session(), Local()
    session.mount("https://", local)
    with block(Scripted(OK)) as fake:
        assert session.get("https://other.test/", timeout=3).content == b"local"
        chosen = session.get_adapter("https://other.test/")
        assert chosen.mine == "kept"
        chosen.close()

    assert local.sent == [("https://other.test/", 3)]
    assert local.closed
    assert fake.asked == []
    assert fake.seen == [("GET", "https://other.test/")]


def test_custom_adapters_are_covered():
    class Retrying(HTTPAdapter):
        pass

    session = requests.Session()
    session.mount("https://", Retrying(max_retries=urllib3.Retry(3)))
    with block(Scripted(OK)) as fake:
        session.post(URL)
        session.mount("https://", Local())
        session.post(URL)

    assert len(fake.asked) == 2


def test_sessions_made_before_inside_and_after():
    original = requests.Session.get_adapter
    before = requests.Session()
    with block(Scripted(OK)) as fake:
        assert [session.post(URL).status_code for session in (before, requests.Session())] == [200, 200]

    assert len(fake.asked) == 2
    assert requests.Session.get_adapter is original
    assert type(before.get_adapter(URL)) is HTTPAdapter


def test_a_mounted_adapter_answers_everything_and_wins_over_a_block():
    mounted, session = Scripted(Response(200, steps=(b"a",))), requests.Session()
    session.mount("https://", adapter(mounted))
    with block(Scripted(OK)) as fake:
        assert session.post("https://anything.test/").content == b"a"
    assert session.post("https://anything.test/").content == b"a"
    session.close()

    assert (len(mounted.asked), fake.asked) == (2, [])


@pytest.mark.parametrize("first", ["responses", "ours"])
def test_responses_composes_in_either_order(first: str):
    responses = pytest.importorskip("responses")
    mock, ours = responses.RequestsMock(), block(Scripted(OK))
    mock.add("GET", "https://other.test/", body="theirs")
    outer, inner = (mock, ours) if first == "responses" else (ours, mock)
    with outer, inner:
        assert requests.get("https://other.test/").text == "theirs"
        assert requests.post(URL).json() == {"ok": True}
