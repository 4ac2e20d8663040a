"""Anthropic's content blocks beside text and calls: tools that it runs itself, compactions, sources of a text.

As recorded from 2025-09 to 2026-08; what wasn't recorded, as the types of anthropic 2.14 have it (read 2026-11).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from fake_llm import _json
from fake_llm._dialect import CREATED, Ids, dicts
from fake_llm._errors import ScriptMismatchError, clipped, sentence
from fake_llm._turns import Citation, ServerTool

__all__ = ["CODE", "cited", "of_server", "offered", "prefix", "read", "source_of"]

Json: TypeAlias = "dict[str, Any]"

# --- what a request offers --------------------------------------------------------------------------

CODE: Final = frozenset({"code_execution", "bash_code_execution", "text_editor_code_execution"})
"""The tools that run in a container."""
_DIRECT: Final = {"type": "direct"}
_NAMES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("web_search_", ("web_search",)),
    ("web_fetch_", ("web_fetch",)),
    ("code_execution_", ("code_execution",)),
    ("tool_search_tool_regex_", ("tool_search", "tool_search_tool_regex")),
    ("tool_search_tool_bm25_", ("tool_search", "tool_search_tool_bm25")),
    ("advisor_", ("advisor",)),
    ("mcp_toolset", ("mcp", "mcp_tool_listing")),
)
_FIRST_SHELL: Final = 20250825  # of `code_execution_`
_FIRST_FILTER: Final = 20260209  # of `web_search_` and `web_fetch_`, which run code by themselves from then on


def offered(body: Mapping[str, Any], added: Sequence[Any] = ()) -> frozenset[str]:
    """The names of the tools that Anthropic runs and that the request offers, with those defined in mid-conversation."""
    names: set[str] = set()
    for tool in (*dicts(body.get("tools")), *dicts(list(added))):
        kind = tool.get("type")
        if not isinstance(kind, str):
            continue
        for start, spoken in _NAMES:
            if kind.startswith(start):
                names |= {*spoken, *(CODE if _runs_code(kind) else ())}
    if body.get("mcp_servers"):
        names |= {"mcp", "mcp_tool_listing"}
    if _compacts(body):
        names.add("compaction")
    if body.get("fallbacks"):
        names.add("fallback")
    if names & CODE:
        names.add("container_upload")
    return frozenset(names)


_USES: Final = frozenset({"server_tool_use", "mcp_tool_use"})


def _runs_code(kind: str) -> bool:
    name, _, version = kind.rpartition("_")
    first = _FIRST_SHELL if name == "code_execution" else _FIRST_FILTER
    return version.isdecimal() and int(version) >= first and name in ("code_execution", "web_search", "web_fetch")


def _compacts(body: Mapping[str, Any]) -> bool:
    managed = body.get("context_management")
    edits = managed.get("edits") if isinstance(managed, dict) else None
    kinds = (edit.get("type") for edit in dicts(edits))
    return bool(body.get("compaction")) or any(isinstance(kind, str) and kind.startswith("compact_") for kind in kinds)


def _kind(name: str) -> str:
    """What the type of the result's block begins with."""
    return "tool_search" if name.startswith("tool_search") else name


# --- a tool to its blocks -----------------------------------------------------------------------------

_MARKS: Final = {"bedrock": "bdrk_", "vertex": "vrtx_"}


def prefix(kind: str, provider: str) -> str:
    """How an id begins: `toolu_01`, on other clouds `toolu_bdrk_01`."""
    return f"{kind}_{_MARKS.get(provider, '')}01"


