"""Tallies: what processes counted, a row for each step, bucket, process and number. Stored unread.

Used by `journal.py`.
"""

from collections.abc import Sequence
from functools import cache

from tenure.adapters.sqlite.placeholders import pieces, placeholders
from tenure.adapters.sqlite.transaction import ReadView, WriteTransaction
from tenure.tally import HOUR, KEPT_SECONDS, Tally

_READ = """
SELECT step, bucket, nonce, number, data FROM tally WHERE step = ? AND bucket >= ? AND bucket < ?
ORDER BY bucket, nonce, number
"""
#: Rows that one step of `prune` removes: a few milliseconds of the write lock.
_AT_ONCE = 1_000
_PRUNE = f"""
DELETE FROM tally WHERE (step, bucket, nonce, number) IN (
    SELECT step, bucket, nonce, number FROM tally WHERE step = ? AND bucket < ? LIMIT {_AT_ONCE})
"""


def keep(tx: WriteTransaction, batch: Sequence[Tally]) -> None:
    """Store rows; one with the same key is replaced, the last one of a batch wins."""
    rows = {(one.step, one.bucket, one.nonce, one.number): one.data for one in batch}
    for piece in pieces(list(rows.items())):
        tx.db.execute(_replace(len(piece)), [value for key, data in piece for value in (*key, data)])


def read(view: ReadView, step: int, since: float, until: float) -> list[Tally]:
    """Rows of one step, in the order of bucket, nonce and number."""
    return [Tally(*row) for row in view.db.execute(_READ, (step, since, until)).fetchall()]


def prune(tx: WriteTransaction, older_than_seconds: float) -> bool:
    """Forget some old rows. True: there may be more."""
    is_more = False
    for step, kept in {**KEPT_SECONDS, HOUR: older_than_seconds}.items():
        is_more |= tx.db.execute(_PRUNE, (step, tx.wall - kept)).rowcount == _AT_ONCE
    return is_more


@cache
def _replace(count: int) -> str:
    return f"INSERT OR REPLACE INTO tally (step, bucket, nonce, number, data) VALUES {placeholders(5, count)}"
