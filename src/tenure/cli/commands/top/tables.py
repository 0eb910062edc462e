"""The tables of `tenure top`: which columns queues, tasks, leases and workers have, and how they are ordered. Pure.

Colours are for states only: amber where something is soon wrong, red where it is. A healthy table has none.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from tenure.cli.commands.top.layout import Cell, Column
from tenure.client.operations.overview.format import age, left, rate, share, span, sparkline, whole
from tenure.client.operations.overview.rows import Overview, QueueOverview, TaskOverview, WorkerOverview
from tenure.query import HeldLease

R = TypeVar("R")

SOON, BAD, FAINT = "yellow", "red", "dim"
#: From this part of the lease on it is nearly over.
_NEARLY_OVER = 0.9
_MANY_ERRORS = 0.1
_SILENT_SECONDS = 10.0
#: Cells of the bar of a lease, and of a sparkline: five minutes in steps of ten seconds.
_BAR, _TREND = 8, 30


class Grid(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """One kind of rows."""

    name: str
    #: What one row is.
    noun: str
    columns: tuple[Column[R], ...]
    #: The key of a row.
    identity: Callable[[R], str]
    #: What the filter looks through.
    words: Callable[[R], Sequence[str]]
    #: The column by which rows are ordered at first.
    order: str
    empty: str

    @property
    def orders(self) -> list[str]:
        """The columns by which rows can be ordered."""
        return [column.name for column in self.columns if column.key is not None]

    def chosen(self, rows: Sequence[R], text: str) -> list[R]:
        """The rows in which the filter's text is found."""
        wanted = text.casefold()
        return [row for row in rows if any(wanted in word.casefold() for word in self.words(row))]

    def ordered(self, rows: Sequence[R], by: str, *, ascending: bool) -> list[R]:
        """Order the rows by one column; unknown values come last, and equals stay in the order of their names."""
        key = next(column.key for column in self.columns if column.name == by)
        assert key is not None  # noqa: S101 - only orders are asked for
        named = sorted(rows, key=self.identity)
        known = [row for row in named if key(row) is not None]
        unknown = [row for row in named if key(row) is None]
        return sorted(known, key=key, reverse=not ascending) + unknown


def begins_ascending(column: str) -> bool:
    """Names from A on, and what ends first; of figures the largest first."""
    return column in ("queue", "task", "worker", "id", "left", "host")


def queue_table() -> Grid[QueueOverview]:
    """Make a table with one row a queue."""
    return Grid(
        name="queues", noun="queue", order="waiting", empty="No queue holds a message.",
        identity=lambda row: row.queue, words=lambda row: (row.queue,),
        columns=(
            Column(name="queue", least=14, most=40, right=False, cell=_queue, key=lambda row: row.queue),
            *_flow_columns(),
            Column(name="dead", least=5, rank=5, cell=_dead, key=lambda row: row.dead),
            Column(name="delayed", least=7, rank=9, key=lambda row: row.delayed,
                   cell=lambda row: _count(row.delayed, estimated=row.estimated)),
            _trend(),
        ),
    )  # fmt: skip


def task_table() -> Grid[TaskOverview]:
    """Make a table with one row a task and queue."""
    return Grid(
        name="tasks", noun="task", order="out/s", empty="No task ran in the last minutes.",
        identity=lambda row: f"{row.task} {row.queue}", words=lambda row: (row.task, row.queue),
        columns=(
            Column(name="task", least=14, most=32, right=False, cell=lambda row: Cell(row.task),
                   key=lambda row: row.task),
            *_flow_columns(),
            Column(name="queue", least=10, most=24, rank=6, right=False, cell=lambda row: Cell(row.queue, FAINT),
                   key=lambda row: row.queue),
            _trend(),
        ),
    )  # fmt: skip


