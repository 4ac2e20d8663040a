"""Speech, and the transcription of speech: silence and a made-up text, unless a rule pins them.

A turn for speech is `Audio(bytes)`; one for a transcription or a translation is a text, or a list of texts, one for each segment.
Transcriptions, their stream and one refusal as recorded (2023-11 to 2026-08); other formats by the types and documentation of
OpenAI's SDK (3.57), Groq's (1.7) and Mistral's (3.7) of 2026-11. What they share with chat, errors and headers, is chat's.
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fake_llm._dialect import Choice, Delta, Exchange, Plain, WireEvent, media, message
from fake_llm._dialects import openai_chat
from fake_llm._dialects.openai_chat import refused
from fake_llm._form import Upload
from fake_llm._model import Request, Usage, View
from fake_llm._services._samples import SECONDS, SOUNDS, seconds_of, sound
from fake_llm._tokens import tokens
from fake_llm._turns import Audio, Error, Reply

__all__ = [
    "GROQ_SPEECH",
    "GROQ_TRANSCRIPTION",
    "MISTRAL_SPEECH",
    "MISTRAL_TRANSCRIPTION",
    "OPENAI_SPEECH",
    "OPENAI_TRANSCRIPTION",
    "groq_transcription",
]

_SECOND: Final = 10
"""Tokens of a second of sound, as transcriptions were recorded (2026-08)."""


def _says(value: Any) -> bool:
    """Whether a field is true, in JSON or in a form."""
    return value in (True, "true", "True", "1")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]


# --- refusals -----------------------------------------------------------------------------------


def _invalid(kind: str, name: str, text: str, context: Mapping[str, Any] | None = None) -> Error:
    """A refusal in the words of the library that reads the request, as it was recorded."""
    said: dict[str, Any] = {"type": kind, "loc": ("body", name), "msg": text}
    return refused(str([said if context is None else {**said, "ctx": context}]))


def _missing(name: str) -> Error:
    return _invalid("missing", name, "Field required")


def _one_of(name: str, values: Sequence[str]) -> Error:
    expected = ", ".join(f"'{value}'" for value in values[:-1]) + f" or '{values[-1]}'"
    return _invalid("enum", name, f"Input should be {expected}", {"expected": expected})


# --- speech -------------------------------------------------------------------------------------

_LONGEST: Final = 4096
_FORMATS: Final = ("mp3", "opus", "aac", "flac", "wav", "pcm")
_GROQ_FORMATS: Final = ("flac", "mp3", "mulaw", "ogg", "wav")
_MISTRAL_FORMATS: Final = ("pcm", "wav", "mp3", "flac", "opus")
_NOT_PARAMS: Final = frozenset({"input", "model", "instructions", "stream"})


def _speech_read(request: Request, body: Any) -> View:
    instructions = body.get("instructions")
    params = {name: value for name, value in body.items() if name not in _NOT_PARAMS and value is not None}
    system = instructions if isinstance(instructions, str) else ""
    return View((message("user", [body["input"]]),), system, params=params)


def _speech_stream(request: Request, body: Any) -> bool:
    return isinstance(body, dict) and body.get("stream_format") == "sse"


def _check_speech(body: Any, formats: Sequence[str], *required: str) -> Error | None:
    if not isinstance(body, dict):
        return refused(openai_chat.BAD_JSON)
    for name in required:
        if body.get(name) is None:
            return _missing(name)
    for name in ("model", "input"):
        if not isinstance(body.get(name, ""), (str, type(None))):
            return _invalid("string_type", name, "Input should be a valid string")
    form = body.get("response_format")
    return None if form is None or form in formats else _one_of("response_format", formats)


def _speech_check(request: Request, body: Any) -> Error | None:
    error = _check_speech(body, _FORMATS, "model", "input", "voice")
    if error is not None:
        return error
    if not body["input"]:
        return _invalid("string_too_short", "input", "String should have at least 1 character", {"min_length": 1})
    if len(body["input"]) > _LONGEST:
        text = f"String should have at most {_LONGEST} characters"
        return _invalid("string_too_long", "input", text, {"max_length": _LONGEST})
    if body.get("stream_format") not in (None, "sse", "audio"):
        return _one_of("stream_format", ("sse", "audio"))
    return None


def _spoken(exchange: Exchange, kind: str) -> bytes:
    pinned: tuple[Audio, ...] = exchange.choice.of(Audio)
    return b"".join(part.data for part in pinned) if pinned else sound(kind)


def _speech_kind(exchange: Exchange) -> str:
    kind: str = exchange.body.get("response_format") or "mp3"
    return kind


def _speech_document(exchange: Exchange) -> dict[str, Any]:
    kind = _speech_kind(exchange)
    return Plain(_spoken(exchange, kind), SOUNDS[kind])


_PIECES: Final = 4


def _pieces(data: bytes) -> list[bytes]:
    size = max(1, -(-len(data) // _PIECES))
    return [data[start : start + size] for start in range(0, len(data), size)]


def _speech_events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    data = _spoken(exchange, _speech_kind(exchange))
    content: list[WireEvent] = [
        Delta(type="speech.audio.delta", audio=base64.b64encode(piece).decode()) for piece in _pieces(data)
    ]
    usage = exchange.usage
    spent = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total,
        **usage.details,
    }
    return content, [exchange.extend({"type": "speech.audio.done", "usage": spent})]


def _speech_counted(exchange: Exchange) -> Usage:
    return Usage(tokens(exchange.body["input"]), math.ceil(SECONDS * _SECOND))


def _no_object(document: Mapping[str, Any]) -> Reply:
    raise ValueError("sound has no object")


OPENAI_SPEECH: Final = replace(
    openai_chat.DIALECT,
    name="openai_speech",
    label="OpenAI speech",
    read=_speech_read,
    check=_speech_check,
    stream=_speech_stream,
    document=_speech_document,
    events=_speech_events,
    parts=_no_object,
    carries=frozenset({Audio}),
    choices=False,
    shaping=None,
    counted=_speech_counted,
    sdk_types=(),
)
"""`POST /v1/audio/speech`."""

GROQ_SPEECH: Final = replace(
    OPENAI_SPEECH,
    name="groq_speech",
    label="Groq speech",
    check=lambda request, body: _check_speech(body, _GROQ_FORMATS, "model", "input", "voice"),
    stream=lambda request, body: False,
)
"""The same of Groq, in other formats; its Ogg has Opus in it, its µ-law is a WAV file."""


def _mistral_speech_kind(exchange: Exchange) -> str:
    return exchange.body.get("response_format") or "mp3"


def _mistral_speech_document(exchange: Exchange) -> dict[str, Any]:
    data = _spoken(exchange, _mistral_speech_kind(exchange))
    return exchange.extend({"audio_data": base64.b64encode(data).decode()})


def _mistral_speech_events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    data = _spoken(exchange, _mistral_speech_kind(exchange))
    content: list[WireEvent] = [
        Delta(audio_data=base64.b64encode(piece).decode(), type="speech.audio.delta") for piece in _pieces(data)
    ]
    return content, [exchange.extend({"usage": _mistral_usage(exchange, None), "type": "speech.audio.done"})]


def _mistral_speech_parts(document: Mapping[str, Any]) -> Reply:
    return Reply(Audio(base64.b64decode(document["audio_data"])))


MISTRAL_SPEECH: Final = replace(
    OPENAI_SPEECH,
    name="mistral_speech",
    label="Mistral speech",
    check=lambda request, body: _check_speech(body, _MISTRAL_FORMATS, "input"),
    stream=openai_chat.DIALECT.stream,
    document=_mistral_speech_document,
    events=_mistral_speech_events,
    parts=_mistral_speech_parts,
    sdk_types=("mistralai.client.models.speech_v1_audio_speech_postop.SpeechResponse",),
)
"""`POST /v1/audio/speech` of Mistral, as mistralai 3.7 reads it (2026-11)."""


# --- transcription ------------------------------------------------------------------------------

_KINDS: Final = ("flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm")
_TEXTS: Final = ("json", "text", "vtt", "srt", "verbose_json")  # in the recorded order
_GROQ_TEXTS: Final = ("json", "text", "verbose_json")
_MADE_UP: Final = ("This is a made-up transcription.", "Write a rule to say another.")
_LANGUAGES: Final = {
    "ar": "arabic",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
    "uk": "ukrainian",
    "zh": "chinese",
}
_OTHERS: Final = frozenset({"file", "model", "prompt", "stream"})


def _translates(request: Request) -> bool:
    return request.path.endswith("/translations")


def _transcription_read(request: Request, body: Any) -> View:
    prompt = body.get("prompt")
    texts = [prompt] if isinstance(prompt, str) else []
    params = {name: value for name, value in body.items() if name not in _OTHERS and value is not None}
    return View((message("user", [*texts, media("[audio]")]),), params=params)


def _transcription_stream(request: Request, body: Any) -> bool:
    """Whisper doesn't stream: it ignores what is asked."""
    if not isinstance(body, dict) or _translates(request):
        return False
    return _says(body.get("stream")) and not str(body.get("model", "")).startswith("whisper")


