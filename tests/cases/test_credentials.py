"""Credentials and side calls: what SDKs want before a call, and what they ask beside it."""

from __future__ import annotations

import base64
import importlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import responses

import fake_llm
from _asking import post
from _capability import needs
from fake_llm import ToolCall, UninterceptedCallError

HI: Any = [{"role": "user", "content": "Hi"}]
TOKENIZER = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
TRACES = "https://api.openai.com/v1/traces/ingest"
THREAD = threading.current_thread().name
"""That of the tests, which messages name."""
KEYS = ("AWS_", "OPENAI_", "ANTHROPIC_", "GOOGLE_")


@pytest.fixture
def without_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    """A machine on which nobody has logged in to anything; no key may be left there in the end."""
    for name in [name for name in os.environ if name.startswith(KEYS)]:
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    yield
    assert [name for name in os.environ if name.startswith(KEYS)] == ["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"]


def by_openai() -> str:
    with importlib.import_module("openai").OpenAI() as client:
        return client.responses.create(model="gpt-5", input="Hi").output_text


def by_anthropic() -> str:
    with importlib.import_module("anthropic").Anthropic() as client:
        return client.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=HI).content[0].text


def by_boto3() -> str:
    client = importlib.import_module("boto3").session.Session().client("bedrock-runtime", "us-east-1")
    asked: Any = [{"role": "user", "content": [{"text": "Hi"}]}]
    return client.converse(modelId="m", messages=asked)["output"]["message"]["content"][0]["text"]


def by_vertex() -> str:
    genai = importlib.import_module("google.genai")
    client = genai.Client(vertexai=True, project="p", location="us-central1")
    return client.models.generate_content(model="gemini-2.5-flash", contents="Hi").text


def by_litellm() -> str:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = importlib.import_module("litellm")
    return litellm.completion(model="bedrock/converse/us.amazon.nova-lite-v1:0", messages=HI).choices[0].message.content


WITHOUT = [
    pytest.param(by_openai, "OpenAIError", marks=needs("openai>=2")),
    pytest.param(by_anthropic, "TypeError", marks=needs("anthropic>=1")),
    pytest.param(by_boto3, "NoCredentialsError", marks=needs("boto3")),
    pytest.param(by_vertex, "DefaultCredentialsError", marks=needs("google-genai>=3", "aiohttp")),
]


# --- A15: HTTP is mocked, yet a key is wanted -------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class")  # of litellm's types, by pydantic
@pytest.mark.parametrize(
    "ask",
    [
        *(pytest.param(row.values[0], marks=row.marks) for row in WITHOUT),
        pytest.param(by_litellm, marks=needs("litellm", "boto3")),
    ],
)
def test_A15_a_block_needs_no_key(ask: Callable[[], str], without_keys: None) -> None:
    with fake_llm.intercept(["Hello."]) as fake:
        assert ask() == "Hello."
    assert len(fake.calls) == 1
    assert {call.operation for call in fake.side_calls} <= {"token"}


@pytest.mark.parametrize(("ask", "raised"), WITHOUT)
def test_A15_without_dummies_the_sdks_ask_for_one(ask: Callable[[], str], raised: str, without_keys: None) -> None:
    """And the servers of a cloud that might have some aren't waited for."""
    said = r"(?i)credentials|authentication"
    with fake_llm.intercept(env=False, block_network=True), pytest.raises(Exception, match=said) as caught:
        ask()
    assert caught.type.__name__ == raised


