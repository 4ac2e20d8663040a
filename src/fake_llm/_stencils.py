"""Stencils: a whole answer of plain text as its bytes with holes in them.

To requests that differ in nothing but their texts, a vendor's answers differ in nothing but the text, the ids and the counts
of tokens. So the third such answer isn't written by its dialect any more: a stencil that was cut out of the dialect's own
answers is filled in. It is cut by having two more answers written, with other texts, ids and counts, and used only when
each of the three is, byte by byte, what the stencil gives. What a request said beside its texts is part of the key by which
a stencil is found, and so are the headers that anybody looked at meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple

from fake_llm import _json
from fake_llm._dialect import Asked, Choice, Exchange, Ids
from fake_llm._endpoints import Endpoint
from fake_llm._model import HeaderItems, Headers, Request, Response, Usage
from fake_llm._options import Options, Pace
from fake_llm._render import render
from fake_llm._tokens import input_tokens, tokens
from fake_llm._turns import Reply
from fake_llm._validate import refusal

__all__ = ["Key", "Stencil", "found", "key_of", "learn", "plain_text"]


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


def _texts(body: Any) -> tuple[str, str, list[str]] | None:
    """The field of the conversation, how its messages are said, and their texts; `None` where it is more than plain texts."""
    field = "messages"
    messages = body.get(field)
    if messages is None:
        field = "contents"
        messages = body.get(field)
    if type(messages) is not list or not messages:
        return None
    said: list[str] = []
    texts: list[str] = []
    role = None
    for item in messages:
        if type(item) is not dict or len(item) != 2:
            return None
        role = item.get("role")
        if role not in _ROLES:
            return None
        text = item.get("content")
        form = "text"
        if type(text) is not str:
            form = "parts" if text is None else "blocks"
            inner = item.get("parts") if text is None else text
            if type(inner) is not list or len(inner) != 1 or type(inner[0]) is not dict or len(inner[0]) != 1:
                return None
            text = inner[0].get("text")
            if type(text) is not str:
                return None
        if not text.strip():
            return None  # some vendors refuse it
        said.append(f"{role} {form}")
        texts.append(text)
    return (field, ",".join(said), texts) if role == "user" else None


def key_of(endpoint: Endpoint, provider: str, url: str, body: Any) -> Key | None:
    """By what the stencil of a request is found; `None` for a request that can have none."""
    if type(body) is not dict or body.get("stream") or endpoint.operation != "chat" or endpoint.service is not None:
        return None
    found = _texts(body)
    if found is None:
        return None
    field, said, texts = found
    rest = {name: value for name, value in body.items() if name != field}
    return Key((id(endpoint), provider, url, said, _json.compact(rest)), sum(map(tokens, texts)))


def _other_texts(body: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """The same body with other texts."""
    found = _texts(body)
    assert found is not None
    field = found[0]

    def other(item: Mapping[str, Any]) -> dict[str, Any]:
        inner = "content" if "content" in item else "parts"
        text = item[inner]
        return {**item, inner: text + mark if isinstance(text, str) else [{"text": text[0]["text"] + mark}]}

    return {**body, field: [other(item) for item in body[field]]}


# --- what is filled in --------------------------------------------------------------------------

_FIXED: Final = 4
"""The places before those of the ids: the text, the tokens of the request, of the answer, of both."""


@dataclass(frozen=True, slots=True)
class _Holes:
    """A template of `%` and where each of its values is found; `None` picks none."""

    template: str | bytes
    pick: Callable[[Sequence[Any]], Any] | None

    def filled(self, values: Sequence[Any]) -> Any:
        template: Any = self.template
        return template if self.pick is None else template % self.pick(values)


@dataclass(slots=True)
class Stencil:
    """An answer of which text, ids and tokens are filled in.

    Attributes:
        endpoint: The row; while it is held, no other has its `id`.
        model: The model the request names.
        base: Tokens of the request beside those of its texts.
        heard: The headers of the request that the answer hangs on, with what they said.
        ids: How each id is made, in order: a method of `Ids` and its arguments.
        headers: Those of the answer.
        changing: The places of those that aren't always the same, each with its name and value.
        body: The body.
        write: A text as JSON.
        known_by: The id by which a later request can build on the answer; `None` for a vendor that holds nothing of it.
    """

    endpoint: Endpoint
    model: str
    base: int
    heard: tuple[tuple[str, str | None], ...]
    ids: tuple[tuple[str, tuple[int, ...]], ...]
    headers: HeaderItems
    changing: tuple[tuple[int, str, _Holes], ...]
    body: _Holes
    write: Callable[[Any], bytes]
    known_by: _Holes | None

    def answers(self, request: Request) -> bool:
        """Whether the headers are those it was cut for."""
        return all(request.headers.get(name) == value for name, value in self.heard)

    def choices(self, text: str) -> tuple[Choice, ...]:
        """What the journal keeps of the answer."""
        return (Choice((text,), "stop"),)

    def answer(self, text: str, usage: Usage, ids: Ids) -> tuple[Response, str | None]:
        """The answer, and the id by which a later request can build on it."""
        texts = [getattr(ids, method)(*arguments) for method, arguments in self.ids]
        given, written = usage.input_tokens, usage.output_tokens
        values = [self.write(text)[1:-1], given, written, given + written, *map(str.encode, texts)]
        headers = self.headers
        shown = [*values[:_FIXED], *texts]
        if self.changing:
            changed = list(headers)
            for place, name, holes in self.changing:
                changed[place] = name, holes.filled(shown)
            headers = tuple(changed)
        key = None if self.known_by is None else self.known_by.filled(shown)
        return Response(200, headers, self.body.filled(values)), key


# --- cutting one --------------------------------------------------------------------------------

_MOST: Final = 512
_known: Final[dict[tuple[Any, ...], Stencil | str]] = {}
"""By key: a stencil, `SEEN` for a request that came once, `NEVER` for one of which none can be cut."""
_SEEN: Final = "seen"
_NEVER: Final = "never"


def found(key: Key, request: Request) -> Stencil | None:
    """The stencil for a request, if there is one."""
    known = _known.get(key.place)
    return known if type(known) is Stencil and (not known.heard or known.answers(request)) else None


def learn(key: Key, exchange: Exchange, endpoint: Endpoint, turn: Any, answer: Any) -> None:
    """Take note of an answer: from the second one on, a stencil is cut."""
    text = plain_text(turn)
    known = _known.get(key.place)
    if text is None or known is _NEVER or isinstance(known, Stencil):
        return
    if known is None:
        if len(_known) >= _MOST:
            del _known[next(iter(_known))]
        _known[key.place] = _SEEN
        return
    _known[key.place] = _cut(exchange, endpoint, text, answer) or _NEVER


class _Noted(Ids):
    """Ids that note how each was made."""

    __slots__ = ("made",)

    def __init__(self, seed: bytes) -> None:
        super().__init__(seed)
        self.made: list[tuple[str, tuple[int, ...], str]] = []

    def _note(self, method: str, *arguments: int) -> str:
        plain = Ids(self._seed)
        plain._pool, plain._count = self._pool, self._count
        value: str = getattr(plain, method)(*arguments)
        self._pool, self._count = plain._pool, plain._count
        self.made.append((method, arguments, value))
        return value

    def alnum(self, count: int) -> str:
        return self._note("alnum", count)

    def lower(self, count: int) -> str:
        return self._note("lower", count)

    def hex(self, count: int) -> str:
        return self._note("hex", count)

    def base64(self, count: int) -> str:
        return self._note("base64", count)

    def uuid(self) -> str:
        return self._note("uuid")


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
    shown = [place.decode() for place in places]
    changing = [
        (place, name, holes)
        for place, (name, value) in enumerate(first.answer.headers)
        if (holes := _holes(value, shown)).pick is not None
    ]
    sent = exchange.request.headers
    found = _texts(exchange.body)
    stencil = Stencil(
        endpoint,
        exchange.asked.dialect.model(exchange.request, exchange.body),
        input_tokens(exchange.body) - sum(map(tokens, found[2] if found else ())),
        tuple((name, sent.get(name)) for name in first.heard),
        tuple((method, arguments) for method, arguments, _ in first.made),
        first.answer.headers,
        tuple(changing),
        _holes(first.answer.body, places),
        endpoint.whole.dumps,
        None if first.key is None or endpoint.dialect.continues is None else _holes(first.key, shown),
    )
    told = exchange.usage
    kept = endpoint.dialect.continues is not None
    same = told.total == told.input_tokens + told.output_tokens and all(
        stencil.answer(said, usage, Ids(seed)) == (written, key if kept else None)
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
    made: Sequence[tuple[str, tuple[int, ...], str]]
    heard: Sequence[str]

    def places(self, endpoint: Endpoint) -> list[bytes]:
        """What stands where something is to be filled in, in the order of the values."""
        given, written = self.usage.input_tokens, self.usage.output_tokens
        counts = (b"%d" % count for count in (given, written, given + written))
        return [endpoint.whole.dumps(self.text)[1:-1], *counts, *(value.encode() for _, _, value in self.made)]


_FIRST: Final = "Stencils are cut from such a text", Usage(7_130_047, 5_219_461), bytes(range(64))
_SECOND: Final = "Another text says so too", Usage(6_417_029, 9_301_753), bytes(range(64, 128))


def _written(trial: tuple[str, Usage, bytes], exchange: Exchange, endpoint: Endpoint) -> _Written | None:
    """The dialect's own answer to the same request with other texts."""
    text, usage, seed = trial
    body = _other_texts(exchange.body, text)
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
    return _Written(text, usage, seed, answer, written.id, ids.made, heard)


_USUAL: Final = Options()


def _holes(written: Any, places: Sequence[Any]) -> _Holes:
    """Where each of these stands; the longest wins where one is in another."""
    text = isinstance(written, str)
    join: Any = "" if text else b""
    sign: Any = "%" if text else b"%"
    pattern: Any = ("|" if text else b"|").join(re.escape(one) for one in sorted(set(places), key=len, reverse=True))
    picked: list[int] = []
    pieces: list[Any] = []
    end = 0
    for match in re.finditer(pattern, written):
        place = places.index(match[0])
        pieces += [written[end : match.start()].replace(sign, sign * 2), _hole(place, text)]
        picked.append(place)
        end = match.end()
    if not picked:
        return _Holes(written, None)
    pieces.append(written[end:].replace(sign, sign * 2))
    return _Holes(join.join(pieces), itemgetter(*picked))


def _hole(place: int, text: bool) -> Any:
    number = 0 < place < _FIXED
    if text:
        return "%d" if number else "%s"
    return b"%d" if number else b"%b"
