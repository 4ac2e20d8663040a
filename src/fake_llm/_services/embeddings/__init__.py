"""Embeddings: a vector for each input, made up from its text unless a rule pins one.

Each vocabulary is a dialect of its own, since its turns have parts (`Embedding`) and its requests have texts to look at:
the inputs of a call are its `user_texts`. What they share with chat, errors and headers, is chat's.
"""

from __future__ import annotations

from fake_llm._services.embeddings.amazon import NOVA, TITAN
from fake_llm._services.embeddings.cohere import COHERE
from fake_llm._services.embeddings.dashscope import DASHSCOPE
from fake_llm._services.embeddings.google import GEMINI, VERTEX
from fake_llm._services.embeddings.jina import JINA
from fake_llm._services.embeddings.mistral import MISTRAL
from fake_llm._services.embeddings.ollama import OLLAMA
from fake_llm._services.embeddings.openai import OPENAI
from fake_llm._services.embeddings.voyage import VOYAGE
from fake_llm._services.embeddings.watsonx import WATSONX

__all__ = [
    "COHERE",
    "DASHSCOPE",
    "GEMINI",
    "JINA",
    "MISTRAL",
    "NOVA",
    "OLLAMA",
    "OPENAI",
    "TITAN",
    "VERTEX",
    "VOYAGE",
    "WATSONX",
]
