"""The conversation as people read it: what is new in each call, what was answered, what it cost."""

from __future__ import annotations

import inspect
import json
import socket
import sys
import threading
import unicodedata
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, Vendor
from fake_llm import (
    Disconnect,
    Error,
    FakeLLM,
    Image,
    Json,
    Raw,
    Refusal,
    Reply,
    Thinking,
    ToolCall,
    Usage,
    _json,
    quirks,
    sweep,
)

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
TOOLS = {"f": {"type": "object"}, "g": {"type": "object"}}


def as_they_are(events: list[Any]) -> list[Any]:
    return events


def transcript(turn: Any, vendor: Vendor = CHAT, question: str = "Hi", **asked: Any) -> str:
    with fake_llm.intercept([turn], strict=False) as fake:
        try:
            vendor.post(question, **asked)
        except httpx.TransportError:
            assert not isinstance(turn, (str, list))
    return fake.transcript()


def test_nothing() -> None:
    assert FakeLLM().transcript() == "No calls."


def test_a_conversation() -> None:
    turns = [
        Reply(
            "Let me look.", ToolCall("f", {"city": "Paris"}), usage=Usage(20, 5, cached_tokens=8, reasoning_tokens=2)
        ),
        Reply("Sunny.", usage=Usage(30, 2), delay=1.5),
    ]
    with fake_llm.intercept(turns, cost=lambda usage: usage.input_tokens / 10, virtual_time=True) as fake:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
        ]
        message = CHAT.post(messages=messages, tools=TOOLS).json()["choices"][0]["message"]
        messages += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sunny"}]
        CHAT.post(messages=messages, tools=TOOLS, stream=True)
        httpx.get("https://api.openai.com/v1/models")
    assert (
        fake.transcript()
        == """\
call 0 · openai chat · gpt-5 · whole · 200
  system     Be brief.
  user       Weather?
  tools      f, g
> assistant  Let me look.
> assistant  f({"city":"Paris"})
             (20 tokens in, 5 out, 8 cached, 2 reasoning, cost 2.0)

call 1 · openai chat · gpt-5 · streamed · 200 · continues call 0
  tool       f → sunny
> assistant  Sunny.
             (30 tokens in, 2 out, cost 3.0, waited 1.5 s)

1 side call:
             GET https://api.openai.com/v1/models

2 calls, 50 tokens in, 7 out, 8 cached, 2 reasoning, cost 5.0, waited 1.5 s"""
    )


class Agent:
    """Keeps its messages, as agents do, and answers each tool call with its arguments."""

    def __init__(self, system: str, question: str) -> None:
        self.system = {"role": "system", "content": system}
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": question}]

    def round(self) -> None:
        said = CHAT.post(messages=[self.system, *self.messages], tools=TOOLS).json()["choices"][0]["message"]
        self.messages.append(said)
        self.messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": f"ran {call['function']['arguments']}"}
            for call in said.get("tool_calls") or ()
        ]


def test_two_agents_that_take_turns() -> None:
    with fake_llm.intercept(usage=Usage(1, 1)) as fake:
        for system in ("plan", "act"):
            fake.when(system=system, turn=0).reply([ToolCall("f", {"a": system}), ToolCall("f", {"a": 2})])
            fake.when(system=system).reply(f"I {system}.")
        plan, act = Agent("You plan.", "Go"), Agent("You act.", "Go")
        for agent in (plan, act, act, plan):
            agent.round()
        plan.system = {"role": "system", "content": "You plan, later."}
        plan.messages.append({"role": "user", "content": "And then?"})
        plan.round()

    assert (
        fake.transcript()
        == """\
call 0 · openai chat · gpt-5 · whole · 200
  system     You plan.
  user       Go
  tools      f, g
> assistant  f({"a":"plan"})
> assistant  f({"a":2})
             (1 tokens in, 1 out)

call 1 · openai chat · gpt-5 · whole · 200
  system     You act.
  user       Go
  tools      f, g
> assistant  f({"a":"act"})
> assistant  f({"a":2})
             (1 tokens in, 1 out)

call 2 · openai chat · gpt-5 · whole · 200 · continues call 1
  tool       f({"a":"act"}) → ran {"a":"act"}
  tool       f({"a":2}) → ran {"a":2}
> assistant  I act.
             (1 tokens in, 1 out)

call 3 · openai chat · gpt-5 · whole · 200 · continues call 0
  tool       f({"a":"plan"}) → ran {"a":"plan"}
  tool       f({"a":2}) → ran {"a":2}
> assistant  I plan.
             (1 tokens in, 1 out)

call 4 · openai chat · gpt-5 · whole · 200 · continues call 3
  system     You plan, later.
  user       And then?
> assistant  I plan.
             (1 tokens in, 1 out)

5 calls, 5 tokens in, 5 out"""
    )


