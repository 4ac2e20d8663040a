"""What the model says: the parts of a turn, a turn's options, errors, faults and verbatim bodies.

Everything here is a frozen value that checks itself when it is written.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Final, Literal, TypeAlias

import orjson

from fake_llm import _json
from fake_llm._errors import ScriptError, clipped, sentence
from fake_llm._model import Event, Usage
from fake_llm._public import public

__all__ = [
    "ERROR_NAMES",
    "PART_TYPES",
    "THEN_TYPES",
    "Audio",
    "Auto",
    "Citation",
    "Disconnect",
    "Embedding",
    "EndOfStream",
    "Error",
    "Framing",
    "Garbage",
    "Image",
    "Json",
    "Part",
    "Raw",
    "Refusal",
    "Reply",
    "ServerTool",
    "Stall",
    "Structured",
    "Then",
    "Thinking",
    "ToolCall",
    "as_part",
    "as_structured",
    "check_chunk_size",
    "check_json",
    "check_number",
    "check_stalls",
    "check_switch",
    "check_type",
    "check_unicode",
    "check_usage",
    "edits_shown",
    "misplaced",
]

ERROR_NAMES: Mapping[str, int] = {
    "bad_request": 400,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
    "request_too_large": 413,
    "context_length": 400,
    "content_filter": 400,
    "rate_limit": 429,
    "quota": 429,
    "server_error": 500,
    "unavailable": 503,
    "overloaded": 529,
    "timeout": 504,
}
"""The names an `Error` can have, each with the status that is usual; a dialect's own table wins."""


_SHOWN_BYTES: Final = 32


class _Value:
    """A frozen value whose repr shows what differs from the defaults."""

    __slots__ = ()
    _positional: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        shown: list[str] = []
        for item in dataclasses.fields(self):  # type: ignore[arg-type]  # its subclasses are dataclasses
            value = getattr(self, item.name)
            default = item.default_factory() if item.default_factory is not dataclasses.MISSING else item.default
            text = (
                f"{value[:_SHOWN_BYTES]!r}… {len(value)} bytes"
                if isinstance(value, bytes) and len(value) > 2 * _SHOWN_BYTES
                else repr(value)
            )
            if item.name in self._positional:
                shown.append(text)
            elif not (value is default or (type(value) is type(default) and value == default)):
                shown.append(f"{item.name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True, repr=False)
class ToolCall(_Value):
    """One call of a tool by the model.

    Args:
        name: The tool's name.
        arguments: A dict, or a `str` that is sent as it is and never checked.
        id: The call's id; without one, a deterministic one in the vendor's form.
        extra: Merged into the vendor's tool call object.
        check: `False` for a model that misbehaves: an unknown tool, arguments off its schema.

    Raises:
        ScriptError: `arguments` can't be written as JSON.

    >>> ToolCall("get_weather", {"city": "Paris"})
    ToolCall('get_weather', {'city': 'Paris'})
    """

    _positional: ClassVar[tuple[str, ...]] = ("name", "arguments")

    name: str
    arguments: Mapping[str, Any] | str = dataclasses.field(default_factory=dict[str, Any])
    id: str | None = None
    extra: Mapping[str, Any] | None = dataclasses.field(default=None, kw_only=True)
    check: bool = dataclasses.field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ScriptError(
                sentence(
                    f"ToolCall got {self.name!r} as its name.",
                    "A name is a str that isn't empty.",
                    'Write ToolCall("get_weather", {"city": "Paris"}).',
                )
            )
        where = f"ToolCall({self.name!r})"
        check_type(self.id, (str,), where, "id", 'id="call_1"')
        check_type(self.extra, (Mapping,), where, "extra", 'extra={"index": 0}')
        if self.extra is not None:
            check_json(dict(self.extra), f"the extra of {where}")
        check_switch(self.check, where, "check")
        if isinstance(self.arguments, str):
            return
        if not isinstance(self.arguments, Mapping):
            raise ScriptError(
                sentence(
                    f"ToolCall({self.name!r}) got arguments of type {type(self.arguments).__name__}: {self.arguments!r}.",
                    "Arguments are a dict, or a str that is sent as it is.",
                    f'Write ToolCall({self.name!r}, {{"name": value}}).',
                )
            )
        check_json(dict(self.arguments), f"the arguments of {where}")

    @property
    def json(self) -> str:
        """The arguments as the model writes them: compact JSON, or the `str` as it is."""
        if isinstance(self.arguments, str):
            return self.arguments
        return _json.text(dict(self.arguments))

    def with_id(self, id: str | None) -> ToolCall:
        """The same call with another id; it was checked when it was written."""
        call = object.__new__(ToolCall)
        for field, value in zip(ToolCall.__slots__, _values(self), strict=True):
            object.__setattr__(call, field, value)
        object.__setattr__(call, "id", id)
        return call


_values: Final = attrgetter(*ToolCall.__slots__)


@dataclass(frozen=True, slots=True, repr=False)
class Thinking(_Value):
    """Reasoning that the model shows before it answers.

    Args:
        text: The reasoning, or its summary.
        signature: The vendor's signature over it; without one, a deterministic one.
        redacted: The text is hidden: the vendor sends only opaque data in its place.

    >>> Reply(Thinking("They want the weather."), "It is sunny.")
    Reply(Thinking('They want the weather.'), 'It is sunny.')
    """

    _positional: ClassVar[tuple[str, ...]] = ("text",)

    text: str
    signature: str | None = None
    redacted: bool = False

    def __post_init__(self) -> None:
        check_text(self.text, "Thinking")
        check_type(self.signature, (str,), "Thinking", "signature", 'signature="c2ln"')
        check_switch(self.redacted, "Thinking", "redacted")


@dataclass(frozen=True, slots=True, repr=False)
class Refusal(_Value):
    """The model declines, in the way each vendor says so.

    >>> Refusal("I can't help with that.")
    Refusal("I can't help with that.")
    """

    _positional: ClassVar[tuple[str, ...]] = ("text",)

    text: str

    def __post_init__(self) -> None:
        check_text(self.text, "Refusal")


@dataclass(frozen=True, slots=True, repr=False)
class Image(_Value):
    """An image that the model made.

    Args:
        data: Its bytes, or as a `str` the URL where it can be fetched.
        media_type: What the bytes are.

    >>> Image(b"GIF89a", media_type="image/gif")
    Image(b'GIF89a', media_type='image/gif')
    """

    _positional: ClassVar[tuple[str, ...]] = ("data",)

    data: bytes | str
    media_type: str = "image/png"

    def __post_init__(self) -> None:
        if not isinstance(self.data, (bytes, str)) or not self.data:
            raise ScriptError(
                sentence(
                    f"Image got {self.data!r}.",
                    "An image is bytes, or a URL as a str.",
                    'Write Image(png_bytes) or Image("https://…").',
                )
            )
        check_type(self.media_type, (str,), "Image", "media_type", 'a str such as "image/png"')

    @property
    def base64(self) -> str:
        """The bytes in base64; a dialect that can't carry a URL refuses one before it asks for this."""
        return base64.b64encode(self.data if isinstance(self.data, bytes) else self.data.encode()).decode()


@dataclass(frozen=True, slots=True, repr=False)
class Audio(_Value):
    """Sound that the model made, or what it says aloud.

    Args:
        data: Its bytes.
        media_type: What the bytes are.
        transcript: What is heard in it, for vendors that send it beside the sound.

    >>> Audio(b"RIFF....WAVE", transcript="Hello!")
    Audio(b'RIFF....WAVE', transcript='Hello!')
    """

    _positional: ClassVar[tuple[str, ...]] = ("data",)

    data: bytes
    media_type: str = "audio/wav"
    transcript: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes) or not self.data:
            raise ScriptError(
                sentence(f"Audio got {clipped(repr(self.data), 80)}.", "Sound is bytes.", "Write Audio(wav_bytes).")
            )
        check_type(self.media_type, (str,), "Audio", "media_type", 'a str such as "audio/wav"')
        check_type(self.transcript, (str,), "Audio", "transcript", 'transcript="Hello!"')
        if self.transcript is not None:
            check_unicode(self.transcript, "Audio")

    @property
    def base64(self) -> str:
        """The bytes in base64."""
        return base64.b64encode(self.data).decode()


