"""Store time: one clock for everybody who uses the file, which neither jumps nor goes back.

Store time is the host's monotonic clock plus an offset that stands in the file and belongs to one boot of the
machine. So all processes of a host agree, a wall clock that jumps changes nothing, and after a reboot time
goes on from where it was seen last. Counted in whole microseconds, so that sums and comparisons are exact.

Read inside every transaction (`writer.py`), after the lock was taken.
"""

import sqlite3
from typing import Any

from tenure.clock import Clock

_MICROS = 1_000_000
#: This many fences are passed over at each boot: more than there are calls of lease between two commits that wait for
#: the disk.
_LEAP = 1 << 20


def micros(seconds: float) -> int:
    """Seconds as store time counts them."""
    return round(seconds * _MICROS)


def seconds(micros: int) -> float:
    """Store time as the rest of Tenure counts it."""
    return micros / _MICROS


class StoreClock:
    """The store's time, once `settle` has read or written its offset."""

    def __init__(self, clock: Clock) -> None:
        """Stand on `clock`."""
        self.clock = clock
        self._offset = 0

    def now(self) -> int:
        """Microseconds of store time."""
        return round(self.clock.monotonic() * _MICROS) + self._offset

    def settle(self, db: sqlite3.Connection) -> None:
        """Take the offset of this boot from the file, or write it there if this is the boot's first process."""
        if self._adopt(db):
            return
        db.execute("BEGIN IMMEDIATE")
        # Under the lock once more: another process may have been faster. If this fails, the connection is closed.
        if not self._adopt(db):
            self._begin(db)
        db.execute("COMMIT")

    def follow(self, db: sqlite3.Connection) -> None:
        """Take the offset of this boot from the file, or guess it. Writes nothing."""
        if not self._adopt(db):
            self._offset = self._guess(db) - micros(self.clock.monotonic())

    def _adopt(self, db: sqlite3.Connection) -> bool:
        """Use the offset that stands in the file, if it is this boot's. Needs no lock."""
        stored = _stored(db)
        self._offset = stored.get("offset", 0)
        return stored.get("boot") == self.clock.boot_id() and self.now() >= _last_seen(stored)

    def _begin(self, db: sqlite3.Connection) -> None:
        """Write an offset for this boot. Call inside a write transaction."""
        monotonic = micros(self.clock.monotonic())
        now = self._guess(db)
        self._offset = now - monotonic
        db.executemany(
            "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)",
            [("boot", self.clock.boot_id()), ("offset", self._offset), ("seen", now)],
        )
        # A lease made just before a power cut may not have reached the disk, but its holder has the fence.
        db.execute(
            f"INSERT INTO loan (fence, owner, request, seconds) SELECT max(fence) + {_LEAP}, '', '', 0 FROM loan"
        )

    def _guess(self, db: sqlite3.Connection) -> int:
        """Store time at a boot that the file does not know yet."""
        # The wall clock of a machine that just booted may be years behind: store time never goes back.
        return max(micros(self.clock.wall()), _last_seen(_stored(db)))


def _stored(db: sqlite3.Connection) -> dict[str, Any]:
    return dict(db.execute("SELECT name, value FROM meta WHERE name IN ('boot', 'offset', 'seen', 'swept')").fetchall())


def _last_seen(stored: dict[str, Any]) -> int:
    """The latest moment that is written down anywhere."""
    latest: int = max(stored.get("seen", 0), stored.get("swept", 0))
    return latest
