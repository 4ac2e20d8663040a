"""The window of a model in each vendor's own field, and the count of a request's tokens wherever a vendor has one."""

from __future__ import annotations

import base64
import importlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import has, needs
from _rows import rows, url_of
from _shared import needs_shared, shared_dir
from fake_llm import Reply, Usage
from fake_llm._endpoints import PROVIDERS, Endpoint, Provider

WINDOW = 4321
SAYING = frozenset(
    {
        *("anthropic", "anthropic_aws", "anthropic_google_cloud", "openai", "gemini", "mistral", "cohere", "watsonx"),
        *("groq", "openrouter", "together", "fireworks", "huggingface", "deepinfra", "novita", "copilot", "vercel"),
        *("sambanova", "moonshot", "featherless", "hyperbolic", "nebius"),
    }
)
"""Who says it in a list of models: the others' lists have no field for it, or none that is known."""
SILENT = frozenset(
    {
        "/api/models/{model...}",  # of Hugging Face's hub: who serves it
        "/{version}/openai/models",  # Gemini's as OpenAI lists them
        "/{version}/openai/models/{model...}",
    }
)
"""Rows of these that don't."""


def at(document: Any, field: str) -> Any:
    for name in field.split("."):
        document = document[int(name)] if name.isdecimal() else document[name]
    return document


def saying(model: Any, path: str = "") -> set[str]:
    """Every path in an entry at which the window stands."""
    if isinstance(model, dict):
        return {found for key, value in model.items() for found in saying(value, f"{path}.{key}".lstrip("."))}
    if isinstance(model, list):
        return {found for index, value in enumerate(model) for found in saying(value, f"{path}.{index}")}
    return {path} if model == WINDOW else set()


def said_by(name: str) -> dict[str, set[str]]:
    """Where each row of a provider says it, the same for all entries of a list."""
    [provider] = [one for one in PROVIDERS if one.name == name]
    found: dict[str, set[str]] = {}
    for endpoint in provider.endpoints:
        path = provider.prefix_of(endpoint) + endpoint.path
        if (endpoint.operation, endpoint.method) == ("models", "GET") and path not in SILENT:
            with fake_llm.intercept(context_window=WINDOW):
                answer = httpx.get(url_of(provider, endpoint), verify=False).json()
            places = {frozenset(saying(model)) for model in models_in(answer)}
            assert len(places) <= 1, "all entries alike"
            found[path] = set().union(*places)
    return found


def models_in(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    listed = next(
        (document[name] for name in ("data", "models", "resources") if isinstance(document.get(name), list)), None
    )
    return [document] if listed is None else listed


@pytest.mark.parametrize(("provider", "endpoint"), rows("models", "GET"))
def test_a_list_of_models_or_a_single_one_is_answered(provider: Provider, endpoint: Endpoint) -> None:
    with fake_llm.intercept() as fake:
        answer = httpx.get(url_of(provider, endpoint), verify=False)
    assert (answer.status_code, fake.side_calls[0].provider) == (200, provider.name)
    assert str(WINDOW) not in answer.text, "said without being asked for"


@pytest.mark.parametrize("name", sorted(SAYING))
def test_lists_and_single_ones_say_it_at_one_place(name: str) -> None:
    assert set.intersection(*said_by(name).values())


@pytest.mark.parametrize("name", sorted({provider.name for provider in PROVIDERS if provider.endpoints} - SAYING))
def test_others_say_nothing(name: str) -> None:
    assert not set().union(*said_by(name).values())


@needs_shared
def test_it_stands_where_groq_was_recorded_to_have_it() -> None:
    path = (shared_dir() or Path()) / "recordings/groq/models/groq-models-plain-01.json"
    real = models_in(json.loads(path.read_bytes())["response"]["body"])
    of_windows = {key for model in real for key, value in model.items() if "context" in key and isinstance(value, int)}
    assert list(said_by("groq").values()) == [of_windows] * 2


@needs_shared
def test_openai_s_own_entries_have_four_keys() -> None:
    path = (shared_dir() or Path()) / "recordings/openai/models/openai-models-plain-01.json"
    real = models_in(json.loads(path.read_bytes())["response"]["body"])
    with fake_llm.intercept():
        ours = httpx.get("https://api.openai.com/v1/models", verify=False).json()
    assert {frozenset(model) for model in real} == {frozenset(model) for model in models_in(ours)}


@needs_shared
def test_mistral_s_own_schema_has_the_field() -> None:
    spec = (shared_dir() or Path()) / "specs" / "mistral.json"
    places = set().union(*said_by("mistral").values())
    assert all(f'"{place}"' in spec.read_text(encoding="utf-8") for place in places)


JUDGES = {
    "openrouter": ("openrouter", "openrouter.components.model", "Model"),
    "fireworks": ("fireworks-ai", "fireworks.types.model", "Model"),
    "mistral": ("mistralai>=3", "mistralai.client.models.basemodelcard", "BaseModelCard"),
    "cohere": ("cohere>=7", "cohere.types.get_model_response", "GetModelResponse"),
    "anthropic": ("anthropic>=1", "anthropic.types.model_info", "ModelInfo"),
}


@pytest.mark.parametrize("name", JUDGES)
def test_the_type_of_the_sdk_has_such_a_field(name: str) -> None:
    requirement, module, kind = JUDGES[name]
    fields = getattr(load_here(requirement, module), kind).model_fields
    for places in said_by(name).values():
        assert {place.rpartition(".")[2] for place in places} & fields.keys()


def load_here(requirement: str, module: str) -> Any:
    if not has(requirement):
        pytest.skip(f"needs {requirement}")
    return importlib.import_module(module)


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


@pytest.mark.parametrize("wrap", [False, True])
def test_gemini_refuses_to_count_what_it_would_refuse_to_answer(wrap: bool) -> None:
    asked = {"contents": [{"parts": [{"text": "How many?"}]}], "generationConfig": [1]}
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens"
    with fake_llm.intercept():
        answer = httpx.post(url, json={"generateContentRequest": asked} if wrap else asked, verify=False)
    assert (answer.status_code, answer.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


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
