"""What is kept between calls, as it was recorded: files, batches, conversations, moderation; keys in their order, and kinds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _shape import shape
from _shared import needs_shared, shared_dir

pytestmark = needs_shared

OPENAI = "https://api.openai.com/v1"
MESSAGES = "https://api.anthropic.com/v1/messages"
LINE = {"custom_id": "1", "method": "POST", "url": "/v1/embeddings", "body": {"model": "m", "input": "Hi"}}
PARAMS = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "2 + 2?"}]}


def posted(url: str, **options: Any) -> Any:
    return httpx.post(url, verify=False, **options).json()


def file(purpose: str = "user_data", data: bytes = b"%PDF-1.7") -> str:
    key: str = posted(f"{OPENAI}/files", files={"file": ("a.pdf", data)}, data={"purpose": purpose})["id"]
    return key


def batch() -> Any:
    asked = {"input_file_id": file("batch", json.dumps(LINE).encode()), "endpoint": LINE["url"]}
    return posted(f"{OPENAI}/batches", json={**asked, "completion_window": "24h"})


def message_batch() -> str:
    key: str = posted(f"{MESSAGES}/batches", json={"requests": [{"custom_id": "0", "params": PARAMS}]})["id"]
    return key


def listed() -> Any:
    file()
    file("batch")
    return httpx.get(f"{OPENAI}/files", verify=False).json()


def deleted() -> Any:
    key = posted(f"{OPENAI}/responses", json={"model": "gpt-5", "input": "Hi"})["id"]
    return httpx.delete(f"{OPENAI}/responses/{key}", verify=False).json()


def results() -> Any:
    key = message_batch()
    for _ in range(2):
        httpx.get(f"{MESSAGES}/batches/{key}", verify=False)
    return json.loads(httpx.get(f"{MESSAGES}/batches/{key}/results", verify=False).text.splitlines()[0])


ASKED: dict[str, Callable[[], Any]] = {
    "openai/batches/openai-batches-plain-01": batch,
    "openai/batches/openai-batches-plain-03": batch,
    "openai/conversations/openai-conversations-plain-01": lambda: posted(f"{OPENAI}/conversations", json={}),
    "openai/files/openai-files-plain-01": listed,
    "openai/files/openai-files-plain-03": lambda: httpx.get(f"{OPENAI}/files/{file()}", verify=False).json(),
    "openai/models/openai-models-plain-01": lambda: httpx.get(f"{OPENAI}/models/gpt-5", verify=False).json(),
    "openai/moderations/openai-moderations-plain-01": lambda: posted(f"{OPENAI}/moderations", json={"input": "Hi"}),
    "openai/responses-retrieve/openai-responses-retrieve-plain-01": deleted,
    "anthropic/message-batches/anthropic-message-batches-plain-01": lambda: posted(
        f"{MESSAGES}/batches/{message_batch()}/cancel"
    ),
    "anthropic/message-batches/anthropic-message-batches-streamed-plain-01": results,
}
"""How each recorded answer is asked for again: ids are of one's own."""


def recorded(place: str) -> Any:
    path = (shared_dir() or Path()) / "recordings" / f"{place}.json"
    response = json.loads(path.read_bytes())["response"]
    return response["body"] if response["body"] is not None else response["stream"][0]


@pytest.mark.parametrize("place", ASKED)
def test_what_is_kept_looks_as_recorded(place: str) -> None:
    with fake_llm.intercept(default="4"):
        ours = ASKED[place]()
    theirs = recorded(place)

    assert shape([ours], indexed=False) == shape([theirs], indexed=False)
    assert list(ours) == list(theirs), "the order of the keys"
