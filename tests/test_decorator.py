"""`intercept` as a decorator: of functions of every kind, of methods and classes, and under pytest."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

import fake_llm
import fake_llm as aliased
from _asking import ask, ask_async
from _capability import has, needs
from fake_llm import FakeLLM, ScriptError, UnscriptedCallError, UnusedReplyError, _blocks, intercept
from fake_llm import FakeLLM as Renamed


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Iterator[None]:
    yield
    assert _blocks.opened() == ()


# --- functions ----------------------------------------------------------------------------------


def test_every_call_of_a_function_is_a_block_of_its_own() -> None:
    @intercept(["Hello"])
    def answer(text: str, *, ending: str) -> str:
        return ask(text) + ending

    assert [answer("Hi", ending="!"), answer("Hi", ending="?")] == ["Hello!", "Hello?"]


def test_a_function_keeps_what_it_is_known_by() -> None:
    @intercept()
    def answer(text: str = "x") -> str:
        """Answers."""
        return text

    assert (answer.__name__, answer.__doc__, answer.__module__) == ("answer", "Answers.", __name__)
    assert answer.__qualname__.endswith("<locals>.answer")
    assert str(inspect.signature(answer)) == "(text: 'str' = 'x') -> 'str'"
    assert answer() == "x"


def test_a_recursive_function_has_a_block_for_each_call() -> None:
    @intercept(["Hello"])
    def answer(depth: int) -> list[str]:
        return [ask(), *(answer(depth - 1) if depth else [])]

    assert answer(2) == ["Hello"] * 3


def test_what_leaves_a_function_is_judged() -> None:
    @intercept(["unused"])
    def unused() -> None: ...

    @intercept()
    def unscripted() -> None:
        ask()

    @intercept(["unused"])
    def failing() -> None:
        raise LookupError

    for function, kind in ((unused, UnusedReplyError), (unscripted, UnscriptedCallError), (failing, LookupError)):
        with pytest.raises(kind):
            function()


@pytest.mark.parametrize("error", [StopIteration, GeneratorExit, KeyboardInterrupt, StopAsyncIteration])
def test_control_flow_leaves_a_function_unchanged(error: type[BaseException]) -> None:
    @intercept()
    def leaving() -> None:
        raise error

    with pytest.raises(error):
        leaving()


def test_a_coroutine_function_stays_one() -> None:
    @intercept(["Hello"])
    async def answer(text: str) -> str:
        return await ask_async(text)

    async def main() -> list[str]:
        return await asyncio.gather(answer("one"), answer("two"), answer("three"))

    assert inspect.iscoroutinefunction(answer)
    assert asyncio.run(answer("Hi")) == "Hello"
    assert asyncio.run(main()) == ["Hello"] * 3


def test_a_coroutine_that_is_never_awaited_opens_no_block() -> None:
    @intercept(["Hello"])
    async def answer() -> None: ...

    coroutine = answer()
    assert _blocks.opened() == ()
    coroutine.close()


def test_a_generator_function_is_in_its_block_from_the_first_to_the_last_value() -> None:
    @intercept(["1", "2"])
    def answers() -> Iterator[str]:
        sent = yield ask()
        assert sent == "sent"
        yield ask()
        return "returned"

    assert inspect.isgeneratorfunction(answers)
    generator = answers()
    assert _blocks.opened() == ()
    assert next(generator) == "1"
    assert len(_blocks.opened()) == 1
    assert generator.send("sent") == "2"
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == "returned"


def test_a_generator_can_be_closed_and_thrown_into() -> None:
    closed: list[str] = []

    @intercept(["1", "unused"])
    def answers() -> Iterator[str]:
        try:
            yield ask()
        except LookupError:
            yield "handled"
        finally:
            closed.append("closed")

    generator = answers()
    next(generator)
    generator.close()
    assert (closed, _blocks.opened()) == (["closed"], ())

    generator = answers()
    next(generator)
    assert generator.throw(LookupError()) == "handled"
    generator.close()
    assert (closed, _blocks.opened()) == (["closed"] * 2, ())


def test_an_async_generator_function_is_in_its_block() -> None:
    closed: list[str] = []

    @intercept(["1", "2"])
    async def answers() -> AsyncIterator[str]:
        try:
            sent = yield await ask_async()
            assert sent == "sent"
            yield await ask_async()
        finally:
            closed.append("closed")

    async def main() -> None:
        assert inspect.isasyncgenfunction(answers)
        generator = answers()
        assert await anext(generator) == "1"
        assert await generator.asend("sent") == "2"
        with pytest.raises(StopAsyncIteration):
            await anext(generator)
        assert (closed, _blocks.opened()) == (["closed"], ())

        generator = answers()
        await anext(generator)
        await generator.aclose()
        assert (closed, _blocks.opened()) == (["closed"] * 2, ())

    asyncio.run(main())


def test_an_async_generator_can_be_thrown_into() -> None:
    @intercept()
    async def answers() -> AsyncIterator[str]:
        try:
            yield "first"
        except LookupError:
            yield "handled"

    async def main() -> None:
        generator = answers()
        await anext(generator)
        assert await generator.athrow(LookupError()) == "handled"
        with pytest.raises(StopAsyncIteration):
            await anext(generator)

    asyncio.run(main())


def test_unused_turns_of_a_generator_are_seen_at_its_end() -> None:
    @intercept(["unused"])
    def answers() -> Iterator[int]:
        yield 1

    @intercept(["unused"])
    async def answers_async() -> AsyncIterator[int]:
        yield 1

    async def main() -> None:
        with pytest.raises(UnusedReplyError):
            _ = [value async for value in answers_async()]

    with pytest.raises(UnusedReplyError):
        list(answers())
    asyncio.run(main())


def test_callables_and_partials_can_be_decorated() -> None:
    class Agent:
        def __call__(self, text: str) -> str:
            return ask(text)

    def answer(prefix: str, text: str) -> str:
        return prefix + ask(text)

    async def later(text: str) -> str:
        return await ask_async(text)

    block = intercept(["Hello"])
    assert block(Agent())("Hi") == "Hello"
    assert block(functools.partial(answer, "> "))("Hi") == "> Hello"
    assert intercept()(len)([1]) == 1
    assert asyncio.run(block(functools.partial(later, "Hi"))()) == "Hello"


def test_a_bare_intercept_is_refused_with_what_to_write() -> None:
    with pytest.raises(ScriptError, match=r"Write @intercept\(\) to decorate it"):

        @intercept
        def test() -> None: ...


def test_an_object_can_be_block_and_decorator() -> None:
    block = intercept(["Hello"])
    decorated = block(ask)
    with block as fake:
        assert decorated() == "Hello"
        assert len(fake.calls) == 0
        assert ask() == "Hello"


# --- the parameter ------------------------------------------------------------------------------


def by_name(text: str, fake_llm: Any) -> Any:
    return ask(text), fake_llm


def by_annotation(llm: FakeLLM, text: str = "Hi") -> Any:
    return ask(text), llm


def by_path(*, llm: fake_llm.FakeLLM, text: str = "Hi") -> Any:
    return ask(text), llm


def by_aliased_module(llm: aliased.FakeLLM, text: str = "Hi") -> Any:
    return ask(text), llm


def by_renamed_class(llm: Renamed, text: str = "Hi") -> Any:
    return ask(text), llm


FUNCTIONS = [by_name, by_annotation, by_path, by_aliased_module, by_renamed_class]


def evaluated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with annotations that are objects, as in a module without the future import."""
    code = inspect.getsource(function)
    module = ModuleType("evaluated")
    vars(module).update({name: globals()[name] for name in ("ask", "Any", "FakeLLM", "Renamed", "fake_llm", "aliased")})
    exec(compile(code, module.__name__, "exec", dont_inherit=True), vars(module))
    made: Callable[..., Any] = vars(module)[function.__name__]
    assert not any(isinstance(kind, str) for kind in made.__annotations__.values())
    return made


