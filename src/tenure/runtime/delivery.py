"""A delivery: one message on its way through one worker.

Made by `admission`, held by `heartbeat`, run by `handling`, ended by `settling`. It is the only mutable
thing on the path, and each stage writes only its own fields.
"""

import asyncio
from typing import Any

from tenure.call import Call, Options
from tenure.claim import Token
from tenure.lease import Lease
from tenure.message import Message, Outgoing
from tenure.outgoing import outgoing
from tenure.record import Progress
from tenure.rules.send_id import send_id
from tenure.runtime.handoff import derived_id
from tenure.task import Task
from tenure.verdict import Verdict


class Delivery:
    """Everything the worker knows about one message in flight."""

    __slots__ = (
        "cancelled_by", "checked", "ending", "fence", "finished", "first_beat", "handoffs", "id", "is_renewed",
        "is_routed", "key_send_id", "lease", "lease_lost", "left", "message", "progress", "queue", "runner", "sealed",
        "size", "started", "taken_early", "task", "thread", "thread_id", "token", "verdict",
    )  # fmt: skip

    def __init__(self, lease: Lease) -> None:
        """Begin with what the broker lent."""
        self.id = lease.id
        self.queue = lease.queue
        self.fence = lease.fence
        #: The lease as it was lent. While it is held, the latest one is with the heartbeat.
        self.lease = lease
        # intake
        self.message: Message | None = None
        #: We did not send it: a route of the app says what it is.
        self.is_routed = False
        self.task: Task[..., Any] | None = None
        #: Proof of the claim, until it is sealed or released.
        self.token: Token | None = None
        #: By the claim of its key: which send its run belongs to. Empty: its own.
        self.key_send_id = ""
        # learning
        #: How large the work is, in whatever its task counts. None: nobody knows.
        self.size: float | None = None
        #: False: nobody renews its lease while its handler runs.
        self.is_renewed = True
        #: When the first beat is due, in seconds from the lease. None: as all others.
        self.first_beat: float | None = None
        # fetching
        #: The message as it was sent, with its ticket; `message` has its body since.
        self.checked: Message | None = None
        # handling
        self.runner: asyncio.Task[None] | None = None
        #: Where a plain function runs: it may go on after its verdict.
        self.thread: asyncio.Future[Any] | None = None
        #: The ident of that thread. None: it has not begun there.
        self.thread_id: int | None = None
        self.started: float | None = None
        self.finished: float | None = None
        self.handoffs: list[Outgoing] = []
        #: Set by whoever ends the run from outside: the verdict that the cancelled handler gets.
        self.ending: Verdict | None = None
        self.lease_lost = False
        #: The lease was lost before its end: cancelled, purged or retired. How long it ran says nothing about the work.
        self.taken_early = False
        #: Its code goes on though its verdict is given: it swallowed its cancellation.
        self.left = False
        self.verdict: Verdict | None = None
        # progress
        #: What its handler said last, and when, on the monotonic clock.
        self.progress: tuple[Progress, float] | None = None
        # settling
        #: The ledger has it as done: whatever the broker says after that, it is completed.
        self.sealed = False
        #: Who cancelled it while we held it. Empty: somebody. None: nobody, as far as is known.
        self.cancelled_by: str | None = None

    @property
    def attempt(self) -> int:
        """Number of this run, from 1, counting failed attempts only."""
        return self.lease.counters.attempts + 1

    @property
    def seconds(self) -> float | None:
        """How long the handler ran. None: it did not."""
        if self.started is None or self.finished is None:
            return None
        return self.finished - self.started

    @property
    def send_id(self) -> str:
        """Which send this run belongs to. Empty: nobody can say."""
        message = self.message
        if message is None:
            return ""
        own = send_id(message.id, message.sent_at)
        return own if message.key is None else self.key_send_id or own

    def hand_on(self, call: Call[Any], options: Options, *, sent_at: float) -> Outgoing:
        """Keep a hand-off for the ack; its id is derived, so that a repeated run hands on the same message."""
        message = self.message
        if message is None:
            msg = "only a message that is being run can hand on"
            raise RuntimeError(msg)
        id = derived_id(message, len(self.handoffs))
        out = outgoing(call, options, id=id, client=message.client, sent_at=sent_at, parent=message)
        self.handoffs.append(out)
        return out
