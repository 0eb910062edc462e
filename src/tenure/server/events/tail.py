"""The tail of the journal: read once for all viewers of a server, and only while there are any.

    async with tail.following(): ...

The first viewer starts it and the last one stops it; without viewers the store is not read. It waits for
the journal (`Journal.wait`) and reads what came, at most ten times a second, so that many events cost one wake of each
stream and not many. After an outage it goes on where it was. Where the journal no longer reaches back that far, or
started over, its listeners get a `Missing`.

Its listeners are feeds (`feed.py`).
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

from tenure.app import Tenure
from tenure.client.operations.event_choice import is_routine
from tenure.errors import BrokerError
from tenure.event import StoredEvent
from tenure.server.events.recent_events import RecentEvents
from tenure.server.events.wire import FORGOTTEN, OTHER_JOURNAL, EncodedEvent, Hide
from tenure.state import Journal

logger = logging.getLogger("tenure.server")

#: Events in one read. At 30,000 a second a read each 100 ms brings 3,000.
PAGE = 5_000
#: At most one read in this many seconds.
PACE_SECONDS = 0.1
#: The journal is asked to wait this long; then the tail checks whether it started over.
WAIT_SECONDS = 20.0
#: This many events from before the first viewer came are read into memory: a server that was started again has its
#: viewers back within seconds, and most of them missed little.
_FIRST_READ = 1_000
#: Pauses between two tries while the store is away.
_AGAIN_SECONDS, _MOST_AGAIN_SECONDS = 0.5, 5.0


class TailBatch(msgspec.Struct, frozen=True):
    """Events that came, in order: all events behind the last batch up to `until`."""

    events: Sequence[EncodedEvent]
    #: Those that are no completed messages.
    others: Sequence[EncodedEvent]
    until: int


class Missing(msgspec.Struct, frozen=True):
    """Events behind `after` and before `first` were never read. Reading goes on at `first`."""

    after: int
    first: int
    reason: str


class Listener(Protocol):
    """A listener to the events that the tail reads. Called in the loop; must not wait."""

    def take(self, batch: TailBatch) -> None:
        """Events came."""
        ...

    def miss(self, missing: Missing) -> None:
        """Note that events are missing."""
        ...

    def lose_store(self, code: str) -> None:
        """The store gives no answer."""
        ...

    def find_store(self) -> None:
        """The store answers again."""
        ...

    def end(self) -> None:
        """Note that no more events will come."""
        ...


class Tail:
    """Reads on in the journal of one app."""

    def __init__(self, app: Tenure, hide: Hide | None = None) -> None:
        """Read the journal of `app` once a viewer follows. `hide`: as of `EncodedEvent`."""
        self._hide = hide
        self._app = app
        #: Everything up to here was read.
        self.place = 0
        self.recent = RecentEvents(0)
        self.listeners: set[Listener] = set()
        self._followers = 0
        self._reading: asyncio.Task[None] | None = None
        self._started: asyncio.Task[None] | None = None
        self._is_away = False

    @property
    def is_reading(self) -> bool:
        """Whether the store is asked."""
        return self._reading is not None

    def encoded(self, stored: StoredEvent) -> EncodedEvent:
        """An event, to be encoded when it is wanted."""
        return EncodedEvent(stored, self._hide)

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Read for as long as it is entered. Raises `BrokerError` if the store is away at the start."""
        self._followers += 1
        try:
            if self._started is None:
                self._started = asyncio.create_task(self._start())
            starting = self._started
            try:
                await asyncio.shield(starting)
            except Exception:
                if self._started is starting:
                    self._started = None
                raise
            yield
        finally:
            self._followers -= 1
            if not self._followers:
                self.stop()

    def stop(self) -> None:
        """Ask the store nothing more."""
        for task in (self._started, self._reading):
            if task is not None:
                task.cancel()
        self._started = self._reading = None

    async def _start(self) -> None:
        journal = self._journal
        self.place = await journal.last()
        self.recent = RecentEvents(max(0, self.place - _FIRST_READ))
        if self.place:
            before = await journal.read(self.recent.begin, _FIRST_READ)
            if before and before[0].seq > self.recent.begin + 1:
                self.recent.begin = before[0].seq - 1
            self.recent.add(self.encoded(one) for one in before if one.seq <= self.place)
        self._is_away = False
        self._reading = asyncio.create_task(self._read_or_end())

    @property
    def _journal(self) -> Journal:
        return self._app.state.journal

    async def _read_or_end(self) -> None:
        try:
            await self._read_on()
        except Exception:
            logger.critical(
                "reading the journal for viewers failed; their streams end, and their clients reconnect", exc_info=True
            )
            self._started = self._reading = None
            for one in tuple(self.listeners):
                one.end()

    async def _read_on(self) -> None:
        pause = _AGAIN_SECONDS
        while True:
            try:
                stored = await self._next()
                missing = await self._missing(stored)
            except BrokerError as error:
                self._note_away(error)
                await asyncio.sleep(pause)
                pause = min(_MOST_AGAIN_SECONDS, 2 * pause)
                continue
            pause = _AGAIN_SECONDS
            self._note_back()
            if missing is not None:
                self._skip(missing)
            elif stored:
                self._deliver(stored)
            if len(stored) < PAGE:  # else there is more already
                await asyncio.sleep(PACE_SECONDS)

    async def _next(self) -> list[StoredEvent]:
        """Read the next events. Empty: none came within a while."""
        stored = await self._journal.read(self.place, PAGE)
        if stored:
            return stored
        await self._journal.wait(self.place, WAIT_SECONDS)
        return await self._journal.read(self.place, PAGE)

    def _note_away(self, error: BrokerError) -> None:
        if not self._is_away:
            self._is_away = True
            logger.warning("the journal gives no answer (%s); viewers wait for it", error)
            for one in self.listeners:
                one.lose_store(error.code)

    def _note_back(self) -> None:
        if self._is_away:
            self._is_away = False
            for one in self.listeners:
                one.find_store()

    async def _missing(self, stored: Sequence[StoredEvent]) -> Missing | None:
        """The gap between the place and these events, if there was one."""
        place = self.place
        if not stored:
            if await self._journal.last() >= place:
                return None
            return Missing(place, max(1, await self._journal.first()), OTHER_JOURNAL)
        if stored[0].seq == place + 1 or not place:
            return None
        first = await self._journal.first()
        return Missing(place, first, FORGOTTEN) if first > place + 1 else None

    def _skip(self, missing: Missing) -> None:
        """Skip to the first event that is there."""
        self.place = missing.first - 1
        self.recent = RecentEvents(self.place)
        for one in self.listeners:
            one.miss(missing)

    def _deliver(self, stored: Sequence[StoredEvent]) -> None:
        events = [self.encoded(one) for one in stored]
        others = [one for one in events if not is_routine(one.event)]
        self.place = events[-1].seq
        self.recent.add(others)
        batch = TailBatch(events, others, self.place)
        for one in self.listeners:
            one.take(batch)
