"""What SDKs and frameworks do beside asking a model: answered, refused at once or passed on, and never a turn's business."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _asking import ask
from _capability import needs
from fake_llm import FakeLLM, UninterceptedCallError, UnknownEndpointError
from fake_llm._endpoints import ERRANDS, LENDERS, PROVIDERS
from fake_llm._services.identity import GOOGLE_USER

TENANT = "11111111-1111-1111-1111-111111111111"
SCOPE = "https://cognitiveservices.azure.com/.default"
SOON = 0.8
"""Seconds; the shortest wait of an SDK for a metadata server that isn't there is one second."""


def at_once(ask: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    try:
        return ask()
    finally:
        assert time.perf_counter() - start < SOON


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine on which nobody has logged in to a cloud."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "GCE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))


# --- the table ----------------------------------------------------------------------------------


def test_the_errands_are_at_hosts_of_no_provider() -> None:
    of_models = {host for provider in PROVIDERS for host in provider.hosts}
    lenders = [errand.lender for errand in ERRANDS if errand.lender is not None]

    assert not of_models & {host for errand in ERRANDS for host in errand.hosts}
    assert [lender.name for lender in lenders] == [lender.name for lender in LENDERS]
    for errand in ERRANDS:
        assert (errand.lender is None) == bool(errand.off), "what is passed on can be turned off"
        if errand.lender is not None:
            assert set(errand.hosts) <= {host for host, _ in errand.lender.shared}


def test_lenders_have_no_language_and_housekeeping_only() -> None:
    for lender in LENDERS:
        assert not lender.hosts
        assert all(row.side and row.service is not None for row in lender.endpoints)
        with pytest.raises(fake_llm.ScriptError, match="is no provider that can be answered"):
            FakeLLM(hosts={"llm.corp.example": lender.name})


# --- exchanges of tokens ------------------------------------------------------------------------

EXCHANGES = [
    ("POST", "https://oauth2.googleapis.com/token", "google"),
    ("POST", "https://sts.googleapis.com/v1/token", "google"),
    ("POST", "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken", "google"),
    ("POST", f"https://login.microsoftonline.com/{TENANT}/oauth2/v2.0/token", "microsoft"),
    ("GET", f"https://login.microsoftonline.com/{TENANT}/v2.0/.well-known/openid-configuration", "microsoft"),
    ("GET", "https://login.microsoftonline.com/common/discovery/instance?api-version=1.1", "microsoft"),
    ("POST", "https://iam.cloud.ibm.com/identity/token", "ibm"),
    ("GET", "http://metadata.google.internal/computeMetadata/v1/instance/?recursive=true", "metadata"),
    ("PUT", "http://169.254.169.254/latest/api/token", "metadata"),
    ("GET", "http://169.254.170.2/v2/credentials", "metadata"),
    ("GET", "http://[fd00:ec2::254]/latest/meta-data/", "metadata"),
]


@pytest.mark.parametrize(("method", "url", "provider"), EXCHANGES)
def test_it_never_takes_a_turn(method: str, url: str, provider: str) -> None:
    with fake_llm.intercept(["Hello"]) as fake:
        answer = httpx.request(method, url)
        assert ask() == "Hello"

    assert answer.status_code == (404 if provider == "metadata" else 200)
    assert [(call.provider, call.url) for call in fake.side_calls] == [(provider, url)]
    assert len(fake.calls) == 1


@pytest.mark.parametrize(("method", "url", "provider"), EXCHANGES)
@pytest.mark.parametrize("block", [fake_llm.intercept, fake_llm.forbid])
def test_without_dummies_it_is_left_alone(method: str, url: str, provider: str, block: Any) -> None:
    with block(env=False) as fake:
        assert not fake.claims(method, url)


@pytest.mark.parametrize(("method", "url", "provider"), EXCHANGES)
def test_where_calls_are_forbidden_it_is_answered_all_the_same(method: str, url: str, provider: str) -> None:
    with fake_llm.forbid() as fake:
        assert httpx.request(method, url).status_code == (404 if provider == "metadata" else 200)

    assert [(call.provider, call.url) for call in fake.side_calls] == [(provider, url)]
    assert len(fake.calls) == 0


def test_where_calls_are_forbidden_there_is_no_metadata_server() -> None:
    with fake_llm.forbid() as fake, socket.socket() as plain, pytest.raises(ConnectionRefusedError):
        plain.connect(("169.254.169.254", 80))
    assert fake.failures == []


