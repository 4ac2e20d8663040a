"""Replicate's predictions: an input goes in, and its output can be waited for, polled, streamed or cancelled.

The forms are those of the vendor's documentation and of what its SDK reads (replicate 1.0, 2026-11). What a language model says is a
list of strings. What a prediction is after its first answer is told by `_services/replicate.py`.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from fake_llm._dialect import Dialect, Exchange, Ids, WireEvent, media, message
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import AUTO, HeaderItems, Message, Request, Role, Usage, View
from fake_llm._turns import Error, Image, Reply

__all__ = ["DIALECT", "Status", "pieces", "prediction", "status_of"]

Status: TypeAlias = Literal["starting", "processing", "succeeded", "failed", "canceled"]

# --- request to view -----------------------------------------------------------------------------

_LIMITS: Final = ("max_tokens", "max_new_tokens", "max_output_tokens", "max_completion_tokens")
_STOPS: Final = ("stop", "stop_sequences")
_IMAGES: Final = ("image", "images", "image_input", "input_image", "input_images")
_NOT_PARAMS: Final = frozenset({"prompt", "system_prompt", "messages", *_LIMITS, *_STOPS, *_IMAGES})
_ROLES: Final[Mapping[str, Role]] = {"system": "system", "developer": "system", "assistant": "assistant"}


def read(request: Request, body: Any) -> View:
    """The view of a request: each model has inputs of its own, and these are the names that language models share."""
    given = body.get("input")
    if not isinstance(given, dict):
        return View()
    system = given.get("system_prompt")
    messages = list(_messages(given.get("messages")))
    prompt = given.get("prompt")
    images = [media("[image]") for name in _IMAGES for _ in _listed(given.get(name))]
    if isinstance(prompt, str) or images:
        messages.append(message("user", [*([prompt] if isinstance(prompt, str) else []), *images]))
    if not isinstance(system, str):
        system = "\n".join(item.text for item in messages if item.role == "system")
    return View(tuple(messages), system, {}, AUTO, None, _params(given))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _messages(given: Any) -> Iterator[Message]:
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict):
            content = item.get("content")
            blocks = [content] if isinstance(content, str) else content if isinstance(content, list) else []
            texts = [block if isinstance(block, str) else _text(block) for block in blocks]
            yield message(_ROLES.get(str(item.get("role")), "user"), texts)


def _text(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else media("[image]")


def _params(given: Mapping[str, Any]) -> dict[str, Any]:
    params = {name: value for name, value in given.items() if name not in _NOT_PARAMS and value is not None}
    for name in _LIMITS:
        if given.get(name) is not None:
            params["max_tokens"] = given[name]
    for name in _STOPS:
        stop = given.get(name)
        if stop:
            params["stop"] = stop.split(",") if isinstance(stop, str) else stop  # their own form of a list
    return params


def stream(request: Request, body: Any) -> bool:
    """Never: a prediction that can be streamed has a URL for it in its answer."""
    return False


def model(request: Request, body: Any) -> str:
    """`owner/name` out of the path or the version; the version alone where it stands alone."""
    parts = request.path.strip("/").split("/")
    for resource in ("models", "deployments"):
        if resource in parts and parts[-1] == "predictions":
            owner, name = parts[parts.index(resource) + 1 : parts.index(resource) + 3]
            return f"{owner}/{name}"
    version = body.get("version") if isinstance(body, dict) else None
    return version.partition(":")[0] if isinstance(version, str) else ""


# --- refusals of malformed requests --------------------------------------------------------------


def check(request: Request, body: Any) -> Error | None:
    """The vendor's refusal of a request without what it needs."""
    if not isinstance(body, dict):
        return _refused("- body must be an object\n", "body", "invalid_type")
    if request.path.rstrip("/").endswith("v1/predictions"):
        version = body.get("version")
        if version is None:
            return _refused("- version is required\n", "version", "required")
        if not isinstance(version, str):
            return _refused("- version must be a string\n", "version", "invalid_type")
    given = body.get("input")
    if given is None:
        return _refused("- input is required\n", "input", "required")
    if not isinstance(given, dict):
        return _refused("- input must be an object\n", "input", "invalid_type")
    for name, kind, wanted in (("stream", bool, "a boolean"), ("webhook", str, "a string")):
        if body.get(name) is not None and not isinstance(body[name], kind):
            return _refused(f"- {name} must be {wanted}\n", name, "invalid_type")
    return None


def _refused(detail: str, field: str, kind: str) -> Error:
    said = {"type": kind, "field": field, "description": detail.removeprefix("- ").rstrip()}
    body = {"detail": detail, "status": 422, "title": "Input validation failed", "invalid_fields": [said]}
    return Error(422, detail, body=body)


# --- answers -------------------------------------------------------------------------------------

_HIDDEN: Final = "hidden"
_UNSAFE: Final = "NSFW content detected. Try running it again, or try a different prompt."
_API: Final = "https://api.replicate.com/v1/predictions"


def document(exchange: Exchange) -> dict[str, Any]:
    """The answer to its creation: done where the request waits for it, else about to start."""
    waits = (exchange.request.headers.get("prefer") or "").startswith("wait")
    return prediction(exchange, status_of(exchange) if waits else "starting")


def status_of(exchange: Exchange) -> Status:
    """How it ends."""
    reason = exchange.choice.finish_reason
    if reason in ("failed", "content_filter"):
        return "failed"
    return "canceled" if reason == "canceled" else "succeeded"


