"""Settling: the holder brings a message back, done or not.

First the entry, by compare-and-set: a holder that is no longer the holder changes nothing, and is told why. Only then
is anything said to the queue, with the holder's own receipt. If that fails the whole is said again, and what the
entry was told already is remembered here (`ProcessMemory`): nothing is counted twice.
"""

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tenure.errors import BrokerUnavailable
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Ending
from tenure.rowstore import announcing, dead_letter_index, lease_batches, renewed_receipts, wire
from tenure.rowstore.entry import GONE, Entry
from tenure.rowstore.process_memory import OwnLease
from tenure.rowstore.row_changes import ENTRY, Change, attribute_rows, body_rows, entry_place
from tenure.rowstore.store import Store
from tenure.rowstore.traits import SLACK
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement

T = TypeVar("T", Ack, Nack, GiveBack, DeadLetter)
R = TypeVar("R", Nack, GiveBack)

_EFFECTIVE = frozenset({Outcome.DELETED, Outcome.RETURNED, Outcome.DEAD})


async def ack(store: Store, batch: Sequence[Ack]) -> list[Settlement]:
    """Done. Result and hand-offs were sealed before; here only the message goes."""

    def act(word: Ack, entry: Entry) -> Outcome:
        if word.routed is not None:
            entry.describe(word.routed)
        if word.is_duplicate:
            entry.announced = entry.generation
        entry.let_go()
        entry.state, entry.progress, entry.checkpoint = GONE, None, None
        return Outcome.DELETED

    leases = [word.lease for word in batch]
    open_ = [number for number, lease in enumerate(leases) if not _is_sealed_here(store, lease)]
    said = await _change(store, [batch[number] for number in open_], act, Outcome.DELETED)
    outcomes = [Outcome.DELETED] * len(batch)
    for number, outcome in zip(open_, said, strict=True):
        outcomes[number] = outcome
    settlements: dict[str, Settlement] = {}

    async def delete(some: list[Lease]) -> None:
        settlements.update(await _delete(store, some))

    await _tell(store, leases, outcomes, delete)
    return [settlements.get(lease.id) or Settlement(outcome) for lease, outcome in zip(leases, outcomes, strict=True)]


async def _delete(store: Store, leases: list[Lease]) -> dict[str, Settlement]:
    """Delete the copies of what is done; how that ended, by id."""
    held = [store.memory.get(lease.id, lease.owner, lease.fence) for lease in leases]
    began = store.clock.monotonic()
    for one in held:
        if one is not None:
            one.tries += 1
    try:
        accepted = await store.queue.delete([renewed_receipts.current(store, lease) for lease in leases])
    except BrokerUnavailable as error:
        for one in held:
            if one is not None:
                one.is_unanswered = one.is_unanswered or error.outcome_unknown
        raise
    now = store.clock.monotonic()
    return {
        lease.id: Settlement(_ended(lease, one, now, accepted=ok), 1 if one is None else one.tries, now - began)
        for lease, one, ok in zip(leases, held, accepted, strict=True)
    }


def _ended(lease: Lease, held: OwnLease | None, now: float, *, accepted: bool) -> Outcome:
    """How the delete of a copy ended whose message is done, by the queue's answer and by what we know.

    An entry that was acked stands for its message whatever the queue does with the copy. What is sealed comes back, and
    is known as done then, as long as a copy is there.
    """
    if held is None or not held.is_sealed:
        return Outcome.DELETED
    if now >= lease.deadline + SLACK:  # others may have the copy; and the service takes a delete, but may leave it
        return Outcome.UNKNOWN
    if accepted:
        return Outcome.DELETED
    return Outcome.ALREADY_GONE if held.is_unanswered else Outcome.UNKNOWN


async def nack(store: Store, batch: Sequence[Nack]) -> list[Settlement]:
    """Failed: an attempt is counted, and it comes back after its delay."""

    def act(word: Nack, entry: Entry) -> Outcome:
        entry.attempts += 1
        entry.reason = word.reason
        entry.tell(Ending(store.clock.wall(), "failed", entry.owner, word.reason))
        entry.put_back(word.delay_seconds, store.rows.now())
        return Outcome.RETURNED

    return await _return(store, batch, act)


async def give_back(store: Store, batch: Sequence[GiveBack]) -> list[Settlement]:
    """Not run: nothing is counted, and it comes back after its delay. A reason is kept."""

    def act(word: GiveBack, entry: Entry) -> Outcome:
        if word.reason is not None:
            entry.reason = word.reason
            entry.tell(Ending(store.clock.wall(), "given_back", entry.owner, word.reason))
        entry.put_back(word.delay_seconds, store.rows.now())
        return Outcome.RETURNED

    return await _return(store, batch, act)


async def dead_letter(store: Store, batch: Sequence[DeadLetter]) -> list[Settlement]:
    """Given up: kept aside with its raw bytes. The body first, then the word that it is dead, then the copy goes.

    A lease that was found by its name has no body (`holding.find`): its copy is made visible instead, and whoever meets
    it keeps the body, as after a sweep.
    """
    held = await _held(store, [word.lease for word in batch])
    found = await dead_letter_index.add_all(store, [(lease.queue, lease.id) for lease in held])
    places = {lease.id: place for lease, place in zip(held, found, strict=True)}
    pages, beside = dict.fromkeys(places, 0), dict.fromkeys(places, 0)
    whole = [lease for lease in held if lease.envelope]
    bodies = [(lease.id, lease.envelope.decode(), body_rows(places[lease.id])) for lease in whole]
    pages |= {lease.id: count for lease, count in zip(whole, await store.rows.keep_bodies(bodies), strict=True)}
    for lease in whole:
        beside[lease.id] = await _keep_attributes(store, lease, places[lease.id])

    def act(word: DeadLetter, entry: Entry) -> Outcome:
        entry.attempts += word.counted
        entry.reason, entry.finished_at = word.reason, store.clock.wall()
        entry.tell(Ending(entry.finished_at, "dead", entry.owner, word.reason))
        entry.let_go()
        entry.state, entry.pages, entry.shelf = MessageState.DEAD, pages[word.lease.id], places[word.lease.id]
        entry.attribute_pages = beside[word.lease.id]
        return Outcome.DEAD

    outcomes = await _change(store, batch, act, Outcome.DEAD)
    leases = [word.lease for word in batch]

    async def say(some: list[Lease]) -> None:
        await store.queue.delete([renewed_receipts.current(store, lease) for lease in some if lease.envelope])
        await store.queue.hide([renewed_receipts.current(store, lease) for lease in some if not lease.envelope])

    await _tell(store, leases, outcomes, say)
    return [Settlement(outcome) for outcome in outcomes]


