"""What the hosts that speak OpenAI chat do differently, byte by byte.

Shapes against recordings are tests/conformance; what SDKs make of it is tests/sdk.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _wire import events
from fake_llm import Disconnect, Error, FakeLLM, Raw, Refusal, Reply, Thinking, ToolCall, Usage

URLS = {
    "azure": "https://my-resource.openai.azure.com/openai/deployments/gpt%2D4.1/chat/completions?api-version=2024-10-21",
    "deepseek": "https://api.deepseek.com/chat/completions",
    "fireworks": "https://api.fireworks.ai/inference/v1/chat/completions",
    "groq": "https://api.groq.com/openai/v1/chat/completions",
    "openrouter": "https://openrouter.ai/api/v1/chat/completions",
    "perplexity": "https://api.perplexity.ai/chat/completions",
    "together": "https://api.together.xyz/v1/chat/completions",
    "xai": "https://api.x.ai/v1/chat/completions",
    "ai21": "https://api.ai21.com/studio/v1/chat/completions",
    "cerebras": "https://api.cerebras.ai/v1/chat/completions",
    "cloudflare": "https://gateway.ai.cloudflare.com/v1/0123/my-gateway/compat/chat/completions",
    "dashscope": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions",
    "deepinfra": "https://api.deepinfra.com/v1/openai/chat/completions",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "github": "https://models.github.ai/inference/chat/completions",
    "huggingface": "https://router.huggingface.co/v1/chat/completions",
    "mistral": "https://api.mistral.ai/v1/chat/completions",
    "moonshot": "https://api.moonshot.ai/v1/chat/completions",
    "novita": "https://router.huggingface.co/novita/v3/openai/chat/completions",
    "nvidia": "https://integrate.api.nvidia.com/v1/chat/completions",
    "ollama": "http://localhost:11434/v1/chat/completions",
    "sambanova": "https://api.sambanova.ai/v1/chat/completions",
    "workers": "https://api.cloudflare.com/client/v4/accounts/0123/ai/v1/chat/completions",
    "writer": "https://api.writer.com/v1/chat",
    "zai": "https://api.z.ai/api/paas/v4/chat/completions",
}
HOSTS = sorted(URLS)
LIKE_AZURE = ("azure", "github")
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]
PARIS = ToolCall("get_weather", {"city": "Paris"})
ROME = ToolCall("get_weather", {"city": "Rome"})
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


def post(host: str, **fields: Any) -> httpx.Response:
    body = {"model": "a-model", "messages": [{"role": "user", "content": "Hi"}], "tools": TOOLS, **fields}
    headers = {"authorization": "Bearer sk-of-a-test"}
    return httpx.post(URLS[host], json=body, headers=headers, verify=False)  # spares the loading of certificates


def answered(host: str, turn: Any, **fields: Any) -> Any:
    """The whole answer of a host."""
    with fake_llm.intercept([turn]):
        return post(host, **fields).json()


def streamed(host: str, turn: Any, *, counted: bool = True, **fields: Any) -> list[Any]:
    """The payloads of a stream, its terminator left out."""
    asked = {"stream_options": {"include_usage": True}} if counted else {}
    with fake_llm.intercept([turn]):
        body = post(host, stream=True, **asked, **fields).content
    return [json.loads(data) for _, data in events(body) if data != "[DONE]"]


def deltas(chunks: list[Any], index: int = 0) -> list[Any]:
    choices = (choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index)
    return [choice["delta"] for choice in choices]


# --- layout ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How a host lays out its bytes."""

    whole: str
    stream: str
    starts: bytes = b'{"id":"'
    ends: bytes = b"}"
    first: bytes = b'data: {"id":"'
    last: bytes = b"\n\ndata: [DONE]\n\n"


