"""`fake_llm.sweep`: lists of turns for pytest, strategies for Hypothesis, and places that are found on any stream."""

from __future__ import annotations

import contextlib
import copy
import pickle
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import fake_llm
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, Vendor, said
from fake_llm import (
    Disconnect,
    EndOfStream,
    Error,
    Framing,
    Garbage,
    Image,
    Raw,
    Reply,
    ScriptError,
    Stall,
    ToolCall,
    quirks,
    sweep,
)
from fake_llm._endpoints import PROVIDERS

TURN = Reply("Zürich 🌞 is sunny", ToolCall("f", {"city": "Zürich"}))
TOOLS = {"f": {"type": "object"}}
COUNTED = {CHAT: "openai", RESPONSES: "openai_responses", ANTHROPIC: "anthropic", GEMINI: "gemini"}
vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
PACE = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


CLIENT = httpx.Client()


def asked(vendor: Vendor, turn: Any, *, stream: bool = True) -> httpx.Response:
    with fake_llm.intercept([turn]):
        return vendor.post(stream=stream, tools=TOOLS)


def sent(vendor: Vendor, turn: Any, *, stream: bool = True) -> bytes:
    """The bytes that were sent of an answer."""
    with fake_llm.intercept([turn]) as fake, contextlib.suppress(httpx.TransportError):
        vendor.post(stream=stream, tools=TOOLS)
    response = fake.calls[0].response
    return b"" if response is None else response.body


def finished(vendor: Vendor, body: bytes) -> bool:
    return any(word in body for word in FINISHES[vendor])


FINISHES = {
    CHAT: (b'"finish_reason":"tool_calls"}', b'"finish_reason":"stop"}'),
    RESPONSES: (b'"type":"response.completed"',),
    ANTHROPIC: (b'"stop_reason":"tool_use"', b'"stop_reason":"end_turn"'),
    GEMINI: (b'"finishReason"',),
}


@vendors
def test_cuts_are_the_beginnings_of_the_answer(vendor: Vendor) -> None:
    whole = sent(vendor, TURN)
    turns = sweep.cuts(TURN, then=EndOfStream(), provider=COUNTED[vendor])
    bodies = [sent(vendor, turn) for turn in turns]

    assert all(whole.startswith(body) for body in bodies)
    sizes = [len(body) for body in bodies]
    assert sizes == sorted(set(sizes)), "in order, and none twice"
    assert sizes[0] == 0
    assert sum(not is_text(body) for body in bodies) >= 1 + 3 + 1, "between the bytes of ü, 🌞 and ü"
    blocks = whole.replace(b"\r\n", b"\n").split(b"\n\n")
    events = [b"".join(block + b"\n\n" for block in blocks[:count]) for count in range(len(blocks))]
    ends = {body.replace(b"\r\n", b"\n") for body in bodies} & set(events)
    last = bodies[-1].replace(b"\r\n", b"\n")
    assert ends == {event for event in events if len(event) <= len(last)}, (
        "after each event, the last content among them"
    )
    assert [body.endswith(b"Z\xc3") for body in bodies].count(True) >= 2, "in the text, and in the arguments"


def is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


@vendors
def test_the_last_cut_is_in_the_event_that_ends_the_answer(vendor: Vendor) -> None:
    *_, last = sweep.cuts(TURN, then=EndOfStream(), provider=COUNTED[vendor], every="byte")
    body, whole = sent(vendor, last), sent(vendor, TURN)

    assert finished(vendor, body + whole[len(body) : len(body) + 1])
    assert body.rpartition(b"\n")[2].startswith(b"data: {")
    assert whole[len(body) :].startswith((b"}\n\n", b"}\r\n\r\n"))


@vendors
@pytest.mark.parametrize("provider", ["openai", "gemini", "anthropic", "openai_responses"])
def test_a_place_is_found_in_the_stream_of_another_vendor(vendor: Vendor, provider: str) -> None:
    whole = sent(vendor, TURN)
    for turn in sweep.cuts(TURN, provider=provider, then=EndOfStream())[::2]:
        body = sent(vendor, turn)
        assert whole.startswith(body)
        complete = body.rstrip() in whole.split(FINISHES[vendor][0])[0] or not finished(vendor, body)
        assert complete or not body.endswith((b"\n", b"}")), turn.__name__


