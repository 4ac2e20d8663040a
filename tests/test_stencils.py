"""Answers that are filled into a stencil are, byte by byte, those that the dialect writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

import fake_llm
from _capability import needs
from _rows import rows, url_of
from fake_llm import Error, FakeLLM, Json, Reply, Usage, _stencils
from fake_llm._endpoints import Endpoint, Provider
from fake_llm._model import Fault, Headers, Request, Response

TEXTS = (
    "Hello",
    "100 %, %s and %(name)d, {braces}",
    'quotes " and \\ backslashes \\" at the end\\',
    "line\nend\r\n\ttab \x00 \x7f",
    "häßlich 日本語 🙂 \u2028",
    "json",
    "x" * 5_000,
    "1767225600",
    "}],",
)
SAYINGS = ("It is sunny.", *TEXTS)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stencils, "_known", {})
    monkeypatch.setattr(_stencils, "_around", {})
    monkeypatch.setattr(_stencils, "_once", set())


def without_stencils(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stencils, "fitting", lambda *_: None)
    monkeypatch.setattr(_stencils, "found", lambda *_: None)


@dataclass
class Filled:
    """How many answers were filled into a stencil."""

    count: int = 0


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> Filled:
    """The answers to come."""
    counted = Filled()
    original = FakeLLM._filled

    def counting(self: FakeLLM, *args: Any) -> Response | None:
        answer = original(self, *args)
        counted.count += answer is not None
        return answer

    monkeypatch.setattr(FakeLLM, "_filled", counting)
    return counted


def conversation(dialect: str, *texts: str) -> dict[str, Any]:
    """A body of plain texts, the last of them the user's."""
    roles = ["user", "assistant"] * len(texts)
    said = list(zip(roles[(len(texts) + 1) % 2 :], texts, strict=False))
    if dialect == "gemini":
        names = {"assistant": "model", "user": "user"}
        return {"contents": [{"role": names[role], "parts": [{"text": text}]} for role, text in said]}
    if dialect == "bedrock_converse":
        return {"messages": [{"role": role, "content": [{"text": text}]} for role, text in said]}
    more: dict[str, Any] = (
        {"max_tokens": 50, "anthropic_version": "bedrock-2023-05-31"} if "anthropic" in dialect else {}
    )
    return {"model": "some-model", "messages": [{"role": role, "content": text} for role, text in said], **more}


def request(url: str, body: Any, **headers: str) -> Request:
    given = {"content-type": "application/json", "authorization": "Bearer none", **headers}
    return Request("POST", url, Headers(list(given.items())), json.dumps(body).encode(), "httpx")


def told(fake: FakeLLM, asked: list[Request]) -> list[Any]:
    """Everything that is to be known of the answers and of what the journal has of them."""
    answers: list[Response | Fault] = [fake.answer(one) for one in asked]
    calls = [
        (
            call.model,
            call.stream,
            call.usage,
            call.reply,
            call._choices,
            call.body,
            call.messages,
            call.attempt,
            call.waited,
        )
        for call in fake.calls
    ]
    return [
        answers,
        calls,
        fake.usage,
        fake.transcript(),
        fake.remaining,
        [call.response.body for call in fake.calls if call.response],
    ]


def alike(monkeypatch: pytest.MonkeyPatch, script: list[Any], asked: list[Request], **options: Any) -> list[Any]:
    """What is told with stencils, which has to be what is told without."""
    with_them = told(FakeLLM(script, **options), asked)
    with monkeypatch.context() as patch:
        without_stencils(patch)
        assert told(FakeLLM(script, **options), asked) == with_them
    return with_them


def has_none(provider: Provider, endpoint: Endpoint) -> bool:
    """Answers that hang on more: how long they took by their tokens (Ollama, Bedrock's headers), ids in other letters."""
    return provider.name in ("cloudflare", "ollama") or "/(invoke|" in endpoint.path


MESSAGES = frozenset(
    {"anthropic_messages", "bedrock_converse", "cohere_chat", "gemini", "ollama_chat", "openai_chat", "watsonx_chat"}
)


@pytest.mark.parametrize(
    ("provider", "endpoint"),
    [case for case in rows("chat", "POST") if case.values[1].dialect.name in MESSAGES and not case.values[1].service],
)
def test_each_row_is_answered_as_by_its_dialect(
    provider: Provider, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, filled: Filled
) -> None:
    url, dialect = url_of(provider, endpoint), endpoint.dialect.name
    asked = [request(url, conversation(dialect, text)) for text in TEXTS]
    asked += [request(url, conversation(dialect, "Hi", "Hello!", text)) for text in TEXTS]
    script = [SAYINGS[index % len(SAYINGS)] for index in range(len(asked))]
    answers, *_ = alike(monkeypatch, script, asked)
    if {answer.status for answer in answers} == {200} and not has_none(provider, endpoint):
        assert filled.count >= len(asked) - 6, "one to know of it, one to cut it, of two kinds"


OPENAI = "https://api.openai.com/v1/chat/completions"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
VERTEX = (
    "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/"
    "gemini-2.5-flash:generateContent"
)


