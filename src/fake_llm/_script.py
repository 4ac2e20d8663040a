"""What is answered next: coercion to turns, the queue, the rules, the default.

`Script.from_queue` gives the next turn of the queue, `Script.from_rules` one of each rule that fits, in
order of declaration, then the default. A function turn that returns `None` passes on to the next.
"""

from __future__ import annotations

import difflib
import errno
import inspect
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias, TypeGuard

from fake_llm import _json
from fake_llm._call import Call, fits
from fake_llm._endpoints import DIALECTS, OPERATIONS, SIDE_OPERATIONS
from fake_llm._errors import ScriptError, clipped, sentence
from fake_llm._options import Pace
from fake_llm._turns import (
    PART_TYPES,
    THEN_TYPES,
    Error,
    Raw,
    Reply,
    as_part,
    as_structured,
    check_type,
    misplaced,
)

__all__ = [
    "PASSED_ON",
    "Broken",
    "Function",
    "Misfit",
    "Pattern",
    "Rule",
    "Script",
    "Taken",
    "Turn",
    "Verbatim",
    "as_failure",
    "as_script",
    "as_turn",
    "is_fault",
    "is_unreached",
]

__tracebackhide__ = True  # pytest leaves these frames out of a report


@dataclass(frozen=True, slots=True)
class Verbatim:
    """An SDK's own response object: itself, its JSON, and the dialect it is an answer of."""

    value: Any
    document: Mapping[str, Any]
    dialect: str

    @property
    def path(self) -> str:
        """The class for people."""
        return f"{type(self.value).__module__}.{type(self.value).__qualname__}"


@dataclass(frozen=True, slots=True)
class Broken:
    """An exception in place of an answer: an instance or a class."""

    error: BaseException | type[BaseException]

    def instance(self) -> BaseException:
        """The exception to raise; the same instance each time when an instance was scripted."""
        if isinstance(self.error, BaseException):
            return self.error.with_traceback(None)
        return _made(self.error)


def is_fault(error: BaseException) -> bool:
    """Whether a function that raises it scripts a fault: it is what the standard library raises of a connection."""
    if isinstance(error, (TimeoutError, ConnectionError)) or type(error).__module__ in ("socket", "ssl"):
        return True
    return is_unreached(error)


def is_unreached(error: BaseException) -> TypeGuard[OSError]:
    """Whether it is what a connect fails with where Python has no class of its own for that."""
    return type(error) is OSError and error.errno in _UNREACHED


_UNREACHED: Final = frozenset(
    getattr(errno, name)
    for name in ("EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN", "ENETDOWN", "EADDRNOTAVAIL")
    if hasattr(errno, name)
)
"""What a connect fails with that has no class of its own in Python."""


@dataclass(frozen=True, slots=True)
class Function:
    """A turn that is decided when the request is there."""

    function: Callable[[Call], Any]


def _made(kind: type[BaseException]) -> BaseException:
    try:
        return kind()
    except TypeError:
        return kind("scripted by fake_llm")


Turn: TypeAlias = "Reply | Error | Raw | Verbatim | Broken | Function"
TURN_TYPES: Final = (Reply, Error, Raw, Verbatim, Broken, Function)

_SDK_TYPES: Final = {path: dialect.name for dialect in DIALECTS.values() for path in dialect.sdk_types}

_WRITE_TURN: Final = 'Write "text", ToolCall(…), Reply(…), Error(…), a dict, a model, or a list of parts.'


