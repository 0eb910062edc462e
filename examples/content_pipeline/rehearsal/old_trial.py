"""The same trial of the loop as it was before: the same feeds, the same work, the same kills."""

import sys
import time
from pathlib import Path

from ..before.storage_queue import StorageQueue
from .count import Expected
from .kills import Killer
from .outcome import FEEDS, Outcome
from .pace import SERVICES
from .processes import Processes
from .run_log import RunLog

_LOOK_SECONDS = 0.004
#: Nothing was noted and nothing is visible for so long: the services only wait.
_IDLE_SECONDS = 1.5
#: A broken feed comes back every ten minutes, for ever: a trial ends after so many of them without anything else.
_MOST_WAITS = 8


class OldTrial:
    """The old pipeline in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Nothing is started yet."""
        self.folder = folder
        self._log = RunLog(folder / "runs.log")
        self._queues = folder / "queues.db"
        self._skipped = 0.0

    def run(self) -> Outcome:
        """Start, kill, wait until every story is there, stop, and count."""
        environment = {
            "OLD_QUEUES": str(self._queues),
            "PIPELINE_FOLDER": str(self.folder),
            "PIPELINE_RUN_LOG": str(self._log.path),
        }
        loop = [sys.executable, "-m", "content_pipeline.before.loop"]
        processes = Processes({service: [*loop, service] for service in SERVICES.values()}, self.folder, environment)
        expected = Expected(FEEDS)
        killer = Killer(processes, self._log, lambda: self._skipped)
        collector = StorageQueue(self._queues, "content-collector")
        for feed in FEEDS:
            collector.send_message(f'{{"feed": "{feed}"}}')
        began = time.time()
        try:
            processes.start_all()
            self._work(killer, expected, began)
        finally:
            processes.stop_all()
        return Outcome(
            expected.compare(self.folder / "public"),
            time.time() - began + self._skipped,
            killer.kills,
            self._log.count("done", "process"),
            self._log.count("done", "build"),
            self._log.messages("build"),
        )

    def _work(self, killer: Killer, expected: Expected, began: float) -> None:
        queues, quiet_since = StorageQueue(self._queues, ""), time.time()
        for _ in range(_MOST_WAITS):
            while time.time() - quiet_since < _IDLE_SECONDS:
                seen = len(self._log.notes)
                for kill in killer.look():
                    print(kill.line(began), flush=True)
                if len(self._log.notes) > seen:
                    quiet_since = time.time()
                time.sleep(_LOOK_SECONDS)
            hidden = queues.hidden_for()
            if killer.is_done and not expected.compare(self.folder / "public").lost:
                return
            if hidden:
                queues.move_clock(hidden)
                self._skipped += hidden
            quiet_since = time.time()
