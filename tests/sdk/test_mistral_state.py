"""Files, batch jobs and moderation of Mistral, as both generations of its SDK ask for them, sync and async."""

from __future__ import annotations

import asyncio
import importlib
import json
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import has, needs
from fake_llm import Error, FakeLLM, Reply, ScriptMismatchError

pytestmark = needs("mistralai>=1")
MODEL = "mistral-small-latest"
CHAT = "/v1/chat/completions"


class Ask:
    """A client by the path of its method, sync or async."""

    def __init__(self, asynchronous: bool) -> None:
        module = importlib.import_module("mistralai.client" if has("mistralai>=2") else "mistralai")
        self._client = module.Mistral(api_key="k")
        self._runner = asyncio.Runner() if asynchronous else None

    def __call__(self, path: str, **options: Any) -> Any:
        target: Any = self._client
        for name in (path if self._runner is None else f"{path}_async").split("."):
            target = getattr(target, name)
        return target(**options) if self._runner is None else self._runner.run(self._awaited(target, options))

    @staticmethod
    async def _awaited(target: Any, options: Any) -> Any:
        return await target(**options)

    def read(self, file: str) -> bytes:
        """The bytes of a file."""
        if self._runner is None:
            return bytes(self._client.files.download(file_id=file).read())
        return self._runner.run(self._read(file))

    async def _read(self, file: str) -> bytes:
        answer = await self._client.files.download_async(file_id=file)
        return bytes(await answer.aread())

    def close(self) -> None:
        if self._runner is not None:
            self._runner.close()


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Any:
    with fake_llm.intercept():
        made = Ask(request.param == "async")
    yield made
    made.close()


def refused(status: int, words: str) -> Any:
    errors = importlib.import_module("mistralai.client.errors" if has("mistralai>=2") else "mistralai.models")
    return pytest.raises((errors.SDKError, errors.HTTPValidationError), match=rf"(?s){status}.*{words}|{words}")


def uploaded(ask: Ask, text: str, name: str = "lines.jsonl", purpose: str = "batch") -> Any:
    return ask("files.upload", file={"file_name": name, "content": text.encode()}, purpose=purpose)


# --- files --------------------------------------------------------------------------------------


@fake_llm.intercept()
def test_a_file_lives(ask: Ask, fake_llm: FakeLLM) -> None:
    first = uploaded(ask, "{}\n{}\n")
    second = uploaded(ask, "%PDF", "a.pdf", "ocr")

    assert (first.object, first.size_bytes, first.filename, first.purpose) == ("file", 6, "lines.jsonl", "batch")
    assert (first.sample_type, first.source, first.num_lines) == ("batch_request", "upload", 2)
    found = ask("files.retrieve", file_id=first.id)
    assert (found.id, found.deleted, found.signature) == (first.id, False, first.signature)
    assert [one.id for one in ask("files.list").data] == [second.id, first.id]
    assert [one.id for one in ask("files.list", purpose="ocr").data] == [second.id]
    assert [one.id for one in ask("files.list", sample_type=["batch_request"]).data] == [first.id]
    assert [one.id for one in ask("files.list", page=1, page_size=1).data] == [first.id]
    assert ask("files.list", page=2, page_size=1).data == []
    assert ask.read(first.id) == b"{}\n{}\n"
    url = ask("files.get_signed_url", file_id=first.id).url
    assert httpx.get(url, verify=False).content == b"{}\n{}\n"
    assert ask("files.delete", file_id=first.id).deleted
    for method in ("files.retrieve", "files.delete", "files.get_signed_url"):
        with refused(404, f"File {first.id} not found"):
            ask(method, file_id=first.id)
    assert {call.operation for call in fake_llm.side_calls} == {"files"}


def test_nothing_is_shared_between_blocks(ask: Ask) -> None:
    with fake_llm.intercept() as fake:
        uploaded(ask, "{}")
        assert len(ask("files.list").data) == 1
        fake.reset()
        assert ask("files.list").data == []
        uploaded(ask, "{}")
    with fake_llm.intercept():
        assert ask("files.list").data == []


# --- jobs ---------------------------------------------------------------------------------------


def line(number: int, **changes: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": f"Question {number}"}]}
    return {"custom_id": f"line-{number}", "body": body, **changes}


def started(ask: Ask, *lines: Any, **options: Any) -> Any:
    text = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines)
    file = uploaded(ask, text)
    return ask("batch.jobs.create", input_files=[file.id], endpoint=CHAT, **{"model": MODEL, **options})


