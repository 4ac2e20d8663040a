"""Thousands of calls at once, and waits that are real, by each HTTP library: too long for every run."""

from __future__ import annotations

import asyncio
import importlib
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any, TypeAlias

import anyio
import pytest

import fake_llm
from _capability import needs
from _wire import CHAT
from fake_llm import Call, Error, Reply, Stall

pytestmark = pytest.mark.slow

Asks: TypeAlias = Callable[[str], str]
AsksAsync: TypeAlias = Callable[[str], Awaitable[str]]


# --- one question by each library ---------------------------------------------------------------


def text_of(document: Any) -> str:
    found: str = document["choices"][0]["message"]["content"]
    return found


@contextmanager
def by_client(name: str) -> Iterator[Asks]:
    """One client for all threads."""
    with importlib.import_module(name).Client(timeout=60) as client:
        yield lambda text: text_of(client.post(CHAT.place(), json=CHAT.body(text)).json())


@contextmanager
def by_requests() -> Iterator[Asks]:
    """A session for each thread, as they aren't made to be shared."""
    import requests

    mine = threading.local()

    def ask(text: str) -> str:
        if not hasattr(mine, "session"):
            mine.session = requests.Session()
        return text_of(mine.session.post(CHAT.place(), json=CHAT.body(text)).json())

    yield ask


def bedrock(**options: Any) -> Any:
    import boto3
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}, **options)
    return boto3.Session("none", "none").client("bedrock-runtime", region_name="us-east-1", config=config)


def converse(client: Any, text: str) -> str:
    asked = [{"role": "user", "content": [{"text": text}]}]
    answer = client.converse(modelId="amazon.nova-lite-v1:0", messages=asked)
    found: str = answer["output"]["message"]["content"][0]["text"]
    return found


@contextmanager
def by_boto3() -> Iterator[Asks]:
    client = bedrock()
    yield lambda text: converse(client, text)


THREADED = [
    pytest.param(lambda: by_client("httpx"), id="httpx"),
    pytest.param(lambda: by_client("httpx2"), id="httpx2", marks=needs("httpx2")),
    pytest.param(by_requests, id="requests"),
    pytest.param(by_boto3, id="botocore", marks=needs("boto3")),
]


@asynccontextmanager
async def by_async_client(name: str) -> AsyncIterator[AsksAsync]:
    async with importlib.import_module(name).AsyncClient(timeout=600) as client:

        async def ask(text: str) -> str:
            return text_of((await client.post(CHAT.place(), json=CHAT.body(text))).json())

        yield ask


@asynccontextmanager
async def by_aiohttp() -> AsyncIterator[AsksAsync]:
    """Without a limit of connections, which is kept as by a server."""
    import aiohttp

    waits = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(timeout=waits, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(text: str) -> str:
            async with session.post(CHAT.place(), json=CHAT.body(text)) as response:
                return text_of(await response.json())

        yield ask


ON_LOOPS = [
    pytest.param(lambda: by_async_client("httpx"), "asyncio", id="httpx-asyncio"),
    pytest.param(lambda: by_async_client("httpx"), "trio", id="httpx-trio", marks=needs("trio")),
    pytest.param(lambda: by_async_client("httpx2"), "asyncio", id="httpx2-asyncio", marks=needs("httpx2")),
    pytest.param(lambda: by_async_client("httpx2"), "trio", id="httpx2-trio", marks=needs("httpx2", "trio")),
    pytest.param(by_aiohttp, "asyncio", id="aiohttp", marks=needs("aiohttp")),
]


# --- thousands of calls at once -----------------------------------------------------------------


def kept_in_order(calls: Any, count: int) -> None:
    """That the journal has each call once, in the order it gave them, and no id twice."""
    assert [call.index for call in calls] == list(range(count))
    assert len({call.response.body for call in calls}) == count


@pytest.mark.parametrize("opened", THREADED)
def test_64_threads_of_200_calls(opened: Callable[[], AbstractContextManager[Asks]]) -> None:
    threads, each = 64, 200
    script = [f"turn {number}" for number in range(threads * each)]
    barrier = threading.Barrier(threads, timeout=60)
    answers: dict[str, str] = {}

    def work(thread: int, ask: Asks) -> None:
        barrier.wait()
        for number in range(each):
            text = f"thread {thread}, call {number}"
            answers[text] = ask(text)

    with fake_llm.intercept(script) as fake, opened() as ask, ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, thread, ask) for thread in range(threads)]:
            done.result()
        assert fake.remaining == 0

    assert Counter(answers.values()) == Counter(script)
    assert {call.last_user_text: call.reply.parts[0] for call in fake.calls} == answers
    kept_in_order(fake.calls, threads * each)
    for thread in range(threads):
        mine = [call.last_user_text for call in fake.calls if call.last_user_text.startswith(f"thread {thread},")]
        assert mine == [f"thread {thread}, call {number}" for number in range(each)]


