"""Sending: messages come in, once each.

The id is remembered for as long as the record is kept, so a repeated send stores nothing new. A key is
remembered in `claim` beside it. Run by `writer.py`; hand-offs of an ack come in here too (`settling.py`).
"""

from collections.abc import Sequence
from functools import cache

import msgspec

from tenure import envelope
from tenure.adapters.sqlite.many import pieces, placeholders
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import Transaction
from tenure.broker import Sent
from tenure.claim import Scope, digest
from tenure.message import MAX_PRIORITY, Message, Outgoing
from tenure.verdict import Reason

#: Bits of `message.extras`: what a settle must look after besides the row itself.
KEYED = 1
NOTED = 2

_COLUMNS = (
    "id, queue, task, state, priority, moment, extras, lease_seconds, max_attempts, scope, arrived, sent_at, envelope"
)
_WIDTH = 13

_encode_scope = msgspec.json.Encoder().encode


def scope_text(scope: Scope) -> str:
    """A scope as one word that no other scope shares."""
    return _encode_scope((scope.queue, scope.task, scope.key, scope.generation)).decode()


class Entry(msgspec.Struct):
    """A message made ready for its row, before the lock is taken."""

    message: Message
    raw: bytes
    delay_seconds: float
    scope: str | None
    digest: str
    refusal: Reason | None


def prepare(batch: Sequence[Outgoing], body_limit: int) -> list[Entry]:
    """Encode everything. Runs in the caller's loop, so that the lock is held for less."""
    return [_prepare(outgoing, body_limit) for outgoing in batch]


def _prepare(outgoing: Outgoing, body_limit: int) -> Entry:
    message = outgoing.message
    raw = envelope.encode(message)
    refusal = None
    if len(raw) > body_limit:
        refusal = Reason(
            "body_too_large",
            f"the message takes {len(raw)} bytes and this broker takes {body_limit}; it was not stored. "
            "Keep large data elsewhere and send a reference to it",
        )
    if message.key is None:
        return Entry(message, raw, outgoing.delay_seconds, None, "", refusal)
    return Entry(message, raw, outgoing.delay_seconds, scope_text(Scope.of(message)), digest(message), refusal)


def store(tx: Transaction, entries: Sequence[Entry]) -> list[Sent]:
    """Store what is new. One answer for each entry, in order."""
    if all(entry.scope is None and entry.refusal is None for entry in entries):
        return [sent for piece in pieces(entries) for sent in _store_piece(tx, piece)]
    return [_store_one(tx, entry) for entry in entries]


def _store_piece(tx: Transaction, entries: Sequence[Entry]) -> list[Sent]:
    """Messages without keys, in one statement."""
    values: list[object] = []
    for entry in entries:
        values += _row(tx, entry)
    cursor = tx.db.execute(_insert(len(entries)), values)
    if cursor.rowcount == len(entries):
        return [Sent(entry.message.id) for entry in entries]
    return _tell_apart(tx, entries, cursor.lastrowid or 0, cursor.rowcount)


def _tell_apart(tx: Transaction, entries: Sequence[Entry], last: int, stored: int) -> list[Sent]:
    """Some ids were known. New rows got the numbers up to `last`, one after the other."""
    ids = msgspec.json.encode([entry.message.id for entry in entries]).decode()
    found = tx.db.execute(
        "SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?)) AND seq > ?", (ids, last - stored)
    ).fetchall()
    fresh = {id for (id,) in found} if stored else set()
    answers = []
    for entry in entries:
        id = entry.message.id
        answers.append(Sent(id, duplicate=id not in fresh))
        # The same id twice in one batch: the second is the duplicate.
        fresh.discard(id)
    return answers


def _store_one(tx: Transaction, entry: Entry) -> Sent:
    message = entry.message
    if entry.refusal is not None:
        return Sent(message.id, refusal=entry.refusal)
    if entry.scope is None:
        return _store_piece(tx, (entry,))[0]
    if tx.db.execute("SELECT 1 FROM message WHERE id = ?", (message.id,)).fetchone() is not None:
        return Sent(message.id, duplicate=True)
    known = tx.db.execute("SELECT id, digest FROM claim WHERE scope = ?", (entry.scope,)).fetchone()
    if known is None:
        register_key(tx, entry.scope, message.id, entry.digest)
        return _store_piece(tx, (entry,))[0]
    if known[1] == entry.digest:
        return Sent(known[0], duplicate=True)
    return Sent(message.id, refusal=_conflict(message, known[0]))


def register_key(tx: Transaction, scope: str, id: str, payload: str) -> None:
    """The key stands for this message from now on, unless it stands for another already."""
    tx.db.execute(
        "INSERT INTO claim (scope, id, digest, state, moment, arrived) VALUES (?, ?, ?, 'sent', ?, ?)"
        " ON CONFLICT (scope) DO NOTHING",
        (scope, id, payload, tx.now, tx.now),
    )


def _conflict(message: Message, holder: str) -> Reason:
    return Reason(
        "key_conflict",
        f"the key {message.key!r} was sent before with another payload, by message {holder}; this one was not stored. "
        "Use a new key for new work",
    )


def _row(tx: Transaction, entry: Entry) -> tuple[object, ...]:
    message = entry.message
    delayed = entry.delay_seconds > 0
    tx.stirred.add(message.queue)
    return (
        message.id,
        message.queue,
        message.task,
        "delayed" if delayed else "ready",
        max(0, min(MAX_PRIORITY, message.priority)),
        tx.now + micros(entry.delay_seconds) if delayed else None,
        0 if entry.scope is None else KEYED,
        message.overrides.lease_seconds,
        message.overrides.max_attempts,
        entry.scope,
        tx.now,
        message.sent_at or tx.wall,
        entry.raw,
    )


@cache
def _insert(count: int) -> str:
    return f"INSERT INTO message ({_COLUMNS}) VALUES {placeholders(_WIDTH, count)} ON CONFLICT (id) DO NOTHING"
