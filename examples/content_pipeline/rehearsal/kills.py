"""Kills every service once, at the run that `pace.py` lets wait for it, and notes what the kill cost."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .pace import PLAN, SERVICES, marker
from .processes import Processes
from .run_log import Note, RunLog


@dataclass
class Kill:
    """One kill, and when what the process held was begun again."""

    service: str
    at: float
    held: set[str]
    back: dict[str, float] = field(default_factory=dict)

    def line(self, began: float) -> str:
        """For people: when, and what it hit."""
        held = f"{len(self.held)} message{'' if len(self.held) == 1 else 's'}"
        return f"{self.at - began:6.1f} s  kill -9 {self.service}, with {held} in hand"

    @property
    def slowest_seconds(self) -> float | None:
        """Until the last of its messages that ran again did. None: none has yet.

        Not all do: of two messages with one key the other may have run meanwhile.
        """
        return max(self.back.values()) - self.at if self.back else None


class Killer:
    """Follows the run log, kills by plan, and starts the service again."""

    def __init__(self, processes: Processes, log: RunLog, skipped: Callable[[], float] = lambda: 0.0) -> None:
        """Everything is still to be killed. `skipped`: seconds that were not sat out."""
        self.kills: list[Kill] = []
        self._processes = processes
        self._log = log
        self._skipped = skipped
        self._to_kill = dict(PLAN)

    @property
    def is_done(self) -> bool:
        """Whether every service was killed."""
        return not self._to_kill

    def look(self) -> list[Kill]:
        """Deal with what was noted since; the kills that are new."""
        for one in self._log.follow():
            self._note_return(one)
        due = [task for task, (what, count) in self._to_kill.items() if self._log.count(what, task) >= count]
        return [self._kill(task) for task in due]

    def _note_return(self, one: Note) -> None:
        for kill in self.kills:
            if one.what == "start" and one.id in kill.held:
                kill.back.setdefault(one.id, one.at + self._skipped())

    def _kill(self, task: str) -> Kill:
        del self._to_kill[task]
        service = SERVICES[task]
        pid = self._processes.pid(service)
        self._processes.kill(service)
        at = time.time() + self._skipped()
        marker(self._log.path, task).touch()
        self._log.follow()  # what it noted before it died
        self._processes.start(service)
        self.kills.append(Kill(service, at, self._log.in_hand(pid)))
        return self.kills[-1]
