"""Where a failure comes out: in place in the thread and task of the block, the vendor's 400 elsewhere, at the end for sure."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import httpx
import pytest

import fake_llm
from _asking import ASYNC, OPENAI, SYNC, ask, ask_async, body_of, post
from _capability import has, needs
from fake_llm import (
    Error,
    FakeLLM,
    Reply,
    ScriptError,
    ScriptMismatchError,
    ToolCall,
    UnknownEndpointError,
    UnscriptedCallError,
    UnusedReplyError,
)

LOOPS = ["asyncio", *(["trio"] if has("trio") else [])]


@contextlib.contextmanager
def failing(kind: type[BaseException] = UnscriptedCallError, script: Any = (), **options: Any) -> Iterator[FakeLLM]:
    """A block that its first failure must leave, of this kind; an assertion inside it counts for itself."""
    left_by: BaseException | None = None
    inside: BaseException | None = None
    fake = FakeLLM()
    try:
        with fake_llm.intercept(script, **options) as fake:
            try:
                yield fake
            except BaseException as error:
                inside = error
    except BaseException as error:
        left_by = error
    if inside is not None:
        raise inside
    assert type(left_by) is kind, repr(left_by)
    assert left_by is fake.failures[0]


def answered_400(fake: FakeLLM) -> None:
    """What a call got in place of the failure: one call, with the vendor's own 400 that no SDK retries."""
    assert len(fake.calls) == 1
    assert len(fake.failures) == 1
    response = fake.calls[0].response
    assert response.status == 400
    assert response.headers["x-should-retry"] == "false"
    assert json.dumps(str(fake.failures[0]), ensure_ascii=False)[1:-1].encode() in response.body.replace(
        b"\\u2026", "…".encode()
    )


# --- in place: the thread and the task that entered the block -----------------------------------


@pytest.mark.parametrize("way", SYNC)
def test_in_the_thread_of_the_block_it_is_raised_in_place(way: Callable[[str], str]) -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(UnscriptedCallError) as caught:
            way("Hi")
        assert fake.failures == [caught.value]
        assert len(fake.calls) == 1
        fake.failures.clear()


