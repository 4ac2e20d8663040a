"""SDK calls beside their floor: the same SDK on a `MockTransport` that returns the same bytes ready-made.

What isn't in every environment is imported by the cases that need it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anthropic
import groq
import httpx
import httpx2
import openai
import respx

import fake_llm
from benchmarks._rounds import Case, Prepared, batch

ANSWER = "The capital of France is Paris, a city of two million people on the river Seine."
CHUNKS = [f"word{index:02d} " for index in range(100)]
PROMPT = "What is the capital of France?"
TOOL_CALL = fake_llm.ToolCall("get_weather", {"city": "Paris", "unit": "celsius"})

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
SEARCH = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
    "required": ["query", "limit"],
    "additionalProperties": False,
}
REPORT = {
    "type": "object",
    "properties": {"summary": {"type": "string"}, "temperature": {"type": "number"}},
    "required": ["summary", "temperature"],
    "additionalProperties": False,
}
MESSAGES: list[Any] = [{"role": "user", "content": PROMPT}]


@dataclass(frozen=True, slots=True)
class Sdk:
    """An SDK, its client on a transport, and the library of that transport."""

    name: str
    client: Callable[..., Any]
    http_client: Callable[..., Any]
    library: Any

    def floor(self, call: Callable[[Any], object], response: Any) -> Prepared:
        """A client whose transport returns this response's bytes."""
        status, headers, body = response.status, list(response.headers.multi_items()), response.body

        def answer(request: Any) -> Any:
            return self.library.Response(status, headers=headers, content=body)

        @contextmanager
        def prepare(count: int) -> Iterator[Callable[[], object]]:
            transport = self.library.MockTransport(answer)
            with self.client(api_key="none", http_client=self.http_client(transport=transport)) as client:
                yield lambda: call(client)

        return prepare

    def ours(self, call: Callable[[Any], object], turn: Any) -> Prepared:
        """A client in a block whose script has a turn for each call."""

        @contextmanager
        def prepare(count: int) -> Iterator[Callable[[], object]]:
            with fake_llm.intercept([turn] * count), self.client(api_key="none") as client:
                yield lambda: call(client)

        return prepare

    def answer(self, call: Callable[[Any], object], turn: Any) -> Any:
        """What one faked call is answered."""
        with fake_llm.intercept([turn]) as fake, self.client(api_key="none") as client:
            call(client)
        return fake.calls[0].response

    def case(self, title: str, call: Callable[[Any], object], turn: Any, target: float | None, count: int) -> Case:
        """The call beside its floor."""
        floor = self.floor(call, self.answer(call, turn))
        return Case(f"{self.name}, {title}", batch(self.ours(call, turn)), batch(floor), "floor", target, count)


OPENAI = Sdk("openai chat", openai.OpenAI, openai.DefaultHttpxClient, httpx2)
ANTHROPIC = Sdk("anthropic messages", anthropic.Anthropic, anthropic.DefaultHttpxClient, httpx2)
GROQ = Sdk("groq chat", groq.Groq, groq.DefaultHttpxClient, httpx)


def openai_whole(client: Any) -> object:
    return client.chat.completions.create(model="gpt-4o", messages=MESSAGES)


def openai_tools(client: Any) -> object:
    schema = {"name": "report", "strict": True, "schema": REPORT}
    tools = [
        {"type": "function", "function": {"name": name, "description": text, "parameters": parameters, "strict": True}}
        for name, text, parameters in (
            ("get_weather", "The weather of a city.", WEATHER),
            ("search", "Search the web.", SEARCH),
        )
    ]
    return client.chat.completions.create(
        model="gpt-4o",
        messages=MESSAGES,
        tools=tools,
        response_format={"type": "json_schema", "json_schema": schema},
    )


def openai_stream(client: Any) -> object:
    return sum(1 for _ in client.chat.completions.create(model="gpt-4o", messages=MESSAGES, stream=True))


def anthropic_whole(client: Any) -> object:
    return client.messages.create(model="claude-sonnet-4-5", max_tokens=1024, messages=MESSAGES)


def anthropic_tools(client: Any) -> object:
    return client.messages.create(
        model="claude-sonnet-4-5",
        max_tokens=1024,
        messages=MESSAGES,
        tools=[
            {"name": "get_weather", "description": "The weather of a city.", "input_schema": WEATHER},
            {"name": "search", "description": "Search the web.", "input_schema": SEARCH},
        ],
        output_config={"format": {"type": "json_schema", "schema": REPORT}},
    )


