"""The recordings by dialect, as the harness needs them."""

from __future__ import annotations

import email.utils
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from _shared import shared_dir
from fake_llm._dialect import Dialect
from fake_llm._differences import SAME, Difference
from fake_llm._endpoints import DIALECTS as WRITTEN
from fake_llm._endpoints import PROVIDERS, Endpoint
from fake_llm._framing import Sse
from fake_llm._model import Headers, Request

__all__ = ["DIALECTS", "Recording", "errors", "load", "load_spec", "recordings"]

_LIKE_OPENAI = (
    *("openai", "azure", "cerebras", "deepseek", "groq", "huggingface"),
    *("mistral", "ollama", "openrouter", "perplexity", "together", "xai"),
)
_INVOKED = tuple(f"bedrock/{name}/*-family-{{}}-*" for name in ("invoke-model", "invoke-model-with-response-stream"))
_RAW_PREDICT = ("publisher-anthropic-rawPredict", "publisher-anthropic-streamRawPredict")
_GENERATE = ("generateContent", "streamGenerateContent")

DIALECTS: Mapping[str, tuple[str, ...]] = {
    "openai_chat": (*(f"{name}/chat-completions" for name in _LIKE_OPENAI), "gemini/openai-compat"),
    "openai_responses": tuple(f"{name}/responses" for name in ("openai", "azure", "deepseek", "openrouter", "xai")),
    "openai_completions": ("azure/completions", "together/completions"),
    "anthropic_messages": (
        *("anthropic/messages", "anthropic/count-tokens"),
        *(f"vertex/{name}" for name in _RAW_PREDICT),
        *(place.format("anthropic") for place in _INVOKED),
    ),
    "gemini": tuple(f"{name}/{verb}" for name in ("gemini", "vertex") for verb in _GENERATE),
    "cohere_chat_v2": ("cohere/v2-chat",),
    "cohere_chat_v1": ("cohere/v1-chat",),
    "cohere_generate_v1": ("cohere/v1-generate",),
    "ollama_chat": ("ollama/api-chat",),
    "ollama_generate": ("ollama/api-generate",),
}
"""Which folders of recordings are read by which dialect: all of a folder, or the files that a pattern fits."""

ANSWERED: Mapping[str, frozenset[str]] = {
    "openai_chat": frozenset({*_LIKE_OPENAI, "gemini"}),
    "openai_responses": frozenset({"openai", "azure", "deepseek", "openrouter", "xai"}),
    "openai_completions": frozenset({"azure", "together"}),
    "anthropic_messages": frozenset({"anthropic", "bedrock", "vertex"}),
    "gemini": frozenset({"gemini", "vertex"}),
    **dict.fromkeys(("cohere_chat_v2", "cohere_chat_v1", "cohere_generate_v1"), frozenset({"cohere"})),
    "ollama_chat": frozenset({"ollama"}),
    "ollama_generate": frozenset({"ollama"}),
}
"""Whose answers are compared with ours; the others' requests are only read."""

