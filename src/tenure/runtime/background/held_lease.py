"""One lease in the heartbeat's keeping: when something is due for it, what handlers asked for it, what became of it.

Made by `Heartbeat.hold`, dropped by `Heartbeat.hand_over`. Everything here is guarded by the heartbeat's lock.
"""

import concurrent.futures
import math
from typing import TypeVar

import msgspec

from tenure.claim import Token
from tenure.errors import BrokerUnavailable, LeaseLost
from tenure.lease import Lease, LeaseState
from tenure.runtime.delivery import Delivery
from tenure.timing.policy import beat_again_within, beat_interval

Right = TypeVar("Right", Lease, Token)

#: Of the lease that a message needs, the part that need not be touched longer.
_LONG_ENOUGH = 0.95
#: To ask whether a lease stands that nobody renews; what is left of it, if that is more.
_LEAST_TOUCH_SECONDS = 1.0


def first_due(delivery: Delivery, now: float) -> float:
    """At a third of the lease, or as was learned; sooner for one that is not new, as after a settle that failed."""
    lease = delivery.lease
    first = delivery.first_beat or beat_interval(lease.seconds)
    return min(now + first, lease.deadline - lease.seconds + first)


def max_hold(delivery: Delivery) -> float:
    """How long it may be held at most, in seconds."""
    message, task = delivery.message, delivery.task
    if message is not None and message.overrides.max_hold_seconds is not None:
        return message.overrides.max_hold_seconds
    if task is not None and task.policy.lease.max_hold_seconds is not None:
        return task.policy.lease.max_hold_seconds
    return math.inf


class BeatStats(msgspec.Struct, frozen=True):
    """What the heartbeat did for one message."""

    extension_count: int = 0
    total_extended_seconds: float = 0.0
    last_error: str | None = None
    is_running: bool = True


class Wish(msgspec.Struct, frozen=True):
    """What handlers asked for by `ctx.touch` since the last beat."""

    #: None: the usual time.
    seconds: float | None
    waiters: list[concurrent.futures.Future[None]]

    def asked(self, right: Right) -> Right:
        """A lease or a claim, for as long as was asked."""
        return right if self.seconds is None else msgspec.structs.replace(right, seconds=self.seconds)

    def listening(self) -> list[concurrent.futures.Future[None]]:
        """Whoever waits for a touch and has not given up; each is asked once."""
        return [waiter for waiter in self.waiters if waiter.set_running_or_notify_cancel()]


class Held:
    """One lease in our keeping."""

    __slots__ = (
        "delivery",
        "due",
        "ends",
        "extended",
        "extensions",
        "is_renewed",
        "lapses",
        "last_error",
        "lease",
        "touch",
        "waiters",
    )

    def __init__(self, delivery: Delivery, due: float, ends: float) -> None:
        """Beat first at `due`; `max_hold` ends the run at `ends`."""
        self.delivery = delivery
        self.lease: Lease = delivery.lease
        #: When the next beat is due. Infinite: nobody renews it, or it is lost and its settle waits in the outbox.
        self.due = due
        self.ends = ends
        #: False: its handler has begun, and nobody renews its lease meanwhile.
        self.is_renewed = True
        #: When the run is over because its lease is, where nobody renews it.
        self.lapses = math.inf
        self.extensions = 0
        self.extended = 0.0
        self.last_error: str | None = None
        #: Seconds that a handler asked for by `ctx.touch`, and who waits for it.
        self.touch: float | None = None
        self.waiters: list[concurrent.futures.Future[None]] = []

    # -- when something is due ---------------------------------------------------------------------

    def wakes_at(self) -> float:
        """When something must be done about it."""
        return min(self.due, self.ends, self.lapses)

    def rest(self, now: float) -> float:
        """For how long it is ours without another touch: by its claim perhaps for longer than by its lease."""
        left = self.lease.remaining(now)
        return left if self.lapses == math.inf else max(left, self.lapses - now)

    def stop_renewing(self, now: float) -> None:
        """Its handler begins and must be over when its lease is; one touch where it was lent for less than it needs."""
        self.is_renewed = False
        self.lapses = self.lease.deadline
        worth = self.lease.remaining(now) < _LONG_ENOUGH * self.lease.seconds
        self.due = now if worth else math.inf

    # -- what is asked for -------------------------------------------------------------------------

    def ask(self, seconds: float | None, waiter: concurrent.futures.Future[None], now: float) -> None:
        """A handler wants it touched at once, for `seconds` or the usual time, and waits for that."""
        asked = seconds or self.lease.seconds
        if not self.is_renewed:  # a claim could be shortened by it, and nobody would make it longer again
            asked = max(asked, self.rest(now))
        self.touch = max(asked, self.touch or 0.0)
        self.due = 0.0
        self.waiters.append(waiter)

    def check(self, now: float) -> bool:
        """Have the next touch tell whether it stands. False: it is lost, and there is nothing to touch."""
        if not self.is_renewed and self.due == math.inf:
            self.touch = max(_LEAST_TOUCH_SECONDS, self.rest(now))  # asked, and not renewed by it
        return self.due != math.inf or self.lapses != math.inf

    def take_wish(self) -> Wish:
        """What the beat that begins now must fulfil; what is asked for later waits for the next one."""
        wish = Wish(self.touch, self.waiters)
        self.touch, self.waiters = None, []
        return wish

    # -- what became of it -------------------------------------------------------------------------

    def extend(self, wish: Wish, now: float) -> None:
        """It was renewed."""
        self.due = now + beat_interval(self.lease.seconds) if not self.waiters else now
        if not self.is_renewed:
            self.due = math.inf if not self.waiters else now
            self.lapses = self.lease.deadline
        self.extensions += 1
        self.extended += wish.seconds or self.lease.seconds
        self.last_error = None
        for waiter in wish.listening():
            waiter.set_result(None)

    def miss(self, wish: Wish, error: BrokerUnavailable, now: float) -> None:
        """It could not be renewed for now: it is tried again within the interval."""
        self.lease = msgspec.structs.replace(self.lease, state=LeaseState.UNCERTAIN)
        self.last_error = str(error)
        self.due = now + beat_again_within(self.lease.seconds, self.lease.remaining(now))
        if wish.seconds is not None and not self.is_renewed:
            self.touch = max(wish.seconds, self.touch or 0.0)  # nobody will ask for more later
        for waiter in wish.listening():
            waiter.set_exception(error)

    def note_taken(self, now: float) -> None:
        """The store says that it is not ours: note whether that was so before its end, by our own clock."""
        self.delivery.taken_early = self.rest(now) > 0.0

    def lose(self, wish: Wish) -> None:
        """It is lost: nothing is due any more, and whoever waits for a touch is told."""
        self.lease = msgspec.structs.replace(self.lease, state=LeaseState.LOST)
        self.due = math.inf
        for waiter in (*wish.listening(), *self.take_wish().listening()):
            msg = f"the lease on {self.delivery.id} is lost: it was cancelled, or somebody else may be running it"
            waiter.set_exception(LeaseLost(msg))

    def stats(self) -> BeatStats:
        """What was done for this message so far."""
        return BeatStats(self.extensions, self.extended, self.last_error)
