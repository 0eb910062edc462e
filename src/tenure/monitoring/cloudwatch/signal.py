"""The signal that scales workers: what each queue holds, running messages included, by the names of CloudWatch.

    VisibleAndInFlight    ready and leased messages. It stays up while workers are busy
    BacklogPerWorker      the same for each worker that is there: the metric of target tracking
    Workers               workers that are there
    DesiredWorkers        the number that `tenure scaling` advises
    OldestMessageAge      seconds since the oldest ready message was sent

What is not known is left out. An autoscaler that gets no data changes nothing, and a 0 would stop every worker.
"""

import msgspec

from tenure.monitoring.figure import Figure

NAMESPACE = "Tenure"
#: The label, and the dimension in CloudWatch.
QUEUE = "Queue"
VISIBLE_AND_IN_FLIGHT, BACKLOG_PER_WORKER = "VisibleAndInFlight", "BacklogPerWorker"
WORKERS, DESIRED_WORKERS, OLDEST_AGE = "Workers", "DesiredWorkers", "OldestMessageAge"


class QueueSignal(msgspec.Struct, frozen=True, kw_only=True):
    """One queue, as scaling sees it. None: cannot be known."""

    queue: str
    ready: int | None
    leased: int | None
    workers_now: int
    desired: int | None
    oldest_age_seconds: float | None


def figures(signal: QueueSignal) -> list[Figure]:
    """The figures of one queue."""
    found: dict[str, float | None] = {WORKERS: signal.workers_now, DESIRED_WORKERS: signal.desired}
    units = {OLDEST_AGE: "Seconds"}
    if signal.ready is not None and signal.leased is not None:
        backlog = signal.ready + signal.leased
        found[VISIBLE_AND_IN_FLIGHT] = backlog
        # Without a worker it is the whole backlog, so that the alarm from zero has something to see.
        found[BACKLOG_PER_WORKER] = backlog / max(1, signal.workers_now)
        # Nothing is ready: then nothing is old.
        found[OLDEST_AGE] = 0.0 if signal.ready == 0 else signal.oldest_age_seconds
    return [
        Figure(name, float(value), units.get(name, "Count"), {QUEUE: signal.queue})
        for name, value in found.items()
        if value is not None
    ]
