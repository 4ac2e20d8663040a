"""What Mistral keeps: files, and jobs that answer many requests at once.

Documents and paths are those of mistralai 3.7, the lines of a job's files those of its documentation (2026-11); refusals have
Mistral's form, and what they say is made up. The same bytes under the same name always get the same id.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

from fake_llm import _json
from fake_llm._dialect import CREATED, Exchange, Ids
from fake_llm._form import Upload, form
from fake_llm._model import Response
from fake_llm._services._base import Store
from fake_llm._services.batches import Batch, Line
from fake_llm._turns import Error

__all__ = [
    "file_content",
    "file_create",
    "file_delete",
    "file_list",
    "file_retrieve",
    "file_url",
    "job_cancel",
    "job_create",
    "job_delete",
    "job_list",
    "job_retrieve",
]

_Json = dict[str, Any]
_OK: Final = 200


def _asked(exchange: Exchange) -> _Json:
    return exchange.body if isinstance(exchange.body, dict) else {}


def _after(exchange: Exchange, resource: str) -> str:
    """The part of the path after a resource: its id."""
    parts = exchange.request.path.split("/")
    return exchange.request.path_part(parts.index(resource) + 1)


def _several(exchange: Exchange, name: str) -> list[str]:
    """The values of a field of the query that may come several times."""
    return parse_qs(urlsplit(exchange.request.url).query).get(name, [])


def _page(exchange: Exchange, documents: Iterable[_Json]) -> _Json:
    """A page of a list by the `page` and `page_size` of the query; pages count from 0."""
    query, listed = exchange.request.query, list(documents)
    size, number = (
        int(query[name]) if query.get(name, "").isdecimal() else usual
        for name, usual in (("page_size", 100), ("page", 0))
    )
    return {"data": listed[number * size :][:size], "object": "list", "total": len(listed)}


# --- files --------------------------------------------------------------------------------------

_FILES: Final = "mistral files"
_SAMPLES: Final = {"batch": "batch_request", "fine-tune": "instruct"}


def _put(
    store: Store,
    ids: Ids,
    filename: str,
    data: bytes,
    *,
    purpose: str,
    sample: str | None = None,
    kind: str = "application/jsonl",
    source: str = "upload",
    visibility: str = "workspace",
) -> _Json:
    lines = data.splitlines()
    document: _Json = {
        "id": ids.uuid(),
        "object": "file",
        "bytes": len(data),
        "created_at": CREATED,
        "filename": filename,
        "purpose": purpose,
        "sample_type": sample or _SAMPLES.get(purpose, "instruct"),
        "num_lines": len(lines) if filename.endswith(".jsonl") else None,
        "mimetype": kind,
        "source": source,
        "signature": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "expires_at": None,
        "visibility": visibility,
    }
    store.shelf(_FILES)[document["id"]] = (data, document)
    return document


def _find(store: Store, key: str) -> tuple[bytes, _Json] | Error:
    found: tuple[bytes, _Json] | None = store.shelf(_FILES).get(key)
    return Error(404, f"File {key} not found.") if found is None else found


def file_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/files`."""
    fields = form(exchange.request) or {}
    upload, purpose = fields.get("file"), fields.get("purpose")
    if not isinstance(upload, Upload):
        return Error(422, "file: Field required")
    told = str(fields.get("visibility") or "workspace")
    return _put(
        store,
        exchange.ids,
        upload.filename,
        upload.data,
        purpose=purpose if isinstance(purpose, str) and purpose else "fine-tune",
        kind=upload.media_type,
        visibility=told,
    )


