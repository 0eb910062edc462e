"""The heartbeat: sole keeper of the latest lease of everything in flight.

`hold` takes over a batch of leases, `hand_over` gives the latest ones back for settling. In between one
loop renews them all, batched, each at a third of its lease, so that short messages never touch the
network. It runs on a loop and thread of its own (`sideloop.py`) and so survives handlers that block the
worker's loop; in virtual time it runs in the one loop there is.

A beat that fails is tried again within the interval. A lease is lost only when the broker says so: while
the broker is away the work goes on, and the fence decides when it is back.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, LeaseLost
from tenure.lease import Lease, LeaseState
from tenure.runtime.delivery import Delivery
from tenure.state import Ledger
from tenure.timing.policy import beat_interval

logger = logging.getLogger("tenure.heartbeat")

#: Beats due within this part of their interval go along with one that is due now.
_GATHER = 0.2
#: A failed beat comes again after this part of its interval.
_RETRY = 0.25


class BeatStats(msgspec.Struct, frozen=True):
    """What the heartbeat did for one message."""

    extension_count: int = 0
    total_extended_seconds: float = 0.0
    last_error: str | None = None
    is_running: bool = True


class _Held:
    """One lease in our keeping."""

    __slots__ = (
        "delivery",
        "due",
        "ends",
        "extended",
        "extensions",
        "last_error",
        "lease",
        "touch",
        "waiters",
    )

    def __init__(self, delivery: Delivery, due: float, ends: float) -> None:
        self.delivery = delivery
        self.lease = delivery.lease
        #: When the next beat is due, and when `max_hold` ends the run.
        self.due = due
        self.ends = ends
        self.extensions = 0
        self.extended = 0.0
        self.last_error: str | None = None
        #: Seconds that a handler asked for by `ctx.touch`, and who waits for it.
        self.touch: float | None = None
        self.waiters: list[concurrent.futures.Future[None]] = []


class Heartbeat:
    """Keeps leases alive until they are handed over."""

    def __init__(
        self,
        broker: Broker,
        ledger: Ledger,
        clock: Clock,
        *,
        on_lost: Callable[[Delivery], None],
        on_overheld: Callable[[Delivery], None],
        on_failed: Callable[[int, str], None],
    ) -> None:
        """`on_lost` and `on_overheld` are called from the heartbeat's own loop."""
        self._broker = broker
        self._ledger = ledger
        self._clock = clock
        self._on_lost = on_lost
        self._on_overheld = on_overheld
        self._on_failed = on_failed
        self._held: dict[Delivery, _Held] = {}
        self._lock = threading.Lock()
        self._in_beat: frozenset[_Held] = frozenset()
        self._beat_over: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._wakes_at = float("inf")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._nudged: asyncio.Event | None = None

    def __len__(self) -> int:
        """How many leases are held."""
        return len(self._held)

    # -- called from the worker's loop -------------------------------------------------------------

    def hold(self, deliveries: Iterable[Delivery]) -> None:
        """Take over the leases of a batch."""
        now = self._clock.monotonic()
        earliest = float("inf")
        with self._lock:
            for delivery in deliveries:
                due = now + beat_interval(delivery.lease.seconds)
                ends = now + _max_hold(delivery)
                self._held[delivery] = _Held(delivery, due, ends)
                earliest = min(earliest, due, ends)
            late = earliest < self._wakes_at
        if late:
            self._nudge()

    async def hand_over(self, deliveries: Sequence[Delivery]) -> list[Lease]:
        """Stop beating for these, and give up their latest leases; waits for a beat that is under way."""
        with self._lock:
            held = [self._held.pop(delivery, None) for delivery in deliveries]
            beating = not self._in_beat.isdisjoint(h for h in held if h is not None) if self._in_beat else False
            over = self._beat_over
        if beating:
            # A touch may replace the receipt: settling with the old one would fail, or worse, succeed.
            await asyncio.wrap_future(over)
        return [d.lease if h is None else h.lease for d, h in zip(deliveries, held, strict=True)]

    def deadline(self, delivery: Delivery) -> float:
        """When the latest lease ends, on our clock."""
        held = self._held.get(delivery)
        return (held.lease if held else delivery.lease).deadline

    def stats(self, delivery: Delivery) -> BeatStats:
        """What was done for this message so far."""
        held = self._held.get(delivery)
        if held is None:
            return BeatStats(is_running=False)
        return BeatStats(held.extensions, held.extended, held.last_error)

    async def touch_now(self, delivery: Delivery, seconds: float | None) -> None:
        """Renew one lease at once; raises `LeaseLost`."""
        waiter: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            held = self._held.get(delivery)
            if held is None or delivery.lease_lost:
                msg = f"the lease on {delivery.id} is lost; it was not renewed"
                raise LeaseLost(msg)
            held.touch = max(seconds or held.lease.seconds, held.touch or 0.0)
            held.due = 0.0
            held.waiters.append(waiter)
        self._nudge()
        await asyncio.wrap_future(waiter)

    # -- the heartbeat's own loop ------------------------------------------------------------------

    async def run(self) -> None:
        """Beat until cancelled."""
        self._loop = asyncio.get_running_loop()
        self._nudged = asyncio.Event()
        while True:
            self._nudged.clear()
            pause = self._next_pause()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._nudged.wait()
            self._end_overheld()
            await self._beat()

    def _next_pause(self) -> float | None:
        with self._lock:
            self._wakes_at = min((min(h.due, h.ends) for h in self._held.values()), default=float("inf"))
            wakes_at = self._wakes_at
        return None if wakes_at == float("inf") else max(0.0, wakes_at - self._clock.monotonic())

    def _nudge(self) -> None:
        loop, nudged = self._loop, self._nudged
        if loop is not None and nudged is not None and not loop.is_closed():
            loop.call_soon_threadsafe(nudged.set)

    def _end_overheld(self) -> None:
        now = self._clock.monotonic()
        with self._lock:
            over = [h for h in self._held.values() if h.ends <= now]
            for held in over:
                held.ends = float("inf")
        for held in over:
            self._on_overheld(held.delivery)

    async def _beat(self) -> None:
        """Renew everything that is due, in one call."""
        now = self._clock.monotonic()
        with self._lock:
            if not any(h.due <= now for h in self._held.values()):
                return
            due = [h for h in self._held.values() if h.due <= now + _GATHER * beat_interval(h.lease.seconds)]
            self._in_beat = frozenset(due)
            over = self._beat_over = concurrent.futures.Future()
        try:
            await self._renew(due)
        finally:
            with self._lock:
                self._in_beat = frozenset()
            over.set_result(None)

    async def _renew(self, due: list[_Held]) -> None:
        asked = [h.lease if h.touch is None else msgspec.structs.replace(h.lease, seconds=h.touch) for h in due]
        try:
            answers = await self._broker.touch(asked)
            claims = await self._renew_claims(due)
        except BrokerUnavailable as error:
            self._miss(due, error)
            return
        now = self._clock.monotonic()
        lost: list[_Held] = []
        for held, answer in zip(due, answers, strict=True):
            # Where a claim exists it is the lease; the broker's own timer only decides on redelivery.
            mine = claims.get(held, answer.state is LeaseState.HELD)
            if mine:
                self._extend(held, answer, now)
            else:
                lost.append(held)
        self._lose(lost)

    async def _renew_claims(self, due: list[_Held]) -> dict[_Held, bool]:
        claimed = [(held, held.delivery.token) for held in due if held.delivery.token is not None]
        if not claimed:
            return {}
        kept = await self._ledger.renew([token for _, token in claimed if token is not None])
        return {held: ok for (held, _), ok in zip(claimed, kept, strict=True)}

    def _extend(self, held: _Held, answer: Lease, now: float) -> None:
        seconds = held.lease.seconds
        # A longer `ctx.touch` counts once: later beats ask for the usual time, and never shorten.
        held.lease = msgspec.structs.replace(answer, seconds=seconds)
        held.due = now + beat_interval(seconds)
        held.extensions += 1
        held.extended += held.touch or seconds
        held.touch = None
        held.last_error = None
        for waiter in _taken(held):
            waiter.set_result(None)

    def _miss(self, due: list[_Held], error: BrokerUnavailable) -> None:
        now = self._clock.monotonic()
        for held in due:
            held.lease = msgspec.structs.replace(held.lease, state=LeaseState.UNCERTAIN)
            held.last_error = str(error)
            held.due = now + _RETRY * beat_interval(held.lease.seconds)
            for waiter in _taken(held):
                waiter.set_exception(error)
        self._on_failed(len(due), str(error))

    def _lose(self, lost: list[_Held]) -> None:
        with self._lock:
            for held in lost:
                held.delivery.lease_lost = True
                held.lease = msgspec.structs.replace(held.lease, state=LeaseState.LOST)
                self._held.pop(held.delivery, None)
        for held in lost:
            logger.warning("lease on %s lost; its handler is ended and nothing will be settled", held.delivery.id)
            for waiter in _taken(held):
                msg = f"the lease on {held.delivery.id} is lost; somebody else may be running it"
                waiter.set_exception(LeaseLost(msg))
            self._on_lost(held.delivery)


def _taken(held: _Held) -> list[concurrent.futures.Future[None]]:
    """Whoever waits for a touch and has not given up."""
    waiters, held.waiters = held.waiters, []
    return [waiter for waiter in waiters if waiter.set_running_or_notify_cancel()]


def _max_hold(delivery: Delivery) -> float:
    message, task = delivery.message, delivery.task
    if message is not None and message.overrides.max_hold_seconds is not None:
        return message.overrides.max_hold_seconds
    if task is not None and task.policy.lease.max_hold_seconds is not None:
        return task.policy.lease.max_hold_seconds
    return float("inf")
