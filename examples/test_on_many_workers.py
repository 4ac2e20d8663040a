"""`pytest -n auto`: there is no server and no port to share, and answers are the same on each worker, byte for byte.

So what is written of a conversation can be compared as a whole.
"""

import json

import anthropic
import pytest

import fake_llm
from fake_llm import ToolCall

# --- the app -------------------------------------------------------------------------------------

CONVERT = {
    "name": "convert",
    "description": "Convert an amount.",
    "input_schema": {"type": "object", "properties": {"amount": {"type": "number"}, "to": {"type": "string"}}},
}


def convert_all(amounts, log):
    """Ask for each amount, and write what was answered to a log, a line each."""
    client = anthropic.Anthropic()
    with log.open("w") as lines:
        for amount in amounts:
            message = client.messages.create(
                model="claude-sonnet-5",
                max_tokens=100,
                messages=[{"role": "user", "content": f"{amount} euros in dollars"}],
                tools=[CONVERT],
            )
            lines.write(json.dumps(message.to_dict(), sort_keys=True) + "\n")


# --- its tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("run", range(4))  # on as many workers as there are
def test_the_log_is_the_same_on_each_worker(run, tmp_path):
    logs = []
    for name in ("first", "second"):
        with fake_llm.intercept(default=ToolCall("convert", {"amount": 5, "to": "USD"})):
            convert_all([5, 6], tmp_path / name)
        logs.append((tmp_path / name).read_text())

    assert logs[0] == logs[1]
    ids = [json.loads(line)["id"] for line in logs[0].splitlines()]
    assert len(set(ids)) == 2


@pytest.mark.parametrize("run", range(4))
def test_a_test_sees_its_own_calls_only(run, tmp_path):
    with fake_llm.intercept(["5.80", "6.96"]) as fake:
        convert_all([5, 6], tmp_path / "log")

    assert [call.last_user_text for call in fake.calls] == ["5 euros in dollars", "6 euros in dollars"]