def finished(ask: Ask, job: Any, **options: Any) -> tuple[Any, list[str]]:
    states = [job.status]
    while job.status in ("QUEUED", "RUNNING"):
        job = ask("batch.jobs.get", job_id=job.id, **options)
        states.append(job.status)
    return job, states


def lines_of(ask: Ask, file: str) -> list[Any]:
    return [json.loads(each) for each in ask.read(file).splitlines()]


@fake_llm.intercept(["One.", Error("rate_limit"), "Three."])
def test_a_job_is_answered_from_the_script(ask: Ask, fake_llm: FakeLLM) -> None:
    job = started(ask, line(1), line(2), line(3), metadata={"a": "b"})
    assert (job.total_requests, job.completed_requests, fake_llm.remaining) == (3, 0, 3)
    job, states = finished(ask, job)

    assert states == ["QUEUED", "RUNNING", "SUCCESS"]
    assert (job.succeeded_requests, job.failed_requests, job.metadata) == (2, 1, {"a": "b"})
    assert [(error.message, error.count) for error in job.errors] == [("Rate limit exceeded", 1)]
    good = lines_of(ask, job.output_file)
    assert [(one["custom_id"], one["response"]["status_code"]) for one in good] == [("line-1", 200), ("line-3", 200)]
    said = [one["response"]["body"]["choices"][0]["message"]["content"] for one in good]
    assert said == ["One.", "Three."]
    [bad] = lines_of(ask, job.error_file)
    assert (bad["custom_id"], bad["response"]["status_code"]) == ("line-2", 429)
    assert [call.last_user_text for call in fake_llm.calls] == ["Question 1", "Question 2", "Question 3"]
    assert {call.model for call in fake_llm.calls} == {MODEL}
    assert ask("files.retrieve", file_id=job.output_file).sample_type == "batch_result"


@needs("mistralai>=2")
@fake_llm.intercept(["One.", ConnectionError(), "Three."])
def test_a_job_of_requests_in_the_body(ask: Ask, fake_llm: FakeLLM) -> None:
    requests = [line(number) for number in (1, 2, 3)]
    job = ask("batch.jobs.create", requests=requests, endpoint=CHAT, model=MODEL)
    job, _ = finished(ask, job, inline=True)

    assert [one["custom_id"] for one in job.outputs] == ["line-1", "line-2", "line-3"]
    assert [one["response"]["status_code"] for one in job.outputs] == [200, 500, 200]
    assert job.outputs[0]["response"]["body"]["choices"][0]["message"]["content"] == "One."


@fake_llm.intercept(["Never."], strict=False)
def test_a_job_that_is_cancelled_takes_no_turn(ask: Ask, fake_llm: FakeLLM) -> None:
    job = started(ask, line(1))
    assert ask("batch.jobs.cancel", job_id=job.id).status == "CANCELLATION_REQUESTED"
    job = ask("batch.jobs.get", job_id=job.id)
    assert (job.status, job.output_file, len(fake_llm.calls), fake_llm.remaining) == ("CANCELLED", None, 0, 1)


@fake_llm.intercept()
def test_a_job_with_wrong_lines_fails(ask: Ask) -> None:
    job, states = finished(ask, started(ask, line(1), "{broken", {"custom_id": "x"}))
    assert states == ["QUEUED", "FAILED"]
    assert [(error.message, error.count) for error in job.errors] == [
        ("Each line has to be a JSON object with a body", 2)
    ]


@fake_llm.intercept(["One."])
def test_jobs_are_listed(ask: Ask) -> None:
    jobs = [started(ask, line(number), model=f"m{number}") for number in (1, 2, 3)]
    finished(ask, jobs[0])

    listed = ask("batch.jobs.list")
    assert ([job.id for job in listed.data], listed.total) == ([job.id for job in reversed(jobs)], 3)
    assert [job.id for job in ask("batch.jobs.list", model="m2").data] == [jobs[1].id]
    assert [job.id for job in ask("batch.jobs.list", status=["SUCCESS"]).data] == [jobs[0].id]
    assert [job.id for job in ask("batch.jobs.list", page=1, page_size=2).data] == [jobs[0].id]


