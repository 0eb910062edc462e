"""Returning: what a holder can no longer finish goes back to its queue. Sweep and retire.

Both look at the lease and move the message in one transaction, so one that was acked a moment ago is never
revived. Run by `writer.py` for `broker.py`; lent again by `lending.py`.
"""

from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite import roster
from tenure.adapters.sqlite.many import listed
from tenure.adapters.sqlite.moving import Move, move
from tenure.adapters.sqlite.receipt import Held
from tenure.adapters.sqlite.release import release_claims_of
from tenure.adapters.sqlite.states import LEASED
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import Transaction
from tenure.broker import SweepRequest, Swept
from tenure.record import Ending
from tenure.verdict import Reason

_LEASED = f"INDEXED BY message_leased WHERE state = {LEASED}"
_OVERDUE = f"""
SELECT json_group_array(json_array(seq, id, queue, extras, owner, has_presence, attempts, max_attempts)) FROM (
    SELECT seq, message.id, queue, extras, loan.owner, attempts, max_attempts,
           EXISTS (SELECT 1 FROM owner WHERE owner.id = loan.owner AND owner.state <> 'banned') AS has_presence
    FROM message INDEXED BY message_leased LEFT JOIN loan USING (fence)
    WHERE message.state = {LEASED} AND message.moment < ?
    ORDER BY message.moment LIMIT ?)
"""
_HELD_BY = f"""
SELECT json_group_array(json_array(seq, id, queue, extras)) FROM (
    SELECT seq, id, queue, extras FROM message {_LEASED}
    AND fence IN (SELECT fence FROM loan WHERE owner = ?) LIMIT ?)
"""
_GRACE = f"""
UPDATE message INDEXED BY message_leased SET moment = max(coalesce(moment, 0), ?1 + CAST(1000000 * coalesce(
    (SELECT seconds FROM loan WHERE loan.fence = message.fence), ?2) AS INTEGER))
WHERE state = {LEASED}
"""
_EXCUSE = f"""
UPDATE message INDEXED BY message_leased SET moment = ?1 + CAST(1000000 * coalesce(
    (SELECT seconds FROM loan WHERE loan.fence = message.fence), ?2) AS INTEGER)
WHERE state = {LEASED} AND moment BETWEEN ?3 AND ?4
AND 3 * (?4 - ?3) >= 1000000 * coalesce((SELECT seconds FROM loan WHERE loan.fence = message.fence), ?2)
"""
#: A gap of so many intervals between two sweeps means that the holders could not beat either.
_INTERVALS_IN_A_GAP = 2


class Overdue(NamedTuple):
    """A message whose lease has ended unseen."""

    seq: int
    id: str
    queue: str
    extras: int
    owner: str | None
    #: Its holder is on the roster.
    has_presence: int
    attempts: int
    max_attempts: int | None


_overdue = msgspec.json.Decoder(list[Overdue])
_held = msgspec.json.Decoder(list[Held])


def sweep(tx: Transaction, request: SweepRequest) -> Swept:
    """Return overdue leases, or give everybody a fresh window after an outage."""
    was_away = _note_sweep(tx, request.interval_seconds)
    if was_away:
        tx.db.execute(_GRACE, (tx.now, request.lease_seconds))
        return Swept(grace=True)
    for since, until in tx.stalls:
        # Nobody could renew a lease that ended then, and its holder may be about to: it gets a fresh window.
        # A stall of less than a third of the lease is no excuse: it leaves room for another beat.
        tx.db.execute(_EXCUSE, (tx.now, request.lease_seconds, since, until))
    adopted = _adopt(tx, request.lease_seconds)
    (text,) = tx.db.execute(_OVERDUE, (tx.now, request.limit)).fetchone()
    moves = [_judge(tx, overdue, request.max_attempts) for overdue in _overdue.decode(text)]
    move(tx, moves)
    returned = tuple(one.held.id for one in moves if not one.is_dead)
    return Swept(returned, tuple(one.held.id for one in moves if one.is_dead), adopted)


def retire(tx: Transaction, owner: str, limit: int, *, crashed: bool) -> Swept:
    """Ban the owner, release its claims, return some of its messages."""
    declared = roster.ban(tx, owner, has_left=not crashed)
    release_claims_of(tx, owner)
    (text,) = tx.db.execute(_HELD_BY, (owner, limit + 1)).fetchone()
    found = _held.decode(text)
    more = len(found) > limit
    endings = (Ending(tx.wall, "crashed", owner),) if crashed else ()
    moves = [Move(held, crashes=int(crashed), endings=endings) for held in sorted(found[:limit])]
    move(tx, moves)
    if not more:
        roster.finish(tx, owner)
    return Swept(tuple(one.held.id for one in moves), more=more, declared=declared)


def _note_sweep(tx: Transaction, interval_seconds: float) -> bool:
    """Write down that there was a sweep. True: the one before is too long ago, for those who hold something now."""
    row = tx.db.execute("SELECT value FROM meta WHERE name = 'swept'").fetchone()
    tx.db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('swept', ?)", (tx.now,))
    if row is not None and tx.now - row[0] <= micros(_INTERVALS_IN_A_GAP * interval_seconds):
        return False
    # Whatever is lent was lent, or could not be touched, while nobody watched.
    return tx.db.execute(f"SELECT 1 FROM message {_LEASED} LIMIT 1").fetchone() is not None


def _adopt(tx: Transaction, lease_seconds: float) -> tuple[str, ...]:
    """Give a deadline to leases that have none."""
    rows = tx.db.execute(f"SELECT id FROM message {_LEASED} AND moment IS NULL").fetchall()
    if rows:
        deadline = tx.now + micros(lease_seconds)
        ids = listed([id for (id,) in rows])
        tx.db.execute("UPDATE message SET moment = ? WHERE id IN (SELECT value FROM json_each(?))", (deadline, ids))
    return tuple(id for (id,) in rows)


def _judge(tx: Transaction, overdue: Overdue, max_attempts: int) -> Move:
    """Back to its queue, or to the dead letters."""
    held, owner = Held(*overdue[:4]), overdue.owner
    if overdue.has_presence:
        # Its worker is on the roster and was not seen to die: nobody knows how this run ended.
        return Move(held, lost=1, endings=(Ending(tx.wall, "lost", owner),))
    reason = Reason("lease_lapsed", f"{owner or 'its holder'} let the lease end without settling the message")
    lapsed = Ending(tx.wall, "failed", owner, reason)
    limit = overdue.max_attempts or max_attempts
    if overdue.attempts + 1 < limit:
        return Move(held, attempts=1, reason=reason, endings=(lapsed,))
    reason = Reason("max_attempts", f"all {limit} attempts are used; the last one let its lease end")
    return Move(held, is_dead=True, attempts=1, reason=reason, endings=(lapsed, Ending(tx.wall, "dead", owner, reason)))
