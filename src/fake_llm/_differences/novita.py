"""Novita: how long the first token took in each chunk, nulls in the usage (recorded 2026-08)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange, Ids
from fake_llm._differences import Difference
from fake_llm._differences.absent import absent
from fake_llm._differences.chat import chat, usage_like_openai
from fake_llm._differences.plain import ERRORS

__all__ = ["NOVITA"]


def _id(ids: Ids) -> str:
    return ids.hex(32)


def _fingerprint(exchange: Exchange) -> str:
    return ""


def _more(exchange: Exchange) -> dict[str, Any]:
    return {"sla_metrics": {"ttft_ms": 274, "ts_us": exchange.created * 1_000_000}} if exchange.stream else {}


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    """The role stands alone."""
    return {name: value for name, value in delta.items() if name != "content" or value or "role" not in delta}


def _usage(exchange: Exchange) -> dict[str, Any]:
    return {"prompt_tokens_details": None, "completion_tokens_details": None, **usage_like_openai(exchange)}


NOVITA: Final[Difference] = chat(
    chunk_keys="id object created model choices system_fingerprint usage sla_metrics",
    choice=absent("logprobs"),
    id=_id,
    fingerprint=_fingerprint,
    more=_more,
    usage=_usage,
    uncounted=True,
    delta=_delta,
    errors=ERRORS,
)
