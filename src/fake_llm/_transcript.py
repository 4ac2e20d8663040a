"""Calls and answers as a conversation, for people."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile
from operator import add
from typing import Any, Final, TypeAlias

from fake_llm import _json
from fake_llm._call import Call, vocabulary
from fake_llm._dialect import Choice, parsed_arguments
from fake_llm._errors import clipped, masked
from fake_llm._explain import counted
from fake_llm._model import Message, SentToolCall, Usage
from fake_llm._turns import (
    Audio,
    Citation,
    Error,
    Image,
    Json,
    Raw,
    Refusal,
    Reply,
    ServerTool,
    Structured,
    Thinking,
    ToolCall,
    edits_shown,
)

__all__ = ["Transcript", "transcript"]

_WIDTH: Final = 100
_LABEL: Final = 11
_LINES: Final = 12
_MESSAGES: Final = 12

_Line: TypeAlias = tuple[str, str]
"""What a line is about, for its colour, and its text."""

_COLOURS: Final = {
    "head": "bold",
    "system": "blue",
    "user": "cyan",
    "assistant": "green",
    "tool": "magenta",
    "note": "dim",
    "error": "red",
}


class Transcript(str):
    """A transcript: plain text, which `rich` prints in colours."""

    __slots__ = ("lines",)

    lines: tuple[_Line, ...]

    @classmethod
    def of(cls, lines: Iterable[_Line]) -> Transcript:
        """The lines joined."""
        kept = tuple(lines)
        made = cls("\n".join(text for _, text in kept))
        made.lines = kept
        return made

    def __rich__(self) -> Any:
        """The text in colours: labels, and what isn't said by anybody as a whole."""
        from rich.text import Text

        text = Text()
        for number, (kind, line) in enumerate(self.lines):
            colour = _COLOURS.get(kind, "")
            whole = kind in ("head", "note", "error")
            text.append("\n" if number else "")
            text.append(line[: 2 + _LABEL], colour)
            text.append(line[2 + _LABEL :], colour if whole else "")
        return text


def transcript(
    calls: Iterable[Call], side_calls: Iterable[Call] = (), failures: Iterable[BaseException] = ()
) -> Transcript:
    """Calls in order; of each, what is new in it, what was answered, and what it cost.

    The lines are at most 100 columns wide, keys are masked. A call that goes on with an earlier one says so and leaves
    out what that one showed. What the script answered has a `>` before it.
    """
    calls = list(calls)
    known = _Known()
    lines: list[_Line] = []
    for call in calls:
        lines += (("", ""), *_call(call, known)) if lines else _call(call, known)
    for part in (_sides(side_calls), _others(calls, failures), _sums(calls)):
        more = list(part)
        lines += (("", ""), *more) if lines and more else more
    return Transcript.of(lines or [("note", "No calls.")])


def _sides(side_calls: Iterable[Call]) -> Iterator[_Line]:
    counts = Counter(f"{call.method} {call.url}" for call in side_calls)
    if counts:
        yield "note", f"{counted(counts.total(), 'side call')}:"
    for text, count in counts.items():
        yield from _wrapped("note", "", text + (f" ({count} times)" if count > 1 else ""))


def _others(calls: Sequence[Call], failures: Iterable[BaseException]) -> Iterator[_Line]:
    """The failures that belong to no call: hosts that were reached by a way that isn't seen."""
    shown = {id(call._failure) for call in calls}
    for failure in failures:
        if id(failure) not in shown:
            yield from _wrapped("error", "failed", f"{type(failure).__name__}: {failure}", mark=">")


def _sums(calls: Sequence[Call]) -> Iterator[_Line]:
    usages = [call.usage for call in calls if call.usage is not None]
    if len(calls) > 1 and usages:
        waited = sum(call.waited for call in calls)
        costs = [call.cost for call in calls if call.cost is not None]
        notes = [f"{len(calls)} calls", *_tokens(reduce(add, usages))]
        if costs and not any(isinstance(cost, Mapping) for cost in costs):
            notes.append(f"cost {reduce(add, costs)}")
        if waited:
            notes.append(f"waited {waited:g} s")
        yield from _wrapped("note", "", ", ".join(notes), first=0)


