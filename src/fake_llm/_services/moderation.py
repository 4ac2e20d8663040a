"""Moderation: nothing is wrong with any input unless a rule says so.

A turn is `{"violence": 0.9}`, scores by category (0.5 or more is flagged), or `Reply(finish_reason="content_filter")`: all of
them. What it has in common with chat, errors and headers, is chat's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fake_llm._dialect import Choice, Exchange, media, message
from fake_llm._dialects import openai_chat
from fake_llm._dialects.openai_chat import refused
from fake_llm._differences import mistral
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._model import Message, Request, Usage, View
from fake_llm._tokens import tokens
from fake_llm._turns import Error, Reply

__all__ = ["MISTRAL", "OPENAI"]

_FLAGGED: Final = 0.5
_ALL: Final = 0.99
_NONE: Final = 0.00001

OPENAI_CATEGORIES: Final = (
    *("harassment", "harassment/threatening", "sexual", "hate", "hate/threatening", "illicit", "illicit/violent"),
    *("self-harm/intent", "self-harm/instructions", "self-harm", "sexual/minors", "violence", "violence/graphic"),
)
"""In the order in which they were recorded (2026)."""
_SEEN: Final = frozenset(
    {"sexual", "self-harm", "self-harm/intent", "self-harm/instructions", "violence", "violence/graphic"}
)
"""Those that are looked for in images too."""
MISTRAL_CATEGORIES: Final = (
    *("sexual", "hate_and_discrimination", "violence_and_threats", "dangerous_and_criminal_content", "selfharm"),
    *("health", "financial", "law", "pii"),
)
"""As mistralai 3 documents them (2026-11)."""
MISTRAL_LATER: Final = (
    *("sexual", "hate_and_discrimination", "violence_and_threats", "dangerous", "criminal", "selfharm"),
    *("health", "financial", "law", "pii", "jailbreaking"),
)
"""Those of the second generation (mistralai 3.7, 2026-11)."""


def _scores(choice: Choice, categories: Sequence[str]) -> dict[str, float]:
    """The scores that a turn says, and almost nothing for the others."""
    usual = _ALL if choice.finish_reason == "content_filter" else _NONE
    said = _said(choice.text) if choice.text else {}
    unknown = [name for name in said if name not in categories]
    if unknown:
        raise ScriptMismatchError(
            sentence(
                f"The turn scores {', '.join(map(repr, unknown))}.",
                f"The categories here are {', '.join(categories)}.",
                f'Write {{"{categories[0]}": 0.9}}.',
            )
        )
    return {name: said.get(name, usual) for name in categories}


def _said(text: str) -> Mapping[str, float]:
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if isinstance(said, dict) and all(type(score) in (int, float) and 0 <= score <= 1 for score in said.values()):
        return said
    raise ScriptMismatchError(
        sentence(
            f"The turn answers a call for moderation with {text!r}.",
            "Its answers are scores from 0 to 1, by category.",
            'Write {"violence": 0.9}, or Reply(finish_reason="content_filter").',
        )
    )


def _inputs(value: Any) -> list[Any]:
    """One text, a list of texts, or one list of parts of several kinds."""
    if isinstance(value, list) and not any(isinstance(item, dict) for item in value):
        return list(value)
    return [value]


def _texts(item: Any) -> list[str]:
    if isinstance(item, str):
        return [item]
    parts = item if isinstance(item, list) else []
    return [
        part.get("text", "") if part.get("type") == "text" else media("[image]")
        for part in parts
        if isinstance(part, dict)
    ]


def _read(request: Request, body: Any) -> View:
    inputs = _inputs(body["input"])
    return View(tuple(message("user", _texts(item)) for item in inputs))


def _check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return refused(openai_chat.BAD_JSON)
    given = body.get("input")
    if given is None:
        return refused("Missing required parameter: 'input'.", "input", "missing_required_parameter")
    if not isinstance(given, (str, list)) or given == []:
        return refused(_INVALID)
    if isinstance(given, list) and not all(map(_can_be_read, given)):
        return refused(_INVALID)
    return None


_INVALID: Final = (
    "'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
)


def _can_be_read(item: Any) -> bool:
    """Whether an item of the input is a text, parts, or a part: one of text has its text."""
    if isinstance(item, list):
        return all(isinstance(part, str) or _can_be_read(part) for part in item)
    if not isinstance(item, dict):
        return isinstance(item, str)
    kind = item.get("type")
    return isinstance(kind, str) and (kind != "text" or isinstance(item.get("text"), str))


def _counted(exchange: Exchange) -> Usage:
    return Usage(sum(tokens(text) for item in _inputs(exchange.body["input"]) for text in _texts(item)), 0)


def _openai_document(exchange: Exchange) -> dict[str, Any]:
    scores = _scores(exchange.choice, OPENAI_CATEGORIES)
    results = [_result(scores, item) for item in _inputs(exchange.body["input"])]
    number = int.from_bytes(exchange.ids.take(2), "big") % 10_000
    return exchange.extend(
        {"id": f"modr-{number}", "model": exchange.model or "omni-moderation-latest", "results": results}
    )


def _result(scores: Mapping[str, float], item: Any) -> dict[str, Any]:
    kinds = {part.get("type") for part in item if isinstance(part, dict)} if isinstance(item, list) else {"text"}
    texts = ["text"] if "text" in kinds else []
    images = ["image"] if "image_url" in kinds else []
    return {
        "flagged": any(score >= _FLAGGED for score in scores.values()),
        "categories": {name: score >= _FLAGGED for name, score in scores.items()},
        "category_scores": dict(scores),
        "category_applied_input_types": {name: [*texts, *(images if name in _SEEN else [])] for name in scores},
    }


def _openai_parts(document: Mapping[str, Any]) -> Reply:
    return Reply(document["results"][0]["category_scores"])


OPENAI: Final = replace(
    openai_chat.DIALECT,
    name="openai_moderation",
    label="OpenAI moderation",
    read=_read,
    check=_check,
    stream=lambda request, body: False,
    document=_openai_document,
    parts=_openai_parts,
    carries=frozenset({str}),
    choices=False,
    shaping=None,
    counted=_counted,
    sdk_types=("openai.types.moderation_create_response.ModerationCreateResponse",),
)
"""`POST /v1/moderations`."""


def _mistral_inputs(body: Mapping[str, Any]) -> list[Any]:
    """Each text, or each conversation."""
    given = body["input"]
    if isinstance(given, list) and given and isinstance(given[0], dict):
        return [given]
    return list(given) if isinstance(given, list) else [given]


def _mistral_read(request: Request, body: Any) -> View:
    """A conversation as its messages, a text as one of the user's."""
    read: list[Message] = []
    for item in _mistral_inputs(body):
        if isinstance(item, str):
            read.append(message("user", [item]))
        else:
            read.extend(openai_chat.DIALECT.read(request, {"messages": item}).messages)
    return View(tuple(read))