def file_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/files`, of some purposes, sources or names where that is asked for."""
    query, wanted = exchange.request.query, {name: _several(exchange, name) for name in ("sample_type", "source")}
    documents = (document for _, document in reversed(store.shelf(_FILES).values()))
    page = _page(
        exchange,
        (
            one
            for one in documents
            if query.get("purpose", one["purpose"]) == one["purpose"]
            and query.get("search", "") in one["filename"]
            and all(not values or one[name] in values for name, values in wanted.items())
        ),
    )
    return page if query.get("include_total", "true") == "true" else {**page, "total": None}


def file_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/files/{id}`."""
    found = _find(store, _after(exchange, "files"))
    return found if isinstance(found, Error) else {**found[1], "deleted": False}


def file_content(store: Store, exchange: Exchange) -> Response | Error:
    """`GET /v1/files/{id}/content`: the bytes."""
    found = _find(store, _after(exchange, "files"))
    if isinstance(found, Error):
        return found
    headers = (
        ("content-type", "application/octet-stream"),
        ("content-disposition", f"attachment; filename*=utf-8''{quote(found[1]['filename'])}"),
    )
    return Response(_OK, headers, found[0])


def file_url(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/files/{id}/url`: an address on this host, where the bytes are; the real one is in a cloud's store."""
    found = _find(store, _after(exchange, "files"))
    if isinstance(found, Error):
        return found
    return {"url": exchange.request.url.partition("?")[0].removesuffix("/url") + "/content"}


def file_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE /v1/files/{id}`."""
    key = _after(exchange, "files")
    found = _find(store, key)
    if isinstance(found, Error):
        return found
    del store.shelf(_FILES)[key]
    return {"id": key, "object": "file", "deleted": True}


# --- jobs ---------------------------------------------------------------------------------------

_JOBS: Final = "mistral jobs"
_FIRST_ERROR: Final = 400
_ENDPOINTS: Final = (
    *("/v1/chat/completions", "/v1/embeddings", "/v1/fim/completions", "/v1/agents/completions"),
    *("/v1/moderations", "/v1/chat/moderations", "/v1/classifications", "/v1/chat/classifications"),
    *("/v1/ocr", "/v1/conversations", "/v1/audio/transcriptions"),
)


def job_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/batch/jobs`, of requests in files or in the body."""
    asked = _asked(exchange)
    endpoint, keys, requests = asked.get("endpoint"), asked.get("input_files"), asked.get("requests")
    if endpoint not in _ENDPOINTS:
        supported = ", ".join(f"'{one}'" for one in _ENDPOINTS)
        return Error(422, f"endpoint: Input should be one of {supported}")
    source = keys or requests
    if bool(keys) == bool(requests) or not isinstance(source, list):
        return Error(422, "Either input_files or requests has to be a list that isn't empty")
    wrong: list[str] = []
    lines: list[Line] = []
    for given in _given(store, source) if keys else source:
        if isinstance(given, Error):
            return given
        line = _line(asked, given)
        if isinstance(line, str):
            wrong.append(line)
        else:
            lines.append(line)
    if requests and wrong:
        return Error(422, f"requests: {wrong[0]}")
    errors: list[_Json] = [{"message": message, "count": count} for message, count in Counter(wrong).items()]
    batch = Batch(exchange.ids.uuid(), exchange, tuple(lines), asked, wrong=tuple(errors))
    store.shelf(_JOBS)[batch.id] = batch
    return _job(batch, "QUEUED")


def _given(store: Store, keys: Iterable[Any]) -> Iterator[Any]:
    """The lines of the files; `None` for one that can't be read, an error for a file that isn't there."""
    for key in keys:
        found = _find(store, str(key))
        if isinstance(found, Error):
            yield found
            continue
        for text in found[0].splitlines():
            if text.strip():
                try:
                    yield _json.loads(text)
                except ValueError:
                    yield None


def _line(asked: Mapping[str, Any], given: Any) -> Line | str:
    """A request as it would be sent by itself, or what is wrong with it."""
    body = given.get("body") if isinstance(given, dict) else None
    if not isinstance(body, dict):
        return "Each line has to be a JSON object with a body"
    named = {name: asked[name] for name in ("model", "agent_id") if isinstance(asked.get(name), str)}
    return Line(given.get("custom_id"), asked["endpoint"], {**body, **named})


def _status(batch: Batch) -> str:
    if batch.wrong:
        return "FAILED"
    if batch.cancelled:
        return "CANCELLED"
    return "SUCCESS" if batch.results is not None else "RUNNING" if batch.polls else "QUEUED"


def _job(batch: Batch, status: str) -> _Json:
    good, bad = batch.count(good=True), batch.count(good=False)
    ended = CREATED if status in ("SUCCESS", "FAILED", "CANCELLED") else None
    return {
        "id": batch.id,
        "object": "batch",
        "input_files": batch.asked.get("input_files") or [],
        "metadata": batch.asked.get("metadata"),
        "endpoint": batch.asked["endpoint"],
        "model": batch.asked.get("model"),
        "agent_id": batch.asked.get("agent_id"),
        "output_file": batch.more.get("output_file"),
        "error_file": batch.more.get("error_file"),
        "errors": list(batch.wrong if status == "FAILED" else batch.more.get("errors", ())),
        "outputs": None,
        "status": status,
        "created_at": CREATED,
        "total_requests": len(batch.lines),
        "completed_requests": good + bad,
        "succeeded_requests": good,
        "failed_requests": bad,
        "started_at": None if status == "QUEUED" else CREATED,
        "completed_at": ended,
    }


def _found(store: Store, exchange: Exchange) -> Batch | Error:
    key = _after(exchange, "jobs")
    batch = store.shelf(_JOBS).get(key)
    return Error(404, f"Batch job {key} not found.") if batch is None else batch


def job_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/batch/jobs/{id}`: queued, running, done; with the results themselves by `inline=true`."""
    batch = _found(store, exchange)
    if isinstance(batch, Error):
        return batch
    batch.poll(store)
    if batch.results is not None and not batch.more:
        batch.more = _results(store, batch)
    job = _job(batch, _status(batch))
    if exchange.request.query.get("inline") == "true" and batch.results is not None:
        job["outputs"] = batch.more["told"]
    return job


