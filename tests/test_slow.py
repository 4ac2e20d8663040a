"""What takes too long for every run: many examples, real waits, thousands of calls.

No test measures how long something took, but for lower bounds where time is real; the rest is order.
"""

from __future__ import annotations

import gc
import importlib
import json
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import fake_llm
import test_malformed as malformed
from _capability import needs
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, Said, Vendor, said
from fake_llm import Disconnect, FakeLLM, Framing, Json, Refusal, Reply, Stall, Thinking, ToolCall, Usage
from fake_llm._routes import Routes

pytestmark = pytest.mark.slow

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
many = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
more = settings(max_examples=450, deadline=None, suppress_health_check=list(HealthCheck))

# --- any script on the wire ---------------------------------------------------------------------

TOOLS = {name: {"type": "object"} for name in ("first", "second-tool", "t_3")}
AWKWARD = [
    "",
    " ",
    "\n\n",
    "\r\n",
    "data: [DONE]\n\n",
    "event: error",
    "\u2028",
    "\x85",
    "\x00",
    "\ufeff",
    "{}",
    "👩‍👩‍👧",
    "e\u0301",
]

texts = st.text(max_size=40) | st.lists(st.text(max_size=6) | st.sampled_from(AWKWARD), max_size=6).map("".join)
keys = st.text(max_size=8)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(keys, values, max_size=3)
calls = st.builds(ToolCall, st.sampled_from(list(TOOLS)), objects)
usages = st.none() | st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6))
framings = st.none() | st.builds(
    Framing,
    newline=st.sampled_from([None, "\n", "\r\n", "\r"]),
    space=st.none() | st.booleans(),
    ids=st.none() | st.booleans(),
    comment=st.sampled_from([None, "", "keep-alive", "data: x"]),
    blank_lines=st.none() | st.integers(1, 3),
    split=st.none() | st.integers(1, 9),
    gzip=st.none() | st.booleans(),
    bom=st.none() | st.booleans(),
    ascii=st.none() | st.booleans(),
    padding=st.none() | st.booleans(),
)


def turns(vendor: Vendor) -> Any:
    """Turns of the parts that this vendor carries."""
    parts = texts | calls | st.builds(Thinking, texts, st.none() | st.just("c2ln"))
    if vendor is not GEMINI:
        parts |= st.builds(Refusal, texts)
    return st.builds(
        lambda parts, **options: Reply(*parts, **options),
        st.lists(parts, min_size=1, max_size=5),
        chunk_size=st.none() | st.integers(1, 7),
        usage=usages,
        framing=framings,
    )


def written(vendor: Vendor, reply: Reply) -> list[tuple[Any, ...]]:
    """What must be read, put together from the turn alone."""
    wanted = Said()
    for part in reply.parts:
        if isinstance(part, ToolCall):
            wanted.parts.append(("call", part.name, part.arguments))
        elif isinstance(part, Thinking):
            wanted.add("thinking", part.text)
        elif isinstance(part, Refusal):
            if vendor is not ANTHROPIC:  # has a stop reason for it
                wanted.add("refusal", part.text)
        else:
            wanted.add("text", part)
    return in_order(vendor, wanted)


def in_order(vendor: Vendor, found: Said) -> list[tuple[Any, ...]]:
    """The parts; OpenAI chat has one field for each kind, so between kinds it knows no order."""
    if vendor is not CHAT:
        return found.parts
    fields = [("thinking", found.thinking), ("text", found.text), ("refusal", found.refusal)]
    return [*(field for field in fields if field[1]), *(("call", *call) for call in found.calls)]


def played(vendor: Vendor, script: list[Reply], stream: bool) -> list[Said]:
    with fake_llm.intercept(script) as fake:
        found = [said(vendor, vendor.post(str(n), stream=stream, tools=TOOLS)) for n in range(len(script))]
        assert fake.remaining == 0
        assert [call.stream for call in fake.calls] == [stream] * len(script)
    return found


@vendors
def test_what_is_read_is_what_was_written(vendor: Vendor) -> None:
    @many
    @given(st.lists(turns(vendor), min_size=1, max_size=3))
    def check(script: list[Reply]) -> None:
        whole, streamed = played(vendor, script, False), played(vendor, script, True)
        wanted = [written(vendor, reply) for reply in script]
        assert [in_order(vendor, each) for each in whole] == wanted
        assert [in_order(vendor, each) for each in streamed] == wanted
        for one, other in zip(whole, streamed, strict=True):
            assert (one.finish, one.usage, one.model) == (other.finish, other.usage, other.model)
            assert one.finish
        assert len({each.id for each in (*whole, *streamed)}) == 2 * len(script)

    check()


