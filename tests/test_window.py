"""The window of a model in each vendor's own field, and the count of a request's tokens wherever a vendor has one."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from fake_llm import Reply, Usage
from fake_llm._endpoints import PROVIDERS, Endpoint, Provider

WINDOW = 4321
NAMED = "context_window"
FIELDS: dict[str, str | None] = {
    **dict.fromkeys(("openai", "azure", "groq", "deepseek", "xai", "perplexity", "cerebras", "ai21"), NAMED),
    **dict.fromkeys(("baseten", "nscale", "ovhcloud", "publicai", "scaleway", "nvidia", "zai", "dashscope"), NAMED),
    **dict.fromkeys(("github", "cloudflare", "ollama", "vercel", "writer"), NAMED),
    **dict.fromkeys(("openrouter", "together", "fireworks", "sambanova", "moonshot", "featherless"), "context_length"),
    **dict.fromkeys(("hyperbolic", "nebius", "cohere"), "context_length"),
    "huggingface": "providers.0.context_length",
    "deepinfra": "metadata.context_length",
    "novita": "context_size",
    "copilot": "capabilities.limits.max_context_window_tokens",
    **dict.fromkeys(("anthropic", "anthropic_aws", "anthropic_google_cloud"), "max_input_tokens"),
    "gemini": "inputTokenLimit",
    "mistral": "max_context_length",
    "watsonx": "model_limits.max_sequence_length",
    **dict.fromkeys(("vertex", "bedrock", "replicate"), None),  # their lists have no such field (2026-11)
}
"""Where each provider says it; a new provider with models needs a row."""
OTHERWISE: dict[str, str | None] = {
    "/{version}/openai/models": NAMED,
    "/{version}/openai/models/{model...}": NAMED,
    "/api/models/{model...}": None,  # of Hugging Face's hub: who serves it
    "/api/tags": None,  # Ollama says it of a single model, when it is asked to show it
    "[/models]/info": None,  # of Azure's deployments of one model
    "/api/ps": None,  # no model is loaded
}
"""Rows of a provider whose other rows say it elsewhere."""
WRITER_LIST = ("writer", "/v1/models")  # names alone


def url_of(provider: Provider, endpoint: Endpoint) -> str:
    """A URL of this row: without what may be left out, the first of what may be chosen."""
    path = provider.prefix_of(endpoint) + endpoint.path
    path = re.sub(r"\{\w+(\.\.\.)?\}", "some-name", path)
    while (inner := re.search(r"\[[^\[\]]*\]", path)) is not None:
        path = path[: inner.start()] + path[inner.end() :]
    path = re.sub(r"\(([^()|]*)\|[^()]*\)", r"\1", path)
    host = provider.hosts[0] if provider.hosts else provider.shared[0][0]
    return f"https://{host.replace('*', 'some')}{path}"


def rows(operation: str, method: str) -> list[Any]:
    return [
        pytest.param(provider, endpoint, id=f"{provider.name} {provider.prefix_of(endpoint)}{endpoint.path}")
        for provider in PROVIDERS
        for endpoint in provider.endpoints
        if endpoint.operation == operation and endpoint.method == method
    ]


def field_of(provider: Provider, endpoint: Endpoint) -> str | None:
    path = provider.prefix_of(endpoint) + endpoint.path
    if (provider.name, path) == WRITER_LIST:
        return None
    return OTHERWISE[path] if path in OTHERWISE else FIELDS[provider.name]


def at(document: Any, field: str) -> Any:
    for name in field.split("."):
        document = document[int(name)] if name.isdecimal() else document[name]
    return document


def models_in(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    listed = next(
        (document[name] for name in ("data", "models", "resources") if isinstance(document.get(name), list)), None
    )
    return [document] if listed is None else listed


@pytest.mark.parametrize(("provider", "endpoint"), rows("models", "GET"))
def test_lists_of_models_and_single_ones_say_the_window(provider: Provider, endpoint: Endpoint) -> None:
    field = field_of(provider, endpoint)
    url = url_of(provider, endpoint)
    with fake_llm.intercept(context_window=WINDOW) as fake:
        answer = httpx.get(url, verify=False)
    assert (answer.status_code, fake.side_calls[0].provider) == (200, provider.name)
    if field is None:
        assert str(WINDOW) not in answer.text
        return
    assert {at(model, field) for model in models_in(answer.json())} == {WINDOW}


def body_for(endpoint: Endpoint) -> dict[str, Any]:
    """A request of the vocabulary whose tokens are counted."""
    kind = endpoint.dialect.name
    if kind.startswith("anthropic"):
        return {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": "How many?"}]}
    if kind.startswith("gemini"):
        return {"contents": [{"role": "user", "parts": [{"text": "How many?"}]}]}
    if kind.startswith("bedrock"):
        return {"input": {"converse": {"messages": [{"role": "user", "content": [{"text": "How many?"}]}]}}}
    if kind.startswith("watsonx"):
        return {"model_id": "m", "project_id": "p", "input": "How many?"}
    return {"model": "gpt-5", "input": "How many?"}


COUNTED = ("input_tokens", "totalTokens", "inputTokens", "result.token_count")


@pytest.mark.parametrize(("provider", "endpoint"), rows("count_tokens", "POST"))
def test_tokens_are_counted(provider: Provider, endpoint: Endpoint) -> None:
    url, body = url_of(provider, endpoint), body_for(endpoint)
    with fake_llm.intercept() as fake:
        guessed = httpx.post(url, json=body, verify=False).json()
        fake.when(operation="count_tokens").reply(Reply(usage=Usage(77, 0)))
        told = httpx.post(url, json=body, verify=False).json()
    [name] = [name for name in COUNTED if name.partition(".")[0] in guessed]
    assert 0 < at(guessed, name) < 20
    assert at(told, name) == 77
    assert [call.operation for call in fake.calls] == ["count_tokens", "count_tokens"]


COUNTING = {"anthropic_messages", "openai_responses", "gemini"}


@pytest.mark.parametrize(
    "provider", [provider for provider in PROVIDERS if provider.endpoints], ids=lambda one: one.name
)
def test_who_answers_in_a_vocabulary_with_counts_counts(provider: Provider) -> None:
    """Each place where a model speaks Anthropic's, Gemini's or the Responses' language has a count beside it."""
    chats = {
        provider.prefix_of(row)
        for row in provider.endpoints
        if row.operation == "chat" and row.path in ("/messages", "/responses") and row.dialect.name in COUNTING
    }
    counts = {provider.prefix_of(row) for row in provider.endpoints if row.operation == "count_tokens"}
    assert chats <= counts


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_has_as_many_tokens_as_are_counted_for_it(stream: bool) -> None:
    """What is counted is what the answer says it cost."""
    base = "https://api.anthropic.com/v1/messages"
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "How many are these?"}]}
    with fake_llm.intercept(["So many."]) as fake:
        counted = httpx.post(f"{base}/count_tokens", json=body, verify=False).json()["input_tokens"]
        httpx.post(base, json={**body, "stream": stream}, verify=False)
    assert fake.calls[1].usage is not None
    assert counted == fake.calls[1].usage.input_tokens


