"""The command `fake-llm`: what it prints, and what it exits with."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from _capability import has, needs
from fake_llm import _cli, _doctor
from fake_llm._cli import main
from fake_llm._doctor import Library
from fake_llm._endpoints import PROVIDERS
from fake_llm._stacks import STACKS
from fake_llm._tested import TESTED

ROOT = Path(__file__).resolve().parents[1]
HTTPX = next(library for library in _doctor.LIBRARIES if library.distribution == "httpx")


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "fake_llm", *arguments],
        env=os.environ | {"PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# --- the command --------------------------------------------------------------------------------


def test_it_runs_as_a_module() -> None:
    done = command("providers", "anthropic", "--operation", "chat")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "anthropic: api.anthropic.com\n  chat  POST /v1/messages  Anthropic messages  server-sent events\n\n"
    )


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])

    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert all(re.search(rf"^    {name}\b", said, re.MULTILINE) for name in ("demo", "doctor", "providers"))


@pytest.mark.parametrize("arguments", [[], ["heal"], ["doctor", "--fast"]])
def test_what_is_no_command_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    assert "usage: fake-llm" in capsys.readouterr().err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert re.fullmatch(r"fake-llm( \d+\.\d+\.\d+|, not installed)\n", capsys.readouterr().out)


def test_a_reader_that_has_enough_gets_no_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "from fake_llm._cli import main; import sys; sys.exit(main(['providers']))"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


# --- providers ----------------------------------------------------------------------------------


def test_every_provider_and_endpoint_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers"]) == 0

    said = capsys.readouterr().out
    answered, refused = said.split("Known and refused:\n")
    blocks = dict(block.split(": ", 1) for block in answered.strip().split("\n\n"))
    assert list(blocks) == [provider.name for provider in PROVIDERS if provider.endpoints]
    for provider in PROVIDERS:
        if provider.endpoints:
            hosts, *lines = blocks[provider.name].splitlines()
            assert hosts.split(", ") == list(provider.hosts)
            assert len(lines) == len(provider.endpoints)
            for endpoint, line in zip(provider.endpoints, lines, strict=True):
                assert line.split()[:3] == [
                    endpoint.operation,
                    endpoint.method,
                    provider.prefix_of(endpoint) + endpoint.path,
                ]
                assert line.endswith((" events", " array", " lines", " stream")) == (endpoint.wire is not None)
    assert refused.splitlines() == [
        f"  {provider.name}: {', '.join(provider.hosts)}" for provider in PROVIDERS if not provider.endpoints
    ]


def test_providers_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document.keys() == {"endpoints", "refused"}
    assert len(document["endpoints"]) == sum(len(provider.endpoints) for provider in PROVIDERS)
    assert document["endpoints"][0] == {
        "provider": "openai",
        "hosts": ["api.openai.com", "*.api.openai.com"],
        "operation": "chat",
        "method": "POST",
        "path": "/v1/chat/completions",
        "dialect": "OpenAI chat",
        "streams_as": "server-sent events",
        "kept_in": "calls",
    }
    assert {row["provider"] for row in document["refused"]} == {
        provider.name for provider in PROVIDERS if not provider.endpoints
    }


def test_some_providers_and_operations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "gemini", "vertex", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["provider"] for row in document["endpoints"]} >= {"gemini"}
    assert {row["provider"] for row in (*document["endpoints"], *document["refused"])} == {"gemini", "vertex"}
    streams = {row["streams_as"] for row in document["endpoints"] if row["path"].endswith("streamGenerateContent)")}
    assert streams >= {"server-sent events with `alt=sse`, else a JSON array"}

    assert main(["providers", "--operation", "count_tokens"]) == 0
    said = capsys.readouterr().out
    assert {line.split()[0] for line in said.splitlines() if line.startswith("  ")} == {"count_tokens"}


def test_an_unknown_provider_exits_with_2_and_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "opnai"]) == 2

    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "There is no provider 'opnai'. Write openai.\n")


@pytest.mark.parametrize(
    ("operation", "near"), [("chta", "chat"), ("embedding", "embeddings"), ("x", "batches, caches, chat, completions")]
)
def test_an_unknown_operation_exits_with_2_and_names_the_nearest(
    operation: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["providers", "--operation", operation]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"There is no operation {operation!r}. Write {near}")


# --- doctor -------------------------------------------------------------------------------------


def pinned() -> dict[str, dict[str, str]]:
    """The major and minor version of each library of the doctor in the two constraints files."""
    found: dict[str, dict[str, str]] = {}
    for library in _doctor.LIBRARIES:
        for environment in ("current", "legacy"):
            text = (ROOT / "constraints" / f"{environment}.txt").read_text(encoding="utf-8")
            pin = re.search(rf"^{re.escape(library.distribution)}==(\d+\.\d+)", text, re.MULTILINE)
            if pin is not None:
                found.setdefault(library.distribution, {})[environment] = pin[1]
    return dict(sorted(found.items()))


@pytest.mark.skipif(not (ROOT / "constraints").is_dir(), reason="the constraints aren't here")
def test_the_tested_versions_are_those_of_the_constraints() -> None:
    assert pinned() == TESTED, "write this into src/fake_llm/_tested.py"


def test_every_stack_is_tried() -> None:
    """A new stack has a row in `_doctor.LIBRARIES`."""
    assert STACKS.keys() <= {library.module for library in _doctor.LIBRARIES}


def test_nothing_is_both_tried_and_named_as_not_covered() -> None:
    tried = {library.distribution for library in _doctor.LIBRARIES}
    assert tried.isdisjoint({*_doctor.OTHER_LIBRARIES, *_doctor.OTHER_SDKS})


@pytest.mark.parametrize("library", _doctor.LIBRARIES, ids=lambda library: library.name)
def test_what_is_installed_is_answered(
    library: Library, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has(library.distribution):
        pytest.skip(f"needs {library.distribution}")
    monkeypatch.setattr(_doctor, "LIBRARIES", (library,))

    status = main(["doctor"])

    said = capsys.readouterr().out
    assert "FAILED" not in said
    assert status == 0
    ways = len(library.streams) * len(library.loops)
    row = re.search(rf"^{library.name} +\d\S+ .*", said, re.MULTILINE)
    assert row is not None, said
    assert row[0].split().count("ok") == ways, said
    assert f"All {ways} calls were answered from a script; none left the machine.\n" in said


def test_it_runs_without_an_sdk_as_a_command() -> None:
    code = (
        "import sys, fake_llm._cli as cli, fake_llm._doctor as doctor\n"
        "doctor.LIBRARIES = doctor.LIBRARIES[:1]\n"
        "sys.exit(cli.main(['doctor', '--json']))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OPENAI_API_KEY": "sk-do-not-show"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["ok"] is True
    (row,) = document["libraries"]
    assert row["distribution"] == "httpx"
    assert row["tested"] == TESTED["httpx"]
    ways = [(call["async"], call["streamed"]) for call in row["calls"]]
    assert ways == [(False, False), (False, True), (True, False), (True, True)]
    assert all(call["ok"] and call["reason"] is None for call in row["calls"])
    assert "sk-do-not-show" not in done.stdout


def answers(text: str) -> Any:
    def run(module: Any, loop: bool, streamed: bool) -> str:
        HTTPX.run(httpx, False, streamed)
        return text

    return run


def by_socket(module: Any, loop: bool, streamed: bool) -> str:
    socket.getaddrinfo("api.openai.com", 443)
    return _doctor.ANSWER


def another_path(module: Any, loop: bool, streamed: bool) -> str:
    httpx.get("https://api.openai.com/v1/wonders")
    return _doctor.ANSWER


@pytest.mark.parametrize(
    ("module", "run", "reason"),
    [
        ("httpx", answers("Bonjour."), "The text that came was 'Bonjour.'."),
        (
            "httpx",
            lambda module, loop, streamed: _doctor.ANSWER,
            "UnusedReplyError: The block ended and 1 turn was not",
        ),
        ("httpx", lambda module, loop, streamed: HTTPX.run(module, loop, False), None),
        ("httpx", by_socket, "UninterceptedCallError: api.openai.com:443 was reached by a raw socket"),
        ("httpx", another_path, "UnknownEndpointError: GET https://api.openai.com/v1/wonders came in"),
        ("httpx", lambda module, loop, streamed: module.NoClient(), "AttributeError: module 'httpx' has no attribute"),
        ("no_such_module", answers("x"), "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
    ids=["another text", "no call", "not streamed", "a raw socket", "another path", "a broken SDK", "no import"],
)
def test_what_fails_is_red_and_says_why(
    module: str, run: Any, reason: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_doctor, "LIBRARIES", (Library("pytest", module, run, "chat", loops=(False,)),))

    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert main(["doctor", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)

    if reason is None:  # asked whole where a stream was to be asked for
        reason = "The script answered [('chat', False)] where one chat call was made, streamed."
        assert "FAILED pytest chat sync streamed:\n" in said
        assert "1 of 2 calls failed; none left the machine.\n" in said
    else:
        assert "FAILED pytest chat sync, pytest chat sync streamed:\n" in said
        assert "2 of 2 calls failed; none left the machine.\n" in said
    assert f"\n{reason}" in said
    assert document["ok"] is False
    assert document["libraries"][0]["calls"][1]["reason"].startswith(reason)


def test_an_interrupt_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(module: Any, loop: bool, streamed: bool) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(_doctor, "LIBRARIES", (Library("httpx", "httpx", interrupted),))
    with pytest.raises(KeyboardInterrupt):
        main(["doctor"])


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A doctor that tries httpx only, once."""
    library = Library("httpx", "httpx", HTTPX.run, loops=(False,))
    monkeypatch.setattr(_doctor, "LIBRARIES", (library,))
    return monkeypatch


