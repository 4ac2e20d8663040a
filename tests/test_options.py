"""The options of a reply, a rule and a block: what they change on the wire, and which of them wins."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, WAYS, Vendor, events, failure, said
from fake_llm import (
    Error,
    Event,
    FakeLLM,
    Framing,
    Raw,
    Reply,
    ScriptError,
    ScriptMismatchError,
    Thinking,
    ToolCall,
    UnscriptedCallError,
    UnusedReplyError,
    Usage,
)

ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
TOOLS = {"f": {"type": "object"}}


def deltas(vendor: Vendor, response: httpx.Response, kind: str = "text") -> list[str]:
    """The pieces in which a text, the thinking or the arguments were streamed."""
    found: list[str] = []
    for _, data in events(response.content):
        if data == "[DONE]":
            continue
        event = json.loads(data)
        if vendor is CHAT:
            for choice in event["choices"]:
                delta = choice["delta"]
                if kind == "arguments":
                    found += [call["function"].get("arguments", "") for call in delta.get("tool_calls", ())]
                else:
                    found.append(delta.get({"text": "content", "thinking": "reasoning_content"}[kind]) or "")
        elif vendor is RESPONSES:
            name = {
                "text": "output_text",
                "thinking": "reasoning_summary_text",
                "arguments": "function_call_arguments",
            }[kind]
            if event["type"] == f"response.{name}.delta":
                found.append(event["delta"])
        elif vendor is ANTHROPIC:
            if event["type"] == "content_block_delta":
                found.append(
                    event["delta"].get({"text": "text", "thinking": "thinking", "arguments": "partial_json"}[kind], "")
                )
        else:
            for part in event["candidates"][0].get("content", {}).get("parts", ()):
                if "text" in part and bool(part.get("thought")) is (kind == "thinking"):
                    found.append(part["text"])
    return [piece for piece in found if piece]


def one(vendor: Vendor, stream: bool, turn: Any, options: Any = None, **asked: Any) -> Any:
    with fake_llm.intercept([turn], **(options or {})):
        return said(vendor, vendor.post(stream=stream, **asked))


# --- usage --------------------------------------------------------------------------------------


FULL = Usage(100, 50, cached_tokens=20, cache_write_tokens=7, reasoning_tokens=30)


def counted(vendor: Vendor, usage: Any) -> tuple[int, int, int, int]:
    """Input, output, cached and reasoning tokens from the vendor's own places."""
    if vendor is CHAT:
        return (
            usage["prompt_tokens"],
            usage["completion_tokens"],
            usage["prompt_tokens_details"]["cached_tokens"],
            usage["completion_tokens_details"]["reasoning_tokens"],
        )
    if vendor is RESPONSES:
        return (
            usage["input_tokens"],
            usage["output_tokens"],
            usage["input_tokens_details"]["cached_tokens"],
            usage["output_tokens_details"]["reasoning_tokens"],
        )
    if vendor is ANTHROPIC:
        read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        thought = usage.get("output_tokens_details", {}).get("thinking_tokens", 0)
        return usage["input_tokens"] + read + written, usage["output_tokens"], read, thought
    thoughts = usage.get("thoughtsTokenCount", 0)
    return (
        usage["promptTokenCount"],
        usage.get("candidatesTokenCount", 0) + thoughts,
        usage.get("cachedContentTokenCount", 0),
        thoughts,
    )


@ways
def test_usage_stands_in_the_vendors_own_places(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply("Hello there.", usage=FULL)]) as fake:
        found = said(vendor, vendor.post(stream=stream))
    assert counted(vendor, found.usage) == (100, 50, 20, 30)
    assert fake.calls[0].usage == FULL
    assert fake.usage == FULL


@ways
def test_total_and_details_of_usage(vendor: Vendor, stream: bool) -> None:
    found = one(vendor, stream, Reply("x", usage=Usage(3, 2, total_tokens=99, details={"x_mine": {"a": 1}})))
    assert found.usage["x_mine"] == {"a": 1}
    if vendor is not ANTHROPIC:
        assert 99 in found.usage.values()


@ways
def test_usage_without_a_script_is_an_estimate_that_is_the_same_each_time(vendor: Vendor, stream: bool) -> None:
    first, second = (counted(vendor, one(vendor, stream, "Hello there, friend").usage) for _ in range(2))
    assert first == second
    assert first[0] > 0
    assert first[1] > 0
    longer = counted(
        vendor, one(vendor, stream, "Hello there, friend " * 20, text="A much longer question " * 20).usage
    )
    assert longer[0] > first[0]
    assert longer[1] > first[1]


@vendors
def test_whole_and_streamed_estimates_are_equal(vendor: Vendor) -> None:
    found = []
    for stream in (False, True):
        with fake_llm.intercept(["Hello there"]) as fake:
            vendor.post(stream=stream)
        found.append(fake.usage)
    assert found[0] == found[1]