def as_turn(value: Any, where: str = "A script") -> Turn:
    """The one place where what people write becomes a turn.

    Raises:
        ScriptError: It can't be one.
    """
    if isinstance(value, TURN_TYPES):
        if isinstance(value, Error) and value.after_events is not None:
            raise ScriptError(
                sentence(
                    f"{where} got {value!r} as a turn.",
                    "An error in place of an answer has no events before it.",
                    f'Write Reply("text", then={value!r}), or leave after_events= out.',
                )
            )
        return value
    if isinstance(value, PART_TYPES):
        return Reply(value)
    verbatim = _as_verbatim(value)
    if verbatim is not None:
        return verbatim
    if isinstance(value, BaseException):
        return Broken(value)
    if isinstance(value, type) and issubclass(value, BaseException):
        return _as_fault(value)
    if isinstance(value, Mapping):
        _refuse_vendor_body(value)
    _refuse_sdk_part(value)
    structured = as_structured(value)
    if structured is not None:
        return Reply(structured)
    if isinstance(value, (list, tuple)):
        return _as_parts(value, where)
    if callable(value) and not isinstance(value, type):
        return _as_function(value)
    if isinstance(value, THEN_TYPES):
        raise ScriptError(misplaced(value))
    raise ScriptError(
        sentence(
            f"{where} got {_described(value)}, which can't be a turn.",
            "A turn is what the model says, an error, an exception, a body, or a function of the call.",
            _hint(value),
        )
    )


def as_failure(turn: Turn, operation: str) -> str | None:
    """Why a turn can't answer housekeeping, `None` where it can: what succeeds is made up from what was sent."""
    if not isinstance(turn, (Reply, Verbatim)):
        return None
    came = turn.path if isinstance(turn, Verbatim) else clipped(repr(turn), 80)
    return sentence(
        f"A rule answers {operation!r} with {came}.",
        "That is housekeeping, not a question to a model: a rule can let it fail or send a body, and what it doesn't answer is made up.",
        "Write Error(500), an exception, Raw({…}), or a function of the call that returns one of them, or None for what is made up.",
    )


def as_script(value: Any) -> tuple[Turn, ...]:
    """A list of turns, or a single turn that stands for a script of one."""
    if not value and type(value) in (tuple, list):
        return ()
    if isinstance(value, TURN_TYPES) and not isinstance(value, Function):
        return (as_turn(value),)
    single = (
        isinstance(value, (str, bytes, Mapping, BaseException, *PART_TYPES, type))
        or as_structured(value) is not None
        or _as_verbatim(value) is not None
    )
    if isinstance(value, type) and not issubclass(value, BaseException):
        raise ScriptError(
            sentence(
                f"A script got {_described(value)}.",
                "A class is no turn: @intercept without parentheses looks the same.",
                f"Write @intercept() to decorate it, or an instance: {value.__qualname__}(…).",
            )
        )
    if single:
        return (as_turn(value),)
    if isinstance(value, Iterable) and not isinstance(value, (set, frozenset)):
        return tuple(as_turn(item) for item in value)
    if callable(value):
        raise ScriptError(
            sentence(
                f"A script got the function {getattr(value, '__qualname__', value)!r}.",
                "A single function doesn't stand for a script: @intercept without parentheses looks the same.",
                "Write @intercept() to decorate it, intercept(default=function) to answer every call with it, or intercept([function]) for one call.",
            )
        )
    return (as_turn(value),)


def _as_fault(kind: type[BaseException]) -> Broken:
    try:
        _made(kind)
    except Exception as error:  # noqa: BLE001 - whatever its constructor raises
        raise ScriptError(
            sentence(
                f"A script got the exception class {kind.__module__}.{kind.__qualname__}.",
                f"It can't be made without arguments, nor with a text alone: {error}.",
                f"Write an instance: {kind.__qualname__}(…).",
            )
        ) from None
    return Broken(kind)


def _as_parts(value: Sequence[Any], where: str) -> Reply:
    if not value:
        raise ScriptError(
            sentence(
                f"{where} got an empty list, which can't be a turn.",
                "A list inside a script is one turn of several parts.",
                'Write Reply() or "" for an answer without text.',
            )
        )
    for item in value:
        if isinstance(item, THEN_TYPES):
            raise ScriptError(misplaced(item))
        if isinstance(item, (Reply, Raw, list, tuple)):
            raise ScriptError(
                sentence(
                    f"{where} got a list that holds {item!r}.",
                    "Only the script is a list of turns; a list inside it, or given to push(), reply() or default=, is one turn of several parts.",
                    'Write push("a", "b") for two turns, or ["text", ToolCall(…)] for one of two parts; a JSON array is Json([…]).',
                )
            )
        if isinstance(item, Mapping):
            _refuse_vendor_body(item)
        _refuse_sdk_part(item)
    return Reply(*(as_part(item) for item in value))


