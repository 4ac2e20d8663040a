"""Recorded exchanges of Bedrock: requests are read and not refused, our answers have the recorded shape, frame by frame.

They go through the whole way here, since what stands around a family's own vocabulary is most of it: the row of a path,
the envelope, the headers. Claude's are compared with those of Anthropic, in the common harness.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import load
from _shape import shape, sized
from _shared import needs_shared, shared_dir
from fake_llm._dialect import Asked, merge
from fake_llm._endpoints import PROVIDERS, Endpoint
from fake_llm._model import Headers, Request

pytestmark = needs_shared

BEDROCK = next(provider for provider in PROVIDERS if provider.name == "bedrock")
JSON = {"content-type": "application/json"}

EXCEPTIONS: tuple[tuple[str, str, str], ...] = (
    (".*", r"usage\.serverToolUsage", "not sent before 2026"),
    ("guardrail", r"trace\.guardrail\..*", "what a guardrail found is no part of a turn"),
    ("ai21", r".*tokens.*", "the tokens of a model that is gone"),
    (
        "streamed-family-titan-01",
        r"totalOutputTextTokenCount|completionReason|inputTextTokenCount|amazon-bedrock-invocationMetrics",
        "all of it in one chunk",
    ),
    ("streamed-family-titan-text", r"amazon-bedrock-trace.*", "what a guardrail found is no part of a turn"),
    (
        "streamed-family-titan-text",
        r"totalOutputTextTokenCount|completionReason|inputTextTokenCount|index",
        "a guardrail leaves out what is null, and makes decimals of numbers",
    ),
)
"""Where ours differ on purpose: a pattern found in a recording's id, one of the whole path, and why."""


def recorded(*, streams: bool | None = None) -> Iterator[Any]:
    folder = shared_dir()
    for path in sorted((folder / "recordings" / "bedrock").rglob("*.json")) if folder else ():
        data = json.loads(path.read_bytes())
        raw = path.with_suffix(".raw")
        if data["response"]["status"] != 200 or data["endpoint"] == "count-tokens" or "anthropic" in data["id"]:
            continue
        if streams is None or raw.exists() is streams:
            yield pytest.param(data, raw, id=data["id"])


def sent(data: Any) -> Request:
    headers = {
        name: value
        for name, value in (data["request"]["headers"] or {}).items()
        if name.lower().startswith("x-amzn-bedrock")
    }
    body = json.dumps(data["request"]["body"]).encode()
    return Request("POST", data["request"]["url"], Headers(tuple({**JSON, **headers}.items())), body, "httpx")


def row(request: Request) -> Endpoint:
    found = BEDROCK.find("POST", request.path)
    assert found is not None
    return found.of_body(json.loads(request.body))


def first_text(body: Mapping[str, Any]) -> str:
    """The first thing that is said in a request, whichever family it is for."""
    for name in ("prompt", "inputText", "message", "query"):
        if name in body:
            return str(body[name])
    texts = (
        block.get("text") or block.get("guardContent", {}).get("text", {}).get("text")
        for block in body["messages"][0]["content"]
    )
    return "\n".join(text for text in texts if text)


@pytest.mark.parametrize(("data", "raw"), list(recorded()))
def test_a_real_request_is_read_and_not_refused(data: Any, raw: Path) -> None:
    request, body = sent(data), data["request"]["body"]
    dialect = row(request).dialect
    assert dialect.check(request, body) is None
    dialect.read(request, body)  # `Asked.view` would swallow what this raises
    view = Asked(request, dialect, body).view
    assert re.sub(r"\n\[\w+\]", "", view.messages[0].text) == first_text(body)
    assert dialect.model(request, body) in request.url.replace("%3A", ":")
    assert dialect.stream(request, body) is raw.exists()
    given = {**body.get("inferenceConfig", {}), **body.get("textGenerationConfig", {}), **body}
    limits = [given[name] for name in ("maxTokens", "max_tokens", "max_gen_len", "maxTokenCount") if name in given]
    assert [view.params.get("max_tokens")] == (limits or [None])
    assert len(view.tools) == len(body.get("toolConfig", {}).get("tools", ()))


def answered(data: Any, document: Mapping[str, Any]) -> httpx.Response:
    """Our answer that says the same."""
    request = sent(data)
    endpoint = row(request)
    reply = endpoint.dialect.parts(document).replace(check=False)
    with fake_llm.intercept([reply] if endpoint.operation == "chat" else []) as fake:
        if endpoint.operation != "chat":
            fake.when(operation=endpoint.operation).reply(reply)
        return httpx.post(request.url, content=request.body, headers=dict(request.headers))


Compared = tuple[int, list[tuple[str, str, str, int]], list[tuple[str, str, str, int]]]


def told(data: Any, recorded: Sequence[Any], ours: Sequence[Any]) -> Compared:
    """How many keys are compared, every difference that isn't meant, and every one that is."""
    theirs, mine = shape(recorded, indexed=False), shape(ours, indexed=False)
    found = list(sized(theirs, mine))
    meant = [
        one
        for one in found
        if any(re.search(id_, data["id"]) and re.fullmatch(path, one[0]) for id_, path, _ in EXCEPTIONS)
    ]
    return len(theirs.keys() | mine.keys()), [one for one in found if one not in meant], meant