# --- one call -----------------------------------------------------------------------------------


def _call(call: Call, known: _Known) -> Iterator[_Line]:
    spoken = known.spoken(call)
    before = spoken.before
    words = [f"call {call.index}", vocabulary(call)]
    if call.operation == "unknown":
        words.append(f"{call.method} {call.url}")
    elif call.operation != "chat" and call.operation not in words[-1]:
        words.append(call.operation)
    words.append(call.model)
    if call.operation == "chat":
        words.append("streamed" if call.stream else "whole")
    if call.attempt > 1:
        words.append(f"attempt {call.attempt}")
    words.append("no answer" if call.response is None else str(call.response.status))
    if before is not None and (spoken.new or call._before is not None):
        words.append(f"continues call {before.index}")
    yield from _wrapped("head", "", " · ".join(word for word in words if word), first=0, indent=2)
    yield from _asked(call, spoken)
    yield from _answer(call)
    notes = _tokens(call.usage) if call.usage is not None else []
    notes += [f"finish_reason {reason}" for reason in dict.fromkeys(_reasons(call))]
    if call.cost is not None:
        notes.append(f"cost {call.cost}")
    if call.waited:
        notes.append(f"waited {call.waited:g} s")
    if notes:
        yield from _wrapped("note", "", "(" + ", ".join(notes) + ")")


def _tokens(usage: Usage) -> list[str]:
    notes = [f"{usage.input_tokens} tokens in, {usage.output_tokens} out"]
    for count, word in (
        (usage.cached_tokens, "cached"),
        (usage.cache_write_tokens, "written to the cache"),
        (usage.reasoning_tokens, "reasoning"),
    ):
        if count:
            notes.append(f"{count} {word}")
    return notes


def _reasons(call: Call) -> Iterator[str]:
    """Why the answers ended, where they weren't simply complete."""
    for choice in call._choices if call._failure is None else ():
        if choice.finish_reason not in ("stop", "tool_calls", "refusal"):
            yield choice.finish_reason


