"""Embeddings through every SDK that has them: made up, pinned, scripted, refused; and what the journal shows."""

from __future__ import annotations

import array
import asyncio
import base64
import contextlib
import importlib
import json
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import has, needs
from fake_llm import Embedding, Error, FakeLLM, Raw, Reply, ScriptMismatchError, ToolCall, UnusedReplyError, Usage
from fake_llm._vectors import vector

Vectors = list[list[float]]
Ask = Callable[..., Vectors]
TEXTS = ["The weather in Paris", "How do I get a refund?", "Ein Gedicht über 猫"]
SMALL, GEMINI = "text-embedding-3-small", "gemini-embedding-001"
OPENAI_URL = "https://api.openai.com/v1/embeddings"
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001"


def _read(answer: Any) -> Vectors:
    assert [item.index for item in answer.data] == list(range(len(answer.data)))
    return [list(item.embedding) for item in answer.data]


def _openai(name: str, asynchronous: bool, **options: Any) -> Ask:
    def ask(texts: Any, dimensions: int | None = None, **more: Any) -> Vectors:
        import openai

        more = {"model": SMALL, "input": texts, **({"dimensions": dimensions} if dimensions else {}), **more}
        strict = more.get("encoding_format") == "float"  # its own base64 doesn't pass the SDK's strict validation
        if not asynchronous:
            with getattr(openai, name)(max_retries=0, _strict_response_validation=strict, **options) as client:
                return _read(client.embeddings.create(**more))

        async def embed() -> Vectors:
            async with getattr(openai, f"Async{name}")(
                max_retries=0, _strict_response_validation=strict, **options
            ) as client:
                return _read(await client.embeddings.create(**more))

        return asyncio.run(embed())

    return ask


def _google(asynchronous: bool, version: str | None = None) -> Ask:
    def ask(texts: Any, dimensions: int | None = None, **more: Any) -> Vectors:
        from google import genai

        client = genai.Client(http_options={"api_version": version} if version else None)
        more = {"model": GEMINI, **more}
        config = {"output_dimensionality": dimensions} if dimensions else None
        if not asynchronous:
            return [
                item.values for item in client.models.embed_content(contents=texts, config=config, **more).embeddings
            ]

        async def embed() -> Vectors:
            answer = await client.aio.models.embed_content(contents=texts, config=config, **more)
            return [item.values for item in answer.embeddings]

        return asyncio.run(embed())

    return ask


def _groq(texts: Any, dimensions: int | None = None, **more: Any) -> Vectors:
    import groq

    extra = {"dimensions": dimensions} if dimensions else None
    with groq.Groq(max_retries=0) as client:
        return _read(client.embeddings.create(model="nomic-embed-text-v1_5", input=texts, extra_body=extra, **more))


def _mistral(asynchronous: bool) -> Ask:
    def ask(texts: Any, dimensions: int | None = None, **more: Any) -> Vectors:
        sdk = importlib.import_module("mistralai.client" if has("mistralai>=2") else "mistralai")
        client = sdk.Mistral()
        asked = {"model": "mistral-embed", "inputs": texts, "output_dimension": dimensions, **more}
        if not asynchronous:
            return _read(client.embeddings.create(**asked))
        return _read(asyncio.run(client.embeddings.create_async(**asked)))

    return ask


def _post(texts: Any, dimensions: int | None = None, **more: Any) -> Vectors:
    body = {"model": SMALL, "input": texts, **({"dimensions": dimensions} if dimensions else {}), **more}
    answer = httpx.post(OPENAI_URL, json=body, verify=False)
    answer.raise_for_status()
    return [item["embedding"] for item in answer.json()["data"]]


def _content(texts: Any, dimensions: int | None = None) -> Vectors:
    one = {"outputDimensionality": dimensions} if dimensions else {}
    found: Vectors = []
    for text in [texts] if isinstance(texts, str) else texts:
        body = {"content": {"parts": [{"text": text}]}, **one}
        answer = httpx.post(f"{GEMINI_URL}:embedContent", json=body, verify=False)
        answer.raise_for_status()
        found.append(answer.json()["embedding"]["values"])
    return found


def _ollama(is_async: bool) -> Ask:
    def ask(texts: Any, model: str = "mxbai-embed-large", **options: Any) -> Vectors:
        import asyncio

        import ollama

        if is_async:
            return [list(one) for one in asyncio.run(ollama.AsyncClient().embed(model, texts, **options)).embeddings]
        return [list(one) for one in ollama.Client().embed(model, texts, **options).embeddings]

    return ask


