"""Operating: what people do to messages.

`redrive` sends dead letters back; `delete` removes what nobody holds; `cancel` takes messages back from whoever would
run, or runs, them. A copy that is still in its queue is met by the next lease and deleted there.
"""

import logging
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.claim import Scope
from tenure.delivery_queue import Attribute, CopyReceipt, OutgoingCopy, PhysicalQueue
from tenure.envelope import log_fields
from tenure.errors import BodyUndecodable
from tenure.message import Message, MessageState
from tenure.record import Ending
from tenure.rowstore import announcing, dead_letter_index, wire
from tenure.rowstore.entry import DONE, RUNNING, Claim, Entry
from tenure.rowstore.receipts import receipt_in
from tenure.rowstore.row_changes import (
    CLAIM,
    ENTRY,
    Change,
    attribute_rows,
    body_rows,
    claim_place,
    entry_place,
)
from tenure.rowstore.sending import group_of
from tenure.rowstore.store import Store

_WAITING = (MessageState.READY, MessageState.DELAYED)


async def redrive(store: Store, ids: Sequence[str]) -> list[str]:
    """Send dead letters back to their queue, in a new generation; the ids that were moved.

    Entry, copy, and the word that the copy arrived: whoever dies in between leaves an entry that says so, and the next
    redrive of it goes on from there.
    """
    return [id for id in dict.fromkeys(ids) if await _redrive(store, id)]


async def _redrive(store: Store, id: str) -> bool:
    (known,) = await store.rows.get(ENTRY, [entry_place(id)])
    if known is None or not (known.state == MessageState.DEAD or known.is_half_redriven):
        return False
    text = await store.rows.body(id, known.pages, body_rows(known.shelf))
    attributes = wire.loaded(await store.rows.body(id, known.attribute_pages, attribute_rows(known.shelf)))
    message = _read(text)

    def begin(entry: Entry | None) -> Change[Entry | None]:
        if entry is None or (entry.shelf, entry.pages) != (known.shelf, known.pages):
            return Change(entry)  # it is not what was read
        if entry.is_half_redriven:
            return Change(entry)
        if entry.state != MessageState.DEAD:
            return Change(None)
        _begin_again(store, entry, is_readable=message is not None)
        return Change(entry, entry)

    entry = await store.rows.change_one(ENTRY, entry_place(id), begin)
    if entry is None:
        return False
    if (entry.shelf, entry.pages) != (known.shelf, known.pages):
        # Its body was kept since we looked (`lending.py`), or it has died anew: that one was not asked for.
        return entry.shelf == known.shelf and await _redrive(store, id)
    if entry.is_redriving:
        (refusal,) = await store.queue.send([_copy(store, id, entry, message, text, attributes)])
        if refusal:
            about = log_fields(id, text.encode())
            logging.getLogger(store.queue.traits.logger).warning(
                "%s was not redriven, and stays a dead letter: %s refused it (%s)",
                id,
                store.queue.traits.service,
                refusal,
                extra=about,
            )
            return False
        store.heard([PhysicalQueue(entry.queue, entry.level)])
        await store.rows.change_one(ENTRY, entry_place(id), _arrived)
        await _drop_body(store, id, entry)
    await dead_letter_index.take_off(store, id, entry)
    return True


def _begin_again(store: Store, entry: Entry, *, is_readable: bool) -> None:
    """In a new generation, with the counters at zero; its copy is still to be sent, unless it lies in its queue."""
    entry.generation += 1
    entry.is_redriving = bool(entry.pages)
    if entry.is_redriving:
        entry.copy = ""
        if is_readable:  # one that cannot be read goes back as it is
            entry.carried = entry.generation
    else:  # why and when it died is told until its copy has arrived
        entry.reason = entry.finished_at = None
    entry.deliveries = entry.attempts = entry.crashes = entry.lost = 0
    entry.claim = None
    entry.tell(Ending(store.clock.wall(), "redriven"))
    entry.put_back(0.0, store.rows.now())


async def _drop_body(store: Store, id: str, entry: Entry) -> None:
    await store.rows.drop_body(id, entry.pages, body_rows(entry.shelf))
    await store.rows.drop_body(id, entry.attribute_pages, attribute_rows(entry.shelf))


def _arrived(entry: Entry | None) -> Change[None]:
    if entry is None or not entry.is_redriving or entry.state == MessageState.DEAD:  # it has died again meanwhile
        return Change(None)
    if entry.is_half_redriven:
        entry.reason = entry.finished_at = None
    entry.is_redriving, entry.pages, entry.attribute_pages = False, 0, 0
    return Change(None, entry)


