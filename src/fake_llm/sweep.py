"""Every way in which the stream of a turn can break or be cut, as turns of a script.

For pytest they are lists of turns that show what they are, for Hypothesis strategies:

>>> from fake_llm import sweep
>>> [turn.__name__ for turn in sweep.cuts("Hi", then=Disconnect())][:3]
['disconnect-before-the-first-byte', 'disconnect-in-event-1-of-3', 'disconnect-before-the-last-byte-of-event-1-of-3']
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import orjson

from fake_llm._dialect import Asked, Exchange, Ids
from fake_llm._endpoints import PROVIDERS, Endpoint
from fake_llm._errors import FakeLLMFailure, FunctionTurnError, ScriptError, clipped, sentence
from fake_llm._model import Headers, Request
from fake_llm._options import Options
from fake_llm._render import events_of
from fake_llm._script import as_turn
from fake_llm._spots import Spot, spots
from fake_llm._turns import (
    THEN_TYPES,
    Disconnect,
    EndOfStream,
    Error,
    Framing,
    Garbage,
    Reply,
    Stall,
    ToolCall,
    check_list,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Swept", "as_assertions", "cut_turns", "cuts", "split_turns", "splits", "turns"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

Break = Disconnect | EndOfStream | Error | Garbage | Stall
Every = Literal["event", "byte"]
BREAKS: Final = (Disconnect(), EndOfStream())


class Swept(Reply):
    """A turn that is one of many, with what makes it different as `__name__`: pytest shows it as the test's id."""

    __slots__ = ("__name__",)

    @classmethod
    def of(cls, turn: Reply, name: str, **changes: Any) -> Swept:
        """A copy of a turn, changed, with a name."""
        swept = cls.__new__(cls)
        for field in Reply.__slots__:
            object.__setattr__(swept, field, changes.get(field, getattr(turn, field)))
        object.__setattr__(swept, "__name__", name)
        return swept

    def __getstate__(self) -> list[Any]:
        """For a copy or a pickle: the fields, and the name."""
        return [getattr(self, field) for field in (*Reply.__slots__, "__name__")]

    def __setstate__(self, state: list[Any]) -> None:
        """What `__getstate__` gave."""
        for field, value in zip((*Reply.__slots__, "__name__"), state, strict=True):
            object.__setattr__(self, field, value)

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        """How Hypothesis shows it."""
        printer.text(repr(self))


def cuts(
    turn: Any, *, then: Break | Sequence[Break] = BREAKS, every: Every = "event", provider: str = "openai"
) -> list[Swept]:
    """The turn broken off at every place at which it isn't complete: a list for `@pytest.mark.parametrize`.

    Before the first byte, between two events, in the middle and before the last byte of each, between the bytes of each
    character beyond ASCII, in the arguments of tools, after the last content and in the event that would have said why
    the model ended. At none of them has a client seen an answer that is complete, so code that takes one for that is wrong.

    A place is found anew in the answer to the call that asks for it, so a turn is right for any request, model and vendor;
    an answer that isn't streamed is cut at the same share of its body.

    Args:
        turn: A text, parts, structured output or a `Reply`, with all its options but `then=`.
        then: What happens there; of several each. `Disconnect()` and `EndOfStream()`, the clean end, without. An `Error` is
            an event of the vendor's, so it comes at the places between events only.
        every: `"event"`, or `"byte"` for all places.
        provider: Whose stream is counted, by its name or by that of a vocabulary (`call.provider`, `call.dialect`). Another
            vendor's stream of more or fewer events is cut at the same share of it.

    Raises:
        ScriptError: What has no stream, a provider that isn't known, a part that it can't carry.

    >>> len(cuts("Hello there")) == 2 * len(cuts("Hello there", then=Disconnect()))
    True
    """
    reply = _reply(turn, "cuts")
    kinds, stream = list(_breaks(then)), _stream(reply, provider)
    return [_broken(reply, kind, spot) for spot in stream.cuts(every) for kind in kinds if _can_be(kind, spot)]


def splits(turn: Any, *, every: Every = "event", provider: str = "openai") -> list[Swept]:
    """The turn in the same bytes, cut into other pieces: what code hears must never differ.

    By 1, 2, 3, 5 and 7 bytes, by characters, by lines, all at once, and in two at every place: between events, in the
    middle and near the end of each, between the bytes of each character beyond ASCII.

    Args:
        turn: A text, parts, structured output or a `Reply`, with all its options; of its framing all but `split=`.
        every: `"event"`, or `"byte"` for all places.
        provider: Whose stream is counted, as in `cuts`.

    Raises:
        ScriptError: As in `cuts`.

    >>> [turn.__name__ for turn in splits("Hi")][:6]
    ['by-1-byte', 'by-2-bytes', 'by-3-bytes', 'by-5-bytes', 'by-7-bytes', 'by-characters']
    """
    reply = _reply(turn, "splits")
    stream = _stream(reply, provider)
    pieces: list[tuple[str, Any]] = [(f"by-{size}-byte{'s' * (size > 1)}", size) for size in (1, 2, 3, 5, 7)]
    pieces += [("by-characters", "characters"), ("by-lines", "lines"), ("at-once", _ALL)]
    pieces += [(spot.said, (spot,)) for spot in stream.places(every) if spot]
    return [Swept.of(reply, name, framing=_split(reply, split)) for name, split in pieces]


