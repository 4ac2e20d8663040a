"""What every stack does, whatever its library: one list of cases for all of them.

What is particular to a library is in a file of its own beside this one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, product
from pathlib import Path
from typing import Any

import anyio
import pytest

from _ids import shown
from fake_llm._model import Fault, Pause, Response, Step
from fake_llm._stacks import STACKS
from stacks._libraries import LIBRARIES, Got, Library, each, run
from stacks._pairwise import pairwise
from stacks._servers import BROKEN, full, gone, served, unknown, untrusted
from stacks._support import HOST, URL, Refused, Scripted, block, enter, leave

# httpx leaves generators of its own to the collector; on trio these are warned of.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'httpx:ResourceWarning")

OK = Response(200, (("content-type", "application/json"), ("x-one", "1")), b'{"ok":true}')
BIG = bytes(range(256)) * 20 * 1024  # 5 MB
LOCAL = "127.0.0.1"


def replaced() -> dict[str, Any]:
    """What the stacks of all libraries that are imported replace, and what stands there now."""
    places = {}
    for name, stack in STACKS.items():
        if name in sys.modules:
            patches = importlib.import_module(f"fake_llm._stacks.{stack}").patches(sys.modules[name], lambda *_: None)
            for owner, attribute, _ in patches:
                places[f"{name}: {owner!r}.{attribute}"] = vars(owner).get(attribute)
    return places


def descriptors() -> set[str]:
    """What this process has open: files, sockets, pipes."""
    found = set()
    for number in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.add(f"{number} {number.readlink()}")
    return found


def found_by() -> list[Any]:
    """The finders of imports, but that of six, which adds it when botocore first needs it."""
    return [finder for finder in sys.meta_path if type(finder).__module__ != "six"]


@pytest.fixture(autouse=True)
def _puts_everything_back() -> Iterator[None]:
    for library in LIBRARIES:
        importlib.import_module("botocore.httpsession" if library.name == "botocore" else library.name)
    before, finders = replaced(), found_by()
    yield
    after = replaced()
    assert after.keys() == before.keys()
    assert [place for place in before if after[place] is not before[place]] == []
    assert found_by() == finders


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A real server that answers `real`."""
    with served() as url:
        yield url


@contextlib.asynccontextmanager
async def opened(library: Library, **options: Any) -> Any:
    """A client, closed at the end."""
    client = await library.made(**options)
    try:
        yield client
    finally:
        await library.close(client)


async def read(library: Library, got: Got) -> list[bytes]:
    """All pieces of a stream."""
    try:
        return [piece async for piece in library.pieces(got) if piece]
    finally:
        await library.leave(got)


class Watched(Pause):
    """A pause that takes no time, and notes what the client had seen when its turn came."""

    def __init__(self, note: Callable[[], Any]) -> None:
        object.__setattr__(self, "_note", note)

    @property
    def seconds(self) -> float:  # type: ignore[override]
        self._note()
        return 0.0


# --- what is asked and what is answered ------------------------------------------------------------


@each()
async def test_a_request_arrives_as_it_was_sent(library: Library) -> None:
    url = f"https://{HOST}/model/a%2Fb/chat?q=a%20b&empty="
    async with opened(library, connect=3, read=5) as client:
        with block(Scripted(OK)) as fake:
            got = await library.send(client, url, "é\x00".encode())

    assert (got.status, got.headers["X-One"], got.body) == (200, "1", OK.body)
    [request] = fake.asked
    assert (request.method, request.url, request.library) == ("POST", url, library.name)
    assert request.body == "é\x00".encode()
    assert (request.timeouts.connect, request.timeouts.read, request.timeouts.total) == (3, 5, None)
    assert (request.host, request.path_part(2)) == (HOST, "a/b")
    assert request.headers.get("content-length", "3") == "3"


@each("no timeouts")
async def test_a_client_without_timeouts_has_none(library: Library) -> None:
    async with opened(library) as client:
        with block(Scripted(OK)) as fake:
            await library.send(client)

    assert (fake.asked[0].timeouts.connect, fake.asked[0].timeouts.read) == (None, None)