# --- what was asked -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What is said in a call, and where it belongs.

    Attributes:
        messages: All but those of the system.
        before: The call that it goes on with.
        seen: How many of the messages were shown there.
        tools: How often each tool was called in the conversation so far.
    """

    messages: tuple[Message, ...]
    before: Call | None
    seen: int
    tools: Counter[str]

    @property
    def new(self) -> tuple[Message, ...]:
        """The messages that no call before showed."""
        return self.messages[self.seen :]


class _Known:
    """The calls so far, to be found by the messages that a later call begins with.

    Each message is looked at once in each call that sends it: what a conversation begins with is one number, found by
    the number of what comes before its last message, and that message.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, Any], int] = {}
        self._calls: dict[Any, Call] = {}
        self._stored: dict[int, Counter[str]] = {}

    def spoken(self, call: Call) -> _Spoken:
        """What is said in a call; remembers it."""
        said = tuple(message for message in call._own() if message.role != "system")
        prefixes = [0]
        for message in said:
            key = prefixes[-1], _key(message)
            prefixes.append(self._numbers.setdefault(key, len(self._numbers) + 1))
        found = (call._before, 0) if call._before is not None else self._earlier(call, said, prefixes)
        if found[1] == len(said) == 1 and call.attempt == 1:
            found = None, 0  # to ask a short question again is no sign of belonging together
        if said:
            self._remember(call, prefixes[-1])
        return _Spoken(said, *found, self._tools(call, said))

    def _tools(self, call: Call, said: Sequence[Message]) -> Counter[str]:
        counts: Counter[str] = Counter()
        if call._before is not None:
            counts.update(self._stored.get(id(call._before), ()))
            counts.update(item.name for message in call._before._said() for item in message.tool_calls)
        counts.update(item.name for message in said for item in message.tool_calls)
        self._stored[id(call)] = counts
        return counts

    def _remember(self, call: Call, prefix: int) -> None:
        place = prefix, call.operation
        self._calls[place] = self._calls[place, call.system] = call
        for choice in call._choices:
            answer = _answer_key(choice.text, _made(choice))
            ids = tuple(item.id for item in choice.tool_calls)
            for which in (ids, None):
                key = place, answer, which
                self._calls[key] = self._calls[key, call.system] = call

    def _earlier(self, call: Call, said: Sequence[Message], prefixes: Sequence[int]) -> tuple[Call | None, int]:
        """The latest call whose messages, and its answer if it is there, begin this one's; best one whose answer is.

        One of the same system text comes before others, and one whose answer isn't there must have the same.
        """
        best: tuple[Call | None, int] = None, 0
        for count in range(len(said), 0, -1):
            place = prefixes[count], call.operation
            latest = self._calls.get(place)
            if latest is None:
                continue
            if count == len(said):
                best = (latest, count) if latest.system == call.system else best
                continue
            answer = tuple(takewhile(lambda message: message.role == "assistant", said[count:]))
            other = self._answered(call, place, answer) if answer else None
            if other is not None:
                return other, count + len(answer)
            if best[0] is None and (same := self._calls.get((place, call.system))) is not None:
                best = same, count
        return best

    def _answered(self, call: Call, place: Any, answer: Sequence[Message]) -> Call | None:
        """The latest call at this place that was answered so, however the answer is cut."""
        made = [item for message in answer for item in message.tool_calls]
        key = _answer_key("".join(message.text for message in answer), made)
        ids = tuple(item.id for item in made)
        unnamed = (None,) * len(ids)
        # an id counts where both have one
        wanted = (ids, unnamed) if None not in ids else (None,)
        found = [(place, key, one) for one in dict.fromkeys(wanted)]
        return next(
            (
                other
                for one in (*((one, call.system) for one in found), *found)
                if (other := self._calls.get(one)) is not None
            ),
            None,
        )


def _key(message: Message) -> Any:
    """What tells a message from any other."""
    return (
        message.role,
        message.text,
        message.thinking,
        message.tool_results,
        _calls_key(message.tool_calls),
        tuple(item.id for item in message.tool_calls),
    )


def _answer_key(text: str, calls: Iterable[SentToolCall]) -> Any:
    """What tells an answer from any other, however it is cut: its text without blanks, its tool calls without their ids."""
    return "".join(text.split()), _calls_key(calls)


def _calls_key(calls: Iterable[SentToolCall]) -> Any:
    return tuple((item.name, _value_key(item.arguments)) for item in calls)


def _value_key(value: Any) -> Any:
    """A JSON value as one that can be looked up, equal where the values are."""
    if isinstance(value, dict):
        return dict, frozenset((name, _value_key(item)) for name, item in value.items())
    if isinstance(value, list):
        return list, tuple(map(_value_key, value))
    return value


def _made(choice: Choice) -> list[SentToolCall]:
    """The tool calls of an answer as a history has them."""
    return [SentToolCall(item.name, parsed_arguments(item.json), item.id) for item in choice.tool_calls]


def _asked(call: Call, spoken: _Spoken) -> Iterator[_Line]:
    before, new = spoken.before, spoken.new
    if call._asked.body is None and call.raw:
        yield from _wrapped("note", "", f"({counted(len(call.raw), 'byte')} that are no JSON)")
    if before is not None and spoken.messages and not new:
        yield from _wrapped("note", "", f"(asks what call {before.index} asked)")
    if call.system and (before is None or before.system != call.system):
        yield from _wrapped("system", "system", call.system)
    head = len(new) if len(new) <= _MESSAGES else 3
    tail = len(new) - (_MESSAGES - head - 1) if head < len(new) else head
    arguments = _arguments(call, (*new[:head], *new[tail:]), spoken.tools)
    for message in new[:head]:
        yield from _message(message, arguments)
    if head < len(new):
        yield from _wrapped("note", "", f"… {tail - head} more messages …")
    for message in new[tail:]:
        yield from _message(message, arguments)
    if call.tools and (before is None or before.tools.keys() != call.tools.keys()):
        yield from _wrapped("tools", "tools", ", ".join(call.tools))
    if call.schema is not None and (before is None or before.schema != call.schema):
        yield from _wrapped("tools", "schema", clipped(_json.text(call.schema), 240) if call.schema else "any JSON")