AZURE = {"azure_endpoint": "https://x.openai.azure.com", "api_version": "2024-10-21", "api_key": "k"}
WAYS: dict[str, tuple[str, Ask, int]] = {
    "openai": ("openai", _openai("OpenAI", False), 1536),
    "openai async": ("openai", _openai("OpenAI", True), 1536),
    "azure": ("openai", _openai("AzureOpenAI", False, **AZURE), 1536),
    "azure async": ("openai", _openai("AzureOpenAI", True, **AZURE), 1536),
    "together": ("openai", _openai("OpenAI", False, base_url="https://api.together.xyz/v1", api_key="k"), 1536),
    "ollama": ("openai", _openai("OpenAI", False, base_url="http://localhost:11434/v1", api_key="k"), 1536),
    "google": ("google-genai", _google(False), 3072),
    "google async": ("google-genai", _google(True), 3072),
    "google v1": ("google-genai", _google(False, "v1"), 3072),
    "google v1beta": ("google-genai", _google(False, "v1beta"), 3072),
    "groq": ("groq", _groq, 768),
    "mistral": ("mistralai", _mistral(False), 1024),
    "mistral async": ("mistralai", _mistral(True), 1024),
    "ollama's own": ("ollama", _ollama(False), 1024),
    "ollama's own async": ("ollama", _ollama(True), 1024),
    "post": ("httpx", _post, 1536),
    "embedContent": ("httpx", _content, 3072),
}
ways = pytest.mark.parametrize(
    ("ask", "size"),
    [pytest.param(ask, size, id=name, marks=needs(sdk)) for name, (sdk, ask, size) in WAYS.items()],
)
batches = pytest.mark.parametrize(
    "ask",
    [pytest.param(ask, id=name, marks=needs(sdk)) for name, (sdk, ask, _) in WAYS.items() if name != "embedContent"],
)
embed = WAYS["post"][1]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


# --- made up -----------------------------------------------------------------------------------------------------------


@ways
def test_every_text_has_its_vector(ask: Ask, size: int) -> None:
    with fake_llm.intercept() as fake:
        found = ask(TEXTS)
    assert found == [vector(text, size) for text in TEXTS]
    assert [math.sqrt(cosine(one, one)) for one in found] == pytest.approx([1, 1, 1], abs=1e-6)
    assert [call.operation for call in fake.calls] == ["embeddings"] * len(fake.calls)
    assert [text for call in fake.calls for text in call.user_texts] == TEXTS


@ways
def test_one_text(ask: Ask, size: int) -> None:
    with fake_llm.intercept() as fake:
        assert ask("Hello") == [vector("Hello", size)]
    assert fake.calls[0].last_user_text == "Hello"


@ways
def test_the_size_that_is_asked_for(ask: Ask, size: int) -> None:
    with fake_llm.intercept() as fake:
        whole, cut = ask("Hello there"), ask("Hello there", dimensions=256)
    head = whole[0][:256]
    length = math.sqrt(cosine(head, head))
    assert cut[0] == pytest.approx([number / length for number in head], abs=1e-5)
    assert fake.calls[1].params["dimensions"] == 256


@needs("openai", "google-genai")
def test_vendors_agree_on_a_text() -> None:
    with fake_llm.intercept():
        openai_large = WAYS["openai"][1]("Hello", model="text-embedding-3-large")
        assert openai_large == WAYS["google"][1]("Hello")


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
@pytest.mark.parametrize("way", ["openai", "openai async", "azure", "azure async", "together", "ollama"])
@needs("openai")
def test_encodings_say_the_same(way: str, encoding: str | None) -> None:
    with fake_llm.intercept() as fake:
        found = WAYS[way][1](TEXTS, **({"encoding_format": encoding} if encoding else {}))
        sent = json.loads(fake.calls[0].response.body)["data"][0]["embedding"]  # type: ignore[union-attr]
    if encoding == "base64":  # asked for outright, the SDK gives it as it is
        found = [list(struct.unpack("<1536f", base64.b64decode("".join(one)))) for one in found]  # type: ignore[arg-type]
    assert found == [vector(text, 1536) for text in TEXTS]
    assert isinstance(sent, list) is (encoding == "float")  # the SDK asks for base64 unless told otherwise


