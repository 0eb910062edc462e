"""Work counts: facts of a worker that are of no message's outcome, counted while the process lives.

How long calls for a batch took, leases that could not be renewed, what was taken back from others, and messages that
came again while they ran. Part of `statistics.py`; not stored, but scraped (`worker_metrics.py`). Everything runs on
the worker's loop.
"""

from collections import Counter
from collections.abc import Callable

from tenure.event import Event, EventKind
from tenure.monitoring.metrics.sample import Sample, SampleSet, Times

NameOf = Callable[[str], str]

#: Why a lease was taken back, by what asked for the sweep. All others are sweeps of overdue leases.
_DEAD_WORKER, _OVERDUE = "dead_worker", "overdue"
_DEATHS = ("liveness", "supervisor")
_TO = {EventKind.REQUEUE: "ready", EventKind.MOVE_TO_DLQ: "dead"}


class WorkCounts:
    """The other counts of one worker."""

    def __init__(self) -> None:
        """Start with zero counts."""
        #: One call of each kind for a batch, leases and settles.
        self.lease_calls = Times()
        self.settle_calls = Times()
        #: Leases that a beat could not renew for now.
        self.beats_failed = 0
        #: Messages that came again while an earlier run went on here, by queue and task.
        self.running_here: Counter[tuple[str, str]] = Counter()
        #: By queue, cause and where the message went.
        self._returned: Counter[tuple[str, str, str]] = Counter()
        self._crashed = 0

    def note_event(self, event: Event) -> None:
        """Count what a sweep or a retirement did."""
        if event.kind is EventKind.OWNER_RETIRED:
            self._crashed += not event.data.get("left")
        elif event.kind in _TO:
            cause = _DEAD_WORKER if event.data.get("triggered_by") in _DEATHS else _OVERDUE
            self._returned[event.queue or "", cause, _TO[event.kind]] += int(event.data.get("count", 0))

    def samples(self, queue_of: NameOf, task_of: NameOf) -> list[Sample]:
        """All of it. The functions bound the names of queues and tasks."""
        found = SampleSet()
        found.add("tenure_heartbeat_failures_total", self.beats_failed)
        found.add("tenure_workers_crashed_total", self._crashed)
        for operation, times in (("lease", self.lease_calls), ("settle", self.settle_calls)):
            if times.buckets:
                found.add_times("tenure_batch_duration_seconds", times.buckets, times.seconds, operation)
        for (queue, task), number in self.running_here.items():
            found.add("tenure_duplicates_suppressed_total", number, queue_of(queue), task_of(task), "running")
        for (queue, cause, to), number in self._returned.items():
            found.add("tenure_leases_returned_total", number, queue_of(queue), cause, to)
        return found.samples()
