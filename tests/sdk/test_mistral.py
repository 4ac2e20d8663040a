"""Mistral by its own SDK, in both generations: what it does differently, and its other ways to ask."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
from typing import Any

import pytest

import fake_llm
from _capability import has, needs
from fake_llm import Embedding, Error, FakeLLM, Image, Reply, ScriptMismatchError, Thinking, ToolCall, Usage

pytestmark = needs("mistralai>=1")
MODEL = "mistral-small-latest"
HI: list[Any] = [{"role": "user", "content": "Hi"}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
PARIS = ToolCall("get_weather", {"city": "Paris"})
ROME = ToolCall("get_weather", {"city": "Rome"})
PROMPT = {"model": "codestral-latest", "prompt": "def add(a, b):", "suffix": "    return c"}


def sdk() -> Any:
    return importlib.import_module("mistralai.client" if has("mistralai>=2") else "mistralai")


def errors() -> Any:
    return importlib.import_module("mistralai.client.errors" if has("mistralai>=2") else "mistralai.models")


def complete(**fields: Any) -> Any:
    return sdk().Mistral().chat.complete(**{"model": MODEL, "messages": HI, **fields})


def streamed(**fields: Any) -> list[Any]:
    with sdk().Mistral().chat.stream(**{"model": MODEL, "messages": HI, **fields}) as stream:
        return [event.data for event in stream]


# --- answers ------------------------------------------------------------------------------------


@fake_llm.intercept([[PARIS, ROME]])
def test_the_calls_of_a_turn_are_whole_and_in_one_chunk_with_the_end_and_the_usage(fake: FakeLLM) -> None:
    first, last = streamed(tools=TOOLS)
    choice = last.choices[0]

    assert first.choices[0].delta.role == "assistant"
    assert [call.function.arguments for call in choice.delta.tool_calls] == ['{"city": "Paris"}', '{"city": "Rome"}']
    assert [call.index for call in choice.delta.tool_calls] == [0, 1]
    assert all(re.fullmatch("[A-Za-z0-9]{9}", call.id) for call in choice.delta.tool_calls)
    assert choice.finish_reason == "tool_calls"
    assert last.usage.total_tokens == fake.usage.total


@fake_llm.intercept([[PARIS, ROME]])
def test_whole_calls_have_ids_of_nine_letters_and_digits() -> None:
    message = complete(tools=TOOLS).choices[0].message

    assert message.content == ""
    assert len({call.id for call in message.tool_calls}) == 2
    assert all(re.fullmatch("[A-Za-z0-9]{9}", call.id) for call in message.tool_calls)


@fake_llm.intercept(["Hello you"])
def test_the_last_piece_of_the_text_has_the_end_and_the_usage() -> None:
    chunks = streamed()

    assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "Hello", " you"]
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None, "stop"]
    assert [bool(chunk.usage) for chunk in chunks] == [False, False, True]


@fake_llm.intercept([ToolCall("get_weather", '{"city":', check=False)])
def test_arguments_that_are_a_text_stay_as_they_are_written() -> None:
    assert complete(tools=TOOLS).choices[0].message.tool_calls[0].function.arguments == '{"city":'


@fake_llm.intercept([[Thinking("Hm, "), Thinking("well.", signature="c2ln"), "Sunny.", Thinking("Sure?"), "Yes."]])
def test_thoughts_and_text_are_blocks_in_their_order() -> None:
    content = complete(model="magistral-medium-latest").choices[0].message.content

    assert [block.type for block in content] == ["thinking", "thinking", "text", "thinking", "text"]
    assert [block.thinking[0].text for block in content if block.type == "thinking"] == ["Hm, ", "well.", "Sure?"]
    assert [block.text for block in content if block.type == "text"] == ["Sunny.", "Yes."]
    assert content[0].closed is True


@fake_llm.intercept([[Thinking("Hm, well.", signature="c2ln"), "Sunny day."]])
def test_streamed_thoughts_are_blocks_and_streamed_text_is_text(fake: FakeLLM) -> None:
    deltas = [chunk.choices[0].delta.content for chunk in streamed(model="magistral-medium-latest")]
    thoughts = [delta[0] for delta in deltas if isinstance(delta, list)]

    assert "".join(thought.thinking[0].text for thought in thoughts) == "Hm, well."
    assert "".join(delta for delta in deltas if isinstance(delta, str)) == "Sunny day."
    sent = [json.loads(line[6:]) for line in fake.calls[0].response.body.decode().splitlines() if line[:7] == "data: {"]
    blocks = [event["choices"][0]["delta"]["content"] for event in sent]
    assert [block[0].get("signature") for block in blocks if isinstance(block, list)] == [None, "c2ln"]


@fake_llm.intercept(["yes", "yes"])
def test_log_probabilities_have_the_keys_of_the_sdk(fake: FakeLLM) -> None:
    if not has("mistralai>=3"):
        pytest.skip("needs mistralai>=3")
    whole = complete(logprobs=True, top_logprobs=2).choices[0].logprobs.content[0]
    chunks = streamed(logprobs=True, top_logprobs=2)

    assert (whole.token, len(whole.top_logprobs)) == ("yes", 2)
    assert chunks[-1].choices[0].logprobs.content[0].token_id == whole.token_id


@fake_llm.intercept([Reply("x", usage=Usage(120, 30, cached_tokens=40))])
def test_what_came_from_the_cache_is_told(fake: FakeLLM) -> None:
    usage = complete().usage.model_dump() if has("mistralai>=2") else None
    complete() if usage is None else None

    counted = json.loads(fake.calls[0].response.body)["usage"]
    assert counted["prompt_tokens_details"] == {"cached_tokens": 40}
    assert usage is None or usage["prompt_tokens_details"] == {"cached_tokens": 40}


@fake_llm.intercept(["ok"])
def test_the_answer_says_who_gave_it(fake: FakeLLM) -> None:
    assert re.fullmatch("[0-9a-f]{32}", complete().id)
    headers = fake.calls[0].response.headers
    assert headers["mistral-correlation-id"] == headers["x-kong-request-id"]
    assert fake.calls[0].provider == "mistral"
    if has("mistralai>=2"):  # the generation before doesn't read the variable
        assert fake.calls[0].headers["authorization"] == "Bearer fake-llm"


# --- requests -----------------------------------------------------------------------------------


@fake_llm.intercept(["A cat."])
def test_a_request_with_all_that_mistral_takes_is_read(fake: FakeLLM) -> None:
    complete(
        messages=[
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {"type": "image_url", "image_url": "https://example.com/cat.png"},
                    {"type": "document_url", "document_url": "https://example.com/cat.pdf"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Whiskers."}]},
                    {"type": "text", "text": "A c"},
                ],
                "prefix": True,
            },
        ],
        safe_prompt=True,
        random_seed=7,
        stop=["."],
        tools=TOOLS,
        tool_choice="auto",
        parallel_tool_calls=False,
        prompt_mode="reasoning",
        prediction={"type": "content", "content": "A cat"},
    )
    call = fake.calls[0]
    assert call.system == "Be brief."
    assert call.last_user_text == "What is it?\n[image]\n[file]"
    assert (call.messages[-1].text, call.messages[-1].thinking) == ("A c", "Whiskers.")
    assert call.params["safe_prompt"] is True
    assert call.params["random_seed"] == 7
    assert call.params["stop"] == ["."]


@pytest.mark.parametrize("form", ["json_object", "json_schema"])
@fake_llm.intercept([{"city": "Paris"}])
def test_structured_output(fake: FakeLLM, form: str) -> None:
    wanted: Any = {"type": form}
    if form == "json_schema":
        wanted["json_schema"] = {"name": "Place", "schema": PARAMETERS, "strict": True}
    answer = complete(response_format=wanted)

    assert json.loads(answer.choices[0].message.content) == {"city": "Paris"}
    assert fake.calls[0].schema == (PARAMETERS if form == "json_schema" else {})


def test_an_image_is_no_part_of_an_answer() -> None:
    with pytest.raises(ScriptMismatchError, match="carry Image"), fake_llm.intercept([Image(b"x")]):
        complete()


# --- other ways to ask --------------------------------------------------------------------------


@fake_llm.intercept(["    c = a + b\n"] * 4)
def test_fill_in_the_middle(fake: FakeLLM) -> None:
    fim = sdk().Mistral().fim
    whole = fim.complete(**PROMPT)
    pieces = [event.data.choices[0].delta.content for event in fim.stream(**PROMPT)]

    async def later() -> tuple[Any, list[Any]]:
        fim = sdk().Mistral().fim
        stream = await fim.stream_async(**PROMPT)
        return await fim.complete_async(**PROMPT), [event.data.choices[0].delta.content async for event in stream]

    whole_later, pieces_later = asyncio.run(later())
    assert whole.choices[0].message.content == whole_later.choices[0].message.content == "    c = a + b\n"
    assert "".join(pieces) == "".join(pieces_later) == "    c = a + b\n"
    call = fake.calls[0]
    assert (call.operation, call.model, call.last_user_text) == ("chat", "codestral-latest", "def add(a, b):")
    assert call.params["suffix"] == "    return c"
    assert [call.stream for call in fake.calls] == [False, True, True, False]


@fake_llm.intercept(["middle"])
def test_fill_in_the_middle_on_the_host_for_code(fake: FakeLLM) -> None:
    client = sdk().Mistral(server_url="https://codestral.mistral.ai")

    assert client.fim.complete(**PROMPT).choices[0].message.content == "middle"
    assert fake.calls[0].provider == "mistral"


@fake_llm.intercept([PARIS, "Sunny.", "Sunny."])
def test_agents(fake: FakeLLM) -> None:
    agents = sdk().Mistral().agents
    asked: dict[str, Any] = {"agent_id": "ag-1", "messages": HI, "tools": TOOLS}
    (call,) = agents.complete(**asked).choices[0].message.tool_calls
    result = {"role": "tool", "tool_call_id": call.id, "name": "get_weather", "content": "sunny"}
    history = [*HI, {"role": "assistant", "content": "", "tool_calls": [call]}, result]
    answer = agents.complete(**asked | {"messages": history})

    async def later() -> list[Any]:
        stream = await sdk().Mistral().agents.stream_async(**asked)
        return [event.data.choices[0].delta.content async for event in stream]

    assert answer.choices[0].message.content == "Sunny."
    assert "".join(asyncio.run(later())) == "Sunny."
    assert [call.model for call in fake.calls] == ["ag-1"] * 3
    assert fake.calls[1].tool_results[0].text == "sunny"


@fake_llm.intercept(context_window=4096)
def test_models(fake: FakeLLM) -> None:
    models = sdk().Mistral().models
    listed = models.list().data
    one = models.retrieve(model_id="magistral-medium-latest")

    assert MODEL in [model.id for model in listed]
    assert (one.id, one.type, one.max_context_length) == ("magistral-medium-latest", "base", 4096)
    assert one.capabilities.function_calling is True
    assert [call.operation for call in fake.side_calls] == ["models", "models"]
    assert not fake.calls


@fake_llm.intercept()
def test_embeddings_in_other_numbers(fake: FakeLLM) -> None:
    embeddings = sdk().Mistral().embeddings

    def embed(**more: Any) -> list[float]:
        (found,) = embeddings.create(model="codestral-embed", inputs="a text", output_dimension=64, **more).data
        return list(found.embedding)

    plain = embed()
    assert len(plain) == 64
    assert [value > 0 for value in embed(output_dtype="int8")] == [
        round(value / max(map(abs, plain)) * 127) > 0 for value in plain
    ]
    assert {value for value in embed(output_dtype="uint8") if not 0 <= value <= 255} == set()
    assert len(embed(output_dtype="ubinary")) == 8
    assert {value for value in embed(output_dtype="binary") if not -128 <= value <= 127} == set()
    assert fake.calls[0].params["dimensions"] == 64


def test_an_embedding_that_is_pinned() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply(Embedding([0.5, 0.25]))
        answer = sdk().Mistral().embeddings.create(model="mistral-embed", inputs=["a", "b"])
    assert [item.embedding for item in answer.data] == [[0.5, 0.25]] * 2
    assert answer.usage.total_tokens == fake.calls[0].usage.total


# --- errors -------------------------------------------------------------------------------------

SAID = [
    (Error("authentication"), 401, {"detail": "Invalid API Key"}),
    (Error("not_found"), 400, {"type": "invalid_model", "code": "1500", "message": f"Invalid model: {MODEL}"}),
    (Error("rate_limit"), 429, {"type": "rate_limited", "code": "1300", "raw_status_code": 429}),
    (Error("overloaded"), 503, {"type": "service_tier_capacity_exceeded", "object": "error"}),
    (Error("timeout"), 504, {"message": "The upstream server is timing out"}),
    (Error(500, "Broken."), 500, {"message": "Broken.", "object": "error"}),
]


@pytest.mark.parametrize(("error", "status", "said"), SAID, ids=[str(error) for error, *_ in SAID])
def test_an_error_is_in_mistrals_own_body(error: Error, status: int, said: dict[str, Any]) -> None:
    with fake_llm.intercept([error]), pytest.raises(errors().SDKError) as caught:
        complete()
    assert caught.value.status_code == status
    assert json.loads(caught.value.body).items() >= said.items()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_validation_error_that_is_scripted(stream: bool) -> None:
    with fake_llm.intercept([Error(422, "Not so.")]), pytest.raises(errors().HTTPValidationError) as caught:
        streamed() if stream else complete()
    assert [item.msg for item in caught.value.data.detail] == ["Not so."]


@fake_llm.intercept([Error(429, retry_after=3)])
def test_how_long_to_wait_is_in_the_header() -> None:
    with pytest.raises(errors().SDKError) as caught:
        complete()
    assert caught.value.headers["retry-after"] == "3"


def refused(path: str, body: Any) -> Any:
    """The answer to a body that the SDK wouldn't send."""
    import httpx

    with fake_llm.intercept(["never asked for"], strict=False) as fake:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = httpx.post(f"https://api.mistral.ai/v1{path}", content=raw, verify=False)
        assert fake.remaining == 1
    return response