@dataclass(frozen=True, slots=True, repr=False)
class Citation(_Value):
    """A piece of the answer's text, with the source that the model gives for it.

    Args:
        text: The text, in its place among the others.
        source: A URL, or the id of a document or file that the request brought.
        title: The source's title.

    >>> ["The sky is ", Citation("blue", "https://sky.example", title="Sky"), "."]
    ['The sky is ', Citation('blue', 'https://sky.example', title='Sky'), '.']
    """

    _positional: ClassVar[tuple[str, ...]] = ("text", "source")

    text: str
    source: str
    title: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ScriptError(sentence(f"Citation got {self.text!r} as its text.", "A text is a str.", _WRITE_CITATION))
        check_unicode(self.text, "Citation")
        if not isinstance(self.source, str) or not self.source:
            raise ScriptError(
                sentence(
                    f"Citation got {self.source!r} as its source.",
                    "A source is a URL, or the id of a document, as a str.",
                    _WRITE_CITATION,
                )
            )
        check_unicode(self.source, "Citation")
        check_type(self.title, (str,), "Citation", "title", 'title="Sky"')


_WRITE_CITATION: Final = 'Write Citation("blue", "https://sky.example").'


@dataclass(frozen=True, slots=True, repr=False)
class ServerTool(_Value):
    """A tool that the provider runs itself, with what came of it: both are in the one answer.

    Args:
        name: `web_search`, `web_fetch`, `code_execution`, `file_search`, `mcp`, …, or a vendor's own word.
        arguments: What the model gives the tool: `{"query": "…"}`, `{"code": "…"}`.
        result: What the tool gives back, as JSON: for a search a list of `{"url", "title", "text"}`, for code its
            output as a `str` or `{"stdout", "stderr", "return_code"}`; anything else is the vendor's own document,
            sent as it is. `None`: no result is in the answer.
        id: The call's id; without one, a deterministic one in the vendor's form.
        error: The vendor's code for a tool that failed, in place of a result.

    Raises:
        ScriptError: What can't be written as JSON, both a result and an error.

    >>> ServerTool("web_search", {"query": "weather"}, [{"url": "https://a.example", "title": "A"}])
    ServerTool('web_search', {'query': 'weather'}, [{'url': 'https://a.example', 'title': 'A'}])
    """

    _positional: ClassVar[tuple[str, ...]] = ("name", "arguments", "result")

    name: str
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    result: Any = None
    id: str | None = None
    error: str | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ScriptError(
                sentence(
                    f"ServerTool got {self.name!r} as its name.",
                    "A name is a str that isn't empty.",
                    'Write ServerTool("web_search", {"query": "weather"}).',
                )
            )
        where = f"ServerTool({self.name!r})"
        if not isinstance(self.arguments, Mapping):
            raise ScriptError(
                sentence(
                    f"{where} got arguments of type {type(self.arguments).__name__}: {self.arguments!r}.",
                    "Arguments are a dict.",
                    f'Write {where[:-1]}, {{"query": "weather"}}).',
                )
            )
        check_json(dict(self.arguments), f"the arguments of {where}")
        check_json(self.result, f"the result of {where}")
        check_type(self.id, (str,), where, "id", 'id="call_1"')
        check_type(self.error, (str,), where, "error", 'error="max_uses_exceeded"')
        if self.error is not None and self.result is not None:
            raise ScriptError(
                sentence(
                    f"{where} got both a result and error={self.error!r}.",
                    "A tool that failed has no result.",
                    "Write one of them.",
                )
            )


@dataclass(frozen=True, slots=True, repr=False)
class Json(_Value):
    """A text answer that is JSON, of any JSON value.

    >>> Json([1, 2])
    Json([1, 2])
    """

    _positional: ClassVar[tuple[str, ...]] = ("value",)

    value: Any

    def __post_init__(self) -> None:
        check_json(self.value, "Json")


@dataclass(frozen=True, slots=True, repr=False)
class Structured(_Value):
    """Structured output, given in the way the request asks for it. Made from dicts, models and dataclasses."""

    value: Mapping[str, Any]

    def __repr__(self) -> str:
        return repr(dict(self.value))