def test_base64_is_little_endian_in_32_bits() -> None:
    with fake_llm.intercept():
        (text,) = _post("Hello", encoding_format="base64")
    raw = base64.b64decode(text)  # type: ignore[arg-type]
    assert list(struct.unpack("<1536f", raw)) == vector("Hello", 1536)


@pytest.mark.parametrize(
    ("given", "items"),
    [
        ([9906, 1917], [[9906, 1917]]),
        ([[9906, 1917], [17]], [[9906, 1917], [17]]),
        (["a", "b"], ["a", "b"]),
        (" ", [" "]),
    ],
)
@pytest.mark.parametrize("ask", [pytest.param(WAYS["openai"][1], marks=needs("openai")), _post], ids=["openai", "post"])
def test_token_ids_are_inputs_too(ask: Ask, given: Any, items: list[Any]) -> None:
    with fake_llm.intercept() as fake:
        assert ask(given) == [vector(item, 1536) for item in items]
    texts = [item if isinstance(item, str) else "" for item in items]
    assert list(fake.calls[0].user_texts) == texts
    assert fake.calls[0].last_user_text == (items[-1] if isinstance(items[-1], str) else "[tokens]")
    assert fake.usage.input_tokens == sum(len(item) if isinstance(item, list) else 1 for item in items)


@pytest.mark.parametrize(
    ("model", "size"),
    [("text-embedding-3-large", 3072), ("text-embedding-ada-002", 1536), ("nomic-embed-text", 768), ("ours", 1536)],
)
def test_each_model_has_its_size(model: str, size: int) -> None:
    with fake_llm.intercept() as fake:
        assert [len(one) for one in embed("Hello", model=model)] == [size]
    assert fake.calls[0].model == model


def test_the_deployment_is_the_model() -> None:
    url = "https://x.openai.azure.com/openai/deployments/text-embedding-3-large/embeddings?api-version=2024-10-21"
    with fake_llm.intercept() as fake:
        answer = httpx.post(url, json={"input": "Hello"}, verify=False).json()
    assert len(answer["data"][0]["embedding"]) == 3072
    assert answer["model"] == fake.calls[0].model == "text-embedding-3-large"
    assert fake.calls[0].provider == "azure"


def test_a_model_that_answers_under_another_name() -> None:
    with fake_llm.intercept():
        answer = httpx.post(OPENAI_URL, json={"model": "text-embedding-ada-002", "input": "a"}, verify=False).json()
    assert answer["model"] == "text-embedding-ada-002-v2"


HOSTS = {
    "azure": "https://x.services.ai.azure.com/openai/v1",
    "azure models": "https://x.services.ai.azure.com/models",
    "cloudflare": "https://gateway.ai.cloudflare.com/v1/a/g/openai",
    "cloudflare workers": "https://api.cloudflare.com/client/v4/accounts/a/ai/v1",
    "copilot": "https://api.githubcopilot.com",
    "dashscope": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "fireworks": "https://api.fireworks.ai/inference/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "github": "https://models.github.ai/inference",
    "groq": "https://api.groq.com/openai/v1",
    "huggingface": "https://x.us-east-1.aws.endpoints.huggingface.cloud/v1",
    "nvidia": "https://integrate.api.nvidia.com/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "perplexity": "https://api.perplexity.ai/v1",
    "sambanova": "https://api.sambanova.ai/v1",
    "together": "https://api.together.ai/v1",
    "vercel": "https://ai-gateway.vercel.sh/v1",
    "zai": "https://open.bigmodel.cn/api/paas/v4",
}


@pytest.mark.parametrize("host", HOSTS)
@needs("openai")
def test_hosts_that_speak_openai_s_language(host: str) -> None:
    import openai

    ask = _openai("OpenAI", False, base_url=HOSTS[host], api_key="k")
    with fake_llm.intercept() as fake:
        assert ask(TEXTS) == [vector(text, 1536) for text in TEXTS]
        fake.when(operation="embeddings").reply(Error(429))
        with pytest.raises(openai.RateLimitError):
            ask(TEXTS)
    assert {call.provider for call in fake.calls} == {host.partition(" ")[0]}


