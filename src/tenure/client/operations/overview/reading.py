"""Read an overview from a store, without changing it.

Depths, leases, workers and pauses are asked each time; the tallies only as often as workers store them. On a store in
the cloud each look is a few requests, so `BrokerTraits.snapshot_seconds` says how often to look.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from tenure.broker import Depth
from tenure.client.operations.access import Access
from tenure.client.operations.overview.flows import STEPS, Flows
from tenure.client.operations.overview.headline import headline
from tenure.client.operations.overview.rows import (
    Flow,
    Overview,
    QueueOverview,
    TaskOverview,
    WorkerOverview,
    is_alive,
    total_of,
)
from tenure.client.operations.presence import judged
from tenure.client.operations.queue_limit import QueueLimit, limits_in_force, waits_for_limit
from tenure.client.operations.redaction import without_note
from tenure.client.tallies import OTHER
from tenure.notice import Pause
from tenure.query import HeldLease, Leases
from tenure.rules.presence import Judgement
from tenure.rules.queue_pattern import has_pattern, matches
from tenure.rules.reserved_queue import is_reserved

_UNKNOWN = Flow()
#: Nothing was counted.
_STILL = Flow(in_per_second=None, out_per_second=0.0, history=(0.0,) * STEPS)


class OverviewReader:
    """Reads one store for one identity, again and again."""

    def __init__(self, access: Access, queues: Sequence[str] | None = None) -> None:
        """`queues`: only these, names and patterns as the broker has them; None: all that are there for them."""
        self._access = access
        self._queues = None if queues is None else tuple(queues)

    def sees(self, queue: str) -> bool:
        """Whether a queue is looked at."""
        return self._access.sees(queue) and (self._queues is None or matches(queue, self._queues))

    async def read(self) -> Overview:
        """The store now. Raises `BrokerError` while it is away."""
        access = self._access
        leases = await access.broker.leases(self._queues)
        found = await judged(access)
        notices = await access.state.board.read()
        pauses = {pause.queue: pause for pause in notices.paused if self.sees(pause.queue)}
        limits = limits_in_force(access, notices.posts)
        flows = await access.flows.read((access.selection, self._queues), self.sees)
        depths = await self._depths([*pauses, *flows.queues])
        held = [one for one in leases.leases if self.sees(one.queue)]
        workers = self._workers(found, held, leases)
        rows = tuple(
            _queue_row(depth, pauses.get(depth.queue), limits.get(depth.queue), workers, flows) for depth in depths
        )
        overview = Overview(
            now=leases.now,
            window_seconds=flows.window_seconds,
            total=total_of(rows, workers, flows.total),
            queues=rows,
            tasks=tuple(_task_rows(flows, held, {one.queue: one for one in depths}, is_cut=leases.is_cut)),
            leases=tuple(held if access.sees_payload else map(without_note, held)),
            leases_cut=leases.is_cut,
            workers=tuple(workers),
            last_sweep_at=leases.last_sweep_at,
            next_sweep_at=leases.next_sweep_at,
        )
        return msgspec.structs.replace(overview, headline=headline(overview))

    async def _depths(self, others: Sequence[str]) -> list[Depth]:
        """Read the depths of queues that hold messages, are paused, or were active lately."""
        access = self._access
        named = None if self._queues is None or has_pattern(self._queues) else list(self._queues)
        depths = {depth.queue: depth for depth in await access.broker.depth(named) if self._counts(depth.queue)}
        known = {*others, *(task.queue for task in access.tasks.values())}
        empty = sorted(queue for queue in known if queue not in depths and self.sees(queue) and "*" not in queue)
        for depth in await access.broker.depth(empty) if empty else ():
            depths[depth.queue] = depth
        return [depths[name] for name in sorted(depths)]

    def _counts(self, queue: str) -> bool:
        """Whether a queue is listed and counted: deliveries of webhooks are no work of users."""
        return self.sees(queue) and not is_reserved(queue)

    def _workers(self, found: Judgement, held: Sequence[HeldLease], leases: Leases) -> list[WorkerOverview]:
        holds = Counter(one.owner for one in held)
        # The soonest deadline comes first.
        deadlines = {one.owner: one.deadline for one in reversed(held)}
        gone = {one.owner.id: one.proof for one in found.dead}
        silent = {one.owner.id: one.silent_seconds for one in found.living}
        rows = []
        for owner in [*(one.owner for one in found.living), *(one.owner for one in found.dead)]:
            if not any(map(self._may_serve, owner.queues)):
                continue
            rows.append(WorkerOverview(
                id=owner.id, name=owner.name, host=owner.host, pid=owner.pid, started_at=owner.started_at or None,
                queues=self._access.of_theirs(owner.queues), slots=owner.concurrency or None,
                holds=None if leases.is_cut else holds[owner.id], deadline=deadlines.get(owner.id),
                silent_seconds=silent.get(owner.id), gone=gone.get(owner.id, ""),
            ))  # fmt: skip
        listed = {one.id for one in rows}
        others = [
            WorkerOverview(
                id=id, name=id.rpartition("/")[0] or id, holds=None if leases.is_cut else number,
                deadline=deadlines[id], has_presence=False,
            )
            for id, number in holds.items() if id not in listed
        ]  # fmt: skip
        return sorted(rows, key=lambda one: one.id) + sorted(others, key=lambda one: one.id)

    def _may_serve(self, queue: str) -> bool:
        """A worker's queue may be a pattern; then it is looked at where all are, or where the filter is alike."""
        if "*" not in queue or self._queues is None:
            return self._access.sees_any([queue]) and (self._queues is None or matches(queue, self._queues))
        return any(matches(one, [queue]) for one in self._queues)


