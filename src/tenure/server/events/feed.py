"""A feed: events encoded once for all streams with the same filter and the same rights.

What comes from the tail becomes numbered pieces of bytes; a stream is only the number of the piece that it sends next.
Pieces that every stream has taken are dropped. If a stream is so slow that too much is kept for it, the oldest pieces
are dropped anyway, and the stream finds that its piece is gone.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

import msgspec

from tenure.client.operations.event_choice import EventChoice
from tenure.server.events import wire
from tenure.server.events.event_rights import EventRights
from tenure.server.events.event_writer import EventWriter
from tenure.server.events.tail import Missing, TailBatch

#: So much is kept for streams that read slowly: bytes, and blocks.
MOST_BYTES = 256 * 1024
MOST_BLOCKS = 2_000
#: A stream takes about this many bytes at once: more would only fill the buffer of its connection.
_TAKEN_BYTES = 64 * 1024


class Piece(msgspec.Struct, frozen=True):
    """Some blocks. A stream that has sent it has everything up to the place `until`."""

    data: bytes
    blocks: int
    until: int


class Follower(Protocol):
    """A stream, as its feed knows it."""

    #: The number of the piece that it takes next. None: it reads older events first.
    number: int | None

    def wake(self) -> None:
        """Wake the stream: there is something to send."""
        ...

    def end(self) -> None:
        """End the stream: there will be nothing more."""
        ...


class Feed:
    """The bytes that all streams of one filter send."""

    def __init__(self, choice: EventChoice, rights: EventRights, place: int, wall: Callable[[], float]) -> None:
        """Begin behind `place`, which is where the tail is."""
        self.choice = choice
        self.rights = rights
        #: Everything up to here is in the pieces, or is not meant.
        self.until = place
        self.followers: set[Follower] = set()
        self._writer = EventWriter(choice, rights)
        self._wall = wall
        self._pieces: deque[Piece] = deque()
        #: The number of the oldest piece that is kept.
        self._first = 0
        self._bytes = self._blocks = 0

    # -- from the tail -----------------------------------------------------------------------------

    def take(self, batch: TailBatch) -> None:
        """Encode what came."""
        events = batch.events if self.choice.with_completed else batch.others
        self._add([*self._writer.write(events), *self._writer.flush(batch.until, self._wall())], batch.until)

    def miss(self, missing: Missing) -> None:
        """Say that events are missing. The place after it may be a lower one: the journal may have started over."""
        now, place = self._wall(), missing.first - 1
        note = wire.gap(missing.after, missing.first, now, reason=missing.reason)
        self._add([*self._writer.end(self.until), note, wire.heartbeat(place)], place)

    def lose_store(self, code: str) -> None:
        """Say that silence means nothing for now."""
        self._add([wire.away(code, self._wall())], self.until)

    def find_store(self) -> None:
        """Say that the store answers again."""
        self._add([wire.back(self._wall())], self.until)

    def flush(self) -> None:
        """Say how many completed messages were left out, once their second is over."""
        self._add(self._writer.flush(self.until, self._wall()), self.until)

    def end(self) -> None:
        """End every stream of this feed."""
        for one in tuple(self.followers):
            one.end()

    # -- from the streams --------------------------------------------------------------------------

    @property
    def next_number(self) -> int:
        """The number of the piece that comes next."""
        return self._first + len(self._pieces)

    def taken_from(self, number: int) -> list[Piece] | None:
        """Pieces from this number on, as many as are sent at once. None: the piece is gone."""
        if number < self._first:
            return None
        found: list[Piece] = []
        size = 0
        for index in range(number - self._first, len(self._pieces)):
            piece = self._pieces[index]
            if found and size + len(piece.data) > _TAKEN_BYTES:
                break
            found.append(piece)
            size += len(piece.data)
        return found

    def _add(self, blocks: list[bytes], until: int) -> None:
        self.until = until
        if not blocks:
            return
        piece = Piece(b"".join(blocks), len(blocks), until)
        self._pieces.append(piece)
        self._bytes += len(piece.data)
        self._blocks += piece.blocks
        self._drop()
        for one in self.followers:
            one.wake()

    def _drop(self) -> None:
        """Drop the pieces that all streams have taken, and the oldest over the limits, but never the newest."""
        wanted = min((one.number for one in self.followers if one.number is not None), default=self.next_number)
        while self._pieces and (
            self._first < wanted or (len(self._pieces) > 1 and (self._bytes > MOST_BYTES or self._blocks > MOST_BLOCKS))
        ):
            gone = self._pieces.popleft()
            self._first += 1
            self._bytes -= len(gone.data)
            self._blocks -= gone.blocks
