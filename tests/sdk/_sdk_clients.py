"""One way to ask every client, and one shape for what each of them made of the answer.

`Client.ask` sends one request by an SDK's own means and reads its own objects: the whole answer, the
stream event by event, the SDK's accumulating helper, or its parsing into a model. What a client can't do is said
by the capabilities it has, so a case asks for capabilities and knows no client.

Every method is a coroutine, for clients that block too: `Client.run` drives those by hand, with no event
loop, so one adapter serves both flavours of an SDK.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import functools
import importlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from _capability import has

OBJECT = {"type": "object", "additionalProperties": False}
TOOLS: Mapping[str, Mapping[str, Any]] = {
    "get_weather": {**OBJECT, "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "get_time": {**OBJECT, "properties": {"zone": {"type": "string"}}, "required": ["zone"]},
    "ping": {**OBJECT, "properties": {}, "required": []},
}
SCHEMA = {
    **OBJECT,
    "properties": {"city": {"type": "string"}, "sky": {"type": "string"}},
    "required": ["city", "sky"],
}


@functools.cache
def weather_model() -> Any:
    """The Pydantic model of `SCHEMA`."""
    pydantic = importlib.import_module("pydantic")
    return pydantic.create_model("Weather", city=(str, ...), sky=(str, ...))


# --- what is asked, what is heard ----------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Called:
    """A tool call; its id is no part of what a script without ids says."""

    name: str
    arguments: Any
    id: str | None = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True)
class Spent:
    """Tokens: all of the input, all of the output, and what is part of them; `None` where the SDK has no place for it."""

    input: int
    output: int
    cached: int | None = None
    reasoning: int | None = None


@dataclasses.dataclass(frozen=True)
class Ask:
    """A request.

    Attributes:
        history: `("user", text)`, with a picture after the text, `("assistant", Answer)` and `("tool", Called, text)`.
        schema: Whether structured output by `SCHEMA` is asked for.
        force: The tool it is made to call, or `*` for any of them.
        search: Whether the provider's own search of the web is offered.
        speak: Whether sound is asked for.
    """

    history: tuple[Any, ...]
    tools: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    schema: bool = False
    n: int | None = None
    force: str | None = None
    search: bool = False
    speak: bool = False
    mode: str = "whole"
    retries: int = 0


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the SDK gave."""

    text: str = ""
    tool_calls: tuple[Called, ...] = ()
    refusal: str = ""
    thinking: str = ""
    finish: str | None = None
    usage: Spent | None = None
    choices: tuple[str, ...] = ()
    deltas: tuple[str, ...] = ()
    parsed: Any = None
    id: str | None = None
    model: str | None = None
    native: Any = None
    searched: tuple[str, ...] = ()
    cited: tuple[tuple[str, str], ...] = ()
    sound: bytes = b""
    transcript: str = ""


class Heard:
    """Collects an answer, whole or piece by piece; what arrived before a fault stays readable."""

    def __init__(self) -> None:
        self.texts: dict[int, list[str]] = {}
        self.calls: dict[Any, dict[str, Any]] = {}
        self.refusal: list[str] = []
        self.thinking: list[str] = []
        self.finish: str | None = None
        self.usage: Spent | None = None
        self.parsed: Any = None
        self.id: str | None = None
        self.model: str | None = None
        self.native: Any = None
        self.searched: list[str] = []
        """What the provider has searched the web for."""
        self.cited: list[tuple[str, str]] = []
        """The pieces of the text that have a source, each with its URL."""
        self.sound: list[str] = []
        self.transcript: list[str] = []

    def say(self, text: str | None, index: int = 0) -> None:
        pieces = self.texts.setdefault(index, [])
        if text:
            pieces.append(text)

    def call(self, key: Any, *, name: str | None = None, id: str | None = None, arguments: Any = None) -> None:
        found = self.calls.setdefault(key, {"name": "", "id": None, "arguments": ""})
        found["name"] += name or ""
        found["id"] = id or found["id"]
        if isinstance(arguments, str):
            found["arguments"] += arguments
        elif arguments is not None:
            found["arguments"] = arguments

    def answer(self) -> Answer:
        calls = (
            Called(
                call["name"],
                json.loads(call["arguments"] or "{}") if isinstance(call["arguments"], str) else call["arguments"],
                call["id"],
            )
            for _, call in sorted(self.calls.items())
        )
        deltas = self.texts.get(0, [])
        return Answer(
            "".join(deltas),
            tuple(calls),
            "".join(self.refusal),
            "".join(self.thinking),
            self.finish,
            self.usage,
            tuple("".join(self.texts[index]) for index in sorted(self.texts)),
            tuple(deltas),
            self.parsed,
            self.id,
            self.model,
            self.native,
            tuple(self.searched),
            tuple(self.cited),
            b"".join(base64.b64decode(piece) for piece in self.sound),
            "".join(self.transcript),
        )


def at(value: Any, *path: Any) -> Any:
    """What lies at the end of a path of attributes and indexes, `None` where it breaks off."""
    for name in path:
        if value is None:
            return None
        value = (value[name] if len(value) > name else None) if isinstance(name, int) else getattr(value, name, None)
    return value


def some(value: Any) -> Any:
    return value or ()


async def done(value: Any) -> Any:
    """The result, of an async client's call too."""
    return await value if inspect.isawaitable(value) else value


async def each(items: Any) -> AsyncIterator[Any]:
    """The items of a stream of either kind."""
    if hasattr(items, "__aiter__"):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


@asynccontextmanager
async def within(manager: Any) -> AsyncIterator[Any]:
    """The inside of a context manager of either kind."""
    if hasattr(manager, "__aenter__"):
        async with manager as inner:
            yield inner
    else:
        with manager as inner:
            yield inner


def drive(coroutine: Any) -> Any:
    """The result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise AssertionError("a client that blocks suspended")


# --- vocabularies: the bodies of requests, and how answers are read --------------------------------


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether a schema may be called strict: an object of these properties alone."""
    return schema.get("additionalProperties") is False


def data_url(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


class Chat:
    """OpenAI chat completions, and those who speak it."""

    dialect = "openai_chat"
    finishes: ClassVar = {"tool_calls": "tool_calls", "refusal": "stop"}
    thinking_names: ClassVar = ("reasoning_content", "reasoning")

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "messages": [Chat.message(*item) for item in ask.history]}
        if ask.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": name, "parameters": dict(schema), "strict": is_strict(schema)},
                }
                for name, schema in ask.tools.items()
            ]
        if ask.force:
            named = {"type": "function", "function": {"name": ask.force}}
            body["tool_choice"] = "required" if ask.force == "*" else named
        if ask.schema:
            form = {"name": "Weather", "schema": SCHEMA, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        if ask.n:
            body["n"] = ask.n
        if ask.search:
            body["web_search_options"] = {}
        if ask.speak:
            body |= {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}
        return body

    @staticmethod
    def message(role: str, *rest: Any) -> dict[str, Any]:
        if role == "user":
            return {"role": "user", "content": Chat.seen(*rest)}
        if role == "tool":
            return {"role": "tool", "tool_call_id": rest[0].id, "content": rest[1]}
        answer: Answer = rest[0]
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
        if answer.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in answer.tool_calls
            ]
        return message

    @staticmethod
    def seen(text: str, picture: bytes | None = None) -> Any:
        """A text, and a picture beside it."""
        if picture is None:
            return text
        return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": data_url(picture)}}]

    @classmethod
    def whole(cls, heard: Heard, completion: Any) -> None:
        cls._head(heard, completion)
        for choice in completion.choices:
            message = choice.message
            cls._said(heard, message, choice.index)
            for index, call in enumerate(some(at(message, "tool_calls"))):
                heard.call(index, id=call.id, name=call.function.name, arguments=call.function.arguments)
            heard.finish = choice.finish_reason
            parsed = at(message, "parsed")
            heard.parsed = parsed if parsed is not None else heard.parsed

    @classmethod
    def piece(cls, heard: Heard, chunk: Any) -> None:
        cls._head(heard, chunk)
        for choice in some(chunk.choices):
            cls._said(heard, choice.delta, choice.index)
            for call in some(at(choice.delta, "tool_calls")):
                function = call.function
                heard.call(call.index, id=at(call, "id"), name=at(function, "name"), arguments=function.arguments)
            heard.finish = choice.finish_reason or heard.finish

    @classmethod
    def _head(cls, heard: Heard, answer: Any) -> None:
        heard.id, heard.model = answer.id, at(answer, "model")
        usage = at(answer, "usage") or at(answer, "x_groq", "usage")
        if usage is not None:
            heard.usage = Spent(
                usage.prompt_tokens,
                usage.completion_tokens,
                at(usage, "prompt_tokens_details", "cached_tokens"),
                at(usage, "completion_tokens_details", "reasoning_tokens"),
            )

    @classmethod
    def _said(cls, heard: Heard, said: Any, index: int) -> None:
        heard.say(at(said, "content"), index)
        text = "".join(heard.texts[index])
        for note in some(at(said, "annotations")):  # of a delta the SDK knows none: they are dicts there
            cited = (
                plain(note)["url_citation"] if isinstance(note, (dict, SimpleNamespace)) else vars(note.url_citation)
            )
            heard.cited.append((text[cited["start_index"] : cited["end_index"]], cited["url"]))
        audio = at(said, "audio")
        if audio is not None:
            audio = plain(audio) if isinstance(audio, (dict, SimpleNamespace)) else vars(audio)
            heard.sound.append(audio.get("data") or "")
            heard.transcript.append(audio.get("transcript") or "")
        heard.refusal.append(at(said, "refusal") or "")
        heard.thinking.extend(at(said, name) or "" for name in cls.thinking_names)


class GroqChat(Chat):
    """The same, with reasoning where Groq has it."""

    thinking_names: ClassVar = ("reasoning",)


class Completions:
    """OpenAI completions, from before chat: a prompt, and text."""

    dialect = "openai_completions"
    finishes: ClassVar[dict[str, str]] = {}

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        (said,) = ask.history
        return {"model": model, "prompt": said[1], **({"n": ask.n} if ask.n else {})}

    @staticmethod
    def piece(heard: Heard, answer: Any) -> None:
        heard.id, heard.model = answer.id, answer.model
        for choice in answer.choices:
            heard.say(choice.text, choice.index)
            heard.finish = choice.finish_reason or heard.finish
        if answer.usage is not None:
            heard.usage = Spent(answer.usage.prompt_tokens, answer.usage.completion_tokens)


class MistralChat(Chat):
    """The same, with thoughts and text in a list where it thinks."""

    @classmethod
    def _head(cls, heard: Heard, answer: Any) -> None:
        super()._head(heard, answer)
        details = (at(answer, "usage", "__pydantic_extra__") or {}).get("prompt_tokens_details")
        if details and heard.usage is not None:
            heard.usage = dataclasses.replace(heard.usage, cached=details["cached_tokens"])

    @classmethod
    def _said(cls, heard: Heard, said: Any, index: int) -> None:
        blocks = said.content if isinstance(said.content, list) else []
        heard.say(None if blocks else said.content or None, index)
        for block in blocks:
            if block.type == "thinking":
                heard.thinking.extend(item.text for item in block.thinking)
            else:
                heard.say(block.text, index)


class InferenceChat(Chat):
    """The same as azure-ai-inference reads it: what it has no attribute for is among the items of its objects."""

    @classmethod
    def piece(cls, heard: Heard, chunk: Any) -> None:
        cls._head(heard, chunk)
        for choice in some(chunk.choices):
            cls._said(heard, choice.delta, choice.index)
            for call in some(choice.delta.tool_calls):
                heard.call(call["index"], id=call.id, name=call.function.name, arguments=call.function.arguments)
            heard.finish = choice.finish_reason or heard.finish

    @classmethod
    def _said(cls, heard: Heard, said: Any, index: int) -> None:
        heard.say(said.content, index)
        heard.thinking.append(said.get("reasoning_content") or "")


class WatsonxChat(Chat):
    """The same at watsonx, whose SDK gives it as dicts."""

    dialect = "watsonx_chat"


class DashScopeChat(Chat):
    """The same inside DashScope's own envelope, which its SDK hands on as it is where it fails."""

    dialect = "dashscope_generation"

    @classmethod
    def said(cls, heard: Heard, response: Any, key: str) -> None:
        if response.status_code != 200:
            raise DashScopeFailedError(response)
        (choice,) = response.output.choices
        usage = response.usage
        counted = {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "prompt_tokens_details": usage["prompt_tokens_details"],
            "completion_tokens_details": usage.get("output_tokens_details", {}),
        }
        finish = None if choice.finish_reason == "null" else choice.finish_reason
        made = {
            "id": response.request_id,
            "choices": [{"index": 0, "finish_reason": finish, key: dict(choice.message)}],
            "usage": counted,
        }
        (cls.whole if key == "message" else cls.piece)(heard, namespaces(json.dumps(made).encode()))


class DashScopeFailedError(Exception):
    """An answer of dashscope that isn't a success: it raises nothing."""

    def __init__(self, response: Any) -> None:
        super().__init__(response.code, response.message)
        self.status_code = response.status_code


