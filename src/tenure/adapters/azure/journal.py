"""The journal: events in one order, and samples of how long runs took.

    j           e:<seq>   an event
    d<hash>     e:<seq>   a sample of one queue and task; the newest are kept
    both        last      the newest place

The place and the rows that take it are one step, by comparison with `last`: no gap, no place twice. Where many write,
most would lose that race; so who lost one takes its time, and writes more at once. `prune` also forgets what is
finished for longer than the account keeps it; one of all workers does so.
"""

import asyncio
import hashlib
import os
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tenure.adapters.azure import retention
from tenure.adapters.azure.board import AzureBoard
from tenure.adapters.azure.log import ProcessedLog
from tenure.adapters.azure.naming import LONGEST_NAME, row_id
from tenure.adapters.azure.rows import Change, Row, Rows
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import EQ, GE, IS
from tenure.errors import BrokerUnavailable
from tenure.event import Event, StoredEvent
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES

_EVENTS = "j"
#: With `last`, and one that is dropped for each that is kept, within the service's 100.
_MOST = 49
#: And so many bytes in one step.
_MOST_BYTES = 1_000_000
_END = "f"
#: Between two steps of one who lost a race: from, to, and how the pause shrinks when it did not.
_SHORTEST, _LONGEST, _SHRINKS = 0.05, 1.0, 0.9
#: Whoever prunes does so for all, for so long.
_PRUNE_SECONDS = 300.0

_encode = msgspec.json.Encoder().encode
_event = msgspec.json.Decoder(Event).decode
_sample = msgspec.json.Decoder(Sample).decode


