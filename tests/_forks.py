"""Commands as forks of one process that has the libraries loaded: most of the time of a short command goes into imports."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

LOADED = ("anthropic", "fake_llm", "google.genai", "httpx", "openai", "openai.types.responses", "pytest", "trio")
"""No plugin of pytest: one that is there already can't have its asserts rewritten, which it would say."""

STARTED = (
    "import _guard, _forks; _forks.wait(); import runpy, sys; runpy.run_module(sys.argv.pop(1), None, '__main__', True)"
)


def wait() -> None:
    """Fork for each order that is read, say what became of it, and return in the fork, which goes on as a command does."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            folder, environment, printed, sys.argv[1:] = json.loads(line)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            for number, name in enumerate((os.devnull, *printed)):
                file = os.open(name, os.O_RDWR)
                os.dup2(file, number)
                os.close(file)
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    sys.exit()


class Forks:
    """Such a process, started by the first command."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, module: str, *arguments: str, folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a module as a command in a folder."""
        if self._process is None:
            pipe = subprocess.PIPE
            command = [sys.executable, "-c", STARTED]
            self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        orders, said = self._process.stdin, self._process.stdout
        assert orders is not None
        assert said is not None
        with tempfile.TemporaryDirectory() as beside:
            printed = [Path(beside, name) for name in ("out", "err")]
            for file in printed:
                file.touch()
            command = [module, *arguments]
            orders.write(json.dumps([str(folder), dict(environment), list(map(str, printed)), command]) + "\n")
            orders.flush()
            code = int(said.readline())
            return subprocess.CompletedProcess(command, code, *(file.read_text(encoding="utf-8") for file in printed))

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.communicate()
            self._process = None
