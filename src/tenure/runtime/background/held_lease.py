"""One lease that the heartbeat keeps: when it is due, what handlers asked for, and what became of it.

Made by `Heartbeat.hold`, dropped by `Heartbeat.hand_over`. The heartbeat's lock guards everything here.
"""

import concurrent.futures
import math
from typing import TypeVar

import msgspec

from tenure.claim import Token
from tenure.errors import BrokerUnavailable, LeaseLost
from tenure.lease import Lease, LeaseState
from tenure.runtime.delivery import BeatStats, Delivery
from tenure.timing.policy import beat_again_within, beat_interval

Right = TypeVar("Right", Lease, Token)

#: Of the lease that a message needs, the part that need not be touched longer.
_LONG_ENOUGH = 0.95
#: To ask whether a lease stands that no heartbeat renews; what is left of it, if that is more.
_LEAST_TOUCH_SECONDS = 1.0


def first_due(delivery: Delivery, lease: Lease, now: float) -> float:
    """Return the first due time: a third of the lease, or as was learned; sooner for a lease that is not new."""
    first = delivery.first_beat or beat_interval(lease.seconds)
    return min(now + first, lease.deadline - lease.seconds + first)


def max_hold(delivery: Delivery) -> float:
    """Return how long it may be held at most, in seconds."""
    message, task = delivery.message, delivery.task
    if message is not None and message.overrides.max_hold_seconds is not None:
        return message.overrides.max_hold_seconds
    if task is not None and task.policy.lease.max_hold_seconds is not None:
        return task.policy.lease.max_hold_seconds
    return math.inf


class Wish(msgspec.Struct, frozen=True):
    """The renewal that handlers requested by `ctx.touch` since the last beat."""

    #: None: the usual time.
    seconds: float | None
    waiters: list[concurrent.futures.Future[None]]

    def asked(self, right: Right) -> Right:
        """A lease or a claim, for as long as was asked."""
        return right if self.seconds is None else msgspec.structs.replace(right, seconds=self.seconds)

    def listening(self) -> list[concurrent.futures.Future[None]]:
        """The callers that wait for a touch and have not given up; each is asked once."""
        return [waiter for waiter in self.waiters if waiter.set_running_or_notify_cancel()]


class KeptLease:
    """One lease that the heartbeat keeps."""

    __slots__ = (
        "delivery",
        "due",
        "ends",
        "extended",
        "extensions",
        "is_renewed",
        "is_untouched",
        "lapses",
        "last_error",
        "lease",
        "touch",
        "waiters",
    )

    def __init__(self, delivery: Delivery, lease: Lease, due: float, ends: float) -> None:
        """Beat first at `due`; `max_hold` ends the run at `ends`."""
        self.delivery = delivery
        #: The latest one.
        self.lease = lease
        #: When the next beat is due. Infinite: it is not renewed, or it is lost and its settle waits in the outbox.
        self.due = due
        self.ends = ends
        #: False: its handler has begun, and its lease is not renewed meanwhile.
        self.is_renewed = True
        #: When the run is over because its lease is, where no heartbeat renews it.
        self.lapses = math.inf
        #: Nothing was done for it: nearly always, and then nothing is asked when it is handed over.
        self.is_untouched = True
        self.extensions = 0
        self.extended = 0.0
        self.last_error: str | None = None
        #: Seconds that a handler asked for by `ctx.touch`, and who waits for it.
        self.touch: float | None = None
        self.waiters: list[concurrent.futures.Future[None]] = []

    # -- when something is due ---------------------------------------------------------------------

    def wakes_at(self) -> float:
        """Return when the next action is due."""
        return min(self.due, self.ends, self.lapses)

    def rest(self, now: float) -> float:
        """Return how long it is ours without another touch: its claim may last longer than its lease."""
        left = self.lease.remaining(now)
        return left if self.lapses == math.inf else max(left, self.lapses - now)

    def stop_renewing(self, now: float) -> None:
        """Stop renewing as the handler begins; touch once more if the lease is shorter than it needs."""
        self.is_renewed = False
        self.lapses = self.lease.deadline
        worth = self.lease.remaining(now) < _LONG_ENOUGH * self.lease.seconds
        self.due = now if worth else math.inf

    # -- what is asked for -------------------------------------------------------------------------

    def ask(self, seconds: float | None, waiter: concurrent.futures.Future[None], now: float) -> None:
        """Note that a handler wants it touched at once, for `seconds` or the usual time, and waits for that."""
        asked = seconds or self.lease.seconds
        if not self.is_renewed:  # it could shorten a claim, which would stay short
            asked = max(asked, self.rest(now))
        self.touch = max(asked, self.touch or 0.0)
        self.due = 0.0
        self.is_untouched = False
        self.waiters.append(waiter)

    def check(self, now: float) -> bool:
        """Have the next touch find out whether it is still ours. False: it is lost, and there is nothing to touch."""
        if not self.is_renewed and self.due == math.inf:
            self.touch = max(_LEAST_TOUCH_SECONDS, self.rest(now))  # asked, and not renewed by it
        return self.due != math.inf or self.lapses != math.inf

    def take_wish(self) -> Wish:
        """Take the wish for the beat that begins now; later wishes wait for the next beat."""
        wish = Wish(self.touch, self.waiters)
        self.touch, self.waiters = None, []
        return wish

    # -- what became of it -------------------------------------------------------------------------

    def extend(self, wish: Wish, now: float) -> None:
        """Note that it was renewed."""
        self.is_untouched = False
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
        """Note that the renewal failed; it is tried again within the interval."""
        self.is_untouched = False
        self.lease = msgspec.structs.replace(self.lease, state=LeaseState.UNCERTAIN)
        self.last_error = str(error)
        self.due = now + beat_again_within(self.lease.seconds, self.lease.remaining(now))
        if wish.seconds is not None and not self.is_renewed:
            self.touch = max(wish.seconds, self.touch or 0.0)  # no later beat will ask for more
        for waiter in wish.listening():
            waiter.set_exception(error)

    def note_taken(self, now: float) -> None:
        """Note that the store says that it is no longer ours, and whether that was before its end by our own clock."""
        self.delivery.taken_early = self.rest(now) > 0.0

    def note_lost(self) -> bool:
        """Mark it as lost, which ends its run. False: it has its verdict, and its settle waits in the outbox.

        That settle may have taken effect although no answer came; the store's fence decides.
        """
        if self.delivery.verdict is not None:
            return False
        self.delivery.lease_lost = True
        self.note_end()
        return True

    def note_end(self) -> None:
        """Keep what was done for it with its delivery. Not called for leases that were never renewed: nearly all."""
        before, stats = self.delivery.beats, self.stats()
        self.delivery.beats = stats if before is None else stats.after(before)

    def lose(self, wish: Wish) -> None:
        """End a lost lease: nothing is due any more, and callers that wait for a touch get the error."""
        self.lease = msgspec.structs.replace(self.lease, state=LeaseState.LOST)
        self.due = math.inf
        for waiter in (*wish.listening(), *self.take_wish().listening()):
            msg = f"the lease on {self.delivery.id} is lost: it was cancelled, or another worker may be running it"
            waiter.set_exception(LeaseLost(msg))

    def stats(self) -> BeatStats:
        """The counts for this message so far."""
        return BeatStats(self.extensions, self.extended, self.last_error, deadline=self.lease.deadline)
