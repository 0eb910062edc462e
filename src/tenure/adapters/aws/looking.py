"""Looking: dead letters and depth. What waits in a queue cannot be looked at without taking it: SQS has no peek."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from tenure.adapters.aws import faults, lots, shelf
from tenure.adapters.aws.copy import Spot
from tenure.adapters.aws.desk import ENTRY, body_rows, entry_place
from tenure.adapters.aws.entry import Entry
from tenure.adapters.aws.store import Store
from tenure.broker import Browsed, Depth
from tenure.errors import ConfigurationError, QueueGone
from tenure.message import MessageState
from tenure.table import Row

#: So many entries are asked for at once; and so many bodies, which may be a megabyte each.
_ENTRIES, _BODIES = 100, 20


async def browse(store: Store, queue: str, state: MessageState, *, limit: int, after: int) -> list[Browsed]:
    """A page of the dead letters of a queue, in the order in which they died. Of the other states there is none."""
    if state != MessageState.DEAD:
        return []
    letters: list[tuple[int, str, Entry]] = []
    async for letter in _letters(store, queue, after):
        letters.append(letter)
        if len(letters) == limit:
            break
    found: list[Browsed] = []
    for start in range(0, len(letters), _BODIES):
        some = letters[start : start + _BODIES]
        bodies = await asyncio.gather(
            *(store.desk.body(id, entry.pages, body_rows(place)) for place, id, entry in some)
        )
        found += [_browsed(queue, *one, body) for one, body in zip(some, bodies, strict=True)]
    return found


async def _letters(store: Store, queue: str, after: int) -> AsyncIterator[tuple[int, str, Entry]]:
    """Place, id and entry of each dead letter. Lines that stand for nothing are taken off the shelf."""
    some: list[tuple[int, str, Row]] = []
    async for line in shelf.walk(store, queue, after):
        some.append(line)
        if len(some) == _ENTRIES:
            for letter in await _read(store, some):
                yield letter
            some.clear()
    for letter in await _read(store, some):
        yield letter


async def _read(store: Store, lines: Sequence[tuple[int, str, Row]]) -> list[tuple[int, str, Entry]]:
    entries = await store.desk.get(ENTRY, [entry_place(id) for _, id, _ in lines])
    letters: list[tuple[int, str, Entry]] = []
    litter: list[Row] = []
    for (place, id, row), entry in zip(lines, entries, strict=True):
        if entry is not None and shelf.is_letter(entry, place):
            letters.append((place, id, entry))
        elif shelf.is_litter(store, entry, place):
            litter.append(row)
    await shelf.take(store, litter)
    return letters


def _browsed(queue: str, place: int, id: str, entry: Entry, body: str) -> Browsed:
    return Browsed(
        id=id, queue=queue, state=MessageState.DEAD, envelope=body.encode(), counters=entry.counters, cursor=place,
        reason=entry.reason, finished_at=entry.finished_at,
    )  # fmt: skip


async def depth(store: Store, queues: Sequence[str] | None) -> list[Depth]:
    """About how much lies in each queue: what SQS says, with what is lent and dead by our own account."""
    names = await _names(store) if queues is None else list(queues)
    leased = await _leased(store)
    found = [await _depth(store, queue, leased.get(queue, 0)) for queue in names]
    if queues is not None:
        return found
    return [one for one in found if any((one.ready, one.delayed, one.leased, one.dead))]


async def _names(store: Store) -> list[str]:
    """The queues that SQS has, and those that only have dead letters."""
    return sorted({*await store.spots.names(), *await shelf.queues(store)})


async def _depth(store: Store, queue: str, leased: int) -> Depth:
    dead = await shelf.count(store, queue)
    try:
        counts = [await _counts(store, spot) for spot in store.spots.of(queue)]
    except ConfigurationError:  # not everybody may ask, and a name may be no queue's
        return Depth(
            queue=queue, ready=None, delayed=None, leased=leased, dead=dead, oldest_age_seconds=None, estimated=True
        )  # fmt: skip
    visible, hidden, delayed = (sum(numbers) for numbers in zip(*counts, strict=True))
    # What is hidden and not lent waits for its time: for a hop's end, or for a timer of its own.
    return Depth(
        queue=queue, ready=visible, delayed=delayed + max(0, hidden - leased), leased=leased, dead=dead,
        oldest_age_seconds=None, estimated=True,
    )  # fmt: skip


async def _counts(store: Store, spot: Spot) -> tuple[int, int, int]:
    try:
        return await store.queues.counts(spot)
    except (faults.QueueMissing, QueueGone):
        return 0, 0, 0


async def _leased(store: Store) -> dict[str, int]:
    ids = [id for _, lot in await lots.all_(store) for id in lot.ids]
    counts: dict[str, int] = {}
    for entry in await store.desk.get(ENTRY, [entry_place(id) for id in dict.fromkeys(ids)]):
        if entry is not None and entry.state == MessageState.LEASED and not entry.is_sealed:
            counts[entry.queue] = counts.get(entry.queue, 0) + 1
    return counts
