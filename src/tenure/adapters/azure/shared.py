"""What all stores of one process over one account share: what is remembered of messages, and who speaks of which.

The heartbeat has a store, and a loop, of its own (`Store.twin`); it and the worker must not kill each other's receipts,
and need not read twice what one of them knows. Used by `store.py` and the files named after the acts.
"""

import asyncio
import math
import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from tenure.adapters.azure.bell import Bell
from tenure.adapters.azure.entry import Kept
from tenure.adapters.azure.polling import Polling
from tenure.adapters.azure.remembered import Remembered
from tenure.adapters.azure.session import Heard
from tenure.clock import Clock
from tenure.rules.queue_pattern import matches

#: So many messages that were returned to a queue; of a queue that nobody here serves nobody takes them away.
_RETURNED = 1_000

_Waiter = tuple[asyncio.AbstractEventLoop, asyncio.Event, tuple[str, ...], frozenset[str]]


class Shared(Heard):
    """What all stores of one process over one account have in common, on whatever loop they run."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is known yet."""
        super().__init__(clock)
        self._lives: Remembered[Kept] = Remembered()
        #: What was claimed by us, by the row's key (`ledger.py`).
        self.claims: Remembered[Any] = Remembered()
        #: What was sealed here and is announced by that: its generation, by the message's id.
        self.sealed: Remembered[int] = Remembered()
        self._lock = threading.Lock()
        self._last = 0
        #: The messages that a word is being said about, and what is done when it is.
        self._spoken_of: dict[str, Future[None]] = {}
        #: What was returned to a queue by us, oldest first: it is lent again before the backlog.
        self.returned: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=_RETURNED))
        #: How often something came into a queue by us.
        self.stirs = 0
        #: Rung when this process has written to the journal.
        self.journal = Bell()
        #: When each queue is asked again, where there are several.
        self.polling = Polling()
        #: Queues that this process put on the list, and when (`known_queues.py`).
        self.registered: dict[str, float] = {}
        #: The list as it was last read, and until when that will do.
        self.queues: set[str] = set()
        self.queues_until = -math.inf
        #: When a sweep looks for queues to forget.
        self.forgets_at = -math.inf
        self._waiters: set[_Waiter] = set()

    def remember(self, kept: Kept) -> None:
        """The latest that is known of a life."""
        self._lives.remember(kept.life.id, kept)

    def recall(self, id: str) -> Kept | None:
        """What is remembered of a life; perhaps no longer true."""
        return self._lives.recall(id)

    def forget(self, id: str) -> None:
        """Read it again next time."""
        self._lives.forget(id)

    def next_number(self) -> int:
        """Rises strictly here, and with the account's time: for fences and places."""
        with self._lock:
            self._last = max(self._last + 1, round(self.timeline.now() * 1e6))
            return self._last

    @asynccontextmanager
    async def alone(self, ids: Iterable[str]) -> AsyncIterator[None]:
        """One word about a message at a time: a touch and a settlement would kill each other's receipt."""
        mine: Future[None] = Future()
        wanted = set(ids)
        while True:
            with self._lock:
                others = {self._spoken_of[id] for id in wanted & self._spoken_of.keys()}
                if not others:
                    self._spoken_of.update(dict.fromkeys(wanted, mine))
                    break
            for other in others:
                await asyncio.shield(asyncio.wrap_future(other))
        try:
            yield
        finally:
            with self._lock:
                for id in wanted:
                    del self._spoken_of[id]
            mine.set_result(None)

    def add_waiter(self, event: asyncio.Event, queues: Iterable[str], excluded: Iterable[str] = ()) -> Any:
        """Set `event` when one of `queues` (names and patterns) stirs; what to hand to `drop_waiter`."""
        waiter = (asyncio.get_running_loop(), event, tuple(queues), frozenset(excluded))
        with self._lock:
            self._waiters.add(waiter)
        return waiter

    def drop_waiter(self, waiter: Any) -> None:
        """It no longer waits."""
        with self._lock:
            self._waiters.discard(waiter)

    def stir(self, queue: str) -> None:
        """Something came into `queue`: whoever waits for it in this process need not wait for the next look."""
        with self._lock:
            self.stirs += 1
            self.polling.stir(queue)
            waiters = [one for one in self._waiters if matches(queue, one[2], one[3])]
        for loop, event, *_ in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)
