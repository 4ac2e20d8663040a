"""Cloudflare: its gateway's answers are those of the host that it goes to; errors in the form of its API.

By the vendor's documentation (2026-11).
"""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import CREATED, Exchange, Ids, Spelling
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._differences.routed import asked_model, routed
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems

__all__ = ["AI_GATEWAY", "WORKERS_AI"]


def _name(exchange: Exchange) -> str:
    """The host that the path names, or the model before its slash."""
    name = exchange.request.path.split("/")[4]
    return asked_model(exchange).partition("/")[0] if name == "compat" else name


def _headers(exchange: Exchange) -> HeaderItems:
    return (("cf-aig-log-id", exchange.ids.alnum(26).upper()), ("cf-aig-cache-status", "MISS"), ("cf-aig-step", "0"))


def _body(said: Said) -> dict[str, Any]:
    return {"success": False, "result": [], "messages": [], "error": [{"code": said.code, "message": said.message}]}


def _workers_body(said: Said) -> dict[str, Any]:
    return {
        "errors": [{"message": said.message, "code": said.code}],
        "success": False,
        "result": {},
        "messages": [],
    }


_USUAL: Final = {
    "bad_request": Usual(400, "", "AiError: Bad input", 5006),
    "authentication": Usual(401, "", "Authentication error", 10000),
    "permission": Usual(403, "", "Forbidden", 10000),
    "not_found": Usual(400, "", "No such model {model} or task", 5007),
    "request_too_large": Usual(413, "", "AiError: Request is too large", 3006),
    "context_length": Usual(
        413,
        "",
        "AiError: The estimated number of input and maximum output tokens exceeded this model context window limit",
        5021,
    ),
    "content_filter": Usual(424, "", "Prompt blocked due to security configurations", 2016),
    "rate_limit": Usual(429, "", "Rate limited", 2003),
    "quota": Usual(429, "", "You have used up your daily free allocation of 10,000 neurons", 4006),
    "server_error": Usual(500, "", "Internal server error", 2002),
    "unavailable": Usual(503, "", "AiError: Service unavailable", 3043),
    "overloaded": Usual(429, "", "Capacity temporarily exceeded, please try again.", 3040),
    "timeout": Usual(408, "", "AiError: Request timeout", 3046),
}


def _id(ids: Ids) -> str:
    return "id-" + ids.spelt(_MILLISECONDS, 13)


_MILLISECONDS: Final = Spelling(lambda taken: str(CREATED * 1000 + int.from_bytes(taken, "big")), lambda count: 2)


def _tool_id(ids: Ids, number: int) -> str:
    return "chatcmpl-tool-" + ids.hex(32)


AI_GATEWAY: Final[Difference] = routed(_name, headers=_headers, errors=Errors(body=_body, usual=_USUAL))

WORKERS_AI: Final[Difference] = chat(
    keys="id object created model choices usage",
    chunk_keys="id object created model choices usage",
    id=_id,
    tool_id=_tool_id,
    errors=Errors(body=_workers_body, usual=_USUAL),
)
