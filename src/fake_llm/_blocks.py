"""The open blocks, the innermost last: who answers a call, what the socket guard refuses, what is raised at the end.

A block is process-wide. Its neighbour here is a *coverage*: a fake that is mounted on a library of mocks, which sees one
HTTP library only; a call to a host of that fake by any other one is refused.
"""

from __future__ import annotations

import errno
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from fake_llm import _backoff, _coexist, _environment, _install, _tracing, _witness
from fake_llm._errors import FakeLLMFailure, FunctionTurnError, UninterceptedCallError, UnscriptedCallError, sentence
from fake_llm._explain import no_call, unintercepted
from fake_llm._model import Fault, Handler, Request, Response, masked_url
from fake_llm._place import here
from fake_llm._routes import errand_at, is_metadata
from fake_llm._stacks import STACKS

if TYPE_CHECKING:
    from fake_llm._fake import FakeLLM

__all__ = [
    "Coverage",
    "close",
    "cover",
    "displace",
    "enter",
    "innermost",
    "judge",
    "judge_mount",
    "leave",
    "opened",
    "outermost",
    "place",
    "placed",
    "uncover",
]

__tracebackhide__ = True  # pytest leaves these frames out of a report

_lock: Final = threading.RLock()
_open: tuple[Entry, ...] = ()


def opened() -> tuple[FakeLLM, ...]:
    """The fakes of the open blocks, the innermost last."""
    return tuple(entry for entry in _open if not isinstance(entry, Coverage))


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """What a mount on a library of mocks covers; a handler that refuses the calls it can't see.

    Attributes:
        by: The library of mocks.
        library: The HTTP library that it sees.
        sees: Whether it does at the moment, as it is started.
    """

    fake: FakeLLM
    by: str
    library: str
    sees: Callable[[], bool]

    def claims(self, method: str, url: str) -> bool:
        """Whether its fake would answer for a model, if only it saw the call."""
        return self.fake.asked_for(method, url)

    def answer(self, request: Request) -> Response | Fault:
        """The refusal."""
        came = f"{request.method} {masked_url(request.url)} came by {request.library}"
        return self.fake._unseen(request, self.refusal(came))

    async def answer_async(self, request: Request) -> Response | Fault:
        """The refusal."""
        return self.answer(request)

    def refusal(self, came: str) -> UninterceptedCallError:
        """What is said of a call that came by another way."""
        return UninterceptedCallError(
            sentence(
                f"{came} in thread {threading.current_thread().name}.",
                f"The fake is mounted on {self.by}, which sees {self.library} only, and only while it is started: the call would have "
                "left the machine.",
                "Write fake_llm.intercept([…]), which sees every library, or mount the client itself: fake.mount(client).",
            )
        )


Entry: TypeAlias = "FakeLLM | Coverage"


def _find(library: str, method: str, url: str) -> Handler | None:
    for entry in reversed(_open):
        if entry.claims(method, url):
            if not isinstance(entry, Coverage):
                return entry
            if entry.library == library and entry.sees():
                return None  # it comes to the library of mocks
            return entry.fake if entry.fake in _open else entry
    if _open:
        _passed.append((library, method, url))
        for entry in _open:
            # what sleeps here from now on does so because of another answer
            if not isinstance(entry, Coverage) and entry._failing:
                entry._failing.pop(here(), None)
    return None


_passed: Final[deque[tuple[str, str, str]]] = deque(maxlen=8)
"""The last calls to hosts that nobody claims: library, method and URL."""


def _known(host: str, port: int | None) -> bool:
    return any(_fake(entry)._refuses(host, port) for entry in _open)


def _fake(entry: Entry) -> FakeLLM:
    return entry.fake if isinstance(entry, Coverage) else entry


def _refuse(host: str, port: int | None, way: str) -> BaseException:
    """What the socket guard raises: in place the failure itself, elsewhere an `OSError` of the same text.

    That there is no metadata server is no failure: nobody is to wait for it.
    """
    if is_metadata(host):
        return ConnectionRefusedError(errno.ECONNREFUSED, f"fake_llm: {host} is no metadata server here")
    entry = next(
        (entry for entry in reversed(_open) if _fake(entry)._refuses(host, port)), _open[-1] if _open else None
    )
    fake = None if entry is None else _fake(entry)
    failure: FakeLLMFailure
    if isinstance(entry, Coverage):
        failure = entry.refusal(f"{host if port is None else f'{host}:{port}'} was reached by {way}")
    else:
        forbids = fake is not None and fake._forbids
        known = fake is None or fake._routes.known(host, port)
        way = way if known else _sent(host) or way
        text = unintercepted(host, port, way, STACKS, known=known, forbids=forbids, errand=errand_at(host))
        failure = UnscriptedCallError(text) if forbids and known else UninterceptedCallError(text)
    if fake is None:
        return failure
    fake._failures.append(failure)
    return failure if fake._at_home() else OSError(str(failure))