@vendors
def test_every_byte(vendor: Vendor) -> None:
    turns = sweep.cuts("Hü", then=Disconnect(), provider=COUNTED[vendor], every="byte")
    few = turns[:: max(1, len(turns) // 40)]
    sizes = [len(sent(vendor, turn)) for turn in few]

    assert len({turn.__name__ for turn in turns}) == len(turns)
    assert sizes == sorted(set(sizes))


@vendors
@pytest.mark.parametrize("every", ["event", "byte"])
def test_an_error_comes_between_the_events(vendor: Vendor, every: Any) -> None:
    turn = TURN.replace(framing=Framing(newline="\n"))
    whole = sent(vendor, turn)
    turns = sweep.cuts(turn, then=Error("overloaded", "Too much."), every=every, provider=COUNTED[vendor])
    ends = [found.end() for found in re.finditer(rb"\n\n", whole)]
    bodies = [sent(vendor, turn) for turn in turns]

    assert [turn.__name__ for turn in turns][:2] == [
        "error-overloaded-before-the-first-byte",
        f"error-overloaded-before-event-2-of-{len(turns)}",
    ]
    for body, end, after in zip(bodies, [0, *ends], ends, strict=False):  # after none, after one, …
        assert body[:end] == whole[:end]
        assert body[end:].startswith((b"event: ", b"data: ", b"{"))
        assert b"Too much." in body[end:]
        assert whole[end:after] not in body[end:]
    assert not any(finished(vendor, body) for body in bodies)


@vendors
def test_a_whole_answer_is_that_error(vendor: Vendor) -> None:
    for turn in sweep.cuts("Hi", then=Error("overloaded"), provider=COUNTED[vendor]):
        assert asked(vendor, turn, stream=False).status_code >= 500


@vendors
def test_whole_answers_are_cut_before_their_last_brace(vendor: Vendor) -> None:
    whole = sent(vendor, TURN, stream=False)
    for turn in sweep.cuts(TURN, provider=COUNTED[vendor]):
        body = sent(vendor, turn, stream=False)
        assert len(body) < len(whole.rstrip())
        assert whole.startswith(body)


@vendors
@pytest.mark.parametrize(
    "framing", [Framing(gzip=True), Framing(newline="\r\n", comment="x"), Framing(bom=True)], ids=shown
)
def test_cuts_in_other_bytes(vendor: Vendor, framing: Framing) -> None:
    turns = sweep.cuts(TURN.replace(framing=framing), then=EndOfStream(), provider=COUNTED[vendor])
    for turn in turns[::4]:
        assert not said(vendor, cropped(asked(vendor, turn))).finish


def cropped(response: httpx.Response) -> httpx.Response:
    """The events that came whole."""
    text = response.content.decode("utf-8-sig", "ignore").replace("\r\n", "\n")
    return httpx.Response(
        200,
        content=(text.rpartition("\n\n")[0] + "\n\n").encode(),
        headers={"content-type": response.headers["content-type"]},
    )


def test_a_json_array_is_cut_in_its_items() -> None:
    url = GEMINI.url + ":streamGenerateContent"
    with fake_llm.intercept([TURN]):
        whole = CLIENT.post(url, json=GEMINI.body(tools=TOOLS)).content
    sizes = []
    for turn in sweep.cuts(TURN, then=EndOfStream(), provider="gemini"):
        with fake_llm.intercept([turn]):
            body = CLIENT.post(url, json=GEMINI.body(tools=TOOLS)).content
        assert whole.startswith(body)
        assert not finished(GEMINI, body) or not body.endswith((b"}", b"]"))
        sizes.append(len(body))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 8


@vendors
def test_splits_are_the_same_bytes_in_other_pieces(vendor: Vendor) -> None:
    whole = sent(vendor, TURN)
    seen = set()
    for turn in sweep.splits(TURN, provider=COUNTED[vendor]):
        with (
            fake_llm.intercept([turn]),
            CLIENT.stream("POST", vendor.place(True), json=vendor.body(stream=True, tools=TOOLS)) as response,
        ):
            reads = list(response.iter_raw())
        assert b"".join(reads) == whole
        seen.add(tuple(map(len, reads)))
    assert len(seen) == len(sweep.splits(TURN, provider=COUNTED[vendor]))
    assert any(len(sizes) == 2 and not is_text(whole[: sizes[0]]) for sizes in seen)


def test_options_of_the_turn_are_kept() -> None:
    turn = Reply("Hello", framing=Framing(newline="\r\n", ids=True), model="m", chunk_size=2, check=False)
    [first, *_] = sweep.splits(turn)
    assert first.framing == Framing(newline="\r\n", ids=True, split=1)
    [cut, *_] = sweep.cuts(turn)
    assert cut.then is not None
    assert cut.replace(then=None) == turn
    assert repr(cut).startswith("Reply('Hello', ")
    assert "then=Disconnect(after_bytes=<before-the-first-byte>)" in repr(cut)


@pytest.mark.parametrize(
    ("then", "words"),
    [
        (Disconnect(), {"disconnect"}),
        (EndOfStream(), {"end-of-stream"}),
        (Stall(), {"stall"}),
        (Garbage(b"\xff"), {"garbage"}),
        ([Disconnect(), Stall()], {"disconnect", "stall"}),
        (Error("rate_limit"), {"error-rate-limit"}),
        ([Error(529), Error("overloaded"), EndOfStream()], {"error-529", "error-overloaded", "end-of-stream"}),
    ],
    ids=shown,
)
def test_what_happens_at_a_place(then: Any, words: set[str]) -> None:
    turns = sweep.cuts("Hi", then=then)
    assert {next(word for word in words if turn.__name__.startswith(word)) for turn in turns} == words
    assert {type(turn.then) for turn in turns} == {type(one) for one in (then if isinstance(then, list) else [then])}


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: sweep.cuts(Error(429)), r"cuts\(\) got Error\(429\)"),
        (lambda: sweep.splits(Raw("x")), r"splits\(\) got Raw"),
        (lambda: sweep.cuts(lambda call: "x"), r"cuts\(\) got"),
        (lambda: sweep.cuts(None), r"cuts\(\) got None"),
        (lambda: sweep.cuts(Reply("x", then=Stall())), "got a turn with then="),
        (lambda: sweep.cuts("x", then=Stall(3)), "goes on and is complete"),
        (lambda: sweep.cuts("x", then=Error(500, after_events=1)), "without a place"),
        (lambda: sweep.cuts("x", then=TimeoutError()), "got then=TimeoutError"),  # type: ignore[arg-type]
        (lambda: sweep.cuts("x", then=Disconnect(after_bytes=3)), "without a place"),
        (lambda: sweep.cuts("x", then=Disconnect(after_bytes=0)), "without a place"),
        (lambda: sweep.cuts("x", then=Stall(after_events=0)), "without a place"),
        (lambda: sweep.cuts("x", then=[]), r"got then=\[\]"),
        (lambda: sweep.cut_turns("x", then=()), r"got then=\(\)"),
        (lambda: sweep.cuts(Reply("x", edit=lambda events: [])), "returned no events"),
        (lambda: sweep.splits(Reply("x", edit=lambda events: []), provider="anthropic"), "returned no events"),
        (lambda: sweep.cuts(Reply("x", edit=lambda events: [*events, Stall(1, after_events=1)])), "where it stands"),
        (lambda: sweep.cuts(Reply("x", choices=["y"]), provider="anthropic"), "gives one answer"),
        (lambda: sweep.cuts("x", every="word"), "got every='word'"),  # type: ignore[arg-type]
        (lambda: sweep.cuts("x", provider="nobody"), "got provider='nobody'"),
        (lambda: sweep.cuts(Image(b"png")), "can't carry Image"),
        (lambda: sweep.splits(Reply("x", edit=lambda events: None)), "edit= returned None"),
    ],
)
def test_what_has_no_stream_is_refused(wrong: Any, match: str) -> None:
    with pytest.raises(ScriptError, match=match):
        wrong()


