"""What is published: the wheel and the source distribution, their files and what they say of themselves."""

from __future__ import annotations

import email
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import parse_sdist_filename, parse_wheel_filename

import fake_llm
from _capability import needs

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WHEEL_ENVIRONMENTS = ("current", "legacy", "minimal", "release")
"""The environments of tox that install the wheel and run tests against it."""

builds = needs("hatchling")


@pytest.mark.skipif(
    os.environ.get("TOX_ENV_NAME") not in WHEEL_ENVIRONMENTS, reason="the wheel is installed by tox only"
)
def test_what_is_tested_is_the_wheel() -> None:
    installed = Path(sysconfig.get_path("purelib")).resolve()
    places = {Path(module.__file__ or "").resolve() for name, module in sys.modules.items() if of_the_package(name)}

    assert Path(fake_llm.__file__ or "").resolve() == installed / "fake_llm" / "__init__.py"
    assert all(place.is_relative_to(installed) for place in places)
    assert (ROOT / "src").resolve() not in {Path(entry).resolve() for entry in sys.path}
    assert version("fake-llm") == PROJECT["version"]


def of_the_package(name: str) -> bool:
    return name.partition(".")[0] == "fake_llm"


@dataclass(frozen=True)
class Built:
    """What the build made: the names of its files with their contents, and the name of the archive."""

    archive: str
    files: dict[str, bytes]

    def text(self, name: str) -> str:
        return self.files[name].decode()


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution, built here without an environment of its own."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Built:
    [archive] = dist.glob("*.whl")
    with zipfile.ZipFile(archive) as opened:
        return Built(archive.name, {name: opened.read(name) for name in opened.namelist()})


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Built:
    [archive] = dist.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        return Built(archive.name, dict(members(opened)))


def members(opened: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """The files, by their place below the archive's one folder."""
    for member in opened.getmembers():
        data = opened.extractfile(member)
        if data is not None:
            yield member.name.partition("/")[2], data.read()


def information(wheel: Built) -> str:
    return f"fake_llm-{PROJECT['version']}.dist-info"


@builds
def test_the_archives_are_named_by_the_version(wheel: Built, sdist: Built) -> None:
    name, wheel_version, _, tags = parse_wheel_filename(wheel.archive)

    assert (name, str(wheel_version)) == ("fake-llm", PROJECT["version"])
    assert {str(tag) for tag in tags} == {"py3-none-any"}
    assert parse_sdist_filename(sdist.archive) == (name, wheel_version)


@builds
def test_the_wheel_has_the_package_and_nothing_else(wheel: Built) -> None:
    source = ROOT / "src"
    package = {
        file.relative_to(source).as_posix()
        for file in (source / "fake_llm").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    about = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}

    assert wheel.files.keys() == package | {f"{information(wheel)}/{name}" for name in about}
    assert "fake_llm/py.typed" in package
    assert wheel.text(f"{information(wheel)}/licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")


@builds
def test_the_wheel_has_the_command_and_the_plugin(wheel: Built) -> None:
    entries = ConfigParser()
    entries.read_string(wheel.text(f"{information(wheel)}/entry_points.txt"))

    assert dict(entries["console_scripts"]) == {"fake-llm": "fake_llm._cli:main"}
    assert dict(entries["pytest11"]) == {"fake_llm": "fake_llm.pytest_plugin"}
    assert entries.sections() == ["console_scripts", "pytest11"]


@builds
def test_the_metadata_says_what_the_project_says(wheel: Built, sdist: Built) -> None:
    from packaging.metadata import Metadata
    from packaging.requirements import Requirement

    about = Metadata.from_email(wheel.files[f"{information(wheel)}/METADATA"], validate=True)
    wanted = {Requirement(text) for text in PROJECT["dependencies"]}
    for extra, texts in PROJECT["optional-dependencies"].items():
        wanted |= {Requirement(f"{text}; extra == {extra!r}") for text in texts}

    assert (about.name, str(about.version)) == ("fake-llm", PROJECT["version"])
    assert about.summary == PROJECT["description"]
    assert str(about.requires_python) == PROJECT["requires-python"]
    assert set(about.requires_dist or ()) == wanted
    assert set(about.provides_extra or ()) == set(PROJECT["optional-dependencies"])
    assert (about.license_expression, about.license_files) == ("MIT", ["LICENSE"])
    assert set(about.classifiers or ()) == set(PROJECT["classifiers"])
    assert (about.description_content_type, about.description) == (
        "text/markdown",
        (ROOT / "README.md").read_text(encoding="utf-8"),
    )
    assert sdist.files["PKG-INFO"] == wheel.files[f"{information(wheel)}/METADATA"]


@builds
def test_no_dependency_is_an_sdk(wheel: Built) -> None:
    about = email.message_from_bytes(wheel.files[f"{information(wheel)}/METADATA"])
    unconditional = [text for text in about.get_all("Requires-Dist", []) if "extra ==" not in text]

    assert {text.partition(">")[0] for text in unconditional} == {
        *("httpx", "jsonschema", "orjson", "respx", "responses"),
    }


@builds
@needs("readme-renderer", "comrak")
def test_the_readme_renders_on_the_index(wheel: Built) -> None:
    from readme_renderer.markdown import render

    told = io.StringIO()
    about = email.message_from_bytes(wheel.files[f"{information(wheel)}/METADATA"])
    rendered = render(str(about.get_payload()), stream=told)

    assert rendered is not None, told.getvalue()
    assert "<h1" in rendered
    assert "<table" in rendered


@builds
def test_what_the_readme_links_to_is_in_the_source_distribution(sdist: Built) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", sdist.text("README.md"))

    assert links
    assert not set(links) - sdist.files.keys()


@builds
def test_the_source_distribution_has_what_builds_tests_and_documents_it(sdist: Built) -> None:
    wanted = {
        *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "conftest.py", "pyproject.toml", "tox.ini"),
        *(".ci/run", ".ci/smoke.py", "constraints/current.txt", "docs/conf.py", "docs/index.md", "examples/README.md"),
        *("src/fake_llm/__init__.py", "src/fake_llm/py.typed", "tests/_guard.py", "tests/test_release.py"),
    }

    assert wanted <= sdist.files.keys()
    assert not [name for name in sdist.files if "__pycache__" in name or name.startswith((".tox", ".venv", "dist/"))]


@builds
def test_a_wheel_from_the_source_distribution_is_the_same(dist: Path, wheel: Built, tmp_path: Path) -> None:
    [archive] = dist.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    [folder] = tmp_path.iterdir()
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "dist")]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)

    assert (tmp_path / "dist" / wheel.archive).read_bytes() == (dist / wheel.archive).read_bytes()
