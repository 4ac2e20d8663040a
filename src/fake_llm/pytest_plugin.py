"""The plugin for pytest: a fixture, a marker, options in the ini file, and the calls in the report of a failing test.

It is off until it is used: a run that doesn't use it loads and replaces nothing.

The marker `fake_llm` scripts a test and takes what `fake_llm.intercept` takes. The fixture `fake_llm` is the `FakeLLM` of
that script; without the marker its script is empty, to be filled by `push`, `when` and `default`::

    import pytest
    from fake_llm import FakeLLM, ToolCall


    @pytest.mark.fake_llm([ToolCall("add", {"a": 2, "b": 3}), "5"])
    def test_adds():
        assert my_agent("What is 2 + 3?") == "5"


    @pytest.mark.fake_llm(["Hello!"], model="gpt-5")
    def test_greets(fake_llm: FakeLLM):
        assert my_agent("Hi") == "Hello!"
        assert fake_llm.calls[0].last_user_text == "Hi"


    def test_greets_anyone(fake_llm: FakeLLM):
        fake_llm.when(input="Ann").reply("Hello, Ann!")
        assert my_agent("I am Ann") == "Hello, Ann!"

**The marker** stands on functions, classes and modules (`pytestmark = pytest.mark.fake_llm(default="Hello!")`), on
parameters (`pytest.param(…, marks=…)`) and on a `unittest.TestCase`. The script of the closest marker that has one wins;
options are merged, the closest first, over those of the ini file. Its block is open around the fixtures of the test (not
around those of a class, module, package or session, which may have blocks of their own: the innermost block answers), and
each run of a test, also of the same one again, starts from a fresh copy of the script.

**What is wrong fails the test itself**: a call without a turn, a turn that nobody asked for, an assertion in a function
turn. Only what fixtures call while they are torn down is an error of the teardown. In a test that was skipped or failed
otherwise, the turns that are left are no failure of their own.

**The report** of a failing test has a section *LLM calls*: the transcript of each block that the test had, however it was
opened.

**The name `fake_llm`** is that of the package, of the fixture, of the marker and of the parameter that
`@fake_llm.intercept` fills. In a function with a parameter `fake_llm` this name is the `FakeLLM`, no longer the module. So
import the names that a test needs (`from fake_llm import FakeLLM, Reply, ToolCall`), and annotate the parameter
(`fake_llm: FakeLLM`), so that both you and a type checker see which of them is meant. `import fake_llm as llm` does as well.

**Options in the ini file** are those of a block that a text can say, each with the prefix `fake_llm_`; they hold for the
marker and the fixture, not for `intercept`::

    [pytest]
    fake_llm_strict = false
    fake_llm_on_exhausted = stop
    fake_llm_hosts =
        llm.corp.example:8080/base = openai
    fake_llm_env = true

`fake_llm_env = true` does more: it sets the dummy credentials of every SDK before conftest files and test modules are
imported, for clients that are made at import, and takes them away after the run. What the environment has is left alone.

**No call to a model unless a test scripts it**: with `fake_llm_forbid = true` every test, its fixtures included, runs in a
block of `fake_llm.forbid`, with the options `hosts`, `block_network` and `env` of the ini file. A call to a known LLM host
fails the test in which it happened with `UnscriptedCallError`, also where the code swallowed it or another thread made it.
A block of the test's own answers as ever: the marker, the fixture, `intercept` as a decorator or a context manager,
a mount. What is called while test modules are imported is not covered. It costs what an empty block costs: a third of a second
for the run, to load, and half a millisecond for each test.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, cast

import pytest

from fake_llm import _witness

if TYPE_CHECKING:
    from fake_llm._fake import FakeLLM

__all__ = ["fake_llm"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

_FAKE: Final = pytest.StashKey["FakeLLM"]()
"""Of a test: the fake of its block, while it is open."""
_WITNESS: Final = pytest.StashKey[_witness.Witness]()
"""Of a test: who follows it."""
_GUARD: Final = pytest.StashKey["FakeLLM"]()
"""Of a test: the fake of the block around all of it that refuses, while it is open."""
_INI: Final = pytest.StashKey[dict[str, Any]]()
"""Of the run: the options that its ini file gives."""
_ENV: Final = pytest.StashKey[bool]()
"""Of the run: that it has dummy credentials."""
_FORBIDS: Final = pytest.StashKey[bool]()
"""Of the run: that every test is in a block that refuses."""


@pytest.fixture
def fake_llm(request: pytest.FixtureRequest) -> FakeLLM:
    """A `FakeLLM` that answers the calls of this test to LLM providers: the marker's, else one with an empty script.

    Say what the model answers by `push`, `when` and `default`, or by @pytest.mark.fake_llm(["Hello!"]); see what was sent
    in `calls`. What is wrong fails the test.
    """
    return _block(request.node)


# --- the ini file -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Option:
    """An option of a block that an ini file can say."""

    kind: Literal["string", "bool", "int", "float", "linelist"]
    says: str
    example: str


_OPTIONS: Final[Mapping[str, _Option]] = {
    "default": _Option("string", "a text that answers every call for which there is no turn", "Hello!"),
    "on_exhausted": _Option("string", "the answer to a call for which no turn is left: raise, stop or error", "stop"),
    "strict": _Option(
        "bool", "whether replies must fit the request, and failures and unused turns fail a test", "false"
    ),
    "model": _Option("string", "the name of the model on answers", "gpt-5"),
    "delay": _Option("float", "seconds before the first byte of an answer, 0 or more", "0.5"),
    "interval": _Option("float", "seconds between the chunks of an answer, 0 or more", "0.1"),
    "chunk_size": _Option("int", "characters in a chunk of an answer, 1 or more", "8"),
    "context_window": _Option("int", "tokens of the context window, 0 or more", "8192"),
    "reserve_completion": _Option("int", "tokens of it that are kept for the answer, 0 or more", "1024"),
    "validate": _Option("bool", "whether a request that the real API refuses gets the vendor's own 400", "false"),
    "virtual_time": _Option("bool", "whether scripted delays take no time", "true"),
    "skip_backoff": _Option("bool", "whether the waits of SDKs between their retries take no time", "false"),
    "hosts": _Option(
        "linelist",
        "further hosts, one a line, each with the provider that speaks there",
        "llm.corp.example:8080 = openai",
    ),
    "env": _Option(
        "bool",
        "whether there are dummy credentials; true sets them for the whole run, before anything is imported",
        "true",
    ),
    "block_network": _Option("bool", "whether every host that isn't answered is refused, but local ones", "true"),
}
_OF_A_RUN: Final[Mapping[str, _Option]] = {
    "forbid": _Option("bool", "whether a call to a model fails every test that hasn't scripted it", "true"),
}
_INI_OPTIONS: Final[Mapping[str, _Option]] = {**_OPTIONS, **_OF_A_RUN}
_TYPED: Final = pytest.version_tuple >= (8, 4)  # since when pytest reads numbers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Make the options known."""
    for name, option in _INI_OPTIONS.items():
        kind = option.kind if _TYPED or option.kind not in {"int", "float"} else "string"
        parser.addini(f"fake_llm_{name}", f"fake_llm: {option.says}", type=kind, default=None)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Set dummy credentials before anything of the project is imported."""
    _set_environment(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and read the options."""
    config.addinivalue_line(
        "markers",
        "fake_llm(script=(), **options): answer the calls of the test to LLM providers from a script, a list of turns; "
        "the fixture fake_llm has the journal. Options are those of fake_llm.intercept.",
    )
    _set_environment(config)  # in a run that didn't load the plugin early
    given = {name: value for name in _OPTIONS if (value := _read(config, name)) is not None}
    for name, value in given.items():
        _check(config, name, value)
    config.stash[_INI] = given
    if _read(config, "forbid"):
        config.stash[_FORBIDS] = True


