"""The first thing that a user does, with the wheel and its declared dependencies and nothing else. Run with `python -I`."""

from __future__ import annotations

import sysconfig
from importlib.metadata import version
from pathlib import Path

import httpx

import fake_llm
from fake_llm import Error, ToolCall

URL = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
TOOL = {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}

place = Path(fake_llm.__file__ or "").resolve()
assert place.is_relative_to(Path(sysconfig.get_path("purelib")).resolve()), f"{place} isn't the installed package"
assert (place.parent / "py.typed").is_file()

with fake_llm.intercept(["Hello!", ToolCall("ping"), Error(429)]) as fake:
    whole = httpx.post(URL, json=BODY)
    streamed = httpx.post(URL, json={**BODY, "tools": [TOOL], "stream": True})
    refused = httpx.post(URL, json=BODY)

assert whole.json()["choices"][0]["message"]["content"] == "Hello!"
assert streamed.text.endswith("data: [DONE]\n\n")
assert refused.status_code == 429
assert [call.last_user_text for call in fake.calls] == ["Hi"] * 3
print(f"fake-llm {version('fake-llm')} answers, from {place.parent}")
