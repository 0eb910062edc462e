"""Strangers: messages that this worker cannot run, because it knows no such task or a newer Tenure wrote them.

In a rolling deploy an old worker meets the tasks of a new one. So a stranger goes back to its queue, for longer
each time, until a worker that knows it takes it; only what nobody has known for about ten minutes is put aside.

Used by `intake.py`. The give-backs are counted by the reason that each left in the message's history.
"""

from tenure.errors import BrokerUnavailable
from tenure.record import Record
from tenure.state import Records
from tenure.verdict import Dead, Reason, Returned

#: The code of every reason here, and what the give-backs are counted by.
UNKNOWN_TASK = "unknown_task"
#: Meetings with workers that do not know the task, before it is put aside; the delays add up to about ten minutes.
MAX_UNKNOWN = 12
_LONGEST_SECONDS = 60.0


def unknown(task: str) -> Reason:
    """Why a message for that task is a stranger here."""
    return Reason(UNKNOWN_TASK, f"this worker knows no task {task!r}; deploy one that does, or delete the message")


def unreadable(text: str) -> Reason:
    """Why a message that a newer Tenure wrote is a stranger here."""
    return Reason(UNKNOWN_TASK, text)


async def turn_away(id: str, reason: Reason, records: Records) -> Returned | Dead:
    """Back with growing delays, and at last put aside."""
    try:
        record = await records.get(id)
    except BrokerUnavailable:
        record = None  # then as if it were the first time: too soon does no harm, too late might
    met = _given_back(record) + 1
    if met >= MAX_UNKNOWN:
        return Dead(reason)
    return Returned(min(_LONGEST_SECONDS, 2.0 ** min(met, 6)), reason)


def _given_back(record: Record | None) -> int:
    """How often it was given back as a stranger since it was last redriven."""
    count = 0
    for ending in reversed(record.history if record is not None else ()):
        if ending.how == "redriven":
            break
        count += ending.how == "given_back" and ending.reason is not None and ending.reason.code == UNKNOWN_TASK
    return count
