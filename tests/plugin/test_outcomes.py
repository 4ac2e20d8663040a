"""What the marker and the fixture make of a test, outcome by outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from _capability import has

Run = Callable[..., pytest.RunResult]


@dataclass(frozen=True, slots=True)
class Case:
    """A file of tests, the number of each outcome, and what the output says."""

    tests: str
    outcomes: dict[str, int]
    says: tuple[str, ...] = ()
    conftest: str = ""
    options: tuple[str, ...] = ()


PASSED = {"passed": 1}
FAILED = {"failed": 1}
ERROR = {"errors": 1}
UNUSED = "E *fake_llm.UnusedReplyError: The block ended and 1 turn*"
UNSCRIPTED = "E *fake_llm.UnscriptedCallError: Call *"
ASSERTED = "E *assert 'Hi' == 'Ho'"

CASES = {
    # --- the ways to say it ---
    "marker": Case(
        """
@pytest.mark.fake_llm(["Hello"])
def test_it():
    assert ask() == "Hello"
""",
        PASSED,
    ),
    "marker and fixture": Case(
        """
@pytest.mark.fake_llm(["Hello"], model="gpt-6")
def test_it(fake_llm):
    assert (ask(), len(fake_llm.calls), fake_llm.calls[0].response.body.count(b'"gpt-6"')) == ("Hello", 1, 1)
    assert isinstance(fake_llm, FakeLLM)
""",
        PASSED,
    ),
    "fixture": Case(
        """
def test_it(fake_llm: FakeLLM):
    fake_llm.push("Hello")
    assert (ask(), len(fake_llm.calls)) == ("Hello", 1)
""",
        PASSED,
    ),
    "fixture asked for later": Case(
        """
def test_it(request):
    fake_llm = request.getfixturevalue("fake_llm")
    fake_llm.default("Hello")
    assert ask() == "Hello"
""",
        PASSED,
    ),
    "a fixture of the project's own on top": Case(
        """
@pytest.fixture
def fake_llm(fake_llm):
    fake_llm.default("Hello")
    return fake_llm

def test_it(fake_llm):
    assert ask() == "Hello"
""",
        PASSED,
    ),
    "a fixture of this name that is something else": Case(
        """
import fake_llm._blocks

@pytest.fixture
def fake_llm():
    return "not ours"

def test_it(fake_llm):
    assert fake_llm == "not ours"
    from fake_llm._blocks import opened
    assert not opened()
""",
        PASSED,
    ),
    "a block that a fixture opens around every test": Case(
        """
@pytest.fixture(autouse=True)
def no_llm():
    with intercept() as fake:
        yield fake

@pytest.mark.fake_llm(["Hello"])
def test_marked(no_llm):
    assert ask() == "Hello"
    assert not no_llm.calls

def test_plain():
    ask()
""",
        {"passed": 1, "failed": 1},
        (UNSCRIPTED,),
    ),
    "usefixtures": Case(
        """
@pytest.mark.usefixtures("fake_llm")
def test_it():
    ask()
""",
        FAILED,
        (UNSCRIPTED,),
    ),
    "one turn for a script": Case(
        """
@pytest.mark.fake_llm("Hello")
def test_it():
    assert ask() == "Hello"
""",
        PASSED,
    ),
    "no script": Case(
        """
@pytest.mark.fake_llm
def test_it():
    ask()
""",
        FAILED,
        (UNSCRIPTED, "*The script had no turns.*"),
    ),
    "the closest script": Case(
        """
pytestmark = pytest.mark.fake_llm(["of the module"], model="of the module", chunk_size=3)

@pytest.mark.fake_llm(["of the class"], model="of the class")
class TestIt:
    def test_class(self, fake_llm):
        assert (ask(), fake_llm.calls[0].response.body.count(b"of the class")) == ("of the class", 2)

    @pytest.mark.fake_llm(["of the function"])
    def test_function(self, fake_llm):
        assert (ask(), fake_llm.calls[0].response.body.count(b"of the class")) == ("of the function", 1)

    @pytest.mark.fake_llm(model="of the function", on_exhausted="stop")
    def test_options_only(self, fake_llm):
        assert (ask(), fake_llm.calls[0].response.body.count(b"of the function")) == ("of the class", 1)
        assert "fake_llm" in ask()

    @pytest.mark.fake_llm([])
    def test_empty(self):
        ask()

