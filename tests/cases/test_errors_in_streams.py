"""Errors in streams, drops, silences and waits: what each SDK makes of them, and what it was sent."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import fake_llm
from _capability import has, load, needs
from fake_llm import Disconnect, Error, Event, Reply, Stall

MESSAGES: Any = [{"role": "user", "content": "Hello"}]
CLAUDE: Any = {"model": "claude-sonnet-5", "max_tokens": 50, "messages": MESSAGES}
GPT: Any = {"model": "gpt-5", "messages": MESSAGES}

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of litellm's types, by pydantic
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated"),
]


def anthropic_client(**options: Any) -> Any:
    return load("anthropic").Anthropic(api_key="k", **options)


def openai_client(**options: Any) -> Any:
    return load("openai").OpenAI(api_key="k", **options)


def read(client: Any, said: list[str]) -> None:
    """Keep what a stream of Anthropic's SDK says, even of one that fails."""
    with client.messages.stream(**CLAUDE) as stream:
        said.extend(stream.text_stream)


async def read_by_pydantic_ai(said: list[str]) -> None:
    """The same by Pydantic AI."""
    agent = load("pydantic-ai-slim", "pydantic_ai").Agent("anthropic:claude-sonnet-5")
    async with agent.run_stream("Hello") as run:
        async for text in run.stream_text(delta=True, debounce_by=None):
            said.append(text)


def sent(fake: fake_llm.FakeLLM) -> bytes:
    """The body of the one answer."""
    (call,) = fake.calls
    assert call.response is not None
    return call.response.body


# --- B32: an error event in a stream that began well ------------------------------------------------

overloads = pytest.mark.parametrize("name", ["overloaded", "rate_limit"])


@needs("anthropic")
@overloads
@pytest.mark.parametrize("before", ["Hi", ""], ids=["after text", "first"])
def test_B32_an_error_event_has_status_200_and_is_not_tried_again(name: str, before: str) -> None:
    anthropic, said = load("anthropic"), list[str]()
    turn = Reply(*filter(None, [before]), then=Error(name, "Overloaded"))
    with fake_llm.intercept([turn]) as fake, pytest.raises(anthropic.APIStatusError) as caught:
        read(anthropic_client(max_retries=2), said)

    assert "".join(said) == before
    assert caught.value.status_code == 200
    assert caught.value.body["error"]["type"] == f"{name}_error"
    if has("anthropic>=1"):
        assert (type(caught.value), caught.value.type) == (anthropic.APIStatusError, f"{name}_error")
    assert b'event: error\ndata: {"type":"error","error":{' in sent(fake)


@needs("pydantic-ai-slim>=2.62", "anthropic>=2")
@pytest.mark.asyncio
async def test_B32_pydantic_ai_says_that_the_model_is_overloaded() -> None:
    exceptions, said = load("pydantic-ai-slim", "pydantic_ai.exceptions"), list[str]()
    async with fake_llm.intercept([Reply("Hi", then=Error("overloaded", "Overloaded"))]) as fake:
        with pytest.raises(exceptions.ModelHTTPError) as caught:
            await read_by_pydantic_ai(said)

    assert (type(caught.value).__name__, caught.value.status_code) == ("ModelOverloadedError", 529)
    assert said == ["Hi"]
    assert len(fake.calls) == 1


@needs("litellm>=1.110")
def test_B32_litellm_says_that_the_stream_broke() -> None:
    litellm, said = load("litellm"), list[str]()
    turn = Reply("Hi", then=Error("overloaded", "Overloaded"))
    asked = {**CLAUDE, "model": "anthropic/claude-sonnet-5", "stream": True}
    with fake_llm.intercept([turn]) as fake, pytest.raises(litellm.exceptions.MidStreamFallbackError) as caught:
        for chunk in litellm.completion(**asked):
            said.append(chunk.choices[0].delta.content or "")

    assert caught.value.generated_content == "".join(said) == "Hi"
    assert "Overloaded" in str(caught.value)
    assert len(fake.calls) == 1


# --- B33: a drop and a silence in the middle of a stream --------------------------------------------

BREAKS = {"drop": (Disconnect(), "RemoteProtocolError"), "silence": (Stall(), "ReadTimeout")}
breaks = pytest.mark.parametrize(("then", "kind"), BREAKS.values(), ids=BREAKS)


