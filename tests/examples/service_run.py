"""The example service, started as a person starts it: `python -m service`, on a free port, in a folder of its own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .program import EXAMPLES, PATIENCE_SECONDS, environment


class Service:
    """What runs: its address, its keys, and its processes by name."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        """Read what it prints until it says that it is there."""
        self.process, self.folder = process, folder
        self.pids: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.read_until("Ctrl-C")
        self.address = next(iter(self.links.values())).partition("/#")[0]

    def read_until(self, words: str) -> str:
        """The next line that says this; what stands before it is read, too."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if started := re.match(r" +process (\d+) +(.+)", line):
                self.pids[started[2].strip()] = int(started[1])
            if linked := re.match(r" +([a-z]+) +(http\S+)", line):
                self.links[linked[1]] = linked[2]
            if words in line:
                return line
        msg = f"it ended before it said {words!r}:\n{self.logs()}"
        raise AssertionError(msg)

    def key(self, client: str) -> str:
        """What a client signs in with."""
        return self.links[client].partition("#")[2]

    def logs(self) -> str:
        """What its processes said."""
        return "\n".join(f"{path.name}:\n{path.read_text()}" for path in sorted(self.folder.glob("*.log")))

    def secret(self) -> str:
        """The secret of `/internal/notify`."""
        found = re.search(r"WEBHOOK_SECRET=(\S+)", (self.folder / "secrets.env").read_text())
        assert found is not None
        return found[1]

    def stop(self) -> int:
        """Press Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def service_in(folder: Path, **more: str) -> Iterator[Service]:
    """The service while the block lasts; nothing of it is left, whatever happens."""
    own = {"PORT": "0", "SERVICE_FOLDER": str(folder), "SERVICE_PACE": "0.05", "PYTHONUNBUFFERED": "1", **more}
    with subprocess.Popen(
        [sys.executable, "-m", "service"], cwd=EXAMPLES, env=environment() | own, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        pids: dict[str, int] = {}
        try:
            service = Service(process, folder)
            pids = service.pids
            yield service
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE_SECONDS)
                process.kill()
            for pid in pids.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
