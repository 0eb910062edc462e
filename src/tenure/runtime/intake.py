"""Intake: leases a batch, reads it, and lets in what may run.

For the whole batch: lease, decode, claim where a claim is needed, then the limits, the task's own quota last.
What may not run gets its verdict here and goes straight to `settling`; the rest is held by `heartbeat` and
started by `handling`. From a paused queue nothing is leased.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tenure import envelope
from tenure.broker import Broker
from tenure.claim import ClaimRequest, Conflict, Done, Fresh, Running, Scope, digest
from tenure.clock import Clock
from tenure.errors import BodyUndecodable, BrokerUnavailable, OwnerRetired
from tenure.lease import Lease, LeaseRequest
from tenure.message import Counters, Message
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

logger = logging.getLogger("tenure.intake")

#: An idle worker asks again this often even if nobody woke it.
IDLE_SECONDS = 5.0
#: Leases that ended unseen before a message is put aside.
MAX_LOST = 10
#: How often a message may have been there when its owner died, before it must run alone.
SUSPECT_CRASHES = 2


class Crew(Protocol):
    """What intake needs of the worker around it."""

    @property
    def owner_id(self) -> str:
        """Who leases."""
        ...

    async def rejoin(self) -> None:
        """Take a new nonce: the old one was declared dead."""
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


class Intake:
    """Fetches work while there is room for it."""

    def __init__(  # noqa: PLR0913 - made in one place, by the worker
        self, broker: Broker, state: State, clock: Clock, slots: Slots, crew: Crew, *,
        queues: Sequence[str], tasks: Mapping[str, Task[..., Any]], lease_seconds: float, room: Room,
        learning: Learning | None = None, routing: Routing | None = None,
    ) -> None:  # fmt: skip
        """Serve `queues`, for the tasks in `tasks`."""
        self._broker = broker
        self._ledger = state.ledger
        self._strangers = Strangers(state, clock)
        self._routing = routing or Routing(None, 1)
        self._clock = clock
        self._slots = slots
        self._crew = crew
        self._room = room
        self._queues = tuple(queues)
        #: Those that are not paused.
        self._open = self._queues
        self._tasks = tasks
        self._seconds = lease_seconds
        self._learning = learning or Learning(state.journal, tasks, broker.traits, clock, lease_seconds=lease_seconds)
        self._stopping = asyncio.Event()
        self._idle = False
        #: A lease call whose reply was lost, while we do not know what it lent.
        self._unanswered: LeaseRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._patience: asyncio.Timeout | None = None

    # -- the loop ----------------------------------------------------------------------------------

    async def run(self) -> None:
        """Fetch until stopped. A lease call under way is never cancelled: what it lends would be nobody's."""
        self._task = asyncio.current_task()
        backoff = Backoff(self._clock)
        while not self._stopping.is_set():
            want = await self._interruptible(self._slots.room)
            if self._stopping.is_set() or not want:
                return
            if not self._open and self._unanswered is None:
                await self._interruptible(self._wait)
                continue
            try:
                leases = await self._fetch(want)
            except BrokerUnavailable as error:
                backoff.failed(logger, "leasing", error)
                await self._interruptible(backoff.pause)
                continue
            backoff.succeeded(logger, "leasing")
            if leases:
                await self.admit(leases)
            else:
                await self._interruptible(self._wait)

    def stop(self) -> None:
        """Fetch no more. Work that was already lent still goes its way."""
        self._stopping.set()
        if self._idle and self._task is not None:
            self._task.cancel()

    def pause(self, queues: Collection[str]) -> None:
        """From now on lease nothing from these, and from all the others of ours. What was lent goes its way."""
        still_open = tuple(queue for queue in self._queues if queue not in queues)
        if still_open != self._open:
            self._open = still_open
            if self._patience is not None:
                self._patience.reschedule(asyncio.get_running_loop().time())  # it waits for the wrong queues
                self._patience = None

    async def _interruptible(self, wait: Callable[[], Any]) -> Any:
        if self._stopping.is_set():  # asked while a lease call was under way: nobody will interrupt us any more
            return None
        self._idle = True
        try:
            return await wait()
        except asyncio.CancelledError:
            if self._stopping.is_set():
                return None
            raise
        finally:
            self._idle = False

    async def _wait(self) -> None:
        """Until there may be something to lease, or `pause` changed where from."""
        try:
            async with asyncio.timeout(None) as self._patience:
                if self._open:
                    await self._broker.wait(self._open, IDLE_SECONDS)
                else:
                    await asyncio.sleep(IDLE_SECONDS)
        except TimeoutError:
            pass  # by `pause`
        except BrokerUnavailable:
            await asyncio.sleep(1.0)  # the next lease call says what is wrong
        finally:
            self._patience = None

    async def _fetch(self, want: int) -> list[Lease]:
        if self._unanswered is not None:
            return await self._look_after(self._unanswered)
        want = min(want, self._broker.traits.batch_limit)
        request_id = os.urandom(8).hex()
        by_task = self._learning.seconds_by_task()
        request = LeaseRequest(self._crew.owner_id, request_id, self._open, want, self._seconds, by_task)
        try:
            return await self._broker.lease(request)
        except OwnerRetired:
            logger.warning("%s was declared dead; joining again under a new nonce", self._crew.owner_id)
            await self._crew.rejoin()
            return []
        except BrokerUnavailable as error:
            if not error.outcome_unknown:
                raise
            # Asked before anything else, and again until there is an answer: nobody else looks after these.
            self._unanswered = request
            return await self._look_after(request)

    async def _look_after(self, request: LeaseRequest) -> list[Lease]:
        """The reply was lost, the leases perhaps not: they are ours by request id."""
        leases = await self._broker.held(request.owner, request.request_id)
        self._unanswered = None
        return leases

    # -- letting in --------------------------------------------------------------------------------

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
            for delivery in asking:
                self._refuse(delivery, Returned(1.0, Reason(error.code, f"the ledger is away: {error}")))
            return [d for d in deliveries if d not in asking]
        except OwnerRetired:
            # Declared dead since the lease: it was returned with all we had. The next lease call joins again.
            for delivery in asking:
                self._refuse(delivery, Lost())
            return [d for d in deliveries if d not in asking]
        refused = {d for d, answer in zip(asking, answers, strict=True) if not self._let_in(d, answer)}
        return [d for d in deliveries if d not in refused]

    def _request(self, delivery: Delivery, message: Message) -> ClaimRequest:
        scope, seconds = Scope.of(message), delivery.lease.seconds
        if not delivery.is_renewed:  # nobody will make it longer: it must outlast what was lent
            seconds = max(seconds, delivery.lease.remaining(self._clock.monotonic()))
        return ClaimRequest(scope, message.id, self._crew.owner_id, seconds, digest(message))

    def _let_in(self, delivery: Delivery, answer: Fresh | Running | Done | Conflict) -> bool:
        match answer:
            case Fresh(token):
                delivery.token = token
                delivery.fence = token.fence
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

    def _is_within_limits(self, delivery: Delivery) -> bool:
        counters, message = delivery.lease.counters, delivery.message
        if delivery.token is None and delivery.lease.has_expired(self._clock.monotonic()):
            # Claiming for others of its batch took longer than the lease: somebody else may have it by now.
            return self._refuse(delivery, Returned(0.0, Reason("lease_lapsed", "its lease ended before it could run")))
        if counters.lost >= MAX_LOST:
            text = f"its lease ended unseen {counters.lost} times; look for workers that freeze or lose the network"
            return self._refuse(delivery, Dead(Reason("max_lost", text)))
        if message is not None and message.expires_at is not None and self._has_expired(message.expires_at, counters):
            return self._refuse(delivery, Dead(Reason("expired", "it expired before it was run")))
        return True

    def _has_expired(self, moment: float, counters: Counters) -> bool:
        """Only while nobody began it: what waits for its next try has perhaps done half of its work."""
        was_begun = counters.attempts or counters.crashes or counters.lost
        return not was_begun and self._clock.wall() >= moment

    def _has_place(self, delivery: Delivery) -> bool:
        """The task's own limit; asked last, because whoever is let in keeps a place until its code has ended."""
        task = delivery.task
        if task is None or self._room.may_run(delivery, task):
            return True
        if not self._room.may_wait(delivery, task):
            return self._refuse(delivery, self._room.send_away(task))
        self._crew.hold(delivery)
        return False
