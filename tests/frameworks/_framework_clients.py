"""LiteLLM and LangChain as clients of the list of cases, beside those of the SDKs.

LiteLLM gives OpenAI's objects whoever answers, so they are read as OpenAI's are, and its errors are its own. LangChain
gives messages of its own, with the vendor's words for why an answer ended, and the errors of the SDK below it.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # its import asks for prices else,
os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")  # … a call of Claude for beta headers

import _sdk_clients as sdks
from _sdk_clients import EVERYTHING, SCHEMA, STATUSES, Ask, Chat, Client, Heard, Spent, at, done, each

__all__ = ["FRAMEWORKS"]

_HTTP_ALONE = frozenset(
    {
        *("retries", "retries of streams", "read time-out", "trio", "names its answers", "names its model"),
        *("comments in a stream", "line separators in a stream", "compressed answers", "blank lines in a stream"),
        *("errors inside a stream", "several choices"),
    }
)
"""What is the SDK's or the HTTP library's, and is judged there."""
ALL = EVERYTHING - _HTTP_ALONE - {"refusal"}


class Reasoned(Chat):
    """OpenAI's objects as LiteLLM makes them: thoughts under its own name, or a host's, or both."""

    thinking_names = ()

    @classmethod
    def _said(cls, heard: Heard, said: Any, index: int) -> None:
        super()._said(heard, said, index)
        heard.thinking.append(at(said, "reasoning_content") or at(said, "reasoning") or "")


class Spoken:
    """A vocabulary that a framework hides: its name, and the framework's words for why an answer ended."""

    def __init__(self, dialect: str, finishes: Mapping[str, str]) -> None:
        self.dialect = dialect
        self.finishes = finishes


# --- LiteLLM ----------------------------------------------------------------------------------------


class LiteLLM(Client):
    """One of its prefixes.

    Args:
        asked: The model with its prefix.
        where: What else it is told, such as a region.
        lacks: What it or the vendor behind it can't do.
        loses: What the vendor says and it doesn't hand on, or not as it was said: words of `LOSSES`.
        errors: Names of its exceptions, where they are others than those for OpenAI; with `/stream` of streams alone.
        repeats: How often it asks again after an error, without being told to.
    """

    def __init__(
        self,
        asked: str,
        provider: str,
        dialect: str,
        model: str | None = None,
        *,
        is_async: bool,
        where: Mapping[str, Any] | None = None,
        lacks: frozenset[str] = frozenset(),
        loses: frozenset[str] = frozenset(),
        errors: Mapping[str, str] | None = None,
        repeats: int = 0,
        needs: tuple[str, ...] = (),
        says: frozenset[str] = frozenset(),
    ) -> None:
        rest = asked.partition("/")[2]
        super().__init__(
            f"litellm-{'async' if is_async else 'sync'}/{asked}",
            Spoken(dialect, {"refusal": "stop"}),
            provider=provider,
            model=rest if model is None else model,
            needs=("litellm>=1.110", *needs),
            can=ALL - lacks,
            modes=("whole", "stream"),
            is_async=is_async,
            says=says,
        )
        self.asked = asked
        self.where = {"api_key": "fake-llm", **(where or {})}
        self.loses = loses
        self.errors = errors or {}
        self.repeats = repeats

    def make(self) -> Any:
        litellm = importlib.import_module("litellm")
        litellm.suppress_debug_info = True
        litellm.disable_hf_tokenizer_download = True
        return litellm

    def body(self, ask: Ask) -> dict[str, Any]:
        body = Chat.body(ask, self.asked) | {"num_retries": 0, "max_retries": 0, **self.where}
        for tool in body.get("tools", ()):
            tool["function"] = {"description": "It.", **tool["function"]}
            del tool["function"]["strict"]
        return body

    async def whole(self, heard: Heard, ask: Ask) -> None:
        way = self._made.acompletion if self.is_async else self._made.completion
        Reasoned.whole(heard, await done(way(**self.body(ask))))

    async def stream(self, heard: Heard, ask: Ask) -> None:
        way = self._made.acompletion if self.is_async else self._made.completion
        options = {"stream": True, "stream_options": {"include_usage": True}}
        stream = await done(way(**self.body(ask), **options))
        async for chunk in each(stream if self.is_async else (chunk for chunk in stream)):  # it is of both kinds
            Reasoned.piece(heard, chunk)

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        """The class alone: its statuses are its own, too."""
        names = {
            "bad_request": "BadRequestError",
            "authentication": "AuthenticationError",
            "not_found": "NotFoundError",
            "rate_limit": "RateLimitError",
            "server_error": "InternalServerError",
            "overloaded": "ServiceUnavailableError",
            "timeout": "Timeout",
        }
        named = self.errors.get(f"{kind}/{mode}", self.errors.get(kind, names[kind]))
        return getattr(importlib.import_module("litellm.exceptions"), named), None

    def status(self, error: BaseException) -> int | None:
        return None

    def requests(self, calls: int, fails: str | None) -> int:
        again = fails in {"rate_limit", "server_error", "overloaded", "timeout"}
        return calls + self.repeats if again else calls


