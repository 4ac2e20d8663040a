"""What SDKs sleep before they try again takes no time: none of it is really slept, all of it is told.

One list over every SDK. Those of vendors that aren't answered yet get their answer by a rule for any operation.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

import fake_llm
from _capability import has, needs
from fake_llm import Error, Raw, _backoff
from fake_llm._stacks import STACKS

pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class")  # of litellm's types, by pydantic
ASKED: Any = [{"role": "user", "content": "Hi"}]
ANY = re.compile("")


@dataclass(frozen=True, slots=True)
class Loop:
    """An SDK's own loop of retries.

    Attributes:
        requirement: What must be installed.
        ask: One call; a coroutine function for an async client.
        answer: What ends it well.
        waits: How often it sleeps between three attempts.
        told: What it waits where an answer says 3 seconds, and where it says 1.5; `None` for one that doesn't look.
    """

    name: str
    requirement: str
    ask: Callable[[], Any]
    answer: Any = "Hello"
    waits: int = 2
    told: tuple[float, float] | None = (3, 1.5)

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.ask)

    def run(self) -> Any:
        return asyncio.run(self.ask()) if self.is_async else self.ask()


def chat(
    module: str, kinds: tuple[str, str], model: str, path: str = "chat.completions.create", **options: Any
) -> Iterator[Any]:
    """A sync and an async client with OpenAI's names."""

    def call(client: Any) -> Any:
        for name in path.split("."):
            client = getattr(client, name)
        return client(model=model, messages=ASKED, **options)

    def blocking() -> Any:
        return call(getattr(importlib.import_module(module), kinds[0])())

    async def on_loop() -> Any:
        async with getattr(importlib.import_module(module), kinds[1])() as client:
            return await call(client)

    yield blocking
    yield on_loop


def genai_sync() -> Any:
    client = genai_client()  # it closes itself when nobody holds it
    return client.models.generate_content(model="gemini-2.5-flash", contents="Hi")


async def genai_async() -> Any:
    client = genai_client()
    return await client.aio.models.generate_content(model="gemini-2.5-flash", contents="Hi")


def genai_client() -> Any:
    from google import genai

    return genai.Client(http_options={"retry_options": {"attempts": 3, "initial_delay": 1.0}})


def boto3_in(mode: str) -> Callable[[], Any]:
    def ask() -> Any:
        import boto3
        from botocore.config import Config

        retries: Any = {"mode": mode, "total_max_attempts": 4}
        config = Config(retries=retries)
        client = boto3.session.Session().client("bedrock-runtime", config=config)
        return client.converse(
            modelId="amazon.nova-lite-v1:0", messages=[{"role": "user", "content": [{"text": "Hi"}]}]
        )

    return ask


def zai() -> Any:
    from zai import ZaiClient

    return ZaiClient().chat.completions.create(model="glm-5", messages=ASKED)


LITELLM: dict[str, Any] = {"model": "anthropic/claude-sonnet-4-6", "messages": ASKED, "num_retries": 3}
LITELLM["retry_strategy"] = "exponential_backoff_retry"  # without it, it tries again at once


def litellm_sync() -> Any:
    return importlib.import_module("litellm").completion(**LITELLM)


async def litellm_async() -> Any:
    return await importlib.import_module("litellm").acompletion(**LITELLM)


def litellm_router() -> Any:
    model = {"model_name": "m", "litellm_params": {"model": "anthropic/claude-sonnet-4-6"}}
    router = importlib.import_module("litellm").Router([model], num_retries=3, retry_after=1)
    return router.completion(model="m", messages=ASKED)


def mistral_client() -> Any:
    from mistralai.client import Mistral
    from mistralai.client.utils import BackoffStrategy, RetryConfig

    return Mistral(api_key="x", retry_config=RetryConfig("backoff", BackoffStrategy(500, 60_000, 1.5, 600_000), True))


def mistral_sync() -> Any:
    return mistral_client().chat.complete(model="mistral-small-latest", messages=ASKED)


