"""Hyperbolic: `tool_calls` in every message, no fingerprint (recorded 2025-08)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._differences.plain import ERRORS

__all__ = ["HYPERBOLIC"]


def _id(ids: Ids) -> str:
    return "chatcmpl-" + ids.alnum(22)


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    return {"tool_calls": [], **message}


HYPERBOLIC: Final[Difference] = chat(
    keys="id object created model choices usage",
    chunk_keys="id object created model choices usage",
    choice_keys="index message delta finish_reason logprobs",
    id=_id,
    message=_message,
    errors=ERRORS,
)
