"""Uniqueness: while a message waits, another one like it is not stored.

A row for each word names the messages that were sent with it (`rules/uniqueness.py`); whether one of them waits, its
entry says. Only messages that are to be unique pay: three or four calls to the table. Used by `sending.py`.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from tenure.broker import Sent
from tenure.message import Message, MessageState, Outgoing
from tenure.rowstore.entry import UNSENT, Entry
from tenure.rowstore.row_changes import ENTRY, Change, Kind, entry_place
from tenure.rowstore.store import Store
from tenure.rules.uniqueness import PAUSE_SECONDS, Named, UniqueStanding, standing, with_this
from tenure.table import Row, RowKey, Write

#: As long as a queue keeps a message.
_RETENTION = 14 * 86_400.0

_ROW = tuple[Named, ...]
_NAMED = Kind(_ROW)


async def send(store: Store, outgoing: Outgoing, put: Callable[[Outgoing], Awaitable[Sent]]) -> Sent:
    """Store a message unless one like it waits. `put` stores it without asking."""
    message = outgoing.message
    sent_at, place = message.sent_at or store.clock.wall(), _place(message)
    while True:
        row, mine = await store.table.get([place, entry_place(message.id)])
        known = ENTRY.read(mine)
        if known is not None and known.state != UNSENT:
            break  # known by its id: nothing else counts
        named = _NAMED.read(row) or ()
        seats = [_seat(entry) for entry in await store.rows.get(ENTRY, [entry_place(one.id) for one in named])]
        one = standing(outgoing, sent_at, named, seats, store.rows.now())
        if one is not None and one.is_put:
            return Sent(one.id, duplicate=True)
        if one is not None:
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        after = with_this(outgoing, sent_at, named, seats, store.rows.now())
        row = await _replace(store, place, row, after, outgoing)
        if row is not None:
            break
    sent = await put(outgoing)
    if row is None or sent.refusal is not None or not await _mark(store, row, outgoing):
        await _arrived(store, place, outgoing, is_refused=sent.refusal is not None)
    return sent


def _seat(entry: Entry | None) -> UniqueStanding:
    if entry is None:
        return UniqueStanding.UNSEEN
    if entry.is_sealed:
        return UniqueStanding.OVER
    if entry.state in (MessageState.READY, MessageState.DELAYED):
        return UniqueStanding.WAITING
    return UniqueStanding.OPEN if entry.state in (MessageState.LEASED, MessageState.DEAD) else UniqueStanding.OVER


async def _replace(store: Store, place: RowKey, row: Row | None, after: _ROW, outgoing: Outgoing) -> Row | None:
    """The row as it is now. None: it has changed since it was read."""
    text = msgspec.json.encode(after).decode()
    write = Write(place, text, None if row is None else row.version, _forget_at(store, outgoing))
    (version,) = await store.table.write([write])
    return None if version is None else Row(place, text, version)


async def _mark(store: Store, row: Row, outgoing: Outgoing) -> bool:
    """It lies in its queue. False: the row has changed since it was written."""
    named = _with_arrival(_NAMED.read(row), outgoing.message.id)
    return await _replace(store, row.place, row, named, outgoing) is not None


async def _arrived(store: Store, place: RowKey, outgoing: Outgoing, *, is_refused: bool) -> None:
    """It lies in its queue; or it was refused, and stands for nothing."""
    id = outgoing.message.id

    def decide(current: _ROW | None) -> Change[None]:
        if not any(one.id == id and not one.is_put for one in current or ()):
            return Change(None)
        after = tuple(one for one in current or () if one.id != id) if is_refused else _with_arrival(current, id)
        return Change(None, after, forget_at=_forget_at(store, outgoing))

    await store.rows.change_one(_NAMED, place, decide)


def _with_arrival(named: _ROW | None, id: str) -> _ROW:
    return tuple(msgspec.structs.replace(one, is_put=True) if one.id == id else one for one in named or ())


def _forget_at(store: Store, outgoing: Outgoing) -> float:
    return store.rows.kept_until() + _RETENTION + outgoing.delay_seconds


def _place(message: Message) -> RowKey:
    words = msgspec.json.encode([message.queue, message.task, message.unique])
    return RowKey(f"u#{hashlib.sha256(words).hexdigest()[:40]}", "u")
