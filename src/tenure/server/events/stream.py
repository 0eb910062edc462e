"""A stream: what one viewer is sent, from the place where they were to the end of their connection.

First what they missed: from memory, or from the journal where memory does not reach, or a gap where the journal does
not either. Then the pieces of the feed, as they come. Every 15 s without anything a heartbeat says how far the journal
was looked through, so that a viewer of rare events comes back to the right place.

A stream keeps nothing: it is a place in the feed. One that reads so slowly that its place is gone gets an event that
says so, and ends.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from tenure.app import Tenure
from tenure.errors import BrokerError
from tenure.event import StoredEvent
from tenure.server.events import wire
from tenure.server.events.event_writer import EventWriter
from tenure.server.events.feed import Feed
from tenure.server.events.tail import Tail

HEARTBEAT_SECONDS = 15.0
#: Events that are read at once for a viewer who was away for long.
_PAGE = 1_000
#: A tail that is a moment behind the server where the viewer was before gets so long to read as far.
_LOOKS, _LOOK_SECONDS = 100, 0.05


class Ticks(Protocol):
    """The snapshots of a stream, beside its events."""

    def next(self) -> bytes:
        """Return what is new since the last call; empty: nothing."""
        ...


class Stream:
    """The stream of one viewer."""

    def __init__(
        self,
        app: Tenure,
        tail: Tail,
        feed: Feed,
        replays: asyncio.Semaphore,
        *,
        after: int | None = None,
        ticks: Ticks | None = None,
    ) -> None:
        """Begin behind place `after` (0: with the oldest event that is kept), or None: with what comes now.

        `replays` bounds how many read the journal at once.
        """
        #: Everything up to here was sent, or is not meant.
        self.place = tail.place if after is None else after
        #: The number of the piece of the feed that comes next. None: older events come first.
        self.number: int | None = feed.next_number if after is None else None
        self._app = app
        self._tail = tail
        self._feed = feed
        self._replays = replays
        self._ticks = ticks
        self._news = asyncio.Event()
        self._ends = False
        self._sent_at = app.clock.monotonic()

    def wake(self) -> None:
        """Wake the stream: there is something to send."""
        self._news.set()

    def end(self) -> None:
        """End it, with a hint when to come back."""
        self._ends = True
        self._news.set()

    async def blocks(self) -> AsyncGenerator[bytes]:
        """Yield all blocks until the stream ends."""
        yield wire.opening(self.place)
        if not self._is_live:
            async for data in self._older():
                yield self._sending(data)
        while not self._ends and self.number is not None:
            pieces = self._feed.taken_from(self.number)
            if pieces is None:
                yield wire.gap(self.place, self._feed.until + 1, self._app.state.wall(), reason=wire.TOO_SLOW)
                break
            if pieces:
                self.number += len(pieces)
                self.place = pieces[-1].until
                yield self._sending(b"".join(piece.data for piece in pieces))
                continue
            self._news.clear()
            if self._ticks is not None and (tick := self._ticks.next()):
                yield self._sending(tick)
            elif not await self._has_news():
                yield self._sending(wire.heartbeat(self._looked_through()))
        yield wire.closing(self._looked_through())

    def _looked_through(self) -> int:
        """Return the place up to which nothing is left to send."""
        if self.number == self._feed.next_number:
            self.place = self._feed.until
        return self.place

    async def _has_news(self) -> bool:
        """Wait for something to send. False: there was nothing for so long that a heartbeat is due."""
        left = self._sent_at + HEARTBEAT_SECONDS - self._app.clock.monotonic()
        try:
            async with asyncio.timeout(max(0.0, left)):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def _sending(self, data: bytes) -> bytes:
        self._sent_at = self._app.clock.monotonic()
        return data

    # -- what came before --------------------------------------------------------------------------

    async def _older(self) -> AsyncGenerator[bytes]:
        """Yield older events up to the tail; from then on the feed has everything."""
        try:
            if self.place > self._tail.place and (data := await self._wait_for_tail()):
                yield data
            writer = EventWriter(self._feed.choice, self._feed.rights)
            while not (self._is_live or self._ends):
                if data := await self._next_older(writer):
                    yield data
                elif self._app.clock.monotonic() - self._sent_at >= HEARTBEAT_SECONDS:
                    yield wire.heartbeat(self.place)
        except BrokerError as error:  # the viewer comes back, and goes on where it was
            yield wire.away(error.code, self._app.state.wall())
            self._ends = True

    async def _wait_for_tail(self) -> bytes:
        """Wait for a tail that is behind the viewer, whose former server may have read a moment further."""
        last = await self._app.state.journal.last()
        if self.place > last:
            after = self.place
            self._join()
            note = wire.gap(after, self.place + 1, self._app.state.wall(), reason=wire.OTHER_JOURNAL)
            return note + wire.heartbeat(self.place)
        for _ in range(_LOOKS):
            if self._tail.place >= self.place or self._ends:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        return b""

    async def _next_older(self, writer: EventWriter) -> bytes:
        """Return the next part of the older events."""
        if not writer.choice.with_completed:
            events = self._tail.recent.behind(self.place)
            if events is not None:
                self._join()
                return b"".join(writer.write(events))
        async with self._replays:
            page = await self._app.state.journal.read(self.place, _PAGE)
            gap = await self._gap_before(page)
        # What the tail has not read yet comes by the feed.
        end = self._tail.place
        blocks = writer.write(self._tail.encoded(one) for one in page if one.seq <= end)
        if not page or page[-1].seq >= end:
            self._join()
            blocks += writer.end(self.place)
        else:
            self.place = page[-1].seq
        return gap + b"".join(blocks)

    async def _gap_before(self, page: Sequence[StoredEvent]) -> bytes:
        """Return a gap note if events were forgotten before the page. A viewer who begins at 0 has missed nothing."""
        if not self.place or (page and page[0].seq == self.place + 1) or (not page and self.place >= self._tail.place):
            return b""
        first = await self._app.state.journal.first() or self._tail.place + 1
        if first <= self.place + 1:
            return b""
        return wire.gap(self.place, first, self._app.state.wall(), reason=wire.FORGOTTEN)

    @property
    def _is_live(self) -> bool:
        return self.number is not None

    def _join(self) -> None:
        """Join the feed, which has everything from here on."""
        self.place, self.number = self._tail.place, self._feed.next_number
