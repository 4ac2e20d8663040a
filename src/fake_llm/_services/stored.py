"""OpenAI's answers and conversations that can be asked for again.

The documents are those of the recordings and of openai 3.57 (2026-11). What runs in the background is done after a number of
polls that never changes; no clock has a say in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import CREATED, Exchange, Ids, WireEvent
from fake_llm._dialects import openai_chat, openai_responses
from fake_llm._model import Fault, Message, Response
from fake_llm._services._base import POLLS, Kept, Memory, Store, page, whole_number
from fake_llm._turns import Error

__all__ = [
    "CHAT",
    "RESPONSES",
    "chat_delete",
    "chat_list",
    "chat_messages",
    "chat_retrieve",
    "chat_update",
    "conversation_create",
    "conversation_delete",
    "conversation_item",
    "conversation_item_delete",
    "conversation_items",
    "conversation_items_create",
    "conversation_retrieve",
    "conversation_update",
    "response_cancel",
    "response_delete",
    "response_input_items",
    "response_retrieve",
]

_Json = dict[str, Any]


def _asked(exchange: Exchange) -> Mapping[str, Any]:
    return exchange.body if isinstance(exchange.body, dict) else {}


def _missing(kind: str, key: str) -> Error:
    text = f"{kind} with id '{key}' not found."
    body = {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}
    return Error(404, text, body=body)


def _from(exchange: Exchange, resource: str) -> str:
    """The part of the path after a resource: its id."""
    parts = exchange.request.path.split("/")
    return exchange.request.path_part(parts.index(resource) + 1)


# --- responses ----------------------------------------------------------------------------------


def _conversation(exchange: Exchange) -> str | None:
    """The conversation that a request belongs to."""
    given = _asked(exchange).get("conversation")
    found = given.get("id") if isinstance(given, dict) else given
    return found if isinstance(found, str) else None


def _recall_response(store: Store, exchange: Exchange) -> tuple[Message, ...] | Error:
    key = _conversation(exchange)
    if key is not None:
        conversation = store.shelf("conversations").get(key)
        if conversation is None:
            return _missing("Conversation", key)
        return openai_responses.messages(list(conversation["items"].values()))
    previous = _asked(exchange).get("previous_response_id")
    if isinstance(previous, str) and previous not in store.kept and previous not in store.shelf("given"):
        return Error(
            400,
            f"Previous response with id '{previous}' not found.",
            body={
                "error": {
                    "message": f"Previous response with id '{previous}' not found.",
                    "type": "invalid_request_error",
                    "param": "previous_response_id",
                    "code": "previous_response_not_found",
                }
            },
        )
    return ()


def _keep_response(store: Store, exchange: Exchange, answer: Response | Fault) -> None:
    if exchange.id is None or not exchange.choices:
        _keep_given(store, answer)
        return
    failed = _failed(answer)
    if failed is not None:
        if _asked(exchange).get("store") is not False:
            store.shelf("given")[exchange.id] = failed
        return
    kept = Kept(exchange)
    if _asked(exchange).get("store") is not False:
        store.kept[exchange.id] = kept
    key = _conversation(exchange)
    if key is not None:
        items = store.shelf("conversations")[key]["items"]
        told = openai_responses.document(exchange.again())["output"]
        for item in (*_items(_asked(exchange).get("input"), exchange.id), *told):
            items[item["id"]] = item


_FAILED: Final = re.compile(rb"event: response\.failed\r?\n(?:id:[^\n]*\n)?data: ?([^\r\n]+)")


def _failed(answer: Response | Fault) -> _Json | None:
    """The response as it ended, of a stream in which it failed."""
    steps = answer.steps if isinstance(answer, Response) else None
    found = _FAILED.search(b"".join(step for step in steps if isinstance(step, bytes))) if steps else None
    return None if found is None else (_document(found[1]) or {}).get("response")


_GIVEN: Final = re.compile(rb'"id"\s*:\s*"(resp_[^"]+)"')


def _keep_given(store: Store, answer: Response | Fault) -> None:
    """Know the ids of answers that were scripted verbatim."""
    if not isinstance(answer, Response) or answer.status != _OK:
        return
    sent = answer.body or b"".join(step for step in answer.steps or () if isinstance(step, bytes))
    for found in _GIVEN.findall(sent):
        store.shelf("given")[found.decode()] = _document(answer.body)


def _document(body: bytes) -> _Json | None:
    try:
        found = _json.loads(body)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


_OK: Final = 200


RESPONSES: Final = Memory(recall=_recall_response, keep=_keep_response)


def response_retrieve(store: Store, exchange: Exchange) -> _Json | Error | list[WireEvent]:
    """`GET /v1/responses/{id}`, streamed from any event on with `stream=true`."""
    key = _from(exchange, "responses")
    kept = store.kept.get(key)
    if kept is None:
        given = store.shelf("given").get(key)
        return _missing("Response", key) if given is None else given
    if exchange.request.query.get("stream") == "true":
        content, closing = openai_responses.events(kept.exchange.again())
        after = whole_number(exchange.request.query.get("starting_after", ""))
        start = -1 if after is None else after
        return [event for event in (*content, *closing) if _number(event) > start]
    kept.polls += 1
    return _response(kept)


def _number(event: WireEvent) -> int:
    return event["sequence_number"] if isinstance(event, dict) else 0


def _response(kept: Kept) -> _Json:
    if kept.cancelled:
        return openai_responses.pending(kept.exchange, "cancelled")
    if openai_responses.in_background(kept.exchange) and kept.polls < POLLS:
        return openai_responses.pending(kept.exchange, "in_progress")
    return openai_responses.document(kept.exchange.again())


def response_cancel(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/responses/{id}/cancel`: of what runs in the background; nothing happens once it is done."""
    key = _from(exchange, "responses")
    kept = store.kept.get(key)
    if kept is None:
        return _missing("Response", key)
    if not openai_responses.in_background(kept.exchange):
        return Error("bad_request", "Cannot cancel a synchronous response.")
    kept.cancelled = kept.cancelled or kept.polls < POLLS
    return _response(kept)


