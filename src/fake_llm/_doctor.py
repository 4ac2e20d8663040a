"""What `fake-llm doctor` does: one call through each HTTP library and SDK that is installed, answered from a script.

No call leaves the machine: each is made inside an `intercept` block, which refuses what it doesn't answer.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from typing import Any, Final

from fake_llm._environment import base_urls
from fake_llm._intercept import intercept
from fake_llm._model import masked_url
from fake_llm._routes import placed
from fake_llm._tested import TESTED

__all__ = ["LIBRARIES", "Call", "Finding", "Library", "Report", "candidates", "examine", "release"]

ANSWER: Final = "Hello from fake_llm."
QUESTION: Final[Any] = [{"role": "user", "content": "Hi"}]
CHAT: Final = "https://api.openai.com/v1/chat/completions"

Run = Callable[[Any, bool, bool], Any]
"""One call: of the module, on an event loop or not, streamed or not; the text it got, or an awaitable of it."""


@dataclass(frozen=True, slots=True)
class Library:
    """A row: a way to call a model.

    Attributes:
        distribution: What pip installs.
        module: What is imported.
        run: Makes the call.
        api: Which of several, for people.
        loops: Whether it can run on an event loop: not, or also.
        streams: Whether its call itself is streamed: not, or also.
    """

    distribution: str
    module: str
    run: Run
    api: str = ""
    loops: tuple[bool, ...] = (False, True)
    streams: tuple[bool, ...] = (False, True)

    @property
    def name(self) -> str:
        """Distribution and API."""
        return f"{self.distribution} {self.api}".rstrip()

    @property
    def tested(self) -> list[str]:
        """The versions that the tests are run against, the newest first."""
        return list(dict.fromkeys(TESTED.get(self.distribution, {}).values()))

    def newer(self, installed: str) -> bool:
        """Whether this is a later major version than any that was tested."""
        return bool(self.tested) and _numbers(installed)[:1] > max(_numbers(text)[:1] for text in self.tested)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


# --- the table ----------------------------------------------------------------------------------


def _sdk(
    clients: tuple[str, str],
    ask: Callable[[Any, bool, bool], Any],
    text: Callable[[Any], Any],
    piece: Callable[[Any], Any],
) -> Run:
    """A call of an SDK.

    Args:
        clients: The names of its client classes, for code that blocks and for event loops.
        ask: Of the client, on an event loop or not, streamed or not; the answer or the stream, or an awaitable of it.
        text: The text of a whole answer.
        piece: The text of an event of a stream, `None` for none.
    """

    def run(module: Any, loop: bool, streamed: bool) -> Any:
        client = getattr(module, clients[loop])()
        if loop:
            return _read_async(client, ask(client, loop, streamed), text, piece, streamed=streamed)
        answer = ask(client, loop, streamed)
        said = "".join(piece(event) or "" for event in answer) if streamed else text(answer)
        if hasattr(client, "close"):
            client.close()
        return said

    return run


async def _read_async(
    client: Any, answer: Any, text: Callable[[Any], Any], piece: Callable[[Any], Any], *, streamed: bool
) -> Any:
    if inspect.isawaitable(answer):
        answer = await answer
    said = "".join([piece(event) or "" async for event in answer]) if streamed else text(answer)
    for name in ("aclose", "close"):
        if hasattr(client, name):
            closing = getattr(client, name)()
            if inspect.isawaitable(closing):
                await closing
            break
    return said


def _httpx(module: Any, loop: bool, streamed: bool) -> Any:
    body = {"model": "gpt-5", "messages": QUESTION, "stream": streamed}
    if loop:
        return _httpx_async(module, body)
    with module.Client() as client, client.stream("POST", CHAT, json=body) as response:
        return _said(response.iter_lines(), streamed=streamed)


async def _httpx_async(module: Any, body: dict[str, Any]) -> str:
    async with module.AsyncClient() as client, client.stream("POST", CHAT, json=body) as response:
        return _said([line async for line in response.aiter_lines()], streamed=body["stream"])


def _requests(module: Any, loop: bool, streamed: bool) -> str:
    body = {"model": "gpt-5", "messages": QUESTION, "stream": streamed}
    with module.post(CHAT, json=body, stream=streamed, timeout=10) as response:
        return _said((line.decode() for line in response.iter_lines()), streamed=streamed)


def _aiohttp(module: Any, loop: bool, streamed: bool) -> Any:
    return _aiohttp_async(module, {"model": "gpt-5", "messages": QUESTION, "stream": streamed})


async def _aiohttp_async(module: Any, body: dict[str, Any]) -> str:
    async with module.ClientSession() as session, session.post(CHAT, json=body) as response:
        return _said([line.decode().strip() async for line in response.content], streamed=body["stream"])


def _boto3(module: Any, loop: bool, streamed: bool) -> str:
    return _converse(module.client("bedrock-runtime"), streamed=streamed)


def _botocore(module: Any, loop: bool, streamed: bool) -> str:
    session = importlib.import_module("botocore.session").get_session()
    return _converse(session.create_client("bedrock-runtime"), streamed=streamed)


def _converse(client: Any, *, streamed: bool) -> str:
    asked = {"modelId": "amazon.nova-lite-v1:0", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    try:
        if not streamed:
            return str(client.converse(**asked)["output"]["message"]["content"][0]["text"])
        deltas = (event.get("contentBlockDelta", {}) for event in client.converse_stream(**asked)["stream"])
        return "".join(delta["delta"].get("text", "") for delta in deltas if delta)
    finally:
        client.close()


def _lm15(module: Any, loop: bool, streamed: bool) -> Any:
    body = json.dumps({"model": "gpt-5", "messages": QUESTION, "stream": streamed}).encode()
    request = module.TransportRequest("POST", CHAT, [("content-type", "application/json")], body)
    if loop:
        return _lm15_async(module, request, streamed=streamed)
    with module.StdlibTransport() as transport, transport.stream(request) as response:
        return _said([line.decode().strip() for line in response.iter_lines()], streamed=streamed)


async def _lm15_async(module: Any, request: Any, *, streamed: bool) -> str:
    async with module.StdlibAsyncTransport() as transport, transport.stream(request) as response:
        return _said([line.decode().strip() async for line in response.aiter_lines()], streamed=streamed)


def _said(lines: Iterable[str], *, streamed: bool) -> str:
    """The text of an answer of OpenAI's chat, or of a stream of it."""
    if not streamed:
        return str(json.loads("\n".join(lines))["choices"][0]["message"]["content"])
    events = [line[6:] for line in lines if line.startswith("data: {")]
    chunks = [choice["delta"] for event in events for choice in json.loads(event)["choices"]]
    return "".join(delta.get("content") or "" for delta in chunks)


