"""Records in this process: bounded by number and age. Code that shares the object shares them, threads too."""

import threading
from collections import OrderedDict

import msgspec

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.standalone.steps import Steps
from tenure.standalone.stores.port import Found


class _StoredEntry(msgspec.Struct):
    record: bytes
    tag: str
    ends: float


class MemoryStore:
    """Forgets the oldest when there are more than `max_records`, and all when the process ends."""

    def __init__(self, max_records: int = 100_000, clock: Clock = SYSTEM_CLOCK) -> None:
        """Make an empty store."""
        self._max = max_records
        self._clock = clock
        self._kept: OrderedDict[str, _StoredEntry] = OrderedDict()
        self._writes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of records, also of expired ones that were not looked up since."""
        return len(self._kept)

    def read(self, key: str) -> Steps[Found | None]:
        """Read the record."""
        yield from ()  # a generator, as the others are
        with self._lock:
            kept = self._live(key)
        return None if kept is None else Found(kept.record, kept.tag)

    def add(self, key: str, record: bytes, keep_seconds: float) -> Steps[str | None]:
        """Insert it, if there is none."""
        yield from ()
        with self._lock:
            return self._put(key, record, keep_seconds) if self._live(key) is None else None

    def swap(self, key: str, record: bytes, tag: str, keep_seconds: float) -> Steps[str | None]:
        """Replace the one with that tag."""
        yield from ()
        with self._lock:
            kept = self._live(key)
            return self._put(key, record, keep_seconds) if kept is not None and kept.tag == tag else None

    def drop(self, key: str, tag: str) -> Steps[None]:
        """Remove the one with that tag."""
        yield from ()
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.tag == tag:
                del self._kept[key]

    def prune(self, prefix: str, before: float) -> Steps[int]:
        """Remove what is over; how old the others are does not matter, because each has its own end."""
        del before
        yield from ()
        with self._lock:
            now = self._clock.monotonic()
            over = [key for key, kept in self._kept.items() if key.startswith(prefix) and now >= kept.ends]
            for key in over:
                del self._kept[key]
            return len(over)

    def _live(self, key: str) -> _StoredEntry | None:
        kept = self._kept.get(key)
        if kept is not None and self._clock.monotonic() >= kept.ends:
            del self._kept[key]
            return None
        return kept

    def _put(self, key: str, record: bytes, keep_seconds: float) -> str:
        self._writes += 1
        tag = str(self._writes)
        self._kept[key] = _StoredEntry(record, tag, self._clock.monotonic() + keep_seconds)
        self._kept.move_to_end(key)
        while len(self._kept) > self._max:
            self._kept.popitem(last=False)
        return tag
