"""The journal: events in one order, samples of each task, and tallies, as rows of the table.

Pages of events carry the time after which the table may remove them (DynamoDB's time to live, which is free): a day
after `prune` would have, for when nobody prunes. How long that is stands in a row of its own, written by `prune`; and
with it the newest place, so that places go on rising when no page is left.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from math import inf, isfinite

import msgspec

from tenure.broker import Erased
from tenure.delivery_queue import EventLog
from tenure.event import Event, StoredEvent
from tenure.message import MessageState
from tenure.rowstore.log_pages import LogPages
from tenure.rowstore.row_changes import ENTRY, RowChanges, entry_place
from tenure.rowstore.tallies import Tallies
from tenure.rules.erasing import erased, must_be_erased
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.table import PrunedTable, RowKey, Write
from tenure.tally import Tally

_EVENTS = "j"
_KEPT = RowKey("jk", "kept")
#: The table removes a page so much later than `prune` would.
_SPARE_SECONDS = 86_400.0
#: More events than are appended between two calls of `prune`.
_LEAP = 1 << 20
#: An event may be told so much before its message was sent by the sender's clock, and so much after its end.
_EARLY_SECONDS, _LATE_SECONDS = 60.0, 900.0
#: Whoever waits for events looks so often.
_LOOK_SECONDS = 2.0
#: Old samples are dropped once in so many appends.
_TIDY_EVERY = 50


class _Kept(msgspec.Struct, omit_defaults=True):
    """For how long events are kept, and the newest place, as the last `prune` knew them."""

    seconds: float | None = None
    last: int = 0


_encode = msgspec.json.Encoder().encode
_read_kept = msgspec.json.Decoder(_Kept).decode


class RowStoreJournal:
    """Events, samples and tallies."""

    def __init__(self, changes: RowChanges, log: EventLog | None = None) -> None:
        """Stand on `changes`. `log`: is told every event too."""
        self._rows = changes
        self._log = log
        self._events: LogPages[Event] = LogPages(changes, Event)
        self._samples: LogPages[Sample] = LogPages(changes, Sample)
        self._appended: dict[str, int] = {}
        self._kept: _Kept | None = None
        self._tallies = Tallies(changes)
        #: Set, and replaced, when something was appended here.
        self._appends = asyncio.Event()

    async def append(self, events: Sequence[Event]) -> None:
        if not events:
            return
        newest, kept = max(event.at for event in events), await self._look_up()
        forget_at = None if kept.seconds is None else self._rows.clock.wall() + kept.seconds + _SPARE_SECONDS
        base = kept.last + _LEAP if kept.last else 0
        await self._events.append(_EVENTS, events, newest, forget_at=forget_at, base=base)
        self._appends.set()
        self._appends = asyncio.Event()
        if self._log is not None:
            await self._log.log_events(events)

    async def _look_up(self) -> _Kept:
        """What the last `prune` left; asked once in a process, as it hardly changes."""
        if self._kept is None:
            (row,) = await self._rows.table.get([_KEPT])
            self._kept = _Kept() if row is None else _read_kept(row.text)
        return self._kept

    async def _note(self, kept: _Kept) -> None:
        (row,) = await self._rows.table.get([_KEPT])
        text = _encode(kept).decode()
        if row is None or row.text != text:
            # If somebody else was faster, it said the same, or the next call says it.
            await self._rows.table.write([Write(_KEPT, text, None if row is None else row.version)])
        self._kept = kept

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        found = await self._events.read(_EVENTS, after, limit)
        return [StoredEvent(seq, event) for seq, event in found]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Reads what was told while the message was on its way, and no more: its entry says from when to when."""
        (entry,) = await self._rows.get(ENTRY, [entry_place(message_id)])
        until = inf
        if entry is not None and entry.sent_at is not None:
            since = max(since, entry.sent_at - _EARLY_SECONDS)
            ended_at = entry.finished_at if entry.claim is None else entry.claim.finished_at or entry.finished_at
            is_over = entry.is_sealed or (entry.is_finished and entry.state != MessageState.DEAD)
            if is_over and ended_at is not None:
                until = ended_at + _LATE_SECONDS
        after = await self._events.before(_EVENTS, since) if since > 0 else 0

        def is_wanted(event: Event) -> bool:
            return event.message_id == message_id or message_id in event.data.get("ids", ())

        found = await self._events.search(_EVENTS, after, limit, is_wanted, since=since, until=until)
        return [StoredEvent(seq, event) for seq, event in found]

    async def first(self) -> int:
        return await self._events.first(_EVENTS)

    async def wait(self, after: int, seconds: float) -> None:
        """Asks the table every two seconds, which is a read of nothing; what is appended here is known at once."""
        clock = self._rows.clock
        until = clock.monotonic() + seconds
        appends = self._appends
        if await self.last() > after:  # perhaps in the middle of a page
            return
        while (left := until - clock.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(_LOOK_SECONDS, left)):
                    await appends.wait()
            if appends.is_set() or await self._events.has_behind(_EVENTS, after):
                return

    async def last(self) -> int:
        return await self._events.last(_EVENTS) or (await self._look_up()).last

    async def prune(self, older_than_seconds: float) -> int:
        oldest = self._rows.clock.wall() - older_than_seconds
        seconds = older_than_seconds if isfinite(older_than_seconds) else None
        last = await self._events.last(_EVENTS) or (await self._look_up()).last
        await self._note(_Kept(seconds, last))
        await self._tallies.prune(seconds)
        if isinstance(self._rows.table, PrunedTable):
            await self._rows.table.prune()
        if self._log is not None:
            await self._log.prune_log()
        return await self._events.drop(_EVENTS, lambda event: event.at < oldest)

    async def erase(self, queue: str, after: str = "") -> Erased:
        def blanked(event: Event) -> Event | None:
            return erased(event) if must_be_erased(event, queue) else None

        count, place = await self._events.rewrite(_EVENTS, after, blanked)
        return Erased(count, place)

    async def tally(self, batch: Sequence[Tally]) -> None:
        if batch:
            await self._tallies.put(batch, (await self._look_up()).seconds)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        return await self._tallies.read(step, since, until, (await self._look_up()).seconds)

    async def sample(self, batch: Sequence[Sample]) -> None:
        by_part: dict[str, list[Sample]] = {}
        for one in batch:
            by_part.setdefault(_part(one.queue, one.task), []).append(one)
        for part, samples in by_part.items():
            await self._samples.append(part, samples, max(one.at for one in samples))
            count = self._appended.get(part, 0) + 1
            if count >= _TIDY_EVERY:
                await self._samples.drop(part, lambda _: True, keep=KEPT_SAMPLES)
                count = 0
            self._appended[part] = count

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        part = _part(queue, task)
        after = max(after, await self._samples.last(part) - KEPT_SAMPLES)
        found = await self._samples.read(part, after, limit)
        return [StoredSample(seq, sample) for seq, sample in found]


def _part(queue: str, task: str) -> str:
    return f"s#{queue}#{task}"
