"""`intercept` on a `unittest.TestCase`: one block for a test, from before `setUp` to its last cleanup."""

from __future__ import annotations

import asyncio
import contextlib
import unittest
from typing import Any

import pytest

import fake_llm
from _asking import ask, ask_async
from fake_llm import FakeLLM, UnscriptedCallError, UnusedReplyError, _blocks


def run(case: type[unittest.TestCase], name: str | None = None) -> unittest.TestResult:
    loader = unittest.TestLoader()
    suite = unittest.TestSuite([case(name)]) if name else loader.loadTestsFromTestCase(case)
    result = unittest.TestResult()
    suite.run(result)
    assert _blocks.opened() == ()
    return result


def troubles(result: unittest.TestResult) -> list[str]:
    """The last line of each failure and error, in order."""
    return [text.strip().splitlines()[-1] for _, text in (*result.failures, *result.errors)]


def test_each_test_has_a_block_from_before_setup_to_the_last_cleanup() -> None:
    said: list[str] = []

    @fake_llm.intercept(["setUp", "test", "tearDown", "second cleanup", "first cleanup"])
    class Case(unittest.TestCase):
        def setUp(self) -> None:
            self.addCleanup(lambda: said.append(ask()))
            self.addCleanup(lambda: said.append(ask()))
            said.append(ask())

        def tearDown(self) -> None:
            said.append(ask())

        def test_one(self) -> None:
            said.append(ask())

        def test_two(self) -> None:
            said.append(ask())

    result = run(Case)

    assert (result.testsRun, troubles(result)) == (2, [])
    assert said == ["setUp", "test", "tearDown", "second cleanup", "first cleanup"] * 2


def test_the_fake_is_given_to_a_test_that_wants_it() -> None:
    @fake_llm.intercept(["Hello"])
    class Case(unittest.TestCase):
        def test_by_name(self, fake_llm: FakeLLM) -> None:
            assert ask("Bonjour") == "Hello"
            assert fake_llm.calls[0].last_user_text == "Bonjour"

        def test_by_annotation(self, llm: FakeLLM) -> None:
            assert ask("Servus") == "Hello"
            assert llm.calls[0].last_user_text == "Servus"

    result = run(Case)

    assert (result.testsRun, troubles(result)) == (2, [])


def test_unused_turns_are_a_failure_of_the_test() -> None:
    @fake_llm.intercept(["Hello"])
    class Case(unittest.TestCase):
        def test_it(self) -> None:
            pass

    result = run(Case)

    assert len(result.failures) == 1
    assert result.errors == []
    assert UnusedReplyError.__name__ in result.failures[0][1]


@pytest.mark.parametrize("step", ["setUp", "test_it", "tearDown"])
def test_a_failure_is_reported_once_where_it_happens(step: str) -> None:
    def unscripted(case: unittest.TestCase) -> None:
        ask(step)

    case = fake_llm.intercept()(type("Case", (unittest.TestCase,), {"test_it": lambda case: None, step: unscripted}))

    result = run(case)

    assert result.failures == []
    assert len(result.errors) == 1
    assert f"The last user text was {step!r}." in result.errors[0][1]
    assert UnscriptedCallError.__name__ in result.errors[0][1]


def test_a_failure_that_was_swallowed_is_an_error_at_the_end() -> None:
    @fake_llm.intercept()
    class Case(unittest.TestCase):
        def test_it(self) -> None:
            with contextlib.suppress(BaseException):
                ask()

    result = run(Case)

    assert result.failures == []
    assert len(result.errors) == 1
    assert UnscriptedCallError.__name__ in result.errors[0][1]


def test_a_failed_assertion_stays_what_it_is_with_turns_left() -> None:
    @fake_llm.intercept(["Hello"])
    class Case(unittest.TestCase):
        def test_it(self) -> None:
            self.fail("of its own")

    [(_, trouble)] = run(Case).failures
    assert trouble.endswith("AssertionError: of its own\n")  # no note: it is no error of the network


def test_a_teardown_that_fails_after_a_failed_test_keeps_its_own_error() -> None:
    @fake_llm.intercept()
    class Case(unittest.TestCase):
        def tearDown(self) -> None:
            raise LookupError("in tearDown")

        def test_it(self) -> None:
            ask()

    found = run(Case).errors

    assert [UnscriptedCallError.__name__ in text for _, text in found] == [True, False]
    assert found[1][1].rstrip().endswith("LookupError: in tearDown")


