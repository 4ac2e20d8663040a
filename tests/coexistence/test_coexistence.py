"""Beside mocks, recorders, instrumentation and retries, in both orders: what `_outcomes.py` says is what happens."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from _outcomes import BOTH, OURS, ROWS, Row

import fake_llm
from _capability import has, needs
from fake_llm import Error

MODEL = "https://api.openai.com/v1/chat/completions"
OTHER = "https://weather.example/paris"
ASKED: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
SAID = "from the script"
THEIRS = "theirs"
ORDERS = ("theirs first", "ours first")
MODES = {
    "httpx": ("sync", "async"),
    "httpx2": ("sync", "async"),
    "requests": ("sync",),
    "aiohttp": ("async",),
    "botocore": ("sync",),
}


# --- clients ------------------------------------------------------------------------------------


def ask(client: str, mode: str, url: str, **options: Any) -> str:
    """What an HTTP library gets from there: the text of a model's answer, or the body as it is."""
    body = _asked(client, mode, url, options)
    text = asyncio.run(body) if inspect.iscoroutine(body) else body
    if url != MODEL:
        return text
    try:
        return json.loads(text)["choices"][0]["message"]["content"]
    except ValueError:
        return text


def _asked(client: str, mode: str, url: str, options: dict[str, Any]) -> Any:
    module = importlib.import_module(client)
    request: dict[str, Any] = {"method": "POST", "json": ASKED} if url == MODEL else {"method": "GET"}
    if client == "requests":
        with module.Session() as session:
            for prefix, adapter in options.items():
                session.mount(prefix, adapter)
            return session.request(url=url, **request).text
    if mode == "sync":
        with module.Client(**options) as http:
            return http.request(url=url, **request).text
    if client == "aiohttp":
        return _by_aiohttp(module, url, request)
    return _by_async_client(module, url, request, options)


async def _by_aiohttp(module: Any, url: str, request: dict[str, Any]) -> str:
    async with module.ClientSession() as session, session.request(url=url, **request) as response:
        return await response.text()


async def _by_async_client(module: Any, url: str, request: dict[str, Any], options: dict[str, Any]) -> str:
    async with module.AsyncClient(**options) as http:
        return (await http.request(url=url, **request)).text


# --- the others ---------------------------------------------------------------------------------


@contextmanager
def by_respx(request: Any, routed: bool) -> Iterator[None]:
    respx = importlib.import_module("respx")
    with respx.mock(assert_all_called=False) as router:
        router.get(OTHER).respond(text=THEIRS)
        if routed:
            router.post(MODEL).respond(text=THEIRS)
        yield
        assert [str(call.request.url) for call in router.calls] == [OTHER]


@contextmanager
def by_responses(request: Any, routed: bool) -> Iterator[None]:
    responses = importlib.import_module("responses")
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.get(OTHER, body=THEIRS)
        if routed:
            mock.post(MODEL, body=THEIRS)
        yield
        assert [call.request.url for call in mock.calls] == [OTHER]


@contextmanager
def by_requests_mock(request: Any, routed: bool) -> Iterator[None]:
    requests_mock = importlib.import_module("requests_mock")
    with requests_mock.Mocker() as mock:
        mock.get(OTHER, text=THEIRS)
        if routed:
            mock.post(MODEL, text=THEIRS)
        yield
        assert [call.url for call in mock.request_history] == [OTHER]


@contextmanager
def by_aioresponses(request: Any, routed: bool) -> Iterator[None]:
    aioresponses = importlib.import_module("aioresponses").aioresponses
    aiohttp = importlib.import_module("aiohttp")
    with aioresponses() as mock:
        mock.get(OTHER, body=THEIRS)
        if routed:
            mock.post(MODEL, body=THEIRS)
        yield
        with pytest.raises(aiohttp.ClientConnectionError, match="Connection refused"):  # as strict as it was
            ask("aiohttp", "async", "https://elsewhere.example/")


def by_fixture(name: str) -> Callable[[Any, bool], AbstractContextManager[None]]:
    @contextmanager
    def entered(request: Any, routed: bool) -> Iterator[None]:
        mock = request.getfixturevalue(name)
        mock.add_response(url=OTHER, text=THEIRS)
        if routed:
            mock.add_response(url=MODEL, text=THEIRS, is_optional=True)
        yield
        assert [str(each.url) for each in mock.get_requests()] == [OTHER]

    return entered


