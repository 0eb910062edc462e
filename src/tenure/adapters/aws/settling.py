"""Settling: the holder brings a message back, done or not.

First the entry, by compare-and-set: a holder that is no longer the holder changes nothing, and is told why. Only then
is anything said to the queue, with the holder's own receipt. If that fails the whole is said again, and what the
entry was told already is remembered here (`Lent`): nothing is counted twice.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tenure.adapters.aws import lots, shelf
from tenure.adapters.aws.desk import ENTRY, Change, entry_place
from tenure.adapters.aws.entry import GONE, Entry
from tenure.adapters.aws.receipt import receipt_from
from tenure.adapters.aws.store import Store
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.record import Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement

T = TypeVar("T", Ack, Nack, GiveBack, DeadLetter)
R = TypeVar("R", Nack, GiveBack)

_EFFECTIVE = frozenset({Outcome.DELETED, Outcome.RETURNED, Outcome.DEAD})


async def ack(store: Store, batch: Sequence[Ack]) -> list[Settlement]:
    """Done. Result and hand-offs were sealed before; here only the message goes."""

    def act(_word: Ack, entry: Entry) -> Outcome:
        entry.let_go()
        entry.state, entry.progress, entry.checkpoint = GONE, None, 0
        return Outcome.DELETED

    leases = [word.lease for word in batch]
    open_ = [number for number, lease in enumerate(leases) if not _is_sealed_here(store, lease)]
    said = await _change(store, [batch[number] for number in open_], act)
    outcomes = [Outcome.DELETED] * len(batch)
    for number, outcome in zip(open_, said, strict=True):
        outcomes[number] = outcome
    await _tell(store, leases, outcomes, lambda some: store.queues.delete([receipt_from(lease) for lease in some]))
    return [Settlement(outcome) for outcome in outcomes]


async def nack(store: Store, batch: Sequence[Nack]) -> list[Settlement]:
    """Failed: an attempt is counted, and it comes back after its delay."""

    def act(word: Nack, entry: Entry) -> Outcome:
        entry.attempts += 1
        entry.reason = word.reason
        entry.tell(Ending(store.clock.wall(), "failed", entry.owner, word.reason))
        entry.put_back(word.delay_seconds, store.desk.now())
        return Outcome.RETURNED

    return await _return(store, batch, act)


async def give_back(store: Store, batch: Sequence[GiveBack]) -> list[Settlement]:
    """Not run: nothing is counted, and it comes back after its delay. A reason is kept."""

    def act(word: GiveBack, entry: Entry) -> Outcome:
        if word.reason is not None:
            entry.reason = word.reason
            entry.tell(Ending(store.clock.wall(), "given_back", entry.owner, word.reason))
        entry.put_back(word.delay_seconds, store.desk.now())
        return Outcome.RETURNED

    return await _return(store, batch, act)


async def dead_letter(store: Store, batch: Sequence[DeadLetter]) -> list[Settlement]:
    """Given up: kept aside with its raw bytes. The body first, then the word that it is dead, then the copy goes."""
    entries = await store.desk.get(ENTRY, [entry_place(word.lease.id) for word in batch])
    pages: dict[str, int] = {}
    for word, entry in zip(batch, entries, strict=True):
        if entry is not None and entry.is_held_under(word.lease):
            pages[word.lease.id] = await store.desk.keep_body(word.lease.id, word.lease.envelope.decode())
            await shelf.add(store, word.lease.queue, word.lease.id)

    def act(word: DeadLetter, entry: Entry) -> Outcome:
        entry.attempts += word.counted
        entry.reason, entry.finished_at = word.reason, store.clock.wall()
        entry.tell(Ending(entry.finished_at, "dead", entry.owner, word.reason))
        entry.let_go()
        entry.state, entry.pages = MessageState.DEAD, pages[word.lease.id]
        return Outcome.DEAD

    outcomes = await _change(store, batch, act)
    leases = [word.lease for word in batch]
    await _tell(store, leases, outcomes, lambda some: store.queues.delete([receipt_from(lease) for lease in some]))
    return [Settlement(outcome) for outcome in outcomes]


async def _return(store: Store, batch: Sequence[R], act: Callable[[R, Entry], Outcome]) -> list[Settlement]:
    outcomes = await _change(store, batch, act)
    delays = {word.lease.id: word.delay_seconds for word in batch}
    leases = [word.lease for word in batch]
    await _tell(
        store, leases, outcomes,
        lambda some: store.queues.hide([receipt_from(lease, delays[lease.id]) for lease in some]),
    )  # fmt: skip
    return [Settlement(outcome) for outcome in outcomes]


async def _change(store: Store, batch: Sequence[T], act: Callable[[T, Entry], Outcome]) -> list[Outcome]:
    """Tell the entries, each once: what was told before a failure is answered as it was then."""
    outcomes: dict[int, Outcome] = {}
    for number, word in enumerate(batch):
        held = store.lent.get(word.lease.id, word.lease.owner, word.lease.fence)
        if held is not None and held.outcome is not None:
            outcomes[number] = held.outcome
    left = [number for number in range(len(batch)) if number not in outcomes]

    def decide(at: int, entry: Entry | None) -> Change[Outcome]:
        word = batch[left[at]]
        # What is sealed, and not held here any more, was acked.
        if entry is None or entry.state != MessageState.LEASED or entry.is_sealed:
            return Change(Outcome.ALREADY_GONE)
        if not entry.is_held_under(word.lease):
            return Change(Outcome.TAKEN_OVER)
        return Change(act(word, entry), entry)

    said = await store.desk.change(ENTRY, [entry_place(batch[number].lease.id) for number in left], decide)
    for number, outcome in zip(left, said, strict=True):
        outcomes[number] = outcome
        held = store.lent.get(batch[number].lease.id, batch[number].lease.owner, batch[number].lease.fence)
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
    over = store.lent.drop(list(leases))
    await lots.drop(store, over)


def _is_sealed_here(store: Store, lease: Lease) -> bool:
    """Done by the ledger's word, which this process was given itself: its entry needs no asking."""
    held = store.lent.get(lease.id, lease.owner, lease.fence)
    return held is not None and held.is_sealed
