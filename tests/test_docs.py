"""The documentation is whole: every name, every option and every host is in it, every page is reached, every block is run."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import fake_llm
from fake_llm import Audio, Citation, Image, Refusal, ServerTool, Thinking, ToolCall
from fake_llm._endpoints import PROVIDERS, Endpoint
from fake_llm._mount import SDKS
from fake_llm._options import BlockOptions
from fake_llm._turns import ERROR_NAMES

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md") if "_build" not in path.parts)
KINDS = ("tutorial", "how-to", "reference", "explanation", "migration")

NOT_RUN = {"migration/openai-responses.md": ["openai-responses 0.13.1 needs openai below 3"]}
"""Blocks that can't be run, by page, each with the reason that stands there; the page says it in its text too."""

RUN = frozenset({"python", "toml", "console"})
"""The languages that the root `conftest.py` runs or writes; a console's other commands are installations."""

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?:#[^)]*)?\)")


def text_of(page: Path) -> str:
    return (DOCS / page).read_text()


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each block of code; directives left out."""
    for found in FENCE.finditer(text_of(page)):
        if not found["info"].startswith("{"):
            yield found["info"].strip(), found["text"]


def toctree(page: Path) -> Iterator[str]:
    """The pages that a page's toctrees name."""
    for found in FENCE.finditer(text_of(page)):
        if found["info"].strip() == "{toctree}":
            yield from (line for line in found["text"].splitlines() if line and not line.startswith(":"))