_URLS: Mapping[str, str] = {
    "openai_chat": "https://api.openai.com/v1/chat/completions",
    "openai_responses": "https://api.openai.com/v1/responses",
    "openai_completions": "https://api.openai.com/v1/completions",
    "anthropic_messages": "https://api.anthropic.com/v1/messages",
    "cohere_chat_v2": "https://api.cohere.com/v2/chat",
    "ollama_chat": "http://localhost:11434/api/chat",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recording:
    """One exchange that was answered 2xx.

    Attributes:
        dialect: The dialect's name.
        asked: Whether the request was recorded too; where it wasn't, `url` and `body` are the smallest
            that could have been answered so.
        document: The whole answer, `None` for a stream.
        events: The payloads of a stream without its terminator.
        broken: Whether something else than events stands in the stream, such as a bare error.
        when: When it was answered, in Unix seconds, as far as that is known.
    """

    id: str
    dialect: str
    provider: str
    asked: bool
    url: str
    body: dict[str, Any]
    document: dict[str, Any] | None
    events: tuple[dict[str, Any], ...]
    broken: bool
    when: float | None

    @property
    def answered(self) -> bool:
        """Whether our answer is to look like this one."""
        return self.provider in ANSWERED[self.dialect] and "-count-tokens-" not in self.id

    @property
    def difference(self) -> Difference:
        """What its host does differently."""
        return next((row.difference for row in self._rows), SAME)

    @property
    def _rows(self) -> Iterable[Endpoint]:
        rows = (row for provider in PROVIDERS if provider.name == self.provider for row in provider.endpoints)
        return (row for row in rows if row.service is None and row.dialect.name == self.dialect)

    @property
    def pad(self) -> Callable[[Any, bytes], bytes] | None:
        """How its host hides the lengths of pieces, where it did."""
        padded = any("obfuscation" in event or "p" in event for event in self.events)
        wires = (row.wire_of(self.request) for row in self._rows) if padded else ()
        return next((wire.pad for wire in wires if isinstance(wire, Sse) and wire.pad is not None), None)

    @property
    def request(self) -> Request:
        """The request as a stack would hand it on."""
        raw = json.dumps(self.body).encode()
        return Request("POST", self.url, Headers((("content-type", "application/json"),)), raw, "httpx")


@cache
def recordings(dialect: str) -> tuple[Recording, ...]:
    """All recordings of one dialect that were answered 2xx, `()` where the folder is absent."""
    if shared_dir() is None:
        return ()
    files = _files(DIALECTS[dialect])
    answered = [path for path in files if 200 <= json.loads(path.read_bytes())["response"]["status"] < 300]
    return tuple(_recording(dialect, path) for path in answered)


def _files(places: Iterable[str]) -> list[Path]:
    folder = shared_dir()
    assert folder is not None
    return [
        path
        for place in places
        for path in sorted((folder / "recordings").glob(f"{place}{'' if '*' in place else '/*'}.json"))
    ]


def _recording(dialect: str, path: Path) -> Recording:
    data = json.loads(path.read_bytes())
    response, request = data["response"], data["request"]
    lines = [
        {"data": event} if "done" in event or "event_type" in event else event for event in response["stream"] or ()
    ]  # JSON lines are bare
    payloads = (_payload(event) for event in lines)
    document, events = response["body"], tuple(payload for payload in payloads if isinstance(payload, dict))
    if isinstance(document, list):  # a JSON array is a stream in another framing
        document, events = None, tuple(document)
    asked = isinstance(request["body"], dict)
    body = request["body"] if asked else _smallest_request(dialect, document, events)
    return Recording(
        id=data["id"],
        dialect=dialect,
        provider=data["provider"],
        asked=asked,
        url=request["url"] if asked else _url(dialect, data["provider"], document, events),
        body=body,
        document=document,
        events=events,
        broken=any(_payload(event) is None and "comment" not in event for event in lines),
        when=_when(response["headers"] or {}, document, events),
    )


def _when(
    headers: Mapping[str, str], document: dict[str, Any] | None, events: tuple[dict[str, Any], ...]
) -> float | None:
    for name, value in headers.items():
        if name.lower() == "date":
            return email.utils.parsedate_to_datetime(value).timestamp()
    for payload in (document, *events):
        for holder in (payload, (payload or {}).get("response")):
            created = (holder or {}).get("created", (holder or {}).get("created_at"))
            if isinstance(created, (int, float)) and created > 0:
                return float(created)
    return None


def _payload(event: Mapping[str, Any]) -> Any:
    """What one event says, out of its envelope."""
    return event.get("data", event.get("payload_bytes_decoded"))


def _smallest_request(
    dialect: str, document: dict[str, Any] | None, events: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    hello = [{"role": "user", "content": "Hello"}]
    stream = {"stream": True} if document is None else {}
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    model = _answered_model(document, events) or "a-model"
    if dialect == "openai_responses":
        return {"model": model, "input": "Hello", **stream}
    return {
        "model": model,
        "messages": hello,
        **({"max_tokens": 1024} if dialect == "anthropic_messages" else {}),
        **stream,
    }


def _url(dialect: str, provider: str, document: dict[str, Any] | None, events: tuple[dict[str, Any], ...]) -> str:
    if dialect != "gemini":
        return _URLS[dialect]
    verb = "generateContent" if document is not None else "streamGenerateContent?alt=sse"
    model = _answered_model(document, events) or "gemini-2.5-flash"
    if provider == "vertex":
        return f"https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google/models/{model}:{verb}"
    return f"https://generativelanguage.googleapis.com/v1beta/models/{model}:{verb}"


def _answered_model(document: dict[str, Any] | None, events: tuple[dict[str, Any], ...]) -> str | None:
    for payload in (document, *events[:1]):
        for holder in (payload, (payload or {}).get("message"), (payload or {}).get("response")):
            if isinstance(holder, dict):
                model = holder.get("model") or holder.get("modelVersion")
                if isinstance(model, str) and model:
                    return model
    return None


def load(name: str) -> Dialect:
    """The dialect, or a skip while it isn't there."""
    if name not in WRITTEN:
        pytest.skip(f"the dialect {name} isn't there yet")
    return WRITTEN[name]


@cache
def errors(dialect: str) -> tuple[dict[str, Any], ...]:
    """The bodies of all errors that the dialect's own vendors were recorded to answer with."""
    folders = ("cohere/v2-chat", "cohere/v2-embed") if dialect.startswith("cohere") else DIALECTS[dialect]
    places = [place for place in folders if place.partition("/")[0] in ANSWERED[dialect]]
    if dialect == "ollama_generate":  # one server says both
        places += DIALECTS["ollama_chat"]
    found = [json.loads(path.read_bytes())["response"] for path in _files(places)]
    return tuple(
        response["body"] for response in found if response["status"] >= 400 and isinstance(response["body"], dict)
    )


@cache
def load_spec(name: str) -> Any:
    """One of the vendors' own schemas."""
    folder = shared_dir()
    assert folder is not None
    return json.loads((folder / "specs" / f"{name}.json").read_bytes())
