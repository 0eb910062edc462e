"""The roster in memory: the workers of this store.

No operating system proves the death of an owner within one process, so tests declare it: `MemoryState.kill`.
"""

from tenure.adapters.memory.store import MemoryDatabase
from tenure.owner import Member, Owner


class MemoryRoster:
    """Every owner that joined and was not retired yet."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def join(self, owner: Owner) -> None:
        """Put an owner on the roster. One that was retired stays off it; its next `lease` says so."""
        async with self._store.step() as now:
            if owner.id not in self._store.members.banned:
                self._store.members.add(owner, now, now)

    async def beat(self, owner: Owner) -> None:
        """A sign of life. An owner that was removed is put back."""
        async with self._store.step() as now:
            if owner.id not in self._store.members.banned:
                self._store.members.add(owner, now, 0.0)

    async def leave(self, owner: Owner) -> None:
        """Goodbye: it is listed as one that left, until it is retired."""
        async with self._store.step():
            if owner.id in self._store.members.joined:
                self._store.members.left.add(owner.id)

    async def members(self) -> list[Member]:
        """Return the owners that joined, then those whose retirement is not finished."""
        async with self._store.step() as now:
            members = self._store.members
            joined = [
                Member(
                    owner=owner, silent_seconds=now - members.heard[id], joined=members.since[id],
                    left=id in members.left, lock=False if id in members.killed else None,
                )
                for id, owner in members.joined.items()
            ]  # fmt: skip
            retired = [
                Member(owner=owner, left=id in members.left, is_retired=True) for id, owner in members.retiring.items()
            ]
            return joined + retired

    async def remove(self, owner: str, silent_seconds: float) -> bool:
        """Remove a silent owner, in one step with the look at what it holds."""
        async with self._store.step() as now:
            heard = self._store.members.heard.get(owner)
            if heard is None or now - heard < silent_seconds or self._store.held_by(owner):
                return False
            self._store.members.drop(owner)
            return True
