"""Figures: what all workers counted of queues and tasks over some time, and its course. What plots are drawn from."""

from collections.abc import Sequence

import msgspec

from tenure.client.figures import Figures, Point
from tenure.client.operations.access import Access
from tenure.client.operations.naming import wanted_queues
from tenure.client.operations.operations import Operations
from tenure.client.tallies import TallyView
from tenure.errors import BadArgument
from tenure.tally import TEN_SECONDS

#: Rows of hours are kept for as long as the journal, a week unless a setting says otherwise.
MOST_SECONDS = 31 * 86_400.0
#: Points of a course, at most.
MOST_POINTS = 1_000
_HOUR = 3_600.0


class FiguresReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted between two moments. It ends with the last bucket that is complete, up to 10 s ago."""

    #: Unix seconds by the store's clock.
    since: int
    until: int
    #: Seconds between two points.
    step: int
    #: How often processes store what they counted.
    store_seconds: float
    #: Of all that was asked for together.
    total: Figures
    #: By queue. Empty where one task was asked for.
    queues: tuple[Figures, ...]
    #: By queue and task.
    tasks: tuple[Figures, ...]
    #: The course, oldest first. Empty where no step was asked for.
    points: tuple[Point, ...]


class FigureOperations(Operations):
    """Operations on the figures."""

    async def figures(
        self, seconds: float = _HOUR, *, step: int | None = None, queue: str | None = None, task: str | None = None
    ) -> FiguresReport:
        """Return what was counted over the last `seconds`: outcomes, rates, durations, waits, deliveries, settlements.

        - `step`: Also the course, a point for each this many seconds; rounded up to what is kept of that time.
        - `queue`: Of this one only: a name, or a pattern.
        - `task`: Of this task only; goes with `queue`.
        """
        _check(seconds, step, queue, task)
        access = await self._opened()
        wanted = await wanted_queues(access, [] if queue is None else [queue])
        view = await access.flows.view(seconds)
        return _report(view, access, wanted, step, task)


def _check(seconds: float, step: int | None, queue: str | None, task: str | None) -> None:
    if not TEN_SECONDS <= seconds <= MOST_SECONDS:
        msg = f"seconds must be from {TEN_SECONDS} to {MOST_SECONDS:.0f}, not {seconds:g}"
        raise BadArgument(msg)
    if step is not None and (step < TEN_SECONDS or seconds / step > MOST_POINTS):
        msg = f"step must be at least {TEN_SECONDS} seconds, and give at most {MOST_POINTS} points"
        raise BadArgument(msg)
    if task is not None and queue is None:
        msg = "a task has figures for each queue: name the queue too"
        raise BadArgument(msg)


def _report(
    view: TallyView, access: Access, wanted: Sequence[str] | None, step: int | None, task: str | None
) -> FiguresReport:
    names = None if wanted is None else list(wanted)
    tasks = [one for one in view.tasks(queues=names) if one.queue is not None and access.sees(one.queue)]
    if task is not None:
        tasks = [one for one in tasks if one.task == task]
    points = [] if step is None else view.points(step, queues=names, task=task)
    return FiguresReport(
        since=view.since,
        until=view.until,
        step=points[1].at - points[0].at if len(points) > 1 else step or 0,
        store_seconds=view.store_seconds,
        total=view.total(queues=names, task=task),
        queues=()
        if task is not None
        else tuple(one for one in view.queues(queues=names) if one.queue is not None and access.sees(one.queue)),
        tasks=tuple(tasks),
        points=tuple(points),
    )
