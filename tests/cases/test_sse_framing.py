"""Server-sent events as gateways write them: blocks without data, other line ends, odd letters, cut and doubled payloads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from fake_llm import FakeLLM, Framing, Garbage, Reply

HELLO: Any = [{"role": "user", "content": "Hello"}]
CLAUDE: Any = {"model": "claude-sonnet-5", "max_tokens": 50, "messages": HELLO}


def sent(fake: FakeLLM) -> bytes:
    """The body of the one answer."""
    (call,) = fake.calls
    assert call.response is not None
    return call.response.body or b""


# --- the texts that SDKs read from a stream -----------------------------------------------------


def by_openai(heard: list[str], module: str = "openai") -> None:
    client = load(module).OpenAI(api_key="k") if module == "openai" else load(module).Groq(api_key="k")
    for chunk in client.chat.completions.create(model="m", messages=HELLO, stream=True):
        heard.extend(choice.delta.content or "" for choice in chunk.choices)


def by_groq(heard: list[str]) -> None:
    by_openai(heard, "groq")


def by_responses(heard: list[str]) -> None:
    for event in load("openai").OpenAI(api_key="k").responses.create(model="gpt-5", input="Hello", stream=True):
        heard.append(event.delta if event.type == "response.output_text.delta" else "")


def by_anthropic(heard: list[str]) -> None:
    with load("anthropic").Anthropic(api_key="k").messages.stream(**CLAUDE) as stream:
        heard.extend(stream.text_stream)


def by_genai(heard: list[str]) -> None:
    client = load("google-genai>=1", "google.genai").Client(api_key="k")
    answers = client.models.generate_content_stream(model="gemini-3-pro", contents="Hello")
    heard.extend(answer.text or "" for answer in answers)


def by_mistral(heard: list[str]) -> None:
    with load("mistralai>=2", "mistralai.client").Mistral(api_key="k") as client:
        for event in client.chat.stream(model="mistral-small", messages=HELLO):
            heard.append(event.data.choices[0].delta.content or "")


SDKS: dict[str, tuple[Callable[[list[str]], None], str]] = {
    "openai": (by_openai, "openai"),
    "groq": (by_groq, "groq"),
    "responses": (by_responses, "openai"),
    "anthropic": (by_anthropic, "anthropic"),
    "gemini": (by_genai, "google-genai>=1"),
    "mistral": (by_mistral, "mistralai>=2"),
    "gemini, current": (by_genai, "google-genai>=3"),
    "anthropic, current": (by_anthropic, "anthropic>=2"),
}
OF_ALL_TIMES = ("openai", "groq", "responses", "anthropic", "gemini", "mistral")


def sdks(*names: str) -> pytest.MarkDecorator:
    rows = [pytest.param(SDKS[name][0], id=name, marks=needs(SDKS[name][1])) for name in names or OF_ALL_TIMES]
    return pytest.mark.parametrize("read", rows)


# --- B01: blocks without data -------------------------------------------------------------------

NOISE = {"retry": "retry: 3000\n\n", "empty data": "data:\n\n", "ping": "event: ping\n\n"}
noises = pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)


@sdks("openai", "groq")
@noises
def test_B01_a_block_without_data_ends_the_stream(read: Callable[[list[str]], None], noise: str) -> None:
    heard: list[str] = []
    turn = Reply("Hi", edit=lambda events: [events[0], noise, *events[1:]])
    with fake_llm.intercept([turn]) as fake, pytest.raises(json.JSONDecodeError, match=r"line 1 column 1"):
        read(heard)
    assert heard == [""]
    assert b"}\n\n" + noise.encode() + b"data: {" in sent(fake)


@sdks("anthropic")
@noises
def test_B01_a_block_without_data_is_passed_over(read: Callable[[list[str]], None], noise: str) -> None:
    heard: list[str] = []
    with fake_llm.intercept([Reply("Hi", edit=lambda events: [events[0], noise, *events[1:]])]) as fake:
        read(heard)
    assert heard == ["Hi"]
    assert b"}\n\n" + noise.encode() + b"event: " in sent(fake)


# --- B03: Gemini without the blank, with comments -----------------------------------------------


@needs("google-genai>=1")
@pytest.mark.parametrize("framing", [Framing(space=False), Framing(comment="keep-alive")], ids=["no blank", "comment"])
def test_B03_gemini_knows_neither_a_missing_blank_nor_comments(framing: Framing) -> None:
    errors = load("google-genai>=1", "google.genai.errors")
    with fake_llm.intercept([Reply("a b", framing=framing)]) as fake, pytest.raises(errors.UnknownApiResponseError):
        by_genai([])
    assert sent(fake).startswith(b"data:{" if framing.space is False else b"data: {")
    assert (b"\r\n\r\n: keep-alive\r\n\r\ndata: {" in sent(fake)) is (framing.comment is not None)


@needs("google-genai>=1")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_B03_gemini_knows_both_line_ends(newline: str) -> None:
    heard: list[str] = []
    with fake_llm.intercept([Reply("a b", framing=Framing(newline=newline))]) as fake:
        by_genai(heard)
    assert "".join(heard) == "a b"
    assert sent(fake).endswith(f"}}{newline}{newline}".encode())


# --- B04: the same text in every framing and every split ----------------------------------------

FRAMINGS = {
    "crlf": Framing(newline="\r\n"),
    "crlf, cut everywhere": Framing(newline="\r\n", split=1),
    "cut everywhere": Framing(split=1),
    "cut in two": Framing(split=64),
    "more blank lines": Framing(blank_lines=3),
}


@sdks()
@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
def test_B04_the_same_text_in_every_framing(read: Callable[[list[str]], None], framing: Framing) -> None:
    heard: list[str] = []
    with fake_llm.intercept([Reply("Grüße aus Zürich", framing=framing)]):
        read(heard)
    assert "".join(heard) == "Grüße aus Zürich"


@sdks("openai", "responses")
@pytest.mark.parametrize(
    "framing", [Framing(newline="\r"), Framing(comment="OPENROUTER PROCESSING", split=1)], ids=["cr", "comments"]
)
def test_B04_comments_cut_byte_by_byte_and_bare_cr(read: Callable[[list[str]], None], framing: Framing) -> None:
    heard: list[str] = []
    with fake_llm.intercept([Reply("Grüße aus Zürich", framing=framing)]):
        read(heard)
    assert "".join(heard) == "Grüße aus Zürich"


@sdks("openai", "groq")
def test_B04_a_payload_over_several_data_lines(read: Callable[[list[str]], None]) -> None:
    def over_lines(events: list[Any]) -> list[Any]:
        return [
            f"data: {json.dumps(event, indent=1)}\n\n".replace("\n ", "\ndata:  ").replace("\n}", "\ndata: }")
            for event in events
        ]

    heard: list[str] = []
    with fake_llm.intercept([Reply("Hello there", edit=over_lines)]) as fake:
        read(heard)
    assert "".join(heard) == "Hello there"
    assert sent(fake).startswith(b'data: {\ndata:  "id": ')


# --- B06: separators of lines in a text ---------------------------------------------------------


@sdks("openai", "groq", "responses", "anthropic", "gemini, current", "mistral")
@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085"], ids=ascii)
def test_B06_a_separator_in_the_text_cuts_nothing(read: Callable[[list[str]], None], character: str) -> None:
    heard: list[str] = []
    with fake_llm.intercept([f"a{character}b"]) as fake:
        read(heard)
    assert "".join(heard) == f"a{character}b"
    assert character.encode() in sent(fake)  # as it is, not escaped


# --- B08: an event stream without a charset, read by requests -----------------------------------


def lines(**headers: str) -> list[str]:
    requests = load("requests")
    asked = {"model": "m", "messages": HELLO, "stream": True}
    with requests.post(
        "https://api.openai.com/v1/chat/completions", json=asked, stream=True, headers=headers
    ) as response:
        return [line for line in response.iter_lines(decode_unicode=True) if line.startswith("data: {")]


@needs("requests")
def test_B08_the_vendors_own_content_type_names_the_charset() -> None:
    with fake_llm.intercept(["✅"]) as fake:
        deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in lines()]
    assert [delta.get("content") for delta in deltas] == ["", "✅", None]
    assert fake.calls[0].response.headers["content-type"] == "text/event-stream; charset=utf-8"


@needs("requests")
def test_B08_without_a_charset_requests_reads_latin_1_and_cuts_the_line() -> None:
    with fake_llm.intercept([Reply("✅", headers={"content-type": "text/event-stream"})]) as fake:
        found = lines()
    with pytest.raises(json.JSONDecodeError):
        [json.loads(line[6:]) for line in found]
    assert found[1].endswith('"content":"â\x9c')  # the third byte is a line end in Latin-1
    assert fake.calls[0].response.headers["content-type"] == "text/event-stream"
    assert '"content":"✅"'.encode() in sent(fake)


# --- B09: two objects in one payload ------------------------------------------------------------

BOOM = b'data: {"type":"error","message":"boom"}\n\n'


@sdks("openai", "responses", "anthropic, current")
def test_B09_an_error_in_an_unfinished_event_is_a_json_error(read: Callable[[list[str]], None]) -> None:
    unfinished = b'event: x\ndata: {"type":"response.output_text.delta","del\n' + BOOM
    heard: list[str] = []
    with fake_llm.intercept([Reply("Hi", then=Garbage(unfinished))]) as fake, pytest.raises(json.JSONDecodeError):
        read(heard)
    assert "".join(heard) == "Hi"  # what came before is kept
    assert len(fake.calls) == 1
    assert sent(fake).endswith(unfinished)
