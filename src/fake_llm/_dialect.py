"""The shape of a dialect: a record of pure functions over one exchange.

A dialect is one wire vocabulary (OpenAI chat, Anthropic messages, …). It reads a request into a
`View` and writes a turn as a whole body or as events. It knows no framing, no stack, no sibling,
and nothing that cuts across vendors: pacing, faults, strictness and the journal are done outside.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from fake_llm import _json
from fake_llm._form import form
from fake_llm._model import Event, HeaderItems, Message, Request, Response, Role, SentToolCall, ToolResult, Usage, View
from fake_llm._turns import Audio, Citation, Error, Image, Refusal, Reply, ServerTool, Thinking, ToolCall

__all__ = [
    "CREATED",
    "FORGOTTEN",
    "Asked",
    "Choice",
    "Delta",
    "Dialect",
    "Exchange",
    "Ids",
    "Plain",
    "ReadyPart",
    "Spelling",
    "WireEvent",
    "as_written",
    "dicts",
    "free_text",
    "json_kind",
    "media",
    "merge",
    "message",
    "named_results",
    "parsed",
    "parsed_arguments",
    "reach",
    "string",
    "text_of",
]

CREATED: Final = 1_767_225_600
"""When everything on the wire was made: 2026-01-01T00:00:00Z. No wall clock is ever sent."""

WireEvent: TypeAlias = "dict[str, Any] | Event | bytes | str"

ReadyPart: TypeAlias = "str | ToolCall | Thinking | Refusal | Image | Audio | Citation | ServerTool"


class Delta(dict[str, Any]):
    """A payload that carries content: `interval` is waited between two of these."""

    __slots__ = ()


class Plain(dict[str, Any]):
    """A whole answer that isn't JSON, such as sound: the dict is what there is to say of it, its bytes are sent.

    Attributes:
        data: The bytes.
        content_type: Their header.
    """

    __slots__ = ("content_type", "data")

    def __init__(self, data: bytes, content_type: str) -> None:
        super().__init__()
        self.data = data
        self.content_type = content_type


def parsed(request: Request) -> Any:
    """The JSON of a request's body, the fields of a form, `None` when it is none of these."""
    body = request.body
    if not body:
        return None
    try:
        return _json.loads(body)
    except ValueError:
        return form(request)


FORGOTTEN: Final = object()
"""In place of a parsed body that is parsed again for who asks."""


class Asked:
    """One request with its parsed body and, once somebody asks, its view."""

    __slots__ = ("_body", "_view", "dialect", "digest", "request")

    def __init__(self, request: Request, dialect: Dialect, body: Any, digest: bytes = b"") -> None:
        self.request = request
        self.dialect = dialect
        self.digest = digest
        """What tells this request from any other: the same for a retry."""
        self._body = body
        self._view: View | None = None

    @property
    def body(self) -> Any:
        """The parsed JSON body, the fields of a form, `None` when it is none of these. Never altered."""
        if self._body is FORGOTTEN:
            self._body = parsed(self.request)
        return self._body

    def forget(self) -> None:
        """Let go of the parsed body, which takes more room than its bytes; it is parsed again for who asks."""
        if self._body is not None:
            self._body = FORGOTTEN

    @property
    def view(self) -> View:
        """The vendor-neutral view; an empty one for a body that can't be read."""
        if self._view is None:
            try:
                view = self.dialect.read(self.request, self.body)
                self._view = replace(view, messages=named_results(view.messages))
            except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
                self._view = View()
        return self._view


_ALNUM: Final = bytes(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[byte % 62] for byte in range(256)
)
_LOWER: Final = bytes(b"abcdefghijklmnopqrstuvwxyz0123456789"[byte % 36] for byte in range(256))


def _alnum(taken: bytes) -> str:
    return taken.translate(_ALNUM).decode()


def _lower(taken: bytes) -> str:
    return taken.translate(_LOWER).decode()


def _base64(taken: bytes) -> str:
    return base64.urlsafe_b64encode(taken).decode()


