"""A verdict: how the run of one message ended, decided before anything is settled.

Handlers return a plain result, or *raise* `Retry`, `Snooze` or `Reject`; everything else they raise is an error.
The worker turns that into one of the values below, and `runtime/path/outbox.py` carries it out.
"""

import math
from datetime import timedelta
from typing import ClassVar

import msgspec

from tenure.message import Outgoing

#: The code of a snooze's reason.
SNOOZED = "snoozed"


class Retry(Exception):
    """Raised by a handler: this attempt failed; run me again after `after` seconds (default: the task's backoff)."""

    def __init__(self, after: float | timedelta | None = None, reason: str = "") -> None:
        """Say when to come back, and why (shown in the message's history)."""
        super().__init__(reason or "retry asked for")
        #: Seconds until the next attempt. None: the task's backoff.
        self.after = None if after is None else _seconds(after, "Retry")
        #: Shown in the message's history.
        self.reason = reason


class Snooze(Exception):
    """Raised by a handler: nothing failed; run me again after `after` seconds. No attempt is counted.

    For a worker that stops (`ctx.stopping`: keep a checkpoint, then `raise Snooze`) and for a service that says "later"
    (`raise Snooze(after=60)`). A message may be snoozed `max_snoozes` times; after that each time is a failed attempt.
    """

    def __init__(self, after: float | timedelta = 0.0, reason: str = "") -> None:
        """Say when to come back, and why (shown in the message's history)."""
        super().__init__(reason or "snooze asked for")
        #: Seconds until the next run.
        self.after = _seconds(after, "Snooze")
        #: Shown in the message's history.
        self.reason = reason


def _seconds(after: float | timedelta, kind: str) -> float:
    seconds = after.total_seconds() if isinstance(after, timedelta) else after
    if not math.isfinite(seconds):
        msg = f"{kind}(after={after!r}) must be a finite number of seconds"
        raise ValueError(msg)
    return seconds


class Reject(Exception):
    """Raised by a handler: this message can never succeed; put it with the dead letters now."""

    #: The code of the dead letter's reason.
    code: ClassVar[str] = "rejected"

    def __init__(self, reason: str = "the handler rejected it") -> None:
        """Say why; people read it beside the dead letter."""
        super().__init__(reason)
        #: Shown beside the dead letter.
        self.reason = reason


class Reason(msgspec.Struct, frozen=True, gc=False):
    """Why an attempt failed or a message died: a code for machines, a sentence for people."""

    code: str
    text: str
    #: The traceback, shortened; empty where there is none.
    traceback: str = ""
    #: The class of the error that the handler raised; empty where there was none.
    error: str = ""
    #: How often this has happened to the message, where that is counted (snoozes).
    count: int = 0


class Completed(msgspec.Struct, frozen=True, gc=False):
    """The handler returned. `result` is JSON, `handoffs` go out with the ack."""

    result: bytes
    handoffs: tuple[Outgoing, ...] = ()


class Retried(msgspec.Struct, frozen=True, gc=False):
    """The attempt counts as failed; the message comes back after a delay."""

    after_seconds: float
    reason: Reason


class Snoozed(msgspec.Struct, frozen=True, gc=False):
    """The handler asked to be run later: given back uncounted, with its reason in the history."""

    after_seconds: float
    reason: Reason


class Dead(msgspec.Struct, frozen=True, gc=False):
    """The message goes to the dead letters, with its reason and its raw bytes."""

    reason: Reason
    #: Whether a handler ended in error (and so used an attempt), or it never ran.
    counted: bool = False


class Returned(msgspec.Struct, frozen=True, gc=False):
    """Given back uncounted: we are stopping, it runs elsewhere, or this worker does not know its task."""

    after_seconds: float
    reason: Reason


class Duplicate(msgspec.Struct, frozen=True, gc=False):
    """The ledger knows it as done: it is only deleted. `handoffs` may not have gone out before the crash."""

    result: bytes = b"null"
    handoffs: tuple[Outgoing, ...] = ()
    #: Why it came again (`rules/duplicate_cause.py`). None: not known.
    cause: str | None = None


class Lost(msgspec.Struct, frozen=True, gc=False):
    """The lease was lost during the run: nothing is settled."""


Verdict = Completed | Retried | Snoozed | Dead | Returned | Duplicate | Lost
