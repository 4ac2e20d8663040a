"""Reranking as it was recorded: what clients sent is answered, with the keys and kinds of the real answer."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

import fake_llm
from _shape import shape
from _shared import needs_shared, shared_dir

pytestmark = needs_shared

FILES = [
    path
    for place in ("cohere/v1-rerank", "cohere/v2-rerank", "openrouter/v1-rerank")
    for path in sorted((shared_dir() or Path()).glob(f"recordings/{place}/*.json"))
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_recorded_request_is_answered_in_the_recorded_shape(path: Path) -> None:
    recording = json.loads(path.read_bytes())
    request, real = recording["request"], recording["response"]["body"]
    with fake_llm.intercept() as fake:
        response = httpx.post(request["url"], json=request["body"], verify=False)
    assert response.status_code == 200
    assert shape([response.json()], indexed=False) == shape([real], indexed=False)
    assert len(response.json()["results"]) == len(real["results"])
    assert [list(item) for item in response.json()["results"]] == [list(item) for item in real["results"]]
    call = fake.calls[0]
    assert (call.provider, call.operation, call.model) == (recording["provider"], "rerank", request["body"]["model"])
    assert call.last_user_text == request["body"]["query"]


def test_together_answers_in_the_recorded_shape() -> None:
    """Of this exchange only the answer was recorded: two of more documents, which weren't asked for again."""
    for path in sorted((shared_dir() or Path()).glob("recordings/together/rerank/*.json")):
        real = json.loads(path.read_bytes())["response"]["body"]
        asked = {"model": real["model"], "query": "dogs", "documents": list("abcdef"), "top_n": 2}
        with fake_llm.intercept():
            ours = httpx.post("https://api.together.ai/v1/rerank", json=asked, verify=False).json()
        assert shape([ours], indexed=False) == shape([real], indexed=False)
        assert [list(ours), *map(list, ours["results"])] == [list(real), *map(list, real["results"])]


def test_the_best_document_is_the_one_that_was_found() -> None:
    """Made-up vectors agree with the model about which of two texts has the answer."""
    for path in FILES:
        if path.stem == "cohere-v2-rerank-plain-01":
            recording = json.loads(path.read_bytes())
            with fake_llm.intercept():
                ours = httpx.post(recording["request"]["url"], json=recording["request"]["body"], verify=False).json()
            assert ours["results"][0]["index"] == recording["response"]["body"]["results"][0]["index"]
