"""Every case that people have told is a test here, by its id."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from _shared import needs_shared, shared_dir


def ids() -> set[str]:
    """The ids in the names of the tests of this folder, as its files are written."""
    names = [
        node.name
        for file in Path(__file__).parent.glob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    ]
    return {name.split("_")[1] for name in names if name.count("_") > 1}


@needs_shared
def test_each_case_has_a_test() -> None:
    folder = shared_dir()
    assert folder is not None
    told = [
        json.loads(line)["id"] for line in (folder / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    missing = sorted({*told} - ids())
    assert told
    assert not missing, f"cases without a test: {', '.join(missing)}"