def test_the_usage_of_an_openai_stream_comes_only_where_it_is_asked_for() -> None:
    with fake_llm.intercept(["a", "b"]):
        without = events(CHAT.post(stream=True, stream_options=None).content)
        asked = events(CHAT.post(stream=True, stream_options={"include_usage": True}).content)
    assert not any("usage" in json.loads(data) for _, data in without[:-1])
    chunks = [json.loads(data) for _, data in asked[:-1]]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] > 0


@ways
def test_the_usage_of_a_turn_wins_over_that_of_a_rule_and_of_the_block(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply("x", usage=Usage(1, 1)), "y"], usage=Usage(3, 3)) as fake:
        fake.when().reply(Reply("x", usage=Usage(11, 1)), "y", usage=Usage(2, 2))
        found = [counted(vendor, said(vendor, vendor.post(str(n), stream=stream)).usage)[0] for n in range(4)]
    assert found == [1, 3, 11, 2]
    assert fake.usage == Usage(17, 7)


# --- names --------------------------------------------------------------------------------------


@ways
def test_model_and_id(vendor: Vendor, stream: bool) -> None:
    assert one(vendor, stream, "x").model == vendor.model
    with fake_llm.intercept([Reply("x", model="turn", id="id-1"), "y"], model="block") as fake:
        fake.when().reply(Reply("x", model="turn"), "y", model="rule")
        found = [said(vendor, vendor.post(str(n), stream=stream)) for n in range(4)]
    assert [item.model for item in found] == ["turn", "block", "turn", "rule"]
    assert found[0].id == "id-1"
    assert {call.model for call in fake.calls} == {vendor.model}


@ways
@pytest.mark.parametrize(
    ("word", "chat", "responses", "anthropic", "gemini"),
    [
        ("stop", "stop", "completed", "end_turn", "STOP"),
        ("length", "length", "max_output_tokens", "max_tokens", "MAX_TOKENS"),
        ("content_filter", "content_filter", "content_filter", "refusal", "SAFETY"),
        ("refusal", "stop", "completed", "refusal", "SAFETY"),
        ("stop_sequence", "stop", "completed", "stop_sequence", "STOP"),
        ("pause", "stop", "completed", "pause_turn", "STOP"),
        ("odd_word_of_mine", "odd_word_of_mine", "odd_word_of_mine", "odd_word_of_mine", "odd_word_of_mine"),
        ("RECITATION", "RECITATION", "RECITATION", "RECITATION", "RECITATION"),
    ],
)
def test_finish_reasons(
    vendor: Vendor, stream: bool, word: str, chat: str, responses: str, anthropic: str, gemini: str
) -> None:
    found = one(vendor, stream, Reply("Hello there", finish_reason=word))
    assert found.finish == {"chat": chat, "responses": responses, "anthropic": anthropic, "gemini": gemini}[vendor.name]
    assert found.text == "Hello there"


@ways
def test_a_malformed_tool_call(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply(finish_reason="malformed_tool_call")]):
        response = vendor.post(stream=stream, tools=TOOLS)
    assert response.status_code == 200
    if vendor is GEMINI:
        assert "MALFORMED_FUNCTION_CALL" in response.text


@ways
def test_a_blocked_answer(vendor: Vendor, stream: bool) -> None:
    found = one(vendor, stream, Reply(finish_reason="content_filter"))
    assert found.text == ""
    assert found.finish in {
        "chat": ("content_filter",),
        "responses": ("content_filter",),
        "anthropic": ("refusal",),
    }.get(vendor.name, ("SAFETY", "PROHIBITED_CONTENT", "OTHER"))


@ways
def test_an_answer_without_parts(vendor: Vendor, stream: bool) -> None:
    assert one(vendor, stream, Reply()).text == ""


# --- choices and logprobs -----------------------------------------------------------------------


@both
def test_choices(stream: bool) -> None:
    with fake_llm.intercept(
        [Reply("one", choices=["two words", Reply("three", finish_reason="length"), ["fo", "ur"]])]
    ):
        response = CHAT.post(stream=stream, n=4)
    found = [said(CHAT, response, index) for index in range(4)]
    assert [item.text for item in found] == ["one", "two words", "three", "four"]
    assert [item.finish for item in found] == ["stop", "stop", "length", "stop"]


def test_more_choices_than_openai_gives_are_refused() -> None:
    with fake_llm.intercept(default="x") as fake:
        assert "<= 128" in failure(CHAT, CHAT.post(n=129))
        assert len(CHAT.post(n=128).json()["choices"]) == 128
    assert len(fake.calls) == 2


