"""More of the invented store: how long tasks take, how many workers queues need, what a message has handed on."""

# ruff: noqa: E501 - one row of data a line, however long

import math
import random
from collections.abc import Mapping
from typing import Any

from tests.dashboard.invented_store import NOW, OVERDUE_ID

from tenure.client.operations.children import ChildList, ChildMessage
from tenure.client.operations.scaling import ScalingNeed, ScalingReport
from tenure.client.operations.task_timing import LeaseStatus, Redelivered, TaskTiming
from tenure.client.operations.timing import TimingReport, UnknownReturns
from tenure.finding import Finding, Severity
from tenure.message import MessageState
from tenure.timing.distribution import distribution
from tenure.timing.figures import Durations
from tenure.timing.forecast import LeaseForecast

#: By task: queue, typical run, spread, lease, whether it is renewed, max_hold.
_TASKS: dict[str, tuple[str, float, float, float, bool, float | None]] = {
    "transcode": ("transcode", 840.0, 0.27, 30.0, True, 2700.0),
    "publish_site": ("publish-site", 4.1, 0.35, 9.4, False, None),
    "ingest": ("southhaven-tasks", 0.8, 0.5, 30.0, True, None),
    "send_mail": ("mail", 0.3, 0.5, 30.0, True, 60.0),
}
_FINDINGS = {
    "transcode": (
        Finding("redelivered_crash", Severity.WARNING, "transcode on transcode", "1 of 1,240 deliveries (0.1 %) came again because the worker died", "Look at its memory: a worker that is killed loses what it runs."),
        Finding("max_hold_advised", Severity.INFO, "transcode on transcode", "no run of 1,000 took longer than 33 min; max_hold is 45 min", "Set max_hold to 1 h 40 min if runs grow."),
    ),
    "publish_site": (
        Finding("lease_use_critical", Severity.CRITICAL, "publish_site on publish-site", "q99 8.6 s of 1,000 runs is 91 % of a lease of 9.4 s", "Raise the lease to 15 s, or switch the heartbeat on."),
    ),
}  # fmt: skip
_HEALTHY = Finding("healthy", Severity.INFO, "", "no duplicates, and every delete worked", "")


def timing(query: Mapping[str, list[str]]) -> TimingReport:
    """Of one task, or of all."""
    wanted = query.get("task", [""])[0]
    rows = tuple(_timing(name, *row) for name, row in _TASKS.items() if wanted in ("", name))
    findings = tuple(one for row in rows for one in row.findings)
    return TimingReport(
        since=NOW - 86_400,
        events=1302,
        cut=False,
        tasks=rows,
        unknown=UnknownReturns(expiry=0, crash=0),
        findings=findings,
    )


def _timing(
    task: str, queue: str, typical: float, spread: float, lease: float, is_renewed: bool, hold: float | None
) -> TaskTiming:
    chance = random.Random(task)
    runs = [typical * math.exp(chance.gauss(0.0, spread)) for _ in range(1000)]
    times = Durations.of(runs)
    assert times is not None
    use = None if is_renewed else times.q99 / lease
    return TaskTiming(
        queue=queue, task=task, durations=times, lease_seconds=lease, renewed=is_renewed, learned=False, by_size=False, max_hold_seconds=hold, use=use,
        forecast=LeaseForecast(hardware="x86_64 16", runs=1000, evidence=640.0, typical_seconds=times.q50, q99_seconds=times.q99, lease_seconds=round(times.q99 * 1.75),
                               why=f"q99 {times.q99:.0f} s of 1,000 runs × 1.75", hold_seconds=times.longest * 3, hold_why="3 × the longest run"),
        first_beat_seconds=lease * 2 / 3 if is_renewed else None, beats_at_q99=None, completed=1240, dead=2, duplicates=0, duplicate_rate=0.0, deletes=1240,
        deletes_failed=0, deletion_failure_rate=0.0, overran=0, redelivered=Redelivered(retry=12, expiry=0, crash=1 if task == "transcode" else 0),
        lease_why=f"{lease:g} s: the crash window; the heartbeat renews it" if is_renewed else f"{lease:g} s: set on "
        f"the task; it is not renewed, so it must outlast the work",
        margin_seconds=None if use is None else lease * (1 - use), status=LeaseStatus.RENEWED if is_renewed else LeaseStatus.CRITICAL,
        advised_hold_seconds=times.longest * 3, profile=None, distribution=distribution(runs), findings=_FINDINGS.get(task, (_HEALTHY,)),
    )  # fmt: skip


#: By queue: workers there are, and how many it takes.
_NEEDS: tuple[tuple[str, int, int | None], ...] = (
    ("collector", 2, 2), ("mail", 2, 1), ("markdown", 2, 2), ("publish-site", 2, 2), ("reports", 2, None), ("southhaven-tasks", 2, 3), ("transcode", 3, 5),
)  # fmt: skip


def scaling() -> ScalingReport:
    """How many workers each queue needs."""
    return ScalingReport(target_age_seconds=60.0, queues=tuple(_need(*row) for row in _NEEDS))


def _need(queue: str, now: int, desired: int | None) -> ScalingNeed:
    why = (
        "no run was measured yet, and there is no profile"
        if desired is None
        else f"what waits and what runs need {desired * 24} slots, 24 each"
    )
    given: dict[str, Any] = {
        "ready": 84,
        "leased": 62,
        "delayed": 0,
        "due": 0,
        "oldest_age_seconds": 4.0,
        "messages_per_worker": 24.0,
        "estimated": False,
        "mean_seconds": 12.1,
        "q99_seconds": 25.0,
        "runs": 1240,
    }
    return ScalingNeed(
        queue=queue, workers_now=now, slots=24, desired=desired, why=why, visible_only=1, interrupted=0, **given
    )


def children(parent: str) -> ChildList:
    """What the long run has handed on; others handed on nothing."""
    handed = (
        ("thumbnail", "markdown", MessageState.COMPLETED), ("send_mail", "mail", MessageState.LEASED),
        ("upload_segment", "transcode", MessageState.READY), ("thumbnail", "markdown", MessageState.DEAD),
    )  # fmt: skip
    rows = [
        ChildMessage(id=f"01a1ea2200aa{place:04x}d412c3ae77f0b09{place}", queue=queue, task=task, state=state)
        for place, (task, queue, state) in enumerate(handed if parent == OVERDUE_ID else ())
    ]
    return ChildList(id=parent, parent_id=None, children=tuple(rows))
