"""The shape of JSON values and where two of them differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Difference", "Shape", "differences", "hidden", "plain", "scalars", "shape", "sized", "values", "words"]

Shape = dict[str, frozenset[str]]
"""Path to the JSON types seen there; `absent` is one where some of the objects lack the key."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where our answer isn't as the recorded one.

    Attributes:
        recording: The recording's id.
        where: `document`, `order`, `turn`, or the kind of event.
        path: The path in it, indexes left out.
        cut: Whether the recording is a body without its request: a vendor's test data, cut down by hand.
        since: The recording that is the first to have it as ours: this one is older, or cut down by hand.
        keys: How many keys are compared no more where this is excepted: that one, and all below it.
    """

    recording: str
    where: str
    path: str
    recorded: str
    ours: str
    cut: bool = False
    since: str | None = None
    keys: int = field(default=1, compare=False)

    def __str__(self) -> str:
        return f"{self.recording}: {self.where} {self.path}: recorded {self.recorded}, ours {self.ours}"


def shape(samples: Iterable[Any], *, indexed: bool) -> Shape:
    """The shape of several values laid over each other.

    Args:
        samples: The values.
        indexed: Whether the items of a list are told apart by their index. If not, they are by their
            `type`, and laid over each other within one.
    """
    found: dict[str, set[str]] = {}
    _collect("", list(samples), found, indexed)
    return {path: frozenset(types) for path, types in found.items()}


def _collect(path: str, samples: Sequence[Any], found: dict[str, set[str]], indexed: bool) -> None:
    found.setdefault(path, set()).update(_type(sample) for sample in samples)
    objects = [sample for sample in samples if isinstance(sample, dict)]
    for key in dict.fromkeys(key for item in objects for key in item):
        having = [item[key] for item in objects if key in item]
        inner = f"{path}.{key}" if path else key
        if len(having) < len(objects):
            found.setdefault(inner, set()).add("absent")
        _collect(inner, having, found, indexed)
    items: dict[str, list[Any]] = {}
    for sample in samples:
        if isinstance(sample, list):
            for index, item in enumerate(sample):
                kind = item.get("type") if isinstance(item, dict) and not indexed else None
                items.setdefault(str(index) if indexed else kind if isinstance(kind, str) else "", []).append(item)
    for name, group in items.items():
        _collect(f"{path}[{name}]", group, found, indexed)


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def differences(recorded: Shape, ours: Shape) -> Iterator[tuple[str, str, str]]:
    """Path, recorded and ours wherever two shapes differ; below a difference nothing more is said."""
    for path, theirs, mine, _ in sized(recorded, ours):
        yield path, theirs, mine


def sized(recorded: Shape, ours: Shape) -> Iterator[tuple[str, str, str, int]]:
    """The same, with the number of keys at and below the path."""
    told: list[str] = []
    for path in sorted(recorded.keys() | ours.keys()):
        if any(_below(path, upper) for upper in told):
            continue
        theirs, mine = recorded.get(path, frozenset({"absent"})), ours.get(path, frozenset({"absent"}))
        if theirs == mine or (mine <= {"integer", "number"} and "number" in theirs and theirs <= {"integer", "number"}):
            continue
        told.append(path)
        yield plain(path), words(theirs), words(mine), hidden(path, recorded, ours)


def hidden(path: str, *shapes: Shape) -> int:
    """How many keys stand at this path and below it, in any of the shapes."""
    return len({key for each in shapes for key in each if key == path or _below(key, path)})


def _below(path: str, upper: str) -> bool:
    return path.startswith((f"{upper}.", f"{upper}[")) or (upper == "" and path != "")


def words(types: frozenset[str]) -> str:
    """Types in a row."""
    return "|".join(sorted(types))


def plain(path: str) -> str:
    """The path without the indexes of lists."""
    return re.sub(r"\[\d+\]", "[]", path)


def values(recorded: Any, ours: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, recorded and ours of every scalar that both have and that isn't the same."""
    if isinstance(recorded, Mapping) and isinstance(ours, Mapping):
        for key in recorded.keys() & ours.keys():
            yield from values(recorded[key], ours[key], f"{path}.{key}" if path else key)
    elif isinstance(recorded, list) and isinstance(ours, list):
        for theirs, mine in zip(recorded, ours, strict=False):
            yield from values(theirs, mine, f"{path}[]")
    elif type(recorded) is type(ours) and recorded != ours:
        yield path, repr(recorded)[:80], repr(ours)[:80]


def scalars(value: Any) -> int:
    """How many numbers, texts, booleans and nulls a value is made of."""
    if isinstance(value, Mapping):
        return sum(map(scalars, value.values()))
    return sum(map(scalars, value)) if isinstance(value, list) else 1
