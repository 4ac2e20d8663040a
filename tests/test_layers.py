"""Imports go one way, and `import fake_llm` loads no HTTP library."""

from __future__ import annotations

import ast
import functools
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_llm._endpoints import DIALECTS, PROVIDERS

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCE / "fake_llm"

LAYERS = (
    ("_public", "_witness"),
    ("_errors", "_json"),
    ("_model",),
    ("_form", "_spots", "_turns"),
    ("_dialect", "_options"),
    ("_claude_blocks", "_failures", "_gemini_signatures", "_response_tools", "quirks"),
    ("_framing", "_dialects", "_differences", "_validate", "_schema", "_auto", "_tokens", "_vectors"),
    ("_services",),
    ("_endpoints",),
    ("_routes",),
    ("_call", "_explain", "_render", "_script", "_tables", "_tested", "_transcript"),
    ("_environment", "_backoff", "_coexist", "_guard", "_install", "_place", "_tracing"),
    ("_blocks",),
    ("_mount",),
    ("_stencils",),
    ("_fake",),
    ("_intercept", "sweep"),
    ("pytest_plugin", "_cli", "_demo", "_doctor", "__main__"),
)
"""A module imports from layers above it in this list, or from its own; folders count as one layer."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

OWN_LIBRARIES = {
    "httpx": {"httpx", "httpx2", "httpcore", "httpcore2"},
    "requests": {"requests", "urllib3"},
    "urllib3": {"urllib3"},
    "botocore": {"botocore", "urllib3"},
    "aiohttp": {"aiohttp", "multidict", "yarl"},
    "lm15": set(),  # it is passed in, whichever copy of it is there
    "respx": {"httpx", "respx"},
    "responses": {"requests", "responses"},
}
"""What a stack may import beside `_model` and the contract in `_stacks/__init__.py`; one without a row: the library it is named after."""

CORE_LIBRARIES = {"jsonschema", "orjson", "referencing", "rich"}

NOT_LOADED = (
    *("aiohttp", "boto3", "botocore", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3"),
    *("jsonschema", "pydantic", "pytest", "respx", "responses", "rich"),
    *("anthropic", "cohere", "google.genai", "groq", "huggingface_hub", "litellm", "mistralai", "ollama", "openai"),
    "together",
)


def modules() -> dict[str, Path]:
    """Dotted names inside the package, such as `_dialects.anthropic`, with their files."""
    found = {".".join(file.relative_to(PACKAGE).with_suffix("").parts): file for file in PACKAGE.rglob("*.py")}
    return {name: file for name, file in found.items() if name != "__init__"}


@functools.cache
def parsed(file: Path) -> ast.Module:
    """The syntax tree, made without a garbage collection: what that finalises can make CPython 3.11 fail to make it."""
    gc.disable()
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    finally:
        gc.enable()


@functools.cache
def imported(file: Path) -> tuple[str, ...]:
    """Every module that a file imports, wherever in it but for types: absolute dotted names, `import_module` too."""
    return tuple(_imported(file))


def _imported(file: Path) -> Iterator[str]:
    package = ".".join(file.relative_to(SOURCE).parent.parts)
    for node in running(parsed(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}" if is_module(f"{base}.{alias.name}") else base
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))


def running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below this one without the blocks that only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from running(child)


def is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def inside(file: Path) -> set[str]:
    """What a file imports of the package, as `_dialects.anthropic`; `""` is the package itself."""
    names = (name for name in imported(file) if name.partition(".")[0] == "fake_llm")
    return {name.partition(".")[2] for name in names}


def outside(file: Path) -> set[str]:
    """The top-level names of what a file imports that is neither ours nor of the standard library."""
    names = {name.partition(".")[0] for name in imported(file)}
    return {name for name in names if name not in sys.stdlib_module_names and name != "fake_llm"}


def layer(module: str) -> str:
    return module.partition(".")[0]


def of(*layers: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("module", sorted(name for name in modules() if layer(name) in layers))


CORE = [name for names in LAYERS[: RANK["_guard"]] for name in names]


@pytest.mark.parametrize("module", sorted(modules()))
def test_a_module_has_a_layer(module: str) -> None:
    assert layer(module) in {*RANK, "_stacks"}, f"say in LAYERS where {module} belongs"


@of(*RANK)
def test_imports_go_one_way(module: str) -> None:
    rank = RANK[layer(module)]
    used = inside(modules()[module])

    assert not {name for name in used if RANK.get(layer(name), -1) > rank}
    if layer(module) not in LAYERS[-1]:
        assert "" not in used, "imports from the package's front door"
    if layer(module) in CORE:
        assert "_stacks" not in {layer(name) for name in used}


def test_no_import_is_circular() -> None:
    graph = {name: inside(file) & modules().keys() for name, file in modules().items()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path, name))
        if name not in done:
            for next_name in sorted(graph[name]):
                visit(next_name, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())


@of("_dialects")
def test_a_dialect_knows_neither_siblings_nor_framings_nor_stacks(module: str) -> None:
    used = {layer(name) for name in inside(modules()[module])}

    assert used.isdisjoint({"_dialects", "_framing", "_services", "_stacks"})


@of("_stacks")
def test_a_stack_knows_the_model_its_contract_and_its_own_library(module: str) -> None:
    name = module.rpartition(".")[2].lstrip("_")

    assert inside(modules()[module]) <= {"_model", "_stacks", "_stacks._urllib3"}
    assert outside(modules()[module]) <= OWN_LIBRARIES.get(name, {name})


@of(*CORE)
def test_the_core_knows_no_http_library(module: str) -> None:
    assert outside(modules()[module]) <= CORE_LIBRARIES


def test_import_loads_no_http_library_and_no_sdk() -> None:
    code = f"import json, sys, fake_llm; print(json.dumps([n for n in {NOT_LOADED!r} if n in sys.modules]))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert json.loads(done.stdout) == []


@of("_fake", "_script", "_render", "_framing", "_call")
def test_the_core_names_no_vendor(module: str) -> None:
    """What is a vendor's own stands in its rows, its differences and its dialects."""
    names = {provider.name for provider in PROVIDERS} | DIALECTS.keys()
    said = {node.value for node in ast.walk(parsed(modules()[module])) if isinstance(node, ast.Constant)}

    assert said.isdisjoint(names)
