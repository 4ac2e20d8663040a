"""What SDKs make of every error, in place of an answer and inside a stream: as the table says that the documentation has.

The rows are in `raised.json`; `_raised.py` says how they are made.
"""

from __future__ import annotations

import importlib
import json
import operator
from collections.abc import Iterator
from typing import Any

import pytest

import fake_llm
from _capability import needs
from _raised import HOSTS, MADE, SDKS, Sdk, clients_of, raised
from _sdk_clients import Client
from fake_llm import Error, Reply
from fake_llm._turns import ERROR_NAMES

TABLE: dict[str, Any] = json.loads(MADE.read_text())
ASKED: Any = [{"role": "user", "content": "Hi"}]


def rows() -> Iterator[Any]:
    """Each client whole and streamed. By default of two clients one is asked so, one so; the rest, and other hosts, are slow."""
    for sdk in (*SDKS, *HOSTS):
        clients = clients_of(sdk)
        if not clients:
            yield pytest.param(sdk, None, "whole", id=f"{sdk.name}-none", marks=needs(sdk.needs))
        for number, client in enumerate(clients):
            for place, mode in enumerate(("whole", "stream")):
                usual = sdk in SDKS and (number == place or len(clients) == 1)
                marks = () if usual else (pytest.mark.slow,)
                yield pytest.param(sdk, client, mode, id=f"{sdk.name}-{client!r}-{mode}", marks=marks)


@pytest.mark.parametrize(("sdk", "client", "mode"), list(rows()))
def test_every_error_is_raised_as_the_table_says(sdk: Sdk, client: Client, mode: str) -> None:
    if client.unable is not None:
        pytest.skip(client.unable)
    found = client.run(raised(client, mode))

    place = ("whole", "stream").index(mode)
    assert found == {name: outcomes[place] for name, outcomes in TABLE[sdk.name]["errors"].items()}


def test_the_table_is_whole() -> None:
    assert list(TABLE) == [sdk.name for sdk in (*SDKS, *HOSTS)]
    assert all(list(row["errors"]) == list(ERROR_NAMES) for row in TABLE.values())
    assert [row["needs"] for row in TABLE.values()] == [sdk.needs for sdk in (*SDKS, *HOSTS)]


# --- what errors have beside a class and a status -------------------------------------------------


def openai_client(**options: Any) -> Any:
    import openai

    return openai.OpenAI(api_key="sk-test", max_retries=0, **options)


@needs("openai>=2")
@pytest.mark.parametrize("name", ["authentication", "context_length", "rate_limit", "server_error"])
@pytest.mark.parametrize("way", ["chat", "responses"])
def test_the_attributes_of_openai(way: str, name: str) -> None:
    import openai

    with fake_llm.intercept([Error(name)]) as fake, pytest.raises(openai.APIStatusError) as caught:
        if way == "chat":
            openai_client().chat.completions.create(model="gpt-5", messages=ASKED)
        else:
            openai_client().responses.create(model="gpt-5", input="Hi")
    error, answer = caught.value, fake.calls[0].response
    body: Any = error.body
    assert error.request_id == answer.headers["x-request-id"]
    assert (body["code"], body["type"], body["param"]) == (error.code, error.type, error.param)
    assert {"error": body} == json.loads(answer.body)
    assert body["message"] in str(error)


