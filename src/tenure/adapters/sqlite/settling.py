"""Settling: ack, nack, give back, dead letter. A stale holder changes nothing.

An ack is an update in place: the row becomes the record. The usual one (no key, no notes, no hand-offs) is
done for the whole batch at once; if the count differs from what was asked, that is undone and each entry is
looked at by itself.

Run by `writer.py` for `broker.py`. What was returned is lent again by `lending.py`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

import msgspec

from tenure.adapters.sqlite import note
from tenure.adapters.sqlite.many import pieces, placeholders
from tenure.adapters.sqlite.receipt import STAND, STANDS, row_of, standing
from tenure.adapters.sqlite.release import finish_key, free_key, release_claim
from tenure.adapters.sqlite.sending import Parcel, prepare, store, store_as_it_is
from tenure.adapters.sqlite.states import COMPLETED, DEAD, DELAYED, LEASED, NOTED, READY
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import Transaction
from tenure.lease import Lease
from tenure.record import Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.verdict import Reason

T = TypeVar("T", Ack, Nack, GiveBack, DeadLetter)

_encode = msgspec.json.Encoder().encode

_FINISH = f"UPDATE message SET state = {COMPLETED}, envelope = NULL, moment = ?, finished_at = ?, result = ?"
_ACK = f"{_FINISH} WHERE {STAND} AND extras = 0"


class Held(NamedTuple):
    """The row of a lease that still stands."""

    seq: int
    id: str
    queue: str
    extras: int


class Sheet(NamedTuple):
    """A batch of acks, made ready before the lock is taken."""

    batch: Sequence[Ack]
    #: Of each loan: fence, owner, its rows as a list, and how many these are.
    loans: list[tuple[int, str, str, int]]
    #: What all of them have as their result. None: they differ.
    result: bytes | None
    #: By place in the batch.
    handoffs: dict[int, Parcel]


def prepare_acks(batch: Sequence[Ack], body_limit: int, wall: float) -> Sheet:
    """Sort by loan, and encode the hand-offs. Runs in the caller's loop."""
    loans: dict[tuple[int, str], list[str]] = {}
    rows: list[str] = []
    loan = None
    for entry in batch:
        lease = entry.lease
        # Most often it is the loan of the entry before.
        if loan is None or lease.fence != loan[0] or lease.owner != loan[1]:
            loan = (lease.fence, lease.owner)
            rows = loans.setdefault(loan, [])
        rows.append(row_of(lease))
    results = {entry.result for entry in batch}
    return Sheet(
        batch,
        [(fence, owner, f"[{','.join(own)}]", len(own)) for (fence, owner), own in loans.items()],
        results.pop() if len(results) == 1 else None,
        {place: prepare(entry.handoffs, body_limit, wall) for place, entry in enumerate(batch) if entry.handoffs},
    )


def ack(tx: Transaction, sheet: Sheet) -> list[Outcome]:
    """Done."""
    if not sheet.handoffs and _ack_at_once(tx, sheet):
        return [Outcome.DELETED] * len(sheet.batch)
    return [_ack_one(tx, entry, sheet.handoffs.get(place)) for place, entry in enumerate(sheet.batch)]


def nack(tx: Transaction, batch: Sequence[Nack]) -> list[Outcome]:
    """Failed: one attempt used."""

    def one(entry: Nack, held: Held) -> Outcome:
        tx.db.execute(
            "UPDATE message SET attempts = attempts + 1, reason = ? WHERE seq = ?", (_encode(entry.reason), held.seq)
        )
        note.remember(tx, held.seq, Ending(tx.wall, "failed", entry.lease.owner, entry.reason))
        put_back(tx, held, entry.delay_seconds)
        return Outcome.RETURNED

    return _each(tx, batch, one)


def give_back(tx: Transaction, batch: Sequence[GiveBack]) -> list[Outcome]:
    """Not run: nothing used."""

    def one(entry: GiveBack, held: Held) -> Outcome:
        put_back(tx, held, entry.delay_seconds)
        return Outcome.RETURNED

    return _each(tx, batch, one)


def dead_letter(tx: Transaction, batch: Sequence[DeadLetter]) -> list[Outcome]:
    """Put aside, raw bytes and all."""

    def one(entry: DeadLetter, held: Held) -> Outcome:
        if entry.counted:
            tx.db.execute("UPDATE message SET attempts = attempts + 1 WHERE seq = ?", (held.seq,))
        bury(tx, held, entry.lease.owner, entry.reason)
        return Outcome.DEAD

    return _each(tx, batch, one)