class Responses:
    """OpenAI responses."""

    dialect = "openai_responses"
    finishes: ClassVar = dict.fromkeys(("stop", "tool_calls", "refusal"), "completed") | {"length": "max_output_tokens"}

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        items = [entry for item in ask.history for entry in Responses.items(*item)]
        body: dict[str, Any] = {"model": model, "input": items}
        if ask.tools:
            body["tools"] = [
                {"type": "function", "name": name, "parameters": dict(schema), "strict": is_strict(schema)}
                for name, schema in ask.tools.items()
            ]
        if ask.force:
            body["tool_choice"] = "required" if ask.force == "*" else {"type": "function", "name": ask.force}
        if ask.schema:
            body["text"] = {"format": {"type": "json_schema", "name": "Weather", "schema": SCHEMA, "strict": True}}
        if ask.search:
            body["tools"] = [*body.get("tools", ()), {"type": "web_search"}]
        return body

    @staticmethod
    def items(role: str, *rest: Any) -> Iterator[Any]:
        if role == "user" and len(rest) > 1:
            picture = {"type": "input_image", "detail": "auto", "image_url": data_url(rest[1])}
            yield {"role": "user", "content": [{"type": "input_text", "text": rest[0]}, picture]}
        elif role == "user":
            yield {"role": "user", "content": rest[0]}
        elif role == "tool":
            yield {"type": "function_call_output", "call_id": rest[0].id, "output": rest[1]}
        elif rest[0].native is not None:
            yield from rest[0].native
        else:
            if rest[0].text:
                yield {"role": "assistant", "content": rest[0].text}
            for call in rest[0].tool_calls:
                arguments = json.dumps(call.arguments)
                yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}

    @classmethod
    def whole(cls, heard: Heard, response: Any) -> None:
        cls._end(heard, response)
        heard.native = list(response.output)
        for index, item in enumerate(response.output):
            if item.type == "function_call":
                heard.call(index, id=item.call_id, name=item.name, arguments=item.arguments)
            elif item.type == "reasoning":
                heard.thinking.extend(part.text for part in item.summary)
            elif item.type == "web_search_call":
                heard.searched.append(item.action.query)
            elif item.type == "message":
                for part in item.content:
                    if part.type == "refusal":
                        heard.refusal.append(part.refusal)
                    else:
                        heard.say(part.text)
                        heard.cited += [
                            (part.text[note.start_index : note.end_index], note.url) for note in part.annotations
                        ]
                        heard.parsed = at(part, "parsed") or heard.parsed

    @classmethod
    def piece(cls, heard: Heard, event: Any) -> None:
        kind = event.type
        if kind == "response.output_text.delta":
            heard.say(event.delta)
        elif kind == "response.refusal.delta":
            heard.refusal.append(event.delta)
        elif kind == "response.reasoning_summary_text.delta":
            heard.thinking.append(event.delta)
        elif kind == "response.output_item.added" and event.item.type == "function_call":
            heard.call(event.output_index, id=event.item.call_id, name=event.item.name)
        elif kind == "response.function_call_arguments.delta":
            heard.call(event.output_index, arguments=event.delta)
        elif kind == "response.output_item.done" and event.item.type == "web_search_call":
            heard.searched.append(event.item.action.query)
        elif kind == "response.output_text.annotation.added":
            note, text = plain(event.annotation), "".join(heard.texts[0])
            note = note if isinstance(note, dict) else vars(note)
            heard.cited.append((text[note["start_index"] : note["end_index"]], note["url"]))
        elif kind in {"response.completed", "response.incomplete", "response.failed"}:
            cls._end(heard, event.response)
            cls._agrees(heard.answer(), event.response)

    @classmethod
    def _agrees(cls, streamed: Answer, response: Any) -> None:
        """The closing event says all of it again."""
        again = Heard()
        cls.whole(again, response)
        closing = again.answer()
        for name in ("text", "tool_calls", "refusal", "thinking", "searched", "cited"):
            assert getattr(closing, name) == getattr(streamed, name), name

    @staticmethod
    def _end(heard: Heard, response: Any) -> None:
        heard.id, heard.model = response.id, response.model
        heard.finish = at(response, "incomplete_details", "reason") or response.status
        usage = response.usage
        if usage is not None:
            heard.usage = Spent(
                usage.input_tokens,
                usage.output_tokens,
                usage.input_tokens_details.cached_tokens,
                usage.output_tokens_details.reasoning_tokens,
            )


class Messages:
    """Anthropic messages."""

    dialect = "anthropic_messages"
    finishes: ClassVar = {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "refusal": "refusal",
        "content_filter": "refusal",
    }

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        messages = [Messages.message(*item) for item in ask.history]
        body: dict[str, Any] = {"model": model, "max_tokens": 1024, "messages": messages}
        if ask.tools:
            body["tools"] = [{"name": name, "input_schema": dict(schema)} for name, schema in ask.tools.items()]
        if ask.force:
            body["tool_choice"] = {"type": "any"} if ask.force == "*" else {"type": "tool", "name": ask.force}
        if ask.schema:
            body["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
        return body

    @staticmethod
    def message(role: str, *rest: Any) -> dict[str, Any]:
        if role == "user" and len(rest) > 1:
            source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(rest[1]).decode()}
            return {"role": "user", "content": [{"type": "text", "text": rest[0]}, {"type": "image", "source": source}]}
        if role == "user":
            return {"role": "user", "content": rest[0]}
        if role == "tool":
            result = {"type": "tool_result", "tool_use_id": rest[0].id, "content": rest[1]}
            return {"role": "user", "content": [result]}
        answer: Answer = rest[0]
        if answer.native is not None:
            return {"role": "assistant", "content": answer.native}
        text = [{"type": "text", "text": answer.text}] if answer.text else []
        calls = [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
            for call in answer.tool_calls
        ]
        return {"role": "assistant", "content": [*text, *calls]}

    @classmethod
    def whole(cls, heard: Heard, message: Any) -> None:
        heard.id, heard.model = message.id, message.model
        heard.native = None if isinstance(message, SimpleNamespace) else message.content
        for index, block in enumerate(message.content):
            if block.type == "text":
                heard.say(block.text)
                heard.parsed = at(block, "parsed_output") or heard.parsed
            elif block.type == "thinking":
                assert block.signature
                heard.thinking.append(block.thinking)
            elif block.type == "tool_use":
                heard.call(index, id=block.id, name=block.name, arguments=plain(block.input))
        cls._end(heard, message, message.usage)

    @classmethod
    def piece(cls, heard: Heard, event: Any) -> None:
        kind = event.type
        if kind == "message_start":
            heard.id, heard.model = event.message.id, event.message.model
        elif kind == "content_block_start" and event.content_block.type == "tool_use":
            heard.call(event.index, id=event.content_block.id, name=event.content_block.name)
        elif kind == "content_block_delta":
            delta = event.delta
            if delta.type == "text_delta":
                heard.say(delta.text)
            elif delta.type == "thinking_delta":
                heard.thinking.append(delta.thinking)
            elif delta.type == "input_json_delta":
                heard.call(event.index, arguments=delta.partial_json)
        elif kind == "message_delta":
            cls._end(heard, event.delta, event.usage)

    @staticmethod
    def _end(heard: Heard, end: Any, usage: Any) -> None:
        heard.finish = end.stop_reason
        heard.refusal.append(at(end, "stop_details", "explanation") or "")
        cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        reasoning = at(usage, "output_tokens_details", "thinking_tokens")
        heard.usage = Spent(usage.input_tokens + cached + written, usage.output_tokens, cached, reasoning)


def plain(value: Any) -> Any:
    """JSON values, of namespaces too."""
    if isinstance(value, SimpleNamespace):
        return {name: plain(item) for name, item in vars(value).items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


class Contents:
    """Gemini."""

    dialect = "gemini"
    finishes: ClassVar = {
        "stop": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    }

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        config: dict[str, Any] = {}
        if ask.tools:
            declared = [{"name": name, "parameters_json_schema": dict(schema)} for name, schema in ask.tools.items()]
            config["tools"] = [{"function_declarations": declared}]
        if ask.force:
            only = {} if ask.force == "*" else {"allowed_function_names": [ask.force]}
            config["tool_config"] = {"function_calling_config": {"mode": "ANY", **only}}
        if ask.schema:
            config["response_mime_type"] = "application/json"
            if ask.mode == "parse":
                config["response_schema"] = weather_model()
            else:
                config["response_json_schema"] = SCHEMA
        if ask.n:
            config["candidate_count"] = ask.n
        return {"model": model, "contents": [Contents.content(*item) for item in ask.history], "config": config}

    @staticmethod
    def content(role: str, *rest: Any) -> Any:
        if role == "user":
            pictures = [{"inline_data": {"mime_type": "image/png", "data": one}} for one in rest[1:]]
            return {"role": "user", "parts": [{"text": rest[0]}, *pictures]}
        if role == "tool":
            response = {**Contents.named(rest[0]), "response": {"result": rest[1]}}
            return {"role": "user", "parts": [{"function_response": response}]}
        answer: Answer = rest[0]
        if answer.native is not None:
            return answer.native
        text = [{"text": answer.text}] if answer.text else []
        calls = [{"function_call": {**Contents.named(call), "args": call.arguments}} for call in answer.tool_calls]
        return {"role": "model", "parts": [*text, *calls]}

    @staticmethod
    def named(call: Called) -> dict[str, Any]:
        """The name of a call, and its id where the model gives one."""
        return {"name": call.name} if call.id is None else {"id": call.id, "name": call.name}

    @staticmethod
    def joined(said: list[Any], more: Iterable[Any]) -> list[Any]:
        """The parts of a stream, pieces of one text as one part."""
        for part in more:
            if part.text == "" and part.thought_signature is None:
                continue
            if said and part.text is not None and said[-1].text is not None and part.thought == said[-1].thought:
                signature = part.thought_signature or said[-1].thought_signature
                text = said[-1].text + part.text
                said = [*said[:-1], part.model_copy(update={"text": text, "thought_signature": signature})]
            else:
                said = [*said, part]
        return said

    @classmethod
    def whole(cls, heard: Heard, response: Any) -> None:
        cls.piece(heard, response)
        heard.native = at(response.candidates, 0, "content")

    @classmethod
    def piece(cls, heard: Heard, response: Any) -> None:
        heard.id, heard.model = response.response_id, response.model_version
        heard.parsed = response.parsed if response.parsed is not None else heard.parsed
        blocked = at(response, "prompt_feedback", "block_reason")
        heard.finish = heard.finish or at(blocked, "name")
        for index, candidate in enumerate(some(response.candidates)):
            parts = some(at(candidate, "content", "parts"))
            if not index:  # as it came, with the signatures of its thoughts
                heard.native = {"role": "model", "parts": cls.joined((heard.native or {"parts": []})["parts"], parts)}
            for part in parts:
                if part.function_call is not None:
                    call = part.function_call
                    heard.call(len(heard.calls), id=call.id, name=call.name, arguments=dict(call.args or {}))
                elif part.thought:
                    heard.thinking.append(part.text or "")
                else:
                    heard.say(part.text, candidate.index or index)
            heard.finish = at(candidate, "finish_reason", "name") or heard.finish
        usage = response.usage_metadata
        if usage is not None and usage.candidates_token_count is not None:
            thoughts = usage.thoughts_token_count or 0
            output = usage.candidates_token_count + thoughts
            heard.usage = Spent(usage.prompt_token_count, output, usage.cached_content_token_count or 0, thoughts)


class Converse:
    """Bedrock Converse."""

    dialect = "bedrock_converse"
    finishes: ClassVar = {
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "content_filtered",
    }

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {"modelId": model, "messages": Converse.messages(ask.history)}
        if ask.tools:
            tools = [
                {"toolSpec": {"name": name, "inputSchema": {"json": dict(schema)}}}
                for name, schema in ask.tools.items()
            ]
            body["toolConfig"] = {"tools": tools}
        if ask.force:
            body["toolConfig"]["toolChoice"] = {"any": {}} if ask.force == "*" else {"tool": {"name": ask.force}}
        if ask.schema:
            form = {"jsonSchema": {"name": "Weather", "schema": json.dumps(SCHEMA)}}
            body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": form}}
        return body

    @staticmethod
    def messages(history: tuple[Any, ...]) -> list[dict[str, Any]]:
        """The results of parallel calls are one message."""
        found: list[dict[str, Any]] = []
        for role, *rest in history:
            if role == "tool":
                result = {"toolResult": {"toolUseId": rest[0].id, "content": [{"text": rest[1]}]}}
                if found[-1]["role"] == "user":
                    found[-1]["content"].append(result)
                else:
                    found.append({"role": "user", "content": [result]})
            elif role == "user":
                pictures = [{"image": {"format": "png", "source": {"bytes": one}}} for one in rest[1:]]
                found.append({"role": "user", "content": [{"text": rest[0]}, *pictures]})
            else:
                found.append({"role": "assistant", "content": rest[0].native or Converse.blocks(rest[0])})
        return found

    @staticmethod
    def blocks(answer: Answer) -> list[dict[str, Any]]:
        text = [{"text": answer.text}] if answer.text else []
        used = [{"toolUseId": call.id, "name": call.name, "input": call.arguments} for call in answer.tool_calls]
        return [*text, *({"toolUse": call} for call in used)]

    @classmethod
    def whole(cls, heard: Heard, answer: Any) -> None:
        content = answer["output"]["message"]["content"]
        for index, block in enumerate(content):
            if "toolUse" in block:
                call = block["toolUse"]
                heard.call(index, id=call["toolUseId"], name=call["name"], arguments=call["input"])
            elif "reasoningContent" in block:
                heard.thinking.append(block["reasoningContent"]["reasoningText"]["text"])
            else:
                heard.say(block["text"])
        heard.native = content
        heard.finish = answer["stopReason"]
        heard.usage = cls.spent(answer["usage"])

    @classmethod
    def piece(cls, heard: Heard, event: Any) -> None:
        if "contentBlockStart" in event:
            call = event["contentBlockStart"]["start"]["toolUse"]
            heard.call(event["contentBlockStart"]["contentBlockIndex"], id=call["toolUseId"], name=call["name"])
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]["delta"]
            if "toolUse" in delta:
                heard.call(event["contentBlockDelta"]["contentBlockIndex"], arguments=delta["toolUse"]["input"])
            elif "reasoningContent" in delta:
                heard.thinking.append(delta["reasoningContent"].get("text", ""))
            else:
                heard.say(delta["text"])
        elif "messageStop" in event:
            heard.finish = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            heard.usage = cls.spent(event["metadata"]["usage"])

    @staticmethod
    def spent(usage: Any) -> Spent:
        cached, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
        return Spent(usage["inputTokens"] + cached + written, usage["outputTokens"], cached)


