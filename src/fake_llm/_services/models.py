"""Lists of models and single ones: every name exists, since a script answers for any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fake_llm import _json
from fake_llm._dialect import CREATED, Exchange
from fake_llm._model import Response
from fake_llm._services._base import Store

__all__ = [
    "anthropic_list",
    "anthropic_one",
    "azure_info",
    "bedrock_list",
    "bedrock_one",
    "bedrock_profile",
    "bedrock_profiles",
    "gemini_list",
    "gemini_one",
    "mistral_list",
    "mistral_one",
    "openai_list",
    "openai_one",
    "openrouter_list",
    "together_list",
    "vertex_list",
    "vertex_one",
    "writer_list",
]

_CREATED_AT = "2026-01-01T00:00:00Z"
_OPENAI = ("gpt-5", "gpt-5-mini", "gpt-4o", "gpt-4o-mini")
_WRITER = ("palmyra-x5", "palmyra-x4")
_ANTHROPIC = ("claude-opus-5", "claude-sonnet-5", "claude-haiku-5-5")
_GEMINI = ("gemini-3-pro-preview", "gemini-2.5-pro", "gemini-2.5-flash")
_GEMINI_WINDOW = 1_048_576
_MISTRAL = ("mistral-large-latest", "mistral-small-latest", "codestral-latest", "mistral-embed")
_MISTRAL_WINDOW = 131_072


def _name(exchange: Exchange) -> str:
    return exchange.request.path_part(-1)


_WINDOW_AT: Final[Mapping[str, tuple[str, ...]]] = {
    "groq": ("context_window", "context_length"),  # recorded 2026-08
    "openrouter": ("context_length",),  # openrouter 1.3
    "fireworks": ("context_length",),
    "copilot": ("capabilities.limits.max_context_window_tokens",),
    **dict.fromkeys(("together", "sambanova", "moonshot", "featherless", "hyperbolic", "nebius"), ("context_length",)),
    "huggingface": ("context_length",),
    "novita": ("context_size",),
    "deepinfra": ("metadata.context_length",),
    "vercel": ("context_window",),
    "openai": ("context_window",),
}
"""Where hosts say a model's window: where no other source is named their documentation (2026-11); it is said where the block has one.

OpenAI itself says none (recorded 2026-08); an entry has it by Groq's name, for those who look for it there. A host that isn't
here says nothing.
"""


def _openai(name: str, store: Store, provider: str) -> dict[str, Any]:
    model: dict[str, Any] = {"id": name, "object": "model", "created": CREATED, "owned_by": "system"}
    if store.context_window is None:
        return model
    said: dict[str, Any] = {}
    for path in _WINDOW_AT.get(provider, ()):
        *outer, field = path.split(".")
        value: Any = store.context_window
        for place in reversed((*outer, field)):
            value = {place: value}
        said |= value
    if provider == "huggingface":  # there each host behind the router has its own
        said = {"providers": [{"provider": "hf-inference", "status": "live", **said}]}
    return {**model, **said}


def openai_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models`."""
    return {"object": "list", "data": [_openai(name, store, exchange.provider) for name in _OPENAI]}


def openai_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models/{id}`."""
    return _openai(_name(exchange), store, exchange.provider)


def azure_info(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /info` of what is deployed there (azure-ai-inference 1.0, 2026-11)."""
    name = exchange.request.host.partition(".")[0]
    return {"model_name": name, "model_type": "chat_completion", "model_provider_name": "fake_llm"}


def writer_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models` of Writer (writer-sdk 3.0, 2026-11)."""
    return {"models": [{"id": name, "name": name} for name in _WRITER]}


_BEHIND_OPENROUTER = ("openai/gpt-5", "anthropic/claude-sonnet-5", "google/gemini-2.5-flash")
_BEHIND_TOGETHER = ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "openai/gpt-oss-120b")
_USUAL_WINDOW = 131_072


def openrouter_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /api/v1/models`, with the keys that its SDK demands (openrouter 1.3)."""
    listed = [_openrouter(name, store.context_window or _USUAL_WINDOW) for name in _BEHIND_OPENROUTER]
    return {"data": listed, "total_count": len(listed), "links": {"next": None}}


def _openrouter(name: str, window: int) -> dict[str, Any]:
    return {
        "id": name,
        "canonical_slug": name,
        "name": name,
        "created": CREATED,
        "description": "",
        "context_length": window,
        "architecture": {
            "modality": "text->text",
            "input_modalities": ["text"],
            "output_modalities": ["text"],
            "tokenizer": "Other",
            "instruct_type": None,
        },
        "pricing": {"prompt": "0", "completion": "0"},
        "top_provider": {"context_length": window, "max_completion_tokens": None, "is_moderated": False},
        "per_request_limits": None,
        "supported_parameters": ["max_tokens", "temperature", "tools", "tool_choice", "response_format"],
        "supported_voices": None,
        "default_parameters": None,
        "links": {"details": f"/api/v1/models/{name}/endpoints"},
    }


def together_list(store: Store, exchange: Exchange) -> Response:
    """`GET /v1/models`: an array without an envelope (documented, 2026-08)."""
    listed = [
        {
            "id": name,
            "object": "model",
            "created": CREATED,
            "type": "chat",
            "display_name": name,
            "organization": name.partition("/")[0],
            "link": "",
            "license": "",
            "context_length": store.context_window or _USUAL_WINDOW,
            "pricing": {"hourly": 0, "input": 0, "output": 0, "base": 0, "finetune": 0},
        }
        for name in _BEHIND_TOGETHER
    ]
    return Response(200, (("content-type", "application/json; charset=utf-8"),), _json.compact(listed))


def _anthropic(name: str, store: Store) -> dict[str, Any]:
    model: dict[str, Any] = {"type": "model", "id": name, "display_name": name, "created_at": _CREATED_AT}
    if store.context_window is not None:
        model["max_input_tokens"] = store.context_window
    return model


def anthropic_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models` in one page."""
    return {
        "data": [_anthropic(name, store) for name in _ANTHROPIC],
        "has_more": False,
        "first_id": _ANTHROPIC[0],
        "last_id": _ANTHROPIC[-1],
    }


def anthropic_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models/{id}`."""
    return _anthropic(_name(exchange), store)


