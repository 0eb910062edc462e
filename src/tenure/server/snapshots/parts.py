"""The parts of a snapshot that viewers get: overview, queues, leases. Pure.

Each part says what the server's clock shows, when the store is swept next, and when the next snapshot is made: a viewer
counts down by these, whatever its own clock shows. `None` is "cannot be known", 0 is "none".
"""

from enum import StrEnum
from typing import TypeVar

import msgspec

from tenure.client.operations.overview.rows import (
    Flow,
    Headline,
    Overview,
    QueueOverview,
    TaskOverview,
    Total,
)
from tenure.query import HeldLease

#: Rows of an overview: with more it would not fit into 8 kB, and is sent to every viewer each second.
_QUEUES, _TASKS, _LEASES = 10, 4, 5

Row = TypeVar("Row", QueueOverview, TaskOverview)


class SnapshotPart(StrEnum):
    """What can be followed beside events. All queues cannot: a thousand of them each second are half a megabyte."""

    OVERVIEW = "overview"
    LEASES = "leases"


class SnapshotTimes(msgspec.Struct, frozen=True, kw_only=True):
    """By which clock a snapshot counts. Unix seconds by the store's clock."""

    #: Now.
    server_now: float
    #: The moment that the snapshot shows.
    made_at: float
    #: Seconds until the next one.
    next_snapshot_in: float
    last_sweep_at: float | None = None
    #: When overdue leases are returned next. Null: no sweep has run here.
    next_sweep_at: float | None = None


class OverviewSnapshot(SnapshotTimes, frozen=True, kw_only=True):
    """What goes on in all, and the rows that are most worth a look. Rows have no `flow.history`."""

    headline: Headline
    #: Rates and shares are of this many seconds.
    window_seconds: float
    total: Total
    #: All that there are; the worst of them follow.
    queue_count: int
    queues: tuple[QueueOverview, ...]
    task_count: int
    #: The busiest.
    tasks: tuple[TaskOverview, ...]
    #: Null: more leases are held than were read.
    lease_count: int | None
    #: The longest runs.
    leases: tuple[HeldLease, ...]


class QueuesSnapshot(SnapshotTimes, frozen=True, kw_only=True):
    """Every queue."""

    window_seconds: float
    queues: tuple[QueueOverview, ...]


class LeasesSnapshot(SnapshotTimes, frozen=True, kw_only=True):
    """The current leases, soonest deadline first."""

    leases: tuple[HeldLease, ...]
    #: More leases are held than these.
    is_cut: bool


def times_of(overview: Overview, now: float, next_in: float) -> SnapshotTimes:
    """Return the times of a snapshot, and the time until the next one."""
    return SnapshotTimes(
        server_now=now,
        made_at=overview.now,
        next_snapshot_in=next_in,
        last_sweep_at=overview.last_sweep_at,
        next_sweep_at=overview.next_sweep_at,
    )


def overview_of(overview: Overview, times: SnapshotTimes) -> OverviewSnapshot:
    """Return the overview, cut to what fits on one screen."""
    return OverviewSnapshot(
        **msgspec.structs.asdict(times),
        headline=overview.headline,
        window_seconds=overview.window_seconds,
        total=msgspec.structs.replace(overview.total, flow=_rounded(overview.total.flow)),
        queue_count=len(overview.queues),
        queues=tuple(map(_short_queue, sorted(overview.queues, key=_trouble)[:_QUEUES])),
        task_count=len(overview.tasks),
        tasks=tuple(map(_short_task, sorted(overview.tasks, key=_rest)[:_TASKS])),
        lease_count=None if overview.leases_cut else len(overview.leases),
        leases=tuple(sorted(overview.leases, key=_since)[:_LEASES]),
    )


def queues_of(overview: Overview, times: SnapshotTimes) -> QueuesSnapshot:
    """Return all queues."""
    return QueuesSnapshot(
        **msgspec.structs.asdict(times), window_seconds=overview.window_seconds, queues=overview.queues
    )


def leases_of(overview: Overview, times: SnapshotTimes, most: int | None = None) -> LeasesSnapshot:
    """Return the leases that end soonest; None: all that were read."""
    leases = overview.leases if most is None else overview.leases[:most]
    is_cut = overview.leases_cut or len(leases) < len(overview.leases)
    return LeasesSnapshot(**msgspec.structs.asdict(times), leases=leases, is_cut=is_cut)


def _trouble(row: QueueOverview) -> tuple[float, int, int, str]:
    """Sort by the longest wait, then by the number of messages."""
    return -(row.oldest_seconds or 0.0), -(row.waiting or 0), -(row.dead or 0), row.queue


def _rest(row: TaskOverview) -> tuple[float, int, str, str]:
    return -(row.flow.out_per_second or 0.0), -(row.running or 0), row.task, row.queue


def _since(lease: HeldLease) -> tuple[float, str]:
    return lease.deadline if lease.leased_at is None else lease.leased_at, lease.id


def _short_queue(row: QueueOverview) -> QueueOverview:
    return msgspec.structs.replace(_rounded_row(row), flow=msgspec.structs.replace(_rounded(row.flow), history=()))


def _short_task(row: TaskOverview) -> TaskOverview:
    return msgspec.structs.replace(_rounded_row(row), flow=msgspec.structs.replace(_rounded(row.flow), history=()))


def _rounded_row(row: Row) -> Row:
    return msgspec.structs.replace(
        row, oldest_seconds=_short(row.oldest_seconds, 1), drains_in_seconds=_short(row.drains_in_seconds, 1)
    )


def _rounded(flow: Flow) -> Flow:
    """Rounds numbers: unread digits are a part of 8 kB."""
    return Flow(
        in_per_second=_short(flow.in_per_second),
        out_per_second=_short(flow.out_per_second),
        p50_seconds=_short(flow.p50_seconds, 6),
        p95_seconds=_short(flow.p95_seconds, 6),
        error_share=_short(flow.error_share, 5),
        lease_use=_short(flow.lease_use, 5),
        history=tuple(round(one, 3) for one in flow.history),
    )


def _short(figure: float | None, digits: int = 3) -> float | None:
    return None if figure is None else round(figure, digits)
