"""Every error that was recorded can be had: a name, with the recorded words, gives its status, its body and its headers.

A few need no script: what was asked is refused so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from _shape import differences, shape, values
from _shared import shared_dir
from fake_llm import Error, FakeLLM
from fake_llm._model import Fault, Headers, Request
from fake_llm._turns import ERROR_NAMES

CODE = "a code of its own, which body= says"
OURS: Mapping[str, str] = {
    "gemini-generateContent-error-403-service-disabled-01": "no request was recorded",
    "gemini-generateContent-error-429-01": "no request was recorded",
    "vertex-generateContent-error-400-failed-precondition-01": "no request was recorded",
    "vertex-generateContent-error-403-01": "no request was recorded",
    "vertex-generateContent-error-429-01": "no request was recorded",
    "groq-chat-completions-error-400-tool-use-failed-01": CODE,
    "mistral-embeddings-error-400-3210-01": CODE,
    "openai-chat-completions-error-400-invalid-image-format-01": CODE,
    "openai-images-error-400-invalid-image-file-01": CODE,
    "openai-models-error-404-model-not-found-01": "a look-up, which no script answers",
    "mistral-models-error-401-01": "a look-up, which no script answers",
    "openai-audio-transcriptions-error-400-invalid-request-error-01": "the form that was sent is recorded as JSON",
    "openrouter-chat-completions-error-400-01": "two hosts had been tried, ours is one",
}
"""Recorded errors that no name gives, each with the reason."""

VARIES = frozenset(
    {"request_id", "id", "X-RateLimit-Reset", "quotaMetric", "quotaId", "location", "quotaValue", "retryDelay"}
)
"""Keys whose values are those of one call or of one account."""
OF_NETS = re.compile(
    r"access-control-.*|accept-encoding|alt-svc|azureai-.*|cache-control|cf-.*|connection|content-(encoding|length|security-policy)|date|expires|keep-alive"
    r"|nel|permissions-policy|pragma|report-to|server|server-timing|set-cookie|strict-transport-security|trace.*|transfer-encoding|vary|via"
    r"|x-(accel-expires|amz-cf-.*|cache|content-type-options|debug-trace-id|envoy-.*|frame-options|kong-response-latency|robots-tag|xss-protection)"
)
"""Headers of what stands in front of a vendor, or of one account."""


def recorded() -> Iterator[Any]:
    folder = shared_dir()
    if folder is None:
        return
    for path in sorted((folder / "recordings").rglob("*-error-*.json")):
        answer = json.loads(path.read_bytes())["response"]
        if answer["status"] >= 400:
            marks = (pytest.mark.xfail(reason=OURS[path.stem], strict=True),) if path.stem in OURS else ()
            yield pytest.param(path, id=path.stem, marks=marks)


RECORDED = list(recorded())


def words(body: Any) -> str:
    """What an error says to people, wherever its vendor has it."""
    for path in (("error", "message"), ("message",), ("detail",), ("error",)):
        found = body
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, str):
            return found
    raise AssertionError(body)


def answered(data: Any, error: Error) -> Any:
    asked = data["request"]
    body = json.dumps(asked["body"]).encode() if asked["body"] is not None else b""
    headers = Headers((("content-type", "application/json"), ("authorization", "Bearer x")))
    fake = FakeLLM()
    fake.when(operation=re.compile("")).reply(error)
    answer = fake.answer(Request(asked["method"] or "POST", asked["url"] or "", headers, body, "httpx"))
    assert not isinstance(answer, Fault)
    return answer


@pytest.mark.skipif(not RECORDED, reason="needs the recordings")
@pytest.mark.parametrize("path", RECORDED)
def test_an_error_that_was_recorded_can_be_scripted(path: Path) -> None:
    data = json.loads(path.read_bytes())
    real = data["response"]
    missing: list[Any] = []
    for name in ERROR_NAMES:
        answer = answered(data, Error(name, words(real["body"])))
        if answer.status == real["status"]:
            body = json.loads(answer.body)
            other = list(differences(shape([real["body"]], indexed=True), shape([body], indexed=True)))
            other += [each for each in values(real["body"], body) if each[0].rpartition(".")[2] not in VARIES]
            sent = {header.lower() for header in real["headers"] or {}}
            lost = sorted(sent - {header.lower() for header, _ in answer.headers})
            other += [("header", header, "absent") for header in lost if not OF_NETS.fullmatch(header)]
            if not other:
                return
            missing.append((name, other))
    raise AssertionError(missing)
