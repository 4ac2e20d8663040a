"""The guard of the network sees what a library swallows, in one process and in several."""

from __future__ import annotations

from pathlib import Path

import pytest

GUARD = Path(__file__).with_name("_guard.py").read_text()

BEYOND = """
    import asyncio, os, socket, contextlib

    def test_connect():
        with contextlib.suppress(OSError), socket.socket() as plain:
            plain.settimeout(0.01)
            plain.connect(("192.0.2.1", 443))

    def test_lookup():
        with contextlib.suppress(OSError):
            socket.getaddrinfo("llm.invalid", 443)

    def test_lookup_on_a_loop():
        async def look():
            with contextlib.suppress(OSError):
                await asyncio.get_running_loop().getaddrinfo("llm.invalid", 443)
        asyncio.run(look())

    def test_key_left():
        os.environ["SOME_API_KEY"] = "sk-test"

    def test_loopback():
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(("127.0.0.1", server.getsockname()[1])).close()
        assert socket.getaddrinfo("localhost", 443)

    def test_no_key():
        assert not [name for name in os.environ if name.endswith("_API_KEY")]
"""


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run the tests there, quicker without the plugins that happen to be installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return pytester.runpytest_subprocess(*options)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_goes_beyond_loopback_fails_its_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-person")
    pytester.makepyfile(_guard=GUARD, conftest="pytest_plugins = ['_guard']", test_it=BEYOND)

    result = run(pytester, "-p", "xdist", "-n", workers)

    monkeypatch.undo()
    result.assert_outcomes(passed=6, errors=4)
    result.stdout.fnmatch_lines(
        [
            "*1 connections to loopback; beyond it 3 connections or DNS queries",
            "*socket.connect to 192.0.2.1:443",
        ]
    )


def test_a_look_up_at_an_import_fails_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        _guard=GUARD,
        conftest="pytest_plugins = ['_guard']",
        test_it="""
            import contextlib, socket
            with contextlib.suppress(OSError):
                socket.gethostbyname("llm.invalid")
        """,
    )
    pytester.makepyfile(test_other="def test_nothing(): pass")

    assert run(pytester).ret == pytest.ExitCode.TESTS_FAILED


def test_skips_are_counted_by_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        _guard=GUARD,
        conftest="pytest_plugins = ['_guard']",
        test_it="""
            import pytest

            @pytest.mark.skipif(True, reason="needs openai>=3")
            @pytest.mark.parametrize("case", [1, 2])
            def test_skipped(case): pass
        """,
    )

    run(pytester).stdout.fnmatch_lines(["*skipped by capability*", "    2  needs openai>=3"])
