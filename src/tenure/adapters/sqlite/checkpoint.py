"""Checkpoints: what is in the `-wal` is copied to the database, by one process at a time.

SQLite's own checkpoints (`wal_autocheckpoint`) are switched off: there every process makes them, and before 3.51.3 two
of them in a row beside a commit can damage the file (https://www.sqlite.org/wal.html#walresetbug). Here a process needs
a turn for it, and does not copy the same frames a second time. The process that sweeps begins at 8 MiB. Any other one
begins at 32 MiB: where no process sweeps, or the sweeping one cannot keep up, the `-wal` stays bounded anyway.

No message of this process moves while its thread copies 8 MiB: 15 to 60 ms on a common disk. So the process that sweeps
also begins earlier: a second after the last copy, if it has committed a hundred times since. A worker with little to do
copies little, in a few milliseconds; one under load reaches 8 MiB before the second is over, as the larger copy is
cheaper for each message.

Run by the thread of `writer.py`, after the callers were answered.
"""

import logging
import os
import sqlite3

from tenure.adapters.sqlite import faults, turn
from tenure.adapters.sqlite.opened_file import OpenedFile
from tenure.adapters.sqlite.timeline import StoreClock, micros
from tenure.finding import Finding, Severity

logger = logging.getLogger("tenure.sqlite")

#: The `-wal` is copied when it is larger than this: by the process that sweeps, and by any other.
SWEEPER_BYTES = 8 << 20
OTHERS_BYTES = 32 << 20
#: Earlier, by the process that sweeps: after so many commits of its own, and so long after the last copy.
EARLY_COMMITS = 100
_EARLY_SECONDS = 1.0
#: Above this, other writers wait until it is copied: else they might write faster than it is copied, for ever.
BLOCKING_BYTES = 128 << 20
_BLOCKING_MILLISECONDS = 1000

_TURN = "checkpoint"
_TURN_SECONDS = 2.0
#: After a failed try.
_AGAIN_SECONDS = 0.5

#: Versions without the mistake: these, later ones of the same line, and all lines after the last.
_SOUND = ((3, 44, 6), (3, 50, 7), (3, 51, 3))


class Checkpointer:
    """Copies the `-wal` of one open file."""

    def __init__(self, file: OpenedFile, timeline: StoreClock) -> None:
        """Take the open file and its timeline; record no sweep of this process."""
        self._file = file
        self._timeline = timeline
        self._token = os.urandom(8).hex()
        self._sweeps_until = float("-inf")
        self._not_before = float("-inf")
        #: How large the `-wal` was when all of it had been copied; the next commit begins it again.
        self._copied_bytes = 0
        #: When a copy was last begun, and the commits of this process since.
        self._begun_at = float("-inf")
        self._commits = 0

    def note_sweep(self, interval_seconds: float) -> None:
        """Note that this process sweeps, and will again after `interval_seconds`."""
        self._sweeps_until = self._timeline.clock.monotonic() + 2 * interval_seconds

    def note_commit(self) -> None:
        """Count a commit of this process."""
        self._commits += 1

    def is_due(self) -> bool:
        """Whether the `-wal` is too large, as far as was seen last, and this process should do something about it."""
        size, now = self._file.wal_bytes, self._timeline.clock.monotonic()
        if self._commits >= EARLY_COMMITS and now < self._sweeps_until and now - self._begun_at >= _EARLY_SECONDS:
            return now >= self._not_before
        if size <= SWEEPER_BYTES or size == self._copied_bytes or now < self._not_before:
            return False
        return size > (SWEEPER_BYTES if now < self._sweeps_until else OTHERS_BYTES)

    def run(self, db: sqlite3.Connection) -> None:
        """Copy what is in the `-wal`, if it is our turn. Call outside a transaction."""
        self._begun_at = self._timeline.clock.monotonic()
        self._not_before = self._begun_at + _AGAIN_SECONDS
        self._commits = 0
        try:
            if self._take_turn(db):
                self._copy(db)
        except sqlite3.Error as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            level = logging.DEBUG if faults.is_busy(error) else logging.WARNING
            logger.log(level, "%s-wal was not copied to the database (%s); tried again", self._file.path, error)

    def _take_turn(self, db: sqlite3.Connection) -> bool:
        db.execute("BEGIN IMMEDIATE")
        is_ours = turn.take(db, _TURN, self._token, self._timeline.now(), micros(_TURN_SECONDS))
        db.execute("COMMIT")
        return is_ours

    def _copy(self, db: sqlite3.Connection) -> None:
        is_blocking = self._file.wal_bytes > BLOCKING_BYTES
        if is_blocking:
            db.execute(f"PRAGMA busy_timeout = {_BLOCKING_MILLISECONDS}")
        try:
            mode = "RESTART" if is_blocking else "PASSIVE"
            busy, frames, copied = db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        finally:
            if is_blocking:
                db.execute("PRAGMA busy_timeout = 0")
        self._file.check()  # how large it is now
        if not busy and frames == copied:
            self._copied_bytes = self._file.wal_bytes
            self._not_before = float("-inf")


def check_library(version: tuple[int, ...], path: str) -> list[Finding]:
    """A finding where the linked SQLite may damage a `-wal`, if several processes use it."""
    if any(version >= sound and (version[:2] == sound[:2] or sound is _SOUND[-1]) for sound in _SOUND):
        return []
    number = ".".join(map(str, version))
    return [
        Finding(
            "sqlite_wal_reset",
            Severity.INFO,
            path,
            f"this Python is linked with SQLite {number}; before 3.51.3 a checkpoint beside a commit of another "
            "process can damage the database, very rarely. Tenure lets one process at a time make checkpoints",
            "Use a Python that is linked with SQLite 3.51.3 or later (or 3.50.7, 3.44.6) where several processes share "
            "the file, and back it up",
        )
    ]
