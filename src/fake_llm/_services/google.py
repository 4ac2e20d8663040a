"""What the Gemini API keeps: cached contents, files, batches.

Documents, paths and the protocol of uploads are those of its reference and of google-genai 3.6 (2026-11), refusals of what
isn't there as users saw them (2024 to 2026). Nothing runs out, since no clock has a say in it, a file is ready as soon as it
is there, and a cache may be of any size.
"""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import CREATED, Exchange
from fake_llm._dialects import gemini
from fake_llm._model import Fault, Message, Response
from fake_llm._services._base import Memory, Store
from fake_llm._services.batches import Batch, Line
from fake_llm._tokens import input_tokens
from fake_llm._turns import Error

__all__ = [
    "MEMORY",
    "batch_cancel",
    "batch_create",
    "batch_delete",
    "batch_list",
    "batch_retrieve",
    "cache_create",
    "cache_delete",
    "cache_list",
    "cache_retrieve",
    "cache_update",
    "file_delete",
    "file_download",
    "file_list",
    "file_retrieve",
    "file_upload",
]

_Json = dict[str, Any]
_OK: Final = 200


def _asked(exchange: Exchange) -> _Json:
    return exchange.body if isinstance(exchange.body, dict) else {}


def _field(holder: Mapping[str, Any], camel: str) -> Any:
    """A field by its name in camelCase or in snake_case: the API takes both."""
    value = holder.get(camel)
    return holder.get(_snake(camel)) if value is None else value


@cache
def _snake(camel: str) -> str:
    return re.sub("[A-Z]", lambda found: "_" + found[0].lower(), camel)


def _key(exchange: Exchange) -> str:
    """The last part of the path, without a method."""
    return exchange.request.path_part(-1).partition(":")[0]


def _at(seconds: float) -> str:
    """A moment so many seconds after everything began."""
    whole, rest = divmod(round((CREATED + seconds) * 1e9), 10**9)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + fraction + "Z"


def _listed(exchange: Exchange, name: str, documents: Sequence[_Json], usual: int, most: int) -> _Json | Error:
    """One page of a list, by the `pageSize` and `pageToken` of the query; without a list where there is nothing."""
    query = exchange.request.query
    size, token = query.get("pageSize", query.get("page_size", "")), query.get("pageToken", query.get("page_token", ""))
    count = min(int(size), most) if size.isdecimal() and int(size) else usual
    start = _place(token) if token else 0
    if start is None:
        return Error(400, "page_token is invalid.")
    shown = list(documents[start : start + count])
    page: _Json = {name: shown} if shown else {}
    if start + count < len(documents):
        page["nextPageToken"] = base64.urlsafe_b64encode(b"%d" % (start + count)).decode()
    return page


def _place(token: str) -> int | None:
    try:
        return int(base64.urlsafe_b64decode(token))
    except ValueError:
        return None


# --- cached contents ----------------------------------------------------------------------------

_CACHES: Final = "gemini caches"
_HOUR: Final = 3600.0
_DURATION: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
_NO_CACHE: Final = "CachedContent not found (or permission denied)"


