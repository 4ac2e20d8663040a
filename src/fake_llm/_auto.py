"""What `Auto()` answers: a call, JSON or text that the request itself says would be right.

A value is made by walking the schema, always the same one, and then asked of jsonschema: one that doesn't fit is never sent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NoReturn, TypeAlias

from fake_llm import _json
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._model import Message, ToolSpec, View
from fake_llm._schema import misfit
from fake_llm._turns import ToolCall

__all__ = ["UnmadeError", "automatic", "value_for"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

Schema: TypeAlias = "Mapping[str, Any]"

TEXT: Final = "This is an automatic answer."


class UnmadeError(Exception):
    """No value was found that fits a schema; its text says why."""


def automatic(view: View) -> str | ToolCall:
    """What a turn of `Auto()` says to a request.

    Raises:
        ScriptMismatchError: The request's schema is beyond it.
    """
    choice = view.tool_choice
    if choice.mode == "tool" and choice.name is not None and choice.name in view.tools:
        return _call(view.tools[choice.name])
    if view.schema is not None and choice.mode != "any":
        return _json.text(_made(view.schema, "the structured output", "a dict or Json(…)"))
    offered = [tool for name, tool in view.tools.items() if choice.allowed is None or name in choice.allowed]
    called = _called(view.messages)
    if not offered or choice.mode == "none" or (choice.mode == "auto" and called is not None):
        return TEXT
    fresh = [tool for tool in offered if tool.name not in (called or ())]
    return _call(fresh[0] if fresh else offered[-1])


def _called(messages: Sequence[Message]) -> frozenset[str] | None:
    """The names of the tools whose results came after the last user message, `None` where there are none."""
    names: list[str] = []
    for item in reversed(messages):
        if item.role == "user":
            break
        names += [result.name for result in item.tool_results]
    return frozenset(names) if names else None


def _call(tool: ToolSpec) -> ToolCall:
    arguments = _made(tool.schema, f"the arguments of {tool.name!r}", f"ToolCall({tool.name!r}, {{…}})")
    if not isinstance(arguments, dict):
        _refuse(f"the arguments of {tool.name!r}", "its schema allows no object", f"ToolCall({tool.name!r}, {{…}})")
    return ToolCall(tool.name, arguments)


def _made(schema: Schema, what: str, write: str) -> Any:
    try:
        return value_for(schema)
    except UnmadeError as error:
        _refuse(what, str(error), write)


def _refuse(what: str, why: str, write: str) -> NoReturn:
    raise ScriptMismatchError(
        sentence(
            f"The turn is Auto(), and the request asks for {what} by a schema.",
            f"No value that fits it was found: {why}.",
            f"Write the value yourself: {write}.",
        )
    ) from None


def value_for(schema: Schema) -> Any:
    """A value that fits a JSON schema, always the same for the same schema.

    Raises:
        UnmadeError: None was found.
    """
    root = _plain(schema)
    maker = _Maker(root)
    try:
        value = maker.make(root, "value") if root else {}
    except RecursionError:
        raise UnmadeError("it is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise UnmadeError(f"a word of it has no meaning ({type(error).__name__}: {error})") from None
    reason = misfit(json.loads(json.dumps(value)), root)
    if reason is not None:
        raise UnmadeError(reason)
    return value


def _plain(schema: Any) -> Any:
    """The schema with types in small letters: Gemini's are in capitals."""
    if isinstance(schema, Mapping):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _plain(value)
            for key, value in schema.items()
        }
    return [_plain(item) for item in schema] if isinstance(schema, (list, tuple)) else schema


_ONE_OF_MANY: Final = ("anyOf", "oneOf")
_JUDGED: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "enum", "const", "contains", "propertyNames"})
_MOST_STEPS: Final = 20_000
_DEEPEST: Final = 60
_VARIANTS: Final = 12
_LONGEST_ARRAY: Final = 1000
_LONGEST_TEXT: Final = 1_000_000
_MOST_REPEATS: Final = 5_000


