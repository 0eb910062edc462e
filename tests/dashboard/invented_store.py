"""An invented store at one moment, as the server would describe it: for pictures and for looks at every page.

Made of the server's own structs, so a field that is not in the OpenAPI document cannot be in it. Always the same: no
clock, no chance but a seeded one. It shows what is rare in one place: overdue, late and held leases, a paused queue, a
dead worker, a message with a life of its own.
"""

# ruff: noqa: E501 - one row of data a line, however long

import math
import random
from typing import Any

from tenure.client.figures import Figures, Point, Quantiles
from tenure.client.operations.consumers import ConsumerStatus, HeldMessage
from tenure.client.operations.dead_groups import DeadGroup, DeadGroups
from tenure.client.operations.figures import FiguresReport
from tenure.client.operations.listed_message import ListedMessage, ReasonText
from tenure.client.operations.messages import MessagePage
from tenure.client.operations.overview.operations import TaskPolicy, TaskStatus
from tenure.client.operations.overview.rows import (
    Flow,
    Headline,
    Mood,
    QueueOverview,
    TaskOverview,
    Total,
)
from tenure.client.operations.schedules import SchedulePause, ScheduleStatus
from tenure.client.operations.workers import GoneWorker, WorkerStatus
from tenure.message import Counters, MessageState
from tenure.notice import Pause
from tenure.query import HeldLease
from tenure.record import Progress
from tenure.server.principal import ALL_SCOPES
from tenure.server.routes.schedules import SchedulePage
from tenure.server.routes.session import SessionInfo
from tenure.server.routes.tasks import TaskPage
from tenure.server.routes.workers import WorkerPage
from tenure.server.snapshots.parts import LeasesSnapshot, OverviewSnapshot, QueuesSnapshot

#: 14:32:07 UTC, a Tuesday.
NOW = 1795012327.0
NEXT_SWEEP = NOW + 3.0
#: 06:00 in Berlin on the first of the month.
INVOICED_AT = 1793509200.0
_TIMES: dict[str, Any] = {
    "server_now": NOW, "made_at": NOW, "next_snapshot_in": 1.0, "last_sweep_at": NOW - 2.0, "next_sweep_at": NEXT_SWEEP,
}  # fmt: skip
_GPU = ("gpu-1/02b7c0de", "gpu-2/4398aa01", "gpu-3/9f21b0b0")
_WEB = ("web-1/77aa10ff", "web-2/c0de5511")


def _course(seed: int, base: float, swing: float, steps: int = 60) -> list[float]:
    chance = random.Random(seed)
    value, found = base, list[float]()
    for _ in range(steps):
        value = max(0.0, value + chance.uniform(-swing, swing) * 0.6 + (base - value) * 0.15)
        found.append(value)
    return found


# -- queues and tasks --------------------------------------------------------------------------------

#: name, waiting, running, oldest, drains, lease use, in, out, p50, p95, p99, error share, workers, delayed, dead
_QUEUES: tuple[tuple[Any, ...], ...] = (
    ("transcode", 84, 5, 541.0, None, 39.3, 0.3, 0.1, 840.0, 1180.0, 1620.0, 0.019, 3, 2, 1),
    ("publish-site", 402, 12, 26.0, 2010.0, 0.91, 9.2, 9.4, 4.1, 7.2, 8.6, 0.001, 2, 0, 0),
    ("southhaven-tasks", 611, 40, 12.0, 61.0, 0.52, 110.0, 120.0, 0.8, 1.9, 2.4, 0.0, 2, 31, 2),
    ("markdown", 96, 18, 4.0, 12.0, 0.36, 80.0, 88.0, 1.2, 2.8, 3.3, 0.003, 2, 0, 0),
    ("collector", 58, 9, 3.0, 6.0, 0.22, 30.0, 31.0, 2.0, 4.8, 6.1, 0.0, 2, 0, 0),
    ("mail", 33, 7, 1.0, 2.0, 0.18, 44.0, 45.0, 0.3, 0.7, 0.9, 0.004, 2, 12, 4),
    ("reports", 120, 0, 900.0, None, None, 0.1, 0.0, None, None, None, None, 2, 0, 0),
)


