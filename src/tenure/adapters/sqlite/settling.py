"""Settling: ack, nack, give back, dead letter. A stale holder changes nothing.

An ack is an update in place: the row becomes the record. The usual ack (no notes, no key but one that was claimed with
the lease) is done for the whole batch at once, hand-offs and all. If it changed fewer rows than expected, it is undone,
and the valid leases are found first.

Run by `writer.py` for `broker.py`. What was returned is leased again by `lending.py`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from tenure.adapters.sqlite import announcing, lease_claims, message_notes, sending
from tenure.adapters.sqlite.claim_release import finish_keys
from tenure.adapters.sqlite.judged import Judged
from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.receipt import STAND, LeasedRow, find, row_of
from tenure.adapters.sqlite.sending import PreparedSend, prepare, store, store_as_it_is
from tenure.adapters.sqlite.states import COMPLETED, LASTING, LEASED, NOTED
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.adapters.sqlite.transitions import Move, move
from tenure.lease import Lease
from tenure.record import Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.verdict import Reason

T = TypeVar("T", Ack, Nack, GiveBack, DeadLetter)

_FINISH = f"UPDATE message SET state = {COMPLETED}, envelope = NULL, moment = ?, finished_at = ?, result = ?"
_ACK = f"{_FINISH} WHERE {STAND} AND NOT extras & {LASTING}"
#: Of messages whose claim is sealed beside it.
_ACK_SEALED = f"{_FINISH} WHERE {STAND} AND NOT extras & {NOTED}"


class LoanAcks(NamedTuple):
    """What is acked of one loan: its rows as a list, and how many these are."""

    fence: int
    owner: str
    rows: str
    size: int
    #: The fence of their claims, and their ids as a list. None: they have no claim.
    claim_fence: int | None
    ids: str


class Sheet(NamedTuple):
    """A batch of acks, made ready before the lock is taken."""

    batch: Sequence[Ack]
    loans: list[LoanAcks]
    #: What all of them have as their result. None: they differ.
    result: bytes | None
    #: Of all of them, in order. None: there are none.
    handoffs: PreparedSend | None
    #: For each hand-off, the place of its ack in the batch.
    handoff_places: Sequence[int]
    #: Duplicates of work that is done are among them: these announce nothing.
    has_duplicates: bool


def prepare_acks(batch: Sequence[Ack], body_limit: int, wall: float, judged: Judged) -> Sheet:
    """Sort by loan, and encode the hand-offs. Runs in the caller's loop."""
    loans: dict[tuple[int, str, int | None], tuple[list[str], list[str]]] = {}
    rows, ids = list[str](), list[str]()
    loan, has_duplicates = None, False
    for entry in batch:
        lease, claim_fence = entry.lease, None if entry.claim is None else entry.claim.fence
        # Most often it is the loan of the entry before.
        if loan is None or lease.fence != loan[0] or claim_fence != loan[2] or lease.owner != loan[1]:
            loan = (lease.fence, lease.owner, claim_fence)
            rows, ids = loans.setdefault(loan, ([], []))
        rows.append(row_of(lease))
        if claim_fence is not None:
            ids.append(lease.id)
        has_duplicates = has_duplicates or entry.is_duplicate
    results = {entry.result for entry in batch}
    handoffs = [(place, out) for place, entry in enumerate(batch) if entry.handoffs for out in entry.handoffs]
    return Sheet(
        batch,
        [
            LoanAcks(fence, owner, f"[{','.join(own)}]", len(own), claim_fence, listed(claimed) if claimed else "")
            for (fence, owner, claim_fence), (own, claimed) in loans.items()
        ],
        results.pop() if len(results) == 1 else None,
        prepare([out for _, out in handoffs], body_limit, wall, judged) if handoffs else None,
        [place for place, _ in handoffs],
        has_duplicates,
    )


def ack(tx: WriteTransaction, sheet: Sheet) -> list[Outcome]:
    """Delete messages whose work is done."""
    if not sheet.has_duplicates and _ack_at_once(tx, sheet):
        if sheet.handoffs is not None:
            _hand_off(tx, sheet.handoffs)
        return [Outcome.DELETED] * len(sheet.batch)
    return _ack_what_stands(tx, sheet)


def nack(tx: WriteTransaction, batch: Sequence[Nack]) -> list[Outcome]:
    """Return messages whose attempt failed. One attempt is used."""

    def failed(entry: Nack, held: LeasedRow) -> Move:
        ending = Ending(tx.wall, "failed", entry.lease.owner, entry.reason)
        return Move(held, delay_seconds=entry.delay_seconds, attempts=1, reason=entry.reason, endings=(ending,))

    return _move_what_stands(tx, batch, failed, Outcome.RETURNED)


def give_back(tx: WriteTransaction, batch: Sequence[GiveBack]) -> list[Outcome]:
    """Return messages that were not run. No attempt is used."""

    def unused(entry: GiveBack, held: LeasedRow) -> Move:
        if entry.reason is None:
            return Move(held, delay_seconds=entry.delay_seconds)
        ending = Ending(tx.wall, "given_back", entry.lease.owner, entry.reason)
        return Move(held, delay_seconds=entry.delay_seconds, reason=entry.reason, endings=(ending,))

    return _move_what_stands(tx, batch, unused, Outcome.RETURNED)


def dead_letter(tx: WriteTransaction, batch: Sequence[DeadLetter]) -> list[Outcome]:
    """Put aside, raw bytes and all."""

    def dead(entry: DeadLetter, held: LeasedRow) -> Move:
        ending = Ending(tx.wall, "dead", entry.lease.owner, entry.reason)
        return Move(held, is_dead=True, attempts=int(entry.counted), reason=entry.reason, endings=(ending,))

    return _move_what_stands(tx, batch, dead, Outcome.DEAD)


