"""Places in a stream that can be said before it is known: by what is there, not by a number of bytes.

What a sweep counts on one stream is found again on another, of a longer model's name or of another vendor.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Self

__all__ = ["Spot", "placed", "spots"]

_BETWEEN = re.compile(rb"(?<=[\x80-\xff])(?=[\x80-\xbf])")


class Spot(int):
    """A number of bytes, counted on one stream, that finds its place on any other.

    Attributes:
        event: The index of the event that it is in.
        events: How many there were.
        size: The bytes of this one.
        inside: How many of them are sent.
        letter: Of a place between the bytes of a character, which of all these places it is.
        total: The bytes of all events.
        said: The place for people.
    """

    event: int
    events: int
    size: int
    inside: int
    letter: int | None
    total: int
    said: str

    def __new__(cls, value: int, **said: Any) -> Self:
        """A number that knows where it is."""
        spot = super().__new__(cls, value)
        spot.__dict__.update(said)
        return spot

    def __repr__(self) -> str:
        return f"<{self.said}>"

    def passed(self, count: int) -> int:
        """How many of `count` events are sent whole before it."""
        return self.event if count == self.events else self.event * count // self.events

    def found(self, pieces: Sequence[bytes], count: int, *, packed: bool = False) -> int:
        """The same place in the first `count` of these events: never behind all the bytes of one of them."""
        if not pieces:
            return 0
        starts = [0, *itertools.accumulate(map(len, pieces))]
        if self.letter is not None and not packed:
            letters = [
                start + place for start, piece in zip(starts, pieces[:count], strict=False) for place in between(piece)
            ]
            if letters:
                return letters[min(self.letter, len(letters) - 1)]
        event = self.passed(count)
        size = len(pieces[event])
        left = self.size - self.inside
        inside = size - left if left <= _NEAR and self.inside else self.inside
        if size != self.size and left > _NEAR:
            inside = self.inside * size // self.size
        if count == 1 < self.events:
            inside = int(self) * size // self.total
        # what was compressed can be read before its last bytes
        most = size // 2 if packed else len(pieces[event].rstrip()) - 1 if event == count - 1 else size - 1
        return starts[event] + max(0, min(inside, most))


_NEAR = 8
"""So near to the end of an event what counts is how much of it is left: line ends, a closing brace."""


def between(piece: bytes) -> list[int]:
    """The places between the bytes of a character."""
    return [found.start() for found in _BETWEEN.finditer(piece)]


def placed(place: int, pieces: Sequence[bytes], count: int, *, packed: bool = False) -> int:
    """A number of bytes as it is, or the place that a `Spot` finds."""
    return place.found(pieces, count, packed=packed) if isinstance(place, Spot) else place


def spots(pieces: Sequence[bytes], *, each_byte: bool, last: int) -> Iterator[Spot]:
    """The places in these events, in order; of the last of them only those before its first `last` bytes are sent.

    Args:
        pieces: The events.
        each_byte: All places; else those between events, in the middle and near the end of each, and in characters.
        last: How many bytes of the last event leave it unreadable.
    """
    before, letters, total = 0, 0, sum(map(len, pieces))
    for index, piece in enumerate(pieces):
        number = f"event-{index + 1}-of-{len(pieces)}"
        inner = {place: letters + rank for rank, place in enumerate(between(piece))}
        letters += len(inner)
        size = len(piece)
        end = size if index < len(pieces) - 1 else last
        wanted = range(size) if each_byte else sorted({0, size // 2, size - 1, *inner})
        for inside in wanted:
            if inside >= end and inside:
                continue
            if inside == 0:
                said = f"before-{number}" if index else "before-the-first-byte"
            elif inside in inner:
                said = f"in-a-character-of-{number}-at-{inside}"
            elif each_byte:
                said = f"in-{number}-at-{inside}"
            else:
                said = f"in-{number}" if inside == size // 2 else f"before-the-last-byte-of-{number}"
            yield Spot(
                before + inside,
                event=index,
                events=len(pieces),
                size=size,
                inside=inside,
                letter=inner.get(inside),
                total=total,
                said=said,
            )
        before += size