@needs("anthropic")
@breaks
def test_B33_a_break_comes_as_the_HTTP_librarys_own_error(then: Any, kind: str) -> None:
    anthropic, said = load("anthropic"), list[str]()
    library = importlib.import_module("httpx2" if has("anthropic>=1") else "httpx")
    with fake_llm.intercept([Reply(then=then)]) as fake, pytest.raises(getattr(library, kind)) as caught:
        read(anthropic_client(max_retries=2), said)

    assert not isinstance(caught.value, anthropic.APIError)
    assert said == []
    assert sent(fake).startswith(b"event: message_start\n")
    assert b"message_delta" not in sent(fake)


@needs("pydantic-ai-slim>=2.62", "anthropic>=2")
@breaks
@pytest.mark.asyncio
async def test_B33_pydantic_ai_says_that_there_is_no_connection(then: Any, kind: str) -> None:
    exceptions, said = load("pydantic-ai-slim", "pydantic_ai.exceptions"), list[str]()
    async with fake_llm.intercept([Reply("Hi", then=then)]) as fake:
        with pytest.raises(exceptions.ModelAPIError) as caught:
            await read_by_pydantic_ai(said)

    kinds = {"RemoteProtocolError": "ModelConnectionError", "ReadTimeout": "ModelTimeoutError"}
    assert type(caught.value).__name__ == kinds[kind]
    assert said == ["Hi"]
    assert len(fake.calls) == 1


# --- B35: a model that thinks longer than the client waits ------------------------------------------


def silent(events: list[Any]) -> list[Any]:
    """Six seconds pass after `message_start`."""
    return [events[0], Stall(6), *events[1:]]


def pinged(events: list[Any]) -> list[Any]:
    """So they do, with a sign of life every two."""
    return [events[0], *[Stall(2), {"type": "ping"}] * 2, Stall(2), *events[1:]]


@needs("anthropic")
def test_B35_a_silence_longer_than_the_read_time_out() -> None:
    library, said = importlib.import_module("httpx2" if has("anthropic>=1") else "httpx"), list[str]()
    with fake_llm.intercept([Reply("Hi", edit=silent)] * 2, virtual_time=True) as fake:
        with pytest.raises(library.ReadTimeout):
            read(anthropic_client(timeout=5), said)
        assert said == []
        read(anthropic_client(timeout=7), said)

    assert said == ["Hi"]
    assert [call.waited for call in fake.calls] == [5, 6]


@needs("anthropic")
def test_B35_pings_keep_the_stream_alive() -> None:
    said: list[str] = []
    with fake_llm.intercept([Reply("Hi", edit=pinged)], virtual_time=True) as fake:
        read(anthropic_client(timeout=5), said)

    assert said == ["Hi"]
    assert fake.calls[0].waited == 6
    assert sent(fake).count(b"event: ping\n") >= 2


@needs("openai")
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_B35_a_first_byte_later_than_the_time_out_is_the_SDKs_own_error(stream: bool) -> None:
    openai, turns = load("openai"), [Reply("Hi", delay=6)] * 2
    with fake_llm.intercept(turns, virtual_time=True) as fake, pytest.raises(openai.APITimeoutError):
        openai_client(timeout=5, max_retries=1).chat.completions.create(**GPT, stream=stream)

    assert [call.waited >= 5 for call in fake.calls] == [True, True]  # the first with the SDK's wait before the second


# --- B36: how long to wait before the next attempt --------------------------------------------------


@needs("openai")
@pytest.mark.parametrize(
    ("error", "least", "most"),
    [
        (Error(429, "slow", retry_after=1), 1, 1),
        (Error(429, "slow", headers={"retry-after": "0.05"}), 0.05, 0.05),
        (Error(429, "slow", headers={"retry-after-ms": "10"}), 0.01, 0.01),
        (Error(429, "slow", retry_after=0), 0.3, 0.6),  # no wait to its mind: it takes its own
        (Error(429, "slow"), 0.3, 0.6),
    ],
    ids=["1 s", "50 ms", "in ms", "0 s", "none"],
)
def test_B36_the_wait_that_the_server_asks_for_is_kept_not_slept(error: Error, least: float, most: float) -> None:
    with fake_llm.intercept([error, "ok"]) as fake:
        answer = openai_client(max_retries=2).chat.completions.create(**GPT)

    assert answer.choices[0].message.content == "ok"
    assert least <= fake.calls[0].waited <= most
    assert [call.headers["x-stainless-retry-count"] for call in fake.calls] == ["0", "1"]
    assert fake.calls[0].response is not None
    assert fake.calls[0].response.body.startswith(b"{")