@pytest.mark.parametrize("function", [*FUNCTIONS, *map(evaluated, FUNCTIONS)])
def test_the_fake_is_given_to_the_parameter_that_wants_it(function: Callable[..., Any]) -> None:
    decorated = intercept(["Hello"])(function)

    answer, fake = decorated(text="Bonjour")

    assert answer == "Hello"
    assert isinstance(fake, FakeLLM)
    assert fake.calls[0].last_user_text == "Bonjour"
    assert list(inspect.signature(decorated).parameters) == ["text"]


@pytest.mark.parametrize("annotation", ["'FakeLLM | None'", "NotFakeLLM", "list[FakeLLM]", "undefined.Name", "1"])
def test_other_parameters_are_left_alone(annotation: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"from __future__ import annotations\ndef function(llm: {annotation}): return llm", namespace)

    assert intercept()(namespace["function"])("mine") == "mine"


def test_parameters_that_take_many_are_left_alone() -> None:
    @intercept()
    def function(*llms: FakeLLM, **fake_llm: FakeLLM) -> Any:
        return llms, fake_llm

    assert function(1, a=2) == ((1,), {"a": 2})


def test_two_decorators_give_each_function_one_fake() -> None:
    @intercept(["outer"])
    @intercept(["inner"])
    def function(fake_llm: FakeLLM) -> str:
        return ask()

    with pytest.raises(UnusedReplyError, match="'outer'"):
        function()