@each()
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
async def test_every_method(library: Library, method: str) -> None:
    steps = Response(200, OK.headers, steps=(b"a", b"b"))
    async with opened(library) as client:
        with block(Scripted(OK, steps)) as fake:
            whole = await library.send(client, body=b"", method=method)
            streamed = await library.send(client, body=b"", method=method)

    assert [(request.method, request.body) for request in fake.asked] == [(method, b"")] * 2
    assert (whole.headers["x-one"], streamed.headers["x-one"]) == ("1", "1")
    assert [whole.body, streamed.body] == ([b"", b""] if method == "HEAD" else [OK.body, b"ab"])


@each()
@pytest.mark.parametrize("status", [201, 204, 304, 400, 429, 503, 529])
async def test_every_kind_of_status(library: Library, status: int) -> None:
    async with opened(library) as client:
        with block(Scripted(Response(status, (("x-one", "1"),)))):
            got = await library.send(client)

    assert (got.status, got.headers["x-one"], got.body) == (status, "1", b"")


@each("multipart")
async def test_a_multipart_upload_arrives_whole(library: Library) -> None:
    async with opened(library) as client:
        with block(Scripted(OK)) as fake:
            await library.send(client, upload=b"\x00\xffinside\r\n" * 10_000)

    [request] = fake.asked
    boundary = request.headers["content-type"].partition("boundary=")[2].strip('"').encode()
    assert request.headers["content-type"].startswith("multipart/form-data")
    assert request.body.endswith(b"--" + boundary + b"--\r\n")
    assert b"\x00\xffinside\r\n" * 10_000 in request.body
    assert b'name="k"' in request.body
    assert b'filename="a.bin"' in request.body


@each()
async def test_a_body_of_5_mb_arrives_whole(library: Library) -> None:
    async with opened(library) as client:
        with block(Scripted(OK)) as fake:
            await library.send(client, body=BIG)

    assert fake.asked[0].body == BIG


@each()
async def test_a_body_that_was_read_can_be_read_again(library: Library) -> None:
    async with opened(library) as client:
        with block(Scripted(OK, Response(200, steps=(b"a", b"b")))):
            for expected in (OK.body, b"ab"):
                got = await library.send(client)
                assert got.body == expected
                assert await library.again(got) == expected


# --- streams ---------------------------------------------------------------------------------------


@each()
async def test_each_step_is_a_piece_of_its_own_and_is_seen_before_the_next_is_made(library: Library) -> None:
    seen: list[bytes] = []
    made: list[list[bytes]] = []
    steps: list[Step] = []
    for letter in (b"a", b"bc", b"d" * 1000):
        steps += [Watched(lambda: made.append(list(seen))), letter]
    async with opened(library) as client:
        with block(Scripted(Response(200, steps=(*steps, Watched(lambda: made.append(list(seen))))))):
            got = await library.open(client)
            async for piece in library.pieces(got):
                seen.append(piece)  # it is looked at meanwhile
            await library.leave(got)

    assert seen == [b"a", b"bc", b"d" * 1000]
    assert made == [[], [b"a"], [b"a", b"bc"], [b"a", b"bc", b"d" * 1000]]


@each(modes="asyncio uvloop trio")
async def test_a_reader_that_does_other_things_in_between_sees_every_step_before_a_fault(library: Library) -> None:
    for kind in ("disconnect", "read_timeout", "total_timeout"):
        seen: list[bytes] = []
        async with opened(library) as client:
            with block(Scripted(Response(200, steps=(b"a", b"b", b"c", Fault(kind))))):
                got = await library.open(client)
                with pytest.raises(library.error(library.middle[kind])):
                    async for piece in library.pieces(got):
                        for _ in range(5):
                            await anyio.sleep(0)
                        seen.append(piece)
                await library.leave(got)

        assert seen == [b"a", b"b", b"c"]