@needs("openai")
def test_B36_a_server_may_forbid_another_attempt() -> None:
    openai, error = load("openai"), Error(429, headers={"x-should-retry": "false"})
    with fake_llm.intercept([error]) as fake, pytest.raises(openai.RateLimitError):
        openai_client(max_retries=2).chat.completions.create(**GPT)

    assert len(fake.calls) == 1


def ask_cohere() -> Any:
    return load("cohere").ClientV2("k").chat(model="command-a-03-2025", messages=MESSAGES)


def ask_mistral() -> Any:
    client = load("mistralai", "mistralai.client" if has("mistralai>=2") else "mistralai").Mistral(api_key="k")
    return client.chat.complete(model="mistral-small-latest", messages=MESSAGES)


def ask_genai() -> Any:
    client = load("google-genai", "google.genai").Client(api_key="k")
    return client.models.generate_content(model="gemini-2.5-flash", contents="Hello")


def ask_anthropic() -> Any:
    return anthropic_client().messages.create(**CLAUDE)


def ask_openai() -> Any:
    return openai_client().chat.completions.create(**GPT)


def ask_litellm(model: str) -> Any:
    return load("litellm").completion(model=model, messages=MESSAGES)


@pytest.mark.parametrize(
    ("ask", "attempts"),
    [
        pytest.param(ask_openai, 3, marks=needs("openai"), id="openai"),
        pytest.param(ask_anthropic, 3, marks=needs("anthropic"), id="anthropic"),
        pytest.param(ask_cohere, 3, marks=needs("cohere>=7"), id="cohere"),
        pytest.param(ask_mistral, 1, marks=needs("mistralai"), id="mistral"),
        pytest.param(ask_genai, 1, marks=needs("google-genai"), id="genai"),
        pytest.param(lambda: ask_litellm("openai/gpt-5"), 3, marks=needs("litellm>=1.110"), id="litellm-openai"),
        pytest.param(
            lambda: ask_litellm("anthropic/claude-sonnet-5"), 1, marks=needs("litellm>=1.110"), id="litellm-anthropic"
        ),
    ],
)
def test_B36_the_attempts_that_an_SDK_makes_by_itself(ask: Any, attempts: int) -> None:
    error = Error(429, retry_after=1)
    with fake_llm.intercept(default=error) as fake, pytest.raises(Exception, match=r"429|limit|EXHAUSTED"):
        ask()

    assert [call.waited for call in fake.calls] == [1] * (attempts - 1) + [0]
    assert [call.attempt for call in fake.calls] == [*range(1, attempts + 1)]


# --- B38: an error object in the middle of a chat stream --------------------------------------------

OWN = {"error": {"message": "Rate limit reached", "type": "rate_limit", "code": "429"}}


@needs("openai")
@pytest.mark.parametrize(
    "turn",
    [
        Reply("Hi", then=Error(429, body=OWN)),
        Reply("Hi", edit=lambda events: [*events[:-1], Event("error", OWN)]),
    ],
    ids=["data only", "named"],
)
def test_B38_an_error_object_in_a_stream_keeps_its_code(turn: Reply) -> None:
    openai, said = load("openai"), list[str]()
    with fake_llm.intercept([turn]) as fake, pytest.raises(openai.APIError) as caught:
        for chunk in openai_client(max_retries=2).chat.completions.create(**GPT, stream=True):
            said.append(chunk.choices[0].delta.content or "")

    assert "".join(said) == "Hi"
    assert (type(caught.value), caught.value.message, caught.value.code) == (
        openai.APIError,
        "Rate limit reached",
        "429",
    )
    assert not hasattr(caught.value, "status_code")
    assert b'data: {"error":{"message":"Rate limit reached","type":"rate_limit","code":"429"}}\n\n' in sent(fake)