def _chat_text(answer: Any) -> Any:
    return answer.choices[0].message.content


def _chat_piece(chunk: Any) -> Any:
    return chunk.choices[0].delta.content if chunk.choices else None


def _chat_sdk(blocking: str, on_loop: str, model: str, *path: str) -> Run:
    """An SDK with OpenAI's names: its client classes, a model, and where the client asks if not by `chat.completions.create`."""

    def ask(client: Any, loop: bool, streamed: bool) -> Any:
        return attrgetter(".".join(path or ("chat", "completions", "create")))(client)(
            model=model, messages=QUESTION, stream=streamed
        )

    return _sdk((blocking, on_loop), ask, _chat_text, _chat_piece)


def _azure_inference(module: Any, loop: bool, streamed: bool) -> Any:
    home = importlib.import_module("azure.ai.inference.aio") if loop else module
    key = importlib.import_module("azure.core.credentials").AzureKeyCredential("fake-llm")
    client = home.ChatCompletionsClient("https://fake-llm.services.ai.azure.com/models", key)
    asked = {"model": "gpt-4.1", "messages": QUESTION, "stream": streamed}
    if loop:
        return _in_session(client, client.complete(**asked), streamed=streamed)
    with client:
        answer = client.complete(**asked)
        return "".join(_chat_piece(update) or "" for update in answer) if streamed else _chat_text(answer)