@needs("mistralai>=3")
@fake_llm.intercept()
def test_a_job_is_deleted(ask: Ask) -> None:
    job = started(ask, line(1))
    assert ask("batch.jobs.delete", job_id=job.id).deleted
    with refused(404, f"Batch job {job.id} not found"):
        ask("batch.jobs.get", job_id=job.id)


@fake_llm.intercept(["One."])
def test_what_a_job_can_not_be(ask: Ask) -> None:
    with refused(404, "File none not found"):
        ask("batch.jobs.create", input_files=["none"], endpoint=CHAT, model=MODEL)
    file = uploaded(ask, json.dumps(line(1)))
    wrong = {"input_files": [file.id], "endpoint": "/v1/models"}  # the SDK warns of it
    answer = httpx.post("https://api.mistral.ai/v1/batch/jobs", json=wrong, verify=False)
    assert (answer.status_code, answer.json()["detail"][0]["msg"][:16]) == (422, "endpoint: Input ")
    with refused(422, "Either input_files or requests"):
        ask("batch.jobs.create", input_files=[], endpoint=CHAT, model=MODEL)
    done, _ = finished(ask, ask("batch.jobs.create", input_files=[file.id], endpoint=CHAT, model=MODEL))
    with refused(409, "SUCCESS can't be cancelled"):
        ask("batch.jobs.cancel", job_id=done.id)


# --- moderation ---------------------------------------------------------------------------------


@fake_llm.intercept()
def test_moderation(ask: Ask, fake_llm: FakeLLM) -> None:
    fake_llm.when(input="fight", operation="moderation").reply({"violence_and_threats": 0.9})
    fake_llm.when(input="old", operation="moderation").reply({"dangerous_and_criminal_content": 0.4})
    fine = ask("classifiers.moderate", model="mistral-moderation-2411", inputs=["Hi", "Hello"])
    hard = ask("classifiers.moderate", model="mistral-moderation-latest", inputs="Let's fight")
    old = ask("classifiers.moderate", model="mistral-moderation-latest", inputs="old")

    assert [any(one.categories.values()) for one in fine.results] == [False, False]
    assert list(fine.results[0].categories)[3:5] == ["dangerous_and_criminal_content", "selfharm"]
    assert [name for name, yes in hard.results[0].categories.items() if yes] == ["violence_and_threats"]
    assert hard.results[0].category_scores["violence_and_threats"] == 0.9
    assert "jailbreaking" in hard.results[0].categories
    assert (
        old.results[0].category_scores["dangerous_and_criminal_content"],
        any(old.results[0].categories.values()),
    ) == (
        0.4,
        False,
    )
    assert (fake_llm.calls[0].operation, fake_llm.calls[0].user_texts) == ("moderation", ("Hi", "Hello"))


@fake_llm.intercept()
def test_moderation_of_a_conversation(ask: Ask, fake_llm: FakeLLM) -> None:
    fake_llm.when(operation="moderation").reply(Reply(finish_reason="content_filter"))
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    one = ask("classifiers.moderate_chat", model="mistral-moderation-latest", inputs=chat)
    two = ask("classifiers.moderate_chat", model="mistral-moderation-latest", inputs=[chat, chat[:1]])

    assert (len(one.results), len(two.results)) == (1, 2)
    assert all(one.results[0].categories.values())
    assert [message.role for message in fake_llm.calls[0].messages] == ["user", "assistant"]
    assert fake_llm.calls[1].user_texts == ("Hi", "Hi")


@fake_llm.intercept()
def test_moderation_refuses(ask: Ask, fake_llm: FakeLLM) -> None:
    url = "https://api.mistral.ai/v1"
    for path, body in (
        ("moderations", {"model": "m"}),
        ("moderations", {"model": "m", "input": [1]}),
        ("chat/moderations", {"model": "m", "input": "Hi"}),
        ("chat/moderations", {"model": "m", "input": [{"role": "nobody"}]}),
    ):
        assert httpx.post(f"{url}/{path}", json=body, verify=False).status_code == 422
    fake_llm.when(operation="moderation").reply(Error("authentication"))
    with refused(401, "Invalid API Key"):
        ask("classifiers.moderate", model="m", inputs="Hi")


def test_moderation_of_another_category() -> None:
    with pytest.raises(ScriptMismatchError, match="'violence'"), fake_llm.intercept() as fake:
        fake.when(operation="moderation").reply({"violence": 0.9})
        httpx.post("https://api.mistral.ai/v1/moderations", json={"model": "m", "input": "Hi"}, verify=False)
