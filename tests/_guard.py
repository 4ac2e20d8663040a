"""Proves that a run of the tests stays on this machine: no connection beyond loopback, no DNS query, no key.

An audit hook sees what every library does with sockets, and nothing that a test patches can hide it.
What it sees is refused, recorded, and fails the test in which it happened; so does a key that a test
leaves in the environment.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

LOCAL_NAMES = frozenset({"", "localhost", "localhost.localdomain", "ip6-localhost"})
CONNECTS = frozenset({"socket.connect", "socket.sendto"})
LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})

seen = {"loopback": 0}
violations: list[str] = []
_reported = 0


def is_key(name: str) -> bool:
    """Whether an environment variable of this name would let an SDK reach its vendor."""
    return name.endswith("_API_KEY") or name in {"AWS_SECRET_ACCESS_KEY", "AWS_BEARER_TOKEN_BEDROCK", "HF_TOKEN"}


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host.lower() in LOCAL_NAMES
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event in CONNECTS:
        address = args[1]
        if not isinstance(address, tuple):  # a Unix socket, or a datagram on a connected one
            return
        host = _text(address[0])
        if _is_loopback(host):
            seen["loopback"] += 1
            return
        _refuse(f"{event} to {host}:{address[1]}")
    elif event in LOOKUPS:
        host = _text(args[0])
        if not _is_loopback(host) and not _is_address(host):
            _refuse(f"{event} of {host!r}")


def _text(host: object) -> str:
    if isinstance(host, (bytes, bytearray)):
        return host.decode("ascii", "replace")
    return "" if host is None else str(host)


def _refuse(what: str) -> None:
    violations.append(what)
    raise OSError(errno.ENETUNREACH, f"a test went beyond loopback: {what}")


sys.addaudithook(_watch)
for _name in [name for name in os.environ if is_key(name)]:
    del os.environ[_name]
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches one when it is imported (1.110)


@pytest.fixture(autouse=True)
def _stays_local() -> Iterator[None]:
    """Fail a test that went beyond loopback, even where an SDK swallowed it, or that leaves a key behind."""
    global _reported
    yield
    left = [name for name in os.environ if is_key(name)]
    for name in left:
        del os.environ[name]
    found, _reported = violations[_reported:], len(violations)
    assert not found, f"went beyond loopback: {found}"
    assert not left, f"left keys in the environment: {left}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """A worker hands over what it saw; a violation outside a test, such as at an import, fails the run."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["guard"] = (seen["loopback"], list(violations))
    result = yield
    if violations and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what a worker saw."""
    loopback, found = getattr(node, "workeroutput", {}).get("guard", (0, []))
    seen["loopback"] += loopback
    violations.extend(found)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Say what the guard saw, and why tests were skipped, just above the closing line."""
    result = yield
    reasons: dict[str, set[str]] = {}
    for report in terminalreporter.getreports("skipped"):
        if isinstance(report.longrepr, tuple):
            reasons.setdefault(report.longrepr[2].removeprefix("Skipped: "), set()).add(report.nodeid)
    if reasons:
        terminalreporter.section("skipped by capability")
        for reason, nodes in sorted(reasons.items()):
            terminalreporter.line(f"{len(nodes):5}  {reason}")
    terminalreporter.section("network")
    terminalreporter.line(
        f"{seen['loopback']} connections to loopback; beyond it {len(violations)} connections or DNS queries"
    )
    for violation in violations:
        terminalreporter.line(f"       {violation}")
    return result
