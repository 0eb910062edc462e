"""Listing: which queues have something, as the server's list says (`lua/listed.lua`).

Whatever makes a message wait puts its queue on the list in the same step, so a worker on a thousand idle queues costs
as much as on one. The list is a hint. Some queues may be missing: those that an older version sends to, and in a
cluster, where the list is on another server, any. So all known queues are looked at again and again, and such a one
is found within `LISTED_SECONDS`; who waits meanwhile hears of it at once.

A lease call answers which queues come next, so the one after it need not read the list: a drain of many
queues waits for one exchange, not for two. Where others take from the same queues, that answer is soon out of date.
Then the list is read before each lease for some time.

Used by `lending.py` and `waiting.py`; one for each store.
"""

import logging
import os
from collections.abc import Sequence

from tenure.adapters.redis.foreign_keys import sound
from tenure.adapters.redis.script import BUSY, LIST, TURN
from tenure.adapters.redis.served import ServedQueues
from tenure.adapters.redis.store import RedisStore, micros
from tenure.errors import StoreForeign
from tenure.owner import retired

logger = logging.getLogger("tenure.redis")

#: A queue that has something and is not listed is listed after so long at the latest.
LISTED_SECONDS = 5.0
#: How often to look: the holder of the turn may just have died.
_EVERY_SECONDS = LISTED_SECONDS / 2
#: Queues that are looked at in one step.
_TOGETHER = 50
#: Queues that are read from the list at once: at first, and where none of them is served.
_FIRST_PAGE, _PAGE = 100, 1000
#: What a lease call answered about the list counts for this long.
_TOLD_SECONDS = 0.1
#: After it was wrong, this many calls read the list themselves.
_DOUBTS = 20


class QueueListing:
    """The list of queues that have something."""

    def __init__(self, store: RedisStore) -> None:
        """Take the store. The first lease call reads the list."""
        self._store = store
        self._token = os.urandom(8).hex()
        self._refreshed = float("-inf")
        self._is_foreign = False
        #: What the last lease call answered about the list, and when.
        self._told: Sequence[bytes] = ()
        self._told_at = float("-inf")
        #: Calls that read the list themselves, because others lease from the same queues.
        self._doubts = 0

    def ask_for(self, most: int) -> int:
        """Return how many queues a lease call should list for the next one."""
        return 0 if self._doubts else most

    def hear(self, page: Sequence[bytes]) -> None:
        """Keep what a lease call answered about the list, so that the next one need not read it."""
        self._told, self._told_at = page, self._store.clock.monotonic()

    def doubt(self) -> None:
        """The named queues were empty: other workers are faster. Read the list again for some time."""
        self._doubts = _DOUBTS

    async def ready(self, served: ServedQueues, most: int, owner: str) -> list[str]:
        """Up to `most` queues that are served and may have something, in the order of their turns.

        Raises `OwnerRetired` for an owner that was declared dead.
        """
        await self.refresh(served)
        names = self._store.names
        heard = (names.woken(channel) for channel in self._store.listener.take_heard())
        found = dict.fromkeys(served.of(queue for queue in heard if queue is not None))
        told = served.of(self._names(self._take_told()))
        found.update(dict.fromkeys(told))
        if told:
            return list(found)[:most]
        start, size = 0, max(_FIRST_PAGE, most)
        while len(found) < most:
            page, _ = await self._page(start, size, 0, owner)
            if page is None:
                return await self._all(served)
            found.update(dict.fromkeys(served.of(self._names(page))))
            if len(page) < size:
                break
            start, size = start + size, _PAGE
        return list(found)[:most]

    async def ready_in(self, served: ServedQueues) -> float | None:
        """Seconds until something may be leased; 0: now. None: nothing is known of that."""
        start, size = 0, _FIRST_PAGE
        while True:
            page, delayed = await self._page(start, size, size, "")
            if page is None:
                return LISTED_SECONDS
            if served.of(self._names(page)):
                return 0.0
            waits = [
                int(wait)
                for raw, wait in zip(delayed[::2], delayed[1::2], strict=True)
                if served.of(self._names((raw,)))
            ]
            is_end = len(page) < size and len(delayed) < 2 * size
            if waits or is_end:
                # A timer may go off a hair too early.
                return (min(waits) + 1) / 1e6 if waits else None
            start, size = (start + size if len(page) == size else start), 2 * size

    async def refresh(self, served: ServedQueues) -> None:
        """Check that all non-empty queues are listed, if it is time and no other worker does it."""
        store, now = self._store, self._store.clock.monotonic()
        if now - self._refreshed < _EVERY_SECONDS:
            return
        self._refreshed = now
        if not await store.run(TURN, (), "listing", self._token, micros(_EVERY_SECONDS)):
            return
        queues = sorted({*await store.queues(), *served.names()})
        together = 1 if store.link.is_cluster else _TOGETHER
        groups = [queues[start : start + together] for start in range(0, len(queues), together)]
        waits: dict[str, int] = {}
        for group in groups:  # one after the other: between two of them others are served
            (answer,) = await store.run_each([store.call(LIST, group, ())], writes=False)
            if store.link.is_cluster and sound(group[0], answer) and answer[0] >= 0:
                waits[group[0]] = answer[0]
        await store.list_again(waits)

    def refresh_in(self) -> float:
        """Seconds until `refresh` looks again."""
        return max(0.0, self._refreshed + _EVERY_SECONDS - self._store.clock.monotonic())

    def _take_told(self) -> Sequence[bytes]:
        self._doubts -= self._doubts > 0
        told, self._told = self._told, ()
        return told if self._store.clock.monotonic() - self._told_at < _TOLD_SECONDS else ()

    async def _page(
        self, start: int, size: int, delayed: int, owner: str
    ) -> tuple[Sequence[bytes] | None, Sequence[bytes]]:
        """A page of those that are ready, and the first delayed ones. None: the key holds a foreign value."""
        try:
            answer = await self._store.run(BUSY, (), start, size, delayed, owner, writes=False)
        except StoreForeign as error:
            if not self._is_foreign:
                logger.error("cannot read the list of non-empty queues; asking every queue: %s", error)  # noqa: TRY400
                self._is_foreign = True
            return None, ()
        self._is_foreign = False
        if answer == -1:
            raise retired(owner)
        ready, waits = answer
        return ready, waits

    async def _all(self, served: ServedQueues) -> list[str]:
        return served.of(sorted({*await self._store.queues(), *served.names()}))

    def _names(self, prefixes: Sequence[bytes]) -> list[str]:
        """Without foreign values."""
        return [name for name in map(self._store.names.queue_of, prefixes) if name is not None]