@vendors
def test_any_json_is_read_as_it_was_written(vendor: Vendor) -> None:
    @many
    @given(values, st.booleans(), st.none() | st.integers(1, 7))
    def check(value: Any, stream: bool, size: int | None) -> None:
        with fake_llm.intercept([Reply(Json(value), chunk_size=size)]):
            assert json.loads(said(vendor, vendor.post(stream=stream)).text) == value

    check()


@vendors
def test_a_stream_that_breaks_off_said_all_but_why(vendor: Vendor) -> None:
    @many
    @given(st.lists(texts.filter(bool), min_size=1, max_size=3), st.none() | st.integers(1, 7), framings)
    def check(written: list[str], size: int | None, framing: Framing | None) -> None:
        pieces: list[bytes] = []
        turn = Reply(*written, chunk_size=size, then=Disconnect(), framing=framing)
        with (
            fake_llm.intercept([turn]),
            pytest.raises(httpx.RemoteProtocolError),
            client.stream("POST", vendor.place(True), json=vendor.body(stream=True)) as response,
        ):
            pieces.extend(response.iter_bytes())
        kept = {"content-type": response.headers["content-type"]}
        found = said(vendor, httpx.Response(200, headers=kept, content=b"".join(pieces)))
        assert (found.text, found.finish) == ("".join(written), None)

    with httpx.Client() as client:
        check()


# --- any request --------------------------------------------------------------------------------


def readers() -> list[tuple[str, str, int]]:
    """Every endpoint and how many examples it gets: the first of those that one code reads many, the others a few."""
    seen: set[Any] = set()
    found: list[tuple[str, str, int]] = []
    for method, url in dict.fromkeys(malformed.ENDPOINTS):
        route = Routes().find(method, url)
        assert route is not None
        assert route.endpoint is not None
        row, host = route.endpoint, route.endpoint.difference
        code = (row.dialect.name, row.operation, row.service, host.check, row.memory is None, bool(row.by_body))
        found.append((method, url, 6 if code in seen else 150 if method in ("POST", "PATCH") else 40))
        seen.add(code)
    return found


READERS = readers()


@pytest.mark.parametrize(
    ("method", "url", "examples"), READERS, ids=[f"{method} {url[8:]}" for method, url, _ in READERS]
)
def test_random_json_to_each_endpoint(method: str, url: str, examples: int) -> None:
    @seed(zlib.crc32(f"{method} {url}".encode()))  # each endpoint has values of its own
    @settings(many, max_examples=examples)
    @given(malformed.values | st.dictionaries(malformed.words, malformed.values, max_size=8))
    def check(value: Any) -> None:
        malformed._ask(FakeLLM(default="fine"), method, url, json.dumps(value).encode())

    check()


def test_every_dialect_is_asked_thoroughly() -> None:
    rows = [(Routes().find(method, url), examples) for method, url, examples in READERS]
    asked = [(route.endpoint, examples) for route, examples in rows if route is not None and route.endpoint is not None]
    thorough = {row.dialect.name for row, examples in asked if examples > 100}
    assert thorough == {row.dialect.name for row, _ in asked}


@more
@given(st.sampled_from(malformed.ENDPOINTS), st.binary(max_size=256))
def test_random_bytes(endpoint: tuple[str, str], content: bytes) -> None:
    malformed._ask(FakeLLM(default="fine"), *endpoint, content)


@vendors
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_requests_that_are_nearly_right(vendor: Vendor, stream: bool) -> None:
    answers = ["fine", {"a": 1}, ToolCall("f", {"a": 1}), ["x", Thinking("y"), {"b": 2}], fake_llm.Error(429)]

    @more
    @given(malformed.likely(vendor), st.sampled_from(answers))
    def check(body: dict[str, Any], turn: Any) -> None:
        content = json.dumps(body).encode()
        malformed._ask(FakeLLM(default=turn, context_window=4_000), "POST", vendor.place(stream), content)

    check()


# --- real waits ---------------------------------------------------------------------------------

WAIT = 0.5
"""Seconds: enough for a ticker of a hundredth to be seen many times, whatever else the machine does."""
TICK = 0.01