def test_module():
    assert ask() == "of the module"

@pytest.mark.fake_llm(["the closest"])
@pytest.mark.fake_llm(["not this"])
def test_stacked():
    assert ask() == "not this"
""",
        {"passed": 5, "failed": 1},
        (UNSCRIPTED,),
    ),
    "parameters": Case(
        """
@pytest.mark.fake_llm(["Hello"])
@pytest.mark.parametrize("text", ["a", "b", pytest.param("c", marks=pytest.mark.fake_llm(["Ho"]))])
def test_it(text, fake_llm):
    assert ask(text) == ("Ho" if text == "c" else "Hello")
    assert [call.last_user_text for call in fake_llm.calls] == [text]

@pytest.mark.parametrize("text", ["a", pytest.param("b", marks=pytest.mark.fake_llm(["Ho"]))])
def test_marked_alone(text):
    from fake_llm._blocks import opened
    assert len(opened()) == (text == "b")
    if text == "b":
        ask()
""",
        {"passed": 5},
    ),
    "the decorator's parameter is no fixture": Case(
        """
@pytest.mark.fake_llm(["of the marker"])
@intercept(["of the decorator"])
def test_both(fake_llm, request):
    assert (ask(), fake_llm.remaining) == ("of the decorator", 0)
    assert "fake_llm" not in request.fixturenames

@intercept(["of the decorator"])
def test_decorator(fake_llm):
    assert ask() == "of the decorator"
""",
        {"passed": 1, "failed": 1},
        (UNUSED, "*'of the marker'*"),
    ),
    # --- what is wrong fails the test itself, once ---
    "unused": Case(
        """
@pytest.mark.fake_llm(["used", "unused"])
def test_it():
    ask()
""",
        FAILED,
        (UNUSED,),
    ),
    "unused, of the fixture": Case(
        """
def test_it(fake_llm):
    fake_llm.push("unused")
""",
        FAILED,
        (UNUSED,),
    ),
    "unused, not strict": Case(
        """
@pytest.mark.fake_llm(["unused"], strict=False)
def test_unused():
    pass

@pytest.mark.fake_llm(strict=False)
def test_kept():
    ask_in_a_thread()
""",
        {"passed": 2},
    ),
    "unscripted": Case(
        """
@pytest.mark.fake_llm(["a", "b"])
def test_it():
    ask(), ask()
    try:
        ask()
    except Exception:
        pytest.fail("swallowed")
""",
        FAILED,
        (UNSCRIPTED,),
    ),
    "kept": Case(
        """
@pytest.mark.fake_llm
def test_it():
    ask_in_a_thread()
""",
        FAILED,
        (UNSCRIPTED,),
    ),
    "kept, and failed otherwise": Case(
        """
@pytest.mark.fake_llm
def test_it():
    ask_in_a_thread()
    assert "this" == "that"
""",
        FAILED,
        ("E *assert 'this' == 'that'", UNSCRIPTED),
    ),
    "kept, and taken for right": Case(
        """
def test_it(fake_llm):
    ask_in_a_thread()
    fake_llm.failures.clear()
""",
        PASSED,
    ),
    "expected in place": Case(
        """
def test_it(fake_llm):
    with pytest.raises(UnscriptedCallError):
        ask()
    fake_llm.failures.clear()

def test_not_cleared(fake_llm):
    with pytest.raises(UnscriptedCallError):
        ask()
""",
        {"passed": 1, "failed": 1},
        (UNSCRIPTED,),
    ),
    "a function turn that asserts": Case(
        """
@pytest.mark.fake_llm([answer])
def test_it():
    try:
        ask()
    except Exception:
        pytest.fail("swallowed")

def test_fixture(fake_llm):
    fake_llm.default(answer)
    ask()

def test_in_a_thread(fake_llm):
    fake_llm.default(answer)
    ask_in_a_thread()

@pytest.fixture
def own():
    with intercept([answer]) as fake:
        yield fake

def test_own_fixture(own):
    ask()

@pytest.mark.xfail(raises=AssertionError, strict=True)
def test_expected(own):
    ask()
""",
        {"failed": 4, "xfailed": 1},
        (ASSERTED, '>       assert call.last_user_text == "Ho"'),
    ),
    "failed otherwise": Case(
        """
@pytest.mark.fake_llm(["unused"])
def test_it():
    assert "this" == "that"
