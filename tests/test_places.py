"""A transport that breaks at a place: after so many bytes or events of the answer, in every framing, streamed and whole."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from fake_llm import (
    Disconnect,
    Embedding,
    EndOfStream,
    Error,
    Event,
    FakeLLM,
    Framing,
    Garbage,
    Raw,
    Reply,
    ScriptError,
    ScriptMismatchError,
    Stall,
    ToolCall,
    intercept,
)

ASKED = [{"role": "user", "content": "Hi"}]
FUNCTION = {"name": "f", "parameters": {"type": "object"}}
TURN = Reply("Žluťoučký kůň", ToolCall("f", {"city": "Zürich", "days": 3}))


def by_lines(body: bytes) -> list[bytes]:
    """The lines of NDJSON that are whole."""
    return body.split(b"\n")[:-1]


def by_events(body: bytes) -> list[bytes]:
    """Server-sent events that are whole."""
    return body.split(b"\n\n")[:-1]


def by_items(body: bytes) -> list[bytes]:
    """The items of an array that are whole; at the end of a break between two of them nothing else is."""
    text, found = body.decode("utf-8", "ignore").strip().removeprefix("[").lstrip(), []
    with contextlib.suppress(ValueError):
        while text:
            _, end = json.JSONDecoder().raw_decode(text)
            found.append(text[:end].encode())
            text = text[end:].lstrip().removeprefix(",").lstrip()
    return found


def by_frames(body: bytes) -> list[bytes]:
    """Frames of the AWS event stream that are whole, by their own length."""
    found = []
    while len(body) >= 4 and len(body) >= (size := int.from_bytes(body[:4], "big")):
        found.append(body[:size])
        body = body[size:]
    return found


@dataclass(frozen=True, eq=False)
class Place:
    """An endpoint that streams in one framing; `whole` is where it answers at once."""

    name: str
    stream: str
    whole: str
    body: dict[str, Any]
    parted: Callable[[bytes], list[bytes]]
    switch: bool = True

    def __str__(self) -> str:
        return self.name

    def ask(self, *, stream: bool, **options: Any) -> tuple[httpx.Response | None, bytes, Exception | None]:
        """The head, the body that came as it travelled, and what ended it."""
        url = self.stream if stream else self.whole
        body = {**self.body, "stream": stream} if self.switch else self.body
        got: list[bytes] = []
        response = None
        try:
            with httpx.Client(verify=False, **options).stream("POST", url, json=body) as response:
                got.extend(response.iter_raw())
        except httpx.TransportError as error:
            return response, b"".join(got), error
        return response, b"".join(got), None


GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:"
GEMINI_BODY = {
    "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    "tools": [{"functionDeclarations": [FUNCTION]}],
}
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1:0/"
BEDROCK_TOOL = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
PLACES = [
    Place(
        "chat",
        "https://api.openai.com/v1/chat/completions",
        "https://api.openai.com/v1/chat/completions",
        {"model": "gpt-5", "messages": ASKED, "tools": [{"type": "function", "function": FUNCTION}]},
        by_events,
    ),
    Place(
        "anthropic",
        "https://api.anthropic.com/v1/messages",
        "https://api.anthropic.com/v1/messages",
        {
            "model": "claude-sonnet-5",
            "max_tokens": 99,
            "messages": ASKED,
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        },
        by_events,
    ),
    Place("array", GEMINI + "streamGenerateContent", GEMINI + "generateContent", GEMINI_BODY, by_items, False),
    Place(
        "lines",
        "http://localhost:11434/api/chat",
        "http://localhost:11434/api/chat",
        {"model": "qwen3", "messages": ASKED, "tools": [{"type": "function", "function": FUNCTION}]},
        by_lines,
    ),
    Place(
        "frames",
        BEDROCK + "converse-stream",
        BEDROCK + "converse",
        {
            "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
            "toolConfig": {"tools": [BEDROCK_TOOL]},
        },
        by_frames,
        False,
    ),
]
CHAT = PLACES[0]
places = pytest.mark.parametrize("place", PLACES, ids=str)
ways = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@cache
def full(place: Place, stream: bool) -> bytes:
    """The answer that breaks nowhere."""
    with intercept([TURN]):
        return place.ask(stream=stream)[1]


def broken(place: Place, then: Any, **options: Any) -> tuple[bytes, Exception | None]:
    """What came of a stream, as the first call of its block: ids are those of the one that breaks nowhere."""
    with intercept([TURN.replace(then=then)]):
        return place.ask(stream=True, **options)[1:]


def steps(place: Place) -> Iterator[int]:
    """The places between the events of a stream."""
    yield from range(len(place.parted(full(place, True))) + 1)


# --- bytes --------------------------------------------------------------------------------------


@places
@ways
def test_the_connection_breaks_after_so_many_bytes(place: Place, stream: bool) -> None:
    body = full(place, stream)
    inside = body.index(b"Z") + 2  # between the two bytes of "ü", or in its escape
    for count in (0, 1, inside, len(body) - 1, *([len(body)] if stream else [])):
        with intercept([TURN.replace(then=Disconnect(after_bytes=count))]) as fake:
            response, got, error = place.ask(stream=stream)
        assert got == body[:count]
        assert isinstance(error, httpx.RemoteProtocolError)
        assert response is not None
        assert response.status_code == 200
        assert fake.calls[0].response is not None
        assert fake.calls[0].response.body == got


@places
def test_a_whole_answer_that_breaks_off_has_said_its_length(place: Place) -> None:
    size = len(full(place, False))
    with intercept([TURN.replace(then=Disconnect(after_bytes=7))]):
        response, _, error = place.ask(stream=False)
    assert response is not None
    assert response.headers["content-length"] == str(size)
    assert f"received 7 bytes, expected {size}" in str(error)


@places
@ways
def test_the_answer_ends_cleanly_after_so_many_bytes(place: Place, stream: bool) -> None:
    body = full(place, stream)
    for count in (0, 9, len(body) - 1):
        with intercept([TURN.replace(then=EndOfStream(after_bytes=count))]):
            response, got, error = place.ask(stream=stream)
        assert (got, error) == (body[:count], None)
        assert response is not None
        assert "content-length" not in response.headers


@places
@ways
def test_garbage_and_silence_after_so_many_bytes(place: Place, stream: bool) -> None:
    body = full(place, stream)
    turns = [TURN.replace(then=then) for then in (Garbage(b"\x00!", after_bytes=9), Stall(after_bytes=9))]
    with intercept(turns) as fake:
        assert place.ask(stream=stream)[1:] == (body[:9] + b"\x00!", None)
        _, got, error = place.ask(stream=stream, timeout=600)
        assert fake.calls[1].waited == 600
    assert got == body[:9]
    assert isinstance(error, httpx.ReadTimeout)


@places
@ways
def test_a_silence_of_some_seconds_goes_on(place: Place, stream: bool) -> None:
    body = full(place, stream)
    turns = [TURN.replace(then=Stall(seconds, after_bytes=9)) for seconds in (4, 6)]
    with intercept(turns, virtual_time=True) as fake:
        assert place.ask(stream=stream)[1:] == (body, None)
        assert fake.calls[0].waited == 4
        _, got, error = place.ask(stream=stream)
        assert fake.calls[1].waited == 5  # httpx's own
    assert got == body[:9]
    assert isinstance(error, httpx.ReadTimeout)


@places
@ways
def test_a_reset_in_the_middle_is_another_error_than_a_close(place: Place, stream: bool) -> None:
    body = full(place, stream)
    with intercept([TURN.replace(then=Disconnect(after_bytes=9, reset=True)), Reply("x", then=Disconnect(reset=True))]):
        _, got, error = place.ask(stream=stream)
        later = place.ask(stream=stream)[2]
    assert got == body[:9]
    assert type(error) is httpx.ReadError
    assert type(later) is httpx.ReadError


# --- events -------------------------------------------------------------------------------------


@places
def test_the_connection_breaks_after_so_many_events(place: Place) -> None:
    whole = place.parted(full(place, True))
    assert len(whole) > 2
    for count in steps(place):
        with intercept([TURN.replace(then=Disconnect(after_events=count))]):
            _, got, error = place.ask(stream=True)
        assert isinstance(error, httpx.RemoteProtocolError)
        assert place.parted(got) == whole[:count]
        assert full(place, True).startswith(got)
        assert place.parted(got[:-1]) == whole[: max(count - 1, 0)]  # and not a byte more


@places
def test_the_stream_ends_cleanly_after_so_many_events(place: Place) -> None:
    whole = place.parted(full(place, True))
    for count in (0, 1, len(whole) - 1):
        with intercept([TURN.replace(then=EndOfStream(after_events=count))]):
            _, got, error = place.ask(stream=True)
        assert (place.parted(got), error) == (whole[:count], None)


@places
def test_garbage_silence_and_errors_after_so_many_events(place: Place) -> None:
    whole = place.parted(full(place, True))
    rubbish, ended = broken(place, Garbage(b"!", after_events=2))
    silent, error = broken(place, Stall(after_events=2))
    failed, closed = broken(place, Error("overloaded", "too much", after_events=2))
    assert rubbish == silent + b"!"
    assert (ended, closed) == (None, None)
    assert isinstance(error, httpx.ReadTimeout)
    assert place.parted(silent) == whole[:2]
    assert failed.startswith(silent)
    assert b"too much" in failed[len(silent) :]
    assert b"STOP" not in failed


@places
@pytest.mark.parametrize("then", [Disconnect, Stall, EndOfStream], ids=shown)
def test_a_whole_answer_has_no_events(place: Place, then: Any) -> None:
    """The same turn serves both: there it comes in place of the body, as without a count."""
    with intercept([TURN.replace(then=then(after_events=2)), TURN.replace(then=then())]):
        counted, plain = place.ask(stream=False), place.ask(stream=False)
    assert counted[1] == b""
    assert (counted[1], type(counted[2])) == (plain[1], type(plain[2]))


def test_the_terminator_is_an_event() -> None:
    count = len(by_events(full(CHAT, True)))
    assert b"[DONE]" not in broken(CHAT, Disconnect(after_events=count - 1))[0]
    assert broken(CHAT, Disconnect(after_events=count))[0] == full(CHAT, True)


def test_an_error_after_the_terminator() -> None:
    count = len(by_events(full(CHAT, True)))
    with intercept([TURN.replace(then=Error(500, "late", after_events=count))]):
        got = CHAT.ask(stream=True)[1]
    assert got.startswith(full(CHAT, True))
    assert b"late" in got


def test_ids_of_events_go_on_counting() -> None:
    turn = TURN.replace(then=Error(500, "late", after_events=2), framing=Framing(ids=True))
    with intercept([turn]):
        got = CHAT.ask(stream=True)[1]
    assert [line for line in got.split(b"\n") if line.startswith(b"id:")] == [b"id: 0", b"id: 1", b"id: 2"]


def test_events_are_those_that_edit_leaves() -> None:
    turn = TURN.replace(edit=lambda events: ["data: 1\n\n", *events[:1]], then=Disconnect(after_events=1))
    with intercept([turn]):
        assert CHAT.ask(stream=True)[1] == b"data: 1\n\n"


# --- with other options -------------------------------------------------------------------------


@ways
def test_bytes_are_counted_as_they_travel(stream: bool) -> None:
    turn = TURN.replace(framing=Framing(gzip=True))
    with intercept([turn]):
        whole = CHAT.ask(stream=stream)[1]
    with intercept([turn.replace(then=Disconnect(after_bytes=20))]) as fake:
        assert CHAT.ask(stream=stream)[1] == whole[:20]
        assert fake.calls[0].response is not None
        assert len(fake.calls[0].response.body) == 20


def test_events_of_a_compressed_stream_can_be_read() -> None:
    whole = by_events(full(CHAT, True))
    faults = [Disconnect(after_events=2), Garbage(b"!", after_events=2), Error(500, "oh", after_events=2)]
    for then in faults:
        got = b""
        with (
            intercept([TURN.replace(then=then, framing=Framing(gzip=True))]),
            contextlib.suppress(httpx.TransportError),
            httpx.Client(verify=False).stream("POST", CHAT.stream, json={**CHAT.body, "stream": True}) as response,
        ):
            for piece in response.iter_bytes():
                got += piece
        assert by_events(got)[:2] == whole[:2]
        assert len(by_events(got)) == 2 + isinstance(then, Error)


def test_pieces_of_a_split_body_are_cut_too() -> None:
    with (
        intercept([TURN.replace(then=Disconnect(after_bytes=10), framing=Framing(split=4))]),
        httpx.Client(verify=False).stream("POST", CHAT.stream, json={**CHAT.body, "stream": True}) as response,
    ):
        pieces = response.iter_raw()
        got = [next(pieces) for _ in range(3)]
        with pytest.raises(httpx.RemoteProtocolError):
            next(pieces)
    assert [len(piece) for piece in got] == [4, 4, 2]


@pytest.mark.parametrize(
    ("then", "waited"),
    [(Disconnect(after_events=3), 1), (Stall(2, after_events=3), 5), (Garbage(b"!", after_events=3), 1)],
)
def test_the_pauses_before_the_place_are_waited_out(then: Any, waited: float) -> None:
    """An opening event, and four words of which two come."""
    with intercept([Reply("one two three four", interval=1, then=then)], virtual_time=True) as fake:
        CHAT.ask(stream=True)
        assert fake.calls[0].waited == waited


def test_a_break_before_the_first_byte_of_the_body_is_no_answer() -> None:
    with intercept(
        [TURN.replace(then=Disconnect(after_bytes=0)), TURN.replace(then=Disconnect(after_bytes=1))]
    ) as fake:
        CHAT.ask(stream=True)
        CHAT.ask(stream=True)
        assert fake.calls[0].usage is None
        assert fake.calls[1].usage is not None


@needs("openai")
def test_the_same_break_again_for_a_retry() -> None:
    import openai

    with intercept([Reply("x", then=Disconnect(after_bytes=5))]) as fake, openai.OpenAI(max_retries=2) as client:
        with pytest.raises(openai.APIConnectionError):
            client.responses.create(model="gpt-5", input="Hi")
        assert len(fake.calls) == 3


# --- verbatim bodies ----------------------------------------------------------------------------


@ways
def test_verbatim_bodies_break_at_a_byte(stream: bool) -> None:
    with intercept([Raw({"a": 1}, then=Disconnect(after_bytes=3)), Raw(b"abcdef", then=EndOfStream(after_bytes=3))]):
        response, got, error = CHAT.ask(stream=stream)
        assert CHAT.ask(stream=stream)[1:] == (b"abc", None)
    assert got == b"{\n "
    assert isinstance(error, httpx.RemoteProtocolError)
    assert response is not None
    assert ("content-length" in response.headers) is not stream


@places
def test_verbatim_events_break_between_them(place: Place) -> None:
    items = [Event("a", {"n": 1}), Event("b", {"n": 2}), Event("c", {"n": 3})]
    faults = [Disconnect(after_events=2), Garbage(b"!", after_events=2), Error(500, "oh", after_events=2)]
    with intercept([Raw(items), *(Raw(items, then=then) for then in faults)]):
        whole, broken, rubbish, failed = (place.ask(stream=True)[1] for _ in range(4))
    assert place.parted(broken) == place.parted(whole)[:2]
    assert rubbish == broken + b"!"
    assert failed.startswith(broken)
    assert b"oh" in failed


# --- what isn't chat ----------------------------------------------------------------------------


def embedded(fake: FakeLLM, then: Any, **options: Any) -> Any:
    fake.when(operation="embeddings").reply(Reply(Embedding([0.5, 0.25]), then=then))
    return httpx.Client(verify=False).post(
        "https://api.openai.com/v1/embeddings", json={"model": "text-embedding-3-small", "input": "Hi"}, **options
    )


def test_embeddings_break_as_chat_does() -> None:
    with intercept() as fake:
        whole = embedded(fake, None).content
    with (
        intercept() as fake,
        pytest.raises(httpx.RemoteProtocolError, match=f"received 9 bytes, expected {len(whole)}"),
    ):
        embedded(fake, Disconnect(after_bytes=9))
    for then, kind in ((Disconnect(), httpx.RemoteProtocolError), (Stall(), httpx.ReadTimeout)):
        with intercept() as fake, pytest.raises(kind):
            embedded(fake, then)
    for then, expected in (
        (EndOfStream(after_bytes=9), whole[:9]),
        (EndOfStream(), b""),
        (Garbage(b"!"), b"!"),
        (Stall(1), whole),
    ):
        with intercept(virtual_time=True) as fake:
            assert embedded(fake, then).content == expected
    with intercept() as fake:
        assert embedded(fake, Error(429, "slower")).status_code == 429


def test_a_stream_that_isnt_chat_breaks_between_its_events() -> None:
    def heard(then: Any) -> bytes:
        got = b""
        with intercept() as fake, contextlib.suppress(httpx.TransportError):
            fake.when(operation="speech").reply(Reply(fake_llm.Audio(b"x" * 3000), then=then))
            body = {"model": "gpt-4o-mini-tts", "input": "Hi", "voice": "alloy", "stream_format": "sse"}
            with httpx.Client(verify=False).stream(
                "POST", "https://api.openai.com/v1/audio/speech", json=body
            ) as response:
                for piece in response.iter_raw():
                    got += piece
        return got

    opened, whole = heard(Disconnect()), heard(None)
    assert whole.startswith(opened)
    assert b"speech.audio.done" not in opened
    assert heard(Disconnect(after_events=opened.count(b"data: "))) == opened
    assert len(heard(Disconnect(after_bytes=11))) == 11


# --- what can't be --------------------------------------------------------------------------------

FAULTS: list[Callable[..., Any]] = [Disconnect, Stall, EndOfStream, lambda **options: Garbage(b"!", **options)]


@pytest.mark.parametrize("fault", FAULTS, ids=["Disconnect", "Stall", "EndOfStream", "Garbage"])
def test_a_place_is_a_whole_number(fault: Any) -> None:
    for value in (-1, 1.5, True, "3"):
        with pytest.raises(ScriptError, match=r"(?s)got after_bytes=.*whole number of bytes, 0 or more.*after_bytes=2"):
            fault(after_bytes=value)
        with pytest.raises(ScriptError, match=r"(?s)got after_events=.*whole number of events, 0 or more"):
            fault(after_events=value)
    with pytest.raises(ScriptError, match=r"reset="):
        Disconnect(reset="yes")  # type: ignore[arg-type]
    with pytest.raises(ScriptError, match=r"(?s)both after_bytes= and after_events=.*Each says where.*Write one"):
        fault(after_bytes=1, after_events=1)


def test_an_error_has_a_place_in_a_stream_only() -> None:
    with pytest.raises(ScriptError, match="whole number of events"):
        Error(500, after_events=-1)
    for script in (Error(500, after_events=1), [Error(500, after_events=1)]):
        with pytest.raises(ScriptError, match=r"(?s)as a turn.*no events before it.*then=Error\(500, after_events=1\)"):
            intercept(script)


@pytest.mark.parametrize("body", [b"data: 1\n\n", "text", {"a": 1}], ids=shown)
def test_events_of_bytes_arent_known(body: Any) -> None:
    with pytest.raises(ScriptError, match=r"(?s)sent as it is.*after_bytes=, or the events as a list"):
        Raw(body, then=Disconnect(after_events=1))


@places
@ways
def test_a_place_behind_the_end_says_how_long_the_answer_is(place: Place, stream: bool) -> None:
    size = len(full(place, stream))
    count = len(place.parted(full(place, stream)))
    for then, most in (
        (Disconnect(after_bytes=size + 1), size - (not stream)),
        (EndOfStream(after_bytes=size), size - 1),
        *(() if stream else ((Disconnect(after_bytes=size), size - 1), (Stall(after_bytes=size), size - 1))),
        *(((Disconnect(after_events=count + 1), count), (Error(500, after_events=count + 1), count)) if stream else ()),
    ):
        with intercept([TURN.replace(then=then)]) as fake:
            with pytest.raises(ScriptMismatchError, match=rf"(?s)has {size} bytes.*a count of {most} or less"):
                place.ask(stream=stream)
            fake.failures.clear()


def test_a_clean_end_behind_the_last_event_misses_nothing() -> None:
    frames = next(place for place in PLACES if place.name == "frames")
    count = len(frames.parted(full(frames, True)))
    with intercept([TURN.replace(then=EndOfStream(after_events=count))]) as fake:
        with pytest.raises(ScriptMismatchError, match=rf"(?s)a count of {count - 1} or less"):
            frames.ask(stream=True)
        fake.failures.clear()


def test_what_is_shown_of_a_place() -> None:
    assert repr(Reply("x", then=Disconnect(after_bytes=0))) == "Reply('x', then=Disconnect(after_bytes=0))"
    assert repr(Stall(2, after_events=3)) == "Stall(seconds=2, after_events=3)"
    assert repr(Garbage(b"!", after_bytes=3)) == "Garbage(b'!', after_bytes=3)"
    assert repr(Error(500, after_events=3)) == "Error(500, after_events=3)"


# --- the end of the stream, in every framing ------------------------------------------------------

FINISHED = {
    "chat": (b'"finish_reason":"tool_calls"', b"[DONE]"),
    "anthropic": (b"message_stop", b"message_delta", b"stop_sequence"),
    "array": (b'"finishReason"',),
    "lines": (b'"done":true', b'"done_reason"'),
    "frames": (b"messageStop", b"metadata"),
}


@places
def test_a_clean_end_has_all_that_was_said_and_nothing_that_closes_it(place: Place) -> None:
    whole = full(place, True)
    got, error = broken(place, EndOfStream())
    said = place.parted(got)
    assert error is None
    assert place.parted(whole)[: len(said) - 1] == said[:-1]  # where the last event both says and closes, it is split
    assert b"".join(said).replace(b'\\"', b'"').count(b"days") == 1
    for closing in FINISHED[place.name]:
        assert closing in whole
        assert closing not in got.replace(b'"stop_sequence":null', b"")
    assert got == broken(place, Disconnect())[0]
    assert not got.rstrip().endswith(b"]")