@both
def test_one_answer_is_given_n_times(stream: bool) -> None:
    with fake_llm.intercept(["same"]):
        response = CHAT.post(stream=stream, n=3)
    assert [said(CHAT, response, index).text for index in range(3)] == ["same"] * 3


@pytest.mark.parametrize("vendor", [RESPONSES, ANTHROPIC], ids=str)
def test_choices_where_a_vendor_has_none(vendor: Vendor) -> None:
    with fake_llm.intercept([Reply("one", choices=["two"])]) as fake:
        with pytest.raises(ScriptMismatchError, match=r"2 choices.*\n.*one answer"):
            vendor.post()
        fake.failures.clear()


def test_another_number_of_choices_than_asked() -> None:
    with fake_llm.intercept([Reply("one", choices=["two"])]) as fake:
        with pytest.raises(ScriptMismatchError, match=r"2 choices.*\n.*n=3"):
            CHAT.post(n=3)
        fake.failures.clear()


@both
def test_choices_by_gemini(stream: bool) -> None:
    with fake_llm.intercept([Reply("one", choices=["two"])]):
        response = GEMINI.post(stream=stream, generationConfig={"candidateCount": 2})
    documents = [json.loads(data) for _, data in events(response.content)] if stream else [response.json()]
    texts = {0: "", 1: ""}
    for document in documents:
        for candidate in document["candidates"]:
            texts[candidate["index"]] += "".join(part["text"] for part in candidate.get("content", {}).get("parts", ()))
    assert texts == {0: "one", 1: "two"}


def test_logprobs_of_openai_chat() -> None:
    pairs = [("Hel", -0.1), ("lo", -2.5)]
    with fake_llm.intercept([Reply("Hello", logprobs=pairs), Reply("Hello", logprobs=pairs)]):
        whole = CHAT.post(model="gpt-4o", logprobs=True).json()["choices"][0]["logprobs"]["content"]
        streamed = [
            entry
            for _, data in events(CHAT.post(model="gpt-4o", logprobs=True, stream=True).content)[:-1]
            for choice in json.loads(data)["choices"]
            for entry in (choice.get("logprobs") or {}).get("content") or ()
        ]
    for entries in (whole, streamed):
        assert [(entry["token"], entry["logprob"], bytes(entry["bytes"])) for entry in entries] == [
            ("Hel", -0.1, b"Hel"),
            ("lo", -2.5, b"lo"),
        ]


def test_logprobs_are_made_up_where_they_are_asked_for() -> None:
    with fake_llm.intercept(["Hello there"]):
        entries = CHAT.post(model="gpt-4o", logprobs=True, top_logprobs=2).json()["choices"][0]["logprobs"]["content"]
    assert "".join(entry["token"] for entry in entries) == "Hello there"
    assert all(len(entry["top_logprobs"]) == 2 for entry in entries)


def test_logprobs_of_responses_and_gemini() -> None:
    pairs = [("Hel", -0.1), ("lo", -2.5)]
    with fake_llm.intercept([Reply("Hello", logprobs=pairs)] * 2):
        item = RESPONSES.post(model="gpt-4o", include=["message.output_text.logprobs"]).json()["output"][-1]
        candidate = GEMINI.post(generationConfig={"responseLogprobs": True}).json()["candidates"][0]
    assert [(entry["token"], entry["logprob"]) for entry in item["content"][0]["logprobs"]] == pairs
    chosen = candidate["logprobsResult"]["chosenCandidates"]
    assert [(entry["token"], entry["logProbability"]) for entry in chosen] == pairs


@both
def test_logprobs_in_a_vendors_own_form(stream: bool) -> None:
    own = {"token": "Hello", "logprob": -1.0, "bytes": None, "top_logprobs": []}
    with fake_llm.intercept([Reply("Hello", logprobs=[own])]):
        text = CHAT.post(model="gpt-4o", logprobs=True, stream=stream).text
    assert re.search(r'"bytes":\s*null', text)


# --- bodies, headers, events --------------------------------------------------------------------


@ways
def test_extra_is_merged_into_the_body(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply("Hello there", extra={"x_mine": {"deep": [1]}})]):
        response = vendor.post(stream=stream)
    assert said(vendor, response).text == "Hello there"
    assert re.search(r'"x_mine":\s*\{\s*"deep":\s*\[\s*1\s*\]', response.text)


@vendors
def test_extra_is_merged_deeply_and_wins(vendor: Vendor) -> None:
    key = {"chat": "usage", "responses": "usage", "anthropic": "usage", "gemini": "usageMetadata"}[vendor.name]
    with fake_llm.intercept([Reply("x", usage=Usage(5, 5), extra={key: {"x_mine": 1}, "object": "odd"})]):
        document = vendor.post().json()
    assert document["object"] == "odd"
    assert document[key]["x_mine"] == 1
    assert counted(vendor, document[key])[:2] == (5, 5)


