"""The same events in other bytes, as each SDK reads them: every option of `Framing`, alone and in pairs.

What an SDK is known to trip over (2026-11) is in `TRIPS`: it is heard there as the error that it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import fake_llm
from _capability import has
from _ids import shown
from _sdk_clients import HERE, TOOLS, Called, Client, skip_unless_able
from fake_llm import Framing, Raw, Reply, ToolCall

sys.path.append(str(Path(__file__).resolve().parents[1] / "stacks"))
from _pairwise import pairwise

TEXT = 'Zürich 🌞 is "sunny",\n\ttoday.'
CALLED = Called("get_weather", {"city": "Zürich, 🌞"})
TURN = Reply(TEXT, ToolCall(CALLED.name, CALLED.arguments))

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "CRLF": {"newline": "\r\n"},
    "CR": {"newline": "\r"},
    "LF": {"newline": "\n"},
    "blank": {"space": True},
    "no blank": {"space": False},
    "ids": {"ids": True},
    "comment": {"comment": "keep-alive"},
    "comment frame": {"between": ": keep-alive"},
    "event only": {"between": "event: ping"},
    "empty data": {"between": "data:"},
    "retry": {"between": "retry: 500"},
    "several lines": {"multiline": True},
    "blank lines": {"blank_lines": 3},
    "byte by byte": {"split": 1},
    "character by character": {"split": "characters"},
    "line by line": {"split": "lines"},
    "at places": {"split": [1, 2, 30, 31, 170]},
    "at once": {"split": 10**6},
    "gzip": {"gzip": True},
    "deflate": {"deflate": True},
    "BOM": {"bom": True},
    "ASCII": {"ascii": True},
    "padding": {"padding": True},
}

NO_EVENT = dict.fromkeys(("event only", "empty data", "retry"), "JSONDecodeError")
GENAI_LINES = ("no blank", "ids", "comment", "comment frame", "event only", "empty data", "retry", "BOM")
MISTRAL = "ResponseValidationError" if has("mistralai>=3") else "ValidationError"
MISTRAL_FRAMES = dict.fromkeys(("empty data",) if has("mistralai>=3") else NO_EVENT, MISTRAL)
TRIPS: tuple[tuple[str, str, Mapping[str, str]], ...] = (
    # takes any blank line after a field for an event with data
    (r"(openai|groq)\.", "stream", NO_EVENT),
    # wants `data: ` at the start of each frame, and each end of a line but CRLF and LF from aiohttp's lines
    (r"genai-", "stream", dict.fromkeys(GENAI_LINES, "UnknownApiResponseError")),
    (r"genai-async/", "stream", {"CR": "UnknownApiResponseError"}),
    (r"genai-", "whole", {"BOM": "JSONDecodeError"}),
    # botocore takes a body that is no JSON for an empty one
    (r"boto3/", "whole", {"BOM": "AssertionError"}),
    (r"mistralai-", "whole", {"BOM": "ResponseValidationError"}),
    (r"mistralai-", "stream", MISTRAL_FRAMES),
    # each line is JSON, the empty one too
    (r"ollama\.", "stream", {"blank lines": "JSONDecodeError", "BOM": "JSONDecodeError"}),
    # of lines of JSON it drops what it can't read, without a word: here the first
    (r"cohere\.(Async)?Client$", "stream", {"BOM": "AssertionError"}),
)
"""Clients, a way to ask, and of each option that the SDK doesn't bear what comes of it."""

SDKS = [client for client in HERE if client.thorough and not re.match(r"(httpx2?|requests|aiohttp)-", client.name)]
READERS = [client for client in SDKS if not re.search(r"groq|-beta|vertex", client.name)]
"""One of each way to read a stream."""

OF_A_BODY = ("byte by byte", "character by character", "line by line", "at places", "at once", "gzip", "deflate")
OF_A_BODY += ("BOM", "ASCII")


def ways(clients: list[Client]) -> Any:
    """Each client, streamed and whole."""
    pairs = [(client, mode) for client in clients for mode in ("stream", "whole")]
    return pytest.mark.parametrize(("client", "mode"), pairs, ids=[f"{client}-{mode}" for client, mode in pairs])


def trips(client: Client, mode: str) -> dict[str, str]:
    known: dict[str, str] = {}
    for name, way, options in TRIPS:
        if way == mode and re.match(name, client.name):
            known |= options
    return known


def outcome(client: Client, mode: str, framing: Framing) -> str:
    async def heard() -> Any:
        with fake_llm.intercept([TURN.replace(framing=framing)]):
            return await client.ask("Weather?", tools=TOOLS, mode=mode)

    try:
        answer = client.run(heard())
    except Exception as error:
        return type(error).__name__
    return "as said" if answer.text == TEXT and answer.tool_calls == (CALLED,) else "something else"


SPLITS = ("characters split between reads",)


def every_option(client: Client, mode: str) -> None:
    skip_unless_able(client, mode, SPLITS)
    names = OPTIONS if mode == "stream" else OF_A_BODY
    heard = {name: outcome(client, mode, Framing(**OPTIONS[name])) for name in names}

    assert heard == dict.fromkeys(names, "as said") | trips(client, mode)


@ways([client for client in READERS if not client.is_async])
def test_every_option(client: Client, mode: str) -> None:
    every_option(client, mode)


