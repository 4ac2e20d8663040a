"""Mounting: puts a fake into one existing client, or into a library of mocks, and takes it out again.

Nothing of a client is exchanged: one function of that object is shadowed, the one by which it chooses a transport. Each
attribute has its layers, so that fakes can leave in any order: the last one mounted answers, and when all have left, the
object is as it was.
"""

from __future__ import annotations

import importlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from fake_llm import _blocks
from fake_llm._errors import ScriptError, sentence
from fake_llm._model import Fault, Request, Response
from fake_llm._place import Place, here
from fake_llm._routes import answerable
from fake_llm._stacks import STACKS, Patch

if TYPE_CHECKING:
    from fake_llm._fake import FakeLLM

__all__ = ["Mounted", "adapter", "mount", "transport"]

__tracebackhide__ = True  # pytest leaves these frames out of a report


CLIENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "aiohttp": ("ClientSession",),
    "botocore.client": ("BaseClient",),
    "httpx": ("Client", "AsyncClient"),
    "httpx2": ("Client", "AsyncClient"),
    "requests": ("Session",),
}
"""The clients of the HTTP libraries in `STACKS`, by the module of their classes."""


@dataclass(frozen=True, slots=True)
class Sdk:
    """Where an SDK's clients hold those of an HTTP library.

    Attributes:
        paths: Attributes that lead there; one that is `None` or missing in this generation is passed over.
        also: Further attributes that stand aside meanwhile, each with what stands there.
    """

    paths: tuple[str, ...]
    also: Mapping[str, Any] = field(default_factory=dict[str, Any])