async def mistral_async() -> Any:
    async with mistral_client() as client:
        return await client.chat.complete_async(model="mistral-small-latest", messages=ASKED)


def openrouter_sync() -> Any:
    from openrouter import OpenRouter

    with OpenRouter(api_key="x") as client:
        return client.chat.send(model="openai/gpt-5", messages=ASKED)


async def openrouter_async() -> Any:
    from openrouter import OpenRouter

    async with OpenRouter(api_key="x") as client:
        return await client.chat.send_async(model="openai/gpt-5", messages=ASKED)


def cohere_sync() -> Any:
    import cohere

    return cohere.ClientV2("x").chat(model="command-a-03-2025", messages=ASKED)


async def cohere_async() -> Any:
    import cohere

    async with cohere.AsyncClientV2("x") as client:
        return await client.chat(model="command-a-03-2025", messages=ASKED)


def replicate_sync() -> Any:
    import replicate

    return replicate.Client("x").hardware.list()


async def replicate_async() -> Any:
    import replicate

    return await replicate.Client("x").hardware.async_list()


def voyage_sync() -> Any:
    import voyageai

    return voyageai.Client("x", max_retries=3).embed(["Hi"], model="voyage-3.5")


async def voyage_async() -> Any:
    import voyageai

    return await voyageai.AsyncClient("x", max_retries=3).embed(["Hi"], model="voyage-3.5")


def ai21_sync() -> Any:
    from ai21 import AI21Client
    from ai21.models.chat import UserMessage

    return AI21Client(num_retries=3).chat.completions.create(model="jamba-large", messages=[UserMessage(content="Hi")])


async def ai21_async() -> Any:
    from ai21 import AsyncAI21Client
    from ai21.models.chat import UserMessage

    return await AsyncAI21Client(num_retries=3).chat.completions.create(
        model="jamba-large", messages=[UserMessage(content="Hi")]
    )


def azure_sync() -> Any:
    from azure.ai.inference import ChatCompletionsClient
    from azure.core.credentials import AzureKeyCredential

    with ChatCompletionsClient("https://r.services.ai.azure.com/models", AzureKeyCredential("x")) as client:
        return client.complete(model="phi-4", messages=ASKED)


async def azure_async() -> Any:
    from azure.ai.inference.aio import ChatCompletionsClient
    from azure.core.credentials import AzureKeyCredential

    async with ChatCompletionsClient("https://r.services.ai.azure.com/models", AzureKeyCredential("x")) as client:
        return await client.complete(model="phi-4", messages=ASKED)


def watsonx_model() -> Any:
    from ibm_watsonx_ai import APIClient, Credentials
    from ibm_watsonx_ai.foundation_models import ModelInference

    credentials = Credentials(url="https://us-south.ml.cloud.ibm.com", api_key="x")
    return ModelInference(
        model_id="ibm/granite-4-h-small", api_client=APIClient(credentials, project_id="p"), validate=False
    )


def watsonx_sync() -> Any:
    return watsonx_model().chat(messages=ASKED)


async def watsonx_async() -> Any:
    return await watsonx_model().achat(messages=ASKED)


def hub() -> Any:
    from huggingface_hub.utils import http_backoff

    asked = {"model": "openai/gpt-oss-20b", "messages": ASKED}
    return http_backoff("POST", "https://router.huggingface.co/v1/chat/completions", json=asked)


COHERE = Raw(
    {
        "id": "1",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
    }
)
VOYAGE = Raw(
    {
        "object": "list",
        "data": [{"object": "embedding", "embedding": [0.1], "index": 0}],
        "model": "voyage-3.5",
        "usage": {"total_tokens": 1},
    }
)
REPLICATE = Raw("[]")


def pair(name: str, requirement: str, asks: Any, answer: Any = "Hello", **options: Any) -> Iterator[Loop]:
    for way, ask in zip(("sync", "async"), asks, strict=True):
        yield Loop(f"{name} {way}", requirement, ask, answer, **options)


