"""What is particular to botocore, through clients of boto3; the rest is in the contract of all stacks."""

from __future__ import annotations

import json
import threading
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Error, Raw, Reply
from fake_llm._framing import AwsEventStream
from fake_llm._model import Event, Fault, Pause, Response, Timeouts
from stacks._servers import served
from stacks._support import Refused, Scripted, block

boto3 = load("boto3>=1.38")
botocore = load("botocore>=1.38")
from botocore import exceptions  # noqa: E402
from botocore.config import Config  # noqa: E402

HOST = "bedrock-runtime.us-east-1.amazonaws.com"
MODEL = "amazon.nova-lite-v1:0"
ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0"
MESSAGES = [{"role": "user", "content": [{"text": "Hi"}]}]
DONE = Response(200, (("content-type", "application/json"),), b'{"done":true}')


def made(**options: Any) -> Any:
    """A client with keys of its own."""
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    return boto3.session.Session().client("bedrock-runtime", **{**keys, **options})


@pytest.fixture
def client() -> Iterator[Any]:
    client = made(config=Config(retries={"total_max_attempts": 1}))
    yield client
    client.close()


def converse(client: Any, text: str = "Hi", model: str = MODEL) -> str:
    messages = [{"role": "user", "content": [{"text": text}]}]
    answer = client.converse(modelId=model, messages=messages)
    return "".join(part["text"] for part in answer["output"]["message"]["content"])


def invoke(client: Any) -> Any:
    return client.invoke_model(modelId=MODEL, body=b"{}")["body"]


# --- bodies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [None, (b"one\n", b"tw", b"o\n", b"three")], ids=["whole", "in steps"])
def test_a_streaming_body_is_read_in_each_way(client: Any, steps: Any) -> None:
    text = b"one\ntwo\nthree"
    with block(Scripted(Response(200, body=text, steps=steps), host=HOST)):
        assert invoke(client).read() == text
        assert list(invoke(client).iter_lines()) == [b"one", b"two", b"three"]
        assert b"".join(invoke(client).iter_chunks(4)) == text
        assert [len(piece) for piece in invoke(client).iter_chunks(4)] == [4, 4, 4, 1]
        body = invoke(client)
        assert (body.read(3), body.read(), body.read(), body.tell()) == (b"one", text[3:], b"", len(text))
        with invoke(client) as body:
            assert body.read(1) == b"o"
        assert json.loads(json.dumps({"read": invoke(client).read().decode()})) == {"read": text.decode()}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("disconnect", exceptions.ResponseStreamingError), ("read_timeout", exceptions.ReadTimeoutError)],
)
def test_a_streaming_body_that_breaks(client: Any, kind: Any, expected: type[Exception]) -> None:
    with block(Scripted(Response(200, steps=(b"a", Fault(kind))), host=HOST)):
        with pytest.raises(expected):
            invoke(client).read()
        body = invoke(client)
        assert body.read(1) == b"a"
        with pytest.raises(expected):
            body.read(1)


def frames(*events: tuple[str, Any]) -> list[bytes]:
    return AwsEventStream().encode([Event(name, payload) for name, payload in events])


def test_events_are_read_frame_by_frame(client: Any) -> None:
    """Each event is seen before what comes next: here a pause that the client has to wait for."""
    start, one, two, stop = frames(
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hel"}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "lo"}}),
        ("messageStop", {"stopReason": "end_turn"}),
    )
    seen: list[str] = []
    reached: list[list[str]] = []

    class Watched(Pause):
        def __init__(self) -> None:
            pass

        @property
        def seconds(self) -> float:  # type: ignore[override]  # a property in place of a field, to see when it is read
            reached.append(list(seen))
            return 0.0

    steps = (start, Watched(), one, Watched(), two[:9], two[9:], Watched(), stop)
    with block(Scripted(Response(200, steps=steps), host=HOST)):
        for event in client.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]:
            seen.extend(event)

    assert seen == ["messageStart", "contentBlockDelta", "contentBlockDelta", "messageStop"]
    assert reached == [seen[:1], seen[:2], seen[:3]]


def test_an_event_stream_that_is_left_early_is_let_go(client: Any) -> None:
    (start,) = frames(("messageStart", {"role": "assistant"}))
    with block(Scripted(Response(200, steps=(start, Pause(30))), host=HOST)):
        stream = client.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]
        assert next(iter(stream)) == {"messageStart": {"role": "assistant"}}
        stream.close()


