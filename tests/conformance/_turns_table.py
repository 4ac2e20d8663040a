"""A table of turns, each asked for in every vendor's own words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fake_llm._dialect import Asked, Choice, Dialect, Exchange, Ids
from fake_llm._model import Headers, Request, Usage
from fake_llm._turns import Audio, Citation, Refusal, ServerTool, Thinking, ToolCall

__all__ = ["TURNS", "Turn", "exchange"]

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
_TOOLS: Mapping[str, dict[str, Any]] = {
    "get_weather": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "now": {"type": "object", "properties": {}},
}


_USAGE = Usage(11, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn and what its request asks for."""

    choices: tuple[tuple[tuple[Any, ...], str], ...]
    tools: bool = False
    schema: bool = False
    thinking: bool = False
    logprobs: tuple[Any, ...] | None = None
    usage: Usage = _USAGE
    include_usage: bool = True
    only: str | None = None
    """The dialects, between blanks, that say it as their schema has it: the judge of Gemini's is Vertex AI's."""
    broken: bool = False
    """Whether its arguments aren't JSON: where arguments are an object on the wire, no schema lets that through."""

    def carried(self, dialect: Dialect) -> bool:
        """Whether the vendor can say this."""
        kinds = {type(part) for parts, _ in self.choices for part in parts}
        speakable = (not self.broken or dialect.name.startswith("openai")) and (
            self.only is None or dialect.name in self.only.split()
        )
        return speakable and kinds <= dialect.carries and (len(self.choices) == 1 or dialect.choices)


def _said(*parts: Any, finish: str = "stop", **asked: Any) -> Turn:
    return Turn(choices=((parts, finish),), **asked)


_PARIS = ToolCall("get_weather", {"city": "Paris"})
_OSLO = ToolCall("get_weather", {"city": "Oslo"})

_ASKED = {"server": "wiki", "name": "ask", "arguments": {"question": "Who?"}}

TURNS: Mapping[str, Turn] = {
    "text": _said("It is sunny in Paris, as ever."),
    "empty-text": _said(""),
    "unicode": _said("Žluťoučký kůň 🐎\n\n第二"),
    "no-usage-asked": _said("Hello there.", include_usage=False),
    "tool-call": _said(_PARIS, finish="tool_calls", tools=True),
    "tool-call-without-arguments": _said(ToolCall("now", {}), finish="tool_calls", tools=True),
    "text-and-tool-call": _said("Let me look.", _PARIS, finish="tool_calls", tools=True),
    "parallel": _said(_PARIS, _OSLO, finish="tool_calls", tools=True),
    "text-and-parallel": _said("Let me look.", _PARIS, _OSLO, finish="tool_calls", tools=True),
    "tool-call-cut-off": _said(ToolCall("get_weather", '{"city": "Pa'), finish="length", tools=True, broken=True),
    "tool-offered-not-called": _said("No need.", tools=True),
    "refusal": _said(Refusal("I can't help with that."), finish="refusal", schema=True),
    "text-and-refusal": _said("Well.", Refusal("I can't help with that."), finish="refusal"),
    "thinking": _said(Thinking("Paris is in France."), "Sunny.", thinking=True),
    "signed-thinking": _said(
        Thinking("Paris is in France.", signature="c2lnbmVk"), _PARIS, finish="tool_calls", tools=True, thinking=True
    ),
    "redacted-thinking": _said(Thinking("hidden", redacted=True), "Sunny.", thinking=True),
    "structured": _said('{"name":"Ada"}', schema=True),
    "length": _said("It is sunny in", finish="length"),
    "blocked": Turn(choices=(((), "content_filter"),)),
    "filtered": _said("It is", finish="content_filter"),
    "stop-sequence": _said("It is sunny", finish="stop_sequence"),
    "two-choices": Turn(choices=((("Heads.",), "stop"), (("Tails, by all means.",), "length"))),
    "usage": _said("Hello.", usage=Usage(100, 50, cached_tokens=64, cache_write_tokens=8, reasoning_tokens=30)),
    "no-usage": _said("Hello.", usage=Usage(0, 0)),
    "citation": _said(
        *("The sky is ", Citation("blue", "https://sky.example", title="Sky"), "."), only="openai_chat openai_responses"
    ),
    "web-search": _said(
        ServerTool("web_search", {"query": "sky"}, [{"url": "https://sky.example", "title": "Sky"}]), "It is blue."
    ),
    "code-execution": _said(ServerTool("code_execution", {"code": "print(1 + 1)"}, "2\n"), "Two."),
    "file-search": _said(ServerTool("file_search", {"query": "sky"}, []), "Blue.", only="openai_responses"),
    "file-citation": _said(Citation("Blue", "file-1", title="sky.txt"), ".", only="openai_responses"),
    "mcp": _said(ServerTool("mcp", _ASKED, "Ada."), "Ada.", only="openai_responses"),
    "mcp-failed": _said(ServerTool("mcp", _ASKED, error="It broke."), "No.", only="openai_responses"),
    "mcp-tools": _said(
        ServerTool("mcp_list_tools", {"server": "wiki"}, [{"name": "ask", "input_schema": {"type": "object"}}]),
        only="openai_responses",
    ),
    "mcp-approval": _said(ServerTool("mcp_approval_request", _ASKED), only="openai_responses"),
    "tool-search": _said(ServerTool("tool_search", {"paths": ["ask"]}, []), only="openai_responses"),
    "hosted-shell": _said(ServerTool("shell", {"commands": ["ls"]}, "a.txt"), only="openai_responses"),
    "compaction": _said("Long.", ServerTool("compaction", {}, "gAAAAA"), only="openai_responses"),
    "sound": _said(Audio(b"RIFF....WAVE", transcript="Hello!")),
    "logprobs": _said("Hello there", logprobs=(("Hello", -0.25), (" there", -1.5))),
}


