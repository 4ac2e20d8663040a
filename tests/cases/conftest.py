"""What the tests of this folder share."""

from __future__ import annotations

from _loops import loop

__all__ = ["loop"]
