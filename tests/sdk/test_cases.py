"""What a script says, as every client hears it: one list of cases for all of them, whole and streamed.

A case says which capabilities it needs; a client without them skips it, and so does one that isn't installed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import fake_llm
from _ids import shown
from _sdk_clients import (
    CLIENTS,
    HERE,
    SCHEMA,
    TEXT_CLIENTS,
    TOOLS,
    Called,
    Client,
    Spent,
    present,
    skip_unless_able,
    weather_model,
)
from fake_llm import (
    Audio,
    Auto,
    Citation,
    Disconnect,
    EndOfStream,
    Error,
    Framing,
    Json,
    Refusal,
    Reply,
    ServerTool,
    Stall,
    Thinking,
    ToolCall,
    Usage,
)

MODES = ("whole", "stream", "helper", "parse")
PROMPT = "Weather in Paris?"
PARIS = ToolCall("get_weather", {"city": "Paris"})
ROME = ToolCall("get_weather", {"city": "Rome"})
NOW = ToolCall("get_time", {"zone": "Europe/Paris"})
CALLED_PARIS = Called("get_weather", {"city": "Paris"})
CALLED_ROME = Called("get_weather", {"city": "Rome"})
CALLED_NOW = Called("get_time", {"zone": "Europe/Paris"})
AT_ONCE = {"retry-after-ms": "1"}
SUNNY = {"city": "Paris", "sky": "sunny"}
SKY = "https://sky.example"
CITED = ["The sky is ", Citation("blue", SKY, title="Sky"), "."]
WAVE = b"RIFF" + bytes(range(256)) * 30
LENGTH = Reply("Once upon", finish_reason="length")
BLOCKED = Reply(finish_reason="content_filter")
ODD = 'Zürich 🌞 日本語 "quoted" \\ back\tslash\r\n </script> \x7f \u200b \ufeff data: [DONE]\n\n'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
SEPARATED = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\x1e."
DEEP = {"type": "object", "properties": {"where": {"type": "object"}, "days": {"type": "array"}, "exact": {}}}
DEEP_VALUE = {
    "where": {"city": "Zürich 🌞", "at": [47.5, -8]},
    "days": [1, True, None, "dé"],
    "exact": {"a": {"b": {}}},
}


@dataclasses.dataclass(frozen=True)
class Weather:
    city: str
    sky: str


@dataclasses.dataclass(frozen=True)
class Case:
    """What is scripted, how it is asked for, and what is heard.

    Attributes:
        script: A script, or a function of the client that gives one.
        want: Fields of the `Answer`; `finish` in the neutral word.
        fails: The kind of error that comes out in place of an answer.
        heard: What an event by event reader had of a stream when it failed.
        calls: The HTTP requests it takes.
        needs: Capabilities.
        modes: The ways to ask for which it says something.
        picture: What the question shows beside its text.
        result: What the tools give back for what is called: the answer is that to the question after it.
        check: Further assertions, on the answer, the `FakeLLM` and the client.
    """

    name: str
    script: Any
    want: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tools: tuple[str, ...] = ()
    ask: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    fails: str | None = None
    heard: str | None = None
    calls: int = 1
    needs: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("whole", "stream", "helper")
    picture: bytes | None = None
    result: str | None = None
    check: Callable[[Any, Any, Client], None] | None = None


def talks(name: str, turn: Any, **want: Any) -> Case:
    """A turn that is heard as text only."""
    return Case(name, [turn], {"tool_calls": (), "finish": "stop", "refusal": "", "thinking": "", **want})


def calls_tools(name: str, turn: Any, *called: Called, tools: tuple[str, ...] = tuple(TOOLS), text: str = "") -> Case:
    """A turn that is heard as tool calls."""
    return Case(name, [turn], {"tool_calls": called, "text": text, "finish": "tool_calls"}, tools=tools)


def structured(name: str, turn: Any) -> Case:
    """A turn that is heard as structured output."""
    modes = ("whole", "stream", "helper", "parse")
    return Case(name, turn, {"finish": "stop"}, ask={"schema": True}, modes=modes, check=is_sunny)


def is_sunny(answer: Any, fake: Any, client: Client) -> None:
    import json

    assert json.loads(answer.text) == SUNNY
    call = fake.calls[0]
    form = next(iter(call.tools.values())) if "its own tools" in client.says and call.schema is None else call.schema
    assert form["properties"].keys() == SUNNY.keys()


def is_shaped(answer: Any, fake: Any, client: Client) -> None:
    import json

    assert json.loads(answer.text) == {"city": "city", "sky": "sky"}


def fails(name: str, *script: Any, kind: str, **options: Any) -> Case:
    return Case(name, list(script), fails=kind, **options)


def echo(call: Any) -> str:
    return f"{call.provider} heard: {call.last_user_text}"


async def echo_later(call: Any) -> str:
    import asyncio

    await asyncio.sleep(0)
    return echo(call)


class Agent:
    async def __call__(self, call: Any) -> Any:
        return [PARIS] if call.tools else "no tools"


def too_slow(call: Any) -> Any:
    raise TimeoutError


def echoed(answer: Any, fake: Any, client: Client) -> None:
    assert answer.text == f"{client.provider} heard: {PROMPT}"


def estimated(answer: Any, fake: Any, client: Client) -> None:
    usage = answer.usage
    assert (usage.input, usage.output) == (fake.usage.input_tokens, fake.usage.output_tokens)
    assert usage.input > 0
    assert usage.output == 3


def tool_ids_differ(answer: Any, fake: Any, client: Client) -> None:
    ids = [call.id for call in answer.tool_calls if call.id is not None]
    assert len(set(ids)) == len(ids)


def in_two(answer: Any, fake: Any, client: Client) -> None:
    assert answer.deltas == ("Hel", "lo wor", "ld")


def one_each(answer: Any, fake: Any, client: Client) -> None:
    assert answer.deltas == tuple("abcd")


def attempts(answer: Any, fake: Any, client: Client) -> None:
    assert [call.attempt for call in fake.calls] == list(range(1, len(fake.calls) + 1))


def saw(answer: Any, fake: Any, client: Client) -> None:
    assert "[image]" in fake.calls[0].messages[-1].text


def fed_back(answer: Any, fake: Any, client: Client) -> None:
    results = fake.calls[1].tool_results
    assert [result.name for result in results] == ["get_weather", "get_time"]
    assert all("as asked" in result.text for result in results)
    called = [call for message in fake.calls[1].messages for call in message.tool_calls]
    assert [call.arguments for call in called] == [PARIS.arguments, NOW.arguments]
    ids = [result.id for result in results if result.id]  # Ollama and Gemini may do without
    assert len(set(ids)) == len(ids)


def cut_short(answer: Any, fake: Any, client: Client) -> None:
    assert answer.finish in {None, "STOP"}  # Gemini says it with the last word


CASES: tuple[Case, ...] = (
    talks("text", "It is sunny in Paris.", text="It is sunny in Paris."),
    talks("text of parts", ["It is ", "sunny."], text="It is sunny."),
    talks("odd text", ODD, text=ODD),
    dataclasses.replace(
        talks("line separators", SEPARATED, text=SEPARATED),
        needs=("line separators in a stream",),
        modes=("stream", "helper"),
    ),
    dataclasses.replace(talks("line separators whole", SEPARATED, text=SEPARATED), modes=("whole",)),
    talks("line separators in ascii", Reply(SEPARATED, framing=Framing(ascii=True)), text=SEPARATED),
    talks("lines", " \n\n two\n\nlines \n", text=" \n\n two\n\nlines \n"),
    talks("empty", "", text=""),
    talks("nothing", Reply(), text=""),
    talks("json", Json([1, {"a": None}]), text='[1,{"a":null}]'),
    talks("long", "word " * 400, text="word " * 400),
    dataclasses.replace(
        talks("id and model", Reply("x", id="my-id", model="my-model"), id="my-id", model="my-model"),
        needs=("names its model",),
    ),
    Case("chunks", [Reply(chunks=["Hel", "lo wor", "ld"])], {"text": "Hello world"}, modes=("stream",), check=in_two),
    Case("chunk size", [Reply("abcd", chunk_size=1)], {"text": "abcd"}, modes=("stream",), check=one_each),
    dataclasses.replace(
        talks("other ends of lines", Reply(ODD, framing=Framing(newline="\r\n", split=3)), text=ODD),
        needs=("characters split between reads",),
    ),
    dataclasses.replace(
        talks("other bytes", Reply(ODD, framing=Framing(newline="\r\n", blank_lines=2, split=3)), text=ODD),
        needs=("blank lines in a stream", "characters split between reads"),
    ),
    dataclasses.replace(
        talks("comments", Reply("It is sunny.", framing=Framing(comment="hi")), text="It is sunny."),
        needs=("comments in a stream",),
        modes=("stream", "helper"),
    ),
    talks("compressed", Reply(ODD, framing=Framing(gzip=True)), text=ODD),
    talks("ascii", Reply(ODD, framing=Framing(ascii=True)), text=ODD),
    talks("padded", Reply("It is sunny.", framing=Framing(padding=True)), text="It is sunny."),
    calls_tools("tool call", PARIS, CALLED_PARIS),
    calls_tools("no arguments", ToolCall("ping"), Called("ping", {})),
    dataclasses.replace(
        calls_tools("parallel calls", [PARIS, NOW, ROME], CALLED_PARIS, CALLED_NOW, CALLED_ROME), check=tool_ids_differ
    ),
    dataclasses.replace(
        calls_tools("same call twice", [PARIS, PARIS], CALLED_PARIS, CALLED_PARIS), check=tool_ids_differ
    ),
    calls_tools("text and call", ["Let me look.", PARIS], CALLED_PARIS, text="Let me look."),
    calls_tools("text and calls", ["Both.", PARIS, NOW], CALLED_PARIS, CALLED_NOW, text="Both."),
    Case(
        "deep arguments",
        [ToolCall("deep", DEEP_VALUE)],
        {"tool_calls": (Called("deep", DEEP_VALUE),)},
        ask={"tools": {"deep": DEEP}},
        modes=("whole", "stream"),
    ),
    Case("refusal", [Refusal("I can't help.")], {"refusal": "I can't help.", "finish": "refusal"}, needs=("refusal",)),
    Case(
        "thinking",
        [[Thinking("Paris, hmm."), "Sunny."]],
        {"thinking": "Paris, hmm.", "text": "Sunny.", "finish": "stop"},
        needs=("thinking",),
        modes=("whole", "stream", "helper"),
    ),
    Case(
        "thinking and call",
        [[Thinking("Paris, hmm."), "Let me look.", PARIS]],
        {"thinking": "Paris, hmm.", "text": "Let me look.", "tool_calls": (CALLED_PARIS,), "finish": "tool_calls"},
        tools=("get_weather",),
        needs=("thinking",),
    ),
    structured("structured dict", [SUNNY]),
    structured("structured dataclass", [Weather("Paris", "sunny")]),
    dataclasses.replace(
        structured("structured model", lambda client: [weather_model()(city="Paris", sky="sunny")]), needs=("pydantic",)
    ),
    Case(
        "structured by a forced tool",
        [SUNNY],
        {"tool_calls": (Called("answer", SUNNY),), "text": ""},
        ask={"tools": {"get_time": TOOLS["get_time"], "answer": SCHEMA}, "force": "answer"},
        needs=("tool choice",),
    ),
    Case(
        "structured by any tool",
        [Weather("Paris", "sunny")],
        {"tool_calls": (Called("answer", SUNNY),), "text": "", "finish": "tool_calls"},
        ask={"tools": {"get_time": TOOLS["get_time"], "answer": SCHEMA}, "force": "*"},
        needs=("tool choice",),
    ),
    Case(
        "made up call",
        [Auto()],
        {"tool_calls": (Called("get_weather", {"city": "city"}),), "finish": "tool_calls"},
        tools=("get_weather", "get_time"),
    ),
    Case(
        "made up structure",
        [Auto()],
        {"finish": "stop"},
        ask={"schema": True},
        modes=("whole", "parse"),
        check=is_shaped,
    ),
    Case(
        "tool results",
        [["Let me look.", PARIS, NOW], "It is sunny."],
        {"text": "It is sunny.", "tool_calls": (), "finish": "stop"},
        tools=("get_weather", "get_time"),
        result="as asked",
        calls=2,
        modes=("whole", "stream"),
        check=fed_back,
    ),
    Case(
        "picture",
        ["A cat."],
        {"text": "A cat.", "finish": "stop"},
        picture=PNG,
        needs=("pictures in a request",),
        modes=("whole", "stream"),
        check=saw,
    ),
    Case("length", [LENGTH], {"text": "Once upon", "finish": "length"}, modes=("whole", "stream")),
    Case(
        "blocked",
        [BLOCKED],
        {"text": "", "finish": "content_filter"},
        needs=("content filter",),
        modes=("whole", "stream"),
    ),
    Case(
        "length in a helper",
        [LENGTH],
        {"text": "Once upon", "finish": "length"},
        needs=("unfinished answers in a helper",),
        modes=("helper",),
    ),
    fails(
        "refused by a helper",
        LENGTH,
        kind="unfinished",
        needs=("a helper that refuses unfinished answers",),
        modes=("helper",),
    ),
    Case("usage", [Reply("x", usage=Usage(120, 30))], {"usage": Spent(120, 30)}),
    Case(
        "cached tokens",
        [Reply("x", usage=Usage(120, 30, cached_tokens=40))],
        {"usage": Spent(120, 30, cached=40)},
        needs=("cached tokens",),
    ),
    Case(
        "reasoning tokens",
        [Reply("x", usage=Usage(120, 30, reasoning_tokens=20))],
        {"usage": Spent(120, 30, reasoning=20)},
        needs=("reasoning tokens",),
    ),
    Case("usage estimate", ["It is sunny."], check=estimated),
    Case(
        "two choices",
        [Reply("one way", choices=["another"])],
        {"choices": ("one way", "another")},
        ask={"n": 2},
        needs=("several choices",),
    ),
    Case("n of one", ["same"], {"choices": ("same",) * 3}, ask={"n": 3}, needs=("several choices",)),
    Case(
        "search",
        [[ServerTool("web_search", {"query": "sky"}, [{"url": SKY, "title": "Sky"}]), *CITED]],
        {"searched": ("sky",), "cited": (("blue", SKY),), "text": "The sky is blue.", "finish": "stop"},
        ask={"search": True},
        needs=("a search that the provider runs",),
    ),
    Case(
        "citation",
        [CITED],
        {"cited": (("blue", SKY),), "text": "The sky is blue.", "finish": "stop"},
        ask={"search": True},
        needs=("citations",),
        modes=("whole", "stream"),
    ),
    Case(
        "sound",
        [Audio(WAVE, transcript="Hello there!")],
        {"sound": WAVE, "transcript": "Hello there!", "text": "", "finish": "stop"},
        ask={"speak": True},
        needs=("sound",),
        modes=("whole", "stream"),
    ),
    fails("bad request", Error(400), kind="bad_request"),
    fails("authentication", Error("authentication"), kind="authentication"),
    fails("not found", Error(404), kind="not_found"),
    fails("rate limit", Error(429), kind="rate_limit"),
    fails("server error", Error(500), kind="server_error"),
    fails("overloaded", Error("overloaded"), kind="overloaded"),
    fails("no connection", ConnectionError(), kind="connection"),
    fails("time-out", TimeoutError(), kind="timeout"),
    fails("time-out class", TimeoutError, kind="timeout"),
    fails("time-out of a function", too_slow, kind="timeout"),
    fails("cut off", Reply("Once upon a time", then=Disconnect()), kind="disconnect", heard="Once upon a time"),
    fails(
        "error at the end",
        Reply("Once upon a time", then=Error("overloaded")),
        kind="in_stream",
        heard="Once upon a time",
        needs=("errors inside a stream",),
    ),
    fails(
        "stall",
        Reply("Once upon a time", then=Stall()),
        kind="stall",
        heard="Once upon a time",
        needs=("read time-out",),
    ),
    Case(
        "recovers",
        [Error(429, headers=AT_ONCE), Error(500, headers=AT_ONCE), "ok"],
        {"text": "ok"},
        ask={"retries": 2},
        calls=3,
        needs=("retries",),
        check=attempts,
    ),
    fails(
        "never recovers",
        Error(500, headers=AT_ONCE),
        kind="server_error",
        ask={"retries": 2},
        calls=3,
        needs=("retries",),
        check=attempts,
    ),
    Case(
        "stream ends early",
        [Reply("Once upon", then=EndOfStream())],
        {"text": "Once upon"},
        modes=("stream",),
        check=cut_short,
    ),
    Case("function", [echo], check=echoed),
    Case("async function", [echo_later], check=echoed),
    Case("async object", [Agent()], {"tool_calls": (CALLED_PARIS,)}, tools=("get_weather",)),
    Case(
        "verbatim object",
        lambda client: [client.verbatim()],
        {"text": "Word for word.", "id": "verbatim-1", "usage": Spent(7, 3), "finish": "stop"},
        needs=("sdk object",),
    ),
    Case(
        "verbatim object's model",
        lambda client: [client.verbatim()],
        {"model": "verbatim-model"},
        needs=("sdk object", "names its model"),
    ),
    Case(
        "verbatim object without an id",
        lambda client: [client.verbatim()],
        {"text": "Word for word.", "model": "verbatim-model", "usage": Spent(7, 3), "finish": "stop"},
        needs=("sdk object without an id",),
    ),
    Case("id", [Reply("x", id="my-id")], {"id": "my-id"}, needs=("names its answers",)),
)


ESSENTIAL = frozenset(
    {
        *("text", "odd text", "nothing", "id and model", "chunks"),
        *("tool call", "no arguments", "parallel calls", "text and call", "thinking", "thinking and call"),
        *("structured dict", "structured by any tool", "length", "usage", "usage estimate"),
        *("bad request", "authentication", "not found", "rate limit", "server error", "overloaded"),
        *(
            "no connection",
            "time-out",
            "cut off",
            "error at the end",
            "recovers",
            "function",
            "async function",
            "verbatim object",
            "verbatim object's model",
        ),
    }
)
"""The cases of a client that isn't thorough: what can be another on a host that speaks a known vocabulary."""
assert {case.name for case in CASES} >= ESSENTIAL


