"""The command `fake-llm`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the status to exit with.

    Args:
        arguments: The words after the program's name; without them, those of the process.
    """
    parser = argparse.ArgumentParser(
        prog="fake-llm", description="Script what an LLM answers in tests, on the real SDKs."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="one weather agent, answered by one script through the openai and anthropic SDKs")
    parser.parse_args(arguments)
    try:
        demo = importlib.import_module("fake_llm._demo")
    except ModuleNotFoundError as error:
        print(
            f'The demo runs on real SDKs, and {error.name} isn\'t installed here. Write pip install "fake-llm[demo]".',
            file=sys.stderr,
        )
        return 1
    demo.run()
    return 0
