"""What `FakeLLM` says when something doesn't fit: a call without a turn, turns without a call, a path that nobody knows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from fake_llm._call import Call, Calls, vocabulary
from fake_llm._endpoints import PROVIDERS, Errand, Provider
from fake_llm._errors import clipped, sentence
from fake_llm._model import Request, masked_url
from fake_llm._routes import Routes, likely, paths_near
from fake_llm._script import PASSED_ON, Broken, Function, Misfit, Script, Turn, Verbatim
from fake_llm._turns import Embedding, Error, Reply, ToolCall

__all__ = [
    "NO_CALL",
    "counted",
    "dialled",
    "forbidden",
    "no_call",
    "own_fault",
    "shown",
    "unintercepted",
    "unknown_endpoint",
    "unknown_host",
    "unknown_reply",
    "unscripted",
    "unused",
]

NO_CALL: Final = (
    "No call came: does the code under test use another process, or a host that isn't known (declare it by hosts=)? "
    "Or does a fixture return instead of yield?"
)


def no_call(passed: Iterable[tuple[str, str, str]]) -> str:
    """No call came: which one that went elsewhere looks like a model's, if any does."""
    for library, method, url in reversed(list(passed)):
        parts = urlsplit(url)
        provider = likely(method, parts.path)
        if provider is not None:
            return (
                f"No call came to a host that is known, but {library} sent {method} {masked_url(url)}: "
                f'write hosts={{"{parts.netloc.rpartition("@")[2]}": "{provider}"}} to have it answered.'
            )
    return NO_CALL


def unscripted(script: Script, calls: Calls, call: Call, misfits: Sequence[Misfit], elsewhere: int = 0) -> str:
    """A call came and no turn was left for it; `elsewhere` is the number of turns that other open blocks have left."""
    fed = ", ".join(f"{result.name or 'a tool'} → {clipped(result.text, 60)!r}" for result in call.tool_results[:3])
    said = f" The last user text was {clipped(call.last_user_text, 120)!r}." if call.last_user_text else ""
    if fed:
        said += f" It feeds back {fed}."
    came = f"Call {call.index}: no turn was left for it ({_named(call)}, in {_thread()}).{said}"
    written = script.written
    there = (
        f"The script had {counted(len(written), 'turn')}, all taken:\n{_table(len(written), _turns(script, calls), len(written))}"
        if written
        else "The script had no turns."
    )
    if misfits:
        nearest = sorted(misfits, key=lambda misfit: _distance(misfit, call))
        there += "\nWhat didn't answer it" + (", the nearest first:" if len(nearest) > 1 else ":")
        there += "".join(f"\n  {_misfit(misfit, call)}" for misfit in nearest[:_ROWS])
        if len(nearest) > _ROWS:
            there += f"\n  … {counted(len(nearest) - _ROWS, 'more rule')}"
    if elsewhere:
        there += f"\nAnother open block has {counted(elsewhere, 'turn')} left: the innermost block answers, and that is this one."
    write = 'Write one more turn, default=… for any number of calls, or on_exhausted="stop" to end the conversation.'
    if len(written) > 1 and _single_call(written[-1]) and _single_call(written[-2]):
        write = f"{_one_turn(written[-2], written[-1])}\n{write}"
    elif fed and written and _calls_a_tool(written[-1]):
        write = f"The last turn calls a tool, so the code asks again with its result. {write}"
    elif (failed := _failed_before(calls, call)) is not None:
        write = (
            f"Call {failed.index} was answered with {failed.reply!r}: where the code tries again by itself, write as many turns "
            f"as it tries, or default={failed.reply!r}.\n{write}"
        )
    return sentence(came, there, write)


def unused(script: Script, calls: Calls, side_calls: Calls) -> str:
    """The block ended with turns that nobody asked for."""
    written = script.written
    taken = len(written) - len(script.queue)
    left = list(script.unused())
    came = f"The block ended and {counted(len(left), 'turn')} {'were' if len(left) > 1 else 'was'} not asked for:"
    if script.queue:
        came += f"\n{_table(len(written), _turns(script, calls), taken)}"
    if len(left) > len(script.queue):
        ruled = left[len(script.queue) :]
        came += f"\n{_table(len(ruled), lambda place: (ruled[place][0], 'unused', shown(ruled[place][1])), 0)}"
    chats = calls.chat
    aside = not script.queue and all(rule.aside for rule in script.rules if rule.unused)
    batched = not aside and not calls and any(call.operation == "batches" for call in side_calls)
    refused = [call for call in chats if call._refused]
    there = (
        f"{counted(len(chats), 'call')} came"
        + (
            f", {len(refused)} of them malformed: {refused[0].reply!r} answered call {refused[0].index}."
            if refused
            else "."
        )
        if chats and not aside
        else _beside(side_calls)
        if aside
        else _others(calls)
        if calls
        else "No call came, but a batch was made. Its lines take their turns when it is asked for the second time."
        if batched
        else NO_CALL + _aside(side_calls)
    )
    write = "Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end."
    if batched:
        write = "Let the code ask for the batch until it has ended, or leave out what isn't needed."
    operations = () if chats else _meant(script, calls)
    if operations:
        rules = " and ".join(f'fake.when(operation="{operation}").reply(…)' for operation in operations)
        write = (
            f"Write {rules} to say what answers {'them' if operations[1:] else 'it'}, or leave out what isn't needed."
        )
    if 0 < taken < len(written) and _single_call(written[taken - 1]) and _single_call(written[taken]):
        write = _one_turn(written[taken - 1], written[taken])
    return sentence(came, there, write)


