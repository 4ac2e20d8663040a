"""Perplexity: sources, and chunks that each repeat the text so far, the usage and the sources (recorded 2026-06 to 2026-08)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Delta, Exchange
from fake_llm._differences import Difference
from fake_llm._differences.chat import chat, cited
from fake_llm._failures import Errors, Said, Usual
from fake_llm._model import HeaderItems
from fake_llm._turns import Citation, Thinking

__all__ = ["PERPLEXITY"]

_NO_COST: Final = {"input_tokens_cost": 0, "output_tokens_cost": 0, "total_cost": 0}
_OPEN: Final = "<think>\n"
_CLOSE: Final = "\n</think>\n\n"


def _usage(exchange: Exchange) -> dict[str, Any]:
    usage = exchange.usage
    counted: dict[str, Any] = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        "search_context_size": "low",
        "cost": {"input_tokens_cost": 0, "output_tokens_cost": 0, "request_cost": 0.005, "total_cost": 0.005},
    }
    if usage.reasoning_tokens:
        counted["reasoning_tokens"] = usage.reasoning_tokens
    return counted


def _sources(exchange: Exchange) -> dict[str, Any]:
    found = cited(exchange)
    results = [
        {
            "title": one.title or "",
            "url": one.source,
            "date": None,
            "last_updated": None,
            "snippet": one.text,
            "source": "web",
        }
        for one in found
    ]
    return {"citations": [one.source for one in found], "search_results": results}


def _message(exchange: Exchange, index: int, message: dict[str, Any]) -> dict[str, Any]:
    """Thoughts stand in the text, between tags (documented for sonar-reasoning-pro), where they were said."""
    thoughts = message.pop("reasoning_content", None)
    parts = exchange.choices[index].parts
    said = [isinstance(part, Thinking) for part in parts if isinstance(part, (str, Citation, Thinking))]
    if thoughts is not None and said != sorted(said, reverse=True):
        message["content"] = _in_order(parts)
    elif thoughts is not None:
        message["content"] = f"{_OPEN}{thoughts}{_CLOSE}{message.get('content') or ''}"
    return message


def _in_order(parts: tuple[Any, ...]) -> str:
    """Text and thoughts as they come, thoughts that follow each other between one pair of tags."""
    text = ""
    thinking = False
    for part in parts:
        if isinstance(part, Thinking):
            text += ("" if thinking else _OPEN) + part.text
            thinking = True
        elif isinstance(part, (str, Citation)):
            text += (_CLOSE if thinking else "") + (part if isinstance(part, str) else part.text)
            thinking = False
    return text + (_CLOSE if thinking else "")


def _delta(exchange: Exchange, index: int, delta: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": "", **delta}


def _choice(exchange: Exchange, choice: dict[str, Any]) -> dict[str, Any]:
    """A whole answer has an empty delta too; a chunk says how it ended only at the end."""
    if "delta" not in choice:
        return {**choice, "delta": {"role": "assistant", "content": ""}}
    if choice["finish_reason"] is None:
        return {name: value for name, value in choice.items() if name != "finish_reason"}
    return choice


_REGION: Final = ("x-ppl-region", "us-east-1")


def _headers(exchange: Exchange) -> HeaderItems:
    return (("x-request-id", exchange.ids.uuid()), _REGION, ("cf-cache-status", "DYNAMIC"))


def _failed(said: Said) -> HeaderItems:
    """The region, but where nobody knows who asks."""
    return () if said.name == "authentication" else (_REGION,)


def _body(said: Said) -> dict[str, Any]:
    return {"error": {"message": said.message, "type": said.type, "code": said.status}}


ERRORS: Final = Errors(
    body=_body,
    headers=_failed,
    usual={
        "bad_request": Usual(400, "bad_request", "Bad Request"),
        "authentication": Usual(
            401, "invalid_api_key", "Invalid API key provided. Ensure your API key is correct and active."
        ),
        "permission": Usual(403, "permission_denied", "You do not have access to this resource."),
        "not_found": Usual(
            400,
            "invalid_model",
            "Invalid model '{model}'. Permitted models can be found in the documentation at https://docs.perplexity.ai/.",
        ),
        "context_length": Usual(400, "too_many_prompt_tokens", "The total length of all messages is too long."),
        "rate_limit": Usual(429, "rate_limit_exceeded", "Rate limit exceeded. Please try again later."),
        "quota": Usual(
            401,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    },
)

_SPOKEN: Final = chat(
    keys="id model created usage citations search_results object choices",
    chunk_keys="id model created usage citations search_results object choices",
    choice_keys="index message delta finish_reason",
    message_keys="role content tool_calls function_call",
    more=_sources,
    cites=True,
    opening="joined",
    usage=_usage,
    usage_in="every",
    uncounted=True,
    message=_message,
    delta=_delta,
    choice=_choice,
    headers=_headers,
    errors=ERRORS,
)


def _events(exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
    """Each chunk with the message so far and the tokens so far."""
    assert _SPOKEN.events is not None
    said, ends = _SPOKEN.events(exchange, _tagged(content), closing)
    texts: dict[int, str] = {}
    for number, chunk in enumerate((*said, *ends), 1):
        for choice in chunk["choices"]:
            if isinstance(choice, dict) and "delta" in choice:
                texts[choice["index"]] = text = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
                message = {"role": "assistant", "content": text}
                choice_ended = choice.pop("finish_reason", None)
                delta = choice.pop("delta")
                choice |= {"message": message, "delta": delta}
                if choice_ended is not None:
                    choice["finish_reason"] = choice_ended
                    chunk["object"] = "chat.completion.done"
        if number <= len(said) and chunk["usage"]["completion_tokens"] > number:
            counted = chunk["usage"]
            total = counted["total_tokens"] - counted["completion_tokens"] + number
            chunk["usage"] = {**counted, "completion_tokens": number, "total_tokens": total}
        if number <= len(said):
            chunk["usage"] = {**chunk["usage"], "cost": _NO_COST}
    return said, ends


def _tagged(content: list[Any]) -> list[Any]:
    """OpenAI's chunks with thoughts between tags in the text."""
    thinking: set[int] = set()
    tagged: list[Any] = []
    for chunk in content:
        choice = chunk["choices"][0]
        index, delta = choice["index"], dict(choice["delta"])
        thought = delta.pop("reasoning_content", None)
        if thought:
            delta["content"] = thought if index in thinking else _OPEN + thought
            thinking.add(index)
        elif index in thinking and not thought:
            thinking.discard(index)
            delta["content"] = _CLOSE + (delta.get("content") or "")
        kept = {**chunk, "choices": [{**choice, "delta": delta}]}
        tagged.append(Delta(kept) if isinstance(chunk, Delta) else kept)
    return tagged


PERPLEXITY: Final[Difference] = replace(_SPOKEN, events=_events)
