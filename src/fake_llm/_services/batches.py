"""Batches: many requests at once, answered from the script when they are done.

A batch is in progress when it is first asked for, and done from the second time on; its lines are asked then, in their
order, and each is a call in the journal. One that is cancelled before takes no turn.
"""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import CREATED, Exchange, reach
from fake_llm._framing import BOM
from fake_llm._model import Fault, Headers, Request, Response
from fake_llm._services import files
from fake_llm._services._base import POLLS, Store, page, whole_number
from fake_llm._turns import Error

__all__ = [
    "Batch",
    "Line",
    "anthropic_cancel",
    "anthropic_create",
    "anthropic_delete",
    "anthropic_list",
    "anthropic_results",
    "anthropic_retrieve",
    "openai_cancel",
    "openai_create",
    "openai_list",
    "openai_retrieve",
]

_Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One request of a batch.

    Attributes:
        custom_id: What tells it from the others: a text, of Gemini anything.
        path: Where it would be sent by itself.
        body: What would be sent.
    """

    custom_id: Any
    path: str
    body: Any


@dataclass(slots=True)
class Batch:
    """A batch on its shelf.

    Attributes:
        id: Its id.
        exchange: The request that made it.
        lines: Its requests.
        asked: What the request said of it.
        polls: How often it was asked for.
        cancelled: Whether it was before it was done.
        told: The answers so far: status and document of each line that was asked.
        results: The same, once it is done.
        wrong: What is wrong with its input: it never starts.
        lock: Held while its lines are asked and its files are written: several threads may ask for it at once.
    """

    id: str
    exchange: Exchange
    lines: tuple[Line, ...]
    asked: _Json
    polls: int = 0
    cancelled: bool = False
    told: list[tuple[int, Any]] = field(default_factory=list[tuple[int, Any]])
    results: tuple[tuple[int, Any], ...] | None = None
    wrong: tuple[_Json, ...] = ()
    more: _Json = field(default_factory=dict[str, Any])
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def done(self) -> bool:
        """Whether it has come to its end, one way or another."""
        return bool(self.wrong) or self.cancelled or self.results is not None

    def count(self, *, good: bool) -> int:
        """How many lines went well, or didn't."""
        return sum((status < _FIRST_ERROR) is good for status, _ in self.results or ())

    def poll(self, store: Store) -> None:
        """It was asked for once more."""
        with self.lock:
            self.polls += 1
            if self.polls >= POLLS and not self.done:
                for line in self.lines[len(self.told) :]:
                    self.told.append((500, None))  # what raises isn't asked again at the next poll
                    self.told[-1] = _answered(store, self.exchange, line)
                self.results = tuple(self.told)

    def cancel(self) -> None:
        """Take no turn for what isn't done yet."""
        with self.lock:
            self.cancelled = self.cancelled or not self.done


_FIRST_ERROR: Final = 400


def _answered(store: Store, exchange: Exchange, line: Line) -> tuple[int, Any]:
    """What the line is answered as a request of its own; what breaks off has no document."""
    came = exchange.request
    headers = Headers(
        (
            *((name, value) for name, value in came.headers.items() if name not in _OF_THE_BODY),
            ("content-type", "application/json"),
            ("x-stainless-retry-count", "0"),  # two lines that are the same aren't one that is tried again
        )
    )
    scheme, _, _ = came.url.partition("://")
    url = f"{scheme}://{came.host}{line.path}"
    assert store.ask is not None
    answer = store.ask(Request("POST", url, headers, _json.compact(line.body), came.library, came.timeouts))
    document = _document(answer)
    if isinstance(answer, Response) and document is not None:
        return answer.status, document
    return max(500, answer.status if isinstance(answer, Response) else 0), None


def _document(answer: Response | Fault) -> Any:
    """The JSON of a whole answer, however it is framed; `None` where it breaks off or is none."""
    if not isinstance(answer, Response) or any(isinstance(step, Fault) for step in answer.steps or ()):
        return None
    body = answer.body or b"".join(step for step in answer.steps or () if isinstance(step, bytes))
    try:
        if ("content-encoding", "gzip") in answer.headers:
            body = gzip.decompress(body)
        return _json.loads(body.removeprefix(BOM))
    except (OSError, EOFError, zlib.error, ValueError):
        return None


