"""A handler with a script of answers, and blocks that install it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from fake_llm._install import install, uninstall
from fake_llm._model import Fault, Handler, Request, Response

HOST = "llm.test"
URL = f"https://{HOST}/v1/chat"

Answer = Response | Fault | BaseException | Callable[[Request], Response | Fault]


class Refused(BaseException):
    """What the socket guard raises in these tests."""


class Scripted:
    """Claims one host, answers in order (the last answer for ever) and keeps what was asked."""

    def __init__(self, *answers: Answer, host: str = HOST) -> None:
        self.host = host
        self.asked: list[Request] = []
        self.seen: list[tuple[str, str]] = []
        self._answers = list(answers)

    def claims(self, method: str, url: str) -> bool:
        self.seen.append((method, url))
        return urlsplit(url).hostname == self.host

    def answer(self, request: Request) -> Response | Fault:
        self.asked.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer(request) if callable(answer) else answer

    async def answer_async(self, request: Request) -> Response | Fault:
        return self.answer(request)


_active: tuple[Handler, ...] = ()


def find(library: str, method: str, url: str) -> Handler | None:
    return next((handler for handler in reversed(_active) if handler.claims(method, url)), None)


def known(host: str, port: int | None) -> bool:
    return host == HOST


def refuse(host: str, port: int | None, way: str) -> BaseException:
    return Refused(host, port, way)


def enter(handler: Handler) -> None:
    global _active  # noqa: PLW0603  # a copy-on-write stack, as the real one
    install(find, known, refuse)
    _active = (*_active, handler)


def leave(handler: Handler) -> None:
    global _active  # noqa: PLW0603
    _active = tuple(other for other in _active if other is not handler)
    uninstall()


@contextmanager
def block(handler: Scripted) -> Iterator[Scripted]:
    enter(handler)
    try:
        yield handler
    finally:
        leave(handler)