def of_server(part: ServerTool, body: Mapping[str, Any], ids: Ids, provider: str) -> list[Json]:
    """The blocks of a tool that Anthropic ran: its use, and its result if there is one."""
    result = part.result
    if isinstance(result, Mapping) and result.get("type") == part.name:
        return [dict(result)]
    if part.name == "compaction":
        return [{"type": "compaction", "content": result if isinstance(result, str) else None}]
    if part.name == "mcp":
        return _of_mcp(part, body, ids, provider)
    name = _searched_by(body) if part.name == "tool_search" else part.name
    use: Json = {
        "type": "server_tool_use",
        "id": part.id or prefix("srvtoolu", provider) + ids.alnum(22),
        "name": name,
        "input": dict(part.arguments),
    }
    if result is None and part.error is None:
        return [use]
    kind = _kind(name)
    content = (_RESULTS.get(kind) or _as_it_is)(part, body, ids) if part.error is None else _error(kind, part.error)
    block: Json = {"type": f"{kind}_tool_result", "tool_use_id": use["id"], "content": content}
    return [use, {**block, "caller": _DIRECT} if kind in ("web_search", "web_fetch") else block]


def _error(kind: str, code: str) -> Json:
    error: Json = {"type": f"{kind}_tool_result_error", "error_code": code}
    return {**error, "error_message": None} if kind in ("text_editor_code_execution", "tool_search") else error


def _as_it_is(part: ServerTool, body: Mapping[str, Any], ids: Ids) -> Any:
    return part.result


def _searched_by(body: Mapping[str, Any]) -> str:
    kinds = (tool.get("type") for tool in dicts(body.get("tools")))
    found = any(isinstance(kind, str) and kind.startswith("tool_search_tool_bm25_") for kind in kinds)
    return "tool_search_tool_bm25" if found else "tool_search_tool_regex"


def _of_mcp(part: ServerTool, body: Mapping[str, Any], ids: Ids, provider: str) -> list[Json]:
    given = part.arguments
    name = given.get("name")
    if not isinstance(name, str):
        raise ScriptMismatchError(
            sentence(
                f"The turn has the provider's tool 'mcp' with {dict(given)!r}.",
                "A call of an MCP server's tool has a name and arguments.",
                'Write ServerTool("mcp", {"server": "label", "name": "search", "arguments": {…}}, "its output").',
            )
        )
    asked = given.get("arguments", given.get("input", {}))
    use: Json = {
        "type": "mcp_tool_use",
        "id": part.id or prefix("mcptoolu", provider) + ids.alnum(22),
        "name": name,
        "input": dict(asked) if isinstance(asked, Mapping) else {},
        "server_name": _mcp_server(given, body),
    }
    said = part.result if part.error is None else part.error
    if said is None:
        return [use]
    content = said if isinstance(said, list) else [{"type": "text", "text": _written(said)}]
    failed = part.error is not None
    return [use, {"type": "mcp_tool_result", "tool_use_id": use["id"], "is_error": failed, "content": content}]


def _mcp_server(given: Mapping[str, Any], body: Mapping[str, Any]) -> str:
    """The name of the MCP server: the turn's, else that of the first in the request."""
    servers = (server.get("name") for server in dicts(body.get("mcp_servers")))
    toolsets = (tool.get("mcp_server_name") for tool in dicts(body.get("tools")))
    named = (*(given.get(key) for key in ("server", "server_name", "server_label")), *servers, *toolsets)
    found = next((name for name in named if isinstance(name, str)), None)
    if found is None:
        raise ScriptMismatchError(
            sentence(
                "The turn has the provider's tool 'mcp' without a server.",
                "The request names no MCP server.",
                'Write ServerTool("mcp", {"server": "label", …}).',
            )
        )
    return found


def _written(value: Any) -> str:
    return value if isinstance(value, str) else _json.text(value)


# --- results ------------------------------------------------------------------------------------------


def _opaque(ids: Ids, count: int) -> str:
    return base64.b64encode(b"\x12" + ids.take(count - 1)).decode()


def _found(part: ServerTool, body: Mapping[str, Any], ids: Ids) -> Any:
    """What a search found; the text of a page is the vendor's secret."""
    if not isinstance(part.result, list):
        return part.result
    return [_page(item, ids) for item in part.result]


