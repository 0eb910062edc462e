"""The list of queues: which there are by Tenure's own account, and which of them match a pattern.

Noted at `send` and when something is lent (`name_list.py`). A worker on patterns reads the list every 15 seconds, so a
queue that is made while it runs is served soon; one that this process itself sends to is known at once. Tenure's list
only: no verb here makes or deletes a physical queue.
"""

import asyncio
from collections.abc import Sequence

from tenure.rowstore import dead_letter_index, depths
from tenure.rowstore.store import Store
from tenure.rules.queue_pattern import has_pattern, is_pattern, served_of
from tenure.table import Row

#: How old a worker's view of the list may be.
REFRESH_SECONDS = 15.0
#: How often a process that sweeps looks for queues that may go; and how many of them it asks the service about then.
_TIDY_SECONDS, _TIDIED = 600.0, 50


async def queues(store: Store) -> list[str]:
    """The names of the queues there are, sorted."""
    return sorted(row.place.sort for row, noted in await store.names.read() if not noted.is_off)


async def note(store: Store, names: Sequence[str]) -> None:
    """Something is about to be sent to these, or was lent from them. Almost always this asks nobody."""
    noted = await store.names.note(names)
    store.served.update(noted)  # the set of now: `resolve` may have replaced it meanwhile


async def resolve(store: Store, served: Sequence[str], excluded: Sequence[str] = ()) -> list[str]:
    """The queues that names and patterns stand for, in a stable order; the list is read again when it is old."""
    if not has_pattern(served):
        return [name for name in served if name not in excluded] if excluded else list(served)
    now = store.clock.monotonic()
    if now - store.served_at >= REFRESH_SECONDS:
        # Those that were taken off the list a moment ago too: a sender may not know it yet.
        before = set(store.served)
        listed = {row.place.sort for row, _ in await store.names.read()}
        store.served = listed | (store.served - before)  # what was noted while the list was read is not in it
        store.served_at = now
    names = {name for name in served if not is_pattern(name)}
    return served_of(sorted(store.served | names), served, excluded)


async def forget(store: Store, queue: str) -> bool:
    """Take a queue off Tenure's list if nothing is in it. The physical queue stays as it is.

    Services count roughly, and a message of the last seconds may not be counted yet; it is not lost, because
    whoever is lent it notes the queue again, and workers on patterns go on asking the queue for ten minutes.
    """
    if not await _is_empty(store, queue):
        return False
    is_off = await store.names.take_off(queue)
    store.served.discard(queue)
    if is_off and not await _is_empty(store, queue):
        # Another process sent to it in between, and trusts its own earlier look at the list.
        await store.names.note([queue])
        return False
    return is_off


async def tidy(store: Store) -> None:
    """Take queues off the list that nobody has used for an hour and that are empty; once in ten minutes."""
    now = store.clock.monotonic()
    if now - store.tidied_at < _TIDY_SECONDS:
        return
    store.tidied_at = now
    old = [(row, noted) for row, noted in await store.names.read() if store.names.is_old(noted)]
    over = [row for row, noted in old if noted.is_off]
    asked = [row for row, noted in old if not noted.is_off][:_TIDIED]
    empty = await asyncio.gather(*(_is_empty(store, row.place.sort) for row in asked))
    over += [row for row, is_empty in zip(asked, empty, strict=True) if is_empty]
    await store.names.remove(over)
    await _tidy_shelves(store)


async def _tidy_shelves(store: Store) -> None:
    bare: list[Row] = []
    for row, noted in await store.dead_letter_queues.read():
        if store.dead_letter_queues.is_old(noted) and not await dead_letter_index.has_any(store, row.place.sort):
            bare.append(row)
    await store.dead_letter_queues.remove(bare)


async def _is_empty(store: Store, queue: str) -> bool:
    """Nothing ready, delayed, leased or dead. What cannot be counted is not empty."""
    if await dead_letter_index.has_any(store, queue):
        return False
    counts = await depths.counts(store, queue)
    if counts is None or counts.visible or counts.hidden or counts.delayed:
        return False
    return not (await depths.leased(store)).get(queue)
