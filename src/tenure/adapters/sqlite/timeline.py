"""Store time: one clock for everybody who uses the file, which neither jumps nor goes back.

Store time is the host's monotonic clock plus an offset that stands in the file and belongs to one boot of the
machine. So all processes of a host agree, a wall clock that jumps changes nothing, and after a reboot time
goes on from where it was seen last. Counted in whole microseconds, so that sums and comparisons are exact.

Read inside every transaction (`writer.py`), after the lock was taken.
"""

import sqlite3

from tenure.clock import Clock

_MICROS = 1_000_000


def micros(seconds: float) -> int:
    """Seconds as store time counts them."""
    return round(seconds * _MICROS)


def seconds(micros: int) -> float:
    """Store time as the rest of Tenure counts it."""
    return micros / _MICROS


class Timeline:
    """The store's time, once `settle` has read or written its offset."""

    def __init__(self, clock: Clock) -> None:
        """Stand on `clock`."""
        self.clock = clock
        self._offset = 0

    def now(self) -> int:
        """Microseconds of store time."""
        return round(self.clock.monotonic() * _MICROS) + self._offset

    def settle(self, db: sqlite3.Connection) -> None:
        """Take the offset of this boot from the file, or write it. Call inside a write transaction."""
        stored = dict(
            db.execute("SELECT name, value FROM meta WHERE name IN ('boot', 'offset', 'seen', 'swept')").fetchall()
        )
        seen = max(stored.get("seen", 0), stored.get("swept", 0))
        monotonic = micros(self.clock.monotonic())
        if stored.get("boot") == self.clock.boot_id():
            offset = stored["offset"]
        else:
            offset = micros(self.clock.wall()) - monotonic
        # The wall clock of a machine that just booted may be years behind: time never goes back.
        self._offset = max(offset, seen - monotonic)
        db.executemany(
            "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
            [("boot", self.clock.boot_id()), ("offset", self._offset), ("seen", monotonic + self._offset)],
        )