def _page(item: Any, ids: Ids) -> Any:
    if isinstance(item, str):
        item = {"url": item}
    if not isinstance(item, Mapping) or "type" in item or not isinstance(item.get("url"), str):
        return item
    return {
        "type": "web_search_result",
        "title": item.get("title") or item["url"],
        "url": item["url"],
        "encrypted_content": item.get("encrypted_content") or _opaque(ids, 180),
        "page_age": item.get("page_age"),
    }


_RETRIEVED: Final = "2026-01-01T00:00:00.000000"
assert CREATED == 1_767_225_600  # which it is


def _fetched(part: ServerTool, body: Mapping[str, Any], ids: Ids) -> Any:
    result = part.result
    if isinstance(result, list) and len(result) == 1:
        (result,) = result
    if isinstance(result, str):
        result = {"text": result}
    if not isinstance(result, Mapping) or "type" in result or not isinstance(result.get("text"), str):
        return result
    document: Json = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": result["text"]},
        "title": result.get("title"),
    }
    asked = next((tool.get("citations") for tool in dicts(body.get("tools")) if _is(tool, "web_fetch_")), None)
    return {
        "type": "web_fetch_result",
        "url": result.get("url") or part.arguments.get("url") or "",
        "retrieved_at": _RETRIEVED,
        "content": {**document, "citations": asked} if asked is not None else document,
    }


def _is(tool: Mapping[str, Any], start: str) -> bool:
    return isinstance(tool.get("type"), str) and tool["type"].startswith(start)


_RUN_KEYS: Final = frozenset({"stdout", "stderr", "return_code", "content"})


def _run(kind: str) -> Callable[[ServerTool, Mapping[str, Any], Ids], Any]:
    def run(part: ServerTool, body: Mapping[str, Any], ids: Ids) -> Any:
        result = {"stdout": part.result} if isinstance(part.result, str) else part.result
        if not isinstance(result, Mapping) or not result.keys() <= _RUN_KEYS:
            return result
        return {"type": f"{kind}_result", "stdout": "", "stderr": "", "return_code": 0, "content": [], **result}

    return run


def _edited(part: ServerTool, body: Mapping[str, Any], ids: Ids) -> Any:
    """What the text editor gives, by its command."""
    result, command = part.result, part.arguments.get("command")
    if isinstance(result, Mapping) and "type" in result:
        return result
    more = dict(result) if isinstance(result, Mapping) else {}
    if command == "create":
        return {"type": "text_editor_code_execution_create_result", "is_file_update": False, **more}
    if command == "view":
        text = result if isinstance(result, str) else more.get("content", "")
        lines = len(text.splitlines()) if isinstance(text, str) else 0
        counted = {"num_lines": lines, "start_line": 1, "total_lines": lines}
        view = {"type": "text_editor_code_execution_view_result", "file_type": "text", "content": text}
        return {**view, **counted, **more}
    if command == "str_replace":
        places = dict.fromkeys(("old_start", "old_lines", "new_start", "new_lines", "lines"))
        return {"type": "text_editor_code_execution_str_replace_result", **places, **more}
    return result


def _references(part: ServerTool, body: Mapping[str, Any], ids: Ids) -> Any:
    if not isinstance(part.result, list):
        return part.result
    references = [
        {"type": "tool_reference", "tool_name": name} if isinstance(name, str) else name for name in part.result
    ]
    return {"type": "tool_search_tool_search_result", "tool_references": references}


def _advice(part: ServerTool, body: Mapping[str, Any], ids: Ids) -> Any:
    result = part.result
    return {"type": "advisor_result", "text": result, "stop_reason": "end_turn"} if isinstance(result, str) else result


_RESULTS: Final[Mapping[str, Callable[[ServerTool, Mapping[str, Any], Ids], Any]]] = {
    "web_search": _found,
    "web_fetch": _fetched,
    "code_execution": _run("code_execution"),
    "bash_code_execution": _run("bash_code_execution"),
    "text_editor_code_execution": _edited,
    "tool_search": _references,
    "advisor": _advice,
}


