"""What each SDK raises for each name of an `Error`: the rows of the test beside, and of a page of the documentation.

They stand in `raised.json`, as the SDKs of `Sdk.needs` raised them. In an environment that has them, this puts them in step:

    $ PYTHONPATH=tests python tests/sdk/_raised.py --write
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import fake_llm
from _capability import has
from _sdk_clients import CLIENTS, Client, OnHost, Vendor
from fake_llm import Error, Reply
from fake_llm._turns import ERROR_NAMES

__all__ = ["BEGUN", "HOSTS", "MADE", "SDKS", "Outcome", "Sdk", "clients_of", "made_here", "raised"]

Outcome: TypeAlias = dict[str, Any]
"""The class and what it says of itself; a class of `None` where nothing is raised, and then how the answer ends."""

BEGUN: Final = "Hel"
"""What a stream has said before the error."""


@dataclass(frozen=True, slots=True)
class Sdk:
    """An SDK, or one of its ways to ask.

    Attributes:
        name: What the documentation calls it.
        needs: The distribution, in the version whose classes these are.
        clients: Its clients in the list of clients, which all raise the same.
    """

    name: str
    needs: str
    clients: tuple[str, ...]


def _both(name: str, needs: str, before: str, after: str = "") -> Sdk:
    return Sdk(
        name, needs, (f"{before}{after}", f"{before.rpartition('.')[0]}.Async{before.rpartition('.')[2]}{after}")
    )


SDKS: Final = (
    _both("openai: chat completions", "openai>=3", "openai.OpenAI", "/openai_chat"),
    _both("openai: responses", "openai>=3", "openai.OpenAI", "/openai_responses"),
    Sdk("openai: Azure", "openai>=3", ("openai.AzureOpenAI", "openai.AsyncAzureOpenAI")),
    _both("anthropic", "anthropic>=1", "anthropic.Anthropic", "/anthropic_messages"),
    _both("anthropic: Bedrock", "anthropic>=1", "anthropic.AnthropicBedrock", "/bedrock"),
    _both("anthropic: Vertex AI", "anthropic>=1", "anthropic.AnthropicVertex", "/vertex"),
    Sdk("google-genai", "google-genai>=3", ("genai-sync/gemini", "genai-async/gemini")),
    Sdk("google-genai: Vertex AI", "google-genai>=3", ("genai-sync/vertex", "genai-async/vertex")),
    Sdk("boto3: converse", "boto3>=1.44", ("boto3/bedrock_converse",)),
    Sdk("boto3: invoke_model", "boto3>=1.44", ("boto3-invoke/anthropic_messages", "boto3-invoke/nova")),
    Sdk("mistralai", "mistralai>=3", ("mistralai-sync", "mistralai-async")),
    Sdk("cohere: v2", "cohere>=7", ("cohere.ClientV2", "cohere.AsyncClientV2")),
    Sdk("cohere: v1", "cohere>=7", ("cohere.Client", "cohere.AsyncClient")),
    _both("ollama", "ollama>=0.5", "ollama.Client", "/ollama_chat"),
    _both("groq", "groq>=1", "groq.Groq", "/openai_chat"),
    _both("cerebras-cloud-sdk", "cerebras-cloud-sdk", "cerebras.cloud.sdk.Cerebras"),
    _both("together", "together>=2", "together.Together"),
    _both("fireworks-ai", "fireworks-ai>=1", "fireworks.Fireworks"),
    _both("writer-sdk", "writer-sdk", "writerai.Writer"),
    Sdk("zai-sdk", "zai-sdk", ("zai.ZaiClient", "zai.ZhipuAiClient")),
    Sdk(
        "huggingface_hub",
        "huggingface_hub>=2",
        ("huggingface_hub.InferenceClient", "huggingface_hub.AsyncInferenceClient"),
    ),
    _both("ai21", "ai21>=4", "ai21.AI21Client"),
    Sdk("azure-ai-inference", "azure-ai-inference", ("azure-ai-inference-sync", "azure-ai-inference-async")),
    Sdk("ibm-watsonx-ai", "ibm-watsonx-ai", ("ibm-watsonx-ai-sync", "ibm-watsonx-ai-async")),
    Sdk("dashscope", "dashscope>=2", ("dashscope-sync", "dashscope-async")),
)

HOSTS: Final = tuple(
    Sdk(f"openai on {host}", "openai>=3", (f"openai.OpenAI/{host}",))
    for host in dict.fromkeys(client.provider for client in CLIENTS if type(client) is OnHost)
)
"""Hosts that openai's SDK is pointed at."""