def _as_function(value: Callable[[Call], Any]) -> Function:
    try:
        inspect.signature(value).bind(None)
    except TypeError:
        raise ScriptError(
            sentence(
                f"A script got the function {getattr(value, '__qualname__', repr(value))}{inspect.signature(value)}.",
                "A function turn is called with the call as its one argument.",
                "Write def answer(call): …",
            )
        ) from None
    except ValueError:
        pass
    return Function(value)


def _as_verbatim(value: Any) -> Verbatim | None:
    for kind in type(value).__mro__:
        path = f"{kind.__module__}.{kind.__qualname__}"
        dialect = _SDK_TYPES.get(path)
        if dialect is not None:
            dump = _dumped(value)
            return Verbatim(value, dump, dialect)
    return None


def _dumped(value: Any) -> Any:
    """The JSON value of an SDK's object, which is a model of Pydantic 2, or of Pydantic 1 as Replicate's."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return _json.loads(value.json(by_alias=True, exclude_unset=True).encode())


_TYPES: Final = re.compile(r"\._?types(?=\.|$)")
"""Where SDKs keep their classes: Ollama's under a name of its own."""
_SDKS: Final = frozenset(_TYPES.split(path, maxsplit=1)[0] for path in _SDK_TYPES)


def _refuse_sdk_part(value: Any) -> None:
    """Refuse an SDK's object that is no whole answer: a message, a block, a chunk."""
    kind = type(value)
    sdk, *types = _TYPES.split(kind.__module__, maxsplit=1)
    if types and sdk in _SDKS:
        raise ScriptError(
            sentence(
                f"A script got a {kind.__module__}.{kind.__qualname__}.",
                "An SDK's object stands for a whole answer, such as openai.types.chat.ChatCompletion; this is a part of one.",
                'Write the whole answer, or say what the model answers: "text", ToolCall(…).',
            )
        )


def _refuse_vendor_body(value: Mapping[Any, Any]) -> None:
    def has(key: str, inner: str) -> bool:
        items = value.get(key)
        return isinstance(items, (list, tuple)) and bool(items) and isinstance(items[0], Mapping) and inner in items[0]

    found = (
        "choices[0].message"
        if has("choices", "message")
        else "candidates[0].content"
        if has("candidates", "content")
        else "content and stop_reason"
        if "content" in value and "stop_reason" in value
        else "output.message and stopReason"
        if "stopReason" in value and isinstance(value.get("output"), Mapping) and "message" in value["output"]
        else None
    )
    if found is not None:
        raise ScriptError(
            sentence(
                f"A script got a dict with {found}, which is a vendor's whole body.",
                "A dict stands for structured output: the model's JSON, not the provider's.",
                'Write Raw({…}) to send it verbatim, or say what the model answers: "text".',
            )
        )


def _described(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__module__}.{value.__qualname__}"
    return f"{value!r} ({type(value).__qualname__})"


def _hint(value: Any) -> str:
    if isinstance(value, (bool, int, float)) or value is None:
        return f"Write Json({value!r}) for JSON, or a str for text."
    if isinstance(value, (bytes, bytearray)):
        return 'Write Raw(b"…") for a body, or a str for text.'
    if isinstance(value, type):
        return f"Write an instance: {value.__qualname__}(…)."
    return _WRITE_TURN


Pattern: TypeAlias = "str | re.Pattern[str]"


