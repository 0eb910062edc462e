"""Returning: messages whose holder does not bring them back.

`sweep` returns what is overdue; `retire` returns everything of an owner that is gone. First the entry, then the copy
is made visible with the receipt that was kept: whoever meets it finds it free. If that does not arrive, the queue's
own timer brings the copy back a little later.
"""

import math
from collections.abc import Sequence

import msgspec

from tenure.broker import SweepRequest, Swept
from tenure.delivery_queue import CopyReceipt
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Ending
from tenure.rowstore import announcing, dead_letter_index, lease_batches, queue_list, renewed_receipts
from tenure.rowstore.entry import GONE, Entry
from tenure.rowstore.receipts import receipt_in
from tenure.rowstore.row_changes import ENTRY, Change, Kind, entry_place
from tenure.rowstore.store import Store
from tenure.rules.lapse import Lapse, lapse
from tenure.table import Row, RowKey

_SWEEP = RowKey("sweep", "sweep")
#: Those who do not say how often they sweep are taken to do it so often.
_INTERVAL = 5.0


class _Last(msgspec.Struct):
    """When the last sweep was, and how often one is."""

    at: float
    interval: float = _INTERVAL
    max_attempts: int = 3


_LAST = Kind(_Last)


async def sweep(store: Store, request: SweepRequest) -> Swept:
    """Return overdue leases, oldest deadline first. After an outage, leases get a fresh window (`Swept.grace`)."""
    now = store.rows.earliest()
    await queue_list.tidy(store)
    gap = await _mark(store, request, store.rows.now())
    found = await lease_batches.all_(store)
    looked = found if gap else [(row, batch) for row, batch in found if batch.until < now]
    lent = await lease_batches.lent(store, looked)
    graced = await _grant_grace(store, [one.id for one in lent]) if gap else set[str]()
    late = [one for one in lent if one.entry.deadline < now and one.id not in graced]
    some = sorted(late, key=lambda one: one.entry.deadline)[: request.limit]
    returned, dead = await _return(store, [one.id for one in some], request.max_attempts)
    gone = {*returned, *dead}
    left: dict[RowKey, dict[str, Entry]] = {row.place: {} for row, _ in looked}
    for one in lent:
        if one.id not in gone:
            left[one.row.place][one.id] = one.entry
    changed: list[tuple[Row, Sequence[str], float]] = []
    for row, batch in looked:
        entries = left[row.place]
        until = min((entry.deadline for entry in entries.values()), default=math.inf)
        if tuple(entries) != batch.ids or until > batch.until:
            changed.append((row, tuple(entries), until))
    await lease_batches.rewrite(store, changed)
    queues = {one.id: one.entry.queue for one in some if one.id in gone}
    return Swept(returned=tuple(returned), dead=tuple(dead), grace=bool(graced), queues=queues)


async def swept_at(store: Store) -> tuple[float | None, float | None]:
    """When the last sweep was, and when the next is due, on the table's line; from the row that each sweep writes."""
    (last,) = await store.rows.get(_LAST, [_SWEEP])
    return (None, None) if last is None else (last.at, last.at + last.interval)


async def _mark(store: Store, request: SweepRequest, now: float) -> bool:
    """Note this sweep; whether nobody swept for two intervals before it."""

    def decide(last: _Last | None) -> Change[bool]:
        gap = last is None or now - last.at > 2 * request.interval_seconds
        return Change(gap, _Last(now, request.interval_seconds, request.max_attempts))

    return await store.rows.change_one(_LAST, _SWEEP, decide)


async def _grant_grace(store: Store, ids: Sequence[str]) -> set[str]:
    """Give leases a fresh window; the ids of those that got one."""

    def decide(_number: int, entry: Entry | None) -> Change[bool]:
        if entry is None or entry.state != MessageState.LEASED or not _give_window(entry, store.rows.latest()):
            return Change(answer=False)
        return Change(answer=True, to=entry)

    given = await store.rows.change(ENTRY, [entry_place(id) for id in ids], decide)
    return {id for id, was_given in zip(ids, given, strict=True) if was_given}


def _give_window(entry: Entry, now: float) -> bool:
    """A fresh window, if it ends later than the lease does, and none was given since the last touch."""
    if entry.graced == entry.fence or entry.deadline >= now + entry.seconds:
        return False
    entry.deadline, entry.graced = now + entry.seconds, entry.fence
    if entry.claim is not None and entry.claim.owner == entry.owner:
        entry.claim.until = max(entry.claim.until, entry.deadline)
    return True


async def return_met(store: Store, ids: Sequence[str]) -> None:
    """Copies of these came back by the queue's timer, and their leases are overdue: do as a sweep would.

    Where nobody swept lately their holders may have been cut off, so each gets a fresh window first, as by a sweep.
    """
    (last,) = await store.rows.get(_LAST, [_SWEEP])
    now = store.rows.now()
    is_swept = last is not None and now - last.at <= 2 * last.interval
    limit = last.max_attempts if last is not None else 3
    await _return(store, ids, limit, patient=not is_swept)


