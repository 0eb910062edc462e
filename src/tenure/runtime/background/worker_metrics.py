"""Worker metrics: the figures of one worker as samples, at the moment of a scrape.

They are read from what is kept anyway: the aggregate (`statistics.py`), the bus, and gauges of the worker's parts.
Nothing is counted for it, and nothing is done between two scrapes. Called on the worker's loop.

After: `monitoring/metrics/exposition.py`, which writes them, and `monitoring/otel`, which hands them to an SDK.
"""

import os
from collections.abc import Callable, Mapping

from tenure.clock import Clock
from tenure.monitoring.metrics.bounded import BoundedLabels
from tenure.monitoring.metrics.sample import Sample
from tenure.monitoring.metrics.work import work_samples
from tenure.probe import cpu_seconds, resident_bytes
from tenure.runtime.background.bus import Bus
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.background.worker_reports import tenure_version
from tenure.runtime.outage import is_away


class WorkerMetrics:
    """Makes the samples of one worker."""

    def __init__(
        self,
        statistics: Statistics,
        bus: Bus,
        clock: Clock,
        wall: Callable[[], float],
        *,
        label_values: int,
        sweep_interval_seconds: float,
        gauges: Callable[[], Mapping[str, float]],
    ) -> None:
        """`wall` is the store's time. `gauges`: what the parts of the worker show now, by metric."""
        self._statistics = statistics
        self._bus = bus
        self._clock = clock
        self._wall = wall
        self._bounds = BoundedLabels(label_values)
        self._interval = sweep_interval_seconds
        self._gauges = gauges

    def samples(self) -> list[Sample]:
        """Everything, as of now."""
        statistics, bounds = self._statistics, self._bounds
        found = work_samples(statistics.series(), bounds)
        found += statistics.facts.samples(bounds.queues.of, bounds.tasks.of)
        found += [Sample("tenure_events_total", (kind,), number) for kind, number in self._bus.counts.items()]
        found += [Sample(metric, (), value) for metric, value in self._gauges().items()]
        found += [
            Sample("tenure_worker_responds", (), 1),
            Sample("tenure_worker_info", (tenure_version() or "",), 1),
            Sample("tenure_store_up", (), 0 if is_away(self._clock) else 1),
            Sample("tenure_clock_skew_seconds", (), self._clock.wall() - self._wall()),
            Sample("tenure_sweep_interval_seconds", (), self._interval),
            Sample("tenure_journal_waiting_events", (), self._bus.waiting),
            Sample("tenure_journal_dropped_events_total", (), self._bus.dropped),
        ]
        return found + process_samples()


def process_samples() -> list[Sample]:
    """CPU and memory of this process, as far as the system says them."""
    used, memory = cpu_seconds(), resident_bytes(os.getpid())
    known = {"process_cpu_seconds_total": used, "process_resident_memory_bytes": memory}
    return [Sample(metric, (), value) for metric, value in known.items() if value is not None]