@each()
async def test_a_stream_that_is_left_early_is_let_go(library: Library) -> None:
    async with opened(library) as client:
        with block(Scripted(Response(200, steps=(b"a", Pause(30), b"never")), OK)):
            got = await library.open(client)
            pieces = library.pieces(got)
            assert await anext(pieces) == b"a"
            await library.leave(got)
            await pieces.aclose()
            unread = await library.open(client)
            await library.leave(unread)
            assert (await library.send(client)).body == OK.body


@each(modes="asyncio uvloop trio")
@pytest.mark.parametrize(
    "answer",
    [
        Response(200, steps=(b"a", Pause(30), b"never")),
        Response(200, delay=30),
        Fault("connect", delay=30),
        Response(200, steps=(b"a", Fault("disconnect", delay=30))),
    ],
    ids=["a pause", "a late head", "a late fault", "a late fault in the body"],
)
async def test_what_waits_can_be_cancelled(library: Library, answer: Any) -> None:
    async with opened(library) as client:
        with block(Scripted(answer, OK)):
            with anyio.move_on_after(0.02) as scope:
                got = await library.open(client)
                try:
                    async for _ in library.pieces(got):
                        pass
                finally:
                    with anyio.CancelScope(shield=True):
                        await library.leave(got)
            assert scope.cancelled_caught
            assert (await library.send(client)).body == OK.body


# --- bodies, clients and blocks ----------------------------------------------------------------------

BODIES: dict[str, tuple[Response, bytes]] = {
    "whole": (OK, OK.body),
    "empty": (Response(200), b""),
    "no steps": (Response(200, steps=()), b""),
    "empty steps": (Response(200, steps=(b"", b"a", b"", b"b", b"")), b"ab"),
    "one step": (Response(200, steps=(b"data: {}\n\n" * 100,)), b"data: {}\n\n" * 100),
    "a byte a step": (Response(200, steps=tuple(bytes([byte]) for byte in b"data: 1\r\n\r\n")), b"data: 1\r\n\r\n"),
    "5 MB": (Response(200, body=BIG), BIG),
    "5 MB in one step": (Response(200, steps=(BIG,)), BIG),
    "5 MB in pieces": (
        Response(200, steps=tuple(BIG[at : at + 65536] for at in range(0, len(BIG), 65536))),
        BIG,
    ),
}
FACTORS = {
    "body": tuple(BODIES),
    "how": ("read whole", "streamed"),
    "made": ("made before", "made inside", "made after"),
    "blocks": ("one block", "the inner block", "the outer block", "left in another order", "entered twice"),
}
ROWS = pairwise(FACTORS)


def test_the_rows_hold_every_pair() -> None:
    held = {pair for row in ROWS for pair in combinations(row.items(), 2)}
    for one, two in combinations(FACTORS, 2):
        for pair in product(FACTORS[one], FACTORS[two]):
            assert tuple(zip((one, two), pair, strict=True)) in held
    assert len(ROWS) < 60


@contextlib.contextmanager
def blocks(how: str, fake: Scripted) -> Iterator[None]:
    """Blocks of which this one is the one that answers."""
    other = Scripted(Response(599), host=LOCAL)
    match how:
        case "one block":
            with block(fake):
                yield
        case "the inner block":
            with block(other), block(fake):
                yield
        case "the outer block":
            with block(fake), block(Scripted(Response(599), host="other.test")):
                yield
        case "left in another order":
            enter(other)
            enter(fake)
            leave(other)
            try:
                yield
            finally:
                leave(fake)
        case _:
            with block(fake):
                pass
            with block(fake):
                yield


