"""Figures: what was counted over some time, and its course, for plots and for programs."""

from typing import Annotated

import msgspec

from tenure.client.operations.figures import MOST_SECONDS, FiguresReport
from tenure.errors import BadArgument
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.tally import TEN_SECONDS


class FiguresQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which figures, and over which time."""

    #: This many last seconds.
    seconds: Annotated[float, msgspec.Meta(ge=TEN_SECONDS, le=MOST_SECONDS)] = 3_600.0
    #: Seconds between two points of the course. Null: no course. Rounded up to what is kept: ten seconds of the last
    #: hour, a minute of the last day, else an hour.
    step: Annotated[int, msgspec.Meta(ge=TEN_SECONDS)] | None = None
    #: Of this queue only: a name, or a pattern such as `acme-*`.
    queue: str | None = None
    #: Of this task only; goes with `queue`.
    task: str | None = None


async def get_figures(ask: Ask[FiguresQuery, None]) -> Reply:
    """Return the counts."""
    query = ask.query
    found = await ask.operate.figures(query.seconds, step=query.step, queue=query.queue, task=query.task)
    return Reply(value=found)


_QUANTILES = {"p50": 0.02, "p95": 0.21, "p99": 0.48, "mean": 0.05, "count": 36_000}
_FIGURES = {
    "queue": None, "task": None, "seconds": 3600.0, "counts": {"completed": 36_000, "retried": 12}, "rate_out": 10.0,
    "rate_in": 10.1, "error_share": 0.0003, "duration": _QUANTILES, "wait": _QUANTILES, "lease_use": 0.007,
    "deliveries": [35_990, 8, 2, 0, 0], "beats": 40, "lost_leases": 0, "duplicates": 0, "size": 9_216_000,
    "settlements": {"deleted": 36_000},
}  # fmt: skip

ROUTES = (
    Route(
        method="GET", path="/figures", scope=AccessScope.READ, handler=get_figures, query=FiguresQuery,
        answer=FiguresReport, summary="See what was counted over some time, and its course",
        description=(
            "Outcomes, rates, durations, waits, deliveries and settlements, added up over all workers. Processes "
            "store what they counted every `store_seconds`, so the newest figures are as old as that."
        ),
        example={
            "since": 1767222000, "until": 1767225600, "step": 3600, "store_seconds": 5.0, "total": _FIGURES,
            "queues": [{**_FIGURES, "queue": "acme-tasks"}],
            "tasks": [{**_FIGURES, "queue": "acme-tasks", "task": "resize"}],
            "points": [{"at": 1767222000, "figures": _FIGURES, "depth": 40, "running": 12}],
        },
        errors=(BadArgument,), is_tagged=True,
    ),
)  # fmt: skip