@pytest.mark.parametrize("way", ASYNC)
@pytest.mark.parametrize("loop", LOOPS)
def test_in_the_task_of_the_block_it_is_raised_in_place(way: Callable[[str], Awaitable[str]], loop: str) -> None:
    async def main() -> None:
        async with fake_llm.intercept() as fake:
            with pytest.raises(UnscriptedCallError) as caught:
                await way("Hi")
            assert fake.failures == [caught.value]
            assert len(fake.calls) == 1
            fake.failures.clear()

    anyio.run(main, backend=loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_sync_block_in_a_task_is_that_tasks(loop: str) -> None:
    async def main() -> None:
        with pytest.raises(UnscriptedCallError), fake_llm.intercept():
            await ask_async()
        with pytest.raises(UnscriptedCallError), fake_llm.intercept():
            ask()

    anyio.run(main, backend=loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_task_group_that_holds_only_our_failure_leaves_as_it(loop: str) -> None:
    async def main() -> None:
        async with fake_llm.intercept(), anyio.create_task_group():
            await ask_async()

    with pytest.raises(UnscriptedCallError):
        anyio.run(main, backend=loop)


def test_a_group_of_groups_of_our_failures_leaves_as_the_first() -> None:
    first, second = UnscriptedCallError("first"), UnknownEndpointError("second")

    with pytest.raises(UnscriptedCallError) as caught, fake_llm.intercept():
        raise BaseExceptionGroup("outer", [BaseExceptionGroup("inner", [first]), second])

    assert caught.value is first


# --- elsewhere: the vendor's own 400, one call --------------------------------------------------


@pytest.mark.parametrize("way", ASYNC)
@pytest.mark.parametrize("loop", LOOPS)
def test_on_a_loop_under_a_sync_block(way: Callable[[str], Awaitable[str]], loop: str) -> None:
    with failing() as fake:
        with pytest.raises(Exception, match="no turn was left"):
            anyio.run(way, "Hi", backend=loop)
        answered_400(fake)


@pytest.mark.parametrize("way", SYNC)
def test_in_another_thread(way: Callable[[str], str]) -> None:
    with failing() as fake:
        with ThreadPoolExecutor(1) as pool, pytest.raises(Exception, match="no turn was left"):
            pool.submit(way, "Hi").result()
        answered_400(fake)


@pytest.mark.parametrize("way", ASYNC)
def test_in_gather(way: Callable[[str], Awaitable[str]]) -> None:
    async def main() -> None:
        async with fake_llm.intercept() as fake:
            (error,) = await asyncio.gather(way("Hi"), return_exceptions=True)
            assert isinstance(error, Exception)
            assert "no turn was left" in str(error)
            answered_400(fake)
            fake.failures.clear()

    asyncio.run(main())


def test_gather_that_raises_is_replaced_by_the_failure() -> None:
    async def main() -> None:
        async with fake_llm.intercept(["one"]):
            await asyncio.gather(ask_async(), ask_async(), ask_async())

    with pytest.raises(UnscriptedCallError) as caught:
        asyncio.run(main())

    assert type(caught.value.__context__) is RuntimeError


def test_in_an_asyncio_task_group() -> None:
    async def main() -> None:
        async with fake_llm.intercept(["one"]), asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(ask_async())

    with pytest.raises(UnscriptedCallError) as caught:
        asyncio.run(main())

    assert type(caught.value.__context__) is ExceptionGroup


@pytest.mark.parametrize("loop", LOOPS)
def test_in_an_anyio_task_group(loop: str) -> None:
    async def main() -> None:
        async with fake_llm.intercept(), anyio.create_task_group() as group:
            group.start_soon(ask_async)
            group.start_soon(ask_async)

    with pytest.raises(UnscriptedCallError) as caught:
        anyio.run(main, backend=loop)

    assert type(caught.value.__context__) is ExceptionGroup


@pytest.mark.parametrize("loop", LOOPS)
def test_in_a_worker_thread_of_a_task(loop: str) -> None:
    async def main() -> None:
        async with fake_llm.intercept() as fake:
            with pytest.raises(RuntimeError, match="no turn was left"):
                await anyio.to_thread.run_sync(ask)
            answered_400(fake)
            fake.failures.clear()

    anyio.run(main, backend=loop)


def test_a_task_nobody_awaits_is_seen_at_the_end() -> None:
    async def main() -> None:
        async with fake_llm.intercept():
            task = asyncio.create_task(ask_async())
            await asyncio.wait([task])
            task.exception()

    with pytest.raises(UnscriptedCallError):
        asyncio.run(main())


def test_in_a_callback_of_a_loop_under_a_sync_block() -> None:
    async def main() -> None:
        done = asyncio.get_running_loop().create_future()

        def callback() -> None:
            try:
                ask()
            except BaseException as error:
                done.set_result(error)

        asyncio.get_running_loop().call_soon(callback)
        assert type(await done) is RuntimeError

    with failing() as fake:
        asyncio.run(main())
        answered_400(fake)


def test_a_thread_that_swallows_it_is_seen_at_the_end() -> None:
    with failing():
        thread = threading.Thread(target=post)
        thread.start()
        thread.join()


@needs("fastapi")
@pytest.mark.parametrize("lifespan", [True, False])
@pytest.mark.parametrize("middleware", [True, False])
@pytest.mark.parametrize("path", ["/sync", "/async"])
def test_in_an_app_under_a_test_client(lifespan: bool, middleware: bool, path: str) -> None:
    import fastapi
    from fastapi.testclient import TestClient
    from starlette.middleware.base import BaseHTTPMiddleware

    app = fastapi.FastAPI()

    @app.get("/sync")
    def sync() -> str:
        return ask()

    @app.get("/async")
    async def asynchronous() -> str:
        return await ask_async()

    if middleware:

        async def passing(request: Any, call_next: Any) -> Any:
            return await call_next(request)

        app.add_middleware(BaseHTTPMiddleware, dispatch=passing)

    client = TestClient(app)
    with client if lifespan else contextlib.nullcontext():
        with fake_llm.intercept(["Hello"]):
            assert client.get(path).json() == "Hello"
        with failing() as fake:
            with pytest.raises(RuntimeError, match="no turn was left"):
                client.get(path)
            answered_400(fake)
        with fake_llm.intercept(["Hello again"]):
            assert client.get(path).json() == "Hello again"


@pytest.mark.parametrize("middleware", [True, False])
@needs("starlette")
def test_in_an_app_in_the_process(middleware: bool) -> None:
    """An app under `ASGITransport` runs in the test's own task, but for what a `BaseHTTPMiddleware` wraps."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    async def endpoint(request: Any) -> Any:
        return PlainTextResponse(await ask_async())

    async def passing(request: Any, call_next: Any) -> Any:
        return await call_next(request)

    wrapped = [Middleware(BaseHTTPMiddleware, dispatch=passing)] if middleware else []
    app = Starlette(routes=[Route("/", endpoint)], middleware=wrapped)

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
            async with fake_llm.intercept(["Hello"]):
                assert (await client.get("/")).text == "Hello"
            async with fake_llm.intercept() as fake:
                with pytest.raises(RuntimeError if middleware else UnscriptedCallError, match="no turn was left"):
                    await client.get("/")
                assert len(fake.calls) == 1
                fake.failures.clear()

    asyncio.run(main())


@pytest.mark.parametrize("status", [400, 500])
@needs("starlette")
def test_an_app_that_hides_it_is_seen_at_the_end(status: int) -> None:
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient

    async def endpoint(request: Any) -> Any:
        try:
            return PlainTextResponse(await ask_async())
        except Exception as error:
            return PlainTextResponse(str(error), status)

    with failing():
        response = TestClient(Starlette(routes=[Route("/", endpoint)])).get("/")
        assert response.status_code == status
        assert "no turn was left" in response.text


@pytest.mark.parametrize("way", SYNC)
def test_every_kind_of_failure_is_answered_so(way: Callable[[str], str]) -> None:
    with failing(ScriptMismatchError, [ToolCall("unknown")]) as fake:
        with ThreadPoolExecutor(1) as pool, pytest.raises(Exception, match="no tools"):
            pool.submit(way, "Hi").result()
        answered_400(fake)


def test_an_unknown_path_elsewhere() -> None:
    with failing(UnknownEndpointError) as fake:
        with ThreadPoolExecutor(1) as pool:
            response = pool.submit(httpx.get, "https://api.openai.com/v1/wonders").result()
        assert "an unknown path" in response.json()["error"]["message"]
        answered_400(fake)


# --- what leaves the block ----------------------------------------------------------------------


def swallowed(fake: FakeLLM) -> None:
    """A failure that the code under test hides."""
    with contextlib.suppress(BaseException):
        ask()
    assert len(fake.failures) == 1


def test_the_first_failure_is_raised_at_the_end() -> None:
    with pytest.raises(UnscriptedCallError, match="'first'"), fake_llm.intercept():
        for text in ("first", "second"):
            with contextlib.suppress(BaseException):
                ask(text)


@pytest.mark.parametrize("leaving", [LookupError("own"), AssertionError("own"), ExceptionGroup("own", [LookupError()])])
def test_it_replaces_an_exception_that_is_leaving(leaving: Exception) -> None:
    with pytest.raises(UnscriptedCallError) as caught, fake_llm.intercept() as fake:
        swallowed(fake)
        raise leaving

    assert caught.value.__context__ is leaving


def outcomes() -> list[Any]:
    def outcome(act: Callable[[], Any]) -> BaseException:
        try:
            act()
        except BaseException as error:
            return error
        raise AssertionError("nothing was raised")

    return [
        pytest.param(KeyboardInterrupt(), id="KeyboardInterrupt"),
        pytest.param(SystemExit(3), id="SystemExit"),
        pytest.param(outcome(lambda: pytest.skip("so")), id="pytest.skip"),
        pytest.param(outcome(lambda: pytest.fail("so")), id="pytest.fail"),
        pytest.param(outcome(lambda: pytest.xfail("so")), id="pytest.xfail"),
        pytest.param(outcome(lambda: pytest.exit("so")), id="pytest.exit"),
    ]


@pytest.mark.parametrize("leaving", outcomes())
def test_it_never_replaces_what_stops_a_test(leaving: BaseException) -> None:
    seen: BaseException | None = None
    try:
        with fake_llm.intercept() as fake:
            swallowed(fake)
            raise leaving
    except BaseException as error:
        seen = error

    assert seen is leaving


@pytest.mark.parametrize("leaving", outcomes())
def test_it_never_replaces_a_group_with_what_stops_a_test(leaving: BaseException) -> None:
    group = BaseExceptionGroup("several", [LookupError(), BaseExceptionGroup("inner", [leaving])])
    seen: BaseException | None = None
    try:
        with fake_llm.intercept() as fake:
            swallowed(fake)
            raise group
    except BaseException as error:
        seen = error

    assert seen is group


@pytest.mark.parametrize("leaving", [GeneratorExit(), asyncio.CancelledError()])
def test_a_cancellation_never_hides_a_failure(leaving: BaseException) -> None:
    with pytest.raises(UnscriptedCallError), fake_llm.intercept() as fake:
        swallowed(fake)
        raise leaving


def test_a_framework_that_waits_for_ever_is_cancelled_with_the_failure() -> None:
    async def inside(entered: asyncio.Event) -> None:
        async with fake_llm.intercept(["unused"]) as fake:
            await asyncio.gather(ask_async(), ask_async(), return_exceptions=True)
            assert len(fake.failures) == 1
            entered.set()
            await asyncio.sleep(60)

    async def main() -> None:
        entered = asyncio.Event()
        task = asyncio.create_task(inside(entered))
        await entered.wait()
        task.cancel()
        with pytest.raises(UnscriptedCallError):
            await task

    asyncio.run(main())


def test_a_cancelled_block_without_failures_stays_cancelled() -> None:
    async def inside() -> None:
        async with fake_llm.intercept(["unused"]):
            await asyncio.sleep(60)

    async def main() -> None:
        task = asyncio.create_task(inside())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(main())


def test_a_time_out_around_a_block_is_one() -> None:
    async def main() -> None:
        async with asyncio.timeout(0.02):
            async with fake_llm.intercept(["unused"]):
                await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


@pytest.mark.parametrize("leaving", [LookupError(), AssertionError(), *(item.values[0] for item in outcomes())])
def test_unused_turns_never_replace_an_exception(leaving: BaseException) -> None:
    seen: BaseException | None = None
    try:
        with fake_llm.intercept(["unused"]):
            raise leaving
    except BaseException as error:
        seen = error

    assert seen is leaving


def test_an_error_of_the_provider_that_leaves_is_not_replaced() -> None:
    with pytest.raises(RuntimeError, match=r"^429"), fake_llm.intercept([Error(429), "unused"]):
        ask()


# --- the ways out -------------------------------------------------------------------------------


def test_failures_can_be_cleared() -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(UnscriptedCallError):
            ask()
        fake.failures.clear()


def test_cleared_failures_leave_the_unused_turns() -> None:
    with pytest.raises(UnusedReplyError), fake_llm.intercept([ToolCall("unknown"), "unused"]) as fake:
        with contextlib.suppress(BaseException):
            ask()
        fake.failures.clear()


def test_not_strict_nothing_is_raised_at_the_end() -> None:
    with fake_llm.intercept(["one", "two"], strict=False) as fake:
        assert ask() == "one"
    assert fake.remaining == 1

    with fake_llm.intercept(strict=False) as fake:
        swallowed(fake)
    assert [type(failure) for failure in fake.failures] == [UnscriptedCallError]


def test_not_strict_a_call_without_a_turn_still_fails_in_place() -> None:
    with pytest.raises(UnscriptedCallError), fake_llm.intercept(strict=False):
        ask()


def test_not_strict_replies_are_not_held_against_the_request() -> None:
    with fake_llm.intercept([ToolCall("unknown", {"a": 1})], strict=False):
        assert post().json()["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "unknown"


def test_check_raises_what_the_end_would() -> None:
    fake = FakeLLM(["unused"])
    with pytest.raises(UnusedReplyError):
        fake.check()
    FakeLLM().check()
    FakeLLM(["unused"], strict=False).check()


# --- exhausted ----------------------------------------------------------------------------------


def test_exhausted_can_be_a_last_text() -> None:
    with fake_llm.intercept(["one"], on_exhausted="stop") as fake:
        assert [ask(), ask(), ask()] == ["one", *["[fake_llm: the script is exhausted]"] * 2]
        assert fake.failures == []


@pytest.mark.parametrize("way", SYNC)
def test_exhausted_can_be_the_vendors_error(way: Callable[[str], str]) -> None:
    with failing(on_exhausted="error") as fake:
        with pytest.raises(Exception, match="no turn was left"):
            way("Hi")
        assert [call.response.status for call in fake.calls] == [400]


# --- the test's own errors ----------------------------------------------------------------------


class OwnError(Exception):
    """An error of a test."""


def own(*, of: Any) -> BaseException:
    try:
        return of if isinstance(of, BaseException) else of()
    except BaseException as error:
        return error


OWN = [
    pytest.param(lambda: AssertionError("own"), id="AssertionError"),
    pytest.param(lambda: OwnError("own"), id="Exception"),
    pytest.param(lambda: ValueError("own"), id="ValueError"),
    pytest.param(lambda: own(of=lambda: pytest.fail("own")), id="pytest.fail"),
    pytest.param(lambda: own(of=lambda: pytest.skip("own")), id="pytest.skip"),
]


def asked_wrongly(error: BaseException, how: str) -> Callable[[FakeLLM], None]:
    """Make the fake raise the test's own error when it is asked."""

    def raising(_: Any) -> Any:
        raise error

    async def raising_later(_: Any) -> Any:
        await asyncio.sleep(0)
        raise error

    def arrange(fake: FakeLLM) -> None:
        if how == "function":
            fake.push(raising)
        elif how == "async function":
            fake.push(raising_later)
        elif how == "predicate":
            fake.when(raising).reply("x")
        elif how == "function of a rule":
            fake.when().reply(raising)
        elif how == "default":
            fake.default(raising)
        else:
            fake.push(Reply("x", edit=raising))

    return arrange


HOW = ["function", "async function", "predicate", "function of a rule", "default", "edit"]


def leaves_as_itself(error: BaseException, arrange: Callable[[FakeLLM], None], act: Callable[[], Any]) -> None:
    """The block is left by this very error, after one call."""
    seen: BaseException | None = None
    fake: FakeLLM | None = None
    try:
        with fake_llm.intercept() as fake:
            arrange(fake)
            act()
    except BaseException as caught:
        seen = caught
    assert seen is error, repr(seen)
    assert fake is not None
    assert len(fake.calls) == 1
    assert fake.failures == [error]


@pytest.mark.parametrize("make", OWN)
@pytest.mark.parametrize("how", HOW)
def test_a_tests_own_error_leaves_the_block_as_itself(make: Callable[[], BaseException], how: str) -> None:
    error = make()
    leaves_as_itself(error, asked_wrongly(error, how), ask)


@pytest.mark.parametrize("make", OWN)
@pytest.mark.parametrize("how", HOW)
def test_so_it_does_from_another_thread(make: Callable[[], BaseException], how: str) -> None:
    def in_thread() -> None:
        with ThreadPoolExecutor(1) as pool, contextlib.suppress(RuntimeError):
            pool.submit(ask).result()

    error = make()
    leaves_as_itself(error, asked_wrongly(error, how), in_thread)


@pytest.mark.parametrize("way", SYNC)
@pytest.mark.parametrize("how", HOW)
def test_so_it_does_through_an_sdk(way: Callable[[str], str], how: str) -> None:
    error = AssertionError("own")
    leaves_as_itself(error, asked_wrongly(error, how), lambda: way("Hi"))


@pytest.mark.parametrize("way", SYNC)
def test_so_it_does_through_an_sdk_in_a_thread(way: Callable[[str], str]) -> None:
    def in_thread() -> None:
        with ThreadPoolExecutor(1) as pool, pytest.raises(Exception, match="own"):
            pool.submit(way, "Hi").result()

    error = AssertionError("own")
    leaves_as_itself(error, asked_wrongly(error, "function"), in_thread)


@pytest.mark.parametrize("way", ASYNC)
@pytest.mark.parametrize("how", HOW)
def test_so_it_does_on_a_loop(way: Callable[[str], Awaitable[str]], how: str) -> None:
    error = AssertionError("own")

    async def main() -> None:
        async with fake_llm.intercept() as fake:
            asked_wrongly(error, how)(fake)
            await way("Hi")

    with pytest.raises(AssertionError) as caught:
        asyncio.run(main())
    assert caught.value is error


@pytest.mark.parametrize("way", ASYNC)
def test_so_it_does_on_a_loop_under_a_sync_block(way: Callable[[str], Awaitable[str]]) -> None:
    async def main() -> None:
        with pytest.raises(Exception, match="own"):
            await way("Hi")

    error = AssertionError("own")
    leaves_as_itself(error, asked_wrongly(error, "async function"), lambda: asyncio.run(main()))


def test_its_traceback_is_only_its_own() -> None:
    error = AssertionError("own")
    error.__cause__ = LookupError("the cause it had")

    with pytest.raises(AssertionError) as caught, fake_llm.intercept() as fake:
        asked_wrongly(error, "function")(fake)
        ask()

    assert caught.value is error
    assert caught.value.__context__ is None
    assert type(caught.value.__cause__) is LookupError


def test_a_function_that_returns_no_turn_is_the_tests_own_error() -> None:
    with pytest.raises(ScriptError) as caught, fake_llm.intercept([lambda call: 3]):
        ask()

    assert (
        str(caught.value) == "A function turn got 3 (int), which can't be a turn.\n"
        "A turn is what the model says, an error, an exception, a body, or a function of the call.\n"
        "Write Json(3) for JSON, or a str for text."
    )


def test_an_edit_that_returns_no_list_is_the_tests_own_error() -> None:
    with pytest.raises(ScriptError) as caught, fake_llm.intercept([Reply("x", edit=lambda events: None)]):
        ask()

    assert str(caught.value) == (
        "edit= returned None.\nIt is given the list of wire events and returns the list to send.\nWrite return events."
    )


def test_an_interrupt_in_a_function_turn_is_one() -> None:
    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), fake_llm.intercept([interrupted]):
        ask()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(TimeoutError(), httpx.ReadTimeout), (ConnectionError("gone"), httpx.ConnectError)],
)
@pytest.mark.parametrize("late", [True, False])
def test_a_fault_that_a_function_raises_is_a_fault(fault: Exception, expected: type[Exception], late: bool) -> None:
    def raising(_: Any) -> Any:
        raise fault

    async def raising_later(_: Any) -> Any:
        raise fault

    with fake_llm.intercept([raising_later if late else raising]) as fake, pytest.raises(expected):
        ask()
    assert fake.failures == []