""",
        FAILED,
        ("E *assert 'this' == 'that'",),
    ),
    # --- outcomes of pytest ---
    "skips": Case(
        """
@pytest.mark.fake_llm(["unused"])
def test_inside():
    pytest.skip("so")

@pytest.mark.skip
@pytest.mark.fake_llm(["unused"])
def test_mark():
    pass

@pytest.mark.skip
@pytest.mark.fake_llm([None])
def test_wrong_script():
    pass

@pytest.mark.fake_llm
def test_after_a_failure():
    ask_in_a_thread()
    pytest.skip("so")

@pytest.fixture
def skipping():
    pytest.skip("so")

@pytest.mark.fake_llm(["unused"])
def test_fixture(skipping):
    pass

@unittest.skip("so")
@pytest.mark.fake_llm(["unused"])
class TestIt(unittest.TestCase):
    def test_it(self):
        pass

class TestInside(unittest.TestCase):
    @pytest.mark.fake_llm(["unused"])
    def test_it(self):
        self.skipTest("so")
""",
        {"skipped": 7},
    ),
    "expected failures": Case(
        """
@pytest.mark.xfail(strict=True, raises=UnusedReplyError)
@pytest.mark.fake_llm(["unused"])
def test_unused():
    pass

@pytest.mark.xfail(strict=True, raises=UnscriptedCallError)
@pytest.mark.fake_llm
def test_unscripted():
    ask()

@pytest.mark.xfail(strict=True, raises=UnscriptedCallError)
@pytest.mark.fake_llm
def test_kept():
    ask_in_a_thread()

@pytest.mark.xfail(strict=True)
@pytest.mark.fake_llm(["Hello"])
def test_strict():
    ask()

@pytest.mark.xfail
@pytest.mark.fake_llm(["Hello"])
def test_passes():
    ask()

@pytest.mark.fake_llm(["Hello"])
def test_inside():
    pytest.xfail("so")
""",
        {"xfailed": 4, "failed": 1, "xpassed": 1},
    ),
    "pytest.fail": Case(
        """
@pytest.mark.fake_llm
def test_kept():
    ask_in_a_thread()
    pytest.fail("so")

@pytest.mark.fake_llm(["unused"])
def test_unused():
    pytest.fail("so")
""",
        {"failed": 2},
        ("E *Failed: so",),
    ),
    # --- scripts that can't be one ---
    "a wrong script": Case(
        """
@pytest.mark.fake_llm([None])
def test_it():
    pass

def test_next():
    pass
""",
        {"errors": 1, "passed": 1},
        (
            "test_*.py:*: the script of test_it can't be one.",
            "A script got None, which can't be a turn.",
            "Write Json(None) for JSON, or a str for text.",
        ),
    ),
    "two arguments": Case(
        """
@pytest.mark.fake_llm("a", "b")
def test_it():
    pass
""",
        ERROR,
        (
            "The marker got 2 arguments: 'a', 'b'.",
            "Its one argument is the script, a list of turns; options are named.",
            "Write @pytest.mark.fake_llm(['a', 'b']).",
        ),
    ),
    "an unknown option": Case(
        """
@pytest.mark.fake_llm(["a"], stict=False)
class TestIt:
    def test_it(self, fake_llm):
        pass
""",
        ERROR,
        ("There is no option stict=False.", "Write strict=."),
    ),
    # --- fixtures ---
    "a fixture that calls": Case(
        """
@pytest.fixture
def greeting():
    return ask()

@pytest.mark.fake_llm(["Hello", "Bye"])
def test_it(greeting):
    assert (greeting, ask()) == ("Hello", "Bye")
""",
        PASSED,
    ),
    "a fixture that calls too often": Case(
        """
@pytest.fixture
def greeting(fake_llm):
    yield ask()

def test_it(greeting):
    pass

def test_again(greeting):
    pass

@pytest.mark.fake_llm(["Hello"])
def test_scripted(greeting):
    assert greeting == "Hello"
""",
        {"errors": 2, "passed": 1},
        (UNSCRIPTED,),
    ),
    "a fixture that swallows": Case(
        """
@pytest.fixture
def greeting(fake_llm):
    ask_in_a_thread()
    raise LookupError("so")

def test_it(greeting):
    pass
""",
        ERROR,
        ("E *LookupError: so", UNSCRIPTED),
    ),
    "setup_method and teardown_method": Case(
        """
