"""Admission: reads what was leased, and lets in what may run.

For the whole batch: decode, claim where a claim is needed, then the limits, the task's own quota last. What may not
run gets its verdict here and goes straight to `settling`; the rest is held by `heartbeat` and started by `handling`.
Before: `intake.py`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tenure import envelope
from tenure.broker import Broker
from tenure.claim import ClaimRequest, Conflict, Done, Fresh, Running, Scope, digest
from tenure.clock import Clock
from tenure.errors import BodyUndecodable, BrokerUnavailable, OwnerRetired
from tenure.lease import Lease
from tenure.message import Counters, Message
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.rules.lapse import is_lost_too_often, max_lost
from tenure.runtime import strangers
from tenure.runtime.backoff import Backoff
from tenure.runtime.delivery import Delivery
from tenure.runtime.learning import Learning
from tenure.runtime.room import Room
from tenure.runtime.routing import Routing
from tenure.runtime.slots import Slots
from tenure.runtime.strangers import Strangers
from tenure.state import State
from tenure.task import Task
from tenure.verdict import Dead, Duplicate, Lost, Reason, Returned, Verdict

logger = logging.getLogger("tenure.admission")


class Crew(Protocol):
    """What admission needs of the worker around it."""

    @property
    def owner_id(self) -> str:
        """Who claims."""
        ...

    def admit(self, deliveries: Sequence[Delivery]) -> None:
        """Hold and run these."""
        ...

    def hold(self, delivery: Delivery) -> None:
        """Hold this one, which waits for a place."""
        ...

    def is_running(self, id: str) -> bool:
        """Whether an earlier delivery of that message still runs here."""
        ...

    def conclude(self, delivery: Delivery, verdict: Verdict) -> None:
        """Settle without running."""
        ...


class Admission:
    """Decides for each message of a batch whether it runs."""

    def __init__(  # noqa: PLR0913 - made in one place, by the path
        self, broker: Broker, state: State, clock: Clock, slots: Slots, crew: Crew, *,
        wall: Callable[[], float], tasks: Mapping[str, Task[..., Any]], room: Room, learning: Learning,
        routing: Routing | None = None, probe: Probe = SYSTEM_PROBE,
    ) -> None:  # fmt: skip
        """Let in messages of the tasks in `tasks`. `wall` is the store's time, by which messages expire."""
        self._broker = broker
        self._ledger = state.ledger
        self._strangers = Strangers(state, clock, probe=probe)
        self._routing = routing or Routing(None, 1)
        self._clock = clock
        self._trouble = Backoff(clock)
        self._wall = wall
        self._slots = slots
        self._crew = crew
        self._room = room
        self._tasks = tasks
        self._learning = learning

    async def admit(self, leases: Sequence[Lease]) -> None:
        """Decide for each message of a batch whether it runs."""
        self._slots.take(len(leases))
        strange: list[tuple[Delivery, Reason]] = []
        self._learning.look()
        deliveries = [delivery for delivery in map(Delivery, leases) if self._read(delivery, strange)]
        deliveries = await self._claim(deliveries)
        self._crew.admit([d for d in deliveries if self._is_within_limits(d) and self._has_place(d)])
        for delivery, reason in strange:  # last: nobody waits while their histories are read
            self._refuse(delivery, await self._strangers.turn_away(delivery, reason))

    def _refuse(self, delivery: Delivery, verdict: Verdict) -> bool:
        self._slots.finish()
        self._crew.conclude(delivery, verdict)
        return False

    # -- reading -----------------------------------------------------------------------------------

    def _read(self, delivery: Delivery, strange: list[tuple[Delivery, Reason]]) -> bool:
        lease = delivery.lease
        try:
            message = delivery.message = envelope.decode(lease.envelope)
        except BodyUndecodable as error:
            if error.newer:
                strange.append((delivery, strangers.unreadable(str(error))))
                return False
            found = self._routing.read(delivery, error)
            if not isinstance(found, Message):
                return self._refuse(delivery, found)
            message = delivery.message = found
        if self._crew.is_running(lease.id):
            # We lost its lease and got it again, but the first run (a thread perhaps) has not ended.
            reason = Reason("running_here", "an earlier run of it has not ended yet")
            return self._refuse(delivery, Returned(lease.seconds / 3, reason))
        delivery.task = task = self._tasks.get(message.task)
        if task is None:
            strange.append((delivery, strangers.unknown(message.task)))
            return False
        if not self._broker.traits.lease_per_message:
            # Lent before anybody could read it: from its first touch on it is held for as long as it should be.
            own = message.overrides.lease_seconds
            seconds = self._learning.seconds_by_task().get(message.task, lease.seconds) if own is None else own
            delivery.lease = msgspec.structs.replace(delivery.lease, seconds=seconds)
        self._learning.prepare(delivery, task)
        return True

    # -- claiming ----------------------------------------------------------------------------------

    async def _claim(self, deliveries: list[Delivery]) -> list[Delivery]:
        """Ask the ledger for those that need it; DONE beats every other rule."""
        exact = self._broker.traits.settles_exactly_once
        asking = [d for d in deliveries if d.message is not None and (not exact or d.message.key is not None)]
        if not asking:
            return deliveries
        requests = [self._request(d, d.message) for d in asking if d.message is not None]
        try:
            answers = await self._ledger.claim(requests)
        except BrokerUnavailable as error:
            # Closed by default: without the ledger's word nothing that needs it is run.
            self._trouble.failed(logger, "claiming", error)
            for delivery in asking:
                self._refuse(delivery, Returned(1.0, Reason(error.code, f"the ledger is away: {error}")))
            return [d for d in deliveries if d not in asking]
        except OwnerRetired:
            # Declared dead since the lease: it was returned with all we had. The next lease call joins again.
            for delivery in asking:
                self._refuse(delivery, Lost())
            return [d for d in deliveries if d not in asking]
        self._trouble.succeeded(logger, "claiming")
        refused = {d for d, answer in zip(asking, answers, strict=True) if not self._let_in(d, answer)}
        return [d for d in deliveries if d not in refused]

    def _request(self, delivery: Delivery, message: Message) -> ClaimRequest:
        scope, seconds = Scope.of(message), delivery.lease.seconds
        if not delivery.is_renewed:  # nobody will make it longer: it must outlast what was lent
            seconds = max(seconds, delivery.lease.remaining(self._clock.monotonic()))
        return ClaimRequest(scope, message.id, self._crew.owner_id, seconds, digest(message), message.sent_at)

    def _let_in(self, delivery: Delivery, answer: Fresh | Running | Done | Conflict) -> bool:
        match answer:
            case Fresh(token):
                delivery.token = token
                delivery.fence = token.fence
                delivery.key_send_id = token.send_id
                return True
            case Done(result, handoffs):
                return self._refuse(delivery, Duplicate(result, handoffs))
            case Running(owner, remaining):
                reason = Reason(
                    "running_elsewhere",
                    f"{owner} runs it, or another message of its key, for another {remaining:.1f} s at least",
                )
                return self._refuse(delivery, Returned(max(0.1, remaining), reason))
            case Conflict(holder):
                text = f"its key belongs to message {holder}, which has another payload"
                return self._refuse(delivery, Dead(Reason("key_conflict", text)))

    # -- limits ------------------------------------------------------------------------------------

    def _is_within_limits(self, delivery: Delivery) -> bool:
        counters, message = delivery.lease.counters, delivery.message
        if delivery.token is None and delivery.lease.has_expired(self._clock.monotonic()):
            # Claiming for others of its batch took longer than the lease: somebody else may have it by now.
            return self._refuse(delivery, Returned(0.0, Reason("lease_lapsed", "its lease ended before it could run")))
        if is_lost_too_often(counters, has_presence=True):
            return self._refuse(delivery, Dead(max_lost(counters)))
        if message is not None and message.expires_at is not None and self._has_expired(message.expires_at, counters):
            return self._refuse(delivery, Dead(Reason("expired", "it expired before it was run")))
        return True

    def _has_expired(self, moment: float, counters: Counters) -> bool:
        """Only while nobody began it: what waits for its next try has perhaps done half of its work."""
        was_begun = counters.attempts or counters.crashes or counters.lost
        return not was_begun and self._wall() >= moment

    def _has_place(self, delivery: Delivery) -> bool:
        """The task's own limit; asked last, because whoever is let in keeps a place until its code has ended."""
        task = delivery.task
        if task is None or self._room.may_run(delivery, task):
            return True
        if not self._room.may_wait(delivery, task):
            return self._refuse(delivery, self._room.send_away(task))
        self._crew.hold(delivery)
        return False