def test_perplexity_packs_numbers_into_bytes() -> None:
    def ask(**more: Any) -> bytes:
        body = {"model": "pplx-embed-v1-0.6b", "input": "Hello", **more}
        answer = httpx.post("https://api.perplexity.ai/v1/embeddings", json=body, verify=False).json()
        return base64.b64decode(answer["data"][0]["embedding"])

    wanted = vector("Hello", 1024)
    with fake_llm.intercept():
        small = struct.unpack("1024b", ask())
        assert max(map(abs, small)) == 127
        assert cosine(small, wanted) / math.sqrt(cosine(small, small)) > 0.999
        assert ask(encoding_format="base64_int8", dimensions=256) == ask(dimensions=256)
        signs = "".join(f"{byte:08b}" for byte in ask(encoding_format="base64_binary"))
    assert signs == "".join("1" if number > 0 else "0" for number in wanted)


# --- the journal and the script ----------------------------------------------------------------------------------------


@ways
def test_embeddings_take_no_turn(ask: Ask, size: int) -> None:
    with fake_llm.intercept(["kept"], default="for chat only") as fake:
        ask("Hello")
        assert fake.remaining == 1
        assert len(fake.calls.chat) == 0
        fake.reset()


def test_a_turn_that_is_left_is_still_unused() -> None:
    with pytest.raises(UnusedReplyError) as caught, fake_llm.intercept([Embedding([1])]):
        embed("Hello")
    assert str(caught.value) == (
        "The block ended and 1 turn was not asked for:\n"
        "  turn 1  unused  Embedding([1.0])\n"
        "1 call came, none for chat (embeddings): only chat takes turns from the script.\n"
        'Write fake.when(operation="embeddings").reply(…) to say what answers it, or leave out what isn\'t needed.'
    )


def test_turns_of_a_rule_that_are_left_are_unused() -> None:
    with pytest.raises(UnusedReplyError, match="1 call came, none for chat"), fake_llm.intercept() as fake:
        fake.when(operation="embeddings", times=2).reply(Embedding([1]))
        embed("Hello")


def test_the_journal() -> None:
    with fake_llm.intercept(
        model="a chat model", usage=Usage(100, 50), context_window=1, cost=lambda use: use.total
    ) as fake:
        embed(TEXTS, user="u")
    call = fake.calls[0]
    assert (call.provider, call.operation, call.dialect, call.model) == (
        "openai",
        "embeddings",
        "openai_embeddings",
        SMALL,
    )
    assert (call.system, call.tools, call.schema, call.tool_results, call.stream) == ("", {}, None, (), False)
    assert dict(call.params) == {"user": "u"}
    assert call.usage is not None
    assert (call.usage.output_tokens, call.usage.total) == (0, call.usage.input_tokens)
    assert call.usage.input_tokens > 10
    assert fake.usage == call.usage
    assert fake.cost == call.usage.total
    assert call.reply is None
    assert call.response is not None
    assert json.loads(call.response.body)["usage"]["prompt_tokens"] == call.usage.input_tokens
    shown = fake.transcript()
    assert "The weather in Paris" in shown
    assert "3 vectors made up" in shown


# --- rules -------------------------------------------------------------------------------------------------------------


@ways
def test_a_pinned_vector_is_for_every_input(ask: Ask, size: int) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Embedding([0.5, -0.25, 1]))
        assert ask(TEXTS) == [[0.5, -0.25, 1.0]] * 3
        assert ask("a") == [[0.5, -0.25, 1.0]]
    assert fake.calls[0].reply == Reply(Embedding([0.5, -0.25, 1]))


@pytest.mark.parametrize(
    "numbers", [(1, 0.5), array.array("f", [1, 0.5]), range(1, 3)], ids=["tuple", "array", "range"]
)
def test_any_sequence_of_numbers_is_a_vector(numbers: Any) -> None:
    pinned = Embedding(numbers)
    assert pinned == Embedding(list(numbers))
    assert hash(pinned) == hash(Embedding(list(numbers)))
    assert pinned.vector == tuple(map(float, numbers))


@batches
def test_a_list_is_one_for_each_input(ask: Ask) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply([Embedding([1, 0]), Embedding([0, 1]), Embedding([0, 0])])
        assert ask(TEXTS) == [[1, 0], [0, 1], [0, 0]]