@pytest.mark.fake_llm(["a", "b"], default="c")
class TestIt:
    def setup_method(self):
        assert ask() == "a"

    def test_it(self):
        assert ask() == "b"

    def teardown_method(self):
        assert ask() == "c"
""",
        PASSED,
    ),
    "a teardown that calls": Case(
        """
torn = []

@pytest.fixture(scope="module")
def first():
    yield
    torn.append("module")

@pytest.fixture
def second(first):
    yield
    torn.append("function")

@pytest.fixture
def late(second, fake_llm):
    yield
    ask()

@pytest.fixture
def late_in_a_thread(second, fake_llm):
    yield
    ask_in_a_thread()

def test_it(late):
    pass

def test_in_a_thread(late_in_a_thread):
    pass

def test_failed(late):
    assert "this" == "that"

def test_torn_down():
    assert torn == ["function", "function", "function"]

@pytest.mark.fake_llm(default="Bye")
def test_answered(late):
    pass
""",
        {"passed": 4, "failed": 1, "errors": 3},
        (UNSCRIPTED, "E *RuntimeError: went on: Call 0*"),
    ),
    "a block of a fixture's own": Case(
        """
torn = []

@pytest.fixture
def before():
    yield
    torn.append("before")

@pytest.fixture
def own(before):
    with intercept(["Hello"]) as fake:
        yield fake

def test_it(own):
    assert ask() == "Hello"

def test_unscripted(own):
    ask(), ask()

def test_failed(own):
    assert "this" == "that"

def test_skipped(own):
    pytest.skip("so")

def test_unused(own):
    pass

def test_kept(own):
    ask()
    ask_in_a_thread()

def test_both(own):
    ask()
    ask_in_a_thread()
    ask()

def test_torn_down(own):
    assert len(torn) == 7
    ask()
""",
        {"passed": 4, "failed": 3, "skipped": 1, "errors": 2},
        (UNSCRIPTED, UNUSED),
    ),
    "a block of a module's fixture": Case(
        """
@pytest.fixture(scope="module")
def own():
    with intercept(["Hello"]) as fake:
        yield fake

@pytest.mark.fake_llm(["of the test"])
def test_inner(own):
    assert (ask(), len(own.calls)) == ("of the test", 0)

def test_outer(own):
    assert ask() == "Hello"

def test_unscripted(own):
    ask()

def test_after(own):
    pass
""",
        {"passed": 3, "failed": 1},
        (UNSCRIPTED,),
    ),
    "a block of a class's fixture, with a failure kept": Case(
        """
@pytest.fixture(scope="class")
def own():
    with intercept() as fake:
        yield fake

@pytest.mark.usefixtures("own")
class TestIt:
    def test_unscripted(self):
        ask()

    def test_kept(self):
        ask_in_a_thread()

def test_after():
    pass
""",
        {"passed": 2, "failed": 1, "errors": 1},
        (UNSCRIPTED, "*in thread Thread-*"),
    ),
    "a module's fixture that fails": Case(
        """
@pytest.fixture(scope="module")
def own():
    with intercept():
        yield ask()

def test_it(own):
    pass

def test_again(own):
    pass
""",
        {"errors": 2},
        (UNSCRIPTED,),
    ),
    "a fake that a fixture mounts": Case(
        """
@pytest.fixture
def client():
    with httpx.Client(verify=False) as client, FakeLLM(["Hello"]).mount(client):
        yield client

def ask_by(client):
    return read(client.post("https://api.openai.com/v1/chat/completions", json=body("Hi")))

def test_it(client):
    assert ask_by(client) == "Hello"

def test_unscripted(client):
    ask_by(client)
    ask_by(client)

def test_failed(client):
    assert "this" == "that"

def test_unused(client):
    pass

@pytest.fixture
def late(client):
    yield
    ask_by(client)

def test_late(client, late):
    ask_by(client)
""",
        {"passed": 3, "failed": 2, "errors": 2},
        (UNSCRIPTED, UNUSED, "E *RuntimeError: went on: Call 1*"),
    ),
    "a fake that a module's fixture mounts": Case(
        """
@pytest.fixture(scope="module")
def client():
    with httpx.Client(verify=False) as client, FakeLLM(["Hello"]).mount(client):
        yield client

def ask_by(client):
    return read(client.post("https://api.openai.com/v1/chat/completions", json=body("Hi")))

def test_it(client):
    assert ask_by(client) == "Hello"