@contextmanager
def by_vcr(request: Any, routed: bool, mode: str = "none") -> Iterator[None]:
    vcr, yaml = importlib.import_module("vcr"), importlib.import_module("yaml")
    path: Path = request.getfixturevalue("tmp_path") / "cassette.yaml"
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": THEIRS}}
    kept = [("GET", OTHER, None), *([("POST", MODEL, json.dumps(ASKED))] if routed else [])]
    interactions = [
        {"request": {"method": method, "uri": uri, "body": body, "headers": {}}, "response": response}
        for method, uri, body in kept
    ]
    path.write_text(yaml.safe_dump({"version": 1, "interactions": interactions}))
    with vcr.use_cassette(str(path), record_mode=mode) as cassette:
        yield
        assert not cassette.dirty
        assert cassette.play_count == 1
    assert len(yaml.safe_load(path.read_text())["interactions"]) == len(kept)


MOCKS: dict[str, Callable[..., AbstractContextManager[None]]] = {
    "respx": by_respx,
    "responses": by_responses,
    "pytest-httpx": by_fixture("httpx_mock"),
    "httpx2-pytest": by_fixture("httpx2_mock"),
    "vcrpy": by_vcr,
    "requests-mock": by_requests_mock,
    "aioresponses, aioresponses-ng": by_aioresponses,
}


def entered(stack: ExitStack, order: str, theirs: AbstractContextManager[Any], script: Any = None) -> Any:
    """Both, in this order; gives the fake."""
    block = fake_llm.intercept(**({"default": SAID} if script is None else {}), strict=False)
    if script is not None:
        block = fake_llm.intercept(script)
    if order == "theirs first":
        stack.enter_context(theirs)
        return stack.enter_context(block)
    fake = stack.enter_context(block)
    stack.enter_context(theirs)
    return fake


def rows(names: Any) -> Any:
    return [
        pytest.param(
            row,
            client,
            mode,
            order,
            id=f"{row.name}-{client}-{mode}-{order}",
            marks=needs(*dict.fromkeys((*row.needs, client))),
        )
        for row in ROWS
        if row.name in names
        for client in row.clients
        for mode in MODES[client]
        for order in ORDERS
    ]


def expected(row: Row, order: str) -> str:
    return row.theirs_first if order == "theirs first" else row.ours_first


@pytest.mark.parametrize("routed", [False, True], ids=["no route", "a route"])
@pytest.mark.parametrize(("row", "client", "mode", "order"), rows(MOCKS))
def test_beside_a_mock(
    row: Row, client: str, mode: str, order: str, routed: bool, request: pytest.FixtureRequest
) -> None:
    with ExitStack() as stack:
        fake = entered(stack, order, MOCKS[row.name](request, routed))
        got = [ask(client, mode, url) for url in (MODEL, OTHER, MODEL)]
        assert len(fake.calls) == 2

    assert (BOTH if got == [SAID, THEIRS, SAID] else got) == expected(row, order)


@pytest.mark.parametrize("record", ["once", "new_episodes", "all"])
@pytest.mark.parametrize(("row", "client", "mode", "order"), rows({"vcrpy"}))
def test_a_cassette_doesnt_record_a_model(
    row: Row, client: str, mode: str, order: str, record: str, tmp_path: Path
) -> None:
    vcr = importlib.import_module("vcr")
    path = tmp_path / "cassette.yaml"
    with ExitStack() as stack:
        entered(stack, order, vcr.use_cassette(str(path), record_mode=record))
        assert ask(client, mode, MODEL) == SAID

    assert not path.exists()


@pytest.mark.parametrize("order", ORDERS)
@needs("aioresponses-ng", "aiohttp")
def test_aioresponses_with_tasks_that_ask_both_at_once(order: str) -> None:
    import aiohttp
    from aioresponses import aioresponses

    async def one(session: Any, url: str) -> str:
        try:
            async with session.request("POST" if url == MODEL else "GET", url, json=ASKED) as response:
                return "model" if url == MODEL and response.status == 200 else "theirs"
        except aiohttp.ClientConnectionError as error:
            return str(error).partition(":")[0]

    async def main() -> list[str]:
        async with aiohttp.ClientSession() as session:
            return await asyncio.gather(
                *(one(session, url) for url in [MODEL, "https://elsewhere.example/", OTHER] * 9)
            )

    with ExitStack() as stack:
        mock = aioresponses()
        entered(stack, order, mock)
        mock.get(OTHER, body=THEIRS, repeat=True)
        assert asyncio.run(main()) == ["model", "Connection refused", "theirs"] * 9
        assert mock.passthrough_unmatched is False


