"""Examples in the documentation are tests; the guard of the network holds for all of them.

The examples of a page run in order and share one namespace and one folder:

- a block that begins with a comment that names a file is written to the folder (`# agent.py`), and run if it is a
  file of tests;
- another block that defines tests is a test file of its own;
- any other block of Python runs in the namespace of the page;
- a block of a console is run where it calls pytest, unittest or fake-llm, and what it shows must stand in what comes
  out, line by line in this order, `...` for any number of lines.

A comment `<!-- fails -->` before a test file says that it is run by a console, which shows how it fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _forks import Forks

if TYPE_CHECKING:
    from sybil import Example

pytest_plugins = ["_certificates", "_garbage", "_guard", "pytester"]
collect_ignore_glob = ["docs/_build/*"]  # the built site has copies of the examples

GUARD = Path(__file__).with_name("tests")
GUARDED = "import runpy, sys, _guard; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
PLUGINS = ("fake_llm.pytest_plugin", "anyio.pytest_plugin", "pytest_httpx")
"""What the pages use, and no other: most of the time goes into starting."""
ELSEWHERE = ("BUILD_NUMBER", "CI", "FORCE_COLOR", "PYTEST_ADDOPTS", "PY_COLORS")
"""What changes what pytest prints: a machine of continuous integration has no lines cut at the width of a terminal."""
FORKS = Forks()
NAMED = re.compile(r"# ([\w.]+)\n")


def run(folder: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module as a command in the folder of a page, under the guard of the network."""
    paths = [str(GUARD), os.environ.get("PYTHONPATH", "")]
    shown = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    environment = shown | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "COLUMNS": "80",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    if sys.platform == "linux":
        return FORKS.run(module, *arguments, folder=folder, environment=environment)
    command = [sys.executable, "-c", GUARDED, module, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603


def pytest_unconfigure() -> None:
    """End the process that runs them."""
    FORKS.close()


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest there."""
    plugins = [word for name in PLUGINS if find_spec(name.partition(".")[0]) for word in ("-p", name)]
    return run(folder, "pytest", *plugins, "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments)


def run_block(example: Example) -> None:
    """Run a block of Python, or write it where it is a file."""
    text, folder = str(example.parsed), folder_of(example)
    named = NAMED.match(text)
    tests = "def test_" in text or "class Test" in text
    if named is None and not tests:
        code = compile("\n" * (example.line + example.parsed.line_offset) + text, example.path, "exec")
        exec(code, example.namespace)  # noqa: S102 - it's our own documentation
        return
    name = named[1] if named is not None else "test_example.py"
    (folder / name).write_text(text)
    if not tests or example.document.text[: example.start].rstrip().endswith("<!-- fails -->"):
        return
    done = run_pytest(folder, "-q", name)
    if done.returncode:
        raise AssertionError(f"{example.path}, line {example.line}:\n{done.stdout}{done.stderr}")


def run_console(example: Example) -> None:
    """Run the commands of a console that a page may run; what is shown must be in what comes out."""
    for session in re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)[1:]:
        command, *shown = session.splitlines()
        program, *arguments = (
            command.partition("  #")[0].removeprefix("python -m ").replace("fake-llm ", "fake_llm ").split()
        )
        if program not in ("pytest", "unittest", "fake_llm"):
            continue
        folder = folder_of(example)
        done = run_pytest(folder, *arguments) if program == "pytest" else run(folder, program, *arguments)
        came = iter((done.stdout + done.stderr).replace(f"{folder}{os.sep}", "").splitlines())
        for line in shown:
            if line.strip() not in ("", "...") and not any(like(line, other) for other in came):
                raise AssertionError(f"{example.path}, {command!r} doesn't say {line!r}:\n{done.stdout}{done.stderr}")


def like(shown: str, came: str) -> bool:
    """Whether a line is the one that is shown: `…` stands for anything, rulers may be shorter, times and indents differ.

    pytest indents an error as deep as the line that raised it, which is one of the HTTP library.
    """
    shown, came = (re.sub(r"[\d.]+s|(?<=^E) +", "", line.strip(" =-")) for line in (shown, came))
    return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), came) is not None


def folder_of(example: Example) -> Path:
    """The folder of the page."""
    return Path(example.namespace["_folder"].name)


def open_page(namespace: dict[str, Any]) -> None:
    """Give the page a folder."""
    namespace["_folder"] = tempfile.TemporaryDirectory()


def close_page(namespace: dict[str, Any]) -> None:
    """Take it away again."""
    namespace["_folder"].cleanup()


if find_spec("sybil"):
    from sybil import Sybil
    from sybil.parsers.markdown import CodeBlockParser, SkipParser
    from sybil.parsers.rest import DocTestParser

    pages = Sybil(
        parsers=[
            CodeBlockParser("python", run_block),
            CodeBlockParser("toml", run_block),
            CodeBlockParser("console", run_console),
            SkipParser(),
        ],
        patterns=["README.md", "docs/**/*.md", "docs/*.md"],
        setup=open_page,
        teardown=close_page,
    )
    docstrings = Sybil(parsers=[DocTestParser()], patterns=["src/**/*.py"])
    pytest_collect_file = (pages + docstrings).pytest()