def _meant(script: Script, calls: Calls) -> Sequence[str]:
    """What else than chat the turns that are left may have been written for: what came and was made up, for want of a rule."""
    if not script.queue:
        return ()
    if any(
        isinstance(turn, Reply) and any(isinstance(part, Embedding) for part in turn.parts) for turn in script.queue
    ):
        return ("embeddings",)
    return sorted({call.operation for call in calls if call.reply is None and call.operation != "unknown"})


def _others(calls: Calls) -> str:
    """What came where no call was for chat."""
    names = ", ".join(sorted({call.operation for call in calls}))
    return f"{counted(len(calls), 'call')} came, none for chat ({names}): only chat takes turns from the script."


def _aside(side_calls: Calls) -> str:
    """What came on the side where no call did: the code may have meant one of them to ask a model."""
    return f"\nWhat came instead takes no turn: {_listed(side_calls)}." if side_calls else ""


def _beside(side_calls: Calls) -> str:
    """What came of the calls for which the turns that are left were written."""
    if not side_calls:
        return "No side call came."
    return f"{counted(len(side_calls), 'side call')} came: {_listed(side_calls)}."


def _listed(side_calls: Calls) -> str:
    came = list(dict.fromkeys(f"{call.method} {masked_url(call.url)}" for call in side_calls))
    more = f" and {len(came) - _ASIDE} more" if len(came) > _ASIDE else ""
    return ", ".join(came[:_ASIDE]) + more


_ASIDE: Final = 3
"""Side calls that a message names."""

_ROWS: Final = 5
"""Rows of a table before and after the place that matters."""

_Row: TypeAlias = tuple[str, str, str]


def _turns(script: Script, calls: Calls) -> Callable[[int], _Row]:
    """Of a turn as written, by its place: its number, the call that took it, and what it says."""

    def row(place: int) -> _Row:
        taker = "unused"
        if place < len(script.takers):
            index = script.takers[place]
            attempt = calls[index].attempt if index < len(calls) else 1  # calls may have been cleared
            taker = f"call {index}" + (f", attempt {attempt}" if attempt > 1 else "")
        return f"turn {place + 1}", taker, shown(script.written[place])

    return row


def _table(count: int, row: Callable[[int], _Row], place: int) -> str:
    """Of so many rows those around a place, in columns; no other is made."""
    first, last = max(place - _ROWS, 0), place + _ROWS
    if first == 1:  # a line that says "one is left out" is no shorter
        first = 0
    if last >= count - 1:
        last = count
    part = [row(index) for index in range(first, last)]
    wide = [max(len(row[column]) for row in part) for column in (0, 1)]
    lines = [f"  {where:<{wide[0]}}  {taker:<{wide[1]}}  {turn}" for where, taker, turn in part]
    if first:
        lines.insert(0, f"  … {first} before")
    if last < count:
        lines.append(f"  … {count - last} more")
    return "\n".join(lines)


def _distance(misfit: Misfit, call: Call) -> tuple[int, int]:
    """How far it was from answering: the conditions that aren't met, then those that are."""
    what, reason = misfit
    if isinstance(what, str):
        return -1, 0
    unmet = len(list(what.unmet(call)))
    if not unmet and what.left > 0 and reason != PASSED_ON:
        unmet = 1  # a function of its own
    return unmet, unmet - what.conditions


def _misfit(misfit: Misfit, call: Call) -> str:
    what, reason = misfit
    if isinstance(what, str):
        return f"{what}: {reason}"
    reasons = dict.fromkeys(filter(None, (reason, *what.unmet(call))))
    return f"{what!r}: {'; '.join(reasons)}"


def _one_turn(first: Turn, second: Turn) -> str:
    return f"Two tool calls in a row are two rounds; several calls in one turn are a list: [{shown(first)}, {shown(second)}]."


