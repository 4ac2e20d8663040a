"""The list of cases, as LiteLLM and LangChain hear them: each vendor that they reach, sync and async, whole and streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from _framework_clients import FRAMEWORKS

from _sdk_clients import present, skip_unless_able
from test_cases import CASES, Case, heard_as_said

pytestmark = [
    pytest.mark.usefixtures("loop"),  # LiteLLM's blocking way makes one where there is none, and leaves it open
    pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class"),  # of LiteLLM's types, by pydantic (1.110)
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_.*' attribute on the instance is deprecated"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),  # LiteLLM's logging worker
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NAMED = (
    *("text", "tool call", "parallel calls", "text and call", "tool results", "structured dict"),
    *("thinking", "refusal", "blocked", "length", "usage", "cached tokens", "picture"),
    *("bad request", "authentication", "not found", "rate limit", "server error", "overloaded", "time-out"),
)
assert {case.name for case in CASES} >= set(NAMED)


def products() -> list[Any]:
    return [
        pytest.param(case, client, mode, id=f"{client!r}-{mode}-{case.name.replace(' ', '_')}")
        for client in present(FRAMEWORKS)
        for mode in ("whole", "stream")
        for case in (CASES if client.unable is None else CASES[:1])
        if case.name in NAMED and mode in case.modes
    ]


LOSSES: Mapping[str, tuple[str, ...]] = {
    "why it ended": ("length",),
    "why a stream ended": ("length/stream",),
    "counts": ("usage",),
    "counts in a stream": ("usage/stream", "cached tokens/stream"),
    "what is said beside a call": ("text and call",),
    "calls in a stream": tuple(
        f"{name}/stream" for name in ("tool call", "parallel calls", "text and call", "tool results")
    ),
    "several calls in a stream": ("parallel calls/stream", "tool results/stream"),
    "thoughts in a stream": ("thinking/stream",),
    "streams of structured output": ("structured dict/stream",),
    "errors that it asks again after": ("rate limit/whole", "server error/whole", "overloaded/whole"),
}
"""What a framework may lose of what the vendor said, and the cases that would hear it, all of them or of streams."""


@pytest.mark.parametrize(("case", "client", "mode"), products())
def test_case(case: Case, client: Any, mode: str) -> None:
    tools = ("tools",) if case.tools or "tools" in case.ask else ()
    schema = ("structured output",) if "schema" in case.ask else ()
    skip_unless_able(client, mode, (*case.needs, *tools, *schema))
    for word in client.loses:
        if {case.name, f"{case.name}/{mode}"} & set(LOSSES[word]):
            pytest.skip(f"needs a framework that hands on: {word}")
    client.run(heard_as_said(case, client, mode))