class Local:
    """Ollama's own chat."""

    dialect = "ollama_chat"
    finishes: ClassVar = {"tool_calls": "stop"}

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "messages": [Local.message(*item) for item in ask.history]}
        if ask.tools:
            body["tools"] = [
                {"type": "function", "function": {"name": name, "description": name, "parameters": dict(schema)}}
                for name, schema in ask.tools.items()
            ]
        if ask.schema:
            body["format"] = SCHEMA
        return body

    @staticmethod
    def message(role: str, *rest: Any) -> dict[str, Any]:
        if role == "user":
            return {"role": "user", "content": rest[0], **({"images": list(rest[1:])} if rest[1:] else {})}
        if role == "tool":
            return {"role": "tool", "tool_name": rest[0].name, "content": rest[1]}
        answer: Answer = rest[0]
        calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in answer.tool_calls]
        return {"role": "assistant", "content": answer.text, "thinking": answer.thinking, "tool_calls": calls}

    @classmethod
    def whole(cls, heard: Heard, answer: Any) -> None:
        cls.piece(heard, answer)
        assert answer.done is True

    @classmethod
    def piece(cls, heard: Heard, answer: Any) -> None:
        heard.model = answer.model
        message = answer.message
        assert message.role == "assistant"
        heard.say(message.content)
        heard.thinking.append(message.thinking or "")
        for call in some(message.tool_calls):
            heard.call(len(heard.calls), name=call.function.name, arguments=call.function.arguments)
        heard.finish = answer.done_reason or heard.finish
        if answer.done:
            heard.usage = Spent(answer.prompt_eval_count or 0, answer.eval_count or 0)


class CohereV2:
    """Cohere's chat of v2: what is said beside a call is its plan."""

    dialect = "cohere_chat_v2"
    finishes: ClassVar = {
        "stop": "COMPLETE",
        "tool_calls": "TOOL_CALL",
        "length": "MAX_TOKENS",
        "content_filter": "ERROR",
    }

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "messages": [CohereV2.message(*item) for item in ask.history]}
        if ask.tools:
            functions = [{"name": name, "parameters": dict(schema)} for name, schema in ask.tools.items()]
            body["tools"] = [{"type": "function", "function": function} for function in functions]
        if ask.force:
            body["tool_choice"] = "REQUIRED"  # no tool can be named
        if ask.schema:
            body["response_format"] = {"type": "json_object", "json_schema": SCHEMA}
        return body

    @staticmethod
    def message(role: str, *rest: Any) -> dict[str, Any]:
        message = Chat.message(role, *rest)
        if role == "assistant":
            thought = [{"type": "thinking", "thinking": rest[0].thinking}] if rest[0].thinking else []
            text = message.pop("content")
            if message.get("tool_calls"):
                message |= ({"tool_plan": text} if text else {}) | ({"content": thought} if thought else {})
            else:
                message["content"] = [*thought, {"type": "text", "text": text or ""}]
        return message

    @classmethod
    def whole(cls, heard: Heard, answer: Any) -> None:
        heard.id = answer.id
        message = answer.message
        for part in some(message.content):
            cls._said(heard, part)
        if message.tool_plan is not None:
            heard.say(message.tool_plan)
        for index, call in enumerate(some(message.tool_calls)):
            heard.call(index, id=call.id, name=call.function.name, arguments=call.function.arguments)
        cls._end(heard, answer)

    @classmethod
    def piece(cls, heard: Heard, event: Any) -> None:
        message = at(event, "delta", "message")
        if event.type == "message-start":
            heard.id = event.id
        elif event.type == "content-delta":
            cls._said(heard, message.content)
        elif event.type == "tool-plan-delta":
            heard.say(message.tool_plan)
        elif event.type in {"tool-call-start", "tool-call-delta"}:
            call = message.tool_calls
            named = at(call.function, "name")
            heard.call(event.index, id=at(call, "id"), name=named, arguments=call.function.arguments)
        elif event.type == "message-end":
            cls._end(heard, event.delta)

    @staticmethod
    def _said(heard: Heard, part: Any) -> None:
        heard.thinking.append(at(part, "thinking") or "")
        heard.say(at(part, "text"))

    @staticmethod
    def _end(heard: Heard, end: Any) -> None:
        heard.finish = end.finish_reason
        heard.usage = cohere_spent(end.usage)


def cohere_spent(counted: Any) -> Spent | None:
    tokens = counted.tokens
    if tokens is None:
        return None  # of an answer that broke off
    reasoning = at(tokens, "reasoning_tokens")
    return Spent(tokens.input_tokens, tokens.output_tokens, counted.cached_tokens, reasoning)


class CohereV1:
    """Cohere's chat of v1: one message and a history; calls without ids, tools with parameters one by one."""

    dialect = "cohere_chat_v1"
    finishes: ClassVar = {
        "stop": "COMPLETE",
        "tool_calls": "COMPLETE",
        "length": "MAX_TOKENS",
        "content_filter": "ERROR_TOXIC",
    }

    @staticmethod
    def body(ask: Ask, model: str) -> dict[str, Any]:
        history = [CohereV1.turn(*item) for item in ask.history]
        results = [one for turn in history if turn["role"] == "TOOL" for one in turn["tool_results"]]
        body: dict[str, Any] = {"model": model, "message": "", "chat_history": history}
        if history[-1]["role"] == "TOOL":
            body |= {"chat_history": [turn for turn in history if turn["role"] != "TOOL"], "tool_results": results}
        else:
            body["message"] = history.pop()["message"]
        if ask.tools:
            body["tools"] = [CohereV1.tool(name, schema) for name, schema in ask.tools.items()]
        if ask.schema:
            body["response_format"] = {"type": "json_object", "schema": SCHEMA}
        return body

    @staticmethod
    def tool(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        names = {"string": "str", "object": "dict", "array": "list"}
        required = schema.get("required", ())
        defined = {
            key: {"type": names.get(one.get("type", ""), "any"), "required": key in required}
            for key, one in schema["properties"].items()
        }
        return {"name": name, "description": name, "parameter_definitions": defined}

    @staticmethod
    def turn(role: str, *rest: Any) -> dict[str, Any]:
        if role == "user":
            return {"role": "USER", "message": rest[0]}
        if role == "tool":
            call = {"name": rest[0].name, "parameters": rest[0].arguments}
            return {"role": "TOOL", "tool_results": [{"call": call, "outputs": [{"result": rest[1]}]}]}
        answer: Answer = rest[0]
        calls = [{"name": call.name, "parameters": call.arguments} for call in answer.tool_calls]
        return {"role": "CHATBOT", "message": answer.text, **({"tool_calls": calls} if calls else {})}

    @classmethod
    def whole(cls, heard: Heard, answer: Any) -> None:
        heard.id = answer.generation_id
        heard.say(answer.text)
        for index, call in enumerate(some(at(answer, "tool_calls"))):
            heard.call(index, name=call.name, arguments=plain(call.parameters))
        heard.finish = answer.finish_reason
        heard.usage = cohere_spent(answer.meta)
        assert answer.chat_history[-1].message == answer.text

    @classmethod
    def piece(cls, heard: Heard, event: Any) -> None:
        kind = event.event_type
        if kind == "stream-start":
            heard.id = event.generation_id
        elif kind == "text-generation":
            heard.say(event.text)
        elif kind == "tool-calls-chunk":
            delta = at(event, "tool_call_delta")
            if delta is None:
                heard.say(event.text)
            else:
                heard.call(int(delta.index), name=at(delta, "name"), arguments=at(delta, "parameters"))
        elif kind == "stream-end":
            again = Heard()
            cls.whole(again, event.response)
            closing, streamed = again.answer(), heard.answer()
            assert (closing.text, closing.tool_calls, closing.id) == (streamed.text, streamed.tool_calls, streamed.id)
            heard.finish, heard.usage = event.finish_reason, again.usage


# --- clients --------------------------------------------------------------------------------------

EVERYTHING = frozenset(
    {
        "tools",
        "structured output",
        "refusal",
        "thinking",
        "cached tokens",
        "reasoning tokens",
        "several choices",
        "retries",
        "retries of streams",
        "read time-out",
        "errors inside a stream",
        "comments in a stream",
        "line separators in a stream",
        "trio",
        "content filter",
        "names its model",
        "blank lines in a stream",
        "tool choice",
        "names its answers",
        "pictures in a request",
        "characters split between reads",
    }
)
STATUSES = {
    "bad_request": 400,
    "authentication": 401,
    "not_found": 404,
    "rate_limit": 429,
    "server_error": 500,
    "overloaded": 503,
}


class Client(ABC):
    """One client library against one provider.

    Attributes:
        modes: `whole`, `stream` (event by event), `helper` (the SDK's accumulating stream) and `parse` (into a model).
        can: What it can do beyond text and tool calls.
        needs: The distributions it is made of.
        unable: Why it can't be used in this environment, `None` when it can.
        says: How a framework differs in what it asks and raises: `always streams`, `never streams`, `its own words` around
            those of a user, `its own tools` in place of a schema, `subclasses of errors`.
        thorough: Whether it goes through every case, or through the essential ones only.
    """

    def __init__(
        self,
        name: str,
        vocabulary: Any,
        *,
        provider: str,
        model: str,
        needs: tuple[str, ...],
        can: frozenset[str],
        modes: tuple[str, ...],
        is_async: bool = False,
        unable: str | None = None,
        thorough: bool = True,
        says: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self.says = says
        self.thorough = thorough
        self.vocabulary = vocabulary
        self.provider = provider
        self.model = model
        self.can = can
        self.modes = modes
        self.is_async = is_async
        missing = [requirement for requirement in needs if not has(requirement)]
        self.unable = f"needs {', '.join(missing)}" if missing else unable
        self.heard = Heard()
        self._made: Any = None

    def __repr__(self) -> str:
        return self.name

    def run(self, coroutine: Any) -> Any:
        """The result of a case: on an event loop for an async client, on none for one that blocks."""
        return asyncio.run(coroutine) if self.is_async else drive(coroutine)

    def run_on_trio(self, coroutine: Any) -> Any:
        """The same on the other event loop."""
        return importlib.import_module("trio").run(lambda: coroutine)

    async def ask(self, prompt: Any, **options: Any) -> Answer:
        """One request; the SDK's own exceptions come out as they are."""
        history = (("user", prompt),) if isinstance(prompt, str) else tuple(prompt)
        ask = Ask(history, **options)
        heard = self.heard = Heard()
        if self._made is None:
            self._made = self.make()
        await getattr(self, ask.mode)(heard, ask)
        return heard.answer()

    def finish(self, neutral: str) -> str:
        """The vendor's word."""
        return self.vocabulary.finishes.get(neutral, neutral)

    def fresh(self) -> Client:
        """The same with a client of its own, made as a user makes it."""
        fresh = type(self).__new__(type(self))
        fresh.__dict__.update(self.__dict__)
        fresh._made = fresh.plain()
        return fresh

    @abstractmethod
    def make(self) -> Any:
        """The SDK's client."""

    def plain(self) -> Any:
        """A client with nothing but defaults."""
        return self.make()

    @abstractmethod
    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        """The class that this client raises, and the status it says."""

    def status(self, error: BaseException) -> int | None:
        return getattr(error, "status_code", None)

    def requests(self, calls: int, fails: str | None) -> int:
        """The HTTP requests of a case that says `calls` and fails so."""
        return calls


class Stainless(Client):
    """openai, anthropic and groq: made by one generator, so they are alike.

    Args:
        base_url: Where another provider speaks the vocabulary.
    """

    def __init__(
        self, package: str, maker: str, vocabulary: Any, *, base_url: str | None = None, **options: Any
    ) -> None:
        spoken = vocabulary.dialect if base_url is None else options["provider"]
        super().__init__(f"{package}.{maker}/{spoken}", vocabulary, is_async="Async" in maker, **options)
        self.package = package
        self.maker = maker
        self.where = {} if base_url is None else {"base_url": base_url}

    @property
    def module(self) -> Any:
        return importlib.import_module(self.package)

    def make(self) -> Any:
        return {}

    def plain(self) -> Any:
        return {0: getattr(self.module, self.maker)(**self.where)}

    def sdk(self, ask: Ask) -> Any:
        """A client for so many retries; `with_options` would lose the strict validation."""
        if ask.retries not in self._made:
            kind = getattr(self.module, self.maker)
            strict = "strict validation" in self.can
            self._made[ask.retries] = kind(max_retries=ask.retries, _strict_response_validation=strict, **self.where)
        return self._made[ask.retries]

    wraps_stream_faults = False

    @property
    def http(self) -> Any:
        """The HTTP library below it."""
        newer = has("openai>=3") if self.package == "openai" else self.package == "anthropic" and has("anthropic>=1")
        return importlib.import_module("httpx2" if newer else "httpx")

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind in {"disconnect", "stall"} and mode != "whole" and not self.wraps_stream_faults:
            return http_error(self.http, kind), None
        if kind == "in_stream":
            return self.error("overloaded", mode) if mode == "whole" else self.error_in_stream()
        name = {
            "bad_request": "BadRequestError",
            "authentication": "AuthenticationError",
            "not_found": "NotFoundError",
            "rate_limit": "RateLimitError",
            "timeout": "APITimeoutError",
            "stall": "APITimeoutError",
            "connection": "APIConnectionError",
            "disconnect": "APIConnectionError",
            "invalid": "APIResponseValidationError",
        }.get(kind, "InternalServerError")
        return getattr(self.module, name), STATUSES.get(kind)

    def error_in_stream(self) -> tuple[type[BaseException], int | None]:
        return self.module.APIError, None


class ChatClient(Stainless):
    """Chat completions."""

    def body(self, ask: Ask) -> dict[str, Any]:
        return self.vocabulary.body(ask, self.model)

    async def whole(self, heard: Heard, ask: Ask) -> None:
        completion = await done(self.sdk(ask).chat.completions.create(**self.body(ask)))
        self.vocabulary.whole(heard, completion)

    async def stream(self, heard: Heard, ask: Ask) -> None:
        stream = await done(self.sdk(ask).chat.completions.create(**self.body(ask), stream=True, **self.counting))
        async for chunk in each(stream):
            self.vocabulary.piece(heard, chunk)

    counting: ClassVar[dict[str, Any]] = {}

    @property
    def answers(self) -> Any:
        """The class of a whole answer."""
        return importlib.import_module(f"{self.package}.types.chat").ChatCompletion

    def verbatim(self) -> Any:
        return self.answers.model_validate(
            {
                "id": "verbatim-1",
                "prompt": [],
                "system_fingerprint": "fp_1",
                "object": "chat.completion",
                "created": 1,
                "model": "verbatim-model",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": "Word for word.", "refusal": None},
                        "logprobs": None,
                        "finish_reason": "stop",
                    }
                ],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
            }
        )


