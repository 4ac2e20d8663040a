"""A host that passes a request on to another, and that one's answer back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._differences import Difference
from fake_llm._differences.azure import AZURE_CHAT
from fake_llm._differences.cerebras import CEREBRAS
from fake_llm._differences.deepseek import DEEPSEEK
from fake_llm._differences.fireworks import FIREWORKS
from fake_llm._differences.gemini import GEMINI
from fake_llm._differences.groq import GROQ
from fake_llm._differences.hyperbolic import HYPERBOLIC
from fake_llm._differences.novita import NOVITA
from fake_llm._differences.nvidia import NVIDIA
from fake_llm._differences.openrouter import OPENROUTER
from fake_llm._differences.perplexity import PERPLEXITY
from fake_llm._differences.plain import PLAIN
from fake_llm._differences.sambanova import SAMBANOVA
from fake_llm._differences.together import TOGETHER
from fake_llm._differences.xai import XAI
from fake_llm._differences.zai import ZAI
from fake_llm._failures import Errors
from fake_llm._model import HeaderItems

__all__ = ["asked_model", "routed"]

_BY_NAME: Final[Mapping[str, Difference]] = {
    "azure-openai": AZURE_CHAT,
    "cerebras": CEREBRAS,
    "cerebras-ai": CEREBRAS,
    "deepseek": DEEPSEEK,
    "fireworks-ai": FIREWORKS,
    "google-ai-studio": GEMINI,
    "grok": XAI,
    "groq": GROQ,
    "hyperbolic": HYPERBOLIC,
    "novita": NOVITA,
    "nvidia": NVIDIA,
    "openrouter": OPENROUTER,
    "perplexity-ai": PERPLEXITY,
    "sambanova": SAMBANOVA,
    "together": TOGETHER,
    "zai-org": ZAI,
}
"""By the name that Hugging Face's router (2.4 of its SDK) or Cloudflare's gateway (2026-11) has for a host."""


def asked_model(exchange: Exchange) -> str:
    """The model that the request names, whatever the answer is to say."""
    model = exchange.body.get("model") if isinstance(exchange.body, dict) else None
    return model if isinstance(model, str) else ""


def routed(
    name: Callable[[Exchange], str], *, headers: Callable[[Exchange], HeaderItems], errors: Errors
) -> Difference:
    """The `Difference` of the host that is named by a request; OpenAI's form where it isn't one that differs.

    Args:
        name: The name of the host that a request goes to.
        headers: Headers of a successful answer.
        errors: The errors of the host that passes it on.
    """

    def document(exchange: Exchange, answer: dict[str, Any]) -> dict[str, Any]:
        write = _BY_NAME.get(name(exchange), PLAIN).document
        return answer if write is None else write(exchange, answer)

    def events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
        write = _BY_NAME.get(name(exchange), PLAIN).events
        return (content, closing) if write is None else write(exchange, content, closing)

    return Difference(
        document=document,
        events=events,
        headers=headers,
        failure=errors.failure,
        failure_events=errors.failure_events,
    )
