"""requests: answers at the session's choice of an adapter, so that custom adapters are covered and `responses` composes.

A whole answer is handed over ready. A streamed one goes through the real parser, so that `iter_content`,
`iter_lines` and `raw` cut it as they cut a server's.
"""

from __future__ import annotations

import http.client
from time import sleep
from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter
from requests.cookies import extract_cookies_to_jar
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from fake_llm._model import NO_TIMEOUTS, Fault, Handler, Request, Timeouts
from fake_llm._stacks import Find, Patch
from fake_llm._stacks._urllib3 import body, headers, streamed, timeouts, whole

__all__ = ["adapter", "mounted", "patches"]


def patches(module: Any, find: Find) -> list[Patch]:
    """The session's choice of an adapter."""

    def choose(original: Any) -> Any:
        def get_adapter(session: Any, url: str) -> Any:
            chosen = original(session, url)
            return chosen if isinstance(chosen, _Mounted) else _Above(chosen, find)

        return get_adapter

    return [(module.Session, "get_adapter", choose)]


def adapter(handler: Handler) -> BaseAdapter:
    """An adapter whose every request goes to this handler."""
    return _Mounted(handler)


def mounted(module: Any, session: Any, handler: Handler) -> list[Patch]:
    """The session's choice of an adapter; its own adapters are kept, and closed as ever."""
    answering = adapter(handler)
    return [(session, "get_adapter", lambda original: lambda url: answering)]


class _Above(BaseAdapter):
    """Answers what is claimed, and is the chosen adapter for all else."""

    def __init__(self, inner: Any, find: Find) -> None:
        self._inner = inner
        self._find = find

    def send(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        handler = self._find(request.method, request.url)
        if handler is None:
            return self._inner.send(request, *args, **kwargs)
        return _answer(self, request, handler, *args, **kwargs)

    def close(self) -> None:
        self._inner.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Mounted(BaseAdapter):
    """Answers everything."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler

    def send(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return _answer(self, request, self._handler, *args, **kwargs)

    def close(self) -> None:
        pass


def _answer(
    connection: BaseAdapter,
    prepared: Any,
    handler: Handler,
    stream: bool = False,
    timeout: Any = None,
    *_: Any,
    **__: Any,
) -> Any:
    answer = handler.answer(_read(prepared, timeout))
    if answer.delay:
        sleep(answer.delay)
    if isinstance(answer, Fault):
        raise _error(answer, prepared)
    response: Any = requests.Response()
    response.status_code = answer.status
    response.url = prepared.url
    response.request = prepared
    response.connection = connection
    raw = whole(answer, prepared.method) if answer.steps is None else streamed(answer, answer.steps, prepared.method)
    response.raw = raw
    response.reason = raw.reason or ""
    response.headers = CaseInsensitiveDict(raw.headers)
    response.encoding = get_encoding_from_headers(response.headers)
    if "set-cookie" in response.headers:
        extract_cookies_to_jar(response.cookies, prepared, raw)  # type: ignore[no-untyped-call]  # of the library
    ready = answer.steps is None and not answer.bodiless(prepared.method)
    if ready and not stream and "content-encoding" not in response.headers:
        response._content = answer.body
    return response


def _read(prepared: Any, timeout: Any) -> Request:
    return Request(
        prepared.method,
        prepared.url,
        headers(prepared.headers),
        body(prepared.body),
        "requests",
        _timeouts(timeout),
    )


def _timeouts(timeout: Any) -> Timeouts:
    if timeout is None:
        return NO_TIMEOUTS
    if isinstance(timeout, urllib3.Timeout):
        return timeouts(timeout.connect_timeout, timeout.read_timeout)
    if not isinstance(timeout, tuple):
        return timeouts(timeout, timeout)
    if len(timeout) != 2:
        raise ValueError(f"Invalid timeout {timeout}. Pass a (connect, read) timeout tuple, or a single float.")
    return timeouts(*timeout)


def _error(fault: Fault, prepared: Any) -> BaseException:
    """The exception that requests raises for a fault before the answer, with what urllib3 would put into it."""
    if fault.error is not None:
        return fault.error.with_traceback(None)
    exceptions = requests.exceptions
    said = fault.message
    match fault.kind:
        case "read_timeout" | "total_timeout":
            return exceptions.ReadTimeout(said or "Read timed out.", request=prepared)
        case "connect_timeout":
            return exceptions.ConnectTimeout(said or "Connection timed out.", request=prepared)
        case "write_timeout":
            broken = urllib3.exceptions.ProtocolError(
                "Connection aborted.", TimeoutError(said or "The write operation timed out")
            )
            return exceptions.ConnectionError(broken, request=prepared)
        case "disconnect":
            closed = http.client.RemoteDisconnected(said or "Remote end closed connection without response")
            return exceptions.ConnectionError(
                urllib3.exceptions.ProtocolError("Connection aborted.", closed), request=prepared
            )
        case "pool_timeout":
            return exceptions.ConnectionError(
                said or "Pool is empty and no new connections are allowed.", request=prepared
            )
        case _:
            return exceptions.ConnectionError(said or "[Errno 111] Connection refused", request=prepared)
