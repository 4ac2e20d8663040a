"""What becomes of a broken call in each SDK and each HTTP library: the exception that code sees, and the text that came before.

`COLUMNS` are asked one after the other, each by one client for all of its calls, without retries. Where `base` is given, it is
asked there: so the same client meets a real server too.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from _capability import has
from _sdk_clients import (
    CLIENTS,
    TOOLS,
    Aiohttp,
    Ask,
    Boto3,
    Client,
    Cohere,
    GenAI,
    Heard,
    Http,
    HuggingFace,
    Mistral,
    Ollama,
    Requests,
    Stainless,
    drive,
)

__all__ = ["COLUMNS", "Column", "Outcome", "each_of"]

PROMPT = (("user", "Weather in Paris?"),)
_BY_NAME = {client.name: client for client in CLIENTS}


@dataclass(frozen=True)
class Outcome:
    """What a user's code sees of a call.

    Attributes:
        error: The path of the exception's class, from the top of its package; `""` for none.
        text: The text that came, before the exception where there is one.
        calls: The tool calls that came, as far as they did: names and arguments.
    """

    error: str
    text: str
    calls: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Column:
    """An SDK or an HTTP library, by what people call it.

    Attributes:
        package: Where its own exceptions are.
        needs: The generation whose outcomes are written down.
        clients: Its client that blocks and its async one, as far as there are.
        path: What follows the host in its base URL.
    """

    name: str
    package: str
    needs: tuple[str, ...]
    clients: tuple[str, ...]
    path: str = ""

    @property
    def here(self) -> bool:
        return all(map(has, self.needs))

    @property
    def flavours(self) -> list[Client]:
        return [_BY_NAME[name] for name in self.clients]


_AT_ONCE = ("openai.OpenAI/openai_chat", "openai.AsyncOpenAI/openai_chat")
COLUMNS: tuple[Column, ...] = (
    Column("openai", "openai", ("openai>=3",), _AT_ONCE, "/v1"),
    Column(
        "openai, Responses",
        "openai",
        ("openai>=3",),
        ("openai.OpenAI/openai_responses", "openai.AsyncOpenAI/openai_responses"),
        "/v1",
    ),
    Column(
        "anthropic",
        "anthropic",
        ("anthropic>=1",),
        ("anthropic.Anthropic/anthropic_messages", "anthropic.AsyncAnthropic/anthropic_messages"),
    ),
    Column("google-genai", "google", ("google-genai>=3", "aiohttp"), ("genai-sync/gemini", "genai-async/gemini")),
    Column("mistralai", "mistralai", ("mistralai>=3",), ("mistralai-sync", "mistralai-async")),
    Column("groq", "groq", ("groq>=1",), ("groq.Groq/openai_chat", "groq.AsyncGroq/openai_chat")),
    Column("cohere", "cohere", ("cohere>=5",), ("cohere.ClientV2", "cohere.AsyncClientV2")),
    Column("ollama", "ollama", ("ollama>=0.5",), ("ollama.Client/ollama_chat", "ollama.AsyncClient/ollama_chat")),
    Column(
        "huggingface_hub",
        "huggingface_hub",
        ("huggingface_hub>=2",),
        ("huggingface_hub.InferenceClient", "huggingface_hub.AsyncInferenceClient"),
    ),
    Column("boto3", "botocore", ("boto3>=1.40",), ("boto3/bedrock_converse",)),
    Column("httpx", "httpx", ("httpx",), ("httpx-sync/openai_chat", "httpx-async/openai_chat"), "/v1"),
    Column("httpx2", "httpx2", ("httpx2",), ("httpx2-sync/openai_chat", "httpx2-async/openai_chat"), "/v1"),
    Column("requests", "requests", ("requests",), ("requests-sync/openai_chat",), "/v1"),
    Column("aiohttp", "aiohttp", ("aiohttp",), ("aiohttp-async/openai_chat",), "/v1"),
)


# --- clients without retries, here or there -----------------------------------------------------


def _prepared(client: Client, base: str | None, patience: float) -> Client:
    """A client of its own, without retries, that waits so long."""
    fresh: Any = type(client).__new__(type(client))
    fresh.__dict__.update(client.__dict__)
    fresh.validated = lambda *given: given[1] if isinstance(fresh, Boto3) else given[0]  # the SDK alone is the judge
    fresh._made = _made(fresh, base, patience)
    return fresh


def _made(client: Any, base: str | None, patience: float) -> Any:
    there = {} if base is None else {"base_url": base}
    if isinstance(client, Http):
        client.url = client.url if base is None else f"{base}/chat/completions"
        client.sending = {"timeout": patience}
        if isinstance(client, Requests):
            return client.module.Session()
        if isinstance(client, Aiohttp):
            client.sending = {}
            return client.module.ClientSession(timeout=client.module.ClientTimeout(sock_read=patience))
        kind = client.module.AsyncClient if client.is_async else client.module.Client
        return kind(timeout=patience, verify=False)
    if isinstance(client, Stainless):
        kind = getattr(client.module, client.maker)
        return {0: kind(max_retries=0, timeout=patience, **(client.where | there))}
    if isinstance(client, GenAI):
        return client.make(timeout=int(patience * 1000), **there)
    if isinstance(client, Boto3):
        config = importlib.import_module("botocore.config").Config(
            retries={"total_max_attempts": 1}, read_timeout=patience, connect_timeout=patience
        )
        return {0: client.session.client("bedrock-runtime", config=config, endpoint_url=base)}
    if isinstance(client, Mistral):
        return importlib.import_module(client.home).Mistral(timeout_ms=int(patience * 1000), server_url=base)
    if isinstance(client, Ollama):
        kind = getattr(importlib.import_module("ollama"), client.maker)
        return kind(host=base, timeout=patience)
    if isinstance(client, Cohere):
        kind = getattr(importlib.import_module("cohere"), client.maker)
        return {0: kind(timeout=patience, **there)}
    assert isinstance(client, HuggingFace)
    return getattr(importlib.import_module("huggingface_hub"), client.maker)(timeout=patience, **there)


async def _closed(made: Any) -> None:
    """Close what can be closed of a client, so that no socket is left."""
    for one in made.values() if isinstance(made, dict) else (made,):
        for holder, name in (
            (one, "aclose"),
            (one, "close"),
            (getattr(one, "_client", None), "aclose"),
            (getattr(one, "_client", None), "close"),
        ):
            close = getattr(holder, name, None)
            if close is not None and not inspect.isclass(holder):
                closing = close()
                if inspect.isawaitable(closing):
                    await closing
                break


# --- what comes of a call -----------------------------------------------------------------------


async def _outcome(client: Any, mode: str) -> Outcome:
    heard = client.heard = Heard()
    error = ""
    try:
        await getattr(client, mode)(heard, Ask(PROMPT, tools=TOOLS, mode=mode))
    except Exception as raised:
        error = "" if _ours(raised) else _path(type(raised))
    calls = tuple((call["name"], str(call["arguments"])) for call in heard.calls.values())
    return Outcome(error, "".join(heard.texts.get(0, [])), calls)


def _ours(error: Exception) -> bool:
    """Whether it is of what reads the SDK's objects here, or the bytes of a library without an SDK."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    return [file.name for file in files if file.parent.name != "json"][-1] == "_sdk_clients.py"


def _path(kind: type[BaseException]) -> str:
    module = kind.__module__.partition(".")[0]
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def each_of(
    client: Client,
    cases: Iterable[tuple[Any, str]],
    enter: Callable[[Any], Any],
    *,
    base: str | None = None,
    patience: float = 5.0,
) -> list[Outcome]:
    """What comes of each case, `(what, mode)`; `enter(what)` is the block in which it is asked."""

    async def ask() -> list[Outcome]:
        found = []
        ready = _prepared(client, base, patience)
        try:
            for what, mode in cases:
                with enter(what):
                    found.append(await _outcome(ready, mode))
        finally:
            await _closed(ready._made)
        return found

    with mock.patch.dict(os.environ, dict.fromkeys(_KEYS, "hf_x")):
        return asyncio.run(ask()) if client.is_async else drive(ask())


_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "GROQ_API_KEY",
    "CO_API_KEY",
    "HF_TOKEN",
)
"""What clients are made with: of a real server too, where no block gives them dummies."""