class _Maker:
    """Makes values by one schema; `number` tells values apart where they must differ."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.open: list[str] = []
        self.steps = 0
        self.number = 0
        own = {key: root[key] for key in ("$defs", "definitions") if isinstance(root, Mapping) and key in root}
        self.definitions: dict[str, Any] = own

    def make(self, schema: Any, name: str) -> Any:
        """The first value that fits."""
        self.steps += 1
        if self.steps > _MOST_STEPS or len(self.open) > _DEEPEST:
            raise UnmadeError(f"it refers to itself without an end, at {name!r}")
        if schema is False:
            raise UnmadeError(f"it allows nothing at {name!r}")
        if not isinstance(schema, Mapping):
            return self._text({}, name)
        if schema.keys() == {"$ref"} and isinstance(schema["$ref"], str):
            return self._leave(schema, name)
        if not _JUDGED.isdisjoint(schema) or "$ref" in schema:
            return self._judged(schema, name)
        return self._of_type(schema, name)

    def _judged(self, schema: Schema, name: str) -> Any:
        """The first candidate that the schema itself accepts."""
        why = f"nothing was found for {name!r}"
        number = self.number
        for variant in range(_VARIANTS):
            self.number = number + variant
            try:
                for plain in self._plainly(schema):
                    try:
                        value = self._leave(plain, name)
                    except UnmadeError as error:
                        why = str(error)
                        continue
                    reason = self._misfit(value, schema)
                    if reason is None:
                        return value
                    why = f"{name}: {reason}"
            finally:
                self.number = number
            if "not" not in schema and "if" not in schema and "oneOf" not in schema:
                break
        raise UnmadeError(why)

    def _leave(self, schema: Schema, name: str) -> Any:
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return self._of_type(schema, name)
        self.open.append(reference)
        try:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._resolved(reference)
            return self.make(_merged(target, rest) if rest else target, name)
        finally:
            self.open.pop()

    def _plainly(self, schema: Schema) -> Iterator[Schema]:
        """The same without words that join schemas, one for each of the ways through `anyOf`, `oneOf` and `if`."""
        merged = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema.get("allOf") or ():
            merged = _merged(merged, self._inlined(part))
        if "allOf" in merged:
            yield from self._plainly(merged)
            return
        for word in _ONE_OF_MANY:
            options = merged.get(word)
            if isinstance(options, list):
                rest = {key: value for key, value in merged.items() if key != word}
                for option in sorted(options, key=self._preference):
                    plain = self._inlined(option) if rest else option
                    if plain is not False:
                        yield from self._plainly(_merged(rest, plain))
                return
        if "if" in merged:
            rest = {key: value for key, value in merged.items() if key not in ("if", "then", "else")}
            for way in (("if", "then"), ("else",), ()):
                plain = rest
                for word in way:
                    plain = _merged(plain, self._inlined(merged.get(word, {})))
                yield from self._plainly(plain)
            return
        yield merged

    def _inlined(self, schema: Any) -> Any:
        """The target of a reference, so that it can be merged with what stands beside it."""
        seen: set[str] = set()
        while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str) and schema["$ref"] not in seen:
            seen.add(schema["$ref"])
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._resolved(schema["$ref"])
            schema = _merged(target, rest) if rest else target
        return schema

    def _preference(self, option: Any) -> int:
        """What is there before what is null, and either before what begins again where we are already."""
        if self._again(option):
            return 2
        return 1 if isinstance(option, Mapping) and option.get("type") == "null" else 0

    def _again(self, schema: Any) -> bool:
        """Whether this refers to something that is being made."""
        if not isinstance(schema, Mapping):
            return False
        if schema.get("$ref") in self.open:
            return True
        return self._again(schema.get("items")) or any(
            self._again(option) for word in (*_ONE_OF_MANY, "allOf") for option in schema.get(word) or ()
        )

    def _resolved(self, reference: str) -> Any:
        found = self.root
        for step in reference.removeprefix("#").split("/")[1:] if reference.startswith("#") else [reference]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, Mapping) and key in found:
                found = found[key]
            else:
                raise UnmadeError(f"it refers to {reference!r}, which isn't in it")
        return found

    def _misfit(self, value: Any, schema: Schema) -> str | None:
        return misfit(json.loads(json.dumps(value)), {**self.definitions, **schema})

    # --- by type ---

    def _of_type(self, schema: Schema, name: str) -> Any:
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list):
            return self._of_enum(schema)
        for value in _given(schema):
            if misfit(value, {**self.definitions, **schema}) is None and not self.number:
                return value
        wanted = schema.get("type")
        kinds = [kind for kind in wanted if isinstance(kind, str)] if isinstance(wanted, list) else [wanted]
        why = UnmadeError(f"it has no type that is known, at {name!r}")
        for kind in sorted(kinds, key=lambda kind: kind == "null"):
            make = _MAKE.get(kind if isinstance(kind, str) else _implied(schema))
            if make is not None:
                try:
                    return make(self, schema, name)
                except UnmadeError as error:
                    why = error
        raise why

    def _of_enum(self, schema: Schema) -> Any:
        rest = {key: value for key, value in schema.items() if key != "enum"}
        fitting = [value for value in schema["enum"] if self._misfit(value, rest) is None]
        if not fitting:
            raise UnmadeError("its enum has no value that fits")
        there = [value for value in fitting if value is not None] or fitting
        return (there + [value for value in fitting if value is None])[self.number % len(fitting)]

    def _null(self, schema: Schema, name: str) -> None:
        return None

    def _boolean(self, schema: Schema, name: str) -> bool:
        return self.number % 2 == 0

    def _integer(self, schema: Schema, name: str) -> int:
        return int(self._multiple(schema, name, Fraction(1)))

    def _number(self, schema: Schema, name: str) -> int | float:
        step = schema.get("multipleOf")
        found = self._multiple(schema, name, None if step is None else Fraction(str(step)))
        return int(found) if found.denominator == 1 else float(found)

    def _multiple(self, schema: Schema, name: str, step: Fraction | None) -> Fraction:
        """A number in its bounds: 1 where that is one, else the nearest to 0."""
        given = schema.get("multipleOf")
        if step is not None and given:
            step = Fraction(math.lcm(step.numerator, (unit := Fraction(str(given))).numerator), 1) / (
                math.gcd(step.denominator, unit.denominator)
            )
        low, low_open = _bound(schema, "minimum", "exclusiveMinimum")
        high, high_open = _bound(schema, "maximum", "exclusiveMaximum")
        wanted = Fraction(1 + self.number)
        if step is None:
            gap = high - low if low is not None and high is not None else Fraction(2)
            if low is not None and (wanted < low or (low_open and wanted == low)):
                wanted = low + (min(gap, Fraction(2)) / (2 + self.number) if low_open or self.number else 0)
            if high is not None and (wanted > high or (high_open and wanted == high)):
                wanted = high - (min(gap, Fraction(2)) / (2 + self.number) if high_open or self.number else 0)
            found = wanted
        else:
            count = math.ceil(wanted / step)
            if low is not None and count * step <= low:
                count = math.ceil(low / step)
                count += 1 if low_open and count * step == low else 0
                count += self.number
            if high is not None and count * step >= high:
                count = math.floor(high / step)
                count -= 1 if high_open and count * step == high else 0
                count -= self.number
            found = count * step
        below = low is not None and (found < low or (low_open and found == low))
        above = high is not None and (found > high or (high_open and found == high))
        if below or above:
            raise UnmadeError(f"no number is in its bounds at {name!r}")
        return found

    def _string(self, schema: Schema, name: str) -> str:
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if least > _LONGEST_TEXT:
            raise UnmadeError(f"no text is as long as it says at {name!r}")
        pattern, form = schema.get("pattern"), schema.get("format")
        if isinstance(pattern, str):
            return _matching(pattern, least, most, self.number)
        made = _FORMATS.get(form) if isinstance(form, str) else None
        if made is not None:
            text = made(self.number)
            if least <= len(text) and (most is None or len(text) <= most):
                return text
        return self._text(schema, name)

    def _text(self, schema: Schema, name: str) -> str:
        least, most = int(schema.get("minLength", 0)), schema.get("maxLength")
        text = name if not self.number else f"{name} {self.number + 1}"
        text = text.ljust(least, "x")
        if most is not None and len(text) > most:
            tail = str(self.number + 1) if self.number else ""
            text = (text[: max(0, int(most) - len(tail))] + tail)[: int(most)]
        if most is not None and least > most:
            raise UnmadeError(f"no text is as long as it says at {name!r}")
        return text

    def _array(self, schema: Schema, name: str) -> list[Any]:
        first = schema.get("prefixItems")
        rest = schema.get("items", True)
        if isinstance(rest, list):  # the form before 2020
            first, rest = rest, schema.get("additionalItems", True)
        first = first if isinstance(first, list) else []
        least, most = int(schema.get("minItems", 0)), schema.get("maxItems")
        needed = max(least, len(first))
        if not needed and rest is not False and rest is not True and not self._again(rest):
            needed = 1
        count = needed if most is None else min(needed, int(most))
        if count < least or count > _LONGEST_ARRAY:
            raise UnmadeError(f"no list is as long as it says at {name!r}")
        made: list[Any] = []
        for index in range(count):
            item = first[index] if index < len(first) else rest
            if item is False and index >= least:
                break
            made.append(self._another(item, name, made) if schema.get("uniqueItems") is True else self.make(item, name))
        if "contains" in schema:
            wanted = self.make(schema["contains"], name)
            if wanted not in made:
                made = [*made[: -1 if most is not None and len(made) == most else None], wanted]
        return made

    def _another(self, schema: Any, name: str, others: list[Any]) -> Any:
        """A value that isn't among the others."""
        number = self.number
        known = {json.dumps(other, sort_keys=True) for other in others}
        try:
            for variant in range(len(others) + _VARIANTS):
                self.number = number + variant
                value = self.make(schema, name)
                if json.dumps(value, sort_keys=True) not in known:
                    return value
        finally:
            self.number = number
        raise UnmadeError(f"not enough different items were found at {name!r}")

    def _object(self, schema: Schema, name: str) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        wanted = [key for key in schema.get("required") or () if isinstance(key, str)]
        least = int(schema.get("minProperties", 0))
        if least > _LONGEST_ARRAY:
            raise UnmadeError(f"no object has as many keys as it says at {name!r}")
        more = (key for key, value in properties.items() if key not in wanted and not self._again(value))
        wanted += [key for key, _ in zip(more, range(max(0, least - len(wanted))), strict=False)]
        spare = 0
        while len(wanted) < least and spare < least + _VARIANTS:
            spare += 1
            extra = self._key(schema, spare)
            if extra not in wanted and self._property(schema, properties, extra) is not False:
                wanted.append(extra)
        made: dict[str, Any] = {}
        pending = list(dict.fromkeys(wanted))
        for key in pending:  # which grows meanwhile
            made[key] = self.make(self._property(schema, properties, key), key)
            dependent = (schema.get("dependentRequired") or {}).get(key) or ()
            pending += [other for other in dependent if other not in pending]
        return made

    def _key(self, schema: Schema, number: int) -> str:
        patterns = schema.get("patternProperties")
        if isinstance(patterns, Mapping) and patterns:
            return _matching(next(iter(patterns)), 0, None, number - 1)
        names = schema.get("propertyNames")
        if isinstance(names, Mapping):
            return str(self._another({"type": "string", **names}, "key", [f"key{index}" for index in range(1, number)]))
        return f"key{number}"

    def _property(self, schema: Schema, properties: Schema, key: str) -> Any:
        if key in properties:
            return properties[key]
        patterns = schema.get("patternProperties")
        for pattern, found in patterns.items() if isinstance(patterns, Mapping) else ():
            if re.search(pattern, key):
                return found
        return schema.get("additionalProperties", True)