_ALL: Final = 2**40


def turns(*, calls: Sequence[ToolCall] = (), text: SearchStrategy[str] | None = None) -> SearchStrategy[Reply]:
    """A Hypothesis strategy: turns of any text, in any chunks, with some of these tool calls.

    Args:
        calls: Calls that the code under test can bear; each turn has some of them, in any order.
        text: A strategy for the text; without one, any text of up to 40 characters.

    Raises:
        ScriptError: Hypothesis isn't installed; no calls.
    """
    st = _strategies("turns")
    check_list(calls, "turns", "calls", 'calls=[ToolCall("get_weather", {"city": "Paris"})]')
    said = st.text(st.characters(codec="utf-8"), max_size=40) if text is None else text
    called = st.lists(st.sampled_from(list(calls)), max_size=2) if calls else st.just([])

    def made(words: str, chosen: list[ToolCall], size: int | None) -> Reply:
        return Reply(*([words] if words or not chosen else []), *chosen, chunk_size=size)

    strategy: SearchStrategy[Reply] = st.builds(made, said, called, st.none() | st.integers(1, 8))
    return strategy


def cut_turns(
    turn: Any = None, *, then: Break | Sequence[Break] = BREAKS, provider: str = "openai"
) -> SearchStrategy[Swept]:
    """A Hypothesis strategy: a turn broken off at any byte at which it isn't complete; it shrinks to the first.

    Args:
        turn: A turn as in `cuts`, or a strategy for turns; without one, `turns()`.
        then: What happens there, as in `cuts`.
        provider: Whose stream is counted, as in `cuts`.

    Raises:
        ScriptError: Hypothesis isn't installed; as in `cuts`.
    """
    st = _strategies("cut_turns")
    kinds = list(_breaks(then))

    def drawn(draw: Callable[[Any], Any]) -> Swept:
        reply = _reply(draw(_drawn(st, turn)), "cut_turns")
        places = _stream(reply, provider).cuts("byte")
        kind = draw(st.sampled_from(kinds))
        meant = [spot for spot in places if _can_be(kind, spot)]
        return _broken(reply, kind, meant[draw(st.integers(0, len(meant) - 1))])

    strategy: SearchStrategy[Swept] = st.composite(drawn)()
    return strategy


def split_turns(turn: Any = None, *, provider: str = "openai") -> SearchStrategy[Swept]:
    """A Hypothesis strategy: a turn whose bytes are cut into any pieces; it shrinks to few of them.

    Args:
        turn: A turn as in `splits`, or a strategy for turns; without one, `turns()`.
        provider: Whose stream is counted, as in `cuts`.

    Raises:
        ScriptError: Hypothesis isn't installed; as in `splits`.
    """
    st = _strategies("split_turns")

    def drawn(draw: Callable[[Any], Any]) -> Swept:
        reply = _reply(draw(_drawn(st, turn)), "split_turns")
        places = _stream(reply, provider).places("byte")[1:]
        chosen = draw(st.sets(st.integers(0, len(places) - 1), min_size=1, max_size=8))
        split = tuple(places[index] for index in sorted(chosen))
        return Swept.of(reply, "in-" + "-".join(str(int(spot)) for spot in split), framing=_split(reply, split))

    strategy: SearchStrategy[Swept] = st.composite(drawn)()
    return strategy


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class as_assertions(AbstractContextManager[None]):
    """A block, or a decorator, that turns a failure of fake_llm into an `AssertionError` with the same text.

    Hypothesis shrinks what an `Exception` fails and gives up at a `BaseException`, which a `FakeLLMFailure` is: put this
    inside of `@given` and around `intercept`.

    >>> import httpx, fake_llm
    >>> with as_assertions(), fake_llm.intercept():  # doctest: +ELLIPSIS
    ...     httpx.post("https://api.openai.com/v1/responses", json={"model": "gpt-5", "input": "Hi"})
    Traceback (most recent call last):
        ...
    AssertionError: UnscriptedCallError: ...
    """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, FunctionTurnError) and isinstance(error.original, Exception):
            raise error.original from None
        if error is not None and isinstance(error, FakeLLMFailure):
            failed = AssertionError(f"{type(error).__name__}: {error}")
            raise failed from error

    def __call__(self, decorated: Decorated, /) -> Decorated:
        """The same function, sync or async, each call of which is such a block; of a generator all that it does."""
        if inspect.isasyncgenfunction(decorated):

            @functools.wraps(decorated)
            async def iterated(*args: Any, **options: Any) -> AsyncGenerator[Any, Any]:
                with self:
                    async with aclosing(decorated(*args, **options)) as items:
                        step = items.asend(None)
                        while True:
                            try:
                                item = await step
                            except StopAsyncIteration:
                                return
                            try:
                                given = yield item
                            except GeneratorExit:
                                raise
                            except BaseException as thrown:  # noqa: BLE001 - the generator decides what becomes of it
                                step = items.athrow(thrown)
                            else:
                                step = items.asend(given)

            made: Any = iterated
        elif inspect.isgeneratorfunction(decorated):

            @functools.wraps(decorated)
            def generated(*args: Any, **options: Any) -> Any:
                with self:
                    return (yield from decorated(*args, **options))

            made = generated
        elif inspect.iscoroutinefunction(decorated):

            @functools.wraps(decorated)
            async def awaited(*args: Any, **options: Any) -> Any:
                with self:
                    return await decorated(*args, **options)

            made = awaited
        else:

            @functools.wraps(decorated)
            def called(*args: Any, **options: Any) -> Any:
                with self:
                    return decorated(*args, **options)

            made = called
        result: Decorated = made
        return result


