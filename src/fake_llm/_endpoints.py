"""THE table: provider, host, path, operation, dialect, framing.

A row per endpoint. A host that speaks an existing vocabulary is one `Provider`; what it does
differently is a `Difference`. `_routes` finds the row of a request.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import Dialect, Exchange, Ids
from fake_llm._dialects import (
    anthropic_messages,
    bedrock_converse,
    bedrock_invoke,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_completions,
    openai_responses,
    replicate,
    watsonx,
)
from fake_llm._differences import SAME, Difference, bedrock
from fake_llm._differences.ai21 import AI21
from fake_llm._differences.azure import AZURE_CHAT, AZURE_MODELS, AZURE_RESPONSES
from fake_llm._differences.cerebras import CEREBRAS
from fake_llm._differences.cloudflare import AI_GATEWAY, WORKERS_AI
from fake_llm._differences.completions import completions, filtered, named
from fake_llm._differences.dashscope import DASHSCOPE
from fake_llm._differences.dashscope_native import GENERATION
from fake_llm._differences.deepseek import DEEPSEEK, DEEPSEEK_RESPONSES
from fake_llm._differences.fireworks import FIREWORKS
from fake_llm._differences.gemini import GEMINI, VERTEX_CHAT
from fake_llm._differences.github import GITHUB
from fake_llm._differences.groq import GROQ
from fake_llm._differences.huggingface import HUGGINGFACE
from fake_llm._differences.hyperbolic import HYPERBOLIC
from fake_llm._differences.mistral import (
    MISTRAL,
    MISTRAL_AGENTS,
    MISTRAL_EMBEDDINGS,
    MISTRAL_FIM,
    MISTRAL_KEPT,
    MISTRAL_MODERATION,
    mistral_pad,
)
from fake_llm._differences.moonshot import MOONSHOT
from fake_llm._differences.novita import NOVITA
from fake_llm._differences.nvidia import NVIDIA
from fake_llm._differences.ollama import OLLAMA
from fake_llm._differences.openrouter import OPENROUTER, OPENROUTER_RESPONSES, new_rerank_id
from fake_llm._differences.perplexity import PERPLEXITY
from fake_llm._differences.plain import PLAIN
from fake_llm._differences.sambanova import SAMBANOVA
from fake_llm._differences.together import TOGETHER
from fake_llm._differences.vertex import VERTEX_ANTHROPIC
from fake_llm._differences.watsonx import WATSONX, WATSONX_CHAT
from fake_llm._differences.writer import WRITER
from fake_llm._differences.xai import XAI, XAI_RESPONSES
from fake_llm._differences.zai import ZAI
from fake_llm._failures import Errors
from fake_llm._framing import AwsEventStream, JsonArray, Ndjson, Sse, Whole, Wire
from fake_llm._model import Request
from fake_llm._services import (
    audio,
    batches,
    embeddings,
    files,
    google,
    huggingface,
    identity,
    images,
    models,
    moderation,
    rerank,
    stored,
    tokens,
    traces,
)
from fake_llm._services import cohere as cohere_services
from fake_llm._services import mistral as mistral_services
from fake_llm._services import ollama as ollama_services
from fake_llm._services import replicate as replicate_services
from fake_llm._services import watsonx as watsonx_services
from fake_llm._services._base import Memory, Service

__all__ = [
    "DIALECTS",
    "ERRANDS",
    "LENDERS",
    "OPERATIONS",
    "PROVIDERS",
    "RETRIED",
    "SIDE_OPERATIONS",
    "Endpoint",
    "Errand",
    "Provider",
]

COMPACT: Final = Whole()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One row.

    Attributes:
        operation: `chat` for generation, else what it is: `models`, `count_tokens`, …
        path: A template for the path after the provider's prefix: `{model}` is one segment without a colon, `{model...}`
            all that is left, `(a|b)` one of these, `[a]` may be there.
        dialect: The vocabulary; of a service, the one whose errors it sends.
        method: The HTTP method.
        whole: The layout of a JSON body.
        wire: The layout of a stream, or a function of the request that chooses it; `None` where
            nothing is streamed.
        service: Answers what isn't generation.
        memory: What an answer builds on, and what is kept of it.
        side: Housekeeping: kept in `fake.side_calls`, touches the script for rules that name its operation alone.
        deliberate: Housekeeping that no SDK does by itself, so that `forbid()` refuses it.
        difference: What this host does differently.
        prefix: What stands before the path in place of the provider's prefix.
        by_body: Keys of a body, or functions of the parsed body, each with the row that answers in place of this one
            where it is there: for a path that doesn't tell what is asked.
    """

    operation: str
    path: str
    dialect: Dialect
    method: str = "POST"
    whole: Whole = COMPACT
    wire: Wire | Callable[[Request], Wire] | None = None
    service: Service | None = None
    memory: Memory | None = None
    side: bool = False
    deliberate: bool = False
    difference: Difference = SAME
    prefix: str | None = None
    by_body: tuple[tuple[str | Callable[[Any], object], Endpoint], ...] = ()

    def of_body(self, body: Any) -> Endpoint:
        """The row that answers a request with this body."""
        if not self.by_body or not isinstance(body, dict):
            return self
        return next((row for key, row in self.by_body if (key(body) if callable(key) else key in body)), self)

    def wire_of(self, request: Request) -> Wire | None:
        """The layout of this request's stream."""
        return self.wire(request) if callable(self.wire) else self.wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider: its hosts and its rows.

    Attributes:
        name: What `call.provider` says.
        hosts: Host names; `*` stands for one or more characters.
        shared: Hosts that serve more than models, each with a template of what is claimed there, the query included;
            all else on them is left alone.
        prefix: A template for what stands before the rows' paths; a base URL of one's own may lack it.
        endpoints: The rows.
        base_urls: Environment variables that name another base URL.
        credentials: SDK module, the environment variable it wants, a dummy, and other variables that do as well.
        lends: It is asked for credentials, not for a model: answered where there are dummies (`env=True`).
        retried: Statuses after which its SDK asks again, beside those after which they all do.
        no_path: The body of its 404 for a method and a path that aren't there; without it, "Not Found" in the form of its errors.
    """

    name: str
    hosts: tuple[str, ...]
    shared: tuple[tuple[str, str], ...] = ()
    prefix: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    base_urls: tuple[str, ...] = ()
    credentials: tuple[tuple[str, str, str, tuple[str, ...]], ...] = ()
    lends: bool = False
    retried: frozenset[int] = frozenset()
    no_path: Callable[[str, str], Any] | None = None

    def __hash__(self) -> int:
        return hash(self.name)  # `_route` caches by it, and its rows hold dicts

    @property
    def dialect(self) -> Dialect:
        """The vocabulary of its errors."""
        return self.endpoints[0].dialect if self.endpoints else openai_chat.DIALECT

    def find(self, method: str, path: str, base: str | None = None) -> Endpoint | None:
        """The row of a path; under a declared `base` the prefix may be missing."""
        if base is not None:
            path = path.removeprefix(base)
        for endpoint in self.endpoints:
            prefix = self.prefix_of(endpoint)
            template = (f"[{prefix}]" if base is not None else prefix) + endpoint.path
            if endpoint.method == method and _pattern(template).fullmatch(path):
                return endpoint
        return None

    def shares(self, host: str) -> bool:
        """Whether only some of what this host serves is claimed."""
        return any(shared == host for shared, _ in self.shared)

    def claims(self, host: str, path: str) -> bool:
        """Whether this path with its query, if there is one, is claimed on a shared host."""
        return any(shared == host and _pattern(template).fullmatch(path) for shared, template in self.shared)

    def prefix_of(self, endpoint: Endpoint) -> str:
        """The template for what stands before a row's path."""
        return self.prefix if endpoint.prefix is None else endpoint.prefix


_TOKEN: Final = re.compile(r"\{\w+(?:\.\.\.)?\}|[\[\]()|]|[^\[\](){}|]+")
_SIGNS: Final = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|"}


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """A template of a path as a pattern."""
    return re.compile("".join(map(_piece, _TOKEN.findall(template))))


def _piece(token: str) -> str:
    if token.startswith("{"):
        return ".+" if token.endswith("...}") else "[^/:]+"
    return _SIGNS.get(token) or re.escape(token)


