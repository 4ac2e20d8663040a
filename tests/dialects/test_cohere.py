"""Cohere's dialects alone: what is refused and what isn't, what is read, what stands in the bytes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

import fake_llm
from fake_llm import Error, Reply, ToolCall
from fake_llm._turns import ERROR_NAMES

V2, V1, GENERATE = (f"https://api.cohere.com/{path}" for path in ("v2/chat", "v1/chat", "v1/generate"))
EMBED, RERANK = "https://api.cohere.com/v2/embed", "https://api.cohere.com/v2/rerank"
USER = {"role": "user", "content": "Hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKED: Any = {"model": "command-a-03-2025", "messages": [USER]}


def ask(url: str, body: Any, turn: Any = "Hi.", **headers: str) -> Any:
    with fake_llm.intercept([turn], strict=False) as fake:
        response = httpx.post(url, json=body, headers=headers)
    return response, fake.calls[0]


@pytest.mark.parametrize(
    ("url", "body", "said"),
    [
        (V2, [], "invalid request: the body must be a JSON object."),
        (V2, {"messages": [USER]}, "a model parameter is required for this endpoint."),
        (V2, {"model": "m"}, "message must be at least 1 token long"),
        (V2, {"model": "m", "messages": []}, "message must be at least 1 token long"),
        (V2, {"model": "m", "messages": "Hi"}, "parameter 'messages' is of type string but should be of type array"),
        (V2, ASKED | {"max_tokens": "9"}, "parameter 'max_tokens' is of type string but should be of type int32"),
        (V2, ASKED | {"stream": 1}, "parameter 'stream' is of type number but should be of type bool"),
        (V2, ASKED | {"tools": {}}, "parameter 'tools' is of type object"),
        (V2, ASKED | {"messages": ["Hi"]}, "Invalid role in messages at index 0"),
        (V2, ASKED | {"messages": [USER, {"role": "model", "content": "x"}]}, "Invalid role in messages at index 1"),
        (V2, ASKED | {"messages": [{"role": "user"}]}, "message must not be empty in a turn"),
        (V2, ASKED | {"messages": [{"role": "user", "content": 5}]}, "should be of type string or array"),
        (V2, ASKED | {"messages": [{"role": "tool", "content": "x"}]}, "tool call id must be provided"),
        (V2, ASKED | {"messages": [USER, {"role": "assistant", "tool_calls": [CALL, CALL]}]}, "duplicate tool ids"),
        (V2, ASKED | {"messages": [USER, {"role": "assistant", "tool_calls": [{"type": "x"}]}]}, "of type function"),
        (V1, {"model": "m"}, "message must be at least 1 token long or tool results must be specified."),
        (V1, {"message": 5}, "parameter 'message' is of type number but should be of type string"),
        (V1, {"message": "x", "chat_history": [{"role": "me"}]}, "Invalid role in chat_history at index 0"),
        (V1, {"message": "x", "chat_history": [{"role": "USER"}]}, "all elements in history must have a message."),
        (
            V1,
            {"message": "x", "tools": [{"name": "t"}], "tool_results": [{"call": {"name": "t"}, "outputs": []}]},
            "cannot specify both message and tool_results in multistep mode",
        ),
        (GENERATE, {"prompt": ""}, "prompt must be at least 1 token long."),
        (GENERATE, {"prompt": "x", "num_generations": "2"}, "parameter 'num_generations' is of type string"),
        (EMBED, {"texts": ["x"]}, "a model parameter is required"),
        (EMBED, {"model": "m", "texts": ["x", 5]}, "parameter 'texts[1]' is of type number"),
        (EMBED, {"model": "m", "inputs": ["x"]}, "must be an object"),
        (RERANK, {"query": "q", "documents": ["a"]}, "a model parameter is required"),
        (RERANK, {"model": "m", "query": "q", "documents": [5]}, "document at index 0 cannot be empty"),
    ],
)
def test_a_malformed_request_gets_the_vendor_s_own_400(url: str, body: Any, said: str) -> None:
    response, call = ask(url, body)
    assert response.status_code == 400
    assert said in response.json()["message"]
    assert list(response.json()) == ["id", "message"]
    assert call.response.status == 400


@pytest.mark.parametrize("url", [V2, V1, GENERATE, EMBED, RERANK])
def test_a_body_that_is_no_json(url: str) -> None:
    with fake_llm.intercept(strict=False):
        response = httpx.post(url, content=b"{")
    assert response.status_code == 400
    assert response.json()["message"].startswith("invalid json syntax")


@pytest.mark.parametrize(
    ("url", "body"),
    [
        (V2, ASKED | {"max_tokens": None, "tools": None, "documents": [], "seed": 1, "temperature": 1}),
        (V2, ASKED | {"messages": [{"role": "User", "content": [{"type": "text", "text": ""}]}]}),
        (V2, ASKED | {"messages": [USER, {"role": "assistant", "tool_plan": "p", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c1", "content": "x"}]}),
        (V2, ASKED | {"unknown": 1}),
        (V1, {"message": "x", "chat_history": [{"role": "User", "message": ""}], "connectors": [{"id": "web-search"}]}),
        (V1, {"message": "", "tool_results": [{"call": {"name": "t", "parameters": {}}, "outputs": [{"a": 1}]}]}),
        (V1, {"message": "x", "force_single_step": True, "tools": [{"name": "t"}], "tool_results": [{"call": {"name": "t"}, "outputs": []}]}),
        (GENERATE, {"prompt": "x", "model": ""}),
        (EMBED, {"model": "embed-english-v2.0", "texts": ["x"]}),
        (RERANK, {"model": "rerank-v3.5", "query": "q", "documents": [{"text": "a"}, "b"]}),
    ],
)  # fmt: skip
def test_what_the_api_takes_is_not_refused(url: str, body: Any) -> None:
    response, _ = ask(url, body)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("name", ERROR_NAMES)
@pytest.mark.parametrize("url", [V2, V1])
def test_every_error_has_a_text_and_an_id(url: str, name: str) -> None:
    response, _ = ask(url, {**ASKED, "message": "Hi"}, Error(name, retry_after=2))
    body = response.json()
    assert response.status_code >= 400
    assert "{" not in body["message"]
    assert len(body["id"]) == 36
    assert response.headers["retry-after"] == "2"
    assert len(response.headers["x-debug-trace-id"]) == 32
    assert (body.get("error_type") == "TOO_MANY_TOKENS") is (name == "context_length")


def test_the_bytes_of_a_stream() -> None:
    response, _ = ask(V2, ASKED | {"stream": True}, Reply("Hi.", id="x", usage=fake_llm.Usage(3, 2)))
    assert response.headers["content-type"] == "text/event-stream"
    assert response.text == (
        'event: message-start\ndata: {"id":"x","type":"message-start","delta":{"message":{"role":"assistant",'
        '"content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}\n\n'
        'event: content-start\ndata: {"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}\n\n'
        'event: content-delta\ndata: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi."}}}}\n\n'
        'event: content-end\ndata: {"type":"content-end","index":0}\n\n'
        'event: message-end\ndata: {"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":'
        '{"input_tokens":3,"output_tokens":2},"tokens":{"input_tokens":3,"output_tokens":2},"cached_tokens":0}}}\n\n'
        "data: [DONE]\n\n"
    )


def test_the_bytes_of_a_stream_of_v1() -> None:
    response, _ = ask(V1, {"message": "Hi", "stream": True})
    assert response.headers["content-type"] == "application/stream+json"
    assert response.text.endswith("}\n")
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert [(line["is_finished"], line["event_type"]) for line in lines] == [
        (False, "stream-start"),
        (False, "text-generation"),
        (True, "stream-end"),
    ]
    assert response.text.startswith('{"is_finished":false,"event_type":"stream-start","generation_id":"')


def test_who_takes_json_alone_gets_lines() -> None:
    response, _ = ask(V2, ASKED | {"stream": True}, accept="application/json")
    lines = [json.loads(line) for line in response.text.splitlines()]
    assert [line["type"] for line in lines][::4] == ["message-start", "message-end"]


def test_a_call_without_arguments_has_no_delta() -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    response, _ = ask(V2, ASKED | {"stream": True, "tools": tools}, ToolCall("look"))
    assert "tool-call-start" in response.text
    assert "tool-call-delta" not in response.text


def test_what_a_request_of_v2_says() -> None:
    body = ASKED | {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "This?"}, {"type": "image_url", "image_url": {"url": "u"}}]},
            {"role": "assistant", "tool_plan": "I look.", "content": [{"type": "thinking", "thinking": "Hm."}], "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": {"a": 1, "b": "x"}}}]},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "description": "d", "parameters": {"type": "object"}}}],
        "tool_choice": "REQUIRED",
        "response_format": {"type": "json_object", "schema": {"type": "object"}},
        "stop_sequences": ["END"],
        "k": 5,
    }  # fmt: skip
    _, call = ask(V2, body, Reply(ToolCall("look")))
    assert call.system == "Be brief."
    assert [(item.role, item.text, item.thinking) for item in call.messages[1:]] == [
        ("user", "This?\n[image]", ""),
        ("assistant", "I look.", "Hm."),
        ("tool", '{"a":1,"b":"x"}', ""),
    ]
    [result] = call.tool_results
    assert (result.id, result.name) == ("c1", "look")
    assert (dict(call.tools), call.schema) == ({"look": {"type": "object"}}, {"type": "object"})
    assert (call.params["stop"], call.params["top_k"]) == (["END"], 5)


def test_what_a_request_of_v1_says() -> None:
    body = {
        "message": "",
        "chat_history": [
            {"role": "USER", "message": "Weather?"},
            {
                "role": "CHATBOT",
                "message": "I look.",
                "tool_calls": [{"name": "look", "parameters": {"city": "Paris"}}],
            },
        ],
        "tool_results": [
            {"call": {"name": "look", "parameters": {"city": "Paris"}}, "outputs": [{"sky": "blue"}]},
            {"call": {"name": "look", "parameters": {}, "generation_id": "g"}, "outputs": [{"a": 1, "b": 2}]},
        ],
        "tools": [
            {
                "name": "look",
                "description": "d",
                "parameter_definitions": {
                    "city": {"type": "str", "required": True, "description": "c"},
                    "days": {"type": "List[int]"},
                    "exact": {"type": "number"},
                    "any": {"type": "Foo"},
                },
            }
        ],
    }
    _, call = ask(V1, body)
    assert [item.role for item in call.messages] == ["user", "assistant", "tool", "tool"]
    assert call.messages[1].tool_calls[0] == ToolCall("look", {"city": "Paris"})
    assert [(result.name, result.id, result.text) for result in call.tool_results] == [
        ("look", None, "blue"),
        ("look", "g", '{"a":1,"b":2}'),
    ]
    assert call.tools["look"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "c"},
            "days": {"type": "array"},
            "exact": {"type": "number"},
            "any": {},
        },
        "required": ["city"],
    }
