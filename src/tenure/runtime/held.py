"""One lease in the heartbeat's keeping, and what handlers asked for it.

Made by `Heartbeat.hold`, dropped by `Heartbeat.hand_over`. Everything here is guarded by the heartbeat's lock.
"""

import concurrent.futures
from typing import TypeVar

import msgspec

from tenure.claim import Token
from tenure.lease import Lease
from tenure.runtime.delivery import Delivery

Right = TypeVar("Right", Lease, Token)

#: Of the lease that a message needs, the part that need not be touched longer.
_LONG_ENOUGH = 0.95


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
        self.lapses = float("inf")
        self.extensions = 0
        self.extended = 0.0
        self.last_error: str | None = None
        #: Seconds that a handler asked for by `ctx.touch`, and who waits for it.
        self.touch: float | None = None
        self.waiters: list[concurrent.futures.Future[None]] = []

    def take_wish(self) -> Wish:
        """What the beat that begins now must fulfil; what is asked for later waits for the next one."""
        wish = Wish(self.touch, self.waiters)
        self.touch, self.waiters = None, []
        return wish

    def wakes_at(self) -> float:
        """When something must be done about it."""
        return min(self.due, self.ends, self.lapses)

    def stop_renewing(self, now: float) -> None:
        """Its handler begins and must be over when its lease is; one touch where it was lent for less than it needs."""
        self.is_renewed = False
        self.lapses = self.lease.deadline
        worth = self.lease.remaining(now) < _LONG_ENOUGH * self.lease.seconds
        self.due = now if worth else float("inf")

    def rest(self, now: float) -> float:
        """For how long it is ours without another touch: by its claim perhaps for longer than by its lease."""
        left = self.lease.remaining(now)
        return left if self.lapses == float("inf") else max(left, self.lapses - now)

    def stats(self) -> BeatStats:
        """What was done for this message so far."""
        return BeatStats(self.extensions, self.extended, self.last_error)