CHAT, FIM, AGENTS, EMBED = "/chat/completions", "/fim/completions", "/agents/completions", "/embeddings"
WRONG = [
    (CHAT, b"{nothing", "json_invalid", ["body", 1]),
    (CHAT, b"\xff", "json_invalid", ["body", 0]),
    (CHAT, [1], "model_attributes_type", ["body"]),
    (CHAT, {"messages": HI}, "missing", ["body", "model"]),
    (CHAT, {"model": "m"}, "missing", ["body", "messages"]),
    (CHAT, {"model": None, "messages": HI}, "string_type", ["body", "model"]),
    (CHAT, {"model": "m", "messages": "Hi"}, "list_type", ["body", "messages"]),
    (CHAT, {"model": "m", "messages": ["Hi"]}, "model_attributes_type", ["body", "messages", 0]),
    (CHAT, {"model": "m", "messages": [{"content": "Hi"}]}, "union_tag_not_found", ["body", "messages", 0]),
    (CHAT, {"model": "m", "messages": [{"role": "boss"}]}, "union_tag_invalid", ["body", "messages", 0]),
    (CHAT, {"model": "m", "messages": [{"role": []}]}, "union_tag_invalid", ["body", "messages", 0]),
    (
        CHAT,
        {"model": "m", "messages": [{"role": "user", "content": 7}]},
        "string_type",
        ["body", "messages", 0, "user", "content"],
    ),
    (
        CHAT,
        {"model": "m", "messages": [{"role": "assistant", "tool_calls": {}}]},
        "list_type",
        ["body", "messages", 0, "assistant", "tool_calls"],
    ),
    (CHAT, {"model": "m", "messages": HI, "temperature": "hot"}, "float_type", ["body", "temperature"]),
    (CHAT, {"model": "m", "messages": HI, "max_tokens": 1.5}, "int_type", ["body", "max_tokens"]),
    (CHAT, {"model": "m", "messages": HI, "stream": "yes"}, "bool_type", ["body", "stream"]),
    (CHAT, {"model": "m", "messages": HI, "stop": 7}, "string_type", ["body", "stop"]),
    (
        CHAT,
        {"model": "m", "messages": HI, "max_completion_tokens": 9},
        "extra_forbidden",
        ["body", "max_completion_tokens"],
    ),
    (FIM, {"model": "codestral-latest"}, "missing", ["body", "prompt"]),
    (FIM, {"model": "codestral-latest", "prompt": ["a"]}, "string_type", ["body", "prompt"]),
    (AGENTS, {"messages": HI}, "missing", ["body", "agent_id"]),
    (EMBED, {"model": "mistral-embed"}, "missing", ["body", "input"]),
    (EMBED, {"model": "mistral-embed", "input": [[1, 2]]}, "string_type", ["body", "input", "str"]),
    (
        EMBED,
        {"model": "mistral-embed", "input": "a", "output_dimension": "b"},
        "int_type",
        ["body", "output_dimension"],
    ),
]


