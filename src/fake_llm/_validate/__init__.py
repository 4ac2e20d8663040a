"""What the real API refuses in a well-formed request: a conversation that doesn't hold together, a schema that breaks its rules.

A vendor's rules are one function of an exchange, kept by the vocabulary and by who speaks it: a host of which nobody knows
that it looks is as lenient as can be. A rule here was seen in the vendor's answers or stands in its documentation; what is
only thought to be refused isn't.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from fake_llm._dialect import Exchange
from fake_llm._model import Message
from fake_llm._turns import Error
from fake_llm._validate import anthropic, bedrock, gemini, mistral, openai

__all__ = ["refusal"]

Rules: TypeAlias = Callable[[Exchange, tuple[Message, ...]], Error | None]

_OPENAI: Final = ("openai", "azure")
_ANTHROPIC: Final = ("anthropic", "anthropic_aws", "anthropic_google_cloud", "azure", "bedrock", "vertex")
_RULES: Final[Mapping[tuple[str, str], Rules]] = {
    **dict.fromkeys((("openai_chat", name) for name in (*_OPENAI, "deepseek")), openai.chat),
    **dict.fromkeys((("openai_responses", name) for name in _OPENAI), openai.responses),
    **dict.fromkeys((("anthropic_messages", name) for name in _ANTHROPIC), anthropic.messages),
    ("gemini", "gemini"): gemini.contents,
    ("gemini", "vertex"): gemini.contents,
    ("openai_chat", "gemini"): gemini.chat,
    ("openai_chat", "vertex"): gemini.chat,
    ("bedrock_converse", "bedrock"): bedrock.converse,
    ("openai_chat", "mistral"): mistral.chat,
}


def refusal(exchange: Exchange, earlier: tuple[Message, ...] = ()) -> Error | None:
    """The vendor's own 400, `None` for what it accepts.

    Args:
        exchange: A request that is well-formed.
        earlier: What the vendor remembers of the conversation and the request doesn't repeat.
    """
    rules = _RULES.get((exchange.asked.dialect.name, exchange.provider))
    return None if rules is None else rules(exchange, earlier)