@pytest.mark.parametrize(("opened", "loop"), ON_LOOPS)
def test_2000_calls_at_once(opened: Callable[[], AbstractAsyncContextManager[AsksAsync]], loop: str) -> None:
    count = 2_000
    answers: dict[str, str] = {}

    async def main() -> None:
        everybody, arrived = anyio.Event(), 0

        async def turn(call: Call) -> str:
            """None is answered before all have been asked."""
            nonlocal arrived
            arrived += 1
            if arrived == count:
                everybody.set()
            await everybody.wait()
            return f"re {call.last_user_text}"

        with anyio.fail_after(300):
            await ask_all(turn)

    async def ask_all(turn: Any) -> None:
        fake.default(turn)
        async with opened() as ask, anyio.create_task_group() as group:

            async def work(text: str) -> None:
                answers[text] = await ask(text)

            for number in range(count):
                group.start_soon(work, f"call {number}")

    with fake_llm.intercept() as fake:
        anyio.run(main, backend=loop)

    assert answers == {f"call {number}": f"re call {number}" for number in range(count)}
    assert Counter(call.last_user_text for call in fake.calls) == Counter(answers.keys())
    kept_in_order(fake.calls, count)


# --- waits that are real ------------------------------------------------------------------------

WAIT = 0.5


@contextmanager
def taking(seconds: float) -> Iterator[None]:
    """That what is done takes so long at least, by the clock."""
    before = time.monotonic()
    yield
    assert time.monotonic() - before >= seconds


PACES: dict[str, Callable[[], Reply]] = {
    "delay": lambda: Reply("one two", delay=WAIT),
    "interval": lambda: Reply("one two", interval=WAIT),
    "stall": lambda: Reply("one two", then=Stall(WAIT)),
}
BETWEEN = {"delay": ("asked", "one"), "interval": ("one", "two"), "stall": ("two", "end")}


