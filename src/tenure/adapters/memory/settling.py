"""Settling: ends leases by ack, nack, give back or dead letter.

A stale holder changes nothing, and gets the reason. Before: `lending.py`. After: the message is completed, dead, or in
its queue again.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from tenure.adapters.memory import limiting
from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.keys import RowState
from tenure.adapters.memory.sending import hand_on
from tenure.adapters.memory.store import MemoryDatabase
from tenure.adapters.memory.traits import clamped_delay
from tenure.message import MessageState
from tenure.record import Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.verdict import Reason

T = TypeVar("T", Ack, Nack, GiveBack, DeadLetter)


def settle(
    store: MemoryDatabase,
    batch: Sequence[T],
    act: Callable[[MemoryDatabase, MemoryEntry, T, float], Outcome],
    now: float,
) -> list[Settlement]:
    """Carry out `act` for each entry whose lease is still the message's."""
    return [Settlement(_settle(store, word, act, now)) for word in batch]


def _settle(
    store: MemoryDatabase, word: T, act: Callable[[MemoryDatabase, MemoryEntry, T, float], Outcome], now: float
) -> Outcome:
    entry = store.entries.get(word.lease.id)
    if entry is None or entry.state is not MessageState.LEASED:
        return Outcome.ALREADY_GONE
    if not entry.is_held_under(word.lease):
        return Outcome.TAKEN_OVER
    return act(store, entry, word, now)


def ack(store: MemoryDatabase, entry: MemoryEntry, word: Ack, now: float) -> Outcome:
    """Complete messages. If the broker is exact, result, key and hand-offs are stored in the same step."""
    if not store.traits.settles_exactly_once:
        done = store.keys.done_for(entry.id)
        if done is not None:
            done.counters[entry.id] = entry.counters
        store.delete(entry, now)
        return Outcome.DELETED
    entry.result = _finish_key(store, entry, word.result, now) or None
    entry.finished_at = store.clock.wall()
    if not word.is_duplicate:
        store.announcements.add(entry, MessageState.COMPLETED, entry.finished_at, result=entry.result)
    entry.envelope, entry.progress, entry.checkpoint = b"", None, None
    store.place(entry, MessageState.COMPLETED, now)
    hand_on(store, word.handoffs, now)
    return Outcome.DELETED


def _finish_key(store: MemoryDatabase, entry: MemoryEntry, result: bytes, now: float) -> bytes:
    """Mark the message's key as done and return its result. A result that was sealed before stays."""
    row = store.keys.get(entry.scope)
    if row is None and entry.digest is not None:
        row = store.keys.register(entry.scope, entry.id, entry.digest)
    if row is None or entry.digest not in (None, row.digest):
        return result
    if row.state is RowState.DONE:
        return row.result
    store.keys.finish(row, result, now=now, wall=store.clock.wall())
    return result


def nack(store: MemoryDatabase, entry: MemoryEntry, word: Nack, now: float) -> Outcome:
    """Failed: an attempt is counted, and it comes back after its delay."""
    entry.attempts += 1
    entry.reason = word.reason
    entry.history.append(Ending(store.clock.wall(), "failed", entry.owner, word.reason))
    put_back(store, entry, word.delay_seconds, now)
    return Outcome.RETURNED


def give_back(store: MemoryDatabase, entry: MemoryEntry, word: GiveBack, now: float) -> Outcome:
    """Return the message without running it, after its delay. No counter changes; the reason is kept."""
    if word.reason is not None:
        entry.reason = word.reason
        entry.history.append(Ending(store.clock.wall(), "given_back", entry.owner, word.reason))
    limiting.give_back(store, entry.queue)
    put_back(store, entry, word.delay_seconds, now)
    return Outcome.RETURNED


def dead_letter(store: MemoryDatabase, entry: MemoryEntry, word: DeadLetter, now: float) -> Outcome:
    """Given up: kept aside with its raw bytes."""
    entry.attempts += word.counted
    entry.history.append(Ending(store.clock.wall(), "dead", entry.owner, word.reason))
    bury(store, entry, word.reason, now)
    return Outcome.DEAD


def put_back(store: MemoryDatabase, entry: MemoryEntry, delay_seconds: float, now: float) -> None:
    """Into its queue again, at its old place. Where lease and claim are one, the claim ends with it."""
    if store.traits.settles_exactly_once:
        store.keys.release_run(entry.scope, entry.id, entry.owner)
    delay = clamped_delay(store.traits, delay_seconds)
    entry.due = now + delay
    store.place(entry, MessageState.DELAYED if delay > 0 else MessageState.READY, now)


def bury(store: MemoryDatabase, entry: MemoryEntry, reason: Reason, now: float) -> None:
    """To the dead letters. Where lease and claim are one, its key is free: the same work may be sent again."""
    entry.reason = reason
    entry.finished_at = store.clock.wall()
    if store.traits.settles_exactly_once:
        store.keys.free(entry.scope, entry.id)
    store.announcements.add(entry, MessageState.DEAD, entry.finished_at, reason=reason)
    store.place(entry, MessageState.DEAD, now)