async def _held(store: Store, leases: Sequence[Lease]) -> list[Lease]:
    """Which of these are held, by what was written here last where that is known.

    If one is not any more, nothing names what is kept for it.
    """
    entries = {lease.id: store.rows.last_written(ENTRY, entry_place(lease.id)) for lease in leases}
    doubted = [lease for lease in leases if not _is_under(entries[lease.id], lease)]
    if doubted:
        found = await store.rows.get(ENTRY, [entry_place(lease.id) for lease in doubted])
        entries |= {lease.id: entry for lease, entry in zip(doubted, found, strict=True)}
    return [lease for lease in leases if _is_under(entries[lease.id], lease)]


def _is_under(entry: Entry | None, lease: Lease) -> bool:
    return entry is not None and entry.is_held_under(lease)


async def _keep_attributes(store: Store, lease: Lease, place: int) -> int:
    """What stood beside the body of one that is not ours: a redrive sends it again as it was."""
    held = store.memory.get(lease.id, lease.owner, lease.fence)
    text = "" if held is None else wire.dumped(held.attributes)
    return await store.rows.keep_body(lease.id, text, attribute_rows(place)) if text else 0


async def _return(store: Store, batch: Sequence[R], act: Callable[[R, Entry], Outcome]) -> list[Settlement]:
    delays = {word.lease.id: word.delay_seconds for word in batch}

    def act_within(word: R, entry: Entry) -> Outcome:
        # The queue hides nothing for longer than 12 hours since its receive; the rest of a delay goes in hops.
        room = max(0.0, entry.hold_until - store.rows.now())
        delays[word.lease.id] = min(word.delay_seconds, room)
        return act(word, entry)

    outcomes = await _change(store, batch, act_within, Outcome.RETURNED)
    leases = [word.lease for word in batch]

    async def say(some: list[Lease]) -> None:
        receipts = [renewed_receipts.current(store, lease, delays[lease.id]) for lease in some]
        await renewed_receipts.hide(store, [lease.id for lease in some], receipts)
        for physical, seconds in {(receipt.physical, receipt.seconds) for receipt in receipts}:
            store.heard([physical], seconds)

    await _tell(store, leases, outcomes, say)
    return [Settlement(outcome) for outcome in outcomes]


async def _change(
    store: Store, batch: Sequence[T], act: Callable[[T, Entry], Outcome], outcome_of_act: Outcome
) -> list[Outcome]:
    """Tell the entries, each once: what was told before a failure is answered as it was then, to the same word."""
    outcomes: dict[int, Outcome] = {}
    for number, word in enumerate(batch):
        held = store.memory.get(word.lease.id, word.lease.owner, word.lease.fence)
        if held is not None and held.outcome is outcome_of_act:
            outcomes[number] = held.outcome
    left = [number for number in range(len(batch)) if number not in outcomes]

    def decide(at: int, entry: Entry | None) -> Change[Outcome]:
        word = batch[left[at]]
        # What is sealed, and not held here any more, was acked.
        if entry is None or entry.state != MessageState.LEASED or entry.is_sealed:
            return Change(Outcome.ALREADY_GONE)
        if not entry.is_held_under(word.lease):
            return Change(Outcome.TAKEN_OVER)
        renewed_receipts.learn(store, word.lease.id, entry)
        return Change(act(word, entry), entry)

    words: list[Ack | Nack | GiveBack | DeadLetter] = [batch[number] for number in left]
    results = {at: word.result for at, word in enumerate(words) if isinstance(word, Ack)}
    said = await announcing.change(store.rows, [word.lease.id for word in words], decide, results)
    for number, outcome in zip(left, said, strict=True):
        outcomes[number] = outcome
        held = store.memory.get(batch[number].lease.id, batch[number].lease.owner, batch[number].lease.fence)
        if held is not None and outcome in _EFFECTIVE:
            held.outcome = outcome
    return [outcomes[number] for number in range(len(batch))]


async def _tell(
    store: Store, leases: Sequence[Lease], outcomes: Sequence[Outcome], say: Callable[[list[Lease]], Awaitable[object]]
) -> None:
    """Say it to the queue, for those whose entry took it; then nothing of them is held here any more."""
    effective = [lease for lease, outcome in zip(leases, outcomes, strict=True) if outcome in _EFFECTIVE]
    if effective:
        await say(effective)
    over = store.memory.drop(list(leases))
    with contextlib.suppress(BrokerUnavailable):  # all is settled; a batch that stays is found empty by a sweep
        await lease_batches.drop(store, over)


def _is_sealed_here(store: Store, lease: Lease) -> bool:
    """Done by the ledger's word, which this process was given itself: its entry needs no asking."""
    held = store.memory.get(lease.id, lease.owner, lease.fence)
    return held is not None and held.is_sealed
