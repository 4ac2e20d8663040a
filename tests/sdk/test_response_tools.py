"""Tools of OpenAI's own and citations, as the openai SDK reads them from Responses: whole, streamed and by its helper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

import fake_llm
from _capability import has, needs
from fake_llm import Citation, FakeLLM, Reply, ScriptMismatchError, ServerTool, Thinking, ToolCall

pytestmark = needs("openai>=2")
MODES = ("whole", "stream", "helper")
ASKED: dict[str, Any] = {"model": "gpt-5.2", "input": "What is new?"}
WEB: dict[str, Any] = {"type": "web_search"}
FILES: dict[str, Any] = {"type": "file_search", "vector_store_ids": ["vs_1"]}
CODE: dict[str, Any] = {"type": "code_interpreter", "container": {"type": "auto"}}
WIKI: dict[str, Any] = {
    "type": "mcp",
    "server_label": "wiki",
    "server_url": "https://wiki.example",
    "require_approval": "never",
}
FOUND = [{"url": "https://a.example", "title": "A", "text": "About A."}]
ADDED = "response.output_item.added"
DONE = "response.output_item.done"
TOTAL = "total = 1 + 1\nprint(total)"


def client() -> Any:
    import openai

    return openai.OpenAI(max_retries=0, _strict_response_validation=True)


def ask(mode: str, **options: Any) -> tuple[Any, list[Any]]:
    """The response, and the events that it came in."""
    asked = {**ASKED, **options}
    if mode == "whole":
        return client().responses.create(**asked), []
    if mode == "helper":
        with client().responses.stream(**asked) as stream:
            return stream.get_final_response(), []
    events = list(client().responses.create(**asked, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    response = events[-1].response
    done = [event.item for event in events if event.type == DONE]
    assert [item.to_dict() for item in done] == [item.to_dict() for item in response.output]
    return response, events


@dataclass(frozen=True, kw_only=True)
class Row:
    """One tool: what is scripted and offered, the kinds of items, the fields of the last, the events between added and done."""

    part: Any
    tool: dict[str, Any]
    items: tuple[str, ...]
    fields: Mapping[str, Any]
    events: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    check: Callable[[Any], bool] = field(default=lambda item: True)
    newest: bool = False
    """Whether only the newest generation of the SDK has a type for it."""


def searched(kind: str) -> tuple[str, ...]:
    return tuple(f"response.{kind}.{state}" for state in ("in_progress", "searching", "completed"))


LISTED = [{"name": "ask", "input_schema": {"type": "object"}, "description": "Ask.", "annotations": None}]
ASK = {"name": "ask", "arguments": {"question": "Who?"}}
MCP = ("response.mcp_call.in_progress", "response.mcp_call_arguments.delta", "response.mcp_call_arguments.done")
COMMAND = tuple(f"response.shell_call_command.{state}" for state in ("added", "delta", "done"))

ROWS = {
    "web search": Row(
        part=ServerTool("web_search", {"query": "news"}, FOUND),
        tool=WEB,
        items=("web_search_call",),
        fields={"action": {"type": "search", "queries": ["news"], "query": "news"}, "status": "completed"},
        events=searched("web_search_call"),
    ),
    "web search with sources": Row(
        part=ServerTool("web_search", {"query": "news"}, FOUND, "ws_mine"),
        tool=WEB,
        include=("web_search_call.action.sources",),
        items=("web_search_call",),
        fields={"id": "ws_mine"},
        check=lambda item: [source.url for source in item.action.sources] == ["https://a.example"],
    ),
    "page": Row(
        part=ServerTool("web_fetch", {"url": "https://a.example"}),
        tool=WEB,
        items=("web_search_call",),
        fields={"action": {"type": "open_page", "url": "https://a.example"}},
    ),
    "failed search": Row(
        part=ServerTool("web_search", {"query": "news"}, error="unavailable"),
        tool=WEB,
        items=("web_search_call",),
        fields={"status": "failed"},
        events=searched("web_search_call")[:2],
    ),
    "file search": Row(
        part=ServerTool("file_search", {"query": "who"}, FOUND),
        tool=FILES,
        items=("file_search_call",),
        fields={"queries": ["who"], "results": None},
        events=searched("file_search_call"),
    ),
    "file search with results": Row(
        part=ServerTool("file_search", {"queries": ["who", "what"]}, FOUND),
        tool=FILES,
        include=("file_search_call.results",),
        items=("file_search_call",),
        fields={"queries": ["who", "what"]},
        check=lambda item: (item.results[0].filename, item.results[0].text) == ("A", "About A."),
    ),
    "code": Row(
        part=ServerTool("code_execution", {"code": TOTAL}, "2\n"),
        tool=CODE,
        items=("code_interpreter_call",),
        fields={"code": TOTAL, "outputs": None},
        events=(
            "response.code_interpreter_call.in_progress",
            "response.code_interpreter_call_code.delta",
            "response.code_interpreter_call_code.done",
            "response.code_interpreter_call.interpreting",
            "response.code_interpreter_call.completed",
        ),
        check=lambda item: item.container_id.startswith("cntr_"),
    ),
    "code with outputs": Row(
        part=ServerTool("code_interpreter", {"code": TOTAL}, {"stdout": "2\n", "stderr": "", "return_code": 0}),
        tool=CODE,
        include=("code_interpreter_call.outputs",),
        items=("code_interpreter_call",),
        fields={"outputs": [{"type": "logs", "logs": "2\n"}]},
    ),
    "mcp": Row(
        part=ServerTool("mcp", ASK, "Ada."),
        tool=WIKI,
        items=("mcp_call",),
        fields={"name": "ask", "arguments": '{"question":"Who?"}', "output": "Ada.", "server_label": "wiki"},
        events=(*MCP, "response.mcp_call.completed"),
    ),
    "failed mcp": Row(
        part=ServerTool("mcp", ASK, error="It broke."),
        tool=WIKI,
        items=("mcp_call",),
        fields={"status": "failed", "output": None},
        newest=True,
        events=(*MCP, "response.mcp_call.failed"),
    ),
    "mcp tools": Row(
        part=ServerTool("mcp_list_tools", {"server": "wiki"}, LISTED),
        tool=WIKI,
        items=("mcp_list_tools",),
        fields={"tools": LISTED, "server_label": "wiki"},
        events=("response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed"),
    ),
    "mcp approval": Row(
        part=ServerTool("mcp_approval_request", ASK),
        tool=WIKI,
        items=("mcp_approval_request",),
        fields={"name": "ask", "server_label": "wiki"},
    ),
    "tool search": Row(
        part=ServerTool(
            "tool_search", {"paths": ["ask"]}, [{"type": "function", "name": "ask", "parameters": {}, "strict": True}]
        ),
        tool={"type": "tool_search"},
        items=("tool_search_call", "tool_search_output"),
        fields={"execution": "server"},
        check=lambda item: item.tools[0].name == "ask",
    ),
    "image": Row(
        part=ServerTool("image_generation", {"quality": "low"}, "QUJD"),
        tool={"type": "image_generation"},
        items=("image_generation_call",),
        fields={"result": "QUJD"},
        events=tuple(f"response.image_generation_call.{state}" for state in ("in_progress", "generating", "completed")),
    ),
    "hosted shell": Row(
        part=ServerTool("shell", {"commands": ["ls"]}, {"stdout": "a.txt", "return_code": 0}),
        tool={"type": "shell", "environment": {"type": "container_auto"}},
        items=("shell_call", "shell_call_output"),
        fields={"status": "completed"},
        events=COMMAND,
        newest=True,
        check=lambda item: (item.output[0].stdout, item.output[0].outcome.exit_code) == ("a.txt", 0),
    ),
    "shell": Row(
        part=ToolCall("shell", {"commands": ["ls"]}, "call_1"),
        tool={"type": "shell"},
        items=("shell_call",),
        fields={"call_id": "call_1"},
        events=COMMAND,
        newest=True,
        check=lambda item: item.action.commands == ["ls"],
    ),
    "local shell": Row(
        part=ToolCall("local_shell", {"command": ["ls", "-l"]}),
        tool={"type": "local_shell"},
        items=("local_shell_call",),
        fields={"action": {"type": "exec", "command": ["ls", "-l"], "env": {}}},
    ),
    "patch": Row(
        part=ToolCall("apply_patch", {"type": "create_file", "path": "a.py", "diff": "+a = 1"}),
        tool={"type": "apply_patch"},
        items=("apply_patch_call",),
        fields={"operation": {"type": "create_file", "path": "a.py", "diff": "+a = 1"}},
    ),
    "computer": Row(
        part=ToolCall("computer", {"type": "click", "button": "left", "x": 1, "y": 2}),
        tool={"type": "computer_use_preview", "display_width": 9, "display_height": 9, "environment": "browser"},
        items=("computer_call",),
        fields={"action": {"type": "click", "button": "left", "x": 1, "y": 2}, "pending_safety_checks": []},
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ROWS)
def test_a_tool_is_read(name: str, mode: str) -> None:
    row = ROWS[name]
    if row.newest and not has("openai>=3"):
        pytest.skip("needs openai>=3")
    with fake_llm.intercept([[row.part, "Done."]]) as fake:
        response, events = ask(mode, tools=[row.tool], include=list(row.include))

    *items, message = response.output
    assert tuple(item.type for item in items) == row.items
    assert (message.type, response.output_text, response.status) == ("message", "Done.", "completed")
    assert {key: items[-1].to_dict()[key] for key in row.fields} == dict(row.fields)
    assert row.check(items[-1])
    assert len(fake.calls) == 1
    if events:
        first = [event.type for event in events if getattr(event, "output_index", None) == 0]
        assert (first[0], first[-1]) == (ADDED, DONE)
        assert tuple(dict.fromkeys(first[1:-1])) == (row.events or tuple(dict.fromkeys(first[1:-1])))


def test_what_is_streamed_of_code_adds_up() -> None:
    with fake_llm.intercept([ServerTool("code_execution", {"code": TOTAL})]):
        _, events = ask("stream", tools=[CODE])

    pieces = [event.delta for event in events if event.type == "response.code_interpreter_call_code.delta"]
    assert "".join(pieces) == TOTAL
    assert len(pieces) > 1
    assert next(event.item.code for event in events if event.type == ADDED) == ""


def test_a_search_is_counted() -> None:
    with fake_llm.intercept(
        [[ServerTool("web_search", {"query": "a"}), ServerTool("web_search", {"query": "b"}), "x"]]
    ):
        response, _ = ask("whole", tools=[WEB])

    assert response.to_dict()["tool_usage"]["web_search"] == {"num_requests": 2}


def test_what_the_client_answers_is_a_tool_like_others() -> None:
    with fake_llm.intercept([ToolCall("shell", {"commands": ["ls"]}), "One file."]) as fake:
        first, _ = ask("whole", tools=[{"type": "shell"}])
        (call,) = first.output
        output = [{"stdout": "a.txt", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
        result = {"type": "shell_call_output", "call_id": call.call_id, "output": output}
        last, _ = ask("whole", tools=[{"type": "shell"}], input=[*first.output, result])

    assert last.output_text == "One file."
    assert list(fake.calls[0].tools) == ["shell"]
    assert [(found.name, found.text) for found in fake.calls[1].tool_results] == [("shell", "a.txt")]


def test_compaction() -> None:
    managed = [{"type": "compaction", "compact_threshold": 1000}]
    with fake_llm.intercept([["Long.", ServerTool("compaction", {}, "gAAAAAsecret")]]):
        response, _ = ask("whole", extra_body={"context_management": managed})

    assert response.output[-1].to_dict()["encrypted_content"] == "gAAAAAsecret"


@pytest.mark.parametrize("mode", MODES)
def test_citations(mode: str) -> None:
    said = [
        ServerTool("web_search", {"query": "sky"}, FOUND),
        "The sky is ",
        Citation("blue", "https://sky.example", title="Sky"),
        ", says ",
        Citation("the file", "file-1", title="sky.txt"),
        " and ",
        Citation("the plot", "cntr_1/cfile_2", title="plot.png"),
        ".",
    ]
    with fake_llm.intercept([said]) as fake:
        response, events = ask(mode, tools=[WEB, FILES, CODE])

    text = response.output_text
    assert text == "The sky is blue, says the file and the plot."
    (content,) = response.output[-1].content
    web, file, made = content.annotations
    assert (web.type, text[web.start_index : web.end_index]) == ("url_citation", "blue")
    assert (web.url, web.title) == ("https://sky.example", "Sky")
    assert (file.type, file.file_id, file.filename, file.index) == ("file_citation", "file-1", "sky.txt", 30)
    assert (made.type, made.container_id, made.file_id) == ("container_file_citation", "cntr_1", "cfile_2")
    assert text[made.start_index : made.end_index] == "the plot"
    assert len(fake.calls) == 1
    if events:
        added = [event for event in events if event.type == "response.output_text.annotation.added"]
        assert [event.annotation_index for event in added] == [0, 1, 2]
        said_before = ""
        for event in events:
            if event.type == "response.output_text.delta":
                said_before += event.delta
            elif event in added:
                note = content.annotations[event.annotation_index]
                assert len(said_before) == (note.index if note.type == "file_citation" else note.end_index)


@pytest.mark.parametrize(
    ("part", "tools", "told"),
    [
        (ServerTool("web_search", {"query": "a"}), [], "The request offers no tools that the provider runs."),
        (ServerTool("web_search", {"query": "a"}), [CODE], "The request offers 'code_execution', 'code_interpreter'"),
        (ToolCall("shell", {"commands": []}), [WEB], "The request offers no tools."),
    ],
)
def test_what_is_not_offered_is_a_mismatch(part: Any, tools: list[Any], told: str) -> None:
    with pytest.raises(ScriptMismatchError, match=told), fake_llm.intercept([part]):
        ask("whole", tools=tools)


def test_a_tool_choice_of_none_rules_it_out() -> None:
    with pytest.raises(ScriptMismatchError, match="allows no tool"), fake_llm.intercept([ServerTool("web_search")]):
        ask("whole", tools=[WEB], tool_choice="none")


def test_a_model_that_misbehaves() -> None:
    with fake_llm.intercept([Reply(ServerTool("web_search", {"query": "a"}), check=False)]):
        response, _ = ask("whole")

    assert response.output[0].type == "web_search_call"


@pytest.mark.parametrize(
    ("part", "tool", "told"),
    [
        (ServerTool("x_search", {"query": "a"}), {"type": "x_search"}, "OpenAI Responses has web_search"),
        (ServerTool("mcp", {"query": "a"}), WIKI, "has a name and arguments"),
    ],
)
def test_what_openai_has_not_is_a_mismatch(part: Any, tool: Any, told: str) -> None:
    with pytest.raises(ScriptMismatchError, match=told), fake_llm.intercept([part]):
        ask("whole", tools=[tool])


@fake_llm.intercept([[ServerTool("mcp", {"server": "mine", **ASK}, {"a": 1}), "x"]])
def test_an_mcp_server_that_the_turn_names(fake: FakeLLM) -> None:
    response, _ = ask("whole", tools=[WIKI])

    assert (response.output[0].server_label, response.output[0].output) == ("mine", '{"a":1}')


@pytest.mark.parametrize("mode", MODES)
def test_encrypted_reasoning(mode: str) -> None:
    include = ["reasoning.encrypted_content"]
    with fake_llm.intercept([[Thinking("Hm.", signature="gAAAAAmine"), "Yes."], [Thinking("So."), "No."]]):
        first, _ = ask(mode, include=include, reasoning={"summary": "auto"})
        second, _ = ask(mode, include=include, input=[*first.output, {"role": "user", "content": "And?"}])

    assert first.output[0].encrypted_content == "gAAAAAmine"
    assert first.output[0].summary[0].text == "Hm."
    assert second.output[0].encrypted_content.startswith("gAAAAA")


@pytest.mark.parametrize("mode", ["whole", "stream"])
@pytest.mark.parametrize(
    ("word", "status"), [("length", "incomplete"), ("content_filter", "incomplete"), ("failed", "failed")]
)
def test_answers_that_do_not_come_to_their_end(word: str, status: str, mode: str) -> None:
    with fake_llm.intercept([Reply("Once", finish_reason=word)]):
        response, events = ask(mode)

    assert response.status == status
    assert (response.error is not None) is (status == "failed")
    if events:
        assert events[-1].type == f"response.{status}"
