"""A suite in which no test asks a model that hasn't scripted it: the ini option `fake_llm_forbid`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from _capability import has

Run = Callable[..., pytest.RunResult]

INI = "fake_llm_forbid = true\n"
FORBIDDEN = "E *fake_llm.UnscriptedCallError: POST https://api.openai.com/v1/chat/completions came*"

SCRIPTED = """
@pytest.mark.fake_llm(["Hello"])
def test_marker():
    assert ask() == "Hello"

def test_fixture(fake_llm):
    fake_llm.push("Hello")
    assert ask() == "Hello"

@intercept(["Hello"])
def test_decorator():
    assert ask() == "Hello"

def test_with():
    with intercept(["Hello"]):
        assert ask() == "Hello"

def test_mount():
    with httpx.Client(verify=False) as client, FakeLLM(["Hello"]).mount(client):
        assert read(client.post("https://api.openai.com/v1/chat/completions", json=body("Hi"))) == "Hello"

def test_a_block_that_refuses():
    with pytest.raises(UnscriptedCallError), forbid():
        ask()

@pytest.fixture(scope="module")
def answered():
    with intercept(default="Hello") as fake:
        yield fake

def test_module_fixture(answered):
    assert ask() == "Hello"

def test_module_fixture_again(answered):
    assert ask() == "Hello"

class TestCase(unittest.TestCase):
    @intercept(["Hello"])
    def test_it(self):
        assert ask() == "Hello"

def test_no_call():
    pass
"""

REFUSED = """
def test_body():
    ask()

def test_swallowed():
    try:
        ask()
    except BaseException:
        pass

def test_thread():
    ask_in_a_thread()

def test_beside_a_block():
    with intercept(["Hello"]):
        assert ask() == "Hello"
    ask()

class TestCase(unittest.TestCase):
    def test_case(self):
        ask_in_a_thread()

@pytest.fixture
def asking_quietly():
    ask_in_a_thread()

def test_fixture_that_swallows(asking_quietly):
    pass

@pytest.mark.xfail(raises=UnscriptedCallError, strict=True)
def test_expected():
    ask()

def test_nothing_is_left_of_it():
    pass
"""

IN_FIXTURES = """
@pytest.fixture
def asking():
    ask()

def test_setup(asking):
    pass

@pytest.fixture
def asking_late():
    yield
    ask_in_a_thread()

def test_teardown(asking_late):
    pass

@pytest.fixture(scope="module")
def asking_for_all():
    ask()

def test_module_fixture(asking_for_all):
    pass

def test_after():
    pass
"""

ASYNC = """
@pytest.mark.asyncio
async def test_body():
    await ask_async()

@pytest.mark.asyncio
async def test_swallowed():
    import asyncio
    await asyncio.gather(ask_async(), return_exceptions=True)

@pytest.mark.asyncio
async def test_scripted():
    async with intercept(["Hello"]):
        assert await ask_async() == "Hello"
"""


@pytest.mark.parametrize(
    ("tests", "outcomes"),
    [
        pytest.param(SCRIPTED, {"passed": 10}, id="scripted"),
        pytest.param(REFUSED, {"failed": 6, "xfailed": 1, "passed": 1}, id="refused"),
        pytest.param(IN_FIXTURES, {"errors": 3, "passed": 2}, id="in fixtures"),
        pytest.param(
            ASYNC,
            {"failed": 2, "passed": 1},
            id="async",
            marks=pytest.mark.skipif(not has("pytest-asyncio"), reason="needs pytest-asyncio"),
        ),
    ],
)
def test_a_call_fails_the_test_that_makes_it(tests: str, outcomes: dict[str, int], run: Run) -> None:
    result = run(tests, ini=INI, **outcomes)

    if outcomes.keys() - {"passed"}:
        result.stdout.fnmatch_lines([FORBIDDEN])
        result.stdout.fnmatch_lines(["*LLM calls*"])
    if tests == REFUSED:
        titles = {line.strip("- ") for line in result.stdout.lines if "- LLM calls" in line}
        assert {"LLM calls (where they are forbidden)", "LLM calls (1 of 2, where they are forbidden)"} <= titles
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.skipif(not has("pytest-xdist"), reason="needs pytest-xdist")
def test_on_workers(run: Run) -> None:
    files = {"test_scripted": SCRIPTED, "test_refused": REFUSED}
    options = ("-p", "xdist", "-n", "2", "--dist", "loadfile")

    run("", *options, ini=INI, files=files, subprocess=True, failed=6, xfailed=1, passed=11)


def test_a_socket_to_a_model_fails_it_too(run: Run) -> None:
    result = run(
        """
import socket

def test_it():
    socket.getaddrinfo("api.openai.com", 443)

def test_elsewhere():
    socket.getaddrinfo("localhost", 80)
""",
        ini=INI,
        failed=1,
        passed=1,
    )

    result.stdout.fnmatch_lines(["E *fake_llm.UnscriptedCallError: api.openai.com:443 was reached by a raw socket*"])


def test_options_of_the_block_are_those_of_the_ini_file(run: Run) -> None:
    tests = """
import os

def test_hosts():
    httpx.post("https://llm.corp.example/v1/chat/completions", json=body("Hi"), verify=False)

def test_network():
    httpx.get("https://any.example", verify=False)

def test_env():
    assert "OPENAI_API_KEY" not in os.environ
"""
    options = "fake_llm_hosts = llm.corp.example/v1 = openai\nfake_llm_block_network = true\nfake_llm_env = false\n"

    result = run(tests, ini=INI + options, failed=2, passed=1)

    result.stdout.fnmatch_lines(["E *UnscriptedCallError: POST https://llm.corp.example/v1/*", "E *any.example:443 *"])


def test_nothing_of_it_is_there_without_the_option(run: Run) -> None:
    run(
        """
def test_it():
    from fake_llm._blocks import opened
    assert not opened()
""",
        ini="fake_llm_forbid = false\n",
        passed=1,
    )