class PolledLiteLLM(LiteLLM):
    """Replicate, which it polls, and for whose models it would look for a template on another host."""

    async def ask(self, prompt: Any, **options: Any) -> Any:
        import asyncio

        handler = importlib.import_module("litellm.llms.replicate.chat.handler")
        plain = {"roles": {"user": {"pre_message": "", "post_message": ""}}}
        ready = SimpleNamespace(time=time.time, sleep=lambda seconds: None)
        with (
            mock.patch.object(handler, "time", ready),
            mock.patch.object(handler, "asyncio", SimpleNamespace(sleep=lambda seconds: asyncio.sleep(0))),
            mock.patch.object(importlib.import_module("litellm"), "custom_prompt_dict", {self.model: plain}),
        ):
            return await super().ask(prompt, **options)


def _words(**said: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(filter(None, text.split(", "))) for name, text in said.items()}


def _both(
    *args: Any, kind: type[LiteLLM] = LiteLLM, lacks: str = "", loses: str = "", says: str = "", **options: Any
) -> tuple[Client, ...]:
    words = _words(lacks=lacks, loses=loses, says=says)
    return tuple(kind(*args, is_async=is_async, **words, **options) for is_async in (False, True))


_CLAUDE = "claude-sonnet-4-5"
_INVOKED_CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
_NOVA = "us.amazon.nova-lite-v1:0"
_REGION: dict[str, Any] = {"where": {"aws_region_name": "us-east-1", "api_key": None}, "needs": ("boto3",)}
_REGION["errors"] = {"server_error": "ServiceUnavailableError"}
_BY_TOOL: dict[str, Any] = {"says": "its own tools", "loses": "streams of structured output"}
_PROJECT: dict[str, Any] = {"where": {"vertex_project": "p", "vertex_location": "us-central1"}}
_PROJECT |= {"needs": ("google-auth",)}
_GEMINI: dict[str, Any] = {"errors": {"overloaded": "InternalServerError"}}
_GEMINI["errors"] |= {
    f"{kind}/stream": "MidStreamFallbackError" for kind in ("rate_limit", "server_error", "overloaded")
}
_FOUNDRY = "https://my-resource.services.ai.azure.com"
_BUSY = {"errors": {"overloaded": "RateLimitError"}}
_COHERE = {
    "lacks": "thinking, structured output, content filter, cached tokens",
    "loses": "what is said beside a call, why a stream ended, counts in a stream",
}

