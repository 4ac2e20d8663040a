"""Images and sound as they were recorded: the answers have the keys, the kinds and the layout of the real ones."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _recorded import load_spec
from _shape import shape
from _shared import needs_shared, shared_dir
from fake_llm import Reply

pytestmark = needs_shared

PLACES = (
    *("openai/images", "openai/audio-speech", "openai/audio-transcriptions", "openai/audio-translations"),
    "mistral/audio-transcriptions",
)
FILES: list[Path] = [
    path for place in PLACES for path in sorted((shared_dir() or Path()).glob(f"recordings/{place}/*.json"))
]
UNREAD = ("openai-images-error-400-invalid-image-file-01",)
"""What is fetched from a URL in a request isn't looked at: an SVG is as good as a PNG."""
FORMS = {
    "openai-audio-transcriptions-error-400-invalid-request-error-01": {
        "model": "whisper-1",
        "response_format": "diarized",
    },
    "openai-audio-transcriptions-plain-01": {"model": "gpt-4o-transcribe"},
    "openai-audio-transcriptions-streamed-plain-01": {"model": "gpt-4o-transcribe", "stream": "true"},
    "openai-audio-translations-plain-01": {"model": "whisper-1"},
    "mistral-audio-transcriptions-plain-01": {"model": "voxtral-mini-latest"},
}
"""The fields of forms, which weren't recorded; the smallest that are answered so."""


def _recording(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _answered(recording: Any, turn: Any = None) -> tuple[httpx.Response, fake_llm.Call]:
    request = recording["request"]
    with fake_llm.intercept() as fake:
        if turn is not None:
            fake.when(operation="transcription").reply(turn)
        if recording["id"] in FORMS:
            sound = {"file": ("ruby.wav", b"RIFF....WAVE" + bytes(60_000))}
            response = httpx.post(request["url"], data=FORMS[recording["id"]], files=sound, verify=False)
        else:
            response = httpx.post(request["url"], json=request["body"], verify=False)
    return response, fake.calls[0]


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in UNREAD], ids=lambda path: path.stem)
def test_the_answer_is_of_the_recorded_kind(path: Path) -> None:
    recording = _recording(path)
    response, call = _answered(recording)
    assert response.status_code == recording["response"]["status"]
    headers = {name.lower(): value for name, value in recording["response"]["headers"].items()}
    assert response.headers["content-type"] == headers["content-type"]
    assert call.provider == recording["provider"]
    real = recording["response"]["body"]
    if isinstance(real, dict):
        ours = response.json()
        assert shape([ours], indexed=False) == {**shape([real], indexed=False), **_kinds(ours, real)}
        if not recording["fidelity"].startswith("normalised"):
            assert _keys(ours) == _keys(real)
        assert ours.get("error") == real.get("error")


def _kinds(ours: Any, real: Any) -> dict[str, frozenset[str]]:
    """Where a list is empty in one of them."""
    return {path: kinds for path, kinds in shape([ours], indexed=False).items() if "segments" in path}


def _keys(value: Any) -> Any:
    """The keys in their order, all the way down."""
    if isinstance(value, dict):
        return [(key, _keys(inner)) for key, inner in value.items()]
    return [_keys(inner) for inner in value[:1]] if isinstance(value, list) else None


def test_a_request_that_is_fetched_from_a_url_is_read() -> None:
    recording = next(_recording(path) for path in FILES if path.stem in UNREAD)
    response, call = _answered(recording)
    assert response.status_code == 200
    assert call.last_user_text == "turn the logo to green\n[image]"


def test_a_streamed_transcription_is_the_recorded_one_byte_by_byte() -> None:
    path = next(path for path in FILES if path.stem == "openai-audio-transcriptions-streamed-plain-01")
    recording = _recording(path)
    done = recording["response"]["stream"][-2]["data"]
    pieces = tuple(event["data"]["delta"] for event in recording["response"]["stream"][:-2])
    usage = fake_llm.Usage(done["usage"]["input_tokens"], done["usage"]["output_tokens"])
    response, _ = _answered(recording, Reply(done["text"], chunks=list(pieces), usage=usage))
    assert response.content == path.with_suffix(".raw").read_bytes()


def test_speech_begins_with_the_recorded_frame() -> None:
    recording = next(_recording(path) for path in FILES if path.stem == "openai-audio-speech-plain-01")
    response, _ = _answered(recording)
    real = base64.b64decode(recording["response"]["raw_prefix"].removeprefix("base64:"))
    assert response.content[:4] == real[:4]


@pytest.mark.parametrize("name", ["openai-images-plain-01", "openai-images-b64-json-01"])
def test_the_layout_of_images_is_the_recorded_one(name: str) -> None:
    recording = next(_recording(path) for path in FILES if path.stem == name)
    response, _ = _answered(recording)
    start = recording["response"]["raw_prefix"].partition("[")[2][:14]
    assert response.text.partition("[")[2].startswith(start)


@pytest.mark.parametrize(
    ("schema", "path", "fields"),
    [
        ("ImagesResponse", "images/generations", {"model": "gpt-image-1.5", "prompt": "a cat", "n": 2}),
        ("CreateTranscriptionResponseJson", "audio/transcriptions", {"model": "gpt-4o-transcribe"}),
        ("CreateTranscriptionResponseJson", "audio/transcriptions", {"model": "whisper-1"}),
        (
            "CreateTranscriptionResponseVerboseJson",
            "audio/transcriptions",
            {"model": "whisper-1", "response_format": "verbose_json", "timestamp_granularities[]": ["word", "segment"]},
        ),
        (
            "CreateTranscriptionResponseDiarizedJson",
            "audio/transcriptions",
            {"model": "gpt-4o-transcribe-diarize", "response_format": "diarized_json"},
        ),
        ("CreateTranslationResponseJson", "audio/translations", {"model": "whisper-1"}),
        (
            "CreateTranslationResponseVerboseJson",
            "audio/translations",
            {"model": "whisper-1", "response_format": "verbose_json"},
        ),
    ],
)
def test_the_answer_is_what_openai_s_schema_says(schema: str, path: str, fields: dict[str, Any]) -> None:
    import jsonschema

    with fake_llm.intercept():
        url = f"https://api.openai.com/v1/{path}"
        response = (
            httpx.post(url, json=fields, verify=False)
            if path.startswith("images")
            else httpx.post(url, data=fields, files={"file": ("a.wav", bytes(9000))}, verify=False)
        )
    spec = load_spec("openai")
    jsonschema.Draft202012Validator({"$ref": f"#/$defs/{schema}", "$defs": spec["$defs"]}).validate(response.json())


@pytest.mark.parametrize(
    ("schema", "path", "fields"),
    [
        (
            "ImageGenStreamEvent",
            "images/generations",
            {"model": "gpt-image-1.5", "prompt": "a cat", "partial_images": 2},
        ),
        ("ImageEditStreamEvent", "images/edits", {"model": "gpt-image-1.5", "prompt": "a cat", "images": ["x"]}),
        ("CreateSpeechResponseStreamEvent", "audio/speech", {"model": "gpt-4o-mini-tts", "input": "Hi", "voice": "a"}),
    ],
)
def test_events_are_what_openai_s_schema_says(schema: str, path: str, fields: dict[str, Any]) -> None:
    import jsonschema

    with fake_llm.intercept():
        body = {**fields, "stream": True, "stream_format": "sse"}
        response = httpx.post(f"https://api.openai.com/v1/{path}", json=body, verify=False)
    spec = load_spec("openai")
    judge = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{schema}", "$defs": spec["$defs"]})
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    assert lines
    for line in lines:
        judge.validate(json.loads(line))