@pytest.mark.parametrize("order", ORDERS)
@needs("requests-mock", "requests")
def test_a_session_that_requests_mock_has_touched_is_answered_after_it(order: str) -> None:
    """It leaves the way to an adapter of its time on the session."""
    import requests
    import requests_mock

    with requests.Session() as session:
        with ExitStack() as stack:
            mock = requests_mock.Mocker(real_http=order == "ours first")
            entered(stack, order, mock)
            mock.get(OTHER, text=THEIRS)
            assert session.get(OTHER).text == THEIRS
        with fake_llm.intercept([SAID]) as fake:
            assert session.post(MODEL, json=ASKED).ok
        assert len(fake.calls) == 1


# --- AWS ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", ["before", "inside"])
@pytest.mark.parametrize("order", ORDERS)
@needs("moto", "boto3")
def test_beside_moto(order: str, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3
    import moto

    [row] = [row for row in ROWS if row.name == "moto"]
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    client = boto3.client("bedrock-runtime", **keys) if made == "before" else None
    with ExitStack() as stack:
        fake = entered(stack, order, moto.mock_aws())
        client = client or boto3.client("bedrock-runtime")
        asked: Any = {"modelId": "anthropic.claude", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
        said = client.converse(**asked)["output"]["message"]["content"]
        streamed = [event for event in client.converse_stream(**asked)["stream"] if "contentBlockDelta" in event]
        store = boto3.client("s3")
        store.create_bucket(Bucket="bucket")
        assert (said, len(fake.calls)) == ([{"text": SAID}], 2)
        assert "".join(event["contentBlockDelta"]["delta"]["text"] for event in streamed) == SAID
        assert [bucket["Name"] for bucket in store.list_buckets()["Buckets"]] == ["bucket"]

    assert expected(row, order) == BOTH


# --- instrumentation ----------------------------------------------------------------------------


@contextmanager
def _server() -> Iterator[str]:
    class Plain(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "6")
            self.end_headers()
            self.wfile.write(b"theirs")

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Plain) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


INSTRUMENTORS = {
    "OpenTelemetry for httpx": ("httpx", "HTTPXClientInstrumentor"),
    "OpenTelemetry for requests": ("requests", "RequestsInstrumentor"),
    "OpenTelemetry for aiohttp": ("aiohttp_client", "AioHttpClientInstrumentor"),
    "OpenTelemetry for urllib3": ("urllib3", "URLLib3Instrumentor"),
}


def spans() -> tuple[Any, Any]:
    """A provider of tracers, and what keeps their spans."""
    sdk = importlib.import_module("opentelemetry.sdk.trace")
    export = importlib.import_module("opentelemetry.sdk.trace.export")
    memory = importlib.import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    kept = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(kept))
    return provider, kept


@contextmanager
def instrumented(module: str, name: str, provider: Any) -> Iterator[None]:
    instrumentor = getattr(importlib.import_module(f"opentelemetry.instrumentation.{module}"), name)()
    instrumentor.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        instrumentor.uninstrument()


def urls(kept: Any) -> list[str]:
    found = [span.attributes.get("http.url") or span.attributes.get("url.full") for span in kept.get_finished_spans()]
    kept.clear()
    return [url for url in found if url]


@pytest.mark.parametrize(("row", "client", "mode", "order"), rows(INSTRUMENTORS))
def test_beside_opentelemetry(row: Row, client: str, mode: str, order: str) -> None:
    provider, kept = spans()
    with _server() as url, ExitStack() as stack:
        entered(stack, order, instrumented(*INSTRUMENTORS[row.name], provider))
        assert ask(client, mode, MODEL) == SAID
        seen = urls(kept)
        assert ask(client, mode, url) == THEIRS
        assert urls(kept) == [url]

    assert (BOTH if seen == [MODEL] else seen or OURS) == expected(row, order)


