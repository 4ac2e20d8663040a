"""The journal: what the code asked of a model, and what it was answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, overload

from fake_llm import _json
from fake_llm._dialect import Choice, message, named_results, parsed_arguments
from fake_llm._errors import clipped
from fake_llm._model import Headers, Message, Request, Response, SentToolCall, ToolResult, Usage, masked_url
from fake_llm._public import public

if TYPE_CHECKING:
    from fake_llm._dialect import Asked

__all__ = ["Answered", "Call", "Calls", "fits", "retry_count", "vocabulary"]


class Answered:
    """The answer as it was sent.

    Attributes:
        status: The status code.
        headers: The headers, case-insensitive.
        body: The bytes.
    """

    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: Response) -> None:
        self._response = response
        self.status = response.status
        self.headers = Headers(response.headers)

    @property
    def body(self) -> bytes:
        """The bytes of the body, all steps joined."""
        if self._response.steps is None:
            return self._response.body
        return b"".join(step for step in self._response.steps if isinstance(step, bytes))

    def __repr__(self) -> str:
        return f"<fake_llm response {self.status}, {len(self.body)} bytes>"


class Call:
    """One request to a model and its answer; read only.

    The view (`messages`, `tools`, …) is the same for every vendor, computed when asked for, and shows
    what was sent in this request. `raw` and `body` are exact.

    Attributes:
        index: Its place in `fake.calls`.
        timestamp: When it came, in Unix seconds.
        provider: Who was called: `openai`, `anthropic`, `gemini`, …
        operation: `chat` for every generation endpoint, else `count_tokens`, `models`, …
        model: The model asked for, `""` for none.
        stream: Whether a stream was asked for.
        reply: What answered it: a `Reply`, `Error`, `Raw`, exception or SDK object; `None` if nothing did.
        cost: What `cost=` made of the usage.
        response: Status, headers and body as sent; `None` if there was none.
        waited: Seconds that were scripted to pass, whether they did or, with `virtual_time`, didn't; after an error also those
            that the SDK would have slept before its next attempt, which `skip_backoff` leaves out.
    """

    __slots__ = (
        "_asked",
        "_attempt",
        "_before",
        "_body",
        "_chosen",
        "_earlier",
        "_failure",
        "_origin",
        "_refused",
        "_response",
        "_usage",
        "cost",
        "index",
        "model",
        "operation",
        "provider",
        "reply",
        "stream",
        "timestamp",
        "waited",
    )

    def __init__(
        self, asked: Asked, *, index: int, timestamp: float, provider: str, operation: str, model: str, stream: bool
    ) -> None:
        self._asked = asked
        self._body: Any = _UNREAD
        self._response: Response | None = None
        self._refused = False
        self._failure: BaseException | None = None
        self._before: Call | None = None
        self._earlier: tuple[Message, ...] = ()
        self._origin: tuple[int, int] = (0, 0)
        self._chosen: tuple[Choice, ...] = ()
        self.index = index
        self.timestamp = timestamp
        self._attempt: int | None = None
        self.provider = provider
        self.operation = operation
        self.model = model
        self.stream = stream
        self.reply: Any = None
        self._usage: Usage | tuple[str, int, int] | None = None
        """Of a plain text that was answered this and its tokens of both ways: usage and choices are made of them for who asks."""
        self.cost: Any = None
        self.waited = 0.0

    @property
    def attempt(self) -> int:
        """1, and one more for each retry of the same call by an SDK."""
        if self._attempt is None:
            self._attempt = (retry_count(self._request) or 0) + 1
        return self._attempt

    @property
    def usage(self) -> Usage | None:
        """The tokens; `None` for anything but an answer."""
        if isinstance(self._usage, tuple):
            self._unfold(*self._usage)
        assert not isinstance(self._usage, tuple)
        return self._usage

    @property
    def _choices(self) -> tuple[Choice, ...]:
        if isinstance(self._usage, tuple):
            self._unfold(*self._usage)
        return self._chosen

    def _unfold(self, text: str, given: int, written: int) -> None:
        self._chosen = (Choice((text,), "stop"),)
        self._usage = Usage(given, written)

    @property
    def dialect(self) -> str:
        """The wire vocabulary, such as `openai_chat` or `anthropic_messages`."""
        return self._asked.dialect.name

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self._request.method

    @property
    def url(self) -> str:
        """The URL; the values of key-like query parameters are masked."""
        return masked_url(self._request.url)

    @property
    def headers(self) -> Headers:
        """The request's headers, case-insensitive; secrets are masked in the repr."""
        return self._request.headers

    @property
    def raw(self) -> bytes:
        """The body as it was sent."""
        return self._request.body

    @property
    def body(self) -> Any:
        """The body parsed; it can't be altered. `None` when it isn't JSON."""
        if self._body is _UNREAD:
            self._body = _json.freeze(self._asked.body)
        return self._body

    @property
    def response(self) -> Answered | None:
        """What was sent back."""
        return None if self._response is None else Answered(self._response)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of the request in order, a tool's result as a message of its own."""
        return self._asked.view.messages

    @property
    def conversation(self) -> tuple[Message, ...]:
        """The messages with those before them that the provider remembers (`previous_response_id`, `conversation`)."""
        return tuple(self._backwards())[::-1] if self._earlier or self._before is not None else self.messages

    @property
    def _remembered(self) -> tuple[Message, ...]:
        """Those that the provider remembers alone."""
        if not self._earlier and self._before is None:
            return ()
        said = self.conversation
        return said[: len(said) - len(self.messages)]

    def _backwards(self) -> Iterator[Message]:
        """The conversation, the last message first."""
        call: Call | None = self
        while call is not None:
            yield from reversed(call._own())
            yield from reversed(call._earlier)
            call = None if call._earlier else call._before
            if call is not None:
                yield from call._said()

    def _own(self) -> tuple[Message, ...]:
        """The messages of the request; its results have their names from all of the conversation."""
        if self._before is None and not self._earlier:
            return self.messages
        wanted = {result.id for said in self.messages for result in said.tool_results if not result.name}
        names = {found.id: found.name for found in self._earlier_calls(wanted)}
        return named_results(self.messages, names) if names else self.messages

    def _earlier_calls(self, ids: AbstractSet[str | None]) -> Iterator[SentToolCall]:
        """The tool calls of these ids that were made before this request, each the last of its id."""
        missing = {one for one in ids if one is not None}
        call: Call | None = self
        while call is not None and missing:
            before = None if call._earlier else call._before
            sent = () if before is None else (*before._said(), *reversed(before.messages))
            for said in (*reversed(call._earlier), *sent):
                for made in reversed(said.tool_calls):
                    if made.id in missing:
                        missing.discard(made.id)
                        yield made
            call = before

    def _said(self) -> Iterator[Message]:
        """The answer as a message of the conversation that builds on it, if there is one."""
        for choice in self._choices[:1]:
            calls = (SentToolCall(call.name, parsed_arguments(call.json), call.id) for call in choice.tool_calls)
            yield message("assistant", [choice.text] if choice.text else [], tuple(calls))

    @property
    def system(self) -> str:
        """The system text; `""` for none."""
        return self._asked.view.system

    @property
    def user_texts(self) -> tuple[str, ...]:
        """The text of each user message, without placeholders for media; of a call for embeddings, each input."""
        return tuple(
            message.text if message.plain is None else message.plain
            for message in self.messages
            if message.role == "user"
        )

    @property
    def last_user_text(self) -> str:
        """The text of the last user message, media as `[image]` and the like; `""` for none."""
        return next((message.text for message in reversed(self.messages) if message.role == "user"), "")

    @property
    def tools(self) -> dict[str, Mapping[str, Any]]:
        """The JSON schema of each tool that was offered, by name."""
        return {name: tool.schema for name, tool in self._asked.view.tools.items()}

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results that were fed back after the last message of the assistant."""
        results: list[ToolResult] = []
        for said in self._backwards():
            if said.role == "assistant":
                break
            results[:0] = said.tool_results
        return tuple(results)

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that the answer was asked in; `{}` for a bare JSON mode, `None` for neither."""
        return self._asked.view.schema

    @property
    def params(self) -> Mapping[str, Any]:
        """Settings under neutral names (`max_tokens`, `temperature`, `stop`, …), others under the vendor's."""
        return self._asked.view.params

    @property
    def _sent(self) -> bytes:
        """What tells its body from any other; the same for a retry."""
        return self._asked.digest or self.raw

    @property
    def _request(self) -> Request:
        return self._asked.request

    def __repr__(self) -> str:
        what = f"{self.provider} {self.operation}" + (f" {self.model}" if self.model else "")
        answered = f"{self._response.status}" if self._response is not None else "no response"
        said = clipped(" ".join(self.last_user_text.split()), 60)
        return f"<fake_llm.Call {self.index}: {what}{' stream' if self.stream else ''}{f' {said!r}' if said else ''}, {answered}>"