def products() -> list[Any]:
    """Every case through every thorough client in every way that the case speaks of; through others each essential one in one way.

    The ways of those alternate from case to case and from client to client, so that twins (sync and async) have both.
    """
    return [
        pytest.param(case, client, mode, id=f"{client!r}-{mode}-{case.name.replace(' ', '_')}")
        for place, client in enumerate(present((*CLIENTS, *TEXT_CLIENTS)))
        for turn, mode in enumerate(MODES)
        for number, case in enumerate(CASES if client.unable is None else CASES[:1])
        if mode in case.modes
        and (
            client.thorough
            or (
                mode in client.modes and case.name in ESSENTIAL and (len(case.modes) < 2 or (place + turn + number) % 2)
            )
        )
    ]


@pytest.mark.parametrize(("case", "client", "mode"), products())
def test_case(case: Case, client: Client, mode: str) -> None:
    tools = ("tools",) if case.tools or "tools" in case.ask else ()
    schema = ("structured output",) if "schema" in case.ask else ()
    skip_unless_able(client, mode, (*case.needs, *tools, *schema))
    client.run(heard_as_said(case, client, mode))


async def heard_as_said(case: Case, client: Client, mode: str) -> None:
    script = case.script(client) if callable(case.script) else case.script
    options = {"tools": {name: TOOLS[name] for name in case.tools}, **case.ask, "mode": mode}
    answer = None
    with fake_llm.intercept(script) as fake:
        if case.fails is None:
            answer = await asked(case, client, options)
        else:
            await failed(client, case.fails, options)
    if case.heard is not None and mode == "stream":
        assert client.heard.answer().text == case.heard
    for name, value in case.want.items():
        assert_heard(client, answer, name, value)
    assert len(fake.calls) == client.requests(case.calls, case.fails)
    for call in fake.calls:
        assert_recorded(call, client, options, PROMPT if case.picture is None else f"{PROMPT}\n[image]")
    if case.check is not None:
        case.check(answer, fake, client)


