"""Answers and conversations that are asked for again, as the openai SDK does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fake_llm
from _capability import load, needs
from _driver import Driver
from fake_llm import Error, Raw, Reply, ToolCall

pytestmark = needs("openai>=2")
openai = load("openai")

CLIENTS: dict[str, Callable[[], Any]] = {
    "sync": lambda: openai.OpenAI(max_retries=0),
    "async": lambda: openai.AsyncOpenAI(max_retries=0),
    "azure": lambda: openai.AzureOpenAI(
        azure_endpoint="https://here.openai.azure.com", api_key="key", api_version="preview", max_retries=0
    ),
}
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}
ASKED: dict[str, Any] = {"model": "gpt-5", "input": "Hi"}


@pytest.fixture(params=CLIENTS)
def ask(request: pytest.FixtureRequest) -> Any:
    with fake_llm.intercept():
        driver = Driver(CLIENTS[request.param]())
    yield driver
    driver.close()


# --- responses ----------------------------------------------------------------------------------


@fake_llm.intercept([["Let me look.", ToolCall("look", {})], "Bye."])
def test_a_response_is_found_again_until_it_is_deleted(ask: Driver) -> None:
    made = ask("responses.create", **ASKED, tools=[TOOL])
    other = ask("responses.create", **ASKED)

    found = ask("responses.retrieve", made.id)
    if not ask.azure:  # which filters content, and says so only once
        assert found.model_dump() == made.model_dump()
    assert [item.type for item in found.output] == ["message", "function_call"]
    assert [item.id for item in found.output] == [item.id for item in made.output]

    ask("responses.delete", made.id)
    with pytest.raises(openai.NotFoundError, match=f"Response with id '{made.id}' not found."):
        ask("responses.retrieve", made.id)
    with pytest.raises(openai.NotFoundError):
        ask("responses.delete", made.id)
    assert ask("responses.retrieve", other.id).output_text == "Bye."


@fake_llm.intercept(["One."])
def test_a_streamed_response_is_found_with_the_ids_that_were_sent(ask: Driver) -> None:
    events = ask("responses.create", **ASKED, stream=True)
    done = events[-1].response

    found = ask("responses.retrieve", done.id)
    assert (found.output_text, found.output[0].id) == ("One.", done.output[0].id)


@fake_llm.intercept(["One."])
def test_a_response_that_is_not_to_be_stored_is_gone(ask: Driver) -> None:
    made = ask("responses.create", **ASKED, store=False)

    with pytest.raises(openai.NotFoundError):
        ask("responses.retrieve", made.id)
    with pytest.raises(openai.BadRequestError, match=f"Previous response with id '{made.id}' not found.") as caught:
        ask("responses.create", **ASKED, previous_response_id=made.id)
    if not ask.azure:
        assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")


@fake_llm.intercept(["One."])
def test_the_items_that_were_sent(ask: Driver) -> None:
    made = ask(
        "responses.create",
        model="gpt-5",
        input=[
            {"role": "user", "content": "Weather?"},
            {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
        ],
    )

    items = ask("responses.input_items.list", made.id, order="asc")
    assert [item.type for item in items] == ["message", "function_call", "function_call_output"]
    assert items[0].content[0].text == "Weather?"
    assert len({item.id for item in items}) == 3
    assert [item.id for item in ask("responses.input_items.list", made.id, limit=1)] == [
        item.id for item in reversed(items)
    ], "the pages of an iterator"


def test_unknown_ids_are_not_found(ask: Driver) -> None:
    with fake_llm.intercept() as fake:
        for path in ("retrieve", "cancel", "delete", "input_items.list"):
            with pytest.raises(openai.NotFoundError, match="Response with id 'resp_of_yesterday' not found"):
                ask(f"responses.{path}", "resp_of_yesterday")
    assert (len(fake.calls), len(fake.side_calls)) == (0, 4)


def test_an_answer_that_was_scripted_verbatim_can_be_built_on(ask: Driver) -> None:
    with fake_llm.intercept(["One."]):
        document = ask("responses.create", **ASKED).model_dump(mode="json", exclude_unset=True)
    document["id"] = "resp_of_mine"
    with fake_llm.intercept([Raw(document), "Two."]) as fake:
        first = ask("responses.create", **ASKED)
        assert ask("responses.create", **ASKED, previous_response_id=first.id).output_text == "Two."
        assert ask("responses.retrieve", "resp_of_mine").output_text == "One."
    assert len(fake.calls) == 2


# --- in the background --------------------------------------------------------------------------


def test_what_runs_in_the_background_is_done_after_the_same_polls(ask: Driver) -> None:
    told = []
    for _ in range(2):
        with fake_llm.intercept(["Done."]) as fake:
            made = ask("responses.create", **ASKED, background=True)
            assert (made.output, made.usage) == ([], None)
            states = [made.status]
            while made.status in ("queued", "in_progress"):
                made = ask("responses.retrieve", made.id)
                states.append(made.status)
        assert made.output_text == "Done."
        assert (len(fake.calls), fake.calls[0].usage.total) == (1, made.usage.total_tokens)
        told.append(states)
    assert told == [["queued", "in_progress", "completed"]] * 2


@fake_llm.intercept(["Never.", "Done.", "At once."])
def test_what_runs_in_the_background_is_cancelled(ask: Driver) -> None:
    made = ask("responses.create", **ASKED, background=True)
    assert ask("responses.cancel", made.id).status == "cancelled"
    found = ask("responses.retrieve", made.id)
    assert (found.status, found.output) == ("cancelled", [])

    done = ask("responses.create", **ASKED, background=True)
    for _ in range(2):
        ask("responses.retrieve", done.id)
    assert ask("responses.cancel", done.id).status == "completed"

    at_once = ask("responses.create", **ASKED)
    with pytest.raises(openai.BadRequestError, match="Cannot cancel a synchronous response"):
        ask("responses.cancel", at_once.id)


@fake_llm.intercept(["Once upon a time."])
def test_a_stream_in_the_background_is_taken_up_again(ask: Driver) -> None:
    events = ask("responses.create", **ASKED, background=True, stream=True)
    assert [event.type for event in events[:3]] == ["response.created", "response.queued", "response.in_progress"]
    assert events[0].response.status == "queued"

    rest = ask("responses.retrieve", events[0].response.id, stream=True, starting_after=4)
    assert [(event.sequence_number, event.type) for event in rest] == [
        (event.sequence_number, event.type) for event in events[5:]
    ]


# --- conversations ------------------------------------------------------------------------------


@fake_llm.intercept([["Let me look.", ToolCall("look", {})], "It's Ann."])
def test_a_conversation_goes_on(ask: Driver, fake_llm: fake_llm.FakeLLM) -> None:
    talk = ask("conversations.create", items=[{"type": "message", "role": "user", "content": "My name is Ann."}])
    first = ask("responses.create", model="gpt-5", input="Who am I?", conversation=talk.id, tools=[TOOL])
    assert first.conversation.id == talk.id
    [call] = [item for item in first.output if item.type == "function_call"]
    fed = {"type": "function_call_output", "call_id": call.call_id, "output": "Ann"}
    last = ask("responses.create", model="gpt-5", input=[fed], conversation={"id": talk.id})

    assert last.output_text == "It's Ann."
    assert [(said.role, said.text) for said in fake_llm.calls[1].conversation] == [
        ("user", "My name is Ann."),
        ("user", "Who am I?"),
        ("assistant", "Let me look."),
        ("tool", "Ann"),
    ]
    assert fake_llm.calls[1].tool_results[0].id == call.call_id
    items = ask("conversations.items.list", talk.id, order="asc")
    assert [item.type for item in items] == [
        *("message", "message", "message", "function_call"),
        *("function_call_output", "message"),
    ]


@fake_llm.intercept()
def test_items_of_a_conversation(ask: Driver) -> None:
    talk = ask("conversations.create", metadata={"user": "ann"})
    assert ask("conversations.retrieve", talk.id).metadata == {"user": "ann"}
    assert ask("conversations.update", talk.id, metadata={"user": "bob"}).metadata == {"user": "bob"}
    items = [{"type": "message", "role": "user", "content": str(number)} for number in range(25)]
    for start in (0, 20):
        ask("conversations.items.create", talk.id, items=items[start : start + 20])

    listed = ask("conversations.items.list", talk.id)
    assert [item.content[0].text for item in listed] == [str(number) for number in reversed(range(25))]
    one = ask("conversations.items.retrieve", listed[3].id, conversation_id=talk.id)
    assert one.content[0].text == "21"
    assert ask("conversations.items.delete", listed[3].id, conversation_id=talk.id).id == talk.id
    assert len(ask("conversations.items.list", talk.id)) == 24
    with pytest.raises(openai.NotFoundError, match="Item with id"):
        ask("conversations.items.retrieve", listed[3].id, conversation_id=talk.id)


@fake_llm.intercept()
def test_a_conversation_that_is_gone(ask: Driver) -> None:
    talk = ask("conversations.create")
    assert ask("conversations.delete", talk.id).deleted is True
    for path in ("retrieve", "delete", "items.list"):
        with pytest.raises(openai.NotFoundError, match=f"Conversation with id '{talk.id}' not found."):
            ask(f"conversations.{path}", talk.id)
    with pytest.raises(openai.NotFoundError, match="Conversation with id"):
        ask("responses.create", **ASKED, conversation=talk.id)


# --- chat completions ---------------------------------------------------------------------------

CHAT: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}


@fake_llm.intercept(["One.", "Two.", "Three."])
def test_a_stored_completion(ask: Driver) -> None:
    made = ask("chat.completions.create", **CHAT, store=True, metadata={"kind": "a"})
    streamed = ask("chat.completions.create", **CHAT, store=True, metadata={"kind": "b"}, stream=True)
    ask("chat.completions.create", **CHAT)

    found = ask("chat.completions.retrieve", made.id)
    assert (found.choices[0].message.content, found.usage.total_tokens) == ("One.", made.usage.total_tokens)
    assert ask("chat.completions.retrieve", streamed[-1].id).choices[0].message.content == "Two."
    assert [each.id for each in ask("chat.completions.list")] == [made.id, streamed[-1].id]
    assert [each.id for each in ask("chat.completions.list", metadata={"kind": "b"})] == [streamed[-1].id]
    assert [each.content for each in ask("chat.completions.messages.list", made.id)] == ["Hi"]
    assert ask("chat.completions.update", made.id, metadata={"kind": "c"}).metadata == {"kind": "c"}
    assert ask("chat.completions.delete", made.id).deleted is True
    with pytest.raises(openai.NotFoundError, match="Chat completion with id"):
        ask("chat.completions.retrieve", made.id)


# --- whose it is --------------------------------------------------------------------------------


def test_nothing_leaks(ask: Driver) -> None:
    with fake_llm.intercept(["One.", "Two."]) as fake:
        made = ask("responses.create", **ASKED)
        with fake_llm.intercept(["Inner."]), pytest.raises(openai.NotFoundError):
            ask("responses.create", model="gpt-5", input="Another")  # the same request has the same ids
            ask("responses.retrieve", made.id)
        with fake.copy(strict=False).mount(ask._client), pytest.raises(openai.NotFoundError):
            ask("responses.retrieve", made.id)
        ask("responses.create", **ASKED)
        fake.reset()
        with pytest.raises(openai.NotFoundError):
            ask("responses.retrieve", made.id)
    with fake_llm.intercept(), pytest.raises(openai.NotFoundError):
        ask("responses.retrieve", made.id)


@fake_llm.intercept([Reply("One.", id="resp_mine")])
def test_an_id_of_ones_own(ask: Driver) -> None:
    ask("responses.create", **ASKED)
    assert ask("responses.retrieve", "resp_mine").output_text == "One."


# --- what is none -------------------------------------------------------------------------------

WRONG_ITEMS: list[tuple[Any, str]] = [
    ([{"type": []}], "Invalid type for 'items[0].type': expected a string, but got an array instead."),
    ([{"role": "user", "content": 5}], "Invalid type for 'items[0].content'"),
    ([{"role": "nobody", "content": "x"}], "Invalid value: 'nobody'."),
    ([5], "Invalid type for 'items[0]'"),
    ("x", "Invalid type for 'items': expected an array of objects, but got a string instead."),
]


@pytest.mark.parametrize(("items", "message"), WRONG_ITEMS, ids=[str(items) for items, _ in WRONG_ITEMS])
def test_items_that_are_none_are_refused(ask: Driver, items: Any, message: str) -> None:
    with fake_llm.intercept() as fake:
        with pytest.raises(openai.BadRequestError) as caught:
            ask("conversations.create", items=items)
        assert message in str(caught.value)
        made = ask("conversations.create")
        with pytest.raises(openai.BadRequestError) as caught:
            ask("conversations.items.create", made.id, items=items)
        assert message in str(caught.value)
    assert fake.failures == []


@pytest.mark.parametrize("metadata", ["x", ["x"], {"a": {"b": "c"}}, {"a": 5}], ids=str)
def test_metadata_that_is_none_is_refused(ask: Driver, metadata: Any) -> None:
    with fake_llm.intercept(["One."]) as fake:
        with pytest.raises(openai.BadRequestError, match="Invalid type for 'metadata"):
            ask("conversations.create", metadata=metadata)
        made = ask("conversations.create", metadata={"a": "b"})
        with pytest.raises(openai.BadRequestError, match="Invalid type for 'metadata"):
            ask("conversations.update", made.id, metadata=metadata)
        asked = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}], "store": True}
        chat = ask("chat.completions.create", **asked)
        with pytest.raises(openai.BadRequestError, match="Invalid type for 'metadata"):
            ask("chat.completions.update", chat.id, metadata=metadata)
        assert ask("conversations.retrieve", made.id).metadata == {"a": "b"}
    assert fake.failures == []


def test_a_response_that_failed_in_its_stream_is_kept_as_it_ended() -> None:
    with fake_llm.intercept([Reply("Hello there", then=Error("server_error", after_events=4))]):
        client = openai.OpenAI(max_retries=0)
        stream = iter(client.responses.create(model="gpt-4o", input="Hi", stream=True))
        begun: Any = next(stream)
        with pytest.raises(openai.APIError):
            list(stream)
        kept = client.responses.retrieve(begun.response.id)
    assert (kept.status, kept.error and kept.error.code) == ("failed", "server_error")
