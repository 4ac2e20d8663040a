"""The options of a block in the ini file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields

import pytest

from fake_llm import pytest_plugin
from fake_llm._options import Options

Run = Callable[..., pytest.RunResult]

SAID = {
    "default": ("Hello!", "assert ask() == 'Hello!'"),
    "on_exhausted": ("stop", "assert 'fake_llm' in ask()"),
    "strict": ("false", "fake_llm.push('unused')"),
    "model": ("gpt-9", "fake_llm.push('a'); ask(); assert b'gpt-9' in fake_llm.calls[0].response.body"),
    "delay": ("0.25", "assert fake_llm._options.delay == 0.25"),
    "interval": ("1", "assert fake_llm._options.interval == 1.0"),
    "chunk_size": ("3", "assert fake_llm._options.chunk_size == 3"),
    "context_window": ("2", "assert pytest.raises(RuntimeError, ask).match('maximum context length is 2 tokens')"),
    "reserve_completion": ("100", "assert fake_llm._options.reserve_completion == 100"),
    "validate": ("false", "assert fake_llm._options.validate is False"),
    "virtual_time": ("true", "assert fake_llm._options.virtual_time is True"),
    "hosts": (
        "\n  llm.corp.example/base = openai\n  other.example=groq",
        "fake_llm.push('a'); assert read(httpx.post('https://llm.corp.example/base/chat/completions', json=body(''), verify=False)) == 'a'",
    ),
    "env": ("false", "import os; assert 'OPENAI_API_KEY' not in os.environ"),
    "skip_backoff": ("false", "assert fake_llm._options.skip_backoff is False"),
    "block_network": (
        "true",
        "import socket; assert pytest.raises(UninterceptedCallError, socket.getaddrinfo, 'x.example', 443); fake_llm.failures.clear()",
    ),
    "forbid": (
        "true",
        "from fake_llm._blocks import opened; assert [fake._forbids for fake in opened()] == [True, False]",
    ),
}


NOT_IN_TEXT = {"cost", "framing", "usage"}
"""Options whose values an ini file can't say."""


def test_each_option_that_a_text_can_say_is_there() -> None:
    options = {field.name for field in fields(Options) if field.init}

    assert set(pytest_plugin._OPTIONS) == options - NOT_IN_TEXT, "give a new option a row in one of the two"
    assert set(SAID) == {*pytest_plugin._OPTIONS, *pytest_plugin._OF_A_RUN}, "and say how it shows"


@pytest.mark.parametrize("name", SAID)
def test_an_option(name: str, run: Run) -> None:
    value, statement = SAID[name]

    run(f"def test_it(fake_llm):\n    {statement}\n", ini=f"fake_llm_{name} = {value}\n", passed=1)


def test_the_closest_says_it(run: Run) -> None:
    run(
        """
@pytest.mark.fake_llm(model="of the class")
class TestIt:
    @pytest.mark.fake_llm(model="of the function")
    def test_function(self, fake_llm):
        assert (fake_llm._options.model, fake_llm._options.chunk_size) == ("of the function", 3)

    def test_class(self, fake_llm):
        assert (fake_llm._options.model, fake_llm._options.chunk_size) == ("of the class", 3)

def test_ini(fake_llm):
    assert (fake_llm._options.model, fake_llm._options.chunk_size) == ("of the ini file", 3)

def test_block():
    with intercept() as fake:
        assert (fake._options.model, fake._options.chunk_size) == (None, None)
""",
        ini="fake_llm_model = of the ini file\nfake_llm_chunk_size = 3\n",
        passed=4,
    )


def test_the_command_line(run: Run) -> None:
    run("def test_it(fake_llm):\n    fake_llm.push('unused')\n", "-o", "fake_llm_strict=no", passed=1)


