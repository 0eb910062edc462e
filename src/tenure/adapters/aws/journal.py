"""The journal: events in one order, and samples of each task, as pages of the table.

Pages of events carry the time after which the table may remove them (DynamoDB's time to live, which is free): a day
after `prune` would have, for when nobody prunes. How long that is stands in a row of its own, written by `prune`; and
with it the newest place, so that places go on rising when no page is left.
"""

from collections.abc import Sequence
from math import isfinite

import msgspec

from tenure.adapters.aws.desk import Desk
from tenure.adapters.aws.pages import Pages
from tenure.event import Event, StoredEvent
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.table import Place, Write

_EVENTS = "j"
_KEPT = Place("jk", "kept")
#: The table removes a page so much later than `prune` would.
_SPARE_SECONDS = 86_400.0
#: More events than are appended between two calls of `prune`.
_LEAP = 1 << 20
#: Old samples are dropped once in so many appends.
_TIDY_EVERY = 50


class _Kept(msgspec.Struct, omit_defaults=True):
    """For how long events are kept, and the newest place, as the last `prune` knew them."""

    seconds: float | None = None
    last: int = 0


_encode = msgspec.json.Encoder().encode
_read_kept = msgspec.json.Decoder(_Kept).decode


class AwsJournal:
    """Events and samples."""

    def __init__(self, desk: Desk) -> None:
        """Stand on `desk`."""
        self._desk = desk
        self._events: Pages[Event] = Pages(desk, Event)
        self._samples: Pages[Sample] = Pages(desk, Sample)
        self._appended: dict[str, int] = {}
        self._kept: _Kept | None = None

    async def append(self, events: Sequence[Event]) -> None:
        if not events:
            return
        newest, kept = max(event.at for event in events), await self._look_up()
        forget_at = None if kept.seconds is None else self._desk.clock.wall() + kept.seconds + _SPARE_SECONDS
        base = kept.last + _LEAP if kept.last else 0
        await self._events.append(_EVENTS, events, newest, forget_at=forget_at, base=base)

    async def _look_up(self) -> _Kept:
        """What the last `prune` left; asked once in a process, as it hardly changes."""
        if self._kept is None:
            (row,) = await self._desk.table.get([_KEPT])
            self._kept = _Kept() if row is None else _read_kept(row.text)
        return self._kept

    async def _note(self, kept: _Kept) -> None:
        (row,) = await self._desk.table.get([_KEPT])
        text = _encode(kept).decode()
        if row is None or row.text != text:
            # If somebody else was faster, it said the same, or the next call says it.
            await self._desk.table.write([Write(_KEPT, text, None if row is None else row.text)])
        self._kept = kept

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        found = await self._events.read(_EVENTS, after, limit)
        return [StoredEvent(seq, event) for seq, event in found]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        found: list[StoredEvent] = []
        after = 0
        while page := await self._events.read(_EVENTS, after, 1000, since):
            for seq, event in page:
                if event.message_id == message_id or message_id in event.data.get("ids", ()):
                    found.append(StoredEvent(seq, event))
            if len(found) >= limit:
                break
            after = page[-1][0]
        return found[:limit]

    async def last(self) -> int:
        return await self._events.last(_EVENTS) or (await self._look_up()).last

    async def prune(self, older_than_seconds: float) -> int:
        oldest = self._desk.clock.wall() - older_than_seconds
        seconds = older_than_seconds if isfinite(older_than_seconds) else None
        last = await self._events.last(_EVENTS) or (await self._look_up()).last
        await self._note(_Kept(seconds, last))
        return await self._events.drop(_EVENTS, lambda event: event.at < oldest)

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
