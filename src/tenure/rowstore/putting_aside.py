"""Putting aside: hand-offs that could not be sent become dead letters of their own queues.

Their parents are done, so no handler could learn of it. First a line in the index of dead letters and the body, then
the entry, which says that the message is dead. A process that dies in between leaves a line that names no dead
letter, and the hand-off is tried again with its parent. Called by `runtime/path/outbox.py`. Next: `browsing.py` shows
it, `operating.py` redrives it.
"""

from collections.abc import Sequence

from tenure.broker import Refused
from tenure.envelope import encode
from tenure.message import Message, MessageState
from tenure.record import Ending
from tenure.rowstore import announcing, dead_letter_index, wire
from tenure.rowstore.entry import UNSENT, Entry
from tenure.rowstore.row_changes import ENTRY, Change, body_rows, entry_place
from tenure.rowstore.store import Store
from tenure.verdict import Reason


async def put_aside(store: Store, batch: Sequence[Refused]) -> None:
    """Store each as a dead letter, unless it is known and in its queue."""
    for one in batch:
        await _put_aside(store, one.message, one.reason)


async def _put_aside(store: Store, message: Message, reason: Reason) -> None:
    id = message.id
    (known,) = await store.rows.get(ENTRY, [entry_place(id)])
    if not _was_never_queued(store, id, known):
        return
    await store.names.note([message.queue])
    place = await dead_letter_index.add(store, message.queue, id)
    pages = await store.rows.keep_body(id, encode(message).decode(), body_rows(place))

    def decide(_number: int, entry: Entry | None) -> Change[bool]:
        if not _was_never_queued(store, id, entry):
            return Change(answer=False)
        entry = Entry(queue=message.queue) if entry is None else entry
        _bury(store, entry, message, reason)
        entry.pages, entry.shelf = pages, place
        return Change(answer=True, to=entry)

    (is_aside,) = await announcing.change(store.rows, [id], decide)
    if not is_aside:
        await store.rows.drop_body(id, pages, body_rows(place))


def _bury(store: Store, entry: Entry, message: Message, reason: Reason) -> None:
    wall = store.clock.wall()
    entry.describe(message)
    entry.sent_at = message.sent_at or wall
    entry.level = store.queue.level_of(message)
    entry.wire = wire.PLAIN if store.settings.wire == wire.PLAIN else ""
    entry.state, entry.due = MessageState.DEAD, 0.0
    entry.reason, entry.finished_at = reason, wall
    entry.tell(Ending(wall, "dead", None, reason))


def _was_never_queued(store: Store, id: str, entry: Entry | None) -> bool:
    """Whether there is nothing of it, or an entry whose copy perhaps never arrived.

    If a copy is in the queue after all, whoever meets it finds that its message is dead, and deletes it.
    """
    if entry is None or entry.state == UNSENT:
        return True
    is_waiting = entry.state in (MessageState.READY, MessageState.DELAYED) and not entry.is_redriving
    return is_waiting and not entry.deliveries and id not in store.confirmed