def forbidden(request: Request, provider: Provider) -> str:
    """A call came where none may."""
    return sentence(
        f"{request.method} {masked_url(request.url)} came in {_thread()}: a call to {provider.name}.",
        "Calls to LLM hosts are forbidden here.",
        "Let the code do without, or script its answer: fake_llm.intercept([…]).",
    )


def unintercepted(
    host: str,
    port: int | None,
    way: str,
    intercepted: Iterable[str],
    *,
    known: bool,
    forbids: bool,
    errand: Errand | None = None,
) -> str:
    """A host was reached by a way that isn't seen, or that isn't to be reached at all."""
    came = f"{host if port is None else f'{host}:{port}'} was reached by {way} in {_thread()}."
    if forbids and known:
        return sentence(
            came, "It is a known LLM host, and calls to those are forbidden here.", "Let the code do without."
        )
    if not known and errand is not None and errand.off:
        return sentence(
            came,
            f"It is called for {errand.what} ({errand.who}), and block_network=True refuses all hosts that aren't answered but local ones.",
            f"Set {errand.off} in the environment, which turns it off, or leave block_network out.",
        )
    if not known:
        return sentence(
            came,
            "It is no host that is answered, and block_network=True refuses all of those but local ones.",
            'Declare it by hosts={"llm.corp.example": "openai"} if a model speaks there, or leave block_network out.',
        )
    there = "It is a known LLM host, and this way isn't intercepted: the call would have left the machine."
    for start, write in _WAYS_OUT.items():
        if way.startswith(start):
            return sentence(came, there, write)
    return sentence(
        came,
        f"{there} Intercepted are {', '.join(intercepted)}.",
        "Let the code use one of them, or call it outside of the block.",
    )


_WAYS_OUT: Final = {
    "gRPC": 'Let the code speak HTTP there: openai.OpenAI(base_url="https://api.x.ai/v1") in place of xai_sdk, '
    'transport="rest" or google-genai with Google\'s older SDKs; or call it outside of the block.',
    "a WebSocket": "Let the code ask by HTTP, streamed if it must be, in place of a realtime or live session; or put a double "
    "of the session itself where the code takes one.",
}
"""What to write, by how a way begins."""


def dialled(request: Request) -> str:
    """A WebSocket was dialled by a library that is seen."""
    return unintercepted(request.host, None, f"a WebSocket ({request.library})", (), known=True, forbids=False)


def unknown_endpoint(request: Request, provider: Provider) -> str:
    """A known LLM host was called on a path that nothing answers."""
    came = f"{request.method} {masked_url(request.url)} came in {_thread()}: a known LLM host ({provider.name})"
    paths = paths_near(provider, request.method, request.path)
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


def unknown_host(request: Request, routes: Routes) -> str:
    """A host that nobody claims was called where the fake is mounted."""
    speaks = likely(request.method, request.path) or "openai"
    hosts = routes.hosts(request.method, request.path)
    return sentence(
        f"{request.method} {masked_url(request.url)} came in {_thread()}, where the fake is mounted: a host that isn't known.",
        "Known are "
        + ", ".join(hosts[:_HOSTS])
        + (f" and {len(hosts) - _HOSTS} more" if len(hosts) > _HOSTS else "")
        + ". What is mounted never lets a call out.",
        f'Write hosts={{"{request.host}": "{speaks}"}} or mount(…, provider="{speaks}") if it speaks that language, or '
        'fake.when(operation="unknown").reply(Raw({…})) to answer it verbatim.',
    )


_HOSTS: Final = 6
"""Hosts that a message names."""


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


def _failed_before(calls: Calls, call: Call) -> Call | None:
    """The call just before this one, where it asked the same and was answered with an error or a fault."""
    before = calls[call.index - 1] if call.index else None
    failed = before is not None and isinstance(before.reply, (Error, BaseException)) and before.raw == call.raw
    return before if failed else None


def _calls_a_tool(turn: Turn) -> bool:
    return isinstance(turn, Reply) and any(isinstance(part, ToolCall) for part in turn.parts)


def _single_call(turn: Turn) -> bool:
    return isinstance(turn, Reply) and len(turn.parts) == 1 and isinstance(turn.parts[0], ToolCall)


def _named(call: Call) -> str:
    """Who was asked for what: `openai responses gpt-5`, `openai count_tokens gpt-5`."""
    asked = vocabulary(call) if call.operation == "chat" else f"{call.provider} {call.operation}"
    return f"{asked} {call.model}".rstrip()


def _thread() -> str:
    return f"thread {threading.current_thread().name}"
