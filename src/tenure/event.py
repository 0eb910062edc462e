"""An event: a fact about a message, an owner or a queue, published after it is true.

Published on `runtime/background/bus.py`; kept by `Journal`, from where it can be replayed.
"""

from enum import StrEnum
from typing import Any

import msgspec


class EventKind(StrEnum):
    """Every kind of fact. The words are promises: dashboards and alerts are built on them."""

    RECEIVED = "received"
    HEARTBEAT_STARTED = "heartbeat_started"
    HEARTBEAT_EXTENDED = "heartbeat_extended"
    HEARTBEAT_STATS = "heartbeat_stats"
    PROCESSED = "processed"
    DELETION = "deletion"
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
    LIMITED = "limited"
    LIMIT_CLEARED = "limit_cleared"
    QUOTA_SET = "quota_set"
    QUOTA_CLEARED = "quota_cleared"
    CLIENT_FORGOTTEN = "client_forgotten"
    TICKED = "ticked"
    FORGOTTEN = "forgotten"
    MOVED = "moved"
    EDITED = "edited"
    QUEUE_DELETED = "queue_deleted"
    SCHEDULE_PAUSED = "schedule_paused"
    SCHEDULE_RESUMED = "schedule_resumed"
    SCHEDULE_RUN = "schedule_run"
    PROMOTED = "promoted"
    TOUCHED = "touched"
    LOOP_BLOCKED = "loop_blocked"
    DELETIONS = "deletions"
    FILE_SIZE_DETECTED = "file_size_detected"
    WEBHOOK_DELIVERED = "webhook_delivered"
    WEBHOOK_FAILED = "webhook_failed"
    WEBHOOK_DISABLED = "webhook_disabled"
    FINDING_FIRED = "finding_fired"
    FINDING_CLEARED = "finding_cleared"
    FINDING_ACKED = "finding_acked"
    FINDING_SILENCED = "finding_silenced"


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Something that happened to a message, a worker or a queue, as the journal keeps it."""

    #: What happened; one of the events in the reference.
    kind: EventKind
    #: When, in Unix seconds.
    at: float
    #: The queue that it is about.
    queue: str | None = None
    #: The task's name.
    task: str | None = None
    #: The message that it is about.
    message_id: str | None = None
    #: The worker that it is about.
    owner: str | None = None
    #: Number of the run.
    attempt: int | None = None
    #: Seconds from handler start to its end, where one ran.
    seconds: float | None = None
    #: What else the kind of event says.
    data: dict[str, Any] = {}


class StoredEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in the journal: replay with `Journal.read(after=seq)`."""

    seq: int
    event: Event
