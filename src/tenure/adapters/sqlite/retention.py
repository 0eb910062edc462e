"""Retention: finished messages, done keys and banned owners are forgotten after a while.

Driven by the sweep, in small pieces along the order of arrival, with the place kept in the file: no index for
it burdens the path of every message. While a piece is full of things to forget, the next piece follows at
once (`broker.py`); so it keeps up with any rate, and no other call waits for more than one piece.
"""

from tenure.adapters.sqlite.sending import NOTED
from tenure.adapters.sqlite.transaction import Transaction

#: Rows that one piece looks at: about a millisecond.
_PIECE = 250


def prune(tx: Transaction, keep: int) -> bool:
    """Forget one piece of what was finished more than `keep` microseconds ago. True: there is more."""
    horizon = tx.now - keep
    tx.db.execute("DELETE FROM owner WHERE state = 'banned' AND moment < ?", (horizon,))
    more_messages = _prune_messages(tx, horizon)
    return _prune_claims(tx, horizon) or more_messages


def _prune_messages(tx: Transaction, horizon: int) -> bool:
    rows = tx.db.execute(
        "SELECT seq, arrived, extras, state IN ('completed', 'cancelled') AND moment < ? FROM message"
        " WHERE seq > ? ORDER BY seq LIMIT ?",
        (horizon, _cursor(tx, "message"), _PIECE),
    ).fetchall()
    gone = [(seq, extras) for seq, _, extras, is_old in rows if is_old]
    if gone:
        tx.db.executemany("DELETE FROM message WHERE seq = ?", [(seq,) for seq, _ in gone])
        tx.db.executemany("DELETE FROM note WHERE seq = ?", [(seq,) for seq, extras in gone if extras & NOTED])
    _move_cursor(tx, "message", [(seq, arrived) for seq, arrived, _, _ in rows], horizon)
    return len(gone) > _PIECE // 2


def _prune_claims(tx: Transaction, horizon: int) -> bool:
    # A key that is not done is forgotten only when its message is: else it would be accepted twice.
    rows = tx.db.execute(
        "SELECT seq, arrived, moment < ?1 AND (state = 'done'"
        " OR NOT EXISTS (SELECT 1 FROM message WHERE message.id = claim.id)) FROM claim"
        " WHERE seq > ?2 ORDER BY seq LIMIT ?3",
        (horizon, _cursor(tx, "claim"), _PIECE),
    ).fetchall()
    gone = [(seq,) for seq, _, is_old in rows if is_old]
    if gone:
        tx.db.executemany("DELETE FROM claim WHERE seq = ?", gone)
    _move_cursor(tx, "claim", [(seq, arrived) for seq, arrived, _ in rows], horizon)
    return len(gone) > _PIECE // 2


def _cursor(tx: Transaction, table: str) -> int:
    place: int = tx.db.execute("SELECT value FROM meta WHERE name = ?", (f"{table}_cursor",)).fetchone()[0]
    return place


def _move_cursor(tx: Transaction, table: str, seen: list[tuple[int, int]], horizon: int) -> None:
    """Go on after the last row. Back to the start at the end, or where everything is too young."""
    at_end = len(seen) < _PIECE or seen[-1][1] >= horizon
    place = 0 if at_end else seen[-1][0]
    tx.db.execute("UPDATE meta SET value = ?1 WHERE name = ?2 AND value <> ?1", (place, f"{table}_cursor"))
