"""Calls and answers as a conversation, for people."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from fake_llm import _json
from fake_llm._call import Call
from fake_llm._model import Message
from fake_llm._turns import Error, Image, Json, Raw, Refusal, Reply, Structured, Thinking, ToolCall

if TYPE_CHECKING:
    from fake_llm._fake import FakeLLM

__all__ = ["transcript"]

_WIDTH: Final = 100
_LABEL: Final = 11
_LINES: Final = 12
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


def transcript(fake: FakeLLM) -> str:
    """All calls in order; of each, what is new in it, what was answered, and what it cost.

    The lines are at most 100 characters long. What earlier calls showed already is left out.
    """
    blocks = ["\n".join(_call(call)) for call in fake.calls]
    side = len(fake.side_calls)
    if side:
        blocks.append(
            f"{side} side call{'s' if side > 1 else ''}: "
            + ", ".join(f"{call.method} {call.url}" for call in fake.side_calls)
        )
    if not blocks:
        return "No calls."
    return "\n\n".join(blocks)


def _call(call: Call) -> Iterator[str]:
    words = [
        f"call {call.index}",
        _vocabulary(call),
        call.model,
        "streamed" if call.stream else "whole",
    ]
    if call.attempt > 1:
        words.append(f"attempt {call.attempt}")
    answered = call.response
    words.append("no answer" if answered is None else str(answered.status))
    yield from _wrapped("", " · ".join(word for word in words if word), first=0)
    yield from _asked(call)
    yield from _answer(call)
    notes: list[str] = []
    if call.usage is not None:
        notes.append(f"{call.usage.input_tokens} tokens in, {call.usage.output_tokens} out")
        if call.usage.cached_tokens:
            notes.append(f"{call.usage.cached_tokens} cached")
        if call.usage.reasoning_tokens:
            notes.append(f"{call.usage.reasoning_tokens} reasoning")
    if call.cost is not None:
        notes.append(f"cost {call.cost}")
    if call.waited:
        notes.append(f"waited {call.waited:g} s")
    if notes:
        yield from _wrapped("", "(" + ", ".join(notes) + ")")


def _vocabulary(call: Call) -> str:
    named = call.dialect.replace("_", " ")
    return named if named.startswith(call.provider) else f"{call.provider} ({named})"


def _asked(call: Call) -> Iterator[str]:
    messages = call.messages
    start = max((index + 1 for index, message in enumerate(messages) if message.role == "assistant"), default=0)
    if start:
        yield from _wrapped("", f"… {start} earlier message{'s' if start > 1 else ''}")
    elif call.system and not any(message.role == "system" for message in messages):
        yield from _wrapped("system", call.system)
    for message in messages[start:]:
        yield from _message(message)
    if not start and call.tools:
        yield from _wrapped("tools", ", ".join(call.tools))


def _message(message: Message) -> Iterator[str]:
    for result in message.tool_results:
        yield from _wrapped(
            "tool", f"{result.name or result.id or 'result'} → {'error: ' if result.is_error else ''}{result.text}"
        )
    if message.text and not message.tool_results:
        yield from _wrapped(message.role, message.text)
    for item in message.tool_calls:
        yield from _wrapped(message.role, f"{item.name}({_json.text(item.arguments)})")


def _answer(call: Call) -> Iterator[str]:
    reply = call.reply
    if isinstance(reply, Reply):
        for answer in (reply, *reply.choices) if reply.parts or not reply.choices else reply.choices:
            for part in answer.parts:
                yield from _wrapped("assistant", _part(part))
        if not reply.parts and not reply.choices:
            yield from _wrapped(
                "assistant", f"(nothing, {reply.finish_reason})" if reply.finish_reason else "(nothing)"
            )
        if reply.then is not None:
            yield from _wrapped("then", repr(reply.then))
    elif isinstance(reply, Error):
        yield from _wrapped("error", f"{reply.kind}" + (f": {reply.message}" if reply.message else ""))
    elif isinstance(reply, BaseException) or (isinstance(reply, type) and issubclass(reply, BaseException)):
        yield from _wrapped("fault", repr(reply))
    elif isinstance(reply, Raw):
        yield from _wrapped("raw", f"{reply.status} {reply.body!r}")
    elif reply is not None:
        yield from _wrapped("assistant", repr(reply))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, ToolCall):
        return f"{part.name}({part.json})"
    if isinstance(part, Thinking):
        return f"(thinking) {part.text}" if not part.redacted else "(thinking, redacted)"
    if isinstance(part, Refusal):
        return f"(refusal) {part.text}"
    if isinstance(part, (Json, Structured)):
        return _json.text(part.value)
    return "[image]" if isinstance(part, Image) else repr(part)


def _wrapped(label: str, text: str, *, first: int = 2) -> Iterator[str]:
    """Lines of at most the width, the label before the first of them; long texts are cut in the middle."""
    text = _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)
    indent = " " * (first + (_LABEL if first else 2))
    lines = [line for part in (text.splitlines() or [""]) for line in textwrap.wrap(part, _WIDTH - len(indent)) or [""]]
    if len(lines) > _LINES:
        left_out = len(lines) - _LINES + 1
        lines = [*lines[: _LINES - 3], f"… {left_out} more lines …", *lines[-2:]]
    for index, line in enumerate(lines):
        head = (" " * first + label.ljust(_LABEL) if first else "") if index == 0 else indent
        yield (head + line).rstrip()
