"""What is held: the lives under which leases stand, and leases made of them.

`holding` says for each lease what its message is at, from memory where that will do; every act of a holder begins with
it (`touching.py`, `settling.py`, `records.py`). A lease that stands is looked at by `held_leases.py`.
"""

import asyncio
from collections.abc import Sequence

from tenure.adapters.azure.entry import Kept, Life
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.where import EQ
from tenure.lease import Lease
from tenure.message import MessageState

#: How often a change is tried again when somebody else was faster.
TRIES = 5


def lease_of(kept: Kept, raw: bytes, deadline: float) -> Lease:
    """The lease under which a message is lent; `deadline` on our own clock."""
    life = kept.life
    return Lease(
        id=life.id,
        queue=life.queue,
        envelope=raw,
        owner=life.owner or "",
        fence=life.fence,
        receipt=life.message_id,
        seconds=life.seconds,
        deadline=deadline,
        counters=life.counters,
        sent_at=life.sent_at if life.is_foreign else None,
        generation=life.generation or 0,
        size=life.size,
        predicted_seconds=life.predicted_seconds,
    )


def is_held_under(life: Life, lease: Lease) -> bool:
    """Whether `lease` is the lease that this message is lent under now. A deadline that has passed does not matter."""
    return life.state is MessageState.LEASED and (life.owner, life.fence) == (lease.owner, lease.fence)


async def holding(store: Store, leases: Sequence[Lease]) -> list[Kept | None]:
    """What each lease's message is at, as far as we remember; read where we do not. None: it is not lent under it."""
    found = [store.shared.recall(lease.id) for lease in leases]
    unknown = [
        number
        for number, (kept, lease) in enumerate(zip(found, leases, strict=True))
        if kept is None or not is_held_under(kept.life, lease)
    ]
    for number, kept in zip(unknown, await asyncio.gather(*(store.find(leases[n].id) for n in unknown)), strict=True):
        found[number] = kept
    return [
        kept if kept is not None and is_held_under(kept.life, lease) else None
        for kept, lease in zip(found, leases, strict=True)
    ]


async def held(store: Store, owner: str, request_id: str | None) -> list[Lease]:
    """What `owner` holds, by the table."""
    now, local = store.timeline.latest(), store.clock.monotonic()
    lives = await store.lives(EQ("Owner", owner) & EQ("State", "leased"))
    mine = [kept for kept in lives if request_id in (None, kept.life.request_id)]
    for kept in mine:
        store.shared.remember(kept)
    raws = await asyncio.gather(*(store.envelope(kept) for kept in mine))
    ends = [now if kept.life.deadline is None else kept.life.deadline for kept in mine]
    leases = [lease_of(kept, raw, local + end - now) for kept, raw, end in zip(mine, raws, ends, strict=True)]
    return sorted(leases, key=lambda lease: lease.id)
