"""Notes: what only few messages have, kept beside their row. History, progress and checkpoint.

A bit on the message says that there is a note, so that all others never look for one. Used by `settling.py`,
`returning.py` and `records.py`.
"""

import msgspec

from tenure.adapters.sqlite.states import NOTED
from tenure.adapters.sqlite.transaction import Transaction
from tenure.record import HISTORY_LIMIT, Ending

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(list[Ending])


def remember(tx: Transaction, seq: int, ending: Ending) -> None:
    """Add an ending to the message's history; the oldest ones are forgotten."""
    row = tx.db.execute("SELECT history FROM note WHERE seq = ?", (seq,)).fetchone()
    history = [*decode_history(row[0] if row else None), ending][-HISTORY_LIMIT:]
    write(tx, seq, "history", _encode(history))


def decode_history(raw: bytes | None) -> list[Ending]:
    """The endings in a history column."""
    return _decoder.decode(raw) if raw else []


def write(tx: Transaction, seq: int, column: str, value: bytes) -> None:
    """Set one column of a message's note. `column` is a name from this package, never from outside."""
    tx.db.execute(
        f"INSERT INTO note (seq, {column}) VALUES (?, ?) ON CONFLICT (seq) DO UPDATE SET {column} = excluded.{column}",
        (seq, value),
    )
    tx.db.execute(f"UPDATE message SET extras = extras | {NOTED} WHERE seq = ? AND NOT extras & {NOTED}", (seq,))


def tidy(tx: Transaction, seq: int) -> None:
    """The message is finished: nobody needs its progress and checkpoint any more."""
    tx.db.execute("UPDATE note SET progress = NULL, checkpoint = NULL WHERE seq = ?", (seq,))
