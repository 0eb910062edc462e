"""Depths: about how much lies in each queue, by its own counts and by what the state knows is lent or dead."""

import asyncio
from collections.abc import Sequence

from tenure.broker import Depth
from tenure.delivery_queue import QueueCount
from tenure.errors import ConfigurationError
from tenure.rowstore import dead_letter_index, lease_batches
from tenure.rowstore.store import Store

#: So many queues are asked about at once: each physical queue is a request of its own, which is paid for.
_AT_ONCE = 20
_MANY = 100_000


async def depth(store: Store, queues: Sequence[str] | None) -> list[Depth]:
    """About how much lies in each queue: what the service says, with what is lent and dead by our own account."""
    names = await _names(store) if queues is None else list(queues)
    lent = await leased(store) if names else {}
    found: list[Depth] = []
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        found += await asyncio.gather(*(_depth(store, queue, lent.get(queue, 0)) for queue in some))
    # Those of earlier versions are not on the list of queues with dead letters yet.
    await store.dead_letter_queues.note(one.queue for one in found if one.dead)
    if queues is not None:
        return found
    return [one for one in found if any((one.ready, one.delayed, one.leased, one.dead))]


async def _names(store: Store) -> list[str]:
    """The queues that the service has, those that Tenure knows, and those that only have dead letters."""
    known = {row.place.sort for row, noted in await store.names.read() if not noted.is_off}
    return sorted({*known, *await store.queue.names(), *await dead_letter_index.queues(store)})


async def _depth(store: Store, queue: str, lent: int) -> Depth:
    dead = await dead_letter_index.count(store, queue)
    said = await counts(store, queue)
    if said is None:
        return Depth(
            queue=queue, ready=None, delayed=None, leased=lent, dead=dead, oldest_age_seconds=None, estimated=True
        )
    age = None if said.oldest_at is None else max(0.0, store.table.wall() - said.oldest_at)
    if said.hidden is None:
        ready, waiting = max(0, said.visible - lent), None
    else:
        # What is hidden and not lent waits for its time: for a hop's end, or for a timer of its own.
        ready, waiting = said.visible, said.delayed + max(0, said.hidden - lent)
    return Depth(
        queue=queue, ready=ready, delayed=waiting, leased=lent, dead=dead, oldest_age_seconds=age, estimated=True
    )


async def waiting(store: Store, queue: str) -> int | None:
    """About how many wait: visible, or delayed by the service. What waits by a timer of its own is not among them."""
    said = await counts(store, queue)
    return None if said is None else said.visible + said.delayed


async def counts(store: Store, queue: str) -> QueueCount | None:
    """What the service says of a queue, over all priorities. None: that cannot be asked."""
    try:
        found = [await store.queue.count(physical) for physical in store.queue.physical(queue)]
    except ConfigurationError:  # not everybody may ask, and a name may be no queue's
        return None
    hidden = [one.hidden for one in found if one.hidden is not None]
    oldest_at = min((one.oldest_at for one in found if one.oldest_at is not None), default=None)
    return QueueCount(
        sum(one.visible for one in found),
        sum(hidden) if len(hidden) == len(found) else None,
        sum(one.delayed for one in found),
        oldest_at,
    )


async def leased(store: Store) -> dict[str, int]:
    """How much is lent of each queue."""
    found, _ = await lease_batches.soonest(store, _MANY)
    numbers: dict[str, int] = {}
    for one in found:
        numbers[one.entry.queue] = numbers.get(one.entry.queue, 0) + 1
    return numbers
