"""What DashScope's own SDK hears beside a chat in increments: bare texts, repeated texts, pictures, errors, vectors."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import load
from fake_llm import Embedding, Error, FakeLLM, Framing, Reply, Thinking, ToolCall, Usage

dashscope = load("dashscope>=2")

BASE = "https://dashscope.aliyuncs.com/api/v1/services"
GENERATION = f"{BASE}/aigc/text-generation/generation"
ASKED: dict[str, Any] = {"model": "qwen-plus", "messages": [{"role": "user", "content": "Hi"}], "api_key": "sk-mine"}
MESSAGE = {"result_format": "message"}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": WEATHER}}]


def call(**options: Any) -> Any:
    answer = dashscope.Generation.call(**ASKED, **options)
    return list(answer) if options.get("stream") else answer


@fake_llm.intercept([Reply("Hello there", usage=Usage(7, 2, cached_tokens=3))])
def test_a_bare_text_is_what_one_gets_without_asking(fake: FakeLLM) -> None:
    answer = call(max_tokens=9)

    assert (answer.output.text, answer.output.finish_reason, answer.output.choices) == ("Hello there", "stop", None)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (7, 2)
    assert answer.usage["prompt_tokens_details"] == {"cached_tokens": 3}
    asked = fake.calls[0]
    assert (asked.dialect, asked.model, asked.params["max_tokens"]) == ("dashscope_generation", "qwen-plus", 9)
    assert "sk-mine" not in str(asked.headers.items())


@fake_llm.intercept(["Hello!"])
def test_a_prompt_with_a_history(fake: FakeLLM) -> None:
    asked = {"prompt": "And now?", "history": [{"user": "Hi", "bot": "Hello."}]}
    dashscope.Generation.call(model="qwen-plus", api_key="k", **asked)

    assert [(message.role, message.text) for message in fake.calls[0].messages] == [
        ("user", "Hi"),
        ("assistant", "Hello."),
        ("user", "And now?"),
    ]


@fake_llm.intercept(["one two\nthree"])
def test_a_stream_repeats_what_was_said() -> None:
    heard = [each.output.choices[0] for each in call(stream=True, **MESSAGE)]

    assert [choice.message.content for choice in heard] == ["one", "one two", "one two\nthree", "one two\nthree"]
    assert [choice.finish_reason for choice in heard] == ["null", "null", "null", "stop"]


@pytest.mark.parametrize("incremental", [None, False])
def test_a_call_in_a_stream_that_repeats(incremental: bool | None) -> None:
    """With `False` the SDK asks for increments and puts them together itself."""
    options = {} if incremental is None else {"incremental_output": incremental}
    with fake_llm.intercept([[Thinking("Hm."), "Let me look.", ToolCall("get_weather", {"city": "Paris"})]]):
        last = call(stream=True, tools=TOOLS, **MESSAGE, **options)[-1].output.choices[0]
    (called,) = last.message.tool_calls
    assert called["function"]["name"] == "get_weather"
    assert json.loads(called["function"]["arguments"]) == {"city": "Paris"}
    assert (last.message.reasoning_content, last.message.content) == ("Hm.", "Let me look.")
    assert last.finish_reason == "tool_calls"


@pytest.mark.parametrize("stream", [False, True])
def test_what_has_pictures_says_its_text_in_a_list(stream: bool) -> None:
    content = [{"image": "https://example.com/a.png"}, {"text": "What is this?"}]
    with fake_llm.intercept(["A cat."]) as fake:
        heard = dashscope.MultiModalConversation.call(
            model="qwen-vl-max", messages=[{"role": "user", "content": content}], api_key="k", stream=stream
        )
        answers = list(heard) if stream else [heard]
    assert answers[-1].output.choices[0].message.content == [{"text": "A cat."}]
    assert fake.calls[0].last_user_text == "[image]\nWhat is this?"


def test_the_layout_of_a_stream() -> None:
    body = {"model": "qwen-plus", "input": {"prompt": "Hi"}, "parameters": {}}
    with fake_llm.intercept(["Hi", Reply("Hi", framing=Framing(space=True)), Reply("Hi", then=Error(500))]):
        plain, spaced, broken = (
            httpx.post(GENERATION, json=body, headers={"x-dashscope-sse": "enable"}).text for _ in range(3)
        )
    assert plain.split("data:")[0] == "id:1\nevent:result\n:HTTP_STATUS/200\n"
    assert plain.split("\n\n")[1].startswith("id:2\nevent:result\n:HTTP_STATUS/200\ndata:{")
    assert spaced.startswith("id: 1\nevent: result\n:HTTP_STATUS/200\ndata: {")
    assert "event:error\n:HTTP_STATUS/400\n" in broken


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Error("authentication"), 401, "InvalidApiKey"),
        (Error("permission"), 403, "AccessDenied"),
        (Error("not_found"), 404, "ModelNotFound"),
        (Error("content_filter"), 400, "DataInspectionFailed"),
        (Error(429), 429, "Throttling.RateQuota"),
        (Error("quota"), 429, "Throttling.AllocationQuota"),
        (Error(500), 500, "InternalError"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_come_as_answers(error: Error, status: int, code: str, stream: bool) -> None:
    with fake_llm.intercept([error]):
        heard = call(stream=stream)
    answer = heard[0] if stream else heard
    assert (answer.status_code, answer.code) == (status, code)
    assert answer.message
    assert answer.request_id


@fake_llm.intercept([Reply("Once upon", then=Error("content_filter"))])
def test_an_error_in_a_stream() -> None:
    *_, last = call(stream=True, incremental_output=True, **MESSAGE)
    assert last.code == "DataInspectionFailed"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("aigc/text-generation/generation", []),
        ("aigc/text-generation/generation", {"input": {"prompt": "Hi"}}),
        ("aigc/text-generation/generation", {"model": "m"}),
        ("aigc/text-generation/generation", {"model": "m", "input": {}}),
        ("aigc/text-generation/generation", {"model": "m", "input": {"prompt": 5}}),
        ("aigc/text-generation/generation", {"model": "m", "input": {"messages": "Hi"}}),
        ("aigc/text-generation/generation", {"model": "m", "input": {"messages": [5]}}),
        ("aigc/text-generation/generation", {"model": "m", "input": {"prompt": "Hi"}, "parameters": []}),
        ("embeddings/text-embedding/text-embedding", {"model": "m", "input": {"texts": "a"}}),
        ("embeddings/text-embedding/text-embedding", {"input": {"texts": ["a"]}}),
    ],
)
def test_malformed_requests_are_refused(path: str, body: Any) -> None:
    with fake_llm.intercept(["Hi"], strict=False) as fake:
        response = httpx.post(f"{BASE}/{path}", json=body)
    assert (response.status_code, response.json()["code"]) == (400, "InvalidParameter")
    assert fake.remaining == 1


def test_embeddings() -> None:
    with fake_llm.intercept() as fake:
        made = dashscope.TextEmbedding.call(model="text-embedding-v4", input=["a", "b"], dimension=64, api_key="k")
        fake.when(operation="embeddings").reply(Embedding([0.5, 1.0]))
        pinned = dashscope.TextEmbedding.call(model="text-embedding-v4", input="a", api_key="k")
    assert [len(item["embedding"]) for item in made.output["embeddings"]] == [64, 64]
    assert made.usage["total_tokens"] == fake.calls[0].usage.input_tokens
    assert pinned.output["embeddings"] == [{"embedding": [0.5, 1.0], "text_index": 0}]
