"""What each exception says, as a whole: what came, what there was, what to write."""

from __future__ import annotations

import dataclasses
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import fake_llm
from _asking import ANTHROPIC, OPENAI, ask, body_of, post
from _capability import needs
from fake_llm import (
    Audio,
    Citation,
    Disconnect,
    Embedding,
    Error,
    FakeLLM,
    Framing,
    Garbage,
    Image,
    Json,
    Raw,
    Refusal,
    Reply,
    ScriptError,
    ScriptMismatchError,
    ServerTool,
    Stall,
    Thinking,
    ToolCall,
    UninterceptedCallError,
    UnknownEndpointError,
    UnscriptedCallError,
    UnusedReplyError,
    Usage,
    _explain,
    intercept,
)


class Weather:
    """A class that can't be a turn."""

    def __repr__(self) -> str:
        return "Weather()"


def two(first: Any, second: Any) -> str:
    return "x"


def none() -> str:
    return "x"


def answer(call: Any) -> str:
    return "x"


MISPLACED = 'A turn got Error(429) as one of its parts.\nWhat happens after the parts of a turn is said by then=.\nWrite Reply("text", then=Error(429)), or Error(429) alone for an error in place of an answer.'
NESTED = """\
{where} got a list that holds {held}.
Only the script is a list of turns; a list inside it, or given to push(), reply() or default=, is one turn of several parts.
Write push("a", "b") for two turns, or ["text", ToolCall(…)] for one of two parts; a JSON array is Json([…])."""
EMPTY = """\
{where} got an empty list, which can't be a turn.
A list inside a script is one turn of several parts.
Write Reply() or "" for an answer without text."""
VENDOR = """\
A script got a dict with {found}, which is a vendor's whole body.
A dict stands for structured output: the model's JSON, not the provider's.
Write Raw({{…}}) to send it verbatim, or say what the model answers: "text"."""
PART = """\
A turn got a part of type {part}.
The parts of a turn are str, ToolCall, Thinking, Refusal, Image, Audio, Citation, ServerTool, Json, Embedding, a dict, a Pydantic model or a dataclass.
Write {write}."""
JSON_VALUE = "a bare JSON value as Json(…), a vector as Embedding([…])"
ANOTHER = 'one of these, such as "text" or ToolCall("name", {…})'
VECTOR = """\
Embedding got {got}.
A vector is a list of finite numbers, at least one.
Write Embedding([0.1, 0.2, 0.3])."""
VECTOR_AS_DEFAULT = """\
{where} got {got}.
A default answers chat; the vectors of embeddings are made up, or said by a rule.
Write fake.when(operation="embeddings").reply(Embedding([…]))."""
FUNCTION = """\
A script got the function {name!r}.
A single function doesn't stand for a script: @intercept without parentheses looks the same.
Write @intercept() to decorate it, intercept(default=function) to answer every call with it, or intercept([function]) for one call."""
NO_TURN = """\
{where} got {value}, which can't be a turn.
A turn is what the model says, an error, an exception, a body, or a function of the call.
Write {write}."""
ANY_TURN = '"text", ToolCall(…), Reply(…), Error(…), a dict, a model, or a list of parts'

TURNS: dict[str, tuple[Callable[[], Any], str]] = {
    "None": (lambda: intercept([None]), NO_TURN.format(where="A script", value="None", write="Json(None) for JSON, or a str for text")),
    "None alone": (lambda: intercept(None), NO_TURN.format(where="A script", value="None", write="Json(None) for JSON, or a str for text")),
    "int": (lambda: intercept([1]), NO_TURN.format(where="A script", value="1 (int)", write="Json(1) for JSON, or a str for text")),
    "int alone": (lambda: intercept(3), NO_TURN.format(where="A script", value="3 (int)", write="Json(3) for JSON, or a str for text")),
    "float": (lambda: intercept([1.5]), NO_TURN.format(where="A script", value="1.5 (float)", write="Json(1.5) for JSON, or a str for text")),
    "bool": (lambda: intercept([True]), NO_TURN.format(where="A script", value="True (bool)", write="Json(True) for JSON, or a str for text")),
    "bytes": (lambda: intercept([b"x"]), NO_TURN.format(where="A script", value="b'x' (bytes)", write='Raw(b"…") for a body, or a str for text')),
    "bytes alone": (lambda: intercept(b"x"), NO_TURN.format(where="A script", value="b'x' (bytes)", write='Raw(b"…") for a body, or a str for text')),
    "set": (lambda: intercept([{1}]), NO_TURN.format(where="A script", value="{1} (set)", write=ANY_TURN)),
    "instance of a class": (lambda: intercept([Weather()]), NO_TURN.format(where="A script", value="Weather() (Weather)", write=ANY_TURN)),
    "class": (lambda: intercept([Weather]), NO_TURN.format(where="A script", value=f"the class {__name__}.Weather", write="an instance: Weather(…)")),
    "class alone": (
        lambda: intercept(Weather),
        f"A script got the class {__name__}.Weather.\nA class is no turn: @intercept without parentheses looks the same.\nWrite @intercept() to decorate it, or an instance: Weather(…).",
    ),
    "array of numbers": (lambda: intercept([[1, 2]]), PART.format(part="int: 1", write=JSON_VALUE)),
    "array of None": (lambda: intercept([["a", None]]), PART.format(part="NoneType: None", write=JSON_VALUE)),
    "empty list": (lambda: intercept([[]]), EMPTY.format(where="A script")),
    "empty tuple": (lambda: intercept([()]), EMPTY.format(where="A script")),
    "list in a turn": (lambda: intercept([["a", ["b"]]]), NESTED.format(where="A script", held="['b']")),
    "tuple in a turn": (lambda: intercept([("a", ("b",))]), NESTED.format(where="A script", held="('b',)")),
    "Reply in a turn": (lambda: intercept([[Reply("a")]]), NESTED.format(where="A script", held="Reply('a')")),
    "Error in a turn": (lambda: intercept([["a", Error(429)]]), MISPLACED),
    "Raw in a turn": (lambda: intercept([[Raw("x")]]), NESTED.format(where="A script", held="Raw('x')")),
    "function alone": (lambda: intercept(answer), FUNCTION.format(name="answer")),
    "FakeLLM of a function": (lambda: FakeLLM(answer), FUNCTION.format(name="answer")),
    "function of two": (
        lambda: intercept([two]),
        "A script got the function two(first: 'Any', second: 'Any') -> 'str'.\nA function turn is called with the call as its one argument.\nWrite def answer(call): …",
    ),
    "function of none": (
        lambda: intercept([none]),
        "A script got the function none() -> 'str'.\nA function turn is called with the call as its one argument.\nWrite def answer(call): …",
    ),
    "body of OpenAI": (lambda: intercept([{"choices": [{"message": {}}]}]), VENDOR.format(found="choices[0].message")),
    "body of Gemini alone": (lambda: intercept({"candidates": [{"content": {}}]}), VENDOR.format(found="candidates[0].content")),
    "body of Anthropic": (lambda: intercept([{"content": [], "stop_reason": "end_turn"}]), VENDOR.format(found="content and stop_reason")),
    "body of Bedrock": (lambda: intercept([{"output": {"message": {}}, "stopReason": "end_turn"}]), VENDOR.format(found="output.message and stopReason")),
    "body of OpenAI among parts": (lambda: intercept([["a", {"choices": [{"message": {}}]}]]), VENDOR.format(found="choices[0].message")),
    "dict with a number as key": (
        lambda: intercept([{1: 2}]),
        "Structured output (dict) can't be written as JSON: a key isn't a str.\nIt was {1: 2}.\nWrite dicts with str keys: JSON has no others.",
    ),
    "dict with a set": (
        lambda: intercept([{"a": {1}}]),
        "Structured output (dict) can't be written as JSON: Object of type set is not JSON serializable.\nIt was {'a': {1}}.\nWrite dicts with str keys, lists, str, numbers, True, False and None.",
    ),
    "push": (lambda: FakeLLM().push(None), NO_TURN.format(where="push()", value="None", write="Json(None) for JSON, or a str for text")),
    "push of a list of turns": (lambda: FakeLLM().push([Reply("a"), Reply("b")]), NESTED.format(where="push()", held="Reply('a')")),
    "push of a list in a list": (lambda: FakeLLM().push(["a", ["b"]]), NESTED.format(where="push()", held="['b']")),
    "default=": (lambda: intercept(default=3), NO_TURN.format(where="default=", value="3 (int)", write="Json(3) for JSON, or a str for text")),
    "default= of an empty list": (lambda: intercept(default=[]), EMPTY.format(where="default=")),
    "default= of a list of turns": (lambda: intercept(default=[Error(429)]), MISPLACED),
    "default= of a vector": (
        lambda: intercept(default=Embedding([1])),
        VECTOR_AS_DEFAULT.format(where="default=", got="Embedding([1.0])"),
    ),
    "default() of vectors": (
        lambda: FakeLLM().default([Embedding([1]), Embedding([2])]),
        VECTOR_AS_DEFAULT.format(where="default()", got="[Embedding([1.0]), Embedding([2.0])]"),
    ),
    "default()": (lambda: FakeLLM().default(3), NO_TURN.format(where="default()", value="3 (int)", write="Json(3) for JSON, or a str for text")),
    "reply() of None": (lambda: FakeLLM().when().reply(None), NO_TURN.format(where="reply()", value="None", write="Json(None) for JSON, or a str for text")),
    "reply() of a list of turns": (lambda: FakeLLM().when().reply(["a", ["b"]]), NESTED.format(where="reply()", held="['b']")),
    "reply() of nothing": (lambda: FakeLLM().when(input="x").reply(), "when(input='x').reply() got no turn.\nA rule answers with one turn for ever, or with several, one after the other.\nWrite .reply(\"text\")."),
    "reply(delay=)": (lambda: FakeLLM().when().reply("a", delay=-1), "reply() got delay=-1.\nA time is in seconds, 0 or more.\nWrite delay=0.5."),
}  # fmt: skip

