"""The journal: events in one order, and samples of how long runs took.

    j           e:<seq>   an event
    d<hash>     e:<seq>   a sample of one queue and task; the newest are kept
    both        last      the newest place

The place and the rows that take it are one step, by comparison with `last`: no gap, no place twice. `prune` also
forgets what is finished for longer than the account keeps it.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from tenure.adapters.azure import retention
from tenure.adapters.azure.log import ProcessedLog
from tenure.adapters.azure.rows import Change, Row, Rows
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import EQ, GE, IS, LT
from tenure.event import Event, StoredEvent
from tenure.sample import Sample, StoredSample
from tenure.state import KEPT_SAMPLES

_EVENTS = "j"
#: With `last`, and one that is dropped for each that is kept, within the service's 100.
_MOST = 49
_END = "f"

_encode = msgspec.json.Encoder().encode
_event = msgspec.json.Decoder(Event).decode
_sample = msgspec.json.Decoder(Sample).decode


class AzureJournal:
    """Events and samples in the table."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._last: dict[str, Row] = {}
        self._log = ProcessedLog(store)

    async def append(self, events: Sequence[Event]) -> None:
        """Keep events, in this order."""
        await self._append(_EVENTS, [_fields(event) for event in events])
        await self._log.write(events)

    async def read(self, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        """The next events after place `after`, oldest first."""
        found = await self._read(_EVENTS, after, limit)
        return [StoredEvent(_seq(row), _event(row.fields["Event"])) for row in found]

    async def about(self, message_id: str, *, since: float = 0.0, limit: int = 100) -> list[StoredEvent]:
        """Events of one message, oldest first."""
        where = (EQ("MessageId", message_id) | IS("HasIds")) & GE("At", float(since))
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
        before = store.clock.wall() - older_than_seconds
        old = await store.rows.scan(_EVENTS, "e:", LT("At", before))
        gone = await store.rows.commit([[Change("delete", Row(row.part, row.key, {}))] for row in old])
        await retention.forget_finished(store)
        await self._log.prune()
        if isinstance(store.rows, Rows):
            now = datetime.fromtimestamp(store.timeline.wall(), UTC)
            await store.rows.bulk.prune(now, store.rows.is_named)
        return sum(rows is not None for rows in gone)

    async def sample(self, batch: Sequence[Sample]) -> None:
        """Keep how long runs took."""
        by_task: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for sample in batch:
            by_task[_samples_of(sample.queue, sample.task)].append({"Sample": _encode(sample)})
        for part, fields in by_task.items():
            await self._append(part, fields, keep=KEPT_SAMPLES)

    async def samples(self, queue: str, task: str, *, after: int = 0, limit: int = KEPT_SAMPLES) -> list[StoredSample]:
        """The next samples of a task after place `after`, oldest first."""
        found = await self._read(_samples_of(queue, task), after, limit)
        return [StoredSample(_seq(row), _sample(row.fields["Sample"])) for row in found]

    async def _append(self, part: str, fields: list[dict[str, Any]], keep: int | None = None) -> None:
        for start in range(0, len(fields), _MOST):
            await self._append_some(part, fields[start : start + _MOST], keep)

    async def _append_some(self, part: str, fields: list[dict[str, Any]], keep: int | None) -> None:
        rows = self._store.rows
        last = self._last.get(part)
        while True:
            seq = 0 if last is None else int(last.fields["Seq"])
            new = Row(part, "last", {"Seq": seq + len(fields)}, "" if last is None else last.etag)
            changes = [Change("insert" if last is None else "replace", new)]
            for number, one in enumerate(fields, seq + 1):
                changes.append(Change("insert", Row(part, _key(number), one)))
                if keep is not None and number > keep:
                    changes.append(Change("delete", Row(part, _key(number - keep), {})))
            told = await rows.commit_one(*changes)
            if told is not None:
                self._last[part] = told[0]
                return
            last = await rows.get(part, "last")

    async def _read(self, part: str, after: int, limit: int) -> list[Row]:
        found: list[Row] = []
        async for row in self._store.rows.between(part, _key(after + 1), _END, limit=min(limit, 1000)):
            found.append(row)
            if len(found) >= limit:
                break
        return found


def _samples_of(queue: str, task: str) -> str:
    text = f"{queue}\0{task}"
    return f"d{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _key(seq: int) -> str:
    return f"e:{seq:016d}"


def _seq(row: Row) -> int:
    return int(row.key[2:])


def _fields(event: Event) -> dict[str, Any]:
    return {
        "Event": _encode(event), "At": event.at, "MessageId": event.message_id or "", "HasIds": "ids" in event.data,
    }  # fmt: skip
