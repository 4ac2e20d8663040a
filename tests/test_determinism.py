"""The same script and the same requests give the same bytes: in one process, in another, in any order of blocks."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _wire import CHAT, RESPONSES, VENDORS, WAYS, Vendor, said
from fake_llm import Error, Raw, Reply, Thinking, ToolCall

ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
TOOLS = {"f": {"type": "object"}}
TURNS: list[Any] = [
    "Hello there",
    [Thinking("hm"), "Look:", ToolCall("f", {"a": 1}), ToolCall("f", {"a": 2})],
    Reply(finish_reason="content_filter"),
    Error(429),
    Error("overloaded"),
    {"a": 1},
    Raw({"x": 1}),
]


def answers(vendor: Vendor, stream: bool) -> list[tuple[int, list[tuple[str, str]], bytes]]:
    found = []
    with fake_llm.intercept(TURNS):
        for index in range(len(TURNS)):
            response = vendor.post(f"question {index}", stream=stream, tools=TOOLS)
            found.append((response.status_code, list(response.headers.multi_items()), response.content))
    return found


@ways
def test_the_same_again(vendor: Vendor, stream: bool) -> None:
    first = answers(vendor, stream)
    with fake_llm.intercept(["in between"]):
        vendor.post("else")
    assert answers(vendor, stream) == first


def test_the_same_in_another_process() -> None:
    """Whatever the seed of hashes is."""
    code = "import hashlib, sys; sys.path[:0] = {paths!r}\nimport test_determinism as t\nprint(t.digest())"
    root = Path(__file__).parent
    paths = [
        str(root),
        str(Path(fake_llm.__file__).parents[1]),
        *(path for path in sys.path if "site-packages" in path),
    ]
    found = {
        subprocess.run(
            [sys.executable, "-c", code.format(paths=paths)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {digest()}


def digest() -> str:
    """One digest of all answers of all vocabularies."""
    return hashlib.sha256(repr([answers(vendor, stream) for vendor, stream in WAYS]).encode()).hexdigest()


@vendors
def test_the_same_on_other_libraries(vendor: Vendor) -> None:
    requests = pytest.importorskip("requests")
    body = json.dumps(vendor.body()).encode()
    headers = {"content-type": "application/json"}
    found = set()
    for ask in (
        lambda: httpx.post(vendor.place(), content=body, headers=headers),
        lambda: requests.post(vendor.place(), data=body, headers=headers),
    ):
        with fake_llm.intercept(["Hello"]):
            found.add(ask().content)
    assert len(found) == 1


@ways
def test_ids_differ_between_calls_and_between_occurrences_of_one(vendor: Vendor, stream: bool) -> None:
    turn = [ToolCall("f", {"a": 1}), ToolCall("f", {"a": 1})]
    with fake_llm.intercept([turn] * 3):
        responses = [vendor.post(question, stream=stream, tools=TOOLS) for question in ("same", "same", "other")]
    assert len({said(vendor, response).id for response in responses}) == 3
    ids = [match for response in responses for match in set(re.findall(r"(?:call_|toolu_01)\w{22,}", response.text))]
    assert len(ids) == len(set(ids)) == (6 if vendor.name != "gemini" else 0)


@vendors
def test_an_id_does_not_depend_on_what_was_asked_before(vendor: Vendor) -> None:
    found = []
    for before in (0, 1, 5):
        with fake_llm.intercept(default="x"):
            for index in range(before):
                vendor.post(f"before {index}")
            found.append(vendor.post("question").content)
    assert len(set(found)) == 1


def test_created_is_a_constant() -> None:
    with fake_llm.intercept(default="x"):
        assert CHAT.post().json()["created"] == CHAT.post("other").json()["created"] == 1767225600
        assert RESPONSES.post().json()["created_at"] == 1767225600


def test_a_reset_starts_over() -> None:
    with fake_llm.intercept(default="x") as fake:
        first = CHAT.post().content
        second = CHAT.post().content
        fake.reset()
        fake.default("x")
        assert CHAT.post().content == first != second
