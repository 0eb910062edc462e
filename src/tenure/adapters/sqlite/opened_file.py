"""The files that a store has open, compared with what its path names now.

A process keeps using the file that it opened, also after it was deleted or replaced by a backup. What it writes then
is in a file that no other process can open. So the device and the inode of the database, of its `-wal` and of its
`-shm` are noted when they are opened and compared: once a second, and after each commit that must last, before its
callers are answered. A difference is an error for good (`StoreReplaced`): the process must be started again.

Two more things follow. The old `-wal` of a replaced database is moved aside: SQLite would apply it to the new one. And
connections are not closed where another process has made a new `-wal`: SQLite would remove that one, by its name.

Not noticed: a file that is overwritten in place (`cp` over it) while it is open, as its inode stays the same.

Used by `store.py`, `writer.py`, `reader.py` and `checkpoint.py`.
"""

import contextlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from tenure.adapters.sqlite import faults
from tenure.clock import Clock

logger = logging.getLogger("tenure.sqlite")

#: A file is looked at again after so long, if no commit has looked at it before.
CHECK_SECONDS = 1.0
#: A commit so soon after another one is not looked at beforehand: each look is a system call.
_MOMENT_SECONDS = 0.05

#: Device and inode.
_Identity = tuple[int, int]


class OpenedFile:
    """The database at one path, from the first connection to the last."""

    def __init__(self, path: str, clock: Clock) -> None:
        """Take the path and the clock. The first connection opens the file."""
        self.path = path
        self._wal, self._shm = f"{path}-wal", f"{path}-shm"
        self._clock = clock
        self._database: _Identity | None = None
        self._beside: dict[str, _Identity] = {}
        #: When all was looked at, and when a commit last was.
        self._checked = self._committed = float("-inf")
        #: How large the `-wal` was when it was last looked at.
        self.wal_bytes = 0
        #: The error that was found, if any.
        self._trouble = ""

    def prepare(self) -> None:
        """Note which file is about to be opened. Call before each connection.

        Raises `StoreReplaced` where an earlier connection had another file open.
        """
        if self._database is not None:
            self.check()
            return
        with contextlib.suppress(OSError):  # SQLite meets it too, and says so
            self._database = _identity(self.path)

    def note(self) -> None:
        """Note what was opened. Call when the writer's connection has read something: then `-wal` and `-shm` are there.

        Raises `StoreReplaced` where the file was replaced since `prepare`.
        """
        if self._database is None:  # it was created in between
            self._database = _identity(self.path)
        found = {name: _identity(name) for name in (self._wal, self._shm)}
        self._beside = {name: identity for name, identity in found.items() if identity is not None}
        self.check()

    def check_sometimes(self) -> None:
        """The same as `check`, once a second."""
        if self._trouble or self._clock.monotonic() - self._checked >= CHECK_SECONDS:
            self.check()

    def check_before_commit(self) -> None:
        """The same as `check`, unless that was a moment ago: so that little is written to a file that is gone."""
        if self._trouble or self._clock.monotonic() - self._committed >= _MOMENT_SECONDS:
            self.check()

    def check_commit(self) -> None:
        """Raise `StoreReplaced` if what was just committed is not in the files that the path names."""
        self._committed = self._clock.monotonic()
        self._raise(self._look((self._wal,)), committed=True)

    def check(self) -> None:
        """Raise `StoreReplaced` if the path names other files than those that are open, or none."""
        self._checked = self._clock.monotonic()
        self._raise(self._look((self._wal, self._shm)))

    def _raise(self, trouble: str, *, committed: bool = False) -> None:
        if trouble and not self._trouble:
            self._trouble = trouble
            self._set_aside()
        if self._trouble:
            raise faults.replaced(self.path, self._trouble, committed=committed)

    def may_close_reader(self) -> bool:
        """Whether the reader's connection may be closed. Closing tidies up by name, perhaps what is another file's."""
        return self._is_ours(self.path, self._database) and all(
            self._is_ours(name, identity, or_missing=True) for name, identity in self._beside.items()
        )

    def may_close_writer(self) -> bool:
        """Whether the writer's connection may be closed; with it the `-wal` and the `-shm` go, or may go.

        Where they are missing, closing saves what is in them: SQLite copies the last commits to the database.
        """
        may = self.may_close_reader()
        self._beside = {}
        return may

    @staticmethod
    def _is_ours(name: str, identity: _Identity | None, *, or_missing: bool = False) -> bool:
        try:
            there = _identity(name)
        except OSError:
            return False  # not to know is no reason to tidy up
        return there == identity or (or_missing and there is None)

    def _look(self, beside: Sequence[str]) -> str:
        """The error as a clause; empty: none, or not known for now."""
        if self._database is None:
            return ""
        try:
            there = _identity(self.path)
            if there != self._database:
                return "was deleted" if there is None else "was replaced by another file"
            for name in beside:
                identity = self._beside.get(name)
                if identity is None:
                    continue
                status = os.stat(name)  # noqa: PTH116 - on the path of every commit
                if (status.st_dev, status.st_ino) != identity:
                    return f"lost its file {Path(name).name}, which was replaced"
                if name == self._wal:
                    self.wal_bytes = status.st_size
        except FileNotFoundError as error:
            return f"lost its file {Path(error.filename).name}, which was deleted"
        except OSError as error:
            logger.debug("could not check whether %s is still the same file: %s", self.path, error)
        return ""

    def _set_aside(self) -> None:
        """Move the old `-wal` away from the new database; the old `-shm` holds nothing but an index of it."""
        wal, shm = self._wal, self._shm
        try:
            if self._database is None or _identity(self.path) == self._database:
                return
            if shm in self._beside and _identity(shm) == self._beside[shm]:
                Path(shm).unlink(missing_ok=True)
            if wal in self._beside and _identity(wal) == self._beside[wal]:
                aside = f"{wal}.of-{self._database[1]}"
                Path(wal).rename(aside)
                logger.warning(
                    "%s holds the latest commits of the database that was replaced; it is now %s", wal, aside
                )
        except OSError as error:
            logger.warning("%s could not be moved aside (%s); remove it before the next start", wal, error)


def _identity(path: str) -> _Identity | None:
    """Device and inode of what is there now. None: there is nothing."""
    try:
        status = os.stat(path)  # noqa: PTH116 - on the path of every commit
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