@dataclass(slots=True)
class Rule:
    """Turns for the calls that fit; what can be asked for is told by `FakeLLM.when`.

    Attributes:
        turns: One repeats for ever, several are a queue.
        pace: What the rule says about its replies.
        used: How often it has answered.
        gate: A text without which it fits no call, by the name of its condition: what is looked at first.
        aside: Whether it is for housekeeping, which it has to name: a pattern never means it.
    """

    predicates: tuple[Callable[[Call], Any], ...] = ()
    input: Pattern | None = None
    last: Pattern | None = None
    system: Pattern | None = None
    tool: str | None = None
    tool_result: Pattern | None = None
    model: Pattern | None = None
    provider: Pattern | None = None
    operation: Pattern = "chat"
    stream: bool | None = None
    turn: int | None = None
    times: int | None = None
    turns: tuple[Turn, ...] = ()
    pace: Pace = field(default_factory=Pace)
    used: int = 0
    gate: tuple[str, str] | None = None
    aside: bool = False

    @property
    def left(self) -> float:
        """How often it can still answer."""
        if not self.turns:
            return 0
        whole = float("inf") if len(self.turns) == 1 else len(self.turns)
        return min(whole, float("inf") if self.times is None else self.times) - self.used

    @property
    def unused(self) -> int:
        """Finite turns that nobody asked for."""
        return 0 if self.left == float("inf") else int(self.left)

    @property
    def conditions(self) -> int:
        """How many things it asks for."""
        asked = (getattr(self, name) for name in _CONDITIONS)
        return len(self.predicates) + sum(1 for value in asked if value is not None)

    def next(self) -> Turn:
        """Its next turn, which is used by this."""
        turn = self.turns[min(self.used, len(self.turns) - 1)]
        self.used += 1
        return turn

    def check(self) -> None:
        """Refuse what could never fit a call."""
        for predicate in self.predicates:
            _check_predicate(predicate)
        _check_count("times", self.times, 1, "times is a whole number, 1 or more.", "Write times=2.")
        check_type(self.tool, (str,), "when()", "tool", 'tool="get_weather"')
        check_type(self.stream, (bool,), "when()", "stream", "stream=True or stream=False")
        _check_count(
            "turn",
            self.turn,
            0,
            "turn is the number of assistant messages in the request, 0 or more.",
            "Write turn=0 for the first round.",
        )
        _check_operation(self.operation)
        for name in _PATTERNS:
            _check_pattern(name, getattr(self, name))
        asked = ((name, getattr(self, name)) for name in _TEXTS)
        self.gate = next(((name, wanted) for name, wanted in asked if isinstance(wanted, str)), None)
        self.aside = isinstance(self.operation, str) and self.operation in SIDE_OPERATIONS

    @property
    def over(self) -> str | None:
        """Why it fits no call any more, `None` while it may."""
        if self.left > 0:
            return None
        return "its turns are spent" if self.turns else "it has no turns: write .reply(…)"

    def misfit(self, call: Call) -> str | None:
        """Why it doesn't fit a call, `None` when it does. Its own functions are called last."""
        over = self.over
        if over is not None:
            return over
        unmet = next(self.unmet(call), None)
        if unmet is not None:
            return unmet
        for predicate in self.predicates:
            if not predicate(call):
                return f"{getattr(predicate, '__name__', 'the predicate')}(call) was false"
        return None

    def unmet(self, call: Call) -> Iterator[str]:
        """What it wants and what came instead, for each condition but its own functions, which are called once for a call."""
        for name, wanted, value in (
            ("operation", self.operation, call.operation),
            ("provider", self.provider, call.provider),
            ("model", self.model, call.model),
        ):
            if not fits(wanted, value):
                yield f"{name}={_shown(wanted)}, but {value!r} came"
        if self.stream is not None and self.stream is not call.stream:
            yield f"stream={self.stream}, but {call.stream} came"
        for name, text in _TEXTS.items():
            piece: Pattern | None = getattr(self, name)
            if piece is not None and not _found(piece, text(call)):
                yield f"{name}={_shown(piece)} isn't in {clipped(text(call), 80)!r}"
        if self.tool is not None and not _speaks_of(self.tool, call):
            yield f"tool={self.tool!r} is neither called nor named"
        if self.turn is not None:
            count = sum(1 for message in call.messages if message.role == "assistant")
            if count != self.turn:
                yield f"turn={self.turn}, but {count} came"

    def __repr__(self) -> str:
        shown = [getattr(predicate, "__name__", repr(predicate)) for predicate in self.predicates]
        for name in (*_CONDITIONS, "times"):
            value = getattr(self, name)
            if value is not None:
                shown.append(f"{name}={_shown(value)}")
        if self.operation != "chat":
            shown.append(f"operation={_shown(self.operation)}")
        return f"when({', '.join(shown)})"