@dataclass(frozen=True, slots=True, repr=False)
class Embedding(_Value):
    """A pinned vector, for `fake.when(operation="embeddings")`: one for each input, or a list of them, one per input.

    Args:
        vector: Finite numbers, sent as they are, neither normalised nor cut: as many as are asked for, unless `check=False` or `strict=False`.

    Raises:
        ScriptError: No numbers, or something else.

    >>> Embedding([1, 0, 0])
    Embedding([1.0, 0.0, 0.0])
    >>> Embedding([0.5] * 1536)
    Embedding([0.5, 0.5, 0.5, … 1536 numbers])
    """

    vector: Sequence[float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", _numbers(self.vector))

    def __repr__(self) -> str:
        shown = [repr(number) for number in self.vector[:_SHOWN]]
        left_out = f"… {len(self.vector)} numbers"
        return f"Embedding([{', '.join(shown if len(self.vector) <= _SHOWN else [*shown[:3], left_out])}])"


_SHOWN: Final = 4


def _numbers(given: Any) -> tuple[float, ...]:
    """The numbers of a vector: of any sequence, an array of numpy too."""
    plain = given.tolist() if hasattr(given, "tolist") else given
    numbers = list(plain) if isinstance(plain, Sequence) and not isinstance(plain, (str, bytes)) else []
    if numbers and all(_is_number(number) and _LEAST <= number <= -_LEAST for number in numbers):
        return tuple(map(float, numbers))
    wrong = next((number for number in numbers if not (_is_number(number) and _LEAST <= number <= -_LEAST)), given)
    raise ScriptError(
        sentence(
            f"Embedding got {clipped(repr(given), 80)}"
            + ("." if wrong is given else f", with {clipped(repr(wrong), 40)}."),
            "A vector is a list of finite numbers, at least one.",
            "Write Embedding([0.1, 0.2, 0.3]).",
        )
    )


_LEAST: Final = -3.4028234663852886e38  # what 32 bits hold: beyond, base64 would say infinity


@dataclass(frozen=True, slots=True, repr=False)
class Auto(_Value):
    """A turn made up from the request's own schema: JSON that fits, a call of a tool with arguments that fit, or a text.

    Structured output, and a tool that the request forces, are given; else the first tool is called until a result has come
    since the last user message; else it is a short text. The same request always gets the same.

    >>> Reply(Auto(), delay=0.5)
    Reply(Auto(), delay=0.5)
    """


Part: TypeAlias = (
    "str | ToolCall | Thinking | Refusal | Image | Audio | Citation | ServerTool | Json | Structured | Embedding | Auto"
)
PART_TYPES = (
    str,
    ToolCall,
    Thinking,
    Refusal,
    Image,
    Audio,
    Citation,
    ServerTool,
    Json,
    Structured,
    Embedding,
    Auto,
)


@dataclass(frozen=True, slots=True, repr=False)
class Disconnect(_Value):
    """The connection breaks: after the parts given, or at a place in the answer as it would have been.

    Args:
        after_bytes: The place: so many bytes of the body have been sent, as they travel (compressed where they are), and
            `call.response.body` has them. 0 is after the headers.
        after_events: The place: so many events of the stream have been sent whole, the terminator (`[DONE]`) among them.
            An answer that isn't streamed has none: its body doesn't come at all.
        reset: Whether it is reset, as by a proxy that dies; else the peer closes it. Clients tell the two apart.

    Raises:
        ScriptError: Both places, or one that isn't a whole number.

    >>> Reply("Hel", then=Disconnect())
    Reply('Hel', then=Disconnect())
    >>> Reply("Hello there", then=Disconnect(after_events=2))
    Reply('Hello there', then=Disconnect(after_events=2))
    """

    after_bytes: int | None = dataclasses.field(default=None, kw_only=True)
    after_events: int | None = dataclasses.field(default=None, kw_only=True)
    reset: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_place(self)
        check_switch(self.reset, "Disconnect", "reset")


@dataclass(frozen=True, slots=True, repr=False)
class Stall(_Value):
    """Nothing more comes: until the client's own read time-out, or for `seconds`, after which it goes on.

    With `seconds` it may stand among the wire events too, in what `edit=` returns and in the list of a `Raw`.

    Args:
        seconds: Without them, what ends the silence is the client's own read time-out.
        after_bytes: The place, as in `Disconnect`.
        after_events: The place, as in `Disconnect`.

    Raises:
        ScriptError: Seconds that can't be, both places, or one that isn't a whole number.

    >>> Reply("Hel", then=Stall())
    Reply('Hel', then=Stall())
    >>> Reply("Hello", edit=lambda events: [events[0], Stall(6), *events[1:]]).parts
    ('Hello',)
    """

    seconds: float | None = None
    after_bytes: int | None = dataclasses.field(default=None, kw_only=True)
    after_events: int | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_number(self.seconds, "Stall", "seconds")
        check_place(self)


@dataclass(frozen=True, slots=True, repr=False)
class EndOfStream(_Value):
    """The stream ends cleanly, without the vendor's closing events, or at a place in the answer as it would have been.

    Args:
        after_bytes: The place, as in `Disconnect`; of a whole answer it leaves the beginning of its JSON.
        after_events: The place, as in `Disconnect`.

    Raises:
        ScriptError: Both places, or one that isn't a whole number.

    >>> Reply("Hel", then=EndOfStream())
    Reply('Hel', then=EndOfStream())
    """

    after_bytes: int | None = dataclasses.field(default=None, kw_only=True)
    after_events: int | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_place(self)


@dataclass(frozen=True, slots=True, repr=False)
class Garbage(_Value):
    """Bytes that don't belong there, as they are; then the stream ends.

    Args:
        data: The bytes.
        after_bytes: The place, as in `Disconnect`.
        after_events: The place, as in `Disconnect`.

    Raises:
        ScriptError: What isn't bytes, both places, or one that isn't a whole number.

    >>> Reply("Hel", then=Garbage(b"<html>"))
    Reply('Hel', then=Garbage(b'<html>'))
    """

    _positional: ClassVar[tuple[str, ...]] = ("data",)

    data: bytes
    after_bytes: int | None = dataclasses.field(default=None, kw_only=True)
    after_events: int | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.data, bytes):
            raise ScriptError(sentence(f"Garbage got {self.data!r}.", "It takes bytes.", 'Write Garbage(b"…").'))
        check_place(self)