async def _in_session(client: Any, answer: Any, *, streamed: bool) -> Any:
    async with client:
        answer = await answer
        if not streamed:
            return _chat_text(answer)
        async with answer:
            return "".join([_chat_piece(update) or "" async for update in answer])


def _watsonx(module: Any, loop: bool, streamed: bool) -> Any:
    credentials = module.Credentials(url="https://us-south.ml.cloud.ibm.com", api_key="fake-llm")
    model = importlib.import_module("ibm_watsonx_ai.foundation_models").ModelInference(
        model_id="ibm/granite-4-h-small", api_client=module.APIClient(credentials, project_id="fake-llm")
    )
    if loop:
        return _watsonx_async(model, streamed=streamed)
    if not streamed:
        return model.chat(messages=QUESTION)["choices"][0]["message"]["content"]
    return "".join(_watsonx_piece(chunk) for chunk in model.chat_stream(messages=QUESTION))


async def _watsonx_async(model: Any, *, streamed: bool) -> Any:
    if not streamed:
        return (await model.achat(messages=QUESTION))["choices"][0]["message"]["content"]
    return "".join([_watsonx_piece(chunk) async for chunk in await model.achat_stream(messages=QUESTION)])


def _watsonx_piece(chunk: Any) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])


def _dashscope(module: Any, loop: bool, streamed: bool) -> Any:
    generation = importlib.import_module("dashscope.aigc.generation")
    asked = {"model": "qwen-plus", "messages": QUESTION, "result_format": "message", "api_key": "fake-llm"}
    if streamed:
        asked |= {"stream": True, "incremental_output": True}
    if loop:
        return _dashscope_async(generation, asked)
    answer = generation.Generation.call(**asked)
    return "".join(_chat_text(each.output) for each in (answer if streamed else [answer]))


async def _dashscope_async(generation: Any, asked: dict[str, Any]) -> Any:
    async with importlib.import_module("aiohttp").ClientSession() as session:
        answer = await generation.AioGeneration.call(**asked, session=session)
        if not hasattr(answer, "__aiter__"):
            return _chat_text(answer.output)
        return "".join([_chat_text(each.output) async for each in answer])


def _genai(client: Any, loop: bool, streamed: bool) -> Any:
    models = client.aio.models if loop else client.models
    ask = models.generate_content_stream if streamed else models.generate_content
    return ask(model="gemini-2.5-flash", contents="Hi")


def _mistral(module: Any, loop: bool, streamed: bool) -> Any:
    home = module if hasattr(module, "Mistral") else importlib.import_module("mistralai.client")  # since 2
    return _MISTRAL(home, loop, streamed)


_MISTRAL: Final = _sdk(
    ("Mistral", "Mistral"),
    lambda client, loop, streamed: getattr(
        client.chat, ("stream" if streamed else "complete") + ("_async" if loop else "")
    )(model="mistral-small-latest", messages=QUESTION),
    _chat_text,
    lambda event: _chat_piece(event.data),
)


