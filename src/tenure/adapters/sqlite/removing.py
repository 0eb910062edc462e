"""An operator's acts: redrive dead letters, delete what nobody holds.

Run by `writer.py` for `broker.py`. What is redriven is lent by `lending.py` as if it were new.
"""

from collections.abc import Sequence
from functools import cache

import msgspec

from tenure import envelope
from tenure.adapters.sqlite import note
from tenure.adapters.sqlite.many import listed, pieces, placeholders
from tenure.adapters.sqlite.release import free_keys
from tenure.adapters.sqlite.sending import register_keys, scope_text
from tenure.adapters.sqlite.states import CANCELLED, DEAD, DELAYED, KEYED, NOTED, READY
from tenure.adapters.sqlite.transaction import Transaction
from tenure.claim import Scope, digest
from tenure.errors import BodyUndecodable
from tenure.message import Message
from tenure.record import Ending

_THESE = "FROM message WHERE id IN (SELECT value FROM json_each(?))"


def redrive(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Send dead letters back to their queue. The ids that were moved."""
    rows = tx.db.execute(f"SELECT id, seq, queue, envelope {_THESE} AND state = {DEAD}", (listed(ids),)).fetchall()
    values: list[tuple[object, ...]] = []
    keys: list[tuple[str, str, str]] = []
    for id, seq, _, raw in rows:
        message = _next_generation(raw or b"")
        if message is None:
            values.append((seq, raw))
            continue
        values.append((seq, envelope.encode(message)))
        if message.key is not None:
            keys.append((scope_text(Scope.of(message)), id, digest(message)))
    for piece in pieces(values):
        tx.db.execute(_revive(len(piece)), [tx.now, *(value for row in piece for value in row)])
    register_keys(tx, keys)
    note.remember(tx, [(seq, (Ending(tx.wall, "redriven"),)) for _, seq, _, _ in rows])
    tx.stirred.update(queue for _, _, queue, _ in rows)
    return _in_order(ids, {id for id, *_ in rows})


def _next_generation(raw: bytes) -> Message | None:
    """The message as it goes out again. None: it cannot be read, and is moved as it is; a newer worker may know it."""
    try:
        message = envelope.decode(raw)
    except BodyUndecodable:
        return None
    return msgspec.structs.replace(message, generation=message.generation + 1)


def delete(tx: Transaction, ids: Sequence[str]) -> list[str]:
    """Remove what is ready, delayed or dead. The ids that were removed."""
    rows = tx.db.execute(
        f"SELECT id, seq, extras {_THESE} AND state IN ({READY}, {DELAYED}, {DEAD})", (listed(ids),)
    ).fetchall()
    tx.db.execute(
        f"UPDATE message SET state = {CANCELLED}, envelope = NULL, moment = ?, finished_at = ?"
        " WHERE seq IN (SELECT value FROM json_each(?))",
        (tx.now, tx.wall, listed([seq for _, seq, _ in rows])),
    )
    note.tidy(tx, [seq for _, seq, extras in rows if extras & NOTED])
    free_keys(tx, [id for id, _, extras in rows if extras & KEYED])
    return _in_order(ids, {id for id, *_ in rows})


def _in_order(asked: Sequence[str], done: set[str]) -> list[str]:
    """As they were asked for, each once."""
    return [id for id in dict.fromkeys(asked) if id in done]


@cache
def _revive(count: int) -> str:
    return (
        f"UPDATE message SET state = {READY}, moment = ?, finished_at = NULL, reason = NULL, deliveries = 0,"
        f" attempts = 0, crashes = 0, lost = 0, extras = extras | {NOTED}, envelope = entry.column2"
        f" FROM (VALUES {placeholders(2, count)}) AS entry WHERE seq = entry.column1"
    )