@batches
def test_a_list_of_another_length(ask: Ask) -> None:
    with pytest.raises(ScriptMismatchError) as caught, fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply([Embedding([1]), Embedding([2])])
        with contextlib.suppress(Exception):  # each SDK's own, where it isn't raised in place
            ask(TEXTS)
    assert str(caught.value) == (
        "The turn has 2 embeddings.\nThe request has 3 inputs.\nWrite 3 of them, or one Embedding([…]) for every input."
    )


SIZED = [
    (f"{GEMINI_URL}:embedContent", {"content": {"parts": [{"text": "a"}]}, "outputDimensionality": 8}),
    ("https://api.openai.com/v1/embeddings", {"model": "text-embedding-3-small", "input": "a", "dimensions": 8}),
]


@pytest.mark.parametrize(("url", "body"), SIZED, ids=["gemini", "openai"])
def test_a_pinned_vector_of_another_size_than_is_asked_for(url: str, body: dict[str, Any]) -> None:
    def answer(turn: Any, **options: Any) -> httpx.Response:
        with fake_llm.intercept(**options) as fake:
            fake.when(operation="embeddings").reply(turn)
            return httpx.post(url, json=body, verify=False)

    with pytest.raises(ScriptMismatchError) as caught:
        answer(Embedding([0.1, 0.2]))
    assert str(caught.value) == (
        "The turn has an Embedding of length 2.\nThe request asks for vectors of length 8 (dimensions).\n"
        "Write an Embedding of length 8, or Reply(Embedding([…]), check=False) for a model that misbehaves."
    )
    assert answer(Embedding([0.5] * 8)).status_code == 200
    assert "0.125" in answer(Reply(Embedding([0.125, 0.2]), check=False)).text
    assert "0.125" in answer(Embedding([0.125, 0.2]), strict=False).text


@pytest.mark.parametrize(
    ("turn", "part"),
    [("text", "'text'"), (ToolCall("f"), "ToolCall('f', {})"), ([Embedding([1]), "text"], "'text'")],
    ids=["text", "tool call", "mixed"],
)
def test_another_part_is_refused(turn: Any, part: str) -> None:
    with pytest.raises(ScriptMismatchError) as caught, fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(turn)
        embed("Hello")
    kind = "ToolCall" if "ToolCall" in part else "str"
    assert str(caught.value) == (
        f"The turn has a part {part}.\n"
        f"OpenAI embeddings can't carry {kind}; it carries Embedding.\n"
        'Write fake.when(operation="embeddings").reply(Embedding([…])).'
    )


@ways
def test_rules_look_at_the_inputs(ask: Ask, size: int) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings", input="refund").reply(Embedding([1, 0]))
        fake.when(operation="embeddings", model="another").reply(Embedding([0, 0]))
        fake.when(input="Hello").reply("a rule for chat")
        assert ask("How do I get a refund?") == [[1, 0]]
        assert ask("Hello") == [vector("Hello", size)]


def test_turns_of_a_rule_are_a_queue() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Embedding([1]), Embedding([2]))
        assert [embed("a"), embed("b"), embed("c")] == [[[1]], [[2]], [vector("c", 1536)]]


def test_a_function_sees_the_inputs() -> None:
    def answer(call: fake_llm.Call) -> Any:
        return [Embedding([len(text)]) for text in call.user_texts] if len(call.user_texts) > 1 else None

    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(answer)
        assert embed(["a", "bb", "ccc"]) == [[1], [2], [3]]
        assert embed("a") == [vector("a", 1536)], "None passes on to what is made up"


def test_options_of_a_reply() -> None:
    usage, extra = Usage(7, 0, details={"x": 1}), {"id": "e-1"}
    with fake_llm.intercept(virtual_time=True) as fake:
        fake.when(operation="embeddings").reply(
            Reply(usage=usage, extra=extra, headers={"x-a": "b"}, model="m", delay=3)
        )
        answer = httpx.post(OPENAI_URL, json={"model": SMALL, "input": "a"}, verify=False, timeout=None)
    body = answer.json()
    assert body.pop("data") == [{"object": "embedding", "embedding": vector("a", 1536), "index": 0}]
    assert body == {
        "object": "list",
        "model": "m",
        "usage": {"prompt_tokens": 7, "total_tokens": 7, "x": 1},
        "id": "e-1",
    }
    assert answer.headers["x-a"] == "b"
    assert (fake.usage, fake.calls[0].waited) == (Usage(7, 0), 3)


