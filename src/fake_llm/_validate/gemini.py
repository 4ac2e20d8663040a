"""Gemini and Vertex: function calls, their responses, and the signatures that Gemini 3 wants back.

The texts of 2025 and 2026, as users quote them; where signatures have to be stands in the documentation of thought
signatures (2026-11): on the first function call of each step since the user last said something. On the OpenAI path
the same text comes (2025-11); what else that path refuses is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fake_llm._dialect import Exchange, dicts, reach
from fake_llm._model import Message
from fake_llm._turns import Error

__all__ = ["chat", "contents"]

_SIGNED: Final = re.compile(r"(?:^|/)gemini-[3-9]")
_ORDER: Final = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE: Final = "Please ensure that function response turn comes immediately after a function call turn."
_NUMBER: Final = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)


def contents(exchange: Exchange, earlier: tuple[Message, ...]) -> Error | None:
    """`generateContent` and `streamGenerateContent`."""
    body = exchange.body
    if body.get("cachedContent") or body.get("cached_content"):
        return None  # the rest of the conversation isn't here
    given = body.get("contents")
    turns = _turns(given if isinstance(given, list) else [given])
    text = _unpaired(turns)
    if text is None and _SIGNED.search(exchange.model):
        text = _unsigned(turns)
    return None if text is None else Error("bad_request", text)


def chat(exchange: Exchange, earlier: tuple[Message, ...]) -> Error | None:
    """`POST /chat/completions` on the OpenAI path, whose messages are contents in other words."""
    if not _SIGNED.search(exchange.model):
        return None
    given = [_content(item) for item in dicts(exchange.body["messages"]) if item.get("role") not in _INSTRUCTS]
    text = _unsigned(_turns(given))
    return None if text is None else Error("bad_request", text)


_INSTRUCTS: Final = ("system", "developer")


def _content(item: Mapping[str, Any]) -> dict[str, Any]:
    if item.get("role") in ("tool", "function"):
        return {"role": "user", "parts": [{"functionResponse": {}}]}
    if item.get("role") != "assistant":
        return {"role": "user", "parts": [{"text": item.get("content")}]}
    beside = _signature(item)
    calls = [call for call in dicts(item.get("tool_calls")) if isinstance(call.get("function"), dict)]
    parts = [
        {"functionCall": call["function"], "thoughtSignature": _signature(call) or (None if number else beside)}
        for number, call in enumerate(calls)
    ]
    return {"role": "model", "parts": [{"text": item.get("content")}, *parts]}


def _signature(said: Mapping[str, Any]) -> Any:
    """Under `google`, as documented, or `vertex`, as users report (2026-07); bare, as previews of 2025 had it as well."""
    spaces = said.get("extra_content")
    places = [said, *(spaces.values() if isinstance(spaces, dict) else ())]
    return next((found for each in dicts(places) if (found := each.get("thought_signature"))), None)


def _turns(given: list[Any]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Contents of one role in a row are one turn."""
    turns: list[tuple[str, list[Mapping[str, Any]]]] = []
    for item in dicts(given):
        parts = item.get("parts")
        found = list(dicts(parts if isinstance(parts, list) else [parts]))
        role = "model" if item.get("role") == "model" else "user"
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(found)
        else:
            turns.append((role, list(found)))
    return turns


def _has(part: Mapping[str, Any], camel: str, snake: str) -> bool:
    return part.get(camel) is not None or part.get(snake) is not None


def _calls(parts: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [part for part in parts if _has(part, "functionCall", "function_call")]


def _unpaired(turns: list[tuple[str, list[Mapping[str, Any]]]]) -> str | None:
    waiting = 0
    for index, (role, parts) in enumerate(turns):
        if role == "model":
            waiting = len(_calls(parts))
            if waiting and index == 0:
                return _ORDER
            continue
        found = sum(_has(part, "functionResponse", "function_response") for part in parts)
        if found and not waiting:
            return _RESPONSE
        if waiting and found != waiting:
            return _NUMBER
        waiting = 0
    return None


def _unsigned(turns: list[tuple[str, list[Mapping[str, Any]]]]) -> str | None:
    """Of several calls in one step the first one is signed."""
    since = 0
    for index, (role, parts) in enumerate(turns):
        if role == "user" and any(not _has(part, "functionResponse", "function_response") for part in parts):
            since = index
    for index, (role, parts) in enumerate(turns[since:], since):
        calls = _calls(parts) if role == "model" else []
        if calls and not _has(calls[0], "thoughtSignature", "thought_signature"):
            name = reach(calls[0], "functionCall", "name") or reach(calls[0], "function_call", "name")
            return (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work "
                "correctly, and missing thought_signature may lead to degraded model performance. Additional data, "
                f"function call `default_api:{name}` , position {index + 1}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
    return None
