"""Reading the journal: the last events that are meant, and those that come after them.

Following waits for the journal (`Journal.wait`) and asks it nothing in between. After an outage it goes on where it
was; where the journal no longer reaches back that far, it says so: `Gap`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

import msgspec

from tenure.app import Tenure
from tenure.client.operations.event_choice import EventChoice
from tenure.errors import BrokerError
from tenure.event import StoredEvent
from tenure.state import Journal

#: This many events are read back, at most, to find the last ones that are meant.
MOST_EVENTS = 100_000
_PAGE = 1_000
#: A journal is asked to wait so long; and after this long a reader checks whether it was left behind.
_WAIT_SECONDS, _BEHIND_SECONDS = 20.0, 60.0
#: Pauses between two tries while the store is away.
_AGAIN_SECONDS, _MOST_AGAIN_SECONDS = 0.5, 5.0


class Last(msgspec.Struct, frozen=True, kw_only=True):
    """The last chosen events, oldest first."""

    events: list[StoredEvent]
    #: Completed messages among them, which were not asked for.
    left_out: int = 0
    #: The place of the newest event that was looked at.
    place: int = 0
    #: There are older events that were not looked at.
    is_cut: bool = False


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Events that came, in order."""

    events: list[StoredEvent]
    left_out: int = 0


class Gap(msgspec.Struct, frozen=True):
    """Events between these two places were forgotten before they were read, or the journal started over."""

    after: int
    first: int


class Away(msgspec.Struct, frozen=True):
    """The store gives no answer; reading goes on when it does."""

    why: str


class Back(msgspec.Struct, frozen=True):
    """The store answers again."""


Heard = Batch | Gap | Away | Back


async def last(app: Tenure, choice: EventChoice, number: int) -> Last:
    """Read the last `number` chosen events."""
    journal = app.state.journal
    end = await journal.last()
    if choice.message is not None:
        about = [one for one in await journal.about(choice.message, limit=_PAGE) if choice.means(one.event)]
        return Last(events=about[-number:] if number else [], place=end)
    found: deque[StoredEvent] = deque()
    left_out, place, looked_at = 0, end, 0
    oldest = await journal.first()
    while number and place > max(0, oldest - 1) and len(found) < number and looked_at < MOST_EVENTS:
        before, place = place, max(0, place - _PAGE)
        page = [one for one in await journal.read(place, before - place) if one.seq <= before]
        looked_at += before - place
        for one in reversed(page):
            if choice.is_left_out(one.event):
                left_out += 1
            elif choice.means(one.event) and app_sees(app, one):
                found.appendleft(one)
                if len(found) == number:
                    break
        if choice.since is not None and page and page[0].event.at < choice.since:
            break
    is_cut = len(found) < number and looked_at >= MOST_EVENTS
    return Last(events=list(found), left_out=left_out, place=end, is_cut=is_cut)


def app_sees(app: Tenure, stored: StoredEvent) -> bool:
    """Whether an event is this app's to look at: of its namespace, or about no queue."""
    return stored.event.queue is None or app.sees(stored.event.queue)


async def follow(app: Tenure, choice: EventChoice, place: int) -> AsyncIterator[Heard]:
    """Yield all events behind `place`, for ever."""
    reader = _JournalReader(app, choice, place)
    while True:
        async for heard in reader.next():
            yield heard


class _JournalReader:
    """Reads on in the journal, from a place."""

    def __init__(self, app: Tenure, choice: EventChoice, place: int) -> None:
        self._app = app
        self._choice = choice
        self._place = place
        self._read_at = app.clock.monotonic()
        self._is_away = False
        self._again = _AGAIN_SECONDS

    async def next(self) -> AsyncIterator[Heard]:
        """Yield what comes next: some events, or that there is trouble."""
        try:
            gap = await self._left_behind()
            stored = await self._app.state.journal.read(self._place, _PAGE)
            if not stored:
                await self._app.state.journal.wait(self._place, _WAIT_SECONDS)
        except BrokerError as error:
            if not self._is_away:
                self._is_away = True
                yield Away(str(error) or error.code)
            await asyncio.sleep(self._again)
            self._again = min(_MOST_AGAIN_SECONDS, 2 * self._again)
            return
        if self._is_away:
            self._is_away, self._again = False, _AGAIN_SECONDS
            yield Back()
        self._read_at = self._app.clock.monotonic()
        if gap is not None:
            yield gap
        if stored:
            self._place = stored[-1].seq
            yield self._batch(stored)

    async def _left_behind(self) -> Gap | None:
        """Asked after an outage, or when this process stood still: a reader that keeps up misses nothing."""
        if not self._is_away and self._app.clock.monotonic() - self._read_at < _BEHIND_SECONDS:
            return None
        journal: Journal = self._app.state.journal
        first, end, place = await journal.first(), await journal.last(), self._place
        if end < place:  # another journal: the old place means nothing there
            self._place = max(0, first - 1)
            return Gap(place, first)
        if first > place + 1:
            self._place = first - 1
            return Gap(place, first)
        return None

    def _batch(self, stored: list[StoredEvent]) -> Batch:
        seen = [one for one in stored if app_sees(self._app, one)]
        return Batch(
            events=[one for one in seen if self._choice.means(one.event) and not self._choice.is_left_out(one.event)],
            left_out=sum(self._choice.is_left_out(one.event) for one in seen),
        )
