"""Make the reading that alerts and detectors judge: what a store shows, and what its workers counted.

A few calls for all alerts together, however many queues there are. What is usual (run times, rates and waits of the
last day) is read every ten minutes. Read by `runtime/alerting.py`.
"""

from collections.abc import Callable, Iterable, Mapping

from tenure.act import Act
from tenure.client.figures import Figures
from tenure.client.operations.access import Access
from tenure.client.operations.overview.reading import OverviewReader
from tenure.client.operations.overview.rows import Overview, WorkerOverview, is_alive
from tenure.client.tallies import TallyReader, TallyView
from tenure.key_value import name_of
from tenure.monitoring.alerting.reading import (
    ACT_SECONDS,
    WINDOW_SECONDS,
    Counted,
    EndpointReading,
    QueueReading,
    Reading,
    Usual,
    Window,
    WorkerReading,
)
from tenure.rules.reserved_queue import is_reserved
from tenure.tasks.expected_wait import expected_waits
from tenure.timing.tallied import OTHER
from tenure.webhooks.endpoints import findings
from tenure.webhooks.lane import lane_of
from tenure.worker_report import REPORT_KIND, WorkerReport, decoded

#: What is usual is worked out of so many last hours, so often, and not of the last minutes: a fault is not usual.
_USUAL_SECONDS, _USUAL_EVERY, _NOT_LAST_SECONDS = 90_000.0, 600.0, 900.0
#: Fewer runs, or a shorter time, say nothing about what is usual.
_FEWEST_RUNS, _SHORTEST_SECONDS = 20, 3_600.0
#: A message may wait for so many times the usual p99, and for so long at least.
_TIMES, _LEAST_WAIT_SECONDS = 10.0, 300.0
#: Acts are read by so many, and so many pages at most.
_ACTS, _ACT_PAGES = 100, 10