def prediction(exchange: Exchange, status: Status) -> dict[str, Any]:
    """A prediction as it is at some time."""
    if exchange.id is None:
        exchange.id = exchange.ids.lower(26)
    at = dt.datetime.fromtimestamp(exchange.created, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    body = exchange.body if isinstance(exchange.body, dict) else {}
    own = f"{_API}/{exchange.id}"
    urls = {"cancel": f"{own}/cancel", "get": own, "web": f"https://replicate.com/p/{exchange.id}"}
    if not exchange.choice.of(Image):
        urls["stream"] = f"https://stream.replicate.com/v1/files/{exchange.id}"
    done = status in ("succeeded", "failed", "canceled")
    written: dict[str, Any] = {
        "id": exchange.id,
        "model": exchange.model,
        "version": _version(body),
        "input": body.get("input"),
        "logs": "",
        "output": _output(exchange, status),
        "data_removed": False,
        "error": _error(exchange) if status == "failed" else None,
        "status": status,
        "created_at": at,
        "started_at": None if status == "starting" else at,
        "completed_at": at if done else None,
        "urls": urls,
        "metrics": _metrics(exchange.usage, exchange) if done else {},
    }
    return exchange.extend(written) if status == status_of(exchange) else written


def _version(body: Mapping[str, Any]) -> str:
    version = body.get("version")
    return (version.rpartition(":")[2] if isinstance(version, str) else "") or _HIDDEN


def pieces(exchange: Exchange) -> list[str]:
    """What is said, piece by piece; pictures as URIs of their data."""
    choice = exchange.choice
    said: list[str] = []
    for index, part in enumerate(choice.parts):
        said += [_uri(part)] if isinstance(part, Image) else choice.pieces(index)
    return said


def _uri(image: Image) -> str:
    if isinstance(image.data, str):
        return image.data
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"


def _output(exchange: Exchange, status: Status) -> list[str] | None:
    """All of it when it is done, the first half while it is made."""
    said = pieces(exchange)
    if status == "succeeded":
        return said
    return said[: len(said) // 2] if status == "processing" and not exchange.choice.of(Image) else None


def _error(exchange: Exchange) -> str:
    return exchange.choice.text or (
        _UNSAFE if exchange.choice.finish_reason == "content_filter" else "Prediction failed."
    )


def _metrics(usage: Usage, exchange: Exchange) -> dict[str, Any]:
    counted = {} if exchange.choice.of(Image) else _counts(usage)
    return {**counted, "predict_time": 0.5, "total_time": 0.5}


def _counts(usage: Usage) -> dict[str, Any]:
    return {
        "input_token_count": usage.input_tokens,
        "output_token_count": usage.output_tokens,
        **usage.details,
    }


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """None of its own: the stream is asked for by a request of its own."""
    return [document(exchange)], []


# --- errors --------------------------------------------------------------------------------------


def _problem(said: Said) -> dict[str, Any]:
    """The details of a problem (RFC 7807)."""
    return {"title": said.type, "detail": said.message, "status": said.status}


ERRORS: Final = Errors(
    body=_problem,
    content_type="application/problem+json",
    usual={
        "bad_request": Usual(400, "Bad request", "The request could not be understood."),
        "authentication": Usual(401, "Unauthenticated", "You did not pass a valid authentication token"),
        "permission": Usual(403, "Forbidden", "You do not have permission to perform this action."),
        "not_found": Usual(404, "Not found", "The requested resource could not be found."),
        "request_too_large": Usual(413, "Request entity too large", "The request is too large."),
        "context_length": Usual(422, "Input validation failed", "- input.prompt: The prompt is too long.\n"),
        "content_filter": Usual(
            422, "Input validation failed", "- input.prompt: The prompt was flagged as sensitive.\n"
        ),
        "rate_limit": Usual(429, "Too many requests", "Request was throttled. Expected available in 1 second."),
        "quota": Usual(
            402,
            "Insufficient credit",
            "You have insufficient credit to run this model. Go to https://replicate.com/account/billing#billing to purchase credit.",
        ),
        "server_error": Usual(500, "Internal server error", "Something went wrong."),
        "unavailable": Usual(503, "Service unavailable", "The service is temporarily unavailable."),
        "overloaded": Usual(503, "Service unavailable", "The service is temporarily overloaded."),
        "timeout": Usual(504, "Gateway timeout", "The request timed out."),
    },
)


def headers(exchange: Exchange) -> HeaderItems:
    """What became of the wish to wait."""
    prefer = exchange.request.headers.get("prefer")
    return (("preference-applied", prefer),) if prefer else ()


def tool_id(ids: Ids) -> None:
    """There are no tools."""


# --- body to turn --------------------------------------------------------------------------------


def parts(body: Mapping[str, Any]) -> Reply:
    """A prediction read back into a turn."""
    output = body.get("output")
    texts = [item for item in _listed(output) if isinstance(item, str)]
    failed = body.get("status") in ("failed", "canceled")
    if failed and isinstance(body.get("error"), str):
        texts = [body["error"]]
    metrics = body.get("metrics") or {}
    read_, written = metrics.get("input_token_count"), metrics.get("output_token_count")
    text = "".join(texts)
    return Reply(
        *([text] if text else ()),
        id=body.get("id"),
        model=body.get("model") or None,
        usage=None if read_ is None and written is None else Usage(read_ or 0, written or 0),
        finish_reason=body["status"] if failed else "stop",
    )


DIALECT: Final = Dialect(
    name="replicate_predictions",
    label="Replicate predictions",
    read=read,
    check=check,
    bad_json="The request body is not valid JSON.",
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str, Image}),
    shaping=frozenset(),
    sdk_types=("replicate.prediction.Prediction",),
    too_long="- input.prompt: The prompt has {tokens} tokens, the context window {window}.\n",
)
"""`POST /v1/predictions`, `/v1/models/{owner}/{name}/predictions` and `/v1/deployments/{owner}/{name}/predictions`."""