ERRANDS_OF_PROVIDERS = [
    ("POST", "https://api.openai.com/v1/traces/ingest"),
    ("GET", "https://api.openai.com/v1/models"),
    ("GET", "https://api.cerebras.ai/v1/tcp_warming"),
]


@pytest.mark.parametrize(("method", "url"), ERRANDS_OF_PROVIDERS)
def test_what_asks_no_model_isnt_forbidden(method: str, url: str) -> None:
    """An exporter's thread, which an earlier block has left, fails no innocent one."""
    with fake_llm.forbid() as fake:
        thread = threading.Thread(target=httpx.request, args=(method, url), kwargs={"json": {"data": []}})
        thread.start()
        thread.join()

    assert [call.url for call in fake.side_calls] == [url]
    assert (len(fake.calls), fake.failures) == (0, [])


@needs("google-genai", "requests")
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.usefixtures("nobody")
def test_a_forbidden_call_to_vertex_is_the_failure_and_not_its_token() -> None:
    import google.auth  # noqa: F401
    from google import genai

    def ask_quietly() -> None:
        client = genai.Client(vertexai=True, project="p", location="us-central1")
        with contextlib.suppress(Exception):
            client.models.generate_content(model="gemini-2.5-flash", contents="Hi")

    with (
        pytest.raises(fake_llm.UnscriptedCallError, match="a call to vertex"),
        fake_llm.forbid() as fake,
        ThreadPoolExecutor(1) as pool,
    ):
        pool.submit(ask_quietly).result()

    assert [call.url for call in fake.side_calls] == ["https://oauth2.googleapis.com/token"]


def test_other_paths_of_these_hosts_are_left_alone() -> None:
    with fake_llm.intercept() as fake:
        for url in ("https://oauth2.googleapis.com/revoke", "https://login.microsoftonline.com/common/login"):
            assert not fake.claims("POST", url)
        assert not fake._refuses("oauth2.googleapis.com", 443)


@needs("google-auth", "requests")
@pytest.mark.usefixtures("nobody")
def test_google_has_credentials_of_a_user_and_a_token() -> None:
    code = """
        import fake_llm
        with fake_llm.intercept() as fake:
            import google.auth, google.auth.transport.requests
            credentials, project = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
            credentials.refresh(google.auth.transport.requests.Request())
            print(credentials.token, credentials.valid, project, [call.url for call in fake.side_calls])
        import os
        print(os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"))
    """
    assert in_a_process(code) == "fake-llm True None ['https://oauth2.googleapis.com/token']\nNone"


@needs("google-auth")
@pytest.mark.usefixtures("nobody")
def test_who_has_logged_in_keeps_their_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import google.auth  # noqa: F401

    name = "GOOGLE_APPLICATION_CREDENTIALS"
    with fake_llm.intercept():
        assert os.environ[name] == GOOGLE_USER
    (tmp_path / "application_default_credentials.json").write_text("{}")
    with fake_llm.intercept():
        assert name not in os.environ
    (tmp_path / "application_default_credentials.json").unlink()
    monkeypatch.setenv(name, "mine.json")
    with fake_llm.intercept():
        assert os.environ[name] == "mine.json"


@needs("google-genai", "requests")
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("on_loop", [False, True])
def test_vertex_comes_as_far_as_the_model_without_credentials(on_loop: bool) -> None:
    import google.auth  # noqa: F401
    from google import genai

    with fake_llm.intercept() as fake:
        client = genai.Client(vertexai=True, project="p", location="us-central1")
        asked: Any = {"model": "gemini-2.5-flash", "contents": "Hi"}
        with pytest.raises((UnknownEndpointError, fake_llm.UnscriptedCallError)):
            if on_loop:

                async def main() -> None:
                    with fake_llm.intercept():  # so that the failure is raised in this task
                        await client.aio.models.generate_content(**asked)

                asyncio.run(main())
            else:
                client.models.generate_content(**asked)
        fake.failures.clear()


@needs("azure-identity")
@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("on_loop", [False, True])
def test_azure_gets_a_token(on_loop: bool) -> None:
    import azure.identity
    import azure.identity.aio

    async def main() -> Any:
        async with azure.identity.aio.ClientSecretCredential(TENANT, "id", "secret") as credential:
            return await credential.get_token(SCOPE)

    with fake_llm.intercept(["Hello"]) as fake:
        if on_loop:
            token = asyncio.run(main())
        else:
            token = azure.identity.ClientSecretCredential(TENANT, "id", "secret").get_token(SCOPE)
        assert ask() == "Hello"

    assert token.token == "fake-llm"
    assert {call.provider for call in fake.side_calls} == {"microsoft"}


