"""Operating: what people do to messages.

`redrive` sends dead letters back; `delete` removes messages that no worker holds; `cancel` takes waiting and held
messages back; `promote` makes delayed ones ready. All but the last are recorded.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.looking import ON_ITS_WAY, is_sealed
from tenure.adapters.memory.store import FINISHED, MemoryDatabase
from tenure.broker import Promoted
from tenure.claim import Scope
from tenure.envelope import decode, encode
from tenure.errors import BodyUndecodable
from tenure.message import MessageState
from tenure.notice import newest_cancels
from tenure.record import Ending
from tenure.rules.announcing import ENDS_BY_DELETE

_DELETABLE = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.DEAD})


def redrive(store: MemoryDatabase, ids: Sequence[str], now: float) -> list[str]:
    """Send dead letters back to their queue, in a new generation; the ids that were moved."""
    moved = []
    for id in ids:
        entry = store.entries.get(id)
        if entry is None or entry.state is not MessageState.DEAD:
            continue
        _raise_generation(entry)
        if entry.digest is not None and store.traits.keys_at_send:
            store.keys.register(entry.scope, entry.id, entry.digest)
        entry.zero_counters()
        entry.reason = entry.finished_at = None
        entry.history.append(Ending(store.clock.wall(), "redriven"))
        store.place(entry, MessageState.READY, now)
        moved.append(id)
    return moved


def _raise_generation(entry: MemoryEntry) -> None:
    """Generation + 1, in the envelope and in the scope. One that cannot be read goes back as it is."""
    try:
        message = decode(entry.envelope)
    except BodyUndecodable:
        return
    message = msgspec.structs.replace(message, generation=message.generation + 1)
    entry.envelope = encode(message)
    entry.scope = Scope.of(message)


def delete(store: MemoryDatabase, ids: Sequence[str], now: float) -> list[str]:
    """Cancel messages that are not leased; returns the removed ids. Their record stays, their key is free."""
    removed = []
    for id in ids:
        entry = store.entries.get(id)
        if entry is None or entry.state not in _DELETABLE:
            continue
        if store.traits.settles_exactly_once:
            store.keys.free(entry.scope, entry.id)
        _remove(store, entry, now)
        removed.append(id)
    return removed


def cancel(store: MemoryDatabase, ids: Sequence[str], now: float) -> list[MessageState | None]:
    """Cancel messages, also leased ones; returns the state of each. None: there was nothing to cancel."""
    return [_cancel(store, id, now) for id in ids]


def _cancel(store: MemoryDatabase, id: str, now: float) -> MessageState | None:
    entry = store.entries.get(id)
    if entry is None or entry.state not in ON_ITS_WAY or is_sealed(store, entry):
        return None
    met = entry.state
    # In both shapes: a holder that learns of it later must find its claim ended too.
    store.keys.cancel(entry.scope, entry.id)
    if met is MessageState.LEASED:
        store.cancels += 1
        store.cancelled = newest_cancels(store.cancelled, [entry.id])
    _remove(store, entry, now)
    return met


def promote(store: MemoryDatabase, ids: Sequence[str], now: float) -> list[Promoted]:
    """Make delayed messages ready now; the state in which each was met."""
    return [_promote(store, id, now) for id in ids]


def _promote(store: MemoryDatabase, id: str, now: float) -> Promoted:
    entry = store.entries.get(id)
    if entry is None or entry.state in FINISHED:
        return Promoted(None)
    met = entry.state
    if met is MessageState.DELAYED:
        store.place(entry, MessageState.READY, now)
    return Promoted(met)


def _remove(store: MemoryDatabase, entry: MemoryEntry, now: float) -> None:
    """Delete a message. Its record stays, with the moment of the cancel and the holder."""
    entry.finished_at = store.clock.wall()
    if entry.state in ENDS_BY_DELETE:
        store.announcements.add(entry, MessageState.CANCELLED, entry.finished_at)
    entry.history.append(Ending(entry.finished_at, "cancelled", entry.owner))
    entry.envelope, entry.progress, entry.checkpoint = b"", None, None
    store.place(entry, MessageState.CANCELLED, now)
