"""Which hosts and paths are answered, as whom, and what beside them is left alone."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import has, needs
from fake_llm import FakeLLM, UnknownEndpointError
from fake_llm._endpoints import PROVIDERS
from fake_llm._routes import Routes

CHAT = "openai_chat"
RESPONSES = "openai_responses"
MESSAGES = "anthropic_messages"
GATEWAY = "https://gateway.ai.cloudflare.com/v1/0123/my-gateway"
WORKERS = "https://api.cloudflare.com/client/v4/accounts/0123/ai"
ROUTER = "https://router.huggingface.co"

ANSWERED = [
    ("groq", CHAT, "https://api.groq.com/openai/v1/chat/completions"),
    ("groq", RESPONSES, "https://api.groq.com/openai/v1/responses"),
    ("cerebras", CHAT, "https://api.cerebras.ai/v1/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/v1/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/groq/openai/v1/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/together/v1/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/fireworks-ai/inference/v1/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/cohere/compatibility/v1/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/deepinfra/v1/openai/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/novita/v3/openai/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/zai-org/api/paas/v4/chat/completions"),
    ("huggingface", CHAT, f"{ROUTER}/hf-inference/models/HuggingFaceTB/SmolLM3-3B/v1/chat/completions"),
    ("huggingface", CHAT, "https://api-inference.huggingface.co/models/org/name/v1/chat/completions"),
    ("huggingface", CHAT, "https://a1b2.us-east-1.aws.endpoints.huggingface.cloud/v1/chat/completions"),
    ("baseten", CHAT, "https://inference.baseten.co/v1/chat/completions"),
    ("deepinfra", CHAT, "https://api.deepinfra.com/v1/openai/chat/completions"),
    ("featherless", CHAT, "https://api.featherless.ai/v1/chat/completions"),
    ("hyperbolic", CHAT, "https://api.hyperbolic.xyz/v1/chat/completions"),
    ("nebius", CHAT, "https://api.tokenfactory.nebius.com/v1/chat/completions"),
    ("novita", CHAT, "https://api.novita.ai/v3/openai/chat/completions"),
    ("novita", CHAT, "https://api.novita.ai/openai/v1/chat/completions"),
    ("nscale", CHAT, "https://inference.api.nscale.com/v1/chat/completions"),
    ("ovhcloud", CHAT, "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1/chat/completions"),
    ("publicai", CHAT, "https://api.publicai.co/v1/chat/completions"),
    ("scaleway", CHAT, "https://api.scaleway.ai/v1/chat/completions"),
    ("nvidia", CHAT, "https://integrate.api.nvidia.com/v1/chat/completions"),
    ("sambanova", CHAT, "https://api.sambanova.ai/v1/chat/completions"),
    ("sambanova", RESPONSES, "https://api.sambanova.ai/v1/responses"),
    ("sambanova", MESSAGES, "https://api.sambanova.ai/v1/messages"),
    ("moonshot", CHAT, "https://api.moonshot.ai/v1/chat/completions"),
    ("moonshot", CHAT, "https://api.moonshot.cn/v1/chat/completions"),
    ("moonshot", MESSAGES, "https://api.moonshot.ai/anthropic/v1/messages"),
    ("zai", CHAT, "https://api.z.ai/api/paas/v4/chat/completions"),
    ("zai", CHAT, "https://api.z.ai/api/coding/paas/v4/chat/completions"),
    ("zai", CHAT, "https://open.bigmodel.cn/api/paas/v4/chat/completions"),
    ("zai", MESSAGES, "https://api.z.ai/api/anthropic/v1/messages"),
    ("dashscope", CHAT, "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"),
    ("dashscope", CHAT, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions"),
    ("dashscope", RESPONSES, "https://dashscope-intl.aliyuncs.com/api/v2/apps/protocols/compatible-mode/v1/responses"),
    ("dashscope", MESSAGES, "https://dashscope-intl.aliyuncs.com/apps/anthropic/v1/messages"),
    ("ai21", CHAT, "https://api.ai21.com/studio/v1/chat/completions"),
    ("writer", CHAT, "https://api.writer.com/v1/chat"),
    ("github", CHAT, "https://models.github.ai/inference/chat/completions"),
    ("github", CHAT, "https://models.github.ai/orgs/my-org/inference/chat/completions"),
    ("github", CHAT, "https://models.inference.ai.azure.com/chat/completions"),
    ("cloudflare", CHAT, f"{GATEWAY}/compat/chat/completions"),
    ("cloudflare", CHAT, f"{GATEWAY}/compat/v1/chat/completions"),
    ("cloudflare", CHAT, f"{GATEWAY}/openai/chat/completions"),
    ("cloudflare", RESPONSES, f"{GATEWAY}/openai/responses"),
    ("cloudflare", MESSAGES, f"{GATEWAY}/anthropic/v1/messages"),
    ("cloudflare", CHAT, f"{GATEWAY}/groq/chat/completions"),
    ("cloudflare", CHAT, f"{GATEWAY}/grok/v1/chat/completions"),
    ("cloudflare", CHAT, f"{GATEWAY}/workers-ai/v1/chat/completions"),
    ("cloudflare", CHAT, f"{GATEWAY}/azure-openai/my-resource/gpt-4.1/chat/completions?api-version=2024-10-21"),
    ("cloudflare", "gemini", f"{GATEWAY}/google-ai-studio/v1beta/models/gemini-2.5-flash:generateContent"),
    ("cloudflare", CHAT, f"{WORKERS}/v1/chat/completions"),
    ("cloudflare", RESPONSES, f"{WORKERS}/v1/responses"),
    ("gemini", CHAT, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"),
    ("ollama", CHAT, "http://localhost:11434/v1/chat/completions"),
    ("ollama", CHAT, "http://127.0.0.1:11434/v1/chat/completions"),
    ("ollama", CHAT, "http://[::1]:11434/v1/chat/completions"),
    ("ollama", RESPONSES, "http://localhost:11434/v1/responses"),
    ("ollama", MESSAGES, "http://localhost:11434/v1/messages"),
    ("ollama", CHAT, "https://ollama.com/v1/chat/completions"),
    ("vercel", CHAT, "https://ai-gateway.vercel.sh/v1/chat/completions"),
    ("vercel", RESPONSES, "https://ai-gateway.vercel.sh/v1/responses"),
    ("vercel", MESSAGES, "https://ai-gateway.vercel.sh/v1/messages"),
    ("copilot", CHAT, "https://api.githubcopilot.com/chat/completions"),
    ("copilot", CHAT, "https://api.individual.githubcopilot.com/chat/completions"),
    ("copilot", RESPONSES, "https://api.githubcopilot.com/responses"),
    ("copilot", MESSAGES, "https://api.githubcopilot.com/v1/messages"),
    # by region, and where data has to stay (the vendors' pages, 2026-11)
    *(
        ("openai", CHAT, f"https://{region}.api.openai.com/v1/chat/completions")
        for region in ("eu", "us", "ae", "mtls")
    ),
    ("openai", RESPONSES, "https://eu.api.openai.com/v1/responses"),
    *(("xai", CHAT, f"https://{region}.api.x.ai/v1/chat/completions") for region in ("us", "us-east-1", "eu-west-1")),
    *(("openrouter", CHAT, f"https://{region}.openrouter.ai/api/v1/chat/completions") for region in ("eu", "us")),
    *(
        ("azure", CHAT, f"https://r.openai.azure.{country}/openai/deployments/d/chat/completions?api-version=1")
        for country in ("com", "us", "cn")
    ),
    ("azure", RESPONSES, "https://r.openai.azure.us/openai/v1/responses"),
    ("azure", CHAT, "https://r.cognitiveservices.azure.us/openai/v1/chat/completions"),
    ("azure", CHAT, "https://phi.eastus2.models.ai.azure.com/chat/completions"),
    ("azure", CHAT, "https://mistral.eastus2.models.ai.azure.com/v1/chat/completions"),
    ("azure", CHAT, "https://llama.eastus2.inference.ai.azure.com/v1/chat/completions"),
    ("azure", CHAT, "https://r.services.ai.azure.com/models/chat/completions"),
    ("azure", CHAT, "https://r.services.ai.azure.com/api/projects/p/openai/v1/chat/completions"),
    ("azure", RESPONSES, "https://r.services.ai.azure.com/api/projects/p/openai/v1/responses"),
    ("mistral", CHAT, "https://api.mistral.ai/v1/chat/completions"),
    ("mistral", CHAT, "https://api.eu.mistral.ai/v1/chat/completions"),
    ("mistral", CHAT, "https://codestral.mistral.ai/v1/chat/completions"),
    ("dashscope", CHAT, "https://cn-hongkong.dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"),
    ("copilot", CHAT, "https://copilot-api.octo.ghe.com/chat/completions"),
    (
        "gemini",
        "gemini",
        "https://generativelanguage.mtls.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
    ),
]

REFUSED = [
    ("vertex", "aiplatform.googleapis.com"),
    ("vertex", "europe-west9-aiplatform.googleapis.com"),
    ("vertex", "aiplatform.eu.rep.googleapis.com"),
    ("vertex", "us-central1-aiplatform.mtls.googleapis.com"),
    ("vertex", "aiplatform-genai1.p.googleapis.com"),
    ("vertex", "123.us-central1-456.prediction.vertexai.goog"),
    ("bedrock", "bedrock-runtime.us-east-1.amazonaws.com"),
    ("bedrock", "bedrock-runtime-fips.us-gov-west-1.amazonaws.com"),
    ("bedrock", "bedrock-runtime.cn-north-1.amazonaws.com.cn"),
    ("bedrock", "bedrock-runtime.us-east-1.api.aws"),
    ("bedrock", "bedrock-agent-runtime.us-east-1.amazonaws.com"),
    ("bedrock", "bedrock.us-east-1.amazonaws.com"),
    ("bedrock", "bedrock-fips.us-east-1.api.aws"),
    ("bedrock", "bedrock-runtime.eusc-de-east-1.amazonaws.eu"),
    ("bedrock", "bedrock-runtime.us-iso-east-1.c2s.ic.gov"),
    ("bedrock", "bedrock-runtime.us-isob-east-1.sc2s.sgov.gov"),
    ("bedrock", "bedrock-runtime.eu-isoe-west-1.cloud.adc-e.uk"),
    ("bedrock", "bedrock-runtime.us-isof-south-1.csp.hci.ic.gov"),
    ("bedrock", "bedrock-runtime.cn-north-1.api.amazonwebservices.com.cn"),
    ("bedrock", "vpce-1-2.bedrock-runtime.us-east-1.vpce.amazonaws.com"),
    ("mistral", "api.mistral.ai"),
    ("mistral", "api.eu.mistral.ai"),
]

HI = [{"role": "user", "content": "Hi"}]
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"model": "m", "messages": HI},
    RESPONSES: {"model": "m", "input": "Hi"},
    MESSAGES: {"model": "m", "max_tokens": 9, "messages": HI},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}


def send(url: str, body: dict[str, Any] | None = None) -> httpx.Response:
    with httpx.Client(verify=False) as client:  # spares the loading of certificates
        return client.get(url) if body is None else client.post(url, json=body)


@pytest.mark.parametrize(("provider", "dialect", "url"), ANSWERED, ids=[url for *_, url in ANSWERED])
def test_a_path_is_answered_as_its_providers(provider: str, dialect: str, url: str) -> None:
    with fake_llm.intercept(["Hello!"]) as fake:
        response = send(url, BODIES[dialect])
    assert response.status_code == 200
    assert "Hello!" in response.text
    (call,) = fake.calls
    assert (call.provider, call.dialect, call.operation) == (provider, dialect, "chat")
    assert call.last_user_text == "Hi"


MODELS = [
    *("https://api.cerebras.ai/v1/models", f"{ROUTER}/v1/models", "https://api.writer.com/v1/models"),
    *("http://localhost:11434/v1/models", "https://generativelanguage.googleapis.com/v1beta/openai/models"),
    *("https://api.githubcopilot.com/models", "https://api.z.ai/api/paas/v4/models"),
    "https://api.mistral.ai/v1/models",
]


@pytest.mark.parametrize("url", MODELS)
def test_lists_of_models_are_side_calls(url: str) -> None:
    with fake_llm.intercept() as fake:
        document = send(url).json()
    assert document.get("data") or document["models"]
    assert [call.operation for call in fake.side_calls] == ["models"]
    assert not fake.calls


UNKNOWN = [
    ("https://api.cerebras.ai/v9/chat", "POST /v1/chat/completions"),
    ("https://api.writer.com/v1/chat/completions", "POST /v1/chat"),
    (f"{ROUTER}/fal-ai/fal-ai/flux/dev", "POST /{provider}(/v1/openai|/v3/openai|/api/paas/v4)/chat/completions"),
    (f"{WORKERS}/run/@cf/meta/llama-3.1-8b-instruct", "POST /client/v4/accounts/{account}/ai/v1/chat/completions"),
    ("http://localhost:11434/api/me", "POST /api/chat"),
    ("https://ollama.com/api/web_search", "POST /api/chat"),
    ("https://dashscope.aliyuncs.com/api/v1/services/aigc/text2image/image-synthesis", "/compatible-mode/v1"),
]


@pytest.mark.parametrize(("url", "said"), UNKNOWN, ids=[url for url, _ in UNKNOWN])
def test_another_path_of_a_models_host_never_leaves_the_machine(url: str, said: str) -> None:
    with fake_llm.intercept(strict=False) as fake, pytest.raises(UnknownEndpointError) as caught:
        send(url, {})
    assert said in str(caught.value)
    fake.failures.clear()


@pytest.mark.parametrize(("provider", "host"), REFUSED)
def test_a_host_or_a_path_that_is_not_answered_yet_is_refused(provider: str, host: str) -> None:
    with fake_llm.intercept(strict=False) as fake, pytest.raises(UnknownEndpointError) as caught:
        send(f"https://{host}/v1/any", {})
    answered = any(each.name == provider and each.endpoints for each in PROVIDERS)
    why = ", an unknown path" if answered else " that isn't answered yet"
    assert f"a known LLM host ({provider}){why}" in str(caught.value)
    assert Routes().known(host, 443)
    fake.failures.clear()


LEFT_ALONE = [
    "https://s3.us-east-1.amazonaws.com/bucket",
    "https://bedrock-bucket.s3.us-east-1.amazonaws.com/key",
    "https://storage.googleapis.com/bucket/key",
    "https://docs.x.ai/docs",
    "https://console.mistral.ai/",
    "https://account.blob.core.windows.net/c/b",
    "https://management.azure.com/subscriptions",
    "https://huggingface.co/org/name/resolve/main/tokenizer.json",
    "https://huggingface.co/api/models/org/name",
    "https://huggingface.co/api/models/org/name/revision/main",
    "https://huggingface.co/api/models/org/name?expand=siblings",
    "https://huggingface.co/api/datasets/org/name",
    "https://cdn-lfs.huggingface.co/repos/a/b",
    "https://api.endpoints.huggingface.cloud/v2/endpoint",
    "https://api.cloudflare.com/client/v4/zones",
    "https://api.cloudflare.com/client/v4/accounts/0123/ai/models/search",
    "https://api.cloudflare.com/client/v4/accounts/0123/workers/scripts",
    "https://ollama.com/library/llama3",
    "http://localhost:1234/v1/chat/completions",
    "http://localhost:8000/v1/chat/completions",
    "http://127.0.0.1:8080/v1/chat/completions",
    "http://localhost/v1/chat/completions",
    "https://github.com/org/repo",
]


@pytest.mark.parametrize("url", LEFT_ALONE)
def test_what_isnt_a_models_is_left_alone(url: str) -> None:
    fake = FakeLLM()
    assert not fake.claims("GET", url)
    assert not fake.claims("POST", url)


@pytest.mark.parametrize(
    ("host", "port", "known"),
    [
        ("router.huggingface.co", 443, True),
        ("huggingface.co", 443, False),
        ("api.cloudflare.com", 443, False),
        ("gateway.ai.cloudflare.com", 443, True),
        ("ollama.com", 443, False),
        ("localhost", 11434, True),
        ("127.0.0.1", 11434, True),
        ("localhost", 8000, False),
    ],
)
def test_a_socket_is_stopped_where_the_whole_host_is_a_models(host: str, port: int, known: bool) -> None:
    assert Routes().known(host, port) is known


# --- hosts= and the environment -------------------------------------------------------------------

DECLARED = [
    ("localhost:8000/v1", "openai", "http://localhost:8000/v1/chat/completions"),
    ("localhost:1234", "openai", "http://localhost:1234/v1/chat/completions"),
    ("http://127.0.0.1:8080/v1/", "openai", "http://127.0.0.1:8080/v1/chat/completions"),
    ("litellm.corp.example", "openai", "https://litellm.corp.example/chat/completions"),
    ("gpu.corp.example:11434", "ollama", "http://gpu.corp.example:11434/v1/chat/completions"),
    ("cache.corp.example/hf", "huggingface", "https://cache.corp.example/hf/v1/chat/completions"),
    ("writer.corp.example", "writer", "https://writer.corp.example/v1/chat"),
]


@pytest.mark.parametrize(("place", "provider", "url"), DECLARED)
def test_a_server_of_ones_own_is_declared(place: str, provider: str, url: str) -> None:
    with fake_llm.intercept(["Hello!"], hosts={place: provider}) as fake:
        assert "Hello!" in send(url, BODIES[CHAT]).text
    assert fake.calls[0].provider == provider


def test_other_local_ports_stay_untouched() -> None:
    fake = FakeLLM(hosts={"localhost:8000/v1": "openai"})
    assert fake.claims("POST", "http://localhost:8000/v1/chat/completions")
    assert not fake.claims("POST", "http://localhost:8000/metrics")
    assert not fake.claims("POST", "http://localhost:8001/v1/chat/completions")
    assert not fake.claims("POST", "http://127.0.0.1:8000/v1/chat/completions")


NAMED = [
    ("OPENAI_BASE_URL", "http://localhost:8000/v1", "openai", "http://localhost:8000/v1/chat/completions"),
    ("LM_STUDIO_API_BASE", "http://localhost:1234/v1", "openai", "http://localhost:1234/v1/chat/completions"),
    ("HOSTED_VLLM_API_BASE", "http://gpu:8000/v1", "openai", "http://gpu:8000/v1/chat/completions"),
    ("LITELLM_PROXY_API_BASE", "http://proxy:4000", "openai", "http://proxy:4000/chat/completions"),
    ("GROQ_BASE_URL", "http://proxy:4000/groq", "groq", "http://proxy:4000/groq/openai/v1/chat/completions"),
    ("CEREBRAS_BASE_URL", "http://proxy:4000", "cerebras", "http://proxy:4000/v1/chat/completions"),
    ("TOGETHER_BASE_URL", "http://proxy:4000", "together", "http://proxy:4000/v1/chat/completions"),
    ("FIREWORKS_BASE_URL", "http://p:4000", "fireworks", "http://p:4000/inference/v1/chat/completions"),
    ("WRITER_BASE_URL", "http://proxy:4000", "writer", "http://proxy:4000/v1/chat"),
    ("ZAI_BASE_URL", "http://proxy:4000/zai", "zai", "http://proxy:4000/zai/chat/completions"),
    ("AI21_API_HOST", "http://proxy:4000", "ai21", "http://proxy:4000/studio/v1/chat/completions"),
    ("OLLAMA_BASE_URL", "http://gpu:11434/v1", "ollama", "http://gpu:11434/v1/chat/completions"),
    ("OLLAMA_HOST", "0.0.0.0:11434", "ollama", "http://0.0.0.0:11434/v1/chat/completions"),
    ("OLLAMA_HOST", "0.0.0.0", "ollama", "http://0.0.0.0:11434/v1/chat/completions"),
    ("OLLAMA_HOST", "myhost", "ollama", "http://myhost:11434/v1/chat/completions"),
    ("OLLAMA_HOST", ":8899", "ollama", "http://127.0.0.1:8899/v1/chat/completions"),
    ("OLLAMA_HOST", "myhost/base", "ollama", "http://myhost:11434/base/v1/chat/completions"),
    ("OLLAMA_HOST", "http://myhost", "ollama", "http://myhost/v1/chat/completions"),
    ("OLLAMA_HOST", "https://myhost:443", "ollama", "https://myhost/v1/chat/completions"),
    ("OLLAMA_HOST", "http://:8899", "ollama", "http://127.0.0.1:8899/v1/chat/completions"),
    ("OLLAMA_HOST", "[fd00::1]:8899/base/", "ollama", "http://[fd00::1]:8899/base/v1/chat/completions"),
]


@pytest.mark.parametrize(
    ("name", "value", "provider", "url"), NAMED, ids=[f"{name}={value}" for name, value, *_ in NAMED]
)
def test_a_base_url_in_the_environment_is_claimed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, provider: str, url: str
) -> None:
    monkeypatch.setenv(name, value)
    with fake_llm.intercept(["Hello!"]) as fake:
        assert "Hello!" in send(url, BODIES[CHAT]).text
    assert fake.calls[0].provider == provider


@pytest.mark.parametrize("value", ["", " ", "not a url", "https://user:pw@h:badport/v1", "http://[::1", "*", "//"])
@pytest.mark.parametrize("name", ["ANTHROPIC_BASE_URL", "OLLAMA_HOST"])
def test_a_base_url_that_is_none_is_no_matter_of_other_sdks(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with fake_llm.intercept(["Hello!"]) as fake:
        assert "Hello!" in send("https://api.openai.com/v1/chat/completions", BODIES[CHAT]).text
    assert fake.calls[0].provider == "openai"


@needs("openai")
def test_a_dummy_names_nobodys_host() -> None:
    import openai

    assert openai
    with fake_llm.intercept() as fake:
        assert os.environ["AZURE_OPENAI_ENDPOINT"] == "https://fake-llm.openai.azure.com"
        with fake_llm.intercept() as inner:
            known = [*fake._routes.hosts("POST", "/v1/messages"), *inner._routes.hosts("POST", "/v1/messages")]
    assert not [host for host in known if "fake-llm" in host]


# --- the SDKs' own keys and look-ups --------------------------------------------------------------

KEYS = [
    ("cerebras-cloud-sdk", "cerebras.cloud.sdk", "CEREBRAS_API_KEY"),
    ("together", "together", "TOGETHER_API_KEY"),
    ("fireworks-ai", "fireworks", "FIREWORKS_API_KEY"),
    ("writer-sdk", "writerai", "WRITER_API_KEY"),
    ("zai-sdk", "zai", "ZAI_API_KEY"),
    ("ai21", "ai21", "AI21_API_KEY"),
    ("huggingface_hub", "huggingface_hub.constants", "HF_TOKEN"),
]


@pytest.mark.parametrize(("distribution", "module", "name"), KEYS)
def test_the_sdk_of_a_vendor_needs_no_key(
    monkeypatch: pytest.MonkeyPatch, distribution: str, module: str, name: str
) -> None:
    if not has(distribution):
        pytest.skip(f"needs {distribution}")
    importlib.import_module(module)
    monkeypatch.delenv(name, raising=False)
    import os

    with fake_llm.intercept():
        assert os.environ[name]
    assert name not in os.environ


@needs("cerebras-cloud-sdk")
def test_the_warm_up_of_cerebras_takes_no_turn() -> None:
    cerebras: Any = importlib.import_module("cerebras.cloud.sdk")
    with fake_llm.intercept(["Hello!"]) as fake:
        cerebras.Cerebras().chat.completions.create(model="m", messages=HI)
    assert [(call.operation, call.url) for call in fake.side_calls] == [
        ("warm_up", "https://api.cerebras.ai/v1/tcp_warming")
    ]
    assert len(fake.calls) == 1


@needs("writer-sdk")
def test_the_sdk_of_writer_lists_models() -> None:
    writer: Any = importlib.import_module("writerai")
    with fake_llm.intercept():
        assert [model.id for model in writer.Writer().models.list().models] == ["palmyra-x5", "palmyra-x4"]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """huggingface_hub as nobody has logged in, with caches of its own."""
    if not has("huggingface_hub>=2"):
        pytest.skip("needs huggingface_hub>=2")
    hub: Any = importlib.import_module("huggingface_hub")
    agent: Any = importlib.import_module("huggingface_hub.utils._detect_agent")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(hub.constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setattr(hub.constants, "AGENT_HARNESSES_PATH", str(tmp_path / "harnesses.json"))
    monkeypatch.setattr(agent, "_registry", None)
    return hub


def test_hugging_face_looks_up_who_serves_a_model(hub: Any, tmp_path: Path) -> None:
    with fake_llm.intercept(["Hello!", "Hello again!"]) as fake:
        client = hub.InferenceClient(provider="novita")
        client.chat_completion(model="org/name", messages=HI)
        client.chat_completion(model="org/name", messages=HI)
    assert [call.url for call in fake.calls] == [f"{ROUTER}/novita/v3/openai/chat/completions"] * 2
    assert [(call.operation, call.response.status, call.url) for call in fake.side_calls] == [
        ("harnesses", 404, "https://huggingface.co/api/agent-harnesses"),
        ("models", 200, "https://huggingface.co/api/models/org/name?expand=inferenceProviderMapping"),
    ]
    assert not list(tmp_path.iterdir())  # nothing made up stays in the user's cache


def test_what_was_looked_up_is_forgotten_when_the_block_ends(hub: Any) -> None:
    for _ in range(2):
        with fake_llm.intercept(["Hello!"]) as fake:
            hub.InferenceClient(provider="groq").chat_completion(model="org/name", messages=HI)
        assert "models" in [call.operation for call in fake.side_calls]


DIRECT = (
    *("baseten", "cerebras", "deepinfra", "featherless-ai", "fireworks-ai", "groq", "novita", "nscale", "openai"),
    *("ovhcloud", "publicai", "scaleway", "together", "zai-org"),
)


@pytest.mark.parametrize("name", DIRECT)
def test_with_the_key_of_a_host_hugging_faces_client_goes_there_by_itself(hub: Any, name: str) -> None:
    with fake_llm.intercept(["Hello!"]) as fake:
        client = hub.InferenceClient(provider=name, api_key="sk-of-the-host")
        assert client.chat_completion(model="org/name", messages=HI).choices[0].message.content == "Hello!"
    assert "huggingface" not in fake.calls[0].url
    assert name.startswith(fake.calls[0].provider)


def test_downloads_go_without_the_dummy_token(hub: Any) -> None:
    with fake_llm.intercept(["Hello!"]) as fake:
        assert "authorization" not in hub.utils.build_hf_headers()
        hub.InferenceClient().chat_completion(model="org/name", messages=HI)
    assert fake.calls[0].headers["authorization"].startswith("Bearer hf_")
    assert hub.constants.HF_HUB_DISABLE_IMPLICIT_TOKEN is False


def test_who_has_logged_in_keeps_the_own_token(hub: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hf_mine")
    with fake_llm.intercept(["Hello!"]) as fake:
        assert hub.utils.build_hf_headers()["authorization"] == "Bearer hf_mine"
        hub.InferenceClient().chat_completion(model="org/name", messages=HI)
    assert fake.calls[0].headers["authorization"] == "Bearer hf_mine"


def test_ones_own_hugging_face_token_in_the_environment_is_left_alone(
    hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    with fake_llm.intercept():
        assert hub.utils.build_hf_headers()["authorization"] == "Bearer hf_mine"


# --- a host that passes on ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "model", "key"),
    [
        (f"{ROUTER}/v1/chat/completions", "openai/gpt-oss-120b:groq", "x_groq"),
        (f"{ROUTER}/groq/openai/v1/chat/completions", "openai/gpt-oss-120b", "x_groq"),
        (f"{ROUTER}/v1/chat/completions", "openai/gpt-oss-120b:cerebras", "time_info"),
        (f"{ROUTER}/together/v1/chat/completions", "openai/gpt-oss-120b", "prompt"),
        (f"{GATEWAY}/compat/chat/completions", "groq/llama", "x_groq"),
        (f"{GATEWAY}/groq/chat/completions", "llama", "x_groq"),
        (f"{GATEWAY}/cerebras/chat/completions", "llama", "time_info"),
    ],
)
@pytest.mark.parametrize("renamed", [None, "another-model"])
def test_a_router_answers_as_the_host_that_is_named(url: str, model: str, key: str, renamed: str | None) -> None:
    with fake_llm.intercept(["Hello!", "Hello!"], model=renamed) as fake:
        assert key in send(url, {"model": model, "messages": HI}).json()
        plain = send(url.replace("groq", "some").replace("cerebras", "some").replace("together", "some"), BODIES[CHAT])
    assert key not in plain.json()
    assert fake.calls[0].model == model


def test_a_message_of_an_unknown_path_is_whole() -> None:
    with fake_llm.intercept(strict=False), pytest.raises(UnknownEndpointError) as caught:
        send("https://api.ai21.com/studio/v1/j2-ultra/complete", {})
    assert json.dumps(str(caught.value)).count("POST /studio/v1/chat/completions") == 1
