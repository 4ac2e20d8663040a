"""The same events in other bytes: every option of `Framing` on server-sent events, JSON arrays and whole bodies."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import re
import zlib
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fake_llm
from _capability import needs
from _ids import shown
from _wire import ANTHROPIC, CHAT, GEMINI, RESPONSES, VENDORS, WAYS, Vendor, events, said
from fake_llm import Event, Framing, Raw, Reply, Thinking, ToolCall

vendors = pytest.mark.parametrize("vendor", VENDORS, ids=str)
ways = pytest.mark.parametrize(
    ("vendor", "stream"), WAYS, ids=[f"{vendor}-{'stream' if s else 'whole'}" for vendor, s in WAYS]
)
TOOLS = {"f": {"type": "object"}}
TURN = Reply(Thinking("Přemýšlím"), "Žluťoučký kůň 🐎\n\nend", ToolCall("f", {"city": "Zürich"}))
ARRAY = GEMINI.url + ":streamGenerateContent"


def bodies(vendor: Vendor, framing: Framing, turn: Reply = TURN) -> tuple[httpx.Response, httpx.Response]:
    """The stream in this framing, and as the vendor sends it; both as the same occurrence of the same request."""
    found = []
    for each in (framing, None):
        with fake_llm.intercept([turn.replace(framing=each)]):
            found.append(vendor.post(stream=True, tools=TOOLS))
    return found[0], found[1]


def same(vendor: Vendor, bent: httpx.Response, plain: httpx.Response) -> None:
    assert events(bent.content) == events(plain.content)
    assert said(vendor, bent).parts == said(vendor, plain).parts
    assert bent.headers["content-type"] == plain.headers["content-type"]


def test_the_parser_of_these_tests_reads_what_the_standard_says() -> None:
    assert events(b"\xef\xbb\xbf: x\r\ndata:a\r\ndata:  b\r\n\r\nevent: n\rdata: c\r\r") == [
        (None, "a\n b"),
        ("n", "c"),
    ]


@vendors
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newline(vendor: Vendor, newline: str) -> None:
    bent, plain = bodies(vendor, Framing(newline=newline))
    same(vendor, bent, plain)
    assert set(re.findall(rb"\r\n|\r|\n", bent.content)) == {newline.encode()}


@vendors
def test_what_the_vendor_does(vendor: Vendor) -> None:
    _, plain = bodies(vendor, Framing())
    assert set(re.findall(rb"\r\n|\r|\n", plain.content)) == {b"\r\n" if vendor is GEMINI else b"\n"}
    assert all(re.match(rb"(data|event): \S", line) for line in plain.content.splitlines() if line)
    assert b"\nid:" not in plain.content
    assert b"\n:" not in plain.content


@vendors
@pytest.mark.parametrize("space", [True, False])
def test_space(vendor: Vendor, space: bool) -> None:
    bent, plain = bodies(vendor, Framing(space=space))
    same(vendor, bent, plain)
    lines = [line for line in bent.content.splitlines() if line.startswith((b"data:", b"event:"))]
    assert all((line.partition(b":")[2][:1] == b" ") is space for line in lines)


@vendors
def test_ids(vendor: Vendor) -> None:
    bent, plain = bodies(vendor, Framing(ids=True))
    same(vendor, bent, plain)
    count = len([data for _, data in events(plain.content) if data != "[DONE]"])
    assert re.findall(rb"(?m)^id: (\d+)", bent.content) == [b"%d" % index for index in range(count)]


@vendors
def test_comment(vendor: Vendor) -> None:
    bent, plain = bodies(vendor, Framing(comment="keep-alive"))
    same(vendor, bent, plain)
    count = len([data for _, data in events(plain.content) if data != "[DONE]"])
    assert len(re.findall(rb"(?m)^: keep-alive\r?$", bent.content)) == count - 1


@vendors
@pytest.mark.parametrize("blank_lines", [1, 2, 5])
def test_blank_lines(vendor: Vendor, blank_lines: int) -> None:
    bent, plain = bodies(vendor, Framing(blank_lines=blank_lines))
    same(vendor, bent, plain)
    newline = "\r\n" if vendor is GEMINI else "\n"
    blocks = bent.content.decode().split("}" + newline * (1 + blank_lines))
    assert len(blocks) == len([data for _, data in events(plain.content) if data != "[DONE]"]) + 1


@ways
@pytest.mark.parametrize("split", [1, 7, 1000])
def test_split(vendor: Vendor, stream: bool, split: int) -> None:
    reads: list[list[bytes]] = []
    for framing in (Framing(split=split), None):
        with (
            fake_llm.intercept([TURN.replace(framing=framing)]),
            httpx.stream("POST", vendor.place(stream), json=vendor.body(stream=stream, tools=TOOLS)) as response,
        ):
            reads.append(list(response.iter_raw()))
    bent, plain = reads
    assert b"".join(bent) == b"".join(plain)
    assert {len(read) for read in bent[:-1]} <= {split}
    assert 0 < len(bent[-1]) <= split


@ways
def test_gzip(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([TURN.replace(framing=Framing(gzip=True)), TURN]) as fake:
        bent = vendor.post("same", stream=stream, tools=TOOLS)
        plain = vendor.post("same", stream=stream, tools=TOOLS)
    assert bent.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert said(vendor, bent).parts == said(vendor, plain).parts
    assert fake.calls[0].response is not None
    assert gzip.decompress(fake.calls[0].response.body) == bent.content


@vendors
def test_gzip_reaches_the_client_event_by_event(vendor: Vendor) -> None:
    with (
        fake_llm.intercept([Reply("one two three", framing=Framing(gzip=True))]),
        httpx.stream("POST", vendor.place(True), json=vendor.body(stream=True)) as response,
    ):
        reads = [read for read in response.iter_bytes() if read]
    assert len(reads) == len(events(b"".join(reads)))


@ways
def test_bom(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([TURN.replace(framing=Framing(bom=True)), TURN]):
        bent = vendor.post("same", stream=stream, tools=TOOLS)
        plain = vendor.post("same", stream=stream, tools=TOOLS)
    assert bent.content.startswith(b"\xef\xbb\xbf")
    assert bent.content.count(b"\xef\xbb\xbf") == 1
    assert said(vendor, bent).parts == said(vendor, plain).parts


@ways
def test_ascii(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([TURN.replace(framing=Framing(ascii=True)), TURN]):
        bent = vendor.post("same", stream=stream, tools=TOOLS)
        plain = vendor.post("same", stream=stream, tools=TOOLS)
    assert bent.content.isascii()
    assert not plain.content.isascii()
    assert said(vendor, bent).parts == said(vendor, plain).parts
    assert said(vendor, bent).text == "Žluťoučký kůň 🐎\n\nend"


@vendors
def test_padding(vendor: Vendor) -> None:
    bent, plain = bodies(vendor, Framing(padding=True))
    assert said(vendor, bent).parts == said(vendor, plain).parts
    assert (b"obfuscation" in bent.content) is (vendor in (CHAT, RESPONSES))
    assert b"obfuscation" not in plain.content
    if vendor is ANTHROPIC:
        assert re.search(rb" +\}\n\n", bent.content)
        assert not re.search(rb" +\}\n\n", plain.content)


@vendors
def test_framing_of_raw_events(vendor: Vendor) -> None:
    items = [{"type": "a", "é": 1}, {"type": "b"}]
    with fake_llm.intercept(
        [Raw(items, framing=Framing(newline="\r\n", space=False, ids=True, ascii=True, split=3, gzip=True))]
    ):
        response = vendor.post(stream=True)
    assert response.content.isascii()
    assert [json.loads(data) for _, data in events(response.content) if data != "[DONE]"] == items


@pytest.mark.parametrize(
    "framing",
    [
        None,
        Framing(),
        Framing(split=1),
        Framing(gzip=True),
        Framing(bom=True),
        Framing(ascii=True),
        Framing(ids=True, comment="x", newline="\r"),
    ],
    ids=shown,
)
def test_a_json_array(framing: Framing | None) -> None:
    with fake_llm.intercept([TURN.replace(framing=framing)]):
        response = httpx.post(ARRAY, json=GEMINI.body(tools=TOOLS))
    documents = json.loads(response.content.decode("utf-8-sig"))
    assert isinstance(documents, list)
    assert len(documents) > 2
    found = said(GEMINI, response)
    assert found.text == "Žluťoučký kůň 🐎\n\nend"
    assert found.calls == [("f", {"city": "Zürich"})]
    assert response.headers["content-type"].startswith("application/json")
    assert response.content.isascii() is bool(framing and framing.ascii)


@pytest.mark.parametrize("turn", [Raw([]), Reply("x", edit=lambda items: [])], ids=["raw", "edit"])
def test_a_json_array_of_nothing(turn: Any) -> None:
    with fake_llm.intercept([turn]):
        assert httpx.post(ARRAY, json=GEMINI.body()).json() == []


def test_a_json_array_comes_item_by_item() -> None:
    with fake_llm.intercept(["one two three"]), httpx.stream("POST", ARRAY, json=GEMINI.body()) as response:
        reads = list(response.iter_raw())
    assert len(reads) == len(json.loads(b"".join(reads))) + 1
    assert reads[0].startswith(b"[{")


@ways
@pytest.mark.parametrize("turn", [fake_llm.Error(429), Raw(b"x")], ids=shown)
def test_framing_of_the_block_leaves_what_is_no_reply_readable(vendor: Vendor, stream: bool, turn: Any) -> None:
    with fake_llm.intercept([turn], framing=Framing(split=2, gzip=True)):
        response = vendor.post(stream=stream)
    assert response.content == b"x" if isinstance(turn, Raw) else response.json()


@ways
@pytest.mark.parametrize(
    ("offered", "coding"),
    [
        ("gzip, deflate, br", "gzip"),
        ("*", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
        ("identity", None),
        ("", None),
        ("gzip;q=0, *", None),
        ("deflate", None),
        ("x-gzip", None),
    ],
)
def test_a_body_is_compressed_for_a_client_that_offers_it(
    vendor: Vendor, stream: bool, offered: str, coding: str | None
) -> None:
    with fake_llm.intercept([TURN.replace(framing=Framing(gzip=True)), TURN]):
        bent, plain = (
            httpx.post(
                vendor.place(stream),
                json=vendor.body("same", stream=stream, tools=TOOLS),
                headers={"accept-encoding": offered},
            )
            for _ in range(2)
        )
    assert bent.headers.get("content-encoding") == coding
    assert said(vendor, bent).parts == said(vendor, plain).parts


@ways
def test_deflate(vendor: Vendor, stream: bool) -> None:
    with fake_llm.intercept([TURN.replace(framing=Framing(deflate=True, split=5)), TURN]) as fake:
        bent = vendor.post("same", stream=stream, tools=TOOLS)
        plain = vendor.post("same", stream=stream, tools=TOOLS)
    assert bent.headers["content-encoding"] == "deflate"
    assert said(vendor, bent).parts == said(vendor, plain).parts
    assert fake.calls[0].response is not None
    assert zlib.decompress(fake.calls[0].response.body) == bent.content


@pytest.mark.parametrize("kind", ["error", "service", "sdk object"])
@pytest.mark.parametrize(
    "framing", [Framing(gzip=True, split=7), Framing(deflate=True), Framing(ascii=True, bom=True)], ids=shown
)
def test_framing_of_the_block_is_that_of_every_answer(kind: str, framing: Framing) -> None:
    with fake_llm.intercept(default=fake_llm.Error(400, "Žluťoučký kůň"), framing=framing) as fake:
        if kind == "service":
            url = "https://api.openai.com/v1/embeddings"
            response = httpx.post(url, json={"model": "text-embedding-3-small", "input": "Žluťoučký"})
            assert response.json()["data"][0]["embedding"]
        elif kind == "error":
            response = CHAT.post(stream=False)
            assert response.json()["error"]["message"] == "Žluťoučký kůň"
        else:
            chat = pytest.importorskip("openai.types.chat")
            with fake_llm.intercept(["Žluťoučký kůň"]):
                answer = chat.ChatCompletion.model_validate(CHAT.post().json())
            fake.push(answer)
            response = CHAT.post(stream=False)
            assert said(CHAT, response).text == "Žluťoučký kůň"
    coding = "gzip" if framing.gzip else "deflate" if framing.deflate else None
    assert response.headers.get("content-encoding") == coding
    assert response.content.isascii() is False if coding and kind != "service" else True
    assert response.content.startswith(b"\xef\xbb\xbf") is bool(framing.bom)


def reads(vendor: Vendor, framing: Framing, *, stream: bool = True, turn: Reply = TURN) -> list[bytes]:
    with (
        fake_llm.intercept([turn.replace(framing=framing)]),
        httpx.stream("POST", vendor.place(stream), json=vendor.body(stream=stream, tools=TOOLS)) as response,
    ):
        return list(response.iter_raw())


@ways
def test_split_at_characters(vendor: Vendor, stream: bool) -> None:
    found = reads(vendor, Framing(split="characters"), stream=stream)
    assert {len(read.decode()) for read in found} == {1}
    assert any(len(read) == 4 for read in found)


@vendors
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_split_at_lines(vendor: Vendor, newline: str) -> None:
    found = reads(vendor, Framing(split="lines", newline=newline))
    assert all(read.endswith(newline.encode()) for read in found)
    assert all(read.count(newline.encode()) == 1 for read in found)


@ways
def test_split_at_places(vendor: Vendor, stream: bool) -> None:
    found = reads(vendor, Framing(split=[40, 3, 4, 10**6]), stream=stream)
    assert [len(read) for read in found[:-1]] == [3, 1, 36]
    assert b"".join(found) == b"".join(reads(vendor, Framing(), stream=stream))


@pytest.mark.parametrize("how", ["characters", "lines"])
def test_what_is_no_text_is_not_split_as_one(how: Any) -> None:
    compressed = reads(CHAT, Framing(split=how, gzip=True))
    assert len(compressed) == len(reads(CHAT, Framing(gzip=True)))
    assert [inner(payload) for _, payload in frames(invoked(Framing(split=how)).content)]


@pytest.mark.parametrize("split", [3, "characters", "lines", [5, 100, 300]], ids=shown)
def test_split_between_pauses(split: Any) -> None:
    turn = Reply("one ü three", interval=0.001)
    found = reads(CHAT, Framing(split=split), turn=turn)
    assert b"".join(found) == b"".join(reads(CHAT, Framing(), turn=turn))
    if isinstance(split, list):
        edges = set(itertools.accumulate(map(len, found)))
        assert set(split) <= edges
        assert edges > set(split), "a pause cuts too"


@vendors
@pytest.mark.parametrize(
    "lines", ["event: ping", "data:", "retry: 500", ": hi", 'event: x\nid: 7\ndata: {"a": 1}', "data"]
)
def test_between(vendor: Vendor, lines: str) -> None:
    bent, plain = bodies(vendor, Framing(between=lines, newline="\n"))
    count = len([data for _, data in events(plain.content) if data != "[DONE]"])
    assert bent.content.count(b"\n\n" + lines.encode() + b"\n\n") == count - 1
    kept = bent.content.replace(b"\n\n" + lines.encode() + b"\n\n", b"\n\n")
    assert events(kept) == events(plain.content)


@vendors
def test_multiline(vendor: Vendor) -> None:
    bent, plain = bodies(vendor, Framing(multiline=True))
    assert said(vendor, bent).parts == said(vendor, plain).parts
    found = [(name, data) for name, data in events(bent.content) if data != "[DONE]"]
    assert all("\n" in data for _, data in found)
    unfolded = [(name, data.replace("\n", "")) for name, data in found]
    assert unfolded == [(name, data) for name, data in events(plain.content) if data != "[DONE]"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_a_json_array(newline: str) -> None:
    found = []
    for framing in (Framing(newline=newline, blank_lines=2), None):
        with fake_llm.intercept([TURN.replace(framing=framing)]):
            found.append(httpx.post(ARRAY, json=GEMINI.body(tools=TOOLS)))
    bent, plain = found
    assert bent.json() == plain.json()
    assert set(re.findall(rb"\r\n|\r|\n", bent.content)) == {newline.encode()}
    assert newline.encode() * 3 in bent.content


OLLAMA = "http://localhost:11434/api/chat"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_json_lines(newline: str) -> None:
    body = {"model": "llama3", "messages": [{"role": "user", "content": "Hi"}]}
    framing = Framing(
        newline=newline, blank_lines=2, ids=True, comment="x", between="data:", space=False, multiline=True
    )
    with fake_llm.intercept([Reply("Zürich \u2028 x", framing=framing)]):
        content = httpx.post(OLLAMA, json=body).content
    assert content.endswith(b"}" + newline.encode() * 3)
    lines = [json.loads(line) for line in content.decode().split(newline) if line]
    assert "".join(line["message"]["content"] for line in lines) == "Zürich \u2028 x"
    assert lines[-1]["done"] is True


@pytest.mark.parametrize(
    "framing",
    [
        Framing(newline="\r\n", space=False, ids=True, comment="x", between="data:", multiline=True, blank_lines=3),
        Framing(bom=True),
    ],
    ids=shown,
)
def test_what_frames_have_no_place_for_does_nothing_there(framing: Framing) -> None:
    assert invoked(framing).content == invoked().content


def test_framing_must_be_what_it_can_be() -> None:
    for options in (
        {"split": "words"},
        {"split": []},
        {"split": [3, 0]},
        {"split": b"x"},
        {"between": ""},
        {"between": "data: 1\n\ndata: 2"},
        {"between": "no field here"},
        {"between": 3},
        {"gzip": True, "deflate": True},
        {"multiline": 1},
        {"newline": "\n\r"},
        {"newline": ""},
        {"blank_lines": 0},
        {"split": -1},
        {"split": True},
        {"comment": "a\r"},
    ):
        with pytest.raises(fake_llm.ScriptError, match=next(iter(options))):
            Framing(**options)  # type: ignore[arg-type]


# --- any of them together, and through SDKs -----------------------------------------------------
# openai 3 takes any further blank line after an `id:` for an event; google-genai 3 wants `data: ` at the start of each.


BENT = [
    Framing(newline="\r\n"),
    Framing(newline="\r"),
    Framing(space=False),
    Framing(ids=True, comment="ping", blank_lines=3),
    Framing(split=1),
    Framing(split=5, newline="\r\n", comment="x"),
    Framing(gzip=True),
    Framing(gzip=True, split=3, ascii=True),
    Framing(padding=True),
    Framing(ids=True, newline="\r\n", space=False, comment="c", split=4, gzip=True, ascii=True),
    Framing(
        newline="\r\n", space=False, ids=True, comment="c", blank_lines=2, split=4, gzip=True, ascii=True, padding=True
    ),
]


@needs("openai")
@pytest.mark.parametrize(
    "framing",
    [framing for framing in BENT if not (framing.ids and (framing.blank_lines or framing.comment))],
    ids=shown,
)
def test_openai_reads_every_framing(framing: Framing) -> None:
    import openai

    with fake_llm.intercept([Reply("Žluťoučký kůň 🐎", framing=framing)] * 4), openai.OpenAI() as client:
        chunks = client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Žluťoučký kůň 🐎"
        stream = client.responses.create(model="gpt-5", input="Hi", stream=True)
        assert (
            "".join(event.delta for event in stream if event.type == "response.output_text.delta") == "Žluťoučký kůň 🐎"
        )
        whole = client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "Hi"}])
        assert whole.choices[0].message.content == "Žluťoučký kůň 🐎"
        assert client.responses.create(model="gpt-5", input="Hi").output_text == "Žluťoučký kůň 🐎"


@needs("anthropic")
@pytest.mark.parametrize("framing", BENT, ids=shown)
def test_anthropic_reads_every_framing(framing: Framing) -> None:
    import anthropic

    asked: Any = {"model": "c", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    with fake_llm.intercept([Reply("Žluťoučký kůň 🐎", framing=framing)] * 2), anthropic.Anthropic() as client:
        with client.messages.stream(**asked) as stream:
            assert "".join(stream.text_stream) == "Žluťoučký kůň 🐎"
        assert client.messages.create(**asked).content[0].text == "Žluťoučký kůň 🐎"


@needs("google-genai")
@pytest.mark.parametrize(
    "framing", [framing for framing in BENT if framing.space is None and not framing.comment], ids=shown
)
def test_gemini_reads_every_framing(framing: Framing) -> None:
    from google import genai

    with fake_llm.intercept([Reply("Žluťoučký kůň 🐎", framing=framing)] * 2):
        client = genai.Client()
        stream = client.models.generate_content_stream(model="gemini-2.5-flash", contents="Hi")
        assert "".join(chunk.text or "" for chunk in stream) == "Žluťoučký kůň 🐎"
        assert client.models.generate_content(model="gemini-2.5-flash", contents="Hi").text == "Žluťoučký kůň 🐎"


framings = st.builds(
    Framing,
    newline=st.sampled_from([None, "\n", "\r\n", "\r"]),
    space=st.sampled_from([None, True, False]),
    ids=st.booleans(),
    comment=st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=5),
    blank_lines=st.none() | st.integers(1, 4),
    split=st.none() | st.integers(1, 50),
    gzip=st.booleans(),
    bom=st.booleans(),
    ascii=st.booleans(),
    padding=st.booleans(),
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(WAYS), framings, st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_framing_says_the_same(way: tuple[Vendor, bool], framing: Framing, text: str) -> None:
    vendor, stream = way
    with fake_llm.intercept([Reply(text, framing=framing)]):
        assert said(vendor, vendor.post(stream=stream)).text == text


def invoked(framing: Framing | None = None, turn: Any = "Žluťoučký kůň") -> httpx.Response:
    """A stream of Bedrock's `invoke`."""
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3-haiku-20240307-v1%3A0"
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    with fake_llm.intercept([turn], framing=framing):
        return httpx.post(f"{url}/invoke-with-response-stream", json=body)


