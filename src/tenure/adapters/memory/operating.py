"""Operating: what people do to messages that nobody holds.

`redrive` sends dead letters back; `delete` cancels. Both are recorded.
"""

from collections.abc import Sequence

import msgspec

from tenure.adapters.memory.entry import Entry
from tenure.adapters.memory.store import Store
from tenure.claim import Scope
from tenure.envelope import decode, encode
from tenure.errors import BodyUndecodable
from tenure.message import MessageState
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
        entry.finished_at = store.clock.wall()
        entry.envelope, entry.progress, entry.checkpoint = b"", None, None
        store.place(entry, MessageState.CANCELLED, now)
        removed.append(id)
    return removed
