"""Forgetting queues: an empty queue is taken off Tenure's list. The storage queue itself is never deleted.

`forget` does so because somebody said so; a sweep does so for queues that were not in use for an hour. Empty means that
the storage queue counts nothing and that no life of it is left but those that were cancelled. The row is compared: who
sends at the same moment has written it, and it stays. `known_queues.py` says why a forgotten queue stays there unseen.
"""

from tenure.adapters.azure.known_queues import AGAIN_SECONDS, listed_row
from tenure.adapters.azure.naming import row_id
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import COMMON, Store
from tenure.adapters.azure.where import EQ, NE
from tenure.errors import BadSetting, StoreMissing

#: A queue that was not in use for so long, and is empty, is forgotten by a sweep.
_UNUSED_SECONDS = 3_600.0
#: One that was forgotten by somebody stays unseen for so long: longer than a process sends without looking.
_UNSEEN_SECONDS = 2 * AGAIN_SECONDS
#: Of all sweeps of a process, one in so many seconds looks at the list, and at so many queues of it.
_EVERY_SECONDS, _MOST = 60.0, 50


async def forget(store: Store, queue: str) -> bool:
    """Take a queue off the list if nothing is in it. False: it stays."""
    row = await store.rows.get(COMMON, f"q:{row_id(queue)}")
    if not await _is_empty(store, queue):
        return False
    if row is None or "Forgotten" in row.fields:
        return True
    unseen = listed_row(queue, {"At": row.fields["At"], "Forgotten": store.timeline.now()}, row.etag)
    return await _take_off(store, queue, Change("replace", unseen))


async def forget_unused(store: Store) -> None:
    """Drop queues that were not in use for an hour and are empty. Called by every sweep; few of them look."""
    shared, local = store.shared, store.clock.monotonic()
    if local < shared.forgets_at:
        return
    shared.forgets_at = local + _EVERY_SECONDS
    now = store.timeline.now()
    for row in [row for row in await store.known_queues.rows() if _is_old(row, now)][:_MOST]:
        queue = str(row.fields["Queue"])
        if not await _is_empty(store, queue):
            await store.rows.commit_one(Change("replace", listed_row(queue, {"At": now}, row.etag)))
        elif await _take_off(store, queue, Change("delete", row)):
            shared.queues.discard(queue)


async def _take_off(store: Store, queue: str, change: Change) -> bool:
    """Change its row, if nobody sends to it at this moment."""
    if await store.rows.commit_one(change) is None:
        return False  # somebody has put it on the list
    # Who sends in this process from here on puts it on the list again. Who has sent a moment ago is seen now.
    store.shared.registered.pop(queue, None)
    if await _is_empty(store, queue):
        return True
    await store.known_queues.register((queue,))
    return False


def _is_old(row: Row, now: float) -> bool:
    forgotten = row.fields.get("Forgotten")
    if forgotten is not None:
        return now - float(forgotten) > _UNSEEN_SECONDS
    return now - float(row.fields["At"]) >= _UNUSED_SECONDS


async def _is_empty(store: Store, queue: str) -> bool:
    """Nothing ready, delayed, leased or dead. The service's count may be too high, and never too low."""
    where = EQ("Queue", queue) & NE("State", "cancelled")
    for part in store.parts:
        async for _ in store.rows.between(part, "m:", "m;", where, limit=1, only=("State",)):
            return False
    try:
        told = await store.call("counting", lambda: store.queue(queue).get_queue_properties())
    except (StoreMissing, BadSetting):
        return True
    return int(told.approximate_message_count) == 0
