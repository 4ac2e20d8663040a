"""`intercept`: a block in which calls to LLM providers are answered from a script.

The same object is a context manager, sync and async, and a decorator. Every entry starts from a fresh
copy of the script. Blocks are process-wide; the innermost one that claims a host answers for it.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, TypeVar, Unpack, get_args, overload

from fake_llm._blocks import close, enter, judge, leave, opened
from fake_llm._errors import ScriptError, sentence
from fake_llm._fake import FakeLLM
from fake_llm._options import BlockOptions
from fake_llm._place import Place, here
from fake_llm._public import public

__all__ = ["Intercept", "forbid", "intercept"]

__tracebackhide__ = True  # pytest leaves these frames out of a report

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | type)

_lock: Final = threading.Lock()


def intercept(script: Any = (), /, *more: Any, **options: Unpack[BlockOptions]) -> Intercept:
    """Answer calls to LLM providers from a script, for a block or a function.

    A context manager (`with`, `async with`) that gives a `FakeLLM`, and a decorator for functions,
    coroutine functions, generators and classes: a function that declares a parameter `fake_llm`, or
    one annotated `FakeLLM`, gets it there. Each entry starts from a fresh copy of the script.

    Args:
        script: A list of turns, or a single turn that isn't a function. A `str` is a text answer,
            `ToolCall(name, arguments)` a tool call, a list inside the list one turn of several parts, a
            dict, model or dataclass structured output, `Error(429)` the provider's error, an exception a
            fault, a function of the call decides when it comes.
        *more: Nothing: several turns are one list.
        **options: All by keyword:

            - `default`: a turn for every call that neither the script nor a rule answers.
            - `on_exhausted`: `"raise"`, `"stop"` (a final text) or `"error"` (the vendor's own 400).
            - `strict` (`True`): replies must fit the request, and the end of the block raises what failed and
              what was left. `False` silences both, but never what a test's own functions raised.
            - `model`: the model's name on answers; without it, the request's.
            - `usage`: a `Usage` for every answer; without it, an estimate.
            - `delay`, `interval`: seconds before the first byte, and between content chunks.
            - `chunk_size`: characters in a chunk; without it, a word each.
            - `framing`: a `Framing` for every answer.
            - `context_window`, `reserve_completion`: tokens; longer prompts get the vendor's own refusal, and lists of models
              report it.
            - `cost`: a function of a `Usage`, for `call.cost` and `fake.cost`.
            - `validate` (`True`): a request that the real API refuses, such as a tool call without its result, gets the
              vendor's own 400. `False` answers it.
            - `virtual_time` (`False`): scripted delays take no time, and the client's time-outs fire where they would.
            - `skip_backoff` (`True`): the sleeps of SDKs between their retries take no time; `call.waited` says what they would have.
            - `hosts`: further hosts, `{"llm.corp.example:8080/base": "openai"}`.
            - `block_network` (`False`): every host that isn't answered is refused, but local ones.
            - `env` (`True`): dummy credentials for the block.

    Raises:
        ScriptError: The script or an option can't be one.

    >>> import httpx
    >>> with intercept(["Hello!"]) as fake:
    ...     answer = httpx.post(
    ...         "https://api.openai.com/v1/chat/completions",
    ...         json={"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]},
    ...     )
    >>> answer.json()["choices"][0]["message"]["content"]
    'Hello!'
    >>> fake.calls[0].last_user_text
    'Hi'
    """
    if more:
        raise ScriptError(
            sentence(
                f"intercept() got {1 + len(more)} arguments: {', '.join(map(repr, (script, *more)))}.",
                "Its one argument is the script, a list of turns; options are named.",
                f"Write intercept([{', '.join(map(repr, (script, *more)))}]).",
            )
        )
    return Intercept(FakeLLM(script, **options))


def forbid(
    *more: Any, hosts: Mapping[str, str] | None = None, block_network: bool = False, env: bool = True
) -> Intercept:
    """Refuse every call to an LLM provider, for a block or a function: what must not ask a model fails where it does.

    Used as `intercept` is, without a script. A call by any library raises `UnscriptedCallError` before a name is looked up; where
    that wouldn't reach the test, the call gets the vendor's own 400 and the end of the block raises. Housekeeping of SDKs
    (`side_calls`: model lists, traces, exchanges of tokens) asks no model and is answered. A block of `intercept` inside answers as ever.

    Args:
        *more: Nothing: it has no script.
        hosts: Further hosts of models, `{"llm.corp.example:8080/base": "openai"}`.
        block_network: Refuse every other host as well, but local ones.
        env: Dummy credentials for the block, so that a client can be made.

    Raises:
        ScriptError: A script, or an option that can't be one.

    >>> with forbid() as fake:
    ...     pass  # code that must do without a model
    >>> len(fake.calls)
    0
    """
    if more:
        raise ScriptError(
            sentence(
                f"forbid() got {', '.join(map(repr, more))}.",
                "It has no script, and options are named.",
                "Write @forbid() to decorate a function, or intercept([…]) to script answers.",
            )
        )
    template = FakeLLM(hosts=hosts or {}, block_network=block_network, env=env)
    template._forbids = True
    return Intercept(template)


class Intercept:
    """What `intercept` gives: a context manager and a decorator."""

    def __init__(self, template: FakeLLM) -> None:
        self._template = template
        self._entered: list[tuple[Place, FakeLLM]] = []

    def __enter__(self) -> FakeLLM:
        fake = self._template.copy()
        enter(fake)
        with _lock:
            self._entered.append((fake._home or here(), fake))
        return fake

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave(self._left(), error)

    async def __aenter__(self) -> FakeLLM:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def _left(self) -> FakeLLM:
        """The block that is being left: the last one that was entered here, else the last one at all."""
        with _lock:
            if not self._entered:
                raise RuntimeError("fake_llm.intercept: a block was left that wasn't entered")
            place = here()
            mine = [index for index, (entered, _) in enumerate(self._entered) if entered == place]
            return self._entered.pop(mine[-1] if mine else -1)[1]

    @overload
    def __call__(self, decorated: Decorated, /) -> Decorated: ...
    @overload
    def __call__(self, decorated: Any, /) -> Any: ...
    def __call__(self, decorated: Any, /) -> Any:
        """Decorate a function or a class: each call, each `test*` method, is a block of its own."""
        if isinstance(decorated, type):
            return _decorate_class(self, decorated)
        if isinstance(decorated, (staticmethod, classmethod)):
            return type(decorated)(self(decorated.__func__))
        if not callable(decorated):
            raise ScriptError(
                sentence(
                    f"intercept(…) decorates {decorated!r}.",
                    "It decorates functions and classes.",
                    "Write @intercept([…]) above def or class.",
                )
            )
        return _decorate(self, decorated)

    def __repr__(self) -> str:
        return (
            "<fake_llm.forbid>"
            if self._template._forbids
            else f"<fake_llm.intercept: {self._template.remaining} turns>"
        )


# --- the decorator ------------------------------------------------------------------------------


def _parameter(function: Callable[..., Any]) -> str | None:
    """The parameter that wants the `FakeLLM`: the one named `fake_llm`, or annotated so."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    names = [name for name, parameter in parameters.items() if parameter.kind in _BY_NAME]
    if "fake_llm" in names:
        return "fake_llm"
    return next((name for name in names if _wants_fake(parameters[name].annotation, function)), None)


_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _wants_fake(annotation: Any, function: Callable[..., Any]) -> bool:
    """Whether an annotation is `FakeLLM`, also where annotations are kept as text."""
    if not isinstance(annotation, str):
        return annotation is FakeLLM or FakeLLM in get_args(annotation)
    annotation = annotation.removesuffix(" | None").removeprefix("None | ").strip()
    if annotation.rpartition(".")[2] == "FakeLLM":
        return True
    value = getattr(inspect.unwrap(function), "__globals__", {}).get(annotation)  # `import … as` another name
    return value is FakeLLM


def _place(function: Callable[..., Any], name: str | None) -> int | None:
    """Where among the positional arguments the parameter stands; `None` where it is passed by name only."""
    if name is None:
        return None
    parameters = inspect.signature(function).parameters
    return None if parameters[name].kind is inspect.Parameter.KEYWORD_ONLY else list(parameters).index(name)


def _hide(wrapper: Callable[..., Any], function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """Take the parameter out of the signature, so that nobody takes it for a fixture."""
    if name is not None:
        signature = inspect.signature(function)
        wrapper.__signature__ = signature.replace(  # type: ignore[attr-defined]  # inspect reads it
            parameters=[parameter for key, parameter in signature.parameters.items() if key != name]
        )
    return wrapper


def _decorate(block: Intercept, function: Callable[..., Any]) -> Any:
    name = _parameter(function)
    place = _place(function, name)

    def call(fake: FakeLLM, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name is None:
            return function(*args, **kwargs)
        if place is not None and len(args) > place:
            return function(*args[:place], fake, *args[place:], **kwargs)
        return function(*args, **{**kwargs, name: fake})

    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def async_generator(*args: Any, **kwargs: Any) -> Any:
            with _block(block) as fake:
                generator = call(fake, args, kwargs)
                try:
                    value = await anext(generator)
                    while True:
                        try:
                            sent = yield value
                        except GeneratorExit:
                            raise
                        except BaseException as error:  # noqa: BLE001 - the decorated generator's to handle
                            value = await generator.athrow(error)
                        else:
                            value = await generator.asend(sent)
                except StopAsyncIteration:
                    return
                finally:
                    await generator.aclose()

        return _hide(async_generator, function, name)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with _block(block) as fake:
                return await call(fake, args, kwargs)

        return _hide(coroutine, function, name)
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with _block(block) as fake:
                return (yield from call(fake, args, kwargs))

        return _hide(generator, function, name)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with _block(block) as fake:
            return call(fake, args, kwargs)

    return _hide(wrapper, function, name)


@contextmanager
def _block(block: Intercept) -> Iterator[FakeLLM]:
    """A block of its own for one call of a decorated function."""
    fake = block._template.copy()
    enter(fake)
    try:
        yield fake
    except BaseException as error:
        leave(fake, error)
        raise
    else:
        leave(fake, None)


def _decorate_class(block: Intercept, decorated: type) -> type:
    if any(base.__name__ == "TestCase" and base.__module__ == "unittest.case" for base in decorated.__mro__):
        for name in ("run", "debug"):
            setattr(decorated, name, _case_run(block, getattr(decorated, name)))
        return decorated
    for name in dir(decorated):
        if not name.startswith("test"):
            continue
        function = inspect.getattr_static(decorated, name)
        if inspect.isfunction(function) or isinstance(function, (staticmethod, classmethod)):
            setattr(decorated, name, block(function))
    return decorated


# --- unittest -----------------------------------------------------------------------------------


_CASE: Final = "_fake_llm_block"
_STEPS: Final = ("asyncSetUp", "tearDown", "asyncTearDown")


def _case_run(block: Intercept, original: Callable[..., Any]) -> Callable[..., Any]:
    """A `run` or `debug` of a `TestCase` whose steps know of the block.

    They are replaced on the instance for the time of the run, so that a subclass with a `setUp` or with
    tests of its own has the block too. Of a class and its base that are both decorated, the class's own counts.
    """

    @functools.wraps(original)
    def run(case: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(case, _CASE):
            return original(case, *args, **kwargs)
        fake = block._template.copy()
        steps = [name for name in (*_STEPS, case._testMethodName) if callable(getattr(case, name, None))]
        replaced = {name: _case_step(case, fake, getattr(case, name)) for name in steps}
        replaced["setUp"] = _case_setup(case, fake, case.setUp)
        own = {name: vars(case)[name] for name in replaced if name in vars(case)}
        vars(case).update(replaced)
        setattr(case, _CASE, None)
        try:
            return original(case, *args, **kwargs)
        finally:
            for name in (_CASE, *replaced):
                vars(case).pop(name, None)
            vars(case).update(own)
            if fake in opened():  # `debug` does without cleanups when a step fails
                close(fake)

    return run


def _case_setup(case: Any, fake: FakeLLM, original: Callable[[], Any]) -> Callable[[], Any]:
    """A `setUp` that enters the block first; it is left by the cleanup that runs last."""
    step = _case_step(case, fake, original)

    @functools.wraps(original)
    def setUp() -> Any:
        enter(fake)
        setattr(case, _CASE, fake)
        case.addCleanup(_case_cleanup, case, fake)
        return step()

    return setUp


def _case_cleanup(case: Any, fake: FakeLLM) -> None:
    close(fake)
    if getattr(case, _CASE) is fake:  # else a step that failed has been judged already
        judge(fake, None)


def _case_step(case: Any, fake: FakeLLM, function: Callable[..., Any]) -> Callable[..., Any]:
    """A test method, or what runs around it: its thread and task are the block's, what leaves it is judged there."""
    name = _parameter(function)

    def given(kwargs: dict[str, Any]) -> dict[str, Any]:
        fake._home = here()
        return kwargs if name is None else {**kwargs, name: fake}

    def judged(error: BaseException) -> None:
        if getattr(case, _CASE) is fake:
            setattr(case, _CASE, None)
            judge(fake, error)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **given(kwargs))
            except BaseException as error:
                judged(error)
                raise

        return coroutine

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **given(kwargs))
        except BaseException as error:
            judged(error)
            raise

    return method


public(forbid, intercept)
