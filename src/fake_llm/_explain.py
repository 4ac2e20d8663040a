"""What `FakeLLM` says when something doesn't fit: a call without a turn, turns without a call, a path that nobody knows."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from fake_llm._call import Call, Calls
from fake_llm._endpoints import PROVIDERS, Provider
from fake_llm._errors import clipped, sentence
from fake_llm._model import Request, masked_url
from fake_llm._routes import paths_of
from fake_llm._script import Broken, Function, Script, Turn, Verbatim
from fake_llm._turns import Reply, ToolCall

__all__ = ["NO_CALL", "counted", "own_fault", "shown", "unknown_endpoint", "unknown_reply", "unscripted", "unused"]

NO_CALL: Final = (
    "No call came: does the code under test use another process, or a host that isn't known (declare it by hosts=)? "
    "Or does a fixture return instead of yield?"
)


def unscripted(script: Script, call: Call, misfits: Sequence[str]) -> str:
    """A call came and no turn was left for it."""
    written = script.written
    said = f" The last user text was {call.last_user_text[:120]!r}." if call.last_user_text else ""
    came = f"Call {call.index} ({_named(call)}) came in {_thread()} and no turn was left for it.{said}"
    there = (
        "The script had no turns."
        if not written
        else f"The script had {counted(len(written), 'turn')}, all used: "
        + ("…, " if len(written) > 5 else "")
        + ", ".join(map(shown, written[-5:]))
        + "."
    )
    if misfits:
        there += "\nWhat didn't answer it: " + "; ".join(misfits[:5]) + "."
    write = 'Write one more turn, default=… for any number of calls, or on_exhausted="stop" to end the conversation.'
    return sentence(came, there, write)


def unused(script: Script, calls: Calls) -> str:
    """The block ended with turns that nobody asked for."""
    left = list(script.unused())
    chats = len(calls.chat)
    came = (
        f"The block ended and {counted(len(left), 'turn')} {'were' if len(left) > 1 else 'was'} not asked for: "
        + "; ".join(f"{where} {shown(turn)}" for where, turn in left[:5])
        + ("; …" if len(left) > 5 else "")
        + "."
    )
    refused = [call for call in calls.chat if call._refused]
    there = (
        f"{counted(chats, 'call')} came"
        + (
            f", {len(refused)} of them malformed: {refused[0].reply!r} answered call {refused[0].index}."
            if refused
            else "."
        )
        if chats
        else NO_CALL
    )
    write = "Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end."
    written = script.written
    at = len(written) - len(script.queue)
    if 0 < at < len(written) and _single_call(written[at - 1]) and _single_call(written[at]):
        write = _ONE_TURN.format(shown(written[at - 1]), shown(written[at]))
    return sentence(came, there, write)


_ONE_TURN: Final = "Two tool calls in a row are two rounds; several calls in one turn are a list: [{}, {}]."


def unknown_endpoint(request: Request, provider: Provider) -> str:
    """A known LLM host was called on a path that nothing answers."""
    came = f"{request.method} {masked_url(request.url)} came in {_thread()}: a known LLM host ({provider.name})"
    paths = paths_of(provider)
    if paths:
        there = "The paths that are answered there: " + ", ".join(paths) + "."
        return sentence(
            f"{came}, an unknown path.", there, 'Write fake.when(operation="unknown").reply(Raw({…})) to answer it.'
        )
    able = ", ".join(provider.name for provider in PROVIDERS if provider.endpoints)
    return sentence(
        f"{came} that isn't answered yet.",
        f"Answered are {able}.",
        f'Write hosts={{"{request.host}": "openai"}} if it speaks OpenAI\'s language there, or '
        'fake.when(operation="unknown").reply(Raw({…})) to answer it verbatim.',
    )


def unknown_reply(request: Request, turn: Turn) -> str:
    """A rule answers an unknown path with what only a known one can carry."""
    return sentence(
        f"A rule answers {request.method} {request.path} with {turn!r}.",
        "The path is unknown, so nobody can say how an answer looks there.",
        "Write Raw(…), Error(…) or an exception.",
    )


def own_fault(call: Call, error: Exception) -> str:
    """This library itself failed."""
    return sentence(
        f"Call {call.index} ({_named(call)}) couldn't be answered: {type(error).__name__}: {error}.",
        "This is a fault of fake_llm, not of the test.",
        "Report it with the turn and the request; until it is mended, Raw({…}) answers verbatim.",
    )


def shown(turn: Turn) -> str:
    """A turn as it was written, clipped."""
    if isinstance(turn, Function):
        return getattr(turn.function, "__qualname__", repr(turn.function))
    if isinstance(turn, Broken):
        return repr(turn.error)
    if isinstance(turn, Verbatim):
        return turn.path
    text = (
        repr(turn.parts[0])
        if isinstance(turn, Reply) and len(turn.parts) == 1 and turn == Reply(*turn.parts)
        else repr(turn)
    )
    return clipped(text, 120)


def counted(count: int, noun: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _single_call(turn: Turn) -> bool:
    return isinstance(turn, Reply) and len(turn.parts) == 1 and isinstance(turn.parts[0], ToolCall)


def _named(call: Call) -> str:
    return " ".join(word for word in (call.provider, call.operation, call.model) if word)


def _thread() -> str:
    return f"thread {threading.current_thread().name}"
