"""botocore: answers where its session would send, beneath signing, retries and event hooks.

A stream is a body of urllib3 that is pulled frame by frame, so that botocore's own parser of events is at work.
"""

from __future__ import annotations

import http.client
from time import sleep
from typing import Any
from urllib.parse import urlsplit

import urllib3
from botocore import exceptions

from fake_llm._model import Fault, Handler, Request, Timeouts
from fake_llm._stacks import Find, Patch
from fake_llm._stacks._urllib3 import body, headers, joined, streamed, timeouts, unreached, whole

__all__ = ["mounted", "patches"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


def patches(module: Any, find: Find) -> list[Patch]:
    """The session's way to the network, of clients made earlier too."""

    def choose(original: Any) -> Any:
        def send(session: Any, request: Any) -> Any:
            handler = find(request.method, request.url)
            return original(session, request) if handler is None else _answer(session, request, handler)

        return send

    return [(module.URLLib3Session, "send", choose)]


def mounted(module: Any, client: Any, handler: Handler) -> list[Patch]:
    """The session by which a client sends; it is closed with the client as ever."""
    return [(client._endpoint, "http_session", lambda original: _Mounted(original, handler))]


class _Mounted:
    """Answers everything."""

    def __init__(self, inner: Any, handler: Handler) -> None:
        self._inner = inner
        self._handler = handler

    def send(self, request: Any) -> Any:
        return _answer(self._inner, request, self._handler)

    def close(self) -> None:
        self._inner.close()


def _answer(session: Any, request: Any, handler: Handler) -> Any:
    answer = handler.answer(
        Request(
            request.method,
            request.url,
            headers(request.headers),
            body(request.body),
            "botocore",
            _timeouts(session, request),
        )
    )
    if answer.delay:
        sleep(answer.delay)
    if isinstance(answer, Fault):
        raise _error(answer, request)
    from botocore.awsrequest import AWSResponse  # it is what imports the session, in the middle of which we are loaded

    if answer.steps is None:
        response = AWSResponse(request.url, answer.status, joined(answer), whole(answer, request.method))
    else:
        raw = streamed(answer, answer.steps, request.method, measured=False)
        response = AWSResponse(request.url, raw.status, raw.headers, raw)
    if not request.stream_output:
        _exhaust(response, request)
    return response


def _exhaust(response: Any, request: Any) -> None:
    """Read the body, with the errors that the session makes of urllib3's."""
    try:
        _ = response.content
    except urllib3.exceptions.ReadTimeoutError as error:
        raise exceptions.ReadTimeoutError(endpoint_url=request.url, error=error) from error
    except urllib3.exceptions.ProtocolError as error:
        raise exceptions.ConnectionClosedError(error=error, request=request, endpoint_url=request.url) from error


def _timeouts(session: Any, request: Any) -> Timeouts:
    """Those of the client's configuration, and the read time-out that a request may have of its own."""
    configured = getattr(session, "_timeout", None)
    if isinstance(configured, urllib3.Timeout):
        connect, read = configured.connect_timeout, configured.read_timeout
    else:
        connect = read = configured
    own = (getattr(request, "context", None) or {}).get("read_timeout")
    return timeouts(connect, own or read)


def _pool(url: str) -> Any:
    """The pool that urllib3 names in its messages; it opens nothing."""
    parts = urlsplit(url)
    kind = urllib3.HTTPConnectionPool if parts.scheme == "http" else urllib3.HTTPSConnectionPool
    return kind(parts.hostname or "", parts.port)


def _error(fault: Fault, request: Any) -> BaseException:
    """The exception that the session raises for a fault before the answer."""
    if fault.error is not None:
        return fault.error.with_traceback(None)
    url, said = request.url, fault.message
    error: BaseException
    match fault.kind:
        case "read_timeout" | "total_timeout":
            error = exceptions.ReadTimeoutError(endpoint_url=url, error=TimeoutError(said or "Read timed out."))
        case "connect_timeout" | "pool_timeout":
            error = exceptions.ConnectTimeoutError(endpoint_url=url, error=TimeoutError(said or "timed out"))
        case "write_timeout":
            late = TimeoutError(said or "The write operation timed out")
            broken = urllib3.exceptions.ProtocolError("Connection aborted.", late)
            error = exceptions.ConnectionClosedError(error=broken, request=request, endpoint_url=url)
        case "disconnect":
            closed = http.client.RemoteDisconnected(said or "Remote end closed connection without response")
            error = exceptions.ConnectionClosedError(error=closed, request=request, endpoint_url=url)
        case "certificate" | "tls":
            error = exceptions.SSLError(endpoint_url=url, error=unreached(fault, _pool(url)))
        case "reset":
            error = exceptions.ConnectionClosedError(
                error=unreached(fault, _pool(url)), request=request, endpoint_url=url
            )
        case _:
            error = exceptions.EndpointConnectionError(endpoint_url=url, error=unreached(fault, _pool(url)))
    return error