def test_agents_that_ask_and_are_answered_the_same_are_told_apart_by_the_ids_of_their_calls() -> None:
    with fake_llm.intercept(default=lambda call: "done" if call.tool_results else ToolCall("f", {})) as fake:
        first, second = Agent("Be brief.", "Go"), Agent("Be brief.", "Go")
        for agent in (first, second, first, second):
            agent.round()

    heads = [line.rpartition(" · ")[2] for line in fake.transcript().splitlines() if line.startswith("call ")]
    assert heads == ["200", "200", "continues call 0", "continues call 1"]


# --- how it grows -------------------------------------------------------------------------------


def work(fake: FakeLLM) -> int:
    """How many functions are called to make the transcript, when all requests have been read."""
    count = 0

    def tell(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    for call in fake.calls:
        assert call.messages
    sys.setprofile(tell)
    try:
        fake.transcript()
    finally:
        sys.setprofile(None)
    return count


def stored(count: int) -> FakeLLM:
    """A tool loop in which each call builds on the answer before."""
    with fake_llm.intercept([ToolCall("f", {"n": number}) for number in range(count)]) as fake:
        answer = RESPONSES.post("Go", tools=TOOLS).json()
        for _ in range(count - 1):
            output = {"type": "function_call_output", "call_id": answer["output"][0]["call_id"], "output": "ran"}
            answer = RESPONSES.post(input=[output], previous_response_id=answer["id"], tools=TOOLS).json()
    return fake


def same_opening(turn: Callable[[int], Any]) -> Callable[[int], FakeLLM]:
    """Conversations of two rounds that begin alike, and go on when all have begun."""

    def made(count: int) -> FakeLLM:
        with fake_llm.intercept([turn(number) for number in range(2 * count)]) as fake:
            agents = [Agent("Be brief.", "Go") for _ in range(count)]
            for _ in range(2):
                for agent in agents:
                    agent.round()
        return fake

    return made


def one_long(count: int) -> FakeLLM:
    """One tool loop that sends all of its history each time."""
    with fake_llm.intercept([ToolCall("f", {"n": number}) for number in range(count)]) as fake:
        agent = Agent("Be brief.", "Go")
        for _ in range(count):
            agent.round()
    return fake


@pytest.mark.parametrize(
    ("made", "most"),
    [
        pytest.param(stored, 2.3, id="stored answers"),
        pytest.param(same_opening(lambda number: f"text {number}"), 2.3, id="one opening, many texts"),
        pytest.param(same_opening(lambda number: ToolCall("f", {})), 2.3, id="one opening, one answer, many ids"),
        pytest.param(one_long, 4.6, id="one long conversation"),  # what is sent is four times as much
    ],
)
def test_it_grows_as_what_was_sent(made: Callable[[int], FakeLLM], most: float) -> None:
    assert work(made(80)) < most * work(made(40))


def test_of_a_long_conversation_each_argument_is_written_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = one_long(40)
    written: list[Any] = []
    monkeypatch.setattr(_json, "text", lambda value: written.append(value) or json.dumps(value))

    fake.transcript()

    assert len(written) < 4 * 40


def test_a_chain_of_stored_answers_is_as_long_as_one_likes() -> None:
    """Longer than what is left of the stack: it's followed without recursion."""
    limit, left = sys.getrecursionlimit(), 200
    sys.setrecursionlimit(len(inspect.stack(0)) + left)
    try:
        fake = stored(left + 50)
        written, conversation = fake.transcript(), fake.calls[-1].conversation
    finally:
        sys.setrecursionlimit(limit)

    assert written.count("f → ran") == 1
    assert written.count('f({"n":') == 2 * len(fake.calls) - 2, (
        "where the tool was called often, results say which call"
    )
    assert len(conversation) == 2 * len(fake.calls) - 1
    assert [result.name for result in fake.calls[-1].tool_results] == ["f"]


def test_a_history_that_no_call_showed_is_shown() -> None:
    messages = [
        {"role": "user", "content": "First."},
        {"role": "assistant", "content": "From another day."},
        {"role": "user", "content": "Second."},
    ]
    with fake_llm.intercept(["a", "b"], usage=Usage(1, 1)) as fake:
        CHAT.post(messages=messages)
        CHAT.post(messages=[*messages, {"role": "assistant", "content": "altered"}, {"role": "user", "content": "Go"}])

    assert (
        fake.transcript()
        == """\
call 0 · openai chat · gpt-5 · whole · 200
  user       First.
  assistant  From another day.
  user       Second.
> assistant  a
             (1 tokens in, 1 out)

call 1 · openai chat · gpt-5 · whole · 200 · continues call 0
  assistant  altered
  user       Go
> assistant  b
             (1 tokens in, 1 out)

2 calls, 2 tokens in, 2 out"""
    )


def test_of_a_long_history_the_ends_are_shown() -> None:
    messages = [{"role": ("user", "assistant")[number % 2], "content": f"m{number}"} for number in range(31)]

    lines = transcript("x", messages=messages).splitlines()

    assert [line.split()[-1] for line in lines[1:4]] == ["m0", "m1", "m2"]
    assert lines[4].strip() == "… 20 more messages …"
    assert [line.split()[-1] for line in lines[5:13]] == [f"m{number}" for number in range(23, 31)]
    assert lines[13] == "> assistant  x"


def test_a_call_that_builds_on_a_stored_answer() -> None:
    with fake_llm.intercept([ToolCall("f", {"a": 1}), "done"], usage=Usage(1, 1)) as fake:
        answer = RESPONSES.post("Go", tools=TOOLS).json()
        output = {"type": "function_call_output", "call_id": answer["output"][0]["call_id"], "output": "ran"}
        RESPONSES.post(input=[output], previous_response_id=answer["id"], tools=TOOLS)

    head, *lines = fake.transcript().split("\n\n")[1].splitlines()
    assert head == "call 1 · openai responses · gpt-5 · whole · 200 · continues call 0"
    assert lines == ["  tool       f → ran", "> assistant  done", "             (1 tokens in, 1 out)"]


def test_retries() -> None:
    turns = [Error(429, "slow down", retry_after=2), Error("overloaded"), ConnectionError("gone"), Reply("ok", delay=2)]
    with fake_llm.intercept(turns, virtual_time=True, usage=Usage(7, 1)) as fake:
        for number in range(4):
            try:
                httpx.post(CHAT.place(), json=CHAT.body("Hi"), headers={"x-stainless-retry-count": str(number)})
            except httpx.ConnectError:
                assert number == 2

    assert (
        fake.transcript()
        == """\
call 0 · openai chat · gpt-5 · whole · 429
  user       Hi
> error      429 rate_limit: slow down (retry after 2 s)

call 1 · openai chat · gpt-5 · whole · attempt 2 · 503
             (asks what call 0 asked)
> error      503 overloaded

call 2 · openai chat · gpt-5 · whole · attempt 3 · no answer
             (asks what call 1 asked)
> fault      ConnectionError('gone')

call 3 · openai chat · gpt-5 · whole · attempt 4 · 200
             (asks what call 2 asked)
> assistant  ok
             (7 tokens in, 1 out, waited 2 s)

4 calls, 7 tokens in, 1 out, waited 2 s"""
    )


def test_structured_output_and_its_schema() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    asked = {"response_format": {"type": "json_schema", "json_schema": {"name": "w", "schema": schema}}}

    text = transcript({"city": "Paris"}, **asked)

    assert (
        '  schema     {"type":"object","properties":{"city":{"type":"string"}}}\n> assistant  {"city":"Paris"}\n'
        in text
    )
    assert "  schema     any JSON\n" in transcript({"city": "Paris"}, response_format={"type": "json_object"})


def test_structured_output_that_went_out_as_a_tool_call() -> None:
    text = transcript({"city": "Paris"}, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "f"}})

    assert '\n> assistant  f({"city":"Paris"})\n' in text