def _sent(host: str) -> str | None:
    """The call that a library sent to a host that nobody claims: what is behind the socket that is stopped."""
    for library, method, url in reversed(_passed):
        if urlsplit(url).hostname == host:
            return f"{library} ({method} {masked_url(url)})"
    return None


def enter(fake: FakeLLM) -> None:
    """Open a block: from here on this fake answers for every host that it claims."""
    if fake._options.env:
        _environment.enter()
    try:
        fake._hosts = fake._declare_environment()
        _add(fake)
    except BaseException:
        fake._withdraw(fake._hosts)
        if fake._options.env:
            _environment.leave()
        raise
    fake._home = here()
    if (witness := _witness.current()) is not None:
        witness.enter(fake)


def innermost(fake: FakeLLM) -> None:
    """Let an open block answer before all others, whatever was opened after it."""
    global _open  # noqa: PLW0603
    with _lock:
        if fake in _open:
            _open = (*(other for other in _open if other is not fake), fake)


def outermost(fake: FakeLLM) -> None:
    """Let an open block answer only what no other one does."""
    global _open  # noqa: PLW0603
    with _lock:
        _open = (fake, *(other for other in _open if other is not fake))


def close(fake: FakeLLM) -> None:
    """Close a block without a word about it."""
    _tracing.flush(fake.claims)
    _remove(fake)
    fake._withdraw(fake._hosts)
    if fake._options.env:
        _environment.leave()
    fake._home = None


def leave(fake: FakeLLM, error: BaseException | None) -> None:
    """Close a block and raise what its end raises."""
    close(fake)
    judge(fake, error)


def cover(coverage: Coverage) -> None:
    """Refuse what a library of mocks can't see, from here on."""
    _add(coverage)


def uncover(coverage: Coverage) -> None:
    """Let it go again."""
    _remove(coverage)


def place(fake: FakeLLM) -> None:
    """A fake was mounted, or a transport made that answers by it: a test that runs meanwhile is its home."""
    with _lock:
        _placed[fake] = None
    if (witness := _witness.current()) is not None:
        witness.mount(fake)


def displace(fake: FakeLLM) -> None:
    """Its last mount was taken out."""
    with _lock:
        _placed.pop(fake, None)


def placed() -> tuple[FakeLLM, ...]:
    """The fakes that are mounted somewhere, as long as somebody has them."""
    with _lock:
        return tuple(_placed)


_placed: Final[WeakKeyDictionary[FakeLLM, None]] = WeakKeyDictionary()


def _add(entry: Entry) -> None:
    global _open  # noqa: PLW0603 - blocks are process-wide
    _install.install(_find, _known, _refuse, _WATCHES, _PLACES)
    with _lock:
        if not _open:
            _passed.clear()
        _open = (*_open, entry)


def _remove(entry: Entry) -> None:
    global _open  # noqa: PLW0603
    with _lock:
        _open = tuple(other for other in _open if other is not entry)
    _install.uninstall()


def judge_mount(fake: FakeLLM, error: BaseException | None, *, turns: bool) -> None:
    """Raise what the end of a mount raises: no failure twice, as a fake may be mounted several times.

    Args:
        fake: The fake.
        error: What is leaving.
        turns: Whether turns that are left are judged too.
    """
    verdict = fake._verdict(error, unsettled=True, turns=turns)
    fake._settle()
    _leave(fake, error, verdict)


def judge(fake: FakeLLM, error: BaseException | None) -> None:
    """Raise what the end of a block raises in place of what is leaving it."""
    _leave(fake, error, fake._verdict(error))


def _leave(fake: FakeLLM, error: BaseException | None, verdict: BaseException | None) -> None:
    if verdict is None:
        if fake.remaining and not fake.calls and not fake.side_calls and error is not None and _unreached(error):
            error.add_note(f"fake_llm: {no_call(_passed)}")
        return
    witness = _witness.current()
    if witness is not None and witness.late is not None and isinstance(verdict, FakeLLMFailure):
        witness.late.append(verdict)
        return
    if not isinstance(error, FunctionTurnError):
        raise verdict
    context = verdict.__context__
    try:
        raise verdict
    finally:
        verdict.__context__ = context  # the test's own error, as if nothing had carried it


def _unreached(error: BaseException) -> bool:
    """Whether an error says that a host couldn't be reached, itself or by what caused it."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    return any(
        isinstance(each, OSError) or any(word in type(each).__name__ for word in ("Connect", "Timeout"))
        for each in chain
    )


_WATCHES: Final = {module: partial(_environment.imported, module) for module in _environment.watches()}


def _skip(seconds: float) -> bool:
    """Whether an SDK that sleeps here does so because of an answer of ours: then it takes no time, and its call has waited."""
    place = here()
    for fake in reversed(opened()):
        failed = fake._failing.get(place)
        if failed is not None:
            if fake._options.skip_backoff:
                failed.waited += seconds
            return fake._options.skip_backoff
    return False


_PLACES: Final = {**_backoff.places(_skip), **_coexist.places(_find), **_environment.places()}