def test_it_goes_with_mocks() -> None:
    @intercept(["Hello"])
    @mock.patch("os.getcwd")
    def inside(getcwd: Any, fake_llm: FakeLLM) -> Any:
        assert len(fake_llm.calls) == 0
        return ask(), getcwd

    @mock.patch("os.getcwd")
    @intercept(["Hello"])
    def outside(getcwd: Any, fake_llm: FakeLLM) -> Any:
        assert len(fake_llm.calls) == 0
        return ask(), getcwd

    for function in (inside, outside):
        answer, getcwd = function()
        assert answer == "Hello"
        assert isinstance(getcwd, mock.MagicMock)


# --- methods and classes ------------------------------------------------------------------------


class Agent:
    @intercept(["method"])
    def method(self, fake_llm: FakeLLM) -> str:
        return f"{ask()} {len(fake_llm.calls)} {type(self).__name__}"

    @intercept(["static"])
    @staticmethod
    def static_inside() -> str:
        return ask()

    @staticmethod
    @intercept(["static"])
    def static_outside(fake_llm: FakeLLM) -> str:
        return ask()

    @intercept(["class"])
    @classmethod
    def class_inside(cls, fake_llm: FakeLLM) -> str:
        return f"{ask()} {cls.__name__}"

    @classmethod
    @intercept(["class"])
    def class_outside(cls) -> str:
        return f"{ask()} {cls.__name__}"


class Derived(Agent): ...


@pytest.mark.parametrize("on", [lambda: Derived, lambda: Derived()])
def test_methods_of_every_kind(on: Callable[[], Any]) -> None:
    target = on()
    assert target.static_inside() == "static"
    assert target.static_outside() == "static"
    assert target.class_inside() == "class Derived"
    assert target.class_outside() == "class Derived"
    assert Derived().method() == "method 1 Derived"


def test_each_test_method_of_a_class_is_a_block() -> None:
    @intercept(["Hello"])
    class TestAgent:
        test_value = 3
        test_function = len

        def test_one(self, fake_llm: FakeLLM) -> str:
            return f"{ask()} {len(fake_llm.calls)}"

        async def test_async(self) -> str:
            return await ask_async()

        @staticmethod
        def test_static() -> str:
            return ask()

        @classmethod
        def test_class(cls) -> str:
            return f"{ask()} {cls.__name__}"

        def helper(self) -> int:
            return len(_blocks.opened())

    case = TestAgent()
    assert case.test_one() == "Hello 1"  # type: ignore[call-arg]
    assert asyncio.run(case.test_async()) == "Hello"
    assert case.test_static() == "Hello"
    assert case.test_class() == "Hello TestAgent"
    assert case.helper() == 0
    assert case.test_value == 3


def test_inherited_tests_of_a_class_are_blocks_and_its_base_stays_as_it_is() -> None:
    class Base:
        def test_it(self) -> int:
            return len(_blocks.opened())

    @intercept()
    class TestIt(Base): ...

    assert (TestIt().test_it(), Base().test_it()) == (1, 0)


# --- pytest -------------------------------------------------------------------------------------

