"""THE table: provider, host, path, operation, dialect, framing.

A row per endpoint. A host that speaks an existing vocabulary is one `Provider`; what it does
differently is a `Difference`. `Routes.find` answers by method and URL alone, before a body is read.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from fake_llm import _json
from fake_llm._dialect import Dialect
from fake_llm._dialects import anthropic_messages, gemini, openai_chat, openai_responses
from fake_llm._differences import GROQ, SAME, Difference
from fake_llm._errors import ScriptError, sentence
from fake_llm._framing import JsonArray, Sse, Whole, Wire
from fake_llm._model import Request
from fake_llm._services import models, tokens, traces
from fake_llm._services._base import Service

__all__ = ["DIALECTS", "OPERATIONS", "PROVIDERS", "Endpoint", "Provider", "Route", "Routes", "paths_of"]

COMPACT: Final = Whole()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One row.

    Attributes:
        operation: `chat` for generation, else what it is: `models`, `count_tokens`, …
        path: A pattern for the path after the provider's prefix.
        dialect: The vocabulary; of a service, the one whose errors it sends.
        method: The HTTP method.
        whole: The layout of a JSON body.
        wire: The layout of a stream, or a function of the request that chooses it; `None` where
            nothing is streamed.
        service: Answers what isn't generation.
        side: Housekeeping: kept in `fake.side_calls`, never touches the script.
        difference: What this host does differently.
    """

    operation: str
    path: str
    dialect: Dialect
    method: str = "POST"
    whole: Whole = COMPACT
    wire: Wire | Callable[[Request], Wire] | None = None
    service: Service | None = None
    side: bool = False
    difference: Difference = SAME

    def wire_of(self, request: Request) -> Wire | None:
        """The layout of this request's stream."""
        return self.wire(request) if callable(self.wire) else self.wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider: its hosts and its rows.

    Attributes:
        name: What `call.provider` says.
        hosts: Host names; `*` stands for one or more characters.
        prefix: A pattern for what stands before the rows' paths; a base URL of one's own may lack it.
        endpoints: The rows.
        base_urls: Environment variables that name another base URL.
        credentials: SDK module, the environment variable it wants, a dummy, and other variables that do as well.
    """

    name: str
    hosts: tuple[str, ...]
    prefix: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    base_urls: tuple[str, ...] = ()
    credentials: tuple[tuple[str, str, str, tuple[str, ...]], ...] = ()

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
            if endpoint.method == method and re.fullmatch(
                (f"(?:{self.prefix})?" if base is not None else self.prefix) + endpoint.path, path
            ):
                return endpoint
        return None


OPENAI_PRETTY: Final = Whole(_json.pretty, b"\n")
OPENAI_PRETTY_BARE: Final = Whole(_json.pretty)
OPENAI_CHAT_SSE: Final = Sse(pad=openai_chat.pad)
OPENAI_RESPONSES_SSE: Final = Sse(named=True, done=None, pad=openai_responses.pad)
ANTHROPIC_SSE: Final = Sse(named=True, done=None, dumps=anthropic_messages.dumps, pad=anthropic_messages.pad)
GEMINI_PRETTY: Final = Whole(_json.pretty, b"\n", "application/json; charset=UTF-8")
GEMINI_SSE: Final = Sse(done=None, newline="\r\n", dumps=_json.spaced, content_type="text/event-stream")
GEMINI_ARRAY: Final = JsonArray()
GROQ_WHOLE: Final = Whole(_json.compact, b"\n")
GROQ_SSE: Final = Sse(content_type="text/event-stream")


def gemini_wire(request: Request) -> Wire:
    """Server-sent events with `alt=sse`, else a JSON array."""
    return GEMINI_SSE if request.query.get("alt") == "sse" else GEMINI_ARRAY


def _openai_models(dialect: Dialect) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            operation="models",
            method="GET",
            path="/models",
            dialect=dialect,
            service=models.openai_list,
            side=True,
            whole=OPENAI_PRETTY,
        ),
        Endpoint(
            operation="models",
            method="GET",
            path="/models/.+",
            dialect=dialect,
            service=models.openai_one,
            side=True,
            whole=OPENAI_PRETTY,
        ),
    )


PROVIDERS: Final[tuple[Provider, ...]] = (
    Provider(
        name="openai",
        hosts=("api.openai.com", "*.api.openai.com"),
        prefix="/v1",
        base_urls=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        credentials=(("openai", "OPENAI_API_KEY", "sk-fake-llm", ("OPENAI_ADMIN_KEY",)),),
        endpoints=(
            Endpoint(
                operation="chat",
                path="/chat/completions",
                dialect=openai_chat.DIALECT,
                whole=OPENAI_PRETTY,
                wire=OPENAI_CHAT_SSE,
            ),
            Endpoint(
                operation="chat",
                path="/responses",
                dialect=openai_responses.DIALECT,
                whole=OPENAI_PRETTY_BARE,
                wire=OPENAI_RESPONSES_SSE,
            ),
            Endpoint(
                operation="count_tokens",
                path="/responses/input_tokens",
                dialect=openai_responses.DIALECT,
                whole=OPENAI_PRETTY_BARE,
                service=tokens.openai,
            ),
            *_openai_models(openai_chat.DIALECT),
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
        credentials=(("anthropic", "ANTHROPIC_API_KEY", "sk-ant-fake-llm", ("ANTHROPIC_AUTH_TOKEN",)),),
        endpoints=(
            Endpoint(operation="chat", path="/messages", dialect=anthropic_messages.DIALECT, wire=ANTHROPIC_SSE),
            Endpoint(
                operation="count_tokens",
                path="/messages/count_tokens",
                dialect=anthropic_messages.DIALECT,
                service=tokens.anthropic,
            ),
            Endpoint(
                operation="models",
                method="GET",
                path="/models",
                dialect=anthropic_messages.DIALECT,
                service=models.anthropic_list,
                side=True,
            ),
            Endpoint(
                operation="models",
                method="GET",
                path="/models/.+",
                dialect=anthropic_messages.DIALECT,
                service=models.anthropic_one,
                side=True,
            ),
        ),
    ),
    Provider(
        name="gemini",
        hosts=("generativelanguage.googleapis.com",),
        prefix=r"/v\d+(?:alpha|beta)?\d*",
        base_urls=("GOOGLE_GEMINI_BASE_URL",),
        credentials=(("google.genai", "GEMINI_API_KEY", "fake-llm", ("GOOGLE_API_KEY",)),),
        endpoints=(
            Endpoint(
                operation="chat",
                path="/(?:models|tunedModels)/[^/]+:(?:streamGenerateContent|generateContent)",
                dialect=gemini.DIALECT,
                whole=GEMINI_PRETTY,
                wire=gemini_wire,
            ),
            Endpoint(
                operation="count_tokens",
                path="/models/[^/]+:countTokens",
                dialect=gemini.DIALECT,
                whole=GEMINI_PRETTY,
                service=tokens.gemini,
            ),
            Endpoint(
                operation="models",
                method="GET",
                path="/models",
                dialect=gemini.DIALECT,
                whole=GEMINI_PRETTY,
                service=models.gemini_list,
                side=True,
            ),
            Endpoint(
                operation="models",
                method="GET",
                path="/models/[^/:]+",
                dialect=gemini.DIALECT,
                whole=GEMINI_PRETTY,
                service=models.gemini_one,
                side=True,
            ),
        ),
    ),
    Provider(
        name="groq",
        hosts=("api.groq.com",),
        prefix="/openai/v1",
        base_urls=("GROQ_BASE_URL",),
        credentials=(("groq", "GROQ_API_KEY", "gsk_fake_llm", ()),),
        endpoints=(
            Endpoint(
                operation="chat",
                path="/chat/completions",
                dialect=openai_chat.DIALECT,
                whole=GROQ_WHOLE,
                wire=GROQ_SSE,
                difference=GROQ,
            ),
            *_openai_models(openai_chat.DIALECT),
        ),
    ),
    # Hosts that are known and refused: a call to one of them never leaves the machine.
    Provider(
        name="azure",
        hosts=(
            "*.openai.azure.com",
            "*.services.ai.azure.com",
            "*.cognitiveservices.azure.com",
            "models.inference.ai.azure.com",
        ),
    ),
    Provider(name="vertex", hosts=("aiplatform.googleapis.com", "*-aiplatform.googleapis.com")),
    Provider(
        name="bedrock",
        hosts=(
            "bedrock-runtime.*.amazonaws.com",
            "bedrock-runtime-fips.*.amazonaws.com",
            "bedrock-mantle.*.api.aws",
            "aws-external-anthropic.*.api.aws",
        ),
    ),
    Provider(name="mistral", hosts=("api.mistral.ai", "codestral.mistral.ai")),
    Provider(name="cohere", hosts=("api.cohere.com", "api.cohere.ai")),
    Provider(name="together", hosts=("api.together.ai", "api.together.xyz", "api-inference.together.ai")),
    Provider(name="fireworks", hosts=("api.fireworks.ai",)),
    Provider(name="deepseek", hosts=("api.deepseek.com",)),
    Provider(name="openrouter", hosts=("openrouter.ai",)),
    Provider(name="xai", hosts=("api.x.ai",)),
    Provider(name="perplexity", hosts=("api.perplexity.ai",)),
    Provider(name="cerebras", hosts=("api.cerebras.ai",)),
    Provider(name="huggingface", hosts=("router.huggingface.co", "api-inference.huggingface.co")),
    Provider(name="nvidia", hosts=("integrate.api.nvidia.com",)),
    Provider(name="sambanova", hosts=("api.sambanova.ai",)),
    Provider(name="moonshot", hosts=("api.moonshot.ai", "api.moonshot.cn")),
    Provider(name="zai", hosts=("api.z.ai", "open.bigmodel.cn")),
    Provider(name="dashscope", hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com")),
    Provider(name="ai21", hosts=("api.ai21.com",)),
    Provider(name="writer", hosts=("api.writer.com",)),
    Provider(name="github", hosts=("models.github.ai",)),
    Provider(name="replicate", hosts=("api.replicate.com", "stream.replicate.com")),
    Provider(name="voyageai", hosts=("api.voyageai.com",)),
    Provider(name="jina", hosts=("api.jina.ai",)),
    Provider(name="copilot", hosts=("api.githubcopilot.com", "*.githubcopilot.com")),
    Provider(name="vercel", hosts=("ai-gateway.vercel.sh",)),
    Provider(name="cloudflare", hosts=("gateway.ai.cloudflare.com",)),
)

DIALECTS: Final[Mapping[str, Dialect]] = {
    endpoint.dialect.name: endpoint.dialect for provider in PROVIDERS for endpoint in provider.endpoints
}

OPERATIONS: Final = tuple(
    sorted(
        {endpoint.operation for provider in PROVIDERS for endpoint in provider.endpoints if not endpoint.side}
        | {"unknown"}
    )
)
"""What a rule can answer; housekeeping never touches the script."""

_BY_NAME: Final = {provider.name: provider for provider in PROVIDERS}
_EXACT: Final = {host: provider for provider in PROVIDERS for host in provider.hosts if "*" not in host}
_WILD: Final = tuple(
    (re.compile(re.escape(host).replace(r"\*", ".+")), provider)
    for provider in PROVIDERS
    for host in provider.hosts
    if "*" in host
)


def known_provider(host: str) -> Provider | None:
    """The provider of a host name, port excluded."""
    found = _EXACT.get(host)
    if found is None:
        found = next((provider for pattern, provider in _WILD if pattern.fullmatch(host)), None)
    return found


@dataclass(frozen=True, slots=True)
class Route:
    """Where a URL leads: a provider, and an endpoint unless the path is unknown."""

    provider: Provider
    endpoint: Endpoint | None


Declared: TypeAlias = "tuple[tuple[str, str, Provider], ...]"
"""Host with port, base path and provider; the longest base first."""


@lru_cache(maxsize=1024)
def _route(declared: Declared, method: str, url: str) -> Route | None:
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2].lower()
    name, _, port = place.rpartition(":") if ":" in place and not place.endswith("]") else (place, "", "")
    place = name.rstrip(".") + (f":{port}" if port not in ("", "80", "443") else "")
    path = re.sub("/{2,}", "/", parts.path)
    for netloc, base, provider in declared:
        if netloc == place and (not base or path == base or path.startswith(base + "/")):
            return Route(provider, provider.find(method, path, base))
    known = known_provider((parts.hostname or "").rstrip("."))
    return None if known is None else Route(known, known.find(method, path))


def _split(place: str) -> tuple[str, str]:
    """Host with port and base path of a declared place, as they stand in the URLs of clients."""
    try:
        split = urlsplit(place.strip() if "://" in place else f"//{place.strip()}")
        host, port = (split.hostname or "").rstrip("."), split.port
        host = host if host.isascii() else host.encode("idna").decode()
    except ValueError:  # half a bracket of an IPv6 address, a port that is none, a name that is none
        host, port, split = "", None, urlsplit("")
    if not host or "*" in host or " " in host:
        raise ScriptError(
            sentence(
                f"hosts= got {place!r}.",
                "A host is a name or an address, with a port and a base path if there are.",
                'Write hosts={"llm.corp.example:8080/base": "openai"}.',
            )
        )
    shown = f"[{host}]" if ":" in host else host
    return shown if port in (None, 80, 443) else f"{shown}:{port}", split.path.rstrip("/")


class Routes:
    """The table with the hosts of one block added.

    Args:
        hosts: `host[:port][/base]` to the name of the provider that speaks there.

    Raises:
        ScriptError: An unknown provider, a host that can't be one.
    """

    def __init__(self, hosts: Mapping[str, str] | None = None) -> None:
        self._declared: Declared = ()
        for place, name in (hosts or {}).items():
            self.declare(place, name)

    def declare(self, place: str, name: str) -> None:
        """Add a host."""
        provider = _BY_NAME.get(name)
        if provider is None or not provider.endpoints:
            able = sorted(provider.name for provider in PROVIDERS if provider.endpoints)
            near = difflib.get_close_matches(name, able, 1)
            raise ScriptError(
                sentence(
                    f"hosts= got {place!r}: {name!r}, which is no provider that can be answered.",
                    "The providers are " + ", ".join(able) + ".",
                    f"Write {{{place!r}: {(near or ['openai'])[0]!r}}}.",
                )
            )
        netloc, base = _split(place)
        added = (netloc, base, provider)
        self._declared = tuple(sorted((*self._declared, added), key=lambda item: -len(item[1])))

    def find(self, method: str, url: str) -> Route | None:
        """The route of a URL, `None` when nobody claims its host."""
        return _route(self._declared, method, url)

    def known(self, host: str, port: int | None) -> bool:
        """Whether a socket to this host is an LLM's; of a declared host with a base path, other paths may be reached."""
        if known_provider(host) is not None:
            return True
        places = {f"{host}:{port}"} | ({host} if port in (None, 80, 443) else set())
        return any(netloc in places and not base for netloc, base, _ in self._declared)


def paths_of(provider: Provider) -> list[str]:
    """The paths that are answered, for people."""
    return [
        f"{endpoint.method} {_readable(provider.prefix)}{_readable(endpoint.path)}" for endpoint in provider.endpoints
    ]


def _readable(pattern: str) -> str:
    pattern = pattern.replace(r"/v\d+(?:alpha|beta)?\d*", "/v1beta").replace("(?:models|tunedModels)", "models")
    pattern = re.sub(r"\[\^/:?\]\+|\.\+", "{model}", pattern)
    return re.sub(r"\(\?:([^)]*)\)", r"(\1)", pattern)