def _copy(
    store: Store, id: str, entry: Entry, message: Message | None, text: str, attributes: dict[str, Attribute]
) -> OutgoingCopy:
    """The copy, in the form in which it lay there."""
    head = ""
    if message is not None:
        text, head = wire.pack(msgspec.structs.replace(message, generation=entry.generation), entry.wire)
    group = ""
    if store.queue.keeps_order(entry.queue):
        group = (entry.group or "tenure") if message is None else group_of(message)
    dedup = f"{id}-{entry.generation}-{len(entry.history)}" if group else ""
    physical = PhysicalQueue(entry.queue, entry.level)
    return OutgoingCopy(physical, id, text, group=group, dedup=dedup, head=head, attributes=attributes)


def _read(text: str) -> Message | None:
    try:
        return envelope.decode(text.encode())
    except BodyUndecodable:
        return None


async def delete(store: Store, ids: Sequence[str]) -> list[str]:
    """Cancel messages that nobody holds; the ids that were removed. Their record stays."""

    def decide(_number: int, entry: Entry | None) -> Change[Entry | None]:
        if entry is None or entry.is_sealed or entry.state not in (*_WAITING, MessageState.DEAD):
            return Change(None)
        before = msgspec.structs.replace(entry)
        _remove(store, entry)
        return Change(before, entry)

    before = await announcing.change(store.rows, ids, decide)
    for id, entry in zip(ids, before, strict=True):
        if entry is not None and (entry.state == MessageState.DEAD or entry.is_half_redriven):
            await _drop_body(store, id, entry)
            await dead_letter_index.take_off(store, id, entry)
        if entry is not None:
            await _free_key(store, id, entry)
    return [id for id, entry in zip(ids, before, strict=True) if entry is not None]


async def cancel(store: Store, ids: Sequence[str]) -> list[MessageState | None]:
    """Cancel messages, whoever holds them; the state in which each was met. None: there was nothing to cancel."""
    done = await _done_by_key(store, ids)

    def decide(number: int, entry: Entry | None) -> Change[Entry | None]:
        if entry is None or entry.is_sealed or ids[number] in done:
            return Change(None)
        if entry.state not in (*_WAITING, MessageState.LEASED):
            return Change(None)
        before = msgspec.structs.replace(entry)
        _remove(store, entry)
        return Change(before, entry)

    before = await announcing.change(store.rows, ids, decide)
    leased = {
        id: entry
        for id, entry in zip(ids, before, strict=True)
        if entry is not None and entry.state == MessageState.LEASED
    }
    await store.board.name_cancels([*leased])
    for id, entry in zip(ids, before, strict=True):
        if entry is not None:
            await _free_key(store, id, entry)
    receipts: list[CopyReceipt] = [receipt_in(entry) for entry in leased.values() if entry.receipt]
    await store.queue.delete(receipts)
    return [None if entry is None else MessageState(entry.state) for entry in before]


def _remove(store: Store, entry: Entry) -> None:
    """Its record stays, and tells when it was cancelled and who held it."""
    entry.finished_at = store.clock.wall()
    entry.tell(Ending(entry.finished_at, "cancelled", entry.owner))
    entry.claim = None
    entry.let_go()
    entry.state, entry.progress, entry.checkpoint, entry.pages = MessageState.CANCELLED, None, None, 0


async def _done_by_key(store: Store, ids: Sequence[str]) -> frozenset[str]:
    """Those whose key is done, though they are still on their way."""
    entries = await store.rows.get(ENTRY, [entry_place(id) for id in ids])
    keyed = [(id, entry) for id, entry in zip(ids, entries, strict=True) if entry is not None and entry.key is not None]
    claims = await store.rows.get(CLAIM, [claim_place(_scope(entry)) for _, entry in keyed])
    return frozenset(
        id
        for (id, entry), claim in zip(keyed, claims, strict=True)
        if claim is not None and claim.state == DONE and claim.digest == entry.digest
    )


async def _free_key(store: Store, id: str, entry: Entry) -> None:
    """Whoever runs it has no claim any more, and its key may be used for other work."""
    if entry.key is None:
        return

    def decide(claim: Claim | None) -> Change[None]:
        if claim is None or claim.state == DONE or (claim.state == RUNNING and claim.runner != id):
            return Change(None)
        claim.release()
        # The next one to claim may bring another payload; the fence goes on rising.
        claim.digest, claim.fence = "", -1
        return Change(None, claim)

    await store.rows.change_one(CLAIM, claim_place(_scope(entry)), decide)


def _scope(entry: Entry) -> Scope:
    return Scope(entry.queue, entry.task, entry.key or "", entry.generation)
