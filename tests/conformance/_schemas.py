"""The vendors' own schemas as judges, and what real answers show them to be wrong about."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema
import pytest

from _answers import excluded
from _recorded import load_spec, recordings

__all__ = ["complaints", "schema_complaints", "untrue"]

_GEMINI = "GoogleCloudAiplatformV1beta1GenerateContentResponse"
_SPECS: Mapping[str, tuple[str, str, str]] = {
    "openai_chat": ("openai", "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse"),
    "openai_responses": ("openai", "Response", "ResponseStreamEvent"),
    "openai_completions": ("openai", "CreateCompletionResponse", "CreateCompletionResponse"),
    "gemini": ("vertex-gemini", _GEMINI, _GEMINI),
    "ollama_chat": ("ollama", "ChatResponse", "ChatStreamEvent"),
    "ollama_generate": ("ollama", "GenerateResponse", "GenerateStreamEvent"),
}


_NULL: Mapping[str, frozenset[str]] = {"CreateCompletionResponse": frozenset({"finish_reason", "usage"})}
"""What is null in all but the last chunks (OpenAI's documentation, 2026-11), and has no null in the schema."""


def complaints(dialect: str, payload: Mapping[str, Any], *, event: bool) -> list[str]:
    """What the vendor's schema says against an answer or event, but for what it says against real ones too."""
    if dialect == "anthropic_messages":
        return _sdk_complaints(payload, event=event)
    if dialect.startswith("cohere"):
        return _cohere_complaints(dialect, payload, event=event)
    return [complaint for complaint in _said(dialect, payload, event=event) if complaint not in untrue(dialect)]


def schema_complaints(spec: str, name: str, payload: Mapping[str, Any]) -> list[str]:
    """What one definition of a vendor's schema says against a payload."""
    return [said for error in _validator(spec, name).iter_errors(payload) for said in _words(name, error)]


@cache
def untrue(dialect: str) -> frozenset[str]:
    """What the schema says against recorded answers: there it is the schema that is wrong, or older."""
    if dialect not in _SPECS:
        return frozenset()
    return frozenset(
        complaint
        for recording in recordings(dialect)
        if recording.answered and recording.asked and excluded(recording) is None
        if "enum-encoding" not in recording.url  # numbers for words, on request
        for payload, event in [(recording.document, False), *((item, True) for item in recording.events)]
        if payload is not None
        for complaint in _said(dialect, payload, event=event)
    )


def _said(dialect: str, payload: Mapping[str, Any], *, event: bool) -> Iterator[str]:
    spec, document, stream = _SPECS[dialect]
    name = document if not event else _event_schema(payload) if stream == "ResponseStreamEvent" else stream
    for error in _validator(spec, name).iter_errors(payload):
        if not (event and error.instance is None and list(error.absolute_path)[-1] in _NULL.get(name, ())):
            yield from _words(name, error)


def _words(name: str, error: jsonschema.ValidationError) -> Iterator[str]:
    """The error without indexes and values; of a union, what the branch says that fits best."""
    best = jsonschema.exceptions.best_match([error]) if error.context else error
    path = re.sub(r"\[\d+\]", "[]", best.json_path)
    if best.validator == "required":
        missing = [key for key in best.validator_value if key not in best.instance]
        yield from (f"{name} {path}: lacks {key}" for key in missing)
    elif best.validator == "additionalProperties":
        yield from (f"{name} {path}: has {key}" for key in best.instance if key not in best.schema["properties"])
    elif best.validator == "type":
        yield f"{name} {path}: {type(best.instance).__name__} is no {best.validator_value}"
    else:
        yield f"{name} {path}: {best.message[:200]}"


@cache
def _validator(spec: str, name: str) -> Any:
    definitions = load_spec(spec)["$defs"]
    assert name in definitions, name
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": definitions})


def _event_schema(payload: Mapping[str, Any]) -> str:
    """The schema of one event of Responses, by its type: the union of all says nothing useful."""
    return _event_schemas()[payload["type"]] if payload.get("type") in _event_schemas() else "ResponseStreamEvent"


@cache
def _event_schemas() -> Mapping[str, str]:
    definitions = load_spec("openai")["$defs"]
    names = [branch["$ref"].rpartition("/")[2] for branch in definitions["ResponseStreamEvent"]["anyOf"]]
    return {definitions[name]["properties"]["type"]["enum"][0]: name for name in names}


def _sdk_complaints(payload: Mapping[str, Any], *, event: bool) -> list[str]:
    """Anthropic has no published schema; the models of its SDK stand in for it."""
    pydantic = pytest.importorskip("pydantic")
    pytest.importorskip("anthropic")
    types = importlib.import_module("anthropic.types")
    if event and payload.get("type") == "ping":  # the SDK drops it before it parses
        return [] if payload == {"type": "ping"} else [f"ping with more than its type: {payload}"]
    try:
        kind = pydantic.TypeAdapter(types.RawMessageStreamEvent if event else types.Message)
        kind.validate_json(json.dumps(payload), strict=True)  # as JSON, where a time is a text
    except pydantic.ValidationError as error:
        return [f"{item['loc']}: {item['msg']}" for item in error.errors()]
    return []


_COHERE: Mapping[str, tuple[str, str]] = {
    "cohere_chat_v2": ("V2ChatResponse", "V2ChatStreamResponse"),
    "cohere_chat_v1": ("NonStreamedChatResponse", "StreamedChatResponse"),
    "cohere_generate_v1": ("Generation", "GenerateStreamedResponse"),
}


def _cohere_complaints(dialect: str, payload: Mapping[str, Any], *, event: bool) -> list[str]:
    """Cohere's schema is that of its SDK, whose models check only when they are asked to."""
    pydantic = pytest.importorskip("pydantic")
    cohere = pytest.importorskip("cohere", minversion="7")
    if payload.get("event_type") == "tool-calls-chunk" and "tool_call_delta" not in payload:
        return []  # text alone, which the SDK's types don't know
    try:
        pydantic.TypeAdapter(getattr(cohere, _COHERE[dialect][event])).validate_python(payload, strict=True)
    except pydantic.ValidationError as error:
        return [f"{item['loc']}: {item['msg']}" for item in error.errors()]
    return []
