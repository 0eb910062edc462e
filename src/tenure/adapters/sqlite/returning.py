"""Returning: puts messages back that their holder did not settle. Sweep and retire.

Both check the lease and move the message in one transaction, so a message that was acked a moment ago is never
returned. Run by `writer.py` for `broker.py`; leased again by `lending.py`.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tenure.adapters.sqlite import roster
from tenure.adapters.sqlite.claim_release import release_claims_of
from tenure.adapters.sqlite.edited import LONGEST_MICROS, sql_count
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.receipt import LeasedRow
from tenure.adapters.sqlite.states import BEAT, DELAYED, GRACED, LEASED
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.adapters.sqlite.transitions import Move, move
from tenure.broker import SweepRequest, Swept
from tenure.message import Counters
from tenure.record import Ending
from tenure.rules.lapse import lapse
from tenure.text.plural import plural

logger = logging.getLogger("tenure.sqlite")

_LEASED = f"INDEXED BY message_leased WHERE state = {LEASED}"
_OVERDUE = f"""
SELECT json_group_array(json_array(seq, id, queue, extras, owner, has_presence, attempts, lost, max_attempts)) FROM (
    SELECT seq, message.id, queue, {sql_count("extras")} AS extras, loan.owner,
           coalesce(loan.has_presence, 0) AS has_presence, {sql_count("attempts")} AS attempts,
           {sql_count("lost")} AS lost, nullif({sql_count("max_attempts")}, 0) AS max_attempts
    FROM message INDEXED BY message_leased LEFT JOIN loan USING (fence)
    WHERE message.state = {LEASED} AND message.moment < ?
    ORDER BY message.moment LIMIT ?)
"""
_WITHOUT_DUE_TIME = f"""
SELECT seq, queue FROM message INDEXED BY message_due WHERE state = {DELAYED} AND moment > ?
UNION ALL SELECT seq, queue FROM message INDEXED BY message_due WHERE state = {DELAYED} AND moment IS NULL
"""
_HELD_BY = f"""
SELECT json_group_array(json_array(seq, id, queue, extras)) FROM (
    SELECT seq, id, queue, {sql_count("extras")} AS extras FROM message {_LEASED}
    AND fence IN (SELECT fence FROM loan WHERE owner = ?) LIMIT ?)
"""
_WINDOW = "1000000 * coalesce((SELECT seconds FROM loan WHERE loan.fence = message.fence), ?2)"
# A fresh window is longer than what is left, and is given once between two touches: nothing is excused for ever.
_FRESH = f"""
UPDATE message INDEXED BY message_leased SET moment = ?1 + CAST({_WINDOW} AS INTEGER), extras = extras | {GRACED}
WHERE state = {LEASED} AND NOT extras & {GRACED} AND moment < ?1 + CAST({_WINDOW} AS INTEGER)
"""
_EXCUSE = f"{_FRESH} AND moment BETWEEN ?3 AND ?4 AND 3 * (?4 - ?3) >= {_WINDOW}"
#: A gap of this many intervals between two sweeps means that the holders could not beat either.
_INTERVALS_IN_A_GAP = 2


class Overdue(NamedTuple):
    """A message whose lease has ended unseen."""

    seq: int
    id: str
    queue: str
    extras: int
    owner: str | None
    #: Its holder joined the roster before it leased.
    has_presence: int
    attempts: int
    lost: int
    max_attempts: int | None


_overdue = msgspec.json.Decoder(list[Overdue])
_held = msgspec.json.Decoder(list[LeasedRow])


def sweep(tx: WriteTransaction, request: SweepRequest) -> Swept:
    """Return overdue leases; after an outage, what had no fresh window since its last touch gets one."""
    was_away = _note_sweep(tx, request.interval_seconds)
    grace = was_away and tx.db.execute(_FRESH, (tx.now, request.lease_seconds)).rowcount > 0
    for since, until in tx.stalls:
        # No lease could be renewed in that span, and the holder may be about to do so: it gets a fresh window.
        # A stall of less than a third of the lease is no excuse: it leaves room for another beat.
        tx.db.execute(_EXCUSE, (tx.now, request.lease_seconds, since, until))
    adopted = _adopt(tx, request.lease_seconds)
    _make_due(tx)
    (text,) = tx.db.execute(_OVERDUE, (tx.now, request.limit)).fetchone()
    moves = [_judge(tx, overdue, request.max_attempts) for overdue in _overdue.decode(text)]
    move(tx, moves)
    returned = tuple(one.held.id for one in moves if not one.is_dead)
    dead = tuple(one.held.id for one in moves if one.is_dead)
    return Swept(returned, dead, adopted, grace, queues=_queues(moves))


def retire(tx: WriteTransaction, owner: str, limit: int, *, crashed: bool) -> Swept:
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
    return Swept(tuple(one.held.id for one in moves), more=more, declared=declared, queues=_queues(moves))


def _queues(moves: Sequence[Move]) -> dict[str, str]:
    return {one.held.id: one.held.queue for one in moves}


def _note_sweep(tx: WriteTransaction, interval_seconds: float) -> bool:
    """Write down that there was a sweep. True: the one before is too long ago, for those who hold something now."""
    row = tx.db.execute("SELECT value FROM meta WHERE name = 'swept'").fetchone()
    tx.db.execute(
        "INSERT OR REPLACE INTO meta (name, value) VALUES ('swept', ?), ('sweep_seconds', ?)",
        (tx.now, interval_seconds),
    )
    if row is not None and tx.now - row[0] <= micros(_INTERVALS_IN_A_GAP * interval_seconds):
        return False
    # All leases were made, or could not be renewed, while no sweep ran.
    return tx.db.execute(f"SELECT 1 FROM message {_LEASED} LIMIT 1").fetchone() is not None


def _adopt(tx: WriteTransaction, lease_seconds: float) -> tuple[str, ...]:
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


def _make_due(tx: WriteTransaction) -> None:
    """Make rows due that have no moment, or one more than ten years ahead: they were edited by hand."""
    rows = tx.db.execute(_WITHOUT_DUE_TIME, (tx.now + LONGEST_MICROS,)).fetchall()
    if not rows:
        return
    tx.db.execute(
        "UPDATE message SET moment = ? WHERE seq IN (SELECT value FROM json_each(?))",
        (tx.now, listed([seq for seq, _ in rows])),
    )
    for queue, made in Counter(queue for _, queue in rows).items():
        many = plural(made, "message")
        logger.warning("%s of queue %s had no due time within ten years, and was made due now", many, queue)
        tx.stirred.add(queue)


def _judge(tx: WriteTransaction, overdue: Overdue, max_attempts: int) -> Move:
    """Back to its queue, or to the dead letters."""
    lapsed = lapse(
        Counters(attempts=overdue.attempts, lost=overdue.lost),
        owner=overdue.owner,
        has_presence=bool(overdue.has_presence),
        was_touched=overdue.extras >= BEAT,
        max_attempts=max_attempts if overdue.max_attempts is None else overdue.max_attempts,
        at=tx.wall,
    )
    return Move(
        LeasedRow(*overdue[:4]),
        is_dead=lapsed.is_dead,
        attempts=lapsed.attempts,
        lost=lapsed.lost,
        reason=lapsed.reason,
        endings=lapsed.endings,
    )