OPENAI_PRETTY: Final = Whole(_json.pretty, b"\n")
OPENAI_PRETTY_BARE: Final = Whole(_json.pretty)
OPENAI_CHAT_SSE: Final = Sse(pad=openai_chat.pad)
OPENAI_RESPONSES_SSE: Final = Sse(named=True, done=None, pad=openai_responses.pad)
ANTHROPIC_SSE: Final = Sse(named=True, done=None, dumps=anthropic_messages.dumps, pad=anthropic_messages.pad)
BEDROCK_WHOLE: Final = Whole(_json.sorted_keys)
BEDROCK_STREAM: Final = AwsEventStream(pad=bedrock_converse.pad)
BEDROCK_ENVELOPE: Final = AwsEventStream(_json.compact, pad=bedrock_converse.pad, envelope=True)
GEMINI_PRETTY: Final = Whole(_json.pretty, b"\n", "application/json; charset=UTF-8")
GEMINI_SSE: Final = Sse(done=None, newline="\r\n", dumps=_json.spaced, content_type="text/event-stream")
GEMINI_ARRAY: Final = JsonArray()
COMPATIBLE_SSE: Final = Sse()
COMPACT_LINE: Final = Whole(_json.compact, b"\n")
BARE_SSE: Final = Sse(content_type="text/event-stream")
SORTED: Final = Whole(_json.sorted_keys)
PRETTY: Final = Whole(_json.pretty, content_type="application/json; charset=utf-8")
AZURE_SSE: Final = Sse(dumps=_json.sorted_keys)
OPENROUTER_WHOLE: Final = Whole(lead=b"\n         \n")
OPENROUTER_SSE: Final = Sse(content_type="text/event-stream", comment="OPENROUTER PROCESSING")
XAI_RESPONSES_SSE: Final = Sse(named=True, done=None, content_type="text/event-stream")
PERPLEXITY_SSE: Final = Sse(done=None, newline="\r\n")
COHERE_SSE: Final = Sse(named=True, content_type="text/event-stream")
COHERE_LINES: Final = Ndjson(content_type="application/stream+json")
MISTRAL_SSE: Final = Sse(pad=mistral_pad)
DASHSCOPE_SSE: Final = Sse(
    done=None,
    content_type="text/event-stream;charset=UTF-8",
    numbered=True,
    usual="result",
    spaced=False,
    notes=(("result", "HTTP_STATUS/200"), ("error", "HTTP_STATUS/400")),
)
WATSONX_SSE: Final = Sse(done=None, content_type="text/event-stream", numbered=True, usual="message")
IMAGES_SSE: Final = Sse(named=True, done=None)
AUDIO_SSE: Final = Sse(newline="\r\n")
MISTRAL_AUDIO_SSE: Final = Sse(named=True, done=None)
OLLAMA_WHOLE: Final = Whole(ollama.dumps, content_type=ollama.JSON)
OLLAMA_LINES: Final = Ndjson(ollama.dumps)


def gemini_wire(request: Request) -> Wire:
    """Server-sent events with `alt=sse`, else a JSON array."""
    return GEMINI_SSE if request.query.get("alt") == "sse" else GEMINI_ARRAY


def cohere_wire(request: Request) -> Wire:
    """Server-sent events, for who takes JSON alone (as LiteLLM does and reads, 1.110, 2026-11) lines."""
    return COHERE_LINES if request.headers.get("accept", "").strip() == "application/json" else COHERE_SSE


def _chat(
    path: str = "/chat/completions",
    *,
    whole: Whole = COMPACT,
    wire: Wire = OPENAI_CHAT_SSE,
    difference: Difference = SAME,
    prefix: str | None = None,
    memory: Memory | None = None,
) -> Endpoint:
    return Endpoint(
        operation="chat",
        path=path,
        dialect=openai_chat.DIALECT,
        whole=whole,
        wire=wire,
        memory=memory,
        difference=difference,
        prefix=prefix,
    )


def _completions(
    *, whole: Whole = COMPACT, wire: Wire = COMPATIBLE_SSE, difference: Difference, prefix: str | None = None
) -> Endpoint:
    return Endpoint(
        operation="chat",
        path="/completions",
        dialect=openai_completions.DIALECT,
        whole=whole,
        wire=wire,
        difference=difference,
        prefix=prefix,
    )


OPENAI_ERRORS: Final = Difference(
    headers=openai_chat.DIALECT.headers,
    failure=openai_chat.DIALECT.failure,
    failure_events=openai_chat.DIALECT.failure_events,
)


def _responses(
    *,
    whole: Whole = OPENAI_PRETTY_BARE,
    wire: Wire = OPENAI_RESPONSES_SSE,
    difference: Difference = SAME,
    prefix: str | None = None,
    memory: Memory | None = None,
) -> tuple[Endpoint, ...]:
    dialect = openai_responses.DIALECT
    return (
        Endpoint(
            operation="chat",
            path="/responses",
            dialect=dialect,
            whole=whole,
            wire=wire,
            memory=memory,
            difference=difference,
            prefix=prefix,
        ),
        Endpoint(
            operation="count_tokens",
            path="/responses/input_tokens",
            dialect=dialect,
            whole=whole,
            service=tokens.openai,
            prefix=prefix,
        ),
    )


def _embeddings(
    path: str = "/embeddings", *, whole: Whole = COMPACT, difference: Difference = SAME, prefix: str | None = None
) -> Endpoint:
    return Endpoint(
        operation="embeddings",
        path=path,
        dialect=embeddings.OPENAI,
        whole=whole,
        difference=Difference(headers=difference.headers, failure=difference.failure),
        prefix=prefix,
    )


def _images(
    verbs: str = "(generations|edits|variations)",
    dialect: Dialect = images.OPENAI,
    *,
    whole: Whole = OPENAI_PRETTY,
    difference: Difference = SAME,
) -> Endpoint:
    return Endpoint(
        operation="images",
        path=f"/images/{verbs}",
        dialect=dialect,
        whole=whole,
        wire=IMAGES_SSE,
        memory=images.KEPT,
        difference=Difference(headers=difference.headers, failure=difference.failure),
    )


def _audio(
    speech: Dialect = audio.OPENAI_SPEECH,
    transcription: Dialect = audio.OPENAI_TRANSCRIPTION,
    *,
    verbs: str = "(transcriptions|translations)",
    wire: Wire = AUDIO_SSE,
    whole: Whole = COMPACT,
    difference: Difference = SAME,
    document: Callable[[Exchange, dict[str, Any]], dict[str, Any]] | None = None,
) -> tuple[Endpoint, ...]:
    own = Difference(headers=difference.headers, failure=difference.failure)
    row = Endpoint(operation="speech", path="/audio/speech", dialect=speech, whole=whole, wire=wire, difference=own)
    return row, replace(
        row,
        operation="transcription",
        path=f"/audio/{verbs}",
        dialect=transcription,
        difference=replace(own, document=document),
    )


def _fetched(*templates: str) -> tuple[Endpoint, ...]:
    """What a URL in an answer leads to."""
    row = _look_up("", images.fetched, operation="files", prefix="")
    return tuple(replace(row, path=template, deliberate=True) for template in templates)


def _embed_content(prefix: str | None = None, *, path: str = "/(models|tunedModels)/{model}") -> Endpoint:
    return Endpoint(
        operation="embeddings",
        path=path + ":(embedContent|batchEmbedContents)",
        dialect=embeddings.GEMINI,
        whole=GEMINI_PRETTY,
        prefix=prefix,
    )


def _rerank(
    dialect: Dialect,
    *,
    whole: Whole = COMPACT,
    difference: Difference = SAME,
    new_id: Callable[[Ids], str] | None = None,
) -> Endpoint:
    return Endpoint(
        operation="rerank",
        path="/rerank",
        dialect=dialect,
        whole=whole,
        difference=Difference(headers=difference.headers, id=new_id),
    )


def _messages(prefix: str | None = None) -> tuple[Endpoint, ...]:
    dialect = anthropic_messages.DIALECT
    return (
        Endpoint(operation="chat", path="/messages", dialect=dialect, wire=ANTHROPIC_SSE, prefix=prefix),
        Endpoint(
            operation="count_tokens",
            path="/messages/count_tokens",
            dialect=dialect,
            service=tokens.anthropic,
            prefix=prefix,
        ),
    )


def _predicted(path: str, *, service: Service | None = None) -> Endpoint:
    """Claude on Vertex AI."""
    return Endpoint(
        operation="chat" if service is None else "count_tokens",
        path="/publishers/anthropic/models/" + path,
        dialect=anthropic_messages.DIALECT,
        wire=ANTHROPIC_SSE if service is None else None,
        service=service,
        difference=VERTEX_ANTHROPIC,
        prefix="/{version}/projects/{project}/locations/{location}",
    )


PREDICTED: Final = (
    _predicted("count-tokens:rawPredict", service=tokens.anthropic),
    _predicted("{model}:(rawPredict|streamRawPredict)"),
)


def _invoked(
    family: str,
    dialect: Dialect,
    difference: Difference,
    *,
    operation: str = "chat",
    by_body: tuple[tuple[str, Endpoint], ...] = (),
) -> Endpoint:
    """A family of models by Bedrock's `invoke`: its name is in the model's id, that of an ARN and of a region's profile too."""
    return Endpoint(
        operation=operation,
        path=f"/model/[{{scope...}}]{family}{{model...}}/(invoke|invoke-with-response-stream)",
        dialect=dialect,
        wire=BEDROCK_ENVELOPE if operation == "chat" else None,
        difference=difference,
        by_body=by_body,
    )


