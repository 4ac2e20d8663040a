"""What the pages have from the code: tables, lists and texts, each between two comments.

`python docs/_tables.py` lists the pages that are out of step with the code, and with `--write` puts them in step.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fake_llm
from fake_llm import Error, _errors, _tables, intercept, pytest_plugin
from fake_llm._dialect import Asked, Dialect, Exchange, Ids
from fake_llm._endpoints import ERRANDS, PROVIDERS, Errand, Provider
from fake_llm._model import Headers, Request
from fake_llm._options import BlockOptions, Options
from fake_llm._render import render_error
from fake_llm._turns import ERROR_NAMES, PART_TYPES, Auto, Embedding, Structured

__all__ = ["MADE", "TABLES", "markdown", "out_of_step", "renewed"]

Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""The titles of the columns, and the rows."""


def markdown(name: str) -> str:
    """A table as Markdown."""
    return _lines(*TABLES[name]())


def _lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


# --- the pages ----------------------------------------------------------------------------------

DOCS = Path(__file__).resolve().parent
BETWEEN = re.compile(
    r"(?P<begin><!-- made by docs/_tables\.py: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def renewed(text: str) -> str:
    """A page with what stands between its comments made anew."""
    return BETWEEN.sub(lambda found: f"{found['begin']}\n{MADE[found['name']]()}\n\n{found['end']}", text)


def out_of_step(*, write: bool = False) -> list[str]:
    """The pages that don't say what the code says; with `write` they do afterwards."""
    found = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := renewed(text)) != text:
            found.append(page.relative_to(DOCS).as_posix())
            if write:
                page.write_text(new, encoding="utf-8")
    return found


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


def credentials() -> Table:
    """The dummies that stand in the environment while a block is open, by the SDK that wants them."""
    rows = [
        (f"`{module}`", f"`{provider.name}`", f"`{variable}`", _dummy(dummy), _codes(others))
        for provider in PROVIDERS
        for module, variable, dummy, others in provider.credentials
    ]
    return ("SDK", "provider", "variable", "dummy", "not where this is set"), rows


def _dummy(value: str) -> str:
    """A file is named without the folder that this machine has it in."""
    return f"the path of a file: `{Path(value).name}`" if Path(value).is_absolute() else f"`{value}`"


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
        if part not in (Embedding, Auto)  # no part of a chat, and what every chat can carry
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


# --- what SDKs raise ----------------------------------------------------------------------------

RAISED = Path(__file__).resolve().parents[1] / "tests" / "sdk" / "raised.json"
ON_HOSTS = "openai on "
PINS = tuple(DOCS.parent / "constraints" / f"{name}.txt" for name in ("current", "natives", "frameworks-hosts"))
"""The environments in which the tests of SDKs run, and so hold these rows; an SDK is in the first of them that has it."""


def raised() -> str:
    """A section for each SDK: what it raises for each name of an `Error`, as the tests judge it."""
    rows = json.loads(RAISED.read_text())
    return "\n\n".join(
        f"### {name}\n\nWith {_measured(row['needs'])}.\n\n{_lines(*_raised(row['errors']))}"
        for name, row in rows.items()
        if not name.startswith(ON_HOSTS)
    )


def _measured(needs: str) -> str:
    """An SDK in the version that the tests are run with: `needs` says only from which one on its classes are these."""
    wanted = Requirement(needs)
    for file in PINS:
        for pinned in re.findall(r"^[\w.-]+==[^\s;]+", file.read_text(), re.MULTILINE):
            name, _, version = pinned.partition("==")
            if canonicalize_name(name) == canonicalize_name(wanted.name) and wanted.specifier.contains(
                version, prereleases=True
            ):
                return f"{wanted.name} {version}"
    raise LookupError(f"no file of {', '.join(file.name for file in PINS)} pins {needs}")


def _raised(errors: dict[str, list[dict[str, Any]]]) -> Table:
    rows = [
        (f'`Error("{name}")`', _exception(whole), str(whole["status"]), _attributes(whole), _in_a_stream(whole, stream))
        for name, (whole, stream) in errors.items()
    ]
    return ("written", "raised", "status", "says", "inside a stream"), rows


def _exception(outcome: dict[str, Any]) -> str:
    return "nothing" if outcome["class"] is None else f"`{outcome['class']}`"


_SAID = {"code": "code", "type": "type", "param": "param", "word": "status"}


