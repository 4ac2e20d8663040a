"""OpenAI completions: `POST /v1/completions`, text that goes on from a prompt; hosts that serve open models speak it too.

Layout as OpenAI's documentation and the types of openai 3.57 have it (2026-11), and as Azure and Together were recorded (2023, 2024).
A request with several prompts is answered `n` times for each of them, so `n` of the view is the number of all answers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final
from urllib.parse import unquote

from fake_llm._dialect import Choice, Delta, Dialect, Exchange, Ids, WireEvent, json_kind, media, merge, message
from fake_llm._failures import Errors
from fake_llm._model import HeaderItems, Request, Usage, View
from fake_llm._tokens import tokens
from fake_llm._turns import Error, Reply

__all__ = ["DIALECT"]

_Json = dict[str, Any]

# --- reading ----------------------------------------------------------------------------------------

_NOT_PARAMS: Final = frozenset({"model", "prompt", "stream", "stop", "n"})


def _prompts(body: Any) -> list[Any]:
    """Each prompt: a text, or the ids of its tokens."""
    given = body.get("prompt") if isinstance(body, dict) else None
    if isinstance(given, list) and given and not all(type(item) is int for item in given):
        return given
    return [given]


def _text(prompt: Any) -> str:
    return prompt if isinstance(prompt, str) else ""


def read(request: Request, body: Any) -> View:
    """The view of a request: each prompt is a user message."""
    prompts = _prompts(body)
    said = ([item] if isinstance(item, str) else [media("[tokens]")] for item in prompts if item is not None)
    params = {name: value for name, value in body.items() if value is not None and name not in _NOT_PARAMS}
    stop, count = body.get("stop"), body.get("n")
    if stop is not None:
        params["stop"] = [stop] if isinstance(stop, str) else stop
    if count is not None or len(prompts) > 1:
        params["n"] = (count or 1) * len(prompts)
    return View(tuple(message("user", texts) for texts in said), params=params)


def stream(request: Request, body: Any) -> bool:
    """Whether a stream is asked for."""
    return isinstance(body, dict) and body.get("stream") is True


def model(request: Request, body: Any) -> str:
    """The model's name, out of the URL for deployments that have it only there."""
    name = body.get("model") if isinstance(body, dict) else None
    if isinstance(name, str) and name:
        return name
    _, found, rest = request.path.partition("/deployments/")
    return unquote(rest.partition("/")[0]) if found else ""


# --- refusing ---------------------------------------------------------------------------------------

_BAD_JSON: Final = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. "
    "The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, "
    "please contact us through our help center at help.openai.com.)"
)
_TYPES: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {
    "model": ("a string", str),
    "prompt": ("one of a string or array", (str, list)),
    **dict.fromkeys(("echo", "stream"), ("a boolean", bool)),
    **dict.fromkeys(("suffix", "user"), ("a string", str)),
    **dict.fromkeys(("best_of", "logprobs", "max_tokens", "n", "seed"), ("an integer", int)),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "temperature", "top_p"), ("a decimal", (int, float))),
    **dict.fromkeys(("logit_bias", "stream_options"), ("an object", dict)),
    "stop": ("one of a string or array of strings", (str, list)),
}
_MOST_CHOICES: Final = 128
_MOST_TRIES: Final = 20
_MOST: Final = {"n": _MOST_CHOICES, "best_of": _MOST_TRIES}
_LARGEST: Final = 2**63 - 1


def check(request: Request, body: Any) -> Error | None:
    """The refusal of what isn't well-formed."""
    if not isinstance(body, dict):
        return _refused(_BAD_JSON)
    if body.get("model") in (None, "") and "/deployments/" not in request.path:
        return _refused("you must provide a model parameter")
    if "messages" in body and "prompt" not in body:
        return _refused("Unrecognized request argument supplied: messages")
    for name, value in body.items():
        wanted = _TYPES.get(name)
        if wanted is None or value is None:
            continue
        expected, types = wanted
        whole = isinstance(value, float) and value.is_integer() and types is int
        if not (whole or isinstance(value, types)) or (isinstance(value, bool) and types is not bool):
            return _refused(
                f"Invalid type for '{name}': expected {expected}, but got {json_kind(value)} instead.",
                name,
                "invalid_type",
            )
        if types is int and value > _MOST.get(name, _LARGEST):
            return _refused(
                f"Invalid '{name}': integer above maximum value. Expected a value <= "
                f"{_MOST.get(name, _LARGEST)}, but got {value} instead.",
                name,
                "integer_above_max_value",
            )
        if name == "n" and value < 1:
            return _refused(
                f"Invalid 'n': integer below minimum value. Expected a value >= 1, but got {value} instead.",
                "n",
                "integer_below_min_value",
            )
    return _check_tries(body) or _check_prompt(body.get("prompt"))


