"""Bedrock's `invoke`: which family answers, and what stands around its vocabulary."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import fake_llm
from fake_llm import Error, Reply, ToolCall, Usage

HOST = "https://bedrock-runtime.us-east-1.amazonaws.com/model/"
BODY = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
PROFILE = "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3A"


def invoked(turn: Any, model: str = "us.anthropic.claude-opus-4-6-v1", **more: Any) -> httpx.Response:
    with fake_llm.intercept([turn]):
        return httpx.post(f"{HOST}{model}/invoke", json={**BODY, **more})


@pytest.mark.parametrize(
    ("model", "called", "answered"),
    [
        ("anthropic.claude-v2", "anthropic.claude-v2", "claude-v2"),
        ("anthropic.claude-v2%3A1", "anthropic.claude-v2:1", "claude-v2"),
        ("us.anthropic.claude-opus-4-6-v1", "us.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        (
            "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude-sonnet-4-5-20250929",
        ),
        (
            PROFILE + "inference-profile%2Feu.anthropic.claude-haiku-4-5-20251001-v1%3A0",
            "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
            "claude-haiku-4-5-20251001",
        ),
        (PROFILE + "application-inference-profile%2Fab12cd", "ab12cd", "ab12cd"),
        (PROFILE + "provisioned-model/ab12cd", "ab12cd", "ab12cd"),
    ],
)
def test_the_id_of_the_model(model: str, called: str, answered: str) -> None:
    with fake_llm.intercept(["x"]) as fake:
        answer = httpx.post(f"{HOST}{model}/invoke", json=BODY).json()

    assert fake.calls[0].model == called
    assert fake.calls[0].dialect == "anthropic_messages"
    assert answer["model"] == answered


def test_a_model_that_the_script_names_is_named_so() -> None:
    assert invoked(Reply("x", model="mine")).json()["model"] == "mine"


def test_ids_are_bedrocks() -> None:
    answer = invoked(ToolCall("t"), tools=[{"name": "t", "input_schema": {"type": "object"}}]).json()

    assert answer["id"].startswith("msg_bdrk_01")
    assert answer["content"][0]["id"].startswith("toolu_bdrk_01")


@pytest.mark.parametrize("cached", [0, 40])
def test_the_counts_stand_in_headers_too(cached: int) -> None:
    headers = invoked(Reply("x", usage=Usage(100, 7, cached_tokens=cached))).headers

    assert headers["x-amzn-bedrock-input-token-count"] == str(100 - cached)
    assert headers["x-amzn-bedrock-output-token-count"] == "7"
    assert ("x-amzn-bedrock-cache-read-input-token-count" in headers) is bool(cached)
    assert "anthropic-ratelimit-requests-limit" not in headers


def test_errors_are_those_of_aws() -> None:
    answer = invoked(Error(429))

    assert answer.status_code == 429
    assert answer.headers["x-amzn-errortype"].startswith("ThrottlingException:")
    assert answer.json().keys() == {"message"}


def test_a_malformed_request_is_refused_in_aws_s_form() -> None:
    with fake_llm.intercept(default="x"):
        answer = httpx.post(
            f"{HOST}anthropic.claude-v2/invoke", json={"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9}
        )

    assert answer.status_code == 400
    assert answer.headers["x-amzn-errortype"].startswith("ValidationException:")
    assert answer.json() == {"message": "messages: Field required"}