@dataclass(frozen=True, slots=True, repr=False)
class Framing(_Value):
    r"""The same events in other bytes; `None` is what the vendor does.

    What a framing has no place for does nothing there, so that one script serves every vendor: JSON lines have no
    `id:`, the frames of AWS no line ends. `split`, `gzip` and `deflate` are about the body and are done everywhere.

    Args:
        newline: The line end: `"\n"`, `"\r\n"` or `"\r"`; of SSE, of JSON lines, of a streamed JSON array.
        space: Whether a blank follows `data:`, in SSE.
        ids: Whether each SSE event has an `id:` line.
        comment: A comment line between SSE events.
        between: Lines that stand between SSE events as a frame of their own: `"event: ping"`, `"data:"`, `"retry: 500"`.
        multiline: Whether the payload of an SSE event stands on several `data:` lines.
        blank_lines: Blank lines after each event, 1 or more; in JSON lines and arrays beyond what ends a line.
        split: What arrives in one read: so many bytes, one of the `"characters"`, one of the `"lines"`, or a list of the
            places where the body is cut, counted in bytes. Without it, one event. Only numbers cut what is no text: a
            compressed body, the frames of AWS.
        gzip: Compress the body, for a client that offers it by `Accept-Encoding`; others get it plain, as of any server.
        deflate: The same with the other coding.
        bom: Begin with a byte order mark; the frames of AWS have none.
        ascii: Escape everything beyond ASCII.
        padding: Pad events as the vendor does to hide their length.

    Raises:
        ScriptError: A value that no stream can have.

    >>> Reply("It is sunny.", framing=Framing(newline="\r\n", split=1)).framing
    Framing(newline='\r\n', split=1)
    """

    newline: str | None = None
    space: bool | None = None
    ids: bool | None = None
    comment: str | None = None
    blank_lines: int | None = None
    split: int | Literal["characters", "lines"] | Sequence[int] | None = None
    gzip: bool | None = None
    bom: bool | None = None
    ascii: bool | None = None
    padding: bool | None = None
    between: str | None = None
    multiline: bool | None = None
    deflate: bool | None = None

    def __post_init__(self) -> None:
        if self.newline not in (None, "\n", "\r\n", "\r"):
            raise ScriptError(
                sentence(
                    f"Framing got newline={self.newline!r}.",
                    "SSE knows three line ends.",
                    'Write newline="\\n", "\\r\\n" or "\\r".',
                )
            )
        for name in ("space", "ids", "gzip", "bom", "ascii", "padding", "multiline", "deflate"):
            if getattr(self, name) is not None:
                check_switch(getattr(self, name), "Framing", name)
        check_type(self.comment, (str,), "Framing", "comment", 'comment="keep-alive"')
        if self.comment is not None and ("\n" in self.comment or "\r" in self.comment):
            raise ScriptError(
                sentence(
                    f"Framing got comment={self.comment!r}.", "A comment is one line.", 'Write comment="keep-alive".'
                )
            )
        check_type(self.between, (str,), "Framing", "between", 'between="event: ping"')
        if self.between is not None and not all(_FIELD.match(line) for line in self.between.split("\n")):
            raise ScriptError(
                sentence(
                    f"Framing got between={self.between!r}.",
                    "It is one line or several of server-sent events, without an empty one.",
                    'Write between="event: ping", "data:" or ": keep-alive".',
                )
            )
        if self.gzip and self.deflate:
            raise ScriptError(
                sentence("Framing got both gzip=True and deflate=True.", "A body has one coding.", "Write one of them.")
            )
        if self.blank_lines is not None and not _is_count(self.blank_lines):
            raise ScriptError(
                sentence(
                    f"Framing got blank_lines={self.blank_lines!r}.",
                    "blank_lines is a whole number, 1 or more.",
                    "Write blank_lines=1.",
                )
            )
        self._check_split()

    def _check_split(self) -> None:
        """Freeze a list of places, and refuse what can't be one."""
        split: Any = self.split
        if split is None or _is_count(split) or split in ("characters", "lines"):
            return
        if isinstance(split, (list, tuple)) and split and all(map(_is_count, split)):
            object.__setattr__(self, "split", tuple(split))
            return
        raise ScriptError(
            sentence(
                f"Framing got split={split!r}.",
                'split is a whole number of bytes, 1 or more, "characters", "lines", or a list of places in bytes.',
                'Write split=1, split="characters" or split=[10, 25].',
            )
        )


_FIELD: Final = re.compile(r"[^\r:]*:[^\r]*\Z|[a-z]+\Z")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


@dataclass(frozen=True, slots=True, repr=False)
class Error(_Value):
    """The provider's error, in its own body and headers.

    Args:
        kind: A status (`429`) or a name (`"overloaded"`).
        message: The message; without one, the vendor's own.
        retry_after: Seconds, as the vendor's own header says them.
        headers: More headers; they win.
        body: The body, in place of the vendor's: a dict as JSON, `bytes`/`str` as they are. Inside a stream it is what the
            vendor's error event says.
        after_events: Only for `then=`: the place in the stream, as in `Disconnect`.

    Raises:
        ScriptError: An unknown name, a status that isn't an error.

    >>> Error(429, retry_after=2)
    Error(429, retry_after=2)
    """

    _positional: ClassVar[tuple[str, ...]] = ("kind",)

    kind: int | str
    message: str | None = None
    retry_after: float | None = dataclasses.field(default=None, kw_only=True)
    headers: Mapping[str, str] | None = dataclasses.field(default=None, kw_only=True)
    body: Any = dataclasses.field(default=None, kw_only=True)
    after_events: int | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.kind, str) and self.kind not in ERROR_NAMES:
            raise ScriptError(
                sentence(
                    f"Error got the name {self.kind!r}.",
                    "The names are " + ", ".join(sorted(ERROR_NAMES)) + ".",
                    "Write one of them, or a status such as Error(429).",
                )
            )
        if not isinstance(self.kind, str) and (
            not isinstance(self.kind, int) or isinstance(self.kind, bool) or not 400 <= self.kind <= 599
        ):
            raise ScriptError(
                sentence(
                    f"Error got {self.kind!r}.",
                    "An error is a status from 400 to 599, or a name.",
                    'Write Error(429) or Error("overloaded"); Raw(body, status=…) sends any other.',
                )
            )
        check_type(self.message, (str,), "Error", "message", 'Error(429, "Too many requests.")')
        check_number(self.retry_after, "Error", "retry_after")
        if isinstance(self.body, str):
            check_unicode(self.body, "the body of Error")
        elif self.body is not None and not isinstance(self.body, bytes):
            check_json(self.body, "the body of Error")
        check_headers(self.headers, "Error")
        check_place(self)

    @property
    def name(self) -> str:
        """The name: itself, or the one that fits the status."""
        return (
            self.kind
            if isinstance(self.kind, str)
            else NAME_OF_STATUS.get(self.kind, "server_error" if self.kind >= 500 else "bad_request")
        )