def _mistral_categories(exchange: Exchange) -> tuple[str, ...]:
    """Those of the first generation for its model, which is known by its date, or where the turn scores one of them."""
    first = "2411" in exchange.model or f'"{MISTRAL_CATEGORIES[3]}"' in exchange.choice.text
    return MISTRAL_CATEGORIES if first else MISTRAL_LATER


def _mistral_document(exchange: Exchange) -> dict[str, Any]:
    scores = _scores(exchange.choice, _mistral_categories(exchange))
    result = {"categories": {name: score >= _FLAGGED for name, score in scores.items()}, "category_scores": scores}
    id_ = exchange.ids.hex(32) if exchange.id is None else exchange.id
    inputs = _mistral_inputs(exchange.body)
    return exchange.extend({"id": id_, "model": exchange.model, "results": [dict(result) for _ in inputs]})


MISTRAL: Final = replace(
    OPENAI,
    name="mistral_moderation",
    label="Mistral moderation",
    read=_mistral_read,
    check=mistral.check_moderation,
    document=_mistral_document,
    counted=lambda exchange: Usage(sum(tokens(item.text) for item in exchange.view.messages), 0),
    sdk_types=(
        "mistralai.client.models.moderationresponse.ModerationResponse",
        "mistralai.models.moderationresponse.ModerationResponse",
    ),
)
"""`POST /v1/moderations` and `/v1/chat/moderations` of Mistral, as mistralai 3 reads it (2026-11)."""