def test_verbatim_bodies_and_edits() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings", input="raw").reply(Raw({"data": [{"embedding": [9]}]}))
        fake.when(operation="embeddings").reply(
            Reply(Embedding([1, 2]), edit=lambda events: [{**events[0], "data": []}])
        )
        assert embed("raw") == [[9]]
        assert embed("other") == []


@needs("openai")
def test_the_object_of_an_sdk() -> None:
    from openai.types import CreateEmbeddingResponse
    from openai.types import Embedding as Item

    item = Item(embedding=[0.25, 0.5], index=0, object="embedding")
    usage: Any = {"prompt_tokens": 5, "total_tokens": 5}
    whole = CreateEmbeddingResponse(data=[item], model="m", object="list", usage=usage)
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(whole)
        assert WAYS["openai"][1]("a") == [[0.25, 0.5]]
    assert fake.calls[0].usage == Usage(5, 0, total_tokens=5)


@needs("google-genai")
def test_the_object_of_google() -> None:
    from google.genai import types

    whole = types.EmbedContentResponse(embeddings=[types.ContentEmbedding(values=[0.25, 0.5])])
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(whole)
        assert WAYS["google"][1]("a") == [[0.25, 0.5]]


# --- errors and faults -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"), [(429, "RateLimitError"), (401, "AuthenticationError"), (500, "InternalServerError")]
)
@pytest.mark.parametrize("way", ["openai", "openai async", "azure", "together"])
@needs("openai")
def test_errors_of_the_vendor(way: str, kind: int, name: str) -> None:
    import openai

    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Error(kind))
        with pytest.raises(getattr(openai, name)):
            WAYS[way][1]("a")
    assert fake.calls[0].usage is None


@needs("google-genai")
def test_errors_of_google() -> None:
    from google.genai import errors

    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Error(429))
        with pytest.raises(errors.ClientError) as caught:
            WAYS["google"][1]("a")
    assert caught.value.code == 429


@needs("openai")
def test_a_retry_recovers() -> None:
    import openai

    client = openai.OpenAI(max_retries=2, api_key="k")
    again = Error(429, headers={"retry-after-ms": "1"})
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(again, Embedding([1]))
        assert client.embeddings.create(model=SMALL, input="a").data[0].embedding == [1]
    assert [call.attempt for call in fake.calls] == [1, 2]


@pytest.mark.parametrize(
    ("fault", "raised"), [(TimeoutError, httpx.ReadTimeout), (ConnectionError(), httpx.ConnectError)]
)
def test_faults(fault: Any, raised: type[Exception]) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(fault)
        with pytest.raises(raised):
            embed("a")


# --- requests that are refused -----------------------------------------------------------------------------------------

BAD = "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
REFUSED: list[tuple[dict[str, Any], str, str | None]] = [
    ({}, "Missing required parameter: 'input'.", "input"),
    ({"input": None}, "Missing required parameter: 'input'.", "input"),
    ({"input": ""}, BAD, None),
    ({"input": []}, BAD, None),
    ({"input": [""]}, BAD, None),
    ({"input": ["a", ""]}, BAD, None),
    ({"input": 5}, BAD, None),
    ({"input": {"text": "a"}}, BAD, None),
    ({"input": [1, "a"]}, BAD, None),
    ({"input": [[]]}, BAD, None),
    ({"input": [True]}, BAD, None),
    ({"input": [[1.5]]}, BAD, None),
    ({"input": ["a", None]}, BAD, None),
    ({"input": "a", "model": None}, "you must provide a model parameter", None),
    ({"input": "a", "model": 5}, "Invalid type for 'model': expected a string, but got an integer instead.", "model"),
    (
        {"input": ["a"] * 2049},
        "Invalid 'input': array too long. Expected an array with maximum length 2048, but got an array with length 2049 instead.",
        "input",
    ),
    (
        {"input": "a", "dimensions": 1537},
        "Invalid value for 'dimensions' = 1537. Must be less than or equal to 1536.",
        None,
    ),
    (
        {"input": "a", "dimensions": 0},
        "Invalid 'dimensions': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        "dimensions",
    ),
    (
        {"input": "a", "dimensions": "many"},
        "Invalid type for 'dimensions': expected an integer, but got a string instead.",
        "dimensions",
    ),
    (
        {"input": "a", "dimensions": True},
        "Invalid type for 'dimensions': expected an integer, but got a boolean instead.",
        "dimensions",
    ),
    (
        {"input": "a", "model": "text-embedding-ada-002", "dimensions": 5},
        "This model does not support specifying dimensions.",
        None,
    ),
    (
        {"input": "a", "encoding_format": "hex"},
        "Invalid value: 'hex'. Supported values are: 'float' and 'base64'.",
        "encoding_format",
    ),
    ({"input": "a", "user": 5}, "Invalid type for 'user': expected a string, but got an integer instead.", "user"),
]