def plain(text: str = "Hi", **more: Any) -> dict[str, Any]:
    return {**conversation("openai_chat", text), **more}


@pytest.mark.parametrize(
    "more",
    [
        {"temperature": 0.5, "user": "me", "metadata": {"a": "b"}},
        {"store": True},
        {"stream": True},
        {"n": 2},
        {"response_format": {"type": "json_object"}},
        {"logprobs": True, "top_logprobs": 2},
        {"max_tokens": True},
        {"tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]},
        {"service_tier": "flex"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_else_is_asked_for(more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    script = [f"json {index}" if "response_format" not in more else '{"a": 1}' for index in range(5)]
    alike(monkeypatch, script, [request(OPENAI, plain(f"json {index}", **more)) for index in range(5)])


@pytest.mark.parametrize(
    "turn",
    [
        Reply("a", id="chatcmpl-1"),
        Reply("a", usage=Usage(1, 2)),
        Reply("a", model="other"),
        Reply("a", "b"),
        Reply(""),
        Reply("a", finish_reason="length"),
        Reply("a", headers={"x-more": "1"}),
        Reply("a", extra={"more": 1}),
        Reply("a", check=False),
        Json([1]),
        Error(404),
        lambda call: "of a function",
    ],
    ids=[
        *("id", "usage", "model", "two parts", "empty", "finish reason", "headers", "extra", "check"),
        *("json", "error", "function"),
    ],
)
def test_a_turn_that_says_more_is_written_by_its_dialect(
    turn: Any, monkeypatch: pytest.MonkeyPatch, filled: Filled
) -> None:
    alike(monkeypatch, ["a", "b", "c", turn, "d"], [request(OPENAI, plain(f"{index}")) for index in range(5)])
    assert filled.count == 2, "the third and the fifth"


@pytest.mark.parametrize(
    "options",
    [
        {"model": "other"},
        {"usage": Usage(1, 2)},
        {"delay": 0.0},
        {"context_window": 20},
        {"cost": lambda usage: usage.total},
        {"validate": False},
        {"framing": fake_llm.Framing(split=1)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_block_that_says_more_has_none(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, filled: Filled
) -> None:
    alike(monkeypatch, ["a", "b", "c"], [request(OPENAI, plain(f"{index}")) for index in range(3)], **options)
    assert filled.count == 0


@pytest.mark.parametrize(
    ("url", "dialect", "headers"),
    [
        (ANTHROPIC, "anthropic_messages", {"anthropic-beta": "context-management-2025-06-27"}),
        (GEMINI, "gemini", {"accept": "application/json;enum-encoding=int"}),
        (VERTEX, "gemini", {"x-vertex-ai-llm-shared-request-type": "priority"}),
    ],
    ids=["anthropic", "gemini", "vertex"],
)
def test_a_header_that_the_answer_hangs_on(
    url: str, dialect: str, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch, filled: Filled
) -> None:
    usual, other = (
        [request(url, conversation(dialect, f"{kind} {index}"), **said) for index in range(4)]
        for kind, said in (("usual", {"x-other": "1"}), ("other", {"x-other": "1", **headers}))
    )
    answers, *_ = alike(monkeypatch, ["the same"] * 12, [*usual, *other, *usual])
    assert answers[3].body != answers[7].body, "the header has a say"
    assert filled.count == 6, "two of the first four, and all of the last"
    renamed = [
        Request(
            one.method,
            one.url,
            Headers([(name.title(), value) for name, value in one.headers.multi_items()]),
            one.body,
            "httpx",
        )
        for one in usual
    ]
    alike(monkeypatch, ["the same"] * 4, renamed)
    assert filled.count == 10, "in other letters"


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_a_blank_text_is_refused_where_it_is(text: str, monkeypatch: pytest.MonkeyPatch, filled: Filled) -> None:
    url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite-v1%3A0/converse"
    asked = [request(url, conversation("bedrock_converse", said)) for said in ("one", "two", "three", text)]
    answers, *_ = alike(monkeypatch, ["a"] * 4, asked, strict=False)
    assert [answer.status for answer in answers] == [200, 200, 200, 400]
    assert filled.count == 1


@pytest.mark.parametrize(
    "damaged",
    [
        b'{"model": "some-model", "messages": [{"role": "user", "content": "a", "content": "b"}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": "\xff"}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": 5}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": ["a"]}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": "a\nb"}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": null}]}',
        b'{"model": "some-model", "messages": [{"role": {}, "content": "a"}]}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": [{"text": []}]}]}',
        b'{"model": "some-model", "messages": [{}, [], 5]}',
        b'{"model": "some-model", "messages": {"role": "user"}}',
        b'{"model": "some-model", "messages": [{"role": "user", "content": "}]}',
    ],
)
def test_what_is_no_plain_request(damaged: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Around the text each begins and ends as those did for which there is a stencil."""
    good = [request(OPENAI, plain(f"text {index}")) for index in range(3)]
    bad = Request("POST", OPENAI, good[0].headers, damaged, "httpx")
    alike(monkeypatch, ["a"] * 4, [*good, bad], strict=False)


def test_a_text_that_is_too_long_is_refused_where_it_is(monkeypatch: pytest.MonkeyPatch, filled: Filled) -> None:
    asked = [request(OPENAI, plain(said)) for said in ("one", "two", "three", "x" * 10_485_761, "four")]
    answers, *_ = alike(monkeypatch, ["a"] * 5, asked, strict=False)
    assert [answer.status for answer in answers] == [200, 200, 200, 400, 200]
    assert filled.count == 2


def test_an_infinite_number_is_no_null(monkeypatch: pytest.MonkeyPatch, filled: Filled) -> None:
    body = b'{"model": "m", "max_tokens": %s, "messages": [{"role": "user", "content": "text %d"}]}'
    asked = [
        Request("POST", OPENAI, Headers([("content-type", "application/json")]), body % (limit, index), "httpx")
        for index, limit in enumerate((b"null", b"null", b"null", b"1e400"))
    ]
    answers, *_ = alike(monkeypatch, ["a"] * 4, asked, strict=False)
    assert [answer.status for answer in answers] == [200, 200, 200, 400]
    assert filled.count == 1


def test_a_model_that_can_only_be_sent_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it all of the answer is."""
    asked = [request("https://api.x.ai/v1/chat/completions", plain(f"{index}", model="\ud800")) for index in range(4)]
    answers, *_ = alike(monkeypatch, ["a", "b", "c", "hä\u2028"], asked)
    assert answers[3].body.isascii()


def test_rules_default_and_retries(monkeypatch: pytest.MonkeyPatch, filled: Filled) -> None:
    asked = [request(OPENAI, plain(f"{index}")) for index in range(8)]

    def tell(fake: FakeLLM) -> list[Any]:
        fake.when(input="6").reply("of the rule")
        fake.default("the default")
        return told(fake, [*asked[:5], asked[4], *asked[5:]])

    script = ["a", "b", "c", "d", Error(500)]
    with_them = tell(FakeLLM(script))
    assert filled.count == 2
    without_stencils(monkeypatch)
    assert tell(FakeLLM(script)) == with_them


def test_a_long_conversation_has_none(monkeypatch: pytest.MonkeyPatch, filled: Filled) -> None:
    said = conversation("openai_chat", *(["text"] * (_stencils._MOST_MESSAGES + 1)))
    alike(monkeypatch, ["a"] * 4, [request(OPENAI, said)] * 4)
    assert (filled.count, _stencils._known) == (0, {})


@needs("openai", "anthropic")
def test_the_sdks_read_them_strictly(filled: Filled) -> None:
    import anthropic
    import openai

    with fake_llm.intercept(TEXTS[:5] * 2):
        chat = openai.OpenAI(_strict_response_validation=True).chat.completions
        claude = anthropic.Anthropic(_strict_response_validation=True).messages
        said = [chat.create(model="gpt-4o", messages=[{"role": "user", "content": text}]) for text in TEXTS[:5]]
        told = [
            claude.create(model="claude-sonnet-5", max_tokens=50, messages=[{"role": "user", "content": text}])
            for text in TEXTS[:5]
        ]
    assert [one.choices[0].message.content for one in said] == list(TEXTS[:5])
    assert [one.content[0].model_dump()["text"] for one in told] == list(TEXTS[:5])
    assert len({one.id for one in (*said, *told)}) == 10
    assert filled.count == 6


def test_a_default_alone(monkeypatch: pytest.MonkeyPatch, filled: Filled) -> None:
    alike(monkeypatch, [], [request(OPENAI, plain(f"{index}")) for index in range(5)], default="the default")
    assert filled.count == 3


def test_later_requests_build_on_it(monkeypatch: pytest.MonkeyPatch, filled: Filled) -> None:
    fake = FakeLLM(["one", "two", "three", "four"])
    for text in ("a", "b", "c"):
        answer = fake.answer(request(ANTHROPIC, conversation("anthropic_messages", text)))
    assert filled.count == 1
    assert isinstance(answer, Response)
    key = json.loads(answer.body)["id"]
    assert fake._store.answered[key] is fake.calls[2]


def test_there_are_so_many_and_no_more(filled: Filled) -> None:
    for index in range(_stencils._MOST + 3):
        fake = FakeLLM(["a"])
        fake.answer(request(OPENAI, plain(seed=index)))
    assert (len(_stencils._known), len(_stencils._once)) == (0, 3)
    for index in range(_stencils._MOST + 3):
        fake = FakeLLM(["a"] * 2)
        for _ in range(2):
            fake.answer(request(f"{OPENAI}?a={index}", plain()))
    assert len(_stencils._known) == len(_stencils._around) == _stencils._MOST


def test_a_forbidden_call_is_refused_whatever_is_known(filled: Filled) -> None:
    import httpx

    with fake_llm.intercept(["a"] * 4) as fake:
        for _ in range(3):
            httpx.post(OPENAI, json=plain())
        with pytest.raises(fake_llm.UnscriptedCallError), fake_llm.forbid():
            httpx.post(OPENAI, json=plain())
        httpx.post(OPENAI, json=plain())
    assert (filled.count, len(fake.calls)) == (2, 4)
