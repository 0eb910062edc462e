"""Promoting: delayed messages become ready before their time.

First the entry says that the message is ready, then its copy is shown: with the receipt of whoever hid it last, or, for
one that was never received, as a second copy of what its entry keeps. The older copy is deleted by the worker that
receives it. If the process dies in between, the next promotion goes on from there; else the copy is shown when the
queue's own timer ends. So it is where a worker writes that the message waits, and hides its copy only after this has
shown it.

Not every delayed message can be shown early: there is no receipt for one that nobody received yet, and no entry keeps
a large body. Before: `sending.py`, `settling.py` or a hop (`lease_decision.py`). After: `lending.py`.
"""

from collections.abc import Sequence
from functools import partial

import msgspec

from tenure.broker import Promoted
from tenure.delivery_queue import OutgoingCopy, PhysicalQueue
from tenure.message import MessageState
from tenure.rowstore.entry import UNSENT, Entry
from tenure.rowstore.receipts import receipt_in
from tenure.rowstore.row_changes import ENTRY, Change, entry_place
from tenure.rowstore.store import Store

#: An entry with a body is no larger than this, so that it costs what it costs without: DynamoDB counts kilobytes. A
#: table whose rows cost the same whatever their size says so by `row_room`.
_ROOM = 900


def keep_copy(store: Store, entry: Entry, body: str, head: str) -> None:
    """Keep with a delayed message's entry what its copy says, if there is room."""
    room = getattr(store.table, "row_room", _ROOM)
    entry.body, entry.head = body, head
    if len(body) > room or len(msgspec.json.encode(entry)) > room:
        entry.body = entry.head = ""


async def promote(store: Store, ids: Sequence[str]) -> list[Promoted]:
    """Make these ready if they are delayed; in which state each was."""
    places = [entry_place(id) for id in ids]
    said = await store.rows.change(ENTRY, places, partial(_decide, store, ids))
    half = {id: entry for id, (_, entry) in zip(ids, said, strict=True) if entry is not None}
    if half:
        await _show(store, half)
        sent = [entry_place(id) for id, entry in half.items() if not entry.receipt]
        if sent:
            await store.rows.change(ENTRY, sent, lambda _, entry: _sent(entry))
    return [answer for answer, _ in said]


def _decide(
    store: Store, ids: Sequence[str], number: int, entry: Entry | None
) -> Change[tuple[Promoted, Entry | None]]:
    """What to answer; with it the entry, where its copy is still to be shown."""
    if entry is None or entry.state == UNSENT or entry.is_sealed:
        return Change((Promoted(None), None))
    if entry.is_finished or entry.is_half_redriven:
        is_dead = entry.state == MessageState.DEAD or entry.is_half_redriven
        return Change((Promoted(MessageState.DEAD if is_dead else None), None))
    is_hidden = bool(entry.receipt or entry.body)
    if entry.state != MessageState.DELAYED:
        was_left = entry.state == MessageState.READY and is_hidden
        return Change((Promoted(MessageState(entry.state)), entry if was_left else None))
    if not is_hidden:
        return Change((Promoted(MessageState.DELAYED, _refusal(store, ids[number], entry)), None))
    entry.state, entry.due = MessageState.READY, 0.0
    return Change((Promoted(MessageState.DELAYED), entry), entry)


def _refusal(store: Store, id: str, entry: Entry) -> str:
    left, traits = entry.due - store.rows.now(), store.queue.traits
    return (
        f"message {id} stays delayed ({max(0.0, left):.0f} s are left): {traits.service} shows no message early "
        f"that nobody has received yet, which takes at most {traits.max_delay_seconds // 60} minutes from its send, "
        "and its body is too large to be kept elsewhere; try again then, or cancel it and send it anew"
    )


async def _show(store: Store, half: dict[str, Entry]) -> None:
    """Let the copies be received now."""
    await store.queue.hide([receipt_in(entry) for entry in half.values() if entry.receipt])
    copies = [
        OutgoingCopy(PhysicalQueue(entry.queue, entry.level), id, entry.body, head=entry.head)
        for id, entry in half.items()
        if not entry.receipt
    ]
    # One that the queue refuses comes with its first copy.
    await store.queue.send(copies)
    store.heard({PhysicalQueue(entry.queue, entry.level) for entry in half.values()})


def _sent(entry: Entry | None) -> Change[None]:
    """No third copy. A receipt stays until the message is lent: who put it back may be about to hide it once more."""
    if entry is None or entry.state != MessageState.READY:
        return Change(None)
    entry.body = entry.head = ""
    return Change(None, entry)