def put_back(tx: Transaction, held: Held, delay_seconds: float = 0.0) -> None:
    """From leased to its old place in the queue; others may run it, so its claim is released."""
    state = DELAYED if delay_seconds > 0 else READY
    moment = tx.now + micros(max(delay_seconds, 0.0))
    tx.db.execute("UPDATE message SET state = ?, moment = ? WHERE seq = ?", (state, moment, held.seq))
    release_claim(tx, held.id)
    tx.stirred.add(held.queue)


def bury(tx: Transaction, held: Held, owner: str | None, reason: Reason) -> None:
    """From leased to the dead letters; the key may be used again."""
    tx.db.execute(
        f"UPDATE message SET state = {DEAD}, moment = ?, finished_at = ?, reason = ? WHERE seq = ?",
        (tx.now, tx.wall, _encode(reason), held.seq),
    )
    note.remember(tx, held.seq, Ending(tx.wall, "dead", owner, reason))
    free_key(tx, held.id)


def _ack_at_once(tx: Transaction, sheet: Sheet) -> bool:
    """The whole batch in few statements. False: not all of them matched, and nothing was changed."""
    tx.db.execute("SAVEPOINT at_once")
    for fence, owner, rows, count in sheet.loans:
        values = (tx.now, tx.wall, sheet.result, rows, fence, fence, owner)
        if tx.db.execute(_ACK, values).rowcount != count:
            tx.db.execute("ROLLBACK TO at_once")
            tx.db.execute("RELEASE at_once")
            return False
    tx.db.execute("RELEASE at_once")
    if sheet.result is None:
        _keep_results(tx, sheet)
    return True


def _keep_results(tx: Transaction, sheet: Sheet) -> None:
    """Results that differ stand beside the messages: that is one statement, not one for each."""
    for piece in pieces(sheet.batch):
        values = [value for entry in piece for value in (int(row_of(entry.lease)), entry.result)]
        tx.db.execute(_insert_results(len(piece)), values)


def _ack_one(tx: Transaction, entry: Ack, handoffs: Parcel | None) -> Outcome:
    held = _find(tx, entry.lease)
    if held is None:
        return _outcome_elsewhere(tx, entry.lease)
    tx.db.execute(f"{_FINISH}, reason = NULL WHERE seq = ?", (tx.now, tx.wall, entry.result, held.seq))
    if held.extras & NOTED:
        note.tidy(tx, held.seq)
    finish_key(tx, held.id, entry.result)
    if handoffs is not None:
        _hand_off(tx, handoffs)
    return Outcome.DELETED


def _hand_off(tx: Transaction, parcel: Parcel) -> None:
    """As `send`, but nobody is there to be told of a refusal: what is refused goes to the dead letters."""
    for entry, sent in zip(parcel.entries, store(tx, parcel), strict=True):
        if sent.refusal is None:
            continue
        (kept,) = store_as_it_is(tx, entry)
        if not kept.duplicate:
            (seq,) = tx.db.execute("SELECT seq FROM message WHERE id = ?", (kept.id,)).fetchone()
            bury(tx, Held(seq, kept.id, entry.message.queue, 0), None, sent.refusal)


def _each(tx: Transaction, batch: Sequence[T], one: Callable[[T, Held], Outcome]) -> list[Outcome]:
    """`one` for every entry whose lease still stands."""
    outcomes = []
    for entry in batch:
        held = _find(tx, entry.lease)
        outcomes.append(_outcome_elsewhere(tx, entry.lease) if held is None else one(entry, held))
    return outcomes


def _find(tx: Transaction, lease: Lease) -> Held | None:
    row = tx.db.execute(f"SELECT seq, id, queue, extras FROM message WHERE {STANDS}", standing(lease)).fetchone()
    return None if row is None else Held(*row)


def _outcome_elsewhere(tx: Transaction, lease: Lease) -> Outcome:
    """The lease does not stand: the message is somebody else's, or nobody's."""
    row = tx.db.execute("SELECT state FROM message WHERE id = ?", (lease.id,)).fetchone()
    return Outcome.TAKEN_OVER if row is not None and row[0] == LEASED else Outcome.ALREADY_GONE


@cache
def _insert_results(count: int) -> str:
    return f"INSERT OR REPLACE INTO outcome VALUES {placeholders(2, count)}"