_MAKE: Final[Mapping[str, Callable[[_Maker, Schema, str], Any]]] = {
    "null": _Maker._null,
    "boolean": _Maker._boolean,
    "integer": _Maker._integer,
    "number": _Maker._number,
    "string": _Maker._string,
    "array": _Maker._array,
    "object": _Maker._object,
}


def _given(schema: Schema) -> Iterator[Any]:
    """What the schema itself names as a value."""
    examples = schema.get("examples")
    yield from examples if isinstance(examples, list) else ()
    for word in ("example", "default"):
        if word in schema:
            yield schema[word]


_IMPLIED: Final[Mapping[str, tuple[str, ...]]] = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def _implied(schema: Schema) -> str:
    """The type that a schema without one speaks of."""
    return next((kind for kind, words in _IMPLIED.items() if any(word in schema for word in words)), "string")


def _bound(schema: Schema, word: str, exclusive: str) -> tuple[Fraction | None, bool]:
    """A bound, and whether it is outside; draft 4 says that by a switch."""
    found: list[tuple[Fraction, bool]] = []
    if _is_number(schema.get(word)):
        found.append((Fraction(str(schema[word])), schema.get(exclusive) is True))
    if _is_number(schema.get(exclusive)):
        found.append((Fraction(str(schema[exclusive])), True))
    if not found:
        return None, False
    return (max if word == "minimum" else lambda pairs: min(pairs, key=lambda pair: (pair[0], not pair[1])))(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# --- schemas laid over each other --------------------------------------------------------------------


def _merged(one: Any, other: Any) -> Any:
    """A schema that asks for what both ask for, where that can be said in one; the judge has the last word."""
    if one is True or one == {}:
        return other
    if other is True or other == {}:
        return one
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return False
    merged = dict(one)
    for word, value in other.items():
        if word not in merged:
            merged[word] = value
        elif word in _MERGE:
            merged[word] = _MERGE[word](merged[word], value)
        elif word == "$ref" and merged[word] != value:
            merged["allOf"] = [*merged.get("allOf", ()), {"$ref": value}]
        elif word in _ONE_OF_MANY or word == "not":
            merged["allOf"] = [*merged.get("allOf", ()), {word: value}]
        else:
            merged[word] = value
    return merged


def _types(one: Any, other: Any) -> Any:
    kept = [kind for kind in _listed(one) if kind in _listed(other)]
    if "integer" in (*_listed(one), *_listed(other)) and "number" in (*_listed(one), *_listed(other)):
        kept = [*kept, *(["integer"] if "integer" not in kept else [])]
    return kept[0] if len(kept) == 1 else kept


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _each(one: Any, other: Any) -> Any:
    return {
        name: _merged(one[name], other[name]) if name in one and name in other else one.get(name, other.get(name))
        for name in dict.fromkeys((*one, *other))
    }


def _both(one: Any, other: Any) -> Any:
    return [*one, *(item for item in other if item not in one)]


def _common(one: Any, other: Any) -> Any:
    return [item for item in one if item in other]


_MERGE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "type": _types,
    "properties": _each,
    "patternProperties": _each,
    "$defs": _each,
    "definitions": _each,
    "required": _both,
    "allOf": _both,
    "enum": _common,
    "items": _merged,
    "additionalProperties": _merged,
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties"), min),
    **dict.fromkeys(("exclusiveMinimum",), max),
    **dict.fromkeys(("exclusiveMaximum",), min),
}