PLAIN = "application/json"
EVENTS = "text/event-stream"
UTF8 = "text/event-stream; charset=utf-8"
COMMENT = b": OPENROUTER PROCESSING\n\n"
LAYOUTS = {
    "azure": Layout(PLAIN, UTF8, b'{"choices":[{"content_filter_results":{', first=b'data: {"choices":[],"created":0,'),
    "deepseek": Layout(PLAIN, UTF8),
    "fireworks": Layout(PLAIN, EVENTS),
    "groq": Layout(PLAIN, EVENTS, ends=b"}\n"),
    "openrouter": Layout(PLAIN, EVENTS, b'\n         \n{"id":"gen-', first=COMMENT + b'data: {"id":"gen-'),
    "perplexity": Layout(PLAIN, UTF8, b'{"choices":[{"delta":', last=b'"finish_reason":"stop"}]}\r\n\r\n'),
    "together": Layout("application/json; charset=utf-8", EVENTS, b'{\n  "id": "', b"\n}"),
    "xai": Layout(PLAIN, EVENTS),
    "ai21": Layout(PLAIN, UTF8),
    "cerebras": Layout(PLAIN, EVENTS, first=b'data: {"id":"chatcmpl-'),
    "cloudflare": Layout(PLAIN, UTF8),
    "dashscope": Layout(PLAIN, UTF8, b'{"choices":[{"message":{', first=b'data: {"choices":[{"delta":{'),
    "deepinfra": Layout(PLAIN, UTF8),
    "gemini": Layout(PLAIN, EVENTS, b'{"choices":[{"finish_reason":', first=b'data: {"choices":[{"delta":{'),
    "github": Layout(
        PLAIN, UTF8, b'{"choices":[{"content_filter_results":{', first=b'data: {"choices":[],"created":0,'
    ),
    "huggingface": Layout(PLAIN, EVENTS),
    "mistral": Layout(PLAIN, UTF8),
    "moonshot": Layout(PLAIN, UTF8),
    "novita": Layout(PLAIN, EVENTS),
    "nvidia": Layout(PLAIN, UTF8),
    "ollama": Layout(PLAIN, EVENTS, ends=b"}\n"),
    "sambanova": Layout(PLAIN, UTF8, b'{"choices":[{"finish_reason":', first=b'data: {"choices":[{"delta":{'),
    "workers": Layout(PLAIN, UTF8),
    "writer": Layout(PLAIN, UTF8),
    "zai": Layout(PLAIN, UTF8, b'{"choices":[{"finish_reason":', first=b'data: {"id":"2026'),
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_bytes_begin_and_end_as_the_host_lays_them_out(host: str) -> None:
    layout = LAYOUTS[host]
    with fake_llm.intercept(["Hello you.", "Hello you."]):
        whole, stream = post(host), post(host, stream=True)
    assert whole.headers["content-type"] == layout.whole
    assert whole.content.startswith(layout.starts)
    assert whole.content.endswith(layout.ends)
    assert stream.headers["content-type"] == layout.stream
    assert stream.content.startswith(layout.first)
    assert stream.content.endswith(layout.last)
    assert (b"\r\n" in stream.content) is (host == "perplexity")


def test_what_edit_sees_has_no_comments_in_it() -> None:
    seen: list[Any] = []

    def look(items: list[Any]) -> list[Any]:
        seen.extend(items)
        return items

    with fake_llm.intercept([Reply("Hi", edit=look)]):
        assert post("openrouter", stream=True).content.startswith(COMMENT)
    assert {type(item).__mro__[-2] for item in seen} == {dict}


def test_a_comment_comes_before_the_events_of_a_raw_turn_too_and_after_a_byte_order_mark() -> None:
    with fake_llm.intercept([Raw([{"a": 1}]), Reply("Hi", framing=fake_llm.Framing(bom=True))]):
        assert post("openrouter", stream=True).content == COMMENT + b'data: {"a":1}\n\ndata: [DONE]\n\n'
        assert post("openrouter", stream=True).content.startswith(b"\xef\xbb\xbf" + COMMENT)


# --- ids ------------------------------------------------------------------------------------------

IDS = {
    "azure": (r"chatcmpl-[A-Za-z0-9]{29}", r"call_[A-Za-z0-9]{24}"),
    "deepseek": (UUID, r"call_0[01]_[A-Za-z0-9]{24}"),
    "fireworks": (UUID, r"call_[A-Za-z0-9]{24}"),
    "groq": ("chatcmpl-" + UUID, r"[a-z0-9]{9}"),
    "openrouter": (r"gen-1767225600-[A-Za-z0-9]{20}", r"call_[A-Za-z0-9]{24}"),
    "perplexity": (UUID, r"call_[A-Za-z0-9]{24}"),
    "together": (r"[A-Za-z0-9]{7}-[A-Za-z0-9]{6}-[0-9a-f]{16}", r"call_[a-z0-9]{24}"),
    "xai": (UUID, r"call_[0-9]{8}"),
    "ai21": ("chat-" + UUID, r"chatcmpl-tool-[0-9a-f]{32}"),
    "cerebras": ("chatcmpl-" + UUID, r"[0-9a-f]{9}"),
    "cloudflare": (UUID, r"call_[A-Za-z0-9]{24}"),
    "dashscope": ("chatcmpl-" + UUID, r"call_[0-9a-f]{22}"),
    "deepinfra": (UUID, r"call_[A-Za-z0-9]{24}"),
    "gemini": (r"[A-Za-z0-9]{22}", r"function-call-[0-9]{19}"),
    "github": (r"chatcmpl-[A-Za-z0-9]{29}", r"call_[A-Za-z0-9]{24}"),
    "huggingface": (UUID, r"call_[A-Za-z0-9]{24}"),
    "mistral": (r"[0-9a-f]{32}", r"[A-Za-z0-9]{9}"),
    "moonshot": (r"chatcmpl-[0-9a-f]{24}", r"call_[A-Za-z0-9]{24}"),
    "novita": (r"[0-9a-f]{32}", r"call_[A-Za-z0-9]{24}"),
    "nvidia": (r"chatcmpl-[0-9a-f]{32}", r"chatcmpl-tool-[0-9a-f]{32}"),
    "ollama": (r"chatcmpl-[0-9]{1,3}", r"call_[a-z0-9]{8}"),
    "sambanova": (UUID, r"call_[0-9a-f]{18}"),
    "workers": (r"id-[0-9]{13}", r"chatcmpl-tool-[0-9a-f]{32}"),
    "writer": (UUID, r"call_[A-Za-z0-9]{24}"),
    "zai": (r"20260101080000[0-9a-f]{18}", r"call_[0-9a-f]{20}"),
}


@pytest.mark.parametrize("host", HOSTS)
def test_ids_have_the_form_of_the_host_and_are_the_same_all_through(host: str) -> None:
    form, call_form = IDS[host]
    document = answered(host, [PARIS, ROME])
    calls = document["choices"][0]["message"]["tool_calls"]
    assert re.fullmatch(form, document["id"])
    assert all(re.fullmatch(call_form, call["id"]) for call in calls)
    assert calls[0]["id"] != calls[1]["id"]
    ids = {chunk["id"] for chunk in streamed(host, [PARIS, ROME])} - ({""} if host in LIKE_AZURE else set())
    assert len(ids) == 1
    assert re.fullmatch(form, ids.pop())
    assert answered(host, Reply("Hi", id="mine"))["id"] == "mine"
    assert {chunk["id"] for chunk in streamed(host, Reply("Hi", id="mine"))} - {""} == {"mine"}


@pytest.mark.parametrize(("host", "header"), [("openrouter", "x-generation-id"), ("together", "x-request-id")])
def test_the_header_says_the_id_of_the_body(host: str, header: str) -> None:
    with fake_llm.intercept(["Hi", "Hi"]):
        whole, stream = post(host), post(host, stream=True)
    assert whole.headers[header] == whole.json()["id"]
    assert f'"id":"{stream.headers[header]}"' in stream.text


def test_deepseek_counts_its_calls_in_their_ids() -> None:
    calls = answered("deepseek", [PARIS, "and", ROME])["choices"][0]["message"]["tool_calls"]
    assert [call["id"][:8] for call in calls] == ["call_00_", "call_01_"]
    assert [call["index"] for call in calls] == [0, 1]


# --- usage ----------------------------------------------------------------------------------------

COUNTED = {
    "azure": ("chunk", False),
    "deepseek": ("finish", True),
    "fireworks": ("finish", True),
    "openrouter": ("again", True),
    "perplexity": ("every", True),
    "together": ("finish", True),
    "xai": ("chunk", False),
    "ai21": ("finish", True),
    "cerebras": ("finish", True),
    "cloudflare": ("chunk", False),
    "dashscope": ("chunk", False),
    "deepinfra": ("chunk", False),
    "gemini": ("finish", False),
    "github": ("chunk", False),
    "huggingface": ("chunk", False),
    "novita": ("chunk", True),
    "nvidia": ("chunk", False),
    "ollama": ("chunk", False),
    "sambanova": ("chunk", False),
    "workers": ("chunk", False),
    "writer": ("chunk", False),
    "zai": ("finish", True),
}
"""Where the usage of a stream stands, and whether it is there when nobody asked."""


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("host", sorted(COUNTED))
def test_the_usage_of_a_stream_stands_where_the_host_has_it(host: str, asked: bool) -> None:
    place, always = COUNTED[host]
    chunks = streamed(host, Reply("Hello you.", usage=Usage(100, 20)), counted=asked)
    counted = [chunk for chunk in chunks if chunk.get("usage")]
    if not asked and not always:
        assert not counted
        return
    last = chunks[-1]
    assert last["usage"]["prompt_tokens"] == 100
    assert last["usage"]["completion_tokens"] == 20
    if place == "every":
        assert counted == chunks
        return
    assert counted == [last]
    finishes = [chunk for chunk in chunks if any(choice.get("finish_reason") for choice in chunk["choices"])]
    assert len(finishes) == (2 if place == "again" else 1)
    assert (last is finishes[-1]) is (place != "chunk")
    assert (last["choices"] == []) is (place == "chunk")


def test_groq_says_the_usage_in_the_finish_chunk_and_once_more_when_it_is_asked_for() -> None:
    *_, finish = streamed("groq", "Hi", counted=False)
    assert "usage" not in finish
    assert finish["x_groq"]["usage"]["completion_tokens"] == 1
    *_, finish, last = streamed("groq", "Hi")
    assert finish["usage"] == finish["x_groq"]["usage"] == last["usage"]
    assert last["choices"] == []
    assert last["service_tier"] == "on_demand"


DETAILS = {
    "azure": {"prompt_tokens_details.cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "deepseek": {
        "prompt_cache_hit_tokens": 40,
        "prompt_cache_miss_tokens": 60,
        "completion_tokens_details.reasoning_tokens": 8,
    },
    "fireworks": {"prompt_tokens_details.cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "groq": {"prompt_tokens_details.cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "openrouter": {"prompt_tokens_details.cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "perplexity": {"reasoning_tokens": 8},
    "together": {"cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "xai": {"prompt_tokens_details.cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "mistral": {"prompt_tokens_details.cached_tokens": 40},
    "moonshot": {"cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "writer": {"prompt_token_details.cached_tokens": 40, "completion_tokens_details.reasoning_tokens": 8},
    "ai21": {},
    "ollama": {},
}


@pytest.mark.parametrize("host", HOSTS)
def test_cached_and_reasoning_tokens_stand_where_the_host_has_them(host: str) -> None:
    usage = Usage(100, 20, cached_tokens=40, reasoning_tokens=8, details={"more": {"mine": 1}})
    whole = answered(host, Reply("Hi", usage=usage))["usage"]
    last = streamed(host, Reply("Hi", usage=usage))[-1]["usage"]
    for counted in (whole, last):
        assert counted["total_tokens"] == 120
        assert counted["completion_tokens"] == (12 if host == "xai" else 20)
        assert counted["more"] == {"mine": 1}
        for path, number in DETAILS.get(host, DETAILS["azure"]).items():
            found = counted
            for name in path.split("."):
                found = found[name]
            assert found == number, path


@needs("openai")
def test_an_answer_of_xai_that_is_scripted_as_an_object_keeps_its_counts_when_it_is_streamed() -> None:
    from openai.types.chat import ChatCompletion

    answer = answered("xai", Reply("Hi", usage=Usage(100, 20, reasoning_tokens=8)))
    last = streamed("xai", ChatCompletion.model_validate(answer))[-1]
    assert last["usage"] == answer["usage"]


# --- what is said ---------------------------------------------------------------------------------


def test_deepseek_names_both_content_and_thoughts_in_each_delta_of_an_answer_that_thinks() -> None:
    assert deltas(streamed("deepseek", [Thinking("Hm."), "Yes."])) == [
        {"role": "assistant", "content": None, "reasoning_content": ""},
        {"content": None, "reasoning_content": "Hm."},
        {"content": "Yes.", "reasoning_content": None},
        {"content": "", "reasoning_content": None},
    ]
    assert deltas(streamed("deepseek", "Yes.")) == [
        {"role": "assistant", "content": ""},
        {"content": "Yes."},
        {"content": ""},
    ]


def test_openrouter_says_role_and_content_in_each_delta_and_thoughts_twice() -> None:
    detail = {"type": "reasoning.text", "text": "Hm.", "format": "unknown", "index": 0}
    assert deltas(streamed("openrouter", [Thinking("Hm."), "Yes."])) == [
        {"content": "", "role": "assistant", "reasoning": "Hm.", "reasoning_details": [detail]},
        {"content": "Yes.", "role": "assistant"},
        {"content": "", "role": "assistant"},
        {"content": "", "role": "assistant"},
    ]
    message = answered("openrouter", [Thinking("Hm.", signature="sig"), "Yes."])["choices"][0]["message"]
    assert message["reasoning"] == "Hm."
    assert message["reasoning_details"] == [{**detail, "signature": "sig"}]


@pytest.mark.parametrize(
    ("model", "provider", "finish"),
    [
        ("anthropic/claude", "Anthropic", "tool_use"),
        ("openai/gpt-5", "OpenAI", "tool_calls"),
        ("m", "Together", "tool_calls"),
    ],
)
def test_openrouter_names_who_answered_and_the_native_reason(model: str, provider: str, finish: str) -> None:
    document = answered("openrouter", PARIS, model=model)
    assert document["provider"] == provider
    assert document["choices"][0]["native_finish_reason"] == finish
    assert document["choices"][0]["finish_reason"] == "tool_calls"
    assert {chunk["provider"] for chunk in streamed("openrouter", PARIS, model=model)} == {provider}


def test_perplexity_repeats_the_text_so_far_and_counts_along() -> None:
    extra = {"citations": ["https://example.org"], "search_results": [{"url": "https://example.org"}]}
    chunks = streamed("perplexity", Reply("one two", usage=Usage(7, 5), extra=extra))
    assert [chunk["choices"][0]["message"]["content"] for chunk in chunks] == ["one", "one two", "one two"]
    assert [chunk["choices"][0]["delta"]["content"] for chunk in chunks] == ["one", " two", ""]
    assert [chunk["usage"]["completion_tokens"] for chunk in chunks] == [1, 2, 5]
    assert [chunk["object"] for chunk in chunks] == ["chat.completion.chunk"] * 2 + ["chat.completion.done"]
    assert all(chunk["citations"] == extra["citations"] for chunk in chunks)
    assert all(chunk["search_results"] == extra["search_results"] for chunk in chunks)
    assert answered("perplexity", "x")["citations"] == []


def test_perplexity_thinks_where_it_was_said() -> None:
    turn = ["Well. ", Thinking("Hm."), Thinking(" Oh."), "Yes."]
    said = "Well. <think>\nHm. Oh.\n</think>\n\nYes."
    assert answered("perplexity", turn)["choices"][0]["message"]["content"] == said
    assert streamed("perplexity", turn)[-1]["choices"][0]["message"]["content"] == said


def test_perplexity_thinks_between_tags() -> None:
    turn = [Thinking("Hm hm."), "Yes."]
    text = "<think>\nHm hm.\n</think>\n\nYes."
    assert answered("perplexity", turn)["choices"][0]["message"] == {"role": "assistant", "content": text}
    assert "".join(delta["content"] for delta in deltas(streamed("perplexity", turn))) == text


def test_together_says_the_text_twice_and_a_seed_at_the_end() -> None:
    *said, end = [chunk["choices"][0] for chunk in streamed("together", "one two")]
    assert [choice["text"] for choice in said] == [choice["delta"]["content"] for choice in said] == ["one", " two"]
    assert all(choice["seed"] is None for choice in said)
    assert all(choice["delta"]["role"] == "assistant" for choice in (*said, end))
    assert isinstance(end["seed"], int)
    assert answered("together", [Thinking("Hm."), "x"])["choices"][0]["message"]["reasoning"] == "Hm."


@pytest.mark.parametrize("host", ["ai21", "cerebras", "gemini", "groq", "ollama", "sambanova", "xai", "zai"])
def test_a_tool_call_comes_in_one_chunk(host: str) -> None:
    calls = [delta["tool_calls"] for delta in deltas(streamed(host, [PARIS, ROME])) if "tool_calls" in delta]
    assert [[call["index"] for call in each] for each in calls] == [[0], [1]]
    assert [each[0]["function"]["arguments"] for each in calls] == ['{"city":"Paris"}', '{"city":"Rome"}']


def test_cerebras_says_in_the_last_chunk_what_it_cost_and_how_long_it_took() -> None:
    opening, said, finish = streamed("cerebras", "one", counted=False)
    assert opening["choices"] == [{"delta": {"content": "", "role": "assistant"}, "index": 0}]
    assert said["choices"] == [{"delta": {"content": "one"}, "index": 0}]
    assert finish["choices"] == [{"finish_reason": "stop", "delta": {}, "index": 0}]
    assert finish["usage"]["completion_tokens"] == 1
    assert "time_info" in finish
    assert "time_info" not in said
    assert "time_info" in answered("cerebras", "one")
    assert answered("cerebras", Reply("one", extra={"time_info": "mine"}))["time_info"] == "mine"
    message = answered("cerebras", [Thinking("Hm."), PARIS])["choices"][0]["message"]
    assert message.keys() == {"role", "reasoning", "tool_calls"}


def test_ollama_says_content_in_each_delta() -> None:
    assert deltas(streamed("ollama", [Thinking("Hm."), "Yes.", PARIS]))[:2] == [
        {"role": "assistant", "content": "", "reasoning": "Hm."},
        {"content": "Yes."},
    ]
    call = answered("ollama", PARIS)["choices"][0]["message"]["tool_calls"][0]
    assert list(call) == ["id", "index", "type", "function"]
    assert answered("ollama", PARIS)["choices"][0]["message"]["content"] == ""
    assert answered("ollama", "x")["system_fingerprint"] == "fp_ollama"


def test_zai_says_role_and_content_in_each_delta_and_has_a_word_of_its_own() -> None:
    assert deltas(streamed("zai", [Thinking("Hm."), "Yes."])) == [
        {"role": "assistant", "reasoning_content": "Hm."},
        {"role": "assistant", "content": "Yes."},
        {"role": "assistant", "content": ""},
    ]
    blocked = answered("zai", Reply("x", finish_reason="content_filter"))
    assert blocked["choices"][0]["finish_reason"] == "sensitive"
    assert "object" in blocked


def test_moonshot_says_the_usage_in_the_choice_of_the_finish_chunk() -> None:
    *_, finish = streamed("moonshot", Reply("x", usage=Usage(7, 3)), counted=False)
    counted = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert finish["choices"][0]["usage"] == counted
    assert "usage" not in finish
    *_, finish, last = streamed("moonshot", Reply("x", usage=Usage(7, 3)))
    assert finish["choices"][0]["usage"] == last["usage"] == counted


def test_dashscope_says_null_where_nothing_is_counted() -> None:
    *said, last = streamed("dashscope", "x")
    assert [chunk["usage"] for chunk in said] == [None] * 3
    assert last["usage"]["prompt_tokens_details"] == {"cached_tokens": 0}
    assert last["system_fingerprint"] is None


def test_gemini_says_the_role_in_each_delta_and_no_content_beside_a_call() -> None:
    opening, end = deltas(streamed("gemini", PARIS))
    assert opening.keys() == {"role", "tool_calls"}
    assert end == {"role": "assistant"}
    assert "content" not in answered("gemini", PARIS)["choices"][0]["message"]


@pytest.mark.parametrize(
    ("said", "message", "calls"),
    [
        (["x"], None, []),
        ([Thinking("Hm.", signature="QUJD"), "x"], "QUJD", []),
        ([Thinking("Hm.", signature="not base64"), PARIS], None, ["bm90IGJhc2U2NA=="]),
        ([Thinking("Hm.", signature="QUJD"), "x", PARIS], "QUJD", [...]),
        ([PARIS, ROME], None, [..., None]),
        ([PARIS, Thinking("Hm."), ROME], None, [..., ...]),
        (
            [replace(PARIS, extra={"extra_content": {"google": {"thought_signature": "REVG"}}}), ROME],
            None,
            ["REVG", None],
        ),
    ],
)
def test_gemini_3_signs_the_first_call_and_what_a_thought_precedes(
    said: list[Any], message: str | None, calls: list[Any]
) -> None:
    def signature(one: dict[str, Any]) -> Any:
        return one["extra_content"]["google"]["thought_signature"] if "extra_content" in one else None

    whole = answered("gemini", said, model="gemini-3-pro-preview")["choices"][0]["message"]
    *opening, end = deltas(streamed("gemini", said, model="gemini-3-pro-preview"))
    streamed_calls = [call for delta in opening for call in delta.get("tool_calls", ())]
    assert not any("extra_content" in delta for delta in opening)
    assert signature(whole) == signature(end) == message
    for found in (whole.get("tool_calls", []), streamed_calls):
        assert [
            ... if signature(call) and want is ... else signature(call) for call, want in zip(found, calls, strict=True)
        ] == calls
        assert all(next(iter(call)) == "extra_content" for call in found if "extra_content" in call)


def test_gemini_before_3_signs_nothing_of_its_own() -> None:
    said = [Thinking("Hm."), PARIS]
    assert "extra_content" not in json.dumps(answered("gemini", said, model="gemini-2.5-flash"))
    assert "extra_content" not in json.dumps(streamed("gemini", said, model="gemini-2.5-flash"))


def test_writer_never_says_null_for_content() -> None:
    message = answered("writer", PARIS)["choices"][0]["message"]
    assert message["content"] == ""
    assert message["refusal"] is None


def test_sambanova_says_how_fast_it_was() -> None:
    usage = answered("sambanova", Reply("x", usage=Usage(7, 3)))["usage"]
    assert usage["total_tokens_per_sec"] > 0
    assert usage["is_last_response"] is True


def test_xai_says_the_role_with_the_first_word_and_no_reason_before_the_last() -> None:
    chunks = streamed("xai", "one two")
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    assert choices == [
        {"index": 0, "delta": {"role": "assistant", "content": "one"}},
        {"index": 0, "delta": {"content": " two"}},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    assert deltas(streamed("xai", "")) == [{"role": "assistant", "content": ""}, {}]


@pytest.mark.parametrize(
    ("model", "channel"), [("openai/gpt-oss-120b", {"channel": "analysis"}), ("qwen/qwen3-32b", {})]
)
def test_groq_names_the_channel_of_gpt_oss(model: str, channel: dict[str, str]) -> None:
    opening, thought, *_ = deltas(streamed("groq", [Thinking("Hm."), "x"], model=model))
    assert opening == {"role": "assistant", "content": ""}
    assert thought == {"reasoning": "Hm.", **channel}


@pytest.mark.parametrize("host", HOSTS)
def test_a_forced_call_ends_like_any_other_but_on_azure(host: str) -> None:
    forced = {"type": "function", "function": {"name": "get_weather"}}
    finish = "stop" if host in LIKE_AZURE else "tool_calls"
    assert answered(host, PARIS, tool_choice=forced)["choices"][0]["finish_reason"] == finish
    chunks = streamed(host, PARIS, tool_choice=forced)
    reasons = [choice.get("finish_reason") for chunk in chunks for choice in chunk["choices"]]
    assert {reason for reason in reasons if reason} == {finish}


@pytest.mark.parametrize("host", [host for host in HOSTS if host not in LIKE_AZURE])
def test_a_refusal_is_text_where_there_is_no_place_for_it(host: str) -> None:
    message = answered(host, Refusal("I won't."))["choices"][0]["message"]
    assert message["content"] == "I won't."
    assert not message.get("refusal")
    assert "".join(delta.get("content") or "" for delta in deltas(streamed(host, Refusal("I won't.")))) == "I won't."


@pytest.mark.parametrize("host", HOSTS)
def test_several_choices_and_log_probabilities_pass_through(host: str) -> None:
    turn = Reply("one two", choices=["three"], logprobs=[("one", -0.5), (" two", -1.0)])
    document = answered(host, turn, n=2)
    assert [choice["message"]["content"] for choice in document["choices"]] == ["one two", "three"]
    assert len(document["choices"][0]["logprobs"]["content"]) == 2
    chunks = streamed(host, turn, n=2)
    texts = ["".join(delta.get("content") or "" for delta in deltas(chunks, index)) for index in (0, 1)]
    assert texts == ["one two", "three"]
    finished = {choice["index"] for chunk in chunks for choice in chunk["choices"] if choice.get("finish_reason")}
    assert finished == {0, 1}


@pytest.mark.parametrize("host", HOSTS)
def test_custom_tools_and_legacy_functions_pass_through(host: str) -> None:
    custom = [{"type": "custom", "custom": {"name": "run"}}]
    sent = ToolCall("run", "print(1)", check=False)
    call = answered(host, sent, tools=custom)["choices"][0]["message"]["tool_calls"][0]
    assert call["custom"] == {"name": "run", "input": "print(1)"}
    pieces = [
        delta["tool_calls"][0]["custom"]
        for delta in deltas(streamed(host, sent, tools=custom))
        if "tool_calls" in delta
    ]
    assert "".join(piece["input"] for piece in pieces) == "print(1)"
    functions: dict[str, Any] = {"tools": None, "functions": [TOOLS[0]["function"]]}
    message = answered(host, PARIS, **functions)["choices"][0]["message"]
    assert message["function_call"] == {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    said = [delta["function_call"] for delta in deltas(streamed(host, PARIS, **functions)) if "function_call" in delta]
    assert "".join(piece.get("arguments", "") for piece in said) == '{"city":"Paris"}'


@pytest.mark.parametrize("host", HOSTS)
def test_what_the_script_adds_wins_over_what_the_host_says(host: str) -> None:
    extra = {"id": "mine", "provider": "Mine", "system_fingerprint": "fp_mine", "x_mine": 1, "usage": {"cost": 0.5}}
    document = answered(host, Reply("Hi", extra=extra))
    first, *_, last = streamed(host, Reply("Hi", extra=extra))[1 if host in LIKE_AZURE else 0 :]
    for said in (document, first):
        assert said["id"] == "mine"
        assert said["provider"] == "Mine"
        assert said["system_fingerprint"] == "fp_mine"
        assert said["x_mine"] == 1
    assert document["usage"]["cost"] == 0.5
    assert last["usage"]["cost"] == 0.5


@pytest.mark.parametrize("host", HOSTS)
def test_an_answer_that_breaks_off_has_said_all_of_its_content(host: str) -> None:
    with fake_llm.intercept([Reply("one two", then=Disconnect())]), pytest.raises(httpx.RemoteProtocolError):
        post(host, stream=True)
    with fake_llm.intercept([Reply("one two", then=fake_llm.EndOfStream())]):
        body = post(host, stream=True).content
    chunks = [json.loads(data) for _, data in events(body)]
    assert "".join(delta.get("content") or "" for delta in deltas(chunks)) == "one two"
    assert not any(choice.get("finish_reason") for chunk in chunks for choice in chunk["choices"])


@pytest.mark.parametrize("host", HOSTS)
def test_pauses_stand_between_the_pieces(host: str) -> None:
    fake = FakeLLM([Reply("one two three", interval=0.05)], virtual_time=True)
    with httpx.Client(transport=fake.httpx_transport()) as client:
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
        client.post(URLS[host], json=body).read()
    assert fake.calls[0].waited == pytest.approx(0.1)


@pytest.mark.parametrize("host", HOSTS)
def test_the_same_request_gets_the_same_bytes(host: str) -> None:
    answers = []
    for _ in range(2):
        with fake_llm.intercept([[Thinking("Hm."), "Hi", PARIS]]):
            response = post(host, stream=True)
            answers.append((response.content, list(response.headers.items())))
    assert answers[0] == answers[1]


# --- errors ---------------------------------------------------------------------------------------

FAILURES: tuple[tuple[str, Error, int, Any], ...] = (
    (
        "azure",
        Error("authentication"),
        401,
        {
            "error": {
                "code": "401",
                "message": "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active "
                "subscription and use a correct regional API endpoint for your resource.",
            }
        },
    ),
    (
        "azure",
        Error(404),
        404,
        {
            "error": {
                "type": "invalid_request_error",
                "code": "DeploymentNotFound",
                "message": "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, "
                "please wait a moment and try again.",
            }
        },
    ),
    (
        "azure",
        Error(429, "Slow."),
        429,
        {"error": {"code": "RateLimitReached", "message": "Slow.", "details": "Slow."}},
    ),
    (
        "azure",
        Error("context_length", "Too long."),
        400,
        {
            "error": {
                "message": "Too long.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
    (
        "deepseek",
        Error("authentication"),
        401,
        {
            "error": {
                "message": "Authentication Fails, Your api key: ****test is invalid",
                "type": "authentication_error",
                "param": None,
                "code": "invalid_request_error",
            }
        },
    ),
    (
        "deepseek",
        Error("quota"),
        402,
        {
            "error": {
                "message": "Insufficient Balance",
                "type": "unknown_error",
                "param": None,
                "code": "invalid_request_error",
            }
        },
    ),
    (
        "fireworks",
        Error(404),
        404,
        {
            "error": {
                "object": "error",
                "type": "invalid_request_error",
                "code": "NOT_FOUND",
                "message": "Model not found, inaccessible, and/or not deployed",
            }
        },
    ),
    (
        "groq",
        Error("authentication"),
        401,
        {"error": {"message": "Invalid API Key", "type": "invalid_request_error", "code": "invalid_api_key"}},
    ),
    ("groq", Error(418), 418, {"error": {"message": "I'm a Teapot", "type": "invalid_request_error"}}),
    ("openrouter", Error("authentication"), 401, {"error": {"message": "Missing Authentication header", "code": 401}}),
    (
        "openrouter",
        Error(429, "Slow.", retry_after=60),
        429,
        {
            "error": {
                "message": "Slow.",
                "code": 429,
                "metadata": {
                    "headers": {
                        "X-RateLimit-Limit": "1",
                        "X-RateLimit-Remaining": "0",
                        "X-RateLimit-Reset": "1767225660000",
                    },
                    "provider_name": None,
                },
            },
            "user_id": "user_000000000000000000000000000",
        },
    ),
    (
        "perplexity",
        Error("context_length"),
        400,
        {
            "error": {
                "message": "The total length of all messages is too long.",
                "type": "too_many_prompt_tokens",
                "code": 400,
            }
        },
    ),
    (
        "xai",
        Error("authentication"),
        400,
        {
            "code": "invalid-argument",
            "error": "Incorrect API key provided. You can obtain an API key from https://console.x.ai.",
        },
    ),
    ("xai", Error(401, "No."), 401, {"code": "invalid-argument", "error": "No."}),
    ("ai21", Error("authentication"), 401, {"detail": "Forbidden: Bad or missing Apikey/JWT."}),
    ("ai21", Error(418, "No."), 418, {"detail": "No."}),
    (
        "cerebras",
        Error("authentication"),
        401,
        {
            "message": "Wrong API Key",
            "type": "invalid_request_error",
            "param": "api_key",
            "code": "wrong_api_key",
        },
    ),
    (
        "cerebras",
        Error(404),
        404,
        {
            "message": "Model a-model does not exist or you do not have access to it.",
            "type": "not_found_error",
            "param": "model",
            "code": "model_not_found",
        },
    ),
    (
        "cloudflare",
        Error("rate_limit"),
        429,
        {"success": False, "result": [], "messages": [], "error": [{"code": 2003, "message": "Rate limited"}]},
    ),
    (
        "gemini",
        Error("authentication"),
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "API key not valid. Please pass a valid API key.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
    ),
    (
        "github",
        Error(404),
        404,
        {
            "error": {
                "code": "unknown_model",
                "message": "Unknown model: a-model",
                "details": "Unknown model: a-model",
            }
        },
    ),
    ("huggingface", Error("authentication"), 401, {"error": "Invalid username or password."}),
    (
        "huggingface",
        Error("not_found"),
        400,
        {
            "error": {
                "message": "The requested model 'a-model' does not exist",
                "type": "invalid_request_error",
                "param": "model",
                "code": "model_not_found",
            }
        },
    ),
    (
        "moonshot",
        Error("authentication"),
        401,
        {"error": {"message": "Invalid Authentication", "type": "invalid_authentication_error"}},
    ),
    (
        "moonshot",
        Error("overloaded"),
        429,
        {
            "error": {
                "message": "The engine is currently overloaded, please try again later",
                "type": "engine_overloaded_error",
            }
        },
    ),
    (
        "nvidia",
        Error("authentication"),
        401,
        {"status": 401, "title": "Unauthorized", "detail": "Authentication failed"},
    ),
    (
        "ollama",
        Error(404),
        404,
        {
            "error": {
                "message": "model 'a-model' not found",
                "type": "not_found_error",
                "param": None,
                "code": None,
            }
        },
    ),
    (
        "workers",
        Error("authentication"),
        401,
        {
            "errors": [{"message": "Authentication error", "code": 10000}],
            "success": False,
            "result": {},
            "messages": [],
        },
    ),
    (
        "writer",
        Error(429, "Slow."),
        429,
        {
            "tpe": "TooManyRequests",
            "errors": [{"description": "Slow.", "key": "fail.tooManyRequests", "extras": {}}],
            "extras": {},
        },
    ),
    ("zai", Error("authentication"), 401, {"error": {"code": "1000", "message": "Authentication Failed"}}),
    ("zai", Error(503, "Full."), 503, {"error": {"code": "1120", "message": "Full."}}),
)


@pytest.mark.parametrize(
    ("host", "error", "status", "body"), FAILURES, ids=[f"{host}-{error.kind}" for host, error, *_ in FAILURES]
)
def test_an_error_is_the_hosts_own(host: str, error: Error, status: int, body: Any) -> None:
    with fake_llm.intercept([error, error]):
        whole, stream = post(host), post(host, stream=True)
    for response in (whole, stream):
        assert response.status_code == status
        assert response.json() == body


def texts(value: Any) -> list[str]:
    """All the texts in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in texts(item)]


@pytest.mark.parametrize("name", sorted(fake_llm._turns.ERROR_NAMES))
@pytest.mark.parametrize("host", HOSTS)
def test_every_error_is_an_error_on_every_host(host: str, name: str) -> None:
    with fake_llm.intercept([Error(name), Error(name, "In my words.")]):
        usual, mine = post(host), post(host)
    assert 400 <= usual.status_code < 600
    assert "openai.com" not in usual.text
    assert not any("{" in text for text in texts(usual.json()))
    assert "In my words." in mine.text


def test_errors_say_how_long_to_wait_in_the_headers_of_the_host() -> None:
    with fake_llm.intercept([Error(429, retry_after=1.5)] * 3):
        azure, router, xai = post("azure"), post("openrouter"), post("xai")
    assert (azure.headers["retry-after"], azure.headers["retry-after-ms"]) == ("2", "1500")
    assert router.headers["x-ratelimit-reset"] == "1767225601500"
    assert (xai.headers["retry-after"], xai.headers["retry-after-ms"]) == ("2", "1500")
    with fake_llm.intercept(Error(429, retry_after=2)):
        xai = post("xai")
    assert xai.headers["retry-after"] == "2"
    assert "retry-after-ms" not in xai.headers


def test_deepseek_sends_some_errors_as_a_stream_of_octets() -> None:
    with fake_llm.intercept([Error(400), Error("authentication")]):
        bad, unknown = post("deepseek"), post("deepseek")
    assert bad.headers["content-type"] == "application/octet-stream"
    assert unknown.headers["content-type"] == "application/json"


def test_a_malformed_request_is_refused_in_the_form_of_the_host() -> None:
    with fake_llm.intercept("never asked for", strict=False):
        body = post("xai", temperature="hot").json()
    assert body == {
        "code": "invalid-argument",
        "error": "Invalid type for 'temperature': expected a decimal, but got a string instead.",
    }


@pytest.mark.parametrize("host", HOSTS)
def test_an_error_inside_a_stream_comes_after_the_content(host: str) -> None:
    with fake_llm.intercept([Reply("one two", then=Error("overloaded", "Full."))]):
        response = post(host, stream=True)
    assert response.status_code == 200
    *said, (name, last) = [event for event in events(response.content) if event[1] != "[DONE]"]
    assert "".join(delta.get("content") or "" for delta in deltas([json.loads(data) for _, data in said])) == "one two"
    assert "Full." in last
    assert {"error", "errors"} & {*json.loads(last), json.loads(last).get("object")}
    assert name == ("error" if host in {"groq", "writer"} else None)
    assert response.content.endswith(b"[DONE]\n\n") is (host == "openrouter")


# --- Azure ----------------------------------------------------------------------------------------


def test_azure_refuses_a_filtered_prompt_with_what_filtered_it() -> None:
    with fake_llm.intercept([Error("content_filter")]):
        response = post("azure")
    error = response.json()["error"]
    assert response.status_code == 400
    assert {name: error[name] for name in ("type", "param", "code", "status")} == {
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
    }
    assert error["innererror"]["code"] == "ResponsibleAIPolicyViolation"
    assert error["innererror"]["content_filter_result"]["hate"] == {"filtered": True, "severity": "high"}


def test_azure_says_of_a_filtered_answer_what_filtered_it() -> None:
    turn = Reply("one", finish_reason="content_filter")
    choice = answered("azure", turn)["choices"][0]
    assert choice["finish_reason"] == "content_filter"
    assert choice["content_filter_results"]["hate"]["filtered"] is True
    finish = streamed("azure", turn)[-2]["choices"][0]
    assert finish["content_filter_results"]["hate"]["filtered"] is True


def test_azure_streams_about_the_prompt_first() -> None:
    first, opening, word, finish, last = streamed("azure", "one")
    assert first["prompt_filter_results"][0]["content_filter_results"]["jailbreak"] == {
        "detected": False,
        "filtered": False,
    }
    assert {name: first[name] for name in ("choices", "created", "id", "model", "object")} == {
        "choices": [],
        "created": 0,
        "id": "",
        "model": "",
        "object": "",
    }
    assert opening["choices"][0]["content_filter_results"] == finish["choices"][0]["content_filter_results"] == {}
    assert word["choices"][0]["content_filter_results"]["violence"]["severity"] == "safe"
    assert last["choices"] == []


def test_the_keys_of_azure_are_sorted_at_every_level() -> None:
    def ordered(value: Any) -> bool:
        if isinstance(value, dict):
            return list(value) == sorted(value) and all(map(ordered, value.values()))
        return all(map(ordered, value)) if isinstance(value, list) else True

    assert ordered(answered("azure", [PARIS, ROME]))
    assert all(map(ordered, streamed("azure", PARIS)))


AZURE = "https://my-resource.{}"
PATHS = (
    ("openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=1", "openai_chat", "my gpt"),
    ("openai.azure.com/openai/v1/chat/completions", "openai_chat", ""),
    ("cognitiveservices.azure.com/openai/deployments/d/chat/completions?api-version=1", "openai_chat", "d"),
    ("services.ai.azure.com/openai/v1/responses", "openai_responses", ""),
    ("openai.azure.com/openai/responses?api-version=1", "openai_responses", ""),
    ("services.ai.azure.com/models/chat/completions?api-version=1", "openai_chat", ""),
    ("services.ai.azure.com/anthropic/v1/messages", "anthropic_messages", ""),
)


@pytest.mark.parametrize(("place", "dialect", "deployment"), PATHS)
def test_each_place_of_azure_is_answered(place: str, dialect: str, deployment: str) -> None:
    hello = [{"role": "user", "content": "Hi"}]
    body: dict[str, Any] = {"input": "Hi"} if "responses" in dialect else {"messages": hello, "max_tokens": 9}
    if not deployment:
        body["model"] = "named"
    with fake_llm.intercept(["Hello."]) as fake:
        assert httpx.post(AZURE.format(place), json=body, verify=False).status_code == 200
    call = fake.calls[0]
    assert (call.provider, call.dialect, call.model) == ("azure", dialect, deployment or "named")


def test_grok_on_azure_passes_through_as_xai_says_it() -> None:
    chunks = streamed("azure", PARIS, model="grok-4-fast")
    assert deltas(chunks)[0]["role"] == "assistant"
    assert len([delta for delta in deltas(chunks) if "tool_calls" in delta]) == 1
    assert answered("azure", "Hi", model="grok-4-fast")["prompt_filter_results"] is None


@needs("openai")
def test_azures_client_needs_no_key_inside_a_block_and_the_module_stays_openais(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import openai

    for name in ("OPENAI_API_KEY", *(name for name in os.environ if name.startswith("AZURE_OPENAI"))):
        monkeypatch.delenv(name, raising=False)
    messages: Any = [{"role": "user", "content": "Hi"}]
    with fake_llm.intercept(["one", "two"]) as fake:
        openai.AzureOpenAI().chat.completions.create(model="my-deployment", messages=messages)
        openai.chat.completions.create(model="gpt-5", messages=messages)
    assert [call.provider for call in fake.calls] == ["azure", "openai"]
    assert fake.calls[0].url.startswith("https://fake-llm.openai.azure.com/openai/deployments/my-deployment/")
    assert not any("OPENAI" in name for name in os.environ)
    assert (openai.api_type, openai.azure_endpoint, openai.api_version, openai.api_key) == (None,) * 4


@needs("openai")
def test_the_openai_module_is_azures_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import openai

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "mine")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com")
    for name in ("api_key", "azure_endpoint", "_client"):  # what the module keeps of them
        monkeypatch.setattr(openai, name, None)
    with fake_llm.intercept(["one"]) as fake:
        openai.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}])
    assert fake.calls[0].url.startswith("https://mine.openai.azure.com/")
    assert openai.api_type is None
    assert os.environ["AZURE_OPENAI_API_KEY"] == "mine"


# --- lists of models --------------------------------------------------------------------------------


def test_together_lists_its_models_without_an_envelope() -> None:
    with fake_llm.intercept([], context_window=1000) as fake:
        listed = httpx.get("https://api.together.xyz/v1/models", verify=False).json()
    assert {model["context_length"] for model in listed} == {1000}
    assert len(fake.calls) == 0
    assert len(fake.side_calls) == 1


def test_openrouter_lists_windows_and_prices() -> None:
    with fake_llm.intercept([], context_window=1000):
        listed = httpx.get("https://openrouter.ai/api/v1/models", verify=False).json()
    assert listed["total_count"] == len(listed["data"])
    for model in listed["data"]:
        assert model["context_length"] == model["top_provider"]["context_length"] == 1000
        assert model["pricing"] == {"prompt": "0", "completion": "0"}


@needs("openrouter")
def test_the_sdk_of_openrouter_reads_it_all_and_needs_no_key() -> None:
    import openrouter

    messages: Any = [{"role": "user", "content": "Hi"}]
    script: list[Any] = [[Thinking("Hm."), "Yes."], [Thinking("Hm."), "Yes."], PARIS, Error("authentication"), "again"]
    with fake_llm.intercept(script) as fake, openrouter.OpenRouter() as client:
        message = client.chat.send(model="openai/gpt-5", messages=messages).choices[0].message
        assert (message.content, message.reasoning) == ("Yes.", "Hm.")
        chunks = list(client.chat.send(model="openai/gpt-5", messages=messages, stream=True))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Yes."
        call = client.chat.send(model="openai/gpt-5", messages=messages, tools=TOOLS).choices[0].message.tool_calls[0]
        assert call.function.arguments == '{"city":"Paris"}'
        with pytest.raises(openrouter.errors.UnauthorizedResponseError):
            client.chat.send(model="openai/gpt-5", messages=messages)
        told = list(client.beta.responses.send(model="openai/gpt-5", input="Hi", stream=True))
        assert told[-1].type == "response.completed"
        assert client.models.list().result.total_count == 3
    assert {call.provider for call in fake.calls} == {"openrouter"}


@needs("perplexityai")
@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_of_perplexity_reads_it_strictly_and_needs_no_key(stream: bool) -> None:
    import perplexity

    messages: Any = [{"role": "user", "content": "Hi"}]
    with fake_llm.intercept(["one two", Error(429)]) as fake:
        client = perplexity.Perplexity(max_retries=0, _strict_response_validation=True)
        answer = client.chat.completions.create(model="sonar", messages=messages, stream=stream)
        last = list(answer)[-1] if stream else answer
        assert last.choices[0].message.content == "one two"
        assert last.usage.completion_tokens == fake.usage.output_tokens
        with pytest.raises(perplexity.RateLimitError):
            client.chat.completions.create(model="sonar", messages=messages, stream=stream)


# --- Responses and Messages on other hosts ----------------------------------------------------------

RESPONSES = {
    "azure": ("https://my-resource.openai.azure.com/openai/v1/responses", r"resp_[0-9a-f]{50}", r"call_\w{24}"),
    "deepseek": ("https://api.deepseek.com/responses", UUID, r"call_00_\w{24}"),
    "openrouter": ("https://openrouter.ai/api/v1/responses", r"gen-1767225600-\w{20}", r"call_\w{24}"),
    "xai": ("https://api.x.ai/v1/responses", UUID, rf"call-{UUID}-0"),
}
TOOL = {"type": "function", "name": "get_weather", "parameters": PARAMETERS}


def respond(host: str, **fields: Any) -> httpx.Response:
    body = {"model": "a-model", "input": "Hi", "tools": [TOOL], **fields}
    return httpx.post(RESPONSES[host][0], json=body, verify=False)


@pytest.mark.parametrize("host", sorted(RESPONSES))
def test_responses_bear_the_ids_of_the_host_in_every_event(host: str) -> None:
    _, form, call_form = RESPONSES[host]
    with fake_llm.intercept([[Thinking("Hm."), "Yes.", PARIS]] * 2) as fake:
        whole = respond(host).json()
        told = [json.loads(data) for _, data in events(respond(host, stream=True).content) if data != "[DONE]"]
    assert re.fullmatch(form, whole["id"])
    call = next(item for item in whole["output"] if item["type"] == "function_call")
    assert re.fullmatch(call_form, call["call_id"])
    finished = told[-1]["response"]
    assert {event["response"]["id"] for event in told if "response" in event} == {finished["id"]}
    added = {event["item"]["id"] for event in told if event["type"] == "response.output_item.added"}
    assert added == {item["id"] for item in finished["output"]}
    assert {event["item_id"] for event in told if "item_id" in event} <= added
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert [item["type"] for item in finished["output"]] == ["reasoning", "message", "function_call"]
    assert len(added) == 3
    assert fake.calls[0].provider == host


def test_a_later_request_builds_on_an_answer_of_xai() -> None:
    with fake_llm.intercept(["first", "second"]) as fake:
        first = respond("xai").json()["id"]
        respond("xai", previous_response_id=first)
    assert [message.text for message in fake.calls[1].conversation] == ["Hi", "first", "Hi"]


def test_the_arguments_of_a_call_of_xai_are_one_delta_and_its_events_begin_with_their_number() -> None:
    with fake_llm.intercept([PARIS]):
        body = respond("xai", stream=True).content
    told = events(body)
    arguments = [data for name, data in told if name == "response.function_call_arguments.delta"]
    assert len(arguments) == 1
    assert json.loads(arguments[0])["delta"] == '{"city":"Paris"}'
    assert all(data.startswith('{"sequence_number":') for _, data in told)
    assert not body.endswith(b"[DONE]\n\n")


def test_deepseek_tells_its_thoughts_as_the_content_of_reasoning() -> None:
    with fake_llm.intercept([[Thinking("Hm hm."), "Yes."]]):
        told = [json.loads(data) for _, data in events(respond("deepseek", stream=True).content)]
    assert [event["type"] for event in told][2:9] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
    reasoning = told[-1]["response"]["output"][0]
    assert reasoning["content"] == [{"type": "reasoning_text", "text": "Hm hm."}]
    assert reasoning["summary"] == []


def test_responses_of_openrouter_have_no_names_and_a_terminator() -> None:
    with fake_llm.intercept(["Hi"]):
        body = respond("openrouter", stream=True).content
    assert b"event:" not in body
    assert body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.deepseek.com/anthropic/v1/messages", "deepseek"),
        ("https://api.fireworks.ai/inference/v1/messages", "fireworks"),
        ("https://openrouter.ai/api/v1/messages", "openrouter"),
        ("https://api.x.ai/v1/messages", "xai"),
    ],
)
def test_messages_of_anthropic_are_answered_too(url: str, provider: str) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    with fake_llm.intercept(["Hello."]) as fake:
        assert httpx.post(url, json=body, verify=False).json()["content"] == [{"type": "text", "text": "Hello."}]
    assert (fake.calls[0].provider, fake.calls[0].dialect) == (provider, "anthropic_messages")
