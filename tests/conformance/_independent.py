"""What a request says, taken from its raw body as simply as can be: the judge of `Dialect.read`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Facts", "Said", "extract", "merged"]

_JSON_MODE: dict[str, Any] = {}


@dataclass(slots=True)
class Said:
    """One message: its text parts in order (placeholders for media), its calls, its one result."""

    role: str
    texts: list[str] = field(default_factory=list)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    result: tuple[str | None, str] | None = None


@dataclass(slots=True)
class Facts:
    """One request."""

    messages: list[Said]
    system: list[str]
    tools: dict[str, Any]
    schema: Any
    model: str | None
    stream: bool
    max_tokens: int | None = None
    temperature: float | None = None


def extract(dialect: str, url: str, body: Mapping[str, Any]) -> Facts:
    """The facts of one request."""
    return _EXTRACTORS[dialect](url, body)


def merged(messages: Iterable[Said]) -> list[Said]:
    """The messages with neighbouring ones of the assistant made one: Responses has an item for each part."""
    result: list[Said] = []
    for said in messages:
        if said.role == "assistant" and result and result[-1].role == "assistant":
            last = result[-1]
            result[-1] = Said("assistant", last.texts + said.texts, last.calls + said.calls)
        else:
            result.append(said)
    return result


_MEDIA = {
    "image_url": "[image]",
    "input_image": "[image]",
    "image": "[image]",
    "input_audio": "[audio]",
    "file": "[file]",
    "input_file": "[file]",
    "document": "[file]",
    "video_url": "[video]",
}


def _texts(content: Any) -> list[str]:
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    return [
        part["text"] if "text" in part else _MEDIA[part["type"]]
        for part in content
        if part["type"] in _MEDIA or "text" in part
    ]


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _openai_chat(url: str, body: Mapping[str, Any]) -> Facts:
    messages: list[Said] = []
    for sent in body["messages"]:
        role = "system" if sent["role"] in ("system", "developer") else sent["role"]
        calls = [
            (call["function"]["name"], _parsed(call["function"]["arguments"])) for call in sent.get("tool_calls") or ()
        ]
        said = Said(role, _texts(sent.get("content")), calls)
        if role == "tool":
            said.result = (sent["tool_call_id"], "\n".join(said.texts))
        messages.append(said)
    functions = [tool["function"] for tool in body.get("tools") or () if tool["type"] == "function"] + list(
        body.get("functions") or ()
    )
    asked = body.get("response_format") or {}
    schema = (
        asked["json_schema"]["schema"]
        if asked.get("type") == "json_schema"
        else _JSON_MODE
        if asked.get("type") == "json_object"
        else None
    )
    return Facts(
        messages,
        [text for said in messages if said.role == "system" for text in said.texts],
        {function["name"]: function.get("parameters") or {} for function in functions},
        schema,
        body["model"],
        bool(body.get("stream")),
        body.get("max_completion_tokens", body.get("max_tokens")),
        body.get("temperature"),
    )


def _openai_responses(url: str, body: Mapping[str, Any]) -> Facts:
    sent = body["input"]
    items = [{"role": "user", "content": sent}] if isinstance(sent, str) else sent
    messages = [said for item in items if (said := _response_item(item)) is not None]
    instructions = [body["instructions"]] if body.get("instructions") else []
    asked = (body.get("text") or {}).get("format") or {}
    return Facts(
        merged(messages),
        instructions + [text for said in messages if said.role == "system" for text in said.texts],
        {
            tool["name"]: tool.get("parameters") or {}
            for tool in body.get("tools") or ()
            if tool["type"] in ("function", "custom")
        },
        asked["schema"]
        if asked.get("type") == "json_schema"
        else _JSON_MODE
        if asked.get("type") == "json_object"
        else None,
        body["model"],
        bool(body.get("stream")),
        body.get("max_output_tokens"),
        body.get("temperature"),
    )


def _openai_completions(url: str, body: Mapping[str, Any]) -> Facts:
    prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
    return Facts(
        [Said("user", [prompt]) for prompt in prompts],
        [],
        {},
        None,
        body["model"],
        bool(body.get("stream")),
        body.get("max_tokens"),
        body.get("temperature"),
    )


def _response_item(item: Mapping[str, Any]) -> Said | None:
    kind = item.get("type", "message")
    if kind == "message":
        return Said("system" if item["role"] in ("system", "developer") else item["role"], _texts(item["content"]))
    if kind == "function_call":
        return Said("assistant", [], [(item["name"], _parsed(item["arguments"]))])
    if kind == "function_call_output":
        return Said("tool", [], [], (item["call_id"], "\n".join(_texts(item["output"]))))
    if kind in ("reasoning", "web_search_call"):
        return Said("assistant")
    raise AssertionError(f"an input item of a kind that the harness doesn't know: {kind}")


def _anthropic_messages(url: str, body: Mapping[str, Any]) -> Facts:
    messages: list[Said] = []
    for sent in body["messages"]:
        content = sent["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [block for block in blocks if block["type"] == "tool_result"]
        messages += [
            Said("tool", [], [], (block["tool_use_id"], "\n".join(_given(block.get("content"))))) for block in results
        ]
        rest = [block for block in blocks if block["type"] in ("text", "tool_use", *_MEDIA)]
        if rest or not results:
            calls = [(block["name"], block["input"]) for block in rest if block["type"] == "tool_use"]
            messages.append(Said(sent["role"], _texts(rest), calls))
    asked = body.get("output_format") or (body.get("output_config") or {}).get("format") or {}
    return Facts(
        messages,
        _texts(body.get("system")),
        {tool["name"]: tool["input_schema"] for tool in body.get("tools") or () if "input_schema" in tool},
        asked["schema"] if asked.get("type") == "json_schema" else None,
        body.get("model"),
        bool(body.get("stream")) or url.endswith(("/invoke-with-response-stream", ":streamRawPredict")),
        body.get("max_tokens"),
        body.get("temperature"),
    )


def _given(content: Any) -> list[str]:
    """The texts of a result; of a tool that was found, its name."""
    found = content if isinstance(content, list) else []
    return [block["tool_name"] for block in found if block["type"] == "tool_reference"] or _texts(content)


def _gemini(url: str, body: Mapping[str, Any]) -> Facts:
    messages: list[Said] = []
    for sent in body["contents"]:
        parts = sent["parts"]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        messages += [Said("tool", [], [], (result.get("id"), json.dumps(result["response"]))) for result in results]
        rest = [part for part in parts if "functionResponse" not in part]
        if rest or not results:
            calls = [
                (part["functionCall"]["name"], part["functionCall"].get("args") or {})
                for part in rest
                if "functionCall" in part
            ]
            texts = [_gemini_text(part) for part in rest if "functionCall" not in part and not part.get("thought")]
            messages.append(Said("assistant" if sent.get("role") == "model" else "user", texts, calls))
    system = body.get("systemInstruction") or {"parts": []}
    system_parts = system["parts"] if isinstance(system["parts"], list) else [system["parts"]]
    config = {_camel(key): value for key, value in (body.get("generationConfig") or {}).items()}
    declared = [item for tool in body.get("tools") or () for item in tool.get("functionDeclarations") or ()]
    schema = config.get("responseSchema", config.get("responseJsonSchema"))
    found = re.search(r"/models/([^/:?]+):(\w+)", url)
    assert found is not None, url
    return Facts(
        messages,
        [part["text"] for part in system_parts],
        {item["name"]: item.get("parameters", item.get("parametersJsonSchema")) or {} for item in declared},
        _JSON_MODE if schema is None and config.get("responseMimeType") == "application/json" else schema,
        found[1],
        found[2] == "streamGenerateContent",
        config.get("maxOutputTokens"),
        config.get("temperature"),
    )


def _gemini_text(part: Mapping[str, Any]) -> str:
    if "text" in part:
        return str(part["text"])
    kind = (part.get("fileData") or part.get("inlineData") or {}).get("mimeType", "").partition("/")[0]
    return f"[{kind}]" if kind in ("image", "audio", "video") else "[file]"


def _camel(key: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), key)


def _cohere_texts(content: Any) -> list[str]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return [
        part["text"] if part["type"] == "text" else json.dumps(part["document"]["data"])
        for part in parts
        if part["type"] in ("text", "document")
    ]


def _cohere_chat_v2(url: str, body: Mapping[str, Any]) -> Facts:
    messages: list[Said] = []
    for sent in body["messages"]:
        calls = [
            (call["function"]["name"], _parsed(call["function"]["arguments"])) for call in sent.get("tool_calls") or ()
        ]
        plan = [sent["tool_plan"]] if sent.get("tool_plan") else []
        said = Said(sent["role"], plan + _cohere_texts(sent.get("content")), calls)
        if said.role == "tool":
            said.result = (sent["tool_call_id"], "\n".join(said.texts))
        messages.append(said)
    functions = [tool["function"] for tool in body.get("tools") or ()]
    asked = body.get("response_format") or {}
    return Facts(
        messages,
        [text for said in messages if said.role == "system" for text in said.texts],
        {function["name"]: function["parameters"] for function in functions},
        asked.get("json_schema", _JSON_MODE) if asked.get("type") == "json_object" else None,
        body["model"],
        bool(body.get("stream")),
        body.get("max_tokens"),
        body.get("temperature"),
    )


_COHERE_ROLES = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}


def _cohere_v1(url: str, body: Mapping[str, Any]) -> Facts:
    history = [Said(_COHERE_ROLES[turn["role"]], [turn["message"]]) for turn in body.get("chat_history") or ()]
    messages = [*history, Said("user", [body.get("message") or body["prompt"]])]
    return Facts(messages, [], {}, None, body.get("model"), bool(body.get("stream")))


def _ollama_chat(url: str, body: Mapping[str, Any]) -> Facts:
    messages: list[Said] = []
    for sent in body["messages"]:
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in sent.get("tool_calls") or ()]
        said = Said(sent["role"], [sent["content"], *("[image]" for _ in sent.get("images") or ())], calls)
        if sent["role"] == "tool":
            said.result = (sent.get("tool_call_id"), sent["content"])
        messages.append(said)
    system = [text for said in messages if said.role == "system" for text in said.texts]
    return _ollama(body, messages, system)


def _ollama_generate(url: str, body: Mapping[str, Any]) -> Facts:
    return _ollama(body, [Said("user", [body["prompt"]])], [body["system"]] if body.get("system") else [])


def _ollama(body: Mapping[str, Any], messages: list[Said], system: list[str]) -> Facts:
    functions = [tool["function"] for tool in body.get("tools") or ()]
    asked, options = body.get("format") or None, body.get("options") or {}
    return Facts(
        messages,
        system,
        {function["name"]: function["parameters"] for function in functions},
        _JSON_MODE if asked == "json" else asked,
        body["model"],
        body.get("stream", True),
        options.get("num_predict"),
        options.get("temperature", body.get("temperature")),
    )


_EXTRACTORS: Mapping[str, Callable[[str, Mapping[str, Any]], Facts]] = {
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "openai_completions": _openai_completions,
    "anthropic_messages": _anthropic_messages,
    "gemini": _gemini,
    "cohere_chat_v2": _cohere_chat_v2,
    **dict.fromkeys(("cohere_chat_v1", "cohere_generate_v1"), _cohere_v1),
    "ollama_chat": _ollama_chat,
    "ollama_generate": _ollama_generate,
}
