"""Intake: leases batches of messages while there is room for them.

One call at a time, and never cancelled: what it lends would be nobody's. If its reply is lost, what it lent is asked
for before anything else is leased. From a paused queue nothing is leased. Which queues it serves, names and patterns,
may change at any time: the next lease call asks for the new ones. After: `admission.py`, which says of each message of
a batch whether it runs.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, OwnerRetired, StoreForeign
from tenure.lease import Lease, LeaseRequest
from tenure.rules.queue_pattern import has_pattern, served_of
from tenure.runtime.admission import Admission
from tenure.runtime.backoff import Backoff
from tenure.runtime.learning import Learning
from tenure.runtime.slots import Slots

logger = logging.getLogger("tenure.intake")

#: An idle worker asks again this often even if nobody woke it.
IDLE_SECONDS = 5.0


class Leaser(Protocol):
    """In whose name intake leases."""

    @property
    def owner_id(self) -> str:
        """Who leases."""
        ...

    async def rejoin(self) -> None:
        """Take a new nonce: the old one was declared dead."""
        ...


class Intake:
    """Fetches work while there is room for it."""

    def __init__(
        self, broker: Broker, clock: Clock, slots: Slots, leaser: Leaser, admission: Admission, *,
        queues: Sequence[str], lease_seconds: float, learning: Learning,
    ) -> None:  # fmt: skip
        """Serve `queues`; what is leased goes to `admission`."""
        self._broker = broker
        self._clock = clock
        self._slots = slots
        self._leaser = leaser
        self._admission = admission
        self._queues = tuple(queues)
        self._paused: Collection[str] = frozenset()
        #: Those that are not paused; patterns among them.
        self._open = self._queues
        #: Queues that match a pattern and are paused.
        self._excluded: tuple[str, ...] = ()
        self._seconds = lease_seconds
        self._learning = learning
        self._stopping = asyncio.Event()
        self._idle = False
        #: A lease call whose reply was lost, while we do not know what it lent.
        self._unanswered: LeaseRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._patience: asyncio.Timeout | None = None

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
            except (BrokerUnavailable, StoreForeign) as error:
                # Somebody else wrote to a key of our only queue: people must act, and a new worker would find the same.
                level = logging.ERROR if isinstance(error, StoreForeign) else logging.WARNING
                backoff.failed(logger, "leasing", error, level)
                await self._interruptible(backoff.pause)
                continue
            backoff.succeeded(logger, "leasing")
            if leases:
                await self._admission.admit(leases)
            else:
                await self._interruptible(self._wait)

    def stop(self) -> None:
        """Fetch no more. Work that was already lent still goes its way."""
        self._stopping.set()
        if self._idle and self._task is not None:
            self._task.cancel()

    def pause(self, queues: Collection[str]) -> None:
        """From now on lease nothing from these, and from all the others of ours. What was lent goes its way."""
        self._paused = frozenset(queues)
        self._choose()

    def serve(self, queues: Sequence[str]) -> None:
        """From the next lease call on, serve these queues. What was lent from others goes its way."""
        self._queues = tuple(queues)
        self._choose()

    def _choose(self) -> None:
        paused, before = self._paused, (self._open, self._excluded)
        self._open = tuple(queue for queue in self._queues if queue not in paused)
        self._excluded = tuple(sorted(served_of(paused, self._open))) if has_pattern(self._open) else ()
        if (self._open, self._excluded) != before and self._patience is not None:
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
        """Until there may be something to lease, or `pause` or `serve` changed where from."""
        try:
            async with asyncio.timeout(None) as self._patience:
                if self._open:
                    await self._broker.wait(self._open, IDLE_SECONDS, self._excluded)
                else:
                    await asyncio.sleep(IDLE_SECONDS)
        except TimeoutError:
            pass  # by `_choose`
        except (BrokerUnavailable, StoreForeign):
            await asyncio.sleep(1.0)  # the next lease call says what is wrong
        finally:
            self._patience = None

    async def _fetch(self, want: int) -> list[Lease]:
        if self._unanswered is not None:
            return await self._look_after(self._unanswered)
        want = min(want, self._broker.traits.batch_limit)
        request_id = os.urandom(8).hex()
        by_task = self._learning.seconds_by_task()
        request = LeaseRequest(
            self._leaser.owner_id, request_id, self._open, want, self._seconds, by_task, has_presence=True,
            excluded=self._excluded,
        )  # fmt: skip
        try:
            return await self._broker.lease(request)
        except OwnerRetired:
            logger.warning("%s was declared dead; joining again under a new nonce", self._leaser.owner_id)
            await self._leaser.rejoin()
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
