"""A contender's processes: its program is asked, its workers are started, killed and frozen. Used by both proofs.

Every worker is a session of its own, so that a kill or a freeze reaches all of its processes, as when a container ends.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
from tests.servers.server import command as ended_with_us

from benchmarks.proof.environment import Environment
from benchmarks.proof.peer import Contender, Mode

_ASK_SECONDS = 300.0
_OBEY_SECONDS = 30.0


class Failed(Exception):
    """A contender did not do what it was asked for."""


class Worker:
    """One start of a worker's command."""

    def __init__(self, command: list[str], folder: Path, variables: dict[str, str], log: Path) -> None:
        """Start it."""
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                ended_with_us([shutil.which(command[0], path=variables["PATH"]) or command[0], *command[1:]]),
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        #: Also of its session.
        self.pid = self._process.pid
        self.started_at = time.monotonic()
        #: When it was killed, and from when until when it was frozen.
        self.killed_at: float | None = None
        self.frozen: tuple[float, float] | None = None

    @property
    def is_over(self) -> bool:
        """Whether its first process has ended."""
        return self._process.poll() is not None

    @property
    def said(self) -> str:
        """What it printed."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """`kill -9` of the whole session."""
        self.killed_at = time.monotonic()
        self._signal(signal.SIGKILL)
        self._process.wait(_OBEY_SECONDS)

    def freeze(self) -> None:
        """SIGSTOP of the whole session."""
        self.frozen = (time.monotonic(), float("inf"))
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)
        if self.frozen is not None:
            self.frozen = (self.frozen[0], time.monotonic())

    def end(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        self._signal(signal.SIGKILL)
        self._process.wait(_OBEY_SECONDS)

    def _signal(self, number: int) -> None:
        """To every process of the session: not to a group, since some peers give their children groups of their own."""
        for process in psutil.process_iter():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(process.pid) == self.pid:
                    os.kill(process.pid, number)


class Program:
    """A contender in one configuration, at one place."""

    def __init__(
        self, contender: Contender, environment: Environment, mode: Mode, folder: Path, *, for_speed: bool, **at: object
    ) -> None:
        """`at`: PORT, STORE, LEASE: what its processes are told, by small names."""
        self.contender = contender
        setup = contender.peer.setup(mode)
        self._setup = setup.scaled_as(contender.peer.fast) if for_speed else setup
        self.mode = mode
        self.folder = folder
        self.trace = folder / "trace.jsonl"
        self._environment = environment
        self._at = at
        self.workers: list[Worker] = []
        #: Settings of Tenure's, where it is the contender.
        self.settings: dict[str, str] = {}

    def _variables(self, **at: object) -> dict[str, str]:
        told = {f"PROOF_{name.upper()}": str(value) for name, value in (self._at | at).items()}
        told["PROOF_SLOTS"] = str(self.slots)
        own = {"PROOF_MODE": self.mode, "PROOF_TRACE": str(self.trace), "PROOF_FOLDER": str(self.folder)}
        return self._environment.variables() | own | told | self.settings

    @property
    def slots(self) -> int:
        """How many messages a process runs at a time."""
        return self._setup.slots

    def ask(self, *words: str, messages: list[tuple[str, str, float]] | None = None) -> dict[str, Any]:
        """What its program answers."""
        done = subprocess.run(
            [*self._environment.program(), *words],
            cwd=self._environment.program_folder,
            env=self._variables(),
            input=None if messages is None else json.dumps(messages),
            capture_output=True,
            text=True,
            check=False,
            timeout=_ASK_SECONDS,
        )
        if done.returncode:
            raise Failed(f"`{' '.join(words)}` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer

    def start(self, **at: object) -> list[Worker]:
        """Start its command as often as its configuration says. `at`: what these workers are told otherwise."""
        setup = self._setup
        told = {"url": self._url(at), "slots": str(setup.slots), "processes": str(setup.processes)}
        command = [word.format(**told) for word in setup.worker]
        new = [
            Worker(command, self._environment.program_folder, self._variables(**at), self._next_log(number))
            for number in range(setup.commands)
        ]
        self.workers += new
        return new

    def _url(self, at: dict[str, object]) -> str:
        return f"redis://127.0.0.1:{(self._at | at).get('port', 0)}/0"

    def _next_log(self, number: int) -> Path:
        return self.folder / f"worker-{len(self.workers) + number + 1}.log"

    def end(self) -> None:
        """End what still runs."""
        for worker in self.workers:
            worker.end()
