"""Bedrock Converse: who begins, calls and their results, blank texts.

The texts of 2024 to 2026, as users quote them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fake_llm._dialect import Exchange, dicts
from fake_llm._dialects import bedrock_converse
from fake_llm._model import Message
from fake_llm._turns import Error

__all__ = ["converse"]


def converse(exchange: Exchange, earlier: tuple[Message, ...]) -> Error | None:
    """`Converse` and `ConverseStream`."""
    body = exchange.body
    if body.get("promptVariables") or not body.get("messages"):
        return None  # a stored prompt has messages of its own
    said = list(dicts(body["messages"]))
    text = _beginning(said) or _unpaired(said) or _blank(said) or _undeclared(body, said)
    return None if text is None else Error("bad_request", text)


def _beginning(said: list[Mapping[str, Any]]) -> str | None:
    if said[0].get("role") != "user":
        return "A conversation must start with a user message. Try again with a conversation that starts with a user message."
    return None


def _keys(item: Mapping[str, Any], kind: str) -> list[Any]:
    """The ids of the calls, but for those that the provider makes itself, or of the results."""
    blocks = (block[kind] for block in dicts(item.get("content")) if isinstance(block.get(kind), dict))
    return [block.get("toolUseId") for block in blocks if block.get("type") != bedrock_converse.SERVER_TOOL]


def _unpaired(said: list[Mapping[str, Any]]) -> str | None:
    waiting: list[Any] = []
    for index, item in enumerate(said):
        if item.get("role") == "assistant":
            waiting = _keys(item, "toolUse")
            continue
        found = _keys(item, "toolResult")
        missing = [key for key in waiting if key not in found]
        if missing:
            return f"Expected toolResult blocks at messages.{index}.content for the following Ids: {', '.join(map(str, missing))}"
        if any(key not in waiting for key in found):
            return (
                f"The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of "
                "previous turn."
            )
        waiting = []
    return None


def _blank(said: list[Mapping[str, Any]]) -> str | None:
    for index, item in enumerate(said):
        for place, block in enumerate(dicts(item.get("content"))):
            text = block.get("text")
            if isinstance(text, str) and not text.strip():
                return (
                    f"The text field in the ContentBlock object at messages.{index}.content.{place} is blank. Add text to "
                    "the text field, and try again."
                )
    return None


def _undeclared(body: Mapping[str, Any], said: list[Mapping[str, Any]]) -> str | None:
    if body.get("toolConfig") or not any(_keys(item, "toolUse") or _keys(item, "toolResult") for item in said):
        return None
    return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
