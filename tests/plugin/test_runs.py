"""What the plugin does to a run: nothing until it is used, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fake_llm import pytest_plugin

Run = Callable[..., pytest.RunResult]


def test_a_run_without_fake_llm_loads_nothing_of_it(pytester: pytest.Pytester, run: Run) -> None:
    tests = """
import asyncio, socket, sys, unittest

connect = socket.socket.connect

class TestIt(unittest.TestCase):
    def setUp(self):
        self.loaded = sorted(name for name in sys.modules if name.startswith("fake_llm"))

    def test_it(self):
        assert self.loaded == ["fake_llm", "fake_llm._witness", "fake_llm.pytest_plugin"]

def test_nothing_is_replaced(tmp_path):
    assert socket.socket.connect is connect and "connect" not in vars(socket.socket)
    assert not {"httpx", "httpx2", "requests", "jsonschema", "orjson"} & sys.modules.keys()
    assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("fake_llm")]

def test_failing():
    assert 0
"""
    pytester.makepyfile(test_bare=tests)

    run("", subprocess=True, passed=2, failed=1)


def test_without_the_plugin(run: Run) -> None:
    tests = """
@intercept(["Hello"])
def test_it(fake_llm):
    assert ask() == "Hello"

def test_no_fixture(request):
    with pytest.raises(pytest.FixtureLookupError):
        request.getfixturevalue("fake_llm")
"""
    run(tests, plugin=False, passed=2)


def test_the_texts_of_markers_and_fixtures(run: Run) -> None:
    markers = run("", "--markers")
    fixtures = run("", "--fixtures")

    markers.stdout.fnmatch_lines(
        ["@pytest.mark.fake_llm(script=(), **options): answer the calls of the test to LLM providers *"]
    )
    fixtures.stdout.fnmatch_lines(
        ["fake_llm -- *pytest_plugin.py:*", "    A `FakeLLM` that answers the calls of this test *"]
    )
    fixtures.stdout.no_fnmatch_line("*_fake_llm*")


def test_nothing_is_called_under_setup_only(run: Run) -> None:
    tests = """
@pytest.mark.fake_llm(["unused"])
def test_marker():
    assert 0

def test_fixture(fake_llm, tmp_path):
    assert 0
"""
    for option in ("--setup-only", "--setup-plan"):
        result = run(tests, option)
        result.stdout.fnmatch_lines(["*SETUP    F fake_llm", "*TEARDOWN F fake_llm"])


AGAIN = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl
def pytest_runtest_protocol(item, nextitem):
    for reports in range(3):
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


def test_each_run_of_a_test_starts_afresh(run: Run) -> None:
    tests = """
runs = []

@pytest.mark.fake_llm(["Hello", "Bye"])
def test_it(fake_llm):
    runs.append(1)
    assert (len(fake_llm.calls), ask(f"Run {len(runs)}?")) == (0, "Hello")
    if len(runs) == 3:
        assert ask() == "Bye"

@pytest.mark.fake_llm(["Hello"])
def test_never(fake_llm):
    runs.append(1)
    ask(f"Run {len(runs)}?")
    assert 0
"""
    result = run(tests, files={"conftest": AGAIN}, passed=1, failed=1)

    assert result.stdout.str().count("- LLM calls") == 1
    result.stdout.fnmatch_lines(["  user *Run 6[?]"])


def test_an_interrupt_stops_the_run_and_closes_the_block(run: Run) -> None:
    tests = """
def test_it(fake_llm):
    fake_llm.when(input="never", times=1).reply("unused")
    ask_in_a_thread()
    raise {error}

def test_never():
    pass
"""
    result = run(tests.replace("{error}", "KeyboardInterrupt"))
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*KeyboardInterrupt"])
    result.stdout.no_fnmatch_line("*UnusedReplyError*")

    result = run(tests.replace("{error}", "pytest.exit.Exception('so', 7)"))
    assert result.ret == 7


def test_a_run_inside_a_test(run: Run) -> None:
    tests = """
@pytest.mark.fake_llm(["outer"])
def test_outer(pytester):
    pytester.makepyfile("def test_inner(fake_llm):\\n    fake_llm.push('inner')\\n")
    pytester.runpytest_inprocess("-p", "fake_llm.pytest_plugin").assert_outcomes(failed=1)
    ask("Of the outer test?")
    assert 0
"""
    result = run(tests, "-p", "pytester", failed=1, subprocess=True)

    result.stdout.fnmatch_lines(["  user *Of the outer test[?]"])


SHARED = """
pytestmark = pytest.mark.anyio

@pytest.fixture(scope="module")
def anyio_backend():
    return {backend!r}

@pytest.fixture(scope="module")
async def shared(anyio_backend):
    yield "shared"

@intercept()
async def test_decorated(shared):
    await ask_async()

async def test_block(shared):
    with intercept():
        await ask_async()

@pytest.mark.fake_llm
async def test_marker(shared):
    await ask_async()

@intercept(["a"])
async def test_after(shared):
    assert await ask_async() == "a"
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_failure_fails_its_test_and_no_other_in_a_runner_that_stays(run: Run, backend: str) -> None:
    pytest.importorskip(backend)

    result = run(SHARED.format(backend=backend), "-p", "no:asyncio", passed=1, failed=3)

    result.stdout.fnmatch_lines(["*UnscriptedCallError: Call 0: no turn was left for it*"] * 3)


def test_the_example_in_the_docstring_runs(run: Run) -> None:
    assert pytest_plugin.__doc__ is not None
    block = pytest_plugin.__doc__.partition("::\n\n")[2].partition("\n**")[0]
    example = "\n".join(line.removeprefix("    ") for line in block.splitlines())
    agent = """
def my_agent(text):
    question = {"role": "user", "content": text}
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    message = {"role": "assistant"}
    messages = [question]
    while True:
        sent = {"model": "gpt-5", "messages": messages, "tools": tools}
        answer = httpx.post("https://api.openai.com/v1/chat/completions", json=sent, verify=False).json()
        message = answer["choices"][0]["message"]
        if not message.get("tool_calls"):
            return message["content"]
        call = message["tool_calls"][0]
        messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": "5"}]
"""
    run(agent + example, passed=3)
