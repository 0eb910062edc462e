"""For each alert and detector: a reading with its fault, and what fires then. Healthy readings stand around it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.act import Act
from tenure.monitoring.alerting.reading import (
    WINDOW_SECONDS,
    Counted,
    EndpointReading,
    QueueReading,
    Reading,
    Usual,
    Window,
    WorkerReading,
)
from tenure.query import HeldLease

Q, T, W = "mail-tasks", "send", "worker-1/a"
_LEASE = HeldLease(
    id="m1", queue=Q, task=T, owner=W, fence=1, attempt=1, leased_at=0.0, deadline=30.0, deadline_in=30.0, seconds=30.0
)
_COUNTED = Counted(
    queue=Q, task=T, outcomes={"completed": 600}, runs=600, deliveries=600, lease_use=0.05, size=600 * 512,
    deletes={"deleted": 600},
)  # fmt: skip
_QUEUE = QueueReading(name=Q, waiting=5, running=1, dead=0, oldest_seconds=2.0, workers=2, in_per_second=1.0)


def healthy(now: float) -> Reading:
    """A store that is well."""
    return Reading(
        now=now,
        store_seconds=0.01,
        queues=(_QUEUE,),
        windows={seconds: Window(seconds=seconds, counted=(_COUNTED,)) for seconds in WINDOW_SECONDS},
        usual={(Q, T): Usual(run_seconds=5.0), (Q, ""): Usual(rate=1.0)},
        leases=(msgspec.structs.replace(_LEASE, leased_at=now - 3),),
        workers=(
            WorkerReading(id=W, name="worker-1", skew_seconds=0.1, journal_waiting=2),
            WorkerReading(id="b", name="w2"),
        ),
        endpoints=(EndpointReading(name="orders"),),
        last_sweep_at=now - 3,
    )


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is changed in a healthy reading while the fault lasts. Functions get the moment."""

    alert: str
    severity: str
    change: Any


def _queue(**changes: Any) -> dict[str, Any]:
    return {"queues": (msgspec.structs.replace(_QUEUE, **changes),)}


def _counted(*more: Counted, **changes: Any) -> dict[str, Any]:
    counted = (msgspec.structs.replace(_COUNTED, **changes), *more)
    return {"windows": {seconds: Window(seconds=seconds, counted=counted) for seconds in WINDOW_SECONDS}}


def _deletes(**ends: int) -> dict[str, Any]:
    return _counted(deletes=ends)


def _returned(number: int) -> Counted:
    return Counted(queue=Q, outcomes={"requeue": number})


def _facts(**facts: int) -> dict[str, Any]:
    windows = {seconds: Window(seconds=seconds, counted=(_COUNTED,), facts=facts) for seconds in WINDOW_SECONDS}
    return {"windows": windows}


def _worker(**changes: Any) -> dict[str, Any]:
    return {"workers": (msgspec.structs.replace(WorkerReading(id=W, name="worker-1"), **changes),)}


def _outcomes(**outcomes: int) -> dict[str, Any]:
    return _counted(outcomes={"completed": 600, **outcomes})


def _act(kind: str, count: int, now: float) -> Mapping[str, Any]:
    return {"acts": (Act(kind, now - 1, "alice", "cli", queue=Q, count=count),)}


def _lease(now: float, **changes: Any) -> dict[str, Any]:
    return {"leases": (msgspec.structs.replace(_LEASE, leased_at=now - 3, **changes),)}


