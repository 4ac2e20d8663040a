"""Dummy credentials while blocks are open, so that SDKs can be constructed without a key.

Only for SDKs that are imported, or when they are. What the environment had is left alone, and what was
added is taken away again by the last block.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from weakref import WeakSet

from fake_llm import _tracing
from fake_llm._endpoints import PROVIDERS, Provider
from fake_llm._routes import placed
from fake_llm._stacks import Patch

__all__ = ["base_urls", "declared_hosts", "enter", "imported", "leave", "places", "watches"]

_ROWS: Final = [row for provider in PROVIDERS for row in provider.credentials]
_WANTED: Final[Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]]] = {
    module: tuple((name, dummy, (name, *others)) for row, name, dummy, others in _ROWS if row == module)
    for module, *_ in _ROWS
}
"""By the name of an SDK's module: a variable that it wants, a dummy for it, and the variables of which any one will do."""

_lock: Final = threading.RLock()
_added: Final[dict[str, tuple[str, str | None]]] = {}
"""The dummies by variable, each with what stood there before: nothing, or an empty text."""
_blocks = 0


def enter(*, every: bool = False) -> None:
    """Open a block: dummies for each SDK that is imported, or for every one."""
    global _blocks  # noqa: PLW0603 - one process has one environment
    with _lock:
        _blocks += 1
        _take_back()
        for module in _WANTED:
            if every or module in sys.modules:
                _add(module)


def leave() -> None:
    """Close a block; the last one takes the dummies away."""
    global _blocks  # noqa: PLW0603
    with _lock:
        _blocks -= 1
        if _blocks:
            return
        _left.update(_added)
        _take_back()
        for name, (dummy, _) in tuple(_left.items()):
            if "fake" not in dummy:  # nobody would write such a one themselves
                del _left[name]
        _forget({dummy for dummy, _ in _added.values()})
        _added.clear()


def _take_back() -> None:
    """Take dummies away, and put back what stood there before."""
    kept, encoded = _kept()
    for name, (dummy, before) in tuple(_left.items()):
        key, value = (_key(name), _value(dummy)) if encoded else (name, dummy)
        if kept.get(key) != value:
            continue
        del _left[name], kept[key]
        if encoded:
            os.unsetenv(key)
        if before is not None:
            os.environ[name] = before


_left: Final[dict[str, tuple[str, str | None]]] = {}
"""What was added by blocks that are over: a variable that somebody has set or taken away meanwhile (moto, monkeypatch, until they are undone) may become the dummy again."""


def _forget(dummies: set[str]) -> None:
    """Take out of the SDKs what they cached."""
    # the client behind `openai.chat` and the like (openai 3.57, 2026-11)
    openai = vars(sys.modules["openai"]) if "openai" in sys.modules else {}
    if openai.get("api_key") in dummies:
        openai["api_key"] = None
        openai.get("_reset_client", lambda: None)()
    for name in ("azure_endpoint", "api_version"):
        if openai.get(name) in dummies:
            openai[name] = None
    if _settled and openai.get("api_type") == _settled.pop():
        openai["api_type"] = None
    _forget_boto3(dummies)
    _tracing.forget(dummies)
    # who serves which model (huggingface_hub 2.4, 2026-11)
    looked_up = sys.modules.get("huggingface_hub.inference._providers._common")
    getattr(getattr(looked_up, "_fetch_inference_provider_mapping", None), "cache_clear", lambda: None)()
    if _hub:
        vars(sys.modules[_HUB]).update(_hub)
        _hub.clear()


def _forget_boto3(dummies: set[str]) -> None:
    """Let sessions ask again, and drop the one behind `boto3.client` and the like that was made meanwhile (boto3 1.44, 2026-11).

    A client keeps what it was made with.
    """
    boto3 = vars(sys.modules["boto3"]) if "boto3" in sys.modules else {}
    default = boto3.get("DEFAULT_SESSION")
    if default not in _sessions and _keys_of(getattr(default, "_session", None)) in dummies:
        boto3["DEFAULT_SESSION"] = None
    for session in (getattr(default, "_session", None), *_asking):
        if session is not None and _keys_of(session) in dummies:
            session._credentials = None
    _asking.clear()


