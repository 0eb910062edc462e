"""One Python for a page, as a notebook is: blocks share their names, and may await.

Run as a program, it is the other side: reads one block a line as JSON, runs it, answers in one line.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import json
import subprocess
import sys
import traceback
import types
from pathlib import Path
from typing import Any


class Interpreter:
    """Runs the blocks of a page in a process of its own."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        """Start it in `folder`."""
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            cwd=folder,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, code: str, place: str) -> tuple[str, str]:
        """What the block printed, and the traceback of its error, if it ended in one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([code, place]), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, f"{place}: the interpreter died"
        said, error = json.loads(answer)
        return said, error

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        finally:
            self._process.kill()
            assert self._process.stdout is not None
            self._process.stdout.close()


async def _serve() -> None:
    answers, names = sys.stdout, {"__name__": "__main__"}
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        code, place = json.loads(line)
        said, error = io.StringIO(), ""
        with contextlib.redirect_stdout(said):
            try:
                await _run(code, place, names)
            except Exception:  # noqa: BLE001 - told to the other side
                error = traceback.format_exc()
        print(json.dumps([said.getvalue(), error]), file=answers, flush=True)


async def _run(code: str, place: str, names: dict[str, Any]) -> None:
    compiled = compile(code, place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = types.FunctionType(compiled, names)()
    if inspect.isawaitable(result):
        await result


if __name__ == "__main__":
    sys.path[0] = ""  # the folder of the page, not of this file
    asyncio.run(_serve())