class AlertReader:
    """Reads one store again and again."""

    def __init__(self, access: Access) -> None:
        """Read what `access` sees, when asked."""
        self._access = access
        self._overview = OverviewReader(access)
        self._tallies = TallyReader(access.broker, access.state)
        #: A reader of its own: it keeps what it has read.
        self._day = TallyReader(access.broker, access.state)
        self._usual: Mapping[tuple[str, str], Usual] = {}
        self._usual_waits: Mapping[str, float] = {}
        self._usual_at: float | None = None

    async def read(self) -> Reading:
        """The store now. Raises `BrokerError` while it is away."""
        access, clock = self._access, self._access.clock
        began = clock.monotonic()
        overview = await self._overview.read()
        took = clock.monotonic() - began
        view = await self._tallies.read(max(WINDOW_SECONDS))
        await self._learn()
        untold = await access.broker.announcements("", 1)
        return Reading(
            now=access.state.wall(),
            store_seconds=took,
            queues=tuple(self._queues(overview)),
            windows={seconds: _window(view, seconds, self._sees) for seconds in WINDOW_SECONDS},
            usual=self._usual,
            leases=tuple(one for one in overview.leases if not is_reserved(one.queue)),
            workers=tuple(await self._workers(overview)),
            max_attempts={name: task.policy.retry.max_attempts for name, task in access.tasks.items()},
            default_max_attempts=access.settings.max_attempts,
            endpoints=tuple(await self._endpoints()),
            acts=tuple(await self._acts()),
            last_sweep_at=overview.last_sweep_at,
            sweep_interval_seconds=access.settings.sweep_interval_seconds,
            oldest_untold_at=min((one.ended_at for one in untold), default=None),
        )

    def _sees(self, queue: str) -> bool:
        return self._access.sees(queue) and not is_reserved(queue)

    def _queues(self, overview: Overview) -> Iterable[QueueReading]:
        own = expected_waits(self._access.tasks.values())
        for one in overview.queues:
            usual = self._usual_waits.get(one.queue)
            learned = _LEAST_WAIT_SECONDS if usual is None else max(_LEAST_WAIT_SECONDS, _TIMES * usual)
            yield QueueReading(
                name=one.queue, waiting=one.waiting, running=one.running, dead=one.dead,
                oldest_seconds=one.oldest_seconds, expected_seconds=own.get(one.queue, learned), workers=one.workers,
                paused_at=None if one.paused is None else one.paused.at, is_limited=one.limit is not None,
                in_per_second=one.flow.in_per_second,
            )  # fmt: skip

    async def _learn(self) -> None:
        """Work out what is usual, now and then."""
        now = self._access.clock.monotonic()
        if self._usual_at is not None and now - self._usual_at < _USUAL_EVERY:
            return
        view = await self._day.read(_USUAL_SECONDS, until=self._access.state.wall() - _NOT_LAST_SECONDS)
        self._usual_at = now
        first = min((bucket.at for bucket in view.buckets), default=view.until)
        length = view.until - first
        if length < _SHORTEST_SECONDS:
            self._usual, self._usual_waits = {}, {}
            return
        tasks = {(one.queue or "", one.task or ""): Usual(run_seconds=_p99(one)) for one in view.tasks()}
        queues = view.queues()
        rates = {(one.queue or "", ""): Usual(rate=one.rate_out * one.seconds / length) for one in queues}
        self._usual = {**tasks, **rates}
        self._usual_waits = {
            one.queue or "": one.wait.p99 for one in queues if one.wait is not None and one.wait.count >= _FEWEST_RUNS
        }

    async def _workers(self, overview: Overview) -> list[WorkerReading]:
        reports = {one.name: decoded(one.data) for one in await self._access.state.key_values.list(REPORT_KIND)}
        return [_worker(one, reports.get(name_of(one.id))) for one in overview.workers if one.has_presence]

    async def _endpoints(self) -> list[EndpointReading]:
        webhooks = self._access.client.webhooks
        endpoints = await webhooks.endpoints.list()
        disabled = {one.subject: one.evidence for one in findings(endpoints)}
        found = []
        for one in endpoints:
            health = await webhooks.health.of(lane_of(one.name, None), fresh=True)
            since = None if one.disabled is not None else health.since
            found.append(
                EndpointReading(name=one.name, failing_since=since, error=health.error, disabled=disabled.get(one.name))
            )
        return found

    async def _acts(self) -> list[Act]:
        acts, oldest = list[Act](), self._access.state.wall() - ACT_SECONDS
        before = 0
        for _ in range(_ACT_PAGES):
            page = await self._access.state.acts.read(before, _ACTS)
            acts += [one.act for one in page if one.act.at >= oldest and self._is_ours(one.act)]
            if len(page) < _ACTS or page[-1].act.at < oldest:
                break
            before = page[-1].seq
        return acts

    def _is_ours(self, act: Act) -> bool:
        return act.queue is None or self._sees(act.queue)


def _window(view: TallyView, seconds: float, sees: Callable[[str], bool]) -> Window:
    counted = [
        _counted(one) for one in view.tasks(seconds) if one.queue is not None and one.queue != OTHER and sees(one.queue)
    ]
    return Window(seconds=seconds, counted=tuple(counted), facts=view.facts(seconds))


def _counted(figures: Figures) -> Counted:
    return Counted(
        queue=figures.queue or "",
        task=figures.task or "",
        outcomes=figures.counts,
        runs=0 if figures.duration is None else figures.duration.count,
        deliveries=sum(figures.deliveries),
        lease_use=figures.lease_use,
        beats=figures.beats,
        deletes={end: figures.settlements.get(end, 0) for end in ("deleted", "already_gone", "unknown")},
        size=figures.size,
    )


def _p99(figures: Figures) -> float | None:
    duration = figures.duration
    return None if duration is None or duration.count < _FEWEST_RUNS else duration.p99


def _worker(worker: WorkerOverview, report: WorkerReport | None) -> WorkerReading:
    return WorkerReading(
        id=worker.id,
        name=worker.name,
        is_alive=is_alive(worker),
        silent_seconds=worker.silent_seconds or 0.0,
        holds=worker.holds,
        skew_seconds=None if report is None else report.skew_seconds,
        journal_waiting=None if report is None else report.journal_waiting,
    )
