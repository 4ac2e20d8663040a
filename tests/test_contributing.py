"""CONTRIBUTING says what is so: its first checklist is followed to the letter, its tables are those of tox."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from configparser import ConfigParser
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from _capability import needs

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PLUGIN = () if list(entry_points(group="pytest11", name="fake_llm")) else ("-p", "fake_llm.pytest_plugin")


def section(title: str) -> str:
    """What stands below a heading, up to the next."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None, f"CONTRIBUTING.md has no section {title!r}"
    return found[1]


# --- the checklist ------------------------------------------------------------------------------

STEP = re.compile(
    r"^ *(?:New file `(?P<new>[^`]+)`|In `(?P<file>[^`]+)`, (?P<side>above|below) `(?P<line>[^`]+)`):\n\n"
    r"(?P<indent> *)```python\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^ *\$ pytest (.+)$", re.MULTILINE)


def follow(checklist: str, root: Path) -> list[str]:
    """Apply the blocks of a checklist to a copy of the project; the files that they made or changed, in order."""
    done: list[str] = []
    for step in STEP.finditer(checklist):
        text = "".join(line.removeprefix(step["indent"]) for line in step["text"].splitlines(keepends=True))
        name = step["new"] or step["file"]
        file = root / name
        if step["new"]:
            assert not file.exists(), f"{name} is there already"
            file.write_text(text, encoding="utf-8")
        else:
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            places = [number for number, line in enumerate(lines) if line.rstrip("\n") == step["line"]]
            assert len(places) == 1, f"{name} has the line {step['line']!r} {len(places)} times, not once"
            lines.insert(places[0] + (step["side"] == "below"), text)
            file.write_text("".join(lines), encoding="utf-8")
        done.append(name)
    return done


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which the checklist has been followed."""
    root = tmp_path_factory.mktemp("project")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, root / name)
    follow(section("Adding a host"), root)
    return root


def run(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy, on its sources."""
    path = os.pathsep.join(filter(None, [str(root / "src"), os.environ.get("PYTHONPATH")]))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TOX_"))}
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env=environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_first_checklist_has_a_place_for_each_of_its_blocks() -> None:
    made = [step["new"] or step["file"] for step in STEP.finditer(section("Adding a host"))]

    assert len(made) == section("Adding a host").count("```python\n")
    assert list(dict.fromkeys(made)) == [
        "src/fake_llm/_differences/acme.py",
        "src/fake_llm/_endpoints.py",
        "tests/sdk/_sdk_clients.py",
        "tests/sdk/test_acme.py",
    ]
    assert not [name for name in made if "acme" in name and (ROOT / name).exists()]


@needs("openai>=2")
@pytest.mark.parametrize("command", COMMAND.findall(section("Adding a host")))
def test_the_commands_of_the_first_checklist_pass(copy: Path, command: str) -> None:
    done = run(copy, "-m", "pytest", *PLUGIN, "-q", "-p", "no:cacheprovider", *command.split())

    assert done.returncode == 0, done.stdout + done.stderr
    counted = re.search(r"(\d+) passed", done.stdout)
    assert counted is not None
    if "test_cases" in command:
        assert int(counted[1]) > 30, "the cases of a host, whole and streamed"


@needs("openai>=2")
def test_the_copy_is_what_is_tested(copy: Path) -> None:
    code = """
        import os, fake_llm, openai
        print(fake_llm.__file__)
        os.environ["ACME_BASE_URL"] = "https://acme.corp.example/llm"
        for base in ("https://api.acme.example", "https://eu.acme.example/beta", "https://acme.corp.example/llm"):
            with fake_llm.intercept(["Hello!"]) as fake:
                client = openai.OpenAI(base_url=base)
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
            print(fake.calls[0].provider)
    """

    done = run(copy, "-c", textwrap.dedent(code))

    place, *providers = done.stdout.splitlines()
    assert Path(place) == copy / "src" / "fake_llm" / "__init__.py", done.stderr
    assert providers == ["acme"] * 3, done.stderr


