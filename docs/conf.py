"""Sphinx: pages in Markdown, the reference from the docstrings."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parent))

from _tables import markdown

if TYPE_CHECKING:
    from docutils.nodes import Node
    from sphinx.application import Sphinx

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


class TableOf(SphinxDirective):
    """A table made from the code: its name is the one argument."""

    required_arguments = 1

    def run(self) -> list[Node]:
        """The table as the page would have it in Markdown."""
        return self.parse_text_to_nodes(markdown(self.arguments[0]))


def setup(app: Sphinx) -> dict[str, Any]:
    """Sphinx calls this when the configuration has been read."""
    app.add_directive("table-of", TableOf)
    return {"parallel_read_safe": True}