LIBRARIES: Final = (
    Library("httpx", "httpx", _httpx),
    Library("httpx2", "httpx2", _httpx),
    Library("requests", "requests", _requests, loops=(False,)),
    Library("aiohttp", "aiohttp", _aiohttp, loops=(True,)),
    Library("botocore", "botocore.httpsession", _botocore, "converse", loops=(False,)),
    Library("dspy", "dspy._vendor.lm15.transports", _lm15),
    Library("lm15", "lm15.transports", _lm15),
    Library("openai", "openai", _chat_sdk("OpenAI", "AsyncOpenAI", "gpt-5"), "chat"),
    Library(
        "openai",
        "openai",
        _sdk(
            ("OpenAI", "AsyncOpenAI"),
            lambda client, loop, streamed: client.responses.create(model="gpt-5", input="Hi", stream=streamed),
            lambda answer: answer.output_text,
            lambda event: event.delta if event.type == "response.output_text.delta" else None,
        ),
        "responses",
    ),
    Library(
        "anthropic",
        "anthropic",
        _sdk(
            ("Anthropic", "AsyncAnthropic"),
            lambda client, loop, streamed: client.messages.create(
                model="claude-sonnet-5", max_tokens=64, messages=QUESTION, stream=streamed
            ),
            lambda answer: answer.content[0].text,
            lambda event: getattr(event.delta, "text", None) if event.type == "content_block_delta" else None,
        ),
    ),
    Library(
        "google-genai",
        "google.genai",
        _sdk(("Client", "Client"), _genai, lambda answer: answer.text, lambda chunk: chunk.text),
    ),
    Library("boto3", "boto3", _boto3, "converse", loops=(False,)),
    Library("groq", "groq", _chat_sdk("Groq", "AsyncGroq", "openai/gpt-oss-20b")),
    Library("mistralai", "mistralai", _mistral),
    Library(
        "ollama",
        "ollama",
        _sdk(
            ("Client", "AsyncClient"),
            lambda client, loop, streamed: client.chat(model="qwen3:8b", messages=QUESTION, stream=streamed),
            lambda answer: answer.message.content,
            lambda part: part.message.content,
        ),
    ),
    Library("azure-ai-inference", "azure.ai.inference", _azure_inference),
    Library(
        "replicate",
        "replicate",
        _sdk(
            ("Client", "Client"),
            lambda client, loop, streamed: (client.async_run if loop else client.run)(
                "meta/meta-llama-3-70b-instruct", input={"prompt": "Hi"}
            ),
            "".join,
            str,
        ),
        streams=(False,),
    ),
    Library("ibm-watsonx-ai", "ibm_watsonx_ai", _watsonx),
    Library("dashscope", "dashscope", _dashscope),
    Library("together", "together", _chat_sdk("Together", "AsyncTogether", "openai/gpt-oss-120b")),
    Library("fireworks-ai", "fireworks", _chat_sdk("Fireworks", "AsyncFireworks", "gpt-oss-120b")),
    Library("cerebras-cloud-sdk", "cerebras.cloud.sdk", _chat_sdk("Cerebras", "AsyncCerebras", "gpt-oss-120b")),
    Library("writer-sdk", "writerai", _chat_sdk("Writer", "AsyncWriter", "palmyra-x5", "chat", "chat")),
    Library("zai-sdk", "zai", _chat_sdk("ZaiClient", "ZaiClient", "glm-5"), loops=(False,)),
    Library(
        "huggingface_hub",
        "huggingface_hub",
        _chat_sdk("InferenceClient", "AsyncInferenceClient", "openai/gpt-oss-120b", "chat_completion"),
    ),
)
"""What is tried, if it is installed; a new SDK is a row."""

OTHER_LIBRARIES: Final = ("grpcio", "niquests", "pycurl", "tornado")
"""HTTP libraries that code reaches models by, past every stack (2026-11)."""

OTHER_SDKS: Final = (
    *("ai21", "aleph-alpha-client", "cohere", "google-cloud-aiplatform"),
    *("google-generativeai", "litellm", "voyageai", "xai-sdk"),
)
"""SDKs without a row (2026-11)."""