def response_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE /v1/responses/{id}`."""
    key = _from(exchange, "responses")
    if store.kept.pop(key, None) is None and store.shelf("given").pop(key, None) is None:
        return _missing("Response", key)
    return {"id": key, "object": "response.deleted", "deleted": True}


def response_input_items(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/responses/{id}/input_items`."""
    key = _from(exchange, "responses")
    kept = store.kept.get(key)
    if kept is None:
        return _missing("Response", key)
    return page(exchange, _items(_asked(kept.exchange).get("input"), key))


_PREFIXES: Final = {
    "message": "msg_",
    "function_call": "fc_",
    "function_call_output": "fco_",
    "reasoning": "rs_",
}
_ID_DIGITS: Final = 48


def _items(given: Any, seed: str) -> Iterator[_Json]:
    """Input items as they are kept: with ids, types and content in parts."""
    ids = Ids(hashlib.blake2b(seed.encode("utf-8", "surrogatepass")).digest())
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        kind = item.get("type") or "message"
        own = item.get("id")
        key = own if isinstance(own, str) else _PREFIXES.get(kind, "item_") + ids.hex(_ID_DIGITS)
        if kind != "message":
            yield {**item, "id": key, "status": item.get("status") or "completed"}
            continue
        content = item.get("content")
        if isinstance(content, str):
            said = "output_text" if item.get("role") == "assistant" else "input_text"
            content = [{"type": said, "text": content, **({"annotations": []} if said == "output_text" else {})}]
        yield {"id": key, "type": "message", "status": "completed", "content": content, "role": item.get("role")}


# --- conversations ------------------------------------------------------------------------------


def conversation_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/conversations`."""
    wrong = openai_responses.check_kept(exchange.body)
    if wrong is not None:
        return wrong
    key = "conv_" + exchange.ids.hex(_ID_DIGITS + 2)
    items = {item["id"]: item for item in _items(_asked(exchange).get("items"), key)}
    store.shelf("conversations")[key] = {"metadata": _asked(exchange).get("metadata") or {}, "items": items}
    return _shown(store, key)


def _shown(store: Store, key: str) -> _Json:
    conversation = store.shelf("conversations")[key]
    return {"id": key, "object": "conversation", "created_at": CREATED, "metadata": conversation["metadata"]}


def _found(store: Store, exchange: Exchange) -> tuple[str, Any]:
    key = _from(exchange, "conversations")
    return key, store.shelf("conversations").get(key)


def conversation_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/conversations/{id}`."""
    key, conversation = _found(store, exchange)
    return _missing("Conversation", key) if conversation is None else _shown(store, key)


def conversation_update(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/conversations/{id}`: other metadata."""
    key, conversation = _found(store, exchange)
    if conversation is None:
        return _missing("Conversation", key)
    wrong = openai_responses.check_kept(exchange.body)
    if wrong is not None:
        return wrong
    conversation["metadata"] = _asked(exchange).get("metadata") or {}
    return _shown(store, key)


def conversation_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE /v1/conversations/{id}`."""
    key, conversation = _found(store, exchange)
    if conversation is None:
        return _missing("Conversation", key)
    del store.shelf("conversations")[key]
    return {"id": key, "object": "conversation.deleted", "deleted": True}


