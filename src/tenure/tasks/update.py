"""An update: where a message is after a change, as those who wait for it get it. Made by `Handle.updates`."""

from typing import Generic, TypeVar

import msgspec

from tenure.message import MessageState
from tenure.record import Progress, Record

R = TypeVar("R")


class Update(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """One change of a message, as `handle.updates()` yields it."""

    #: `ready`, `delayed`, `leased`, `completed`, `dead` or `cancelled`.
    state: MessageState
    #: Number of the run that is under way, or of the last one; 0: it has not run yet.
    attempt: int
    #: What the handler last said by `ctx.progress`.
    progress: Progress | None
    #: Why the last attempt failed, or why it is dead. None: no attempt failed.
    error: str | None
    #: Seconds until the next attempt, if it waits for one.
    next_try_in: float | None
    #: What the handler returned, once the message is completed.
    result: R | None
    #: Everything that is known.
    record: Record

    @classmethod
    def of(cls, record: Record, result: R | None) -> "Update[R]":
        """The update that a record tells of."""
        reason = record.reason
        return cls(
            state=record.state, attempt=record.attempt, progress=record.progress,
            error=None if reason is None else reason.text, next_try_in=record.due_in, result=result, record=record,
        )  # fmt: skip

    @property
    def is_last(self) -> bool:
        """Whether the message has ended, so that nothing more comes."""
        return self.record.is_finished