# --- the examination ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was tried: `reason` says why it failed, `None` when it was answered."""

    asynchronous: bool
    streamed: bool
    reason: str | None

    @property
    def name(self) -> str:
        """The way it was made."""
        return ("async" if self.asynchronous else "sync") + (" streamed" if self.streamed else "")


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one row."""

    library: Library
    version: str
    calls: tuple[Call, ...]


@dataclass(slots=True)
class Report:
    """What was found; everything by the names that pip knows."""

    findings: list[Finding] = field(default_factory=list[Finding])
    not_intercepted: dict[str, str] = field(default_factory=dict[str, str])
    not_covered: dict[str, str] = field(default_factory=dict[str, str])
    base_urls: dict[str, tuple[str, str | None]] = field(default_factory=dict[str, tuple[str, str | None]])
    """By the variable, the URL with what is secret in it masked, and the provider it stands for: `None` where it is no URL."""

    @property
    def failed(self) -> list[tuple[Finding, Call]]:
        """The calls that weren't answered."""
        return [(finding, call) for finding in self.findings for call in finding.calls if call.reason is not None]

    def document(self) -> dict[str, Any]:
        """All of it as JSON."""
        return {
            "ok": not self.failed,
            "fake_llm": release("fake-llm"),
            "python": platform.python_version(),
            "libraries": [
                {
                    "distribution": finding.library.distribution,
                    "api": finding.library.api,
                    "version": finding.version,
                    "tested": dict(TESTED.get(finding.library.distribution, {})),
                    "calls": [
                        {
                            "async": call.asynchronous,
                            "streamed": call.streamed,
                            "ok": call.reason is None,
                            "reason": call.reason,
                        }
                        for call in finding.calls
                    ],
                }
                for finding in self.findings
            ],
            "not_intercepted": self.not_intercepted,
            "not_covered": self.not_covered,
            "base_urls": {name: {"url": url, "provider": to} for name, (url, to) in self.base_urls.items()},
        }


def examine(tell: Callable[[Finding], object] = lambda finding: None) -> Report:
    """Look at what is installed, and try it.

    Args:
        tell: Is told of each finding as soon as it is there: SDKs take their time to load.
    """
    report = Report(
        not_intercepted=_installed(OTHER_LIBRARIES),
        not_covered=_installed(OTHER_SDKS),
        base_urls={
            name: (masked_url(os.environ[name].strip()), provider.name if placed(url) is not None else None)
            for name, url, provider in base_urls()
        },
    )
    for library, installed in candidates():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            finding = Finding(library, installed, tuple(_tried(library)))
        report.findings.append(finding)
        tell(finding)
    return report


def candidates() -> list[tuple[Library, str]]:
    """The rows that can be tried here, each with the version that is installed."""
    found = ((library, release(library.distribution)) for library in LIBRARIES)
    return [(library, installed) for library, installed in found if installed is not None]


def release(distribution: str) -> str | None:
    """The version that is installed, `None` for none."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _installed(distributions: Iterable[str]) -> dict[str, str]:
    found = ((name, release(name)) for name in distributions)
    return {name: installed for name, installed in found if installed is not None}


def _tried(library: Library) -> Iterator[Call]:
    for loop in library.loops:
        for streamed in library.streams:
            yield Call(loop, streamed, _reason(library, loop=loop, streamed=streamed))


def _reason(library: Library, *, loop: bool, streamed: bool) -> str | None:
    """Why a call isn't answered as it was scripted, `None` if it is."""
    try:
        module = importlib.import_module(library.module)
        with intercept([ANSWER]) as fake:
            said = library.run(module, loop, streamed)
            if inspect.isawaitable(said):
                said = asyncio.run(_awaited(said))
            calls = [(call.operation, call.stream) for call in fake.calls]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - failures of ours are no `Exception`
        return f"{type(error).__name__}: {error}"
    if calls != [("chat", streamed)]:
        return f"The script answered {calls} where one chat call was made, {'streamed' if streamed else 'whole'}."
    return None if said == ANSWER else f"The text that came was {said!r}."


async def _awaited(awaitable: Any) -> Any:
    return await awaitable
