"""The block: entering, leaving, nesting, what it claims, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

import fake_llm
from _asking import ANTHROPIC, ASYNC, OPENAI, SYNC, ask, ask_async, body_of, post
from _capability import has, needs
from fake_llm import FakeLLM, UnscriptedCallError, UnusedReplyError, _blocks, _environment, _install


def patched() -> dict[str, Any]:
    """What blocks replace, as it is now, by identity."""
    import asyncio.base_events
    import socket

    places: list[tuple[Any, str]] = [
        (socket, "getaddrinfo"),
        (socket, "gethostbyname"),
        (socket.socket, "connect"),
        (asyncio.base_events.BaseEventLoop, "getaddrinfo"),
    ]
    for name in ("httpx", "httpx2"):
        if name in sys.modules:
            module = sys.modules[name]
            places += [
                (module.Client, "_transport_for_url"),
                (module.AsyncClient, "_transport_for_url"),
                (module.HTTPTransport, "handle_request"),
                (module.AsyncHTTPTransport, "handle_async_request"),
            ]
    if "requests" in sys.modules:
        places.append((sys.modules["requests"].Session, "get_adapter"))
    return {
        f"{getattr(owner, '__module__', '')} {owner.__name__} {name}": vars(owner).get(name) for owner, name in places
    }


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def finders() -> list[Any]:
    """Those of imports; six, also the copy of it in botocore, adds one of its own when it is first imported."""
    return [finder for finder in sys.meta_path if type(finder).__module__.rpartition(".")[2] != "six"]


@pytest.fixture(autouse=True)
def _leaves_nothing() -> Any:
    """After every test here all is as it was: patches by identity, the environment, the finders."""
    before = patched(), environment(), finders()
    yield
    assert _blocks.opened() == ()
    assert _install._installed._blocks == 0
    assert _environment._blocks == 0
    after = {name: value for name, value in patched().items() if name in before[0]}
    assert all(value is before[0][name] for name, value in after.items())
    assert environment() == before[1]
    assert finders() == before[2]


# --- entering and leaving -----------------------------------------------------------------------


def test_a_block_answers_and_keeps_what_was_asked() -> None:
    with fake_llm.intercept(["Hello"]) as fake:
        assert isinstance(fake, FakeLLM)
        assert ask("Bonjour") == "Hello"
        assert fake.remaining == 0
    assert fake.calls[0].last_user_text == "Bonjour"
    assert len(fake.calls) == 1


def test_an_async_block_answers() -> None:
    async def main() -> None:
        async with fake_llm.intercept(["Hello", "again"]) as fake:
            assert isinstance(fake, FakeLLM)
            assert await ask_async() == "Hello"
            assert ask() == "again"

    asyncio.run(main())


@pytest.mark.parametrize("way", SYNC)
def test_every_sdk_is_answered(way: Callable[[str], str]) -> None:
    with fake_llm.intercept(["Hello there"]) as fake:
        assert way("Bonjour") == "Hello there"
        assert fake.calls[0].last_user_text == "Bonjour"


@pytest.mark.parametrize("way", ASYNC)
def test_every_async_sdk_is_answered(way: Callable[[str], Any]) -> None:
    with fake_llm.intercept(["Hello there"]) as fake:
        assert asyncio.run(way("Bonjour")) == "Hello there"
        assert fake.calls[0].last_user_text == "Bonjour"


def test_every_entry_starts_afresh() -> None:
    block = fake_llm.intercept(["Hello"])
    fakes = []
    for _ in range(3):
        with block as fake:
            assert (len(fake.calls), fake.remaining) == (0, 1)
            assert ask() == "Hello"
        fakes.append(fake)
    assert [len(fake.calls) for fake in fakes] == [1, 1, 1]
    assert len({id(fake) for fake in fakes}) == 3


def test_what_is_added_in_a_block_stays_in_it() -> None:
    block = fake_llm.intercept(["Hello"])
    with block as fake:
        fake.push("pushed")
        fake.when().reply("ruled")
        assert [ask(), ask(), ask()] == ["Hello", "pushed", "ruled"]
    with block as fake:
        assert ask() == "Hello"
        with pytest.raises(UnscriptedCallError):
            ask()
        fake.failures.clear()


def test_leaving_what_was_not_entered_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="a block was left that wasn't entered"):
        fake_llm.intercept().__exit__(None, None, None)


def test_a_block_shows_what_it_is() -> None:
    block = fake_llm.intercept(["Hello"])
    assert repr(block) == "<fake_llm.intercept: 1 turns>"
    with block as fake:
        assert repr(fake) == "<fake_llm.FakeLLM: 1 turn left, 0 calls>"
        ask()


def test_outside_of_blocks_nothing_is_answered() -> None:
    with fake_llm.intercept():
        pass
    with httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(200, text="mine"))) as client:
        assert client.post(OPENAI, json=body_of()).text == "mine"


# --- nesting ------------------------------------------------------------------------------------


def test_the_inner_block_answers_and_the_outer_one_after_it() -> None:
    with fake_llm.intercept(["outer 1", "outer 2"]) as outer:
        assert ask() == "outer 1"
        with fake_llm.intercept(["inner"]) as inner:
            assert ask() == "inner"
        assert ask() == "outer 2"
    assert (len(outer.calls), len(inner.calls)) == (2, 1)


def test_the_inner_block_answers_exhausted_or_not() -> None:
    with fake_llm.intercept(["outer"]) as outer:
        with fake_llm.intercept() as inner:
            with pytest.raises(UnscriptedCallError):
                ask()
            inner.failures.clear()
        assert outer.failures == []
        assert ask() == "outer"


def test_the_outer_block_answers_a_host_that_only_it_claims() -> None:
    with fake_llm.intercept(["outer"], hosts={"llm.test": "openai"}), fake_llm.intercept(["inner"]):
        assert ask(url="https://llm.test/v1/chat/completions") == "outer"
        assert ask() == "inner"


def test_one_object_can_be_entered_while_it_is_open() -> None:
    block = fake_llm.intercept(["Hello"])
    with block as outer:
        with block as inner:
            assert inner is not outer
            assert ask() == "Hello"
            assert (len(outer.calls), len(inner.calls)) == (0, 1)
        assert ask() == "Hello"
        assert (len(outer.calls), len(inner.calls)) == (1, 1)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_blocks_can_be_left_in_any_order(order: tuple[int, ...]) -> None:
    blocks = [fake_llm.intercept([], default=str(number)) for number in range(3)]
    for block in blocks:
        block.__enter__()
    still = {0, 1, 2}
    for number in order:
        assert ask() == str(max(still))
        blocks[number].__exit__(None, None, None)
        still.remove(number)
    assert _install._installed._targets == {}


def test_an_inner_failure_is_the_inner_blocks() -> None:
    with fake_llm.intercept() as outer:
        with pytest.raises(UnusedReplyError), fake_llm.intercept(["unused"]):
            pass
        assert outer.failures == []


# --- clients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_clients_made_before_inside_and_after(library: str) -> None:
    if not has(library):
        pytest.skip(f"needs {library}")
    module = __import__(library)

    def said(client: Any) -> str:
        content: str = client.post(OPENAI, json=body_of()).json()["choices"][0]["message"]["content"]
        return content

    with module.Client() as before:
        with fake_llm.intercept(["1", "2"]):
            with module.Client() as inside:
                assert [said(before), said(inside)] == ["1", "2"]
            kept = module.Client()
        with fake_llm.intercept(["3", "4"]), kept:
            assert [said(before), said(kept)] == ["3", "4"]
        with module.Client() as after, fake_llm.intercept(["5"]):
            assert said(after) == "5"


@needs("openai")
def test_an_sdk_client_survives_its_block() -> None:
    import openai

    def said(client: Any) -> str:
        answer = client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}])
        content: str = answer.choices[0].message.content
        return content

    with openai.OpenAI(api_key="sk-mine") as before:
        with fake_llm.intercept(["1"]):
            assert said(before) == "1"
        with fake_llm.intercept(["2"]) as fake:
            assert said(before) == "2"
    assert fake.calls[0].headers["authorization"] == "Bearer sk-mine"


def test_other_hosts_are_reached() -> None:
    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"local")

        def log_message(self, *args: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Hello)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
        with fake_llm.intercept(["Hello"]) as fake:
            assert httpx.get(url).text == "local"
            assert ask() == "Hello"
        assert len(fake.calls) == 1
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# --- the environment ----------------------------------------------------------------------------

KEYS = [
    ("openai", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("groq", "GROQ_API_KEY"),
    ("google.genai", "GEMINI_API_KEY"),
]
DISTRIBUTION = {"google.genai": "google-genai"}


@pytest.mark.parametrize(("module", "name"), KEYS)
def test_no_key_is_needed_inside_and_none_is_left(module: str, name: str) -> None:
    if not has(DISTRIBUTION.get(module, module)):
        pytest.skip(f"needs {module}")
    __import__(module)
    assert name not in os.environ
    with fake_llm.intercept():
        assert os.environ[name]
        with fake_llm.intercept():
            assert os.environ[name]
        assert os.environ[name]
    assert name not in os.environ


@needs("openai")
def test_a_users_own_key_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import openai

    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    with fake_llm.intercept(["Hello"]) as fake:
        assert os.environ["OPENAI_API_KEY"] == "sk-mine"
        openai.OpenAI().chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}])
    assert os.environ["OPENAI_API_KEY"] == "sk-mine"
    assert fake.calls[0].headers["authorization"] == "Bearer sk-mine"
    monkeypatch.delenv("OPENAI_API_KEY")


@needs("anthropic")
def test_another_credential_does_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    __import__("anthropic")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "mine")
    with fake_llm.intercept():
        assert "ANTHROPIC_API_KEY" not in os.environ


@needs("openai")
def test_a_key_that_the_code_sets_inside_stays() -> None:
    __import__("openai")
    with fake_llm.intercept():
        os.environ["OPENAI_API_KEY"] = "sk-of-the-code"
    assert os.environ.pop("OPENAI_API_KEY") == "sk-of-the-code"


@needs("openai")
def test_the_environment_can_be_left_alone() -> None:
    import openai

    with fake_llm.intercept(env=False):
        assert "OPENAI_API_KEY" not in os.environ
        with pytest.raises(openai.OpenAIError):
            openai.OpenAI()


@pytest.mark.parametrize(
    ("variable", "base", "url"),
    [
        ("OPENAI_BASE_URL", "http://llm.corp.example:8080/base", "http://llm.corp.example:8080/base/chat/completions"),
        ("OPENAI_BASE_URL", "https://llm.corp.example/v1/", "https://llm.corp.example/v1/chat/completions"),
        ("OPENAI_BASE_URL", "http://localhost:9999", "http://localhost:9999/v1/chat/completions"),
    ],
)
def test_a_base_url_of_the_environment_is_claimed(
    monkeypatch: pytest.MonkeyPatch, variable: str, base: str, url: str
) -> None:
    monkeypatch.setenv(variable, base)
    with fake_llm.intercept(["Hello"]) as fake:
        assert ask(url=url) == "Hello"
        assert fake.calls[0].provider == "openai"
    monkeypatch.delenv(variable)


@needs("anthropic")
def test_an_sdk_follows_its_base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    import anthropic

    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/proxy")
    with fake_llm.intercept(["Hello"]) as fake:
        anthropic.Anthropic().messages.create(
            model="claude-sonnet-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        )
    assert (fake.calls[0].provider, fake.calls[0].url) == ("anthropic", "http://127.0.0.1:1/proxy/v1/messages")


# --- hosts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "url"),
    [
        ("llm.test", "https://llm.test/v1/chat/completions"),
        ("llm.test", "http://llm.test/chat/completions"),
        ("llm.test:8080/base", "http://llm.test:8080/base/chat/completions"),
        ("https://llm.test/base/", "https://llm.test/base/v1/chat/completions"),
        ("LLM.test", "https://llm.TEST:443/v1/chat/completions"),
        ("localhost:8000", "http://localhost:8000/v1/chat/completions"),
    ],
)
def test_hosts_of_ones_own_are_claimed(place: str, url: str) -> None:
    with fake_llm.intercept(["Hello"], hosts={place: "openai"}) as fake:
        assert ask(url=url) == "Hello"
        assert fake.calls[0].provider == "openai"


def test_two_providers_can_share_a_host() -> None:
    hosts = {"llm.test/a": "anthropic", "llm.test/o": "openai"}
    with fake_llm.intercept(["Hello", "Hello"], hosts=hosts) as fake:
        assert ask(url="https://llm.test/o/v1/chat/completions") == "Hello"
        assert httpx.post("https://llm.test/a/v1/messages", json=body_of(max_tokens=9)).json()["content"] == [
            {"type": "text", "text": "Hello"}
        ]
    assert [call.provider for call in fake.calls] == ["openai", "anthropic"]


def test_one_script_serves_several_vendors() -> None:
    with fake_llm.intercept(["one", "two"]):
        assert ask() == "one"
        assert post(url=ANTHROPIC, max_tokens=9).json()["content"] == [{"type": "text", "text": "two"}]


# --- when entering fails ------------------------------------------------------------------------


def test_a_library_that_cannot_be_patched_is_an_error_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    original = httpx.Client._transport_for_url
    monkeypatch.delattr(httpx.Client, "_transport_for_url")

    with pytest.raises(RuntimeError) as caught:
        fake_llm.intercept().__enter__()

    assert str(caught.value) == (
        f"fake_llm can't intercept httpx {httpx.__version__}: type object 'Client' has no attribute '_transport_for_url'\n"
        "Its calls would reach the network. Use a version of httpx that fake_llm supports, or one of fake_llm that supports it."
    )
    httpx.Client._transport_for_url = original  # type: ignore[method-assign]
    with fake_llm.intercept(["Hello"]):
        assert ask() == "Hello"


def test_a_block_that_cannot_be_entered_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any) -> None:
        raise RuntimeError("a library that can't be patched")

    fake = fake_llm.FakeLLM()
    with monkeypatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", "https://first.test/v1")
        patch.setattr(_blocks._install, "install", refused)
        with pytest.raises(RuntimeError, match="can't be patched"):
            _blocks.enter(fake)
    assert _environment._blocks == 0
    assert _blocks.opened() == ()
    assert not fake.claims("POST", "https://first.test/v1/chat/completions")


# --- processes ----------------------------------------------------------------------------------


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(fake_llm.__file__).parents[1]), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_importing_loads_no_http_library() -> None:
    run("""
        import sys, fake_llm
        names = {"httpx", "httpx2", "requests", "urllib3", "aiohttp", "botocore", "openai", "asyncio"}
        assert not names & set(sys.modules), names & set(sys.modules)
        with fake_llm.intercept():
            pass
        assert not names & set(sys.modules), names & set(sys.modules)
    """)


@needs("openai")
def test_an_sdk_that_is_imported_first_inside_the_block() -> None:
    run("""
        import os, sys, fake_llm

        with fake_llm.intercept(["Hello"]) as fake:
            import openai
            answer = openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}])
            assert answer.choices[0].message.content == "Hello"
        assert len(fake.calls) == 1
        assert "OPENAI_API_KEY" not in os.environ
        assert not [finder for finder in sys.meta_path if "fake_llm" in type(finder).__module__]
    """)


def test_a_library_that_is_imported_first_inside_the_block() -> None:
    run("""
        import fake_llm

        with fake_llm.intercept(["Hello"]):
            import httpx
            before = httpx.Client._transport_for_url
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
            assert httpx.post("https://api.openai.com/v1/chat/completions", json=body).status_code == 200
        assert httpx.Client._transport_for_url is not before
        assert httpx.Client._transport_for_url.__module__ == "httpx._client"
        assert not hasattr(httpx.Client._transport_for_url, "__wrapped__")
    """)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_in_the_block_too_and_harms_no_parent() -> None:
    run("""
        import os, httpx, fake_llm

        def ask():
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
            answer = httpx.post("https://api.openai.com/v1/chat/completions", json=body)
            return answer.json()["choices"][0]["message"]["content"]

        original = httpx.Client._transport_for_url
        with fake_llm.intercept(["Hello"]) as fake:
            child = os.fork()
            if not child:
                os._exit(0 if ask() == "Hello" and fake.remaining == 0 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert fake.remaining == 1
            assert ask() == "Hello"
        assert httpx.Client._transport_for_url is original
    """)