MADE: Final = Path(__file__).with_name("raised.json")


def clients_of(sdk: Sdk) -> list[Client]:
    """Its clients; none where another version of it is installed."""
    found = {client.name: client for client in reversed(CLIENTS)}
    return [found[name] for name in sdk.clients] if has(sdk.needs) else []


ONCE: Final = {"x-should-retry": "false"}
"""For the loops of retries that ask: how often they ask is told elsewhere."""


def _as_users_make_it(client: Client) -> Client:
    """Without the strict validation of answers, which turns what an SDK doesn't know into an error of its own."""
    plain = client.fresh()
    plain.can -= {"strict validation"}
    if isinstance(plain, Vendor):
        plain.lenient = ("whole", "stream")
    return plain


async def raised(client: Client, mode: str) -> dict[str, Outcome]:
    """What comes of each error, in place of an answer or after a stream has begun; before it was heard what was said."""
    found: dict[str, Outcome] = {}
    with fake_llm.intercept() as fake:
        client = _as_users_make_it(client)
        for name in ERROR_NAMES:
            fake.push(Error(name, headers=ONCE) if mode == "whole" else Reply(BEGUN, then=Error(name)))
            try:
                await client.ask("Hi", mode=mode)
            except Exception as error:
                found[name] = _told(error, client)
            else:
                found[name] = {"class": None, "finish": client.heard.finish}
            heard = client.heard.answer().text
            assert heard == (BEGUN if mode == "stream" else ""), (client, name, heard)
    return found


def _told(error: Any, client: Client) -> Outcome:
    """A class and what it says that a person tells errors apart by; no class where the SDK says it in its answer."""
    kind = type(error)
    told: dict[str, Any] = {"class": None if kind.__module__ == Client.__module__ else kind.__name__}
    status = client.status(error)
    response = getattr(error, "response", None)
    said = response["Error"] if isinstance(response, dict) and "Error" in response else None
    found = {
        "status": status,
        "code": getattr(error, "code", None) if said is None else said.get("Code"),
        "type": getattr(error, "type", None),
        "param": getattr(error, "param", None),
        "word": getattr(error, "status", None),
    }
    for name, value in found.items():
        if isinstance(value, (str, int)) and value != "" and (name == "status" or value != status):
            told[name] = value
    return told


def made_here() -> dict[str, Any]:
    """The rows of the SDKs that are installed."""
    found: dict[str, Any] = {}
    for sdk in (*SDKS, *HOSTS):
        for client in clients_of(sdk)[:1]:
            whole, stream = (client.run(raised(client, mode)) for mode in ("whole", "stream"))
            errors = {name: [whole[name], stream[name]] for name in ERROR_NAMES}
            found[sdk.name] = {"needs": sdk.needs, "errors": errors}
    return found


def written(rows: dict[str, Any]) -> str:
    """A line for each error."""
    sdks = []
    for name, row in rows.items():
        lines = ",\n".join(f"   {json.dumps(error)}: {json.dumps(said)}" for error, said in row["errors"].items())
        sdks.append(
            f' {json.dumps(name)}: {{\n  "needs": {json.dumps(row["needs"])},\n  "errors": {{\n{lines}\n  }}\n }}'
        )
    return "{\n" + ",\n".join(sdks) + "\n}\n"


if __name__ == "__main__":
    rows = made_here()
    if sys.argv[1:] == ["--write"]:
        known = json.loads(MADE.read_text()) if MADE.exists() else {}
        known |= rows
        ordered = {sdk.name: known[sdk.name] for sdk in (*SDKS, *HOSTS) if sdk.name in known}
        MADE.write_text(written(ordered))
    else:
        sys.stdout.write(written(rows))
