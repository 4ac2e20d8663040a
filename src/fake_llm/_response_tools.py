"""OpenAI Responses: the items of tools that the provider runs, and of tools of its own that the client answers.

Web search, file search, code interpreter, MCP, tool search and compaction are as recorded from 2025-10 to 2026-08, the
others as the types of openai 3.57 have them (2026-11). A `ServerTool` is what the provider does itself: its call, with what came
of it where the request asks for that by `include`. A `ToolCall` of `computer`, `shell`, `local_shell` or `apply_patch` is
answered by the client, as a function is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from fake_llm import _json
from fake_llm._dialect import Delta, as_written
from fake_llm._errors import ScriptMismatchError, sentence
from fake_llm._turns import ServerTool, ToolCall

__all__ = ["Items", "client_tools", "joined", "read", "server_tools", "told"]

Json: TypeAlias = "dict[str, Any]"

# --- what a request offers --------------------------------------------------------------------------

_CLIENT_TYPES: Final[Mapping[str, str]] = {
    "computer": "computer",
    "computer_use": "computer",
    "computer_use_preview": "computer",
    "local_shell": "local_shell",
    "shell": "shell",
    "apply_patch": "apply_patch",
}
"""The types of tools that the client answers beside functions, and the name of a call of each."""
_FUNCTIONS: Final = frozenset({"function", "custom", "namespace"})
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "web_search": ("web_search", "web_fetch"),
    "code_interpreter": ("code_interpreter", "code_execution"),
    "mcp": ("mcp", "mcp_list_tools", "mcp_approval_request"),
}


def _hosted(tool: Json) -> bool:
    """Whether a shell is in a container of the provider's, not on the client's machine."""
    environment = tool.get("environment")
    return isinstance(environment, dict) and environment.get("type") in ("container_auto", "container_reference")


def client_tools(tool: Json) -> Iterator[str]:
    """The name by which the model calls a tool that isn't a function and that the client answers."""
    name = _CLIENT_TYPES.get(tool["type"]) if isinstance(tool.get("type"), str) else None
    if name is not None and not (name == "shell" and _hosted(tool)):
        yield name


def server_tools(body: Json, later: list[Any]) -> frozenset[str]:
    """The names of the tools that the provider runs and that the request offers, those of `later` lists too."""
    names: set[str] = {"compaction"} if body.get("context_management") else set()
    for sent in (body.get("tools"), *later):
        for tool in sent if isinstance(sent, list) else ():
            kind = tool.get("type") if isinstance(tool, dict) else None
            if not isinstance(kind, str) or kind in _FUNCTIONS or any(client_tools(tool)):
                continue
            base = kind.rpartition(":")[2]  # OpenRouter's own are `openrouter:web_search`
            base = "web_search" if base.startswith("web_search") else base
            names |= {kind, *_NAMES.get(base, (base,))}
    return frozenset(names)


# --- items -------------------------------------------------------------------------------------------

_PREFIXES: Final[Mapping[str, str]] = {
    "web_search_call": "ws_",
    "file_search_call": "fs_",
    "code_interpreter_call": "ci_",
    "image_generation_call": "ig_",
    "mcp_call": "mcp_",
    "mcp_list_tools": "mcpl_",
    "mcp_approval_request": "mcpr_",
    "tool_search_call": "tsc_",
    "tool_search_output": "tso_",
    "compaction": "cmp_",
    "computer_call": "cu_",
    "local_shell_call": "lsh_",
    "shell_call": "sh_",
    "shell_call_output": "sho_",
    "apply_patch_call": "apc_",
}
_RESULT_KEYS: Final = frozenset({"stdout", "stderr", "return_code"})


