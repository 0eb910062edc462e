"""The demo's workers: real processes, restarted whenever they end.

Only processes started here are ever ended here, by their pid, and all of them are ended at the end.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from tenure.cli.commands.demo.tasks import FOLDER_VARIABLE, PARENT_VARIABLE
from tenure.clock import Clock
from tenure.errors import TenureError

_RESTART_SECONDS = 1.0
#: Two signals closer than this are one to a worker.
_BETWEEN_SIGNALS_SECONDS = 0.25
#: A worker that ends by itself this often in a row cannot work at all.
_MOST_FAILURES = 3


class WorkerFailed(TenureError):
    """A worker process of the demo does not start."""

    code = "demo_worker_failed"


class DemoWorker:
    """One worker, over all of its processes."""

    def __init__(self, name: str, log: Path) -> None:
        """Name a worker that logs to `log`; `start` starts it."""
        self.name = name
        self.log = log
        self.process: asyncio.subprocess.Process | None = None
        self.starts = 0
        #: How the last process ended, in words; empty while none has.
        self.last_end = ""
        #: Set when the demo itself ends the process.
        self.is_being_killed = False

    @property
    def has_stopped(self) -> bool:
        """Whether its last process has ended, and none follows."""
        return self.process is not None and self.process.returncode is not None

    @property
    def pid(self) -> int | None:
        """The pid of the last process."""
        return None if self.process is None else self.process.pid


class Crew:
    """Keeps `size` workers running."""

    def __init__(self, folder: Path, size: int, concurrency: int, clock: Clock) -> None:
        """Workers on the data in `folder`; their logs go there too."""
        self.members = [DemoWorker(f"worker-{n}", folder / f"worker-{n}.log") for n in range(1, size + 1)]
        self.concurrency = concurrency
        self._folder = folder
        self._clock = clock
        self._stopping = asyncio.Event()
        #: Processes that ended on a signal that we did not send: `explode` at work.
        self.crashes = 0

    async def run(self) -> None:
        """Keep all of them running until `stop`."""
        # Not a task group: what a member raises is raised as it is, for people to read.
        await asyncio.gather(*(self._keep(member) for member in self.members))

    def kill(self, member: DemoWorker) -> None:
        """End it with kill -9."""
        if member.process is not None and member.process.returncode is None:
            member.is_being_killed = True
            member.process.send_signal(signal.SIGKILL)

    async def stop(self, seconds: float, *, now: bool) -> None:
        """SIGTERM, a second one for `now` (give everything back at once), then after `seconds` SIGKILL."""
        self._stopping.set()
        processes = [member.process for member in self.members if member.process is not None]
        for process in processes:
            _signal(process, signal.SIGTERM)
        if now:
            await asyncio.sleep(_BETWEEN_SIGNALS_SECONDS)
            for process in processes:
                _signal(process, signal.SIGTERM)
        waits = [asyncio.ensure_future(process.wait()) for process in processes]
        if waits:
            _, late = await asyncio.wait(waits, timeout=seconds)
            if late:
                self.end()
                await asyncio.wait(late)

    def end(self) -> None:
        """Send SIGKILL to all that are left; for ends that cannot wait."""
        self._stopping.set()
        for member in self.members:
            if member.process is not None:
                _signal(member.process, signal.SIGKILL)

    async def _keep(self, member: DemoWorker) -> None:
        failures = 0
        while True:
            started = self._clock.monotonic()
            code = await self._run_once(member)
            if self._stopping.is_set():
                return
            self._note_end(member, code)
            by_itself = code >= 0 and self._clock.monotonic() - started < 10 * _RESTART_SECONDS
            failures = failures + 1 if by_itself else 0
            if failures == _MOST_FAILURES:
                raise WorkerFailed(f"{member.name} does not start: {_last_line(member.log)}")
            await asyncio.sleep(_RESTART_SECONDS)

    async def _run_once(self, member: DemoWorker) -> int:
        if self._stopping.is_set():
            return 0
        command = [sys.executable, "-m", "tenure", "worker", "tenure.cli.commands.demo.served:app",
                   "--name", member.name, "--concurrency", str(self.concurrency), "--grace", "10s"]  # fmt: skip
        own = {FOLDER_VARIABLE: str(self._folder), PARENT_VARIABLE: str(os.getpid()), "TENURE_SLOT": ""}
        environment = {**os.environ, **own}
        with member.log.open("ab") as log:
            # A session of its own: Ctrl-C is for the demo, which then stops its workers in order.
            member.process = await asyncio.create_subprocess_exec(
                *command,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        member.starts += 1
        if self._stopping.is_set():  # stopped while it was being started: `stop` has not seen this process
            _signal(member.process, signal.SIGTERM)
        return await member.process.wait()

    def _note_end(self, member: DemoWorker, code: int) -> None:
        member.process = None
        if member.is_being_killed:
            member.last_end = "kill -9"
        elif code < 0:
            member.last_end = "crashed"
            self.crashes += 1
        else:
            member.last_end = f"exit {code}"
        member.is_being_killed = False


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"