def _arguments(call: Call, shown: Iterable[Message], tools: Counter[str]) -> dict[str, str]:
    """By their ids, the arguments of tool calls whose tool was called more than once: its results can't be told apart by its name."""
    wanted = {result.id for message in shown for result in message.tool_results}
    here = {item.id: item for message in call._own() for item in message.tool_calls if item.id in wanted}
    found = (*call._earlier_calls(wanted - here.keys()), *here.values())
    return {
        item.id: clipped(_json.text(item.arguments), 60)
        for item in found
        if item.id is not None and tools[item.name] > 1
    }


def _message(message: Message, arguments: dict[str, str]) -> Iterator[_Line]:
    for result in message.tool_results:
        name = result.name or result.id or "result"
        if result.id in arguments:
            name += f"({arguments[result.id]})"
        yield from _wrapped("tool", "tool", f"{name} → {'error: ' if result.is_error else ''}{result.text}")
    if message.thinking:
        yield from _wrapped(message.role, message.role, f"(thinking) {message.thinking}")
    if message.text and not message.tool_results:
        yield from _wrapped(message.role, message.role, message.text)
    for item in message.tool_calls:
        yield from _wrapped(message.role, message.role, f"{item.name}({_json.text(item.arguments)})")


# --- what was answered --------------------------------------------------------------------------


def _answer(call: Call) -> Iterator[_Line]:
    reply = call.reply
    failure = call._failure
    if failure is not None:
        yield from _wrapped("error", "failed", f"{type(failure).__name__}: {failure}", mark=">")
    elif isinstance(reply, Reply):
        yield from _reply(call, reply)
    elif isinstance(reply, Error):
        yield from _wrapped("error", "refused" if call._refused else "error", _error(call, reply), mark=">")
    elif isinstance(reply, type) and issubclass(reply, BaseException):
        yield from _wrapped("error", "fault", reply.__name__, mark=">")
    elif isinstance(reply, BaseException):
        yield from _wrapped("error", "fault", repr(reply), mark=">")
    elif isinstance(reply, Raw):
        yield from _wrapped("assistant", "raw", f"{reply.status} {clipped(_sent(reply.body), 1000)}", mark=">")
        if reply.then is not None:
            yield from _wrapped("error", "then", repr(reply.then), mark=">")
    elif reply is not None:
        yield from _wrapped("assistant", "assistant", clipped(repr(reply), 1000), mark=">")
    elif call.operation == "embeddings" and call.response is not None:
        count = len(call.messages)
        yield from _wrapped("assistant", "answer", f"{count} vector{'s' if count > 1 else ''} made up", mark=">")
    elif call.operation in _MADE_UP and call.response is not None:
        yield from _wrapped("assistant", "answer", f"{_MADE_UP[call.operation]} made up", mark=">")
    elif call.response is not None:
        body = " ".join(call.response.body.decode(errors="replace").split())
        yield from _wrapped("assistant", "answer", clipped(body, 240), mark=">")


_MADE_UP: Final = {"images": "pictures", "speech": "silence"}


def _sent(body: Any) -> str:
    """What a `Raw` sends; of bytes that are no text only how many."""
    if isinstance(body, (dict, list)):
        return _json.text(body)
    if isinstance(body, bytes) and any(byte < _BLANK and byte not in b"\t\n\r" for byte in body[:_LOOKED_AT]):
        return counted(len(body), "byte")
    return repr(body)


_BLANK: Final = 32
_LOOKED_AT: Final = 1024


