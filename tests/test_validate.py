"""What the real API refuses gets the vendor's own 400; what it accepts is never refused."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

import fake_llm
from _capability import needs
from fake_llm import Thinking, ToolCall

STRICT_TOOL = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
LOOSE_TOOL = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PARTIAL_TOOL = {**STRICT_TOOL, "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}


# --- asking each vendor through its SDK: `None`, or the text of its refusal ------------------------


def ask_openai(**asked: Any) -> str | None:
    import openai

    client = openai.OpenAI()
    create: Any = client.responses.create if "input" in asked else client.chat.completions.create
    return _refusal(
        lambda: create(**{"model": "gpt-4o", **asked}),
        openai.BadRequestError,
        lambda error: (error.body["message"], error.type == "invalid_request_error"),
    )


def ask_anthropic(**asked: Any) -> str | None:
    import anthropic

    create: Any = anthropic.Anthropic().messages.create
    return _refusal(
        lambda: create(**{"model": "claude-sonnet-4-6", "max_tokens": 2048, **asked}),
        anthropic.BadRequestError,
        lambda error: (error.body["error"]["message"], error.body["error"]["type"] == "invalid_request_error"),
    )


def ask_gemini(model: str = "gemini-3-pro-preview", **asked: Any) -> str | None:
    from google import genai
    from google.genai import errors

    client = genai.Client()
    return _refusal(
        lambda: client.models.generate_content(model=model, **asked),
        errors.ClientError,
        lambda error: (error.message, (error.code, error.status) == (400, "INVALID_ARGUMENT")),
    )


GEMINI_CHAT = "https://generativelanguage.googleapis.com/v1beta/openai/"
VERTEX_CHAT = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi"


def ask_gemini_chat(model: str = "gemini-3-pro-preview", base_url: str = GEMINI_CHAT, **asked: Any) -> str | None:
    """Google's error is a list on this path."""
    import openai

    create: Any = openai.OpenAI(base_url=base_url).chat.completions.create
    return _refusal(
        lambda: create(model=model, **asked),
        openai.BadRequestError,
        lambda error: (error.body[0]["error"]["message"], error.body[0]["error"]["status"] == "INVALID_ARGUMENT"),
    )


def ask_bedrock(**asked: Any) -> str | None:
    import boto3
    import botocore.exceptions

    client: Any = boto3.client("bedrock-runtime", region_name="us-east-1")
    return _refusal(
        lambda: client.converse(modelId="anthropic.claude-3-haiku-20240307-v1:0", **asked),
        botocore.exceptions.ClientError,
        lambda error: (error.response["Error"]["Message"], error.response["Error"]["Code"] == "ValidationException"),
    )


def ask_mistral(**asked: Any) -> str | None:
    """By HTTP: its SDK makes one error of all, with the body as text."""
    body = {"model": "mistral-large-latest", **asked}
    url, headers = "https://api.mistral.ai/v1/chat/completions", {"authorization": "Bearer key"}
    return _refusal(
        lambda: httpx.post(url, json=body, headers=headers).raise_for_status(),
        httpx.HTTPStatusError,
        lambda error: (error.response.json()["message"], error.response.json()["code"] in ("3230", "3280")),
    )


def _refusal(
    call: Callable[[], object], kind: type[Exception], read: Callable[[Any], tuple[str | None, bool]]
) -> str | None:
    try:
        call()
    except kind as error:
        text, as_always = read(error)
        return text if as_always else repr(error)
    return None


# --- what is said ---------------------------------------------------------------------------------

HELLO = {"role": "user", "content": "Hi"}


def _chat_call(key: str) -> dict[str, Any]:
    return {"id": key, "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}


def _chat(*keys: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [_chat_call(key) for key in keys]}


def _tool(key: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": key, "content": "sunny"}


def _tool_use(*keys: str) -> dict[str, Any]:
    uses = [{"type": "tool_use", "id": key, "name": "get_weather", "input": {}} for key in keys]
    return {"role": "assistant", "content": uses}


def _results(*keys: str) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": key, "content": "sunny"} for key in keys],
    }


def _item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "call_id": "call_1", **more}