def exchange(dialect: Dialect, name: str, *, stream: bool, provider: str | None = None) -> Exchange:
    """The exchange of one turn of the table."""
    turn = TURNS[name]
    ids = Ids(name.encode())
    url, body = _REQUESTS[dialect.name](turn, stream)
    request = Request("POST", url, Headers((("content-type", "application/json"),)), json.dumps(body).encode(), "httpx")
    return Exchange(
        provider=provider or _PROVIDERS[dialect.name],
        asked=Asked(request, dialect, body),
        ids=ids,
        model=_MODELS[dialect.name],
        stream=stream,
        choices=tuple(
            Choice(tuple(_with_id(dialect, ids, part) for part in parts), finish, turn.logprobs)
            for parts, finish in turn.choices
        ),
        usage=turn.usage,
    )


def _with_id(dialect: Dialect, ids: Ids, part: Any) -> Any:
    return ToolCall(part.name, part.arguments, dialect.tool_id(ids)) if isinstance(part, ToolCall) else part


_PROVIDERS = {
    "openai_chat": "openai",
    "openai_responses": "openai",
    "openai_completions": "openai",
    "anthropic_messages": "anthropic",
    "gemini": "gemini",
    "ollama_chat": "ollama",
    **dict.fromkeys(("cohere_chat_v2", "cohere_chat_v1", "cohere_generate_v1"), "cohere"),
    "ollama_generate": "ollama",
}
_MODELS = {
    "openai_chat": "gpt-4o",
    "openai_responses": "gpt-5",
    "openai_completions": "gpt-3.5-turbo-instruct",
    "anthropic_messages": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "ollama_chat": "qwen3:8b",
    "cohere_chat_v2": "command-a-reasoning-08-2025",
    **dict.fromkeys(("cohere_chat_v1", "cohere_generate_v1"), "command-a-03-2025"),
    "ollama_generate": "qwen3:8b",
}


def _chat(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    if turn.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in _TOOLS.items()
        ]
    if turn.schema:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "person", "schema": _SCHEMA, "strict": True},
        }
    if turn.logprobs:
        body |= {"logprobs": True, "top_logprobs": 2}
    if len(turn.choices) > 1:
        body["n"] = len(turn.choices)
    if stream:
        body |= {"stream": True, **({"stream_options": {"include_usage": True}} if turn.include_usage else {})}
    return "https://api.openai.com/v1/chat/completions", body


