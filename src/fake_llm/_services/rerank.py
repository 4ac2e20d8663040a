"""Reranking: how near each document is to the query, by made-up vectors, unless a rule says the scores.

Scores are given in the order of the documents, as `Json([0.9, 0.1])`; the answer has them in order of relevance. The
query is the call's one user text, the documents are among its `params`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import mul
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Exchange, message
from fake_llm._dialects import bedrock_converse, cohere
from fake_llm._errors import ScriptMismatchError, clipped, sentence
from fake_llm._model import Request, Usage, View
from fake_llm._tokens import tokens
from fake_llm._turns import Error, Reply
from fake_llm._vectors import vector

__all__ = ["BEDROCK", "COHERE", "scores"]


def scores(exchange: Exchange, query: str, documents: Sequence[str]) -> list[float]:
    """A score from 0 to 1 for each document: those of the turn, as they are, or made up."""
    if not exchange.choice.parts:
        asked = vector(query)
        return [round(min(1.0, max(0.0, sum(map(mul, asked, vector(text))))), 8) for text in documents]
    return _scripted(exchange.choice.text, len(documents))


def _scripted(text: str, count: int) -> list[float]:
    try:
        given = _json.loads(text.encode())
    except ValueError:
        given = None
    numbers = given if isinstance(given, list) else []
    if not numbers or any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in numbers):
        came, there = f"The turn is {clipped(text, 80)!r}", "no list of scores."
    elif len(numbers) != count:
        came, there = (
            f"The turn has {len(numbers)} scores",
            f"the request has {count} document{'' if count == 1 else 's'}.",
        )
    else:
        return list(map(float, numbers))
    raise ScriptMismatchError(
        sentence(
            f"{came}.",
            f"It is {there}" if there.startswith("no") else there[0].upper() + there[1:],
            "Write Json([0.9, 0.1]): a number for each document, in the order of the documents.",
        )
    )


# --- Cohere ------------------------------------------------------------------------------------------------------------

_TYPES: Final = {
    **dict.fromkeys(("model", "query"), "string"),
    **dict.fromkeys(("documents", "rank_fields"), "array"),
    **dict.fromkeys(("top_n", "max_chunks_per_doc", "max_tokens_per_doc"), "int32"),
    "return_documents": "bool",
}
_A_UNIT: Final = 100
"""Documents in one unit of search that is billed."""


def _version(request: Request) -> str:
    return "2" if "/v2/" in request.path else "1"


def _documents(body: Mapping[str, Any]) -> list[str]:
    return [_text(item, body.get("rank_fields")) for item in body["documents"]]


def _text(item: Any, fields: Any) -> str:
    """A document's text: itself, its ranked fields, or what is called `text`."""
    if isinstance(item, str):
        return item
    if isinstance(fields, list) and fields:
        return "\n".join(_plain(item[name]) for name in fields if isinstance(name, str) and name in item)
    return _plain(item.get("text", item))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _json.text(value)


def _read(request: Request, body: Any) -> View:
    params = {name: value for name, value in body.items() if name not in ("model", "query") and value is not None}
    return View((message("user", [body["query"]]),), params=params)


def _check(request: Request, body: Any) -> Error | None:
    """The API's own refusal, in the words of its page of errors (2026-11)."""
    if not isinstance(body, dict):
        return cohere.CHAT_V2.check(request, body)
    wrong = cohere.wrong_type(body, _TYPES, f"v{_version(request)}/reference/rerank")
    if wrong is not None:
        return wrong
    if _version(request) == "2" and not body.get("model"):
        return cohere.refused("a model parameter is required for this endpoint.")
    if not (body.get("query") or "").strip():
        return cohere.refused("invalid request: query must not be empty or be only whitespace")
    if not body.get("documents"):
        return cohere.refused("invalid request: list of documents must not be empty")
    for index, item in enumerate(body["documents"]):
        if not isinstance(item, (str, dict)) or not item:
            return cohere.refused(f"invalid request: document at index {index} cannot be empty")
    top = body.get("top_n")
    if top is not None and top < 1:
        return cohere.refused(
            f"invalid request: return_top_n is invalid, value must be between 1 and {len(body['documents'])}"
        )
    return None


