"""The versions that the tests are run against, as `constraints/` pins them; `tests/test_cli.py` keeps this in step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["TESTED"]

TESTED: Final[Mapping[str, Mapping[str, str]]] = {
    "aiohttp": {"current": "3.14"},
    "anthropic": {"current": "2.14", "legacy": "0.125"},
    "boto3": {"current": "1.44"},
    "botocore": {"current": "1.44"},
    "cerebras-cloud-sdk": {"current": "1.91"},
    "google-genai": {"current": "3.6", "legacy": "1.75"},
    "groq": {"current": "1.7", "legacy": "1.1"},
    "httpx": {"current": "0.28", "legacy": "0.28"},
    "httpx2": {"current": "2.16"},
    "mistralai": {"current": "3.7", "legacy": "1.12"},
    "ollama": {"current": "0.6", "legacy": "0.5"},
    "openai": {"current": "3.57", "legacy": "2.54"},
    "requests": {"current": "2.34", "legacy": "2.34"},
    "writer-sdk": {"current": "3.0"},
    "zai-sdk": {"current": "0.2"},
}
"""By distribution, the major and minor version in each environment (2026-11)."""
