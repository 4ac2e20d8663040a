"""Where the recordings, schemas and cases lie that some tests use; they aren't part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["needs_shared", "shared_dir"]


def shared_dir() -> Path | None:
    """The folder of recordings and schemas, `None` where it isn't."""
    given = os.environ.get("FAKE_LLM_SHARED")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared"
    return folder if (folder / "recordings").is_dir() else None


needs_shared = pytest.mark.skipif(
    shared_dir() is None, reason="the folder of recordings isn't here (set FAKE_LLM_SHARED)"
)