CALL_ITEM = _item("function_call", name="get_weather", arguments="{}")
OUTPUT_ITEM = _item("function_call_output", output="sunny")


def _said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _function_call(*, signed: bool = True) -> dict[str, Any]:
    part: dict[str, Any] = {"function_call": {"name": "get_weather", "args": {}}}
    return part | {"thought_signature": b"abc"} if signed else part


SIGNED = {"google": {"thought_signature": "QUJD"}}


def _signed_chat(*keys: str, signature: Mapping[str, Any] = SIGNED) -> dict[str, Any]:
    """The first call is signed, as answers have it."""
    first, *others = [_chat_call(key) for key in keys]
    return {"role": "assistant", "content": None, "tool_calls": [{**first, "extra_content": signature}, *others]}


def _unsigned(position: int) -> str:
    return (
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
        "and missing thought_signature may lead to degraded model performance. Additional data, function call "
        f"`default_api:get_weather` , position {position}. Please refer to "
        "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )


FUNCTION_RESPONSE = {"function_response": {"name": "get_weather", "response": {"result": "sunny"}}}
QUESTION = _said("user", {"text": "Weather?"})


def _block(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def _use(key: str) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": key, "name": "get_weather", "input": {}}}


def _result(key: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": key, "content": [{"text": "sunny"}]}}


TOOLS = {"toolConfig": {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}}
TEXT = {"text": "Hi"}
DOCS = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"


def _function(parameters: Any, *, strict: bool = True) -> dict[str, Any]:
    return {"name": "get_weather", "strict": strict, "parameters": parameters}


def _wrapped(parameters: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "function": _function(parameters)}]


def _response_format(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "Weather", "strict": True, "schema": schema}}


def _text_format(schema: Any) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "name": "Weather", "strict": True, "schema": schema}}


NOT_CLOSED = "'additionalProperties' is required to be supplied and to be false."
NOT_ALL = "'required' is required to be supplied and to be an array including every key in properties. Missing 'unit'."
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: "
)
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
NO_RESULT = (
    "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
NUMBER = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)

