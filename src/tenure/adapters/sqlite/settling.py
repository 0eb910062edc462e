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
from tenure.adapters.sqlite.holding import MATCH, MATCH_ENTRY, match
from tenure.adapters.sqlite.many import pieces, placeholders
from tenure.adapters.sqlite.release import finish_key, free_key, release_claim
from tenure.adapters.sqlite.sending import NOTED, Entry, prepare, store
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import Transaction
from tenure.lease import Lease
from tenure.record import Ending
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome
from tenure.verdict import Reason

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode

_FINISH = "state = 'completed', envelope = NULL, owner = NULL, request = NULL, granted = NULL, reason = NULL"


class Held(NamedTuple):
    """The row of a lease that still stands."""

    seq: int
    id: str
    queue: str
    extras: int
    scope: str | None


def ack(tx: Transaction, batch: Sequence[Ack], handoffs: Sequence[Sequence[Entry]]) -> list[Outcome]:
    """Done. `handoffs` are those of each entry, made ready beforehand."""
    if not any(handoffs) and _ack_at_once(tx, batch):
        return [Outcome.DELETED] * len(batch)
    return [_ack_one(tx, entry, entries) for entry, entries in zip(batch, handoffs, strict=True)]


def prepare_handoffs(batch: Sequence[Ack], body_limit: int) -> list[list[Entry]]:
    """Encode the hand-offs in the caller's loop."""
    return [prepare(entry.handoffs, body_limit) if entry.handoffs else [] for entry in batch]


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
    state, moment = ("delayed", tx.now + micros(delay_seconds)) if delay_seconds > 0 else ("ready", None)
    tx.db.execute(
        "UPDATE message SET state = ?, moment = ?, owner = NULL, fence = NULL, request = NULL, granted = NULL"
        " WHERE seq = ?",
        (state, moment, held.seq),
    )
    release_claim(tx, held.id)
    tx.stirred.add(held.queue)


def bury(tx: Transaction, held: Held, owner: str | None, reason: Reason) -> None:
    """From leased to the dead letters; the key may be used again."""
    tx.db.execute(
        "UPDATE message SET state = 'dead', moment = ?, finished_at = ?, reason = ?,"
        " owner = NULL, fence = NULL, request = NULL, granted = NULL WHERE seq = ?",
        (tx.now, tx.wall, _encode(reason), held.seq),
    )
    note.remember(tx, held.seq, Ending(tx.wall, "dead", owner, reason))
    free_key(tx, held.id)


def _ack_at_once(tx: Transaction, batch: Sequence[Ack]) -> bool:
    """The whole batch in few statements. False: not all of them matched, and nothing was changed."""
    tx.db.execute("SAVEPOINT at_once")
    for piece in pieces(batch):
        values: list[object] = [tx.now, tx.wall]
        for entry in piece:
            values += (*match(entry.lease), entry.result)
        if tx.db.execute(_ack(len(piece)), values).rowcount != len(piece):
            tx.db.execute("ROLLBACK TO at_once")
            tx.db.execute("RELEASE at_once")
            return False
    tx.db.execute("RELEASE at_once")
    return True


def _ack_one(tx: Transaction, entry: Ack, handoffs: Sequence[Entry]) -> Outcome:
    held = _find(tx, entry.lease)
    if held is None:
        return _outcome_elsewhere(tx, entry.lease)
    tx.db.execute(
        f"UPDATE message SET {_FINISH}, moment = ?, finished_at = ?, result = ? WHERE seq = ?",
        (tx.now, tx.wall, entry.result, held.seq),
    )
    if held.extras & NOTED:
        note.tidy(tx, held.seq)
    finish_key(tx, held.id, entry.result)
    _hand_off(tx, handoffs)
    return Outcome.DELETED


def _hand_off(tx: Transaction, entries: Sequence[Entry]) -> None:
    """As `send`, but nobody is there to be told of a refusal: what is refused goes to the dead letters."""
    for entry, sent in zip(entries, store(tx, entries), strict=True):
        if sent.refusal is not None:
            bury_unsent(tx, entry, sent.refusal)


def bury_unsent(tx: Transaction, entry: Entry, reason: Reason) -> None:
    """Keep a refused hand-off where people see it."""
    plain = msgspec.structs.replace(entry, scope=None, refusal=None, delay_seconds=0.0)
    (sent,) = store(tx, [plain])
    if not sent.duplicate:
        seq: int = tx.db.execute("SELECT seq FROM message WHERE id = ?", (sent.id,)).fetchone()[0]
        bury(tx, Held(seq, sent.id, entry.message.queue, 0, None), None, reason)


def _each(tx: Transaction, batch: Sequence[T], one: Callable[[T, Held], Outcome]) -> list[Outcome]:
    """`one` for every entry whose lease still stands."""
    outcomes = []
    for entry in batch:
        lease: Lease = entry.lease  # type: ignore[attr-defined]
        held = _find(tx, lease)
        outcomes.append(_outcome_elsewhere(tx, lease) if held is None else one(entry, held))
    return outcomes


def _find(tx: Transaction, lease: Lease) -> Held | None:
    row = tx.db.execute(
        f"SELECT seq, id, queue, extras, scope FROM message WHERE {MATCH}",
        match(lease),
    ).fetchone()
    return None if row is None else Held(*row)


def _outcome_elsewhere(tx: Transaction, lease: Lease) -> Outcome:
    """The lease does not stand: the message is somebody else's, or nobody's."""
    row = tx.db.execute("SELECT state FROM message WHERE id = ?", (lease.id,)).fetchone()
    return Outcome.TAKEN_OVER if row is not None and row[0] == "leased" else Outcome.ALREADY_GONE


@cache
def _ack(count: int) -> str:
    return (
        f"UPDATE message SET {_FINISH}, moment = ?, finished_at = ?, result = entry.column5"
        f" FROM (VALUES {placeholders(5, count)}) AS entry WHERE {MATCH_ENTRY} AND extras = 0"
    )