def _check_file(upload: Any) -> Error | None:
    if not isinstance(upload, Upload):
        return _missing("file")
    _, found, kind = upload.filename.lower().rpartition(".")
    heard = upload.media_type.startswith(("audio/", "video/"))
    known = f"Supported formats: {list(_KINDS)}"
    if found and kind not in _KINDS and not heard:
        return refused(f"Invalid file format. {known}")
    if not found and not heard:
        return refused(f"Unrecognized file format. {known}")
    if not upload.data:
        return refused("Audio file is too short. Minimum audio length is 0.1 seconds.", "file", "audio_too_short")
    return None


def _transcription_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return _missing("file")
    error = _check_file(body.get("file"))
    if error is not None:
        return error
    model, form = body.get("model"), body.get("response_format")
    if not model and "/deployments/" not in request.path:
        return refused("you must provide a model parameter")
    diarized = form == "diarized_json" and not _translates(request) and not str(model).startswith("whisper")
    if form is not None and form not in _TEXTS and not diarized:
        return _one_of("response_format", _TEXTS)
    if form not in (None, "json", "text", "diarized_json") and str(model).startswith("gpt-4o"):
        text = f"response_format '{form}' is not compatible with model '{model}'. Use 'json' or 'text' instead."
        return refused(text, "response_format", "unsupported_value")
    return None