@needs("openai>=2")
def test_limits_that_are_reached_are_in_the_headers() -> None:
    import openai

    def told(base_url: str, way: str = "chat") -> Any:
        client = openai_client(base_url=base_url)
        with pytest.raises(openai.RateLimitError) as caught:
            if way == "chat":
                client.chat.completions.create(model="m", messages=ASKED)
            else:
                client.responses.create(model="m", input="Hi")
        return caught.value.response.headers

    with fake_llm.intercept(default=Error("rate_limit", retry_after=2)):
        for way in ("chat", "responses"):
            headers = told("https://api.openai.com/v1", way)
            assert headers["x-ratelimit-remaining-tokens"] == "0"
            assert headers["x-ratelimit-reset-tokens"] == "2s"
        groq = told("https://api.groq.com/openai/v1")
        assert (groq["x-ratelimit-remaining-tokens"], groq["x-ratelimit-reset-tokens"]) == ("0", "2s")
        together = told("https://api.together.xyz/v1")
        assert (together["x-ratelimit-remaining"], together["x-ratelimit-reset"]) == ("0", "2")
        assert told("https://api.fireworks.ai/inference/v1")["x-ratelimit-over-limit"] == "yes"
        assert told("https://api.x.ai/v1")["x-ratelimit-remaining-requests"] == "0"
        assert told("https://api.mistral.ai/v1")["x-ratelimit-remaining-req-minute"] == "0"


@needs("openai>=2")
def test_azure_always_says_how_long_to_wait() -> None:
    import openai

    client = openai.AzureOpenAI(
        azure_endpoint="https://r.openai.azure.com", api_version="2024-10-21", api_key="k", max_retries=0
    )
    for error, told in ((Error(429), ("1", "0")), (Error(429, retry_after=2.5), ("3", "2500"))):
        with fake_llm.intercept([error]), pytest.raises(openai.RateLimitError) as caught:
            client.chat.completions.create(model="m", messages=ASKED)
        headers = caught.value.response.headers
        assert (headers["retry-after"], headers["retry-after-ms"]) == told
        assert len(headers.get_list("retry-after")) == 1


@needs("anthropic>=0.100")
def test_the_attributes_of_anthropic() -> None:
    import anthropic

    with fake_llm.intercept([Error("rate_limit", retry_after=2)]) as fake, pytest.raises(Exception) as caught:
        anthropic.Anthropic(max_retries=0).messages.create(model="m", max_tokens=9, messages=ASKED)
    error: Any = caught.value
    assert isinstance(error, anthropic.RateLimitError)
    assert error.request_id == fake.calls[0].response.headers["request-id"] == error.body["request_id"]
    assert error.response.headers["retry-after"] == "2"
    assert error.response.headers["anthropic-ratelimit-input-tokens-remaining"] == "0"


@needs("openai>=2")
def test_a_header_says_whether_to_ask_again() -> None:
    import openai

    def ask() -> Any:
        return openai_client().with_options(max_retries=2).chat.completions.create(model="m", messages=ASKED)

    again, never = {"x-should-retry": "true"}, {"x-should-retry": "false"}
    with fake_llm.intercept([Error(400, headers=again), "Hello."]) as fake:
        ask()
    assert [call.attempt for call in fake.calls] == [1, 2]
    with fake_llm.intercept([Error(400, headers=again)]) as fake, pytest.raises(openai.BadRequestError):
        ask()
    assert [call.attempt for call in fake.calls] == [1, 2, 3]
    with fake_llm.intercept([Error(500, headers=never)]) as fake, pytest.raises(openai.InternalServerError):
        ask()
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    ("module", "maker", "ask"),
    [
        pytest.param("anthropic", "Anthropic", "messages", marks=needs("anthropic>=0.100")),
        pytest.param("groq", "Groq", "chat.completions", marks=needs("groq>=1")),
    ],
)
def test_a_limit_that_is_reached_says_how_long_to_wait(module: str, maker: str, ask: str) -> None:
    """As these vendors always do."""
    client = getattr(importlib.import_module(module), maker)(api_key="x")
    create = operator.attrgetter(f"{ask}.create")(client)
    for error, seconds in ((Error(429), 1), (Error(429, retry_after=7), 7), (Error(429, retry_after=0.25), 0.25)):
        with fake_llm.intercept([error, "Hello."]) as fake:
            create(model="m", max_tokens=9, messages=ASKED)
        assert fake.calls[0].waited == seconds


