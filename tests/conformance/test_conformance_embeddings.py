"""Embeddings as they were recorded: what clients sent is answered, and the answer has the keys and kinds of the real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _recorded import load_spec
from _shape import shape
from _shared import needs_shared, shared_dir

pytestmark = needs_shared

PLACES = (
    *("openai/embeddings", "azure/embeddings", "openrouter/embeddings", "perplexity/embeddings"),
    *("gemini/batchEmbedContents", "mistral/embeddings", "ollama/api-embed", "cohere/v1-embed", "cohere/v2-embed"),
)
OWN = ("openai", "gemini", "mistral", "ollama", "cohere")
"""Whose answers have exactly these keys; others add some of their own."""
FILES: list[Path] = [
    path for place in PLACES for path in sorted((shared_dir() or Path()).glob(f"recordings/{place}/*.json"))
]
each = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def _recording(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _succeeded(path: Path) -> bool:
    return bool(_recording(path)["response"]["status"] == 200)


def _answered(recording: Any) -> tuple[httpx.Response, fake_llm.Call]:
    request = recording["request"]
    with fake_llm.intercept() as fake:
        response = httpx.post(request["url"], json=request["body"], verify=False)
    return response, fake.calls[0]


@each
def test_a_recorded_request_is_answered(path: Path) -> None:
    recording = _recording(path)
    body = recording["request"]["body"]
    response, call = _answered(recording)
    assert response.status_code == 200  # the fake has every model, and takes every key
    sent = body.get("input", [item["content"]["parts"][0]["text"] for item in body.get("requests", ())])
    sent = body.get("texts", sent)
    assert list(call.user_texts) == ([sent] if isinstance(sent, str) else sent)
    assert call.operation == "embeddings"
    assert call.provider == recording["provider"]
    first = (body.get("requests") or [body])[0]
    names = ("dimensions", "outputDimensionality", "output_dimensionality", "output_dimension")
    wanted = {first.get(name) for name in names} - {None}
    assert {call.params.get("dimensions")} - {None} == wanted


@pytest.mark.parametrize("path", [path for path in FILES if _succeeded(path)], ids=lambda path: path.stem)
def test_the_answer_has_the_shape_of_the_recorded_one(path: Path, record_property: Any) -> None:
    recording = _recording(path)
    response, _ = _answered(recording)
    real, ours = (shape([body], indexed=False) for body in (recording["response"]["body"], response.json()))
    assert {place: kinds for place, kinds in ours.items() if real.get(place) != kinds} == {}
    compared, excepted = len(real.keys() | ours.keys()), len(real.keys() - ours.keys())
    record_property("conformance keys", ("embeddings", recording["provider"], compared, excepted, 0))
    if recording["provider"] in OWN:
        assert real.keys() == ours.keys()


@pytest.mark.parametrize("name", ["openai-embeddings-plain-01", "gemini-batchEmbedContents-plain-01"])
def test_the_layout_is_the_recorded_one(name: str) -> None:
    """That of 2026-08: OpenAI's was over several lines before."""
    recording = next(_recording(path) for path in FILES if path.stem == name)
    response, _ = _answered(recording)
    start = recording["response"]["raw_prefix"].partition("[")[0]
    assert response.text.startswith(start)


def test_the_answer_is_what_openai_s_schema_says() -> None:
    import jsonschema

    spec = load_spec("openai")
    schema = {"$ref": "#/$defs/CreateEmbeddingResponse", "$defs": spec["$defs"]}
    with fake_llm.intercept():
        body = {"model": "text-embedding-3-small", "input": ["a", "b"]}
        answer = httpx.post("https://api.openai.com/v1/embeddings", json=body, verify=False).json()
    jsonschema.Draft202012Validator(schema).validate(answer)
    assert answer["data"][0].keys() == spec["$defs"]["Embedding"]["properties"].keys()
