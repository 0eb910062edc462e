"""Records: what an entry and its claim say about a message; progress and checkpoint of whoever holds it."""

from collections.abc import Sequence

from tenure.adapters.aws.desk import CLAIM, ENTRY, Change, Desk, Kind, claim_place, entry_place
from tenure.adapters.aws.entry import DONE, GONE, UNSENT, Claim, Entry
from tenure.adapters.aws.table import Place
from tenure.claim import Scope
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Progress, Record

_BYTES = Kind(bytes)


class AwsRecords:
    """Status, progress, checkpoints."""

    def __init__(self, desk: Desk) -> None:
        """Stand on `desk`."""
        self._desk = desk

    async def get(self, id: str) -> Record | None:
        (entry,) = await self._desk.get(ENTRY, [entry_place(id)])
        if entry is None:
            return None
        claim = await self._claim(entry)
        is_done = claim is not None and claim.state == DONE and entry.state not in (
            MessageState.DEAD, MessageState.CANCELLED
        )  # fmt: skip
        if not is_done and entry.state in (GONE, UNSENT):
            return None
        body = await self._desk.body(id, entry.pages) if entry.pages else ""
        return _record(id, entry, claim if is_done else None, body, self._desk.now())

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        def decide(number: int, entry: Entry | None) -> Change[bool]:
            lease, progress = batch[number]
            if entry is None or not entry.is_held_under(lease):
                return Change(answer=False)
            entry.progress = progress
            return Change(answer=True, to=entry)

        return await self._desk.change(ENTRY, [entry_place(lease.id) for lease, _ in batch], decide)

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        # First the data under the fence, then the entry's word that it counts: what a stale holder writes nobody reads.
        def keep(_known: bytes | None) -> Change[None]:
            return Change(None, data, forget_at=self._desk.kept_until())

        await self._desk.change_one(_BYTES, _checkpoint(lease.id, lease.fence), keep)

        def decide(entry: Entry | None) -> Change[tuple[bool, int]]:
            if entry is None or not entry.is_held_under(lease):
                return Change((False, 0))
            before, entry.checkpoint = entry.checkpoint, lease.fence
            return Change((True, before), entry)

        kept, _ = await self._desk.change_one(ENTRY, entry_place(lease.id), decide)
        return kept

    async def load_checkpoint(self, id: str) -> bytes | None:
        (entry,) = await self._desk.get(ENTRY, [entry_place(id)])
        if entry is None or not entry.checkpoint or entry.is_finished or entry.is_sealed:
            return None
        (data,) = await self._desk.get(_BYTES, [_checkpoint(id, entry.checkpoint)])
        return data

    async def _claim(self, entry: Entry) -> Claim | None:
        if entry.key is None:
            return entry.claim
        scope = Scope(entry.queue, entry.task, entry.key, entry.generation)
        (claim,) = await self._desk.get(CLAIM, [claim_place(scope)])
        # What is done under its key with another payload is other work.
        return claim if claim is not None and claim.digest == entry.digest else None


def _checkpoint(id: str, fence: int) -> Place:
    return Place(f"m#{id}", f"c{fence}")


def _record(id: str, entry: Entry, done: Claim | None, body: str, now: float) -> Record:
    is_leased = entry.state == MessageState.LEASED and done is None
    return Record(
        id=id,
        queue=entry.queue,
        task=entry.task or None,
        state=MessageState.COMPLETED if done is not None else MessageState(entry.state),
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