_OF_THE_BODY: Final = frozenset({"content-length", "content-type", "transfer-encoding", "x-stainless-retry-count"})


def _asked(exchange: Exchange) -> _Json:
    return exchange.body if isinstance(exchange.body, dict) else {}


def _found(store: Store, exchange: Exchange, shelf: str) -> tuple[str, Batch | None]:
    parts = exchange.request.path.split("/")
    key = exchange.request.path_part(parts.index("batches") + 1)
    return key, store.shelf(shelf).get(key)


# --- OpenAI -------------------------------------------------------------------------------------

_OPENAI: Final = "openai batches"
_DAY: Final = 86_400
_ENDPOINTS: Final = (
    *("/v1/responses", "/v1/chat/completions", "/v1/embeddings", "/v1/completions", "/v1/moderations"),
    *("/v1/images/generations", "/v1/images/edits"),
)


def openai_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/batches`."""
    asked = _asked(exchange)
    endpoint, key = asked.get("endpoint"), asked.get("input_file_id")
    if not isinstance(key, str):
        return Error("bad_request", "Missing required parameter: 'input_file_id'.")
    if endpoint not in _ENDPOINTS:
        supported = ", ".join(f"'{one}'" for one in _ENDPOINTS)
        return Error("bad_request", f"Invalid value: '{endpoint}'. Supported values are: {supported}.")
    found = files.find(store, key)
    if isinstance(found, Error):
        return Error("bad_request", found.message)
    lines, wrong = _openai_lines(found[0], str(endpoint))
    batch = Batch("batch_" + exchange.ids.hex(32), exchange, tuple(lines), asked, wrong=tuple(wrong))
    store.shelf(_OPENAI)[batch.id] = batch
    return _openai(batch, "validating")


def _openai_lines(data: bytes, endpoint: str) -> tuple[list[Line], list[_Json]]:
    """The lines of the file, and what is wrong with them."""
    lines: list[Line] = []
    wrong: list[_Json] = []
    seen: set[str] = set()
    for number, text in enumerate(data.splitlines(), 1):
        if not text.strip():
            continue
        try:
            line: Any = _json.loads(text)
        except ValueError:
            line = {}
            trouble: tuple[str, str, str | None] | None = _UNREADABLE
        else:
            trouble = _trouble(line, endpoint, seen)
        if trouble is not None:
            code, message, param = trouble
            wrong.append({"code": code, "line": number, "message": message, "param": param})
        else:
            seen.add(line["custom_id"])
            lines.append(Line(line["custom_id"], line["url"], line["body"]))
    if not lines and not wrong:
        wrong.append({"code": "empty_file", "line": None, "message": "The input file is empty.", "param": None})
    return lines, wrong


_UNREADABLE: Final = "invalid_json_line", "This line is not parseable as valid JSON.", None


def _trouble(line: Any, endpoint: str, seen: set[str]) -> tuple[str, str, str | None] | None:
    if not isinstance(line, dict):
        return _UNREADABLE
    for name, kind in (("custom_id", str), ("method", str), ("url", str), ("body", dict)):
        if not isinstance(line.get(name), kind):
            return "missing_required_parameter", f"Missing required parameter: '{name}'.", name
    if line["custom_id"] in seen:
        return "duplicate_custom_id", f"The custom_id '{line['custom_id']}' is used more than once.", "custom_id"
    if line["method"] != "POST":
        return "invalid_method", "The method of a request must be POST.", "method"
    if line["url"] != endpoint:
        return "mismatched_endpoint", "The URL provided for this request does not match the batch endpoint.", "url"
    return None


def _openai(batch: Batch, status: str) -> _Json:
    done = batch.results is not None
    total = len(batch.lines) if batch.polls and not batch.wrong else 0
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.asked["endpoint"],
        "model": None,
        "errors": {"object": "list", "data": list(batch.wrong)} if status == "failed" else None,
        "input_file_id": batch.asked["input_file_id"],
        "completion_window": batch.asked.get("completion_window"),
        "status": status,
        "output_file_id": batch.more.get("output_file_id"),
        "error_file_id": batch.more.get("error_file_id"),
        "created_at": CREATED,
        "in_progress_at": CREATED if total else None,
        "expires_at": CREATED + _DAY,
        "finalizing_at": CREATED if done else None,
        "completed_at": CREATED if done else None,
        "failed_at": CREATED if status == "failed" else None,
        "expired_at": None,
        "cancelling_at": CREATED if batch.cancelled else None,
        "cancelled_at": CREATED if status == "cancelled" else None,
        "request_counts": {"total": total, "completed": batch.count(good=True), "failed": batch.count(good=False)},
        "usage": _openai_usage(batch),
        "metadata": batch.asked.get("metadata"),
    }


def _openai_usage(batch: Batch) -> _Json:
    """The tokens of all lines, whichever of OpenAI's vocabularies counts them."""
    spent = [reach(document, "usage") or {} for _, document in batch.results or ()]

    def total(*names: str, within: tuple[str, ...] = ()) -> int:
        holders = [next((one[name] for name in within if name in one), {}) if within else one for one in spent]
        counts = (next((one[name] for name in names if name in one), 0) for one in holders)
        return sum(count for count in counts if isinstance(count, int))

    return {
        "input_tokens": total("input_tokens", "prompt_tokens"),
        "output_tokens": total("output_tokens", "completion_tokens"),
        "total_tokens": total("total_tokens"),
        "input_tokens_details": {
            "cached_tokens": total("cached_tokens", within=("input_tokens_details", "prompt_tokens_details"))
        },
        "output_tokens_details": {
            "reasoning_tokens": total("reasoning_tokens", within=("output_tokens_details", "completion_tokens_details"))
        },
    }


def openai_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/batches/{id}`: validated, in progress, done."""
    key, batch = _found(store, exchange, _OPENAI)
    if batch is None:
        return Error(404, f"No batch found with id '{key}'.")
    with batch.lock:
        batch.poll(store)
        if batch.results is not None and not batch.more:
            batch.more = _openai_files(store, batch)
    return _openai(batch, _openai_status(batch))


def _openai_status(batch: Batch) -> str:
    if batch.wrong:
        return "failed"
    if batch.cancelled:
        return "cancelled"
    return "completed" if batch.results is not None else "in_progress" if batch.polls else "validating"


def _openai_files(store: Store, batch: Batch) -> _Json:
    """The files that a batch leaves: of what went well, and of what didn't."""
    written: dict[str, list[bytes]] = {"output": [], "error": []}
    ids = batch.exchange.ids
    for line, (status, document) in zip(batch.lines, batch.results or (), strict=True):
        kind = "output" if status < _FIRST_ERROR else "error"
        told = {
            "id": "batch_req_" + ids.hex(32),
            "custom_id": line.custom_id,
            "response": None
            if document is None
            else {"status_code": status, "request_id": ids.hex(32), "body": document},
            "error": {"code": "server_error", "message": "The request could not be completed."}
            if document is None
            else None,
        }
        written[kind].append(_json.compact(told))
    made: _Json = {"output_file_id": None, "error_file_id": None}
    for kind, lines in written.items():
        if lines:
            key = "file-" + ids.alnum(22)
            files.put(store, key, f"{batch.id}_{kind}.jsonl", b"\n".join(lines) + b"\n", "batch_output")
            made[f"{kind}_file_id"] = key
    return made


