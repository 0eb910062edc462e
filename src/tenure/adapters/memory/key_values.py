"""Small documents on the store, by kind and name."""

from tenure.adapters.memory.store import MemoryDatabase
from tenure.key_value import MOST_LISTED, KeyValue, new_version
from tenure.rules.storable import check_key_value


class MemoryKeyValues:
    """Documents, changed by compare-and-set."""

    def __init__(self, store: MemoryDatabase) -> None:
        """Made by `MemoryState`."""
        self._store = store

    async def get(self, kind: str, name: str) -> KeyValue | None:
        """Return one document."""
        async with self._store.step():
            return self._known(kind, name)

    async def list(self, kind: str) -> list[KeyValue]:
        """Return all documents of a kind, sorted by name."""
        async with self._store.step():
            names = sorted(name for of_kind, name in self._store.key_values if of_kind == kind)
            found = [one for name in names if (one := self._known(kind, name)) is not None]
            return found[:MOST_LISTED]

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        """Write if the document has this version."""
        check_key_value(kind, name, data, expires_at)
        async with self._store.step():
            known = self._known(kind, name)
            if (None if known is None else known.version) != expect:
                return None
            new = KeyValue(kind=kind, name=name, data=bytes(data), version=new_version(), expires_at=expires_at)
            self._store.key_values[kind, name] = new
            return new

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        """Remove a document, perhaps only in this version."""
        async with self._store.step():
            known = self._known(kind, name)
            if known is None or expect not in (None, known.version):
                return False
            del self._store.key_values[kind, name]
            return True

    async def prune(self) -> int:
        """Remove those whose time is over; how many."""
        async with self._store.step():
            wall = self._store.clock.wall()
            old = [place for place, one in self._store.key_values.items() if one.has_expired(wall)]
            for place in old:
                del self._store.key_values[place]
            return len(old)

    def _known(self, kind: str, name: str) -> KeyValue | None:
        known = self._store.key_values.get((kind, name))
        return None if known is None or known.has_expired(self._store.clock.wall()) else known
