"""Operating: what people do to messages.

`redrive` sends dead letters back; `delete` removes what nobody holds; `cancel` takes messages back from whoever
would run, or runs, them. All are recorded.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.memory.entry import Entry
from tenure.adapters.memory.looking import ON_ITS_WAY, is_sealed
from tenure.adapters.memory.store import Store
from tenure.claim import Scope
from tenure.envelope import decode, encode
from tenure.errors import BodyUndecodable
from tenure.message import MessageState
from tenure.notice import newest_cancels
from tenure.record import Ending

_DELETABLE = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.DEAD})


def redrive(store: Store, ids: Sequence[str], now: float) -> list[str]:
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


def _raise_generation(entry: Entry) -> None:
    """Generation + 1, in the envelope and in the scope. One that cannot be read goes back as it is."""
    try:
        message = decode(entry.envelope)
    except BodyUndecodable:
        return
    message = msgspec.structs.replace(message, generation=message.generation + 1)
    entry.envelope = encode(message)
    entry.scope = Scope.of(message)


def delete(store: Store, ids: Sequence[str], now: float) -> list[str]:
    """Cancel messages that nobody holds; the ids that were removed. Their record stays, their key is free."""
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


def cancel(store: Store, ids: Sequence[str], now: float) -> list[MessageState | None]:
    """Cancel messages, whoever holds them; the state in which each was met. None: there was nothing to cancel."""
    return [_cancel(store, id, now) for id in ids]


def _cancel(store: Store, id: str, now: float) -> MessageState | None:
    entry = store.entries.get(id)
    if entry is None or entry.state not in ON_ITS_WAY or is_sealed(store, entry):
        return None
    met = entry.state
    # In both shapes: the one who is told of it later must find its claim ended too.
    store.keys.cancel(entry.scope, entry.id)
    if met is MessageState.LEASED:
        store.cancels += 1
        store.cancelled = newest_cancels(store.cancelled, [entry.id])
    _remove(store, entry, now)
    return met


def _remove(store: Store, entry: Entry, now: float) -> None:
    """Its record stays, and tells when it was cancelled and who held it."""
    entry.finished_at = store.clock.wall()
    entry.history.append(Ending(entry.finished_at, "cancelled", entry.owner))
    entry.envelope, entry.progress, entry.checkpoint = b"", None, None
    store.place(entry, MessageState.CANCELLED, now)
