"""What `fake_llm` exports is listed, sorted, and shows its public name."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fake_llm


def test_the_list_is_sorted() -> None:
    assert list(fake_llm.__all__) == sorted(fake_llm.__all__)


def test_the_list_is_what_the_namespace_has() -> None:
    public = {name for name in dir(fake_llm) if not name.startswith("_")}

    assert public == set(fake_llm.__all__)
    assert public == set(fake_llm._HOMES)


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"^module 'fake_llm' has no attribute 'Nothing'$"):
        fake_llm.Nothing  # type: ignore[attr-defined]  # noqa: B018


def test_names_are_loaded_when_they_are_asked_for() -> None:
    code = "import sys, fake_llm; assert not [m for m in sys.modules if m.startswith('fake_llm.')]; fake_llm.intercept"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(fake_llm.__path__[0]).parent), *sys.path])}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.mark.parametrize("name", [name for name in fake_llm.__all__ if not name.startswith("_")])
def test_a_name_shows_where_it_is_imported_from(name: str) -> None:
    value = getattr(fake_llm, name)

    assert getattr(value, "__module__", "fake_llm") == "fake_llm"
    if inspect.isclass(value):
        assert repr(value) == f"<class 'fake_llm.{name}'>"


@pytest.mark.parametrize("name", [name for name in fake_llm.__all__ if not name.startswith("_")])
def test_a_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(fake_llm, name))


def test_quirks_are_a_module_of_their_own() -> None:
    code = "import sys, fake_llm; assert 'fake_llm.quirks' not in sys.modules; print(fake_llm.quirks.no_tool_index())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(fake_llm.__path__[0]).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "quirks.no_tool_index()\n"


def test_the_list_of_quirks_is_sorted_and_whole() -> None:
    quirks = fake_llm.quirks
    mine = {name for name, value in vars(quirks).items() if inspect.isfunction(value) and not name.startswith("_")}

    assert list(quirks.__all__) == sorted(
        mine & {name for name in mine if getattr(quirks, name).__module__ == quirks.__name__}
    )
    assert all(inspect.getdoc(getattr(quirks, name)) for name in quirks.__all__)
