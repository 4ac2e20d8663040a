"""LiteLLM on Replicate, which it polls, whole and streamed."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

import fake_llm
from _capability import load
from fake_llm import Error, Reply

pytestmark = pytest.mark.filterwarnings(
    "ignore:Items? '.*' on TypedDict class:UserWarning",  # pydantic's word on its types (1.110)
)
MODEL = "ibm-granite/granite-4.0-h-small"
flavours = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture(autouse=True)
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module = load("litellm>=1.110")
    from litellm.llms.replicate.chat import handler

    monkeypatch.setattr(handler, "time", SimpleNamespace(time=time.time, sleep=lambda seconds: None))
    monkeypatch.setattr(handler, "asyncio", SimpleNamespace(sleep=lambda seconds: asyncio.sleep(0)))
    monkeypatch.setattr(module, "disable_hf_tokenizer_download", True)
    plain = {"roles": {"user": {"pre_message": "", "post_message": ""}}}  # else it looks for one on huggingface.co
    monkeypatch.setattr(module, "custom_prompt_dict", {MODEL: plain})
    return module


def asked(is_async: bool, **options: Any) -> Any:
    """The answer, or the chunks of one."""
    import litellm

    options = {
        "model": f"replicate/{MODEL}",
        "messages": [{"role": "user", "content": "Hi"}],
        "num_retries": 0,
        "api_key": "r8_fake_llm",
        **options,
    }
    stream = options.get("stream", False)

    async def ask() -> Any:
        answer = await litellm.acompletion(**options)
        return [chunk async for chunk in answer] if stream else answer

    if is_async:
        return asyncio.run(ask())
    answer = litellm.completion(**options)
    return list(answer) if stream else answer


@flavours
def test_whole(is_async: bool) -> None:
    with fake_llm.intercept(["It is sunny."]) as fake:
        answer = asked(is_async, max_tokens=9)
    assert answer.choices[0].message.content == "It is sunny."
    assert fake.calls[0].model == MODEL
    assert fake.calls[0].params["max_tokens"] == 9
    assert [call.operation for call in fake.side_calls] == ["predictions"] * 2


@flavours
def test_streamed(is_async: bool) -> None:
    with fake_llm.intercept([Reply(chunks=["It", " is", " sunny", "."])]) as fake:
        chunks = asked(is_async, stream=True)
    said = [chunk.choices[0].delta.content for chunk in chunks]
    assert [text for text in said if text] == ["It is", " sunny."]
    assert len(fake.calls) == 1


@flavours
def test_an_error_is_its_own(is_async: bool) -> None:
    import litellm

    with fake_llm.intercept([Error(429)]), pytest.raises(litellm.RateLimitError):
        asked(is_async)
