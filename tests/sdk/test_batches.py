"""Files, batches and moderation, as the SDKs of openai and anthropic do it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from _driver import Driver
from fake_llm import Disconnect, Error, FakeLLM, Framing, Raw, Reply, ScriptMismatchError

openai = load("openai")
anthropic = load("anthropic")
OPENAI: dict[str, Callable[[], Any]] = {
    "sync": lambda: openai.OpenAI(max_retries=0),
    "async": lambda: openai.AsyncOpenAI(max_retries=0),
}
ANTHROPIC: dict[str, Callable[[], Any]] = {
    "sync": lambda: anthropic.Anthropic(max_retries=0),
    "async": lambda: anthropic.AsyncAnthropic(max_retries=0),
}


def driven(clients: dict[str, Callable[[], Any]]) -> Any:
    @pytest.fixture(params=clients)
    def driver(request: pytest.FixtureRequest) -> Any:
        with fake_llm.intercept():
            made = Driver(clients[request.param]())
        yield made
        made.close()

    return driver


ask = driven(OPENAI)
claude = driven(ANTHROPIC)
CHAT = "/v1/chat/completions"


def line(number: int, **changes: Any) -> dict[str, Any]:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": f"Question {number}"}]}
    return {"custom_id": f"line-{number}", "method": "POST", "url": CHAT, "body": body, **changes}


def uploaded(ask: Driver, *lines: Any) -> Any:
    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    return ask("files.create", file=("lines.jsonl", text.encode()), purpose="batch")


def started(ask: Driver, *lines: Any) -> Any:
    file = uploaded(ask, *lines)
    return ask("batches.create", input_file_id=file.id, endpoint=CHAT, completion_window="24h", metadata={"a": "b"})


def finished(ask: Driver, batch: Any) -> tuple[Any, list[str]]:
    states = [batch.status]
    while batch.status not in ("completed", "failed", "cancelled"):
        batch = ask("batches.retrieve", batch.id)
        states.append(batch.status)
    return batch, states


def lines_of(ask: Driver, file: str) -> list[Any]:
    return [json.loads(each) for each in ask("files.content", file).text.splitlines()]


# --- OpenAI -------------------------------------------------------------------------------------


@needs("openai>=2")
@fake_llm.intercept(["One.", Error(429), "Three."])
def test_a_batch_is_answered_from_the_script(ask: Driver, fake_llm: FakeLLM) -> None:
    batch = started(ask, line(1), line(2), line(3))
    assert (batch.status, fake_llm.remaining) == ("validating", 3)
    batch, states = finished(ask, batch)

    assert states == ["validating", "in_progress", "completed"]
    counts = batch.request_counts
    assert (counts.total, counts.completed, counts.failed, batch.metadata) == (3, 2, 1, {"a": "b"})
    good = lines_of(ask, batch.output_file_id)
    if batch.usage is not None:  # before openai 2 its SDK didn't know
        assert batch.usage.total_tokens == sum(one["response"]["body"]["usage"]["total_tokens"] for one in good) > 0
    assert [(one["custom_id"], one["response"]["status_code"]) for one in good] == [("line-1", 200), ("line-3", 200)]
    said = [one["response"]["body"]["choices"][0]["message"]["content"] for one in good]
    assert said == ["One.", "Three."]
    [bad] = lines_of(ask, batch.error_file_id)
    assert (bad["custom_id"], bad["response"]["status_code"]) == ("line-2", 429)
    assert [call.last_user_text for call in fake_llm.calls] == ["Question 1", "Question 2", "Question 3"]
    assert [call.attempt for call in fake_llm.calls] == [1, 1, 1]


@needs("openai>=2")
@fake_llm.intercept([Error(500), "Two."])
def test_two_lines_that_are_the_same_are_two_calls(ask: Driver) -> None:
    batch, _ = finished(ask, started(ask, line(1), line(1, custom_id="again")))

    assert [one["custom_id"] for one in lines_of(ask, batch.output_file_id)] == ["again"]


@needs("openai>=2")
def test_each_line_is_asked_once_whoever_polls() -> None:
    together = threading.Barrier(4)

    def slowly(call: Any) -> str:
        time.sleep(0.01)
        return "Done."

    def poll() -> None:
        together.wait()
        ends.append(client.batches.retrieve(batch.id))

    ends: list[Any] = []
    with fake_llm.intercept(default=slowly) as fake:
        client = openai.OpenAI(max_retries=0)
        lines = "\n".join(json.dumps(line(number)) for number in range(5)).encode()
        file = client.files.create(file=("lines.jsonl", lines), purpose="batch")
        batch = client.batches.create(input_file_id=file.id, endpoint=CHAT, completion_window="24h")
        client.batches.retrieve(batch.id)
        threads = [threading.Thread(target=poll) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(fake.calls) == 5
        assert {(end.status, end.output_file_id) for end in ends} == {("completed", ends[0].output_file_id)}
        assert len(client.files.list().data) == 2


@needs("openai>=2")
@pytest.mark.parametrize("option", [{"split": 3}, {"gzip": True}, {"bom": True}, {"ascii": True}], ids=str)
def test_a_line_is_read_however_it_is_framed(ask: Driver, option: Any) -> None:
    with fake_llm.intercept(default="One.", framing=Framing(**option)):
        batch, _ = finished(ask, started(ask, line(1), line(2)))
        said = [
            one["response"]["body"]["choices"][0]["message"]["content"] for one in lines_of(ask, batch.output_file_id)
        ]
    assert (said, batch.error_file_id) == (["One.", "One."], None)


@needs("openai>=2")
@fake_llm.intercept([Raw("<html>"), Reply("x", then=Disconnect()), Raw("gone", status=503)])
def test_a_line_that_is_no_json_went_wrong(ask: Driver) -> None:
    batch, _ = finished(ask, started(ask, line(1), line(2), line(3)))

    assert (batch.request_counts.failed, batch.output_file_id) == (3, None)
    assert {one["error"]["code"] for one in lines_of(ask, batch.error_file_id)} == {"server_error"}


@needs("openai>=2")
@fake_llm.intercept(["Never."], strict=False)
def test_a_batch_that_is_cancelled_takes_no_turn(ask: Driver, fake_llm: FakeLLM) -> None:
    batch = started(ask, line(1))
    assert ask("batches.cancel", batch.id).status == "cancelling"
    batch = ask("batches.retrieve", batch.id)

    assert (batch.status, batch.output_file_id) == ("cancelled", None)
    assert (len(fake_llm.calls), fake_llm.remaining) == (0, 1)


@needs("openai>=2")
@fake_llm.intercept([ConnectionError()])
def test_a_line_that_breaks_off(ask: Driver) -> None:
    batch, _ = finished(ask, started(ask, line(1)))

    [bad] = lines_of(ask, batch.error_file_id)
    assert (bad["response"], bad["error"]["code"]) == (None, "server_error")


@needs("openai>=2")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("{broken", "invalid_json_line"),
        (line(2, url="/v1/embeddings"), "mismatched_endpoint"),
        (line(1), "duplicate_custom_id"),
        ({"custom_id": "x"}, "missing_required_parameter"),
        (line(2, method="GET"), "invalid_method"),
    ],
)
@fake_llm.intercept()
def test_a_batch_with_a_wrong_line_fails(ask: Driver, wrong: Any, code: str) -> None:
    batch, states = finished(ask, started(ask, line(1), wrong))

    assert states == ["validating", "failed"]
    assert [(error.code, error.line) for error in batch.errors.data] == [(code, 2)]


@needs("openai>=2")
@fake_llm.intercept()
def test_what_a_batch_can_not_be(ask: Driver) -> None:
    with pytest.raises(openai.BadRequestError, match="No such File object: file-none"):
        ask("batches.create", input_file_id="file-none", endpoint=CHAT, completion_window="24h")
    file = uploaded(ask, line(1))
    with pytest.raises(openai.BadRequestError, match="Supported values are: '/v1/responses'"):
        ask("batches.create", input_file_id=file.id, endpoint="/v1/models", completion_window="24h")
    with pytest.raises(openai.NotFoundError, match="No batch found with id 'batch_none'"):
        ask("batches.retrieve", "batch_none")


@needs("openai>=2")
@fake_llm.intercept(default="Fine.")
def test_batches_are_listed_to_their_end(ask: Driver) -> None:
    made = [started(ask, line(number)).id for number in range(5)]

    assert [one.id for one in ask("batches.list", limit=2)] == made[::-1]


@needs("openai>=2")
def test_a_batch_that_nobody_asks_for_again_leaves_its_turns(ask: Driver) -> None:
    with pytest.raises(fake_llm.UnusedReplyError) as caught, fake_llm.intercept(["One."]):
        started(ask, line(1))
    assert str(caught.value).splitlines()[2:] == [
        "No call came, but a batch was made. Its lines take their turns when it is asked for the second time.",
        "Let the code ask for the batch until it has ended, or leave out what isn't needed.",
    ]


@needs("openai>=2")
def test_a_batch_that_asks_for_more_than_the_script_has_is_loud(ask: Driver) -> None:
    with (
        pytest.raises(fake_llm.UnscriptedCallError, match="Call 1: no turn was left for it"),
        fake_llm.intercept(["One."]),
    ):
        finished(ask, started(ask, line(1), line(2)))


@needs("openai>=2")
@fake_llm.intercept()
def test_files(ask: Driver, fake_llm: FakeLLM) -> None:
    data = bytes(range(256)) + b"\r\n--not a boundary\r\n"
    made = ask("files.create", file=("Ünï.bin", data, "application/pdf"), purpose="user_data")
    other = uploaded(ask, line(1))

    assert (made.filename, made.bytes, made.purpose, made.status) == ("Ünï.bin", len(data), "user_data", "processed")
    assert ask("files.content", made.id).read() == data
    assert ask("files.retrieve", made.id).id == made.id
    assert [one.id for one in ask("files.list")] == [other.id, made.id]
    assert [one.id for one in ask("files.list", purpose="batch")] == [other.id]
    assert [one.id for one in ask("files.list", limit=1)] == [other.id, made.id]
    assert ask("files.delete", made.id).deleted is True
    for path in ("retrieve", "content", "delete"):
        with pytest.raises(openai.NotFoundError, match=f"No such File object: {made.id}"):
            ask(f"files.{path}", made.id)
    assert len(fake_llm.calls) == 0


@needs("openai>=2")
def test_forbidden_are_files_and_batches_too(ask: Driver) -> None:
    with pytest.raises(fake_llm.UnscriptedCallError, match="forbidden"), fake_llm.forbid():
        ask("files.list")


# --- moderation ---------------------------------------------------------------------------------


@needs("openai>=2")
def test_moderation(ask: Driver) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="moderation", input="attack").reply({"violence": 0.9, "hate": 0.2})
        fake.when(operation="moderation", input="all").reply(Reply(finish_reason="content_filter"))
        fine = ask("moderations.create", input=["Hello", "there"])
        bad = ask("moderations.create", input="attack them", model="omni-moderation-2024-09-26")
        worst = ask(
            "moderations.create",
            input=[{"type": "text", "text": "all"}, {"type": "image_url", "image_url": {"url": "x"}}],
        )

    assert [result.flagged for result in fine.results] == [False, False]
    [result] = bad.results
    assert (result.flagged, result.categories.violence, result.categories.hate) == (True, True, False)
    assert (result.category_scores.violence, result.category_scores.hate) == (0.9, 0.2)
    assert bad.model == "omni-moderation-2024-09-26"
    assert all(worst.results[0].categories.model_dump().values())
    assert worst.results[0].category_applied_input_types.violence == ["text", "image"]
    assert [call.operation for call in fake.calls] == ["moderation"] * 3
    assert fake.calls[2].user_texts == ("all",)


@needs("openai>=2")
def test_scores_that_can_not_be(ask: Driver) -> None:
    for turn, text in (({"violens": 0.9}, "The turn scores 'violens'."), ("no", "Its answers are scores from 0 to 1")):
        with pytest.raises(ScriptMismatchError, match=text), fake_llm.intercept() as fake:
            fake.when(operation="moderation").reply(turn)
            ask("moderations.create", input="x")
    with fake_llm.intercept() as fake:
        fake.when(operation="moderation").reply(Error(429))
        with pytest.raises(openai.RateLimitError):
            ask("moderations.create", input="x")


# --- Anthropic ----------------------------------------------------------------------------------


def request(number: int, **changes: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"Question {number}"}]
    return {
        "custom_id": f"line-{number}",
        "params": {"model": "claude-sonnet-5", "max_tokens": 9, "messages": messages, **changes},
    }


def ended(claude: Driver, batch: Any) -> tuple[Any, list[str]]:
    states = [batch.processing_status]
    while batch.processing_status != "ended":
        batch = claude("messages.batches.retrieve", batch.id)
        states.append(batch.processing_status)
    return batch, states


@needs("anthropic>=1")
@fake_llm.intercept(["One.", Error("overloaded"), "Three."])
def test_a_batch_of_messages(claude: Driver, fake_llm: FakeLLM) -> None:
    batch, states = ended(claude, claude("messages.batches.create", requests=[request(number) for number in (1, 2, 3)]))

    assert states == ["in_progress", "in_progress", "ended"]
    counts = batch.request_counts
    assert (counts.processing, counts.succeeded, counts.errored) == (0, 2, 1)
    results = claude("messages.batches.results", batch.id)
    assert [(one.custom_id, one.result.type) for one in results] == [
        ("line-1", "succeeded"),
        ("line-2", "errored"),
        ("line-3", "succeeded"),
    ]
    assert results[2].result.message.content[0].text == "Three."
    assert results[1].result.error.error.type == "overloaded_error"
    assert len(fake_llm.calls) == 3
    assert [one.id for one in claude("messages.batches.list")] == [batch.id]
    assert claude("messages.batches.delete", batch.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        claude("messages.batches.retrieve", batch.id)


@needs("anthropic>=1")
@fake_llm.intercept()
def test_a_batch_of_messages_is_cancelled(claude: Driver, fake_llm: FakeLLM) -> None:
    batch = claude("messages.batches.create", requests=[request(1), request(2)])
    for path in ("results", "delete"):
        with pytest.raises(anthropic.AnthropicError):  # the SDK itself sees that there are no results yet
            claude(f"messages.batches.{path}", batch.id)
    assert claude("messages.batches.cancel", batch.id).processing_status == "canceling"
    batch, _ = ended(claude, claude("messages.batches.retrieve", batch.id))

    assert batch.request_counts.canceled == 2
    assert {one.result.type for one in claude("messages.batches.results", batch.id)} == {"canceled"}
    assert len(fake_llm.calls) == 0


@needs("anthropic>=1")
@fake_llm.intercept([Raw({"type": "message", "id": "msg_mine"})])
def test_a_malformed_line_is_an_error_of_its_own(claude: Driver, fake_llm: FakeLLM) -> None:
    wrong = request(1)
    del wrong["params"]["max_tokens"]
    batch, _ = ended(claude, claude("messages.batches.create", requests=[wrong, request(2)]))

    first, second = claude("messages.batches.results", batch.id)
    assert (first.result.type, first.result.error.error.type) == ("errored", "invalid_request_error")
    assert (second.result.type, second.result.message.id) == ("succeeded", "msg_mine")
    with pytest.raises(anthropic.BadRequestError, match="Duplicate custom_id 'line-1'"):
        claude("messages.batches.create", requests=[request(1), request(1)])
    with pytest.raises(anthropic.BadRequestError, match="requests: Field required"):
        claude("messages.batches.create", requests=[])


@needs("openai>=2")
def test_a_line_for_which_there_is_no_turn_is_told_once() -> None:
    with pytest.raises(fake_llm.UnscriptedCallError), fake_llm.intercept(["One."]) as fake:
        ask = Driver(openai.OpenAI(max_retries=0))
        batch = started(ask, line(1), line(2))
        for _ in range(4):
            try:
                batch = ask("batches.retrieve", batch.id)
            except fake_llm.UnscriptedCallError:
                continue
    assert [call.last_user_text for call in fake.calls] == ["Question 1", "Question 2"]
    assert len(fake.failures) == 1
    assert (batch.status, batch.request_counts.completed, batch.request_counts.failed) == ("completed", 1, 1)
