"""Sphinx: pages in Markdown, the reference from the docstrings."""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "fake_llm"
author = "fake_llm contributors"
copyright = "fake_llm contributors"  # noqa: A001 - Sphinx's own name
release = version_of("fake-llm")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
default_role = "code"
myst_heading_anchors = 3
napoleon_use_ivar = True
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}

html_theme = "furo"
html_title = "fake_llm"
