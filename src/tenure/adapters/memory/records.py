"""The records in memory: status, progress and checkpoint.

Writes carry the lease; a write by a stale holder changes nothing.
"""

from collections.abc import Sequence

from tenure.adapters.memory.entry import MemoryEntry
from tenure.adapters.memory.looking import record
from tenure.adapters.memory.store import MemoryDatabase
from tenure.lease import Lease
from tenure.record import Progress, Record


class MemoryRecords:
    """Records of messages: state, counters and history."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def get(self, id: str, queue: str | None = None) -> Record | None:  # noqa: ARG002 - found without a hint
        """Everything known about a message."""
        async with self._store.step() as now:
            return record(self._store, id, now)

    async def get_many(self, wanted: Sequence[tuple[str, str | None]]) -> list[Record | None]:
        """Everything known about each of these messages."""
        async with self._store.step() as now:
            return [record(self._store, id, now) for id, _ in wanted]

    async def find_ids(self, beginning: str, limit: int) -> list[str] | None:
        """Ids that begin with these characters."""
        async with self._store.step():
            known = {*self._store.entries, *self._store.keys.done_ids()}
            return sorted(id for id in known if id.startswith(beginning))[:limit]

    async def progress(self, batch: Sequence[tuple[Lease, Progress]]) -> list[bool]:
        """Write how far handlers are."""
        async with self._store.step():
            return [self._progress(lease, progress) for lease, progress in batch]

    def _progress(self, lease: Lease, progress: Progress) -> bool:
        entry = self._entry_under(lease)
        if entry is None:
            return False
        entry.progress = progress
        return True

    async def checkpoint(self, lease: Lease, data: bytes) -> bool:
        """Keep what the next run of this message starts from."""
        async with self._store.step():
            entry = self._entry_under(lease)
            if entry is None:
                return False
            entry.checkpoint = data
            return True

    async def load_checkpoint(self, id: str) -> bytes | None:
        """Return the checkpoint that an earlier run stored."""
        async with self._store.step():
            entry = self._store.entries.get(id)
            return None if entry is None else entry.checkpoint

    def _entry_under(self, lease: Lease) -> MemoryEntry | None:
        """The message that is lent under `lease`. None: it is no longer."""
        entry = self._store.entries.get(lease.id)
        return entry if entry is not None and entry.is_held_under(lease) else None
