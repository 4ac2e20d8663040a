"""Puts the replacements of the stacks and of the socket guard in, and takes them out again.

The first block installs, the last one restores, in whatever order blocks end. What is restored is what was
there, by identity. Where somebody else replaced an attribute after us, theirs stays; ours, which they hold on to, is
inert by then, as no handler claims anything, and is recognised if it ever comes back.

Only libraries that are imported are touched. One that is imported inside a block is caught by a
finder on `sys.meta_path` and patched when its import is done.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, update_wrapper
from operator import is_not
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from fake_llm._guard import Known, Refuse, guards
from fake_llm._model import Handler
from fake_llm._stacks import STACKS, Patch

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

__all__ = ["install", "uninstall"]

FindBy: TypeAlias = Callable[[str, str, str], "Handler | None"]
"""The handler of a call by a library, with a method, to a URL."""

Target: TypeAlias = Callable[[Any], list[Patch]]
"""An imported module to what has to be replaced in it, or beneath it."""

_NOTHING: Mapping[str, Callable[[], None]] = {}
_NO_PLACES: Mapping[str, Target] = {}


def install(
    find: FindBy,
    known: Known,
    refuse: Refuse,
    watch: Mapping[str, Callable[[], None]] = _NOTHING,
    places: Mapping[str, Target] = _NO_PLACES,
) -> None:
    """Enter a block: from the first to the last one every call of every library is asked about.

    Args:
        find: Gives the handler of a library, method and URL, if any. That of the first block stays until the last one ends.
        known: The hosts that the socket guard refuses.
        refuse: The exception it raises.
        watch: What to do once a module was first imported inside a block, by its name.
        places: What else has to be replaced, by the name of the module that must be there.
    """
    _installed.enter(find, known, refuse, watch, places)


def uninstall() -> None:
    """Leave a block; the last one restores everything."""
    _installed.leave()


@dataclass(frozen=True, slots=True)
class _Set:
    """One attribute that was replaced.

    Attributes:
        own: What stands in the owner, a view.
        original: As it is reached from the owner.
        kept: As it stands in the owner: a descriptor there may be reached as another object. `None` where it is only inherited.
    """

    owner: Any
    attribute: str
    own: Mapping[str, Any]
    original: Any
    kept: Any
    replacement: Any


class _Installed:
    """What is replaced at the moment."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._blocks = 0
        self._targets: Mapping[str, Target] = {}
        self._every: Mapping[str, Target] = {}
        self._patched: tuple[str, ...] = ()  # the modules of these, but for those that are only watched
        self._sets: dict[Any, _Set] = {}  # by the replacement
        self._finder = _Finder(self)
        self._ours: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._made: dict[tuple[Any, str], _Set] = {}  # to be used again, while the same functions are asked
        self._asked: tuple[Any, ...] = ()

    @property
    def targets(self) -> Mapping[str, Target]:
        """What can be patched now, by the name of its module; empty outside of blocks."""
        return self._targets

    def enter(
        self,
        find: FindBy,
        known: Known,
        refuse: Refuse,
        watch: Mapping[str, Callable[[], None]],
        places: Mapping[str, Target],
    ) -> None:
        try:
            for name in self._enter(find, known, refuse, watch, places):
                self.patch(name, importlib.import_module(name))  # waits for that thread, which may need the lock
        except BaseException:
            self.leave()
            raise

    def _enter(
        self,
        find: FindBy,
        known: Known,
        refuse: Refuse,
        watch: Mapping[str, Callable[[], None]],
        places: Mapping[str, Target],
    ) -> list[str]:
        """Patch what is imported; returns what another thread has begun to import before the finder was there."""
        with self._lock:
            self._blocks += 1
            if self._blocks > 1:
                return []
            asked = find, known, refuse, watch, places
            if len(self._asked) != len(asked) or any(map(is_not, self._asked, asked)):
                self._made.clear()
                watched = {name: partial(_watched, then) for name, then in watch.items()}
                stacks = {name: partial(_patches, name, find) for name in STACKS}
                self._every = {**guards(known, refuse), **watched, **stacks, **places}
                self._patched = tuple(name for name, target in self._every.items() if target is not watched.get(name))
                self._asked = asked
            self._targets = self._every
            sys.meta_path.insert(0, self._finder)
            begun: list[str] = []
            for name in self._patched:
                module = sys.modules.get(name)
                if module is None:
                    continue
                if _importing(module):
                    begun.append(name)
                else:
                    self._patch(name, module, self._every[name])
            return begun

    def leave(self) -> None:
        with self._lock:
            if not self._blocks:
                raise RuntimeError("fake_llm: a block was left that wasn't entered")
            self._blocks -= 1
            if self._blocks:
                return
            self._targets = {}
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self._finder]
            for replacement, entry in reversed(self._sets.items()):
                attribute = entry.attribute
                if entry.own.get(attribute) is not replacement:
                    continue
                if entry.kept is not None:
                    setattr(entry.owner, attribute, entry.kept)
                else:
                    delattr(entry.owner, attribute)
            self._sets.clear()

    def patch(self, name: str, module: Any) -> None:
        """Replace what this module's target names; what is ours already stays, as under an alias of a module."""
        with self._lock:
            target = self._targets.get(name)
            if target is not None:
                self._patch(name, module, target)

    def _patch(self, name: str, module: Any, target: Target) -> None:
        made, sets = self._made, self._sets
        try:
            for owner, attribute, make in target(module):
                entry = made.get((owner, attribute))
                if (
                    entry is not None
                    and entry.own.get(attribute) is (kept := entry.kept)
                    and (kept is not None or getattr(owner, attribute) is entry.original)
                ):  # what was there is there again, as at every block but the first
                    replacement = entry.replacement
                    setattr(owner, attribute, replacement)
                    sets[replacement] = entry
                else:
                    self._replace(owner, attribute, make, entry)
        except (AttributeError, TypeError) as error:
            raise RuntimeError(_refused(name, module, error)) from error

    def _replace(self, owner: Any, attribute: str, make: Callable[[Any], Any], entry: _Set | None) -> None:
        original = getattr(owner, attribute)
        wrapped = hasattr(type(original), "__wrapped__")  # wrapt's wrappers equal what they wrap, and aren't ours
        if not wrapped and original in self._sets:
            return
        kept = vars(owner).get(attribute)
        while not wrapped and original in self._ours:  # left over by somebody who put it back after the last block
            original = kept = self._ours[original]
        if entry is None or entry.kept is not kept or (kept is None and entry.original is not original):
            replacement = make(original)
            if not isinstance(original, ModuleType):
                update_wrapper(replacement, original)
            self._ours[replacement] = original
            entry = _Set(owner, attribute, vars(owner), original, kept, replacement)
            self._made[owner, attribute] = entry
        setattr(owner, attribute, entry.replacement)
        self._sets[entry.replacement] = entry