PARTS: dict[str, tuple[Callable[[], Any], str]] = {
    "int": (lambda: Reply(3), PART.format(part="int: 3", write=JSON_VALUE)),
    "None": (lambda: Reply(None), PART.format(part="NoneType: None", write=JSON_VALUE)),
    "list": (
        lambda: Reply(["a"]),
        "A turn got a part of type list: ['a'].\nIts parts are given one by one.\nWrite Reply('a'), or Json(['a']) for a JSON array.",
    ),
    "list of numbers": (lambda: Reply([1]), PART.format(part="list: [1]", write=JSON_VALUE)),
    "several scripts": (
        lambda: intercept("a", "b"),
        "intercept() got 2 arguments: 'a', 'b'.\nIts one argument is the script, a list of turns; options are named.\nWrite intercept(['a', 'b']).",
    ),
    "Disconnect as a part": (
        lambda: intercept([["Hel", Disconnect()]]),
        'A turn got Disconnect() as one of its parts.\nWhat happens after the parts of a turn is said by then=.\nWrite Reply("text", then=Disconnect()).',
    ),
    "Disconnect as a turn": (
        lambda: intercept([Disconnect()]),
        'A turn got Disconnect() as one of its parts.\nWhat happens after the parts of a turn is said by then=.\nWrite Reply("text", then=Disconnect()).',
    ),
    "Embedding of nothing": (lambda: Embedding([]), VECTOR.format(got="[]")),
    "Embedding of a text": (lambda: Embedding("0.1"), VECTOR.format(got="'0.1'")),
    "Embedding of one number": (lambda: Embedding(0.1), VECTOR.format(got="0.1")),
    "Embedding of a text among numbers": (lambda: Embedding([0.1, "x"]), VECTOR.format(got="[0.1, 'x'], with 'x'")),
    "Embedding of True": (lambda: Embedding([True]), VECTOR.format(got="[True], with True")),
    "Embedding that isn't finite": (lambda: Embedding([1, float("nan")]), VECTOR.format(got="[1, nan], with nan")),
    "Embedding beyond 32 bits": (lambda: Embedding([1e39]), VECTOR.format(got="[1e+39], with 1e+39")),
    "Embedding of vectors": (lambda: Embedding([[0.1]]), VECTOR.format(got="[[0.1]], with [0.1]")),
    "Embedding that is long": (lambda: Embedding([*range(99), None]), VECTOR.format(got=str([*range(99)])[:79] + "…, with None")),
    "operation of a rule": (
        lambda: FakeLLM().when(operation="chatt"),
        "when() got operation='chatt'.\nThe operations that rules can answer are 'chat', 'count_tokens', 'embeddings', 'images', 'moderation', 'rerank', 'speech', 'transcription', 'unknown'; those that rules can let fail are 'batches', 'caches', 'completions', 'conversations', 'detokenize', 'files', 'harnesses', 'keys', 'metadata', 'models', 'predictions', 'projects', 'responses', 'token', 'tokenize', 'traces', 'users', 'warm_up'.\nWrite operation='chat'.",
    ),
    "Raw beyond UTF-8": (
        lambda: Raw("\ud800"),
        "The body of Raw can't be written as UTF-8: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed.\nIt was '\\ud800'.\nWrite the bytes outright: b\"…\".",
    ),
    "entries of logprobs": (
        lambda: Reply("a", logprobs=[("a", "x")]),
        "Reply got logprobs=[('a', 'x')], with ('a', 'x').\nAn entry is a token with its logprob, or the vendor's own object.\nWrite logprobs=[(\"Hello\", -0.1)].",
    ),
    "Reply": (lambda: Reply(Reply("a")), PART.format(part="fake_llm.Reply: Reply('a')", write=ANOTHER)),
    "class": (lambda: Reply(object), PART.format(part="type: <class 'object'>", write=ANOTHER)),
    "chunks and chunk_size": (
        lambda: Reply("Hello", chunks=["Hel", "lo"], chunk_size=2),
        "Reply got both chunks= and chunk_size=.\nEach says how the text is cut.\nWrite one of them.",
    ),
    "chunks that are a str": (lambda: Reply(chunks="Hello"), 'Reply got chunks=\'Hello\'.\nchunks is a list.\nWrite chunks=["Hel", "lo"].'),
    "chunks of numbers": (lambda: Reply(chunks=[1]), 'Reply got chunks=[1].\nChunks are pieces of its text.\nWrite chunks=["Hel", "lo"].'),
    "chunks of another text": (
        lambda: Reply("Hello", chunks=["He", "l"]),
        "Reply got chunks=['He', 'l'].\nThey don't join to its text 'Hello'.\nLeave out the text, or cut it exactly.",
    ),
    "chunk_size": (lambda: Reply("x", chunk_size=0), "Reply got chunk_size=0.\nchunk_size is in characters, 1 or more.\nWrite chunk_size=4."),
    "delay": (lambda: Reply("x", delay=-1), "Reply got delay=-1.\nA time is in seconds, 0 or more.\nWrite delay=0.5."),
    "interval": (lambda: Reply("x", interval=float("nan")), "Reply got interval=nan.\nA time is in seconds, 0 or more.\nWrite interval=0.5."),
    "usage": (lambda: Reply("x", usage=3), "Reply got usage=3.\nusage is of type Usage.\nWrite usage=Usage(12, 5)."),
    "usage below 0": (
        lambda: Reply("x", usage=Usage(-1, 5)),
        f"Reply got usage={Usage(-1, 5)!r}.\nTokens are whole numbers, 0 or more.\nWrite usage=Usage(12, 5).",
    ),
    "model": (lambda: Reply("x", model=3), 'Reply got model=3.\nmodel is of type str.\nWrite model="gpt-5".'),
    "id": (lambda: Reply("x", id=3), 'Reply got id=3.\nid is of type str.\nWrite id="chatcmpl-1".'),
    "finish_reason": (lambda: Reply("x", finish_reason=3), 'Reply got finish_reason=3.\nfinish_reason is of type str.\nWrite finish_reason="length".'),
    "then": (
        lambda: Reply("x", then="disconnect"),
        "Reply got then='disconnect'.\nthen is of type Disconnect or Stall or EndOfStream or Garbage or Error.\nWrite then=Disconnect(), or another of them.",
    ),
    "then of a class": (
        lambda: Reply("x", then=Disconnect),
        "Reply got then=<class 'fake_llm.Disconnect'>.\nthen is of type Disconnect or Stall or EndOfStream or Garbage or Error.\nWrite then=Disconnect(), or another of them.",
    ),
    "framing": (lambda: Reply("x", framing={}), "Reply got framing={}.\nframing is of type Framing.\nWrite framing=Framing(split=1)."),
    "edit": (
        lambda: Reply("x", edit=3),
        "Reply got edit=3.\nedit is a function over the list of wire events that returns the list to send, or a list of such.\nWrite edit=lambda events: events.",
    ),
    "extra": (lambda: Reply("x", extra=3), 'Reply got extra=3.\nextra is of type Mapping.\nWrite extra={"service_tier": "flex"}.'),
    "extra beyond JSON": (
        lambda: Reply("x", extra={"a": {1}}),
        "Extra can't be written as JSON: Object of type set is not JSON serializable.\nIt was {'a': {1}}.\nWrite dicts with str keys, lists, str, numbers, True, False and None.",
    ),
    "headers": (lambda: Reply("x", headers=3), 'Reply got headers=3.\nheaders is a dict of str.\nWrite headers={"x-name": "value"}.'),
    "header with a line end": (
        lambda: Reply("x", headers={"a": "c\n"}),
        "Reply got the header 'a': 'c\\n'.\nNames and values are str on one line.\nWrite headers={\"x-name\": \"value\"}.",
    ),
    "logprobs": (lambda: Reply("x", logprobs=3), 'Reply got logprobs=3.\nlogprobs is a list.\nWrite logprobs=[("Hello", -0.1)].'),
    "choices": (lambda: Reply("x", choices="ab"), "Reply got choices='ab'.\nchoices is a list.\nWrite choices=[\"another answer\"]."),
    "check": (lambda: Reply("x", check="no"), "Reply got check='no'.\ncheck is on or off.\nWrite check=True or check=False."),
    "name of a tool": (lambda: ToolCall(""), "ToolCall got '' as its name.\nA name is a str that isn't empty.\nWrite ToolCall(\"get_weather\", {\"city\": \"Paris\"})."),
    "arguments in a list": (
        lambda: ToolCall("f", [1]),
        "ToolCall('f') got arguments of type list: [1].\nArguments are a dict, or a str that is sent as it is.\nWrite ToolCall('f', {\"name\": value}).",
    ),
    "arguments beyond JSON": (
        lambda: ToolCall("f", {"a": {1}}),
        "The arguments of ToolCall('f') can't be written as JSON: Object of type set is not JSON serializable.\nIt was {'a': {1}}.\nWrite dicts with str keys, lists, str, numbers, True, False and None.",
    ),
    "arguments with a number as key": (
        lambda: ToolCall("f", {"a": {1: 2}}),
        "The arguments of ToolCall('f') can't be written as JSON: a key isn't a str.\nIt was {'a': {1: 2}}.\nWrite dicts with str keys: JSON has no others.",
    ),
    "id of a tool call": (lambda: ToolCall("f", {}, 3), "ToolCall('f') got id=3.\nid is of type str.\nWrite id=\"call_1\"."),
    "extra of a tool call": (lambda: ToolCall("f", extra=3), "ToolCall('f') got extra=3.\nextra is of type Mapping.\nWrite extra={\"index\": 0}."),
    "check of a tool call": (lambda: ToolCall("f", check=0), "ToolCall('f') got check=0.\ncheck is on or off.\nWrite check=True or check=False."),
    "Thinking": (lambda: Thinking(3), 'Thinking got 3.\nThinking takes a str.\nWrite Thinking("text").'),
    "signature": (lambda: Thinking("a", 3), 'Thinking got signature=3.\nsignature is of type str.\nWrite signature="c2ln".'),
    "Refusal": (lambda: Refusal(None), 'Refusal got None.\nRefusal takes a str.\nWrite Refusal("text").'),
    "Image": (lambda: Image(3), 'Image got 3.\nAn image is bytes, or a URL as a str.\nWrite Image(png_bytes) or Image("https://…").'),
    "Audio": (lambda: Audio("a"), "Audio got 'a'.\nSound is bytes.\nWrite Audio(wav_bytes)."),
    "transcript": (lambda: Audio(b"a", transcript=3), 'Audio got transcript=3.\ntranscript is of type str.\nWrite transcript="Hello!".'),
    "Citation": (lambda: Citation(3, "a"), 'Citation got 3 as its text.\nA text is a str.\nWrite Citation("blue", "https://sky.example").'),
    "source": (
        lambda: Citation("a", None),
        'Citation got None as its source.\nA source is a URL, or the id of a document, as a str.\nWrite Citation("blue", "https://sky.example").',
    ),
    "ServerTool": (
        lambda: ServerTool(""),
        "ServerTool got '' as its name.\nA name is a str that isn't empty.\nWrite ServerTool(\"web_search\", {\"query\": \"weather\"}).",
    ),
    "arguments of a server's tool": (
        lambda: ServerTool("web_search", "weather"),
        "ServerTool('web_search') got arguments of type str: 'weather'.\nArguments are a dict.\nWrite ServerTool('web_search', {\"query\": \"weather\"}).",
    ),
    "result and error": (
        lambda: ServerTool("web_search", {}, [], error="unavailable"),
        "ServerTool('web_search') got both a result and error='unavailable'.\nA tool that failed has no result.\nWrite one of them.",
    ),
    "Json": (
        lambda: Json({1}),
        "Json can't be written as JSON: Object of type set is not JSON serializable.\nIt was {1}.\nWrite dicts with str keys, lists, str, numbers, True, False and None.",
    ),
    "name of an error": (
        lambda: Error("overload"),
        "Error got the name 'overload'.\nThe names are authentication, bad_request, content_filter, context_length, not_found, overloaded, permission, quota, rate_limit, request_too_large, server_error, timeout, unavailable.\nWrite one of them, or a status such as Error(429).",
    ),
    "status of an error": (
        lambda: Error(200),
        'Error got 200.\nAn error is a status from 400 to 599, or a name.\nWrite Error(429) or Error("overloaded"); Raw(body, status=…) sends any other.',
    ),
    "message of an error": (lambda: Error(429, 3), 'Error got message=3.\nmessage is of type str.\nWrite Error(429, "Too many requests.").'),
    "retry_after": (lambda: Error(429, retry_after="2"), "Error got retry_after='2'.\nA time is in seconds, 0 or more.\nWrite retry_after=0.5."),
    "body of an error": (
        lambda: Error(429, body={1}),
        "The body of Error can't be written as JSON: Object of type set is not JSON serializable.\nIt was {1}.\nWrite dicts with str keys, lists, str, numbers, True, False and None.",
    ),
    "Raw": (
        lambda: Raw(3),
        'Raw got a body of type int: 3.\nA body is bytes, a str, a dict, or a list of dicts (stream events).\nWrite Raw({"id": "x"}) or Raw(b"…").',
    ),
    "events of Raw": (
        lambda: Raw([1, 2]),
        'Raw got the list [1, 2].\nA list holds stream events: dicts, Event(name, payload), or str and bytes that are sent as they are.\nWrite Raw([{"id": "x"}]), or Raw("[1, 2]") for a body that is a JSON array.',
    ),
    "a silence in Raw": (
        lambda: Raw([{}, Stall(), {}]),
        "Raw got Stall() among its events.\nIt lasts until the client's own read time-out, so nothing can follow it.\nWrite Stall(seconds) there, or then=Stall() and only the events before it.",
    ),
    "status of Raw": (lambda: Raw("x", 99), "Raw got status=99.\nA status is a whole number from 200 to 599.\nWrite Raw(body, status=503)."),
    "Garbage": (lambda: Garbage("x"), 'Garbage got \'x\'.\nIt takes bytes.\nWrite Garbage(b"…").'),
    "Stall": (lambda: Stall(-1), "Stall got seconds=-1.\nA time is in seconds, 0 or more.\nWrite seconds=0.5."),
    "newline": (
        lambda: Framing(newline="x"),
        "Framing got newline='x'.\nSSE knows three line ends.\nWrite newline=\"\\n\", \"\\r\\n\" or \"\\r\".",
    ),
    "comment": (lambda: Framing(comment="a\nb"), "Framing got comment='a\\nb'.\nA comment is one line.\nWrite comment=\"keep-alive\"."),
    "comment that isn't text": (lambda: Framing(comment=3), 'Framing got comment=3.\ncomment is of type str.\nWrite comment="keep-alive".'),
    "split": (
        lambda: Framing(split=0),
        'Framing got split=0.\nsplit is a whole number of bytes, 1 or more, "characters", "lines", or a list of places in bytes.\nWrite split=1, split="characters" or split=[10, 25].',
    ),
    "gzip": (lambda: Framing(gzip="x"), "Framing got gzip='x'.\ngzip is on or off.\nWrite gzip=True or gzip=False."),
}  # fmt: skip

