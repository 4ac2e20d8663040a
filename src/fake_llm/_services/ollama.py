"""What Ollama's server does beside generating: lists of models, looks at them, fetches and removes them.

Every model is there, since a script answers for any; the list has some well-known ones, and what the code fetched or made.
The forms are those of the server's sources (2026-08) and of the types of its SDK (0.6, 2026-11).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._dialects import ollama
from fake_llm._model import Response
from fake_llm._services._base import Store
from fake_llm._turns import Error
from fake_llm._vectors import size_of

__all__ = [
    "blob",
    "copy",
    "create",
    "delete",
    "loaded",
    "pull",
    "push",
    "root",
    "running",
    "show",
    "tags",
    "version",
]

_VERSION: Final = "0.17.0"
_WINDOW: Final = 131_072
_SIZE: Final = 4_683_087_332
_MODIFIED: Final = "2026-01-01T00:00:00Z"
_KNOWN: Final = (
    *("gpt-oss:20b", "gpt-oss:120b", "qwen3:latest", "qwen3:8b", "llama3.3:latest", "llama3.2:latest"),
    *("llama3.1:latest", "llama3.1:8b", "llama3:latest", "gemma3:latest", "mistral:latest", "phi4:latest"),
    *("deepseek-r1:latest", "llava:latest", "nomic-embed-text:latest", "mxbai-embed-large:latest", "all-minilm:latest"),
)
_DETAILS: Final = {
    "parent_model": "",
    "format": "gguf",
    "family": "llama",
    "families": ["llama"],
    "parameter_size": "8.0B",
    "quantization_level": "Q4_K_M",
}
_MISSING: Final = Error(400, "model is required")


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _full(name: str) -> str:
    """The name with its tag."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def _asked(exchange: Exchange) -> str:
    return ollama.name_of(exchange.request, exchange.body)


def _models(store: Store) -> dict[str, Any]:
    """What was fetched or made (`True`), or deleted (`False`), by its name."""
    return store.shelf("ollama models")


def _refused(exchange: Exchange, error: Error) -> Response:
    return ollama.ERRORS.failure(exchange, error)


def _body(exchange: Exchange) -> Mapping[str, Any]:
    return exchange.body if isinstance(exchange.body, Mapping) else {}


def _deleted(store: Store, exchange: Exchange) -> Response | None:
    """The refusal of a model that the code has deleted itself."""
    name = _asked(exchange)
    if not name:
        return _refused(exchange, _MISSING)
    if _models(store).get(_full(name)) is False:
        return _refused(exchange, Error("not_found", f"model '{name}' not found"))
    return None


def _names(store: Store) -> list[str]:
    made = [name for name, there in _models(store).items() if there and name not in _KNOWN]
    return [*(name for name in _KNOWN if _models(store).get(name) is not False), *made]


def _capabilities(name: str) -> list[str]:
    """All that a script may want of a model; one that is known to embed does nothing else."""
    return ["completion", "tools", "vision", "thinking"] if size_of(name.partition(":")[0]) is None else ["embedding"]