class Items:
    """Makes the items of one answer.

    Args:
        body: The request.
        new_id: A new id with a prefix.
    """

    __slots__ = ("_container", "_included", "_new_id", "_server", "_types")

    def __init__(self, body: Json, new_id: Callable[[str], str]) -> None:
        included, tools = body.get("include"), body.get("tools")
        offered = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
        self._included = frozenset(item for item in included or () if isinstance(item, str))
        self._types = frozenset(name for tool in offered for name in client_tools(tool))
        self._server = next((tool.get("server_label") for tool in offered if tool.get("type") == "mcp"), None)
        self._new_id = new_id
        self._container: str | None = None

    @property
    def container(self) -> str:
        """The container of this answer's code, the same for all of it."""
        if self._container is None:
            self._container = self._new_id("cntr_")
        return self._container

    def of_client(self, part: ToolCall) -> Json | None:
        """A call that the client answers, `None` for one of a function or of a custom tool."""
        if part.name not in self._types or not isinstance(part.arguments, Mapping):
            return None
        return _CLIENT[part.name](
            {**self._head(f"{part.name}_call", None), "call_id": part.id}, dict(part.arguments)
        ) | dict(part.extra or {})

    def of_server(self, part: ServerTool) -> list[Json]:
        """A tool that the provider ran: its call, and for some its output as an item of its own."""
        make = _SERVER.get(part.name)
        if make is None:
            raise ScriptMismatchError(
                sentence(
                    f"The turn has the provider's tool {part.name!r}.",
                    f"OpenAI Responses has {', '.join(_SERVER)}.",
                    'Write one of these, or ToolCall("name", {…}) for a tool that your code runs.',
                )
            )
        return make(self, part)

    def _head(self, kind: str, id: str | None, status: str | None = "completed") -> Json:
        head: Json = {"id": id or self._new_id(_PREFIXES[kind]), "type": kind}
        return head if status is None else {**head, "status": status}

    def _call(self, kind: str, part: ServerTool) -> Json:
        return self._head(kind, part.id, "completed" if part.error is None else "failed")

    def _web_search(self, part: ServerTool) -> list[Json]:
        action = dict(part.arguments)
        if "type" not in action and part.name == "web_fetch":
            action = {"type": "open_page", **action}
        elif "type" not in action:
            query = action.pop("query", None)
            asked = {"query": query} if isinstance(query, str) else {}
            queries = action.pop("queries", [query] if asked else [])
            action = {"type": "search", "queries": queries, **asked, **action}
        if "web_search_call.action.sources" in self._included and action["type"] == "search":
            action["sources"] = [
                {"type": "url", "url": found["url"]}
                for found in (part.result if isinstance(part.result, list) else ())
                if isinstance(found, dict) and isinstance(found.get("url"), str)
            ]
        return [{**self._call("web_search_call", part), "action": action}]

    def _file_search(self, part: ServerTool) -> list[Json]:
        query = part.arguments.get("query")
        queries = part.arguments.get("queries", [query] if isinstance(query, str) else [])
        results = None
        if "file_search_call.results" in self._included and part.error is None:
            results = [_found_file(found) for found in (part.result if isinstance(part.result, list) else ())]
        return [{**self._call("file_search_call", part), "queries": queries, "results": results}]

    def _code(self, part: ServerTool) -> list[Json]:
        outputs = None
        if "code_interpreter_call.outputs" in self._included and part.result is not None:
            outputs = _outputs(part.result)
        return [
            {
                **self._call("code_interpreter_call", part),
                "code": part.arguments.get("code", ""),
                "container_id": part.arguments.get("container_id") or self.container,
                "outputs": outputs,
            }
        ]

    def _image(self, part: ServerTool) -> list[Json]:
        failed = {} if part.error is None else {"error": {"message": part.error, "type": "image_generation_error"}}
        call = self._call("image_generation_call", part)
        return [{**call, **dict(part.arguments), **failed, "result": part.result}]

    def _of_mcp(self, part: ServerTool) -> str:
        """The label of the MCP server: the turn's, else that of the first that is offered."""
        given = (part.arguments.get(name) for name in ("server_label", "server", "server_name"))
        found = next((label for label in (*given, self._server) if isinstance(label, str)), None)
        if found is None:
            raise ScriptMismatchError(
                sentence(
                    f"The turn has the provider's tool {part.name!r} without a server.",
                    "The request names no MCP server.",
                    f'Write ServerTool({part.name!r}, {{"server": "label", …}}).',
                )
            )
        return found

    def _asked_of_mcp(self, part: ServerTool) -> Json:
        name, given = part.arguments.get("name"), part.arguments.get("arguments", part.arguments.get("input", {}))
        if not isinstance(name, str):
            raise ScriptMismatchError(
                sentence(
                    f"The turn has the provider's tool {part.name!r} with {dict(part.arguments)!r}.",
                    "A call of an MCP server's tool has a name and arguments.",
                    f'Write ServerTool({part.name!r}, {{"server": "label", "name": "search", "arguments": {{…}}}}, "its output").',
                )
            )
        return {
            "arguments": given if isinstance(given, str) else _json.text(given),
            "name": name,
            "server_label": self._of_mcp(part),
        }

    def _mcp(self, part: ServerTool) -> list[Json]:
        asked, result = self._asked_of_mcp(part), part.result
        return [
            {
                **self._call("mcp_call", part),
                "approval_request_id": part.arguments.get("approval_request_id"),
                "arguments": asked["arguments"],
                "error": None if part.error is None else _mcp_error(part.error),
                "name": asked["name"],
                "output": result if result is None or isinstance(result, str) else _json.text(result),
                "server_label": asked["server_label"],
            }
        ]

    def _mcp_tools(self, part: ServerTool) -> list[Json]:
        failed = {} if part.error is None else {"error": part.error}
        head = self._head("mcp_list_tools", part.id, None)
        return [{**head, **failed, "server_label": self._of_mcp(part), "tools": part.result or []}]

    def _mcp_approval(self, part: ServerTool) -> list[Json]:
        return [{**self._head("mcp_approval_request", part.id, None), **self._asked_of_mcp(part)}]

    def _tool_search(self, part: ServerTool) -> list[Json]:
        both = {"call_id": None, "execution": "server"}
        call = {**self._head("tool_search_call", part.id), "arguments": dict(part.arguments), **both}
        if part.result is None:
            return [call]
        return [call, {**self._head("tool_search_output", None), **both, "tools": part.result}]

    def _shell(self, part: ServerTool) -> list[Json]:
        call_id = self._new_id("call_")
        container = {"type": "container_reference", "container_id": self.container}
        call = {**self._head("shell_call", part.id), "call_id": call_id, "environment": container}
        call = _shell_call(call, dict(part.arguments))
        if part.result is None:
            return [call]
        limit = call["action"]["max_output_length"]
        output = {**self._head("shell_call_output", None), "call_id": call_id, "max_output_length": limit}
        return [call, {**output, "output": _shell_output(part.result)}]

    def _compaction(self, part: ServerTool) -> list[Json]:
        secret = part.result if isinstance(part.result, str) else "gAAAAA" + self._new_id("")
        return [{**self._head("compaction", part.id, None), "encrypted_content": secret}]


