"""Where a URL leads: the table of `_endpoints`, with the hosts of one block added.

`Routes.find` answers by method and URL alone, before a body is read.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from fake_llm._endpoints import ERRANDS, LENDERS, PROVIDERS, Endpoint, Errand, Provider
from fake_llm._errors import ScriptError, sentence
from fake_llm._model import masked_url

__all__ = [
    "Declared",
    "Route",
    "Routes",
    "answerable",
    "errand_at",
    "is_metadata",
    "known_provider",
    "likely",
    "paths_near",
    "placed",
]

_BY_NAME: Final = {provider.name: provider for provider in PROVIDERS}
_EXACT: Final = {
    host: provider
    for provider in (*PROVIDERS, *LENDERS)
    for host in (*provider.hosts, *(host for host, _ in provider.shared))
    if "*" not in host
}
_WILD: Final = tuple(
    (re.compile(re.escape(host).replace(r"\*", ".+")), provider)
    for provider in PROVIDERS
    for host in provider.hosts
    if "*" in host
)


@lru_cache(maxsize=1024)
def known_provider(host: str) -> Provider | None:
    """The provider of a host as it stands in the table: a name, with its port where that isn't the usual one."""
    found = _EXACT.get(host)
    if found is None:
        found = next((provider for pattern, provider in _WILD if pattern.fullmatch(host)), None)
    return found


@dataclass(frozen=True, slots=True)
class Route:
    """Where a URL leads: a provider, and an endpoint unless the path is unknown."""

    provider: Provider
    endpoint: Endpoint | None


Declared: TypeAlias = "tuple[tuple[str, str, Provider], ...]"
"""Host with port, base path and provider; the longest base first."""


@lru_cache(maxsize=1024)
def _route(declared: Declared, method: str, url: str) -> Route | None:
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2].lower()
    name, _, port = place.rpartition(":") if ":" in place and not place.endswith("]") else (place, "", "")
    place = name.rstrip(".") + (f":{port}" if port not in ("", "80", "443") else "")
    path = re.sub("/{2,}", "/", parts.path)
    for netloc, base, provider in declared:
        if netloc == place and (not base or path == base or path.startswith(base + "/")):
            return Route(provider, provider.find(method, path, base))
    host = name.rstrip(".")
    known = known_provider(place) or known_provider(host)
    if known is None:
        return None
    if known.shares(host) and not known.claims(host, f"{path}?{parts.query}" if parts.query else path):
        return None
    return Route(known, known.find(method, path))


def placed(place: str) -> tuple[str, str] | None:
    """Host with port and base path of a declared place, as they stand in the URLs of clients; `None` for what is no place."""
    try:
        split = urlsplit(place.strip() if "://" in place else f"//{place.strip()}")
        host, port = (split.hostname or "").rstrip("."), split.port
        host = host if host.isascii() else host.encode("idna").decode()
    except ValueError:  # half a bracket of an IPv6 address, a port that is none, a name that is none
        return None
    if not host or "*" in host or " " in host:
        return None
    shown = f"[{host}]" if ":" in host else host
    return shown if port in (None, 80, 443) else f"{shown}:{port}", split.path.rstrip("/")


def _split(place: str) -> tuple[str, str]:
    found = placed(place)
    if found is None:
        raise ScriptError(
            sentence(
                f"hosts= got {masked_url(place)!r}.",
                "A host is a name or an address, with a port and a base path if there are.",
                'Write hosts={"llm.corp.example:8080/base": "openai"}.',
            )
        )
    return found


@lru_cache(maxsize=256)
def _anywhere(provider: Provider, method: str, path: str) -> Endpoint | None:
    """The row whose path this one ends with, whatever base path stands before it."""
    path = re.sub("/{2,}", "/", path)
    bases = (path[:at] for at, sign in enumerate(path) if sign == "/")
    return next((found for base in bases if (found := provider.find(method, path, base)) is not None), None)


_ERRANDS: Final = {host: errand for errand in ERRANDS for host in errand.hosts}


def errand_at(host: str) -> Errand | None:
    """What SDKs and frameworks do at a host that is no provider's of models."""
    return _ERRANDS.get(f"[{host}]" if ":" in host else host)


def is_metadata(host: str) -> bool:
    """Whether a host is a metadata server, which a machine without credentials is asked in vain."""
    errand = errand_at(host)
    return errand is not None and errand.lender is not None and errand.lender.name == "metadata"


def likely(method: str, path: str) -> str | None:
    """The provider that has such a path, for a host that isn't known."""
    able = [provider for provider in PROVIDERS if provider.endpoints]
    whole = (provider.name for provider in able if provider.find(method, path) is not None)
    return next(whole, None) or next(
        (provider.name for provider in able if _anywhere(provider, method, path) is not None), None
    )


