"""What the vocabularies of embeddings share: a vector for each input, and the ways to write one."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from fake_llm import _json
from fake_llm._dialect import Exchange, media, message
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._model import Usage, View
from fake_llm._tokens import tokens
from fake_llm._turns import Embedding
from fake_llm._vectors import size_of, vector

__all__ = [
    "Input",
    "counted",
    "inputs_of",
    "is_tokens",
    "packed_bits",
    "quantised",
    "texts_in",
    "unpacked",
    "vectors_of",
    "viewed",
    "written_as",
]

Input: TypeAlias = "str | Sequence[int]"
"""A text, or the ids of its tokens."""


def vectors_of(exchange: Exchange, inputs: Sequence[Input], sizes: Sequence[int | None]) -> list[Sequence[float]]:
    """A vector for each input: those of the turn, else made up in the size that is asked for, or the model's."""
    pinned: tuple[Embedding, ...] = exchange.choice.of(Embedding)
    if not pinned:
        usual = size_of(exchange.asked.dialect.model(exchange.request, exchange.body))
        return [vector(item, size or usual) for item, size in zip(inputs, sizes, strict=True)]
    if len(pinned) == 1:
        return [pinned[0].vector] * len(inputs)
    if len(pinned) != len(inputs):
        raise ScriptMismatchError(
            sentence(
                f"The turn has {len(pinned)} embeddings.",
                f"The request has {len(inputs)} input{'' if len(inputs) == 1 else 's'}.",
                f"Write {len(inputs)} of them, or one Embedding([…]) for every input.",
            )
        )
    return [one.vector for one in pinned]


def counted(inputs: Sequence[Input]) -> Usage:
    return Usage(sum(tokens(item) if isinstance(item, str) else len(item) for item in inputs), 0)


def viewed(inputs: Sequence[Input], params: Mapping[str, Any]) -> View:
    """Each input as a user message; one of token ids has no text."""
    said = ([item] if isinstance(item, str) else [media("[tokens]")] for item in inputs)
    return View(tuple(message("user", texts) for texts in said), params=params)


def inputs_of(value: Any) -> list[Input]:
    """One text, one list of token ids, or a list of either."""
    if isinstance(value, list) and not is_tokens(value):
        return [_input(item) for item in value]
    return [_input(value)]


def _input(item: Any) -> Input:
    if isinstance(item, str) or is_tokens(item):
        found: Input = item
        return found
    # Hosts that embed more than text take objects with a text, or a list of these, in their place.
    return "\n".join(texts_in(item)) or _json.text(item)


def texts_in(item: Any) -> Iterator[str]:
    if isinstance(item, list):
        for part in item:
            yield from texts_in(part)
    elif isinstance(item, dict):
        text = item.get("text")
        yield from [text] if isinstance(text, str) else texts_in(item.get("content"))


def is_tokens(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int for item in value)


def written_as(numbers: Sequence[float], encoding: Any) -> Any:
    """The numbers themselves, or base64 of them: in 32 bits each, the least byte first, in 8 bits, or of their signs."""
    if encoding == "base64":
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
    elif encoding == "base64_int8":
        most = max(map(abs, numbers)) or 1.0
        packed = struct.pack(f"{len(numbers)}b", *(round(number / most * 127) for number in numbers))
    elif encoding == "base64_binary":
        bits = "".join("1" if number > 0 else "0" for number in numbers)
        packed = bytes(int(bits[start : start + 8].ljust(8, "0"), 2) for start in range(0, len(bits), 8))
    else:
        return numbers
    return base64.b64encode(packed).decode()


def unpacked(found: Any) -> Any:
    if not isinstance(found, str):
        return found
    raw = base64.b64decode(found)
    return struct.unpack(f"<{len(raw) // 4}f", raw)


_INTEGERS: Final = {"int8": ("b", 127, 0), "uint8": ("B", 127, 128)}


_BITS: Final = ("binary", "ubinary")


def quantised(numbers: Sequence[float], body: Mapping[str, Any]) -> Any:
    """The numbers in the kind that is asked for, or base64 of them."""
    kind = body.get("output_dtype")
    if kind in _INTEGERS:
        code, scale, shift = _INTEGERS[kind]
        most = max(map(abs, numbers)) or 1.0
        values: Sequence[float] = [round(number / most * scale) + shift for number in numbers]
    elif kind in _BITS:
        bits = "".join("1" if number > 0 else "0" for number in numbers)
        code, shift = ("b", 128) if kind == "binary" else ("B", 0)
        values = [int(bits[start : start + 8].ljust(8, "0"), 2) - shift for start in range(0, len(bits), 8)]
    else:
        code, values = "f", numbers
    if body.get("encoding_format") != "base64":
        return values
    return base64.b64encode(struct.pack(f"<{len(values)}{code}", *values)).decode()


def packed_bits(numbers: Sequence[float]) -> bytes:
    """The signs, eight of them a byte, the first one in its highest bit."""
    bits = "".join("1" if number > 0 else "0" for number in numbers)
    return bytes(int(bits[start : start + 8].ljust(8, "0"), 2) for start in range(0, len(bits), 8))