class AzureJournal:
    """Events and samples in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._last: dict[str, Row] = {}
        #: How long we stay away from a part that others write to as well, and when we last wrote.
        self._pauses: dict[str, float] = {}
        self._wrote: dict[str, float] = {}
        #: A batch of which not everything is kept yet, and how much is.
        self._begun: list[Event] = []
        self._kept = 0
        #: What was to be kept after which place when no answer came.
        self._doubt: dict[str, tuple[int, list[dict[str, Any]]]] = {}
        self._token = os.urandom(8).hex()
        self._log = ProcessedLog(store)

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order. The same batch after an error goes on where it stopped."""
        if not self._begun or self._begun != list(events):
            self._begun, self._kept = list(events), 0
        for some in _pieces([_fields(event) for event in events[self._kept :]]):
            await self._append_some(_EVENTS, some, None)
            self._kept += len(some)
        self._begun = []
        await self._log.write(events)

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`, oldest first."""
        found = await self._read(_EVENTS, after, limit)
        return [StoredEvent(_seq(row), _event(row.fields["Event"])) for row in found]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Events of one message, oldest first."""
        where = (EQ("MessageId", _named(message_id)) | IS("HasIds")) & GE("At", float(since))
        told: list[StoredEvent] = []
        rows = self._store.rows.between(_EVENTS, "e:", _END, where)
        async for row in rows:
            event = _event(row.fields["Event"])
            if event.message_id == message_id or message_id in event.data.get("ids", ()):
                told.append(StoredEvent(_seq(row), event))
                if len(told) >= limit:
                    break
        return told

    async def last(self) -> int:
        """The place of the newest event."""
        row = await self._store.rows.get(_EVENTS, "last")
        return 0 if row is None else int(row.fields["Seq"])

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old events; and, with them, what else nobody needs any more."""
        store = self._store
        if not await AzureBoard(store).take_turn("prune", self._token, _PRUNE_SECONDS):
            return 0  # it looks at everything: once for all is enough
        before = store.timeline.wall() - older_than_seconds
        gone = await retention.drop(store, self._older_than(before))
        await retention.forget_finished(store)
        await self._log.prune()
        if isinstance(store.rows, Rows):
            now = datetime.fromtimestamp(store.timeline.wall(), UTC)
            await store.rows.bulk.prune(now, store.rows.is_named)
        return gone

    async def _older_than(self, before: float) -> AsyncIterator[Row]:
        """From the oldest place to the first event that is young: no index knows `At`, and all would be looked at."""
        rows = self._store.rows
        async for first in rows.between(_EVENTS, "e:", _END, limit=1):
            if first.fields["At"] >= before:
                return  # on most days: one row was read
            break
        async for row in rows.between(_EVENTS, "e:", _END):
            if row.fields["At"] >= before:
                return
            yield row

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep how long runs took."""
        by_task: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for sample in batch:
            by_task[_samples_of(sample.queue, sample.task)].append({"Sample": _encode(sample)})
        for part, fields in by_task.items():
            for some in _pieces(fields):
                await self._append_some(part, some, KEPT_SAMPLES)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The next samples of a task after place `after`, oldest first."""
        found = await self._read(_samples_of(queue, task), after, limit)
        return [StoredSample(_seq(row), _sample(row.fields["Sample"])) for row in found]

    async def _append_some(self, part: str, fields: list[dict[str, Any]], keep: int | None) -> None:
        rows, last = self._store.rows, self._last.get(part)
        if await self._is_kept(part, fields):
            return
        if self._pauses.get(part):
            await self._stay_away(part)
            last = await rows.get(part, "last")  # others have written: what we remember is old
        while True:
            seq = 0 if last is None else int(last.fields["Seq"])
            new = Row(part, "last", {"Seq": seq + len(fields)}, "" if last is None else last.etag)
            changes = [Change("insert" if last is None else "replace", new)]
            for number, one in enumerate(fields, seq + 1):
                changes.append(Change("insert", Row(part, _key(number), one)))
                if keep is not None and number > keep:
                    changes.append(Change("delete", Row(part, _key(number - keep), {})))
            try:
                told = await rows.commit_one(*changes)
            except BrokerUnavailable as error:
                if error.outcome_unknown:
                    self._doubt[part] = seq, fields
                raise
            if told is not None:
                self._last[part] = told[0]
                self._wrote[part] = self._store.clock.monotonic()
                pause = self._pauses.pop(part, 0.0) * _SHRINKS
                if pause > _SHORTEST / 2:
                    self._pauses[part] = pause
                return
            self._pauses[part] = min(_LONGEST, max(_SHORTEST, 2 * self._pauses.get(part, 0.0)))
            self._wrote[part] = self._store.clock.monotonic()
            await self._stay_away(part)
            last = await rows.get(part, "last")

    async def _stay_away(self, part: str) -> None:
        until = self._wrote.get(part, 0.0) + self._pauses[part] * random.uniform(0.5, 1.5)  # noqa: S311 - only to spread
        await asyncio.sleep(max(0.0, until - self._store.clock.monotonic()))

    async def _is_kept(self, part: str, fields: list[dict[str, Any]]) -> bool:
        """Whether what no answer came for was kept: then it stands behind the place where we wanted it."""
        seq, asked = self._doubt.get(part, (0, []))
        if not asked or asked != fields:
            return False
        row = await self._store.rows.get(part, _key(seq + 1))
        del self._doubt[part]
        return row is not None and all(row.fields.get(name) == value for name, value in fields[0].items())

    async def _read(self, part: str, after: int, limit: int) -> list[Row]:
        found: list[Row] = []
        async for row in self._store.rows.between(part, _key(after + 1), _END, limit=min(limit, 1000)):
            found.append(row)
            if len(found) >= limit:
                break
        return found


def _pieces(fields: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Cut up so that each fits into one step."""
    pieces: list[list[dict[str, Any]]] = []
    size = 0
    for one in fields:
        more = 500 + sum(len(value) * 4 // 3 for value in one.values() if isinstance(value, bytes))
        if not pieces or len(pieces[-1]) == _MOST or size + more > _MOST_BYTES:
            pieces.append([])
            size = 0
        pieces[-1].append(one)
        size += more
    return pieces


def _samples_of(queue: str, task: str) -> str:
    text = f"{queue}\0{task}"
    return f"d{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _key(seq: int) -> str:
    return f"e:{seq:016d}"


def _seq(row: Row) -> int:
    return int(row.key[2:])


def _named(id: str) -> str:
    """A message's id as a field and a query take it; anybody may put one with a longer id into a queue."""
    return id if len(id) <= LONGEST_NAME else row_id(id)


def _fields(event: Event) -> dict[str, Any]:
    return {
        "Event": _encode(event), "At": event.at, "MessageId": _named(event.message_id or ""),
        "HasIds": "ids" in event.data,
    }  # fmt: skip