def _results(store: Store, batch: Batch) -> _Json:
    """The files that a job leaves, of what went well and of what didn't, and how often what went wrong."""
    ids = batch.exchange.ids
    told: dict[str, list[_Json]] = {"output": [], "error": []}
    wrong: list[str] = []
    for place, (line, (status, document)) in enumerate(zip(batch.lines, batch.results or (), strict=True)):
        good = status < _FIRST_ERROR
        one = {
            "id": f"batch-{batch.id[:8]}-{place}-{ids.uuid()}",
            "custom_id": line.custom_id,
            "response": {"status_code": status, "body": document},
            "error": None if good else _message(document),
        }
        told["output" if good else "error"].append(one)
        wrong.extend([] if good else [_message(document)])
    made: _Json = {
        "told": sorted((one for lines in told.values() for one in lines), key=_by_place),
        "errors": [{"message": message, "count": count} for message, count in Counter(wrong).items()],
    }
    for name, lines in told.items():
        if lines:
            data = b"".join(_json.compact(one) + b"\n" for one in lines)
            kept = _put(
                store,
                ids,
                f"{batch.id}_{name}.jsonl",
                data,
                purpose="batch",
                sample="batch_result" if name == "output" else "batch_error",
                source="mistral",
            )
            made[f"{name}_file"] = kept["id"]
    return made


def _by_place(one: Mapping[str, Any]) -> int:
    return int(one["id"].split("-")[2])


def _message(document: Any) -> str:
    said = document if isinstance(document, dict) else {}
    found = said.get("message") or said.get("detail")
    return found if isinstance(found, str) else _json.text(found) if found else "Internal server error"


def job_cancel(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/batch/jobs/{id}/cancel`."""
    batch = _found(store, exchange)
    if isinstance(batch, Error):
        return batch
    if batch.done and not batch.cancelled:
        return Error(409, f"A batch job that is {_status(batch)} can't be cancelled.")
    batch.cancel()
    return _job(batch, "CANCELLATION_REQUESTED")


def job_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE /v1/batch/jobs/{id}`."""
    batch = _found(store, exchange)
    if isinstance(batch, Error):
        return batch
    del store.shelf(_JOBS)[batch.id]
    return {"id": batch.id, "object": "batch", "deleted": True}


def job_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/batch/jobs`, the newest first, of a model or some states where that is asked for."""
    query, states = exchange.request.query, _several(exchange, "status")
    jobs = [_job(batch, _status(batch)) for batch in store.shelf(_JOBS).values()]
    if query.get("order_by", "-created").startswith("-"):
        jobs.reverse()
    return _page(
        exchange,
        (
            job
            for job in jobs
            if query.get("model", job["model"]) == job["model"]
            and query.get("agent_id", job["agent_id"]) == job["agent_id"]
            and (not states or job["status"] in states)
        ),
    )
