"""A delivery: one message on its way through one worker.

Made once, by `path/admission.py`, with everything that is known by then. It is the only mutable object on the path.
Each field has one writer, which is named beside it; `tests/runtime/test_delivery.py` checks this.
"""

import asyncio
from typing import Any

import msgspec

from tenure.claim import Token
from tenure.lease import Lease
from tenure.message import Message, Outgoing
from tenure.record import Progress
from tenure.rules.lapse import must_run_alone
from tenure.rules.send_id import send_id
from tenure.runtime.handoff import derived_id
from tenure.runtime.ownership.owned import Owned
from tenure.tasks.build_message import outgoing
from tenure.tasks.call import Call, Options
from tenure.tasks.task import Task
from tenure.verdict import Verdict


class Plan(msgspec.Struct, frozen=True, gc=False):
    """The plan for a message before it runs, made by `path/learning.py`."""

    #: Its lease, in seconds. None: as it was lent.
    lease_seconds: float | None = None
    #: How large the work is, in whatever its task counts. None: not known.
    size: float | None = None
    #: False: no heartbeat renews its lease while its handler runs.
    is_renewed: bool = True
    #: When the first beat is due, in seconds from the lease. None: as all others.
    first_beat: float | None = None


#: For nearly all messages.
AS_USUAL = Plan()


class BeatStats(msgspec.Struct, frozen=True):
    """The heartbeat's work for one message."""

    extension_count: int = 0
    total_extended_seconds: float = 0.0
    last_error: str | None = None
    is_running: bool = True
    #: When its latest lease ends, on our own clock.
    deadline: float = 0.0

    def after(self, before: "BeatStats") -> "BeatStats":
        """Add what was done before: its lease was taken up again, because its settle had to wait."""
        return msgspec.structs.replace(
            self,
            extension_count=before.extension_count + self.extension_count,
            total_extended_seconds=before.total_extended_seconds + self.total_extended_seconds,
            last_error=self.last_error or before.last_error,
        )


class Delivery(Owned):
    """Everything the worker knows about one message in flight. The fields of `Owned` are written in `ownership/`."""

    __slots__ = (
        "beats", "cancelled_by", "ending", "finished", "first_beat", "handoffs", "lease_lost", "left",
        "progress", "runner", "size", "started", "taken_early", "task", "thread", "thread_id", "verdict", "with_group",
    )  # fmt: skip

    def __init__(
        self,
        lease: Lease,
        message: Message | None = None,
        task: Task[..., Any] | None = None,
        plan: Plan = AS_USUAL,
        is_routed: bool = False,  # noqa: FBT001, FBT002 - as in `Owned`
        token: Token | None = None,
    ) -> None:
        """Begin with what was read. `task` None: this worker has no such task."""
        Owned.__init__(self, lease, message, is_routed, plan.is_renewed, token)  # `super()` takes half as long again
        # Written here alone.
        self.task = task
        self.first_beat = plan.first_beat
        # Written by `path/learning.py`.
        #: As in the plan, or as its handler said since.
        self.size = plan.size
        # Written by `path/handling.py`.
        self.runner: asyncio.Task[None] | None = None
        #: Where a plain function runs: it may go on after its verdict.
        self.thread: asyncio.Future[Any] | None = None
        #: The ident of that thread. None: it has not begun there.
        self.thread_id: int | None = None
        #: Monotonic. None: its handler has not begun.
        self.started: float | None = None
        self.finished: float | None = None
        #: Set when the run is ended from outside: the verdict that the cancelled handler gets.
        self.ending: Verdict | None = None
        #: Its code goes on though its verdict is given: it swallowed its cancellation.
        self.left = False
        # Written by `path/context_link.py`.
        #: What its handler handed on.
        self.handoffs: list[Outgoing] = []
        # Written by `path/group_fetch.py`.
        #: The message with the results of the group that it follows.
        self.with_group: Message | None = None
        # Written by `path/progress.py`.
        #: What its handler said last, and when, on the monotonic clock.
        self.progress: tuple[Progress, float] | None = None
        # Written by `background/held_lease.py`.
        #: The store says that the message is not ours any more.
        self.lease_lost = False
        #: That was before the lease's end: cancelled, purged or retired. How long it ran says nothing about the work.
        self.taken_early = False
        #: What the heartbeat did for it, known when its lease was handed over. None: nothing.
        self.beats: BeatStats | None = None
        # Written by `path/outbox.py`.
        self.verdict: Verdict | None = None
        # Written by `path/cancels.py`.
        #: Who cancelled it while we held it. Empty: not known by whom. None: not cancelled, as far as is known.
        self.cancelled_by: str | None = None

    @property
    def whole(self) -> Message | None:
        """The message with its body, and with the results of its group."""
        return self.with_group or self.fetched or self.message

    @property
    def attempt(self) -> int:
        """Number of this run, from 1, counting failed attempts only."""
        return self.lease.counters.attempts + 1

    @property
    def must_run_alone(self) -> bool:
        """Whether it must run in a child process of its own, because its workers died while they held it."""
        counters = self.lease.counters
        if not counters.crashes and not counters.lost:  # nearly all: asked for every message
            return False
        return must_run_alone(counters) and (self.task is None or self.task.policy.isolates)

    @property
    def seconds(self) -> float | None:
        """The run time of the handler. None: it did not run."""
        if self.started is None or self.finished is None:
            return None
        return self.finished - self.started

    @property
    def is_gone(self) -> bool:
        """Whether the message is not ours any more, as far as is known here."""
        return self.lease_lost or self.claim_lost

    @property
    def send_id(self) -> str:
        """The id of the send to which this run belongs. Empty: not known."""
        message = self.message
        if message is None:
            return ""
        own = send_id(message.id, message.sent_at)
        return own if message.key is None else self.key_send_id or own

    def next_hand_off(self, call: Call[Any], options: Options, *, sent_at: float) -> Outgoing:
        """A hand-off for the ack; its id is derived, so that a repeated run hands on the same message."""
        message = self.message
        if message is None:
            msg = "only a message that is being run can hand on"
            raise RuntimeError(msg)
        id = derived_id(message, len(self.handoffs))
        return outgoing(call, options, id=id, client=message.client, sent_at=sent_at, parent=message)
