"""Bedrock's `invoke` of models that go on with a text: a table of what each family calls the prompt, the text and its end.

A row here is what such a family's body has; AWS's errors, headers and counts around it are a difference. The forms are
those of recordings of 2024-01 to 2025-04, and of AWS's pages on the parameters of models (2026-11) where none shows one:
DeepSeek, AI21's Jurassic, and the streams of Llama and Mistral.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fake_llm._dialect import Choice, Delta, Dialect, Exchange, Ids, WireEvent, message
from fake_llm._json import compact
from fake_llm._model import HeaderItems, Request, Response, Usage, View
from fake_llm._turns import Error, Reply, Thinking

__all__ = ["COMPLETION", "DEEPSEEK", "JURASSIC", "LLAMA", "MISTRAL", "TITAN"]

_USUAL: Final[Mapping[str, str]] = {"stop": "stop", "length": "length"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A text, or a piece of one, as a family is to write it.

    Attributes:
        exchange: What it is an answer to.
        text: The text.
        reason: The family's word for its end; `None` while it goes on.
        number: The place of a piece, 0 for the first.
    """

    exchange: Exchange
    text: str
    reason: str | None = None
    number: int = 0

    @property
    def usage(self) -> Usage:
        return self.exchange.usage

    @property
    def asked(self) -> int | None:
        """The tokens of the prompt, which only the first piece of a stream says."""
        return self.usage.input_tokens if self.number == 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """What one family calls things.

    Attributes:
        name: Of the dialect.
        label: The same for people.
        prompt: The key of the prompt.
        within: The key of an object that holds the settings; `""` where they stand beside the prompt.
        settings: The family's settings to our names, where they differ.
        reasons: Our words for the end of a text to the family's.
        whole: A whole answer.
        piece: A piece of a stream, the last one too.
        read: A whole answer to its text, the family's word for its end, and what is known of its tokens.
        last: Whether the last piece of the text closes the stream, too.
        thinks: Whether reasoning is among the text, between tags.
    """

    name: str
    label: str
    whole: Callable[[_Said], dict[str, Any]]
    piece: Callable[[_Said], dict[str, Any]]
    read: Callable[[Mapping[str, Any]], tuple[str, Any, Usage | None]]
    prompt: str = "prompt"
    within: str = ""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    reasons: Mapping[str, str] = field(default_factory=lambda: _USUAL)
    last: bool = False
    thinks: bool = False


def _dialect(family: _Family) -> Dialect:
    def settings(body: Mapping[str, Any]) -> Mapping[str, Any]:
        found = body.get(family.within) if family.within else body
        return found if isinstance(found, Mapping) else {}

    def read(request: Request, body: Any) -> View:
        params = {
            family.settings.get(name, name): value for name, value in settings(body).items() if name != family.prompt
        }
        return View((message("user", [body[family.prompt]]),), params=params)

    def check(request: Request, body: Any) -> Error | None:
        if not isinstance(body, dict):
            return _malformed(f"#: expected type: JSONObject, found: {_KINDS[type(body)]}")
        if family.prompt not in body:
            return _malformed(f"#: required key [{family.prompt}] not found")
        if not isinstance(body[family.prompt], str):
            return _malformed(f"#/{family.prompt}: expected type: String, found: {_KINDS[type(body[family.prompt])]}")
        if not body[family.prompt]:
            return _malformed(f"#/{family.prompt}: expected minLength: 1, actual: 0")
        if family.within and not isinstance(body.get(family.within, {}), dict):
            return _malformed(
                f"#/{family.within}: expected type: JSONObject, found: {_KINDS[type(body[family.within])]}"
            )
        place = f"{family.within}/" if family.within else ""
        for name, value in settings(body).items():
            kind, wanted = _TYPES.get(family.settings.get(name, name), (object, ""))
            if not isinstance(value, kind) or (wanted and isinstance(value, bool)):
                return _malformed(f"#/{place}{name}: expected type: {wanted}, found: {_KINDS[type(value)]}")
        return None

    def reason(choice: Choice) -> str:
        return family.reasons.get(choice.finish_reason, choice.finish_reason)

    def document(exchange: Exchange) -> dict[str, Any]:
        pieces = _pieces(exchange)
        said = _Said(exchange=exchange, text="".join(pieces), reason=reason(exchange.choice))
        return exchange.extend(family.whole(said))

    def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
        pieces = _pieces(exchange)
        ended = pieces.pop() if family.last and pieces and not exchange.cut else ""
        content: list[WireEvent] = [
            Delta(family.piece(_Said(exchange=exchange, text=piece, number=number)))
            for number, piece in enumerate(pieces)
        ]
        end = _Said(exchange=exchange, text=ended, reason=reason(exchange.choice), number=len(pieces))
        return content, [Delta(exchange.extend(family.piece(end)))]

    def parts(body: Mapping[str, Any]) -> Reply:
        text, ended, usage = family.read(body)
        neutral = {own: ours for ours, own in family.reasons.items()}
        return Reply(text, usage=usage, finish_reason=neutral.get(ended, ended) if isinstance(ended, str) else None)

    return Dialect(
        name=family.name,
        label=family.label,
        read=read,
        check=check,
        bad_json="The format of your request is invalid: the body is not valid JSON.",
        stream=lambda request, body: request.path.endswith("-stream"),
        model=lambda request, body: request.path_part(-2).rpartition("/")[2],
        document=document,
        events=events,
        failure=_failure,
        failure_events=lambda exchange, error: [],
        parts=parts,
        headers=_headers,
        tool_id=_no_id,
        carries=frozenset({str, Thinking} if family.thinks else {str}),
        shaping=frozenset(),
    )