@needs("openai")
def test_a_fault_that_a_function_raises_is_retried_by_an_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    import openai._base_client

    monkeypatch.setattr(openai._base_client.BaseClient, "_calculate_retry_timeout", lambda *args: 0)

    def raising(_: Any) -> Any:
        raise TimeoutError

    with fake_llm.intercept([raising, "Hello"]) as fake:
        answer = openai.OpenAI().chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}])
    assert answer.choices[0].message.content == "Hello"
    assert [call.attempt for call in fake.calls] == [1, 2]


def test_a_stream_that_is_raw_fails_before_it_begins() -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(UnscriptedCallError), httpx.stream("POST", OPENAI, json=body_of(stream=True)):
            pass
        fake.failures.clear()


def test_a_function_turn_can_call_a_model_itself() -> None:
    with fake_llm.intercept([lambda call: f"it said {ask('inner')}", "inner answer"]) as fake:
        assert ask("outer") == "it said inner answer"
    assert [call.last_user_text for call in fake.calls] == ["outer", "inner"]


def test_a_failure_inside_a_function_turn_stays_one() -> None:
    with failing() as fake:
        fake.push(lambda call: ask("inner"))
        with pytest.raises(UnscriptedCallError, match="'inner'"):
            ask("outer")


def test_a_test_that_stops_waiting_cancels_an_async_function_turn() -> None:
    async def never(call: Any) -> str:
        await asyncio.sleep(60)
        raise AssertionError("unreachable")

    async def main() -> None:
        async with fake_llm.intercept([never]) as fake:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await ask_async()
            assert fake.failures == []

    asyncio.run(main())
