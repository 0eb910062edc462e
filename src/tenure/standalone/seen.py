"""A cache of records of work that is done, bounded by number and age."""

import threading
from collections import OrderedDict

from tenure.clock import Clock
from tenure.standalone.turn import DeduplicationRecord


class FinishedRecords:
    """Records of finished messages, by id. Threads may share it."""

    def __init__(self, seconds: float, most: int, clock: Clock) -> None:
        """Each for `seconds`, and of more than `most` the ones added last."""
        self._seconds = seconds
        self._most = most
        self._clock = clock
        self._records: OrderedDict[str, tuple[float, DeduplicationRecord]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._records)

    def get(self, message_id: str) -> DeduplicationRecord | None:
        """The record. None: it is not known here."""
        with self._lock:
            ends, record = self._records.get(message_id, (0.0, None))
            if record is not None and ends <= self._clock.monotonic():
                del self._records[message_id]
                return None
            return record

    def add(self, record: DeduplicationRecord) -> None:
        """Remember a record."""
        with self._lock:
            self._records[record.message_id] = (self._clock.monotonic() + self._seconds, record)
            self._records.move_to_end(record.message_id)
            while len(self._records) > self._most:
                self._records.popitem(last=False)

    def prune(self) -> int:
        """Forget what is over; how many."""
        with self._lock:
            now = self._clock.monotonic()
            over = [key for key, (ends, _) in self._records.items() if ends <= now]
            for key in over:
                del self._records[key]
            return len(over)