def tables() -> ModuleType:
    """The module that makes the tables of the reference; it needs no Sphinx."""
    spec = importlib.util.spec_from_file_location("_docs_tables", DOCS / "_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = tables()


def endpoints() -> list[Endpoint]:
    return [endpoint for provider in PROVIDERS for endpoint in provider.endpoints]


def column(name: str, index: int = 0) -> str:
    return " ".join(row[index] for row in TABLES.TABLES[name]()[1])


def words(text: str) -> set[str]:
    """What stands between backticks."""
    return set(re.findall(r"`([^`]+)`", text))


# --- the pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_page_is_in_the_toctree_of_the_index(page: Path) -> None:
    if page == Path("index.md"):
        assert len(list(toctree(page))) == len(PAGES) - 1
    else:
        assert page.with_suffix("").as_posix() in list(toctree(Path("index.md")))


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_pages_of_each_kind(kind: str) -> None:
    assert any(page.parts[0] == kind for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_to_files(page: Path) -> None:
    for found in LINK.finditer(FENCE.sub("", text_of(page))):
        target = found["target"]
        if "://" not in target:
            assert (DOCS / page.parent / target).is_file(), target


@pytest.mark.parametrize("kind", ["tutorial", "how-to", "reference", "migration"])
def test_the_readme_leads_to_every_page(kind: str) -> None:
    linked = set(re.findall(rf"\(docs/{kind}/([\w-]+\.md)\)", (ROOT / "README.md").read_text()))
    elsewhere = {"examples.md", "index.md"}  # examples/README.md is linked, and the index is the README's own list
    assert linked == {page.name for page in PAGES if page.parts[0] == kind} - elsewhere


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_block_is_run(page: Path) -> None:
    """Nothing but the languages that are run, and no block that is passed over but those listed above."""
    skipped = re.findall(r"<!--\s*skip[^\"]*\"([^\"]*)\"", text_of(page))
    assert {language for language, _ in blocks(page)} <= RUN
    assert skipped == NOT_RUN.get(page.as_posix(), [])
    assert len(re.findall(r"<!--\s*skip", text_of(page))) == len(skipped)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_pages_that_show_code_assert_something(page: Path) -> None:
    code = [text for language, text in blocks(page) if language == "python"]
    if code:
        assert any("assert" in text for text in code)
        assert not any("print(" in text for text in code), "what is printed isn't compared"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_test_that_fails_is_followed_by_a_console_that_shows_it(page: Path) -> None:
    for part in text_of(page).split("<!-- fails -->")[1:]:
        first, second = list(FENCE.finditer(part))[:2]
        named = re.match(r"# (test_\w+\.py)\n", first["text"])
        assert named is not None
        assert second["info"] == "console"
        assert second["text"].startswith("$ pytest ")
        assert named[1] in second["text"].splitlines()[0]
        assert re.search("^E  ", second["text"], re.MULTILINE), "a console that shows no failure"


@pytest.mark.parametrize("page", [page for page in PAGES if page.parts[0] == "migration"], ids=str)
def test_a_migration_shows_both_versions(page: Path) -> None:
    text = text_of(page)
    assert re.search(r"^Before[,:]", text, re.MULTILINE)
    assert re.search(r"^After[,:]", text, re.MULTILINE)
    assert "## Side by side" in text


# --- the reference ------------------------------------------------------------------------------


def test_every_public_name_is_in_the_reference() -> None:
    named = re.findall(
        r"^\.\. auto(?:class|function|exception|module):: (?:fake_llm\.)?(\w+)$",
        text_of(Path("reference/api.md")),
        re.MULTILINE,
    )
    assert sorted(named) == sorted(fake_llm.__all__)
    assert [row[0] for row in TABLES.TABLES["names"]()[1]] == [f"`{name}`" for name in fake_llm.__all__]
    assert all(row[1].endswith(".") for row in TABLES.TABLES["names"]()[1])


def test_everything_made_is_on_a_page_and_nothing_else() -> None:
    used = [name for page in PAGES for name in re.findall(r"<!-- made by docs/_tables\.py: (.+?) -->", text_of(page))]
    assert sorted(used) == sorted(TABLES.MADE)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_what_is_made_from_the_code_says_what_the_code_says(page: Path) -> None:
    assert TABLES.renewed(text_of(page)) == text_of(page), "run: python docs/_tables.py --write"
    assert len(re.findall("<!-- made by", text_of(page))) == len(TABLES.BETWEEN.findall(text_of(page)))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_page_knows_the_machine_it_was_made_on(page: Path) -> None:
    assert str(Path(fake_llm.__file__).parent) not in text_of(page)
    assert str(Path.home()) + "/" not in text_of(page)


def test_a_page_that_drifted_is_found_and_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TABLES, "DOCS", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- made by docs/_tables.py: refused -->\n| old |\n<!-- end -->\n\nafter\n")

    assert TABLES.out_of_step() == ["page.md"]
    assert TABLES.out_of_step(write=True) == ["page.md"]
    assert TABLES.out_of_step() == []

    table = TABLES.markdown("refused")
    wanted = f"before\n\n<!-- made by docs/_tables.py: refused -->\n\n{table}\n\n<!-- end -->\n\nafter\n"
    assert page.read_text() == wanted


@pytest.mark.parametrize("name", TABLES.TABLES)
def test_tables_have_rows_as_wide_as_their_titles(name: str) -> None:
    titles, rows = TABLES.TABLES[name]()
    assert rows
    assert {len(row) for row in rows} == {len(titles)}
    lines = TABLES.markdown(name).splitlines()
    assert len(lines) == len(rows) + 2
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(titles) + 1}


def test_the_tables_have_every_host() -> None:
    hosts = words(column("hosts", 1)) | words(column("refused", 1))
    assert hosts == {host for provider in PROVIDERS for host in provider.hosts}
    assert words(column("hosts")).isdisjoint(words(column("refused")))


def test_every_sdk_whose_clients_can_be_mounted_is_named() -> None:
    page = (DOCS / "how-to" / "mount.md").read_text(encoding="utf-8")
    for text in (page, fake_llm.FakeLLM.mount.__doc__ or ""):
        named = {module for module in SDKS if re.search(rf"\b{module.replace('.', '-')}\b", text)}
        assert named == set(SDKS)


def test_the_table_of_keys_has_every_dummy() -> None:
    said = sorted((module, variable) for module, _, variable, *_ in TABLES.TABLES["credentials"]()[1])
    assert said == sorted((f"`{row[0]}`", f"`{row[1]}`") for provider in PROVIDERS for row in provider.credentials)


def test_the_table_of_paths_has_every_endpoint() -> None:
    assert len(TABLES.TABLES["endpoints"]()[1]) == len(endpoints())


def test_the_table_of_turns_says_what_the_dialects_carry() -> None:
    titles, rows = TABLES.TABLES["turns"]()
    chat = list({row.dialect.name: row.dialect for row in endpoints() if row.operation == "chat"}.values())
    assert list(titles[1:]) == [dialect.label for dialect in chat]
    cells = {row[0]: dict(zip(titles[1:], row[1:], strict=True)) for row in rows}
    for part in (ToolCall, Thinking, Refusal, Image, Audio, Citation, ServerTool):
        for dialect in chat:
            assert cells[f"`{part.__name__}`"][dialect.label] == ("yes" if part in dialect.carries else "no")
    assert set(cells["`Json`"].values()) == set(cells['`"text"`'].values()) == {"yes"}
    assert len({row[1:] for row in rows}) > 1, "a table whose rows are all the same"


def test_the_table_of_errors_has_every_name() -> None:
    assert words(column("errors")) == {f'Error("{name}")' for name in ERROR_NAMES}
    titles, rows = TABLES.TABLES["errors"]()
    [overloaded] = [dict(zip(titles, row, strict=True)) for row in rows if "overloaded" in row[0]]
    assert (overloaded["Anthropic messages"], overloaded["OpenAI chat"]) == ("529", "503")


def test_the_table_of_options_has_every_option() -> None:
    assert words(column("options")) == set(BlockOptions.__annotations__)
    assert all(row[3].endswith(".") for row in TABLES.TABLES["options"]()[1])


def test_the_table_of_the_ini_file_has_every_option_that_a_text_can_say() -> None:
    said = {name.removeprefix("fake_llm_") for name in words(column("ini"))}
    of_a_run = {"forbid"}
    assert said <= set(BlockOptions.__annotations__) | of_a_run
    assert set(BlockOptions.__annotations__) - said == {"usage", "framing", "cost"}


def test_the_table_of_examples_has_every_file() -> None:
    files = {path.name for path in (ROOT / "examples").glob("test_*.py")}
    assert {file.partition(" ")[0] for file in re.findall("`(test_.*?)`", column("examples"))} == files
    assert all(row[1].endswith(".") for row in TABLES.TABLES["examples"]()[1])


def test_every_quirk_is_on_its_page() -> None:
    named = set(re.findall(r"quirks\.(\w+)\(", text_of(Path("how-to/quirks.md"))))
    assert named >= set(fake_llm.quirks.__all__)