@needs("ibm-cloud-sdk-core")
def test_ibm_gets_a_token_that_looks_like_one() -> None:
    from ibm_cloud_sdk_core.authenticators import IAMAuthenticator

    with fake_llm.intercept() as fake:
        manager = IAMAuthenticator("key").token_manager
        assert manager.get_token().count(".") == 2
        assert manager.get_token()
    assert [call.provider for call in fake.side_calls] == ["ibm"]


# --- metadata servers ---------------------------------------------------------------------------


@needs("google-auth", "requests")
@pytest.mark.usefixtures("nobody")
def test_google_doesnt_wait_for_a_metadata_server() -> None:
    import google.auth

    with fake_llm.intercept() as fake:
        del os.environ["GOOGLE_APPLICATION_CREDENTIALS"]
        with pytest.raises(google.auth.exceptions.DefaultCredentialsError):
            at_once(google.auth.default)
    assert {call.provider for call in fake.side_calls} == {"metadata"}
    assert not fake.failures


@needs("botocore")
@pytest.mark.usefixtures("nobody")
def test_botocore_doesnt_wait_for_a_metadata_server() -> None:
    import botocore.session

    with fake_llm.intercept() as fake:
        for name in [name for name in os.environ if name.startswith("AWS_") and "KEY" in name]:
            del os.environ[name]
        assert at_once(lambda: botocore.session.Session().get_credentials()) is None
    assert [call.method for call in fake.side_calls] == ["PUT", "GET"]


@needs("azure-identity")
@pytest.mark.usefixtures("nobody")
def test_azure_doesnt_wait_for_a_metadata_server() -> None:
    import azure.identity

    with fake_llm.intercept() as fake, pytest.raises(azure.identity.CredentialUnavailableError):
        at_once(lambda: azure.identity.ManagedIdentityCredential().get_token(SCOPE))
    assert {call.provider for call in fake.side_calls} == {"metadata"}


@pytest.mark.parametrize("options", [{}, {"block_network": True}])
def test_by_a_socket_its_refused_and_no_failure(options: Any) -> None:
    with fake_llm.intercept(**options) as fake:
        for reach in (
            lambda: http.client.HTTPConnection("169.254.169.254", timeout=9).request("GET", "/"),
            lambda: socket.create_connection(("metadata.google.internal", 80), 9),
        ):
            with pytest.raises(ConnectionRefusedError, match="is no metadata server here"):
                at_once(reach)
        assert not fake.failures


# --- what is passed on --------------------------------------------------------------------------

PASSED = [host for errand in ERRANDS if errand.lender is None for host in errand.hosts]


@pytest.mark.parametrize("host", PASSED)
def test_what_is_passed_on_goes_where_it_went(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: ["answered"])
    with fake_llm.intercept(["Hello"]) as fake:
        assert not fake.claims("GET", f"https://{host}/some/file.json")
        assert socket.getaddrinfo(host, 443) == ["answered"]
        assert ask() == "Hello"
    assert not fake.side_calls


@pytest.mark.parametrize("host", PASSED)
def test_where_the_network_is_blocked_its_refused_and_the_switch_is_named(host: str) -> None:
    [errand] = [errand for errand in ERRANDS if host in errand.hosts]
    with fake_llm.intercept(block_network=True) as fake:
        with pytest.raises(UninterceptedCallError) as caught:
            socket.getaddrinfo(host, 443)
        fake.failures.clear()

    assert f"Set {errand.off} in the environment" in str(caught.value)


# --- what comes late ----------------------------------------------------------------------------


def show(base: str = "http://localhost:11434") -> httpx.Response:
    return httpx.post(f"{base}/api/show", json={"name": "llama3"})


def test_a_look_up_on_a_thread_after_the_answer_disturbs_no_other_block() -> None:
    late, answers = threading.Event(), []

    def work() -> None:
        late.wait(5)
        answers.extend([show(), show("https://ollama.com")])

    with fake_llm.intercept(["one"]):
        assert ask() == "one"
        thread = threading.Thread(target=work)
        thread.start()
    with fake_llm.intercept(["two"]) as second:
        late.set()
        thread.join()
        assert ask() == "two"

    assert [answer.status_code for answer in answers] == [200, 200]
    assert "tools" in answers[0].json()["capabilities"]
    assert [call.operation for call in second.side_calls] == ["models", "models"]
    assert not second.failures


def test_outside_of_all_blocks_it_goes_to_where_it_was_meant_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    with fake_llm.intercept(["one"]):
        assert ask() == "one"
    monkeypatch.setattr(
        httpx.HTTPTransport,
        "handle_request",
        lambda self, request: sent.append(str(request.url)) or httpx.Response(200, json={}),
    )
    assert show().json() == {}
    assert sent == ["http://localhost:11434/api/show"]