def frames(body: bytes) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Headers and payload of each frame, as botocore reads them."""
    buffer = pytest.importorskip("botocore.eventstream").EventStreamBuffer()
    buffer.add_data(body)
    return [(dict(message.headers), json.loads(message.payload)) for message in buffer]


def inner(payload: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(base64.b64decode(payload["bytes"], validate=True))
    return said


def test_an_envelope_holds_the_events_of_another_vocabulary() -> None:
    found = frames(invoked().content)

    assert {headers[":event-type"] for headers, _ in found} == {"chunk"}
    assert all(payload.keys() == {"bytes"} for _, payload in found)
    events = [inner(payload) for _, payload in found]
    assert [event["type"] for event in events][:2] == ["message_start", "content_block_start"]
    assert events[0]["message"]["model"] == "claude-3-haiku-20240307"
    assert events[-1]["type"] == "message_stop"
    assert events[-1]["amazon-bedrock-invocationMetrics"]["outputTokenCount"] > 0


@pytest.mark.parametrize("framing", [Framing(padding=True), Framing(ascii=True), Framing(split=3)], ids=shown)
def test_an_envelope_in_other_bytes(framing: Framing) -> None:
    plain, bent = frames(invoked().content), frames(invoked(framing).content)

    assert [inner(payload) for _, payload in bent] == [inner(payload) for _, payload in plain]
    assert all(("p" in payload) is bool(framing.padding) for _, payload in bent)
    if framing.ascii:
        assert all(base64.b64decode(payload["bytes"]).isascii() for _, payload in bent)


def test_what_a_script_does_to_events_is_done_before_they_are_in_an_envelope() -> None:
    def doubled(events: list[Any]) -> list[Any]:
        return [*events, Event("metadata", {"n": 1}), Event("throttlingException", {"message": "slow"})]

    *_, (_, last), (failed, why) = frames(invoked(turn=Reply("x", edit=doubled)).content)

    assert inner(last) == {"metadata": {"n": 1}}
    assert failed[":exception-type"] == "throttlingException"
    assert why == {"message": "slow"}


def test_raw_events_get_their_envelope() -> None:
    assert [inner(payload) for _, payload in frames(invoked(turn=Raw([{"a": 1}, {"b": 2}])).content)] == [
        {"a": 1},
        {"b": 2},
    ]