def openai_cancel(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/batches/{id}/cancel`."""
    key, batch = _found(store, exchange, _OPENAI)
    if batch is None:
        return Error(404, f"No batch found with id '{key}'.")
    if batch.done and not batch.cancelled:
        return Error(409, f"Cannot cancel a batch with status '{_openai_status(batch)}'.")
    batch.cancel()
    return _openai(batch, "cancelling")


def openai_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/batches`."""
    batches: Sequence[Batch] = list(store.shelf(_OPENAI).values())
    return page(exchange, (_openai(batch, _openai_status(batch)) for batch in batches))


# --- Anthropic ----------------------------------------------------------------------------------

_ANTHROPIC: Final = "anthropic batches"
_CREATED_AT: Final = "2026-01-01T00:00:00Z"
_EXPIRES_AT: Final = "2026-01-02T00:00:00Z"


def anthropic_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/messages/batches`."""
    given = _asked(exchange).get("requests")
    if not isinstance(given, list) or not given:
        return Error("bad_request", "requests: Field required")
    lines: list[Line] = []
    for place, one in enumerate(given):
        wanted: tuple[tuple[str, type], ...] = (("custom_id", str), ("params", dict))
        for name, kind in wanted:
            if not isinstance(one, dict) or not isinstance(one.get(name), kind):
                return Error("bad_request", f"requests.{place}.{name}: Field required")
        if any(line.custom_id == one["custom_id"] for line in lines):
            return Error("bad_request", f"requests.{place}.custom_id: Duplicate custom_id '{one['custom_id']}'")
        lines.append(Line(one["custom_id"], exchange.request.path.removesuffix("/batches"), one["params"]))
    batch = Batch("msgbatch_01" + exchange.ids.alnum(22), exchange, tuple(lines), _asked(exchange))
    store.shelf(_ANTHROPIC)[batch.id] = batch
    return _anthropic(batch)


def _anthropic(batch: Batch) -> _Json:
    ended = batch.done and (not batch.cancelled or batch.more.get("told") is not None)
    left = 0 if ended else len(batch.lines)
    base = batch.exchange.request.url.partition("?")[0]
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if ended else "canceling" if batch.cancelled else "in_progress",
        "request_counts": {
            "processing": left,
            "succeeded": batch.count(good=True),
            "errored": batch.count(good=False),
            "canceled": len(batch.lines) if ended and batch.cancelled else 0,
            "expired": 0,
        },
        "ended_at": _CREATED_AT if ended else None,
        "created_at": _CREATED_AT,
        "expires_at": _EXPIRES_AT,
        "archived_at": None,
        "cancel_initiated_at": _CREATED_AT if batch.cancelled else None,
        "results_url": f"{base}/{batch.id}/results" if ended else None,
    }


