"""Changes of keys and claims that a broker's call makes, in the same transaction.

The ledger's own words are in `ledger.py`; this is the broker's side of the same table. Used by `transitions.py`,
`settling.py`, `cancelling.py` and `returning.py`.
"""

from collections.abc import Sequence
from functools import cache

from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.transaction import WriteTransaction

_OF_THESE = "id IN (SELECT value FROM json_each(?))"


def release_claims(tx: WriteTransaction, ids: Sequence[str]) -> None:
    """The messages go back to their queues: the next holder may claim them."""
    if ids:
        tx.db.execute(
            f"UPDATE claim SET state = 'sent', moment = ? WHERE {_OF_THESE} AND state = 'running'",
            (tx.now, listed(ids)),
        )


def release_claims_of(tx: WriteTransaction, owner: str) -> None:
    """Release every claim that `owner` is running."""
    tx.db.execute(
        "UPDATE claim SET state = 'sent', moment = ?"
        " WHERE seq IN (SELECT seq FROM claim INDEXED BY claim_running WHERE state = 'running' AND owner = ?)",
        (tx.now, owner),
    )


def finish_keys(tx: WriteTransaction, results: Sequence[tuple[str, bytes]]) -> None:
    """The messages are done, and so are their keys. Id and result of each."""
    for piece in pieces(results):
        tx.db.execute(_finish(len(piece)), [tx.now, *(value for row in piece for value in row)])


def free_keys(tx: WriteTransaction, ids: Sequence[str]) -> None:
    """The messages are dead or cancelled: their keys may be sent again. Completed work stays completed."""
    if ids:
        tx.db.execute(f"DELETE FROM claim WHERE {_OF_THESE} AND state <> 'done'", (listed(ids),))


@cache
def _finish(count: int) -> str:
    return (
        "UPDATE claim SET state = 'done', moment = ?, result = entry.column2"
        f" FROM (VALUES {placeholders(2, count)}) AS entry WHERE id = entry.column1 AND state <> 'done'"
    )
