"""What travels between a stack and the core, and the vendor-neutral view of a request.

A stack turns its library's request into a `Request` and plays back a `Response` or a `Fault`. It
knows nothing of vendors, scripts or strictness; the core knows nothing of HTTP libraries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload
from urllib.parse import parse_qs, unquote, urlsplit

from fake_llm._errors import masked
from fake_llm._public import public

__all__ = [
    "AUTO",
    "NO_TIMEOUTS",
    "USUAL",
    "Event",
    "Fault",
    "FaultKind",
    "Handler",
    "HeaderItems",
    "Headers",
    "Message",
    "Pause",
    "Request",
    "Response",
    "Role",
    "SentToolCall",
    "Step",
    "Timeouts",
    "ToolChoice",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "View",
    "masked_url",
]

_SECRET = re.compile(
    r"authorization|(?:^|[-_])auth(?:$|[-_])|cookie|(?<!page)(?<!page[-_])token(?!s)|secret|credential|password|passwd|signature"
    r"|session|jwt|api[-_]?key|(?<!idempotency[-_])(?<!cache[-_])key$|^(?:sig|code|pwd)$"
)
_HARMLESS = "access-control-"


def _is_secret(name: str) -> bool:
    """Whether what a header or a parameter of this name has is nobody's business."""
    lower = name.lower()
    return _SECRET.search(lower) is not None and not lower.startswith(_HARMLESS)


_Default = TypeVar("_Default")


class Headers(Mapping[str, str]):
    """HTTP headers: case-insensitive, several values of one name joined by `, `; secrets masked in the repr."""

    __slots__ = ("_items", "_lower", "given")

    def __init__(self, items: Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]] = ()) -> None:
        self.given = items
        """Names and values as the stack gave them."""
        self._items: tuple[tuple[str, str], ...] | None = None
        self._lower: dict[str, str] | None = None

    def _map(self) -> dict[str, str]:
        if self._lower is None:
            items = self.multi_items()
            lower = {name.lower(): value for name, value in items}
            if len(lower) < len(items):
                lower = _joined(items)
            self._lower = lower
        return self._lower

    def __getitem__(self, name: str) -> str:
        return self._map()[name.lower()]

    @overload
    def get(self, key: str, default: None = None, /) -> str | None: ...
    @overload
    def get(self, key: str, default: str, /) -> str: ...
    @overload
    def get(self, key: str, default: _Default, /) -> str | _Default: ...
    def get(self, key: str, default: Any = None, /) -> Any:
        """The value of a name; of headers that are looked into once, only this one is made ready."""
        name = key.lower()
        if self._lower is not None:
            return self._lower.get(name, default)
        size = len(name)
        found = None
        for given, value in self.given:
            if len(given) == size and _text(given).lower() == name:
                if found is not None:
                    return self._map()[name]
                found = value
        return default if found is None else _text(found)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._map()

    def __iter__(self) -> Iterator[str]:
        return iter(self._map())

    def __len__(self) -> int:
        return len(self._map())

    def multi_items(self) -> tuple[tuple[str, str], ...]:
        """Every name and value in the order they travelled."""
        if self._items is None:
            self._items = tuple((_text(name), _text(value)) for name, value in self.given)
        return self._items

    def __repr__(self) -> str:
        shown = {name: "***" if _is_secret(name) else masked(value) for name, value in self.multi_items()}
        return f"Headers({shown!r})"


def _text(value: str | bytes) -> str:
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _joined(items: Sequence[tuple[str, str]]) -> dict[str, str]:
    lower: dict[str, str] = {}
    for name, value in items:
        key = name.lower()
        lower[key] = f"{lower[key]}, {value}" if key in lower else value
    return lower


_USER_INFO = re.compile(
    r"^((?:[a-z][a-z0-9+.-]*:)?//)?"
    r"(?:[^/?#]*|[^/?#@:\[\]]*:(?!\d*(?:[/?#]|$)).*)@",  # where the port is none, what follows may be a password
    re.IGNORECASE,
)


def masked_url(url: str) -> str:
    """The URL, or what was meant as one, with the values of key-like query parameters and user info replaced by `***`."""
    if "@" in url:
        url = _USER_INFO.sub(lambda found: f"{found[1] or ''}***@", url)
    if "?" not in url:
        return masked(url)
    place, _, query = url.partition("?")
    query, sharp, fragment = query.partition("#")
    pairs = (pair.partition("=") for pair in query.split("&"))
    shown = (
        f"{name}{equals}{'***' if equals and _is_secret(unquote(name)) else value}" for name, equals, value in pairs
    )
    return masked(f"{place}?{'&'.join(shown)}{sharp}{fragment}")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The client's own time-outs in seconds; `None` where it has none. `total` is that of a whole exchange."""

    connect: float | None = None
    read: float | None = None
    write: float | None = None
    pool: float | None = None
    total: float | None = None


