"""Settling: ack, nack, give back, dead letter. A stale holder changes nothing.

An ack is an update in place: the row becomes the record. The usual one (no key, no notes, no hand-offs) is
done for the whole batch at once; if the count differs from what was asked, that is undone, and those that stand
are looked for first.

Run by `writer.py` for `broker.py`. What was returned is lent again by `lending.py`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from tenure.adapters.sqlite import note, sending
from tenure.adapters.sqlite.many import listed, pieces, placeholders
from tenure.adapters.sqlite.moving import Move, move
from tenure.adapters.sqlite.receipt import STAND, Held, find, row_of
from tenure.adapters.sqlite.release import finish_keys
from tenure.adapters.sqlite.sending import Parcel, prepare, store, store_as_it_is
from tenure.adapters.sqlite.states import COMPLETED, LASTING, LEASED, NOTED
from tenure.adapters.sqlite.transaction import Transaction
from tenure.lease import Lease
from tenure.record import Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.verdict import Reason

T = TypeVar("T", Ack, Nack, GiveBack, DeadLetter)

_FINISH = f"UPDATE message SET state = {COMPLETED}, envelope = NULL, moment = ?, finished_at = ?, result = ?"
_ACK = f"{_FINISH} WHERE {STAND} AND NOT extras & {LASTING}"


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
    return _ack_what_stands(tx, sheet)


def nack(tx: Transaction, batch: Sequence[Nack]) -> list[Outcome]:
    """Failed: one attempt used."""

    def failed(entry: Nack, held: Held) -> Move:
        ending = Ending(tx.wall, "failed", entry.lease.owner, entry.reason)
        return Move(held, delay_seconds=entry.delay_seconds, attempts=1, reason=entry.reason, endings=(ending,))

    return _move_what_stands(tx, batch, failed, Outcome.RETURNED)


def give_back(tx: Transaction, batch: Sequence[GiveBack]) -> list[Outcome]:
    """Not run: nothing used."""

    def unused(entry: GiveBack, held: Held) -> Move:
        if entry.reason is None:
            return Move(held, delay_seconds=entry.delay_seconds)
        ending = Ending(tx.wall, "given_back", entry.lease.owner, entry.reason)
        return Move(held, delay_seconds=entry.delay_seconds, reason=entry.reason, endings=(ending,))

    return _move_what_stands(tx, batch, unused, Outcome.RETURNED)


def dead_letter(tx: Transaction, batch: Sequence[DeadLetter]) -> list[Outcome]:
    """Put aside, raw bytes and all."""

    def dead(entry: DeadLetter, held: Held) -> Move:
        ending = Ending(tx.wall, "dead", entry.lease.owner, entry.reason)
        return Move(held, is_dead=True, attempts=int(entry.counted), reason=entry.reason, endings=(ending,))

    return _move_what_stands(tx, batch, dead, Outcome.DEAD)


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
        _keep_results(tx, [(int(row_of(entry.lease)), entry.result) for entry in sheet.batch])
    return True


def _keep_results(tx: Transaction, results: Sequence[tuple[int, bytes]]) -> None:
    """Results that differ stand beside the messages: that is one statement, not one for each."""
    for piece in pieces(results):
        tx.db.execute(_insert_results(len(piece)), [value for row in piece for value in row])


def _ack_what_stands(tx: Transaction, sheet: Sheet) -> list[Outcome]:
    """With stale leases, keys, notes or hand-offs among them."""
    leases = [entry.lease for entry in sheet.batch]
    standing = _find_once(tx, leases)
    mine = [(held, entry) for held, entry in zip(standing, sheet.batch, strict=True) if held is not None]
    rows = listed([held.seq for held, _ in mine])
    tx.db.execute(
        f"{_FINISH}, reason = NULL WHERE seq IN (SELECT value FROM json_each(?))",
        (tx.now, tx.wall, sheet.result, rows),
    )
    if sheet.result is None:
        _keep_results(tx, [(held.seq, entry.result) for held, entry in mine])
    note.tidy(tx, [held.seq for held, _ in mine if held.extras & NOTED])
    finish_keys(tx, [(held.id, entry.result) for held, entry in mine])
    for place, parcel in sheet.handoffs.items():
        if standing[place] is not None:
            _hand_off(tx, parcel)
    return _outcomes(tx, leases, standing, Outcome.DELETED)


def _hand_off(tx: Transaction, parcel: Parcel) -> None:
    """As `send`, but nobody is there to be told of a refusal: what is refused goes to the dead letters."""
    sent = store(tx, parcel)
    refused = [(entry, one.refusal) for entry, one in zip(parcel.entries, sent, strict=True) if one.refusal is not None]
    put_aside(tx, refused)


def put_aside(tx: Transaction, refused: Sequence[tuple[sending.Entry, Reason]]) -> None:
    """Store what was refused as dead letters, without their keys. What is known already is left as it is."""
    for entry, reason in refused:
        (kept,) = store_as_it_is(tx, entry)
        if not kept.duplicate:
            (seq,) = tx.db.execute("SELECT seq FROM message WHERE id = ?", (kept.id,)).fetchone()
            held = Held(seq, kept.id, entry.message.queue, 0)
            ending = Ending(tx.wall, "dead", None, reason)
            move(tx, [Move(held, is_dead=True, reason=reason, endings=(ending,))])


def _move_what_stands(
    tx: Transaction, batch: Sequence[T], decide: Callable[[T, Held], Move], outcome: Outcome
) -> list[Outcome]:
    leases = [entry.lease for entry in batch]
    standing = _find_once(tx, leases)
    move(tx, [decide(entry, held) for entry, held in zip(batch, standing, strict=True) if held is not None])
    return _outcomes(tx, leases, standing, outcome)


def _find_once(tx: Transaction, leases: Sequence[Lease]) -> list[Held | None]:
    """What stands. The same lease twice in one batch: the second comes too late."""
    seen: set[int] = set()
    standing: list[Held | None] = []
    for held in find(tx, leases):
        is_first = held is not None and held.seq not in seen
        standing.append(held if is_first else None)
        if held is not None:
            seen.add(held.seq)
    return standing


def _outcomes(
    tx: Transaction, leases: Sequence[Lease], standing: Sequence[Held | None], outcome: Outcome
) -> list[Outcome]:
    """`outcome` for what stood. Else the message is somebody else's, or nobody's."""
    stale = [lease.id for lease, held in zip(leases, standing, strict=True) if held is None]
    if not stale:
        return [outcome] * len(leases)
    taken = tx.db.execute(
        f"SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?)) AND state = {LEASED}", (listed(stale),)
    ).fetchall()
    return [
        outcome if held is not None else Outcome.TAKEN_OVER if (lease.id,) in taken else Outcome.ALREADY_GONE
        for lease, held in zip(leases, standing, strict=True)
    ]


@cache
def _insert_results(count: int) -> str:
    return f"INSERT OR REPLACE INTO outcome VALUES {placeholders(2, count)}"