NAMES = ", ".join(sorted(field.name for field in dataclasses.fields(FakeLLM()._options) if field.init))
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "near": ({"strictt": True}, f"There is no option strictt=True.\nThe options are {NAMES}.\nWrite strict=."),
    "unknown": ({"zzz": 1}, f"There is no option zzz=1.\nThe options are {NAMES}.\nLeave it out."),
    "strict": ({"strict": 1}, "intercept got strict=1.\nstrict is on or off.\nWrite strict=True or strict=False."),
    "env": ({"env": None}, "intercept got env=None.\nenv is on or off.\nWrite env=True or env=False."),
    "virtual_time": ({"virtual_time": "x"}, "intercept got virtual_time='x'.\nvirtual_time is on or off.\nWrite virtual_time=True or virtual_time=False."),
    "on_exhausted": (
        {"on_exhausted": "ignore"},
        "intercept got on_exhausted='ignore'.\nThere are three answers to a call for which no turn is left.\nWrite on_exhausted=\"raise\", \"stop\" or \"error\".",
    ),
    "model": ({"model": 3}, 'intercept got model=3.\nmodel is of type str.\nWrite model="gpt-5".'),
    "usage": ({"usage": (1, 2)}, "intercept got usage=(1, 2).\nusage is of type Usage.\nWrite usage=Usage(12, 5)."),
    "delay": ({"delay": "1"}, "intercept got delay='1'.\nA time is in seconds, 0 or more.\nWrite delay=0.5."),
    "interval": ({"interval": -1}, "intercept got interval=-1.\nA time is in seconds, 0 or more.\nWrite interval=0.5."),
    "chunk_size": ({"chunk_size": 0}, "intercept got chunk_size=0.\nchunk_size is in characters, 1 or more.\nWrite chunk_size=4."),
    "framing": ({"framing": 1}, "intercept got framing=1.\nframing is of type Framing.\nWrite framing=Framing(split=1)."),
    "context_window": ({"context_window": -1}, "intercept got context_window=-1.\ncontext_window is a whole number of tokens, 0 or more.\nWrite context_window=8192."),
    "reserve_completion": (
        {"reserve_completion": None},
        "intercept got reserve_completion=None.\nreserve_completion is a whole number of tokens, 0 or more.\nWrite reserve_completion=8192.",
    ),
    "cost": ({"cost": 3}, "intercept got cost=3.\ncost is a function of a Usage that returns a number or a dict of numbers.\nWrite cost=lambda usage: usage.total / 1000."),
    "hosts": (
        {"hosts": ["x"]},
        "intercept got hosts=['x'].\nhosts is a dict of hosts, each with the provider that speaks there.\nWrite hosts={\"llm.corp.example:8080/base\": \"openai\"}.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("write", "text"), [*TURNS.values(), *PARTS.values()], ids=[*TURNS, *PARTS])
def test_what_cannot_be_is_refused_where_it_is_written(write: Callable[[], Any], text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        write()

    assert str(caught.value) == text


@pytest.mark.parametrize(("options", "text"), OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("entry", [intercept, FakeLLM])
def test_options_that_cannot_be_are_refused(entry: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        entry(**options)

    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"times": 0}, "when() got times=0.\ntimes is a whole number, 1 or more.\nWrite times=2."),
        ({"times": True}, "when() got times=True.\ntimes is a whole number, 1 or more.\nWrite times=2."),
        (
            {"input": 3},
            'when() got input=3.\ninput is a str, or a compiled pattern of one.\nWrite input="text" or input=re.compile("pattern").',
        ),
        (
            {"operation": re.compile("^(files|batches)$")},
            "when() got operation=re.compile('^(files|batches)$').\nA pattern finds what asks a model; housekeeping of SDKs is answered by rules that name it alone.\nWrite operation='batches', and a rule for each of the others.",
        ),
        (
            {"operation": re.compile("token$")},
            "when() got operation=re.compile('token$').\nA pattern finds what asks a model; housekeeping of SDKs is answered by rules that name it alone.\nWrite operation='token'.",
        ),
        (
            {"model": ["a"]},
            'when() got model=[\'a\'].\nmodel is a str, or a compiled pattern of one.\nWrite model="text" or model=re.compile("pattern").',
        ),
    ],
)
def test_rules_that_cannot_be_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ScriptError) as caught:
        FakeLLM().when(**options)

    assert str(caught.value) == text


