"""The calls in the report of a failing test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]

TESTS = """
@pytest.mark.fake_llm(["Hello"])
def test_marker():
    ask("What is asked by the marker?")
    assert 0

def test_fixture(fake_llm):
    fake_llm.push("Hello")
    ask("What is asked by the fixture?")
    assert 0

def test_block():
    with intercept(["Hello"]):
        ask("What is asked in the block?")
    assert 0

@intercept(["Hello"])
def test_decorator():
    ask("What is asked by the decorator?")
    assert 0

@pytest.fixture
def greeting():
    with intercept(["Hello"]):
        ask("What is asked in the setup?")
    raise LookupError

def test_setup(greeting):
    pass

def test_none():
    assert 0

@pytest.mark.fake_llm(["Hello"])
def test_passes():
    ask("What is asked and answered?")
"""
ASKED = ["by the marker", "by the fixture", "in the block", "by the decorator", "in the setup"]


def sections(result: pytest.RunResult) -> int:
    return result.stdout.str().count("- LLM calls")


def test_a_section(run: Run) -> None:
    result = run(TESTS, "-rA", failed=5, errors=1, passed=1)

    assert sections(result) == 5
    for asked in ASKED:
        assert sum(line.strip() == f"user       What is asked {asked}?" for line in result.stdout.lines) == 1
    assert not any(line.strip() == "user       What is asked and answered?" for line in result.stdout.lines)


def test_each_block_has_its_section(run: Run) -> None:
    result = run(
        """
@pytest.fixture(scope="module")
def quiet():
    with intercept(default="a"):
        yield

@pytest.fixture(scope="module")
def outer(quiet):
    with intercept(default="a") as fake:
        yield fake

def test_before(outer):
    ask("What is asked before?")

@pytest.mark.fake_llm(["b"])
def test_it(outer):
    ask("Marker?")
    outer.answer  # of the module, and silent in this test
    for number in range(2):
        with intercept(["c"]):
            ask(f"Block {number}?")
    assert 0

def test_outer(outer):
    ask("What is asked outside?")
    assert 0

def test_many():
    for number in range(20):
        with intercept(["c"]):
            ask(f"Many {number}?")
    assert 0
""",
        passed=1,
        failed=3,
    )

    titles = [line.strip("- ") for line in result.stdout.lines if "- LLM calls" in line]
    assert titles == [
        *(f"LLM calls ({number} of 3)" for number in (1, 2, 3)),
        "LLM calls",
        *(f"LLM calls ({number} of 20)" for number in (16, 17, 18, 19, 20)),
    ]
    asked = [line.split(None, 1)[1] for line in result.stdout.lines if line.strip().startswith("user  ")]
    assert asked == [
        *("Marker?", "Block 0?", "Block 1?"),
        *("What is asked before?", "What is asked outside?"),
        *(f"Many {number}?" for number in (15, 16, 17, 18, 19)),
    ]


def test_what_is_mounted_has_its_section(run: Run) -> None:
    result = run(
        """
@pytest.fixture(scope="module")
def client():
    with httpx.Client(verify=False) as client, FakeLLM(default="a").mount(client):
        yield client

def ask_by(client, text):
    client.post("https://api.openai.com/v1/chat/completions", json=body(text))

def test_before(client):
    ask_by(client, "What is asked before?")

def test_mounted(client):
    ask_by(client, "What is asked of a mount?")
    assert 0

def test_twice():
    fake = FakeLLM(default="a")
    for _ in range(2):
        with fake.mount(client := httpx.Client(verify=False)):
            ask_by(client, "What is asked twice?")
    assert 0

def test_transport():
    ask_by(httpx.Client(transport=FakeLLM(default="a").httpx_transport()), "What is asked of a transport?")
    assert 0

def test_silent(client):
    assert 0
""",
        passed=1,
        failed=4,
    )

    assert sections(result) == 3
    asked = [line.split(None, 1)[1] for line in result.stdout.lines if line.strip().startswith("user  ")]
    assert asked == [
        "What is asked before?",
        "What is asked of a mount?",
        "What is asked twice?",
        "What is asked twice?",
        "What is asked of a transport?",
    ]


def test_no_frames_of_ours_and_where_the_test_is_instead(run: Run, pytester: pytest.Pytester) -> None:
    result = run(
        """
@pytest.mark.fake_llm(["Hello"])
def test_unused():
    pass

@pytest.mark.fake_llm
def test_kept():
    ask_in_a_thread()

@pytest.fixture
def late(fake_llm):
    yield
    ask()

def test_late(late):
    pass
""",
        failed=2,
        passed=1,
        errors=1,
    )

    text = result.stdout.str()
    assert "hidden" not in text
    assert "pytest_plugin.py" not in text
    lines = (pytester.path / "test_it.py").read_text().splitlines()
    for name, error in (
        ("unused", "UnusedReplyError"),
        ("kept", "UnscriptedCallError"),
        ("late", "UnscriptedCallError"),
    ):
        marked = lines.index(f"def test_{name}({'late' if name == 'late' else ''}):") + (name == "late")
        assert f"\ntest_it.py:{marked}: {error}\n" in text


def test_doctests(run: Run) -> None:
    result = run(
        '''
pytestmark = pytest.mark.fake_llm(["Hello"])

def unused():
    """
    >>> 1 + 1
    2
    """

def unscripted():
    """
    >>> ask()
    'Hello'
    >>> ask("And then?")
    """

def wrong():
    """
    >>> ask()
    'Bye'
    """
''',
        "--doctest-modules",
        failed=3,
    )

    text = result.stdout.str()
    assert "src/fake_llm/" not in text
    assert "site-packages" not in text
    result.stdout.fnmatch_lines(
        [
            '* >>> ask("And then?")',
            "fake_llm.UnscriptedCallError: Call 1: *",
            "E   fake_llm.UnusedReplyError: The block ended*",
            "test_it.py:*: UnusedReplyError",
            "Expected:",
            "    'Bye'",
        ]
    )


def test_without_a_call(run: Run) -> None:
    result = run("def test_it(fake_llm):\n    assert 0\n", failed=1)

    assert (
        result.stdout.lines[
            result.stdout.lines.index(next(line for line in result.stdout.lines if "- LLM calls" in line)) + 1
        ]
        == "No calls."
    )


@pytest.mark.parametrize("options", [(), ("--showlocals",), ("--tb=short",)], ids=" ".join)
def test_no_secrets(run: Run, options: tuple[str, ...]) -> None:
    result = run(
        """
SECRET = "-".join(["sk", "secret", "0123456789"])
PLAIN = "-".join(["plainly", "one"])

@pytest.mark.fake_llm(default="a")
def test_it():
    httpx.post("https://api.openai.com/v1/chat/completions", json=body("Hi"), verify=False, headers={"authorization": f"Bearer {SECRET}"})
    google = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    host = "https://generativelanguage.googleapis.com/v1beta/models"
    httpx.post(f"{host}/gemini-3-pro:generateContent?key={SECRET}", json=google, verify=False)
    httpx.get(f"{host}?key={SECRET}", verify=False)
    httpx.get(f"{host}/unknown/path?key={SECRET}&api_key={PLAIN}", verify=False)
""",
        *options,
        failed=1,
    )

    assert sections(result) == 1
    for secret in ("sk-secret-0123456789", "plainly-one"):
        assert secret not in result.stdout.str()


def test_show_capture_hides_it(run: Run) -> None:
    assert sections(run(TESTS, "--show-capture=no", failed=5, errors=1, passed=1)) == 0