def cache_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST cachedContents`."""
    asked = _asked(exchange)
    model = asked.get("model")
    if not isinstance(model, str) or not model:
        return Error(400, "* CreateCachedContentRequest.cached_content.model: model is required\n")
    error = gemini.DIALECT.check(exchange.request, {**asked, "contents": asked.get("contents") or [{"parts": []}]})
    if error is not None:
        return error
    expires = _expires(asked)
    if isinstance(expires, Error):
        return expires
    name = _field(asked, "displayName")
    document: _Json = {
        "name": f"cachedContents/{exchange.ids.lower(40)}",
        "model": model if "/" in model else f"models/{model}",
        "createTime": _at(0),
        "updateTime": _at(0),
        "expireTime": expires,
        **({"displayName": name} if isinstance(name, str) else {}),
        "usageMetadata": {"totalTokenCount": input_tokens(asked)},
    }
    store.shelf(_CACHES)[document["name"]] = (document, asked)
    return document


def _expires(asked: Mapping[str, Any]) -> str | Error:
    """When it would run out: after an hour unless the request says another time."""
    moment, duration = _field(asked, "expireTime"), asked.get("ttl")
    if isinstance(moment, str):
        return moment
    if duration is None:
        return _at(_HOUR)
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if found is None:
        return Error(
            400,
            f"Invalid value at 'cached_content.ttl' (type.googleapis.com/google.protobuf.Duration), {_json.text(duration)}",
        )
    return _at(float(found[1]))


def _cache(store: Store, exchange: Exchange) -> tuple[_Json, _Json] | None:
    found: tuple[_Json, _Json] | None = store.shelf(_CACHES).get(f"cachedContents/{_key(exchange)}")
    return found


def cache_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET cachedContents/{id}`."""
    found = _cache(store, exchange)
    return Error(403, _NO_CACHE) if found is None else found[0]


def cache_update(store: Store, exchange: Exchange) -> _Json | Error:
    """`PATCH cachedContents/{id}`: of its end, which alone can be changed."""
    found = _cache(store, exchange)
    if found is None:
        return Error(403, _NO_CACHE)
    expires = _expires(_asked(exchange))
    if isinstance(expires, Error):
        return expires
    document = {**found[0], "expireTime": expires}
    store.shelf(_CACHES)[document["name"]] = (document, found[1])
    return document


def cache_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE cachedContents/{id}`."""
    found = store.shelf(_CACHES).pop(f"cachedContents/{_key(exchange)}", None)
    return Error(403, _NO_CACHE) if found is None else {}