def test_malformed_requests_are_refused() -> None:
    with fake_llm.intercept(strict=False) as fake:
        httpx.post(ANTHROPIC.place(), json=ANTHROPIC.body("Hi") | {"max_tokens": "many"})
        httpx.post(ANTHROPIC.place(), content=b"{oops")

    first, second = fake.transcript().split("\n\n")
    assert first.splitlines()[-1].startswith("> refused    400 bad_request: max_tokens: ")
    assert second.splitlines()[1] == "             (5 bytes that are no JSON)"
    assert second.splitlines()[2].startswith("> refused    400 bad_request: ")


def test_what_failed_stands_where_it_failed() -> None:
    with fake_llm.intercept([ToolCall("wrong", {})]) as fake:
        with pytest.raises(fake_llm.ScriptMismatchError):
            CHAT.post(tools={"right": {"type": "object"}})
        thread = threading.Thread(target=CHAT.post, name="worker")
        thread.start()
        thread.join()
        with pytest.raises(fake_llm.UninterceptedCallError):
            socket.getaddrinfo("api.openai.com", 443)
        first, second, last = fake.transcript().split("\n\n")
        fake.failures.clear()

    assert first.startswith("call 0 · openai chat · gpt-5 · whole · no answer\n")
    assert "\n> failed     ScriptMismatchError: The turn calls the tool 'wrong'" in first
    assert "wrong({})" not in first.replace("ToolCall", "")
    assert second.startswith("call 1 · openai chat · gpt-5 · whole · 400\n")
    assert "> failed     UnscriptedCallError: Call 1: no turn was left for it" in second
    assert last.startswith("> failed     UninterceptedCallError: api.openai.com:443 was reached by")


