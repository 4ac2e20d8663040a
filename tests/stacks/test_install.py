"""The installer: what is replaced, when, and that all of it is put back."""

from __future__ import annotations

import asyncio
import importlib
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import requests

from fake_llm import _install, intercept
from fake_llm._install import uninstall
from fake_llm._model import Response
from fake_llm._stacks import STACKS
from stacks._support import HOST, URL, Refused, Scripted, block, enter, find, known, leave, refuse

SOURCE = Path(__file__).resolve().parents[2] / "src"
OK = Response(200, body=b"ok")

PATCHED: list[tuple[Any, str]] = [
    (httpx.Client, "_transport_for_url"),
    (httpx.AsyncClient, "_transport_for_url"),
    (httpx.HTTPTransport, "handle_request"),
    (httpx.AsyncHTTPTransport, "handle_async_request"),
    (requests.Session, "get_adapter"),
    (socket, "getaddrinfo"),
    (socket, "gethostbyname"),
    (socket, "gethostbyname_ex"),
    (socket.socket, "connect"),
    (socket.socket, "connect_ex"),
    (asyncio.BaseEventLoop, "getaddrinfo"),
]


def state() -> list[Any]:
    return [vars(owner).get(attribute) for owner, attribute in PATCHED]


@pytest.fixture(autouse=True)
def nothing_stays():
    before = state()
    yield
    assert all(now is then for now, then in zip(state(), before, strict=True))
    assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("fake_llm")]


def in_a_process(code: str) -> str:
    """Runs code that has imported nothing yet, with the helpers of these tests in reach."""
    paths = [str(SOURCE), str(Path(__file__).resolve().parents[1])]
    start = f"import sys; sys.path[:0] = {paths!r}\nfrom stacks._support import *\n"
    start += "OK = Response(200, body=b'ok')\n"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", start + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_block_replaces_and_restores_by_identity():
    before = state()
    with block(Scripted(OK)):
        assert not any(now is then for now, then in zip(state(), before, strict=True))
    assert all(now is then for now, then in zip(state(), before, strict=True))


def test_the_last_one_out_restores_in_any_order():
    one, two = Scripted(Response(201)), Scripted(Response(202))
    original = httpx.Client._transport_for_url
    enter(one)
    installed = state()
    enter(two)
    assert state() == installed
    leave(one)
    assert httpx.post(URL).status_code == 202
    assert state() == installed
    leave(two)
    assert httpx.Client._transport_for_url is original


def test_replacements_look_like_the_originals():
    name = httpx.Client._transport_for_url.__qualname__
    with block(Scripted(OK)):
        assert httpx.Client._transport_for_url.__qualname__ == name


def test_what_is_only_inherited_is_looked_up_again(monkeypatch: pytest.MonkeyPatch):
    aiohttp = pytest.importorskip("aiohttp")

    async def theirs(connector: Any, *args: Any, **options: Any) -> Any:
        raise OSError("theirs")

    async def call() -> None:
        async with aiohttp.ClientSession() as session:
            await session.get("http://127.0.0.1:9/")

    with intercept():
        pass
    monkeypatch.setattr(aiohttp.BaseConnector, "connect", theirs)
    with intercept(), pytest.raises(OSError, match="theirs"):
        asyncio.run(call())


def test_leaving_more_than_was_entered_says_so():
    with pytest.raises(RuntimeError, match="wasn't entered"):
        uninstall()


def test_what_others_put_over_ours_stays_theirs(monkeypatch: pytest.MonkeyPatch):
    original = requests.Session.get_adapter
    with block(Scripted(OK)) as fake:
        ours = requests.Session.get_adapter

        def theirs(session: Any, url: str) -> Any:
            return ours(session, url)

        monkeypatch.setattr(requests.Session, "get_adapter", theirs)
        assert requests.post(URL).status_code == 200

    assert requests.Session.get_adapter is theirs
    monkeypatch.undo()
    assert requests.Session.get_adapter is ours
    with block(Scripted(OK)):
        assert requests.post(URL).status_code == 200
        assert requests.Session.get_adapter.__wrapped__ is original
    assert requests.Session.get_adapter is original
    assert len(fake.asked) == 1


