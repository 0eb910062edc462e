"""Records: what an entry and its claim say about a message; progress and checkpoint of whoever holds it."""

import asyncio
from collections.abc import Sequence

from tenure.claim import Scope
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Progress, Record
from tenure.rowstore import large_values
from tenure.rowstore.entry import DONE, GONE, UNSENT, Claim, Entry, LargeValue
from tenure.rowstore.ledger import left_behind
from tenure.rowstore.row_changes import CLAIM, ENTRY, Change, RowChanges, body_rows, claim_place, entry_place

#: Characters of a note that are kept: it lies in the row that every beat writes.
_NOTE = 4000
#: A holder may replace its checkpoint while it is read.
_LOOKS = 3
#: Messages whose other rows are read at once.
_AT_ONCE = 16


class RowStoreRecords:
    """Status, progress, checkpoints."""

    def __init__(self, changes: RowChanges) -> None:
        """Stand on `changes`."""
        self._rows = changes

    async def get(self, id: str, queue: str | None = None) -> Record | None:  # noqa: ARG002 - an id is a row
        (record,) = await self.get_many([(id, None)])
        return record

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        entries = await self._rows.get(ENTRY, [entry_place(id) for id, _ in wanted])
        gate = asyncio.Semaphore(_AT_ONCE)

        async def read(id: str, entry: Entry | None) -> Record | None:
            if entry is None:
                return None
            async with gate:
                return await self._read(id, entry)

        return await asyncio.gather(*(read(id, entry) for (id, _), entry in zip(wanted, entries, strict=True)))

    async def _read(self, id: str, entry: Entry) -> Record | None:
        claim = await self._claim(entry)
        is_done = (
            claim is not None and claim.state == DONE and entry.state not in (MessageState.DEAD, MessageState.CANCELLED)
        )
        if not is_done and entry.state in (GONE, UNSENT):
            return None
        if is_done and claim is not None and claim.bulk is not None:
            place = entry_place(id) if entry.key is None else claim_place(_scope(entry))
            claim.result = (await left_behind(self._rows, place.part, claim.bulk)).result
        body = await self._rows.body(id, entry.pages, body_rows(entry.shelf)) if entry.pages else ""
        return _record(id, entry, claim if is_done else None, body, self._rows.now())

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:  # noqa: ARG002 - there is no way
        # Each message is a part of its own, so that no part is written to more often than the service allows: there
        # is no order of ids to look into, and a scan of the whole table would be paid for row by row.
        return None

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        def decide(number: int, entry: Entry | None) -> Change[bool]:
            lease, progress = batch[number]
            if entry is None or not entry.is_held_under(lease):
                return Change(answer=False)
            entry.progress = (
                progress if len(progress.note) <= _NOTE else Progress(progress.fraction, _cut(progress.note))
            )
            return Change(answer=True, to=entry)

        return await self._rows.change(ENTRY, [entry_place(lease.id) for lease, _ in batch], decide)

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        # First the data, under a name of its own; then the entry's word that it counts. So what a stale holder writes
        # nobody reads, also if it had kept one before.
        place = entry_place(lease.id)
        new = await large_values.keep(self._rows, place.part, data)

        def decide(entry: Entry | None) -> Change[tuple[bool, LargeValue | None]]:
            if entry is None or not entry.is_held_under(lease):
                return Change((False, new))
            before, entry.checkpoint = entry.checkpoint, new
            return Change((True, before), entry)

        is_kept, needless = await self._rows.change_one(ENTRY, place, decide)
        if needless is not None:
            await large_values.drop(self._rows, place.part, needless)
        return is_kept

    async def load_checkpoint(self, id: str) -> bytes | None:
        place = entry_place(id)
        for _ in range(_LOOKS):
            (entry,) = await self._rows.get(ENTRY, [place])
            if entry is None or entry.checkpoint is None or entry.is_finished or entry.is_sealed:
                return None
            data = await large_values.load(self._rows, place.part, entry.checkpoint)
            if data is not None:
                return data
        return None

    async def _claim(self, entry: Entry) -> Claim | None:
        if entry.key is None:
            return entry.claim
        (claim,) = await self._rows.get(CLAIM, [claim_place(_scope(entry))])
        # What is done under its key with another payload is other work.
        return claim if claim is not None and claim.digest == entry.digest else None


def _cut(note: str) -> str:
    return note[: _NOTE - 1] + "…"


def _scope(entry: Entry) -> Scope:
    return Scope(entry.queue, entry.task, entry.key or "", entry.generation)


def _state(entry: Entry, done: Claim | None) -> MessageState:
    if done is not None:
        return MessageState.COMPLETED
    return MessageState.DEAD if entry.is_half_redriven else MessageState(entry.state)


def _record(id: str, entry: Entry, done: Claim | None, body: str, now: float) -> Record:
    is_leased = entry.state == MessageState.LEASED and done is None
    return Record(
        id=id,
        queue=entry.queue,
        task=entry.task or None,
        state=_state(entry, done),
        counters=entry.counters,
        owner=entry.owner if is_leased else None,
        fence=entry.fence if is_leased else None,
        sent_at=entry.sent_at,
        finished_at=done.finished_at if done is not None else entry.finished_at,
        deadline_in=entry.deadline - now if is_leased else None,
        due_in=entry.due - now if entry.state == MessageState.DELAYED and done is None else None,
        result=(done.result or None) if done is not None else None,
        reason=entry.reason,
        progress=entry.progress,
        history=entry.history,
        envelope=body.encode() or None,
    )
