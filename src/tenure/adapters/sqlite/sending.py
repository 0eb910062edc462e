"""Sending: stores messages, each once.

The id is remembered for as long as the record is kept, so a repeated send stores nothing new. A key is remembered
beside it in `claim`. An index of its own shows whether a `unique` message is waiting (`uniqueness.py`). Run by
`writer.py`; hand-offs of an ack are stored here too (`settling.py`).
"""

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import NamedTuple

import msgspec

from tenure import envelope
from tenure.adapters.sqlite import announcing
from tenure.adapters.sqlite.judged import Judged
from tenure.adapters.sqlite.placeholders import listed, pieces
from tenure.adapters.sqlite.queue_room import QueueRoom
from tenure.adapters.sqlite.states import DELAYED, KEYED, READY
from tenure.adapters.sqlite.timeline import micros
from tenure.adapters.sqlite.transaction import NO_FENCE, WriteTransaction
from tenure.adapters.sqlite.uniqueness import WaitingRow
from tenure.broker import Sent
from tenure.claim import Scope, digest
from tenure.message import MAX_PRIORITY, NO_OVERRIDES, Message, Outgoing
from tenure.rules.rejections import key_conflict, of_size
from tenure.rules.sendable import unsendable
from tenure.verdict import Reason

#: What every message has, and what few have besides. `moment` is not among them: see `_insert`.
_PLAIN = ("id", "queue", "task", "priority", "sent_at", "envelope")
_FULL = (*_PLAIN, "state", "extras", "lease_seconds", "max_attempts", "uniqueness", "expires_at", "announce")

_encode_scope = msgspec.json.Encoder().encode
_strings = msgspec.json.Decoder(list[str])
_keys = msgspec.json.Decoder(list[tuple[str, str, str]])


def scope_text(scope: Scope) -> str:
    """Encode a scope as one text that no other scope has."""
    return _encode_scope((scope.queue, scope.task, scope.key, scope.generation)).decode()


class NewRow(msgspec.Struct):
    """A message made ready for its row."""

    message: Message
    raw: bytes
    sent_at: float
    delay_seconds: float = 0.0
    unique_seconds: float | None = None
    scope: str | None = None
    digest: str = ""
    refusal: Reason | None = None
    most_waiting: int | None = None


class PreparedSend(NamedTuple):
    """A batch made ready before the lock is taken."""

    entries: list[NewRow]
    #: The values of each statement. None: there are keys, refusals and the like, so each entry is looked at by itself.
    pieces: list[list[object]] | None
    queues: set[str]
    #: The queues of messages that may be stored: the name of a refused one may be invalid.
    sound_queues: set[str]
    #: True: some messages have `most_waiting`.
    is_limited: bool = False


def prepare(batch: Sequence[Outgoing], body_limit: int, wall: float, judged: Judged | None = None) -> PreparedSend:
    """Encode everything that is not `judged`. Runs in the caller's loop, so that the lock is held for less."""
    entries = []
    is_simple, is_limited = True, False
    for outgoing in batch:
        message = outgoing.message
        raw = None if judged is None else judged.take(outgoing)
        if raw is None:
            refusal = unsendable(outgoing)
            if refusal is not None:
                entries.append(NewRow(message, b"", wall, refusal=refusal))
                is_simple = False
                continue
            raw = envelope.encode(message)
        entry = NewRow(message, raw, message.sent_at or wall, outgoing.delay_seconds, outgoing.unique_seconds)
        if outgoing.most_waiting is not None:
            entry.most_waiting = outgoing.most_waiting
            is_limited = True
        entry.refusal = of_size(message, len(raw), body_limit)
        if entry.refusal is not None:
            is_simple = False
        if message.key is not None:
            entry.scope = scope_text(Scope.of(message))
            entry.digest = digest(message)
            is_simple = False
        if message.unique is not None:
            is_simple = False
        entries.append(entry)
    queues = {entry.message.queue for entry in entries}
    if is_simple:
        return PreparedSend(entries, [_values(piece) for piece in pieces(entries)], queues, queues, is_limited)
    sound = {entry.message.queue for entry in entries if entry.refusal is None}
    return PreparedSend(entries, None, queues, sound, is_limited)


