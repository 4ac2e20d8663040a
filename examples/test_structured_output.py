"""Answers that are data: a Pydantic model is the turn, and the request's own schema checks it."""

from datetime import date

import pytest
from google import genai
from pydantic import BaseModel

import fake_llm
from fake_llm import Reply, ScriptMismatchError

# --- the app -------------------------------------------------------------------------------------


class Line(BaseModel):
    what: str
    cents: int


class Invoice(BaseModel):
    number: str
    due: str
    lines: list[Line]

    @property
    def total(self):
        return sum(line.cents for line in self.lines)


class Unreadable(Exception):
    """The model's answer is no invoice."""


def read_invoice(text):
    client = genai.Client()
    response = client.models.generate_content(
        model="gemini-3-pro",
        contents=f"Read this invoice:\n{text}",
        config={"response_mime_type": "application/json", "response_schema": Invoice},
    )
    if not isinstance(response.parsed, Invoice):
        raise Unreadable(response.candidates[0].finish_reason.name)
    return response.parsed


def is_overdue(invoice, today):
    return date.fromisoformat(invoice.due) < today


# --- its tests -----------------------------------------------------------------------------------

INVOICE = Invoice(number="R-7", due="2026-11-01", lines=[Line(what="Paper", cents=450), Line(what="Ink", cents=1900)])


def test_an_invoice_is_read():
    with fake_llm.intercept([INVOICE]) as fake:
        invoice = read_invoice("R-7 …")

    assert invoice.total == 2350
    assert is_overdue(invoice, date(2026, 11, 30))
    assert fake.calls[0].schema["required"] == ["number", "due", "lines"]


def test_an_answer_that_was_cut_off_is_no_invoice():
    with fake_llm.intercept([Reply('{"number": "R-7", "du', finish_reason="length")]):
        with pytest.raises(Unreadable, match="MAX_TOKENS"):
            read_invoice("R-7 …")


def test_a_script_that_doesnt_fit_the_schema_is_a_mistake_in_the_test():
    with pytest.raises(ScriptMismatchError), fake_llm.intercept([{"number": 7}]):
        read_invoice("R-7 …")