@pytest.mark.parametrize("options", [{"tool": 3}, {"turn": "first"}, {"stream": "yes"}])
def test_rules_that_could_never_fit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ScriptError, match=f"^when\\(\\) got {next(iter(options))}="):
        FakeLLM().when(**options)


def test_a_predicate_that_is_no_function_is_refused() -> None:
    with pytest.raises(ScriptError) as caught:
        FakeLLM().when("weather")  # type: ignore[arg-type]

    assert str(caught.value) == (
        "when() got 'weather'.\n"
        "What isn't named is a function of the call.\n"
        "Write when(lambda call: …) or when(input=…)."
    )


@pytest.mark.parametrize(
    ("hosts", "came"),
    [
        ({"llm.test": "opnai"}, "hosts= got 'llm.test': 'opnai', which is no provider that can be answered."),
        ({"": "openai"}, "hosts= got ''."),
        ({"http://[::1": "openai"}, "hosts= got 'http://[::1'."),
        ({"https://me:pw@h:badport/v1": "openai"}, "hosts= got 'https://***@h:badport/v1'."),
        (
            {"me:pw@h/v1": "opnai"},
            "hosts= got '***@h/v1': 'opnai', which is no provider that can be answered.",
        ),
    ],
)
def test_hosts_that_cannot_be_are_refused(hosts: dict[str, str], came: str) -> None:
    with pytest.raises(ScriptError) as caught:
        intercept(hosts=hosts)

    assert str(caught.value).splitlines()[0] == came


