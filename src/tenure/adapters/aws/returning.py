"""Returning: messages whose holder does not bring them back.

`sweep` returns what is overdue; `retire` returns everything of an owner that is gone. First the entry, then the copy
is made visible with the receipt that was kept: whoever meets it finds it free. If that does not arrive, the queue's
own timer brings the copy back a little later.
"""

import math
from collections.abc import Sequence

import msgspec

from tenure.adapters.aws import lots, shelf
from tenure.adapters.aws.copy import Receipt
from tenure.adapters.aws.desk import ENTRY, Change, Kind, entry_place
from tenure.adapters.aws.entry import GONE, Entry
from tenure.adapters.aws.receipt import receipt_from, receipt_in
from tenure.adapters.aws.roster import Listed
from tenure.adapters.aws.store import Store
from tenure.broker import SweepRequest, Swept
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Ending
from tenure.table import Place, Row
from tenure.verdict import Reason

_SWEEP = Place("sweep", "sweep")
#: Those who do not say how often they sweep are taken to do it so often.
_INTERVAL = 5.0


class _Last(msgspec.Struct):
    """When the last sweep was, and how often one is."""

    at: float
    interval: float = _INTERVAL
    max_attempts: int = 3


class _Due(msgspec.Struct):
    """A message that is lent, as it was read."""

    id: str
    entry: Entry
    row: Row


_LAST = Kind(_Last)


async def sweep(store: Store, request: SweepRequest) -> Swept:
    """Return overdue leases, oldest deadline first; or, after an outage, give everybody a fresh window."""
    now = store.desk.now()
    gap = await _mark(store, request, now)
    found = await lots.all_(store)
    looked = found if gap else [(row, lot) for row, lot in found if lot.until < now]
    lent = await _lent(store, looked)
    if gap and lent:
        await _grant_grace(store, [one.id for one in lent])
        return Swept(grace=True)
    overdue = sorted((one for one in lent if one.entry.deadline < now), key=lambda one: one.entry.deadline)
    some = overdue[: request.limit]
    returned, dead = await _return(store, [one.id for one in some], request.max_attempts)
    gone = {*returned, *dead}
    left: dict[Place, dict[str, Entry]] = {row.place: {} for row, _ in looked}
    for one in lent:
        if one.id not in gone:
            left[one.row.place][one.id] = one.entry
    changed: list[tuple[Row, Sequence[str], float]] = []
    for row, lot in looked:
        entries = left[row.place]
        until = min((entry.deadline for entry in entries.values()), default=math.inf)
        if tuple(entries) != lot.ids or until > lot.until:
            changed.append((row, tuple(entries), until))
    await lots.rewrite(store, changed)
    return Swept(returned=tuple(returned), dead=tuple(dead))


async def _mark(store: Store, request: SweepRequest, now: float) -> bool:
    """Note this sweep; whether nobody swept for two intervals before it."""

    def decide(last: _Last | None) -> Change[bool]:
        gap = last is None or now - last.at > 2 * request.interval_seconds
        return Change(gap, _Last(now, request.interval_seconds, request.max_attempts))

    return await store.desk.change_one(_LAST, _SWEEP, decide)


async def _lent(store: Store, found: Sequence[tuple[Row, lots.Lot]]) -> list[_Due]:
    """What is still lent of these lots, by the word of each message's entry."""
    ids = [(id, row) for row, lot in found for id in lot.ids]
    entries = await store.desk.get(ENTRY, [entry_place(id) for id, _ in ids])
    return [
        _Due(id, entry, row)
        for (id, row), entry in zip(ids, entries, strict=True)
        if entry is not None
        and entry.state == MessageState.LEASED
        and (f"o#{entry.owner}", entry.request) == (row.place.part, row.place.sort)
    ]


async def _grant_grace(store: Store, ids: Sequence[str]) -> None:
    def decide(_number: int, entry: Entry | None) -> Change[None]:
        if entry is None or entry.state != MessageState.LEASED:
            return Change(None)
        _give_window(entry, store.desk.now())
        return Change(None, entry)

    await store.desk.change(ENTRY, [entry_place(id) for id in ids], decide)


def _give_window(entry: Entry, now: float) -> None:
    entry.deadline = max(entry.deadline, now + entry.seconds)
    if entry.claim is not None and entry.claim.owner == entry.owner:
        entry.claim.until = max(entry.claim.until, entry.deadline)


async def return_met(store: Store, ids: Sequence[str]) -> None:
    """Copies of these came back by the queue's timer, and their leases are overdue: do as a sweep would.

    Where nobody swept lately their holders may have been cut off, so each is given its own window once more, from now.
    """
    (last,) = await store.desk.get(_LAST, [_SWEEP])
    now = store.desk.now()
    is_swept = last is not None and now - last.at <= 2 * last.interval
    limit = last.max_attempts if last is not None else 3
    await _return(store, ids, limit, patient=not is_swept)


