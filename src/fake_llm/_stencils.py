"""Stencils: a whole answer of plain text as its bytes with holes in them.

To requests that differ in nothing but their texts, a vendor's answers differ in nothing but the text, the ids and the counts
of tokens. So the third such answer isn't written by its dialect any more: a stencil that was cut out of the dialect's own
answers is filled in. It is cut by having two more answers written, with other texts, ids and counts, and used only when
each of the three is, byte by byte, what the stencil gives. What a request said beside its texts is part of the key by which
a stencil is found, and so are the headers that anybody looked at meanwhile.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

import orjson

from fake_llm import _json
from fake_llm._dialect import Asked, Exchange, Ids, Spelling, parsed
from fake_llm._endpoints import Endpoint
from fake_llm._model import HeaderItems, Headers, Request, Response, Usage
from fake_llm._options import Options, Pace
from fake_llm._render import render
from fake_llm._tokens import input_tokens, tokens
from fake_llm._turns import Reply
from fake_llm._validate import refusal

__all__ = ["LONGEST", "Key", "Stencil", "fitting", "found", "key_of", "learn", "plain_text"]


class Key(NamedTuple):
    """By what the stencil of a request is found: what it says beside its texts; and the tokens of these."""

    place: tuple[Any, ...]
    tokens: int


# --- which answers ------------------------------------------------------------------------------

_options_of: Final = attrgetter(*(name for name in Reply.__slots__ if name != "parts"))
_NONE_SAID: Final = _options_of(Reply())


def plain_text(turn: Any) -> str | None:
    """The text of a turn that says nothing else; `None` for any other."""
    if type(turn) is not Reply or len(turn.parts) != 1:
        return None
    text = turn.parts[0]
    return text if type(text) is str and text and _options_of(turn) == _NONE_SAID else None


# --- which requests -----------------------------------------------------------------------------

_ROLES: Final = frozenset({"user", "system", "developer", "assistant", "model"})
_MOST_MESSAGES: Final = 64


def _texts(body: Any) -> tuple[str, list[str], list[str]] | None:
    """The field of the conversation, how its messages are said, and their texts; `None` where it is more than plain texts."""
    field = "messages"
    messages = body.get(field)
    if messages is None:
        field = "contents"
        messages = body.get(field)
    if type(messages) is not list or len(messages) > _MOST_MESSAGES:
        return None
    said: list[str] = []
    texts: list[str] = []
    role = None
    for item in messages:
        if type(item) is not dict or len(item) != 2:
            return None
        role = item.get("role")
        if type(role) is not str or role not in _ROLES:
            return None
        text = item.get("content")
        form = ""
        if type(text) is not str:
            form = "parts" if text is None else "blocks"
            inner = item.get("parts") if text is None else text
            if type(inner) is not list or len(inner) != 1 or type(inner[0]) is not dict or len(inner[0]) != 1:
                return None
            text = inner[0].get("text")
            if type(text) is not str:
                return None
        if not text or text.isspace():
            return None  # some vendors refuse it
        said += role, form
        texts.append(text)
    return (field, said, texts) if role == "user" else None


LONGEST: Final = 1_048_576
"""Bytes of a request that can have one: vendors refuse what is much longer."""


def key_of(endpoint: Endpoint, provider: str, url: str, body: Any) -> Key | None:
    """By what the stencil of a request is found; `None` for a request that can have none."""
    if type(body) is not dict or endpoint.operation != "chat" or endpoint.service is not None or body.get("stream"):
        return None
    found = _texts(body)
    if found is None:
        return None
    field, said, texts = found
    beside = {name: value for name, value in body.items() if name != field}
    rest = _json.compact(beside)
    if len(rest) > _LARGEST or (
        b"null" in rest and _json.loads(rest) != beside
    ):  # an infinite number is written so too
        return None
    return Key((id(endpoint), provider, url, rest, *said), sum([tokens(text) for text in texts]))


_LARGEST: Final = 4_096
"""Bytes of a request beside its texts that are kept."""


def _with_texts(body: Mapping[str, Any], field: str, texts: Iterable[str]) -> dict[str, Any]:
    """The same body with other texts."""

    def other(item: Mapping[str, Any], text: str) -> dict[str, Any]:
        inner = "content" if "content" in item else "parts"
        return {**item, inner: text if isinstance(item[inner], str) else [{"text": text}]}

    return {**body, field: [other(item, text) for item, text in zip(body[field], texts, strict=True)]}


# --- what is filled in --------------------------------------------------------------------------

_FIXED: Final = 4
"""The places before those of the ids: the text, the tokens of the request, of the answer, of both."""


@dataclass(frozen=True, slots=True)
class _Holes:
    """A template of `%` and what picks its values."""

    template: str
    pick: Callable[[Sequence[Any]], Any]


class _Id(NamedTuple):
    """An id of an answer: how it is written, the bytes that it is written from, how many characters it has."""

    write: Callable[[bytes], str]
    start: int
    end: int
    length: int


@dataclass(frozen=True, slots=True)
class _Heeded:
    """Headers of a request that an answer hangs on.

    Attributes:
        said: Each with its value; `None` where there was none.
        names: The names of all headers as they were given: where they are the same, only values have to be looked at.
        values: The places among them of those that were there, with their values as they were given.
    """

    said: tuple[tuple[str, str | None], ...]
    names: list[Any]
    values: tuple[tuple[int, Any], ...]

    @classmethod
    def of(cls, headers: Headers, names: Sequence[str]) -> _Heeded | None:
        """Those of these names."""
        if not names:
            return None
        spelt = [name.lower() for name, _ in headers.multi_items()]
        values = tuple((place, headers.given[place][1]) for place, name in enumerate(spelt) if name in names)
        return cls(tuple((name, headers.get(name)) for name in names), [name for name, _ in headers.given], values)

    def same(self, headers: Headers) -> bool:
        """Whether these say the same."""
        given = headers.given
        if list(map(_NAME, given)) != self.names:
            return all(headers.get(name) == value for name, value in self.said)
        for place, value in self.values:  # noqa: SIM110 - a generator takes as long as all of this
            if given[place][1] != value:
                return False
        return True


_NAME: Final = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Stencil:
    """An answer of which text, ids and tokens are filled in.

    Attributes:
        endpoint: The row; while it is held, no other has its `id`.
        model: The model the request names.
        base: Tokens of the request beside those of its texts.
        heard: The headers of the request that the answer hangs on.
        ids: Its ids, in order.
        drawn: The bytes that they are written from.
        headers: Those of the answer.
        changing: The places of those that aren't always the same, each with its name and value.
        body: The body.
        write: A text as JSON.
        known_by: The id by which a later request can build on the answer; `None` for a vendor that holds nothing of it.
    """

    endpoint: Endpoint
    model: str
    base: int
    heard: _Heeded | None
    ids: tuple[_Id, ...]
    drawn: int
    headers: HeaderItems
    changing: tuple[tuple[int, str, _Holes], ...]
    body: _Holes
    write: Callable[[Any], bytes]
    known_by: _Holes | None

    def answer(self, text: str, given: int, written: int, ids: Ids) -> tuple[Response, str | None]:
        """The answer with this text and these tokens, and the id by which a later request can build on it."""
        drawn = ids.take(self.drawn)
        values: list[Any] = [self.write(text)[1:-1].decode(), given, written, given + written]
        for write, start, end, length in self.ids:
            values.append(write(drawn[start:end])[:length])
        headers = self.headers
        if self.changing:
            changed = list(headers)
            for place, name, holes in self.changing:
                changed[place] = name, holes.template % holes.pick(values)
            headers = tuple(changed)
        key = None if self.known_by is None else self.known_by.template % self.known_by.pick(values)
        return Response(200, headers, (self.body.template % self.body.pick(values)).encode()), key


# --- cutting one --------------------------------------------------------------------------------

_MOST: Final = 512
_known: Final[dict[tuple[Any, ...], Stencil | None]] = {}
"""By key: a stencil, `None` for an answer of which none can be cut."""
_once: Final[set[int]] = set()
"""The hashes of keys that came once, since there were too many."""
_MOST_ONCE: Final = 128
_lock: Final = threading.Lock()


class _Around(NamedTuple):
    """What stands around the last text in the body of a request; and the stencil that any other text there has too."""

    before: bytes
    after: bytes
    tokens: int
    stencil: Stencil


_around: Final[dict[tuple[int, str, str], tuple[_Around, ...]]] = {}
"""The latest for each row, provider and URL: where one fits, no other part of the body has to be read."""
_MOST_AROUND: Final = 4


def fitting(endpoint: Endpoint, provider: str, request: Request) -> tuple[Stencil, int] | None:
    """The stencil of a request that differs from an earlier one in its last text alone, with the tokens of its texts."""
    raw = request.body
    for before, after, others, stencil in _around.get((id(endpoint), provider, request.url), ()):
        if raw.startswith(before) and raw.endswith(after):
            try:
                text = orjson.loads(raw[len(before) : -len(after)])
            except orjson.JSONDecodeError:  # more than a text, or what only a slower parser reads
                continue
            if type(text) is str and not text.isspace() and text:
                fits = stencil.heard is None or stencil.heard.same(request.headers)
                return (stencil, others + tokens(text)) if fits else None
    return None


def _remember(key: Key, exchange: Exchange, stencil: Stencil) -> None:
    """Keep what stands around the last text, if it can be told from the bytes."""
    said = _texts(exchange.body)
    assert said is not None
    field, _, texts = said
    marked = _with_texts(exchange.body, field, [*texts[:-1], _MARK])
    for written in (_json.compact(texts[-1]), json.dumps(texts[-1]).encode()):
        before, found, after = exchange.request.body.rpartition(written)
        if (
            found
            and after
            and len(before) + len(after) <= _LARGEST
            and parsed(replace(exchange.request, body=before + _json.compact(_MARK) + after)) == marked
        ):
            around = _Around(before, after, key.tokens - tokens(texts[-1]), stencil)
            place = key.place[:3]
            _put(_around, place, (around, *_around.pop(place, ())[: _MOST_AROUND - 1]))
            return


_MARK: Final = "a text that nobody writes"


def found(key: Key, request: Request) -> Stencil | None:
    """The stencil for a request, if there is one."""
    known = _known.get(key.place)
    return known if known is not None and (known.heard is None or known.heard.same(request.headers)) else None


def learn(key: Key, exchange: Exchange, endpoint: Endpoint, turn: Any, answer: Any) -> None:
    """Take note of an answer: from the second one on, a stencil is cut."""
    text = plain_text(turn)
    if text is None or key.place in _known:
        return
    with _lock:
        once = hash(key.place)
        if once not in _once:
            if len(_once) >= _MOST_ONCE:
                _once.clear()
            _once.add(once)
            return
        stencil = None
        with suppress(Exception):  # what can't be cut is written by its dialect, as ever
            stencil = _cut(exchange, endpoint, text, answer)
        row, provider, url, rest, *said = key.place
        # a copy: orjson 3.13 keeps ten times the room it needs
        _put(_known, (row, provider, url, b"%b" % rest, *said), stencil)
        if stencil is not None:
            _remember(key, exchange, stencil)


def _put(kept: dict[Any, Any], key: Any, value: Any) -> None:
    if len(kept) >= _MOST:
        del kept[next(iter(kept))]
    kept[key] = value


class _Noted(Ids):
    """Ids that note how each was made, and what it is."""

    __slots__ = ("made", "values")

    def __init__(self, seed: bytes) -> None:
        super().__init__(seed)
        self.made: list[_Id] = []
        self.values: list[str] = []

    def spelt(self, spelling: Spelling, count: int) -> str:
        start = self._at
        value = super().spelt(spelling, count)
        self.made.append(_Id(spelling.write, start, self._at, count))
        self.values.append(value)
        return value


class _Heard(Headers):
    """Headers that note which of them were asked for; `None` is one who looked at all."""

    __slots__ = ("names",)

    def __init__(self, headers: Headers) -> None:
        super().__init__(headers.multi_items())
        self.names: dict[str | None, None] = {}

    def __getitem__(self, name: str) -> str:
        self.names[name.lower()] = None
        return super().__getitem__(name)

    def get(self, key: str, default: Any = None, /) -> Any:
        self.names[key.lower()] = None
        return super().get(key, default)

    def __contains__(self, name: object) -> bool:
        self.names[str(name).lower()] = None
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.names[None] = None
        return super().__iter__()

    def multi_items(self) -> tuple[tuple[str, str], ...]:
        self.names[None] = None
        return super().multi_items()


def _cut(exchange: Exchange, endpoint: Endpoint, text: str, answer: Any) -> Stencil | None:
    """The stencil of this exchange, whose answer was written by its dialect already; `None` where its holes aren't all known."""
    shaping = endpoint.dialect.shaping
    memory = endpoint.memory
    if (
        (shaping is None or not shaping.isdisjoint(exchange.body))
        or (memory is not None and memory.concerns(exchange.body))
        or (endpoint.dialect.continues is not None and endpoint.dialect.continues(exchange.body) is not None)
        or endpoint.dialect.counted is not None
        or exchange.cached
        or exchange.stream
        or not isinstance(answer, Response)
    ):
        return None
    first, second = (_written(trial, exchange, endpoint) for trial in (_FIRST, _SECOND))
    if first is None or second is None:
        return None
    places = first.places(endpoint)
    body = _holes(first.answer.body.decode(), places)
    if body is None:
        return None
    changing = [
        (place, name, holes)
        for place, (name, value) in enumerate(first.answer.headers)
        if (holes := _holes(value, places)) is not None
    ]
    said = _texts(exchange.body)
    stencil = Stencil(
        endpoint,
        exchange.asked.dialect.model(exchange.request, exchange.body),
        input_tokens(exchange.body) - sum(map(tokens, said[2] if said else ())),
        _Heeded.of(exchange.request.headers, first.heard),
        tuple(first.ids.made),
        max((one.end for one in first.ids.made), default=0),
        first.answer.headers,
        tuple(changing),
        body,
        endpoint.whole.dumps,
        None if first.key is None or endpoint.dialect.continues is None else _holes(first.key, places),
    )
    told = exchange.usage
    kept = endpoint.dialect.continues is not None
    same = told.total == told.input_tokens + told.output_tokens and all(
        stencil.answer(said, usage.input_tokens, usage.output_tokens, Ids(seed)) == (written, key if kept else None)
        for said, usage, seed, written, key in (
            (first.text, first.usage, first.seed, first.answer, first.key),
            (second.text, second.usage, second.seed, second.answer, second.key),
            (text, told, exchange.ids.seed, answer, exchange.id),
        )
    )
    return stencil if same else None