HEADER = """
import pytest
import fake_llm
import httpx
from fake_llm import FakeLLM, intercept

def ask():
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
    return httpx.post("https://api.openai.com/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
"""
TESTS = """
@intercept(["Hello"])
def test_parameter(fake_llm):
    assert (ask(), len(fake_llm.calls)) == ("Hello", 1)

@intercept(["Hello"])
def test_annotation(llm: FakeLLM):
    assert (ask(), len(llm.calls)) == ("Hello", 1)

@pytest.mark.parametrize("number", [1, 2])
@intercept(["Hello"])
def test_parametrized(number, fake_llm):
    assert (ask(), len(fake_llm.calls)) == ("Hello", 1)

@intercept(["Hello"])
@pytest.mark.parametrize("number", [1, 2])
def test_parametrized_inside(llm: FakeLLM, number, tmp_path):
    assert (ask(), len(llm.calls), tmp_path.is_dir()) == ("Hello", 1, True)

@pytest.fixture
def text():
    return "Hello"

@intercept(["Hello"])
def test_fixture(text, fake_llm: FakeLLM, request):
    assert ask() == text
    assert request.node.name == "test_fixture"

@pytest.fixture
@intercept(["of the fixture", "of the test"])
def agent(text, llm: FakeLLM):
    assert ask() == "of the fixture"
    yield llm
    assert llm.remaining == 0

def test_fixture_with_a_block(agent):
    assert ask() == "of the test"
    assert len(agent.calls) == 2

@intercept(["Hello"])
class TestClass:
    def test_method(self, fake_llm):
        assert (ask(), len(fake_llm.calls)) == ("Hello", 1)

    @pytest.mark.parametrize("number", [1, 2])
    def test_parametrized(self, number, llm: FakeLLM, tmp_path):
        assert (ask(), len(llm.calls)) == ("Hello", 1)

    @staticmethod
    def test_static(fake_llm):
        assert (ask(), len(fake_llm.calls)) == ("Hello", 1)

@intercept(["unused"])
def test_unused():
    pass

@intercept()
def test_unscripted():
    ask()

@intercept(["unused"])
def test_skipped():
    pytest.skip("so")

@intercept(["unused"])
@pytest.mark.xfail(raises=AssertionError)
def test_expected_failure():
    assert False
"""


@pytest.mark.parametrize("future", [True, False])
def test_under_pytest(pytester: pytest.Pytester, future: bool) -> None:
    pytester.makepyfile(("from __future__ import annotations\n" if future else "") + HEADER + TESTS)

    result = pytester.runpytest_inprocess("-p", "no:asyncio")

    result.assert_outcomes(passed=12, failed=2, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines_random(["E*UnusedReplyError: The block ended*", "E*UnscriptedCallError: Call 0*"])


@needs("pytest-asyncio")
def test_coroutines_under_pytest(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(
        HEADER
        + """
async def ask_async():
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
    async with httpx.AsyncClient() as client:
        answer = await client.post("https://api.openai.com/v1/chat/completions", json=body)
    return answer.json()["choices"][0]["message"]["content"]

@intercept(["Hello"])
async def test_it(fake_llm, tmp_path):
    assert (await ask_async(), len(fake_llm.calls)) == ("Hello", 1)

@intercept()
async def test_unscripted():
    await ask_async()

@pytest.fixture
@intercept(["of the fixture", "of the test"])
async def agent(llm: FakeLLM):
    assert await ask_async() == "of the fixture"
    yield llm

async def test_fixture(agent):
    assert await ask_async() == "of the test"
"""
    )

    result = pytester.runpytest_inprocess("-W", "error")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["E*UnscriptedCallError: Call 0*"])


@needs("trio")
def test_coroutines_under_pytest_with_anyio(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        HEADER
        + """
pytestmark = pytest.mark.anyio

async def ask_async():
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
    async with httpx.AsyncClient() as client:
        answer = await client.post("https://api.openai.com/v1/chat/completions", json=body)
    return answer.json()["choices"][0]["message"]["content"]

@intercept(["Hello"])
async def test_it(fake_llm, tmp_path):
    assert (await ask_async(), len(fake_llm.calls)) == ("Hello", 1)

@intercept()
async def test_unscripted(anyio_backend_name):
    await ask_async()
"""
    )

    result = pytester.runpytest_inprocess("-p", "no:asyncio")

    gc.collect()  # the task of its runner logs what a test is left by: here, not after the last test
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["E*UnscriptedCallError: Call 0*"])


@pytest.mark.skipif(not has("hypothesis"), reason="needs hypothesis")
def test_under_hypothesis() -> None:
    from hypothesis import given, settings
    from hypothesis import strategies as st

    ran: list[str] = []

    @settings(max_examples=5, database=None, deadline=None)
    @given(text=st.sampled_from(["a", "b"]))
    @intercept(["Hello"])
    def test(text: str, fake_llm: FakeLLM) -> None:
        assert ask(text) == "Hello"
        ran.append(fake_llm.calls[0].last_user_text)

    test()
    assert set(ran) == {"a", "b"}