@pytest.mark.parametrize(("fields", "text", "param"), REFUSED)
def test_openai_refuses_what_is_malformed(fields: dict[str, Any], text: str, param: str | None) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings", times=1).reply(Embedding([1]))
        answer = httpx.post(OPENAI_URL, json={"model": SMALL, **fields}, verify=False)
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert (error["message"], error["type"], error["param"]) == (text, "invalid_request_error", param)
        assert fake.remaining == 1, "it takes no turn"
        assert embed("a") == [[1]]
    assert repr(fake.calls[0])


@pytest.mark.parametrize(
    "given", ["", [""], [{"text": "a"}], [{"content": [{"type": "text", "text": "a"}]}], ["a"] * 3000]
)
def test_other_hosts_are_not_as_strict(given: Any) -> None:
    url = "https://openrouter.ai/api/v1/embeddings"
    with fake_llm.intercept():
        answer = httpx.post(url, json={"model": "m", "input": given, "encoding_format": "base64"}, verify=False)
    assert answer.status_code == 200
    assert len(answer.json()["data"]) == (1 if isinstance(given, str) else len(given))


ONE = {"parts": [{"text": "a"}]}
EMPTY_PART = ".content: content contains an empty Part.\n"
GOOGLE_REFUSED: list[tuple[str, Any, str]] = [
    ("embedContent", {}, "* EmbedContentRequest.content: content is not specified\n"),
    ("embedContent", {"content": {"parts": []}}, "* EmbedContentRequest" + EMPTY_PART),
    ("embedContent", {"content": {"parts": [{"text": ""}]}}, "* EmbedContentRequest" + EMPTY_PART),
    (
        "embedContent",
        {"content": "a"},
        "Invalid value at 'content' (type.googleapis.com/google.ai.generativelanguage.v1beta.Content), \"a\"",
    ),
    (
        "embedContent",
        {"content": {"parts": [{"text": 5}]}},
        "Invalid value at 'content.parts[0].text' (TYPE_STRING), 5",
    ),
    (
        "embedContent",
        {"content": ONE, "outputDimensionality": "x"},
        "Invalid value at 'output_dimensionality' (TYPE_INT32), \"x\"",
    ),
    (
        "embedContent",
        {"content": ONE, "outputDimensionality": "1e3"},
        "Invalid value at 'output_dimensionality' (TYPE_INT32), \"1e3\"",
    ),
    (
        "embedContent",
        {"content": ONE, "outputDimensionality": " 6_4"},
        "Invalid value at 'output_dimensionality' (TYPE_INT32), \" 6_4\"",
    ),
    (
        "embedContent",
        {"content": ONE, "outputDimensionality": 64.5},
        "Invalid value at 'output_dimensionality' (TYPE_INT32), 64.5",
    ),
    (
        "embedContent",
        {"content": ONE, "outputDimensionality": True},
        "Invalid value at 'output_dimensionality' (TYPE_INT32), true",
    ),
    (
        "embedContent",
        {"content": ONE, "outputDimensionality": -(10**9)},
        "* EmbedContentRequest.output_dimensionality: output_dimensionality must be between 1 and 3072\n",
    ),
    (
        "embedContent",
        {"content": ONE, "outputDimensionality": 3073},
        "* EmbedContentRequest.output_dimensionality: output_dimensionality must be between 1 and 3072\n",
    ),
    ("batchEmbedContents", {}, "* BatchEmbedContentsRequest.requests: requests is not specified\n"),
    ("batchEmbedContents", {"requests": []}, "* BatchEmbedContentsRequest.requests: requests is not specified\n"),
    (
        "batchEmbedContents",
        {"requests": [{"content": ONE}] * 101},
        "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n",
    ),
    (
        "batchEmbedContents",
        {"requests": [{"content": ONE}, {}]},
        "* BatchEmbedContentsRequest.requests[1].content: content is not specified\n",
    ),
    (
        "batchEmbedContents",
        {"requests": [5]},
        "Invalid value at 'requests[0]' (type.googleapis.com/google.ai.generativelanguage.v1beta.EmbedContentRequest), 5",
    ),
    (
        "batchEmbedContents",
        {"requests": [{"content": {"parts": [{"text": 5}]}}]},
        "Invalid value at 'requests[0].content.parts[0].text' (TYPE_STRING), 5",
    ),
]