_DIGITS: Final = 10


def retry_count(request: Request) -> int | None:
    """What an SDK says of its retries: 0 for a new call, `None` where it says nothing."""
    text = request.headers.get("x-stainless-retry-count")
    if text is not None and text.isdecimal() and len(text) < _DIGITS:
        return int(text)
    attempt = _AWS_ATTEMPT.match(request.headers.get("amz-sdk-request", ""))
    return int(attempt[1]) - 1 if attempt is not None else None


_AWS_ATTEMPT: Final = re.compile(rf"attempt=([1-9][0-9]{{0,{_DIGITS - 2}}})(?![0-9])", re.ASCII)
"""What SDKs of AWS say: `attempt=2; max=3`, or nothing of `max` (botocore 1.44, 2026-11)."""


def vocabulary(call: Call) -> str:
    """Whose language was spoken, for people: `openai responses`, `groq (openai chat)`."""
    if call.operation == "unknown":
        return call.provider
    named = call.dialect.replace("_", " ")
    return named if named.startswith(call.provider) else f"{call.provider} ({named})"


_UNREAD: Any = object()


def fits(pattern: str | re.Pattern[str] | None, value: str) -> bool:
    """Whether a value is equal to a `str`, or found by a pattern; `None` fits everything."""
    if pattern is None:
        return True
    return value == pattern if isinstance(pattern, str) else pattern.search(value) is not None


