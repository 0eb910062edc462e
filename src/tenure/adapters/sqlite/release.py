"""What the broker's moves mean for keys and claims, in the same transaction.

The ledger's own words are in `ledger.py`; this is the broker's side of the same table. Used by `settling.py`
and `returning.py`.
"""

from tenure.adapters.sqlite.transaction import Transaction


def release_claim(tx: Transaction, id: str) -> None:
    """The message goes back to its queue: whoever leases it next may claim it."""
    tx.db.execute("UPDATE claim SET state = 'sent', moment = ? WHERE id = ? AND state = 'running'", (tx.now, id))


def release_claims_of(tx: Transaction, owner: str) -> None:
    """Nothing that `owner` claimed is running any more."""
    tx.db.execute(
        "UPDATE claim SET state = 'sent', moment = ?"
        " WHERE seq IN (SELECT seq FROM claim INDEXED BY claim_running WHERE state = 'running' AND owner = ?)",
        (tx.now, owner),
    )


def finish_key(tx: Transaction, id: str, result: bytes) -> None:
    """The message is done, and so is its key."""
    tx.db.execute(
        "UPDATE claim SET state = 'done', moment = ?, result = ? WHERE id = ? AND state <> 'done'",
        (tx.now, result, id),
    )


def free_key(tx: Transaction, id: str) -> None:
    """The message is dead or cancelled: its key may be sent again. What is done stays done."""
    tx.db.execute("DELETE FROM claim WHERE id = ? AND state <> 'done'", (id,))