def test_unscripted(client):
    ask_by(client)

def test_after(client):
    pass

def test_swallowed(client):
    try:
        ask_by(client)
    except BaseException:
        pass

def test_after_all(client):
    pass

@pytest.fixture
def late(client):
    yield
    ask_by(client)

def test_late(late):
    pass

def test_last(client):
    pass
""",
        {"passed": 5, "failed": 2, "errors": 1},
        (UNSCRIPTED, "E *RuntimeError: went on: Call 3*"),
    ),
    "turns that a module's fixture has left over": Case(
        """
@pytest.fixture(scope="module")
def client():
    with httpx.Client(verify=False) as client, FakeLLM(["Hello"]).mount(client):
        yield client

def test_it(client):
    pass

def test_again(client):
    pass
""",
        {"passed": 2, "errors": 1},
        (UNUSED,),
    ),
    "a transport that a module has": Case(
        """
fake = FakeLLM()
client = httpx.Client(transport=fake.httpx_transport())

def ask_by_it():
    return read(client.post("https://api.openai.com/v1/chat/completions", json=body("Hi")))

def test_unscripted():
    ask_by_it()

def test_swallowed():
    try:
        ask_by_it()
    except BaseException:
        pass

def test_after():
    pass

@pytest.fixture
def late():
    yield
    ask_by_it()

def test_late(late):
    pass

def test_pushed():
    fake.push("Hello", "left")
    assert ask_by_it() == "Hello"
""",
        {"passed": 3, "failed": 2, "errors": 1},
        (UNSCRIPTED, "E *RuntimeError: went on: Call 2*"),
    ),
    "a mount without with": Case(
        """
def ask_by(client):
    try:
        return read(client.post("https://api.openai.com/v1/chat/completions", json=body("Hi")))
    except BaseException:
        pass

def test_unmounted():
    client = httpx.Client(verify=False)
    mounted = FakeLLM().mount(client)
    ask_by(client)
    mounted.unmount()

def test_in_place():
    client = httpx.Client(verify=False)
    FakeLLM().mount(client)
    ask_by(client)

def test_transport():
    ask_by(httpx.Client(transport=FakeLLM().httpx_transport()))

def test_many():
    for _ in range(9):
        client = httpx.Client(verify=False)
        mounted = FakeLLM([] if not _ else ["Hello"]).mount(client)
        ask_by(client)
        mounted.unmount()

def test_failed():
    test_unmounted()
    assert "this" == "that"

def test_skipped():
    test_unmounted()
    pytest.skip("so")

def test_checked():
    fake = FakeLLM()
    ask_by(httpx.Client(transport=fake.httpx_transport()))
    with pytest.raises(UnscriptedCallError):
        fake.check()

def test_judged():
    client = httpx.Client(verify=False)
    with pytest.raises(UnscriptedCallError):
        with FakeLLM().mount(client):
            ask_by(client)

def test_forgotten():
    fake = FakeLLM()
    ask_by(httpx.Client(transport=fake.httpx_transport()))
    fake.failures.clear()

def test_not_strict():
    ask_by(httpx.Client(transport=FakeLLM(strict=False).httpx_transport()))

def test_left_over():
    FakeLLM(["Hello"]).mount(httpx.Client(verify=False))

def test_of_a_block():
    with intercept(["Hello"]) as fake:
        fake.mount(client := httpx.Client(verify=False))
        assert ask_by(client) == "Hello"

class TestIt(unittest.TestCase):
    def test_it(self):
        test_unmounted()
""",
        {"passed": 6, "failed": 6, "skipped": 1},
        (UNSCRIPTED,),
    ),
    "a setup that is skipped before ours": Case(
        """
def test_it():
    pass

@pytest.mark.fake_llm(["Hello"])
def test_marked(fake_llm):
    pass
""",
        {"skipped": 2},
        conftest="""
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    pytest.skip("so")
    yield
""",
        options=("-p", "no:logging"),  # it fails as well (pytest 9.2, 2026-11)
    ),
    "unittest's expected failures": Case(
        """
@pytest.mark.fake_llm(["Hello"])
class TestIt(unittest.TestCase):
    @unittest.expectedFailure
    def test_unused(self):
        pass

    @unittest.expectedFailure
    def test_kept(self):
        ask()
        ask_in_a_thread()

    @unittest.expectedFailure
    def test_unscripted(self):
        ask(), ask()

    @unittest.expectedFailure
    def test_unexpected(self):
        ask()