ROUNDED = (3, 2)
"""Of SDKs that know whole seconds only."""

LOOPS: tuple[Loop, ...] = (
    *pair("openai", "openai", chat("openai", ("OpenAI", "AsyncOpenAI"), "gpt-5")),
    *pair(
        "anthropic",
        "anthropic",
        chat("anthropic", ("Anthropic", "AsyncAnthropic"), "claude-sonnet-4-6", "messages.create", max_tokens=9),
    ),
    *pair("groq", "groq", chat("groq", ("Groq", "AsyncGroq"), "openai/gpt-oss-20b")),
    *pair("cerebras", "cerebras-cloud-sdk", chat("cerebras.cloud.sdk", ("Cerebras", "AsyncCerebras"), "gpt-oss-120b")),
    *pair("together", "together>=2", chat("together", ("Together", "AsyncTogether"), "openai/gpt-oss-120b")),
    *pair("fireworks", "fireworks-ai>=1", chat("fireworks", ("Fireworks", "AsyncFireworks"), "gpt-oss-120b")),
    *pair("writer", "writer-sdk", chat("writerai", ("Writer", "AsyncWriter"), "palmyra-x5", "chat.chat")),
    *pair("cohere", "cohere>=7", (cohere_sync, cohere_async), COHERE),
    Loop("zai", "zai-sdk", zai, told=None),
    *pair("google-genai", "google-genai>=2", (genai_sync, genai_async), told=None),
    Loop("botocore legacy", "boto3>=1.44", boto3_in("legacy"), told=None),
    Loop("botocore standard", "boto3>=1.44", boto3_in("standard")),
    Loop("litellm sync", "litellm", litellm_sync, waits=1, told=None),  # its second attempt is the first of tenacity's
    Loop("litellm async", "litellm", litellm_async, waits=0, told=None),
    Loop("litellm's router", "litellm>=1.110", litellm_router, told=None),
    *pair("mistralai", "mistralai>=3", (mistral_sync, mistral_async)),
    *pair("replicate", "replicate", (replicate_sync, replicate_async), REPLICATE, told=ROUNDED),
    *pair("openrouter", "openrouter", (openrouter_sync, openrouter_async)),
    Loop("huggingface_hub", "huggingface_hub>=2", hub, told=(4, 3)),
    *pair("voyageai", "voyageai", (voyage_sync, voyage_async), VOYAGE, told=None),
    # its first retry is at once
    Loop("azure-ai-inference sync", "azure-ai-inference", azure_sync, waits=1, told=ROUNDED),
    Loop("azure-ai-inference async", "azure-ai-inference", azure_async, waits=1, told=ROUNDED),
    *pair("ibm-watsonx-ai", "ibm-watsonx-ai", (watsonx_sync, watsonx_async), told=None),
    *pair("ai21", "ai21>=4", (ai21_sync, ai21_async), told=None),
)

loops = pytest.mark.parametrize(
    "loop", [pytest.param(loop, id=loop.name.replace(" ", "_"), marks=needs(loop.requirement)) for loop in LOOPS]
)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that are really asked for, of any module that sleeps; none of them passes."""
    for library, stack in STACKS.items():  # which keep the real ones, for scripted delays
        with contextlib.suppress(ImportError):
            importlib.import_module(library)
            importlib.import_module(f"fake_llm._stacks.{stack}")
    asked: list[float] = []

    def sleep(seconds: float) -> None:
        asked.append(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    for name in ("asyncio", "anyio", "trio"):
        if has(name) or name == "asyncio":
            module = importlib.import_module(name)

            async def sleep_on_loop(seconds: float, *_: Any, original: Any = module.sleep) -> None:
                asked.append(seconds)
                await original(0)

            monkeypatch.setattr(module, "sleep", sleep_on_loop)
    return asked


def fails_twice(loop: Loop, **options: Any) -> Any:
    with fake_llm.intercept(**options) as fake:
        fake.when(operation=ANY).reply(Error(503), Error(503), loop.answer)
        loop.run()
    return fake


def made(fake: Any) -> Any:
    """The calls; those of a vendor that isn't answered yet are aside."""
    return fake.calls or fake.side_calls


