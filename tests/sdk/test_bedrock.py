"""What Bedrock has beyond the list of cases, as boto3 reads it: botocore's own model judges each answer and each event."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import Citation, Embedding, Error, Image, Json, Reply, ServerTool, Thinking, Usage

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


@ways
def test_a_citation_of_no_text_is_one_more_source(ask: Callable[..., Any]) -> None:
    with fake_llm.intercept([["It is ", Citation("red", "https://a.example"), Citation("", "https://b.example"), "."]]):
        said = content(ask(messages=HELLO))
    [cited] = [block["citationsContent"] for block in said if "citationsContent" in block]
    assert cited["content"] == [{"text": "red"}]
    assert [each["location"]["web"]["url"] for each in cited["citations"]] == ["https://a.example", "https://b.example"]
    assert [each["sourceContent"] for each in cited["citations"]] == [[{"text": "red"}]] * 2


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
    ],
)
def test_what_cannot_be_counted(given: Any) -> None:
    with fake_llm.intercept(strict=False), pytest.raises(client().exceptions.ValidationException):
        counted(**given)


def test_errors_of_counting() -> None:
    with fake_llm.intercept() as fake, pytest.raises(client().exceptions.ThrottlingException):
        fake.when(operation="count_tokens").reply(Error(429))
        counted(converse={"messages": HELLO})


# --- invocations ---------------------------------------------------------------------------------


def first(name: str, *keys: str) -> Callable[[Any], Any]:
    """What stands at a path in the first of a list."""

    def found(body: Any) -> Any:
        value = body[name][0]
        for key in keys:
            value = value[key]
        return value

    return found


def at(*keys: str) -> Callable[[Any], Any]:
    def found(body: Any) -> Any:
        for key in keys:
            body = None if body is None else body.get(key)
        return body

    return found


IMPORTED = "arn:aws:bedrock:us-east-1:123456789012:imported-model/abc"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
SAID = [{"role": "user", "content": "Hi"}]
FAMILIES: dict[str, tuple[str, dict[str, Any], Any, Any, Any, dict[str, str]]] = {
    # model, body, its text, a piece's text, the reason of either, words for two reasons
    "titan": (
        "amazon.titan-text-express-v1",
        {"inputText": "Hi", "textGenerationConfig": {"maxTokenCount": 9}},
        first("results", "outputText"),
        at("outputText"),
        (first("results", "completionReason"), at("completionReason")),
        {"stop": "FINISH", "length": "LENGTH"},
    ),
    "llama": (
        "us.meta.llama3-1-70b-instruct-v1:0",
        {"prompt": "Hi", "max_gen_len": 9},
        at("generation"),
        at("generation"),
        (at("stop_reason"), at("stop_reason")),
        {"stop": "stop", "length": "length"},
    ),
    "mistral": (
        "mistral.mistral-7b-instruct-v0:2",
        {"prompt": "Hi", "max_tokens": 9},
        first("outputs", "text"),
        first("outputs", "text"),
        (first("outputs", "stop_reason"), first("outputs", "stop_reason")),
        {"stop": "stop", "length": "length"},
    ),
    "deepseek": (
        "us.deepseek.r1-v1:0",
        {"prompt": "Hi", "max_tokens": 9},
        first("choices", "text"),
        first("choices", "text"),
        (first("choices", "stop_reason"), first("choices", "stop_reason")),
        {"stop": "stop", "length": "length"},
    ),
    "command": (
        "cohere.command-text-v14",
        {"prompt": "Hi", "max_tokens": 9},
        first("generations", "text"),
        at("text"),
        (first("generations", "finish_reason"), at("finish_reason")),
        {"stop": "COMPLETE", "length": "MAX_TOKENS"},
    ),
    "command-r": (
        "cohere.command-r-v1:0",
        {"message": "Hi", "max_tokens": 9},
        at("text"),
        at("text"),
        (at("finish_reason"), at("finish_reason")),
        {"stop": "COMPLETE", "length": "MAX_TOKENS"},
    ),
    "jurassic": (
        "ai21.j2-mid-v1",
        {"prompt": "Hi", "maxTokens": 9},
        first("completions", "data", "text"),
        first("completions", "data", "text"),
        (
            first("completions", "finishReason", "reason"),
            lambda body: (body["completions"][0]["finishReason"] or {}).get("reason"),
        ),
        {"stop": "endoftext", "length": "length"},
    ),
    "imported": (
        IMPORTED,
        {"prompt": "Hi", "max_tokens": 9},
        first("choices", "text"),
        first("choices", "text"),
        (first("choices", "finish_reason"), first("choices", "finish_reason")),
        {"stop": "stop", "length": "length"},
    ),
    "nova": (
        NOVA,
        {"messages": HELLO, "inferenceConfig": {"maxTokens": 9}},
        lambda body: content(body)[0]["text"],
        at("contentBlockDelta", "delta", "text"),
        (at("stopReason"), at("messageStop", "stopReason")),
        {"stop": "end_turn", "length": "max_tokens"},
    ),
    "open": (
        "qwen.qwen3-32b-v1:0",
        {"messages": SAID, "max_tokens": 9},
        first("choices", "message", "content"),
        first("choices", "delta"),
        (first("choices", "finish_reason"), first("choices", "finish_reason")),
        {"stop": "stop", "length": "length"},
    ),
}
families = pytest.mark.parametrize("family", FAMILIES)


def invoked(model: str, body: Any, **asked: Any) -> tuple[Any, Any]:
    """The body of an answer and its headers."""
    answer = client().invoke_model(modelId=model, body=json.dumps(body), **asked)
    return json.loads(answer["body"].read()), answer["ResponseMetadata"]["HTTPHeaders"]


def invoked_stream(model: str, body: Any) -> list[Any]:
    answer = client().invoke_model_with_response_stream(modelId=model, body=json.dumps(body))
    assert answer["contentType"] == "application/json"
    return [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]


@families
def test_a_family_by_invoke(family: str) -> None:
    model, body, text, _, (reason, _), words = FAMILIES[family]
    with fake_llm.intercept(["Hello there!", Reply("Hel", finish_reason="length")], usage=Usage(11, 7)) as fake:
        answer, headers = invoked(model, body)
        assert (text(answer), reason(answer)) == ("Hello there!", words["stop"])
        assert headers["x-amzn-bedrock-input-token-count"] == "11"
        assert headers["x-amzn-bedrock-output-token-count"] == "7"
        answer, _ = invoked(model, body)
        assert (text(answer), reason(answer)) == ("Hel", words["length"])
    call = fake.calls[0]
    assert (call.provider, call.operation, call.model) == ("bedrock", "chat", model.rpartition("/")[2])
    assert (call.last_user_text, call.params["max_tokens"], call.stream) == ("Hi", 9, False)


@families
def test_a_family_in_a_stream(family: str) -> None:
    model, body, _, text, (_, reason), words = FAMILIES[family]
    with fake_llm.intercept(["Hello there, you!", Reply("Hello", finish_reason="length")], usage=Usage(11, 7)) as fake:
        events = invoked_stream(model, body)
        said = [text(event) if event.get("choices") != [] else None for event in events]
        pieces = [piece.get("content") if isinstance(piece, dict) else piece for piece in said]
        assert [piece for piece in pieces if piece] == ["Hello", " there,", " you!"]
        assert [found for event in events if (found := reason(event))][-1] == words["stop"]
        counted = events[-1]["amazon-bedrock-invocationMetrics"]
        assert (counted["inputTokenCount"], counted["outputTokenCount"]) == (11, 7)
        assert all("amazon-bedrock-invocationMetrics" not in event for event in events[:-1])
        assert [found for event in invoked_stream(model, body) if (found := reason(event))][-1] == words["length"]
    assert fake.calls[0].stream


@families
def test_errors_of_a_family(family: str) -> None:
    model, body, *_ = FAMILIES[family]
    runtime = client()
    with fake_llm.intercept([Error("rate_limit"), Reply("Once", then=Error("timeout", "gone"))]):
        with pytest.raises(runtime.exceptions.ThrottlingException):
            invoked(model, body)
        with pytest.raises(exceptions.EventStreamError, match="gone") as caught:
            invoked_stream(model, body)
    assert caught.value.response["Error"]["Code"] == "modelTimeoutException"


@families
def test_a_family_refuses_what_it_cannot_read(family: str) -> None:
    model, body, *_ = FAMILIES[family]
    key = next(iter(body))
    runtime = client()
    for wrong in ({**body, key: 5}, [], "text"):
        with (
            fake_llm.intercept(["kept"], strict=False) as fake,
            pytest.raises(runtime.exceptions.ValidationException),
        ):
            invoked(model, wrong)
        assert fake.remaining == 1
    if family not in ("nova", "open", "imported", "command", "command-r"):
        with (
            fake_llm.intercept(strict=False),
            pytest.raises(runtime.exceptions.ValidationException, match=rf"required key \[{key}\] not found"),
        ):
            invoked(model, {"temperature": 0.5})


@pytest.mark.parametrize(
    ("body", "dialect"),
    [
        ({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": SAID}, "anthropic_messages"),
        ({"messages": HELLO, "inferenceConfig": {}}, "bedrock_converse"),
        ({"schemaVersion": "messages-v1", "messages": HELLO}, "bedrock_converse"),
        ({"inputText": "Hi", "textGenerationConfig": {}}, "bedrock_titan"),
        ({"message": "Hi"}, "cohere_chat_v1"),
        ({"prompt": "Hi", "max_gen_len": 5}, "bedrock_llama"),
        ({"prompt": "Hi"}, "bedrock_llama"),
        ({"prompt": "Hi", "max_tokens": 5}, "bedrock_completion"),
        ({"messages": SAID}, "openai_chat"),
    ],
)
def test_where_an_id_tells_nothing_the_body_does(body: Any, dialect: str) -> None:
    with fake_llm.intercept(["Hello", "Hello"]) as fake:
        invoked(PROFILE, body)
        invoked_stream(PROFILE, body)
    assert [(call.dialect, call.model, call.last_user_text) for call in fake.calls] == [(dialect, "abc", "Hi")] * 2


def test_an_arn_names_the_family_of_its_model() -> None:
    arn = "arn:aws:bedrock:us-east-1::foundation-model/amazon.titan-tg1-large"
    with fake_llm.intercept(["Hello"]) as fake:
        invoked(arn, {"inputText": "Hi"})
    assert (fake.calls[0].dialect, fake.calls[0].model) == ("bedrock_titan", "amazon.titan-tg1-large")


@pytest.mark.parametrize("family", ["deepseek", "llama"])
def test_thoughts_stand_between_tags(family: str) -> None:
    model, body, text, piece, *_ = FAMILIES[family]
    opened = {**body, "prompt": "Hi<think>\n"}
    with fake_llm.intercept([[Thinking("Hm."), "Hello"]] * 3 + ["Hello"]):
        assert text(invoked(model, body)[0]) == "<think>Hm.</think>Hello"
        assert text(invoked(model, opened)[0]) == "Hm.</think>Hello"
        assert [piece(event) for event in invoked_stream(model, opened)] == ["Hm.", "</think>", "Hello", ""]
        assert text(invoked(model, opened)[0]) == "</think>Hello"


def test_several_generations_of_command() -> None:
    body = {"prompt": "Hi", "num_generations": 2}
    with fake_llm.intercept([Reply("one way", choices=["another"])] * 2):
        answer, _ = invoked("cohere.command-text-v14", body)
        assert [item["text"] for item in answer["generations"]] == ["one way", "another"]
        events = invoked_stream("cohere.command-text-v14", body)
    assert [(event["index"], event["text"]) for event in events[:-1]] == [(0, "one"), (0, " way"), (1, "another")]


def test_a_guardrail_a_tier_and_a_latency_are_said_by_headers() -> None:
    named = {"guardrailIdentifier": "gr1", "guardrailVersion": "1"}
    asked = {**named, "performanceConfigLatency": "optimized", "serviceTier": "flex"}
    body = FAMILIES["titan"][1]
    with fake_llm.intercept([Reply("No.", finish_reason="content_filter"), "Yes.", "Yes."]):
        answer, headers = invoked("amazon.titan-text-express-v1", body, **asked)
        assert answer["amazon-bedrock-guardrailAction"] == "INTERVENED"
        assert headers["x-amzn-bedrock-performanceconfig-latency"] == "optimized"
        assert headers["x-amzn-bedrock-service-tier"] == "flex"
        assert invoked("amazon.titan-text-express-v1", body, **named)[0]["amazon-bedrock-guardrailAction"] == "NONE"
        assert "amazon-bedrock-guardrailAction" not in invoked("amazon.titan-text-express-v1", body)[0]


# --- vectors, ranks and models -------------------------------------------------------------------


def test_vectors_of_titan() -> None:
    v1, v2 = "amazon.titan-embed-text-v1", "amazon.titan-embed-text-v2:0"
    with fake_llm.intercept() as fake:
        answer, headers = invoked(v1, {"inputText": "refund"})
        assert len(answer["embedding"]) == 1536
        assert str(answer["inputTextTokenCount"]) == headers["x-amzn-bedrock-input-token-count"] == "2"
        answer, _ = invoked(v2, {"inputText": "refund", "dimensions": 256, "normalize": True})
        assert len(answer["embedding"]) == 256
        assert answer["embeddingsByType"] == {"float": answer["embedding"]}
        both, _ = invoked(v2, {"inputText": "refund", "dimensions": 256, "embeddingTypes": ["binary"]})
        assert both["embeddingsByType"] == {"binary": [int(number > 0) for number in answer["embedding"]]}
        assert "embedding" not in both
        picture = {"inputText": "map", "inputImage": "aGk=", "embeddingConfig": {"outputEmbeddingLength": 384}}
        assert len(invoked("amazon.titan-embed-image-v1", picture)[0]["embedding"]) == 384
        fake.when(operation="embeddings").reply(Embedding([0.5, 0.25]))
        assert invoked(v1, {"inputText": "pinned"})[0]["embedding"] == [0.5, 0.25]
    assert {call.operation for call in fake.calls} == {"embeddings"}
    assert [call.last_user_text for call in fake.calls[:4]] == ["refund", "refund", "refund", "map\n[image]"]


@pytest.mark.parametrize("body", [{}, {"inputText": ""}, {"inputText": 5}, {"inputText": "x", "dimensions": 7}])
def test_titan_refuses(body: Any) -> None:
    with fake_llm.intercept(strict=False), pytest.raises(client().exceptions.ValidationException):
        invoked("amazon.titan-embed-text-v2:0", body)


def test_vectors_of_nova() -> None:
    asked = {"embeddingPurpose": "GENERIC_INDEX", "embeddingDimension": 1024, "text": {"value": "refund"}}
    body = {"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": asked}
    picture = {"embeddingPurpose": "GENERIC_INDEX", "image": {"format": "png", "source": {"bytes": "aGk="}}}
    model = "amazon.nova-2-multimodal-embeddings-v1:0"
    with fake_llm.intercept() as fake:
        (one,) = invoked(model, body)[0]["embeddings"]
        assert (one["embeddingType"], len(one["embedding"])) == ("TEXT", 1024)
        (one,) = invoked(model, {**body, "singleEmbeddingParams": picture})[0]["embeddings"]
        assert (one["embeddingType"], len(one["embedding"])) == ("IMAGE", 3072)
    assert [call.last_user_text for call in fake.calls] == ["refund", "[image]"]
    with fake_llm.intercept(strict=False), pytest.raises(client().exceptions.ValidationException):
        invoked(model, {"taskType": "SINGLE_EMBEDDING"})


def test_vectors_of_cohere() -> None:
    body = {"texts": ["refund", "weather"], "input_type": "search_document"}
    with fake_llm.intercept():
        answer, _ = invoked("cohere.embed-english-v3", body)
        assert [len(one) for one in answer["embeddings"]] == [1024, 1024]
        assert answer["response_type"] == "embeddings_floats"
        assert "meta" not in answer
        kinds = {**body, "embedding_types": ["int8"], "output_dimension": 256}
        answer, _ = invoked("us.cohere.embed-v4:0", kinds)
        assert [len(one) for one in answer["embeddings"]["int8"]] == [256, 256]


def test_ranks_by_either_way() -> None:
    documents = ["The weather is fine.", "How refunds are paid.", "A refund."]
    arn = "arn:aws:bedrock:us-east-1::foundation-model/cohere.rerank-v3-5:0"
    configured = {
        "type": "BEDROCK_RERANKING_MODEL",
        "bedrockRerankingConfiguration": {"modelConfiguration": {"modelArn": arn}, "numberOfResults": 2},
    }
    sources = [
        {"type": "INLINE", "inlineDocumentSource": {"type": "TEXT", "textDocument": {"text": text}}}
        for text in documents
    ]
    query = [{"type": "TEXT", "textQuery": {"text": "refund"}}]
    agent = client("bedrock-agent-runtime")
    with fake_llm.intercept() as fake:
        body = {"query": "refund", "documents": documents, "top_n": 2, "api_version": 2}
        answer, _ = invoked("cohere.rerank-v3-5:0", body)
        assert [item["index"] for item in answer["results"]] == [2, 1]
        assert answer.keys() == {"results"}
        found = agent.rerank(queries=query, sources=sources, rerankingConfiguration=configured)
        found.pop("ResponseMetadata")
        ranked = validated(agent, "Rerank", found)["results"]
        assert [item["index"] for item in ranked] == [2, 1]
        assert ranked[0]["relevanceScore"] > ranked[1]["relevanceScore"]
        fake.when(operation="rerank").reply(Json([0.1, 0.9, 0.5]))
        found = agent.rerank(queries=query, sources=sources, rerankingConfiguration=configured)
        assert [(item["index"], item["relevanceScore"]) for item in found["results"]] == [(1, 0.9), (2, 0.5)]
    assert {(call.operation, call.model, call.last_user_text) for call in fake.calls} == {
        ("rerank", "cohere.rerank-v3-5:0", "refund")
    }


def test_models_and_profiles_are_listed_beside_the_script() -> None:
    control = client("bedrock")
    arn = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-haiku-4-5-20251001-v1:0"
    asked: dict[str, dict[str, Any]] = {
        "list_foundation_models": {},
        "get_foundation_model": {"modelIdentifier": arn},
        "list_inference_profiles": {},
        "get_inference_profile": {"inferenceProfileIdentifier": CLAUDE},
    }
    with fake_llm.intercept(["kept"], strict=False) as fake:
        found = {}
        for name, options in asked.items():
            answer = getattr(control, name)(**options)
            answer.pop("ResponseMetadata")
            operation = control.meta.method_to_api_mapping[name]
            found[name] = validated(control, operation, answer)
        only = control.list_foundation_models(byProvider="Amazon", byOutputModality="EMBEDDING")["modelSummaries"]
        behind = control.get_inference_profile(inferenceProfileIdentifier=PROFILE)
    assert len(found["list_foundation_models"]["modelSummaries"]) > 2
    assert found["get_foundation_model"]["modelDetails"]["modelArn"] == arn
    assert found["get_foundation_model"]["modelDetails"]["providerName"] == "Anthropic"
    assert found["get_inference_profile"]["models"] == [{"modelArn": arn}]
    assert [model["modelId"] for model in only] == ["amazon.titan-embed-text-v2:0"]
    assert (behind["inferenceProfileArn"], behind["type"]) == (PROFILE, "APPLICATION")
    assert len(fake.calls) == 0
    assert {call.operation for call in fake.side_calls} == {"models"}
    assert fake.remaining == 1