# --- a stream that nobody asked for -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stream:
    """The events of a turn as bytes, and how many of them there are until it is complete."""

    pieces: tuple[bytes, ...]
    settled: int

    def cuts(self, every: Every) -> list[Spot]:
        """The places at which the answer isn't complete."""
        meant = self.pieces[: self.settled]
        last = len(meant[-1].rstrip()) if every == "byte" else len(meant[-1]) // 2 + 1
        return list(spots(meant, each_byte=_is_byte(every), last=last))

    def places(self, every: Every) -> list[Spot]:
        """All places."""
        return list(spots(self.pieces, each_byte=_is_byte(every), last=len(self.pieces[-1])))


def _is_byte(every: Any) -> bool:
    if every not in ("event", "byte"):
        raise ScriptError(
            sentence(f"A sweep got every={every!r}.", 'It is "event" or "byte".', 'Write every="byte" for all places.')
        )
    return bool(every == "byte")


def _stream(reply: Reply, provider: str) -> _Stream:
    """What a turn is streamed as, to a request as plain as the turn can bear."""
    name, endpoint = _endpoint(provider)
    refused: FakeLLMFailure | None = None
    for asked in _bodies(reply, endpoint):
        try:
            pieces, settled = _answered(reply, name, endpoint, asked)
        except FunctionTurnError as failure:
            raise failure.original from None
        except FakeLLMFailure as failure:
            refused = refused or failure
        except (LookupError, AttributeError, TypeError):  # a host that reads more of a path than there is
            if provider == endpoint.dialect.name:
                raise
            return _stream(reply, endpoint.dialect.name)
        else:
            if settled:
                return _Stream(tuple(pieces), settled)
            raise ScriptError(
                sentence(
                    f"A sweep got {clipped(repr(reply), 200)}.",
                    "Its edit= returned no events, so there is nothing to cut.",
                    "Write an edit that leaves some of them.",
                )
            )
    raise ScriptError(str(refused)) from None


def _answered(reply: Reply, name: str, endpoint: Endpoint, body: Mapping[str, Any]) -> tuple[list[bytes], int]:
    """The events of the answer to a request."""
    raw = orjson.dumps(body)
    path, _ = _ASKED[endpoint.dialect.name]
    request = Request("POST", f"https://sweep.invalid{path}", Headers(), raw, "none")
    digest = hashlib.blake2b(raw).digest()
    exchange = Exchange(name, Asked(request, endpoint.dialect, dict(body), digest), Ids(digest), "m", stream=True)
    return events_of(reply.replace(check=False, then=None), exchange, endpoint, Options.of({}))


def _bodies(reply: Reply, endpoint: Endpoint) -> Iterator[dict[str, Any]]:
    """The request that a turn is the answer to: for as many choices; for its usage too, where an edit wants that."""
    _, body = _ASKED[endpoint.dialect.name]
    count = len(reply.choices) + bool(reply.parts or not reply.choices)
    if count > 1 and endpoint.dialect.choices:
        body = body | ({"generationConfig": {"candidateCount": count}} if "contents" in body else {"n": count})
    yield body
    if reply.edit is not None and endpoint.dialect.name == "openai_chat":
        yield body | {"stream_options": {"include_usage": True}}