@loops
def test_what_an_sdk_sleeps_takes_no_time_and_is_told(loop: Loop, slept: list[float]) -> None:
    fake = fails_twice(loop)
    calls = made(fake)

    assert [seconds for seconds in slept if seconds > 0] == []
    assert len(calls) == 3
    assert [call.waited > 0 for call in calls] == [loop.waits > 1, loop.waits > 0, False]
    transcript = str(fake.transcript())
    assert all(f"waited {call.waited:g} s" in transcript for call in calls if call.waited)


@loops
def test_it_is_really_asked_for_without_the_option(loop: Loop, slept: list[float]) -> None:
    fake = fails_twice(loop, skip_backoff=False)

    assert len([seconds for seconds in slept if seconds > 0]) == loop.waits
    assert [call.waited for call in made(fake)] == [0, 0, 0]


@loops
def test_the_attempts_of_a_call_are_one_group(loop: Loop, slept: list[float]) -> None:
    fake = fails_twice(loop)
    calls = made(fake)

    assert [call.attempt for call in calls] == [1, 2, 3]
    assert [len(group) for group in calls.grouped()] == [3]


@loops
def test_one_error_is_the_end_of_every_loop(loop: Loop, slept: list[float]) -> None:
    """Also of one that goes on for as long as the clock says: what was left out has passed for it."""
    with fake_llm.intercept() as fake:
        fake.when(operation=ANY, times=1).reply(Error(503))
        with pytest.raises(Exception) as caught:
            loop.run()

    assert not isinstance(caught.value, fake_llm.FakeLLMFailure), caught.value
    assert fake.failures == []
    calls = made(fake)
    assert [call.attempt for call in calls] == list(range(1, len(calls) + 1))
    assert [len(group) for group in calls.grouped()] == [len(calls)]
    assert 1 < len(calls) < 200
    assert [seconds for seconds in slept if seconds > 0] == []


@loops
def test_what_an_answer_says_to_wait_is_what_an_sdk_that_looks_waits(loop: Loop, slept: list[float]) -> None:
    waited = []
    for seconds in (3, 1.5):
        with fake_llm.intercept() as fake:
            fake.when(operation=ANY).reply(Error(503, retry_after=seconds), loop.answer)
            loop.run()
        waited.append(made(fake)[0].waited)

    if loop.told is None:
        assert 3 not in waited
    else:
        assert waited == list(loop.told)


# --- many at once -------------------------------------------------------------------------------


@loops
def test_calls_with_equal_bodies_at_once_keep_their_attempts(loop: Loop, slept: list[float]) -> None:
    """Each gets two errors; whose are whose is known by the task, or the thread, that asks."""

    def decide(call: Any) -> Any:
        return loop.answer if call.attempt > 2 else Error(503)

    async def gathered() -> None:
        await asyncio.gather(*(loop.ask() for _ in range(4)))

    with fake_llm.intercept() as fake:
        fake.when(operation=ANY).reply(decide)
        if loop.is_async:
            asyncio.run(gathered())
        else:
            with ThreadPoolExecutor(4) as pool:
                for done in [pool.submit(loop.ask) for _ in range(4)]:
                    done.result()

    groups = made(fake).grouped()
    assert [[call.attempt for call in group] for group in groups] == [[1, 2, 3]] * 4
    assert all(len({call._origin for call in group}) == 1 for group in groups)
    assert [seconds for seconds in slept if seconds > 0] == []


ON_TRIO = [loop for loop in LOOPS if loop.is_async and loop.name.split()[0] in {"openai", "anthropic", "groq"}]