def test_an_exception_in_an_event_stream_is_botocores(client: Any) -> None:
    with fake_llm.intercept([Reply("Hello", then=Error("overloaded"))]):
        stream = client.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]
        with pytest.raises(exceptions.EventStreamError):
            list(stream)


def test_events_are_sent_as_botocore_gives_them(client: Any) -> None:
    """What a real stream gave can be put into a script again."""
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hello"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    with fake_llm.intercept([Raw(events), Raw([*events[:2], {"throttlingException": {"message": "Slow down."}}])]):
        assert list(client.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]) == events
        stream = client.converse_stream(modelId=MODEL, messages=MESSAGES)["stream"]
        with pytest.raises(exceptions.EventStreamError, match="Slow down"):
            list(stream)


@needs("requests")
@pytest.mark.parametrize("role", [["x"], {}, None, 5, "tool"])
def test_a_role_that_is_none_is_refused(role: Any) -> None:
    import requests

    with fake_llm.intercept() as fake:
        answer = requests.post(
            f"https://{HOST}/model/m/converse", json={"messages": [{"role": role, "content": []}]}, timeout=5
        )
    assert (answer.status_code, fake.failures) == (400, [])
    assert "messages.1.member.role" in answer.json()["message"]


# --- clients ---------------------------------------------------------------------------------------


def test_clients_made_before_inside_and_in_the_default_session() -> None:
    before = made()
    with fake_llm.intercept(["1", "2", "3", "4"]) as fake:
        assert converse(before) == "1"
        assert converse(boto3.client("bedrock-runtime")) == "2"
        assert converse(boto3.session.Session().client("bedrock-runtime", region_name="eu-west-1")) == "3"
        inside = made()
        assert converse(inside) == "4"

    assert [call.provider for call in fake.calls] == ["bedrock"] * 4
    assert ".eu-west-1." in fake.calls[2].url
    before.close()
    inside.close()


def test_no_credentials_are_looked_for_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the dummies of a block nobody asks the metadata service of a machine."""
    for name in ("AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with fake_llm.intercept(["Hello"]) as fake:
        assert converse(boto3.session.Session().client("bedrock-runtime")) == "Hello"

    assert (len(fake.calls), len(fake.side_calls)) == (1, 0)


def test_a_look_up_of_credentials_goes_where_it_goes() -> None:
    """It is by the same session that botocore looks for credentials: what isn't claimed reaches the network."""
    from botocore.utils import IMDSFetcher

    with served() as url, block(Scripted(DONE, host=HOST)) as fake:
        fetcher = IMDSFetcher(base_url=url, num_attempts=1, timeout=1)
        assert fetcher._get_request("/", lambda response: False).content == b"real"

    assert fake.asked == []
    assert {method for method, _ in fake.seen} == {"GET"}


@needs("botocore>=1.39")
def test_a_bearer_token_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-secret")
    with fake_llm.intercept(["Hello"]) as fake:
        assert converse(boto3.session.Session().client("bedrock-runtime", region_name="us-east-1")) == "Hello"

    assert fake.calls[0].headers["authorization"] == "Bearer bedrock-secret"
    assert "bedrock-secret" not in f"{fake.calls[0]!r} {fake.calls[0].headers!r} {fake.transcript()}"


def test_a_percent_encoded_arn_is_the_model(client: Any) -> None:
    with fake_llm.intercept(["Hello", "Hello"]) as fake:
        assert converse(client, model=ARN) == "Hello"
        assert converse(client) == "Hello"

    assert "%3A" in fake.calls[0].url or "%2F" in fake.calls[0].url
    assert [call.model for call in fake.calls] == ["us.amazon.nova-lite-v1:0", MODEL]


def test_timeouts_are_those_of_the_configuration() -> None:
    with block(Scripted(DONE, host=HOST)) as fake:
        for config in (
            Config(connect_timeout=3, read_timeout=5),
            Config(connect_timeout=3, read_timeout=None),
            Config(),
        ):
            client = made(config=config)
            invoke(client)
            client.close()

    assert [request.timeouts for request in fake.asked] == [Timeouts(3, 5), Timeouts(3, None), Timeouts(60, 60)]


# --- handlers of others ----------------------------------------------------------------------------


