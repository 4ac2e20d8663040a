"""What ibm-watsonx-ai asks before it asks a model, and how many tokens a text has (ibm-watsonx-ai 1.8, 2026-11)."""

from __future__ import annotations

from typing import Any, Final

from fake_llm._dialect import Exchange
from fake_llm._services._base import Store
from fake_llm._tokens import tokens

__all__ = ["project", "space", "specs", "tokenization"]

_CREATED_AT: Final = "2026-01-01T00:00:00.000Z"
_CHAT: Final = (
    *(
        "ibm/granite-3-2-8b-instruct",
        "ibm/granite-3-3-8b-instruct",
        "ibm/granite-3-8b-instruct",
        "ibm/granite-4-h-small",
    ),
    *("ibm/granite-8b-code-instruct", "ibm/granite-13b-instruct-v2", "ibm/granite-guardian-3-8b"),
    *(
        "meta-llama/llama-3-1-8b-instruct",
        "meta-llama/llama-3-1-70b-instruct",
        "meta-llama/llama-3-2-11b-vision-instruct",
    ),
    *(
        "meta-llama/llama-3-2-90b-vision-instruct",
        "meta-llama/llama-3-3-70b-instruct",
        "meta-llama/llama-3-405b-instruct",
    ),
    *("meta-llama/llama-4-maverick-17b-128e-instruct-fp8", "meta-llama/llama-4-scout-17b-16e-instruct"),
    *("mistralai/mistral-large", "mistralai/mistral-medium-2505", "mistralai/mistral-small-3-1-24b-instruct-2503"),
    *("mistralai/pixtral-12b", "openai/gpt-oss-20b", "openai/gpt-oss-120b", "google/flan-ul2", "google/flan-t5-xl"),
)
_EMBEDS: Final = (
    *("ibm/granite-embedding-107m-multilingual", "ibm/granite-embedding-278m-multilingual"),
    *("ibm/slate-30m-english-rtrvr", "ibm/slate-30m-english-rtrvr-v2"),
    *("ibm/slate-125m-english-rtrvr", "ibm/slate-125m-english-rtrvr-v2"),
    *("intfloat/multilingual-e5-large", "sentence-transformers/all-minilm-l6-v2"),
)
_USUAL_WINDOW: Final = 131_072


def specs(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /ml/v1/foundation_model_specs`: well-known ones, all on one page; any other is answered too."""
    window = store.context_window or _USUAL_WINDOW
    listed = [_spec(name, ("text_chat", "text_generation"), window) for name in _CHAT]
    listed += [_spec(name, ("embedding",), window) for name in _EMBEDS]
    return {
        "total_count": len(listed),
        "limit": 200,
        "first": {"href": f"https://{exchange.request.host}/ml/v1/foundation_model_specs"},
        "resources": listed,
    }


def _spec(name: str, functions: tuple[str, ...], window: int) -> dict[str, Any]:
    provider, _, label = name.partition("/")
    return {
        "model_id": name,
        "label": label,
        "provider": provider,
        "source": provider,
        "functions": [{"id": function} for function in functions],
        "short_description": "",
        "input_tier": "class_1",
        "output_tier": "class_1",
        "number_params": "8b",
        "model_limits": {"max_sequence_length": window, "max_output_tokens": window},
        "lifecycle": [{"id": "available", "start_date": "2026-01-01"}],
    }


def project(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v2/projects/{project}`: one with a runtime, on the cloud."""
    key = exchange.request.path_part(-1)
    compute = {"name": "fake_llm", "guid": key, "type": "machine_learning", "crn": "crn:fake-llm", "label": "fake_llm"}
    return {
        "metadata": {"guid": key, "url": f"/v2/projects/{key}", "created_at": _CREATED_AT, "updated_at": _CREATED_AT},
        "entity": {
            "name": "fake_llm",
            "description": "",
            "public": False,
            "type": "wx",
            "storage": {"type": "bmcos_object_storage", "guid": key, "properties": {}},
            "compute": [compute],
            "scope": {"bss_account_id": "fake-llm"},
        },
    }


def space(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`GET /v2/spaces/{space}`: one with a runtime, on the cloud."""
    key = exchange.request.path_part(-1)
    compute = {"name": "fake_llm", "guid": key, "type": "machine_learning", "crn": "crn:fake-llm"}
    return {
        "metadata": {"id": key, "url": f"/v2/spaces/{key}", "created_at": _CREATED_AT, "updated_at": _CREATED_AT},
        "entity": {
            "name": "fake_llm",
            "compute": [compute],
            "stage": {"production": False},
            "status": {"state": "active"},
        },
    }


def tokenization(store: Store, exchange: Exchange) -> dict[str, Any]:
    """`POST /ml/v1/text/tokenization`."""
    body = exchange.body if isinstance(exchange.body, dict) else {}
    given = body.get("input")
    count = exchange.usage.input_tokens or tokens(given if isinstance(given, str) else "")
    return {"model_id": exchange.model, "result": {"token_count": count}}