INVOKED_ANTHROPIC: Final = _invoked("anthropic.", anthropic_messages.DIALECT, bedrock.BEDROCK_ANTHROPIC)
_INVOKED_NOVA: Final = _invoked(
    "amazon.nova-(micro|lite|pro|premier|2-)", bedrock_converse.DIALECT, bedrock.BEDROCK_NOVA
)
_INVOKED_OPEN: Final = tuple(
    _invoked(maker, bedrock.CHAT, bedrock.BEDROCK_CHAT)
    for maker in (
        *("openai.", "qwen.", "ai21.jamba", "moonshot", "minimax."),
        *("zai.", "google.gemma", "nvidia.", "writer."),
    )
)
_INVOKED_CHAT: Final = _INVOKED_OPEN[0]
_INVOKED_TEXTS: Final = {
    family: _invoked(family, dialect, bedrock.BEDROCK_TEXT, by_body=(("messages", _INVOKED_CHAT),))
    for family, dialect in bedrock.TEXTS.items()
}
_INVOKED_COMMAND: Final = _invoked("cohere.command", bedrock.COMMAND, bedrock.BEDROCK_COMMAND)
_INVOKED_COMMAND_R: Final = _invoked("cohere.command-r", bedrock.COMMAND_R, bedrock.BEDROCK_COMMAND_R)
_EMBEDDED_COHERE: Final = _invoked(
    "cohere.embed",
    bedrock.on_bedrock(embeddings.COHERE, streams=False),
    bedrock.BEDROCK_VECTORS,
    operation="embeddings",
)
_EMBEDDED_TITAN: Final = _invoked("amazon.titan-embed", embeddings.TITAN, bedrock.BEDROCK_TEXT, operation="embeddings")
_EMBEDDED_NOVA: Final = _invoked(
    "amazon.nova-2-multimodal-embeddings", embeddings.NOVA, bedrock.BEDROCK_TEXT, operation="embeddings"
)
_RANKED: Final = _invoked(
    "cohere.rerank", bedrock.on_bedrock(rerank.COHERE, streams=False), bedrock.BEDROCK_RANKED, operation="rerank"
)
_IMPORTED: Final = _invoked("imported.", bedrock_invoke.COMPLETION, bedrock.BEDROCK_TEXT)

INVOKED: Final = (
    INVOKED_ANTHROPIC,
    _EMBEDDED_NOVA,
    _INVOKED_NOVA,
    _EMBEDDED_TITAN,
    _INVOKED_COMMAND_R,
    _INVOKED_COMMAND,
    _EMBEDDED_COHERE,
    _RANKED,
    *_INVOKED_TEXTS.values(),
    *_INVOKED_OPEN,
    # ids that say nothing of a family: application inference profiles, provisioned and imported models
    replace(
        INVOKED_ANTHROPIC,
        path="/model/arn{model...}/(invoke|invoke-with-response-stream)",
        by_body=(
            ("anthropic_version", INVOKED_ANTHROPIC),
            *((key, _INVOKED_NOVA) for key in ("schemaVersion", "inferenceConfig")),
            ("textGenerationConfig", _INVOKED_TEXTS["amazon.titan-t"]),
            *((key, _EMBEDDED_TITAN) for key in ("inputText", "inputImage")),
            ("singleEmbeddingParams", _EMBEDDED_NOVA),
            ("input_type", _EMBEDDED_COHERE),
            ("query", _RANKED),
            ("message", _INVOKED_COMMAND_R),
            ("max_gen_len", _INVOKED_TEXTS["meta.llama"]),
            ("messages", _INVOKED_CHAT),
            ("max_tokens", _IMPORTED),
            ("prompt", _INVOKED_TEXTS["meta.llama"]),
        ),
    ),
)
"""Bedrock's `invoke`, a row for each family."""


def _models(
    dialect: Dialect, every: Service, one: Service, *, whole: Whole = COMPACT, name: str = "/models/{model...}"
) -> tuple[Endpoint, ...]:
    row = Endpoint(
        operation="models", method="GET", path="/models", dialect=dialect, service=every, side=True, whole=whole
    )
    return row, replace(row, path=name, service=one)


OPENAI_MODELS: Final = _models(openai_chat.DIALECT, models.openai_list, models.openai_one, whole=OPENAI_PRETTY)


def _stored(dialect: Dialect, *rows: tuple[str, str, str, Service]) -> tuple[Endpoint, ...]:
    """What is asked of what is kept: operation, method, path and service."""
    return tuple(
        Endpoint(
            operation=operation,
            method=method,
            path=path,
            dialect=dialect,
            whole=OPENAI_PRETTY_BARE,
            wire=OPENAI_RESPONSES_SSE if service is stored.response_retrieve else None,
            service=service,
            side=True,
            deliberate=True,
        )
        for operation, method, path, service in rows
    )


_MESSAGE_BATCH: Final = "/messages/batches/{batch}"
ANTHROPIC_BATCHES: Final = tuple(
    replace(row, whole=COMPACT, wire=None)
    for row in _stored(
        anthropic_messages.DIALECT,
        ("batches", "POST", "/messages/batches", batches.anthropic_create),
        ("batches", "GET", "/messages/batches", batches.anthropic_list),
        ("batches", "GET", _MESSAGE_BATCH, batches.anthropic_retrieve),
        ("batches", "GET", f"{_MESSAGE_BATCH}/results", batches.anthropic_results),
        ("batches", "POST", f"{_MESSAGE_BATCH}/cancel", batches.anthropic_cancel),
        ("batches", "DELETE", _MESSAGE_BATCH, batches.anthropic_delete),
    )
)
CLAUDE_PLATFORM: Final = (
    *_messages(),
    *ANTHROPIC_BATCHES,
    *_models(anthropic_messages.DIALECT, models.anthropic_list, models.anthropic_one),
)
_CONVERSATION: Final = "/conversations/{conversation}"
_COMPLETION: Final = "/chat/completions/{completion}"
OPENAI_STORED: Final = (
    *_stored(
        openai_responses.DIALECT,
        ("responses", "GET", "/responses/{response}", stored.response_retrieve),
        ("responses", "DELETE", "/responses/{response}", stored.response_delete),
        ("responses", "POST", "/responses/{response}/cancel", stored.response_cancel),
        ("responses", "GET", "/responses/{response}/input_items", stored.response_input_items),
        ("conversations", "POST", "/conversations", stored.conversation_create),
        ("conversations", "GET", _CONVERSATION, stored.conversation_retrieve),
        ("conversations", "POST", _CONVERSATION, stored.conversation_update),
        ("conversations", "DELETE", _CONVERSATION, stored.conversation_delete),
        ("conversations", "GET", f"{_CONVERSATION}/items", stored.conversation_items),
        ("conversations", "POST", f"{_CONVERSATION}/items", stored.conversation_items_create),
        ("conversations", "GET", f"{_CONVERSATION}/items/{{item}}", stored.conversation_item),
        ("conversations", "DELETE", f"{_CONVERSATION}/items/{{item}}", stored.conversation_item_delete),
    ),
    *_stored(
        openai_chat.DIALECT,
        ("files", "POST", "/files", files.create),
        ("files", "GET", "/files", files.list_all),
        ("files", "GET", "/files/{file}", files.retrieve),
        ("files", "GET", "/files/{file}/content", files.content),
        ("files", "DELETE", "/files/{file}", files.delete),
        ("batches", "POST", "/batches", batches.openai_create),
        ("batches", "GET", "/batches", batches.openai_list),
        ("batches", "GET", "/batches/{batch}", batches.openai_retrieve),
        ("batches", "POST", "/batches/{batch}/cancel", batches.openai_cancel),
        ("completions", "GET", "/chat/completions", stored.chat_list),
        ("completions", "GET", _COMPLETION, stored.chat_retrieve),
        ("completions", "POST", _COMPLETION, stored.chat_update),
        ("completions", "DELETE", _COMPLETION, stored.chat_delete),
        ("completions", "GET", f"{_COMPLETION}/messages", stored.chat_messages),
    ),
)
_BATCHES_OF_MODELS: Final = "/(models|tunedModels)/{model}:(batchGenerateContent|asyncBatchEmbedContent)"
GEMINI_STORED: Final = tuple(
    replace(
        row, whole=GEMINI_PRETTY, wire=None, prefix="/upload/{version}" if row.service is google.file_upload else None
    )
    for row in _stored(
        gemini.DIALECT,
        ("caches", "POST", "/cachedContents", google.cache_create),
        ("caches", "GET", "/cachedContents", google.cache_list),
        ("caches", "GET", "/cachedContents/{cache}", google.cache_retrieve),
        ("caches", "PATCH", "/cachedContents/{cache}", google.cache_update),
        ("caches", "DELETE", "/cachedContents/{cache}", google.cache_delete),
        ("files", "POST", "/files", google.file_upload),
        ("files", "GET", "/files", google.file_list),
        ("files", "GET", "/files/{file}", google.file_retrieve),
        ("files", "GET", "/files/{file}:download", google.file_download),
        ("files", "DELETE", "/files/{file}", google.file_delete),
        ("batches", "POST", _BATCHES_OF_MODELS, google.batch_create),
        ("batches", "GET", "/batches", google.batch_list),
        ("batches", "GET", "/batches/{batch}", google.batch_retrieve),
        ("batches", "POST", "/batches/{batch}:cancel", google.batch_cancel),
        ("batches", "DELETE", "/batches/{batch}", google.batch_delete),
    )
)
_JOB: Final = "/batch/jobs/{job}"
MISTRAL_STORED: Final = tuple(
    replace(row, whole=COMPACT, wire=None, difference=MISTRAL_KEPT)
    for row in _stored(
        openai_chat.DIALECT,
        ("files", "POST", "/files", mistral_services.file_create),
        ("files", "GET", "/files", mistral_services.file_list),
        ("files", "GET", "/files/{file}", mistral_services.file_retrieve),
        ("files", "GET", "/files/{file}/content", mistral_services.file_content),
        ("files", "GET", "/files/{file}/url", mistral_services.file_url),
        ("files", "DELETE", "/files/{file}", mistral_services.file_delete),
        ("batches", "POST", "/batch/jobs", mistral_services.job_create),
        ("batches", "GET", "/batch/jobs", mistral_services.job_list),
        ("batches", "GET", _JOB, mistral_services.job_retrieve),
        ("batches", "POST", f"{_JOB}/cancel", mistral_services.job_cancel),
        ("batches", "DELETE", _JOB, mistral_services.job_delete),
    )
)
COMPACT_MODELS: Final = _models(openai_chat.DIALECT, models.openai_list, models.openai_one)