@pytest.mark.parametrize("decorated", [3, "text"])
def test_only_functions_and_classes_can_be_decorated(decorated: Any) -> None:
    with pytest.raises(ScriptError) as caught:
        intercept()(decorated)

    assert str(caught.value) == (
        f"intercept(…) decorates {decorated!r}.\nIt decorates functions and classes.\nWrite @intercept([…]) above def or class."
    )


# --- while calls are on their way ---------------------------------------------------------------


def failure(script: Any, act: Callable[[FakeLLM], Any], **options: Any) -> BaseException:
    """What leaves a block."""
    try:
        with intercept(script, **options) as fake:
            act(fake)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [tool("get_weather", city={"type": "string"}), tool("search", q={"type": "string"})]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "w", "schema": TOOLS[0]["function"]["parameters"]}}
NEXT = 'Write one more turn, default=… for any number of calls, or on_exhausted="stop" to end the conversation.'


def with_rules(fake: FakeLLM) -> None:
    fake.when(input="weather").reply("sunny")
    fake.when(system="planner", model=re.compile("claude")).reply("a plan")
    fake.when(lambda call: False, input="hello", stream=False).reply("no")
    fake.when(input="hello", times=1).reply("hello")
    ask("hello")
    fake.calls.clear()
    ask("hello")


def passes_on(call: Any) -> None:
    return None