async def asked(case: Case, client: Client, options: Mapping[str, Any]) -> Any:
    history: list[Any] = [("user", PROMPT) if case.picture is None else ("user", PROMPT, case.picture)]
    answer = await client.ask(history, **options)
    if case.result is not None:
        history += [("assistant", answer), *(("tool", call, case.result) for call in answer.tool_calls)]
        answer = await client.ask(history, **options)
    return answer


async def failed(client: Client, kind: str, options: Mapping[str, Any]) -> None:
    expected, status = client.error(kind, options["mode"])
    with pytest.raises(expected) as caught:
        await client.ask(PROMPT, **options)
    assert caught.type is expected or "subclasses of errors" in client.says
    assert client.status(caught.value) == status


def assert_heard(client: Client, answer: Any, name: str, value: Any) -> None:
    heard = getattr(answer, name)
    if name == "finish":
        value = client.finish(value)
    elif name == "usage":
        heard = dataclasses.replace(
            heard, **{field: None for field in ("cached", "reasoning") if getattr(value, field) is None}
        )
    assert heard == value


def assert_recorded(call: Any, client: Client, options: Mapping[str, Any], prompt: str) -> None:
    assert call.provider == client.provider
    assert call.dialect == client.vocabulary.dialect
    assert call.operation == "chat"
    assert call.model == client.model
    streams = "always streams" in client.says or options["mode"] in {"stream", "helper"}
    assert call.stream is (streams and "never streams" not in client.says)
    if "its own words" in client.says:
        assert any(PROMPT in text for text in call.user_texts)
    else:
        assert call.last_user_text == prompt
        assert call.user_texts == (PROMPT,)
    if "its own tools" not in client.says:
        assert list(call.tools) == list(options["tools"])
        assert (call.schema is not None) is bool(options.get("schema"))


REQUIRED = {
    "openai_chat": ("id", "id"),
    "openai_responses": ("id", "sequence_number"),
    "anthropic_messages": ("id", "index"),
}


@pytest.mark.parametrize("mode", ["whole", "stream"])
@pytest.mark.parametrize("client", HERE, ids=shown)
def test_the_strict_validation_of_the_sdk_sees_what_is_missing(client: Client, mode: str) -> None:
    """Else its consent in all the cases above would say nothing."""
    skip_unless_able(client, mode, ("strict validation",))
    if mode in getattr(client, "lenient", ()):
        pytest.skip("needs strict validation of streams")
    missing = REQUIRED[client.vocabulary.dialect][mode == "stream"]

    def drop(events: list[Any]) -> list[Any]:
        for event in events:
            getattr(event, "payload", event).pop(missing, None)
        return events

    async def check() -> None:
        with fake_llm.intercept([Reply("Hello.", edit=drop)]):
            expected, _ = client.error("invalid", mode)
            with pytest.raises(expected):
                await client.ask(PROMPT, mode=mode)

    client.run(check())
