"""Anthropic's own tools, sources of a text, containers, caches and compaction, as the anthropic SDK reads them."""

from __future__ import annotations

from typing import Any

import pytest

import fake_llm
from _capability import has, needs
from fake_llm import Citation, FakeLLM, Reply, ScriptMismatchError, ServerTool, Thinking, ToolCall, Usage

pytestmark = needs("anthropic>=0.100")

WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
WEB_FETCH = {"type": "web_fetch_20250910", "name": "web_fetch"}
CODE = {"type": "code_execution_20250825", "name": "code_execution"}
OLD_CODE = {"type": "code_execution_20250522", "name": "code_execution"}
TOOL_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
ADVISOR = {"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-4-8"}
MCP = {"mcp_servers": [{"type": "url", "name": "deepwiki", "url": "https://mcp.deepwiki.com/mcp"}]}
MANAGED = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
FACTS = "The sky is blue. Grass is green.  Snow is white."
DOCUMENT = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": FACTS},
    "title": "facts.txt",
    "citations": {"enabled": True},
}
MODES = ("whole", "stream")
newer = pytest.mark.skipif(
    not has("anthropic>=2"), reason="needs anthropic>=2"
)  # 0.125 demands a `model` that no recording has


def asked(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = [*content, {"type": "text", "text": "Well?"}]
    return {"model": "claude-sonnet-5", "max_tokens": 99, "messages": [{"role": "user", "content": said}], **more}


def answer(mode: str, **body: Any) -> Any:
    """What the SDK makes of a whole answer, or of a stream that it puts together; it validates both strictly."""
    import anthropic

    messages = anthropic.Anthropic(max_retries=0, _strict_response_validation=True).beta.messages
    if mode == "whole":
        return messages.create(**body)
    with messages.stream(**body) as stream:
        return stream.get_final_message()


def plain(block: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = block.model_dump(mode="json", exclude_none=True)
    return dumped


def said(turn: Any, mode: str, *content: dict[str, Any], **more: Any) -> Any:
    with fake_llm.intercept([turn]):
        return answer(mode, **asked(*content, **more))


@pytest.mark.parametrize("mode", MODES)
def test_web_search(mode: str) -> None:
    found = [{"url": "https://a.example", "title": "A", "text": "…", "page_age": "May 1, 2026"}, "https://b.example"]
    turn = ["Let me see.", ServerTool("web_search", {"query": "sky"}, found), "It is blue."]

    message = said(turn, mode, tools=[WEB_SEARCH])

    first, use, result, last = message.content
    assert (first.text, last.text) == ("Let me see.", "It is blue.")
    assert (use.type, use.name, use.input) == ("server_tool_use", "web_search", {"query": "sky"})
    assert use.id.startswith("srvtoolu_01")
    assert (result.type, result.tool_use_id) == ("web_search_tool_result", use.id)
    pages = [(page.url, page.title, page.page_age) for page in result.content]
    assert pages == [
        ("https://a.example", "A", "May 1, 2026"),
        ("https://b.example", "https://b.example", None),
    ]
    assert all(page.encrypted_content for page in result.content)
    assert message.stop_reason == "end_turn"
    assert message.usage.server_tool_use.web_search_requests == 1
    assert message.usage.server_tool_use.web_fetch_requests == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("given", ["It says so.", {"url": "https://a.example", "text": "It says so."}], ids=str)
def test_web_fetch(mode: str, given: Any) -> None:
    message = said([ServerTool("web_fetch", {"url": "https://a.example"}, given), "So."], mode, tools=[WEB_FETCH])

    result = message.content[1]
    assert result.content.type == "web_fetch_result"
    assert result.content.url == "https://a.example"
    assert result.content.content.source.data == "It says so."
    assert message.usage.server_tool_use.web_fetch_requests == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "tool"),
    [("code_execution", OLD_CODE), ("code_execution", CODE), ("bash_code_execution", CODE)],
)
def test_code(mode: str, name: str, tool: Any) -> None:
    message = said([ServerTool(name, {"code": "print(1)"}, "1\n"), "One."], mode, tools=[tool])

    use, result, _ = message.content
    assert (use.name, result.type) == (name, f"{name}_tool_result")
    assert plain(result.content) == {
        "type": f"{name}_result",
        "stdout": "1\n",
        "stderr": "",
        "return_code": 0,
        "content": [],
    }
    assert message.container.id.startswith("container_01")
    assert message.container.expires_at.year == 2026