def _set_environment(config: pytest.Config) -> None:
    if _ENV not in config.stash and _read(config, "env"):
        from fake_llm import _environment

        config.stash[_ENV] = True
        _environment.enter(every=True)
        config.add_cleanup(_environment.leave)


def _read(config: pytest.Config, name: str) -> Any:
    """The value of an option, `None` where the ini file gives none."""
    option = _INI_OPTIONS[name]
    try:
        value = config.getini(f"fake_llm_{name}")
        if value in (None, "", []):  # pytest 7 has no default of None
            return None
        if option.kind == "linelist":
            return dict(map(_pair, value))
        return {"int": int, "float": float}.get(option.kind, lambda same: same)(value)
    except (TypeError, ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(_wrong(config, name, str(error))) from error


def _pair(line: str) -> tuple[str, str]:
    left, sign, right = line.rpartition("=")
    if not sign:
        raise ValueError(f"there is no = in {line!r}")
    return left.strip(), right.strip()


def _check(config: pytest.Config, name: str, value: Any) -> None:
    from fake_llm._errors import ScriptError
    from fake_llm._fake import FakeLLM

    options: Any = {name: value}
    try:
        FakeLLM(**options)
    except ScriptError as error:
        raise pytest.UsageError(_wrong(config, name, f"it is {value!r}")) from error


def _wrong(config: pytest.Config, name: str, why: str) -> str:
    from fake_llm._errors import sentence

    option = _INI_OPTIONS[name]
    where = "" if config.inipath is None else f" in {config.inipath.name}"
    return sentence(
        f"The ini option fake_llm_{name}{where} can't be used: {why}.",
        f"It says {option.says}.",
        f"Write fake_llm_{name} = {option.example}",
    )


# --- the block of a test ------------------------------------------------------------------------


def _marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("fake_llm") is not None


def _block(item: pytest.Item) -> FakeLLM:
    """The fake of the test's block, which is opened when it is first asked for and closed among the test's finalizers."""
    fake = item.stash.get(_FAKE, None)
    if fake is None:
        from fake_llm import _blocks

        fake = _scripted(item)
        _blocks.enter(fake)
        item.stash[_FAKE] = fake
        item.addfinalizer(partial(_closed, item))
    return fake


def _closed(item: pytest.Item) -> None:
    from fake_llm import _blocks

    _blocks.close(item.stash[_FAKE])
    del item.stash[_FAKE]


def _guarded(item: pytest.Item) -> None:
    """Open the block around all of a test, outside of those that a fixture of a module or session has open."""
    from fake_llm import _blocks
    from fake_llm._intercept import forbid

    options = {
        name: value for name, value in item.config.stash[_INI].items() if name in {"hosts", "block_network", "env"}
    }
    fake = forbid(**options)._template
    _blocks.enter(fake)
    _blocks.outermost(fake)
    item.stash[_GUARD] = fake


def _own(item: pytest.Item) -> list[FakeLLM]:
    """The fakes of the blocks that are opened here for a test, its script's first."""
    return [fake for key in (_FAKE, _GUARD) if (fake := item.stash.get(key, None)) is not None]


def _scripted(item: pytest.Item) -> FakeLLM:
    """A fake with the script of the closest marker and the options of all of them."""
    from fake_llm._errors import ScriptError, sentence
    from fake_llm._fake import FakeLLM

    own = [id(mark) for mark in getattr(getattr(item, "callspec", None), "marks", ())]
    marks = sorted(
        item.iter_markers("fake_llm"), key=lambda mark: id(mark) not in own
    )  # that of a parameter is closest
    scripts = [mark.args for mark in marks if mark.args]
    options = item.config.stash[_INI].copy()
    for mark in reversed(marks):
        options.update(mark.kwargs)
    try:
        for script in scripts:
            if len(script) > 1:
                turns = ", ".join(map(repr, script))
                raise ScriptError(
                    sentence(
                        f"The marker got {len(script)} arguments: {turns}.",
                        "Its one argument is the script, a list of turns; options are named.",
                        f"Write @pytest.mark.fake_llm([{turns}]).",
                    )
                )
        return FakeLLM(*scripts[0] if scripts else (), **options)
    except ScriptError as error:
        wrong = error
    _, line, name = item.reportinfo()
    file = item.nodeid.partition("::")[0]
    where = file if line is None else f"{file}:{line + 1}"
    pytest.fail(f"{where}: the script of {name} can't be one.\n{wrong}", pytrace=False)


# --- the phases of a test -----------------------------------------------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Leave what followed an outer test as it was."""
    before = _witness.current()
    try:
        return (yield)
    finally:
        _witness.call(before)
        if _WITNESS in item.stash:
            del item.stash[_WITNESS]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Open the block of a marked test, at the latest when its fixtures are there."""
    if _FORBIDS in item.config.stash:
        _witness.call(None)  # the calls of this block are shown where there are any
        _guarded(item)
    item.stash[_WITNESS] = witness = _witness.Witness(dict.fromkeys((*_open(), *_placed())))
    _witness.call(witness)
    try:
        result = yield
    except BaseException as error:
        _judge(item, error)
        raise
    if _marked(item):
        _block(item)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Open the block of a marked test before the first fixture of its own; let what goes wrong be remembered.

    pytest keeps no account of a fixture that is left by a `BaseException`, or whose hook fails, and breaks when the next
    test asks for it (9.2, 2026-11).
    """
    try:
        if fixturedef.scope == "function" and _marked(request.node):
            _block(request.node)
        return (yield)
    except BaseException as error:
        if not _ours(error) and not isinstance(error, (Exception, pytest.fail.Exception)):
            raise
        original = _original(error)
        if original is not error or fixturedef.cached_result is None:
            fixturedef.cached_result = (
                None,
                fixturedef.cache_key(cast("Any", request)),
                (original, original.__traceback__),
            )
        if original is not error:
            _raise(original)
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run the test where failures are raised in place, and judge its block: what is wrong fails the test itself."""
    try:
        if _marked(item) and (fake := item.stash.get(_FAKE, None)) is not None:
            from fake_llm import _blocks

            _blocks.innermost(
                fake
            )  # the marker is closer to the test than a block that a fixture opens around every test
        with _body(item):
            result = yield
    except BaseException as error:
        _judge(item, error)
        raise
    _judge(item, None)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Raise what went wrong in the teardown after all of it: pytest stops there at a `BaseException` (9.2, 2026-11)."""
    fakes = _own(item)
    witness = item.stash.get(_WITNESS, None)
    if witness is None:  # somebody skipped the test before our setup
        return (yield)
    late: list[BaseException] = []
    witness.late = late
    homes = [(block, block._home, block._homes) for block in _known()]
    for block, *_ in homes:
        block._home, block._homes = None, ()
    try:
        return (yield)
    finally:
        witness.late = None
        for block, home, mounts in homes:
            block._home = home if block in _open() else None
            block._homes = mounts if block._mounted or block._bare else ()
        late.extend(failure for fake in fakes if (failure := fake._first_failure()) is not None)
        if (guard := item.stash.get(_GUARD, None)) is not None:
            from fake_llm import _blocks

            _blocks.close(guard)
            del item.stash[_GUARD]
        for mounted in _mounted():
            if (failure := mounted._first_failure(mounted._settled)) is not None:
                late.append(failure)
            mounted._settle()
        if late and isinstance(sys.exc_info()[1], (Exception, NoneType)):
            raise late[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Tell the blocks what is reported, and add the calls to the report of what failed."""
    if call.excinfo is not None:
        _shorten(item, call.excinfo)
    report: pytest.TestReport = yield
    if call.excinfo is not None:
        _locate(item, call.excinfo.value, report)
        _mask(call.excinfo.value, report)
        for fake in _known():
            fake._tell(call.excinfo.value)
    witness = item.stash.get(_WITNESS, None)
    if report.failed and witness is not None:
        report.sections.extend(_sections(witness))
    return report


def _shorten(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Leave frames out that pytest shows in a doctest: it hides none there (9.2, 2026-11)."""
    if not hasattr(item, "dtest"):
        return
    for failure in _in_doctest(excinfo.value):
        failure.exc_info = (*failure.exc_info[:2], None)  # its example is shown
    if _is_verdict(excinfo.value):
        excinfo.traceback = type(excinfo.traceback)([])


def _in_doctest(error: BaseException) -> list[Any]:
    """The failures of a doctest that are ours."""
    doctest = sys.modules.get("doctest")
    if doctest is None:
        return []
    several = type(error).__name__ == "MultipleDoctestFailures"  # pytest's own, and private
    failures: list[Any] = list(getattr(error, "failures", ())) if several else [error]
    return [each for each in failures if isinstance(each, doctest.UnexpectedException) and _ours(each.exc_info[1])]


def _locate(item: pytest.Item, error: BaseException, report: pytest.TestReport) -> None:
    """Say where the test is, in place of the remark that all frames of a failure of ours are hidden."""
    chain = getattr(report.longrepr, "chain", None)
    if not chain or not _is_verdict(error):
        return
    shown = chain[-1][0]
    if shown.extraline is not None and "entries are hidden" in shown.extraline:
        file, line, _ = item.location
        shown.extraline = f"{file}:{(line or 0) + 1}: {type(error).__name__}"


def _mask(error: BaseException, report: pytest.TestReport) -> None:
    """Mask keys in what pytest shows of the last frame, that of an HTTP library: it has the request at hand."""
    if not _ours(error):
        return
    from fake_llm._errors import masked
    from fake_llm._model import masked_url

    def safe(text: str) -> str:
        return masked(_URL.sub(lambda found: masked_url(found[0]), text))

    for traceback, *_ in getattr(report.longrepr, "chain", ()):
        for entry in traceback.reprentries:
            if (arguments := getattr(entry, "reprfuncargs", None)) is not None:
                arguments.args = [(name, safe(str(value))) for name, value in arguments.args]
            if (names := getattr(entry, "reprlocals", None)) is not None:
                names.lines = list(map(safe, names.lines))


_URL: Final = re.compile(r"https?://[^\s'\"<>]+")


def _is_verdict(error: BaseException) -> bool:
    """Whether the end of a block may have raised it."""
    errors = sys.modules.get("fake_llm._errors")
    return errors is not None and (_ours(error) or isinstance(error, errors.UnusedReplyError))


def _sections(witness: _witness.Witness) -> Iterator[tuple[str, str]]:
    """The calls of each block that the test entered, and of those around it that it called."""
    around = [fake for fake, *before in witness.around if before != [len(fake.calls), len(fake.side_calls)]]
    blocks = list(dict.fromkeys((*around, *witness.entered)))
    left_out = witness.count - len(witness.entered)
    for number, fake in enumerate(blocks, left_out + 1):
        said = [f"{number} of {left_out + len(blocks)}"] if len(blocks) > 1 or left_out else []
        said += ["where they are forbidden"] if fake._forbids else []
        yield f"LLM calls ({', '.join(said)})" if said else "LLM calls", str(fake.transcript())


def _open() -> tuple[FakeLLM, ...]:
    """The fakes of the open blocks; none while the module that opens them isn't loaded."""
    blocks = sys.modules.get("fake_llm._blocks")
    return () if blocks is None else blocks.opened()


def _placed() -> tuple[FakeLLM, ...]:
    """The fakes that are mounted somewhere."""
    blocks = sys.modules.get("fake_llm._blocks")
    return () if blocks is None else blocks.placed()


def _mounted() -> tuple[FakeLLM, ...]:
    """The fakes that the test mounted, and those that are mounted around it; those of open blocks are for these to judge."""
    witness = _witness.current()
    mounted = () if witness is None else witness.mounted
    blocks = _open()
    return tuple(fake for fake in dict.fromkeys((*_placed(), *mounted)) if fake not in blocks)


def _known() -> tuple[FakeLLM, ...]:
    """The fakes of the open blocks and of the mounts, and those that the test entered."""
    witness = _witness.current()
    entered = () if witness is None else witness.entered
    return tuple(dict.fromkeys((*_open(), *_mounted(), *entered)))


def _judge(item: pytest.Item, error: BaseException | None) -> None:
    """Raise what the end of the test's block raises in place of what leaves the test; in its teardown it is no longer told."""
    caught = getattr(item, "_excinfo", None)  # where pytest keeps what unittest has caught
    if error is None and caught:
        error = caught[0].value
    if error is not None and _in_doctest(error):  # it says at which example
        for known in _known():
            known._told.extend(known._failures)
        return
    expected = error is not None and _was_to_fail(item, error)
    if expected:
        error = None
    fakes = _own(item)
    mounted = _mounted()
    try:
        if mounted or fakes:
            from fake_llm import _blocks

            for each in mounted:
                _blocks.judge_mount(each, error, turns=False)
            for fake in fakes:
                _blocks.judge(fake, error)
        if _FAKE not in item.stash and error is not None and (original := _original(error)) is not error:
            _raise(original)
    except BaseException as verdict:
        if caught:
            caught.clear()
            if isinstance(error, Exception):
                verdict.__context__ = error
        if expected:
            pytest.xfail("")  # as where unittest itself sees it fail
        raise
    finally:
        for fake in fakes:
            fake._told.extend(fake._failures)
        for each in mounted:
            each._settle()


def _was_to_fail(item: pytest.Item, error: BaseException) -> bool:
    """Whether this says that a test succeeded which unittest expects to fail."""
    marked = any(
        getattr(what, "__unittest_expecting_failure__", False)
        for what in (getattr(item, "obj", None), getattr(item, "cls", None))
    )
    return marked and isinstance(error, pytest.fail.Exception) and error.msg == "Unexpected success"


def _ours(error: BaseException) -> bool:
    """Whether it is a failure of fake_llm, or a group with one in it."""
    errors = sys.modules.get("fake_llm._errors")
    if errors is None:
        return False
    if isinstance(error, BaseExceptionGroup):
        return any(map(_ours, error.exceptions))
    return isinstance(error, errors.FakeLLMFailure)


def _original(error: BaseException) -> BaseException:
    """What is to be reported: the failure in a group of ours only, what a function of the test raised."""
    if not _ours(error):
        return error
    if isinstance(error, BaseExceptionGroup):
        from fake_llm._fake import _only_ours

        error = _only_ours(error) or error
    original: BaseException = getattr(error, "original", error)
    return original


def _raise(error: BaseException) -> NoReturn:
    """Raise it as if nothing had carried it."""
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context


# --- where the body of a test runs --------------------------------------------------------------


@contextmanager
def _body(item: pytest.Item) -> Iterator[None]:
    """Let what goes wrong in open blocks be raised in place in the body of the test, and reach pytest past event loops.

    A failure is a `BaseException`, and one that leaves a coroutine test kills a runner that outlives the test, as anyio's
    does with fixtures of a module or session (anyio 4.16, 2026-11). So it is carried out of the coroutine as a value, and
    raised again outside of the loop.
    """
    original = getattr(item, "obj", None)
    if not inspect.iscoroutinefunction(original):
        with _at_home():
            yield
        return
    kept: list[BaseException] = []
    case = getattr(item, "instance", None)
    if hasattr(type(case), "assertEqual") and hasattr(item, "_excinfo"):  # a TestCase, which catches by itself
        name = item.name
        vars(case)[name] = _located(original, None)
        try:
            yield
        finally:
            vars(case).pop(name, None)
        return
    function: Any = item
    function.obj = _located(original, kept)
    try:
        yield
    finally:
        function.obj = original
    if kept:
        raise kept[0]


def _located(original: Callable[..., Any], kept: list[BaseException] | None) -> Callable[..., Any]:
    @functools.wraps(original)
    async def located(*args: Any, **kwargs: Any) -> Any:
        with _at_home():
            try:
                return await original(*args, **kwargs)
            except BaseException as error:
                if kept is None or not _ours(error):
                    raise
                kept.append(error)

    return located


@contextmanager
def _at_home() -> Iterator[None]:
    """Open blocks of this thread take the running task for their home, as they were entered for what runs in it."""
    if not (fakes := _known()):
        yield
        return
    from fake_llm._place import here

    place = here()
    homes = [(fake, fake._home) for fake in fakes if fake._home is not None and fake._home[0] == place[0]]
    mounts = [fake for fake in fakes if any(home[0] == place[0] for home in fake._homes)]
    for fake, _ in homes:
        fake._home = place
    for fake in mounts:
        fake._homes = (*fake._homes, place)
    try:
        yield
    finally:
        for fake, home in homes:
            if fake._home == place:
                fake._home = home
        for fake in mounts:
            if place in fake._homes:
                last = len(fake._homes) - 1 - fake._homes[::-1].index(place)
                fake._homes = (*fake._homes[:last], *fake._homes[last + 1 :])
