"""OpenAI and Azure: calls and their results, schemas with `strict`, the word that JSON mode wants.

The texts of 2024 to 2026, as users quote them; the one on schemas is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, dicts
from fake_llm._dialects.openai_chat import refused
from fake_llm._model import Message
from fake_llm._turns import Error

__all__ = ["chat", "responses"]


def chat(exchange: Exchange, earlier: tuple[Message, ...]) -> Error | None:
    """`POST /chat/completions`."""
    body = exchange.body
    return (
        _unsupported(exchange)
        or _unanswered(list(dicts(body["messages"])))
        or (_of_openai(body) if exchange.provider in _STRICT else None)
    )


def _of_openai(body: Mapping[str, Any]) -> Error | None:
    """What DeepSeek, which says the same of calls and results, says in other words or not at all."""
    return _chat_schemas(body) or _without_the_word(body.get("response_format"), body["messages"])


_STRICT: Final = ("openai", "azure")
_REASONS: Final = re.compile(r"(?:o1|o3|o3-mini|o4-mini|gpt-5|gpt-5-mini|gpt-5-nano)(?:-\d{4}-\d\d-\d\d)?")
"""Models that refuse some parameters (2026-11); others may as well."""
_UNSUPPORTED: Final = {"max_tokens": " Use 'max_completion_tokens' instead.", "stop": ""}
_STOPPING: Final = ("o1", "o3-mini")
"""Those of them that may take `stop`."""


def _reasons(exchange: Exchange) -> bool:
    """Whether the model is one of them; a deployment of Azure may have any name."""
    return exchange.provider == "openai" and _REASONS.fullmatch(exchange.model) is not None


def _unsupported(exchange: Exchange) -> Error | None:
    """`stop` is recorded (2026-01), `max_tokens` documented, the temperature quoted by many users."""
    if not _reasons(exchange):
        return None
    for name, instead in _UNSUPPORTED.items():
        if exchange.body.get(name) is not None and not (name == "stop" and exchange.model.startswith(_STOPPING)):
            text = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
            return refused(text, name, "unsupported_parameter")
    wanted = exchange.body.get("temperature")
    if wanted is None or wanted == 1:
        return None
    return refused(
        f"Unsupported value: 'temperature' does not support {_json.text(wanted)} with this model. "
        "Only the default (1) value is supported.",
        "temperature",
        "unsupported_value",
    )


def _unanswered(messages: list[Any]) -> Error | None:
    """Each call has its result in the messages right after it, each result its call in those right before."""
    waiting: list[str] = []
    for index, item in enumerate(messages):
        role = item.get("role")
        if role == "tool":
            key = item.get("tool_call_id")
            if key not in waiting and not _called_before(messages[:index], key):
                return refused(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    f"messages.[{index}].role",
                )
            waiting = [each for each in waiting if each != key]
            continue
        if waiting:
            return _missing(waiting, f"messages.[{index}].role")
        if role == "assistant":
            waiting = [call["id"] for call in dicts(item.get("tool_calls")) if isinstance(call.get("id"), str)]
    return _missing(waiting, "messages") if waiting else None


def _called_before(messages: list[Any], key: Any) -> bool:
    """Whether a result comes a second time: the first stands between it and its call."""
    for item in reversed(messages):
        if item.get("role") != "tool":
            return any(call.get("id") == key for call in dicts(item.get("tool_calls")))
    return False


def _missing(keys: list[str], param: str) -> Error:
    return refused(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(keys)}",
        param,
    )


def responses(exchange: Exchange, earlier: tuple[Message, ...]) -> Error | None:
    """`POST /responses`, with what an earlier response or a conversation has in it."""
    body = exchange.body
    given = body.get("input")
    if body.get("previous_response_id") and (not earlier or earlier[-1].role != "assistant"):
        return None  # an answer that was given word for word has calls that nobody read
    items = list(dicts(given))
    return (
        _unsupported_there(exchange)
        or _unpaired(items, earlier)
        or _response_schemas(body)
        or _without_the_word_in_input(body)
    )


def _unsupported_there(exchange: Exchange) -> Error | None:
    wanted = exchange.body.get("temperature")
    if wanted is None or wanted == 1 or not _reasons(exchange):
        return None
    return refused("Unsupported parameter: 'temperature' is not supported with this model.", "temperature")


_CALLS: Final = {"function_call": "function call", "custom_tool_call": "custom tool call"}
_OUTPUTS: Final = {"function_call_output": "function call", "custom_tool_call_output": "custom tool call"}


def _unpaired(items: list[Mapping[str, Any]], earlier: tuple[Message, ...]) -> Error | None:
    """Calls and results find each other by their ids, in whatever place they stand."""
    if any(item.get("type") == "item_reference" for item in items):
        return None  # what it refers to may be either
    before = {call.id for said in earlier for call in said.tool_calls}
    settled = {found.id for said in earlier for found in said.tool_results}
    items = [item for item in items if isinstance(item.get("call_id"), str)]
    called = {item["call_id"]: item["type"] for item in items if item.get("type") in _CALLS}
    results = {item["call_id"] for item in items if item.get("type") in _OUTPUTS}
    for item in items:
        kind = item.get("type")
        if kind in _OUTPUTS and item.get("call_id") not in called and item.get("call_id") not in before:
            return refused(
                f"No tool call found for {_OUTPUTS[kind]} output with call_id {item.get('call_id')}.", "input"
            )
    for key, kind in called.items():
        if key not in results:
            return refused(f"No tool output found for {_CALLS[kind]} {key}.", "input")
    for said in earlier:
        for call in said.tool_calls:
            if call.id is not None and call.id not in settled | results:
                return refused(f"No tool output found for function call {call.id}.", "input")
    return None


# --- JSON mode ----------------------------------------------------------------------------------


def _without_the_word(wanted: Any, messages: list[Any]) -> Error | None:
    if not isinstance(wanted, dict) or wanted.get("type") != "json_object" or "json" in _json.text(messages).lower():
        return None
    return refused(
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        "messages",
    )


def _without_the_word_in_input(body: Mapping[str, Any]) -> Error | None:
    text = body.get("text")
    wanted = text.get("format") if isinstance(text, dict) else None
    if not isinstance(wanted, dict) or wanted.get("type") != "json_object":
        return None
    if body.get("previous_response_id") or body.get("conversation") or body.get("prompt"):
        return None
    if "json" in _json.text([body.get("instructions"), body.get("input")]).lower():
        return None
    return refused(
        "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
        "input",
    )


# --- schemas that are to be followed to the letter ----------------------------------------------


def _chat_schemas(body: Mapping[str, Any]) -> Error | None:
    for index, tool in enumerate(dicts(body.get("tools"))):
        function = tool.get("function")
        if isinstance(function, dict) and function.get("strict") is True:
            error = _loose(
                f"function '{function.get('name')}'",
                function.get("parameters"),
                f"tools[{index}].function.parameters",
                "invalid_function_parameters",
            )
            if error is not None:
                return error
    wanted = body.get("response_format")
    asked = wanted.get("json_schema") if isinstance(wanted, dict) else None
    if isinstance(asked, dict) and asked.get("strict") is True:
        return _loose(f"response_format '{asked.get('name')}'", asked.get("schema"), "response_format", None)
    return None


def _response_schemas(body: Mapping[str, Any]) -> Error | None:
    for index, tool in enumerate(dicts(body.get("tools"))):
        if tool.get("type") == "function" and tool.get("strict") is True:
            error = _loose(
                f"function '{tool.get('name')}'",
                tool.get("parameters"),
                f"tools[{index}].parameters",
                "invalid_function_parameters",
            )
            if error is not None:
                return error
    text = body.get("text")
    wanted = text.get("format") if isinstance(text, dict) else None
    if isinstance(wanted, dict) and wanted.get("type") == "json_schema" and wanted.get("strict") is True:
        return _loose(
            f"response_format '{wanted.get('name')}'", wanted.get("schema"), "text.format.schema", "invalid_json_schema"
        )
    return None


def _loose(what: str, schema: Any, param: str, code: str | None) -> Error | None:
    if not isinstance(schema, dict):
        return None
    said = _wrong_in(_json.compact(schema))
    return None if said is None else refused(f"Invalid schema for {what}: {said}", param, code)


@lru_cache(maxsize=256)
def _wrong_in(schema: bytes) -> str | None:
    """What is wrong with a schema, which comes with every request of a conversation."""
    for place, node in _objects(_json.loads(schema), ()):
        said = _wrong_object(node)
        if said is not None:
            return f"In context={place!r}, {said}"
    return None


def _wrong_object(node: Mapping[str, Any]) -> str | None:
    properties = node.get("properties")
    if node.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    if not isinstance(properties, dict) or not properties:
        return None
    required = node.get("required")
    missing = next((name for name in properties if not isinstance(required, list) or name not in required), None)
    if missing is None:
        return None
    return (
        "'required' is required to be supplied and to be an array including every key in properties. "
        f"Missing '{missing}'."
    )


def _objects(node: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """The objects of a schema, from the outside in, each with its place as the vendor writes it."""
    if not isinstance(node, dict):
        return
    if node.get("type") == "object":
        yield place, node
    for name in ("properties", "$defs", "definitions"):
        inner = node.get(name)
        for key, value in inner.items() if isinstance(inner, dict) else ():
            yield from _objects(value, (*place, name, key))
    yield from _objects(node.get("items"), (*place, "items"))
    options = node.get("anyOf")
    for index, value in enumerate(options if isinstance(options, list) else ()):
        yield from _objects(value, (*place, "anyOf", str(index)))