def cache_list(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET cachedContents`."""
    documents = [document for document, _ in store.shelf(_CACHES).values()]
    return _listed(exchange, "cachedContents", documents, usual=50, most=1000)


def _recall(store: Store, exchange: Exchange) -> tuple[Message, ...] | Error:
    """What the request's cache has in it, or the API's refusal of one that doesn't fit."""
    asked = _asked(exchange)
    name = _field(asked, "cachedContent")
    if name is None or name == "":
        return ()
    found = store.shelf(_CACHES).get(name if isinstance(name, str) else "")
    if found is None:
        return Error(403, _NO_CACHE)
    document, cached = found
    if any(_field(asked, field) for field in ("systemInstruction", "tools", "toolConfig")):
        return Error(
            400,
            "CachedContent can not be used with GenerateContent request setting system_instruction, tools or "
            "tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request.",
        )
    model = f"models/{gemini.DIALECT.model(exchange.request, asked)}"
    if model != document["model"]:
        return Error(
            400,
            f"Model used by GenerateContent request ({model}) and CachedContent ({document['model']}) has to be the same.",
        )
    exchange.cached = document["usageMetadata"]["totalTokenCount"]
    return gemini.DIALECT.read(exchange.request, {"contents": cached.get("contents") or []}).messages


def _keep(store: Store, exchange: Exchange, answer: Response | Fault) -> None:
    """An answer isn't kept."""


MEMORY: Final = Memory(
    recall=_recall, keep=_keep, concerns=lambda body: "cachedContent" in body or "cached_content" in body
)
"""Of generation: what it builds on is cached content."""


# --- files --------------------------------------------------------------------------------------

_FILES: Final = "gemini files"
_UPLOADS: Final = "gemini uploads"
_TWO_DAYS: Final = 172_800.0
_FILE_NAME: Final = re.compile("files/[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


def _no_file(key: str) -> Error:
    return Error(403, f"You do not have permission to access the File {key} or it may not exist.")


def _put(store: Store, exchange: Exchange, asked: Mapping[str, Any], data: bytes, *, generated: bool = False) -> _Json:
    """Put a file onto the shelf."""
    name = str(asked["name"])
    address = f"{_base(exchange)}/{name}"
    shown = _field(asked, "displayName")
    document: _Json = {
        "name": name,
        **({"displayName": shown} if isinstance(shown, str) and shown else {}),
        "mimeType": _field(asked, "mimeType") or "application/octet-stream",
        "sizeBytes": str(len(data)),
        "createTime": _at(0),
        "updateTime": _at(0),
        "expirationTime": _at(_TWO_DAYS),
        "sha256Hash": base64.b64encode(hashlib.sha256(data).hexdigest().encode()).decode(),
        "uri": address,
        **({"downloadUri": f"{address}:download?alt=media"} if generated else {}),
        "state": "ACTIVE",
        "source": "GENERATED" if generated else "UPLOADED",
    }
    store.shelf(_FILES)[name] = (data, document)
    return document


def _base(exchange: Exchange) -> str:
    """Where the API's resources are, with the version that the request names."""
    url = exchange.request.url.partition("?")[0].replace("/upload/", "/", 1)
    for resource in ("/files", "/models/", "/tunedModels/", "/batches/"):
        url = url.partition(resource)[0]
    return url


def file_upload(store: Store, exchange: Exchange) -> Response | Error:
    """`POST /upload/{version}/files`: an upload that may be continued begins, goes on and ends at this path."""
    headers = exchange.request.headers
    commands = {word.strip().lower() for word in headers.get("x-goog-upload-command", "").split(",")}
    if "start" in commands:
        return _begin_upload(store, exchange)
    key = exchange.request.query.get("upload_id", "")
    upload = store.shelf(_UPLOADS).get(key)
    if upload is None:
        return Error(400, "Bad Request: the upload isn't known. Begin one by X-Goog-Upload-Command: start.")
    if "query" in commands:
        return _uploading("active", received=len(upload["data"]))
    if "cancel" in commands:
        del store.shelf(_UPLOADS)[key]
        return _uploading("cancelled")
    offset = headers.get("x-goog-upload-offset", "0")
    if not offset.isdecimal() or int(offset) != len(upload["data"]):
        return Error(400, f"Bad Request: the offset is {offset}, but {len(upload['data'])} bytes have come.")
    upload["data"] += exchange.request.body if "upload" in commands else b""
    if "finalize" not in commands:
        return _uploading("active", received=len(upload["data"]))
    del store.shelf(_UPLOADS)[key]
    return _uploading("final", {"file": _put(store, exchange, upload["file"], upload["data"])})


def _begin_upload(store: Store, exchange: Exchange) -> Response | Error:
    given = _asked(exchange).get("file")
    file = dict(given) if isinstance(given, dict) else {}
    name = file.get("name") or f"files/{exchange.ids.lower(12)}"
    if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
        return Error(
            400,
            "* CreateFileRequest.file.name: A file ID may only contain lowercase alphanumeric characters or dashes (-), "
            "cannot begin or end with a dash and has at most 40 of them.\n",
        )
    if name in store.shelf(_FILES):
        return Error(409, "Requested entity already exists")
    kind = _field(file, "mimeType") or exchange.request.headers.get("x-goog-upload-header-content-type")
    key = exchange.ids.alnum(40)
    store.shelf(_UPLOADS)[key] = {"file": {**file, "name": name, "mimeType": kind}, "data": b""}
    address = exchange.request.url.partition("?")[0]
    return _uploading("active", address=f"{address}?upload_id={key}&upload_protocol=resumable")


def _uploading(
    status: str, document: Any = None, *, address: str | None = None, received: int | None = None
) -> Response:
    body = b"" if document is None else _json.pretty(document) + b"\n"
    beside = {
        "x-goog-upload-status": status,
        "x-goog-upload-url": address,
        "x-goog-upload-chunk-granularity": None if address is None else "8388608",
        "x-goog-upload-size-received": None if received is None else str(received),
    }
    kind = "text/plain; charset=utf-8" if document is None else "application/json; charset=UTF-8"
    given = ((name, value) for name, value in beside.items() if value is not None)
    return Response(_OK, (("content-type", kind), *given), body)


def file_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET files/{id}`."""
    found = store.shelf(_FILES).get(f"files/{_key(exchange)}")
    return _no_file(_key(exchange)) if found is None else found[1]


def file_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE files/{id}`."""
    found = store.shelf(_FILES).pop(f"files/{_key(exchange)}", None)
    return _no_file(_key(exchange)) if found is None else {}


def file_list(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET files`."""
    documents = [document for _, document in store.shelf(_FILES).values()]
    return _listed(exchange, "files", documents, usual=10, most=100)


def file_download(store: Store, exchange: Exchange) -> Response | Error:
    """`GET files/{id}:download`: the bytes of what a batch left; what was uploaded isn't given back."""
    found = store.shelf(_FILES).get(f"files/{_key(exchange)}")
    if found is None:
        return _no_file(_key(exchange))
    data, document = found
    if document["source"] == "UPLOADED":
        return Error(400, f"File {_key(exchange)} was uploaded: only generated files can be downloaded.")
    return Response(_OK, (("content-type", document["mimeType"]),), data)


# --- batches ------------------------------------------------------------------------------------

_BATCHES: Final = "gemini batches"
_PACKAGE: Final = "type.googleapis.com/google.ai.generativelanguage.v1main."
_FIRST_ERROR: Final = 400
_CODES: Final = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 429: 8, 499: 1, 503: 14, 504: 4}
_INTERNAL: Final = 13
"""Numbers of gRPC for statuses of HTTP, as `google.rpc.Status` has them."""
_VERBS: Final = {"batchGenerateContent": "generateContent", "asyncBatchEmbedContent": "embedContent"}


def batch_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST models/{m}:batchGenerateContent` and `:asyncBatchEmbedContent`, of requests in the body or in a file."""
    asked = _asked(exchange).get("batch")
    source = _field(asked, "inputConfig") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or not isinstance(source, dict):
        return Error(400, "* BatchGenerateContentRequest.batch.input_config: input_config is not specified\n")
    path, _, verb = exchange.request.path.rpartition(":")
    name = _field(source, "fileName")
    if isinstance(name, str):
        found = store.shelf(_FILES).get(name)
        if found is None:
            return _no_file(name.removeprefix("files/"))
        lines = _lines_of(found[0], f"{path}:{_VERBS[verb]}")
    else:
        lines = _inlined(source, f"{path}:{_VERBS[verb]}")
    if isinstance(lines, Error):
        return lines
    batch = Batch("batches/" + exchange.ids.lower(40), exchange, tuple(lines), asked, more={"file": name})
    store.shelf(_BATCHES)[batch.id] = batch
    return _operation(batch)


def _inlined(source: Mapping[str, Any], path: str) -> list[Line] | Error:
    holder = source.get("requests")
    given = holder.get("requests") if isinstance(holder, dict) else None
    if not isinstance(given, list) or not given:
        return Error(400, "* BatchGenerateContentRequest.batch.input_config.requests: requests is not specified\n")
    lines: list[Line] = []
    for index, one in enumerate(given):
        request = one.get("request") if isinstance(one, dict) else None
        if not isinstance(request, dict):
            return Error(400, f"* batch.input_config.requests.requests[{index}].request: request is not specified\n")
        lines.append(Line(one.get("metadata"), path, _alone(request)))
    return lines


def _lines_of(data: bytes, path: str) -> list[Line] | Error:
    lines: list[Line] = []
    for number, text in enumerate(data.splitlines(), 1):
        if not text.strip():
            continue
        line = _parsed(text)
        request = line.get("request")
        if not isinstance(request, dict):
            return Error(
                400, f"Failed to parse line {number} of the input file: it has to be an object with a request."
            )
        lines.append(Line(line.get("key"), path, _alone(request)))
    return lines or Error(400, "The input file has no requests.")


def _parsed(text: bytes) -> _Json:
    """A line of a file, empty where it is no object."""
    try:
        line = _json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _alone(request: Mapping[str, Any]) -> _Json:
    """A request as it would be sent by itself: the model is in its URL."""
    return {name: value for name, value in request.items() if name != "model"}


def _state(batch: Batch) -> str:
    if batch.cancelled:
        return "BATCH_STATE_CANCELLED"
    if batch.results is not None:
        return "BATCH_STATE_SUCCEEDED"
    return "BATCH_STATE_RUNNING" if batch.polls else "BATCH_STATE_PENDING"


def _operation(batch: Batch) -> _Json:
    """The batch as an operation that runs for long."""
    total, done = len(batch.lines), batch.results is not None
    counts = {
        "requestCount": total,
        "successfulRequestCount": batch.count(good=True),
        "failedRequestCount": batch.count(good=False),
        "pendingRequestCount": 0 if batch.done else total,
    }
    verb = batch.exchange.request.path.rpartition(":")[2]
    kind = "GenerateContentBatch" if verb == "batchGenerateContent" else "EmbedContentBatch"
    metadata: _Json = {
        "@type": _PACKAGE + kind,
        "model": f"models/{gemini.DIALECT.model(batch.exchange.request, None)}",
        "displayName": _field(batch.asked, "displayName") or "",
        **({"output": batch.more["output"]} if done else {}),
        "createTime": _at(0),
        **({"endTime": _at(0)} if batch.done else {}),
        "updateTime": _at(0),
        "batchStats": {name: str(count) for name, count in counts.items() if count},
        "state": _state(batch),
        "name": batch.id,
    }
    operation: _Json = {"name": batch.id, "metadata": metadata}
    if batch.cancelled:
        operation |= {"done": True, "error": {"code": 1, "message": "Operation was cancelled."}}
    if done:
        operation |= {"done": True, "response": {"@type": f"{_PACKAGE}{kind}Output", **batch.more["output"]}}
    return operation


def _found(store: Store, exchange: Exchange) -> Batch | Error:
    found = store.shelf(_BATCHES).get(f"batches/{_key(exchange)}")
    return Error(404, "Requested entity was not found.") if found is None else found


def batch_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET batches/{id}`: pending, running, done."""
    batch = _found(store, exchange)
    if isinstance(batch, Error):
        return batch
    batch.poll(store)
    if batch.results is not None and "output" not in batch.more:
        batch.more["output"] = _output(store, batch)
    return _operation(batch)


def _output(store: Store, batch: Batch) -> _Json:
    """The results, where the requests came from: in the body, or in a file."""
    results = zip(batch.lines, batch.results or (), strict=True)
    if isinstance(batch.more["file"], str):
        told = ({"key": line.custom_id, **_result(status, document)} for line, (status, document) in results)
        data = b"".join(_json.compact(one) + b"\n" for one in told)
        name = f"files/batch-{batch.id.removeprefix('batches/')}"
        asked = {"name": name, "mimeType": "application/jsonl"}
        return {"responsesFile": _put(store, batch.exchange, asked, data, generated=True)["name"]}
    embeds = batch.exchange.request.path.endswith(":asyncBatchEmbedContent")
    name = "inlinedEmbedContentResponses" if embeds else "inlinedResponses"
    return {name: {"inlinedResponses": list(_inlined_results(results))}}


def _inlined_results(results: Iterator[tuple[Line, tuple[int, Any]]]) -> Iterator[_Json]:
    for line, (status, document) in results:
        yield {**_result(status, document), **({} if line.custom_id is None else {"metadata": line.custom_id})}


def _result(status: int, document: Any) -> _Json:
    told: _Json = document if isinstance(document, dict) else {}
    if told and status < _FIRST_ERROR:
        return {"response": told}
    said = told.get("error")
    message = said.get("message") if isinstance(said, dict) else None
    return {"error": {"code": _CODES.get(status, _INTERNAL), "message": message or "Internal error encountered."}}


def batch_cancel(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST batches/{id}:cancel`, which does nothing to one that is done."""
    batch = _found(store, exchange)
    if isinstance(batch, Error):
        return batch
    batch.cancel()
    return {}


def batch_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE batches/{id}`."""
    batch = _found(store, exchange)
    if isinstance(batch, Error):
        return batch
    del store.shelf(_BATCHES)[batch.id]
    return {}


def batch_list(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET batches`."""
    operations = [_operation(batch) for batch in store.shelf(_BATCHES).values()]
    return _listed(exchange, "operations", operations, usual=50, most=1000)
