"""A process that a scenario started: killed, frozen and continued by its own pid, and always ended.

Made by `stage.py`, which ends whatever a test left running.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tenure.clock import SYSTEM_CLOCK

#: Processes start here, so that `scenarios` is found as a package, under the name pytest knows it by.
TESTS = Path(__file__).resolve().parent.parent

#: How long a frozen, killed or stopping process may take to obey.
OBEY_SECONDS = 60.0


class Process:
    """A Python process of ours, with everything it said."""

    def __init__(
        self, words: Sequence[str], environment: dict[str, str], log: Path, *, through: Sequence[str] = ()
    ) -> None:
        """Start `python <words>`, by the command `through` if there is one; then `pid` is that command's."""
        self._log = log
        with log.open("wb") as output:
            self._popen = subprocess.Popen(
                [*through, sys.executable, *words],
                cwd=TESTS,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.pid = self._popen.pid
        #: Set when we killed it.
        self.killed_at: float | None = None
        #: How often it was frozen.
        self.freezes = 0

    @property
    def exit_code(self) -> int | None:
        """None: it is still there. Negative for a signal."""
        return self._popen.poll()

    @property
    def said(self) -> str:
        """Its standard output and standard error."""
        return self._log.read_text(errors="replace")

    def kill(self) -> float:
        """`kill -9`; when that was."""
        self.killed_at = SYSTEM_CLOCK.monotonic()
        os.kill(self.pid, signal.SIGKILL)
        self._popen.wait(OBEY_SECONDS)
        return self.killed_at

    def terminate(self) -> float:
        """SIGTERM, unless it has ended; when that was."""
        at = SYSTEM_CLOCK.monotonic()
        if self.exit_code is None:
            os.kill(self.pid, signal.SIGTERM)
        return at

    def wait(self, within: float = OBEY_SECONDS) -> int:
        """Its exit code, once it has ended."""
        return self._popen.wait(within)

    def freeze(self) -> None:
        """SIGSTOP, and wait until every thread of it stands still."""
        self.freezes += 1
        os.kill(self.pid, signal.SIGSTOP)
        self.wait_until_frozen()

    def wait_until_frozen(self) -> None:
        """Until it stands still, by our signal or by its own."""
        deadline = SYSTEM_CLOCK.monotonic() + OBEY_SECONDS
        while SYSTEM_CLOCK.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)
            if pid and os.WIFSTOPPED(status):
                return
            if pid:
                self._popen.returncode = os.waitstatus_to_exitcode(status)
                msg = f"process {self.pid} ended with {self._popen.returncode} instead of standing still\n{self.said}"
                raise AssertionError(msg)
            time.sleep(0.001)
        msg = f"process {self.pid} did not stand still\n{self.said}"
        raise AssertionError(msg)

    def resume(self) -> float:
        """SIGCONT; when that was."""
        os.kill(self.pid, signal.SIGCONT)
        return SYSTEM_CLOCK.monotonic()

    def end(self) -> None:
        """Leave nothing behind, whatever state it is in."""
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)  # works on a frozen one too
        self._popen.wait(OBEY_SECONDS)
