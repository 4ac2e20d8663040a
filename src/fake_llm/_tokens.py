"""One offline estimate of tokens, for usage, token counting and the context window alike."""

from __future__ import annotations

from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Choice
from fake_llm._model import Usage
from fake_llm._turns import Audio, Citation, Refusal, ServerTool, Thinking, ToolCall

__all__ = ["estimate", "input_tokens", "tokens"]

_CHARACTERS_A_TOKEN: Final = 4
_TOKENS_A_MESSAGE: Final = 3
_IMAGE_TOKENS: Final = 258
_AUDIO_TOKENS: Final = 25
_FLAT: Final = {
    **dict.fromkeys(("role", "type", "id"), 0),
    **dict.fromkeys(
        (
            "bytes",
            "data",
            "url",
            "image_url",
            "images",
            "file_data",
            "b64_json",
            "encrypted_content",
            "signature",
            "thoughtSignature",
            "thought_signature",
        ),
        _IMAGE_TOKENS,
    ),
}
"""Keys whose values aren't read, and what they count."""
_CONVERSATION: Final = frozenset(
    {
        "system",
        "instructions",
        "messages",
        "input",
        "contents",
        "systemInstruction",
        "system_instruction",
        "tools",
        "functions",
        "response_format",
        "toolConfig",
        "prompt",
        "inputText",
        *("message", "chat_history", "preamble", "tool_results", "documents"),  # Cohere's
    }
)


def tokens(text: str) -> int:
    """Tokens of a text: a token for four ASCII characters, two for three others; 0 for an empty one."""
    if text.isascii():
        return -(-len(text) // _CHARACTERS_A_TOKEN)
    wide = sum(1 for character in text if character > "\x7f")
    return -(-(len(text) - wide) // _CHARACTERS_A_TOKEN) + -(-wide * 2 // 3)


def input_tokens(body: Any) -> int:
    """Tokens of a request's conversation, tools and schema; media count a flat number each."""
    if not isinstance(body, dict):
        return 0
    total = _TOKENS_A_MESSAGE
    for key, value in body.items():
        if key not in _CONVERSATION:
            continue
        if isinstance(value, str):
            total += tokens(value)
        elif key in ("tools", "functions", "response_format", "toolConfig"):
            if value:
                total += tokens(_json.text(value))
        elif value:
            total += _walk(value)
    return total


def _walk(root: Any) -> int:
    total = 0
    pending = [root]
    for value in pending:  # which grows meanwhile
        if isinstance(value, str):
            total += tokens(value)
        elif isinstance(value, list):
            pending += value
            total += _TOKENS_A_MESSAGE * len(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                flat = _FLAT.get(key)
                if flat is None:
                    pending.append(item)
                else:
                    total += flat
    return total


def _output(choices: tuple[Choice, ...]) -> tuple[int, int]:
    """Tokens of the answers: all of them, and those that were reasoning."""
    output = reasoning = 0
    for choice in choices:
        for part in choice.parts:
            if isinstance(part, str):
                output += tokens(part)
            elif isinstance(part, ToolCall):
                output += tokens(part.name) + tokens(part.json) + _TOKENS_A_MESSAGE
            elif isinstance(part, Thinking):
                reasoning += tokens(part.text)
            elif isinstance(part, (Citation, Refusal)):
                output += tokens(part.text)
            elif isinstance(part, ServerTool):
                output += tokens(part.name) + tokens(_json.text(dict(part.arguments))) + _TOKENS_A_MESSAGE
            elif isinstance(part, Audio) and part.transcript is not None:
                output += tokens(part.transcript) + _AUDIO_TOKENS
            else:
                output += _IMAGE_TOKENS
    return output + reasoning, reasoning


def estimate(body: Any, choices: tuple[Choice, ...]) -> Usage:
    """The usage of an exchange nobody scripted one for."""
    output, reasoning = _output(choices)
    return Usage(input_tokens(body), max(output, 1), reasoning_tokens=reasoning)