FAULTS = (
    Fault(alert="store_slow", severity="ticket", change=lambda _: {"store_seconds": 2.0}),
    Fault(alert="store_slow", severity="page", change=lambda _: {"store_seconds": 8.0}),
    Fault(alert="store_away", severity="page", change=lambda now: {"away": "no answer", **_queue(oldest_seconds=now)}),
    Fault(
        alert="workers_absent", severity="page",
        change=lambda _: {
            **_worker(is_alive=False), "leases": (), **_queue(workers=0, running=0, oldest_seconds=2_000.0)
        },
    ),
    Fault(alert="workers_crashing", severity="ticket", change=lambda _: _facts(owner_retired=1)),
    Fault(alert="workers_crashing", severity="page", change=lambda _: _facts(owner_retired=5)),
    Fault(alert="queue_unserved", severity="ticket", change=lambda _: _queue(workers=0, running=0)),
    Fault(alert="oldest_age", severity="ticket", change=lambda _: _queue(oldest_seconds=400.0)),
    Fault(alert="oldest_age", severity="page", change=lambda _: _queue(oldest_seconds=901.0)),
    Fault(alert="limit_starves", severity="ticket", change=lambda _: _queue(oldest_seconds=1_200.0, is_limited=True)),
    Fault(
        alert="queue_paused", severity="ticket",
        change=lambda now: _queue(paused_at=now - 90_000.0, oldest_seconds=90_000.0),
    ),
    Fault(alert="sweep_late", severity="ticket", change=lambda now: {"last_sweep_at": now - 60.0}),
    Fault(alert="sweep_late", severity="page", change=lambda now: {"last_sweep_at": now - 200.0}),
    Fault(alert="heartbeats_failing", severity="ticket", change=lambda _: _facts(heartbeat_failed=5)),
    Fault(alert="heartbeats_failing", severity="page", change=lambda _: _facts(heartbeat_failed=80)),
    Fault(alert="leases_lost", severity="ticket", change=lambda _: _outcomes(lease_lost=1)),
    Fault(alert="leases_lost", severity="page", change=lambda _: _outcomes(lease_lost=20)),
    Fault(alert="lease_use", severity="ticket", change=lambda _: _counted(lease_use=0.85)),
    Fault(alert="lease_use", severity="page", change=lambda _: _counted(lease_use=0.95)),
    Fault(alert="redelivered", severity="ticket", change=lambda _: _counted(_returned(20))),
    Fault(alert="redelivered", severity="page", change=lambda _: _counted(_returned(90))),
    Fault(alert="duplicates", severity="show", change=lambda _: _outcomes(duplicate=1)),
    Fault(alert="duplicates", severity="ticket", change=lambda _: _outcomes(duplicate=6)),
    Fault(alert="duplicates", severity="page", change=lambda _: _outcomes(duplicate=60)),
    Fault(alert="work_done_twice", severity="ticket", change=lambda _: _outcomes(late_settle=1)),
    Fault(alert="deletion_failures", severity="ticket", change=lambda _: _deletes(deleted=590, unknown=8)),
    Fault(alert="deletion_failures", severity="page", change=lambda _: _deletes(deleted=580, unknown=20)),
    Fault(alert="dead_letters", severity="show", change=lambda _: _outcomes(dead=1)),
    Fault(alert="dead_letters", severity="ticket", change=lambda _: _outcomes(dead=11)),
    Fault(
        alert="dead_letters", severity="page",
        change=lambda _: _counted(Counted(queue=Q, outcomes={"move_to_dlq": 101})),
    ),
    Fault(
        alert="webhooks_failing", severity="show",
        change=lambda now: {"endpoints": (EndpointReading(name="orders", failing_since=now - 60, error="HTTP 500"),)},
    ),
    Fault(
        alert="webhook_disabled", severity="ticket",
        change=lambda _: {"endpoints": (EndpointReading(name="orders", disabled="it answered that it is gone"),)},
    ),
    Fault(alert="endings_untold", severity="ticket", change=lambda now: {"oldest_untold_at": now - 3_700.0}),
    Fault(alert="journal_behind", severity="ticket", change=lambda _: _worker(journal_waiting=5_000)),
    Fault(alert="journal_behind", severity="page", change=lambda _: _worker(journal_waiting=15_000)),
    Fault(alert="clock_skew", severity="show", change=lambda _: _worker(skew_seconds=-5.0)),
    Fault(alert="clock_skew", severity="ticket", change=lambda _: _worker(skew_seconds=45.0)),
    Fault(alert="long_processing", severity="show", change=lambda now: {"leases": (_lease_since(now, 400.0),)}),
    Fault(alert="near_dead_letters", severity="show", change=lambda now: _lease(now, attempt=3)),
    Fault(alert="zombie", severity="ticket", change=lambda now: _lease(now, deadline_in=-60.0)),
    Fault(alert="zombie", severity="ticket", change=lambda _: _worker(silent_seconds=90.0)),
    Fault(alert="bulk_act", severity="show", change=lambda now: _act("deleted", 1_500, now)),
    Fault(alert="bulk_act", severity="show", change=lambda _: _queue(in_per_second=30.0)),
    Fault(alert="queue_cleared", severity="show", change=lambda now: _act("purged", 12, now)),
    Fault(alert="dead_letter_movement", severity="show", change=lambda now: _act("redriven", 3, now)),
    Fault(
        alert="flash", severity="show",
        change=lambda _: {**_counted(outcomes={"completed": 900}), **_queue(waiting=0, running=0)},
    ),
    Fault(alert="burst", severity="show", change=lambda _: _queue(in_per_second=6.0)),
    Fault(alert="large_payload", severity="show", change=lambda _: _counted(size=600 * 300_000)),
)  # fmt: skip


def _lease_since(now: float, seconds: float) -> HeldLease:
    return msgspec.structs.replace(_LEASE, leased_at=now - seconds)
