"""From a place to a picture. Looking changes nothing.

Depths, leases, workers and pauses are asked each time; the tallies only as often as workers store them. On a place in
the cloud each look is a few requests, so `BrokerTraits.snapshot_seconds` says how often to look.
"""

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from tenure.app import Tenure
from tenure.broker import Depth
from tenure.cli.presence import judged
from tenure.cli.top.figures import HISTORY_SECONDS, STEPS, Flows, flows_of, window_seconds
from tenure.cli.top.picture import Flow, Picture, QueueRow, TaskRow, WorkerRow
from tenure.client.tallies import OTHER, Tallies
from tenure.notice import Pause
from tenure.query import HeldLease, Leases
from tenure.rules.presence import Judgement
from tenure.rules.queue_pattern import matches

_UNKNOWN = Flow()
#: Nothing was counted.
_STILL = Flow(in_per_second=None, out_per_second=0.0, history=(0.0,) * STEPS)


class Reader:
    """Looks at one place, again and again."""

    def __init__(self, app: Tenure, queues: Sequence[str] = ()) -> None:
        """`queues`: only these, names and patterns as the broker has them; empty: all that the app sees."""
        self._app = app
        self._queues = tuple(queues)
        self._tallies = Tallies(app.broker, app.state)
        self._flows: Flows | None = None
        self._flows_at = -math.inf

    def sees(self, queue: str) -> bool:
        """Whether a queue is looked at."""
        return self._app.sees(queue) and (not self._queues or matches(queue, self._queues))

    async def read(self) -> Picture:
        """The place now. Raises `BrokerError` while it is away."""
        app = self._app
        leases = await app.broker.leases(self._queues or None)
        found = await judged(app)
        pauses = {pause.queue: pause for pause in (await app.state.board.read()).paused if self.sees(pause.queue)}
        flows = await self._read_flows(leases.now)
        depths = await self._depths([*pauses, *flows.queues])
        held = [one for one in leases.leases if self.sees(one.queue)]
        workers = self._workers(found, held, leases)
        return Picture(
            now=leases.now,
            queues=tuple(_queue_row(depth, pauses.get(depth.queue), workers, flows) for depth in depths),
            tasks=tuple(_task_rows(flows, held, {one.queue: one for one in depths}, is_cut=leases.is_cut)),
            leases=tuple(held),
            leases_cut=leases.is_cut,
            workers=tuple(workers),
            last_sweep_at=leases.last_sweep_at,
            next_sweep_at=leases.next_sweep_at,
            total=flows.total,
            window_seconds=flows.window_seconds,
        )

    async def _read_flows(self, now: float) -> Flows:
        if self._flows is None or now - self._flows_at >= self._tallies.store_seconds:
            window = window_seconds(self._tallies.store_seconds)
            self._flows = flows_of(await self._tallies.read(max(HISTORY_SECONDS, window)), self.sees)
            self._flows_at = now
        return self._flows

    async def _depths(self, others: Sequence[str]) -> list[Depth]:
        """Of the queues with something in them, and of those that are paused or had something lately."""
        depths = {depth.queue: depth for depth in await self._app.broker.depth() if self.sees(depth.queue)}
        known = {*others, *(task.queue for task in self._app.tasks.values())}
        empty = sorted(queue for queue in known if queue not in depths and self.sees(queue) and "*" not in queue)
        for depth in await self._app.broker.depth(empty) if empty else ():
            depths[depth.queue] = depth
        return [depths[name] for name in sorted(depths)]

    def _workers(self, found: Judgement, held: Sequence[HeldLease], leases: Leases) -> list[WorkerRow]:
        holds = Counter(one.owner for one in held)
        # The soonest deadline comes first.
        deadlines = {one.owner: one.deadline for one in reversed(held)}
        gone = {one.owner.id: one.proof for one in found.dead}
        silent = {one.owner.id: one.silent_seconds for one in found.living}
        rows = []
        for owner in [*(one.owner for one in found.living), *(one.owner for one in found.dead)]:
            if not any(map(self._may_serve, owner.queues)):
                continue
            rows.append(WorkerRow(
                id=owner.id, name=owner.name, host=owner.host, pid=owner.pid, started_at=owner.started_at or None,
                queues=owner.queues, slots=owner.concurrency or None,
                holds=None if leases.is_cut else holds[owner.id], deadline=deadlines.get(owner.id),
                silent_seconds=silent.get(owner.id), gone=gone.get(owner.id, ""),
            ))  # fmt: skip
        listed = {one.id for one in rows}
        others = [
            WorkerRow(
                id=id, name=id.rpartition("/")[0] or id, holds=None if leases.is_cut else number,
                deadline=deadlines[id], has_presence=False,
            )
            for id, number in holds.items() if id not in listed
        ]  # fmt: skip
        return sorted(rows, key=lambda one: one.id) + sorted(others, key=lambda one: one.id)

    def _may_serve(self, queue: str) -> bool:
        """A worker's queue may be a pattern; then it is looked at where all are, or where the filter is alike."""
        return self.sees(queue) or (
            "*" in queue and (not self._queues or any(matches(one, [queue]) for one in self._queues))
        )


def _queue_row(depth: Depth, pause: Pause | None, workers: Sequence[WorkerRow], flows: Flows) -> QueueRow:
    flow = flows.queues.get(depth.queue) or _uncounted(flows)
    return QueueRow(
        queue=depth.queue, waiting=depth.ready, delayed=depth.delayed, running=depth.leased, dead=depth.dead,
        estimated=depth.estimated, oldest_seconds=depth.oldest_age_seconds if depth.ready else None,
        drains_in_seconds=drains_in(depth.ready, flow),
        workers=sum(matches(depth.queue, one.queues) for one in workers if one.has_presence and not one.gone),
        paused=pause, flow=flow,
    )  # fmt: skip


def _uncounted(flows: Flows) -> Flow:
    """Of what no process counted anything: nothing happened, unless there are more names than are told apart."""
    return _UNKNOWN if OTHER in flows.queues else _STILL


def drains_in(waiting: int | None, flow: Flow) -> float | None:
    """Seconds until nothing waits, at this pace. `inf`: as much comes in as goes out. None: cannot be known."""
    if waiting is None:
        return None
    if waiting == 0:
        return 0.0
    if flow.in_per_second is None or flow.out_per_second is None:
        return None
    less = flow.out_per_second - flow.in_per_second
    return waiting / less if less > 0 else math.inf


def _task_rows(flows: Flows, held: Sequence[HeldLease], depths: dict[str, Depth], *, is_cut: bool) -> list[TaskRow]:
    running = Counter((one.queue, one.task) for one in held if one.task is not None)
    names = sorted({*flows.tasks, *running})
    alone = Counter(queue for queue, _ in names)
    rows = []
    for queue, task in names:
        flow = flows.tasks.get((queue, task)) or _uncounted(flows)
        depth = depths.get(queue) if alone[queue] == 1 else None
        if depth is not None:
            flow = _with_rate_in(flow, flows.queues.get(queue, _UNKNOWN).in_per_second)
        rows.append(TaskRow(
            queue=queue, task=task, running=None if is_cut else running[queue, task],
            waiting=None if depth is None else depth.ready,
            oldest_seconds=depth.oldest_age_seconds if depth is not None and depth.ready else None,
            drains_in_seconds=None if depth is None else drains_in(depth.ready, flow),
            flow=flow,
        ))  # fmt: skip
    return rows


def _with_rate_in(flow: Flow, rate: float | None) -> Flow:
    return msgspec.structs.replace(flow, in_per_second=rate)
