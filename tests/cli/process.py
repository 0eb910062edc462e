"""Real processes for the scenarios: `python -m tenure …`, ended by pid whatever happens."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import tenure

#: How long anything that should happen soon may take on a slow machine.
SOON = 60.0
#: And whoever was told to end: less than the grace that is usual, so that nobody waits for it unseen.
OBEY_SECONDS = 25.0

_SOURCE = str(Path(tenure.__file__).parents[1])


class Tenure:
    """One running command; its standard error is read line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._grown = threading.Condition()
        assert process.stderr is not None
        self._reader = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            with self._grown:
                self.lines.append(line)
                self._grown.notify_all()

    def says(self, words: str, seconds: float = SOON) -> str:
        """Wait for a line of standard error that has these words."""
        with self._grown:
            found = self._grown.wait_for(lambda: next((one for one in self.lines if words in one), None), seconds)
        assert found, f"never said {words!r}:\n{''.join(self.lines)}"
        return found

    def output(self, seconds: float = SOON) -> str:
        """Wait for the end; everything on standard output."""
        assert self.process.stdout is not None
        # A command that hangs is ended by pytest's own limit; this one is for its exit.
        text = self.process.stdout.read()
        self.ends(seconds)
        return text

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        self.process.send_signal(number)

    def ends(self, seconds: float = OBEY_SECONDS) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(seconds)
        self._reader.join(SOON)
        return code


@contextlib.contextmanager
def started(*words: str, **environment: str) -> Iterator[Tenure]:
    """Start a command; it is ended at the latest when the block is left."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tenure", *words],
        env={**os.environ, "PYTHONPATH": _SOURCE, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        running = Tenure(process)
        try:
            yield running
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            running._reader.join(SOON)
