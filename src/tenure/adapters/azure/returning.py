"""Returning: messages whose holder does not bring them back.

`sweep` returns what is overdue; `retire` returns everything of an owner that is gone. Both change the lives first, each
by comparison, then let the queue show the messages. A sweep also finishes what somebody who died left half done: a dead
letter that is not in the poison queue, a redriven one that is not in its queue.
"""

import asyncio
import logging
from collections.abc import Sequence

from tenure.adapters.azure import ghosts, posting, roster, settling, unclaiming, wire
from tenure.adapters.azure.announcing import Endings
from tenure.adapters.azure.entry import Kept, Life
from tenure.adapters.azure.forgetting import forget_unused
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.settling import waiting
from tenure.adapters.azure.store import COMMON, Store
from tenure.adapters.azure.where import EQ, IS, LT
from tenure.broker import SweepRequest, Swept
from tenure.envelope import decode, log_fields
from tenure.errors import BodyUndecodable, BrokerError, BrokerUnavailable, StoreMissing
from tenure.message import MessageState
from tenure.record import Ending
from tenure.rules.lapse import lapse

logger = logging.getLogger("tenure.azure")


async def sweep(store: Store, request: SweepRequest) -> Swept:
    """Return overdue leases, oldest deadline first. After an outage, leases get a fresh window (`Swept.grace`)."""
    now = store.timeline.now()
    # Only what there is something to do about: of thousands of leases hardly one.
    row, found = await asyncio.gather(
        store.rows.get(COMMON, "swept"), store.lives((EQ("State", "leased") & LT("Deadline", now)) | IS("IsUnput"))
    )
    swept = Row(COMMON, "swept", {"At": now, "Interval": request.interval_seconds}, "" if row is None else row.etag)
    note = Change("insert" if row is None else "replace", swept)
    graced: set[str] = set()
    if row is None or now - float(row.fields["At"]) > 2 * request.interval_seconds:
        # Noted only after it: another sweep that saw the note would take what has no fresh window yet.
        graced = await _grant_grace(store, await store.lives(EQ("State", "leased")), now)
    await store.rows.commit_one(note)
    await _finish(store, [kept for kept in found if kept.life.is_unput])
    late = [kept for kept in found if kept.life.state is MessageState.LEASED]
    adopted = await _adopt(store, late, now + request.lease_seconds)
    overdue = [
        kept
        for kept in late
        if kept.life.deadline is not None and kept.life.deadline < now and kept.life.id not in graced
    ]
    overdue.sort(key=lambda kept: (kept.life.deadline, kept.life.place))
    await forget_unused(store)
    moved = await _return_overdue(store, overdue[: request.limit], request)
    return Swept(
        returned=tuple(life.id for life in moved if life.state is not MessageState.DEAD),
        dead=tuple(life.id for life in moved if life.state is MessageState.DEAD),
        adopted=tuple(sorted(adopted)),
        grace=bool(graced),
        queues={life.id: life.queue for life in moved},
    )


async def _grant_grace(store: Store, leased: list[Kept], now: float) -> set[str]:
    """Give leases a fresh window that had none since their last touch; their ids. Refused: its holder was here."""
    some = [
        kept
        for kept in leased
        if kept.life.deadline is not None and kept.life.deadline < now + kept.life.seconds and not kept.life.is_graced
    ]
    for kept in some:
        kept.life.deadline, kept.life.is_graced = store.timeline.latest() + kept.life.seconds, True
    await store.save(some)
    return {kept.life.id for kept in some}


async def _adopt(store: Store, leased: list[Kept], deadline: float) -> list[str]:
    """Give a deadline to what is lent without one: it would never come back."""
    undated = [kept for kept in leased if kept.life.deadline is None]
    for kept in undated:
        kept.life.deadline = deadline
    saved = await store.save(undated)
    for kept in undated:
        leased.remove(kept)
    return [kept.life.id for kept, ok in zip(undated, saved, strict=True) if ok]


async def _return_overdue(store: Store, overdue: list[Kept], request: SweepRequest) -> list[Life]:
    """Return them, or put them aside; those that were moved, as they are now."""
    if not overdue:
        return []
    moved: list[tuple[Life, Kept]] = []
    endings = Endings(store)
    for _ in range(_ROUNDS):
        new = [await _judge(store, kept, request) for kept in overdue]
        await endings.name([(old.life, kept.life) for old, kept in zip(overdue, new, strict=True)])
        saved = await store.save(new)
        moved += [(old.life, kept) for old, kept, ok in zip(overdue, new, saved, strict=True) if ok]
        refused = [old.life.id for old, ok in zip(overdue, saved, strict=True) if not ok]
        if not refused:
            break
        # Workers that wait for messages hide a copy again each second, and write its receipt down: that changes the
        # row, and not whose it is. Where many wait, a sweep would never come to its turn.
        found, now = await asyncio.gather(*map(store.find, refused)), store.timeline.now()
        overdue = [kept for kept in found if kept is not None and _is_overdue(kept.life, now)]
    await endings.clean_up([kept.life for _, kept in moved])
    await asyncio.gather(*(_tell(store, old, kept) for old, kept in moved))
    return [kept.life for _, kept in moved]