@needs("google-genai>=2")
@pytest.mark.parametrize(("scripted", "seconds"), [(None, "30s"), (0.5, "0.5s")])
def test_google_says_in_details_how_long_to_wait(scripted: float | None, seconds: str) -> None:
    from google import genai
    from google.genai import errors

    with fake_llm.intercept([Error("rate_limit", retry_after=scripted)]):
        client = genai.Client()
        with pytest.raises(errors.ClientError) as caught:
            client.models.generate_content(model="gemini-2.5-flash", contents="Hi")
    details: Any = caught.value.details
    kinds = {detail["@type"].rpartition(".")[2]: detail for detail in details["error"]["details"]}
    assert list(kinds) == ["Help", "QuotaFailure", "RetryInfo"]
    assert kinds["RetryInfo"]["retryDelay"] == seconds
    assert caught.value.message is not None
    assert caught.value.message.endswith(f"Please retry in {seconds}.")


@needs("openai>=2")
@pytest.mark.parametrize("status", [402, 408, 418, 422, 498, 502, 524])
@pytest.mark.parametrize(
    "host", ["https://api.openai.com/v1", "https://api.deepseek.com", "https://openrouter.ai/api/v1"]
)
def test_a_status_that_no_name_means_is_an_error_of_the_vendor(host: str, status: int) -> None:
    import openai

    with fake_llm.intercept([Error(status)]), pytest.raises(openai.APIStatusError) as caught:
        openai_client(base_url=host).chat.completions.create(model="m", messages=ASKED)
    body: Any = caught.value.body
    assert caught.value.status_code == status
    assert body["message"]
    if status == 402 and "openai" not in host:
        assert body["message"].startswith("Insufficient ")


# --- inside a stream ------------------------------------------------------------------------------


def ask_responses(turn: Any) -> tuple[str, list[str], Any]:
    """The text, the kinds of the events, and the response of the last of them."""
    client = openai_client()
    text, kinds, last = "", list[str](), None
    with fake_llm.intercept([turn]):
        for event in client.responses.create(model="gpt-5", input="Hi", stream=True):
            kinds.append(event.type)
            text += event.delta if event.type == "response.output_text.delta" else ""
            last = getattr(event, "response", None)
    return text, kinds, last


@needs("openai>=2")
def test_each_end_of_a_stream_of_responses_is_a_line_of_script() -> None:
    import openai

    with pytest.raises(openai.APIError) as caught:
        ask_responses(Reply("Hel", then=Error("rate_limit")))
    assert caught.value.code == "rate_limit_exceeded"

    limit = {"code": "rate_limit_exceeded", "message": "Slow down."}
    text, kinds, last = ask_responses(Reply("Hel", finish_reason="failed", extra={"error": limit}))
    assert (text, kinds[-1], "error" in kinds) == ("Hel", "response.failed", False)
    assert (last.status, last.error.code, last.error.message) == ("failed", "rate_limit_exceeded", "Slow down.")

    text, kinds, last = ask_responses(Reply("Hel", finish_reason="length"))
    assert (text, kinds[-1], last.incomplete_details.reason) == ("Hel", "response.incomplete", "max_output_tokens")
    text, kinds, last = ask_responses(Reply("Hel", finish_reason="content_filter"))
    assert (text, kinds[-1], last.incomplete_details.reason) == ("Hel", "response.incomplete", "content_filter")


OWN = {"code": "own", "message": "In my words.", "type": "own_type", "param": None}


@needs("openai>=2")
@pytest.mark.parametrize(
    "host", ["https://api.openai.com/v1", "https://api.groq.com/openai/v1", "https://openrouter.ai/api/v1"]
)
def test_a_body_of_ones_own_is_what_the_error_event_says(host: str) -> None:
    import openai

    heard = []
    with (
        fake_llm.intercept([Reply("Hel", then=Error(500, body={"error": OWN}))]),
        pytest.raises(openai.APIError) as caught,
    ):
        for chunk in openai_client(base_url=host).chat.completions.create(model="m", messages=ASKED, stream=True):
            heard += [choice.delta.content or "" for choice in chunk.choices]
    assert ("".join(heard), caught.value.body) == ("Hel", OWN)


