"""Claude on other clouds: names, ids, errors and counts that differ from Anthropic's own."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import fake_llm
from fake_llm import Error, Reply, ServerTool, ToolCall, Usage

VERTEX = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models/"
BODY = {"anthropic_version": "vertex-2023-10-16", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
TOOLS = [{"name": "t", "input_schema": {"type": "object"}}, {"type": "web_search_20250305", "name": "web_search"}]


def predicted(turn: Any, model: str = "claude-sonnet-4-5@20250929", **more: Any) -> httpx.Response:
    with fake_llm.intercept([turn]):
        return httpx.post(f"{VERTEX}{model}:rawPredict", json={**BODY, **more})


@pytest.mark.parametrize(
    ("model", "answered"),
    [
        ("claude-3-7-sonnet@20250219", "claude-3-7-sonnet-20250219"),
        ("claude-opus-4-6@default", "claude-opus-4-6"),
        ("claude-sonnet-5", "claude-sonnet-5"),
    ],
)
@pytest.mark.parametrize("verb", ["rawPredict", "streamRawPredict"])
def test_the_model_of_vertex(model: str, answered: str, verb: str) -> None:
    with fake_llm.intercept(["x"]) as fake:
        answer = httpx.post(f"{VERTEX}{model}:{verb}", json=BODY)

    assert f'"model":"{answered}"' in answer.text
    assert (fake.calls[0].provider, fake.calls[0].model) == ("vertex", model)
    assert fake.calls[0].stream is (verb == "streamRawPredict")
    assert answer.headers["content-type"].startswith(
        "text/event-stream" if fake.calls[0].stream else "application/json"
    )


def test_a_model_that_the_script_names_is_named_so() -> None:
    assert predicted(Reply("x", model="mine")).json()["model"] == "mine"


def test_ids_of_vertex() -> None:
    answer = predicted([ServerTool("web_search", {"query": "x"}, []), ToolCall("t")], tools=TOOLS).json()

    use, result, call = answer["content"]
    assert answer["id"].startswith("msg_vrtx_01")
    assert call["id"].startswith("toolu_vrtx_01")
    assert use["id"].startswith("srvtoolu_vrtx_01")
    assert result["tool_use_id"] == use["id"]
    assert "service_tier" not in answer["usage"]


def test_tokens_are_counted_on_vertex() -> None:
    body = {"model": "claude-sonnet-5", "messages": BODY["messages"]}
    with fake_llm.intercept() as fake:
        fake.when(operation="count_tokens").reply(Reply(usage=Usage(14, 0)))
        answer = httpx.post(f"{VERTEX}count-tokens:rawPredict", json=body)

    assert answer.json() == {"input_tokens": 14}
    assert fake.calls[0].operation == "count_tokens"


@pytest.mark.parametrize(
    ("error", "status", "word"),
    [
        ("authentication", 401, "UNAUTHENTICATED"),
        ("not_found", 404, "NOT_FOUND"),
        ("rate_limit", 429, "RESOURCE_EXHAUSTED"),
        ("unavailable", 503, "UNAVAILABLE"),
    ],
)
def test_what_google_refuses(error: str, status: int, word: str) -> None:
    answer = predicted(Error(error))

    assert answer.status_code == status
    assert answer.json()["error"]["status"] == word
    assert answer.json()["error"]["code"] == status


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        ("bad_request", 400, "invalid_request_error"),
        ("context_length", 400, "invalid_request_error"),
        ("overloaded", 529, "overloaded_error"),
    ],
)
def test_what_the_model_refuses(error: str, status: int, kind: str) -> None:
    answer = predicted(Error(error))

    assert answer.status_code == status
    assert answer.json()["error"]["type"] == kind
    assert "anthropic-ratelimit-requests-limit" not in answer.headers


@pytest.mark.parametrize(
    "url",
    [f"{VERTEX}claude-sonnet-5:rawPredict", "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.x/invoke"],
    ids=["vertex", "bedrock"],
)
def test_the_version_is_asked_for_in_the_body(url: str) -> None:
    body = {key: value for key, value in BODY.items() if key != "anthropic_version"}
    with fake_llm.intercept(default="x"):
        answer = httpx.post(url, json=body)

    assert answer.status_code == 400
    assert "anthropic_version: Field required" in answer.text


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://my-resource.services.ai.azure.com/anthropic/v1/messages", "azure"),
        ("https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages", "bedrock"),
        ("https://aws-external-anthropic.us-east-1.api.aws/v1/messages", "anthropic_aws"),
        (
            "https://claude.googleapis.com/v1/projects/p/locations/global/workspaces/w/invoke/v1/messages?beta=true",
            "anthropic_google_cloud",
        ),
    ],
)
def test_where_its_own_api_is(url: str, provider: str) -> None:
    with fake_llm.intercept(["x"]) as fake:
        answer = httpx.post(url, json={**BODY, "model": "claude-sonnet-5"})

    assert answer.json()["content"] == [{"type": "text", "text": "x"}]
    assert (fake.calls[0].provider, fake.calls[0].model) == (provider, "claude-sonnet-5")