@each()
@pytest.mark.parametrize("row", ROWS, ids=lambda row: ", ".join(row.values()))
async def test_bodies_clients_and_blocks(library: Library, row: dict[str, str], server: str) -> None:
    answer, body = BODIES[row["body"]]
    fake = Scripted(answer, host=LOCAL)

    async def ask() -> bytes:
        if row["how"] == "read whole":
            return (await library.send(client, server)).body
        return b"".join(await read(library, await library.open(client, server)))

    client = await library.made() if row["made"] != "made inside" else None
    if row["made"] == "made before":
        assert await ask() == b"real"  # and a connection to the host is kept open
    with blocks(row["blocks"], fake):
        client = client or await library.made()
        assert await ask() == body
        if row["made"] == "made after":
            await library.close(client)
    if row["made"] == "made after":
        client = await library.made()
    assert await ask() == b"real"
    with blocks(row["blocks"], fake):
        assert await ask() == body
    await library.close(client)

    assert len(fake.asked) == 2


@each()
async def test_the_block_that_is_left_answers_no_more(library: Library) -> None:
    async with opened(library) as client:
        with block(Scripted(Response(201))):
            with block(Scripted(Response(202))):
                assert (await library.send(client)).status == 202
            assert (await library.send(client)).status == 201


# --- which calls are seen --------------------------------------------------------------------------


@each("redirects")
@pytest.mark.parametrize("status", [302, 307])
async def test_redirects_are_followed_within_what_is_claimed_and_out_of_it(
    library: Library, status: int, server: str
) -> None:
    claimed = Response(status, (("location", f"https://{HOST}/moved"),))
    away = Response(status, (("location", server),))
    async with opened(library, follow=True) as client:
        with block(Scripted(claimed, OK, away)) as fake:
            assert (await library.send(client, body=b"again")).body == OK.body
            assert (await library.send(client, body=b"again")).body == b"real"

    sent = ("GET", b"") if status == 302 else ("POST", b"again")
    assert [(request.path, request.method, request.body) for request in fake.asked] == [
        ("/v1/chat", "POST", b"again"),
        ("/moved", *sent),
        ("/v1/chat", "POST", b"again"),
    ]
    assert fake.seen[-1] == (sent[0], server)


@each("redirects")
async def test_redirects_arent_followed_where_the_client_doesnt(library: Library) -> None:
    async with opened(library) as client:
        with block(Scripted(Response(307, (("location", f"https://{HOST}/moved"),)))) as fake:
            assert (await library.send(client)).status == 307

    assert len(fake.asked) == 1


@each("hooks")
async def test_hooks_see_what_they_see_of_a_real_server(library: Library, server: str) -> None:
    moved = Response(307, (("location", server),))
    really: list[str] = []
    async with opened(library, seen=really) as client:
        await library.send(client, server)
    seen: list[str] = []
    async with opened(library, seen=seen, follow=True) as client:
        with block(Scripted(OK, moved, OK, host=LOCAL)):
            await library.send(client, server)
            assert seen == really
            await library.send(client, server)

    assert len(seen) > len(really)


@each()
async def test_a_proxy_in_the_environment_is_never_asked(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with served(lambda connection, over: asked.append("the proxy")) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.rpartition("/v1")[0])
            monkeypatch.setenv(name.lower(), proxy.rpartition("/v1")[0])
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with opened(library, trust=True) as client:
            with block(Scripted(OK)) as fake:
                for url in (URL, f"http://{HOST}/v1/chat"):
                    assert (await library.send(client, url)).body == OK.body
                    got = await library.open(client, url)
                    assert await read(library, got) == [OK.body]

    assert asked == []
    assert [request.url for request in fake.asked] == [URL, URL, f"http://{HOST}/v1/chat", f"http://{HOST}/v1/chat"]


@each()
async def test_other_hosts_reach_the_network(library: Library, server: str) -> None:
    async with opened(library) as client:
        with block(Scripted(OK)) as fake:
            assert (await library.send(client, server)).body == b"real"

    assert (fake.asked, set(fake.seen)) == ([], {("POST", server)})


# --- faults ----------------------------------------------------------------------------------------

KINDS = (
    "read_timeout",
    "connect_timeout",
    "write_timeout",
    "pool_timeout",
    "total_timeout",
    "connect",
    "dns",
    "certificate",
    "tls",
    "reset",
    "disconnect",
)


