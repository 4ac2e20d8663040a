"""Mistral: who speaks last, as many results as calls, ids of nine characters.

The texts and codes of 2024 to 2026, as users quote them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fake_llm._dialect import Exchange, dicts
from fake_llm._model import Message
from fake_llm._turns import Error

__all__ = ["chat"]

_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
_DISORDER: Final = ("invalid_request_message_order", "3230")
_NUMBER: Final = "Not the same number of function calls and responses"
_LAST: Final = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"


def chat(exchange: Exchange, earlier: tuple[Message, ...]) -> Error | None:
    """`POST /v1/chat/completions`."""
    said = list(dicts(exchange.body.get("messages")))
    return _wrong_id(said) or _order(said)


def _refused(text: str, kind: str, code: str) -> Error:
    body = {"object": "error", "message": text, "type": kind, "param": None, "code": code, "raw_status_code": 400}
    return Error("bad_request", text, body=body)


def _wrong_id(said: list[Mapping[str, Any]]) -> Error | None:
    for item in said:
        keys = [call.get("id") for call in dicts(item.get("tool_calls"))]
        if item.get("role") == "tool":
            keys.append(item.get("tool_call_id"))
        for key in keys:
            if isinstance(key, str) and not _ID.fullmatch(key):
                return _refused(
                    f"Tool call id was {key} but must be a-z, A-Z, 0-9, with a length of 9.",
                    "invalid_function_call",
                    "3280",
                )
    return None


def _order(said: list[Mapping[str, Any]]) -> Error | None:
    """As many results right after a message as it has calls, and somebody to answer at the end."""
    before, due = None, 0
    for item in said:
        role = item.get("role")
        if role == "tool":
            due -= 1
        elif due != 0:
            return _refused(_NUMBER, *_DISORDER)
        elif role == "user" and before == "tool":
            return _refused("Unexpected role 'user' after role 'tool'", *_DISORDER)
        if role == "assistant":
            due = len(list(dicts(item.get("tool_calls"))))
        before = role
    if before == "assistant" and said[-1].get("prefix") is not True:
        return _refused(_LAST, *_DISORDER)
    return _refused(_NUMBER, *_DISORDER) if due != 0 else None