LITELLM: tuple[Client, ...] = (
    *_both("openai/gpt-4.1", "openai", "openai_chat"),
    *_both("openai/responses/gpt-4.1", "openai", "openai_responses", "gpt-4.1"),
    *_both("anthropic/" + _CLAUDE, "anthropic", "anthropic_messages", errors={"overloaded": "InternalServerError"}),
    *_both(
        "vertex_ai/" + _CLAUDE,
        *("vertex", "anthropic_messages"),
        **_PROJECT,
        says="its own tools",
        errors={"overloaded": "APIError"},
    ),
    *_both(f"bedrock/invoke/{_INVOKED_CLAUDE}", "bedrock", "anthropic_messages", _INVOKED_CLAUDE, **_REGION),
    *_both(f"bedrock/converse/{_NOVA}", "bedrock", "bedrock_converse", _NOVA, **_REGION, **_BY_TOOL),
    *_both(f"bedrock/invoke/{_NOVA}", "bedrock", "bedrock_converse", _NOVA, **_REGION, **_BY_TOOL),
    *_both(
        "azure_ai/" + _CLAUDE,
        *("azure", "anthropic_messages"),
        where={"api_base": f"{_FOUNDRY}/anthropic"},
        errors={"overloaded": "APIError"},
    ),
    *_both(
        "azure/gpt-4.1",
        *("azure", "openai_chat"),
        where={"api_base": "https://my-resource.openai.azure.com", "api_version": "2024-10-21"},
    ),
    *_both("azure_ai/gpt-4.1", "azure", "openai_chat", where={"api_base": f"{_FOUNDRY}/models"}),
    *_both("gemini/gemini-2.5-flash", "gemini", "gemini", **_GEMINI),
    *_both("vertex_ai/gemini-2.5-flash", "vertex", "gemini", **_PROJECT, **_GEMINI),
    *_both("mistral/magistral-medium-latest", "mistral", "openai_chat", **_BUSY),
    *_both("cohere/command-a-03-2025", "cohere", "cohere_chat_v2", **_COHERE),
    *_both("cohere_chat/command-a-03-2025", "cohere", "cohere_chat_v2", **_COHERE),
    *_both(
        "cohere_chat/v1/command-r",
        *("cohere", "cohere_chat_v1", ""),
        lacks="tools, thinking, structured output, content filter, cached tokens, pictures in a request",
        loses="why it ended, counts in a stream",
    ),
    *_both(
        "ollama_chat/qwen3:8b",
        *("ollama", "ollama_chat"),
        lacks="content filter, cached tokens",
        loses="several calls in a stream",
    ),
    *_both(
        "ollama/qwen3:8b",
        *("ollama", "ollama_generate"),
        lacks="tools, content filter, cached tokens",
        loses="why it ended",
        says="its own words",
    ),
    *_both("groq/openai/gpt-oss-120b", "groq", "openai_chat", loses="streams of structured output"),
    *_both(
        "watsonx/ibm/granite-4-h-small",
        *("watsonx", "watsonx_chat"),
        where={"api_base": "https://us-south.ml.cloud.ibm.com", "project_id": "p"},
        loses="thoughts in a stream, counts in a stream",
        errors={"timeout/whole": "InternalServerError"},
    ),
    *_both("dashscope/qwen-plus", "dashscope", "openai_chat"),
    *_both(
        "openrouter/anthropic/claude-haiku-4.5",
        *("openrouter", "openai_chat"),
        errors=dict.fromkeys(("server_error", "overloaded"), "APIError"),
    ),
    *_both("deepseek/deepseek-reasoner", "deepseek", "openai_chat", lacks="pictures in a request"),
    *_both("xai/grok-4", "xai", "openai_chat", errors={"authentication": "BadRequestError"}),
    *_both("together_ai/openai/gpt-oss-120b", "together", "openai_chat", lacks="cached tokens"),
    *_both(
        "fireworks_ai/accounts/fireworks/models/gpt-oss-120b",
        *("fireworks", "openai_chat"),
        lacks="pictures in a request",
    ),
    *_both("perplexity/sonar-pro", "perplexity", "openai_chat", lacks="tools, thinking, cached tokens"),
    *_both("cerebras/gpt-oss-120b", "cerebras", "openai_chat"),
    *_both("moonshot/kimi-k2.6", "moonshot", "openai_chat", **_BUSY),
    *_both(  # a schema is put into words
        "zai/glm-5", "zai", "openai_chat", **_BUSY, repeats=2, lacks="structured output"
    ),
    *_both(
        "replicate/ibm-granite/granite-4.0-h-small",
        *("replicate", "replicate_predictions"),
        kind=PolledLiteLLM,
        lacks="tools, thinking, structured output, content filter, cached tokens, pictures in a request",
        loses="why it ended, counts",
        says="never streams, its own words",
        errors={"not_found": "APIError", "server_error": "ServiceUnavailableError", "overloaded": "APIError"},
    ),
)


# --- LangChain --------------------------------------------------------------------------------------


