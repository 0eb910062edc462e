"""Figures: what was counted of a queue, of a task or of everything over some seconds, ready to be shown.

Computed from series of tallies (`timing/tallied.py`) by `client/tallies.py`. Public structs, the same in JSON. None
means that something cannot be known, 0 that there is none.
"""

from collections.abc import Iterable

import msgspec

from tenure.timing import tallied
from tenure.timing.tallied import OUT, Series


class Quantiles(msgspec.Struct, frozen=True, kw_only=True):
    """How a time is distributed, in seconds, each right within 4 %."""

    p50: float
    p95: float
    p99: float
    mean: float
    #: Of how many.
    count: int


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted of a queue, of a task in a queue, or of everything, over some seconds."""

    #: None: all queues. `OTHER`: those beyond the first 200 series of a process.
    queue: str | None = None
    #: None: all tasks. Empty: messages whose task is not known (returned by a sweep, unreadable).
    task: str | None = None
    #: The length of the window.
    seconds: float
    #: Messages by outcome; the words are those of events: completed, retried, dead, given_back …
    counts: dict[str, int]
    #: Messages a second that left the queue for good: completed, dead, duplicates.
    rate_out: float
    #: Messages a second that came in, by the change of depth. None: depth is a guess here, or was not stored, or this
    #: is a task (depth is of a queue).
    rate_in: float | None = None
    #: The part that failed of the runs that a handler ended by itself (completed, retried, dead). None: there was none.
    error_share: float | None
    #: How long handlers ran. None: none did.
    duration: Quantiles | None
    #: From the send to the start of the first delivery, with any delay that was asked for. None: there were none.
    wait: Quantiles | None
    #: p95 of the duration over the lease that was lent: over 1, runs live by their heartbeats. None: nothing ran.
    lease_use: float | None
    #: Messages by the number of their delivery: 1, 2, 3, 4, and 5 or more.
    deliveries: tuple[int, int, int, int, int]
    #: Leases that were renewed.
    beats: int
    #: Runs whose lease was lost.
    lost_leases: int
    #: Messages that were done already, and only deleted.
    duplicates: int
    #: Bytes of envelopes.
    size: int
    #: How settles ended: deleted, returned, dead, already_gone, taken_over, unknown.
    settlements: dict[str, int]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a time series."""

    #: The start of the step, Unix seconds by the store's clock.
    at: int
    figures: Figures
    #: Messages that waited or ran at the end of the step. None: not known.
    depth: int | None = None
    #: Those of them that ran. None: not known, or stored by an older Tenure.
    running: int | None = None


def figures_of(
    series: Iterable[Series],
    seconds: float,
    *,
    queue: str | None = None,
    task: str | None = None,
    depth_change: int | None = None,
) -> Figures:
    """Sum up these series. `depth_change`: by how many messages the queue grew; None: not known."""
    all_, counts = Series("", "", ""), dict[str, int]()
    for one in series:
        all_.add(one)
        if one.count:
            counts[one.outcome] = counts.get(one.outcome, 0) + one.count
    seconds = max(1e-9, seconds)
    out = sum(number for outcome, number in counts.items() if outcome in OUT)
    duration = _quantiles(all_.durations, all_.seconds)
    lease = all_.leased / all_.runs if all_.runs else 0.0
    failed = counts.get(tallied.RETRIED, 0) + counts.get(tallied.DEAD, 0)
    ended = failed + counts.get(tallied.COMPLETED, 0)
    first = [*all_.deliveries, *([0] * tallied.DELIVERIES)]
    return Figures(
        queue=queue,
        task=task,
        seconds=seconds,
        counts=counts,
        rate_out=out / seconds,
        rate_in=None if depth_change is None else max(0.0, (depth_change + out) / seconds),
        error_share=failed / ended if ended else None,
        duration=duration,
        wait=_quantiles(all_.waits, all_.waited),
        lease_use=duration.p95 / lease if duration is not None and lease > 0.0 else None,
        deliveries=(first[0], first[1], first[2], first[3], first[4]),
        beats=all_.beats,
        lost_leases=counts.get(tallied.LEASE_LOST, 0),
        duplicates=counts.get(tallied.DUPLICATE, 0),
        size=all_.size,
        settlements=all_.settled,
    )


def _quantiles(buckets: dict[int, int], total: float) -> Quantiles | None:
    count = sum(buckets.values())
    p50, p95, p99 = (tallied.quantile(buckets, q) for q in (0.5, 0.95, 0.99))
    if p50 is None or p95 is None or p99 is None:
        return None
    return Quantiles(p50=p50, p95=p95, p99=p99, mean=total / count, count=count)
