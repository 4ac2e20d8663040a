"""What isn't an SDK's call: raw requests, hosts that aren't claimed, a block's two ends, many rules, a long journal, the import."""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from typing import Any

import httpx2
import requests
import responses
import respx

import fake_llm
from benchmarks._rounds import Case, Variant, batch, batch_on_loop
from fake_llm._model import Request
from fake_llm._stacks import STACKS

URL = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
ANSWER = "The capital of France is Paris, a city of two million people on the river Seine."


def cases() -> Iterator[Case]:
    """In the order of what people meet first."""
    for library in STACKS:
        with suppress(ImportError):  # not every library that can be intercepted has to be installed
            importlib.import_module(library)
    yield Case("a block: enter and leave", batch(our_block), batch(respx_block), "with respx.mock", 0.35, 20)
    yield Case("rule 1,000 of a block", rules(1_000), rules(1), "rule 1", 1.3, 20, 20)
    yield Case("call 10,000 of a block", journal(10_000), journal(1_000), "call 1,000", 1.05, 100, 20, 2)
    allowed = 2 * 1024
    title = "memory of a call, beyond the bytes kept"
    yield Case(title, kept, lambda count: allowed * count, "2 KB", 1.0, 1_000, 3, 1, "B")
    yield Case("import fake_llm", imported("fake_llm"), imported("respx"), "import respx", 0.15, 1, 20, 2)
    whole = imported("fake_llm; fake_llm.intercept")
    yield Case("import fake_llm and all behind intercept", whole, imported("respx"), "import respx", None, 1, 20, 2)


def raw_cases() -> Iterator[Case]:
    """A session of requests, with no SDK that hides what we cost."""

    @contextmanager
    def ours(count: int) -> Iterator[Callable[[], object]]:
        with fake_llm.intercept([ANSWER] * count), requests.Session() as session:
            yield lambda: session.post(URL, json=BODY).json()

    response = answered()
    headers = {name: value for name, value in response.headers.items() if name != "content-type"}

    @contextmanager
    def static(count: int) -> Iterator[Callable[[], object]]:
        with responses.RequestsMock() as mock, requests.Session() as session:
            mock.post(URL, body=response.body, headers=headers, content_type="application/json")
            yield lambda: session.post(URL, json=BODY).json()

    yield Case("raw requests", batch(ours), batch(static), "responses", 1.0)


def answered() -> Any:
    """What a call with `BODY` is answered."""
    with fake_llm.intercept([ANSWER]) as fake:
        requests.post(URL, json=BODY, timeout=1)
    return fake.calls[0].response


def aiohttp_cases() -> Iterator[Case]:
    import aiohttp
    from aioresponses import aioresponses

    response = answered()

    async def ask(session: aiohttp.ClientSession) -> object:
        async with session.post(URL, json=BODY) as answer:
            return await answer.json()

    @asynccontextmanager
    async def ours(count: int) -> AsyncIterator[Callable[[], Awaitable[object]]]:
        with fake_llm.intercept([ANSWER] * count):
            async with aiohttp.ClientSession() as session:
                yield lambda: ask(session)

    @asynccontextmanager
    async def static(count: int) -> AsyncIterator[Callable[[], Awaitable[object]]]:
        with aioresponses() as mock:
            mock.post(URL, body=response.body, headers=dict(response.headers.multi_items()), repeat=True)
            async with aiohttp.ClientSession() as session:
                yield lambda: ask(session)

    yield Case("raw aiohttp", batch_on_loop(ours), batch_on_loop(static), "aioresponses-ng", 1.0)


