"""The examples run as a user runs them, and their list says what there is and what each of them needs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import fake_llm
from _capability import has, needs

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
ROW = re.compile(r"^\| \[`(\w+\.py)`\]\((\w+\.py)\) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
ROWS = {
    name: (link, shows, wanted.split(", "))
    for name, link, shows, wanted in ROW.findall((EXAMPLES / "README.md").read_text(encoding="utf-8"))
}
ABLE = [name for name, (_, _, wanted) in ROWS.items() if all(map(has, wanted))]
DISTRIBUTIONS = {"google": "google-genai", "pytest_asyncio": "pytest-asyncio"}
PLUGIN = () if list(entry_points(group="pytest11", name="fake_llm")) else ("-p", "fake_llm.pytest_plugin")
GUARDED = """
import runpy, sys
sys.path.append(sys.argv.pop(1))
import _guard
sys.path.pop()
try:
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
finally:
    if _guard.violations:
        sys.exit(f"went beyond loopback: {_guard.violations}")
"""


def run(module: str, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a module as a command, under the guard of the network, without a key in the environment."""
    package = str(Path(fake_llm.__path__[0]).parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    if "xdist" in arguments:  # each worker would load all the plugins that happen to be installed
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-c", GUARDED, str(ROOT / "tests"), module, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def run_pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("pytest", *PLUGIN, "-p", "no:cacheprovider", *arguments)


def imported(file: Path) -> set[str]:
    """The distributions that a file of the examples imports beside pytest, through its neighbours too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in {name.partition(".")[0] for name in names} - {"fake_llm", "pytest"} - sys.stdlib_module_names:
            beside = EXAMPLES / f"{name}.py"
            found |= imported(beside) if beside.is_file() else {DISTRIBUTIONS.get(name, name)}
    return found


def test_every_example_is_in_the_list_once() -> None:
    files = sorted(file.name for file in EXAMPLES.glob("test_*.py"))

    assert sorted(ROWS) == files
    assert all(name == link for name, (link, _, _) in ROWS.items())
    assert len(files) == 15


@pytest.mark.parametrize("name", ROWS)
def test_the_list_says_what_an_example_needs(name: str) -> None:
    assert set(ROWS[name][2]) == imported(EXAMPLES / name)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, list[str]]]:
    """What a run of all that can run here printed, and by file what became of each test."""
    report = tmp_path_factory.mktemp("examples") / "report.xml"
    done = run_pytest("--continue-on-collection-errors", f"--junitxml={report}", *(f"examples/{name}" for name in ABLE))
    became: dict[str, list[str]] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        name = (case.get("classname") or case.get("name") or "").partition(".")[0] + ".py"
        became.setdefault(name, []).extend([part.tag for part in case if part.tag != "properties"] or ["passed"])
    return done.stdout + done.stderr, became


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(*ROWS[name][2])) for name in ROWS])
def test_an_example_passes(name: str, outcome: tuple[str, dict[str, list[str]]]) -> None:
    printed, became = outcome

    assert set(became.get(name, ["not run"])) == {"passed"}, printed


@needs("pytest-xdist", *ROWS["test_on_many_workers.py"][2])
def test_the_example_for_many_workers_runs_on_two() -> None:
    plugins = ("-p", "fake_llm.pytest_plugin", "-p", "xdist")

    done = run("pytest", *plugins, "-p", "no:cacheprovider", "-v", "-n", "2", "examples/test_on_many_workers.py")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "[gw0]" in done.stdout
    assert "[gw1]" in done.stdout


@needs(*ROWS["test_unittest_case.py"][2])
def test_the_example_for_unittest_runs_under_unittest() -> None:
    done = run("unittest", "-v", "test_unittest_case", folder=EXAMPLES)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.rstrip().endswith("OK")