def tags(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /api/tags`."""
    return {
        "models": [
            {
                "name": name,
                "model": name,
                "modified_at": _MODIFIED,
                "size": _SIZE,
                "digest": _digest(name),
                "details": dict(_DETAILS),
            }
            for name in _names(store)
        ]
    }


def running(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /api/ps`: none is in memory, as after a while without calls."""
    return {"models": []}


def show(store: Store, exchange: Exchange) -> dict[str, Any] | Response:
    """`POST /api/show`."""
    if (refusal := _deleted(store, exchange)) is not None:
        return refusal
    name = _asked(exchange)
    window = store.context_window or _WINDOW
    size = size_of(name.partition(":")[0])
    embedding = {} if size is None else {"llama.embedding_length": size}
    return {
        "modelfile": f"FROM {name}\n",
        "parameters": "",
        "template": "{{ .System }}{{ .Tools }}{{ .Prompt }}",
        "details": dict(_DETAILS),
        "model_info": {"general.architecture": "llama", "llama.context_length": window, **embedding},
        "capabilities": _capabilities(name),
        "modified_at": _MODIFIED,
    }


def _progress(exchange: Exchange, lines: Iterable[dict[str, Any]]) -> Response:
    """What is told on the way, line by line; asked for no stream, the last of it."""
    told = list(lines)
    if _body(exchange).get("stream") is False:
        return Response(200, (("content-type", "application/json"),), ollama.dumps(told[-1]))
    body = b"".join(ollama.dumps(line) + b"\n" for line in told)
    return Response(200, (("content-type", "application/x-ndjson"),), body)


def pull(store: Store, exchange: Exchange) -> Response:
    """`POST /api/pull`: the model is in the list from then on."""
    name = _asked(exchange)
    if not name:
        return _refused(exchange, _MISSING)
    _models(store)[_full(name)] = True
    digest = _digest(name)
    layer = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": _SIZE}
    return _progress(
        exchange,
        (
            {"status": "pulling manifest"},
            layer,
            {**layer, "completed": _SIZE // 2},
            {**layer, "completed": _SIZE},
            {"status": "verifying sha256 digest"},
            {"status": "writing manifest"},
            {"status": "success"},
        ),
    )


def push(store: Store, exchange: Exchange) -> Response:
    """`POST /api/push`."""
    if (refusal := _deleted(store, exchange)) is not None:
        return refusal
    digest = f"sha256:{_digest(_asked(exchange))}"
    return _progress(
        exchange,
        (
            {"status": "retrieving manifest"},
            {"status": "starting upload", "digest": digest, "total": _SIZE},
            {"status": f"pushing {digest[7:19]}", "digest": digest, "total": _SIZE, "completed": _SIZE},
            {"status": "pushing manifest"},
            {"status": "success"},
        ),
    )


def create(store: Store, exchange: Exchange) -> Response:
    """`POST /api/create`: the model is in the list from then on."""
    name, body = _asked(exchange), _body(exchange)
    if not name:
        return _refused(exchange, _MISSING)
    if not body.get("from") and not body.get("files"):
        return _refused(exchange, Error(400, "neither 'from' or 'files' was specified"))
    _models(store)[_full(name)] = True
    digest = f"sha256:{_digest(name)}"
    return _progress(
        exchange,
        (
            {"status": "using existing layer " + digest},
            {"status": "creating new layer " + digest},
            {"status": "writing manifest"},
            {"status": "success"},
        ),
    )


def copy(store: Store, exchange: Exchange) -> Response:
    """`POST /api/copy`: an answer without a body."""
    body = _body(exchange)
    source, destination = body.get("source"), body.get("destination")
    for what, name in (("source", source), ("destination", destination)):
        if not isinstance(name, str) or not name:
            return _refused(exchange, Error(400, f'{what} "{name or ""}" is invalid'))
    if _models(store).get(_full(str(source))) is False:
        return _refused(exchange, Error("not_found", f'model "{source}" not found'))
    _models(store)[_full(str(destination))] = True
    return Response(200)


def delete(store: Store, exchange: Exchange) -> Response:
    """`DELETE /api/delete`: an answer without a body; the model isn't there any more."""
    if (refusal := _deleted(store, exchange)) is not None:
        return refusal
    _models(store)[_full(_asked(exchange))] = False
    return Response(200)


def blob(store: Store, exchange: Exchange) -> Response:
    """`POST` and `HEAD /api/blobs/{digest}`: what is sent is taken and not kept."""
    return Response(201 if exchange.request.method == "POST" else 200)


def version(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /api/version`."""
    return {"version": _VERSION}


def root(store: Store, exchange: Exchange) -> Response:
    """`GET /`, which asks whether the server is there."""
    return Response(200, (("content-type", "text/plain; charset=utf-8"),), b"Ollama is running")


def loaded(store: Store, exchange: Exchange) -> dict[str, Any] | Response:
    """A chat without messages, or a prompt without text: the model is loaded, or taken out of memory, and says nothing."""
    dialect = exchange.asked.dialect
    error = dialect.check(exchange.request, exchange.body)
    if error is not None:
        return dialect.failure(exchange, error)
    chat = dialect.name == ollama.CHAT.name
    said: dict[str, Any] = {"message": {"role": "assistant", "content": ""}} if chat else {"response": ""}
    return {
        "model": _asked(exchange),
        "created_at": ollama.created_at(exchange),
        **said,
        "done": True,
        "done_reason": ollama.idle(exchange.body),
    }