def lease_table(now: float) -> Grid[HeldLease]:
    """Make a table with one row a lease, counted down to its end by the store's clock."""

    def rest(row: HeldLease) -> float:
        return row.deadline - now

    def running(row: HeldLease) -> float | None:
        return None if row.leased_at is None else now - row.leased_at

    return Grid(
        name="leases", noun="lease", order="left", empty="Nothing is held.",
        identity=lambda row: row.id,
        words=lambda row: (row.id, row.task or "", row.queue, row.owner),
        columns=(
            Column(name="task", least=12, most=28, right=False, key=lambda row: row.task,
                   cell=lambda row: Cell(row.task or "–")),
            Column(name="id", least=8, most=14, rank=3, right=False, keeps_end=True,
                   cell=lambda row: Cell(row.id, FAINT)),
            Column(name="worker", least=12, most=24, rank=1, right=False, key=lambda row: row.owner,
                   cell=lambda row: Cell(holder(row.owner))),
            Column(name="left", least=6, key=rest, cell=lambda row: Cell(left(rest(row)), _rest_style(row, rest(row)))),
            Column(name="", least=_BAR, rank=4, right=False, cell=lambda row: _bar(row, rest(row))),
            Column(name="running", least=7, key=running, cell=lambda row: Cell(age(running(row)))),
            Column(name="usual", least=6, rank=7, key=lambda row: row.predicted_seconds,
                   cell=lambda row: _faint(span(row.predicted_seconds))),
            Column(name="beats", least=5, rank=5, key=lambda row: row.beats, cell=lambda row: _faint(whole(row.beats))),
            Column(name="try", least=3, rank=2, key=lambda row: row.attempt, cell=_attempt),
            Column(name="progress", least=8, most=28, rank=6, right=False, cell=_progress),
            Column(name="queue", least=10, most=20, rank=8, right=False, cell=lambda row: Cell(row.queue, FAINT),
                   key=lambda row: row.queue),
        ),
    )  # fmt: skip


def worker_table(now: float) -> Grid[WorkerOverview]:
    """Make a table with one row a worker, or another holder of leases."""

    def since(row: WorkerOverview) -> float | None:
        return None if row.started_at is None else now - row.started_at

    def rest(row: WorkerOverview) -> float | None:
        return None if row.deadline is None else row.deadline - now

    return Grid(
        name="workers", noun="worker", order="holds", empty="No worker is alive here.",
        identity=lambda row: row.id, words=lambda row: (row.id, row.host, *row.queues),
        columns=(
            Column(name="worker", least=14, most=36, right=False, cell=_worker, key=lambda row: row.name),
            Column(name="host", least=8, most=24, rank=4, right=False, cell=lambda row: Cell(row.host or "–", FAINT),
                   key=lambda row: row.host),
            Column(name="pid", least=7, rank=5, cell=lambda row: Cell(str(row.pid) if row.pid else "–", FAINT)),
            Column(name="up", least=6, rank=2, key=since, cell=lambda row: Cell(age(since(row)))),
            Column(name="heard", least=6, rank=3, key=lambda row: row.silent_seconds, cell=_heard),
            Column(name="slots", least=5, rank=1, key=lambda row: row.slots, cell=lambda row: _count(row.slots)),
            Column(name="holds", least=5, key=lambda row: row.holds, cell=lambda row: _count(row.holds)),
            Column(name="next end", least=8, key=rest, cell=lambda row: Cell(left(rest(row)), _late(rest(row)))),
            Column(name="queues", least=10, most=40, rank=6, right=False, cell=lambda row: _faint(_queues(row))),
        ),
    )  # fmt: skip


def tables(overview: Overview, now: float) -> dict[str, tuple[Grid[Any], Sequence[Any]]]:
    """Every table with its rows, by its name."""
    return {
        "queues": (queue_table(), overview.queues),
        "tasks": (task_table(), overview.tasks),
        "leases": (lease_table(now), overview.leases),
        "workers": (worker_table(now), overview.workers),
    }


def holder(owner: str) -> str:
    """The name of a worker, without the nonce of its boot."""
    return owner.rpartition("/")[0] or owner


# -- cells -----------------------------------------------------------------------------------------