REFUSED: Mapping[str, tuple[Callable[..., str | None], dict[str, Any], str]] = {
    "chat-result-missing-at-the-end": (ask_openai, {"messages": [HELLO, _chat("call_1")]}, UNANSWERED + "call_1"),
    "chat-result-missing": (
        ask_openai,
        {"messages": [HELLO, _chat("call_1", "call_2"), _tool("call_2"), HELLO]},
        UNANSWERED + "call_1",
    ),
    "chat-orphan": (ask_openai, {"messages": [HELLO, _tool("call_1")]}, ORPHAN),
    "chat-wrong-id": (ask_openai, {"messages": [HELLO, _chat("call_1"), _tool("call_9")]}, ORPHAN),
    "chat-json-mode": (
        ask_openai,
        {"messages": [HELLO], "response_format": {"type": "json_object"}},
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    ),
    "chat-tool-not-closed": (
        ask_openai,
        {"messages": [HELLO], "tools": _wrapped(LOOSE_TOOL)},
        f"Invalid schema for function 'get_weather': In context=(), {NOT_CLOSED}",
    ),
    "chat-tool-not-all-required": (
        ask_openai,
        {"messages": [HELLO], "tools": _wrapped(PARTIAL_TOOL)},
        f"Invalid schema for function 'get_weather': In context=(), {NOT_ALL}",
    ),
    "chat-schema-inside": (
        ask_openai,
        {
            "messages": [HELLO],
            "response_format": _response_format(
                {**STRICT_TOOL, "properties": {"city": {"type": "array", "items": LOOSE_TOOL}}}
            ),
        },
        f"Invalid schema for response_format 'Weather': In context=('properties', 'city', 'items'), {NOT_CLOSED}",
    ),
    "chat-max-tokens": (
        ask_openai,
        {"messages": [HELLO], "model": "gpt-5-mini", "max_tokens": 5},
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "chat-temperature": (
        ask_openai,
        {"messages": [HELLO], "model": "gpt-5", "temperature": 0.2},
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
    ),
    "responses-temperature": (
        ask_openai,
        {"input": "Hi", "model": "gpt-5", "temperature": 0},
        "Unsupported parameter: 'temperature' is not supported with this model.",
    ),
    "chat-stop": (
        ask_openai,
        {"messages": [HELLO], "model": "gpt-5-mini", "stop": ["x"]},
        "Unsupported parameter: 'stop' is not supported with this model.",
    ),
    "responses-output-missing": (
        ask_openai,
        {"input": [HELLO, CALL_ITEM]},
        "No tool output found for function call call_1.",
    ),
    "responses-call-missing": (
        ask_openai,
        {"input": [HELLO, OUTPUT_ITEM]},
        "No tool call found for function call output with call_id call_1.",
    ),
    "responses-json-mode": (
        ask_openai,
        {"input": "Hi", "text": {"format": {"type": "json_object"}}},
        "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
    ),
    "responses-tool": (
        ask_openai,
        {"input": "Hi", "tools": [{"type": "function", **_function(PARTIAL_TOOL)}]},
        f"Invalid schema for function 'get_weather': In context=(), {NOT_ALL}",
    ),
    "responses-schema": (
        ask_openai,
        {"input": "Hi", "text": _text_format(LOOSE_TOOL)},
        f"Invalid schema for response_format 'Weather': In context=(), {NOT_CLOSED}",
    ),
    "anthropic-result-missing": (
        ask_anthropic,
        {"messages": [HELLO, _tool_use("toolu_1", "toolu_2"), _results("toolu_1")]},
        NO_RESULT.format("toolu_2"),
    ),
    "anthropic-result-missing-at-the-end": (
        ask_anthropic,
        {"messages": [HELLO, _tool_use("toolu_1")]},
        NO_RESULT.format("toolu_1"),
    ),
    "anthropic-orphan": (
        ask_anthropic,
        {"messages": [_results("toolu_1")]},
        (
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message."
        ),
    ),
    "anthropic-twice": (
        ask_anthropic,
        {"messages": [HELLO, _tool_use("toolu_1"), _results("toolu_1", "toolu_1")]},
        (
            "messages.2.content.1: each tool_use must have a single result. "
            "Found multiple `tool_result` blocks with id: toolu_1"
        ),
    ),
    "anthropic-empty": (
        ask_anthropic,
        {"messages": [HELLO, {"role": "assistant", "content": ""}, HELLO]},
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    "anthropic-empty-text": (
        ask_anthropic,
        {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
        "messages: text content blocks must be non-empty",
    ),
    "anthropic-trailing-blank": (
        ask_anthropic,
        {"messages": [HELLO, {"role": "assistant", "content": "Well, "}]},
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "anthropic-budget": (
        ask_anthropic,
        {"messages": [HELLO], "thinking": {"type": "enabled", "budget_tokens": 2048}},
        (
            "`max_tokens` must be greater than `thinking.budget_tokens`. "
            f"Please consult our documentation at {DOCS}#max-tokens-and-context-window-size"
        ),
    ),
    "anthropic-forced": (
        ask_anthropic,
        {
            "messages": [HELLO],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": "get_weather", "input_schema": LOOSE_TOOL}],
            "tool_choice": {"type": "any"},
        },
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "gemini-signature-dropped": (
        ask_gemini,
        {"contents": [QUESTION, _said("model", _function_call(signed=False)), _said("user", FUNCTION_RESPONSE)]},
        _unsigned(2),
    ),
    "gemini-chat-signature-dropped": (
        ask_gemini_chat,
        {"messages": [{"role": "system", "content": "Be brief."}, HELLO, _chat("call_1"), _tool("call_1")]},
        _unsigned(2),
    ),
    "gemini-chat-second-step": (
        ask_gemini_chat,
        {
            "messages": [
                HELLO,
                _signed_chat("call_1", "call_2"),
                *(_tool("call_1"), _tool("call_2")),
                _chat("call_3"),
                _tool("call_3"),
            ]
        },
        _unsigned(4),
    ),
    "gemini-chat-only-the-second-signed": (
        ask_gemini_chat,
        {
            "messages": [
                HELLO,
                {
                    **_chat("call_1"),
                    "tool_calls": [_chat_call("call_1"), {**_chat_call("call_2"), "extra_content": SIGNED}],
                },
                *(_tool("call_1"), _tool("call_2")),
            ]
        },
        _unsigned(2),
    ),
    "vertex-chat-signature-dropped": (
        ask_gemini_chat,
        {
            "model": "google/gemini-3-flash-preview",
            "base_url": VERTEX_CHAT,
            "messages": [HELLO, _chat("call_1"), _tool("call_1")],
        },
        _unsigned(2),
    ),
    "gemini-one-of-two": (
        ask_gemini,
        {"contents": [QUESTION, _said("model", _function_call(), _function_call()), _said("user", FUNCTION_RESPONSE)]},
        NUMBER,
    ),
    "gemini-no-response": (ask_gemini, {"contents": [QUESTION, _said("model", _function_call()), QUESTION]}, NUMBER),
    "gemini-no-call": (
        ask_gemini,
        {"contents": [QUESTION, _said("model", {"text": "Well"}), _said("user", FUNCTION_RESPONSE)]},
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    "gemini-call-first": (
        ask_gemini,
        {"contents": [_said("model", _function_call()), _said("user", FUNCTION_RESPONSE)]},
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    "bedrock-assistant-first": (
        ask_bedrock,
        {"messages": [_block("assistant", TEXT)]},
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    ),
    "bedrock-result-missing": (
        ask_bedrock,
        {"messages": [_block("user", TEXT), _block("assistant", _use("t1"), _use("t2")), _block("user", _result("t1"))]}
        | TOOLS,
        "Expected toolResult blocks at messages.2.content for the following Ids: t2",
    ),
    "bedrock-orphan": (
        ask_bedrock,
        {"messages": [_block("user", _result("t1"))], **TOOLS},
        "The number of toolResult blocks at messages.0.content exceeds the number of toolUse blocks of previous turn.",
    ),
    "bedrock-blank": (
        ask_bedrock,
        {"messages": [_block("user", {"text": " "})]},
        (
            "The text field in the ContentBlock object at messages.0.content.0 is blank. Add text to the text field, and try "
            "again."
        ),
    ),
    "bedrock-no-tools": (
        ask_bedrock,
        {"messages": [_block("user", TEXT), _block("assistant", _use("t1")), _block("user", _result("t1"))]},
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    ),
    "mistral-one-of-two": (
        ask_mistral,
        {"messages": [HELLO, _chat("abcdefghi", "bcdefghij"), _tool("abcdefghi")]},
        "Not the same number of function calls and responses",
    ),
    "mistral-long-id": (
        ask_mistral,
        {"messages": [HELLO, _chat("call_1"), _tool("call_1")]},
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    ),
    "mistral-assistant-last": (
        ask_mistral,
        {"messages": [HELLO, {"role": "assistant", "content": "Well"}]},
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    ),
}

THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
ACCEPTED: Mapping[str, tuple[Callable[..., str | None], dict[str, Any]]] = {
    "chat-two-results": (
        ask_openai,
        {"messages": [HELLO, _chat("call_1", "call_2"), _tool("call_2"), _tool("call_1"), HELLO]},
    ),
    "chat-json-mode": (
        ask_openai,
        {"messages": [{"role": "system", "content": "Write JSON."}, HELLO], "response_format": {"type": "json_object"}},
    ),
    "chat-strict": (
        ask_openai,
        {"messages": [HELLO], "tools": _wrapped(STRICT_TOOL), "response_format": _response_format(STRICT_TOOL)},
    ),
    "chat-not-strict": (
        ask_openai,
        {"messages": [HELLO], "tools": [{"type": "function", "function": _function(LOOSE_TOOL, strict=False)}]},
    ),
    "chat-max-tokens": (ask_openai, {"messages": [HELLO], "max_tokens": 5, "stop": ["x"], "temperature": 0}),
    "chat-temperature": (ask_openai, {"messages": [HELLO], "model": "gpt-5", "temperature": 1}),
    "chat-stop": (ask_openai, {"messages": [HELLO], "model": "o3-mini", "stop": ["x"]}),
    "responses-odd-ids": (ask_openai, {"input": [{**OUTPUT_ITEM, "call_id": []}, {**CALL_ITEM, "call_id": {}}]}),
    "responses-temperature": (ask_openai, {"input": "Hi", "model": "gpt-5-chat-latest", "temperature": 0}),
    "responses-apart": (ask_openai, {"input": [CALL_ITEM, HELLO, OUTPUT_ITEM]}),
    "responses-strict": (ask_openai, {"input": "Hi", "text": _text_format(STRICT_TOOL)}),
    "anthropic-results-apart": (
        ask_anthropic,
        {"messages": [HELLO, _tool_use("toolu_1", "toolu_2"), _results("toolu_1"), _results("toolu_2"), HELLO]},
    ),
    "anthropic-empty-at-the-end": (ask_anthropic, {"messages": [HELLO, {"role": "assistant", "content": ""}]}),
    "anthropic-thoughts": (
        ask_anthropic,
        {
            "messages": [
                HELLO,
                {"role": "assistant", "content": [THOUGHT, *_tool_use("toolu_1")["content"]]},
                _results("toolu_1"),
            ],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
    ),
    "anthropic-thoughts-dropped": (
        ask_anthropic,
        {
            "messages": [HELLO, _tool_use("toolu_1"), _results("toolu_1")],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
    ),
    "anthropic-thoughts-of-yesterday": (
        ask_anthropic,
        {
            "messages": [
                HELLO,
                _tool_use("toolu_1"),
                _results("toolu_1"),
                {"role": "assistant", "content": "So."},
                HELLO,
            ],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
    ),
    "gemini-first-signed": (
        ask_gemini,
        {
            "contents": [
                QUESTION,
                _said("model", _function_call(), _function_call(signed=False)),
                _said("user", FUNCTION_RESPONSE, FUNCTION_RESPONSE),
            ]
        },
    ),
    "gemini-unsigned-yesterday": (
        ask_gemini,
        {
            "contents": [
                QUESTION,
                _said("model", _function_call(signed=False)),
                _said("user", FUNCTION_RESPONSE),
                _said("model", {"text": "Sunny."}),
                QUESTION,
            ]
        },
    ),
    "gemini-2": (
        ask_gemini,
        {
            "model": "gemini-2.5-flash",
            "contents": [QUESTION, _said("model", _function_call(signed=False)), _said("user", FUNCTION_RESPONSE)],
        },
    ),
    "gemini-chat-first-signed": (
        ask_gemini_chat,
        {"messages": [HELLO, _signed_chat("call_1", "call_2"), _tool("call_1"), _tool("call_2")]},
    ),
    "gemini-chat-unsigned-yesterday": (
        ask_gemini_chat,
        {"messages": [HELLO, _chat("call_1"), _tool("call_1"), {"role": "assistant", "content": "Sunny."}, HELLO]},
    ),
    "gemini-chat-made-up": (
        ask_gemini_chat,
        {
            "messages": [
                HELLO,
                _signed_chat("call_1", signature={"google": {"thought_signature": "skip_thought_signature_validator"}}),
                _tool("call_1"),
            ]
        },
    ),
    "gemini-chat-2": (
        ask_gemini_chat,
        {"model": "gemini-2.5-flash", "messages": [HELLO, _chat("call_1"), _tool("call_1")]},
    ),
    "vertex-chat-signed": (
        ask_gemini_chat,
        {
            "model": "google/gemini-3-flash-preview",
            "base_url": VERTEX_CHAT,
            "messages": [
                HELLO,
                _signed_chat("call_1", signature={"vertex": {"thought_signature": "QUJD"}}),
                _tool("call_1"),
            ],
        },
    ),
    "vertex-chat-llama": (
        ask_gemini_chat,
        {
            "model": "meta/llama-4-maverick-17b-128e-instruct-maas",
            "base_url": VERTEX_CHAT,
            "messages": [HELLO, _chat("call_1"), _tool("call_1")],
        },
    ),
    "bedrock-twice-the-user": (ask_bedrock, {"messages": [_block("user", TEXT), _block("user", TEXT)]}),
    "bedrock-tools": (
        ask_bedrock,
        {
            "messages": [_block("user", TEXT), _block("assistant", _use("t1")), _block("user", _result("t1"), TEXT)],
            **TOOLS,
        },
    ),
    "mistral-tools": (ask_mistral, {"messages": [HELLO, _chat("abcdefghi"), _tool("abcdefghi")]}),
    "mistral-prefix": (ask_mistral, {"messages": [HELLO, {"role": "assistant", "content": "Well", "prefix": True}]}),
}

SDK = {
    ask_openai: "openai",
    ask_anthropic: "anthropic",
    ask_gemini: "google-genai",
    ask_gemini_chat: "openai",
    ask_bedrock: "boto3",
}


def _rows(table: Mapping[str, tuple[Any, ...]]) -> list[Any]:
    return [
        pytest.param(*row, id=name, marks=[needs(SDK[row[0]])] if row[0] in SDK else []) for name, row in table.items()
    ]


@pytest.mark.parametrize(("ask", "asked", "text"), _rows(REFUSED))
def test_what_the_api_refuses_gets_its_own_400(
    ask: Callable[..., str | None], asked: dict[str, Any], text: str
) -> None:
    with fake_llm.intercept(default="Fine.") as fake:
        assert ask(**asked) == text
    assert len(fake.calls) == 1
    assert fake.failures == []


@pytest.mark.parametrize(("ask", "asked", "text"), _rows(REFUSED))
def test_without_validate_it_is_answered(ask: Callable[..., str | None], asked: dict[str, Any], text: str) -> None:
    with fake_llm.intercept(default=fake_llm.Reply("Fine.", check=False), validate=False):
        assert ask(**asked) is None


@pytest.mark.parametrize(("ask", "asked"), _rows(ACCEPTED))
def test_what_the_api_accepts_is_answered(ask: Callable[..., str | None], asked: dict[str, Any]) -> None:
    with fake_llm.intercept(default=fake_llm.Reply("Fine.", check=False)):
        assert ask(**asked) is None


@pytest.mark.parametrize(
    ("messages", "param"),
    [([HELLO, _chat("call_1")], "messages"), ([HELLO, _chat("call_1"), HELLO], "messages.[2].role")],
)
@needs("openai")
def test_openai_names_the_place(messages: list[Any], param: str) -> None:
    import openai

    with fake_llm.intercept(default="Fine."), pytest.raises(openai.BadRequestError) as caught:
        openai.OpenAI().chat.completions.create(model="gpt-4o", messages=messages)
    assert caught.value.param == param


@needs("openai>=2")
@pytest.mark.parametrize("conversation", [False, True])
def test_a_call_of_an_earlier_response_waits_for_its_output(*, conversation: bool) -> None:
    import openai

    tools: Any = [{"type": "function", "name": "get_weather", "parameters": LOOSE_TOOL}]
    with fake_llm.intercept([ToolCall("get_weather", {"city": "Paris"}, id="call_1"), "Sunny."]):
        client = openai.OpenAI(max_retries=0)
        place: dict[str, Any] = {"conversation": client.conversations.create().id} if conversation else {}
        first = client.responses.create(model="gpt-4o", input="Weather?", tools=tools, **place)
        place = place or {"previous_response_id": first.id}
        with pytest.raises(openai.BadRequestError, match=r"No tool output found for function call call_1\."):
            client.responses.create(model="gpt-4o", input="And?", **place)
        output: Any = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
        assert client.responses.create(model="gpt-4o", input=[output], **place).output_text == "Sunny."


@needs("google-genai")
def test_a_thought_signature_travels_back() -> None:
    from google import genai
    from google.genai import types

    def get_weather(city: str) -> str:
        """The weather in a city."""
        return f"sunny in {city}"

    script = [[Thinking("Hm.", signature="QUJD"), ToolCall("get_weather", {"city": "Paris"})], "It is sunny."]
    with fake_llm.intercept(script) as fake:
        config = types.GenerateContentConfig(tools=[get_weather])
        client = genai.Client()
        answer = client.models.generate_content(model="gemini-3-pro-preview", contents="Weather?", config=config)
    assert answer.text == "It is sunny."
    assert len(fake.calls) == 2


@needs("openai")
@pytest.mark.parametrize("stream", [False, True])
def test_on_geminis_openai_path_it_travels_with_the_call(*, stream: bool) -> None:
    import openai

    tools: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": LOOSE_TOOL}}]
    paris, rome = (ToolCall("get_weather", {"city": city}) for city in ("Paris", "Rome"))
    script = [[paris, rome], [Thinking("Hm.", signature="REVG"), paris], "It is sunny."]
    asked: dict[str, Any] = {"model": "gemini-3-pro-preview", "tools": tools}
    messages: list[Any] = [HELLO]
    answers: list[Any] = []
    with fake_llm.intercept(script) as fake:
        completions = openai.OpenAI(base_url=GEMINI_CHAT, max_retries=0).chat.completions
        while not answers or answers[-1].tool_calls:
            if stream:
                with completions.stream(**asked, messages=messages) as chunks:
                    answer = chunks.get_final_completion().choices[0].message
                answer.role = "assistant"  # each delta says it, and the helper adds them up
            else:
                answer = completions.create(**asked, messages=messages).choices[0].message
            answers.append(answer)
            messages += [answer, *(_tool(call.id) for call in answer.tool_calls or ())]
        bare = [*messages[:4], _chat("call_1"), _tool("call_1")]
        with pytest.raises(openai.BadRequestError, match="400") as caught:
            completions.create(**asked, messages=bare)
    assert caught.value.body == caught.value.response.json()
    assert caught.value.response.json()[0]["error"]["message"] == _unsigned(4)
    assert answers[-1].content == "It is sunny."
    said = [[(call.model_extra or {}).get("extra_content") for call in each.tool_calls] for each in answers[:2]]
    assert said[0][1] is None
    assert base64.b64decode(said[0][0]["google"]["thought_signature"], validate=True)
    assert said[1] == [{"google": {"thought_signature": "REVG"}}]
    assert len(fake.calls) == 4


def test_hosts_of_which_nothing_is_known_are_lenient() -> None:
    body = {"model": "m", "messages": [HELLO, _tool("call_1")]}
    with fake_llm.intercept(default="Fine."):
        assert httpx.post("https://api.groq.com/openai/v1/chat/completions", json=body).status_code == 200


def test_a_request_that_holds_no_turn_back_leaves_the_script_as_it_is() -> None:
    body = {"model": "gpt-4o", "messages": [HELLO, _tool("call_1")]}
    with fake_llm.intercept(["Fine."]) as fake:
        assert httpx.post("https://api.openai.com/v1/chat/completions", json=body).status_code == 400
        body["messages"] = [HELLO]
        assert httpx.post("https://api.openai.com/v1/chat/completions", json=body).status_code == 200
    assert [call.response and call.response.status for call in fake.calls] == [400, 200]