def _check_tries(body: Mapping[str, Any]) -> Error | None:
    """Of so many tries the best are given, so there are at least as many (its reference, 2026-11)."""
    tries, choices = body.get("best_of"), body.get("n") or 1
    if tries is None or tries >= choices:
        return None
    return _refused(
        "You requested that the server return more choices than it will generate (HINT: you must set 'n' (currently "
        f"{choices}) to be at most 'best_of' (currently {tries}), or omit either parameter if you don't specifically "
        "want to use them.)",
        "best_of",
    )


def _check_prompt(prompt: Any) -> Error | None:
    """A list holds texts, token ids, or lists of these."""
    kinds = {type(item) for item in prompt} if isinstance(prompt, list) else set()
    inner = {type(item) for one in prompt if isinstance(one, list) for item in one} if kinds == {list} else {int}
    if (isinstance(prompt, list) and kinds not in ({str}, {int}, {list})) or inner != {int}:
        return _refused(
            "'$.prompt' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference."
        )
    if isinstance(prompt, list) and len(prompt) > _MOST_PROMPTS and kinds != {int}:
        return _refused(
            f"Invalid 'prompt': array too long. Expected an array with maximum length {_MOST_PROMPTS}, "
            f"but got an array with length {len(prompt)} instead.",
            "prompt",
            "array_above_max_length",
        )
    return None


_MOST_PROMPTS: Final = 2048


def _refused(text: str, param: str | None = None, code: str | None = None) -> Error:
    body = {"error": {"message": text, "type": "invalid_request_error", "param": param, "code": code}}
    return Error("bad_request", text, body=None if param is None and code is None else body)


# --- answers ----------------------------------------------------------------------------------------

_FINISH: Final[Mapping[str, str]] = dict.fromkeys(
    ("refusal", "stop_sequence", "pause", "malformed_tool_call", "tool_calls"), "stop"
)


def _prompt_of(exchange: Exchange, index: int) -> Any:
    """The prompt that the answer at an index goes on from."""
    prompts = _prompts(exchange.body)
    return prompts[index * len(prompts) // max(1, len(exchange.choices))]


def _echoed(exchange: Exchange, index: int) -> str:
    return _text(_prompt_of(exchange, index)) if exchange.body.get("echo") is True else ""


def _head(exchange: Exchange) -> _Json:
    identity = exchange.id or "cmpl-" + exchange.ids.alnum(29)
    return {"id": identity, "object": "text_completion", "created": exchange.created, "model": exchange.model}


def document(exchange: Exchange) -> dict[str, Any]:
    """The whole answer."""
    choices = [
        {
            "text": _echoed(exchange, index) + choice.text,
            "index": index,
            "logprobs": _logprobs(exchange, index, [(_echoed(exchange, index), True), *_pieces(choice)], 0),
            "finish_reason": _FINISH.get(choice.finish_reason, choice.finish_reason),
        }
        for index, choice in enumerate(exchange.choices)
    ]
    return exchange.extend({**_head(exchange), "choices": choices, "usage": _usage(exchange.usage)})


def _pieces(choice: Choice) -> list[tuple[str, bool]]:
    return [(piece, False) for index in range(len(choice.parts)) for piece in choice.pieces(index)]


def _usage(usage: Usage) -> _Json:
    written = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }
    return merge(written, usage.details) if usage.details else written


def counted(exchange: Exchange) -> Usage:
    """The tokens of all prompts, those that came as ids too, and of all answers."""
    asked = sum(len(item) if isinstance(item, list) else tokens(_text(item)) for item in _prompts(exchange.body))
    return Usage(asked, sum(tokens(choice.text) for choice in exchange.choices))


_OTHERS: Final = (" the", ",", " a", ".", "\n")


def _logprobs(exchange: Exchange, index: int, pieces: list[tuple[str, bool]], at: int) -> _Json | None:
    """The tokens of some pieces, each with whether it is the echoed prompt, whose first token has no probability.

    Args:
        exchange: The exchange.
        index: The answer's index.
        pieces: The pieces.
        at: How much of the answer's text stands before them.
    """
    asked = exchange.body.get("logprobs")
    scripted = exchange.choices[index].logprobs
    if (not isinstance(asked, int) or isinstance(asked, bool)) and scripted is None:
        return None
    top = asked if isinstance(asked, int) else 0
    offset = at if exchange.body.get("echo") is True else at + len(_text(_prompt_of(exchange, index)))
    told: dict[str, list[Any]] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    for token, logprob in _entries(pieces, None if scripted is None else list(scripted)):
        told["tokens"].append(token)
        told["token_logprobs"].append(logprob)
        told["top_logprobs"].append(None if logprob is None else _top(token, logprob, top))
        told["text_offset"].append(offset)
        offset += len(token)
    return told if top else {**told, "top_logprobs": None}


def _entries(pieces: list[tuple[str, bool]], scripted: list[Any] | None) -> Iterator[tuple[str, float | None]]:
    for number, (piece, echoed) in enumerate(pieces):
        if not piece:
            continue
        if echoed:
            yield piece, None if number == 0 else _made(piece)
        elif scripted is None:
            yield piece, _made(piece)
    for entry in scripted or ():
        if isinstance(entry, Mapping):
            yield str(entry.get("token", "")), entry.get("logprob")
        else:
            yield entry[0], entry[1]


