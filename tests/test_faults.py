"""What happens after the parts of a turn: `then=`, streamed and whole, on every vocabulary."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import socket
import ssl
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _wire import CHAT, GEMINI, RESPONSES, VENDORS, WAYS, Vendor, events, failure, said
from fake_llm import (
    Disconnect,
    EndOfStream,
    Error,
    Garbage,
    Raw,
    Reply,
    ScriptMismatchError,
    Stall,
    Thinking,
    ToolCall,
)

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
TOOLS = {"f": {"type": "object"}}
TURNS = {
    "text": Reply("Hello there, friend"),
    "call": Reply("Look:", ToolCall("f", {"city": "Paris"})),
    "thinking": Reply(Thinking("I think so"), "Yes indeed"),
}
turns = pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)


def received(vendor: Vendor, library: Any = httpx, **options: Any) -> tuple[bytes, Exception | None]:
    """The bytes of a stream that reached the client, and what ended it."""
    got: list[bytes] = []
    try:
        with library.stream(
            "POST", vendor.place(True), json=vendor.body(stream=True, tools=TOOLS), **options
        ) as response:
            assert response.status_code == 200
            got.extend(response.iter_bytes())
    except library.TransportError as error:
        return b"".join(got), error
    return b"".join(got), None


def _httpx2_errors() -> tuple[type[Exception], ...]:
    try:
        import httpx2
    except ImportError:
        return ()
    return (httpx2.RemoteProtocolError,)


def opened(vendor: Vendor, body: bytes, turn: Reply) -> None:
    """A stream that has all the parts of the turn, and nothing that closes it."""
    found = said(vendor, httpx.Response(200, content=body, headers={"content-type": "text/event-stream"}))
    with fake_llm.intercept([turn]):
        whole = said(vendor, vendor.post(tools=TOOLS))
    assert (found.text, found.thinking) == (whole.text, whole.thinking)
    if vendor is not RESPONSES:
        assert found.calls == whole.calls
    assert found.finish is None
    assert b"[DONE]" not in body


# --- disconnect ---------------------------------------------------------------------------------


@vendors
@turns
def test_a_stream_that_breaks(vendor: Vendor, turn: Reply) -> None:
    with fake_llm.intercept([turn.replace(then=Disconnect())]) as fake:
        body, error = received(vendor)
    assert isinstance(error, httpx.RemoteProtocolError)
    assert "incomplete chunked read" in str(error)
    opened(vendor, body, turn)
    assert fake.calls[0].response is not None
    assert fake.calls[0].response.body == body


@vendors
def test_a_connection_that_breaks_in_place_of_a_body(vendor: Vendor) -> None:
    with fake_llm.intercept([Reply("never seen", then=Disconnect())]) as fake:
        with pytest.raises(httpx.RemoteProtocolError):
            vendor.post()
        assert fake.calls[0].response is not None
        assert fake.calls[0].response.body == b""


@needs("openai")
def test_a_broken_stream_through_openai() -> None:
    import openai

    with fake_llm.intercept([Reply("one two", then=Disconnect())]), openai.OpenAI(max_retries=0) as client:
        seen = []
        with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError, *_httpx2_errors())):
            for chunk in client.chat.completions.create(
                model="gpt-5", messages=[{"role": "user", "content": "Hi"}], stream=True
            ):
                seen.append(chunk.choices[0].delta.content)
    assert "".join(seen) == "one two"


@needs("openai")
def test_a_broken_whole_answer_is_retried_by_openai() -> None:
    import openai

    with fake_llm.intercept([Reply("x", then=Disconnect()), "recovered"]) as fake, openai.OpenAI() as client:
        answer = client.responses.create(model="gpt-5", input="Hi")
    assert answer.output_text == "recovered"
    assert [call.attempt for call in fake.calls] == [1, 2]


# --- stall --------------------------------------------------------------------------------------


@vendors
@turns
def test_a_stream_that_stalls_until_the_clients_own_time_out(vendor: Vendor, turn: Reply) -> None:
    with fake_llm.intercept([turn.replace(then=Stall())]) as fake:
        body, error = received(vendor, timeout=3600)  # it takes no time
    assert isinstance(error, httpx.ReadTimeout)
    opened(vendor, body, turn)
    assert fake.calls[0].waited == 3600


@vendors
def test_an_answer_that_stalls(vendor: Vendor) -> None:
    with fake_llm.intercept([Reply("x", then=Stall())]) as fake:
        with pytest.raises(httpx.ReadTimeout):
            vendor.post()
        assert fake.calls[0].waited == 5  # httpx's default


@ways
def test_a_stall_without_a_time_out_says_so(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply("x", then=Stall())]) as fake:
        with pytest.raises(ScriptMismatchError, match=r"(?s)Stall\(\).*httpx client has none.*Stall\(seconds\)"):
            httpx.post(vendor.place(stream), json=vendor.body(stream=stream), timeout=None)
        fake.failures.clear()


@ways
@turns
def test_a_stall_of_some_seconds_goes_on(vendor: Vendor, stream: bool, turn: Reply) -> None:
    with fake_llm.intercept([turn.replace(then=Stall(4)), turn], virtual_time=True) as fake:
        first = said(vendor, vendor.post(stream=stream, tools=TOOLS))
        second = said(vendor, vendor.post(stream=stream, tools=TOOLS))
    assert (first.parts, first.finish) == (second.parts, second.finish)
    assert fake.calls[0].waited == 4


@ways
def test_a_stall_that_is_longer_than_the_time_out(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply("one two", then=Stall(7))], virtual_time=True) as fake:
        with pytest.raises(httpx.ReadTimeout):
            vendor.post(stream=stream)
        assert fake.calls[0].waited == 5


@vendors
def test_a_stall_comes_before_the_closing_events(vendor: Vendor) -> None:
    turn = Reply("one two", then=Stall(7))
    with fake_llm.intercept([turn], virtual_time=True):
        body, error = received(vendor)
    assert isinstance(error, httpx.ReadTimeout)
    assert b"[DONE]" not in body
    assert (
        said(vendor, httpx.Response(200, content=body, headers={"content-type": "text/event-stream"})).text == "one two"
    )


# --- the end of the stream ----------------------------------------------------------------------


@vendors
@turns
def test_a_stream_that_ends_cleanly_without_closing_events(vendor: Vendor, turn: Reply) -> None:
    with fake_llm.intercept([turn.replace(then=EndOfStream())]):
        body, error = received(vendor)
    assert error is None
    opened(vendor, body, turn)


@vendors
def test_the_end_in_place_of_a_body(vendor: Vendor) -> None:
    with fake_llm.intercept([Reply("x", then=EndOfStream())]):
        response = vendor.post()
    assert (response.status_code, response.content) == (200, b"")


@needs("anthropic")
def test_a_stream_without_an_end_through_anthropic() -> None:
    import anthropic

    with (
        fake_llm.intercept([Reply("one two", then=EndOfStream())]),
        anthropic.Anthropic() as client,
        client.messages.stream(
            model="claude-sonnet-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        ) as stream,
    ):
        assert "".join(stream.text_stream) == "one two"
        assert stream.get_final_message().stop_reason is None


# --- errors in a stream -------------------------------------------------------------------------


@vendors
@turns
def test_an_error_in_the_middle_of_a_stream(vendor: Vendor, turn: Reply) -> None:
    with fake_llm.intercept([turn.replace(then=Error("overloaded", "too much of it"))]):
        body, error = received(vendor)
    assert error is None
    assert b"too much of it" in body
    if vendor is GEMINI:  # sends it without a frame
        assert json.loads(body[body.index(b'{\n  "error"') :])["error"]["message"] == "too much of it"
        return
    name, data = events(body)[-1]
    last = json.loads(data)
    if vendor is CHAT:
        assert last["error"]["message"] == "too much of it"
    elif vendor is RESPONSES:
        assert (name, last["type"]) in {("error", "error"), ("response.failed", "response.failed")}
    else:
        assert (name, last["type"], last["error"]["type"]) == ("error", "error", "overloaded_error")


@vendors
def test_an_error_in_place_of_a_body(vendor: Vendor) -> None:
    turn = Reply("never seen", then=Error(429, "slower", headers={"x-one": "1"}), headers={"x-two": "2"})
    with fake_llm.intercept([turn]):
        response = vendor.post()
    assert response.status_code == 429
    assert failure(vendor, response) == "slower"
    assert response.headers["x-one"] == "1"


@needs("openai", "anthropic")
def test_an_error_in_a_stream_is_the_sdks_own() -> None:
    import anthropic
    import openai

    question: Any = [{"role": "user", "content": "Hi"}]
    turn = Reply("one two", then=Error("server_error", "it broke"))
    with fake_llm.intercept([turn] * 3) as fake:
        with openai.OpenAI() as client:
            for make in (
                lambda: client.chat.completions.create(model="gpt-5", messages=question, stream=True),
                lambda: client.responses.create(model="gpt-5", input="Hi", stream=True),
            ):
                try:
                    seen = list(make())  # type: ignore[call-overload]
                except openai.APIError as error:
                    seen = [error]
                assert "it broke" in str(seen[-1])
        with (
            anthropic.Anthropic() as other,
            pytest.raises(anthropic.APIStatusError, match="it broke"),
            other.messages.stream(model="claude-sonnet-5", max_tokens=9, messages=question) as stream,
        ):
            list(stream)
    assert len(fake.calls) == 3


# --- garbage ------------------------------------------------------------------------------------


@vendors
@turns
def test_garbage_in_a_stream(vendor: Vendor, turn: Reply) -> None:
    garbage = b"\x00\xff<html>data: {nope\n\n"
    with fake_llm.intercept([turn.replace(then=Garbage(garbage))]):
        body, error = received(vendor)
    assert error is None
    assert body.endswith(garbage)
    opened(vendor, body.removesuffix(garbage), turn)


@vendors
def test_garbage_in_place_of_a_body(vendor: Vendor) -> None:
    with fake_llm.intercept([Reply("x", then=Garbage(b"\xff{nope"))]):
        response = vendor.post()
    assert (response.status_code, response.content) == (200, b"\xff{nope")


# --- raw, arrays, and all together --------------------------------------------------------------


@ways
@pytest.mark.parametrize(
    ("then", "kind"), [(Disconnect(), httpx.RemoteProtocolError), (Stall(), httpx.ReadTimeout)], ids=shown
)
def test_raw_bodies_break_too(vendor: Vendor, stream: bool, then: Any, kind: Any) -> None:
    with fake_llm.intercept([Raw('{"half": ', then=then)]) as fake:
        with pytest.raises(kind):
            vendor.post(stream=stream)
        assert fake.calls[0].response is not None
        assert fake.calls[0].response.body == b'{"half": '


@vendors
def test_raw_events_break_before_the_terminator(vendor: Vendor) -> None:
    items = [{"type": "a"}, {"type": "b"}]
    with fake_llm.intercept(
        [Raw(items, then=then) for then in (EndOfStream(), Garbage(b"!"), Error(500, "oh"), Stall(9))],
        virtual_time=True,
    ):
        ended, rubbish, failed = (received(vendor)[0] for _ in range(3))
        stalled, error = received(vendor)
    assert [json.loads(data) for _, data in events(ended)] == items
    assert rubbish == ended + b"!"
    assert failed.startswith(ended)
    assert b"oh" in failed
    assert stalled == ended
    assert isinstance(error, httpx.ReadTimeout)


@vendors
def test_an_error_after_raw_events_is_compressed_with_them(vendor: Vendor) -> None:
    turn = Raw([{"type": "a"}], then=Error(500, "oh"), framing=fake_llm.Framing(gzip=True))
    with fake_llm.intercept([turn]):
        assert b"oh" in vendor.post(stream=True).content


@vendors
@pytest.mark.parametrize("body", [{"a": 1}, "text"], ids=shown)
def test_an_error_in_place_of_a_raw_body(vendor: Vendor, body: Any) -> None:
    with fake_llm.intercept([Raw(body, then=Error(429, "oh"))]):
        assert failure(vendor, vendor.post()) == "oh"


@pytest.mark.parametrize("then", [Disconnect(), Stall(), EndOfStream(), Garbage(b"!"), Error(500, "oh")], ids=shown)
def test_faults_in_a_json_array(then: Any) -> None:
    got = b""
    url = GEMINI.url + ":streamGenerateContent"
    with fake_llm.intercept([Reply("one two", then=then)]):
        try:
            with httpx.stream("POST", url, json=GEMINI.body()) as response:
                for piece in response.iter_bytes():
                    got += piece
        except httpx.TransportError:
            assert isinstance(then, (Disconnect, Stall))
    assert b'"one"' in got
    assert b'" two"' in got
    assert b"STOP" not in got
    if not isinstance(then, Error):
        assert not got.endswith(b"]")


@ways
@pytest.mark.parametrize("then", [Disconnect(), Stall(), EndOfStream(), Garbage(b"!"), Error(500)], ids=shown)
def test_a_fault_takes_a_turn_and_is_no_failure_of_the_test(vendor: Vendor, stream: bool, then: Any) -> None:
    with fake_llm.intercept([Reply("x", then=then), "next"]) as fake:
        with contextlib.suppress(httpx.TransportError):
            vendor.post("1", stream=stream)
        assert said(vendor, vendor.post("2", stream=stream)).text == "next"
        assert fake.failures == []
        assert fake.transcript()


@needs("requests")
@vendors
def test_the_same_faults_on_requests(vendor: Vendor) -> None:
    import requests

    def ask(stream: bool) -> requests.Response:
        return requests.post(vendor.place(stream), json=vendor.body(stream=stream), timeout=5)

    for then, kind in (
        (Disconnect(), (requests.exceptions.ChunkedEncodingError, requests.exceptions.ConnectionError)),
        (Stall(), (requests.exceptions.ReadTimeout, requests.exceptions.ConnectionError)),
    ):
        with fake_llm.intercept([Reply("x", then=then)] * 2):
            for stream in (False, True):
                with pytest.raises(kind):
                    ask(stream)
    with fake_llm.intercept([Reply("x", then=Garbage(b"!")), Reply("x", then=EndOfStream())]):
        assert ask(True).content.endswith(b"!")
        assert ask(False).content == b""


@needs("requests")
def test_a_stall_on_requests_without_a_time_out_says_so() -> None:
    import requests

    with fake_llm.intercept([Reply("x", then=Stall())]) as fake:
        with pytest.raises(ScriptMismatchError, match="requests client has none"):
            requests.post(CHAT.place(), json=CHAT.body())
        fake.failures.clear()


# --- below HTTP ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (TimeoutError("connect"), httpx.ConnectTimeout, "timed out"),
        (TimeoutError("read"), httpx.ReadTimeout, "timed out"),
        (TimeoutError("write"), httpx.WriteTimeout, "timed out"),
        (TimeoutError("pool"), httpx.PoolTimeout, "timed out"),
        (TimeoutError("total"), httpx.ReadTimeout, "timed out"),
        (TimeoutError("Connect"), httpx.ConnectTimeout, "timed out"),
        (TimeoutError("WRITE"), httpx.WriteTimeout, "timed out"),
        (TimeoutError("too slow"), httpx.ReadTimeout, "too slow"),
        (ConnectionRefusedError, httpx.ConnectError, "refused"),
        (socket.gaierror, httpx.ConnectError, "not known"),
        (socket.gaierror(-3, "try again"), httpx.ConnectError, "try again"),
        (ssl.SSLCertVerificationError, httpx.ConnectError, "CERTIFICATE_VERIFY_FAILED"),
        (ssl.SSLError("handshake"), httpx.ConnectError, "handshake"),
        (ssl.SSLEOFError, httpx.ConnectError, "EOF occurred in violation of protocol"),
        (ssl.SSLEOFError(8, "no end"), httpx.ConnectError, "no end"),
        (ssl.SSLZeroReturnError, httpx.ConnectError, "has been closed"),
        (ssl.SSLSyscallError(5, "system"), httpx.ConnectError, "system"),
        (ssl.SSLWantReadError(2, "more"), httpx.ConnectError, "more"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), httpx.ConnectError, "No route to host"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), httpx.ConnectError, "Network is unreachable"),
        (ConnectionResetError, httpx.ReadError, "reset by peer"),
        (ConnectionAbortedError(), httpx.RemoteProtocolError, "without sending a response"),
        (http.client.RemoteDisconnected("bye"), httpx.RemoteProtocolError, "bye"),
    ],
    ids=shown,
)
def test_what_python_raises_of_a_connection_is_the_clients_own(error: Any, kind: Any, said: str) -> None:
    def fails(call: Any) -> Any:
        raise error

    with fake_llm.intercept([error, fails]) as fake:
        for _ in range(2):
            with pytest.raises(kind, match=said) as caught:
                CHAT.post()
            assert type(caught.value) is kind
        assert fake.failures == []
        assert fake.calls[0].response is None


@pytest.mark.parametrize(("phase", "waited"), [("connect", 1), ("read", 2), ("write", 3), ("pool", 4), ("total", 0)])
def test_the_time_out_of_a_phase_is_the_clients_own_seconds(phase: str, waited: int) -> None:
    timeout = httpx.Timeout(connect=1, read=2, write=3, pool=4)
    with fake_llm.intercept([TimeoutError(phase)]) as fake:
        with pytest.raises(httpx.TimeoutException):
            httpx.post(CHAT.place(), json=CHAT.body(), timeout=timeout)
        assert fake.calls[0].waited == waited


@needs("requests")
@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ssl.SSLEOFError(8, "EOF occurred"), "SSLError"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "ConnectionError"),
    ],
    ids=shown,
)
def test_requests_has_what_the_system_said(error: OSError, name: str) -> None:
    import requests

    with fake_llm.intercept([error]), pytest.raises(requests.exceptions.ConnectionError) as caught:
        requests.post(CHAT.place(), json=CHAT.body())
    assert type(caught.value).__name__ == name
    assert str(error.strerror) in str(caught.value)
    assert type(error).__name__ in str(caught.value) or name == "ConnectionError"


@needs("aiohttp")
@pytest.mark.parametrize(
    ("error", "name"),
    [
        (OSError(errno.EHOSTUNREACH, "No route to host"), "ClientConnectorError"),
        (ssl.SSLEOFError(8, "EOF occurred"), "ClientConnectorSSLError"),
        (ssl.SSLCertVerificationError(1, "self-signed"), "ClientConnectorCertificateError"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "ClientConnectorError"),
    ],
    ids=shown,
)
@pytest.mark.asyncio
async def test_aiohttp_has_the_number_that_the_system_gave(error: OSError, name: str) -> None:
    import aiohttp

    with fake_llm.intercept([error]):
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectionError) as caught:
                await session.post(CHAT.place(), json=CHAT.body())
    assert type(caught.value).__name__ == name
    inner = getattr(caught.value, "certificate_error", None) or getattr(caught.value, "os_error", None)
    assert inner is error


@pytest.mark.parametrize("error", [OSError("x"), OSError(errno.ENOENT, "No such file"), PermissionError(1, "no")])
def test_what_is_no_error_of_a_connect_is_raised_as_it_is(error: OSError) -> None:
    with fake_llm.intercept([error]), pytest.raises(type(error)) as caught:
        CHAT.post()
    assert caught.value is error


class OwnResetError(ConnectionResetError):
    """One that says more than Python's."""


def test_a_class_of_ones_own_is_raised_as_it_is() -> None:
    error = OwnResetError("mine")
    with fake_llm.intercept([error]), pytest.raises(OwnResetError) as caught:
        CHAT.post()
    assert caught.value is error