@ways
def test_extra_of_a_tool_call(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([[ToolCall("f", {"a": 1}, extra={"x_mine": "yes"}), ToolCall("f", {"a": 2})]]):
        response = vendor.post(stream=stream, tools=TOOLS)
    assert said(vendor, response).calls == [("f", {"a": 1}), ("f", {"a": 2})]
    assert re.search(r'"x_mine":\s*"yes"', response.text)


@ways
def test_headers(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([Reply("x", headers={"X-Mine": "1", "Content-Type": "text/odd"}), "y"]) as fake:
        response = vendor.post("1", stream=stream)
        plain = vendor.post("2", stream=stream)
    assert response.headers["x-mine"] == "1"
    assert response.headers.get_list("content-type") == ["text/odd"]
    assert "x-mine" not in plain.headers
    assert fake.calls[0].response is not None
    assert fake.calls[0].response.headers["x-mine"] == "1"


@ways
def test_headers_cannot_break_the_body(vendor: Vendor, stream: bool) -> None:
    given = {"Content-Length": "3", "Transfer-Encoding": "gzip"}
    with fake_llm.intercept([Reply("Hello there", headers=given)]):
        assert said(vendor, vendor.post(stream=stream)).text == "Hello there"


@vendors
def test_edit_of_a_whole_body_gets_one_payload(vendor: Vendor) -> None:
    seen: list[Any] = []

    def edit(documents: list[Any]) -> list[Any]:
        seen.extend(documents)
        documents[0]["x_mine"] = True
        return documents

    with fake_llm.intercept([Reply("Hello", edit=edit)]):
        response = vendor.post()
    assert len(seen) == 1
    assert response.json()["x_mine"] is True
    assert said(vendor, response).text == "Hello"


@vendors
def test_edit_of_a_stream_gets_all_events_but_the_terminator(vendor: Vendor) -> None:
    seen: list[Any] = []

    def edit(items: list[Any]) -> list[Any]:
        seen.extend(items)
        return [b": bytes\n\n", *items[:2], ": text\n\n", *items[2:], Event("odd", {"type": "odd", "choices": []})]

    with fake_llm.intercept([Reply("Hello there", edit=edit), "Hello there"]):
        response = vendor.post(stream=True)
        plain = events(vendor.post(stream=True).content)
    assert all(isinstance(item, (dict, Event, str, bytes)) for item in seen)
    assert not any("[DONE]" in str(item) for item in seen)
    assert len(seen) == len([data for _, data in plain if data != "[DONE]"])
    assert response.content.startswith(b": bytes\n\n")
    assert b": text\n\n" in response.content
    found = events(response.content)
    done = vendor is CHAT
    assert found[-2 if done else -1][0] == "odd"
    assert (found[-1][1] == "[DONE]") is done


@ways
def test_edit_may_send_nothing_or_anything(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(
        [Reply("Hello", edit=lambda items: []), Reply("Hello", edit=lambda items: ["raw ", b"bytes"])]
    ):
        empty = vendor.post("1", stream=stream)
        raw = vendor.post("2", stream=stream)
    done = b"data: [DONE]\n\n" if stream and vendor is CHAT else b""
    assert empty.content == done
    assert raw.content == b"raw bytes" + done


@ways
@pytest.mark.parametrize(
    "edit",
    [
        lambda items: None,
        lambda items: "text",
        lambda items: [None],
        lambda items: [5],
        lambda items: [{"a": object()}],
        lambda: [b""],
        lambda items: items.nope,
    ],
    ids=["none", "text", "none-item", "number-item", "no-json", "no-argument", "raises"],
)
def test_an_edit_that_fails_is_the_tests_own_error(vendor: Vendor, stream: bool, edit: Any) -> None:
    with (
        pytest.raises((ScriptError, TypeError, AttributeError)),
        fake_llm.intercept([Reply("Hello", edit=edit)]) as fake,
    ):
        try:
            vendor.post(stream=stream)
        finally:
            assert len(fake.failures) == 1


# --- pieces and time ----------------------------------------------------------------------------


@vendors
def test_a_chunk_per_word(vendor: Vendor) -> None:
    with fake_llm.intercept(["Hello there,  my friend"]):
        found = deltas(vendor, vendor.post(stream=True))
    assert "".join(found) == "Hello there,  my friend"
    assert len(found) == 4


@vendors
@pytest.mark.parametrize("size", [1, 3, 100])
def test_chunk_size(vendor: Vendor, size: int) -> None:
    turn = Reply(Thinking("thought through"), "Hello there", ToolCall("f", {"city": "Paris"}), chunk_size=size)
    with fake_llm.intercept([turn]):
        response = vendor.post(stream=True, tools=TOOLS)
    wanted = {"text": "Hello there", "thinking": "thought through", "arguments": '{"city":"Paris"}'}
    for kind, text in wanted.items():
        if vendor is GEMINI and kind == "arguments":
            continue
        assert deltas(vendor, response, kind) == [text[start : start + size] for start in range(0, len(text), size)]


@pytest.mark.parametrize("vendor", [CHAT, RESPONSES, ANTHROPIC], ids=str)
@pytest.mark.parametrize("arguments", [{"a": 1}, {"city": "Paris, the capital of France"}])
def test_arguments_come_in_at_least_two_pieces(vendor: Vendor, arguments: dict[str, Any]) -> None:
    with fake_llm.intercept([ToolCall("f", arguments)]):
        assert len(deltas(vendor, vendor.post(stream=True, tools=TOOLS), "arguments")) >= 2


@vendors
def test_chunks_outright(vendor: Vendor) -> None:
    with fake_llm.intercept([Reply(chunks=["Hel", "lo th", "ere"])]):
        response = vendor.post(stream=True)
    assert deltas(vendor, response) == ["Hel", "lo th", "ere"]
    assert one(vendor, False, Reply(chunks=["Hel", "lo"])).text == "Hello"


def test_chunks_over_several_texts() -> None:
    with fake_llm.intercept([Reply("Hel", ToolCall("f"), "lo!", chunks=["He", "llo", "!"])]):
        assert deltas(ANTHROPIC, ANTHROPIC.post(stream=True, tools=TOOLS)) == ["He", "l", "lo", "!"]


@vendors
def test_chunk_size_of_a_turn_a_rule_and_the_block(vendor: Vendor) -> None:
    with fake_llm.intercept([Reply("abcdef", chunk_size=1), "abcdef"], chunk_size=3) as fake:
        fake.when().reply(Reply("abcdef", chunk_size=6), "abcdef", chunk_size=2)
        found = [len(deltas(vendor, vendor.post(str(n), stream=True))) for n in range(4)]
    assert found == [6, 2, 1, 3]


def test_chunks_of_a_turn_win_over_the_chunk_size_of_the_block() -> None:
    with fake_llm.intercept([Reply(chunks=["ab", "cdef"])], chunk_size=3):
        assert deltas(CHAT, CHAT.post(stream=True)) == ["ab", "cdef"]


@vendors
def test_a_stream_reaches_the_client_event_by_event(vendor: Vendor) -> None:
    with (
        fake_llm.intercept(["one two three"]),
        httpx.stream("POST", vendor.place(True), json=vendor.body(stream=True)) as response,
    ):
        reads = list(response.iter_raw())
    assert len(reads) == len(events(b"".join(reads)))
    assert all(read.endswith(b"\n") for read in reads)


@needs("openai")
def test_an_sdk_sees_a_chunk_when_it_comes_and_can_stop() -> None:
    import openai

    with fake_llm.intercept([Reply("one two three", then=fake_llm.Disconnect())]), openai.OpenAI() as client:
        stream = client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        seen = [next(stream).choices[0].delta.content for _ in range(3)]
        stream.close()
    assert seen == ["", "one", " two"]


@needs("anthropic")
def test_an_sdk_that_stops_early_leaves_nothing_behind() -> None:
    import anthropic

    with fake_llm.intercept([Reply("one two three", interval=1000.0), "next"]), anthropic.Anthropic() as client:
        with client.messages.stream(
            model="claude-sonnet-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        ) as stream:
            assert next(iter(stream.text_stream)) == "one"
        assert said(ANTHROPIC, ANTHROPIC.post()).text == "next"


@ways
def test_delay_and_interval_of_a_turn_a_rule_and_the_block(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(
        [Reply("one two", delay=1, interval=0.5), "one two"], delay=2, interval=0.25, virtual_time=True
    ) as fake:
        fake.when().reply(Reply("one two", delay=3, interval=0), "one two", delay=4, interval=0.75)
        for n in range(4):
            vendor.post(str(n), stream=stream)
    intervals = [0.5, 0.25, 0, 0.75] if stream else [0] * 4
    assert [call.waited for call in fake.calls] == [a + b for a, b in zip([1, 2, 3, 4], intervals, strict=True)]


@vendors
def test_framing_of_a_turn_a_rule_and_the_block(vendor: Vendor) -> None:
    def comment(text: str) -> Framing:
        return Framing(comment=text)

    with fake_llm.intercept([Reply("one two", framing=comment("turn")), "one two"], framing=comment("block")) as fake:
        fake.when().reply(Reply("one two", framing=comment("inner")), "one two", framing=comment("rule"))
        bodies = [vendor.post(str(n), stream=True).content for n in range(4)]
    assert [re.findall(rb"(?m)^: (\w+)", body)[0] for body in bodies] == [b"turn", b"block", b"inner", b"rule"]


@pytest.mark.parametrize("turn", [Error(429), Raw("x")], ids=shown)
def test_the_delay_of_the_block_holds_for_errors_and_raw_bodies(turn: Any) -> None:
    with fake_llm.intercept([turn], delay=2, virtual_time=True) as fake:
        CHAT.post()
    assert fake.calls[0].waited == 2


# --- the context window -------------------------------------------------------------------------


@ways
def test_a_prompt_over_the_context_window_is_refused_as_the_vendor_does(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(["fits"], context_window=50) as fake:
        response = vendor.post("word " * 200, stream=stream)
        message = failure(vendor, response)
        assert response.status_code == 400
        assert re.search(r"too long|context|exceeds", message)
        assert fake.remaining == 1
        assert isinstance(fake.calls[0].reply, Error)
        asked = {"max_tokens": 1} if vendor is ANTHROPIC else {}
        assert said(vendor, vendor.post("word", stream=stream, **asked)).text == "fits"


@vendors
def test_the_larger_of_max_tokens_and_the_reserve_is_kept_free(vendor: Vendor) -> None:
    def limited(count: int) -> dict[str, Any]:
        return {
            "chat": {"max_completion_tokens": count},
            "responses": {"max_output_tokens": count},
            "anthropic": {"max_tokens": count},
            "gemini": {"generationConfig": {"maxOutputTokens": count}},
        }[vendor.name]

    with fake_llm.intercept(default="fits", context_window=1000, reserve_completion=500) as fake:
        text = "word " * 300  # some 375 tokens
        assert said(vendor, vendor.post(text, **limited(16))).text == "fits"
        assert said(vendor, vendor.post(text, **limited(550))).text == "fits"
        failure(vendor, vendor.post(text, **limited(700)))
        failure(vendor, vendor.post("word " * 450, **limited(16)))
    assert len(fake.calls) == 4


def test_models_report_the_window() -> None:
    with fake_llm.intercept([], context_window=12_345) as fake:
        assert "12345" in httpx.get("https://api.openai.com/v1/models/gpt-5").text
        assert "12345" in httpx.get("https://api.anthropic.com/v1/models/claude").text
        assert "12345" in httpx.get("https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro").text
    assert len(fake.calls) == 0
    assert len(fake.side_calls) == 3


# --- cost ---------------------------------------------------------------------------------------


@ways
def test_cost_as_a_number(vendor: Vendor, stream: bool) -> None:
    turns = [Reply("a", usage=Usage(10, 1)), Error(429), Reply("b", usage=Usage(20, 2))]
    with fake_llm.intercept(turns, cost=lambda usage: usage.input_tokens * 2) as fake:
        for n in range(3):
            vendor.post(str(n), stream=stream)
    assert [call.cost for call in fake.calls] == [20, None, 40]
    assert fake.cost == 60


def test_cost_as_a_dict() -> None:
    def cost(usage: Usage) -> dict[str, float]:
        return {"usd": usage.input_tokens, **({"extra": 1} if usage.input_tokens > 10 else {})}

    with fake_llm.intercept([Reply("a", usage=Usage(10, 1)), Reply("b", usage=Usage(20, 2))], cost=cost) as fake:
        CHAT.post("1")
        CHAT.post("2")
    assert fake.calls[0].cost == {"usd": 10}
    assert fake.cost == {"usd": 30, "extra": 1}


def test_no_cost() -> None:
    with fake_llm.intercept(["a"]) as fake:
        CHAT.post()
    assert fake.cost is None
    assert fake.calls[0].cost is None


def test_a_cost_function_that_fails_is_the_tests_own_error() -> None:
    def cost(usage: Usage) -> float:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"), fake_llm.intercept(["a"], cost=cost):
        CHAT.post()


# --- hosts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("llm.corp.example", "https://llm.corp.example/v1/chat/completions"),
        ("llm.corp.example", "http://llm.corp.example/chat/completions"),
        ("LLM.corp.example", "https://llm.CORP.example/v1/chat/completions"),
        ("llm.corp.example:8080", "http://llm.corp.example:8080/v1/chat/completions"),
        ("llm.corp.example:8080/base", "http://llm.corp.example:8080/base/chat/completions"),
        ("llm.corp.example:8080/base", "http://llm.corp.example:8080/base/v1/chat/completions"),
        ("llm.corp.example/base/", "http://llm.corp.example/base/chat/completions"),
        ("https://llm.corp.example/base", "https://llm.corp.example:443/base/chat/completions"),
        ("localhost:11434", "http://localhost:11434/v1/chat/completions"),
        ("127.0.0.1:1", "http://127.0.0.1:1/v1/chat/completions"),
        ("[::1]:1", "http://[::1]:1/v1/chat/completions"),
    ],
)
def test_hosts_of_ones_own(place: str, url: str) -> None:
    with fake_llm.intercept(["mine"], hosts={place: "openai"}) as fake:
        response = httpx.post(url, json=CHAT.body())
    assert said(CHAT, response).text == "mine"
    assert fake.calls[0].provider == "openai"


@pytest.mark.parametrize("vendor", [CHAT, ANTHROPIC, GEMINI], ids=str)
def test_every_provider_may_live_elsewhere(vendor: Vendor) -> None:
    name = {"chat": "openai"}.get(vendor.name, vendor.name)
    url = re.sub(r"https://[^/]+", "http://proxy.example:99/deep/base", vendor.place())
    with fake_llm.intercept(["mine"], hosts={"proxy.example:99/deep/base": name}):
        assert said(vendor, httpx.post(url, json=vendor.body())).text == "mine"


def test_the_longest_base_wins() -> None:
    hosts = {"h.example": "openai", "h.example/anthropic": "anthropic"}
    with fake_llm.intercept(["a", "b"], hosts=hosts) as fake:
        httpx.post("https://h.example/anthropic/v1/messages", json=ANTHROPIC.body())
        httpx.post("https://h.example/v1/chat/completions", json=CHAT.body())
    assert [call.provider for call in fake.calls] == ["anthropic", "openai"]


def test_an_unknown_path_of_a_host_of_ones_own_is_refused() -> None:
    with fake_llm.intercept(hosts={"h.example/base": "openai"}) as fake:
        with pytest.raises(fake_llm.UnknownEndpointError, match="chat/completions"):
            httpx.post("https://h.example/base/odd", json={})
        fake.failures.clear()


@pytest.mark.parametrize(
    "hosts", [{"h": "nope"}, {"": "openai"}, {"h": 5}, {5: "openai"}, "h", {"h": "aleph_alpha"}], ids=shown
)
def test_hosts_that_cannot_be(hosts: Any) -> None:
    with pytest.raises(ScriptError, match="hosts"):
        fake_llm.intercept(hosts=hosts)


# --- what may be written ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"nope": 1},
        {"delays": 1},
        {"on_exhausted": "nope"},
        {"on_exhausted": None},
        {"strict": "yes"},
        {"model": 5},
        {"usage": (1, 2)},
        {"delay": -1},
        {"delay": float("nan")},
        {"interval": "x"},
        {"chunk_size": 0},
        {"framing": {}},
        {"context_window": -1},
        {"context_window": 1.5},
        {"reserve_completion": "x"},
        {"reserve_completion": None},
        {"cost": 5},
        {"virtual_time": 1},
        {"env": "x"},
        {"default": 5},
        {"hosts": None},
    ],
    ids=shown,
)
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ScriptError) as raised:
        fake_llm.intercept(**options)
    assert "\n" in str(raised.value)
    with pytest.raises(ScriptError):
        FakeLLM(**options)
    with pytest.raises(ScriptError):
        FakeLLM().copy(**options)


@pytest.mark.parametrize(
    "options",
    [{"delay": -1}, {"model": 5}, {"usage": 5}, {"interval": "x"}, {"chunk_size": 0}, {"framing": 5}],
    ids=shown,
)
def test_options_of_a_rule_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ScriptError):
        FakeLLM().when().reply("x", **options)