def _keys_of(session: Any) -> Any:
    """The access key that a session of botocore holds; those that are refreshed are none of ours."""
    return getattr(getattr(session, "_credentials", None), "__dict__", {}).get("access_key")


_sessions: Final[WeakSet[Any]] = WeakSet()
"""Sessions of boto3 that were there before dummies were."""

_asking: Final[WeakSet[Any]] = WeakSet()
"""Sessions of botocore that were asked for credentials while dummies were there."""


def places() -> Mapping[str, Callable[[Any], list[Patch]]]:
    """What has to be replaced while blocks are open, by the name of the module that must be there."""

    def noting(original: Any) -> Any:
        def get_credentials(session: Any) -> Any:
            with _lock:
                if _blocks:
                    _asking.add(session)
            return original(session)

        return get_credentials

    def unwalked(original: Any) -> Any:
        def getproxies_environment() -> Any:
            return {} if _added and not _names_proxies() else original()

        return getproxies_environment

    def proxies(module: Any) -> list[Patch]:
        request, name = sys.modules["urllib.request"], "getproxies_environment"
        walking = getattr(request, name)
        if getattr(walking, "__module__", None) != "urllib.request":
            return []  # somebody else's by now
        found: list[Patch] = [(request, name, unwalked)]
        if getattr(module, "getproxies", None) is walking:  # not where the system is asked too
            found.append((module, "getproxies", unwalked))
        return found

    return {
        "aiobotocore.session": lambda module: [(module.AioSession, "get_credentials", noting)],
        "botocore.session": lambda module: [(module.Session, "get_credentials", noting)],
        "requests.utils": proxies,
    }


def _names_proxies() -> bool:
    """Whether a variable may name a proxy, of which requests looks for one through the whole environment, four times in each call.

    With the dummies there for all SDKs that took a tenth of the call (requests 2.34, 2026-11).
    """
    kept, encoded = _kept()
    return not encoded or _value("_proxy") in _value("\n").join(kept).lower()


_settled: Final[list[str]] = []
"""What `openai.api_type` was set to."""


def _settle_openai() -> None:
    """Say whose client is behind `openai.chat` and the like: with dummies for OpenAI and for Azure it couldn't tell."""
    openai = vars(sys.modules["openai"])
    if openai.get("api_type") is not None:
        return
    given = {name for name, *_ in _WANTED["openai"] if name not in _added and _read(name)}
    azure = (
        bool(given & {"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"})
        or bool(_read("AZURE_OPENAI_AD_TOKEN"))
        or any(openai.get(name) for name in ("azure_endpoint", "azure_ad_token", "azure_ad_token_provider"))
    )
    if not (azure and "OPENAI_API_KEY" in given):
        openai["api_type"] = "azure" if azure else "openai"
        _settled[:] = [openai["api_type"]]


_HUB: Final = "huggingface_hub.constants"
_hub: Final[dict[str, Any]] = {}
"""What was altered in the constants of `huggingface_hub`, as it was."""


def _keep_from_hub() -> None:
    """Let downloads go without the dummy: huggingface.co refuses a wrong token even where none is needed (2026-11)."""
    constants = vars(sys.modules[_HUB])
    name = "HF_HUB_DISABLE_IMPLICIT_TOKEN"
    if name in constants and name not in _hub:
        _hub[name], constants[name] = constants[name], True


def watches() -> Iterator[str]:
    """The SDKs whose import is of interest."""
    return iter(_WANTED)


def imported(module: str) -> None:
    """An SDK has just been imported."""
    with _lock:
        if _blocks:
            _add(module)


