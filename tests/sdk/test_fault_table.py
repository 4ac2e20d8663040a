"""The table of faults in the documentation is what happens: every SDK is asked again, sync and async, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from _broken import COLUMNS, Column
from _fault_rows import OUTCOMES, SHOWN, TABLES, cells

WRITTEN: dict[str, Any] = json.loads(OUTCOMES.read_text(encoding="utf-8"))


def test_the_table_has_every_row_and_column() -> None:
    assert list(WRITTEN) == [column.name for column in SHOWN]
    for column in WRITTEN.values():
        assert {table: list(rows) for table, rows in column.items()} == {
            table: list(rows) for table, (rows, _) in TABLES.items()
        }


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_what_is_written_is_what_happens(column: Column) -> None:
    if not column.here:
        pytest.skip(f"needs {', '.join(column.needs)}")
    assert cells(column) == WRITTEN[column.name.partition(",")[0]], (
        "if that is right, PYTHONPATH=tests python tests/sdk/_fault_rows.py and python docs/_tables.py --write write it down"
    )


def test_a_fault_is_an_error_everywhere_but_where_nothing_says_so() -> None:
    """A clean end and rubbish are no errors of HTTP: whether one is noticed is the SDK's affair, and worth a test of one's own."""
    unmeasured = ("boto3", "Disconnect(after_bytes=20)")  # botocore doesn't compare a body with its length
    for name, column in WRITTEN.items():
        for table in column.values():
            for row, cell in table.items():
                if not row.startswith(("EndOfStream", "Garbage", "Error")) and (name, row) != unmeasured:
                    assert cell.startswith("`"), (name, row)
                    assert "no error" not in cell, (name, row)