@dataclass(frozen=True, slots=True)
class _Segment:
    """A piece of what is heard: from when to when, and who says it."""

    text: str
    start: float
    end: float
    speaker: int


def _duration(exchange: Exchange) -> float:
    upload = exchange.body.get("file")
    return max(0.1, seconds_of(upload.data)) if isinstance(upload, Upload) else 1.0


def _texts(exchange: Exchange) -> list[str]:
    """The texts of the turn, each a segment; where it has none, made up."""
    if not exchange.choice.parts:
        return list(_MADE_UP)
    return [part for part in exchange.choice.of(str) if part]


def _text(exchange: Exchange) -> str:
    text = ""
    for part in _texts(exchange):
        text += part if not text or text[-1].isspace() or part[0].isspace() else f" {part}"
    return text


_SENTENCE: Final = re.compile(r"\S.*?(?:[.!?]+(?=\s|$)|$)", re.DOTALL)


def _segments(exchange: Exchange) -> list[_Segment]:
    """The pieces: those of the turn, or the sentences of its only text; each takes time by its length."""
    texts = _texts(exchange)
    said = list(enumerate(texts)) if len(texts) > 1 else [(0, one) for one in _SENTENCE.findall("".join(texts))]
    return [
        _Segment(text, start, end, number)
        for (number, text), (start, end) in zip(said, _times([text for _, text in said], exchange), strict=True)
    ]


def _times(texts: Sequence[str], exchange: Exchange) -> Iterator[tuple[float, float]]:
    duration, total, at = _duration(exchange), sum(map(len, texts)) or 1, 0
    for text in texts:
        start, at = at, at + len(text)
        yield round(duration * start / total, 2), round(duration * at / total, 2)


def _verbose_segment(number: int, segment: _Segment, temperature: float) -> dict[str, Any]:
    text = f" {segment.text.strip()}"
    return {
        "id": number,
        "seek": 0,
        "start": segment.start,
        "end": segment.end,
        "text": text,
        "tokens": [zlib.crc32(word.encode("utf-8", "surrogatepass")) % 50_257 for word in text.split()],
        "temperature": temperature,
        "avg_logprob": -0.25,
        "compression_ratio": 1.0,
        "no_speech_prob": 0.01,
    }