def _saying(difference: Difference, rows: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """The rows of OpenAI's vocabularies that differ in nothing, with a host's own errors for a whole answer."""
    if difference.failure is None:
        return rows
    own = Difference(failure=difference.failure)
    return tuple(
        replace(row, difference=own) if row.difference is SAME and row.dialect.name in _LIKE_OPENAI else row
        for row in rows
    )


_LIKE_OPENAI: Final = frozenset({openai_chat.DIALECT.name, openai_responses.DIALECT.name})


def _compatible(
    name: str,
    hosts: str,
    prefix: str = "/v1",
    *,
    difference: Difference = SAME,
    whole: Whole = COMPACT,
    wire: Wire = COMPATIBLE_SSE,
    more: tuple[Endpoint, ...] = (),
    embeds: bool = False,
    path: str = "/chat/completions",
    listed: Service = models.openai_list,
    shared: tuple[tuple[str, str], ...] = (),
    base_urls: str = "",
    credentials: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (),
) -> Provider:
    """A host that speaks OpenAI's chat vocabulary."""
    chat = _chat(path, whole=whole, wire=wire, difference=difference)
    listing = replace(COMPACT_MODELS[0], service=listed), *COMPACT_MODELS[1:]
    if embeds:
        more = (_embeddings(whole=whole, difference=difference), *more)
    return Provider(
        name=name,
        hosts=tuple(hosts.split()),
        shared=shared,
        prefix=prefix,
        endpoints=(chat, *_saying(difference, (*listing, *more))),
        base_urls=tuple(base_urls.split()),
        credentials=credentials,
    )


def _generate_content(
    prefix: str | None = None, *, path: str = "/(models|tunedModels)/{model}", memory: Memory | None = None
) -> Endpoint:
    return Endpoint(
        operation="chat",
        path=path + ":(generateContent|streamGenerateContent)",
        dialect=gemini.DIALECT,
        whole=GEMINI_PRETTY,
        wire=gemini_wire,
        memory=memory,
        prefix=prefix,
    )


def _look_up(
    path: str, service: Service, *, operation: str = "models", method: str = "GET", prefix: str | None = None
) -> Endpoint:
    """What an SDK asks by itself, before or beside a call."""
    return Endpoint(
        operation=operation,
        method=method,
        path=path,
        dialect=openai_chat.DIALECT,
        service=service,
        side=True,
        prefix=prefix,
    )


def _without_sdk(
    variable: str, dummy: str, *others: str, modules: tuple[str, ...] = ("dspy", "lm15", "litellm")
) -> tuple[tuple[str, str, str, tuple[str, ...]], ...]:
    """A dummy for those who speak to this provider without an SDK of it: lm15, which DSPy carries a copy of, and LiteLLM.

    What does as well for the SDK counts here too, so that its clients aren't given two credentials.
    """
    return tuple((module, variable, dummy, others) for module in modules)


_VERTEX: Final = "/{version}[/projects/{project...}/locations/{location}]"
"""Of a project at a location, or with a key alone: express mode."""


def _ollama(path: str, dialect: Dialect) -> Endpoint:
    """A row that streams lines; a request that only loads or unloads the model is housekeeping."""
    row = Endpoint(operation="chat", path=path, dialect=dialect, whole=OLLAMA_WHOLE, wire=OLLAMA_LINES, prefix="")
    loading = replace(row, operation="warm_up", service=ollama_services.loaded, side=True, wire=None)
    return replace(row, by_body=((ollama.idle, loading),))


def _ollama_side(methods: str, path: str, service: Service, operation: str = "models") -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(
            operation=operation,
            method=method,
            path=path,
            dialect=ollama.CHAT,
            whole=OLLAMA_WHOLE,
            service=service,
            side=True,
            prefix="",
        )
        for method in methods.split()
    )


_OLLAMA: Final = (
    _ollama("/api/chat", ollama.CHAT),
    _ollama("/api/generate", ollama.GENERATE),
    Endpoint(
        operation="embeddings",
        path="/api/(embed|embeddings)",
        dialect=embeddings.OLLAMA,
        whole=OLLAMA_WHOLE,
        prefix="",
    ),
    # LiteLLM asks two to seven times for each call, some of them on a thread after the answer (1.110, 2026-11)
    *_ollama_side("POST", "/api/show", ollama_services.show),
    *_ollama_side("GET HEAD", "/api/tags", ollama_services.tags),
    *_ollama_side("GET", "/api/ps", ollama_services.running),
    *_ollama_side("POST", "/api/pull", ollama_services.pull),
    *_ollama_side("POST", "/api/push", ollama_services.push),
    *_ollama_side("POST", "/api/create", ollama_services.create),
    *_ollama_side("POST", "/api/copy", ollama_services.copy),
    *_ollama_side("DELETE", "/api/delete", ollama_services.delete),
    *_ollama_side("POST HEAD", "/api/blobs/{digest...}", ollama_services.blob, "files"),
    *_ollama_side("GET HEAD", "/api/version", ollama_services.version, "warm_up"),
    *_ollama_side("GET HEAD", "[/]", ollama_services.root, "warm_up"),
)
"""Ollama's own API (its server's routes, 2026-08)."""


def _predictions(path: str) -> Endpoint:
    return Endpoint(operation="chat", path=path, dialect=replicate.DIALECT, memory=replicate_services.PREDICTIONS)


_PREDICTION: Final = "/predictions/{prediction}"
_MODEL: Final = "/models/{owner}/{name}"
REPLICATE: Final = (
    _predictions("/predictions"),
    _predictions(f"{_MODEL}/predictions"),
    _predictions("/deployments/{owner}/{name}/predictions"),
    *(
        Endpoint(
            operation=operation,
            method=method,
            path=path,
            dialect=replicate.DIALECT,
            service=service,
            side=True,
            deliberate=True,
        )
        for operation, method, path, service in (
            ("predictions", "GET", "/predictions", replicate_services.prediction_list),
            ("predictions", "GET", _PREDICTION, replicate_services.prediction_get),
            ("predictions", "POST", f"{_PREDICTION}/cancel", replicate_services.prediction_cancel),
            ("predictions", "GET", "/files/{prediction}", replicate_services.stream),  # on stream.replicate.com
            ("models", "GET", "/models", replicate_services.model_list),
            ("models", "GET", _MODEL, replicate_services.model_get),
            ("models", "GET", f"{_MODEL}/versions", replicate_services.version_list),
            ("models", "GET", f"{_MODEL}/versions/{{version}}", replicate_services.version_get),
            ("users", "GET", "/account", replicate_services.account),
        )
    ),
)
"""Replicate: what is predicted, and what is asked of it later."""

_WORKERS_AI: Final = "/client/v4/accounts/{account}/ai/v1"


def _unknown_url(method: str, path: str) -> Any:
    """What api.openai.com says of a path that isn't there (2026-11)."""
    docs = "https://platform.openai.com/docs/api-reference/"
    said = f"Unknown request URL: {method} {path}. Please check the URL for typos, or see the docs at {docs}."
    return {"error": {"message": said, "type": "invalid_request_error", "param": None, "code": "unknown_url"}}


