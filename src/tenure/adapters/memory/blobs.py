"""A blob store in the memory of this process: for tests, beside the in-memory broker."""

import threading
from collections.abc import Sequence
from weakref import WeakValueDictionary

from tenure.blobs import StoredBlob
from tenure.clock import Clock

#: A month.
KEEP_SECONDS = 30 * 86_400.0


class _Pegs:
    """The stored bodies: body and moment, by name."""

    def __init__(self) -> None:
        self.bodies: dict[str, tuple[bytes, float]] = {}
        self.lock = threading.Lock()


# Weak: it lives for as long as one of its users does.
_known: WeakValueDictionary[str, _Pegs] = WeakValueDictionary()


class MemoryBlobStore:
    """Bodies in a dictionary; any loop may call it."""

    def __init__(self, name: str, clock: Clock, keep_seconds: float = KEEP_SECONDS) -> None:
        """The one of that name; without a name, a new one."""
        self.place = f"memory://{name}"
        self.keep_seconds = keep_seconds
        self._clock = clock
        self._pegs = _known.setdefault(name, _Pegs()) if name else _Pegs()

    async def open(self) -> None:
        """Do nothing: blobs in memory need no connection."""

    async def close(self) -> None:
        """Stored bodies stay for as long as the process does."""

    def twin(self) -> "MemoryBlobStore":
        """Return itself: any loop may call it."""
        return self

    async def leave(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Store the bodies."""
        now = self._clock.monotonic()
        with self._pegs.lock:
            self._pegs.bodies.update({name: (body, now) for name, body in batch})

    async def fetch(self, names: Sequence[str]) -> list[bytes | None]:
        """The bodies with these names."""
        with self._pegs.lock:
            return [self._pegs.bodies[name][0] if name in self._pegs.bodies else None for name in names]

    async def discard(self, names: Sequence[str]) -> None:
        """Delete the bodies."""
        with self._pegs.lock:
            for name in names:
                self._pegs.bodies.pop(name, None)

    async def browse(self, *, after: str = "", limit: int = 1000) -> list[StoredBlob]:
        """The stored bodies, in the order of their names."""
        now = self._clock.monotonic()
        with self._pegs.lock:
            names = sorted(name for name in self._pegs.bodies if name > after)[:limit]
            return [StoredBlob(name, len(body), now - at) for name in names for body, at in [self._pegs.bodies[name]]]