class Calls(Sequence[Call]):
    """Calls in the order they came."""

    __slots__ = ("_items",)

    def __init__(self, items: Sequence[Call] = ()) -> None:
        self._items = list(items)

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> Calls: ...
    def __getitem__(self, index: int | slice) -> Call | Calls:
        if isinstance(index, slice):
            return Calls(self._items[index])
        try:
            return self._items[index]
        except IndexError:
            raise IndexError(f"there is no call {index}: {_counted(len(self._items))} came") from None

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._items.copy())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Calls):
            return self._items == other._items
        return list(self._items) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it grows, and equals lists

    @property
    def first(self) -> Call | None:
        """The first call, `None` when there is none."""
        return self._items[0] if self._items else None

    @property
    def last(self) -> Call | None:
        """The last call, `None` when there is none."""
        return self._items[-1] if self._items else None

    @property
    def chat(self) -> Calls:
        """The calls that asked for generation."""
        return self.filter(operation="chat")

    def grouped(self) -> tuple[Calls, ...]:
        """The calls by what the code asked: one group for a call of an SDK, with the attempts that its retries made.

        >>> from fake_llm import Error, intercept
        >>> import httpx
        >>> with intercept([Error(429), "ok"]) as fake:
        ...     for retry in ("0", "1"):
        ...         answer = httpx.post(
        ...             "https://api.openai.com/v1/responses",
        ...             json={"model": "gpt-5", "input": "Hi"},
        ...             headers={"x-stainless-retry-count": retry},
        ...         )
        >>> [[call.attempt for call in attempts] for attempts in fake.calls.grouped()]
        [[1, 2]]
        """
        groups: list[list[Call]] = []
        waiting: dict[tuple[str, bytes, int], list[list[Call]]] = {}
        for call in self._items:
            before = waiting.get((call._request.url, call._sent, call.attempt - 1))
            if before:
                same = (index for index, group in enumerate(before) if group[-1]._origin == call._origin)
                group = before.pop(next(same, 0))
            else:
                groups.append(group := [])
            group.append(call)
            waiting.setdefault((call._request.url, call._sent, call.attempt), []).append(group)
        return tuple(map(Calls, groups))

    def clear(self) -> None:
        """Forget the calls; the script goes on where it is."""
        self._items.clear()

    def filter(
        self,
        predicate: Callable[[Call], Any] | None = None,
        *,
        provider: str | re.Pattern[str] | None = None,
        operation: str | re.Pattern[str] | None = None,
        model: str | re.Pattern[str] | None = None,
        dialect: str | re.Pattern[str] | None = None,
        stream: bool | None = None,
    ) -> Calls:
        """The calls that fit: a `str` is equal, a compiled pattern is found.

        Args:
            predicate: A function of the call.
            provider: Who was called.
            operation: What was asked for.
            model: The model asked for.
            dialect: The wire vocabulary.
            stream: Whether a stream was asked for.
        """
        return Calls(
            [
                call
                for call in self._items
                if fits(provider, call.provider)
                and fits(operation, call.operation)
                and fits(model, call.model)
                and fits(dialect, call.dialect)
                and (stream is None or call.stream is stream)
                and (predicate is None or predicate(call))
            ]
        )

    def _append(self, call: Call) -> None:
        self._items.append(call)

    def __repr__(self) -> str:
        return (
            f"<fake_llm.Calls: {_counted(len(self._items))}>"
            if not self._items
            else "<fake_llm.Calls\n  " + "\n  ".join(map(repr, self._items)) + ">"
        )


def _counted(count: int) -> str:
    return {0: "no calls", 1: "1 call"}.get(count, f"{count} calls")


public(Call, Calls)