def _words(exchange: Exchange) -> list[dict[str, Any]]:
    words = _text(exchange).split()
    return [
        {"word": word.strip(".,;:!?\"'()"), "start": start, "end": end}
        for word, (start, end) in zip(words, _times(words, exchange), strict=True)
    ]


def _temperature(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        return 0.0


def _verbose(exchange: Exchange) -> dict[str, Any]:
    body = exchange.body
    asked = body.get("language")
    translated = _translates(exchange.request)
    wanted = _listed(body.get("timestamp_granularities")) or ["segment"]
    document: dict[str, Any] = {
        "task": "translate" if translated else "transcribe",
        "language": "english" if translated or not isinstance(asked, str) else _LANGUAGES.get(asked, asked),
        "duration": _duration(exchange),
        "text": _text(exchange),
    }
    if "segment" in wanted:
        warmth = _temperature(body.get("temperature"))
        segments = enumerate(_segments(exchange))
        document["segments"] = [_verbose_segment(number, one, warmth) for number, one in segments]
    if "word" in wanted:
        document["words"] = _words(exchange)
    return {**document, "usage": _by_duration(exchange)}


def _by_duration(exchange: Exchange) -> dict[str, Any]:
    return {"type": "duration", "seconds": math.ceil(_duration(exchange))}


def _usage(exchange: Exchange) -> dict[str, Any]:
    """By time for Whisper, by tokens for all others."""
    if exchange.model.startswith("whisper"):
        return _by_duration(exchange)
    usage = exchange.usage
    prompt = exchange.body.get("prompt")
    read = min(usage.input_tokens, tokens(prompt) if isinstance(prompt, str) else 0)
    return {
        "type": "tokens",
        "total_tokens": usage.total,
        "input_tokens": usage.input_tokens,
        "input_token_details": {"text_tokens": read, "audio_tokens": usage.input_tokens - read},
        "output_tokens": usage.output_tokens,
        **usage.details,
    }


def _counted(exchange: Exchange) -> Usage:
    prompt = exchange.body.get("prompt")
    heard = math.ceil(_duration(exchange) * _SECOND)
    return Usage(heard + (tokens(prompt) if isinstance(prompt, str) else 0), tokens(_text(exchange)))


def _logprobs(exchange: Exchange, texts: Iterable[str]) -> dict[str, Any]:
    """Of each piece, where they are asked for."""
    if "logprobs" not in _listed(exchange.body.get("include")):
        return {}
    return {"logprobs": [{"token": text, "logprob": -0.01, "bytes": list(text.encode())} for text in texts]}


def _languages(exchange: Exchange) -> dict[str, Any]:
    """What was heard, as GPT Transcribe says it."""
    if not exchange.model.startswith("gpt-transcribe"):
        return {}
    hints = [*_listed(exchange.body.get("languages")), *_listed(exchange.body.get("language")), "en"]
    return {"languages": [{"code": hints[0]}]}


def _streamed(exchange: Exchange) -> list[str]:
    """The pieces of the text, those of the turn where it says them."""
    choice = exchange.choice
    text = _text(exchange)
    whole = choice.chunks if choice.chunks is not None and "".join(choice.chunks) == text else None
    return Choice((text,), choice.finish_reason, chunk_size=choice.chunk_size, chunks=whole).pieces(0)


_SPEAKERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _diarized_segment(exchange: Exchange, number: int, segment: _Segment) -> dict[str, Any]:
    """Speakers take turns: two of them, or those that are known."""
    names = _listed(exchange.body.get("known_speaker_names")) or list(_SPEAKERS[:2])
    return {
        "type": "transcript.text.segment",
        "id": f"seg_{number}",
        "start": segment.start,
        "end": segment.end,
        "text": segment.text,
        "speaker": names[segment.speaker % len(names)],
    }


def _diarized(exchange: Exchange) -> dict[str, Any]:
    segments = enumerate(_segments(exchange))
    return {
        "task": "transcribe",
        "duration": _duration(exchange),
        "text": _text(exchange),
        "segments": [_diarized_segment(exchange, number, one) for number, one in segments],
        "usage": _usage(exchange),
    }


def _stamp(seconds: float, point: str) -> str:
    whole = round(seconds * 1000)
    minutes, rest = divmod(whole, 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 1000:02}{point}{rest % 1000:03}"


def _srt(exchange: Exchange) -> str:
    return "".join(
        f"{number}\n{_stamp(one.start, ',')} --> {_stamp(one.end, ',')}\n{one.text.strip()}\n\n"
        for number, one in enumerate(_segments(exchange), 1)
    )


def _vtt(exchange: Exchange) -> str:
    return "WEBVTT\n\n" + "".join(
        f"{_stamp(one.start, '.')} --> {_stamp(one.end, '.')}\n{one.text.strip()}\n\n" for one in _segments(exchange)
    )


_PLAIN: Final = "text/plain; charset=utf-8"


def _transcription_document(exchange: Exchange) -> dict[str, Any]:
    form = exchange.body.get("response_format") or "json"
    if form in ("text", "srt", "vtt"):
        text = {"srt": _srt, "vtt": _vtt}[form](exchange) if form != "text" else _text(exchange) + "\n"
        return Plain(text.encode("utf-8", "surrogatepass"), _PLAIN)
    if form == "verbose_json":
        document = _verbose(exchange)
        if _translates(exchange.request):
            del document["usage"]
    elif form == "diarized_json":
        document = _diarized(exchange)
    elif _translates(exchange.request):
        document = {"text": _text(exchange)}
    else:
        probabilities = _logprobs(exchange, _streamed(exchange))
        document = {
            "text": _text(exchange),
            **_languages(exchange),
            **probabilities,
            "usage": _usage(exchange),
        }
    return exchange.extend(document)


def _transcription_events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    content: list[WireEvent] = []
    pieces = _streamed(exchange)
    if exchange.body.get("response_format") == "diarized_json":
        for number, one in enumerate(_segments(exchange)):
            segment = _diarized_segment(exchange, number, one)
            cut = Choice((one.text,), exchange.choice.finish_reason, chunk_size=exchange.choice.chunk_size).pieces(0)
            content += [Delta(type="transcript.text.delta", delta=text, segment_id=segment["id"]) for text in cut]
            content.append(segment)
    else:
        content += [Delta(type="transcript.text.delta", delta=text, **_logprobs(exchange, (text,))) for text in pieces]
    done = {
        "type": "transcript.text.done",
        "text": _text(exchange),
        **_languages(exchange),
        **_logprobs(exchange, pieces),
        "usage": _usage(exchange),
    }
    return content, [exchange.extend(done)]


def _transcription_parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives this text again, in the same segments where it has several."""
    segments = [item["text"].strip() for item in document.get("segments") or () if item["text"].strip()]
    usage = document.get("usage") or {}
    read, made = usage.get("input_tokens"), usage.get("output_tokens")
    return Reply(
        *(segments if len(segments) > 1 else [document["text"]]),
        model=document.get("model"),
        usage=Usage(read, made) if isinstance(read, int) and isinstance(made, int) else None,
    )


OPENAI_TRANSCRIPTION: Final = replace(
    openai_chat.DIALECT,
    name="openai_transcription",
    label="OpenAI transcription",
    read=_transcription_read,
    check=_transcription_check,
    stream=_transcription_stream,
    document=_transcription_document,
    events=_transcription_events,
    parts=_transcription_parts,
    carries=frozenset({str}),
    choices=False,
    shaping=None,
    counted=_counted,
    sdk_types=(
        "openai.types.audio.transcription.Transcription",
        "openai.types.audio.transcription_verbose.TranscriptionVerbose",
        "openai.types.audio.transcription_diarized.TranscriptionDiarized",
        "openai.types.audio.translation.Translation",
        "openai.types.audio.translation_verbose.TranslationVerbose",
    ),
)
"""`POST /v1/audio/transcriptions` and `/v1/audio/translations`."""


# --- Groq ---------------------------------------------------------------------------------------


def _groq_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict) or (not isinstance(body.get("file"), Upload) and not body.get("url")):
        return refused("one of `file` or `url` must be provided")
    error = _check_file(body["file"]) if "file" in body else None
    if error is not None:
        return error
    if not body.get("model"):
        return refused("you must provide a model parameter")
    form = body.get("response_format")
    if form is not None and form not in _GROQ_TEXTS:
        return refused("response_format must be one of `[json, text, verbose_json]`", "response_format")
    return None


def groq_transcription(exchange: Exchange, document: dict[str, Any]) -> dict[str, Any]:
    """The document without usage, with the id of the request."""
    if isinstance(document, Plain):
        return document
    said = {name: value for name, value in document.items() if name != "usage"}
    if "language" in said:
        said["language"] = str(said["language"]).capitalize()
    return {**said, "x_groq": {"id": "req_" + exchange.ids.lower(26)}}


GROQ_TRANSCRIPTION: Final = replace(
    OPENAI_TRANSCRIPTION,
    name="groq_transcription",
    label="Groq transcription",
    check=_groq_check,
    stream=lambda request, body: False,
    sdk_types=("groq.types.audio.transcription.Transcription", "groq.types.audio.translation.Translation"),
)
"""The same of Groq, which takes a URL as well as a file and gives three formats."""


# --- Mistral ------------------------------------------------------------------------------------


def _mistral_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict) or not body.get("model"):
        return Error(422, "Field required")
    if not isinstance(body.get("file"), Upload) and not body.get("file_url") and not body.get("file_id"):
        return Error(422, "One of file, file_url or file_id is required")
    return None


def _mistral_usage(exchange: Exchange, heard: float | None) -> dict[str, Any]:
    """What is heard is in the total, but not in the tokens of the prompt, as recorded (2026-08)."""
    usage = exchange.usage
    audio = 0 if heard is None else math.ceil(heard * 125)
    return {
        "prompt_audio_seconds": None if heard is None else math.ceil(heard),
        "prompt_tokens": usage.input_tokens,
        "total_tokens": usage.total + (audio if usage.total_tokens is None else 0),
        "completion_tokens": usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": audio},
        "service_tier": "standard",
        **usage.details,
    }


def _mistral_segments(exchange: Exchange) -> list[dict[str, Any]]:
    """Only where times or speakers are asked for."""
    diarized = _says(exchange.body.get("diarize"))
    wanted = _listed(exchange.body.get("timestamp_granularities"))
    if not wanted and not diarized:
        return []
    if "word" in wanted:
        words = [(item["word"], item["start"], item["end"], 0) for item in _words(exchange)]
    else:
        words = [(one.text, one.start, one.end, one.speaker) for one in _segments(exchange)]
    return [
        {
            "text": text,
            "start": start,
            "end": end,
            "speaker_id": f"speaker_{speaker % 2 + 1}" if diarized else None,
            "score": None,
            "type": "transcription_segment",
        }
        for text, start, end, speaker in words
    ]


def _mistral_document(exchange: Exchange) -> dict[str, Any]:
    language = exchange.body.get("language")
    return exchange.extend(
        {
            "model": exchange.model,
            "text": _text(exchange),
            "language": language if isinstance(language, str) else None,
            "segments": _mistral_segments(exchange),
            "usage": _mistral_usage(exchange, _duration(exchange)),
            "finish_reason": None,
        }
    )


def _mistral_events(exchange: Exchange) -> tuple[list[WireEvent], list[WireEvent]]:
    document = _mistral_document(exchange)
    content: list[WireEvent] = []
    if document["language"] is not None:
        content.append({"audio_language": document["language"], "type": "transcription.language"})
    content += [Delta(text=text, type="transcription.text.delta") for text in _streamed(exchange)]
    for segment in document["segments"]:
        content.append({**segment, "type": "transcription.segment"})
    return content, [{**document, "type": "transcription.done"}]


MISTRAL_TRANSCRIPTION: Final = replace(
    OPENAI_TRANSCRIPTION,
    name="mistral_transcription",
    label="Mistral transcription",
    check=_mistral_check,
    stream=lambda request, body: isinstance(body, dict) and _says(body.get("stream")),
    document=_mistral_document,
    events=_mistral_events,
    counted=lambda exchange: Usage(3, tokens(_text(exchange))),
    sdk_types=(
        "mistralai.client.models.transcriptionresponse.TranscriptionResponse",
        "mistralai.models.transcriptionresponse.TranscriptionResponse",
    ),
)
"""`POST /v1/audio/transcriptions` of Mistral, as recorded (2026-08); its stream by the types of mistralai 3.7."""
