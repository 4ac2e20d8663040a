"""Runs of pytest inside a test: what they begin with, and what they must come to."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from importlib.metadata import entry_points

import pytest

import fake_llm._intercept
import fake_llm._transcript  # noqa: F401 - loaded here, as an inner run forgets what it is the first to load

INSTALLED = any(entry.name == "fake_llm" for entry in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "fake_llm.pytest_plugin")
NO_PLUGIN = ("-p", "no:fake_llm") if INSTALLED else ()

HEADER = '''
import threading, unittest
import httpx, pytest
from fake_llm import Error, FakeLLM, Reply, ToolCall, UninterceptedCallError, UnscriptedCallError, UnusedReplyError, forbid, intercept

def body(text):
    return {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}

def read(response):
    if response.status_code != 200:
        raise RuntimeError("went on: " + response.json()["error"]["message"])
    return response.json()["choices"][0]["message"]["content"]

def ask(text="Hi"):
    return read(httpx.post("https://api.openai.com/v1/chat/completions", json=body(text), verify=False))

async def ask_async(text="Hi"):
    async with httpx.AsyncClient(verify=False) as client:
        return read(await client.post("https://api.openai.com/v1/chat/completions", json=body(text)))

def ask_in_a_thread():
    """A call whose failure can't be raised in place, and is swallowed."""
    thread = threading.Thread(target=lambda: pytest.raises(RuntimeError, ask))
    thread.start()
    thread.join()

def answer(call):
    assert call.last_user_text == "Ho"
    return "Hello"
'''
INI = """
[pytest]
strict_config = true
strict_markers = true
filterwarnings = error
{asyncio}
"""
ASYNCIO = "asyncio_default_fixture_loop_scope = function"

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run tests and hold the number of each outcome, if any is given; `files` are further ones, by name."""

    def run(
        tests: str,
        *options: str,
        ini: str = "",
        subprocess: bool = False,
        plugin: bool = True,
        files: dict[str, str] | None = None,
        **outcomes: int,
    ) -> pytest.RunResult:
        installed = not subprocess and "no:asyncio" not in options
        with_asyncio = installed and any(entry.name == "asyncio" for entry in entry_points(group="pytest11"))
        pytester.makeini(INI.format(asyncio=ASYNCIO if with_asyncio else "") + ini)
        if tests:
            pytester.makepyfile(test_it=HEADER + tests)
        for name, text in (files or {}).items():
            pytester.makepyfile(**{name: HEADER + text if name.startswith("test_") else text})
        before = dict(os.environ)
        with pytest.MonkeyPatch.context() as patch:
            if subprocess:  # quicker without the plugins that happen to be installed
                patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
                result = pytester.runpytest_subprocess("-p", "fake_llm.pytest_plugin", *options)
            else:
                # hypothesis would be loaded anew in each run
                plugins = (*(PLUGIN if plugin else NO_PLUGIN), "-p", "no:hypothesispytest")
                result = pytester.runpytest_inprocess(*plugins, *options, no_reraise_ctrlc=True)
        gc.collect()  # what a loop's runner says of tasks that are left by a failure: here, not in another test
        assert {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"} == {
            name: value for name, value in before.items() if name != "PYTEST_CURRENT_TEST"
        }
        if outcomes:
            result.assert_outcomes(**outcomes)
        return result

    return run
