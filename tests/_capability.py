"""What a test needs beyond the declared dependencies; where it isn't installed, the test is skipped.

::

    openai = load("openai>=3")          # a whole module needs it
    @needs("anthropic", "httpx2")       # one test or class does
"""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

import pytest
from packaging.requirements import Requirement

__all__ = ["has", "load", "needs"]


def has(requirement: str) -> bool:
    """Whether this distribution is installed in a version that fits, as in `has("openai>=3")`."""
    wanted = Requirement(requirement)
    try:
        return wanted.specifier.contains(version(wanted.name), prereleases=True)
    except PackageNotFoundError:
        return False


def needs(*requirements: str) -> pytest.MarkDecorator:
    """Skip a test where one of these distributions is missing or of another generation."""
    missing = [requirement for requirement in requirements if not has(requirement)]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def load(requirement: str, module: str | None = None) -> ModuleType:
    """Import a distribution's module, or skip the whole test module that asks for it.

    Args:
        requirement: The distribution, as in `google-genai>=3`.
        module: The module where it isn't named like the distribution.
    """
    if not has(requirement):
        pytest.skip(f"needs {requirement}", allow_module_level=True)
    return importlib.import_module(module or Requirement(requirement).name.replace("-", "_"))
