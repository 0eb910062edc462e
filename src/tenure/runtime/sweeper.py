"""The sweeper: returns what others left behind.

Two rhythms. Every sweep interval it returns overdue leases, whoever held them, in batches while there is
more. Every second it asks the roster who is proven dead and returns all that they held at once: that is
what brings a crashed worker's messages back in seconds, however long their leases.

Runs in every worker, beside the heartbeat; each act is atomic in the broker, so many sweepers do no harm. But one is
enough: whoever has the turn sweeps, and the others skip this interval. A turn lasts one interval and is renewed by a
sweep that takes longer. When its holder dies it lapses, and at most a quarter of an interval later somebody else has
it, well before two intervals without a sweep are taken for an outage. The liveness tick and a sweep by hand ask for
no turn.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from tenure.broker import Broker, SweepRequest, Swept
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.owner import DeadOwner, Owner
from tenure.runtime.backoff import Backoff
from tenure.state import Board, Roster

logger = logging.getLogger("tenure.sweeper")

LIVENESS_SECONDS = 1.0

#: What the turn is called.
TURN = "sweep"
#: When so much of a turn has passed, a sweep that goes on renews it.
_RENEW_AFTER = 1 / 3
#: So much of an interval passes before somebody without the turn asks again.
_ASK_AGAIN_AFTER = 1 / 4
#: An event names no more messages than this; there are several if it were more.
_IDS_IN_AN_EVENT = 1_000

Publish = Callable[[Sequence[Event]], None]


class Sweeper:
    """Returns overdue leases and the leases of the dead."""

    def __init__(
        self, broker: Broker, roster: Roster, clock: Clock, publish: Publish, *,
        request: SweepRequest, triggered_by: str = "scheduler", board: Board | None = None,
    ) -> None:  # fmt: skip
        """Sweep as `request` says; tell `publish`. With a `board`, `run` shares the work with other sweepers."""
        self._broker = broker
        self._roster = roster
        self._clock = clock
        self._publish = publish
        self._request = request
        self._triggered_by = triggered_by
        self._board = board
        self._token = os.urandom(8).hex()
        self._asked = float("-inf")

    async def run(self) -> None:
        """Sweep for ever, whenever it is our turn."""
        backoff = Backoff(self._clock)
        interval = self._request.interval_seconds
        while True:
            pause = interval
            try:
                if await self._take_turn():
                    async for _ in self._batches(self._keep_turn):
                        pass
                else:
                    pause = interval * _ASK_AGAIN_AFTER
                backoff.succeeded(logger, "sweeping")
            except BrokerUnavailable as error:
                backoff.failed(logger, "sweeping", error)
                await self._give_turn_up()
            await asyncio.sleep(pause)

    async def watch(self, owner: Callable[[], Owner], every: float = LIVENESS_SECONDS) -> None:
        """Say that we live, and look for the dead, for ever."""
        backoff = Backoff(self._clock)
        while True:
            try:
                await self._roster.beat(owner())
                await self.bury()
                backoff.succeeded(logger, "watching")
            except BrokerUnavailable as error:
                backoff.failed(logger, "watching", error)
            await asyncio.sleep(every)

    async def sweep(self) -> Swept:
        """One sweep, whoever has the turn: batches until nothing more is overdue. Returns everything that was moved."""
        batches = [batch async for batch in self._batches()]
        return Swept(
            tuple(id for batch in batches for id in batch.returned),
            tuple(id for batch in batches for id in batch.dead),
            tuple(id for batch in batches for id in batch.adopted),
            any(batch.grace for batch in batches),
        )

    async def _batches(self, may_go_on: Callable[[], Awaitable[bool]] | None = None) -> AsyncIterator[Swept]:
        """Batches while there is more. Each is told at once: there may be very many, and the next one may fail."""
        while True:
            swept = await self._broker.sweep(self._request)
            if swept.grace:
                logger.warning(
                    "no sweep for a while, or a restart: an outage is assumed, every lease gets a fresh window"
                )
                self._publish([Event(EventKind.SWEEP_GRACE, self._clock.wall())])
            events = _events_of_return(swept, self._clock.wall(), self._triggered_by)
            if events:
                self._publish(events)
            yield swept
            if swept.moved < self._request.limit or (may_go_on is not None and not await may_go_on()):
                return

    async def _take_turn(self) -> bool:
        if self._board is None:
            return True
        self._asked = self._clock.monotonic()
        return await self._board.take_turn(TURN, self._token, self._request.interval_seconds)

    async def _give_turn_up(self) -> None:
        """What we cannot reach, somebody else perhaps can, and must not wait for us."""
        try:
            if self._board is not None:
                await self._board.take_turn(TURN, self._token, 0.0)
        except BrokerUnavailable as error:
            logger.debug("the turn to sweep lapses by itself: %s", error)

    async def _keep_turn(self) -> bool:
        """False: somebody else has it now, and sweeps what is left."""
        if self._clock.monotonic() - self._asked < self._request.interval_seconds * _RENEW_AFTER:
            return True
        return await self._take_turn()

    async def bury(self) -> list[str]:
        """Return all that the proven dead held; the ids of these owners."""
        buried = []
        for dead in await self._roster.dead():
            swept = await self._broker.retire(dead.owner.id, crashed=not dead.left)
            buried.append(dead.owner.id)
            self._tell_retired(dead, swept)
        return buried

    def _tell_retired(self, dead: DeadOwner, swept: Swept) -> None:
        held = len(swept.returned)
        level = logging.WARNING if held or not dead.left else logging.DEBUG
        what = "1 message" if held == 1 else f"{held} messages"
        logger.log(level, "%s is gone (%s); %s returned", dead.owner.id, dead.proof, what)
        if held or not dead.left:  # else it told everybody itself that it left, and had nothing
            self._publish(events_of_retirement(dead, swept, self._clock.wall(), "liveness"))


def events_of_retirement(dead: DeadOwner, swept: Swept, at: float, triggered_by: str) -> list[Event]:
    """What there is to tell when somebody was retired."""
    data = {"proof": dead.proof, "count": len(swept.returned), "left": dead.left}
    retired = Event(EventKind.OWNER_RETIRED, at, owner=dead.owner.id, data=data)
    return [retired, *_events_of_return(swept, at, triggered_by)]


def _events_of_return(swept: Swept, at: float, triggered_by: str) -> list[Event]:
    """Each counts the ids that it names: where there are several, their figures add up."""
    events = []
    dead = len(swept.dead)
    for ids in _pages(swept.returned):
        data = {"count": len(ids), "dlq_count": dead, "ids": ids, "triggered_by": triggered_by}
        events.append(Event(EventKind.REQUEUE, at, data=data))
        dead = 0
    for ids in _pages(swept.dead):
        data = {"count": len(ids), "dlq_count": len(ids), "ids": ids, "triggered_by": triggered_by}
        events.append(Event(EventKind.MOVE_TO_DLQ, at, data=data))
    return events


def _pages(ids: Sequence[str]) -> list[list[str]]:
    return [list(ids[start : start + _IDS_IN_AN_EVENT]) for start in range(0, len(ids), _IDS_IN_AN_EVENT)]