def _queue_row(
    depth: Depth, pause: Pause | None, limit: QueueLimit | None, workers: Sequence[WorkerOverview], flows: Flows
) -> QueueOverview:
    flow = flows.queues.get(depth.queue) or _uncounted(flows)
    holds_back = waits_for_limit(limit, ready=depth.ready, running=depth.leased)
    drains, grows = drains_in(depth.ready, flow)
    return QueueOverview(
        queue=depth.queue,
        waiting=depth.ready,
        delayed=depth.delayed,
        running=depth.leased,
        dead=depth.dead,
        estimated=depth.estimated,
        oldest_seconds=depth.oldest_age_seconds if depth.ready else None,
        drains_in_seconds=drains,
        grows=grows,
        workers=sum(matches(depth.queue, one.queues) for one in workers if is_alive(one)),
        paused=pause, limit=limit if holds_back else None, flow=flow,
    )  # fmt: skip


def _uncounted(flows: Flows) -> Flow:
    """Return the flow of a name without counts: zeros, unless there are more names than are counted apart."""
    return _UNKNOWN if OTHER in flows.queues else _STILL


def drains_in(waiting: int | None, flow: Flow) -> tuple[float | None, bool | None]:
    """Seconds until nothing waits at this pace, and whether it grows: as much comes in as goes out.

    None: it cannot be known; a queue that grows has no such time.
    """
    if waiting is None:
        return None, None
    if waiting == 0:
        return 0.0, False
    if flow.in_per_second is None or flow.out_per_second is None:
        return None, None
    less = flow.out_per_second - flow.in_per_second
    return (waiting / less, False) if less > 0 else (None, True)


def _task_rows(
    flows: Flows, held: Sequence[HeldLease], depths: dict[str, Depth], *, is_cut: bool
) -> list[TaskOverview]:
    running = Counter((one.queue, one.task) for one in held if one.task is not None)
    names = sorted({*flows.tasks, *running})
    alone = Counter(queue for queue, _ in names)
    rows = []
    for queue, task in names:
        flow = flows.tasks.get((queue, task)) or _uncounted(flows)
        depth = depths.get(queue) if alone[queue] == 1 else None
        if depth is not None:
            flow = _with_rate_in(flow, flows.queues.get(queue, _UNKNOWN).in_per_second)
        drains, grows = (None, None) if depth is None else drains_in(depth.ready, flow)
        rows.append(
            TaskOverview(
                queue=queue,
                task=task,
                running=None if is_cut else running[queue, task],
                waiting=None if depth is None else depth.ready,
                oldest_seconds=depth.oldest_age_seconds if depth is not None and depth.ready else None,
                drains_in_seconds=drains,
                grows=grows,
                flow=flow,
            )
        )
    return rows


def _with_rate_in(flow: Flow, rate: float | None) -> Flow:
    return msgspec.structs.replace(flow, in_per_second=rate)