def _flow_columns() -> tuple[Column[Any], ...]:
    """Make the columns that queues and tasks share."""
    return (
        Column(name="in/s", least=6, rank=2, key=lambda row: row.flow.in_per_second,
               cell=lambda row: _faint(rate(row.flow.in_per_second))),
        Column(name="out/s", least=6, key=lambda row: row.flow.out_per_second,
               cell=lambda row: _faint(rate(row.flow.out_per_second))),
        Column(name="running", least=7, key=lambda row: row.running, cell=lambda row: _count(row.running)),
        Column(name="waiting", least=7, key=lambda row: row.waiting,
               cell=lambda row: _count(row.waiting, estimated=getattr(row, "estimated", False))),
        Column(name="oldest", least=6, rank=1, key=lambda row: row.oldest_seconds,
               cell=lambda row: _faint(age(row.oldest_seconds))),
        Column(name="drains", least=6, rank=4, key=_drain_order, cell=_drains),
        Column(name="p50", least=6, rank=7, key=lambda row: row.flow.p50_seconds,
               cell=lambda row: _faint(span(row.flow.p50_seconds))),
        Column(name="p95", least=6, rank=3, key=lambda row: row.flow.p95_seconds,
               cell=lambda row: _faint(span(row.flow.p95_seconds))),
        Column(name="errors", least=6, rank=1, key=lambda row: row.flow.error_share, cell=_errors),
        Column(name="lease", least=6, rank=6, key=lambda row: row.flow.lease_use, cell=_lease_use),
    )  # fmt: skip


def _trend() -> Column[Any]:
    return Column(
        name="5 min",
        least=8,
        most=_TREND,
        rank=8,
        right=False,
        is_course=True,
        cell=lambda row: Cell(sparkline(row.flow.history, _TREND).lstrip(), FAINT),
    )


def _faint(text: str) -> Cell:
    """Zero and unknown are drawn faintly."""
    return Cell(text, FAINT if text in ("0", "–", "0 s") else "")


def _count(number: int | None, *, estimated: bool = False) -> Cell:
    return _faint(whole(number, estimated=estimated))


def _queue(row: QueueOverview) -> Cell:
    if row.paused is not None:
        return Cell(f"{row.queue} (paused)", SOON)
    return Cell(f"{row.queue} (waits for its limit)") if row.limit is not None else Cell(row.queue)


def _dead(row: QueueOverview) -> Cell:
    return Cell(whole(row.dead, estimated=row.estimated), BAD if row.dead else FAINT)


def _drains(row: QueueOverview | TaskOverview) -> Cell:
    seconds = _drain_order(row)
    return Cell(span(seconds), SOON if row.grows else "" if seconds else FAINT)


def _drain_order(row: QueueOverview | TaskOverview) -> float | None:
    """Sort key: what grows comes after all that drains."""
    return math.inf if row.grows else row.drains_in_seconds


def _errors(row: QueueOverview | TaskOverview) -> Cell:
    part = row.flow.error_share
    return Cell(share(part), FAINT if not part else SOON if part >= _MANY_ERRORS else "")


def _lease_use(row: QueueOverview | TaskOverview) -> Cell:
    return _faint(share(row.flow.lease_use))


def _rest_style(row: HeldLease, rest: float) -> str:
    if rest < 0:
        return BAD
    return SOON if row.seconds > 0 and rest / row.seconds < 1 - _NEARLY_OVER else ""


def _bar(row: HeldLease, rest: float) -> Cell:
    """Draw how much of the lease is left. A beat fills it up again."""
    part = max(0.0, min(1.0, rest / row.seconds)) if row.seconds > 0 else 0.0
    full = math.ceil(part * _BAR)
    return Cell("━" * full + "─" * (_BAR - full), _rest_style(row, rest) or FAINT)


def _attempt(row: HeldLease) -> Cell:
    return Cell(str(row.attempt), SOON if row.attempt > 1 else FAINT)


def _progress(row: HeldLease) -> Cell:
    if row.progress is None:
        return Cell("–", FAINT)
    parts = [] if row.progress.fraction is None else [f"{row.progress.fraction:.0%}"]
    return Cell(" ".join([*parts, row.progress.note]).rstrip())


def _worker(row: WorkerOverview) -> Cell:
    if row.gone:
        return Cell(f"{row.id} (gone)", BAD)
    return Cell(row.id) if row.has_presence else Cell(f"{row.id} (no worker)", FAINT)


def _heard(row: WorkerOverview) -> Cell:
    silent = row.silent_seconds
    return Cell(age(silent), SOON if silent is not None and silent > _SILENT_SECONDS else FAINT)


def _late(rest: float | None) -> str:
    return BAD if rest is not None and rest < 0 else ""


def _queues(row: WorkerOverview) -> str:
    return ", ".join(row.queues) or "–"