def answerable(name: str, came: str, write: Callable[[str], str]) -> Provider:
    """The provider of this name.

    Args:
        name: The name.
        came: How it was given, for the message.
        write: What to write, of a name that would do.

    Raises:
        ScriptError: There is none, or one that can't be answered.
    """
    provider = _BY_NAME.get(name) if isinstance(name, str) else None
    if provider is not None and provider.endpoints:
        return provider
    able = sorted(provider.name for provider in PROVIDERS if provider.endpoints)
    near = difflib.get_close_matches(str(name), able, 1)
    raise ScriptError(
        sentence(
            f"{came}, which is no provider that can be answered.",
            "The providers are " + ", ".join(able) + ".",
            f"Write {write((near or ['openai'])[0])}.",
        )
    )


class Routes:
    """The table with the hosts of one block added.

    Args:
        hosts: `host[:port][/base]` to the name of the provider that speaks there.

    Raises:
        ScriptError: An unknown provider, a host that can't be one.
    """

    def __init__(self, hosts: Mapping[str, str] | None = None) -> None:
        self._added: list[Declared] = []
        self._declared: Declared = ()
        if hosts:
            self.declare(hosts)

    def declare(self, hosts: Mapping[str, str]) -> Declared:
        """Add hosts; gives what `withdraw` takes."""
        speaking = [(place, self._provider(place, name)) for place, name in hosts.items()]
        added = tuple((*_split(place), provider) for place, provider in speaking)
        self._added = [*self._added, added]
        self._settle()
        return added

    def withdraw(self, added: Declared) -> None:
        """Take hosts away again that were added, unless they were added by somebody else as well."""
        self._added = [other for other in self._added if other is not added]
        self._settle()

    def _settle(self) -> None:
        every = dict.fromkeys(host for added in self._added for host in added)
        self._declared = tuple(sorted(every, key=lambda item: -len(item[1])))

    @staticmethod
    def _provider(place: str, name: str) -> Provider:
        shown = masked_url(place) if isinstance(place, str) else place
        return answerable(name, f"hosts= got {shown!r}: {name!r}", lambda near: f"{{{shown!r}: {near!r}}}")

    def find(self, method: str, url: str) -> Route | None:
        """The route of a URL, `None` when nobody claims its host."""
        return _route(self._declared, method, url)

    def elsewhere(self, method: str, path: str, name: str | None) -> Route:
        """The route on a host that nobody claims: that of the provider named, whatever its base path, else one without an endpoint."""
        if name is not None:
            provider = _BY_NAME[name]
            return Route(provider, _anywhere(provider, method, path))
        speaks = _BY_NAME[likely(method, path) or "openai"]
        return Route(Provider(name="unknown", hosts=(), endpoints=speaks.endpoints), None)

    def hosts(self, method: str, path: str) -> list[str]:
        """The hosts that are answered, for people: those of the block first, then those that have such a path."""
        declared = [f"{netloc}{base}" for netloc, base, _ in self._declared]
        able = [provider for provider in PROVIDERS if provider.endpoints]
        able.sort(key=lambda provider: provider.find(method, path) is None)
        return declared + [host for provider in able for host in provider.hosts]

    def known(self, host: str, port: int | None) -> bool:
        """Whether a socket to this host is an LLM's; of a declared host with a base path, other paths may be reached."""
        found = known_provider(host) or known_provider(f"{host}:{port}")
        if found is not None:
            return not found.shares(host)
        places = {f"{host}:{port}"} | ({host} if port in (None, 80, 443) else set())
        return any(netloc in places and not base for netloc, base, _ in self._declared)


_PATHS: Final = 6
"""Paths in a message; of some providers there are dozens."""


def paths_near(provider: Provider, method: str, path: str) -> list[str]:
    """The paths that are answered, for people: those most like the one that was asked for, in the order of the table."""
    paths = [*dict.fromkeys(f"{row.method} {provider.prefix_of(row)}{row.path}" for row in provider.endpoints)]
    asked = f"{method} {path}"
    chats = {
        f"{row.method} {provider.prefix_of(row)}{row.path}" for row in provider.endpoints if row.operation == "chat"
    }
    of_chat = difflib.get_close_matches(asked, [written for written in paths if written in chats], 2, 0)
    named = [*dict.fromkeys((*paths[:1], *of_chat))]
    others = [written for written in paths if written not in named]
    near = [*named, *difflib.get_close_matches(asked, others, _PATHS - len(named), 0)]
    near = near if len(paths) > _PATHS else paths
    shown = [written for written in paths if written in near]
    left = len(paths) - len(shown)
    return [*shown, f"and {left} more (fake-llm providers {provider.name})"] if left else shown