@dataclass(frozen=True, slots=True)
class _Written:
    """An answer that was written to be cut, what stands in it, and the headers of the request it hangs on."""

    text: str
    usage: Usage
    seed: bytes
    answer: Response
    key: str | None
    ids: _Noted
    heard: Sequence[str]

    def places(self, endpoint: Endpoint) -> list[str]:
        """What stands where something is to be filled in, in the order of the values."""
        given, written = self.usage.input_tokens, self.usage.output_tokens
        counts = map(str, (given, written, given + written))
        return [endpoint.whole.dumps(self.text)[1:-1].decode(), *counts, *self.ids.values]


_FIRST: Final = (
    'Stencils are cut\n from such: "é" \\ \u2028 <\U0001f642> & \x7f.',
    Usage(7_130_047, 5_219_461),
    bytes(range(255, 191, -1)),
)
_SECOND: Final = "Another text says so too", Usage(6_417_029, 9_301_753), bytes(range(64, 128))


def _written(trial: tuple[str, Usage, bytes], exchange: Exchange, endpoint: Endpoint) -> _Written | None:
    """The dialect's own answer to the same request with other texts."""
    text, usage, seed = trial
    said = _texts(exchange.body)
    assert said is not None
    body = _with_texts(exchange.body, said[0], [f"{one} {text}" for one in said[2]])
    headers = _Heard(exchange.request.headers)
    request = replace(exchange.request, headers=headers, body=_json.compact(body))
    dialect, own = endpoint.dialect, endpoint.difference.check
    ids = _Noted(seed)
    model = dialect.model(request, body)
    written = Exchange(
        exchange.provider, Asked(request, dialect, body, seed), ids, model, dialect.stream(request, body)
    )
    if (own or dialect.check)(request, body) is not None or refusal(written) is not None:
        return None
    answer = render(Reply(text, usage=usage), written, endpoint, Pace(), _USUAL).answer
    if not isinstance(answer, Response) or None in headers.names:
        return None
    heard = [name for name in headers.names if name is not None]
    return _Written(text, usage, seed, answer, written.id, ids, heard)


_USUAL: Final = Options()


def _holes(written: str, places: Sequence[str]) -> _Holes | None:
    """Where each of these stands, if any does; the longest wins where one is in another."""
    pattern = "|".join(re.escape(one) for one in sorted(set(places), key=len, reverse=True))
    picked: list[int] = []
    template = ""
    end = 0
    for match in re.finditer(pattern, written):
        template += written[end : match.start()].replace("%", "%%") + "%s"
        picked.append(places.index(match[0]))
        end = match.end()
    if not picked:
        return None
    return _Holes(template + written[end:].replace("%", "%%"), itemgetter(*picked))