def test_skipping_is_not_a_failure() -> None:
    @fake_llm.intercept(["Hello"])
    class Case(unittest.TestCase):
        def setUp(self) -> None:
            if self._testMethodName == "test_in_setup":
                self.skipTest("in setUp")

        def test_in_setup(self) -> None: ...

        def test_in_test(self) -> None:
            self.skipTest("in the test")

        @unittest.skip("by a decorator")
        def test_by_decorator(self) -> None: ...

    result = run(Case)

    assert troubles(result) == []
    assert [why for _, why in result.skipped] == ["by a decorator", "in setUp", "in the test"]


def test_an_expected_failure_is_one() -> None:
    @fake_llm.intercept()
    class Case(unittest.TestCase):
        @unittest.expectedFailure
        def test_it(self) -> None:
            self.fail()

    result = run(Case)

    assert (troubles(result), len(result.expectedFailures)) == ([], 1)


def test_subtests_share_the_block_of_their_test() -> None:
    @fake_llm.intercept(["1", "2"])
    class Case(unittest.TestCase):
        def test_it(self) -> None:
            for number in ("1", "2"):
                with self.subTest(number):
                    assert ask() == number

    assert troubles(run(Case)) == []


def test_static_and_class_methods_are_tests_too() -> None:
    @fake_llm.intercept(["Hello"])
    class Case(unittest.TestCase):
        @staticmethod
        def test_static(fake_llm: FakeLLM) -> None:
            assert ask() == "Hello"
            assert len(fake_llm.calls) == 1

        @classmethod
        def test_class(cls) -> None:
            assert ask() == "Hello"

    result = run(Case)

    assert (result.testsRun, troubles(result)) == (2, [])


# --- asyncio ------------------------------------------------------------------------------------


def test_every_step_of_an_async_case_is_in_the_block() -> None:
    said: list[str] = []

    @fake_llm.intercept(["setUp", "asyncSetUp", "test", "asyncTearDown", "tearDown", "cleanup"])
    class Case(unittest.IsolatedAsyncioTestCase):
        def setUp(self) -> None:
            said.append(ask())

        async def asyncSetUp(self) -> None:
            said.append(await ask_async())

            async def cleanup() -> None:
                said.append(await ask_async())

            self.addAsyncCleanup(cleanup)

        async def test_it(self, fake_llm: FakeLLM) -> None:
            said.append(await ask_async())
            assert len(fake_llm.calls) == 3

        async def asyncTearDown(self) -> None:
            said.append(await ask_async())

        def tearDown(self) -> None:
            said.append(ask())

    assert troubles(run(Case)) == []
    assert said == ["setUp", "asyncSetUp", "test", "asyncTearDown", "tearDown", "cleanup"]


@pytest.mark.parametrize("step", ["asyncSetUp", "test_it", "asyncTearDown"])
def test_a_failure_is_raised_in_place_in_the_tasks_of_an_async_case(step: str) -> None:
    seen: list[BaseException] = []

    async def unscripted(case: unittest.TestCase) -> None:
        try:
            await ask_async()
        except BaseException as error:
            seen.append(error)
            raise

    async def nothing(case: unittest.TestCase) -> None: ...

    case = fake_llm.intercept()(
        type("Case", (unittest.IsolatedAsyncioTestCase,), {"test_it": nothing, step: unscripted})
    )

    result = run(case)

    assert [type(error) for error in seen] == [UnscriptedCallError]
    assert result.failures == []
    assert len(result.errors) == 1


def test_a_failure_in_another_task_of_an_async_case_is_its_error() -> None:
    @fake_llm.intercept()
    class Case(unittest.IsolatedAsyncioTestCase):
        async def test_it(self) -> None:
            await asyncio.gather(ask_async(), return_exceptions=True)

    result = run(Case)

    assert len(result.errors) == 1
    assert UnscriptedCallError.__name__ in result.errors[0][1]


# --- inheritance --------------------------------------------------------------------------------


def blocks_of(case: type[unittest.TestCase]) -> list[int]:
    """How many blocks were open in each test."""
    case.opened = []  # type: ignore[attr-defined]
    assert troubles(run(case)) == []
    opened: list[int] = case.opened  # type: ignore[attr-defined]
    return opened


class Counting(unittest.TestCase):
    opened: list[int]

    def count(self) -> str:
        type(self).opened.append(len(_blocks.opened()))
        return ask()


