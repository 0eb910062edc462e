"""The newest events of the journal, kept in memory so that a viewer who was away for a moment asks no store.

Completed messages are not among them: at 30,000 a second they would be all of it, and hardly anybody asks for them.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from tenure.event import EventKind
from tenure.server.events.wire import EncodedEvent

#: So many events are kept at most, and about so many bytes.
MOST_EVENTS = 2_000
MOST_BYTES = 4 * 1024 * 1024


class RecentEvents:
    """Events behind a place, oldest first, without completed messages."""

    def __init__(self, place: int) -> None:
        """Empty: there is nothing behind `place` yet."""
        #: Everything behind it, up to what was added last, is here.
        self.begin = place
        self._events: deque[tuple[EncodedEvent, int]] = deque()
        self._bytes = 0

    def add(self, events: Iterable[EncodedEvent]) -> None:
        """What came next."""
        for one in events:
            if one.event.kind is not EventKind.COMPLETED:
                weight = one.weight
                self._events.append((one, weight))
                self._bytes += weight
        while len(self._events) > MOST_EVENTS or self._bytes > MOST_BYTES:
            gone, weight = self._events.popleft()
            self._bytes -= weight
            self.begin = gone.seq

    def behind(self, place: int) -> list[EncodedEvent] | None:
        """What came behind `place`. None: that is longer ago than memory reaches."""
        if place < self.begin:
            return None
        found = []
        for one in self._newest_first():
            if one.seq <= place:
                break
            found.append(one)
        found.reverse()
        return found

    def _newest_first(self) -> Iterator[EncodedEvent]:
        return (one for one, _ in reversed(self._events))
