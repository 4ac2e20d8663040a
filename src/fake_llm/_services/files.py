"""Files of OpenAI, in memory: what was uploaded, and what batches leave.

The documents are those of the recordings (2026); the same bytes under the same name always get the same id.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fake_llm._dialect import CREATED, Exchange
from fake_llm._form import Upload, form
from fake_llm._model import Response
from fake_llm._services._base import Store, page
from fake_llm._turns import Error

__all__ = ["content", "create", "delete", "find", "list_all", "put", "retrieve"]

SHELF = "files"
_MONTH = 30 * 86_400
"""How long the files of batches are kept, in seconds (recorded 2026); time stands still here."""


def put(store: Store, key: str, filename: str, data: bytes, purpose: str) -> dict[str, Any]:
    """Put a file onto the shelf."""
    store.shelf(SHELF)[key] = (
        data,
        {
            "object": "file",
            "id": key,
            "purpose": purpose,
            "filename": filename,
            "bytes": len(data),
            "created_at": CREATED,
            "expires_at": CREATED + _MONTH if purpose.startswith("batch") else None,
            "status": "processed",
            "status_details": None,
        },
    )
    document: dict[str, Any] = store.shelf(SHELF)[key][1]
    return document


def find(store: Store, key: str) -> tuple[bytes, dict[str, Any]] | Error:
    """A file and its document."""
    found = store.shelf(SHELF).get(key)
    return Error(404, f"No such File object: {key}") if found is None else found


def _key(exchange: Exchange) -> str:
    parts = exchange.request.path.split("/")
    return exchange.request.path_part(parts.index("files") + 1)


def create(store: Store, exchange: Exchange) -> dict[str, Any] | Error:
    """`POST /v1/files`."""
    fields = form(exchange.request) or {}
    upload, purpose = fields.get("file"), fields.get("purpose")
    if not isinstance(upload, Upload):
        return Error("bad_request", "Missing required parameter: 'file'.")
    if not isinstance(purpose, str) or not purpose:
        return Error("bad_request", "Missing required parameter: 'purpose'.")
    return put(store, "file-" + exchange.ids.alnum(22), upload.filename, upload.data, purpose)


def list_all(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/files`, of one `purpose` where that is asked for."""
    purpose = exchange.request.query.get("purpose")
    documents = [document for _, document in store.shelf(SHELF).values()]
    shown = page(exchange, (one for one in documents if purpose in (None, one["purpose"])), usual=10_000)
    return {name: shown[name] for name in ("object", "data", "has_more", "first_id", "last_id")}


def retrieve(store: Store, exchange: Exchange) -> dict[str, Any] | Error:
    """`GET /v1/files/{id}`."""
    found = find(store, _key(exchange))
    return found if isinstance(found, Error) else found[1]


def content(store: Store, exchange: Exchange) -> Response | Error:
    """`GET /v1/files/{id}/content`: the bytes."""
    found = find(store, _key(exchange))
    if isinstance(found, Error):
        return found
    headers = (
        ("content-type", "application/octet-stream"),
        ("content-disposition", f"attachment; filename*=utf-8''{quote(found[1]['filename'])}"),
    )
    return Response(200, headers, found[0])


def delete(store: Store, exchange: Exchange) -> dict[str, Any] | Error:
    """`DELETE /v1/files/{id}`."""
    key = _key(exchange)
    found = find(store, key)
    if isinstance(found, Error):
        return found
    del store.shelf(SHELF)[key]
    return {"object": "file", "id": key, "deleted": True}