_OPERATIONS: Final = (*OPERATIONS, *SIDE_OPERATIONS)
_CONDITIONS: Final = ("input", "last", "system", "tool", "tool_result", "model", "provider", "stream", "turn")
_PATTERNS: Final = ("input", "last", "system", "tool_result", "model", "provider", "operation")


def _check_predicate(predicate: Any) -> None:
    if inspect.iscoroutinefunction(predicate):
        raise ScriptError(
            sentence(
                f"when() got the coroutine function {predicate.__qualname__}.",
                "A predicate is called, not awaited, and its result would always be true.",
                "Write def instead of async def.",
            )
        )
    if not callable(predicate):
        raise ScriptError(
            sentence(
                f"when() got {predicate!r}.",
                "What isn't named is a function of the call.",
                "Write when(lambda call: …) or when(input=…).",
            )
        )


def _check_count(name: str, value: Any, least: int, there: str, write: str) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise ScriptError(sentence(f"when() got {name}={value!r}.", there, write))


def _check_operation(operation: Any) -> None:
    if operation is None:
        raise ScriptError(
            sentence("when() got operation=None.", "A rule is for chat unless it says otherwise.", "Leave it out.")
        )
    if isinstance(operation, str) and operation not in _OPERATIONS:
        near = difflib.get_close_matches(operation, _OPERATIONS, 1)
        raise ScriptError(
            sentence(
                f"when() got operation={operation!r}.",
                f"The operations that rules can answer are {', '.join(map(repr, OPERATIONS))}; "
                f"those that rules can let fail are {', '.join(map(repr, SIDE_OPERATIONS))}.",
                f"Write operation={(near or ['chat'])[0]!r}.",
            )
        )
    if isinstance(operation, re.Pattern) and isinstance(operation.pattern, str):
        meant = [name for name in SIDE_OPERATIONS if fits(operation, name)]
        if meant and not any(fits(operation, name) for name in OPERATIONS):
            raise ScriptError(
                sentence(
                    f"when() got operation={_shown(operation)}.",
                    "A pattern finds what asks a model; housekeeping of SDKs is answered by rules that name it alone.",
                    f"Write operation={meant[0]!r}" + (", and a rule for each of the others." if meant[1:] else "."),
                )
            )


def _check_pattern(name: str, value: Any) -> None:
    wanted = getattr(value, "pattern", value)  # one of bytes finds nothing in text
    if value is not None and not isinstance(wanted, str):
        raise ScriptError(
            sentence(
                f"when() got {name}={value!r}.",
                f"{name} is a str, or a compiled pattern of one.",
                f'Write {name}="text" or {name}=re.compile("pattern").',
            )
        )


def _shown(pattern: Any) -> str:
    return f"re.compile({pattern.pattern!r})" if isinstance(pattern, re.Pattern) else repr(pattern)


def _found(pattern: Pattern, text: str) -> bool:
    return pattern in text if isinstance(pattern, str) else pattern.search(text) is not None


def _input(call: Call) -> str:
    return " ".join(call.user_texts)


def _last(call: Call) -> str:
    texts = call.user_texts
    return texts[-1] if texts else ""


def _system(call: Call) -> str:
    return call.system


def _results(call: Call) -> str:
    return " ".join(result.text for result in call.tool_results)


_TEXTS: Final[Mapping[str, Callable[[Call], str]]] = {
    "input": _input,
    "last": _last,
    "system": _system,
    "tool_result": _results,
}
"""The texts of a call that rules look into."""


def _speaks_of(tool: str, call: Call) -> bool:
    results = (result.name for message in call._backwards() for result in reversed(message.tool_results))
    if next(results, None) == tool:
        return True
    calls: Sequence[Any] = next(
        (message.tool_calls for message in call._backwards() if message.role == "assistant"), ()
    )
    return any(item.name == tool for item in calls) or any(tool in text for text in call.user_texts)