def test_what_others_answer_before_the_call_is_sent_stays_theirs(client: Any) -> None:
    from botocore.awsrequest import AWSResponse

    class Body:
        """All that the service always says: who instruments botocore (Sentry 2.75) counts on it."""

        def stream(self, **_: Any) -> Iterator[bytes]:
            yield b'{"output":{"message":{"role":"assistant","content":[{"text":"theirs"}]}},"stopReason":"end_turn",'
            yield b'"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1}}'

    seen: list[str] = []

    def note(request: Any, **_: Any) -> Any:
        seen.append(request.url)

    def answer(request: Any, **_: Any) -> Any:
        return AWSResponse(request.url, 200, {"content-type": "application/json"}, Body())

    with fake_llm.intercept(["ours", "ours"]) as fake:
        client.meta.events.register("before-send.bedrock-runtime.Converse", note)
        assert converse(client) == "ours"
        client.meta.events.register_last("before-send.bedrock-runtime.Converse", answer)
        assert converse(client) == "theirs"
        client.meta.events.unregister("before-send.bedrock-runtime.Converse", answer)
        assert converse(client) == "ours"

    assert (len(seen), len(fake.calls)) == (3, 2)


# --- retries ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
@pytest.mark.parametrize("trouble", [Error(429), Error(503), ConnectionError(), TimeoutError(), ConnectionResetError()])
def test_each_mode_of_retries_recovers(mode: Any, trouble: Any) -> None:
    client = made(config=Config(retries={"mode": mode, "total_max_attempts": 4}))
    with fake_llm.intercept([trouble, trouble, "Hello"]) as fake:
        assert converse(client) == "Hello"

    assert [call.attempt for call in fake.calls] == [1, 2, 3]
    client.close()


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_each_mode_of_retries_gives_up_with_what_was_answered(mode: Any) -> None:
    client = made(config=Config(retries={"mode": mode, "total_max_attempts": 3}))
    with fake_llm.intercept([Error(500)]) as fake, pytest.raises(exceptions.ClientError) as caught:
        converse(client)

    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert [call.attempt for call in fake.calls] == [1, 2, 3]
    client.close()


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_what_the_handler_raises_is_never_tried_again(mode: Any) -> None:
    client = made(config=Config(retries={"mode": mode, "total_max_attempts": 3}))
    with block(Scripted(Refused("strict"), host=HOST)) as fake, pytest.raises(Refused):
        converse(client)

    assert len(fake.asked) == 1
    client.close()


@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_a_new_call_is_no_retry_of_the_same_one(mode: Any) -> None:
    client = made(config=Config(retries={"mode": mode, "max_attempts": 0}))
    with fake_llm.intercept([Error(429), "Hello"]) as fake:
        with pytest.raises(exceptions.ClientError, match="ThrottlingException"):
            converse(client)
        assert converse(client) == "Hello"
    assert [call.attempt for call in fake.calls] == [1, 1]

    with pytest.raises(fake_llm.UnscriptedCallError), fake_llm.intercept([Error(429)]):
        for _ in range(2):
            with pytest.raises(exceptions.ClientError, match="ThrottlingException"):
                converse(client)
    client.close()


def test_the_rate_limiter_of_a_throttled_client_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.retries import bucket

    class Condition(threading.Condition):
        def wait(self, timeout: float | None = None) -> bool:
            raise AssertionError(f"waits for {timeout} s")

    monkeypatch.setattr(bucket, "threading", types.SimpleNamespace(Lock=threading.Lock, Condition=Condition))
    client = made(config=Config(retries={"mode": "adaptive", "total_max_attempts": 8}))
    with fake_llm.intercept([*[Error(429)] * 7, *["Hello"] * 5]) as fake:
        assert [converse(client) for _ in range(5)] == ["Hello"] * 5
    assert len(fake.calls) == 12

    client = made(config=Config(retries={"mode": "adaptive", "total_max_attempts": 8}))
    with (
        pytest.raises(AssertionError, match="waits for"),
        fake_llm.intercept([*[Error(429)] * 2, "Hello"], skip_backoff=False, strict=False),
    ):
        converse(client)


# --- threads ---------------------------------------------------------------------------------------


def test_threads_share_a_client_and_each_has_its_own_answer(client: Any) -> None:
    barrier = threading.Barrier(8, timeout=30)

    def work(number: int) -> list[str]:
        barrier.wait()
        return [converse(client, f"{number}.{turn}") for turn in range(5)]

    with fake_llm.intercept(default=lambda call: call.last_user_text) as fake, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))

    assert found == [[f"{number}.{turn}" for turn in range(5)] for number in range(8)]
    assert sorted(call.index for call in fake.calls) == list(range(40))