def _made(piece: str) -> float:
    """A probability out of thin air: always the same for the same piece, and exact in binary."""
    return -(zlib.crc32(piece.encode("utf-8", "surrogatepass")) % 1000 + 1) / 8192


def _top(token: str, logprob: float, top: int) -> dict[str, float]:
    others = [other for other in _OTHERS if other != token][: max(0, top - 1)]
    return {token: logprob, **{other: logprob - 2.5 - rank / 2 for rank, other in enumerate(others)}}


# --- streams ----------------------------------------------------------------------------------------


def events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    """The chunks of the content, an echoed prompt first, then the finish chunks and the usage."""
    options = exchange.body.get("stream_options")
    asked = isinstance(options, dict) and options.get("include_usage") is True
    head = _head(exchange)
    extra = dict(exchange.extra or {})
    extra_choices, extra_usage = extra.pop("choices", None), extra.pop("usage", None)
    head = merge(head, extra)
    tail: _Json = {"usage": None} if asked else {}

    def chunk(index: int, text: str, logprobs: _Json | None, finish: str | None) -> _Json:
        choice = {"text": text, "index": index, "logprobs": logprobs, "finish_reason": finish}
        return {**head, "choices": [choice], **tail}

    content: list[WireEvent] = []
    for row in zip_longest(*(_streamed(exchange, index) for index in range(len(exchange.choices)))):
        content += [Delta(chunk(index, told[0], told[1], None)) for index, told in enumerate(row) if told is not None]
    closing: list[WireEvent] = [
        chunk(index, "", None, _FINISH.get(choice.finish_reason, choice.finish_reason))
        for index, choice in enumerate(exchange.choices)
    ]
    if extra_choices is not None:
        closing[-1:] = [{**head, "choices": extra_choices, **tail}]
    if asked:
        usage = _usage(exchange.usage)
        usage = merge(usage, extra_usage) if isinstance(extra_usage, Mapping) else usage
        closing.append({**head, "choices": [], "usage": usage})
    return content, closing


def _streamed(exchange: Exchange, index: int) -> Iterator[tuple[str, _Json | None]]:
    """The texts of one answer's chunks with their probabilities; those of the script are all in the first."""
    choice = exchange.choices[index]
    echoed = _echoed(exchange, index)
    pieces = [*([(echoed, True)] if echoed else []), *_pieces(choice)]
    at = 0
    for number, pair in enumerate(pieces):
        known = pair[1] or choice.logprobs is None or number == len(pieces) - 1
        yield pair[0], _logprobs(exchange, index, [pair], at) if known else None
        at += len(pair[0])


# --- reading back -----------------------------------------------------------------------------------

_KEYS: Final = frozenset({"id", "object", "created", "model", "choices", "usage"})


def parts(document: Mapping[str, Any]) -> Reply:
    """A whole answer read back into a turn."""
    first, *others = [_turn(choice) for choice in document.get("choices") or ()] or [Reply()]
    usage, name, identity = document.get("usage"), document.get("model"), document.get("id")
    return first.replace(
        usage=_usage_back(usage) if isinstance(usage, Mapping) else None,
        model=name if isinstance(name, str) and name else None,
        id=identity if isinstance(identity, str) and identity else None,
        extra={key: value for key, value in document.items() if key not in _KEYS and value is not None} or None,
        choices=tuple(others),
    )


def _turn(choice: Mapping[str, Any]) -> Reply:
    told = choice.get("logprobs")
    entries = None
    if isinstance(told, Mapping):
        pairs = zip(told.get("tokens") or (), told.get("token_logprobs") or (), strict=False)
        entries = [{"token": token, "logprob": logprob} for token, logprob in pairs]
    return Reply(choice.get("text") or "", finish_reason=choice.get("finish_reason"), logprobs=entries)


def _usage_back(usage: Mapping[str, Any]) -> Usage:
    asked, said = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    total = usage.get("total_tokens")
    known = ("prompt_tokens", "completion_tokens", "total_tokens")
    details = {name: value for name, value in usage.items() if name not in known and value is not None}
    return Usage(asked, said, total_tokens=None if total == asked + said else total, details=details)


def headers(exchange: Exchange) -> HeaderItems:
    """None of its own: a host's row says them."""
    return ()


def tool_id(ids: Ids) -> None:
    """There are no tools."""
    return


_ERRORS: Final = Errors(usual={})

DIALECT: Final = Dialect(
    name="openai_completions",
    label="OpenAI completions",
    read=read,
    check=check,
    bad_json=_BAD_JSON,
    stream=stream,
    model=model,
    document=document,
    events=events,
    failure=_ERRORS.failure,
    failure_events=_ERRORS.failure_events,
    parts=parts,
    headers=headers,
    tool_id=tool_id,
    carries=frozenset({str}),
    choices=True,
    counted=counted,
    too_long="This model's maximum context length is {window} tokens, however you requested {tokens} tokens. Please reduce your prompt; or completion length.",
    sdk_types=("openai.types.completion.Completion",),
)
