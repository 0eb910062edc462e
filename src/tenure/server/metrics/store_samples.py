"""Makes samples of an overview of the store. Pure. None is "cannot be known": then there is no sample.

Queues beyond the bound are added up as `other`; of ages the largest counts.
"""

from collections.abc import Iterable, Mapping

from tenure.client.operations.overview.rows import Overview, QueueOverview
from tenure.monitoring.metrics.bounded import BoundedNames
from tenure.monitoring.metrics.sample import Sample


def store_samples(
    overview: Overview, names: BoundedNames, expected_waits: Mapping[str, float] | None = None
) -> list[Sample]:
    """The gauges of a store at one moment. `expected_waits`: by queue, what tasks say of it."""
    expected = expected_waits or {}
    found = [Sample("tenure_workers", (), overview.total.workers)]
    if not overview.leases_cut:
        overdue = sum(one.deadline < overview.now for one in overview.leases)
        found += [
            Sample("tenure_leases", ("held",), len(overview.leases) - overdue),
            Sample("tenure_leases", ("overdue",), overdue),
        ]
    if overview.last_sweep_at is not None:
        found.append(Sample("tenure_sweep_age_seconds", (), max(0.0, overview.now - overview.last_sweep_at)))
    names.keep(queue.queue for queue in overview.queues)
    added: dict[tuple[str, tuple[str, ...]], float] = {}
    # The deepest get names of their own, if there are too many.
    for queue in sorted(overview.queues, key=_depth, reverse=True):
        name = names.of(queue.queue)
        for metric, more, value in _queue_values(queue, overview.now, expected.get(queue.queue)):
            key = (metric, (name, *more))
            known = added.get(key)
            # Only `other` comes twice.
            added[key] = value if known is None else max(known, value) if metric in _LARGEST else known + value
    return found + [Sample(metric, labels, value) for (metric, labels), value in added.items()]


#: Of several queues the largest counts.
_LARGEST = frozenset({
    "tenure_oldest_message_age_seconds", "tenure_queue_expected_wait_seconds", "tenure_queue_paused",
    "tenure_queue_paused_seconds", "tenure_queue_workers"
})  # fmt: skip


def _depth(queue: QueueOverview) -> int:
    return (queue.waiting or 0) + (queue.running or 0) + (queue.delayed or 0) + (queue.dead or 0)


def _queue_values(
    queue: QueueOverview, now: float, expected: float | None
) -> Iterable[tuple[str, tuple[str, ...], float]]:
    if expected is not None:
        yield "tenure_queue_expected_wait_seconds", (), expected
    depths = {"ready": queue.waiting, "delayed": queue.delayed, "leased": queue.running, "dead": queue.dead}
    for state, depth in depths.items():
        if depth is not None:
            yield "tenure_queue_depth", (state,), depth
    if queue.waiting is not None or queue.oldest_seconds is not None:
        yield "tenure_oldest_message_age_seconds", (), queue.oldest_seconds or 0.0
    yield "tenure_queue_paused", (), 0 if queue.paused is None else 1
    if queue.paused is not None:
        yield "tenure_queue_paused_seconds", (), max(0.0, now - queue.paused.at)
    waits = queue.limit is not None and queue.waiting is not None
    yield "tenure_queue_limit_waiting_messages", (), (queue.waiting or 0) if waits else 0
    yield "tenure_queue_workers", (), queue.workers