def test_token_counts_and_side_calls() -> None:
    with fake_llm.intercept() as fake:
        httpx.post(
            "https://api.anthropic.com/v1/messages/count_tokens",
            json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        )
        for _ in range(2):
            httpx.get("https://generativelanguage.googleapis.com/v1beta/models?key=secret")

    assert (
        fake.transcript()
        == """\
call 0 · anthropic messages · count_tokens · m · 200
  user       Hi
> answer     {"input_tokens":7}

2 side calls:
             GET https://generativelanguage.googleapis.com/v1beta/models?key=*** (2 times)"""
    )


@pytest.mark.parametrize(
    ("text", "shown_as"),
    [
        ("key sk-proj-abcdefghijklmnop1234 there", "key sk-proj-*** there"),
        ("sk-ant-api03-abcdefghijklmnop1234", "sk-ant-***"),
        ("gsk_abcdefghijklmnop1234.", "gsk_***."),
        ("AIzaSyA-abcdefghijklmnop1234", "AIza***"),
        ("Authorization: Bearer abcdefghijklmnop.1234", "Authorization: Bearer ***"),
        ("sk-fake-llm and task-list-with-many-words-in-it", "sk-fake-llm and task-list-with-many-words-in-it"),
    ],
)
def test_keys_are_masked_wherever_they_stand(text: str, shown_as: str) -> None:
    with fake_llm.intercept([["ok", ToolCall("f", {"a": text})], Error(401, text), ConnectionError(text)]) as fake:
        CHAT.post(text, tools=TOOLS)
        CHAT.post(text, tools=TOOLS)
        with pytest.raises(httpx.ConnectError):
            CHAT.post(text, tools=TOOLS)

    said = fake.transcript()
    assert said.count(shown_as) == (6 if "Bearer" not in text else said.count(shown_as))
    assert "op1234" not in said
    assert "op.1234" not in said


