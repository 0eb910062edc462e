"""The status of a task, in the words of the service. Made of a message's record."""

from enum import StrEnum

import msgspec

from tenure.message import MessageState
from tenure.record import Record


class TaskWord(StrEnum):
    """Where a task is."""

    QUEUED = "queued"
    RUNNING = "running"
    #: An attempt failed, or its worker died, and it waits for the next one.
    RETRYING = "retrying"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TaskStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Where one task is."""

    task_id: str
    #: None: what was sent cannot be read.
    task_type: str | None
    status: TaskWord
    #: Number of the run that is under way, or of the last one; 0: it has not run yet.
    attempt: int
    #: 0.0 to 1.0. None: the handler has not said.
    progress: float | None
    #: What the handler says about it.
    note: str
    #: Why the last attempt failed. None: none did.
    error: str | None
    #: Seconds until the next attempt, if it waits for one.
    next_try_in: float | None
    #: Unix seconds. None: not known.
    submitted_at: float | None
    finished_at: float | None


_ENDED = {
    MessageState.LEASED: TaskWord.RUNNING,
    MessageState.COMPLETED: TaskWord.COMPLETED,
    MessageState.DEAD: TaskWord.FAILED,
    MessageState.CANCELLED: TaskWord.CANCELLED,
}


def status_of(task_id: str, record: Record) -> TaskStatus:
    """The status that a record tells of."""
    progress, reason = record.progress, record.reason
    return TaskStatus(
        task_id=task_id, task_type=record.task, status=word_of(record), attempt=record.attempt,
        progress=None if progress is None else progress.fraction, note="" if progress is None else progress.note,
        error=None if reason is None else reason.text, next_try_in=record.due_in, submitted_at=record.sent_at,
        finished_at=record.finished_at,
    )  # fmt: skip


def word_of(record: Record) -> TaskWord:
    """The state in one of the service's words."""
    counters = record.counters
    has_run = counters.attempts or counters.crashes or counters.lost
    return _ENDED.get(record.state) or (TaskWord.RETRYING if has_run else TaskWord.QUEUED)