def _flow(row: tuple[Any, ...], seed: int, *, history: bool) -> Flow:
    course = tuple(round(one, 2) for one in _course(seed, row[7], row[7] * 0.4 + 0.02, 30)) if history else ()
    return Flow(
        in_per_second=row[6], out_per_second=row[7], p50_seconds=row[8], p95_seconds=row[9], error_share=row[11],
        lease_use=row[5], history=course,
    )  # fmt: skip


def _queues(*, history: bool) -> tuple[QueueOverview, ...]:
    return tuple(
        QueueOverview(
            queue=row[0],
            waiting=row[1],
            running=row[2],
            oldest_seconds=row[3],
            drains_in_seconds=row[4],
            grows=row[0] == "transcode" if row[5] else None,
            workers=row[12],
            delayed=row[13],
            dead=row[14],
            paused=Pause("reports", NOW - 840, "ops") if row[0] == "reports" else None,
            flow=_flow(row, seed, history=history),
        )
        for seed, row in enumerate(_QUEUES)
    )


_TASK_OF = {"transcode": "transcode", "publish-site": "publish_site", "southhaven-tasks": "ingest",
            "markdown": "markdown", "collector": "collect", "mail": "send_mail"}  # fmt: skip


def _tasks() -> tuple[TaskOverview, ...]:
    return tuple(
        TaskOverview(
            queue=row[0], task=_TASK_OF[row[0]], running=row[2], waiting=row[1], flow=_flow(row, 0, history=False)
        )
        for row in sorted(_QUEUES, key=lambda row: -row[7])[:5]
    )


def tasks() -> TaskPage:
    """Every task, with its policy."""
    policy = TaskPolicy(max_attempts=3, lease_seconds=30.0, heartbeat=True, max_hold_seconds=2700.0, concurrency=None,
                        runs_in="process", parameters=("match", "source", "bytes", "ladder"))  # fmt: skip
    fixed = TaskPolicy(max_attempts=5, lease_seconds=9.4, heartbeat=False, max_hold_seconds=None, concurrency=16,
                       runs_in="loop", parameters=("site", "since"))  # fmt: skip
    rows = [
        TaskStatus(
            task=_TASK_OF[row[0]],
            queue=row[0],
            in_app=True,
            policy=fixed if row[0] == "publish-site" else policy,
            running=row[2],
            waiting=row[1],
            flow=_flow(row, 0, history=False),
        )
        for row in _QUEUES
        if row[0] in _TASK_OF
    ]
    return TaskPage(tasks=tuple(rows), window_seconds=60.0, after=None)


def _quantiles(row: tuple[Any, ...]) -> Quantiles | None:
    return (
        None
        if row[8] is None
        else Quantiles(p50=row[8], p95=row[9], p99=row[10], mean=row[8] * 1.2, count=int(row[7] * 3600))
    )


def _slower(row: tuple[Any, ...], factor: float) -> Quantiles | None:
    """Quantiles of a step, in which runs took so much longer than usual; long ones more so."""
    usual = _quantiles(row)
    if usual is None:
        return None
    tail = 1 + (factor - 1) * 2
    return Quantiles(
        p50=usual.p50 * factor, p95=usual.p95 * tail, p99=usual.p99 * tail, mean=usual.mean * factor, count=usual.count
    )


