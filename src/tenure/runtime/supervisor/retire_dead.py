"""Burying: a supervisor returns what its dead children held, at the place that they named.

Each burial is a task of its own: the broker may be away, and the next child must not wait for it. If it cannot be done
at all, other workers find the dead as they find any (`sweeper.py`).

Used by `supervisor.py`, also as the way to that place.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from tenure.broker import Broker, Swept
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable, StoreReplaced
from tenure.owner import DeadOwner, Owner
from tenure.runtime.backoff import Backoff
from tenure.runtime.sideloop import cancel
from tenure.runtime.sweeper import events_of_retirement, retire, returned_text
from tenure.state import State

T = TypeVar("T")

logger = logging.getLogger("tenure.supervisor")

#: When all else is over: how long the last burial may still try.
_LAST_SECONDS = 5.0


class Cemetery:
    """Broker and state as the children named them, and the burials under way."""

    def __init__(self, connect: Callable[[str], tuple[Broker, State]], clock: Clock) -> None:
        """Nothing is open, and nobody knows where, before `locate`."""
        self._connect = connect
        self._clock = clock
        self._url = ""
        self._place: tuple[Broker, State] | None = None
        self._opening = asyncio.Lock()
        self._burials: set[asyncio.Task[None]] = set()

    def locate(self, url: str) -> None:
        """A child said where its messages are. Opened in a moment, so that the first death costs no time."""
        self._url = url
        self._begin(self._open_ahead())

    def bury(self, owner: str, proof: str) -> None:
        """Return what it held: others would need to find out first."""
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
        backoff = Backoff(self._clock)
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
        """Give the last burials a moment, and let go of the place."""
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
            logger.debug("the supervisor cannot open the place of its children yet: %s", error)

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
        try:
            await state.journal.append(events)
        except BrokerUnavailable as error:
            logger.debug("the journal does not know of it: %s", error)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._burials.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._burials.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("what a dead process held was not returned; other workers will: %r", error)