PACES: dict[str, Callable[[], Reply]] = {
    "delay": lambda: Reply("one two", delay=WAIT),
    "interval": lambda: Reply("one two", interval=WAIT),
    "stall": lambda: Reply("one two", then=Stall(WAIT)),
}
WAITS = [("delay", False), ("stall", False), ("delay", True), ("interval", True), ("stall", True)]
waits = pytest.mark.parametrize(("pace", "stream"), WAITS, ids=[f"{p}-{'stream' if s else 'whole'}" for p, s in WAITS])
clients = pytest.mark.parametrize(
    "name", ["httpx", pytest.param("httpx2", marks=needs("httpx2")), pytest.param("requests", marks=needs("requests"))]
)
loops = pytest.mark.parametrize("loop", ["asyncio", pytest.param("trio", marks=needs("trio"))])


def note(order: list[str], piece: bytes) -> None:
    order += [word for word in ("one", "two") if word.encode() in piece]


def held(order: list[str], pace: str, stream: bool) -> None:
    """That time went by where it must have: something else was done between these two steps."""
    first, second = {
        ("delay", False): ("asked", "one"),
        ("stall", False): ("asked", "one"),
        ("delay", True): ("asked", "one"),
        ("interval", True): ("one", "two"),
        ("stall", True): ("two", "end"),
    }[pace, stream]
    steps = [step for step in order if step != "tick"]
    assert steps == ["asked", "one", "two", "end"]
    assert order[order.index(first) : order.index(second)].count("tick") >= 3


@contextmanager
def ticking(order: list[str]) -> Iterator[None]:
    """Another thread that writes down that it goes on."""
    done, begun = threading.Event(), threading.Event()

    def tick() -> None:
        while not done.wait(TICK):
            order.append("tick")
            begun.set()

    thread = threading.Thread(target=tick)
    thread.start()
    assert begun.wait(30)
    order.clear()
    try:
        yield
    finally:
        done.set()
        thread.join()


def read(name: str, order: list[str], stream: bool) -> None:
    module: Any = importlib.import_module(name)
    asked = CHAT.body(stream=stream)
    order.append("asked")
    if not stream:
        note(order, module.post(CHAT.place(), json=asked, timeout=60).content)
    elif name == "requests":
        with module.post(CHAT.place(), json=asked, timeout=60, stream=True) as response:
            for line in response.iter_lines():
                note(order, line)
    else:
        with module.stream("POST", CHAT.place(), json=asked, timeout=60) as response:
            for line in response.iter_lines():
                note(order, line.encode())
    order.append("end")


@clients
@waits
def test_a_wait_is_real(name: str, pace: str, stream: bool) -> None:
    order: list[str] = []
    with fake_llm.intercept([PACES[pace]()]) as fake, ticking(order):
        before = time.monotonic()
        read(name, order, stream)
        assert time.monotonic() - before >= WAIT
    held(order, pace, stream)
    assert fake.calls[0].waited == pytest.approx(WAIT)


@loops
@pytest.mark.parametrize("name", ["httpx", pytest.param("httpx2", marks=needs("httpx2"))])
@waits
def test_a_wait_is_real_and_leaves_the_loop_free(name: str, pace: str, stream: bool, loop: str) -> None:
    module: Any = importlib.import_module(name)
    order: list[str] = []

    async def tick() -> None:
        while True:
            order.append("tick")
            await anyio.sleep(TICK)

    async def main() -> None:
        async with module.AsyncClient(timeout=60) as client, anyio.create_task_group() as group:
            group.start_soon(tick)
            order.append("asked")
            asked = CHAT.body(stream=stream)
            if stream:
                async with client.stream("POST", CHAT.place(), json=asked) as response:
                    async for line in response.aiter_lines():
                        note(order, line.encode())
            else:
                note(order, (await client.post(CHAT.place(), json=asked)).content)
            order.append("end")
            group.cancel_scope.cancel()

    with fake_llm.intercept([PACES[pace]()]) as fake:
        before = time.monotonic()
        anyio.run(main, backend=loop)
        assert time.monotonic() - before >= WAIT
    held(order, pace, stream)
    assert fake.calls[0].waited == pytest.approx(WAIT)


