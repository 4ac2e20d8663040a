"""What Bedrock has beyond the list of cases, as boto3 reads it: botocore's own model judges each answer and each event."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Citation, Error, Image, Reply, ServerTool, Thinking, Usage

pytestmark = needs("boto3>=1.44")
session = load("boto3>=1.44", "boto3.session")
validate = load("boto3>=1.44", "botocore.validate")
exceptions = load("boto3>=1.44", "botocore.exceptions")

NOVA = "us.amazon.nova-2-lite-v1:0"
CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
PNG = b"\x89PNG\r\n\x1a\n"
HELLO = [{"role": "user", "content": [{"text": "Hi"}]}]
GUARD = {"guardrailIdentifier": "arn:aws:bedrock:us-east-1:123456789012:guardrail/gr1", "guardrailVersion": "1"}


@functools.cache
def client(service: str = "bedrock-runtime") -> Any:
    config = load("boto3>=1.44", "botocore.config").Config(retries={"total_max_attempts": 1})
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    return session.Session(**keys).client(service, config=config)


def validated(runtime: Any, operation: str, value: Any, *members: str) -> Any:
    shape = runtime.meta.service_model.operation_model(operation).output_shape
    for member in members:
        shape = shape.members[member]
    report = validate.ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()
    assert value.keys() <= shape.members.keys()
    return value


def whole(**asked: Any) -> Any:
    runtime = client()
    answer = runtime.converse(**{"modelId": NOVA, "messages": HELLO, **asked})
    answer.pop("ResponseMetadata")
    return validated(runtime, "Converse", answer)


def streamed(**asked: Any) -> Any:
    """The whole answer that the events add up to."""
    runtime = client()
    events = runtime.converse_stream(**{"modelId": NOVA, "messages": HELLO, **asked})["stream"]
    return added(validated(runtime, "ConverseStream", event, "stream") for event in events)


def added(events: Iterable[Any]) -> Any:
    blocks: list[dict[str, Any]] = []
    answer: dict[str, Any] = {}
    for event in events:
        ((kind, payload),) = event.items()
        if kind in ("contentBlockStart", "contentBlockDelta"):
            if payload["contentBlockIndex"] == len(blocks):
                blocks.append({})
            add(blocks[payload["contentBlockIndex"]], payload.get("start") or payload["delta"])
        elif kind in ("messageStop", "metadata"):
            answer |= payload
    for block in blocks:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
        if "citations" in block:
            text = {"content": [{"text": block.pop("text")}]}
            block["citationsContent"] = {"citations": block.pop("citations"), **text}
    return answer | {"output": {"message": {"content": blocks, "role": "assistant"}}}


def add(block: dict[str, Any], delta: Any) -> None:
    ((kind, value),) = delta.items()
    if kind == "text":
        block["text"] = block.get("text", "") + value
    elif kind == "toolUse":
        held = block.setdefault("toolUse", {"input": ""})
        held |= {**value, "input": held["input"] + value.get("input", "")}
    elif kind == "toolResult":
        held = block.setdefault("toolResult", {})
        held |= {"content": value} if isinstance(value, list) else value
    elif kind == "reasoningContent" and "redactedContent" not in value:
        held = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {})
        held |= {name: held.get(name, "") + text for name, text in value.items()}
    elif kind == "citation":
        block.setdefault("citations", []).append(value)
    else:
        block.setdefault(kind, {}).update(value)


ways = pytest.mark.parametrize("ask", [whole, streamed])


def content(answer: Any) -> Any:
    return answer["output"]["message"]["content"]


# --- what is answered ----------------------------------------------------------------------------


@ways
def test_reasoning_of_claude_is_signed_that_of_others_is_not(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept([[Thinking("Hm."), "Hi"], [Thinking("Hm."), "Hi"], [Thinking("Hm.", "c2ln"), "Hi"]]):
        thought = content(ask(modelId=CLAUDE))[0]["reasoningContent"]["reasoningText"]
        assert thought["text"] == "Hm."
        assert len(thought["signature"]) > 100
        assert content(ask())[0] == {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
        assert content(ask())[0]["reasoningContent"]["reasoningText"]["signature"] == "c2ln"


@ways
def test_redacted_reasoning_is_bytes(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept([[Thinking("", "c2VjcmV0", redacted=True), "Hi"]]):
        assert content(ask())[0] == {"reasoningContent": {"redactedContent": b"secret"}}


@ways
def test_images(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept([["Here:", Image(PNG)], [Image("s3://bucket/a.webp", media_type="image/webp")]]):
        assert content(ask())[1] == {"image": {"format": "png", "source": {"bytes": PNG}}}
        assert content(ask()) == [
            {"image": {"format": "webp", "source": {"s3Location": {"uri": "s3://bucket/a.webp"}}}}
        ]


@pytest.mark.parametrize("image", [Image("https://a.example/x.png"), Image(b"II*\0", media_type="image/tiff")])
def test_images_that_cannot_travel(image: Image) -> None:
    with pytest.raises(fake_llm.ScriptMismatchError, match=r"Write Image\(png_bytes"), fake_llm.intercept([image]):
        whole()


TEXT = "Ruby was made in 1993. It is red."
DOCUMENT = {"name": "facts", "source": {"text": TEXT}, "citations": {"enabled": True}}
FOUND = {
    "source": "https://kb.example/1",
    "title": "Ruby Facts",
    "content": [{"text": "Ruby is red."}, {"text": "It was made in 1993."}],
    "citations": {"enabled": True},
}


def cites(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": [{"text": "Who?"}, *blocks]}]


@ways
@pytest.mark.parametrize("model", [NOVA, CLAUDE])
def test_a_citation_of_a_document_says_where_the_text_stands(ask: Callable[..., Any], model: str) -> None:
    with fake_llm.intercept([["Well: ", Citation("made in 1993", "facts"), "."]]):
        answer = ask(modelId=model, messages=cites({"document": DOCUMENT}))
    first, cited, last = content(answer)
    assert (first, last) == ({"text": "Well: "}, {"text": "."})
    where = {"documentIndex": 0, "start": TEXT.index("made"), "end": TEXT.index(". It")}
    assert cited["citationsContent"] == {
        "content": [{"text": "made in 1993"}],
        "citations": [
            {"title": "facts", "sourceContent": [{"text": "made in 1993"}], "location": {"documentChar": where}}
        ],
    }


@ways
def test_citations_of_chunks_pages_and_unknown_things(ask: Callable[..., Any]) -> None:
    chunks = {"name": "chunks", "source": {"content": [{"text": "One."}, {"text": "Two."}]}}
    pages = {"name": "pages", "format": "pdf", "source": {"bytes": b"%PDF"}}
    asked = cites({"document": chunks}, {"document": pages})
    turn = [Citation("Two", "chunks"), Citation("Page", "pages", title="Pages"), Citation("So", "a book")]
    with fake_llm.intercept([turn]):
        two, page, book = (block["citationsContent"]["citations"][0] for block in content(ask(messages=asked)))
    assert two["location"] == {"documentChunk": {"documentIndex": 0, "start": 1, "end": 2}}
    assert two["sourceContent"] == [{"text": "Two."}]
    assert page["location"] == {"documentPage": {"documentIndex": 1, "start": 1, "end": 2}}
    assert page["title"] == "Pages"
    assert book == {"source": "a book", "sourceContent": [{"text": "So"}]}


@ways
def test_citations_of_search_results_and_of_the_web(ask: Callable[..., Any]) -> None:
    found = {"toolResult": {"toolUseId": "t1", "content": [{"searchResult": FOUND}]}}
    asked = [
        *HELLO,
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]},
        {"role": "user", "content": [found]},
    ]
    tools = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
    turn = [Citation("made in 1993", "https://kb.example/1"), Citation("red", "https://w.example/x", title="W")]
    with fake_llm.intercept([turn]) as fake:
        cited = [block["citationsContent"]["citations"][0] for block in content(ask(messages=asked, toolConfig=tools))]
    assert cited[0] == {
        "location": {"searchResultLocation": {"searchResultIndex": 0, "start": 1, "end": 2}},
        "source": "https://kb.example/1",
        "sourceContent": [{"text": "It was made in 1993."}],
        "title": "Ruby Facts",
    }
    assert cited[1]["location"] == {"web": {"url": "https://w.example/x", "domain": "w.example"}}
    assert cited[1]["title"] == "W"
    assert [result.text for result in fake.calls[0].tool_results] == ["Ruby is red.\nIt was made in 1993."]


OWN_TOOLS = {"tools": [{"systemTool": {"name": name}} for name in ("nova_code_interpreter", "nova_grounding")]}


@ways
def test_tools_that_bedrock_runs(ask: Callable[..., Any]) -> None:
    code = ServerTool("code_execution", {"code": "1+1"}, {"stdout": "2", "stderr": "", "return_code": 0})
    failed = ServerTool("web_search", {"query": "x"}, error="throttled", id="tooluse_mine")
    with fake_llm.intercept([[code, failed, ServerTool("nova_grounding", {"query": "y"}), "It is 2."]]):
        answer = ask(toolConfig=OWN_TOOLS)
    used, result, searched, wrong, bare, said = content(answer)
    assert answer["stopReason"] == "end_turn"
    assert used["toolUse"].pop("toolUseId") == result["toolResult"].pop("toolUseId")
    assert used["toolUse"] == {"name": "nova_code_interpreter", "input": {"code": "1+1"}, "type": "server_tool_use"}
    output = {"stdOut": "2", "stdErr": "", "exitCode": 0, "isError": False}
    assert result["toolResult"] == {
        "content": [{"json": output}],
        "status": "success",
        "type": "nova_code_interpreter_result",
    }
    assert searched["toolUse"]["name"] == "nova_grounding"
    assert wrong["toolResult"] == {
        "content": [{"text": "throttled"}],
        "status": "error",
        "toolUseId": "tooluse_mine",
        "type": "nova_grounding_result",
    }
    assert bare["toolUse"]["input"] == {"query": "y"}
    assert said == {"text": "It is 2."}


@ways
def test_what_bedrock_ran_is_no_call_of_the_history(ask: Callable[..., Any]) -> None:
    turn = [ServerTool("web_search", {"query": "x"}, [{"url": "https://a.example"}]), "Found."]
    with fake_llm.intercept([turn, "Yes."]) as fake:
        answer = ask(toolConfig=OWN_TOOLS)
        asked = [*HELLO, answer["output"]["message"], {"role": "user", "content": [{"text": "Sure?"}]}]
        ask(messages=asked, toolConfig=OWN_TOOLS)
    assert [item.tool_calls for item in fake.calls[1].messages] == [(), (), ()]
    assert fake.calls[1].messages[1].text == "Found."


def test_a_tool_of_bedrock_that_is_not_offered() -> None:
    with (
        pytest.raises(fake_llm.ScriptMismatchError, match="offers no tools that the provider runs"),
        fake_llm.intercept([ServerTool("web_search", {"query": "x"})]),
    ):
        whole()


# --- guardrails ----------------------------------------------------------------------------------


@ways
def test_a_guardrail_puts_its_own_words_in_place_of_an_answer(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept([Reply(finish_reason="content_filter")] * 2):
        answer = ask(guardrailConfig={**GUARD, "trace": "enabled"})
        assert answer["stopReason"] == "guardrail_intervened"
        assert content(answer) == [{"text": "Sorry, the model cannot answer this question."}]
        trace = answer["trace"]["guardrail"]
        assert trace["inputAssessment"]["gr1"]["contentPolicy"]["filters"][0]["action"] == "BLOCKED"
        assert "outputAssessments" not in trace
        assert "trace" not in ask(guardrailConfig=GUARD)


@ways
def test_a_guardrail_alters_an_answer(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept([Reply("{CITY} is big.", finish_reason="content_filter"), "Fine."]):
        answer = ask(guardrailConfig={**GUARD, "trace": "enabled_full"})
        assert (answer["stopReason"], content(answer)) == ("guardrail_intervened", [{"text": "{CITY} is big."}])
        trace = answer["trace"]["guardrail"]
        assert trace["outputAssessments"]["gr1"][0]["contentPolicy"]["filters"][0]["detected"] is True
        assert trace["modelOutput"] == ["{CITY} is big."]

        answer = ask(guardrailConfig={**GUARD, "trace": "enabled"})
        assert answer["stopReason"] == "end_turn"
        assert answer["trace"]["guardrail"]["actionReason"] == "No action."
        assert "contentPolicy" not in answer["trace"]["guardrail"]["outputAssessments"]["gr1"][0]


@ways
def test_a_filter_without_a_guardrail_is_the_models_own(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept([Reply(finish_reason="content_filter")]):
        answer = ask()
    assert (answer["stopReason"], content(answer)) == ("content_filtered", [])


# --- beside the message --------------------------------------------------------------------------


@ways
def test_counts_of_a_cache(ask: Callable[..., Any]) -> None:
    point = {"cachePoint": {"type": "default"}}
    usage = Usage(120, 5, cached_tokens=30, cache_write_tokens=50)
    asked = [{"role": "user", "content": [{"text": "Hi"}, point]}]
    lasting = [{"text": "Be brief."}, {"cachePoint": {"type": "default", "ttl": "1h"}}]
    with fake_llm.intercept(["a", "a", "a", "a"], usage=usage):
        counted = ask(messages=asked)["usage"]
        assert (counted["inputTokens"], counted["outputTokens"], counted["totalTokens"]) == (40, 5, 125)
        assert (counted["cacheReadInputTokens"], counted["cacheWriteInputTokens"]) == (30, 50)
        assert counted["cacheDetails"] == [{"inputTokens": 50, "ttl": "5m"}]
        assert ask(messages=asked, system=lasting)["usage"]["cacheDetails"] == [{"inputTokens": 50, "ttl": "1h"}]
        assert "cacheDetails" not in ask()["usage"]
        mine = Reply("x", usage=Usage(9, 1, cache_write_tokens=9, details={"cacheDetails": []}))
        with fake_llm.intercept([mine, "a", "b"]):
            assert ask(messages=asked)["usage"]["cacheDetails"] == []
            assert ask(modelId=CLAUDE)["usage"]["cacheReadInputTokens"] == 0
            assert "cacheReadInputTokens" not in ask()["usage"]
        ask()


@ways
def test_fields_of_the_models_own_answer(ask: Callable[..., Any]) -> None:
    paths = ["/stop_sequence", "/nothing"]
    stops = {"stopSequences": ["END", "STOP"]}
    turns = [
        Reply("a", finish_reason="stop_sequence"),
        Reply("a", extra={"additionalModelResponseFields": {"nothing": 1}}),
        "a",
        "a",
    ]
    with fake_llm.intercept(turns):
        answer = ask(modelId=CLAUDE, additionalModelResponseFieldPaths=paths, inferenceConfig=stops)
        assert answer["stopReason"] == "stop_sequence"
        assert answer["additionalModelResponseFields"] == {"stop_sequence": "END"}
        answer = ask(modelId=CLAUDE, additionalModelResponseFieldPaths=paths)
        assert answer["additionalModelResponseFields"]["nothing"] == 1
        answer = ask(additionalModelResponseFieldPaths=["/stopReason"])
        assert answer["additionalModelResponseFields"] == {"stopReason": "end_turn"}
        assert "additionalModelResponseFields" not in ask(additionalModelResponseFieldPaths=paths)


@ways
def test_latency_and_tier_are_said_back(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept(["a", "b"]):
        answer = ask(performanceConfig={"latency": "optimized"}, serviceTier={"type": "flex"})
        assert (answer["performanceConfig"], answer["serviceTier"]) == ({"latency": "optimized"}, {"type": "flex"})
        assert not {"performanceConfig", "serviceTier"} & ask().keys()


# --- what is asked -------------------------------------------------------------------------------


def test_pictures_files_and_results_are_read() -> None:
    used = [{"toolUse": {"toolUseId": f"t{index}", "name": "look", "input": {"n": index}}} for index in range(4)]
    results: list[list[dict[str, Any]]] = [
        [{"json": {"deep": [1]}}],
        [{"image": {"format": "png", "source": {"bytes": PNG}}}, {"text": "a map"}],
        [{"document": {"name": "d", "format": "csv", "source": {"bytes": b"a,b"}}}],
        [{"text": "no"}],
    ]
    answered = [
        {"toolResult": {"toolUseId": f"t{index}", "content": given, "status": "error" if index == 3 else "success"}}
        for index, given in enumerate(results)
    ]
    asked = [
        {
            "role": "user",
            "content": [
                {"text": "Look:"},
                {"image": {"format": "png", "source": {"bytes": PNG}}},
                {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/v.mp4"}}}},
                {"document": {"name": "d", "format": "pdf", "source": {"bytes": b"%PDF"}}},
                {"audio": {"format": "wav", "source": {"bytes": b"RIFF"}}},
                {"guardContent": {"text": {"text": "guarded"}}},
                {"cachePoint": {"type": "default"}},
            ],
        },
        {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}, *used]},
        {"role": "user", "content": [*answered, {"text": "Well?"}]},
    ]
    tools = {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]}
    with fake_llm.intercept(["Seen."]) as fake:
        whole(messages=asked, toolConfig=tools, inferenceConfig={"stopSequences": ["END"]})
    call = fake.calls[0]
    assert call.messages[0].text == "Look:\n[image]\n[video]\n[file]\n[audio]\nguarded"
    assert call.messages[1].thinking == "Hm."
    found = [(result.id, result.name, result.text, result.is_error) for result in call.tool_results]
    assert found == [
        ("t0", "look", '{"deep":[1]}', False),
        ("t1", "look", "[image]\na map", False),
        ("t2", "look", "[file]", False),
        ("t3", "look", "no", True),
    ]
    assert call.last_user_text == "Well?"
    assert call.params["stop"] == ["END"]


CALLING = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]}
RESULT = {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}]}}]}


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([{"role": "assistant", "content": [{"text": "Hi"}]}], "must start with a user message"),
        ([{"role": "user", "content": [{"text": ""}]}], "ContentBlock object at messages.0.content.0 is blank"),
        ([*HELLO, CALLING, *HELLO], "Expected toolResult blocks at messages.2.content for the following Ids: t1"),
        ([RESULT], "exceeds the number of toolUse blocks of previous turn"),
        ([*HELLO, CALLING, RESULT, RESULT], "exceeds the number of toolUse blocks of previous turn"),
    ],
)
def test_conversations_that_cannot_be(messages: Any, said: str) -> None:
    with (
        fake_llm.intercept(["kept"], strict=False) as fake,
        pytest.raises(exceptions.ClientError, match=said) as caught,
    ):
        client().converse(modelId=NOVA, messages=messages)
    assert fake.remaining == 1
    assert type(caught.value).__name__ == "ValidationException"


def test_a_pointer_that_is_none_is_refused() -> None:
    with (
        fake_llm.intercept(["kept"], strict=False),
        pytest.raises(exceptions.ClientError, match="JSON pointer 'stop_sequence'"),
    ):
        whole(additionalModelResponseFieldPaths=["stop_sequence"])


# --- errors --------------------------------------------------------------------------------------

ERRORS = {
    "bad_request": (400, "ValidationException"),
    "authentication": (403, "UnrecognizedClientException"),
    "permission": (403, "AccessDeniedException"),
    "not_found": (404, "ResourceNotFoundException"),
    "request_too_large": (400, "ValidationException"),
    "context_length": (400, "ValidationException"),
    "content_filter": (400, "ValidationException"),
    "rate_limit": (429, "ThrottlingException"),
    "quota": (429, "ThrottlingException"),
    "server_error": (500, "InternalServerException"),
    "unavailable": (503, "ServiceUnavailableException"),
    "overloaded": (503, "ServiceUnavailableException"),
    "timeout": (408, "ModelTimeoutException"),
    424: (424, "ModelErrorException"),
    408: (408, "ModelTimeoutException"),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_are_the_classes_of_the_client(kind: Any) -> None:
    status, code = ERRORS[kind]
    runtime = client()
    with fake_llm.intercept([Error(kind)]), pytest.raises(exceptions.ClientError) as caught:
        runtime.converse(modelId=NOVA, messages=HELLO)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
    assert caught.value.response["Error"]["Code"] == code
    if code != "UnrecognizedClientException":  # its model has no class of it
        assert type(caught.value) is getattr(runtime.exceptions, code)


IN_STREAMS = {
    "bad_request": "validationException",
    "rate_limit": "throttlingException",
    "server_error": "internalServerException",
    "overloaded": "serviceUnavailableException",
    "timeout": "modelStreamErrorException",
    "permission": "modelStreamErrorException",
    "not_found": "modelStreamErrorException",
}


@pytest.mark.parametrize("kind", IN_STREAMS)
def test_errors_inside_a_stream_are_its_exceptions(kind: str) -> None:
    heard = ""
    with (
        fake_llm.intercept([Reply("Once upon", then=Error(kind, "gone"))]),
        pytest.raises(exceptions.EventStreamError, match="gone") as caught,
    ):
        for event in client().converse_stream(modelId=NOVA, messages=HELLO)["stream"]:
            heard += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
    assert heard == "Once upon"
    assert caught.value.response["Error"]["Code"] == IN_STREAMS[kind]


# --- counting ------------------------------------------------------------------------------------


def counted(**given: Any) -> int:
    runtime = client()
    answer = runtime.count_tokens(modelId=CLAUDE, input=given)
    answer.pop("ResponseMetadata")
    found: int = validated(runtime, "CountTokens", answer)["inputTokens"]
    return found


def test_tokens_of_either_kind_of_request() -> None:
    claude = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": HELLO}
    long = [{"role": "user", "content": [{"text": "word " * 100}]}]
    tool = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}
    pictured = [{"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": PNG * 9_000}}}]}]
    with fake_llm.intercept() as fake:
        few = counted(converse={"messages": HELLO})
        assert counted(invokeModel={"body": json.dumps(claude)}) == few
        assert counted(converse={"messages": long}) > few + 100
        assert counted(converse={"messages": HELLO, "toolConfig": {"tools": [tool]}}) > few
        assert counted(converse={"messages": pictured}) < 1_000
        fake.when(operation="count_tokens").reply(Reply(usage=Usage(77, 0)))
        assert counted(converse={"messages": HELLO}) == 77
    assert {(call.operation, call.provider, call.model) for call in fake.calls} == {("count_tokens", "bedrock", CLAUDE)}


@pytest.mark.parametrize(
    "given",
    [
        {"invokeModel": {"body": b"no json"}},
        {"invokeModel": {"body": b"[]"}},
        {"converse": {"messages": [{"role": "assistant", "content": [{"text": "Hi"}]}]}},
    ],
)
def test_what_cannot_be_counted(given: Any) -> None:
    with fake_llm.intercept(strict=False), pytest.raises(client().exceptions.ValidationException):
        counted(**given)


def test_errors_of_counting() -> None:
    with fake_llm.intercept() as fake, pytest.raises(client().exceptions.ThrottlingException):
        fake.when(operation="count_tokens").reply(Error(429))
        counted(converse={"messages": HELLO})