# --- texts -------------------------------------------------------------------------------------------

_FORMATS: Final[Mapping[str, Callable[[int], str]]] = {
    "date": lambda number: f"2026-01-{number % 28 + 1:02}",
    "date-time": lambda number: f"2026-01-{number % 28 + 1:02}T00:00:00Z",
    "time": lambda number: f"{number % 24:02}:00:00Z",
    "duration": lambda number: f"PT{number + 1}H",
    "email": lambda number: f"user{number + 1}@example.com",
    "hostname": lambda number: f"host{number + 1}.example.com",
    "ipv4": lambda number: f"192.0.2.{number % 254 + 1}",
    "ipv6": lambda number: f"2001:db8::{number % 9999 + 1}",
    "uri": lambda number: f"https://example.com/{number + 1}",
    "url": lambda number: f"https://example.com/{number + 1}",
    "uri-reference": lambda number: f"/{number + 1}",
    "uuid": lambda number: f"00000000-0000-4000-8000-{number + 1:012}",
    "json-pointer": lambda number: f"/{number + 1}",
    "regex": lambda number: "a" * (number + 1),
    "byte": lambda number: "AAAA" * (number + 1),
}


def _matching(pattern: str, least: int, most: int | None, number: int) -> str:
    """A text that matches a pattern: as few repetitions as will do."""
    found = 0
    tried: set[str] = set()
    for extra in range(min(max(least, 1), _MOST_REPEATS) + number + _VARIANTS):
        for shift in range(number + 1):
            try:
                text = _Pattern(pattern, extra, shift).text()
            except (UnmadeError, IndexError, ValueError):
                raise UnmadeError(f"the pattern {pattern!r} is beyond it") from None
            if not pattern.endswith("$"):  # more may follow
                tail = str(number) if number else ""
                text = text + tail + "x" * (least - len(text) - len(tail))
            fits = least <= len(text) and (most is None or len(text) <= most)
            if not fits or text in tried or not _matches(pattern, text):
                continue
            tried.add(text)
            if found == number or (number and not pattern.endswith("$")):
                return text
            found += 1
    raise UnmadeError(f"no text that matches {pattern!r} was found")


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


