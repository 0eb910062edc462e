"""The remote heartbeat: the supervisor renews the leases, for handlers that hold the GIL.

The worker uses it as its heartbeat. It passes every lease to the supervisor before the handler starts, and asks for it
back before anything is settled; in between the supervisor's process renews it, whatever this process does
(`lease_keeper.py`). There is one keeper at any time: nothing is renewed here. `max_hold` is still watched here, by the
same loop.
"""

import asyncio
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import LeaseLost
from tenure.lease import Lease, LeaseState
from tenure.runtime.background.heartbeat import Beat, Heartbeat
from tenure.runtime.background.held_lease import KeptLease, max_hold
from tenure.runtime.delivery import Delivery
from tenure.runtime.processes.frames import Refusal, error_of
from tenure.runtime.supervisor.protocol import (
    Begin,
    CheckNow,
    EntrustedLease,
    Extended,
    HandedOver,
    HandOver,
    Hold,
    LeaseGone,
    Missed,
    News,
    Touched,
    TouchNow,
)
from tenure.runtime.supervisor.supervisor_link import SupervisorLink
from tenure.state import Ledger

T = TypeVar("T")


class RemoteHeartbeat(Heartbeat):
    """Keeps leases alive through the supervisor."""

    def __init__(
        self,
        link: SupervisorLink,
        broker: Broker,
        ledger: Ledger,
        clock: Clock,
        *,
        on_lost: Callable[[Delivery], None],
        on_overheld: Callable[[Delivery], None],
        on_failed: Callable[[Sequence[str], str], None],
        on_beats: Callable[[Sequence[Beat]], None] | None = None,
    ) -> None:
        """Speak through `link`."""
        super().__init__(
            broker, ledger, clock, on_lost=on_lost, on_overheld=on_overheld, on_failed=on_failed, on_beats=on_beats
        )
        self._link = link
        self._count = itertools.count(1)
        self._numbers: dict[Delivery, int] = {}
        self._entrusted: dict[int, KeptLease] = {}
        self._handing: dict[int, asyncio.Future[list[Lease | None]]] = {}
        self._touching: dict[int, asyncio.Future[None]] = {}
        link.subscribe(self._hear)

    # -- called from the worker's loop -------------------------------------------------------------

    def hold(
        self, deliveries: Sequence[Delivery], leases: Sequence[Lease] | None = None, *, begun: bool = True
    ) -> None:
        """Pass the leases of a batch on."""
        now = self._clock.monotonic()
        entries = []
        with self._lock:
            for delivery, lease in zip(deliveries, leases or [one.lease for one in deliveries], strict=True):
                ends = now + max_hold(delivery) if begun else math.inf
                held = KeptLease(delivery, lease, math.inf, ends)  # renewed, and lost, by the supervisor's word alone
                number = next(self._count)
                self._held[delivery], self._numbers[delivery], self._entrusted[number] = held, number, held
                bare = msgspec.structs.replace(
                    lease, envelope=b"", size=delivery.size, predicted_seconds=self.expected(delivery)
                )
                # Not yet begun, or over and its settle waits: renewed whatever its task says.
                is_renewed = delivery.is_renewed or not begun or delivery.verdict is not None
                entries.append(EntrustedLease(number, bare, delivery.claim, is_renewed, delivery.first_beat))
            late = any(self._entrusted[entry.number].ends < self._wakes_at for entry in entries)
        if entries:
            self._link.tell(Hold(entries))
        if late:
            self._nudge()

    def begin(self, delivery: Delivery, *, is_renewed: bool) -> None:
        """The handler of one that was held waiting starts now."""
        with self._lock:
            held, number = self._held.get(delivery), self._numbers.get(delivery)
            if held is None:
                return
            held.ends = self._clock.monotonic() + max_hold(delivery)
            late = held.ends < self._wakes_at
        if number is not None and not is_renewed:
            self._link.tell(Begin(number))
        if late:
            self._nudge()

    async def hand_over(self, deliveries: Sequence[Delivery]) -> list[Lease]:
        """Ask for the latest leases; the supervisor waits for a beat that is under way."""
        with self._lock:
            held = [self._held.pop(delivery, None) for delivery in deliveries]
            numbers = [self._numbers.pop(delivery, None) for delivery in deliveries]
            for number in numbers:
                if number is not None:
                    self._entrusted.pop(number, None)
        asked = [number for number in numbers if number is not None]
        latest = dict(zip(asked, await self._ask_for(asked), strict=True)) if asked else {}
        for kept in held:
            if kept is not None and (kept.extensions or kept.last_error is not None):
                kept.note_end()
        return [
            _with_envelope(latest.get(number) if number else None, delivery.lease if kept is None else kept.lease)
            for delivery, kept, number in zip(deliveries, held, numbers, strict=True)
        ]

    async def _ask_for(self, numbers: list[int]) -> list[Lease | None]:
        question = next(self._count)
        answer: asyncio.Future[list[Lease | None]] = asyncio.get_running_loop().create_future()
        self._handing[question] = answer
        self._link.tell(HandOver(question, numbers))
        return await answer

    async def touch_now(self, delivery: Delivery, seconds: float | None) -> None:
        """Renew one lease at once; raises `LeaseLost`."""
        number = self._numbers.get(delivery)
        if number is None or delivery.lease_lost:
            msg = f"the lease on {delivery.id} is lost; it was not renewed"
            raise LeaseLost(msg)
        question = next(self._count)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._touching[question] = answer
        self._link.tell(TouchNow(question, number, seconds))
        await answer

    def check_now(self, ids: frozenset[str] | None = None) -> None:
        """Have the supervisor beat at once for these messages, or for all. Any thread may call."""
        if ids is None:
            self._link.tell(CheckNow())
        elif mine := sorted(ids & {delivery.id for delivery in list(self._numbers)}):
            self._link.tell(CheckNow(mine))

    # -- what the supervisor says, on the worker's loop --------------------------------------------

    def _hear(self, news: News) -> None:
        match news:
            case HandedOver(question, leases):
                _answer(self._handing.pop(question), leases)
            case Touched(question, code, text):
                error = error_of(Refusal(question, code, text)) if code else None
                _answer(self._touching.pop(question), None, error)
            case Extended(deadlines):
                self._note_extended(deadlines)
            case Missed(numbers, error_text):
                self._note_missed(numbers, error_text)
            case LeaseGone(number):
                self._note_gone(number)

    def _note_extended(self, deadlines: list[tuple[int, float]]) -> None:
        renewed: list[Beat] = []
        with self._lock:
            for number, deadline in deadlines:
                held = self._entrusted.get(number)
                if held is not None:
                    held.lease = msgspec.structs.replace(held.lease, deadline=deadline)
                    held.extensions += 1
                    held.extended += held.lease.seconds
                    held.last_error = None
                    renewed.append((held.delivery, held.stats()))
        if renewed and self._on_beats is not None:
            self._on_beats(renewed)

    def _note_missed(self, numbers: list[int], error: str) -> None:
        with self._lock:
            missed = [self._entrusted[number] for number in numbers if number in self._entrusted]
            for held in missed:
                held.last_error = error
        self._on_failed([held.delivery.id for held in missed], error)

    def _note_gone(self, number: int) -> None:
        with self._lock:
            held = self._entrusted.pop(number, None)
            if held is None:
                return
            delivery = held.delivery
            del self._numbers[delivery]
            held.note_taken(self._clock.monotonic())
            held.lease = msgspec.structs.replace(held.lease, state=LeaseState.LOST)
            is_over = held.note_lost()
            if is_over:
                del self._held[delivery]
        if is_over:
            self._on_lost(delivery)


def _with_envelope(latest: Lease | None, known: Lease) -> Lease:
    return known if latest is None else msgspec.structs.replace(latest, envelope=known.envelope)


def _answer(waiting: "asyncio.Future[T]", value: T, error: Exception | None = None) -> None:
    if waiting.done():  # the caller has given up
        return
    if error is None:
        waiting.set_result(value)
    else:
        waiting.set_exception(error)