def test_an_invocation_that_bedrock_counts() -> None:
    raw = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}).encode()
    body = {"input": {"invokeModel": {"body": base64.b64encode(raw).decode()}}}
    with fake_llm.intercept():
        url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/count-tokens"
        assert httpx.post(url, json=body, verify=False).json()["inputTokens"] > 0


# --- by the SDKs --------------------------------------------------------------------------------


@needs("anthropic>=1")
@fake_llm.intercept(context_window=WINDOW)
def test_anthropic_says_the_window() -> None:
    import anthropic

    client = anthropic.Anthropic()
    assert {model.max_input_tokens for model in client.models.list()} == {WINDOW}
    assert client.models.retrieve("claude-sonnet-5").max_input_tokens == WINDOW


@needs("google-genai>=1")
@fake_llm.intercept(context_window=WINDOW)
def test_gemini_says_the_window() -> None:
    from google import genai

    client = genai.Client()
    assert {model.input_token_limit for model in client.models.list()} == {WINDOW}
    assert client.models.get(model="gemini-2.5-flash").input_token_limit == WINDOW


@needs("mistralai>=3")
@fake_llm.intercept(context_window=WINDOW)
def test_mistral_says_the_window() -> None:
    from mistralai.client import Mistral

    client = Mistral(api_key="k")
    assert {model.max_context_length for model in client.models.list().data} == {WINDOW}
    assert client.models.retrieve(model_id="mistral-small-latest").max_context_length == WINDOW


@needs("cohere>=7")
@fake_llm.intercept(context_window=WINDOW)
def test_cohere_says_the_window() -> None:
    import cohere

    client = cohere.ClientV2()
    assert {model.context_length for model in client.models.list().models} == {WINDOW}
    assert client.models.get("command-a-03-2025").context_length == WINDOW


@needs("ollama>=0.5")
@fake_llm.intercept(context_window=WINDOW)
def test_ollama_says_the_window() -> None:
    import ollama

    assert WINDOW in dict(ollama.show("qwen3:8b").modelinfo or {}).values()