def _endpoint(provider: str) -> tuple[str, Endpoint]:
    """The row whose streams are counted: the first chat of a provider, or of a vocabulary."""
    rows = [
        (found.name, row)
        for found in PROVIDERS
        for row in found.endpoints
        if row.operation == "chat" and row.wire is not None and row.dialect.name in _ASKED
    ]
    named = [(name, row) for name, row in rows if provider in (name, row.dialect.name)]
    own = [(name, row) for name, row in named if row.dialect.name.startswith(name)]
    if named:
        return (own or named)[0]
    raise ScriptError(
        sentence(
            f"A sweep got provider={provider!r}.",
            f"Streams are counted of {', '.join(sorted({name for name, _ in rows} | _ASKED.keys()))}.",
            'Write provider="openai": another vendor\'s stream is cut at the same share of it.',
        )
    )


_BODY: Final = {"model": "m", "stream": True, "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
_ASKED: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "openai_chat": ("/v1/chat/completions", _BODY),
    "openai_responses": ("/v1/responses", {"model": "m", "stream": True, "input": "Hi"}),
    "anthropic_messages": ("/v1/messages", _BODY),
    "gemini": ("/v1beta/models/m:streamGenerateContent?alt=sse", {"contents": [{"parts": [{"text": "Hi"}]}]}),
    "ollama_chat": ("/api/chat", _BODY),
    "cohere_chat_v2": ("/v2/chat", _BODY),
    "bedrock_converse": (
        "/model/m/converse-stream",
        {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
    ),
}
"""By vocabulary a path and a body that asks for a stream."""


# --- what is given ------------------------------------------------------------------------------


def _reply(turn: Any, where: str) -> Reply:
    found = as_turn(turn, f"{where}()")
    if not isinstance(found, Reply):
        raise ScriptError(
            sentence(
                f"{where}() got {clipped(repr(turn), 200)}.",
                "It cuts what a model says: a text, parts, structured output or a Reply.",
                f'Write {where}(Reply("Hello", ToolCall("get_weather", {{"city": "Paris"}}))).',
            )
        )
    if found.then is not None and where.startswith("cut"):
        raise ScriptError(
            sentence(
                f"{where}() got a turn with then={found.then!r}.",
                "It says itself where the stream breaks.",
                f"Write {where}(turn, then={found.then!r}) for another way to break.",
            )
        )
    return found


def _breaks(then: Any) -> Iterator[Break]:
    kinds = then if isinstance(then, (list, tuple)) else [then]
    if not kinds:
        raise ScriptError(
            sentence(
                f"A sweep got then={then!r}.", "Nothing would be broken, so nothing tested.", "Write then=Disconnect()."
            )
        )
    for kind in kinds:
        if not isinstance(kind, THEN_TYPES) or _is_placed(kind):
            raise ScriptError(
                sentence(
                    f"A sweep got then={kind!r}.",
                    'It is Disconnect(), EndOfStream(), Stall(), Garbage(b"…") or Error("overloaded"), without a place.',
                    "Write then=Disconnect(), or a list of them.",
                )
            )
        if isinstance(kind, Stall) and kind.seconds is not None:
            raise ScriptError(
                sentence(
                    f"A sweep got then={kind!r}.", "After it the stream goes on and is complete.", "Write then=Stall()."
                )
            )
        yield kind


def _is_placed(kind: Break) -> bool:
    return any(getattr(kind, name, None) is not None for name in ("after_bytes", "after_events"))


def _can_be(kind: Break, spot: Spot) -> bool:
    """Whether it can happen there: an error event stands between others."""
    return not isinstance(kind, Error) or spot.inside == 0


def _broken(reply: Reply, kind: Break, spot: Spot) -> Swept:
    placed = replace(kind, after_events=spot) if isinstance(kind, Error) else replace(kind, after_bytes=spot)
    return Swept.of(reply, f"{_word(kind)}-{spot.said}", then=placed)


def _word(kind: Break) -> str:
    """`end-of-stream`, `error-rate-limit`."""
    if isinstance(kind, Error):
        return f"error-{kind.kind}".replace("_", "-")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(kind).__name__).lower()


def _split(reply: Reply, split: Any) -> Framing:
    return replace(reply.framing or Framing(), split=split)


def _strategies(where: str) -> Any:
    try:
        import hypothesis.strategies
    except ImportError:
        raise ScriptError(
            sentence(
                f"sweep.{where}() makes a strategy of Hypothesis.",
                "Hypothesis isn't installed here.",
                "Run pip install hypothesis, or write sweep.cuts(turn) for a list.",
            )
        ) from None
    return hypothesis.strategies


def _drawn(st: Any, turn: Any) -> Any:
    if turn is None:
        return turns()
    return turn if isinstance(turn, st.SearchStrategy) else st.just(turn)
