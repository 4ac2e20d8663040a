"""watsonx of IBM: text generation out of a prompt, and the form of all its errors.

Answers and events are those of recordings of 2024, errors and what came later those of the vendor's documentation and of its SDK
(ibm-watsonx-ai 1.8, 2026-11). Whether it streams is in the path.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from fake_llm._dialect import Delta, Dialect, Exchange, Ids, WireEvent, json_kind, message
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import AUTO, Event, HeaderItems, Request, Usage, View
from fake_llm._turns import Error, Reply

__all__ = ["ERRORS", "GENERATE", "created_at", "headers", "model", "stream"]

# --- request to view -----------------------------------------------------------------------------

_NAMES: Final = {"max_new_tokens": "max_tokens", "stop_sequences": "stop", "random_seed": "seed"}
_PLACES: Final = frozenset({"model_id", "input", "parameters", "project_id", "space_id"})


def read(request: Request, body: Any) -> View:
    """The view of a prompt."""
    given = body.get("parameters")
    parameters: dict[str, Any] = given if isinstance(given, dict) else {}
    beside = {name: value for name, value in body.items() if name not in _PLACES and value is not None}
    params = {_NAMES.get(name, name): value for name, value in parameters.items() if value is not None}
    prompt = body.get("input")
    return View((message("user", [prompt if isinstance(prompt, str) else ""]),), "", {}, AUTO, None, beside | params)


def stream(request: Request, body: Any) -> bool:
    """Whether the path asks for a stream."""
    return request.path.rstrip("/").endswith("_stream")


def model(request: Request, body: Any) -> str:
    """The model in the body, or what is deployed in the path."""
    name = body.get("model_id") if isinstance(body, dict) else None
    if isinstance(name, str) and name:
        return name
    return request.path.partition("/deployments/")[2].partition("/")[0]


# --- refusals of malformed requests --------------------------------------------------------------

_FIELDS: Final = {"model_id": str, "input": str, "parameters": dict, "project_id": str, "space_id": str}
_WANTED: Final = {str: "a string", dict: "an object"}


def check(request: Request, body: Any) -> Error | None:
    """The vendor's refusal of a malformed prompt."""
    if not isinstance(body, dict):
        return Error("bad_request", f"Json document validation error: expected an object, but got {json_kind(body)}")
    for name, kind in _FIELDS.items():
        value = body.get(name)
        if value is not None and not isinstance(value, kind):
            wanted = _WANTED[kind]
            return Error(
                "bad_request", f"Json document validation error: {name} should be {wanted}, but is {json_kind(value)}"
            )
    needed = ("input",) if "/deployments/" in request.path else ("model_id", "input")
    missing = next((name for name in needed if body.get(name) is None), None)
    return None if missing is None else Error("bad_request", f"Json document validation error: {missing} is required")


# --- answers -------------------------------------------------------------------------------------

_STOPS: Final = {
    "stop": "eos_token",
    "length": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "eos_token",
    "content_filter": "eos_token",
}
_FOREIGN: Final = {
    "warnings": [
        {
            "message": "This model is a Non-IBM Product governed by a third-party license that may impose use restrictions and other "
            "obligations. By using this model you agree to its terms as identified in the following URL.",
            "id": "disclaimer_warning",
            "more_info": "https://dataplatform.cloud.ibm.com/docs/content/wsj/analyze-data/fm-models.html?context=wx",
        }
    ]
}


