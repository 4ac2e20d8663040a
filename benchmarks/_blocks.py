"""What isn't an SDK's call: raw requests, a block's two ends, a long journal, the import."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

import requests
import responses
import respx

import fake_llm
from benchmarks._rounds import Case, Variant, batch
from fake_llm._stacks import STACKS

URL = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
ANSWER = "The capital of France is Paris, a city of two million people on the river Seine."


def cases() -> Iterator[Case]:
    """In the order of what people meet first."""
    yield from raw_cases()
    for library in STACKS:
        with suppress(ImportError):  # not every library that can be intercepted has to be installed
            importlib.import_module(library)
    yield Case("a block: enter and leave", batch(our_block), batch(respx_block), "with respx.mock", 0.35, 20)
    yield Case("call 5,000 of a block", journal(5_000), journal(500), "call 500", 1.08, 100, 20, 2)
    yield Case("import fake_llm", imported("fake_llm"), imported("respx"), "import respx", 0.15, 1, 20, 2)
    whole = imported("fake_llm; fake_llm.intercept")
    yield Case("import fake_llm and all behind intercept", whole, imported("respx"), "import respx", None, 1, 20, 2)


def raw_cases() -> Iterator[Case]:
    """A session of requests, with no SDK that hides what we cost."""

    @contextmanager
    def ours(count: int) -> Iterator[Callable[[], object]]:
        with fake_llm.intercept([ANSWER] * count), requests.Session() as session:
            yield lambda: session.post(URL, json=BODY).json()

    with fake_llm.intercept([ANSWER]) as fake:
        requests.post(URL, json=BODY, timeout=1)
    answered = fake.calls[0].response
    headers = {name: value for name, value in answered.headers.items() if name != "content-type"}

    @contextmanager
    def static(count: int) -> Iterator[Callable[[], object]]:
        with responses.RequestsMock() as mock, requests.Session() as session:
            mock.post(URL, body=answered.body, headers=headers, content_type="application/json")
            yield lambda: session.post(URL, json=BODY).json()

    yield Case("raw requests", batch(ours), batch(static), "responses", 1.0)


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
    """Calls of a block that has so many behind it, each with another body."""

    def run(count: int) -> float:
        with fake_llm.intercept(default=ANSWER) as fake, requests.Session() as session:
            bodies = [{**BODY, "user": f"user-{index}"} for index in range(length + count)]
            for body in bodies[:length]:
                session.post(URL, json=body)
            gc.collect()
            start = time.process_time()
            for body in bodies[length:]:
                session.post(URL, json=body)
            taken = time.process_time() - start
            assert len(fake.calls) == length + count
        return taken

    return run


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