def test_a_patch_that_cant_be_applied_names_library_version_and_attribute(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(httpx.Client, "_transport_for_url")
    before = state()
    with pytest.raises(RuntimeError) as caught, block(Scripted(OK)):
        raise AssertionError("entered")

    assert str(caught.value) == (
        f"fake_llm can't intercept httpx {httpx.__version__}: type object 'Client' has no attribute '_transport_for_url'\n"
        "Its calls would reach the network. Use a version of httpx that fake_llm supports, or one of fake_llm that supports it."
    )
    assert state() == before
    monkeypatch.undo()
    with block(Scripted(OK)):
        assert httpx.post(URL).status_code == 200


def test_an_owner_that_cant_be_patched_is_an_error_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(requests, "Session", type("Session", (), {}))
    with pytest.raises(RuntimeError, match=f"can't intercept requests {requests.__version__}"), block(Scripted(OK)):
        raise AssertionError("entered")
    monkeypatch.setattr(requests, "Session", dict)  # a built-in class refuses every attribute
    monkeypatch.setattr(
        "fake_llm._stacks.requests.patches", lambda module, find: [(module.Session, "get", lambda old: old)]
    )
    with pytest.raises(RuntimeError, match="can't intercept requests"), block(Scripted(OK)):
        raise AssertionError("entered")


def test_every_stack_has_its_module():
    for name, module in STACKS.items():
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            continue  # a stack imports its library
        assert callable(importlib.import_module(f"fake_llm._stacks.{module}").patches)


LM15 = (
    "library.StdlibTransport().stream(library.TransportRequest('POST', URL)).status",
    "(library.StdlibTransport, library.StdlibAsyncTransport)",
)
POSTED: dict[str, tuple[str, str]] = {
    # By the library: an expression that posts and gives the status, and one for what was replaced.
    "aiohttp": ("__import__('asyncio').run(posted(library))", "(library.TCPConnector,)"),
    "botocore.httpsession": ("sent(library)", "(library.URLLib3Session,)"),
    "dspy._vendor.lm15.transports": LM15,
    "httpx": ("library.post(URL).status_code", "(library.Client, library.HTTPTransport)"),
    "httpx2": ("library.post(URL).status_code", "(library.Client, library.HTTPTransport)"),
    "lm15.transports": LM15,
    "requests": ("library.post(URL).status_code", "(library.Session,)"),
}
POSTING = """
        async def posted(aiohttp):
            async with aiohttp.ClientSession() as session, session.post(URL) as response:
                return response.status
        def sent(httpsession):
            from botocore.awsrequest import AWSRequest
            request = AWSRequest("POST", URL, data=b"{}").prepare()
            request.stream_output = False
            return httpsession.URLLib3Session().send(request).status_code
"""


@pytest.mark.parametrize("name", sorted(STACKS))
def test_a_library_imported_inside_the_block_is_caught(name: str):
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"needs {name.partition('.')[0]}")
    posted, owners = POSTED[name]
    said = in_a_process(f"""{POSTING}
        with block(Scripted(OK)) as fake:
            assert {name!r} not in sys.modules
            import {name} as library
            print({posted}, len(fake.asked), library.__loader__ is library.__spec__.loader, end=" ")
            print(type(library.__loader__).__module__)
        for owner in {owners}:
            held = [value for value in vars(owner).values() if "fake_llm" in getattr(value, "__module__", "")]
            assert not held and not any("fake_llm" in type(finder).__module__ for finder in sys.meta_path)
    """)

    assert said == "200 1 True _frozen_importlib_external"


def test_a_late_import_that_cant_be_patched_says_so():
    pytest.importorskip("requests")
    said = in_a_process("""
        import fake_llm._stacks
        with block(Scripted(OK)):
            import types
            sys.modules["fake_llm._stacks.requests"] = types.SimpleNamespace(patches=lambda module, find: [(module, "no_such", None)])
            try:
                import requests
            except RuntimeError as error:
                print(error)
    """)

    assert said.startswith("fake_llm can't intercept requests ")
    assert "has no attribute 'no_such'" in said


