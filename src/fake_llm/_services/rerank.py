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
from fake_llm._dialects import bedrock_converse, cohere, openai_chat
from fake_llm._dialects.openai_chat import refused, wrong_type
from fake_llm._differences import jina, openrouter, together, voyage
from fake_llm._differences.chat import answer_id
from fake_llm._errors import ScriptMismatchError, clipped, sentence
from fake_llm._model import Request, Usage, View
from fake_llm._tokens import tokens
from fake_llm._turns import Error, Reply
from fake_llm._vectors import vector

__all__ = ["BEDROCK", "COHERE", "JINA", "OPENROUTER", "TOGETHER", "VOYAGE", "ranked", "scores"]


def scores(exchange: Exchange, query: str, documents: Sequence[str]) -> list[float]:
    """A score from 0 to 1 for each document: those of the turn, as they are, or made up."""
    if not exchange.choice.parts:
        asked = vector(query)
        return [round(min(1.0, max(0.0, sum(map(mul, asked, vector(text))))), 8) for text in documents]
    return _scripted(exchange.choice.text, len(documents))


def ranked(
    exchange: Exchange, query: str, documents: Sequence[str], most: int | None = None
) -> list[tuple[int, float]]:
    """The place of each document and its score, the nearest first, `most` of them."""
    found = sorted(enumerate(scores(exchange, query, documents)), key=lambda pair: -pair[1])
    return found[:most]


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
    shown = body.get("return_documents") is True
    units = exchange.usage.details or {"search_units": -(-len(texts) // _A_UNIT)}
    document: dict[str, Any] = {
        "id": exchange.ids.uuid() if exchange.id is None else exchange.id,
        "results": [
            {**(_shown(body["documents"][index]) if shown else {}), "index": index, "relevance_score": score}
            for index, score in ranked(exchange, body["query"], texts, body.get("top_n"))
        ],
        "meta": {"api_version": {"version": _version(exchange.request)}, "billed_units": dict(units)},
    }
    return exchange.extend(document)


def _shown(item: Any) -> dict[str, Any]:
    return {"document": {"text": item} if isinstance(item, str) else item}


def _parts(document: Mapping[str, Any]) -> Reply:
    """A turn that gives these scores again."""
    results = document["data"] if "data" in document else document["results"]
    found = {item["index"]: item["relevance_score"] for item in results}
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
    found = ranked(exchange, _asked(body), _sources(body), _settings(body).get("numberOfResults"))
    return exchange.extend({"results": [{"index": index, "relevanceScore": score} for index, score in found]})


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


# --- hosts whose other vocabulary is OpenAI's ---------------------------------------------------------------------------


def _whole(value: Any) -> int | None:
    """A whole number, of digits too: APIs that check by their types take it so."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if type(value) is int else None


def _wrong(body: Mapping[str, Any], most: str) -> tuple[str, str] | None:
    """A field that is missing or of a wrong kind, and what it should be."""
    for name, kind, word in (("model", str, "string"), ("query", str, "string"), ("documents", list, "list")):
        if body.get(name) is None:
            return name, "Field required"
        if not isinstance(body[name], kind):
            return name, f"Input should be a valid {word}"
    if not body["documents"]:
        return "documents", "List should have at least 1 item"
    for index, item in enumerate(body["documents"]):
        if not isinstance(item, (str, dict)):
            return f"documents.{index}", "Input should be a valid string or object"
    if body.get(most) is not None and (_whole(body[most]) or 0) < 1:
        return most, "Input should be a valid integer greater than 0"
    return None


def _check_like_openai(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return refused(openai_chat.BAD_JSON)
    wrong = _wrong(body, "top_n")
    if wrong is None:
        return None
    name, what = wrong
    if what == "Field required":
        return refused(f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
    kind = {"model": "a string", "query": "a string", "documents": "an array"}.get(name)
    if kind is not None and body[name] != []:
        return wrong_type(name, kind, body[name])
    return refused(f"Invalid '{name}': {what}.", name, "invalid_value")


def _results(exchange: Exchange, document: Any, most: str = "top_n") -> list[dict[str, Any]]:
    """The places and scores, each with what `document` makes of the document; `None` leaves it out."""
    body = exchange.body
    found: list[dict[str, Any]] = []
    for index, score in ranked(exchange, body["query"], _documents(body), _whole(body.get(most))):
        shown = document(body["documents"][index])
        found.append({"index": index, "relevance_score": score, **({} if shown is None else {"document": shown})})
    return found


def _as_object(item: Any) -> dict[str, Any]:
    return {"text": item} if isinstance(item, str) else item


def _together_document(exchange: Exchange) -> dict[str, Any]:
    """As recorded (2026): a document that wasn't asked for is an empty object."""
    shown, usage = exchange.body.get("return_documents") is True, exchange.usage
    document: dict[str, Any] = {
        "id": answer_id(exchange, together.new_id),
        "object": "rerank",
        "model": exchange.model,
        "results": _results(exchange, _as_object if shown else lambda item: {}),
        "usage": {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.total,
            **usage.details,
        },
    }
    return exchange.extend(document)


TOGETHER: Final = replace(
    COHERE,
    name="together_rerank",
    label="Together rerank",
    check=_check_like_openai,
    bad_json=openai_chat.BAD_JSON,
    document=_together_document,
    failure=together.ERRORS.failure,
    failure_events=together.ERRORS.failure_events,
    headers=openai_chat.DIALECT.headers,
    sdk_types=("together.types.rerank_create_response.RerankCreateResponse",),
)
"""`POST /v1/rerank` of Together."""


def _openrouter_document(exchange: Exchange) -> dict[str, Any]:
    """As recorded (2026-08): the model without its maker, and who served it."""
    usage, shown = exchange.usage, exchange.body.get("return_documents") is not False
    maker, _, name = exchange.model.rpartition("/")
    document: dict[str, Any] = {
        "model": name,
        "results": _results(exchange, _as_object if shown else lambda item: None),
        "usage": {"total_tokens": usage.total, "cost": 0.0, **usage.details},
        "provider": _BEHIND.get(maker, "Cohere"),
        "id": answer_id(exchange, openrouter.new_rerank_id),
    }
    return exchange.extend(document)


_BEHIND: Final = {"voyageai": "VoyageAI by MongoDB", "cohere": "Cohere", "nvidia": "NVIDIA"}


OPENROUTER: Final = replace(
    TOGETHER,
    name="openrouter_rerank",
    label="OpenRouter rerank",
    document=_openrouter_document,
    failure=openrouter.ERRORS.failure,
    failure_events=openrouter.ERRORS.failure_events,
    sdk_types=(),
)
"""`POST /api/v1/rerank` of OpenRouter."""


def _voyage_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return Error("bad_request", voyage.BAD_JSON)
    wrong = _wrong(body, "top_k")
    if wrong is None:
        return None
    name, what = wrong
    if what == "Field required":
        return voyage.refused("Your request body was missing one or more required arguments.")
    return voyage.refused(f"Error for argument '{name}': {what}")


def _voyage_document(exchange: Exchange) -> dict[str, Any]:
    """As its API reference shows it (2026-11): under `data`, the text of a document where it is asked for."""
    shown = exchange.body.get("return_documents") is True
    results = _results(exchange, (lambda item: item) if shown else lambda item: None, "top_k")
    data = [{"relevance_score": item.pop("relevance_score"), **item} for item in results]
    usage = {"total_tokens": exchange.usage.total, **exchange.usage.details}
    return exchange.extend({"object": "list", "data": data, "model": exchange.model, "usage": usage})


VOYAGE: Final = replace(
    COHERE,
    name="voyage_rerank",
    label="Voyage AI rerank",
    check=_voyage_check,
    bad_json=voyage.BAD_JSON,
    document=_voyage_document,
    failure=voyage.ERRORS.failure,
    failure_events=voyage.ERRORS.failure_events,
    headers=voyage.headers,
    sdk_types=(),
)
"""`POST /v1/rerank` of Voyage AI."""


def _jina_check(request: Request, body: Any) -> Error | None:
    if not isinstance(body, dict):
        return jina.refused(jina.BAD_JSON)
    wrong = _wrong(body, "top_n")
    return None if wrong is None else jina.refused(f"body.{wrong[0]}: {wrong[1]}")


def _jina_document(exchange: Exchange) -> dict[str, Any]:
    """As its API is documented (2026-11): with the documents, unless they aren't wanted."""
    shown, usage = exchange.body.get("return_documents") is not False, exchange.usage
    return exchange.extend(
        {
            "model": exchange.model,
            "object": "list",
            "usage": {"total_tokens": usage.total, **usage.details},
            "results": _results(exchange, _as_object if shown else lambda item: None),
        }
    )


JINA: Final = replace(
    COHERE,
    name="jina_rerank",
    label="Jina rerank",
    check=_jina_check,
    bad_json=jina.BAD_JSON,
    document=_jina_document,
    failure=jina.ERRORS.failure,
    failure_events=jina.ERRORS.failure_events,
    headers=jina.headers,
    sdk_types=(),
)
"""`POST /v1/rerank` of Jina AI."""
