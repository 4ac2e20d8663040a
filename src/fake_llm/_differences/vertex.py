"""Claude on Vertex AI: Google's errors but for what the model's own API refuses, ids of its own (recorded 2026-02).

No error of it was recorded: Google's are those of its API's error model, with the words that users report (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, Ids
from fake_llm._dialects import anthropic_messages
from fake_llm._differences import Difference
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import Response
from fake_llm._turns import Error

__all__ = ["VERTEX_ANTHROPIC"]


def _named(exchange: Exchange, message: dict[str, Any]) -> dict[str, Any]:
    """`claude-3-7-sonnet@20250219` calls itself `claude-3-7-sonnet-20250219`."""
    asked = exchange.asked.dialect.model(exchange.request, exchange.body)
    if message.get("model") == asked:
        message["model"] = asked.removesuffix("@default").replace("@", "-")
    return message


def _started(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    first = content[0]
    return [{**first, "message": _named(exchange, first["message"])}, *content[1:]], closing


def _tool_id(ids: Ids, index: int) -> str:
    return "toolu_vrtx_01" + ids.alnum(22)


def _body(said: Said) -> dict[str, Any]:
    return {"error": {"code": said.status, "message": said.message, "status": said.type}}


def _in_lines(body: Any) -> bytes:
    return _json.pretty(body) + b"\n"


_GOOGLE: Final = Errors(
    body=_body,
    encode=_in_lines,
    content_type="application/json; charset=UTF-8",
    usual={
        "authentication": Usual(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
        "permission": Usual(403, "PERMISSION_DENIED", "Permission 'aiplatform.endpoints.predict' denied on resource."),
        "not_found": Usual(
            404, "NOT_FOUND", "Publisher Model `{model}` was not found or your project does not have access to it."
        ),
        "rate_limit": Usual(
            429,
            "RESOURCE_EXHAUSTED",
            "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model.",
        ),
        "quota": Usual(
            429,
            "RESOURCE_EXHAUSTED",
            "Quota exceeded for aiplatform.googleapis.com/online_prediction_tokens_per_minute_per_base_model.",
        ),
        "server_error": Usual(500, "INTERNAL", "Internal error encountered."),
        "unavailable": Usual(503, "UNAVAILABLE", "The service is currently unavailable."),
        "timeout": Usual(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    },
)


def _failure(exchange: Exchange, error: Error) -> Response:
    """What Google refuses in its form, what the model's own API refuses in that API's."""
    if error.name in _GOOGLE.usual:
        return _GOOGLE.failure(exchange, error)
    own = anthropic_messages.DIALECT.failure(exchange, error)
    return Response(own.status, tuple(pair for pair in own.headers if pair[0] in _KEPT), own.body)


_KEPT: Final = frozenset({"content-type", "x-should-retry", "retry-after", "retry-after-ms"})

VERTEX_ANTHROPIC: Final = Difference(document=_named, events=_started, failure=_failure, tool_id=_tool_id)