NAME_OF_STATUS: Mapping[int, str] = {
    400: "bad_request",
    401: "authentication",
    403: "permission",
    404: "not_found",
    413: "request_too_large",
    429: "rate_limit",
    500: "server_error",
    503: "unavailable",
    504: "timeout",
    529: "overloaded",
}

Edit: TypeAlias = Callable[[list[Any]], Any]
"""A function over the list of wire events that returns the list to send."""

Then: TypeAlias = "Disconnect | Stall | EndOfStream | Garbage | Error"
THEN_TYPES = (Disconnect, Stall, EndOfStream, Garbage, Error)


@dataclass(frozen=True, slots=True, repr=False)
class Raw(_Value):
    """Verbatim HTTP.

    Args:
        body: `bytes`/`str` as they are, a dict as a JSON body, a list of dicts as stream events in the
            endpoint's own framing, with `Stall(seconds)` among them.
        status: The status code, from 200.
        headers: Headers; without a content type, one that fits the body.
        then: What happens after the body.
        framing: Other bytes for the same events.

    Raises:
        ScriptError: A body, a status or headers that HTTP can't carry.

    >>> Raw({"detail": "no such deployment"}, status=404)
    Raw({'detail': 'no such deployment'}, status=404)
    """

    _positional: ClassVar[tuple[str, ...]] = ("body",)

    body: Any
    status: int = 200
    headers: Mapping[str, str] | None = None
    then: Then | None = dataclasses.field(default=None, kw_only=True)
    framing: Framing | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.body, (bytes, str, dict, list)):
            raise ScriptError(
                sentence(
                    f"Raw got a body of type {type(self.body).__name__}: {self.body!r}.",
                    "A body is bytes, a str, a dict, or a list of dicts (stream events).",
                    'Write Raw({"id": "x"}) or Raw(b"…").',
                )
            )
        if isinstance(self.body, list) and not all(
            isinstance(item, (dict, Event, str, bytes, Stall)) for item in self.body
        ):
            raise ScriptError(
                sentence(
                    f"Raw got the list {self.body!r}.",
                    "A list holds stream events: dicts, Event(name, payload), or str and bytes that are sent as they are.",
                    'Write Raw([{"id": "x"}]), or Raw("[1, 2]") for a body that is a JSON array.',
                )
            )
        if isinstance(self.body, list):
            check_stalls(self.body, "Raw")
        if isinstance(self.body, str):
            check_unicode(self.body, "the body of Raw")
        if isinstance(self.body, (dict, list)):
            check_json(
                [
                    item.payload
                    if hasattr(item, "payload")
                    else item.decode("latin-1")
                    if isinstance(item, bytes)
                    else item
                    for item in self.body
                    if not isinstance(item, Stall)
                ]
                if isinstance(self.body, list)
                else self.body,
                "Raw",
            )
        if not isinstance(self.status, int) or isinstance(self.status, bool) or not 200 <= self.status <= 599:
            raise ScriptError(
                sentence(
                    f"Raw got status={self.status!r}.",
                    "A status is a whole number from 200 to 599.",
                    "Write Raw(body, status=503).",
                )
            )
        check_headers(self.headers, "Raw")
        check_type(self.then, THEN_TYPES, "Raw", "then", "then=Disconnect(), or another of them")
        if self.then is not None and self.then.after_events is not None and not isinstance(self.body, list):
            raise ScriptError(
                sentence(
                    f"Raw got then={self.then!r}.",
                    "Its body is sent as it is: nobody knows where its events end.",
                    "Write after_bytes=, or the events as a list: Raw([{…}, {…}]).",
                )
            )
        check_type(self.framing, (Framing,), "Raw", "framing", "framing=Framing(split=1)")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Reply:
    """A turn with options.

    Args:
        parts: What the model says, in this order: `str`, `ToolCall`, `Thinking`, `Refusal`, `Image`,
            `Audio`, `Citation`, `ServerTool`, `Json`, `Embedding`, or a dict, Pydantic model or dataclass (structured output).
        usage: The tokens it cost; without one, an estimate.
        model: The model's name on the answer; without one, the request's.
        id: The answer's id; without one, a deterministic one in the vendor's form.
        finish_reason: `stop`, `tool_calls`, `length`, `content_filter`, `refusal`, `stop_sequence`,
            `pause`, `malformed_tool_call`, or a vendor's own word, which passes through.
        delay: Seconds before the first byte.
        interval: Seconds between content chunks.
        chunk_size: Characters in a chunk, 1 or more; without one, a word each.
        chunks: The chunks of the text outright.
        logprobs: `(token, logprob)` pairs, or the vendor's own list; without one, made up when asked for.
        then: What happens after these parts have been streamed.
        framing: Other bytes for the same events.
        edit: A function over the list of wire events just before framing; it returns the list to send, with
            `Stall(seconds)` where the vendor is silent. A list is several, one after the other; `fake_llm.quirks` has some.
        extra: Merged into the vendor's body.
        headers: More headers; they win.
        choices: Further answers, for a request with `n` above 1: each a `str`, a list of parts or a `Reply`.
        check: `False` for a model that misbehaves.

    Raises:
        ScriptError: Something that can't be a part, options that exclude each other.

    >>> Reply("It is sunny.", delay=0.5)
    Reply('It is sunny.', delay=0.5)
    """

    parts: tuple[Part, ...]
    usage: Usage | None
    model: str | None
    id: str | None
    finish_reason: str | None
    delay: float | None
    interval: float | None
    chunk_size: int | None
    chunks: tuple[str, ...] | None
    logprobs: tuple[Any, ...] | None
    then: Then | None
    framing: Framing | None
    edit: Edit | tuple[Edit, ...] | None
    extra: Mapping[str, Any] | None
    headers: Mapping[str, str] | None
    choices: tuple[Reply, ...]
    check: bool

    def __init__(
        self,
        *parts: Any,
        usage: Usage | None = None,
        model: str | None = None,
        id: str | None = None,
        finish_reason: str | None = None,
        delay: float | None = None,
        interval: float | None = None,
        chunk_size: int | None = None,
        chunks: Sequence[str] | None = None,
        logprobs: Sequence[Any] | None = None,
        then: Then | None = None,
        framing: Framing | None = None,
        edit: Edit | Sequence[Edit] | None = None,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        choices: Sequence[Any] = (),
        check: bool = True,
    ) -> None:
        check_number(delay, "Reply", "delay")
        check_number(interval, "Reply", "interval")
        check_chunk_size(chunk_size, "Reply")
        check_headers(headers, "Reply")
        check_usage(usage, "Reply")
        check_type(model, (str,), "Reply", "model", 'model="gpt-5"')
        check_type(id, (str,), "Reply", "id", 'id="chatcmpl-1"')
        check_type(finish_reason, (str,), "Reply", "finish_reason", 'finish_reason="length"')
        check_type(then, THEN_TYPES, "Reply", "then", "then=Disconnect(), or another of them")
        check_type(framing, (Framing,), "Reply", "framing", "framing=Framing(split=1)")
        check_type(extra, (Mapping,), "Reply", "extra", 'extra={"service_tier": "flex"}')
        check_switch(check, "Reply", "check")
        check_list(logprobs, "Reply", "logprobs", 'logprobs=[("Hello", -0.1)]')
        if logprobs is not None:
            check_json(list(logprobs), "logprobs")
            _check_logprobs(logprobs)
        check_list(choices, "Reply", "choices", 'choices=["another answer"]')
        if isinstance(edit, (list, tuple)):
            edit = tuple(edit)
        for one in edit if isinstance(edit, tuple) else () if edit is None else (edit,):
            _check_edit(one)
        if edit == ():
            raise _no_edit(edit)
        if extra is not None:
            check_json(dict(extra), "extra")
        if chunks is not None:
            check_list(chunks, "Reply", "chunks", 'chunks=["Hel", "lo"]')
            if not all(isinstance(chunk, str) for chunk in chunks):
                raise ScriptError(
                    sentence(
                        f"Reply got chunks={chunks!r}.", "Chunks are pieces of its text.", 'Write chunks=["Hel", "lo"].'
                    )
                )
            if chunk_size is not None:
                raise ScriptError(
                    sentence(
                        "Reply got both chunks= and chunk_size=.",
                        "Each says how the text is cut.",
                        "Write one of them.",
                    )
                )
            if not parts:
                parts = ("".join(chunks),)
            joined = "".join(part for part in parts if isinstance(part, str))
            if joined != "".join(chunks):
                raise ScriptError(
                    sentence(
                        f"Reply got chunks={list(chunks)!r}.",
                        f"They don't join to its text {joined!r}.",
                        "Leave out the text, or cut it exactly.",
                    )
                )
        put = object.__setattr__
        put(self, "parts", tuple(as_part(part) for part in parts))
        put(self, "usage", usage)
        put(self, "model", model)
        put(self, "id", id)
        put(self, "finish_reason", finish_reason)
        put(self, "delay", delay)
        put(self, "interval", interval)
        put(self, "chunk_size", chunk_size)
        put(self, "chunks", None if chunks is None else tuple(chunks))
        put(self, "logprobs", None if logprobs is None else tuple(logprobs))
        put(self, "then", then)
        put(self, "framing", framing)
        put(self, "edit", edit)
        put(self, "extra", extra)
        put(self, "headers", headers)
        put(self, "choices", tuple(_as_choice(choice) for choice in choices))
        put(self, "check", check)

    def __repr__(self) -> str:
        shown = [repr(part) for part in self.parts]
        for name, default in _REPLY_DEFAULTS.items():
            value = getattr(self, name)
            if name == "edit" and value is not None:
                shown.append(f"edit={edits_shown(value)}")
            elif value is not default and value != default:
                shown.append(f"{name}={list(value) if isinstance(value, tuple) else value!r}")
        return f"Reply({', '.join(shown)})"

    def replace(self, **changes: Any) -> Reply:
        """The same turn with some fields changed; `parts` as a tuple."""
        values = {name: getattr(self, name) for name in _REPLY_DEFAULTS} | changes
        parts = values.pop("parts", self.parts)
        return Reply(*parts, **values)