def test_a_subclass_has_the_block_of_its_base() -> None:
    @fake_llm.intercept(["base"])
    class Base(Counting):
        def test_inherited(self) -> None:
            assert self.count() == "base"

        def test_overridden(self) -> None: ...

    class Plain(Base):
        def test_overridden(self) -> None:
            assert self.count() == "base"

        def test_own(self, fake_llm: FakeLLM) -> None:
            assert self.count() == "base"
            assert len(fake_llm.calls) == 1

    assert blocks_of(Plain) == [1, 1, 1]


@pytest.mark.parametrize("calls_super", [True, False])
def test_a_subclass_with_a_setup_of_its_own_is_in_the_block_from_its_first_line(calls_super: bool) -> None:
    @fake_llm.intercept(["in setUp", "in the test"])
    class Base(Counting):
        def test_it(self) -> None:
            assert self.count() == "in the test"

    class WithSetUp(Base):
        def setUp(self) -> None:
            assert ask() == "in setUp"
            if calls_super:
                super().setUp()

    assert blocks_of(WithSetUp) == [1]


def test_a_decorated_subclass_of_a_decorated_class_has_its_own_block_only() -> None:
    @fake_llm.intercept(["base"])
    class Base(Counting):
        said = "base"

        def test_it(self) -> None:
            assert self.count() == self.said

    @fake_llm.intercept(["derived"])
    class Derived(Base):
        said = "derived"

    assert blocks_of(Derived) == [1]
    assert blocks_of(Base) == [1]


def test_an_undecorated_base_stays_without_a_block() -> None:
    class Base(unittest.TestCase):
        def test_it(self) -> None:
            assert _blocks.opened() == ()

    @fake_llm.intercept()
    class Derived(Base):
        def test_it(self) -> None:
            assert len(_blocks.opened()) == 1

    assert troubles(run(Base)) == []
    assert troubles(run(Derived)) == []


# --- other ways to run a case -------------------------------------------------------------------


@pytest.mark.parametrize("fails", [True, False])
def test_debug_runs_in_a_block_too(fails: bool) -> None:
    @fake_llm.intercept(["Hello"])
    class Case(unittest.TestCase):
        def test_it(self) -> None:
            assert ask() == ("Other" if fails else "Hello")

    if fails:
        with pytest.raises(AssertionError, match="Other"):
            Case("test_it").debug()
    else:
        Case("test_it").debug()

    assert _blocks.opened() == ()


def test_the_same_case_can_run_again() -> None:
    @fake_llm.intercept(["Hello"])
    class Case(unittest.TestCase):
        def test_it(self) -> None:
            assert ask() == "Hello"

    case = Case("test_it")
    before = dict(vars(case))
    for _ in range(2):
        result = unittest.TestResult()
        case.run(result)
        assert troubles(result) == []
    assert vars(case).keys() == before.keys()


CASES = """
    from __future__ import annotations
    import unittest
    import fake_llm
    import httpx
    from fake_llm import FakeLLM, ToolCall

    def ask():
        body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
        return httpx.post("https://api.openai.com/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]

    @fake_llm.intercept(["in setUp", "Hello"])
    class TestSync(unittest.TestCase):
        def setUp(self):
            self.first = ask()

        def test_it(self, fake_llm: FakeLLM):
            self.assertEqual((self.first, ask(), len(fake_llm.calls)), ("in setUp", "Hello", 2))

        def test_unused(self):
            pass

    @fake_llm.intercept(["Hello"])
    class TestAsync(unittest.IsolatedAsyncioTestCase):
        async def test_it(self, llm: FakeLLM):
            self.assertEqual((ask(), len(llm.calls)), ("Hello", 1))

        async def test_unscripted(self):
            ask(), ask()
"""


@pytest.mark.parametrize("options", [(), ("--pdb",)])
def test_pytest_runs_decorated_cases(pytester: pytest.Pytester, options: tuple[str, ...], monkeypatch: Any) -> None:
    pytester.makepyfile(CASES)
    monkeypatch.setattr("pdb.Pdb.set_trace", lambda *args, **kwargs: None)
    if options:
        options = (*options, "-k", "test_it")

    result = pytester.runpytest_inprocess("-p", "no:asyncio", *options)

    if options:
        result.assert_outcomes(passed=2, deselected=2)
    else:
        result.assert_outcomes(passed=2, failed=2)
        result.stdout.fnmatch_lines_random(["*UnusedReplyError*", "*UnscriptedCallError*"])
