"""Retires dead child processes: the supervisor returns the messages that they held.

Each retirement is a task of its own: the broker may be away, and the next child must not wait for it. If it fails,
other workers find the dead process as they find any other (`background/sweeper.py`).

Used by `supervisor.py`, also to open the store.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from tenure.broker import Broker, Swept
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable, StoreReplaced
from tenure.event import Event
from tenure.owner import DeadOwner, Owner
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.background.sweeper import events_of_retirement, retire, returned_text
from tenure.runtime.background.tallying import Tallying
from tenure.runtime.outage import OutageBackoff
from tenure.state import State

T = TypeVar("T")

logger = logging.getLogger("tenure.supervisor")

#: When all else is over: how long the last burial may still try.
_LAST_SECONDS = 5.0


class DeadRetirement:
    """The store of the children, and the retirements under way."""

    def __init__(self, connect: Callable[[str], tuple[Broker, State]], clock: Clock) -> None:
        """Open nothing: the store is not known before `locate`."""
        self._connect = connect
        self._clock = clock
        self._url = ""
        self._place: tuple[Broker, State] | None = None
        self._opening = asyncio.Lock()
        #: Called with the events of each retirement.
        self.on_retired: Callable[[Sequence[Event]], None] = lambda _: None
        self._burials: set[asyncio.Task[None]] = set()

    def locate(self, url: str) -> None:
        """A child said where its messages are. Opened in a moment, so that the first death costs no time."""
        self._url = url
        self._begin(self._open_ahead())

    def bury(self, owner: str, proof: str) -> None:
        """Return what it held. Other workers would need time to find out."""
        self._begin(self._bury(owner, proof))

    async def opened(self) -> tuple[Broker, State]:
        """Broker and state; raises what their `open` raises."""
        async with self._opening:
            if self._place is None:
                broker, state = self._connect(self._url)
                await broker.open()
                await state.open()
                self._place = broker, state
        return self._place

    async def until_it_works(self, do: Callable[[], Awaitable[T]], what: str) -> T:
        """Try until the broker is back."""
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                done = await do()
            except BrokerUnavailable as error:
                backoff.failed(logger, what, error)
                await backoff.pause()
            else:
                backoff.succeeded(logger, what)
                return done

    async def close(self) -> None:
        """Give the last retirements a moment, and close the store."""
        if self._burials:
            await asyncio.wait(self._burials, timeout=_LAST_SECONDS)
        await cancel([*self._burials])
        await self._let_go()

    async def _let_go(self) -> None:
        if self._place is not None:
            (broker, state), self._place = self._place, None
            await state.close()
            await broker.close()

    async def _open_ahead(self) -> None:
        try:
            await self.opened()
        except BrokerError as error:
            logger.debug("the supervisor cannot open its workers' store yet: %s", error)

    async def _bury(self, owner: str, proof: str) -> None:
        dead = DeadOwner(Owner.of_id(owner), proof)
        batches: list[Swept] = []

        async def return_all() -> State:
            broker, state = await self.opened()
            try:
                async for swept in retire(broker, dead):
                    batches.append(swept)  # noqa: PERF401 - kept even if a later one fails
            except StoreReplaced:
                await self._let_go()  # the children that come next open what is there now, and so must we
                raise
            return state

        state = await self.until_it_works(return_all, f"{proof}; returning it")
        logger.warning("%s; %s", proof, returned_text(sum(len(swept.returned) for swept in batches)))
        events = events_of_retirement(dead, batches, self._clock.wall(), "supervisor")
        self.on_retired(events)
        try:
            await state.journal.append(events)
            await self._count(state, events)
        except BrokerUnavailable as error:
            logger.debug("could not write the event to the journal: %s", error)

    async def _count(self, state: State, events: Sequence[Event]) -> None:
        """Store what was returned, and the death, among the figures of workers."""
        counted = Statistics()
        counted.note_events(events)
        nonce = os.urandom(8).hex()
        await Tallying(counted, state.journal, state.wall, nonce=nonce, every_seconds=0.0).flush()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._burials.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._burials.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("could not return the messages of a dead process; another worker will do it: %r", error)
