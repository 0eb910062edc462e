"""The heartbeat: the only keeper of the latest lease of everything in flight.

`hold` takes over a batch of leases, `hand_over` gives the latest ones back for settling. In between one loop renews all
of them in batches, each at a third of its lease, so that short messages never use the network. It runs on a loop and
thread of its own (`side_thread.py`), so it goes on while a handler blocks the worker's loop; in virtual time it runs in
the one loop there is.

A beat that fails is tried again within the interval. A lease is lost only when the broker says so: while the broker is
away the work goes on, and the fence decides when it is back.

For tasks with `heartbeat=False` the lease is not renewed once the handler has started. It is still kept here: it is
touched once on arrival if it is shorter than the work needs, and it counts as lost when it ends.

`held_lease.py` has when one lease is due, and what becomes of it after a beat. Before: `path/holding.py`. After:
`path/outbox.py`.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import math
import threading
from collections.abc import Callable, Sequence

import msgspec

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, LeaseLost
from tenure.lease import Lease, LeaseState
from tenure.runtime.background.held_lease import KeptLease, Wish, first_due, max_hold
from tenure.runtime.delivery import BeatStats, Delivery
from tenure.state import Ledger
from tenure.timing.policy import beat_interval

__all__ = ["Beat", "BeatStats", "Heartbeat"]

logger = logging.getLogger("tenure.heartbeat")

#: Beats due within this part of their interval go along with one that is due now.
_GATHER = 0.2
#: A message whose lease was renewed, and what was done for it so far.
Beat = tuple[Delivery, BeatStats]
#: A lease that is being renewed, and what was asked for it.
_Beat = tuple[KeptLease, Wish]


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
        on_failed: Callable[[Sequence[str], str], None],
        on_beats: Callable[[Sequence[Beat]], None] | None = None,
    ) -> None:
        """Take callbacks, called on the heartbeat's own loop.

        `on_failed`: the messages, and why; `on_beats`: what was done so far for each message whose lease was renewed.
        """
        self._broker = broker
        self._ledger = ledger
        self._clock = clock
        self._on_lost = on_lost
        self._on_overheld = on_overheld
        self._on_failed = on_failed
        self._on_beats = on_beats
        #: How long a run is expected to take; asked from any thread, and sent to the store with a beat.
        self.expected: Callable[[Delivery], float | None] = lambda _: None
        self._held: dict[Delivery, KeptLease] = {}
        self._lock = threading.Lock()
        self._in_beat: frozenset[KeptLease] = frozenset()
        self._beat_over: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._wakes_at = math.inf
        #: Messages whose lease is touched at once, whenever it is due. None: all of them. Not a due time: a beat under
        #: way was perhaps asked before the cancel, and sets its own next one.
        self._to_check: frozenset[str] | None = frozenset()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._nudged: asyncio.Event | None = None

    def __len__(self) -> int:
        """Count the leases that are held."""
        return len(self._held)

    # -- called from the worker's loop -------------------------------------------------------------

    def hold(
        self, deliveries: Sequence[Delivery], leases: Sequence[Lease] | None = None, *, begun: bool = True
    ) -> None:
        """Take over the leases of a batch. `begun`: their handlers start now, and with them the time of `max_hold`.

        `leases`: the latest ones, where these were held before.
        """
        now = self._clock.monotonic()
        earliest = math.inf
        with self._lock:
            for delivery, lease in zip(deliveries, leases or [one.lease for one in deliveries], strict=True):
                ends = now + max_hold(delivery) if begun else math.inf
                held = KeptLease(delivery, lease, first_due(delivery, lease, now), ends)
                self._held[delivery] = held
                if begun and not delivery.is_renewed and delivery.verdict is None:  # else its settle waits
                    held.stop_renewing(now)
                earliest = min(earliest, held.due, ends, held.lapses)
            late = earliest < self._wakes_at
        if late:
            self._nudge()

    def begin(self, delivery: Delivery, *, is_renewed: bool) -> None:
        """The handler of one that was held waiting starts now. Nothing, if it is not held any more."""
        with self._lock:
            held = self._held.get(delivery)
            if held is None:
                return
            now = self._clock.monotonic()
            held.ends = now + max_hold(delivery)
            if not is_renewed:
                held.stop_renewing(now)
            late = held.wakes_at() < self._wakes_at
        if late:
            self._nudge()

    async def hand_over(self, deliveries: Sequence[Delivery]) -> list[Lease]:
        """Stop beating for these, and give up their latest leases; waits for a beat that is under way."""
        with self._lock:
            held = [self._held.pop(delivery, None) for delivery in deliveries]
            beating = not self._in_beat.isdisjoint(h for h in held if h is not None) if self._in_beat else False
            over = self._beat_over
            for one in held:
                if one is None or one.is_untouched:
                    continue
                if one.extensions or one.last_error is not None:
                    one.note_end()
                # A thread that was left may still wait for its touch.
                for waiter in one.take_wish().listening() if one.waiters else ():
                    waiter.set_exception(LeaseLost("the run was ended; its lease was not renewed"))
        if beating:
            # A touch may replace the receipt: settling with the old one would fail, or worse, succeed.
            await asyncio.wrap_future(over)
        return [d.lease if h is None else h.lease for d, h in zip(deliveries, held, strict=True)]

    def deadline(self, delivery: Delivery) -> float:
        """Return when the latest lease ends, on our clock."""
        held = self._held.get(delivery)
        return (held.lease if held else delivery.lease).deadline

    def deliveries(self) -> list[Delivery]:
        """Return the deliveries whose leases are held now. Any thread may call."""
        with self._lock:
            return list(self._held)

    def stats(self, delivery: Delivery) -> BeatStats:
        """The counts for this message so far."""
        held = self._held.get(delivery)
        if held is None:
            return BeatStats(is_running=False)
        return held.stats()

    async def touch_now(self, delivery: Delivery, seconds: float | None) -> None:
        """Renew one lease at once; raises `LeaseLost`."""
        waiter: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            held = self._held.get(delivery)
            if held is None or delivery.lease_lost:
                msg = f"the lease on {delivery.id} is lost; it was not renewed"
                raise LeaseLost(msg)
            held.ask(seconds, waiter, self._clock.monotonic())
        self._nudge()
        await asyncio.wrap_future(waiter)

    def check_now(self, ids: frozenset[str] | None = None) -> None:
        """Beat at once for these messages, or for all: they may have been cancelled. Any thread may call."""
        with self._lock:
            if ids is None or self._to_check is None:
                self._to_check = None
            else:
                self._to_check |= ids & {delivery.id for delivery in self._held}
        self._nudge()

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
            self._end_lapsed()
            await self._beat()

    def _next_pause(self) -> float | None:
        with self._lock:
            if self._to_check != frozenset():
                return 0.0
            self._wakes_at = min((h.wakes_at() for h in self._held.values()), default=math.inf)
            wakes_at = self._wakes_at
        return None if wakes_at == math.inf else max(0.0, wakes_at - self._clock.monotonic())

    def _nudge(self) -> None:
        loop, nudged = self._loop, self._nudged
        if loop is not None and nudged is not None and not loop.is_closed():
            loop.call_soon_threadsafe(nudged.set)

    def _end_overheld(self) -> None:
        now = self._clock.monotonic()
        with self._lock:
            over = [h for h in self._held.values() if h.ends <= now]
            for held in over:
                held.ends = math.inf
        for held in over:
            self._on_overheld(held.delivery)

    def _end_lapsed(self) -> None:
        """End runs whose lease is not renewed and has ended.

        Our own clock decides, which is never later than the broker's.

        If the run is over and waits to be settled, the lease is renewed from here on: otherwise the message would run
        again.
        """
        now = self._clock.monotonic()
        with self._lock:
            ended = [h for h in self._held.values() if h.lapses <= now]
            for held in ended:
                held.lapses = math.inf
                if held.delivery.verdict is not None:
                    held.is_renewed, held.due = True, now
            over = [(h, h.take_wish()) for h in ended if h.delivery.verdict is None]
        if over:
            self._lose(over)

    async def _beat(self) -> None:
        """Renew everything that is due, in one call."""
        now = self._clock.monotonic()
        with self._lock:
            due = self._due(now)
            if not due:
                return
            beats = [(held, held.take_wish()) for held in due]
            self._in_beat = frozenset(due)
            over = self._beat_over = concurrent.futures.Future()
            over.set_running_or_notify_cancel()  # a waiting caller may give up, but not cancel it
        limit = self._broker.traits.batch_limit
        try:
            for start in range(0, len(beats), limit):
                await self._renew(beats[start : start + limit])
        finally:
            with self._lock:
                self._in_beat = frozenset()
            over.set_result(None)

    def _due(self, now: float) -> list[KeptLease]:
        """The leases that must be renewed now or soon.

        After `check_now` also those that it named and that are not lost.
        """
        held = self._held.values()
        to_check, self._to_check = self._to_check, frozenset()
        if to_check is None:
            return [h for h in held if h.check(now)]
        checked = [h for h in held if h.delivery.id in to_check and h.check(now)] if to_check else []
        if not any(h.due <= now for h in held):
            return checked
        due = [h for h in held if h.due <= now + _GATHER * beat_interval(h.lease.seconds)]
        return [*due, *(h for h in checked if h not in due)]

    async def _renew(self, beats: list[_Beat]) -> None:
        """Renew claims first: where there is one it decides, whether the broker can be reached or not."""
        began = self._clock.monotonic()
        kept, error = await self._renew_claims(beats)
        answers: list[Lease | None]
        try:
            answers = [*await self._broker.touch([self._asked(held, wish) for held, wish in beats])]
        except BrokerUnavailable as away:
            answers, error = [None] * len(beats), away
        now = self._clock.monotonic()
        missed: list[_Beat] = []
        lost: list[_Beat] = []
        renewed: list[Beat] = []
        with self._lock:
            for beat, answer in zip(beats, answers, strict=True):
                held, wish = beat
                mine = kept.get(held) if held.delivery.claim is not None else _is_held(answer)
                if mine is False:
                    held.note_taken(began)  # before the answer replaces the lease and its deadline
                if answer is not None:
                    # A longer `ctx.touch` counts once: later beats ask for the usual time, and never shorten.
                    held.lease = msgspec.structs.replace(answer, seconds=held.lease.seconds)
                if mine is False:
                    lost.append(beat)
                elif mine is None or answer is None:
                    missed.append(beat)
                else:
                    self._extend(beat, now)
                    renewed.append((held.delivery, held.stats()))
                token = held.delivery.claim
                if mine and token is not None and not held.is_renewed:
                    held.lapses = max(held.lapses, began + wish.asked(token).seconds)
        if error is not None and missed:
            self._miss(missed, error)
        self._lose(lost)
        if renewed and self._on_beats is not None:
            self._on_beats(renewed)

    def _asked(self, held: KeptLease, wish: Wish) -> Lease:
        """The lease to touch, with what is known of the work, for people who look at leases."""
        lease, size, expected = wish.asked(held.lease), held.delivery.size, self.expected(held.delivery)
        if size is None and expected is None:
            return lease
        return msgspec.structs.replace(lease, size=size, predicted_seconds=expected)

    async def _renew_claims(self, beats: list[_Beat]) -> tuple[dict[KeptLease, bool], BrokerUnavailable | None]:
        """Which claims are still ours; empty, and why, if the ledger is away."""
        tokens = {held: wish.asked(held.delivery.claim) for held, wish in beats if held.delivery.claim}
        if not tokens:
            return {}, None
        try:
            kept = await self._ledger.renew(list(tokens.values()))
        except BrokerUnavailable as error:
            return {}, error
        return dict(zip(tokens, kept, strict=True)), None

    def _extend(self, beat: _Beat, now: float) -> None:
        held, wish = beat
        held.extend(wish, now)

    def _miss(self, missed: list[_Beat], error: BrokerUnavailable) -> None:
        now = self._clock.monotonic()
        with self._lock:
            for held, wish in missed:
                held.miss(wish, error, now)
        self._on_failed([held.delivery.id for held, _ in missed], str(error))

    def _lose(self, lost: list[_Beat]) -> None:
        ended: list[KeptLease] = []
        with self._lock:
            for held, wish in lost:
                if held.note_lost():
                    self._held.pop(held.delivery, None)
                    ended.append(held)
                held.lose(wish)
        for held in ended:
            logger.debug("lost the lease on %s; ending its handler", held.delivery.id)  # `reporting` logs it
            self._on_lost(held.delivery)


def _is_held(answer: Lease | None) -> bool | None:
    return None if answer is None else answer.state is LeaseState.HELD