@needs("opentelemetry-instrumentation-httpx", "opentelemetry-sdk")
def test_what_measured_before_a_block_measures_after_it() -> None:
    import httpx

    provider, kept = spans()
    with _server() as url, instrumented("httpx", "HTTPXClientInstrumentor", provider):
        before = vars(httpx.HTTPTransport)["handle_request"]
        for _ in range(2):
            with fake_llm.intercept([SAID]):
                assert ask("httpx", "sync", MODEL) == SAID
            assert vars(httpx.HTTPTransport)["handle_request"] is before
            assert ask("httpx", "sync", url) == THEIRS
            assert urls(kept) == [MODEL, url]


@needs("opentelemetry-instrumentation-httpx", "opentelemetry-sdk")
def test_what_began_to_measure_in_a_block_measures_in_the_next() -> None:
    provider, kept = spans()
    with ExitStack() as stack:
        with fake_llm.intercept([SAID]):
            stack.enter_context(instrumented("httpx", "HTTPXClientInstrumentor", provider))
            assert ask("httpx", "sync", MODEL) == SAID
        with fake_llm.intercept([SAID]):
            assert ask("httpx", "sync", MODEL) == SAID
        assert urls(kept) == [MODEL, MODEL]
        with _server() as url:
            assert ask("httpx", "sync", url) == THEIRS
        assert urls(kept) == [url]


@pytest.mark.parametrize("order", ORDERS)
@needs("opentelemetry-instrumentation-botocore", "opentelemetry-sdk", "boto3")
def test_beside_opentelemetry_for_botocore(order: str) -> None:
    import boto3

    [row] = [row for row in ROWS if row.name == "OpenTelemetry for botocore"]
    provider, kept = spans()
    with ExitStack() as stack:
        entered(stack, order, instrumented("botocore", "BotocoreInstrumentor", provider))
        client = boto3.client("bedrock-runtime", region_name="us-east-1")
        asked: Any = [{"role": "user", "content": [{"text": "Hi"}]}]
        assert client.converse(modelId="m", messages=asked)["output"]["message"]["content"] == [{"text": SAID}]
        seen = [span.name for span in kept.get_finished_spans()]

    assert (BOTH if seen == ["chat m"] else OURS) == expected(row, order)


@pytest.mark.parametrize(
    ("row", "client", "mode", "order"), rows({"Sentry for httpx and aiohttp", "Sentry for requests"})
)
def test_beside_sentry(row: Row, client: str, mode: str, order: str) -> None:
    sentry = importlib.import_module("sentry_sdk")
    transport = importlib.import_module("sentry_sdk.transport").Transport
    kept: list[Any] = []

    class Kept(transport):
        def capture_envelope(self, envelope: Any) -> None:
            kept.extend(item.payload.json for item in envelope.items if item.headers.get("type") == "transaction")

    @contextmanager
    def begun() -> Iterator[None]:
        sentry.init(dsn="https://key@sentry.example/1", transport=Kept, traces_sample_rate=1.0)
        try:
            yield
        finally:
            sentry.init()

    with ExitStack() as stack:
        entered(stack, order, begun())
        with sentry.start_transaction(name="test"):
            assert ask(client, mode, MODEL) == SAID
        [transaction] = kept
        seen = [span["description"] for span in transaction["spans"] if span["op"] == "http.client"]

    assert (BOTH if seen == [f"POST {MODEL}"] else seen or OURS) == expected(row, order)


# --- retries of the user's ----------------------------------------------------------------------


def by_tenacity(client: str, mode: str) -> dict[str, Any]:
    from pydantic_ai import retries
    from tenacity import retry_if_exception_type, stop_after_attempt, wait_none

    module = importlib.import_module(client)
    config: Any = {"retry": retry_if_exception_type(module.HTTPStatusError), "stop": stop_after_attempt(3)}
    config |= {"wait": wait_none(), "reraise": True}
    prefix, kind = ("", "HTTP") if mode == "sync" else ("Async", "AsyncHTTP")
    name = f"{prefix}{'HTTPX2' if client == 'httpx2' else ''}TenacityTransport"
    with warnings.catch_warnings(action="ignore"):  # the one for httpx is deprecated
        outer = getattr(retries, name)(
            config, getattr(module, f"{kind}Transport")(), lambda response: response.raise_for_status()
        )
    return {"transport": outer}