def _figures(row: tuple[Any, ...], seconds: float, **change: Any) -> Figures:
    completed, retried = int(row[7] * seconds), int(row[7] * seconds * (row[11] or 0))
    given: dict[str, Any] = {
        "queue": row[0], "task": None, "seconds": seconds,
        "counts": {"completed": completed, "retried": retried, "dead": row[14], "returned": 3, "snoozed": 11},
        "rate_out": row[7], "rate_in": row[6], "error_share": row[11], "duration": _quantiles(row),
        "wait": Quantiles(p50=0.2, p95=2.1, p99=4.0, mean=0.5, count=completed), "lease_use": row[5],
        "deliveries": (completed, retried, max(0, retried // 9), 1 if retried else 0, 0), "beats": completed // 3,
        "lost_leases": 2, "duplicates": 4, "size": completed * 240,
        "settlements": {"deleted": completed, "returned": retried, "dead": row[14], "already_gone": 2},
    }  # fmt: skip
    return Figures(**{**given, **change})


#: Of all of them together, as the rows add up.
_WAITING, _RUNNING, _IN, _OUT = (sum(row[place] for row in _QUEUES) for place in (1, 2, 6, 7))
_ALL = ("", _WAITING, _RUNNING, 541.0, None, 0.5, _IN, _OUT, 0.8, 12.0, 38.0, 0.004, 5, 45, 7)


def figures(seconds: int = 3600, step: int = 60, queue: str | None = None, task: str | None = None) -> FiguresReport:
    """The counts."""
    rows = [row for row in _QUEUES if queue is None or row[0] == queue]
    row = _ALL if queue is None else rows[0] if rows else _QUEUES[-1]
    number = max(2, seconds // step)
    out, errors = _course(3, row[7] or 0.0, (row[7] or 0.0) * 0.18, number), _course(5, 0.004, 0.004, number)
    waiting, running = _course(7, row[1], row[1] * 0.2, number), _course(11, row[2], row[2] * 0.22, number)
    came, slow = _course(13, row[6], row[6] * 0.22, number), _course(17, 1.0, 0.05, number)
    until = int(NOW // 10 * 10)
    points = []
    for place in range(number):
        completed = int(out[place] * step)
        died = 1 if queue is None and place in {number - 22, number - 9, number - 3} else 0
        counts = {
            "completed": completed,
            "retried": int(completed * errors[place]),
            "dead": died * 3,
            "snoozed": 11 if place % 9 == 4 else 0,
            "requeue": 2 if place == number - 14 else 0,
        }
        one = _figures(row, step, counts=counts, rate_out=out[place], rate_in=came[place], error_share=errors[place],
                       queue=queue, task=task, duration=_slower(row, slow[place]), duplicates=2 if place in {number - 20, number - 6} else 0,
                       deliveries=(completed, int(completed * errors[place]), 1 if place % 11 == 7 else 0, 0, 0))  # fmt: skip
        at, held = until - seconds + place * step, int(waiting[place]) + int(running[place])
        points.append(Point(at=at, figures=one, depth=held, running=int(running[place])))
    return FiguresReport(
        since=until - seconds,
        until=until,
        step=step,
        store_seconds=5.0,
        total=_figures(row, seconds, queue=queue, task=task),
        queues=() if task else tuple(_figures(one, seconds) for one in rows),
        tasks=tuple(_figures(one, seconds, task=_TASK_OF[one[0]]) for one in rows if one[0] in _TASK_OF),
        points=tuple(points),
    )


# -- leases and workers ------------------------------------------------------------------------------


def _lease(
    id: str, task: str, queue: str, owner: str, running: float, left: float, beats: int, **more: Any
) -> HeldLease:
    given: dict[str, Any] = {
        "id": id, "queue": queue, "task": task, "owner": owner, "fence": 88_000 + len(id), "attempt": 1,
        "leased_at": NOW - running, "deadline": NOW + left, "deadline_in": left, "seconds": 30.0, "beats": beats,
        "last_beat_at": NOW - (30.0 - left) if beats else None, "progress": None,
    }  # fmt: skip
    return HeldLease(**{**given, **more})


def _short_leases() -> list[HeldLease]:
    """The rest of what runs: short tasks on the web workers, each begun a moment ago."""
    chance, found = random.Random(19), list[HeldLease]()
    progress = {"publish_site": "page", "ingest": "chunk"}
    for task, queue, number, usual in (
        ("publish_site", "publish-site", 11, 4.1), ("ingest", "southhaven-tasks", 39, 0.8), ("markdown", "markdown", 18, 1.2),
        ("collect", "collector", 9, 2.0), ("send_mail", "mail", 6, 0.3),
    ):  # fmt: skip
        for _ in range(number):
            ran = usual * chance.uniform(0.05, 1.5)
            place = len(found)
            note = Progress(None, f"{progress[task]} {int(ran * 17) + 1}") if task in progress and ran > 1 else None
            id = f"01a1ea3{place % 16:x}4a19cc01325bfa5b6667{chance.randrange(65_536):04x}"
            found.append(_lease(id, task, queue, _WEB[place % 2], ran, 30.0 - ran, 0, progress=note))
    return found


OVERDUE_ID = "01a1e91439d86c5128bf142f9638c3ae"
_LEASES = (
    _lease(OVERDUE_ID, "transcode", "transcode", _GPU[2], 1900.0, -4.2, 61, progress=Progress(0.88, "muxing audio")),
    _lease("01a1ea20c9b71f3a0d5522ce84e1f00d", "send_mail", "mail", "http:billing/a", 36.0, -1.4, 0, attempt=2, has_presence=False),
    _lease("01a1ea11d7023cf5521c7705ab1b09bd", "ingest", "southhaven-tasks", _WEB[0], 221.0, 6.1, 21, progress=Progress(0.34, "41 of 120")),
    _lease("01a1e8f05b0d1c22aa8701fe55a077f0", "transcode", "transcode", _GPU[0], 663.0, 24.3, 66, progress=Progress(0.42, "segment 50")),
    _lease("01a1e94b7a19cc01325bfa5b66671b2c", "transcode", "transcode", _GPU[1], 500.0, 26.4, 50, progress=Progress(0.31, "segment 37")),
    _lease("01a1e9b2c318cc01325bfa5b66671b30", "transcode", "transcode", _GPU[0], 371.0, 21.9, 37, progress=Progress(0.22, "segment 26")),
    _lease("01a1ea0d5507cc01325bfa5b66671b47", "transcode", "transcode", _GPU[1], 184.0, 29.0, 18, progress=Progress(0.11, "segment 13")),
    _lease("01a1ea2f00ab0a1c8a2fee41a1fed412", "publish_site", "publish-site", _WEB[0], 9.2, 8.8, 0, seconds=18.0, progress=Progress(None, "page 140")),
    *_short_leases(),
)  # fmt: skip


def leases() -> LeasesSnapshot:
    """What is held, soonest end first."""
    return LeasesSnapshot(**_TIMES, leases=tuple(sorted(_LEASES, key=lambda one: one.deadline)), is_cut=False)


def many_leases(number: int) -> LeasesSnapshot:
    """So many that a page must not draw them all."""
    rows = [
        _lease(
            f"{place:032x}", "resize", "default-tasks", _WEB[place % 2], 0.5 + place * 0.01, 5.0 + place % 240 * 0.1, 0
        )
        for place in range(number)
    ]
    return LeasesSnapshot(**_TIMES, leases=tuple(rows), is_cut=False)


def workers() -> WorkerPage:
    """Alive, silent and gone."""
    rows: list[WorkerStatus] = []
    for owner, slots, silent in (
        *((one, 2, 0.4) for one in _GPU[:2]),
        (_GPU[2], 2, 34.0),
        *((one, 64, 0.7) for one in _WEB),
    ):
        name = owner.partition("/")[0]
        held = [HeldMessage(id=one.id, queue=one.queue, task=one.task) for one in _LEASES if one.owner == owner]
        queues = (
            ("transcode",)
            if name.startswith("gpu")
            else ("*-tasks", "collector", "mail", "markdown", "publish-site", "reports")
        )
        is_new = owner in _WEB  # a new version came to the web workers half an hour ago
        rows.append(WorkerStatus(
            id=owner, name=name, host=f"{name}.example", pid=4000 + 17 * len(rows), started_at=NOW - (1700 if is_new else 86_400 * 2.3) - slots, queues=queues,
            concurrency=slots, holds=tuple(held), silent_seconds=silent, slot="", version="0.2.0" if is_new else "0.1.4",
            cpu_percent=slots * 1.9 if is_new else 96.0, memory_bytes=462_000_000 if is_new else 3_120_000_000 + len(rows) * 71_000_000, draining=owner == _GPU[1],
            draining_since=NOW - 95 if owner == _GPU[1] else None, leaving="drained by ada (dashboard)" if owner == _GPU[1] else "",
            rate_per_minute=8_802.0 if is_new else 0.14, errors_per_minute=1.4 if owner == _WEB[0] else 0.0,
        ))  # fmt: skip
    return WorkerPage(
        workers=tuple(rows),
        gone=(GoneWorker(id="gpu-4/0badcafe", proof="its process has ended (exit -9)"),),
        consumers=(
            ConsumerStatus(
                id="http:billing/a",
                name="a",
                token="billing",
                queues=("mail",),
                silent_seconds=37.4,
                holds=(HeldMessage(id="01a1ea20c9b71f3a0d5522ce84e1f00d", queue="mail", task="send_mail"),),
                rate_per_minute=4.0,
                errors_per_minute=1.0,
            ),
            ConsumerStatus(
                id="http:3f9c02d1a7be/shop-php-1",
                name="shop-php-1",
                token="3f9c02d1a7be",
                queues=("orders-*",),
                holds=(),
                silent_seconds=2.1,
                rate_per_minute=212.0,
                errors_per_minute=0.0,
            ),
        ),
        after=None,
    )


def overview(*, well: bool = False) -> OverviewSnapshot:
    """What goes on in all."""
    bad = Headline(Mood.BAD, "2 leases are overdue, for 4 s: transcode on gpu-3; next sweep in 3 s (+2)")
    good = Headline(Mood.WELL, "All well: 274/s in, 294/s out, oldest 9 min, 5 workers, swept 2 s ago")
    longest = tuple(sorted(_LEASES, key=lambda one: one.leased_at or 0.0)[:5])
    return OverviewSnapshot(
        **_TIMES, headline=good if well else bad, window_seconds=60.0,
        total=Total(waiting=_WAITING, running=_RUNNING, dead=7, oldest_seconds=541.0, workers=5, flow=Flow(
            in_per_second=_IN, out_per_second=_OUT, p50_seconds=0.8, p95_seconds=12.0, error_share=0.004)),
        queue_count=len(_QUEUES), queues=_queues(history=False), task_count=6, tasks=_tasks(), lease_count=len(_LEASES), leases=longest,
    )  # fmt: skip


def queues() -> QueuesSnapshot:
    """Every queue."""
    return QueuesSnapshot(**_TIMES, window_seconds=60.0, queues=_queues(history=True))


# -- messages ----------------------------------------------------------------------------------------


def _listed(id: str, task: str | None, queue: str, state: MessageState, **more: Any) -> ListedMessage:
    given: dict[str, Any] = {
        "id": id, "queue": queue, "task": task, "state": state, "counters": Counters(deliveries=1), "sent_at": NOW - 12.4,
        "age_seconds": 12.4, "readable": task is not None, "priority": 5, "client": "southhaven",
    }  # fmt: skip
    return ListedMessage(**{**given, **more})


def messages() -> MessagePage:
    """One page, of every open state."""
    held = [
        _listed(
            one.id,
            one.task,
            one.queue,
            MessageState.LEASED,
            owner=one.owner,
            deadline_in=one.deadline_in,
            progress=one.progress,
            sent_at=(one.leased_at or NOW) - 0.2,
            age_seconds=NOW - (one.leased_at or NOW),
        )
        for one in _LEASES[:7]
    ]
    ready = [
        _listed(
            f"01a1ea38{number:02x}29cc01325bfa5b66{number + 8192:06x}",
            "ingest",
            "southhaven-tasks",
            MessageState.READY,
            sent_at=NOW - 11.8 + number * 0.7,
            age_seconds=11.8 - number * 0.7,
            counters=Counters(),
            key="match-4711" if number == 2 else None,
        )
        for number in range(9)
    ]
    failed = ReasonText("error", "TimeoutError: no answer from the mail server within 5 s")
    delayed = [
        _listed("01a1ea2211223344556677889900aabb", "send_mail", "mail", MessageState.DELAYED, due_in=7.2, reason=failed, counters=Counters(1, 1)),
        _listed("01a1ea2211223344556677889900aacc", "report", "reports", MessageState.DELAYED, due_in=3480.0, counters=Counters()),
    ]  # fmt: skip
    dead = [
        _listed(DEAD_ID, "send_mail", "mail", MessageState.DEAD, counters=Counters(3, 3), sent_at=NOW - 152, age_seconds=152.0, finished_at=NOW - 120,
                reason=ReasonText("max_attempts", "gave up after 3 of 3 attempts; the last one: SMTPServerDisconnected: Connection unexpectedly closed")),
        _listed("01a1e0001122334455667788990000ff", None, "southhaven-tasks", MessageState.DEAD, sent_at=None, age_seconds=None, client=None,
                finished_at=NOW - 4000, unreadable="the envelope is no JSON", reason=ReasonText("unreadable", "the envelope is no JSON")),
    ]  # fmt: skip
    return MessagePage(messages=(*held, *ready, *delayed, *dead), more=True, after="eyJzIjoicmVhZHkifQ", looked_at=1240,
                       looked_until=NOW - 7260, hidden=(), paused=(Pause("reports", NOW - 840, "ops"),))  # fmt: skip


def many_messages(number: int) -> MessagePage:
    """So many that a page must not draw them all."""
    rows = tuple(
        _listed(f"{place:032x}", "resize", "default-tasks", MessageState.READY, counters=Counters())
        for place in range(number)
    )
    return MessagePage(messages=rows, more=False, after=None, looked_at=number, looked_until=None, hidden=(), paused=())


DEAD_ID = "01a1ea0077c1e2d3f4a5b6c7d8e9f001"

TRACEBACK = """Traceback (most recent call last):
  File "/usr/lib/python3.13/site-packages/tenure/runtime/handling.py", line 88, in _run
    return await self._call(ctx)
  File "/srv/app/jobs/mail.py", line 41, in send_mail
    await deliver(message, relay=settings.relay)
  File "/srv/app/jobs/smtp.py", line 112, in deliver
    return await client.send_message(message)
  File "/usr/lib/python3.13/site-packages/aiosmtplib/client.py", line 380, in send_message
    response = await self.sendmail(sender, recipients, text)
aiosmtplib.errors.SMTPServerDisconnected: Connection unexpectedly closed
"""


def dead_groups() -> DeadGroups:
    """By what went wrong."""

    def hours(*last: int) -> tuple[int, ...]:
        return (*([0] * (24 - len(last))), *last)

    groups = (
        DeadGroup(fingerprint="c4dd7a1131b2116e", task="send_mail", code="max_attempts", error="SMTPServerDisconnected",
                  place="jobs/smtp.py:112 in deliver", text="gave up after 3 of 3 attempts; the last one: SMTPServerDisconnected: Connection unexpectedly closed",
                  count=4, queues={"mail": 4}, first_at=NOW - 9000, last_at=NOW - 120, by_hour=hours(1, 1, 2), ids=(DEAD_ID, "01a1e9fe77c1e2d3f4a5b6c7d8e9f002"),
                  traceback=TRACEBACK),
        DeadGroup(fingerprint="0a17be22aa104411", task="ingest", code="rejected", error="", place="", text="not a PDF", count=2,
                  queues={"southhaven-tasks": 2}, first_at=NOW - 3600 * 5, last_at=NOW - 540, by_hour=hours(1, 0, 0, 0, 0, 1), ids=("01a1e9aa77c1e2d3f4a5b6c7d8e9f003",), traceback=""),
        DeadGroup(fingerprint="77e1c0de00aa9912", task="transcode", code="crashed_alone", error="", place="", text="its process was killed (SIGKILL) while it ran alone; out of memory?",
                  count=1, queues={"transcode": 1}, first_at=NOW - 1260, last_at=NOW - 1260, by_hour=hours(0, 1), ids=("01a1e99977c1e2d3f4a5b6c7d8e9f004",), traceback=""),
    )  # fmt: skip
    return DeadGroups(groups=groups, looked_at=7, more=False, hours_since=math.floor(NOW / 3600) * 3600 - 23 * 3600)


# -- the rest ----------------------------------------------------------------------------------------


def schedules() -> SchedulePage:
    """In words and in time zones."""
    rows = (
        ScheduleStatus(name="nightly-report", spec="0 3 * * MON-FRI Europe/Berlin", task="report", queue="reports", in_app=True,
                       last_at=NOW - 45_000, message_id="01a1c0ffee", message_state=MessageState.COMPLETED, next_at=NOW + 41_273),
        ScheduleStatus(name="collect-feeds", spec="*/15 * * * * UTC", task="collect", queue="collector", in_app=True,
                       last_at=NOW - 127, message_id="01a1ea3044", message_state=MessageState.LEASED, next_at=NOW + 773),
        ScheduleStatus(name="invoices", spec="0 6 1 * * Europe/Berlin", task="send_mail", queue="mail", in_app=True, last_at=INVOICED_AT,
                       message_id="01a0b00b00", message_state=MessageState.DEAD, next_at=None, paused=SchedulePause(at=NOW - 86_400, by="ada")),
        ScheduleStatus(name="old-cleanup", spec="every 6 h", task="cleanup", queue="default-tasks", in_app=False, last_at=NOW - 700_000, next_at=None),
    )  # fmt: skip
    return SchedulePage(schedules=rows, after=None)


def session(*scopes: str, read_only: bool = False) -> SessionInfo:
    """Who looks."""
    chosen = tuple(sorted(scope for scope in ALL_SCOPES if not scopes or scope.value in scopes))
    return SessionInfo(
        name="ada",
        scopes=chosen,
        queues=("*",),
        read_only=read_only,
        namespace=None,
        version="0.1.0",
        store="redis://queue-1:6379/0",
    )
