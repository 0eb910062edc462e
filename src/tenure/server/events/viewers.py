"""Viewers: the open streams of this server, and the feeds that they share.

One of them belongs to each server process. While there are viewers, feeds report once a second what they left out.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from tenure.app import Tenure
from tenure.client.operations.event_choice import EventChoice
from tenure.server.events.event_rights import EventRights
from tenure.server.events.feed import Feed
from tenure.server.events.stream import Stream, Ticks
from tenure.server.events.tail import Tail
from tenure.server.events.wire import Hide

_FLUSH_SECONDS = 1.0
#: This many viewers read the journal at once to see what they missed.
_REPLAYS = 4


class Viewers:
    """The open streams."""

    def __init__(self, app: Tenure, hide: Hide | None = None) -> None:
        """Share one tail of `app` among viewers. `hide`: as of `EncodedEvent`."""
        self.tail = Tail(app, hide)
        self._app = app
        self._feeds: dict[tuple[EventChoice, EventRights], Feed] = {}
        self._streams: set[Stream] = set()
        self._replays = asyncio.Semaphore(_REPLAYS)
        self._flushing: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """The number of open streams."""
        return len(self._streams)

    @contextlib.contextmanager
    def stream(
        self, choice: EventChoice, rights: EventRights, *, after: int | None = None, ticks: Ticks | None = None
    ) -> Iterator[Stream]:
        """A stream, for as long as it is entered; the tail is followed around it."""
        key = (choice, rights)
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = Feed(choice, rights, self.tail.place, self._app.state.wall)
            self.tail.listeners.add(feed)
        stream = Stream(self._app, self.tail, feed, self._replays, after=after, ticks=ticks)
        feed.followers.add(stream)
        self._streams.add(stream)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush())
        try:
            yield stream
        finally:
            self._streams.discard(stream)
            feed.followers.discard(stream)
            if not feed.followers:
                self._feeds.pop(key, None)
                self.tail.listeners.discard(feed)
            if not self._streams and self._flushing is not None:
                self._flushing.cancel()
                self._flushing = None

    def end(self) -> None:
        """End every stream, each with a hint when to come back."""
        for one in tuple(self._streams):
            one.end()

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            for feed in tuple(self._feeds.values()):
                feed.flush()
