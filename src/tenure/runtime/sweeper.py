"""The sweeper: returns what others left behind.

Two rhythms. Every sweep interval it returns overdue leases, whoever held them, in batches while there is
more. Every second it asks the roster who is proven dead and returns all that they held at once: that is
what brings a crashed worker's messages back in seconds, however long their leases.

Runs in every worker, beside the heartbeat; each act is atomic in the broker, so many sweepers do no harm.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from tenure.broker import Broker, SweepRequest, Swept
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.owner import DeadOwner, Owner
from tenure.runtime.backoff import Backoff
from tenure.state import Roster

logger = logging.getLogger("tenure.sweeper")

LIVENESS_SECONDS = 1.0

Publish = Callable[[Sequence[Event]], None]


class Sweeper:
    """Returns overdue leases and the leases of the dead."""

    def __init__(
        self, broker: Broker, roster: Roster, clock: Clock, publish: Publish, *,
        request: SweepRequest, triggered_by: str = "scheduler",
    ) -> None:  # fmt: skip
        """Sweep as `request` says; tell `publish`."""
        self._broker = broker
        self._roster = roster
        self._clock = clock
        self._publish = publish
        self._request = request
        self._triggered_by = triggered_by

    async def run(self) -> None:
        """Sweep for ever."""
        backoff = Backoff(self._clock)
        while True:
            try:
                await self.sweep()
                backoff.succeeded(logger, "sweeping")
            except BrokerUnavailable as error:
                backoff.failed(logger, "sweeping", error)
            await asyncio.sleep(self._request.interval_seconds)

    async def watch(self, owner: Callable[[], Owner]) -> None:
        """Say that we live, and look for the dead, for ever."""
        backoff = Backoff(self._clock)
        while True:
            try:
                await self._roster.beat(owner())
                await self.bury()
                backoff.succeeded(logger, "watching")
            except BrokerUnavailable as error:
                backoff.failed(logger, "watching", error)
            await asyncio.sleep(LIVENESS_SECONDS)

    async def sweep(self) -> Swept:
        """One sweep: batches until nothing more is overdue. Returns everything that was moved."""
        returned: list[str] = []
        dead: list[str] = []
        adopted: list[str] = []
        try:
            while True:
                swept = await self._broker.sweep(self._request)
                if swept.grace:
                    logger.warning("no sweep for a while: an outage is assumed, every lease gets a fresh window")
                    self._publish([Event(EventKind.SWEEP_GRACE, self._clock.wall())])
                returned += swept.returned
                dead += swept.dead
                adopted += swept.adopted
                if swept.moved < self._request.limit:
                    break
        finally:  # what was moved is told, also if the next batch failed
            self._tell(Swept(tuple(returned), tuple(dead)), self._triggered_by)
        return Swept(tuple(returned), tuple(dead), tuple(adopted), swept.grace)

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

    def _tell(self, swept: Swept, triggered_by: str) -> None:
        events = _events_of_return(swept, self._clock.wall(), triggered_by)
        if events:
            self._publish(events)


def events_of_retirement(dead: DeadOwner, swept: Swept, at: float, triggered_by: str) -> list[Event]:
    """What there is to tell when somebody was retired."""
    data = {"proof": dead.proof, "count": len(swept.returned), "left": dead.left}
    retired = Event(EventKind.OWNER_RETIRED, at, owner=dead.owner.id, data=data)
    return [retired, *_events_of_return(swept, at, triggered_by)]


def _events_of_return(swept: Swept, at: float, triggered_by: str) -> list[Event]:
    events = []
    if swept.returned:
        data = {"count": len(swept.returned), "dlq_count": len(swept.dead), "ids": list(swept.returned),
                "triggered_by": triggered_by}  # fmt: skip
        events.append(Event(EventKind.REQUEUE, at, data=data))
    if swept.dead:
        data = {"count": len(swept.dead), "ids": list(swept.dead), "triggered_by": triggered_by}
        events.append(Event(EventKind.MOVE_TO_DLQ, at, data=data))
    return events
