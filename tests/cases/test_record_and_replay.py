"""Record, replay and asserting on requests: beside recorders, in what order answers come, and what AWS's own doubles can't do."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _asking import ask, ask_async, body_of, post
from _capability import has, needs
from fake_llm import Error, Framing, Reply, ToolCall, UnknownEndpointError, UnscriptedCallError, UnusedReplyError
from stacks._servers import gone, served

CHAT = "https://api.openai.com/v1/chat/completions"
HI: Any = [{"role": "user", "content": "Hi"}]
THREAD = threading.current_thread().name
"""That of the tests, which messages name."""


def recorded(path: Path, *exchanges: tuple[str, str, str], **options: Any) -> AbstractContextManager[Any]:
    """A cassette with these bodies sent to these URLs, each with its answer."""
    vcr, yaml = importlib.import_module("vcr"), importlib.import_module("yaml")
    interactions = [
        {
            "request": {"method": "POST", "uri": url, "body": sent, "headers": {}},
            "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": answered}},
        }
        for url, sent, answered in exchanges
    ]
    path.write_text(yaml.safe_dump({"version": 1, "interactions": interactions}))
    return vcr.use_cassette(str(path), record_mode="none", **options)


# --- A33: a recorder and streams -----------------------------------------------------------------------


@needs("vcrpy")
@pytest.mark.parametrize("order", ["theirs first", "ours first"])
@pytest.mark.asyncio
async def test_A33_a_stream_that_is_left_half_way(order: str, tmp_path: Path) -> None:
    """It lives for hours: who waited for its end would hang."""
    cassette = importlib.import_module("vcr").use_cassette(str(tmp_path / "cassette.yaml"), record_mode="all")
    block = fake_llm.intercept([Reply(chunks=["Hel", "lo"], interval=3600)])
    if order == "theirs first":
        with cassette, block as fake:
            got = await half_of_it()
    else:
        with block as fake, cassette:
            got = await half_of_it()
    assert fake.calls[0].response.body.startswith(got)
    assert b'"lo"' not in got
    assert not (tmp_path / "cassette.yaml").exists()


async def half_of_it() -> bytes:
    got = b""
    asked = httpx.AsyncClient(timeout=None)
    async with (
        asked as client,
        client.stream("POST", CHAT, json=body_of(stream=True)) as response,
        aclosing(response.aiter_bytes()) as parts,
    ):
        async for part in parts:
            got += part
            if b'"Hel"' in part:
                break
    return got


@needs("vcrpy>=9", "httpx2")
def test_A33_what_isnt_ours_is_recorded(tmp_path: Path) -> None:
    vcr, httpx2 = importlib.import_module("vcr"), importlib.import_module("httpx2")
    path = tmp_path / "cassette.yaml"
    with served() as url, vcr.use_cassette(str(path)) as cassette, fake_llm.intercept(["Hello."]):
        assert httpx2.post(url, json={}).text == "real"
        assert httpx2.post(CHAT, json=body_of()).json()["choices"][0]["message"]["content"] == "Hello."
    assert [request.uri for request in cassette.requests] == [url]


# --- A34: bodies given as streams ------------------------------------------------------------------------

PARTS = (b'{"model": "m", ', b'"messages": [{"role": "user", "content": "Hi"}]}')


async def in_parts() -> AsyncIterator[bytes]:
    for part in PARTS:
        await asyncio.sleep(0)
        yield part


@pytest.mark.parametrize("beside", ["nothing", pytest.param("vcrpy", marks=needs("vcrpy"))])
@pytest.mark.parametrize("library", ["httpx", pytest.param("httpx2", marks=needs("httpx2"))])
@pytest.mark.asyncio
async def test_A34_an_async_stream_as_a_body_is_captured_whole(library: str, beside: str, tmp_path: Path) -> None:
    module = importlib.import_module(library)
    with served() as url, fake_llm.intercept(["Hello."]) as fake:
        if beside == "vcrpy":
            vcr = importlib.import_module("vcr")
            with vcr.use_cassette(str(tmp_path / "cassette.yaml")):
                async with module.AsyncClient() as client:
                    answer = await client.post(CHAT, content=in_parts())
        else:
            async with module.AsyncClient() as client:
                answer = await client.post(CHAT, content=in_parts())
                assert (await client.post(url, content=in_parts())).text == "real"  # untouched on its way elsewhere
    assert answer.json()["choices"][0]["message"]["content"] == "Hello."
    assert fake.calls[0].raw == b"".join(PARTS)
    assert fake.calls[0].user_texts == ("Hi",)


def test_A34_a_blocking_one_too() -> None:
    with fake_llm.intercept(["Hello."]) as fake:
        assert httpx.post(CHAT, content=iter(PARTS)).is_success
    assert fake.calls[0].raw == b"".join(PARTS)


@needs("hishel>=2")
@pytest.mark.asyncio
async def test_A34_through_a_cache(tmp_path: Path) -> None:
    hishel, transports = importlib.import_module("hishel"), importlib.import_module("hishel.httpx")
    storage = hishel.AsyncSqliteStorage(database_path=tmp_path / "cache.db")
    transport = transports.AsyncCacheTransport(next_transport=httpx.AsyncHTTPTransport(), storage=storage)
    async with fake_llm.intercept(["Hello."]) as fake, httpx.AsyncClient(transport=transport) as client:
        answer = await client.post(CHAT, content=in_parts())
        assert answer.json()["choices"][0]["message"]["content"] == "Hello."
    await storage.close()
    assert fake.calls[0].raw == b"".join(PARTS)


@needs("openai")
@pytest.mark.asyncio
async def test_A34_an_upload() -> None:
    import openai

    sound = b"RIFF" * 50_000
    async with fake_llm.intercept() as fake, openai.AsyncOpenAI() as client:
        fake.when(operation="transcription").reply("Hello.")
        answer = await client.audio.transcriptions.create(model="whisper-1", file=("talk.wav", sound))
    assert answer.text == "Hello."
    assert sound in fake.calls[0].raw
    assert (fake.calls[0].body["model"], fake.calls[0].body["file"].filename) == ("whisper-1", "talk.wav")


# --- A36: cassettes that drift from what is sent -----------------------------------------------------------


@needs("vcrpy")
def test_A36_a_recorder_answers_a_request_that_was_never_recorded(tmp_path: Path) -> None:
    url = gone()
    with recorded(tmp_path / "cassette.yaml", (url, '{"old": 1}', "recorded")) as cassette:
        assert httpx.post(url, json={"new": 2}).text == "recorded"
        assert cassette.requests[0].body == b'{"old": 1}'  # and what it shows is what was sent long ago


@needs("openai")
def test_A36_what_is_asserted_was_sent_in_this_run() -> None:
    import openai

    with fake_llm.intercept(default="Hello.") as fake, openai.OpenAI() as client:
        for text in ("today's", "tomorrow's"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    assert [call.user_texts for call in fake.calls] == [("today's",), ("tomorrow's",)]
    assert json.loads(fake.calls[1].raw) == fake.calls[1].body == body_of("tomorrow's", model="m")


@needs("openai")
def test_A36_each_step_may_say_what_it_expects() -> None:
    import openai

    expected = body_of("today's", model="m")

    def first(call: Any) -> str:
        assert call.body == expected
        return "Hello."

    with fake_llm.intercept([first]), openai.OpenAI() as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "today's"}])

    with pytest.raises(AssertionError) as caught, fake_llm.intercept([first]) as fake, openai.OpenAI() as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "drifted"}])
    assert len(fake.calls) == 1  # it isn't tried again
    drifted, before = (body_of(text)["messages"] for text in ("drifted", "today's"))
    assert f"{{'messages': {drifted!r}}} != {{'messages': {before!r}}}" in str(caught.value)


def same_day(call: Any) -> bool:
    """Whether a request is the expected one, its date left aside."""
    return call.last_user_text.partition(" on ")[0] == "What happened"


def test_A36_what_changes_by_itself_can_be_left_aside() -> None:
    with fake_llm.intercept() as fake:
        fake.when(same_day).reply("Nothing.")
        assert [ask(f"What happened on {day}?") for day in ("Monday", "Tuesday")] == ["Nothing."] * 2
        fake.failures.clear()
    with pytest.raises(UnscriptedCallError) as caught, fake_llm.intercept() as fake:
        fake.when(same_day).reply("Nothing.")
        ask("What will happen on Monday?")
    assert str(caught.value) == (
        f"Call 0: no turn was left for it (openai chat gpt-5, in thread {THREAD}). "
        "The last user text was 'What will happen on Monday?'.\n"
        "The script had no turns.\n"
        "What didn't answer it:\n"
        "  when(same_day): same_day(call) was false\n"
        'Write one more turn, default=… for any number of calls, or on_exhausted="stop" to end the conversation.'
    )


# --- A38: equal requests, and requests in any order ----------------------------------------------------------


@needs("vcrpy")
def test_A38_a_recorder_gives_the_first_answer_each_time(tmp_path: Path) -> None:
    url = gone()
    both = ((url, "same", "a"), (url, "same", "b"))
    with recorded(tmp_path / "cassette.yaml", *both, allow_playback_repeats=True):
        got = [httpx.post(url, content="same").text for _ in range(3)]
    if has("vcrpy<10"):
        assert got == ["a", "a", "a"]

    with fake_llm.intercept(["a", "b"]):
        assert [ask("same"), ask("same")] == ["a", "b"]


CAPITALS = {"France": "Paris", "Italy": "Rome", "Japan": "Tokyo"}


@pytest.mark.asyncio
async def test_A38_rules_answer_by_content_in_any_order() -> None:
    async with fake_llm.intercept(["one", "two"]) as fake:
        for country, capital in CAPITALS.items():
            fake.when(input=country).reply(capital)
        assert [ask("same"), ask("same")] == ["one", "two"]  # the queue comes first
        countries = [*CAPITALS, *reversed(CAPITALS)]
        assert await asyncio.gather(*map(ask_async, countries)) == [CAPITALS[country] for country in countries]
    assert len(fake.calls) == 8


def test_A38_one_too_many_names_the_request() -> None:
    with pytest.raises(UnscriptedCallError) as caught, fake_llm.intercept(["one"]) as fake:
        fake.when(input="France").reply("Paris")
        ask("Capital of Italy?")
        ask("And of Japan?")
    assert str(caught.value) == (
        f"Call 1: no turn was left for it (openai chat gpt-5, in thread {THREAD}). The last user text was 'And of Japan?'.\n"
        "The script had 1 turn, all taken:\n"
        "  turn 1  call 0  'one'\n"
        "What didn't answer it:\n"
        "  when(input='France'): input='France' isn't in 'And of Japan?'\n"
        'Write one more turn, default=… for any number of calls, or on_exhausted="stop" to end the conversation.'
    )


# --- A39: a second round that depends on the prose of the first ---------------------------------------------

ROUNDS: list[Any] = [["Let me look.", ToolCall("get_weather", {"city": "Paris"})], "It is sunny."]


def converse(client: Any, messages: list[Any]) -> list[Any]:
    """The messages after one more round."""
    schema = {"json": {"type": "object", "properties": {"city": {"type": "string"}}}}
    tools = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": schema}}]}
    said = client.converse(modelId="amazon.nova-lite-v1:0", messages=messages, toolConfig=tools)["output"]["message"]
    results = [
        {"toolResult": {"toolUseId": part["toolUse"]["toolUseId"], "content": [{"text": "sunny"}]}}
        for part in said["content"]
        if "toolUse" in part
    ]
    return [*messages, said, *([{"role": "user", "content": results}] if results else [])]


@needs("boto3")
def test_A39_every_run_sends_the_same_bytes() -> None:
    runs = []
    for _ in range(2):
        with fake_llm.intercept(ROUNDS) as fake:
            client = importlib.import_module("boto3").session.Session().client("bedrock-runtime", "us-east-1")
            messages = converse(client, [{"role": "user", "content": [{"text": "Weather in Paris?"}]}])
            messages = converse(client, messages)
        assert messages[-1]["content"] == [{"text": "It is sunny."}]
        runs.append([call.raw for call in fake.calls])
        called, answered = fake.calls[1].body["messages"][1:]
        used = [part["toolUse"]["toolUseId"] for part in called["content"] if "toolUse" in part]
        assert [part["toolResult"]["toolUseId"] for part in answered["content"]] == used
    assert runs[0] == runs[1]


@needs("langchain-aws", "langchain")
def test_A39_an_agent_of_langchain() -> None:
    chat = importlib.import_module("langchain_aws").ChatBedrockConverse
    create_agent = importlib.import_module("langchain.agents").create_agent

    def get_weather(city: str) -> str:
        """The weather in a city."""
        return f"sunny in {city}"

    def run() -> list[bytes]:
        with fake_llm.intercept(ROUNDS) as fake:
            model = chat(model="amazon.nova-lite-v1:0", region_name="us-east-1")
            agent = create_agent(model, tools=[get_weather])
            answer = agent.invoke({"messages": [{"role": "user", "content": "Weather in Paris?"}]})
        assert answer["messages"][-1].text == "It is sunny."
        [result] = fake.calls[1].tool_results
        [called] = fake.calls[1].messages[1].tool_calls
        assert (result.id, result.text) == (called.id, "sunny in Paris")
        return [call.raw for call in fake.calls]

    assert run() == run()


# --- A40: a mock that answers any path -----------------------------------------------------------------------


def test_A40_a_path_with_a_typo_is_an_error() -> None:
    url = CHAT.removesuffix("s")
    with pytest.raises(UnknownEndpointError) as caught, fake_llm.intercept(default="Hello."):
        post(url=url)
    assert str(caught.value) == (
        f"POST {url} came in thread {THREAD}: a known LLM host (openai), an unknown path.\n"
        "The paths that are answered there: POST /v1/chat/completions, POST /v1/conversations, GET /v1/chat/completions, "
        "GET /v1/chat/completions/{completion}, POST /v1/chat/completions/{completion}, POST /v1/completions, and 33 more "
        "(fake-llm providers openai).\n"
        'Write fake.when(operation="unknown").reply(Raw({…})) to answer it.'
    )


def test_A40_or_the_vendors_own_answer() -> None:
    url = CHAT.removesuffix("s")
    with fake_llm.intercept() as fake:
        fake.when(operation="unknown").reply(Error("not_found"))
        answer = post(url=url)
    error = answer.json()["error"]
    assert answer.status_code == 404
    assert error.pop("message").startswith("Unknown request URL: POST /v1/chat/completion.")
    assert error == {"type": "invalid_request_error", "param": None, "code": "unknown_url"}


def test_A40_another_verb_is_another_endpoint() -> None:
    """A list of what is stored: it asks no model, and what was scripted for one is left."""
    with pytest.raises(UnusedReplyError) as caught, fake_llm.intercept(["Hello."]) as fake:
        assert httpx.get(CHAT).json() == {
            "object": "list",
            "data": [],
            "first_id": None,
            "last_id": None,
            "has_more": False,
        }
    assert [call.method for call in fake.side_calls] == ["GET"]
    assert str(caught.value) == (
        "The block ended and 1 turn was not asked for:\n"
        "  turn 1  unused  'Hello.'\n"
        "No call came: does the code under test use another process, or a host that isn't known (declare it by hosts=)? "
        "Or does a fixture return instead of yield?\n"
        f"What came instead takes no turn: GET {CHAT}.\n"
        "Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end."
    )


@needs("openai")
def test_A40_the_form_of_an_answer_follows_the_endpoint() -> None:
    import openai

    with fake_llm.intercept(default="Hello.") as fake, openai.OpenAI() as client:
        assert client.chat.completions.create(model="m", messages=HI).choices[0].message.content == "Hello."
        assert client.responses.create(model="m", input="Hi").output_text == "Hello."
        assert client.completions.create(model="m", prompt="Hi").choices[0].text == "Hello."
        assert len(client.embeddings.create(model="text-embedding-3-small", input="Hi").data[0].embedding) == 1536
    kinds = [json.loads(call.response.body)["object"] for call in fake.calls]
    assert kinds == ["chat.completion", "response", "text_completion", "list"]


# --- A41: the doubles of AWS -----------------------------------------------------------------------------------

ASKED: Any = {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
CLAUDE: Any = {
    "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
    "body": json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": HI}),
}


@pytest.fixture
def on_aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of Bedrock, and one of S3, as moto is started."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with importlib.import_module("moto").mock_aws():
        boto3 = importlib.import_module("boto3")
        yield boto3.client("bedrock-runtime"), boto3.client("s3")


@needs("moto", "boto3")
def test_A41_moto_has_no_model(on_aws: Any) -> None:
    bedrock, _ = on_aws
    if not has("moto<5.3"):
        pytest.skip("measured with moto 5.2")
    assert bedrock.invoke_model(**CLAUDE)["body"].read() == b"{}"
    for name in ("converse", "converse_stream"):
        with pytest.raises(NotImplementedError):
            getattr(bedrock, name)(**ASKED)


@needs("moto", "boto3")
def test_A41_all_four_operations_beside_moto(on_aws: Any) -> None:
    bedrock, s3 = on_aws
    with fake_llm.intercept(["One.", "Two.", "Three.", "Four."]) as fake:
        assert bedrock.converse(**ASKED)["output"]["message"]["content"] == [{"text": "One."}]
        events = list(bedrock.converse_stream(**ASKED)["stream"])
        kinds = [next(iter(event)) for event in events]
        assert kinds == ["messageStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"]
        assert json.loads(bedrock.invoke_model(**CLAUDE)["body"].read())["content"][0]["text"] == "Three."
        chunks = [
            json.loads(event["chunk"]["bytes"]) for event in bedrock.invoke_model_with_response_stream(**CLAUDE)["body"]
        ]
        assert [chunk["delta"]["text"] for chunk in chunks if chunk["type"] == "content_block_delta"] == ["Four."]
        s3.create_bucket(Bucket="bucket")
        assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == ["bucket"]
    assert [call.stream for call in fake.calls] == [False, True, False, True]


# --- A42: botocore's own double and streams of events ------------------------------------------------------------


@needs("boto3")
def test_A42_the_stubber_has_no_stream_of_events() -> None:
    if "sentry_sdk.integrations.boto3" in sys.modules:
        pytest.skip("Sentry, once switched on in a process, fails on what the stubber gives in place of a stream")
    stub, exceptions = importlib.import_module("botocore.stub"), importlib.import_module("botocore.exceptions")
    client = importlib.import_module("boto3").client(
        "bedrock-runtime", "us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
    )
    event = {"contentBlockDelta": {"delta": {"text": "Hello."}, "contentBlockIndex": 0}}
    with stub.Stubber(client) as stubber:
        with pytest.raises(exceptions.ParamValidationError, match="Invalid type for parameter stream"):
            stubber.add_response("converse_stream", {"stream": [event]})
        stubber.add_response("converse_stream", {"stream": event})
        assert list(client.converse_stream(**ASKED)["stream"]) == ["contentBlockDelta"]


@needs("boto3")
@pytest.mark.parametrize("split", [None, 1, 7])
def test_A42_a_real_one_gives_what_was_scripted_however_it_is_cut(split: int | None) -> None:
    event_stream = importlib.import_module("botocore.eventstream").EventStream
    reply = Reply(chunks=["Hel", "lo"], framing=Framing(split=split))
    with fake_llm.intercept([reply]) as fake:
        client = importlib.import_module("boto3").session.Session().client("bedrock-runtime", "us-east-1")
        stream = client.converse_stream(**ASKED)["stream"]
        assert isinstance(stream, event_stream)
        events = list(stream)
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
    assert deltas == ["Hel", "lo"]
    assert events[-1]["metadata"]["usage"]["outputTokens"] == fake.usage.output_tokens
