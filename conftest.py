"""Examples in the documentation are tests; the guard of the network holds for all of them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sybil import Example

pytest_plugins = ["_guard", "pytester"]


def run_block(example: Example) -> None:
    """Run a block of Python in the namespace of its page; one that defines tests is a test file of its own."""
    if "def test_" not in example.parsed and "class Test" not in example.parsed:
        code = compile("\n" * (example.line + example.parsed.line_offset) + example.parsed, example.path, "exec")
        exec(code, example.namespace)  # noqa: S102 - it's our own documentation
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "test_example.py")
        file.write_text(example.parsed)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, str(file)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise AssertionError(f"{example.path}, line {example.line}:\n{done.stdout}{done.stderr}")


if find_spec("sybil"):
    from sybil import Sybil
    from sybil.parsers.markdown import CodeBlockParser, SkipParser
    from sybil.parsers.rest import DocTestParser

    pages = Sybil(parsers=[CodeBlockParser("python", run_block), SkipParser()], patterns=["README.md", "docs/*.md"])
    docstrings = Sybil(parsers=[DocTestParser()], patterns=["src/**/*.py"])
    pytest_collect_file = (pages + docstrings).pytest()