def test_a_checklist_that_drifted_is_found(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("one\ntwo\ntwo\n")
    written = "In `code.py`, above `{}`:\n\n```python\nnew\n```\n"

    assert follow(written.format("one"), tmp_path) == ["code.py"]
    assert (tmp_path / "code.py").read_text() == "new\none\ntwo\ntwo\n"
    for line, times in (("three", 0), ("two", 2)):
        with pytest.raises(AssertionError, match=f"has the line '{line}' {times} times"):
            follow(written.format(line), tmp_path)


@pytest.mark.parametrize("title", ["Adding a host", "Adding a vendor", "Adding a stack"])
def test_what_the_checklists_name_is_there(title: str) -> None:
    named = set(re.findall(r"`((?:src|tests|constraints)/[\w./]*)`", section(title)))

    assert named
    assert not [name for name in named if "acme" not in name and not (ROOT / name).exists()]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("STACKS", "src/fake_llm/_stacks/__init__.py"),
        ("OWN_LIBRARIES", "tests/test_layers.py"),
        ("NOT_LOADED", "tests/test_layers.py"),
        ("DIALECTS", "tests/conformance/_recorded.py"),
        ("ANSWERED", "tests/conformance/_recorded.py"),
        ("patches", "src/fake_llm/_stacks/httpx.py"),
        ("mounted", "src/fake_llm/_stacks/httpx.py"),
        ("Service", "src/fake_llm/_services/_base.py"),
        ("sdks-legacy", "pyproject.toml"),
    ],
)
def test_a_name_in_the_checklists_is_where_they_say(name: str, file: str) -> None:
    assert f"`{name}`" in TEXT
    assert re.search(rf"^(?:def |class |){name}(?:\(|:| =)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


# --- the environments ---------------------------------------------------------------------------

TOX = ConfigParser(interpolation=None)
TOX.read(ROOT / "tox.ini", encoding="utf-8")
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]


def expanded(names: str) -> list[str]:
    """Names with their factors written out: `a-{b,c}` is `a-b` and `a-c`."""
    pieces = [part.split(",") for part in re.split(r"\{([^}]*)\}", names)]
    return ["".join(choice) for choice in itertools.product(*pieces)]


def listed(text: str) -> list[str]:
    """A list of environments as tox writes it."""
    return [name for item in re.split(r",\s*(?![^{]*\})|\n", text) if item for name in expanded(item.strip())]


def rows() -> dict[str, str]:
    """The environments in the table, each with when it is run."""
    found = re.findall(r"^\| (`[^|]+`) \| (always|by name) \| [^|]+ \|$", TEXT, re.MULTILINE)
    return {name: when for names, when in found for name in re.findall(r"`([^`]+)`", names)}


def test_the_table_has_the_environments_of_tox() -> None:
    defined = {name for title in TOX.sections() if title.startswith("testenv:") for name in expanded(title[8:])}

    assert rows().keys() == defined
    assert [name for name, when in rows().items() if when == "always"] == listed(TOX["tox"]["env_list"])


def test_tox_itself_says_which_are_run_by_name() -> None:
    [comment] = re.findall(r"^# Not in the list, run by name: (.+)$", (ROOT / "tox.ini").read_text(), re.MULTILINE)

    assert set(listed(comment)) == {name for name, when in rows().items() if when == "by name"}


def test_ci_runs_all_that_always_runs() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert lines[-1] == 'tox run "$@"'
    assert not [line for line in lines if "TOXENV" in line]


def test_the_environments_of_the_release_check_install_the_wheel() -> None:
    names = ("minimal", "legacy", "current", "release", "smoke-{bare,demo}")

    assert TOX["testenv"]["package"] == "wheel"
    assert not [name for name in names if {"package", "skip_install"} & set(TOX[f"testenv:{name}"])]


def test_the_constraints_are_made_by_the_commands_that_are_written() -> None:
    commands = section("Run the checks")
    made = re.findall(r"-o constraints/([\w.-]+\.txt)", commands)
    groups = set(re.findall(r"--group ([\w-]+)", commands))

    assert sorted(made) == sorted(file.name for file in (ROOT / "constraints").glob("*.txt"))
    assert groups == GROUPS.keys()
