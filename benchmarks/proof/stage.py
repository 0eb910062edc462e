"""A stage for one contender and one fault: messages are sent, workers run, harm is done, and the verdict is asked for.

Workers that end by themselves are started again, as systemd or Kubernetes would.
"""

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from benchmarks.proof.place import Place
from benchmarks.proof.program import Program, Worker
from benchmarks.proof.trace import Run, read_effects, read_runs
from benchmarks.proof.verdict import Verdict, judge, unfinished

_LOOK = 0.2
#: Seconds until a worker that ended is started again.
_RESTART_AFTER = 1.0
#: A worker may take so long to begin with its work.
_BEGIN = 30.0


class Scale(NamedTuple):
    """How much of everything."""

    lease: float
    kills: int
    #: So many seconds without any run, and nothing more is expected.
    patience: float
    #: Nothing takes longer.
    longest: float
    #: Seconds that a store is away.
    away: float = 2.0


FULL = Scale(lease=5.0, kills=10, patience=30.0, longest=180.0)
QUICK = Scale(lease=3.0, kills=3, patience=14.0, longest=60.0)


class Stage:
    """What the faults have in their hands."""

    def __init__(self, program: Program, place: Place, scale: Scale) -> None:
        """Nothing runs yet."""
        self.program = program
        self.place = place
        self.scale = scale
        self.slots = program.slots
        self.ids: list[str] = []
        self.running: list[Worker] = []
        #: What the verdict says beside the counts.
        self.note = ""

    def send(self, count: int, seconds: float) -> list[str]:
        """Send so many messages, or fewer to a slow store; their ids."""
        ids = [os.urandom(12).hex() for _ in range(count // self.place.share)]
        self.send_again(ids, seconds)
        self.ids += ids
        return ids

    def send_again(self, ids: list[str], seconds: float, kind: str = "work") -> None:
        """Send messages with these ids. The verdict is on those of `ids` only."""
        self.program.ask("send", messages=[(id, kind, seconds) for id in ids])

    def start(self) -> Worker:
        """Start a worker, which reaches the store by the detour."""
        (worker,) = self.program.start(**self.place.detour)
        self.running.append(worker)
        return worker

    def kill(self, worker: Worker) -> None:
        """`kill -9`, and it is not started again."""
        self.running.remove(worker)
        worker.kill()

    def runs(self) -> list[Run]:
        """So far."""
        return read_runs(self.program.trace)

    def wait_until_at_work(self, *workers: Worker) -> bool:
        """Until each of them has begun a run; whether they did."""

        def seen() -> bool:
            return {worker.pid for worker in workers} <= {run.session for run in self.runs()}

        return self.wait(seen, _BEGIN)

    def wait(self, seen: Callable[[], bool], within: float) -> bool:
        """Until it is seen; whether it was."""
        deadline = time.monotonic() + within
        while not seen():
            if time.monotonic() > deadline:
                return False
            self._start_again()
            time.sleep(_LOOK)
        return True

    def unfinished(self) -> set[str]:
        """Messages that never ran to their end."""
        return unfinished(self.ids, self.runs())

    def settle(self, *, linger: bool = True) -> None:
        """Until all is done, or nothing has happened for long. With `linger` then as long as a late return may take."""
        deadline = time.monotonic() + self.scale.longest
        last, since = -1, time.monotonic()
        while self.unfinished() and time.monotonic() < deadline:
            if (count := len(self.runs())) != last:
                last, since = count, time.monotonic()
            elif time.monotonic() - since > self.scale.patience:
                return
            self._start_again()
            time.sleep(_LOOK)
        if self.unfinished():
            self.note = f"still at work after {self.scale.longest:g} s"
        elif linger:
            time.sleep(self.scale.lease + 1.0)

    def _start_again(self) -> None:
        for worker in [worker for worker in self.running if worker.is_over]:
            if time.monotonic() - worker.started_at > _RESTART_AFTER:
                self.running.remove(worker)
                worker.end()  # what is left of its session
                self.start()

    def verdict(self) -> Verdict:
        """With every worker ended."""
        ended = time.monotonic()
        for worker in self.running:
            worker.end()
        runs = [run for run in self.runs() if run.start < ended]
        missing = unfinished(self.ids, runs)
        where = self.place.where(self.program.contender, sorted(missing)) if missing else {}
        return judge(
            self.ids, runs, self.program.workers, where, effects=read_effects(self.program.trace), note=self.note
        )
