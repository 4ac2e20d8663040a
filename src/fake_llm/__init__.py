"""Script what an LLM answers, run your code on its real SDK unchanged, and look at what it sent.

>>> import fake_llm
>>> with fake_llm.intercept(["Hello!"]) as fake:
...     pass  # your code, on any SDK
Traceback (most recent call last):
    ...
fake_llm.UnusedReplyError: The block ended and 1 turn was not asked for: turn 1 'Hello!'.
No call came: does the code under test use another process, or a host that isn't known (declare it by hosts=)? Or does a fixture return instead of yield?
Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end.
"""

from fake_llm._call import Call, Calls
from fake_llm._errors import (
    FakeLLMFailure,
    ScriptError,
    ScriptMismatchError,
    UninterceptedCallError,
    UnknownEndpointError,
    UnscriptedCallError,
    UnusedReplyError,
)
from fake_llm._fake import FakeLLM
from fake_llm._intercept import intercept
from fake_llm._model import Event, Message, ToolResult, Usage
from fake_llm._turns import (
    Disconnect,
    EndOfStream,
    Error,
    Framing,
    Garbage,
    Image,
    Json,
    Raw,
    Refusal,
    Reply,
    Stall,
    Thinking,
    ToolCall,
)

__all__ = [
    "Call",
    "Calls",
    "Disconnect",
    "EndOfStream",
    "Error",
    "Event",
    "FakeLLM",
    "FakeLLMFailure",
    "Framing",
    "Garbage",
    "Image",
    "Json",
    "Message",
    "Raw",
    "Refusal",
    "Reply",
    "ScriptError",
    "ScriptMismatchError",
    "Stall",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "UninterceptedCallError",
    "UnknownEndpointError",
    "UnscriptedCallError",
    "UnusedReplyError",
    "Usage",
    "intercept",
]

for _public in map(globals().__getitem__, __all__):
    _public.__module__ = __name__
