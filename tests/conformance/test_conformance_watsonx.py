"""watsonx's recordings beside what is emitted for the same request: keys in their order, types, events and their lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _shared import shared_dir
from fake_llm import Reply, Usage

FOLDERS = ("text-generation", "text-generation-stream")


def recorded() -> list[Path]:
    folder = shared_dir()
    if folder is None:
        return []
    return [path for name in FOLDERS for path in sorted((folder / "recordings" / "watsonx" / name).glob("*.json"))]


def shape(value: Any) -> Any:
    """The value with types in place of what is single."""
    if isinstance(value, dict):
        return [(key, shape(item)) for key, item in value.items()]
    return [shape(item) for item in value] if isinstance(value, list) else type(value).__name__


def payloads(raw: str) -> list[Any]:
    return [json.loads(line.removeprefix("data: ")) for line in raw.split("\n") if line.startswith("data: ")]


def said(results: list[Any]) -> Reply:
    """A turn that says what was recorded."""
    texts = [item["generated_text"] for item in results if item["generated_text"]]
    usage = Usage(results[0]["input_token_count"], results[-1]["generated_token_count"])
    return Reply(chunks=texts, usage=usage, finish_reason="stop")


@pytest.mark.parametrize("path", recorded(), ids=lambda path: path.stem)
def test_the_same_comes_as_was_recorded(path: Path) -> None:
    data = json.loads(path.read_bytes())
    asked, answered = data["request"], data["response"]
    stream = answered["body"] is None
    raw = path.with_suffix(".raw").read_text(encoding="utf-8") if stream else json.dumps(answered["body"])
    theirs = payloads(raw) if stream else [answered["body"]]
    with fake_llm.intercept([said([item["results"][0] for item in theirs])]) as fake:
        response = httpx.post(asked["url"], json=asked["body"])
    ours = payloads(response.text) if stream else [response.json()]

    assert fake.calls[0].last_user_text == asked["body"]["input"]
    assert fake.calls[0].model == asked["body"]["model_id"]
    assert response.headers["content-type"] == answered["headers"]["Content-Type"]
    assert [shape(item) for item in ours] == [shape(item) for item in theirs]
    assert [item["results"] for item in ours] == [item["results"] for item in theirs]
    if stream:
        assert [line for line in response.text.split("\n") if not line.startswith("data:")] == [
            line for line in raw.split("\n") if not line.startswith("data:")
        ]
