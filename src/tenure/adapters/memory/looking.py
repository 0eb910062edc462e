"""Looking: depth and status. Messages are listed by `browsing.py`, leases by `holding.py`.

Nothing here changes anything: a delayed message that is due stays delayed until the next lease call.
"""

from collections.abc import Sequence

from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.store import MemoryDatabase, MemoryQueue
from tenure.broker import Depth
from tenure.message import NO_COUNTERS, MessageState
from tenure.record import Record

ON_ITS_WAY = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED})


def depth(store: MemoryDatabase, queues: Sequence[str] | None) -> list[Depth]:
    """Count the messages of each of `queues`. None: every queue that is not empty."""
    if queues is None:
        queues = sorted(queue for queue, line in store.lines.items() if not line.is_empty())
    return [_depth(store, queue) for queue in queues]


def _depth(store: MemoryDatabase, queue: str) -> Depth:
    line = store.lines.get(queue, MemoryQueue())
    firsts = [first for agenda in line.ready.values() if (first := agenda.first())]
    oldest = store.entries[min(firsts)[1]] if firsts else None
    return Depth(
        queue=queue,
        ready=len(line.by_state[MessageState.READY]),
        delayed=len(line.by_state[MessageState.DELAYED]),
        leased=len(line.by_state[MessageState.LEASED]),
        dead=len(line.by_state[MessageState.DEAD]),
        oldest_age_seconds=None if oldest is None else max(0.0, store.clock.wall() - oldest.sent_at),
    )


def record(store: MemoryDatabase, id: str, now: float) -> Record | None:
    """Return everything known about a message.

    Once it is sealed it is completed, though the broker may still have to delete it; and once it is
    deleted, the ledger's word is all that is left of it.
    """
    entry = store.entries.get(id)
    done = store.keys.done_for(id)
    if entry is None:
        if done is None:
            return None
        return Record(
            id=id,
            queue=done.scope.queue,
            task=done.scope.task,
            state=MessageState.COMPLETED,
            counters=done.counters.get(id, NO_COUNTERS),
            finished_at=done.finished_at,
            result=done.result or None,
        )
    sealed = done is not None and is_sealed(store, entry)
    return Record(
        id=id,
        queue=entry.queue,
        task=entry.task,
        state=MessageState.COMPLETED if sealed else entry.state,
        counters=entry.counters,
        owner=entry.owner,
        fence=entry.fence,
        sent_at=entry.sent_at,
        finished_at=done.finished_at if done is not None and sealed else entry.finished_at,
        deadline_in=entry.deadline_in(now),
        due_in=entry.due_in(now),
        result=(done.result or None) if done is not None and sealed else entry.result,
        reason=entry.reason,
        progress=entry.progress,
        history=tuple(entry.history),
        envelope=None if sealed else entry.envelope or None,
    )


def is_sealed(store: MemoryDatabase, entry: MemoryEntry) -> bool:
    """Whether it is done by the ledger's word, though the broker still has to delete it."""
    done = store.keys.done_for(entry.id)
    return done is not None and done.scope == entry.scope and entry.state in ON_ITS_WAY
