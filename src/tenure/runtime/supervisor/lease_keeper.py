"""Keeping: the supervisor beats for the leases of one child worker.

The very heartbeat of `heartbeat.py`, in a process that no handler can hold up. The child hands its leases over and
asks for them back; what becomes of them in between it is told (`orders.py`). While the child is stopped (SIGSTOP)
nobody beats for it: a frozen worker loses its leases here as everywhere.

Made by `supervisor.py` for each child, where that was asked for. The child's side is `entrusting.py`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import TenureError
from tenure.lease import Lease, LeaseState
from tenure.runtime import orders
from tenure.runtime.delivery import Delivery
from tenure.runtime.heartbeat import Heartbeat
from tenure.runtime.held import Held, Wish
from tenure.runtime.sideloop import cancel
from tenure.runtime.suspension import Suspension
from tenure.runtime.wire import Frame
from tenure.state import Ledger


class Keeping:
    """The leases of one child worker, in our hands."""

    def __init__(self, broker: Broker, ledger: Ledger, clock: Clock, tell: Callable[[Frame], None]) -> None:
        """Beat through `broker` and `ledger`; `tell` the child."""
        self._tell = tell
        self._heartbeat = heartbeat = _Heartbeat(broker, ledger, clock, self)
        self._suspension = Suspension(clock, heartbeat.__len__, heartbeat.check_now)
        self._entrusted: dict[int, Delivery] = {}
        self._numbers: dict[Delivery, int] = {}
        self._extended: list[tuple[int, float]] = []
        self._answering: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Beat until cancelled."""
        watching = asyncio.create_task(self._suspension.run())
        try:
            await self._heartbeat.run()
        finally:
            await cancel([watching])

    def freeze(self) -> None:
        """The child stands still: so do its leases."""
        self._heartbeat.thaw(frozen=True)

    def thaw(self) -> None:
        """It goes on."""
        self._heartbeat.thaw(frozen=False)

    # -- what the child says -----------------------------------------------------------------------

    def hear(self, frame: orders.Keeping) -> None:
        """Do as it asks."""
        match frame:
            case orders.Hold(entries):
                self._hold(entries)
            case orders.Begin(number):
                self._begin(number)
            case orders.HandOver(question, numbers):
                self._answer(self._hand_over(question, numbers))
            case orders.TouchNow(question, number, seconds):
                self._answer(self._touch(question, number, seconds))
            case orders.CheckNow(ids):
                self._heartbeat.check_now(None if ids is None else frozenset(ids))

    def _hold(self, entries: list[orders.Entry]) -> None:
        taken = []
        for entry in entries:
            delivery = Delivery(entry.lease)
            delivery.token = entry.token
            delivery.size = entry.lease.size
            delivery.is_renewed, delivery.first_beat = entry.is_renewed, entry.first_beat
            self._entrusted[entry.number], self._numbers[delivery] = delivery, entry.number
            taken.append(delivery)
        self._heartbeat.hold(taken)

    def _begin(self, number: int) -> None:
        delivery = self._entrusted.get(number)
        if delivery is not None:
            delivery.is_renewed = False
            self._heartbeat.begin(delivery)

    async def _hand_over(self, question: int, numbers: list[int]) -> None:
        asked = [self._forget(number) for number in numbers]
        known = [delivery for delivery in asked if delivery is not None]
        latest = dict(zip(known, await self._heartbeat.hand_over(known), strict=True))
        leases = [None if delivery is None else _unless_lost(latest[delivery]) for delivery in asked]
        self._tell(orders.HandedOver(question, leases))

    async def _touch(self, question: int, number: int, seconds: float | None) -> None:
        delivery = self._entrusted.get(number)
        if delivery is None:
            self._tell(orders.Touched(question, "lease_lost", "the lease is lost; it was not renewed"))
            return
        try:
            await self._heartbeat.touch_now(delivery, seconds)
        except TenureError as error:
            self._tell(orders.Touched(question, error.code, str(error)))
        else:
            self._tell(orders.Touched(question))

    def _answer(self, answering: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(answering)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _forget(self, number: int) -> Delivery | None:
        delivery = self._entrusted.pop(number, None)
        if delivery is not None:
            del self._numbers[delivery]
        return delivery

    # -- what the heartbeat says -------------------------------------------------------------------

    def on_lost(self, delivery: Delivery) -> None:
        """Told to the child, which ends the handler."""
        number = self._numbers.get(delivery)
        if number is not None:
            self._forget(number)
            self._tell(orders.Gone(number))

    def on_failed(self, count: int, error: str) -> None:
        """Told to the child, for its journal."""
        self._tell(orders.Missed(count, error))

    def on_extended(self, held: Held) -> None:
        """Told to the child, all of one beat at once."""
        number = self._numbers.get(held.delivery)
        if number is None:
            return
        if not self._extended:
            asyncio.get_running_loop().call_soon(self._tell_extended)
        self._extended.append((number, held.lease.deadline))

    def _tell_extended(self) -> None:
        extended, self._extended = self._extended, []
        self._tell(orders.Extended(extended))


class _Heartbeat(Heartbeat):
    """As the worker's own, but it says what it renewed, and can stand still."""

    def __init__(self, broker: Broker, ledger: Ledger, clock: Clock, keeping: Keeping) -> None:
        super().__init__(
            broker, ledger, clock,
            on_lost=keeping.on_lost, on_overheld=lambda _: None, on_failed=keeping.on_failed,
        )  # fmt: skip
        self._keeping = keeping
        self._frozen = False
        self.expected = lambda delivery: delivery.lease.predicted_seconds  # the child said so

    def thaw(self, *, frozen: bool) -> None:
        """Stand still, or go on with what became due meanwhile."""
        self._frozen = frozen
        self._nudge()

    def _next_pause(self) -> float | None:
        return None if self._frozen else super()._next_pause()

    async def _beat(self) -> None:
        if not self._frozen:
            await super()._beat()

    def _extend(self, beat: tuple[Held, Wish], now: float) -> None:
        super()._extend(beat, now)
        self._keeping.on_extended(beat[0])


def _unless_lost(lease: Lease) -> Lease | None:
    return None if lease.state is LeaseState.LOST else lease