# --- blocks read back -----------------------------------------------------------------------------------


def read(blocks: Sequence[Mapping[str, Any]], at: int) -> tuple[ServerTool, int] | None:
    """The tool of the block at a place, and how many blocks it takes; `None` for a block of something else.

    What a `ServerTool` has no word for stays the block that it is.
    """
    block = blocks[at]
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        return None
    if kind == "compaction" and block.keys() <= {"type", "content"} | _absent(block):
        return ServerTool("compaction", {}, block.get("content")), 1
    if kind in _USES and block.get("caller") in (None, _DIRECT) and isinstance(block.get("input"), Mapping):
        follows = blocks[at + 1] if at + 1 < len(blocks) else {}
        if follows.get("tool_use_id") != block.get("id"):
            return ServerTool(*_use(block), id=_id_of(block)), 1
        if follows.get("caller") in (None, _DIRECT):
            content = follows.get("content")
            error = _error_code(content, follows)
            given = None if error is not None else _plain(content)
            return ServerTool(*_use(block), given, _id_of(block), error=error), 2
    return ServerTool(kind, {}, dict(block)), 1


def _absent(block: Mapping[str, Any]) -> set[str]:
    return {key for key, value in block.items() if value is None}


def _id_of(block: Mapping[str, Any]) -> str | None:
    found = block.get("id")
    return found if isinstance(found, str) else None