@dataclass(slots=True)
class Taken:
    """A turn that was chosen, and where it came from.

    Attributes:
        turn: The turn.
        pace: What its rule says about replies.
        more: Whether its source has further turns.
    """

    turn: Turn
    pace: Pace
    more: Callable[[], bool]


class Script:
    """Queue, rules and default of one fake; safe to ask from several threads."""

    def __init__(self, turns: tuple[Turn, ...] = (), default: Turn | None = None) -> None:
        self.lock = threading.RLock()
        self.written = turns
        """The turns as written, pushed ones included: what a copy starts from."""
        self.queue: deque[Turn] = deque(turns)
        self.takers: list[int] = []
        """The index of the call that took each turn which has left the queue."""
        self.rules: list[Rule] = []
        self.default = default

    def push(self, turns: Sequence[Turn]) -> None:
        """Append to the queue."""
        with self.lock:
            self.queue.extend(turns)
            self.written = (*self.written, *turns)

    def copy(self) -> Script:
        """The script as written, with nothing used."""
        copied = Script(self.written, self.default)
        copied.rules = [_fresh(rule) for rule in self.rules]
        return copied

    def clear(self) -> None:
        """Empty queue, rules and default."""
        with self.lock:
            self.written = ()
            self.queue.clear()
            self.takers.clear()
            self.rules.clear()
            self.default = None

    @property
    def remaining(self) -> int:
        """Finite turns that are left, those of rules included."""
        return len(self.queue) + sum(rule.unused for rule in self.rules)

    def unused(self) -> Iterator[tuple[str, Turn]]:
        """The turns nobody asked for, each with where it stands."""
        place = len(self.written) - len(self.queue)
        for offset, turn in enumerate(self.queue):
            yield f"turn {place + offset + 1}", turn
        for rule in self.rules:
            for index in range(rule.unused):
                yield repr(rule), rule.turns[min(rule.used + index, len(rule.turns) - 1)]

    def from_queue(self, call: Call) -> Taken | None:
        """The next turn of the queue, for a call that may take one."""
        if call.operation != "chat" or not self.queue:
            return None
        return Taken(self.take(call.index), _NO_PACE, lambda: bool(self.queue))

    def take(self, index: int) -> Turn:
        """The next turn of the queue, for the call of this index."""
        self.takers.append(index)
        return self.queue.popleft()

    def from_rules(self, call: Call, misfits: list[Misfit]) -> Iterator[Taken]:
        """A turn of each rule that fits, in order, then the default.

        Why others don't goes into `misfits`, but for those whose text isn't there: of a thousand rules these are nearly all.
        """
        texts: dict[str, str] = {}
        aside = call.operation in SIDE_OPERATIONS
        for rule in tuple(self.rules):
            if rule.aside is not aside:
                continue
            gate = rule.gate
            if gate is not None:
                name, wanted = gate
                text = texts.get(name)
                if text is None:
                    text = texts[name] = _TEXTS[name](call)
                if wanted not in text:
                    continue
            with self.lock:
                reason = rule.misfit(call)
                turn = rule.next() if reason is None else None
            if turn is not None:
                yield Taken(turn, rule.pace, partial(_any_left, rule))
            misfits.append((rule, reason or PASSED_ON))
        if self.default is not None and call.operation == "chat":
            yield Taken(self.default, _NO_PACE, lambda: True)
            misfits.append(("the default", PASSED_ON))


Misfit: TypeAlias = "tuple[Rule | str, str]"
"""What didn't answer a call, and why."""

PASSED_ON: Final = "its function returned None, which passes the call on"
_NO_PACE: Final = Pace()


def _any_left(rule: Rule) -> bool:
    return rule.left > 0


def _fresh(rule: Rule) -> Rule:
    copied = Rule(**{name: getattr(rule, name) for name in Rule.__slots__})
    copied.used = 0
    return copied
