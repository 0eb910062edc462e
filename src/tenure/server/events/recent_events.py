"""The newest events of the journal, kept in memory so that a viewer who was away for a moment asks no store.

Completed messages are not among them: at 30,000 a second they would be all of it, and are rarely asked for.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from tenure.client.operations.event_choice import is_routine
from tenure.server.events.wire import EncodedEvent

#: This many events are kept at most, and about this many bytes.
MOST_EVENTS = 2_000
MOST_BYTES = 4 * 1024 * 1024


class RecentEvents:
    """Events behind a place, oldest first, without completed messages."""

    def __init__(self, place: int) -> None:
        """Start empty, behind `place`."""
        #: Everything behind it, up to what was added last, is here.
        self.begin = place
        self._events: deque[tuple[EncodedEvent, int]] = deque()
        self._bytes = 0

    def add(self, events: Iterable[EncodedEvent]) -> None:
        """Add the next events."""
        for one in events:
            if not is_routine(one.event):
                weight = one.weight
                self._events.append((one, weight))
                self._bytes += weight
        while len(self._events) > MOST_EVENTS or self._bytes > MOST_BYTES:
            gone, weight = self._events.popleft()
            self._bytes -= weight
            self.begin = gone.seq

    def behind(self, place: int) -> list[EncodedEvent] | None:
        """Return the events behind `place`. None: memory does not reach back so far."""
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