def test_a_key_is_masked_before_the_text_is_cut_into_lines() -> None:
    for length in range(60, 100):
        assert "xyzxyzxyz" not in transcript("ok", question="a" * length + " sk-" + "xyz" * 30).replace(
            "\n", ""
        ).replace(" ", "")


def columns(line: str) -> int:
    return sum(
        0 if unicodedata.combining(c) or c == "\u200d" else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in line
    )


@pytest.mark.parametrize(
    "text", ["日本語の質問" * 60, "日本語 " * 90, "🎉👩‍👩‍👧‍👦" * 60, "❤️" * 120, "e\u0301" * 400, "a b\tc " * 90]
)
def test_lines_fit_in_columns(text: str) -> None:
    lines = transcript("ok", question=text).splitlines()

    assert max(map(columns, lines)) <= 100
    assert max(map(columns, lines)) > 50
    said = "".join(line[13:] for line in lines if not line.startswith((">", "call", "             (")))
    assert "".join(said.split()) == "".join(text.split())


@needs("rich")
def test_it_is_plain_text_that_rich_prints_in_colours() -> None:
    from io import StringIO

    from rich.console import Console

    text = FakeLLM(["[bold]x"]).transcript()
    assert type(str(text)) is str
    with fake_llm.intercept([["[bold]no markup", ToolCall("f", {})]]) as fake:
        CHAT.post("Hi", tools=TOOLS)
    plain, coloured = StringIO(), StringIO()
    Console(file=plain, width=100, color_system=None).print(fake.transcript())
    Console(file=coloured, width=100, force_terminal=True, color_system="standard").print(fake.transcript())

    assert plain.getvalue() == fake.transcript() + "\n"
    assert "\x1b[1mcall 0 · openai chat · gpt-5 · whole · 200" in coloured.getvalue().replace("\x1b[0m\x1b[1m", "")
    assert "\x1b[36m  user" in coloured.getvalue()
    assert "\x1b" not in fake.transcript()
    assert f"{fake.transcript()}" == str(fake.transcript()) == fake.transcript()


@vendors
def test_every_vocabulary(vendor: Vendor) -> None:
    text = transcript("Hello there", vendor, "What is it?")
    name = {
        "chat": "openai chat",
        "responses": "openai responses",
        "anthropic": "anthropic messages",
        "gemini": "gemini",
    }
    assert text.startswith(f"call 0 · {name[vendor.name]} · {vendor.model} · whole · 200\n")
    assert "  user       What is it?\n> assistant  Hello there\n" in text


@pytest.mark.parametrize(
    ("turn", "line"),
    [
        ("", "> assistant  (empty text)"),
        (Reply(), "> assistant  (nothing)"),
        (Reply(finish_reason="content_filter"), "> assistant  (nothing)"),
        ([Thinking("hm"), "x"], "> assistant  (thinking) hm"),
        ([Thinking("hm", redacted=True), "x"], "> assistant  (thinking, redacted)"),
        (Refusal("no"), "> assistant  (refusal) no"),
        (Json([1]), "> assistant  [1]"),
        ({"a": "é"}, '> assistant  {"a":"é"}'),
        (ToolCall("f", "{broken"), "> assistant  f({broken)"),
        (Reply("x", choices=["y", "z"]), "> assistant  (choice 3) z"),
        (Reply("x", then=Disconnect()), "> then       Disconnect()"),
        (Reply("x", then=Disconnect(after_bytes=20)), "> then       Disconnect(after_bytes=20)"),
        (Reply(ToolCall("f", {"x": 1}), edit=quirks.tool_arguments(None)), '> assistant  f({"x":1})'),
        (
            Reply(ToolCall("f", {"x": 1}), edit=quirks.tool_arguments(None)),
            "> edited     quirks.tool_arguments(None)",
        ),
        (
            Reply(ToolCall("f"), edit=[quirks.tool_ids(""), as_they_are]),
            "> edited     [quirks.tool_ids(''), as_they_are]",
        ),
        (Error(429, "slow"), "> error      429 rate_limit: slow"),
        (Error("overloaded"), "> error      503 overloaded"),
        (ConnectionError("gone"), "> fault      ConnectionError('gone')"),
        (TimeoutError, "> fault      TimeoutError"),
        (Raw({"a": 1}, 201), '> raw        201 {"a":1}'),
    ],
    ids=shown,
)
def test_every_turn(turn: Any, line: str) -> None:
    fields = {"n": 3} if isinstance(turn, Reply) and turn.choices else {}
    assert line in transcript(turn, tools=TOOLS, **fields).splitlines()