def test_native_toml(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(
        ".toml",
        pytest='[pytest]\nfake_llm_strict = false\nfake_llm_delay = 1\nfake_llm_chunk_size = 3\nfake_llm_hosts = ["a.example = openai"]\n',
    )
    options = "fake_llm._options"
    checks = f"({options}.strict, {options}.delay, {options}.chunk_size, dict({options}.hosts))"

    run(
        f"def test_it(fake_llm):\n    assert {checks} == (False, 1.0, 3, {{'a.example': 'openai'}})\n",
        *("-c", "pytest.toml", "-W", "ignore::pytest.PytestDeprecationWarning"),
        passed=1,
    )


WRONG = {
    ("on_exhausted", "maybe"): """\
The ini option fake_llm_on_exhausted in tox.ini can't be used: it is 'maybe'.
It says the answer to a call for which no turn is left: raise, stop or error.
Write fake_llm_on_exhausted = stop""",
    ("strict", "perhaps"): """\
The ini option fake_llm_strict in tox.ini can't be used: invalid truth value 'perhaps'.
It says whether replies must fit the request, and failures and unused turns fail a test.
Write fake_llm_strict = false""",
    ("delay", "soon"): """\
The ini option fake_llm_delay in tox.ini can't be used: could not convert string to float: 'soon'.
It says seconds before the first byte of an answer, 0 or more.
Write fake_llm_delay = 0.5""",
    ("interval", "-1"): """\
The ini option fake_llm_interval in tox.ini can't be used: it is -1.0.
It says seconds between the chunks of an answer, 0 or more.
Write fake_llm_interval = 0.1""",
    ("chunk_size", "0"): """\
The ini option fake_llm_chunk_size in tox.ini can't be used: it is 0.
It says characters in a chunk of an answer, 1 or more.
Write fake_llm_chunk_size = 8""",
    ("context_window", "big"): """\
The ini option fake_llm_context_window in tox.ini can't be used: invalid literal for int() with base 10: 'big'.
It says tokens of the context window, 0 or more.
Write fake_llm_context_window = 8192""",
    ("hosts", "llm.corp.example"): """\
The ini option fake_llm_hosts in tox.ini can't be used: there is no = in 'llm.corp.example'.
It says further hosts, one a line, each with the provider that speaks there.
Write fake_llm_hosts = llm.corp.example:8080 = openai""",
    ("hosts", "llm.corp.example = nobody"): """\
The ini option fake_llm_hosts in tox.ini can't be used: it is {'llm.corp.example': 'nobody'}.
It says further hosts, one a line, each with the provider that speaks there.
Write fake_llm_hosts = llm.corp.example:8080 = openai""",
    ("forbid", "often"): """\
The ini option fake_llm_forbid in tox.ini can't be used: invalid truth value 'often'.
It says whether a call to a model fails every test that hasn't scripted it.
Write fake_llm_forbid = true""",
    ("env", "2"): """\
The ini option fake_llm_env in tox.ini can't be used: invalid truth value '2'.
It says whether there are dummy credentials; true sets them for the whole run, before anything is imported.
Write fake_llm_env = true""",
}


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value(name: str, value: str, run: Run) -> None:
    result = run("def test_it(): pass", ini=f"fake_llm_{name} = {value}\n")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert WRONG[name, value] in result.stderr.str().replace("ERROR: ", "")
    assert "Traceback" not in result.stderr.str()


def test_an_unknown_name_is_told_by_pytest(run: Run) -> None:
    result = run("def test_it(): pass", ini="fake_llm_strct = true\n")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*Unknown config option: fake_llm_strct*"])


# --- dummy credentials for the whole run --------------------------------------------------------

SEEN = """
import os
key = os.environ.get("OPENAI_API_KEY")
"""
AT_IMPORT = """
import os
key = os.environ.get("OPENAI_API_KEY")

def test_conftest(seen):
    assert seen.key == key is not None
    assert os.environ.get("OPENAI_API_KEY") == key

def test_block(fake_llm):
    assert os.environ.get("OPENAI_API_KEY") == key

def test_after_a_block(seen):
    with intercept():
        pass
    assert os.environ.get("OPENAI_API_KEY") == key

def test_own():
    assert os.environ["ANTHROPIC_API_KEY"] == "their own"
"""
CONFTEST = SEEN + "import pytest, sys\n@pytest.fixture\ndef seen():\n    return sys.modules[__name__]\n"


@pytest.mark.parametrize("options", [(), ("--import-mode=importlib",)])
def test_credentials_before_anything_is_imported(
    options: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "their own")
    ini = "fake_llm_env = true\n"

    run(AT_IMPORT, *options, ini=ini, files={"conftest": CONFTEST}, passed=4)

    assert "OPENAI_API_KEY" not in os.environ
    assert os.environ["ANTHROPIC_API_KEY"] == "their own"


def test_credentials_are_taken_away_after_a_run_that_failed_to_start(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest("import os\nassert os.environ['OPENAI_API_KEY']\nraise LookupError('so')")
    result = run("", ini="fake_llm_env = true\n")

    result.stderr.fnmatch_lines(["*LookupError: so*"])
    assert "OPENAI_API_KEY" not in os.environ


def test_no_credentials_without_the_option(run: Run) -> None:
    run("def test_it():\n    import os\n    assert 'OPENAI_API_KEY' not in os.environ\n", passed=1)
