"""Anthropic, wherever it is served: calls and their results, budgets of thinking, empty messages.

The texts of 2025 and 2026, as users quote them. A turn without its thoughts is accepted: the documentation of 2026 says that
thinking is left out for that request then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fake_llm._dialect import Exchange, dicts
from fake_llm._model import Message
from fake_llm._turns import Error

__all__ = ["messages"]

_CONSULT: Final = (
    "Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)


def messages(exchange: Exchange, earlier: tuple[Message, ...]) -> Error | None:
    """`POST /v1/messages` and its ways through clouds."""
    body = exchange.body
    continues = exchange.asked.dialect.continues
    if continues is not None and continues(body) is not None:
        return None  # the rest of the conversation isn't here
    said = list(dicts(body["messages"]))
    if not said:
        return None
    text = _empty(said) or _unpaired(said) or _thinking(body)
    return None if text is None else Error("bad_request", text)


def _empty(said: list[Any]) -> str | None:
    for index, item in enumerate(said):
        content = item.get("content")
        last = index == len(said) - 1 and item.get("role") == "assistant"
        if content in ("", []) and not last:
            return f"messages.{index}: all messages must have non-empty content except for the optional final assistant message"
        if any(block.get("type") == "text" and block.get("text") == "" for block in _blocks(item)):
            return "messages: text content blocks must be non-empty"
    content = said[-1].get("content") if said[-1].get("role") == "assistant" else None
    final = content if isinstance(content, str) else _final_text(said[-1]) if content else ""
    if final != final.rstrip():
        return "messages: final assistant content cannot end with trailing whitespace"
    return None


def _final_text(item: Mapping[str, Any]) -> str:
    blocks = _blocks(item)
    text = blocks[-1].get("text") if blocks and blocks[-1].get("type") == "text" else ""
    return text if isinstance(text, str) else ""


def _blocks(item: Any) -> list[Mapping[str, Any]]:
    return list(dicts(item.get("content")))


def _turns(said: list[Any]) -> list[tuple[str, list[tuple[int, int, Mapping[str, Any]]]]]:
    """Messages of one role in a row are one turn; each block with its place. Other roles don't part them."""
    turns: list[tuple[str, list[tuple[int, int, Mapping[str, Any]]]]] = []
    for index, item in enumerate(said):
        role = item.get("role")
        if role not in ("user", "assistant"):
            continue
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend((index, place, block) for place, block in enumerate(_blocks(item)))
    return turns


def _unpaired(said: list[Any]) -> str | None:
    waiting: dict[Any, int] = {}
    for role, blocks in _turns(said):
        if role == "assistant":
            waiting = {block.get("id"): index for index, _, block in blocks if block.get("type") == "tool_use"}
            continue
        called, found = set(waiting), set[Any]()
        for index, place, block in blocks:
            if block.get("type") != "tool_result":
                continue
            key = block.get("tool_use_id")
            if key not in called:
                return (
                    f"messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {key}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
            if key in found:
                return (
                    f"messages.{index}.content.{place}: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {key}"
                )
            found.add(key)
            waiting.pop(key, None)
        if waiting:
            return _missing(waiting)
    return _missing(waiting) if waiting else None


def _missing(waiting: Mapping[Any, int]) -> str:
    return (
        f"messages.{min(waiting.values())}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(map(str, waiting))}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _thinking(body: Mapping[str, Any]) -> str | None:
    asked = body.get("thinking")
    if not isinstance(asked, dict) or asked.get("type") != "enabled":
        return None
    budget = asked.get("budget_tokens")
    if isinstance(budget, int) and body["max_tokens"] <= budget and not body.get("tools"):
        return (
            f"`max_tokens` must be greater than `thinking.budget_tokens`. {_CONSULT}#max-tokens-and-context-window-size"
        )
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        return "Thinking may not be enabled when tool_choice forces tool use."
    return None
