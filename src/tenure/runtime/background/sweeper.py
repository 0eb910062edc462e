"""The sweeper: returns overdue leases, and those of dead workers.

Two rhythms. Every sweep interval it returns all overdue leases, in batches. Every second (in the cloud: every five)
it reads the roster, judges who is proven dead (`rules/presence.py`) and returns all that they held at once: that is
what brings a crashed worker's messages back in seconds, however long their leases. Silence proves nothing; who is
silent and holds nothing is only taken off the roster.

Runs in every worker, beside the heartbeat; each act is atomic in the broker, so several sweepers do no harm. But one is
enough: the worker that has the turn sweeps, and the others skip this interval. A turn lasts one interval and is
renewed by a sweep that takes longer. When its holder dies it lapses, and at most a quarter of an interval later
another worker has it, well before two intervals without a sweep are taken for an outage. The liveness tick and a
sweep by hand ask for no turn.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from tenure.broker import Broker, SweepRequest, Swept
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.owner import DeadOwner, Member, Owner
from tenure.probe import SYSTEM_PROBE, Probe
from tenure.rules import presence
from tenure.runtime.outage import OutageBackoff
from tenure.state import SWEEP_TURN, Board, Roster
from tenure.text.plural import plural

logger = logging.getLogger("tenure.sweeper")

LIVENESS_SECONDS = 1.0

#: What the turn is called.
TURN = SWEEP_TURN
#: When so much of a turn has passed, a sweep that goes on renews it.
_RENEW_AFTER = 1 / 3
#: A worker without the turn asks for it again after this part of an interval.
_ASK_AGAIN_AFTER = 1 / 4
#: Where there are more members, each looks half as often: a look reads all of them.
_MANY = 50
_EARLY_SECONDS = 0.1
#: An event names no more messages than this; there are several if it were more.
_IDS_IN_AN_EVENT = 1_000

Publish = Callable[[Sequence[Event]], None]


class Sweeper:
    """Returns overdue leases and the leases of the dead."""

    def __init__(
        self,
        broker: Broker,
        roster: Roster,
        clock: Clock,
        publish: Publish,
        *,
        request: SweepRequest,
        triggered_by: str = "scheduler",
        board: Board | None = None,
        probe: Probe = SYSTEM_PROBE,
    ) -> None:
        """Sweep as `request` says; report to `publish`. With a `board`, `run` shares the work with other sweepers."""
        self._probe = probe
        self._next_look = float("-inf")
        #: Told of the roster whenever it is read.
        self.on_members: Callable[[Sequence[Member]], None] = lambda _: None
        #: When the roster was last asked to remove each of the silent.
        self._asked_to_remove: dict[str, float] = {}
        self._broker = broker
        self._roster = roster
        self._clock = clock
        self._publish = publish
        self._request = request
        self._triggered_by = triggered_by
        self._board = board
        self._token = os.urandom(8).hex()
        self._asked = float("-inf")
        #: When a sweeper was last seen, monotonic: we have the turn, or another worker has it.
        self.checked_at = float("-inf")

    @property
    def age_seconds(self) -> float:
        """Seconds since a sweeper was last seen."""
        return self._clock.monotonic() - self.checked_at

    def note_check(self) -> None:
        """A sweeper was seen."""
        self.checked_at = self._clock.monotonic()

    async def run(self) -> None:
        """Sweep whenever it is our turn, until cancelled."""
        backoff = OutageBackoff(self._clock)
        interval = self._request.interval_seconds
        while True:
            pause = interval
            try:
                if await self._take_turn():
                    async for _ in self._batches(self._keep_turn):
                        self.note_check()
                else:
                    pause = interval * _ASK_AGAIN_AFTER
                self.note_check()
                backoff.succeeded(logger, "sweeping")
            except BrokerUnavailable as error:
                backoff.failed(logger, "sweeping", error)
                await self._give_turn_up()
            await asyncio.sleep(pause)

    async def watch(self, owner: Callable[[], Owner], every: float = LIVENESS_SECONDS) -> None:
        """Renew our sign of life and look for dead workers, until cancelled.

        Less often where the store charges for reads.
        """
        await self._watch(lambda: self._roster.beat(owner()), every)

    async def look_for_dead(self) -> None:
        """As `watch`, for a process that is not on the roster because it holds no leases."""
        await self._watch(None, LIVENESS_SECONDS)

    async def _watch(self, beat: Callable[[], Awaitable[None]] | None, every: float) -> None:
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                if beat is not None:
                    await beat()
                if self._clock.monotonic() >= self._next_look:
                    await self.bury()
                backoff.succeeded(logger, "watching")
            except BrokerUnavailable as error:
                backoff.failed(logger, "watching", error)
            await asyncio.sleep(every)

    async def sweep(self) -> Swept:
        """One sweep, with or without the turn: batches until nothing is overdue. Returns what was moved."""
        batches = [batch async for batch in self._batches()]
        return Swept(
            tuple(id for batch in batches for id in batch.returned),
            tuple(id for batch in batches for id in batch.dead),
            tuple(id for batch in batches for id in batch.adopted),
            any(batch.grace for batch in batches),
            queues={id: queue for batch in batches for id, queue in batch.queues.items()},
        )

    async def _batches(self, may_go_on: Callable[[], Awaitable[bool]] | None = None) -> AsyncIterator[Swept]:
        """Batches while there is more. Each is reported at once: there may be very many, and the next one may fail."""
        while True:
            swept = await self._broker.sweep(self._request)
            if swept.grace:
                logger.warning(
                    "no sweep ran for a while, or the store restarted; leases that were not renewed get a fresh window"
                )
                self._publish([Event(EventKind.SWEEP_GRACE, self._clock.wall())])
            events = events_of_return(swept, self._clock.wall(), self._triggered_by)
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
        """Give the turn up: another worker may reach a store that we cannot, and must not wait for us."""
        with contextlib.suppress(BrokerUnavailable):  # the outage was just logged, and the turn lapses by itself
            if self._board is not None:
                await self._board.take_turn(TURN, self._token, 0.0)

    async def _keep_turn(self) -> bool:
        """Keep the turn. False: another worker has it now, and sweeps the rest."""
        if self._clock.monotonic() - self._asked < self._request.interval_seconds * _RENEW_AFTER:
            return True
        return await self._take_turn()

    async def bury(self) -> list[str]:
        """Return all that the proven dead held; the ids of these owners.

        Silent owners that hold nothing are removed.
        """
        members = await self._roster.members()
        self.on_members(members)
        seconds = self._broker.traits.roster_seconds * (1 if len(members) <= _MANY else 2)
        # A little early: the tick that follows must not miss it by a hair.
        self._next_look = self._clock.monotonic() + seconds - _EARLY_SECONDS
        judged = presence.judge(members, self._probe)
        for dead in judged.dead:
            await self._retire(dead)
        await self._remove(judged.silent)
        return [dead.owner.id for dead in judged.dead]

    async def _retire(self, dead: DeadOwner) -> None:
        batches: list[Swept] = []
        try:
            async for swept in retire(self._broker, dead):
                batches.append(swept)  # noqa: PERF401 - kept even if a later one fails
        finally:  # report what was returned, even if the rest failed
            self._tell_retired(dead, batches)

    def _tell_retired(self, dead: DeadOwner, batches: Sequence[Swept]) -> None:
        held = sum(len(swept.returned) for swept in batches)
        if not held and (dead.left or not any(swept.declared for swept in batches)):
            return  # it reported its own end, or another worker was faster
        logger.warning("%s is gone: %s; %s", dead.owner.id, dead.proof, returned_text(held))
        self._publish(events_of_retirement(dead, batches, self._clock.wall(), "liveness"))

    async def _remove(self, silent: Sequence[Member]) -> None:
        """Remove silent owners that hold nothing from the roster. Asked seldom: most hold something."""
        now = self._clock.monotonic()
        self._asked_to_remove = {
            id: at for id, at in self._asked_to_remove.items() if now - at < presence.SILENT_SECONDS / 2
        }
        for member in silent:
            id = member.owner.id
            if id in self._asked_to_remove:
                continue
            self._asked_to_remove[id] = now
            if await self._roster.remove(id, presence.SILENT_SECONDS):
                logger.info(
                    "%s has been silent for %.0f s and holds nothing: removed from the list of workers. "
                    "It joins again if it comes back",
                    id,
                    member.silent_seconds,
                )


async def retire(broker: Broker, dead: DeadOwner) -> AsyncIterator[Swept]:
    """Return all that a dead owner held, in batches, each in one step."""
    more = True
    while more:
        swept = await broker.retire(dead.owner.id, crashed=not dead.left)
        yield swept
        more = swept.more


def returned_text(count: int) -> str:
    """Say how many messages were returned."""
    return f"{plural(count, 'message')} returned"


def events_of_retirement(dead: DeadOwner, batches: Sequence[Swept], at: float, triggered_by: str) -> list[Event]:
    """The events and log lines of a retirement."""
    count = sum(len(swept.returned) for swept in batches)
    data = {"proof": dead.proof, "count": count, "left": dead.left}
    retired = Event(EventKind.OWNER_RETIRED, at, owner=dead.owner.id, data=data)
    return [retired, *(event for swept in batches for event in events_of_return(swept, at, triggered_by))]


def events_of_return(swept: Swept, at: float, triggered_by: str, owner: str | None = None) -> list[Event]:
    """Make one event for each queue, or several for very many ids. Each counts the ids it names, so they add up."""
    events = []
    returned, dead = _by_queue(swept.returned, swept.queues), _by_queue(swept.dead, swept.queues)
    for queue, ids in returned.items():
        moved = len(dead.get(queue, ()))
        for page in _pages(ids):
            data = {"count": len(page), "dlq_count": moved, "ids": page, "triggered_by": triggered_by}
            events.append(Event(EventKind.REQUEUE, at, queue, owner=owner, data=data))
            moved = 0
    for queue, ids in dead.items():
        for page in _pages(ids):
            data = {"count": len(page), "dlq_count": len(page), "ids": page, "triggered_by": triggered_by}
            events.append(Event(EventKind.MOVE_TO_DLQ, at, queue, owner=owner, data=data))
    return events


def _by_queue(ids: Sequence[str], queues: Mapping[str, str]) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    for id in ids:
        found.setdefault(queues.get(id), []).append(id)
    return found


def _pages(ids: Sequence[str]) -> list[list[str]]:
    return [list(ids[start : start + _IDS_IN_AN_EVENT]) for start in range(0, len(ids), _IDS_IN_AN_EVENT)]
