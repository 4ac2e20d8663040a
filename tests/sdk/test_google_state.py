"""Cached contents, files and batches of the Gemini API, as google-genai asks for them, sync and async."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Error, FakeLLM, Reply, UnscriptedCallError, Usage, forbid

genai = load("google-genai", "google.genai")
MODEL = "gemini-2.5-flash"
LONG = "All work and no play. " * 40


class Ask:
    """A client by the path of its method; what is a list is read to its end."""

    def __init__(self, asynchronous: bool) -> None:
        self.client = genai.Client()
        self._runner = asyncio.Runner() if asynchronous else None

    def __call__(self, path: str, *args: Any, **options: Any) -> Any:
        target = self.client if self._runner is None else self.client.aio
        for name in path.split("."):
            target = getattr(target, name)
        if self._runner is None:
            given = target(*args, **options)
            return list(given) if path.endswith("list") else given
        return self._runner.run(self._awaited(target, path, args, options))

    @staticmethod
    async def _awaited(target: Any, path: str, args: Any, options: Any) -> Any:
        given = await target(*args, **options)
        return [each async for each in given] if path.endswith("list") else given

    def close(self) -> None:
        if self._runner is not None:
            close = getattr(self.client.aio, "aclose", None)
            if close is not None:
                self._runner.run(close())
            self._runner.close()


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Any:
    with fake_llm.intercept():
        made = Ask(request.param == "async")
    yield made
    made.close()


def refused(code: int, words: str) -> Any:
    return pytest.raises(genai.errors.ClientError, match=f"(?s){code}.*{words}")


def uploaded(ask: Ask, text: str, **config: Any) -> Any:
    return ask("files.upload", file=io.BytesIO(text.encode()), config={"mime_type": "text/plain", **config})


# --- cached contents ----------------------------------------------------------------------------


def cached(ask: Ask, **config: Any) -> Any:
    return ask("caches.create", model=MODEL, config={"contents": LONG, "display_name": "work", **config})


@fake_llm.intercept(["It is about work.", Reply("Again.", usage=Usage(9, 2, cached_tokens=5))])
def test_an_answer_from_what_is_cached(ask: Ask, fake_llm: FakeLLM) -> None:
    cache = cached(ask, system_instruction="Be brief.", ttl="60s")
    assert (cache.model, cache.display_name, cache.name[:15]) == (f"models/{MODEL}", "work", "cachedContents/")
    assert (cache.expire_time - cache.create_time).total_seconds() == 60
    size = cache.usage_metadata.total_token_count
    assert size > 200

    config = {"cached_content": cache.name}
    first = ask("models.generate_content", model=MODEL, contents="What is it about?", config=config)
    usage = first.usage_metadata
    assert (first.text, usage.cached_content_token_count) == ("It is about work.", size)
    assert usage.prompt_token_count > size
    assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count
    second = ask("models.generate_content", model=MODEL, contents="Again?", config=config)
    assert second.usage_metadata.cached_content_token_count == 5
    assert [message.text for message in fake_llm.calls[0].messages] == ["What is it about?"]
    assert [message.text for message in fake_llm.calls[0].conversation][:1] == [LONG]
    assert [call.operation for call in fake_llm.side_calls] == ["caches"]


@fake_llm.intercept()
def test_a_cache_lives(ask: Ask) -> None:
    first, second = cached(ask), cached(ask)
    assert ask("caches.get", name=first.name) == first
    assert [each.name for each in ask("caches.list", config={"page_size": 1})] == [first.name, second.name]
    longer = ask("caches.update", name=first.name, config={"ttl": "7200.5s"})
    assert (longer.expire_time - first.create_time).total_seconds() == 7200.5
    assert ask("caches.get", name=first.name).expire_time == longer.expire_time
    ask("caches.delete", name=first.name)
    assert [each.name for each in ask("caches.list")] == [second.name]
    ask("caches.delete", name=second.name)
    assert ask("caches.list") == []
    for method in ("caches.get", "caches.delete"):
        with refused(403, "CachedContent not found"):
            ask(method, name=first.name)


@fake_llm.intercept()
def test_a_cache_that_does_not_fit(ask: Ask, fake_llm: FakeLLM) -> None:
    cache = cached(ask)
    for model, config, code, words in (
        (MODEL, {"cached_content": "cachedContents/none"}, 403, "CachedContent not found"),
        ("gemini-2.5-pro", {"cached_content": cache.name}, 400, "has to be the same"),
        (MODEL, {"cached_content": cache.name, "system_instruction": "Be long."}, 400, "can not be used with"),
    ):
        with refused(code, words):
            ask("models.generate_content", model=model, contents="Hi", config=config)
    with refused(400, "ttl"):
        cached(ask, ttl="soon")
    assert len(fake_llm.calls) == 3


def test_nothing_is_shared_between_blocks(ask: Ask) -> None:
    with fake_llm.intercept(["a"], strict=False) as fake:
        cache = cached(ask)
        other = fake.copy()
        assert [each.name for each in ask("caches.list")] == [cache.name]
        fake.reset()
        assert ask("caches.list") == []
    with fake_llm.intercept():
        assert ask("caches.list") == []
    client = httpx.Client()
    with other.mount(client):
        url = "https://generativelanguage.googleapis.com/v1beta/cachedContents"
        assert client.get(url).json() == {}


# --- files --------------------------------------------------------------------------------------


@fake_llm.intercept()
def test_a_file_lives(ask: Ask, fake_llm: FakeLLM) -> None:
    first = uploaded(ask, "Hello!", display_name="greeting", name="files/greeting")
    second = uploaded(ask, "Bye!")

    assert (first.name, first.display_name, first.mime_type, first.size_bytes) == (
        "files/greeting",
        "greeting",
        "text/plain",
        6,
    )
    assert (first.state, first.source) == (genai.types.FileState.ACTIVE, genai.types.FileSource.UPLOADED)
    assert first.uri.endswith("/files/greeting")
    assert ask("files.get", name=first.name) == first
    assert [each.name for each in ask("files.list", config={"page_size": 1})] == [first.name, second.name]
    ask("files.delete", name=first.name)
    assert [each.name for each in ask("files.list")] == [second.name]
    for method in ("files.get", "files.delete"):
        with refused(403, "permission to access the File greeting or it may not exist"):
            ask(method, name=first.name)
    with refused(400, "only generated files"):
        ask("files.download", file=second.name)
    assert {call.operation for call in fake_llm.side_calls} == {"files"}


@fake_llm.intercept(["A greeting."])
def test_a_file_from_the_disk_in_a_request(ask: Ask, fake_llm: FakeLLM, tmp_path: Path) -> None:
    path = tmp_path / "greeting.txt"
    path.write_text("Hello!")
    file = ask("files.upload", file=str(path))

    assert ask("models.generate_content", model=MODEL, contents=["What is it?", file]).text == "A greeting."
    assert fake_llm.calls[0].last_user_text == "What is it?\n[file]"
    assert file.uri.encode() in fake_llm.calls[0].raw


@fake_llm.intercept()
def test_a_file_in_several_pieces() -> None:
    base = "https://generativelanguage.googleapis.com"
    post = httpx.Client(verify=False).post
    start = {"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"}
    begun = post(f"{base}/upload/v1beta/files", headers=start, json={"file": {"display_name": "x"}})
    url = begun.headers["x-goog-upload-url"]
    asked = post(url, headers={"X-Goog-Upload-Command": "upload", "X-Goog-Upload-Offset": "0"}, content=b"ab")
    assert (asked.headers["x-goog-upload-status"], asked.content) == ("active", b"")
    assert post(url, headers={"X-Goog-Upload-Command": "query"}).headers["x-goog-upload-size-received"] == "2"
    wrong = post(url, headers={"X-Goog-Upload-Command": "upload", "X-Goog-Upload-Offset": "9"}, content=b"c")
    assert wrong.status_code == 400
    last = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "2"}
    file = post(url, headers=last, content=b"c").json()["file"]
    assert (file["sizeBytes"], file["displayName"], file["uri"]) == ("3", "x", f"{base}/v1beta/{file['name']}")
    assert post(url, headers=last, content=b"c").status_code == 400
    for name, status in (("files/UPPER", 400), (file["name"], 409)):
        assert post(f"{base}/upload/v1beta/files", headers=start, json={"file": {"name": name}}).status_code == status


# --- batches ------------------------------------------------------------------------------------


def question(number: int) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": f"Question {number}"}]}]}


def finished(ask: Ask, job: Any) -> tuple[Any, list[str]]:
    states = [job.state.name]
    while job.state.name in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING"):
        job = ask("batches.get", name=job.name)
        states.append(job.state.name)
    return job, states


@needs("google-genai>=3")
@fake_llm.intercept(["One.", Error("rate_limit"), "Three."])
def test_a_batch_is_answered_from_the_script(ask: Ask, fake_llm: FakeLLM) -> None:
    lines = [{**question(number), "metadata": {"key": f"line-{number}"}} for number in (1, 2, 3)]
    job = ask("batches.create", model=MODEL, src=lines, config={"display_name": "questions"})
    assert (job.model, job.display_name, fake_llm.remaining) == (f"models/{MODEL}", "questions", 3)
    job, states = finished(ask, job)

    assert states == ["JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED"]
    first, second, third = job.dest.inlined_responses
    assert [first.response.text, third.response.text] == ["One.", "Three."]
    assert (second.response, second.error.code) == (None, 8)
    assert [one.metadata for one in (first, second, third)] == [{"key": f"line-{number}"} for number in (1, 2, 3)]
    assert [call.last_user_text for call in fake_llm.calls] == ["Question 1", "Question 2", "Question 3"]
    assert ask("batches.get", name=job.name) == job
    assert len(fake_llm.calls) == 3


@needs("google-genai>=3")
@fake_llm.intercept(["One.", ConnectionError()])
def test_a_batch_with_a_file(ask: Ask, fake_llm: FakeLLM) -> None:
    lines = "\n".join(json.dumps({"key": f"line-{number}", "request": question(number)}) for number in (1, 2))
    file = uploaded(ask, lines, mime_type="jsonl")
    job, _ = finished(ask, ask("batches.create", model=MODEL, src=file.name))

    told = [json.loads(line) for line in ask("files.download", file=job.dest.file_name).splitlines()]
    assert [one["key"] for one in told] == ["line-1", "line-2"]
    assert told[0]["response"]["candidates"][0]["content"]["parts"] == [{"text": "One."}]
    assert told[1]["error"]["code"] == 13
    assert ask("files.get", name=job.dest.file_name).source is genai.types.FileSource.GENERATED


@needs("google-genai>=3")
@pytest.mark.filterwarnings("ignore:batches.create_embeddings")
@fake_llm.intercept()
def test_a_batch_of_embeddings(ask: Ask, fake_llm: FakeLLM) -> None:
    source = genai.types.EmbeddingsBatchJobSource(inlined_requests={"contents": ["a", "b"]})
    job, _ = finished(ask, ask("batches.create_embeddings", model="gemini-embedding-001", src=source))

    assert [len(one.response.embedding.values) for one in job.dest.inlined_embed_content_responses] == [3072, 3072]
    assert [call.operation for call in fake_llm.calls] == ["embeddings", "embeddings"]


@needs("google-genai>=3")
@fake_llm.intercept(["Never."], strict=False)
def test_a_batch_that_is_cancelled_takes_no_turn(ask: Ask, fake_llm: FakeLLM) -> None:
    job = ask("batches.create", model=MODEL, src=[question(1)])
    ask("batches.cancel", name=job.name)
    job = ask("batches.get", name=job.name)

    assert (job.state.name, job.dest, len(fake_llm.calls), fake_llm.remaining) == ("JOB_STATE_CANCELLED", None, 0, 1)


@needs("google-genai>=3")
@fake_llm.intercept(["One."])
def test_a_batch_is_listed_and_deleted(ask: Ask) -> None:
    assert ask("batches.list") == []
    jobs = [ask("batches.create", model=MODEL, src=[question(number)]) for number in (1, 2, 3)]
    assert [job.name for job in ask("batches.list", config={"page_size": 2})] == [job.name for job in jobs]
    done, _ = finished(ask, jobs[0])
    ask("batches.cancel", name=done.name)
    assert ask("batches.get", name=done.name).state.name == "JOB_STATE_SUCCEEDED"
    ask("batches.delete", name=done.name)
    assert len(ask("batches.list")) == 2
    with refused(404, "was not found"):
        ask("batches.get", name=done.name)


@needs("google-genai>=3")
@fake_llm.intercept()
def test_what_a_batch_can_not_be(ask: Ask) -> None:
    with refused(403, "File none or it may not exist"):
        ask("batches.create", model=MODEL, src="files/none")
    file = uploaded(ask, "{broken")
    with refused(400, "line 1"):
        ask("batches.create", model=MODEL, src=file.name)
    for body in (
        {},
        {"batch": {}},
        {"batch": {"inputConfig": {}}},
        {"batch": {"input_config": {"requests": {"requests": [1]}}}},
    ):
        url = f"https://generativelanguage.googleapis.com/v1beta/models/{MODEL}:batchGenerateContent"
        assert httpx.post(url, json=body, verify=False).status_code == 400


@needs("google-genai>=3")
@pytest.mark.parametrize("method", ["files.list", "caches.list", "batches.list"])
def test_what_is_kept_is_forbidden_where_models_are(ask: Ask, method: str) -> None:
    with pytest.raises(UnscriptedCallError, match="forbidden"), forbid():
        ask(method)
