"""Housekeeping that fails by a rule, as SDKs see it: files, batches, models, caches, tokens."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import has, load, needs
from fake_llm import Error, FakeLLM, Raw, Reply, UnusedReplyError

LINES = ("lines.jsonl", b"{}\n")
FILES = "https://api.openai.com/v1/files"


@pytest.fixture
def openai() -> Any:
    return load("openai", "openai")


class TestOpenAI:
    def test_an_upload_fails_once(self, openai: Any) -> None:
        with fake_llm.intercept() as fake:
            fake.when(lambda call: (call.method, call.attempt) == ("POST", 1), operation="files").reply(Error(500))
            file = openai.OpenAI().files.create(file=LINES, purpose="batch")
            assert openai.OpenAI().files.content(file.id).read() == LINES[1]

        assert [(call.method, call.attempt, call.reply) for call in fake.side_calls] == [
            ("POST", 1, Error(500)),
            ("POST", 2, None),
            ("GET", 1, None),
        ]
        assert fake.side_calls[0].waited > 0, "what the SDK slept has taken no time"
        assert len(fake.calls) == 0

    def test_an_upload_fails_twice_and_an_async_client_goes_on(self, openai: Any) -> None:
        async def upload() -> Any:
            async with openai.AsyncOpenAI() as client:
                return await client.files.create(file=LINES, purpose="batch")

        async def none(call: Any) -> None:
            return None

        with fake_llm.intercept() as fake:
            fake.when(operation="files").reply(Error(500), ConnectionError(), none)
            assert asyncio.run(upload()).filename == "lines.jsonl"
        assert [call.attempt for call in fake.side_calls] == [1, 2, 3]

    def test_retries_of_a_call_get_the_error_of_a_spent_rule_and_a_new_call_does_not(self, openai: Any) -> None:
        with fake_llm.intercept() as fake:
            fake.when(operation="files", times=1).reply(Error(500))
            with pytest.raises(openai.InternalServerError):
                openai.OpenAI().files.create(file=LINES, purpose="batch")
            assert openai.OpenAI().files.create(file=LINES, purpose="batch").bytes == 3
        assert [call.attempt for call in fake.side_calls] == [1, 2, 3, 1]

    def test_a_look_up_of_models_without_a_right_to_it(self, openai: Any) -> None:
        with fake_llm.intercept(["Hello"], default="default") as fake:
            fake.when().reply("never")
            fake.when(operation="models").reply(Error(401))
            with pytest.raises(openai.AuthenticationError):
                openai.OpenAI().models.list()
            assert fake.remaining == 1
            client = openai.OpenAI()
            assert client.responses.create(model="gpt-5", input="Hi").output_text == "Hello"
        assert [call.reply for call in fake.side_calls] == [Error(401)]

    def test_a_batch_is_refused(self, openai: Any) -> None:
        with fake_llm.intercept() as fake:
            fake.when(lambda call: call.method == "POST", operation="batches").reply(Error(400, "Too many lines."))
            client = openai.OpenAI()
            file = client.files.create(file=LINES, purpose="batch")
            with pytest.raises(openai.BadRequestError, match=r"Too many lines\."):
                client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
            assert client.batches.list().data == []
        assert [call.operation for call in fake.side_calls] == ["files", "batches", "batches"]

    def test_a_body_verbatim_and_one_url_of_many(self, openai: Any) -> None:
        model = {"id": "gpt-6", "object": "model", "created": 1, "owned_by": "me"}
        with fake_llm.intercept() as fake:
            fake.when(lambda call: call.url.endswith("/gpt-6"), operation="models").reply(Raw(model))
            fake.when(lambda call: call.url.endswith("/gone"), operation="models").reply(Error("not_found"))
            assert openai.OpenAI().models.retrieve("gpt-6").owned_by == "me"
            assert openai.OpenAI().models.retrieve("gpt-5").owned_by != "me"
            with pytest.raises(openai.NotFoundError):
                openai.OpenAI().models.retrieve("gone")

    def test_what_a_block_says_of_its_answers_is_not_said_of_these(self, openai: Any) -> None:
        with fake_llm.intercept(delay=5.0) as fake:
            fake.when(operation="models").reply(Error(401))
            with pytest.raises(openai.AuthenticationError):
                openai.OpenAI(timeout=1.0).models.list()

    def test_where_calls_are_forbidden_a_rule_changes_nothing_of_what_is_refused(self, openai: Any) -> None:
        with fake_llm.forbid() as fake:
            fake.when(operation="models").reply(Error(401))
            fake.when(operation="files").reply(Error(500))
            with pytest.raises(openai.AuthenticationError):
                openai.OpenAI().models.list()
            with pytest.raises(fake_llm.UnscriptedCallError):
                openai.OpenAI().files.list()
            fake.failures.clear()


def test_other_rules_are_not_asked() -> None:
    asked: list[Any] = []

    def note(call: Any) -> bool:
        asked.append(call.operation)
        return False

    with fake_llm.intercept(default="default") as fake:
        fake.when(note).reply("never")
        fake.when(note, operation=re.compile("")).reply("never")
        fake.when(note, operation="batches").reply(Error(500))
        fake.when(input="lines", operation="files").reply(Error(500))
        fake.when(provider="anthropic", operation="files").reply(Error(500))
        fake.when(note, provider="openai", operation="files").reply(Error(500))
        assert httpx.post(FILES, files={"file": LINES}, data={"purpose": "batch"}).status_code == 200
    assert asked == ["files"]


def test_what_is_left_of_a_rule_is_unused() -> None:
    with pytest.raises(UnusedReplyError), fake_llm.intercept() as fake:
        fake.when(operation="files").reply(Error(500), Error(503))
        assert httpx.get(FILES).status_code == 500
        assert fake.remaining == 1


def test_a_copy_has_the_rule_too() -> None:
    fake = FakeLLM()
    fake.when(operation="files", times=1).reply(Error(418))
    client = httpx.Client()
    with fake.copy().mount(client) as copied:
        assert [client.get(FILES).status_code for _ in range(2)] == [418, 200]
    assert len(copied.side_calls) == 2
    assert fake.remaining == 1


def test_a_look_up_of_models_at_anthropic_fails() -> None:
    anthropic = load("anthropic", "anthropic")
    with fake_llm.intercept() as fake:
        fake.when(operation="models", provider="anthropic").reply(Error("overloaded"))
        with pytest.raises(anthropic.APIStatusError) as caught:
            anthropic.Anthropic().models.list()
    assert (caught.value.status_code, caught.value.body["error"]["type"]) == (529, "overloaded_error")
    assert [call.attempt for call in fake.side_calls] == [1, 2, 3]


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
class TestGemini:
    def test_an_upload_fails_at_its_start(self, tmp_path: Path) -> None:
        genai = load("google-genai", "google.genai")
        path = tmp_path / "a.txt"
        path.write_text("A")
        with fake_llm.intercept() as fake:
            fake.when(operation="files", times=1).reply(Error(403))
            client = genai.Client()
            with pytest.raises(genai.errors.ClientError) as caught:
                client.files.upload(file=path)
            assert client.files.upload(file=path).size_bytes == 1
        assert caught.value.code == 403

    def test_a_cache_is_refused(self) -> None:
        genai = load("google-genai", "google.genai")
        with fake_llm.intercept() as fake:
            fake.when(operation="caches").reply(Error("rate_limit"))
            client = genai.Client()
            with pytest.raises(genai.errors.ClientError) as caught:
                client.caches.create(model="gemini-2.5-flash", config={"contents": ["long " * 5000]})
        assert (caught.value.code, caught.value.status) == (429, "RESOURCE_EXHAUSTED")
        assert [call.operation for call in fake.side_calls] == ["caches"]

    @needs("google-genai", "requests")
    def test_an_exchange_of_tokens_fails(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GCE_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
        auth = importlib.import_module("google.auth.exceptions")
        genai = load("google-genai", "google.genai")
        with fake_llm.intercept(["kept"], strict=False) as fake:
            fake.when(operation="token").reply(Error(400))
            client = genai.Client(vertexai=True, project="p", location="us-central1")
            with pytest.raises(auth.RefreshError, match=r"^\('invalid_grant: Token has been expired or revoked\.'"):
                client.models.generate_content(model="gemini-2.5-flash", contents="Hi")
            assert fake.remaining == 1
        assert {call.operation for call in fake.side_calls} == {"token"}
        assert len(fake.calls) == 0


@needs("mistralai>=1")
def test_files_of_mistral_fail() -> None:
    module = importlib.import_module("mistralai.client" if has("mistralai>=2") else "mistralai")
    with fake_llm.intercept() as fake:
        fake.when(lambda call: call.method == "POST", operation="files").reply(Error(413), lambda call: None)
        client = module.Mistral(api_key="k")
        file = {"file_name": "lines.jsonl", "content": LINES[1]}
        with pytest.raises(Exception, match="413"):
            client.files.upload(file=file, purpose="batch")
        assert client.files.upload(file=file, purpose="batch").size_bytes == 3
    assert [call.reply for call in fake.side_calls] == [Error(413), None]


def test_a_mismatch_elsewhere_is_the_vendors_own_refusal() -> None:
    with fake_llm.intercept(strict=False) as fake:
        fake.when(operation="files").reply(lambda call: Reply("file-1"))
        answer = asyncio.run(_get(FILES))
    assert answer.status_code == 400
    assert "A rule answers 'files' with Reply('file-1')." in answer.json()["error"]["message"]
    assert [type(failure) for failure in fake.failures] == [fake_llm.ScriptMismatchError]


async def _get(url: str) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.get(url)


TENANT = "11111111-1111-1111-1111-111111111111"
EXCHANGES = {
    "https://oauth2.googleapis.com/token": {
        "error": "invalid_client",
        "error_description": "The OAuth client was not found.",
    },
    f"https://login.microsoftonline.com/{TENANT}/oauth2/v2.0/token": {
        "error": "invalid_client",
        "error_description": "AADSTS7000215: Invalid client secret provided.",
    },
}


@pytest.mark.parametrize("url", EXCHANGES)
def test_an_exchange_of_tokens_fails_in_its_own_form(url: str) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="token").reply(Error("authentication"))
        answer = httpx.post(url, data={"grant_type": "refresh_token"})
    assert (answer.status_code, answer.json()) == (401, EXCHANGES[url])


def test_others_that_lend_credentials_have_their_own_form_too() -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="token").reply(Error("authentication"), Error("permission"))
        fake.when(operation="projects").reply(Error("permission"))
        ibm = httpx.post("https://iam.cloud.ibm.com/identity/token", data={"apikey": "k"})
        project = httpx.get("https://api.dataplatform.cloud.ibm.com/v2/projects/p")
        google = httpx.post("https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a:generateAccessToken")
    assert (ibm.status_code, ibm.json()["errorCode"]) == (401, "BXNIM0415E")
    assert (project.status_code, project.json()["errors"][0]["code"]) == (403, "user_authorization_failed")
    assert google.json()["error"]["status"] == "PERMISSION_DENIED"