@clients
@pytest.mark.parametrize("turn", [Reply("x", delay=60), Reply("x", then=Stall(60))], ids=["delay", "stall"])
def test_a_time_out_takes_its_time(name: str, turn: Reply) -> None:
    module: Any = importlib.import_module(name)
    if name != "requests":
        kind = module.ReadTimeout
    else:  # has no class of its own for a body that is late
        kind = module.exceptions.ConnectionError if turn.then else module.exceptions.ReadTimeout
    order: list[str] = []
    with fake_llm.intercept([turn]) as fake, ticking(order):
        before = time.monotonic()
        with pytest.raises(kind):
            module.post(CHAT.place(), json=CHAT.body(), timeout=WAIT)
        assert time.monotonic() - before >= WAIT
        order.append("end")
    assert order[: order.index("end")].count("tick") >= 3
    assert fake.calls[0].waited == WAIT


@clients
def test_a_wait_in_one_thread_holds_up_no_other(name: str) -> None:
    module: Any = importlib.import_module(name)
    order: list[str] = []
    asked = threading.Event()

    def paced(call: fake_llm.Call) -> Reply:
        if call.last_user_text == "slow":
            asked.set()
            return Reply("x", delay=2)
        return Reply("x")

    def ask(question: str) -> None:
        # without the loading of certificates, which takes longer than the wait where much else runs
        assert module.post(CHAT.place(), json=CHAT.body(question), timeout=60, verify=False).status_code == 200
        order.append(question)

    with fake_llm.intercept(default=paced):
        thread = threading.Thread(target=ask, args=("slow",))
        thread.start()
        assert asked.wait(30)
        for _ in range(3):
            ask("fast")
        thread.join()
    assert order[0] == "fast"  # if it held others up, none would be answered before it
    assert sorted(order) == ["fast", "fast", "fast", "slow"]


# --- thousands of calls -------------------------------------------------------------------------

MANY = 5_000
KEPT = 24 * 1024
"""Bytes that one small call may hold in the journal: request, answer, their headers, and what orjson leaves unused
behind its bytes (up to 16 KiB behind two, measured with 3.13)."""


@vendors
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_thousands_of_calls_in_one_block(vendor: Vendor, stream: bool) -> None:
    script = [str(number) for number in range(MANY)]
    with fake_llm.intercept(script) as fake:
        found = [said(vendor, vendor.post(f"Say {text}", stream=stream)) for text in script]
        assert len(fake.calls) == MANY
        assert fake.remaining == 0
        assert fake.failures == []
        assert [call.index for call in fake.calls] == list(range(MANY))
        assert [call.last_user_text for call in fake.calls] == [f"Say {text}" for text in script]
        assert len(fake.calls.filter(provider=fake.calls[0].provider)) == MANY
        assert fake.usage.output_tokens == sum(call.usage.output_tokens for call in fake.calls if call.usage)
    assert [each.text for each in found] == script
    assert len({each.id for each in found}) == MANY


def call_ids(vendor: Vendor, document: Any) -> list[str]:
    if vendor is CHAT:
        return [call["id"] for call in document["choices"][0]["message"]["tool_calls"]]
    if vendor is RESPONSES:
        return [item["call_id"] for item in document["output"]]
    return [block["id"] for block in document["content"]]


@pytest.mark.parametrize("vendor", [CHAT, RESPONSES, ANTHROPIC], ids=str)  # Gemini's calls have none
def test_ids_of_thousands_of_tool_calls_are_unique(vendor: Vendor) -> None:
    turn = [ToolCall("f", {"n": 1}), ToolCall("f", {"n": 2})]
    ids: list[str] = []
    with fake_llm.intercept(default=turn) as fake:
        for number in range(MANY // 5):
            response = vendor.post(str(number), tools={"f": {"type": "object"}})
            ids += call_ids(vendor, response.json())
        assert len(fake.calls) == MANY // 5
    assert len(ids) == len(set(ids)) == 2 * (MANY // 5)


@vendors
def test_what_a_call_keeps_is_bounded_and_let_go(vendor: Vendor) -> None:
    def ask(count: int) -> None:
        for number in range(count):
            vendor.post(f"Say {number}", stream=number % 2 == 1)

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    with fake_llm.intercept(default="fine") as fake:
        ask(200)  # what is built once
        fake.reset()
        fake.default("fine")
        tracemalloc.start()
        try:
            empty = held()
            ask(1_000)
            some = held()
            ask(MANY - 1_000)
            full = held()
            assert len(fake.calls) == MANY
            fake.reset()
            left = held() - empty
        finally:
            tracemalloc.stop()
    first, rest = (some - empty) / 1_000, (full - some) / (MANY - 1_000)
    assert 0 < first < KEPT
    assert rest < 1.2 * first  # grows no faster than the number of calls
    assert left < 50 * first
