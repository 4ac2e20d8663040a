"""A host that says no more than OpenAI's vocabulary needs: those of vLLM and of its like."""

from __future__ import annotations

from typing import Final

from fake_llm._differences import Difference
from fake_llm._differences.chat import chat
from fake_llm._failures import Errors

__all__ = ["ERRORS", "PLAIN"]

ERRORS: Final = Errors(usual={})

PLAIN: Final[Difference] = chat(errors=ERRORS)