async def _return(
    store: Store, ids: Sequence[str], max_attempts: int, *, patient: bool = False
) -> tuple[list[str], list[str]]:
    """Return what is still overdue; the ids that are in their queue again, and those that are dead."""
    entries = await store.desk.get(ENTRY, [entry_place(id) for id in ids])
    owners = {entry.owner for entry in entries if entry is not None and entry.owner}
    members = await store.roster.known(owners)
    places: dict[str, int] = {}
    for id, entry in zip(ids, entries, strict=True):
        if entry is not None and _would_die(entry, members.get(entry.owner or ""), max_attempts):
            places[id] = await shelf.add(store, entry.queue, id)

    def decide(number: int, entry: Entry | None) -> Change[tuple[str, Receipt | None]]:
        now = store.desk.now()
        if entry is None or entry.state != MessageState.LEASED or entry.deadline >= now:
            return Change(("", None))
        if patient and entry.graced != entry.fence:
            entry.graced = entry.fence
            _give_window(entry, now)
            return Change(("", None), entry)
        receipt = receipt_in(entry)
        if entry.is_sealed:
            _leave(entry)
            return Change(("sealed", receipt), entry)
        member = members.get(entry.owner or "")
        if _would_die(entry, member, max_attempts) and ids[number] not in places:
            return Change(("", None))  # it is another's since we looked; the next sweep finds it
        is_back = _count(store, entry, member, max_attempts, now)
        if not is_back:  # whoever meets its copy keeps its body
            entry.shelf, entry.pages, entry.attribute_pages = places[ids[number]], 0, 0
        return Change(("returned" if is_back else "dead", receipt), entry)

    said = await store.desk.change(ENTRY, [entry_place(id) for id in ids], decide)
    # The dead too: whoever meets the copy keeps its body.
    seen = await _show(store, [receipt for _, receipt in said])
    returned = [
        id for id, (how, _), is_there in zip(ids, said, seen, strict=True)
        if how == "returned" or (how == "sealed" and is_there)
    ]  # fmt: skip
    return returned, [id for id, (how, _) in zip(ids, said, strict=True) if how == "dead"]


def _leave(entry: Entry) -> None:
    """Done by its holder, who did not delete it, or did, and had no need to say so here: only the queue knows."""
    entry.state, entry.owner, entry.request, entry.receipt = GONE, None, "", ""


async def _show(store: Store, receipts: Sequence[Receipt | None]) -> list[bool]:
    """Make copies visible now; whether each was still there."""
    some = [receipt for receipt in receipts if receipt is not None and receipt.receipt]
    said = iter(await store.queues.hide(some))
    return [next(said) if receipt is not None and receipt.receipt else False for receipt in receipts]


def _would_die(entry: Entry, member: Listed | None, max_attempts: int) -> bool:
    """Whether one more lapse is the last one."""
    has_presence = member is not None and member.owner is not None
    limit = max_attempts if entry.max_attempts is None else entry.max_attempts
    return not has_presence and not entry.is_sealed and entry.attempts + 1 >= limit


def _count(store: Store, entry: Entry, member: Listed | None, max_attempts: int, now: float) -> bool:
    """Count what happened, and move the message. True: it is in its queue again; False: it is dead."""
    wall, owner = store.clock.wall(), entry.owner
    if member is not None and member.owner is not None:
        # A worker with presence is not known to have failed; only its lease ended unseen.
        entry.lost += 1
        entry.tell(Ending(wall, "lost", owner))
        entry.put_back(0.0, now)
        return True
    entry.attempts += 1
    entry.reason = Reason("lease_lapsed", f"{owner} let its lease of {entry.seconds:g} s lapse")
    entry.tell(Ending(wall, "failed", owner, entry.reason))
    limit = max_attempts if entry.max_attempts is None else entry.max_attempts
    entry.put_back(0.0, now)
    if entry.attempts < limit:
        return True
    text = f"{entry.attempts} of {limit} attempts are used; the last holder let its lease lapse"
    entry.state, entry.reason, entry.finished_at = MessageState.DEAD, Reason("max_attempts", text), wall
    return False


async def retire(store: Store, owner: str, limit: int, *, crashed: bool) -> Swept:
    """Ban `owner`, end its claims, and return what it holds. No grace: it is known to be gone."""
    declared = await store.roster.ban(owner, "crashed" if crashed else "left")
    found = await lots.of(store, owner)
    over: list[tuple[Row, lots.Lot]] = []
    cut: list[tuple[Row, Sequence[str], float]] = []
    ids: list[str] = []
    for row, lot in found:
        some = lot.ids[: limit - len(ids)]
        ids += some
        if len(some) < len(lot.ids):
            cut.append((row, lot.ids[len(some) :], lot.until))
            break
        over.append((row, lot))
    returned = await _give_up(store, owner, list(dict.fromkeys(ids)), "crashed" if crashed else "")
    await lots.drop(store, [(owner, row.place.sort) for row, _ in over])
    await lots.rewrite(store, cut)
    more = len(over) < len(found)
    if not more:
        await lots.forget(store, owner)
        await store.roster.finish(owner)
    return Swept(returned=tuple(returned), more=more, declared=declared)


async def return_all(store: Store, owner: str, leases: Sequence[Lease]) -> None:
    """Return what was lent a moment ago to an owner that turns out to be retired."""
    await _give_up(store, owner, [lease.id for lease in leases], "")
    over = store.lent.drop(list(leases))
    await lots.drop(store, over)
    await store.queues.hide([receipt_from(lease) for lease in leases])


async def _give_up(store: Store, owner: str, ids: Sequence[str], how: str) -> list[str]:
    """Take messages from `owner`, and say how it ended; the ids that were its."""

    def decide(_number: int, entry: Entry | None) -> Change[tuple[bool, Receipt | None]]:
        if entry is None or entry.state != MessageState.LEASED or entry.owner != owner:
            return Change((False, None))
        receipt = receipt_in(entry)
        if entry.is_sealed:
            _leave(entry)
            return Change((True, receipt), entry)
        if how:
            entry.crashes += 1
            entry.tell(Ending(store.clock.wall(), how, owner))
        entry.put_back(0.0, store.desk.now())
        return Change((False, receipt), entry)

    said = await store.desk.change(ENTRY, [entry_place(id) for id in ids], decide)
    seen = await _show(store, [receipt for _, receipt in said])
    return [
        id for id, (is_sealed, receipt), is_there in zip(ids, said, seen, strict=True)
        if receipt is not None and (is_there or not is_sealed)
    ]  # fmt: skip