@needs("boto3")
@pytest.mark.parametrize("pace", PACES)
def test_a_stream_of_bedrock_takes_its_time(pace: str) -> None:
    seen: dict[str, float] = {}
    asked: Any = {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    with fake_llm.intercept([PACES[pace]()]) as fake:
        seen["asked"] = time.monotonic()
        for event in bedrock().converse_stream(**asked)["stream"]:
            text = event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
            seen |= {word: time.monotonic() for word in ("one", "two") if word in text}
        seen["end"] = time.monotonic()
    first, second = BETWEEN[pace]
    assert seen[second] - seen[first] >= WAIT
    assert fake.calls[0].waited == pytest.approx(WAIT)


@needs("boto3")
def test_an_answer_of_bedrock_takes_its_time() -> None:
    with fake_llm.intercept([Reply("x", delay=WAIT)]), taking(WAIT):
        assert converse(bedrock(), "Hi") == "x"


@needs("boto3")
@pytest.mark.parametrize("turn", [Reply("x", delay=60), Reply("x", then=Stall(60))], ids=["delay", "stall"])
def test_a_time_out_of_botocore_takes_its_time(turn: Reply) -> None:
    from botocore.exceptions import ReadTimeoutError

    with fake_llm.intercept([turn]) as fake, taking(WAIT), pytest.raises(ReadTimeoutError):
        converse(bedrock(read_timeout=WAIT), "Hi")
    assert fake.calls[0].waited == WAIT


@needs("aiohttp")
@pytest.mark.parametrize("pace", PACES)
def test_a_stream_of_aiohttp_takes_its_time_and_leaves_the_loop_free(pace: str) -> None:
    import aiohttp

    order: list[str] = []

    async def tick() -> None:
        while True:
            order.append("tick")
            await asyncio.sleep(0.01)

    async def main() -> None:
        ticking = asyncio.create_task(tick())
        async with aiohttp.ClientSession() as session:
            order.append("asked")
            async with session.post(CHAT.place(True), json=CHAT.body(stream=True)) as response:
                async for line in response.content:
                    order.extend(word for word in ("one", "two") if word.encode() in line)
            order.append("end")
        ticking.cancel()

    with fake_llm.intercept([PACES[pace]()]) as fake, taking(WAIT):
        asyncio.run(main())
    first, second = (order.index(step) for step in BETWEEN[pace])
    assert order[first:second].count("tick") >= 3
    assert fake.calls[0].waited == pytest.approx(WAIT)


@needs("aiohttp")
@pytest.mark.parametrize("limit", ["sock_read", "total"])
@pytest.mark.parametrize("turn", [Reply("x", delay=60), Reply("x", then=Stall(60))], ids=["delay", "stall"])
def test_a_time_out_of_aiohttp_takes_its_time(turn: Reply, limit: str) -> None:
    import aiohttp

    async def main() -> None:
        limits: Any = {"total": None, limit: WAIT}
        waits = aiohttp.ClientTimeout(**limits)
        async with aiohttp.ClientSession(timeout=waits) as session:
            await (await session.post(CHAT.place(), json=CHAT.body())).read()

    with fake_llm.intercept([turn]) as fake, taking(WAIT), pytest.raises(TimeoutError):
        asyncio.run(main())
    assert fake.calls[0].waited == WAIT


# --- retries that really sleep ------------------------------------------------------------------

ASKED: Any = [{"role": "user", "content": "Hi"}]


def openai_sync() -> None:
    import openai

    openai.OpenAI().chat.completions.create(model="gpt-4o", messages=ASKED)


def openai_async() -> None:
    import openai

    async def main() -> None:
        async with openai.AsyncOpenAI() as client:
            await client.chat.completions.create(model="gpt-4o", messages=ASKED)

    asyncio.run(main())


def anthropic_sync() -> None:
    import anthropic

    anthropic.Anthropic().messages.create(model="claude-sonnet-5", max_tokens=9, messages=ASKED)


def groq_sync() -> None:
    import groq

    groq.Groq().chat.completions.create(model="llama", messages=ASKED)


def requests_sync() -> None:
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3 import Retry

    with requests.Session() as session:
        retry = Retry(total=3, status_forcelist=[429], allowed_methods=None)
        session.mount("https://", HTTPAdapter(max_retries=retry))
        assert session.post(CHAT.place(), json=CHAT.body()).status_code == 200


RETRYING = [
    pytest.param(openai_sync, id="openai", marks=needs("openai")),
    pytest.param(openai_async, id="openai-async", marks=needs("openai")),
    pytest.param(anthropic_sync, id="anthropic", marks=needs("anthropic")),
    pytest.param(groq_sync, id="groq", marks=needs("groq")),
    pytest.param(requests_sync, id="requests"),
]


@pytest.mark.parametrize("ask", RETRYING)
def test_a_retry_sleeps_as_long_as_it_is_told(ask: Callable[[], None]) -> None:
    with fake_llm.intercept([Error(429, retry_after=1), "fine"], skip_backoff=False) as fake, taking(1):
        ask()
    assert [call.response.status for call in fake.calls if call.response is not None] == [429, 200]
    assert fake.calls[1].timestamp - fake.calls[0].timestamp >= 1
