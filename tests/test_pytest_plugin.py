"""What the plugin does for tests on event loops."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

INSTALLED = any(entry.name == "fake_llm" for entry in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "fake_llm.pytest_plugin")

SESSION = """
import httpx, pytest
import fake_llm

pytestmark = pytest.mark.anyio

@pytest.fixture(scope="module")
def anyio_backend():
    return {backend!r}

@pytest.fixture(scope="module")
async def shared(anyio_backend):
    yield "shared"

async def ask():
    async with httpx.AsyncClient() as client:
        body = {{"model": "gpt-5", "messages": [{{"role": "user", "content": "Hi"}}]}}
        return (await client.post("https://api.openai.com/v1/chat/completions", json=body)).status_code

@fake_llm.intercept()
async def test_decorated(shared):
    await ask()

async def test_block(shared):
    with fake_llm.intercept():
        await ask()

@fake_llm.intercept(["a"])
async def test_after(shared):
    assert await ask() == 200
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_failure_fails_its_test_and_no_other(pytester: pytest.Pytester, backend: str) -> None:
    pytest.importorskip(backend)
    pytester.makepyfile(SESSION.format(backend=backend))
    result = pytester.runpytest_subprocess("-p", "no:asyncio", *PLUGIN)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*UnscriptedCallError: Call 0 (openai chat gpt-5) came in*"])


def test_a_run_without_fake_llm_loads_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import sys
        def test_it():
            assert sorted(name for name in sys.modules if name.startswith("fake_llm.")) == ["fake_llm.pytest_plugin"]
    """)
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.assert_outcomes(passed=1)