def test_entering_imports_no_library_and_asking_for_a_spec_neither():
    said = in_a_process("""
        import importlib.util
        with block(Scripted(OK)):
            print([name for name in ("httpx", "httpx2", "requests", "urllib3", "asyncio") if name in sys.modules], end=" ")
            print(importlib.util.find_spec("requests").loader.get_filename("requests").endswith("__init__.py"), end=" ")
            print(importlib.util.find_spec("no_such_module"), "requests" in sys.modules)
    """)

    assert said == "[] True None False"


def test_a_library_that_isnt_there_is_an_import_error_as_ever():
    said = in_a_process("""
        sys.path[:] = [path for path in sys.path if "site-packages" not in path]
        with block(Scripted(OK)):
            try:
                import httpx
            except ModuleNotFoundError as error:
                print(error)
    """)

    assert said == "No module named 'httpx'"


@pytest.mark.parametrize("when", ["before", "inside"])
def test_an_alias_of_httpx2_is_patched_once(when: str):
    pytest.importorskip("httpx2")
    said = in_a_process(f"""
        def alias():
            import httpx2
            httpx2.alias_httpx()
            import httpx
            assert httpx is httpx2
            return httpx
        if {when!r} == "before":
            alias()
        with block(Scripted(OK)) as fake:
            httpx = alias()
            print(httpx.post(URL).status_code, fake.asked[0].library, len(fake.seen), end=" ")
            print(hasattr(httpx.Client._transport_for_url.__wrapped__, "__wrapped__"))
    """)

    assert said == "200 httpx2 1 False"


def test_a_module_that_is_reloaded_is_patched_again():
    said = in_a_process("""
        import requests
        with block(Scripted(OK)) as fake:
            for name in [name for name in sys.modules if name.partition(".")[0] == "requests"]:
                del sys.modules[name]
            import requests as again
            assert again is not requests
            print(requests.post(URL).status_code, again.post(URL).status_code, len(fake.asked))
    """)

    assert said == "200 200 2"


def test_an_import_under_way_in_another_thread_is_waited_for():
    said = in_a_process("""
        import threading, time
        import importlib.abc, importlib.machinery
        begun, entered = threading.Event(), threading.Event()

        class Slow(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name != "requests":
                    return None
                spec = importlib.machinery.PathFinder.find_spec(name, path)
                real = spec.loader.exec_module
                def exec_module(module):
                    begun.set()
                    time.sleep(0.1)
                    real(module)
                spec.loader.exec_module = exec_module
                return spec

        sys.meta_path.insert(0, Slow())
        thread = threading.Thread(target=lambda: __import__("requests"))
        thread.start()
        begun.wait()
        with block(Scripted(OK)):
            import requests
            print(requests.post(URL).status_code)
        thread.join()
    """)

    assert said == "200"


def test_threads_that_enter_and_leave_at_once():
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                with block(Scripted(OK)):
                    pass
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert _install._installed.targets == {}


def test_finders_without_find_spec_are_passed_over(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "meta_path", [object(), *sys.meta_path])
    with block(Scripted(OK)):
        finder = sys.meta_path[0]
        assert hasattr(finder.find_spec("requests", None).loader, "exec_module")
        assert finder.find_spec("json", None) is None


def test_a_module_put_in_place_by_hand_is_no_trouble(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with block(Scripted(OK)):
        assert isinstance(sys.modules["requests"], ModuleType)


def test_the_guard_is_under_the_same_count():
    with block(Scripted(OK)):
        with block(Scripted(OK)):
            pass
        with pytest.raises(Refused):
            socket.getaddrinfo(HOST, 443)


def test_an_import_in_this_process_is_caught_and_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "late_library.py").write_text("Session = type('Session', (), {'get_adapter': lambda self, url: url})\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[str] = []
    _install.install(find, known, refuse, {"late_library": lambda: seen.append("imported")})
    try:
        importlib.import_module("late_library")
    finally:
        uninstall()
        sys.modules.pop("late_library", None)

    assert seen == ["imported"]