@pytest.mark.parametrize(("path", "body", "kind", "where"), WRONG)
def test_a_malformed_request_gets_the_422_of_mistral(path: str, body: Any, kind: str, where: list[Any]) -> None:
    response = refused(path, body)
    assert response.status_code == 422
    assert [(item["type"], item["loc"]) for item in response.json()["detail"]] == [(kind, where)]


def test_all_that_is_wrong_is_told_at_once() -> None:
    detail = refused(CHAT, {"temperature": "hot", "stream": 1}).json()["detail"]
    assert [item["loc"][-1] for item in detail] == ["model", "messages", "temperature", "stream"]


def test_the_sdk_knows_the_422() -> None:
    thought = [*HI, {"role": "assistant", "content": "a", "reasoning_content": "Hm."}, *HI]
    response = refused(CHAT, {"model": "m", "messages": thought})
    known = errors().HTTPValidationErrorData.model_validate(response.json())
    assert known.detail[0].loc == ["body", "messages", 1, "assistant", "reasoning_content"]


CALLED: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "abcdefghi", "name": "get_weather", "content": "sunny"}
SAID_SO = {"role": "assistant", "content": "Sunny."}
DISORDER: list[tuple[list[Any], str]] = [
    ([*HI, SAID_SO], "Expected last role User or Tool"),
    ([*HI, CALLED, *HI], "Not the same number of function calls and responses"),
    ([*HI, CALLED, RESULT, RESULT], "Not the same number of function calls and responses"),
    ([*HI, CALLED, RESULT, *HI], "Unexpected role 'user' after role 'tool'"),
    ([], "at least one message"),
]