@pytest.mark.parametrize("mode", MODES)
def test_code_that_fails_in_the_container_of_the_request(mode: str) -> None:
    ran = {"stderr": "no", "return_code": 1}
    turn = ServerTool("bash_code_execution", {"command": "false"}, ran)

    message = said(turn, mode, tools=[CODE], container="container_mine")

    assert (message.content[1].content.stderr, message.content[1].content.return_code) == ("no", 1)
    assert message.container.id == "container_mine"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("arguments", "given", "wanted"),
    [
        ({"command": "create", "path": "a.txt", "file_text": "x"}, {}, {"is_file_update": False}),
        (
            {"command": "view", "path": "a.txt"},
            "x\ny\n",
            {"content": "x\ny\n", "file_type": "text", "num_lines": 2, "start_line": 1, "total_lines": 2},
        ),
        ({"command": "str_replace", "path": "a.txt"}, {"lines": ["-x", "+y"]}, {"lines": ["-x", "+y"]}),
    ],
    ids=["create", "view", "str_replace"],
)
def test_the_text_editor(mode: str, arguments: Any, given: Any, wanted: Any) -> None:
    message = said(ServerTool("text_editor_code_execution", arguments, given), mode, tools=[CODE])

    kind = f"text_editor_code_execution_{arguments['command']}_result"
    assert plain(message.content[1].content) == {"type": kind, **wanted}


@pytest.mark.parametrize("mode", MODES)
def test_tool_search(mode: str) -> None:
    weather = {"name": "get_weather", "input_schema": {"type": "object"}, "defer_loading": True}
    turn = [ServerTool("tool_search", {"query": "weather"}, ["get_weather"]), ToolCall("get_weather")]

    message = said(turn, mode, tools=[TOOL_SEARCH, weather])

    use, result, call = message.content
    assert use.name == "tool_search_tool_bm25"
    assert [reference.tool_name for reference in result.content.tool_references] == ["get_weather"]
    assert (call.type, call.name, message.stop_reason) == ("tool_use", "get_weather", "tool_use")


@pytest.mark.parametrize("mode", MODES)
def test_advisor(mode: str) -> None:
    message = said([ServerTool("advisor", {}, "Ship it."), "4"], mode, tools=[ADVISOR])

    assert plain(message.content[1].content) == {
        "type": "advisor_result",
        "text": "Ship it.",
        "stop_reason": "end_turn",
    }


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("failed", [False, True])
def test_mcp(mode: str, failed: bool) -> None:
    asks = {"name": "ask", "arguments": {"repo": "a/b"}}
    tool = ServerTool("mcp", asks, error="No such repo.") if failed else ServerTool("mcp", asks, "An agent library.")

    message = said([tool, "Well."], mode, **MCP)

    use, result, _ = message.content
    assert (use.type, use.server_name, use.name, use.input) == ("mcp_tool_use", "deepwiki", "ask", {"repo": "a/b"})
    assert use.id.startswith("mcptoolu_01")
    assert (result.type, result.tool_use_id, result.is_error) == ("mcp_tool_result", use.id, failed)
    assert result.content[0].text == ("No such repo." if failed else "An agent library.")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "tool", "code"),
    [
        ("web_search", WEB_SEARCH, "max_uses_exceeded"),
        ("web_fetch", WEB_FETCH, "url_not_accessible"),
        ("code_execution", OLD_CODE, "unavailable"),
        ("bash_code_execution", CODE, "execution_time_exceeded"),
        ("text_editor_code_execution", CODE, "file_not_found"),
        ("tool_search_tool_bm25", TOOL_SEARCH, "too_many_requests"),
        ("advisor", ADVISOR, "overloaded"),
    ],
)
def test_a_tool_that_fails(mode: str, name: str, tool: Any, code: str) -> None:
    message = said([ServerTool(name, error=code), "Sorry."], mode, tools=[tool])

    kind = "tool_search" if name.startswith("tool_search") else name
    assert message.content[1].content.type == f"{kind}_tool_result_error"
    assert message.content[1].content.error_code == code


@pytest.mark.parametrize("mode", MODES)
def test_a_pause(mode: str) -> None:
    turn = Reply(ServerTool("web_search", {"query": "x"}), finish_reason="pause")

    message = said(turn, mode, tools=[WEB_SEARCH])

    assert [block.type for block in message.content] == ["server_tool_use"]
    assert message.stop_reason == "pause_turn"


@pytest.mark.parametrize("mode", MODES)
def test_a_block_as_it_is(mode: str) -> None:
    upload = {"type": "container_upload", "file_id": "file_1"}

    message = said([ServerTool("container_upload", {}, upload), "There."], mode, tools=[CODE])

    assert plain(message.content[0]) == upload


