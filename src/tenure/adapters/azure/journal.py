"""The journal: events in one order, samples of how long runs took, and what was counted.

    j           e:<seq>   an event (`numbered.py`)
    d<hash>     e:<seq>   a sample of one queue and task; the newest are kept
    y<step>               tallies (`tallies.py`)

`prune` also forgets what is finished for longer than the account keeps it; one of all workers does so.
"""

import asyncio
import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tenure.adapters.azure import retention, tallies
from tenure.adapters.azure.board import AzureBoard
from tenure.adapters.azure.log import ProcessedLog
from tenure.adapters.azure.naming import LONGEST_NAME, row_id
from tenure.adapters.azure.numbered import NumberedRows, key_of, number_of, pieces
from tenure.adapters.azure.rows import Change, Rows
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import EQ, GE, IS
from tenure.broker import Erased
from tenure.event import Event, StoredEvent
from tenure.rules.erasing import erased, must_be_erased
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES
from tenure.tally import Tally

_EVENTS = "j"
_END = "f"
#: Whoever waits for events of other processes looks so often: at first, and at last.
_FIRST_LOOK, _LAST_LOOK, _LONGER = 0.5, 5.0, 1.6
#: The clocks of those who send, and of those who write events, may differ by so much.
_SKEW_SECONDS = 600.0
#: A journal so short is read from its beginning.
_SHORT = 5_000
#: Whoever prunes does so for all, for so long.
_PRUNE_SECONDS = 300.0

#: Events that are looked at in one step of erasing.
_ERASED = 500

_encode = msgspec.json.Encoder().encode
_event = msgspec.json.Decoder(Event).decode
_sample = msgspec.json.Decoder(Sample).decode


class AzureJournal:
    """Events and samples in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._numbered = NumberedRows(store)
        #: A batch of which not everything is kept yet, and how much is.
        self._begun: list[Event] = []
        self._kept = 0
        self._token = os.urandom(8).hex()
        self._log = ProcessedLog(store)

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order. The same batch after an error goes on where it stopped."""
        if not self._begun or self._begun != list(events):
            self._begun, self._kept = list(events), 0
        for some in pieces([_fields(event) for event in events[self._kept :]]):
            await self._numbered.append(_EVENTS, some)
            self._kept += len(some)
        self._begun = []
        self._store.shared.journal.ring()
        await self._log.write(events)

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`, oldest first."""
        found = await self._numbered.read(_EVENTS, after, limit)
        return [StoredEvent(number_of(row), _event(row.fields["Event"])) for row in found]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Events of one message, oldest first.

        The service looks through the events since the message was sent, and returns its own. Where that begins is found
        by some 20 look-ups.
        """
        begin = max(since, await self._sent_at(message_id)) - _SKEW_SECONDS
        where = (EQ("MessageId", _named(message_id)) | IS("HasIds")) & GE("At", float(since))
        told: list[StoredEvent] = []
        rows = self._store.rows.between(_EVENTS, key_of(await self._place(begin)), _END, where)
        async for row in rows:
            event = _event(row.fields["Event"])
            if event.message_id == message_id or message_id in event.data.get("ids", ()):
                told.append(StoredEvent(number_of(row), event))
                if len(told) >= limit:
                    break
        return told

    async def last(self) -> int:
        """The place of the newest event."""
        return await self._numbered.last(_EVENTS)

    async def first(self) -> int:
        """The place of the oldest event that is kept."""
        row = await self._numbered.first(_EVENTS)
        return 0 if row is None else number_of(row)

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there may be an event behind place `after`, or after `seconds`.

        An event of this process is noticed at once, one of another by looking: after half a second, then more and more
        seldom, up to every 5 seconds. That is half a million look-ups a month, or 2 cents.
        """
        clock, pause = self._store.clock, _FIRST_LOOK
        end = clock.monotonic() + seconds
        with self._store.shared.journal.listen() as rung:
            while await self.last() <= after and (left := end - clock.monotonic()) > 0:
                try:
                    async with asyncio.timeout(min(pause, left)):
                        await rung.wait()
                except TimeoutError:
                    pause = min(_LONGER * pause, _LAST_LOOK)
                rung.clear()

    async def erase(self, queue: str, after: str = "") -> Erased:
        """Blank the events of a queue, some hundred rows in a step; one that was pruned meanwhile is gone anyway."""
        rows = await self._numbered.read(_EVENTS, int(after or 0), _ERASED)
        groups = []
        for row in rows:
            event = _event(row.fields["Event"])
            if must_be_erased(event, queue):
                groups.append([Change("replace", msgspec.structs.replace(row, fields=_fields(erased(event))))])
        await self._store.rows.commit(groups)
        return Erased(len(groups), str(number_of(rows[-1])) if len(rows) == _ERASED else None)

    async def tally(self, batch: Sequence[Tally]) -> None:
        """Keep rows, each instead of one with the same name."""
        await tallies.keep(self._store, batch)

    async def tallies(self, step: int, since: float, until: float) -> list[Tally]:
        """Rows of one step with `since <= bucket < until`, in the order of bucket, nonce and number."""
        return await tallies.read(self._store, step, since, until)

    async def _sent_at(self, message_id: str) -> float:
        """When a message was sent; 0: that is not known (any more)."""
        letter = await self._store.letter(message_id)
        if letter is not None:
            return letter.sent_at
        kept = await self._store.find(message_id)
        return 0.0 if kept is None else kept.life.sent_at or 0.0

    async def _place(self, since: float) -> int:
        """A place before which no event is as young as `since`, if the clocks are right."""
        if since <= 0:
            return 0
        first, high = await asyncio.gather(self._numbered.first(_EVENTS), self.last())
        low = 0 if first is None else number_of(first)
        while high - low > _SHORT:
            middle = (low + high) // 2
            row = await self._numbered.at(_EVENTS, middle)
            if row is None or row.fields["At"] >= since:
                high = middle
            else:
                low = middle
        return low

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events; and, with them, what else nobody needs any more."""
        store = self._store
        if not await AzureBoard(store).take_turn("prune", self._token, _PRUNE_SECONDS):
            return 0  # it looks at everything: once for all is enough
        before = store.timeline.wall() - older_than_seconds
        gone = await retention.drop(store, self._numbered.older_than(_EVENTS, before))
        await tallies.prune(store, older_than_seconds)
        await retention.forget_finished(store)
        await self._log.prune()
        if isinstance(store.rows, Rows):
            now = datetime.fromtimestamp(store.timeline.wall(), UTC)
            if store.rows.bulk is not None:
                await store.rows.bulk.prune(now, store.rows.is_named)
        return gone

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep how long runs took."""
        by_task: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for sample in batch:
            by_task[_samples_of(sample.queue, sample.task)].append({"Sample": _encode(sample)})
        for part, fields in by_task.items():
            for some in pieces(fields):
                await self._numbered.append(part, some, KEPT_SAMPLES)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The next samples of a task after place `after`, oldest first."""
        found = await self._numbered.read(_samples_of(queue, task), after, limit)
        return [StoredSample(number_of(row), _sample(row.fields["Sample"])) for row in found]


def _samples_of(queue: str, task: str) -> str:
    text = f"{queue}\0{task}"
    return f"d{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _named(id: str) -> str:
    """A message's id as a field and a query take it; anybody may put one with a longer id into a queue."""
    return id if len(id) <= LONGEST_NAME else row_id(id)


def _fields(event: Event) -> dict[str, Any]:
    return {
        "Event": _encode(event),
        "At": event.at,
        "MessageId": _named(event.message_id or ""),
        "HasIds": "ids" in event.data,
    }
