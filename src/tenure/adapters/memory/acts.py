"""The audit log in memory: acts in one order, until they are pruned."""

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter

from tenure.act import Act, StoredAct
from tenure.adapters.memory.store import MemoryDatabase


class MemoryActLog:
    """Acts, each at its place; places begin at 1 and are never used again."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def record(self, acts: Sequence[Act]) -> None:
        """Keep acts, in this order."""
        async with self._store.step():
            for act in acts:
                self._store.last_act += 1
                self._store.acts.append(StoredAct(self._store.last_act, act))

    async def read(self, before: int = 0, limit: int = 100) -> list[StoredAct]:
        """The newest acts before place `before`, newest first."""
        async with self._store.step():
            acts = self._store.acts
            end = bisect_left(acts, before, key=attrgetter("seq")) if before else len(acts)
            return acts[max(0, end - limit) : end][::-1]

    async def prune(self, older_than_seconds: float) -> int:
        """Forget old acts; how many. Old by what each act says of itself."""
        async with self._store.step():
            oldest = self._store.clock.wall() - older_than_seconds
            kept = [stored for stored in self._store.acts if stored.act.at >= oldest]
            gone = len(self._store.acts) - len(kept)
            self._store.acts = kept
            return gone