def created_at(exchange: Exchange) -> str:
    """When an answer was made."""
    return dt.datetime.fromtimestamp(exchange.created, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _answer(exchange: Exchange, text: str, written: int, read_: int, reason: str) -> dict[str, Any]:
    result = {
        "generated_text": text,
        "generated_token_count": written,
        "input_token_count": read_,
        "stop_reason": reason,
    }
    return {"model_id": exchange.model, "created_at": created_at(exchange), "results": [result]}


def _warned(exchange: Exchange, answer: dict[str, Any]) -> dict[str, Any]:
    return answer if exchange.model.startswith("ibm/") else {**answer, "system": _FOREIGN}


def _reason(exchange: Exchange) -> str:
    return _STOPS.get(exchange.choice.finish_reason, exchange.choice.finish_reason)


def document(exchange: Exchange) -> dict[str, Any]:
    """The whole answer."""
    usage = exchange.usage
    answer = _answer(exchange, exchange.choice.text, usage.output_tokens, usage.input_tokens, _reason(exchange))
    return exchange.extend(_warned(exchange, answer))


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """An event that counts the prompt, one for each piece, and one that says why it ends."""
    usage, choice = exchange.usage, exchange.choice
    said: list[WireEvent] = [_warned(exchange, _answer(exchange, "", 0, usage.input_tokens, "not_finished"))]
    pieces = [piece for index in range(len(choice.parts)) for piece in choice.pieces(index)]
    for number, piece in enumerate(pieces, 1):
        written = min(number, usage.output_tokens)
        said.append(Delta(_answer(exchange, piece, written, 0, "not_finished")))
    return said, [exchange.extend(_answer(exchange, "", usage.output_tokens, 0, _reason(exchange)))]


# --- errors --------------------------------------------------------------------------------------


def _trace(exchange: Exchange) -> str:
    return exchange.ids.hex(32)


def _body(said: Said) -> dict[str, Any]:
    one = {"code": said.type, "message": said.message, "more_info": "https://cloud.ibm.com/apidocs/watsonx-ai"}
    return {"errors": [one], "trace": said.id, "status_code": said.status}


def _traced(said: Said) -> HeaderItems:
    return (("x-global-transaction-id", said.id),)


def _event(said: Said) -> list[WireEvent]:
    """An event of its own."""
    return [Event("error", _body(said))]


ERRORS: Final = Errors(
    body=_body,
    id=_trace,
    headers=_traced,
    event=_event,
    usual={
        "bad_request": Usual(400, "invalid_request_entity", "The request is invalid."),
        "authentication": Usual(
            401,
            "authentication_token_not_valid",
            "Failed to authenticate the request due to invalid token",
        ),
        "permission": Usual(
            403, "user_authorization_failed", "The user does not have permission to access the project."
        ),
        "not_found": Usual(404, "model_not_supported", "Model '{model}' is not supported for this environment."),
        "request_too_large": Usual(413, "request_too_large", "The request is too large."),
        "context_length": Usual(
            400,
            "invalid_input_argument",
            "the number of input tokens cannot exceed the total tokens limit of this model",
        ),
        "content_filter": Usual(400, "invalid_input_argument", "The input was refused by a content filter."),
        "rate_limit": Usual(429, "rate_limit_reached_requests", "Rate limit reached: too many requests"),
        "quota": Usual(403, "token_quota_reached", "This request exceeds the token quota of your plan."),
        "server_error": Usual(500, "downstream_request_failed", "Downstream caikit service request failed"),
        "unavailable": Usual(503, "service_unavailable", "The service is temporarily unavailable."),
        "overloaded": Usual(503, "service_overloaded", "The model is overloaded, please try again later."),
        "timeout": Usual(504, "downstream_request_timeout", "The request timed out."),
    },
)


def headers(exchange: Exchange) -> HeaderItems:
    """The id of the transaction."""
    return (("x-global-transaction-id", exchange.ids.hex(32)),)


def tool_id(ids: Ids) -> None:
    """There are no tools."""


# --- body to turn --------------------------------------------------------------------------------


def parts(body: Mapping[str, Any]) -> Reply:
    """A whole answer read back into a turn."""
    result = body["results"][0]
    text, reason = result["generated_text"], result.get("stop_reason")
    return Reply(
        *([text] if text else ()),
        model=body.get("model_id"),
        usage=Usage(result.get("input_token_count") or 0, result.get("generated_token_count") or 0),
        finish_reason="stop" if reason == "eos_token" else "length" if reason == "max_tokens" else reason,
    )


GENERATE: Final = Dialect(
    name="watsonx_generation",
    label="watsonx generation",
    read=read,
    check=check,
    bad_json="Json document validation error: the body is not valid JSON",
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=ERRORS.failure,
    failure_events=ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str}),
    shaping=frozenset(),
    too_long="the number of input tokens {tokens} cannot exceed the total tokens limit {window} for this model",
)
"""`POST /ml/v1/text/generation` and `/ml/v1/text/generation_stream`."""