_REPLY_DEFAULTS: dict[str, Any] = {
    "usage": None,
    "model": None,
    "id": None,
    "finish_reason": None,
    "delay": None,
    "interval": None,
    "chunk_size": None,
    "chunks": None,
    "logprobs": None,
    "then": None,
    "framing": None,
    "edit": None,
    "extra": None,
    "headers": None,
    "choices": (),
    "check": True,
}


def edits_shown(edit: Edit | tuple[Edit, ...]) -> str:
    """An edit as it was written: a quirk with its arguments, a function by its name."""
    if isinstance(edit, tuple):
        return f"[{', '.join(map(edits_shown, edit))}]"
    return getattr(edit, "__qualname__", None) or repr(edit)


def _check_edit(edit: Any) -> None:
    if not callable(edit):
        raise _no_edit(edit)
    if getattr(edit, "__module__", None) == "fake_llm.quirks" and hasattr(edit, "__name__"):
        raise ScriptError(
            sentence(
                f"Reply got edit=quirks.{edit.__name__}.",
                "It is a function that gives an edit, and isn't one.",
                f"Write edit=quirks.{edit.__name__}(…), with parentheses.",
            )
        )


def _no_edit(edit: Any) -> ScriptError:
    return ScriptError(
        sentence(
            f"Reply got edit={edit!r}.",
            "edit is a function over the list of wire events that returns the list to send, or a list of such.",
            "Write edit=lambda events: events.",
        )
    )


