"""What Ollama's own API has beyond a chat, as its SDK reads it: prompts, images, models, hosts, words of errors."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

import fake_llm
from _capability import has, load, needs
from fake_llm import (
    Embedding,
    Error,
    FakeLLM,
    Image,
    Reply,
    ScriptError,
    ScriptMismatchError,
    Thinking,
    ToolCall,
    Usage,
)
from fake_llm._turns import ERROR_NAMES

ollama = load("ollama>=0.5")
ASKED: Any = {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Hi"}]}
SCHEMA = {"type": "object", "properties": {"sky": {"type": "string"}}, "required": ["sky"]}
PNG = b"\x89PNG\r\n\x1a\n"
newer = needs("ollama>=0.6")


@pytest.fixture
def client() -> Any:
    return ollama.Client()


def generated(stream: bool, is_async: bool, **asked: Any) -> list[Any]:
    """The parts of an answer to a prompt, one where it isn't streamed."""
    asked = {"model": "qwen3:8b", "prompt": "Why?", "stream": stream, **asked}

    async def ask() -> list[Any]:
        answer = await ollama.AsyncClient().generate(**asked)
        return [part async for part in answer] if stream else [answer]

    if is_async:
        return asyncio.run(ask())
    answer = ollama.Client().generate(**asked)
    return list(answer) if stream else [answer]


flavours = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


# --- prompts --------------------------------------------------------------------------------------


@flavours
@ways
def test_a_prompt_is_answered(stream: bool, is_async: bool) -> None:
    with fake_llm.intercept([Reply(Thinking("Hm, so."), "It is so & so.", usage=Usage(12, 7))]) as fake:
        parts = generated(stream, is_async)
    assert "".join(part.thinking or "" for part in parts) == "Hm, so."
    assert "".join(part.response for part in parts) == "It is so & so."
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    last = parts[-1]
    assert (last.done_reason, last.prompt_eval_count, last.eval_count) == ("stop", 12, 7)
    assert last.total_duration == last.load_duration + last.prompt_eval_duration + last.eval_duration
    call = fake.calls[0]
    assert (call.dialect, call.operation, call.model, call.stream) == ("ollama_generate", "chat", "qwen3:8b", stream)
    assert call.user_texts == ("Why?",)


@ways
def test_all_of_a_prompt_is_read(stream: bool) -> None:
    asked = {"system": "Be brief.", "suffix": "end", "template": "{{ .Prompt }}", "context": [1, 2], "images": [PNG]}
    with fake_llm.intercept(["ok"]) as fake:
        generated(stream, False, **asked, options={"temperature": 0.5, "num_predict": 9}, think=False, keep_alive="5m")
    call = fake.calls[0]
    assert call.system == "Be brief."
    assert call.last_user_text == "Why?\n[image]"
    assert (call.params["suffix"], call.params["template"], call.params["context"]) == ("end", "{{ .Prompt }}", [1, 2])
    assert (call.params["temperature"], call.params["max_tokens"], call.params["think"]) == (0.5, 9, False)


def test_a_conversation_is_passed_on_as_numbers(client: Any) -> None:
    with fake_llm.intercept(["one", "two", "raw"]):
        first = client.generate("qwen3:8b", "Why?").context
        second = client.generate("qwen3:8b", "And then?", context=first).context
        assert client.generate("qwen3:8b", "[INST] Why? [/INST]", raw=True).context is None
    assert second[: len(first)] == first
    assert len(second) > len(first)


@ways
def test_a_schema_for_a_prompt(stream: bool) -> None:
    with fake_llm.intercept([{"sky": "blue"}]) as fake:
        parts = generated(stream, False, format=SCHEMA)
    assert json.loads("".join(part.response for part in parts)) == {"sky": "blue"}
    assert fake.calls[0].schema == SCHEMA


@ways
def test_json_mode(stream: bool, client: Any) -> None:
    with fake_llm.intercept([{"any": 1}]) as fake:
        found = client.chat(**ASKED, format="json", stream=stream)
        text = "".join(part.message.content for part in found) if stream else found.message.content
    assert json.loads(text) == {"any": 1}
    assert fake.calls[0].schema == {}


def test_a_value_off_the_schema_is_a_mistake_of_the_script(client: Any) -> None:
    with pytest.raises(ScriptMismatchError, match="sky"), fake_llm.intercept([{"sky": 5}]):
        client.chat(**ASKED, format=SCHEMA)


@pytest.mark.parametrize("turn", [ToolCall("f"), Embedding([1.0])], ids=["a tool call", "a vector"])
def test_what_a_prompt_is_never_answered_with(client: Any, turn: Any) -> None:
    with pytest.raises(ScriptMismatchError, match="Ollama generate can't carry"), fake_llm.intercept([turn]):
        client.generate("qwen3:8b", "Why?")