NO_TIMEOUTS = Timeouts()


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request as its library sends it: `url` absolute, `body` whole; neither is shown in the repr."""

    method: str
    url: str = field(repr=False)
    headers: Headers
    body: bytes = field(repr=False)
    library: str
    timeouts: Timeouts = NO_TIMEOUTS

    @property
    def host(self) -> str:
        """Host and port as in the URL, lower case."""
        return urlsplit(self.url).netloc.rpartition("@")[2].lower()

    @property
    def path(self) -> str:
        """The path, percent-encoded as it travelled."""
        return urlsplit(self.url).path

    @property
    def query(self) -> dict[str, str]:
        """The last value of each query parameter."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.url).query, keep_blank_values=True).items()}

    def path_part(self, index: int) -> str:
        """One unquoted part of the path, as `request.path_part(-1)`."""
        return unquote(self.path.split("/")[index])


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait `seconds` before the next step of a body."""

    seconds: float


FaultKind: TypeAlias = Literal[
    "read_timeout",
    "connect_timeout",
    "write_timeout",
    "pool_timeout",
    "total_timeout",
    "connect",
    "dns",
    "certificate",
    "tls",
    "reset",
    "disconnect",
    "raise",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """The exchange fails below HTTP, in place of an answer or in the middle of a body.

    Attributes:
        kind: `read_timeout`, `connect_timeout`, `write_timeout`, `pool_timeout`, `total_timeout`, `connect` (nobody
            there), `dns` (no such name), `certificate` (one that isn't trusted), `tls` (no handshake), `reset` (the peer is
            gone without a word), `disconnect` (the peer closed before or in the middle of the body) or `raise`.
        message: The text of the library's own exception.
        error: The exception to raise as it is, for the kind `raise`.
        cause: What the system said, with its number, for a library that hands that on.
        delay: Seconds to wait first.
    """

    kind: FaultKind
    message: str = ""
    error: BaseException | None = None
    delay: float = 0.0
    cause: OSError | None = None


USUAL: Mapping[str, str] = {
    "connect": "[Errno 111] Connection refused",
    "dns": "[Errno -2] Name or service not known",
    "certificate": "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)",
    "tls": "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)",
    "reset": "[Errno 104] Connection reset by peer",
}
"""What the system says of a connection that fails, by the kind of a fault."""

Step: TypeAlias = "bytes | Pause | Fault"

HeaderItems: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values of an answer's headers, in the order they are sent."""


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer.

    Attributes:
        status: The status code.
        headers: Names and values in the order they are sent; no `content-length`, no
            `transfer-encoding`: these are said by `framed`.
        body: The whole body, when it isn't streamed.
        steps: The body in steps, when it is streamed or breaks off: each `bytes` reaches the client as
            one read, a `Pause` is waited out, a `Fault` ends it.
        delay: Seconds to wait before the status line.
        length: The `content-length` of a body in steps, where it has one; more than what comes of one that breaks off.
    """

    status: int
    headers: HeaderItems = ()
    body: bytes = b""
    steps: tuple[Step, ...] | None = None
    delay: float = 0.0
    length: int | None = None

    def framed(self) -> tuple[str, str]:
        """The header that says where the body ends."""
        if self.steps is not None and self.length is None:
            return "transfer-encoding", "chunked"
        return "content-length", str(len(self.body) if self.length is None else self.length)

    def bodiless(self, method: str) -> bool:
        """Whether HTTP has no body there, whatever stands in this one."""
        return method == "HEAD" or self.status in (204, 304)


class Handler(Protocol):
    """What a stack asks.

    `claims` decides by method and URL alone, before a body is read. A claimed request is always
    answered, or the answer is raised as a `BaseException`.
    """

    def claims(self, method: str, url: str) -> bool:
        """Whether this request is answered here; anything else goes to the original."""
        ...

    def answer(self, request: Request) -> Response | Fault:
        """The answer for a client that blocks."""
        ...

    async def answer_async(self, request: Request) -> Response | Fault:
        """The answer for a client on an event loop."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream before framing.

    Attributes:
        name: The event's name where it isn't in the payload, else `None`.
        payload: A JSON value.
    """

    name: str | None
    payload: Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one exchange.

    Attributes:
        input_tokens: All tokens of the request, cached ones included.
        output_tokens: All tokens of the answer, reasoning included.
        cached_tokens: Those of the input that were read from a cache.
        cache_write_tokens: Those of the input that were written to a cache.
        reasoning_tokens: Those of the output that were reasoning.
        total_tokens: Input plus output unless given.
        details: Vendor fields merged into the vendor's own usage object as they are; a sum of usages has none.

    >>> (Usage(12, 5) + Usage(20, 3)).total
    40
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)

    @property
    def total(self) -> int:
        """`total_tokens`, or input plus output."""
        return self.input_tokens + self.output_tokens if self.total_tokens is None else self.total_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.total + other.total if (self.total_tokens, other.total_tokens) != (None, None) else None,
        )


class _Shown:
    """A value whose repr masks the keys in its texts."""

    __slots__ = ()

    def __repr__(self) -> str:
        given: Any = self
        shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(given) if one.repr)
        return masked(f"{type(self).__name__}({', '.join(shown)})")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SentToolCall(_Shown):
    """A tool call as it stands in a request's history.

    Attributes:
        name: The tool's name.
        arguments: Parsed when they are JSON, else the text as sent.
        id: The call's id, `None` where the vendor has none.
    """

    name: str
    arguments: Any
    id: str | None = None

    def __eq__(self, other: object) -> bool:
        """Equal to a `ToolCall` of the same name and arguments too; ids count where both have one."""
        if not hasattr(other, "arguments") or not hasattr(other, "name"):
            return NotImplemented
        call: Any = other
        theirs = getattr(call, "id", None)
        same = (self.name, self.arguments) == (call.name, call.arguments)
        return same and (self.id is None or theirs is None or self.id == theirs)

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True, repr=False)
class ToolResult(_Shown):
    """A tool's result as it was fed back.

    Attributes:
        id: The id of the call it answers, `None` where the vendor has none.
        name: The tool's name, found by the id where the vendor sends only that; `""` when unknown.
        text: The text; media as `[image]` and the like, JSON objects as their JSON.
        is_error: Whether it was marked as an error.
    """

    id: str | None
    name: str
    text: str
    is_error: bool = False


Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, repr=False)
class Message(_Shown):
    """One message of a request, the same for every vendor.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        text: All text, parts joined by a line end; media as `[image]`, `[video]`, `[audio]`, `[file]`.
        tool_calls: Calls the assistant made.
        tool_results: The one result of a `tool` message.
        thinking: Reasoning text that was sent back.
    """

    role: Role
    text: str
    tool_calls: tuple[SentToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    thinking: str = ""
    plain: str | None = field(default=None, repr=False, compare=False)
    """The text without placeholders; `None` when it equals `text`."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A function tool that a request offers: its JSON schema (`{}` when there is none) and whether it is strict."""

    name: str
    schema: Mapping[str, Any]
    description: str = ""
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """How the request wants tools used: `auto`, `none`, `any` (at least one) or `tool` (the one named).

    Attributes:
        allowed: Where a choice allows only some of the tools, their names.
    """

    mode: Literal["auto", "none", "any", "tool"] = "auto"
    name: str | None = None
    allowed: frozenset[str] | None = None


AUTO = ToolChoice()


@dataclass(frozen=True, slots=True)
class View:
    """A request as every vendor could have said it.

    Attributes:
        messages: All messages in order, system ones included where the vendor has them in the list.
        system: The system text, wherever the vendor puts it; several joined by a line end.
        tools: The function tools by name, in order.
        tool_choice: How they are to be used.
        schema: The JSON schema of the structured output that was asked for, `{}` for a bare JSON
            mode, `None` for neither.
        params: The other settings: `max_tokens`, `temperature`, `top_p`, `top_k`, `stop` (a list),
            `seed`, `n` under these names, the rest under the vendor's.
        whole: Whether the request is the whole truth: `False` with `previous_response_id`, stored
            prompts, cached contents.
        server_tools: The offered tools that the provider runs itself, under every name by which a `ServerTool` may
            speak of them; `None` where the dialect doesn't read them, and then none is checked.
    """

    messages: tuple[Message, ...] = ()
    system: str = ""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    tool_choice: ToolChoice = AUTO
    schema: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    whole: bool = True
    server_tools: frozenset[str] | None = None


public(Event, Message, ToolResult, Usage)