_OF_A_CHOICE: Final = frozenset({"finish_reason", "chunk_size", "chunks", "logprobs", "check"})
"""What each answer of several has of its own; the rest is one for all of them."""


def _as_choice(value: Any) -> Reply:
    if isinstance(value, Reply):
        own = {name for name, default in _REPLY_DEFAULTS.items() if getattr(value, name) not in (default, None)}
        if more := sorted(own - _OF_A_CHOICE):
            raise ScriptError(
                sentence(
                    f"A choice of Reply has {' and '.join(f'{name}=' for name in more)}.",
                    f"An answer of several has {', '.join(sorted(_OF_A_CHOICE))} of its own; the rest is for all of them.",
                    f"Write {more[0]}= on the outer Reply.",
                )
            )
        return value
    if isinstance(value, (list, tuple)):
        return Reply(*value)
    return Reply(value)


def as_part(value: Any) -> Part:
    """A part of a turn, or a `ScriptError` that says what can be one."""
    if isinstance(value, PART_TYPES):
        return value
    structured = as_structured(value)
    if structured is not None:
        return structured
    if isinstance(value, THEN_TYPES):
        raise ScriptError(misplaced(value))
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, PART_TYPES) for item in value):
        parts = ", ".join(map(repr, value))
        raise ScriptError(
            sentence(
                f"A turn got a part of type {_class_path(value)}: {value!r}.",
                "Its parts are given one by one.",
                f"Write Reply({parts}), or Json({value!r}) for a JSON array.",
            )
        )
    raise ScriptError(
        sentence(
            f"A turn got a part of type {_class_path(value)}: {value!r}.",
            "The parts of a turn are str, ToolCall, Thinking, Refusal, Image, Audio, Citation, ServerTool, Json, Embedding, a dict, a Pydantic model or a dataclass.",
            "Write a bare JSON value as Json(…), a vector as Embedding([…])."
            if value is None or isinstance(value, (int, float, list, tuple))
            else 'Write one of these, such as "text" or ToolCall("name", {…}).',
        )
    )


def misplaced(value: Any) -> str:
    """The message for what happens *after* parts, written as one of them."""
    return sentence(
        f"A turn got {value!r} as one of its parts.",
        "What happens after the parts of a turn is said by then=.",
        f'Write Reply("text", then={value!r})'
        + (f", or {value!r} alone for an error in place of an answer." if isinstance(value, Error) else "."),
    )


def as_structured(value: Any) -> Structured | None:
    """Structured output from a dict, a Pydantic model (1 or 2) or a dataclass instance; `None` for anything else."""
    if isinstance(value, Mapping):
        data: Any = dict(value)
    elif isinstance(value, type):
        return None
    elif hasattr(value, "model_dump") and hasattr(type(value), "model_fields"):
        data = _accepted(value, value.model_dump(mode="json"))
    elif hasattr(type(value), "__fields__") and callable(getattr(value, "json", None)):
        data = json.loads(value.json(by_alias=True))
    elif (
        dataclasses.is_dataclass(value)
        and not isinstance(value, type)
        and type(value).__module__.partition(".")[0] != "fake_llm"
    ):
        try:
            data = orjson.loads(orjson.dumps(value))  # dates, enums, UUIDs as JSON has them
        except TypeError:
            data = dataclasses.asdict(value)
    else:
        return None
    if not isinstance(data, dict):
        return None
    check_json(data, f"structured output ({_class_path(value)})")
    return Structured(data)


def _accepted(value: Any, dumped: Any) -> Any:
    """A Pydantic model's JSON as the model itself accepts it: by its aliases of validation, without computed fields."""
    fields = getattr(type(value), "model_fields", None)
    if getattr(type(value), "__pydantic_root_model__", False):
        return _accepted(value.root, dumped)
    if isinstance(fields, Mapping) and isinstance(dumped, dict):
        extra = getattr(value, "model_extra", None) or {}
        computed = getattr(type(value), "model_computed_fields", {})
        if not dumped.keys() <= {*fields, *extra, *computed}:
            return dumped  # a serializer of the model's own
        named = {
            _alias(name, field): _accepted(getattr(value, name), dumped[name])
            for name, field in fields.items()
            if name in dumped
        }
        return named | {name: _accepted(item, dumped[name]) for name, item in extra.items() if name in dumped}
    if isinstance(value, (list, tuple)) and isinstance(dumped, list) and len(value) == len(dumped):
        return [_accepted(item, plain) for item, plain in zip(value, dumped, strict=True)]
    if isinstance(value, Mapping) and isinstance(dumped, dict) and len(value) == len(dumped):
        return {key: _accepted(item, plain) for item, (key, plain) in zip(value.values(), dumped.items(), strict=True)}
    return dumped


def _alias(name: str, field: Any) -> str:
    alias = getattr(field, "validation_alias", None)
    choices = getattr(alias, "choices", None)  # AliasChoices: the schema names the first
    first = choices[0] if choices else alias
    return first if isinstance(first, str) else getattr(field, "alias", None) or name


def check_json(value: Any, where: str) -> None:
    """Refuse what JSON can't hold."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ScriptError(
            sentence(
                f"{where[0].upper()}{where[1:]} can't be written as JSON: {error}.",
                f"It was {value!r}.",
                "Write dicts with str keys, lists, str, numbers, True, False and None.",
            )
        ) from None
    if not _string_keys(value):
        raise ScriptError(
            sentence(
                f"{where[0].upper()}{where[1:]} can't be written as JSON: a key isn't a str.",
                f"It was {value!r}.",
                "Write dicts with str keys: JSON has no others.",
            )
        )


def _string_keys(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _string_keys(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(_string_keys(item) for item in value)
    return True


def _check_logprobs(entries: Sequence[Any]) -> None:
    for entry in entries:
        pair = isinstance(entry, (tuple, list)) and len(entry) == _PAIR
        if isinstance(entry, Mapping) or (pair and isinstance(entry[0], str) and _is_number(entry[1])):
            continue
        raise ScriptError(
            sentence(
                f"Reply got logprobs={list(entries)!r}, with {entry!r}.",
                "An entry is a token with its logprob, or the vendor's own object.",
                'Write logprobs=[("Hello", -0.1)].',
            )
        )


_PAIR: Final = 2


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_unicode(text: str, where: str) -> None:
    """Refuse text that can't be sent as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ScriptError(
            sentence(
                f"{where[0].upper()}{where[1:]} can't be written as UTF-8: {error}.",
                f"It was {text!r}.",
                'Write the bytes outright: b"…".',
            )
        ) from None