@unittest.expectedFailure
class TestThat(unittest.TestCase):
    @pytest.mark.fake_llm(["Hello"])
    def test_unused(self):
        pass

    def test_mounted(self):
        client = httpx.Client(verify=False)
        FakeLLM().mount(client)
        try:
            client.post("https://api.openai.com/v1/chat/completions", json=body("Hi"))
        except BaseException:
            pass

class TestAsync(unittest.IsolatedAsyncioTestCase):
    @unittest.expectedFailure
    @pytest.mark.fake_llm(["Hello"])
    async def test_unused(self):
        pass

    @unittest.expectedFailure
    async def test_unexpected(self):
        pass
""",
        {"xfailed": 6, "failed": 2},
        ("*Unexpected success*",),
    ),
    # --- subtests ---
    "subtests": Case(
        """
@pytest.mark.fake_llm(["a", "b"])
def test_it(subtests):
    for text in "ab":
        with subtests.test(text):
            assert ask() == text

@pytest.mark.fake_llm(["a"])
def test_fails(subtests):
    for text in "ab":
        with subtests.test(text):
            assert ask() == text
""",
        {"passed": 1, "failed": 2},
        ("SUBFAILED*test_fails*UnscriptedCallError*", "FAILED*test_fails*contains 1 failed subtest*"),
    ),
    # --- unittest ---
    "unittest": Case(
        """
@pytest.mark.fake_llm(["Hello"])
class TestIt(unittest.TestCase):
    def test_it(self):
        assert ask() == "Hello"

    def test_unused(self):
        pass

    def test_unscripted(self):
        ask()
        try:
            ask()
        except Exception:
            pytest.fail("swallowed")

    def test_kept(self):
        ask()
        ask_in_a_thread()

    def test_kept_and_failed(self):
        ask()
        ask_in_a_thread()
        self.assertEqual("this", "that")

    @pytest.mark.fake_llm([answer])
    def test_function(self):
        ask()

    @pytest.mark.fake_llm([None])
    def test_wrong(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual("this", "that")

class TestSetUp(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _fake(self, fake_llm):
        self.fake = fake_llm
        fake_llm.push("a", "b", "c")

    def setUp(self):
        assert ask() == "a"

    def tearDown(self):
        assert ask() == "c"

    def test_it(self):
        assert (ask(), len(self.fake.calls)) == ("b", 2)

class TestAsync(unittest.IsolatedAsyncioTestCase):
    @pytest.fixture(autouse=True)
    def _fake(self, fake_llm):
        self.fake = fake_llm

    async def test_it(self):
        self.fake.push("Hello")
        assert await ask_async() == "Hello"

    async def test_unscripted(self):
        try:
            await ask_async()
        except Exception:
            pytest.fail("swallowed")
""",
        {"passed": 3, "failed": 6, "errors": 1, "xfailed": 1},
        (UNUSED, UNSCRIPTED, ASSERTED, "E *AssertionError: 'this' != 'that'"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_outcome(name: str, run: Run) -> None:
    case = CASES[name]

    files = {"conftest": f"import pytest\n{case.conftest}"}

    result = run(case.tests, *case.options, files=files, **case.outcomes)

    if case.says:
        result.stdout.fnmatch_lines_random(case.says)
    result.stdout.no_fnmatch_line("*Failed: swallowed*")


def all_outcomes() -> dict[str, int]:
    total: Counter[str] = Counter()
    for case in CASES.values():
        total.update({} if case.conftest else case.outcomes)
    return dict(total)


@pytest.mark.parametrize(
    ("options", "subprocess"),
    [
        pytest.param(("--import-mode=importlib", "--setup-show"), False, id="importlib and setup-show"),
        pytest.param(
            ("-p", "xdist", "-n", "2", "--dist", "loadfile", "--import-mode=append"),
            True,
            id="xdist and append",
            marks=pytest.mark.skipif(not has("pytest-xdist"), reason="needs pytest-xdist"),
        ),
    ],
)
def test_all_in_one_run(options: tuple[str, ...], subprocess: bool, run: Run) -> None:
    files = {f"test_{number}": case.tests for number, case in enumerate(CASES.values()) if not case.conftest}

    result = run("", *options, files=files, subprocess=subprocess, **all_outcomes())

    assert result.stdout.str().count("- LLM calls") >= 30
