"""The options of a block, the same for every way to open one."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypedDict

from fake_llm._errors import ScriptError, sentence
from fake_llm._model import Usage
from fake_llm._turns import Framing, check_chunk_size, check_number, check_switch, check_type, check_usage

__all__ = ["BlockOptions", "Options", "Pace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What a block, a rule or a turn says about a reply; the nearest one that says something wins."""

    model: str | None = None
    usage: Usage | None = None
    delay: float | None = None
    interval: float | None = None
    chunk_size: int | None = None
    framing: Framing | None = None

    def check(self, where: str) -> None:
        """Refuse values that can't be."""
        check_type(self.model, (str,), where, "model", 'model="gpt-5"')
        check_usage(self.usage, where)
        check_number(self.delay, where, "delay")
        check_number(self.interval, where, "interval")
        check_chunk_size(self.chunk_size, where)
        check_type(self.framing, (Framing,), where, "framing", "framing=Framing(split=1)")


_NO_PACE: Final = Pace()


class BlockOptions(TypedDict, total=False):
    """The options of a block as type checkers see them in `**options`; told by `fake_llm.intercept`."""

    default: Any
    on_exhausted: Literal["raise", "stop", "error"]
    strict: bool
    model: str | None
    usage: Usage | None
    delay: float | None
    interval: float | None
    chunk_size: int | None
    framing: Framing | None
    context_window: int | None
    reserve_completion: int
    cost: Callable[[Usage], Any] | None
    validate: bool
    virtual_time: bool
    skip_backoff: bool
    hosts: Mapping[str, str]
    block_network: bool
    env: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a block, checked, with the defaults filled in; told by `fake_llm.intercept`."""

    default: Any = None
    on_exhausted: str = "raise"
    strict: bool = True
    model: str | None = None
    usage: Usage | None = None
    delay: float | None = None
    interval: float | None = None
    chunk_size: int | None = None
    framing: Framing | None = None
    context_window: int | None = None
    reserve_completion: int = 0
    cost: Callable[[Usage], Any] | None = None
    validate: bool = True
    virtual_time: bool = False
    skip_backoff: bool = True
    hosts: Mapping[str, str] = field(default_factory=dict[str, str])
    block_network: bool = False
    env: bool = True
    pace: Pace = field(init=False, repr=False, compare=False)
    """What the block says about every reply."""

    @property
    def usual(self) -> bool:
        """Whether nothing that it says has a part in the answer to a request that is as it should be."""
        return self.pace == _NO_PACE and self.context_window is None and self.cost is None and self.validate

    def __post_init__(self) -> None:
        pace = _NO_PACE
        said = self.model, self.usage, self.delay, self.interval, self.chunk_size, self.framing
        if any(value is not None for value in said):
            pace = Pace(
                model=self.model,
                usage=self.usage,
                delay=self.delay,
                interval=self.interval,
                chunk_size=self.chunk_size,
                framing=self.framing,
            )
        object.__setattr__(self, "pace", pace)

    @classmethod
    def of(cls, given: Mapping[str, Any], base: Options | None = None) -> Options:
        """The options given, over `base`; `ScriptError` for names and values that can't be."""
        if not given:  # as for nearly every block: they have been checked
            return base or _USUAL
        for name in given:
            if name not in _NAMES:
                near = difflib.get_close_matches(name, _NAMES, 1)
                raise ScriptError(
                    sentence(
                        f"There is no option {name}={given[name]!r}.",
                        "The options are " + ", ".join(sorted(_NAMES)) + ".",
                        f"Write {near[0]}=." if near else "Leave it out.",
                    )
                )
        options = dataclasses.replace(base, **given) if base is not None else cls(**given)
        options._check(given)
        return options

    def _check(self, given: Mapping[str, Any]) -> None:
        """Refuse what can't be among the options given; those beside them have been checked."""
        where = "intercept"
        if self.pace is not _NO_PACE:
            self.pace.check(where)
        if self.on_exhausted not in ("raise", "stop", "error"):
            raise ScriptError(
                sentence(
                    f"{where} got on_exhausted={self.on_exhausted!r}.",
                    "There are three answers to a call for which no turn is left.",
                    'Write on_exhausted="raise", "stop" or "error".',
                )
            )
        for name, value in given.items():
            if name in _SWITCHES:
                check_switch(value, where, name)
        for name in ("context_window", "reserve_completion"):
            value = getattr(self, name)
            if value is None and name == "context_window":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ScriptError(
                    sentence(
                        f"{where} got {name}={value!r}.",
                        f"{name} is a whole number of tokens, 0 or more.",
                        f"Write {name}=8192.",
                    )
                )
        if self.cost is not None and not callable(self.cost):
            raise ScriptError(
                sentence(
                    f"{where} got cost={self.cost!r}.",
                    "cost is a function of a Usage that returns a number or a dict of numbers.",
                    "Write cost=lambda usage: usage.total / 1000.",
                )
            )
        if not isinstance(self.hosts, Mapping) or not all(
            isinstance(key, str) and isinstance(value, str) for key, value in self.hosts.items()
        ):
            raise ScriptError(
                sentence(
                    f"{where} got hosts={self.hosts!r}.",
                    "hosts is a dict of hosts, each with the provider that speaks there.",
                    'Write hosts={"llm.corp.example:8080/base": "openai"}.',
                )
            )


_SWITCHES: Final = frozenset({"strict", "validate", "virtual_time", "skip_backoff", "block_network", "env"})
_USUAL: Final = Options()
_NAMES: Final = [item.name for item in dataclasses.fields(Options) if item.init]