def test_an_edit_that_leaves_nothing_is_refused_inside_of_a_test() -> None:
    @PACE
    @given(sweep.cut_turns(Reply("x", edit=lambda events: [])))
    def drawn(turn: Any) -> None:
        raise AssertionError(turn)

    with pytest.raises(ScriptError, match="returned no events"):
        drawn()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda turn: pickle.loads(pickle.dumps(turn))])
def test_a_copy_has_the_name_and_the_place(copied: Any) -> None:
    for turn in (*sweep.cuts("Hü"), *sweep.splits("Hü")):
        same = copied(turn)
        assert (same, same.__name__) == (turn, turn.__name__)
        assert sent(CHAT, same) == sent(CHAT, turn)


def test_a_list_of_parts_and_structured_output_are_turns() -> None:
    assert sweep.cuts(["a", ToolCall("f")])
    assert sweep.splits({"a": 1})


@pytest.mark.parametrize("turn", sweep.cuts("Hü", then=Disconnect())[::3])
def test_the_ids_of_tests_say_where_the_stream_breaks(turn: Any, request: pytest.FixtureRequest) -> None:
    assert request.node.name.endswith(f"[{turn.__name__}]")
    assert turn.__name__.startswith("disconnect-")
    assert turn.then is not None
    assert repr(turn.then.after_bytes) == f"<{turn.__name__.removeprefix('disconnect-')}>"


