"""Redriving: dead letters go back to their queue.

Run by `writer.py` for `broker.py`. What is redriven is lent by `lending.py` as if it were new.
"""

from collections.abc import Sequence
from functools import cache

import msgspec

from tenure import envelope
from tenure.adapters.sqlite import announcing, message_notes
from tenure.adapters.sqlite.placeholders import listed, pieces, placeholders
from tenure.adapters.sqlite.sending import register_keys, scope_text
from tenure.adapters.sqlite.states import DEAD, NOTED, READY
from tenure.adapters.sqlite.transaction import WriteTransaction
from tenure.claim import Scope, digest
from tenure.errors import BodyUndecodable
from tenure.message import Message
from tenure.record import Ending

_DEAD = f"""
SELECT id, seq, queue, envelope FROM message WHERE id IN (SELECT value FROM json_each(?)) AND state = {DEAD}
"""


def redrive(tx: WriteTransaction, ids: Sequence[str]) -> list[str]:
    """Ready again, in the next generation. The ids that were moved, each once."""
    rows = tx.db.execute(_DEAD, (listed(ids),)).fetchall()
    values: list[tuple[object, ...]] = []
    keys: list[tuple[str, str, str]] = []
    asking: list[tuple[int, Message]] = []
    for id, seq, _, raw in rows:
        message = _next_generation(raw or b"")
        if message is None:
            values.append((seq, raw))
            continue
        values.append((seq, envelope.encode(message)))
        if message.announce:
            asking.append((seq, message))
        if message.key is not None:
            keys.append((scope_text(Scope.of(message)), id, digest(message)))
    announcing.set_apart(tx, [seq for _, seq, *_ in rows])
    for piece in pieces(values):
        tx.db.execute(_revive(len(piece)), [tx.now, *(value for row in piece for value in row)])
    register_keys(tx, keys)
    announcing.ask(tx, asking)
    message_notes.remember(tx, [(seq, (Ending(tx.wall, "redriven"),)) for _, seq, _, _ in rows])
    tx.stirred.update(queue for _, _, queue, _ in rows)
    moved = {id for id, *_ in rows}
    return [id for id in dict.fromkeys(ids) if id in moved]


def _next_generation(raw: bytes) -> Message | None:
    """The message as it goes out again. None: it cannot be read, and is moved as it is; a newer worker may know it."""
    try:
        message = envelope.decode(raw)
    except BodyUndecodable:
        return None
    return msgspec.structs.replace(message, generation=message.generation + 1)


@cache
def _revive(count: int) -> str:
    return (
        f"UPDATE message SET state = {READY}, moment = ?, finished_at = NULL, reason = NULL, deliveries = 0,"
        f" attempts = 0, crashes = 0, lost = 0, extras = extras | {NOTED}, envelope = entry.column2"
        f" FROM (VALUES {placeholders(2, count)}) AS entry WHERE seq = entry.column1"
    )