# --- images, logprobs, tools ----------------------------------------------------------------------


def test_an_image_in_a_chat(client: Any) -> None:
    asked = {"role": "user", "content": "What is it?", "images": [PNG]}
    with fake_llm.intercept(["A picture."]) as fake:
        assert client.chat("llava", [asked]).message.content == "A picture."
    assert fake.calls[0].last_user_text == "What is it?\n[image]"
    assert fake.calls[0].user_texts == ("What is it?",)


@newer
@ways
def test_an_image_as_the_answer_to_a_prompt(stream: bool) -> None:
    with fake_llm.intercept([Image(PNG)]):
        parts = generated(stream, False)
    assert base64.b64decode(parts[-1].image) == PNG


def test_an_image_by_its_url_is_no_answer(client: Any) -> None:
    with pytest.raises(ScriptMismatchError, match="bytes"), fake_llm.intercept([Image("https://x.example/a.png")]):
        client.chat(**ASKED)


@newer
@ways
@pytest.mark.parametrize("turn", ["It is so.", Reply("It is so.", logprobs=[("It is", -0.5), (" so.", -1.5)])])
def test_logprobs(stream: bool, client: Any, turn: Any) -> None:
    with fake_llm.intercept([turn]):
        found = client.chat(**ASKED, logprobs=True, top_logprobs=3, stream=stream)
        parts = list(found) if stream else [found]
    entries = [entry for part in parts for entry in part.logprobs or ()]
    assert "".join(entry.token for entry in entries) == "It is so."
    assert all(len(entry.top_logprobs) == 3 and entry.top_logprobs[0].token == entry.token for entry in entries)
    if isinstance(turn, Reply):
        assert [entry.logprob for entry in entries] == [-0.5, -1.5]


@newer
@ways
def test_logprobs_of_a_prompt(stream: bool) -> None:
    with fake_llm.intercept(["It is so.", "It is so."]):
        asked = generated(stream, False, logprobs=True)
        unasked = generated(stream, False)
    assert "".join(entry.token for part in asked for entry in part.logprobs or ()) == "It is so."
    assert all(part.logprobs is None for part in unasked)