@pytest.mark.parametrize(("messages", "said"), DISORDER)
def test_messages_out_of_order_are_refused(messages: list[Any], said: str) -> None:
    with fake_llm.intercept(["no"], strict=False), pytest.raises(errors().SDKError, match=re.escape(said)) as caught:
        complete(messages=messages)
    assert caught.value.status_code == 400


@pytest.mark.parametrize(
    "messages",
    [
        [*HI, CALLED, RESULT],
        [*HI, CALLED, RESULT, SAID_SO, *HI],
        [*HI, {**SAID_SO, "prefix": True}],
        [{"role": "system", "content": "a"}, *HI, *HI],
        [{"role": "system", "content": "a"}],
    ],
)
def test_messages_in_order_are_taken(messages: list[Any]) -> None:
    with fake_llm.intercept(["ok"]):
        assert complete(messages=messages).choices[0].message.content == "ok"


def test_a_prompt_that_is_too_long() -> None:
    with fake_llm.intercept(["no"], context_window=5, strict=False), pytest.raises(errors().SDKError) as caught:
        complete(messages=[{"role": "user", "content": "many words " * 9}])
    said = json.loads(caught.value.body)
    assert re.fullmatch(
        r"Prompt contains \d+ tokens, too large for model with 5 maximum context length", said["message"]
    )
    assert said["code"] == "3051"


def test_another_vendors_object_and_mistrals_own() -> None:
    with fake_llm.intercept([[Thinking("Hm."), "Yes."]]):
        answer = complete(model="magistral-medium-latest")
    with fake_llm.intercept([answer, answer]) as fake:
        assert complete() == answer
        deltas = [chunk.choices[0].delta.content for chunk in streamed()]
    assert [delta for delta in deltas if isinstance(delta, str)] == ["", "Yes."]
    assert fake.calls[1].usage.total == answer.usage.total_tokens
