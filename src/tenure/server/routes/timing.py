"""Timing: how long tasks take, how their leases fit, and what to do."""

from typing import Annotated

import msgspec
from starlette.responses import Response

from tenure.client.operations.timing import DAY_SECONDS, TimingReport
from tenure.client.statistics import MOST_TASKS
from tenure.errors import BadArgument, UnknownQueue
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import NOW
from tenure.server.routes.page import reply_list

_MOST_SECONDS = 31 * DAY_SECONDS


class TimingQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Of which tasks, and by the events of how long."""

    #: Of this queue only: a name, or a pattern such as `acme-*`.
    queue: str | None = None
    #: Of this task only.
    task: str | None = None
    #: By the events of this many last seconds.
    since_seconds: Annotated[float, msgspec.Meta(gt=0, le=_MOST_SECONDS)] = DAY_SECONDS
    #: Rows of one page, at most.
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_TASKS)] = 100
    #: `after` of the page before. Empty: the first page.
    after: str = ""


async def get_timing(ask: Ask[TimingQuery, None]) -> Reply | Response:
    """By queue and task."""
    query = ask.query

    async def read(after: str) -> tuple[TimingReport, str | None]:
        found = await ask.operate.timing(
            query.queue, query.task, since_seconds=query.since_seconds, limit=query.limit, after=after
        )
        return found, found.after

    return await reply_list(ask, "tasks", read, after=query.after)


_FINDING = {
    "id": "lease_use_high",
    "severity": "warning",
    "subject": "resize on acme-tasks",
    "evidence": "q99 25 s of 1,240 runs is 83 % of a lease of 30 s",
    "remedy": "Raise the lease to 45 s, or switch the heartbeat on.",
}

ROUTES = (
    Route(
        method="GET", path="/timing", scope=AccessScope.READ, handler=get_timing, query=TimingQuery,
        answer=TimingReport, summary="See how long tasks take, and how their leases fit",
        description=(
            "By queue and task: durations and their distribution, the lease and why it is as long as it is, how much "
            "of it is used, and findings with evidence and remedy. The policy of a task is known where the server "
            "knows the app's code."
        ),
        example={
            "since": NOW - 86400, "events": 1302, "cut": False,
            "tasks": [{
                "queue": "acme-tasks", "task": "resize",
                "durations": {
                    "samples": 1000, "killed": 0, "mean": 12.1, "q50": 11.0, "q95": 20.0, "q99": 25.0, "longest": 27.5,
                },
                "lease_seconds": 30.0, "renewed": False, "learned": False, "by_size": False, "max_hold_seconds": None,
                "use": 0.833,
                "forecast": {
                    "hardware": "x86_64 2", "runs": 1000, "evidence": 640.0, "typical_seconds": 11.0,
                    "q99_seconds": 25.0, "lease_seconds": 44.0, "why": "44 s: q99 25 s of 1,000 runs × 1.75",
                    "hold_seconds": 83.0, "hold_why": "83 s: 3 × the longest run, 27.5 s",
                },
                "first_beat_seconds": None, "beats_at_q99": None, "completed": 1240, "dead": 2, "duplicates": 0,
                "duplicate_rate": 0.0, "deletes": 1240, "deletes_failed": 0, "deletion_failure_rate": 0.0,
                "overran": 0, "redelivered": {"retry": 12, "expiry": 0, "crash": 0},
                "lease_why": "30 s: set on the task; it is not renewed, so it must outlast the work",
                "margin_seconds": 5.0, "status": "high", "advised_hold_seconds": 83.0, "profile": None,
                "distribution": [{"from_seconds": 10.0, "to_seconds": 11.0, "runs": 310}], "findings": [_FINDING],
            }],
            "unknown": {"expiry": 0, "crash": 0}, "findings": [_FINDING], "after": None,
        },
        errors=(BadArgument, UnknownQueue), rows="tasks", is_tagged=True,
    ),
)  # fmt: skip
