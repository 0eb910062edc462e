"""Notes: data that only few messages have, kept beside their row: history, progress and checkpoint.

A bit on the message says that there is a note, so that no note is looked up for the others. Used by `transitions.py`,
`settling.py`, `cancelling.py` and `records.py`.
"""

from collections.abc import Sequence
from functools import cache

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.states import NOTED
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.record import HISTORY_LIMIT, Ending

_HISTORIES = """
SELECT json_group_array(json_array(seq, json(CAST(history AS TEXT)))) FROM note
WHERE history IS NOT NULL AND seq IN (SELECT value FROM json_each(?))
"""

_encode = msgspec.json.Encoder().encode
_history = msgspec.json.Decoder(list[Ending])
_histories = msgspec.json.Decoder(list[tuple[int, list[Ending]]])


def remember(tx: WriteTransaction, endings: Sequence[tuple[int, Sequence[Ending]]]) -> None:
    """Add endings to the histories of messages, by row; the oldest ones are forgotten. The caller sets the bit."""
    if not endings:
        return
    (text,) = tx.db.execute(_HISTORIES, (listed([seq for seq, _ in endings]),)).fetchone()
    known = dict(_histories.decode(text))
    rows = [(seq, _encode([*known.get(seq, ()), *new][-HISTORY_LIMIT:])) for seq, new in endings]
    _write(tx, "history", rows)


def decode_history(raw: bytes | None) -> list[Ending]:
    """The endings in a history column."""
    return edited.read(_history, raw) or []


def keep(tx: WriteTransaction, column: str, rows: Sequence[tuple[int, bytes]]) -> None:
    """Set one column of messages' notes, and the bit. `column` is a name from this package, never from outside."""
    _write(tx, column, rows)
    tx.db.execute(
        f"UPDATE message SET extras = extras | {NOTED} WHERE seq IN (SELECT value FROM json_each(?))"
        f" AND NOT extras & {NOTED}",
        (listed([seq for seq, _ in rows]),),
    )


def tidy(tx: WriteTransaction, seqs: Sequence[int]) -> None:
    """The messages are finished: their progress and checkpoint are not needed any more."""
    if seqs:
        tx.db.execute(
            "UPDATE note SET progress = NULL, checkpoint = NULL WHERE seq IN (SELECT value FROM json_each(?))",
            (listed(seqs),),
        )


def _write(tx: WriteTransaction, column: str, rows: Sequence[tuple[int, bytes]]) -> None:
    for piece in pieces(rows):
        tx.db.execute(_upsert(column, len(piece)), [value for row in piece for value in row])


@cache
def _upsert(column: str, count: int) -> str:
    return (
        f"INSERT INTO note (seq, {column}) VALUES {placeholders(2, count)}"
        f" ON CONFLICT (seq) DO UPDATE SET {column} = excluded.{column}"
    )