_SERVER: Final[Mapping[str, Callable[[Items, ServerTool], list[Json]]]] = {
    "web_search": Items._web_search,
    "web_search_preview": Items._web_search,
    "web_fetch": Items._web_search,
    "file_search": Items._file_search,
    "code_execution": Items._code,
    "code_interpreter": Items._code,
    "image_generation": Items._image,
    "mcp": Items._mcp,
    "mcp_list_tools": Items._mcp_tools,
    "mcp_approval_request": Items._mcp_approval,
    "tool_search": Items._tool_search,
    "shell": Items._shell,
    "compaction": Items._compaction,
}


def _found_file(found: Any) -> Any:
    """A result of a file search: the provider's own, or a neutral one with `url`, `title` and `text`."""
    if not isinstance(found, dict) or "file_id" in found:
        return found
    return {
        "attributes": found.get("attributes", {}),
        "file_id": found.get("id", found.get("url")),
        "filename": found.get("title"),
        "score": found.get("score", 1.0),
        "text": found.get("text"),
    }


def _outputs(result: Any) -> Any:
    """What code gives: its logs, or the provider's own list."""
    if isinstance(result, list):
        return result
    if isinstance(result, dict) and result.keys() <= _RESULT_KEYS:
        result = f"{result.get('stdout') or ''}{result.get('stderr') or ''}"
    return [{"type": "logs", "logs": result if isinstance(result, str) else _json.text(result)}]


def _mcp_error(text: str) -> Json:
    """The provider's own object where the code is one, written as JSON."""
    found = as_written(text)
    if isinstance(found, Mapping) and "type" in found:
        return dict(found)
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}


def _shell_output(result: Any) -> Any:
    if isinstance(result, list):
        return result
    if not (isinstance(result, dict) and result.keys() <= _RESULT_KEYS):
        result = {"stdout": result if isinstance(result, str) else _json.text(result)}
    code = result.get("return_code") or 0
    said = {"stderr": result.get("stderr") or "", "stdout": result.get("stdout") or ""}
    return [{"outcome": {"type": "exit", "exit_code": code}, **said}]


def _computer_call(head: Json, arguments: Json) -> Json:
    checks = {"pending_safety_checks": arguments.pop("pending_safety_checks", [])}
    return {**head, **(arguments if "actions" in arguments else {"action": arguments}), **checks}