PROVIDERS: Final[tuple[Provider, ...]] = (
    Provider(
        name="openai",
        no_path=_unknown_url,
        hosts=("api.openai.com", "*.api.openai.com"),
        shared=(("oaidalleapiprodscus.blob.core.windows.net", "/private/{rest...}"),),
        prefix="/v1",
        base_urls=(
            *("OPENAI_BASE_URL", "OPENAI_API_BASE"),
            # what LiteLLM reads for a proxy of its own and for local servers (1.110, 2026-11)
            *("LITELLM_PROXY_API_BASE", "HOSTED_VLLM_API_BASE", "LM_STUDIO_API_BASE", "LLAMAFILE_API_BASE"),
        ),
        credentials=(
            ("openai", "OPENAI_API_KEY", "sk-fake-llm", ("OPENAI_ADMIN_KEY",)),
            *_without_sdk("OPENAI_API_KEY", "sk-fake-llm", "OPENAI_ADMIN_KEY"),
        ),
        endpoints=(
            _chat(whole=OPENAI_PRETTY, memory=stored.CHAT),
            *_responses(memory=stored.RESPONSES),
            *OPENAI_STORED,
            Endpoint(operation="moderation", path="/moderations", dialect=moderation.OPENAI, whole=OPENAI_PRETTY),
            _completions(whole=OPENAI_PRETTY, difference=completions(OPENAI_ERRORS)),
            _embeddings(),
            _images(),
            *_audio(),
            *_fetched("/private/org-{organization}/{rest...}"),
            *OPENAI_MODELS,
            Endpoint(
                operation="traces", path="/traces/ingest", dialect=openai_chat.DIALECT, service=traces.taken, side=True
            ),
        ),
    ),
    Provider(
        name="anthropic",
        hosts=("api.anthropic.com",),
        prefix="/v1",
        base_urls=("ANTHROPIC_BASE_URL",),
        credentials=(
            ("anthropic", "ANTHROPIC_API_KEY", "sk-ant-fake-llm", ("ANTHROPIC_AUTH_TOKEN",)),
            *_without_sdk("ANTHROPIC_API_KEY", "sk-ant-fake-llm", "ANTHROPIC_AUTH_TOKEN"),
        ),
        endpoints=CLAUDE_PLATFORM,
    ),
    # Anthropic's own platform on other clouds (anthropic 2.14, 2026-11)
    Provider(
        name="anthropic_aws",
        hosts=("aws-external-anthropic.*.api.aws",),
        prefix="/v1",
        endpoints=CLAUDE_PLATFORM,
        base_urls=("ANTHROPIC_AWS_BASE_URL",),
        credentials=(("anthropic", "ANTHROPIC_AWS_WORKSPACE_ID", "wrkspc_fake_llm", ()),),
    ),
    Provider(
        name="anthropic_google_cloud",
        hosts=("claude.googleapis.com",),
        prefix="/{version}/projects/{project}/locations/{location}/workspaces/{workspace}/invoke/v1",
        endpoints=CLAUDE_PLATFORM,
        base_urls=("ANTHROPIC_GOOGLE_CLOUD_BASE_URL",),
        credentials=(
            ("anthropic", "ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID", "wrkspc_fake_llm", ()),
            ("anthropic", "ANTHROPIC_GOOGLE_CLOUD_PROJECT", "fake-llm", ("GOOGLE_CLOUD_PROJECT",)),
        ),
    ),
    Provider(
        name="gemini",
        hosts=("generativelanguage.googleapis.com", "generativelanguage.mtls.googleapis.com"),
        prefix="/{version}",
        base_urls=("GOOGLE_GEMINI_BASE_URL",),
        credentials=(
            ("google.genai", "GEMINI_API_KEY", "fake-llm", ("GOOGLE_API_KEY",)),
            *_without_sdk("GEMINI_API_KEY", "fake-llm", "GOOGLE_API_KEY"),
        ),
        endpoints=(
            _generate_content(memory=google.MEMORY),
            _embed_content(),
            *GEMINI_STORED,
            Endpoint(operation="images", path="/models/{model}:predict", dialect=images.GEMINI, whole=GEMINI_PRETTY),
            Endpoint(
                operation="count_tokens",
                path="/models/{model}:countTokens",
                dialect=gemini.DIALECT,
                whole=GEMINI_PRETTY,
                service=tokens.gemini,
            ),
            *_models(
                gemini.DIALECT, models.gemini_list, models.gemini_one, whole=GEMINI_PRETTY, name="/models/{model}"
            ),
            _chat("/openai/chat/completions", wire=BARE_SSE, difference=GEMINI),
            _embeddings("/openai/embeddings", difference=GEMINI),
            *(replace(row, path="/openai" + row.path) for row in _saying(GEMINI, COMPACT_MODELS)),
        ),
    ),
    _compatible(
        "groq",
        "api.groq.com",
        "/openai/v1",
        embeds=True,
        difference=GROQ,
        whole=COMPACT_LINE,
        wire=BARE_SSE,
        more=(
            *_responses(),
            *_audio(
                audio.GROQ_SPEECH,
                audio.GROQ_TRANSCRIPTION,
                whole=COMPACT_LINE,
                difference=GROQ,
                document=audio.groq_transcription,
            ),
        ),
        base_urls="GROQ_BASE_URL",
        credentials=(("groq", "GROQ_API_KEY", "gsk_fake_llm", ()), *_without_sdk("GROQ_API_KEY", "gsk_fake_llm")),
    ),
    Provider(
        name="azure",
        hosts=(
            *("*.openai.azure.com", "*.services.ai.azure.com", "*.cognitiveservices.azure.com"),
            *("*.openai.azure.us", "*.services.ai.azure.us", "*.cognitiveservices.azure.us"),
            *("*.openai.azure.cn", "*.services.ai.azure.cn", "*.cognitiveservices.azure.cn"),
            *("*.models.ai.azure.com", "*.inference.ai.azure.com"),  # a model that is deployed by itself
        ),
        shared=(("dalleproduse.blob.core.windows.net", "/private/images/{rest...}"),),
        prefix="[/api/projects/{project}]/openai[/v1|/deployments/{deployment}]",
        endpoints=(
            _chat(whole=SORTED, wire=AZURE_SSE, difference=AZURE_CHAT, memory=stored.CHAT),
            _chat(whole=SORTED, wire=AZURE_SSE, difference=AZURE_MODELS, prefix="[/models|/v1]"),
            *_responses(difference=AZURE_RESPONSES, memory=stored.RESPONSES),
            *OPENAI_STORED,
            _completions(difference=completions(AZURE_CHAT, filtered)),
            _embeddings(difference=AZURE_CHAT),
            _embeddings(difference=AZURE_CHAT, prefix="[/models|/v1]"),
            _images(difference=AZURE_CHAT),
            *_audio(difference=AZURE_CHAT),
            *_fetched("/private/images/{rest...}"),
            *COMPACT_MODELS,
            _look_up("/info", models.azure_info, prefix="[/models]"),
            *_messages("[/anthropic]/v1"),
        ),
        base_urls=("AZURE_OPENAI_ENDPOINT", "ANTHROPIC_FOUNDRY_BASE_URL"),
        credentials=(
            ("anthropic", "ANTHROPIC_FOUNDRY_API_KEY", "azure-fake-llm", ()),
            ("anthropic", "ANTHROPIC_FOUNDRY_RESOURCE", "fake-llm", ("ANTHROPIC_FOUNDRY_BASE_URL",)),
            ("openai", "AZURE_OPENAI_API_KEY", "azure-fake-llm", ("AZURE_OPENAI_AD_TOKEN",)),
            ("openai", "OPENAI_API_VERSION", "2024-10-21", ()),
            ("openai", "AZURE_OPENAI_ENDPOINT", "https://fake-llm.openai.azure.com", ()),
        ),
    ),
    _compatible(
        "together",
        "api.together.ai api.together.xyz api-inference.together.ai",
        embeds=True,
        difference=TOGETHER,
        listed=models.together_list,
        whole=PRETTY,
        wire=BARE_SSE,
        more=(
            _rerank(rerank.TOGETHER, whole=PRETTY, difference=TOGETHER),
            _completions(whole=PRETTY, wire=BARE_SSE, difference=completions(TOGETHER, named)),
            _images("generations", images.TOGETHER, whole=PRETTY, difference=TOGETHER),
            *_fetched("/imgproxy/{name...}"),
        ),
        base_urls="TOGETHER_BASE_URL",
        credentials=(
            ("together", "TOGETHER_API_KEY", "fake-llm", ()),
            ("litellm", "TOGETHERAI_API_KEY", "fake-llm", ("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY")),
        ),
    ),
    _compatible(
        "fireworks",
        "api.fireworks.ai",
        "/inference/v1",
        embeds=True,
        difference=FIREWORKS,
        wire=BARE_SSE,
        more=(*_responses(), *_messages(), _completions(wire=BARE_SSE, difference=completions(FIREWORKS))),
        base_urls="FIREWORKS_BASE_URL",
        credentials=(
            ("fireworks", "FIREWORKS_API_KEY", "fw_fake_llm", ()),
            *_without_sdk(
                *("FIREWORKS_API_KEY", "fw_fake_llm"),
                *("FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
                modules=("litellm",),
            ),
        ),
    ),
    _compatible(
        "deepseek",
        "api.deepseek.com",
        "[/v1|/beta]",
        difference=DEEPSEEK,
        credentials=(("langchain_deepseek", "DEEPSEEK_API_KEY", "sk-fake-llm", ()),),
        more=(
            *_responses(whole=COMPACT, difference=DEEPSEEK_RESPONSES),
            _completions(difference=completions(DEEPSEEK)),
            *_messages("/anthropic[/v1]"),
        ),
    ),
    _compatible(
        "openrouter",
        "openrouter.ai *.openrouter.ai",
        "/api/v1",
        embeds=True,
        difference=OPENROUTER,
        listed=models.openrouter_list,
        whole=OPENROUTER_WHOLE,
        wire=OPENROUTER_SSE,
        credentials=(("openrouter", "OPENROUTER_API_KEY", "sk-or-fake-llm", ()),),
        more=(
            *_responses(whole=COMPACT, wire=OPENROUTER_SSE, difference=OPENROUTER_RESPONSES),
            *_messages(),
            _rerank(rerank.OPENROUTER, difference=OPENROUTER, new_id=new_rerank_id),
            _completions(whole=OPENROUTER_WHOLE, wire=OPENROUTER_SSE, difference=completions(OPENROUTER)),
        ),
    ),
    _compatible(
        "xai",
        "api.x.ai *.api.x.ai",
        difference=XAI,
        credentials=(("langchain_xai", "XAI_API_KEY", "xai-fake-llm", ()),),
        wire=BARE_SSE,
        more=(
            *_responses(whole=COMPACT, wire=XAI_RESPONSES_SSE, difference=XAI_RESPONSES, memory=stored.RESPONSES),
            *OPENAI_STORED[:2],
            *_messages(),
            _images("(generations|edits)", images.XAI, whole=COMPACT, difference=XAI),
            *_fetched("/xai-imgen/{name...}"),
        ),
        shared=(("imgen.x.ai", "/xai-imgen/{name...}"),),
    ),
    _compatible(
        "perplexity",
        "api.perplexity.ai",
        "[/v1]",
        embeds=True,
        difference=PERPLEXITY,
        whole=SORTED,
        wire=PERPLEXITY_SSE,
        base_urls="PERPLEXITY_BASE_URL",
        credentials=(
            ("perplexity", "PERPLEXITY_API_KEY", "pplx-fake-llm", ()),
            ("langchain_perplexity", "PPLX_API_KEY", "pplx-fake-llm", ("PERPLEXITY_API_KEY",)),
        ),
    ),
    _compatible(
        "cerebras",
        "api.cerebras.ai",
        difference=CEREBRAS,
        wire=BARE_SSE,
        more=(_look_up("/tcp_warming", traces.taken, operation="warm_up"),),
        base_urls="CEREBRAS_BASE_URL",
        credentials=(("cerebras.cloud.sdk", "CEREBRAS_API_KEY", "csk-fake-llm", ()),),
    ),
    _compatible(
        "huggingface",
        "router.huggingface.co api-inference.huggingface.co"
        " *.aws.endpoints.huggingface.cloud *.azure.endpoints.huggingface.cloud *.gcp.endpoints.huggingface.cloud",
        "[/{provider}[/openai|/inference|/compatibility]]/v1",
        difference=HUGGINGFACE,
        wire=BARE_SSE,
        embeds=True,
        shared=(
            (
                "huggingface.co",  # downloads of models and tokenizers go on
                "/api/(agent-harnesses|models/{model...}?expand=inferenceProviderMapping)",
            ),
        ),
        more=(
            _chat(prefix="/{provider}(/v1/openai|/v3/openai|/api/paas/v4)", wire=BARE_SSE, difference=HUGGINGFACE),
            _chat(prefix="[/hf-inference]/models/{model...}/v1", wire=BARE_SSE, difference=HUGGINGFACE),
            _look_up("/api/models/{model...}", huggingface.model, prefix=""),
            _look_up("/api/agent-harnesses", huggingface.harnesses, operation="harnesses", prefix=""),
        ),
        credentials=(("huggingface_hub.constants", "HF_TOKEN", "hf_fake_llm", ("HUGGING_FACE_HUB_TOKEN",)),),
    ),
    # hosts behind Hugging Face's router, called by themselves (huggingface_hub 2.4, 2026-11)
    _compatible("baseten", "inference.baseten.co", difference=PLAIN),
    _compatible("deepinfra", "api.deepinfra.com", "/v1/openai", difference=PLAIN, embeds=True),
    _compatible("featherless", "api.featherless.ai", difference=PLAIN),
    _compatible("hyperbolic", "api.hyperbolic.xyz", difference=HYPERBOLIC),
    _compatible(
        "nebius",
        "api.studio.nebius.com api.studio.nebius.ai api.tokenfactory.nebius.com",
        difference=PLAIN,
        embeds=True,
    ),
    _compatible("novita", "api.novita.ai", "[/v3]/openai[/v1]", difference=NOVITA),
    _compatible("nscale", "inference.api.nscale.com", difference=PLAIN),
    _compatible("ovhcloud", "oai.endpoints.kepler.ai.cloud.ovh.net", difference=PLAIN, embeds=True),
    _compatible("publicai", "api.publicai.co", difference=PLAIN),
    _compatible("scaleway", "api.scaleway.ai", "[/{project}]/v1", difference=PLAIN, embeds=True),
    _compatible("nvidia", "integrate.api.nvidia.com", difference=NVIDIA, embeds=True),
    _compatible("sambanova", "api.sambanova.ai", difference=SAMBANOVA, embeds=True, more=(*_responses(), *_messages())),
    _compatible("moonshot", "api.moonshot.ai api.moonshot.cn", difference=MOONSHOT, more=_messages("/anthropic[/v1]")),
    _compatible(
        "zai",
        "api.z.ai open.bigmodel.cn",
        "/api[/coding]/paas/v4",
        difference=ZAI,
        embeds=True,
        more=_messages("/api/anthropic[/v1]"),
        base_urls="ZAI_BASE_URL",
        credentials=(
            ("zai", "ZAI_API_KEY", "fake-llm", ()),
            # LiteLLM has a key of its own for the Chinese host (1.110, 2026-11)
            *_without_sdk("BIGMODEL_API_KEY", "fake-llm", modules=("litellm",)),
        ),
    ),
    _compatible(
        "dashscope",
        "dashscope.aliyuncs.com dashscope-intl.aliyuncs.com dashscope-us.aliyuncs.com *.dashscope.aliyuncs.com",
        "[/api/v2/apps/protocols]/compatible-mode/v1",
        difference=DASHSCOPE,
        embeds=True,
        more=(
            *_responses(),
            *_messages("/apps/anthropic[/v1]"),
            Endpoint(
                operation="chat",
                path="/aigc/(text-generation|multimodal-generation)/generation",
                dialect=GENERATION,
                wire=DASHSCOPE_SSE,
                prefix="/api/v1/services",
            ),
            Endpoint(
                operation="embeddings",
                path="/embeddings/text-embedding/text-embedding",
                dialect=embeddings.DASHSCOPE,
                prefix="/api/v1/services",
            ),
        ),
        base_urls="DASHSCOPE_HTTP_BASE_URL",
        credentials=(("dashscope", "DASHSCOPE_API_KEY", "sk-fake-llm", ()),),
    ),
    _compatible(
        "ai21",
        "api.ai21.com",
        "/studio/v1",
        difference=AI21,
        base_urls="AI21_API_HOST",
        credentials=(("ai21", "AI21_API_KEY", "fake-llm", ()),),
    ),
    _compatible(
        "writer",
        "api.writer.com",
        path="/chat",
        listed=models.writer_list,
        difference=WRITER,
        base_urls="WRITER_BASE_URL",
        credentials=(("writerai", "WRITER_API_KEY", "fake-llm", ()),),
    ),
    _compatible(
        "github",
        "models.github.ai models.inference.ai.azure.com",
        "[[/orgs/{org}]/inference]",
        difference=GITHUB,
        whole=SORTED,
        wire=AZURE_SSE,
        embeds=True,
    ),
    _compatible(
        "cloudflare",
        "gateway.ai.cloudflare.com",
        "/v1/{account}/{gateway}/{provider}[/v1]",
        difference=AI_GATEWAY,
        embeds=True,
        shared=(("api.cloudflare.com", "/client/v4/accounts/{account}/ai/(v1|run)/{rest...}"),),
        more=(
            _chat(
                prefix="/v1/{account}/{gateway}/azure-openai/{resource}/{deployment}",
                wire=COMPATIBLE_SSE,
                difference=AI_GATEWAY,
            ),
            *_responses(),
            *_messages(),
            _embeddings(prefix="/v1/{account}/{gateway}/azure-openai/{resource}/{deployment}", difference=AI_GATEWAY),
            _generate_content("/v1/{account}/{gateway}/google-ai-studio/{version}"),
            _embed_content("/v1/{account}/{gateway}/google-ai-studio/{version}"),
            _chat(prefix=_WORKERS_AI, wire=COMPATIBLE_SSE, difference=WORKERS_AI),
            *_saying(WORKERS_AI, _responses(prefix=_WORKERS_AI)),
            _embeddings(prefix=_WORKERS_AI, difference=WORKERS_AI),
        ),
    ),
    _compatible(
        "ollama",
        "localhost:11434 127.0.0.1:11434 [::1]:11434 0.0.0.0:11434",
        shared=(("ollama.com", "/(v1|api)/{rest...}"),),
        difference=OLLAMA,
        whole=COMPACT_LINE,
        wire=BARE_SSE,
        embeds=True,
        more=(
            *_responses(),
            *_messages(),
            *_OLLAMA,
        ),
        base_urls="OLLAMA_HOST OLLAMA_BASE_URL OLLAMA_API_BASE",
        credentials=(("ollama", "OLLAMA_API_KEY", "fake-llm", ()),),
    ),
    _compatible("vercel", "ai-gateway.vercel.sh", embeds=True, more=(*_responses(), *_messages())),
    _compatible(
        "copilot",
        "api.githubcopilot.com *.githubcopilot.com copilot-api.*.ghe.com",
        "",
        embeds=True,
        more=(*_responses(), *_messages("/v1")),
    ),
    Provider(
        name="mistral",
        hosts=("api.mistral.ai", "codestral.mistral.ai", "api.*.mistral.ai"),
        prefix="/v1",
        base_urls=("MISTRAL_BASE_URL", "MISTRAL_API_BASE"),  # langchain-mistralai 1.1, LiteLLM 1.110 (2026-11)
        credentials=(
            ("mistralai", "MISTRAL_API_KEY", "fake-llm", ()),
            ("langchain_mistralai", "MISTRAL_API_KEY", "fake-llm", ()),
        ),
        endpoints=(
            _chat(wire=MISTRAL_SSE, difference=MISTRAL),
            _chat("/fim/completions", wire=MISTRAL_SSE, difference=MISTRAL_FIM),
            _chat("/agents/completions", wire=MISTRAL_SSE, difference=MISTRAL_AGENTS),
            Endpoint(
                operation="embeddings",
                path="/embeddings",
                dialect=embeddings.MISTRAL,
                difference=MISTRAL_EMBEDDINGS,
            ),
            Endpoint(
                operation="moderation",
                path="[/chat]/moderations",
                dialect=moderation.MISTRAL,
                difference=MISTRAL_MODERATION,
            ),
            *MISTRAL_STORED,
            *_audio(
                audio.MISTRAL_SPEECH,
                audio.MISTRAL_TRANSCRIPTION,
                verbs="transcriptions",
                wire=MISTRAL_AUDIO_SSE,
                difference=MISTRAL,
            ),
            *_saying(MISTRAL, _models(openai_chat.DIALECT, models.mistral_list, models.mistral_one)),
        ),
    ),
    Provider(
        name="cohere",
        hosts=("api.cohere.com", "api.cohere.ai", "*.api.cohere.com", "*.api.cohere.ai"),
        endpoints=(
            Endpoint(operation="chat", path="/v2/chat", dialect=cohere.CHAT_V2, wire=cohere_wire),
            Endpoint(operation="chat", path="/v1/chat", dialect=cohere.CHAT_V1, wire=COHERE_LINES),
            Endpoint(operation="chat", path="/v1/generate", dialect=cohere.GENERATE_V1, wire=COHERE_LINES),
            Endpoint(operation="embeddings", path="/(v1|v2)/embed", dialect=embeddings.COHERE),
            Endpoint(operation="rerank", path="/(v1|v2)/rerank", dialect=rerank.COHERE),
            *(
                Endpoint(
                    operation=operation, method=method, path=path, dialect=cohere.CHAT_V1, service=service, side=True
                )
                for operation, method, path, service in (
                    ("models", "GET", "/v1/models", cohere_services.models),
                    ("models", "GET", "/v1/models/{model...}", cohere_services.model),
                    ("tokenize", "POST", "/v1/tokenize", cohere_services.tokenize),
                    ("detokenize", "POST", "/v1/detokenize", cohere_services.detokenize),
                    ("keys", "POST", "/v1/check-api-key", cohere_services.key),
                )
            ),
            _chat("/compatibility/v1/chat/completions", wire=BARE_SSE, difference=PLAIN),
            _embeddings("/compatibility/v1/embeddings", difference=PLAIN),
        ),
        base_urls=("CO_API_URL",),
        credentials=(
            ("cohere", "CO_API_KEY", "co-fake-llm", ()),
            ("langchain_cohere", "COHERE_API_KEY", "co-fake-llm", ()),
            ("litellm", "COHERE_API_KEY", "co-fake-llm", ("CO_API_KEY",)),
        ),
    ),
    Provider(
        name="bedrock",
        hosts=(
            *(
                f"{service}.*.{domain}"
                for service in (
                    *("bedrock-runtime", "bedrock-runtime-fips", "bedrock-agent-runtime"),
                    *("bedrock", "bedrock-fips"),  # lists of models; jobs are refused
                )
                for domain in ("amazonaws.com", "amazonaws.com.cn", "api.aws")
            ),
            *(
                f"bedrock-runtime.*.{domain}"  # the other partitions (botocore 1.44, 2026-11)
                for domain in (
                    *("amazonaws.eu", "c2s.ic.gov", "sc2s.sgov.gov", "cloud.adc-e.uk", "csp.hci.ic.gov"),
                    *("api.amazonwebservices.com.cn", "api.amazonwebservices.eu", "api.aws.ic.gov", "api.aws.scloud"),
                    *("api.cloud-aws.adc-e.uk", "api.aws.hci.ic.gov"),
                )
            ),
            *("*.bedrock-runtime.*.vpce.amazonaws.com", "*.bedrock-agent-runtime.*.vpce.amazonaws.com"),
            "bedrock-mantle.*.api.aws",
        ),
        endpoints=(
            Endpoint(
                operation="chat",
                path="/model/{model...}/(converse|converse-stream)",
                dialect=bedrock_converse.DIALECT,
                whole=BEDROCK_WHOLE,
                wire=BEDROCK_STREAM,
            ),
            Endpoint(
                operation="count_tokens",
                path="/model/{model...}/count-tokens",
                dialect=bedrock_converse.DIALECT,
                whole=BEDROCK_WHOLE,
                service=tokens.bedrock,
            ),
            *INVOKED,
            Endpoint(operation="rerank", path="/rerank", dialect=rerank.BEDROCK, whole=BEDROCK_WHOLE),
            *(
                Endpoint(
                    operation="models",
                    method="GET",
                    path=path,
                    dialect=bedrock_converse.DIALECT,
                    service=service,
                    side=True,
                )
                for path, service in (
                    ("/foundation-models", models.bedrock_list),
                    ("/foundation-models/{model...}", models.bedrock_one),
                    ("/inference-profiles", models.bedrock_profiles),
                    ("/inference-profiles/{profile...}", models.bedrock_profile),
                )
            ),
            *_messages("[/anthropic]/v1"),  # of bedrock-mantle
        ),
        base_urls=("ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL"),
        credentials=(
            ("botocore", "AWS_ACCESS_KEY_ID", "fake-llm", ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE")),
            ("botocore", "AWS_SECRET_ACCESS_KEY", "fake-llm", ("AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE")),
            ("botocore", "AWS_DEFAULT_REGION", "us-east-1", ("AWS_REGION", "AWS_PROFILE")),
        ),
    ),
    Provider(
        name="voyageai",
        hosts=("api.voyageai.com", "ai.mongodb.com"),  # the second one for keys that begin with `al-`
        prefix="/v1",
        endpoints=(
            Endpoint(
                operation="embeddings",
                path="/(embeddings|contextualizedembeddings|multimodalembeddings)",
                dialect=embeddings.VOYAGE,
            ),
            _rerank(rerank.VOYAGE),
        ),
        base_urls=("VOYAGE_API_BASE",),  # LiteLLM 1.110 (2026-11)
        credentials=tuple(
            (module, "VOYAGE_API_KEY", "pa-fake-llm", ("VOYAGE_API_KEY_PATH",)) for module in ("voyageai", "litellm")
        ),
    ),
    Provider(
        name="jina",
        hosts=("api.jina.ai",),
        prefix="/v1",
        endpoints=(
            Endpoint(operation="embeddings", path="/embeddings", dialect=embeddings.JINA),
            _rerank(rerank.JINA),
        ),
        base_urls=("JINA_AI_API_BASE",),  # LiteLLM 1.110 (2026-11)
        credentials=(("litellm", "JINA_API_KEY", "jina-fake-llm", ("JINA_AI_API_KEY", "JINA_AI_TOKEN")),),
    ),
    Provider(
        name="replicate",
        hosts=("api.replicate.com", "stream.replicate.com"),
        prefix="/v1",
        base_urls=("REPLICATE_BASE_URL", "REPLICATE_API_BASE"),  # the latter is LiteLLM's (1.110, 2026-11)
        credentials=(
            ("replicate", "REPLICATE_API_TOKEN", "r8_fake_llm", ()),
            ("replicate", "REPLICATE_POLL_INTERVAL", "0", ()),  # of clients that are made in the block
        ),
        endpoints=REPLICATE,
    ),
    Provider(
        name="watsonx",
        hosts=("*.ml.cloud.ibm.com", "*.aws.wxai.ibm.com", "wxai.ibmforusgov.com"),
        shared=tuple(
            (host, "/v2/(projects|spaces)/{id}[?{query...}]")
            for host in (
                *("api.dataplatform.cloud.ibm.com", "api.eu-de.dataplatform.cloud.ibm.com"),
                *("api.eu-gb.dataplatform.cloud.ibm.com", "api.jp-tok.dataplatform.cloud.ibm.com"),
                *("api.au-syd.dai.cloud.ibm.com", "api.ca-tor.dai.cloud.ibm.com"),
                *("api.ap-south-1.aws.data.ibm.com", "api.us-east-1.aws.data.ibm.com", "api.dai.ibmforusgov.com"),
            )
        ),
        prefix="/ml/v1",
        retried=frozenset({401}),  # with another token (ibm-watsonx-ai 1.8, 2026-11)
        endpoints=(
            Endpoint(
                operation="chat",
                path="[/deployments/{deployment}]/text/(chat|chat_stream)",
                dialect=WATSONX_CHAT,
                difference=WATSONX,
                wire=WATSONX_SSE,
            ),
            Endpoint(
                operation="chat",
                path="[/deployments/{deployment}]/text/(generation|generation_stream)",
                dialect=watsonx.GENERATE,
                wire=WATSONX_SSE,
            ),
            Endpoint(
                operation="chat",
                path="/ml/v1-beta/generation/(text|text_stream)",  # before 2024-03
                dialect=watsonx.GENERATE,
                wire=WATSONX_SSE,
                prefix="",
            ),
            Endpoint(operation="embeddings", path="/text/embeddings", dialect=embeddings.WATSONX),
            Endpoint(
                operation="count_tokens",
                path="/text/tokenization",
                dialect=watsonx.GENERATE,
                service=watsonx_services.tokenization,
            ),
            *(
                replace(row, difference=Difference(failure=watsonx.GENERATE.failure))
                for row in (
                    _look_up("/foundation_model_specs", watsonx_services.specs),
                    _look_up("/v2/projects/{project}", watsonx_services.project, operation="projects", prefix=""),
                    _look_up("/v2/spaces/{space}", watsonx_services.space, operation="projects", prefix=""),
                )
            ),
        ),
        base_urls=("WATSONX_URL", "WATSONX_API_BASE", "WML_URL"),  # LiteLLM's (1.110, 2026-11)
        credentials=(("ibm_watsonx_ai", "WATSONX_APIKEY", "fake-llm", ("WATSONX_API_KEY",)),),
    ),
    Provider(
        name="vertex",
        hosts=(
            *("aiplatform.googleapis.com", "*-aiplatform.googleapis.com", "aiplatform.*.rep.googleapis.com"),
            *("aiplatform.mtls.googleapis.com", "*-aiplatform.mtls.googleapis.com"),
            *("aiplatform-*.p.googleapis.com", "*.prediction.vertexai.goog"),
        ),
        prefix=_VERTEX,
        endpoints=(
            _generate_content(path="/(publishers/google/models|endpoints)/{model}"),
            _embed_content(path="/publishers/{publisher}/models/{model}"),
            Endpoint(
                operation="images",
                path="/publishers/google/models/(imagen|imagegeneration){model}:predict",
                dialect=images.GEMINI,
                whole=GEMINI_PRETTY,
            ),
            Endpoint(
                operation="embeddings",
                path="/publishers/google/models/{model}:predict",
                dialect=embeddings.VERTEX,
                whole=GEMINI_PRETTY,
            ),
            Endpoint(
                operation="count_tokens",
                path="/(publishers/google/models|endpoints)/{model}:countTokens",
                dialect=gemini.DIALECT,
                whole=GEMINI_PRETTY,
                service=tokens.vertex,
            ),
            *(
                replace(row, path="/publishers/google" + row.path)
                for row in _models(
                    gemini.DIALECT, models.vertex_list, models.vertex_one, whole=GEMINI_PRETTY, name="/models/{model}"
                )
            ),
            _chat("/endpoints/{endpoint}/chat/completions", wire=BARE_SSE, difference=VERTEX_CHAT),
            *PREDICTED,
        ),
        base_urls=("GOOGLE_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"),
        credentials=(
            ("google.auth", "GOOGLE_APPLICATION_CREDENTIALS", identity.GOOGLE_USER, ()),
            ("anthropic", "ANTHROPIC_VERTEX_PROJECT_ID", "fake-llm", ()),
            ("anthropic", "CLOUD_ML_REGION", "us-east5", ()),
        ),
    ),
    # Hosts that are known and refused: a call to one of them never leaves the machine.
    Provider(name="aleph_alpha", hosts=("api.aleph-alpha.com",)),
)


# --- housekeeping -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What SDKs and frameworks do beside asking a model, on hosts that are no provider's of models.

    Attributes:
        what: The errand, for people.
        who: Who runs it, for people.
        hosts: Where.
        lender: The provider that answers or refuses it; `None` where it is passed on.
        off: How it is turned off, for people; empty where it can't be.
    """

    what: str
    who: str
    hosts: tuple[str, ...]
    lender: Provider | None = None
    off: str = ""


def _lender(
    name: str, *rows: tuple[str, str, str, Service], errors: Errors = identity.OAUTH_ERRORS, operation: str = "token"
) -> Provider:
    """Whom credentials are asked of: rows of hosts, methods, path and service."""
    found = [(host, row) for row in rows for host in row[0].split()]
    return Provider(
        name=name,
        hosts=(),
        shared=tuple((host, path + "[?{query...}]") for host, (_, _, path, _) in found),
        endpoints=tuple(
            replace(
                _look_up(path, service, operation=operation, method=method),
                difference=Difference(
                    failure=gemini.DIALECT.failure if service is identity.google_impersonated else errors.failure
                ),
            )
            for _, methods, path, service in rows
            for method in methods.split()
        ),
        lends=True,
    )


_MICROSOFT: Final = "login.microsoftonline.com login.microsoftonline.us login.partner.microsoftonline.cn"

LENDERS: Final[tuple[Provider, ...]] = (
    _lender(
        "google",
        ("oauth2.googleapis.com", "POST", "/token", identity.google),
        ("sts.googleapis.com", "POST", "/v1/token", identity.google),
        ("iamcredentials.googleapis.com", "POST", "/v1/{account...}:generateAccessToken", identity.google_impersonated),
    ),
    _lender(
        "microsoft",
        (_MICROSOFT, "POST", "/{tenant}/oauth2/v2.0/token", identity.microsoft),
        (_MICROSOFT, "GET", "/{tenant}/v2.0/.well-known/openid-configuration", identity.microsoft_configuration),
        (_MICROSOFT, "GET", "/common/discovery/instance", identity.microsoft_instance),
        errors=identity.MICROSOFT_ERRORS,
    ),
    _lender(
        "ibm",
        ("iam.cloud.ibm.com iam.test.cloud.ibm.com", "POST", "/identity/token", identity.ibm),
        errors=identity.IBM_ERRORS,
    ),
    _lender(
        "metadata",
        (
            "169.254.169.254 metadata.google.internal 169.254.170.2 [fd00:ec2::254]",
            "GET PUT POST HEAD",
            "[{path...}]",
            identity.metadata,
        ),
        operation="metadata",
    ),
)
"""Whom SDKs ask for credentials, by `call.provider`; never a model."""

_GOOGLE, _AZURE, _IBM, _METADATA = LENDERS

ERRANDS: Final = (
    Errand(
        what="exchange of tokens",
        who="google-auth: Vertex AI",
        hosts=("oauth2.googleapis.com", "sts.googleapis.com", "iamcredentials.googleapis.com"),
        lender=_GOOGLE,
    ),
    Errand(what="exchange of tokens", who="azure-identity, msal", hosts=tuple(_MICROSOFT.split()), lender=_AZURE),
    Errand(what="exchange of tokens", who="ibm-watsonx-ai", hosts=("iam.cloud.ibm.com",), lender=_IBM),
    Errand(
        what="metadata of the machine",
        who="google-auth, botocore, azure-identity without credentials",
        hosts=("169.254.169.254", "metadata.google.internal", "169.254.170.2", "[fd00:ec2::254]"),
        lender=_METADATA,
    ),
    Errand(
        what="prices of models",
        who="LiteLLM at its import, DSPy at first use",
        hosts=("raw.githubusercontent.com",),
        off="LITELLM_LOCAL_MODEL_COST_MAP=True",
    ),
    Errand(
        what="files of a tokenizer",
        who="tiktoken, as in LangChain's get_num_tokens",
        hosts=("openaipublic.blob.core.windows.net",),
        off="TIKTOKEN_CACHE_DIR with the files in it",
    ),
    Errand(
        what="files of models and tokenizers",
        who="huggingface_hub, transformers, voyageai, langchain-mistralai",
        hosts=("huggingface.co", "cdn-lfs.huggingface.co", "cas-bridge.xethub.hf.co"),
        off="HF_HUB_OFFLINE=1",
    ),
    Errand(
        what="telemetry",
        who="CrewAI",
        hosts=("telemetry.crewai.com",),
        off="CREWAI_DISABLE_TELEMETRY=true",
    ),
    Errand(
        what="telemetry",
        who="Haystack and others by PostHog",
        hosts=("eu.i.posthog.com", "us.i.posthog.com", "app.posthog.com"),
        off="HAYSTACK_TELEMETRY_ENABLED=False",
    ),
    Errand(what="traces", who="LangSmith", hosts=("api.smith.langchain.com",), off="LANGSMITH_TRACING=false"),
    Errand(what="traces", who="Langfuse", hosts=("cloud.langfuse.com",), off="LANGFUSE_TRACING_ENABLED=false"),
)
"""The policy (2026-11): what lends credentials is answered or refused here, all else is passed on as if no block were open."""

DIALECTS: Final[Mapping[str, Dialect]] = {
    row.dialect.name: row.dialect
    for provider in reversed(PROVIDERS)  # the first one of a name is the vendor's own
    for endpoint in reversed(provider.endpoints)
    for row in (*(row for _, row in endpoint.by_body), endpoint)
}

_ROWS: Final = tuple(
    row
    for provider in (*PROVIDERS, *LENDERS)
    for endpoint in provider.endpoints
    for row in (endpoint, *(other for _, other in endpoint.by_body))
)

OPERATIONS: Final = tuple(sorted({row.operation for row in _ROWS if not row.side} | {"unknown"}))
"""What a rule can say the answer to."""

SIDE_OPERATIONS: Final = tuple(sorted({row.operation for row in _ROWS if row.side}))
"""Housekeeping: a rule that names it can make it fail, nothing else of a script touches it."""

RETRIED: Final = frozenset((provider.name, status) for provider in PROVIDERS for status in provider.retried)
"""Providers, each with a status after which its SDK asks again, though others don't."""
