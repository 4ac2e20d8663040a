"""Script what an LLM answers, run your code on its real SDK unchanged, and look at what it sent.

>>> import fake_llm
>>> with fake_llm.intercept(["Hello!"]) as fake:
...     pass  # your code, on any SDK
Traceback (most recent call last):
    ...
fake_llm.UnusedReplyError: The block ended and 1 turn was not asked for:
  turn 1  unused  'Hello!'
No call came: does the code under test use another process, or a host that isn't known (declare it by hosts=)? Or does a fixture return instead of yield?
Leave out what isn't needed, or write intercept(…, strict=False), which raises no failure of fake_llm at the end.
"""

from importlib import import_module as _import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fake_llm import quirks as quirks
    from fake_llm import sweep as sweep
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
    from fake_llm._intercept import forbid, intercept
    from fake_llm._model import Event, Message, ToolResult, Usage
    from fake_llm._turns import (
        Audio,
        Auto,
        Citation,
        Disconnect,
        Embedding,
        EndOfStream,
        Error,
        Framing,
        Garbage,
        Image,
        Json,
        Raw,
        Refusal,
        Reply,
        ServerTool,
        Stall,
        Thinking,
        ToolCall,
    )

__all__ = [
    "Audio",
    "Auto",
    "Call",
    "Calls",
    "Citation",
    "Disconnect",
    "Embedding",
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
    "ServerTool",
    "Stall",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "UninterceptedCallError",
    "UnknownEndpointError",
    "UnscriptedCallError",
    "UnusedReplyError",
    "Usage",
    "forbid",
    "intercept",
    "quirks",
    "sweep",
]

_HOMES = {
    "Call": "_call",
    "Calls": "_call",
    "FakeLLMFailure": "_errors",
    "ScriptError": "_errors",
    "ScriptMismatchError": "_errors",
    "UninterceptedCallError": "_errors",
    "UnknownEndpointError": "_errors",
    "UnscriptedCallError": "_errors",
    "UnusedReplyError": "_errors",
    "FakeLLM": "_fake",
    "forbid": "_intercept",
    "intercept": "_intercept",
    "Event": "_model",
    "Message": "_model",
    "ToolResult": "_model",
    "Usage": "_model",
    "Audio": "_turns",
    "Auto": "_turns",
    "Citation": "_turns",
    "Disconnect": "_turns",
    "Embedding": "_turns",
    "EndOfStream": "_turns",
    "Error": "_turns",
    "Framing": "_turns",
    "Garbage": "_turns",
    "Image": "_turns",
    "Json": "_turns",
    "Raw": "_turns",
    "Refusal": "_turns",
    "Reply": "_turns",
    "ServerTool": "_turns",
    "Stall": "_turns",
    "Thinking": "_turns",
    "ToolCall": "_turns",
    "quirks": "quirks",
    "sweep": "sweep",
}
"""Where each name lives: it is loaded when it is asked for, so that a test run that never asks pays nothing."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'fake_llm' has no attribute {name!r}")
    module = _import_module(f"fake_llm.{home}")
    found = globals()[name] = module if home == name else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]


del TYPE_CHECKING
