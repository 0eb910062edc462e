"""Retention: what is finished is forgotten when the account has kept it long enough.

Letters that have ended, lives that were cancelled, claims that are done, and who was retired: of every boot of every
worker one row. What waits, is held or is dead stays, however old it is, and what is still to be announced; but what
seems to wait, and whose queue is empty, was taken by somebody who does not know Tenure. Called by `AzureJournal.prune`.
"""

from collections.abc import AsyncIterator
from typing import Any

from tenure.adapters.azure import announcing, uniqueness
from tenure.adapters.azure.entry import BRIEF, letter_key, read_letter, read_life
from tenure.adapters.azure.rows import Change, Row
from tenure.adapters.azure.store import COMMON, Store
from tenure.adapters.azure.where import EQ, IS, IS_NOT, LT, NE
from tenure.errors import StoreMissing
from tenure.message import MessageState

_WAITING = frozenset({MessageState.READY, MessageState.DELAYED})
#: So many are deleted before more is read.
_AT_ONCE = 1000
#: However short the account's memory is: a worker that was frozen for so long is still told that it was retired. One
#: that comes back later than its ban finds its leases taken by their fences, and may begin anew.
_BANNED_SECONDS = 86_400.0


async def forget_finished(store: Store) -> None:
    """Drop what finished before the time that is kept."""
    # By the account's time: what a machine whose clock is wrong takes for old would be run again.
    before = store.timeline.wall() - store.options.keep_seconds
    rows = store.rows
    for part in store.parts:
        await drop(store, rows.between(part, "s:", "s;", IS("IsEnded") & LT("SentAt", before)))
        await drop(store, rows.between(f"k{part}", "k:", "k;", NE("State", "running") & LT("At", before)))
        await drop(store, _cancelled(store, part, before))
        words = await uniqueness.forgettable(store, part, before)
        await _drop(store, [*words, *await _taken(store, part, before)])
    bans = min(before, store.timeline.wall() - _BANNED_SECONDS)
    await drop(store, rows.between(COMMON, "b:", "b;", LT("At", bans)))


async def drop(store: Store, rows: AsyncIterator[Row]) -> int:
    """Delete rows while they are read, each as it was read: there may be millions. How many."""
    gone, some = 0, list[Row]()
    async for row in rows:
        some.append(row)
        if len(some) >= _AT_ONCE:
            gone += await _drop(store, some)
            some = []
    return gone + await _drop(store, some)


async def _drop(store: Store, rows: list[Row]) -> int:
    if any(row.fields.get("Asked") for row in rows):
        # Read after these rows: the intent of each that has ended was there before it had.
        spared = await announcing.spared(store)
        rows = [row for row in rows if (row.part, row.key) not in spared]
    told = await store.rows.commit([[Change("delete", row)] for row in rows])
    return sum(one is not None for one in told)


async def _cancelled(store: Store, part: str, before: float) -> AsyncIterator[Row]:
    async for row in store.rows.between(part, "m:", "m;", EQ("State", "cancelled")):
        life = read_life(row).life
        if (life.finished_at or 0.0) < before:
            yield row
            yield Row(part, letter_key(life.id), {})


async def _taken(store: Store, part: str, before: float) -> list[Row]:
    """Rows of messages that old workers received and deleted: they were to be in a queue in which there is nothing.

    Likewise letters that were never put into their queue: their sender was told that it failed.
    """
    letters = await store.rows.scan(part, "s:", IS_NOT("IsEnded") & LT("SentAt", before))
    sent = {letter.id: (letter.queue, row) for row in letters for letter in [read_letter(row)]}
    found: list[tuple[str, Row]] = []
    for row in await store.rows.scan(part, "m:", NE("State", "cancelled"), only=BRIEF):
        life = read_life(row).life
        letter = sent.pop(life.id, None)
        is_old = letter is not None or (life.is_foreign and (life.sent_at or before) < before)
        if is_old and life.state in _WAITING and not life.is_unput:
            found += [(life.queue, row), *([letter] if letter is not None else [])]
    found += sent.values()
    # Counted after all of it was read; the count may be too high, and never too low.
    counts = {queue: await _count(store, queue) for queue in {queue for queue, _ in found}}
    return [row for queue, row in found if counts[queue] == 0]


async def _count(store: Store, queue: str) -> int | None:
    try:
        told: Any = await store.call("counting", lambda: store.queue(queue).get_queue_properties())
    except StoreMissing:
        return None
    return int(told.approximate_message_count)