def _add(module: str) -> None:
    if module == _HUB:
        hub = sys.modules.get(_HUB)
        if hub is None or Path(getattr(hub, "HF_TOKEN_PATH", "")).is_file():
            return  # its clients are made without a key; or somebody has logged in
    if module == "google.auth" and os.access(_google_user(), os.F_OK):  # a `Path` takes ten times as long
        return  # somebody has logged in
    if module == "openai" and module in sys.modules:
        _settle_openai()
    if module == "botocore" and (session := getattr(sys.modules.get("boto3"), "DEFAULT_SESSION", None)) is not None:
        _sessions.add(session)
    kept, encoded = _kept()
    for name, dummy, key, value, enough in _rows(module, encoded):
        for one in enough:
            if kept.get(one):
                break
        else:
            _added[name] = (dummy, "" if key in kept else None)
            if encoded:
                os.putenv(key, value)
            kept[key] = value
            if module == _HUB:
                _keep_from_hub()


# `os.environ` raises within for each variable that isn't there, and takes three times as long as what it keeps and `os.putenv`.


def _kept() -> tuple[Any, bool]:
    """What the environment keeps, and whether that is encoded: where something else has been put in its place, it is that itself."""
    kept = getattr(os.environ, "_data", None)  # CPython 3.11 to 3.14
    return (os.environ, False) if kept is None else (kept, True)


def _read(name: str) -> Any:
    """A variable as the environment keeps it."""
    kept = getattr(os.environ, "_data", None)
    return os.environ.get(name) if kept is None else kept.get(_key(name))


@cache
def _key(name: str) -> Any:
    return os.environ.encodekey(name)


@cache
def _value(value: str) -> Any:
    return os.environ.encodevalue(value)


@cache
def _rows(module: str, encoded: bool) -> tuple[tuple[str, str, Any, Any, tuple[Any, ...]], ...]:
    """What an SDK wants: name, dummy, both as the environment keeps them, and the names of which any one will do."""
    if not encoded:
        return tuple((name, dummy, name, dummy, enough) for name, dummy, enough in _WANTED[module])
    return tuple(
        (name, dummy, _key(name), _value(dummy), tuple(map(_key, enough))) for name, dummy, enough in _WANTED[module]
    )


def _google_user() -> str:
    """Where `gcloud auth application-default login` keeps what it got (google-auth 2.63, 2026-11)."""
    folder = os.environ.get("CLOUDSDK_CONFIG") if _read("CLOUDSDK_CONFIG") is not None else None
    if folder is None and os.name == "nt":
        folder = os.path.join(os.environ.get("APPDATA", "C:\\"), "gcloud")  # noqa: PTH118
    return f"{folder or os.path.expanduser('~/.config/gcloud')}/application_default_credentials.json"  # noqa: PTH111


def base_urls() -> Iterator[tuple[str, str, Provider]]:
    """The SDKs' own variables that name a host (`OPENAI_BASE_URL` and the like), each with its URL and whose language is meant.

    A blank one is as good as none, and what this module has set names nobody's host.
    """
    kept, encoded = _kept()
    for key, name, provider in _base_urls(encoded):
        if key not in kept:
            continue
        value = os.environ[name].strip()
        if value and (name not in _added or value != _added[name][0]):
            yield name, _place(name, value), provider


@cache
def _base_urls(encoded: bool) -> tuple[tuple[Any, str, Provider], ...]:
    """Those variables, each also as the environment keeps it."""
    named = [(name, provider) for provider in PROVIDERS for name in provider.base_urls]
    return tuple((_key(name) if encoded else name, name, provider) for name, provider in named)


def declared_hosts() -> dict[str, str]:
    """The hosts that the SDKs' own variables name, each with its provider.

    What is no URL is left out: it is a matter of the SDK that reads it, and most tests don't use that one.
    """
    return {url: provider.name for _, url, provider in base_urls() if placed(url) is not None}


def _place(name: str, value: str) -> str:
    """The base URL that a variable stands for: `OLLAMA_HOST` needs neither scheme, nor host, nor port (ollama 0.6)."""
    if name != "OLLAMA_HOST":
        return value
    scheme, _, rest = value.partition("://")
    usual = {"http": 80, "https": 443}.get(scheme, 11434) if rest else 11434
    try:
        parts = urlsplit(f"{scheme}://{rest}" if rest else f"http://{value}")
        host, port = parts.hostname or "127.0.0.1", parts.port or usual
    except ValueError:
        return value
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}{parts.path}"
