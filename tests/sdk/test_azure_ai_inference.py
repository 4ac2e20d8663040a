"""What azure-ai-inference asks of Azure's catalogue of models, sync and async."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Embedding, Error, FakeLLM, Reply, Usage

inference = load("azure-ai-inference", "azure.ai.inference")
pytestmark = needs("aiohttp")

FOUNDRY = "https://my-resource.services.ai.azure.com/models"
ALONE = "https://phi-4-abcde.eastus2.models.ai.azure.com"
ASKED = [{"role": "user", "content": "Hi"}]


def key() -> Any:
    from azure.core.credentials import AzureKeyCredential

    return AzureKeyCredential("secret-of-mine")


class Async:
    """The async clients, called as if they blocked."""

    def __init__(self, kind: str, url: str, **options: Any) -> None:
        from azure.ai.inference import aio

        self.made = lambda: getattr(aio, kind)(url, key(), **options)

    def __getattr__(self, name: str) -> Any:
        def call(**options: Any) -> Any:
            async def on_loop() -> Any:
                async with self.made() as client:
                    return await getattr(client, name)(**options)

            return asyncio.run(on_loop())

        return call


@pytest.fixture(params=["sync", "async"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes a client of a kind at a place."""
    with ExitStack() as opened:

        def make(kind: str, url: str, **options: Any) -> Any:
            if request.param == "async":
                return Async(kind, url, **options)
            return opened.enter_context(getattr(inference, kind)(url, key(), **options))

        yield make


@fake_llm.intercept(["Hello!"])
def test_extra_parameters_are_seen_and_the_key_is_not(client: Any, fake: FakeLLM) -> None:
    chat = client("ChatCompletionsClient", FOUNDRY)

    answer = chat.complete(model="phi-4", messages=ASKED, model_extras={"safe_mode": True})

    assert answer.choices[0].message.content == "Hello!"
    assert answer.usage.total_tokens == fake.usage.total
    call = fake.calls[0]
    assert call.body["safe_mode"] is True
    assert call.headers["extra-parameters"] == "pass-through"
    assert "secret-of-mine" not in str(call.headers.items())


@pytest.mark.parametrize("stream", [False, True])
def test_a_model_that_is_deployed_by_itself_need_not_be_named(stream: bool) -> None:
    with (
        fake_llm.intercept([Reply("Hello!", usage=Usage(3, 2))]) as fake,
        inference.ChatCompletionsClient(ALONE, key()) as client,
    ):
        heard = client.complete(messages=ASKED, stream=stream)
        answers = list(heard) if stream else [heard]

    assert {answer.model for answer in answers} == {"phi-4-abcde"}
    assert fake.calls[0].url.startswith(f"{ALONE}/chat/completions?")


def test_elsewhere_it_must_be(client: Any) -> None:
    from azure.core.exceptions import HttpResponseError

    with fake_llm.intercept() as fake:
        with pytest.raises(HttpResponseError, match="you must provide a model parameter") as caught:
            client("ChatCompletionsClient", FOUNDRY).complete(messages=ASKED)
        assert caught.value.status_code == 400
        assert len(fake.calls) == 1


def test_the_code_of_an_error_is_the_sdks_own(client: Any) -> None:
    from azure.core.exceptions import HttpResponseError

    with fake_llm.intercept([Error("content_filter")]), pytest.raises(HttpResponseError) as caught:
        client("ChatCompletionsClient", FOUNDRY).complete(model="phi-4", messages=ASKED)
    assert caught.value.error.code == "content_filter"
    assert caught.value.error.innererror["code"] == "ResponsibleAIPolicyViolation"


def test_a_rate_limit_is_waited_for_only_where_it_says_how_long(client: Any) -> None:
    with fake_llm.intercept([Error(429, retry_after=7), Error(503), "ok"]) as fake:
        answer = client("ChatCompletionsClient", FOUNDRY).complete(model="phi-4", messages=ASKED)
    assert answer.choices[0].message.content == "ok"
    assert [call.attempt for call in fake.calls] == [1, 2, 3]
    assert fake.calls[0].waited == 7


def test_embeddings(client: Any) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply([Embedding([0.5, -0.25]), Embedding([1.0, 0.0])])
        result = client("EmbeddingsClient", FOUNDRY).embed(model="embed-v4", input=["a", "b"])
    assert [item.embedding for item in result.data] == [[0.5, -0.25], [1.0, 0.0]]
    assert [item.index for item in result.data] == [0, 1]
    assert result.usage.prompt_tokens == fake.calls[0].usage.input_tokens


def test_embeddings_in_base64(client: Any) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Embedding([0.5, -0.25]))
        result = client("EmbeddingsClient", FOUNDRY).embed(model="embed-v4", input=["a"], encoding_format="base64")
    assert base64.b64decode(result.data[0].embedding) == b"\x00\x00\x00\x3f\x00\x00\x80\xbe"


@pytest.mark.parametrize(("url", "name"), [(ALONE, "phi-4-abcde"), (FOUNDRY, "my-resource")])
def test_what_is_deployed_can_be_looked_up(client: Any, url: str, name: str) -> None:
    with fake_llm.intercept() as fake:
        info = client("ChatCompletionsClient", url).get_model_info()
    assert SimpleNamespace(**info.as_dict()) == SimpleNamespace(
        model_name=name, model_type="chat_completion", model_provider_name="fake_llm"
    )
    assert not fake.calls
    assert fake.side_calls[0].operation == "models"