class OpenAICompletions(ChatClient):
    """The completions from before chat: whole ones strictly, chunks not, whose types lack a null that is sent."""

    wraps_stream_faults = has("openai>=3")
    lenient: ClassVar = ("stream",)
    counting: ClassVar[dict[str, Any]] = {"stream_options": {"include_usage": True}}

    async def whole(self, heard: Heard, ask: Ask) -> None:
        Completions.piece(heard, await done(self.sdk(ask).completions.create(**self.body(ask))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        client = self.sdk(ask)
        client._strict_response_validation = False
        async for chunk in each(await done(client.completions.create(**self.body(ask), stream=True, **self.counting))):
            Completions.piece(heard, chunk)

    def verbatim(self) -> Any:
        choice = {"text": "Word for word.", "index": 0, "logprobs": None, "finish_reason": "stop"}
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return importlib.import_module("openai.types").Completion.model_validate(
            {
                "id": "verbatim-1",
                "object": "text_completion",
                "created": 1,
                "model": "verbatim-model",
                "choices": [choice],
                "usage": usage,
            }
        )


class OpenAIChat(ChatClient):
    """openai's own: counts in streams, accumulates and parses."""

    counting: ClassVar[dict[str, Any]] = {"stream_options": {"include_usage": True}}
    wraps_stream_faults = has("openai>=3")

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        return (self.module.LengthFinishReasonError, None) if kind == "unfinished" else super().error(kind, mode)

    async def helper(self, heard: Heard, ask: Ask) -> None:
        async with within(self.sdk(ask).chat.completions.stream(**self.body(ask), **self.counting)) as stream:
            async for _ in each(stream):
                pass
            self.vocabulary.whole(heard, await done(stream.get_final_completion()))

    async def parse(self, heard: Heard, ask: Ask) -> None:
        body = self.body(ask) | {"response_format": weather_model()}
        self.vocabulary.whole(heard, await done(self.sdk(ask).chat.completions.parse(**body)))


class OpenAIResponses(Stainless):
    """Responses."""

    wraps_stream_faults = has("openai>=3")

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        return (RuntimeError, None) if kind == "unfinished" else super().error(kind, mode)

    async def whole(self, heard: Heard, ask: Ask) -> None:
        response = await done(self.sdk(ask).responses.create(**Responses.body(ask, self.model)))
        Responses.whole(heard, response)

    async def stream(self, heard: Heard, ask: Ask) -> None:
        stream = await done(self.sdk(ask).responses.create(**Responses.body(ask, self.model), stream=True))
        async for event in each(stream):
            Responses.piece(heard, event)

    async def helper(self, heard: Heard, ask: Ask) -> None:
        async with within(self.sdk(ask).responses.stream(**Responses.body(ask, self.model))) as stream:
            async for _ in each(stream):
                pass
            Responses.whole(heard, await done(stream.get_final_response()))

    async def parse(self, heard: Heard, ask: Ask) -> None:
        body = Responses.body(dataclasses.replace(ask, schema=False), self.model)
        Responses.whole(heard, await done(self.sdk(ask).responses.parse(**body, text_format=weather_model())))

    def verbatim(self) -> Any:
        details = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
        details["output_tokens_details"] = {"reasoning_tokens": 0}
        part = {"type": "output_text", "annotations": [], "text": "Word for word."}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        return importlib.import_module("openai.types.responses").Response.model_validate(
            {
                "id": "verbatim-1",
                "object": "response",
                "created_at": 1,
                "model": "verbatim-model",
                "status": "completed",
                "output": [message],
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10, **details},
            }
        )


class AnthropicMessages(Stainless):
    """Messages, by the stable or by the beta resource of the SDK."""

    def __init__(self, maker: str, *, beta: bool = False, **options: Any) -> None:
        super().__init__("anthropic", maker, Messages, **options)
        self.beta = beta
        self.name += "-beta" if beta else ""

    def messages(self, ask: Ask) -> Any:
        sdk = self.sdk(ask)
        return sdk.beta.messages if self.beta else sdk.messages

    async def whole(self, heard: Heard, ask: Ask) -> None:
        Messages.whole(heard, await done(self.messages(ask).create(**Messages.body(ask, self.model))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        stream = await done(self.messages(ask).create(**Messages.body(ask, self.model), stream=True))
        async for event in each(stream):
            Messages.piece(heard, event)

    async def helper(self, heard: Heard, ask: Ask) -> None:
        async with within(self.messages(ask).stream(**Messages.body(ask, self.model))) as stream:
            async for _ in each(stream):
                pass
            Messages.whole(heard, await done(stream.get_final_message()))

    async def parse(self, heard: Heard, ask: Ask) -> None:
        body = Messages.body(dataclasses.replace(ask, schema=False), self.model)
        Messages.whole(heard, await done(self.messages(ask).parse(**body, output_format=weather_model())))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind == "overloaded":
            exceptions = importlib.import_module("anthropic._exceptions")
            return exceptions.OverloadedError, 529
        return super().error(kind, mode)

    def error_in_stream(self) -> tuple[type[BaseException], int | None]:
        return self.module.APIStatusError, 200

    def verbatim(self) -> Any:
        return (self.module.types.beta.BetaMessage if self.beta else self.module.types.Message).model_validate(
            {
                "id": "verbatim-1",
                "type": "message",
                "role": "assistant",
                "model": "verbatim-model",
                "content": [{"type": "text", "text": "Word for word."}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 7, "output_tokens": 3},
            }
        )


class AnthropicElsewhere(AnthropicMessages):
    """The clients of anthropic for other clouds.

    Args:
        where: What such a client is made with.
        statuses: Errors that have another status there.
        errors: Their classes.
    """

    def __init__(
        self,
        maker: str,
        *,
        where: Mapping[str, Any],
        statuses: Mapping[str, int] | None = None,
        errors: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(maker, **options)
        self.name = self.name.replace("anthropic_messages", options["provider"])
        self.where = dict(where)
        self.statuses = statuses or {}
        self.errors = errors or {}

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        found, status = super().error(kind, mode)
        if kind == "in_stream" and mode != "whole":
            framed = "aws_region" in self.where and self.provider == "bedrock" and not self.maker.endswith("Mantle")
            return (ValueError, None) if framed and not has("anthropic>=1") else (found, status)
        kind = "overloaded" if kind == "in_stream" else kind
        if kind in self.errors:
            exceptions = importlib.import_module("anthropic._exceptions")
            found = getattr(exceptions, self.errors[kind])
        return found, self.statuses.get(kind, status)


class GenAI(Client):
    """google-genai, on the Gemini API or on Vertex AI; its async client is on aiohttp where that is installed.

    Args:
        where: What its `Client` is made with.
        on: The HTTP library that its async client is told to use.
        options: What `Client` takes.
    """

    def __init__(
        self, *names: Any, where: Mapping[str, Any] | None = None, on: str | None = None, **options: Any
    ) -> None:
        super().__init__(*names, **options)
        self.where, self.on = where or {}, on
        if on is not None and self.unable is None and not has(on):
            self.unable = f"needs {on}"

    def make(self, **http: Any) -> Any:
        if self.on is not None:
            http["httpx_async_client"] = importlib.import_module(self.on).AsyncClient()
        options = {"http_options": http} if http else {}
        client = importlib.import_module("google.genai").Client(**self.where, **options)
        return client.aio if self.is_async else client

    async def sdk(self, ask: Ask) -> Any:
        if not ask.retries:
            return self._made
        options = {"attempts": ask.retries + 1, "initial_delay": 0.001, "max_delay": 0.001, "jitter": 0.001}
        return self.make(retry_options=options)

    async def whole(self, heard: Heard, ask: Ask) -> None:
        sdk = await self.sdk(ask)
        body = Contents.body(ask, self.model)
        Contents.whole(heard, await done(sdk.models.generate_content(**body)))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        sdk = await self.sdk(ask)
        stream = await done(sdk.models.generate_content_stream(**Contents.body(ask, self.model)))
        async for response in each(stream):
            Contents.piece(heard, response)

    async def parse(self, heard: Heard, ask: Ask) -> None:
        await self.whole(heard, ask)

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind == "in_stream":
            kind = "overloaded"
        if kind in STATUSES:
            errors = importlib.import_module("google.genai.errors")
            status = STATUSES[kind]
            if kind == "authentication" and self.provider == "gemini":
                status = 400  # a wrong key is an invalid argument there
            return (errors.ServerError if status >= 500 else errors.ClientError), status
        if self.on_aiohttp:
            return aiohttp_error(importlib.import_module("aiohttp"), kind), None
        library = self.on or ("httpx2" if has("google-genai>=3") else "httpx")
        return http_error(importlib.import_module(library), kind), None

    @property
    def on_aiohttp(self) -> bool:
        return self.is_async and self.on is None and has("aiohttp")

    def requests(self, calls: int, fails: str | None) -> int:
        """On aiohttp it asks again at once where no connection comes about, with a new session."""
        return calls + 1 if self.on_aiohttp and fails == "connection" else calls

    def status(self, error: BaseException) -> int | None:
        return getattr(error, "code", None)

    def verbatim(self) -> Any:
        return importlib.import_module("google.genai.types").GenerateContentResponse.model_validate(
            {
                "response_id": "verbatim-1",
                "model_version": "verbatim-model",
                "candidates": [
                    {
                        "content": {"role": "model", "parts": [{"text": "Word for word."}]},
                        "finish_reason": "STOP",
                        "index": 0,
                    }
                ],
                "usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3, "total_token_count": 10},
            }
        )


class Boto3(Client):
    """boto3, where botocore's own model of the service judges each answer and each event."""

    def make(self) -> Any:
        return {}

    @functools.cached_property
    def session(self) -> Any:
        """One for all clients: the classes of exceptions are its own."""
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
        return importlib.import_module("boto3").session.Session(**keys)

    def plain(self) -> Any:
        return {0: self.session.client("bedrock-runtime")}

    def sdk(self, retries: int) -> Any:
        if self._made is None:  # a case of an error asks for its class first
            self._made = self.make()
        if retries not in self._made:
            config = importlib.import_module("botocore.config").Config(
                retries={"total_max_attempts": retries + 1, "mode": "standard"}
            )
            self._made[retries] = self.session.client("bedrock-runtime", config=config)
        return self._made[retries]

    def validated(self, operation: str, value: Any, *members: str) -> Any:
        shape = self.sdk(0).meta.service_model.operation_model(operation).output_shape
        for member in members:
            shape = shape.members[member]
        report = importlib.import_module("botocore.validate").ParamValidator().validate(value, shape)
        assert not report.has_errors(), report.generate_report()
        return value

    async def whole(self, heard: Heard, ask: Ask) -> None:
        answer = self.sdk(ask.retries).converse(**Converse.body(ask, self.model))
        assert answer.pop("ResponseMetadata")["HTTPStatusCode"] == 200
        Converse.whole(heard, self.validated("Converse", answer))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        answer = self.sdk(ask.retries).converse_stream(**Converse.body(ask, self.model))
        for event in answer["stream"]:
            Converse.piece(heard, self.validated("ConverseStream", event, "stream"))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        exceptions = importlib.import_module("botocore.exceptions")
        if kind == "in_stream" and mode == "stream":
            return exceptions.EventStreamError, None
        if kind in {"disconnect", "stall"} and mode == "stream":
            below = importlib.import_module("urllib3.exceptions")  # events are read past botocore's own body
            return {"disconnect": below.ProtocolError, "stall": below.ReadTimeoutError}[kind], None
        own = self.sdk(0).exceptions
        names = {
            "bad_request": own.ValidationException,
            "authentication": own.ClientError,  # its model has no class of it
            "not_found": own.ResourceNotFoundException,
            "rate_limit": own.ThrottlingException,
            "server_error": own.InternalServerException,
            "overloaded": own.ServiceUnavailableException,
            "in_stream": own.ServiceUnavailableException,
            "timeout": exceptions.ReadTimeoutError,
            "stall": exceptions.ReadTimeoutError,
            "connection": exceptions.EndpointConnectionError,
            "disconnect": exceptions.ConnectionClosedError,
        }
        statuses = STATUSES | {"authentication": 403, "in_stream": 503}
        return names[kind], statuses.get(kind)

    def status(self, error: BaseException) -> int | None:
        response: Any = at(error, "response")
        return response and response.get("ResponseMetadata", {}).get("HTTPStatusCode")


class Cohere(Client):
    """cohere, whose own types judge each answer and each event: the SDK itself makes them without a look."""

    def __init__(self, maker: str, vocabulary: Any, **options: Any) -> None:
        super().__init__(f"cohere.{maker}", vocabulary, is_async="Async" in maker, **options)
        self.maker = maker

    def make(self) -> Any:
        return {}

    def plain(self) -> Any:
        return {0: getattr(importlib.import_module("cohere"), self.maker)()}

    def sdk(self, ask: Ask) -> Any:
        if not self._made:
            self._made |= self.plain()
        return self._made[0]

    def asked(self, ask: Ask) -> dict[str, Any]:
        return self.vocabulary.body(ask, self.model) | {"request_options": {"max_retries": ask.retries}}

    @staticmethod
    def validated(value: Any) -> Any:
        plan = at(value, "event_type") == "tool-calls-chunk" and value.tool_call_delta is None
        if not plan:  # which is text alone on the wire, and incomplete for the SDK's types
            type(value).model_validate(value.model_dump(by_alias=True, exclude_unset=True))
        return value

    async def whole(self, heard: Heard, ask: Ask) -> None:
        answer = await done(self.sdk(ask).chat(**self.asked(ask)))
        self.vocabulary.whole(heard, self.validated(answer))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        async for event in each(self.sdk(ask).chat_stream(**self.asked(ask))):
            self.vocabulary.piece(heard, self.validated(event))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        errors = importlib.import_module("cohere.errors")
        named = {
            "bad_request": errors.BadRequestError,
            "authentication": errors.UnauthorizedError,
            "not_found": errors.NotFoundError,
            "rate_limit": errors.TooManyRequestsError,
            "server_error": errors.InternalServerError,
            "overloaded": errors.ServiceUnavailableError,
        }
        if kind in named:
            return named[kind], STATUSES[kind]
        return http_error(importlib.import_module("httpx"), kind), None

    def verbatim(self) -> Any:
        counted = {"tokens": {"input_tokens": 7, "output_tokens": 3}, "cached_tokens": 0}
        if self.vocabulary is CohereV2:
            return importlib.import_module("cohere").V2ChatResponse.model_validate(
                {
                    "id": "verbatim-1",
                    "finish_reason": "COMPLETE",
                    "message": {"role": "assistant", "content": [{"type": "text", "text": "Word for word."}]},
                    "usage": counted,
                }
            )
        return importlib.import_module("cohere").NonStreamedChatResponse.model_validate(
            {
                "generation_id": "verbatim-1",
                "text": "Word for word.",
                "chat_history": [{"role": "CHATBOT", "message": "Word for word."}],
                "finish_reason": "COMPLETE",
                "meta": counted,
            }
        )


class InvokedMessages(Boto3):
    """boto3's `invoke_model`, whose bodies it leaves alone: they are read as JSON."""

    def body(self, ask: Ask) -> dict[str, Any]:
        body = Messages.body(ask, "")
        del body["model"]
        body["anthropic_version"] = "bedrock-2023-05-31"
        return {"modelId": self.model, "body": json.dumps(body)}

    async def whole(self, heard: Heard, ask: Ask) -> None:
        answer = self.sdk(ask.retries).invoke_model(**self.body(ask))
        Messages.whole(heard, namespaces(answer["body"].read()))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        answer = self.sdk(ask.retries).invoke_model_with_response_stream(**self.body(ask))
        for event in answer["body"]:
            Messages.piece(heard, namespaces(event["chunk"]["bytes"]))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        exceptions = importlib.import_module("botocore.exceptions")
        if kind in {"disconnect", "stall"} and mode == "whole":  # its body is read by whom it was given to
            return {"disconnect": exceptions.ResponseStreamingError, "stall": exceptions.ReadTimeoutError}[kind], None
        return super().error(kind, mode)


class InvokedNova(InvokedMessages):
    """The same of Nova, which speaks Converse's vocabulary with names of its own for the cache."""

    def body(self, ask: Ask) -> dict[str, Any]:
        body = Converse.body(ask, self.model)
        return {"modelId": body.pop("modelId"), "body": json.dumps({"schemaVersion": "messages-v1", **body})}

    async def whole(self, heard: Heard, ask: Ask) -> None:
        answer = json.loads(self.sdk(ask.retries).invoke_model(**self.body(ask))["body"].read())
        Converse.whole(heard, {**answer, "usage": self.renamed(answer["usage"])})

    async def stream(self, heard: Heard, ask: Ask) -> None:
        answer = self.sdk(ask.retries).invoke_model_with_response_stream(**self.body(ask))
        for event in answer["body"]:
            payload = json.loads(event["chunk"]["bytes"])
            if "metadata" in payload:
                payload["metadata"]["usage"] = self.renamed(payload["metadata"]["usage"])
            Converse.piece(heard, payload)

    @staticmethod
    def renamed(usage: dict[str, Any]) -> dict[str, Any]:
        return {name.replace("TokenCount", "Tokens"): count for name, count in usage.items()}


class InvokedChat(InvokedMessages):
    """The same of open models, which speak OpenAI's vocabulary."""

    def body(self, ask: Ask) -> dict[str, Any]:
        body = Chat.body(ask, self.model)
        if ask.mode == "stream":
            body["stream_options"] = {"include_usage": True}
        return {"modelId": body.pop("model"), "body": json.dumps(body)}

    async def whole(self, heard: Heard, ask: Ask) -> None:
        answer = self.sdk(ask.retries).invoke_model(**self.body(ask))
        Chat.whole(heard, namespaces(answer["body"].read()))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        answer = self.sdk(ask.retries).invoke_model_with_response_stream(**self.body(ask))
        for event in answer["body"]:
            Chat.piece(heard, namespaces(event["chunk"]["bytes"]))


class OnHost(OpenAIChat):
    """openai's own on another host.

    Args:
        statuses: Errors that have another status there.
    """

    def __init__(self, *, statuses: Mapping[str, int] | None = None, **options: Any) -> None:
        super().__init__("openai", "OpenAI", Chat, modes=("whole", "stream"), **options)
        self.statuses = statuses or {}

    def make(self) -> Any:
        self.where["api_key"] = "none"
        return super().make()

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        found, status = super().error(kind, mode)
        status = self.statuses.get(
            kind, self.statuses.get("overloaded", status) if kind == "in_stream" and status else status
        )
        named = {400: "BadRequestError", 429: "RateLimitError"}
        return (getattr(self.module, named[status]) if status in named else found), status


class Lenient(OnHost):
    """The same where the host sends what OpenAI's own types refuse, such as an empty `object`: no strict validation.

    Args:
        maker: The class of the client.
        where: Its parameters in place of `base_url`.
    """

    def __init__(self, *, maker: str = "OpenAI", where: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(**options)
        if where is not None:
            self.name, self.maker, self.where = f"openai.{maker}", maker, dict(where)
            self.is_async = "Async" in maker

    def sdk(self, ask: Ask) -> Any:
        if ask.retries not in self._made:
            self._made[ask.retries] = getattr(self.module, self.maker)(max_retries=ask.retries, **self.where)
        return self._made[ask.retries]


# --- the SDKs of vendors who speak OpenAI's chat vocabulary -------------------------------------------


class Vendor(ChatClient):
    """A vendor's own SDK by the same generator.

    Args:
        lenient: The modes in which it gets no strict validation, since it refuses what its vendor sends.
        answer: Where its class of a whole answer is.
    """

    def __init__(self, package: str, maker: str, *, answer: str, lenient: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(package, maker, Chat, **options)
        self.name = f"{package}.{maker}"
        self.lenient = lenient
        self.answer = answer

    def sdk(self, ask: Ask) -> Any:
        strict = ask.mode not in self.lenient
        if (ask.retries, strict) not in self._made:
            kind = getattr(self.module, self.maker)
            made = kind(max_retries=ask.retries, _strict_response_validation=strict)
            self._made[ask.retries, strict] = made
        return self._made[ask.retries, strict]

    @property
    def answers(self) -> Any:
        module, _, name = self.answer.rpartition(".")
        return getattr(importlib.import_module(module), name)


class Cerebras(Vendor):
    """An error inside a stream is that of its status."""

    def error_in_stream(self) -> tuple[type[BaseException], int | None]:
        return self.module.InternalServerError, 503


class Writer(Vendor):
    """Its chat has no `completions`, its tool choice an envelope."""

    counting: ClassVar[dict[str, Any]] = {"stream_options": {"include_usage": True}}

    def body(self, ask: Ask) -> dict[str, Any]:
        body = super().body(ask)
        if "tool_choice" in body:
            body["tool_choice"] = {"value": body["tool_choice"]}
        return body

    async def whole(self, heard: Heard, ask: Ask) -> None:
        self.vocabulary.whole(heard, await done(self.sdk(ask).chat.chat(**self.body(ask))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        async for chunk in each(await done(self.sdk(ask).chat.chat(**self.body(ask), stream=True, **self.counting))):
            self.vocabulary.piece(heard, chunk)

    def error_in_stream(self) -> tuple[type[BaseException], int | None]:
        return self.module.APIStatusError, 200


class Zai(ChatClient):
    """zai-sdk: blocks only, and has its own names for errors."""

    def __init__(self, maker: str, **options: Any) -> None:
        super().__init__("zai", maker, Chat, **options)
        self.name = f"zai.{maker}"

    @property
    def answers(self) -> Any:
        return importlib.import_module("zai.types.chat.chat_completion").Completion

    def sdk(self, ask: Ask) -> Any:
        return self._made.setdefault(0, getattr(self.module, self.maker)(max_retries=0))

    def finish(self, neutral: str) -> str:
        return "sensitive" if neutral == "content_filter" else super().finish(neutral)

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind in {"disconnect", "stall"} and mode != "whole":
            return http_error(self.http, kind), None
        errors = importlib.import_module("zai.core._errors")
        if kind == "in_stream" and mode != "whole":
            return errors.APIResponseError, None
        status = {"overloaded": 429, "in_stream": 429}.get(kind, STATUSES.get(kind))
        named = {
            "bad_request": errors.APIRequestFailedError,
            "authentication": errors.APIAuthenticationError,
            "not_found": errors.APIStatusError,
            "rate_limit": errors.APIReachLimitError,
            "overloaded": errors.APIReachLimitError,
            "in_stream": errors.APIReachLimitError,
            "server_error": errors.APIInternalError,
            "timeout": errors.APITimeoutError,
            "stall": errors.APITimeoutError,
        }
        return named.get(kind, errors.APIConnectionError), status


class Mistral(Client):
    """mistralai: of the generation before in another package. It gives up by the clock, so its retries have a test of their own."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, MistralChat, **options)
        self.suffix = "_async" if self.is_async else ""

    @property
    def home(self) -> str:
        return "mistralai.client" if has("mistralai>=2") else "mistralai"

    @property
    def http(self) -> Any:
        return importlib.import_module("httpx2" if has("mistralai>=3") else "httpx")

    def make(self) -> Any:
        return importlib.import_module(self.home).Mistral(timeout_ms=5000)

    def sdk(self, method: str) -> Any:
        return getattr(self._made.chat, method + self.suffix)

    async def whole(self, heard: Heard, ask: Ask) -> None:
        self.vocabulary.whole(heard, await done(self.sdk("complete")(**self.vocabulary.body(ask, self.model))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        async with within(await done(self.sdk("stream")(**self.vocabulary.body(ask, self.model)))) as stream:
            async for event in each(stream):
                self.vocabulary.piece(heard, event.data)

    async def parse(self, heard: Heard, ask: Ask) -> None:
        body = self.vocabulary.body(ask, self.model) | {"response_format": weather_model()}
        self.vocabulary.whole(heard, await done(self.sdk("parse")(**body)))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        errors = importlib.import_module("mistralai.client.errors" if has("mistralai>=2") else "mistralai.models")
        if kind in {"invalid", "in_stream"} and (kind == "invalid" or mode != "whole"):
            if mode != "whole" and not has("mistralai>=2"):
                return importlib.import_module("pydantic").ValidationError, None
            return errors.ResponseValidationError, 200
        if kind in STATUSES or kind == "in_stream":
            return errors.SDKError, STATUSES.get(kind, 503)
        return http_error(self.http, kind), None

    def verbatim(self) -> Any:
        models = importlib.import_module(f"{self.home}.models")
        message = {"role": "assistant", "content": "Word for word."}
        return models.ChatCompletionResponse.model_validate(
            {
                "id": "verbatim-1",
                "object": "chat.completion",
                "created": 1,
                "model": "verbatim-model",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
            }
        )


class HuggingFace(Client):
    """huggingface_hub's client of models, by its router or by one of the hosts behind it."""

    def __init__(self, maker: str, *, route: str = "", **options: Any) -> None:
        super().__init__(f"huggingface_hub.{maker}{route and '-' + route}", Chat, **options)
        self.maker = maker
        self.route = route

    def make(self) -> Any:
        hub = importlib.import_module("huggingface_hub")
        return getattr(hub, self.maker)(timeout=5, **({"provider": self.route} if self.route else {}))

    async def whole(self, heard: Heard, ask: Ask) -> None:
        Chat.whole(heard, await done(self._made.chat_completion(**Chat.body(ask, self.model))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        body = Chat.body(ask, self.model) | {"stream_options": {"include_usage": True}}
        async for chunk in each(await done(self._made.chat_completion(**body, stream=True))):
            Chat.piece(heard, chunk)

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        errors = importlib.import_module("huggingface_hub.errors")
        if kind == "in_stream" and mode != "whole":
            return importlib.import_module("huggingface_hub.inference._common").UnknownError, None
        if kind == "timeout" or (kind == "stall" and mode == "whole"):
            return errors.InferenceTimeoutError, None
        if kind in STATUSES or kind == "in_stream":
            bad = kind == "bad_request"
            return (errors.BadRequestError if bad else errors.HfHubHTTPError), STATUSES.get(kind, 503)
        return http_error(importlib.import_module("httpx2"), kind), None

    def status(self, error: BaseException) -> int | None:
        return at(error, "response", "status_code")


class AI21(Client):
    """ai21: messages are its own objects, and tool calls in a stream are nobody's."""

    def __init__(self, maker: str, **options: Any) -> None:
        super().__init__(f"ai21.{maker}", Chat, is_async="Async" in maker, **options)
        self.maker = maker

    def make(self) -> Any:
        return getattr(importlib.import_module("ai21"), self.maker)(timeout_sec=5)

    def body(self, ask: Ask) -> dict[str, Any]:
        kinds = importlib.import_module("ai21.models.chat.chat_message")
        by_role = {"user": kinds.UserMessage, "assistant": kinds.AssistantMessage, "tool": kinds.ToolMessage}
        body = Chat.body(ask, self.model)
        return body | {"messages": [by_role[message["role"]](**message) for message in body["messages"]]}

    async def whole(self, heard: Heard, ask: Ask) -> None:
        Chat.whole(heard, await done(self._made.chat.completions.create(**self.body(ask))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        async for chunk in each(await done(self._made.chat.completions.create(**self.body(ask), stream=True))):
            Chat.piece(heard, namespaces(chunk.model_dump_json().encode()))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        errors = importlib.import_module("ai21.errors")
        named = {
            "bad_request": errors.BadRequest,
            "authentication": errors.Unauthorized,
            "rate_limit": errors.TooManyRequestsError,
            "server_error": errors.AI21ServerError,
            "overloaded": errors.ServiceUnavailable,
        }
        if kind in STATUSES:
            return named.get(kind, errors.AI21APIError), STATUSES[kind]
        return http_error(importlib.import_module("httpx"), kind), None


class AzureInference(Client):
    """azure-ai-inference: requests below its sync client, aiohttp below its async one, which is made on the loop that runs."""

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__(f"azure-ai-inference-{kind}", InferenceChat, is_async=kind == "async", **options)

    def make(self) -> Any:
        from azure.core.credentials import AzureKeyCredential

        module = importlib.import_module("azure.ai.inference" + (".aio" if self.is_async else ""))
        return module.ChatCompletionsClient(
            "https://my-resource.services.ai.azure.com/models",
            AzureKeyCredential("fake-llm"),
            read_timeout=5,
            retry_total=0,
        )

    async def ask(self, prompt: Any, **options: Any) -> Answer:
        if not self.is_async:
            return await super().ask(prompt, **options)
        async with self.make() as self._made:
            return await super().ask(prompt, **options)

    def body(self, ask: Ask) -> dict[str, Any]:
        body = Chat.body(ask, self.model)
        if ask.schema:
            form = importlib.import_module("azure.ai.inference.models").JsonSchemaFormat
            body["response_format"] = form(**body["response_format"]["json_schema"])
        return body

    async def whole(self, heard: Heard, ask: Ask) -> None:
        InferenceChat.whole(heard, await done(self._made.complete(**self.body(ask))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        body = self.body(ask) | {"model_extras": {"stream_options": {"include_usage": True}}, "stream": True}
        async with within(await done(self._made.complete(**body))) as stream:
            async for update in each(stream):
                InferenceChat.piece(heard, update)

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        errors = importlib.import_module("azure.core.exceptions")
        named = {"authentication": errors.ClientAuthenticationError, "not_found": errors.ResourceNotFoundError}
        if kind in STATUSES or kind == "in_stream":
            return named.get(kind, errors.HttpResponseError), STATUSES.get(kind, STATUSES["overloaded"])
        kinds = {
            "timeout": errors.ServiceResponseTimeoutError,
            "stall": errors.ServiceResponseTimeoutError,
            "connection": errors.ServiceRequestError,
            "disconnect": errors.IncompleteReadError if self.is_async else errors.HttpResponseError,
        }
        return kinds[kind], None


class Watsonx(Client):
    """ibm-watsonx-ai, which asks for a token and for its project before."""

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__(f"ibm-watsonx-ai-{kind}", WatsonxChat, is_async=kind == "async", **options)

    def make(self) -> Any:
        module = importlib.import_module("ibm_watsonx_ai")
        credentials = module.Credentials(url="https://us-south.ml.cloud.ibm.com", api_key="fake-llm")
        return importlib.import_module("ibm_watsonx_ai.foundation_models").ModelInference(
            model_id=self.model, api_client=module.APIClient(credentials, project_id="p"), max_retries=0
        )

    def requests(self, calls: int, fails: str | None) -> int:
        """Its transport asks three times more, also without a valid token."""
        return calls + 3 if fails in {"authentication", "server_error", "overloaded"} else calls

    async def ask(self, prompt: Any, **options: Any) -> Answer:
        if not self.is_async:
            return await super().ask(prompt, **options)
        self._made = self.make()  # its client belongs to the loop that runs
        try:
            return await super().ask(prompt, **options)
        finally:
            await self._made._client.async_httpx_client.aclose()

    def body(self, ask: Ask) -> dict[str, Any]:
        body = Chat.body(ask, self.model)
        asked: dict[str, Any] = {"messages": body["messages"]}
        if ask.tools:
            asked["tools"] = body["tools"]
        if ask.force:
            forced = body["tool_choice"]
            asked |= {"tool_choice_option": forced} if isinstance(forced, str) else {"tool_choice": forced}
        if ask.schema:
            asked["params"] = {"response_format": body["response_format"]}
        return asked

    async def whole(self, heard: Heard, ask: Ask) -> None:
        answer = await done((self._made.achat if self.is_async else self._made.chat)(**self.body(ask)))
        Chat.whole(heard, namespaces(json.dumps(answer).encode()))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        chunks = await done((self._made.achat_stream if self.is_async else self._made.chat_stream)(**self.body(ask)))
        async for chunk in each(chunks):
            Chat.piece(heard, namespaces(json.dumps(chunk).encode()))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        errors = importlib.import_module("ibm_watsonx_ai.wml_client_error")
        if kind in STATUSES or kind == "in_stream":
            status = STATUSES.get(kind, STATUSES["overloaded"])
            return (errors.ApiRequestFailure, status) if mode == "whole" else (errors.WMLClientError, None)
        return http_error(importlib.import_module("httpx"), kind), None

    def status(self, error: BaseException) -> int | None:
        return at(error, "response", "status_code")


class DashScope(Client):
    """dashscope: requests below its sync functions, aiohttp below its async ones."""

    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__(f"dashscope-{kind}", DashScopeChat, is_async=kind == "async", **options)

    def make(self) -> Any:
        generation = importlib.import_module("dashscope.aigc.generation")
        return generation.AioGeneration if self.is_async else generation.Generation

    def requests(self, calls: int, fails: str | None) -> int:
        """It asks again at once where the connection breaks, for it may have been an old one."""
        return calls + 1 if fails == "connection" or (self.is_async and fails == "timeout") else calls

    async def ask(self, prompt: Any, **options: Any) -> Answer:
        if not self.is_async:
            return await super().ask(prompt, **options)
        async with importlib.import_module("aiohttp").ClientSession() as self._session:
            return await super().ask(prompt, **options)

    def body(self, ask: Ask) -> dict[str, Any]:
        body = Chat.body(ask, self.model) | {"result_format": "message", "api_key": "fake-llm", "request_timeout": 5}
        return body | ({"session": self._session} if self.is_async else {})

    async def whole(self, heard: Heard, ask: Ask) -> None:
        DashScopeChat.said(heard, await done(self._made.call(**self.body(ask))), "message")

    async def stream(self, heard: Heard, ask: Ask) -> None:
        responses = await done(self._made.call(**self.body(ask), stream=True, incremental_output=True))
        async for response in each(responses):
            DashScopeChat.said(heard, response, "delta")

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind in STATUSES or kind == "in_stream":
            in_stream = kind == "in_stream" and mode != "whole"  # which is told without a status
            return DashScopeFailedError, 400 if in_stream else STATUSES.get(kind, STATUSES["overloaded"])
        if self.is_async:
            return aiohttp_error(importlib.import_module("aiohttp"), kind), None
        exceptions = importlib.import_module("requests").exceptions
        kinds = {
            "timeout": exceptions.ReadTimeout,
            "connection": exceptions.ConnectionError,
            "disconnect": exceptions.ChunkedEncodingError,
            "stall": exceptions.ConnectionError,
        }
        return kinds[kind], None


class Ollama(Client):
    """ollama, which has no time-out and no retries by itself."""

    def __init__(self, maker: str, **options: Any) -> None:
        super().__init__(f"ollama.{maker}/ollama_chat", Local, is_async="Async" in maker, **options)
        self.maker = maker

    def make(self) -> Any:
        return getattr(importlib.import_module("ollama"), self.maker)(timeout=5)

    async def whole(self, heard: Heard, ask: Ask) -> None:
        Local.whole(heard, await done(self._made.chat(**Local.body(ask, self.model))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        async for part in each(await done(self._made.chat(**Local.body(ask, self.model), stream=True))):
            Local.piece(heard, part)

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        module = importlib.import_module("ollama")
        if kind == "in_stream":
            return module.ResponseError, STATUSES["overloaded"] if mode == "whole" else -1
        if kind in STATUSES:
            return module.ResponseError, STATUSES[kind]
        if kind == "connection" and mode == "whole":
            return ConnectionError, None
        return http_error(importlib.import_module("httpx"), kind), None

    def verbatim(self) -> Any:
        module = importlib.import_module("ollama")
        return module.ChatResponse(
            model="verbatim-model",
            created_at="2026-01-01T00:00:00Z",
            message=module.Message(role="assistant", content="Word for word."),
            done=True,
            done_reason="stop",
            prompt_eval_count=7,
            eval_count=3,
        )


def http_error(module: Any, kind: str) -> type[BaseException]:
    """What httpx and httpx2 raise."""
    names = {"connection": "ConnectError", "disconnect": "RemoteProtocolError"}
    return getattr(module, names.get(kind, "ReadTimeout"))


def aiohttp_error(module: Any, kind: str) -> type[BaseException]:
    """What aiohttp raises."""
    names = {"connection": "ClientConnectorError", "disconnect": "ClientPayloadError"}
    return getattr(module, names.get(kind, "SocketTimeoutError"))


class Http(Client):
    """An HTTP library with no SDK above it."""

    def __init__(
        self,
        library: str,
        vocabulary: Any,
        url: str,
        *,
        is_async: bool = False,
        lacks: frozenset[str] = frozenset(),
        **options: Any,
    ) -> None:
        flavour = "async" if is_async else "sync"
        super().__init__(
            f"{library}-{flavour}/{vocabulary.dialect}",
            vocabulary,
            needs=(library,),
            modes=("whole", "stream"),
            can=EVERYTHING - {"retries", "errors inside a stream"} - lacks,
            is_async=is_async,
            **options,
        )
        self.library = library
        self.url = url

    @property
    def module(self) -> Any:
        return importlib.import_module(self.library)

    sending: ClassVar[dict[str, Any]] = {}

    def make(self) -> Any:
        return self.module.AsyncClient() if self.is_async else self.module.Client()

    def body(self, ask: Ask) -> dict[str, Any]:
        body = self.vocabulary.body(ask, self.model)
        if ask.mode == "stream":
            body["stream"] = True
            if self.vocabulary is Chat:
                body["stream_options"] = {"include_usage": True}
        return body

    async def whole(self, heard: Heard, ask: Ask) -> None:
        response = await done(self._made.post(self.url, json=self.body(ask), **self.sending))
        response.raise_for_status()
        self.vocabulary.whole(heard, namespaces(response.content))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        async with within(self._made.stream("POST", self.url, json=self.body(ask))) as response:
            response.raise_for_status()
            chunks = response.aiter_bytes() if self.is_async else response.iter_bytes()
            async for data in sse(each(chunks)):
                self.vocabulary.piece(heard, namespaces(data))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind in STATUSES:
            overloaded = kind == "overloaded" and self.provider == "anthropic"
            return self.module.HTTPStatusError, 529 if overloaded else STATUSES[kind]
        return http_error(self.module, kind), None

    def status(self, error: BaseException) -> int | None:
        return at(error, "response", "status_code")


class Requests(Http):
    """requests, with the time-out that it hasn't by itself."""

    sending: ClassVar[dict[str, Any]] = {"timeout": 5}

    def make(self) -> Any:
        return self.module.Session()

    async def stream(self, heard: Heard, ask: Ask) -> None:
        with self._made.post(self.url, json=self.body(ask), stream=True, **self.sending) as response:
            response.raise_for_status()
            async for data in sse(each(response.iter_content(None))):
                self.vocabulary.piece(heard, namespaces(data))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        exceptions = self.module.exceptions
        if kind in STATUSES:
            return exceptions.HTTPError, STATUSES[kind]
        kinds = {
            "timeout": exceptions.ReadTimeout,
            "connection": exceptions.ConnectionError,
            "disconnect": exceptions.ChunkedEncodingError,
            "stall": exceptions.ConnectionError,
        }
        return kinds[kind], None


class Aiohttp(Http):
    """aiohttp, whose session is made on the loop that runs."""

    def make(self) -> Any:
        return None

    async def ask(self, prompt: Any, **options: Any) -> Answer:
        async with self.module.ClientSession(timeout=self.module.ClientTimeout(sock_read=5)) as self._made:
            return await super().ask(prompt, **options)

    async def whole(self, heard: Heard, ask: Ask) -> None:
        async with self._made.post(self.url, json=self.body(ask)) as response:
            response.raise_for_status()
            self.vocabulary.whole(heard, namespaces(await response.read()))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        async with self._made.post(self.url, json=self.body(ask)) as response:
            response.raise_for_status()
            async for data in sse(response.content.iter_any()):
                self.vocabulary.piece(heard, namespaces(data))

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind in STATUSES:
            return self.module.ClientResponseError, STATUSES[kind]
        return aiohttp_error(self.module, kind), None

    def status(self, error: BaseException) -> int | None:
        return at(error, "status")


def namespaces(data: bytes) -> Any:
    return json.loads(data, object_hook=lambda fields: SimpleNamespace(**fields))


async def sse(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of server-sent events, read as plainly as can be."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != b"[DONE]":
                yield data


_OPENAI: dict[str, Any] = {"provider": "openai", "model": "gpt-4.1", "needs": ("openai>=2",)}
_OPENAI |= {"can": EVERYTHING | {"sdk object", "strict validation", "a helper that refuses unfinished answers"}}
_OPENAI |= {"modes": ("whole", "stream", "helper", "parse")}
_OPENAI_CHAT = _OPENAI | {"can": _OPENAI["can"] | {"citations", "sound"}}
_OPENAI_RESPONSES = _OPENAI | {
    "can": _OPENAI["can"] - {"several choices"} | {"citations", "a search that the provider runs"}
}
_OPENAI_TEXT = _OPENAI | {
    "model": "gpt-3.5-turbo-instruct",
    "can": EVERYTHING
    - {
        "tools",
        "structured output",
        "refusal",
        "thinking",
        "cached tokens",
        "reasoning tokens",
        "pictures in a request",
    }
    | {"sdk object", "strict validation"},
    "modes": ("whole", "stream"),
}
_CLAUDE = "claude-sonnet-4-6"
_ANTHROPIC: dict[str, Any] = {"provider": "anthropic", "model": _CLAUDE, "needs": ("anthropic>=0.100",)}
_ANTHROPIC |= {
    "can": EVERYTHING - {"several choices"} | {"sdk object", "strict validation", "unfinished answers in a helper"},
    "modes": _OPENAI["modes"],
}
_ANTHROPIC_BETA = dict(_ANTHROPIC)
if not has("anthropic>=1"):  # its beta parses by a parameter that it calls deprecated itself
    _ANTHROPIC_BETA["modes"] = ("whole", "stream", "helper")
_GROQ: dict[str, Any] = {"provider": "groq", "model": "openai/gpt-oss-120b", "needs": ("groq>=1",)}
_GROQ |= {
    "can": EVERYTHING - {"several choices", "refusal", "content filter"} | {"sdk object", "strict validation"},
    "modes": ("whole", "stream"),
}
_GENAI: dict[str, Any] = {"provider": "gemini", "model": "gemini-2.5-flash", "needs": ("google-genai>=1.50",)}
_GENAI_LACKS = {"refusal", "trio", "read time-out", "comments in a stream"}
if not has("google-genai>=2"):  # it splits streams at whatever str.splitlines takes for a line end
    _GENAI_LACKS.add("line separators in a stream")
_GENAI |= {"can": EVERYTHING - _GENAI_LACKS | {"sdk object"}, "modes": ("whole", "stream", "parse")}
_GENAI_HTTP = "httpx2" if has("google-genai>=3") else "httpx"
_ESSENTIAL: dict[str, Any] = {"thorough": False}
_VERTEX = _GENAI | {"provider": "vertex", "model": "gemini-3-flash-preview"}
_VERTEX["where"] = {"vertexai": True, "project": "p", "location": "us-central1"}
_EXPRESS = {"vertexai": True, "api_key": "k"}
_BOTO3_LACKS = {
    "names its answers",
    "refusal",
    "reasoning tokens",
    "several choices",
    "names its model",
    "trio",
    "comments in a stream",
}
_BOTO3: dict[str, Any] = {"provider": "bedrock", "model": "amazon.nova-lite-v1:0", "needs": ("boto3>=1.44",)}
_BOTO3 |= {"can": EVERYTHING - _BOTO3_LACKS, "modes": ("whole", "stream")}
_COHERE_LACKS = {"refusal", "several choices", "names its model", "errors inside a stream", "retries of streams"}
_COHERE: dict[str, Any] = {"provider": "cohere", "model": "command-a-reasoning-08-2025", "needs": ("cohere>=5",)}
if not has("cohere>=7"):  # it decodes each read by itself, and on a loop ends lines at any separator
    _COHERE_LACKS |= {"characters split between reads", "line separators in a stream"}
_COHERE |= {"can": EVERYTHING - _COHERE_LACKS | {"sdk object"}, "modes": ("whole", "stream")}
_COHERE_V1 = dict(_COHERE)
_COHERE_V1["can"] = (
    _COHERE["can"]
    - {"pictures in a request"}
    - {  # of a line of JSON nobody says more, and httpx ends lines at any separator
        *("thinking", "reasoning tokens", "tool choice"),
        *("comments in a stream", "line separators in a stream"),
    }
)
_INVOKED: dict[str, Any] = {"provider": "bedrock", "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}
_INVOKED_CAN = EVERYTHING - {"several choices", "trio", "comments in a stream"}
_CLAUDE_ON_BEDROCK: dict[str, Any] = _INVOKED | {
    "where": {"aws_region": "us-east-1"},
    "statuses": {"authentication": 403, "overloaded": 503},
    "errors": {"authentication": "PermissionDeniedError", "overloaded": "ServiceUnavailableError"},
    "needs": ("anthropic>=0.100", "boto3"),
    "can": _ANTHROPIC["can"] - {"comments in a stream"},
    "modes": _ANTHROPIC["modes"],
}
_CLAUDE_ON_MANTLE = _CLAUDE_ON_BEDROCK | {
    "model": "anthropic.claude-haiku-4-5",
    "can": _ANTHROPIC["can"],
    "statuses": {},
    "errors": {},
    "thorough": False,
}
_CLAUDE_ON_VERTEX: dict[str, Any] = {
    "provider": "vertex",
    "model": "claude-sonnet-4-5@20250929",
    "where": {"region": "us-east5", "project_id": "my-project"},
    "statuses": {"overloaded": 529},
    "errors": {"overloaded": "OverloadedError" if has("anthropic>=1") else "InternalServerError"},
    "needs": ("anthropic>=0.100", "google-auth"),
    "can": _ANTHROPIC["can"],
    "modes": _ANTHROPIC["modes"],
    "thorough": False,
}
_CLAUDE_ON_FOUNDRY = _ANTHROPIC | {"thorough": False, "provider": "azure", "where": {"resource": "my-resource"}}
_CLAUDE_ON_AWS = _ANTHROPIC | {
    "thorough": False,
    "provider": "anthropic_aws",
    "where": {"aws_region": "us-east-1"},
    "needs": ("anthropic>=0.100", "boto3"),
}
_CLAUDE_ON_GOOGLE = _ANTHROPIC | {
    "thorough": False,
    "provider": "anthropic_google_cloud",
    "where": {},
    "needs": ("anthropic>=0.100", "google-auth"),
}
_CHAT_URL = "https://api.openai.com/v1/chat/completions"
_MESSAGES_URL = "https://api.anthropic.com/v1/messages"
_HTTP: dict[str, Any] = {"provider": "openai", "model": "gpt-4.1"}

_VENDOR: dict[str, Any] = {"modes": ("whole", "stream"), "thorough": False}
_PLAIN = EVERYTHING - {"refusal", "content filter", "several choices", "cached tokens", "reasoning tokens"}
_STRICT = _PLAIN | {"strict validation"}
_OWN = _STRICT | {"sdk object"}
_CEREBRAS = _VENDOR | {
    "answer": "cerebras.cloud.sdk.types.chat.chat_completion.ChatCompletionResponse",
    "provider": "cerebras",
    "model": "gpt-oss-120b",
    "needs": ("cerebras-cloud-sdk",),
    "can": _OWN,
}
_TOGETHER = _VENDOR | {
    "answer": "together.types.chat.ChatCompletion",
    "provider": "together",
    "model": "openai/gpt-oss-120b",
    "needs": ("together>=2",),
    "can": _OWN,
}
_WRITER = _VENDOR | {
    "answer": "writerai.types.ChatCompletion",
    "provider": "writer",
    "model": "palmyra-x5",
    "needs": ("writer-sdk",),
}
_WRITER |= {"can": _OWN - {"thinking"}}
_FIREWORKS = _VENDOR | {
    "answer": "fireworks.types.chat.CompletionCreateResponse",
    "provider": "fireworks",
    "model": "accounts/fireworks/models/gpt-oss-120b",
}
_FIREWORKS |= {"needs": ("fireworks-ai>=1",), "can": _OWN - {"errors inside a stream"}}
_ZAI = _VENDOR | {
    "provider": "zai",
    "model": "glm-5",
    "needs": ("zai-sdk",),
    "can": _PLAIN - {"retries"} | {"sdk object"},
}
_HUB = _VENDOR | {"provider": "huggingface", "model": "openai/gpt-oss-120b", "needs": ("huggingface_hub>=2",)}
_HUB |= {"can": _PLAIN - {"retries", "line separators in a stream"}}
_MISTRAL: dict[str, Any] = {"provider": "mistral", "model": "mistral-small-latest", "needs": ("mistralai>=1",)}
_MISTRAL |= {
    "can": EVERYTHING - {"refusal", "content filter", "reasoning tokens", "retries", "trio"}
    | {"sdk object", "strict validation"},
    "modes": ("whole", "stream", "parse"),
}
_AI21 = _VENDOR | {"provider": "ai21", "model": "jamba-large", "needs": ("ai21>=4",)}
_AI21 |= {"can": _PLAIN - {"pictures in a request", "retries", "thinking", "errors inside a stream", "names its model"}}

_OLLAMA_LACKS = {"refusal", "content filter", "several choices", "cached tokens", "reasoning tokens", "retries"}
_OLLAMA_LACKS |= {"names its answers", "names its model", "comments in a stream", "tool choice"}
_OLLAMA_LACKS |= {
    "line separators in a stream",
    "blank lines in a stream",
}  # it takes each line of httpx's for an object
_OLLAMA: dict[str, Any] = {"provider": "ollama", "model": "qwen3:8b", "needs": ("ollama>=0.5",)}
_OLLAMA |= {"can": EVERYTHING - _OLLAMA_LACKS | {"sdk object without an id"}, "modes": ("whole", "stream")}


def _on(provider: str, base_url: str, model: str, *lacks: str, **statuses: int) -> Client:
    return OnHost(
        provider=provider,
        base_url=base_url,
        model=model,
        needs=("openai>=2",),
        can=_STRICT - set(lacks),
        statuses=statuses,
        thorough=False,
    )


_AZURE: dict[str, Any] = {
    "provider": "azure",
    "model": "gpt-4.1",
    "needs": ("openai>=2",),
    "thorough": False,
    "where": {"azure_endpoint": "https://my-resource.openai.azure.com", "api_version": "2024-10-21"},
}
_COUNTED = {"cached tokens", "reasoning tokens"}
_AZURE |= {"can": _PLAIN | _COUNTED | {"content filter"}}
_SONAR: dict[str, Any] = {"provider": "perplexity", "model": "sonar-pro", "needs": ("openai>=2",), "thorough": False}
_SONAR |= {"can": _PLAIN - {"thinking"}, "base_url": "https://api.perplexity.ai"}

_INFERENCE = _VENDOR | {"provider": "azure", "model": "gpt-4.1", "needs": ("azure-ai-inference", "aiohttp")}
_INFERENCE |= {"can": _PLAIN - {"retries", "errors inside a stream", "comments in a stream", "trio"}}

_WATSONX = _VENDOR | {"provider": "watsonx", "model": "ibm/granite-4-h-small", "needs": ("ibm-watsonx-ai",)}
_WATSONX |= {"can": _PLAIN - {"retries", "errors inside a stream", "trio", "line separators in a stream"}}

_DASHSCOPE = _VENDOR | {"provider": "dashscope", "model": "qwen-plus", "needs": ("dashscope>=2",)}
_DASHSCOPE |= {
    "can": _PLAIN - {"pictures in a request", "retries", "trio", "names its model", "line separators in a stream"}
}

_GATEWAY = "https://gateway.ai.cloudflare.com/v1/0123/gateway"

CLIENTS: tuple[Client, ...] = (
    OpenAIChat("openai", "OpenAI", Chat, **_OPENAI_CHAT),
    OpenAIChat("openai", "AsyncOpenAI", Chat, **_OPENAI_CHAT),
    OpenAIResponses("openai", "OpenAI", Responses, **_OPENAI_RESPONSES),
    OpenAIResponses("openai", "AsyncOpenAI", Responses, **_OPENAI_RESPONSES),
    AnthropicMessages("Anthropic", **_ANTHROPIC),
    AnthropicMessages("AsyncAnthropic", **_ANTHROPIC),
    AnthropicMessages("Anthropic", beta=True, **_ANTHROPIC_BETA),
    AnthropicMessages("AsyncAnthropic", beta=True, **_ANTHROPIC_BETA | _ESSENTIAL),
    AnthropicElsewhere("AnthropicBedrock", **_CLAUDE_ON_BEDROCK | _ESSENTIAL),
    AnthropicElsewhere("AsyncAnthropicBedrock", **_CLAUDE_ON_BEDROCK | _ESSENTIAL),
    AnthropicElsewhere("AnthropicBedrockMantle", **_CLAUDE_ON_MANTLE),
    AnthropicElsewhere("AsyncAnthropicBedrockMantle", **_CLAUDE_ON_MANTLE),
    AnthropicElsewhere("AnthropicVertex", **_CLAUDE_ON_VERTEX),
    AnthropicElsewhere("AsyncAnthropicVertex", **_CLAUDE_ON_VERTEX),
    AnthropicElsewhere("AnthropicFoundry", **_CLAUDE_ON_FOUNDRY),
    AnthropicElsewhere("AsyncAnthropicFoundry", **_CLAUDE_ON_FOUNDRY),
    AnthropicElsewhere("AnthropicAWS", **_CLAUDE_ON_AWS),
    AnthropicElsewhere("AsyncAnthropicAWS", **_CLAUDE_ON_AWS),
    AnthropicElsewhere("AnthropicGoogleCloud", **_CLAUDE_ON_GOOGLE),
    AnthropicElsewhere("AsyncAnthropicGoogleCloud", **_CLAUDE_ON_GOOGLE),
    InvokedMessages(
        "boto3-invoke/anthropic_messages", Messages, **_BOTO3 | _INVOKED | _ESSENTIAL | {"can": _INVOKED_CAN}
    ),
    InvokedNova("boto3-invoke/nova", Converse, **_BOTO3 | _ESSENTIAL),
    InvokedChat(
        "boto3-invoke/openai_chat",
        Chat,
        **_BOTO3
        | _ESSENTIAL
        | {"model": "openai.gpt-oss-120b-1:0", "can": _INVOKED_CAN - {"refusal", "reasoning tokens"}},
    ),
    ChatClient("groq", "Groq", GroqChat, **_GROQ),
    ChatClient("groq", "AsyncGroq", GroqChat, **_GROQ),
    GenAI("genai-sync/gemini", Contents, **_GENAI),
    GenAI("genai-async/gemini", Contents, **_GENAI, is_async=True),
    GenAI("genai-async-httpx/gemini", Contents, **_GENAI | _ESSENTIAL, is_async=True, on=_GENAI_HTTP),
    GenAI("genai-sync/vertex", Contents, **_VERTEX),
    GenAI("genai-async/vertex", Contents, **_VERTEX | _ESSENTIAL, is_async=True),
    GenAI("genai-async-httpx/vertex", Contents, **_VERTEX | _ESSENTIAL, is_async=True, on=_GENAI_HTTP),
    GenAI("genai-sync/vertex_by_key", Contents, **_VERTEX | _ESSENTIAL | {"where": _EXPRESS}),
    GenAI("genai-async/vertex_by_key", Contents, **_VERTEX | _ESSENTIAL | {"where": _EXPRESS}, is_async=True),
    Boto3("boto3/bedrock_converse", Converse, **_BOTO3),
    Mistral("mistralai-sync", **_MISTRAL),
    Mistral("mistralai-async", **_MISTRAL, is_async=True),
    Ollama("Client", **_OLLAMA),
    Ollama("AsyncClient", **_OLLAMA),
    Cohere("ClientV2", CohereV2, **_COHERE),
    Cohere("AsyncClientV2", CohereV2, **_COHERE),
    Cohere("Client", CohereV1, **_COHERE_V1),
    Cohere("AsyncClient", CohereV1, **_COHERE_V1 | _ESSENTIAL),
    Http("httpx", Chat, _CHAT_URL, **_HTTP),
    Http("httpx", Chat, _CHAT_URL, **_HTTP, is_async=True),
    Http("httpx2", Chat, _CHAT_URL, **_HTTP),
    Http("httpx2", Chat, _CHAT_URL, **_HTTP, is_async=True),
    Requests("requests", Chat, _CHAT_URL, **_HTTP),
    Aiohttp("aiohttp", Chat, _CHAT_URL, **_HTTP, is_async=True, lacks=frozenset({"trio"})),
    Cerebras("cerebras.cloud.sdk", "Cerebras", **_CEREBRAS),
    Cerebras("cerebras.cloud.sdk", "AsyncCerebras", **_CEREBRAS),
    Vendor("together", "Together", lenient=("stream",), **_TOGETHER),
    Vendor("together", "AsyncTogether", lenient=("stream",), **_TOGETHER),
    Writer("writerai", "Writer", **_WRITER),
    Writer("writerai", "AsyncWriter", **_WRITER),
    Vendor("fireworks", "Fireworks", **_FIREWORKS),
    Vendor("fireworks", "AsyncFireworks", **_FIREWORKS),  # on httpx-aiohttp
    Zai("ZaiClient", **_ZAI),
    Zai("ZhipuAiClient", **_ZAI),
    HuggingFace("InferenceClient", **_HUB),
    HuggingFace("AsyncInferenceClient", **_HUB, is_async=True),
    HuggingFace("InferenceClient", route="groq", **_HUB),
    HuggingFace("InferenceClient", route="cerebras", **_HUB),
    AI21("AI21Client", **_AI21),
    AI21("AsyncAI21Client", **_AI21),
    Lenient(maker="AzureOpenAI", **_AZURE),
    Lenient(maker="AsyncAzureOpenAI", **_AZURE),
    AzureInference("sync", **_INFERENCE),
    AzureInference("async", **_INFERENCE),
    Watsonx("sync", **_WATSONX),
    Watsonx("async", **_WATSONX),
    DashScope("sync", **_DASHSCOPE),
    DashScope("async", **_DASHSCOPE),
    Lenient(**_SONAR),
    _on("together", "https://api.together.xyz/v1", "openai/gpt-oss-120b"),
    _on("fireworks", "https://api.fireworks.ai/inference/v1", "accounts/fireworks/models/deepseek-v3p2"),
    _on("deepseek", "https://api.deepseek.com", "deepseek-reasoner"),
    _on("openrouter", "https://openrouter.ai/api/v1", "anthropic/claude-haiku-4.5", overloaded=502),
    _on("xai", "https://api.x.ai/v1", "grok-4", authentication=400),
    _on("groq", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", "strict validation"),
    _on("cerebras", "https://api.cerebras.ai/v1", "gpt-oss-120b"),
    _on("huggingface", "https://router.huggingface.co/v1", "openai/gpt-oss-120b:groq", "strict validation"),
    _on("nvidia", "https://integrate.api.nvidia.com/v1", "meta/llama-4-maverick-17b-128e-instruct"),
    _on("sambanova", "https://api.sambanova.ai/v1", "gpt-oss-120b"),
    _on("moonshot", "https://api.moonshot.ai/v1", "kimi-k2.6", overloaded=429),
    _on("zai", "https://api.z.ai/api/paas/v4", "glm-5", overloaded=429),
    _on("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-max"),
    _on("ai21", "https://api.ai21.com/studio/v1", "jamba-large", "strict validation", "names its model"),
    _on("github", "https://models.github.ai/inference", "openai/gpt-4.1", "strict validation"),
    _on("cloudflare", f"{_GATEWAY}/compat", "groq/openai/gpt-oss-120b", "strict validation", overloaded=429),
    _on("cloudflare", f"{_GATEWAY}/openai", "gpt-4.1", overloaded=429),
    _on("gemini", "https://generativelanguage.googleapis.com/v1beta/openai/", "gemini-2.5-flash", authentication=400),
    _on(  # whose errors inside a stream have no `error` that openai's SDK looks for
        *("mistral", "https://api.mistral.ai/v1", "mistral-small-latest"),
        *("strict validation", "thinking", "errors inside a stream"),
    ),
    _on("ollama", "http://localhost:11434/v1", "gpt-oss:20b"),
    _on("cohere", "https://api.cohere.ai/compatibility/v1", "command-a-03-2025"),
    _on("vercel", "https://ai-gateway.vercel.sh/v1", "openai/gpt-5"),
    _on("copilot", "https://api.githubcopilot.com", "gpt-4.1"),
    Http("httpx", Messages, _MESSAGES_URL, provider="anthropic", model=_CLAUDE, lacks=frozenset({"several choices"})),
)


TEXT_CLIENTS: tuple[Client, ...] = (
    OpenAICompletions("openai", "OpenAI", Completions, **_OPENAI_TEXT),
    OpenAICompletions("openai", "AsyncOpenAI", Completions, **_OPENAI_TEXT | _ESSENTIAL),
)
"""Those that have nothing but text, neither tools nor schemas."""


def present(clients: Iterable[Client]) -> tuple[Client, ...]:
    """The clients that can be asked in this environment, and for each reason why others can't the first of these."""
    reasons: set[str] = set()
    found: list[Client] = []
    for client in clients:
        if client.unable is None or client.unable not in reasons:
            found.append(client)
            reasons.add(client.unable or "")
    return tuple(found)


HERE = present(CLIENTS)


def skip_unless_able(client: Client, mode: str, needs: tuple[str, ...] = ()) -> None:
    """Skip by capability."""
    if client.unable is not None:
        pytest.skip(client.unable)
    if mode not in client.modes:
        pytest.skip({"helper": "needs a helper that accumulates a stream", "parse": "needs parsing into a model"}[mode])
    for need in needs:
        if need == "pydantic":
            if not has("pydantic"):
                pytest.skip("needs pydantic")
        elif need not in client.can:
            pytest.skip(f"needs a client with: {need}")
        elif need == "retries" and mode != "whole" and "retries of streams" not in client.can:
            pytest.skip("needs a client with: retries of streams")
