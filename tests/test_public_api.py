"""What `fake_llm` exports is listed, sorted, and shows its public name."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import fake_llm


def test_the_list_is_sorted() -> None:
    assert list(fake_llm.__all__) == sorted(fake_llm.__all__)


def test_the_list_is_what_the_namespace_has() -> None:
    public = {
        name
        for name, value in vars(fake_llm).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }

    assert public == {name for name in fake_llm.__all__ if not name.startswith("_")}


@pytest.mark.parametrize("name", [name for name in fake_llm.__all__ if not name.startswith("_")])
def test_a_name_shows_where_it_is_imported_from(name: str) -> None:
    value = getattr(fake_llm, name)

    assert getattr(value, "__module__", "fake_llm") == "fake_llm"
    if inspect.isclass(value):
        assert repr(value) == f"<class 'fake_llm.{name}'>"


@pytest.mark.parametrize("name", [name for name in fake_llm.__all__ if not name.startswith("_")])
def test_a_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(fake_llm, name))