def _ack_at_once(tx: WriteTransaction, sheet: Sheet) -> bool:
    """The whole batch in few statements. False: not all of them matched, and nothing was changed."""
    tx.db.execute("SAVEPOINT at_once")
    for loan in sheet.loans:
        if not _ack_loan(tx, loan, sheet):
            tx.db.execute("ROLLBACK TO at_once")
            tx.db.execute("RELEASE at_once")
            return False
    tx.db.execute("RELEASE at_once")
    if sheet.result is None:
        _keep_results(tx, [(int(row_of(entry.lease)), entry.result) for entry in sheet.batch])
    return True


def _ack_loan(tx: WriteTransaction, loan: LoanAcks, sheet: Sheet) -> bool:
    """Ack what there is of one loan, and seal its claims. False: not all of it matched."""
    fence, owner, rows, size, claim_fence, ids = loan
    values = (tx.now, tx.wall, sheet.result, rows, fence, fence, owner)
    if claim_fence is None:
        return tx.db.execute(_ACK, values).rowcount == size
    return (
        lease_claims.seal(tx, owner, claim_fence, ids, size, sheet.result, sheet.batch)
        and tx.db.execute(_ACK_SEALED, values).rowcount == size
    )


def _keep_results(tx: WriteTransaction, results: Sequence[tuple[int, bytes]]) -> None:
    """Results that differ stand beside the messages: that is one statement, not one for each."""
    for piece in pieces(results):
        tx.db.execute(_insert_results(len(piece)), [value for row in piece for value in row])


def _ack_what_stands(tx: WriteTransaction, sheet: Sheet) -> list[Outcome]:
    """Ack a batch with stale leases, keys or notes in it."""
    leases = [entry.lease for entry in sheet.batch]
    standing, sealed = _without_lost_claims(tx, sheet.batch, _find_once(tx, leases))
    mine = [(held, entry) for held, entry in zip(standing, sheet.batch, strict=True) if held is not None]
    rows = listed([held.seq for held, _ in mine])
    tx.db.execute(
        f"{_FINISH}, reason = NULL WHERE seq IN (SELECT value FROM json_each(?))",
        (tx.now, tx.wall, sheet.result, rows),
    )
    if sheet.result is None:
        _keep_results(tx, [(held.seq, entry.result) for held, entry in mine])
    message_notes.tidy(tx, [held.seq for held, _ in mine if held.extras & NOTED])
    announcing.silence(tx, [held.seq for held, entry in mine if entry.is_duplicate])
    finish_keys(tx, [(held.id, entry.result) for held, entry in mine])
    if sheet.handoffs is not None:
        stands = [standing[place] is not None for place in sheet.handoff_places]
        _hand_off(tx, sending.only(sheet.handoffs, stands))
    outcomes = _outcomes(tx, leases, standing, Outcome.DELETED)
    return [Outcome.DELETED if place in sealed else outcome for place, outcome in enumerate(outcomes)]


def _without_lost_claims(
    tx: WriteTransaction, batch: Sequence[Ack], standing: Sequence[LeasedRow | None]
) -> tuple[list[LeasedRow | None], set[int]]:
    """Take out what has lost its claim. Also the places of acks that are repeated: these very claims are done."""
    if all(entry.claim is None for entry in batch):
        return list(standing), set()
    states = lease_claims.states(tx, batch)
    left = [
        held if entry.claim is None or place in states else None
        for place, (entry, held) in enumerate(zip(batch, standing, strict=True))
    ]
    return left, {place for place, state in states.items() if left[place] is None and state == "done"}


def _hand_off(tx: WriteTransaction, parcel: PreparedSend) -> None:
    """Store hand-offs as `send` does. Refused ones go to the dead letters, since no caller gets the refusal."""
    sent = store(tx, parcel)
    refused = [(entry, one.refusal) for entry, one in zip(parcel.entries, sent, strict=True) if one.refusal is not None]
    put_aside(tx, refused)


def put_aside(tx: WriteTransaction, refused: Sequence[tuple[sending.NewRow, Reason]]) -> None:
    """Store refused messages as dead letters, without their keys. A known one is left as it is."""
    for entry, reason in refused:
        (kept,) = store_as_it_is(tx, entry)
        if not kept.duplicate:
            (seq,) = tx.db.execute("SELECT seq FROM message WHERE id = ?", (kept.id,)).fetchone()
            held = LeasedRow(seq, kept.id, entry.message.queue, 0)
            ending = Ending(tx.wall, "dead", None, reason)
            move(tx, [Move(held, is_dead=True, reason=reason, endings=(ending,))])


def _move_what_stands(
    tx: WriteTransaction, batch: Sequence[T], decide: Callable[[T, LeasedRow], Move], outcome: Outcome
) -> list[Outcome]:
    leases = [entry.lease for entry in batch]
    standing = _find_once(tx, leases)
    move(tx, [decide(entry, held) for entry, held in zip(batch, standing, strict=True) if held is not None])
    return _outcomes(tx, leases, standing, outcome)


def _find_once(tx: WriteTransaction, leases: Sequence[Lease]) -> list[LeasedRow | None]:
    """Find each lease's row once. If a batch names a lease twice, the second one is too late."""
    seen: set[int] = set()
    standing: list[LeasedRow | None] = []
    for held in find(tx, leases):
        is_first = held is not None and held.seq not in seen
        standing.append(held if is_first else None)
        if held is not None:
            seen.add(held.seq)
    return standing


def _outcomes(
    tx: WriteTransaction, leases: Sequence[Lease], standing: Sequence[LeasedRow | None], outcome: Outcome
) -> list[Outcome]:
    """`outcome` if the lease was valid. Else another worker holds the message, or none."""
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
