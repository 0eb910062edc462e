"""Lending: copies are received, each is compared with the row of its message, and the queue is told the outcome.

Which of them are lent, hidden or deleted is decided in `lease_decision.py`. Here is what a lease call does around
that: it writes down the batch before anything is lent, remembers what was lent, and looks last whether its owner was
banned meanwhile.

Before: `sending.py`, or a return. After: `touch.py`, and `settling.py`, or `returning.py` if the holder does not come
back.
"""

import asyncio
import math
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

from tenure.delivery_queue import CopyReceipt, ReceivedCopy
from tenure.errors import BrokerUnavailable
from tenure.lease import Lease, LeaseRequest
from tenure.message import MessageState
from tenure.owner import retired
from tenure.rowstore import lease_batches, queue_list, renewed_receipts, returning, wire
from tenure.rowstore.entry import Entry
from tenure.rowstore.lease_decision import Decision, decide_all
from tenure.rowstore.receiving import heads_of_groups, receive
from tenure.rowstore.row_changes import ENTRY, Change, attribute_rows, body_rows, entry_place
from tenure.rowstore.seen_copy import SeenCopy
from tenure.rowstore.store import Store
from tenure.rowstore.traits import SLACK

T = TypeVar("T")

#: If none of the copies that came could be lent, others may lie behind them; so often.
_ROUNDS = 5
#: Whoever is lent nothing asks this often whether it was declared dead.
_ASK_SECONDS = 5.0


async def lease(store: Store, request: LeaseRequest) -> list[Lease]:
    """Lend up to `want`."""
    want = min(request.want, store.queue.traits.batch)
    visibility = math.ceil(store.clamped(request.seconds) + SLACK)
    store.prefetch.want, store.prefetch.visibility = want, visibility
    copies: list[ReceivedCopy] = []
    leases: list[Lease] = []
    try:
        for _ in range(_ROUNDS):
            copies = await receive(store, request, want, visibility)
            leases = await _lend_all(store, request, copies) if copies else []
            if leases or not copies:
                break
        # Last: whoever bans first writes the ban and then looks what is held, so one of the two sees the other.
        if _may_be_banned(store, leases) and await store.roster.banned([request.owner]):
            await returning.return_all(store, request.owner, leases)
            raise retired(request.owner)
    except BrokerUnavailable as error:
        if error.outcome_unknown or not copies:
            raise
        # The call that failed did nothing, but those before it may have lent something: `held` tells.
        raise BrokerUnavailable(f"{error}; some may have been lent before", outcome_unknown=True) from error
    return leases


def _may_be_banned(store: Store, leases: list[Lease]) -> bool:
    """Whether to ask. Whoever was lent nothing asks seldom: a ban it does not know of yet takes nothing from others."""
    now = store.clock.monotonic()
    if not leases and now - store.asked_ban_at < _ASK_SECONDS:
        return False
    store.asked_ban_at = now
    return True


async def _lend_all(store: Store, request: LeaseRequest, copies: list[ReceivedCopy]) -> list[Lease]:
    """Meet copies with the state; what is lent of them."""
    copies, behind = heads_of_groups(copies)
    seen = [SeenCopy.of(copy, store.queue.traits.id_prefix) for copy in copies]
    store.memory.offer(request.request_id, {one.id: one for one in seen})
    decided = await _decide(store, request, seen)
    leases = [one.lease for one in decided if one.lease is not None]
    store.memory.add(
        leases, request.request_id, frozenset(one.lease.id for one in decided if one.lease and one.is_sealed)
    )
    store.memory.withdraw(request.request_id)
    for one_seen, one in zip(seen, decided, strict=True):
        if one.lease is not None and one_seen.message is None and one_seen.copy.attributes:
            store.memory.note(one.lease.id, one_seen.copy.attributes)
    await _finish(store, seen, decided, behind)
    leases = await _hide_longer(store, seen, decided)
    await queue_list.note(store, list(dict.fromkeys(lease.queue for lease in leases)))
    return leases


