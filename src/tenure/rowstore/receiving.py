"""Receiving: copies from the physical queues, the queues of a request in turn and the highest priority first.

What a poll brought before anybody asked comes first (`prefetch.py`); where queues are many, that is nearly all. A copy
that was received is lent to nobody yet: that is decided by what the state says of its message. Before:
the delivery queue.
After: `lease_decision.py`.
"""

import contextlib
from collections.abc import Collection, Sequence

from tenure.delivery_queue import CopyReceipt, PhysicalQueue, ReceivedCopy
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseRequest
from tenure.rowstore import queue_list
from tenure.rowstore.store import Store
from tenure.rules.queue_pattern import has_pattern

#: Over so many messages of a queue, one comes from a lower priority while higher ones wait.
_FAIRNESS = 10
#: Of so many physical queues each is asked by every lease call, if those before it did not have enough.
_FEW = 4


async def receive(store: Store, request: LeaseRequest, want: int, visibility: int) -> list[ReceivedCopy]:
    """Up to `want` copies, hidden for `visibility` seconds: what was prefetched, then what the queues give."""
    if is_many(store, request.queues):
        return await store.prefetch.lend(await served(store, request.queues, request.excluded), want, visibility)
    copies: list[ReceivedCopy] = []
    store.rotation += 1
    names = await queue_list.resolve(store, request.queues, request.excluded)
    start = store.rotation % len(names) if names else 0
    queues = names[start:] + names[:start]
    is_alone = len(queues) == 1 and len(store.queue.physical(queues[0])) == 1
    for physical in (physical for queue in queues for physical in _in_turn(store, queue)):
        copies += store.prefetch.take(physical)
        if len(copies) < want and not store.prefetch.is_polled(physical):
            wait = store.prefetch.glance_seconds if is_alone and not copies else 0.0
            try:
                copies += await store.prefetch.receive(physical, want - len(copies), visibility, wait)
            except BrokerUnavailable:
                if not copies:
                    raise
                return copies  # what came before is not to wait for the end of this trouble
        if len(copies) >= want:
            surplus = [CopyReceipt(copy.physical, copy.receipt) for copy in copies[want:]]
            with contextlib.suppress(BrokerUnavailable):  # they come back by themselves
                await store.queue.hide(surplus)
            return copies[:want]
    return copies


def is_many(store: Store, queues: Sequence[str]) -> bool:
    """Whether not all of them are asked each time: there are too many, or it is not known which there will be."""
    return len(queues) * store.queue.traits.priority_levels > _FEW or has_pattern(queues)


async def served(store: Store, queues: Sequence[str], excluded: Sequence[str]) -> Collection[PhysicalQueue]:
    """The physical queues that are meant now; the same object while nothing changes."""
    names = await queue_list.resolve(store, queues, excluded)
    known = store.many
    if known is None or known[0] != names:
        known = store.many = (
            names,
            dict.fromkeys(physical for name in names for physical in store.queue.physical(name)),
        )
    return known[1]


def _in_turn(store: Store, queue: str) -> list[PhysicalQueue]:
    """The physical queues, the highest first; every so often a lower one is, so that it does not starve."""
    physicals = store.queue.physical(queue)
    if len(physicals) == 1:
        return physicals
    turn = store.turns[queue] = store.turns.get(queue, 0) + 1
    if turn % _FAIRNESS:
        return physicals
    lower = physicals[1:]
    at = turn // _FAIRNESS % len(lower)
    return [*lower[at:], *lower[:at], physicals[0]]


def heads_of_groups(copies: list[ReceivedCopy]) -> tuple[list[ReceivedCopy], list[ReceivedCopy]]:
    """Of each FIFO group the first, which must end before the next may begin; and those behind."""
    heads, behind, seen = list[ReceivedCopy](), list[ReceivedCopy](), set[tuple[PhysicalQueue, str]]()
    for copy in copies:
        group = (copy.physical, copy.group or "")
        (behind if copy.group and group in seen else heads).append(copy)
        seen.add(group)
    return heads, behind
