"""Replicate by its own SDK: run, stream, polls, cancellation, errors, models; sync and async."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

import fake_llm
from _capability import load
from fake_llm import Error, FakeLLM, Image, Json, Raw, Reply, Usage

replicate = load("replicate")

LLAMA = "meta/meta-llama-3-70b-instruct"
VERSION = "fbfb20b472b2f3bdd101412a9f70a0ed4fc0ced78a77ff00970ee7a2383c575d"
ASKED = {"prompt": "Weather in Paris?", "system_prompt": "Be brief.", "max_new_tokens": 64, "temperature": 0.5}
SAID = "It is\n sunny."


async def gathered(value: Any) -> Any:
    """What an async call gives, its items where it is a stream."""
    if inspect.isawaitable(value):
        value = await value
    return [item async for item in value] if hasattr(value, "__aiter__") else value


class Caller:
    """One way to call the SDK."""

    def __init__(self, way: str) -> None:
        self.is_async = way == "async"

    def __call__(self, path: str, *args: Any, **options: Any) -> Any:
        """The result of a method of a new client, by its sync name."""

        async def on_loop() -> Any:
            return await gathered(self.method(path)(*args, **options))

        if self.is_async:
            return asyncio.run(on_loop())
        result = self.method(path)(*args, **options)
        return list(result) if inspect.isgenerator(result) else result

    def method(self, path: str) -> Any:
        *names, last = path.split(".")
        found: Any = replicate.Client()
        for name in names:
            found = getattr(found, name)
        return getattr(found, f"async_{last}" if self.is_async else last)


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Caller:
    return Caller(request.param)


def ended(prediction: Any) -> Any:
    """The prediction once it is done."""
    prediction.wait()
    return prediction


# --- run and stream -----------------------------------------------------------------------------


@fake_llm.intercept([SAID])
def test_run(call: Caller, fake: FakeLLM) -> None:
    assert "".join(call("run", LLAMA, input=ASKED)) == SAID

    asked = fake.calls[0]
    assert (asked.provider, asked.dialect, asked.operation) == ("replicate", "replicate_predictions", "chat")
    assert (asked.model, asked.system, asked.last_user_text) == (LLAMA, "Be brief.", "Weather in Paris?")
    assert asked.params["max_tokens"] == 64
    assert asked.headers["prefer"] == "wait"
    assert "r8_fake_llm" not in str(asked.headers.items())
    assert not fake.side_calls


@pytest.mark.parametrize("wait", [True, False])
def test_run_of_a_version_gives_an_iterator(call: Caller, wait: bool) -> None:
    with fake_llm.intercept([SAID]) as fake:
        said = call("run", f"{LLAMA}:{VERSION}", input=ASKED, wait=wait)
        assert "".join(said) == SAID
    assert fake.calls[0].body["version"] == VERSION
    polls = [each for each in fake.side_calls if each.operation == "predictions"]
    assert len(polls) == (0 if wait else 2)


@fake_llm.intercept([SAID])
def test_run_that_polls(call: Caller, fake: FakeLLM) -> None:
    assert "".join(call("run", LLAMA, input=ASKED, wait=False)) == SAID
    assert [each.operation for each in fake.side_calls] == ["predictions"] * 2


@fake_llm.intercept([Reply(chunks=["It is\n", "\n", " sun", "ny."])])
def test_stream(call: Caller, fake: FakeLLM) -> None:
    events = call("stream", LLAMA, input=ASKED)

    assert [event.data for event in events] == ["It is\n", "\n", " sun", "ny.", "{}"]
    assert [event.event.value for event in events] == ["output"] * 4 + ["done"]
    assert "".join(map(str, events)) == "It is\n\n sunny."
    assert fake.calls[0].body["stream"] is True
    assert fake.side_calls[0].url.startswith("https://stream.replicate.com/")


@fake_llm.intercept([Json({"sky": "sunny"})])
def test_structured_output_is_text(call: Caller) -> None:
    assert "".join(call("run", LLAMA, input=ASKED)) == '{"sky":"sunny"}'


@fake_llm.intercept([Image(b"\x89PNG")])
def test_pictures_are_files(call: Caller) -> None:
    (picture,) = call("run", "black-forest-labs/flux-schnell", input={"prompt": "A cat"})
    assert picture.read() == b"\x89PNG"


def test_the_module_itself_needs_no_token() -> None:
    with fake_llm.intercept([SAID]):
        assert "".join(replicate.run(LLAMA, input=ASKED)) == SAID


# --- predictions --------------------------------------------------------------------------------


def test_a_prediction_goes_on_from_poll_to_poll() -> None:
    with fake_llm.intercept([Reply("one two three four", usage=Usage(12, 4))]):
        prediction = replicate.Client().predictions.create(version=VERSION, input=ASKED)
        seen = [(prediction.status, prediction.output)]
        for _ in range(2):
            prediction.reload()
            seen.append((prediction.status, prediction.output))
    said = ["one", " two", " three", " four"]
    assert seen == [("starting", None), ("processing", said[:2]), ("succeeded", said)]
    assert (prediction.metrics["input_token_count"], prediction.metrics["output_token_count"]) == (12, 4)
    assert prediction.completed_at is not None


def test_waiting_costs_no_time_and_no_turn(call: Caller) -> None:
    with fake_llm.intercept([SAID]) as fake:
        prediction = call("predictions.create", version=VERSION, input=ASKED)
        assert prediction._client.poll_interval == 0
        assert ended(prediction).output == ["It", " is", "\n sunny."]
    assert len(fake.calls) == 1


def test_one_that_is_waited_for_is_done_at_once(call: Caller) -> None:
    with fake_llm.intercept([SAID]):
        prediction = call("predictions.create", version=VERSION, input=ASKED, wait=5)
    assert prediction.status == "succeeded"
    assert "".join(prediction.output) == SAID


def test_one_of_a_deployment(call: Caller) -> None:
    with fake_llm.intercept([SAID]) as fake:
        call("deployments.predictions.create", "acme/llama", input=ASKED)
    assert fake.calls[0].model == "acme/llama"


def test_a_cancelled_one_stays_cancelled(call: Caller) -> None:
    with fake_llm.intercept([SAID]):
        prediction = call("predictions.create", version=VERSION, input=ASKED)
        assert call("predictions.cancel", prediction.id).status == "canceled"
        assert call("predictions.get", prediction.id).status == "canceled"


def test_what_is_done_is_not_cancelled(call: Caller) -> None:
    with fake_llm.intercept([SAID]):
        prediction = call("predictions.create", version=VERSION, input=ASKED, wait=True)
        assert call("predictions.cancel", prediction.id).status == "succeeded"


def test_they_are_listed_the_newest_first(call: Caller) -> None:
    with fake_llm.intercept(["one", "two"]):
        made = [call("predictions.create", version=VERSION, input=ASKED, wait=True).id for _ in range(2)]
        listed = call("predictions.list")
    assert [prediction.id for prediction in listed] == made[::-1]
    assert len(set(made)) == 2


def test_ids_are_the_same_each_time(call: Caller) -> None:
    made = []
    for _ in range(2):
        with fake_llm.intercept([SAID]):
            made.append(call("predictions.create", version=VERSION, input=ASKED).id)
    assert made[0] == made[1]
    assert len(made[0]) == 26


def test_the_sdks_own_object_is_a_turn(call: Caller) -> None:
    given = {"id": "p1", "status": "succeeded", "model": LLAMA, "version": VERSION, "input": {}, "output": ["So."]}
    prediction = replicate.prediction.Prediction(**given)
    with fake_llm.intercept([prediction]):
        assert call("run", LLAMA, input=ASKED) == ["So."]
        assert call("predictions.get", "p1").output == ["So."]


# --- failures -----------------------------------------------------------------------------------


def test_a_prediction_that_fails(call: Caller) -> None:
    with (
        fake_llm.intercept([Reply("Out of memory.", finish_reason="failed")]),
        pytest.raises(replicate.exceptions.ModelError, match=r"Out of memory\.") as caught,
    ):
        call("run", LLAMA, input=ASKED)
    assert caught.value.prediction.status == "failed"


def test_a_stream_of_one_that_fails(call: Caller) -> None:
    with (
        fake_llm.intercept([Reply("Out of memory.", finish_reason="failed")]),
        pytest.raises(RuntimeError, match=r"Out of memory\."),
    ):
        call("stream", LLAMA, input=ASKED)


def test_a_blocked_one(call: Caller) -> None:
    with (
        fake_llm.intercept([Reply(finish_reason="content_filter")]),
        pytest.raises(replicate.exceptions.ModelError, match="NSFW content detected"),
    ):
        call("run", LLAMA, input=ASKED)


@pytest.mark.parametrize(
    ("error", "status", "title"),
    [
        (Error("authentication"), 401, "Unauthenticated"),
        (Error("quota"), 402, "Insufficient credit"),
        (Error("not_found"), 404, "Not found"),
        (Error("context_length"), 422, "Input validation failed"),
        (Error(429), 429, "Too many requests"),
        (Error(500), 500, "Internal server error"),
        (Error("overloaded"), 503, "Service unavailable"),
    ],
)
def test_errors_of_the_api(call: Caller, error: Error, status: int, title: str) -> None:
    with fake_llm.intercept([error]), pytest.raises(replicate.exceptions.ReplicateError) as caught:
        call("run", LLAMA, input=ASKED)
    assert (caught.value.status, caught.value.title) == (status, title)


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("/v1/predictions", {"input": {}}, "- version is required\n"),
        ("/v1/predictions", {"version": 5, "input": {}}, "- version must be a string\n"),
        ("/v1/predictions", {"version": VERSION}, "- input is required\n"),
        (f"/v1/models/{LLAMA}/predictions", {"input": "Hi"}, "- input must be an object\n"),
        (f"/v1/models/{LLAMA}/predictions", {"input": {}, "stream": "yes"}, "- stream must be a boolean\n"),
        (f"/v1/models/{LLAMA}/predictions", [], "- body must be an object\n"),
    ],
)
def test_malformed_requests_are_refused(path: str, body: Any, detail: str) -> None:
    with fake_llm.intercept([SAID]) as fake:
        with pytest.raises(replicate.exceptions.ReplicateError) as caught:
            replicate.Client()._request("POST", path, json=body)
        assert (caught.value.status, caught.value.detail) == (422, detail)
        assert fake.remaining == 1
        fake.reset()


@pytest.mark.parametrize("path", ["predictions.get", "predictions.cancel"])
def test_what_nobody_made_is_not_there(call: Caller, path: str) -> None:
    with fake_llm.intercept(), pytest.raises(replicate.exceptions.ReplicateError) as caught:
        call(path, "nope")
    assert caught.value.status == 404


def test_a_verbatim_body_can_be_asked_for_again(call: Caller) -> None:
    given = {"id": "p1", "status": "succeeded", "model": LLAMA, "version": VERSION, "input": {}, "output": "So."}
    with fake_llm.intercept([Raw(given)]):
        assert call("run", LLAMA, input=ASKED) == "So."
        assert call("predictions.get", "p1").output == "So."


# --- models -------------------------------------------------------------------------------------


def test_models_and_versions(call: Caller) -> None:
    with fake_llm.intercept() as fake:
        model = call("models.get", LLAMA)
        assert (model.owner, model.name) == tuple(LLAMA.split("/"))
        assert call("models.list").results
        assert call("accounts.current").username == "fake-llm"
        assert model.versions.get(VERSION).id == VERSION
        assert [version.id for version in model.versions.list()] == [model.latest_version.id]
    assert not fake.calls
