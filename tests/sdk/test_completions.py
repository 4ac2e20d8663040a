"""OpenAI's completions, as the openai SDK reads them: whole and streamed, several prompts, echo, probabilities, other hosts."""

from __future__ import annotations

from typing import Any

import pytest

import fake_llm
from _capability import needs
from fake_llm import Auto, Disconnect, EndOfStream, Error, FakeLLM, Reply, ScriptMismatchError, ToolCall, Usage

pytestmark = needs("openai>=2")
ASKED: dict[str, Any] = {"model": "gpt-3.5-turbo-instruct", "prompt": "Once upon", "max_tokens": 16}
HOSTS = {
    "openai": None,
    "deepseek": "https://api.deepseek.com/beta",
    "together": "https://api.together.ai/v1",
    "fireworks": "https://api.fireworks.ai/inference/v1",
    "openrouter": "https://openrouter.ai/api/v1",
}


def client(base_url: str | None = None, **options: Any) -> Any:
    import openai

    options = {"max_retries": 0, "_strict_response_validation": base_url is None, **options}
    return openai.OpenAI(base_url=base_url, **options)


def stream(**asked: Any) -> list[Any]:
    """The chunks; the SDK's types don't know that `finish_reason` is null until the end (3.57)."""
    return list(client(_strict_response_validation=False).completions.create(**{**ASKED, **asked}, stream=True))


def texts(chunks: list[Any], index: int = 0) -> str:
    return "".join(choice.text for chunk in chunks for choice in chunk.choices if choice.index == index)


@pytest.mark.parametrize("host", HOSTS)
def test_whole_and_streamed(host: str) -> None:
    with fake_llm.intercept([" a time.", " a time."]) as fake:
        answer = client(HOSTS[host]).completions.create(**ASKED)
        lenient = client(HOSTS[host], _strict_response_validation=False)
        chunks = list(lenient.completions.create(**ASKED, stream=True))

    assert (answer.choices[0].text, answer.choices[0].finish_reason) == (" a time.", "stop")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert texts(chunks) == " a time."
    assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "stop"]
    assert [(call.provider, call.dialect, call.stream) for call in fake.calls] == [
        (host, "openai_completions", False),
        (host, "openai_completions", True),
    ]
    assert [call.last_user_text for call in fake.calls] == ["Once upon"] * 2
    assert fake.calls[0].params["max_tokens"] == 16


def test_azure() -> None:
    import openai

    azure = openai.AzureOpenAI(api_version="2024-10-21", azure_endpoint="https://mine.openai.azure.com", api_key="a")
    with fake_llm.intercept([" a time."]) as fake:
        answer = azure.completions.create(**ASKED)

    assert answer.choices[0].text == " a time."
    assert answer.to_dict()["prompt_filter_results"][0]["prompt_index"] == 0
    assert fake.calls[0].provider == "azure"


def test_a_server_of_ones_own() -> None:
    with fake_llm.intercept([" a time."], hosts={"http://localhost:8000/v1": "openai"}):
        assert client("http://localhost:8000/v1").completions.create(**ASKED).choices[0].text == " a time."


def test_several_prompts() -> None:
    answers = Reply("one", choices=["two", "three", "four"])
    with fake_llm.intercept([answers, "same", answers]) as fake:
        answer = client().completions.create(**{**ASKED, "prompt": ["a", "b"]}, n=2)
        same = client().completions.create(**{**ASKED, "prompt": ["a", "b", "c"]})
        chunks = stream(prompt=["a", "b"], n=2)

    assert [(choice.index, choice.text) for choice in answer.choices] == [
        (0, "one"),
        (1, "two"),
        (2, "three"),
        (3, "four"),
    ]
    assert [choice.text for choice in same.choices] == ["same"] * 3
    assert [texts(chunks, index) for index in range(4)] == ["one", "two", "three", "four"]
    assert fake.calls[0].user_texts == ("a", "b")


def test_prompts_of_tokens() -> None:
    with fake_llm.intercept([" a time."] * 2) as fake:
        answer = client().completions.create(**{**ASKED, "prompt": [1, 2, 3]})
        both = client().completions.create(**{**ASKED, "prompt": [[1, 2], [3]]}, echo=True)

    assert answer.usage.prompt_tokens == 3
    assert [choice.text for choice in both.choices] == [" a time."] * 2
    assert [message.text for message in fake.calls[1].messages] == ["[tokens]", "[tokens]"]


def test_echo() -> None:
    with fake_llm.intercept(["x", "y"]):
        answer = client().completions.create(**{**ASKED, "prompt": ["a ", "b "]}, echo=True)
        chunks = stream(echo=True)

    assert [choice.text for choice in answer.choices] == ["a x", "b x"]
    assert texts(chunks) == "Once upony"
    assert chunks[0].choices[0].text == "Once upon"


