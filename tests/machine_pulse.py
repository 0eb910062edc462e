"""How late this machine wakes a process that only sleeps: the pulse that `tests/standstill.py` takes.

It beats in a process of its own. A thread of the test process would be late whenever the code under test holds the
GIL, and would excuse the very defect that a test looks for.

Run as a program it is that process: it sleeps, notes how late it woke, and answers each line on its standard input
with what it noted since the line before. It ends when its input does.
"""

import json
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

#: One delay of so long, or so large a share of all the time: others had the machine.
STILL_SECONDS, STILL_SHARE = 0.25, 0.25
_BEAT_SECONDS = 0.02


class Pulse(NamedTuple):
    """What was noted over a span of time."""

    worst: float = 0.0
    late: float = 0.0
    lasted: float = 0.0

    @property
    def stood_still(self) -> bool:
        """Whether the machine did not run a process that was due."""
        return self.worst >= STILL_SECONDS or self.late >= STILL_SHARE * self.lasted > 0.0

    def __str__(self) -> str:
        """For people."""
        return f"the machine stood still for up to {self.worst:.1f} s, {self.late:.1f} of {self.lasted:.1f} s in all"


class PulseProcess:
    """The process that beats, as the test process sees it."""

    def __init__(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(Path(__file__))], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    @property
    def pid(self) -> int:
        """Of the process that beats."""
        return self._process.pid

    def take(self) -> Pulse:
        """What was noted since the last call."""
        if self._process.stdin is None or self._process.stdout is None:
            msg = "the pulse has no pipes"
            raise RuntimeError(msg)
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Pulse(*json.loads(self._process.stdout.readline()))

    def stop(self) -> None:
        """End it."""
        self._process.communicate("")


def _beat() -> None:
    worst = late = lasted = 0.0
    woke = time.monotonic()  # noqa: TID251 - started without site-packages: Tenure is not there
    while True:
        asked, _, _ = select.select([sys.stdin], [], [], _BEAT_SECONDS)
        before, woke = woke, time.monotonic()  # noqa: TID251
        took = woke - before
        lasted += took
        delay = max(took - _BEAT_SECONDS, 0.0)
        late += delay
        worst = max(worst, delay)
        if asked:
            if not sys.stdin.readline():
                return
            sys.stdout.write(json.dumps([worst, late, lasted]) + "\n")
            sys.stdout.flush()
            worst = late = lasted = 0.0


if __name__ == "__main__":
    _beat()
