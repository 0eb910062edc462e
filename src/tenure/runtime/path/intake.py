"""Intake: leases batches of messages while there are free slots.

There is one lease call at a time, and it is never cancelled, because nothing here would hold its messages. If a reply
is lost, its messages are recovered before anything else is leased. Nothing is leased from a paused queue. The queues,
names and patterns, and their limits may change at any time; the next lease call uses the new ones. The broker keeps the
limits, and its `wait` returns when one allows a lease. Of several clients' queues, each gets its part of the worker's
time (`rules/fair_turns.py`). After: `admission.py`, which decides for each message whether it runs.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, OwnerRetired, StoreForeign
from tenure.lease import Lease, LeaseRequest
from tenure.limit import Limit
from tenure.monitoring.metrics.sample import Times
from tenure.rules.fair_turns import FairTurns, Turn
from tenure.rules.queue_pattern import has_pattern, served_of
from tenure.rules.reserved_queue import reserved_of
from tenure.runtime.outage import OutageBackoff
from tenure.runtime.path.learning import Learning
from tenure.runtime.path.slots import FULL_BATCH, Slots
from tenure.runtime.path.stages import AdmissionStage

logger = logging.getLogger("tenure.intake")

#: An idle worker asks again this often even if nothing woke it.
IDLE_SECONDS = 5.0


class Leaser(Protocol):
    """The owner for which intake leases."""

    @property
    def owner_id(self) -> str:
        """The id of the owner."""
        ...

    async def rejoin(self) -> None:
        """Take a new nonce: the old one was declared dead."""
        ...


class Intake:
    """Leases messages while there are free slots."""

    def __init__(  # noqa: PLR0913 - made in one place, by the pipeline
        self,
        broker: Broker,
        clock: Clock,
        slots: Slots,
        leaser: Leaser,
        admission: AdmissionStage,
        *,
        queues: Sequence[str],
        lease_seconds: float,
        learning: Learning,
        turns: FairTurns | None = None,
    ) -> None:
        """Serve `queues`; what is leased goes to `admission`. `turns` are told elsewhere how long messages took."""
        #: How long each call took that lent something.
        self.times = Times()
        self.last_seconds = 0.0
        self._broker = broker
        self._clock = clock
        self._slots = slots
        #: One call leases no more: the store hands these out while the worker runs what it leased before.
        self._most = max(FULL_BATCH, slots.total // 2) if broker.traits.works_beside else slots.total
        self._leaser = leaser
        self._admission = admission
        self._queues = tuple(queues)
        self._paused: Collection[str] = frozenset()
        #: Those that are not paused; patterns among them.
        self._open = self._queues
        #: Queues that match a pattern and are paused.
        self._excluded: tuple[str, ...] = ()
        self._every_limit: Mapping[str, Limit] = {}
        #: Of the queues that are open.
        self._limits: dict[str, Limit] = {}
        self._seconds = lease_seconds
        self._learning = learning
        self._turns = turns or FairTurns(slots.total)
        self._turns.serve(self._open)
        self._stopping = asyncio.Event()
        self._idle = False
        #: A lease call whose reply was lost, while we do not know what it lent.
        self._unanswered: LeaseRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._patience: asyncio.Timeout | None = None

    async def run(self) -> None:
        """Fetch until stopped. A lease call under way is never cancelled: its messages would have no holder here."""
        self._task = asyncio.current_task()
        backoff, asks_again, want = OutageBackoff(self._clock), False, 0
        while not self._stopping.is_set():
            want = want if asks_again else min(self._most, await self._interruptible(self._slots.room) or 0)
            asks_again = False
            if self._stopping.is_set() or not want:
                return
            if not self._open and self._unanswered is None:
                await self._interruptible(self._wait)
                continue
            turn = self._turns.next(want) if self._turns.is_on else Turn(want)
            began = self._clock.monotonic()
            try:
                leases = await self._fetch(turn)
            except (BrokerUnavailable, StoreForeign) as error:
                # Another program wrote to a key of our only queue. A person must act: a new worker would find the same.
                level = logging.ERROR if isinstance(error, StoreForeign) else logging.WARNING
                backoff.failed(logger, "leasing", error, level)
                await self._interruptible(backoff.pause)
                continue
            backoff.succeeded(logger, "leasing")
            if self._turns.is_on:
                asks_again = self._turns.answered(turn, [lease.queue for lease in leases])
            if leases:
                self.last_seconds = self._clock.monotonic() - began
                self.times.note(self.last_seconds)
                await self._admission.admit(leases)
            elif not asks_again:
                await self._interruptible(self._wait)

    def stop(self) -> None:
        """Stop leasing. Messages leased before are processed."""
        self._stopping.set()
        if self._idle and self._task is not None:
            self._task.cancel()

    def pause(self, queues: Collection[str]) -> None:
        """Lease nothing from these queues from now on."""
        self._paused = frozenset(queues)
        self._choose()

    def limit(self, limits: Mapping[str, Limit]) -> None:
        """Lease by these limits from the next lease call on. What is leased stays leased."""
        self._every_limit = limits
        self._choose()

    def serve(self, queues: Sequence[str]) -> None:
        """Serve these queues from the next lease call on. Messages in flight are not affected."""
        self._queues = tuple(queues)
        self._choose()

    def _choose(self) -> None:
        paused, before = self._paused, (self._open, self._excluded, self._limits)
        self._open = tuple(queue for queue in self._queues if queue not in paused)
        self._turns.serve(self._open)
        # Deliveries of webhooks have a worker of their own.
        self._excluded = (
            tuple(sorted({*served_of(paused, self._open), *reserved_of(self._open)})) if has_pattern(self._open) else ()
        )
        self._limits = {name: self._every_limit[name] for name in served_of(self._every_limit, self._open, paused)}
        if (self._open, self._excluded, self._limits) != before and self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())  # it waits for other queues or limits
            self._patience = None

    async def _interruptible(self, wait: Callable[[], Any]) -> Any:
        if self._stopping.is_set():  # set while a lease call was under way: no interrupt will come
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
        """Wait until there may be something to lease, or `pause` or `serve` changed the queues."""
        try:
            async with asyncio.timeout(None) as self._patience:
                if self._open:
                    await self._broker.wait(self._open, IDLE_SECONDS, self._excluded, self._limits)
                else:
                    await asyncio.sleep(IDLE_SECONDS)
        except TimeoutError:
            pass  # by `_choose`
        except (BrokerUnavailable, StoreForeign):
            await asyncio.sleep(1.0)  # the next lease call says what is wrong
        finally:
            self._patience = None

    async def _fetch(self, turn: Turn) -> list[Lease]:
        if self._unanswered is not None:
            return await self._look_after(self._unanswered)
        want = min(turn.want, self._broker.traits.batch_limit)
        queues, excluded = self._open, self._excluded
        if turn.held_back:
            queues, excluded = _without(turn.held_back, queues, excluded)
            if not queues:
                return []
        request_id = os.urandom(8).hex()
        by_task = self._learning.seconds_by_task()
        request = LeaseRequest(
            self._leaser.owner_id,
            request_id,
            queues,
            want,
            self._seconds,
            by_task,
            has_presence=True,
            excluded=excluded,
            limits=self._limits,
        )
        try:
            return await self._broker.lease(request)
        except OwnerRetired:
            logger.warning("%s was declared dead; joining again under a new nonce", self._leaser.owner_id)
            await self._leaser.rejoin()
            return []
        except BrokerUnavailable as error:
            if not error.outcome_unknown:
                raise
            # Asked before anything else, and again until there is an answer: only we can recover these.
            self._unanswered = request
            return await self._look_after(request)

    async def _look_after(self, request: LeaseRequest) -> list[Lease]:
        """Recover the leases of a call whose reply was lost, by its request id."""
        leases = await self._broker.held(request.owner, request.request_id)
        self._unanswered = None
        return leases


def _without(
    held_back: Sequence[str], queues: tuple[str, ...], excluded: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The queues to ask and those to exclude, so that these are not asked."""
    out = frozenset(held_back)
    left = tuple(queue for queue in queues if queue not in out)
    return left, ((*excluded, *held_back) if has_pattern(left) else excluded)