def _uuid(taken: bytes) -> str:
    text = taken.hex()
    return f"{text[:8]}-{text[8:12]}-4{text[12:15]}-a{text[15:18]}-{text[18:30]}"


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an id is written.

    Attributes:
        write: Bytes to text.
        bytes: How many bytes so many characters take.
    """

    write: Callable[[bytes], str]
    bytes: Callable[[int], int]


ALNUM: Final = Spelling(_alnum, lambda count: count)
LOWER: Final = Spelling(_lower, lambda count: count)
HEX: Final = Spelling(bytes.hex, lambda count: (count + 1) // 2)
BASE64: Final = Spelling(_base64, lambda count: (count * 3 + 3) // 4)
UUID: Final = Spelling(_uuid, lambda count: 15)


class Ids:
    """A deterministic stream of ids: the same request as the same occurrence of it gives the same ids."""

    __slots__ = ("_at", "_count", "_pool", "_seed")

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._pool = seed
        self._at = 0
        self._count = 0

    @property
    def seed(self) -> bytes:
        """What all of them come from: `Ids` of it gives the same ones from the first on."""
        return self._seed

    def copy(self) -> Ids:
        """Another one that gives the same ids from here on."""
        other = Ids(self._seed)
        other._pool, other._at, other._count = self._pool, self._at, self._count
        return other

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        at = self._at
        end = self._at = at + count
        while len(self._pool) < end:
            self._pool += hashlib.blake2b(b"%d" % self._count, key=self._seed).digest()
            self._count += 1
        return self._pool[at:end]

    def spelt(self, spelling: Spelling, count: int) -> str:
        """So many characters of the next id."""
        return spelling.write(self.take(spelling.bytes(count)))[:count]

    def alnum(self, count: int) -> str:
        """Letters of both cases and digits."""
        return self.spelt(ALNUM, count)

    def lower(self, count: int) -> str:
        """Small letters and digits."""
        return self.spelt(LOWER, count)

    def hex(self, count: int) -> str:
        """Small hexadecimal digits."""
        return self.spelt(HEX, count)

    def base64(self, count: int) -> str:
        """Letters of both cases, digits, `-` and `_`."""
        return self.spelt(BASE64, count)

    def uuid(self) -> str:
        """A version 4 UUID."""
        return self.spelt(UUID, 36)


_WORDS: Final = re.compile(r"\s*\S+|\s+")
_ARGUMENT_CHUNK: Final = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer, ready for a dialect.

    Attributes:
        parts: `str`, `ToolCall` (always with an id), `Thinking`, `Refusal`, `Image`, `Audio`, `Citation` and
            `ServerTool`, in order.
            Structured output has become text or a tool call already; what isn't chat has parts of its own.
        finish_reason: The neutral word, or the vendor's own one.
        logprobs: `(token, logprob)` pairs or the vendor's own entries; `None` when the request doesn't
            ask and the script doesn't say.
        chunk_size: Characters in a piece; without one, a word each.
        chunks: The pieces of the text outright; they join to it.
    """

    parts: tuple[ReadyPart, ...]
    finish_reason: str
    logprobs: tuple[Any, ...] | None = None
    chunk_size: int | None = None
    chunks: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """All text parts joined, those with a citation too."""
        return "".join(text_of(part) for part in self.parts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    def of(self, kind: type[Any]) -> tuple[Any, ...]:
        """The parts of one kind, in order."""
        return tuple(part for part in self.parts if isinstance(part, kind))

    def pieces(self, index: int) -> list[str]:
        """The deltas that the part at `index` is streamed in; they join to it. `[]` for an empty one.

        Of a `str`, `Citation`, `Thinking` or `Refusal` its text; of a `ToolCall` its arguments' JSON, in at least two
        pieces but for `{}`.
        """
        part = self.parts[index]
        if isinstance(part, ToolCall):
            return self._arguments(part.json)
        if isinstance(part, str):
            return self._chunks_of(index) if self.chunks is not None else self.cut(part)
        return self.cut(part.text) if isinstance(part, (Citation, Thinking, Refusal)) else []

    def cut(self, text: str) -> list[str]:
        """The deltas of any text that is streamed as text; they join to it."""
        size = self.chunk_size
        if size is None:
            return _WORDS.findall(text)
        return [text[start : start + size] for start in range(0, len(text), size)]

    def _arguments(self, text: str) -> list[str]:
        size = self.chunk_size or (_ARGUMENT_CHUNK if len(text) > _ARGUMENT_CHUNK else max(1, (len(text) + 1) // 2))
        if text == "{}":
            return [text]
        return [text[start : start + size] for start in range(0, len(text), size)]

    def _chunks_of(self, index: int) -> list[str]:
        """The scripted chunks that fall into one text part: a chunk over a border is cut there."""
        assert self.chunks is not None
        if len(self.parts) == 1 and all(self.chunks) and "".join(self.chunks) == self.parts[0]:
            return list(self.chunks)
        start = sum(len(part) for part in self.parts[:index] if isinstance(part, str))
        part = self.parts[index]
        assert isinstance(part, str)
        end, at, pieces = start + len(part), 0, list[str]()
        for chunk in self.chunks:
            piece = chunk[max(0, start - at) : max(0, end - at)]
            if piece or (not chunk and start <= at < end):
                pieces.append(piece)
            at += len(chunk)
        return pieces


NO_USAGE: Final = Usage(0, 0)


@dataclass(slots=True)
class Exchange:
    """What a dialect writes an answer from.

    Attributes:
        provider: Who was called: `openai`, `groq`, …
        asked: The request.
        ids: Where every id comes from.
        model: The name to stamp on the answer.
        stream: Whether the answer is streamed.
        choices: The answers, one unless the request asks for more; empty for an error.
        usage: The tokens, estimated unless scripted.
        id: The answer's id where the script gives one.
        extra: What the script wants merged into the body; `extend` does it.
        cut: Whether something happens after the content has been streamed (`then=`): a dialect whose
            last content event closes the stream too splits it in two.
        created: Unix seconds for `created` and the like.
        begun: The ids and the id as they were before the answer was written, where it can be asked for again.
        later: Whether this is the answer as it is given later: what runs in the background is done by then.
        cached: The tokens of what is kept and counts as said before the request.
    """

    provider: str
    asked: Asked
    ids: Ids
    model: str
    stream: bool = False
    choices: tuple[Choice, ...] = ()
    usage: Usage = NO_USAGE
    id: str | None = None
    extra: Mapping[str, Any] | None = None
    cut: bool = False
    created: int = CREATED
    begun: tuple[Ids, str | None] | None = None
    later: bool = False
    cached: int = 0

    @property
    def request(self) -> Request:
        """The HTTP request."""
        return self.asked.request

    @property
    def body(self) -> Any:
        """The parsed body of the request."""
        body = self.asked._body
        return body if body is not FORGOTTEN else self.asked.body

    @property
    def view(self) -> View:
        """The vendor-neutral view of the request."""
        return self.asked.view

    @property
    def choice(self) -> Choice:
        """The first answer."""
        return self.choices[0]

    def again(self) -> Exchange:
        """The same exchange, to write its answer once more, with the same ids."""
        ids, key = self.begun or (self.ids, self.id)
        return replace(self, ids=ids.copy(), id=key, later=True)

    def extend(self, document: dict[str, Any]) -> dict[str, Any]:
        """The same document with the script's `extra` merged in."""
        return merge(document, self.extra) if self.extra else document


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One wire vocabulary as a record of functions.

    Attributes:
        name: `openai_chat`, `anthropic_messages`, …: what `call.dialect` says.
        label: The same for people, in messages: `OpenAI chat`.
        read: Request and parsed body to view. May assume nothing of the body's types: what it raises
            for a malformed body is caught.
        check: The vendor's own refusal of a malformed request (wrong types, missing model, …), or
            `None`. Gets the parsed JSON of any type.
        bad_json: The vendor's message for a body that isn't JSON.
        stream: Whether the request asks for a stream.
        model: The model the request names, `""` for none.
        document: The whole answer.
        events: The answer as events: those of the content, then those that close the stream. The
            terminator (`[DONE]`) belongs to the framing.
        failure: A vendor's error as a whole answer, headers included.
        failure_events: The same in the middle of a stream.
        parts: A whole answer of this vendor read back into a turn with `id`, `model`, `usage` and
            `finish_reason`: of an SDK's object, to stream it and to know what it cost.
        headers: Headers of a successful answer, content type excluded.
        tool_id: A new id for a tool call in the vendor's form; `None` where it has none.
        carries: The kinds of parts this vendor can carry; anything else is a mismatch before `document` or
            `events` sees it.
        choices: Whether it can give several answers to one request.
        shaping: The keys of a body that can have a say in how plain text is answered: a schema, the number of
            answers. Where none of them is there, nobody reads the view for it; `None` reads it always.
        counted: What an exchange that nobody scripted a usage for has cost; `None`: the estimate of `_tokens`.
        continues: Parsed body to the id of the answer that it builds on; `None` for a vendor that holds nothing
            of what came before.
        sdk_types: Dotted names of SDK classes that are answers of this dialect, matched along the MRO.
        too_long: The vendor's message for a prompt over the context window, with `{tokens}` and `{window}`.
    """

    name: str
    label: str
    read: Callable[[Request, Any], View]
    check: Callable[[Request, Any], Error | None]
    bad_json: str
    stream: Callable[[Request, Any], bool]
    model: Callable[[Request, Any], str]
    document: Callable[[Exchange], dict[str, Any]]
    events: Callable[[Exchange], tuple[list[WireEvent], list[WireEvent]]]
    failure: Callable[[Exchange, Error], Response]
    failure_events: Callable[[Exchange, Error], list[WireEvent]]
    parts: Callable[[Mapping[str, Any]], Reply]
    headers: Callable[[Exchange], HeaderItems]
    tool_id: Callable[[Ids], str | None]
    carries: frozenset[type]
    choices: bool = False
    shaping: frozenset[str] | None = None
    counted: Callable[[Exchange], Usage] | None = None
    continues: Callable[[Any], str | None] | None = None
    sdk_types: tuple[str, ...] = ()
    too_long: str = "The prompt has {tokens} tokens, the context window {window}."


def text_of(part: ReadyPart) -> str:
    """The text of the answer that is in a part."""
    return part if isinstance(part, str) else part.text if isinstance(part, Citation) else ""


def merge(document: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `document` with `extra` merged in: dicts deeply, anything else replaced."""
    merged = dict(document)
    for key, value in extra.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


class media(str):
    """A placeholder such as `media("[image]")` among the text of a message."""

    __slots__ = ()


def message(
    role: Role,
    texts: Sequence[str],
    tool_calls: Sequence[SentToolCall] = (),
    tool_results: Sequence[ToolResult] = (),
    thinking: str = "",
) -> Message:
    """A `Message` from its text parts in order, `media(…)` where a picture, sound or file stands."""
    plain = [text for text in texts if not isinstance(text, media)]
    text = "\n".join(texts)
    return Message(
        role,
        text,
        tuple(tool_calls),
        tuple(tool_results),
        thinking,
        None if len(plain) == len(texts) else "\n".join(plain),
    )


def free_text(call: ToolCall) -> str:
    """What a tool that takes text is called with: a text, which `{"input": text}` says too."""
    arguments = call.arguments
    if isinstance(arguments, Mapping) and arguments.keys() == {"input"} and isinstance(arguments["input"], str):
        return arguments["input"]
    return call.json


def parsed_arguments(text: Any) -> Any:
    """Tool call arguments out of a history: parsed when they are JSON, else as sent."""
    if not isinstance(text, str):
        return text
    try:
        return _json.loads(text.encode())
    except ValueError:
        return text


def as_written(text: str) -> Mapping[str, Any] | str:
    """Tool call arguments out of an answer: parsed where they are written with the same bytes again, else the text."""
    value = parsed_arguments(text)
    return value if isinstance(value, dict) and _json.text(value) == text else text


def dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list; nothing of anything else."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def string(value: Any) -> str:
    """A text; `""` for anything else."""
    return value if isinstance(value, str) else ""


def reach(value: Any, *path: str) -> Any:
    """What stands at a path of nested objects; `None` where one of them is missing."""
    for key in path:
        if value is None:
            return None
        value = value.get(key) if isinstance(value, (dict, Mapping)) else None
    return value


def json_kind(value: Any) -> str:
    """What a JSON value is, with its article, as vendors say it in their refusals."""
    return _KINDS[type(value)]


_KINDS: Final[Mapping[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def named_results(
    messages: Sequence[Message], earlier: Mapping[str | None, str] = MappingProxyType({})
) -> tuple[Message, ...]:
    """The messages with the names of tool results filled in from the calls that they answer.

    Args:
        messages: The messages.
        earlier: The names of tools that were called before them, by the ids of the calls.
    """
    names: dict[str | None, str] = dict(earlier)
    named: list[Message] = []
    for item in messages:
        for call in item.tool_calls:
            if call.id is not None:
                names[call.id] = call.name
        if any(not result.name and result.id in names for result in item.tool_results):
            results = (replace(result, name=result.name or names.get(result.id, "")) for result in item.tool_results)
            item = replace(item, tool_results=tuple(results))
        named.append(item)
    return tuple(named)
