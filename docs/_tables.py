"""The tables of the reference, made from the code when the pages are built; `conf.py` has the directive."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import runpy
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from fake_llm import Error, _tables, intercept, pytest_plugin
from fake_llm._dialect import Asked, Dialect, Exchange, Ids
from fake_llm._endpoints import ERRANDS, PROVIDERS, Errand, Provider
from fake_llm._model import Headers, Request
from fake_llm._options import BlockOptions, Options
from fake_llm._render import render_error
from fake_llm._turns import ERROR_NAMES, PART_TYPES, Structured

__all__ = ["TABLES", "markdown"]

Table = tuple[Sequence[str], list[Sequence[str]]]
"""The titles of the columns, and the rows."""


def markdown(name: str) -> str:
    """A table as Markdown."""
    titles, rows = TABLES[name]()
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


# --- hosts --------------------------------------------------------------------------------------


def hosts() -> Table:
    """The providers that are answered, each with its hosts and what its chat endpoints speak."""
    rows = [
        (f"`{provider.name}`", _codes(provider.hosts), ", ".join(_vocabularies(provider)), _codes(provider.base_urls))
        for provider in _tables.answered()
    ]
    return ("provider", "hosts", "chat speaks", "a base URL of your own from"), rows


def refused() -> Table:
    """The providers that are known and refused."""
    return ("provider", "hosts"), [(f"`{provider.name}`", _codes(provider.hosts)) for provider in _tables.refused()]


def endpoints() -> Table:
    """Every path of every provider."""
    rows = [
        (
            f"`{row.provider}`",
            f"`{row.method} {row.path}`",
            f"`{row.operation}`",
            row.dialect,
            row.streams_as,
            f"`fake.{row.kept_in}`",
        )
        for row in _tables.rows()
    ]
    return ("provider", "path", "operation", "speaks", "streams as", "kept in"), rows


def errands() -> Table:
    """What SDKs and frameworks do on other hosts, and what becomes of it."""
    rows = [
        (errand.what, errand.who, _codes(errand.hosts), _becomes(errand), f"`{errand.off}`" if errand.off else "")
        for errand in ERRANDS
    ]
    return ("errand", "who runs it", "where", "in a block", "turned off by"), rows


def _becomes(errand: Errand) -> str:
    if errand.lender is None:
        return "passed on"
    refused = errand.lender.name == "metadata"
    return "refused at once" if refused else "answered with a dummy token"


def _vocabularies(provider: Provider) -> list[str]:
    return list(dict.fromkeys(row.dialect.label for row in provider.endpoints if row.operation == "chat"))


def _codes(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


# --- turns --------------------------------------------------------------------------------------


def turns() -> Table:
    """What the model can say in a chat, and which vocabulary can carry it."""
    dialects = _chat()
    rows: list[Sequence[str]] = [
        (_WRITTEN.get(part.__name__, f"`{part.__name__}`"), *(_mark(_carries(dialect, part)) for dialect in dialects))
        for part in PART_TYPES
        if any(_carries(dialect, part) for dialect in dialects)  # an Embedding is no part of a chat
    ]
    rows.append(("`Reply(…, choices=[…])`", *(_mark(dialect.choices) for dialect in dialects)))
    return ("a turn with", *(dialect.label for dialect in dialects)), rows


_WRITTEN = {"str": '`"text"`', "Structured": "a dict, a model, a dataclass"}


def _chat() -> list[Dialect]:
    """The vocabularies of generation."""
    return list(
        {
            row.dialect.name: row.dialect
            for provider in PROVIDERS
            for row in provider.endpoints
            if row.operation == "chat"
        }.values()
    )


def _carries(dialect: Dialect, part: type) -> bool:
    becomes = str if part is Structured or part.__name__ == "Json" else part  # JSON text, or the arguments of a call
    return becomes in dialect.carries


def _mark(yes: bool) -> str:
    return "yes" if yes else "no"


def errors() -> Table:
    """The status that each vocabulary gives to each name of an `Error`."""
    dialects = _chat()
    rows = [
        (f'`Error("{name}")`', *(str(_status(dialect, Error(name))) for dialect in dialects)) for name in ERROR_NAMES
    ]
    return ("written", *(dialect.label for dialect in dialects)), rows


def _status(dialect: Dialect, error: Error) -> int:
    provider, endpoint = next(
        (provider, endpoint)
        for provider in PROVIDERS
        for endpoint in provider.endpoints
        if endpoint.dialect is dialect and endpoint.operation == "chat"
    )
    url = f"https://{provider.hosts[0]}{provider.prefix}{endpoint.path}"
    asked = Asked(Request("POST", url, Headers(), b"{}", "httpx"), dialect, {})
    return render_error(error, Exchange(provider.name, asked, Ids(b""), ""), endpoint).status


# --- options ------------------------------------------------------------------------------------


def options() -> Table:
    """The options of a block, with their types, defaults and what `intercept` says of them."""
    fields = {item.name: item for item in dataclasses.fields(Options) if item.init}
    rows = [
        (
            _codes(names),
            _codes(dict.fromkeys(_type(name) for name in names)),
            _codes(dict.fromkeys(_default(fields[name]) for name in names)),
            text,
        )
        for names, text in _told()
    ]
    return ("option", "type", "default", "what it does"), rows


_ITEM = re.compile(r"- (?P<names>`\w+`(?:, `\w+`)*)(?: \(.*?\))?: (?P<text>.*?)(?=\n- |\Z)", re.DOTALL)


def _told() -> Iterator[tuple[list[str], str]]:
    """What the docstring of `intercept` says of the options; some share a line."""
    listed = (inspect.getdoc(intercept) or "").partition("All by keyword:")[2].partition("\n\nRaises:")[0]
    for item in _ITEM.finditer(inspect.cleandoc(listed)):
        text = " ".join(item["text"].split())
        yield re.findall(r"\w+", item["names"]), text[0].upper() + text[1:]


def _type(name: str) -> str:
    annotation = BlockOptions.__annotations__[name]
    return getattr(annotation, "__forward_arg__", str(annotation))


def _default(item: dataclasses.Field[object]) -> str:
    factory = item.default_factory
    return repr(item.default if factory is dataclasses.MISSING else factory())


def ini() -> Table:
    """The options that the plugin reads from the ini file."""
    rows = [
        (f"`fake_llm_{name}`", f"`{option.kind}`", f"{option.says[0].upper()}{option.says[1:]}.", f"`{option.example}`")
        for name, option in pytest_plugin._OPTIONS.items()
    ]
    return ("option", "kind", "what it says", "for example"), rows


# --- coexistence --------------------------------------------------------------------------------

OUTCOMES = Path(__file__).resolve().parents[1] / "tests" / "coexistence" / "_outcomes.py"


def coexistence() -> Table:
    """Other libraries in a call's way: the rows that the tests judge."""
    rows = runpy.run_path(str(OUTCOMES))["ROWS"]
    return ("beside", "on", "theirs entered first", "the block entered first", "how"), [
        (row.name, _codes(row.clients), row.theirs_first, row.ours_first, row.how) for row in rows
    ]


# --- examples -----------------------------------------------------------------------------------

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def examples() -> Table:
    """The examples, each with the first sentence of its docstring."""
    rows = [
        (f"{{download}}`{file.name} </../examples/{file.name}>`", _first_paragraph(file))
        for file in sorted(EXAMPLES.glob("test_*.py"))
    ]
    return ("file", "what it shows"), rows


def _first_paragraph(file: Path) -> str:
    return " ".join((ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n\n")[0].split())


TABLES: dict[str, Callable[[], Table]] = {
    "hosts": hosts,
    "refused": refused,
    "endpoints": endpoints,
    "errands": errands,
    "turns": turns,
    "errors": errors,
    "options": options,
    "ini": ini,
    "coexistence": coexistence,
    "examples": examples,
}