def _local_shell_call(head: Json, arguments: Json) -> Json:
    return {**head, "action": {"type": "exec", "command": [], "env": {}, **arguments}}


def _shell_call(head: Json, arguments: Json) -> Json:
    return {**head, "action": {"commands": [], "max_output_length": None, "timeout_ms": None, **arguments}}


def _apply_patch_call(head: Json, arguments: Json) -> Json:
    return {**head, "operation": arguments}


_CLIENT: Final[Mapping[str, Callable[[Json, Json], Json]]] = {
    "computer": _computer_call,
    "local_shell": _local_shell_call,
    "shell": _shell_call,
    "apply_patch": _apply_patch_call,
}


# --- their events ------------------------------------------------------------------------------------


def told(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    """The events of one item; `cut` gives the pieces of a text that is streamed."""
    tell = _TELL.get(item["type"], _tell_plainly)
    added, *between = tell(item, place, cut)
    started: Json = {"type": "response.output_item.added", "item": added, "output_index": place, "sequence_number": 0}
    done = {**started, "type": "response.output_item.done", "item": item}
    return [started, *between, Delta(done) if item["type"] == "image_generation_call" else done]


def _state(item: Json, place: int, *states: str) -> list[Json]:
    return [
        {"type": f"response.{item['type']}.{state}", "item_id": item["id"], "output_index": place, "sequence_number": 0}
        for state in states
    ]


def _text(item: Json, place: int, kind: str, key: str, pieces: list[str]) -> list[Json]:
    rest = {"item_id": item["id"], "output_index": place, "sequence_number": 0}
    return [
        *(Delta(type=f"response.{kind}.delta", delta=piece, **rest) for piece in pieces),
        {"type": f"response.{kind}.done", key: item[key], **rest},
    ]


def _begun(item: Json, **blank: Any) -> Json:
    return {**item, **({"status": "in_progress"} if "status" in item else {}), **blank}


def _ended(item: Json) -> tuple[str, ...]:
    return ("completed",) if item["status"] == "completed" else ()


def _tell_search(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    blank: Json = {"queries": [], "results": None}
    if "action" in item:
        blank = {"action": {"type": item["action"]["type"]}}
    return [_begun(item, **blank), *_state(item, place, "in_progress", "searching", *_ended(item))]


def _tell_code(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    code = item["code"] or ""
    return [
        _begun(item, code="", outputs=None),
        *_state(item, place, "in_progress"),
        *_text({**item, "code": code}, place, "code_interpreter_call_code", "code", cut(code)),
        *_state(item, place, "interpreting", *_ended(item)),
    ]


def _tell_image(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    return [_begun(item, result=None), *_state(item, place, "in_progress", "generating", *_ended(item))]


def _tell_mcp(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    return [
        _begun(item, arguments="", error=None, output=None),
        *_state(item, place, "in_progress"),
        *_text(item, place, "mcp_call_arguments", "arguments", cut(item["arguments"])),
        *_state(item, place, item["status"]),
    ]


def _tell_mcp_tools(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    begun = {name: value for name, value in item.items() if name != "error"}
    end = "failed" if "error" in item else "completed"
    return [_begun(begun, tools=[]), *_state(item, place, "in_progress", end)]


def _tell_tool_search(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    return [_begun(item, arguments={})]


def _tell_shell(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    events: list[Json] = []
    for number, command in enumerate(item["action"]["commands"]):
        where = {"command_index": number, "output_index": place, "sequence_number": 0}
        kind = "response.shell_call_command"
        events.append({"type": f"{kind}.added", "command": "", **where})
        events += [Delta(type=f"{kind}.delta", delta=piece, **where) for piece in cut(command)]
        events.append({"type": f"{kind}.done", "command": command, **where})
    return [_begun(item, action={**item["action"], "commands": []}), *events]


def _tell_plainly(item: Json, place: int, cut: Callable[[str], list[str]]) -> list[Json]:
    return [_begun(item)]


_TELL: Final[Mapping[str, Callable[[Json, int, Callable[[str], list[str]]], list[Json]]]] = {
    "web_search_call": _tell_search,
    "file_search_call": _tell_search,
    "code_interpreter_call": _tell_code,
    "image_generation_call": _tell_image,
    "mcp_call": _tell_mcp,
    "mcp_list_tools": _tell_mcp_tools,
    "tool_search_call": _tell_tool_search,
    "shell_call": _tell_shell,
}


# --- items read back ---------------------------------------------------------------------------------


def joined(item: Mapping[str, Any], last: Any) -> ServerTool | None:
    """The provider's tool with its output, where the output is the item after its call."""
    if not isinstance(last, ServerTool) or last.result is not None:
        return None
    if item.get("type") == "tool_search_output" and last.name == "tool_search":
        return ServerTool(last.name, last.arguments, item.get("tools"), last.id)
    if item.get("type") == "shell_call_output" and last.name == "shell":
        return ServerTool(last.name, last.arguments, item.get("output"), last.id)
    return None


def read(item: Mapping[str, Any]) -> ServerTool | ToolCall | None:
    """The part that makes an item, `None` for one that no part makes."""
    kind = item.get("type")
    if kind == "shell_call" and (item.get("environment") or {}).get("type") == "container_reference":
        return ServerTool("shell", item.get("action") or {}, None, item.get("id"))
    if kind in _READ:
        return _READ[kind](item)
    name = kind.removesuffix("_call") if isinstance(kind, str) else ""
    if name not in _CLIENT:
        return None
    said = item.get("operation" if name == "apply_patch" else "action")
    arguments = said if said is not None else {"actions": item.get("actions") or []}
    checks = item.get("pending_safety_checks")
    extra = {"pending_safety_checks": checks} if checks else None
    return ToolCall(name, arguments, item.get("call_id"), extra=extra)


def _error(item: Mapping[str, Any]) -> str | None:
    return "failed" if item.get("status") == "failed" else None


def _read_web_search(item: Mapping[str, Any]) -> ServerTool:
    action = dict(item.get("action") or {})
    sources = action.pop("sources", None)
    if action.get("type") == "search":
        del action["type"]
        if action.get("queries") == [action.get("query")]:
            del action["queries"]
    found = [{"url": source.get("url")} for source in sources] if sources is not None else None
    return ServerTool("web_search", action, found, item.get("id"), error=None if found is not None else _error(item))


def _read_file_search(item: Mapping[str, Any]) -> ServerTool:
    queries, results = item.get("queries") or [], item.get("results")
    arguments = {"query": queries[0]} if len(queries) == 1 else {"queries": queries}
    error = None if results is not None else _error(item)
    return ServerTool("file_search", arguments, results, item.get("id"), error=error)


def _read_code(item: Mapping[str, Any]) -> ServerTool:
    outputs, container = item.get("outputs"), item.get("container_id")
    arguments = {"code": item.get("code") or "", **({} if container is None else {"container_id": container})}
    error = None if outputs is not None else _error(item)
    return ServerTool("code_execution", arguments, outputs, item.get("id"), error=error)


def _of_mcp(item: Mapping[str, Any]) -> Json:
    given = {"arguments": as_written(item.get("arguments") or "")}
    return {"server": item.get("server_label"), "name": item.get("name"), **given}


def _read_mcp(item: Mapping[str, Any]) -> ServerTool:
    approved, error = item.get("approval_request_id"), item.get("error")
    arguments = _of_mcp(item) | ({} if approved is None else {"approval_request_id": approved})
    text = None if error is None else error if isinstance(error, str) else _json.text(error)
    return ServerTool("mcp", arguments, item.get("output") if text is None else None, item.get("id"), error=text)


def _read_mcp_tools(item: Mapping[str, Any]) -> ServerTool:
    error, server = item.get("error"), {"server": item.get("server_label")}
    listed = None if error is not None else item.get("tools") or []
    return ServerTool("mcp_list_tools", server, listed, item.get("id"), error=error)


_READ: Final[Mapping[Any, Callable[[Mapping[str, Any]], ServerTool]]] = {
    "web_search_call": _read_web_search,
    "file_search_call": _read_file_search,
    "code_interpreter_call": _read_code,
    "mcp_call": _read_mcp,
    "mcp_list_tools": _read_mcp_tools,
    "mcp_approval_request": lambda item: ServerTool("mcp_approval_request", _of_mcp(item), None, item.get("id")),
    "tool_search_call": lambda item: ServerTool("tool_search", item.get("arguments") or {}, None, item.get("id")),
    "compaction": lambda item: ServerTool("compaction", {}, item.get("encrypted_content"), item.get("id")),
}
