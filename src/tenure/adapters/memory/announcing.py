"""Announcing: endings that wait until all that asked for them have them.

`announce` is called in the step in which a message ends (`rules/announcing.py` says when). Used by `settling.py`,
`returning.py`, `operating.py`, `sending.py` and the ledger.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tenure.announcement import Announcement, AnnounceRequest
from tenure.message import MessageState
from tenure.rules.announcing import announcement
from tenure.verdict import Reason

if TYPE_CHECKING:
    from tenure.adapters.memory.entry import MemoryEntry


class Announcements:
    """Those that wait, in the order of their endings."""

    def __init__(self) -> None:
        """Start empty."""
        self._last = 0
        self._waiting: dict[int, Announcement] = {}
        #: Of each message whose result is in its record alone: how many of its announcements wait.
        self._large: dict[str, int] = {}

    def add(
        self, entry: "MemoryEntry", ending: MessageState, ended_at: float,
        *, reason: Reason | None = None, result: bytes | None = None,
    ) -> None:  # fmt: skip
        """Announce that a message ended, if it asked for it, and once in each generation."""
        generation = entry.scope.generation
        if entry.announce is None or entry.announced >= generation:
            return
        entry.announced = generation
        self._last += 1
        one = announcement(
            entry.announce, id=entry.id, queue=entry.queue, task=entry.task, generation=generation, ending=ending,
            ended_at=ended_at, reason=reason, result=result, place=str(self._last),
        )  # fmt: skip
        self._waiting[self._last] = one
        if one.large_result is not None:
            self._large[one.id] = self._large.get(one.id, 0) + 1

    def read(self, after: str, limit: int) -> list[Announcement]:
        """The next ones behind a place."""
        place = int(after or 0)
        return list(islice((one for number, one in self._waiting.items() if number > place), limit))

    def end(self, batch: Sequence[Announcement]) -> None:
        """Forget them."""
        for one in batch:
            known = self._waiting.pop(int(one.place or 0), None)
            if known is not None and known.large_result is not None:
                self._large[known.id] -= 1
                if not self._large[known.id]:
                    del self._large[known.id]

    def needs_record(self, id: str) -> bool:
        """Whether the result of one that waits is in the record of message `id` alone."""
        return id in self._large


def learn_request(entry: "MemoryEntry | None", request: AnnounceRequest | None) -> None:
    """Keep what a message asks for that was not sent by Tenure: only its reader knows."""
    if entry is not None and request is not None:
        entry.announce = request