def test_what_is_not_covered_is_named(quick: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick.setattr(_doctor, "OTHER_LIBRARIES", ("pytest", "no-such-distribution"))
    quick.setattr(_doctor, "OTHER_SDKS", ("jsonschema", "no-such-sdk"))

    assert main(["doctor"]) == 0

    said = capsys.readouterr().out
    assert re.search(
        r"^Installed, not intercepted: a call to a known host is refused: pytest \d\S+\.$", said, re.MULTILINE
    )
    assert re.search(r"^Installed, not covered here: jsonschema \d\S+\.$", said, re.MULTILINE)
    assert "no-such" not in said


def test_base_urls_are_shown_and_keys_never(quick: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick.setenv("OPENAI_BASE_URL", "https://me:hunter2@llm.corp.example/v1?key=hunter2")
    quick.setenv("OPENAI_API_KEY", "sk-hunter2")

    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    url = "https://***@llm.corp.example/v1?key=***"
    assert f"OPENAI_BASE_URL is {url}: answered as openai in a block.\n" in said
    assert document["base_urls"] == {"OPENAI_BASE_URL": {"url": url, "provider": "openai"}}
    assert "hunter2" not in said + json.dumps(document)


def test_a_base_url_that_is_none_is_named(quick: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    quick.setenv("OPENAI_BASE_URL", "https://user:supersecretpw@h:badport/v1")
    quick.setenv("ANTHROPIC_BASE_URL", " ")

    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    assert "OPENAI_BASE_URL is https://***@h:badport/v1: no URL, and left out.\n" in said
    assert "ANTHROPIC_BASE_URL" not in said, "blank is as good as none"
    assert document["base_urls"] == {"OPENAI_BASE_URL": {"url": "https://***@h:badport/v1", "provider": None}}


def test_a_version_that_is_newer_than_what_is_tested(
    quick: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick.setattr(_doctor, "TESTED", {"httpx": {"current": "0.28", "legacy": "0.27"}})
    assert main(["doctor"]) == 0
    assert re.search(r" 0\.28, 0\.27 +ok ", capsys.readouterr().out)

    quick.setattr(_doctor, "release", lambda distribution: "1.0.2")
    assert main(["doctor"]) == 0
    assert re.search(r" 1\.0\.2 +0\.28, 0\.27 \(this is newer\) +ok ", capsys.readouterr().out)


@pytest.mark.parametrize("no_color", ["", "1"])
def test_colours_are_for_terminals(
    no_color: str, quick: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick.setattr(sys.stdout, "isatty", lambda: True)
    quick.setenv("NO_COLOR", no_color)

    assert main(["doctor"]) == 0

    assert ("\x1b[32mok" in capsys.readouterr().out) == (not no_color)


# --- demo ---------------------------------------------------------------------------------------


@needs("openai", "anthropic")
def test_the_demo_shows_both_conversations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0

    said = capsys.readouterr().out
    assert said.count("> assistant  It is sunny in Paris, 21 degrees.") == 2
    assert said.count("  tool       get_weather → Paris: sunny, 21 degrees") == 2
    assert "call 0 · openai chat · gpt-5 · whole · 200" in said
    assert "call 1 · anthropic messages · claude-sonnet-5 · streamed · 200 · continues call 0" in said
    assert "\x1b" not in said


def test_the_demo_without_its_sdks_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "fake_llm._demo", raising=False)
    monkeypatch.setitem(sys.modules, "anthropic", None)

    assert main(["demo"]) == 1

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        'The demo runs on real SDKs, and anthropic isn\'t installed here. Write pip install "fake-llm[demo]".\n'
    )


@needs("rich")
def test_a_transcript_has_colours_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import fake_llm

    with fake_llm.intercept(["Hello!"]) as fake:
        httpx.post("https://api.openai.com/v1/responses", json={"model": "gpt-5", "input": "Hi"})
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    _cli.show(fake.transcript())
    assert "\x1b[" in capsys.readouterr().out

    monkeypatch.setenv("NO_COLOR", "1")
    _cli.show(fake.transcript())
    assert capsys.readouterr().out == f"{fake.transcript()}\n"


def test_a_transcript_is_plain_where_rich_is_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    _cli.show("call 0")

    assert capsys.readouterr().out == "call 0\n"
