"""Looking: dead letters and depth. What waits in a queue cannot be looked at without taking it: SQS has no peek."""

from collections.abc import Sequence

from tenure.adapters.aws import lots, shelf
from tenure.adapters.aws.desk import ENTRY, entry_place
from tenure.adapters.aws.store import Store
from tenure.broker import Browsed, Depth
from tenure.errors import TenureError
from tenure.message import MessageState


async def browse(store: Store, queue: str, state: MessageState, *, limit: int, after: int) -> list[Browsed]:
    """A page of the dead letters of a queue, in the order in which they died. Of the other states there is none."""
    if state != MessageState.DEAD:
        return []
    found: list[Browsed] = []
    async for place, id, _row in shelf.walk(store, queue, after):
        (entry,) = await store.desk.get(ENTRY, [entry_place(id)])
        if entry is None or entry.state != MessageState.DEAD:
            continue
        body = await store.desk.body(id, entry.pages)
        found.append(Browsed(
            id=id, queue=queue, state=MessageState.DEAD, envelope=body.encode(), counters=entry.counters, cursor=place,
            reason=entry.reason,
        ))  # fmt: skip
        if len(found) == limit:
            break
    return found


async def depth(store: Store, queues: Sequence[str] | None) -> list[Depth]:
    """About how much lies in each queue: what SQS says, with what is lent and dead by our own account."""
    names = await store.queues.names() if queues is None else list(queues)
    leased = await _leased(store)
    found = [await _depth(store, queue, leased.get(queue, 0)) for queue in names]
    if queues is not None:
        return found
    return [one for one in found if any((one.ready, one.delayed, one.leased, one.dead))]


async def _depth(store: Store, queue: str, leased: int) -> Depth:
    dead = 0
    async for _ in shelf.walk(store, queue):
        dead += 1
    visible = hidden = delayed = 0
    try:
        for spot in store.queues.spots(queue):
            counts = await store.queues.counts(spot)
            visible, hidden, delayed = visible + counts[0], hidden + counts[1], delayed + counts[2]
    except TenureError:
        return Depth(
            queue=queue, ready=None, delayed=None, leased=leased, dead=dead, oldest_age_seconds=None, estimated=True
        )  # fmt: skip
    # What is hidden and not lent waits for its time.
    return Depth(
        queue=queue, ready=visible, delayed=delayed + max(0, hidden - leased), leased=leased, dead=dead,
        oldest_age_seconds=None, estimated=True,
    )  # fmt: skip


async def _leased(store: Store) -> dict[str, int]:
    ids = [id for owner in await lots.holders(store) for _, lot in await lots.of(store, owner) for id in lot.ids]
    counts: dict[str, int] = {}
    for entry in await store.desk.get(ENTRY, [entry_place(id) for id in dict.fromkeys(ids)]):
        if entry is not None and entry.state == MessageState.LEASED and not entry.is_sealed:
            counts[entry.queue] = counts.get(entry.queue, 0) + 1
    return counts