def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: The city.
    """
    return f"sunny in {city}"


@flavours
def test_a_function_is_a_tool(is_async: bool) -> None:
    script = [[Thinking("Look."), ToolCall("get_weather", {"city": "Paris"})], "It is sunny."]

    async def ask(messages: list[Any]) -> Any:
        return await ollama.AsyncClient().chat("qwen3:8b", messages, tools=[get_weather])

    def chat(messages: list[Any]) -> Any:
        if is_async:
            return asyncio.run(ask(messages))
        return ollama.Client().chat("qwen3:8b", messages, tools=[get_weather])

    messages: list[Any] = [{"role": "user", "content": "Weather?"}]
    with fake_llm.intercept(script) as fake:
        answer = chat(messages)
        (call,) = answer.message.tool_calls
        result = get_weather(**call.function.arguments)
        messages += [answer.message, {"role": "tool", "tool_name": call.function.name, "content": result}]
        assert chat(messages).message.content == "It is sunny."
    assert answer.done_reason == "stop"
    (sent,) = fake.calls[1].tool_results
    assert (sent.id, sent.name, sent.text) == (None, "get_weather", "sunny in Paris")
    assert fake.calls[1].messages[1].thinking == "Look."
    assert list(fake.calls[0].tools) == ["get_weather"]


# --- what asks the model nothing ------------------------------------------------------------------


@pytest.mark.parametrize("keep_alive", [None, "5m", -1, 0, "0", "0s"])
def test_loading_a_model_takes_no_turn(client: Any, keep_alive: Any) -> None:
    unloads = keep_alive in (0, "0", "0s")
    with fake_llm.intercept(["kept"]) as fake:
        answers = [client.generate("qwen3:8b", keep_alive=keep_alive), client.chat("qwen3:8b", keep_alive=keep_alive)]
        parts = list(client.generate("qwen3:8b", keep_alive=keep_alive, stream=True))
        assert fake.remaining == 1
        assert client.chat(**ASKED).message.content == "kept"
    assert {answer.done_reason for answer in (*answers, *parts)} == {"unload" if unloads else "load"}
    assert [call.operation for call in fake.side_calls] == ["warm_up"] * 3
    assert len(fake.calls) == 1


def test_loading_is_no_call_where_calls_are_forbidden(client: Any) -> None:
    with pytest.raises(fake_llm.UnscriptedCallError), fake_llm.forbid():
        assert client.generate("qwen3:8b").done_reason == "load"
        client.generate("qwen3:8b", "Why?")


def test_the_models_that_are_there(client: Any) -> None:
    with fake_llm.intercept() as fake:
        assert "qwen3:8b" in [model.model for model in client.list().models]
        statuses = [part.status for part in client.pull("my-model", stream=True)]
        client.copy("my-model", "another:1b")
        client.create("made", from_="my-model")
        client.delete("qwen3:8b")
        names = [model.model for model in client.list().models]
        with pytest.raises(ollama.ResponseError) as caught:
            client.show("qwen3:8b")
        fake.reset()
        assert "qwen3:8b" in [model.model for model in client.list().models]
    assert (statuses[0], statuses[-1]) == ("pulling manifest", "success")
    assert {"my-model:latest", "another:1b", "made:latest"} <= set(names)
    assert "qwen3:8b" not in names
    assert (caught.value.status_code, caught.value.error) == (404, "model 'qwen3:8b' not found")
    assert not fake.calls


def test_pulls_pushes_and_makes_tell_how_far_they_are(client: Any, tmp_path: Any) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    with fake_llm.intercept() as fake:
        assert client.pull("m").status == client.push("m").status == client.create("n", from_="m").status == "success"
        (layer, *_) = [part for part in client.pull("m", stream=True) if part.completed]
        assert 0 < layer.completed <= layer.total
        assert [part.status for part in client.push("m", stream=True)][-1] == "success"
        digest = client.create_blob(file)
        assert client.create("o", files={"model.gguf": digest}).status == "success"
        assert client.ps().models == []
    assert {call.provider for call in fake.side_calls} == {"ollama"}


def test_a_model_is_looked_at(client: Any) -> None:
    with fake_llm.intercept(context_window=4096):
        shown, embeds = client.show("qwen3:8b"), client.show("nomic-embed-text")
    assert shown.modelinfo["llama.context_length"] == 4096
    assert {"completion", "tools", "thinking"} <= set(shown.capabilities or ())
    assert embeds.capabilities == ["embedding"]
    assert embeds.modelinfo["llama.embedding_length"] == 768


# --- embeddings -----------------------------------------------------------------------------------


def test_the_former_path_of_embeddings(client: Any) -> None:
    with fake_llm.intercept() as fake:
        one = client.embeddings("all-minilm", "Hello").embedding
        assert list(client.embed("all-minilm", "Hello").embeddings[0]) == list(one)
        assert list(client.embeddings("all-minilm", "").embedding) == []
        assert list(client.embed("all-minilm", []).embeddings) == []
    assert len(one) == 384
    assert [call.operation for call in fake.calls] == ["embeddings"] * 4
    assert fake.calls[0].user_texts == ("Hello",)


def test_pinned_vectors_and_errors_of_embeddings(client: Any) -> None:
    with fake_llm.intercept() as fake:
        fake.when(operation="embeddings").reply([Embedding([0.5]), Embedding([0.25])], Error(404))
        answer = client.embed("all-minilm", ["a", "b"])
        with pytest.raises(ollama.ResponseError) as caught:
            client.embed("all-minilm", "c")
    assert [list(one) for one in answer.embeddings] == [[0.5], [0.25]]
    assert answer.prompt_eval_count == 2
    assert caught.value.status_code == 404


# --- hosts and keys -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        *("gpu", "gpu:1234", "gpu/base", ":8899", "http://gpu", "https://gpu", "https://gpu:8443/base/", "0.0.0.0"),
        *("[fd00::1]", "[fd00::1]:1234/base", "http://[fd00::1]", "10.0.0.1"),
    ],
)
def test_each_form_of_a_host_in_the_environment(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    with fake_llm.intercept(["Hello!"], block_network=True) as fake:
        assert ollama.Client().chat(**ASKED).message.content == "Hello!"
        assert ollama.Client().list().models
    assert fake.calls[0].provider == "ollama"


@pytest.mark.parametrize("host", ["gpu.corp.example", "gpu.corp.example:1234/base", "localhost:1234"])
def test_a_declared_host(host: str) -> None:
    place = host if ":" in host else f"{host}:11434"
    with fake_llm.intercept(["Hello!"], hosts={place: "ollama"}):
        assert ollama.Client(host=host).chat(**ASKED).message.content == "Hello!"


def test_the_functions_of_the_module() -> None:
    with fake_llm.intercept(["one", "two"]):
        assert ollama.chat(**ASKED)["message"]["content"] == "one"
        assert "".join(part["response"] for part in ollama.generate("m", "Why?", stream=True)) == "two"


def test_one_client_is_mounted(client: Any) -> None:
    fake = FakeLLM(["Hello!"])
    with fake.mount(client):
        assert client.chat(**ASKED).message.content == "Hello!"
    assert fake.calls[0].dialect == "ollama_chat"


def test_the_cloud_with_a_key(client: Any) -> None:
    with fake_llm.intercept(["Hello!", Error("authentication")]) as fake:
        cloud = ollama.Client("https://ollama.com", headers={"Authorization": "Bearer my-secret"})
        assert cloud.chat(**ASKED).message.content == "Hello!"
        with pytest.raises(ollama.ResponseError, match="unauthorized") as caught:
            cloud.chat(**ASKED)
        assert "my-secret" not in repr(fake.calls[0].headers) + fake.transcript()
    assert caught.value.status_code == 401
    assert fake.calls[0].url == "https://ollama.com/api/chat"


@pytest.mark.usefixtures("client")
def test_a_dummy_for_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    with fake_llm.intercept(["Hello!"]) as fake:
        ollama.Client("https://ollama.com").chat(**ASKED)
    sent = fake.calls[0].headers.get("authorization")
    assert sent == ("Bearer fake-llm" if has("ollama>=0.6") else None)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ERROR_NAMES))
@ways
def test_each_error_says_something(client: Any, name: str, stream: bool) -> None:
    with fake_llm.intercept([Error(name)]) as fake, pytest.raises(ollama.ResponseError) as caught:
        list(client.chat(**ASKED, stream=stream))
    answer = fake.calls[0].response
    assert answer is not None
    assert json.loads(answer.body) == {"error": caught.value.error}
    assert caught.value.status_code == answer.status >= 400
    assert len(caught.value.error) > 8


def test_an_error_in_the_middle_of_a_stream(client: Any) -> None:
    heard: list[str] = []
    with (
        fake_llm.intercept([Reply("Once upon", then=Error("server_error", "the runner has gone"))]),
        pytest.raises(ollama.ResponseError, match="the runner has gone"),
    ):
        heard.extend(part.message.content for part in client.chat(**ASKED, stream=True))
    assert "".join(heard) == "Once upon"


def test_a_missing_model_is_named(client: Any) -> None:
    with (
        fake_llm.intercept([Error("not_found")]),
        pytest.raises(ollama.ResponseError, match="model 'qwen3:8b' not found"),
    ):
        client.chat(**ASKED)


def test_what_the_real_server_refuses(client: Any) -> None:
    with fake_llm.intercept(["kept"]) as fake:
        for asked, said in (
            ({"options": {"temperature": "hot"}}, 'option "temperature" must be of type float32 (status code: 500)'),
            ({"keep_alive": "5"}, 'time: missing unit in duration "5" (status code: 400)'),
        ):
            with pytest.raises(ollama.ResponseError) as caught:
                client.chat(**ASKED, **asked)
            assert said in str(caught.value)
        assert fake.remaining == 1
        assert client.chat(**ASKED, options={"temperature": 1, "num_ctx": 4096, "stop": ["x"]}, keep_alive=-1)


# --- the SDK's objects ----------------------------------------------------------------------------


@ways
def test_an_object_of_the_sdk_for_a_prompt(stream: bool) -> None:
    given = ollama.GenerateResponse(
        model="m",
        created_at="2026-01-01T00:00:00Z",
        response="As it is.",
        thinking="Hm.",
        done=True,
        done_reason="stop",
    )
    with fake_llm.intercept([given]):
        parts = generated(stream, False)
    assert "".join(part.response for part in parts) == "As it is."
    assert "".join(part.thinking or "" for part in parts) == "Hm."


@ways
def test_an_object_of_the_sdk_with_all_it_can_hold(stream: bool, client: Any) -> None:
    call = {"function": {"name": "f", "arguments": {"a": [1]}}}
    message = ollama.Message(role="assistant", content="Yes.", thinking="Hm.", tool_calls=[call])
    given = ollama.ChatResponse(model="m", message=message, done=True, done_reason="stop")
    with fake_llm.intercept([given]):
        found = client.chat(**ASKED, stream=stream)
        parts = [part.message for part in found] if stream else [found.message]
    assert "".join(part.content for part in parts) == "Yes."
    assert "".join(part.thinking or "" for part in parts) == "Hm."
    (heard,) = [call.function for part in parts for call in part.tool_calls or ()]
    assert (heard.name, heard.arguments) == ("f", {"a": [1]})


def test_a_part_of_an_object_of_the_sdk_is_refused() -> None:
    with pytest.raises(ScriptError, match="this is a part of one"):
        FakeLLM([ollama.Message(role="assistant", content="x")])
