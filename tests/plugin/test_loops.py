"""What the marker and the fixture make of coroutine tests, under each plugin that runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from _capability import needs

Run = Callable[..., pytest.RunResult]


@dataclass(frozen=True, slots=True)
class Runner:
    """How tests are handed to a plugin that runs coroutines."""

    mark: str = ""
    ini: str = ""
    fixture: str = "pytest.fixture"
    late: tuple[str, ...] = ("passed", "errors")
    """What becomes of a test whose coroutine fixture fails while it is torn down."""


def backend(name: str) -> str:
    return f"pytestmark = pytest.mark.anyio\n\n@pytest.fixture(scope='module')\ndef anyio_backend():\n    return {name!r}\n"


RUNNERS = [
    pytest.param(
        Runner("import pytest_asyncio\npytestmark = pytest.mark.asyncio", fixture="pytest_asyncio.fixture"),
        id="asyncio, strict",
        marks=needs("pytest-asyncio"),
    ),
    pytest.param(Runner(ini="asyncio_mode = auto"), id="asyncio, auto", marks=needs("pytest-asyncio")),
    pytest.param(Runner(backend("asyncio")), id="anyio, asyncio"),
    pytest.param(Runner(backend("trio")), id="anyio, trio", marks=needs("trio")),
    pytest.param(Runner("pytestmark = pytest.mark.trio", late=("failed",)), id="trio", marks=needs("pytest-trio")),
]

TESTS = """
# passed
@pytest.mark.fake_llm(["Hello"])
async def test_marker(fake_llm):
    assert (await ask_async(), len(fake_llm.calls)) == ("Hello", 1)

async def test_fixture(fake_llm: FakeLLM):
    fake_llm.when(input="Ann").reply("Hello, Ann")
    assert await ask_async("Ann") == "Hello, Ann"

@intercept(["Hello"])
async def test_decorator(fake_llm):
    assert await ask_async() == "Hello"

@pytest.mark.fake_llm(["Hello"])
class TestIt:
    async def test_method(self):
        assert await ask_async() == "Hello"

async def test_after_all():
    pass

# failed, and in place where it says so
@pytest.mark.fake_llm
async def test_in_place():
    try:
        await ask_async()
    except Exception:
        pytest.fail("swallowed")

@pytest.mark.fake_llm
class TestPlace:
    async def test_in_place(self):
        try:
            await ask_async()
        except Exception:
            pytest.fail("swallowed")

@pytest.mark.fake_llm(["unused"])
async def test_unused():
    pass

@pytest.mark.fake_llm
async def test_kept():
    ask_in_a_thread()

@pytest.mark.fake_llm([answer])
async def test_function():
    try:
        await ask_async()
    except Exception:
        pytest.fail("swallowed")

async def answer_async(call):
    assert call.last_user_text == "Ho"

@pytest.mark.fake_llm([answer_async])
async def test_async_function(fake_llm):
    await ask_async()

async def test_block():
    with intercept():
        await ask_async()

@pytest.fixture
def own():
    with intercept() as fake:
        yield fake

async def test_own_fixture(own):
    try:
        await ask_async()
    except Exception:
        pytest.fail("swallowed")

@{fixture}
async def own_async():
    async with intercept(["a"]) as fake:
        assert await ask_async() == "a"
        yield fake

async def test_own_async_fixture(own_async):
    try:
        await ask_async()
    except Exception:
        pytest.fail("swallowed")

@pytest.fixture
def client():
    client = httpx.AsyncClient(verify=False)
    with FakeLLM().mount(client):
        yield client

async def test_mounted(client):
    async with client:
        try:
            read(await client.post("https://api.openai.com/v1/chat/completions", json=body("Hi")))
        except Exception:
            pytest.fail("swallowed")

# skipped, expected to fail
@pytest.mark.fake_llm(["unused"])
async def test_skipped():
    pytest.skip("so")

@pytest.mark.xfail(raises=UnscriptedCallError, strict=True)
async def test_expected(fake_llm):
    await ask_async()

# passed, with an error of the teardown
@{fixture}
async def late(fake_llm):
    yield
    await ask_async()

async def test_late(late):
    pass
"""

GROUP = """
import asyncio

@pytest.mark.fake_llm
async def test_task():
    async with asyncio.TaskGroup() as group:
        group.create_task(ask_async())

@pytest.mark.fake_llm
async def test_body():
    async with asyncio.TaskGroup() as group:
        await ask_async()

async def test_after():
    pass
"""


@pytest.mark.parametrize("runner", RUNNERS)
def test_outcomes(runner: Runner, run: Run) -> None:
    tests = runner.mark + TESTS.replace("{fixture}", runner.fixture)

    outcomes = Counter({"passed": 5, "failed": 10, "skipped": 1, "xfailed": 1})
    outcomes.update(runner.late)

    result = run(tests, ini=runner.ini, **outcomes)

    result.stdout.no_fnmatch_line("*Failed: swallowed*")
    failures = [line for line in result.stdout.lines if line.lstrip(" |").startswith("E  ")]
    found = Counter(
        word
        for word in ("UnscriptedCallError: ", "UnusedReplyError: ", "'Hi' == 'Ho'")
        for line in failures
        if word in line
    )
    assert found == {"UnscriptedCallError: ": 8, "UnusedReplyError: ": 1, "'Hi' == 'Ho'": 2}
    assert result.stdout.str().count("- LLM calls") == 11


@pytest.mark.parametrize("runner", RUNNERS[:3])
def test_a_failure_in_a_group_of_tasks(runner: Runner, run: Run) -> None:
    result = run(runner.mark + GROUP, ini=runner.ini, passed=1, failed=2)

    result.stdout.fnmatch_lines(["E *fake_llm.UnscriptedCallError: Call 0: *"] * 2)
