"""Watching: changes of messages for all who wait for them, by one shared reading of the store.

    async for record in watching.follow(("m1",), None): ...

While anybody waits, one loop reads the records of all watched messages in one call, and wakes those whose message has
changed. A thousand waiters for one message cost what one costs; a thousand messages are read in one step where the
store can (`Records.get_many`). Where looking costs nothing, every half second, and at once when the journal has
something new; in the cloud, where each row is paid for, every 2 s, and more seldom the more messages are watched.

Without waiters the store is not read. One for each client, and so for each event loop. Used by `Handle.updates` and by
the server's streams.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Iterator, Sequence

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.errors import BrokerError, BrokerUnavailable
from tenure.record import Record
from tenure.state import MOST_RECORDS, State

logger = logging.getLogger("tenure.watching")

#: Between two looks, where looking costs nothing. Handlers' progress is written once a second.
_PAUSE_SECONDS = 0.5
#: In the cloud: at first, and one more second for each ten messages, up to what the broker's trait says.
_CLOUD_PAUSE_SECONDS, _CLOUD_SHARE = 2.0, 10.0
#: News of the journal begin a look at most this often, and looking takes at most one part in ten of the time.
_PACE_SECONDS, _SHARE = 0.1, 10
#: While the store is away.
_AGAIN_SECONDS, _MOST_AGAIN_SECONDS = 0.5, 5.0
#: Up to here a look costs nothing.
_FREE_SECONDS = 1.0


class _Watched:
    """One message that is waited for."""

    __slots__ = ("changed", "error", "ids", "queue", "record", "version", "waiters")

    def __init__(self, ids: tuple[str, ...], queue: str | None) -> None:
        #: The first of these that there is.
        self.ids = ids
        self.queue = queue
        self.record: Record | None = None
        self.error: BaseException | None = None
        #: Rises with each change; 0: it was not read yet.
        self.version = 0
        self.waiters = 0
        self.changed = asyncio.Event()

    def tell(self) -> None:
        """Wake those who wait for it."""
        self.version += 1
        self.changed.set()
        self.changed = asyncio.Event()

    def take(self, record: Record | None) -> None:
        """Compare with what is known."""
        is_first, before = not self.version, self.record
        self.record = record
        if record is not None:
            self.ids, self.queue = (record.id,), record.queue
        if is_first or seen_of(before) != seen_of(record):
            self.tell()

    def fail(self, error: BaseException) -> None:
        """End the wait of all."""
        self.error = error
        self.tell()

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return bool(self.version) and (self.record is None or self.record.is_finished)


def seen_of(record: Record | None) -> object:
    """What of a record is a change to those who wait. Beats and remaining times are none."""
    if record is None:
        return None
    last = record.history[-1] if record.history else None
    return record.state, record.attempt, record.progress, record.reason, last


class Watching:
    """All that is waited for at one client."""

    def __init__(self, broker: Broker, state: State, clock: Clock) -> None:
        """Nothing is read before the first wait."""
        self._broker = broker
        self._state = state
        self._clock = clock
        self._watched: dict[tuple[str, ...], _Watched] = {}
        self._news = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        #: Up to here the journal was looked through for news.
        self._place = 0

    async def follow(self, ids: tuple[str, ...], queue: str | None) -> AsyncGenerator[Record | None]:
        """Yield the record of a message now and after each change, until it has ended. None: there is no such message.

        `ids`: the first of them that there is. A slow reader gets the newest record, and not each between. While the
        store is away it waits; only where nothing was read yet it raises what reading raised.
        """
        with self._waiting(ids, queue) as one:
            seen = 0
            while True:
                changed = one.changed
                if one.version == seen:
                    await changed.wait()
                    continue
                seen = one.version
                if one.error is not None:
                    raise one.error
                yield one.record
                if one.record is None or one.record.is_finished:
                    return

    def close(self) -> None:
        """End every wait."""
        self._end(BrokerUnavailable("the app was closed; open it and ask again"))
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    @contextlib.contextmanager
    def _waiting(self, ids: tuple[str, ...], queue: str | None) -> Iterator[_Watched]:
        one = self._watched.get(ids)
        if one is None or one.error is not None or one.is_over:
            one = self._watched[ids] = _Watched(ids, queue)
            self._begin()
        one.waiters += 1
        try:
            yield one
        finally:
            one.waiters -= 1
            if not one.waiters and self._watched.get(ids) is one:
                del self._watched[ids]
                if not self._watched and self._reading is not None:
                    self._reading.cancel()
                    self._reading = None

    # -- reading -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        reading = self._reading
        if reading is None or reading.done() or reading.get_loop() is not asyncio.get_running_loop():
            self._news = asyncio.Event()
            self._reading = asyncio.create_task(self._read_or_end())
        self._news.set()

    async def _read_or_end(self) -> None:
        try:
            await self._read_on()
        except Exception as error:
            logger.exception("watching messages failed; those who wait get the error")
            self._end(error)

    def _end(self, error: BaseException) -> None:
        for one in tuple(self._watched.values()):
            one.fail(error)

    async def _read_on(self) -> None:
        again = _AGAIN_SECONDS
        while True:
            self._news.clear()
            began = self._clock.monotonic()
            try:
                await self._read(list(self._watched.values()))
                took = self._clock.monotonic() - began
                await self._rest(began + max(_PACE_SECONDS, _SHARE * took), began + max(self._pause(), _SHARE * took))
            except BrokerError as error:
                for one in [one for one in self._watched.values() if not one.version]:
                    one.fail(error)
                await asyncio.sleep(again)
                again = min(_MOST_AGAIN_SECONDS, 2 * again)
                continue
            again = _AGAIN_SECONDS

    async def _read(self, wanted: Sequence[_Watched]) -> None:
        """Read these, but for those that are over."""
        rows = [(one, id) for one in wanted if not one.is_over for id in one.ids]
        found: dict[_Watched, Record | None] = {}
        for start in range(0, len(rows), MOST_RECORDS):
            part = rows[start : start + MOST_RECORDS]
            records = await self._state.records.get_many([(id, one.queue) for one, id in part])
            for (one, _), record in zip(part, records, strict=True):
                found[one] = found.get(one) or record
        for one, record in found.items():
            one.take(record)

    async def _rest(self, soonest: float, latest: float) -> None:
        """Wait until the next look: `soonest` if there is news by then, at `latest` in any case.

        Who begins to wait meanwhile is read at once, alone.
        """
        while (left := latest - self._clock.monotonic()) > 0:
            has_news = await self._wait(left)
            if not self._news.is_set():
                break
            self._news.clear()
            await self._read([one for one in self._watched.values() if not one.version])
            if has_news:
                break
        await asyncio.sleep(max(0.0, min(soonest, latest) - self._clock.monotonic()))

    async def _wait(self, seconds: float) -> bool:
        """Wait for a new waiter, or for news of the journal. True: the journal has some."""
        beginning = asyncio.create_task(self._news.wait())
        tasks: set[asyncio.Task[object]] = {beginning}
        journal = self._state.journal
        if self._is_free:
            tasks.add(asyncio.create_task(self._wait_for_journal(seconds)))
        try:
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, BrokerError):
                raise error
        if not self._is_free:
            return False
        last = await journal.last()
        has_news, self._place = last != self._place, last
        return has_news

    async def _wait_for_journal(self, seconds: float) -> None:
        try:
            await self._state.journal.wait(self._place, seconds)
        except BrokerError:
            await asyncio.sleep(seconds)

    @property
    def _is_free(self) -> bool:
        return self._broker.traits.snapshot_seconds <= _FREE_SECONDS

    def _pause(self) -> float:
        if self._is_free:
            return _PAUSE_SECONDS
        share = len(self._watched) / _CLOUD_SHARE
        return min(self._broker.traits.snapshot_seconds, max(_CLOUD_PAUSE_SECONDS, share))