def count(record_property: Any, compared: Sequence[Compared]) -> None:
    excepted = sum(one[3] for _, _, meant in compared for one in meant)
    record_property("conformance keys", ("families", "bedrock", sum(keys for keys, _, _ in compared), excepted, 0))
    assert [one for _, found, _ in compared for one in found] == []


@pytest.mark.parametrize(("data", "raw"), list(recorded(streams=False)))
def test_our_answer_has_the_recorded_shape(data: Any, raw: Path, record_property: Any) -> None:
    document = data["response"]["body"]
    response = answered(data, document)
    assert response.status_code == 200
    count(record_property, [told(data, [document], [response.json()])])
    around = {name.lower() for name in data["response"]["headers"]} - {"date", "connection", "content-length"}
    assert {name for name in around if "cache" not in name and "token-count" not in name} <= set(response.headers)


@pytest.mark.parametrize(("data", "raw"), list(recorded(streams=True)))
def test_our_frames_have_the_recorded_shape(data: Any, raw: Path, record_property: Any) -> None:
    theirs = frames(raw.read_bytes())
    response = answered(data, added(theirs))
    mine = frames(response.content)
    assert order(theirs) == order(mine)
    kinds = {name for name, _ in theirs}
    of_kind = [[[payload for name, payload in found if name == kind] for found in (theirs, mine)] for kind in kinds]
    count(record_property, [told(data, *pair) for pair in of_kind])
    around = {name.lower() for name in data["response"]["headers"]} - {"date", "connection", "transfer-encoding"}
    assert around <= set(response.headers)


def frames(raw: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Name and payload of each frame, out of its envelope and without its padding."""
    buffer = load("boto3>=1.44", "botocore.eventstream").EventStreamBuffer()
    buffer.add_data(raw)
    found: list[tuple[str, dict[str, Any]]] = []
    for frame in buffer:
        payload = json.loads(frame.payload)
        payload.pop("p", None)
        name = frame.headers[":event-type"]
        if "bytes" in payload:
            payload = json.loads(base64.b64decode(payload["bytes"]))
            first = next(iter(payload))
            if isinstance(payload[first], dict):  # Nova's events have their name for their key
                name = first
            elif "text" not in payload and "finish_reason" in payload:
                name = "end"
        found.append((name, payload))
    return found


def order(found: Sequence[tuple[str, Any]]) -> list[str]:
    """What comes after what, repeated ones once; how often a text is cut is nobody's affair."""
    names = [name for name, _ in found]
    if any("contentBlockDelta" in payload for _, payload in found):  # of Nova: a block for each piece
        names = [name for name in names if name != "contentBlockStop"]
    return [name for name, _ in groupby(names)]


def added(found: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The whole answer that the frames add up to, as the family's own whole answers are."""
    payloads = [payload.get(name, payload) for name, payload in found]
    if found[0][0] == "messageStart":
        return converse(found, payloads)
    if "outputText" in payloads[0]:
        text = "".join(payload["outputText"] for payload in payloads)
        last = payloads[-1]
        result = {"outputText": text, "completionReason": last["completionReason"]}
        count = last["totalOutputTextTokenCount"]
        return {"inputTextTokenCount": payloads[0]["inputTextTokenCount"], "results": [{**result, "tokenCount": count}]}
    reason = payloads[-1]["finish_reason"]
    texts: dict[int, str] = {}
    for payload in payloads[:-1]:
        texts[payload["index"]] = texts.get(payload["index"], "") + payload["text"]
    return {"generations": [{"text": text, "finish_reason": reason} for text in texts.values()]}


def converse(found: Sequence[tuple[str, Any]], payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    blocks: dict[int, dict[str, Any]] = {}
    answer: dict[str, Any] = {}
    for (name, _), payload in zip(found, payloads, strict=True):
        if "contentBlockIndex" in payload:
            block = blocks.setdefault(payload["contentBlockIndex"], {})
            grow(block, payload.get("start") or payload.get("delta") or {})
        elif name in ("messageStop", "metadata"):
            answer = merge(answer, payload)
    content = list(blocks.values())
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
        if "reasoningContent" in block:
            block["reasoningContent"] = {"reasoningText": block["reasoningContent"]}
    if all("text" in block for block in content):
        content = [{"text": "".join(block["text"] for block in content)}]
    return answer | {"output": {"message": {"role": "assistant", "content": content}}}


def grow(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if isinstance(value, str):
            block[name] = block.get(name, "") + value
        else:
            grow(block.setdefault(name, {}), value)


def test_tokens_are_counted_as_recorded() -> None:
    folder = shared_dir()
    assert folder is not None
    data = json.loads((folder / "recordings/bedrock/count-tokens/bedrock-count-tokens-plain-01.json").read_bytes())
    with fake_llm.intercept():
        answer = httpx.post(data["request"]["url"], json=data["request"]["body"], headers=JSON)
    assert answer.json().keys() == data["response"]["body"].keys()
    assert 0.5 < answer.json()["inputTokens"] / data["response"]["body"]["inputTokens"] < 2
