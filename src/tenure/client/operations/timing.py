"""Timing: how long tasks take, how their leases fit, and what to do. A bounded number of tasks at once."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.bulk import check_bounds
from tenure.client.operations.naming import check_known, full_name, wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.operations.task_timing import TaskTiming, forecast_of, standing_of, task_timing
from tenure.client.statistics import MOST_TASKS, Survey, TaskSamples, TaskSlice, place_of, survey
from tenure.errors import BadArgument
from tenure.finding import Finding, Severity
from tenure.rules.queue_pattern import is_pattern, matches
from tenure.sample import Sample
from tenure.tasks.task import Task
from tenure.timing.forecast import Forecast

#: How far back to look at events, by default.
DAY_SECONDS = 86_400.0
_ORDER = (Severity.CRITICAL, Severity.WARNING, Severity.INFO)


class UnknownReturns(msgspec.Struct, frozen=True, kw_only=True):
    """Messages that came back whose task is no longer known."""

    expiry: int
    crash: int


class TimingReport(msgspec.Struct, frozen=True, kw_only=True):
    """How long tasks take, by queue and task."""

    #: Unix seconds: by the events since then.
    since: float
    #: This many were looked at.
    events: int
    #: There are more in that time than were looked at.
    cut: bool
    tasks: tuple[TaskTiming, ...]
    unknown: UnknownReturns
    #: Of all these tasks, the worst first.
    findings: tuple[Finding, ...]
    #: More tasks: ask again with this. None: there are none.
    after: str | None = None


class TimingOperations(Operations):
    """Operations on the timing of tasks."""

    async def timing(
        self,
        queue: str | None = None,
        task: str | None = None,
        *,
        since_seconds: float = DAY_SECONDS,
        limit: int = MOST_TASKS,
        after: str = "",
    ) -> TimingReport:
        """Return how long tasks take, what their leases are used for, and what to change.

        - `queue`: Of this one only: a name, or a pattern.
        - `task`: Of this task only.
        - `since_seconds`: How far back to look at events.
        - `limit`: Of this many tasks at most, by queue and name.
        - `after`: `TimingReport.after` of the page before.
        """
        check_bounds(limit=limit)
        if limit > MOST_TASKS or not since_seconds > 0:
            msg = f"limit is at most {MOST_TASKS} and since_seconds more than 0; nothing was read"
            raise BadArgument(msg)
        access = await self._opened()
        sees = await _chosen(access, queue)
        tasks = {(one.queue, name): one for name, one in access.tasks.items() if sees(one.queue)}
        standings = {name: standing_of(one, access.broker.traits) for name, one in tasks.items()}
        samples = TaskSamples(access.state.journal, shares=access.sees_every_queue)
        found = await survey(
            access.state,
            since=access.clock.wall() - since_seconds,
            standings=standings,
            sees=sees,
            page=TaskSlice(task=task, after=after, limit=limit),
            samples=samples,
        )
        forecasts = _Forecasts(access)
        rows = []
        for figures in found.figures:
            kept = await samples.of(figures.queue, figures.task)
            known = tasks.get((figures.queue, figures.task))
            rows.append(task_timing(figures, known, kept, forecasts.of(known, figures.task, kept), found.since))
            await asyncio.sleep(0)  # a forecast is some milliseconds of arithmetic: others have their turn
        return _report(found, rows)


class _Forecasts:
    """Queues that share their samples share the forecast made of them."""

    def __init__(self, access: Access) -> None:
        self._access = access
        #: With the samples, so that no other list gets their id.
        self._known: dict[tuple[int, str], tuple[Sequence[Sample], list[Forecast]]] = {}

    def of(self, task: Task[..., Any] | None, name: str, samples: Sequence[Sample]) -> list[Forecast]:
        key = (id(samples), name)
        if task is not None or key not in self._known:
            self._known[key] = (samples, forecast_of(self._access, task, name, samples))
        return self._known[key][1]


async def _chosen(access: Access, queue: str | None) -> Callable[[str], bool]:
    """Whether a queue is one of the chosen ones. Raises `UnknownQueue` for an unknown name."""
    if queue is None:
        return access.sees
    if not is_pattern(queue):
        name = full_name(access, queue)
        await check_known(access, [name])
        return lambda one: one == name
    wanted = await wanted_queues(access, [queue]) or ()
    return lambda one: access.sees(one) and matches(one, wanted)


def _report(found: Survey, rows: Sequence[TaskTiming]) -> TimingReport:
    findings = sorted((one for row in rows for one in row.findings), key=lambda one: _ORDER.index(one.severity))
    return TimingReport(
        since=found.since,
        events=found.events,
        cut=found.is_cut,
        tasks=tuple(rows),
        unknown=UnknownReturns(expiry=found.unknown_expired, crash=found.unknown_crashed),
        findings=tuple(findings),
        after=place_of(rows[-1].queue, rows[-1].task) if found.is_more and rows else None,
    )