def _watched(then: Callable[[], None], module: Any) -> list[Patch]:
    then()
    return []


def _patches(name: str, find: FindBy, module: Any) -> list[Patch]:
    patches: list[Patch] = _stack(name).patches(module, partial(find, module.__name__))
    return patches


@cache
def _stack(name: str) -> Any:
    return importlib.import_module(f"fake_llm._stacks.{STACKS[name]}")


def _importing(module: Any) -> bool:
    """Whether some thread is still in the middle of importing this module."""
    spec = getattr(module, "__spec__", None)
    return spec is not None and bool(getattr(spec, "_initializing", False))


def _refused(name: str, module: Any, error: Exception) -> str:
    version = getattr(module, "__version__", "of unknown version")
    return (
        f"fake_llm can't intercept {name} {version}: {error}\n"
        f"Its calls would reach the network. Use a version of {name} that fake_llm supports, or one of fake_llm that supports it."
    )


class _Finder:
    """Finds nothing itself: notices the import of a library that can be patched."""

    def __init__(self, installed: _Installed) -> None:
        self._installed = installed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._installed.targets:
            return None
        finders = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        others = (finder.find_spec(fullname, path, target) for finder in finders)
        spec = next((found for found in others if found is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._installed)  # type: ignore[assignment]  # importlib.abc is slow to load
        return spec


class _Loader:
    """Loads as the real loader does, then has the module patched."""

    def __init__(self, real: Any, installed: _Installed) -> None:
        self._real = real
        self._installed = installed

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._real.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        module.__loader__ = self._real
        self._real.exec_module(module)
        self._installed.patch(name, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


_installed = _Installed()