_CLASSES: Final[Mapping[str, str]] = {"d": "0123456789", "w": "abcdefghijklmnopqrstuvwxyz0123456789_", "s": " "}
_OUTSIDE: Final[Mapping[str, str]] = {"D": "abcdef", "W": " -.", "S": "abcdef"}
_ANY: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_.,:;!?@#/"
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r"}


class _Pattern:
    """Reads a pattern of the plain kind and writes a text that it matches: no looking around, no references back.

    Args:
        pattern: The pattern.
        extra: How often what may repeat without an end does so beyond what it must.
        shift: Which of the characters of a class is taken.
    """

    def __init__(self, pattern: str, extra: int, shift: int) -> None:
        self.left = pattern
        self.extra = extra
        self.shift = shift
        self.written = 0

    def text(self) -> str:
        made = self._alternatives()
        if self.left:
            raise UnmadeError(self.left)
        return made

    def _alternatives(self) -> str:
        made = [self._sequence()]
        while self.left.startswith("|"):
            self.left = self.left[1:]
            made.append(self._sequence())
        return made[self.shift % len(made)]

    def _sequence(self) -> str:
        made = ""
        while self.left and self.left[0] not in "|)":
            before = self.left
            piece = self._atom()
            after = self.left
            least, most = self._count()
            made += piece
            if (least, most) != (1, 1):
                made = made[: len(made) - len(piece)]
                counted = self.left
                times = least + (self.extra if most is None else min(self.extra, most - least))
                if times > _LONGEST_TEXT:
                    raise UnmadeError(self.left)
                for _ in range(times):
                    self.left = before
                    made += self._atom()
                    self.written += 1
                    if len(made) > _LONGEST_TEXT or self.written > _LONGEST_TEXT:
                        raise UnmadeError(self.left)
                    assert self.left == after
                self.left = counted
        return made

    def _count(self) -> tuple[int, int | None]:
        found = re.match(r"\*\??|\+\??|\?\??|\{(\d*)(,?)(\d*)\}\??", self.left)
        if found is None:
            return 1, 1
        self.left = self.left[found.end() :]
        sign = found[0][0]
        if sign != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        least = int(found[1] or 0)
        return least, (int(found[3]) if found[3] else None) if found[2] else least

    def _atom(self) -> str:
        sign, self.left = self.left[0], self.left[1:]
        if sign in "^$":
            return ""
        if sign == ".":
            return _ANY[self.shift % len(_ANY)]
        if sign == "[":
            return self._class()
        if sign == "(":
            return self._group()
        return self._escaped() if sign == "\\" else sign

    def _group(self) -> str:
        found = re.match(r"\?:|\?P?<\w+>", self.left)
        if found is not None:
            self.left = self.left[found.end() :]
        elif self.left.startswith("?"):
            raise UnmadeError(self.left)
        made = self._alternatives()
        if not self.left.startswith(")"):
            raise UnmadeError(self.left)
        self.left = self.left[1:]
        return made

    def _escaped(self) -> str:
        sign, self.left = self.left[0], self.left[1:]
        if sign in "bBAZ":
            return ""
        if sign.isdigit():
            raise UnmadeError(sign)
        known = _CLASSES.get(sign) or _OUTSIDE.get(sign)
        return known[self.shift % len(known)] if known else _ESCAPED.get(sign, sign)

    def _class(self) -> str:
        outside = self.left.startswith("^")
        self.left = self.left[1:] if outside else self.left
        members: list[str] = []
        while not self.left.startswith("]") or not members:
            first = self._member()
            if self.left.startswith("-") and not self.left.startswith("-]") and len(first) == 1:
                self.left = self.left[1:]
                last = self._member()
                members += map(chr, range(ord(first), min(ord(last), ord(first) + len(_ANY)) + 1))
            else:
                members += first
        self.left = self.left[1:]
        allowed = [sign for sign in _ANY if sign not in members] if outside else members
        return allowed[self.shift % len(allowed)]

    def _member(self) -> str:
        sign, self.left = self.left[0], self.left[1:]
        if sign != "\\":
            return sign
        sign, self.left = self.left[0], self.left[1:]
        return _CLASSES.get(sign) or _OUTSIDE.get(sign) or _ESCAPED.get(sign, sign)
