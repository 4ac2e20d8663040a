"""The difference of a host that speaks OpenAI chat with an accent, made out of flags.

OpenAI's own answer is written first; what comes here renames, reorders, splits and joins it. So legacy functions,
custom tools, log probabilities and several choices are the dialect's affair, and stay so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from fake_llm._dialect import Delta, Exchange, Ids, ReadyPart, merge, text_of
from fake_llm._differences import Difference
from fake_llm._errors import ScriptMismatchError, clipped, sentence
from fake_llm._failures import Errors
from fake_llm._model import HeaderItems
from fake_llm._turns import Audio, Citation, Refusal, Thinking

__all__ = ["answer_id", "chat", "cited", "fingerprint_of", "thinks", "usage_like_openai", "uuid"]

Json: TypeAlias = "dict[str, Any]"

_OPENAI_KEYS: Final = frozenset(
    {"id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint"}
)
_KEYS: Final = "id object created model choices usage system_fingerprint"
_CHUNK_KEYS: Final = "id object created model system_fingerprint choices usage"
_CHOICE_KEYS: Final = "index message delta logprobs finish_reason"
_MESSAGE_KEYS: Final = "role content reasoning_content reasoning tool_calls function_call"
_CALL_KEYS: Final = "index id type function custom"


def uuid(ids: Ids) -> str:
    """A bare UUID as the id of an answer."""
    return ids.uuid()


def fingerprint_of(exchange: Exchange, count: int) -> str:
    """So many hexadecimal digits for the configuration behind a model: the same in all of its answers, as recorded (2024 to 2026)."""
    return hashlib.blake2b(exchange.model.encode("utf-8", "surrogatepass")).hexdigest()[:count]


def answer_id(exchange: Exchange, make: Callable[[Ids], str]) -> str:
    """The id of the answer, made once: for its body and its headers."""
    if exchange.id is None:
        exchange.id = make(exchange.ids)
    return exchange.id


def usage_like_openai(exchange: Exchange) -> Json:
    """The three counts, and the details that aren't nothing."""
    usage = exchange.usage
    counted: Json = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total,
    }
    if usage.cached_tokens:
        counted["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens:
        counted["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return counted


def thinks(exchange: Exchange, index: int) -> bool:
    """Whether the answer at `index` has thoughts in it."""
    return any(isinstance(part, Thinking) and not part.redacted for part in exchange.choices[index].parts)


def cited(exchange: Exchange) -> list[Citation]:
    """The citations of all answers, each source once."""
    found = {part.source: part for choice in exchange.choices for part in choice.of(Citation)}
    return list(found.values())


def _same_delta(exchange: Exchange, index: int, delta: Json) -> Json:
    return delta


def _same_choice(exchange: Exchange, choice: Json) -> Json:
    return choice


def _nothing(exchange: Exchange) -> Json:
    return {}


def _left_alone(exchange: Exchange, content: list[Json], closing: list[Json]) -> None:
    pass


def chat(
    *,
    keys: str = _KEYS,
    chunk_keys: str = _CHUNK_KEYS,
    choice_keys: str = _CHOICE_KEYS,
    message_keys: str = _MESSAGE_KEYS,
    delta_keys: str | None = None,
    call_keys: str = _CALL_KEYS,
    id: Callable[[Ids], str] = uuid,
    tool_id: Callable[[Ids, int], str | None] | None = None,
    fingerprint: Callable[[Exchange], str | None] | None = None,
    more: Callable[[Exchange], Json] = _nothing,
    reasoning: str = "reasoning_content",
    cites: bool = False,
    blank: Literal["null", "empty", "absent"] = "null",
    opening: Literal["alone", "joined"] = "alone",
    whole_calls: bool = False,
    usage: Callable[[Exchange], Json] = usage_like_openai,
    usage_in: Literal["chunk", "finish", "again", "every"] = "chunk",
    uncounted: bool = False,
    null_usage: Literal["never", "asked", "always"] = "never",
    message: Callable[[Exchange, int, Json], Json] = _same_delta,
    delta: Callable[[Exchange, int, Json], Json] = _same_delta,
    choice: Callable[[Exchange, Json], Json] = _same_choice,
    chunks: Callable[[Exchange, list[Json], list[Json]], None] = _left_alone,
    headers: Callable[[Exchange], HeaderItems] | None = None,
    errors: Errors | None = None,
) -> Difference:
    """A `Difference` from OpenAI chat.

    Args:
        keys: The keys of a whole answer in order; what OpenAI has and isn't named here is left out.
        chunk_keys: The same of a chunk.
        choice_keys: The same of a choice, whole and streamed.
        message_keys: The same of a message.
        delta_keys: The same of a delta; as in a message unless said.
        call_keys: The same of a tool call; with `index` whole ones have it too.
        id: A new id for an answer.
        tool_id: A new id for a tool call, from the number of the call in its answer.
        fingerprint: The `system_fingerprint`; without it, as OpenAI.
        more: Further keys of an answer, and of each chunk; where `keys` or `chunk_keys` name them, there.
        reasoning: The key of thoughts.
        cites: Whether an answer has a place for the sources of its text: the annotations of a message, or a key of `more`.
        blank: The content beside tool calls without text.
        opening: Whether the role stands in a chunk of its own or in the first one that says something.
        whole_calls: Whether a tool call comes in one chunk.
        usage: The usage.
        usage_in: Where a stream has it: in a last chunk without choices, in the finish chunk, in a chunk that repeats
            the finish chunk, in every chunk.
        uncounted: Whether a stream has it even when nobody asked for it.
        null_usage: Whether the other chunks say `null`: never, where usage was asked for, always.
        message: Alters the message of a choice.
        delta: The same of a delta; the one of a finish chunk comes empty.
        choice: Alters a choice, whole or streamed.
        chunks: Alters the finished chunks in place: those of the content, those that close.
        headers: Headers of a successful answer.
        errors: The host's errors.
    """
    accent = _Accent(
        keys=tuple(keys.split()),
        chunk_keys=tuple(chunk_keys.split()),
        choice_keys=tuple(choice_keys.split()),
        message_keys=tuple(message_keys.split()),
        delta_keys=tuple((delta_keys or message_keys).split()),
        call_keys=tuple(call_keys.split()),
        id=id,
        fingerprint=fingerprint,
        more=more,
        reasoning=reasoning,
        cites=cites,
        blank=blank,
        joined=opening == "joined",
        whole_calls=whole_calls,
        usage=usage,
        usage_in=usage_in,
        uncounted=uncounted,
        null_usage=null_usage,
        message=message,
        delta=delta,
        choice=choice,
        chunks=chunks,
    )
    return Difference(
        document=accent.document,
        events=accent.events,
        headers=headers or _no_headers,
        failure=None if errors is None else errors.failure,
        failure_events=None if errors is None else errors.failure_events,
        id=id,
        tool_id=tool_id,
    )


def _no_headers(exchange: Exchange) -> HeaderItems:
    return ()


@dataclass(slots=True)
class _Piece:
    """One chunk on its way: what it was, and the delta that it is to have."""

    chunk: Json
    delta: Json
    carries: bool

    @property
    def index(self) -> int:
        index: int = self.chunk["choices"][0]["index"]
        return index


@dataclass(frozen=True, slots=True, kw_only=True)
class _Accent:
    """The flags of `chat`, and what they do."""

    keys: tuple[str, ...]
    chunk_keys: tuple[str, ...]
    choice_keys: tuple[str, ...]
    message_keys: tuple[str, ...]
    delta_keys: tuple[str, ...]
    call_keys: tuple[str, ...]
    id: Callable[[Ids], str]
    fingerprint: Callable[[Exchange], str | None] | None
    more: Callable[[Exchange], Json]
    reasoning: str
    cites: bool
    blank: str
    joined: bool
    whole_calls: bool
    usage: Callable[[Exchange], Json]
    usage_in: str
    uncounted: bool
    null_usage: str
    message: Callable[[Exchange, int, Json], Json]
    delta: Callable[[Exchange, int, Json], Json]
    choice: Callable[[Exchange, Json], Json]
    chunks: Callable[[Exchange, list[Json], list[Json]], None]

    # --- whole ---

    def document(self, exchange: Exchange, document: Json) -> Json:
        """OpenAI's whole answer in the host's form."""
        extra = exchange.extra or {}
        written = {**document, **self._own(exchange), "usage": self._usage(exchange)}
        if "choices" not in extra:
            written["choices"] = [self._whole_choice(exchange, choice) for choice in document["choices"]]
        return _ordered(written, self.keys, _OPENAI_KEYS, kept=extra)

    def _whole_choice(self, exchange: Exchange, choice: Json) -> Json:
        index = choice["index"]
        self._check(exchange, index)
        message = self._renamed(choice["message"])
        if choice["message"].get("refusal") is not None:
            message["content"] = _said_in_order(exchange.choices[index].parts)
        calls = message.get("tool_calls")
        if calls:
            numbered = enumerate(calls) if "index" in self.call_keys else ((None, call) for call in calls)
            message["tool_calls"] = [
                _ordered(call if number is None else {"index": number, **call}, self.call_keys, frozenset())
                for number, call in numbered
            ]
        if message.get("content") is None and (calls or "function_call" in message):
            self._blank(message)
        message = _ordered(self.message(exchange, index, message), self.message_keys, _SAID)
        return self._choice(exchange, {**choice, "message": message})

    def _check(self, exchange: Exchange, index: int) -> None:
        """Refuse what this host has no place for."""
        parts = exchange.choices[index].parts
        wrong = next((part for part in parts if isinstance(part, Audio if self.cites else (Audio, Citation))), None)
        if wrong is not None:
            raise ScriptMismatchError(
                sentence(
                    f"The turn has a part {clipped(repr(wrong), 200)}.",
                    f"The chat of {exchange.provider} has no place for {type(wrong).__name__}.",
                    "Write the turn without it for this host, or its own words in Reply(…, extra={…}).",
                )
            )

    def _renamed(self, said: Json) -> Json:
        """Thoughts under the host's name, a refusal as plain text."""
        renamed = dict(said)
        if "reasoning_content" in renamed and self.reasoning != "reasoning_content":
            renamed[self.reasoning] = renamed.pop("reasoning_content")
        if renamed.get("refusal") is not None:
            renamed["content"] = (renamed.get("content") or "") + renamed.pop("refusal")
        return renamed

    def _blank(self, message: Json) -> None:
        if self.blank == "absent":
            message.pop("content", None)
        else:
            message["content"] = "" if self.blank == "empty" else None

    def _choice(self, exchange: Exchange, choice: Json) -> Json:
        forced = choice["finish_reason"] == "stop" and exchange.choices[choice["index"]].finish_reason == "tool_calls"
        finish = "tool_calls" if forced else choice["finish_reason"]  # only OpenAI says `stop` of a forced call
        written = self.choice(exchange, {"logprobs": None, **choice, "finish_reason": finish})
        kept = () if written.get("logprobs") is None else ("logprobs",)
        return _ordered(written, self.choice_keys, _CHOSEN, kept)

    # --- both ---

    def _own(self, exchange: Exchange) -> Json:
        """What stands once in every answer and chunk, the script's own words excepted."""
        own: Json = {"id": answer_id(exchange, self.id)}
        if self.fingerprint is not None:
            own["system_fingerprint"] = self.fingerprint(exchange)
        own |= self.more(exchange)
        return {name: value for name, value in own.items() if name not in (exchange.extra or {})}

    def _usage(self, exchange: Exchange) -> Json:
        usage = self.usage(exchange)
        extra = (exchange.extra or {}).get("usage")
        for beyond in (exchange.usage.details, extra if isinstance(extra, Mapping) else {}):
            usage = merge(usage, beyond) if beyond else usage
        return usage

    # --- streamed ---

    def events(self, exchange: Exchange, content: list[Any], closing: list[Any]) -> tuple[list[Any], list[Any]]:
        """OpenAI's chunks in the host's form."""
        for index in range(len(exchange.choices)):
            self._check(exchange, index)
        extra = exchange.extra or {}
        asked = closing[-1].get("usage") is not None
        counted = asked or self.uncounted
        own = self._own(exchange)
        usage = self._usage(exchange) if counted else {}

        pieces: Iterable[_Piece] = self._split(content)
        if self.whole_calls:
            pieces = _gathered(pieces)
        if self.joined:
            pieces = _joined(list(pieces))
        null = self.null_usage == "always" or (self.null_usage == "asked" and asked)
        usual: Json = {"usage": usage} if self.usage_in == "every" and counted else {"usage": None} if null else {}

        def written(chunk: Json, choices: list[Json], **more: Any) -> Json:
            kept = {**chunk, **own, **usual, **more, "choices": choices}
            if "usage" not in usual and "usage" not in more and "usage" not in extra:
                kept.pop("usage", None)
            kept = _ordered(kept, self.chunk_keys, _OPENAI_KEYS, kept=extra)
            return Delta(kept) if isinstance(chunk, Delta) else kept

        said: list[Any] = []
        for piece in pieces:
            choice = self._streamed_choice(exchange, piece.chunk["choices"][0], piece.delta)
            said.append(written(Delta(piece.chunk) if piece.carries else dict(piece.chunk), [choice]))

        ends: list[Any] = []
        finishing = closing[:-1] if asked else closing
        for chunk in finishing:
            last = chunk is finishing[-1]
            choices = (
                chunk["choices"]
                if "choices" in extra and last
                else [self._streamed_choice(exchange, item, {}) for item in chunk["choices"]]
            )
            here = counted and last and self.usage_in == "finish"
            ends.append(written(chunk, choices, **({"usage": usage} if here else {})))
        if counted and self.usage_in in ("chunk", "again"):
            choices = ends[-1]["choices"] if self.usage_in == "again" else []
            ends.append(written(finishing[-1], choices, usage=usage))
        self.chunks(exchange, said, ends)
        return said, ends

    def _split(self, content: Iterable[Json]) -> Iterator[_Piece]:
        """The deltas, the opening one without the head of a call."""
        for chunk in content:
            delta = self._renamed(chunk["choices"][0]["delta"])
            if "role" in delta:
                call: Json = {name: delta.pop(name) for name in ("tool_calls", "function_call") if name in delta}
                if delta.get("content") is None:
                    self._blank(delta)
                yield _Piece(chunk, delta, carries=False)
                if call:
                    yield _Piece(chunk, call, carries=False)
            elif delta.keys() != {"annotations"} or "annotations" in self.delta_keys:
                yield _Piece(chunk, delta, isinstance(chunk, Delta))

    def _streamed_choice(self, exchange: Exchange, choice: Json, delta: Json) -> Json:
        delta = self.delta(exchange, choice["index"], delta)
        if delta.get("tool_calls"):
            calls = [_ordered(call, self.call_keys, frozenset()) for call in delta["tool_calls"]]
            delta = {**delta, "tool_calls": calls}
        return self._choice(exchange, {**choice, "delta": _ordered(delta, self.delta_keys, _SAID)})


def _said_in_order(parts: Iterable[ReadyPart]) -> str:
    """Texts and refusals as they are streamed, one after the other."""
    return "".join(part.text if isinstance(part, Refusal) else text_of(part) for part in parts)


_SAID: Final = frozenset(
    {"role", "content", "reasoning_content", "reasoning", "tool_calls", "function_call", "refusal", "annotations"}
)
_CHOSEN: Final = frozenset({"index", "message", "delta", "logprobs", "finish_reason"})


def _ordered(values: Mapping[str, Any], keys: tuple[str, ...], known: frozenset[str], kept: Iterable[str] = ()) -> Json:
    """The values in the order of `keys`, then the others; of those in `known`, only what `kept` names too."""
    dropped = known.difference(keys).difference(kept)
    ordered = {name: values[name] for name in keys if name in values}
    return ordered | {name: value for name, value in values.items() if name not in ordered and name not in dropped}


def _gathered(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """The pieces with each tool call whole in one of them."""
    waiting: dict[int, _Piece] = {}
    for piece in pieces:
        calls = piece.delta.get("tool_calls")
        head = waiting.get(piece.index)
        if calls and "id" not in calls[0] and head is not None:
            _append(head.delta["tool_calls"][0], calls[0])
            continue
        if head is not None:
            yield waiting.pop(piece.index)
        if calls:
            waiting[piece.index] = _Piece(piece.chunk, {"tool_calls": [_copied(calls[0])]}, carries=True)
        else:
            yield piece
    yield from waiting.values()


def _copied(call: Json) -> Json:
    return {name: dict(value) if isinstance(value, dict) else value for name, value in call.items()}


def _append(call: Json, more: Json) -> None:
    for kind, text in (("function", "arguments"), ("custom", "input")):
        if kind in more:
            call[kind][text] += more[kind][text]


def _joined(pieces: list[_Piece]) -> Iterator[_Piece]:
    """The pieces with the role in the first that says something; one of its own where nothing is said."""
    spoken = {piece.index for piece in pieces if "role" not in piece.delta}
    roles: dict[int, str] = {}
    for piece in pieces:
        if "role" in piece.delta and piece.index in spoken:
            roles[piece.index] = piece.delta["role"]
        elif piece.index in roles:
            yield _Piece(piece.chunk, {"role": roles.pop(piece.index), **piece.delta}, piece.carries)
        else:
            yield piece