@needs("boto3", "openai>=2")
def test_A15_what_the_user_has_set_is_left_alone(without_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3
    import openai

    mine = {"OPENAI_API_KEY": "mine", "AWS_ACCESS_KEY_ID": "mine too", "AWS_SECRET_ACCESS_KEY": "secret"}
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    with fake_llm.intercept():
        assert {name: os.environ[name] for name in mine} == mine
        with openai.OpenAI() as client:
            assert client.api_key == "mine"
        credentials = boto3.session.Session().get_credentials()
        assert credentials is not None
        assert credentials.access_key == "mine too"
    for name in mine:
        monkeypatch.delenv(name)


@needs("openai>=2", "requests")
def test_A15_dummies_hide_no_proxy_of_the_environment(without_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """requests isn't let walk through the dummies in search of one, and finds each that is there."""
    importlib.import_module("openai")
    requests = importlib.import_module("requests")
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    stock = requests.utils.getproxies

    def found() -> dict[str, str]:
        with requests.Session() as session:
            return session.merge_environment_settings("https://example.org", {}, False, None, None)["proxies"]

    with fake_llm.intercept():
        assert "OPENAI_API_KEY" in os.environ
        assert found() == requests.utils.getproxies() == {}
        monkeypatch.setenv("Https_Proxy", "http://proxy.example:8080")
        assert found() == requests.utils.getproxies() == {"https": "http://proxy.example:8080"}
        monkeypatch.setenv("no_proxy", "example.org")
        assert found() == {}
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setenv("https_proxy", "")
        assert found() == requests.utils.getproxies() == {}
    assert requests.utils.getproxies is stock


@needs("openai>=2")
def test_A15_another_object_in_place_of_the_environment_gets_the_dummies(
    without_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    importlib.import_module("openai")
    with monkeypatch.context() as patched:
        patched.setattr(os, "environ", {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "https://llm.corp.example/v1"})
        with fake_llm.intercept(["Hello."]):
            assert os.environ["OPENAI_API_KEY"] == "sk-fake-llm"
            assert os.environ["AZURE_OPENAI_API_KEY"] == "azure-fake-llm"
            assert by_openai() == "Hello."
        assert os.environ == {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": "https://llm.corp.example/v1"}


# --- A17: counting tokens asks for a file -----------------------------------------------------------


@needs("requests")
@pytest.mark.parametrize("counts", ["requests", pytest.param("tiktoken", marks=needs("tiktoken"))])
def test_A17_the_file_of_a_tokenizer_is_no_call_and_takes_no_turn(counts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    file = base64.b64encode(b"a") + b" 0\n"
    with responses.RequestsMock() as real, fake_llm.intercept(["Hello."]) as fake:
        real.get(TOKENIZER, body=file)
        if counts == "requests":
            assert importlib.import_module("requests").get(TOKENIZER).content == file
        else:
            assert importlib.import_module("tiktoken.load").load_tiktoken_bpe(TOKENIZER) == {b"a": 0}
        assert (fake.remaining, len(fake.calls), len(fake.side_calls)) == (1, 0, 0)
        assert post().json()["choices"][0]["message"]["content"] == "Hello."


@needs("requests")
@pytest.mark.parametrize("counts", ["requests", pytest.param("tiktoken", marks=needs("tiktoken"))])
def test_A17_where_the_network_is_blocked_the_message_says_what_it_is_for(
    counts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with pytest.raises(UninterceptedCallError) as caught, fake_llm.intercept(["Hello."], block_network=True):
        if counts == "requests":
            importlib.import_module("requests").get(TOKENIZER)
        else:
            importlib.import_module("tiktoken.load").load_tiktoken_bpe(TOKENIZER)
    assert str(caught.value) == (
        f"openaipublic.blob.core.windows.net:443 was reached by requests (GET {TOKENIZER}) in thread {THREAD}.\n"
        "It is called for files of a tokenizer (tiktoken, as in LangChain's get_num_tokens), and block_network=True refuses all "
        "hosts that aren't answered but local ones.\n"
        "Set TIKTOKEN_CACHE_DIR with the files in it in the environment, which turns it off, or leave block_network out."
    )


# --- A18: traces go to the provider's own host ------------------------------------------------------


def test_A18_traces_take_no_turn() -> None:
    with fake_llm.intercept(["Hello."]) as fake:
        assert httpx.post(TRACES, json={"data": []}).status_code == 204
        assert post().json()["choices"][0]["message"]["content"] == "Hello."
        assert httpx.post(TRACES, json={"data": []}).status_code == 204
    assert [call.operation for call in fake.calls] == ["chat"]
    assert [call.operation for call in fake.side_calls] == ["traces", "traces"]


def traced(name: str) -> str:
    """What an agent says after a tool, in a trace of this name."""
    agents = importlib.import_module("agents")

    @agents.function_tool
    def get_weather(city: str) -> str:
        """The weather of a city."""
        return f"sunny in {city}"

    with agents.trace(name):
        return agents.Runner.run_sync(
            agents.Agent(name="Forecaster", model="gpt-5", tools=[get_weather]), "Weather in Paris?"
        ).final_output


@pytest.fixture
def exporter(without_keys: None) -> Iterator[Any]:
    """What sends traces by its thread, seconds later or when the process ends; here never by the clock."""
    agents, processors = importlib.import_module("agents"), importlib.import_module("agents.tracing.processors")
    sender = processors.BackendSpanExporter()
    gathering = processors.BatchTraceProcessor(sender, schedule_delay=3600)
    agents.set_trace_processors([gathering])
    yield gathering
    gathering.shutdown()
    sender.close()
    agents.set_trace_processors([])


WEATHER = [ToolCall("get_weather", {"city": "Paris"}), "It is sunny."]


@needs("openai-agents")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # its own loop and client
def test_A18_what_an_agent_traces_inside_is_answered_inside(exporter: Any, loop: None) -> None:
    with fake_llm.intercept(WEATHER) as fake:
        assert traced("A day out") == "It is sunny."
    assert [(call.operation, call.tool_results[-1:] != ()) for call in fake.calls] == [("chat", False), ("chat", True)]
    assert [(call.operation, call.url) for call in fake.side_calls] == [("traces", TRACES)]
    [trace] = [item for item in fake.side_calls[0].body["data"] if item["object"] == "trace"]
    assert trace["workflow_name"] == "A day out"


@needs("openai-agents")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("key", [None, "mine"])
def test_A18_after_the_block_nothing_of_it_is_sent(
    key: str | None, exporter: Any, loop: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither with a key of the user's own, nor with the dummy that was there: what is sent would reach the network."""
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with fake_llm.intercept(WEATHER) as fake:
        traced("A day out")
    exporter.force_flush()
    assert [call.operation for call in fake.side_calls] == ["traces"]
    if key is not None:
        monkeypatch.delenv("OPENAI_API_KEY")
        return
    with importlib.import_module("agents").trace("Outside"):
        pass
    exporter.force_flush()
    assert "OPENAI_API_KEY is not set, skipping trace export" in caplog.text