def _use(block: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    name, given = block.get("name"), block["input"]
    name = name if isinstance(name, str) and name else "unnamed"
    if block["type"] == "server_tool_use":
        return name, given
    return "mcp", {"server": block.get("server_name"), "name": name, "arguments": given}


def _error_code(content: Any, block: Mapping[str, Any]) -> str | None:
    """The code of a failure that says no more than its code; of MCP its text."""
    if block.get("type") == "mcp_tool_result":
        texts = [item.get("text") for item in dicts(content)]
        return str(texts[0]) if block.get("is_error") is True and len(texts) == 1 else None
    if not isinstance(content, Mapping) or content.get("error_message") is not None:
        return None
    code = content.get("error_code")
    return code if isinstance(code, str) else None


def _plain(content: Any) -> Any:
    """A search's pages without their type; all else as it is."""
    if isinstance(content, list) and all(item.get("type") == "web_search_result" for item in dicts(content)):
        return [{key: value for key, value in item.items() if key != "type"} for item in dicts(content)]
    return content


# --- sources of a text ------------------------------------------------------------------------------------


def cited(part: Citation, body: Mapping[str, Any], earlier: Sequence[Any]) -> Json:
    """Where a piece of text is from: an entry of `citations`.

    Args:
        part: The text with its source.
        body: The request, which brings documents and results of searches.
        earlier: The blocks that stand before it in the answer.
    """
    documents, results, pages = _brought(body, earlier)
    for index, result in enumerate(results):
        if part.source in (result.get("source"), result.get("title")):
            return _in_result(part, index, result)
    for index, document in enumerate(documents):
        if part.source in _names(document, index):
            return _in_document(part, index, document)
    if "://" not in part.source:
        raise ScriptMismatchError(_unknown(part, documents, results))
    page = pages.get(part.source, {})
    return {
        "type": "web_search_result_location",
        "cited_text": part.text,
        "url": part.source,
        "title": part.title or page.get("title"),
        "encrypted_index": _opaque(Ids(hashlib.blake2b(f"{part.source} {part.text}".encode()).digest()), 150),
    }


def source_of(location: Mapping[str, Any]) -> tuple[str, str | None]:
    """The source and the title that a location says."""
    title = location.get("title")
    for key in ("url", "source", "file_id", "document_title"):
        found = location.get(key)
        if isinstance(found, str) and found:
            named = title if isinstance(title, str) else None
            return found, location.get("document_title") if key == "file_id" else named
    return str(location.get("document_index", 0)), None


def _brought(
    body: Mapping[str, Any], earlier: Sequence[Any]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """The documents, the results of the client's searches, and the pages of Anthropic's by their URLs."""
    documents: list[Mapping[str, Any]] = []
    results: list[Mapping[str, Any]] = []
    pages: dict[str, Mapping[str, Any]] = {}

    def walk(content: Any) -> None:
        for block in dicts(content):
            kind, inner = block.get("type"), block.get("content")
            if kind == "document":
                documents.append(block)
            elif kind == "search_result":
                results.append(block)
            elif kind == "tool_result":
                walk(inner)
            elif kind == "web_search_tool_result":
                pages.update({page["url"]: page for page in dicts(inner) if isinstance(page.get("url"), str)})
            elif kind == "web_fetch_tool_result" and isinstance(inner, dict) and isinstance(inner.get("content"), dict):
                documents.append({**inner["content"], "url": inner.get("url")})

    for message in dicts(body.get("messages")):
        walk(message.get("content"))
    walk(list(earlier))
    return documents, results, pages


def _source(document: Mapping[str, Any]) -> Mapping[str, Any]:
    source = document.get("source")
    return source if isinstance(source, Mapping) else {}


def _names(document: Mapping[str, Any], index: int) -> tuple[Any, ...]:
    source = _source(document)
    return document.get("title"), document.get("url"), source.get("file_id"), source.get("url"), str(index)


def _unknown(part: Citation, documents: list[Mapping[str, Any]], results: list[Mapping[str, Any]]) -> str:
    known = [*(next(filter(None, _names(document, index))) for index, document in enumerate(documents))]
    known += [result.get("source") for result in results]
    return sentence(
        f"The turn cites {part.source!r}.",
        f"The request brings {', '.join(repr(clipped(str(name), 80)) for name in known)}."
        if known
        else "The request brings no document, and that is no URL.",
        "Write the title, the file's id or the place of a document, or a URL.",
    )


def _in_result(part: Citation, index: int, result: Mapping[str, Any]) -> Json:
    start, text = _block_with(part.text, result.get("content"))
    return {
        "type": "search_result_location",
        "cited_text": text,
        "search_result_index": index,
        "source": result.get("source"),
        "title": part.title or result.get("title"),
        "start_block_index": start,
        "end_block_index": start + 1,
    }


def _in_document(part: Citation, index: int, document: Mapping[str, Any]) -> Json:
    source = _source(document)
    kind = source.get("type")
    head = {"document_index": index, "document_title": document.get("title") or part.title}
    if isinstance(source.get("file_id"), str):
        head["file_id"] = source["file_id"]
    if kind == "text" and isinstance(source.get("data"), str):
        start, end = _span(part.text, source["data"])
        place = {"start_char_index": start, "end_char_index": end}
        return {"type": "char_location", "cited_text": source["data"][start:end], **head, **place}
    if kind == "content":
        content = source.get("content")
        start, text = _block_with(part.text, [{"text": content}] if isinstance(content, str) else content)
        place = {"start_block_index": start, "end_block_index": start + 1}
        return {"type": "content_block_location", "cited_text": text, **head, **place}
    return {
        "type": "page_location",
        "cited_text": part.text,
        **head,
        "start_page_number": 1,
        "end_page_number": 2,
    }


def _span(text: str, data: str) -> tuple[int, int]:
    """Where a text is in another, with the blanks after it; all of the other where it isn't."""
    start = data.find(text) if text else -1
    if start < 0:
        return 0, len(data)
    end = start + len(text)
    return start, end + len(data[end:]) - len(data[end:].lstrip())


def _block_with(text: str, content: Any) -> tuple[int, str]:
    """The first block that has a text, else the first; and what is in it."""
    texts = [str(block.get("text", "")) for block in dicts(content)] or [text]
    found = next((index for index, each in enumerate(texts) if text and text in each), 0)
    return found, texts[found]