F, G = ToolCall("f", {"a": 1}, check=False), ToolCall("g", {}, check=False)
FED_BACK = [
    {"role": "user", "content": "The weather?"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
]


@pytest.mark.parametrize(
    ("script", "act", "text"),
    [
        pytest.param(
            [],
            lambda fake: ask("Hi"),
            f"Call 0: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'Hi'.\nThe script had no turns.\n{NEXT}",
            id="no script",
        ),
        pytest.param(
            ["one"],
            lambda fake: (ask(), ask("more")),
            f"Call 1: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'more'.\nThe script had 1 turn, all taken:\n  turn 1  call 0  'one'\n{NEXT}",
            id="one turn",
        ),
        pytest.param(
            ["a", {"b": 1}, Raw({}), ToolCall("f", check=False), Error(429), answer],
            lambda fake: [post() for _ in range(7)],
            f"Call 6: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'Hi'.\nThe script had 6 turns, all taken:\n"
            f"  turn 1  call 0             'a'\n  turn 2  call 1             {{'b': 1}}\n  turn 3  call 2             Raw({{}})\n"
            f"  turn 4  call 3             ToolCall('f', {{}}, check=False)\n  turn 5  call 4             Error(429)\n  turn 6  call 5, attempt 2  answer\n{NEXT}",
            id="many turns",
        ),
        pytest.param(
            [],
            with_rules,
            "Call 0: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'hello'.\nThe script had no turns.\n"
            "What didn't answer it, the nearest first:\n"
            "  when(input='hello', times=1): its turns are spent\n"
            "  when(<lambda>, input='hello', stream=False): <lambda>(call) was false\n"
            "  when(input='weather'): input='weather' isn't in 'hello'\n"
            "  when(system='planner', model=re.compile('claude')): model=re.compile('claude'), but 'gpt-5' came; system='planner' isn't in ''\n"
            f"{NEXT}",
            id="rules",
        ),
        pytest.param(
            [passes_on],
            lambda fake: (fake.when(passes_on, tool="f", turn=1).reply("x"), fake.default(passes_on), ask("hello")),
            "Call 0: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'hello'.\n"
            "The script had 1 turn, all taken:\n  turn 1  call 0  passes_on\n"
            "What didn't answer it, the nearest first:\n"
            "  the turn passes_on: its function returned None, which passes the call on\n"
            "  the default: its function returned None, which passes the call on\n"
            "  when(passes_on, tool='f', turn=1): tool='f' is neither called nor named; turn=1, but 0 came\n"
            f"{NEXT}",
            id="functions that pass on",
        ),
        pytest.param(
            list("abcdefgh"),
            lambda fake: [ask() for _ in range(9)],
            f"Call 8: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'Hi'.\nThe script had 8 turns, all taken:\n"
            f"  … 3 before\n  turn 4  call 3  'd'\n  turn 5  call 4  'e'\n  turn 6  call 5  'f'\n  turn 7  call 6  'g'\n  turn 8  call 7  'h'\n{NEXT}",
            id="a long script",
        ),
        pytest.param(
            [F, G],
            lambda fake: [ask() for _ in range(3)],
            f"Call 2: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'Hi'.\nThe script had 2 turns, all taken:\n"
            f"  turn 1  call 0  {F!r}\n  turn 2  call 1  {G!r}\n"
            f"Two tool calls in a row are two rounds; several calls in one turn are a list: [{F!r}, {G!r}].\n{NEXT}",
            id="two tool calls in a row",
        ),
        pytest.param(
            ["a", ["Let me look.", F]],
            lambda fake: (ask(), ask(), post(messages=FED_BACK)),
            f"Call 2: no turn was left for it (openai chat gpt-5, in thread MainThread). The last user text was 'The weather?'. It feeds back f → 'sunny'.\nThe script had 2 turns, all taken:\n"
            f"  turn 1  call 0  'a'\n  turn 2  call 1  Reply('Let me look.', {F!r})\n"
            f"The last turn calls a tool, so the code asks again with its result. {NEXT}",
            id="a tool's result",
        ),
    ],
)
def test_no_turn_is_left(script: Any, act: Callable[[FakeLLM], Any], text: str) -> None:
    error = failure(script, act)

    assert type(error) is UnscriptedCallError
    assert str(error) == text


def test_only_the_turns_that_are_shown_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(_explain, "shown", lambda turn: looked.append(turn) or "x")

    assert "… 195 before" in str(failure(["a"] * 200, lambda fake: [ask() for _ in range(201)]))
    assert "… 195 more" in str(failure(["a"] * 200, lambda fake: None))
    assert len(looked) <= 2 * 11


def test_the_thread_is_named() -> None:
    def in_thread(fake: FakeLLM) -> None:
        thread = threading.Thread(target=post, name="worker-7")
        thread.start()
        thread.join()

    assert "in thread worker-7)" in str(failure([], in_thread))


def chat(**fields: Any) -> Callable[[FakeLLM], Any]:
    return lambda fake: ask(**fields)


@pytest.mark.parametrize(
    ("turn", "act", "text"),
    [
        pytest.param(
            ToolCall("get_wether", {"city": "Paris"}),
            chat(tools=TOOLS),
            "The turn calls the tool 'get_wether'.\nThe request offers 'get_weather', 'search'.\nWrite ToolCall('get_weather', …), or ToolCall('get_wether', …, check=False) for a model that misbehaves.",
            id="a tool that is nearly offered",
        ),
        pytest.param(
            ToolCall("serch", {"q": "x"}),
            chat(tools=TOOLS),
            "The turn calls the tool 'serch'.\nThe request offers 'get_weather', 'search'.\nWrite ToolCall('search', …), or ToolCall('serch', …, check=False) for a model that misbehaves.",
            id="another that is nearly offered",
        ),
        pytest.param(
            ToolCall("f"),
            chat(),
            "The turn calls the tool 'f'.\nThe request offers no tools.\nLet the code offer it, or write ToolCall('f', …, check=False) for a model that misbehaves.",
            id="no tools",
        ),
        pytest.param(
            ToolCall("get_weather", {"city": 3}),
            chat(tools=TOOLS),
            "The turn calls 'get_weather' with {'city': 3}.\nThat doesn't fit the schema in the request: city: 3 is not of type 'string'.\nWrite arguments that fit, or check=False for a model that misbehaves.",
            id="arguments of another type",
        ),
        pytest.param(
            ToolCall("get_weather"),
            chat(tools=TOOLS),
            "The turn calls 'get_weather' with {}.\nThat doesn't fit the schema in the request: 'city' is a required property.\nWrite arguments that fit, or check=False for a model that misbehaves.",
            id="arguments missing",
        ),
        pytest.param(
            {"town": "Paris"},
            chat(response_format=SCHEMA),
            'The turn answers with {"town":"Paris"}.\nThat doesn\'t fit the schema in the request: \'city\' is a required property.\nWrite a value that fits, or Reply(…, check=False) for a model that misbehaves.',
            id="structured output",
        ),
        pytest.param(
            "Paris",
            chat(response_format=SCHEMA),
            "The turn answers with the text 'Paris'.\nThe request asks for structured output, and that is no JSON.\nWrite a dict or Json(…), or Reply(text, check=False) for a model that misbehaves.",
            id="text for structured output",
        ),
        pytest.param(
            {"other": 1},
            chat(tools=TOOLS, tool_choice="required"),
            "The turn is the structured output {'other': 1}, and the request demands a tool call.\nNo offered tool accepts it: get_weather: 'city' is a required property; search: 'q' is a required property.\nWrite a value that fits one of them, or ToolCall(name, arguments) outright.",
            id="no tool for structured output",
        ),
        pytest.param(
            Image(b"png"),
            chat(),
            "The turn has a part Image(b'png').\nOpenAI chat can't carry Image; it carries Audio, Citation, Refusal, Thinking, ToolCall, str.\nWrite the turn without it for this vendor.",
            id="a part the vendor can't carry",
        ),
        pytest.param(
            Embedding([0.5, 0.5]),
            chat(),
            'The turn has a part Embedding([0.5, 0.5]).\nOpenAI chat can\'t carry Embedding; it carries Audio, Citation, Refusal, Thinking, ToolCall, str.\nWrite fake.when(operation="embeddings").reply(Embedding([…])).',
            id="an embedding in chat",
        ),
        pytest.param(
            Reply("a", choices=["b"]),
            chat(n=3),
            "The turn has 2 choices.\nThe request asks for 3 (n=3).\nWrite 3 of them, or let the code ask for n=2.",
            id="choices",
        ),
        pytest.param(
            Reply("a", choices=["b"]),
            chat(url=ANTHROPIC, max_tokens=9),
            "The turn has 2 choices.\nAnthropic messages gives one answer to a request.\nLeave choices= out.",
            id="choices where there is one answer",
        ),
        pytest.param(
            Reply("a", then=Stall()),
            lambda fake: httpx.post(OPENAI, json=body_of(), timeout=None),
            "The turn ends in Stall(), which lasts until the client's own read time-out.\nThis httpx client has none: it would wait for ever.\nWrite Stall(seconds), or give the client a time-out.",
            id="a stall without a time-out",
        ),
    ],
)
def test_a_turn_does_not_fit_the_request(turn: Any, act: Callable[[FakeLLM], Any], text: str) -> None:
    error = failure([turn], act)

    assert type(error) is ScriptMismatchError
    assert str(error) == text


@needs("openai")
def test_the_object_of_another_vendor_does_not_fit() -> None:
    from openai.types.chat import ChatCompletion

    turn = ChatCompletion.model_construct(id="a", choices=[])

    assert str(failure([turn], chat(url=ANTHROPIC, max_tokens=9))) == (
        "The turn is the object of an SDK, openai.types.chat.chat_completion.ChatCompletion.\n"
        "The call is Anthropic messages, whose answers are another class.\n"
        'Write a turn that fits every vendor, such as "text", or this vendor\'s own object.'
    )


def test_forbid_has_no_script() -> None:
    with pytest.raises(ScriptError) as caught:
        fake_llm.forbid(["Hello"])
    assert str(caught.value) == (
        "forbid() got ['Hello'].\n"
        "It has no script, and options are named.\n"
        "Write @forbid() to decorate a function, or intercept([…]) to script answers."
    )


def test_a_known_host_on_an_unknown_path() -> None:
    error = failure([], lambda fake: httpx.get("https://api.anthropic.com/v1/wonders?key=secret"))

    assert type(error) is UnknownEndpointError
    assert str(error) == (
        "GET https://api.anthropic.com/v1/wonders?key=*** came in thread MainThread: a known LLM host (anthropic), an unknown path.\n"
        "The paths that are answered there: POST /v1/messages, POST /v1/messages/batches, GET /v1/messages/batches, "
        "GET /v1/messages/batches/{batch}, GET /v1/models, GET /v1/models/{model...}, and 4 more (fake-llm providers anthropic).\n"
        'Write fake.when(operation="unknown").reply(Raw({…})) to answer it.'
    )


def test_the_nearest_paths_are_named() -> None:
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/stability.sd3-large-v1%3A0/invoke"
    error = failure([], lambda fake: httpx.post(url, json={"prompt": "Hi"}))

    there = str(error).splitlines()[1]
    assert there.count("POST ") + there.count("GET ") == 6
    assert "/model/{model...}/(converse|converse-stream)" in there
    assert "(invoke|invoke-with-response-stream)" in there
    assert there.endswith("more (fake-llm providers bedrock).")


def test_a_refusal_where_there_is_no_word_for_it() -> None:
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    error = failure([Refusal("No.")], lambda fake: httpx.post(url, json=asked))

    assert type(error) is ScriptMismatchError
    assert str(error).splitlines()[2] == (
        'Write the refusal as a text, or Reply("…", finish_reason="content_filter") for an answer that was stopped.'
    )
    with fake_llm.intercept([Reply("No.", finish_reason="content_filter")]):
        [candidate] = httpx.post(url, json=asked).json()["candidates"]
    assert (candidate["content"]["parts"], candidate["finishReason"]) == ([{"text": "No."}], "SAFETY")


def test_a_part_that_moderation_cannot_carry() -> None:
    def act(fake: FakeLLM) -> None:
        fake.when(operation="moderation").reply(Refusal("No."))
        httpx.post("https://api.openai.com/v1/moderations", json={"input": "Hi"})

    assert str(failure([], act)).splitlines()[2] == 'Write {"violence": 0.9}, or Reply(finish_reason="content_filter").'


def test_a_part_that_reranking_cannot_carry() -> None:
    def act(fake: FakeLLM) -> None:
        fake.when(operation="rerank").reply(Audio(b"a"))
        asked = {"model": "m", "query": "q", "documents": ["a", "b"]}
        httpx.post("https://api.cohere.com/v2/rerank", json=asked)

    assert str(failure([], act)) == (
        "The turn has a part Audio(b'a').\n"
        "Cohere rerank can't carry Audio; it carries str.\n"
        "Write Json([0.9, 0.1]): a number for each document, in the order of the documents."
    )


@pytest.mark.parametrize(
    ("turn", "came", "number"),
    [
        ("1234", "'1234'", 1234),
        (Json(55), "Json(55)", 55),
        (Json({"input_tokens": 5}), "Json({'input_tokens': 5})", 777),
        ({"input_tokens": 5}, "{'input_tokens': 5}", 777),
        (Reply("Hi", usage=Usage(5, 0)), "'Hi'", 777),
        (lambda call: Image(b"A"), "Image(b'A')", 777),
    ],
)
@pytest.mark.parametrize(
    "url", ["https://api.openai.com/v1/responses/input_tokens", "https://api.anthropic.com/v1/messages/count_tokens"]
)
def test_a_count_of_tokens_has_no_parts(url: str, turn: Any, came: str, number: int) -> None:
    def act(fake: FakeLLM) -> None:
        fake.when(operation="count_tokens").reply(turn)
        httpx.post(url, json={"model": "m", "input": "Hi", "messages": [{"role": "user", "content": "Hi"}]})

    error = failure([], act)

    assert type(error) is ScriptMismatchError
    assert str(error) == (
        f"A rule answers a count of tokens with {came}.\n"
        "A count has no parts: it is the input tokens of the usage.\n"
        f"Write Reply(usage=Usage({number}, 0))."
    )


IMAGE_CALL = ("https://api.openai.com/v1/images/generations", {"model": "gpt-image-1", "prompt": "A cat"})
SPEECH_CALL = ("https://api.openai.com/v1/audio/speech", {"model": "tts-1", "voice": "alloy", "input": "Hi"})


@pytest.mark.parametrize(
    ("asked", "came", "write"),
    [
        (
            [IMAGE_CALL],
            "1 call came, none for chat (images)",
            'fake.when(operation="images").reply(…) to say what answers it',
        ),
        (
            [IMAGE_CALL, SPEECH_CALL],
            "2 calls came, none for chat (images, speech)",
            'fake.when(operation="images").reply(…) and fake.when(operation="speech").reply(…) to say what answers them',
        ),
    ],
)
def test_turns_that_were_meant_for_what_is_no_chat(asked: Any, came: str, write: str) -> None:
    def act(fake: FakeLLM) -> None:
        for url, body in asked:
            assert httpx.post(url, json=body).status_code == 200

    error = failure([Image(b"A")], act)

    assert type(error) is UnusedReplyError
    assert str(error) == (
        "The block ended and 1 turn was not asked for:\n"
        "  turn 1  unused  Image(b'A')\n"
        f"{came}: only chat takes turns from the script.\n"
        f"Write {write}, or leave out what isn't needed."
    )


HOUSEKEEPING = """\
A rule answers 'files' with {came}.
That is housekeeping, not a question to a model: a rule can let it fail or send a body, and what it doesn't answer is made up.
Write Error(500), an exception, Raw({{…}}), or a function of the call that returns one of them, or None for what is made up."""


@pytest.mark.parametrize("turn", ["file-1", Reply("file-1", id="f"), {"id": "file-1"}, Reply(), [Image(b"A")]])
def test_housekeeping_is_answered_by_no_turn_of_a_model(turn: Any) -> None:
    def act(fake: FakeLLM) -> None:
        fake.when(operation="files").reply(lambda call: turn)
        httpx.get("https://api.openai.com/v1/files")

    written = turn if isinstance(turn, Reply) else Reply(*(turn if isinstance(turn, list) else [turn]))
    with pytest.raises(ScriptError) as caught:
        FakeLLM().when(operation="files").reply(Error(500), turn)
    error = failure([], act)

    assert type(caught.value) is ScriptError
    assert type(error) is ScriptMismatchError
    assert str(caught.value) == str(error) == HOUSEKEEPING.format(came=repr(written))


@pytest.mark.parametrize("came", [(), ("/models", "/files")])
def test_turns_of_a_rule_for_housekeeping_that_are_left(came: tuple[str, ...]) -> None:
    def act(fake: FakeLLM) -> None:
        fake.when(operation="batches", times=1).reply(Error(500))
        for path in came:
            httpx.get(f"https://api.openai.com/v1{path}")

    said = "2 side calls came: GET https://api.openai.com/v1/models, GET https://api.openai.com/v1/files."
    assert str(failure([], act)) == (
        "The block ended and 1 turn was not asked for:\n"
        "  when(times=1, operation='batches')  unused  Error(500)\n"
        f"{said if came else 'No side call came.'}\n"
        "Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end."
    )


def test_an_unknown_path_cannot_be_answered_by_a_reply() -> None:
    def act(fake: FakeLLM) -> None:
        fake.when(operation="unknown").reply("text")
        httpx.get("https://api.openai.com/v1/wonders")

    error = failure([], act)

    assert type(error) is UnknownEndpointError
    assert str(error) == (
        "A rule answers GET /v1/wonders with Reply('text').\n"
        "The path is unknown, so nobody can say how an answer looks there.\n"
        "Write Raw(…), Error(…) or an exception."
    )


def test_a_way_that_is_not_seen() -> None:
    error = failure([], lambda fake: socket.getaddrinfo("api.openai.com", 443))

    assert type(error) is UninterceptedCallError
    assert str(error) == (
        "api.openai.com:443 was reached by a raw socket (socket.getaddrinfo) in thread MainThread.\n"
        "It is a known LLM host, and this way isn't intercepted: the call would have left the machine. Intercepted are "
        f"{', '.join(fake_llm._stacks.STACKS)}.\n"
        "Let the code use one of them, or call it outside of the block."
    )


def test_an_errand_where_the_network_is_blocked() -> None:
    error = failure([], lambda fake: socket.getaddrinfo("raw.githubusercontent.com", 443), block_network=True)

    assert type(error) is UninterceptedCallError
    assert str(error) == (
        "raw.githubusercontent.com:443 was reached by a raw socket (socket.getaddrinfo) in thread MainThread.\n"
        "It is called for prices of models (LiteLLM at its import, DSPy at first use), and block_network=True refuses all hosts that "
        "aren't answered but local ones.\n"
        "Set LITELLM_LOCAL_MODEL_COST_MAP=True in the environment, which turns it off, or leave block_network out."
    )


def test_a_host_that_is_not_answered_where_the_network_is_blocked() -> None:
    error = failure([], lambda fake: httpx.get("https://api.weather.example/v1?key=secret"), block_network=True)

    assert type(error) is UninterceptedCallError
    assert str(error) == (
        "api.weather.example:443 was reached by httpx (GET https://api.weather.example/v1?key=***) in thread MainThread.\n"
        "It is no host that is answered, and block_network=True refuses all of those but local ones.\n"
        'Declare it by hosts={"llm.corp.example": "openai"} if a model speaks there, or leave block_network out.'
    )


@needs("boto3")
def test_a_client_of_another_service_of_aws() -> None:
    boto3 = pytest.importorskip("boto3")
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    with pytest.raises(ScriptError) as caught:
        FakeLLM(["Hello"]).mount(client)
    assert str(caught.value) == (
        "mount() got a client of boto3 for s3.\n"
        "The service with models is bedrock-runtime, and what is mounted never lets a call out.\n"
        'Write fake.mount(boto3.client("bedrock-runtime", region_name="us-east-1")), or fake_llm.intercept([…]), which leaves '
        "other services alone."
    )


@needs("grpcio")
def test_grpc() -> None:
    grpc = pytest.importorskip("grpc")
    error = failure([], lambda fake: grpc.insecure_channel("dns:///api.x.ai:443"))

    assert type(error) is UninterceptedCallError
    assert str(error) == (
        "api.x.ai:443 was reached by gRPC (grpc.secure_channel) in thread MainThread.\n"
        "It is a known LLM host, and this way isn't intercepted: the call would have left the machine.\n"
        'Let the code speak HTTP there: openai.OpenAI(base_url="https://api.x.ai/v1") in place of xai_sdk, transport="rest" or '
        "google-genai with Google's older SDKs; or call it outside of the block."
    )


def test_a_websocket() -> None:
    def dial(fake: FakeLLM) -> None:
        httpx.get("https://api.openai.com/v1/realtime", headers={"connection": "Upgrade", "upgrade": "websocket"})

    error = failure([], dial)

    assert type(error) is UninterceptedCallError
    assert str(error) == (
        "api.openai.com was reached by a WebSocket (httpx) in thread MainThread.\n"
        "It is a known LLM host, and this way isn't intercepted: the call would have left the machine.\n"
        "Let the code ask by HTTP, streamed if it must be, in place of a realtime or live session; or put a double of the session "
        "itself where the code takes one."
    )


# --- at the end of a block ----------------------------------------------------------------------

LEAVE_OUT = (
    "Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end."
)
NO_CALL = "No call came: does the code under test use another process, or a host that isn't known (declare it by hosts=)? Or does a fixture return instead of yield?"


@pytest.mark.parametrize(
    ("script", "act", "text"),
    [
        pytest.param(["a"], lambda fake: None, f"The block ended and 1 turn was not asked for:\n  turn 1  unused  'a'\n{NO_CALL}\n{LEAVE_OUT}", id="no call"),
        pytest.param(["a", "b"], lambda fake: ask(), f"The block ended and 1 turn was not asked for:\n  turn 1  call 0  'a'\n  turn 2  unused  'b'\n1 call came.\n{LEAVE_OUT}", id="one left"),
        pytest.param(
            ["a", "b", Error(429), TimeoutError, answer, Raw(b"x"), "c", "d"],
            lambda fake: (ask(), ask()),
            f"The block ended and 6 turns were not asked for:\n  turn 1  call 0  'a'\n  turn 2  call 1  'b'\n  turn 3  unused  Error(429)\n  turn 4  unused  <class 'TimeoutError'>\n  turn 5  unused  answer\n  turn 6  unused  Raw(b'x')\n  turn 7  unused  'c'\n  turn 8  unused  'd'\n2 calls came.\n{LEAVE_OUT}",
            id="many left",
        ),
        pytest.param(
            [F, G],
            lambda fake: ask(),
            f"The block ended and 1 turn was not asked for:\n  turn 1  call 0  {F!r}\n  turn 2  unused  {G!r}\n1 call came.\nTwo tool calls in a row are two rounds; several calls in one turn are a list: [{F!r}, {G!r}].",
            id="two tool calls in a row",
        ),
        pytest.param(
            [F, G, "sunny"],
            lambda fake: ask(),
            f"The block ended and 2 turns were not asked for:\n  turn 1  call 0  {F!r}\n  turn 2  unused  {G!r}\n  turn 3  unused  'sunny'\n1 call came.\nTwo tool calls in a row are two rounds; several calls in one turn are a list: [{F!r}, {G!r}].",
            id="two tool calls in a row and a text",
        ),
        pytest.param(
            [F, G, "sunny"],
            lambda fake: (ask(), ask()),
            f"The block ended and 1 turn was not asked for:\n  turn 1  call 0  {F!r}\n  turn 2  call 1  {G!r}\n  turn 3  unused  'sunny'\n2 calls came.\n{LEAVE_OUT}",
            id="two tool calls that were asked for",
        ),
        pytest.param(
            [],
            lambda fake: fake.when(input="x").reply("a", "b"),
            f"The block ended and 2 turns were not asked for:\n  when(input='x')  unused  'a'\n  when(input='x')  unused  'b'\n{NO_CALL}\n{LEAVE_OUT}",
            id="turns of a rule",
        ),
        pytest.param(
            [],
            lambda fake: fake.when(input="x", times=2).reply("a"),
            f"The block ended and 2 turns were not asked for:\n  when(input='x', times=2)  unused  'a'\n  when(input='x', times=2)  unused  'a'\n{NO_CALL}\n{LEAVE_OUT}",
            id="times of a rule",
        ),
    ],
)  # fmt: skip
def test_turns_are_left(script: Any, act: Callable[[FakeLLM], Any], text: str) -> None:
    error = failure(script, act)

    assert type(error) is UnusedReplyError
    assert str(error) == text


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_numbers_that_json_has_not_are_refused(number: float) -> None:
    for write in (lambda: ToolCall("f", {"a": [number]}), lambda: Json(number), lambda: Raw({"a": number})):
        with pytest.raises(ScriptError, match="can't be written as JSON: Out of range float values"):
            write()


def test_a_script_without_an_order_is_refused() -> None:
    with pytest.raises(ScriptError, match=r"^A script got \{'a'\} \(set\), which can't be a turn"):
        intercept({"a"})


def test_a_bare_intercept_above_a_class_says_what_to_write() -> None:
    with pytest.raises(ScriptError, match=r"@intercept\(\)"):

        @intercept
        class TestAgent: ...


@pytest.mark.parametrize("script", [[F], F, {"a": 1}, "text", TimeoutError, Reply("a")])
def test_a_single_turn_stands_for_a_script_of_one(script: Any) -> None:
    assert FakeLLM(script).remaining == 1


def test_structured_output_that_only_looks_like_a_vendors_body_is_a_turn() -> None:
    assert FakeLLM([{"choices": ["a", "b"]}, {"content": "x"}, {"candidates": []}]).remaining == 3