def check_text(value: Any, where: str) -> None:
    """Refuse what isn't a `str`."""
    if not isinstance(value, str):
        raise ScriptError(sentence(f"{where} got {value!r}.", f"{where} takes a str.", f'Write {where}("text").'))


def check_stalls(events: Sequence[Any], where: str) -> None:
    """Refuse a silence among wire events that never ends, or that has a place of its own besides that in the list."""
    for item in events:
        if isinstance(item, Stall) and not (item.after_bytes is None and item.after_events is None):
            raise ScriptError(
                sentence(
                    f"{where} got {item!r} among its events.",
                    "It comes where it stands in the list.",
                    f"Write Stall({'' if item.seconds is None else item.seconds}) there, or then={item!r}.",
                )
            )
    if any(isinstance(item, Stall) and item.seconds is None for item in events):
        raise ScriptError(
            sentence(
                f"{where} got Stall() among its events.",
                "It lasts until the client's own read time-out, so nothing can follow it.",
                "Write Stall(seconds) there, or then=Stall() and only the events before it.",
            )
        )


_LONGEST: Final = 10**9
"""Seconds: more fit into no header and no clock."""


def check_number(value: Any, where: str, name: str) -> None:
    """Refuse what isn't `None` or seconds, 0 or more."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
        raise ScriptError(
            sentence(f"{where} got {name}={value!r}.", "A time is in seconds, 0 or more.", f"Write {name}=0.5.")
        )
    if value > _LONGEST:
        raise ScriptError(
            sentence(
                f"{where} got {name}= of more than {_LONGEST} seconds.",
                "No client waits so long.",
                f"Write {name}=0.5.",
            )
        )


def check_place(then: Then) -> None:
    """Refuse what isn't a place in an answer."""
    where = type(then).__name__
    given = [name for name in ("after_bytes", "after_events") if getattr(then, name, None) is not None]
    for name in given:
        value = getattr(then, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ScriptError(
                sentence(
                    f"{where} got {name}={value!r}.",
                    f"{name} is a whole number of {name.removeprefix('after_')}, 0 or more.",
                    f"Write {name}=2.",
                )
            )
    if len(given) > 1:
        raise ScriptError(
            sentence(
                f"{where} got both after_bytes= and after_events=.",
                "Each says where in the answer it happens.",
                "Write one of them.",
            )
        )


def check_chunk_size(value: Any, where: str) -> None:
    """Refuse what isn't `None` or a whole number of characters, 1 or more."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise ScriptError(
            sentence(
                f"{where} got chunk_size={value!r}.", "chunk_size is in characters, 1 or more.", "Write chunk_size=4."
            )
        )


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_list(value: Any, where: str, name: str, write: str) -> None:
    """Refuse what isn't `None`, a list or a tuple."""
    if value is not None and not isinstance(value, (list, tuple)):
        raise ScriptError(sentence(f"{where} got {name}={value!r}.", f"{name} is a list.", f"Write {write}."))


def check_headers(value: Any, where: str) -> None:
    """Refuse what HTTP can't carry as headers."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise ScriptError(
            sentence(
                f"{where} got headers={value!r}.", "headers is a dict of str.", 'Write headers={"x-name": "value"}.'
            )
        )
    for name, content in value.items():
        if (
            not isinstance(name, str)
            or not isinstance(content, str)
            or not _TOKEN.fullmatch(name)
            or not content.isascii()  # what a byte beyond means is each client's own guess
            or any(mark in content for mark in "\r\n\0")
        ):
            raise ScriptError(
                sentence(
                    f"{where} got the header {name!r}: {content!r}.",
                    "Names and values are str on one line" + ("." if str(content).isascii() else ", in ASCII."),
                    'Write headers={"x-name": "value"}.',
                )
            )


def check_type(value: Any, types: tuple[type, ...], where: str, name: str, write: str) -> None:
    """Refuse what is neither `None` nor of one of these types."""
    if value is not None and not isinstance(value, types):
        names = " or ".join(kind.__name__ for kind in types)
        raise ScriptError(sentence(f"{where} got {name}={value!r}.", f"{name} is of type {names}.", f"Write {write}."))


def check_switch(value: Any, where: str, name: str) -> None:
    """Refuse what isn't `True` or `False`."""
    if not isinstance(value, bool):
        raise ScriptError(
            sentence(f"{where} got {name}={value!r}.", f"{name} is on or off.", f"Write {name}=True or {name}=False.")
        )


def check_usage(value: Any, where: str) -> None:
    """Refuse what isn't `None` or a `Usage` of whole numbers, 0 or more."""
    check_type(value, (Usage,), where, "usage", "usage=Usage(12, 5)")
    if value is None:
        return
    counts = (getattr(value, item.name) for item in dataclasses.fields(value) if item.name != "details")
    if not all(count is None or (type(count) is int and count >= 0) for count in counts):
        raise ScriptError(
            sentence(
                f"{where} got usage={value!r}.", "Tokens are whole numbers, 0 or more.", "Write usage=Usage(12, 5)."
            )
        )
    if not isinstance(value.details, Mapping):
        raise ScriptError(
            sentence(f"{where} got usage={value!r}.", "details is a dict.", 'Write details={"requests": 1}.')
        )
    if value.details:
        check_json(dict(value.details), "the details of a Usage")


def _class_path(value: Any) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


public(
    Audio,
    Auto,
    Citation,
    Disconnect,
    Embedding,
    EndOfStream,
    Error,
    Framing,
    Garbage,
    Image,
    Json,
    Raw,
    Refusal,
    Reply,
    ServerTool,
    Stall,
    Thinking,
    ToolCall,
)