async def _decide(store: Store, request: LeaseRequest, seen: list[SeenCopy]) -> list[Decision]:
    """Decide for each copy; what is about to be lent is written down in the same step, or at the same time."""
    ids, seconds = [one.id for one in seen], _shortest(store, request, seen)
    beside = lease_batches.first_note(store, request, ids, seconds)
    if not beside:
        return await _both(decide_all(store, request, seen), lease_batches.note(store, request, ids, seconds))
    decided = await decide_all(store, request, seen, beside)
    if beside and any(one.lease is not None for one in decided):  # this call was made before: its row is there
        await lease_batches.note(store, request, ids, seconds)
    return decided


async def _both(act: Coroutine[Any, Any, T], beside: Coroutine[Any, Any, None]) -> T:
    """What `act` answers, when both have ended: whoever is told of an error must not meet the other one at work."""
    answer, other = await asyncio.gather(act, beside, return_exceptions=True)
    for one in (answer, other):
        if isinstance(one, BaseException):
            raise one
    return cast("T", answer)


def _shortest(store: Store, request: LeaseRequest, seen: list[SeenCopy]) -> float:
    """No lease that may come of these is shorter."""
    own = [one.message.overrides.lease_seconds for one in seen if one.message is not None]
    asked = [request.seconds, *request.seconds_by_task.values(), *(seconds for seconds in own if seconds is not None)]
    return store.clamped(min(asked))


async def _finish(store: Store, seen: list[SeenCopy], decided: list[Decision], behind: list[ReceivedCopy]) -> None:
    """Tell the queue what was decided."""
    drops, hides = [], [CopyReceipt(copy.physical, copy.receipt) for copy in behind]
    ids = ["" for _ in behind]
    renews = store.queue.traits.renews_receipts
    for one_seen, one in zip(seen, decided, strict=True):
        copy = one_seen.copy
        is_over = await _bury(store, one_seen, one.bury) if one.bury else one.drop
        if is_over:
            drops.append(CopyReceipt(copy.physical, copy.receipt))
        elif one.bury:
            hides.append(CopyReceipt(copy.physical, copy.receipt))
        elif one.hide is not None:
            hides.append(CopyReceipt(copy.physical, copy.receipt, one.hide))
        elif one.lease is not None and not renews and _outlives(one.lease, copy):
            hides.append(CopyReceipt(copy.physical, copy.receipt, one.lease.seconds + SLACK))
        ids += [one_seen.id] * (len(hides) - len(ids))
    await asyncio.gather(store.queue.delete(drops), renewed_receipts.hide(store, ids, hides))


async def _hide_longer(store: Store, seen: list[SeenCopy], decided: list[Decision]) -> list[Lease]:
    """The leases; where hiding a copy renews its receipt, those that outlive their receive have the new one."""
    lent = [(one.lease, one_seen.copy) for one_seen, one in zip(seen, decided, strict=True) if one.lease is not None]
    leases = [lease for lease, _ in lent]
    if not store.queue.traits.renews_receipts:
        return leases
    for lease, copy in lent:
        store.memory.renew(lease, str(lease.receipt), copy.hidden_until)
    long = [lease for lease, copy in lent if _outlives(lease, copy)]
    hidden = await renewed_receipts.hide_leased(store, long, [lease.seconds + SLACK for lease in long])
    renewed = {lease.id: lease for lease in hidden}
    return [renewed.get(lease.id, lease) for lease in leases]


def _outlives(lease: Lease, copy: ReceivedCopy) -> bool:
    """Whether the queue would show the copy before its lease is over."""
    return lease.deadline + SLACK / 2 > copy.hidden_until


async def _bury(store: Store, seen: SeenCopy, place: int) -> bool:
    """Keep the body of one that died in a sweep. False: it was redriven meanwhile, and this copy is all there is."""
    pages = await store.rows.keep_body(seen.id, seen.raw.decode(), body_rows(place))
    beside = "" if seen.message is not None else wire.dumped(seen.copy.attributes)
    attribute_pages = await store.rows.keep_body(seen.id, beside, attribute_rows(place)) if beside else 0

    def decide(entry: Entry | None) -> Change[bool]:
        if entry is None or entry.shelf != place or entry.pages:
            return Change(entry is not None and entry.is_finished and bool(entry.pages))
        if entry.state != MessageState.DEAD:
            return Change(entry.is_finished)
        entry.pages, entry.attribute_pages = pages, attribute_pages
        return Change(answer=True, to=entry)

    return await store.rows.change_one(ENTRY, entry_place(seen.id), decide)
