"""The table of faults: what each SDK makes of each of them. `PYTHONPATH=tests python tests/sdk/_fault_rows.py` writes it down anew.

A page of the documentation has it; a test asks again.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fake_llm
from _broken import COLUMNS, Column, Outcome, each_of
from fake_llm import Disconnect, EndOfStream, Error, Garbage, Reply, Stall

__all__ = ["OUTCOMES", "SHOWN", "TABLES", "cells"]

SAID = "Once upon"
OUTCOMES = Path(__file__).with_name("_fault_outcomes.json")
NO_ANSWER: Mapping[str, Any] = {
    "TimeoutError()": TimeoutError(),
    'TimeoutError("connect")': TimeoutError("connect"),
    'TimeoutError("write")': TimeoutError("write"),
    'TimeoutError("pool")': TimeoutError("pool"),
    "ConnectionError()": ConnectionError(),
    "socket.gaierror()": socket.gaierror(),
    "ssl.SSLCertVerificationError()": ssl.SSLCertVerificationError(),
    "ssl.SSLError()": ssl.SSLError(),
    "ConnectionResetError()": ConnectionResetError(),
    "ConnectionAbortedError()": ConnectionAbortedError(),
}
WHOLE: Mapping[str, Any] = {
    "Disconnect()": Disconnect(),
    "Disconnect(reset=True)": Disconnect(reset=True),
    "Disconnect(after_bytes=20)": Disconnect(after_bytes=20),
    "Stall()": Stall(),
    "EndOfStream()": EndOfStream(),
    "EndOfStream(after_bytes=20)": EndOfStream(after_bytes=20),
    'Garbage(b"<html>")': Garbage(b"<html>"),
    'Error("overloaded")': Error("overloaded"),
}
STREAMED: Mapping[str, Any] = {
    "Disconnect()": Disconnect(),
    "Disconnect(reset=True)": Disconnect(reset=True),
    "Disconnect(after_bytes=0)": Disconnect(after_bytes=0),
    "Stall()": Stall(),
    "EndOfStream()": EndOfStream(),
    "EndOfStream(after_bytes=0)": EndOfStream(after_bytes=0),
    'Garbage(b"<html>")': Garbage(b"<html>"),
    'Error("overloaded")': Error("overloaded"),
}
TABLES: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "no answer": (NO_ANSWER, ("whole", "stream")),
    "whole": (WHOLE, ("whole",)),
    "streamed": (STREAMED, ("stream",)),
}
"""The rows of each table, and the modes in which they are asked."""


def cells(column: Column) -> dict[str, dict[str, str]]:
    """What stands in a column, by table and row."""
    cases = [
        (fault if table == "no answer" else Reply(SAID, then=fault), mode)
        for table, (rows, modes) in TABLES.items()
        for fault in rows.values()
        for mode in modes
    ]
    flavours = [each_of(client, cases, lambda turn: fake_llm.intercept([turn])) for client in column.flavours]
    found = iter(zip(*flavours, strict=True))
    return {
        table: {row: _cell(column, [next(found) for _ in modes], table) for row in rows}
        for table, (rows, modes) in TABLES.items()
    }


def _cell(column: Column, outcomes: list[tuple[Outcome, ...]], table: str) -> str:
    """The outcomes of the modes, each of all flavours: what is the same is said once."""
    said = [[_said(column, outcome, table) for outcome in flavours] for flavours in outcomes]
    by_flavour = [" · streamed ".join(dict.fromkeys(texts)) for texts in zip(*said, strict=True)]
    return " · async ".join(dict.fromkeys(by_flavour))


def _said(column: Column, outcome: Outcome, table: str) -> str:
    error = outcome.error.removeprefix(f"{column.package}.")
    text = f"`{error}`" if error else "no error"
    if table == "streamed" and outcome.text != SAID:
        text += f", after `{outcome.text!r}`" if outcome.text else ", no text"
    elif table == "whole" and not error:
        text += f", text `{outcome.text!r}`" if outcome.text else ", no text"
    return text


SHOWN = tuple(column for column in COLUMNS if "," not in column.name)
"""The columns of the table; both of openai's languages are in one."""


if __name__ == "__main__":
    found = {column.name: cells(column) for column in SHOWN}
    OUTCOMES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