def anthropic_stream(client: Any) -> object:
    events = client.messages.create(model="claude-sonnet-4-5", max_tokens=1024, messages=MESSAGES, stream=True)
    return sum(1 for _ in events)


def cases() -> Iterator[Case]:
    """The floor beside itself, which shows the noise, then the SDKs that people meet first."""
    stream = fake_llm.Reply("".join(CHUNKS), chunks=CHUNKS)
    floor = batch(OPENAI.floor(openai_whole, OPENAI.answer(openai_whole, ANSWER)))
    yield Case("the floor of openai chat, beside itself", floor, floor)
    yield OPENAI.case("whole", openai_whole, ANSWER, 1.10, 20)
    number = itertools.count()

    def openai_of_a_kind(client: Any) -> object:
        return client.chat.completions.create(model="gpt-4o", messages=MESSAGES, seed=next(number))

    yield OPENAI.case("whole, no two requests of one kind", openai_of_a_kind, ANSWER, None, 20)
    yield OPENAI.case("two tools and a schema, a tool call", openai_tools, TOOL_CALL, 1.15, 20)
    yield OPENAI.case("stream of 100 chunks", openai_stream, stream, 1.06, 2)
    yield ANTHROPIC.case("whole", anthropic_whole, ANSWER, 1.10, 20)
    yield ANTHROPIC.case("two tools and a schema, a tool call", anthropic_tools, TOOL_CALL, 1.15, 20)
    yield ANTHROPIC.case("stream of 100 chunks", anthropic_stream, stream, 1.06, 2)


def groq_cases() -> Iterator[Case]:
    """On httpx, where respx can answer too."""
    response = GROQ.answer(openai_whole, ANSWER)
    ours = batch(GROQ.ours(openai_whole, ANSWER))

    @contextmanager
    def static_route(count: int) -> Iterator[Callable[[], object]]:
        with respx.mock as router, groq.Groq(api_key="none") as client:
            url = "https://api.groq.com/openai/v1/chat/completions"
            static = httpx.Response(200, headers=response.headers.multi_items(), content=response.body)
            router.post(url).mock(return_value=static)
            yield lambda: openai_whole(client)

    yield Case("groq chat, whole", ours, batch(static_route), "a static respx route", 1.08)


def genai_cases() -> Iterator[Case]:
    from google import genai

    def client(*, api_key: str, http_client: Any = None) -> Any:
        return genai.Client(api_key=api_key, http_options=http_client and {"httpx_client": http_client})

    def whole(client: Any) -> object:
        return client.models.generate_content(model="gemini-2.5-flash", contents=PROMPT)

    yield Sdk("google-genai", client, httpx2.Client, httpx2).case("whole", whole, ANSWER, 1.10, 20)


def mistral_cases() -> Iterator[Case]:
    from mistralai.client import Mistral

    def client(*, api_key: str, http_client: Any = None) -> Any:
        return Mistral(api_key=api_key, client=http_client)

    def whole(client: Any) -> object:
        return client.chat.complete(model="mistral-small-latest", messages=MESSAGES)

    yield Sdk("mistral chat", client, httpx2.Client, httpx2).case("whole", whole, ANSWER, 1.10, 20)


def boto3_cases() -> Iterator[Case]:
    """Beside the hook that answers in place of sending; signing is in both."""
    import boto3
    from botocore.awsrequest import AWSResponse

    session = boto3.Session("none", "none", region_name="us-east-1")  # it keeps the models of the services

    def converse(client: Any) -> object:
        asked = [{"role": "user", "content": [{"text": PROMPT}]}]
        return client.converse(modelId="amazon.nova-lite-v1:0", messages=asked)

    @contextmanager
    def ours(count: int) -> Iterator[Callable[[], object]]:
        client = session.client("bedrock-runtime")
        with fake_llm.intercept([ANSWER] * count):
            yield lambda: converse(client)

    with fake_llm.intercept([ANSWER]) as fake:
        converse(session.client("bedrock-runtime"))
    answered = fake.calls[0].response

    class Body:
        def stream(self, **_: Any) -> Iterator[bytes]:
            yield answered.body

    def answer(request: Any, **_: Any) -> Any:
        return AWSResponse(request.url, answered.status, dict(answered.headers.multi_items()), Body())

    @contextmanager
    def stubbed(count: int) -> Iterator[Callable[[], object]]:
        client = session.client("bedrock-runtime")
        client.meta.events.register("before-send.bedrock-runtime.Converse", answer)
        yield lambda: converse(client)

    yield Case("boto3 converse, whole", batch(ours), batch(stubbed), "a before-send stub", 1.40)