def _pieces(exchange: Exchange) -> list[str]:
    """The text in pieces; reasoning stands in front of it, between tags, the first of which the prompt may have."""
    choice = exchange.choice
    opened = _prompt(exchange.body).rstrip().endswith("<think>")
    pieces = ["</think>"] if opened and not choice.of(Thinking) else []
    for index, part in enumerate(choice.parts):
        if isinstance(part, Thinking):
            pieces += [*([] if opened else ["<think>"]), *choice.pieces(index), "</think>"]
        else:
            pieces += choice.pieces(index)
    return pieces


def _prompt(body: Any) -> str:
    found = body.get("prompt")
    return found if isinstance(found, str) else ""


# --- what is the same for all ---------------------------------------------------------------------

_KINDS: Final[Mapping[type, str]] = {
    type(None): "Null",
    bool: "Boolean",
    int: "Integer",
    float: "BigDecimal",
    str: "String",
    list: "JSONArray",
    dict: "JSONObject",
}
_TYPES: Final[Mapping[str, tuple[Any, str]]] = {
    "max_tokens": (int, "Integer"),
    "temperature": ((int, float), "Number"),
    "top_p": ((int, float), "Number"),
    "stop": (list, "JSONArray"),
}


def _malformed(what: str) -> Error:
    return Error(400, f"Malformed input request: {what}, please reformat your input and try again.")


def _failure(exchange: Exchange, error: Error) -> Response:
    """A body alone: the difference has its type and its headers."""
    return Response(400, _headers(exchange), compact({"message": error.message or "Malformed input request"}))


def _headers(exchange: Exchange) -> HeaderItems:
    return (("content-type", "application/json"),)


def _no_id(ids: Ids) -> None:
    """None of them calls tools."""


# --- the families ---------------------------------------------------------------------------------


