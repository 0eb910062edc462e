"""The bus: publishes events in batches, to the sinks at once and to the journal a moment later.

Publishing never waits and never fails the path: while the journal is away events are kept, up to a
bound; what is dropped beyond it is counted and logged.
"""

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from tenure.errors import BrokerError
from tenure.event import Event
from tenure.sink import Sink
from tenure.state import Journal
from tenure.text.plural import plural

logger = logging.getLogger("tenure.bus")

_KEEP = 20_000
_BATCH = 1_000
_PAUSE_SECONDS = 1.0
#: Between two appends, unless a whole batch is there sooner. The first event after a rest is appended at once.
GATHER_SECONDS = 0.02
#: The same where the store works in another process: a worker with 50 messages a second appends twice a second.
BESIDE_GATHER_SECONDS = 0.5


class Bus:
    """Carries events from the worker to its sinks."""

    def __init__(self, journal: Journal, sinks: Sequence[Sink] = (), *, gather_seconds: float = GATHER_SECONDS) -> None:
        """Publish to `sinks` and `journal`."""
        self._gather_seconds = gather_seconds
        self._journal = journal
        self._sinks = tuple(sinks)
        self._waiting: deque[Event] = deque()
        #: The batch on its way. After an error it is repeated unchanged, so that the journal can recognise it.
        self._batch: list[Event] = []
        self._wake = asyncio.Event()
        self._dropped = 0
        #: Events that never reached the journal, since the start.
        self.dropped = 0
        self._away = False
        self._closed = asyncio.Event()
        #: Gathering ends: a whole batch is there, or no more will come.
        self._enough = asyncio.Event()
        #: How often each kind was published; cheap figures for people and tests.
        self.counts: Counter[str] = Counter()

    def publish(self, events: Sequence[Event]) -> None:
        """Publish to all sinks. Call it on the worker's loop."""
        for kind, alike in groupby(events, attrgetter("kind")):
            self.counts[kind.value] += len(list(alike))
        for sink in self._sinks:
            try:
                sink.publish(events)
            except Exception:
                missed = plural(len(events), "event")
                logger.exception("sink %s failed and did not receive %s", type(sink).__name__, missed)
        self._keep(events)
        self._wake.set()
        if len(self._waiting) >= _BATCH:
            self._enough.set()

    def _keep(self, events: Iterable[Event]) -> None:
        self._waiting.extend(events)
        while len(self._waiting) > _KEEP:
            self._waiting.popleft()
            self._dropped += 1
            self.dropped += 1

    @property
    def waiting(self) -> int:
        """Events that are not in the journal yet."""
        return len(self._waiting) + len(self._batch)

    async def run(self) -> None:
        """Append gathered events to the journal, soon after the previous append returned, until closed."""
        while not self._closed.is_set():
            await self._wake.wait()
            self._wake.clear()
            while self._waiting or self._batch:
                if await self._append():
                    await self._gather()
                    continue
                if self._closed.is_set():
                    return
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _gather(self) -> None:
        """Let some more events come together, unless there is a whole batch already."""
        if len(self._waiting) < _BATCH and not self._closed.is_set():
            self._enough.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._gather_seconds):
                    await self._enough.wait()

    def close(self) -> None:
        """Let `run` append what is left and end; it gives up when the journal is away."""
        self._closed.set()
        self._enough.set()
        self._wake.set()

    async def _append(self) -> bool:
        batch = self._batch = self._batch or [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
        try:
            await self._journal.append(batch)
        except BrokerError as error:
            if not self._away:
                self._away = True
                # For those who look closer: others ask at the same place once a second, and warn.
                logger.debug("the journal cannot be reached, %s waiting: %s", self._to_follow(batch), error)
            return False
        self._batch = []
        if self._away:
            self._away = False
            logger.debug("the journal can be reached again; next: %s", self._to_follow(batch))
        if self._dropped:
            logger.warning("dropped %s while the journal could not be reached", plural(self._dropped, "event"))
            self._dropped = 0
        return True

    def _to_follow(self, batch: Sequence[Event]) -> str:
        return plural(len(self._waiting) + len(batch), "event")