@pytest.mark.parametrize(("verb", "body", "text"), GOOGLE_REFUSED)
def test_gemini_refuses_what_is_malformed(verb: str, body: Any, text: str) -> None:
    with fake_llm.intercept() as fake:
        answer = httpx.post(f"{GEMINI_URL}:{verb}", json=body, verify=False)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["message"], error["status"]) == (400, text, "INVALID_ARGUMENT")
    assert repr(fake.calls[0])


@pytest.mark.parametrize(
    "body",
    [
        {"content": ONE, "output_dimensionality": 64},
        {"content": ONE, "outputDimensionality": "64"},
        {"content": ONE, "embedContentConfig": {"outputDimensionality": 64, "taskType": "RETRIEVAL_QUERY"}},
        {"content": {"role": "user", "parts": {"text": "a"}}, "outputDimensionality": 64.0, "taskType": "CLUSTERING"},
    ],
)
def test_gemini_reads_json_kindly(body: Any) -> None:
    with fake_llm.intercept() as fake:
        answer = httpx.post(f"{GEMINI_URL}:embedContent", json=body, verify=False)
    assert answer.json() == {"embedding": {"values": vector("a", 64)}}
    assert fake.calls[0].user_texts == ("a",)
    assert fake.calls[0].params["dimensions"] == 64


def test_gemini_embeds_pictures_too() -> None:
    def ask(data: str) -> Any:
        part = {"inlineData": {"mimeType": "image/png", "data": data}}
        return httpx.post(f"{GEMINI_URL}:embedContent", json={"content": {"parts": [part]}}, verify=False).json()

    with fake_llm.intercept() as fake:
        assert ask("aGk=") == ask("aGk=") != ask("aG8=")
    assert fake.calls[0].last_user_text == "[image]"


# --- retrieval ---------------------------------------------------------------------------------------------------------

DOCUMENTS = [
    "Refunds are paid back to your card within five working days.",
    "We ship to Canada and the USA; shipping takes three to seven days.",
    "To cancel a subscription, open Settings and choose Billing.",
    "Our office dog is called Bruno. Bruno sleeps under the printer.",
]
QUESTIONS = {
    "When is my refund paid?": 0,
    "Do you ship to Canada?": 1,
    "How can I cancel my subscription?": 2,
    "Where does the dog sleep?": 3,
}


def search(question: str, index: Vectors, ask: Ask) -> int:
    (query,) = ask(question)
    return max(range(len(index)), key=lambda place: cosine(query, index[place]))


@ways
@pytest.mark.parametrize("dimensions", [None, 128])
def test_the_document_that_answers_is_found(ask: Ask, size: int, dimensions: int | None) -> None:
    with fake_llm.intercept():
        index = ask(DOCUMENTS, dimensions=dimensions)
        found = {
            question: search(question, index, lambda text: ask(text, dimensions=dimensions)) for question in QUESTIONS
        }
    assert found == QUESTIONS


@needs("openai")
def test_a_whole_retrieval() -> None:
    import openai

    client = openai.OpenAI(api_key="k")
    ask = WAYS["openai"][1]
    with fake_llm.intercept() as fake:
        fake.when(input="Do you ship").reply("Yes, in three to seven days.")
        found = DOCUMENTS[search("Do you ship to Canada?", ask(DOCUMENTS), ask)]
        answer = client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": f"{found}\n\nDo you ship to Canada?"}]
        )
    assert answer.choices[0].message.content == "Yes, in three to seven days."
    assert "We ship to Canada" in fake.calls.chat[0].last_user_text
    assert [call.operation for call in fake.calls] == ["embeddings", "embeddings", "chat"]


def test_a_fake_that_is_asked_directly() -> None:
    fake = FakeLLM()
    with httpx.Client(transport=fake.httpx_transport()) as client:
        answer = client.post(OPENAI_URL, json={"model": SMALL, "input": "a"})
    assert answer.json()["data"][0]["embedding"] == vector("a", 1536)
