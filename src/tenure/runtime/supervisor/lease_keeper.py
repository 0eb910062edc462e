"""The lease keeper: the supervisor renews the leases of one child worker.

It is the heartbeat of `background/heartbeat.py`, in a process that no handler can block. The child hands its leases
over and asks for them back; it is told what happens to them meanwhile (`protocol.py`). While the child is stopped
(SIGSTOP) its leases are not renewed: a frozen worker loses its leases, as it would without a supervisor.

Made by `supervisor.py` for each child with `--heartbeat supervisor`. The child's side is `remote_heartbeat.py`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import TenureError
from tenure.lease import Lease, LeaseState
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.background.held_lease import KeptLease, Wish
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.background.suspension import Suspension
from tenure.runtime.delivery import Delivery, Plan
from tenure.runtime.processes.frames import Frame
from tenure.runtime.supervisor import protocol
from tenure.state import Ledger


class LeaseKeeper:
    """The leases of one child worker, kept by the supervisor."""

    def __init__(self, broker: Broker, ledger: Ledger, clock: Clock, tell: Callable[[Frame], None]) -> None:
        """Beat through `broker` and `ledger`; `tell` sends to the child."""
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
        """Stop renewing, because the child is stopped."""
        self._heartbeat.thaw(frozen=True)

    def thaw(self) -> None:
        """Renew again after a freeze."""
        self._heartbeat.thaw(frozen=False)

    # -- what the child says -----------------------------------------------------------------------

    def hear(self, frame: protocol.Keeping) -> None:
        """Carry out a request of the child."""
        match frame:
            case protocol.Hold(entries):
                self._hold(entries)
            case protocol.Begin(number):
                self._begin(number)
            case protocol.HandOver(question, numbers):
                self._answer(self._hand_over(question, numbers))
            case protocol.TouchNow(question, number, seconds):
                self._answer(self._touch(question, number, seconds))
            case protocol.CheckNow(ids):
                self._heartbeat.check_now(None if ids is None else frozenset(ids))

    def _hold(self, entries: list[protocol.EntrustedLease]) -> None:
        taken = []
        for entry in entries:
            plan = Plan(size=entry.lease.size, is_renewed=entry.is_renewed, first_beat=entry.first_beat)
            delivery = Delivery(entry.lease, plan=plan, token=entry.token)
            self._entrusted[entry.number], self._numbers[delivery] = delivery, entry.number
            taken.append(delivery)
        self._heartbeat.hold(taken)

    def _begin(self, number: int) -> None:
        delivery = self._entrusted.get(number)
        if delivery is not None:
            self._heartbeat.begin(delivery, is_renewed=False)

    async def _hand_over(self, question: int, numbers: list[int]) -> None:
        asked = [self._forget(number) for number in numbers]
        known = [delivery for delivery in asked if delivery is not None]
        latest = dict(zip(known, await self._heartbeat.hand_over(known), strict=True))
        leases = [None if delivery is None else _unless_lost(latest[delivery]) for delivery in asked]
        self._tell(protocol.HandedOver(question, leases))

    async def _touch(self, question: int, number: int, seconds: float | None) -> None:
        delivery = self._entrusted.get(number)
        if delivery is None:
            self._tell(protocol.Touched(question, "lease_lost", "the lease is lost; it was not renewed"))
            return
        try:
            await self._heartbeat.touch_now(delivery, seconds)
        except TenureError as error:
            self._tell(protocol.Touched(question, error.code, str(error)))
        else:
            self._tell(protocol.Touched(question))

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
        """Sent to the child, which ends the handler."""
        number = self._numbers.get(delivery)
        if number is not None:
            self._forget(number)
            self._tell(protocol.LeaseGone(number))

    def on_failed(self, ids: Sequence[str], error: str) -> None:
        """Sent to the child, for its journal."""
        missed = set(ids)
        numbers = [number for number, delivery in self._entrusted.items() if delivery.id in missed]
        self._tell(protocol.Missed(numbers, error))

    def on_extended(self, held: KeptLease) -> None:
        """Sent to the child, all of one beat at once."""
        number = self._numbers.get(held.delivery)
        if number is None:
            return
        if not self._extended:
            asyncio.get_running_loop().call_soon(self._tell_extended)
        self._extended.append((number, held.lease.deadline))

    def _tell_extended(self) -> None:
        extended, self._extended = self._extended, []
        self._tell(protocol.Extended(extended))


class _Heartbeat(Heartbeat):
    """The worker's heartbeat, but it reports what it renewed, and can be frozen."""

    def __init__(self, broker: Broker, ledger: Ledger, clock: Clock, keeping: LeaseKeeper) -> None:
        super().__init__(
            broker,
            ledger,
            clock,
            on_lost=keeping.on_lost,
            on_overheld=lambda _: None,
            on_failed=keeping.on_failed,
        )
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

    def _extend(self, beat: tuple[KeptLease, Wish], now: float) -> None:
        super()._extend(beat, now)
        self._keeping.on_extended(beat[0])


def _unless_lost(lease: Lease) -> Lease | None:
    return None if lease.state is LeaseState.LOST else lease
