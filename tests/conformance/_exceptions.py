"""Where our answers differ from recorded ones on purpose: one list, each entry still needed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from _shape import Difference

__all__ = ["EXCEPTIONS", "Excepted", "excepting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excepted:
    """One difference that is meant; the patterns are of the whole text.

    Attributes:
        dialect: A pattern of the dialects.
        where: A pattern of `Difference.where`.
        path: A pattern of `Difference.path`.
        recorded: A pattern of what was recorded.
        recordings: A pattern found in the ids of the recordings.
        cut: Whether it holds only for test data that was cut down by hand.
        why: The reason.
    """

    dialect: str
    path: str
    why: str
    where: str = ".*"
    recorded: str = ".*"
    recordings: str = ""
    cut: bool = False

    def covers(self, dialect: str, difference: Difference) -> bool:
        """Whether this is that difference."""
        return (
            re.fullmatch(self.dialect, dialect) is not None
            and re.fullmatch(self.where, difference.where) is not None
            and re.fullmatch(self.path, difference.path) is not None
            and re.fullmatch(self.recorded, difference.recorded) is not None
            and re.search(self.recordings, difference.recording) is not None
            and (difference.cut or not self.cut)
        )


_BEFORE_2026_07 = "^(?!openai-responses-(streamed-previous-response-id|streamed-multimodal-input|streamed-reasoning-tool-call|reasoning-structured-output-multimodal-input)-01)"
"""All recordings of Responses but the four of 2026-07 and later."""

EXCEPTIONS: tuple[Excepted, ...] = (
    Excepted(
        dialect=".*",
        path=".*",
        recorded="absent",
        cut=True,
        why="a body without its request is a vendor's test data, and lacks what its test doesn't need",
    ),
    Excepted(
        dialect="openai_chat", where=".* chunk", path="obfuscation", why="padding is sent only when it is asked for"
    ),
    Excepted(
        dialect="openai_chat",
        where="document",
        path=r"choices\[\]\.logprobs|choices\[\]\.message\.annotations|service_tier",
        recordings="chat-completions-reasoning-01",
        why="edited by hand, and of 2025-03: newer ones have service_tier and annotations, and no logprobs for reasoning models",
    ),
    Excepted(
        dialect="openai_chat",
        where="finish chunk",
        path="usage",
        recordings="groq-chat-completions-streamed-reasoning-01",
        why="its request isn't kept: only one that asks for usage has it there",
    ),
    Excepted(
        dialect="openai_chat",
        where="document|value",
        path=r"service_tier|choices\[\]\.native_finish_reason|choices\[\]\.message\.reasoning_details(\[\].*)?",
        recordings="openrouter-chat-completions-(reasoning-tool-result-followup|citations-reasoning)",
        why="what xAI and OpenAI say behind OpenRouter: a summary and something encrypted, with words of their Responses",
    ),
    Excepted(
        dialect="openai_chat",
        where="order|annotations.*|content.*",
        path=r"at 0|choices\[\]\.delta\.annotations\[.*\]\.url_citation\.content|usage\.is_byok",
        recordings="openrouter-chat-completions-streamed-citations",
        why="a search of OpenRouter's own tells its pages, with their texts, before the model speaks; a turn cites what was said",
    ),
    Excepted(
        dialect="openai_chat",
        where="document",
        path=r"choices\[\]\.message\.parsed",
        recordings="xai-chat-completions-structured-output-01",
        why="an SDK's object written out, which holds what the SDK parsed",
    ),
    Excepted(
        dialect="openai_chat",
        where="document",
        path=r"choices\[\]\.logprobs|usage\.prompt_tokens_details",
        recordings="huggingface-chat-completions-structured-output-01",
        why="the router chose Cerebras, which the request doesn't name",
    ),
    Excepted(
        dialect="openai_chat",
        where="document",
        path=r"choices\[\]\.message\.(extra_content|thought_signature)",
        recordings="gemini-openai-compat-tool-call-01",
        why="the signature of a preview of 2025-05, beside the message; those of today stand in the call, of models from 3 on",
    ),
    Excepted(
        dialect="openai_chat",
        path=r"usage\.(service_tier|prompt_tokens_details)",
        recorded="absent",
        recordings="^mistral-",
        why="not sent before 2026-08, the details not before 2026-06",
    ),
    Excepted(
        dialect="openai_chat",
        where="content chunk",
        path=r"choices\[\]\.delta\.content",
        recorded=r"array\|string",
        recordings="mistral-chat-completions-streamed-reasoning-01",
        why="an empty piece came before the thoughts, which is a matter of time",
    ),
    Excepted(
        dialect="openai_responses",
        where="response.completed",
        path=r"response\.reasoning\.(context|mode)",
        recordings="openrouter-responses-streamed-reasoning-01",
        why="what the model behind OpenRouter adds",
    ),
    Excepted(
        dialect="openai_responses",
        where="value",
        path="service_tier",
        recordings="openrouter-responses-streamed-text-01",
        why="the word of the model behind OpenRouter; another one says `default`",
    ),
    Excepted(
        dialect="openai_responses",
        where="value",
        path="temperature|top_p",
        recordings="xai-responses-streamed",
        why="in streams xAI rounds them to 32 bits: 0.699999988079071",
    ),
    Excepted(
        dialect="openai_responses",
        path=r"((response\.)?output\[.*\]\.|item\.)content|reasoning\.context",
        recordings="azure-responses-(streamed-reasoning|reasoning-tool-result-followup)-01|item-mcp-call-reasoning-01",
        why="of 2025-10, 2025-12 and 2026-06: newer reasoning items have a content, and the reasoning a context",
    ),
    Excepted(
        dialect="openai_responses",
        path=r"(response\.)?(background|billing|completed_at|(frequency|presence)_penalty|max_tool_calls|moderation|prompt_cache_(key|retention)"
        r"|safety_identifier|service_tier|tool_usage|top_logprobs|reasoning\.(context|mode|summary)|text\.verbosity|tools\[.*\]\.(output_schema|search_content_types)"
        r"|usage\.input_tokens_details\.cache_write_tokens|output\[\]\.content\[\]\.logprobs)",
        recorded="absent",
        recordings=_BEFORE_2026_07,
        why="keys that came between 2025-03 and 2026-07; the newest recordings have them all",
    ),
    Excepted(
        dialect="openai_responses",
        path=r"(response\.)?reasoning\.generate_summary",
        recorded="null",
        recordings="responses-previous-response-id-01",
        why="the former name of reasoning.summary, gone since 2025-07",
    ),
    Excepted(
        dialect="openai_responses",
        where="response.function_call_arguments.done",
        path="name",
        recorded="absent",
        why="never recorded (2026-08), but the vendor's schema and the types of its SDK require it",
    ),
    Excepted(
        dialect="gemini",
        where="value",
        path=r"candidates\[\]\.avgLogprobs",
        why="the model's own number: ours is always the same",
    ),
    Excepted(
        dialect="openai_responses",
        where="value",
        path="prompt_cache_retention",
        why="the default of each model: in_memory for some, 24h for others",
    ),
    Excepted(
        dialect="openai_responses",
        where="value",
        path="top_p",
        recorded=r"0\.98",
        why="the default of gpt-5.4 and later; 1.0 elsewhere",
    ),
    Excepted(
        dialect="openai_responses",
        where="value",
        path="store",
        recorded="False",
        recordings="cached-tokens-01|streamed-reasoning-01|streamed-status-incomplete-01|status-queued-01|custom-tool-call-reasoning-01",
        why="the account keeps nothing (2025-07): no request says so",
    ),
    Excepted(
        dialect="openai_responses",
        where="value",
        path="service_tier",
        recorded="'auto'",
        recordings="custom-tool-call-reasoning-01",
        why="of 2025-08: newer answers name the tier that was taken",
    ),
    Excepted(
        dialect="openai_responses",
        where="order|response.output_item.done mcp_list_tools",
        path=r"at 4|item\.tools\[\]\.input_schema\.properties\..*",
        recordings="streamed-item-mcp-list-tools-01",
        why="three servers are asked at once and answer in any order; one of their lists is kept whole",
    ),
    Excepted(
        dialect="anthropic_messages",
        path=r"(message\.|delta\.)?stop_details",
        recorded="absent",
        why="models before 2026-04 don't send it",
    ),
    Excepted(
        dialect="anthropic_messages",
        path=r"(message\.)?usage\.inference_geo",
        recorded="absent",
        why="not sent before 2026",
    ),
    Excepted(
        dialect="anthropic_messages",
        path=r"(message\.)?usage\.(cache_creation|cache_creation_input_tokens|cache_read_input_tokens|input_tokens)",
        recorded="absent",
        recordings="bedrock-.*-(max-tokens|cached-tokens|tool-call|tool-result-fo)-01|vertex",
        why="on Bedrock before 2026, where the recording of 2026-04 has them; on Vertex by an old model",
    ),
    Excepted(
        dialect="anthropic_messages",
        path=r"usage\.server_tool_use\.web_fetch_requests",
        recorded="absent",
        recordings="block-mcp-tool-result",
        why="recorded in 2025-08, before there was a tool that fetches",
    ),
    Excepted(
        dialect="anthropic_messages",
        path=r"content\[\]\.caller|content_block\.caller",
        recordings="block-tool-search",
        why="the use of a server tool has its caller only with the beta advanced-tool-use-2025-11-20",
    ),
    Excepted(
        dialect="anthropic_messages",
        path=r"content_block\.caller",
        recorded="absent",
        recordings="streamed-block-web-fetch",
        why="recorded in 2025-09: results of web tools have a caller in 2026",
    ),
    Excepted(
        dialect="anthropic_messages",
        where="value",
        path=r"content\[\]\.citations\[\]\.cited_text",
        recordings="block-web-search",
        why="what a page says is in what only the vendor can read: a turn's own text stands there",
    ),
    Excepted(
        dialect="anthropic_messages",
        where="order",
        path=".*",
        recorded="message_delta / message_stop",
        recordings="cut-by-max-tokens-01",
        why="test data without the content_block_stop that real streams have",
    ),
    Excepted(
        dialect="gemini",
        path=r"candidates\[\]\.finishMessage",
        recorded="absent",
        why="models of 2025 don't send it with a call",
    ),
    Excepted(
        dialect="gemini",
        path=r"candidates\[\]\.finishMessage",
        recorded="string",
        recordings="no-content-01",
        why="an internal error of the model in words of its own, which no turn says",
    ),
    Excepted(
        dialect="gemini",
        where="chunk",
        path=r"usageMetadata\.(thoughts|candidates)TokenCount",
        recorded=r"absent(\|integer)?",
        why="the counts grow with the stream; ours are whole from the first chunk",
    ),
    Excepted(
        dialect="gemini",
        where="last chunk",
        path=r"candidates\[\]\.content\.parts(\[\]\.thoughtSignature)?",
        recorded=r"absent(\|string)?",
        why="which parts share a chunk with the end is a matter of time; the signature stands in an earlier one of ours",
    ),
    Excepted(
        dialect="gemini",
        path=r"candidates\[\]\.safetyRatings\[\]\.(probability|blocked|probabilityScore|severity|severityScore)",
        recordings="safety-finish-01",
        why="what the classifier found is no part of a turn; the scores are Vertex test data of gemini-1.5",
    ),
    Excepted(
        dialect="gemini",
        path=r"candidates\[\]\.(avgLogprobs|index|safetyRatings)",
        recordings="gemini-generateContent-(safety-finish-01|text-03)|gemini-streamGenerateContent-tool-result-followup-json",
        why="gemini-2.0 sent averages and ratings unasked and no index; later ones on the Gemini API do the opposite",
    ),
    Excepted(
        dialect="gemini",
        path=r"candidates\[\]\.index",
        recorded="integer",
        recordings="^vertex",
        cut=True,
        why="Firebase's test data has it; none of the raw recordings of Vertex does",
    ),
    Excepted(
        dialect="cohere_chat_v2",
        where="value",
        path=r"message\.citations\[\]\.text",
        recordings="streamed-citations-reasoning-01",
        why="a name is replaced in the citation and not in the text that it stands in",
    ),
    Excepted(
        dialect="cohere_generate_v1",
        path=r"meta\.warnings\[\]",
        recorded="string",
        why="a second warning, about the model `command`",
    ),
    Excepted(
        dialect="gemini",
        path=r"candidates\[\]\.logprobsResult\.topCandidates\[\]\.candidates\[\]",
        recorded="object",
        why="a turn says the chosen tokens; no others are made up beside them",
    ),
    Excepted(
        dialect="gemini",
        where="value",
        path=r"candidates\[\]\.content\.parts\[\]\.inlineData\.data",
        why="the bytes of the sound aren't kept",
    ),
    Excepted(
        dialect="gemini",
        path="candidates",
        recorded="array",
        recordings="gemini-generateContent-prompt-blocked-01",
        cut=True,
        why="an SDK's object written out, where an empty list stands for what the API leaves away",
    ),
    Excepted(
        dialect="gemini",
        where="chunk",
        path=r"usageMetadata\.toolUsePromptTokens?(Count|Details)",
        recorded=r"absent\|.*",
        why="the counts grow with the stream; what a tool's results cost stands in the last chunk of ours",
    ),
    Excepted(
        dialect="gemini",
        where="value",
        path=r"candidates\[\]\.groundingMetadata\.searchEntryPoint\.renderedContent",
        why="Google's own style sheet; ours is the chips alone",
    ),
    Excepted(
        dialect="gemini",
        path=r"candidates\[\]\.(citationMetadata(\..*)?|safetyRatings|content)|promptFeedback|at \d+",
        recordings="(citations|recitation)-01",
        cut=True,
        why="test data of 2024 and 2025: a reason to finish and ratings in every chunk, and offsets outside of its text",
    ),
    Excepted(
        dialect="ollama_chat",
        where="line of tool_calls",
        path=r"message\.tool_calls\[\]\.function\.index",
        recorded=r"absent\|integer",
        why="of 2025-06: the first call had no index, since a zero wasn't sent",
    ),
)


def excepting(dialect: str, difference: Difference) -> Excepted | None:
    """The entry that covers a difference."""
    return next((entry for entry in EXCEPTIONS if entry.covers(dialect, difference)), None)