def _document(exchange: Exchange) -> dict[str, Any]:
    body = exchange.body
    texts = _documents(body)
    found = sorted(enumerate(scores(exchange, body["query"], texts)), key=lambda pair: -pair[1])
    shown = body.get("return_documents") is True
    units = exchange.usage.details or {"search_units": -(-len(texts) // _A_UNIT)}
    document: dict[str, Any] = {
        "id": exchange.ids.uuid() if exchange.id is None else exchange.id,
        "results": [
            {**(_shown(body["documents"][index]) if shown else {}), "index": index, "relevance_score": score}
            for index, score in found[: body.get("top_n")]
        ],
        "meta": {"api_version": {"version": _version(exchange.request)}, "billed_units": dict(units)},
    }
    return exchange.extend(document)


def _shown(item: Any) -> dict[str, Any]:
    return {"document": {"text": item} if isinstance(item, str) else item}


def _parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these scores again."""
    found = {item["index"]: item["relevance_score"] for item in document["results"]}
    listed = [found.get(index, 0.0) for index in range(max(found, default=-1) + 1)]
    return Reply(*([_json.text(listed)] if listed else []), id=document.get("id"))


def _counted(body: Mapping[str, Any]) -> Iterator[int]:
    for text in _documents(body):
        yield tokens(body["query"]) + tokens(text)


COHERE: Final = replace(
    cohere.CHAT_V2,
    name="cohere_rerank",
    label="Cohere rerank",
    read=_read,
    check=_check,
    stream=lambda request, body: False,
    document=_document,
    parts=_parts,
    carries=frozenset({str}),
    choices=False,
    shaping=None,
    counted=lambda exchange: Usage(sum(_counted(exchange.body)), 0),
    sdk_types=(
        "cohere.types.rerank_response.RerankResponse",
        "cohere.v2.types.v2rerank_response.V2RerankResponse",
    ),
)
"""`POST /v1/rerank` and `/v2/rerank`."""


# --- Bedrock -----------------------------------------------------------------------------------------------------------


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _asked(body: Mapping[str, Any]) -> str:
    queries = body.get("queries")
    text = _at(queries[0], "textQuery", "text") if isinstance(queries, list) and queries else None
    return text if isinstance(text, str) else ""


def _sources(body: Mapping[str, Any]) -> list[str]:
    """The text of each source: its own, or its object as JSON."""
    found: list[str] = []
    for source in body["sources"]:
        given = source["inlineDocumentSource"]
        text = _at(given, "textDocument", "text")
        found.append(text if isinstance(text, str) else _json.text(given.get("jsonDocument")))
    return found


def _settings(body: Any) -> Mapping[str, Any]:
    found = _at(body, "rerankingConfiguration", "bedrockRerankingConfiguration")
    return found if isinstance(found, dict) else {}


def _model_of(request: Request, body: Any) -> str:
    named = _at(_settings(body), "modelConfiguration", "modelArn")
    return named.rpartition("/")[2] if isinstance(named, str) else ""


def _read_bedrock(request: Request, body: Any) -> View:
    params = {"documents": _sources(body)}
    top = _settings(body).get("numberOfResults")
    return View((message("user", [_asked(body)]),), params=params if top is None else {**params, "top_n": top})


def _check_bedrock(request: Request, body: Any) -> Error | None:
    """What botocore's model of the service demands (1.44)."""
    wrong = "1 validation error detected: Value at '{}' failed to satisfy constraint: {}"
    if not isinstance(body, dict):
        return bedrock_converse.DIALECT.check(request, body)
    if not _asked(body):
        return Error(400, wrong.format("queries", "Member must have a text"))
    sources = body.get("sources")
    if not isinstance(sources, list) or not sources:
        return Error(400, wrong.format("sources", "Member must have length greater than or equal to 1"))
    for index, source in enumerate(sources):
        if not isinstance(_at(source, "inlineDocumentSource"), dict):
            place = f"sources.{index + 1}.member.inlineDocumentSource"
            return Error(400, wrong.format(place, "Member must not be null"))
    top = _settings(body).get("numberOfResults", 1)
    if type(top) is not int or top < 1:
        return Error(400, wrong.format("numberOfResults", "Member must have value greater than or equal to 1"))
    return None


def _document_bedrock(exchange: Exchange) -> dict[str, Any]:
    body = exchange.body
    found = sorted(enumerate(scores(exchange, _asked(body), _sources(body))), key=lambda pair: -pair[1])
    top = _settings(body).get("numberOfResults")
    return exchange.extend({"results": [{"index": index, "relevanceScore": score} for index, score in found[:top]]})


def _parts_bedrock(document: Mapping[str, Any]) -> Reply:
    renamed = [{"index": one["index"], "relevance_score": one["relevanceScore"]} for one in document["results"]]
    return _parts({"results": renamed})


BEDROCK: Final = replace(
    bedrock_converse.DIALECT,
    name="bedrock_rerank",
    label="Bedrock rerank",
    read=_read_bedrock,
    check=_check_bedrock,
    stream=lambda request, body: False,
    model=_model_of,
    document=_document_bedrock,
    parts=_parts_bedrock,
    carries=frozenset({str}),
    shaping=None,
    counted=lambda exchange: Usage(
        sum(tokens(_asked(exchange.body)) + tokens(text) for text in _sources(exchange.body)), 0
    ),
)
"""`POST /rerank` of `bedrock-agent-runtime`, by botocore's model of it (1.44, 2026-11)."""