def only(parcel: PreparedSend, chosen: Sequence[bool]) -> PreparedSend:
    """The chosen messages of a batch."""
    if all(chosen):
        return parcel
    entries = [entry for entry, is_chosen in zip(parcel.entries, chosen, strict=True) if is_chosen]
    queues = {entry.message.queue for entry in entries}
    return PreparedSend(entries, None, queues, queues & parcel.sound_queues, parcel.is_limited)


def store(tx: WriteTransaction, parcel: PreparedSend) -> list[Sent]:
    """Store what is new. One answer for each entry, in order."""
    tx.stirred |= parcel.queues
    room = QueueRoom(tx, parcel.entries) if parcel.is_limited else None
    if parcel.pieces is None or (room is not None and not room.takes_all(parcel.entries)):
        return _store_carefully(tx, parcel.entries, room)
    answers: list[Sent] = []
    for values, entries in zip(parcel.pieces, pieces(parcel.entries), strict=True):
        answers += _store_piece(tx, values, entries)
    return answers


def _store_piece(tx: WriteTransaction, values: list[object], entries: Sequence[NewRow]) -> list[Sent]:
    """Store messages that need no checks but for a known id, in one statement."""
    cursor = tx.db.execute(_insert(len(entries), len(values) // len(entries)), [tx.now, *values])
    if cursor.rowcount == len(entries):
        return [Sent(entry.message.id) for entry in entries]
    return _tell_apart(tx, entries, cursor.lastrowid or 0, cursor.rowcount)


def _tell_apart(tx: WriteTransaction, entries: Sequence[NewRow], last: int, stored: int) -> list[Sent]:
    """Some ids were known. New rows got the numbers up to `last`, one after the other."""
    found = tx.db.execute(
        "SELECT id FROM message WHERE id IN (SELECT value FROM json_each(?)) AND seq > ?",
        (listed([entry.message.id for entry in entries]), last - stored),
    ).fetchall()
    fresh = {id for (id,) in found} if stored else set()
    answers = []
    for entry in entries:
        id = entry.message.id
        answers.append(Sent(id, duplicate=id not in fresh))
        # The same id twice in one batch: the second is the duplicate.
        fresh.discard(id)
    return answers


def _store_carefully(tx: WriteTransaction, entries: Sequence[NewRow], room: QueueRoom | None) -> list[Sent]:
    """Store a batch with keys, refusals and the like: decide for each message first, then store the new ones."""
    # A refused message is not looked up: its id may not be text.
    asked = [entry for entry in entries if entry.refusal is None]
    ids = _known_ids(tx, asked)
    keys = _known_keys(tx, asked)
    waiting = WaitingRow(tx, [(entry.message, _since(entry)) for entry in asked if entry.message.unique is not None])
    answers: list[Sent] = []
    new: list[NewRow] = []
    for entry in entries:
        sent = _decide(entry, ids, keys, waiting)
        if room is not None and not sent.duplicate and sent.refusal is None:
            sent = room.answer(entry)
        answers.append(sent)
        if not sent.duplicate and sent.refusal is None:
            # A later entry of the same batch finds it as if it had been there before.
            ids.add(sent.id)
            new.append(entry)
            if entry.scope is not None:
                keys[entry.scope] = (sent.id, entry.digest)
            waiting.add(entry.message, entry.sent_at)
    register_keys(tx, [(entry.scope, entry.message.id, entry.digest) for entry in new if entry.scope is not None])
    for piece in pieces(new):
        _store_piece(tx, _values(piece), piece)
    return answers


def _decide(entry: NewRow, ids: set[str], keys: dict[str, tuple[str, str]], waiting: WaitingRow) -> Sent:
    id = entry.message.id
    if entry.refusal is not None:
        return Sent(id, refusal=entry.refusal)
    if id in ids:
        return Sent(id, duplicate=True)
    holder, payload = keys.get(entry.scope, ("", "")) if entry.scope is not None else ("", "")
    if holder and payload == entry.digest:
        return Sent(holder, duplicate=True)
    if holder:
        return Sent(id, refusal=key_conflict(entry.message, holder))
    stand_in = waiting.stand_in(entry.message, _since(entry))
    return Sent(id) if stand_in is None else Sent(stand_in, duplicate=True)


def _since(entry: NewRow) -> float:
    """Waiting messages sent before with the same `unique` that do not make this one a duplicate."""
    return -inf if entry.unique_seconds is None else entry.sent_at - entry.unique_seconds


def _known_ids(tx: WriteTransaction, entries: Sequence[NewRow]) -> set[str]:
    ids = listed([entry.message.id for entry in entries])
    statement = "SELECT json_group_array(id) FROM message WHERE id IN (SELECT value FROM json_each(?))"
    return set(_strings.decode(tx.db.execute(statement, (ids,)).fetchone()[0]))


def _known_keys(tx: WriteTransaction, entries: Sequence[NewRow]) -> dict[str, tuple[str, str]]:
    """The message and payload of each key."""
    scopes = [entry.scope for entry in entries if entry.scope is not None]
    if not scopes:
        return {}
    statement = (
        "SELECT json_group_array(json_array(scope, id, digest)) FROM claim"
        " WHERE scope IN (SELECT value FROM json_each(?))"
    )
    rows = _keys.decode(tx.db.execute(statement, (listed(scopes),)).fetchone()[0])
    return {scope: (id, payload) for scope, id, payload in rows}


def store_as_it_is(tx: WriteTransaction, entry: NewRow) -> list[Sent]:
    """Store a refused message anyway, without its key: the caller puts it with the dead letters."""
    entry = msgspec.structs.replace(entry, scope=None, delay_seconds=0.0)
    return _store_piece(tx, _values((entry,)), (entry,))


def register_keys(tx: WriteTransaction, keys: Sequence[tuple[str, str, str]]) -> None:
    """Scope, id and payload: each key belongs to that message from now on, unless it belongs to another already."""
    for piece in pieces(keys):
        tx.db.execute(_insert_keys(len(piece)), [tx.now, *(value for key in piece for value in key)])


def _values(entries: Sequence[NewRow]) -> list[object]:
    """The values of one statement: few for each message, unless one of them has more to say."""
    values: list[object] = []
    for entry in entries:
        message = entry.message
        if (
            entry.delay_seconds > 0
            or entry.scope is not None
            or message.unique is not None
            or message.announce
            or message.overrides is not NO_OVERRIDES
        ):
            return [value for entry in entries for value in _full_row(entry)]
        priority = message.priority if 0 <= message.priority <= MAX_PRIORITY else _clamp(message.priority)
        values += (message.id, message.queue, message.task, priority, entry.sent_at, entry.raw)
    return values


def _full_row(entry: NewRow) -> tuple[object, ...]:
    message = entry.message
    delay = max(entry.delay_seconds, 0.0)
    return (
        micros(delay),
        message.id,
        message.queue,
        message.task,
        _clamp(message.priority),
        entry.sent_at,
        entry.raw,
        DELAYED if delay else READY,
        0 if entry.scope is None else KEYED,
        message.overrides.lease_seconds,
        message.overrides.max_attempts,
        message.unique,
        None if message.unique is None else message.expires_at,
        announcing.asked_of(message),
    )


def _clamp(priority: int) -> int:
    return max(0, min(MAX_PRIORITY, priority))


@cache
def _insert_keys(count: int) -> str:
    rows = ", ".join(["(?1, 'sent', ?, ?, ?)"] * count)
    return f"INSERT INTO claim (moment, state, scope, id, digest) VALUES {rows} ON CONFLICT (scope) DO NOTHING"


@cache
def _insert(count: int, width: int) -> str:
    """The first parameter is the time, for all rows: `moment` is that, plus a delay in rows that have one."""
    columns, moment = (_PLAIN, "?1") if width == len(_PLAIN) else (_FULL, "?1 + ?")
    row = f"({moment}, {NO_FENCE}, {', '.join('?' * len(columns))})"
    rows = ", ".join([row] * count)
    return f"INSERT INTO message (moment, fence, {', '.join(columns)}) VALUES {rows} ON CONFLICT (id) DO NOTHING"