@pytest.mark.slow
@ways([client for client in SDKS if client.is_async or client not in READERS])
def test_every_option_of_the_others(client: Client, mode: str) -> None:
    every_option(client, mode)


FACTORS = {
    "lines": ("LF", "CRLF", "CR"),
    "blank": ("blank", "no blank"),
    "named": ("", "ids"),
    "frame": ("", "comment", "event only"),
    "data": ("", "several lines"),
    "after": ("", "blank lines"),
    "read": ("", "byte by byte", "line by line", "at places"),
    "coding": ("", "gzip", "deflate"),
    "begin": ("", "BOM"),
    "letters": ("", "ASCII"),
    "length": ("", "padding"),
}


def together(client: Client, mode: str) -> Iterator[Framing]:
    """Rows with every pair of two options, but those that the SDK trips over."""
    known = trips(client, mode)
    for row in ROWS:
        names = [name for name in row.values() if name and name not in known]
        if NO_EVENT.items() <= known.items() and "ids" in names:  # the id is kept, so every blank line is an event
            names = [name for name in names if name not in ("blank lines", "comment", "comment frame")]
        options: dict[str, Any] = {}
        for name in names:
            options |= OPTIONS[name]
        yield Framing(**options)


ROWS = pairwise({name: values for name, values in FACTORS.items() if len(values) > 1})


def options_together(client: Client, mode: str) -> None:
    skip_unless_able(client, mode, SPLITS)
    rows = list(together(client, mode))

    assert {framing: outcome(client, mode, framing) for framing in rows} == dict.fromkeys(rows, "as said")


@ways([client for client in READERS if client.is_async])
def test_options_together(client: Client, mode: str) -> None:
    options_together(client, mode)


@pytest.mark.slow
@ways([client for client in SDKS if not client.is_async])
def test_options_together_of_the_others(client: Client, mode: str) -> None:
    options_together(client, mode)


# --- another kind of body than the one that was asked for ---------------------------------------

KINDS: Mapping[str, Any] = {
    "HTML": Raw("<html><body>Bad gateway</body></html>"),
    "JSON": Raw({"id": "x", "choices": []}),
    "events": Raw('data: {"id": "x", "choices": []}\n\n'),
    "an error": Raw({"error": {"message": "boom", "type": "server_error", "code": "x"}}),
    "nothing": Raw(b""),
    "another type": Reply("hi", headers={"content-type": "text/plain"}),
}
EMPTY = "an empty answer"
INVALID = "APIResponseValidationError"
COMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "openai.OpenAI/openai_chat": {
        "whole": (INVALID, INVALID, INVALID, INVALID, INVALID, "hi"),
        "stream": (EMPTY, EMPTY, INVALID, EMPTY, EMPTY, "hi"),
    },
    "anthropic.Anthropic/anthropic_messages": {
        "whole": (INVALID, INVALID, INVALID, INVALID, INVALID, "hi"),
        "stream": (EMPTY, EMPTY, EMPTY, EMPTY, EMPTY, "hi"),
    },
    "genai-sync/gemini": {
        "whole": ("JSONDecodeError", EMPTY, "JSONDecodeError", EMPTY, EMPTY, "hi"),
        "stream": ("UnknownApiResponseError", EMPTY, EMPTY, "TypeError", EMPTY, "hi"),
    },
    "boto3/bedrock_converse": {
        "whole": (*["AssertionError"] * 5, "hi"),
        "stream": (*["ChecksumMismatch"] * 4, EMPTY, "hi"),
    },
    "mistralai-sync": {
        "whole": (
            *("SDKError", "ResponseValidationError", "SDKError"),
            *("ResponseValidationError", "SDKError", "SDKError"),
        ),
        "stream": ("SDKError", "SDKError", MISTRAL, "SDKError", "ResponseNotRead", "SDKError"),
    },
    "ollama.Client/ollama_chat": {
        "whole": (
            *("JSONDecodeError", "ValidationError", "JSONDecodeError"),
            *("ValidationError", "JSONDecodeError", "hi"),
        ),
        "stream": ("JSONDecodeError", "ValidationError", "JSONDecodeError", "TypeError", EMPTY, "hi"),
    },
    "cohere.ClientV2": {
        "whole": ("ApiError", "ValidationError", "ApiError", "ValidationError", "ApiError", "hi"),
        "stream": ("SSEError", "SSEError", EMPTY, "SSEError", "SSEError", "SSEError"),
    },
}
"""By client and way to ask what comes of each of `KINDS` (2026-11): silence, where nobody looks at the type."""


@pytest.mark.parametrize("mode", ["whole", "stream"])
@pytest.mark.parametrize("client", [client for client in SDKS if client.name in COMES], ids=shown)
def test_a_body_of_another_kind(client: Client, mode: str) -> None:
    skip_unless_able(client, mode)

    async def heard(turn: Any) -> Any:
        with fake_llm.intercept(default=turn):
            return await client.ask("Hi", mode=mode)

    came = []
    for turn in KINDS.values():
        try:
            came.append(client.run(heard(turn)).text or EMPTY)
        except Exception as error:
            came.append(type(error).__name__)

    assert dict(zip(KINDS, came, strict=True)) == dict(zip(KINDS, COMES[client.name][mode], strict=True))
