"""An operator's acts: redrive dead letters, delete what nobody holds.

Run by `writer.py` for `broker.py`. What is redriven is lent by `lending.py` as if it were new.
"""

from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.adapters.sqlite import note
from tenure.adapters.sqlite.release import free_key
from tenure.adapters.sqlite.sending import register_key, scope_text
from tenure.adapters.sqlite.states import CANCELLED, DEAD, DELAYED, KEYED, NOTED, READY
from tenure.adapters.sqlite.transaction import Transaction
from tenure.claim import Scope, digest
from tenure.errors import BodyUndecodable
from tenure.message import Message
from tenure.record import Ending


def redrive(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Send dead letters back to their queue. The ids that were moved."""
    return [id for id in ids if _redrive_one(tx, id)]


def _redrive_one(tx: Transaction, id: str) -> bool:
    row = tx.db.execute(f"SELECT seq, queue, envelope FROM message WHERE id = ? AND state = {DEAD}", (id,)).fetchone()
    if row is None:
        return False
    seq, queue, raw = row
    tx.db.execute(
        f"UPDATE message SET state = {READY}, moment = ?, finished_at = NULL, reason = NULL,"
        " deliveries = 0, attempts = 0, crashes = 0, lost = 0 WHERE seq = ?",
        (tx.now, seq),
    )
    note.remember(tx, seq, Ending(tx.wall, "redriven"))
    try:
        message = envelope.decode(raw or b"")
    except BodyUndecodable:
        # It is moved as it is: perhaps a newer worker can read it.
        pass
    else:
        _renew(tx, seq, msgspec.structs.replace(message, generation=message.generation + 1))
    tx.stirred.add(queue)
    return True


def _renew(tx: Transaction, seq: int, message: Message) -> None:
    """Write the next generation of a message, and its key under the new scope."""
    if message.key is not None:
        register_key(tx, scope_text(Scope.of(message)), message.id, digest(message))
    tx.db.execute(
        f"UPDATE message SET envelope = ?, extras = (extras & ~{KEYED}) | ? WHERE seq = ?",
        (envelope.encode(message), 0 if message.key is None else KEYED, seq),
    )


def delete(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Remove what is ready, delayed or dead. The ids that were removed."""
    return [id for id in ids if _delete_one(tx, id)]


def _delete_one(tx: Transaction, id: str) -> bool:
    row = tx.db.execute(
        f"SELECT seq, extras FROM message WHERE id = ? AND state IN ({READY}, {DELAYED}, {DEAD})", (id,)
    ).fetchone()
    if row is None:
        return False
    seq, extras = row
    tx.db.execute(
        f"UPDATE message SET state = {CANCELLED}, envelope = NULL, moment = ?, finished_at = ? WHERE seq = ?",
        (tx.now, tx.wall, seq),
    )
    if extras & NOTED:
        note.tidy(tx, seq)
    free_key(tx, id)
    return True