@each()
@pytest.mark.parametrize("kind", KINDS)
async def test_a_fault_before_the_answer_is_the_librarys_own_exception(library: Library, kind: Any) -> None:
    expected = library.error(library.before[kind])
    async with opened(library) as client:
        with block(Scripted(Fault(kind), Fault(kind, "said"), Fault(kind, delay=0.001))):
            for said in ("", "said", ""):
                with pytest.raises(expected) as caught:
                    await library.send(client)
                assert type(caught.value) is expected
                assert said in library.said(caught.value)


@each()
@pytest.mark.parametrize("kind", ["read_timeout", "total_timeout", "reset", "disconnect"])
async def test_a_fault_in_the_middle_is_the_librarys_own_exception(library: Library, kind: Any) -> None:
    streamed = library.error(library.middle[kind])
    whole = library.error((library.whole or library.middle)[kind])
    async with opened(library) as client:
        with block(Scripted(Response(200, steps=(b"a", Fault(kind, delay=0.001))))):
            got = await library.open(client)
            seen = []
            with pytest.raises(streamed) as caught:
                async for piece in library.pieces(got):
                    seen.append(piece)  # what came before it breaks counts
            await library.leave(got)
            with pytest.raises(whole) as broken:
                await library.send(client)

    assert (seen, type(caught.value), isinstance(broken.value, whole)) == ([b"a"], streamed, True)


@each()
async def test_no_kind_of_fault_breaks_a_body_with_another_error_than_the_librarys(library: Library) -> None:
    """Kinds that no real body can have are still some exception that code for real trouble catches."""
    every = {library.error(name) for name in {**library.before, **library.middle}.values()}
    async with opened(library) as client:
        for kind in KINDS:
            fault = Fault(kind)  # type: ignore[arg-type]
            with block(Scripted(Response(200, steps=(b"a", fault)))), pytest.raises(tuple(every)):
                await read(library, await library.open(client))


class OwnError(Exception):
    pass


@each()
@pytest.mark.parametrize("name", ["LookupError", "OSError", "own"])
async def test_a_scripted_exception_is_raised_as_it_is(library: Library, name: str) -> None:
    error = {"LookupError": LookupError("mine"), "OSError": OSError("mine"), "own": OwnError("mine")}[name]
    fault = Fault("raise", error=error)
    async with opened(library) as client:
        with block(Scripted(fault, Response(200, steps=(b"a", fault)))):
            for where in ("before", "whole", "streamed", "streamed"):
                with pytest.raises(Exception, match="mine") as caught:
                    if where == "streamed":
                        await read(library, await library.open(client))
                    else:
                        await library.send(client)
                if name in library.keeps or where != "before":
                    assert caught.value is error
                else:
                    assert caught.value.__cause__ is error


@each()
async def test_what_the_handler_raises_comes_out_unchanged(library: Library) -> None:
    failure = Refused("strict")
    async with opened(library) as client:
        with block(Scripted(failure, failure, OK)):
            for ask in (library.send, library.open):
                with pytest.raises(Refused) as caught:
                    await ask(client)
                assert caught.value is failure
            assert (await library.send(client)).body == OK.body


# A real server that breaks, and the fault that stands for it.
REAL_FAULTS: dict[str, tuple[str, str]] = {
    "silent": ("read_timeout", "before"),
    "closing": ("disconnect", "before"),
    "gone": ("connect", "before"),
    "resetting": ("reset", "before"),
    "unknown": ("dns", "before"),
    "untrusted": ("certificate", "before"),
    "plain": ("tls", "before"),
    "full": ("connect_timeout", "before"),
    "deaf": ("write_timeout", "before"),
    "stalling": ("read_timeout", "middle"),
    "resetting later": ("reset", "middle"),
    "breaking off": ("disconnect", "middle"),
}


@contextlib.contextmanager
def breaking(how: str) -> Iterator[str]:
    if how == "gone":
        yield gone()
    elif how in ("full", "unknown", "untrusted"):
        with {"full": full, "unknown": unknown, "untrusted": untrusted}[how]() as url:
            yield url
    elif how == "plain":
        with untrusted(BROKEN[how]) as url:
            yield url
    else:
        with served(BROKEN[how]) as url:
            yield url


