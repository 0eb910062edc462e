"""A record: what is known about one message, during its life and after it."""

import msgspec

from tenure.message import NO_COUNTERS, Counters, MessageState
from tenure.verdict import Reason


class Progress(msgspec.Struct, frozen=True):
    """How far a handler says it is."""

    #: 0.0 to 1.0; None: the handler cannot say.
    fraction: float | None = None
    #: What the handler says about it.
    note: str = ""


class Ending(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one run of the message ended, for its history. `at` is wall time."""

    at: float
    #: failed, crashed, lost, given_back, dead, redriven, cancelled
    how: str
    owner: str | None = None
    reason: Reason | None = None


#: A message keeps its last this many endings.
HISTORY_LIMIT = 20


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The status of one message. Times are Unix seconds; `deadline_in` and `due_in` are seconds from the reading."""

    #: The message's id.
    id: str
    #: The queue that it is in, with its namespace.
    queue: str
    #: The task's name. None: the message cannot be read.
    task: str | None
    #: `ready`, `delayed`, `leased`, `completed`, `dead` or `cancelled`.
    state: MessageState
    #: How often it was delivered, failed, and lost its worker.
    counters: Counters = NO_COUNTERS
    #: The worker that holds it. None: no worker does.
    owner: str | None = None
    #: Rises with every lease of the message.
    fence: int | None = None
    #: When it was sent.
    sent_at: float | None = None
    #: When it was completed, died or was cancelled.
    finished_at: float | None = None
    #: Seconds until the lease ends (negative: overdue). None: not leased.
    deadline_in: float | None = None
    #: Seconds until it may be leased. None: not delayed.
    due_in: float | None = None
    #: JSON. None: not completed, or the result was not kept.
    result: bytes | None = None
    #: Why the last attempt failed, or why it is dead.
    reason: Reason | None = None
    #: What the handler last said by `ctx.progress`.
    progress: Progress | None = None
    #: Oldest first, bounded; kept over a redrive.
    history: tuple[Ending, ...] = ()
    #: The message as it was sent (`envelope.decode` reads it). None: it is finished, or its bytes were not kept.
    envelope: bytes | None = None

    @property
    def attempt(self) -> int:
        """Number of the run that is under way, or of the last one; 0: it has not run yet."""
        return self.counters.attempts + (
            self.state in (MessageState.LEASED, MessageState.COMPLETED) or self._was_cancelled_while_it_ran
        )

    @property
    def _was_cancelled_while_it_ran(self) -> bool:
        last = self.history[-1] if self.state is MessageState.CANCELLED and self.history else None
        return last is not None and last.how == "cancelled" and last.owner is not None

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.state in _FINISHED


_FINISHED = frozenset({MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED})