def test_it_is_imported_without_hypothesis_pytest_or_an_http_library() -> None:
    unwanted = ("hypothesis", "pytest", "httpx", "httpx2", "requests", "aiohttp", "botocore")
    code = (
        "import sys; from fake_llm import sweep; sweep.cuts('Hi'); "
        f"assert not [name for name in {unwanted} if name in sys.modules]; "
        "sys.modules['hypothesis'] = None\n"
        "try: sweep.turns()\n"
        "except ValueError as error: assert 'pip install hypothesis' in str(error)\n"
        "else: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- Hypothesis ---------------------------------------------------------------------------------


@PACE
@given(st.sampled_from(VENDORS), st.data())
def test_any_turn_cut_anywhere_is_incomplete(vendor: Vendor, data: Any) -> None:
    calls = [ToolCall("f", {"city": "Zürich"}), ToolCall("f")]
    turn = data.draw(sweep.cut_turns(sweep.turns(calls=calls), provider=COUNTED[vendor], then=EndOfStream()))
    assert not said(vendor, cropped(asked(vendor, turn))).finish


@PACE
@given(st.sampled_from(VENDORS), st.data())
def test_any_turn_split_anywhere_is_the_same(vendor: Vendor, data: Any) -> None:
    plain = data.draw(sweep.turns(calls=[ToolCall("f", {"city": "Zürich"})]))
    turn = data.draw(sweep.split_turns(plain, provider=COUNTED[vendor]))
    assert sent(vendor, turn) == sent(vendor, plain)


def test_a_planted_bug_is_found_and_shrunk() -> None:
    """It takes a stream that breaks in a tool call for a complete one."""
    found: list[Any] = []

    @settings(max_examples=200, database=None, derandomize=True, deadline=None, phases=[Phase.generate, Phase.shrink])
    @given(sweep.cut_turns(sweep.turns(calls=[ToolCall("f", {"a": 1})]), then=[Disconnect(), EndOfStream()]))
    def app_is_careful(turn: Any) -> None:
        with fake_llm.intercept([turn]):
            try:
                body = CHAT.post(stream=True, tools=TOOLS).content
            except httpx.TransportError:
                return
        if b'"tool_calls"' in body:
            found.append(turn)
            raise AssertionError("ran a tool of a broken stream")

    with pytest.raises(AssertionError, match="ran a tool"):
        app_is_careful()
    assert found[-1].parts == (ToolCall("f", {"a": 1}),)
    assert found[-1].chunk_size is None
    assert isinstance(found[-1].then, EndOfStream)
    assert len(sent(CHAT, found[-1])) == min(len(sent(CHAT, turn)) for turn in found)


def test_failures_shrink_as_assertions() -> None:
    found: list[str] = []

    @settings(max_examples=50, database=None, derandomize=True, deadline=None, phases=[Phase.generate, Phase.shrink])
    @given(st.text(min_size=0, max_size=20))
    @sweep.as_assertions()
    def asks_twice(text: str) -> None:
        with fake_llm.intercept([text or "x"]):
            CHAT.post()
            if len(text) > 2:
                found.append(text)
                CHAT.post("again")

    with pytest.raises(AssertionError, match=r"^UnscriptedCallError: "):
        asks_twice()
    assert found[-1] == "000"


def test_failures_of_a_block() -> None:
    with (
        pytest.raises(AssertionError, match=r"^UnscriptedCallError: ") as caught,
        sweep.as_assertions(),
        fake_llm.intercept(),
    ):
        CHAT.post()
    assert isinstance(caught.value.__cause__, fake_llm.UnscriptedCallError)
    with pytest.raises(ZeroDivisionError), sweep.as_assertions(), fake_llm.intercept():
        raise ZeroDivisionError
    with pytest.raises(KeyError), sweep.as_assertions(), fake_llm.intercept([lambda call: {}["x"]]):
        CHAT.post()


@pytest.mark.asyncio
async def test_failures_of_a_coroutine() -> None:
    @sweep.as_assertions()
    async def asks() -> None:
        async with fake_llm.intercept(), httpx.AsyncClient() as client:
            await client.post(CHAT.place(False), json=CHAT.body())

    with pytest.raises(AssertionError, match=r"^UnscriptedCallError: "):
        await asks()


def test_failures_of_a_generator() -> None:
    @sweep.as_assertions()
    def asks(first: int) -> Iterator[Any]:
        try:
            given = yield first
        except KeyError:
            given = "thrown"
        yield given
        with fake_llm.intercept():
            CHAT.post()

    steps: Any = asks(1)
    assert [next(steps), steps.send(2)] == [1, 2]
    with pytest.raises(AssertionError, match=r"^UnscriptedCallError: "):
        next(steps)
    steps = asks(1)
    next(steps)
    assert steps.throw(KeyError()) == "thrown"
    steps.close()


@pytest.mark.asyncio
async def test_failures_of_an_async_generator() -> None:
    closed = []

    @sweep.as_assertions()
    async def asks(first: int) -> AsyncIterator[Any]:
        try:
            try:
                given = yield first
            except KeyError:
                given = "thrown"
            yield given
            async with fake_llm.intercept(), httpx.AsyncClient() as client:
                await client.post(CHAT.place(False), json=CHAT.body())
        finally:
            closed.append(first)

    steps: Any = asks(1)
    assert [await anext(steps), await steps.asend(2)] == [1, 2]
    with pytest.raises(AssertionError, match=r"^UnscriptedCallError: "):
        await anext(steps)
    steps = asks(2)
    await anext(steps)
    assert await steps.athrow(KeyError()) == "thrown"
    await steps.aclose()
    assert closed == [1, 2]

    @sweep.as_assertions()
    async def counts() -> AsyncIterator[int]:
        yield 1
        yield 2

    assert [number async for number in counts()] == [1, 2]


def test_strategies_take_a_turn_or_a_strategy() -> None:
    st_text = st.just("Hi")
    for strategy in (sweep.cut_turns("Hi"), sweep.cut_turns(st_text), sweep.split_turns("Hi"), sweep.cut_turns()):
        assert isinstance(strategy, st.SearchStrategy)
    with pytest.raises(ScriptError, match="calls"):
        sweep.turns(calls=3)  # type: ignore[arg-type]


# --- every provider, and turns whose events are edited -------------------------------------------

WHY = re.compile(
    rb'"(?:finish_reason|stop_reason|finishReason|stopReason|done_reason)": ?"|response\.(?:completed|incomplete)"'
)


@pytest.mark.parametrize(
    "turn",
    [
        TURN,
        Reply("one two"),
        Reply("x", finish_reason="length"),
        Reply(finish_reason="content_filter"),
        Reply(fake_llm.Thinking("h m"), "a b"),
    ],
    ids=shown,
)
def test_every_provider_says_why_in_the_event_that_completes_its_answer(turn: Reply) -> None:
    counted = 0
    for name in {provider.name for provider in PROVIDERS}:
        try:
            stream = sweep._stream(turn, name)
        except ScriptError:  # another vocabulary, or a part that it can't carry
            continue
        counted += 1
        assert not WHY.search(b"".join(stream.pieces[: stream.settled - 1])), name
        assert WHY.search(stream.pieces[stream.settled - 1]), name
    assert counted > 20


@pytest.mark.parametrize(
    "edit",
    [
        lambda events: [": hello\n\n", *events],
        lambda events: events[1:],
        lambda events: [*events[:2], "event: ping\n\n", *events[2:]],
        quirks.no_tool_index(),
    ],
)
def test_edited_turns_are_cut_before_the_event_that_completes_them(edit: Any) -> None:
    turn = TURN.replace(edit=edit)
    whole = sent(CHAT, turn)
    for cut in sweep.cuts(turn, then=EndOfStream())[::2]:
        body = sent(CHAT, cut)
        assert whole.startswith(body)
        assert not finished(CHAT, body.rpartition(b"\n\n")[0])