@pytest.mark.parametrize("echo", [False, True])
def test_probabilities(echo: bool) -> None:
    with fake_llm.intercept([" a time."] * 2):
        able = client(_strict_response_validation=not echo)  # nor that the first token has no probability
        told = able.completions.create(**ASKED, logprobs=2, echo=echo).choices[0].logprobs
        chunks = stream(logprobs=2, echo=echo)

    said = "Once upon a time." if echo else " a time."
    assert "".join(told.tokens) == said
    assert len(told.tokens) == len(told.token_logprobs) == len(told.top_logprobs) == len(told.text_offset)
    assert told.text_offset[0] == (0 if echo else len("Once upon"))
    assert (told.token_logprobs[0] is None) is echo
    assert all(top is None or len(top) == 2 for top in told.top_logprobs)
    streamed = [choice.logprobs for chunk in chunks for choice in chunk.choices if choice.logprobs is not None]
    assert [token for one in streamed for token in one.tokens] == told.tokens
    assert [offset for one in streamed for offset in one.text_offset] == told.text_offset


def test_probabilities_of_the_script() -> None:
    with fake_llm.intercept([Reply("Yes", logprobs=[("Ye", -0.5), ("s", -1.0)])] * 2):
        told = client().completions.create(**ASKED, logprobs=1).choices[0].logprobs
        chunks = stream(logprobs=1)

    assert (told.tokens, told.token_logprobs) == (["Ye", "s"], [-0.5, -1.0])
    assert [token for chunk in chunks for one in chunk.choices if one.logprobs for token in one.logprobs.tokens] == [
        "Ye",
        "s",
    ]


def test_usage_in_a_stream() -> None:
    with fake_llm.intercept([Reply("x", usage=Usage(7, 3))] * 2):
        counted = stream(stream_options={"include_usage": True})
        uncounted = stream()

    assert [chunk.usage is None for chunk in counted] == [True] * (len(counted) - 1) + [False]
    assert (counted[-1].choices, counted[-1].usage.total_tokens) == ([], 10)
    assert all("usage" not in chunk.to_dict() for chunk in uncounted)


def test_suffix_and_length() -> None:
    with fake_llm.intercept([Reply("x", finish_reason="length")]) as fake:
        answer = client().completions.create(**ASKED, suffix="The end.", stop="\n")

    assert answer.choices[0].finish_reason == "length"
    assert (fake.calls[0].params["suffix"], fake.calls[0].params["stop"]) == ("The end.", ["\n"])


@pytest.mark.parametrize(
    ("error", "name"),
    [(429, "RateLimitError"), ("authentication", "AuthenticationError"), (500, "InternalServerError")],
)
@pytest.mark.parametrize("host", HOSTS)
def test_errors(host: str, error: Any, name: str) -> None:
    import openai

    with pytest.raises(getattr(openai, name)), fake_llm.intercept([Error(error)]):
        client(HOSTS[host]).completions.create(**ASKED)


def test_streams_that_break_off() -> None:
    import openai

    with fake_llm.intercept(
        [Reply(" a", then=EndOfStream()), Reply(" a", then=Error(500)), Reply(" a", then=Disconnect())]
    ):
        assert texts(stream()) == " a"
        with pytest.raises(openai.APIError):
            stream()
        with pytest.raises(Exception, match=r"onnection|closed|peer"):
            stream()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"model": ""}, "must provide a model"),
        ({"prompt": {"a": 1}}, "expected one of a string or array"),
        ({"prompt": [1, "a"]}, "is invalid"),
        ({"prompt": []}, "is invalid"),
        ({"max_tokens": "many"}, "Invalid type for 'max_tokens'"),
        ({"n": 1000}, "integer above maximum value"),
        ({"extra_body": {"stream_options": 3}}, "expected an object"),
    ],
)
@fake_llm.intercept(default="x")
def test_malformed(changed: dict[str, Any], told: str) -> None:
    import openai

    with pytest.raises(openai.BadRequestError, match=told):
        client().completions.create(**{**ASKED, **changed})


def test_what_it_cannot_carry() -> None:
    with (
        pytest.raises(ScriptMismatchError, match="OpenAI completions can't carry ToolCall"),
        fake_llm.intercept([ToolCall("a")]),
    ):
        client().completions.create(**ASKED)


@fake_llm.intercept(default=Auto())
def test_made_up() -> None:
    assert client().completions.create(**ASKED).choices[0].text == "This is an automatic answer."


@fake_llm.intercept([Reply("One", choices=["Two"], usage=Usage(4, 2), id="cmpl-mine")])
def test_an_object_of_the_sdk(fake: FakeLLM) -> None:
    whole = client().completions.create(**ASKED, n=2)
    fake.push(whole, whole)

    assert client().completions.create(**ASKED, n=2) == whole
    chunks = stream(n=2, stream_options={"include_usage": True})
    assert [texts(chunks, index) for index in range(2)] == ["One", "Two"]
    assert (chunks[0].id, chunks[-1].usage.total_tokens) == ("cmpl-mine", 6)


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"n": 3, "best_of": 2}, "more choices than it will generate"), ({"best_of": 21}, "above maximum")],
)
def test_fewer_tries_than_choices_are_refused(asked: dict[str, int], said: str) -> None:
    import openai

    with fake_llm.intercept(["no"], strict=False), pytest.raises(openai.BadRequestError, match=said):
        client().completions.create(model="gpt-3.5-turbo-instruct", prompt="Hi", **asked)


@fake_llm.intercept(["yes"])
def test_more_tries_than_choices_are_not() -> None:
    answer = client().completions.create(model="gpt-3.5-turbo-instruct", prompt="Hi", best_of=3)
    assert [choice.text for choice in answer.choices] == ["yes"]
