"""Process metrics: those of all children of a supervisor, as if they were one process.

Each child is asked at a scrape. Of one that does not answer, because a handler blocks it, and of one that has ended,
what only grows stays as it was last: no counter goes back when a child is replaced.

Made by `supervisor.py`; served by the command line, at one address.
"""

import asyncio
import itertools
from collections.abc import Callable, Collection, Sequence

from tenure.clock import Clock
from tenure.event import Event
from tenure.monitoring.metrics.loop_reading import ANSWER_SECONDS
from tenure.monitoring.metrics.merge import growing, merge
from tenure.monitoring.metrics.recent import Recent
from tenure.monitoring.metrics.sample import Sample
from tenure.runtime.background.work_counts import WorkCounts
from tenure.runtime.background.worker_metrics import process_samples
from tenure.runtime.supervisor.protocol import MetricsShown, ShowMetrics
from tenure.runtime.supervisor.worker_process import WorkerProcess


class ProcessMetrics:
    """The metrics of one supervisor and its children."""

    def __init__(self, workers: Callable[[], Collection[WorkerProcess]], clock: Clock) -> None:
        """Ask these children."""
        self._workers = workers
        self._clock = clock
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[list[Sample]]] = {}
        #: What each child that lives said last.
        self._last: dict[int, list[Sample]] = {}
        #: What only grows, of those that have ended.
        self._ended: list[Sample] = []
        self._recent = Recent()
        self._deaths = 0
        self._counts = WorkCounts()

    async def collect(self) -> list[Sample]:
        """Everything, as of now."""
        working = [worker for worker in self._workers() if worker.has_worked]  # others have nothing to say yet
        told = await asyncio.gather(*map(self._ask, working))
        own = [*process_samples(), *self._counts.samples(str, str)]
        own.append(Sample("tenure_process_deaths_total", (), self._deaths))
        samples = merge([self._ended, *told, own])
        return [*samples, *self._recent.samples(samples, self._clock.monotonic())]

    def hear(self, frame: MetricsShown) -> None:
        """A child has answered."""
        asked = self._asked.get(frame.question)
        if asked is not None and not asked.done():
            asked.set_result(frame.samples)

    def note_last(self, worker: WorkerProcess, samples: Sequence[Sample]) -> None:
        """Keep what a child said when it stopped."""
        self._last[worker.pid] = list(samples)

    def note_end(self, worker: WorkerProcess, *, died: bool) -> None:
        """A child has ended: what it counted stays, as far as it was said."""
        self._deaths += died
        self._ended = merge([self._ended, growing(self._last.pop(worker.pid, []))])

    def note_events(self, events: Collection[Event]) -> None:
        """Count what was returned from the dead."""
        for event in events:
            self._counts.note_event(event)

    async def _ask(self, worker: WorkerProcess) -> list[Sample]:
        question = next(self._numbers)
        asked: asyncio.Future[list[Sample]] = asyncio.get_running_loop().create_future()
        self._asked[question] = asked
        worker.tell(ShowMetrics(question))
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                samples = await asked
        except TimeoutError:
            return [*growing(self._last.get(worker.pid, [])), Sample("tenure_worker_responds", (), 0)]
        finally:
            del self._asked[question]
        self._last[worker.pid] = samples
        return samples