@each()
@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=[pytest.mark.slow] if how == "resetting later" else []) for how in REAL_FAULTS]
)
async def test_faults_are_what_the_library_raises_for_a_real_server(library: Library, how: str) -> None:
    kind, where = REAL_FAULTS[how]
    body = b"x" * 20_000_000 if how == "deaf" else b"{}"
    if how == "deaf" and library.name == "aiohttp":
        pytest.skip("needs a time-out for writing")
    if how == "unknown" and library.mode == "uvloop":
        pytest.skip("needs a loop that looks names up by the socket module")
    if how == "untrusted":
        pytest.importorskip("cryptography")

    # only what is meant may run out: a busy machine is late with all else
    read_limit = 0.15 if how in ("silent", "deaf", "stalling") else 30
    connect_limit = {"full": 0.15, "deaf": 1.5}.get(how, 30)  # to urllib3, writing is a part of connecting

    async def fails(url: str, *, whole: bool) -> type[BaseException]:
        async with opened(library, connect=connect_limit, read=read_limit) as client:
            with pytest.raises(Exception) as caught:  # which one is the question
                if whole:
                    await library.send(client, url, body)
                else:
                    await read(library, await library.open(client, url, body))
        return type(caught.value)

    fault = Fault(kind)  # type: ignore[arg-type]
    answer = fault if where == "before" else Response(200, steps=(b"a", fault))
    for whole in (True, False):
        with breaking(how) as url:
            really = await fails(url, whole=whole)
        with block(Scripted(answer)):
            scripted = await fails(URL, whole=whole)
        assert scripted is really


@each()
@pytest.mark.parametrize("how", ["whole", "streamed"])
async def test_a_body_shorter_than_its_length_is_what_it_is_of_a_real_server(library: Library, how: str) -> None:
    async def outcome(url: str) -> tuple[bytes, type[Exception] | None]:
        got = b""
        async with opened(library, read=30) as client:
            try:
                if how == "whole":
                    return (await library.send(client, url)).body, None
                response = await library.open(client, url)
                try:
                    async for piece in library.pieces(response):
                        got += piece
                finally:
                    await library.leave(response)
            except Exception as error:
                return got, type(error)
        return got, None

    with served(BROKEN["short"]) as url:
        really = await outcome(url)
    with block(Scripted(Response(200, steps=(b"a", Fault("disconnect")), length=10))):
        assert await outcome(URL) == really


# --- time-outs of the whole exchange ---------------------------------------------------------------


@each("total")
async def test_the_timeout_of_a_whole_exchange_arrives_and_is_one_for_a_real_server(library: Library) -> None:
    async with opened(library, total=0.1) as client:
        with block(Scripted(OK)) as fake:
            await library.send(client)
        with served(BROKEN["silent"]) as url, pytest.raises(library.error(library.before["total_timeout"])):
            await library.send(client, url)
        with served(BROKEN["stalling"]) as url, pytest.raises(library.error(library.middle["total_timeout"])):
            await library.send(client, url)

    assert fake.asked[0].timeouts.total == 0.1


# --- nothing is left -------------------------------------------------------------------------------


async def everything(library: Library, server: str, kept: list[Any]) -> None:
    """All that a client may go through, good and bad."""
    answers: list[Any] = [
        OK,
        Response(200, steps=(b"a", b"b")),
        Fault("disconnect"),
        Fault("read_timeout"),
        Response(200, steps=(b"a", Fault("disconnect"))),
        Response(200, body=BIG),
        Response(200, steps=(b"a", Pause(30), b"b")),
    ]
    client = await library.made()
    kept.append(weakref.ref(client))
    with block(Scripted(*answers)) as fake:
        kept.append(weakref.ref(fake))
        for _ in answers[:-1]:
            with contextlib.suppress(Exception):
                got = await library.send(client)
                kept.append(weakref.ref(got.response))
        got = await library.open(client)
        kept.append(weakref.ref(got.response))
        pieces = library.pieces(got)
        await anext(pieces)
        if library.is_async:
            await anyio.sleep(0.01)  # the pause has begun
        await library.leave(got)
        await pieces.aclose()
    assert (await library.send(client, server)).body == b"real"
    await library.close(client)


