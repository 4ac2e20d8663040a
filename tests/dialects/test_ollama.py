"""Ollama's own API in bytes: lines, layouts, refusals; what is heard of it by its SDK is in `tests/sdk`."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import httpx
import pytest

import fake_llm
from fake_llm import Error, FakeLLM, Framing, Image, Raw, Reply, Thinking, ToolCall, Usage

CHAT, GENERATE = "http://localhost:11434/api/chat", "http://localhost:11434/api/generate"
HI: dict[str, Any] = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Hi"}]}
PROMPT: dict[str, Any] = {"model": "qwen3:8b", "prompt": "Hi"}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
TURN = Reply(Thinking("Hm."), "Žluťoučký <kůň> 🐎\n\nend", ToolCall("f", {"a": "\u2028&"}, check=False))
SEEN = {"id": "call_1", "function": {"index": 0, "name": "f", "arguments": {}}}


def lines(response: httpx.Response) -> list[Any]:
    return [json.loads(line) for line in response.content.decode("utf-8-sig").split("\n") if line.strip()]


def answered(turn: Any, url: str = CHAT, **asked: Any) -> httpx.Response:
    with fake_llm.intercept([turn]):
        return httpx.post(url, json={**(HI if url == CHAT else PROMPT), **asked})


# --- layouts ---------------------------------------------------------------------------------------


def test_a_chat_streams_unless_it_is_told_not_to() -> None:
    streamed = answered("Hello there", stream=True)
    assert answered("Hello there").content == answered("Hello there", stream=None).content
    assert streamed.headers["content-type"] == "application/x-ndjson"
    assert streamed.content.endswith(b"}\n")
    assert [line["done"] for line in lines(streamed)] == [False, False, True]
    whole = answered("Hello there", stream=False)
    assert whole.headers["content-type"] == "application/json; charset=utf-8"
    assert whole.content.endswith(b"}")
    assert list(whole.json()) == [
        *("model", "created_at", "message", "done", "done_reason", "total_duration", "load_duration"),
        *("prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration"),
    ]


def test_go_escapes_what_html_means() -> None:
    body = answered("<b> & \u2028\u2029 \u00e9", stream=False).content
    assert rb"\u003cb\u003e \u0026 \u2028\u2029" in body
    assert "é".encode() in body


def test_a_tool_call_comes_whole_and_its_reason_is_stop() -> None:
    script = ["Look.", ToolCall("f", {"a": 1}, check=False), ToolCall("f", id="", check=False)]
    streamed = lines(answered(script, tools=TOOLS))
    calls = [call for line in streamed for call in line["message"].get("tool_calls", ())]
    assert [call["function"] for call in calls] == [
        {"index": 0, "name": "f", "arguments": {"a": 1}},
        {"index": 1, "name": "f", "arguments": {}},
    ]
    assert calls[0]["id"].startswith("call_")
    assert "id" not in calls[1]  # as before 2025-10
    assert streamed[-1]["done_reason"] == "stop"
    assert answered(script, tools=TOOLS, stream=False).json()["message"]["tool_calls"] == [
        {**calls[0], "id": answered(script, tools=TOOLS, stream=False).json()["message"]["tool_calls"][0]["id"]},
        calls[1],
    ]


def test_images_of_a_chat() -> None:
    picture = base64.b64encode(b"GIF89a").decode()
    assert answered(Image(b"GIF89a"), stream=False).json()["message"] == {
        "role": "assistant",
        "content": "",
        "images": [picture],
    }
    assert lines(answered(Image(b"GIF89a")))[0]["message"]["images"] == [picture]


@pytest.mark.parametrize("url", [CHAT, GENERATE])
def test_what_is_zero_is_not_said(url: str) -> None:
    body = answered(Reply("x", usage=Usage(0, 3)), url, stream=False).json()
    assert "prompt_eval_count" not in body
    assert "prompt_eval_duration" not in body
    assert body["eval_count"] == 3


@pytest.mark.parametrize("url", [CHAT, GENERATE])
@pytest.mark.parametrize("stream", [False, True])
def test_more_is_merged_into_the_last_object(url: str, stream: bool) -> None:
    body = lines(answered(Reply("x", extra={"remote_host": "https://ollama.com"}), url, stream=stream))[-1]
    assert (body["remote_host"], body["done"]) == ("https://ollama.com", True)


@pytest.mark.parametrize("reason", ["stop", "length", "load", "unload", "content_filter", "stop_sequence"])
def test_reasons(reason: str) -> None:
    known = reason if reason in {"length", "load", "unload"} else "stop"
    assert answered(Reply("x", finish_reason=reason), stream=False).json()["done_reason"] == known


def test_the_same_request_gets_the_same_answer() -> None:
    asked = {"tools": TOOLS, "logprobs": True}
    assert answered(TURN, **asked).content == answered(TURN, **asked).content
    assert answered("x", GENERATE).content == answered("x", GENERATE).content


# --- framing ---------------------------------------------------------------------------------------


def framed(**options: Any) -> tuple[httpx.Response, httpx.Response]:
    return answered(TURN.replace(framing=Framing(**options)), tools=TOOLS), answered(TURN, tools=TOOLS)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank_lines", [None, 1, 3])
def test_ends_of_lines_and_empty_lines(newline: str, blank_lines: int | None) -> None:
    bent, plain = framed(newline=newline, blank_lines=blank_lines)
    end = newline.encode() * (1 + (blank_lines or 0))
    assert bent.content == plain.content.replace(b"\n", end)


def test_other_bytes_say_the_same() -> None:
    for options in ({"bom": True}, {"ascii": True}, {"gzip": True}, {"split": 3}, {"comment": "x"}, {"ids": True}):
        bent, plain = framed(**options)
        assert lines(bent) == lines(plain), options
    assert framed(bom=True)[0].content.startswith(b"\xef\xbb\xbf{")
    assert framed(ascii=True)[0].content.isascii()
    assert framed(comment="x")[0].content == framed()[1].content  # there is no comment in JSON lines


def test_each_line_is_a_read_of_its_own_and_packed_as_such() -> None:
    with (
        fake_llm.intercept([TURN.replace(framing=Framing(gzip=True))]) as fake,
        httpx.stream("POST", CHAT, json={**HI, "tools": TOOLS}) as response,
    ):
        reads = [read for read in response.iter_bytes() if read]
    assert [read.count(b"\n") for read in reads] == [1] * len(reads)
    assert fake.calls[0].response is not None
    assert gzip.decompress(fake.calls[0].response.body) == b"".join(reads)


def test_raw_lines_and_an_edit() -> None:
    assert answered(Raw([{"a": "<"}, {"done": True}])).content == b'{"a":"\\u003c"}\n{"done":true}\n'
    edited = answered(Reply("x", edit=lambda events: [*events[:-1], "not JSON\n"]))
    assert edited.content.endswith(b'"done":false}\nnot JSON\n')


def test_an_error_ends_the_stream() -> None:
    found = lines(answered(Reply("Once", then=Error("overloaded"))))
    assert found[-1] == {"error": "server busy, please try again.  maximum pending requests exceeded"}
    assert found[-2]["done"] is False


# --- refusals --------------------------------------------------------------------------------------

MESSAGE = "ChatRequest.messages"
MALFORMED: list[tuple[str, dict[str, Any], int, str]] = [
    (CHAT, {"model": ""}, 400, "model is required"),
    (CHAT, {"model": None}, 400, "model is required"),
    (CHAT, {"model": "no such thing"}, 400, "invalid model name"),
    (GENERATE, {"model": ""}, 404, "model '' not found"),
    (CHAT, {"model": 5}, 400, "json: cannot unmarshal number into Go struct field ChatRequest.model of type string"),
    (CHAT, {"stream": "no"}, 400, "json: cannot unmarshal string into Go struct field ChatRequest.stream of type bool"),
    (
        CHAT,
        {"messages": "Hi"},
        400,
        f"json: cannot unmarshal string into Go struct field {MESSAGE} of type []api.Message",
    ),
    (
        CHAT,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]},
        400,
        f"json: cannot unmarshal array into Go struct field {MESSAGE}.content of type string",
    ),
    (
        CHAT,
        {"messages": [{"role": "user", "content": "Hi", "images": ["data:image/png;base64,AAAA"]}]},
        400,
        "illegal base64 data at input byte 4",
    ),
    (
        CHAT,
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}]},
        400,
        "Value looks like object, but can't find closing '}' symbol",
    ),
    (
        CHAT,
        {"tools": {}},
        400,
        "json: cannot unmarshal object into Go struct field ChatRequest.tools of type api.Tools",
    ),
    (
        CHAT,
        {"tools": [5]},
        400,
        "json: cannot unmarshal number into Go struct field ChatRequest.tools of type api.Tool",
    ),
    (CHAT, {"top_logprobs": 21}, 400, "top_logprobs must be between 0 and 20"),
    (
        CHAT,
        {"top_logprobs": 1.5},
        400,
        "json: cannot unmarshal number 1.5 into Go struct field ChatRequest.top_logprobs of type int",
    ),
    (CHAT, {"think": 5}, 400, 'think must be a boolean or string ("high", "medium", "low", "max", true, or false)'),
    (CHAT, {"keep_alive": "a while"}, 400, 'time: invalid duration "a while"'),
    (CHAT, {"keep_alive": True}, 400, "Unsupported type: 'bool'"),
    (CHAT, {"options": {"num_predict": "9"}}, 500, 'option "num_predict" must be of type integer'),
    (CHAT, {"format": "xml"}, 500, 'invalid format: "\\"xml\\""; expected "json" or a valid JSON Schema object'),
    (
        GENERATE,
        {"prompt": ["Hi"]},
        400,
        "json: cannot unmarshal array into Go struct field GenerateRequest.prompt of type string",
    ),
    (
        GENERATE,
        {"context": ["a"]},
        400,
        "json: cannot unmarshal string into Go struct field GenerateRequest.context of type int",
    ),
    (GENERATE, {"images": ["a"]}, 400, "illegal base64 data at input byte 1"),
    (GENERATE, {"raw": True, "system": "x"}, 400, "raw mode does not support template, system, or context"),
]


@pytest.mark.parametrize(("url", "asked", "status", "said"), MALFORMED, ids=[row[3][:60] for row in MALFORMED])
def test_the_server_s_own_refusals(url: str, asked: dict[str, Any], status: int, said: str) -> None:
    with fake_llm.intercept(["kept"]) as fake:
        response = httpx.post(url, json={**(HI if url == CHAT else PROMPT), **asked})
        assert (response.status_code, response.json()) == (status, {"error": said})
        assert fake.remaining == 1
        httpx.post(CHAT, json=HI)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"x"', b"5", b"null"])
@pytest.mark.parametrize("url", [CHAT, GENERATE])
def test_what_is_no_request(url: str, content: bytes) -> None:
    with fake_llm.intercept(["kept"]) as fake:
        response = httpx.post(url, content=content)
        assert response.status_code == 400
        assert isinstance(response.json()["error"], str)
        httpx.post(CHAT, json=HI)
    assert fake.failures == []


TAKEN: list[dict[str, Any]] = [
    {"messages": [{"role": "User", "content": "Hi"}, {"role": "developer", "content": "x"}, {"role": "tool"}]},
    {"messages": [{"role": "assistant", "content": None, "tool_calls": [SEEN]}, {"role": "tool", "tool_call_id": "x"}]},
    {"messages": [{"role": "user", "content": "Hi", "images": ["AAAA", "AA==\n", ""]}], "unknown": 1},
    {"options": {"temperature": 1, "stop": "x", "num_predict": 5.0, "whatever": [], "seed": None}},
    {"keep_alive": "1h30m"},
    {"keep_alive": -1},
    {"keep_alive": 0},
    {"format": ""},
    {"format": None, "think": None, "tools": None, "options": None, "keep_alive": None},
    {"think": "max"},
    {"model": "hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"},
    {"model": "registry.example:5000/me/my-model:latest"},
    {"model": "gpt-oss:20b-cloud"},
    {"model": "qwen3-coder:480b:cloud"},
]


@pytest.mark.parametrize("asked", TAKEN, ids=[json.dumps(asked)[:60] for asked in TAKEN])
def test_what_the_server_takes_is_taken(asked: dict[str, Any]) -> None:
    assert answered("ok", stream=False, **asked).json()["message"]["content"] == "ok"


# --- the view --------------------------------------------------------------------------------------


def test_results_without_a_name_or_an_id_answer_the_calls_in_their_order() -> None:
    calls = [{"function": {"name": name, "arguments": {"n": 1}}} for name in ("f", "g")]
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Do."},
        {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": calls},
        {"role": "tool", "content": "one"},
        {"role": "tool", "content": "two"},
    ]
    fake = FakeLLM()
    fake.when(tool="g", system="brief").reply("ok")
    with httpx.Client(transport=fake.httpx_transport()) as client:
        client.post(CHAT, json={**HI, "messages": history})
    call = fake.calls[0]
    assert [(result.name, result.text) for result in call.tool_results] == [("f", "one"), ("g", "two")]
    assert [(sent.name, sent.arguments) for sent in call.messages[2].tool_calls] == [("f", {"n": 1}), ("g", {"n": 1})]
    assert call.messages[2].thinking == "Hm."
    assert call.system == "Be brief."


def test_the_server_is_there() -> None:
    with fake_llm.intercept() as fake:
        assert httpx.get("http://localhost:11434").text == "Ollama is running"
        assert httpx.head("http://localhost:11434/").status_code == 200
        assert "version" in httpx.get("http://localhost:11434/api/version").json()
        assert httpx.post("http://localhost:11434/api/show", json={}).json() == {"error": "model is required"}
    assert not fake.calls