def _gemini(name: str, store: Store) -> dict[str, Any]:
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": name,
        "inputTokenLimit": store.context_window or _GEMINI_WINDOW,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


def gemini_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET models` in one page."""
    return {"models": [_gemini(name, store) for name in _GEMINI]}


def gemini_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET models/{m}`."""
    return _gemini(_name(exchange), store)


def _vertex(name: str) -> dict[str, Any]:
    return {"name": f"publishers/google/models/{name}", "versionId": "default", "launchStage": "GA"}


def vertex_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET …/publishers/google/models` (google-genai 3.6, 2026-11)."""
    return {"publisherModels": [_vertex(name) for name in _GEMINI]}


def vertex_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET …/publishers/google/models/{id}`."""
    return _vertex(_name(exchange))


def _mistral(name: str, store: Store) -> dict[str, Any]:
    """A model by the types of its SDK (mistralai 3.7): one that can do all that a script may want of it."""
    return {
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "mistralai",
        "capabilities": {
            "completion_chat": True,
            "function_calling": True,
            "reasoning": True,
            "completion_fim": True,
            "fine_tuning": False,
            "vision": True,
            "ocr": False,
            "classification": False,
            "moderation": False,
            "audio": False,
            "audio_transcription": False,
        },
        "name": name,
        "description": "",
        "max_context_length": store.context_window or _MISTRAL_WINDOW,
        "aliases": [],
        "deprecation": None,
        "deprecation_replacement_model": None,
        "default_model_temperature": 0.3,
        "type": "base",
    }


def mistral_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models` of Mistral."""
    return {"object": "list", "data": [_mistral(name, store) for name in _MISTRAL]}


def mistral_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v1/models/{id}` of Mistral."""
    return _mistral(_name(exchange), store)


_BEDROCK = (
    "anthropic.claude-sonnet-5-v1:0",
    "amazon.nova-lite-v1:0",
    "meta.llama3-1-70b-instruct-v1:0",
    "amazon.titan-embed-text-v2:0",
)
_MAKERS = {"amazon": "Amazon", "anthropic": "Anthropic", "cohere": "Cohere", "meta": "Meta", "mistral": "Mistral AI"}
_REGIONS = frozenset({"us", "eu", "apac", "jp", "au", "ca", "global", "us-gov"})


def _region(exchange: Exchange) -> str:
    parts = exchange.request.host.split(".")
    return parts[1] if len(parts) > _LABELS else "us-east-1"


_LABELS = 2


def _bedrock(name: str, region: str) -> dict[str, Any]:
    """A model with the keys that botocore's model of the service has (1.44, 2026-11)."""
    name = name.rpartition("/")[2]
    maker = name.partition(".")[0]
    kind = "EMBEDDING" if "embed" in name else "TEXT"
    return {
        "modelArn": f"arn:aws:bedrock:{region}::foundation-model/{name}",
        "modelId": name,
        "modelName": name,
        "providerName": _MAKERS.get(maker, maker),
        "inputModalities": ["TEXT"],
        "outputModalities": [kind],
        "responseStreamingSupported": kind == "TEXT",
        "customizationsSupported": [],
        "inferenceTypesSupported": ["ON_DEMAND"],
        "modelLifecycle": {"status": "ACTIVE"},
    }


def bedrock_list(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /foundation-models`, of one maker or one kind if that is asked for."""
    asked = exchange.request.query
    maker, kind = asked.get("byProvider", "").lower(), asked.get("byOutputModality", "")
    listed = [_bedrock(name, _region(exchange)) for name in _BEDROCK]
    return {
        "modelSummaries": [
            one
            for one in listed
            if one["providerName"].lower().startswith(maker) and kind in ("", *one["outputModalities"])
        ]
    }


def bedrock_one(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /foundation-models/{id}`, by its id or its ARN."""
    return {"modelDetails": _bedrock(_name(exchange), _region(exchange))}


def _profile(name: str, region: str) -> dict[str, Any]:
    """A profile of a region, whose id names its model, or one of a user's own, behind which is any."""
    id_ = name.rpartition("/")[2]
    scope, _, model = id_.partition(".")
    of_region = scope in _REGIONS
    whole = name if name.startswith("arn:") else f"arn:aws:bedrock:{region}:123456789012:inference-profile/{id_}"
    return {
        "inferenceProfileName": id_,
        "inferenceProfileArn": whole,
        "inferenceProfileId": id_,
        "models": [{"modelArn": _bedrock(model if of_region else _BEDROCK[0], region)["modelArn"]}],
        "status": "ACTIVE",
        "type": "SYSTEM_DEFINED" if of_region else "APPLICATION",
        "createdAt": _CREATED_AT,
        "updatedAt": _CREATED_AT,
    }


def bedrock_profiles(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /inference-profiles` in one page."""
    region = _region(exchange)
    return {"inferenceProfileSummaries": [_profile(f"us.{name}", region) for name in _BEDROCK[:2]]}


def bedrock_profile(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /inference-profiles/{id}`, by its id or its ARN: what an SDK asks to know the model behind it."""
    return _profile(_name(exchange), _region(exchange))