SDKS: Final[Mapping[str, Sdk]] = {  # read and run with the current and the previous majors, 2026-11
    "openai": Sdk(("_client",)),
    "anthropic": Sdk(("_client",)),
    "groq": Sdk(("_client",)),
    "cerebras.cloud.sdk": Sdk(("_client",)),
    "together": Sdk(("_client",)),
    "fireworks": Sdk(("_client",)),
    "writerai": Sdk(("_client",)),
    "zai": Sdk(("_client",)),
    "ollama": Sdk(("_client",)),
    "mistralai": Sdk(("sdk_configuration.client", "sdk_configuration.async_client")),
    "google.genai": Sdk(
        ("_api_client._httpx_client", "_api_client._async_httpx_client"),
        {
            "_api_client._async_httpx_client._per_loop": False,  # 3.x sends through clients that it makes per event loop
            "_api_client._use_aiohttp": lambda: False,  # it prefers aiohttp where that is installed
        },
    ),
}
"""By the package of their classes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Via:
    """The fake as one mount asks it."""

    fake: FakeLLM
    provider: str | None

    def claims(self, method: str, url: str) -> bool:
        return self.provider is not None or self.fake.claims(method, url)

    def answer(self, request: Request) -> Response | Fault:
        return self.fake.answer(request, self.provider)

    async def answer_async(self, request: Request) -> Response | Fault:
        return await self.fake.answer_async(request, self.provider)


def transport(fake: FakeLLM, library: str, provider: str | None) -> Any:
    """A transport for a client of httpx or httpx2; where it is made is where its failures are raised."""
    module = _library(library, f"{library}_transport()")
    return _stack("httpx").transport(module, _bare(fake, provider, f"{library}_transport()"))


def adapter(fake: FakeLLM, provider: str | None) -> Any:
    """An adapter for a session of requests; where it is made is where its failures are raised."""
    _library("requests", "requests_adapter()")
    return _stack("requests").adapter(_bare(fake, provider, "requests_adapter()"))


def _bare(fake: FakeLLM, provider: str | None, where: str) -> _Via:
    _check(provider, where)
    fake._declare_environment()
    place = here()
    if place not in fake._homes:
        fake._homes = (*fake._homes, place)
    fake._bare = True
    _blocks.place(fake)
    return _Via(fake, provider)


def _library(name: str, where: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ScriptError(
            sentence(
                f"{where} needs {name}, which isn't installed.",
                "It is made of what that library has.",
                f"Install {name}, or write fake_llm.intercept([…]), which needs none.",
            )
        ) from None


def _check(provider: str | None, where: str) -> None:
    if provider is not None:
        answerable(provider, f"{where} got provider={provider!r}", lambda near: f'provider="{near}"')


def mount(fake: FakeLLM, target: Any, provider: str | None) -> Mounted:
    """Put a fake into a client or a library of mocks; see `FakeLLM.mount`."""
    _check(provider, "mount()")
    patches, coverage = _patches(fake, target, provider)
    return Mounted(fake, _name(target), patches, coverage)


class Mounted:
    """A fake in its place: what `fake.mount(target)` gives. Leaving it as a context manager takes the fake out and checks it.

    It is in place already; `with` and `async with` give the fake, and say where it ends.
    """

    def __init__(self, fake: FakeLLM, name: str, patches: list[Patch], coverage: _blocks.Coverage | None) -> None:
        self._fake = fake
        self._name = name
        self._patches = patches
        self._coverage = coverage
        self._home: Place = here()
        self._in_place = False
        self._hosts = fake._declare_environment()
        self._put()

    def _put(self) -> None:
        if self._coverage is not None:
            _blocks.cover(self._coverage)
        try:
            with _lock:
                for patch in self._patches:
                    _put(self, *patch)
                self._in_place = True
                self._fake._mounted += 1
                self._fake._homes = (*self._fake._homes, self._home)
        except BaseException:
            self._take()
            raise
        _blocks.place(self._fake)

    def _take(self) -> None:
        for owner, attribute, _ in self._patches:
            _take(self, owner, attribute)
        self._fake._withdraw(self._hosts)
        if self._coverage is not None:
            _blocks.uncover(self._coverage)

    def unmount(self) -> None:
        """Take the fake out, without a check; once it is out, nothing more happens.

        `fake.check()` raises what the end of a block would; in a test that pytest runs, what failed and wasn't checked fails that.
        """
        with _lock:
            if not self._in_place:
                return
            self._in_place = False
            self._fake._mounted -= 1
            self._leave_home()
            self._take()
            if not (self._fake._mounted or self._fake._bare):
                _blocks.displace(self._fake)

    def _leave_home(self) -> None:
        homes = list(self._fake._homes)
        if self._home in homes:
            homes.remove(self._home)
        self._fake._homes = tuple(homes)

    def __enter__(self) -> FakeLLM:
        with _lock:
            if self._in_place:
                self._leave_home()
                self._home = here()
                self._fake._homes = (*self._fake._homes, self._home)
                return self._fake
        raise RuntimeError(f"fake_llm: {self!r} was taken out already; mount the fake again")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.unmount()
        if self._fake not in _blocks.opened():  # else its block has the say
            _blocks.judge_mount(self._fake, error, turns=not self._fake._mounted)

    async def __aenter__(self) -> FakeLLM:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        return f"<fake_llm.mount: {self._name}, {'in place' if self._in_place else 'taken out'}>"


# --- the layers of an attribute -----------------------------------------------------------------

_KEPT: Final = "_fake_llm_layers"
_lock: Final = threading.RLock()


class _Layers:
    """An attribute of somebody's object, and the fakes that shadow it: each makes its own of what is beneath.

    A copy of the object has the same shadow, which does what the attribute did before once all fakes have left.
    """

    __slots__ = ("current", "layers", "original", "own", "shadow")

    def __init__(self, owner: Any, attribute: str) -> None:
        self.own = attribute in vars(owner)
        self.original = self.current = self.shadow = getattr(owner, attribute)
        self.layers: dict[Mounted, Callable[[Any], Any]] = {}
        if callable(self.original):
            self.shadow = self._call

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        return self.current(*args, **kwargs)

    def set(self, owner: Any, attribute: str) -> None:
        value = self.original
        for make in self.layers.values():
            value = make(value)
        self.current = value
        if not callable(self.original):
            self.shadow = value
        setattr(owner, attribute, self.shadow)


class _Kept:
    """The layers of one object, in an attribute of it: a copy of the object has the attribute too, but not the layers."""

    __slots__ = ("attributes", "owner")

    def __init__(self, owner: Any = None) -> None:
        self.owner = None if owner is None else weakref.ref(owner)
        self.attributes: dict[str, _Layers] = {}

    def __reduce__(self) -> tuple[type[_Kept], tuple[()]]:
        return _Kept, ()


def _kept(owner: Any) -> dict[str, _Layers] | None:
    kept: _Kept | None = vars(owner).get(_KEPT)
    return None if kept is None or kept.owner is None or kept.owner() is not owner else kept.attributes


def _put(mounted: Mounted, owner: Any, attribute: str, make: Callable[[Any], Any]) -> None:
    kept = _kept(owner)
    if kept is None:
        vars(owner)[_KEPT] = new = _Kept(owner)
        kept = new.attributes
    layers = kept.get(attribute)
    if layers is None:
        layers = kept[attribute] = _Layers(owner, attribute)
    layers.layers[mounted] = make
    layers.set(owner, attribute)


def _take(mounted: Mounted, owner: Any, attribute: str) -> None:
    kept = _kept(owner) or {}
    layers = kept.get(attribute)
    if layers is None or layers.layers.pop(mounted, None) is None:
        return
    ours = vars(owner).get(attribute) is layers.shadow  # else somebody replaced it after us: theirs stays
    if layers.layers:
        if ours:
            layers.set(owner, attribute)
        return
    layers.current = layers.original
    del kept[attribute]
    if not kept:
        del vars(owner)[_KEPT]
    if ours and layers.own:
        setattr(owner, attribute, layers.original)
    elif ours:
        delattr(owner, attribute)


# --- what can be mounted on ---------------------------------------------------------------------


def _patches(fake: FakeLLM, target: Any, provider: str | None) -> tuple[list[Patch], _blocks.Coverage | None]:
    if (mocks := _mocks(target)) is not None:
        return _on_mocks(fake, *mocks, provider)
    via = _Via(fake, provider)
    clients = list(_clients(target))
    for client in clients:
        _refuse_aws(client, provider)
    found = [patch for client in clients for patch in _on_client(client, via)]
    if not found:
        raise ScriptError(_refused(target))
    return [*found, *_also(target)], None


def _refuse_aws(client: Any, provider: str | None) -> None:
    """Refuse a client of boto3 for a service that has no models, of which every call would be refused; and one of aiobotocore."""
    if any(kind.__module__.startswith("aiobotocore.") for kind in type(client).__mro__):
        raise ScriptError(
            sentence(
                "mount() got a client of aiobotocore.",
                "It makes its sessions of aiohttp or httpx when it calls, so there is none yet that a fake could be mounted on.",
                "Write fake_llm.intercept([…]), which sees its calls by either.",
            )
        )
    service = getattr(getattr(getattr(client, "meta", None), "service_model", None), "service_name", None)
    if provider is None and isinstance(service, str) and not service.startswith("bedrock"):
        raise ScriptError(
            sentence(
                f"mount() got a client of boto3 for {service}.",
                "The service with models is bedrock-runtime, and what is mounted never lets a call out.",
                'Write fake.mount(boto3.client("bedrock-runtime", region_name="us-east-1")), or fake_llm.intercept([…]), '
                "which leaves other services alone.",
            )
        )


def _mocks(target: Any) -> tuple[str, Any] | None:
    """The library of mocks and the mock itself, its default one where the module was given."""
    for name, kind, default in (("respx", "Router", "mock"), ("responses", "RequestsMock", "mock")):
        module = sys.modules.get(name)
        if module is None:
            continue
        mocks = getattr(module, kind, None)  # none in a module of the user's own that has this name
        if mocks is None:
            continue
        if target is module:
            return name, getattr(module, default)
        if issubclass(type(target), mocks):
            return name, target
    return None


def _on_mocks(fake: FakeLLM, name: str, mock: Any, provider: str | None) -> tuple[list[Patch], _blocks.Coverage]:
    if provider is not None:
        raise ScriptError(
            sentence(
                f"mount({name}, provider={provider!r}) would answer every request that {name} has no answer for.",
                "A library of mocks serves other hosts as well, so its fake answers known hosts only.",
                f'Write hosts={{"llm.corp.example": "{provider}"}} where the fake is made.',
            )
        )
    if name == "respx":
        module = importlib.import_module("respx.router").httpx
        answering = _stack("httpx").transport(module, fake)
    else:
        module = importlib.import_module("requests")
        answering = _stack("requests").adapter(fake)
    stack = _stack(name)
    patches: list[Patch] = stack.mounted(mock, answering, fake.claims)
    return patches, _blocks.Coverage(fake, name, module.__name__, partial(stack.sees, mock))


def _clients(target: Any) -> Iterator[Any]:
    """The clients of HTTP libraries in a target: itself, or those that it holds."""
    if _library_of(target) is not None:
        yield target
        return
    sdk = _sdk(target)
    for path in sdk.paths if sdk is not None else ():
        found = _at(target, path)
        if found is not None:
            yield from _clients(found)


def _library_of(client: Any) -> str | None:
    for name, kinds in CLIENTS.items():
        module = sys.modules.get(name)
        able = tuple(getattr(module, kind) for kind in kinds if hasattr(module, kind))
        if issubclass(type(client), able):  # isinstance() believes a MagicMock(spec=Client)
            return name
    return None


def _on_client(client: Any, via: _Via) -> list[Patch]:
    name = _library_of(client)
    assert name is not None
    patches: list[Patch] = _stack(STACKS.get(name, name.partition(".")[0])).mounted(sys.modules[name], client, via)
    return patches


def _also(target: Any) -> Iterator[Patch]:
    sdk = _sdk(target)
    for path, value in sdk.also.items() if sdk is not None else ():
        owner, _, attribute = path.rpartition(".")
        found = _at(target, owner)
        if found is not None and hasattr(found, attribute):
            yield found, attribute, partial(_in_place_of, value)


def _in_place_of(value: Any, original: Any) -> Any:
    return value


def _sdk(target: Any) -> Sdk | None:
    """The row of an SDK's client; a class of the user's that extends one counts as well."""
    modules = [f"{kind.__module__}." for kind in type(target).__mro__]
    return next((sdk for name, sdk in SDKS.items() if any(module.startswith(f"{name}.") for module in modules)), None)


def _at(target: Any, path: str) -> Any:
    for attribute in path.split("."):
        target = getattr(target, attribute, None)
    return target


def _stack(name: str) -> Any:
    return importlib.import_module(f"fake_llm._stacks.{name}")


def _name(target: Any) -> str:
    if isinstance(target, ModuleType):
        return target.__name__
    kind = target if isinstance(target, type) else type(target)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _refused(target: Any) -> str:
    name = _name(target)
    able = [
        "a client of boto3" if library == "botocore.client" else f"{library}.{kind}"
        for library, kinds in CLIENTS.items()
        for kind in kinds
    ]
    write = "one of these, or fake_llm.intercept([…]), which needs no client"
    if isinstance(target, type):
        came = f"the class {name}"
        write = f"an instance: mount({name.rpartition('.')[2]}(…))"
    elif isinstance(target, ModuleType):
        came = f"the module {name}"
    else:
        came = f"an object of type {name}"
    return sentence(
        f"mount() got {came}.",
        f"A fake can be mounted on {', '.join(able)}, a respx.Router, a responses.RequestsMock, and the clients of {', '.join(SDKS)}.",
        f"Write {write}.",
    )
