"""An event: a fact about a message, an owner or a queue, told after it is true.

Published on `runtime/bus.py`; kept by `Journal`, from where it can be replayed.
"""

from enum import StrEnum
from typing import Any

import msgspec


class EventKind(StrEnum):
    """Every kind of fact. The words are promises: dashboards and alerts are built on them."""

    COMPLETED = "completed"
    RETRIED = "retried"
    SNOOZED = "snoozed"
    DEAD = "dead"
    DUPLICATE = "duplicate"
    GIVEN_BACK = "given_back"
    LEASE_LOST = "lease_lost"
    LATE_SETTLE = "late_settle"
    HEARTBEAT_FAILED = "heartbeat_failed"
    REQUEUE = "requeue"
    MOVE_TO_DLQ = "move_to_dlq"
    SWEEP_GRACE = "sweep_grace"
    OWNER_JOINED = "owner_joined"
    OWNER_LEFT = "owner_left"
    OWNER_RETIRED = "owner_retired"
    REDRIVEN = "redriven"
    DELETED = "deleted"
    CANCELLED = "cancelled"
    PURGED = "purged"
    PAUSED = "paused"
    RESUMED = "resumed"
    TICKED = "ticked"
    FORGOTTEN = "forgotten"
    LOOP_BLOCKED = "loop_blocked"
    DELETIONS = "deletions"
    FILE_SIZE_DETECTED = "file_size_detected"


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One fact. `at` is wall time: for showing, not for deciding."""

    kind: EventKind
    at: float
    queue: str | None = None
    task: str | None = None
    message_id: str | None = None
    owner: str | None = None
    attempt: int | None = None
    #: Seconds from handler start to its end, where one ran.
    seconds: float | None = None
    data: dict[str, Any] = {}


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in the journal: replay with `Journal.read(after=seq)`."""

    seq: int
    event: Event
