"""Makes samples of the aggregate of one worker: the series of `timing/tallied.py`, each read once. Pure.

Before: `runtime/background/statistics.py`, which counts. After: `exposition.py` and `otel/`.
"""

from collections.abc import Iterable

from tenure.monitoring.catalogue.labels import DELIVERIES, OUTCOMES
from tenure.monitoring.metrics.bounded import BoundedLabels
from tenure.monitoring.metrics.sample import Sample, SampleSet
from tenure.timing import tallied
from tenure.timing.tallied import Series

_OUTCOMES = frozenset(OUTCOMES)
#: What became of an attempt to deliver a webhook.
_WEBHOOK_RESULTS = {
    tallied.COMPLETED: "delivered",
    tallied.RETRIED: "failed",
    tallied.SNOOZED: "postponed",
    tallied.DEAD: "given_up",
}


def work_samples(series: Iterable[Series], bounds: BoundedLabels) -> list[Sample]:
    """What a worker did, by queue and task."""
    found = SampleSet()
    for one in series:
        queue, task = bounds.queues.of(one.queue), bounds.tasks.of(one.task)
        _add_messages(found, one, queue, task)
        _add_runs(found, one, queue, task)
        for result, number in one.settled.items():
            found.add("tenure_settlements_total", number, queue, result)
        for place, number in enumerate(one.deliveries):
            if number:
                found.add("tenure_deliveries_total", number, queue, DELIVERIES[place])
    return found.samples()


def _add_messages(found: SampleSet, one: Series, queue: str, task: str) -> None:
    if not one.count or one.outcome not in _OUTCOMES:
        return
    found.add("tenure_messages_total", one.count, queue, task, one.outcome)
    found.add("tenure_message_bytes_total", one.size, queue, task)
    if one.outcome == tallied.LEASE_LOST:
        found.add("tenure_leases_lost_total", one.count, queue, task)
    if one.outcome == tallied.DUPLICATE:
        found.add("tenure_duplicates_suppressed_total", one.count, queue, task, "ledger")


def _add_runs(found: SampleSet, one: Series, queue: str, task: str) -> None:
    if one.runs:
        found.add_times("tenure_process_duration_seconds", one.durations, one.seconds, queue, task)
        found.add("tenure_lease_seconds_total", one.leased, queue, task)
    if one.waits:
        found.add_times("tenure_wait_seconds", one.waits, one.waited, queue, task)
    if one.beats:
        found.add("tenure_lease_extensions_total", one.beats, queue, task)


def webhook_samples(series: Iterable[Series]) -> list[Sample]:
    """What a worker of the reserved queue did: its messages are deliveries of webhooks."""
    found = SampleSet()
    for one in series:
        result = _WEBHOOK_RESULTS.get(one.outcome)
        if result is not None:
            found.add("tenure_webhook_deliveries_total", one.count, result)
        if one.runs:
            found.add_times("tenure_webhook_duration_seconds", one.durations, one.seconds)
    return found.samples()
