"""The difference of a host that speaks OpenAI completions: its errors, headers and ids are those of its chat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from fake_llm._dialect import Exchange
from fake_llm._differences import Difference

__all__ = ["completions", "filtered", "named"]

Json: TypeAlias = "dict[str, Any]"


def completions(chat: Difference, alter: Callable[[Exchange, Json], Json] | None = None) -> Difference:
    """A `Difference` from that of the host's chat.

    Args:
        chat: What the host's chat does differently.
        alter: Alters an answer, whole or a chunk of it.
    """

    def document(exchange: Exchange, whole: Json) -> Json:
        return whole if alter is None else alter(exchange, whole)

    def events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
        for chunk in (*content, *closing):
            altered = document(exchange, dict(chunk))
            chunk.clear()
            chunk.update(altered)
        return content, closing

    return Difference(
        document=document,
        events=events,
        headers=chat.headers,
        failure=chat.failure,
        failure_events=chat.failure_events,
        id=chat.id,
    )


def named(exchange: Exchange, answer: Json) -> Json:
    """Together's own word for the object, and the prompt's tokens, which it never says (recorded 2024-06)."""
    prompt: Json = {} if exchange.stream else {"prompt": []}
    return {**answer, "object": "text.completion", **prompt}


_SAFE: Final = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}


def filtered(exchange: Exchange, answer: Json) -> Json:
    """Azure says what its filters found in the prompt and in the answer (recorded 2023-11)."""
    choices = [
        {**choice, "content_filter_results": _SAFE} if isinstance(choice, dict) else choice
        for choice in answer["choices"]
    ]
    prompt = [{"prompt_index": 0, "content_filter_results": _SAFE}]
    return {**answer, "prompt_filter_results": prompt, "choices": choices}
