"""The roster port on the store: who is alive.

No operating system proves the death of an owner within one process, so tests say it: `MemoryState.kill`.
"""

from tenure.adapters.memory.store import Store
from tenure.owner import DeadOwner, Owner


class MemoryRoster:
    """Everybody who joined and was not retired yet."""

    def __init__(self, store: Store) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def join(self, owner: Owner) -> None:
        """Put an owner on the roster. One that was retired stays off it; its next `lease` says so."""
        async with self._store.step():
            if owner.id not in self._store.members.banned:
                self._store.members.joined[owner.id] = owner

    async def beat(self, owner: Owner) -> None:
        """Presence needs no saying here."""

    async def leave(self, owner: Owner) -> None:
        """Goodbye: it is listed by `dead` as one that left, until it is retired."""
        async with self._store.step():
            if owner.id in self._store.members.joined:
                self._store.members.left.add(owner.id)

    async def alive(self) -> list[Owner]:
        """Everybody who neither left nor was killed."""
        async with self._store.step():
            members = self._store.members
            gone = members.left | members.killed
            return [owner for id, owner in members.joined.items() if id not in gone]

    async def dead(self) -> list[DeadOwner]:
        """Everybody who left or was killed."""
        async with self._store.step():
            members = self._store.members
            left = [DeadOwner(members.joined[id], "it left", left=True) for id in sorted(members.left)]
            killed = sorted(members.killed - members.left)
            return left + [DeadOwner(members.joined[id], "it was killed by the test") for id in killed]
