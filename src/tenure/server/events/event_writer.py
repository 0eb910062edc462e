"""Writing a run of events as blocks: filtered, redacted, and with at most 50 completed messages a second. Pure.

A second is one of the events' own times, so the same events give the same blocks, live and replayed.
"""

from collections.abc import Iterable

from tenure.client.operations.event_choice import EventChoice, is_routine
from tenure.server.events import wire
from tenure.server.events.event_rights import EventRights
from tenure.server.events.wire import EncodedEvent

#: This many completed messages of one second are shown; the others are counted.
MOST_COMPLETED = 50
#: Seconds that are counted at once.
_SECONDS = 16


class EventWriter:
    """Writes events for one choice, in the order of the journal."""

    def __init__(self, choice: EventChoice, rights: EventRights) -> None:
        """Write the events of this choice that these rights allow."""
        self.choice = choice
        self.rights = rights
        #: Completed messages that were shown, by second, the oldest first. Clocks differ, so there are several seconds.
        self._shown: dict[int, int] = {}
        self._skipped = 0
        self._skipped_at = 0.0

    def write(self, events: Iterable[EncodedEvent]) -> list[bytes]:
        """The blocks of those that are meant. All events behind the last call's were looked at, up to these."""
        blocks: list[bytes] = []
        means, sees, rights = self.choice.means, self.rights.sees, self.rights
        with_completed, is_limited = self.choice.with_completed, self.choice.message is None
        for one in events:
            event, is_completed = one.event, is_routine(one.event)
            if (is_completed and not with_completed) or not (means(event) and sees(event)):
                continue
            # Of one message there are few.
            if is_completed and is_limited and not self._has_room(one, blocks):
                continue
            blocks.append(one.block(rights))
        return blocks

    def flush(self, place: int, now: float) -> list[bytes]:
        """Write how many were left out, once their second is over; all events up to `place` were looked at."""
        return self.end(place) if self._skipped and now - self._skipped_at >= 1.0 else []

    def end(self, place: int) -> list[bytes]:
        """Write how many were left out, at once."""
        if not self._skipped:
            return []
        count, self._skipped = self._skipped, 0
        return [wire.skipped(count, self._skipped_at, place)]

    def _has_room(self, one: EncodedEvent, blocks: list[bytes]) -> bool:
        second = int(one.event.at)
        shown = self._shown.get(second)
        if shown is None:
            blocks += self.end(one.seq - 1)
            shown = 0
            if len(self._shown) >= _SECONDS:
                del self._shown[next(iter(self._shown))]
        if shown < MOST_COMPLETED:
            self._shown[second] = shown + 1
            return True
        self._skipped += 1
        self._skipped_at = one.event.at
        return False
