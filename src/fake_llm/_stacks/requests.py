"""requests: answers at the session's choice of an adapter, so that custom adapters are covered and `responses` composes.

An adapter that extends or holds the stock one, and sends in a way of its own, runs, and is answered beneath. The retries of a
stock one (`max_retries`) follow here the rules of urllib3's own `Retry`, of answers and of faults.

A whole answer is handed over ready. A streamed one goes through the real parser, so that `iter_content`,
`iter_lines` and `raw` cut it as they cut a server's.
"""

from __future__ import annotations

import http.client
from time import sleep
from typing import Any, Final
from urllib.parse import urlsplit
from weakref import WeakSet

import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.cookies import extract_cookies_to_jar
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from fake_llm._model import NO_TIMEOUTS, Fault, Handler, Request, Response, Timeouts
from fake_llm._stacks import Find, Patch, leads_to
from fake_llm._stacks._urllib3 import body, headers, joined, streamed, timeouts, unreached, whole

__all__ = ["adapter", "mounted", "patches"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


def patches(module: Any, find: Find) -> list[Patch]:
    """The session's choice of an adapter, and the way of the stock one to the network."""

    def choose(original: Any) -> Any:
        def get_adapter(session: Any, url: str) -> Any:
            chosen = original(session, url)
            if type(chosen) is HTTPAdapter and getattr(chosen.send, "__func__", None) in ours:
                return chosen
            return chosen if isinstance(chosen, _Mounted) else _Above(chosen, find)

        return get_adapter

    ours: set[Any] = set()  # a stock adapter that sends by one of these asks us itself

    def handle(original: Any) -> Any:
        def send(adapter: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            handler = find(request.method, request.url)
            if handler is None:
                return original(adapter, request, *args, **kwargs)
            return _answer(adapter, request, handler, adapter, *args, **kwargs)

        _beneath.add(send)
        ours.add(send)
        return send

    return [(module.Session, "get_adapter", choose), (module.adapters.HTTPAdapter, "send", handle)]


_beneath: Final[WeakSet[Any]] = WeakSet()
"""What stands for the stock adapter's `send`."""


def _runs(adapter: Any) -> bool:
    """Whether this adapter sends in a way of its own, with the stock one beneath it, and we beneath that.

    Where somebody else has replaced the stock one's `send` after us, as `responses` does, it is answered above.
    """
    if type(adapter) is HTTPAdapter or not leads_to(HTTPAdapter.send, _beneath):
        return False
    if isinstance(adapter, HTTPAdapter):
        return type(adapter).send is not HTTPAdapter.send
    return any(isinstance(value, HTTPAdapter) for value in getattr(adapter, "__dict__", {}).values())


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
        if handler is None or _runs(self._inner):
            return self._inner.send(request, *args, **kwargs)
        return _answer(self, request, handler, self._inner, *args, **kwargs)

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
        return _answer(self, request, self._handler, None, *args, **kwargs)

    def close(self) -> None:
        pass


def _answer(
    connection: BaseAdapter,
    prepared: Any,
    handler: Handler,
    adapter: Any,
    stream: bool = False,
    timeout: Any = None,
    *_: Any,
    **__: Any,
) -> Any:
    """The answer, or what the retries of an adapter come to."""
    request = _read(prepared, timeout)
    retries = getattr(adapter, "max_retries", None)
    if not isinstance(retries, urllib3.Retry) or retries.total is False or retries.total == 0:
        return _response(connection, prepared, _asked(handler, request), stream=stream)
    while True:
        answer = _asked(handler, request)
        if isinstance(answer, Fault):
            retries = _after_fault(retries, answer, prepared)
            retries.sleep()
            continue
        response = _response(connection, prepared, answer, stream=stream)
        if not retries.is_retry(prepared.method, answer.status, "retry-after" in response.headers):
            return response
        try:
            retries = retries.increment(prepared.method, prepared.path_url, response.raw, _pool=_pool(prepared))
        except urllib3.exceptions.MaxRetryError as error:
            if retries.raise_on_status:
                raise requests.exceptions.RetryError(error, request=prepared) from error
            return response
        response.close()
        retries.sleep(response.raw)


def _after_fault(retries: urllib3.Retry, fault: Fault, prepared: Any) -> urllib3.Retry:
    """What is left of retries after a fault; raises what the adapter does when nothing is."""
    broken = _broken(fault, prepared)
    if broken is None:
        raise _error(fault, prepared)
    try:
        return retries.increment(prepared.method, prepared.path_url, error=broken, _pool=_pool(prepared))
    except urllib3.exceptions.MaxRetryError as error:
        raise _spent(fault)(error, request=prepared) from error
    except urllib3.exceptions.HTTPError:
        raise _error(fault, prepared) from None


def _broken(fault: Fault, prepared: Any) -> Exception | None:
    """What urllib3 has of a fault; `None` for one that it doesn't retry."""
    exceptions, said = urllib3.exceptions, fault.message
    match fault.kind:
        case "read_timeout" | "total_timeout":
            return exceptions.ReadTimeoutError(_pool(prepared), prepared.path_url, said or "Read timed out.")
        case "connect_timeout":
            return exceptions.ConnectTimeoutError(said or "Connection timed out.")
        case "disconnect" | "write_timeout":
            return exceptions.ProtocolError("Connection aborted.", said)
        case _:
            return unreached(fault, _pool(prepared))


def _spent(fault: Fault) -> type[requests.exceptions.ConnectionError]:
    """The class of a fault for which no retry is left."""
    exceptions = requests.exceptions
    if fault.kind in ("certificate", "tls"):
        return exceptions.SSLError
    return exceptions.ConnectTimeout if fault.kind == "connect_timeout" else exceptions.ConnectionError


def _pool(prepared: Any) -> Any:
    """The pool that urllib3 names in its messages; it opens nothing."""
    parts = urlsplit(prepared.url)
    kind, usual = (urllib3.HTTPConnectionPool, 80) if parts.scheme == "http" else (urllib3.HTTPSConnectionPool, 443)
    return kind(parts.hostname or "", parts.port or usual)


def _asked(handler: Handler, request: Request) -> Response | Fault:
    answer = handler.answer(request)
    if answer.delay:
        sleep(answer.delay)
    return answer


def _response(connection: BaseAdapter, prepared: Any, answer: Response | Fault, *, stream: bool) -> Any:
    if isinstance(answer, Fault):
        raise _error(answer, prepared)
    response: Any = requests.Response()
    response.status_code = answer.status
    response.url = prepared.url
    response.request = prepared
    response.connection = connection
    raw = whole(answer, prepared.method) if answer.steps is None else streamed(answer, answer.steps, prepared.method)
    response.raw = raw
    response.reason = http.client.responses.get(answer.status, "")
    response.headers = CaseInsensitiveDict(raw.headers if answer.steps is not None else joined(answer))
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
        case "reset":
            return exceptions.ConnectionError(unreached(fault, _pool(prepared)), request=prepared)
        case _:
            spent = urllib3.exceptions.MaxRetryError(
                _pool(prepared), prepared.path_url, unreached(fault, _pool(prepared))
            )
            return _spent(fault)(spent, request=prepared)