def unclaimed_cases() -> Iterator[Case]:
    """A server of somebody else's, in a process of its own: its time isn't counted."""
    cases: tuple[tuple[str, Callable[[], Any], bool, float | None], ...] = (
        ("requests, a host that isn't claimed", requests.Session, True, 1.05),
        ("requests, a host that isn't claimed, env=False", requests.Session, False, None),
        ("httpx2, a host that isn't claimed", httpx2.Client, True, 1.05),
    )
    for title, made, env, target in cases:

        @contextmanager
        def alone(count: int, made: Callable[[], Any] = made) -> Iterator[Callable[[], object]]:
            with made() as client:
                yield lambda: client.get(server()).json()

        @contextmanager
        def ours(count: int, made: Callable[[], Any] = made, env: bool = env) -> Iterator[Callable[[], object]]:
            with fake_llm.intercept(default=ANSWER, env=env), made() as client:
                yield lambda: client.get(server()).json()

        yield Case(title, batch(ours), batch(alone), "without a block", target, 50)


SERVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@cache
def server() -> str:
    """Its URL."""
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    atexit.register(process.wait)
    atexit.register(process.kill)
    assert process.stdout is not None
    with process.stdout as said:
        return f"http://127.0.0.1:{int(said.readline())}/"


@contextmanager
def our_block(count: int) -> Iterator[Callable[[], object]]:
    def operation() -> None:
        with fake_llm.intercept(default="Hello!"):
            pass

    yield operation


@contextmanager
def respx_block(count: int) -> Iterator[Callable[[], object]]:
    def operation() -> None:
        with respx.mock:
            pass

    yield operation


def journal(length: int) -> Variant:
    """Calls of a block that has so many behind it, each with another body; those are asked of the fake itself, which is cheaper."""

    def run(count: int) -> float:
        with fake_llm.intercept(default=ANSWER) as fake, requests.Session() as session:
            session.post(URL, json=BODY)
            headers = fake.calls[0].headers
            for index in range(1, length):
                content = json.dumps({**BODY, "user": f"user-{index}"}).encode()
                fake.answer(Request("POST", URL, headers, content, "requests"))
            bodies = [{**BODY, "user": f"user-{index}"} for index in range(length, length + count)]
            gc.collect()
            start = time.process_time()
            for body in bodies:
                session.post(URL, json=body)
            taken = time.process_time() - start
            assert len(fake.calls) == length + count
        return taken

    return run


def rules(place: int) -> Variant:
    """Calls for one of a thousand rules."""
    question = f"Question {place:04}?"
    body = {**BODY, "messages": [{"role": "user", "content": question}]}

    @contextmanager
    def prepare(count: int) -> Iterator[Callable[[], object]]:
        with fake_llm.intercept() as fake, requests.Session() as session:
            for number in range(1, 1_001):
                fake.when(input=f"Question {number:04}?").reply(ANSWER)
            yield lambda: session.post(URL, json=body).json()

    return batch(prepare)


def kept(count: int) -> float:
    """The bytes that calls hold, less what was sent and answered."""

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    bodies = [{**BODY, "user": f"user-{index}"} for index in range(count)]
    with fake_llm.intercept(default=ANSWER) as fake, requests.Session() as session:
        for _ in range(100):  # what is built once
            session.post(URL, json=BODY)
        fake.calls.clear()
        tracemalloc.start()
        try:
            empty = held()
            for body in bodies:
                session.post(URL, json=body)
            full = held()
        finally:
            tracemalloc.stop()
        assert len(fake.calls) == count
        return full - empty - sum(len(call.raw) + len(call.response.body) for call in fake.calls)


def imported(module: str) -> Variant:
    """The import in a fresh process, from compiled modules, less what the bare interpreter costs."""

    def run(count: int) -> float:
        bare = min(process_seconds("pass") for _ in range(3))
        loaded = min(process_seconds(f"import {module}") for _ in range(3))
        return max(loaded - bare, 1e-9) * count

    return run


def process_seconds(code: str) -> float:
    """CPU time of an interpreter that runs this."""
    process = subprocess.Popen([sys.executable, "-c", code], env=compiled_environment())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert not process.returncode
    return used.ru_utime + used.ru_stime


@cache
def compiled_environment() -> dict[str, str]:
    """One in which modules stay compiled, wherever they are and whatever the caller's environment says."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**given, "PYTHONPYCACHEPREFIX": folder.name}
