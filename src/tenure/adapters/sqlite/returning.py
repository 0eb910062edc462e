"""Returning: what a holder can no longer finish goes back to its queue. Sweep and retire.

Both look at the lease and move the message in one transaction, so one that was acked a moment ago is never
revived. Run by `writer.py` for `broker.py`; lent again by `lending.py`.
"""

import logging
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite.edited import LONGEST_MICROS, sql_count
from tenure.adapters.sqlite.many import listed
from tenure.adapters.sqlite.moving import Move, move
from tenure.adapters.sqlite.receipt import Held
from tenure.adapters.sqlite.release import release_claims_of
from tenure.adapters.sqlite.states import DELAYED, LEASED
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import Transaction
from tenure.broker import SweepRequest, Swept
from tenure.record import Ending
from tenure.verdict import Reason

logger = logging.getLogger("tenure.sqlite")

_LEASED = f"INDEXED BY message_leased WHERE state = {LEASED}"
_OVERDUE = f"""
SELECT json_group_array(json_array(seq, id, queue, extras, owner, has_presence, attempts, max_attempts)) FROM (
    SELECT seq, message.id, queue, {sql_count("extras")} AS extras, loan.owner, {sql_count("attempts")} AS attempts,
           nullif({sql_count("max_attempts")}, 0) AS max_attempts,
           EXISTS (SELECT 1 FROM owner WHERE owner.id = loan.owner AND owner.state <> 'banned') AS has_presence
    FROM message INDEXED BY message_leased LEFT JOIN loan USING (fence)
    WHERE message.state = {LEASED} AND message.moment < ?
    ORDER BY message.moment LIMIT ?)
"""
_DELAYED = f"message INDEXED BY message_delayed WHERE state = {DELAYED}"
_NEXT_DELAYED = f"SELECT min(queue) FROM {_DELAYED} AND queue > ?"
_MAKE_DUE = f"UPDATE message SET moment = ? WHERE seq IN (SELECT seq FROM {_DELAYED} AND queue = ? AND moment > ?)"
_MAKE_DUE_NULL = (
    f"UPDATE message SET moment = ? WHERE seq IN (SELECT seq FROM {_DELAYED} AND queue = ? AND moment IS NULL)"
)
_HELD_BY = f"""
SELECT json_group_array(json_array(seq, id, queue, {sql_count("extras")})) FROM message {_LEASED}
AND fence IN (SELECT fence FROM loan WHERE owner = ?)
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
    _make_due(tx)
    (text,) = tx.db.execute(_OVERDUE, (tx.now, request.limit)).fetchone()
    moves = [_judge(tx, overdue, request.max_attempts) for overdue in _overdue.decode(text)]
    move(tx, moves)
    returned = tuple(one.held.id for one in moves if not one.is_dead)
    return Swept(returned, tuple(one.held.id for one in moves if one.is_dead), adopted)


def retire(tx: Transaction, owner: str, *, crashed: bool) -> Swept:
    """Ban the owner, release its claims, return its messages."""
    tx.db.execute(
        "INSERT INTO owner (id, state, moment) VALUES (?1, 'banned', ?2)"
        " ON CONFLICT (id) DO UPDATE SET state = 'banned', moment = ?2",
        (owner, tx.now),
    )
    release_claims_of(tx, owner)
    (text,) = tx.db.execute(_HELD_BY, (owner,)).fetchone()
    endings = (Ending(tx.wall, "crashed", owner),) if crashed else ()
    moves = [Move(held, crashes=int(crashed), endings=endings) for held in sorted(_held.decode(text))]
    move(tx, moves)
    return Swept(tuple(one.held.id for one in moves))


def _note_sweep(tx: Transaction, interval_seconds: float) -> bool:
    """Write down that there was a sweep. True: the one before is too long ago, for those who hold something now."""
    row = tx.db.execute("SELECT value FROM meta WHERE name = 'swept'").fetchone()
    tx.db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('swept', ?)", (tx.now,))
    if row is not None and tx.now - row[0] <= micros(_INTERVALS_IN_A_GAP * interval_seconds):
        return False
    # Whatever is lent was lent, or could not be touched, while nobody watched.
    return tx.db.execute(f"SELECT 1 FROM message {_LEASED} LIMIT 1").fetchone() is not None


def _adopt(tx: Transaction, lease_seconds: float) -> tuple[str, ...]:
    """Give a deadline to leases that have none, or one that was written by hand: in ten years, or no number at all."""
    far = tx.now + LONGEST_MICROS
    # Texts come after all numbers, in the index too.
    rows = tx.db.execute(
        f"SELECT id FROM message {_LEASED} AND moment IS NULL"
        f" UNION ALL SELECT id FROM message {_LEASED} AND moment > ?",
        (far,),
    ).fetchall()
    if rows:
        deadline = tx.now + micros(lease_seconds)
        ids = listed([id for (id,) in rows])
        tx.db.execute("UPDATE message SET moment = ? WHERE id IN (SELECT value FROM json_each(?))", (deadline, ids))
    return tuple(id for (id,) in rows)


def _make_due(tx: Transaction) -> None:
    """What would be due after more than ten years, or at no moment, was edited by hand: it is due now."""
    far, queue = tx.now + LONGEST_MICROS, ""
    while (queue := tx.db.execute(_NEXT_DELAYED, (queue,)).fetchone()[0]) is not None:
        made = tx.db.execute(_MAKE_DUE, (tx.now, queue, far)).rowcount
        made += tx.db.execute(_MAKE_DUE_NULL, (tx.now, queue)).rowcount
        if made:
            logger.warning("%d messages of queue %s had no due time within ten years, and are due now", made, queue)
            tx.stirred.add(queue)


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