@needs("trio")
@pytest.mark.parametrize("loop", [pytest.param(loop, id=loop.name, marks=needs(loop.requirement)) for loop in ON_TRIO])
def test_on_trio(loop: Loop, slept: list[float]) -> None:
    import trio

    with fake_llm.intercept([Error(503), Error(503), "Hello"]) as fake:
        trio.run(loop.ask)

    assert [seconds for seconds in slept if seconds > 0] == []
    assert [call.waited > 0 for call in fake.calls] == [True, True, False]


# --- nothing else -------------------------------------------------------------------------------


@needs("openai")
def test_the_sleeps_of_the_users_own_code_are_never_touched(slept: list[float]) -> None:
    import openai

    with fake_llm.intercept([Error(503), "Hello"]):
        with pytest.raises(openai.InternalServerError):
            openai.OpenAI(max_retries=0).responses.create(model="gpt-5", input="Hi")
        time.sleep(7)
        openai.OpenAI(max_retries=0).responses.create(model="gpt-5", input="Hi")

    assert slept == [7]


@needs("tenacity")
@needs("openai")
def test_tenacity_around_a_call_of_the_users_own_sleeps(slept: list[float]) -> None:
    import openai
    import tenacity

    def ask() -> Any:
        return openai.OpenAI(max_retries=0).responses.create(model="gpt-5", input="Hi")

    retrying = tenacity.Retrying(wait=tenacity.wait_fixed(5), stop=tenacity.stop_after_attempt(2))
    with fake_llm.intercept([Error(503), "Hello", Error(503), "Hello"]):
        retrying(ask)
        for attempt in retrying:
            with attempt:
                ask()

    assert slept == [5, 5]


@needs("openai")
def test_the_sleeps_for_another_host_are_never_touched(slept: list[float]) -> None:
    """Nor after a call to a model has failed in the same thread."""
    import openai

    here = openai.OpenAI(api_key="x", max_retries=0)
    elsewhere = openai.OpenAI(api_key="x", base_url="http://127.0.0.1:1/v1", max_retries=2)
    with fake_llm.intercept([Error(503)]):
        with pytest.raises(openai.InternalServerError):
            here.responses.create(model="gpt-5", input="Hi")
        with pytest.raises(openai.APIConnectionError):
            elsewhere.responses.create(model="gpt-5", input="Hi")

    assert len(slept) == 2
    assert all(seconds > 0 for seconds in slept)


@needs("openai")
def test_a_place_that_has_moved_is_told_and_sleeps(slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    import openai
    import openai._base_client as moved

    class Elsewhere:
        pause = staticmethod(time.sleep)

    monkeypatch.setattr(moved, "time", Elsewhere)
    with pytest.warns(RuntimeWarning, match=r"openai\._base_client has no time\.sleep any more"), fake_llm.intercept():
        pass
    assert moved.time is Elsewhere
    assert openai is sys.modules["openai"]


@pytest.mark.parametrize("name", _backoff.SLEEPS)
def test_every_place_is_where_it_is_said_to_be(name: str) -> None:
    """Of what is installed; a module of an older or a newer version may be missing."""
    try:
        module = importlib.import_module(name)
    except (ImportError, TypeError):
        pytest.skip("needs an SDK with this module")
    if not hasattr(module, _backoff.SINCE.get(name, "__name__")):
        pytest.skip("needs an SDK with this module as it is since it sleeps")
    for each in _backoff.SLEEPS[name]:
        assert callable(getattr(module, each).sleep)


def test_after_the_block_nothing_is_left_of_it() -> None:
    before = {name: getattr(sys.modules[name], "time", None) for name in _backoff.SLEEPS if name in sys.modules}
    with fake_llm.intercept():
        pass
    assert {name: getattr(sys.modules[name], "time", None) for name in before} == before


@needs("google-genai>=1.50", "aiohttp")
def test_on_aiohttp_google_asks_again_by_itself() -> None:
    """Once, where no connection comes about, after 1 to 10 seconds, whatever it is told of retries."""
    with fake_llm.intercept([ConnectionError(), "Hello"]) as fake:
        assert asyncio.run(genai_async()).text == "Hello"
        assert 1 <= fake.calls[0].waited <= 10