def _anthropic_missing(key: str) -> Error:
    return Error(404, f"Message batch {key} not found")


def anthropic_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/messages/batches/{id}`."""
    key, batch = _found(store, exchange, _ANTHROPIC)
    if batch is None:
        return _anthropic_missing(key)
    batch.poll(store)
    if batch.cancelled:
        batch.more["told"] = True
    return _anthropic(batch)


def anthropic_results(store: Store, exchange: Exchange) -> Response | Error:
    """`GET /v1/messages/batches/{id}/results`: a line each, once it has ended."""
    key, batch = _found(store, exchange, _ANTHROPIC)
    if batch is None:
        return _anthropic_missing(key)
    if _anthropic(batch)["processing_status"] != "ended":
        return Error("bad_request", f"Batch {key} has not finished processing; its results are not available yet.")
    lines = b"".join(_json.compact(line) + b"\n" for line in _anthropic_lines(batch))
    headers = (
        ("content-type", "application/x-jsonl"),
        ("content-disposition", f"attachment; filename*=utf-8''{batch.id}_results.jsonl"),
    )
    return Response(200, headers, lines)


def _anthropic_lines(batch: Batch) -> Iterator[_Json]:
    for place, line in enumerate(batch.lines):
        if batch.results is None:
            result: _Json = {"type": "canceled"}
        else:
            status, document = batch.results[place]
            result = {"type": "succeeded", "message": document}
            if status >= _FIRST_ERROR:
                result = {"type": "errored", "error": document or _ANTHROPIC_BROKEN}
        yield {"custom_id": line.custom_id, "result": result}


_ANTHROPIC_BROKEN: Final = {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}


def anthropic_cancel(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/messages/batches/{id}/cancel`."""
    key, batch = _found(store, exchange, _ANTHROPIC)
    if batch is None:
        return _anthropic_missing(key)
    batch.cancel()
    return _anthropic(batch)


def anthropic_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE /v1/messages/batches/{id}`, once it has ended."""
    key, batch = _found(store, exchange, _ANTHROPIC)
    if batch is None:
        return _anthropic_missing(key)
    if _anthropic(batch)["processing_status"] != "ended":
        return Error("bad_request", f"Batch {key} cannot be deleted while it is in progress; cancel it first.")
    del store.shelf(_ANTHROPIC)[key]
    return {"id": key, "type": "message_batch_deleted"}


def anthropic_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/messages/batches`, the newest first."""
    query = exchange.request.query
    listed = [_anthropic(batch) for batch in reversed(list(store.shelf(_ANTHROPIC).values()))]
    after = query.get("after_id")
    if after is not None:
        places = [place for place, one in enumerate(listed) if one["id"] == after]
        listed = listed[places[0] + 1 :] if places else []
    shown = listed[: whole_number(query.get("limit", "")) or 20]
    return {
        "data": shown,
        "has_more": len(listed) > len(shown),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
    }