def test_an_unknown_option_is_told_with_the_nearest_one() -> None:
    with pytest.raises(ScriptError, match=r"(?s)on_exhuasted.*Write on_exhausted="):
        fake_llm.intercept(on_exhuasted="stop")


# --- exhausted ----------------------------------------------------------------------------------


@ways
def test_on_exhausted_raise(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(["one"]) as fake:
        vendor.post("first", stream=stream)
        with pytest.raises(UnscriptedCallError, match=r"(?s)Call 1.*second.*all taken:.*'one'.*Write one more turn"):
            vendor.post("second", stream=stream)
        assert len(fake.failures) == 1
        assert fake.calls[1].reply is None
        assert fake.calls[1].response is None
        fake.failures.clear()


@ways
def test_on_exhausted_stop(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept(["one"], on_exhausted="stop") as fake:
        vendor.post("1", stream=stream)
        for n in range(3):
            found = said(vendor, vendor.post(f"more {n}", stream=stream))
            assert "fake_llm" in found.text
            assert found.finish in ("stop", "completed", "end_turn", "STOP")
    assert fake.failures == []


@ways
def test_on_exhausted_error(vendor: Vendor, stream: bool) -> None:
    with pytest.raises(UnscriptedCallError), fake_llm.intercept(["one"], on_exhausted="error") as fake:
        vendor.post("1", stream=stream)
        response = vendor.post("2", stream=stream)
        assert response.status_code == 400
        assert "no turn was left" in failure(vendor, response)
        assert len(fake.failures) == 1


@needs("openai", "anthropic")
def test_on_exhausted_error_is_one_call_in_sdks_that_retry() -> None:
    import anthropic
    import openai

    with fake_llm.intercept([], on_exhausted="error") as fake:
        with openai.OpenAI(max_retries=3) as client, pytest.raises(openai.BadRequestError, match="no turn was left"):
            client.responses.create(model="gpt-5", input="Hi")
        with (
            anthropic.Anthropic(max_retries=3) as other,
            pytest.raises(anthropic.BadRequestError, match="no turn was left"),
        ):
            other.messages.create(model="c", max_tokens=5, messages=[{"role": "user", "content": "Hi"}])
        assert len(fake.calls) == 2
        fake.failures.clear()


# --- the fake itself ----------------------------------------------------------------------------


def test_push_and_remaining() -> None:
    with fake_llm.intercept(["a"]) as fake:
        assert fake.remaining == 1
        fake.push("b", "c")
        fake.push()
        assert fake.remaining == 3
        assert [said(CHAT, CHAT.post(str(n))).text for n in range(3)] == ["a", "b", "c"]
        assert fake.remaining == 0
        fake.push("d")
        assert said(CHAT, CHAT.post("4")).text == "d"


def test_default_is_asked_last_and_for_ever() -> None:
    with fake_llm.intercept(["queue"], default="default") as fake:
        fake.when(input="rule").reply("rule")
        found = [said(CHAT, CHAT.post(text)).text for text in ("rule", "rule", "x", "y")]
        assert found == ["queue", "rule", "default", "default"]
        fake.default("other")
        assert said(CHAT, CHAT.post("z")).text == "other"
        fake.default(None)
        with pytest.raises(UnscriptedCallError):
            CHAT.post("z")
        fake.failures.clear()
    with fake_llm.intercept(default=lambda call: call.last_user_text.upper()):
        assert said(CHAT, CHAT.post("abc")).text == "ABC"


def test_reset_empties_everything() -> None:
    with fake_llm.intercept(["a", "b"], default="d") as fake:
        fake.when().reply("r", "s")
        CHAT.post()
        httpx.get("https://api.openai.com/v1/models")
        fake.failures.append(ValueError())
        fake.reset()
        assert (fake.remaining, len(fake.calls), len(fake.side_calls), fake.failures) == (0, 0, 0, [])
        with pytest.raises(UnscriptedCallError):
            CHAT.post()
        fake.reset()
        fake.push("again")
        assert said(CHAT, CHAT.post()).text == "again"
        assert fake.calls[0].index == 0


def test_a_copy_is_fresh_and_independent() -> None:
    original = FakeLLM(["a", "b"], model="one", delay=0)
    original.push("c")
    original.when(times=2).reply("r")
    original.default("d")
    with fake_llm.intercept([]) as fake:
        copied = original.copy(model="two")
        assert copied.remaining == original.remaining == 5
        copied.push("e")
        copied.when().reply("s", "t")
        copied.default(None)
        assert (original.remaining, copied.remaining) == (5, 8)
        assert copied._options.model == "two"
        assert original._options.model == "one"
        assert fake.remaining == 0


def test_a_copy_starts_from_the_script_as_written() -> None:
    with fake_llm.intercept(["a", "b"], strict=False) as fake:
        fake.when(times=3).reply("r")
        fake.push("c")
        for n in range(4):
            CHAT.post(str(n))
        assert fake.remaining == 2
        again = fake.copy()
        assert again.remaining == 6
        assert len(again.calls) == 0
        assert again.failures == []
        assert fake.copy(default="x").remaining == 6


def test_check_raises_what_the_end_of_a_block_would() -> None:
    FakeLLM().check()
    FakeLLM(default="x").check()
    with pytest.raises(UnusedReplyError, match="turn 1  unused  'a'"):
        FakeLLM(["a"]).check()
    FakeLLM(["a"], strict=False).check()
    fake = FakeLLM(["a"])
    fake.failures.append(UnscriptedCallError("mine"))
    with pytest.raises(UnscriptedCallError, match="mine"):
        fake.check()


def test_every_entry_is_a_fresh_copy() -> None:
    block = fake_llm.intercept(["a"])
    for _ in range(2):
        with block as fake:
            assert said(CHAT, CHAT.post()).text == "a"
            assert len(fake.calls) == 1


def test_the_usage_of_all_calls_is_summed() -> None:
    turns = [
        Reply("a", usage=Usage(1, 2, 3, 4, 5)),
        Reply("b", usage=Usage(10, 20, 30, 40, 50, total_tokens=99)),
        Error(500),
    ]
    with fake_llm.intercept(turns) as fake:
        for n in range(3):
            CHAT.post(str(n))
    assert fake.usage == Usage(11, 22, 33, 44, 55, total_tokens=102)
    assert FakeLLM().usage == Usage(0, 0)
