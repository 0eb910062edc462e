"""The worker processes of a rehearsal: started, killed, and started again as a process manager would."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

#: The folder that the package is in, wherever it was copied to.
PARENT = Path(__file__).resolve().parents[2]
_GRACE_SECONDS = 30.0


class Processes:
    """One process a service."""

    def __init__(self, commands: Mapping[str, Sequence[str]], folder: Path, environment: Mapping[str, str]) -> None:
        """Nothing is started yet."""
        self._commands = commands
        self._folder = folder
        path = os.pathsep.join(filter(None, [str(PARENT), os.environ.get("PYTHONPATH")]))
        self._environment = {**os.environ, **environment, "PYTHONPATH": path}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, service: str) -> None:
        """Start a service's process; what it says is appended to its log."""
        with (self._folder / f"{service}.log").open("ab") as log:
            self._running[service] = subprocess.Popen(
                self._commands[service], cwd=self._folder, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )

    def start_all(self) -> None:
        """Start every service."""
        for service in self._commands:
            self.start(service)

    def run(self, command: Sequence[str]) -> None:
        """Run another program of the pipeline to its end."""
        subprocess.run(command, cwd=self._folder, env=self._environment, check=True)

    def pid(self, service: str) -> int:
        """The process that runs the service now."""
        return self._running[service].pid

    def ended(self) -> list[str]:
        """The services whose process ended by itself."""
        return [service for service, process in self._running.items() if process.poll() is not None]

    def kill(self, service: str) -> None:
        """`kill -9`."""
        self._running[service].send_signal(signal.SIGKILL)
        self._running[service].wait()

    def stop_all(self) -> None:
        """SIGTERM, and SIGKILL for what does not listen."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