def _attributes(outcome: dict[str, Any]) -> str:
    said = [
        f"{_SAID[name]}={value!r}" for name, value in outcome.items() if name in _SAID and value != outcome["class"]
    ]
    return _codes(word.replace("'", '"') for word in said)


def _in_a_stream(whole: dict[str, Any], stream: dict[str, Any]) -> str:
    said = [_exception(stream)]
    if "status" in stream:
        said.append(str(stream["status"]))
    if (attributes := _attributes(stream)) and attributes != _attributes(whole):
        said.append(attributes)
    if stream.get("finish"):
        said.append(f"and the answer ends with `{stream['finish']}`")
    return " ".join(said)


def raised_on_hosts() -> Table:
    """The status that openai's SDK raises on each other host."""
    rows = json.loads(RAISED.read_text())
    found = []
    for name, row in rows.items():
        if name.startswith(ON_HOSTS):
            streams = dict.fromkeys(_exception(stream) for _, stream in row["errors"].values())
            statuses = (str(whole["status"]) for whole, _ in row["errors"].values())
            found.append((f"`{name.removeprefix(ON_HOSTS)}`", *statuses, " or ".join(streams)))
    return ("host", *(f"`{name}`" for name in ERROR_NAMES), "inside a stream"), found


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
        for name, option in pytest_plugin._INI_OPTIONS.items()
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


# --- faults -------------------------------------------------------------------------------------

FAULTS = Path(__file__).resolve().parents[1] / "tests" / "sdk" / "_fault_outcomes.json"


def faults(table: str) -> Table:
    """What each SDK makes of each fault: the outcomes that the tests hold."""
    columns = json.loads(FAULTS.read_text(encoding="utf-8"))
    rows = list(next(iter(columns.values()))[table])
    return ("written", *columns), [(f"`{row}`", *(column[table][row] for column in columns.values())) for row in rows]


# --- examples -----------------------------------------------------------------------------------

EXAMPLES = DOCS.parent / "examples"


def examples() -> Table:
    """The examples, each with the first sentence of its docstring."""
    rows = [
        (f"[`{file.name}`]({os.path.relpath(file, DOCS / 'how-to')})", _first_paragraph(file))
        for file in sorted(EXAMPLES.glob("test_*.py"))
    ]
    return ("file", "what it shows"), rows


def _first_paragraph(file: Path) -> str:
    return " ".join((ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n\n")[0].split())


# --- names and texts ----------------------------------------------------------------------------


def names() -> Table:
    """Every public name with the first paragraph of its docstring."""
    rows = [(f"`{name}`", _lead(getattr(fake_llm, name))) for name in fake_llm.__all__]
    return ("name", "what it is"), rows


def _lead(what: object) -> str:
    return " ".join((inspect.getdoc(what) or "").partition("\n\n")[0].split())


def _prose(module: object) -> str:
    """A docstring after its first paragraph; `::` is a colon in Markdown, what is indented is code in both."""
    text = (inspect.getdoc(module) or "").partition("\n\n")[2]
    return re.sub(r"^:\n\n", "", re.sub(r"::$", ":", text, flags=re.MULTILINE))


TABLES: dict[str, Callable[[], Table]] = {
    "hosts": hosts,
    "refused": refused,
    "endpoints": endpoints,
    "errands": errands,
    "credentials": credentials,
    "turns": turns,
    "errors": errors,
    "raised-on-hosts": raised_on_hosts,
    "options": options,
    "ini": ini,
    "coexistence": coexistence,
    "faults-no-answer": partial(faults, "no answer"),
    "faults-whole": partial(faults, "whole"),
    "faults-streamed": partial(faults, "streamed"),
    "examples": examples,
    "names": names,
}

MADE: dict[str, Callable[[], str]] = {
    **{name: partial(markdown, name) for name in TABLES},
    "raised": raised,
    "exceptions": partial(_prose, _errors),
    "plugin": partial(_prose, pytest_plugin),
}
"""What can stand between the comments, by the name in the first of them."""


if __name__ == "__main__":
    WRITE = sys.argv[1:] == ["--write"]
    pages = out_of_step(write=WRITE)
    sys.stdout.writelines(f"{'written' if WRITE else 'out of step'}: docs/{page}\n" for page in pages)
    sys.exit(bool(pages) and not WRITE)