#: A life that somebody changed in between is looked at again.
_ROUNDS = 3


def _is_overdue(life: Life, now: float) -> bool:
    return life.state is MessageState.LEASED and life.deadline is not None and life.deadline < now


async def _judge(store: Store, kept: Kept, request: SweepRequest) -> Kept:
    """Count what happened, and say where the message goes."""
    life = kept.life
    raw = await store.envelope(kept) if life.lacks_presence else b""
    lapsed = lapse(
        life.counters,
        owner=life.owner,
        has_presence=not life.lacks_presence,
        was_touched=life.beats > 0,
        max_attempts=_limit(raw, request.max_attempts),
        at=store.clock.wall(),
    )
    new = settling.dead(store, life) if lapsed.is_dead else waiting(store, life)
    new.attempts += lapsed.attempts
    new.lost += lapsed.lost
    new.reason = lapsed.reason or new.reason
    for ending in lapsed.endings:
        new.tell(ending)
    return Kept(new, kept.etag, raw if lapsed.is_dead else kept.envelope, kept.checkpoint)


def _limit(raw: bytes, usual: int) -> int:
    if not raw:
        return usual
    try:
        own = decode(raw).overrides.max_attempts
    except BodyUndecodable:
        return usual
    return usual if own is None else own


async def _tell(store: Store, old: Life, new: Kept) -> None:
    if new.life.state is MessageState.DEAD:
        await settling.move_to_poison(store, old, new, new.envelope or b"")
    else:
        await settling.show(store, new)


async def _finish(store: Store, unput: list[Kept]) -> None:
    """What somebody who died left half done."""
    young = store.timeline.wall() - _YOUNG_SECONDS
    for kept in unput:
        if young < (kept.life.finished_at or 0.0) < young + _YOUNG_SECONDS:
            continue  # whoever gave it up is perhaps about to do so itself
        raw = await store.envelope(kept)
        if kept.life.state is MessageState.DEAD:
            await ghosts.bury(store, kept, raw)
        elif kept.life.state is not MessageState.LEASED:
            await _put_late(store, kept, raw)


#: So long somebody is given to bring a dead letter to the poison queue.
_YOUNG_SECONDS = 2.0


async def _put_late(store: Store, kept: Kept, raw: bytes) -> None:
    """What one queue does not take must not keep a sweep from all the others: told, and tried again the next time."""
    try:
        await put_again(store, kept, raw)
    except BrokerUnavailable:
        raise
    except (BrokerError, StoreMissing) as error:
        about = log_fields(kept.life.id, raw)
        logger.warning("%s waits in the table, but its queue does not take it: %s", kept.life.id, error, extra=about)


async def put_again(store: Store, kept: Kept, raw: bytes) -> None:
    """Put a message that waits into its queue anew, and note which copy counts."""
    life = kept.life
    text = wire.tagged(raw, life.id) if life.is_foreign else wire.write(raw, life.wire, store.options.encoding)
    life.message_id, life.receipt = await posting.put(store, life.queue, text)
    life.is_unput = False
    if (await store.save([kept]))[0]:
        store.shared.returned[life.queue].append(life.id)
    store.stir(life.queue)


async def retire(store: Store, owner: str, limit: int, *, crashed: bool) -> Swept:
    """Ban `owner`, end its claims, and return what it holds. No grace: it is known to be gone."""
    declared = await roster.ban(store, owner, "crashed" if crashed else "left")
    await unclaiming.release_owner(store, owner)
    lives = sorted(
        await store.lives(EQ("Owner", owner) & EQ("State", "leased")), key=lambda kept: (kept.life.place, kept.life.id)
    )
    returned = await take_back(store, lives[:limit], crashed=crashed)
    # A life that somebody changed in between is looked at again.
    more = len(returned) < len(lives)
    if not more:
        await roster.finish(store, owner)
    queues = {kept.life.id: kept.life.queue for kept in lives[:limit]}
    return Swept(
        returned=tuple(sorted(returned)), more=more, declared=declared, queues={id: queues[id] for id in returned}
    )


async def take_back(store: Store, lives: Sequence[Kept], *, crashed: bool = False) -> list[str]:
    """Return these to their queues; the ids of those that still were as they were read. A crash is counted."""
    new = []
    for kept in lives:
        life = waiting(store, kept.life)
        if crashed:
            life.crashes += 1
            life.tell(Ending(store.clock.wall(), "crashed", kept.life.owner))
        new.append(Kept(life, kept.etag, kept.envelope, kept.checkpoint))
    saved = await store.save(new)
    moved = [kept for kept, ok in zip(new, saved, strict=True) if ok]
    await asyncio.gather(*(settling.show(store, kept) for kept in moved))
    return [kept.life.id for kept in moved]
