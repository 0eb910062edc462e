"""The worker processes: started, drained, told to stop, killed. As a group of machines in a cloud would be."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from .settings import FOLDER

_PARENT = Path(__file__).parents[1]
_PATIENCE_SECONDS = 60


class Fleet:
    """Workers by name, one process each. Use with `with`: none outlives it."""

    def __init__(self) -> None:
        """No worker runs yet."""
        self._environment = {**os.environ, "PYTHONPATH": str(_PARENT), "VIDEO_FOLDER": str(FOLDER)}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._leaving: set[str] = set()
        self._started = 0

    def start(self) -> str:
        """Start one more; its name."""
        self._started += 1
        name = f"worker-{self._started}"
        command = ["-m", "tenure", "worker", "video_transcode.tasks:app", "--concurrency", "1", "--name", name]
        with (FOLDER / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(  # noqa: S603
                [sys.executable, *command], cwd=FOLDER, env=self._environment, stdout=log, stderr=log
            )
        return name

    def running(self) -> list[str]:
        """The names of those that run and are to go on, the oldest first."""
        alive = (name for name, process in self._processes.items() if process.poll() is None)
        return [name for name in alive if name not in self._leaving]

    def is_empty(self) -> bool:
        """Whether all processes have ended."""
        return all(process.poll() is not None for process in self._processes.values())

    def note_leaving(self, name: str) -> None:
        """It was asked to drain: count on it no more."""
        self._leaving.add(name)

    def notice(self, name: str) -> None:
        """As a cloud that takes a spot machine back in two minutes, and says so."""
        self.note_leaving(name)
        self._processes[name].send_signal(signal.SIGTERM)

    def kill(self, name: str) -> None:
        """As a machine that is gone: no goodbye."""
        self._processes[name].kill()
        self._processes[name].wait()

    def __enter__(self) -> Self:
        """Begin with none."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them all."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE_SECONDS)
            process.kill()