@newer
@pytest.mark.parametrize("mode", MODES)
def test_compaction(mode: str) -> None:
    turn = Reply(ServerTool("compaction", result="Notes about a fox."), "It jumps.", usage=Usage(162, 11))

    message = said(turn, mode, **MANAGED)

    assert plain(message.content[0]) == {"type": "compaction", "content": "Notes about a fox."}
    assert message.context_management.applied_edits == []
    assert [item.type for item in message.usage.iterations] == ["compaction", "message"]
    assert message.usage.iterations[1].output_tokens == 11


@newer
def test_a_request_that_only_compacts() -> None:
    message = said(ServerTool("compaction", result="In short."), "whole", compaction={"type": "summarize"})

    assert message.stop_reason == "compaction"


# --- sources ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_page_of_the_web_is_cited(mode: str) -> None:
    found = [{"url": "https://sky.example", "title": "Sky"}]
    turn = [
        ServerTool("web_search", {"query": "sky"}, found),
        "The sky is ",
        Citation("blue", "https://sky.example"),
        ".",
    ]

    message = said(turn, mode, tools=[WEB_SEARCH])

    *_, before, cited, after = message.content
    assert (before.text, cited.text, after.text) == ("The sky is ", "blue", ".")
    assert (before.citations, after.citations) == (None, None)
    (location,) = cited.citations
    assert (location.type, location.url, location.title) == ("web_search_result_location", "https://sky.example", "Sky")
    assert location.encrypted_index


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", ["facts.txt", "0"])
def test_a_document_of_the_request_is_cited(mode: str, source: str) -> None:
    message = said(Citation("Grass is green.", source), mode, DOCUMENT)

    (location,) = message.content[0].citations
    assert plain(location) == {
        "type": "char_location",
        "cited_text": "Grass is green.  ",
        "document_index": 0,
        "document_title": "facts.txt",
        "start_char_index": 17,
        "end_char_index": 34,
    }
    assert FACTS[17:34] == location.cited_text


@pytest.mark.parametrize("mode", MODES)
def test_a_text_of_two_sources(mode: str) -> None:
    other = {**DOCUMENT, "title": "more.txt"}

    message = said([Citation("Snow is white.", "facts.txt"), Citation("", "more.txt")], mode, DOCUMENT, other)

    (block,) = message.content
    assert [location.document_index for location in block.citations] == [0, 1]


@pytest.mark.parametrize("mode", MODES)
def test_a_pdf_is_cited(mode: str) -> None:
    pdf = {"type": "document", "source": {"type": "url", "url": "https://a.example/a.pdf"}, "title": "A"}

    message = said(Citation("It says so.", "https://a.example/a.pdf"), mode, pdf)

    (location,) = message.content[0].citations
    assert (location.type, location.start_page_number, location.end_page_number) == ("page_location", 1, 2)
    assert (location.document_index, location.document_title, location.cited_text) == (0, "A", "It says so.")


@pytest.mark.parametrize("mode", MODES)
def test_a_document_of_blocks_is_cited(mode: str) -> None:
    blocks = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    document = {"type": "document", "source": {"type": "content", "content": blocks}, "title": "Parts"}

    message = said(Citation("Two.", "Parts"), mode, document)

    (location,) = message.content[0].citations
    assert (location.type, location.start_block_index, location.end_block_index) == ("content_block_location", 1, 2)


