"""Retention: removes messages that finished long ago.

Done by the sweep, in small pieces along the order of arrival, with the position kept in the file; so it needs no index
that would slow down every message. While there is something to remove, the next piece follows at once (`broker.py`): it
keeps up with any rate, and no other call waits for more than one piece.
"""

from typing import NamedTuple

from tenure.adapters.sqlite.announcing import needed_records
from tenure.adapters.sqlite.placeholders import listed
from tenure.adapters.sqlite.states import CANCELLED, COMPLETED, LEASED, READY
from tenure.adapters.sqlite.transaction import WriteTransaction

#: Rows that one piece looks at: about a millisecond.
_PIECE = 250
#: Loans are small, and to look for those that are over costs more than to remove them.
_LOANS = 10_000


#: Edges passed before the search begins at the start again.
_EDGES = 20


class PrunedMessages(NamedTuple):
    """The result of one step of pruning."""

    gone: int
    #: There is more to look at before everything is too young.
    is_more: bool


def prune(tx: WriteTransaction, keep: int) -> PrunedMessages:
    """Forget one piece of what was finished more than `keep` microseconds ago."""
    horizon = tx.now - keep
    tx.db.execute("DELETE FROM owner WHERE state = 'banned' AND moment < ?", (horizon,))
    messages, claims = _prune_messages(tx, horizon), _prune_claims(tx, horizon)
    return PrunedMessages(messages.gone + claims.gone, messages.is_more or claims.is_more)


def prune_loans(tx: WriteTransaction) -> None:
    """A loan from which nothing is held says nothing any more. The newest is kept: fences are counted from it."""
    tx.db.execute(
        "DELETE FROM loan WHERE fence IN (SELECT fence FROM loan"
        f" WHERE fence NOT IN (SELECT fence FROM message INDEXED BY message_leased WHERE state = {LEASED})"
        f" AND fence < (SELECT max(fence) FROM loan) LIMIT {_LOANS})"
    )
    # With its loan, what a holder said with its beats.
    tx.db.execute(
        "DELETE FROM beat WHERE seq IN (SELECT seq FROM beat"
        f" WHERE fence NOT IN (SELECT fence FROM loan) LIMIT {_LOANS})"
    )


def _prune_messages(tx: WriteTransaction, horizon: int) -> PrunedMessages:
    rows = tx.db.execute(
        f"SELECT seq, state IN ({COMPLETED}, {CANCELLED}), moment < ?, state = {READY}, id, announce IS NULL"
        " FROM message WHERE seq > ? ORDER BY seq LIMIT ?",
        (horizon, _number(tx, "message_cursor"), _PIECE),
    ).fetchall()
    old = [(seq, id) for seq, is_finished, is_old, _, id, is_free in rows if is_finished and is_old and is_free]
    needed = needed_records(tx, [id for _, id in old]) if old else ()
    gone = [seq for seq, id in old if id not in needed]
    for table in ("message", "note", "outcome") if gone else ():
        tx.db.execute(f"DELETE FROM {table} WHERE seq IN (SELECT value FROM json_each(?))", (listed(gone),))
    # What comes later came in later: where half is too young, nearly all that follows is.
    young = sum(not is_old for _, is_finished, is_old, is_ready, *_ in rows if is_finished or is_ready)
    return PrunedMessages(len(gone), _move_cursor(tx, "message", [row[0] for row in rows], is_edge=young > _PIECE // 2))


def _prune_claims(tx: WriteTransaction, horizon: int) -> PrunedMessages:
    # A key that is not done is forgotten only when its message is: else it would be accepted twice.
    rows = tx.db.execute(
        "SELECT seq, moment < ?1 AND (state = 'done'"
        " OR NOT EXISTS (SELECT 1 FROM message WHERE message.id = claim.id)), moment >= ?1 FROM claim"
        " WHERE seq > ?2 ORDER BY seq LIMIT ?3",
        (horizon, _number(tx, "claim_cursor"), _PIECE),
    ).fetchall()
    gone = [seq for seq, is_old, _ in rows if is_old]
    if gone:
        tx.db.execute("DELETE FROM claim WHERE seq IN (SELECT value FROM json_each(?))", (listed(gone),))
    young = sum(is_young for _, _, is_young in rows)
    return PrunedMessages(len(gone), _move_cursor(tx, "claim", [row[0] for row in rows], is_edge=young > _PIECE // 2))


def _move_cursor(tx: WriteTransaction, table: str, seen: list[int], *, is_edge: bool) -> bool:
    """Go on after the last row, or back to the start. False: there is nothing more to look at for now.

    An edge ends this round, and the next one goes on behind it: what came in early and was finished late (it was
    delayed) may stand before much that is old. After a few edges in a row it starts over.
    """
    edges = _number(tx, f"{table}_edges") + is_edge
    at_end = len(seen) < _PIECE or edges >= _EDGES
    _keep(tx, f"{table}_cursor", 0 if at_end else seen[-1])
    _keep(tx, f"{table}_edges", 0 if at_end else edges)
    return not (at_end or is_edge)


def _number(tx: WriteTransaction, name: str) -> int:
    row = tx.db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row[0])


def _keep(tx: WriteTransaction, name: str, value: int) -> None:
    if value != _number(tx, name):
        tx.db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))
