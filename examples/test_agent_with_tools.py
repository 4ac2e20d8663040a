"""An agent that runs tools until the model has its answer: what is fed back, and when it stops."""

import anthropic
import pytest

import fake_llm
from fake_llm import ToolCall

# --- the app -------------------------------------------------------------------------------------

STOCK = {"lamp": 3, "desk": 0}
TOOLS = [
    {
        "name": "stock_of",
        "description": "How many of an item there are.",
        "input_schema": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    }
]


def answer(question, max_rounds=4):
    client = anthropic.Anthropic()
    messages = [{"role": "user", "content": question}]
    for _ in range(max_rounds):
        message = client.messages.create(model="claude-sonnet-5", max_tokens=500, messages=messages, tools=TOOLS)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return message.content[0].text
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": [run(call) for call in calls]})
    raise RuntimeError(f"no answer after {max_rounds} rounds")


def run(call):
    result = {"type": "tool_result", "tool_use_id": call.id}
    try:
        return result | {"content": str(STOCK[call.input["item"]])}
    except KeyError as error:
        return result | {"content": f"unknown item: {error}", "is_error": True}


# --- its tests -----------------------------------------------------------------------------------


def test_the_result_of_a_tool_reaches_the_model():
    with fake_llm.intercept([ToolCall("stock_of", {"item": "lamp"}), "There are 3 lamps."]) as fake:
        assert answer("How many lamps?") == "There are 3 lamps."

    [result] = fake.calls[1].tool_results
    assert (result.name, result.text) == ("stock_of", "3")


def test_calls_of_one_turn_are_answered_together():
    both = ["Let me look.", ToolCall("stock_of", {"item": "lamp"}), ToolCall("stock_of", {"item": "desk"})]
    with fake_llm.intercept([both, "Lamps only."]) as fake:
        answer("Lamps and desks?")

    assert [result.text for result in fake.calls[1].tool_results] == ["3", "0"]


def test_the_model_is_told_of_an_item_that_is_unknown():
    with fake_llm.intercept([ToolCall("stock_of", {"item": "sofa"}), "We don't have sofas."]) as fake:
        answer("Sofas?")

    assert fake.calls[1].tool_results[0].is_error


def test_an_agent_that_never_comes_to_an_end_is_stopped():
    with fake_llm.intercept(default=ToolCall("stock_of", {"item": "lamp"})) as fake:
        with pytest.raises(RuntimeError, match="no answer after 4 rounds"):
            answer("How many lamps?")

    assert len(fake.calls) == 4