@pytest.mark.parametrize("mode", MODES)
def test_a_search_result_that_the_client_gave_is_cited(mode: str) -> None:
    def found(name: str) -> dict[str, Any]:
        text = {"type": "text", "text": f"About {name}."}
        return {"type": "search_result", "source": f"https://{name}.example", "title": name, "content": [text]}

    use = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [found("b")]}
    messages = [
        {"role": "user", "content": [found("a")]},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    find = {"name": "find", "input_schema": {"type": "object"}}

    with fake_llm.intercept([Citation("B is it.", "https://b.example")]) as fake:
        message = answer(mode, **(asked(tools=[find]) | {"messages": messages}))

    (location,) = message.content[0].citations
    assert plain(location) == {
        "type": "search_result_location",
        "cited_text": "About b.",
        "search_result_index": 1,
        "source": "https://b.example",
        "title": "b",
        "start_block_index": 0,
        "end_block_index": 1,
    }
    assert fake.calls[0].tool_results[0].text == "About b."


def test_a_fetched_page_is_cited_by_its_place() -> None:
    fetched = ServerTool("web_fetch", {"url": "https://a.example"}, FACTS)

    message = said([fetched, Citation("The sky is blue.", "https://a.example")], "whole", DOCUMENT, tools=[WEB_FETCH])

    (location,) = message.content[-1].citations
    assert (location.type, location.document_index, location.start_char_index) == ("char_location", 1, 0)


# --- what isn't asked for -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "body", "why"),
    [
        (ServerTool("web_search"), {}, "offers no tools that the provider runs"),
        (ServerTool("web_fetch"), {"tools": [WEB_SEARCH]}, "offers 'web_search'"),
        (ServerTool("bash_code_execution"), {"tools": [OLD_CODE]}, "bash_code_execution"),
        (ServerTool("compaction"), {"tools": [WEB_SEARCH]}, "compaction"),
        (Citation("x", "other.txt"), {}, "brings no document"),
        (ServerTool("mcp", {}), MCP, "a name and arguments"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_what_the_request_doesnt_offer_is_a_mismatch(turn: Any, body: Any, why: str) -> None:
    with pytest.raises(ScriptMismatchError, match=why):
        said(turn, "whole", **body)


def test_a_document_that_the_request_lacks_is_told_with_those_that_it_has() -> None:
    with pytest.raises(ScriptMismatchError, match=r"facts\.txt"):
        said(Citation("x", "other.txt"), "whole", DOCUMENT)


def test_a_model_that_misbehaves() -> None:
    message = said(Reply(ServerTool("web_search", {"query": "x"}, []), check=False), "whole")

    assert [block.type for block in message.content] == ["server_tool_use", "web_search_tool_result"]


def test_newer_web_tools_run_code_by_themselves() -> None:
    tool = {"type": "web_search_20260209", "name": "web_search"}

    assert said(ServerTool("code_execution", {"code": "1"}, "1"), "whole", tools=[tool]).container is not None


# --- counts, and what is sent back -------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("control", "short", "long"),
    [
        ({"type": "ephemeral"}, 30, 0),
        ({"type": "ephemeral", "ttl": "5m"}, 30, 0),
        ({"type": "ephemeral", "ttl": "1h"}, 0, 30),
    ],
    ids=["default", "5m", "1h"],
)
def test_what_is_written_to_a_cache_has_its_lifetime(mode: str, control: Any, short: int, long: int) -> None:
    system = [{"type": "text", "text": "Be kind.", "cache_control": control}]

    usage = said(Reply("x", usage=Usage(100, 7, cached_tokens=50, cache_write_tokens=30)), mode, system=system).usage

    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (20, 50, 30)
    created = usage.cache_creation
    assert (created.ephemeral_5m_input_tokens, created.ephemeral_1h_input_tokens) == (short, long)


TURN = [
    Thinking("Hm.", "c2lnbmF0dXJl"),
    Thinking("", "ZGF0YQ==", redacted=True),
    ServerTool("web_search", {"query": "sky"}, [{"url": "https://a.example", "title": "A"}], "srvtoolu_1"),
    ServerTool("web_search", {"query": "sea"}, id="srvtoolu_2", error="unavailable"),
    ServerTool("bash_code_execution", {"command": "ls"}, {"stdout": "a\n"}, "srvtoolu_3"),
    ServerTool("mcp", {"server": "deepwiki", "name": "ask", "arguments": {"a": 1}}, "Yes.", "mcptoolu_1"),
    "The sky is ",
    Citation("blue", "https://a.example", title="A"),
    Citation("", "https://b.example"),
    Citation(", is it not", "facts.txt"),
    ".",
]


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_of_the_sdk_is_said_again(mode: str) -> None:
    body = asked(DOCUMENT, tools=[WEB_SEARCH, CODE], **MCP)
    with fake_llm.intercept([TURN]):
        first = answer("whole", **body)

    with fake_llm.intercept([first]) as fake:
        again = answer(mode, **body)

    assert again.to_dict() == first.to_dict()
    assert fake.usage.input_tokens > 0


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_is_fed_back(mode: str) -> None:
    body = asked(DOCUMENT, tools=[WEB_SEARCH, CODE], **MCP)
    with fake_llm.intercept([TURN, "Yes."]) as fake:
        first = answer(mode, **body)
        more = [{"role": "assistant", "content": first.content}, {"role": "user", "content": "Sure?"}]
        answer(mode, **(body | {"messages": [*body["messages"], *more]}))

    sent = fake.calls[1].messages
    assert [message.role for message in sent] == ["user", "assistant", "user"]
    assert sent[0].text == "[file]\nWell?"
    assert sent[1].text == "The sky is \nblue\n, is it not\n."
    assert sent[1].thinking == "Hm."
    assert sent[1].tool_calls == ()
    assert fake.calls[1].last_user_text == "Sure?"


def test_the_transcript_tells_of_them(fake_llm: FakeLLM) -> None:
    fake_llm.push(TURN)
    answer("whole", **asked(DOCUMENT, tools=[WEB_SEARCH, CODE], **MCP))

    told = str(fake_llm.transcript())
    assert 'web_search({"query":"sky"})' in told
    assert "blue [A]" in told