class LangChain(Client):
    """One of its chat models.

    Args:
        maker: Module and class.
        words: A vocabulary's words for why an answer ended.
        judge: The client of the SDK below it, whose errors come out.
        made: What the class is made with.
        forms: How it asks for structured output.
    """

    def __init__(
        self,
        maker: str,
        words: Any,
        *,
        provider: str,
        dialect: str,
        model: str,
        needs: tuple[str, ...],
        is_async: bool,
        judge: str | None,
        made: Mapping[str, Any] | None = None,
        form: str = "json_schema",
        lacks: frozenset[str] = frozenset(),
        loses: frozenset[str] = frozenset(),
        says: frozenset[str] = frozenset(),
        errors: Mapping[str, str] | None = None,
    ) -> None:
        spoken = Spoken(dialect, words.finishes)
        module, _, self.maker = maker.partition(".")
        self.module = module
        super().__init__(
            f"langchain-{'async' if is_async else 'sync'}/{self.maker}/{dialect}",
            spoken,
            provider=provider,
            model=model,
            needs=needs,
            can=ALL - lacks,
            modes=("whole", "stream"),
            is_async=is_async,
            says=says,
        )
        self.made = made or {}
        self.form = form
        self.loses = loses
        self.judge = judge
        self.errors = errors or {}

    def make(self) -> Any:
        made = dict(self.made)
        if self.module == "langchain_aws":
            once = {"total_max_attempts": 1, "mode": "standard"}
            made["config"] = importlib.import_module("botocore.config").Config(retries=once)
        return getattr(importlib.import_module(self.module), self.maker)(model=self.model, **made)

    def messages(self, ask: Ask) -> list[Any]:
        kinds = importlib.import_module("langchain_core.messages")
        found: list[Any] = []
        for role, *rest in ask.history:
            if role == "user":
                found.append(kinds.HumanMessage(Chat.seen(*rest)))
            elif role == "tool":
                found.append(kinds.ToolMessage(rest[1], tool_call_id=rest[0].id, name=rest[0].name))
            else:
                found.append(rest[0].native)
        return found

    def asked(self, ask: Ask) -> Any:
        """The model with the tools or the form that is asked for."""
        if ask.schema:
            form = {"title": "Weather", "description": "The weather.", **SCHEMA}
            return self._made.with_structured_output(form, method=self.form, include_raw=True)
        if ask.tools:
            tools = [
                {"type": "function", "function": {"name": name, "description": "It.", "parameters": dict(schema)}}
                for name, schema in ask.tools.items()
            ]
            if self.module == "langchain_cohere":  # it takes a schema with a title
                tools = [
                    {"title": tool["function"]["name"], "description": "It.", **tool["function"]["parameters"]}
                    for tool in tools
                ]
            return self._made.bind_tools(tools)
        return self._made

    async def whole(self, heard: Heard, ask: Ask) -> None:
        model, said = self.asked(ask), self.messages(ask)
        answer = await done(model.ainvoke(said) if self.is_async else model.invoke(said))
        if ask.schema:
            self.hear_form(heard, answer["raw"], answer["parsed"])
        else:
            self.hear(heard, answer)

    async def stream(self, heard: Heard, ask: Ask) -> None:
        model, said = self.asked(ask), self.messages(ask)
        whole: Any = None
        parsed: Any = None
        async for chunk in each(model.astream(said) if self.is_async else model.stream(said)):
            piece = chunk.get("raw") if ask.schema else chunk
            parsed = chunk.get("parsed", parsed) if ask.schema else None
            if piece is not None:
                whole = piece if whole is None else whole + piece
                heard.say(piece.text if not ask.schema else None)
        if ask.schema:
            self.hear_form(heard, whole, parsed)
        else:
            self.hear(heard, whole, told=True)

    def hear_form(self, heard: Heard, raw: Any, parsed: Any) -> None:
        heard.say(json.dumps(parsed))
        self.hear(heard, raw, told=True)
        if self.form == "function_calling":  # it made a call of the form
            assert heard.finish == self.finish("tool_calls")
            heard.finish = self.finish("stop")

    def hear(self, heard: Heard, message: Any, *, told: bool = False) -> None:
        if not told:
            heard.say(message.text)
        for index, call in enumerate(message.tool_calls):
            heard.call(index, id=call["id"], name=call["name"], arguments=call["args"])
        for block in message.content_blocks:
            if block["type"] == "reasoning":
                heard.thinking.append(block.get("reasoning") or "")
        ended = {**message.additional_kwargs, **message.response_metadata}
        ended |= ended.get("incomplete_details") or {}
        words = ("reason", "finish_reason", "stop_reason", "stopReason", "done_reason", "status")
        heard.finish = next((ended[word] for word in words if ended.get(word)), None)
        used = message.usage_metadata
        if used is not None:
            cached = used.get("input_token_details", {}).get("cache_read")
            thought = used.get("output_token_details", {}).get("reasoning")
            heard.usage = Spent(used["input_tokens"], used["output_tokens"], cached, thought)
        heard.native = message

    def error(self, kind: str, mode: str) -> tuple[type[BaseException], int | None]:
        if kind in self.errors:
            module, _, name = self.errors[kind].rpartition(".")
            refused = kind == "authentication" and self.provider == "gemini"  # a wrong key is a wrong argument there
            return getattr(importlib.import_module(module), name), 400 if refused else STATUSES.get(kind)
        below = next(client for client in sdks.CLIENTS if client.name == self.judge)
        expected, status = below.error(kind, mode)
        if self.module == "langchain_aws" and status is not None:  # its classes are those of each client
            expected = importlib.import_module("botocore.exceptions").ClientError
        return expected, status

    def status(self, error: BaseException | None) -> int | None:
        """What is said by it or by what it comes from."""
        while error is not None:
            answered: Any = getattr(error, "response", None)
            meta = answered.get("ResponseMetadata", {}) if isinstance(answered, dict) else {}
            found = getattr(error, "status_code", None) or meta.get("HTTPStatusCode") or getattr(error, "code", None)
            found = found or getattr(answered, "status_code", None)
            if isinstance(found, int):
                return found
            error = error.__cause__
        return None


