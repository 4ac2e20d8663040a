"""Four vocabularies asked without an SDK: bodies as plain as can be, and parsers that share no line with the product."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

__all__ = ["VENDORS", "WAYS", "Said", "Vendor", "events", "failure", "said"]


@dataclass(slots=True)
class Said:
    """What one answer says.

    Attributes:
        parts: `("text", …)`, `("thinking", …)`, `("refusal", …)`, `("call", name, arguments)` and `("image", …)`, in
            the order of the wire; neighbouring texts are one.
        finish: The vendor's word for why it ended; `None` when the stream broke off before it.
        usage: The vendor's own object.
    """

    parts: list[tuple[Any, ...]] = field(default_factory=list)
    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    id: str | None = None
    model: str | None = None

    @property
    def text(self) -> str:
        return "".join(part[1] for part in self.parts if part[0] == "text")

    @property
    def thinking(self) -> str:
        return "".join(part[1] for part in self.parts if part[0] == "thinking")

    @property
    def refusal(self) -> str:
        return "".join(part[1] for part in self.parts if part[0] == "refusal")

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(part[1], part[2]) for part in self.parts if part[0] == "call"]

    def add(self, kind: str, text: str) -> None:
        """Append a text, to the last part if it is of the same kind."""
        if self.parts and self.parts[-1][0] == kind:
            self.parts[-1] = (kind, self.parts[-1][1] + text)
        elif text:
            self.parts.append((kind, text))


def events(body: bytes) -> list[tuple[str | None, str]]:
    """Server-sent events as the standard reads them: the name and the data of each."""
    text = body.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    found: list[tuple[str | None, str]] = []
    name: str | None = None
    data: list[str] = []
    for line in text.split("\n"):
        if not line:
            if data:
                found.append((name, "\n".join(data)))
            name, data = None, []
            continue
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "data":
            data.append(value)
        elif key == "event":
            name = value
    return found


def _arguments(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


# --- OpenAI chat --------------------------------------------------------------------------------


def _chat_body(text: str, tools: Mapping[str, Any], schema: Any, choice: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}
    if tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": value}} for name, value in tools.items()
        ]
    if schema is not None:
        body["response_format"] = (
            {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
            if schema
            else {"type": "json_object"}
        )
    if choice is not None:
        body["tool_choice"] = "required" if choice == "any" else {"type": "function", "function": {"name": choice}}
    return body


def _chat_whole(document: Any, index: int = 0) -> Said:
    choice = document["choices"][index]
    message = choice["message"]
    said = Said([], choice["finish_reason"], document["usage"], document["id"], document["model"])
    said.add("thinking", message.get("reasoning_content") or "")
    said.add("text", message["content"] or "")
    said.add("refusal", message.get("refusal") or "")
    for call in message.get("tool_calls") or ():
        said.parts.append(("call", call["function"]["name"], _arguments(call["function"]["arguments"])))
    return said


def _chat_stream(found: list[tuple[str | None, str]], index: int = 0) -> Said:
    said, calls = Said(), dict[int, list[str]]()
    for _, data in found:
        if data == "[DONE]":
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            break
        said.id, said.model = chunk["id"], chunk["model"]
        said.usage = chunk.get("usage") or said.usage
        for choice in chunk["choices"]:
            if choice["index"] != index:
                continue
            delta = choice["delta"]
            said.add("thinking", delta.get("reasoning_content") or "")
            said.add("text", delta.get("content") or "")
            said.add("refusal", delta.get("refusal") or "")
            for call in delta.get("tool_calls") or ():
                kept = calls.setdefault(call["index"], ["", ""])
                kept[0] += call["function"].get("name") or ""
                kept[1] += call["function"].get("arguments") or ""
            said.finish = choice["finish_reason"] or said.finish
    said.parts += [("call", name, _arguments(text)) for name, text in calls.values()]
    return said


# --- OpenAI Responses ---------------------------------------------------------------------------


def _responses_body(text: str, tools: Mapping[str, Any], schema: Any, choice: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"model": "gpt-5", "input": text}
    if tools:
        body["tools"] = [{"type": "function", "name": name, "parameters": value} for name, value in tools.items()]
    if schema is not None:
        form = {"type": "json_schema", "name": "answer", "schema": schema} if schema else {"type": "json_object"}
        body["text"] = {"format": form}
    if choice is not None:
        body["tool_choice"] = "required" if choice == "any" else {"type": "function", "name": choice}
    return body


def _responses_whole(document: Any) -> Said:
    reason = (document["incomplete_details"] or {}).get("reason")
    said = Said([], reason or document["status"], document["usage"], document["id"], document["model"])
    for item in document["output"]:
        if item["type"] == "reasoning":
            said.add("thinking", "".join(part["text"] for part in item["summary"]))
        elif item["type"] == "message":
            for part in item["content"]:
                said.add(
                    "refusal" if part["type"] == "refusal" else "text", part.get("text") or part.get("refusal") or ""
                )
        elif item["type"] == "function_call":
            said.parts.append(("call", item["name"], _arguments(item["arguments"])))
        elif item["type"] == "image_generation_call":
            said.parts.append(("image", item["result"]))
    return said


def _responses_stream(found: list[tuple[str | None, str]]) -> Said:
    said, names, arguments = Said(), dict[int, str](), dict[int, str]()
    for name, data in found:
        event = json.loads(data)
        assert name == event["type"]
        if name == "response.created":
            said.id, said.model = event["response"]["id"], event["response"]["model"]
        elif name == "response.output_text.delta":
            said.add("text", event["delta"])
        elif name == "response.refusal.delta":
            said.add("refusal", event["delta"])
        elif name == "response.reasoning_summary_text.delta":
            said.add("thinking", event["delta"])
        elif name == "response.output_item.added" and event["item"]["type"] == "function_call":
            names[event["output_index"]] = event["item"]["name"]
        elif name == "response.function_call_arguments.delta":
            index = event["output_index"]
            arguments[index] = arguments.get(index, "") + event["delta"]
        elif name == "response.output_item.done" and event["item"]["type"] == "function_call":
            index = event["output_index"]
            assert event["item"]["arguments"] == arguments.get(index, "")
            said.parts.append(("call", names[index], _arguments(arguments.get(index, ""))))
        elif name == "response.output_item.done" and event["item"]["type"] == "image_generation_call":
            said.parts.append(("image", event["item"]["result"]))
        elif name in ("response.completed", "response.incomplete"):
            last = _responses_whole(event["response"])
            said.finish, said.usage = last.finish, last.usage
            assert last.parts == said.parts
    return said


# --- Anthropic ----------------------------------------------------------------------------------


def _anthropic_body(text: str, tools: Mapping[str, Any], schema: Any, choice: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": "claude-sonnet-5",
        "max_tokens": 1024,
        "messages": [{"role": "user", "content": text}],
    }
    if tools:
        body["tools"] = [{"name": name, "input_schema": value} for name, value in tools.items()]
    if schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    if choice is not None:
        body["tool_choice"] = {"type": "any"} if choice == "any" else {"type": "tool", "name": choice}
    return body


def _anthropic_whole(document: Any) -> Said:
    said = Said([], document["stop_reason"], document["usage"], document["id"], document["model"])
    for block in document["content"]:
        if block["type"] == "tool_use":
            said.parts.append(("call", block["name"], block["input"]))
        elif block["type"] == "redacted_thinking":
            said.parts.append(("redacted", block["data"]))
        else:
            said.add(block["type"], block[block["type"]])
    return said


def _anthropic_stream(found: list[tuple[str | None, str]]) -> Said:
    blocks: list[Any] = []
    said = Said()
    for name, data in found:
        event = json.loads(data)
        assert name == event["type"]
        if name == "message_start":
            message = event["message"]
            said.id, said.model, said.usage = message["id"], message["model"], message["usage"]
        elif name == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append(
                event["content_block"] | ({"json": ""} if event["content_block"]["type"] == "tool_use" else {})
            )
        elif name == "content_block_delta":
            delta, block = event["delta"], blocks[event["index"]]
            if delta["type"] == "input_json_delta":
                block["json"] += delta["partial_json"]
            else:
                kind = delta["type"].removesuffix("_delta")
                block[kind] = block[kind] + delta[kind]
        elif name == "message_delta":
            said.finish = event["delta"]["stop_reason"]
            said.usage = {**(said.usage or {}), **event["usage"]}
    for block in blocks:
        if block["type"] == "tool_use":
            block["input"] = _arguments(block["json"] or "{}")
    document = {"content": blocks, "stop_reason": said.finish, "usage": said.usage, "id": said.id, "model": said.model}
    return _anthropic_whole(document)


# --- Gemini -------------------------------------------------------------------------------------


def _gemini_body(text: str, tools: Mapping[str, Any], schema: Any, choice: str | None) -> dict[str, Any]:
    body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    if tools:
        body["tools"] = [
            {"functionDeclarations": [{"name": name, "parametersJsonSchema": value} for name, value in tools.items()]}
        ]
    if schema is not None:
        body["generationConfig"] = {"responseMimeType": "application/json"} | (
            {"responseJsonSchema": schema} if schema else {}
        )
    if choice is not None:
        config: dict[str, Any] = {"mode": "ANY"}
        if choice != "any":
            config["allowedFunctionNames"] = [choice]
        body["toolConfig"] = {"functionCallingConfig": config}
    return body


def _gemini_documents(documents: list[Any]) -> Said:
    said = Said()
    for document in documents:
        said.id, said.model, said.usage = document["responseId"], document["modelVersion"], document["usageMetadata"]
        if "promptFeedback" in document:
            said.finish = document["promptFeedback"]["blockReason"]
        for candidate in document.get("candidates", ())[:1]:
            said.finish = candidate.get("finishReason") or said.finish
            for part in candidate.get("content", {}).get("parts", ()):
                if "functionCall" in part:
                    said.parts.append(("call", part["functionCall"]["name"], part["functionCall"].get("args", {})))
                elif "inlineData" in part:
                    said.parts.append(("image", part["inlineData"]["data"]))
                else:
                    said.add("thinking" if part.get("thought") else "text", part["text"])
    return said


# --- all ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One vocabulary at the host it comes from."""

    name: str
    dialect: str
    url: str
    key: str
    make: Callable[[str, Mapping[str, Any], Any, str | None], dict[str, Any]]

    def __str__(self) -> str:
        return self.name

    @property
    def model(self) -> str:
        return {"anthropic": "claude-sonnet-5", "gemini": "gemini-2.5-flash"}.get(self.name, "gpt-5")

    def place(self, stream: bool = False) -> str:
        """The URL."""
        if self.name == "gemini":
            return self.url + (":streamGenerateContent?alt=sse" if stream else ":generateContent")
        return self.url

    def body(
        self,
        text: str = "Hi",
        *,
        stream: bool = False,
        tools: Mapping[str, Any] | None = None,
        schema: Any = None,
        choice: str | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """A request; `schema={}` is the bare JSON mode, `choice` a tool's name or `any`."""
        body = self.make(text, tools or {}, schema, choice)
        if stream and self.name != "gemini":
            body["stream"] = True
        if stream and self.name == "chat":
            body["stream_options"] = {"include_usage": True}
        return {**body, **fields}

    def post(self, text: str = "Hi", *, stream: bool = False, headers: Any = None, **asked: Any) -> httpx.Response:
        """The answer, read whole."""
        return _CLIENT.post(
            self.place(stream), json=self.body(text, stream=stream, **asked), headers={self.key: "k", **(headers or {})}
        )


_CLIENT = httpx.Client()  # one for all: to make one takes longer than most tests

VENDORS = [
    Vendor(
        name="chat",
        dialect="openai_chat",
        url="https://api.openai.com/v1/chat/completions",
        key="authorization",
        make=_chat_body,
    ),
    Vendor(
        name="responses",
        dialect="openai_responses",
        url="https://api.openai.com/v1/responses",
        key="authorization",
        make=_responses_body,
    ),
    Vendor(
        name="anthropic",
        dialect="anthropic_messages",
        url="https://api.anthropic.com/v1/messages",
        key="x-api-key",
        make=_anthropic_body,
    ),
    Vendor(
        name="gemini",
        dialect="gemini",
        url="https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash",
        key="x-goog-api-key",
        make=_gemini_body,
    ),
]
CHAT, RESPONSES, ANTHROPIC, GEMINI = VENDORS
WAYS = [(vendor, stream) for vendor in VENDORS for stream in (False, True)]
"""Each vocabulary, whole and streamed."""


def said(vendor: Vendor, response: httpx.Response, index: int = 0) -> Said:
    """What a successful answer says."""
    assert response.status_code == 200, response.text
    if "event-stream" in response.headers["content-type"]:
        found = events(response.content)
        if vendor.name == "gemini":
            return _gemini_documents([json.loads(data) for _, data in found])
        if vendor.name == "chat":
            return _chat_stream(found, index)
        return {"responses": _responses_stream, "anthropic": _anthropic_stream}[vendor.name](found)
    document = json.loads(response.content.decode("utf-8-sig"))
    if vendor.name == "gemini":
        return _gemini_documents(document if isinstance(document, list) else [document])
    if vendor.name == "chat":
        return _chat_whole(document, index)
    return {"responses": _responses_whole, "anthropic": _anthropic_whole}[vendor.name](document)


def failure(vendor: Vendor, response: httpx.Response) -> str:
    """The message of an error, whose body must have the vendor's own shape."""
    assert response.status_code >= 400, response.text
    document = response.json()
    error = document["error"]
    if vendor.name in ("chat", "responses"):
        assert list(document) == ["error"]
        assert set(error) == {"message", "type", "param", "code"}
    elif vendor.name == "anthropic":
        assert document["type"] == "error"
        assert set(error) >= {"type", "message"}
    else:
        assert error["code"] == response.status_code
        assert error["status"].isupper()
    assert isinstance(error["message"], str)
    assert error["message"]
    return str(error["message"])