def _reply(call: Call, reply: Reply) -> Iterator[_Line]:
    given: list[tuple[Any, ...]] = [choice.parts for choice in call._choices] or [reply.parts]
    for number, parts in enumerate(given, 1):
        which = f"(choice {number}) " if len(given) > 1 else ""
        for part in parts or ("",):
            text = _part(part) if parts else "(nothing)"
            yield from _wrapped("assistant", "assistant", which + text, mark=">")
    if reply.edit is not None:  # what was sent differs from the lines above
        yield from _wrapped("note", "edited", edits_shown(reply.edit), mark=">")
    if reply.then is not None:
        yield from _wrapped("error", "then", repr(reply.then), mark=">")


def _error(call: Call, error: Error) -> str:
    status = "" if call.response is None else f"{call.response.status} "
    told = f": {error.message}" if error.message else ""
    later = f" (retry after {error.retry_after:g} s)" if error.retry_after is not None else ""
    body = f", body {error.body!r}" if error.body is not None else ""
    return f"{status}{error.name}{told}{later}{body}"


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part or "(empty text)"
    if isinstance(part, ToolCall):
        return f"{part.name}({part.json})"
    if isinstance(part, Thinking):
        return f"(thinking) {part.text}" if not part.redacted else "(thinking, redacted)"
    if isinstance(part, Refusal):
        return f"(refusal) {part.text}"
    if isinstance(part, (Json, Structured)):
        return _json.text(part.value)
    if isinstance(part, Image):
        return f"[image {part.data if isinstance(part.data, str) else f'{part.media_type}, {len(part.data)} bytes'}]"
    if isinstance(part, Audio):
        said = "" if part.transcript is None else f" {part.transcript}"
        return f"[audio {part.media_type}, {len(part.data)} bytes]{said}"
    if isinstance(part, Citation):
        return f"{part.text} [{part.title or part.source}]"
    if isinstance(part, ServerTool):
        gave = f"error {part.error}" if part.error is not None else clipped(_json.text(part.result), 240)
        return f"{part.name}({_json.text(dict(part.arguments))})" + (f" → {gave}" if gave != "null" else "")
    return repr(part)


# --- lines --------------------------------------------------------------------------------------

_UNPRINTABLE: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Controls, those that turn the direction of a text among them, and halves of characters."""


def _wrapped(
    kind: str, label: str, text: str, *, mark: str = "", first: int = 2, indent: int | None = None
) -> Iterator[_Line]:
    """Lines of at most the width, the label before the first of them; long texts are cut in the middle."""
    text = _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], masked(text))
    inset = (first + _LABEL if first else 0) if indent is None else indent
    lines = [line for part in (text.splitlines() or [""]) for line in _cut(part.expandtabs(4), _WIDTH - inset)]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 3], f"… {len(lines) - _LINES + 1} more lines …", *lines[-2:]]
    head = mark.ljust(first) + label.ljust(_LABEL) if first else ""
    for number, line in enumerate(lines):
        yield kind, ((head if number == 0 else " " * inset) + line).rstrip()


def _cut(line: str, width: int) -> Iterator[str]:
    """A line in pieces that fit, between words where there are some."""
    if len(line) * 2 <= width or (line.isascii() and len(line) <= width):
        yield line
        return
    piece, used = "", 0
    for word in re.findall(r"\s+|\S+", line):
        wide = _columns(word)
        if used + wide > width and word.isspace():
            yield piece
            piece, used = "", 0
            continue
        if used + wide > width and piece.strip():
            yield piece.rstrip()
            piece, used = "", 0
        if used + wide <= width:
            piece, used = piece + word, used + wide
            continue
        for character in word:  # a word that is wider than a line
            columns = _columns(character)
            if used + columns > width:
                yield piece
                piece, used = "", 0
            piece, used = piece + character, used + columns
    if piece or not line:
        yield piece


def _columns(text: str) -> int:
    """How wide a terminal shows it: two columns for a wide character, none for one that joins the one before."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def _width(character: str) -> int:
    if character == "\ufe0f":  # makes a picture, two wide, of a sign that is one
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