def _first(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = body[name][0]
    return found


def _counts(asked: Any, given: Any) -> Usage | None:
    return (
        Usage(int(asked), int(given)) if isinstance(asked, (int, float)) and isinstance(given, (int, float)) else None
    )


TITAN: Final = _dialect(
    _Family(
        name="bedrock_titan",
        label="Amazon Titan",
        prompt="inputText",
        within="textGenerationConfig",
        settings={"maxTokenCount": "max_tokens", "topP": "top_p", "stopSequences": "stop"},
        reasons={
            "stop": "FINISH",
            "length": "LENGTH",
            "stop_sequence": "STOP_CRITERIA_MET",
            "content_filter": "CONTENT_FILTERED",
        },
        whole=lambda said: {
            "inputTextTokenCount": said.usage.input_tokens,
            "results": [
                {
                    "tokenCount": said.usage.output_tokens,
                    "outputText": said.text,
                    "completionReason": said.reason,
                }
            ],
        },
        piece=lambda said: {
            "outputText": said.text,
            "index": 0,
            "totalOutputTextTokenCount": None if said.reason is None else said.usage.output_tokens,
            "completionReason": said.reason,
            "inputTextTokenCount": said.asked,
        },
        read=lambda body: (
            _first(body, "results")["outputText"],
            _first(body, "results").get("completionReason"),
            _counts(body.get("inputTextTokenCount"), _first(body, "results").get("tokenCount")),
        ),
        last=True,
    )
)
"""Titan's text models."""

LLAMA: Final = _dialect(
    _Family(
        name="bedrock_llama",
        label="Meta Llama",
        settings={"max_gen_len": "max_tokens"},
        whole=lambda said: {
            "generation": said.text,
            "prompt_token_count": said.usage.input_tokens,
            "generation_token_count": said.usage.output_tokens,
            "stop_reason": said.reason,
        },
        piece=lambda said: {
            "generation": said.text,
            "prompt_token_count": said.asked,
            "generation_token_count": said.number + 1 if said.reason is None else said.usage.output_tokens,
            "stop_reason": said.reason,
        },
        read=lambda body: (
            body["generation"],
            body.get("stop_reason"),
            _counts(body.get("prompt_token_count"), body.get("generation_token_count")),
        ),
        thinks=True,
    )
)
"""Llama, and imported models that are asked as it is."""

MISTRAL: Final = _dialect(
    _Family(
        name="bedrock_mistral",
        label="Mistral on Bedrock",
        whole=lambda said: {"outputs": [{"text": said.text, "stop_reason": said.reason}]},
        piece=lambda said: {"outputs": [{"text": said.text, "stop_reason": said.reason}]},
        read=lambda body: (_first(body, "outputs")["text"], _first(body, "outputs").get("stop_reason"), None),
    )
)
"""Mistral's models that are given a prompt; those that are given messages speak OpenAI's vocabulary."""

DEEPSEEK: Final = _dialect(
    _Family(
        name="bedrock_deepseek",
        label="DeepSeek on Bedrock",
        whole=lambda said: {"choices": [{"text": said.text, "stop_reason": said.reason}]},
        piece=lambda said: {"choices": [{"text": said.text, "stop_reason": said.reason}]},
        read=lambda body: (_first(body, "choices")["text"], _first(body, "choices").get("stop_reason"), None),
        thinks=True,
    )
)
"""DeepSeek-R1 and later ones with a prompt."""

JURASSIC: Final = _dialect(
    _Family(
        name="bedrock_jurassic",
        label="AI21 Jurassic",
        settings={"maxTokens": "max_tokens", "topP": "top_p", "stopSequences": "stop", "numResults": "n"},
        reasons={"stop": "endoftext", "length": "length", "stop_sequence": "stop"},
        whole=lambda said: {
            "id": 1234,
            "prompt": {"text": said.exchange.body["prompt"], "tokens": []},
            "completions": [{"data": {"text": said.text, "tokens": []}, "finishReason": _ended(said)}],
        },
        piece=lambda said: {
            "completions": [
                {"data": {"text": said.text}, "finishReason": None if said.reason is None else _ended(said)}
            ]
        },
        read=lambda body: (
            _first(body, "completions")["data"]["text"],
            (_first(body, "completions").get("finishReason") or {}).get("reason"),
            None,
        ),
    )
)
"""AI21's Jurassic; Jamba speaks OpenAI's vocabulary."""


def _ended(said: _Said) -> dict[str, Any]:
    length = {"length": said.usage.output_tokens} if said.reason == "length" else {}
    return {"reason": said.reason, **length}


def _completion(said: _Said) -> dict[str, Any]:
    return {
        "object": "text_completion",
        "id": "",
        "created": said.exchange.created,
        "model": "/opt/ml/model",
        "system_fingerprint": "3.0.1-native",
        "choices": [{"index": 0, "text": said.text, "logprobs": None, "finish_reason": said.reason}],
    }


def _spent(usage: Usage) -> dict[str, Any]:
    counts = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    return {"usage": {**counts, "total_tokens": usage.total}}


COMPLETION: Final = _dialect(
    _Family(
        name="bedrock_completion",
        label="an imported model on Bedrock",
        settings={"topP": "top_p"},
        whole=lambda said: {**_completion(said), **_spent(said.usage)},
        piece=_completion,
        read=lambda body: (
            _first(body, "choices")["text"],
            _first(body, "choices").get("finish_reason"),
            _counts((body.get("usage") or {}).get("prompt_tokens"), (body.get("usage") or {}).get("completion_tokens")),
        ),
    )
)
"""Imported models, and those behind an endpoint of SageMaker."""