def test_where_a_stream_broke() -> None:
    told = transcript(Reply("x y", then=Error("overloaded", after_events=2)), stream=True)
    assert "> then       Error('overloaded', after_events=2)" in told.splitlines()
    *_, last = sweep.cuts("x y", then=Disconnect())
    assert f"> then       Disconnect(after_bytes=<{last.__name__.removeprefix('disconnect-')}>)" in transcript(
        last, stream=True
    )


def test_an_image() -> None:
    assert "> assistant  [image image/png, 5 bytes]" in transcript(Image(b"\x89PNG\n"), GEMINI)


def test_why_an_answer_ended() -> None:
    assert "finish_reason length)" in transcript(Reply("cut", finish_reason="length"))
    assert "finish_reason content_filter)" in transcript(Reply(finish_reason="content_filter"))
    assert "finish_reason" not in transcript("whole")


def test_an_attempt_and_an_answer_that_never_came() -> None:
    with fake_llm.intercept([Error(500), ConnectionError]) as fake:
        CHAT.post("same")
        with pytest.raises(httpx.ConnectError):
            CHAT.post("same")
    text = fake.transcript()
    assert "call 1 · openai chat · gpt-5 · whole · attempt 2 · no answer" in text


def test_a_call_that_failed_a_test() -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(fake_llm.UnscriptedCallError):
            CHAT.post()
        fake.failures.clear()
    assert "call 0 · openai chat · gpt-5 · whole · no answer" in fake.transcript()


def test_lines_are_short_and_long_texts_are_cut_in_the_middle() -> None:
    question = "\n".join(f"line {n} " + "word " * 40 for n in range(100))
    text = transcript("answer " * 1000, question=question + "x" * 500, tools={"t" * 200: {"type": "object"}})
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 60
    assert "more lines …" in text
    assert "line 0" in text


def test_errors_among_tool_results() -> None:
    body = ANTHROPIC.body(
        messages=[
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": "bad"}],
            },
        ]
    )
    with fake_llm.intercept(["x"]) as fake:
        httpx.post(ANTHROPIC.place(), json=body)
    assert "  tool       f → error: bad" in fake.transcript().splitlines()


def test_control_characters_and_surrogates_do_not_break_it() -> None:
    text = transcript("a\x00b\ud800c\u2028d\te", question="\x1b[31mred\x07")
    assert "\x1b" not in text
    assert "\x00" not in text
    text.encode()


def test_unknown_endpoints_stand_in_it() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="unknown").reply(Raw({"a": 1}))
        httpx.post("https://api.openai.com/v1/odd", json={})
    assert "200" in fake.transcript()


ODD: list[Any] = [
    None,
    [],
    {},
    {"messages": None},
    {"messages": "Hi", "contents": "Hi", "input": 3},
    {"messages": [None, 1, "x", []], "contents": [None, 1], "input": [None, 1]},
    {"messages": [{"role": 3, "content": 4}], "contents": [{"parts": 5}], "input": [{"type": 6}]},
    {"messages": [{"role": "assistant", "tool_calls": [{"function": None}, 7]}], "tools": [None, {"type": "function"}]},
    {
        "messages": [{"role": "tool", "content": [{"type": "text"}]}],
        "tools": 8,
        "response_format": 9,
        "tool_choice": [],
    },
]


@vendors
def test_no_request_is_too_odd_for_it(vendor: Vendor) -> None:
    with fake_llm.intercept(default="x", strict=False) as fake:
        for body in ODD:
            for _ in range(2):
                httpx.post(vendor.place(), json=body)

    heads = [line for line in fake.transcript().splitlines() if line.startswith("call ")]
    assert len(heads) == len(fake.calls) == 2 * len(ODD)
