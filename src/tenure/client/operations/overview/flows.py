"""The flows of queues and tasks in the last minutes, from the tallies. Pure.

The figures are made by `client/tallies.py`; here they are only put where the tables want them.
"""

import math
from collections.abc import Callable

import msgspec

from tenure.client.figures import Figures
from tenure.client.operations.overview.rows import Flow
from tenure.client.tallies import TallyView
from tenure.tally import TEN_SECONDS
from tenure.timing.tallied import OUT

#: A course of five minutes, in this many steps.
HISTORY_SECONDS = 300
STEPS = HISTORY_SECONDS // TEN_SECONDS
#: A window is this many times as long as processes take to store what they counted, and at least a minute.
_STORED_TIMES, _LEAST_SECONDS = 4, 60.0


class Flows(msgspec.Struct, frozen=True):
    """Flows by queue, by queue and task, and in total."""

    window_seconds: float
    total: Flow
    queues: dict[str, Flow]
    tasks: dict[tuple[str, str], Flow]


def window_seconds(store_seconds: float) -> float:
    """Over how long rates are taken."""
    return max(_LEAST_SECONDS, _STORED_TIMES * store_seconds)


def flows_of(view: TallyView, sees: Callable[[str], bool]) -> Flows:
    """The flows of the queues that are looked at."""
    window = window_seconds(view.store_seconds)
    by_queue, by_task, total = _courses(view, sees)
    every = view.queues(window)
    queues = [one for one in every if one.queue is not None and sees(one.queue)]
    tasks = [one for one in view.tasks(window) if one.queue is not None and sees(one.queue) and one.task]
    only = None if len(queues) == len(every) else [one.queue for one in queues if one.queue is not None]
    return Flows(
        window,
        _flow(view.total(window, queues=only), total),
        {one.queue or "": _flow(one, by_queue.get(one.queue or "")) for one in queues},
        {
            (one.queue or "", one.task or ""): _flow(one, by_task.get((one.queue or "", one.task or "")))
            for one in tasks
        },
    )


def _flow(figures: Figures, course: list[float] | None) -> Flow:
    duration = figures.duration
    return Flow(
        in_per_second=figures.rate_in,
        out_per_second=figures.rate_out,
        p50_seconds=None if duration is None else duration.p50,
        p95_seconds=None if duration is None else duration.p95,
        error_share=figures.error_share,
        lease_use=figures.lease_use,
        history=tuple(course or [0.0] * STEPS),
    )


def _courses(
    view: TallyView, sees: Callable[[str], bool]
) -> tuple[dict[str, list[float]], dict[tuple[str, str], list[float]], list[float]]:
    """Messages a second that ended, in steps of ten seconds, in one pass: of a thousand queues too."""
    queues: dict[str, list[float]] = {}
    tasks: dict[tuple[str, str], list[float]] = {}
    total = [0.0] * STEPS
    for bucket in view.buckets:
        place = STEPS - math.ceil((view.until - bucket.at) / TEN_SECONDS)
        if not 0 <= place < STEPS:
            continue
        for series in bucket.series:
            if series.outcome in OUT and sees(series.queue):
                ended = series.count / bucket.step
                total[place] += ended
                queues.setdefault(series.queue, [0.0] * STEPS)[place] += ended
                tasks.setdefault((series.queue, series.task), [0.0] * STEPS)[place] += ended
    return queues, tasks, total