def by_replicate(client: str, mode: str) -> dict[str, Any]:
    import httpx
    from replicate.client import RetryTransport

    made: Any = httpx.HTTPTransport() if mode == "sync" else httpx.AsyncHTTPTransport()
    return {"transport": RetryTransport(made, max_attempts=3, retryable_methods=["POST"])}


def by_urllib3(client: str, mode: str) -> dict[str, Any]:
    from requests.adapters import HTTPAdapter
    from urllib3 import Retry

    retry = Retry(3, status_forcelist=[503], allowed_methods=None, backoff_factor=60)
    return {"https://": HTTPAdapter(max_retries=retry)}


RETRIES = {
    "Retrying transports of Pydantic AI, on tenacity": by_tenacity,
    "Replicate's RetryTransport": by_replicate,
    "Retry of urllib3, on adapters of requests": by_urllib3,
}


@pytest.mark.parametrize(("row", "client", "mode", "order"), rows(RETRIES))
def test_beside_retries(row: Row, client: str, mode: str, order: str) -> None:
    """The order is that of the client that has them and of the block."""
    before = RETRIES[row.name](client, mode) if order == "theirs first" else None
    with fake_llm.intercept([Error(503), Error(503), SAID]) as fake:
        got = ask(client, mode, MODEL, **(before or RETRIES[row.name](client, mode)))

    assert len(fake.calls) == 3
    assert (BOTH if got == SAID else got) == expected(row, order)


@pytest.mark.parametrize("mock", ["respx", "pytest-httpx"])
@needs("respx", "pytest-httpx", "pydantic-ai-slim", "tenacity")
def test_a_mock_that_came_after_us_doesnt_swallow_what_retries_send(mock: str, request: pytest.FixtureRequest) -> None:
    with ExitStack() as stack:
        fake = entered(stack, "ours first", MOCKS[mock](request, routed=False))
        assert ask("httpx", "sync", MODEL, **by_tenacity("httpx", "sync")) == SAID
        assert ask("httpx", "sync", OTHER) == THEIRS
        assert len(fake.calls) == 1


@pytest.mark.parametrize("order", ORDERS)
@needs("responses", "requests")
def test_retries_beside_responses(order: str) -> None:
    import responses

    with ExitStack() as stack:
        fake = entered(stack, order, responses.RequestsMock(), [Error(503), SAID])
        assert ask("requests", "sync", MODEL, **by_urllib3("requests", "sync")) == SAID
        assert [call.attempt for call in fake.calls] == [1, 2]


# --- the table ----------------------------------------------------------------------------------


def test_every_row_is_judged() -> None:
    judged = {*MOCKS, *INSTRUMENTORS, *RETRIES, "moto", "OpenTelemetry for botocore"}
    judged |= {row.name for row in ROWS if row.name.startswith("Sentry")}

    assert {row.name for row in ROWS} == judged
    assert {outcome for row in ROWS for outcome in (row.theirs_first, row.ours_first)} <= {BOTH, OURS}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("requests-mock", "requests_mock.adapter.Adapter.send"),
        ("aioresponses-ng", "aioresponses.core.aioresponses.match"),
        ("moto", "moto.core.botocore_stubber.BotocoreStubber.process_request"),
        ("vcrpy", "vcr.cassette.Cassette.filter_request"),
    ],
)
def test_what_has_moved_in_another_library_is_said(name: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has(name):
        pytest.skip(f"needs {name}")
    path, kind, attribute = place.rsplit(".", 2)
    module = importlib.import_module(path)
    if attribute in vars(getattr(module, kind)) and name != "requests-mock":
        monkeypatch.delattr(getattr(module, kind), attribute)
    else:  # its base has one
        monkeypatch.delattr(module, kind)
    what = name.removesuffix("-ng")

    with pytest.warns(RuntimeWarning) as told, fake_llm.intercept():
        pass

    [warning] = told
    assert str(warning.message) == (
        f"fake_llm: {what} has no {kind}.{attribute} any more, so while both are active {what} may keep a call to a model to itself. "
        f"Leave {what} out of that test, or use a version of fake_llm that knows this version of it."
    )