async def _return(
    store: Store, ids: Sequence[str], max_attempts: int, *, patient: bool = False
) -> tuple[list[str], list[str]]:
    """Return what is still overdue; the ids that are in their queue again, and those that are dead."""
    entries = await store.rows.get(ENTRY, [entry_place(id) for id in ids])
    places: dict[str, int] = {}
    for id, entry in zip(ids, entries, strict=True):
        if entry is not None and not entry.is_sealed and _judge(store, entry, max_attempts).is_dead:
            places[id] = await dead_letter_index.add(store, entry.queue, id)

    def decide(number: int, entry: Entry | None) -> Change[tuple[str, CopyReceipt | None]]:
        if entry is None or entry.state != MessageState.LEASED or entry.deadline >= store.rows.earliest():
            return Change(("", None))
        if patient and _give_window(entry, store.rows.latest()):
            return Change(("", None), entry)
        receipt = receipt_in(entry)
        if entry.is_sealed:
            _leave(entry)
            return Change(("sealed", receipt), entry)
        lapsed = _judge(store, entry, max_attempts)
        if lapsed.is_dead and ids[number] not in places:
            return Change(("", None))  # it is another's since we looked; the next sweep finds it
        _count(entry, lapsed, store.rows.now())
        if lapsed.is_dead:  # whoever meets its copy keeps its body
            entry.shelf, entry.pages, entry.attribute_pages = places[ids[number]], 0, 0
        return Change(("dead" if lapsed.is_dead else "returned", receipt), entry)

    said = await announcing.change(store.rows, ids, decide)
    # The dead too: whoever meets the copy keeps its body.
    seen = await _show(store, [receipt for _, receipt in said])
    returned = [
        id
        for id, (how, _), is_there in zip(ids, said, seen, strict=True)
        if how == "returned" or (how == "sealed" and is_there)
    ]
    return returned, [id for id, (how, _) in zip(ids, said, strict=True) if how == "dead"]


def _leave(entry: Entry) -> None:
    """Done by its holder, who did not delete it, or did, and had no need to say so here: only the queue knows."""
    entry.state, entry.owner, entry.request, entry.receipt = GONE, None, "", ""


async def _show(store: Store, receipts: Sequence[CopyReceipt | None]) -> list[bool]:
    """Make copies visible now; whether each was still there."""
    some = [receipt for receipt in receipts if receipt is not None and receipt.receipt]
    said = iter(await store.queue.hide(some))
    store.heard({receipt.physical for receipt in some})
    return [receipt is not None and bool(receipt.receipt) and next(said) is not None for receipt in receipts]


def _judge(store: Store, entry: Entry, max_attempts: int) -> Lapse:
    """What becomes of it, if its lease lapses now."""
    return lapse(
        entry.counters,
        owner=entry.owner,
        has_presence=not entry.lacks_presence,
        was_touched=entry.beats > 0,
        max_attempts=max_attempts if entry.max_attempts is None else entry.max_attempts,
        at=store.clock.wall(),
    )


def _count(entry: Entry, lapsed: Lapse, now: float) -> None:
    """Count what happened, and move the message."""
    entry.attempts += lapsed.attempts
    entry.lost += lapsed.lost
    entry.reason = lapsed.reason or entry.reason
    for ending in lapsed.endings:
        entry.tell(ending)
    entry.put_back(0.0, now)
    if lapsed.is_dead:
        entry.state, entry.finished_at = MessageState.DEAD, lapsed.endings[-1].at


async def retire(store: Store, owner: str, limit: int, *, crashed: bool) -> Swept:
    """Ban `owner`, end its claims, and return what it holds. No grace: it is known to be gone."""
    declared = await store.roster.ban(owner, "crashed" if crashed else "left")
    found = await lease_batches.of(store, owner)
    over: list[tuple[Row, lease_batches.LeaseBatch]] = []
    cut: list[tuple[Row, Sequence[str], float]] = []
    ids: list[str] = []
    for row, batch in found:
        some = batch.ids[: limit - len(ids)]
        ids += some
        if len(some) < len(batch.ids):
            cut.append((row, batch.ids[len(some) :], batch.until))
            break
        over.append((row, batch))
    returned = await _give_up(store, owner, list(dict.fromkeys(ids)), "crashed" if crashed else "")
    await lease_batches.drop(store, [(owner, row.place.sort) for row, _ in over])
    await lease_batches.rewrite(store, cut)
    more = len(over) < len(found)
    if not more:
        await lease_batches.forget(store, owner)
        await store.roster.finish(owner)
    return Swept(returned=tuple(returned), more=more, declared=declared, queues=returned)


async def return_all(store: Store, owner: str, leases: Sequence[Lease]) -> None:
    """Return what was lent a moment ago to an owner that turns out to be retired."""
    await _give_up(store, owner, [lease.id for lease in leases], "")
    receipts = [renewed_receipts.current(store, lease) for lease in leases]
    over = store.memory.drop(list(leases))
    await lease_batches.drop(store, over)
    await store.queue.hide(receipts)


async def _give_up(store: Store, owner: str, ids: Sequence[str], how: str) -> dict[str, str]:
    """Take messages from `owner`, and say how it ended; the ids that were its, with their queues."""

    def decide(_number: int, entry: Entry | None) -> Change[tuple[bool, CopyReceipt | None]]:
        if entry is None or entry.state != MessageState.LEASED or entry.owner != owner:
            return Change((False, None))
        receipt = receipt_in(entry)
        if entry.is_sealed:
            _leave(entry)
            return Change((True, receipt), entry)
        if how:
            entry.crashes += 1
            entry.tell(Ending(store.clock.wall(), how, owner))
        entry.put_back(0.0, store.rows.now())
        return Change((False, receipt), entry)

    said = await store.rows.change(ENTRY, [entry_place(id) for id in ids], decide)
    seen = await _show(store, [receipt for _, receipt in said])
    return {
        id: receipt.physical.queue
        for id, (is_sealed, receipt), is_there in zip(ids, said, seen, strict=True)
        if receipt is not None and (is_there or not is_sealed)
    }