def _responses(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": "gpt-5", "input": "Hello"}
    if turn.tools:
        body["tools"] = [
            {"type": "function", "name": name, "parameters": schema, "strict": False} for name, schema in _TOOLS.items()
        ]
    if turn.schema:
        body["text"] = {"format": {"type": "json_schema", "name": "person", "schema": _SCHEMA, "strict": True}}
    if turn.thinking:
        body["reasoning"] = {"effort": "low", "summary": "auto"}
    if turn.logprobs:
        body |= {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    if stream:
        body["stream"] = True
    return "https://api.openai.com/v1/responses", body


def _completions(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": "gpt-3.5-turbo-instruct", "prompt": "Hello"}
    if turn.logprobs:
        body["logprobs"] = 2
    if len(turn.choices) > 1:
        body["n"] = len(turn.choices)
    if stream:
        body |= {"stream": True, **({"stream_options": {"include_usage": True}} if turn.include_usage else {})}
    return "https://api.openai.com/v1/completions", body


def _anthropic(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    if turn.tools:
        body["tools"] = [{"name": name, "input_schema": schema} for name, schema in _TOOLS.items()]
    if turn.schema:
        body["output_config"] = {"format": {"type": "json_schema", "schema": _SCHEMA}}
    if turn.thinking:
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    if turn.choices[0][1] == "stop_sequence":
        body["stop_sequences"] = ["END"]
    if stream:
        body["stream"] = True
    return "https://api.anthropic.com/v1/messages", body


def _gemini(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    config: dict[str, Any] = {}
    body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    if turn.tools:
        body["tools"] = [
            {
                "functionDeclarations": [
                    {"name": name, "parametersJsonSchema": schema} for name, schema in _TOOLS.items()
                ]
            }
        ]
    if turn.schema:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": _SCHEMA}
    if turn.thinking:
        config["thinkingConfig"] = {"includeThoughts": True}
    if turn.logprobs:
        config |= {"responseLogprobs": True, "logprobs": 2}
    if len(turn.choices) > 1:
        config["candidateCount"] = len(turn.choices)
    if config:
        body["generationConfig"] = config
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:{verb}", body


def _ollama_chat(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}], **_ollama(turn, stream)}
    if turn.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in _TOOLS.items()
        ]
    return "http://localhost:11434/api/chat", body


def _ollama_generate(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    return "http://localhost:11434/api/generate", {"prompt": "Hello", **_ollama(turn, stream)}


def _ollama(turn: Turn, stream: bool) -> dict[str, Any]:
    return {
        "model": "qwen3:8b",
        **({"format": _SCHEMA} if turn.schema else {}),
        **({"think": True} if turn.thinking else {}),
        **({"logprobs": True, "top_logprobs": 2} if turn.logprobs else {}),
        **({} if stream else {"stream": False}),
    }


def _cohere_v2(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": _MODELS["cohere_chat_v2"], "messages": [{"role": "user", "content": "Hello"}]}
    if turn.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in _TOOLS.items()
        ]
    if turn.schema:
        body["response_format"] = {"type": "json_object", "json_schema": _SCHEMA}
    if turn.logprobs:
        body["logprobs"] = True
    if stream:
        body["stream"] = True
    return "https://api.cohere.com/v2/chat", body


def _cohere_v1(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    body: dict[str, Any] = {"model": _MODELS["cohere_chat_v1"], "message": "Hello"}
    if turn.tools:
        body["tools"] = [{"name": name, "description": name} for name in _TOOLS]
    if turn.schema:
        body["response_format"] = {"type": "json_object", "schema": _SCHEMA}
    if stream:
        body["stream"] = True
    return "https://api.cohere.com/v1/chat", body


def _cohere_generate(turn: Turn, stream: bool) -> tuple[str, dict[str, Any]]:
    several = {"num_generations": len(turn.choices)} if len(turn.choices) > 1 else {}
    body = {
        "model": _MODELS["cohere_generate_v1"],
        "prompt": "Hello",
        **several,
        **({"stream": True} if stream else {}),
    }
    return "https://api.cohere.com/v1/generate", body


_REQUESTS = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "openai_completions": _completions,
    "anthropic_messages": _anthropic,
    "gemini": _gemini,
    "ollama_chat": _ollama_chat,
    "cohere_chat_v2": _cohere_v2,
    "cohere_chat_v1": _cohere_v1,
    "cohere_generate_v1": _cohere_generate,
    "ollama_generate": _ollama_generate,
}
