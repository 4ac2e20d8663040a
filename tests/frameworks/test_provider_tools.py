"""What frameworks make of OpenAI's own tools, of sound and of completions: LangChain and LiteLLM."""

from __future__ import annotations

from typing import Any

import pytest

import fake_llm
from _capability import needs
from fake_llm import Audio, Auto, Citation, Reply, ServerTool, ToolCall, Usage

SKY = "https://sky.example"
CITED = [
    ServerTool("web_search", {"query": "sky"}, [{"url": SKY, "title": "Sky"}]),
    "The sky is ",
    Citation("blue", SKY, title="Sky"),
    ".",
]
langchain = needs("langchain-openai>=1")
litellm = needs("litellm>=1.110")
pytestmark = pytest.mark.filterwarnings(
    "ignore:Pydantic serializer warnings:UserWarning:pydantic",
    "ignore:Item '.+' on TypedDict class:UserWarning:pydantic",  # LiteLLM's own types (1.110)
)


def chat(**options: Any) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(**{"model": "gpt-5.2", **options})


def blocks(message: Any, kind: str) -> list[Any]:
    return [block for block in message.content_blocks if block["type"] == kind]


@langchain
@pytest.mark.parametrize("stream", [False, True])
def test_langchain_searches(stream: bool) -> None:
    with fake_llm.intercept([CITED]) as fake:
        model = chat(use_responses_api=True, streaming=stream).bind_tools([{"type": "web_search"}])
        message = model.invoke("Which colour?")

    assert message.text == "The sky is blue."
    assert [block["args"]["query"] for block in blocks(message, "server_tool_call")] == ["sky"]
    (note,) = [note for block in blocks(message, "text") for note in block.get("annotations", ())]
    assert (note["url"], note["title"]) == (SKY, "Sky")
    assert fake.calls[0].stream is stream


@langchain
def test_langchain_sends_it_back() -> None:
    with fake_llm.intercept([CITED, "Yes."]) as fake:
        model = chat(use_responses_api=True).bind_tools([{"type": "web_search"}])
        first = model.invoke("Which colour?")
        model.invoke([("user", "Which colour?"), first, ("user", "Sure?")])

    assert [message.text for message in fake.calls[1].messages] == ["Which colour?", "The sky is blue.", "Sure?"]


@langchain
@pytest.mark.parametrize("stream", [False, True])
def test_langchain_runs_code(stream: bool) -> None:
    tool = {"type": "code_interpreter", "container": {"type": "auto"}}
    with fake_llm.intercept([[ServerTool("code_execution", {"code": "print(2)"}, "2\n"), "Two."]]):
        model = chat(use_responses_api=True, streaming=stream, include=["code_interpreter_call.outputs"])
        message = model.bind_tools([tool]).invoke("1 + 1?")

    assert message.text == "Two."
    (call,) = blocks(message, "server_tool_call")
    assert (call["name"], call["args"]) == ("code_interpreter", {"code": "print(2)"})


@langchain
def test_langchain_calls_an_mcp_server() -> None:
    tool = {"type": "mcp", "server_label": "wiki", "server_url": "https://wiki.example", "require_approval": "never"}
    asked = ServerTool("mcp", {"name": "ask", "arguments": {"question": "Who?"}}, "Ada.")
    with fake_llm.intercept([[asked, "It was Ada."]]):
        message = chat(use_responses_api=True).bind_tools([tool]).invoke("Who?")

    assert message.text == "It was Ada."
    assert blocks(message, "server_tool_call")[0]["args"] == {"question": "Who?"}


@langchain
def test_langchain_hears() -> None:
    asked = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}
    with fake_llm.intercept([Audio(b"RIFF....WAVE", transcript="Hello!")]):
        message = chat(model="gpt-4o-audio-preview", model_kwargs=asked).invoke("Say hello.")

    assert message.additional_kwargs["audio"]["transcript"] == "Hello!"


@langchain
@pytest.mark.parametrize("stream", [False, True])
def test_langchain_completes(stream: bool) -> None:
    from langchain_openai import OpenAI

    with fake_llm.intercept([Reply(" a time.", usage=Usage(3, 4))]) as fake:
        model = OpenAI(model="gpt-3.5-turbo-instruct")
        text = "".join(model.stream("Once upon")) if stream else model.invoke("Once upon")

    assert text == " a time."
    assert (fake.calls[0].dialect, fake.calls[0].last_user_text) == ("openai_completions", "Once upon")


@langchain
def test_langchain_completes_several_prompts() -> None:
    from langchain_openai import OpenAI

    with fake_llm.intercept([Reply(" one", choices=[" two"])]):
        found = OpenAI(model="gpt-3.5-turbo-instruct").generate(["a", "b"])

    assert [[one.text for one in generations] for generations in found.generations] == [[" one"], [" two"]]


@langchain
def test_langchain_made_up() -> None:
    import pydantic

    class Trip(pydantic.BaseModel):
        """A trip."""

        city: str
        days: int = pydantic.Field(ge=2)

    with fake_llm.intercept(default=Auto()):
        found = [
            chat(use_responses_api=responses).with_structured_output(Trip, method=method).invoke("Plan.")
            for responses in (False, True)
            for method in ("json_schema", "function_calling")
        ]

    assert found == [Trip(city="city", days=2)] * 4


@litellm
@pytest.mark.parametrize("stream", [False, True])
def test_litellm_completes(stream: bool) -> None:
    import litellm

    asked = {"model": "text-completion-openai/gpt-3.5-turbo-instruct"}
    with fake_llm.intercept([" a time.", " a time."]) as fake:
        chatted = litellm.completion(**asked, messages=[{"role": "user", "content": "Once upon"}], stream=stream)
        if stream:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chatted)
        else:
            text = chatted.choices[0].message.content
        completed = litellm.text_completion(**asked, prompt="Once upon")

    assert (text, completed.choices[0].text) == (" a time.", " a time.")
    assert {call.dialect for call in fake.calls} == {"openai_completions"}


@litellm
def test_litellm_searches() -> None:
    import litellm

    with fake_llm.intercept([CITED[1:], CITED]):
        answer = litellm.completion(
            model="openai/gpt-4o-search-preview",
            messages=[{"role": "user", "content": "Which colour?"}],
            web_search_options={"search_context_size": "low"},
        )
        response = litellm.responses(model="openai/gpt-5.2", input="Which colour?", tools=[{"type": "web_search"}])

    assert answer.choices[0].message.annotations[0]["url_citation"]["url"] == SKY
    assert [item.type for item in response.output] == ["web_search_call", "message"]


@litellm
def test_litellm_calls_custom_tools() -> None:
    import litellm

    tool = {"type": "custom", "name": "code", "description": "Runs it."}
    with fake_llm.intercept([ToolCall("code", "print(1)")]):
        response = litellm.responses(model="openai/gpt-5.2", input="Go", tools=[tool])

    assert (response.output[0].type, response.output[0].input) == ("custom_tool_call", "print(1)")