def conversation_items(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/conversations/{id}/items`."""
    key, conversation = _found(store, exchange)
    return _missing("Conversation", key) if conversation is None else page(exchange, conversation["items"].values())


def conversation_items_create(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/conversations/{id}/items`."""
    key, conversation = _found(store, exchange)
    if conversation is None:
        return _missing("Conversation", key)
    wrong = openai_responses.check_kept(exchange.body, "items")
    if wrong is not None:
        return wrong
    added = list(_items(_asked(exchange).get("items"), f"{key} {len(conversation['items'])}"))
    conversation["items"].update((item["id"], item) for item in added)
    return {**page(exchange, added, newest_first=False), "has_more": False, "data": added}


def conversation_item(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/conversations/{id}/items/{item}`."""
    key, conversation = _found(store, exchange)
    if conversation is None:
        return _missing("Conversation", key)
    item = exchange.request.path_part(-1)
    found: _Json | None = conversation["items"].get(item)
    return _missing("Item", item) if found is None else found


def conversation_item_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE /v1/conversations/{id}/items/{item}`, which gives the conversation."""
    key, conversation = _found(store, exchange)
    if conversation is None:
        return _missing("Conversation", key)
    item = exchange.request.path_part(-1)
    return _missing("Item", item) if conversation["items"].pop(item, None) is None else _shown(store, key)


# --- chat completions ---------------------------------------------------------------------------


def _recall_chat(store: Store, exchange: Exchange) -> tuple[Message, ...] | Error:
    return ()


def _keep_chat(store: Store, exchange: Exchange, answer: Response | Fault) -> None:
    if _asked(exchange).get("store") is True and exchange.choices:
        document = openai_chat.document(exchange.again())
        store.kept[document["id"]] = Kept(exchange)


CHAT: Final = Memory(recall=_recall_chat, keep=_keep_chat, concerns=lambda body: body.get("store") is True)


def _chats(store: Store) -> Iterable[tuple[str, Kept]]:
    return [(key, kept) for key, kept in store.kept.items() if key.startswith("chatcmpl")]


def _chat(kept: Kept) -> _Json:
    body = _asked(kept.exchange)
    metadata = kept.metadata if kept.metadata is not None else body.get("metadata") or {}
    document = openai_chat.document(kept.exchange.again())
    echoed = {key: body[key] for key in ("temperature", "top_p", "seed", "tools", "tool_choice") if key in body}
    return {**document, "metadata": metadata, **echoed}


def chat_list(store: Store, exchange: Exchange) -> _Json:
    """`GET /v1/chat/completions`: those with `store: true`, of one model or with some metadata."""
    query = exchange.request.query
    wanted = {key[len("metadata[") : -1]: value for key, value in query.items() if key.startswith("metadata[")}
    shown = (_chat(kept) for _, kept in _chats(store))
    return page(
        exchange,
        (
            chat
            for chat in shown
            if query.get("model", chat["model"]) == chat["model"] and wanted.items() <= chat["metadata"].items()
        ),
        newest_first=False,
    )


def chat_retrieve(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/chat/completions/{id}`."""
    key = _from(exchange, "completions")
    kept = store.kept.get(key)
    return _missing("Chat completion", key) if kept is None else _chat(kept)


def chat_update(store: Store, exchange: Exchange) -> _Json | Error:
    """`POST /v1/chat/completions/{id}`: other metadata."""
    key = _from(exchange, "completions")
    kept = store.kept.get(key)
    if kept is None:
        return _missing("Chat completion", key)
    wrong = openai_responses.check_kept(exchange.body, "metadata")
    if wrong is not None:
        return wrong
    kept.metadata = _asked(exchange).get("metadata") or {}
    return _chat(kept)


def chat_delete(store: Store, exchange: Exchange) -> _Json | Error:
    """`DELETE /v1/chat/completions/{id}`."""
    key = _from(exchange, "completions")
    if store.kept.pop(key, None) is None:
        return _missing("Chat completion", key)
    return {"object": "chat.completion.deleted", "id": key, "deleted": True}


def chat_messages(store: Store, exchange: Exchange) -> _Json | Error:
    """`GET /v1/chat/completions/{id}/messages`: those of the request."""
    key = _from(exchange, "completions")
    kept = store.kept.get(key)
    if kept is None:
        return _missing("Chat completion", key)
    sent = _asked(kept.exchange).get("messages") or ()
    listed = [{"id": f"{key}-{place}", "name": None, "content_parts": None, **each} for place, each in enumerate(sent)]
    return page(exchange, listed, newest_first=False)