def _chains(
    *args: Any, lacks: str = "", loses: str = "", loses_sync: str = "", says: str = "", **options: Any
) -> tuple[Client, ...]:
    words = _words(lacks=lacks, says=f"subclasses of errors, {says}")
    lost = _words(sync=f"{loses}, {loses_sync}", later=loses)
    return (
        LangChain(*args, is_async=False, loses=lost["sync"], **words, **options),
        LangChain(*args, is_async=True, loses=lost["later"], **words, **options),
    )


_GOOGLE = "langchain_google_genai.chat_models"
_AWS = {"region_name": "us-east-1"}

LANGCHAIN: tuple[Client, ...] = (
    *_chains(
        "langchain_openai.ChatOpenAI",
        sdks.Chat,
        provider="openai",
        dialect="openai_chat",
        model="gpt-4.1",
        judge="openai.OpenAI/openai_chat",
        made={"max_retries": 0, "stream_usage": True},
        needs=("langchain-openai",),
        lacks="thinking",
    ),
    *_chains(
        "langchain_openai.ChatOpenAI",
        sdks.Responses,
        provider="openai",
        dialect="openai_responses",
        model="gpt-4.1",
        judge="openai.OpenAI/openai_chat",
        made={"max_retries": 0, "use_responses_api": True},
        needs=("langchain-openai",),
    ),
    *_chains(
        "langchain_anthropic.ChatAnthropic",
        sdks.Messages,
        provider="anthropic",
        dialect="anthropic_messages",
        model="claude-sonnet-4-6",
        judge="anthropic.Anthropic/anthropic_messages",
        made={"max_retries": 0},
        needs=("langchain-anthropic",),
    ),
    *_chains(
        "langchain_google_genai.ChatGoogleGenerativeAI",
        sdks.Contents,
        provider="gemini",
        dialect="gemini",
        model="gemini-2.5-flash",
        judge="genai-sync/gemini",
        made={"max_retries": 1, "include_thoughts": True},
        errors=dict.fromkeys(STATUSES, f"{_GOOGLE}.ChatGoogleGenerativeAIError")
        | dict.fromkeys(("server_error", "overloaded"), f"{_GOOGLE}.GoogleAPIError"),
        needs=("langchain-google-genai",),
    ),
    *_chains(
        "langchain_mistralai.ChatMistralAI",
        sdks.Chat,
        provider="mistral",
        dialect="openai_chat",
        model="magistral-medium-latest",
        judge=None,
        made={"max_retries": 1},
        errors=dict.fromkeys(STATUSES, "httpx.HTTPStatusError") | {"timeout": "httpx.ReadTimeout"},
        lacks="cached tokens",
        needs=("langchain-mistralai",),
    ),
    *_chains(
        "langchain_ollama.ChatOllama",
        sdks.Local,
        provider="ollama",
        dialect="ollama_chat",
        model="qwen3:8b",
        judge="ollama.Client/ollama_chat",
        made={"reasoning": True},
        lacks="content filter, cached tokens",
        says="always streams, its own words",
        needs=("langchain-ollama",),
    ),
    *_chains(
        "langchain_cohere.ChatCohere",
        sdks.CohereV2,
        provider="cohere",
        dialect="cohere_chat_v2",
        model="command-a-03-2025",
        judge="cohere.ClientV2",
        lacks="thinking, structured output, cached tokens",
        loses="errors that it asks again after",
        loses_sync="calls in a stream, counts in a stream",
        needs=("langchain-cohere",),
    ),
    *_chains(
        "langchain_aws.ChatBedrockConverse",
        sdks.Converse,
        provider="bedrock",
        dialect="bedrock_converse",
        model="us.amazon.nova-lite-v1:0",
        judge="boto3/bedrock_converse",
        made=_AWS,
        form="function_calling",
        says="its own tools",
        needs=("langchain-aws",),
    ),
    *_chains(
        "langchain_aws.ChatBedrock",
        sdks.Messages,
        provider="bedrock",
        dialect="anthropic_messages",
        model=_INVOKED_CLAUDE,
        judge="boto3-invoke/anthropic_messages",
        made={"region_name": "us-east-1", "beta_use_converse_api": False},
        form="function_calling",
        says="its own tools",
        needs=("langchain-aws",),
    ),
)

FRAMEWORKS: tuple[Client, ...] = (*LITELLM, *LANGCHAIN)
