"""Replicate's predictions after they were created, and its models: every model is there, since a script answers for any.

A prediction that nobody waited for is done after a number of polls that never changes; no clock has a say in it. The forms are those
of the vendor's documentation and of what its SDK reads (replicate 1.0, 2026-11).
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange
from fake_llm._dialects import replicate
from fake_llm._model import Fault, Message, Response
from fake_llm._services._base import POLLS, Kept, Memory, Store
from fake_llm._turns import Error

__all__ = [
    "PREDICTIONS",
    "account",
    "model_get",
    "model_list",
    "prediction_cancel",
    "prediction_get",
    "prediction_list",
    "stream",
    "version_get",
    "version_list",
]

_Json = dict[str, Any]
_CREATED_AT: Final = "2026-01-01T00:00:00.000Z"
_MISSING: Final = Error("not_found")
_OK: Final = 200


# --- predictions --------------------------------------------------------------------------------


def _recall(store: Store, exchange: Exchange) -> tuple[Message, ...] | Error:
    return ()


def _keep(store: Store, exchange: Exchange, answer: Response | Fault) -> None:
    if not isinstance(answer, Response) or answer.status != _OK:
        return
    if exchange.id is not None and exchange.choices:
        waited = (exchange.request.headers.get("prefer") or "").startswith("wait")
        store.kept[exchange.id] = Kept(exchange, polls=POLLS if waited else 0)
    else:
        try:
            given = _json.loads(answer.body)
        except ValueError:
            return
        if isinstance(given, dict) and isinstance(given.get("id"), str):
            store.shelf("predictions")[given["id"]] = given


PREDICTIONS: Final = Memory(recall=_recall, keep=_keep)


def _shown(kept: Kept) -> _Json:
    exchange = kept.exchange
    if kept.cancelled:
        return replicate.prediction(exchange.again(), "canceled")
    return replicate.prediction(exchange.again(), "processing" if kept.polls < POLLS else replicate.status_of(exchange))


def prediction_get(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/predictions/{id}`: a poll."""
    key = exchange.request.path_part(-1)
    kept = store.kept.get(key)
    if kept is None:
        given: _Json | None = store.shelf("predictions").get(key)
        return _MISSING if given is None else given
    kept.polls += 1
    return _shown(kept)


def prediction_cancel(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/predictions/{id}/cancel`, which changes nothing of what is done."""
    key = exchange.request.path_part(-2)
    kept = store.kept.get(key)
    if kept is None:
        given: _Json | None = store.shelf("predictions").get(key)
        return _MISSING if given is None else given
    kept.cancelled = kept.cancelled or kept.polls < POLLS
    return _shown(kept)


def prediction_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/predictions`, the newest first, on one page."""
    listed = [*store.shelf("predictions").values(), *(_shown(kept) for kept in store.kept.values())]
    return {"next": None, "previous": None, "results": listed[::-1]}


def stream(store: Store, exchange: Exchange) -> Response | Error:
    """`GET stream.replicate.com/v1/files/{id}`: the output as events whose data are plain text, and a last one."""
    kept = store.kept.get(exchange.request.path_part(-1))
    if kept is None:
        return _MISSING
    ending = "canceled" if kept.cancelled else replicate.status_of(kept.exchange)
    said: list[tuple[str, str]] = []
    if ending == "failed":
        said.append(("error", replicate.prediction(kept.exchange.again(), "failed")["error"]))
    elif not kept.cancelled:
        said += [("output", piece) for piece in replicate.pieces(kept.exchange.again())]
    kept.polls = max(kept.polls, POLLS)
    done = {"succeeded": "{}", "failed": '{"reason":"error"}', "canceled": '{"reason":"canceled"}'}[ending]
    events = [_event(number, kind, data) for number, (kind, data) in enumerate([*said, ("done", done)])]
    return Response(200, (("content-type", "text/event-stream"), ("cache-control", "no-store")), steps=tuple(events))


def _event(number: int, kind: str, data: str) -> bytes:
    lines = "\n".join(f"data: {line}" for line in data.split("\n"))
    return f"event: {kind}\nid: {number}:0\n{lines}\n\n".encode()


# --- models -------------------------------------------------------------------------------------

_KNOWN: Final = (
    "meta/meta-llama-3-70b-instruct",
    "anthropic/claude-4-sonnet",
    "openai/gpt-5",
    "google/gemini-2.5-flash",
)
_SCHEMA: Final = {
    "openapi": "3.0.2",
    "info": {"title": "Cog", "version": "0.1.0"},
    "paths": {},
    "components": {
        "schemas": {
            "Input": {
                "type": "object",
                "title": "Input",
                "required": ["prompt"],
                "properties": {"prompt": {"type": "string", "title": "Prompt", "x-order": 0}},
            },
            "Output": {
                "type": "array",
                "items": {"type": "string"},
                "title": "Output",
                "x-cog-array-type": "iterator",
                "x-cog-array-display": "concatenate",
            },
        }
    },
}


def _version(key: str) -> _Json:
    return {"id": key, "created_at": _CREATED_AT, "cog_version": "0.16.0", "openapi_schema": _SCHEMA}


def _latest(name: str) -> _Json:
    return _version(hashlib.sha256(name.encode()).hexdigest())


def _model(name: str) -> _Json:
    owner, _, short = name.partition("/")
    return {
        "url": f"https://replicate.com/{name}",
        "owner": owner,
        "name": short,
        "description": None,
        "visibility": "public",
        "github_url": None,
        "paper_url": None,
        "license_url": None,
        "run_count": 0,
        "cover_image_url": None,
        "default_example": None,
        "latest_version": _latest(name),
    }


def _name(exchange: Exchange) -> str:
    parts = exchange.request.path.split("/")
    place = parts.index("models")
    return f"{exchange.request.path_part(place + 1)}/{exchange.request.path_part(place + 2)}"


def model_get(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/models/{owner}/{name}`."""
    return _model(_name(exchange))


def model_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/models`."""
    return {"next": None, "previous": None, "results": [_model(name) for name in _KNOWN]}


def version_get(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/models/{owner}/{name}/versions/{id}`: of a model that says strings one by one."""
    return _version(exchange.request.path_part(-1))


def version_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/models/{owner}/{name}/versions`."""
    return {"next": None, "previous": None, "results": [_latest(_name(exchange))]}


def account(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/account`."""
    return {"type": "user", "username": "fake-llm", "name": "fake_llm", "github_url": None}