@each()
async def test_nothing_is_left_behind(library: Library, server: str) -> None:
    """Neither while the loop runs, nor afterwards: no object, no socket, no task (`run` looks for these)."""
    await everything(library, server, [])  # what is loaded once, is
    gc.collect()
    kept: list[Any] = []
    before = descriptors() if sys.platform == "linux" else set()
    await everything(library, server, kept)
    gc.collect()

    assert [ref() for ref in kept if ref() is not None] == []
    assert len(kept) == 6
    for _ in range(200):  # the server is in this process too, and closes its ends in its own time
        if not before or descriptors() <= before:
            break
        time.sleep(0.01)
    assert not before or descriptors() - before == set()


# --- order -----------------------------------------------------------------------------------------


class Counting(Scripted):
    """Answers each request with its number and what it asked."""

    def __init__(self) -> None:
        super().__init__(OK)
        self._lock = threading.Lock()

    def answer(self, request: Any) -> Response:
        with self._lock:
            self.asked.append(request)
            number = len(self.asked)
        return Response(200, steps=(b"%d " % number, request.body))


@each(modes="asyncio uvloop trio")
async def test_tasks_that_share_a_client_get_their_own_answers(library: Library) -> None:
    found: dict[bytes, list[bytes]] = {}

    async def one(name: bytes) -> None:
        for turn in range(3):
            number, _, body = (await library.send(client, body=b"%b.%d" % (name, turn))).body.partition(b" ")
            assert body == b"%b.%d" % (name, turn)
            found.setdefault(name, []).append(number)

    async with opened(library) as client:
        with block(Counting()):
            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(one, b"%d" % number)

    assert sorted(int(number) for numbers in found.values() for number in numbers) == list(range(1, 61))
    for numbers in found.values():
        assert sorted(map(int, numbers)) == list(map(int, numbers))


@each(modes="asyncio uvloop")
async def test_gather_and_task_groups(library: Library) -> None:
    async with opened(library) as client:
        with block(Counting()) as fake:
            gathered = await asyncio.gather(*(library.send(client, body=b"%d" % number) for number in range(20)))
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(library.send(client, body=b"%d" % number)) for number in range(20)]

    assert [got.body.partition(b" ")[2] for got in gathered] == [b"%d" % number for number in range(20)]
    assert [task.result().body.partition(b" ")[2] for task in tasks] == [b"%d" % number for number in range(20)]
    assert len(fake.asked) == 40


@pytest.mark.parametrize("library", LIBRARIES, ids=shown)
def test_threads_that_each_have_a_client(library: Library) -> None:
    """On a library of loops, each thread has a loop of its own."""

    async def work(library: Library, name: bytes) -> list[bytes]:
        async with opened(library) as client:
            return [(await library.send(client, body=name)).body for _ in range(10)]

    with block(Counting()) as fake, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: run(library, work, b"%d" % number), range(8)))

    assert [{body.partition(b" ")[2] for body in bodies} for bodies in found] == [{b"%d" % n} for n in range(8)]
    numbers = sorted(int(body.partition(b" ")[0]) for bodies in found for body in bodies)
    assert numbers == list(range(1, 81))
    assert len(fake.asked) == 80


@each(modes="sync")
async def test_threads_that_share_a_client(library: Library) -> None:
    async with opened(library) as client:

        def work(number: int) -> bytes:
            async def ask(library: Library) -> Got:
                return await library.send(client, body=b"%d" % number)

            return run(library, ask).body.partition(b" ")[2]

        with block(Counting()), ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(80))) == [b"%d" % number for number in range(80)]
