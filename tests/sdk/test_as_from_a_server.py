"""A scripted fault is what a real server's is: the same bytes, served on loopback and cut in the same place, have the same outcome.

The SDK is asked twice, without retries: in a block, and at a plain HTTP server that sends what the block has sent. The exception's
class, the text before it and the tool calls before it must be the same.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import fake_llm
from _broken import COLUMNS, Column, Outcome, each_of
from _ids import shown
from _sdk_clients import Client
from fake_llm import Disconnect, EndOfStream, FakeLLM, Framing, Garbage, Reply, Stall, Thinking, ToolCall
from fake_llm._model import Pause, Response
from stacks._pairwise import pairwise
from stacks._servers import served, whole_request

PARIS = ToolCall("get_weather", {"city": "Paris", "days": [1, 2, 3]}, check=False)
TURNS = {
    "text": Reply("Žluťoučký kůň příšerně úpěl"),
    "call": Reply("Let me look.", PARIS),
    "calls": Reply(PARIS, ToolCall("get_time", {"zone": "Europe/Zürich"})),
    "thinking": Reply(Thinking("I think so"), "Yes, indeed"),
}
FRAMINGS = {
    "plain": None,
    "CRLF": Framing(newline="\r\n"),
    "pieces": Framing(split=7),
    "ascii": Framing(ascii=True),
    "compressed": Framing(gzip=True),
}
CUTS = ("at the start", "in the head", "in the middle", "near the end", "after an event", "after more events")
ENDS = ("close", "end", "garbage", "stall")
PATIENCE = {True: 0.6, False: 30.0}
"""The read time-out of a client, by whether it is what ends a call: where it isn't, a busy machine has its time."""


def placed(end: str, place: dict[str, int]) -> Any:
    """The fault of this kind at this place."""
    match end:
        case "close":
            return Disconnect(**place)
        case "end":
            return EndOfStream(**place)
        case "garbage":
            return Garbage(b'\x00{"not": <html>\r\n\r\n', **place)
        case _:
            return Stall(**place)


class Mirror:
    """A server that sends what a block has sent, and breaks where it broke."""

    def __init__(self) -> None:
        self.answer = Response(500)

    def play(self, connection: Any, over: threading.Event) -> None:
        if not whole_request(connection):
            return
        answer = self.answer
        lines = ["HTTP/1.1 200 OK", *(f"{name}: {value}" for name, value in (*answer.headers, answer.framed()))]
        connection.sendall("\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1"))
        if answer.steps is None:
            connection.sendall(answer.body)
            return
        chunked = answer.length is None
        for step in answer.steps:
            if isinstance(step, bytes):
                if step:
                    connection.sendall(b"%x\r\n%b\r\n" % (len(step), step) if chunked else step)
            elif isinstance(step, Pause):
                raise AssertionError("no turn here pauses")
            elif step.kind == "disconnect":
                return
            else:
                over.wait(5)
                return
        if chunked:
            connection.sendall(b"0\r\n\r\n")


@contextlib.contextmanager
def scripted(turn: Reply, kept: list[Response]) -> Iterator[FakeLLM]:
    """A block that keeps what it has sent."""
    with fake_llm.intercept([turn], strict=False) as fake:
        yield fake
        sent = fake.calls[0].response
        assert sent is not None
        kept.append(sent._response)


def turn_of(row: dict[str, str], size: int, seed: int) -> Reply:
    """The turn of a row; `size` is that of the answer that breaks nowhere."""
    chance = random.Random(seed)
    place = {
        "at the start": {"after_bytes": 0},
        "in the head": {"after_bytes": chance.randint(1, 40)},
        "in the middle": {"after_bytes": chance.randint(41, max(size - 41, 42))},
        "near the end": {"after_bytes": size - chance.randint(1, 40)},
        "after an event": {"after_events": 1},
        "after more events": {"after_events": 2 if row["turn"] in ("text", "thinking") else 1},
    }[row["cut"]]
    return TURNS[row["turn"]].replace(framing=FRAMINGS[row["framing"]], then=placed(row["end"], place))


