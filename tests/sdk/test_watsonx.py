"""What ibm-watsonx-ai does beside a chat: prompts, tokens, embeddings, deployments, errors in a stream; sync and async."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import load
from fake_llm import Embedding, Error, FakeLLM, Raw, Reply, ToolCall, Usage

watsonx = load("ibm-watsonx-ai", "ibm_watsonx_ai")

URL = "https://us-south.ml.cloud.ibm.com"
GRANITE = "ibm/granite-4-h-small"
ASKED = [{"role": "user", "content": "Weather in Paris?"}]


def client(url: str = URL) -> Any:
    credentials = watsonx.Credentials(url=url, api_key="secret-of-mine")
    return watsonx.APIClient(credentials, project_id="my-project")


def inference(name: str | None = GRANITE, url: str = URL, **options: Any) -> Any:
    from ibm_watsonx_ai.foundation_models import ModelInference

    return ModelInference(model_id=name, api_client=client(url), max_retries=0, **options)


class Caller:
    """One way to call a method of a model."""

    def __init__(self, way: str) -> None:
        self.is_async = way == "async"

    def __call__(self, name: str, *args: Any, **options: Any) -> Any:
        async def on_loop() -> Any:
            model = inference()
            value = getattr(model, "a" + name)(*args, **options)
            if inspect.isawaitable(value):
                value = await value
            found = [item async for item in value] if hasattr(value, "__aiter__") else value
            await model._client.async_httpx_client.aclose()
            return found

        if self.is_async:
            return asyncio.run(on_loop())
        value = getattr(inference(), name.replace("generate_stream", "generate_text_stream"))(*args, **options)
        return list(value) if inspect.isgenerator(value) else value


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Caller:
    return Caller(request.param)


# --- prompts ------------------------------------------------------------------------------------


@fake_llm.intercept([Reply("It is sunny.", usage=Usage(12, 4))])
def test_generate(call: Caller, fake: FakeLLM) -> None:
    answer = call("generate", "Weather?", params={"max_new_tokens": 9, "stop_sequences": ["x"]})

    (result,) = answer["results"]
    assert result == {
        "generated_text": "It is sunny.",
        "generated_token_count": 4,
        "input_token_count": 12,
        "stop_reason": "eos_token",
    }
    asked = fake.calls[0]
    assert (asked.dialect, asked.model, asked.last_user_text, asked.stream) == (
        "watsonx_generation",
        GRANITE,
        "Weather?",
        False,
    )
    assert (asked.params["max_tokens"], asked.params["stop"]) == (9, ["x"])


@fake_llm.intercept([Reply(chunks=["It", " is\n", "sunny."], finish_reason="length", usage=Usage(12, 4))])
def test_generate_streamed(call: Caller, fake: FakeLLM) -> None:
    options = {} if call.is_async else {"raw_response": True}
    results = [event["results"][0] for event in call("generate_stream", "Weather?", **options)]

    assert [result["generated_text"] for result in results] == ["", "It", " is\n", "sunny.", ""]
    assert [result["generated_token_count"] for result in results] == [0, 1, 2, 3, 4]
    assert [result["input_token_count"] for result in results] == [12, 0, 0, 0, 0]
    assert [result["stop_reason"] for result in results] == ["not_finished"] * 4 + ["max_tokens"]
    assert fake.calls[0].stream


def test_prompts_at_once() -> None:
    with fake_llm.intercept(default="Yes.") as fake:
        assert inference().generate_text(["one", "two", "three"]) == ["Yes."] * 3
    assert sorted(call.last_user_text for call in fake.calls) == ["one", "three", "two"]


def test_tokens_are_counted() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="count_tokens").reply(Reply(usage=Usage(42, 0)))
        assert inference().tokenize("How many?")["result"]["token_count"] == 42


def test_events_are_numbered_and_named() -> None:
    with fake_llm.intercept(["Hi"]):
        response = httpx.post(
            f"{URL}/ml/v1/text/generation_stream?version=2026-01-01", json={"model_id": "google/flan-ul2", "input": "x"}
        )
    first, second, last, end = response.text.split("\n\n")
    assert [event.split("\n")[:2] for event in (first, second, last)] == [
        [f"id: {number}", "event: message"] for number in (1, 2, 3)
    ]
    assert end == ""
    assert response.headers["content-type"] == "text/event-stream"
    assert json.loads(first.split("data: ")[1])["system"]["warnings"][0]["id"] == "disclaimer_warning"


# --- chat ---------------------------------------------------------------------------------------


@fake_llm.intercept([ToolCall("get_weather", {"city": "Paris"})])
def test_a_tool_that_must_be_called(call: Caller, fake: FakeLLM) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]
    answer = call("chat", ASKED, tools=tools, tool_choice_option="required")

    assert answer["model_id"] == GRANITE
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert "content" not in answer["choices"][0]["message"]
    assert fake.calls[0].body["tool_choice_option"] == "required"
    assert "tool_choice_option" not in fake.calls[0].params


@fake_llm.intercept(["Hello!"])
def test_what_is_asked_before_takes_no_turn(call: Caller, fake: FakeLLM) -> None:
    call("chat", ASKED)

    assert [each.operation for each in fake.side_calls] == ["token", "projects", "models"]
    assert len(fake.calls) == 1
    assert "secret-of-mine" not in str(fake.transcript())


def test_a_deployment_names_no_model() -> None:
    with fake_llm.intercept(["Hello!"]):
        response = httpx.post(f"{URL}/ml/v1/deployments/my-own/text/chat", json={"messages": ASKED})
    assert response.json()["model_id"] == "my-own"


def test_any_model_is_answered_where_it_is_not_looked_up() -> None:
    with fake_llm.intercept(["Hello!"]):
        answer = inference("acme/own", "https://eu-de.ml.cloud.ibm.com", validate=False).chat(ASKED)
    assert answer["model"] == "acme/own"


# --- errors -------------------------------------------------------------------------------------


@fake_llm.intercept([Reply("Once upon a time", then=Error("overloaded"))])
@pytest.mark.parametrize("name", ["chat_stream", "generate_stream"])
def test_an_error_in_a_stream(call: Caller, name: str) -> None:
    from ibm_watsonx_ai.wml_client_error import WMLClientError

    with pytest.raises(WMLClientError, match="Error event occurred during") as caught:
        call(name, ASKED if name == "chat_stream" else "Weather?")
    assert json.loads(caught.value.reason)["errors"][0]["code"] == "service_overloaded"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Error("authentication"), 401, "authentication_token_not_valid"),
        (Error("quota"), 403, "token_quota_reached"),
        (Error("not_found"), 404, "model_not_supported"),
        (Error("rate_limit"), 429, "rate_limit_reached_requests"),
        (Error("context_length"), 400, "invalid_input_argument"),
        (Error(500), 500, "downstream_request_failed"),
    ],
)
def test_errors(call: Caller, error: Error, status: int, code: str) -> None:
    from ibm_watsonx_ai.wml_client_error import ApiRequestFailure

    with fake_llm.intercept([error]), pytest.raises(ApiRequestFailure) as caught:
        call("chat", ASKED)
    assert caught.value.response.status_code == status
    assert caught.value.response.json()["errors"][0]["code"] == code


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("chat", {"messages": ASKED}, "model_id is required"),
        ("chat", {"model_id": 5, "messages": ASKED}, "model_id should be a string"),
        ("chat", {"model_id": GRANITE, "messages": "Hi"}, "expected an array of objects"),
        ("chat", {"model_id": GRANITE}, "Missing required parameter: 'messages'"),
        ("chat", [], "not valid JSON"),
        ("generation", {"model_id": GRANITE}, "input is required"),
        ("generation", {"model_id": GRANITE, "input": ["x"]}, "input should be a string"),
        ("generation_stream", {"input": "x"}, "model_id is required"),
        ("generation", 5, "expected an object, but got an integer"),
        ("embeddings", {"model_id": GRANITE, "inputs": "x"}, "a list of strings"),
        ("embeddings", {"inputs": ["x"]}, "model_id and inputs"),
    ],
)
def test_malformed_requests_are_refused(path: str, body: Any, said: str) -> None:
    with fake_llm.intercept(["Hi"], strict=False) as fake:
        response = httpx.post(f"{URL}/ml/v1/text/{path}", json=body)
    assert response.status_code == 400
    assert said in response.json()["errors"][0]["message"]
    assert fake.remaining == 1


def test_a_body_that_is_no_json_is_refused() -> None:
    with fake_llm.intercept(["Hi"], strict=False):
        response = httpx.post(f"{URL}/ml/v1/text/chat", content=b"{")
    assert (response.status_code, response.json()["errors"][0]["code"]) == (400, "invalid_request_entity")


# --- embeddings ---------------------------------------------------------------------------------


def test_embeddings() -> None:
    from ibm_watsonx_ai.foundation_models import Embeddings

    with fake_llm.intercept() as fake:
        embed = Embeddings(model_id="ibm/slate-30m-english-rtrvr", api_client=client())
        assert [len(vector) for vector in embed.embed_documents(["a", "b"])] == [384, 384]
        fake.when(operation="embeddings").reply([Embedding([0.5]), Embedding([1.0])])
        assert embed.embed_documents(["a", "b"]) == [[0.5], [1.0]]
    assert fake.calls[0].usage.input_tokens > 0


def test_a_verbatim_answer() -> None:
    given = {"model_id": GRANITE, "results": [{"generated_text": "So.", "stop_reason": "eos_token"}]}
    with fake_llm.intercept([Raw(given)]):
        assert inference().generate_text("x") == "So."