def test_the_error_event_of_responses_alone() -> None:
    """Where the vendor sends two, a body is all that is said."""
    import httpx

    alone = {**OWN, "type": "error", "sequence_number": 8}
    with fake_llm.intercept([Reply("Hel", then=Error(500, body=alone))]):
        asked = {"model": "gpt-5", "input": "Hi", "stream": True}
        text = httpx.post("https://api.openai.com/v1/responses", json=asked).text
    assert text.rstrip().rpartition("\n\n")[2].startswith("event: error\ndata: {")
    assert "response.failed" not in text


@needs("google-genai>=2")
def test_a_body_of_ones_own_inside_a_stream_of_google() -> None:
    from google import genai
    from google.genai import errors

    body = {"error": {"code": 499, "message": "The operation was cancelled.", "status": "CANCELLED"}}
    with fake_llm.intercept([Reply("Hel", then=Error(499, body=body))]):
        client = genai.Client()
        with pytest.raises(errors.ClientError) as caught:
            list(client.models.generate_content_stream(model="gemini-2.5-flash", contents="Hi"))
    assert (caught.value.code, caught.value.status) == (499, "CANCELLED")


@needs("anthropic>=1")
def test_a_body_of_ones_own_inside_a_stream_of_anthropic() -> None:
    import anthropic

    body = {"type": "error", "error": {"type": "own_error", "message": "In my words."}}
    with (
        fake_llm.intercept([Reply("Hel", then=Error(500, body=body))]),
        pytest.raises(anthropic.APIStatusError) as caught,
    ):
        list(anthropic.Anthropic().messages.create(model="m", max_tokens=9, messages=ASKED, stream=True))
    assert caught.value.body == body


@needs("boto3>=1.44")
@pytest.mark.parametrize("operation", ["ConverseStream", "InvokeModelWithResponseStream"])
def test_every_exception_that_bedrock_models_for_a_stream_can_be_scripted(operation: str) -> None:
    import boto3
    from botocore.exceptions import EventStreamError

    client: Any = boto3.session.Session().client("bedrock-runtime", region_name="us-east-1", **KEYS)
    shape = client.meta.service_model.operation_model(operation).output_shape
    events = shape.members["stream" if operation == "ConverseStream" else "body"]
    modelled = {name for name, member in events.members.items() if member.metadata.get("exception")}

    said: dict[str, Any] = {"max_tokens": 9, "anthropic_version": "bedrock-2023-05-31"}
    said |= {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
    found = set()
    with fake_llm.intercept() as fake:
        for error in [*map(Error, ERROR_NAMES), Error(424)]:
            fake.push(Reply("Hel", then=error))
            if operation == "ConverseStream":
                asked: Any = [{"role": "user", "content": [{"text": "Hi"}]}]
                stream = client.converse_stream(modelId="amazon.nova-lite-v1:0", messages=asked)["stream"]
            else:
                answer = client.invoke_model_with_response_stream(modelId=CLAUDE, body=json.dumps(said))
                stream = answer["body"]
            with pytest.raises(EventStreamError) as caught:
                list(stream)
            found.add(caught.value.response["Error"]["Code"])
    assert found == modelled


KEYS = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@needs("cohere>=7")
def test_cohere_says_in_its_last_event_what_went_wrong() -> None:
    """Nothing is raised; both generations keep the id of the answer."""
    import cohere

    with fake_llm.intercept([Reply("Hel", then=Error("overloaded", "Full."))] * 2):
        v2 = list(cohere.ClientV2("x").chat_stream(model="command-a-03-2025", messages=ASKED))
        v1 = list(cohere.Client("x").chat_stream(model="command-a-03-2025", message="Hi"))
    last: Any = v2[-1]
    assert (last.type, last.delta.finish_reason, last.delta.error) == ("message-end", "ERROR", "Full.")
    first, end = v1[0], v1[-1]
    assert first.event_type == "stream-start"
    assert end.event_type == "stream-end"
    assert (end.finish_reason, end.response.text) == ("ERROR", "Hel")
    assert end.response.generation_id == first.generation_id