def outcomes(
    column: Column, client: Client, rows: list[dict[str, str]], seed: int
) -> list[tuple[str, Outcome, Outcome]]:
    """For each row its name, what comes of it in a block, and what comes of it at a server."""
    patience = PATIENCE[any(row["end"] == "stall" for row in rows)]
    sent: list[Response] = []
    turns: list[Reply] = []

    def asked() -> Iterator[tuple[Reply, str]]:
        for number, row in enumerate(rows):
            whole = TURNS[row["turn"]].replace(framing=FRAMINGS[row["framing"]])
            yield whole, row["how"]
            turns.append(turn_of(row, len(body_of(sent[-1])), seed + number))
            yield turns[-1], row["how"]

    ours = each_of(client, asked(), lambda turn: scripted(turn, sent), patience=patience)[1::2]
    mirror = Mirror()

    @contextlib.contextmanager
    def mirrored(answer: Response) -> Iterator[None]:
        mirror.answer = answer
        yield

    with served(mirror.play) as url:
        base = url.rpartition("/v1")[0] + column.path
        real = [(answer, row["how"]) for answer, row in zip(sent[1::2], rows, strict=True)]
        theirs = each_of(client, real, mirrored, base=base, patience=patience)
    names = [f"{', '.join(row.values())}: {turn!r}" for row, turn in zip(rows, turns, strict=True)]
    return list(zip(names, ours, theirs, strict=True))


def body_of(answer: Response) -> bytes:
    return answer.body or b"".join(step for step in answer.steps or () if isinstance(step, bytes))


FACTORS = {"turn": tuple(TURNS), "framing": tuple(FRAMINGS), "how": ("stream", "whole"), "cut": CUTS, "end": ENDS}
ROWS = pairwise(FACTORS)
BRISK = [row for row in ROWS if row["end"] != "stall"]
SILENT = [row for row in ROWS if row["end"] == "stall"]
CLIENTS = [(column, client) for column in COLUMNS for client in column.flavours]
SOME = 3
"""So many of the rows each client has by default: one after the other, they have them all."""
clients = pytest.mark.parametrize(("column", "client"), CLIENTS, ids=[shown(client) for _, client in CLIENTS])
libraries = pytest.mark.parametrize(
    ("column", "client"),
    [each for each in CLIENTS if each[0].name in ("httpx", "httpx2", "requests", "aiohttp", "boto3")],
    ids=lambda value: value.name,
)


def differences(column: Column, client: Client, rows: list[dict[str, str]], seed: int = 0) -> list[Any]:
    """The rows whose outcome in a block is another than at a server."""
    if client.unable is not None or not column.here:
        pytest.skip(client.unable or f"needs {', '.join(column.needs)}")
    silent = [row for row in rows if row["end"] == "stall"]
    brisk = [row for row in rows if row["end"] != "stall"]
    found = [each for part in (brisk, silent) if part for each in outcomes(column, client, part, seed)]
    return [each for each in found if each[1] != each[2]]


@clients
def test_the_outcome_is_that_of_a_server(column: Column, client: Client) -> None:
    first = [name for _, name in CLIENTS].index(client) * SOME
    rows = [BRISK[number % len(BRISK)] for number in range(first, first + SOME)]
    assert differences(column, client, rows, seed=first) == []


@libraries
def test_the_outcome_of_a_silence_is_that_of_a_server(column: Column, client: Client) -> None:
    first = [name for _, name in CLIENTS].index(client)
    assert differences(column, client, [SILENT[first % len(SILENT)]], seed=first) == []


@pytest.mark.slow
@clients
@pytest.mark.parametrize("seed", range(3))
def test_every_outcome_is_that_of_a_server(column: Column, client: Client, seed: int) -> None:
    assert differences(column, client, ROWS, seed=1000 * seed) == []


@pytest.mark.slow
@clients
def test_every_cut_of_one_answer_is_that_of_a_server(column: Column, client: Client) -> None:
    """Each combination once, of a turn with text and calls."""
    every = product(("call",), ("plain", "pieces"), ("stream", "whole"), CUTS, ("close", "end", "garbage"))
    rows = [dict(zip(FACTORS, row, strict=True)) for row in every]
    assert differences(column, client, rows, seed=7) == []