def test_the_window_of_the_block_is_the_models() -> None:
    with fake_llm.intercept(context_window=4096):
        assert show().json()["model_info"]["llama.context_length"] == 4096


@needs("litellm")
def test_litellm_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from litellm.llms.ollama.common_utils import OllamaModelInfo

    with fake_llm.intercept() as fake:
        told: Any = OllamaModelInfo().get_runtime_model_info("llama3")
    assert (told["supports_function_calling"], told["max_tokens"]) == (True, 131_072)
    assert len(fake.side_calls) == 1


@needs("litellm")
@pytest.mark.usefixtures("nobody")
def test_litellm_needs_no_key_and_no_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks every vendor by itself, so that its own import has to be enough: where nothing else is."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    vendors = ("anthropic", "bigmodel", "deepseek", "fireworks_ai", "gemini", "groq", "openai", "xai", "zai")
    code = f"""
        import sys, warnings
        warnings.simplefilter("ignore")
        import fake_llm, litellm
        litellm.suppress_debug_info = True
        for vendor in {vendors}:
            with fake_llm.intercept([vendor]) as fake:
                said = litellm.completion(vendor + "/a-model", [{{"role": "user", "content": "Hi"}}])
                print(said.choices[0].message.content, len(fake.calls))
        print({{"anthropic", "fireworks", "google.genai", "groq", "zai"}} & set(sys.modules))
    """
    assert in_a_process(code).splitlines() == [*(f"{vendor} 1" for vendor in vendors), "set()"]


# --- what SDKs keep -----------------------------------------------------------------------------


@needs("boto3")
@pytest.mark.usefixtures("nobody")
def test_the_session_that_boto3_made_from_dummies_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with fake_llm.intercept():
        client = boto3.client("bedrock-runtime")
        assert client._request_signer._credentials.access_key == "fake-llm"
        assert boto3.DEFAULT_SESSION is not None
    assert boto3.DEFAULT_SESSION is None


@needs("boto3")
@pytest.mark.usefixtures("nobody")
def test_a_session_that_was_there_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    session = boto3.Session(region_name="eu-west-1")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", session)
    with fake_llm.intercept():
        assert session.get_credentials().access_key == "fake-llm"
    assert boto3.DEFAULT_SESSION is session
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "mine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "mine")
    assert session.get_credentials().access_key == "mine"
    assert session.region_name == "eu-west-1"


@needs("boto3")
@pytest.mark.usefixtures("nobody")
def test_a_session_with_credentials_of_its_own_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    session = boto3.Session("mine", "mine", region_name="eu-west-1")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", session)
    with fake_llm.intercept():
        boto3.client("bedrock-runtime")
    assert boto3.DEFAULT_SESSION is session
    assert session.get_credentials().access_key == "mine"


def in_a_process(code: str) -> str:
    import textwrap

    source = str(Path(fake_llm.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {source!r})\n" + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs("boto3")
@pytest.mark.usefixtures("nobody")
def test_a_session_from_before_the_block_keeps_no_dummies(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    before = boto3.Session()
    with fake_llm.intercept(), fake_llm.intercept():
        assert before.get_credentials().access_key == "fake-llm"
    assert before.get_credentials() is None

    own = boto3.Session("mine", "secret")
    with fake_llm.intercept():
        assert own.get_credentials().access_key == "mine"
    assert own.get_credentials().access_key == "mine"


@needs("openai")
def test_a_dummy_that_was_taken_away_in_a_block_and_put_back_after_it_goes_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import openai  # noqa: F401

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.MonkeyPatch.context() as patch, fake_llm.intercept():
        patch.delenv("OPENAI_API_KEY")
    assert "OPENAI_API_KEY" in os.environ, "monkeypatch has put it back"
    with fake_llm.intercept():
        pass
    assert "OPENAI_API_KEY" not in os.environ


@needs("boto3")
@pytest.mark.usefixtures("nobody")
def test_dummies_that_somebody_puts_back_go_with_the_next_block() -> None:
    """As a mock of AWS does that is started in a block and stopped after it."""
    import boto3  # noqa: F401

    name = "AWS_ACCESS_KEY_ID"
    with fake_llm.intercept():
        kept = os.environ[name]
        os.environ[name] = "FOOBARKEY"
    assert os.environ[name] == "FOOBARKEY"
    os.environ[name] = kept
    with fake_llm.intercept():
        assert os.environ[name] == kept
    assert name not in os.environ
