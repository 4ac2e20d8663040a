"""Lets the tests of this folder import its helpers, and keeps what frameworks do on the side on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from _loops import loop

__all__ = ["loop"]

sys.path.insert(0, str(Path(__file__).parent))

os.environ |= {
    "LANGSMITH_TRACING": "false",  # off unless asked for (langsmith 0.15), but a developer may have asked
    "LANGCHAIN_TRACING_V2": "false",
}
